//! Faults and requests as tables and records.

use super::fault_set::FaultSet;
use super::query::{Dimension, Of};
use super::read_ranges::{PagesInRam, RangeRow};
use super::rows::{HardFigures, RequestFigures, Row, SoftRow};
use super::timeline::FaultStep;
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Measured, Table, Value};
use crate::dimensions::{Label, LabelKind};
use crate::units::PAGE_BYTES;

const fn size(bytes: u64) -> Value {
    Value::Bytes(bytes)
}

fn wait(figures: &HardFigures, rank: usize) -> Value {
    Value::maybe(figures.waits.and_then(|waits| waits.get(rank).copied()), Value::Duration)
}

/// Where no wait is known their sum is not 0.
fn time(figures: &HardFigures, ns: u64) -> Value {
    if figures.is_wait_unknown() { Value::Unknown } else { Value::Duration(ns) }
}

type OfFaults = Measured<HardFigures>;
type OfRequests = Measured<RequestFigures>;
type OfRanges = Measured<RangeRow>;

const HARD: [OfFaults; 10] = [
    OfFaults::new("events", "Faults", |figures, _| Value::count(figures.events)),
    OfFaults::new("bytes", "Read", |figures, _| size(figures.bytes)),
    OfFaults::new("bytes_again", "Again", |figures, _| size(figures.bytes_again)).leaves(2),
    OfFaults::new("waited_ns", "Waited", |figures, _| time(figures, figures.waited_ns)),
    OfFaults::new("blocked_ns", "Blocked", |figures, _| time(figures, figures.blocked_ns)).leaves(0),
    OfFaults::new("p50_ns", "p50", |figures, _| wait(figures, 0)).spare(0),
    OfFaults::new("p95_ns", "p95", |figures, _| wait(figures, 1)).leaves(1),
    OfFaults::new("p99_ns", "p99", |figures, _| wait(figures, 2)).spare(1),
    OfFaults::new("max_ns", "Longest", |figures, _| wait(figures, 3)).leaves(3),
    Measured::fact("malformed", |figures, _| Value::count(figures.malformed)),
];

const DISK: [OfRequests; 8] = [
    OfRequests::new("operations", "Requests", |figures, _| Value::count(figures.operations)),
    OfRequests::new("bytes", "Bytes", |figures, _| size(figures.bytes)),
    OfRequests::new("bytes_again", "Again", |figures, _| size(figures.bytes_again)).leaves(1),
    OfRequests::new("response_ns", "Response", |figures, _| Value::Duration(figures.response_ns)),
    OfRequests::new("service_ns", "Service", |figures, _| Value::Duration(figures.service_ns)).leaves(2),
    OfRequests::shown("Queue", |figures, _| figures.queue().map_or(Value::Unknown, Value::count)).leaves(0),
    Measured::fact("queue_max", |figures, _| Value::count(figures.queue_max)),
    Measured::fact("no_start", |figures, _| Value::count(figures.no_start)),
];

const SOFT_FIELDS: [&str; 3] = ["process", "kind", "events"];

const STEP: [Measured<FaultStep>; 7] = [
    Measured::new("hard_faults", "Hard faults", |step, _| Value::count(step.hard_faults)),
    Measured::new("bytes", "Read", |step, _| size(step.bytes)),
    Measured::new("waited_ns", "Waited", |step, _| step.waited().map_or(Value::Unknown, Value::Duration)),
    Measured::fact("malformed", |step, _| Value::count(step.malformed)),
    Measured::new("disk_bytes", "Disk", |step, _| size(step.disk_bytes)),
    Measured::new("queue_max", "Queue", |step, _| Value::count(step.queue_max)),
    Measured::new("available_pages", "Available pages", |step, _| Value::maybe(step.available_pages, Value::count)),
];

