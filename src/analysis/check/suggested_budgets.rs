//! A first budgets file: the largest processes and categories of a trace, and who allocated most.

use crate::analysis::allocations::Dimension as AllocationDimension;
use crate::analysis::check::TraceResult;
use crate::analysis::check::budget::{Analysis, Budget, Conditions, Measure, MeasureUnit};
use crate::analysis::check::budgets_file::limit;
use crate::analysis::check::trace_values::{TraceValues, Value};
use crate::analysis::check::unrecorded::unrecorded;
use crate::analysis::check::verdict::Verdict;
use crate::analysis::diff::tolerance::Rounding;
use crate::dimensions::single_dimensions::CATEGORY;
use crate::dimensions::{Condition, Dimension as _, Label, LabelKind, ProcessFacet};
use crate::error::Missing;
use crate::event::hooks::{COMPACT_CSWITCH, CSWITCH};
use crate::load::allocation_kinds::AllocationKind;
use crate::model::category::Category;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::{REFERENCE_SET, RESIDENT_SET};
use crate::trace::trust::warning::Warnings;
use crate::units::PAGE_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// Processes and categories that are suggested.
const MOST: usize = 5;

/// A budget that fits a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// Its name.
    pub name: String,
    /// The analysis that measures.
    pub analysis: Analysis,
    /// What is measured.
    pub measure: Measure,
    /// Dimension and patterns; `None` for all.
    pub condition: Option<(&'static str, String)>,
    /// What the trace has, in numbers of the measure.
    pub value: u64,
    /// The same and a tenth more, in whole pages, KiB or MiB, faults or milliseconds.
    pub max: String,
}

/// A tenth more, as a limit is written.
fn a_tenth_more(value: u64, unit: MeasureUnit) -> String {
    const MIB: u64 = 1 << 20;
    let more = value.saturating_add(value.div_ceil(10));
    let size = |small: String, of_mib: u64| {
        if more < 10 * of_mib { small } else { format!("{} MiB", more.div_ceil(of_mib)) }
    };
    match unit {
        MeasureUnit::Pages => size(format!("{more} pages"), MIB / PAGE_BYTES),
        MeasureUnit::Bytes => size(format!("{} KiB", more.div_ceil(1 << 10)), MIB),
        MeasureUnit::Faults => more.to_string(),
        // A tenth of a short wait is less than a millisecond.
        MeasureUnit::Time if more < 10_000_000 => {
            let micros = more.div_ceil(1_000);
            format!("{}.{:03}", micros / 1_000, micros % 1_000)
        }
        MeasureUnit::Time => more.div_ceil(1_000_000).to_string(),
    }
}

/// All pages as a budget.
fn whole((analysis, measure): (Analysis, Measure)) -> Budget {
    let conditions = match analysis {
        Analysis::Resident => Conditions::Resident(Vec::new()),
        Analysis::Reference => Conditions::Reference(Vec::new()),
        Analysis::Faults => Conditions::Faults(Vec::new()),
        Analysis::Cpu => Conditions::Cpu(Vec::new()),
        Analysis::Allocations(_) => Conditions::Allocations(Vec::new()),
    };
    Budget {
        name: measure.name().to_owned(),
        analysis,
        measure,
        conditions,
        symbols: SymbolFolders::default(),
        filter: Vec::new(),
        max: None,
        min: None,
        max_growth: None,
        watch: 0,
        optional: false,
    }
}

/// A name that matches itself as a pattern: blanks around a pattern are no part of it, but for those that fill a tag.
fn as_pattern(name: &str) -> Option<&str> {
    let is_bare = name.trim_end_matches(' ') == name.trim() && !name.trim().is_empty();
    (is_bare && !name.contains(['*', '?', ';', '!', '=', '\\'])).then_some(name)
}

/// The name of a process; a pattern of the word "Unknown" means those without one.
fn process_name(label: &Label) -> Option<&str> {
    label.process_name().filter(|name| *name != "Unknown")
}

