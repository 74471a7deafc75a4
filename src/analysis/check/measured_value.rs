//! What was measured for a budget.

use super::id_owners::IdOwners;
use crate::code_page::CodePage;
use crate::dimensions::Label;
use crate::units::{Nanos, are_of_other_lengths};

/// A part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Labels in the order of the dimensions.
    pub labels: Vec<Label>,
    /// Pages, hard faults or nanoseconds.
    pub pages: i64,
}

/// The value of a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    /// Pages; hard faults or nanoseconds where the budget is of these.
    pub pages: u64,
    /// The same without the conditions.
    pub total: u64,
    /// Why that is not known, though the value is: then no limit is a part of it.
    pub(crate) total_unknown: Option<String>,
    /// Nanoseconds in which it is not known which threads ran, so that all can be more by them.
    pub(crate) total_unknown_ns: u64,
    /// Dimensions of the rows.
    pub dimensions: Vec<String>,
    /// The parts of the value; parts of a peak have their own peaks.
    pub rows: Vec<Row>,
    /// Of a baseline of several runs the value of each; their median is `pages`.
    pub(crate) runs: Vec<u64>,
    /// A line for each pattern of the conditions that matched nothing.
    pub(crate) unmatched: Vec<String>,
    /// What else casts doubt on it.
    pub(crate) doubts: Vec<String>,
    /// Keywords without which it counts pages of other categories too; `None` where that is not known.
    pub(crate) unrecorded: Option<Vec<String>>,
    /// Keywords without which its rows name other categories; `None` where that is not known.
    pub(crate) rows_without: Option<Vec<String>>,
    /// Access reasons that it lacks because the trace has no record of them; `None` where that is not known.
    pub(crate) lacks_reasons: Option<Vec<String>>,
    /// Nanoseconds that a sum over time is of; of other values nothing.
    pub(crate) span_ns: Option<u64>,
    /// Nanoseconds of the scenario in which pages were touched and released, of what is held of a reference set.
    pub(crate) scenario_ns: Option<u64>,
    /// The one or the other of each of `runs`, where they are known.
    pub(crate) run_spans_ns: Vec<u64>,
    /// Nanoseconds of which nobody knows whose they are: the value can be greater by as much.
    pub(crate) unknown_ns: u64,
    /// What is of threads, processes and files of which nobody knows whether they meet the conditions: it is in the total.
    pub(crate) unowned: u64,
    /// The same of files where it is only a doubt, because something meets the conditions for certain.
    pub(crate) perhaps: u64,
    /// What of that is of processes whose name is not known: one that nothing matches can be among them.
    pub(crate) unnamed: u64,
    /// What is of processes that no record names, and would not count if they had a name that the conditions exclude.
    pub(crate) excluded: u64,
    /// The same of files, where it is only a doubt.
    pub(crate) perhaps_excluded: u64,
    /// Pages of processes without heap ranges, by which it can be greater or less because they count as VirtualAlloc.
    pub(crate) of_heaps: i64,
    /// Whose the ids of threads and heaps are that the conditions name; `None` where that is not known.
    pub(crate) owners: Option<Vec<IdOwners>>,
    /// True when nothing meets the conditions, and a name may be wrong.
    pub(crate) has_no_match: bool,
    /// The code page by which names of processes are read; of a baseline only where some needed one.
    pub(crate) code_page: Option<CodePage>,
}

/// Why values over times of other lengths are not alike.
const SUMS_GROW: &str = "sums grow with the time";
const TOUCHES_GROW: &str = "what is touched and released grows with the time";

fn seconds(nanos: u64) -> f64 {
    Nanos(nanos.into()).seconds()
}

/// The values of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub runs: u64,
    /// The least of them: pages, hard faults or nanoseconds.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl Spread {
    /// Of the runs of a baseline. That of times of other lengths is no noise where the value grows with the time.
    pub(super) fn of(earlier: &Value) -> Option<Spread> {
        let runs = Some(&earlier.runs).filter(|_| earlier.spans_of_runs_that_differ().is_none())?;
        let (least, most) = (*runs.iter().min()?, *runs.iter().max()?);
        Some(Spread { runs: runs.len() as u64, least, most })
    }
}

/// An amount of what no record names.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnknownAmount {
    /// True of files.
    pub is_of_files: bool,
    /// True for what counts, and would not if it had a name that the conditions exclude.
    pub is_excluded: bool,
    /// How much.
    pub amount: u64,
}

/// The length of a window.
pub(super) fn length((from, to): (Nanos, Nanos)) -> Option<u64> {
    u64::try_from(to.0 - from.0).ok()
}

