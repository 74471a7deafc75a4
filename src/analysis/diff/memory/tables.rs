//! The tables of a comparison.

use crate::analysis::category_rules::Rule;
use crate::analysis::diff::Diff;
use crate::analysis::diff::comparison::ComparedTotals;
use crate::analysis::diff::memory::rows::DiffRow;
use crate::analysis::diff::page_by_page::{LabelGroup, PageGroup};
use crate::analysis::diff::shared_columns::{self, clamped};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Table, Value};
use crate::imported::amount::Amount;

/// Kinds of moves that are listed without `--top`.
const MOVES: usize = 12;

/// The sum of some rows as a line.
fn sum_line(label: Value, sum: &ComparedTotals) -> Line {
    let change = shared_columns::change_of_sums((sum.left, sum.right));
    let [left, right, difference] = [sum.left, sum.right, sum.delta()].map(clamped);
    let counts = [Value::Count(left), Value::Count(right), Value::Difference(difference)];
    Line::new([label].into_iter().chain(counts).chain([change, Value::pages(difference)]))
}

fn row_line(row: &DiffRow) -> Line {
    let pages = |amount: Option<Amount>| Value::maybe(amount, |amount| Value::Count(amount.pages()));
    let difference = clamped(row.delta());
    // A table of numbers of pages alone has no label.
    let label = if row.labels.is_empty() { Value::text("all pages") } else { shared_columns::labels(&row.labels) };
    Line::new([
        label,
        pages(row.left),
        pages(row.right),
        Value::Difference(difference),
        shared_columns::change(row.left, row.right, row.compared()),
        Value::pages(difference),
    ])
}

impl Diff {
    /// The keys, at most so many for people, what is left out, and the totals.
    pub fn table(&self, most: usize) -> Table {
        let columns = vec![
            shared_columns::label_column(&self.dimensions),
            Column::number("Left"),
            Column::number("Right"),
            Column::number("Difference/pages"),
            Column::number("Change").fit(Fit::Leaves(1)),
            Column::number("").fit(Fit::Leaves(0)),
        ];
        let mut lines = self.compared.lines(most, row_line, sum_line);
        lines.push(Line { ruled: true, ..sum_line(Value::text("Total"), &self.compared.all) });
        Table { columns, lines, ..self.table_of(&self.compared.rows) }
    }