/// What rows are ordered by (again, then waited) stays where the width is small, and what was read beside it.
const RANGES: [OfRanges; 18] = [
    OfRanges::new("from_offset", "Offset", |row, _| Value::Number(row.pages.start.saturating_mul(PAGE_BYTES)))
        .leaves(7),
    OfRanges::fact("to_offset", |row, _| Value::Number(row.pages.end.saturating_mul(PAGE_BYTES))),
    OfRanges::new("events", "Faults", |row, _| Value::count(row.figures.events)).leaves(2),
    OfRanges::new("bytes", "Read", |row, _| size(row.figures.bytes)),
    OfRanges::new("bytes_again", "Again", |row, _| size(row.figures.bytes_again)),
    OfRanges::new("waited_ns", "Waited", |row, _| time(&row.figures, row.figures.waited_ns)),
    OfRanges::fact("malformed", |row, _| Value::count(row.figures.malformed)),
    OfRanges::new("first_s", "First s", |row, _| Value::ExactSeconds(row.first)).leaves(4),
    OfRanges::new("last_s", "Last s", |row, _| Value::ExactSeconds(row.last)).leaves(6),
    OfRanges::shown("In RAM", |row, _| in_ram(row, PagesInRam::all, ram_bytes)).leaves(8),
    OfRanges::shown("Active", |row, _| in_ram(row, |pages| pages.active, ram_bytes)).leaves(3),
    OfRanges::shown("Standby", |row, _| in_ram(row, |pages| pages.standby, ram_bytes)).leaves(5),
    OfRanges::shown("Modified", |row, _| in_ram(row, |pages| pages.modified, ram_bytes)).leaves(0),
    OfRanges::fact("resident_pages", |row, _| in_ram(row, PagesInRam::all, Value::Count)),
    OfRanges::fact("active_pages", |row, _| in_ram(row, |pages| pages.active, Value::Count)),
    OfRanges::fact("standby_pages", |row, _| in_ram(row, |pages| pages.standby, Value::Count)),
    OfRanges::fact("modified_pages", |row, _| in_ram(row, |pages| pages.modified, Value::Count)),
    OfRanges::fact("range_pages", |row, _| Value::count(row.pages.end - row.pages.start)),
];

/// Headings of what RAM holds.
const OF_RAM: [&str; 4] = ["In RAM", "Active", "Standby", "Modified"];

fn ram_bytes(pages: i64) -> Value {
    size(pages.unsigned_abs().saturating_mul(PAGE_BYTES))
}

fn in_ram(row: &RangeRow, of: fn(&PagesInRam) -> u64, value: fn(i64) -> Value) -> Value {
    Value::maybe(row.in_ram.as_ref().map(of), |pages| value(i64::try_from(pages).unwrap_or(i64::MAX)))
}

/// In these rows what is not there is null, and no text.
fn value(label: &Label) -> Value {
    match label.kind() {
        LabelKind::Nothing => Value::Nothing,
        _ => Value::of_label(label),
    }
}

/// A table of rows; people see the first `top` of them, the sum of the others, and all.
fn table<F: Default>(
    dimensions: &[Dimension],
    rows: &[Row<F>],
    measured: &[Measured<F>],
    top: Option<usize>,
    total: Option<&F>,
    sum: impl Fn(&[Row<F>]) -> Vec<Value>,
) -> Table {
    let all = F::default();
    let titles = dimensions.iter().map(|dimension| Column::label(dimension.title()));
    let record = |(labels, figures): &Row<F>| -> Vec<Value> {
        labels.iter().map(value).chain(Measured::record(measured, figures, &all)).collect()
    };
    let line = |(labels, figures): &Row<F>| {
        let texts = labels.iter().map(|label| Value::text(label.shown()));
        Line::new(texts.chain(Measured::cells(measured, figures, &all)))
    };
    let (shown, rest) = rows.split_at(top.unwrap_or(rows.len()).min(rows.len()));
    let mut lines: Vec<Line> = shown.iter().map(line).collect();
    if !rest.is_empty() {
        let more = std::iter::once(Value::More(rest.len() as u64, "more"));
        let blanks = std::iter::repeat_n(Value::Nothing, dimensions.len().saturating_sub(1));
        lines.push(Line::new(more.chain(blanks).chain(sum(rest))));
    }
    lines.extend(total.map(|total| {
        let blanks = std::iter::repeat_n(Value::Nothing, dimensions.len().saturating_sub(1));
        let of_all = std::iter::once(Value::text("Total")).chain(blanks).chain(Measured::cells(measured, total, &all));
        Line { ruled: true, ..Line::new(of_all) }
    }));
    Table {
        title: None,
        fields: Field::of_labels(dimensions).chain(Measured::fields(measured)).collect(),
        records: rows.iter().map(record).collect(),
        columns: titles.chain(Measured::columns(measured)).collect(),
        lines,
    }
}

