//! One process's address space at one moment: heaps, stacks, views, regions.
//!
//! Two states are kept: the true one, and the one that Windows Performance Analyzer (WPA) uses, which takes heap ranges and
//! regions only from events *during* the trace, not from rundowns.

use crate::event::Phase;
use crate::event::file_name_and_view::ViewKind;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::range_map::RangeMap;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Which event a range is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Start: an event during the trace; DcStart or DcEnd: a rundown.
    pub phase: Phase,
    /// When it was logged.
    pub moment: Moment,
}

/// A range of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSpan {
    /// Heap handle.
    pub heap: u64,
    /// Origin.
    pub source: Source,
}

/// A mapped view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedView {
    /// What is mapped.
    pub kind: ViewKind,
    /// File key; 0 or a section's address for pagefile-backed views.
    pub file_key: u64,
    /// Origin.
    pub source: Source,
}

/// A thread's user stack: `[limit, base)` was committed at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadStack {
    /// High end.
    pub base: u64,
    /// Low end of the initial commit.
    pub limit: u64,
    /// Origin.
    pub source: Source,
}

/// What an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Layer {
    /// Nothing known.
    None,
    /// A heap range.
    Heap,
    /// A thread's user stack.
    Stack,
    /// An image view.
    ImageView,
    /// A view of a data file.
    FileView,
    /// A pagefile-backed view.
    PagefileView,
    /// A VirtualAlloc region.
    Region,
}

impl Layer {
    /// All layers, by number.
    pub const ALL: [Layer; 7] = {
        use Layer::*;
        [None, Heap, Stack, ImageView, FileView, PagefileView, Region]
    };

    /// True for views of files.
    #[inline(always)]
    pub const fn is_file_view(self) -> bool {
        matches!(self, Layer::ImageView | Layer::FileView)
    }

    /// The layer of an address: the first that contains it, in the order heap, stack, view, region. Only this function
    /// defines the order. Lower layers are looked up only if no higher one contains the address.
    #[inline(always)]
    pub fn uppermost(
        heap: impl FnOnce() -> bool,
        stack: impl FnOnce() -> bool,
        view: impl FnOnce() -> Option<Layer>,
        region: impl FnOnce() -> bool,
    ) -> Layer {
        if heap() {
            return Layer::Heap;
        }
        if stack() {
            return Layer::Stack;
        }
        match view() {
            Some(view) => view,
            None if region() => Layer::Region,
            None => Layer::None,
        }
    }

    /// The layer of a view.
    pub const fn of_view(kind: ViewKind) -> Layer {
        match kind {
            ViewKind::DataFile => Layer::FileView,
            ViewKind::Image | ViewKind::ImageOtherProtection => Layer::ImageView,
            ViewKind::PagefileBacked => Layer::PagefileView,
        }
    }
}

/// An address space.
#[derive(Debug, Clone, Default)]
pub struct AddressSpace {
    /// Reserved regions.
    pub regions: RangeMap<Source>,
    /// Views.
    pub views: RangeMap<MappedView>,
    /// Heap ranges; [`AddressSpace::set_heaps`] changes them all.
    pub heaps: RangeMap<HeapSpan>,
    /// User stacks by thread id.
    pub stacks: BTreeMap<u32, ThreadStack>,
    /// WPA's regions: allocations during the trace without those that were freed.
    pub traced_regions: RangeMap<()>,
    /// WPA's heaps: heap ranges reserved during the trace without those that were released. Value: heap handle.
    pub traced_heaps: RangeMap<u64>,
    /// Heap ranges reserved during the trace, also released ones. Not all of their memory has region events of its own.
    pub(super) heap_memory: RangeMap<()>,
    /// For each heap, where its ranges may lie; built when the first heap is destroyed.
    heap_places: Option<FastMap<u64, Vec<(u64, u64)>>>,
    /// By heap, the end of the first range that the heap's creation announced, until a reserve event gives the real size.
    announced: FastMap<u64, u64>,
}