/// The largest of a dimension; a name that would not match itself as a pattern goes to `unwritten`.
fn largest<'v>(
    value: &'v Value,
    name: &str,
    key: impl Fn(&'v Label) -> Option<&'v str>,
    unwritten: &mut BTreeSet<String>,
) -> Vec<(&'v str, u64)> {
    let Some(at) = value.dimensions.iter().position(|dimension| dimension == name) else { return Vec::new() };
    // A pattern means names in any case, so such names have one sum.
    let mut sums: BTreeMap<String, (&str, u64)> = BTreeMap::new();
    for row in &value.rows {
        if let Some(key) = row.labels.get(at).and_then(&key) {
            let (_, sum) = sums.entry(key.to_lowercase()).or_insert((key, 0));
            *sum += u64::try_from(row.pages).unwrap_or(0);
        }
    }
    let mut all: Vec<(&str, u64)> = sums.into_values().filter(|(_, pages)| *pages > 0).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    all.truncate(MOST);
    all.retain(|(name, _)| {
        let is_pattern = as_pattern(name).is_some();
        unwritten.extend((!is_pattern).then(|| (*name).to_owned()));
        is_pattern
    });
    all
}

impl Suggestion {
    fn new(
        name: String,
        (analysis, measure): (Analysis, Measure),
        condition: Option<(&'static str, String)>,
        value: u64,
    ) -> Suggestion {
        Suggestion { name, analysis, measure, condition, value, max: a_tenth_more(value, measure.unit()) }
    }

    /// The budgets of all, and of those that have most.
    fn of_allocations(
        of: AllocationKind,
        measure: Measure,
        value: &Value,
        unwritten: &mut BTreeSet<String>,
    ) -> Vec<Suggestion> {
        let what = match measure {
            Measure::GrowthPerMinute => format!("{}, growth in a minute", of.name()),
            _ => of.name().to_owned(),
        };
        let asked = (Analysis::Allocations(of), measure);
        let all = Suggestion::new(format!("All {what}"), asked, None, value.pages);
        let (process, tag) = (AllocationDimension::Process.name(), AllocationDimension::Tag.name());
        let of_processes = largest(value, process, process_name, unwritten).into_iter().map(|(name, bytes)| {
            Suggestion::new(format!("{name}, {what}"), asked, Some((process, format!("{name} (*)"))), bytes)
        });
        let of_tags = largest(value, tag, |label| Some(label.as_str()), unwritten).into_iter().map(|(name, bytes)| {
            Suggestion::new(format!("{}, {what}", name.trim_end()), asked, Some((tag, name.to_owned())), bytes)
        });
        // Of what there is nothing of, nothing tells what is usual.
        let all = (value.pages > 0).then_some(all);
        all.into_iter().chain(of_processes).chain(of_tags).collect()
    }
}

/// Budgets for a trace, by what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggested {
    /// The budgets.
    pub budgets: Vec<Suggestion>,
    /// Of which analysis there are none, or not of its first measure, and why.
    pub without: Vec<(Analysis, String)>,
    /// Names among the largest of which there are no budgets, because a pattern cannot be written for them alone.
    pub unwritten: BTreeSet<String>,
    /// Of which there is none because its value is not known, as of categories, a line each.
    pub unknown: BTreeSet<String>,
    /// Categories of budgets that count pages of others too, because a keyword was not recorded.
    pub moved: BTreeSet<String>,
    /// What can make the values of the trace wrong, and so the limits.
    pub(crate) grave: Warnings,
}

impl Suggested {
    fn is_without(&self, of: Analysis) -> bool {
        self.without.iter().any(|(analysis, _)| *analysis == of)
    }

    /// Why a measure is unknown, if that says more than is known already.
    fn add_reason(&mut self, (of, measure): (Analysis, Measure), reason: &str) {
        let without = (of, reason.to_owned());
        let is_news = match measure {
            // Growth is asked for only where it is not known how much there is.
            Measure::GrowthPerMinute => self.is_without(of) && !self.without.contains(&without),
            _ => !self.is_without(of),
        };
        self.without.extend(is_news.then_some(without));
    }
}

