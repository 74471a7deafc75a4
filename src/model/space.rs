//! One process's address space at one moment: heaps, stacks, views, regions.
//!
//! Two states are kept side by side: the true one, and the one that Windows Performance Analyzer sees, which knows heap
//! ranges and regions only from events *during* the trace, not from rundowns.

use crate::event::Phase;
use crate::event::file::ViewKind;
use crate::event::virtual_memory::VirtualRange;
use crate::load::facts::SpaceEvent;
use crate::model::ranges::RangeMap;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Where the knowledge of a range comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Start = an event of the trace; DcStart, DcEnd = a rundown.
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
pub struct View {
    /// What is mapped.
    pub kind: ViewKind,
    /// File key; 0 or a section's address for pagefile-backed views.
    pub file_key: u64,
    /// Origin.
    pub source: Source,
}

/// A thread's user stack: `[limit, base)` was committed at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// High end.
    pub base: u64,
    /// Low end of the initial commit.
    pub limit: u64,
    /// Origin.
    pub source: Source,
}

/// What an address belongs to, the first that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Layer {
    /// Nothing that is known.
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

    /// True for the layers of views that have a file behind them.
    #[inline(always)]
    pub const fn is_file_view(self) -> bool {
        matches!(self, Layer::ImageView | Layer::FileView)
    }

    /// The uppermost layer of a place. This is the one place that knows the order; it asks for what lies below only where
    /// nothing lies above.
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
    /// Reservations.
    pub regions: RangeMap<Source>,
    /// Views.
    pub views: RangeMap<View>,
    /// Heap ranges; [`AddressSpace::set_heaps`] changes them all.
    pub heaps: RangeMap<HeapSpan>,
    /// User stacks by thread id.
    pub stacks: BTreeMap<u32, Stack>,
    /// Allocations during the trace, less frees: WPA's regions.
    pub traced_regions: RangeMap<()>,
    /// Heap ranges created during the trace, less releases: WPA's heaps. Value: heap handle.
    pub traced_heaps: RangeMap<u64>,
    /// Where heaps made ranges during the trace, also those that are gone: not all of that memory has an event of its own.
    pub(super) heap_memory: RangeMap<()>,
    /// Where ranges of each heap may lie; made when the first heap is destroyed.
    heap_places: Option<FastMap<u64, Vec<(u64, u64)>>>,
    /// End of the first range that a heap's creation announced and no reserve has told yet, by heap.
    announced: FastMap<u64, u64>,
}

impl AddressSpace {
    /// Applies one event.
    pub fn apply(&mut self, moment: Moment, event: &SpaceEvent) {
        match *event {
            SpaceEvent::Region { phase, base, size, flags } => self.region(phase, base, size, flags, moment),
            SpaceEvent::View { phase, base, size, file_key, kind } => {
                let view = View { kind, file_key, source: Source { phase, moment } };
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
                let stack = Stack { base: stack_base, limit: stack_limit, source: Source { phase, moment } };
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
                    return; // MEM_RESET and its undo allocate nothing
                }
                // A commit inside an earlier reservation is a second record of the same region.
                if reserve || !self.regions.covers(base, end) {
                    self.regions.insert(base, size, Source { phase, moment });
                }
                if reserve {
                    // New memory at an address proves that what was there is gone, also when its end was lost.
                    self.views.remove(base, end);
                    self.remove_heap_range(base, end);
                }
                self.traced_regions.insert(base, size, ());
            }
            Phase::DcStart | Phase::DcEnd => self.regions.insert(base, size, Source { phase, moment }),
            Phase::End if flags & VirtualRange::RELEASE == 0 && flags & VirtualRange::DECOMMIT != 0 => {} // still reserved
            Phase::End => {
                // The size of a release is 0 for "the whole reservation at base".
                let whole = |regions: &mut RangeMap<Source>| regions.take(base).map(|(from, to, _)| (from, to));
                let traced = |regions: &RangeMap<()>| regions.get(base).map(|(from, to, ())| (from, to));
                let (from, to) = match size {
                    0 => whole(&mut self.regions).or_else(|| traced(&self.traced_regions)).unwrap_or((base, base)),
                    _ => (base, end),
                };
                self.regions.remove(from, to);
                self.traced_regions.remove(from, to);
                self.remove_heap_range(from, to);
            }
        }
    }

    fn view(&mut self, phase: Phase, base: u64, size: u64, view: View) {
        let end = base.saturating_add(size);
        match phase {
            // A view goes as a whole, whatever the record says of its size.
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
    /// Puts these heap ranges in the place of all.
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

    /// A heap was created. Its first range lies at its handle unless a reserve says otherwise; what other heaps have
    /// stays theirs.
    fn announce_heap(&mut self, heap: u64, size: u64, moment: Moment) {
        let end = heap.saturating_add(size);
        self.announced.insert(heap, end);
        for (base, end) in self.heaps.gaps(heap, end) {
            self.heap_range(heap, base, end - base, Phase::Start, moment);
        }
    }

    fn reserve_heap(&mut self, heap: u64, base: u64, size: u64, moment: Moment) {
        // The first range, at last: as large as it is, not as it was announced.
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

    /// Adds a range of a heap that is not made before our eyes.
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
    pub fn stack_range(&self, stack: &Stack) -> (u64, u64) {
        match self.regions.get(stack.base.saturating_sub(1)) {
            Some((region, ..)) => (region, stack.base),
            None => (stack.limit, stack.base),
        }
    }
}

#[cfg(test)]
impl AddressSpace {
    /// What the address belongs to, by the corrected rules. The slow, obvious answer, to compare others with.
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

    /// What WPA takes it for: traced heaps, the initial commit of stacks, views, traced regions.
    pub fn layer_wpa(&self, address: u64) -> Layer {
        Layer::uppermost(
            || self.traced_heaps.get(address).is_some(),
            || self.stacks.values().any(|stack| (stack.limit..stack.base).contains(&address)),
            || self.views.get(address).map(|(_, _, view)| Layer::of_view(view.kind)),
            || self.traced_regions.get(address).is_some(),
        )
    }
}
