//! Is a value within its limits?

use crate::analysis::check::budget::{self, Budget, Limit};
use crate::named_enum::named_enum;

named_enum! {
    /// The verdict on a budget; the worst is last.
    pub enum Verdict {
        /// Within its limits.
        Pass = "pass",
        /// Within its limits, and near one.
        Watch = "watch",
        /// Not known: data that it needs is not in the trace.
        Invalid = "invalid",
        /// Its conditions match nothing: a name may be wrong, or what it names was not there.
        NoMatch = "no match",
        /// Beyond a limit.
        Fail = "fail",
    }
}

named_enum! {
    /// Which limit.
    pub enum LimitKind {
        /// The most.
        Max = "max",
        /// The least.
        Min = "min",
        /// The most that it may grow.
        MaxGrowth = "max_growth",
    }
}

/// A value beside one of its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitResult {
    /// Which of the limits it is.
    pub kind: LimitKind,
    /// The limit of the value, in bytes, faults or nanoseconds; that of growth is counted from the baseline.
    pub limit: i64,
    /// How far the value is from it; below 0 it is beyond.
    pub room: i64,
    /// The verdict on it.
    pub verdict: Verdict,
}

const WHOLE: i128 = budget::WHOLE as i128;

/// A limit in bytes, faults or nanoseconds; a share is of `whole`. Values are whole pages, so a share is rounded to whole pages too
/// (`scale` bytes each): down for an upper limit, up for a lower limit. So the limit, the value and the room that are shown add up.
fn absolute(limit: Limit, whole: i128, scale: i128, is_least: bool) -> i128 {
    match limit {
        Limit::Bytes(bytes) => i128::from(bytes),
        Limit::Share(share) => {
            let (product, one) = (whole * i128::from(share), WHOLE * scale);
            let number = product / one + i128::from(is_least && product % one != 0);
            number * scale
        }
    }
}

