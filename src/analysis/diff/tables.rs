//! The tables of a comparison.

use crate::analysis::category_rules::Rule;
use crate::analysis::diff::Diff;
use crate::analysis::diff::lines;
use crate::analysis::diff::pages::PageGroup;
use crate::analysis::diff::rows::{DiffRow, DiffTotals};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Table, Value};

/// Kinds of moves that are listed without `--top`.
const MOVES: usize = 12;

/// The sum of some rows as a line.
fn sum_line(label: Value, sum: &DiffTotals) -> Line {
    let change = lines::change_of_sums((sum.left.into(), sum.right.into()));
    let difference = Value::Difference(sum.delta());
    Line::new([label, count(sum.left), count(sum.right), difference, change, Value::pages(sum.delta())])
}

const fn count(pages: i64) -> Value {
    Value::Count(pages)
}

fn row_line(row: &DiffRow) -> Line {
    let pages = |amount: Option<_>, pages: i64| amount.map_or(Value::Nothing, |_| count(pages));
    Line::new([
        lines::labels(&row.labels),
        pages(row.left, row.left_pages()),
        pages(row.right, row.right_pages()),
        Value::Difference(row.delta()),
        lines::change(row.left, row.right, row.compared()),
        Value::pages(row.delta()),
    ])
}

impl Diff {
    /// The keys that differ, what is left out, and the totals.
    pub fn table(&self) -> Table {
        let columns = vec![
            lines::label_column(&self.dimensions),
            Column::number("Left"),
            Column::number("Right"),
            Column::number("Difference/pages"),
            Column::number("Change").fit(Fit::Leaves(1)),
            Column::number("").fit(Fit::Leaves(0)),
        ];
        let rows = self.rows();
        let (listed, rest) = rows.split_at(self.listed().min(rows.len()));
        let mut lines: Vec<Line> = listed.iter().copied().map(row_line).collect();
        let rest = DiffTotals::of(rest.iter().copied());
        let sums = lines::not_listed([rest, self.within, self.same], self.unchanged.is_none(), |sum| sum.rows);
        lines.extend(sums.map(|(label, sum)| sum_line(label, &sum)));
        lines.push(Line { ruled: true, ..sum_line(Value::text("Total"), &self.all) });
        Table { columns, lines, ..self.table_of(rows) }
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

    /// The keys that differ, with those that do not where they were asked for.
    pub(crate) fn rows(&self) -> Vec<&DiffRow> {
        let mut rows: Vec<&DiffRow> = self.differing.iter().chain(self.unchanged.iter().flatten()).collect();
        rows.sort_by(|a, b| self.order.compare(a, b));
        rows
    }

    /// How many of them people see, at most.
    pub(crate) fn listed(&self) -> usize {
        self.top.or(self.screen).unwrap_or(usize::MAX)
    }

    fn record(&self, row: &DiffRow) -> Vec<Value> {
        let labels = row.labels.iter().map(Value::of_label);
        let pages = [row.left_pages(), row.right_pages(), row.delta()].map(Value::Count);
        labels.chain(pages).chain([Value::Share(row.limit.pages())]).collect()
    }

    /// Why the corrected table differs from WPA's.
    pub fn rule_change_table(&self) -> Option<Table> {
        let moved = self.rule_changes.as_ref().filter(|moved| !moved.is_empty())?;
        let reason = |id: &str| Rule::ALL.into_iter().find(|rule| rule.id() == id).map_or("", Rule::reason);
        let shown = moved.iter().take(self.top.unwrap_or(MOVES));
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
    pub fn page_table(&self) -> Option<Table> {
        let groups = self.page_groups();
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
                Column::text("Export → trace").fit(Fit::Wraps),
                Column::number("Pages"),
                Column::number("First PFN"),
                Column::text("Rule").fit(Fit::Leaves(0)),
            ],
            lines,
            ..Table::default()
        })
    }

    /// Groups of pages that are shown.
    pub fn page_groups(&self) -> &[PageGroup] {
        let all = self.pages.as_ref().map(|pages| pages.groups.as_slice()).unwrap_or_default();
        all.get(..self.top.unwrap_or(MOVES).min(all.len())).unwrap_or_default()
    }
}
