//! Budgets: values of traces compared with limits and with a baseline.
//!
//! [`budgets_file`] reads budgets, [`trace_values`] counts the pages of each, [`required_data`] says whether the trace holds the data that
//! a value needs, [`verdict`] judges, [`baseline`] gives earlier values and [`largest_growth`] what grew most. [`suggested_budgets`]
//! makes a first budgets file.

mod allocation_values;
pub mod baseline;
mod baseline_doubts;
mod baseline_rows;
mod baseline_table;
pub mod budget;
pub mod budgets_file;
mod cpu_values;
mod driver_names;
mod fault_values;
mod id_owners;
pub mod largest_growth;
mod measured_value;
mod other_code_page;
mod other_ids;
mod reference_values;
mod required_data;
pub mod suggested_budgets;
pub mod trace_values;
mod undecided;
mod unknown_by_name;
mod unknown_heaps;
mod unknown_owners;
mod unknown_services;
mod unnamed_categories;
mod unrecorded;
pub mod verdict;

use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::first_of;
use budget::Budget;
use largest_growth::{Grown, grown, left_out, not_comparable};
pub(crate) use measured_value::Spread;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trace_values::{TraceValues, Value};
use undecided::undecided;
use unknown_heaps::decided_by_heaps;
use unknown_owners::Bounds;
use verdict::{LimitKind, LimitResult, Verdict, judge};

/// The result of one budget.
#[derive(Debug, Clone)]
pub struct BudgetResult {
    /// The budget.
    pub budget: Budget,
    /// The worst of its limits, or why none was judged.
    pub verdict: Verdict,
    /// Pages, hard faults or nanoseconds; `None` where they are not known.
    pub value: Option<u64>,
    /// The same of the baseline.
    pub baseline: Option<u64>,
    /// How many runs the baseline is the median of, and the least and the most of them; `None` for a baseline of one.
    pub(crate) spread: Option<Spread>,
    /// Its limits, the one that decides first.
    pub limits: Vec<LimitResult>,
    /// Why it is invalid, why nothing matches, and why it has no baseline.
    pub fault: Option<String>,
    /// Dimensions of what grew.
    pub dimensions: Vec<String>,
    /// What grew, of a budget that failed.
    pub grown: Vec<Grown>,
    /// Patterns of its conditions that match nothing, a line each.
    pub(crate) warnings: Vec<String>,
    /// Why the baseline given has nothing to compare its value with.
    without_baseline: Option<String>,
}

impl BudgetResult {
    /// Nothing is judged yet.
    fn unjudged(budget: &Budget, earlier: Option<&Value>) -> BudgetResult {
        BudgetResult {
            budget: budget.clone(),
            verdict: Verdict::Invalid,
            value: None,
            baseline: earlier.map(|value| value.pages),
            spread: earlier.and_then(Spread::of),
            limits: Vec::new(),
            fault: None,
            dimensions: Vec::new(),
            grown: Vec::new(),
            warnings: Vec::new(),
            without_baseline: None,
        }
    }

    /// True when nothing matched, and that is allowed.
    pub(crate) fn is_absent(&self) -> bool {
        self.verdict == Verdict::NoMatch && self.budget.optional
    }

    /// True where growth has a limit, and nothing to be compared with.
    fn has_growth_unjudged(&self) -> bool {
        let is_judged = || self.limits.iter().any(|limit| limit.kind == LimitKind::MaxGrowth);
        self.budget.max_growth.is_some() && self.value.is_some() && self.fault.is_none() && !is_judged()
    }

    /// True where a value is known and none of its limits could be judged.
    pub(crate) fn is_unjudged(&self) -> bool {
        self.has_growth_unjudged() && self.limits.is_empty()
    }

