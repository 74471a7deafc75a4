//! The fast look-up: an address space flattened into sorted, disjoint segments, each with its final answer.
//!
//! `AddressSpace::layer` asks four maps in order of precedence; a page needs one search here instead. The two must agree
//! on every page, which a property test proves.
//!
//! The search is what bounds the resident set's speed: pages come in physical order, so each one asks another process
//! about another address, and a binary search misses the cache (and the TLB) at almost every step. Hence a static search
//! tree: 16 keys of 4 bytes a node, compared without branches. The inner nodes of all processes stay in the cache; the
//! leaf, where the answer lies beside the key, is the one miss.

use crate::model::space::{AddressSpace, Layer};
use crate::units::PAGE_BYTES;

/// What a page belongs to, by both rule sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// By the corrected rules.
    pub corrected: Layer,
    /// As WPA takes it.
    pub wpa: Layer,
    /// Segment of the index, for [`AddressIndex::file_key`].
    pub segment: u32,
}

impl Cell {
    /// Belongs to nothing.
    pub const EMPTY: Cell = Cell { corrected: Layer::None, wpa: Layer::None, segment: u32::MAX };
}

/// Keys of a node.
const NODE: usize = 16;

/// A key: the page number without its low bits, which are those of the allocation granularity (64 KiB), so that the key
/// of any address of 47 bits fits. [`AddressIndex`] searches plainly where larger ones occur.
const fn key(page: u64) -> i32 {
    let granule = page >> LOW_BITS;
    if granule < i32::MAX as u64 { granule as i32 } else { i32::MAX }
}

/// Bits of a page number that its key leaves out.
const LOW_BITS: u32 = 4;
const LOW_MASK: u64 = (1 << LOW_BITS) - 1;

/// An inner node: first keys of 16 children.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Inner([i32; NODE]);

/// A leaf: 16 segments.
#[derive(Debug, Clone)]
#[repr(align(128))]
struct Leaf {
    keys: [i32; NODE],
    /// Low bits of the first page.
    lows: [u8; NODE],
    /// Layer by our rules and by WPA's.
    layers: [[Layer; 2]; NODE],
}

const NO_LEAF: Leaf = Leaf { keys: [i32::MAX; NODE], lows: [u8::MAX; NODE], layers: [[Layer::None; 2]; NODE] };

/// Segments of one address space: from its first page to that of the next one everything belongs to the same.
#[derive(Debug, Clone, Default)]
pub struct AddressIndex {
    leaves: Vec<Leaf>,
    /// Inner levels from the root to the one above the leaves.
    levels: Vec<Vec<Inner>>,
    /// File keys of the views.
    views: Vec<u64>,
    /// By segment: index into `views`, `u32::MAX` for none.
    view_of: Vec<u32>,
    /// First pages of the segments, where keys are too small for them.
    wide: Vec<u64>,
}

/// Ranges of one layer as (first page, page behind the last, value), rising and disjoint.
type Pages<T> = Vec<(u64, u64, T)>;

/// Pages whose first byte lies in `[base, end)`: a page belongs to a range by its address.
fn pages<T>(base: u64, end: u64, value: T) -> (u64, u64, T) {
    (base.div_ceil(PAGE_BYTES), end.div_ceil(PAGE_BYTES), value)
}

