//! The address space of a process instance at a given time: start rundown, then events, then the end rundown.
//!
//! Where an end rundown lies before the wanted time it is the truth of its moment: what the events add up to is
//! replaced by it, and where the two differ a contradiction is counted (events were lost). Where the trace has no start
//! rundown, the state at an earlier time is the end rundown with the events between undone in reverse.

use crate::event::Phase;
use crate::load::history::{At, Moment, SpaceEvent};
use crate::model::process::Instance;
use crate::model::ranges::RangeMap;
use crate::model::rundown::{Episode, Kind, Rundowns};
use crate::model::space::{AddressSpace, HeapSpan, Source, Stack, View};
use crate::units::Ticks;
use std::collections::BTreeMap;

/// An address space and what was odd on the way to it.
#[derive(Debug, Clone, Default)]
pub struct SpaceAt {
    /// The state.
    pub space: AddressSpace,
    /// Ranges and threads on which events and end rundown disagree.
    pub contradictions: Vec<Contradiction>,
}

/// A range (or a thread, by its id) that only the events or only the end rundown know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// Of what kind.
    pub kind: Kind,
    /// First address, or thread id.
    pub base: u64,
    /// True when the events know it and the end rundown does not.
    pub only_events: bool,
}

/// The address space of `instance` just before `moment`, from the events of its process id in order.
pub fn space_at(events: &[At<SpaceEvent>], instance: &Instance, moment: Moment, rundowns: &Rundowns) -> SpaceAt {
    let from = events.partition_point(|e| e.moment.time <= instance.since && instance.since != Ticks(i64::MIN));
    let until = instance.end.map_or(events.len(), |end| events.partition_point(|e| e.moment.time <= end));
    let own = events.get(from..until).unwrap_or_default();
    let now = own.partition_point(|e| e.moment < moment);
    let (past, future) = own.split_at(now);

    let mut state = SpaceAt::default();
    let before_trace = instance.start.is_none();
    if before_trace {
        for kind in Kind::ALL {
            if !rundowns.has_start(kind, moment.time)
                && rundowns.last_before(kind, moment.time).is_none()
                && let Some(episode) = rundowns.first_after(kind, moment.time)
            {
                undo_back_from(episode, kind, past, future, rundowns, &mut state.space);
            }
        }
    }
    let existed = |episode: &Episode| instance.start.is_none_or(|start| start < episode.first);
    let episodes = Kind::ALL.map(|kind| rundowns.last_before(kind, moment.time).filter(existed));
    let mut finals = Kind::ALL.map(|kind| Final::new(kind, past, episodes[kind as usize]));
    for (index, event) in past.iter().enumerate() {
        if is_of(event, &episodes, rundowns)
            && let Some(end) = &mut finals[Kind::of(&event.value) as usize]
        {
            end.from = end.from.min(index);
            end.records.push(event);
        }
    }
    let mut due: Vec<&Final<'_>> = finals.iter().flatten().collect();
    due.sort_by_key(|end| end.from);
    let mut pending = Pending::default();
    let mut next = 0;
    for end in due {
        replay(past.get(next..end.from).unwrap_or_default(), &episodes, rundowns, &mut pending, &mut state.space);
        next = next.max(end.from);
        state.contradictions.extend(end.replace(&mut state.space, rundowns.has_start(end.kind, moment.time)));
    }
    replay(past.get(next..).unwrap_or_default(), &episodes, rundowns, &mut pending, &mut state.space);
    state
}

/// True for records of the end rundown that is taken over for their kind.
fn is_of(event: &At<SpaceEvent>, episodes: &[Option<Episode>; 4], rundowns: &Rundowns) -> bool {
    let episode = episodes[Kind::of(&event.value) as usize];
    episode.is_some_and(|episode| (episode.first..=episode.last).contains(&event.moment.time))
        && rundowns.rundown_phase(event) == Some(Phase::DcEnd)
}