fn narrow(bytes: i128) -> i64 {
    bytes.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Judges `part` of a limit: `room` is what is left of it.
fn judged(room: i128, is_near: bool) -> Verdict {
    match () {
        () if room < 0 => Verdict::Fail,
        () if is_near => Verdict::Watch,
        () => Verdict::Pass,
    }
}

/// A value beside each limit of its budget, the one that decides first. All in pages, faults or nanoseconds; `baseline` is the value of
/// the baseline, where there is one, and the largest of its runs, where there are several: a value that one of them had is no growth that
/// fails.
pub fn judge(budget: &Budget, value: u64, total: u64, baseline: Option<(u64, Option<u64>)>) -> Vec<LimitResult> {
    let scale = i128::from(budget.measure.unit().scale());
    let scaled = |number: u64| i128::from(number) * scale;
    let (value, total) = (scaled(value), scaled(total));
    let watch = i128::from(budget.watch);
    let mut all = Vec::new();
    if let Some(max) = budget.max {
        let limit = absolute(max, total, scale, false);
        let is_near = value > 0 && value * WHOLE >= limit * watch;
        all.push((LimitKind::Max, limit, limit - value, is_near));
    }
    if let Some(min) = budget.min {
        let limit = absolute(min, total, scale, true);
        let is_near = limit > 0 && limit * WHOLE >= value * watch;
        all.push((LimitKind::Min, limit, value - limit, is_near));
    }
    if let (Some(max_growth), Some((baseline, _))) = (budget.max_growth, baseline) {
        let baseline = scaled(baseline);
        let (most, growth) = (absolute(max_growth, baseline, scale, false), value - baseline);
        let is_near = growth > 0 && growth * WHOLE >= most * watch;
        all.push((LimitKind::MaxGrowth, baseline + most, most - growth, is_near));
    }
    let is_noise = baseline.and_then(|(_, most)| most).is_some_and(|most| value <= scaled(most));
    let mut all: Vec<LimitResult> = (all.into_iter())
        .map(|(kind, limit, room, is_near)| LimitResult {
            kind,
            limit: narrow(limit),
            room: narrow(room),
            verdict: match judged(room, is_near) {
                Verdict::Fail if kind == LimitKind::MaxGrowth && is_noise => Verdict::Watch,
                verdict => verdict,
            },
        })
        .collect();
    order(&mut all);
    all
}

/// The limit that decides comes first.
pub(super) fn order(limits: &mut [LimitResult]) {
    limits.sort_by_key(|limit| (std::cmp::Reverse(limit.verdict), limit.room));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::check::budgets_file::read;
    use std::path::Path;

    fn verdict(limits: &str, value: u64, baseline: Option<u64>) -> (Verdict, i64) {
        let text = format!("[[budget]]\nname = \"x\"\n{limits}");
        let budget = read(Path::new("x"), &text).unwrap().remove(0);
        let first = judge(&budget, value, 1001, baseline.map(|median| (median, None)))[0];
        (first.verdict, first.room / 4096)
    }

    #[test]
    fn a_value_equal_to_its_limit_meets_it() {
        for (limits, value, baseline, wanted) in [
            ("max = \"100 pages\"", 100, None, (Verdict::Watch, 0)),
            ("max = \"100 pages\"", 101, None, (Verdict::Fail, -1)),
            ("max = \"100 pages\"", 90, None, (Verdict::Watch, 10)),
            ("max = \"100 pages\"", 89, None, (Verdict::Pass, 11)),
            ("max = \"100 pages\"\nwatch = \"50 %\"", 50, None, (Verdict::Watch, 50)),
            ("max = \"0\"", 0, None, (Verdict::Pass, 0)),
            ("min = \"90 pages\"", 90, None, (Verdict::Watch, 0)),
            ("min = \"90 pages\"", 100, None, (Verdict::Watch, 10)),
            ("min = \"90 pages\"", 101, None, (Verdict::Pass, 11)),
            ("min = \"90 pages\"", 89, None, (Verdict::Fail, -1)),
            ("max = \"10 %\"", 100, None, (Verdict::Watch, 0)),
            ("max = \"10 %\"", 101, None, (Verdict::Fail, -1)),
            ("min = \"10 %\"", 100, None, (Verdict::Fail, -1)),
            ("max_growth = \"10 pages\"", 60, Some(50), (Verdict::Watch, 0)),
            ("max_growth = \"10 pages\"", 61, Some(50), (Verdict::Fail, -1)),
            ("max_growth = \"10 %\"", 40, Some(50), (Verdict::Pass, 15)),
            ("max_growth = \"0\"", 50, Some(50), (Verdict::Pass, 0)),
            ("max = \"200 pages\"\nmax_growth = \"1 pages\"", 60, Some(50), (Verdict::Fail, -9)),
            ("max = \"200 pages\"\nmax_growth = \"1 pages\"", 60, None, (Verdict::Pass, 140)),
        ] {
            assert_eq!(verdict(limits, value, baseline), wanted, "{limits} {value} {baseline:?}");
        }
    }

    /// No two runs are the same: a limit narrower than what the runs of the baseline differ by failed for nothing.
    #[test]
    fn growth_is_judged_against_the_spread_of_the_runs() {
        let text = "[[budget]]\nname = \"x\"\nmax = \"70 pages\"\nmax_growth = \"1 page\"\n";
        let budget = read(Path::new("x"), text).unwrap().remove(0);
        let first = |value, most| {
            let limit = judge(&budget, value, 1000, Some((50, most)))[0];
            (limit.kind, limit.verdict, limit.room / 4096)
        };
        assert_eq!(first(60, None), (LimitKind::MaxGrowth, Verdict::Fail, -9));
        assert_eq!(first(60, Some(60)), (LimitKind::MaxGrowth, Verdict::Watch, -9));
        assert_eq!(first(61, Some(60)), (LimitKind::MaxGrowth, Verdict::Fail, -10));
        assert_eq!(first(71, Some(80)), (LimitKind::Max, Verdict::Fail, -1));
    }
}
