//! Buffer headers: where each buffer of the file lies and what its header says.
//!
//! `WMI_BUFFER_HEADER`, 0x48 bytes, the same for 32- and 64-bit traces. Fields that hold stale values in real files
//! (SavedOffset, CurrentOffset, State of data buffers) are not read; see `docs/formats.md`.

use crate::units::FileOffset;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of a buffer header, bytes.
pub(crate) const BUFFER_HEADER_BYTES: u32 = 0x48;

/// BufferFlag: events were lost. Never seen in a file; if set, it is reported as a warning.
pub(crate) const FLAG_EVENTS_LOST: u16 = 0x02;
/// BufferFlag: a buffer was lost. Never seen in a file either.
pub(crate) const FLAG_BUFFER_LOST: u16 = 0x04;
/// BufferFlag: the processor field is a 16-bit index.
pub(crate) const FLAG_PROCESSOR_INDEX: u16 = 0x20;
/// BufferFlag: the event area is compressed.
pub(crate) const FLAG_COMPRESSED: u16 = 0x40;
/// BufferType of data buffers.
pub(crate) const TYPE_GENERIC: u16 = 0;
/// BufferType of the first buffer of a file.
pub(crate) const TYPE_HEADER: u16 = 4;

/// Name of a BufferType (`ETW_BUFFER_TYPE…`); only generic and header occur in known files.
pub(crate) const fn type_name(kind: u16) -> &'static str {
    match kind {
        TYPE_GENERIC => "generic",
        1 => "rundown",
        2 => "context-swap",
        3 => "reference time",
        TYPE_HEADER => "header",
        5 => "batched",
        6 => "empty marker",
        7 => "debugger info",
        _ => "unknown",
    }
}

/// `WMI_BUFFER_HEADER`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    size: U32,
    saved_offset: U32,
    current_offset: U32,
    reference_count: U32,
    time_stamp: U64,
    sequence: U64,
    clock: [u8; 8],
    processor: U16,
    _logger: U16,
    state: U32,
    used: U32,
    flags: U16,
    kind: U16,
    reference_clock: [u8; 16],
}

const _: () = assert!(size_of::<Header>() == BUFFER_HEADER_BYTES as usize);

/// One buffer of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Where the buffer begins.
    pub offset: FileOffset,
    /// Bytes in the file: header, then event area (compressed or padded). Never passes the end of the file.
    pub size_bytes: u32,
    /// BufferSize as its header has it; more than `size_bytes` when the file ends before the buffer does.
    pub stated_bytes: u32,
    /// Valid bytes including the 0x48-byte header, after decompression.
    pub used_bytes: u32,
    /// TimeStamp: when the buffer was flushed, in ticks of the session's clock or, after a merge, as FILETIME; 0 in
    /// header buffers. Used by [`crate::etl::stamp_limits`] only.
    pub flushed: u64,
    /// SequenceNumber: unique in the file, ascending per processor.
    pub sequence: u64,
    /// Processor on which all records of the buffer were logged; 0 for the header buffer.
    pub processor: u16,
    /// BufferFlag bits.
    pub flags: u16,
    /// BufferType: 0 data, 4 header.
    pub kind: u16,
    /// State; meaningful in the header buffer only, where it gives the compression format.
    pub state: u32,
    /// True when the file ends before the buffer does.
    pub cut: bool,
    /// Which file of the recording it is in: 0 the first, 1 the next.
    pub file: u16,
}

impl Buffer {
    /// True when the event area is compressed.
    pub const fn is_compressed(&self) -> bool {
        self.flags & FLAG_COMPRESSED != 0
    }

    /// Bytes of the event area after decompression.
    pub const fn area_bytes(&self) -> u32 {
        self.used_bytes.saturating_sub(BUFFER_HEADER_BYTES)
    }

    /// Gives the header at the start of `bytes` another size and form. What no reader needs is cleared: it holds what was in
    /// the kernel's memory.
    pub(crate) fn change_header(bytes: &mut [u8], size: u32, is_compressed: bool) {
        if let Ok((header, _)) = Header::mut_from_prefix(bytes) {
            header.size.set(size);
            if !is_compressed {
                header.flags.set(header.flags.get() & !FLAG_COMPRESSED);
                header.used.set(header.used.get().min(size));
            }
            header.saved_offset.set(header.used.get());
            header.current_offset.set(header.used.get());
            header.reference_count.set(0);
            header.clock = [0; 8];
            header.reference_clock = [0; 16];
        }
    }

    /// Lets the event area of the buffer at the start of `bytes` end elsewhere.
    pub(crate) fn change_used(bytes: &mut [u8], used: u32) {
        if let Ok((header, _)) = Header::mut_from_prefix(bytes) {
            header.used.set(used);
        }
    }