impl AddressIndex {
    /// Flattens an address space.
    pub fn new(space: &AddressSpace) -> AddressIndex {
        let mut views = Vec::with_capacity(space.views.len());
        let view_pages: Pages<(Layer, u32)> = (space.views.iter())
            .map(|(base, end, view)| {
                views.push(view.file_key);
                pages(base, end, (Layer::of_view(view.kind), views.len() as u32 - 1))
            })
            .collect();
        let heaps: Pages<()> = space.heaps.iter().map(|(base, end, _)| pages(base, end, ())).collect();
        let regions: Pages<()> = space.regions.iter().map(|(base, end, _)| pages(base, end, ())).collect();
        let traced_heaps: Pages<()> = space.traced_heaps.iter().map(|(b, e, _)| pages(b, e, ())).collect();
        let traced_regions: Pages<()> = space.traced_regions.iter().map(|(b, e, _)| pages(b, e, ())).collect();
        let stacks = merged(space.stacks.values().map(|stack| space.stack_range(stack)));
        let commits = merged(space.stacks.values().map(|stack| (stack.limit, stack.base)));

        let mut bounds: Vec<u64> = Vec::new();
        let mut add = |from: u64, to: u64| bounds.extend([from, to]);
        view_pages.iter().for_each(|&(from, to, _)| add(from, to));
        for list in [&heaps, &regions, &traced_heaps, &traced_regions, &stacks, &commits] {
            list.iter().for_each(|&(from, to, ())| add(from, to));
        }
        bounds.sort(); // a few sorted runs: the stable sort merges them
        bounds.dedup();

        let mut index = AddressIndex { views, ..AddressIndex::default() };
        let mut before = None;
        let mut walk = (0, 0, 0, 0, 0, 0, 0);
        for page in bounds {
            let view = at(&view_pages, page, &mut walk.0);
            let heap = at(&heaps, page, &mut walk.1).is_some();
            let stack = at(&stacks, page, &mut walk.2).is_some();
            let region = at(&regions, page, &mut walk.3).is_some();
            let traced_heap = at(&traced_heaps, page, &mut walk.4).is_some();
            let commit = at(&commits, page, &mut walk.5).is_some();
            let traced_region = at(&traced_regions, page, &mut walk.6).is_some();
            let first = |heap: bool, stack: bool, region: bool| match (heap, stack, view, region) {
                (true, ..) => Layer::Heap,
                (_, true, ..) => Layer::Stack,
                (_, _, Some((layer, _)), _) => layer,
                (_, _, _, true) => Layer::Region,
                _ => Layer::None,
            };
            let layers = [first(heap, stack, region), first(traced_heap, commit, traced_region)];
            let view = view.map_or(u32::MAX, |(_, view)| view);
            if before != Some((layers, view)) {
                before = Some((layers, view));
                index.push(page, layers, view);
            }
        }
        index.levels = levels(&index.leaves);
        index
    }

    /// Adds a segment behind the last.
    fn push(&mut self, page: u64, layers: [Layer; 2], view: u32) {
        let at = self.view_of.len() % NODE;
        if at == 0 {
            self.leaves.push(NO_LEAF);
        }
        if let Some(leaf) = self.leaves.last_mut() {
            let slots = leaf.keys.iter_mut().zip(&mut leaf.lows).zip(&mut leaf.layers).nth(at);
            slots.into_iter().for_each(|((to_key, to_low), to_layers)| {
                (*to_key, *to_low, *to_layers) = (key(page), (page & LOW_MASK) as u8, layers);
            });
        }
        if key(page) == i32::MAX && self.wide.is_empty() {
            self.wide = (0..self.view_of.len()).map(|segment| self.first_page(segment)).collect();
        }
        if key(page) == i32::MAX || !self.wide.is_empty() {
            self.wide.push(page);
        }
        self.view_of.push(view);
    }

    /// First page of a segment whose key holds it.
    fn first_page(&self, segment: usize) -> u64 {
        self.leaves.get(segment / NODE).map_or(0, |leaf| {
            let (key, low) = (leaf.keys.get(segment % NODE), leaf.lows.get(segment % NODE));
            (key.map_or(0, |&key| key as u64) << LOW_BITS) | low.map_or(0, |&low| u64::from(low))
        })
    }

    /// What the page at `address` belongs to.
    #[inline]
    pub fn get(&self, address: u64) -> Cell {
        let page = address / PAGE_BYTES;
        if !self.wide.is_empty() {
            return self.cell(self.wide.partition_point(|&first| first <= page));
        }
        let (wanted, low) = (key(page), (page & LOW_MASK) as u8);
        // How many keys of the node are not above the wanted one? The last of them leads on.
        let mut node = 0usize;
        for level in &self.levels {
            let Some(Inner(keys)) = level.get(node) else { return Cell::EMPTY };
            let not_above: i32 = keys.iter().map(|&key| i32::from(key <= wanted)).sum();
            node = (node * NODE + not_above as usize).saturating_sub(1);
        }
        // Padding has the largest key: addresses behind all keys may have been led behind the last leaf.
        let node = node.min(self.leaves.len().saturating_sub(1));
        let Some(leaf) = self.leaves.get(node) else { return Cell::EMPTY };
        let keys = leaf.keys.iter().zip(&leaf.lows);
        let not_above: i32 = keys.map(|(&key, &at)| i32::from((key < wanted) | ((key == wanted) & (at <= low)))).sum();
        let mut behind = node * NODE + not_above as usize;
        if not_above == 0 {
            // The granule's segments began in the leaf before: rarely more than one step back.
            while behind > 0 && self.first_page(behind - 1) > page {
                behind -= 1;
            }
        }
        self.cell(behind)
    }

