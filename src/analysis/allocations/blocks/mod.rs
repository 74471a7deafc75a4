//! Blocks of pool and heaps, each with one address. Their records go through four stages, slice by slice, and the stages work at
//! the same time on slices that follow each other:
//!
//! 1. read: the records of several buffers in one order;
//! 2. prepared: whose they are, and what the blocks that they open have in common with others;
//! 3. looked up: which block was live, by parts of the addresses, side by side ([`part`]);
//! 4. counted, in order.
//!
//! What has an order of its own (2 and 4) is done by one thread; the other reads and looks up.

mod heap;
mod part;
mod pool;
mod step;
mod table;

use super::counting::Counting;
use super::lives::LifeId;
use super::replayed::{Check, Replayed};
use crate::etl::time_slice::{TimeSlice, slices};
use crate::event::Phase;
use crate::load::allocation_records::{AllocationReader, BlockAction, BlockRecord};
use crate::load::allocations::{AllocationKind, AllocationRundowns, whole};
use crate::load::pool_rundown::ListedPool;
use crate::load::record_runs::{RecordRuns, emptied};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::Ticks;
use heap::Heaps;
use part::{Found, Parts};
use pool::Pool;
use step::{Step, Steps, What};
use table::Live;

/// Records of a slice, about; each takes some 200 bytes in its four stages.
const RECORDS: u64 = 100_000;

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
    Pool(Pool),
    Heap(Heaps),
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
            (Kind::Heap(Heaps::default()), ends.collect::<Vec<_>>())
        }
        _ => {
            let entries = rundowns.pool.iter().map(|entry| (entry.moment, Trigger::Entry(entry.value)));
            (Kind::Pool(Pool::new(&rundowns.pool)), entries.collect())
        }
    };
    // Entries of one record keep their order.
    triggers.sort_by_key(|(moment, _)| *moment);
    let next_trigger = triggers.first().map_or(Moment::LAST, |(moment, _)| *moment);
    let triggers = triggers.into_iter().peekable();
    let mut books = Books { kind: kind_state, counting, triggers, next_trigger, allocations: 0, frees: 0 };
    let mut parts = Parts::default();
    books.go_through(trace, &AllocationReader::new(trace.etl(), kind), &mut parts);
    books.close_rest(parts);
    let has_start_snapshot = rundowns.pool.iter().any(|entry| entry.value.phase == Phase::DcStart);
    books.replayed(has_start_snapshot)
}

/// The next slice of records; what is left after the last one.
fn read(
    reader: &AllocationReader<'_>,
    slice: Option<&TimeSlice>,
    runs: &mut RecordRuns<BlockRecord>,
    room: Vec<BlockRecord>,
) -> Vec<BlockRecord> {
    runs.add(slice.map(|slice| reader.blocks(&slice.buffers)).unwrap_or_default());
    runs.take_until(slice.map_or(Ticks(i64::MAX), |slice| slice.to), room)
}

impl Books<'_, '_> {
    fn go_through(&mut self, trace: &Trace, reader: &AllocationReader<'_>, parts: &mut Parts) {
        let spans = &trace.survey().spans;
        let slices = whole(spans).map(|(begin, end)| slices(spans, begin, end, RECORDS)).unwrap_or_default();
        let mut runs = RecordRuns::default();
        // After the last slice what is on its way goes through the other stages.
        let (mut records, mut prepared, mut looked_up) = (Vec::new(), Steps::default(), None);
        let mut room = Vec::new();
        for slice in slices.iter().map(Some).chain([None; 4]) {
            let (now_prepared, (found, now_records)) = rayon::join(
                || {
                    let counted = looked_up.take().map(|(steps, found)| {
                        self.count(&steps, found);
                        steps.all
                    });
                    self.prepare(&records, counted.unwrap_or_default())
                },
                || {
                    rayon::join(
                        || parts.look_up(&prepared),
                        || read(reader, slice, &mut runs, std::mem::take(&mut room)),
                    )
                },
            );
            looked_up = Some((std::mem::replace(&mut prepared, now_prepared), found));
            room = std::mem::replace(&mut records, now_records);
        }
        looked_up.into_iter().for_each(|(steps, found)| self.count(&steps, found));
        let mut steps = Steps::default();
        self.triggers_until(None, &mut steps);
        let found = parts.look_up(&steps);
        self.count(&steps, found);
    }

    /// `room`: steps of which nothing is needed any more.
    fn prepare(&mut self, records: &[BlockRecord], room: Vec<Step>) -> Steps {
        let mut steps = Steps { all: emptied(room, records.len()) };
        for record in records {
            if record.moment >= self.next_trigger {
                self.triggers_until(Some(record.moment), &mut steps);
            }
            match record.action {
                BlockAction::Alloc | BlockAction::ReallocNew => self.allocations += 1,
                BlockAction::Free => self.frees += 1,
                BlockAction::ReallocOld | BlockAction::HeapCreate | BlockAction::HeapDestroy => {}
            }
            match &mut self.kind {
                Kind::Pool(pool) => pool.prepare(record, self.counting, &mut steps),
                Kind::Heap(heaps) => heaps.prepare(record, self.counting, &mut steps),
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

    fn count(&mut self, steps: &Steps, mut found: Vec<Found>) {
        for step in &steps.all {
            if let What::Gone(reason) = step.what {
                let blocks = found.iter_mut().filter_map(Found::next_gone);
                Heaps::count_gone(step, reason, blocks, self.counting);
                continue;
            }
            let live = step.part().and_then(|part| found.get_mut(part)).and_then(Found::next);
            match &mut self.kind {
                Kind::Pool(pool) => pool.count(step, live, self.counting),
                Kind::Heap(heaps) => heaps.count(step, live, self.counting),
            }
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
                Replayed { at_start: vec![(source, 1)], records, check, ..Replayed::default() }
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
                let lives = &self.counting.lives;
                let is_born = |life: &&LifeId| lives.get(**life).is_some_and(|life| life.begin.is_some());
                let born = heaps.lives.iter().filter(is_born).count() as u64;
                let sources = [("born", born), ("unknown", heaps.lives.len() as u64 - born)];
                let at_start = sources.into_iter().filter(|(_, number)| *number > 0).collect();
                Replayed { at_start, records, ..Replayed::default() }
            }
        }
    }
}
