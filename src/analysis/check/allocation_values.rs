//! The values of budgets of allocations: commit, pool or heap.

use super::budget::{Analysis, Budget, Conditions, Measure};
use super::id_owners::{IdOwners, owned_ids, owners};
use super::measured_value::{Row, UnknownAmount, Value, length};
use super::required_data::Evidence;
use super::unknown_owners::{Unknown, of_unknown};
use super::unrecorded::unrecorded_ends;
use crate::analysis::allocations::{
    ALLOCATIONS_MISSING, AllocationQuery, AllocationSet, Dimension, FAR_FROM_RUNDOWN, FREES_DIFFER, FREES_UNKNOWN,
    Figures, SNAPSHOT_IMPOSSIBLE,
};
use crate::dimensions::single_dimensions::{FREE_FUNCTION, FREE_STACK, FUNCTION, MODULE, STACK};
use crate::dimensions::{Condition, Dimension as _};
use crate::load::allocation_kinds::AllocationKind;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::{IMAGES, PROCESS_THINGS, STACK_EVENTS};
use crate::trace::trust::warning::Warning;
use crate::units::counted;
use std::collections::BTreeMap;

/// All allocations of a kind, or why they are not known, and those of each budget.
pub struct AllocationValues<'t> {
    /// The kind.
    pub of: AllocationKind,
    all: Result<AllocationSet, String>,
    /// Those that meet the conditions of a budget, by its name.
    of_budgets: BTreeMap<String, AllocationSet>,
    /// Those of processes that no record names, which can meet them too.
    of_unknown: BTreeMap<String, Vec<(UnknownAmount, AllocationSet)>>,
    /// Whose the threads and heaps are that conditions name.
    owners: BTreeMap<String, Vec<IdOwners>>,
    evidence: Evidence<'t>,
}

/// A budget with its conditions, or with those of what is not known.
type Own<'b> = (&'b Budget, Vec<Condition<Dimension>>);

/// Sets of the budgets that meet their conditions, and those of unknown processes.
#[derive(Default)]
struct Sets {
    of_budgets: BTreeMap<String, AllocationSet>,
    of_unknown: BTreeMap<String, Vec<(UnknownAmount, AllocationSet)>>,
}

