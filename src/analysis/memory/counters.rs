//! The machine's counters: samples, their summary, and the pages that were taken from standby.

use crate::analysis::memory::counter_sparkline;
use crate::analysis::table::Course;
use crate::load::owned_events::MemoryCounters;
use crate::units::Nanos;

/// A MemInfo record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySample {
    /// Since trace start.
    pub time: Nanos,
    /// What was logged.
    pub counters: MemoryCounters,
    /// Pages in use, as `resident` counts them: physical memory without standby, modified, free and zero pages. `None` when the size of
    /// physical memory is unknown, or less than the lists hold.
    pub in_use: Option<u64>,
}

impl MemorySample {
    /// Adds the pages in use to a record.
    pub(super) fn new(time: Nanos, counters: MemoryCounters, physical_pages: Option<u64>) -> MemorySample {
        let lists = [counters.zero, counters.free, counters.modified, counters.modified_no_write];
        let lists = lists.into_iter().chain(counters.standby);
        let others: u128 = lists.map(u128::from).sum();
        let in_use = physical_pages.and_then(|all| u64::try_from(u128::from(all).checked_sub(others)?).ok());
        MemorySample { time, counters, in_use }
    }

    /// Pages on standby in all.
    pub fn standby(&self) -> u64 {
        self.counters.standby.iter().fold(0, |sum: u64, pages| sum.saturating_add(*pages))
    }
}

/// A counter of the samples.
#[derive(Debug, Clone, Copy)]
pub struct CounterColumn {
    /// Name in JSON and CSV.
    pub name: &'static str,
    /// Title.
    pub title: &'static str,
    /// The page list that it is the size of.
    pub list: Option<&'static str>,
    /// Priority, of standby by priority.
    pub priority: Option<u8>,
    /// Its value; `None` when the sample does not have it.
    pub of: fn(&MemorySample) -> Option<u64>,
}

const fn list(
    name: &'static str,
    title: &'static str,
    list: &'static str,
    of: fn(&MemorySample) -> Option<u64>,
) -> CounterColumn {
    CounterColumn { name, title, list: Some(list), priority: None, of }
}

const fn other(name: &'static str, title: &'static str, of: fn(&MemorySample) -> Option<u64>) -> CounterColumn {
    CounterColumn { name, title, list: None, priority: None, of }
}

macro_rules! standby {
    ($($priority:literal)*) => {
        [$(CounterColumn {
            name: concat!("standby_", $priority),
            title: concat!("  priority ", $priority),
            list: None,
            priority: Some($priority),
            of: |sample| sample.counters.standby.get($priority).copied(),
        }),*]
    };
}

/// Standby by priority.
pub(crate) const STANDBY: [CounterColumn; 8] = standby!(0 1 2 3 4 5 6 7);

/// All but standby by priority, in the order of tables.
pub(crate) const COUNTERS: [CounterColumn; 12] = [
    list("in_use", "In use", "InUse", |sample| sample.in_use),
    list("standby", "Standby", "Standby", |sample| Some(sample.standby())),
    list("zero", "Zero", "Zero", |sample| Some(sample.counters.zero)),
    list("free", "Free", "Free", |sample| Some(sample.counters.free)),
    list("modified", "Modified", "Modified", |sample| Some(sample.counters.modified)),
    other("modified_pagefile", "  for the pagefile", |sample| Some(sample.counters.modified_pagefile)),
    list("modified_no_write", "Modified no-write", "ModifiedNoWrite", |sample| Some(sample.counters.modified_no_write)),
    list("bad", "Bad", "Bad", |sample| Some(sample.counters.bad)),
    other("paged_pool_commit", "Paged pool commit", |sample| Some(sample.counters.commit?.paged_pool_pages)),
    other("non_paged_pool", "Non-paged pool", |sample| Some(sample.counters.commit?.non_paged_pool_pages)),
    other("mdl", "MDL", |sample| Some(sample.counters.commit?.mdl_pages)),
    other("commit", "System commit", |sample| Some(sample.counters.commit?.commit_pages)),
];

