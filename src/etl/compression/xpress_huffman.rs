//! XPRESS Huffman of [MS-XCA] 2.2: LZ77 with one prefix code for literals and match heads, in blocks of 65536 bytes.
//!
//! A block starts with the code lengths of 512 symbols, 4 bits each: 0–255 literals, 256 + 16 × (bits of the distance) +
//! length code. Codes come from 16-bit words, two of which are always read ahead; the extra bytes of long matches
//! follow the words read so far. No trace with this format is known.

use super::back_copy::back_copy;
use super::outcome::{CompressionFault, Decompression};

const SYMBOLS: usize = 512;
const TABLE_BYTES: usize = SYMBOLS / 2;
const BLOCK_BYTES: usize = 65536;
const MAX_CODE_BITS: u32 = 15;
/// Codes up to this length are decoded by one table lookup.
const DIRECT_BITS: u32 = 10;
/// First symbol that is a match head.
const FIRST_MATCH: u16 = 256;

/// Decodes `input` to the start of `out`, whose length is the limit.
///
/// The limit must be the length of the data: symbol 256 also ends a stream, and only the length distinguishes that from a match
/// of 3 bytes at distance 1. Input after the limit is not read, so the end symbol and its padding do not count as surplus.
pub(super) fn decompress(input: &[u8], out: &mut [u8]) -> Decompression {
    let mut written = 0;
    let fault = blocks(input, out, &mut written).err();
    Decompression { written, fault }
}

fn blocks(input: &[u8], out: &mut [u8], written: &mut usize) -> Result<(), CompressionFault> {
    let mut bits = Bits { input, at: 0, window: 0, real: 0 };
    let mut code = PrefixCode::empty();
    while *written < out.len() {
        code.read(bits.bytes("a table of code lengths")?, bits.at)?;
        bits.start();
        let block_end = written.saturating_add(BLOCK_BYTES);
        while *written < block_end && *written < out.len() {
            let start = bits.at;
            let symbol = code.next(&mut bits)?;
            if let Ok(literal) = u8::try_from(symbol) {
                if let Some(place) = out.get_mut(*written) {
                    *place = literal;
                }
                *written += 1;
                continue;
            }
            let head = usize::from(symbol - FIRST_MATCH);
            let length = bits.length(head & 15)?;
            let distance = bits.distance(head as u32 >> 4)?;
            if distance > *written {
                return Err(CompressionFault::DistanceBeforeOutput { at: start, distance, written: *written });
            }
            let room = out.len() - *written;
            back_copy(out, *written, distance, length.min(room));
            *written += length.min(room);
            if length > room {
                return Err(CompressionFault::PastLimit { at: start, limit: out.len() });
            }
        }
    }
    Ok(())
}

/// The bit stream and the bytes inside it.
struct Bits<'a> {
    input: &'a [u8],
    /// Offset of the next input byte, after all words read.
    at: usize,
    /// The next 16 to 32 bits, the first one in the highest bit; zeros after the end of the input.
    window: u32,
    /// How many of them are from the input: fewer than 16 only after the last word.
    real: u32,
}

impl Bits<'_> {
    /// Starts the bits of a block with its first two words.
    fn start(&mut self) {
        (self.window, self.real) = (0, 0);
        self.refill();
        self.refill();
    }

    /// Appends the next word. A single last byte is skipped: half a word is missing, and it is not a length byte.
    fn refill(&mut self) {
        let rest = self.input.get(self.at..).unwrap_or_default();
        if let Some(word) = rest.first_chunk::<2>() {
            self.window |= u32::from(u16::from_le_bytes(*word)) << (16 - self.real);
            self.real += 16;
            self.at += 2;
        } else {
            self.at = self.input.len();
        }
    }

    /// Removes `count` ≤ 15 bits from the window.
    #[inline]
    fn skip(&mut self, count: u32, what: &'static str) -> Result<(), CompressionFault> {
        self.real = self.real.checked_sub(count).ok_or(CompressionFault::Cut { at: self.at, what })?;
        self.window <<= count;
        if self.real < 16 {
            self.refill();
        }
        Ok(())
    }

    /// The next `N` bytes between the words.
    fn bytes<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CompressionFault> {
        match self.input.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => Err(CompressionFault::Cut { at: self.at, what }),
        }
    }

    /// A match length by its 4-bit code. Code 15 is followed by a byte, the byte 255 by 16 bits, and 16 zero bits by 32.
    fn length(&mut self, code: usize) -> Result<usize, CompressionFault> {
        if code < 15 {
            return Ok(code + 3);
        }
        let start = self.at;
        let [byte] = self.bytes("a match length")?;
        if byte < 255 {
            return Ok(usize::from(byte) + 15 + 3);
        }
        let mut field = u32::from(u16::from_le_bytes(self.bytes("a match length")?));
        if field == 0 {
            field = u32::from_le_bytes(self.bytes("a match length")?);
        }
        let field = usize::try_from(field).unwrap_or(usize::MAX);
        if field < 15 {
            return Err(CompressionFault::ShortExtension { at: start, found: field, least: 15 });
        }
        Ok(field.saturating_add(3))
    }

    /// A distance of `count` ≤ 15 bits below its leading 1.
    fn distance(&mut self, count: u32) -> Result<usize, CompressionFault> {
        // In two steps, because shifting a u32 by 32 is not allowed.
        let low = self.window >> 1 >> (31 - count);
        self.skip(count, "a match distance")?;
        Ok((1 << count) + low as usize)
    }
}

