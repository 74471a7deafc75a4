//! LZNT1 of [MS-XCA] 2.5: chunks that each decode to up to 4096 bytes on their own.
//!
//! A chunk is a 16-bit header (bits 0–11 data bytes − 1, bits 12–14 signature 3, bit 15 compressed) and its data; header
//! 0 ends the stream. In a compressed chunk a flag byte, least significant bit first, precedes 8 tokens: literals, or
//! 16-bit matches whose split into distance and length depends on the position in the chunk. No trace with this format
//! is known; where the document leaves it open, the code follows Windows and a comment says so.

use super::back_copy::back_copy;
use super::outcome::{CompressionFault, Decompression};

/// Most bytes that one chunk decodes to.
const CHUNK_BYTES: usize = 4096;

/// Decodes `input` to the start of `out`, whose length is the limit.
pub(super) fn decompress(input: &[u8], out: &mut [u8]) -> Decompression {
    let mut written = 0;
    let fault = chunks(input, out, &mut written).err();
    Decompression { written, fault }
}

fn chunks(input: &[u8], out: &mut [u8], written: &mut usize) -> Result<(), CompressionFault> {
    let limit = out.len();
    let mut at = 0;
    while at < input.len() {
        let start = at;
        let rest = input.get(start..).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<2>() else {
            // One zero byte is half of an end marker.
            return if rest == [0] { Ok(()) } else { Err(CompressionFault::Cut { at, what: "a chunk header" }) };
        };
        let header = u16::from_le_bytes(*header);
        if header == 0 {
            return Ok(());
        }
        let found = header >> 12 & 7;
        if found != 3 {
            return Err(CompressionFault::ChunkSignature { at, found });
        }
        let size = usize::from(header & 0xfff) + 1;
        let data = rest.get(..size).unwrap_or(rest);
        at = start + 2 + data.len();
        // When another chunk follows, Windows pads a shorter chunk with zeros to 4096 bytes.
        let base = written.next_multiple_of(CHUNK_BYTES).min(limit);
        if let Some(gap) = out.get_mut(*written..base) {
            gap.fill(0);
        }
        *written = base;
        let room = out.get_mut(base..limit.min(base.saturating_add(CHUNK_BYTES))).unwrap_or_default();
        let mut chunk = Chunk { data, start: start + 2, out: room, written: 0 };
        let result = if header & 0x8000 != 0 { chunk.compressed() } else { chunk.stored() };
        *written += chunk.written;
        result?;
        if data.len() < size {
            return Err(CompressionFault::Cut { at: start, what: "a chunk" });
        }
    }
    Ok(())
}

struct Chunk<'a> {
    data: &'a [u8],
    /// Offset of the data in the input.
    start: usize,
    /// Room for the chunk's output: 4096 bytes, or less at the limit.
    out: &'a mut [u8],
    written: usize,
}

impl Chunk<'_> {
    fn stored(&mut self) -> Result<(), CompressionFault> {
        let n = self.data.len().min(self.out.len());
        if let (Some(source), Some(place)) = (self.data.get(..n), self.out.get_mut(..n)) {
            place.copy_from_slice(source);
        }
        self.written = n;
        if n < self.data.len() { Err(self.past_limit(n)) } else { Ok(()) }
    }

    fn compressed(&mut self) -> Result<(), CompressionFault> {
        let mut at = 0;
        while let Some(&flags) = self.data.get(at) {
            at += 1;
            for bit in 0..8 {
                let Some(&byte) = self.data.get(at) else { return Ok(()) };
                if flags >> bit & 1 != 0 {
                    self.one_match(at)?;
                    at += 2;
                } else {
                    let Some(place) = self.out.get_mut(self.written) else { return Err(self.past_limit(at)) };
                    *place = byte;
                    self.written += 1;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    fn one_match(&mut self, at: usize) -> Result<(), CompressionFault> {
        let Some(token) = self.data.get(at..).and_then(|rest| rest.first_chunk::<2>()) else {
            return Err(CompressionFault::Cut { at: self.start + at, what: "a match" });
        };
        let token = usize::from(u16::from_le_bytes(*token));
        let length_bits = length_bits(self.written);
        let distance = (token >> length_bits) + 1;
        let length = (token & ((1 << length_bits) - 1)) + 3;
        if distance > self.written {
            let at = self.start + at;
            return Err(CompressionFault::DistanceBeforeOutput { at, distance, written: self.written });
        }
        let room = self.out.len() - self.written;
        back_copy(self.out, self.written, distance, length.min(room));
        self.written += length.min(room);
        if length > room { Err(self.past_limit(at)) } else { Ok(()) }
    }

    fn past_limit(&self, at: usize) -> CompressionFault {
        CompressionFault::PastLimit { at: self.start + at, limit: self.out.len() }
    }
}

/// Bits of a match token that hold the length, by the position in the chunk: 12 at first, one fewer after each power of
/// two from 16 on, so that every distance back to the chunk's start can be expressed.
fn length_bits(position: usize) -> u32 {
    let distance_bits = match position.checked_sub(1) {
        Some(farthest) => (usize::BITS - farthest.leading_zeros()).max(4),
        None => 4,
    };
    16u32.saturating_sub(distance_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_follows_the_position() {
        // [MS-XCA] 2.5.1.4: 16 positions share 4 distance bits, then each doubling takes one more.
        for (position, bits) in
            [(0, 12), (1, 12), (16, 12), (17, 11), (32, 11), (33, 10), (2048, 5), (2049, 4), (4096, 4)]
        {
            assert_eq!(length_bits(position), bits, "{position}");
        }
    }
}
