//! A map from page numbers (addresses / 4 KiB) to values, in blocks of 64 pages.
//!
//! The pages of a working set lie close together. One look-up finds a block, a bit says whether a page is there; the
//! values are in a [`PageArena`]. Freed ranges can be terabytes large and hold three pages, so blocks are also kept in
//! order. A block whose last page goes stays for the next one, until there are many such.

use crate::analysis::refset::pages::page_arena::{Block, PageArena};
use crate::units::PAGE_BYTES;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::hint::black_box;

/// Values by page number.
#[derive(Debug)]
pub struct PageMap<V> {
    blocks: FastMap<u64, Block>,
    arena: PageArena<V>,
    order: BTreeSet<u64>,
    /// Blocks without pages.
    empty: usize,
}

impl<V> Default for PageMap<V> {
    fn default() -> Self {
        PageMap { blocks: FastMap::default(), arena: PageArena::default(), order: BTreeSet::new(), empty: 0 }
    }
}

/// Blocks without pages that stay in any case.
const FEW: usize = 16;

#[inline(always)]
const fn split(page: u64) -> (u64, u64) {
    (page >> 6, 1 << (page & 63))
}

impl<V: Copy + Default> PageMap<V> {
    /// The value of a page.
    #[inline(always)]
    pub fn get(&self, page: u64) -> Option<&V> {
        let (number, bit) = split(page);
        self.blocks.get(&number)?.get(&self.arena, bit)
    }

    /// Sets the value of a page. Gives the old one's place instead when there is one.
    #[inline(always)]
    pub fn insert(&mut self, page: u64, value: V) -> Option<&mut V> {
        let (number, bit) = split(page);
        let block = match self.blocks.entry(number) {
            Entry::Occupied(block) => block.into_mut(),
            Entry::Vacant(vacant) => {
                self.order.insert(number);
                self.empty += 1;
                vacant.insert(Block::default())
            }
        };
        if block.mask() & bit != 0 {
            return block.get_mut(&mut self.arena, bit);
        }
        self.empty -= usize::from(block.mask() == 0);
        block.insert(&mut self.arena, bit, value);
        None
    }

    /// Takes a page out.
    #[inline(always)]
    pub fn remove(&mut self, page: u64) -> Option<V> {
        let (number, bit) = split(page);
        let block = self.blocks.get_mut(&number)?;
        let value = block.remove(&mut self.arena, bit)?;
        if block.mask() == 0 {
            self.empty += 1;
            if self.empty > FEW + self.blocks.len() / 2 {
                self.sweep();
            }
        }
        if self.arena.is_sparse() {
            self.compact();
        }
        Some(value)
    }

    /// Takes out the blocks without pages.
    #[cold]
    #[inline(never)]
    fn sweep(&mut self) {
        self.blocks.retain(|_, block| block.mask() != 0);
        self.order.retain(|number| self.blocks.contains_key(number));
        self.empty = 0;
    }

    /// Number of values that there is room for.
    pub fn len(&self) -> usize {
        self.arena.len()
    }

    /// Reads the memory in order, so that it is in the cache.
    pub fn load(&self) {
        self.blocks.values().for_each(|block| _ = black_box(block.mask()));
        self.arena.load();
    }

    /// Frees the memory of pages that were removed.
    #[cold]
    #[inline(never)]
    fn compact(&mut self) {
        let before = std::mem::take(&mut self.arena);
        self.blocks.values_mut().for_each(|block| block.copy(&before, &mut self.arena));
        self.blocks.shrink_to_fit();
    }

