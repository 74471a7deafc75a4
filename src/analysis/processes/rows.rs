//! Rows of processes: labels, order, groups, tables.

use crate::analysis::processes::{ProcessPages, ProcessRow, ProcessSet};
use crate::analysis::table::group::natural;
use crate::analysis::table::{
    Column, Field, Fit, Group, Line, Measured, NO_LABEL, Node, Table, Value, Values, dimensions,
};
use std::cmp::Ordering;
use std::collections::BTreeMap;

dimensions! {
    /// What processes are grouped and filtered by.
    pub enum Dimension {
        Process: "process", "Process", Values::Text;
        Name: "name", "Name", Values::Text;
        Pid: "pid", "PID", Values::Number;
        Parent: "parent", "Parent", Values::Text;
        Session: "session", "Session", Values::Number;
        CommandLine: "command_line", "Command line", Values::Text;
        Started: "started", "Started in the trace", Values::YesNo;
        Ended: "ended", "Ended in the trace", Values::YesNo;
    }
}

impl Dimension {
    /// The label of a process.
    pub fn label(self, row: &ProcessRow) -> String {
        let known = |text: Option<String>| text.unwrap_or_else(|| NO_LABEL.to_owned());
        match self {
            Dimension::Process => row.label.clone(),
            Dimension::Name => row.name.clone().unwrap_or_else(|| "Unknown".to_owned()),
            Dimension::Pid => row.process_id.to_string(),
            Dimension::Parent => known(row.parent.clone()),
            Dimension::Session => known(row.session_id.map(|id| id.to_string())),
            Dimension::CommandLine => known(row.command_line.clone()),
            Dimension::Started => row.start.is_some().to_string(),
            Dimension::Ended => row.end.is_some().to_string(),
        }
    }

    /// A label as tables show it.
    pub fn shown(self, label: &str) -> &str {
        match (self, label) {
            (Dimension::Parent, NO_LABEL) => "unknown parent",
            (Dimension::Session, NO_LABEL) => "no session",
            (Dimension::CommandLine, NO_LABEL) => "unknown command line",
            _ => label,
        }
    }
}

/// Groups with labels as tables show them.
pub(super) fn for_people(groups: &[Group<ProcessCounts>], dimensions: &[Dimension]) -> Vec<Group<ProcessCounts>> {
    let shown = |(dimension, label): (&Dimension, &String)| dimension.shown(label).to_owned();
    let labels = |group: &Group<ProcessCounts>| dimensions.iter().zip(&group.labels).map(shown).collect();
    groups.iter().map(|group| Group { labels: labels(group), measure: group.measure }).collect()
}

/// What is counted of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessCounts {
    /// Processes.
    pub processes: u64,
    /// Their pages; `None` without a page sequence.
    pub pages: Option<ProcessPages>,
}

impl std::ops::AddAssign for ProcessCounts {
    fn add_assign(&mut self, other: ProcessCounts) {
        self.processes += other.processes;
        if let Some(pages) = other.pages {
            *self.pages.get_or_insert_default() += pages;
        }
    }
}

impl ProcessCounts {
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
    /// By start: first those from before the trace. Groups are ordered by label.
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
        let start = |row: &ProcessRow| if self == ProcessOrder::Start { row.start.map(|time| time.0) } else { None };
        rows.sort_by(|a, b| {
            let first = self.compare(&counts(a), &counts(b)).then_with(|| start(a).cmp(&start(b)));
            first.then_with(|| natural(&a.label, &b.label))
        });
    }

    /// The groups as a tree.
    pub(super) fn tree(self, groups: &[Group<ProcessCounts>], top: Option<usize>) -> Node<ProcessCounts> {
        Node::tree(groups, |a, b| self.compare(a, b), top)
    }
}

fn counts(row: &ProcessRow) -> ProcessCounts {
    ProcessCounts { processes: 1, pages: row.pages }
}

/// Groups in order of their labels.
pub(super) fn groups(rows: &[ProcessRow], dimensions: &[Dimension]) -> Vec<Group<ProcessCounts>> {
    let mut all: BTreeMap<Vec<String>, ProcessCounts> = BTreeMap::new();
    for row in rows {
        let labels = dimensions.iter().map(|dimension| dimension.label(row)).collect();
        *all.entry(labels).or_default() += counts(row);
    }
    all.into_iter().map(|(labels, measure)| Group { labels, measure }).collect()
}

type Counted = Measured<ProcessCounts>;

const PROCESSES: Counted = Counted::new("processes", "Processes", |m, _| Value::count(m.processes));
const PRIVATE: Counted =
    Counted::new("private_pages", "Private", |m, _| Value::maybe(m.pages, |p| Value::CountIfAny(p.private)));
const PRIVATE_SIZE: Counted =
    Counted::new("private_bytes", "", |m, _| Value::maybe(m.pages, |p| Value::pages(p.private as i64)));
const PAGE_TABLES: Counted =
    Counted::new("page_table_pages", "Page tables", |m, _| Value::maybe(m.pages, |p| Value::CountIfAny(p.page_tables)));
const PAGE_TABLE_SIZE: Counted =
    Counted::new("page_table_bytes", "", |m, _| Value::maybe(m.pages, |p| Value::pages(p.page_tables as i64)));