impl AddressSpace {
    /// Applies one event.
    pub fn apply(&mut self, moment: Moment, event: &SpaceEvent) {
        match *event {
            SpaceEvent::Region { phase, base, size, flags } => self.region(phase, base, size, flags, moment),
            SpaceEvent::View { phase, base, size, file_key, kind } => {
                let view = MappedView { kind, file_key, source: Source { phase, moment } };
                self.view(phase, base, size, view);
            }
            SpaceEvent::HeapCreate { heap, size } => self.announce_heap(heap, size, moment),
            SpaceEvent::HeapReserve { heap, base, size } => self.reserve_heap(heap, base, size, moment),
            SpaceEvent::HeapRundown { heap, base, size } => self.heap_range(heap, base, size, Phase::DcStart, moment),
            SpaceEvent::HeapRelease { base, size, .. } => self.remove_heap_range(base, base.saturating_add(size)),
            SpaceEvent::HeapDestroy { heap } => self.remove_heap(heap),
            SpaceEvent::Thread { phase: Phase::End, thread_id, .. } => {
                self.stacks.remove(&thread_id);
            }
            SpaceEvent::Thread { phase, thread_id, stack_base, stack_limit } => {
                let stack = ThreadStack { base: stack_base, limit: stack_limit, source: Source { phase, moment } };
                self.stacks.insert(thread_id, stack);
            }
        }
    }

    fn region(&mut self, phase: Phase, base: u64, size: u64, flags: u32, moment: Moment) {
        let end = base.saturating_add(size);
        match phase {
            Phase::Start => {
                let reserve = flags & VirtualRange::RESERVE != 0;
                let commit = flags & VirtualRange::COMMIT != 0;
                if !reserve && !commit {
                    return; // MEM_RESET and MEM_RESET_UNDO allocate nothing
                }
                // A commit inside an earlier reservation is a second record of the same region.
                if reserve || !self.regions.covers(base, end) {
                    self.regions.insert(base, size, Source { phase, moment });
                }
                if reserve {
                    // A new region proves that older ranges at its addresses have been freed, also when that event was lost.
                    self.views.remove(base, end);
                    self.remove_heap_range(base, end);
                }
                self.traced_regions.insert(base, size, ());
            }
            Phase::DcStart | Phase::DcEnd => self.regions.insert(base, size, Source { phase, moment }),
            Phase::End if flags & VirtualRange::RELEASE == 0 && flags & VirtualRange::DECOMMIT != 0 => {} // still reserved
            Phase::End => {
                let (from, to) = self.freed(base, size);
                self.regions.remove(from, to);
                self.traced_regions.remove(from, to);
                self.remove_heap_range(from, to);
            }
        }
    }

    /// What a free of this size frees: 0 stands for "the whole reservation at base".
    pub fn freed(&self, base: u64, size: u64) -> (u64, u64) {
        let whole = || self.regions.get(base).map(|(from, to, _)| (from, to));
        let traced = || self.traced_regions.get(base).map(|(from, to, ())| (from, to));
        match size {
            0 => whole().or_else(traced).unwrap_or((base, base)),
            _ => (base, base.saturating_add(size)),
        }
    }

    fn view(&mut self, phase: Phase, base: u64, size: u64, view: MappedView) {
        let end = base.saturating_add(size);
        match phase {
            // Unmapping removes the whole view. The record's size does not matter.
            Phase::End => match self.views.get(base).filter(|&(start, ..)| start == base || size == 0) {
                Some((start, end, _)) => {
                    self.views.take(base);
                    self.remove_heap_range(start, end);
                }
                None => self.views.remove(base, end),
            },
            Phase::Start => {
                self.regions.remove(base, end);
                self.traced_regions.remove(base, end);
                self.remove_heap_range(base, end);
                self.views.insert(base, size, view);
            }
            Phase::DcStart | Phase::DcEnd => self.views.insert(base, size, view),
        }
    }
}

/// Heaps.
impl AddressSpace {
    /// Replaces all heap ranges.
    pub fn set_heaps(&mut self, heaps: RangeMap<HeapSpan>) {
        self.heaps = heaps;
        self.heap_places = None;
    }

