//! What stacks weigh: waited time, bytes, pages, or the number of events, as values of tables, and the shares of all of it.

use crate::analysis::stacks::{StackSet, Weight};
use crate::analysis::table::Value;

/// What shares are of, in all tables and lines: the weight of all events; their number where no weight is known.
pub(super) fn whole(set: &StackSet) -> u64 {
    of_share(set, set.totals.events, set.totals.weight)
}

pub(super) fn of_share(set: &StackSet, events: u64, weight: u64) -> u64 {
    if set.totals.weight == 0 { events } else { weight }
}

/// What has no stack, of the weight that shares are of.
pub(super) fn without_stack(set: &StackSet) -> u64 {
    let totals = &set.totals;
    of_share(set, totals.events - totals.with_stack, totals.weight.saturating_sub(totals.weight_with_stack))
}

/// What shares are of where the user chose events.
pub(super) fn base(set: &StackSet) -> Option<String> {
    let is_chosen = set.leaf.is_some() || !set.filter.is_empty();
    is_chosen.then(|| "Shares and sums are of the events that meet the conditions, not of all".to_owned())
}

pub(super) fn share(set: &StackSet, events: u64, weight: u64) -> Value {
    Value::share(of_share(set, events, weight), whole(set))
}

pub(super) fn size(bytes: u64) -> Value {
    Value::Size(i64::try_from(bytes).unwrap_or(i64::MAX))
}

pub(super) fn weight(set: &StackSet, weight: u64) -> Value {
    match set.of.weight() {
        Weight::Time => Value::Duration(weight),
        Weight::Bytes => size(weight),
        Weight::Pages | Weight::Count => Value::count(weight),
    }
}

/// The heading of weights; none where they are the numbers of events. An empty one is that of the user's unit.
pub(super) fn weight_title(set: &StackSet) -> Option<&'static str> {
    match set.of.weight() {
        Weight::Time => Some("Time"),
        Weight::Bytes => Some(""),
        Weight::Pages | Weight::Count => None,
    }
}
