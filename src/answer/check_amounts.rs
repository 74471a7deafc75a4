//! The amounts of a budget: its value, its limits and its growth, for people and for programs.

use crate::analysis::check::BudgetResult;
use crate::analysis::check::budget::MeasureUnit;
use crate::analysis::check::verdict::{LimitKind, LimitResult};
use crate::analysis::table::Value as Cell;
use crate::answer::numbers::Unit;
use crate::units::{counted, milliseconds as in_words, needs_nanoseconds};
use serde_json::{Value, json};

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What the amounts of a budget are, and how sizes among them are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts {
    pub of: MeasureUnit,
    size: Unit,
    /// True where times are shown to the nanosecond: three digits would hide how far one is from its limit.
    is_fine: bool,
}

impl Amounts {
    pub fn new(result: &BudgetResult, size: Unit) -> Amounts {
        let of_limit = |limit: &LimitResult| {
            let growth = growth(result).filter(|_| limit.kind == LimitKind::MaxGrowth);
            let most = growth.map(|growth| (growth, growth.saturating_add(limit.room)));
            [value_of(result).map(|value| (value, limit.limit)), most]
        };
        let mut shown = result.limits.iter().flat_map(of_limit).flatten().chain(growth(result).map(|grown| (grown, 0)));
        let is_fine = shown.any(|(one, other)| needs_nanoseconds(one, other));
        Amounts { of: result.budget.measure.unit(), size, is_fine }
    }

    /// An amount for people, with its sign where it is below 0.
    pub fn shown(self, amount: i64) -> String {
        let sign = if amount < 0 { "-" } else { "" };
        let amount = amount.unsigned_abs();
        match self.of {
            MeasureUnit::Pages | MeasureUnit::Bytes => format!("{sign}{}", self.size.amount(amount)),
            MeasureUnit::Faults => format!("{sign}{}", counted(amount, "fault", "faults")),
            MeasureUnit::Time => format!("{sign}{}", in_words(signed(amount), self.is_fine)),
        }
    }

    /// The same with its sign.
    pub fn change(self, amount: i64) -> String {
        if amount > 0 { format!("+{}", self.shown(amount)) } else { self.shown(amount) }
    }

    /// An amount for programs: bytes, faults, milliseconds.
    pub fn number(self, amount: i64) -> Value {
        if self.of == MeasureUnit::Time { json!(milliseconds(amount)) } else { json!(amount) }
    }

    /// The same in a column.
    pub fn cell(self, amount: i64) -> Cell {
        if self.of == MeasureUnit::Time { Cell::Decimal(milliseconds(amount)) } else { Cell::Count(amount) }
    }

    /// The same for keys that are of memory.
    pub fn bytes(self, amount: i64) -> Option<i64> {
        matches!(self.of, MeasureUnit::Pages | MeasureUnit::Bytes).then_some(amount)
    }
}

fn milliseconds(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}

/// Pages in bytes; faults and nanoseconds as they are.
pub(super) fn amount_of(result: &BudgetResult, number: u64) -> i64 {
    signed(number.saturating_mul(result.budget.measure.unit().scale()))
}

pub(super) fn value_of(result: &BudgetResult) -> Option<i64> {
    result.value.map(|value| amount_of(result, value))
}

pub(super) fn baseline_of(result: &BudgetResult) -> Option<i64> {
    result.baseline.map(|value| amount_of(result, value))
}

/// By how much a value grew.
pub(super) fn growth(result: &BudgetResult) -> Option<i64> {
    Some(value_of(result)?.saturating_sub(baseline_of(result)?))
}

/// The limit that `max_growth` sets: the baseline and what it may grow by.
pub(super) fn growth_limit(result: &BudgetResult) -> Option<i64> {
    result.limits.iter().find(|limit| limit.kind == LimitKind::MaxGrowth).map(|limit| limit.limit)
}

/// The limit that decides.
pub(super) fn decisive(result: &BudgetResult) -> Option<&LimitResult> {
    result.limits.first()
}
