//! What was unpacked so far: in memory, then in a temporary file; never more than the limits allow.

use super::map::Mapping;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// An archive that unpacks to more than this many times its size is made to fill the disk …
const MOST_EXPANSION: u64 = 200;
/// … once it has unpacked to this many bytes: small files of zeros are harmless.
const EXPANSION_MATTERS: u64 = 256 << 20;
/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// How much may be unpacked, bytes, and how much is.
#[derive(Debug)]
pub struct UnpackLimits {
    /// Kept in memory; what is larger goes to a temporary file.
    pub in_memory: u64,
    /// Unpacked at all.
    pub most: u64,
    /// Unpacked so far: for progress bars.
    pub unpacked: AtomicU64,
}

impl Default for UnpackLimits {
    /// 4 GiB in memory, 64 GiB at all.
    fn default() -> UnpackLimits {
        UnpackLimits { in_memory: 4 << 30, most: 64 << 30, unpacked: AtomicU64::new(0) }
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
    /// Size of the archive; `None` for standard input.
    packed: Option<u64>,
    held: Vec<u8>,
    file: Option<File>,
    written: u64,
}

impl<'l> Store<'l> {
    /// An empty store; `packed` is the size of the archive.
    pub fn new(limits: &'l UnpackLimits, packed: Option<u64>) -> Store<'l> {
        Store { limits, packed, held: Vec::new(), file: None, written: 0 }
    }

    /// Takes all that `reader` gives. Returns why it ended early, where some bytes were read before an error.
    ///
    /// # Errors
    /// A limit that is exceeded, the error of the temporary file, or of the reader when it gave nothing.
    pub fn fill(&mut self, reader: &mut dyn Read) -> Result<Option<String>, String> {
        let mut piece = vec![0; PIECE];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(read) => self.add(piece.get(..read).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.written == 0 => return Err(format!("nothing in it can be unpacked: {error}")),
                Err(error) => return Ok(Some(error.to_string())),
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.limits.unpacked.store(self.written, Ordering::Relaxed);
        if self.written > self.limits.most {
            let limit = self.limits.most;
            return Err(format!("it unpacks to more than the limit of {limit} bytes"));
        }
        let expected = self.packed.map_or(u64::MAX, |packed| packed.saturating_mul(MOST_EXPANSION));
        if self.written > expected.max(EXPANSION_MATTERS) {
            return Err(format!("it unpacks to more than {MOST_EXPANSION} times its size, as no trace does"));
        }
        let to_disk =
            |error| format!("cannot write to a temporary file in {}: {error}", std::env::temp_dir().display());
        if self.file.is_none() && self.written > self.limits.in_memory {
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
            Some(file) => Mapping::of(&file).map(Bytes::Mapped),
            None => Ok(Bytes::Held(self.held)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: u64, limits: &UnpackLimits, packed: Option<u64>) -> Result<Vec<u8>, String> {
        let mut store = Store::new(limits, packed);
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
        let mut store = Store::new(&limits, Some(9));
        assert_eq!(store.fill(&mut Broken(2)).unwrap().as_deref(), Some("it broke"));
        assert_eq!(store.held, b"abcabc");
        assert!(Store::new(&limits, Some(9)).fill(&mut Broken(0)).unwrap_err().contains("it broke"));
    }
}
