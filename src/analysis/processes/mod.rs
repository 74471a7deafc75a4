//! The processes of a trace: start, end, parent, the private and page-table pages of each at a snapshot, and its commit.
//!
//! Process events are enough; without a page sequence the pages of a process are unknown.

mod rows;
pub(crate) mod tables;

pub use rows::{Dimension, ProcessCounts, ProcessOrder, ProcessPages, ProcessRow};

use crate::analysis::allocations::CommitOfProcesses;
use crate::analysis::resident::page_dimensions::DimensionCode;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::warnings::{self, failed_checks};
use crate::analysis::resident::{self, SnapshotContext};
use crate::analysis::table::{Condition, Group};
use crate::error::Error;
use crate::etl::record_id::HookId;
use crate::event::hooks::{PROCESS_DC_END, PROCESS_DC_START, PROCESS_END, PROCESS_START};
use crate::event::page_identity::{PageList, PageUse};
use crate::model::process::Instance;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::PROCESS_LIST;
use crate::trace::trust::readiness::of_lives;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{Nanos, Ticks, count, counted};

/// Events that describe processes; others only name their ids.
const PROCESS_EVENTS: [HookId; 4] = [PROCESS_START, PROCESS_END, PROCESS_DC_START, PROCESS_DC_END];

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct ProcessQuery {
    /// Dimensions of the rows, outermost first; empty: a row for each process.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a process must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Order of the processes.
    pub sort: ProcessOrder,
    /// At which snapshot pages are counted.
    pub snapshot: SnapshotChoice,
}

/// The snapshot at which pages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedSnapshot {
    /// Number in the trace, from 0.
    pub index: usize,
    /// When, since trace start.
    pub time: Nanos,
    /// Private pages and page tables whose owner key names no process.
    pub unattributed: ProcessPages,
    /// AWE and large pages, which are in no row.
    pub awe_and_large: u64,
    /// True where the trace records whose they are.
    is_recorded: bool,
}

/// What `pfnset processes` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProcessSet {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// Snapshots of the trace.
    pub snapshot_count: usize,
    /// Where pages are counted; `None` without a page sequence.
    pub snapshot: Option<CountedSnapshot>,
    /// Selected processes whose commit is not known; `None` where commit was not recorded.
    pub(crate) commit_unknown: Option<u64>,
    /// Processes of the trace.
    pub total: u64,
    /// Conditions that chose the processes: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Those that meet the conditions, in the query's order.
    pub processes: Vec<ProcessRow>,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// The processes grouped; empty without dimensions.
    pub rows: Vec<Group<ProcessCounts>>,
    /// All of them together.
    pub sum: ProcessCounts,
}

impl ProcessSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when no event describes a process, [`Error::MissingPart`] when they were lost,
    /// [`Error::Usage`] for a snapshot that is not there.
    pub fn answer(trace: &Trace, query: &ProcessQuery) -> Result<ProcessSet, Error> {
        trace.gather(warnings::PARTS);
        let trust = trace.trust();
        if trace.processes().instances.is_empty() {
            return Err(trace.cannot_run(&PROCESS_LIST));
        }
        let (snapshot, pages) = count_pages(trace, query.snapshot)?.unzip();
        let commit = CommitOfProcesses::new(trace);
        let mut processes: Vec<ProcessRow> = trace
            .processes()
            .instances
            .iter()
            .enumerate()
            .map(|(index, process)| ProcessRow {
                commit: commit.of(index),
                pages: pages.as_ref().and_then(|pages| pages.get(index).copied().flatten()),
                parent: process.parent_id.and_then(|id| parent_label(trace, process, id)),
                ..row(trace, process)
            })
            .chain(commit.nameless.iter().map(|(process_id, end)| nameless(trace, *process_id, *end)))
            .collect();
        let total = processes.len() as u64;
        processes.retain(|row| {
            query.conditions.iter().all(|condition| condition.matches([&condition.dimension.label(row)]))
        });
        query.sort.sort(&mut processes);
        let mut sum = ProcessCounts::default();
        processes.iter().for_each(|row| sum += ProcessCounts::of(row));
        // Nothing was selected, so there are 0 pages, not an unknown number.
        sum.pages = sum.pages.or(snapshot.map(|_| ProcessPages::default()));
        let of_records = of_lives(trace.processes(), &PROCESS_LIST);
        let undescribed = undescribed(trace).into_iter().chain(of_records);
        let mut of_sequence = trace.page_sequences().warnings(&trace.etl().clock);
        let commit_unknown =
            commit.is_recorded.then(|| processes.iter().filter(|row| row.commit.is_none()).count() as u64);
        of_sequence.extend(snapshot.into_iter().flat_map(|snapshot| failed_checks(trace, snapshot.index)));
        Ok(ProcessSet {
            warnings: (trust.warnings().into_iter())
                .chain(undescribed)
                .chain(before_start(trace))
                .chain(of_sequence)
                .chain(commit.warnings)
                .chain(commit_unknown.and_then(|unknown| in_no_sum(unknown, processes.len() as u64)))
                .chain(snapshot.and_then(|snapshot| in_no_row(&snapshot.unattributed)))
                .chain(snapshot.and_then(|snapshot| snapshot.not_private()))
                .collect(),
            commit_unknown,
            snapshot_count: trace.snapshots().len(),
            snapshot,
            filter: Condition::written(&query.conditions),
            total,
            sum,
            rows: if query.group_by.is_empty() { Vec::new() } else { rows::groups(&processes, &query.group_by) },
            processes,
            dimensions: query.group_by.clone(),
        })
    }
}

