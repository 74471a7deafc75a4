//! Lists of frames that came before: most of a trace's stacks come again and again, and then their frames are compared, not looked up.
//! A new stack mostly has outer frames that came before: they are looked up by several at a time, from the outermost ones inwards.

use super::frame_trie::{FrameTrie, PathId};
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// Most whole lists that are kept: the first ones.
const MOST_LISTS: usize = 1 << 18;

/// Most numbers for their frames that are kept side by side.
const MOST_COPIED: usize = 1 << 20;

/// Most groups of frames that are kept.
const MOST_GROUPS: usize = 7 << 16;

/// Frames that are looked up together.
const GROUP: usize = 4;

/// A list that is known, with bits of the hash of what it is found by.
#[derive(Debug, Clone, Copy)]
struct Known {
    hash: u32,
    list: PathId,
}

/// A hash of all bits that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Lists that came before.
#[derive(Debug, Default)]
pub struct RecentLists {
    /// Whole lists, by all of their frames, each with the place of its copy, or that of none.
    whole: HashTable<(Known, u32)>,
    /// Copies of whole lists, each with its length before it: to compare with them waits for memory once, with a trie frame by frame.
    copies: Vec<u64>,
    /// Lists by the innermost frames and the list around these.
    groups: HashTable<Known>,
    /// Seeded: frames come from the trace, and none shall be made to collide.
    hasher: foldhash::fast::RandomState,
}

/// Place of no copy. An `Option` would take four bytes more in each entry.
const NO_COPY: u32 = u32::MAX;

impl RecentLists {
    /// The number of a list in a trie, innermost frame first.
    pub fn id(&mut self, list: &[u64], trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let hash = self.hasher.hash_one(list) as u32;
        let is_it = |known: &(Known, u32)| known.0.hash == hash && is_list(known, list, &self.copies, trie);
        if let Some((known, _)) = self.whole.find(spread(hash), is_it) {
            return Some(known.list);
        }
        let new = list.rchunks(GROUP).fold(None, |outer, group| self.inside(outer, group, trie))?;
        if self.whole.len() < MOST_LISTS {
            let added = (Known { hash, list: new }, self.copy(list));
            self.whole.insert_unique(spread(hash), added, |(known, _)| spread(known.hash));
        }
        Some(new)
    }

    /// The place of a copy of a list, if there is room for one.
    fn copy(&mut self, list: &[u64]) -> u32 {
        let at = self.copies.len();
        if at + list.len() >= MOST_COPIED {
            return NO_COPY;
        }
        self.copies.push(list.len() as u64);
        self.copies.extend_from_slice(list);
        at as u32
    }

    /// The list with these frames inside of another one.
    fn inside(&mut self, outer: Option<PathId>, group: &[u64], trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let mut state = self.hasher.build_hasher();
        state.write_u32(outer.map_or(0, PathId::get));
        group.iter().for_each(|frame| state.write_u64(*frame));
        let hash = state.finish() as u32;
        let is_it = |known: &Known| known.hash == hash && trie.is_inside(known.list, group, outer);
        if let Some(known) = self.groups.find(spread(hash), is_it) {
            return Some(known.list);
        }
        let list = group.iter().rev().fold(outer, |outer, frame| Some(trie.inside(outer, *frame)))?;
        if self.groups.len() < MOST_GROUPS {
            self.groups.insert_unique(spread(hash), Known { hash, list }, |known| spread(known.hash));
        }
        Some(list)
    }
}

/// True when a list that is known is this one.
#[inline(always)]
fn is_list((known, copy): &(Known, u32), list: &[u64], copies: &[u64], trie: &FrameTrie<u64>) -> bool {
    if *copy == NO_COPY {
        return trie.is_inside(known.list, list, None);
    }
    let copy = copies.get(*copy as usize..).and_then(<[u64]>::split_first);
    copy.is_some_and(|(len, rest)| *len == list.len() as u64 && rest.get(..list.len()) == Some(list))
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
        assert!(recent.whole.len() > 3000 && recent.groups.len() > 100);
    }

    /// A list without a copy, and one that is the beginning of another.
    #[test]
    fn lists_are_compared_as_a_whole() {
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        let lists = [&[1, 2, 3][..], &[1, 2], &[1, 2, 3, 4, 5, 6]];
        let ids = lists.map(|list| recent.id(list, &mut trie));
        assert_eq!(ids, lists.map(|list| trie.id(list)));
        recent.whole.iter_mut().filter(|(_, copy)| *copy == 0).for_each(|(_, copy)| *copy = NO_COPY);
        let found = |list: &[u64]| {
            let known = recent.whole.iter().find(|known| is_list(known, list, &recent.copies, &trie));
            known.map(|(known, _)| known.list)
        };
        assert_eq!(lists.map(found), ids);
        assert!([&[2, 3][..], &[1, 2, 3, 4], &[1]].into_iter().all(|list| found(list).is_none()));
    }
}
