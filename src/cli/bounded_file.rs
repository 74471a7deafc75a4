//! Files that people write by hand, read with a limit: a device has no end.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The most that such a file may hold, bytes.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a file of at most 16 MiB.
///
/// # Errors
/// Those of the system; a file that is larger, or has no end.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(io::Error::new(ErrorKind::InvalidData, "it holds more than 16 MiB")),
        false => Ok(bytes),
    }
}
