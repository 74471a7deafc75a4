//! Fast look-up of what an address belongs to, in all address spaces at one moment.
//!
//! `AddressSpace` gives the same answers in a simple, slow way; a property test compares the two.
//!
//! This search limits the speed of the resident set. Pages come in physical order, so consecutive pages belong to
//! different processes and addresses, and every step of a binary search would miss the cache. Therefore the index is made
//! of static search trees of equal depth. A node has 16 keys, fills one cache line, and is searched without branches.
//! Several searches descend at the same time, so that their cache misses overlap. The answer is stored beside its key.

use crate::model::address_space::Layer;
use crate::model::flat_ranges::{FlatRange, FlatRanges};
use crate::units::PAGE_BYTES;
use foldhash::HashMap as FastMap;
use std::ops::Range;

/// What a page belongs to, by our rules and by WPA's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressOwner {
    /// By both sets of rules.
    pub layers: LayerPair,
    /// Position of the answer, for [`AddressIndex::file_key`].
    slot: u32,
}

impl AddressOwner {
    /// The page belongs to nothing.
    pub const NOTHING: AddressOwner = AddressOwner { layers: LayerPair::new([Layer::None; 2]), slot: u32::MAX };

    /// By the corrected rules.
    #[inline(always)]
    pub const fn corrected(self) -> Layer {
        self.layers.unpack()[0]
    }

    /// By WPA's rules.
    #[inline(always)]
    pub const fn wpa(self) -> Layer {
        self.layers.unpack()[1]
    }
}

/// Layer by our rules and by WPA's in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayerPair(u8);

impl LayerPair {
    const fn new([corrected, wpa]: [Layer; 2]) -> LayerPair {
        LayerPair((corrected as u8) << 3 | wpa as u8)
    }

    /// Both layers by the number of the pair.
    pub const ALL: [[Layer; 2]; 64] = {
        let mut all = [[Layer::None; 2]; 64];
        let mut at = 0;
        while at < Layer::ALL.len() * Layer::ALL.len() {
            let layers = [Layer::ALL[at / Layer::ALL.len()], Layer::ALL[at % Layer::ALL.len()]];
            all[LayerPair::new(layers).number()] = layers;
            at += 1;
        }
        all
    };

    /// Number of the pair: index into tables like [`LayerPair::ALL`].
    #[inline(always)]
    pub const fn number(self) -> usize {
        self.0 as usize & 63
    }

    #[inline(always)]
    const fn unpack(self) -> [Layer; 2] {
        Self::ALL[self.number()]
    }
}

/// Children of a node, flat ranges of a leaf.
const NODE: usize = 16;

/// Number of searches that descend at the same time.
const LANES: usize = 64;

/// Low bits of a page number that keys of inner nodes omit. Ranges nearly always begin at a multiple of 64 KiB, the
/// allocation granularity, and without these bits a 47-bit address fits into 31 bits.
const LOW_BITS: u32 = 4;

/// The key of a page in inner nodes: its granule. `i32::MAX` for addresses too large for one.
const fn key(page: u64) -> i32 {
    let granule = page >> LOW_BITS;
    if granule < i32::MAX as u64 { granule as i32 } else { i32::MAX }
}

/// The key to search for an address. Addresses that are too large get the largest key that is not padding, because they
/// are after all ranges.
#[inline(always)]
fn search_key(address: u64) -> i32 {
    key(address / PAGE_BYTES).min(i32::MAX - 1)
}

/// A page to look up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question {
    /// Its address space.
    pub space: u32,
    /// A value of the caller's, returned with the answer.
    pub tag: u32,
    /// Its address.
    pub address: u64,
}

/// An inner node, one cache line: up to 16 children with consecutive indices.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Inner {
    /// First keys of the children. The first child also holds everything below, so it needs no key. The slot holds the
    /// index of the last possible child instead, with the sign bit set, which makes it smaller than every key.
    keys: [i32; NODE],
}

impl Inner {
    /// A node with these children: their first keys and indices.
    fn new(children: &[(i32, u32)]) -> Inner {
        let mut keys = [i32::MAX; NODE];
        keys.iter_mut().zip(children).for_each(|(slot, (key, _))| *slot = *key);
        keys[0] = children.first().map_or(0, |&(_, first)| first as i32).wrapping_add(NODE as i32 - 1) | i32::MIN;
        Inner { keys }
    }

