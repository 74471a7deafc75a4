//! Replays a trace: slice by slice, all buffers of a slice in parallel, then all shards of owners in parallel.
//!
//! [`slice_reader`] reads events, [`owner_attribution`] makes an [`update`] of each, [`update_queue`] puts updates in order,
//! [`owner_shard`] and [`process_replay`] replay them on each [`working_set`]. [`wpa_observer`] counts the same updates by
//! WPA's rules, to show the difference.
//!
//! Memory holds the updates of one slice and the pages of all working sets, however long the trace is. Each shard gets
//! its updates by time and place in the file, so the result is the same for any number of threads.

pub mod outside_working_sets;
mod owner_attribution;
pub mod owner_shard;
mod process_replay;
mod slice_reader;
mod update;
mod update_queue;
mod working_set;
mod wpa_observer;

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::replay::outside_working_sets::{OutsideEvent, OutsideWorkingSets};
use crate::analysis::refset::replay::owner_attribution::group_of;
use crate::analysis::refset::replay::owner_shard::{GlobalEvent, Shard};
use crate::analysis::refset::replay::slice_reader::{OTHERS, SHARDS, SliceReader, shard_of};
use crate::analysis::refset::replay::update::Update;
use crate::analysis::refset::replay::update_queue::OrderedUpdates;
use crate::analysis::refset::totals::each_holding::KeptHolding;
use crate::analysis::refset::totals::held_over_time::HeldOverTime;
use crate::analysis::refset::totals::held_statistics::HeldStatistics;
use crate::analysis::refset::totals::shard_totals::{Recorder, ShardTotals};
use crate::analysis::refset::totals::shared_pages::{SharedPageChange, SharedPages};
use crate::analysis::refset::totals::timeline::GroupsOverTime;
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::time_slice::{TimeSlice, slices};
use crate::load::allocation_rules::LeftOut;
use crate::load::working_set_changes::EventRange;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use crate::units::Ticks;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// What the replay of a trace gives.
#[derive(Debug)]
pub struct ReplayResult<'h, S = ()> {
    /// Owners as they are at the end, and what was counted of them; at the end all of it is in [`ReplayResult::totals`].
    pub shards: Vec<(Shard<'h, S>, ShardTotals<S>)>,
    /// All totals.
    pub totals: ShardTotals<S>,
    /// Groups of pages over time, for a timeline.
    pub groups: Option<GroupsOverTime<'h>>,
    /// Records in the window of what each working set has.
    pub recorded_sets: u64,
    /// Records of pool that cannot be true.
    pub left_out: LeftOut,
    /// What each owner held, also those that ended.
    pub tallies: Vec<(OwnerId, HeldStatistics)>,
    /// Pool and ranges at the end.
    pub outside: OutsideWorkingSets,
    /// Pool and range pages at the window's end.
    pub outside_at_stop: (u64, u64),
    /// Held pages at the window's ends and at the peak.
    pub held: HeldOverTime<'h>,
}

/// A replay between two slices.
struct Replay<'h, S> {
    context: &'h ReplayContext<'h>,
    outcome: ReplayResult<'h, S>,
    /// Global events after the current slice.
    global_events: Vec<(Moment, GlobalEvent)>,
    /// Updates of processes that have not started yet, and when they were logged.
    not_started: Vec<(Moment, Update<S>)>,
    /// Events of pool and ranges after the current slice.
    outside_events: Vec<OutsideEvent>,
    shared: SharedPages<S>,
}

