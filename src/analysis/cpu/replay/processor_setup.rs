//! The window, and the facts about each processor that are needed before its records are read.

use crate::analysis::cpu::query::CpuQuery;
use crate::analysis::cpu::replay::processor::ProcessorSetup;
use crate::analysis::time_grid::{Grid, TickRange};
use crate::error::Error;
use crate::etl::buffer_order::ranks;
use crate::etl::log_file_header::MOST_PROCESSORS;
use crate::load::scheduling::BufferFacts;
use crate::model::kernel_images::KernelImages;
use crate::model::window::{Ends, Window};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::trust::loss::{SequenceHole, sequence_holes};
use crate::units::Ticks;
use std::collections::VecDeque;

/// The window: from the first to the last context switch, or as the user says. `None` without any.
pub fn window(trace: &Trace, query: &CpuQuery) -> Result<Option<Window>, Error> {
    let facts = &trace.scheduling().buffers;
    let first = facts.iter().filter_map(|facts| facts.first_switch).map(|(moment, _)| moment.time).min();
    let last = facts.iter().filter_map(|facts| facts.last_switch).max();
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let ends = Ends {
        first,
        last: Moment::end_of(last),
        ..Ends::of_trace(trace.etl(), trace.survey(), &trace.system().marks)
    };
    Window::between(ends, query.from.as_ref(), query.to.as_ref(), &trace.etl().clock).map(Some)
}

/// The setups of all processors: those of the session, and any others that have records.
pub fn setups(
    trace: &Trace,
    range: TickRange,
    timeline: Option<Grid>,
    query: &CpuQuery,
    images: &KernelImages<'_>,
) -> Vec<ProcessorSetup> {
    let (etl, facts) = (trace.etl(), &trace.scheduling().buffers);
    let processor = |buffer: u32| etl.buffers.get(buffer as usize).map_or(0, |buffer| buffer.processor);
    let named = etl.header.processors.min(MOST_PROCESSORS) as usize;
    let seen = facts.iter().map(|facts| usize::from(processor(facts.buffer)) + 1).max().unwrap_or(0);
    let clock = Grid::new(range.from, query.tick, etl.clock.frequency_hz);
    let one = ProcessorSetup {
        begin: Ticks(i64::MIN),
        range,
        timeline,
        clock: Some(clock),
        image_changes: images.changes.clone(),
        ..ProcessorSetup::default()
    };
    let mut all = vec![one; named.max(seen)];
    for facts in facts {
        if let (Some(first), Some(setup)) = (facts.first_switch, all.get_mut(usize::from(processor(facts.buffer)))) {
            setup.first_switches.push(first);
        }
    }
    let holes = holes(trace, all.len());
    for ((number, setup), holes) in (0..=u16::MAX).zip(&mut all).zip(holes) {
        setup.number = number;
        setup.first_switches.sort_unstable();
        setup.holes = holes;
    }
    all
}

/// When records go missing, by processor: at its last record before a missing sequence number.
fn holes(trace: &Trace, processors: usize) -> Vec<VecDeque<Moment>> {
    let (etl, facts) = (trace.etl(), &trace.scheduling().buffers);
    let mut all: Vec<Vec<Moment>> = vec![Vec::new(); processors];
    let own = (etl, 0..etl.own_buffers().len());
    for (file, buffers) in std::iter::once(own).chain(etl.further().map(|(_, file, buffers)| (file, buffers))) {
        // Losses of a file without switches, such as one of heap ranges, do not matter here.
        let has_switches =
            |facts: &BufferFacts| facts.first_switch.is_some() && buffers.contains(&(facts.buffer as usize));
        let sequence_holes = sequence_holes(file);
        if sequence_holes.is_empty() || !facts.iter().any(has_switches) {
            continue;
        }
        let rank = ranks(&etl.buffers);
        let end = |index: usize| {
            let span = trace.survey().spans.get(index).copied().flatten()?;
            let rank = rank.get(index).copied().unwrap_or(index as u32);
            Some(Moment { time: span.last, order: u64::from(rank) << 32 | u64::from(u32::MAX) })
        };
        for (number, found) in all.iter_mut().enumerate() {
            let own = buffers.clone().zip(etl.buffers.get(buffers.clone()).unwrap_or_default());
            let mut own: Vec<(u64, usize)> = own
                .filter(|(_, buffer)| usize::from(buffer.processor) == number)
                .map(|(index, buffer)| (buffer.sequence, index))
                .collect();
            own.sort_unstable();
            found.extend(holes_of_processor(&own, &sequence_holes, end));
        }
    }
    all.iter_mut().for_each(|found| found.sort_unstable());
    all.into_iter().map(VecDeque::from).collect()
}

/// When records of a processor go missing in a file; `own` are its buffers by sequence number, `end` gives the end of a
/// buffer.
fn holes_of_processor(
    own: &[(u64, usize)],
    sequence_holes: &[SequenceHole],
    end: impl Fn(usize) -> Option<Moment>,
) -> Vec<Moment> {
    let is_gap_between = |low: u64, high: u64| {
        let hole = sequence_holes.get(sequence_holes.partition_point(|hole| hole.low < low));
        hole.is_some_and(|hole| hole.high <= high)
    };
    let (mut found, mut last) = (Vec::new(), None);
    for pair in own.windows(2) {
        let ((low, index), (high, _)) = (pair[0], pair[1]);
        last = last.max(end(index));
        if is_gap_between(low, high) {
            found.push(last.unwrap_or(Moment { time: Ticks(i64::MIN), order: 0 }));
        }
    }
    found
}
