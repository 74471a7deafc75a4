//! The resident set: what every page of RAM holds at a snapshot, corrected, with WPA's number beside ours.
//!
//! Each page record is joined with the [`snapshot_context`] and classified: [`classify`] is the definition, [`batch_classify`]
//! is faster. [`count_snapshot`] counts pages by [`page_dimensions`]s ([`category_counts`], [`group_counts`]), and [`rows`] makes
//! rows and tables of the counts. Pages are read in place from the mapped file and never collected.

pub(crate) mod batch_classify;
pub(crate) mod category_counts;
pub(crate) mod check_outcomes;
pub(crate) mod classify;
pub(crate) mod commit_stacks;
pub(crate) mod consistency_checks;
mod count_snapshot;
pub mod explain;
pub mod first_screen;
pub(crate) mod group_counts;
pub(crate) mod known_things;
pub mod page_counts;
pub mod page_dimensions;
pub mod query;
mod ranges_by_address;
pub(crate) mod rows;
pub(crate) mod snapshot_context;
pub mod tables;
#[cfg(etl_writer)] // only this repository has it
#[cfg(test)]
mod testing;
pub(crate) mod warnings;

pub use crate::analysis::category_rules::{Rule, RuleSet};
pub use check_outcomes::Outcome;
pub use consistency_checks::{Checks, Compared};
pub use snapshot_context::SnapshotContext;

use crate::analysis::stacks::StackTexts;
use crate::analysis::table::{Condition, Dimension as _, Field, Forms, Group, Node, Table, Value};
use crate::code_page::CodePage;
use crate::error::Error;
use crate::load::trace_parts::Parts;
use crate::model::snapshot::{Snapshot, whole};
use crate::trace::Trace;
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::trust::readiness::Need;
use crate::trace::trust::warning::Warnings;
use crate::units::Nanos;
use commit_stacks::{AllocationShare, CommitStacks, PageShare};
use count_snapshot::SnapshotPlan;
use page_counts::PageCounts;
use page_dimensions::{Dimension, DimensionCode};
use query::{Classification, ResidentQuery, ResidentView, stacks_for};
use std::collections::BTreeMap;
use tables::PROCESS_OWNER;

/// What `pfnset resident` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResidentSet {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// Keywords that were not recorded, and the consequences of each.
    pub missing: Vec<Need>,
    /// The code page by which names of processes were read, where some needed one.
    pub(crate) code_page: Option<CodePage>,
    /// The snapshots asked for.
    pub snapshots: Vec<SnapshotSet>,
    /// Snapshots of the trace.
    pub snapshot_count: usize,
    /// Dimensions of the rows, outermost first.
    pub dimensions: Vec<Dimension>,
    /// By whose rules rows are grouped.
    pub classification: Classification,
    /// True when rows have a count by WPA's rules beside ours.
    pub compares: bool,
    /// All conditions: names of dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Of how many allocations of the trace the stack is known, where rows or conditions ask for stacks.
    pub(crate) stacks: Option<AllocationShare>,
    /// The whole stacks of the rows.
    stack_texts: StackTexts,
    /// Number of the last whole snapshot of the trace.
    pub(crate) last: Option<usize>,
}

/// One snapshot's result.
#[derive(Debug)]
#[non_exhaustive]
pub struct SnapshotSet {
    /// Number in the trace, from 0.
    pub index: usize,
    /// When, since trace start.
    pub time: Nanos,
    /// Pages of the sequence.
    pub pages: u64,
    /// Pages that the conditions let pass.
    pub selected: u64,
    /// Checks.
    pub checks: Checks,
    /// Groups in order of their size.
    pub rows: Vec<Group<PageCounts>>,
    /// All of them together.
    pub all: PageCounts,
    /// Processes by pages that are theirs.
    pub processes: Node<PageCounts>,
    /// Which of them has most.
    pub(crate) largest_process: Option<rows::OwnPages>,
    /// Of how many pages the stack is known, where rows or conditions ask for stacks.
    pub(crate) stacks: Option<PageShare>,
}

/// Counts the pages of a snapshot that meet the conditions by these dimensions: codes in their order, which only this context
/// turns into labels.
pub(crate) fn count_pages(
    trace: &Trace,
    context: &SnapshotContext<'_>,
    snapshot: &Snapshot,
    dimensions: &[Dimension],
    conditions: &[Condition<Dimension>],
) -> BTreeMap<Vec<DimensionCode>, u64> {
    let query = ResidentQuery {
        group_by: dimensions.to_vec(),
        conditions: conditions.to_vec(),
        classification: Classification::Corrected,
        processes: false,
        ..ResidentQuery::default()
    };
    let mut all = BTreeMap::new();
    for (mut codes, pages) in SnapshotPlan::new(&query).count(trace.etl(), context, snapshot, &query).groups {
        codes.truncate(dimensions.len());
        *all.entry(codes).or_default() += pages;
    }
    all
}

impl ResidentSet {
    /// True when conditions on stacks chose the pages.
    pub(crate) fn chooses_stacks(&self) -> bool {
        self.filter.iter().any(|(name, _)| Dimension::parse(name).is_ok_and(|of| of.of_stack().is_some()))
    }