/// Replays the trace up to `end`, the first moment that is not replayed. Holdings, where the query asks for them, are passed on
/// after each slice.
pub fn replay<'h, S: AccessStack>(
    etl: &EtlFile,
    context: &'h ReplayContext<'h>,
    end: Moment,
    mut each: impl FnMut(&KeptHolding<S>),
) -> ReplayResult<'h, S> {
    let rank = ranks(&etl.buffers);
    // The working sets are emptied before the window: replaying begins at the last time that this happened.
    let resets = context.window.resets.iter().copied();
    let begin = resets.filter(|&reset| reset <= context.window.from).max().unwrap_or(Moment::FIRST);
    let range = EventRange { begin, end, rank: &rank, before_first: etl.before_first(), others: &OTHERS };
    let last = before(end);
    let spans = || context.survey.spans.iter().flatten();
    let first_stamp = spans().map(|span| span.first).min().unwrap_or_default();
    let last_stamp = spans().map(|span| span.last).max().unwrap_or_default();

    let mut replay = Replay::new(context, begin, last);
    let slices = slices(&context.survey.spans, begin.time, last.time, context.slice_records);
    let mut readers: Vec<SliceReader<'_, S>> = Vec::new();
    for (number, slice) in slices.iter().enumerate() {
        let next = slices.get(number + 1).map_or(slice.to, |next| next.to);
        readers = read(etl, slice, next, readers, || SliceReader::new(context, end), range);
        let until = if number + 1 == slices.len() { last } else { Moment::end_of(slice.to) };
        let due = replay.collect(&mut readers, until);
        let (first, last) = (slice.from.max(first_stamp), slice.to.min(last_stamp));
        replay.replay_shards(&readers, &due, (first, last), until);
        for (_, totals) in &mut replay.outcome.shards {
            // Pages that go together, as at the end of a process, come from a table without an order.
            totals.holdings.par_sort_unstable_by_key(|kept| (kept.released.map(|(_, time)| time), *kept));
            totals.holdings.drain(..).for_each(|holding| each(&holding));
        }
        replay.add_held(first, last);
        replay.merge(&due, until);
    }
    replay.finish(&readers)
}

/// Reads the buffers of a slice in parallel, with the readers of the slice before; the next one ends with `next`.
fn read<'r, S: AccessStack>(
    etl: &EtlFile,
    slice: &TimeSlice,
    next: Ticks,
    readers: Vec<SliceReader<'r, S>>,
    new: impl Fn() -> SliceReader<'r, S> + Sync,
    range: EventRange<'_>,
) -> Vec<SliceReader<'r, S>> {
    // Buffers of one processor are in time order, so the updates of a shard are a few sorted runs.
    let mut by_processor = slice.buffers.clone();
    by_processor.sort_by_key(|&index| etl.buffers.get(index as usize).map_or(0, |buffer| buffer.processor));
    let readers = Mutex::new(readers);
    let reader = || {
        let before = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = before.unwrap_or_else(&new);
        reader.begin([slice.to, next]);
        reader
    };
    etl.fold_some(&by_processor, reader, |reader, _, area| range.read(area, reader))
}

