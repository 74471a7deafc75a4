//! Lists of frames, each distinct one once.

use super::recent_lists::spread;
use hashbrown::HashTable;
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// Number of a list in [`Lists`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListId(pub u32);

/// Distinct lists, one after the other in one array.
#[derive(Clone)]
pub struct Lists<T> {
    items: Vec<T>,
    ends: Vec<usize>,
    /// Lists with the upper half of their hash.
    by_hash: HashTable<(u32, ListId)>,
    /// Seeded: lists come from the trace, and none shall be made to collide.
    hasher: foldhash::fast::RandomState,
}

impl<T: fmt::Debug> fmt::Debug for Lists<T> {
    /// Without the seed: equal lists look equal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lists").field("items", &self.items).field("ends", &self.ends).finish_non_exhaustive()
    }
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        let hasher = foldhash::fast::RandomState::default();
        Lists { items: Vec::new(), ends: Vec::new(), by_hash: HashTable::new(), hasher }
    }
}

impl<T: Copy + Eq + Hash> Lists<T> {
    /// The number of this list.
    pub fn id(&mut self, list: &[T]) -> ListId {
        let hash = self.hasher.hash_one(list);
        let hash = (hash >> 32) as u32;
        if let Some((_, known)) = self.by_hash.find(spread(hash), |(of, id)| *of == hash && self.get(*id) == list) {
            return *known;
        }
        let id = ListId(self.ends.len() as u32);
        self.items.extend_from_slice(list);
        self.ends.push(self.items.len());
        self.by_hash.insert_unique(spread(hash), (hash, id), |(hash, _)| spread(*hash));
        id
    }

    /// A list by its number.
    pub fn get(&self, id: ListId) -> &[T] {
        let index = id.0 as usize;
        let begin = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(index).and_then(|end| self.items.get(begin..*end)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_have_one_number() {
        let mut all = Lists::default();
        assert_eq!([all.id(&[1, 2]), all.id(&[]), all.id(&[1]), all.id(&[1, 2])].map(|id| id.0), [0, 1, 2, 0]);
        assert_eq!((all.get(ListId(2)), all.get(ListId(1)), all.get(ListId(9))), (&[1][..], &[][..], &[][..]));
    }
}
