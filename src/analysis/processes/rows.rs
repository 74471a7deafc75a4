//! Rows of processes: labels, order, groups.

use crate::analysis::allocations::ProcessCommit;
use crate::analysis::table::group::natural;
use crate::analysis::table::{Group, Node};
use crate::dimensions::single_dimensions::{ENDED, NAME, PARENT, STARTED};
use crate::dimensions::{Label, ProcessFacet, dimensions};
use crate::units::Nanos;
use std::cmp::Ordering;
use std::collections::BTreeMap;

dimensions! {
    /// What processes are grouped and filtered by.
    pub enum Dimension {
        Process: ProcessFacet::Process.facet();
        Name: NAME;
        Pid: ProcessFacet::Pid.facet();
        Parent: PARENT;
        Session: ProcessFacet::Session.facet();
        CommandLine: ProcessFacet::CommandLine.facet();
        Started: STARTED;
        Ended: ENDED;
    }
}

impl Dimension {
    /// The label of a process.
    pub fn label(self, row: &ProcessRow) -> Label {
        let known = |text: &Option<String>, none: &str| {
            text.as_deref().map_or_else(|| Label::nothing().shown_as(none), Label::name)
        };
        match self {
            Dimension::Process => Label::name(&*row.label),
            Dimension::Name => Label::name(row.name.as_deref().unwrap_or("Unknown")),
            Dimension::Pid => Label::number(row.process_id),
            Dimension::Parent => known(&row.parent, "unknown parent"),
            Dimension::Session => row.session_id.map_or_else(|| Label::nothing().shown_as("no session"), Label::number),
            Dimension::CommandLine => known(&row.command_line, "unknown command line"),
            Dimension::Started => Label::flag(row.begin.is_some()),
            Dimension::Ended => Label::flag(row.end.is_some()),
        }
    }
}

/// A process instance: ids are reused, so one id can occur more than once.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProcessRow {
    /// `name.exe (pid)`.
    pub label: String,
    /// Name of the image file; `None` when no event has it.
    pub name: Option<String>,
    /// Process id.
    pub process_id: u32,
    /// Id of the parent.
    pub parent_id: Option<u32>,
    /// The parent as a label; `None` when no event has its id, and for a process that names itself (Idle).
    pub parent: Option<String>,
    /// Session.
    pub session_id: Option<u32>,
    /// Command line; `None` when no event has it.
    pub command_line: Option<String>,
    /// When it started; `None`: before the trace, or no record tells it.
    pub start: Option<Nanos>,
    /// When it ended; `None`: it outlived the trace.
    pub end: Option<Nanos>,
    /// Its exit status.
    pub exit_status: Option<i32>,
    /// Its pages at the snapshot; `None` without a page sequence, and when no event has the key that names its pages.
    pub pages: Option<ProcessPages>,
    /// What it had committed; `None` where that was not recorded.
    pub(crate) commit: Option<ProcessCommit>,
    /// Since when its id is its own; `None`: before the trace.
    pub(crate) begin: Option<Nanos>,
}

/// Pages that belong to one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessPages {
    /// Private pages.
    pub private: u64,
    /// Page tables.
    pub page_tables: u64,
    /// Private and page-table pages on the standby list.
    pub standby: u64,
    /// Private and page-table pages on the modified and modified-no-write lists.
    pub modified: u64,
}

impl std::ops::AddAssign for ProcessPages {
    fn add_assign(&mut self, other: ProcessPages) {
        self.private += other.private;
        self.page_tables += other.page_tables;
        self.standby += other.standby;
        self.modified += other.modified;
    }
}

/// What is counted of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessCounts {
    /// Processes.
    pub processes: u64,
    /// Their pages; `None` without a page sequence.
    pub pages: Option<ProcessPages>,
    /// What they had committed: those of which it is known.
    pub(crate) commit: Option<ProcessCommit>,
    /// Processes of which it is not known.
    pub(crate) commit_unknown: u64,
}

impl std::ops::AddAssign for ProcessCounts {
    fn add_assign(&mut self, other: ProcessCounts) {
        self.processes += other.processes;
        self.commit_unknown += other.commit_unknown;
        if let Some(pages) = other.pages {
            *self.pages.get_or_insert_default() += pages;
        }
        match (&mut self.commit, other.commit) {
            (Some(sum), Some(commit)) => *sum += commit,
            (sum @ None, commit) => *sum = commit,
            (Some(_), None) => {}
        }
    }
}

impl ProcessCounts {
    /// Those of one process.
    pub(super) fn of(row: &ProcessRow) -> ProcessCounts {
        let commit_unknown = row.commit.is_none().into();
        ProcessCounts { processes: 1, pages: row.pages, commit: row.commit, commit_unknown }
    }

    fn all_pages(&self) -> u64 {
        self.pages.map_or(0, |pages| pages.private + pages.page_tables)
    }
}

/// How rows are ordered; equal ones by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessOrder {
    /// Most pages first, then most processes.
    #[default]
    Pages,
    /// By label.
    Name,
    /// By start: first those from before the trace; without a record of it, when the process before with the id ended. Groups are ordered by label.
    Start,
}

impl ProcessOrder {
    fn compare(self, a: &ProcessCounts, b: &ProcessCounts) -> Ordering {
        match self {
            ProcessOrder::Pages => b.all_pages().cmp(&a.all_pages()).then_with(|| b.processes.cmp(&a.processes)),
            ProcessOrder::Name | ProcessOrder::Start => Ordering::Equal,
        }
    }

    /// Orders single processes.
    pub(super) fn sort(self, rows: &mut [ProcessRow]) {
        let start = |row: &ProcessRow| if self == ProcessOrder::Start { row.begin.map(|time| time.0) } else { None };
        rows.sort_by(|a, b| {
            let first =
                self.compare(&ProcessCounts::of(a), &ProcessCounts::of(b)).then_with(|| start(a).cmp(&start(b)));
            first.then_with(|| natural(&a.label, &b.label))
        });
    }

    /// The groups as a tree.
    pub(super) fn tree(self, groups: &[Group<ProcessCounts>], top: Option<usize>) -> Node<ProcessCounts> {
        Node::tree(groups, |a, b| self.compare(a, b), top)
    }
}

/// Groups in order of their labels.
pub(super) fn groups(rows: &[ProcessRow], dimensions: &[Dimension]) -> Vec<Group<ProcessCounts>> {
    let mut all: BTreeMap<Vec<Label>, ProcessCounts> = BTreeMap::new();
    for row in rows {
        let labels = dimensions.iter().map(|dimension| dimension.label(row)).collect();
        *all.entry(labels).or_default() += ProcessCounts::of(row);
    }
    all.into_iter().map(|(labels, measure)| Group { labels, measure }).collect()
}
