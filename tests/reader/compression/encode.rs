//! Simple, slow encoders of XPRESS and XPRESS Huffman ([MS-XCA] 2.3, 2.1): greedy, matching the last place with the same
//! three bytes. Compiled by path into `benches/` too.
#![allow(dead_code, reason = "the benchmark uses one of the two")]

use std::collections::HashMap;

/// A token of an LZ77 stream.
enum Token {
    Literal(u8),
    Match { distance: usize, length: usize },
}

/// Cuts data into literals and matches that reach at most `farthest` back and do not cross multiples of `block`.
fn tokens(data: &[u8], farthest: usize, block: usize) -> Vec<(usize, Token)> {
    let mut last = HashMap::new();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let end = data.len().min((at / block + 1).saturating_mul(block));
        let earlier = data.get(at..at + 3).and_then(|key| last.get(key)).filter(|&&from| at - from <= farthest);
        let same = |from: usize| (at..end).take_while(|&i| data[i] == data[from + i - at]).count();
        let (token, length) = match earlier.map(|&from| (at - from, same(from))) {
            Some((distance, length)) if length >= 3 => (Token::Match { distance, length }, length),
            _ => (Token::Literal(data[at]), 1),
        };
        tokens.push((at, token));
        for i in at..at + length {
            if let Some(key) = data.get(i..i + 3) {
                last.insert(key, i);
            }
        }
        at += length;
    }
    tokens
}

/// `data` as plain LZ77. Unused flags are ones, as Windows writes them.
pub fn xpress(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    let (mut flags_at, mut flags, mut flag_count) = (0, 0u32, 0);
    let mut half_used_byte_at = None;
    for (_, token) in tokens(data, 8192, usize::MAX) {
        flags <<= 1;
        match token {
            Token::Literal(byte) => out.push(byte),
            Token::Match { distance, length } => {
                flags |= 1;
                let mut left = length - 3;
                let code = left.min(7);
                out.extend((((distance - 1) << 3 | code) as u16).to_le_bytes());
                if code == 7 {
                    left -= 7;
                    let nibble = left.min(15) as u8;
                    match half_used_byte_at.take() {
                        Some(shared) => out[shared] |= nibble << 4,
                        None => {
                            half_used_byte_at = Some(out.len());
                            out.push(nibble);
                        }
                    }
                    if nibble == 15 {
                        left -= 15;
                        long_length(&mut out, left, length - 3);
                    }
                }
            }
        }
        flag_count += 1;
        if flag_count == 32 {
            out[flags_at..flags_at + 4].copy_from_slice(&flags.to_le_bytes());
            (flags_at, flags, flag_count) = (out.len(), 0, 0);
            out.extend([0; 4]);
        }
    }
    let filled = (0..32 - flag_count).fold(flags, |flags, _| flags << 1 | 1);
    out[flags_at..flags_at + 4].copy_from_slice(&filled.to_le_bytes());
    out
}

/// The long forms of a length: the remainder in a byte; or 255 and the whole field in 16 bits; or 255, 16 zero bits and
/// the whole field in 32 bits.
fn long_length(out: &mut Vec<u8>, left: usize, field: usize) {
    if left < 255 {
        out.push(left as u8);
    } else if field < 65536 {
        out.push(255);
        out.extend((field as u16).to_le_bytes());
    } else {
        out.extend([255, 0, 0]);
        out.extend((field as u32).to_le_bytes());
    }
}

/// `data` as LZ77 with Huffman codes of the given lengths, which every symbol that occurs must have.
pub fn huffman(data: &[u8], lengths: &[u8; 512]) -> Vec<u8> {
    let mut order: Vec<usize> = (0..512).filter(|&s| lengths[s] != 0).collect();
    order.sort_by_key(|&s| (lengths[s], s));
    let mut codes = [0u32; 512];
    let mut next = 0u32; // in units of the longest code
    for symbol in order {
        codes[symbol] = next >> (15 - lengths[symbol]);
        next += 1 << (15 - lengths[symbol]);
    }
    let mut writer = Writer { out: Vec::new(), slots: [0; 2], pending: 0, count: 0 };
    writer.table(lengths);
    let symbol = |writer: &mut Writer, symbol: usize| writer.bits(codes[symbol], lengths[symbol].into());
    for (at, token) in tokens(data, 65535, 65536) {
        if at > 0 && at % 65536 == 0 {
            writer.flush();
            writer.table(lengths);
        }
        match token {
            Token::Literal(byte) => symbol(&mut writer, byte.into()),
            Token::Match { distance, length } => {
                let distance_bits = distance.ilog2();
                symbol(&mut writer, 256 + 16 * distance_bits as usize + (length - 3).min(15));
                if length - 3 >= 15 {
                    long_length(&mut writer.out, length - 3 - 15, length - 3);
                }
                writer.bits(distance as u32 - (1 << distance_bits), distance_bits);
            }
        }
    }
    symbol(&mut writer, 256);
    writer.flush();
    writer.out
}

/// Bits in 16-bit words. The places of two words are always reserved ahead, and extra bytes follow these places.
struct Writer {
    out: Vec<u8>,
    slots: [usize; 2],
    pending: u32,
    count: u32,
}

impl Writer {
    fn table(&mut self, lengths: &[u8; 512]) {
        self.out.extend(lengths.chunks(2).map(|pair| pair[0] | pair[1] << 4));
        self.slots = [self.out.len(), self.out.len() + 2];
        self.out.extend([0; 4]);
    }

    fn bits(&mut self, bits: u32, count: u32) {
        self.pending = self.pending << count | bits;
        self.count += count;
        if self.count > 16 {
            self.count -= 16;
            self.word((self.pending >> self.count) as u16);
            self.pending &= (1 << self.count) - 1;
            self.slots = [self.slots[1], self.out.len()];
            self.out.extend([0; 2]);
        }
    }

    fn word(&mut self, word: u16) {
        self.out[self.slots[0]..self.slots[0] + 2].copy_from_slice(&word.to_le_bytes());
    }

    fn flush(&mut self) {
        self.word((self.pending << (16 - self.count)) as u16);
        (self.pending, self.count) = (0, 0);
    }
}