/// Applies events; records of end rundowns that are taken over are left to [`Final`].
fn replay(
    events: &[At<SpaceEvent>],
    episodes: &[Option<Episode>; 4],
    rundowns: &Rundowns,
    pending: &mut Pending,
    space: &mut AddressSpace,
) {
    for event in events {
        if is_of(event, episodes, rundowns) || pending.take(event) {
            continue;
        }
        pending.settle(space);
        space.apply(event.moment, &event.value);
    }
    pending.settle(space);
}

/// Rundown records that come in a row, collected so that their ranges are built at once.
#[derive(Default)]
struct Pending {
    regions: Vec<(u64, u64, Source)>,
    views: Vec<(u64, u64, View)>,
}

impl Pending {
    /// Collects the start-rundown records that are many.
    fn take(&mut self, event: &At<SpaceEvent>) -> bool {
        let source = Source { phase: Phase::DcStart, moment: event.moment };
        match event.value {
            SpaceEvent::Region { phase: Phase::DcStart, base, size, .. } => self.regions.push((base, size, source)),
            SpaceEvent::View { phase: Phase::DcStart, base, size, file_key, kind } => {
                self.views.push((base, size, View { kind, file_key, source }));
            }
            _ => return false,
        }
        true
    }

    /// Puts what was collected into the space.
    fn settle(&mut self, space: &mut AddressSpace) {
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

/// An end rundown of one kind, as far as it is about one process.
struct Final<'e> {
    kind: Kind,
    /// Index of the process's first event at or after the beginning of the rundown.
    from: usize,
    records: Vec<&'e At<SpaceEvent>>,
}

impl<'e> Final<'e> {
    /// One without records yet. Events while the rundown was being logged come on top of it, so it is taken over at its
    /// first record for this process, or at its end where this process has none.
    fn new(kind: Kind, past: &[At<SpaceEvent>], episode: Option<Episode>) -> Option<Final<'e>> {
        let last = episode?.last;
        Some(Final { kind, from: past.partition_point(|event| event.moment.time <= last), records: Vec::new() })
    }

    /// Puts the rundown's state in the place of what the events added up to; gives the differences.
    fn replace(&self, space: &mut AddressSpace, started: bool) -> Vec<Contradiction> {
        let source = |event: &At<SpaceEvent>| Source { phase: Phase::DcEnd, moment: event.moment };
        match self.kind {
            Kind::Region => {
                let list = self.records.iter().filter_map(|event| match event.value {
                    SpaceEvent::Region { base, size, .. } => Some((base, size, source(event))),
                    _ => None,
                });
                take_over(self.kind, &mut space.regions, list.collect(), started)
            }
            Kind::View => {
                let list = self.records.iter().filter_map(|event| match event.value {
                    SpaceEvent::View { base, size, file_key, kind, .. } => {
                        Some((base, size, View { kind, file_key, source: source(event) }))
                    }
                    _ => None,
                });
                take_over(self.kind, &mut space.views, list.collect(), started)
            }
            Kind::Heap => {
                let list = self.records.iter().filter_map(|event| match event.value {
                    SpaceEvent::HeapRundown { heap, base, size } => {
                        Some((base, size, HeapSpan { heap, source: source(event) }))
                    }
                    _ => None,
                });
                take_over(self.kind, &mut space.heaps, list.collect(), started)
            }
            Kind::Thread => {
                let list = self.records.iter().filter_map(|event| match event.value {
                    SpaceEvent::Thread { thread_id, stack_base, stack_limit, .. } => {
                        Some((thread_id, Stack { base: stack_base, limit: stack_limit, source: source(event) }))
                    }
                    _ => None,
                });
                let end: BTreeMap<u32, Stack> = list.collect();
                let only = |of: &BTreeMap<u32, Stack>, there: &BTreeMap<u32, Stack>, only_events| -> Vec<_> {
                    let missing = of.keys().filter(|id| !there.contains_key(id));
                    missing.map(|&id| Contradiction { kind: Kind::Thread, base: id.into(), only_events }).collect()
                };
                let mut differences = only(&space.stacks, &end, true);
                if started {
                    differences.extend(only(&end, &space.stacks, false));
                }
                space.stacks = end;
                differences
            }
        }
    }
}

