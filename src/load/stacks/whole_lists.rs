//! Whole lists of frames that came before, by their hashes alone: a look-up waits for one line of a cache.

use super::frame_trie::PathId;
use super::list_hash::ListHash;

/// Most places; lists have half of them: the first ones.
const MOST_PLACES: usize = 1 << 19;

/// Lists by their hashes.
#[derive(Debug, Default)]
pub struct WholeLists {
    /// A power of two, or none: each list is at the first place that was free from that of its hash on.
    places: Vec<Place>,
    lists: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    first: u64,
    rest: u32,
    list: Option<PathId>,
}

const _: () = assert!(size_of::<Place>() == 16);

impl WholeLists {
    #[inline(always)]
    fn place(&self, hash: ListHash) -> usize {
        hash.first as usize & self.places.len().wrapping_sub(1)
    }

    /// Loads the places of these lists.
    #[inline]
    pub fn load(&self, hashes: impl Iterator<Item = ListHash>) {
        let place = |hash: ListHash| self.places.get(self.place(hash)).map_or(0, |place| place.first);
        std::hint::black_box(hashes.fold(0, |sum, hash| sum ^ place(hash)));
    }

    /// The number of a list that is known.
    #[inline]
    pub fn get(&self, hash: ListHash) -> Option<PathId> {
        let mut at = self.place(hash);
        loop {
            let place = self.places.get(at)?;
            let list = place.list?;
            if (place.first, place.rest) == (hash.first, hash.rest) {
                return Some(list);
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// Notes one that is not known, if there is room.
    pub fn put(&mut self, hash: ListHash, list: PathId) {
        if 2 * self.lists >= self.places.len() && !self.grow() {
            return;
        }
        self.insert(Place { first: hash.first, rest: hash.rest, list: Some(list) });
        self.lists += 1;
    }

    fn insert(&mut self, new: Place) {
        let mut at = self.place(ListHash { first: new.first, rest: new.rest });
        while let Some(place) = self.places.get_mut(at) {
            if place.list.is_none() {
                *place = new;
                return;
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// Twice as many places; false when these are the most.
    #[cold]
    fn grow(&mut self) -> bool {
        const FIRST_PLACES: usize = 1 << 10;
        let places = (2 * self.places.len()).max(FIRST_PLACES);
        if places > MOST_PLACES {
            return false;
        }
        let before = std::mem::replace(&mut self.places, vec![Place::default(); places]);
        before.into_iter().filter(|place| place.list.is_some()).for_each(|place| self.insert(place));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u64) -> ListHash {
        // Many at one place, and some that differ in one half.
        ListHash { first: n / 3, rest: (n % 3) as u32 }
    }

    #[test]
    fn the_first_lists_are_found_and_no_others() {
        let mut all = WholeLists::default();
        assert_eq!(all.get(hash(5)), None);
        let list = |n: u64| PathId::of(n as u32 + 1).unwrap();
        for n in 0..3000 {
            all.put(hash(n), list(n));
        }
        all.load((0..40).map(hash));
        assert!((0..3000).all(|n| all.get(hash(n)) == Some(list(n))));
        assert_eq!([3000, 3001, 9000].map(|n| all.get(hash(n))), [None; 3]);
    }

    #[test]
    fn there_is_an_end_of_them() {
        let mut all = WholeLists::default();
        let spread = |n: u64| ListHash { first: n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32), rest: n as u32 };
        let known = MOST_PLACES as u64 / 2;
        (0..known + 1000).for_each(|n| all.put(spread(n), PathId::of(n as u32 + 1).unwrap()));
        assert_eq!([0, known - 1, known].map(|n| all.get(spread(n)).is_some()), [true, true, false]);
        assert_eq!((all.lists, all.places.len()), (known as usize, MOST_PLACES));
    }
}
