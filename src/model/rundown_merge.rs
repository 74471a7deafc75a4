//! Merging a rundown into the address space of one process: the state that it lists replaces the state by the events.
//!
//! `address_space_at` decides which rundown is used; this module finds its records, replaces the state, and compares both. A change
//! while the rundown is being logged may or may not be in it, so differences in that interval are not contradictions.

use crate::event::Phase;
use crate::load::owned_events::SpaceEvent;
use crate::model::address_space::{AddressSpace, HeapSpan, MappedView, Source, ThreadStack};
use crate::model::range_map::RangeMap;
use crate::model::rundown::{Episode, RundownKind, Rundowns};
use crate::moment::{At, Moment};
use crate::units::Ticks;
use std::collections::{BTreeMap, BTreeSet};

/// A range (or a thread, by its id) that either only the events or only the end rundown have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// RundownKind of object.
    pub kind: RundownKind,
    /// First address, or thread id.
    pub base: u64,
    /// True when the events have it and the end rundown does not.
    pub only_events: bool,
}

/// The records of one rundown of one kind that are about one process.
pub struct ProcessRundown<'e> {
    kind: RundownKind,
    episode: Episode,
    /// Index of the process's first record in the rundown, or else of its first event after the rundown's beginning. Events
    /// from this index on are applied after the rundown.
    pub from: usize,
    records: Vec<&'e At<SpaceEvent>>,
    /// Changes while it was being logged: differences there prove nothing.
    meanwhile: Touched,
}

impl<'e> ProcessRundown<'e> {
    /// The records of the given rundowns, one for each kind, among a process's events in order.
    ///
    /// Heap ranges are logged by each process itself; a suspended process does not log them, so missing records prove
    /// nothing. All other kinds are logged by the kernel, and what it does not list does not exist.
    pub fn all(
        episodes: [Option<Episode>; 4],
        events: &'e [At<SpaceEvent>],
        rundowns: &Rundowns,
    ) -> [Option<ProcessRundown<'e>>; 4] {
        let start = |time: Ticks| events.partition_point(|event| event.moment.time < time);
        let mut found = [RundownKind::Region, RundownKind::View, RundownKind::Heap, RundownKind::Thread].map(|kind| {
            let episode = episodes.get(kind as usize).copied().flatten()?;
            let from = start(episode.first);
            Some(ProcessRundown { kind, episode, from, records: Vec::new(), meanwhile: Touched::default() })
        });
        let first = episodes.iter().flatten().map(|episode| start(episode.first)).min().unwrap_or(events.len());
        for (index, event) in (first..).zip(events.get(first..).unwrap_or_default()) {
            let Some(Some(of)) = found.get_mut(RundownKind::of(&event.value) as usize) else { continue };
            if !(of.episode.first..=of.episode.last).contains(&event.moment.time) {
                continue;
            }
            match rundowns.rundown_phase(event) {
                None => of.meanwhile.add(&event.value),
                Some(phase) if (phase == Phase::DcEnd) == of.episode.at_end => {
                    if of.records.is_empty() {
                        of.from = index;
                    }
                    of.records.push(event);
                }
                Some(_) => {}
            }
        }
        found.map(|of| of.filter(|of| of.kind != RundownKind::Heap || !of.records.is_empty()))
    }

    /// When its last record was logged; `None` if the rundown does not list the process.
    pub fn last(&self) -> Option<Moment> {
        self.records.last().map(|event| event.moment)
    }

    /// Replaces the state by the events with the rundown's state; returns the differences.
    pub fn replace(&self, space: &mut AddressSpace) -> Vec<Contradiction> {
        let mut differences = match self.kind {
            RundownKind::Region => {
                let mut differences = replace_ranges(self.kind, &mut space.regions, self.regions());
                differences.retain(|d| d.only_events || space.heap_memory.get(d.base).is_none());
                differences
            }
            RundownKind::View => replace_ranges(self.kind, &mut space.views, self.views()),
            RundownKind::Heap => {
                let mut heaps = std::mem::take(&mut space.heaps);
                let differences = replace_ranges(self.kind, &mut heaps, self.heaps());
                space.set_heaps(heaps);
                differences
            }
            RundownKind::Thread => {
                let end = self.stacks();
                let only =
                    |of: &BTreeMap<u32, ThreadStack>, there: &BTreeMap<u32, ThreadStack>, only_events| -> Vec<_> {
                        let missing = of.keys().filter(|id| !there.contains_key(id));
                        missing
                            .map(|&id| Contradiction { kind: RundownKind::Thread, base: id.into(), only_events })
                            .collect()
                    };
                let mut differences = only(&space.stacks, &end, true);
                differences.extend(only(&end, &space.stacks, false));
                space.stacks = end;
                differences
            }
        };
        if !self.episode.at_end {
            return Vec::new(); // its keyword was off before, so events cannot be complete
        }
        // Without an earlier rundown the events cannot show what existed before the trace.
        differences.retain(|d| (d.only_events || !self.episode.is_first) && !self.meanwhile.holds(d));
        differences
    }

