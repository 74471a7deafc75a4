//! What happened at one address of a process: every event that touches it, whether it still counts or not.

use crate::analysis::resident::explain::cited_event::{CitedEvent, hook};
use crate::etl::EtlFile;
use crate::event::Phase;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_space::AddressSpace;
use crate::moment::{At, Moment};

/// An event that touches an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressEvent {
    /// The event.
    pub event: CitedEvent,
    /// First address, and the first address after the range.
    pub range: Option<(u64, u64)>,
    /// More about it.
    pub text: String,
    /// True for a record of a rundown: a state, no change.
    pub rundown: bool,
    /// True when it was logged after the snapshot.
    pub after: bool,
}

/// Most events before and after the snapshot together.
pub(super) const MOST_ADDRESS_EVENTS: usize = 10;

/// All events at an address, and how many more there are: the last before the snapshot and the first after it.
pub(super) fn at_address(
    etl: &EtlFile,
    own: &[At<SpaceEvent>],
    space: &AddressSpace,
    at: u64,
    snapshot: Moment,
) -> (Vec<AddressEvent>, usize) {
    let (mut bases, mut heaps) = (Vec::new(), Vec::new());
    let mut all: Vec<AddressEvent> = Vec::new();
    for known in own {
        let range = range_of(&known.value, space);
        let inside = range.is_some_and(|(base, end)| (base..end).contains(&at));
        let touches = inside
            || match known.value {
                SpaceEvent::Region { phase: Phase::End, base, size: 0, .. } => bases.contains(&base),
                SpaceEvent::HeapDestroy { heap } => heaps.contains(&heap),
                _ => false,
            };
        if !touches {
            continue;
        }
        match known.value {
            SpaceEvent::Region { base, .. } => bases.push(base),
            SpaceEvent::HeapCreate { heap, .. }
            | SpaceEvent::HeapReserve { heap, .. }
            | SpaceEvent::HeapRundown { heap, .. } => heaps.push(heap),
            _ => {}
        }
        let after = known.moment >= snapshot;
        let event = CitedEvent::new(etl, hook(&known.value), known.moment.time);
        let rundown = is_rundown(&known.value);
        all.push(AddressEvent { event, range: range.filter(|_| inside), text: text(&known.value), rundown, after });
    }
    let total = all.len();
    let after = all.iter().filter(|seen| seen.after).count();
    let kept_after = after.min(MOST_ADDRESS_EVENTS / 3);
    all.truncate(total - after + kept_after);
    all.drain(..all.len().saturating_sub(MOST_ADDRESS_EVENTS));
    let left_out = total - all.len();
    (all, left_out)
}

fn range_of(event: &SpaceEvent, space: &AddressSpace) -> Option<(u64, u64)> {
    match *event {
        SpaceEvent::Region { base, size, .. } | SpaceEvent::View { base, size, .. } => {
            Some((base, base.saturating_add(size)))
        }
        SpaceEvent::Thread { thread_id, stack_base, stack_limit, .. } => {
            let now = space.stacks.get(&thread_id).filter(|stack| stack.base == stack_base);
            Some(now.map_or((stack_limit, stack_base), |stack| space.stack_range(stack)))
        }
        SpaceEvent::HeapRelease { base, size, .. } => Some((base, base.saturating_add(size))),
        _ => heap_range(event),
    }
}

/// The range that a heap event names.
pub(super) fn heap_range(event: &SpaceEvent) -> Option<(u64, u64)> {
    match *event {
        SpaceEvent::HeapCreate { heap, size } => Some((heap, heap.saturating_add(size))),
        SpaceEvent::HeapReserve { base, size, .. } | SpaceEvent::HeapRundown { base, size, .. } => {
            Some((base, base.saturating_add(size)))
        }
        _ => None,
    }
}

fn is_rundown(event: &SpaceEvent) -> bool {
    match *event {
        SpaceEvent::Region { phase, .. } | SpaceEvent::View { phase, .. } | SpaceEvent::Thread { phase, .. } => {
            matches!(phase, Phase::DcStart | Phase::DcEnd)
        }
        SpaceEvent::HeapRundown { .. } => true,
        _ => false,
    }
}

/// True for an actual event that makes a heap range with the address.
pub(super) fn makes_heap_range(event: &SpaceEvent, at: u64) -> bool {
    matches!(event, SpaceEvent::HeapCreate { .. } | SpaceEvent::HeapReserve { .. })
        && heap_range(event).is_some_and(|(base, end)| (base..end).contains(&at))
}

/// True for an actual allocation with the address.
pub(super) fn makes_region(event: &SpaceEvent, at: u64) -> bool {
    matches!(*event, SpaceEvent::Region { phase: Phase::Start, base, size, .. }
        if (base..base.saturating_add(size)).contains(&at))
}

fn text(event: &SpaceEvent) -> String {
    match *event {
        SpaceEvent::Region { phase: Phase::Start | Phase::End, flags, .. } => {
            let names = [
                (VirtualRange::RESERVE, "reserve"),
                (VirtualRange::COMMIT, "commit"),
                (VirtualRange::DECOMMIT, "decommit"),
                (VirtualRange::RELEASE, "release"),
                (VirtualRange::RESET, "reset"),
                (VirtualRange::RESET_UNDO, "undo reset"),
            ];
            let set = names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name);
            set.collect::<Vec<_>>().join(" + ")
        }
        SpaceEvent::Region { .. } => String::new(),
        SpaceEvent::View { file_key, .. } => format!("key 0x{file_key:x}"),
        SpaceEvent::HeapCreate { heap, .. }
        | SpaceEvent::HeapReserve { heap, .. }
        | SpaceEvent::HeapRelease { heap, .. }
        | SpaceEvent::HeapDestroy { heap }
        | SpaceEvent::HeapRundown { heap, .. } => format!("heap 0x{heap:x}"),
        SpaceEvent::Thread { thread_id, .. } => format!("thread {thread_id}"),
    }
}
