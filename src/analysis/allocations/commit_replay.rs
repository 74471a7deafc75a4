//! Goes through the records of commit in their order, slice by slice; the next slice is read while one is replayed.

use super::commit::{Record, Region, Space, pages_of};
use super::commit_counts::{CommitCheck, CommitCounts, Source};
use super::counting::{Counting, Facts};
use super::labels::ABSENT;
use super::piece::Reason;
use super::piece_end::Closing;
use super::process_lifetimes::{LifeId, Owner};
use super::replay_result::{Check, FreedAgain, IdleFrees, Replayed};
use super::resident_pages::{PagesOf, ResidentPages};
use crate::etl::time_slice::slices;
use crate::load::allocation_kinds::{AllocationKind, ListedRegion, whole};
use crate::load::allocation_records::{AllocationReader, RangeRecord};
use crate::load::record_runs::RecordRuns;
use crate::model::process::Processes;
use crate::moment::{At, Moment};
use crate::trace::Trace;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Records of a slice, about; each takes some 100 bytes.
const RECORDS: u64 = 250_000;

/// What happens at a moment beside the records.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    /// A process ends.
    End(LifeId),
    /// The end rundown of a process begins.
    Listed(LifeId),
    /// A page sequence.
    Snapshot,
}

/// Regions of a process by a rundown, with its first record.
type ListedSpace = (Moment, Vec<Region>);

/// The commit of all processes.
#[derive(Debug, Default)]
struct Commit {
    spaces: FastMap<LifeId, Space>,
    start: FastMap<LifeId, ListedSpace>,
    end: FastMap<LifeId, ListedSpace>,
    sources: BTreeMap<Source, u64>,
    counts: CommitCounts,
    check: CommitCheck,
    of_unknown_start: Vec<LifeId>,
    allocations: u64,
    frees: u64,
    number: u64,
    /// True after the page sequence that was asked for.
    is_after_snapshot: bool,
    resident_in_commit: u64,
}

/// Goes through all records of commit.
pub fn replay(
    trace: &Trace,
    listed: &[At<ListedRegion>],
    counting: &mut Counting<'_>,
    resident: Option<&ResidentPages>,
) -> Replayed {
    let mut triggers: Vec<(Moment, Trigger)> = Vec::new();
    let commit = Commit::new(listed, counting, &mut triggers);
    triggers.extend(counting.lives.ends().into_iter().map(|(moment, life)| (moment, Trigger::End(life))));
    triggers.extend(resident.map(|pages| (pages.moment, Trigger::Snapshot)));
    triggers.sort_by_key(|(moment, _)| *moment);
    let resident = resident.map(|pages| (pages, trace.processes()));
    let mut replay = Replay { commit, triggers, next: 0, resident };
    let reader = AllocationReader::new(trace.etl(), AllocationKind::Commit);
    let spans = &trace.survey().spans;
    if let Some((begin, end)) = whole(spans) {
        let (mut runs, mut now) = (RecordRuns::default(), Vec::new());
        for slice in slices(spans, begin, end, RECORDS) {
            let read = || {
                runs.add(reader.ranges(&slice.buffers));
                runs.take_until(slice.to)
            };
            (now, ()) = rayon::join(read, || replay.records(&now, counting));
        }
        [now, runs.take_until(Ticks(i64::MAX))].iter().for_each(|records| replay.records(records, counting));
    }
    replay.finish(counting)
}

