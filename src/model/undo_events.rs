//! Undoing events: the state before an event, from the state after it.

use crate::event::Phase;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_space::{AddressSpace, HeapSpan, MappedView, Source, ThreadStack};
use crate::moment::At;

/// Undoes one event. The ranges of a destroyed heap cannot be restored, nor the size of a region that was freed as a whole.
pub fn undo(event: &At<SpaceEvent>, space: &mut AddressSpace) {
    let source = Source { phase: Phase::DcEnd, moment: event.moment };
    match event.value {
        SpaceEvent::Region { phase: Phase::Start, base, size, flags } if flags & VirtualRange::RESERVE != 0 => {
            space.regions.remove(base, base.saturating_add(size));
        }
        SpaceEvent::Region { phase: Phase::End, base, size, flags } if flags & VirtualRange::DECOMMIT == 0 => {
            space.regions.insert(base, size, source);
        }
        SpaceEvent::View { phase: Phase::Start, base, size, .. } => {
            space.views.remove(base, base.saturating_add(size));
        }
        SpaceEvent::View { phase: Phase::End, base, size, file_key, kind } => {
            space.views.insert(base, size, MappedView { kind, file_key, source });
        }
        // Before its creation a heap had no ranges.
        SpaceEvent::HeapCreate { heap, .. } => space.remove_heap(heap),
        SpaceEvent::HeapReserve { base, size, .. } => space.heaps.remove(base, base.saturating_add(size)),
        SpaceEvent::HeapRelease { heap, base, size } => {
            space.add_heap_range(base, size, HeapSpan { heap, source });
        }
        SpaceEvent::Thread { phase: Phase::Start, thread_id, .. } => {
            space.stacks.remove(&thread_id);
        }
        SpaceEvent::Thread { phase: Phase::End, thread_id, stack_base, stack_limit } if stack_base != 0 => {
            space.stacks.insert(thread_id, ThreadStack { base: stack_base, limit: stack_limit, source });
        }
        _ => {}
    }
}
