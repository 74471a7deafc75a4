//! What the tables of all comparisons have: the column of labels, the change of a row, the sums of rows that are not listed.

use crate::analysis::diff::comparison::{Amounts, ComparedRow, ComparedTotals, Comparison, percent};
use crate::analysis::table::{Column, Dimension, Fit, Line, Value};
use crate::dimensions::Label;

/// A sum; one that no 64 bits hold is written with a fraction.
pub fn number(sum: i128) -> Value {
    i64::try_from(sum).map_or(Value::Decimal(sum as f64), Value::Count)
}

/// The nearest number that has a sign and 64 bits.
pub fn clamped(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN + 1 } else { i64::MAX })
}

/// The column of the labels.
pub fn label_column<D: Dimension>(dimensions: &[D]) -> Column {
    // Labels of several dimensions differ in their middle, which must not be cut out.
    Column::text(D::titles(dimensions)).fit(if dimensions.len() > 1 { Fit::Wraps } else { Fit::Shrinks })
}

/// The labels of a row.
pub fn labels(labels: &[Label]) -> Value {
    Value::text(labels.iter().map(Label::shown).collect::<Vec<_>>().join(" / "))
}

/// The change of a row, or which side alone has it.
pub fn change<L, R>(left: Option<L>, right: Option<R>, amounts: (i128, i128)) -> Value {
    match (left, right) {
        (Some(_), None) => Value::text("only left"),
        (None, Some(_)) => Value::text("only right"),
        _ => change_of_sums(amounts),
    }
}

/// The change of amounts that both sides have. There are no percents of 0.
pub fn change_of_sums(amounts: (i128, i128)) -> Value {
    match amounts {
        (0, 0) => Value::Nothing,
        (0, _) => Value::text("from 0"),
        (_, 0) => Value::text("to 0"),
        amounts => Value::maybe(percent(amounts), Value::Change),
    }
}

impl<A: Amounts> Comparison<A> {
    /// So many rows at most, and the sums of those that are not listed.
    pub(super) fn lines(
        &self,
        most: usize,
        line: impl Fn(&ComparedRow<A>) -> Line,
        sum_line: impl Fn(Value, &ComparedTotals) -> Line,
    ) -> Vec<Line> {
        let (listed, rest) = self.rows.split_at(most.min(self.rows.len()));
        let is_apart = self.agreeing().is_none();
        let sums = [
            (ComparedTotals::of(rest), "more", true),
            (self.within, "within the tolerance", is_apart),
            (self.same, "equal", is_apart),
        ];
        let sums = sums.into_iter().filter(|(sum, _, is_said)| sum.rows > 0 && *is_said);
        let sums = sums.map(|(sum, what, _)| sum_line(Value::More(sum.rows, what), &sum));
        listed.iter().map(line).chain(sums).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_has_no_percents_says_why() {
        let text = |left: Option<i64>, right: Option<i64>| {
            change(left, right, (left.unwrap_or(0).into(), right.unwrap_or(0).into()))
        };
        assert_eq!(text(Some(3), None), Value::text("only left"));
        assert_eq!(text(None, Some(3)), Value::text("only right"));
        assert_eq!(text(Some(0), Some(3)), Value::text("from 0"));
        assert_eq!(text(Some(3), Some(0)), Value::text("to 0"));
        assert_eq!(text(Some(0), Some(0)), Value::Nothing);
        assert_eq!(text(Some(2), Some(3)), Value::Change(50.0));
    }
}