impl<'h, S: AccessStack> Replay<'h, S> {
    fn new(context: &'h ReplayContext<'h>, begin: Moment, last: Moment) -> Replay<'h, S> {
        let window = &context.window;
        let resets = window.resets.iter().map(|&reset| (reset, GlobalEvent::Reset));
        let all = resets.chain([(window.to.min(last), GlobalEvent::Stop)]);
        let outcome = ReplayResult {
            shards: (0..SHARDS).map(|_| Default::default()).collect(),
            totals: ShardTotals::default(),
            groups: GroupsOverTime::new(context),
            recorded_sets: 0,
            left_out: LeftOut::default(),
            tallies: Vec::new(),
            outside: OutsideWorkingSets::default(),
            outside_at_stop: (0, 0),
            held: HeldOverTime::new(window),
        };
        Replay {
            context,
            outcome,
            global_events: all.filter(|event| begin <= event.0).collect(),
            not_started: Vec::new(),
            outside_events: Vec::new(),
            shared: SharedPages::default(),
        }
    }

    /// Collects from the readers what belongs to no owner, and queues the updates whose process has started by `until`.
    /// Returns the global events up to `until`.
    fn collect(&mut self, readers: &mut [SliceReader<'_, S>], until: Moment) -> Vec<(Moment, GlobalEvent)> {
        for reader in readers.iter_mut() {
            self.not_started.append(&mut reader.not_started);
            self.outside_events.append(&mut reader.outside);
            let deletes = reader.deleted_sections.drain(..);
            self.global_events.extend(deletes.map(|(at, low, high)| (at, GlobalEvent::SectionDelete(low, high))));
        }
        // Equal moments are in the order in which the updates were logged.
        self.not_started.sort_by_key(|(logged, update)| (update.moment, *logged));
        let started = self.not_started.partition_point(|(_, update)| update.moment <= until);
        if let Some(reader) = readers.first_mut() {
            for (_, update) in self.not_started.drain(..started) {
                reader.updates.push(shard_of(group_of(update.owner, self.context.lifetimes)), update, false);
            }
        }
        self.global_events.sort_unstable();
        self.global_events.extract_if(.., |event| event.0 <= until).collect()
    }

    /// Replays all shards up to `until`. Stamps of updates should be between `limits`.
    fn replay_shards(
        &mut self,
        readers: &[SliceReader<'_, S>],
        due: &[(Moment, GlobalEvent)],
        limits: (Ticks, Ticks),
        until: Moment,
    ) {
        let context = self.context;
        let shards = self.outcome.shards.par_iter_mut().enumerate();
        shards.for_each_init(Vec::new, |room, (index, (shard, totals))| {
            let chunks: Vec<&[Update<S>]> = readers.iter().flat_map(|reader| reader.updates.chunks(index)).collect();
            let updates = OrderedUpdates::new(&chunks, limits, room);
            shard.replay(&mut Recorder { context, totals }, updates, due, until);
        });
    }

    /// Adds up the held pages of a slice.
    fn add_held(&mut self, first: Ticks, last: Ticks) {
        let mut changes: Vec<_> = self.outcome.shards.iter_mut().map(|(_, totals)| &mut totals.held).collect();
        self.outcome.held.add_slice(first, last, &mut changes);
        if let Some(groups) = &mut self.outcome.groups {
            groups.add_slice(self.outcome.shards.iter_mut().map(|(_, totals)| &mut totals.groups));
        }
    }

    /// Merges what depends on the order among owners: the holders of shared pages, pool and ranges.
    fn merge(&mut self, due: &[(Moment, GlobalEvent)], until: Moment) {
        let (context, outcome) = (self.context, &mut self.outcome);
        let all = &mut outcome.totals;
        let mut shares: Vec<SharedPageChange<S>> =
            outcome.shards.iter_mut().flat_map(|(_, totals)| totals.shares.drain(..)).collect();
        shares.sort_by_key(|share| share.moment);
        self.outside_events.sort_by_key(|event| event.moment);
        let (mut shares, mut events) = (shares.as_slice(), self.outside_events.as_slice());
        let end_of_slice = (until, None);
        for (moment, global) in due.iter().map(|&(moment, event)| (moment, Some(event))).chain([end_of_slice]) {
            let (now, rest) = shares.split_at(shares.partition_point(|share| share.moment <= moment));
            self.shared.apply(context, now, &mut all.rows);
            shares = rest;
            let (now, rest) = events.split_at(events.partition_point(|event| event.moment <= moment));
            now.iter().for_each(|event| outcome.outside.apply(&context.window, event, &mut all.balance));
            events = rest;
            match global {
                None | Some(GlobalEvent::SectionDelete(..)) => {}
                Some(GlobalEvent::Reset) => {
                    self.shared = SharedPages::default();
                    outcome.outside = outcome.outside.emptied();
                }
                Some(GlobalEvent::Stop) => {
                    self.shared.stop(context, &mut all.rows);
                    outcome.outside_at_stop = (outcome.outside.pool_pages, outcome.outside.range_pages);
                }
            }
        }
        let applied = self.outside_events.len() - events.len();
        self.outside_events.drain(..applied);
    }

    fn finish(self, readers: &[SliceReader<'_, S>]) -> ReplayResult<'h, S> {
        let mut outcome = self.outcome;
        let window = &self.context.window;
        for (shard, totals) in &mut outcome.shards {
            let mut totals = std::mem::take(totals);
            outcome.tallies.append(&mut totals.ended);
            let alive = shard.working_sets().map(|set| (set.owner, set.tally));
            let shared = [(OwnerId::SYSTEM, totals.system), (OwnerId::new(Owner::Session(None)), totals.sessions)];
            outcome.tallies.extend(alive.chain(shared).map(|(owner, tally)| (owner, tally.finished(window))));
            outcome.totals.append(totals);
        }
        for reader in readers {
            outcome.totals.balance += reader.balance;
            outcome.recorded_sets += reader.recorded_sets;
            outcome.left_out += reader.left_out;
        }
        outcome
    }
}

/// The moment just before another.
fn before(moment: Moment) -> Moment {
    match moment.order.checked_sub(1) {
        Some(order) => Moment { order, ..moment },
        None => Moment::end_of(Ticks(moment.time.0.saturating_sub(1))),
    }
}
