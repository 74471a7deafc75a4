//! The bytes of an exported table as pieces of whole rows, each decoded on the thread that reads it.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr_iter, memchr2_iter};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Bytes of a piece, about.
const PIECE: usize = 1 << 20;

/// A text file: its bytes without the byte-order mark, and their encoding.
#[derive(Debug, Clone, Copy)]
pub struct Text<'f> {
    bytes: &'f [u8],
    encoding: &'static Encoding,
    /// The character at which a line ends: `\n`, or `\r` where the text begins with lines of the old Macintosh.
    end: u8,
}

/// Bytes in which the first line ends, if any does.
const FIRST_LINES: usize = 1 << 16;

impl<'f> Text<'f> {
    /// Looks at the byte-order mark; without one the text is UTF-8.
    pub fn new(bytes: &'f [u8]) -> Text<'f> {
        let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((UTF_8, 0));
        let mut text = Text { bytes: bytes.get(mark..).unwrap_or_default(), encoding, end: b'\n' };
        let first = text.bytes.len().min(FIRST_LINES) & !1;
        let ends: Vec<u8> = text.units(0..first, b'\n', b'\r').map(|(_, unit)| unit).take(2).collect();
        // One alone may be the first half of `\r\n`, the rest of which was not looked at.
        if matches!(ends.as_slice(), [b'\r', b'\r']) || ends == [b'\r'] && text.bytes.len() <= FIRST_LINES {
            text.end = b'\r';
        }
        text
    }

    /// True when the first bytes can be those of a text: no control characters but tabs and line ends.
    pub fn is_plausible(&self) -> bool {
        let first = 0..self.bytes.len().min(4096) & !1;
        let control = |c: char| c.is_control() && !matches!(c, '\t' | '\r' | '\n');
        // A trace is told by its zeros, before the text of it is made.
        let mut bytes = self.bytes.get(first.clone()).unwrap_or_default().iter();
        if self.width() == 1 && bytes.any(|&byte| byte.is_ascii() && control(char::from(byte))) {
            return false;
        }
        let start = self.decode(first);
        !start.trim().is_empty() && !start.chars().any(control)
    }

    /// All characters.
    pub fn whole(&self) -> Cow<'f, str> {
        self.decode(0..self.bytes.len())
    }