    /// The cell of the segment before `behind`.
    #[inline(always)]
    fn cell(&self, behind: usize) -> Cell {
        let Some(segment) = behind.min(self.view_of.len()).checked_sub(1) else { return Cell::EMPTY };
        let layers = self.leaves.get(segment / NODE).and_then(|leaf| leaf.layers.get(segment % NODE));
        layers.map_or(Cell::EMPTY, |&[corrected, wpa]| Cell { corrected, wpa, segment: segment as u32 })
    }

    /// File key of the view that a cell lies in.
    pub fn file_key(&self, cell: Cell) -> Option<u64> {
        let view = *self.view_of.get(cell.segment as usize)?;
        self.views.get(view as usize).copied()
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.view_of.len()
    }

    /// True when the address space is empty.
    pub fn is_empty(&self) -> bool {
        self.view_of.is_empty()
    }
}

/// The inner levels above the leaves, root first. A level holds the first key of each node below it.
fn levels(leaves: &[Leaf]) -> Vec<Vec<Inner>> {
    let mut keys: Vec<i32> = leaves.iter().map(|leaf| leaf.keys[0]).collect();
    let mut levels = Vec::new();
    while keys.len() > 1 {
        let level: Vec<Inner> = keys
            .chunks(NODE)
            .map(|chunk| {
                let mut node = [i32::MAX; NODE];
                node.iter_mut().zip(chunk).for_each(|(slot, key)| *slot = *key);
                Inner(node)
            })
            .collect();
        keys = level.iter().map(|node| node.0[0]).collect();
        levels.push(level);
    }
    levels.reverse();
    levels
}

/// The value of the range that holds `page`; `at` is where the last search with a smaller page ended.
fn at<T: Copy>(list: &Pages<T>, page: u64, at: &mut usize) -> Option<T> {
    while list.get(*at).is_some_and(|&(_, to, _)| to <= page) {
        *at += 1;
    }
    list.get(*at).filter(|&&(from, ..)| from <= page).map(|&(.., value)| value)
}

/// Ranges in any order, which may overlap, as disjoint page ranges.
fn merged(ranges: impl Iterator<Item = (u64, u64)>) -> Pages<()> {
    let mut list: Pages<()> = ranges.map(|(base, end)| pages(base, end, ())).filter(|r| r.0 < r.1).collect();
    list.sort_unstable();
    list.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1;
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Phase;
    use crate::event::file::ViewKind;
    use crate::event::virtual_memory::VirtualRange;
    use crate::load::history::{Moment, SpaceEvent};
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
        let index = AddressIndex::new(space);
        let far = [0, 1 << 31, 1 << 47, 1 << 59, u64::MAX].map(|address| address / PAGE_BYTES * PAGE_BYTES);
        let near = (0..pages + 40).map(|page| arena.saturating_add(page * PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES);
        for address in near.chain(far) {
            for within in [0, 0xfff] {
                let cell = index.get(address.saturating_add(within));
                // A page belongs to what holds its first byte.
                prop_assert_eq!(cell.corrected, space.layer(address), "0x{:x}", address);
                prop_assert_eq!(cell.wpa, space.layer_wpa(address), "0x{:x} by WPA's rules", address);
                if cell.corrected.is_file_view() {
                    let view = space.views.get(address).map(|(_, _, view)| view.file_key);
                    prop_assert_eq!(index.file_key(cell), view, "file at 0x{:x}", address);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn an_empty_space_holds_nothing() {
        let index = AddressIndex::new(&AddressSpace::default());
        assert!([0, 4096, u64::MAX].iter().all(|&address| index.get(address) == Cell::EMPTY));
        assert!(index.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// The fast look-up against the four maps, at both ends of address spaces; ranges need not begin at a page.
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