/// What can be added up of the figures that are not listed.
fn sums<'f>(rows: impl Iterator<Item = &'f HardFigures>) -> [Value; 4] {
    let mut sum = HardFigures::default();
    for row in rows {
        sum.events = sum.events.saturating_add(row.events);
        sum.bytes = sum.bytes.saturating_add(row.bytes);
        sum.bytes_again = sum.bytes_again.saturating_add(row.bytes_again);
        sum.waited_ns = sum.waited_ns.saturating_add(row.waited_ns);
        sum.malformed = sum.malformed.saturating_add(row.malformed);
    }
    [Value::count(sum.events), size(sum.bytes), size(sum.bytes_again), time(&sum, sum.waited_ns)]
}

fn hard_sum(rows: &[Row<HardFigures>]) -> Vec<Value> {
    sums(rows.iter().map(|(_, figures)| figures)).into_iter().chain(std::iter::repeat_n(Value::Nothing, 5)).collect()
}

fn disk_sum(rows: &[Row<RequestFigures>]) -> Vec<Value> {
    let sum = |of: fn(&RequestFigures) -> u64| rows.iter().map(|(_, figures)| of(figures)).fold(0, u64::saturating_add);
    let (operations, bytes) = (sum(|figures| figures.operations), sum(|figures| figures.bytes));
    let (response, service) = (sum(|figures| figures.response_ns), sum(|figures| figures.service_ns));
    let again = sum(|figures| figures.bytes_again);
    let times = [Value::Duration(response), Value::Duration(service), Value::Nothing];
    [Value::count(operations), size(bytes), size(again)].into_iter().chain(times).collect()
}

/// A whole as values by name.
pub type Total = Vec<(Field, Value)>;

fn total<F>(measured: &[Measured<F>], figures: &F) -> Total {
    Measured::fields(measured).zip(Measured::record(measured, figures, figures)).collect()
}

impl FaultSet {
    fn dimensions(&self, of: Of) -> Vec<Dimension> {
        self.dimensions.iter().copied().filter(|dimension| of.has(*dimension)).collect()
    }

    /// Hard faults by the dimensions that they have.
    pub fn hard_table(&self, top: Option<usize>) -> Table {
        table(&self.dimensions(Of::Hard), &self.hard_rows, &HARD, top, Some(&self.hard), hard_sum)
    }

    /// The first of these rows, below a text that says the totals.
    pub fn first_table(&self, top: usize) -> Table {
        let dimensions = self.dimensions(Of::Hard);
        table(&dimensions, &self.hard_rows, &HARD, Some(top), None, hard_sum)
    }

    /// Hard faults by file.
    pub fn file_table(&self, top: usize) -> Table {
        table(&[Dimension::File], &self.by_file, &HARD, Some(top), None, hard_sum)
    }

    /// Disk requests by the dimensions that they have.
    pub fn disk_table(&self, top: Option<usize>) -> Table {
        table(&self.dimensions(Of::Disk), &self.disk_rows, &DISK, top, Some(&self.disk), disk_sum)
    }