    /// A limit that cannot be judged makes the budget invalid, unless another one is exceeded for certain: then a warning names it. `limits`:
    /// each with the reason, where there is one.
    fn cannot_judge(&mut self, limits: impl IntoIterator<Item = (&'static str, Option<String>)>) {
        let fails = self.verdict == Verdict::Fail;
        for (limit, reason) in limits.into_iter().filter_map(|(limit, reason)| Some((limit, reason?))) {
            self.warnings.extend(fails.then(|| format!("{limit} is not judged: {reason}")));
            self.fault = Some(reason);
            self.verdict = self.verdict.max(Verdict::Invalid);
        }
    }

    /// What it contributes to the verdict on the trace.
    pub(crate) fn counted(&self) -> Verdict {
        if self.is_absent() { Verdict::Pass } else { self.verdict }
    }
}

/// The results of one trace.
#[derive(Debug)]
pub struct TraceResult {
    /// Its files, as the user named them; the first is the trace.
    pub files: Vec<PathBuf>,
    /// The worst of its budgets; one that is optional and matches nothing counts as a pass.
    pub verdict: Verdict,
    /// In the order of the file.
    pub budgets: Vec<BudgetResult>,
    /// Doubts about the trace.
    pub warnings: Warnings,
}

impl TraceResult {
    /// Judges what was measured of a trace. `baseline`: the values of the baseline in the order of the budgets.
    pub fn new(
        files: Vec<PathBuf>,
        budgets: &[Budget],
        values: TraceValues,
        baseline: Option<&TraceValues>,
    ) -> TraceResult {
        let TraceValues { values, mut warnings, machines, .. } = values;
        for earlier in baseline.iter().flat_map(|baseline| &baseline.machines) {
            machines.iter().for_each(|machine| warnings.add(machine.differences(earlier, "the baseline")));
        }
        let of_baseline = |at: usize| baseline.and_then(|baseline| baseline.values.get(at));
        let all = budgets.iter().zip(&values).enumerate();
        let budgets: Vec<BudgetResult> =
            all.map(|(at, (budget, value))| result(budget, value, of_baseline(at))).collect();
        TraceResult { files, verdict: worst(budgets.iter().map(BudgetResult::counted)), budgets, warnings }
    }

    /// The results of a trace that cannot be read: all budgets are invalid.
    pub fn unreadable(files: Vec<PathBuf>, budgets: &[Budget], reason: &str) -> TraceResult {
        let values = budgets.iter().map(|_| Err(reason.to_owned())).collect();
        TraceResult::new(files, budgets, TraceValues { values, ..TraceValues::default() }, None)
    }

    /// Doubts about the trace, then those about each budget with its name.
    pub(crate) fn all_warnings(&self) -> Warnings {
        let of_budgets = self.warnings_of_budgets().into_iter();
        let of_budgets = of_budgets.map(|text| Warning::note(OF_TRACE, "budget", text));
        self.warnings.iter().cloned().chain(of_budgets).collect()
    }

    /// How the machine differs from that of the baseline.
    pub(crate) fn warnings_of_machines(&self) -> Vec<String> {
        let is_of_machine = |warning: &&Warning| warning.is_of(&["machine_differs", "build_differs"]);
        self.warnings.iter().filter(is_of_machine).map(|warning| warning.text.clone()).collect()
    }

    /// Those about each budget with its name.
    pub(crate) fn warnings_of_budgets(&self) -> Vec<String> {
        let of_budget = |result: &BudgetResult| {
            let name = result.budget.name.clone();
            result.warnings.clone().into_iter().map(move |line| format!("budget \"{name}\": {line}"))
        };
        self.budgets.iter().flat_map(of_budget).collect()
    }

    /// What makes its numbers doubtful.
    pub(crate) fn doubts(&self) -> Vec<String> {
        self.warnings.grave().texts()
    }

    /// True where growth has a limit.
    pub(crate) fn limits_growth(&self) -> bool {
        self.budgets.iter().any(|budget| budget.budget.max_growth.is_some())
    }

