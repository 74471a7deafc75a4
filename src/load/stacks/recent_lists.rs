//! Lists of frames that came before: most of a trace's stacks come again and again, and then their frames are compared, not looked up.
//! A new stack mostly has outer frames that came before: they are looked up by several at a time, from the outermost ones inwards.

use super::frame_trie::{FrameTrie, PathId};
use super::list_hash::{ListHash, ListHasher};
use super::whole_lists::WholeLists;
use crate::event::payload::PointerArray;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// Most groups of frames that are kept.
const MOST_GROUPS: usize = 7 << 16;

/// Lists that are loaded together.
pub const TOGETHER: usize = 32;

/// Frames that are looked up together.
const GROUP: usize = 4;

/// A group that is known, with bits of the hash of what it is found by.
#[derive(Debug, Clone, Copy)]
struct Known {
    hash: u32,
    list: PathId,
}

/// A hash of all bits that a table looks at.
pub fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Lists that came before.
#[derive(Debug, Default)]
pub struct RecentLists {
    /// Whole lists, by all of their frames.
    whole: WholeLists,
    lists: ListHasher,
    /// Lists by the innermost frames and the list around these.
    groups: HashTable<Known>,
    /// Seeded: frames come from the trace, and none shall be made to collide.
    hasher: foldhash::fast::RandomState,
    /// The frames of a list that is new.
    frames: Vec<u64>,
}

impl RecentLists {
    /// What a list is found by.
    #[inline]
    pub fn hash(&self, list: PointerArray<'_>) -> ListHash {
        self.lists.hash(list)
    }

    /// Loads where lists with these hashes are looked up, before one is: one waits for memory while others do.
    pub fn load(&self, hashes: impl Iterator<Item = ListHash>) {
        self.whole.load(hashes);
    }

    /// The number of a list in a trie, innermost frame first.
    #[inline]
    pub fn id(&mut self, (hash, list): (ListHash, PointerArray<'_>), trie: &mut FrameTrie<u64>) -> Option<PathId> {
        self.whole.get(hash).or_else(|| self.new_id(hash, list, trie))
    }

    /// The same of one that is not known as a whole.
    #[inline(never)]
    fn new_id(&mut self, hash: ListHash, list: PointerArray<'_>, trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        list.append_to(&mut frames);
        let new = frames.rchunks(GROUP).fold(None, |outer, group| self.inside(outer, group, trie));
        self.frames = frames;
        self.whole.put(hash, new?);
        new
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::PointerSize;

    fn id(recent: &mut RecentLists, list: &[u64], trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let bytes: Vec<u8> = list.iter().flat_map(|frame| frame.to_le_bytes()).collect();
        let list = PointerArray::new(&bytes, PointerSize::P8);
        recent.id((recent.hash(list), list), trie)
    }

    #[test]
    fn numbers_are_those_of_the_trie() {
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        let list = |n: u64| (0..n % 11).map(|depth| (n >> (n % 11 - depth)) + depth).collect::<Vec<u64>>();
        for n in (0..5000).chain(0..5000) {
            assert_eq!(id(&mut recent, &list(n), &mut trie), trie.id(&list(n)));
        }
        assert_eq!((id(&mut recent, &[], &mut trie), trie.id(&[])), (None, None));
        assert!(recent.groups.len() > 100);
    }

    /// The same bytes are other addresses where addresses are shorter.
    #[test]
    fn addresses_have_a_size() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        for (pointer, frames) in [(PointerSize::P8, &[0x2_0000_0001][..]), (PointerSize::P4, &[1, 2])] {
            let list = PointerArray::new(&bytes, pointer);
            assert_eq!(recent.id((recent.hash(list), list), &mut trie), trie.id(frames));
        }
    }
}
