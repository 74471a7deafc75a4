//! The window, and the facts about each processor that are needed before its records are read.

use crate::analysis::cpu::query::CpuQuery;
use crate::analysis::cpu::replay::processor::ProcessorSetup;
use crate::analysis::recording_end::begun_inside;
use crate::analysis::time_grid::{Grid, TickRange};
use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::log_file_header::MOST_PROCESSORS;
use crate::load::scheduling::BufferFacts;
use crate::model::kernel_images::KernelImages;
use crate::model::window::{Ends, Window};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::trust::loss::{SequenceHole, sequence_holes};
use crate::units::{Nanos, Ticks};
use std::collections::VecDeque;
use std::ops::Range;

/// The window: from the first to the last context switch, or as the user says. `None` without any.
pub fn window(trace: &Trace, query: &CpuQuery) -> Result<Option<Window>, Error> {
    let facts = &trace.scheduling().buffers;
    let first = facts.iter().filter_map(|facts| facts.first_switch).map(|(moment, _)| moment.time).min();
    let last = facts.iter().filter_map(|facts| facts.last_switch).max();
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let ends = Ends {
        first,
        last: Moment::end_of(last),
        last_is: Some("the last context switch"),
        ..Ends::of_trace(trace.etl(), trace.survey(), &trace.system().marks)
    };
    let window = Window::between(ends, query.from.as_ref(), query.to.as_ref(), &trace.etl().clock)?;
    let window = begun_inside(trace, query.from.as_ref(), window)?;
    // Its end is outside, so nothing is between the two.
    if query.from.is_some() && window.from.time == window.to.time {
        let at = trace.time(window.from.time).seconds();
        return Err(Error::Usage(format!(
            "the window is empty: it begins and, by default, ends with the last context switch ({at:.6} s): name its end too"
        )));
    }
    Ok(Some(window))
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
    let missing = missing(trace, all.len());
    let begins_unknown = keeps_the_last(trace);
    for ((number, setup), missing) in (0..=u16::MAX).zip(&mut all).zip(missing) {
        setup.number = number;
        setup.first_switches.sort_unstable();
        setup.begins_unknown = begins_unknown;
        setup.holes = VecDeque::from(missing.holes);
        setup.missing_at_ends = missing.at_ends;
        setup.last_switch =
            facts.iter().filter(|facts| processor(facts.buffer) == number).filter_map(|facts| facts.last_switch).max();
    }
    all
}

/// A kernel session has context switches at once. One whose first comes so much later kept only its last buffers.
const NOT_KEPT: Nanos = Nanos(1_000_000_000);

/// What is missing of the records of one processor.
#[derive(Debug, Clone, Default)]
struct Missing {
    /// The last record before each hole.
    holes: Vec<Moment>,
    /// Buffers are missing that can have been before its first one, and after its last one.
    at_ends: (bool, bool),
}

/// True where only the last buffers were kept, of each processor from another moment on: what ran before its first switch is not known.
fn keeps_the_last(trace: &Trace) -> bool {
    let (etl, facts) = (trace.etl(), &trace.scheduling().buffers);
    let is_filled = |(file, buffers): (&EtlFile, Range<usize>)| file.has_overwritten() && has_switches(facts, &buffers);
    let first = facts.iter().filter_map(|facts| facts.first_switch).map(|(moment, _)| moment.time).min();
    files(etl).any(is_filled) || first.is_some_and(|first| etl.clock.nanos(first) > NOT_KEPT)
}

/// The files of a recording with the numbers of their buffers.
fn files(etl: &EtlFile) -> impl Iterator<Item = (&EtlFile, Range<usize>)> {
    let own = (etl, 0..etl.own_buffers().len());
    std::iter::once(own).chain(etl.further().map(|(_, file, buffers)| (file, buffers)))
}

/// Losses of a file without switches, such as one of heap ranges, do not matter here.
fn has_switches(facts: &[BufferFacts], buffers: &Range<usize>) -> bool {
    facts.iter().any(|facts| facts.first_switch.is_some() && buffers.contains(&(facts.buffer as usize)))
}

/// When records go missing, by processor: at its last record before a missing sequence number, or in a file whose end is missing.
fn missing(trace: &Trace, processors: usize) -> Vec<Missing> {
    let (etl, facts) = (trace.etl(), &trace.scheduling().buffers);
    let mut all: Vec<Missing> = vec![Missing::default(); processors];
    for (file_number, (file, buffers)) in (0..=u16::MAX).zip(files(etl)) {
        let sequence_holes = sequence_holes(file);
        let ends_early = trace.trust().ends_early(file_number);
        if (sequence_holes.is_empty() && !ends_early) || !has_switches(facts, &buffers) {
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
            found.holes.extend(holes_of_processor(&own, &sequence_holes, end));
            let last = own.iter().filter_map(|(_, index)| end(*index)).max();
            found.holes.extend(last.filter(|_| ends_early));
            let (Some((first, _)), Some((last, _))) = (own.first(), own.last()) else { continue };
            found.at_ends.0 |= sequence_holes.iter().any(|hole| hole.high <= *first);
            found.at_ends.1 |= sequence_holes.iter().any(|hole| hole.low >= *last);
        }
    }
    all.iter_mut().for_each(|found| found.holes.sort_unstable());
    all
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