    /// Index of the child for a key that is not padding.
    #[inline(always)]
    fn child(&self, wanted: i32) -> u32 {
        let above: i32 = self.keys.iter().map(|&key| i32::from(key > wanted)).sum();
        ((self.keys[0] & i32::MAX) as u32).wrapping_sub(above as u32)
    }
}

/// A leaf, one cache line: up to 16 flat ranges. The first one begins at `base`, so that every page whose search ends here has
/// a flat range.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Leaf {
    /// The leaf's first page, a multiple of the granule.
    base: u64,
    /// First pages of the flat ranges, counted from `base`; `i16::MAX` where there is none.
    keys: [i16; NODE],
    /// Layers of the flat ranges, packed.
    layers: [LayerPair; NODE],
}

/// The leaves of one address space.
#[derive(Debug, Clone)]
pub struct Leaves {
    list: Vec<Leaf>,
    /// Flat ranges of the last leaf.
    filled: usize,
    /// For each slot (16 a leaf): index into `file_keys`.
    views: Vec<u32>,
    file_keys: Vec<u64>,
}

impl Default for Leaves {
    /// The leaves of an empty address space.
    fn default() -> Leaves {
        Leaves::new(FlatRanges::default())
    }
}

impl Leaves {
    /// Arranges flat ranges in leaves.
    pub fn new(ranges: FlatRanges) -> Leaves {
        let FlatRanges { list, file_keys } = ranges;
        // Each leaf repeats the last flat range of the one before it, and few leaves are not filled.
        let most = list.len().div_ceil(NODE - 2) + 1;
        let (leaves, views) = (Vec::with_capacity(most), Vec::with_capacity(most * NODE));
        let mut leaves = Leaves { list: leaves, filled: 0, views, file_keys };
        leaves.begin(&FlatRange::NOTHING);
        let mut before = FlatRange::NOTHING;
        // Keys of inner nodes are granules, so all flat ranges of a granule must be in one leaf.
        for granule in list.chunk_by(|a, b| a.page >> LOW_BITS == b.page >> LOW_BITS) {
            if !leaves.has_room(granule) {
                let first = granule.first().map_or(0, |first| first.page >> LOW_BITS << LOW_BITS);
                leaves.begin(&FlatRange { page: first, ..before });
            }
            granule.iter().for_each(|range| leaves.push(range));
            before = granule.last().copied().unwrap_or(before);
        }
        leaves
    }

    fn has_room(&self, granule: &[FlatRange]) -> bool {
        let is_near = |base: u64| granule.last().is_none_or(|last| last.page - base < i16::MAX as u64);
        self.filled + granule.len() <= NODE && self.list.last().is_some_and(|leaf| is_near(leaf.base))
    }

    fn begin(&mut self, range: &FlatRange) {
        self.list.push(Leaf {
            base: range.page,
            keys: [i16::MAX; NODE],
            layers: [LayerPair::new([Layer::None; 2]); NODE],
        });
        self.views.resize(self.list.len() * NODE, FlatRange::NO_VIEW);
        self.filled = 0;
        self.push(range);
    }

    /// Appends a flat range; it replaces the last one if both begin at the same page.
    fn push(&mut self, range: &FlatRange) {
        let first_slot = (self.list.len() - 1) * NODE;
        let Some(leaf) = self.list.last_mut() else { return };
        let key = (range.page - leaf.base) as i16;
        let is_same = self.filled.checked_sub(1).and_then(|last| leaf.keys.get(last)).is_some_and(|&last| last == key);
        let at = self.filled - usize::from(is_same);
        if let (Some(to_key), Some(layers)) = (leaf.keys.get_mut(at), leaf.layers.get_mut(at)) {
            (*to_key, *layers) = (key, LayerPair::new(range.layers));
        }
        if let Some(view) = self.views.get_mut(first_slot + at) {
            *view = range.view;
        }
        self.filled = at + 1;
    }

