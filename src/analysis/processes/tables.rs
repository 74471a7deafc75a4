//! The tables of processes: groups, or a line for each process.

use crate::analysis::processes::ProcessSet;
use crate::analysis::processes::rows::{ProcessCounts, ProcessOrder, ProcessRow};
use crate::analysis::table::{Column, Field, Fit, Line, Measured, Node, Table, Value};
use crate::units::count;

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
    [PRIVATE, PRIVATE_SIZE, PAGE_TABLES, PAGE_TABLE_SIZE.unseen(), STANDBY.leaves(8), MODIFIED.leaves(7)];

const COMMIT_AT_START: Counted =
    Counted::new("commit_start_bytes", "Commit at start", |m, _| Value::maybe(m.commit, |c| size(c.start))).in_unit();
const COMMIT_AT_END: Counted =
    Counted::new("commit_end_bytes", "Commit at end", |m, _| Value::maybe(m.commit, |c| size(c.end))).in_unit();
const COMMIT_PEAK: Counted =
    Counted::new("commit_peak_bytes", "Peak", |m, _| Value::maybe(m.commit.and_then(|c| c.peak), size)).in_unit();

/// Of groups: how many processes the sums of commit leave out.
const COMMIT_UNKNOWN: Counted =
    Counted::new("commit_unknown_processes", "Of unknown commit", |m, _| Value::CountIfAny(m.commit_unknown));

const COMMIT: [Counted; 3] = [COMMIT_AT_START.spare(0), COMMIT_AT_END.leaves(6), COMMIT_PEAK.leaves(5)];

fn size(bytes: u64) -> Value {
    Value::Size(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Fields of a process.
pub(crate) const FIELDS: [&str; 19] = [
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
    "commit_start_bytes",
    "commit_end_bytes",
    "commit_peak_bytes",
];

impl ProcessSet {
    /// What was asked for: groups, or single processes.
    pub fn table(&self, sort: ProcessOrder, top: Option<usize>) -> Table {
        if self.dimensions.is_empty() { self.process_table(sort, top) } else { self.group_table(sort, top) }
    }

    /// The columns of pages and of commit; people do not see those where nothing is known.
    fn measured(&self) -> Vec<Counted> {
        let pages = if self.snapshot.is_some() { PAGES } else { PAGES.map(Counted::unseen) };
        let is_known = self.processes.iter().any(|row| row.commit.is_some());
        let commit = if is_known { COMMIT } else { COMMIT.map(Counted::unseen) };
        pages.into_iter().chain(commit).collect()
    }

    /// The column of groups that tells how much their commit leaves out; people see it where it leaves out something.
    fn left_out(&self) -> Counted {
        let is_seen = self.commit_unknown.is_some_and(|unknown| unknown > 0);
        let has_columns = self.processes.iter().any(|row| row.commit.is_some());
        if is_seen && has_columns { COMMIT_UNKNOWN.leaves(9) } else { COMMIT_UNKNOWN.unseen() }
    }

    /// The label of the sum of all lines: `Total (commit of 26)` where some have an unknown commit.
    fn total_label(&self) -> Value {
        match self.commit_unknown.filter(|unknown| *unknown > 0) {
            Some(unknown) => Value::Text(format!(
                "Total (commit of {})",
                count((self.processes.len() as u64).saturating_sub(unknown))
            )),
            None => Value::text("Total"),
        }
    }

    /// The groups in this order; `top`: rows on each level.
    pub fn group_table(&self, sort: ProcessOrder, top: Option<usize>) -> Table {
        let (all, columns) = (self.sum, [&[PROCESSES], self.measured().as_slice(), &[self.left_out()]].concat());
        let tree = Node { measure: all, ..sort.tree(&self.rows, top) };
        Table::of_groups(&self.dimensions, &self.rows, &tree, &all, &columns).with_total(&tree, &all, &columns)
    }

    /// A record for each process, one after the other.
    pub(crate) fn process_records(&self) -> impl Iterator<Item = Vec<Value>> {
        self.processes.iter().map(record)
    }

    /// A line for each process, with the rest of them and the sum.
    pub fn process_table(&self, sort: ProcessOrder, top: Option<usize>) -> Table {
        let measured = self.measured();
        let measured_columns = measured.iter().filter_map(Counted::column);
        // A user who sorts by start wants to see it. Else it is left out, because most processes have none.
        let (start, end) = if sort == ProcessOrder::Start { (11, 10) } else { (4, 3) };
        let columns = [
            Column::text("Process"),
            Column::number("Session").fit(Fit::Leaves(2)),
            Column::number("Start s").fit(Fit::Leaves(start)),
            Column::number("End s").fit(Fit::Leaves(end)),
        ];
        let last = [Column::text("Parent").fit(Fit::Leaves(1)), Column::text("Command line").fit(Fit::Leaves(0))];
        let shown = top.unwrap_or(usize::MAX).min(self.processes.len());
        let (listed, rest) = self.processes.split_at(shown);
        let mut lines: Vec<Line> = listed.iter().map(|row| line(row, &measured)).collect();
        if !rest.is_empty() {
            let mut sum = ProcessCounts::default();
            rest.iter().for_each(|row| sum += ProcessCounts::of(row));
            lines.push(sum_line(Value::More(sum.processes, "more"), &sum, &measured));
        }
        if measured.iter().any(|column| column.column().is_some()) {
            lines.push(Line { ruled: true, ..sum_line(self.total_label(), &self.sum, &measured) });
        }
        Table {
            title: None,
            fields: FIELDS.map(Field::new).to_vec(),
            records: self.process_records().collect(),
            columns: columns.into_iter().chain(measured_columns).chain(last).collect(),
            lines,
        }
    }
}

fn shown(counts: &ProcessCounts, measured: &[Counted]) -> Vec<Value> {
    measured.iter().filter(|column| column.column().is_some()).map(|column| column.value(counts, counts)).collect()
}

fn line(row: &ProcessRow, measured: &[Counted]) -> Line {
    let start = [
        Value::text(&row.label),
        Value::maybe(row.session_id, |id| Value::Number(id.into())),
        Value::maybe(row.start, Value::Seconds),
        Value::maybe(row.end, Value::Seconds),
    ];
    let texts = [&row.parent, &row.command_line].map(|text| Value::maybe(text.as_deref(), Value::text));
    Line::new(start.into_iter().chain(shown(&ProcessCounts::of(row), measured)).chain(texts))
}

fn sum_line(label: Value, counts: &ProcessCounts, measured: &[Counted]) -> Line {
    let blank = |columns: usize| std::iter::repeat_n(Value::Nothing, columns);
    Line::new(std::iter::once(label).chain(blank(3)).chain(shown(counts, measured)).chain(blank(2)))
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
    let measured =
        PAGES.iter().chain(&COMMIT).map(|column| column.value(&ProcessCounts::of(row), &ProcessCounts::of(row)));
    start.into_iter().chain(measured).collect()
}