    /// True where the growth of a budget is not judged, because there is nothing to compare with.
    pub(crate) fn has_growth_unjudged(&self) -> bool {
        self.budgets.iter().any(BudgetResult::has_growth_unjudged)
    }

    /// The trace, and the other files of its recording.
    pub(crate) fn names(&self) -> String {
        self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" + ")
    }

    /// The trace: the first of its files.
    pub fn path(&self) -> &Path {
        self.files.first().map_or(Path::new(""), PathBuf::as_path)
    }
}

/// What says for which budgets, of those that have a value, a baseline changes no verdict and shows no growth. One with a limit for growth is
/// invalid then, and says why itself; so does one whose value in the baseline is of other pages.
pub(crate) fn unused_baseline(traces: &[TraceResult]) -> Option<Warning> {
    let valued = || traces.iter().flat_map(|trace| &trace.budgets).filter(|result| result.value.is_some());
    let is_used = |result: &BudgetResult| result.without_baseline.is_none() || result.budget.max_growth.is_some();
    let is_told = |result: &BudgetResult, reason: &str| result.warnings.iter().any(|told| told.ends_with(reason));
    let mut unused: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for result in valued().filter(|result| !is_used(result)) {
        let reason = result.without_baseline.as_deref().filter(|reason| !is_told(result, reason));
        reason.map(|reason| unused.entry(reason).or_default().insert(&result.budget.name));
    }
    let text = if valued().any(is_used) {
        const SHOWN: usize = 3;
        let of_some = |(reason, names): (&&str, &BTreeSet<&str>)| {
            format!("{}: {reason}", first_of(&names.iter().collect::<Vec<_>>(), SHOWN))
        };
        let all: Vec<String> = unused.iter().map(of_some).collect();
        (!all.is_empty()).then(|| format!("the baseline has no value for {}", all.join("; for ")))
    } else {
        let all: Vec<&str> = unused.into_keys().collect();
        let because = if all.is_empty() { "" } else { ": " };
        let text = format!("the baseline is not used, because it fits no budget{because}{}", all.join("; "));
        valued().next().map(|_| text)
    };
    text.map(|text| Warning::note(OF_TRACE, "baseline_unused", text))
}

/// The worst verdict of several; a pass if there is none.
pub fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.max().unwrap_or(Verdict::Pass)
}

/// Why nothing matches.
fn no_match(value: &Value) -> String {
    match value.unmatched.as_slice() {
        [] => "nothing in the trace meets its conditions".to_owned(),
        lines => lines.join("; "),
    }
}

const NO_EARLIER: &str =
    "nothing in the baseline meets its conditions, so there is no growth to judge; optional = true counts from 0";
const ALL_IS_GROWTH: &str = "nothing in the baseline meets its conditions: all of it counts as growth";

/// What a value is compared with.
#[derive(Default)]
struct Earlier<'v> {
    /// The value of the baseline.
    value: Option<&'v Value>,
    /// Why a baseline that is given has none for this value.
    missing: Option<String>,
    /// True where it has one, which is of other pages or of another process: its difference is no growth.
    is_of_others: bool,
}

