//! The tables of a comparison of stacks.

use super::{StackDiff, StackDiffRow};
use crate::analysis::diff::comparison::share;
use crate::analysis::diff::shared_columns::{self, clamped, number};
use crate::analysis::stacks::{Dimension, SelfAndTotal, Weight};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::dimensions::{Dimension as _, Label, LabelKind};

const FIELDS: [&str; 12] = [
    "left_self",
    "right_self",
    "left_total",
    "right_total",
    "left_self_weight",
    "right_self_weight",
    "left_total_weight",
    "right_total_weight",
    "left_share",
    "right_share",
    "delta_weight",
    "tolerance_weight",
];

impl StackDiff {
    /// A weight for people.
    fn amount(&self, weight: i128) -> Value {
        match self.of().weight() {
            Weight::Time => Value::Duration(u64::try_from(weight).unwrap_or(u64::MAX)),
            Weight::Bytes => Value::Size(clamped(weight)),
            Weight::Pages | Weight::Count => Value::Count(clamped(weight)),
        }
    }

    fn difference(&self, weight: i128) -> Value {
        match self.of().weight() {
            Weight::Time => Value::DurationDifference(clamped(weight)),
            Weight::Bytes => Value::SizeDifference(clamped(weight)),
            Weight::Pages | Weight::Count => Value::Difference(clamped(weight)),
        }
    }

    fn cells(&self, (left, right): (i128, i128)) -> [Value; 5] {
        let [all_left, all_right] = self.weights();
        [
            self.amount(left),
            self.amount(right),
            self.difference(right - left),
            Value::Share(share(left, all_left)),
            Value::Share(share(right, all_right)),
        ]
    }

    fn line(&self, row: &StackDiffRow) -> Line {
        let [mut left, mut right, difference, mut left_share, mut right_share] = self.cells(row.compared());
        if row.left.is_none() {
            (left, left_share) = (Value::Nothing, Value::Nothing);
        }
        if row.right.is_none() {
            (right, right_share) = (Value::Nothing, Value::Nothing);
        }
        let change = shared_columns::change(row.left, row.right, row.compared());
        Line::new([shared_columns::labels(&row.labels), left, right, difference, left_share, right_share, change])
    }

    /// `None`: of these rows no sum is known.
    fn sum_line(&self, label: Value, weights: Option<(i128, i128)>) -> Line {
        let Some(weights) = weights else {
            return Line::new(std::iter::once(label).chain(std::iter::repeat_n(Value::Nothing, 6)));
        };
        let change = shared_columns::change_of_sums(weights);
        Line::new(std::iter::once(label).chain(self.cells(weights)).chain([change]))
    }

    /// The rows, at most so many for people, what is left out, and the totals.
    pub fn table(&self, most: usize) -> Table {
        let columns = vec![
            shared_columns::label_column(&self.dimensions),
            Column::number("Left"),
            Column::number("Right"),
            Column::number("Difference"),
            Column::number("Left share"),
            Column::number("Right share"),
            Column::number("Change").fit(Fit::Leaves(0)),
        ];
        let adds_up = self.adds_up();
        let mut lines = self.compared.lines(
            most,
            |row| self.line(row),
            |label, sum| self.sum_line(label, adds_up.then_some((sum.left, sum.right))),
        );
        let [left, right] = self.weights();
        let all = self.sum_line(Value::text("All events"), Some((left.into(), right.into())));
        lines.push(Line { ruled: true, ..all });
        Table { columns, lines, ..self.table_of(&self.compared.rows) }
    }

    /// Some of its rows, for programs.
    pub(crate) fn table_of<'r>(&self, rows: impl IntoIterator<Item = &'r StackDiffRow>) -> Table {
        Table {
            fields: Dimension::names(&self.dimensions).into_iter().chain(FIELDS).map(Field::new).collect(),
            records: rows.into_iter().map(|row| self.record(row)).collect(),
            ..Table::default()
        }
    }

    fn record(&self, row: &StackDiffRow) -> Vec<Value> {
        let label = |label: &Label| match label.kind() {
            LabelKind::Cut(_) => {
                let side = self.sides.get(row.named_by);
                side.map_or(Value::Nothing, |side| side.set.texts.value(label))
            }
            _ => Value::of_label(label),
        };
        let sums = [row.left.unwrap_or_default(), row.right.unwrap_or_default()];
        let ends =
            row.shares(self.weights()).map(Value::Share).into_iter().chain([number(row.delta()), number(row.limit)]);
        row.labels.iter().map(label).chain(values(sums)).chain(ends).collect()
    }

    /// All events of both sides, for programs: each has one innermost frame.
    pub(crate) fn total_values(&self) -> Vec<(&'static str, Value)> {
        let [left, right] = self.sides.each_ref().map(|side| {
            let totals = &side.set.totals;
            let (events, weight) = (totals.events, totals.weight);
            SelfAndTotal { self_events: events, total_events: events, self_weight: weight, total_weight: weight }
        });
        let delta = i128::from(right.self_weight) - i128::from(left.self_weight);
        let shares = [left, right].map(|side| Value::Share(share(side.self_weight.into(), side.self_weight)));
        FIELDS.into_iter().zip(values([left, right]).chain(shares).chain([number(delta)])).collect()
    }
}

/// Events and weights of both sides, as [`FIELDS`] has them.
fn values([left, right]: [SelfAndTotal; 2]) -> impl Iterator<Item = Value> {
    let of = |number: fn(&SelfAndTotal) -> u64| [Value::count(number(&left)), Value::count(number(&right))];
    let all = [
        of(|sums| sums.self_events),
        of(|sums| sums.total_events),
        of(|sums| sums.self_weight),
        of(|sums| sums.total_weight),
    ];
    all.into_iter().flatten()
}
