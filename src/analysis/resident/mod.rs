//! The resident set: what every page of RAM holds at a snapshot, corrected, with WPA's number beside ours.
//!
//! Each page record is joined with the [`snapshot_context`] and classified: [`classify`] is the definition, [`batch_classify`]
//! is faster. [`count_snapshot`] counts pages by [`dimension`]s ([`category_counts`], [`group_counts`]), and [`rows`] makes
//! rows and tables of the counts. Pages are read in place from the mapped file and never collected.

pub(crate) mod batch_classify;
pub(crate) mod category_counts;
pub(crate) mod check_outcomes;
pub(crate) mod checks;
pub(crate) mod classify;
pub mod columns;
mod count_snapshot;
pub mod dimension;
pub mod explain;
pub mod first_screen;
pub(crate) mod group_counts;
pub mod page_counts;
pub mod query;
mod rows;
pub(crate) mod snapshot_context;
#[cfg(test)]
mod testing;

use crate::analysis::readiness::{Need, not_described, readiness_of};
use crate::analysis::table::{Condition, Group, Node};
use crate::analysis::trust::TrustReport;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::load::history::History;
use crate::load::page_run::PageRun;
use crate::model::hives::Hives;
use crate::model::page_owner_key::OwnerKeys;
use crate::model::process::Processes;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::{Snapshot, snapshots, whole};
use crate::units::{Nanos, count, counted};
use checks::Checks;
use columns::ColumnChoice;
use count_snapshot::SnapshotPlan;
use dimension::{Dimension, DimensionCode};
use page_counts::{PageCounts, ResidentOrder};
use query::{Classification, ResidentQuery};
use snapshot_context::SnapshotContext;
use std::collections::BTreeMap;

/// What `pfnset resident` shows.
#[derive(Debug)]
pub struct ResidentSet {
    /// Warnings, most important first.
    pub warnings: Vec<String>,
    /// Keywords that were not recorded, and the consequences of each.
    pub missing: Vec<Need>,
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
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
    /// What is shown of the rows.
    view: ColumnChoice,
    sort: ResidentOrder,
    top: Option<usize>,
}

/// One snapshot's result.
#[derive(Debug)]
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
    /// The same, nested, with labels for people.
    pub tree: Node<PageCounts>,
    /// Processes by pages that are theirs.
    pub processes: Node<PageCounts>,
}

/// Everything that classifying needs of a trace: shared by `resident`, `pages` and `--explain`.
#[derive(Debug)]
pub struct ResidentModel {
    /// What was collected.
    pub history: History,
    /// Process instances.
    pub processes: Processes,
    /// How owner keys are read.
    pub owner_keys: OwnerKeys,
    /// Rundowns.
    pub rundowns: Rundowns,
    /// Registry hives.
    pub hives: Hives,
    /// Page sequences.
    pub snapshots: Vec<Snapshot>,
    /// Page records that were left out, because the newer page event says the same and more.
    pub repeated: u64,
}

impl ResidentModel {
    /// Walks the trace.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when it holds no page sequence, [`Error::MissingPart`] when it is not whole.
    pub fn new(etl: &EtlFile) -> Result<ResidentModel, Error> {
        let model = ResidentModel::of_any(etl);
        ResidentModel::need_pages(etl, &model)?;
        Ok(model)
    }

    /// # Errors
    /// As of [`ResidentModel::new`], when the trace holds no page sequence.
    pub(crate) fn need_pages(etl: &EtlFile, model: &ResidentModel) -> Result<(), Error> {
        if !model.snapshots.is_empty() {
            return Ok(());
        }
        Err(TrustReport::new(etl, &model.history.survey).cannot_run(
            "Memory",
            "the trace holds no page sequence (Memory: PageInMemory), so nothing is known of what RAM held",
            "Record with the keyword Memory:\n  wpr -start ResidentSet -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+MEMORY+MEMINFO+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
        ))
    }

    /// Walks the trace, which may hold no page sequence.
    pub fn of_any(etl: &EtlFile) -> ResidentModel {
        let mut history = History::new(etl);
        let runs = std::mem::take(&mut history.runs);
        let snapshots = snapshots(&runs);
        let pages = |runs: &[PageRun]| runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        let repeated = pages(&runs) - snapshots.iter().map(|snapshot| pages(&snapshot.runs)).sum::<u64>();
        drop(runs);
        let (processes, rundowns) = rayon::join(|| Processes::new(&history), || Rundowns::new(&history));
        let hives = Hives::new(&history);
        let owner_keys = OwnerKeys::new(etl, &history.survey, &processes, &snapshots);
        ResidentModel { processes, owner_keys, rundowns, hives, snapshots, repeated, history }
    }

    /// Doubts about single pages; and true when data was lost or the file is damaged.
    pub(crate) fn warnings(&self, etl: &EtlFile) -> (Vec<String>, bool) {
        let survey = &self.history.survey;
        let trust = TrustReport::new(etl, survey);
        let missing = readiness_of(survey, "resident_set").map(|readiness| readiness.missing).unwrap_or_default();
        let unknown = trust.not_there(&missing).into_iter().chain(self.sequence_warnings(etl));
        (trust.warnings().into_iter().chain(unknown).collect(), trust.any())
    }