    fn regions(&self) -> RangeMap<Source> {
        RangeMap::from_list(self.list(|event, source| match *event {
            SpaceEvent::Region { base, size, .. } => Some((base, size, source)),
            _ => None,
        }))
    }

    fn views(&self) -> RangeMap<MappedView> {
        RangeMap::from_list(self.list(|event, source| match *event {
            SpaceEvent::View { base, size, file_key, kind, .. } => {
                Some((base, size, MappedView { kind, file_key, source }))
            }
            _ => None,
        }))
    }

    fn heaps(&self) -> RangeMap<HeapSpan> {
        RangeMap::from_list(self.list(|event, source| match *event {
            SpaceEvent::HeapRundown { heap, base, size } => Some((base, size, HeapSpan { heap, source })),
            _ => None,
        }))
    }

    fn stacks(&self) -> BTreeMap<u32, ThreadStack> {
        let stacks = self.list(|event, source| match *event {
            SpaceEvent::Thread { thread_id, stack_base, stack_limit, .. } => {
                Some((thread_id, ThreadStack { base: stack_base, limit: stack_limit, source }))
            }
            _ => None,
        });
        stacks.into_iter().collect()
    }

    fn list<T>(&self, read: impl Fn(&SpaceEvent, Source) -> Option<T>) -> Vec<T> {
        let phase = if self.episode.at_end { Phase::DcEnd } else { Phase::DcStart };
        let mut list = Vec::with_capacity(self.records.len());
        list.extend(self.records.iter().filter_map(|r| read(&r.value, Source { phase, moment: r.moment })));
        list
    }
}

/// Replaces a map; returns the ranges that only one of both has.
fn replace_ranges<T: Clone>(kind: RundownKind, map: &mut RangeMap<T>, end: RangeMap<T>) -> Vec<Contradiction> {
    let only = |of: &RangeMap<T>, there: &RangeMap<T>, only_events| -> Vec<_> {
        let mut there = there.iter().peekable();
        let missing = of.iter().filter(|&(base, ..)| {
            while there.next_if(|&(_, end, _)| end <= base).is_some() {}
            there.peek().is_none_or(|&(first, ..)| first > base)
        });
        missing.map(|(base, ..)| Contradiction { kind, base, only_events }).collect()
    };
    let mut differences = only(map, &end, true);
    differences.extend(only(&end, map, false));
    *map = end;
    differences
}

/// Ranges and threads that events of one kind changed.
#[derive(Default)]
struct Touched {
    ranges: RangeMap<()>,
    threads: BTreeSet<u64>,
    /// A heap was destroyed; its ranges are not known.
    all: bool,
}

impl Touched {
    fn add(&mut self, event: &SpaceEvent) {
        // A size of 0 means the whole region at the base.
        let mut range = |base: u64, size: u64| self.ranges.insert(base, size.max(1), ());
        match *event {
            SpaceEvent::Thread { thread_id, .. } => drop(self.threads.insert(thread_id.into())),
            SpaceEvent::HeapDestroy { .. } => self.all = true,
            SpaceEvent::HeapCreate { heap, size } => range(heap, size),
            SpaceEvent::Region { base, size, .. }
            | SpaceEvent::View { base, size, .. }
            | SpaceEvent::HeapReserve { base, size, .. }
            | SpaceEvent::HeapRelease { base, size, .. }
            | SpaceEvent::HeapRundown { base, size, .. } => range(base, size),
        }
    }

    fn holds(&self, contradiction: &Contradiction) -> bool {
        match contradiction.kind {
            RundownKind::Thread => self.threads.contains(&contradiction.base),
            _ => self.all || self.ranges.get(contradiction.base).is_some(),
        }
    }
}
