//! The values of budgets of the reference set.

use crate::analysis::check::budget::{Budget, Measure};
use crate::analysis::check::measured_value::{Row, UnknownAmount, Value, length};
use crate::analysis::check::required_data::Evidence;
use crate::analysis::check::unknown_owners::{Unknown, of_unknown, unknown};
use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::outside_conditions::OUTSIDE_CHOSEN;
use crate::analysis::refset::query::{Dimension as ReferenceDimension, Query};
use crate::analysis::refset::reason::AccessReason;
use crate::analysis::refset::warnings::{ACCOUNT_IS_WRONG, DISPROVED_BY_PAGES, RELEASES_MISSING};
use crate::analysis::table::{Condition, Dimension as _};
use crate::dimensions::Label;
use crate::error::Error;
use crate::etl::record_id::HookId;
use crate::event::hooks::*;
use crate::model::snapshot::Snapshot;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::{REFERENCE_SET, VIEW_THINGS, VIEWS};
use crate::trace::trust::readiness::untold_ranges;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::Nanos;

/// The events that make up a page sequence.
pub(super) const PAGES: [HookId; 2] = [PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2];
/// The events that make up a reference set.
const ACCESSES: [HookId; 6] =
    [IN_MEMORY_ACTIVE, IN_MEMORY_ACTIVE_RUNDOWN, PAGE_ACCESS, PAGE_ACCESS_EX, PAGE_RELEASE, REMOVE_FROM_WS];

/// A step that is longer than any trace, because only the peak of the timeline is used.
const ONE_STEP: Nanos = Nanos(i64::MAX as i128);

/// The reference set of a trace, or why it has none.
pub(super) struct ReferenceValues(Result<ReferenceSet, String>);

fn reference_set(
    trace: &Trace,
    conditions: &[Condition<ReferenceDimension>],
    symbols: &SymbolFolders,
) -> Result<ReferenceSet, Error> {
    let by = vec![ReferenceDimension::PROCESS, ReferenceDimension::Category];
    ReferenceSet::answer(
        trace,
        &Query {
            group_by: by.clone(),
            conditions: conditions.to_vec(),
            timeline: Some(ONE_STEP),
            timeline_by: by,
            summary_rows: 0,
            symbols: symbols.clone(),
            ..Query::default()
        },
    )
}

impl ReferenceValues {
    /// Of the whole trace; what is said of it is added to `all`.
    pub fn new(trace: &Trace, all: &mut Warnings) -> ReferenceValues {
        match reference_set(trace, &[], &SymbolFolders::default()) {
            Err(error) => ReferenceValues(Err(error.brief())),
            Ok(set) => {
                all.add(set.warnings.iter().cloned());
                ReferenceValues(Ok(set))
            }
        }
    }

