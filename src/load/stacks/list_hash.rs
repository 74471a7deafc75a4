//! Hashes that stand for lists of frames: two lists have the same one by a chance that no trace can raise.
//!
//! Sums of products of words and random keys (NH of UMAC; Black, Halevi, Krawczyk, Krovetz and Rogaway 1999): two lists that differ, whatever
//! they are, have one sum with a chance of 2^-63. Of two such sums, each made one number by random factors, 96 bits are kept. So of 100
//! million lists, compared with 2^18 known ones each, one is taken for another with a chance below 2^-48. Keys are drawn anew in each run.

use crate::event::payload::PointerArray;
use crate::units::PointerSize;
use std::hash::{BuildHasher, RandomState};

/// Most frames of a part of a stack that are read, the innermost ones. Windows walks 192; a record has room for 8,000, and can be the
/// user part of many events, each with names of its own time.
pub const MOST_FRAMES: usize = 512;

/// What a list is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListHash {
    /// Half of it, or more: evenly spread.
    pub first: u64,
    /// The rest.
    pub rest: u32,
}

/// Words that go together.
const PAIR: usize = 16;

/// Random keys.
#[derive(Debug)]
pub struct ListHasher {
    /// Of each pair of words, two for each sum.
    pairs: Vec<[u64; 4]>,
    /// Of the length, which is no word of the list.
    length: [u64; 4],
    /// Factors and a summand that make one number of a sum.
    last: [[u128; 3]; 2],
}

impl Default for ListHasher {
    fn default() -> ListHasher {
        let (random, mut drawn) = (RandomState::new(), 0u32);
        let mut next = || {
            drawn += 1;
            random.hash_one(drawn)
        };
        let mut four = || [0; 4].map(|_: u64| next());
        let pairs = (0..(8 * MOST_FRAMES).div_ceil(PAIR)).map(|_| four()).collect();
        let length = four();
        let mut wide = || u128::from(next()) << 64 | u128::from(next());
        ListHasher { pairs, length, last: [[0; 3]; 2].map(|three: [u128; 3]| three.map(|_| wide())) }
    }
}

impl ListHasher {
    /// The hash of a list of at most [`MOST_FRAMES`].
    #[inline]
    pub fn hash(&self, list: PointerArray<'_>) -> ListHash {
        let (pairs, rest) = list.bytes().as_chunks::<PAIR>();
        let length = (list.bytes().len() as u64) << 1 | u64::from(list.pointer() == PointerSize::P8);
        let mut sums = products([length, 0], &self.length);
        let mut keys = self.pairs.iter();
        // The pairs first: where they end, no keys are taken.
        for (pair, keys) in pairs.iter().zip(&mut keys) {
            add(&mut sums, products(words(pair), keys));
        }
        if let (false, Some(keys)) = (rest.is_empty(), keys.next()) {
            let mut pair = [0; PAIR];
            pair.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            add(&mut sums, products(words(&pair), keys));
        }
        let one = |[of_low, of_high, plus]: [u128; 3], sum: u128| {
            let (low, high) = (u128::from(sum as u64), sum >> 64);
            (of_low.wrapping_mul(low).wrapping_add(of_high.wrapping_mul(high)).wrapping_add(plus) >> 64) as u64
        };
        let (first, rest) = (one(self.last[0], sums[0]), one(self.last[1], sums[1]));
        ListHash { first, rest: (rest >> 32) as u32 }
    }
}

#[inline(always)]
fn words(pair: &[u8; PAIR]) -> [u64; 2] {
    let both = u128::from_le_bytes(*pair);
    [both as u64, (both >> 64) as u64]
}

#[inline(always)]
fn products([a, b]: [u64; 2], keys: &[u64; 4]) -> [u128; 2] {
    let product = |of_a: u64, of_b: u64| u128::from(a.wrapping_add(of_a)) * u128::from(b.wrapping_add(of_b));
    [product(keys[0], keys[1]), product(keys[2], keys[3])]
}

#[inline(always)]
fn add(sums: &mut [u128; 2], more: [u128; 2]) {
    *sums = [sums[0].wrapping_add(more[0]), sums[1].wrapping_add(more[1])];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Lists that differ in one frame, in their order, in their length, in zeros at their ends, or in the size of addresses only.
    #[test]
    fn different_lists_have_different_hashes() {
        let hasher = ListHasher::default();
        let mut known = HashMap::new();
        for frames in (0..20).chain([MOST_FRAMES - 1, MOST_FRAMES]) {
            let frame = |value: u64| value.to_le_bytes();
            let mut lists = vec![vec![frame(0); frames], vec![frame(u64::MAX); frames]];
            lists.push((0..frames as u64).map(frame).collect());
            lists.push((0..frames as u64).rev().map(frame).collect());
            lists.extend((0..frames).map(|at| (0..frames).map(|place| frame(u64::from(at == place))).collect()));
            for bytes in lists.iter().map(|list| list.concat()) {
                for pointer in [PointerSize::P4, PointerSize::P8] {
                    let hash = hasher.hash(PointerArray::new(&bytes, pointer));
                    assert_eq!(hash, hasher.hash(PointerArray::new(&bytes.clone(), pointer)));
                    let other = known.insert((hash.first, hash.rest), (bytes.clone(), pointer));
                    assert!(other.is_none_or(|other| other == (bytes.clone(), pointer)));
                }
            }
        }
        let odd = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
        let hash = |bytes| hasher.hash(PointerArray::new(bytes, PointerSize::P4));
        assert_ne!(hash(&odd), hash(&odd[..8]));
        let firsts: std::collections::HashSet<u64> = known.keys().map(|(first, _)| first % 4096).collect();
        assert!(known.len() > 2000 && firsts.len() > 1000);
    }
}