    /// The characters of a range of bytes. What is no character becomes U+FFFD.
    pub fn decode(&self, range: Range<usize>) -> Cow<'f, str> {
        let bytes = self.bytes.get(range).unwrap_or_default();
        self.encoding.decode_without_bom_handling(bytes).0
    }

    /// The bytes of a range as UTF-8. UTF-8 itself is passed on unchecked: labels are checked where they become text.
    pub fn utf8(&self, range: Range<usize>) -> Cow<'f, [u8]> {
        if self.encoding == UTF_8 {
            return Cow::Borrowed(self.bytes.get(range).unwrap_or_default());
        }
        match self.decode(range) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }

    /// The offset in bytes of a place in `head`, the start of the text.
    pub fn offset_of(&self, head: &str, at: usize) -> usize {
        match self.is_utf16() {
            true => head.get(..at).map_or(0, |before| before.encode_utf16().count() * 2),
            false => at,
        }
    }

    /// Whole lines from the start, at least `bytes` bytes where the text has them.
    pub fn head(&self, bytes: usize) -> Cow<'f, str> {
        let rest = |from: usize| self.units(from..self.bytes.len(), self.end, self.end).map(|(at, _)| at).next();
        let end = if bytes < self.bytes.len() { rest(bytes & !1) } else { None };
        self.decode(0..end.unwrap_or(self.bytes.len()))
    }

    fn width(&self) -> usize {
        if self.bytes.is_empty() || std::ptr::eq(self.encoding, UTF_8) { 1 } else { 2 }
    }

    /// Places after either of two ASCII characters, with the character.
    fn units(&self, range: Range<usize>, one: u8, two: u8) -> impl Iterator<Item = (usize, u8)> + '_ {
        let (start, width) = (range.start, self.width());
        let bytes = self.bytes.get(range).unwrap_or_default();
        // The other byte of a UTF-16 unit of an ASCII character is 0: after it (little-endian) or before it.
        let place_in_unit = usize::from(self.encoding == UTF_16BE);
        memchr2_iter(one, two, bytes).filter_map(move |at| {
            let unit = at - at % width;
            let other = || bytes.get(unit + 1 - place_in_unit) == Some(&0);
            let is_unit = width == 1 || at % width == place_in_unit && other();
            is_unit.then(|| (start + unit + width, bytes.get(at).copied().unwrap_or(one)))
        })
    }

    fn quotes(&self, range: Range<usize>) -> usize {
        match self.width() {
            1 => memchr_iter(b'"', self.bytes.get(range).unwrap_or_default()).count(),
            _ => self.units(range, b'"', b'"').count(),
        }
    }

    /// Ranges of whole rows that cover the text from `start`. A line end between quotes ends no row.
    pub fn pieces(&self, start: usize) -> Vec<Range<usize>> {
        let length = self.bytes.len();
        let bounds: Vec<usize> = (start..length).step_by(PIECE).collect();
        let quotes: Vec<usize> = bounds.par_iter().map(|&from| self.quotes(from..length.min(from + PIECE))).collect();
        // A quote without its partner says that quotes mean nothing here.
        let are_paired = quotes.iter().sum::<usize>() % 2 == 0;
        let mut is_quoted = false;
        let mut starts = vec![start];
        for (&from, quotes) in bounds.iter().zip(&quotes) {
            if from > start {
                let mut inside = is_quoted && are_paired;
                let row = self.units(from..length.min(from + PIECE), b'"', self.end).find(|(_, unit)| {
                    inside ^= *unit == b'"' && are_paired;
                    *unit == self.end && !inside
                });
                starts.extend(row.map(|(at, _)| at).filter(|at| starts.last().is_none_or(|last| at > last)));
            }
            is_quoted ^= quotes % 2 == 1;
        }
        starts.push(length);
        starts.windows(2).filter_map(|pair| Some(*pair.first()?..*pair.last()?)).filter(|r| !r.is_empty()).collect()
    }

    /// The number of the line at an offset, from 1.
    pub fn line_of(&self, offset: usize) -> u64 {
        self.units(0..offset.min(self.bytes.len()), self.end, self.end).count() as u64 + 1
    }

    /// The character at which a line ends.
    pub fn line_end(&self) -> char {
        self.end.into()
    }

    /// True for UTF-16.
    pub fn is_utf16(&self) -> bool {
        self.encoding == UTF_16LE || self.encoding == UTF_16BE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, big_endian: Option<bool>) -> Vec<u8> {
        match big_endian {
            None => text.as_bytes().to_vec(),
            Some(big) => std::iter::once(0xfeff_u16)
                .chain(text.encode_utf16())
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect(),
        }
    }

    #[test]
    fn pieces_are_whole_rows_in_every_encoding() {
        let row = |n: usize| format!("row {n},\"two\nlines, \"\"quoted\"\"\",\u{430a}\u{220a}ü\r\n");
        let text: String = (0..60_000).map(row).collect();
        for encoding in [None, Some(false), Some(true)] {
            let bytes = encoded(&text, encoding);
            let text = Text::new(&bytes);
            assert_eq!(text.is_utf16(), encoding.is_some());
            let pieces = text.pieces(0);
            assert!(pieces.len() > 2, "{}", pieces.len());
            let mut rows = 0;
            for piece in &pieces {
                let part = text.decode(piece.clone());
                assert!(part.starts_with("row ") && part.ends_with("ü\r\n"));
                rows += part.matches("row ").count();
            }
            assert_eq!(rows, 60_000);
            assert_eq!(text.line_of(pieces[1].start), text.decode(0..pieces[1].start).matches('\n').count() as u64 + 1);
            assert!(text.head(10).starts_with("row 0") && text.head(10).len() < 80);
            assert!(text.is_plausible());
        }
    }

    #[test]
    fn carriage_returns_alone_end_lines() {
        for encoding in [None, Some(false), Some(true)] {
            let bytes = encoded(&"a,\"b\rc\"\r".repeat(400_000), encoding);
            let text = Text::new(&bytes);
            assert_eq!(text.line_end(), '\r');
            assert!(text.head(10).ends_with('\r') && text.head(10).len() < 40);
            let pieces = text.pieces(0);
            assert!(pieces.len() > 2 && pieces.iter().all(|piece| text.decode(piece.clone()).ends_with("c\"\r")));
            assert_eq!(text.line_of(bytes.len()), 800_001);
            for text in ["a,b\r\nc,d\r\n", "a,\"\r\"\n", "a\n", "a"] {
                assert_eq!(Text::new(&encoded(text, encoding)).line_end(), '\n', "{text:?}");
            }
        }
    }

    #[test]
    fn a_quote_alone_does_not_swallow_the_file() {
        let text = format!("a,5\" disk,1\n{}", "b,c,2\n".repeat(600_000));
        let text = Text::new(text.as_bytes());
        assert!(text.pieces(12).len() > 2);
        assert!(Text::new(b"").pieces(0).is_empty());
    }

    #[test]
    fn binary_data_is_no_text() {
        for bytes in [&b"\0\0\x01\0"[..], b"", b"   ", b"MZ\x90\0\x03"] {
            assert!(!Text::new(bytes).is_plausible(), "{bytes:?}");
        }
    }
}