const STANDBY: Counted =
    Counted::new("standby_pages", "Standby", |m, _| Value::maybe(m.pages, |p| Value::CountIfAny(p.standby)));
const MODIFIED: Counted =
    Counted::new("modified_pages", "Modified", |m, _| Value::maybe(m.pages, |p| Value::CountIfAny(p.modified)));

const PAGES: [Counted; 6] =
    [PRIVATE, PRIVATE_SIZE, PAGE_TABLES, PAGE_TABLE_SIZE.unseen(), STANDBY.leaves(6), MODIFIED.leaves(5)];

/// Fields of a process.
const FIELDS: [&str; 16] = [
    "process",
    "name",
    "pid",
    "parent",
    "parent_pid",
    "session",
    "command_line",
    "start_s",
    "end_s",
    "exit_status",
    "private_pages",
    "private_bytes",
    "page_table_pages",
    "page_table_bytes",
    "standby_pages",
    "modified_pages",
];

impl ProcessSet {
    /// What was asked for: groups, or single processes.
    pub fn table(&self) -> Table {
        if self.dimensions.is_empty() { self.process_table() } else { self.group_table() }
    }

    /// The columns that count pages; people do not see them where nothing is known.
    fn pages(&self) -> [Counted; 6] {
        if self.snapshot.is_some() { PAGES } else { PAGES.map(Counted::unseen) }
    }

    /// The groups.
    pub fn group_table(&self) -> Table {
        let (all, columns) = (self.tree.measure, [&[PROCESSES], self.pages().as_slice()].concat());
        Table::of_groups(&self.dimensions, &self.rows, &self.tree, all, &columns).with_total(&self.tree, all, &columns)
    }

    /// A line for each process, with the rest of them and the sum.
    pub fn process_table(&self) -> Table {
        let pages = self.pages();
        let page_columns = pages.iter().filter_map(Counted::column);
        // A user who sorts by start wants to see it. Else it is left out, because most processes have none.
        let (start, end) = if self.sort == ProcessOrder::Start { (9, 8) } else { (4, 3) };
        let columns = [
            Column::text("Process"),
            Column::number("Session").fit(Fit::Leaves(2)),
            Column::number("Start s").fit(Fit::Leaves(start)),
            Column::number("End s").fit(Fit::Leaves(end)),
        ];
        let last = [Column::text("Parent").fit(Fit::Leaves(1)), Column::text("Command line").fit(Fit::Leaves(0))];
        let shown = self.top.unwrap_or(usize::MAX).min(self.processes.len());
        let (listed, rest) = self.processes.split_at(shown);
        let mut lines: Vec<Line> = listed.iter().map(|row| line(row, &pages)).collect();
        if !rest.is_empty() {
            let mut sum = ProcessCounts::default();
            rest.iter().for_each(|row| sum += counts(row));
            lines.push(sum_line(Value::More(sum.processes, "more"), &sum, &pages));
        }
        if self.snapshot.is_some() {
            lines.push(Line { ruled: true, ..sum_line(Value::text("Total"), &self.tree.measure, &pages) });
        }
        Table {
            title: None,
            fields: FIELDS.map(Field::new).to_vec(),
            records: self.processes.iter().map(record).collect(),
            columns: columns.into_iter().chain(page_columns).chain(last).collect(),
            lines,
        }
    }
}

fn shown(counts: &ProcessCounts, pages: &[Counted]) -> Vec<Value> {
    pages.iter().filter(|column| column.column().is_some()).map(|column| column.value(counts, counts)).collect()
}

fn line(row: &ProcessRow, pages: &[Counted]) -> Line {
    let start = [
        Value::text(&row.label),
        Value::maybe(row.session_id, |id| Value::Number(id.into())),
        Value::maybe(row.start, Value::Seconds),
        Value::maybe(row.end, Value::Seconds),
    ];
    let texts = [&row.parent, &row.command_line].map(|text| Value::maybe(text.as_deref(), Value::text));
    Line::new(start.into_iter().chain(shown(&counts(row), pages)).chain(texts))
}

fn sum_line(label: Value, counts: &ProcessCounts, pages: &[Counted]) -> Line {
    let blank = |columns: usize| std::iter::repeat_n(Value::Nothing, columns);
    Line::new(std::iter::once(label).chain(blank(3)).chain(shown(counts, pages)).chain(blank(2)))
}

fn record(row: &ProcessRow) -> Vec<Value> {
    let text = |text: &Option<String>| Value::maybe(text.as_deref(), Value::text);
    let number = |id: Option<u32>| Value::maybe(id, |id| Value::Number(id.into()));
    let start = [
        Value::text(&row.label),
        text(&row.name),
        Value::Number(row.process_id.into()),
        text(&row.parent),
        number(row.parent_id),
        number(row.session_id),
        text(&row.command_line),
        Value::maybe(row.start, Value::ExactSeconds),
        Value::maybe(row.end, Value::ExactSeconds),
        Value::maybe(row.exit_status, |status| Value::Count(status.into())),
    ];
    let measured = PAGES.iter().map(|column| column.value(&counts(row), &counts(row)));
    start.into_iter().chain(measured).collect()
}