impl<'v> Earlier<'v> {
    /// Of a name that is not there nobody knows whether it needed nothing or was another one.
    fn of(budget: &Budget, value: &Value, baseline: Option<&'v Result<Value, String>>) -> Earlier<'v> {
        let without = |missing: String| Earlier { missing: Some(missing), ..Earlier::default() };
        match baseline {
            None => Earlier::default(),
            Some(Err(reason)) => without(reason.clone()),
            Some(Ok(earlier)) if earlier.has_no_match && !budget.optional => without(NO_EARLIER.to_owned()),
            Some(Ok(earlier)) => match value.is_of_others(earlier, &budget.filter) {
                Some(reason) => Earlier { is_of_others: true, ..without(reason) },
                None => Earlier { value: Some(earlier), ..Earlier::default() },
            },
        }
    }

    /// What is said of the growth beside it.
    fn doubts(&self, budget: &Budget, value: &Value) -> Vec<String> {
        let is_alone = self.value.is_none() && self.missing.is_none() && budget.max_growth.is_some();
        let alone = is_alone.then(|| format!("{} is not judged: there is no baseline", LimitKind::MaxGrowth.name()));
        let is_all = |earlier: &&Value| earlier.has_no_match && budget.max_growth.is_some();
        let all = self.value.filter(is_all).map(|_| ALL_IS_GROWTH.to_owned());
        let longer = self.value.and_then(|earlier| value.other_length(earlier));
        // A limit of growth tells it itself.
        let others = self.missing.as_ref().filter(|_| self.is_of_others && budget.max_growth.is_none());
        let others = others.map(|reason| format!("its growth is not known: {reason}"));
        [alone, all, longer, others].into_iter().flatten().collect()
    }
}

fn result(budget: &Budget, value: &Result<Value, String>, baseline: Option<&Result<Value, String>>) -> BudgetResult {
    let value = match value {
        Err(reason) => {
            let earlier = baseline.and_then(|baseline| baseline.as_ref().ok());
            let earlier = earlier.filter(|earlier| !earlier.has_no_match || budget.optional);
            return BudgetResult { fault: Some(reason.clone()), ..BudgetResult::unjudged(budget, earlier) };
        }
        Ok(value) => value,
    };
    let earlier = Earlier::of(budget, value, baseline);
    let mut result = BudgetResult::unjudged(budget, earlier.value);
    result.value = Some(value.pages);
    result.warnings = [&value.unmatched[..], &value.doubts[..]].concat();
    if value.has_no_match {
        // What meets the conditions can be of a process without a name.
        let bounds = Bounds::new(value, budget.measure).of(&budget.conditions);
        let unnamed = bounds.may_exceed(budget.max).filter(|_| budget.optional && value.unnamed > 0);
        result.verdict = if unnamed.is_some() { Verdict::Invalid } else { Verdict::NoMatch };
        result.fault = unnamed.or_else(|| Some(no_match(value)));
        return result;
    }
    result.warnings.extend(earlier.doubts(budget, value));
    let runs = result.baseline.map(|median| (median, result.spread.map(|spread| spread.most)));
    let no_total = value.total_unknown.as_ref().filter(|_| budget.has_shares());
    let known = if no_total.is_some() { budget.without_shares() } else { budget.clone() };
    result.limits = judge(&known, value.pages, value.total, runs);
    let fails =
        |pages| worst(judge(&known, pages, value.total, runs).iter().map(|limit| limit.verdict)) == Verdict::Fail;
    result.warnings.extend(decided_by_heaps(value, fails));
    let (undecided, doubts) = undecided(&mut result.limits, &known, value, earlier.value);
    result.warnings.extend(doubts);
    result.verdict = worst(result.limits.iter().map(|limit| limit.verdict));
    let no_share =
        no_total.map(|reason| format!("a limit in percent is a part of all, and all is not known: {reason}"));
    let no_growth = budget.max_growth.and(earlier.missing.clone());
    result.without_baseline = earlier.missing;
    let lacking = [(LimitKind::MaxGrowth.name(), no_growth), ("a share", no_share)];
    result.cannot_judge(lacking.into_iter().chain(undecided));
    if result.verdict == Verdict::Fail {
        result.warnings.extend(earlier.value.and_then(|earlier| not_comparable(value, earlier)));
        result.warnings.extend(earlier.value.and_then(|earlier| value.rows_by_other_code_page(earlier)));
        let sum = budget.measure.sum_of_rows();
        (result.dimensions, result.grown) = grown(value, earlier.value, sum);
        let has_compared = result.grown.iter().any(|row| row.baseline.is_some());
        let left_out = earlier.value.filter(|_| has_compared).and_then(|earlier| left_out(value, earlier, sum));
        result.warnings.extend(left_out);
    }
    result
}