    /// True when the keys of inner nodes are too small for some of the leaves.
    fn are_wide(&self) -> bool {
        self.list.last().is_some_and(|leaf| {
            let last = leaf.keys.iter().rev().find(|&&key| key != i16::MAX).copied().unwrap_or(0);
            key(leaf.base.saturating_add(last as u64)) == i32::MAX
        })
    }
}

/// All address spaces of one moment.
#[derive(Debug, Clone, Default)]
pub struct AddressIndex {
    /// By space: its root, a node or, without inner levels, a leaf.
    roots: Vec<u32>,
    nodes: Vec<Inner>,
    /// The first leaf is that of unknown address spaces.
    leaves: Vec<Leaf>,
    /// Inner levels.
    depth: usize,
    /// Leaves of the spaces with addresses that are too large for keys of inner nodes.
    wide: FastMap<u32, Range<usize>>,
    /// For each slot (16 a leaf): index into `file_keys`.
    views: Vec<u32>,
    file_keys: Vec<u64>,
    /// The root of unknown address spaces.
    nowhere: u32,
}

impl AddressIndex {
    /// Joins address spaces; a space is identified by its index in the list.
    pub fn new(spaces: Vec<Leaves>) -> AddressIndex {
        let nowhere = Leaves::default();
        let most = spaces.iter().map(|space| space.list.len()).max().unwrap_or(1);
        let levels = (0..).find(|&levels| NODE.checked_pow(levels).is_none_or(|leaves| leaves >= most));
        let all: usize = spaces.iter().map(|space| space.list.len()).sum();
        let mut index = AddressIndex { depth: levels.unwrap_or(0) as usize, ..AddressIndex::default() };
        index.leaves.reserve_exact(all + 1);
        index.views.reserve_exact((all + 1) * NODE);
        index.nowhere = index.add(nowhere);
        for (space, leaves) in (0..).zip(spaces) {
            if leaves.are_wide() {
                index.wide.insert(space, index.leaves.len()..index.leaves.len() + leaves.list.len());
            }
            let root = index.add(leaves);
            index.roots.push(root);
        }
        index
    }

    /// Adds a space and returns its root.
    fn add(&mut self, mut space: Leaves) -> u32 {
        let first = self.leaves.len() as u32;
        let mut level: Vec<(i32, u32)> = (first..).zip(&space.list).map(|(at, leaf)| (key(leaf.base), at)).collect();
        let first_file = self.file_keys.len() as u32;
        self.views.extend(space.views.iter().map(|&view| match view {
            FlatRange::NO_VIEW => view,
            view => view.saturating_add(first_file),
        }));
        self.file_keys.append(&mut space.file_keys);
        self.leaves.append(&mut space.list);
        for _ in 0..self.depth {
            let above = level.chunks(NODE).map(|children| {
                self.nodes.push(Inner::new(children));
                (children.first().map_or(0, |&(first_key, _)| first_key), self.nodes.len() as u32 - 1)
            });
            level = above.collect();
        }
        level.first().map_or(0, |&(_, root)| root)
    }

    /// Looks up many pages and passes on each question with its answer, in the same order.
    #[inline(always)]
    pub fn find_all(&self, questions: &[Question], mut found: impl FnMut(&Question, AddressOwner)) {
        for questions in questions.chunks(LANES) {
            let (mut places, mut keys) = ([0u32; LANES], [0i32; LANES]);
            for ((place, key), question) in places.iter_mut().zip(&mut keys).zip(questions) {
                *place = self.roots.get(question.space as usize).copied().unwrap_or(self.nowhere);
                *key = search_key(question.address);
            }
            for _ in 0..self.depth {
                for (place, &key) in places.iter_mut().zip(&keys).take(questions.len()) {
                    *place = self.child(*place, key);
                }
            }
            if !self.wide.is_empty() {
                self.find_wide(questions, &mut places);
            }
            // First read one value of each leaf, so that all of them are loaded from memory at the same time.
            let mut keys = [0i16; LANES];
            for ((key, &place), question) in keys.iter_mut().zip(&places).zip(questions) {
                *key = self.leaf_key(place, question.address);
            }
            for ((question, &place), &key) in questions.iter().zip(&places).zip(&keys) {
                found(question, self.in_leaf(place, key));
            }
        }
    }