/// A line on a trace whose processes no event describes.
fn undescribed(trace: &Trace) -> Option<Warning> {
    let described = PROCESS_EVENTS.iter().any(|&hook| trace.survey().kernel_count(hook) > 0);
    let text = "no process event is in the trace (keyword ProcessThread): names, parents, sessions, starts and ends are unknown";
    (!described).then(|| Warning::note(PROCESS_LIST.name, "processes_undescribed", text.to_owned()))
}

/// A line on starts and ends before the trace begins, which its list of running processes would not have.
fn before_start(trace: &Trace) -> Option<Warning> {
    let origin = trace.etl().clock.origin;
    let times = |process: &Instance| [process.start_time(), process.end_time()].into_iter().flatten();
    let early = trace.processes().instances.iter().flat_map(times).filter(|time| *time < origin).count() as u64;
    let text = || {
        let times = counted(early, "start or end of a process is", "starts and ends of processes are");
        format!(
            "{times} before the stamp of the log-file header: times less than 0, which are damaged or of another file"
        )
    };
    (early > 0).then(|| Warning::note(PROCESS_LIST.name, "processes_before_start", text()).of(early))
}

/// A line on pages whose process is not in the trace.
fn in_no_row(pages: &ProcessPages) -> Option<Warning> {
    let all = pages.private + pages.page_tables;
    (all > 0).then(|| {
        let text = format!(
            "{} of no process of the trace ({} private, {} of page tables) {} in no row: the owner key names no process",
            counted(all, "page", "pages"),
            count(pages.private),
            count(pages.page_tables),
            if all == 1 { "is" } else { "are" }
        );
        Warning::note(PROCESS_LIST.name, "in_no_row", text).of(all)
    })
}

impl CountedSnapshot {
    /// A line on pages of processes that are neither private pages nor page tables.
    fn not_private(&self) -> Option<Warning> {
        let pages = counted(self.awe_and_large, "AWE or large page is", "AWE and large pages are");
        let whose = match self.is_recorded {
            true => "pfnset resident --group-by process has them by their owner",
            false => "their owner is not recorded before Windows 11",
        };
        let text = || format!("{pages} in no row: {whose}");
        (self.awe_and_large > 0).then(|| Warning::note(PROCESS_LIST.name, "in_no_row", text()).of(self.awe_and_large))
    }
}

/// A line on processes whose commit is in no sum.
fn in_no_sum(unknown: u64, all: u64) -> Option<Warning> {
    (unknown > 0).then(|| {
        let (some, all) = (count(unknown), counted(all, "process", "processes"));
        let text = format!(
            "the commit of {some} of {all} is not known and is in no sum: nothing tells what they had before the trace"
        );
        Warning::note(PROCESS_LIST.name, "in_no_sum", text).of(unknown)
    })
}

