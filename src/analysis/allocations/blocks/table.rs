//! A table of live blocks by address, made for millions of blocks that come and go.
//!
//! Blocks lie in one array in the order of their hashes, each at its place or as near behind it as there is room. So a search touches one
//! or two cache lines, and removing a block moves those behind it back. Tables that mark removed places instead double in size although
//! no more is live. The array is at least 53 % and at most 75 % full: 43 to 60 bytes for a block. It is in chunks, and grows where it is.

use super::super::counting::Opening;
use super::step::Step;
use crate::chunked::Chunked;
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

/// A place of the array: a block with its address, or nothing. None is in two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
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

/// Places of a chunk; a power of two.
const CHUNK: usize = 256;

/// Places of a cache line.
const LINE: usize = 2;

/// Blocks by their address.
#[derive(Debug, Default)]
pub struct Blocks {
    /// The homes of all hashes, and behind them what is pushed over the end.
    places: Chunked<Place, CHUNK>,
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

    /// Loads what a search for an address will look at. Nothing depends on what is there, so that the processor can load for many
    /// addresses at the same time.
    #[inline]
    pub fn load(&self, address: u64) -> u64 {
        let home = self.home(self.hash(address));
        let loaded = |at: usize| self.places.get(at).map_or(0, |place| place.address);
        loaded(home) ^ loaded(home + LINE)
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
        let (mut at, old) = self.search(address).ok()?;
        // Those behind it that are not at home move up.
        while let Some(next) = self.away(at + 1) {
            self.set(at, next);
            at += 1;
        }
        self.set(at, Place::EMPTY);
        self.live -= 1;
        Some(old)
    }

    /// The block at a place that is not its home.
    #[inline]
    fn away(&self, at: usize) -> Option<Place> {
        let place = self.places.get(at).filter(|place| !place.is_empty())?;
        (self.home(self.hash(place.address)) < at).then_some(*place)
    }

    #[inline]
    fn set(&mut self, at: usize, place: Place) {
        self.places.get_mut(at).into_iter().for_each(|old| *old = place);
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

    /// Puts a block at a place; those that are there move to the next one.
    #[inline]
    fn put(&mut self, mut at: usize, mut place: Place) {
        while !place.is_empty() {
            let Some(here) = self.places.get_mut(at) else {
                self.places.lengthen(at + 1 + self.homes / 64, Place::EMPTY);
                continue;
            };
            std::mem::swap(here, &mut place);
            at += 1;
        }
    }

    /// Makes the array longer by two fifths. All blocks move to its end first, then each to its place, in the same order.
    #[cold]
    fn grow(&mut self) {
        const FEWEST: usize = 2;
        self.homes = (self.homes * 7 / 5 + 1).max(FEWEST);
        let end = |end: usize, place: &Place| end.max(self.home(self.hash(place.address))) + 1;
        let end = self.places.iter().filter(|place| !place.is_empty()).fold(0, end);
        let old = self.places.len();
        self.places.lengthen(end.max(self.homes), Place::EMPTY);
        let len = self.places.len();
        let mut begin = len;
        for at in (0..old).rev() {
            if let Some(place) = self.take(at) {
                begin -= 1;
                self.set(begin, place);
            }
        }
        // There is room for all, so none comes to where the next ones still are.
        let mut next = 0;
        for at in begin..len {
            if let Some(place) = self.take(at) {
                next = self.home(self.hash(place.address)).max(next);
                self.set(next, place);
                next += 1;
            }
        }
    }

    /// Takes what is at a place.
    fn take(&mut self, at: usize) -> Option<Place> {
        let place = self.places.get_mut(at).filter(|place| !place.is_empty())?;
        Some(std::mem::replace(place, Place::EMPTY))
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

    /// While it grows, and after each block was freed and allocated many times: there is no second array.
    #[test]
    fn a_block_takes_at_most_64_bytes() {
        let mut table = Blocks::default();
        for number in 0..400_000u64 {
            table.replace(number * 48, block(1));
            if number >= 50_000 {
                assert!(table.remove((number - 50_000) * 48).is_some());
            }
            let bytes = table.places.bytes();
            // The array of chunks has room for up to the double.
            assert!(bytes <= 64 * (table.live + 4), "{bytes} for {}", table.live);
        }
        assert_eq!(table.live, 50_000);
    }

    #[test]
    fn a_growing_table_keeps_its_chunks() {
        let mut table = Blocks::default();
        (0..1000).for_each(|number| _ = table.replace(number * 48, block(1)));
        let first = table.places.get(0).map(std::ptr::from_ref);
        (1000..100_000).for_each(|number| _ = table.replace(number * 48, block(1)));
        assert_eq!(table.places.get(0).map(std::ptr::from_ref), first);
        assert!((0..100_000).all(|number| table.get(number * 48).is_some()));
    }
}
