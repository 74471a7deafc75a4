//! The bytes of a database as its reader asks for them, with a bound: streams are lists of pages, and a hostile file can name one page in
//! as many streams, and as often in one, as it likes.

use pdb2::{Source, SourceSlice, SourceView};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// All bytes of a file.
pub type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// What is said of streams that take more than all pages of the file a few times.
const SHARED: &str = "its streams share pages, as no linker writes them";

/// Whether no more bytes are given, whatever stream is asked for.
pub fn is_used_up(error: &pdb2::Error) -> bool {
    matches!(error, pdb2::Error::IoError(error) if error.kind() == io::ErrorKind::Other)
}

/// Bytes of a file in memory.
pub struct Bytes {
    bytes: Shared,
    /// How many bytes may still be viewed.
    left: u64,
}

impl Bytes {
    /// Each byte of a file is in one stream, which is viewed a few times. Small views cost at least a page.
    pub fn new(bytes: Shared) -> Bytes {
        let left = (16 << 20) + 8 * (*bytes).as_ref().len() as u64;
        Bytes { bytes, left }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", (*self.bytes).as_ref().len())
    }
}

/// A stream.
enum View {
    /// It lies in one piece.
    Piece(Shared, Range<usize>),
    /// A copy of its pieces.
    Copy(Vec<u8>),
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({})", self.as_slice().len())
    }
}

impl SourceView<'_> for View {
    fn as_slice(&self) -> &[u8] {
        match self {
            View::Piece(bytes, range) => (**bytes).as_ref().get(range.clone()).unwrap_or_default(),
            View::Copy(bytes) => bytes,
        }
    }
}

impl Source<'static> for Bytes {
    fn view(&mut self, slices: &[SourceSlice]) -> io::Result<Box<dyn SourceView<'static> + Send + Sync>> {
        const SMALLEST: u64 = 4096;
        let all = (*self.bytes).as_ref();
        let beyond = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let range = |slice: &SourceSlice| {
            let begin = usize::try_from(slice.offset).map_err(|_| beyond())?;
            let range = begin..begin.checked_add(slice.size).ok_or_else(beyond)?;
            all.get(range.clone()).map(|_| range).ok_or_else(beyond)
        };
        // The reader has made the list of the pages already: it is paid for, also by a stream that is refused.
        let length = slices.iter().fold(0u64, |sum, slice| sum.saturating_add(slice.size as u64));
        let Some(left) = self.left.checked_sub(length.max(SMALLEST)) else {
            self.left = 0;
            return Err(io::Error::other(SHARED));
        };
        self.left = left;
        // A stream has each page once, so none is longer than the file.
        if length > all.len() as u64 {
            return Err(beyond());
        }
        Ok(Box::new(match slices {
            [one] => View::Piece(self.bytes.clone(), range(one)?),
            _ => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(length as usize)?;
                for slice in slices {
                    bytes.extend_from_slice(all.get(range(slice)?).unwrap_or_default());
                }
                View::Copy(bytes)
            }
        }))
    }
}