    /// Removes a heap with all its ranges.
    pub fn remove_heap(&mut self, heap: u64) {
        let places = self.heap_places.get_or_insert_with(|| {
            let mut places: FastMap<u64, Vec<(u64, u64)>> = FastMap::default();
            let known = self.heaps.iter().map(|(base, end, span)| (span.heap, base, end));
            let traced = self.traced_heaps.iter().map(|(base, end, &heap)| (heap, base, end));
            known.chain(traced).for_each(|(heap, base, end)| places.entry(heap).or_default().push((base, end)));
            places
        });
        let own = RangeMap::from_list(
            places
                .remove(&heap)
                .unwrap_or_default()
                .into_iter()
                .map(|(base, end)| (base, end.saturating_sub(base), ()))
                .collect(),
        );
        for (base, end, ()) in own.iter() {
            self.heaps.remove_if(base, end, |span| span.heap == heap);
            self.traced_heaps.remove_if(base, end, |&of| of == heap);
        }
        self.announced.remove(&heap);
    }

    fn remove_heap_range(&mut self, base: u64, end: u64) {
        self.heaps.remove(base, end);
        self.traced_heaps.remove(base, end);
    }

    /// Adds a created heap. Its first range begins at its handle unless a reserve event says otherwise; ranges of other heaps
    /// are not changed.
    fn announce_heap(&mut self, heap: u64, size: u64, moment: Moment) {
        let end = heap.saturating_add(size);
        self.announced.insert(heap, end);
        for (base, end) in self.heaps.gaps(heap, end) {
            self.heap_range(heap, base, end - base, Phase::Start, moment);
        }
    }

    fn reserve_heap(&mut self, heap: u64, base: u64, size: u64, moment: Moment) {
        // The first range of the heap: now its real size is known, not only the announced one.
        if let Some(&end) = self.announced.get(&heap)
            && (base..base.saturating_add(size)).contains(&heap)
        {
            self.announced.remove(&heap);
            self.heaps.remove_if(heap, end, |span| span.heap == heap);
            self.traced_heaps.remove_if(heap, end, |&of| of == heap);
        }
        self.heap_range(heap, base, size, Phase::Start, moment);
    }

    fn heap_range(&mut self, heap: u64, base: u64, size: u64, phase: Phase, moment: Moment) {
        self.add_heap_range(base, size, HeapSpan { heap, source: Source { phase, moment } });
        if phase == Phase::Start {
            self.traced_heaps.insert(base, size, heap);
            self.heap_memory.insert(base, size, ());
        }
    }

    /// Adds a heap range that was not reserved during the trace.
    pub fn add_heap_range(&mut self, base: u64, size: u64, span: HeapSpan) {
        self.heaps.insert(base, size, span);
        if let Some(places) = &mut self.heap_places {
            places.entry(span.heap).or_default().push((base, base.saturating_add(size)));
        }
    }
}

/// Look-ups.
impl AddressSpace {
    /// The stack's reservation: the region that holds its highest byte, up to its base; the initial commit where no
    /// region is known.
    pub fn stack_range(&self, stack: &ThreadStack) -> (u64, u64) {
        match self.regions.get(stack.base.saturating_sub(1)) {
            Some((region, ..)) => (region, stack.base),
            None => (stack.limit, stack.base),
        }
    }
}

#[cfg(test)]
impl AddressSpace {
    /// What the address belongs to, by the corrected rules. Simple and slow; tests compare the fast look-ups with it.
    pub fn layer(&self, address: u64) -> Layer {
        let in_stack = |stack| {
            let (low, high) = self.stack_range(stack);
            (low..high).contains(&address)
        };
        Layer::uppermost(
            || self.heaps.get(address).is_some(),
            || self.stacks.values().any(in_stack),
            || self.views.get(address).map(|(_, _, view)| Layer::of_view(view.kind)),
            || self.regions.get(address).is_some(),
        )
    }

    /// What the address belongs to in WPA: traced heaps, the initial commit of stacks, views, traced regions.
    pub fn layer_wpa(&self, address: u64) -> Layer {
        Layer::uppermost(
            || self.traced_heaps.get(address).is_some(),
            || self.stacks.values().any(|stack| (stack.limit..stack.base).contains(&address)),
            || self.views.get(address).map(|(_, _, view)| Layer::of_view(view.kind)),
            || self.traced_regions.get(address).is_some(),
        )
    }
}