    /// Reads the header at the start of `bytes`, which must extend to the end of the file. No buffer is larger than the
    /// session's buffer size, neither in the file nor decompressed.
    ///
    /// # Errors
    /// The first value that a valid header cannot have.
    pub(crate) fn read(bytes: &[u8], offset: FileOffset, session_buffer_bytes: u32) -> Result<Buffer, InvalidHeader> {
        let Ok((header, _)) = Header::ref_from_prefix(bytes) else {
            let expected = format!("a buffer header of {BUFFER_HEADER_BYTES} bytes");
            return Err(InvalidHeader::new(expected, format!("{} bytes", bytes.len())));
        };
        let (size, used, processor) = (header.size.get(), header.used.get(), header.processor.get());
        let (flags, kind) = (header.flags.get(), header.kind.get());
        let compressed = flags & FLAG_COMPRESSED != 0;
        if size < BUFFER_HEADER_BYTES || size > session_buffer_bytes {
            return Err(InvalidHeader::new(
                format!("BufferSize between {BUFFER_HEADER_BYTES} and {}", session_buffer_bytes),
                size.to_string(),
            ));
        }
        let most = if compressed { session_buffer_bytes } else { size };
        if used < BUFFER_HEADER_BYTES || used > most {
            return Err(InvalidHeader::new(
                format!("Offset between {BUFFER_HEADER_BYTES} and {most}"),
                used.to_string(),
            ));
        }
        if kind > 7 {
            return Err(InvalidHeader::new("BufferType between 0 and 7".into(), kind.to_string()));
        }
        let available = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Ok(Buffer {
            offset,
            size_bytes: size.min(available),
            stated_bytes: size,
            used_bytes: used,
            flushed: header.time_stamp.get(),
            sequence: header.sequence.get(),
            processor: match (kind, flags & FLAG_PROCESSOR_INDEX != 0) {
                (TYPE_HEADER, _) => 0, // the field has no meaning in a header buffer
                (_, true) => processor & 0x07ff,
                (_, false) => processor & 0x00ff, // before Windows 8 the high byte is an alignment
            },
            flags,
            kind,
            state: header.state.get(),
            cut: size > available,
            file: 0,
        })
    }
}

/// Why bytes are not a valid buffer header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidHeader {
    /// What a valid header has.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl InvalidHeader {
    fn new(expected: String, found: String) -> Self {
        InvalidHeader { expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(size: u32, used: u32, processor: u16, flags: u16, kind: u16) -> Vec<u8> {
        let mut bytes = vec![0; size.max(BUFFER_HEADER_BYTES) as usize];
        bytes[0..4].copy_from_slice(&size.to_le_bytes());
        bytes[0x18] = 9;
        bytes[0x28..0x2a].copy_from_slice(&processor.to_le_bytes());
        bytes[0x30..0x34].copy_from_slice(&used.to_le_bytes());
        bytes[0x34..0x36].copy_from_slice(&flags.to_le_bytes());
        bytes[0x36..0x38].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Buffer, InvalidHeader> {
        Buffer::read(bytes, FileOffset(0), 0x1000)
    }

    #[test]
    fn processor_field_has_three_meanings() {
        assert_eq!(read(&header(0x1000, 0x50, 0x080c, 0, 0)).unwrap().processor, 0x0c);
        assert_eq!(read(&header(0x1000, 0x50, 0xf90c, FLAG_PROCESSOR_INDEX, 0)).unwrap().processor, 0x10c);
        assert_eq!(read(&header(0x1000, 0x50, 0x0800, 0, TYPE_HEADER)).unwrap().processor, 0);
    }

    #[test]
    fn sizes_are_checked_against_the_session() {
        assert!(read(&header(0x2000, 0x50, 0, 0, 0)).unwrap_err().expected.contains("BufferSize"));
        assert!(read(&header(0x800, 0x900, 0, 0, 0)).unwrap_err().expected.contains("Offset"));
        assert_eq!(read(&header(0x800, 0x900, 0, FLAG_COMPRESSED, 0)).unwrap().area_bytes(), 0x900 - 0x48);
        assert!(read(&header(0x800, 0x20, 0, 0, 0)).is_err());
    }

    #[test]
    fn a_buffer_that_passes_the_end_of_the_file_is_cut() {
        let whole = header(0x1000, 0x800, 0, 0, 0);
        let buffer = read(&whole[..0x400]).unwrap();
        assert!(buffer.cut);
        assert_eq!((buffer.size_bytes, buffer.used_bytes, buffer.sequence), (0x400, 0x800, 9));
        assert!(read(&whole[..0x40]).unwrap_err().found.contains("64 bytes"));
    }
}
