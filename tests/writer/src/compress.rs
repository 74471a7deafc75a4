//! Compressors for event areas: plain LZ77 (XPRESS), LZNT1 and XPRESS Huffman, after [MS-XCA] 2.3, 2.5 and 2.1.
//!
//! XPRESS and XPRESS Huffman share a greedy match finder with one candidate per 3-byte hash. The Huffman form uses the
//! simplest complete code there is: all 512 symbols with 9 bits, so that a symbol's code is its number. LZNT1 comes
//! from the `lznt1` crate. Every stream is valid; none is as small as Windows would make it.

use super::session::Compression;

/// Appends the compressed form of `input` to `out`.
pub fn compress(how: Compression, input: &[u8], out: &mut Vec<u8>) {
    match how {
        Compression::None => out.extend_from_slice(input),
        Compression::Xpress => xpress(input, out),
        Compression::Lznt1 => {
            let mut stream = Vec::new();
            lznt1::compress(input, &mut stream);
            out.extend_from_slice(&stream);
        }
        Compression::Huffman => huffman(input, out),
    }
}

/// Greedy matches of at least 3 bytes through a table of the last position of each hash.
struct Matcher<'a> {
    input: &'a [u8],
    window: usize,
    last: Vec<u32>,
}

impl<'a> Matcher<'a> {
    fn new(input: &'a [u8], window: usize) -> Matcher<'a> {
        Matcher { input, window, last: vec![u32::MAX; 1 << 13] }
    }

    /// Longest match at `at` with the last equal hash that does not pass `end`: (distance, length).
    fn find(&mut self, at: usize, end: usize) -> Option<(usize, usize)> {
        let key = self.input.get(at..at + 3)?;
        let word = u32::from(key[0]) | u32::from(key[1]) << 8 | u32::from(key[2]) << 16;
        let hash = (word.wrapping_mul(0x9e37_79b1) >> 19) as usize;
        let before = std::mem::replace(&mut self.last[hash], at as u32);
        if before == u32::MAX || at - before as usize > self.window {
            return None;
        }
        let before = before as usize;
        let (there, here) = (&self.input[before..], &self.input[at..end]);
        let len = here.iter().zip(there).take_while(|(a, b)| a == b).count();
        (len >= 3).then_some((at - before, len))
    }
}

/// Plain LZ77: 32 flag bits, then their tokens; the nibble of a long length is shared by two matches.
fn xpress(input: &[u8], out: &mut Vec<u8>) {
    let mut matcher = Matcher::new(input, 8192);
    let mut flags_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let (mut flags, mut flag_count) = (0_u32, 0_u32);
    let mut nibble_at: Option<usize> = None;
    let mut at = 0;
    while at < input.len() {
        let found = matcher.find(at, input.len());
        flags = flags << 1 | u32::from(found.is_some());
        flag_count += 1;
        match found {
            None => {
                out.push(input[at]);
                at += 1;
            }
            Some((distance, len)) => {
                put_xpress_match(out, distance, len, &mut nibble_at);
                at += len;
            }
        }
        if flag_count == 32 {
            out[flags_at..flags_at + 4].copy_from_slice(&flags.to_le_bytes());
            (flags, flag_count, flags_at) = (0, 0, out.len());
            out.extend_from_slice(&[0; 4]);
        }
    }
    // The unused flags are set: a set bit with no input left ends the stream.
    let rest = 32 - flag_count;
    let flags = if rest == 32 { u32::MAX } else { flags << rest | ((1 << rest) - 1) };
    out[flags_at..flags_at + 4].copy_from_slice(&flags.to_le_bytes());
}

fn put_xpress_match(out: &mut Vec<u8>, distance: usize, len: usize, nibble_at: &mut Option<usize>) {
    let rest = len - 3;
    let word = ((distance - 1) << 3 | rest.min(7)) as u16;
    out.extend_from_slice(&word.to_le_bytes());
    if rest < 7 {
        return;
    }
    let nibble = (rest - 7).min(15) as u8;
    match nibble_at.take() {
        Some(half) => out[half] |= nibble << 4,
        None => {
            *nibble_at = Some(out.len());
            out.push(nibble);
        }
    }
    if nibble < 15 {
        return;
    }
    if rest - 22 < 255 {
        out.push((rest - 22) as u8);
    } else if rest <= 0xffff {
        out.push(255);
        out.extend_from_slice(&(rest as u16).to_le_bytes());
    } else {
        out.extend_from_slice(&[255, 0, 0]);
        out.extend_from_slice(&(rest as u32).to_le_bytes());
    }
}

/// The 16-bit words of a Huffman block. A reader fetches two words ahead, so the places of the next two words are
/// reserved before the bytes that follow them.
struct BitWriter {
    word: u32,
    free: u32,
    first: usize,
    second: usize,
}

impl BitWriter {
    fn new(out: &mut Vec<u8>) -> BitWriter {
        let first = out.len();
        out.extend_from_slice(&[0; 4]);
        BitWriter { word: 0, free: 16, first, second: first + 2 }
    }

    fn put(&mut self, out: &mut Vec<u8>, count: u32, bits: u32) {
        if self.free >= count {
            self.free -= count;
            self.word = self.word << count | bits;
            return;
        }
        let over = count - self.free;
        let word = (self.word << self.free | bits >> over) as u16;
        out[self.first..self.first + 2].copy_from_slice(&word.to_le_bytes());
        self.first = self.second;
        self.second = out.len();
        out.extend_from_slice(&[0; 2]);
        self.free = 16 - over;
        self.word = bits & ((1 << over) - 1);
    }

    fn finish(self, out: &mut [u8]) {
        let word = (self.word << self.free) as u16;
        out[self.first..self.first + 2].copy_from_slice(&word.to_le_bytes());
        out[self.second..self.second + 2].copy_from_slice(&[0; 2]);
    }
}

/// XPRESS Huffman: blocks of 64 KiB of output, each with a table of 512 four-bit code lengths.
fn huffman(input: &[u8], out: &mut Vec<u8>) {
    const BLOCK: usize = 0x1_0000;
    let mut matcher = Matcher::new(input, 0xffff);
    let mut at = 0;
    loop {
        let end = (at + BLOCK).min(input.len());
        out.extend_from_slice(&[0x99; 256]);
        let mut bits = BitWriter::new(out);
        while at < end {
            match matcher.find(at, end) {
                None => {
                    bits.put(out, 9, u32::from(input[at]));
                    at += 1;
                }
                Some((distance, len)) => {
                    put_huffman_match(&mut bits, out, distance, len);
                    at += len;
                }
            }
        }
        let done = at >= input.len();
        if done {
            bits.put(out, 9, 256);
        }
        bits.finish(out);
        if done {
            return;
        }
    }
}

fn put_huffman_match(bits: &mut BitWriter, out: &mut Vec<u8>, distance: usize, len: usize) {
    let rest = len - 3;
    let high = distance.ilog2();
    bits.put(out, 9, 256 + rest.min(15) as u32 + (high << 4));
    if rest >= 15 {
        if rest - 15 < 255 {
            out.push((rest - 15) as u8);
        } else {
            out.push(255);
            out.extend_from_slice(&(rest as u16).to_le_bytes());
        }
    }
    if high > 0 {
        bits.put(out, high, distance as u32 - (1 << high));
    }
}
