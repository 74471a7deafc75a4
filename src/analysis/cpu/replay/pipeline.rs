//! From buffers to the scheduler: a slice of time is read, and its processors are handled in parallel. Meanwhile the scheduler
//! handles the slice before it, in order.

use crate::analysis::cpu::replay::after_window::AfterWindow;
use crate::analysis::cpu::replay::event_merge::MergedEvents;
use crate::analysis::cpu::replay::processor::Processor;
use crate::analysis::cpu::replay::processor_event::ProcessorEvents;
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::switch_stacks::{KeptStack, SwitchStacks};
use crate::etl::EtlFile;
use crate::etl::time_slice::{TimeSlice, slices};
use crate::load::owned_events::ThreadEvent;
use crate::load::scheduling::{BufferFacts, SchedulingReader};
use crate::load::survey::Survey;
use crate::moment::At;
use crate::trace::Trace;
use crate::units::Ticks;
use rayon::prelude::*;

/// Records of one slice, about.
const RECORDS: u64 = 1 << 15;

/// Works through the whole trace.
pub fn run<S: KeptStack>(
    trace: &Trace,
    processors: &mut [Processor],
    scheduler: &mut Scheduler<'_, S>,
    stacks: Option<&SwitchStacks>,
) {
    let (etl, survey, facts) = (trace.etl(), trace.survey(), trace.scheduling().buffers.as_slice());
    let reader = SchedulingReader::new(etl);
    let begin = survey.spans.iter().flatten().map(|span| span.first).min().unwrap_or_default();
    let slices = relevant_slices(survey, facts, Ticks(i64::MIN));
    let horizons = horizons(&slices, facts);
    let end = scheduler.range.to;
    let mut threads = trace.scheduling().threads.as_slice();
    let mut lists: Vec<ProcessorEvents> = processors.iter().map(|_| ProcessorEvents::default()).collect();
    let mut ready = MergedEvents::default();
    let mut next = MergedEvents::default();
    for (slice, &horizon) in slices.iter().zip(&horizons) {
        let buffers = by_processor(etl, &slice.buffers, processors.len());
        rayon::join(
            || ready.replay(scheduler),
            || {
                let all = processors.par_iter_mut().zip(&mut lists).zip(buffers);
                all.for_each(|((processor, out), buffers)| {
                    buffers.into_iter().for_each(|buffer| processor.read(&reader, buffer, begin));
                    processor.advance(horizon, out);
                });
                next.merge(&lists, &mut threads, horizon.min(end), stacks);
            },
        );
        std::mem::swap(&mut ready, &mut next);
    }
    ready.replay(scheduler);
    processors.par_iter_mut().zip(&mut lists).for_each(|(processor, out)| processor.finish(out));
    next.merge(&lists, &mut threads, end, stacks);
    next.replay(scheduler);
    let mut after = AfterWindow::new(scheduler);
    if !after.is_settled() {
        read_on(trace, &reader, processors, &mut after, (threads, stacks));
    }
    scheduler.finish(threads);
}

/// Reads what comes after the window until it is known what the records in it were.
fn read_on<S: KeptStack>(
    trace: &Trace,
    reader: &SchedulingReader<'_>,
    processors: &[Processor],
    after: &mut AfterWindow<'_, '_, S>,
    (mut threads, stacks): (&[At<ThreadEvent>], Option<&SwitchStacks>),
) {
    let (etl, facts) = (trace.etl(), trace.scheduling().buffers.as_slice());
    let mut processors: Vec<Processor> = processors.iter().map(Processor::after_window).collect();
    let slices = relevant_slices(trace.survey(), facts, after.begin());
    let mut lists: Vec<ProcessorEvents> = processors.iter().map(|_| ProcessorEvents::default()).collect();
    let mut merged = MergedEvents::default();
    for (slice, horizon) in slices.iter().zip(horizons(&slices, facts)) {
        let buffers = by_processor(etl, &slice.buffers, processors.len());
        processors.par_iter_mut().zip(&mut lists).zip(buffers).for_each(|((processor, out), buffers)| {
            buffers.into_iter().for_each(|buffer| processor.read(reader, buffer, Ticks(i64::MIN)));
            processor.advance(horizon, out);
        });
        merged.merge(&lists, &mut threads, horizon, stacks);
        merged.replay(after);
        if after.is_settled() {
            return;
        }
    }
    processors.iter_mut().zip(&mut lists).for_each(|(processor, out)| processor.finish(out));
    merged.merge(&lists, &mut threads, Ticks(i64::MAX), stacks);
    merged.replay(after);
    after.finish();
}

/// Slices of the buffers that hold what is needed from `begin` on.
fn relevant_slices(survey: &Survey, facts: &[BufferFacts], begin: Ticks) -> Vec<TimeSlice> {
    let mut spans = vec![None; survey.spans.len()];
    for fact in facts {
        let index = fact.buffer as usize;
        if let (Some(span), Some(slot)) = (survey.spans.get(index), spans.get_mut(index)) {
            *slot = *span;
        }
    }
    slices(&spans, begin, Ticks(i64::MAX), RECORDS)
}

/// For each slice, the time before which everything is known when the slice has been read: everything in later buffers begins
/// then or later.
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

/// The buffers of each processor.
fn by_processor(etl: &EtlFile, buffers: &[u32], processors: usize) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); processors];
    for &index in buffers {
        let processor = etl.buffers.get(index as usize).map(|buffer| usize::from(buffer.processor));
        processor.and_then(|processor| all.get_mut(processor)).into_iter().for_each(|list| list.push(index));
    }
    all
}