    /// True when the numbers are those of WPA's rules alone.
    pub(crate) fn is_by_wpa(&self) -> bool {
        self.classification == Classification::Wpa
    }

    /// What the answer is made of.
    pub const PARTS: Parts = warnings::PARTS;

    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] or [`Error::MissingPart`] without a page sequence, [`Error::Usage`] for a snapshot that is not
    /// there.
    pub fn answer(trace: &Trace, query: &ResidentQuery) -> Result<ResidentSet, Error> {
        trace.gather(ResidentSet::PARTS);
        let snapshots = trace.need_snapshots()?;
        let chosen = query.snapshot.indices(snapshots)?;
        let stacks = stacks_for(trace, &query.group_by, &query.conditions, &query.symbols);
        let sets: Vec<SnapshotSet> = chosen
            .into_iter()
            .filter_map(|index| Some(snapshot_set(trace, query, index, snapshots.get(index)?, stacks.as_ref())))
            .collect();
        let checks: Vec<(usize, &Checks)> = sets.iter().map(|set| (set.index, &set.checks)).collect();
        let mut warnings = warnings::of_checks(trace, &checks);
        warnings.extend(stacks.iter().flat_map(warnings::of_stacks));
        let indices: Vec<usize> = sets.iter().map(|set| set.index).collect();
        warnings.extend(warnings::of_untold(trace, &indices, &query.group_by, &query.conditions));
        warnings.extend(warnings::of_services(trace, &query.group_by, &query.conditions));
        Ok(ResidentSet {
            warnings,
            missing: trace.missing(&RESIDENT_SET),
            code_page: trace.code_page_of_names(),
            snapshot_count: snapshots.len(),
            snapshots: sets,
            dimensions: query.group_by.clone(),
            classification: query.classification,
            compares: SnapshotPlan::new(query).compares,
            filter: Condition::written(&query.conditions),
            stacks: stacks.as_ref().map(CommitStacks::share),
            stack_texts: stacks.map(CommitStacks::into_texts).unwrap_or_default(),
            last: whole(snapshots).next_back(),
        })
    }

    /// The table of one of the snapshots.
    pub fn table(&self, snapshot: &SnapshotSet, view: &ResidentView) -> Table {
        let (all, tree) = (snapshot.all, view.sort.tree(&snapshot.rows, view.top));
        let shown = tables::shown(&view.columns, self.compares, &all);
        let people = Table::of_tree(Dimension::titles(&self.dimensions), &tree, &all, &shown);
        let mut people = people.with_total(&tree, &all, &shown);
        // The lists are sizes then.
        people.columns.iter_mut().take(1).for_each(|column| column.has_unit = view.columns.lists_across);
        let programs = tables::written(self.compares);
        let table = Table::of_groups(&self.dimensions, &snapshot.rows, &Node::default(), &all, &programs);
        let mut table = Table { columns: people.columns, lines: people.lines, ..table };
        let rows = snapshot.rows.iter().zip(&mut table.records);
        rows.for_each(|(row, record)| self.stack_texts.complete(&row.labels, record));
        if let Some(at) = self.dimensions.iter().position(|dimension| dimension.names_owner()) {
            table.fields.push(Field::new(PROCESS_OWNER));
            let owner = |group: &Group<PageCounts>| group.labels.get(at).map(|label| tables::owner(label.kind()));
            for (record, group) in table.records.iter_mut().zip(&snapshot.rows) {
                record.push(Value::maybe(owner(group), Value::text));
            }
        }
        if self.is_by_wpa() {
            let name = self.classification.name();
            table.fields.push(Field::only("classification", Forms::Alone));
            table.records.iter_mut().for_each(|record| record.push(Value::text(name)));
            let counted = table.columns.iter_mut().filter(|column| column.title == tables::PAGES_TITLE);
            counted.for_each(|column| column.title = "Pages by WPA".into());
        }
        table.with_first_field(Field::only("snapshot", Forms::Alone), &Value::Number(snapshot.index as u64))
    }
}

fn snapshot_set(
    trace: &Trace,
    query: &ResidentQuery,
    index: usize,
    snapshot: &Snapshot,
    stacks: Option<&CommitStacks>,
) -> SnapshotSet {
    let mut context = SnapshotContext::with_stacks(trace, snapshot, stacks);
    context.pool_tags = query.pool_tags.clone();
    let plan = SnapshotPlan::new(query);
    let mut counted = plan.count(trace.etl(), &context, snapshot, query);
    let mut rows = rows::groups(&mut counted, &plan, &query.group_by, &context);
    let mut all = PageCounts::default();
    rows.iter().for_each(|row| all += row.measure);
    query.sort.sort(&mut rows);
    let (processes, largest_process) = rows::processes(&counted, &context);
    SnapshotSet {
        index,
        time: trace.time(snapshot.first.time),
        pages: snapshot.pages,
        selected: all.pages,
        checks: Checks::new(&counted.base, &context, snapshot, trace),
        rows,
        all,
        processes,
        largest_process,
        stacks: counted.stacks,
    }
}
