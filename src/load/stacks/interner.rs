//! Distinct things by number, in the order in which they came.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// Distinct things, each once, and a table that finds their numbers: of each thing it has five bytes.
#[derive(Clone)]
pub struct Numbered<K> {
    things: Vec<K>,
    numbers: HashTable<u32>,
    /// Seeded: things come from the trace, and none shall be made to collide.
    hasher: foldhash::fast::RandomState,
}

impl<K> Default for Numbered<K> {
    fn default() -> Self {
        Numbered { things: Vec::new(), numbers: HashTable::new(), hasher: foldhash::fast::RandomState::default() }
    }
}

impl<K: fmt::Debug> fmt::Debug for Numbered<K> {
    /// Without the seed: equal things look equal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.things).finish()
    }
}

impl<K: Copy + Eq + Hash> Numbered<K> {
    /// Makes room for so many things and their table: what is not used of it takes a byte for each.
    pub fn make_room(&mut self, things: usize) {
        self.make_room_for_things(things);
        let Numbered { things: known, numbers, hasher } = self;
        let hash_of = |number: &u32| known.get(*number as usize).map_or(0, |thing| hasher.hash_one(thing));
        numbers.reserve(things, hash_of);
    }

    /// The same without the table. Memory that is not used is none; a list that grows leaves smaller ones behind, which an allocator may
    /// keep.
    pub fn make_room_for_things(&mut self, things: usize) {
        self.things.reserve_exact(things);
    }

    /// The number of a thing, the next one if it is new.
    #[inline]
    pub fn number(&mut self, thing: K) -> u32 {
        let Numbered { things, numbers, hasher } = self;
        let is_it = |number: &u32| things.get(*number as usize) == Some(&thing);
        let hash_of = |number: &u32| things.get(*number as usize).map_or(0, |thing| hasher.hash_one(thing));
        match numbers.entry(hasher.hash_one(thing), is_it, hash_of) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let next = things.len() as u32;
                place.insert(next);
                things.push(thing);
                next
            }
        }
    }
}

impl<K> Numbered<K> {
    /// A thing by its number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&K> {
        self.things.get(number as usize)
    }

    /// The same, to change in it what does not make it a different thing.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut K> {
        self.things.get_mut(number as usize)
    }

    /// All things by their numbers.
    pub fn things(&self) -> &[K] {
        &self.things
    }

    /// All things by their numbers, without the table.
    pub fn into_things(self) -> Vec<K> {
        self.things
    }

    /// Forgets the table: after it nothing new comes, or what was known is new.
    pub fn close(&mut self) {
        self.numbers = HashTable::new();
    }
}

/// Most numbers of things that came last.
const MOST_RECENT: usize = 1 << 18;

/// Numbers of things that came last, each found by a number that most others do not have: of a thing that comes again the table is not
/// asked, which waits for memory three times.
#[derive(Debug, Default)]
pub struct RecentNumbers(Vec<u32>);

impl RecentNumbers {
    /// The number of a thing, as [`Numbered::number`] gives it; `near` finds it.
    #[inline]
    pub fn number<K: Copy + Eq + Hash>(&mut self, all: &mut Numbered<K>, near: usize, thing: K) -> u32 {
        let near = near % MOST_RECENT;
        let last = self.0.get(near).copied().unwrap_or_default();
        if all.get(last) == Some(&thing) {
            return last;
        }
        let number = all.number(thing);
        if self.0.len() <= near {
            self.0.resize((near + 1).next_power_of_two(), 0);
        }
        self.0.get_mut(near).into_iter().for_each(|last| *last = number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_have_one_number() {
        let mut all = Numbered::default();
        assert_eq!(["a", "b", "a", "c", "b"].map(|thing| all.number(thing)), [0, 1, 0, 2, 1]);
        assert_eq!((all.get(1), all.get(3)), (Some(&"b"), None));
        all.close();
        assert_eq!(all.into_things(), ["a", "b", "c"]);
        let mut many = Numbered::default();
        assert!((0..100_000u64).all(|thing| u64::from(many.number(thing * 64)) == thing));
        assert!((0..100_000u64).all(|thing| u64::from(many.number(thing * 64)) == thing));
    }

    /// Also where two things have one place, and where that of a new one is far away.
    #[test]
    fn numbers_that_came_last_are_those_of_the_table() {
        let (mut recent, mut all, mut table) = (RecentNumbers::default(), Numbered::default(), Numbered::default());
        for thing in (0..3000u64).chain(0..3000).map(|n| n * n % 511) {
            let near = thing as usize % 100 + if thing % 7 == 0 { MOST_RECENT - 50 } else { 0 };
            assert_eq!(recent.number(&mut all, near, thing), table.number(thing));
        }
        assert_eq!((all.things(), recent.0.len()), (table.things(), MOST_RECENT));
    }
}
