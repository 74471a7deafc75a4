//! An address space flattened into sorted, disjoint segments, each with its final answer.
//!
//! `AddressSpace::layer` asks four maps in order of precedence; here the answers are written down once, from where they
//! change to where they change next. How they are searched is `address_index`' business.

use crate::model::space::{AddressSpace, Layer};
use crate::units::PAGE_BYTES;

/// From its first page to that of the next segment everything belongs to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First page.
    pub page: u64,
    /// Layer by our rules and by WPA's.
    pub layers: [Layer; 2],
    /// Index of the view's file key, [`Segment::NO_VIEW`] for none.
    pub view: u32,
}

impl Segment {
    /// In place of a view's index.
    pub const NO_VIEW: u32 = u32::MAX;

    /// Nothing, from the first page of the address space.
    pub const NOTHING: Segment = Segment { page: 0, layers: [Layer::None; 2], view: Segment::NO_VIEW };
}

/// An address space as segments.
#[derive(Debug, Clone, Default)]
pub struct Segments {
    /// By address. Pages before the first belong to nothing.
    pub list: Vec<Segment>,
    /// File keys of the views.
    pub file_keys: Vec<u64>,
}

/// Ranges of one layer as (first page, page behind the last, value), rising and disjoint.
type Pages<T> = Vec<(u64, u64, T)>;

/// Pages whose first byte lies in `[base, end)`: a page belongs to a range by its address.
fn pages<T>(base: u64, end: u64, value: T) -> (u64, u64, T) {
    (base.div_ceil(PAGE_BYTES), end.div_ceil(PAGE_BYTES), value)
}

impl Segments {
    /// Flattens an address space.
    pub fn new(space: &AddressSpace) -> Segments {
        let mut file_keys = Vec::with_capacity(space.views.len());
        let view_pages: Pages<(Layer, u32)> = (space.views.iter())
            .map(|(base, end, view)| {
                file_keys.push(view.file_key);
                pages(base, end, (Layer::of_view(view.kind), file_keys.len() as u32 - 1))
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

        let mut segments = Segments { list: Vec::with_capacity(bounds.len()), file_keys };
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
            let view = view.map_or(Segment::NO_VIEW, |(_, view)| view);
            if segments.list.last().is_none_or(|last| (last.layers, last.view) != (layers, view)) {
                segments.list.push(Segment { page, layers, view });
            }
        }
        segments
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
