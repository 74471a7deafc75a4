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
                times => {
                    let other =
                        if rows == MemoryDimension::List { MemoryDimension::Process } else { MemoryDimension::List };
                    let (others, of_others) = self.of(Some(other));
                    let texts = [hole_text(times, what, others), short_text((times, what), (others, of_others))];
                    let texts: Vec<String> = texts.into_iter().flatten().collect();
                    (!texts.is_empty()).then(|| texts.join("; "))?
                }
            };
            Some(Warning::note(MEMORY_UTILIZATION.name, "memory_samples_missing", text))
        };
        shown.into_iter().filter(|rows| is_recorded(*rows)).filter_map(doubt).collect()
    }
}

/// Usual distances between two times, to the nearest.
fn steps((from, to): (Nanos, Nanos), usual: i128) -> i128 {
    to.0.saturating_sub(from.0).saturating_add(usual / 2).checked_div(usual).unwrap_or(0)
}

/// So many missing samples are told; a single one can be late.
fn told(missing: i128) -> u64 {
    u64::try_from(missing).ok().filter(|missing| *missing >= 2).unwrap_or(0)
}

/// Samples that are missing between two: at least two, by the distance that is usual.
fn missing_between(pair: (Nanos, Nanos), usual: i128) -> u64 {
    told(steps(pair, usual).saturating_sub(1))
}

/// Distances between samples, the least first.
fn distances(times: &[Nanos]) -> Vec<i128> {
    let pairs = times.iter().zip(times.iter().skip(1));
    let mut distances: Vec<i128> = pairs.map(|(from, to)| to.0.saturating_sub(from.0)).collect();
    distances.sort_unstable();
    distances
}

/// The distance that is usual between two samples: that of the middle, or a shorter one that comes again, for where most samples are missing,
/// most distances are too long. `None` for too few.
fn usual_distance(times: &[Nanos]) -> Option<i128> {
    let distances = distances(times);
    let at = |place: usize| distances.get(place).copied().filter(|_| times.len() >= FEWEST);
    let (middle, shorter) = (at(distances.len() / 2)?, at(distances.len() / 4)?);
    let is_again = |distance: &&i128| distance.abs_diff(shorter) <= shorter.unsigned_abs() / 20;
    let again = distances.iter().filter(is_again).count();
    let is_usual = shorter > 0 && again > 1 && again * 3 >= distances.len();
    Some(if is_usual { shorter } else { middle })
}

/// The distance of few samples, where at least two distances are alike: samples can be seldom, each at its time, beside others that come
/// more often.
fn even_distance(times: &[Nanos]) -> Option<i128> {
    let distances = distances(times);
    let (least, most) = distances.first().zip(distances.last()).filter(|_| distances.len() > 1)?;
    (*least > 0 && most.abs_diff(*least) <= most.unsigned_abs() / 20).then_some(*most)
}

/// The distance by which samples are missing: their own, or that of the others of the trace.
fn expected_distance(times: &[Nanos], others: &[Nanos]) -> Option<i128> {
    usual_distance(times).or_else(|| even_distance(times)).or_else(|| usual_distance(others))
}

/// `working sets were sampled from 0.000 s to 3.000 s, page lists from 0.000 s to 6.000 s: …`: where samples of one begin later, or end
/// earlier, than those of the other.
fn short_text((times, what): (&[Nanos], &str), (others, of_others): (&[Nanos], &str)) -> Option<String> {
    let usual = expected_distance(times, others)?;
    let ((first, last), (from, to)) = (times.first().zip(times.last())?, others.first().zip(others.last())?);
    let missing = told(steps((*from, *first), usual)) + told(steps((*last, *to), usual));
    let span = |from: &Nanos, to: &Nanos| format!("from {:.3} s to {:.3} s", from.seconds(), to.seconds());
    (missing > 0).then(|| {
        format!(
            "{what} were sampled {}, {of_others} {}: {} missing by their usual distance; starts, ends and growth are of the shorter time",
            span(first, last),
            span(from, to),
            counted(missing, "sample is", "samples are"),
        )
    })
}

/// `no working sets were sampled between 1.000 s and 4.500 s (6 samples, by their usual distance); …`.
fn hole_text(times: &[Nanos], what: &str, others: &[Nanos]) -> Option<String> {
    let pairs = || times.iter().copied().zip(times.iter().copied().skip(1));
    let usual = expected_distance(times, others)?;
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
        hole_text(&times, "page lists", &[])
    }

    #[test]
    fn samples_of_one_that_end_before_those_of_the_other_are_told() {
        let times = |halves: std::ops::Range<i128>| halves.map(|half| Nanos(half * 500_000_000)).collect::<Vec<_>>();
        let told = |own, other| short_text((&times(own), "working sets"), (&times(other), "page lists"));
        assert_eq!([told(0..13, 0..13), told(0..12, 0..13), told(0..13, 3..6)], [None, None, None]);
        let says = "working sets were sampled from 0.000 s to 3.000 s, page lists from 0.000 s to 6.000 s: 6 samples are missing";
        assert!(told(0..7, 0..13).is_some_and(|text| text.starts_with(says)), "{:?}", told(0..7, 0..13));
        assert!(
            told(6..8, 0..13).is_some_and(|text| text.contains("11 samples are missing")),
            "{:?}",
            told(6..8, 0..13)
        );
    }

    #[test]
    fn a_long_time_without_samples_is_told() {
        assert_eq!(text(&[0, 1, 2, 3, 4, 5, 6]), None);
        assert_eq!(text(&[0, 1, 2, 4, 5, 6]), None, "a single one");
        assert_eq!(text(&[0, 1, 9, 10]), None, "too few to tell what is usual");
        assert_eq!(text(&[0, 0, 0, 0, 9]), None, "no usual distance");
        let told = text(&[0, 1, 2, 5, 9]).unwrap_or_default();
        assert!(told.contains(" in 2 places, the longest between 2.500 s and 4.500 s: 5 samples are"), "{told}");
        let of = |halves: &[i128]| halves.iter().map(|half| Nanos(half * 500_000_000)).collect::<Vec<_>>();
        let told = hole_text(&of(&[0, 7, 10, 12]), "working sets", &of(&[0, 1, 2, 5, 9])).unwrap_or_default();
        assert!(
            told.starts_with("no working sets were sampled in 2 places, the longest between 0.000 s and 3.5"),
            "{told}"
        );
        let often = of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(hole_text(&of(&[1, 6, 11]), "working sets", &often), None, "seldom, but each at its time");
        assert!(hole_text(&of(&[0, 6, 11]), "working sets", &often).is_some());
        assert_eq!(short_text((&of(&[3, 8, 13]), "working sets"), (&often, "page lists")), None);
        let told = text(&[0, 1, 2, 9, 10, 11, 12]).unwrap_or_default();
        assert!(told.starts_with("no page lists were sampled between 1.000 s and 4.500 s: 6 samples are"), "{told}");
        let told = text(&[0, 1, 2, 9, 10, 11, 20, 21, 22, 23]).unwrap_or_default();
        assert!(told.contains(" in 2 places, the longest between 5.500 s and 10.000 s: 14 samples are"), "{told}");
    }
}
