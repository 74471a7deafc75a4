//! Blocks of pool and heaps, each with one address. Their records go through four stages, slice by slice, and the stages work at
//! the same time on slices that follow each other:
//!
//! 1. read: the records of several buffers;
//! 2. prepared: in one order, whose they are, and what the blocks that they open have in common with others;
//! 3. looked up: which block was live, by parts of the addresses, side by side ([`partition`]);
//! 4. counted, in order.
//!
//! What has an order of its own (2 and 4) is done by one thread; the other reads and looks up.

mod freed_addresses;
mod heap;
mod live_blocks;
mod partition;
mod pool;
mod step;

use super::counting::Counting;
use super::process_lifetimes::LifeId;
use super::replay_result::{Check, FreedAgain, IdleFrees, Replayed};
use crate::etl::time_slice::slices;
use crate::event::Phase;
use crate::load::allocation_kinds::{AllocationKind, AllocationRundowns, whole};
use crate::load::allocation_records::{AllocationReader, BlockAction, BlockRecord};
use crate::load::pool_rundown::ListedPool;
use crate::load::record_runs::RecordRuns;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::ram_size::most_pool_bytes;
use crate::units::Ticks;
use heap::Heaps;
use live_blocks::Live;
use partition::{Found, Outcomes, Parts};
use pool::Pool;
use step::{Step, Steps, What};

/// Records of a slice, about; each takes some 250 bytes in its stages. So few that these stay in the caches beside the blocks.
const RECORDS: u64 = 32_000;

/// What happens at a moment beside the records.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    /// A process ends.
    End(LifeId),
    /// An entry of a pool snapshot.
    Entry(ListedPool),
}

#[derive(Debug)]
enum Kind {
    Pool(Box<Pool>),
    Heap(Box<Heaps>),
}

/// What is done in order.
struct Books<'c, 't> {
    kind: Kind,
    counting: &'c mut Counting<'t>,
    triggers: std::iter::Peekable<std::vec::IntoIter<(Moment, Trigger)>>,
    /// When the next of them happens: most records are before it.
    next_trigger: Moment,
    allocations: u64,
    frees: u64,
}

/// Goes through all records of pool or heaps.
pub fn replay(
    trace: &Trace,
    kind: AllocationKind,
    rundowns: &AllocationRundowns,
    counting: &mut Counting<'_>,
) -> Replayed {
    let (kind_state, mut triggers) = match kind {
        AllocationKind::Heap => {
            let ends = counting.lives.ends().into_iter().map(|(moment, life)| (moment, Trigger::End(life)));
            (Kind::Heap(Box::default()), ends.collect::<Vec<_>>())
        }
        _ => {
            let entries = rundowns.pool.iter().map(|entry| (entry.moment, Trigger::Entry(entry.value)));
            let pool = Pool::new(&rundowns.pool, most_pool_bytes(trace));
            (Kind::Pool(Box::new(pool)), entries.collect())
        }
    };
    // Entries of one record keep their order.
    triggers.sort_by_key(|(moment, _)| *moment);
    let next_trigger = triggers.first().map_or(Moment::LAST, |(moment, _)| *moment);
    let triggers = triggers.into_iter().peekable();
    let mut books = Books { kind: kind_state, counting, triggers, next_trigger, allocations: 0, frees: 0 };
    let mut parts = Parts::default();
    books.go_through(trace, &AllocationReader::new(trace.etl(), kind), &mut parts);
    let freed_again = parts.freed_again();
    books.close_rest(parts);
    let has_start_snapshot = rundowns.pool.iter().any(|entry| entry.value.phase == Phase::DcStart);
    let replayed = books.replayed(has_start_snapshot);
    let freed_again = FreedAgain { frees: freed_again.frees + replayed.freed_again.frees, ..freed_again };
    Replayed { freed_again, ..replayed }
}

impl Books<'_, '_> {
    fn go_through(&mut self, trace: &Trace, reader: &AllocationReader<'_>, parts: &mut Parts) {
        let spans = &trace.survey().spans;
        let slices = whole(spans).map(|(begin, end)| slices(spans, begin, end, RECORDS)).unwrap_or_default();
        let mut runs = RecordRuns::default();
        // After the last slice what is on its way goes through the other stages.
        let (mut read, mut prepared, mut looked_up) = ((Vec::new(), Ticks::default()), Steps::default(), None);
        for slice in slices.iter().map(Some).chain([None; 3]) {
            let (of_buffers, until) = std::mem::take(&mut read);
            let (now_prepared, (found, now_read)) = rayon::join(
                || {
                    let counted = looked_up.take().map(|(steps, found)| {
                        self.count(&steps, found);
                        steps
                    });
                    runs.add(of_buffers);
                    self.prepare(&mut runs, until, counted.unwrap_or_default())
                },
                || {
                    let read = || slice.map(|slice| reader.blocks(&slice.buffers)).unwrap_or_default();
                    rayon::join(|| parts.look_up(&prepared), read)
                },
            );
            looked_up = Some((std::mem::replace(&mut prepared, now_prepared), found));
            read = (now_read, slice.map_or(Ticks(i64::MAX), |slice| slice.to));
        }
        looked_up.into_iter().for_each(|(steps, found)| self.count(&steps, found));
        let mut steps = Steps::with_room(Steps::default(), 0);
        self.triggers_until(None, &mut steps);
        let found = parts.look_up(&steps);
        self.count(&steps, found);
    }

