//! All samples of a trace, and whether they stand for more time than there is.

use crate::analysis::cpu::replay::sample_counts::SampleCounts;
use crate::analysis::stacks::{ProfileIntervals, TimeOfSamples};
use crate::analysis::time_grid::TickRange;
use crate::etl::buffer_order::ranks;
use crate::event::hooks::SAMPLED_PROFILE;
use crate::event::perfinfo::ProfileSample;
use crate::event::{Decoded, Event, decode};
use crate::load::stacks::first_walk::Parts as StackParts;
use crate::load::timed_records::for_each_moment;
use crate::moment::At;
use crate::trace::Trace;
use crate::trace::analysis_needs::CPU;
use crate::trace::trust::warning::Warning;

/// A sample, and its processor.
pub(super) type Sample = At<(ProfileSample, u16)>;

/// That the samples of a window stand for more time than there is.
pub(super) fn beyond_capacity(trace: &Trace, range: TickRange) -> Option<Warning> {
    if trace.survey().kernel_count(SAMPLED_PROFILE) == 0 {
        return None;
    }
    let parts = StackParts::new(trace.etl());
    let mut intervals = ProfileIntervals::new(&parts.intervals);
    let mut time = TimeOfSamples::default();
    for At { moment, value: (sample, _) } in samples(trace).iter().filter(|sample| range.holds(sample.moment.time)) {
        let time_ns = intervals.nanos(*moment).saturating_mul(sample.count.into());
        time += TimeOfSamples { records: 1, time_ns };
    }
    time.beyond_capacity(trace, CPU.name, range)
}

/// The same beside context switches, of so many processors. The records are read again only where there are about too many of them.
pub(super) fn beside_switches(
    trace: &Trace,
    range: TickRange,
    counts: &SampleCounts,
    processors: u64,
) -> Option<Warning> {
    let is_crowded = counts.are_crowded(range.ticks().saturating_mul(processors));
    is_crowded.then(|| beyond_capacity(trace, range)).flatten()
}

/// All samples in record order, with their processors.
pub(super) fn samples(trace: &Trace) -> Vec<Sample> {
    let etl = trace.etl();
    let rank = ranks(&etl.buffers);
    let found = etl.fold_buffers(Vec::new, |all: &mut Vec<Sample>, area| {
        for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
            if hook.is_none_or(|hook| hook == SAMPLED_PROFILE)
                && let Ok(record) = raw.read()
                && let Decoded::Event { event: Event::ProfileSample(sample), .. } = decode(&record)
            {
                all.push(At { moment, value: (sample, area.buffer.processor) });
            }
        });
    });
    let mut all: Vec<Sample> = found.into_iter().flatten().collect();
    all.sort_unstable_by_key(|sample| sample.moment);
    all
}
