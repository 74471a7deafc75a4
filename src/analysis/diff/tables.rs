//! The tables of a comparison.

use crate::analysis::category_rules::Rule;
use crate::analysis::diff::Diff;
use crate::analysis::diff::pages::PageGroup;
use crate::analysis::diff::rows::{DiffRow, DiffTotals};
use crate::analysis::table::{Column, Dimension as _, Field, Fit, Line, Table, Value};

/// Kinds of moves that are listed without `--top`.
const MOVES: usize = 12;

/// The sum of some rows as a line.
fn sum_line(label: Value, sum: &DiffTotals) -> Line {
    let difference = Value::Difference(sum.delta());
    Line::new([label, count(sum.left), count(sum.right), difference, Value::pages(sum.delta()), Value::Nothing])
}

const fn count(pages: i64) -> Value {
    Value::Count(pages)
}

fn row_line(row: &DiffRow) -> Line {
    let pages = |amount: Option<_>, pages: i64| amount.map_or(Value::Nothing, |_| count(pages));
    let note = match (row.left, row.right) {
        (Some(_), None) => Value::text("only left"),
        (None, Some(_)) => Value::text("only right"),
        _ => Value::Nothing,
    };
    Line::new([
        Value::text(row.labels.join(" / ")),
        pages(row.left, row.left_pages()),
        pages(row.right, row.right_pages()),
        Value::Difference(row.delta()),
        Value::pages(row.delta()),
        note,
    ])
}

impl Diff {
    /// The keys that differ, what is left out, and the totals.
    pub fn table(&self) -> Table {
        let title = self.dimensions.iter().map(|dimension| dimension.title()).collect::<Vec<_>>().join(" / ");
        let columns = vec![
            // Labels of several dimensions differ in their middle, which must not be cut out.
            Column::text(title).fit(if self.dimensions.len() > 1 { Fit::Wraps } else { Fit::Shrinks }),
            Column::number("Left"),
            Column::number("Right"),
            Column::number("Difference"),
            Column::number("").fit(Fit::Leaves(0)),
            Column::text("Note").fit(Fit::Leaves(1)),
        ];
        let shown = self.top.unwrap_or(usize::MAX).min(self.differing.len());
        let (listed, rest) = self.differing.split_at(shown);
        let mut lines: Vec<Line> = listed.iter().map(row_line).collect();
        let rest = DiffTotals::of(rest);
        for (sum, what) in [(rest, "more"), (self.within, "within the tolerance"), (self.same, "equal")] {
            if sum.rows > 0 {
                lines.push(sum_line(Value::More(sum.rows, what), &sum));
            }
        }
        lines.push(Line { ruled: true, ..sum_line(Value::text("Total"), &self.all) });
        let names = self.dimensions.iter().map(|dimension| dimension.name());
        let measures = ["left_pages", "right_pages", "delta_pages", "tolerance_pages"];
        Table {
            title: None,
            fields: names.chain(measures).map(Field::new).collect(),
            records: self.differing.iter().map(|row| self.record(row)).collect(),
            columns,
            lines,
        }
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