fn row(trace: &Trace, process: &Instance) -> ProcessRow {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ProcessRow {
        label: process.label(),
        name: known(&process.name),
        process_id: process.process_id,
        parent_id: process.parent_id,
        parent: None,
        session_id: process.session_id,
        command_line: known(&process.command_line),
        start: process.start_time().map(|time| trace.time(time)),
        begin: process.begin_time().map(|time| trace.time(time)),
        end: process.end_time().map(|time| trace.time(time)),
        exit_status: process.exit_status,
        pages: None,
        commit: None,
    }
}

/// The row of a process that no record tells of but those of its commit, before the start of another one with its id.
fn nameless(trace: &Trace, process_id: u32, end: Ticks) -> ProcessRow {
    let end = Moment { time: end, order: 0 };
    row(trace, &Instance::nameless(process_id, end))
}

/// The label of the parent, also of one that no event describes.
fn parent_label(trace: &Trace, process: &Instance, id: u32) -> Option<String> {
    if id == process.process_id {
        return None;
    }
    Some(trace.processes().parent(process).map_or_else(|| format!("Unknown ({id})"), Instance::label))
}

/// Pages of each instance; `None` if no event has the key that page records use for it.
type PagesByInstance = Vec<Option<ProcessPages>>;

/// Counts the pages of each instance; `None` without a page sequence, unless one was asked for by its number.
fn count_pages(trace: &Trace, choice: SnapshotChoice) -> Result<Option<(CountedSnapshot, PagesByInstance)>, Error> {
    if choice == SnapshotChoice::All {
        return Err(Error::Usage(
            "pages of processes are counted at one snapshot: the last one or one by number".into(),
        ));
    }
    let snapshots = trace.snapshots();
    if let (SnapshotChoice::Index(number), true) = (choice, snapshots.is_empty()) {
        return Err(Error::Usage(format!("there is no snapshot {number}: the trace holds no page records")));
    }
    if snapshots.is_empty() {
        return Ok(None);
    }
    let chosen = choice.indices(snapshots)?;
    let Some((index, snapshot)) = chosen.first().and_then(|&index| Some((index, snapshots.get(index)?))) else {
        return Ok(None);
    };
    let reading = trace.owner_keys().reading(snapshot.version, snapshot.pointer);
    let key = |process: &Instance| reading.key_of(process, snapshot.pointer);
    let mut pages: PagesByInstance =
        trace.processes().instances.iter().map(|process| key(process).map(|_| ProcessPages::default())).collect();
    let (mut unattributed, mut awe_and_large) = (ProcessPages::default(), 0);
    use resident::page_dimensions::Dimension;
    let dimensions = [Dimension::PROCESS, Dimension::Use, Dimension::List];
    let context = SnapshotContext::new(trace, snapshot);
    for (codes, count) in resident::count_pages(trace, &context, snapshot, &dimensions, &[]) {
        let [owner, DimensionCode::Number(page_use), DimensionCode::Number(list)] = codes[..] else { continue };
        let is = |wanted: PageUse| if page_use == wanted as u64 { count } else { 0 };
        awe_and_large += is(PageUse::Awe) + is(PageUse::LargePage);
        let (private, page_tables) = (is(PageUse::ProcessPrivate), is(PageUse::PageTable));
        let on = |wanted: PageList| if list == wanted as u64 { private + page_tables } else { 0 };
        let modified = on(PageList::Modified) + on(PageList::ModifiedNoWrite);
        let part = ProcessPages { private, page_tables, standby: on(PageList::Standby), modified };
        match owner {
            DimensionCode::Number(index) => {
                pages.get_mut(index as usize).into_iter().for_each(|pages| *pages.get_or_insert_default() += part);
            }
            DimensionCode::Unknown(_) => unattributed += part,
            _ => {}
        }
    }
    let time = trace.time(snapshot.first.time);
    let is_recorded = context.owned_large_pages;
    Ok(Some((CountedSnapshot { index, time, unattributed, awe_and_large, is_recorded }, pages)))
}