/// Replaces a map; gives the ranges that only one side has. What only the rundown has is a difference only where a
/// start rundown was logged: without one the events cannot know it.
fn take_over<T: Clone>(
    kind: Kind,
    map: &mut RangeMap<T>,
    list: Vec<(u64, u64, T)>,
    started: bool,
) -> Vec<Contradiction> {
    let end = RangeMap::from_list(list);
    let only = |of: &RangeMap<T>, there: &RangeMap<T>, only_events| -> Vec<_> {
        let mut there = there.iter().peekable();
        let missing = of.iter().filter(|&(base, ..)| {
            while there.next_if(|&(_, end, _)| end <= base).is_some() {}
            there.peek().is_none_or(|&(first, ..)| first > base)
        });
        missing.map(|(base, ..)| Contradiction { kind, base, only_events }).collect()
    };
    let mut differences = only(map, &end, true);
    if started {
        differences.extend(only(&end, map, false));
    }
    *map = end;
    differences
}

/// State at the split of `past` and `future` by undoing events back from a later end rundown.
fn undo_back_from(
    episode: Episode,
    kind: Kind,
    past: &[At<SpaceEvent>],
    future: &[At<SpaceEvent>],
    rundowns: &Rundowns,
    space: &mut AddressSpace,
) {
    let until = future.partition_point(|event| event.moment.time <= episode.last);
    let future = future.get(..until).unwrap_or_default();
    let mut episodes = [None; 4];
    episodes[kind as usize] = Some(episode);
    let records: Vec<_> =
        future.iter().filter(|e| Kind::of(&e.value) == kind && is_of(e, &episodes, rundowns)).collect();
    let first = records.first().map_or(Moment { time: episode.last, order: u64::MAX }, |first| first.moment);
    let from = future.partition_point(|event| event.moment < first);
    let known = Final { kind, from, records };
    let mut scratch = AddressSpace::default();
    known.replace(&mut scratch, false);
    let is_kind = |event: &&At<SpaceEvent>| Kind::of(&event.value) == kind && rundowns.rundown_phase(event).is_none();
    for event in future.get(..known.from).unwrap_or_default().iter().rev().filter(is_kind) {
        undo(event, &mut scratch);
    }
    // What the past events create comes again when they are applied.
    for event in past.iter().rev().filter(is_kind) {
        if is_start(&event.value) {
            undo(event, &mut scratch);
        }
    }
    match kind {
        Kind::Region => space.regions = scratch.regions,
        Kind::View => space.views = scratch.views,
        Kind::Heap => space.heaps = scratch.heaps,
        Kind::Thread => space.stacks = scratch.stacks,
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

/// Takes one event back. What a destroyed heap had is not known any more.
fn undo(event: &At<SpaceEvent>, space: &mut AddressSpace) {
    use crate::event::virtual_memory::VirtualRange;
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
            space.views.insert(base, size, View { kind, file_key, source });
        }
        SpaceEvent::HeapCreate { heap, size } => space.heaps.remove(heap, heap.saturating_add(size)),
        SpaceEvent::HeapReserve { base, size, .. } => space.heaps.remove(base, base.saturating_add(size)),
        SpaceEvent::HeapRelease { heap, base, size } => space.heaps.insert(base, size, HeapSpan { heap, source }),
        SpaceEvent::Thread { phase: Phase::Start, thread_id, .. } => {
            space.stacks.remove(&thread_id);
        }
        SpaceEvent::Thread { phase: Phase::End, thread_id, stack_base, stack_limit } => {
            space.stacks.insert(thread_id, Stack { base: stack_base, limit: stack_limit, source });
        }
        _ => {}
    }
}
