//! Archives: each is recognized by its first bytes and unpacked in its own way.

use super::members::Member;
use super::unpacked_bytes::Store;
use super::{cab, zip};
use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, DEFAULT_MAX_WINDOW_SIZE, FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, Read};

/// A form of archive. No log begins as one of them: the bytes would be an odd or too large size of its first buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    Zip,
    Gzip,
    Cab,
    Zstandard,
    SevenZip,
    Xz,
    Bzip2,
}

/// Form, first bytes, name.
const SIGNATURES: [(Archive, &[u8], &str); 8] = [
    (Archive::Zip, b"PK\x03\x04", "a ZIP archive"),
    // One without files has only its end.
    (Archive::Zip, b"PK\x05\x06", "a ZIP archive"),
    (Archive::Gzip, b"\x1f\x8b", "a gzip file"),
    (Archive::Cab, b"MSCF", "a CAB archive"),
    (Archive::Zstandard, b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (Archive::SevenZip, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (Archive::Xz, b"\xfd7zXZ\0", "an XZ file"),
    (Archive::Bzip2, b"BZh", "a bzip2 file"),
];

impl Archive {
    /// The form of an archive that begins with these bytes; `None` for anything else.
    pub fn of(bytes: &[u8]) -> Option<Archive> {
        // A frame without content may stand before the others (RFC 8878, 3.1.2).
        if let Some([0x50..=0x5f, 0x2a, 0x4d, 0x18]) = bytes.first_chunk() {
            return Some(Archive::Zstandard);
        }
        SIGNATURES.iter().find(|(_, signature, _)| bytes.starts_with(signature)).map(|(archive, ..)| *archive)
    }

    /// Bytes by which an archive is recognized.
    pub const LONGEST_SIGNATURE: u64 = 8;

    /// True for a form that is unpacked from its begin to its end, without its length.
    pub fn is_stream(self) -> bool {
        self == Archive::Gzip
    }

    /// Unpacks such a form while it is read; as [`Archive::unpack`].
    ///
    /// # Errors
    /// As [`Archive::unpack`].
    pub fn unpack_stream(self, packed: &mut dyn BufRead, store: &mut Store<'_>) -> Result<Option<String>, String> {
        store.fill(&mut Members(Some(GzDecoder::new(packed))))
    }

    /// Its name with an article.
    pub fn what(self) -> &'static str {
        SIGNATURES.iter().find(|(archive, ..)| *archive == self).map_or("", |(.., what)| what)
    }

    /// The files in an archive that holds files by name.
    pub fn members(self, packed: &[u8]) -> Vec<Member> {
        match self {
            Archive::Zip => zip::members(packed),
            Archive::Cab => cab::members(packed),
            _ => Vec::new(),
        }
    }

    /// Unpacks the trace in it: `member`, or the only one. Returns why it ended early, if it did.
    ///
    /// # Errors
    /// Why no trace can be unpacked, in words that follow "cannot unpack FILE:".
    pub fn unpack(self, packed: &[u8], member: Option<&str>, store: &mut Store<'_>) -> Result<Option<String>, String> {
        match (self, member) {
            (Archive::Zip, _) => zip::unpack(packed, member, store),
            (Archive::Cab, _) => cab::unpack(packed, member, store),
            (_, Some(_)) => Err(format!("{} holds one file without a name; leave out what follows the !", self.what())),
            (Archive::Gzip, _) => self.unpack_stream(&mut &*packed, store),
            (Archive::Zstandard, _) => store.fill(&mut Frames { rest: packed, open: None, broken: None }),
            (Archive::SevenZip | Archive::Xz | Archive::Bzip2, _) => {
                Err(format!("it is {}, which is not read; unpack it and name the .etl file that it holds", self.what()))
            }
        }
    }
}

/// The members of a gzip file, one after the other. Zeros may follow the last one: tapes and block devices fill up with them.
struct Members<'a>(Option<GzDecoder<&'a mut dyn BufRead>>);

impl Read for Members<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(bytes)?;
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            let Some(rest) = self.0.take().map(GzDecoder::into_inner) else { break };
            self.0 = without_zeros(rest)?.then(|| GzDecoder::new(rest));
        }
        Ok(0)
    }
}

/// Passes over zeros; true where something follows them.
fn without_zeros(reader: &mut dyn BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        let (zeros, all) = (bytes.iter().take_while(|&&byte| byte == 0).count(), bytes.len());
        reader.consume(zeros);
        if zeros < all || all == 0 {
            return Ok(all > 0);
        }
    }
}

/// Bytes of the header of a Zstandard frame without content (RFC 8878, 3.1.2).
const SKIPPED_HEADER: usize = 8;

/// The frames of a Zstandard file, one after the other.
struct Frames<'a> {
    rest: &'a [u8],
    open: Option<StreamingDecoder<&'a [u8], FrameDecoder>>,
    /// A frame that ended early: what was decoded of it is read before its error.
    broken: Option<(FrameDecoder, io::Error)>,
}

/// An empty block that is the last one of its frame (RFC 8878, 3.1.1.2), and room for a checksum.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl Read for Frames<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some((frame, error)) = &mut self.broken {
                let read = frame.read(bytes)?;
                return match read {
                    0 => Err(std::mem::replace(error, io::ErrorKind::UnexpectedEof.into())),
                    _ => Ok(read),
                };
            }
            match self.open.as_mut().map(|open| open.read(bytes)) {
                Some(Ok(read)) if read > 0 => return Ok(read),
                Some(Err(error)) => {
                    // The decoder keeps a window of what it has decoded until the frame ends, so the frame is ended.
                    let Some(mut frame) = self.open.take().map(StreamingDecoder::into_frame_decoder) else { continue };
                    if frame.decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::UptoBlocks(1)).is_err() {
                        return Err(error);
                    }
                    self.broken = Some((frame, error));
                    continue;
                }
                _ => {}
            }
            if let Some(ended) = self.open.take() {
                let (rest, frame) = ended.into_parts();
                self.rest = rest;
                let sums = frame.get_checksum_from_data().zip(frame.get_calculated_checksum());
                if sums.is_some_and(|(told, found)| told != found) {
                    return Err(io::Error::other("its checksum is not that of its content"));
                }
            }
            if self.rest.is_empty() {
                return Ok(0);
            }
            match StreamingDecoder::new(self.rest) {
                Ok(frame) => self.open = Some(frame),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let rest = self.rest.get(SKIPPED_HEADER.saturating_add(length as usize)..);
                    self.rest = rest.ok_or_else(|| io::Error::other("it ends inside a frame without content"))?;
                }
                Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) => {
                    return Err(io::Error::other(format!(
                        "it was packed with a window of {requested} bytes, and at most {DEFAULT_MAX_WINDOW_SIZE} are read; \
                         unpack it by zstd, with its option long=31"
                    )));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}