    /// `room`: steps of which nothing is needed any more.
    fn prepare(&mut self, runs: &mut RecordRuns<BlockRecord>, until: Ticks, room: Steps) -> Steps {
        let mut steps = Steps::with_room(room, RECORDS as usize);
        while let Some(record) = runs.next_until(until) {
            if record.moment >= self.next_trigger {
                self.triggers_until(Some(record.moment), &mut steps);
            }
            match record.action {
                BlockAction::Alloc | BlockAction::ReallocNew => self.allocations += 1,
                BlockAction::Free => self.frees += 1,
                BlockAction::ReallocOld | BlockAction::HeapCreate | BlockAction::HeapDestroy => {}
            }
            match &mut self.kind {
                Kind::Pool(pool) => pool.prepare(&record, self.counting, &mut steps),
                Kind::Heap(heaps) => heaps.prepare(&record, self.counting, &mut steps),
            }
        }
        steps
    }

    /// What happens before a record; all that is left for `None`.
    fn triggers_until(&mut self, moment: Option<Moment>, steps: &mut Steps) {
        while let Some((at, trigger)) = self.triggers.next_if(|(at, _)| moment.is_none_or(|moment| *at <= moment)) {
            match (&mut self.kind, trigger) {
                (Kind::Heap(heaps), Trigger::End(life)) => heaps.prepare_end(life, at, steps),
                (Kind::Pool(pool), Trigger::Entry(entry)) => pool.prepare_listed(at, &entry, self.counting, steps),
                _ => {}
            }
        }
        self.next_trigger = self.triggers.peek().map_or(Moment::LAST, |(moment, _)| *moment);
    }

    fn count(&mut self, steps: &Steps, found: Vec<Found>) {
        let mut parts = Outcomes::of_parts(steps, found);
        for part in steps.order() {
            let Some(outcomes) = parts.get_mut(usize::from(*part)) else {
                self.count_gone(&mut parts);
                continue;
            };
            let Some((step, live)) = outcomes.next() else { continue };
            match &mut self.kind {
                Kind::Pool(pool) => pool.count(step, live, self.counting),
                Kind::Heap(heaps) => heaps.count(step, live, self.counting),
            }
        }
    }

    /// The next step of all parts.
    fn count_gone(&mut self, parts: &mut [Outcomes<'_>]) {
        let steps: Vec<Step> = parts.iter_mut().filter_map(|part| Some(*part.next()?.0)).collect();
        if let Some(step @ Step { what: What::Gone(reason), .. }) = steps.first() {
            Heaps::count_gone(step, *reason, parts.iter_mut().filter_map(Outcomes::next_gone), self.counting);
        }
    }

    /// What is live at the end of the trace.
    fn close_rest(&mut self, parts: Parts) {
        let blocks = parts.into_blocks();
        let has_order = self.counting.has_order();
        let close = |(_, address, live): (u32, u64, Live)| {
            self.counting.close(live.opening(), Some(address), live.bytes, None);
        };
        if !has_order {
            return blocks.for_each(close);
        }
        let kind = &self.kind;
        let heap = |number: u32| match kind {
            Kind::Pool(_) => (number, 0),
            Kind::Heap(heaps) => heaps.place(number),
        };
        let mut sorted: Vec<(u32, u64, Live)> = blocks.collect();
        sorted.sort_unstable_by_key(|(number, address, _)| (heap(*number), *address));
        sorted.into_iter().for_each(close);
    }

    fn replayed(self, has_start_snapshot: bool) -> Replayed {
        let mut records = vec![("allocations", self.allocations), ("frees", self.frees)];
        match self.kind {
            Kind::Pool(pool) => {
                let counts = pool.counts;
                records.extend([("mismatched", counts.mismatched), ("malformed", counts.left_out.impossible)]);
                let source = if has_start_snapshot { "snapshot" } else { "unknown" };
                let check = pool.check.map(Check::Pool);
                Replayed {
                    at_start: vec![(source, 1)],
                    records,
                    allocated_again: counts.allocated_again,
                    listed_left_out: counts.listed_left_out.impossible,
                    idle_frees: counts.idle_frees,
                    check,
                    ..Replayed::default()
                }
            }
            Kind::Heap(heaps) => {
                let counts = heaps.counts;
                records.extend([
                    ("after_end", counts.after_end),
                    ("no_process", counts.no_process),
                    ("failed", counts.left_out.failed),
                    ("unknown_frees", counts.unknown_frees),
                    ("realloc_summaries", counts.realloc_summaries),
                ]);
                let impossible = counts.left_out.impossible;
                records.extend((impossible > 0).then_some(("malformed", impossible)));
                let lives = &self.counting.lives;
                let freed_again = FreedAgain { frees: counts.frees_of_new_heaps, ..FreedAgain::default() };
                let allocated_again = counts.allocated_again;
                let is_born = |life: &&LifeId| lives.get(**life).is_some_and(|life| life.begin.is_some());
                let born = heaps.lives.iter().filter(is_born).count() as u64;
                let sources = [("born", born), ("unknown", heaps.lives.len() as u64 - born)];
                let at_start = sources.into_iter().filter(|(_, number)| *number > 0).collect();
                let idle_frees = IdleFrees { impossible: counts.frees_of_nothing, unmatched: counts.unknown_frees };
                Replayed { at_start, records, allocated_again, freed_again, idle_frees, ..Replayed::default() }
            }
        }
    }
}
