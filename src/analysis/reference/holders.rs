//! What each process held over the window: its most, when that was, and the average over time; and the average of each
//! class of pages.

use crate::analysis::category::{Category, Class};
use crate::analysis::reference::plan::RowCount;
use crate::analysis::reference::query::RowOrder;
use crate::analysis::reference::tally::{HeldTally, Span};
use crate::analysis::table::group::natural;
use crate::analysis::table::{Group, Node};
use crate::etl::clock::Clock;
use crate::model::working_set_owner::OwnerId;
use crate::units::Nanos;
use foldhash::HashMap as FastMap;
use std::cmp::Ordering;

/// What one process, the system or the sessions held.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
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
pub fn holders(
    tallies: &[(OwnerId, HeldTally)],
    label: impl Fn(OwnerId) -> String,
    clock: &Clock,
    span: Span,
) -> Vec<Holder> {
    let mut by_label: FastMap<String, HeldTally> = FastMap::default();
    for (owner, tally) in tallies.iter().filter(|(_, tally)| tally.peak.0 > 0) {
        // Two processes of one name and id follow one another.
        let all = by_label.entry(label(*owner)).or_default();
        all.page_ticks += tally.page_ticks;
        let earlier = |a: &HeldTally, b: &HeldTally| a.peak.0 == b.peak.0 && a.peak.1 < b.peak.1;
        if tally.peak.0 > all.peak.0 || earlier(tally, all) {
            all.peak = tally.peak;
        }
    }
    let holder = |(process, tally): (String, HeldTally)| Holder {
        process,
        peak: (u64::try_from(tally.peak.0).unwrap_or(0), clock.nanos(tally.peak.1)),
        average: span.average(tally.page_ticks),
    };
    let mut all: Vec<Holder> = by_label.into_iter().map(holder).collect();
    all.sort_by(|a, b| b.peak.0.cmp(&a.peak.0).then_with(|| natural(&a.process, &b.process)));
    all
}

/// Averages by class of the page-ticks of each category.
pub fn average_held(page_ticks: &[i128; Category::ALL.len()], span: Span) -> AverageHeld {
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

/// What one process holds at the window's end and held before, or what several do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessHeld {
    /// Pages at the window's end.
    pub pages: i64,
    /// Most pages in the window, and when first: of one process, for the peaks of several are not at one time.
    pub peak: Option<(u64, Nanos)>,
    /// Average over time, pages.
    pub average: f64,
    processes: u64,
}

impl std::ops::AddAssign for ProcessHeld {
    fn add_assign(&mut self, other: ProcessHeld) {
        self.pages += other.pages;
        self.average += other.average;
        self.peak = if self.processes == 0 { other.peak } else { None };
        self.processes += other.processes;
    }
}

/// Largest categories and processes of what is held at the window's end.
#[derive(Debug, Clone, PartialEq)]
pub struct Short {
    /// Categories.
    pub categories: Node<RowCount>,
    /// Processes, with those that held pages in the window and hold none at its end.
    pub processes: Node<ProcessHeld>,
    /// How many hold none at its end.
    pub gone: u64,
}

/// The processes that hold pages at the window's end (`rows`), and those that held some in it and are gone.
pub fn by_process(rows: &[Group<RowCount>], holders: &[Holder], order: RowOrder, top: usize) -> Node<ProcessHeld> {
    let mut all: FastMap<&str, ProcessHeld> = FastMap::default();
    for row in rows {
        let label = row.labels.first().map_or("", String::as_str);
        all.insert(label, ProcessHeld { pages: row.measure.pages, processes: 1, ..ProcessHeld::default() });
    }
    for holder in holders {
        let held = all.entry(&holder.process).or_default();
        *held = ProcessHeld { peak: Some(holder.peak), average: holder.average, processes: 1, ..*held };
    }
    let groups: Vec<_> =
        all.into_iter().map(|(label, measure)| Group { labels: vec![label.to_owned()], measure }).collect();
    let peak = |held: &ProcessHeld| held.peak.map_or(0, |(pages, _)| pages);
    let compare = |a: &ProcessHeld, b: &ProcessHeld| match order {
        RowOrder::Name => Ordering::Equal,
        RowOrder::Peak => peak(b).cmp(&peak(a)),
        RowOrder::Pages | RowOrder::ImpactPages => b.pages.cmp(&a.pages).then(peak(b).cmp(&peak(a))),
    };
    Node::tree(&groups, compare, Some(top))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_gone_have_a_line_too() {
        let row =
            |label: &str, pages| Group { labels: vec![label.into()], measure: RowCount { pages, impact_pages: 0 } };
        let holder = |process: &str, peak, average| Holder { process: process.into(), peak: (peak, Nanos(7)), average };
        let rows = [row("a", 5), row("b", 9)];
        let holders = [holder("gone", 80, 2.5), holder("b", 9, 4.0), holder("a", 6, 1.0), holder("c", 1, 0.5)];
        let labels = |order, top| {
            let tree = by_process(&rows, &holders, order, top);
            (tree.parts.iter().map(|part| part.label.clone()).collect::<String>(), tree)
        };
        let (names, tree) = labels(RowOrder::Pages, 9);
        assert_eq!((names.as_str(), tree.measure.pages, tree.measure.peak), ("bagonec", 14, None));
        assert_eq!(tree.parts[2].measure.peak, Some((80, Nanos(7))));
        let (names, tree) = labels(RowOrder::Peak, 2);
        let (count, rest) = tree.more.unwrap();
        assert_eq!((names.as_str(), count, rest.pages, rest.peak, rest.average), ("goneb", 2, 5, None, 1.5));
        assert_eq!(labels(RowOrder::Name, 9).0, "abcgone");
    }
}
