//! Following a trace: slab by slab, all buffers of a slab in parallel, then all buckets of owners in parallel.
//!
//! Memory holds the steps of one slab and what is held by owners, however long the trace is. Steps are ordered by time
//! and place in the file inside each bucket, so the result is the same for any number of threads.

use crate::analysis::reference::apart::{ApartEvent, ApartPages};
use crate::analysis::reference::bucket::{Bucket, Scene, Turn};
use crate::analysis::reference::curve::{Curve, Stretches, Sums};
use crate::analysis::reference::ledger::{Ledger, Share};
use crate::analysis::reference::ordered::OrderedSteps;
use crate::analysis::reference::packed::PackedStep;
use crate::analysis::reference::reason::AccessReason;
use crate::analysis::reference::shared::{SharedPages, up_to};
use crate::analysis::reference::sheaf::{BUCKETS, Reading, Sheaf, bucket_of};
use crate::analysis::reference::slabs::slabs;
use crate::analysis::reference::step::group_of;
use crate::etl::EtlFile;
use crate::etl::order::ranks;
use crate::moment::Moment;
use crate::units::Ticks;
use rayon::prelude::*;
use std::sync::Mutex;

/// What following a trace gives.
#[derive(Debug)]
pub struct Outcome<'h> {
    /// Accounts as they are at the end.
    pub buckets: Vec<Bucket<'h>>,
    /// All sums.
    pub ledger: Ledger,
    /// Pages accessed in the window by records, by reason.
    pub accesses: [u64; AccessReason::ALL.len()],
    /// Accesses of processes that never started.
    pub unattributed: u64,
    /// Pool and ranges at the end.
    pub apart: ApartPages,
    /// Pool and range pages at the window's end.
    pub apart_at_stop: (u64, u64),
    /// Held when the window begins.
    pub at_from: i64,
    /// Held when it ends.
    pub at_to: i64,
    /// Most pages held in the window and when.
    pub peak: (i64, Ticks),
}

