//! A table of live blocks by address, made for millions of blocks that come and go.
//!
//! Blocks lie in one list, where the place of a block that is freed is that of the next one. A second list has a number of 8 bytes for each
//! block: half a hash, and where the block is. Its numbers are in order, each at its home or as near behind it as there is room. So a search
//! touches one or two cache lines of numbers and the line of the block, and removing a number moves those behind it back. Tables that
//! mark removed places instead double in size although no more is live. The list of numbers is at least 53 % and at most 75 % full: with
//! the 32 bytes of the block, 43 to 47 bytes. Both lists are in chunks, and grow where they are.

use super::super::counting::Opening;
use super::step::Step;
use crate::chunked_list::Chunked;
use crate::load::stacks::frame_lists::ListId;
use crate::units::Ticks;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// A live block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    opened: Ticks,
    /// Size.
    pub bytes: u64,
    code: ListId,
    /// Pool tag, perhaps with a mark.
    pub label: u32,
}

impl Live {
    /// What a step opens.
    pub fn new(step: &Step) -> Live {
        let Opening { time: opened, code } = step.opening();
        Live { opened, bytes: step.bytes, code, label: step.label }
    }

    /// What opened it.
    pub fn opening(&self) -> Opening {
        Opening { time: self.opened, code: self.code }
    }
}

/// A block with its address. None is in two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Block {
    /// Of a block that was freed: the number of the one that was freed before it.
    address: u64,
    live: Live,
}

impl Block {
    /// One that was freed after this one.
    const fn freed(before: u32) -> Block {
        let live = Live { opened: Ticks(0), bytes: 0, code: ListId(u32::MAX), label: 0 };
        Block { address: before as u64, live }
    }

    const fn is_freed(&self) -> bool {
        self.live.code.0 == u32::MAX
    }
}

/// Number of no block.
const NO_BLOCK: u32 = u32::MAX;

/// Where there is no number. All others are smaller, because the number of their block is.
const EMPTY: u64 = u64::MAX;

/// Numbers of a chunk; a power of two.
const CHUNK: usize = 1024;

/// Blocks of a chunk; a power of two.
const CHUNK_OF_BLOCKS: usize = 256;

/// How far behind its home most numbers are at most.
const NEAR: usize = 3;

/// Blocks by their address.
#[derive(Debug)]
pub struct Blocks {
    /// The leading half of the hash of an address, and behind it the number of its block: at the homes of all hashes, and behind them what is
    /// pushed over the end.
    numbers: Chunked<u64, CHUNK>,
    homes: usize,
    live: usize,
    blocks: Chunked<Block, CHUNK_OF_BLOCKS>,
    /// The block that was freed last.
    freed: u32,
    /// Seeded: addresses come from the trace, and none shall be made to collide.
    hasher: RandomState,
}

impl Default for Blocks {
    fn default() -> Self {
        let (numbers, blocks, hasher) = (Chunked::default(), Chunked::default(), RandomState::default());
        Blocks { numbers, homes: 0, live: 0, blocks, freed: NO_BLOCK, hasher }
    }
}

/// An address and the leading half of its hash.
#[derive(Debug, Clone, Copy)]
pub struct Sought {
    address: u64,
    hash: u32,
}

impl Blocks {
    /// An address, ready to be looked for.
    #[inline(always)]
    pub fn seek(&self, address: u64) -> Sought {
        Sought { address, hash: (self.hasher.hash_one(address) >> 32) as u32 }
    }

