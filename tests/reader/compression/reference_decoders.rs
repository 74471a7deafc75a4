//! Simple, slow decoders that follow the document literally: bit by bit, byte by byte, with one table of all codes. Tests
//! and fuzzing compare the real decoders with them.
//!
//! Each gives the bytes it could decode and whether the stream was sound. Written from [MS-XCA] alone and sharing no
//! code with the real decoders; compiled by path into `fuzz/` too.
#![allow(dead_code, reason = "every fuzz target uses one of the three")]

/// Decompressed bytes, and whether the stream was valid to its end.
pub type Decompressed = (Vec<u8>, bool);

/// Plain LZ77, [MS-XCA] 2.4.4.
pub fn xpress(input: &[u8], limit: usize) -> Decompressed {
    let mut out = Vec::new();
    let mut at = 0;
    let (mut flags, mut flag_count) = (0u32, 0);
    let mut half_used_byte_at = None;
    let byte = |at: usize| input.get(at).map(|&b| b as usize);
    let word = |at: usize| Some(byte(at)? | byte(at + 1)? << 8);
    let long = |at: usize| Some(word(at)? | word(at + 2)? << 16);
    loop {
        if out.len() == limit {
            return (out, input.len() - at <= 4);
        }
        if flag_count == 0 {
            let Some(word) = long(at) else { return (out, false) };
            (flags, flag_count, at) = (word as u32, 32, at + 4);
        }
        flag_count -= 1;
        if flags >> flag_count & 1 == 0 {
            let Some(literal) = byte(at) else { return (out, false) };
            out.push(literal as u8);
            at += 1;
            continue;
        }
        if at == input.len() {
            return (out, true);
        }
        let Some(token) = word(at) else { return (out, false) };
        at += 2;
        let distance = token / 8 + 1;
        let mut length = token % 8;
        if length == 7 {
            let extension = match half_used_byte_at.take() {
                Some(shared) => byte(shared).map(|b| b / 16),
                None => {
                    half_used_byte_at = Some(at);
                    at += 1;
                    byte(at - 1).map(|b| b % 16)
                }
            };
            let Some(extension) = extension else { return (out, false) };
            length = extension;
            if length == 15 {
                let Some(extension) = byte(at) else { return (out, false) };
                at += 1;
                length = extension;
                if length == 255 {
                    let Some(extension) = word(at) else { return (out, false) };
                    at += 2;
                    length = extension;
                    if length == 0 {
                        let Some(extension) = long(at) else { return (out, false) };
                        at += 4;
                        length = extension;
                    }
                    if length < 15 + 7 {
                        return (out, false);
                    }
                    length -= 15 + 7;
                }
                length += 15;
            }
            length += 7;
        }
        if !repeat(&mut out, distance, length + 3, 0, limit) {
            return (out, false);
        }
    }
}

/// LZNT1, [MS-XCA] 2.5.
pub fn lznt1(input: &[u8], limit: usize) -> Decompressed {
    let mut out = Vec::new();
    let mut at = 0;
    while at < input.len() {
        if input[at..] == [0] || input[at..].starts_with(&[0, 0]) {
            return (out, true);
        }
        let Some(&high) = input.get(at + 1) else { return (out, false) };
        let header = usize::from(input[at]) + 256 * usize::from(high);
        if header / 4096 % 8 != 3 {
            return (out, false);
        }
        let end = at + 2 + header % 4096 + 1;
        while out.len() % 4096 != 0 && out.len() < limit {
            out.push(0);
        }
        let data = &input[at + 2..end.min(input.len())];
        if !lznt1_chunk(data, header >= 0x8000, &mut out, limit) || end > input.len() {
            return (out, false);
        }
        at = end;
    }
    (out, true)
}