/// Pages of a set: all, and by process and category.
fn of_pages(
    (analysis, measure): (Analysis, Measure),
    value: &Value,
    unwritten: &mut BTreeSet<String>,
) -> Vec<Suggestion> {
    let whole = |name: &str| Suggestion::new(name.into(), (analysis, measure), None, value.pages);
    let (mut all, what) = match measure {
        Measure::Pages => (Vec::new(), "memory"),
        Measure::Peak => return vec![whole("Reference set, peak")],
        _ => (vec![whole("Reference set at stop")], "reference set"),
    };
    let mut of = |name: &str, dimension, pattern, pages| {
        all.push(Suggestion::new(format!("{name}, {what}"), (analysis, measure), Some((dimension, pattern)), pages));
    };
    let process = ProcessFacet::Process.name();
    for (name, pages) in largest(value, process, process_name, unwritten) {
        of(name, process, format!("{name} (*)"), pages);
    }
    let is_held = |label: &Label| label.kind() != LabelKind::Nothing && label != Category::Unused.name();
    let category = |label| is_held(label).then_some(label.as_str());
    for (name, pages) in largest(value, CATEGORY.name, category, unwritten) {
        of(name, CATEGORY.name, name.to_owned(), pages);
    }
    all
}

impl Suggestion {
    /// The budget that a reader of the file gets; `None` for one that is not read.
    fn budget(&self) -> Option<Budget> {
        let mut budget = whole((self.analysis, self.measure));
        budget.name.clone_from(&self.name);
        budget.max = Some(limit(&self.max, self.measure, Rounding::Down).ok()?);
        if let Some((dimension, patterns)) = &self.condition {
            let text = format!("{dimension}={patterns}");
            match &mut budget.conditions {
                Conditions::Resident(all) => all.push(Condition::parse(&text).ok()?),
                Conditions::Reference(all) => all.push(Condition::parse(&text).ok()?),
                Conditions::Faults(all) => all.push(Condition::parse(&text).ok()?),
                Conditions::Cpu(all) => all.push(Condition::parse(&text).ok()?),
                Conditions::Allocations(all) => all.push(Condition::parse(&text).ok()?),
            }
            budget.filter.push((dimension, patterns.clone()));
        }
        Some(budget)
    }
}

/// That pages of others count in a budget too, because a keyword was not recorded.
fn moved(trace: &Trace, budget: &Budget) -> Vec<String> {
    let needs = match budget.analysis {
        Analysis::Resident => &RESIDENT_SET,
        Analysis::Reference => &REFERENCE_SET,
        _ => return Vec::new(),
    };
    unrecorded(trace, needs, &budget.conditions).into_iter().map(|(_, text)| text).collect()
}

impl Suggested {
    /// Takes out what `check` calls invalid of this trace, as categories that cannot be known, and says of which others a recording with all
    /// keywords has other pages.
    fn judge(&mut self, trace: &Trace) {
        let (kept, budgets): (Vec<Suggestion>, Vec<Budget>) =
            self.budgets.drain(..).filter_map(|suggestion| Some((suggestion.clone(), suggestion.budget()?))).unzip();
        let values = TraceValues::answer(trace, &budgets);
        let judged = TraceResult::new(Vec::new(), &budgets, values, None).budgets;
        for (suggestion, result) in kept.into_iter().zip(judged) {
            match result.fault.filter(|_| matches!(result.verdict, Verdict::Invalid | Verdict::NoMatch)) {
                Some(reason) => self.unknown.extend([format!("No budget of {}: {reason}", suggestion.name)]),
                None => {
                    self.moved.extend(moved(trace, &result.budget));
                    self.budgets.push(suggestion);
                }
            }
        }
    }
}

