//! A table of live blocks by address, made for millions of blocks that come and go.
//!
//! Blocks lie in one array in the order of their hashes, each at its place or as near behind it as there is room. So a search touches one
//! or two cache lines, and removing a block moves those behind it back. Tables that mark removed places instead double in size although
//! no more is live. The array is at least 53 % and at most 75 % full: 43 to 60 bytes for a block.

use super::super::counting::Opening;
use super::step::Step;
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

/// A place of the array: a block with its address, or nothing.
#[derive(Debug, Clone, Copy)]
struct Place {
    address: u64,
    live: Live,
}

impl Place {
    const EMPTY: Place =
        Place { address: 0, live: Live { opened: Ticks(0), bytes: 0, code: ListId(u32::MAX), label: 0 } };

    const fn is_empty(&self) -> bool {
        self.live.code.0 == u32::MAX
    }
}

/// Blocks by their address.
#[derive(Debug, Default)]
pub struct Blocks {
    /// The homes of all hashes, and behind them what is pushed over the end.
    places: Vec<Place>,
    homes: usize,
    live: usize,
    /// Seeded: addresses come from the trace, and none shall be made to collide.
    hasher: RandomState,
}

impl Blocks {
    #[inline]
    fn hash(&self, address: u64) -> u64 {
        self.hasher.hash_one(address)
    }

    /// Where a block is at best: the leading bits of its hash, for any number of homes. So the order of hashes is that of homes too,
    /// also after the number has grown.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.homes as u128) >> u64::BITS) as usize
    }

    /// The place of an address, or where it would have to come.
    #[inline]
    fn search(&self, address: u64) -> Result<(usize, Live), usize> {
        let hash = self.hash(address);
        let mut at = self.home(hash);
        loop {
            match self.places.get(at).filter(|place| !place.is_empty()) {
                Some(place) if place.address == address => return Ok((at, place.live)),
                Some(place) if self.hash(place.address) <= hash => at += 1,
                _ => return Err(at),
            }
        }
    }

    /// The block at an address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<Live> {
        self.search(address).ok().map(|(_, live)| live)
    }

    /// Puts a block at an address; the one that was there.
    #[inline]
    pub fn replace(&mut self, address: u64, live: Live) -> Option<Live> {
        match self.search(address) {
            Ok((at, old)) => {
                self.places.get_mut(at).into_iter().for_each(|place| place.live = live);
                Some(old)
            }
            Err(at) => {
                self.add(at, Place { address, live });
                None
            }
        }
    }

    /// The same, but a block that is there stays.
    pub fn add_if_free(&mut self, address: u64, live: Live) -> Option<Live> {
        let found = self.search(address);
        found.map_err(|at| self.add(at, Place { address, live })).ok().map(|(_, live)| live)
    }

    /// Removes the block at an address.
    #[inline]
    pub fn remove(&mut self, address: u64) -> Option<Live> {
        let (at, old) = self.search(address).ok()?;
        let home = |place: &Place| self.home(self.hash(place.address));
        let is_away = |end: &usize| self.places.get(*end).is_some_and(|p| !p.is_empty() && home(p) < *end);
        let end = (at + 1..).find(|end| !is_away(end))?;
        self.places.copy_within(at + 1..end, at);
        self.places.get_mut(end - 1).into_iter().for_each(|place| *place = Place::EMPTY);
        self.live -= 1;
        Some(old)
    }

    /// Adds a block where its search ended.
    #[inline]
    fn add(&mut self, at: usize, place: Place) {
        self.live += 1;
        if self.live * 4 > self.homes * 3 {
            self.grow();
            return match self.search(place.address) {
                Ok(_) => {}
                Err(at) => self.put(at, place),
            };
        }
        self.put(at, place);
    }

    fn put(&mut self, at: usize, place: Place) {
        let end = (at..).find(|end| self.places.get(*end).is_none_or(Place::is_empty)).unwrap_or(at);
        if end == self.places.len() {
            // A vector that grows by itself doubles.
            self.places.reserve_exact(1 + self.homes / 64);
            self.places.push(Place::EMPTY);
        }
        self.places.copy_within(at..end, at + 1);
        self.places.get_mut(at).into_iter().for_each(|free| *free = place);
    }

    #[cold]
    fn grow(&mut self) {
        const FEWEST: usize = 2;
        let old = std::mem::take(&mut self.places);
        self.homes = (self.homes * 7 / 5 + 1).max(FEWEST);
        // The order stays, so each comes behind the one before it.
        let mut places: Vec<Place> = Vec::with_capacity(self.homes + self.homes / 64 + FEWEST);
        for place in old.into_iter().filter(|place| !place.is_empty()) {
            places.resize(places.len().max(self.home(self.hash(place.address))), Place::EMPTY);
            places.push(place);
        }
        places.resize(places.len().max(self.homes), Place::EMPTY);
        self.places = places;
    }

    /// All blocks with their addresses.
    pub fn into_blocks(self) -> impl Iterator<Item = (u64, Live)> {
        self.places.into_iter().filter(|place| !place.is_empty()).map(|place| (place.address, place.live))
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
                    0 => prop_assert_eq!(table.replace(address, live), map.insert(address, live)),
                    1 => {
                        let old = map.get(&address).copied();
                        map.entry(address).or_insert(live);
                        prop_assert_eq!(table.add_if_free(address, live), old);
                    }
                    2 => prop_assert_eq!(table.remove(address), map.remove(&address)),
                    _ => prop_assert_eq!(table.get(address), map.get(&address).copied()),
                }
            }
            let mut left: Vec<_> = table.into_blocks().map(|(address, live)| (address, live.bytes)).collect();
            let mut wanted: Vec<_> = map.into_iter().map(|(address, live)| (address, live.bytes)).collect();
            left.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(left, wanted);
        }
    }

    /// Also after each block was freed and allocated many times.
    #[test]
    fn a_block_takes_at_most_64_bytes() {
        let mut table = Blocks::default();
        for number in 0..400_000u64 {
            table.replace(number * 48, block(1));
            if number >= 10_000 {
                assert!(table.remove((number - 10_000) * 48).is_some());
            }
        }
        assert_eq!(table.live, 10_000);
        let bytes = table.places.capacity() * size_of::<Place>();
        assert!(bytes <= 64 * 10_001, "{bytes}");
    }
}
