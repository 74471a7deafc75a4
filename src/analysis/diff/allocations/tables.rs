//! The tables of a comparison of allocations.

use super::{AllocationDiff, AllocationDiffRow, AllocationMeasure, AllocationSums};
use crate::analysis::allocations::Dimension;
use crate::analysis::diff::comparison::Amounts as _;
use crate::analysis::diff::shared_columns::{self, clamped, number};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::dimensions::{Dimension as _, Label, LabelKind};
use std::iter::repeat_n;

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
            shared_columns::labels(&row.labels),
            row.left.map_or(Value::Nothing, |_| self.size(left)),
            row.right.map_or(Value::Nothing, |_| self.size(right)),
            Value::SizeDifference(clamped(row.delta())),
            shared_columns::change(row.left, row.right, row.compared()),
        ])
    }

    fn sum_line(&self, label: Value, (left, right): (i128, i128)) -> Line {
        Line::new([
            label,
            self.size(left),
            self.size(right),
            Value::SizeDifference(clamped(right.saturating_sub(left))),
            shared_columns::change_of_sums((left, right)),
        ])
    }

    /// The rows, at most so many for people, what is left out, and the totals.
    pub fn table(&self, most: usize) -> Table {
        let columns = vec![
            shared_columns::label_column(&self.dimensions),
            Column::number("Left"),
            Column::number("Right"),
            Column::number("Difference"),
            Column::number("Change").fit(Fit::Leaves(0)),
        ];
        let mut lines = self.compared.lines(
            most,
            |row| self.line(row),
            |label, sum| match self.measure {
                // Only of all rows together the peak is known.
                AllocationMeasure::Peak => Line::new([label].into_iter().chain(repeat_n(Value::Nothing, 4))),
                _ => self.sum_line(label, (sum.left, sum.right)),
            },
        );
        let [left, right] = self.sums().map(|sums| sums.amount(self.measure));
        lines.push(Line { ruled: true, ..self.sum_line(Value::text("Total"), (left, right)) });
        Table { columns, lines, ..self.table_of(&self.compared.rows) }
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
        let sums = values([row.left.unwrap_or_default(), row.right.unwrap_or_default()]);
        labels.chain(sums).chain([number(row.delta()), number(row.limit)]).collect()
    }

    /// All rows together, for programs.
    pub(crate) fn total_values(&self) -> Vec<(&'static str, Value)> {
        let [left, right] = self.sums();
        let delta = right.amount(self.measure).saturating_sub(left.amount(self.measure));
        FIELDS.into_iter().zip(values([left, right]).chain([number(delta)])).collect()
    }
}

/// Sums of both sides, as [`FIELDS`] has them.
fn values([left, right]: [AllocationSums; 2]) -> impl Iterator<Item = Value> {
    let sums = [left.outstanding, right.outstanding, left.growth, right.growth, left.peak, right.peak];
    sums.map(number).into_iter().chain([left.pieces, right.pieces].map(Value::count))
}
