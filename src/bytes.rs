//! The one bounds-checked reader of payload bytes.
//!
//! Every read names its field, so that an error says which field did not fit. Nothing here indexes: a read past the
//! end is an error, never a panic. Strings are borrowed from the trace and decoded only when shown.

use crate::units::PointerSize;
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// A field that does not fit into its payload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum FieldError {
    /// The payload ends before the field does.
    #[error("{field} at offset {at} needs {need} bytes, {have} are left")]
    Short {
        /// Name of the field as in `docs/formats.md`.
        field: &'static str,
        /// Offset of the field in the payload, bytes.
        at: usize,
        /// Bytes that the field takes.
        need: usize,
        /// Bytes left in the payload at that offset.
        have: usize,
    },
    /// A string without its terminating NUL.
    #[error("{field} at offset {at} has no terminating NUL")]
    Unterminated {
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in the payload, bytes.
        at: usize,
    },
}

/// A cursor over one payload.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    pointer: PointerSize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, whose pointers have the size `pointer`.
    pub fn new(bytes: &'a [u8], pointer: PointerSize) -> Self {
        Cursor { bytes, at: 0, pointer }
    }

    /// Offset of the next field, bytes from the start of the payload.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The unread rest, without reading it.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// `count` raw bytes.
    pub fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], FieldError> {
        match self.rest().get(..count) {
            Some(slice) => {
                self.at += count;
                Ok(slice)
            }
            None => Err(FieldError::Short { field, at: self.at, need: count, have: self.remaining() }),
        }
    }

    /// Passes over `count` bytes.
    pub fn skip(&mut self, count: usize, field: &'static str) -> Result<(), FieldError> {
        self.take(count, field).map(|_| ())
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FieldError> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(FieldError::Short { field, at: self.at, need: N, have: self.remaining() }),
        }
    }

    /// An unsigned byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, FieldError> {
        self.array::<1>(field).map(|b| b[0])
    }

    /// A signed byte.
    pub fn i8(&mut self, field: &'static str) -> Result<i8, FieldError> {
        self.array::<1>(field).map(i8::from_le_bytes)
    }

    /// A little-endian 16-bit number.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, FieldError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// A little-endian 32-bit number.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, FieldError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// A little-endian signed 32-bit number.
    pub fn i32(&mut self, field: &'static str) -> Result<i32, FieldError> {
        self.array(field).map(i32::from_le_bytes)
    }

    /// A little-endian 64-bit number.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, FieldError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A little-endian signed 64-bit number.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, FieldError> {
        self.array(field).map(i64::from_le_bytes)
    }

    /// A pointer or a pointer-sized count, widened to 64 bits.
    pub fn ptr(&mut self, field: &'static str) -> Result<u64, FieldError> {
        match self.pointer {
            PointerSize::P4 => self.u32(field).map(u64::from),
            PointerSize::P8 => self.u64(field),
        }
    }

    /// A GUID as stored in traces: the first three groups little-endian.
    pub fn guid(&mut self, field: &'static str) -> Result<uuid::Uuid, FieldError> {
        self.array(field).map(uuid::Uuid::from_bytes_le)
    }

    /// A UTF-16LE string with its NUL; the NUL is searched in 2-byte steps from here and is not part of the result.
    pub fn wide(&mut self, field: &'static str) -> Result<Wide<'a>, FieldError> {
        let rest = self.rest();
        match rest.chunks_exact(2).position(|pair| pair == [0, 0]) {
            Some(units) => {
                self.at += units * 2 + 2;
                Ok(Wide(rest.get(..units * 2).unwrap_or_default()))
            }
            None => Err(FieldError::Unterminated { field, at: self.at }),
        }
    }

    /// An 8-bit string with its NUL, which is not part of the result.
    pub fn narrow(&mut self, field: &'static str) -> Result<Narrow<'a>, FieldError> {
        let rest = self.rest();
        match rest.iter().position(|&b| b == 0) {
            Some(length) => {
                self.at += length + 1;
                Ok(Narrow(rest.get(..length).unwrap_or_default()))
            }
            None => Err(FieldError::Unterminated { field, at: self.at }),
        }
    }

    /// A UTF-16LE string in a fixed array of `units` 2-byte units, cut at its first NUL.
    pub fn wide_array(&mut self, units: usize, field: &'static str) -> Result<Wide<'a>, FieldError> {
        let need = units.saturating_mul(2);
        let array = self.take(need, field)?;
        let used = array.chunks_exact(2).position(|pair| pair == [0, 0]).unwrap_or(units);
        Ok(Wide(array.get(..used * 2).unwrap_or_default()))
    }
}

/// A UTF-16LE string in the trace, at any alignment, without its NUL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Wide<'a>(pub &'a [u8]);

impl Wide<'_> {
    /// True when the string has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text; what is no UTF-16 becomes replacement characters.
    pub fn text(&self) -> String {
        let (units, _) = self.0.as_chunks::<2>();
        // Nearly all names are plain, and then this is many times faster.
        let plain = units.iter().all(|&[low, high]| high == 0 && low.is_ascii());
        let bytes = plain.then(|| units.iter().map(|&[low, _]| low).collect());
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| self.to_string())
    }
}

impl fmt::Display for Wide<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let units = self.0.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        char::decode_utf16(units).try_for_each(|c| f.write_char(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

impl fmt::Debug for Wide<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// An 8-bit string in the trace, without its NUL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Narrow<'a>(pub &'a [u8]);

impl<'a> Narrow<'a> {
    /// The text; bytes that are no UTF-8 become replacement characters.
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// True when the string has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Narrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Narrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pointers_by_the_records_size() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(Cursor::new(&bytes, PointerSize::P8).ptr("x"), Ok(0x2_0000_0001));
        assert_eq!(Cursor::new(&bytes, PointerSize::P4).ptr("x"), Ok(1));
    }

    #[test]
    fn a_short_field_names_itself_and_reads_nothing() {
        let mut cursor = Cursor::new(&[1, 2, 3], PointerSize::P8);
        assert_eq!(cursor.u16("first"), Ok(0x0201));
        let error = FieldError::Short { field: "second", at: 2, need: 4, have: 1 };
        assert_eq!(cursor.u32("second"), Err(error));
        assert_eq!(cursor.position(), 2);
    }

    #[test]
    fn strings_end_at_their_nul_or_are_errors() {
        let bytes = [b'h', 0, b'i', 0, 0, 0, b'a', 0, b'z'];
        let mut cursor = Cursor::new(&bytes, PointerSize::P8);
        assert_eq!(cursor.wide("w").unwrap().to_string(), "hi");
        assert_eq!(cursor.narrow("a").unwrap().text(), "a");
        assert_eq!(cursor.narrow("b"), Err(FieldError::Unterminated { field: "b", at: 8 }));
    }

    #[test]
    fn wide_strings_survive_broken_surrogates() {
        assert_eq!(Wide(&[0x00, 0xd8, b'x', 0]).to_string(), "\u{fffd}x");
    }
}