/// What a counter did in the window.
#[derive(Debug, Clone)]
pub struct CounterSummary {
    /// The counter.
    pub column: CounterColumn,
    /// At the first sample.
    pub start: u64,
    /// At the last sample.
    pub end: u64,
    /// The least, and when first.
    pub least: (u64, Nanos),
    /// The most, and when first.
    pub most: (u64, Nanos),
    /// Mean of the samples.
    pub mean: f64,
    /// How many samples have it.
    pub samples: u64,
    /// The course over the window.
    pub course: Course,
}

impl CounterSummary {
    /// The summary of these samples, which are in order of time; `None` when none has the counter.
    pub(super) fn new(column: CounterColumn, samples: &[MemorySample]) -> Option<CounterSummary> {
        let values = || samples.iter().filter_map(|sample| Some((sample.time, (column.of)(sample)?)));
        let (first, last) = (values().next()?, values().next_back()?);
        // The same columns of time for all counters, also for one that some samples lack: they stand one below the other.
        let ends = (samples.first()?.time, samples.last()?.time);
        let (mut least, mut most, mut sum, mut count) = (first, first, 0u128, 0u64);
        for (time, pages) in values() {
            if pages < least.1 {
                least = (time, pages);
            }
            if pages > most.1 {
                most = (time, pages);
            }
            sum += u128::from(pages);
            count += 1;
        }
        Some(CounterSummary {
            column,
            start: first.1,
            end: last.1,
            least: (least.1, least.0),
            most: (most.1, most.0),
            mean: sum as f64 / count.max(1) as f64,
            samples: count,
            course: counter_sparkline::course(ends, (least.1, most.1), samples.len() as u64, values()),
        })
    }
}

/// Pages that were taken from standby for another use in the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repurposed {
    /// Priority; `None`: all.
    pub priority: Option<u8>,
    /// Pages.
    pub pages: u64,
    /// Pages per second between the two samples where they were most, and the time of the second one; `None` when no
    /// page was taken.
    pub most: Option<(f64, Nanos)>,
}

impl Repurposed {
    /// All, then by priority. The counters count since boot, so the rise between two samples is the number of pages taken. One that
    /// falls tells nothing of the time between (see [`Fall`]).
    pub(super) fn all(samples: &[MemorySample]) -> Vec<Repurposed> {
        let of = |priority: Option<u8>| {
            let mut found = Repurposed { priority, pages: 0, most: None };
            for (before, sample) in samples.iter().zip(samples.iter().skip(1)) {
                let of_each = sample.counters.repurposed.iter().zip(&before.counters.repurposed).zip(0u8..);
                let asked = of_each.filter(|(_, own)| priority.is_none_or(|priority| priority == *own));
                let risen = asked.fold(0u64, |sum, ((now, then), _)| sum.saturating_add(now.saturating_sub(*then)));
                found.pages = found.pages.saturating_add(risen);
                let nanos = sample.time.0.saturating_sub(before.time.0);
                let rate = risen as f64 * 1e9 / nanos.max(1) as f64;
                if risen > 0 && nanos > 0 && found.most.is_none_or(|(most, _)| rate > most) {
                    found.most = Some((rate, sample.time));
                }
            }
            found
        };
        std::iter::once(None).chain((0..8).map(Some)).map(of).collect()
    }
}

/// Counts since boot that are less than at the sample before: they were reset, or one of the two samples is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fall {
    /// How many there are.
    pub falls: u64,
    /// The time of the first sample with a lower number.
    pub first: Nanos,
    /// The priority of which it is.
    pub priority: u8,
    /// The number before it, and its own.
    pub pages: (u64, u64),
}

impl Fall {
    /// Those of all priorities; `None` where none falls.
    pub(super) fn of(samples: &[MemorySample]) -> Option<Fall> {
        let mut found: Option<Fall> = None;
        for (before, sample) in samples.iter().zip(samples.iter().skip(1)) {
            let pairs = before.counters.repurposed.iter().zip(&sample.counters.repurposed).zip(0u8..);
            for ((then, now), priority) in pairs.filter(|((then, now), _)| now < then) {
                let first = Fall { falls: 0, first: sample.time, priority, pages: (*then, *now) };
                found.get_or_insert(first).falls += 1;
            }
        }
        found
    }
}