/// Budgets for a trace, by what it holds; or why there are none.
///
/// # Errors
/// Why the trace has nothing that budgets could be made of; for a trace without any of it how to record pages.
pub fn suggest(trace: &Trace) -> Result<Suggested, Missing> {
    let mut measures = vec![
        (Analysis::Resident, Measure::Pages),
        (Analysis::Reference, Measure::HeldAtStop),
        (Analysis::Reference, Measure::Peak),
        (Analysis::Faults, Measure::HardFaults),
        (Analysis::Faults, Measure::FaultWait),
    ];
    for of in AllocationKind::ALL.into_iter().filter(|of| of.is_recorded(trace)) {
        measures
            .extend([Measure::Outstanding, Measure::GrowthPerMinute].map(|of_it| (Analysis::Allocations(of), of_it)));
    }
    let budgets: Vec<Budget> = measures.iter().copied().map(whole).collect();
    let TraceValues { values, warnings, .. } = TraceValues::answer(trace, &budgets);
    let mut suggested = Suggested { grave: warnings.grave(), ..Suggested::default() };
    for (asked, value) in measures.into_iter().zip(&values) {
        let (of, measure) = asked;
        let is_without = suggested.is_without(of);
        let value = match value {
            Ok(value) => value,
            Err(reason) => {
                suggested.add_reason(asked, reason);
                continue;
            }
        };
        let unwritten = &mut suggested.unwritten;
        let budgets = match (of, measure) {
            // Of faults that there are none of, nothing tells what is usual.
            (Analysis::Faults, _) if value.pages == 0 => Vec::new(),
            (Analysis::Faults, Measure::HardFaults) => {
                vec![Suggestion::new("Hard faults".into(), asked, None, value.pages)]
            }
            (Analysis::Faults, _) => vec![Suggestion::new("Waits of hard faults".into(), asked, None, value.pages)],
            // How much it grows is asked where it is not known how much there is.
            (Analysis::Allocations(_), Measure::GrowthPerMinute) if !is_without => Vec::new(),
            (Analysis::Allocations(kind), _) => Suggestion::of_allocations(kind, measure, value, unwritten),
            _ => of_pages(asked, value, unwritten),
        };
        suggested.budgets.extend(budgets);
    }
    suggested.judge(trace);
    if !suggested.budgets.is_empty() {
        return Ok(suggested);
    }
    if let Some(what) = suggested.unknown.into_iter().next() {
        return Err(Missing { what, advice: None });
    }
    // What was recorded says more than what was not.
    let is_recorded = |(of, _): &(Analysis, String)| matches!(of, Analysis::Allocations(_));
    suggested.without.sort_by_key(|without| !is_recorded(without));
    let first = suggested.without.into_iter().next();
    let advice = first.as_ref().filter(|first| !is_recorded(first)).map(|_| RESIDENT_SET.advice.to_owned());
    let mut what = first.map(|(_, reason)| reason).unwrap_or_default();
    if [CSWITCH, COMPACT_CSWITCH].iter().any(|hook| trace.survey().kernel_count(*hook) > 0) {
        what += "; for its context switches write budgets of processor time (analysis = \"cpu\") yourself, none are proposed";
    }
    Err(Missing { what, advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_whole_numbers_with_a_tenth_of_room() {
        assert_eq!(
            [100, 2326, 2400, 256_000].map(|pages| a_tenth_more(pages, MeasureUnit::Pages)),
            ["110 pages", "2559 pages", "11 MiB", "1100 MiB"].map(String::from)
        );
        assert_eq!(
            [1, 1 << 20, 10 << 20].map(|bytes| a_tenth_more(bytes, MeasureUnit::Bytes)),
            ["1 KiB", "1127 KiB", "11 MiB"].map(String::from)
        );
        assert_eq!(a_tenth_more(u64::MAX, MeasureUnit::Pages), "72057594037927936 MiB");
        assert_eq!(
            [71_428, 2_500_000, 964_385_000].map(|nanos| a_tenth_more(nanos, MeasureUnit::Time)),
            ["0.079", "2.750", "1061"].map(String::from)
        );
    }
}
