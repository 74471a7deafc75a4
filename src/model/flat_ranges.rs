//! An address space as sorted, disjoint flat ranges, each with the result of the look-up for its pages.
//!
//! A look-up in an [`AddressSpace`] searches one map for each layer. Here all results are computed once: a flat range begins
//! wherever the result changes. `address_index` searches the flat ranges.

use crate::model::address_space::{AddressSpace, Layer};
use crate::units::PAGE_BYTES;

/// Pages with the same result, from the first page of this flat range up to that of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatRange {
    /// First page.
    pub page: u64,
    /// Layer by our rules and by WPA's.
    pub layers: [Layer; 2],
    /// Index of the view's file key, [`FlatRange::NO_VIEW`] for none.
    pub view: u32,
}

impl FlatRange {
    /// Stands for the index of a view when there is none: pages look it up, so a range is kept small.
    pub const NO_VIEW: u32 = u32::MAX;

    /// A flat range of pages that belong to nothing, from the start of the address space.
    pub const NOTHING: FlatRange = FlatRange { page: 0, layers: [Layer::None; 2], view: FlatRange::NO_VIEW };
}

/// An address space as flat ranges.
#[derive(Debug, Clone, Default)]
pub struct FlatRanges {
    /// By address. Pages before the first belong to nothing.
    pub list: Vec<FlatRange>,
    /// File keys of the views.
    pub file_keys: Vec<u64>,
}

/// Iterates over the bounds of one layer's ranges, which are sorted and disjoint.
struct Sweep<I, T> {
    rest: I,
    /// The page of the next bound; `u64::MAX` after the last.
    bound: u64,
    /// Of the current or next range: page after its last, value.
    range: Option<(u64, T)>,
    inside: bool,
}

impl<T: Copy, I: Iterator<Item = (u64, u64, T)>> Sweep<I, T> {
    /// From ranges of bytes. A page belongs to the range that contains its first byte.
    fn new(ranges: impl IntoIterator<IntoIter = I>) -> Sweep<I, T> {
        let mut sweep = Sweep { rest: ranges.into_iter(), bound: u64::MAX, range: None, inside: false };
        sweep.step();
        sweep
    }

    fn step(&mut self) {
        let next = self.rest.next();
        self.bound = next.as_ref().map_or(u64::MAX, |range| range.0.div_ceil(PAGE_BYTES));
        self.range = next.map(|(_, end, value)| (end.div_ceil(PAGE_BYTES), value));
        self.inside = false;
    }

    /// Advances over all bounds up to `page` and returns the value there.
    #[inline(always)]
    fn pass(&mut self, page: u64) -> Option<T> {
        while self.bound <= page {
            match &self.range {
                Some((end, _)) if !self.inside => (self.bound, self.inside) = (*end, true),
                _ => self.step(),
            }
        }
        self.range.filter(|_| self.inside).map(|range| range.1)
    }
}

impl FlatRanges {
    /// Computes the flat ranges of an address space.
    pub fn new(space: &AddressSpace) -> FlatRanges {
        let file_keys = space.views.iter().map(|(.., view)| view.file_key).collect();
        let views = (0u32..).zip(space.views.iter());
        let mut views = Sweep::new(views.map(|(at, (base, end, view))| (base, end, (Layer::of_view(view.kind), at))));
        let mut heaps = Sweep::new(space.heaps.iter().map(|(base, end, _)| (base, end, ())));
        let mut regions = Sweep::new(space.regions.iter().map(|(base, end, _)| (base, end, ())));
        let mut traced_heaps = Sweep::new(space.traced_heaps.iter().map(|(base, end, _)| (base, end, ())));
        let mut traced_regions = Sweep::new(space.traced_regions.iter().map(|(base, end, _)| (base, end, ())));
        let mut stacks = Sweep::new(merged(space.stacks.values().map(|stack| space.stack_range(stack))));
        let mut commits = Sweep::new(merged(space.stacks.values().map(|stack| (stack.limit, stack.base))));

        // Each range has two bounds; most of the others lie inside of these.
        let most = 2 * (space.views.len() + space.regions.len() + space.stacks.len()) + 2;
        let mut ranges = FlatRanges { list: Vec::with_capacity(most), file_keys };
        loop {
            let bound = views.bound.min(heaps.bound).min(regions.bound).min(stacks.bound);
            let page = bound.min(traced_heaps.bound).min(traced_regions.bound).min(commits.bound);
            if page == u64::MAX {
                return ranges;
            }
            let view = views.pass(page);
            let first = |heap: Option<()>, stack: Option<()>, region: Option<()>| {
                let view = || view.map(|(layer, _)| layer);
                Layer::uppermost(|| heap.is_some(), || stack.is_some(), view, || region.is_some())
            };
            let ours = first(heaps.pass(page), stacks.pass(page), regions.pass(page));
            let layers = [ours, first(traced_heaps.pass(page), commits.pass(page), traced_regions.pass(page))];
            let view = view.map_or(FlatRange::NO_VIEW, |(_, view)| view);
            if ranges.list.last().is_none_or(|last| (last.layers, last.view) != (layers, view)) {
                ranges.list.push(FlatRange { page, layers, view });
            }
        }
    }
}

/// Turns ranges in any order, which may overlap, into sorted, disjoint ones.
fn merged(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64, ())> {
    let mut list: Vec<_> = ranges.filter(|(base, end)| base < end).map(|(base, end)| (base, end, ())).collect();
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
