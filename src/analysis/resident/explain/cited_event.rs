//! Events as explanations name them.

use crate::etl::EtlFile;
use crate::etl::record_id::{HookId, RecordId};
use crate::event::event_names;
use crate::event::file_name_and_view::MapView;
use crate::event::hooks::{
    HEAP_RANGE_CREATE, HEAP_RANGE_DESTROY, HEAP_RANGE_RELEASE, HEAP_RANGE_RESERVE, HEAP_RANGE_RUNDOWN,
};
use crate::event::thread::Thread;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::units::{Nanos, Ticks};

/// An event that was joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CitedEvent {
    /// Hook id.
    pub hook: HookId,
    /// Name as `pfnset events` prints it.
    pub name: &'static str,
    /// When, since trace start.
    pub time: Nanos,
}

impl CitedEvent {
    /// A kernel event.
    pub(super) fn new(etl: &EtlFile, hook: HookId, time: Ticks) -> CitedEvent {
        let name = event_names::name(RecordId::Kernel(hook)).map_or("unknown event", |known| known.name);
        CitedEvent { hook, name, time: etl.clock.nanos(time) }
    }
}

/// The hook of an event of an address space.
pub(super) fn hook(event: &SpaceEvent) -> HookId {
    match *event {
        SpaceEvent::Region { phase, .. } => VirtualRange::hook(phase),
        SpaceEvent::View { phase, .. } => MapView::hook(phase),
        SpaceEvent::Thread { phase, .. } => Thread::hook(phase),
        SpaceEvent::HeapRundown { .. } => HEAP_RANGE_RUNDOWN,
        SpaceEvent::HeapCreate { .. } => HEAP_RANGE_CREATE,
        SpaceEvent::HeapReserve { .. } => HEAP_RANGE_RESERVE,
        SpaceEvent::HeapRelease { .. } => HEAP_RANGE_RELEASE,
        SpaceEvent::HeapDestroy { .. } => HEAP_RANGE_DESTROY,
    }
}
