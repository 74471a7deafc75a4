//! Of how much time there are samples: those that are missing would have met somebody, and shares of the others say nothing of it.

use super::sample_gaps::SampleGaps;
use super::samples_by_processor::{SamplesByProcessor, percent};
use super::sampling_intervals::ProfileIntervals;
use crate::analysis::time_grid::TickRange;
use crate::etl::clock::Clock;
use crate::event::hooks::{COMPACT_CSWITCH, CSWITCH};
use crate::load::stacks::first_walk::Parts;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::{Ticks, counted};

/// When a sample was, on which processor, and for how many samples the record stands.
pub(crate) type SampleTime = (Ticks, u16, u64);

/// A time without samples of any processor is a hole from so many intervals on, and from one part in so many of the time of samples.
const HOLE_INTERVALS: u64 = 10;
const HOLE_PART: u64 = 100;

/// In fewer intervals of the timer nothing is said of processors without a sample.
const LEAST_INTERVALS: u64 = 10;

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
    /// The longest interval of the timer in the window, nanoseconds.
    interval_ns: u64,
    /// True where an event names it.
    is_named: bool,
    /// How far samples are apart, ticks, where that is about always the same.
    distance: Option<u64>,
    /// Context switches tell whether processors were idle.
    has_switches: bool,
}

impl SampleCoverage {
    /// `samples`: of the trace, in order; `by_processor`: times of those in the window; `longest_ns`: of the intervals of the timer at these,
    /// where there are any.
    pub fn new(
        (trace, parts): (&Trace, &Parts),
        range: TickRange,
        samples: impl Iterator<Item = SampleTime> + Clone,
        by_processor: SamplesByProcessor,
        longest_ns: Option<u64>,
    ) -> SampleCoverage {
        let clock = &trace.etl().clock;
        let mut gaps = SampleGaps::default();
        let mut ends = None;
        for (time, processor, count) in samples.clone() {
            gaps.add(processor, time, count);
            ends = Some((ends.map_or(time, |(first, _)| first), time));
        }
        let Some((first, last)) = ends else { return SampleCoverage::default() };
        let span = TickRange { from: range.clip(first), to: range.clip(last) };
        let mut coverage = SampleCoverage {
            span_ns: clock.length_ns(span.ticks()),
            by_processor,
            interval_ns: longest_ns.unwrap_or_else(|| ProfileIntervals::new(&parts.intervals).first()),
            is_named: !parts.intervals.is_empty(),
            distance: gaps.regular(),
            has_switches: [CSWITCH, COMPACT_CSWITCH].iter().any(|hook| trace.survey().kernel_count(*hook) > 0),
            ..SampleCoverage::default()
        };
        coverage.find_holes(samples, span, (gaps.typical(), clock));
        coverage
    }

    fn find_holes(
        &mut self,
        samples: impl Iterator<Item = SampleTime> + Clone,
        span: TickRange,
        (typical, clock): (u64, &Clock),
    ) {
        let interval = u128::from(self.interval_ns) * u128::from(clock.frequency_hz) / 1_000_000_000;
        let interval = u64::try_from(interval).unwrap_or(u64::MAX).max(typical);
        let least = interval.saturating_mul(HOLE_INTERVALS).max(span.ticks() / HOLE_PART);
        let mut most = 0;
        for ((from, ..), (to, _, several)) in samples.clone().zip(samples.skip(1)) {
            let ticks = span.between(from, to);
            if ticks > least.saturating_mul(several.max(1)) {
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
    pub fn warnings(&self, clock: &Clock, analysis: &'static str) -> Vec<Warning> {
        // By their switches processors can have been idle in a hole, which nothing says of samples alone.
        let of_hole = |text| match self.has_switches {
            true => Warning::note(analysis, "some_samples_missing", text),
            false => Warning::grave(analysis, "samples_missing", text),
        };
        let hole = self.hole(clock).map(of_hole);
        let is_short = self.span_ns / LEAST_INTERVALS < self.interval_ns;
        let few = self.by_processor.with_few(self.span_ns);
        let lines: Vec<String> = self.missing().into_iter().chain(few).filter(|_| !is_short).collect();
        let text = format!("{}: processors were idle, or samples were lost", lines.join("; "));
        let missing = (!lines.is_empty()).then(|| Warning::note(analysis, "some_samples_missing", text));
        let silent = self.by_processor.silent(analysis, self.span_ns).filter(|_| !is_short);
        hole.into_iter().chain(missing).chain(silent).chain(self.of_interval(clock, analysis)).collect()
    }

    /// That no processor has a sample for some time.
    fn hole(&self, clock: &Clock) -> Option<String> {
        let more = self.holes.0.checked_sub(1)?;
        let [from, to] = [self.longest.0, self.longest.1].map(|time| clock.nanos(time).seconds());
        let more = if more > 0 { format!(" and {} more", counted(more, "time", "times")) } else { String::new() };
        Some(format!(
            "no processor has a sample from {from:.6} s to {to:.6} s{more}, {} together: samples were lost, or all processors were idle",
            share(clock.length_ns(self.holes.1).into(), self.span_ns.into()),
        ))
    }

    /// How much time of the processors has no sample.
    fn missing(&self) -> Option<String> {
        self.lacking().map(|_| {
            format!(
                "{} of the time of {} from the first to the last sample have no sample",
                share(self.missing_ns().into(), self.whole()),
                counted(self.processors() as u64, "processor", "processors"),
            )
        })
    }

    /// That the interval, and so all times of samples, is not that of a record.
    fn of_interval(&self, clock: &Clock, analysis: &'static str) -> Option<Warning> {
        let assumed = self.interval_ns;
        let other =
            self.distance.map(|ticks| clock.length_ns(ticks)).filter(|found| found.abs_diff(assumed) > assumed / 2);
        let other =
            other.map(|found| format!(", but by their distances on a processor a sample is of {}", ms(found.into())));
        let text = format!(
            "no event names the interval of the samples: {} is assumed{}",
            ms(assumed.into()),
            other.unwrap_or_default()
        );
        (assumed > 0 && !self.is_named).then(|| Warning::note(analysis, "interval_assumed", text))
    }
}

fn ms(nanos: u128) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

fn share(part: u128, all: u128) -> String {
    format!("{} ({})", ms(part), percent(part, all))
}