impl Value {
    /// With what is of processes and files that no record names. Where nothing else meets the conditions, that may be what they mean.
    pub(super) fn with_unowned(self, amounts: impl IntoIterator<Item = UnknownAmount>) -> Value {
        let mut value = self;
        for UnknownAmount { is_of_files, is_excluded, amount } in amounts {
            let sum = match (is_excluded, is_of_files) {
                (true, true) => &mut value.perhaps_excluded,
                (true, false) => &mut value.excluded,
                (false, true) if value.pages > 0 => &mut value.perhaps,
                (false, _) => &mut value.unowned,
            };
            *sum = sum.saturating_add(amount);
        }
        Value { unnamed: value.unowned, ..value }
    }

    /// That both are of times of other lengths.
    pub(super) fn other_length(&self, earlier: &Value) -> Option<String> {
        self.other_span(earlier).or_else(|| self.other_scenario(earlier))
    }

    /// Nanoseconds with which it grows: those that it is summed over, or of the scenario after which it is held.
    pub(super) fn grows_with_ns(&self) -> Option<u64> {
        self.span_ns.or(self.scenario_ns)
    }

    /// What of it grows with the time.
    pub(super) fn grows_with_time(&self) -> &'static str {
        match self.span_ns {
            Some(_) => SUMS_GROW,
            None => TOUCHES_GROW,
        }
    }

    /// That both are held after scenarios of other lengths, by more than a tenth: as `pfnset diff --refset` says it. Or that the
    /// scenarios of the earlier runs are.
    fn other_scenario(&self, earlier: &Value) -> Option<String> {
        let (span, before) = (self.scenario_ns?, earlier.scenario_ns?);
        let runs = earlier.spans_of_runs_that_differ().map(|(shortest, longest)| {
            format!(
                "its scenario is {:.3} s long and those of the runs of the baseline {:.3} s to {:.3} s: {TOUCHES_GROW}, so their growth \
                 says little, and their spread is no noise",
                seconds(span),
                seconds(shortest),
                seconds(longest)
            )
        });
        let median = || {
            format!(
                "its scenario is {:.3} s long and that of the baseline {:.3} s: {TOUCHES_GROW}",
                seconds(span),
                seconds(before)
            )
        };
        runs.or_else(|| are_of_other_lengths(span, before).then(median))
    }

    /// That both are sums over times of other lengths, by more than a tenth, or that the runs of the earlier one are.
    fn other_span(&self, earlier: &Value) -> Option<String> {
        let (span, before) = (self.span_ns?, earlier.span_ns?);
        let runs = earlier.spans_of_runs_that_differ().map(|(shortest, longest)| {
            format!(
                "it spans {:.3} s and the runs of the baseline {:.3} s to {:.3} s: {SUMS_GROW}, so their growth says little, \
                 and their spread is no noise",
                seconds(span),
                seconds(shortest),
                seconds(longest)
            )
        });
        let median = || {
            format!(
                "it spans {:.3} s and the baseline {:.3} s: {SUMS_GROW}, so their growth says little",
                seconds(span),
                seconds(before)
            )
        };
        runs.or_else(|| are_of_other_lengths(span, before).then(median))
    }

    /// The shortest and the longest of its runs, where what grows with the time makes a spread of that.
    pub(super) fn spans_of_runs_that_differ(&self) -> Option<(u64, u64)> {
        let spans = &self.run_spans_ns;
        let (shortest, longest) = (*spans.iter().min()?, *spans.iter().max()?);
        are_of_other_lengths(shortest, longest).then_some((shortest, longest))
    }

    /// That one of both lacks accesses of a reason, of which its trace has no record.
    pub(super) fn other_reasons(&self, earlier: &Value) -> Option<String> {
        let (now, before) = (self.lacks_reasons.as_ref()?, earlier.lacks_reasons.as_ref()?);
        let only = |one: &[String], other: &[String]| one.iter().find(|reason| !other.contains(reason)).cloned();
        let told = |reason: String, has: &str, has_not: &str| {
            format!("{has} has records of accesses by {reason}, {has_not} has none: it counts none of them")
        };
        let gone = only(now, before).map(|reason| told(reason, "the baseline", "this trace"));
        gone.or_else(|| only(before, now).map(|reason| told(reason, "this trace", "the baseline")))
    }

    /// True when nothing meets the conditions, and a name may be wrong.
    pub fn has_no_match(&self) -> bool {
        self.has_no_match
    }
}
