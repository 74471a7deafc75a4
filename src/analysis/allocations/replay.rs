//! Goes through the records of a trace in their order, slice by slice: only the records of two slices and what is live are in memory,
//! because the next slice is read while one is replayed.

use super::closing::Closing;
use super::commit::{Record, Region, Space, pages_of};
use super::commit_counts::{CommitCheck, CommitCounts, Source};
use super::counting::{Counting, Facts};
use super::figures::Reason;
use super::heap::Heaps;
use super::labels::ABSENT;
use super::lives::{LifeId, Owner};
use super::pool::Pool;
use super::resident_pages::{PagesOf, ResidentPages};
use crate::etl::time_slice::{TimeSlice, slices};
use crate::event::Phase;
use crate::load::allocations::{
    AllocationEvent, AllocationKind, AllocationReader, AllocationRundowns, AllocationWhat, ListedRegion,
};
use crate::load::pool_rundown::ListedPool;
use crate::model::process::Processes;
use crate::moment::{At, Moment};
use crate::trace::Trace;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Records of a slice, about; each takes some 100 bytes.
const RECORDS: u64 = 250_000;

/// Events whose pieces are looked for at a time.
const BATCH: usize = 32;

/// What was found beside the pieces.
#[derive(Debug, Default)]
pub struct Replayed {
    /// How the state at the start is known: of processes, or 1 for the whole.
    pub at_start: Vec<(&'static str, u64)>,
    /// Counters with their names.
    pub records: Vec<(&'static str, u64)>,
    /// The check against the end rundown.
    pub check: Option<Check>,
    /// Processes of which nobody tells what they had committed before the trace.
    pub of_unknown_start: Vec<LifeId>,
    /// Pages in RAM at a page sequence that lie in what is committed.
    pub resident_in_commit: u64,
}

/// The check against the end rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Of commit.
    Commit(CommitCheck),
    /// Of pool.
    Pool(super::pool::PoolCheck),
}

/// What happens at a moment beside the records.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    /// A process ends.
    End(LifeId),
    /// The end rundown of a process begins.
    Listed(LifeId),
    /// An entry of a pool snapshot.
    Entry(ListedPool),
    /// A page sequence.
    Snapshot,
}

/// Regions of a process by a rundown, with its first record.
type ListedSpace = (Moment, Vec<Region>);

#[derive(Debug, Default)]
struct Commit {
    spaces: FastMap<LifeId, Space>,
    start: FastMap<LifeId, ListedSpace>,
    end: FastMap<LifeId, ListedSpace>,
    sources: BTreeMap<Source, u64>,
    counts: CommitCounts,
    check: CommitCheck,
    of_unknown_start: Vec<LifeId>,
    number: u64,
    /// True after the page sequence that was asked for.
    is_after_snapshot: bool,
    resident_in_commit: u64,
}

/// What is live, by kind.
#[derive(Debug)]
enum State {
    Commit(Box<Commit>),
    Pool(Pool),
    Heap(Heaps),
}

