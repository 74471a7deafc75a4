//! The bytes unpacked so far: in memory, then in a temporary file; never more than the limits allow.

use super::map::Mapping;
use crate::error::{Reason, Setting};
use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

/// An archive, or a trace with compressed buffers, that unpacks to more than this many times its size is made to fill the disk
/// or the memory …
pub const MOST_EXPANSION: u64 = 200;
/// … once it has unpacked to this many bytes: small files of zeros are harmless.
const EXPANSION_MATTERS: u64 = if cfg!(test) { 4 << 20 } else { 256 << 20 };
/// Bytes that are unpacked at a time, and how many such pieces wait to be stored.
const PIECE: usize = 1 << 20;
const PIECES_AHEAD: usize = 4;
/// Memory that is left for everything else, bytes.
const LEFT_FREE: usize = 32 << 20;

/// True for sizes that no trace has.
pub fn expands_too_much(packed: u64, unpacked: u64) -> bool {
    unpacked > packed.saturating_mul(MOST_EXPANSION).max(EXPANSION_MATTERS)
}

/// A number of bytes that can grow while they are unpacked.
pub type PackedBytes = Arc<AtomicU64>;

/// How much may be unpacked, bytes, and how much is.
#[derive(Debug)]
pub struct UnpackLimits {
    /// Kept in memory; what is larger goes to a temporary file.
    pub in_memory: u64,
    /// Unpacked at all.
    pub most: u64,
    /// Unpacked so far: for progress bars.
    pub unpacked: AtomicU64,
    /// Files that are not packed are copied too, not mapped: one that is cut meanwhile is an error then, and no signal.
    pub copies: bool,
    /// Another thread sets it to stop all reading. Unpacking then ends with an error; what reads an opened trace unwinds, with a
    /// payload that is no panic of this library.
    pub stop: Arc<AtomicBool>,
}

impl UnpackLimits {
    /// The reason why unpacking ended, with the setting that allows more where the limit is in the way.
    pub(super) fn reason(&self, text: String) -> Reason {
        let is_beyond = self.unpacked.load(Ordering::Relaxed) > self.most;
        Reason { text, setting: is_beyond.then_some(Setting::UnpackLimit) }
    }
}

impl Default for UnpackLimits {
    /// 4 GiB in memory, 64 GiB at all.
    fn default() -> UnpackLimits {
        let (unpacked, stop) = (AtomicU64::new(0), Arc::default());
        UnpackLimits { in_memory: 4 << 30, most: 64 << 30, unpacked, copies: false, stop }
    }
}

/// Bytes in memory or in a mapped file.
#[derive(Debug)]
pub enum Bytes {
    Mapped(Mapping),
    Held(Vec<u8>),
}

impl Bytes {
    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map.bytes(),
            Bytes::Held(bytes) => bytes,
        }
    }
}

/// Takes the unpacked bytes.
#[derive(Debug)]
pub struct Store<'l> {
    limits: &'l UnpackLimits,
    /// Bytes of the archive so far; `None` for a trace that is not packed.
    packed: Option<PackedBytes>,
    held: Vec<u8>,
    file: Option<File>,
    written: u64,
}