    /// Faults of the page sequences: records that cannot be pages, sequences of which only a part is there.
    pub fn sequence_warnings(&self, etl: &EtlFile) -> Vec<String> {
        let impossible = self.history.impossible_pages;
        let pages =
            counted(impossible, "page record is left out: it names a PFN", "page records are left out: they name PFNs");
        let left_out = (impossible > 0).then(|| format!("{pages} that no machine has"));
        left_out.into_iter().chain(self.fragments(etl)).collect()
    }

    /// A line on sequences of which only a part is there.
    fn fragments(&self, etl: &EtlFile) -> Option<String> {
        let is_whole: Vec<usize> = whole(&self.snapshots).collect();
        let (others, last) = (self.snapshots.len() - is_whole.len(), is_whole.last()?);
        let fragments = self.snapshots.iter().enumerate().filter(|(index, _)| is_whole.binary_search(index).is_err());
        let text = |(index, snapshot): (usize, &Snapshot)| {
            let time = etl.clock.nanos(snapshot.first.time).seconds();
            format!("snapshot {index} at {time:.3} s with {}", counted(snapshot.pages, "page", "pages"))
        };
        let named: Vec<String> = fragments.take(3).map(text).collect();
        let more = if others > named.len() { format!(" and {} more", others - named.len()) } else { String::new() };
        let pages = count(self.snapshots.get(*last)?.pages);
        (others > 0).then(|| {
            format!(
                "{} of a page sequence, most of which is missing: {}{more}; the last whole one is snapshot {last} with \
                 {pages} pages (any can be chosen)",
                counted(others as u64, "fragment", "fragments"),
                named.join(", ")
            )
        })
    }

    /// What the pages of a snapshot are joined with.
    pub fn context(&self, etl: &EtlFile, snapshot: &Snapshot) -> SnapshotContext<'_> {
        let reading = self.owner_keys.reading(snapshot.version, snapshot.pointer);
        SnapshotContext::new(etl, &self.history, &self.processes, &self.rundowns, &self.hives, snapshot, reading)
    }
}

/// Counts the pages of a snapshot that meet the conditions by these dimensions: codes in their order.
pub fn count_pages(
    etl: &EtlFile,
    model: &ResidentModel,
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
    let context = model.context(etl, snapshot);
    let mut all = BTreeMap::new();
    for (mut codes, pages) in SnapshotPlan::new(&query).count(etl, &context, snapshot, &query).groups {
        codes.truncate(dimensions.len());
        *all.entry(codes).or_default() += pages;
    }
    all
}

impl ResidentSet {
    /// True when nothing of the first screen is cut off.
    pub const fn is_whole(&self) -> bool {
        self.view.all
    }

    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without a page sequence, [`Error::Usage`] for a snapshot that is not there.
    pub fn new(etl: &EtlFile, query: &ResidentQuery) -> Result<ResidentSet, Error> {
        ResidentSet::of(etl, &ResidentModel::new(etl)?, query)
    }

    /// The same for a trace that was walked already.
    ///
    /// # Errors
    /// [`Error::Usage`] for a snapshot that is not there.
    pub fn of(etl: &EtlFile, model: &ResidentModel, query: &ResidentQuery) -> Result<ResidentSet, Error> {
        let chosen = query.snapshot.indices(&model.snapshots)?;
        let trust = TrustReport::new(etl, &model.history.survey);
        let mut warnings = trust.warnings();
        warnings.extend(model.sequence_warnings(etl));
        let missing =
            readiness_of(&model.history.survey, "resident_set").map(|readiness| readiness.missing).unwrap_or_default();
        let sets: Vec<SnapshotSet> = chosen
            .into_iter()
            .filter_map(|index| Some(snapshot_set(etl, model, query, &trust, index, model.snapshots.get(index)?)))
            .collect();
        for set in &sets {
            let of = if sets.len() > 1 { format!("snapshot {}: ", set.index) } else { String::new() };
            warnings.extend(set.checks.failures().into_iter().map(|line| format!("{of}{line}")));
        }
        if model.repeated > 0 {
            warnings.push(format!(
                "{} page records of {PAGE_IN_MEMORY} repeat the sequence of {PAGE_IN_MEMORY_24H2} and are not counted again",
                count(model.repeated)
            ));
        }
        warnings.extend(trust.not_there(&missing));
        warnings.extend(not_described(&model.history.survey));
        Ok(ResidentSet {
            warnings,
            missing,
            snapshot_count: model.snapshots.len(),
            snapshots: sets,
            dimensions: query.group_by.clone(),
            classification: query.classification,
            compares: SnapshotPlan::new(query).compares,
            doubtful: trust.any(),
            view: query.view.clone(),
            sort: query.sort,
            top: query.top,
        })
    }
}

fn snapshot_set(
    etl: &EtlFile,
    model: &ResidentModel,
    query: &ResidentQuery,
    trust: &TrustReport,
    index: usize,
    snapshot: &Snapshot,
) -> SnapshotSet {
    let context = model.context(etl, snapshot);
    let plan = SnapshotPlan::new(query);
    let mut counted = plan.count(etl, &context, snapshot, query);
    let [mut rows, for_people] = rows::groups(&mut counted, &plan, &query.group_by, &context);
    query.sort.sort(&mut rows);
    let tree = query.sort.tree(&for_people, query.top);
    SnapshotSet {
        index,
        time: etl.clock.nanos(snapshot.first.time),
        pages: snapshot.pages,
        selected: tree.measure.pages,
        checks: Checks::new(&counted.base, &context, snapshot, &model.history, &trust.loss, etl),
        rows,
        tree,
        processes: rows::processes(&counted, &context),
    }
}
