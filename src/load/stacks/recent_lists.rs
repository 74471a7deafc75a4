//! Lists of frames that came before: most of a trace's stacks come again and again, and then their frames are compared, not looked up.
//! A new stack mostly has outer frames that came before: they are looked up by several at a time, from the outermost ones inwards.

use super::frame_trie::{FrameTrie, PathId};
use crate::event::payload::PointerArray;
use crate::units::PointerSize;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// Most whole lists that are kept: the first ones.
const MOST_LISTS: usize = 7 << 14;

/// Most bytes of lists that are copied: copies are on fewer pages of memory than lists among the records of a file.
const MOST_COPIED: usize = 16 << 20;

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

/// A whole list that is known.
#[derive(Debug, Clone, Copy)]
struct Whole<'f> {
    hash: ListHash,
    list: PathId,
    at: Kept<'f>,
}

/// Where the bytes of a list can be compared with those of others: this waits for memory once, the trie frame by frame.
#[derive(Debug, Clone, Copy)]
enum Kept<'f> {
    InFile(&'f [u8]),
    Copied(u32, u32),
    Nowhere,
}

/// Bits of the hash of a list, and the size of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListHash(u32);

impl ListHash {
    fn new(hash: u64, pointer: PointerSize) -> ListHash {
        ListHash(hash as u32 >> 1 | u32::from(pointer == PointerSize::P8) << 31)
    }
}

/// A hash of all bits that a table looks at.
pub fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Lists that came before.
#[derive(Debug, Default)]
pub struct RecentLists<'f> {
    /// Whole lists, by all of their frames.
    whole: HashTable<Whole<'f>>,
    /// Copies of whole lists.
    copies: Vec<u8>,
    /// Lists by the innermost frames and the list around these.
    groups: HashTable<Known>,
    /// Seeded: frames come from the trace, and none shall be made to collide.
    hasher: foldhash::fast::RandomState,
    /// The frames of a list that is new.
    frames: Vec<u64>,
}

impl<'f> RecentLists<'f> {
    /// What a list is found by.
    #[inline]
    pub fn hash(&self, list: PointerArray<'_>) -> ListHash {
        let mut state = self.hasher.build_hasher();
        state.write(list.bytes());
        ListHash::new(state.finish(), list.pointer())
    }

    /// Loads what lists with these hashes are compared with, before one is compared: one waits for memory while others do.
    pub fn load(&self, hashes: impl Iterator<Item = ListHash>) {
        const LINE: usize = 64;
        // First where all of them are, then their bytes: so more of them are waited for together.
        let mut lists: [&[u8]; TOGETHER] = [&[]; TOGETHER];
        for (list, hash) in lists.iter_mut().zip(hashes) {
            let known = self.whole.find(spread(hash.0), |known| known.hash == hash);
            *list = known.and_then(|known| self.bytes(known)).unwrap_or_default();
        }
        let mut sum = 0;
        for list in lists {
            for line in list.chunks(LINE) {
                sum ^= line.first().unwrap_or(&0) ^ line.last().unwrap_or(&0);
            }
        }
        std::hint::black_box(sum);
    }

    fn bytes(&self, known: &Whole<'f>) -> Option<&[u8]> {
        match known.at {
            Kept::InFile(bytes) => Some(bytes),
            Kept::Copied(at, len) => self.copies.get(at as usize..)?.get(..len as usize),
            Kept::Nowhere => None,
        }
    }

    /// True when a list that is known is this one.
    #[inline(always)]
    fn is_list(&self, known: &Whole<'f>, list: PointerArray<'_>, trie: &FrameTrie<u64>) -> bool {
        match self.bytes(known) {
            Some(bytes) => bytes == list.bytes(),
            None => trie.frames(Some(known.list)).eq(list.iter()),
        }
    }

