//! The side that is a trace: its pages by the dimensions asked for.

use crate::analysis::diff::compared_dimensions::{Dimension, of_reference, of_resident};
use crate::analysis::diff::process_matching::{Match, Starts};
use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::{self as reference_query, Dimension as ReferenceDimension};
use crate::analysis::resident::commit_stacks::CommitStacks;
use crate::analysis::resident::count_pages;
use crate::analysis::resident::page_dimensions::Dimension as ResidentDimension;
use crate::analysis::resident::query::{SnapshotChoice, stacks_for};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::warnings;
use crate::analysis::table::{Condition, Dimension as _};
use crate::dimensions::Label;
use crate::error::Error;
use crate::imported::CountedRow;
use crate::imported::amount::Amount;
use crate::model::process::Instance;
use crate::model::snapshot::{Snapshot, whole};
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::trust::warning::{Warning, Warnings};

/// A resident-set trace, joined.
#[derive(Debug)]
pub struct ResidentSide<'t> {
    /// The trace.
    pub trace: &'t Trace,
    /// Number of the snapshot that is compared.
    pub snapshot: usize,
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// The stacks of commits, where functions or modules are asked for.
    stacks: Option<CommitStacks>,
}

/// How far the time in a table may be from that of the page sequence, seconds. Cell formats round to a second at most.
const NEAR_SECONDS: f64 = 1.0;

/// Pages of a trace by WPA's category, ours, and the rule that gave ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    /// By WPA's rules.
    pub category_wpa: String,
    /// By ours.
    pub category: String,
    /// Id of our rule.
    pub rule: String,
    /// Pages.
    pub pages: u64,
}

impl<'t> ResidentSide<'t> {
    /// Reads the trace, for these dimensions and conditions, with symbols out of these folders. `near`: the time of the snapshot by the other side, in seconds.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without a page sequence, [`Error::Usage`] for a snapshot that is not there.
    pub fn new(
        trace: &'t Trace,
        (dimensions, conditions, symbols): (&[Dimension], &[Condition<Dimension>], &SymbolFolders),
        choice: SnapshotChoice,
        near: Option<f64>,
    ) -> Result<ResidentSide<'t>, Error> {
        trace.gather(SnapshotContext::PARTS);
        let snapshots = trace.need_snapshots()?;
        let seconds = |snapshot: &Snapshot| trace.time(snapshot.first.time).seconds();
        let snapshot = match (choice, near) {
            (SnapshotChoice::Last, Some(near)) => {
                let apart = |index: &usize| snapshots.get(*index).map_or(f64::MAX, |s| (seconds(s) - near).abs());
                whole(snapshots).min_by(|a, b| apart(a).total_cmp(&apart(b)))
            }
            _ => choice.indices(snapshots)?.first().copied(),
        };
        let indices: Vec<usize> = snapshot.into_iter().collect();
        let mut warnings = warnings::of_snapshots(trace, &indices);
        let rows: Vec<ResidentDimension> = dimensions.iter().filter_map(|d| d.resident(false)).collect();
        let chosen = of_resident(conditions, false);
        let stacks = stacks_for(trace, &rows, &chosen, symbols);
        warnings.extend(stacks.iter().flat_map(warnings::of_stacks));
        warnings.extend(warnings::of_untold(trace, &indices, &rows, &chosen));
        warnings.extend(warnings::of_services(trace, &rows, &chosen));
        let compared = snapshot.and_then(|index| snapshots.get(index));
        warnings.extend(near.zip(compared).and_then(|(near, snapshot)| {
            let last = trace.time(snapshot.last_time).seconds();
            let is_near = (seconds(snapshot) - NEAR_SECONDS..=last + NEAR_SECONDS).contains(&near);
            (!is_near).then(|| {
                let text = format!(
                    "the other side's snapshot was at {near} s, the nearest page sequence began at {:.3} s: it may be of \
                     another trace",
                    seconds(snapshot)
                );
                Warning::note(RESIDENT_SET.name, "snapshots_apart", text)
            })
        }));
        Ok(ResidentSide { trace, snapshot: snapshot.unwrap_or(0), warnings, stacks })
    }

    /// The snapshot.
    pub fn pages(&self) -> Option<&Snapshot> {
        self.trace.snapshots().get(self.snapshot)
    }

    /// Counts pages by these dimensions.
    pub fn rows(&self, dimensions: &[Dimension], conditions: &[Condition<Dimension>], by_wpa: bool) -> Vec<CountedRow> {
        let wanted: Vec<ResidentDimension> = dimensions.iter().filter_map(|d| d.resident(by_wpa)).collect();
        let rows = self.count(&wanted, &of_resident(conditions, by_wpa));
        let row = |(labels, pages): (Vec<Label>, u64)| CountedRow {
            labels: labels.iter().map(|label| label.as_str().into()).collect(),
            amount: Amount::of_pages(i64::try_from(pages).unwrap_or(i64::MAX)),
        };
        rows.into_iter().map(row).collect()
    }

    fn count(
        &self,
        dimensions: &[ResidentDimension],
        conditions: &[Condition<ResidentDimension>],
    ) -> Vec<(Vec<Label>, u64)> {
        let Some(snapshot) = self.pages() else { return Vec::new() };
        let context = SnapshotContext::with_stacks(self.trace, snapshot, self.stacks.as_ref());
        let counted = count_pages(self.trace, &context, snapshot, dimensions, conditions);
        let labels = |codes: Vec<_>| dimensions.iter().zip(codes).map(|(d, code)| d.label(&context, code)).collect();
        counted.into_iter().map(|(codes, pages)| (labels(codes), pages)).collect()
    }

    /// Pages whose category differs between the rule sets, most first.
    pub fn rule_changes(&self, conditions: &[Condition<Dimension>]) -> Vec<RuleChange> {
        let dimensions = [ResidentDimension::CategoryWpa, ResidentDimension::Category, ResidentDimension::Rule];
        let rows = self.count(&dimensions, &of_resident(conditions, true));
        let moved = rows.into_iter().filter_map(|(labels, pages)| {
            let [category_wpa, category, rule] = <[Label; 3]>::try_from(labels).ok()?.map(|label| label.to_string());
            (category_wpa != category).then_some(RuleChange { category_wpa, category, rule, pages })
        });
        let mut moved: Vec<RuleChange> = moved.collect();
        moved.sort_by(|a, b| {
            b.pages.cmp(&a.pages).then_with(|| (&a.category_wpa, &a.rule).cmp(&(&b.category_wpa, &b.rule)))
        });
        moved
    }
}

