//! XPRESS, the plain LZ77 of [MS-XCA] 2.4: optimized for speed, one token per loop iteration.
//!
//! A 32-bit word holds one flag per token, most significant first; 0 is a literal, 1 a match. Runs of literals are found
//! by counting zeros and copied in chunks; the extended lengths of two matches share a byte, half each.

use super::back_copy::back_copy;
use super::outcome::{CompressionFault, Decompression};

/// The flags of the current word, shifted so that the next one is bit 63, with a 1 after the last: only that left
/// means that the word is used up. Zeros before the first 1 are literals in either case.
const USED_UP: u64 = 1 << 63;

/// After the output is complete, at most one flag word may follow that no token uses.
const UNUSED_FLAG_WORD_BYTES: usize = 4;

/// Decodes `input` to the start of `out`, whose length is the limit.
pub(super) fn decompress(input: &[u8], out: &mut [u8]) -> Decompression {
    let mut decoder = Decoder { input, at: 0, out, written: 0, spare_nibble: None };
    let fault = decoder.run().err();
    Decompression { written: decoder.written, fault }
}

struct Decoder<'a> {
    input: &'a [u8],
    /// Offset of the next input byte.
    at: usize,
    out: &'a mut [u8],
    /// Output bytes done.
    written: usize,
    /// High half of the byte whose low half was the last length extension, until it is used as the next one.
    spare_nibble: Option<u8>,
}

impl Decoder<'_> {
    fn run(&mut self) -> Result<(), CompressionFault> {
        let mut flags = USED_UP;
        loop {
            let run = flags.leading_zeros();
            if run > 0 {
                let complete = self.literals(run as usize)?;
                if !complete {
                    return Ok(());
                }
                flags <<= run;
            }
            if self.written == self.out.len() {
                return self.finish();
            }
            if flags == USED_UP {
                let word = self.read::<4>(self.at, "the flag word")?;
                flags = u64::from(u32::from_le_bytes(word)) << 32 | 1 << 31;
                continue;
            }
            if self.at == self.input.len() {
                return Ok(()); // a match flag with nothing after it ends the stream
            }
            self.one_match()?;
            flags <<= 1;
        }
    }

    /// Copies up to 32 literals. False when the output became full before the last of them and nothing was left over.
    #[inline(always)]
    fn literals(&mut self, count: usize) -> Result<bool, CompressionFault> {
        let source = self.input.get(self.at..).unwrap_or_default();
        let place = self.out.get_mut(self.written..).unwrap_or_default();
        match (source.first_chunk::<32>(), place.first_chunk_mut::<32>()) {
            (Some(source), Some(place)) => *place = *source,
            _ => return self.last_literals(count),
        }
        self.at += count;
        self.written += count;
        Ok(true)
    }

    /// Literals near the end of input or output.
    #[cold]
    fn last_literals(&mut self, count: usize) -> Result<bool, CompressionFault> {
        let source = self.input.get(self.at..).unwrap_or_default();
        let place = self.out.get_mut(self.written..).unwrap_or_default();
        let n = count.min(source.len()).min(place.len());
        if let (Some(source), Some(place)) = (source.get(..n), place.get_mut(..n)) {
            place.copy_from_slice(source);
        }
        self.at += n;
        self.written += n;
        if n == count {
            Ok(true)
        } else if self.written == self.out.len() {
            self.finish().map(|()| false)
        } else {
            Err(CompressionFault::Cut { at: self.at, what: "a run of literals" })
        }
    }

    #[inline(always)]
    fn one_match(&mut self) -> Result<(), CompressionFault> {
        let start = self.at;
        let token = usize::from(u16::from_le_bytes(self.read(start, "a match")?));
        let distance = (token >> 3) + 1;
        let code = token & 7;
        let length = if code < 7 { code + 3 } else { self.extended_length(start)? };
        if distance > self.written {
            return Err(CompressionFault::DistanceBeforeOutput { at: start, distance, written: self.written });
        }
        let room = self.out.len() - self.written;
        back_copy(self.out, self.written, distance, length.min(room));
        self.written += length.min(room);
        if length > room { Err(self.past_limit(start)) } else { Ok(()) }
    }

    /// The length of a match whose code is 7: nibble, then byte, then 16 bits, then 32 bits.
    #[inline]
    fn extended_length(&mut self, start: usize) -> Result<usize, CompressionFault> {
        let nibble = match self.spare_nibble.take() {
            Some(high) => high,
            None => {
                let [byte] = self.read(start, "a match")?;
                self.spare_nibble = Some(byte >> 4);
                byte & 15
            }
        };
        if nibble < 15 {
            return Ok(usize::from(nibble) + 7 + 3);
        }
        let [byte] = self.read(start, "a match")?;
        if byte < 255 {
            return Ok(usize::from(byte) + 15 + 7 + 3);
        }
        let mut field = u32::from(u16::from_le_bytes(self.read(start, "a match")?));
        if field == 0 {
            field = u32::from_le_bytes(self.read(start, "a match")?);
        }
        let field = usize::try_from(field).unwrap_or(usize::MAX);
        if field < 15 + 7 {
            return Err(CompressionFault::ShortExtension { at: start, found: field, least: 15 + 7 });
        }
        Ok(field.saturating_add(3))
    }

    /// The output is full: what is left of the input must be no token.
    fn finish(&self) -> Result<(), CompressionFault> {
        let left = self.input.len() - self.at;
        if left > UNUSED_FLAG_WORD_BYTES { Err(self.past_limit(self.at)) } else { Ok(()) }
    }

    #[cold]
    fn past_limit(&self, at: usize) -> CompressionFault {
        CompressionFault::PastLimit { at, limit: self.out.len() }
    }

    /// The next `N` input bytes, which belong to `what` at offset `start`.
    #[inline(always)]
    fn read<const N: usize>(&mut self, start: usize, what: &'static str) -> Result<[u8; N], CompressionFault> {
        match self.input.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => Err(CompressionFault::Cut { at: start, what }),
        }
    }
}
