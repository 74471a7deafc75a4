//! The LZ77 copy: repeating earlier output, possibly overlapping itself.
//!
//! Short copies dominate in traces, so they are done in fixed chunks that may write up to [`SLACK`] arbitrary bytes
//! after the copy, where the output has room; the next token overwrites them.

/// Bytes that the fast paths may write after the end of a copy.
const SLACK: usize = 16;

/// Copies `length` bytes to `out[at..]` from `distance` bytes before, bytewise in effect: a distance below the length
/// repeats.
///
/// Writes nothing unless `1 <= distance <= at` and `at + length <= out.len()`, which callers check before, so
/// that they can report which condition failed. Bytes after `at + length` may be overwritten with anything.
#[inline(always)]
pub(super) fn back_copy(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let Some(from) = at.checked_sub(distance) else { return };
    let window = out.get_mut(from..).unwrap_or_default();
    let slack = window.len() >= distance.saturating_add(length).saturating_add(SLACK);
    match distance {
        16.. if slack => {
            let mut done = 0;
            loop {
                move_chunk(window, done, distance + done);
                done += 16;
                if done >= length {
                    return;
                }
            }
        }
        1.. if slack => repeat(window, distance, length),
        _ => exactly(window, distance, length),
    }
}

/// Copies 16 bytes; the caller ensures that source and target are inside.
#[inline(always)]
fn move_chunk(window: &mut [u8], from: usize, to: usize) {
    let Some(&chunk) = window.get(from..).and_then(|w| w.first_chunk::<16>()) else { return };
    if let Some(place) = window.get_mut(to..).and_then(|w| w.first_chunk_mut::<16>()) {
        *place = chunk;
    }
}

/// Repeats the pattern of `distance` < 16 bytes at the window's start.
#[inline(always)]
fn repeat(window: &mut [u8], distance: usize, length: usize) {
    let Some(&chunk) = window.first_chunk::<16>() else { return };
    // Double the pattern inside a register until it fills all 16 bytes; bytes after it in the window are masked out.
    let mut bits = 8 * distance as u32;
    let mut pattern = u128::from_le_bytes(chunk) & !(u128::MAX << bits);
    while bits < 128 {
        pattern |= pattern << bits;
        bits *= 2;
    }
    // Whole periods only, so that each store starts at the beginning of the pattern.
    let step = 16 - 16 % distance;
    let mut done = 0;
    while done < length {
        if let Some(place) = window.get_mut(distance + done..).and_then(|w| w.first_chunk_mut::<16>()) {
            *place = pattern.to_le_bytes();
        }
        done += step;
    }
}

/// The path without slack: whole periods, doubling.
#[cold]
fn exactly(window: &mut [u8], distance: usize, length: usize) {
    let Some(window) = distance.checked_add(length).and_then(|end| window.get_mut(..end)) else { return };
    let mut done = distance;
    while done > 0 && done < window.len() {
        let count = done.min(window.len() - done);
        window.copy_within(..count, done);
        done += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every distance and length that the fast paths distinguish, with and without slack, against a copy byte by byte.
    #[test]
    fn copies_like_one_byte_at_a_time() {
        let start: Vec<u8> = (0..80).map(|i: u8| i.wrapping_mul(37) ^ 0x5a).collect();
        for distance in 1..=70 {
            for length in 1..=70 {
                for room in [length, length + 1, length + 15, length + 16, length + 40] {
                    let mut expected = start.clone();
                    for i in 0..length {
                        expected.push(expected[80 - distance + i]);
                    }
                    let mut out = start.clone();
                    out.resize(80 + room, 0xee);
                    back_copy(&mut out, 80, distance, length);
                    assert_eq!(out[..80 + length], expected, "distance {distance}, length {length}, room {room}");
                }
            }
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        for (at, distance, length) in [(4, 5, 1), (4, 0, 1), (4, 1, 5), (4, 1, usize::MAX), (9, 1, 1), (0, 0, 0)] {
            let mut out = *b"abcdefgh";
            back_copy(&mut out, at, distance, length);
            assert_eq!(&out, b"abcdefgh", "{at} {distance} {length}");
        }
    }
}