/// The allocations that meet these conditions, and by name those of the budgets. The trace is gone through once.
fn together(
    trace: &Trace,
    of: AllocationKind,
    conditions: Vec<Condition<Dimension>>,
    own: &[Own<'_>],
    sets: &mut Sets,
) -> Result<AllocationSet, String> {
    // Allocations have no files.
    let unknown = own.iter().flat_map(|(budget, of)| of_unknown(of).into_iter().map(move |of| (*budget, of)));
    let unknown: Vec<(&Budget, Unknown<Dimension>)> = unknown.collect();
    let symbols = own.first().map_or_else(SymbolFolders::default, |(budget, _)| budget.symbols.clone());
    let query = AllocationQuery { of: Some(of), conditions, symbols, ..AllocationQuery::default() };
    let of_unknown = unknown.iter().map(|(_, of)| &of.conditions[..]);
    let others: Vec<&[Condition<Dimension>]> = own.iter().map(|(_, of)| &of[..]).chain(of_unknown).collect();
    let (all, found) = AllocationSet::answer_with(trace, &query, &others).map_err(|error| error.brief())?;
    let mut found = found.into_iter();
    sets.of_budgets.extend(own.iter().map(|(budget, _)| budget.name.clone()).zip(found.by_ref()));
    for ((budget, of), set) in unknown.into_iter().zip(found) {
        sets.of_unknown.entry(budget.name.clone()).or_default().push((of.amount(0), set));
    }
    Ok(all)
}

/// Whose the threads and heaps are that conditions name. The trace is gone through once more where any do.
fn owners_of_ids(trace: &Trace, of: AllocationKind, own: &[Own<'_>]) -> BTreeMap<String, Vec<IdOwners>> {
    let named: Vec<&Own<'_>> = own.iter().filter(|(_, conditions)| !owned_ids(conditions).is_empty()).collect();
    if named.is_empty() {
        return BTreeMap::new();
    }
    let heap = Some(Dimension::Heap).filter(|_| of == AllocationKind::Heap);
    let by: Vec<Dimension> = [Dimension::Process, Dimension::Thread].into_iter().chain(heap).collect();
    let symbols = named.first().map_or_else(SymbolFolders::default, |(budget, _)| budget.symbols.clone());
    let conditions = vec![Condition::fixed(Dimension::Process, "!*")];
    let query =
        AllocationQuery { of: Some(of), group_by: by.clone(), conditions, symbols, ..AllocationQuery::default() };
    let others: Vec<&[Condition<Dimension>]> = named.iter().map(|(_, conditions)| &conditions[..]).collect();
    // Without an answer there is no value either.
    let (_, sets) = AllocationSet::answer_with(trace, &query, &others).ok().unzip();
    let of_each = |((budget, conditions), set): (&Own<'_>, AllocationSet)| {
        (budget.name.clone(), owners(conditions, &by, set.rows.iter().map(|row| &row.labels[..])))
    };
    named.into_iter().zip(sets.into_iter().flatten()).map(of_each).collect()
}

/// The nanoseconds of a minute.
const MINUTE: i128 = 60_000_000_000;

impl<'t> AllocationValues<'t> {
    /// Of the whole trace, for these budgets of the kind. The trace is gone through once, or twice.
    pub fn new(trace: &'t Trace, of: AllocationKind, budgets: &[Budget]) -> AllocationValues<'t> {
        let conditions_of = |budget: &'_ Budget| match &budget.conditions {
            Conditions::Allocations(all) if budget.analysis == Analysis::Allocations(of) => Some(all.clone()),
            _ => None,
        };
        let own = budgets.iter().filter_map(|budget| Some((budget, conditions_of(budget)?)));
        let own: Vec<Own<'_>> = own.filter(|(_, conditions)| !conditions.is_empty()).collect();
        let owners = owners_of_ids(trace, of, &own);
        // For what only the end of a piece tells, changes are kept until the end: those of the pieces that such budgets want.
        let is_late = |conditions: &[Condition<Dimension>]| conditions.iter().any(|c| c.dimension.is_known_at_end(of));
        let (late, early): (Vec<Own<'_>>, Vec<Own<'_>>) =
            own.into_iter().partition(|(_, conditions)| is_late(conditions));
        let mut sets = Sets::default();
        let all = together(trace, of, Vec::new(), &early, &mut sets);
        if all.is_ok() && !late.is_empty() {
            let nothing = vec![Condition::fixed(Dimension::Process, "!*")];
            // Without an answer its budgets have no set, which is said of each.
            let _ = together(trace, of, nothing, &late, &mut sets);
        }
        let Sets { of_budgets, of_unknown } = sets;
        AllocationValues { of, all, of_budgets, of_unknown, owners, evidence: Evidence::new(trace, of.needs()) }
    }

    /// What a reader of them has to know.
    pub fn warnings(&self) -> &[Warning] {
        self.all.as_ref().map_or(&[], |set| &set.warnings)
    }

    /// Why no value of a budget is known.
    fn fault(&self, trace: &Trace, budget: &Budget, all: &AllocationSet) -> Option<String> {
        let (what, hooks) = ("the record of allocations", self.of.hooks());
        let fault = self.evidence.fault(what, hooks, all.window_times, &budget.conditions);
        // Heaps are recorded in a session of their own, so that of them it is a warning.
        let of_commit = || unrecorded_ends(trace, PROCESS_THINGS, COUNTS_ON).map(|(_, text)| text);
        let without_ends = || (self.of == AllocationKind::Commit).then(of_commit).flatten();
        let is_missing = |doubt: &&Warning| {
            doubt.is_of(&[FAR_FROM_RUNDOWN, ALLOCATIONS_MISSING, FREES_DIFFER, SNAPSHOT_IMPOSSIBLE])
                || doubt.is_of(&FREES_UNKNOWN)
        };
        let missing = || all.warnings.iter().find(is_missing).map(|doubt| doubt.text.clone());
        let is_guess = budget.measure == Measure::GrowthPerMinute && is_short(all);
        fault.or_else(without_ends).or_else(missing).or_else(|| is_guess.then(|| TOO_SHORT.to_owned()))
    }

    /// The value of a budget.
    pub fn value(&self, trace: &Trace, budget: &Budget, conditions: &[Condition<Dimension>]) -> Result<Value, String> {
        let all = self.all.as_ref().map_err(String::clone)?;
        if let Some(fault) = self.fault(trace, budget, all) {
            return Err(fault);
        }
        let selected = match self.of_budgets.get(&budget.name) {
            Some(own) => own,
            None if conditions.is_empty() => all,
            None => return Err("what meets its conditions is not known".to_owned()),
        };
        let of_stacks = |doubt: &&Warning| doubt.code == "stacks_incomplete";
        let asks_for_stacks = conditions.iter().any(|condition| condition.dimension.is_of_stacks());
        if asks_for_stacks && let Some(doubt) = selected.warnings.iter().find(|doubt| doubt.code == "no_stacks") {
            return Err(doubt.text.clone());
        }
        let names_code = conditions.iter().any(|condition| CODE.contains(&condition.dimension.name()));
        let lacks_images = || trace.missing(&STACK_EVENTS).iter().any(|need| need.keyword == IMAGES.keyword);
        if names_code && lacks_images() {
            let keyword = IMAGES.keyword;
            return Err(format!("the modules of stacks cannot be known: the keyword {keyword} was not recorded"));
        }
        if budget.measure != Measure::GrowthPerMinute
            && let Some(fault) = unknown_start(trace, selected)
        {
            return Err(fault);
        }
        let amount = |figures: &Figures| amount(budget.measure, figures, selected);
        let unknown = self.of_unknown.get(&budget.name).into_iter().flatten();
        let unowned = unknown.map(|(of, set)| {
            let amount = self::amount(budget.measure, &set.total, set).unsigned_abs();
            UnknownAmount { amount, ..*of }
        });
        let total_unknown = unknown_start(trace, all).filter(|_| budget.measure != Measure::GrowthPerMinute);
        // Blocks of heaps count from the start of the recording on: a sum over time.
        let is_since_start = self.of == AllocationKind::Heap && budget.measure != Measure::GrowthPerMinute;
        Ok(Value {
            total_unknown,
            span_ns: length(all.window_times).filter(|_| is_since_start),
            owners: Some(self.owners.get(&budget.name).cloned().unwrap_or_default()),
            pages: amount(&selected.total).unsigned_abs(),
            total: amount(&all.total).unsigned_abs(),
            dimensions: selected.dimensions.iter().map(|dimension| dimension.name().to_owned()).collect(),
            doubts: (selected.warnings.iter())
                .filter(|doubt| asks_for_stacks && of_stacks(doubt))
                .map(|doubt| doubt.text.clone())
                .chain(unchecked(all))
                .collect(),
            rows: (selected.rows.iter())
                .map(|row| Row { labels: row.labels.clone(), pages: amount(&row.figures) })
                .collect(),
            ..Value::default()
        }
        .with_unowned(unowned))
    }
}

/// Bytes of a measure; of growth those of a minute, 0 for what shrank.
fn amount(measure: Measure, figures: &Figures, set: &AllocationSet) -> i64 {
    let bytes = |sum: u128| i64::try_from(sum).unwrap_or(i64::MAX);
    match measure {
        Measure::AllocatedPeak => bytes(figures.peak.map_or(0, |(sum, _)| sum)),
        Measure::GrowthPerMinute => {
            let growth = figures.growth().max(0).saturating_mul(MINUTE) / set.recorded_length.0.max(1);
            i64::try_from(growth).unwrap_or(i64::MAX)
        }
        _ => bytes(figures.at_end().bytes),
    }
}

/// Dimensions whose labels have names of modules.
const CODE: [&str; 5] = [FUNCTION.name, MODULE.name, STACK.name, FREE_FUNCTION.name, FREE_STACK.name];

/// That nothing tells whether the records of commit are complete.
fn unchecked(all: &AllocationSet) -> Option<String> {
    let is_unchecked = all.of == AllocationKind::Commit && all.check.is_none();
    is_unchecked.then(|| "the trace has no end rundown to compare its commit with".to_owned())
}

/// What becomes of the memory of processes without a record of their end.
pub(super) const COUNTS_ON: &str = "what those that ended had counts on";

/// What grew in a part of a second says nothing of a minute.
const TOO_SHORT: &str =
    "the trace is shorter than a second: what grows in a minute would be a guess (growth_per_minute)";

fn is_short(set: &AllocationSet) -> bool {
    set.recorded_length.0 < MINUTE / 60
}

/// Why it is not known what was there when the trace began. Of blocks of heaps nobody ever tells: theirs count from then on.
fn unknown_start(trace: &Trace, set: &AllocationSet) -> Option<String> {
    let instead = if is_short(set) { "" } else { "; limit growth_per_minute instead" };
    match set.of {
        AllocationKind::Heap => None,
        AllocationKind::Pool => set
            .lacks_pool_snapshot()
            .then(|| format!("no pool snapshot tells what was allocated before the trace{instead}")),
        AllocationKind::Commit => {
            let unknown = set.rows.iter().filter(|row| !set.is_start_known(row));
            let mut all: Vec<usize> = unknown.filter_map(|row| row.instance).collect();
            all.sort_unstable();
            all.dedup();
            let first = trace.processes().instances.get(*all.first()?)?.label();
            let others = counted(all.len() as u64 - 1, "other", "others");
            let who = if all.len() > 1 { format!("{first} and {others}") } else { first.to_string() };
            Some(format!("nobody tells what {who} had committed before the trace{instead}"))
        }
    }
}