    /// Where a number is at best: the leading bits of the hash, for any number of homes. So the order of numbers is that of homes too,
    /// also after there are more.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.homes as u64) >> u32::BITS) as usize
    }

    #[inline(always)]
    fn home_of(&self, number: u64) -> usize {
        self.home((number >> u32::BITS) as u32)
    }

    /// The place of the number of an address and its block, or the place where it would have to come.
    #[inline(always)]
    fn search(&self, Sought { address, hash }: Sought) -> Result<(usize, u32), usize> {
        let mut at = self.home(hash);
        loop {
            let number = self.number(at);
            let of_number = (number >> u32::BITS) as u32;
            if number == EMPTY || of_number > hash {
                return Err(at);
            }
            if of_number == hash && self.blocks.get(number as u32 as usize).is_some_and(|b| b.address == address) {
                return Ok((at, number as u32));
            }
            at += 1;
        }
    }

    #[inline(always)]
    fn number(&self, at: usize) -> u64 {
        self.numbers.get(at).copied().unwrap_or(EMPTY)
    }

    /// Loads the numbers that a search will look at. Nothing depends on what they are, so that the processor can load for many addresses at
    /// the same time.
    #[inline(always)]
    pub fn load(&self, sought: Sought) -> u64 {
        let home = self.home(sought.hash);
        self.number(home) ^ self.number(home + NEAR)
    }

    /// The same for the block that a search will find, when its numbers are there.
    #[inline(always)]
    pub fn load_block(&self, sought: Sought) -> u64 {
        let mut at = self.home(sought.hash);
        while (self.number(at) >> u32::BITS) < u64::from(sought.hash) {
            at += 1;
        }
        self.blocks.get(self.number(at) as u32 as usize).map_or(0, |block| block.address)
    }

    fn block(&self, number: u32) -> Option<Live> {
        self.blocks.get(number as usize).map(|block| block.live)
    }

    /// The block at an address.
    #[inline]
    pub fn get(&self, sought: Sought) -> Option<Live> {
        self.search(sought).ok().and_then(|(_, number)| self.block(number))
    }

    /// Puts a block at an address; the one that was there.
    #[inline]
    pub fn replace(&mut self, sought: Sought, live: Live) -> Option<Live> {
        match self.search(sought) {
            Ok((_, number)) => {
                self.blocks.get_mut(number as usize).map(|block| std::mem::replace(&mut block.live, live))
            }
            Err(at) => {
                self.add(at, sought, live);
                None
            }
        }
    }

    /// The same, but a block that is there stays.
    pub fn add_if_free(&mut self, sought: Sought, live: Live) -> Option<Live> {
        match self.search(sought) {
            Ok((_, number)) => self.block(number),
            Err(at) => {
                self.add(at, sought, live);
                None
            }
        }
    }

    /// Removes the block at an address.
    #[inline]
    pub fn remove(&mut self, sought: Sought) -> Option<Live> {
        let (mut at, number) = self.search(sought).ok()?;
        let freed = Block::freed(std::mem::replace(&mut self.freed, number));
        let old = self.blocks.get_mut(number as usize).map(|block| std::mem::replace(block, freed))?;
        // The numbers behind it that are not at home move up.
        loop {
            let next = self.number(at + 1);
            if next == EMPTY || self.home_of(next) > at {
                break;
            }
            self.set(at, next);
            at += 1;
        }
        self.set(at, EMPTY);
        self.live -= 1;
        Some(old.live)
    }

    #[inline(always)]
    fn set(&mut self, at: usize, number: u64) {
        self.numbers.get_mut(at).into_iter().for_each(|old| *old = number);
    }

    /// Adds a block; `at`: where the search for its number ended.
    #[inline]
    fn add(&mut self, at: usize, sought: Sought, live: Live) {
        self.live += 1;
        let block = self.keep(Block { address: sought.address, live });
        let number = u64::from(sought.hash) << u32::BITS | u64::from(block);
        if self.live * 4 > self.homes * 3 {
            self.grow();
            return match self.search(sought) {
                Ok(_) => {}
                Err(at) => self.put(at, number),
            };
        }
        self.put(at, number);
    }

    /// Keeps a block where one was freed; its number.
    #[inline(always)]
    fn keep(&mut self, block: Block) -> u32 {
        match self.blocks.get_mut(self.freed as usize) {
            Some(freed) => {
                let before = std::mem::replace(freed, block).address as u32;
                std::mem::replace(&mut self.freed, before)
            }
            None => {
                self.blocks.push_tight(block);
                self.blocks.len() as u32 - 1
            }
        }
    }

    /// Puts a number at a place; those that are there move to the next one.
    #[inline(always)]
    fn put(&mut self, mut at: usize, mut number: u64) {
        while number != EMPTY {
            let Some(here) = self.numbers.get_mut(at) else {
                self.numbers.lengthen(at + 1 + self.homes / 64, EMPTY);
                continue;
            };
            std::mem::swap(here, &mut number);
            at += 1;
        }
    }

    /// Makes the list of numbers longer by two fifths. All move to its end first, then each to its place, in the same order.
    #[cold]
    fn grow(&mut self) {
        const FEWEST: usize = 2;
        self.homes = (self.homes * 7 / 5 + 1).max(FEWEST);
        let end = |end: usize, number: &u64| end.max(self.home_of(*number)) + 1;
        let end = self.numbers.iter().filter(|number| **number != EMPTY).fold(0, end);
        let old = self.numbers.len();
        self.numbers.lengthen(end.max(self.homes), EMPTY);
        let len = self.numbers.len();
        let mut begin = len;
        for at in (0..old).rev() {
            if let Some(number) = self.take(at) {
                begin -= 1;
                self.set(begin, number);
            }
        }
        // There is room for all, so none comes to where the next ones still are.
        let mut next = 0;
        for at in begin..len {
            if let Some(number) = self.take(at) {
                next = self.home_of(number).max(next);
                self.set(next, number);
                next += 1;
            }
        }
    }

    /// Takes what is at a place.
    fn take(&mut self, at: usize) -> Option<u64> {
        let number = self.numbers.get_mut(at).filter(|number| **number != EMPTY)?;
        Some(std::mem::replace(number, EMPTY))
    }

    /// All blocks with their addresses.
    pub fn into_blocks(self) -> impl Iterator<Item = (u64, Live)> {
        self.blocks.into_iter().filter(|block| !block.is_freed()).map(|block| (block.address, block.live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_cases::cases;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn block(bytes: u64) -> Live {
        Live { opened: Ticks(1), bytes, code: ListId(0), label: 7 }
    }

    proptest! {
        #![proptest_config(cases(64))]

        /// Like a map of the standard library, whatever comes and goes.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u8..4, 0u64..80, 0u64..100), 0..2000), spread in 0u32..60) {
            let (mut table, mut map) = (Blocks::default(), HashMap::new());
            for (what, number, bytes) in steps {
                let (address, live) = (number << spread, block(bytes));
                match what {
                    0 => prop_assert_eq!(table.replace(table.seek(address), live), map.insert(address, live)),
                    1 => {
                        let old = map.get(&address).copied();
                        map.entry(address).or_insert(live);
                        prop_assert_eq!(table.add_if_free(table.seek(address), live), old);
                    }
                    2 => prop_assert_eq!(table.remove(table.seek(address)), map.remove(&address)),
                    _ => prop_assert_eq!(table.get(table.seek(address)), map.get(&address).copied()),
                }
            }
            let mut left: Vec<_> = table.into_blocks().map(|(address, live)| (address, live.bytes)).collect();
            let mut wanted: Vec<_> = map.into_iter().map(|(address, live)| (address, live.bytes)).collect();
            left.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(left, wanted);
        }
    }

    /// While it grows, and after each block was freed and allocated many times: there is no second array.
    #[test]
    fn a_block_takes_at_most_64_bytes() {
        let mut table = Blocks::default();
        for number in 0..400_000u64 {
            table.replace(table.seek(number * 48), block(1));
            if number >= 50_000 {
                assert!(table.remove(table.seek((number - 50_000) * 48)).is_some());
            }
            let bytes = table.numbers.bytes() + table.blocks.bytes();
            // The array of chunks has room for up to the double.
            assert!(bytes <= 64 * (table.live + 4), "{bytes} for {}", table.live);
        }
        assert_eq!(table.live, 50_000);
    }

    #[test]
    fn a_growing_table_keeps_its_chunks() {
        let mut table = Blocks::default();
        (0..2000).for_each(|number| _ = table.replace(table.seek(number * 48), block(1)));
        let first = |table: &Blocks| {
            (table.numbers.get(0).map(std::ptr::from_ref), table.blocks.get(0).map(std::ptr::from_ref))
        };
        let before = first(&table);
        (2000..100_000).for_each(|number| _ = table.replace(table.seek(number * 48), block(1)));
        assert_eq!(first(&table), before);
        assert!((0..100_000).all(|number| table.get(table.seek(number * 48)).is_some()));
    }

    /// Only half of a hash is kept: two addresses with the same half are still two.
    #[test]
    fn addresses_of_equal_hashes_are_two_blocks() {
        let mut table = Blocks::default();
        (0..100).for_each(|number| _ = table.replace(table.seek(number), block(1)));
        let at = |address| Sought { address, hash: 0x8000_0000 };
        for address in 1000..1010 {
            assert_eq!(table.replace(at(address), block(address)), None);
        }
        for hash in [0, u32::MAX] {
            assert_eq!(table.replace(Sought { address: 1, hash }, block(2)), None);
            assert_eq!(table.remove(Sought { address: 1, hash }), Some(block(2)));
        }
        assert_eq!(table.remove(at(1003)), Some(block(1003)));
        assert_eq!((table.get(at(1003)), table.remove(at(999))), (None, None));
        let left: Vec<u64> = (1000..1010).filter_map(|address| table.get(at(address))).map(|live| live.bytes).collect();
        assert_eq!(left, [1000, 1001, 1002, 1004, 1005, 1006, 1007, 1008, 1009]);
        (0..100).for_each(|number| assert_eq!(table.remove(table.seek(number)), Some(block(1))));
    }
}