struct Replay<'t> {
    commit: Commit,
    triggers: Vec<(Moment, Trigger)>,
    next: usize,
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

    /// Records in their order.
    fn records(&mut self, records: &[RangeRecord], counting: &mut Counting<'_>) {
        for record in records {
            self.triggers_until(Some(record.moment), counting);
            self.commit.record(record, counting);
        }
    }

    /// What happens before a record; all that is left for `None`.
    fn triggers_until(&mut self, moment: Option<Moment>, counting: &mut Counting<'_>) {
        while let Some((at, trigger)) = self.triggers.get(self.next).copied() {
            if moment.is_some_and(|moment| at > moment) {
                return;
            }
            self.next += 1;
            match trigger {
                Trigger::End(life) => {
                    if let Some(space) = self.commit.spaces.remove(&life) {
                        space.end(Some(Closing { moment: at, reason: Reason::ProcessEnd }), counting);
                    }
                }
                Trigger::Listed(life) => self.listed(life, counting),
                Trigger::Snapshot => self.at_snapshot(counting),
            }
        }
    }

    /// The end rundown of a process begins.
    fn listed(&mut self, life: LifeId, counting: &mut Counting<'_>) {
        let resident = self.resident_of(life, counting);
        let commit = &mut self.commit;
        if let (Some(space), Some((_, regions))) = (commit.spaces.get_mut(&life), commit.end.get(&life)) {
            space.end_rundown(regions, &mut commit.check);
            if commit.is_after_snapshot {
                // What it tells of was there before the trace.
                commit.resident_in_commit += space.rests_at_snapshot(resident, counting);
            }
        }
    }

    fn at_snapshot(&mut self, counting: &mut Counting<'_>) {
        let found = self.commit.spaces.iter().map(|(life, space)| {
            let resident = self.resident_of(*life, counting);
            space.at_snapshot(resident, counting)
        });
        let found: u64 = found.sum();
        (self.commit.is_after_snapshot, self.commit.resident_in_commit) = (true, found);
    }

    fn finish(mut self, counting: &mut Counting<'_>) -> Replayed {
        self.triggers_until(None, counting);
        let mut commit = self.commit;
        let mut spaces: Vec<(LifeId, Space)> = std::mem::take(&mut commit.spaces).into_iter().collect();
        spaces.sort_unstable_by_key(|(life, _)| *life);
        for bytes in spaces.iter().map(|(_, space)| space.unlisted_bytes()) {
            commit.check.unlisted_bytes += bytes;
            commit.check.unlisted += u64::from(bytes > 0);
        }
        spaces.into_iter().for_each(|(_, space)| space.end(None, counting));
        let counts = commit.counts;
        let records = vec![
            ("allocations", commit.allocations),
            ("frees", commit.frees),
            ("before_rundown", counts.before_rundown),
            ("after_end", counts.after_end),
            ("no_process", counts.no_process),
            ("reset", counts.reset),
            ("malformed", counts.left_out.impossible),
            ("unknown_size", counts.unknown_size),
            ("recommitted_bytes", counts.recommitted_bytes),
            ("unknown_release_bytes", counts.unknown_release_bytes),
            ("estimated_bytes", counts.estimated_bytes),
        ];
        Replayed {
            at_start: commit.sources.iter().map(|(source, number)| (source.name(), *number)).collect(),
            records,
            allocated_again: counts.allocated_again,
            freed_again: FreedAgain::default(),
            listed_left_out: 0,
            // What a record releases may have been reserved alone, by one that nothing keeps: whether any match is judged by the rundown.
            idle_frees: IdleFrees { impossible: counts.impossible_frees, unmatched: 0 },
            check: (!commit.end.is_empty()).then_some(Check::Commit(commit.check)),
            of_unknown_start: commit.of_unknown_start,
            resident_in_commit: commit.resident_in_commit,
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

    fn record(&mut self, event: &RangeRecord, counting: &mut Counting<'_>) {
        let RangeRecord { moment, thread_id, is_free, range, pointer } = *event;
        *(if is_free { &mut self.frees } else { &mut self.allocations }) += 1;
        let life = match counting.lives.of_range(range.process_id, thread_id, moment) {
            Owner::Life(life) => life,
            Owner::Ended => return self.counts.after_end += 1,
            Owner::Nobody => return self.counts.no_process += 1,
        };
        self.number += 1;
        let record = Record {
            moment,
            number: self.number,
            range,
            pointer,
            thread: thread_id.unwrap_or(ABSENT),
            stack: counting.labels.stack_at(moment),
        };
        let mut counts = self.counts;
        let space = self.space(life, counting);
        if space.is_before_rundown(moment) {
            counts.before_rundown += 1;
        } else if is_free {
            space.free(&record, counting, &mut counts);
        } else {
            space.allocate(&record, counting, &mut counts);
        }
        self.counts = counts;
    }
}
