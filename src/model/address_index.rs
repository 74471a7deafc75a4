//! The fast look-up: an address space flattened into sorted, disjoint segments, each with its final answer.
//!
//! `AddressSpace::layer` asks four maps in order of precedence; a page needs one binary search here instead. The two
//! must agree on every page, which a property test proves.

use crate::model::space::{AddressSpace, Layer};
use crate::units::PAGE_BYTES;

/// What a page belongs to, by both rule sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// By the corrected rules.
    pub corrected: Layer,
    /// As WPA takes it.
    pub wpa: Layer,
    /// Index into `views` of the view that holds the page; [`Cell::NO_VIEW`] for none.
    pub view: u32,
}

impl Cell {
    /// No view.
    pub const NO_VIEW: u32 = u32::MAX;
    /// Belongs to nothing.
    pub const EMPTY: Cell = Cell { corrected: Layer::None, wpa: Layer::None, view: Cell::NO_VIEW };
}

/// Segments of one address space.
#[derive(Debug, Clone, Default)]
pub struct AddressIndex {
    /// First page number of each segment, rising; a segment ends where the next begins.
    starts: Vec<u64>,
    cells: Vec<Cell>,
    /// File keys of the views.
    pub views: Vec<u64>,
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
        bounds.sort_unstable();
        bounds.dedup();

        let mut index = AddressIndex { starts: Vec::new(), cells: Vec::new(), views };
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
            let cell = Cell {
                corrected: first(heap, stack, region),
                wpa: first(traced_heap, commit, traced_region),
                view: view.map_or(Cell::NO_VIEW, |(_, view)| view),
            };
            if index.cells.last() != Some(&cell) {
                index.starts.push(page);
                index.cells.push(cell);
            }
        }
        index
    }

    /// What the page at `address` belongs to.
    #[inline]
    pub fn get(&self, address: u64) -> Cell {
        let page = address / PAGE_BYTES;
        let behind = self.starts.partition_point(|&start| start <= page);
        behind.checked_sub(1).and_then(|i| self.cells.get(i)).copied().unwrap_or(Cell::EMPTY)
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// True when the address space is empty.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
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