    /// The number of a list in a trie, innermost frame first. `in_file` are its bytes where they stay.
    pub fn id(
        &mut self,
        (hash, list): (ListHash, PointerArray<'_>),
        in_file: Option<&'f [u8]>,
        trie: &mut FrameTrie<u64>,
    ) -> Option<PathId> {
        let is_it = |known: &Whole<'f>| known.hash == hash && self.is_list(known, list, trie);
        if let Some(known) = self.whole.find(spread(hash.0), is_it) {
            return Some(known.list);
        }
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        list.append_to(&mut frames);
        let new = frames.rchunks(GROUP).fold(None, |outer, group| self.inside(outer, group, trie));
        self.frames = frames;
        let new = new?;
        if self.whole.len() < MOST_LISTS {
            let at = self.copy(list.bytes()).or(in_file.map(Kept::InFile)).unwrap_or(Kept::Nowhere);
            self.whole.insert_unique(spread(hash.0), Whole { hash, list: new, at }, |known| spread(known.hash.0));
        }
        Some(new)
    }

    /// A copy of a list, if there is room for one.
    fn copy(&mut self, bytes: &[u8]) -> Option<Kept<'f>> {
        let at = self.copies.len();
        if at + bytes.len() > MOST_COPIED {
            return None;
        }
        self.copies.extend_from_slice(bytes);
        Some(Kept::Copied(at as u32, bytes.len() as u32))
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

    fn id(recent: &mut RecentLists<'_>, list: &[u64], trie: &mut FrameTrie<u64>) -> Option<PathId> {
        let bytes: Vec<u8> = list.iter().flat_map(|frame| frame.to_le_bytes()).collect();
        let list = PointerArray::new(&bytes, PointerSize::P8);
        recent.id((recent.hash(list), list), None, trie)
    }

    #[test]
    fn numbers_are_those_of_the_trie() {
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        let list = |n: u64| (0..n % 11).map(|depth| (n >> (n % 11 - depth)) + depth).collect::<Vec<u64>>();
        for n in (0..5000).chain(0..5000) {
            assert_eq!(id(&mut recent, &list(n), &mut trie), trie.id(&list(n)));
        }
        assert_eq!((id(&mut recent, &[], &mut trie), trie.id(&[])), (None, None));
        assert!(recent.whole.len() > 3000 && recent.groups.len() > 100);
    }

    /// Wherever the bytes of a known list are: in the file, in a copy, nowhere.
    #[test]
    fn lists_are_compared_as_a_whole() {
        let bytes: Vec<u8> = (1u64..=6).flat_map(u64::to_le_bytes).collect();
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        let array = |frames: std::ops::Range<usize>| {
            PointerArray::new(&bytes[8 * frames.start..8 * frames.end], PointerSize::P8)
        };
        let lists = [0..3, 0..2, 0..6].map(array);
        for (list, in_file) in lists.into_iter().zip([true, false, false]) {
            let known = recent.id((recent.hash(list), list), in_file.then(|| list.bytes()), &mut trie);
            assert_eq!(known, trie.id(&list.iter().collect::<Vec<_>>()));
        }
        for (length, at) in [(6, Kept::Nowhere), (3, Kept::InFile(lists[0].bytes()))] {
            let known = recent.whole.iter_mut().find(|known| trie.frames(Some(known.list)).count() == length);
            known.unwrap().at = at;
        }
        recent.load(lists.into_iter().map(|list| recent.hash(list)));
        let is_known = |list| recent.whole.iter().filter(|known| recent.is_list(known, list, &trie)).count();
        assert_eq!(lists.map(is_known), [1; 3]);
        assert_eq!([1..3, 0..4, 0..1].map(array).map(is_known), [0; 3]);
    }

    /// The same bytes are other addresses where addresses are shorter.
    #[test]
    fn addresses_have_a_size() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
        let (mut recent, mut trie) = (RecentLists::default(), FrameTrie::default());
        for (pointer, frames) in [(PointerSize::P8, &[0x2_0000_0001][..]), (PointerSize::P4, &[1, 2])] {
            let list = PointerArray::new(&bytes, pointer);
            assert_eq!(recent.id((recent.hash(list), list), Some(&bytes), &mut trie), trie.id(frames));
        }
    }
}
