//! Addresses that were freed: who frees one of them again proves that the record of an allocation between is missing.
//!
//! Each address that was ever freed would take more memory than the live blocks. So when there are too many, every second one is forgotten, then
//! every second one of those that are left, and what is found at the others counts twice, four times. An address is kept or forgotten by
//! its hash, with all of its records.

use super::super::replay_result::FreedAgain;
use super::step::{Step, What};
use foldhash::HashSet as FastSet;

/// Addresses of a part that are kept at most.
const MOST: usize = 2048;

/// Heap or session, and address.
type Key = (u32, u64);

/// Those of a part.
#[derive(Debug, Default)]
pub struct FreedAddresses {
    kept: FastSet<Key>,
    /// Leading bits of the hash that are 0 for all that are kept.
    halvings: u32,
    again: FreedAgain,
}

impl FreedAddresses {
    /// Notes a step; `was_live`: a block was there.
    #[inline(always)]
    pub fn note(&mut self, step: &Step, was_live: bool) {
        let is_free = step.what == What::Free || was_live && step.what == What::ReallocOld;
        if is_free && self.is_kept((step.heap, step.address)) {
            self.note_free(step, was_live);
        }
    }

    #[inline(never)]
    fn note_free(&mut self, step: &Step, was_live: bool) {
        let key = (step.heap, step.address);
        if was_live || !step.is_of_new_heap {
            let is_new = self.kept.insert(key);
            if was_live || is_new {
                return self.forget();
            }
        }
        let frees = 1u64.checked_shl(self.halvings).unwrap_or(u64::MAX);
        self.again += FreedAgain { frees, is_estimated: self.halvings > 0 };
    }

    #[inline(always)]
    fn is_kept(&self, key: Key) -> bool {
        hash(key).leading_zeros() >= self.halvings
    }

    /// Forgets addresses while there are too many.
    fn forget(&mut self) {
        while self.kept.len() > MOST && self.halvings < u64::BITS {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|key| hash(*key).leading_zeros() >= halvings);
        }
    }

    /// What was found.
    pub fn again(&self) -> FreedAgain {
        self.again
    }
}

/// Other bits of it than those by which blocks are divided into parts.
#[inline(always)]
fn hash((heap, address): Key) -> u64 {
    const ODD: u64 = 0xd6e8_feb8_6659_fd93;
    let mixed = (address ^ u64::from(heap).rotate_left(40)).wrapping_mul(ODD);
    (mixed ^ mixed >> 32).wrapping_mul(ODD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;

    fn free(address: u64) -> Step {
        Step::new(Moment::FIRST, (1, address, 48), What::Free)
    }

    #[test]
    fn only_what_is_freed_twice_is_counted() {
        let mut freed = FreedAddresses::default();
        for (address, was_live) in
            [(48, true), (48, true), (96, false), (48, false), (96, false), (96, true), (144, true)]
        {
            freed.note(&free(address), was_live);
        }
        freed.note(&Step { what: What::ReallocOld, ..free(144) }, false);
        assert_eq!(freed.again(), FreedAgain { frees: 2, is_estimated: false });
        freed.note(&Step { is_of_new_heap: true, ..free(192) }, false);
        freed.note(&Step { what: What::ReallocOld, ..free(240) }, true);
        freed.note(&free(240), false);
        assert_eq!(freed.again().frees, 4);
    }

    /// A tenth of very many addresses is freed twice: few are kept, and the sum is nearly right.
    #[test]
    fn few_addresses_tell_of_many() {
        let mut freed = FreedAddresses::default();
        for number in 0..1_000_000u64 {
            freed.note(&free(number * 48), true);
            if number % 10 == 0 {
                freed.note(&free(number * 48), false);
            }
        }
        let FreedAgain { frees, is_estimated } = freed.again();
        assert!(is_estimated && frees.abs_diff(100_000) < 15_000, "{frees}");
        assert!(freed.kept.len() <= MOST && freed.kept.capacity() <= 4 * MOST);
    }
}
