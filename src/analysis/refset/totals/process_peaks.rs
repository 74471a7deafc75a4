//! What each process held over the window: its most, when that was, and the average over time; and the average of each
//! class of pages.

use crate::analysis::refset::averaging_span::AveragingSpan;
use crate::analysis::refset::totals::held_statistics::HeldStatistics;
use crate::analysis::table::group::natural;
use crate::etl::clock::Clock;
use crate::model::category::{Category, Class};
use crate::model::working_set_owner::OwnerId;
use crate::units::Nanos;
use foldhash::HashMap as FastMap;

/// What one process, the system or the sessions held.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessPeak {
    /// As in rows.
    pub process: String,
    /// Most pages, and the first time that they were held.
    pub peak: (u64, Nanos),
    /// Average over time, pages.
    pub average: f64,
}

/// Averages over time of what was held, pages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AverageHeld {
    /// All pages.
    pub pages: f64,
    /// Classes that were held.
    pub by_class: Vec<(Class, f64)>,
}

/// Holders with pages in the window, the highest peak first.
pub fn process_peaks(
    tallies: &[(OwnerId, HeldStatistics)],
    label: impl Fn(OwnerId) -> String,
    clock: &Clock,
    span: AveragingSpan,
) -> Vec<ProcessPeak> {
    let mut by_label: FastMap<String, HeldStatistics> = FastMap::default();
    for (owner, tally) in tallies.iter().filter(|(_, tally)| tally.peak.0 > 0) {
        // Two processes of one name and id follow one another.
        let all = by_label.entry(label(*owner)).or_default();
        all.page_ticks += tally.page_ticks;
        let earlier = |a: &HeldStatistics, b: &HeldStatistics| a.peak.0 == b.peak.0 && a.peak.1 < b.peak.1;
        if tally.peak.0 > all.peak.0 || earlier(tally, all) {
            all.peak = tally.peak;
        }
    }
    let holder = |(process, tally): (String, HeldStatistics)| ProcessPeak {
        process,
        peak: (u64::try_from(tally.peak.0).unwrap_or(0), clock.nanos(tally.peak.1)),
        average: span.average(tally.page_ticks),
    };
    let mut all: Vec<ProcessPeak> = by_label.into_iter().map(holder).collect();
    all.sort_by(|a, b| b.peak.0.cmp(&a.peak.0).then_with(|| natural(&a.process, &b.process)));
    all
}

/// Averages by class of the page-ticks of each category.
pub fn average_held(page_ticks: &[i128; Category::ALL.len()], span: AveragingSpan) -> AverageHeld {
    let of = |class: Class| -> i128 {
        let its = Category::ALL.iter().zip(page_ticks).filter(|(category, _)| category.class() == class);
        its.map(|(_, ticks)| ticks).sum()
    };
    let by_class: Vec<(Class, i128)> = Class::ALL.map(|class| (class, of(class))).to_vec();
    AverageHeld {
        pages: span.average(page_ticks.iter().sum()),
        by_class: by_class
            .iter()
            .filter(|(_, ticks)| *ticks != 0)
            .map(|&(c, ticks)| (c, span.average(ticks)))
            .collect(),
    }
}
