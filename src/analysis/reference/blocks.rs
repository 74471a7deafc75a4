//! A map from page addresses to values, in blocks of 64 pages.
//!
//! The pages of a working set lie close together. One look-up finds a block, a bit says whether a page is there. The
//! values of a block of few pages lie dense in the order of the bits. Freed ranges can be terabytes large and hold three
//! pages, so blocks are also kept in order.

use crate::units::PAGE_BYTES;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;

/// Bits of an address below a block: 64 pages of 4 KiB.
const BLOCK_SHIFT: u32 = 18;

/// Pages of a block.
const PAGES: usize = 64;
/// A block of more pages has a slot for each page, which moves nothing; one of few is dense again.
const MANY: u32 = 16;
const FEW: u32 = 6;

#[derive(Debug)]
struct Block<V> {
    /// Pages that are there.
    mask: u64,
    /// Their values in the order of the bits, or 64 slots.
    values: Vec<V>,
}

impl<V: Copy + Default> Block<V> {
    /// Index of a page's value.
    #[inline(always)]
    fn index(&self, bit: u64) -> usize {
        match self.values.len() {
            PAGES => bit.trailing_zeros() as usize,
            _ => (self.mask & (bit - 1)).count_ones() as usize,
        }
    }

    /// Sets the value of a page that is not there.
    #[inline(always)]
    fn insert(&mut self, bit: u64, value: V) {
        if self.values.len() != PAGES && self.mask.count_ones() < MANY {
            let index = self.index(bit);
            self.mask |= bit;
            return self.values.insert(index, value);
        }
        if self.values.len() != PAGES {
            let slots = (0..PAGES).map(|slot| self.at(1 << slot).unwrap_or_default()).collect();
            self.values = slots;
        }
        self.mask |= bit;
        if let Some(slot) = self.values.get_mut(bit.trailing_zeros() as usize) {
            *slot = value;
        }
    }

    /// Takes out a page that is there.
    #[inline(always)]
    fn remove(&mut self, bit: u64) -> Option<V> {
        let value = self.at(bit)?;
        if self.values.len() != PAGES {
            self.values.remove(self.index(bit));
            self.mask &= !bit;
        } else {
            self.mask &= !bit;
            if self.mask.count_ones() <= FEW {
                self.values = (0..PAGES).filter_map(|slot| self.at(1 << slot)).collect();
            }
        }
        Some(value)
    }

    #[inline(always)]
    fn at(&self, bit: u64) -> Option<V> {
        if self.mask & bit == 0 { None } else { self.values.get(self.index(bit)).copied() }
    }
}

/// Values by page-aligned address.
#[derive(Debug, Default)]
pub struct PageMap<V> {
    blocks: FastMap<u64, Block<V>>,
    order: BTreeSet<u64>,
}

#[inline(always)]
const fn split(address: u64) -> (u64, u64) {
    (address >> BLOCK_SHIFT, 1 << (address >> 12 & 63))
}

impl<V: Copy + Default> PageMap<V> {
    /// The value of a page.
    #[inline(always)]
    pub fn get(&self, address: u64) -> Option<&V> {
        let (number, bit) = split(address);
        let block = self.blocks.get(&number).filter(|block| block.mask & bit != 0)?;
        block.values.get(block.index(bit))
    }

    /// Sets the value of a page. Gives the old one's place instead when there is one.
    #[inline(always)]
    pub fn insert(&mut self, address: u64, value: V) -> Option<&mut V> {
        let (number, bit) = split(address);
        let block = self.blocks.entry(number).or_insert_with(|| Block { mask: 0, values: Vec::new() });
        if block.mask & bit != 0 {
            let index = block.index(bit);
            return block.values.get_mut(index);
        }
        if block.mask == 0 {
            self.order.insert(number);
        }
        block.insert(bit, value);
        None
    }

    /// Takes a page out.
    #[inline(always)]
    pub fn remove(&mut self, address: u64) -> Option<V> {
        let (number, bit) = split(address);
        let block = self.blocks.get_mut(&number).filter(|block| block.mask & bit != 0)?;
        let value = block.remove(bit);
        if block.mask == 0 {
            self.blocks.remove(&number);
            self.order.remove(&number);
        }
        value
    }

    /// Pages in `[low, high)`, rising; a page counts when a byte of it is inside.
    pub fn members(&self, low: u64, high: u64) -> Vec<u64> {
        let (first, last) = (low / PAGE_BYTES, high.div_ceil(PAGE_BYTES)); // page numbers, last exclusive
        if low >= high || first >= last {
            return Vec::new();
        }
        let mut members = Vec::new();
        for &number in self.order.range(first >> 6..=(last - 1) >> 6) {
            let mut mask = self.blocks.get(&number).map_or(0, |block| block.mask);
            while mask != 0 {
                let page = number << 6 | u64::from(mask.trailing_zeros());
                mask &= mask - 1;
                if (first..last).contains(&page) {
                    members.push(page << 12);
                }
            }
        }
        members
    }

    /// All pages, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.blocks.iter().flat_map(|(&number, block)| {
            let bits = (0..PAGES as u64).filter(|bit| block.mask >> bit & 1 != 0);
            bits.filter_map(move |bit| Some(((number << 6 | bit) << 12, block.values.get(block.index(1 << bit))?)))
        })
    }

    /// True without pages.
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
        let mut map = PageMap::default();
        let before = [u64::MAX, 0, 0xfff].map(|address| map.insert(address, 2).copied());
        assert_eq!(before, [None, None, Some(2)]);
        assert_eq!(map.members(0, u64::MAX), [0, !0xfff]);
        assert_eq!(map.members(0x1800, 0x1801).len() + map.members(9, 2).len(), 0);
        assert_eq!([map.remove(0), map.remove(0), map.remove(u64::MAX)], [Some(2), None, Some(2)]);
        assert!(map.is_empty() && map.blocks.is_empty());
    }

    proptest! {
        /// Against one slot for each page.
        #[test]
        fn behaves_like_an_array(
            steps in prop::collection::vec((0u64..300, 0u32..9), 0..300),
            low in 0u64..300,
            n in 0u64..200,
        ) {
            let (mut map, mut oracle) = (PageMap::default(), [None; 300]);
            for (page, value) in steps {
                let slot = &mut oracle[page as usize];
                if value < 4 {
                    prop_assert_eq!(map.remove(page << 12), slot.take());
                } else {
                    prop_assert_eq!(map.insert(page << 12, value).copied(), *slot);
                    slot.get_or_insert(value);
                }
                prop_assert_eq!(map.get(page << 12).copied(), *slot);
            }
            let there = |&page: &u64| oracle[page as usize].is_some();
            let want: Vec<u64> = (low..(low + n).min(300)).filter(there).map(|page| page << 12).collect();
            prop_assert_eq!(map.members(low << 12, (low + n).min(300) << 12), want);
            let mut all: Vec<(u64, u32)> = map.iter().map(|(address, &value)| (address >> 12, value)).collect();
            all.sort_unstable();
            let want: Vec<(u64, u32)> =
                oracle.iter().enumerate().filter_map(|(page, value)| Some((page as u64, (*value)?))).collect();
            prop_assert_eq!(all, want);
        }
    }
}
