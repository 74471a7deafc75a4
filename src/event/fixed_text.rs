//! Text in a fixed array.

use crate::byte_reader::{LayoutField, Wide};
use std::fmt;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

/// A UTF-16LE string in a fixed array: the text up to its first NUL, and the bytes after that, which are what stood in the
/// memory before. Only the text counts in comparisons.
#[derive(Clone, Copy, Default)]
pub struct FixedText<'a> {
    /// The text.
    pub text: Wide<'a>,
    /// The rest of the array.
    pub stale: &'a [u8],
}

impl<'a, const N: usize> LayoutField<'a, FixedText<'a>> for [U16; N] {
    fn value(&'a self) -> FixedText<'a> {
        let used = self.iter().position(|unit| unit.get() == 0).unwrap_or(N);
        let (text, stale) = self.split_at(used);
        FixedText { text: Wide(text.as_bytes()), stale: stale.as_bytes() }
    }
}

impl PartialEq for FixedText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for FixedText<'_> {}

impl fmt::Display for FixedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Debug for FixedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

#[cfg(test)]
impl<'a> From<Wide<'a>> for FixedText<'a> {
    fn from(text: Wide<'a>) -> Self {
        FixedText { text, stale: &[] }
    }
}
