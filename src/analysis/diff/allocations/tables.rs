//! The tables of a comparison of allocations.

use super::rows::compare;
use super::{AllocationDiff, AllocationDiffRow, AllocationMeasure, AllocationTotals};
use crate::analysis::allocations::Dimension;
use crate::analysis::diff::lines::{self, clamped, number};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::facets::{Dimension as _, Label, LabelKind};

const FIELDS: [&str; 10] = [
    "left_outstanding_bytes",
    "right_outstanding_bytes",
    "left_growth_bytes",
    "right_growth_bytes",
    "left_peak_bytes",
    "right_peak_bytes",
    "left_pieces",
    "right_pieces",
    "delta_bytes",
    "tolerance_bytes",
];

impl AllocationDiff {
    /// An amount for people. Growth has a sign.
    fn size(&self, bytes: i128) -> Value {
        match self.measure {
            AllocationMeasure::Growth if bytes != 0 => Value::SizeDifference(clamped(bytes)),
            _ => Value::Size(clamped(bytes)),
        }
    }

    fn line(&self, row: &AllocationDiffRow) -> Line {
        let (left, right) = row.compared();
        Line::new([
            lines::labels(&row.labels),
            row.left.map_or(Value::Nothing, |_| self.size(left)),
            row.right.map_or(Value::Nothing, |_| self.size(right)),
            Value::SizeDifference(clamped(row.delta())),
            lines::change(row.left, row.right, row.compared()),
        ])
    }

    /// `is_of_all`: only of all rows together the peak is known.
    fn sum_line(&self, label: Value, sum: &AllocationTotals, is_of_all: bool) -> Line {
        if self.measure == AllocationMeasure::Peak && !is_of_all {
            return Line::new([label, Value::Nothing, Value::Nothing, Value::Nothing, Value::Nothing]);
        }
        let (left, right) = (sum.left.of_measure(self.measure), sum.right.of_measure(self.measure));
        Line::new([
            label,
            self.size(left),
            self.size(right),
            Value::SizeDifference(clamped(right.saturating_sub(left))),
            lines::change_of_sums((left, right)),
        ])
    }

    /// The rows that differ, what is left out, and the totals.
    pub fn table(&self) -> Table {
        let columns = vec![
            lines::label_column(&self.dimensions),
            Column::number("Left"),
            Column::number("Right"),
            Column::number("Difference"),
            Column::number("Change").fit(Fit::Leaves(0)),
        ];
        let rows = self.rows();
        let (listed, rest) = rows.split_at(self.choice.listed().min(rows.len()));
        let mut lines: Vec<Line> = listed.iter().map(|row| self.line(row)).collect();
        let rest = AllocationTotals::of(rest.iter().copied());
        let sums = lines::not_listed([rest, self.within, self.same], self.unchanged.is_none(), |sum| sum.rows);
        lines.extend(sums.map(|(label, sum)| self.sum_line(label, &sum, false)));
        lines.push(Line { ruled: true, ..self.sum_line(Value::text("Total"), &self.all, true) });
        Table { columns, lines, ..self.table_of(rows) }
    }

    /// Some of its rows, for programs.
    pub(crate) fn table_of<'r>(&self, rows: impl IntoIterator<Item = &'r AllocationDiffRow>) -> Table {
        let name = |dimension: &Dimension| match dimension {
            Dimension::Size => "size_bytes",
            other => other.name(),
        };
        Table {
            fields: self.dimensions.iter().map(name).chain(FIELDS).map(Field::new).collect(),
            records: rows.into_iter().map(|row| self.record(row)).collect(),
            ..Table::default()
        }
    }

    fn record(&self, row: &AllocationDiffRow) -> Vec<Value> {
        let value = |(dimension, label): (&Dimension, &Label)| match (dimension, label.kind()) {
            (Dimension::Size, LabelKind::Number(bytes)) => number(bytes.into()),
            (_, LabelKind::Cut(number)) => {
                let side = self.sides.get(row.named_by);
                Value::Text(side.map(|side| side.set.whole_stack(number)).unwrap_or_default())
            }
            _ => Value::of_label(label),
        };
        let labels = self.dimensions.iter().zip(&row.labels).map(value);
        let (left, right) = (row.left.unwrap_or_default(), row.right.unwrap_or_default());
        let sums = [left.outstanding, right.outstanding, left.growth, right.growth, left.peak, right.peak];
        let pieces = [left.pieces, right.pieces].map(Value::count);
        labels.chain(sums.map(number)).chain(pieces).chain([number(row.delta()), number(row.limit)]).collect()
    }

    /// All rows together, for programs.
    pub(crate) fn total_values(&self) -> Vec<(&'static str, Value)> {
        let (left, right) = (&self.all.left, &self.all.right);
        let sums = [left.outstanding, right.outstanding, left.growth, right.growth, left.peak, right.peak];
        let pieces = [left.pieces, right.pieces].map(Value::count);
        FIELDS.into_iter().zip(sums.map(number).into_iter().chain(pieces).chain([number(self.all.delta)])).collect()
    }

    /// The rows that differ, with the others where they were asked for.
    pub(crate) fn rows(&self) -> Vec<&AllocationDiffRow> {
        let mut rows: Vec<&AllocationDiffRow> = self.differing.iter().chain(self.unchanged.iter().flatten()).collect();
        rows.sort_by(|a, b| compare(self.choice.order, a, b));
        rows
    }
}