    /// Pages at the addresses `[low, high)`, rising; a page counts when a byte of it is inside. Blocks without pages are taken
    /// out, so that each is met once.
    pub fn members(&mut self, low: u64, high: u64) -> Vec<u64> {
        let (first, last) = (low / PAGE_BYTES, high.div_ceil(PAGE_BYTES)); // page numbers, last exclusive
        if low >= high || first >= last {
            return Vec::new();
        }
        let (mut members, mut empty) = (Vec::new(), Vec::new());
        for &number in self.order.range(first >> 6..=(last - 1) >> 6) {
            let mut mask = self.blocks.get(&number).map_or(0, Block::mask);
            empty.extend((mask == 0).then_some(number));
            while mask != 0 {
                let page = number << 6 | u64::from(mask.trailing_zeros());
                mask &= mask - 1;
                if (first..last).contains(&page) {
                    members.push(page);
                }
            }
        }
        self.empty -= empty.len();
        for number in empty {
            self.blocks.remove(&number);
            self.order.remove(&number);
        }
        members
    }

    /// All pages, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.blocks.iter().flat_map(move |(&number, block)| {
            let bits = (0..64).filter(|bit| block.mask() >> bit & 1 != 0);
            bits.filter_map(move |bit| Some((number << 6 | bit, block.get(&self.arena, 1 << bit)?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_page_of_all_is_reached() {
        let mut map = PageMap::default();
        let last = u64::MAX >> 12;
        assert_eq!([last, 0, 0].map(|page| map.insert(page, 2).copied()), [None, None, Some(2)]);
        assert_eq!(map.members(0, u64::MAX), [0, last]);
        assert_eq!(map.members(0x1800, 0x1801).len() + map.members(9, 2).len(), 0);
        assert_eq!([map.remove(0), map.remove(0), map.remove(last)], [Some(2), None, Some(2)]);
        assert!(map.members(0, u64::MAX).is_empty() && map.order.is_empty() && map.blocks.is_empty());
    }

    #[test]
    fn what_is_left_of_many_pages_moves_together() {
        let mut map = PageMap::default();
        let pages = 1 << 14;
        (0..pages).for_each(|page| assert!(map.insert(page, page).is_none()));
        let mut sparse = 0;
        for page in (0..pages).filter(|page| page % 100 != 0) {
            sparse += u32::from(map.arena.is_sparse());
            assert_eq!(map.remove(page), Some(page));
        }
        let mut rest: Vec<u64> = map.iter().map(|(number, &page)| number - page + page).collect();
        rest.sort_unstable();
        assert_eq!(rest, (0..pages).step_by(100).collect::<Vec<_>>());
        assert_eq!(sparse, 0);
    }

    #[test]
    fn blocks_without_pages_do_not_pile_up() {
        let mut map = PageMap::default();
        let page = |block: u64| block << 6;
        for block in 0..10_000 {
            assert!(map.insert(page(block), block).is_none());
            assert_eq!(map.remove(page(block)), Some(block));
            assert!(map.blocks.len() <= 2 * FEW + 2, "{}", map.blocks.len());
        }
        (0..100).for_each(|block| assert!(map.insert(page(block), block).is_none()));
        (10..100).for_each(|block| assert_eq!(map.remove(page(block)), Some(block)));
        let there = || (0..10).map(page).collect::<Vec<_>>();
        assert_eq!(map.members(0, u64::MAX), there());
        assert_eq!((map.blocks.len(), map.order.len(), map.empty), (10, 10, 0));
        (0..10).for_each(|block| assert_eq!(map.insert(page(block), 1).copied(), Some(block)));
        assert!(map.members(page(10) << 12, u64::MAX).is_empty());
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
                    prop_assert_eq!(map.remove(page), slot.take());
                } else {
                    prop_assert_eq!(map.insert(page, value).copied(), *slot);
                    slot.get_or_insert(value);
                }
                prop_assert_eq!(map.get(page).copied(), *slot);
            }
            let there = |&page: &u64| oracle[page as usize].is_some();
            let want: Vec<u64> = (low..(low + n).min(300)).filter(there).collect();
            prop_assert_eq!(map.members(low << 12, (low + n).min(300) << 12), want);
            let mut all: Vec<(u64, u32)> = map.iter().map(|(page, &value)| (page, value)).collect();
            all.sort_unstable();
            let want: Vec<(u64, u32)> =
                oracle.iter().enumerate().filter_map(|(page, value)| Some((page as u64, (*value)?))).collect();
            prop_assert_eq!(all, want);
        }
    }
}