fn lznt1_chunk(data: &[u8], compressed: bool, out: &mut Vec<u8>, limit: usize) -> bool {
    let base = out.len();
    let limit = limit.min(base + 4096);
    let mut data = data.iter().map(|&b| usize::from(b));
    'groups: loop {
        let Some(flags) = (if compressed { data.next() } else { Some(0) }) else { return true };
        for bit in 0..8 {
            let Some(first) = data.next() else { break 'groups };
            if flags & 1 << bit == 0 {
                if out.len() == limit {
                    return false;
                }
                out.push(first as u8);
                continue;
            }
            let Some(second) = data.next() else { return false };
            let token = first + 256 * second;
            let mut distance_values = 16;
            while distance_values < out.len() - base {
                distance_values *= 2;
            }
            let length_values = 65536 / distance_values;
            if !repeat(out, token / length_values + 1, token % length_values + 3, base, limit) {
                return false;
            }
        }
    }
    true
}

/// LZ77 with Huffman codes, [MS-XCA] 2.2.4, with the table of all 2^15 codes. The end symbol counts only at the limit.
pub fn huffman(input: &[u8], limit: usize) -> Decompressed {
    let mut out = Vec::new();
    let mut at = 0;
    while out.len() < limit {
        let Some(lengths) = input.get(at..at + 256) else { return (out, false) };
        let length_of = |symbol: usize| usize::from(lengths[symbol / 2] >> (symbol % 2 * 4) & 15);
        let mut codes = Vec::new();
        for length in 1..16 {
            for symbol in (0..512).filter(|&s| length_of(s) == length) {
                codes.extend(std::iter::repeat_n(symbol, 1 << (15 - length)));
            }
        }
        if codes.len() > 1 << 15 {
            return (out, false);
        }
        at += 256;
        let mut bits: Vec<bool> = Vec::new();
        let fill = |bits: &mut Vec<bool>, at: &mut usize| match input.get(*at..*at + 2) {
            Some(word) => {
                let word = u16::from_le_bytes([word[0], word[1]]);
                bits.extend((0..16).rev().map(|bit| word >> bit & 1 == 1));
                *at += 2;
            }
            None => *at = input.len(),
        };
        fill(&mut bits, &mut at);
        fill(&mut bits, &mut at);
        let number = |bits: &[bool], count: usize| {
            (0..count).fold(0, |n, i| n * 2 + usize::from(bits.get(i).copied().unwrap_or(false)))
        };
        let block_end = out.len() + 65536;
        while out.len() < block_end && out.len() < limit {
            let Some(&symbol) = codes.get(number(&bits, 15)) else { return (out, false) };
            if bits.len() < length_of(symbol) {
                return (out, false);
            }
            bits.drain(..length_of(symbol));
            if bits.len() < 16 {
                fill(&mut bits, &mut at);
            }
            if symbol < 256 {
                out.push(symbol as u8);
                continue;
            }
            let mut take = |count: usize| {
                let bytes = input.get(at..at + count)?;
                at += count;
                Some(bytes.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)))
            };
            let mut length = symbol % 16;
            if length == 15 {
                let Some(extension) = take(1) else { return (out, false) };
                length += extension;
                if extension == 255 {
                    let Some(extension) = take(2) else { return (out, false) };
                    length = extension;
                    if length == 0 {
                        let Some(extension) = take(4) else { return (out, false) };
                        length = extension;
                    }
                    if length < 15 {
                        return (out, false);
                    }
                }
            }
            let distance_bits = (symbol - 256) / 16;
            if bits.len() < distance_bits {
                return (out, false);
            }
            let distance = (1 << distance_bits) + number(&bits, distance_bits);
            bits.drain(..distance_bits);
            if bits.len() < 16 {
                fill(&mut bits, &mut at);
            }
            if !repeat(&mut out, distance, length + 3, 0, limit) {
                return (out, false);
            }
        }
    }
    (out, true)
}

/// Repeats `length` bytes from `distance` back; false when that is before `base` or the output would pass its limit.
fn repeat(out: &mut Vec<u8>, distance: usize, length: usize, base: usize, limit: usize) -> bool {
    if distance > out.len() - base {
        return false;
    }
    for _ in 0..length {
        if out.len() == limit {
            return false;
        }
        out.push(out[out.len() - distance]);
    }
    true
}