    /// Some of its keys, for programs.
    pub(crate) fn table_of<'r>(&self, rows: impl IntoIterator<Item = &'r DiffRow>) -> Table {
        let names = self.dimensions.iter().map(|dimension| dimension.name());
        let measures = ["left_pages", "right_pages", "delta_pages", "tolerance_pages"];
        Table {
            fields: names.chain(measures).map(Field::new).collect(),
            records: rows.into_iter().map(|row| self.record(row)).collect(),
            ..Table::default()
        }
    }

    fn record(&self, row: &DiffRow) -> Vec<Value> {
        let labels = row.labels.iter().map(Value::of_label);
        let pages = [row.left_pages(), row.right_pages(), clamped(row.delta())].map(Value::Count);
        labels.chain(pages).chain([Value::Share(row.limit.pages())]).collect()
    }

    /// Why the corrected table differs from WPA's; `top`: how many kinds of moves are wanted.
    pub fn rule_change_table(&self, top: Option<usize>) -> Option<Table> {
        let moved = self.rule_changes.as_ref().filter(|moved| !moved.is_empty())?;
        let reason = |id: &str| Rule::ALL.into_iter().find(|rule| rule.id() == id).map_or("", Rule::reason);
        let shown = moved.iter().take(top.unwrap_or(MOVES));
        let mut lines: Vec<Line> = shown
            .map(|row| {
                Line::new([
                    Value::text(format!("{} → {}", row.category_wpa, row.category)),
                    Value::count(row.pages),
                    Value::pages(row.pages as i64),
                    Value::text(reason(&row.rule)),
                ])
            })
            .collect();
        let rest = moved.get(lines.len()..).unwrap_or_default();
        if !rest.is_empty() {
            let pages: u64 = rest.iter().map(|row| row.pages).sum();
            let more = Value::More(rest.len() as u64, "more");
            lines.push(Line::new([more, Value::count(pages), Value::pages(pages as i64), Value::Nothing]));
        }
        Some(Table {
            title: Some("Why our corrected table differs from both".into()),
            columns: vec![
                Column::text("WPA → corrected").fit(Fit::Wraps),
                Column::number("Pages"),
                Column::number("").fit(Fit::Leaves(1)),
                Column::text("Because").fit(Fit::Wraps),
            ],
            lines,
            ..Table::default()
        })
    }

    /// Pages that differ, by their categories and rule.
    pub fn page_table(&self, top: Option<usize>) -> Option<Table> {
        let groups = self.page_groups(top);
        if groups.is_empty() {
            return None;
        }
        let line = |group: &PageGroup| {
            Line::new([
                Value::text(format!("{} → {}", group.theirs, group.ours)),
                Value::count(group.pages),
                Value::Hex(group.first_pfn),
                Value::text(group.rule.id()),
            ])
        };
        let mut lines: Vec<Line> = groups.iter().map(line).collect();
        let all = self.pages.as_ref().map(|pages| pages.groups.as_slice()).unwrap_or_default();
        let rest = all.get(groups.len()..).unwrap_or_default();
        if !rest.is_empty() {
            let pages = rest.iter().map(|group| group.pages).sum();
            let more = Value::More(rest.len() as u64, "more");
            lines.push(Line::new([more, Value::count(pages), Value::Nothing, Value::Nothing]));
        }
        Some(Table {
            title: Some("Pages that differ".into()),
            columns: vec![
                Column::text(self.file_and_trace()).fit(Fit::Wraps),
                Column::number("Pages"),
                Column::number("First PFN"),
                Column::text("Rule").fit(Fit::Leaves(0)),
            ],
            lines,
            ..Table::default()
        })
    }

    /// Pages with another list, priority or process, say, by their labels.
    pub(crate) fn page_label_table(&self, top: Option<usize>) -> Option<Table> {
        let groups = self.pages.as_ref().map(|pages| pages.label_groups.as_slice()).filter(|all| !all.is_empty())?;
        let (shown, rest) = groups.split_at(top.unwrap_or(MOVES).min(groups.len()));
        let line = |group: &LabelGroup| {
            let [theirs, ours] = [&group.theirs, &group.ours].map(|label| group.dimension.label(label));
            let pair = format!("{} → {}", theirs.shown(), ours.shown());
            let pages = [Value::count(group.pages), Value::Hex(group.first_pfn)];
            Line::new([Value::text(group.dimension.title()), Value::text(pair)].into_iter().chain(pages))
        };
        let mut lines: Vec<Line> = shown.iter().map(line).collect();
        if !rest.is_empty() {
            // A page can have other labels of several dimensions, so there is no sum.
            let more = Value::More(rest.len() as u64, "more");
            lines.push(Line::new([more, Value::Nothing, Value::Nothing, Value::Nothing]));
        }
        Some(Table {
            title: Some("Pages whose other labels differ".into()),
            columns: vec![
                Column::text("Label").fit(Fit::Stays),
                Column::text(self.file_and_trace()).fit(Fit::Wraps),
                Column::number("Pages"),
                Column::number("First PFN"),
            ],
            lines,
            ..Table::default()
        })
    }

    fn file_and_trace(&self) -> &'static str {
        let has_export = self.sides.iter().any(|side| side.kind == "wpa_csv");
        if has_export { "Export → trace" } else { "File → trace" }
    }

    /// Groups of pages that are shown.
    pub fn page_groups(&self, top: Option<usize>) -> &[PageGroup] {
        let all = self.pages.as_ref().map(|pages| pages.groups.as_slice()).unwrap_or_default();
        all.get(..top.unwrap_or(MOVES).min(all.len())).unwrap_or_default()
    }
}
