//! When counters and working sets were sampled: each has its own records, and those of one can be missing.

use super::query::MemoryDimension;
use crate::trace::analysis_needs::MEMORY_UTILIZATION;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{Nanos, counted};

/// Times of the samples in the window, each once, in order.
#[derive(Debug, Default)]
pub(super) struct SampleTimes {
    pub counters: Vec<Nanos>,
    pub processes: Vec<Nanos>,
    pub sessions: Vec<Nanos>,
}

/// Samples of which a middle distance is known: with fewer, any distance may be usual.
const FEWEST: usize = 5;

impl SampleTimes {
    /// Those of the rows, and what they are samples of.
    pub fn of(&self, rows: Option<MemoryDimension>) -> (&[Nanos], &'static str) {
        match rows {
            Some(MemoryDimension::Process) => (&self.processes, "working sets"),
            Some(MemoryDimension::Session) => (&self.sessions, "working sets of sessions"),
            Some(MemoryDimension::List | MemoryDimension::Priority) | None => (&self.counters, "page lists"),
        }
    }

    /// That there are no samples of what is shown, or none for a long time; `is_recorded`: whether the trace has any.
    pub fn doubts(&self, rows: Option<MemoryDimension>, is_recorded: impl Fn(MemoryDimension) -> bool) -> Warnings {
        let both = [MemoryDimension::List, MemoryDimension::Process];
        let shown = rows.map_or(both.to_vec(), |rows| vec![rows]);
        let doubt = |rows: MemoryDimension| {
            let (times, what) = self.of(Some(rows));
            let text = match times {
                [] => format!("no samples of {what} are in the window"),
                times => hole_text(times, what)?,
            };
            Some(Warning::note(MEMORY_UTILIZATION.name, "memory_samples_missing", text))
        };
        shown.into_iter().filter(|rows| is_recorded(*rows)).filter_map(doubt).collect()
    }
}

/// Samples that are missing between two: at least two, by the distance that is usual.
fn missing_between((from, to): (Nanos, Nanos), usual: i128) -> u64 {
    let distance = to.0.saturating_sub(from.0);
    let steps = distance.saturating_add(usual / 2).checked_div(usual).unwrap_or(0);
    u64::try_from(steps.saturating_sub(1)).ok().filter(|missing| *missing >= 2).unwrap_or(0)
}

/// `no working sets were sampled between 1.000 s and 4.500 s (6 samples, by their usual distance); …`.
fn hole_text(times: &[Nanos], what: &str) -> Option<String> {
    let pairs = || times.iter().copied().zip(times.iter().copied().skip(1));
    if times.len() < FEWEST {
        return None;
    }
    let mut distances: Vec<i128> = pairs().map(|(from, to)| to.0.saturating_sub(from.0)).collect();
    distances.sort_unstable();
    let usual = *distances.get(distances.len() / 2)?;
    let holes = pairs().map(|pair| (missing_between(pair, usual), pair)).filter(|(missing, _)| *missing > 0);
    let (count, missing) = holes.clone().fold((0u64, 0u64), |(count, all), (missing, _)| (count + 1, all + missing));
    let (_, (from, to)) = holes.max_by_key(|(missing, (from, _))| (*missing, std::cmp::Reverse(from.0)))?;
    let place = match count {
        1 => String::new(),
        count => format!(" in {count} places, the longest"),
    };
    Some(format!(
        "no {what} were sampled{place} between {:.3} s and {:.3} s: {} missing by their usual distance; sizes in that time, and the \
         most of all, are not known",
        from.seconds(),
        to.seconds(),
        counted(missing, "sample is", "samples are"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(halves: &[i128]) -> Option<String> {
        let times: Vec<Nanos> = halves.iter().map(|half| Nanos(half * 500_000_000)).collect();
        hole_text(&times, "page lists")
    }

    #[test]
    fn a_long_time_without_samples_is_told() {
        assert_eq!(text(&[0, 1, 2, 3, 4, 5, 6]), None);
        assert_eq!(text(&[0, 1, 2, 4, 5, 6]), None, "a single one");
        assert_eq!(text(&[0, 1, 9, 10]), None, "too few to tell what is usual");
        assert_eq!(text(&[0, 0, 0, 0, 9]), None, "no usual distance");
        let told = text(&[0, 1, 2, 9, 10, 11, 12]).unwrap_or_default();
        assert!(told.starts_with("no page lists were sampled between 1.000 s and 4.500 s: 6 samples are"), "{told}");
        let told = text(&[0, 1, 2, 9, 10, 11, 20, 21, 22, 23]).unwrap_or_default();
        assert!(told.contains(" in 2 places, the longest between 5.500 s and 10.000 s: 14 samples are"), "{told}");
    }
}
