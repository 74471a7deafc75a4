//! The formulas: what each needs, and how it reads.
//!
//! `C` is the raw value, `T` the time of the type's clock, `F` the ticks of that clock in a second, `B` the base; 0 is the
//! sample before, 1 the newest one, Δ the newest minus the one before.

use crate::counter::type_word::{CounterType, Timer};

/// How the value of a counter is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// `C1`, shown as `0x…`.
    Hexadecimal,
    /// `C1`.
    Count,
    /// `ΔC`.
    Difference,
    /// `ΔC / (ΔT / F)`.
    Rate,
    /// `ΔC / ΔT`.
    QueueLength,
    /// `100 · ΔC / ΔT`.
    Busy,
    /// `100 · (1 − ΔC / ΔT)`.
    NotIdle,
    /// `100 · (ΔC / ΔT) / B1`.
    MeanBusy,
    /// `100 · (1 − (ΔC / ΔT) / B1)`.
    MeanNotIdle,
    /// `100 · ΔC / ΔB`, where the base is a time stamp.
    Precision,
    /// `100 · C1 / B1`.
    Fraction,
    /// `100 · ΔC / ΔB`, where the base counts samples.
    SampleFraction,
    /// `(ΔC / F) / ΔB`.
    AverageTime,
    /// `ΔC / ΔB`.
    Average,
    /// `(T1 − C1) / F`.
    Elapsed,
    /// It is the base of another counter, or without data.
    NotShown,
    /// Its value is a text.
    Text,
    /// No public formula.
    NotCalculable,
}

/// A counter that stands beside another one as its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseCounter {
    /// `PERF_COUNTER_MULTI_BASE`: how many instances the value is the sum of.
    MultiBase,
    /// `PERF_LARGE_RAW_BASE` by its name `PERF_PRECISION_TIMESTAMP`.
    Timestamp,
    /// `PERF_RAW_BASE`.
    RawBase,
    /// `PERF_LARGE_RAW_BASE`.
    LargeRawBase,
    /// `PERF_SAMPLE_BASE`.
    SampleBase,
    /// `PERF_AVERAGE_BASE`.
    AverageBase,
}

impl BaseCounter {
    /// Name in `winperf.h`.
    pub const fn name(self) -> &'static str {
        match self {
            BaseCounter::MultiBase => "PERF_COUNTER_MULTI_BASE",
            BaseCounter::Timestamp => "PERF_PRECISION_TIMESTAMP",
            BaseCounter::RawBase => "PERF_RAW_BASE",
            BaseCounter::LargeRawBase => "PERF_LARGE_RAW_BASE",
            BaseCounter::SampleBase => "PERF_SAMPLE_BASE",
            BaseCounter::AverageBase => "PERF_AVERAGE_BASE",
        }
    }

    /// What it counts.
    pub const fn meaning(self) -> &'static str {
        match self {
            BaseCounter::MultiBase => "number of instances that C is the sum of",
            BaseCounter::Timestamp => "time stamp that was read together with C",
            BaseCounter::RawBase | BaseCounter::LargeRawBase => "the whole that C is a part of",
            BaseCounter::SampleBase => "samples taken",
            BaseCounter::AverageBase => "operations finished",
        }
    }
}