/// When the processes of a trace started, where that decides which are the same.
pub(super) fn starts(how: Match, trace: &Trace) -> Starts {
    if how != Match::NameAndStart {
        return Starts::new();
    }
    let start =
        |process: &Instance| process.begin_time().map_or(0, |time| u64::try_from(trace.time(time).0).unwrap_or(0) + 1);
    trace.processes().instances.iter().map(|process| (process.label(), start(process))).collect()
}

/// A reference set of a trace.
#[derive(Debug)]
pub struct ReferenceSide {
    /// Rows.
    pub rows: Vec<CountedRow>,
    /// Doubts.
    pub warnings: Warnings,
    /// The length of the scenario, nanoseconds.
    pub span_ns: u64,
}

/// Which pages of a reference set count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Pages held at the window's end.
    AtStop,
    /// All pages that were held in the window.
    InWindow,
    /// The same, but a page of several processes counts once.
    InWindowOnce,
    /// Those by impact: less what was held before the window and released in it.
    ByImpact,
}

impl ReferenceSide {
    /// Counts by these dimensions.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without page accesses.
    pub fn new(
        trace: &Trace,
        dimensions: &[Dimension],
        conditions: &[Condition<Dimension>],
        (held, symbols): (Held, &SymbolFolders),
    ) -> Result<ReferenceSide, Error> {
        let mut group_by: Vec<ReferenceDimension> = dimensions.iter().filter_map(|d| d.reference()).collect();
        let has_ended = [ReferenceDimension::Impact, ReferenceDimension::ReleaseReason];
        match held {
            Held::InWindow if !group_by.iter().any(|dimension| has_ended.contains(dimension)) => {
                group_by.push(ReferenceDimension::ReleaseReason);
            }
            Held::InWindowOnce | Held::ByImpact if !group_by.contains(&ReferenceDimension::Impact) => {
                group_by.push(ReferenceDimension::Impact);
            }
            _ => {}
        }
        let (conditions, symbols) = (of_reference(conditions), symbols.clone());
        let query = reference_query::Query { group_by, conditions, symbols, ..Default::default() };
        let set = ReferenceSet::answer(trace, &query)?;
        let rows = set.rows.iter().map(|row| CountedRow {
            labels: row.labels.iter().take(dimensions.len()).map(|label| label.as_str().into()).collect(),
            amount: Amount::of_pages(match held {
                Held::InWindowOnce => row.measure.impact_pages,
                _ => row.measure.pages,
            }),
        });
        let (from, to) = set.window_times;
        let span_ns = u64::try_from(to.0 - from.0).unwrap_or(0);
        Ok(ReferenceSide { rows: rows.collect(), warnings: set.warnings, span_ns })
    }
}

/// Names for messages.
pub fn listed(dimensions: &[Dimension]) -> String {
    Dimension::names(dimensions).join(", ")
}