    /// Figures of all hard faults.
    pub fn hard_total(&self) -> Total {
        total(&HARD, &self.hard)
    }

    /// Figures of all requests.
    pub fn disk_total(&self) -> Total {
        total(&DISK, &self.disk)
    }

    /// Soft faults by process and kind.
    pub fn soft_table(&self, top: Option<usize>) -> Table {
        let record =
            |row: &SoftRow| vec![Value::text(&*row.process), Value::text(row.kind_name()), Value::count(row.events)];
        let rows = &self.soft.rows;
        let (shown, rest) = rows.split_at(top.unwrap_or(rows.len()).min(rows.len()));
        let mut lines: Vec<Line> = shown.iter().map(|row| Line::new(record(row))).collect();
        if !rest.is_empty() {
            let events = rest.iter().map(|row| row.events).sum();
            lines.push(Line::new([Value::More(rest.len() as u64, "more"), Value::Nothing, Value::count(events)]));
        }
        let all = self.soft.known(self.soft_events()).map_or(Value::Unknown, Value::count);
        let total = Line::new([Value::text("Total"), Value::Nothing, all]);
        lines.push(Line { ruled: true, ..total });
        Table {
            title: None,
            fields: SOFT_FIELDS.map(Field::new).to_vec(),
            records: rows.iter().map(record).collect(),
            columns: vec![Column::text("Process"), Column::label("Kind").fit(Fit::Stays), Column::number("Faults")],
            lines,
        }
    }

    /// Ranges of files.
    pub fn range_table(&self, top: Option<usize>) -> Table {
        let rows = self.ranges.as_ref().map_or(&[][..], |ranges| &ranges.rows);
        let label = |row: &RangeRow| std::iter::once(Value::text(row.file.shown()));
        let line = |row: &RangeRow| Line::new(label(row).chain(Measured::cells(&RANGES, row, row)));
        let (shown, rest) = rows.split_at(top.unwrap_or(rows.len()).min(rows.len()));
        // Columns without a value leave before all others.
        let is_empty =
            |column: &Column| OF_RAM.contains(&&*column.title) && rows.iter().all(|row| row.in_ram.is_none());
        let fitted = |column: Column| if is_empty(&column) { column.fit(Fit::Leaves(0)) } else { column };
        let mut lines: Vec<Line> = shown.iter().map(line).collect();
        if !rest.is_empty() {
            let sums = sums(rest.iter().map(|row| &row.figures));
            let more = [Value::More(rest.len() as u64, "more"), Value::Nothing].into_iter().chain(sums);
            lines.push(Line::new(more.chain(std::iter::repeat_n(Value::Nothing, 6))));
        }
        Table {
            title: None,
            fields: std::iter::once(Field::new("file")).chain(Measured::fields(&RANGES)).collect(),
            records: rows
                .iter()
                .map(|row| std::iter::once(value(&row.file)).chain(Measured::record(&RANGES, row, row)).collect())
                .collect(),
            columns: std::iter::once(Column::label("File")).chain(Measured::columns(&RANGES).map(fitted)).collect(),
            lines,
        }
    }

    /// The timeline.
    pub fn timeline_table(&self) -> Table {
        let steps = self.timeline.as_deref().unwrap_or_default();
        let time = |step: &FaultStep| std::iter::once(Value::ExactSeconds(step.from));
        Table {
            title: None,
            fields: std::iter::once(Field::new("from_s")).chain(Measured::fields(&STEP)).collect(),
            records: steps.iter().map(|step| time(step).chain(Measured::record(&STEP, step, step)).collect()).collect(),
            columns: std::iter::once(Column::text("From s")).chain(Measured::columns(&STEP)).collect(),
            lines: steps.iter().map(|step| Line::new(time(step).chain(Measured::cells(&STEP, step, step)))).collect(),
        }
        .with_times_apart()
    }
}