/// Goes through all records of a kind; `resident`: pages with which commit is compared at their time.
pub fn replay(
    trace: &Trace,
    kind: AllocationKind,
    counting: &mut Counting<'_>,
    resident: Option<&ResidentPages>,
) -> Replayed {
    let etl = trace.etl();
    let survey = trace.survey();
    let has_rundown = kind.rundowns().iter().any(|hook| survey.kernel_count(*hook) > 0);
    let rundowns = if has_rundown { AllocationRundowns::new(etl, kind) } else { AllocationRundowns::default() };
    let mut triggers: Vec<(Moment, Trigger)> = Vec::new();
    let state = match kind {
        AllocationKind::Commit => State::Commit(Box::new(Commit::new(&rundowns.regions, counting, &mut triggers))),
        AllocationKind::Pool => {
            triggers.extend(rundowns.pool.iter().map(|entry| (entry.moment, Trigger::Entry(entry.value))));
            State::Pool(Pool::new(&rundowns.pool))
        }
        AllocationKind::Heap => State::Heap(Heaps::default()),
    };
    if kind != AllocationKind::Pool {
        triggers.extend(counting.lives.ends().into_iter().map(|(moment, life)| (moment, Trigger::End(life))));
    }
    triggers.extend(resident.map(|pages| (pages.moment, Trigger::Snapshot)));
    // Entries of one record keep their order.
    triggers.sort_by_key(|(moment, _)| *moment);
    let resident = resident.map(|pages| (pages, trace.processes()));
    let mut replay = Replay { state, triggers, next: 0, allocations: 0, frees: 0, resident };
    let reader = AllocationReader::new(etl, kind);
    if let Some((begin, end)) = crate::load::allocations::whole(&survey.spans) {
        let mut now = Slice::default();
        for slice in slices(&survey.spans, begin, end, RECORDS) {
            let ahead = std::mem::take(&mut now.later);
            let replay_now = || replay.events(&now.events, counting);
            (now, ()) = rayon::join(|| Slice::read(&reader, &slice, ahead), replay_now);
        }
        [&now.events, &now.later].into_iter().for_each(|events| replay.events(events, counting));
    }
    replay.finish(counting, has_start_snapshot(&rundowns.pool))
}

/// Records of a slice of time.
#[derive(Default)]
struct Slice {
    /// In order.
    events: Vec<AllocationEvent>,
    /// Those that its buffers hold of later slices, in order.
    later: Vec<AllocationEvent>,
}

impl Slice {
    /// With what the slices before it hold of later ones.
    fn read(reader: &AllocationReader<'_>, slice: &TimeSlice, ahead: Vec<AllocationEvent>) -> Slice {
        let mut events = ahead;
        reader.read(&slice.buffers).into_iter().for_each(|mut found| events.append(&mut found));
        // Each buffer is in order: a stable sort merges what is sorted.
        events.par_sort_by_key(|event| event.moment);
        let until = events.partition_point(|event| event.moment.time <= slice.to);
        let later = events.split_off(until);
        Slice { events, later }
    }
}

fn has_start_snapshot(listed: &[At<ListedPool>]) -> bool {
    listed.iter().any(|entry| entry.value.phase == Phase::DcStart)
}

struct Replay<'t> {
    state: State,
    triggers: Vec<(Moment, Trigger)>,
    next: usize,
    allocations: u64,
    frees: u64,
    resident: Option<(&'t ResidentPages, &'t Processes)>,
}

