//! The summary: the largest categories and processes of what is held at the window's end.

use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::query::{Dimension, Query, RowOrder};
use crate::analysis::refset::row_key::{RowCount, RowKey};
use crate::analysis::refset::totals::process_peaks::ProcessPeak;
use crate::analysis::table::{Group, Node};
use crate::dimensions::Label;
use crate::units::Nanos;
use foldhash::HashMap as FastMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;

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
pub struct HeldSummary {
    /// Categories.
    pub categories: Node<RowCount>,
    /// Processes, with those that held pages in the window and hold none at its end.
    pub processes: Node<ProcessHeld>,
    /// How many hold none at its end.
    pub gone: u64,
}

/// The processes that hold pages at the window's end (`rows`), and those that held some in it and are gone.
fn by_process(rows: &[Group<RowCount>], peaks: &[ProcessPeak], order: RowOrder, top: usize) -> Node<ProcessHeld> {
    // In order of the labels, because sums of averages depend on their order in the last digit.
    let mut all: BTreeMap<&str, ProcessHeld> = BTreeMap::new();
    for row in rows {
        let label = row.labels.first().map_or("", Label::as_str);
        all.insert(label, ProcessHeld { pages: row.measure.pages, processes: 1, ..ProcessHeld::default() });
    }
    for found in peaks {
        let held = all.entry(&found.process).or_default();
        *held = ProcessHeld { peak: Some(found.peak), average: found.average, processes: 1, ..*held };
    }
    let groups: Vec<_> =
        all.into_iter().map(|(label, measure)| Group { labels: vec![Label::name(label)], measure }).collect();
    let peak = |held: &ProcessHeld| held.peak.map_or(0, |(pages, _)| pages);
    let compare = |a: &ProcessHeld, b: &ProcessHeld| match order {
        RowOrder::Name => Ordering::Equal,
        RowOrder::Peak => peak(b).cmp(&peak(a)),
        RowOrder::Pages | RowOrder::ImpactPages => b.pages.cmp(&a.pages).then(peak(b).cmp(&peak(a))),
    };
    Node::tree(&groups, compare, Some(top))
}

impl ReplayContext<'_> {
    /// Largest categories and processes. What processes held at other times is known of all pages only.
    pub fn summary(&self, all: &FastMap<RowKey, RowCount>, peaks: &[ProcessPeak], query: &Query) -> HeldSummary {
        let of = |dimension| self.rows(all, &[dimension], query);
        let peaks: &[ProcessPeak] = if query.conditions.is_empty() { peaks } else { &[] };
        let rows = of(Dimension::PROCESS);
        let remains =
            |peak: &&ProcessPeak| rows.iter().any(|row| row.labels.iter().any(|label| *label == *peak.process));
        HeldSummary {
            categories: query.order.tree(&of(Dimension::Category), Some(query.summary_rows)),
            processes: by_process(&rows, peaks, query.order, query.summary_rows),
            gone: (peaks.len() - peaks.iter().filter(remains).count()) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_gone_have_a_line_too() {
        let row = |label: &str, pages| Group {
            labels: vec![Label::name(label)],
            measure: RowCount { pages, impact_pages: 0 },
        };
        let peak =
            |process: &str, peak, average| ProcessPeak { process: process.into(), peak: (peak, Nanos(7)), average };
        let rows = [row("a", 5), row("b", 9)];
        let peaks = [peak("gone", 80, 2.5), peak("b", 9, 4.0), peak("a", 6, 1.0), peak("c", 1, 0.5)];
        let labels = |order, top| {
            let tree = by_process(&rows, &peaks, order, top);
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