impl<'l> Store<'l> {
    /// An empty store; `packed` is the size of the archive, or how much of it has been read.
    pub fn new(limits: &'l UnpackLimits, packed: Option<PackedBytes>) -> Store<'l> {
        Store { limits, packed, held: Vec::new(), file: None, written: 0 }
    }

    /// Takes all bytes from `reader`. Another thread stores them, so that the next ones are unpacked meanwhile.
    /// Returns why it ended early, where some bytes were read before an error.
    ///
    /// # Errors
    /// A limit that is exceeded, the error of the temporary file, or of the reader when it gave nothing.
    pub fn fill(&mut self, reader: &mut dyn Read) -> Result<Option<String>, String> {
        let had = self.written;
        let ended = thread::scope(|scope| {
            let (send, receive) = sync_channel::<Vec<u8>>(PIECES_AHEAD);
            let store = || receive.into_iter().try_for_each(|piece| self.add(&piece));
            let stored = thread::Builder::new().spawn_scoped(scope, store).ok()?;
            let ended = pass_on(reader, |piece| send.send(piece).is_ok());
            drop(send);
            Some(stored.join().unwrap_or_else(|panic| resume_unwind(panic)).map(|()| ended))
        });
        // Where the system has no thread to give, this one stores too.
        match ended.unwrap_or_else(|| self.fill_alone(reader))? {
            Some(error) if self.written == had => Err(format!("nothing in it can be unpacked: {error}")),
            ended => Ok(ended.map(|error| error.to_string())),
        }
    }

    fn fill_alone(&mut self, reader: &mut dyn Read) -> Result<Option<io::Error>, String> {
        let mut stored = Ok(());
        let ended = pass_on(reader, |piece| {
            stored = self.add(&piece);
            stored.is_ok()
        });
        stored.map(|()| ended)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.limits.unpacked.store(self.written, Ordering::Relaxed);
        if self.limits.stop.load(Ordering::Relaxed) {
            return Err("it was stopped".into());
        }
        if self.written > self.limits.most {
            let limit = self.limits.most;
            return Err(format!("it unpacks to more than the limit of {limit} bytes"));
        }
        let packed = self.packed.as_ref().map(|packed| packed.load(Ordering::Relaxed));
        if packed.is_some_and(|packed| expands_too_much(packed, self.written)) {
            return Err(format!("it unpacks to more than {MOST_EXPANSION} times its size, which no trace does"));
        }
        let to_disk =
            |error| format!("cannot write to a temporary file in {}: {error}", std::env::temp_dir().display());
        // Memory that the system does not have is no reason to end, either.
        if self.file.is_none() && (self.written > self.limits.in_memory || !has_room(&mut self.held, bytes.len())) {
            let mut file = tempfile::tempfile().map_err(to_disk)?;
            file.write_all(&std::mem::take(&mut self.held)).map_err(to_disk)?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes).map_err(to_disk),
            None => {
                self.held.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The bytes, in memory or mapped.
    ///
    /// # Errors
    /// The system's error when the temporary file cannot be mapped.
    pub fn into_bytes(self) -> io::Result<Bytes> {
        match self.file {
            Some(file) => Mapping::of(file, Path::new("a temporary file")).map(Bytes::Mapped),
            None => Ok(Bytes::Held(self.held)),
        }
    }
}

/// Makes room for more bytes, unless so little memory would be left then that other work could not go on.
fn has_room(held: &mut Vec<u8>, more: usize) -> bool {
    if held.capacity() - held.len() >= more {
        return true;
    }
    let grown = held.capacity().max(more).saturating_add(LEFT_FREE);
    Vec::<u8>::new().try_reserve_exact(grown).is_ok() && held.try_reserve(more).is_ok()
}

/// Passes on what a reader gives in pieces, until it ends or nobody takes more. Returns its error.
fn pass_on(reader: &mut dyn Read, mut take: impl FnMut(Vec<u8>) -> bool) -> Option<io::Error> {
    loop {
        let mut piece = Vec::new();
        let has_memory = |size: &usize| piece.try_reserve_exact(*size).is_ok();
        let size = [PIECE, PIECE >> 4].into_iter().find(has_memory).unwrap_or(PIECE >> 8);
        let read = reader.take(size as u64).read_to_end(&mut piece);
        // What came before an error counts.
        if piece.is_empty() || !take(piece) || read.is_err() {
            return read.err();
        }
    }
}

/// A reader that counts its bytes.
pub struct Counting<R> {
    reader: R,
    bytes: PackedBytes,
}

impl<R> Counting<R> {
    /// A reader that counts its bytes, and the place where it counts.
    pub fn new(reader: R) -> (Counting<R>, PackedBytes) {
        let bytes = PackedBytes::default();
        (Counting { reader, bytes: bytes.clone() }, bytes)
    }
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: u64, limits: &UnpackLimits, packed: Option<u64>) -> Result<Vec<u8>, String> {
        let mut store = Store::new(limits, packed.map(|bytes| PackedBytes::new(bytes.into())));
        assert_eq!(store.fill(&mut io::repeat(7).take(bytes))?, None);
        Ok(store.into_bytes().unwrap().as_slice().to_vec())
    }

    #[test]
    fn what_is_too_large_for_memory_goes_to_a_file() {
        let limits = UnpackLimits { in_memory: 3 << 20, most: 9 << 20, ..UnpackLimits::default() };
        for bytes in [0, 5, 3 << 20, (3 << 20) + 1, 9 << 20] {
            assert_eq!(stored(bytes, &limits, None).unwrap(), vec![7; bytes as usize]);
        }
        assert!(stored((9 << 20) + 1, &limits, None).unwrap_err().contains("limit of 9437184"));
    }

    #[test]
    fn one_thread_can_do_it_alone() {
        let limits = UnpackLimits { in_memory: 1 << 20, most: 3 << 20, ..UnpackLimits::default() };
        let alone = |bytes: u64| {
            let mut store = Store::new(&limits, None);
            store.fill_alone(&mut io::repeat(7).take(bytes)).map(|_| store.into_bytes().unwrap().as_slice().to_vec())
        };
        for bytes in [0, 5, 1 << 20, 3 << 20] {
            assert_eq!(alone(bytes).unwrap(), vec![7; bytes as usize]);
        }
        assert!(alone((3 << 20) + 1).unwrap_err().contains("limit of 3145728"));
    }

    #[test]
    fn what_grows_too_much_is_refused() {
        let limits = UnpackLimits { in_memory: 1 << 20, most: 1 << 40, ..UnpackLimits::default() };
        assert_eq!(stored(EXPANSION_MATTERS, &limits, Some(10)).unwrap().len() as u64, EXPANSION_MATTERS);
        assert!(stored(EXPANSION_MATTERS + 1, &limits, Some(10)).unwrap_err().contains("200 times"));
        let fits = EXPANSION_MATTERS + 1;
        assert_eq!(stored(fits, &limits, Some(fits / 200 + 1)).unwrap().len() as u64, fits);
    }

    #[test]
    fn an_error_keeps_what_was_read_before() {
        struct Broken(u32);
        impl Read for Broken {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(1).ok_or(io::Error::other("it broke"))?;
                bytes[..3].copy_from_slice(b"abc");
                Ok(3)
            }
        }
        let limits = UnpackLimits::default();
        let mut store = Store::new(&limits, Some(PackedBytes::new(9.into())));
        assert_eq!(store.fill(&mut Broken(2)).unwrap().as_deref(), Some("it broke"));
        assert_eq!(store.held, b"abcabc");
        assert!(
            Store::new(&limits, Some(PackedBytes::new(9.into())))
                .fill(&mut Broken(0))
                .unwrap_err()
                .contains("it broke")
        );
    }
}