impl Formula {
    /// The formula as text; `None` where there is none.
    pub const fn text(self) -> Option<&'static str> {
        Some(match self {
            Formula::Hexadecimal | Formula::Count => "C1",
            Formula::Difference => "ΔC",
            Formula::Rate => "ΔC / (ΔT / F)",
            Formula::QueueLength => "ΔC / ΔT",
            Formula::Busy => "100 · ΔC / ΔT",
            Formula::NotIdle => "100 · (1 − ΔC / ΔT)",
            Formula::MeanBusy => "100 · (ΔC / ΔT) / B1",
            Formula::MeanNotIdle => "100 · (1 − (ΔC / ΔT) / B1)",
            Formula::Precision | Formula::SampleFraction => "100 · ΔC / ΔB",
            Formula::Fraction => "100 · C1 / B1",
            Formula::AverageTime => "(ΔC / F) / ΔB",
            Formula::Average => "ΔC / ΔB",
            Formula::Elapsed => "(T1 − C1) / F",
            Formula::NotShown | Formula::Text | Formula::NotCalculable => return None,
        })
    }

    /// What the value says, with its unit.
    pub const fn meaning(self) -> &'static str {
        match self {
            Formula::Hexadecimal => "the newest count, in hexadecimal",
            Formula::Count => "the newest count",
            Formula::Difference => "what was counted between the samples",
            Formula::Rate => "counts per second",
            Formula::QueueLength => "mean length of a queue",
            Formula::Busy => "percent of the time that it was busy",
            Formula::NotIdle => "percent of the time that it was not idle",
            Formula::MeanBusy => "percent of the time that an instance was busy, on average",
            Formula::MeanNotIdle => "percent of the time that an instance was not idle, on average",
            Formula::Precision => "percent of the time, by a time stamp that was read together with the value",
            Formula::Fraction => "percent of the whole",
            Formula::SampleFraction => "percent of the samples between the two",
            Formula::AverageTime => "seconds per operation, on average",
            Formula::Average => "amount per operation, on average; no unit of its own",
            Formula::Elapsed => "seconds since the start",
            Formula::NotShown => "nothing: it is the base of another counter, or has no data",
            Formula::Text => "a text",
            Formula::NotCalculable => "unknown: its formula is not public",
        }
    }

    /// What `C` is, with its unit.
    pub const fn value_meaning(self) -> &'static str {
        match self {
            Formula::Hexadecimal | Formula::Count | Formula::NotShown | Formula::NotCalculable => "a count",
            Formula::Text => "a text",
            Formula::Difference | Formula::Rate => "a count that only grows",
            Formula::QueueLength => "the queue's length added up over time, in units of T",
            Formula::Busy => "busy time, in units of T",
            Formula::NotIdle => "idle time, in units of T",
            Formula::MeanBusy => "busy time of all instances, in units of T",
            Formula::MeanNotIdle => "idle time of all instances, in units of T",
            Formula::Precision => "busy time, in units of B",
            Formula::Fraction => "a part, in units of B",
            Formula::SampleFraction => "samples that hit",
            Formula::AverageTime => "time spent, in units of 1/F seconds",
            Formula::Average => "an amount that only grows",
            Formula::Elapsed => "the time of the start, on the clock of T",
        }
    }

    /// Samples that it needs; 0 where nothing is calculated.
    pub const fn samples(self) -> usize {
        match self {
            Formula::NotShown | Formula::Text | Formula::NotCalculable => 0,
            Formula::Hexadecimal | Formula::Count | Formula::Fraction | Formula::Elapsed => 1,
            _ => 2,
        }
    }

    /// True when the difference of the raw values counts.
    pub const fn uses_value_difference(self) -> bool {
        self.samples() == 2
    }

    /// True when the difference of the times counts.
    pub const fn uses_time_difference(self) -> bool {
        use Formula::{Busy, MeanBusy, MeanNotIdle, NotIdle, QueueLength, Rate};
        matches!(self, Rate | QueueLength | Busy | NotIdle | MeanBusy | MeanNotIdle)
    }

    /// True when a time counts.
    pub const fn uses_time(self) -> bool {
        self.uses_time_difference() || matches!(self, Formula::Elapsed)
    }

    /// True when the frequency counts.
    pub const fn uses_frequency(self) -> bool {
        matches!(self, Formula::Rate | Formula::AverageTime | Formula::Elapsed)
    }

    /// True when the difference of the bases counts.
    pub const fn uses_base_difference(self) -> bool {
        matches!(self, Formula::Precision | Formula::SampleFraction | Formula::AverageTime | Formula::Average)
    }

    /// True when the base is a number of instances.
    pub const fn uses_instances(self) -> bool {
        matches!(self, Formula::MeanBusy | Formula::MeanNotIdle)
    }

    /// True when a base counts.
    pub const fn uses_base(self) -> bool {
        self.uses_base_difference() || self.uses_instances() || matches!(self, Formula::Fraction)
    }

    /// True when the value is a percentage.
    pub const fn is_percentage(self) -> bool {
        use Formula::{Busy, Fraction, MeanBusy, MeanNotIdle, NotIdle, Precision, SampleFraction};
        matches!(self, Busy | NotIdle | MeanBusy | MeanNotIdle | Precision | Fraction | SampleFraction)
    }

    /// True when the value is a whole number, and shown as one.
    pub const fn is_whole(self) -> bool {
        matches!(self, Formula::Hexadecimal | Formula::Count | Formula::Difference)
    }

    /// The clock of a type, where the formula uses one.
    pub fn clock(self, counter_type: CounterType) -> Option<Timer> {
        counter_type.timer().filter(|_| self.uses_time() || self.uses_frequency())
    }
}
