//! The ranges of a process that hold an address: heap, stack, view, region, each with the events that it is known from.

use crate::analysis::resident::explain::address_history;
use crate::analysis::resident::explain::cited_event::{self, CitedEvent};
use crate::analysis::resident::explain::fact::{Fact, fact};
use crate::etl::EtlFile;
use crate::etl::record_id::HookId;
use crate::event::Phase;
use crate::event::file_name_and_view::{MapView, ViewKind};
use crate::event::hooks::HEAP_RANGE_RUNDOWN;
use crate::event::thread::Thread;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_index::AddressOwner;
use crate::model::address_space::{AddressSpace, Layer, Source};
use crate::moment::{At, Moment};

/// An address space at a snapshot, and an address in it.
pub(super) struct RangesAt<'a> {
    pub(super) etl: &'a EtlFile,
    pub(super) space: &'a AddressSpace,
    /// All events of the process.
    pub(super) own: &'a [At<SpaceEvent>],
    /// The first byte of a page.
    pub(super) at: u64,
    /// What the address belongs to.
    pub(super) owner: AddressOwner,
    pub(super) snapshot: Moment,
}

impl RangesAt<'_> {
    /// All ranges, uppermost first.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let heaps = self.heap().into_iter().chain(self.traced_heap());
        let views = self.view().into_iter().chain(self.region()).chain(self.traced_region());
        heaps.chain(self.stacks()).chain(views).collect()
    }

    fn heap(&self) -> Option<Fact> {
        let (base, end, span) = self.space.heaps.get(self.at)?;
        let is =
            |event: &SpaceEvent| address_history::heap_range(event).is_some_and(|(b, e)| (b..e).contains(&self.at));
        let events = vec![self.cited(span.source, is, |_| HEAP_RANGE_RUNDOWN)];
        let text = format!("of heap 0x{:x}", span.heap);
        let corrected = self.owner.corrected() == Layer::Heap;
        Some(Fact { corrected, ..fact("heap_range", "Heap range", text, Some((base, end)), events) })
    }

    fn traced_heap(&self) -> Option<Fact> {
        let (base, end, heap) = self.space.traced_heaps.get(self.at)?;
        let events = self.made(|event| address_history::makes_heap_range(event, self.at));
        let text = format!("range of heap 0x{heap:x} made during the trace, so WPA knows it");
        let wpa = self.owner.wpa() == Layer::Heap;
        Some(Fact { wpa, ..fact("traced_heap_range", "In the trace", text, Some((base, end)), events) })
    }

    fn stacks(&self) -> impl Iterator<Item = Fact> {
        self.space.stacks.iter().filter_map(|(thread_id, stack)| {
            let range = self.space.stack_range(stack);
            let is_initial = (stack.limit..stack.base).contains(&self.at);
            if !(range.0..range.1).contains(&self.at) && !is_initial {
                return None;
            }
            let is = |event: &SpaceEvent| matches!(event, SpaceEvent::Thread { thread_id: id, .. } if id == thread_id);
            let top = stack.base.saturating_sub(1);
            let region = self.space.regions.get(top).map(|(.., region)| self.region_event(*region, top));
            let events = std::iter::once(self.cited(stack.source, is, Thread::hook)).chain(region).collect();
            let part = if is_initial { "in" } else { "below" };
            let (low, high) = (stack.limit, stack.base);
            let text = format!("stack of thread {thread_id}; {part} the initial commit 0x{low:x}–0x{high:x}");
            Some(self.decided(Layer::Stack, fact("stack", "Stack", text, Some(range), events)))
        })
    }

    fn view(&self) -> Option<Fact> {
        let (base, end, view) = self.space.views.get(self.at)?;
        let is = |event: &SpaceEvent| matches!(event, SpaceEvent::View { base: b, .. } if *b == base);
        let events = vec![self.cited(view.source, is, MapView::hook)];
        let text = match view.kind {
            ViewKind::DataFile => "view of a data file",
            ViewKind::Image => "view of an image",
            ViewKind::ImageOtherProtection => "view of an image with another protection",
            ViewKind::PagefileBacked => "view of a pagefile-backed section",
        };
        let view_fact = fact("view", "View", text.into(), Some((base, end)), events);
        Some(self.decided(Layer::of_view(view.kind), view_fact))
    }

    fn region(&self) -> Option<Fact> {
        let (base, end, region) = self.space.regions.get(self.at)?;
        let events = vec![self.region_event(*region, self.at)];
        let corrected = self.owner.corrected() == Layer::Region;
        Some(Fact { corrected, ..fact("region", "Region", "VirtualAlloc".into(), Some((base, end)), events) })
    }

    fn traced_region(&self) -> Option<Fact> {
        let (base, end, ()) = self.space.traced_regions.get(self.at)?;
        let events = self.made(|event| address_history::makes_region(event, self.at));
        let text = "allocated during the trace, so WPA knows it".into();
        let wpa = self.owner.wpa() == Layer::Region;
        Some(Fact { wpa, ..fact("traced_region", "In the trace", text, Some((base, end)), events) })
    }

    fn decided(&self, layer: Layer, fact: Fact) -> Fact {
        Fact { corrected: self.owner.corrected() == layer, wpa: self.owner.wpa() == layer, ..fact }
    }

    /// The event that a range is known from; if it was not kept, a text about its phase.
    fn cited(&self, source: Source, is: impl Fn(&SpaceEvent) -> bool, of_phase: fn(Phase) -> HookId) -> CitedEvent {
        let found = self.own.iter().find(|event| event.moment == source.moment && is(&event.value));
        let hook = found.map_or_else(|| of_phase(source.phase), |event| cited_event::hook(&event.value));
        CitedEvent::new(self.etl, hook, source.moment.time)
    }

    fn region_event(&self, region: Source, at: u64) -> CitedEvent {
        let holds = |base: u64, size: u64| (base..base.saturating_add(size)).contains(&at);
        let is = |event: &SpaceEvent| matches!(*event, SpaceEvent::Region { base, size, .. } if holds(base, size));
        self.cited(region, is, VirtualRange::hook)
    }

    /// The last event before the snapshot that made such a range.
    fn made(&self, is: impl Fn(&SpaceEvent) -> bool) -> Vec<CitedEvent> {
        let made = self.own.iter().rfind(|event| is(&event.value) && event.moment < self.snapshot);
        made.map(|e| CitedEvent::new(self.etl, cited_event::hook(&e.value), e.moment.time)).into_iter().collect()
    }
}