    /// The value of a budget.
    pub fn value(
        &self,
        trace: &Trace,
        budget: &Budget,
        conditions: &[Condition<ReferenceDimension>],
    ) -> Result<Value, String> {
        let set = self.0.as_ref().map_err(String::clone)?;
        let mut evidence = Evidence::new(trace, &REFERENCE_SET);
        // What is held at the stop is of processes that go on after it.
        let since = if budget.measure == Measure::HeldAtStop { set.window.to } else { set.window.from };
        for (recorded, _, reason) in untold_ranges(trace.survey(), trace.processes(), since) {
            let things = if recorded.keyword == VIEWS.keyword { VIEW_THINGS } else { "regions" };
            evidence.add_unknown(recorded, things, reason);
        }
        let rundowns = [IN_MEMORY_ACTIVE, IN_MEMORY_ACTIVE_RUNDOWN]
            .into_iter()
            .filter_map(|hook| trace.survey().kernel_span(hook));
        let from = rundowns.map(|(first, _)| trace.time(first)).min();
        let (begin, end) = set.window_times;
        // The pages that are held when the window begins come from the rundown before it.
        let from = from.filter(|_| !budget.measure.is_of_accesses()).map_or(begin, |from| from.min(begin));
        if let Some(fault) = evidence.fault("the scenario", &ACCESSES, (from, end), &budget.conditions) {
            return Err(fault);
        }
        if let Some(missing) = missing_accesses(set, budget.measure, conditions) {
            return Err(missing);
        }
        // Accesses are counted as they were recorded; what was held, and so what was held already, is the account's.
        if budget.measure != Measure::Accessed
            && let Some(wrong) = wrong_account(trace, set, &evidence, budget)
        {
            return Err(wrong);
        }
        let of_accesses = |counts| {
            let (lacks, doubts) = lacking(set, conditions);
            let span_ns = length(set.window_times);
            Value { span_ns, lacks_reasons: Some(lacks), doubts, ..by_reason(counts, conditions) }
        };
        match budget.measure {
            Measure::Accessed => Ok(of_accesses(&set.balance.accesses)),
            Measure::Reaccesses => Ok(of_accesses(&set.balance.reaccesses)),
            _ if conditions.is_empty() => Ok(held(set, budget.measure, set)),
            _ => {
                let selected = reference_set(trace, conditions, &budget.symbols).map_err(|error| error.brief())?;
                let no_stacks = selected.warnings.iter().find(|doubt| doubt.code == "no_stacks");
                if let Some(doubt) = no_stacks.filter(|_| selected.chooses_stacks()) {
                    return Err(doubt.text.clone());
                }
                let is_of_stacks = selected.chooses_stacks();
                let is_told = |doubt: &&Warning| match doubt.code {
                    "stacks_incomplete" => is_of_stacks,
                    code => code == OUTSIDE_CHOSEN,
                };
                let doubts = selected.warnings.iter().filter(is_told).map(|doubt| doubt.text.clone()).collect();
                let unowned = self.unowned(trace, budget, conditions)?;
                Ok(Value { doubts, ..held(&selected, budget.measure, set) }.with_unowned(unowned))
            }
        }
    }
}

impl ReferenceValues {
    /// What of unknown processes and files can be of a value. Each question goes through the trace again, so it is asked only where any is.
    fn unowned(
        &self,
        trace: &Trace,
        budget: &Budget,
        conditions: &[Condition<ReferenceDimension>],
    ) -> Result<Vec<UnknownAmount>, String> {
        let set = self.0.as_ref().map_err(String::clone)?;
        let is_unknown = unknown(ReferenceDimension::PROCESS);
        let has_any = set.rows.iter().any(|row| is_unknown.matches(row.labels.first()));
        // Rows have no files.
        let questions = of_unknown(conditions).into_iter().filter(|of| of.is_of_files || has_any);
        let of_each = |of: Unknown<ReferenceDimension>| {
            let selected = reference_set(trace, &of.conditions, &budget.symbols).map_err(|error| error.brief())?;
            Ok(of.amount(held(&selected, budget.measure, set).pages))
        };
        questions.map(of_each).collect()
    }
}

/// Whether accesses of a reason can count.
fn counts(reason: AccessReason, conditions: &[Condition<ReferenceDimension>]) -> bool {
    let mut by_reason = conditions.iter().filter(|of| of.dimension == ReferenceDimension::AccessReason);
    by_reason.all(|of| of.patterns.could_pass(&[reason.name()]))
}

/// That accesses of a reason that counts are missing altogether: all that beside others cannot be missing, and those that the conditions choose.
fn missing_accesses(
    set: &ReferenceSet,
    measure: Measure,
    conditions: &[Condition<ReferenceDimension>],
) -> Option<String> {
    let (is_of_accesses, chooses) =
        (measure.is_of_accesses(), AccessReason::ALL.iter().any(|reason| !counts(*reason, conditions)));
    let missing = set.missing_kinds().chain(set.missing_outside().filter(|_| measure == Measure::Accessed));
    let unrecorded = set.unrecorded.iter().filter(|_| is_of_accesses && chooses);
    let unrecorded = unrecorded.map(|of| (of.reason, of.text.clone()));
    missing.chain(unrecorded).find(|(reason, _)| counts(*reason, conditions)).map(|(_, text)| text)
}

