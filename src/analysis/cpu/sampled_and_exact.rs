//! Exact times compared with samples and with clock ticks.

use crate::analysis::cpu::replay::processor::{ProcessorUse, TicksByUse};
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::switch_stacks::KeptStack;
use crate::analysis::cpu::thread_labels::Labels;
use crate::trace::analysis_needs::CPU;
use crate::trace::trust::warning::Warning;
use crate::units::first_of;
use std::collections::BTreeMap;

/// Standard normal quantile of 97.5 %.
const Z: f64 = 1.959963984540054;

/// The row of time of which nothing is known; threads that no event describes have the same label.
pub(super) const UNKNOWN: &str = "Unknown";

/// One process, or `DPC`, `ISR`, `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SampledTime {
    /// Exact time, ticks.
    pub exact: u64,
    /// Samples that met it.
    pub samples: u64,
    /// Clock ticks that met it.
    pub ticks: u64,
}

/// What samples and clock ticks say, by process.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sampling {
    /// All samples in the window: a record stands for as many as its field Count says.
    pub samples: u64,
    /// Their records.
    pub records: u64,
    /// Sum of the squares of how many samples each record stands for.
    squares: u64,
    /// All clock ticks in the window; without any, nothing is charged to anybody, and nothing can be compared.
    pub ticks: u64,
    /// Processes by label.
    pub rows: Vec<(String, SampledTime)>,
}

impl Sampling {
    /// Of all threads; `exact` and `charged` by what processors were used for.
    pub fn new<S: KeptStack>(
        scheduler: &Scheduler<'_, S>,
        labels: &Labels<'_>,
        exact: &TicksByUse,
        charged: &TicksByUse,
    ) -> Sampling {
        let mut rows: BTreeMap<String, SampledTime> = BTreeMap::new();
        for (of, counted) in scheduler.counts.each() {
            if counted.cpu > 0 {
                let row = rows.entry(labels.process(of.instance).to_string()).or_default();
                row.exact = row.exact.saturating_add(counted.cpu);
            }
        }
        for (id, instance) in (0..).zip(&scheduler.instances.all) {
            if instance.samples > 0 || instance.charged > 0 {
                let row = rows.entry(labels.process(id).to_string()).or_default();
                row.samples += instance.samples;
                row.ticks = row.ticks.saturating_add(instance.charged);
            }
        }
        let of = |all: &TicksByUse, used_for: ProcessorUse| all.get(used_for as usize).copied().unwrap_or(0);
        let samples = &scheduler.samples;
        for (name, used_for, samples) in [
            ("DPC", ProcessorUse::Dpc, samples.dpc),
            ("ISR", ProcessorUse::Isr, samples.isr),
            (UNKNOWN, ProcessorUse::Unknown, 0),
        ] {
            let (exact, ticks) = (of(exact, used_for), of(charged, used_for));
            if exact > 0 || ticks > 0 || samples > 0 {
                let row = rows.entry(name.to_owned()).or_default();
                row.exact = row.exact.saturating_add(exact);
                row.samples += samples;
                row.ticks = row.ticks.saturating_add(ticks);
            }
        }
        let ticks = rows.values().fold(0u64, |sum, row| sum.saturating_add(row.ticks));
        let (records, squares) = (samples.records, samples.squares);
        Sampling { samples: samples.all, records, squares, ticks, rows: rows.into_iter().collect() }
    }

    /// The 95 % interval of the share that so many samples have. A record can stand for several samples, which are then not independent: n is
    /// their effective number, (Σ count)² / Σ count² (Kish), which is the number of samples where each has its record.
    pub(super) fn interval(&self, hits: u64) -> (f64, f64) {
        let independent = self.samples as f64 / (self.squares as f64 / self.samples.max(1) as f64).max(1.0);
        share_interval(hits as f64 / self.samples.max(1) as f64, independent)
    }
}

/// Samples of a processor are missing where they lack more than one part in so many of the time that it was busy, and so many intervals
/// more: less is chance.
const MISSING_PART: u64 = 10;
const MISSING_INTERVALS: u64 = 10;

/// Processors that a line names.
const NAMED: usize = 8;

/// Busy time of processors that samples do not have. Where a processor is idle none need come, but what runs is met. The exact times are
/// right all the same.
pub(super) fn samples_missing<S: KeptStack>(
    scheduler: &Scheduler<'_, S>,
    by_processor: &[TicksByUse],
    frequency_hz: u64,
) -> Option<Warning> {
    let interval = scheduler.samples.gaps.typical();
    let uses = [ProcessorUse::Threads, ProcessorUse::Dpc, ProcessorUse::Isr];
    let ms = |ticks: u64| format!("{:.3} ms", ticks as f64 * 1e3 / frequency_hz.max(1) as f64);
    let lacks = |(number, times): (usize, &TicksByUse)| {
        let of = |used_for: &ProcessorUse| times.get(*used_for as usize).copied().unwrap_or(0);
        let busy = uses.iter().map(of).fold(0u64, u64::saturating_add);
        let met = scheduler.samples.busy.get(number).copied().unwrap_or(0).saturating_mul(interval);
        let chance = (busy / MISSING_PART).saturating_add(interval.saturating_mul(MISSING_INTERVALS));
        let lacking = busy.saturating_sub(met);
        (lacking > chance).then(|| format!("{} of {} of processor {number}", ms(lacking), ms(busy)))
    };
    let all: Vec<String> = by_processor.iter().enumerate().filter_map(lacks).collect();
    let shown = first_of(&all, NAMED);
    let text = format!(
        "samples are missing while processors were busy: they lack {shown}; shares of samples are of the others"
    );
    (interval > 0 && !all.is_empty()).then(|| Warning::note(CPU.name, "some_samples_missing", text))
}

/// The 95 % interval of a share that `hits` of `samples` samples met, by Wilson's score.
pub(crate) fn interval(hits: u64, samples: u64) -> (f64, f64) {
    share_interval(hits as f64 / samples.max(1) as f64, samples as f64)
}

/// The same of a share of `n` samples that are independent.
fn share_interval(p: f64, n: f64) -> (f64, f64) {
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let scale = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        let close = |found: (f64, f64), low: f64, high: f64| {
            assert!((found.0 - low).abs() < 1e-9 && (found.1 - high).abs() < 1e-9, "{found:?}");
        };
        close(interval(19, 996), 0.012246002, 0.029602091);
        close(interval(0, 996), 0.0, 0.003842068);
        close(interval(0, 0), 0.0, 1.0);
    }

    /// Four records of ten samples each are four samples for the interval.
    #[test]
    fn samples_of_one_record_are_not_independent() {
        let each_ten = Sampling { samples: 40, squares: 400, ..Sampling::default() };
        assert_eq!(each_ten.interval(10), interval(1, 4));
        let each_one = Sampling { samples: 40, squares: 40, ..Sampling::default() };
        assert_eq!(each_one.interval(10), interval(10, 40));
    }
}
