//! Lists of frames that came before: most of a trace's stacks come again and again, and then their frames are compared, not looked up.
//! A new stack mostly has outer frames that came before.

use super::frame_trie::{FrameTrie, PathId};
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Most lists of each kind that are kept: the first ones.
const MOST: usize = 1 << 18;

/// Frames by which a list is made shorter to find one that came before.
const STEP: usize = 4;

/// Lists that are known, with bits of their hashes.
#[derive(Debug, Default)]
struct Known(HashTable<(u32, PathId)>);

impl Known {
    fn find(&self, list: &[u64], hash: u64, trie: &FrameTrie<u64>) -> Option<PathId> {
        let is_it =
            |known: &(u32, PathId)| known.0 == hash as u32 && trie.frames(Some(known.1)).eq(list.iter().copied());
        self.0.find(spread(hash as u32), is_it).map(|(_, list)| *list)
    }

    fn add(&mut self, hash: u64, list: PathId) {
        if self.0.len() < MOST {
            self.0.insert_unique(spread(hash as u32), (hash as u32, list), |(hash, _)| spread(*hash));
        }
    }
}

/// A hash of all bits that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Lists that came before.
#[derive(Debug, Default)]
pub struct RecentLists {
    whole: Known,
    /// Outer parts of lists, of whole steps.
    outer: Known,
    hasher: foldhash::fast::RandomState,
}

impl RecentLists {
    /// The number of a list in a trie, innermost frame first.
    pub fn id(&mut self, list: &[u64], trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let hash = self.hasher.hash_one(list);
        let known = self.whole.find(list, hash, trie);
        known.or_else(|| {
            let id = self.new_list(list, trie)?;
            self.whole.add(hash, id);
            Some(id)
        })
    }

    fn new_list(&mut self, list: &[u64], trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let mut new: Vec<(u64, usize)> = Vec::new();
        let (mut outer, mut from) = (None, list.len() % STEP);
        while let Some(rest) = list.get(from..).filter(|rest| !rest.is_empty()) {
            let hash = self.hasher.hash_one(rest);
            outer = self.outer.find(rest, hash, trie);
            if outer.is_some() {
                break;
            }
            new.push((hash, from));
            from += STEP;
        }
        let mut inside = |outer: Option<PathId>, frames: &[u64]| {
            frames.iter().rev().fold(outer, |outer, frame| Some(trie.inside(outer, *frame)))
        };
        for (hash, begin) in new.into_iter().rev() {
            outer = inside(outer, list.get(begin..(begin + STEP).min(list.len())).unwrap_or_default());
            outer.into_iter().for_each(|outer| self.outer.add(hash, outer));
        }
        inside(outer, list.get(..list.len() % STEP).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_trie() {
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        let list = |n: u64| (0..n % 11).map(|depth| (n >> (n % 11 - depth)) + depth).collect::<Vec<u64>>();
        for n in (0..5000).chain(0..5000) {
            assert_eq!(recent.id(&list(n), &mut trie), trie.id(&list(n)));
        }
        assert_eq!((recent.id(&[], &mut trie), trie.id(&[])), (None, None));
        assert!(recent.whole.0.len() > 3000 && recent.outer.0.len() > 100);
    }
}
