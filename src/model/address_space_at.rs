//! The address space of a process instance at a given time: start rundown, then events, then the end rundown.
//!
//! An end rundown before the wanted time replaces the state by the events up to it; a difference between both is counted as
//! a contradiction, because it shows that events were lost. A start rundown that is not the first of its kind also replaces
//! the state, because nothing is known of the time when its keyword was off. If no rundown is before the wanted time, the
//! state is taken from the next end rundown (or, without one, from the end events of the objects), and the events in between
//! are undone in reverse order.

use crate::event::Phase;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_space::{AddressSpace, MappedView, Source};
use crate::model::process::Instance;
use crate::model::range_map::RangeMap;
use crate::model::rundown::{Episode, RundownKind, Rundowns};
pub use crate::model::rundown_merge::Contradiction;
use crate::model::rundown_merge::ProcessRundown;
use crate::model::undo_events::undo;
use crate::moment::{At, Moment};
use std::ops::Range;

/// An address space, and contradictions found while it was reconstructed.
#[derive(Debug, Clone, Default)]
pub struct SpaceAt {
    /// The state.
    pub space: AddressSpace,
    /// Ranges and threads on which events and end rundown disagree.
    pub contradictions: Vec<Contradiction>,
}

/// The address space of `instance` just before `moment`, from the events of its process id in order.
pub fn space_at(events: &[At<SpaceEvent>], instance: &Instance, moment: Moment, rundowns: &Rundowns) -> SpaceAt {
    let own = lifetime(events, instance);
    let (past, future) = own.split_at(own.partition_point(|event| event.moment < moment));

    let mut state = SpaceAt::default();
    let latest = RundownKind::ALL.map(|kind| rundowns.last_before(kind, moment.time));
    for (kind, latest) in RundownKind::ALL.into_iter().zip(latest) {
        if !instance.start_logged && latest.is_none() {
            let end = rundowns.first_end_after(kind, moment.time);
            undo_back_from(end, kind, past, future, rundowns, &mut state.space);
        }
    }
    // The first start rundown is added to the state by the events; all other rundowns replace it.
    let counts = |episode: &Episode| {
        (episode.at_end || !episode.is_first) && instance.begin_time().is_none_or(|start| start < episode.begin)
    };
    let rundowns_due = ProcessRundown::all(latest.map(|episode| episode.filter(counts)), past, rundowns);
    let mut due: Vec<&ProcessRundown<'_>> = rundowns_due.iter().flatten().collect();
    due.sort_by_key(|rundown| rundown.from);
    let mut pending = Pending::default();
    let mut next = 0;
    for rundown in due {
        let until = rundown.from;
        replay(past, next..until, &rundowns_due, rundowns, &mut pending, &mut state.space);
        next = next.max(until);
        state.contradictions.extend(rundown.replace(&mut state.space));
    }
    replay(past, next..past.len(), &rundowns_due, rundowns, &mut pending, &mut state.space);
    state
}

/// The events of a process id that belong to one instance.
pub fn lifetime<'e>(events: &'e [At<SpaceEvent>], instance: &Instance) -> &'e [At<SpaceEvent>] {
    let up_to = |moment: Moment| events.partition_point(|event| event.moment < moment);
    events.get(up_to(instance.from)..up_to(instance.until)).unwrap_or_default()
}