/// Follows the trace up to `end`, the first moment that is not followed.
pub fn follow<'h>(etl: &EtlFile, scene: &Scene<'h>, end: Moment) -> Outcome<'h> {
    let plan = scene.plan;
    let window = &plan.window;
    let (rank, _) = ranks(&etl.buffers);
    // What was held when the working sets were emptied last before the window does not matter.
    let begin = window.resets.iter().copied().filter(|&reset| reset <= window.from).max().unwrap_or(Moment::FIRST);
    let reading = Reading { directory: scene.directory, rank: &rank, window, begin, end };
    let last = before(end);

    let mut turns: Vec<(Moment, Turn)> = window.resets.iter().map(|&reset| (reset, Turn::Reset)).collect();
    turns.push((window.to.min(last), Turn::Stop));
    turns.retain(|turn| begin <= turn.0);

    let mut buckets: Vec<Bucket<'h>> = (0..BUCKETS).map(|_| Bucket::default()).collect();
    // What has been read and happens in a later slab.
    let mut later: Vec<(Moment, PackedStep)> = Vec::new();
    let mut apart_events: Vec<ApartEvent> = Vec::new();
    // Memory that is used again for the next slab, and for the next bucket.
    let pool: Mutex<Vec<Sheaf>> = Mutex::default();
    let rooms: Mutex<Vec<Vec<u64>>> = Mutex::default();
    let mut curve = Curve::new(window);
    let mut shared = SharedPages::default();
    let mut shared_rows = Ledger::default();
    let mut apart = ApartPages::default();
    let mut apart_at_stop = (0, 0);
    let (mut accesses, mut unattributed) = ([0; AccessReason::ALL.len()], 0);

    let slabs = slabs(&scene.history.survey.spans, begin.time, last.time, plan.slab_records);
    let spans = || scene.history.survey.spans.iter().flatten();
    let first_stamp = spans().map(|span| span.first).min().unwrap_or_default();
    let last_stamp = spans().map(|span| span.last).max().unwrap_or_default();
    for (number, slab) in slabs.iter().enumerate() {
        let reused = || pool.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_default();
        // One processor's buffers lie behind each other in time: so the steps of a bucket are a few sorted runs.
        let mut by_processor = slab.buffers.clone();
        by_processor.sort_by_key(|&index| etl.buffers.get(index as usize).map_or(0, |buffer| buffer.processor));
        let mut sheaves = etl.fold_some(&by_processor, reused, |sheaf, _, area| {
            sheaf.read(&reading, slab.to, area, etl.before_first());
        });
        let until = if number + 1 == slabs.len() { last } else { Moment { time: slab.to, order: u64::MAX } };

        let times = (slab.from.max(first_stamp), slab.to.min(last_stamp));
        let stretches = Stretches::new(window, times.0, times.1);
        for sheaf in &mut sheaves {
            later.append(&mut sheaf.later);
            apart_events.append(&mut sheaf.apart);
            turns.extend(sheaf.sections.drain(..).map(|(at, low, high)| (at, Turn::SectionDelete(low, high))));
            accesses.iter_mut().zip(sheaf.accesses).for_each(|(all, part)| *all += part);
            unattributed += sheaf.unattributed;
        }
        turns.sort_unstable();
        let due: Vec<_> = turns.extract_if(.., |turn| turn.0 <= until).collect();
        // Pages of a process that was not there yet, in the order in which they were accessed.
        later.sort_by_key(|(logged, step)| (step.moment, *logged));
        let ready = later.partition_point(|(_, step)| step.moment <= until);
        if let Some(sheaf) = sheaves.first_mut() {
            for (_, step) in later.drain(..ready) {
                let bucket = bucket_of(group_of(step.owner(), scene.directory));
                sheaf.buckets.push(bucket, step);
            }
        }

        buckets.par_iter_mut().enumerate().for_each(|(index, bucket)| {
            let mut room = rooms.lock().ok().and_then(|mut rooms| rooms.pop()).unwrap_or_default();
            let parts: Vec<&[PackedStep]> = sheaves.iter().flat_map(|sheaf| sheaf.buckets.chunks(index)).collect();
            bucket.follow(scene, OrderedSteps::new(&parts, &mut room), &due, until);
            bucket.ledger.sums = Sums::new(&stretches, &bucket.ledger.changes);
            if let Ok(mut rooms) = rooms.lock() {
                rooms.push(room);
            }
        });
        let next = slabs.get(number + 1).map_or(slab.to, |next| next.to);
        sheaves.par_iter_mut().for_each(|sheaf| sheaf.clear(next));
        if let Ok(mut pool) = pool.lock() {
            pool.append(&mut sheaves);
        }

        let chosen = curve.add(buckets.iter_mut().map(|bucket| std::mem::take(&mut bucket.ledger.sums)));
        let changes =
            buckets.par_iter_mut().flat_map_iter(|bucket| chosen.changes(&stretches, bucket.ledger.changes.drain(..)));
        curve.look(&stretches, &chosen, changes.collect());

        let mut shares: Vec<Share> = Vec::new();
        buckets.iter_mut().for_each(|bucket| shares.append(&mut bucket.ledger.shares));
        shares.sort_by_key(|share| share.moment);
        apart_events.sort_by_key(|event| event.moment);
        let (mut share_rest, mut apart_rest) = (shares.as_slice(), apart_events.as_slice());
        let (mut followed, end_of_slab) = (0, (until, None));
        for (moment, turn) in due.iter().map(|&(moment, turn)| (moment, Some(turn))).chain([end_of_slab]) {
            let (now, rest) = up_to(share_rest, moment);
            shared.follow(plan, now, &mut shared_rows.rows);
            share_rest = rest;
            let (now, rest) = apart_rest.split_at(apart_rest.partition_point(|event| event.moment <= moment));
            now.iter().for_each(|event| apart.follow(window, event));
            apart_rest = rest;
            followed += now.len();
            match turn {
                None | Some(Turn::SectionDelete(..)) => {}
                Some(Turn::Reset) => {
                    shared.reset();
                    apart.reset();
                }
                Some(Turn::Stop) => {
                    shared.stop(plan, &mut shared_rows.rows);
                    apart_at_stop = (apart.pool_pages, apart.range_pages);
                }
            }
        }
        apart_events.drain(..followed);
    }

    let mut ledger = shared_rows;
    for bucket in &mut buckets {
        ledger.append(std::mem::take(&mut bucket.ledger));
    }
    accesses.iter_mut().zip(apart.accesses).for_each(|(all, part)| *all += part);
    ledger.releases.iter_mut().zip(apart.releases).for_each(|(all, part)| *all += part);
    let Curve { at_from, at_to, peak, .. } = curve;
    Outcome { buckets, ledger, accesses, unattributed, apart, apart_at_stop, at_from, at_to, peak }
}

/// The moment just before another.
fn before(moment: Moment) -> Moment {
    match moment.order.checked_sub(1) {
        Some(order) => Moment { order, ..moment },
        None => Moment { time: Ticks(moment.time.0.saturating_sub(1)), order: u64::MAX },
    }
}
