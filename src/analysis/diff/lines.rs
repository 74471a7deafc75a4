//! What the tables of all comparisons have: the column of labels, the change of a row, the sums of rows that are not listed.

use crate::analysis::table::{Column, Dimension, Fit, Value};
use crate::facets::Label;

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
    let title = dimensions.iter().map(|dimension| dimension.title()).collect::<Vec<_>>().join(" / ");
    // Labels of several dimensions differ in their middle, which must not be cut out.
    Column::text(title).fit(if dimensions.len() > 1 { Fit::Wraps } else { Fit::Shrinks })
}

/// The labels of a row.
pub fn labels(labels: &[Label]) -> Value {
    Value::text(labels.iter().map(Label::shown).collect::<Vec<_>>().join(" / "))
}

/// The change of a row, or which side alone has it.
pub fn change<L, R>(left: Option<L>, right: Option<R>, percent: Option<f64>) -> Value {
    match (left, right) {
        (Some(_), None) => Value::text("only left"),
        (None, Some(_)) => Value::text("only right"),
        _ => Value::maybe(percent, Value::Change),
    }
}

/// Sums of rows that are not listed, with what stands for their label. `is_apart`: rows without a difference are not among the others.
pub fn not_listed<S>(
    [rest, within, same]: [S; 3],
    is_apart: bool,
    rows: impl Fn(&S) -> u64,
) -> impl Iterator<Item = (Value, S)> {
    let all = [(rest, "more", true), (within, "within the tolerance", is_apart), (same, "equal", is_apart)];
    all.into_iter().filter_map(move |(sum, what, is_said)| {
        let count = rows(&sum);
        (count > 0 && is_said).then_some((Value::More(count, what), sum))
    })
}