    /// The child of a node for a key.
    #[inline(always)]
    fn child(&self, place: u32, key: i32) -> u32 {
        self.nodes.get(place as usize).map_or(0, |node| node.child(key))
    }

    /// The key to search for an address in a leaf.
    #[inline(always)]
    fn leaf_key(&self, place: u32, address: u64) -> i16 {
        let base = self.leaves.get(place as usize).map_or(0, |leaf| leaf.base);
        (address / PAGE_BYTES).saturating_sub(base).min(i16::MAX as u64 - 1) as i16
    }

    /// The answer in a leaf.
    #[inline(always)]
    fn in_leaf(&self, place: u32, wanted: i16) -> AddressOwner {
        self.leaves.get(place as usize).map_or(AddressOwner::NOTHING, |leaf| {
            let above: i16 = leaf.keys.iter().map(|&key| i16::from(key > wanted)).sum();
            // The first key, 0, is never above, so this is the last flat range that is not.
            let at = (NODE as u32 - 1).wrapping_sub(above as u32) % NODE as u32;
            AddressOwner { layers: leaf.layers[at as usize], slot: place * NODE as u32 + at }
        })
    }

    /// For wide spaces, whose addresses are too large for keys of inner nodes, replaces the leaves that were found.
    #[cold]
    fn find_wide(&self, questions: &[Question], places: &mut [u32]) {
        for (place, Question { space, address, .. }) in places.iter_mut().zip(questions) {
            let Some(range) = self.wide.get(space) else { continue };
            let leaves = self.leaves.get(range.clone()).unwrap_or_default();
            let after = leaves.partition_point(|leaf| leaf.base <= address / PAGE_BYTES);
            *place = (range.start + after.saturating_sub(1)) as u32;
        }
    }

    /// What the page at `address` belongs to.
    #[inline]
    pub fn get(&self, space: u32, address: u64) -> AddressOwner {
        let root = self.roots.get(space as usize).copied().unwrap_or(self.nowhere);
        let key = search_key(address);
        let mut place = [(0..self.depth).fold(root, |place, _| self.child(place, key))];
        if !self.wide.is_empty() {
            self.find_wide(&[Question { space, tag: 0, address }], &mut place);
        }
        self.in_leaf(place[0], self.leaf_key(place[0], address))
    }