/// Applies events. Rundown records are applied only if no rundown of their kind is merged.
fn replay(
    events: &[At<SpaceEvent>],
    range: Range<usize>,
    due: &[Option<ProcessRundown<'_>>; 4],
    rundowns: &Rundowns,
    pending: &mut Pending,
    space: &mut AddressSpace,
) {
    let range_end = range.end;
    for (index, event) in range.clone().zip(events.get(range).unwrap_or_default()) {
        let merged = due.get(RundownKind::of(&event.value) as usize).and_then(Option::as_ref);
        if merged.is_some_and(|rundown| index >= rundown.from) && rundowns.rundown_phase(event).is_some() {
            continue; // part of a rundown that is merged
        }
        let left = range_end.saturating_sub(index);
        if !pending.take(event, left) {
            pending.apply(space);
            space.apply(event.moment, &event.value);
        }
    }
    pending.apply(space);
}

/// Consecutive rundown records, collected so that their ranges are built at once.
#[derive(Default)]
struct Pending {
    regions: Vec<(u64, u64, Source)>,
    views: Vec<(u64, u64, MappedView)>,
}

impl Pending {
    /// Most entries for which a list has room at once.
    const ROOM: usize = 1024;

    /// Collects the start rundown records of regions and views, of which there are many; `left` is how many events may
    /// follow.
    fn take(&mut self, event: &At<SpaceEvent>, left: usize) -> bool {
        fn push<T>(list: &mut Vec<T>, left: usize, entry: T) {
            if list.capacity() == 0 {
                list.reserve(left.min(Pending::ROOM));
            }
            list.push(entry);
        }
        let source = Source { phase: Phase::DcStart, moment: event.moment };
        match event.value {
            SpaceEvent::Region { phase: Phase::DcStart, base, size, .. } => {
                push(&mut self.regions, left, (base, size, source));
            }
            SpaceEvent::View { phase: Phase::DcStart, base, size, file_key, kind } => {
                push(&mut self.views, left, (base, size, MappedView { kind, file_key, source }));
            }
            _ => return false,
        }
        true
    }

    /// Adds the collected records to the space.
    fn apply(&mut self, space: &mut AddressSpace) {
        fn put<T: Clone>(list: &mut Vec<(u64, u64, T)>, map: &mut RangeMap<T>) {
            let list = std::mem::take(list);
            if map.is_empty() {
                *map = RangeMap::from_list(list);
            } else {
                list.into_iter().for_each(|(base, size, value)| map.insert(base, size, value));
            }
        }
        if !self.regions.is_empty() {
            put(&mut self.regions, &mut space.regions);
        }
        if !self.views.is_empty() {
            put(&mut self.views, &mut space.views);
        }
    }
}

/// The state between `past` and `future`, by undoing events in reverse order from a later end rundown or, if there is none,
/// from the last event of the process.
fn undo_back_from(
    end: Option<Episode>,
    kind: RundownKind,
    past: &[At<SpaceEvent>],
    future: &[At<SpaceEvent>],
    rundowns: &Rundowns,
    space: &mut AddressSpace,
) {
    let mut scratch = AddressSpace::default();
    let mut until = future.len();
    if let Some(episode) = end {
        let mut episodes = [None; 4];
        if let Some(slot) = episodes.get_mut(kind as usize) {
            *slot = Some(episode);
        }
        for known in ProcessRundown::all(episodes, future, rundowns).iter().flatten() {
            // The listed objects existed when the last record was logged. A process that is not listed may have ended
            // before the rundown came to it.
            if let Some(last) = known.last() {
                until = future.partition_point(|event| event.moment <= last);
                known.replace(&mut scratch);
            }
        }
    }
    let is_kind =
        |event: &&At<SpaceEvent>| RundownKind::of(&event.value) == kind && rundowns.rundown_phase(event).is_none();
    let future = future.get(..until).unwrap_or_default().iter().rev().filter(is_kind);
    future.for_each(|event| undo(event, &mut scratch));
    // Objects that past events create are added again when these events are applied.
    past.iter()
        .rev()
        .filter(is_kind)
        .filter(|event| is_start(&event.value))
        .for_each(|event| undo(event, &mut scratch));
    match kind {
        RundownKind::Region => space.regions = scratch.regions,
        RundownKind::View => space.views = scratch.views,
        RundownKind::Heap => space.set_heaps(scratch.heaps),
        RundownKind::Thread => space.stacks = scratch.stacks,
    }
}

fn is_start(event: &SpaceEvent) -> bool {
    match event {
        SpaceEvent::Region { phase, .. } | SpaceEvent::View { phase, .. } | SpaceEvent::Thread { phase, .. } => {
            *phase == Phase::Start
        }
        SpaceEvent::HeapCreate { .. } | SpaceEvent::HeapReserve { .. } => true,
        _ => false,
    }
}
