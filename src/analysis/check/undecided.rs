//! Limits that a value does not decide, because of what no record names.

use super::budget::{Budget, Limit, WHOLE};
use super::measured_value::{Spread, Value};
use super::unknown_owners::{Bounds, rows_perhaps_excluded};
use super::verdict::{LimitKind, LimitResult, Verdict, judge, order};

/// A limit, and why it is not decided.
type Reason = (&'static str, Option<String>);

/// What cannot be decided, so that the verdict on that limit is [`Verdict::Invalid`], and what is only a doubt: many files have no name in a sound
/// trace, and next to none of them is what is meant.
pub(super) fn undecided(
    limits: &mut [LimitResult],
    budget: &Budget,
    value: &Value,
    earlier: Option<&Value>,
) -> (Vec<Reason>, Vec<String>) {
    let scale = |amount: u64| amount.saturating_mul(budget.measure.unit().scale());
    let bounds = Bounds::new(value, budget.measure).of(&budget.conditions);
    let perhaps = Bounds::perhaps(value, budget.measure).of(&budget.conditions);
    let most_of_runs = earlier.and_then(Spread::of).map(|spread| spread.most);
    let beyond = |limit: &LimitResult, bounds: &Bounds| match limit.kind {
        LimitKind::Max => bounds.may_exceed(budget.max),
        LimitKind::Min => reached(limit, bounds),
        LimitKind::MaxGrowth => bounds.may_outgrow(limit, most_of_runs),
    };
    let most = judge(budget, value.pages, value.total.saturating_add(value.total_unknown_ns), None);
    let of_whole = |limit: &LimitResult| {
        let most = most.iter().find(|other| other.kind == limit.kind)?;
        bounds.of_whole(limit, most, value.total_unknown_ns)
    };
    let (mut undecided, mut doubts) = (Vec::new(), Vec::new());
    for limit in limits.iter_mut() {
        let before = earlier.filter(|_| limit.kind == LimitKind::MaxGrowth);
        let reason = beyond(limit, &bounds)
            .or_else(|| of_whole(limit))
            .or_else(|| bounds.less(limit, scale(value.excluded)))
            .or_else(|| before.and_then(|earlier| of_growth(limit, budget, value, earlier, false)));
        if reason.is_some() {
            limit.verdict = Verdict::Invalid;
            undecided.push((limit.kind.name(), reason));
            continue;
        }
        doubts.extend(beyond(limit, &perhaps));
        doubts.extend(bounds.less(limit, scale(value.excluded.saturating_add(value.perhaps_excluded))));
        doubts.extend(before.and_then(|earlier| of_growth(limit, budget, value, earlier, true)));
    }
    order(limits);
    (undecided, doubts)
}

/// A lower limit that what nobody knows the owner of can reach.
fn reached(limit: &LimitResult, bounds: &Bounds) -> Option<String> {
    let lacking = u64::try_from(limit.room.saturating_neg()).ok().filter(|_| limit.kind == LimitKind::Min)?;
    bounds.may_reach(lacking)
}

/// Growth that what nobody knows of the baseline can explain, or hide; of files too.
fn of_growth(
    growth: &LimitResult,
    budget: &Budget,
    value: &Value,
    earlier: &Value,
    is_of_files: bool,
) -> Option<String> {
    let scale = |amount: u64| amount.saturating_mul(budget.measure.unit().scale());
    let of_files = if is_of_files { earlier.perhaps_excluded } else { 0 };
    let excluded = earlier.excluded.max(rows_perhaps_excluded(earlier, &budget.conditions)).saturating_add(of_files);
    let most_of_runs = Spread::of(earlier).map_or(0, |spread| scale(spread.most));
    let allowed = |before: u64| match budget.max_growth {
        Some(Limit::Bytes(bytes)) => before.saturating_add(bytes).max(most_of_runs),
        Some(Limit::Share(share)) => {
            let more = u128::from(before) * u128::from(share) / u128::from(WHOLE);
            before.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)).max(most_of_runs)
        }
        None => u64::MAX,
    };
    let of = if is_of_files { Bounds::perhaps } else { Bounds::new };
    let bounds = of(earlier, budget.measure).of(&budget.conditions);
    bounds.of_growth(scale(value.pages), growth.verdict == Verdict::Fail, allowed, scale(excluded))
}