/// A canonical prefix code: symbols sorted by (length, number) get ascending codes.
struct PrefixCode {
    /// By the next [`DIRECT_BITS`] bits: symbol × 16 + length of its code; length 0: a longer code, or none.
    direct: [u16; 1 << DIRECT_BITS],
    /// By length: how many codes have it.
    count: [u16; MAX_CODE_BITS as usize + 1],
    /// Symbols in the order of their codes.
    sorted: [u16; SYMBOLS],
}

impl PrefixCode {
    const fn empty() -> Self {
        PrefixCode { direct: [0; 1 << DIRECT_BITS], count: [0; MAX_CODE_BITS as usize + 1], sorted: [0; SYMBOLS] }
    }

    /// Reads the code lengths of a block; `end` is the offset after them. Unassigned codes are a fault only when they
    /// occur.
    fn read(&mut self, table: [u8; TABLE_BYTES], end: usize) -> Result<(), CompressionFault> {
        let lengths = || (0u16..).zip(table.iter().flat_map(|pair| [pair & 15, pair >> 4]));
        *self = PrefixCode::empty();
        let mut sorted = self.sorted.iter_mut();
        // One code of length n takes 2^(15 - n) of the 2^15 values that 15 bits have.
        let mut taken: usize = 0;
        for length in 1..=MAX_CODE_BITS {
            for (symbol, _) in lengths().filter(|&(_, l)| u32::from(l) == length) {
                if let Some(place) = sorted.next() {
                    *place = symbol;
                }
                if let Some(count) = self.count.get_mut(length as usize) {
                    *count += 1;
                }
                if length <= DIRECT_BITS {
                    let unit = 1 << (DIRECT_BITS - length);
                    let first = taken >> (MAX_CODE_BITS - DIRECT_BITS);
                    if let Some(entries) = self.direct.get_mut(first..first + unit) {
                        entries.fill(symbol << 4 | length as u16);
                    }
                }
                taken += 1 << (MAX_CODE_BITS - length);
            }
        }
        if taken > 1 << MAX_CODE_BITS {
            return Err(CompressionFault::CodeLengths { at: end - TABLE_BYTES });
        }
        Ok(())
    }

    /// Decodes one symbol.
    #[inline]
    fn next(&self, bits: &mut Bits) -> Result<u16, CompressionFault> {
        let entry = self.direct.get((bits.window >> (32 - DIRECT_BITS)) as usize).copied().unwrap_or(0);
        let (symbol, length) = match entry & 15 {
            0 => self.walk(bits)?,
            length => (entry >> 4, u32::from(length)),
        };
        bits.skip(length, "a code")?;
        Ok(symbol)
    }

    /// Decodes a long code bit by bit, by the first code of each length and the number of codes of that length.
    #[cold]
    fn walk(&self, bits: &Bits) -> Result<(u16, u32), CompressionFault> {
        let (mut first, mut index) = (0u32, 0u32);
        for (length, &count) in (0u32..).zip(&self.count).skip(1) {
            let code = bits.window >> (32 - length);
            let count = u32::from(count);
            if let Some(nth) = code.checked_sub(first).filter(|&nth| nth < count) {
                let symbol = self.sorted.get((index + nth) as usize).copied().unwrap_or(0);
                return Ok((symbol, length));
            }
            index += count;
            first = (first + count) << 1;
        }
        Err(CompressionFault::NoSuchCode { at: bits.at })
    }
}
