//! A keyed permutation of sequences of digits, each with an own base: nobody without the key learns anything from it but which
//! sequences are equal, whatever other pairs he knows.
//!
//! It is a Feistel network like FF1 of NIST SP 800-38G, with HMAC-SHA-256 as its round function. FF1 itself has one base for all
//! digits of a sequence and needs at least a million sequences of each length; names mix letters and digits and may be short.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// As many as FF1 has.
const ROUNDS: u8 = 10;

/// The permutation of one key.
#[derive(Clone)]
pub struct Permutation {
    mac: Hmac<Sha256>,
}

/// One digit, with the number of values that it can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digit {
    pub value: u32,
    pub base: u32,
}

impl Permutation {
    /// The permutation of a secret of any length.
    pub fn new(secret: &[u8]) -> Permutation {
        // HMAC takes keys of every length.
        Permutation { mac: Hmac::new_from_slice(secret).unwrap_or_else(|_| Hmac::new(&Default::default())) }
    }

    /// A keyed digest of some parts.
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Permutes the sequences that have these bases. Sequences with another `kind` are permuted in another way.
    pub fn apply(&self, digits: &mut [Digit], kind: &[u8]) {
        let kind = self.digest(&[b"kind", kind]);
        if let [digit] = digits {
            return self.apply_to_one(digit, &kind);
        }
        let (left, right) = digits.split_at_mut(digits.len() / 2);
        for round in 0..ROUNDS {
            match round % 2 {
                0 => self.round(round, &kind, right, left),
                _ => self.round(round, &kind, left, right),
            }
        }
    }

    /// Adds to each digit of one half a number that depends on the other half.
    fn round(&self, round: u8, kind: &[u8], from: &[Digit], to: &mut [Digit]) {
        let values: Vec<u8> = from.iter().flat_map(|digit| digit.value.to_le_bytes()).collect();
        let seed = self.digest(&[&[round], kind, &values]);
        for (number, digits) in (0u64..).zip(to.chunks_mut(seed.len() / 4)) {
            let block = self.digest(&[b"block", &seed, &number.to_le_bytes()]);
            for (digit, random) in digits.iter_mut().zip(block.as_chunks::<4>().0) {
                let sum = u64::from(digit.value) + u64::from(u32::from_le_bytes(*random));
                digit.value = sum.checked_rem(digit.base.into()).unwrap_or_default() as u32;
            }
        }
    }

    /// A single digit has no halves: its values are sorted by their digests.
    fn apply_to_one(&self, digit: &mut Digit, kind: &[u8]) {
        let place = |value: u32| (self.digest(&[b"one", kind, &value.to_le_bytes()]), value);
        let own = place(digit.value);
        digit.value = (0..digit.base).filter(|value| place(*value) < own).count() as u32;
    }
}

impl std::fmt::Debug for Permutation {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permutation")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn permuted(values: &[u32], bases: &[u32], kind: &[u8]) -> Vec<u32> {
        let mut digits: Vec<Digit> =
            values.iter().zip(bases).map(|(value, base)| Digit { value: *value, base: *base }).collect();
        Permutation::new(b"key").apply(&mut digits, kind);
        digits.iter().map(|digit| digit.value).collect()
    }

    #[test]
    fn every_sequence_is_the_image_of_one() {
        for bases in [&[26][..], &[10, 26], &[3, 1, 7], &[2, 3, 4, 5]] {
            let count: u32 = bases.iter().product();
            let sequence = |number: u32| {
                let mut rest = number;
                bases.iter().map(|base| (rest % base, rest /= base).0).collect::<Vec<u32>>()
            };
            let images: BTreeSet<Vec<u32>> = (0..count).map(|number| permuted(&sequence(number), bases, b"")).collect();
            assert_eq!(images.len() as u32, count, "{bases:?}");
            assert!(images.iter().all(|image| image.iter().zip(bases).all(|(value, base)| value < base)));
        }
    }

    #[test]
    fn the_image_depends_on_every_digit_on_the_kind_and_on_the_key() {
        let (values, bases) = ([1; 20], [26; 20]);
        let image = permuted(&values, &bases, b"");
        let differ = |other: &[u32]| image.iter().zip(other).filter(|(a, b)| a != b).count();
        for at in 0..values.len() {
            let mut other = values;
            other[at] += 1;
            assert!(differ(&permuted(&other, &bases, b"")) > 14, "digit {at}");
        }
        assert!(differ(&permuted(&values, &bases, b"x")) > 14);
        let mut digits = values.map(|value| Digit { value, base: 26 });
        Permutation::new(b"other").apply(&mut digits, b"");
        assert!(differ(&digits.map(|digit| digit.value)) > 14);
    }
}
