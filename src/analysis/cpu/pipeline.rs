//! From buffers to the scheduler: slices of time are read and each processor's part is worked through in parallel, while the
//! scheduler works through the slice before, in order.

use crate::analysis::cpu::processor::{Processor, StepList};
use crate::analysis::cpu::scheduler::{Parts, Scheduler};
use crate::analysis::reference::time_slice::{TimeSlice, slices};
use crate::etl::EtlFile;
use crate::etl::order::ranks;
use crate::load::facts::ThreadEvent;
use crate::load::history::History;
use crate::load::scheduling::{BufferEvents, BufferFacts, read_buffers};
use crate::moment::{At, Moment};
use crate::units::Ticks;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records of one slice, about.
const RECORDS: u64 = 1 << 18;

/// Works through the whole trace.
pub fn run(
    etl: &EtlFile,
    history: &History,
    facts: &[BufferFacts],
    processors: &mut [Processor],
    scheduler: &mut Scheduler,
) {
    let (rank, _) = ranks(&etl.buffers);
    let begin = history.survey.spans.iter().flatten().map(|span| span.first).min().unwrap_or_default();
    let slices = relevant_slices(history, facts);
    let horizons = horizons(&slices, facts);
    let mut threads = history.threads.as_slice();
    let mut ready: Vec<StepList> = processors.iter().map(|_| StepList::default()).collect();
    let mut next: Vec<StepList> = processors.iter().map(|_| StepList::default()).collect();
    let mut until = Ticks(i64::MIN);
    for (slice, &horizon) in slices.iter().zip(&horizons) {
        rayon::join(
            || in_order(&ready, &mut threads, until, scheduler),
            || {
                let read = read_buffers(etl, &slice.buffers, &rank);
                add(etl, processors, &slice.buffers, &read, begin);
                processors.par_iter_mut().zip(&mut next).for_each(|(processor, out)| processor.advance(horizon, out));
            },
        );
        std::mem::swap(&mut ready, &mut next);
        until = horizon;
    }
    in_order(&ready, &mut threads, until, scheduler);
    processors.par_iter_mut().zip(&mut next).for_each(|(processor, out)| processor.finish(out));
    in_order(&next, &mut threads, scheduler.range.to, scheduler);
    scheduler.finish(threads);
}

/// Slices of the buffers that hold what is needed.
fn relevant_slices(history: &History, facts: &[BufferFacts]) -> Vec<TimeSlice> {
    let mut spans = vec![None; history.survey.spans.len()];
    for fact in facts {
        let index = fact.buffer as usize;
        if let (Some(span), Some(slot)) = (history.survey.spans.get(index), spans.get_mut(index)) {
            *slot = *span;
        }
    }
    slices(&spans, Ticks(i64::MIN), Ticks(i64::MAX), RECORDS)
}

/// For each slice, the time before which everything is known when it has been read: what later buffers tell of begins then
/// or later.
fn horizons(slices: &[TimeSlice], facts: &[BufferFacts]) -> Vec<Ticks> {
    let mut reach: Vec<Option<Ticks>> = Vec::new();
    for fact in facts {
        let index = fact.buffer as usize;
        reach.resize(reach.len().max(index + 1), None);
        reach.get_mut(index).into_iter().for_each(|slot| *slot = fact.reaches_back_to);
    }
    let earliest = |slice: &TimeSlice| {
        let of_buffer = |&index: &u32| reach.get(index as usize).copied().flatten();
        slice.buffers.iter().filter_map(of_buffer).min()
    };
    let mut later = Ticks(i64::MAX);
    let mut horizons: Vec<Ticks> = Vec::with_capacity(slices.len());
    for slice in slices.iter().rev() {
        horizons.push(Ticks(slice.to.0.saturating_add(1)).min(later));
        later = earliest(slice).map_or(later, |earliest| later.min(earliest));
    }
    horizons.reverse();
    horizons
}

/// Adds what was read to the processors.
fn add(etl: &EtlFile, processors: &mut [Processor], buffers: &[u32], read: &[BufferEvents], begin: Ticks) {
    let of = |index: &u32| etl.buffers.get(*index as usize).map(|buffer| usize::from(buffer.processor));
    let mut by_processor: Vec<Vec<&BufferEvents>> = vec![Vec::new(); processors.len()];
    for (index, events) in buffers.iter().zip(read) {
        if let Some(list) = of(index).and_then(|processor| by_processor.get_mut(processor)) {
            list.push(events);
        }
    }
    processors.par_iter_mut().zip(by_processor).for_each(|(processor, list)| {
        list.into_iter().for_each(|events| processor.add(events, begin));
    });
}

/// The processors' steps and the thread events before `until`, in the order of their moments.
fn in_order(lists: &[StepList], threads: &mut &[At<ThreadEvent>], until: Ticks, scheduler: &mut Scheduler) {
    let until = until.min(scheduler.range.to);
    let mut parts: Vec<Parts<'_>> = lists.iter().map(Parts::new).collect();
    let mut places = vec![0usize; lists.len()];
    let heads = (0..lists.len()).filter_map(|source| Some(Reverse((lists.get(source)?.steps.first()?.moment, source))));
    let mut heads: BinaryHeap<Reverse<(Moment, usize)>> = heads.collect();
    while let Some(Reverse((_, source))) = heads.pop() {
        let limit = heads.peek().map_or(Moment::LAST, |Reverse((moment, _))| *moment);
        let (Some(list), Some(place), Some(parts)) = (lists.get(source), places.get_mut(source), parts.get_mut(source))
        else {
            continue;
        };
        while let Some(step) = list.steps.get(*place) {
            if step.moment > limit {
                heads.push(Reverse((step.moment, source)));
                break;
            }
            while let Some((event, rest)) = threads.split_first()
                && event.moment < step.moment
                && event.moment.time < until
            {
                scheduler.thread_event(event);
                *threads = rest;
            }
            scheduler.step(source as u16, step, parts.of(*place));
            *place += 1;
        }
    }
    while let Some((event, rest)) = threads.split_first()
        && event.moment.time < until
    {
        scheduler.thread_event(event);
        *threads = rest;
    }
}