    /// File key of the view that the address lies in.
    pub fn file_key(&self, owner: AddressOwner) -> Option<u64> {
        let view = *self.views.get(owner.slot as usize)?;
        self.file_keys.get(view as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Phase;
    use crate::event::file_name_and_view::ViewKind;
    use crate::event::virtual_memory::VirtualRange;
    use crate::load::owned_events::SpaceEvent;
    use crate::model::address_space::AddressSpace;
    use crate::moment::Moment;
    use crate::random_cases::cases;
    use proptest::prelude::*;

    const KINDS: [ViewKind; 3] = [ViewKind::DataFile, ViewKind::Image, ViewKind::PagefileBacked];

    fn event(what: u8, base: u64, size: u64, id: u32) -> SpaceEvent {
        let flags = VirtualRange::RESERVE;
        let (phase, kind) = (Phase::DcStart, KINDS[id as usize % 3]);
        match what {
            0 => SpaceEvent::Region { phase: Phase::Start, base, size, flags },
            1 | 2 => SpaceEvent::Region { phase, base, size, flags },
            3 | 4 => SpaceEvent::View { phase, base, size, file_key: u64::from(id), kind },
            5 => SpaceEvent::HeapReserve { heap: base, base, size },
            6 => SpaceEvent::HeapRundown { heap: base, base, size },
            _ => SpaceEvent::Thread {
                phase,
                thread_id: id,
                stack_base: base.saturating_add(size),
                stack_limit: base.saturating_add(size / 2),
            },
        }
    }

    /// Asks for every page of the arena and for what lies around it.
    fn agrees(space: &AddressSpace, arena: u64, pages: u64) -> Result<(), TestCaseError> {
        let other = Leaves::default();
        let index = AddressIndex::new(vec![other.clone(), Leaves::new(FlatRanges::new(space)), other]);
        let far = [0, 1 << 31, 1 << 47, 1 << 59, u64::MAX].map(|address| address / PAGE_BYTES * PAGE_BYTES);
        let near = (0..pages + 40).map(|page| arena.saturating_add(page * PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES);
        for address in near.chain(far) {
            for within in [0, 0xfff] {
                let owner = index.get(1, address.saturating_add(within));
                // A page belongs to what holds its first byte.
                prop_assert_eq!(owner.corrected(), space.layer(address), "0x{:x}", address);
                prop_assert_eq!(owner.wpa(), space.layer_wpa(address), "0x{:x} by WPA's rules", address);
                if owner.corrected().is_file_view() {
                    let view = space.views.get(address).map(|(_, _, view)| view.file_key);
                    prop_assert_eq!(index.file_key(owner), view, "file at 0x{:x}", address);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn an_empty_space_holds_nothing() {
        let layers = |index: &AddressIndex, space, address| {
            let owner = index.get(space, address);
            let [corrected, wpa] = [owner.corrected(), owner.wpa()];
            [corrected, wpa]
        };
        for index in
            [AddressIndex::default(), AddressIndex::new(Vec::new()), AddressIndex::new(vec![Leaves::default()])]
        {
            for address in [0, 4096, u64::MAX] {
                assert_eq!([0, 1, u32::MAX].map(|space| layers(&index, space, address)), [[Layer::None; 2]; 3]);
            }
        }
    }

    #[test]
    fn small_spaces_lie_beside_large_and_wide_ones() {
        let space = |count: u64, base: u64| {
            let mut space = AddressSpace::default();
            for at in 0..count {
                space.apply(Moment::FIRST, &event(1, base + at * 0x2_0000, 0x1_0000, 0));
            }
            space
        };
        let spaces = [(1, 0x1_0000), (0, 0), (9000, 0x10_0000), (40, 1 << 56)].map(|(count, base)| space(count, base));
        let index = AddressIndex::new(spaces.iter().map(|space| Leaves::new(FlatRanges::new(space))).collect());
        for (number, space) in (0..).zip(&spaces) {
            let bases = [0, 0x1_0000, 0x10_0000, 0x3000_0000, 0x4660_0000, 1 << 56, (1 << 56) + 39 * 0x2_0000, 1 << 60];
            for address in bases.into_iter().flat_map(|base: u64| [base, base + 0xffff, base + 0x1_0000]) {
                let layer = index.get(number, address).corrected();
                assert_eq!(layer, space.layer(address), "0x{address:x} of space {number}");
            }
        }
    }

    proptest! {
        #![proptest_config(cases(24))]

        /// Compares the fast look-up with the four maps, at both ends of address spaces; ranges need not begin at a page.
        #[test]
        fn agrees_with_the_address_space(
            steps in prop::collection::vec((0u8..8, 0u64..400, 1u64..30, 0u8..4, 0u32..6), 0..120),
            arena in prop::sample::select(vec![0u64, 0x7ff0_0000, 0x7fff_ff00_0000, 0x7fff_ffff_f000, 1 << 59, u64::MAX - 0x20_0000]),
        ) {
            let mut space = AddressSpace::default();
            for (what, page, size, odd, id) in steps {
                let (base, size) = match odd {
                    0 => (page * 512, size * 512),
                    _ => (page * PAGE_BYTES, size * PAGE_BYTES),
                };
                space.apply(Moment::FIRST, &event(what, arena.saturating_add(base), size, id));
            }
            agrees(&space, arena, 430)?;
        }

        /// Many ranges: several levels of the search tree.
        #[test]
        fn agrees_with_large_address_spaces(seed in any::<u64>(), count in 200u64..900) {
            let mut space = AddressSpace::default();
            let mut dice = seed | 1;
            for at in 0..count {
                dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let base = 0x1_0000_0000 + at * 3 * PAGE_BYTES + (dice >> 60) * PAGE_BYTES / 2;
                space.apply(Moment::FIRST, &event((dice >> 32) as u8 % 7, base, (1 + (dice >> 62)) * PAGE_BYTES, at as u32));
            }
            agrees(&space, 0x1_0000_0000, 3 * count)?;
        }
    }
}
