//! Of how much time there are samples: those that are missing would have met somebody, and shares of the others say nothing of it.

use crate::analysis::cpu::all_samples::Sample;
use crate::analysis::cpu::replay::sample_counts::SampleGaps;
use crate::analysis::stacks::{SamplesByProcessor, percent};
use crate::analysis::time_grid::TickRange;
use crate::etl::clock::Clock;
use crate::trace::Trace;
use crate::trace::analysis_needs::CPU;
use crate::trace::trust::warning::Warning;
use crate::units::{Ticks, counted};

/// A time without samples of any processor is a hole from so many intervals on, and from one part in so many of the time of samples.
const HOLE_INTERVALS: u64 = 10;
const HOLE_PART: u64 = 100;

/// What has no sample is told from one part in so many on.
const MISSING_PART: u128 = 20;

/// Of how much time of the window there are samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SampleCoverage {
    /// The part of the window between the first sample of the trace and the last one, nanoseconds.
    pub span_ns: u64,
    by_processor: SamplesByProcessor,
    /// Times without a sample of any processor, how long they are together, and from when to when the longest is.
    holes: (u64, u64),
    longest: (Ticks, Ticks),
    /// The interval, where no event names it.
    assumed_ns: Option<u64>,
}

impl SampleCoverage {
    /// `samples`: of the trace, in order; `counted`: processors and times of those in the window; `interval_ns`: of the timer, and whether an
    /// event names it.
    pub fn new(
        trace: &Trace,
        range: TickRange,
        samples: &[Sample],
        counted: impl Iterator<Item = (u16, u64)>,
        (interval_ns, is_named): (u64, bool),
    ) -> SampleCoverage {
        let clock = &trace.etl().clock;
        let ends = samples.first().zip(samples.last()).map(|(first, last)| (first.moment.time, last.moment.time));
        let Some((first, last)) = ends else { return SampleCoverage::default() };
        let span = TickRange { from: range.clip(first), to: range.clip(last) };
        let mut coverage = SampleCoverage {
            span_ns: nanos(clock, span.ticks()),
            assumed_ns: (!is_named).then_some(interval_ns),
            by_processor: SamplesByProcessor::new(trace),
            ..SampleCoverage::default()
        };
        counted.for_each(|(processor, time_ns)| coverage.by_processor.add(processor, time_ns));
        coverage.find_holes(samples, span, (interval_ns, clock));
        coverage
    }

    fn find_holes(&mut self, samples: &[Sample], span: TickRange, (interval_ns, clock): (u64, &Clock)) {
        let mut gaps = SampleGaps::default();
        samples.iter().for_each(|sample| gaps.add(sample.value.1, sample.moment.time, sample.value.0.count.into()));
        let interval = u128::from(interval_ns) * u128::from(clock.frequency_hz) / 1_000_000_000;
        let interval = u64::try_from(interval).unwrap_or(u64::MAX).max(gaps.typical());
        let least = interval.saturating_mul(HOLE_INTERVALS).max(span.ticks() / HOLE_PART);
        let mut most = 0;
        for (before, after) in samples.iter().zip(samples.iter().skip(1)) {
            let (from, to) = (before.moment.time, after.moment.time);
            let several = u64::from(after.value.0.count).max(1);
            let ticks = span.between(from, to);
            if ticks > least.saturating_mul(several) {
                (self.holes.0, self.holes.1) = (self.holes.0 + 1, self.holes.1.saturating_add(ticks));
                if ticks > most {
                    (most, self.longest) = (ticks, (span.clip(from), span.clip(to)));
                }
            }
        }
    }

    /// What the samples stand for, and what they would stand for without holes, nanoseconds; `None` where both are about the same.
    pub fn lacking(&self) -> Option<(u64, u64)> {
        let (missing, all) = (u128::from(self.missing_ns()), self.whole());
        let narrow = |nanos: u128| u64::try_from(nanos).unwrap_or(u64::MAX);
        (missing > 0 && missing * MISSING_PART > all).then(|| (narrow(all.saturating_sub(missing)), narrow(all)))
    }

    fn whole(&self) -> u128 {
        u128::from(self.span_ns) * self.processors() as u128
    }

    /// Time of processors that has no sample.
    fn missing_ns(&self) -> u64 {
        self.by_processor.times().iter().fold(0, |sum, time| sum.saturating_add(self.span_ns.saturating_sub(*time)))
    }

    /// How many processors are in it.
    pub fn processors(&self) -> usize {
        self.by_processor.times().len()
    }

    /// What a reader of shares and times has to know.
    pub fn warnings(&self, clock: &Clock) -> Vec<Warning> {
        let hole = (self.holes.0 > 0).then(|| {
            let [from, to] = [self.longest.0, self.longest.1].map(|time| clock.nanos(time).seconds());
            let holes = nanos(clock, self.holes.1);
            let more = self.holes.0 - 1;
            let more = if more > 0 { format!(" and {} more", counted(more, "time", "times")) } else { String::new() };
            let text = format!(
                "no processor has a sample from {from:.6} s to {to:.6} s{more}, {} together: samples were lost, or all processors were idle",
                share(holes.into(), self.span_ns.into()),
            );
            Warning::grave(CPU.name, "samples_missing", text)
        });
        let all = self.whole();
        let missing = self.lacking().map(|_| {
            let interval =
                self.assumed_ns.map(|nanos| format!("; no event names the interval, {} is assumed", ms(nanos.into())));
            format!(
                "{} of the time of {} from the first to the last sample have no sample{}",
                share(self.missing_ns().into(), all),
                counted(self.processors() as u64, "processor", "processors"),
                interval.unwrap_or_default()
            )
        });
        let lines: Vec<String> = missing.into_iter().chain(self.by_processor.with_few(self.span_ns)).collect();
        let missing = Warning::note(CPU.name, "some_samples_missing", lines.join("; "));
        let silent = self.by_processor.silent(CPU.name, self.span_ns);
        hole.into_iter().chain((!lines.is_empty()).then_some(missing)).chain(silent).collect()
    }
}

fn nanos(clock: &Clock, ticks: u64) -> u64 {
    u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(clock.frequency_hz.max(1))).unwrap_or(u64::MAX)
}

fn ms(nanos: u128) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

fn share(part: u128, all: u128) -> String {
    format!("{} ({})", ms(part), percent(part, all))
}
