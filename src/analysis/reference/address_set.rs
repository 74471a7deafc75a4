//! A set of pages by address that also finds what a range holds.
//!
//! Freed ranges can be terabytes large and hold three pages, so members are bits of 64-page blocks, and the blocks are
//! kept in order.

use crate::units::PAGE_BYTES;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;

/// Bits of an address below a block: 64 pages of 4 KiB.
const BLOCK_SHIFT: u32 = 18;

/// A set of page-aligned addresses.
#[derive(Debug, Default)]
pub struct AddressSet {
    blocks: FastMap<u64, u64>,
    order: BTreeSet<u64>,
}

const fn split(address: u64) -> (u64, u64) {
    (address >> BLOCK_SHIFT, 1 << (address >> 12 & 63))
}

impl AddressSet {
    /// Adds the page of an address; false when it was a member already.
    #[inline]
    pub fn insert(&mut self, address: u64) -> bool {
        let (block, bit) = split(address);
        let mask = self.blocks.entry(block).or_insert(0);
        if *mask == 0 {
            self.order.insert(block);
        }
        let new = *mask & bit == 0;
        *mask |= bit;
        new
    }

    /// Removes the page of an address; false when it was no member.
    #[inline]
    pub fn remove(&mut self, address: u64) -> bool {
        let (block, bit) = split(address);
        let Some(mask) = self.blocks.get_mut(&block).filter(|mask| **mask & bit != 0) else { return false };
        *mask &= !bit;
        if *mask == 0 {
            self.blocks.remove(&block);
            self.order.remove(&block);
        }
        true
    }

    /// Members in `[low, high)`, rising; a page counts when a byte of it is inside.
    pub fn members(&self, low: u64, high: u64) -> Vec<u64> {
        let (first, last) = (low / PAGE_BYTES, high.div_ceil(PAGE_BYTES)); // page numbers, last exclusive
        if low >= high || first >= last {
            return Vec::new();
        }
        let mut members = Vec::new();
        for &block in self.order.range(first >> 6..=(last - 1) >> 6) {
            let mut mask = self.blocks.get(&block).copied().unwrap_or(0);
            while mask != 0 {
                let page = block << 6 | u64::from(mask.trailing_zeros());
                mask &= mask - 1;
                if (first..last).contains(&page) {
                    members.push(page << 12);
                }
            }
        }
        members
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_page_of_all_is_reached() {
        let mut set = AddressSet::default();
        assert!(set.insert(u64::MAX) && set.insert(0) && !set.insert(0xfff));
        assert_eq!(set.members(0, u64::MAX), [0, !0xfff]);
        assert_eq!(set.members(0x1800, 0x1801).len() + set.members(9, 2).len(), 0);
        assert!(set.remove(0) && !set.remove(0) && set.remove(u64::MAX) && set.is_empty() && set.blocks.is_empty());
    }

    proptest! {
        /// Against one slot for each page.
        #[test]
        fn behaves_like_an_array(steps in prop::collection::vec((0u64..300, any::<bool>()), 0..200), low in 0u64..300, n in 0u64..200) {
            let (mut set, mut oracle) = (AddressSet::default(), [false; 300]);
            for (page, insert) in steps {
                let slot = &mut oracle[page as usize];
                let changed = if insert { set.insert(page << 12) } else { set.remove(page << 12) };
                prop_assert_eq!(changed, *slot != insert);
                *slot = insert;
            }
            let high = (low + n).min(300);
            let want: Vec<u64> = (low..high).filter(|&page| oracle[page as usize]).map(|page| page << 12).collect();
            prop_assert_eq!(set.members(low << 12, high << 12), want);
        }
    }
}