impl<'t> Replay<'t> {
    /// The pages of a process in RAM.
    fn resident_of(&self, life: LifeId, counting: &Counting<'_>) -> PagesOf<'t> {
        let pages = self.resident.and_then(|(pages, processes)| {
            let instance = counting.lives.instance(life, processes)?;
            Some(pages.of(instance))
        });
        pages.unwrap_or(PagesOf::NONE)
    }

    /// Events in their order.
    fn events(&mut self, events: &[AllocationEvent], counting: &mut Counting<'_>) {
        for batch in events.chunks(BATCH) {
            if let State::Pool(pool) = &self.state {
                pool.look_ahead(batch);
            }
            batch.iter().for_each(|event| self.event(event, counting));
        }
    }

    fn event(&mut self, event: &AllocationEvent, counting: &mut Counting<'_>) {
        self.triggers_until(Some(event.moment), counting);
        match event.what {
            AllocationWhat::Range { is_free: true, .. }
            | AllocationWhat::Pool { is_free: true, .. }
            | AllocationWhat::HeapFree(_) => self.frees += 1,
            AllocationWhat::HeapReset { .. } => {}
            _ => self.allocations += 1,
        }
        match (&mut self.state, &event.what) {
            (State::Commit(commit), AllocationWhat::Range { .. }) => commit.record(event, counting),
            (State::Pool(pool), AllocationWhat::Pool { is_free, piece }) => {
                pool.record(event, *is_free, piece, counting);
            }
            (State::Heap(heaps), _) => heaps.record(event, counting),
            _ => {}
        }
    }

    /// What happens before a record; all that is left for `None`.
    fn triggers_until(&mut self, moment: Option<Moment>, counting: &mut Counting<'_>) {
        while let Some((at, trigger)) = self.triggers.get(self.next).copied() {
            if moment.is_some_and(|moment| at > moment) {
                return;
            }
            self.next += 1;
            if let Trigger::Listed(life) = trigger {
                self.listed(life, counting);
                continue;
            }
            match (&mut self.state, trigger) {
                (State::Commit(commit), Trigger::End(life)) => {
                    if let Some(space) = commit.spaces.remove(&life) {
                        space.end(Some(Closing { moment: at, reason: Reason::ProcessEnd }), counting);
                    }
                }
                (State::Heap(heaps), Trigger::End(life)) => heaps.end_process(life, at, counting),
                (State::Pool(pool), Trigger::Entry(entry)) => pool.listed(&entry, counting),
                (State::Commit(_), Trigger::Snapshot) => self.at_snapshot(counting),
                _ => {}
            }
        }
    }

    /// The end rundown of a process begins.
    fn listed(&mut self, life: LifeId, counting: &mut Counting<'_>) {
        let resident = self.resident_of(life, counting);
        let State::Commit(commit) = &mut self.state else { return };
        if let (Some(space), Some((_, regions))) = (commit.spaces.get_mut(&life), commit.end.get(&life)) {
            space.end_rundown(regions, &mut commit.check);
            if commit.is_after_snapshot {
                // What it tells of was there before the trace.
                commit.resident_in_commit += space.rests_at_snapshot(resident, counting);
            }
        }
    }

    fn at_snapshot(&mut self, counting: &mut Counting<'_>) {
        let State::Commit(commit) = &self.state else { return };
        let found = commit.spaces.iter().map(|(life, space)| {
            let resident = self.resident_of(*life, counting);
            space.at_snapshot(resident, counting)
        });
        let found: u64 = found.sum();
        if let State::Commit(commit) = &mut self.state {
            (commit.is_after_snapshot, commit.resident_in_commit) = (true, found);
        }
    }

    fn finish(mut self, counting: &mut Counting<'_>, has_start_snapshot: bool) -> Replayed {
        self.triggers_until(None, counting);
        let mut records = vec![("allocations", self.allocations), ("frees", self.frees)];
        match self.state {
            State::Commit(mut commit) => {
                let mut spaces: Vec<(LifeId, Space)> = std::mem::take(&mut commit.spaces).into_iter().collect();
                spaces.sort_unstable_by_key(|(life, _)| *life);
                spaces.into_iter().for_each(|(_, space)| space.end(None, counting));
                let counts = commit.counts;
                records.extend([
                    ("before_rundown", counts.before_rundown),
                    ("after_end", counts.after_end),
                    ("no_process", counts.no_process),
                    ("reset", counts.reset),
                    ("malformed", counts.left_out.impossible),
                    ("unknown_size", counts.unknown_size),
                    ("recommitted_bytes", counts.recommitted_bytes),
                    ("unknown_release_bytes", counts.unknown_release_bytes),
                    ("estimated_bytes", counts.estimated_bytes),
                ]);
                Replayed {
                    at_start: commit.sources.iter().map(|(source, number)| (source.name(), *number)).collect(),
                    records,
                    check: (!commit.end.is_empty()).then_some(Check::Commit(commit.check)),
                    of_unknown_start: commit.of_unknown_start,
                    resident_in_commit: commit.resident_in_commit,
                }
            }
            State::Pool(mut pool) => {
                pool.end(counting);
                let counts = pool.counts;
                records.extend([("mismatched", counts.mismatched), ("malformed", counts.left_out.impossible)]);
                let source = if has_start_snapshot { "snapshot" } else { "unknown" };
                let check = pool.check.map(Check::Pool);
                Replayed { at_start: vec![(source, 1)], records, check, ..Replayed::default() }
            }
            State::Heap(mut heaps) => {
                heaps.end(counting);
                let counts = heaps.counts;
                records.extend([
                    ("after_end", counts.after_end),
                    ("no_process", counts.no_process),
                    ("failed", counts.left_out.failed),
                    ("unknown_frees", counts.unknown_frees),
                    ("realloc_summaries", counts.realloc_summaries),
                ]);
                let is_born = |life: &&LifeId| counting.lives.get(**life).is_some_and(|life| life.begin.is_some());
                let born = heaps.lives.iter().filter(is_born).count() as u64;
                let sources = [("born", born), ("unknown", heaps.lives.len() as u64 - born)];
                let at_start = sources.into_iter().filter(|(_, number)| *number > 0).collect();
                Replayed { at_start, records, ..Replayed::default() }
            }
        }
    }
}

impl Commit {
    /// With the regions of the rundowns.
    fn new(listed: &[At<ListedRegion>], counting: &mut Counting<'_>, triggers: &mut Vec<(Moment, Trigger)>) -> Commit {
        let mut commit = Commit::default();
        for At { moment, value } in listed {
            let Owner::Life(life) = counting.lives.of_range(value.range.process_id, value.thread_id, *moment) else {
                continue;
            };
            let lists = if value.is_end { &mut commit.end } else { &mut commit.start };
            let (_, regions) = lists.entry(life).or_insert_with(|| (*moment, Vec::new()));
            let pages = pages_of(value.range.base, value.range.size_bytes, value.pointer);
            let commit_bytes = value.range.commit_bytes.unwrap_or(0).min(value.range.size_bytes);
            regions.extend(pages.filter(|_| value.range.size_bytes > 0).map(|pages| Region { pages, commit_bytes }));
        }
        triggers.extend(commit.end.iter().map(|(life, (moment, _))| (*moment, Trigger::Listed(*life))));
        let lives: Vec<LifeId> = commit.start.keys().chain(commit.end.keys()).copied().collect();
        lives.into_iter().for_each(|life| _ = commit.space(life, counting));
        commit
    }