/// Reasons that count and of which the trace has no record, and that for people.
fn lacking(set: &ReferenceSet, conditions: &[Condition<ReferenceDimension>]) -> (Vec<String>, Vec<String>) {
    let lacking = set.unrecorded.iter().filter(|of| counts(of.reason, conditions));
    lacking.map(|of| (of.reason.name().to_owned(), of.text.clone())).unzip()
}

/// Why the account of what was held is wrong. A page sequence of which a part was lost disproves nothing.
fn wrong_account(trace: &Trace, set: &ReferenceSet, evidence: &Evidence<'_>, budget: &Budget) -> Option<String> {
    let time = |snapshot: &Snapshot| (trace.time(snapshot.first.time), trace.time(snapshot.last_time));
    let is_lost = |snapshot| evidence.fault("the page sequence", &PAGES, time(snapshot), &budget.conditions).is_some();
    let disproves_nothing = trace.snapshots().iter().any(is_lost);
    // How often a page entered that was held is what the records say, also where that proves what they lack.
    let is_of_other = |doubt: &Warning| budget.measure == Measure::Reaccesses && doubt.is_of(&[RELEASES_MISSING]);
    let is_wrong = |doubt: &&Warning| {
        doubt.is_of(&ACCOUNT_IS_WRONG)
            && !(disproves_nothing && doubt.is_of(&DISPROVED_BY_PAGES))
            && !is_of_other(doubt)
    };
    let missing = set.missing_kinds().map(|(_, text)| text).next();
    missing.or_else(|| set.warnings.iter().find(is_wrong).map(|doubt| doubt.text.clone()))
}

fn held(set: &ReferenceSet, measure: Measure, all: &ReferenceSet) -> Value {
    let dimensions = set.dimensions.iter().map(|dimension| dimension.name().to_owned()).collect();
    let scenario_ns = length(all.window_times);
    let signed = |pages: u64| i64::try_from(pages).unwrap_or(i64::MAX);
    match (measure, &set.timeline) {
        (Measure::Peak, Some(timeline)) => Value {
            pages: timeline.extent.peak,
            total: all.peak.0,
            dimensions,
            scenario_ns,
            rows: (timeline.groups.iter())
                .map(|group| Row { labels: group.labels.clone(), pages: signed(group.extent.peak) })
                .collect(),
            ..Value::default()
        },
        _ => Value {
            pages: u64::try_from(set.tree.measure.pages).unwrap_or(0),
            total: all.held_at_stop,
            dimensions,
            scenario_ns,
            rows: set.rows.iter().map(|row| Row { labels: row.labels.clone(), pages: row.measure.pages }).collect(),
            ..Value::default()
        },
    }
}

fn by_reason(counts: &[u64; AccessReason::ALL.len()], conditions: &[Condition<ReferenceDimension>]) -> Value {
    let passes = |reason: AccessReason| conditions.iter().all(|condition| condition.patterns.matches(reason.name()));
    let rows: Vec<(AccessReason, u64)> =
        AccessReason::ALL.into_iter().zip(*counts).filter(|(reason, pages)| *pages > 0 && passes(*reason)).collect();
    let row = |(reason, pages): &(AccessReason, u64)| Row {
        labels: vec![Label::name(reason.name())],
        pages: i64::try_from(*pages).unwrap_or(i64::MAX),
    };
    Value {
        pages: rows.iter().map(|(_, pages)| pages).sum(),
        total: counts.iter().sum(),
        dimensions: vec![ReferenceDimension::AccessReason.name().to_owned()],
        rows: rows.iter().map(row).collect(),
        ..Value::default()
    }
}