    fn space(&mut self, life: LifeId, counting: &mut Counting<'_>) -> &mut Space {
        self.spaces.entry(life).or_insert_with(|| {
            let is_born = counting.lives.get(life).is_some_and(|life| life.begin.is_some());
            let source = match (is_born, self.start.contains_key(&life), self.end.contains_key(&life)) {
                (true, ..) => Source::Born,
                (_, true, _) => Source::StartRundown,
                (.., true) => Source::EndRundown,
                _ => Source::Unknown,
            };
            *self.sources.entry(source).or_default() += 1;
            self.of_unknown_start.extend((source == Source::Unknown).then_some(life));
            let mut space = Space::new(source, Facts { life, ..Facts::default() });
            if source == Source::StartRundown
                && let Some((at, regions)) = self.start.get(&life)
            {
                space.start(*at, regions, counting);
            }
            space
        })
    }

    fn record(&mut self, event: &AllocationEvent, counting: &mut Counting<'_>) {
        let AllocationWhat::Range { is_free, range, pointer } = event.what else { return };
        let life = match counting.lives.of_range(range.process_id, event.thread_id, event.moment) {
            Owner::Life(life) => life,
            Owner::Ended => return self.counts.after_end += 1,
            Owner::Nobody => return self.counts.no_process += 1,
        };
        self.number += 1;
        let record = Record {
            moment: event.moment,
            number: self.number,
            range,
            pointer,
            thread: event.thread_id.unwrap_or(ABSENT),
            stack: counting.labels.stack_at(event.moment),
        };
        let mut counts = self.counts;
        let space = self.space(life, counting);
        if space.is_before_rundown(event.moment) {
            counts.before_rundown += 1;
        } else if is_free {
            space.free(&record, counting, &mut counts);
        } else {
            space.allocate(&record, counting, &mut counts);
        }
        self.counts = counts;
    }
}
