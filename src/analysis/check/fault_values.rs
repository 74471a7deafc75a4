//! The values of budgets of hard faults.

use super::budget::{Budget, Conditions, Measure};
use super::id_owners::{IdOwners, owned_ids, owners};
use super::measured_value::{Row, UnknownAmount, Value, length};
use super::required_data::Evidence;
use super::unknown_owners::{Unknown, excludes_named, of_unknown, unknown};
use crate::analysis::faults::{Dimension, FaultQuery, FaultSet, HardFigures, HardKind, HardSet, WAITS_OVERLAP};
use crate::analysis::stacks::{ENDS_MISSING, PROCESS_DIFFERS, STARTS_MISSING};
use crate::dimensions::{Condition, Dimension as _, Label, NO_LABEL};
use crate::event::hooks::HARD_FAULT;
use crate::pattern::Pattern;
use crate::trace::Trace;
use crate::trace::analysis_needs::{FAULTS, FILES, HARD_FAULTS, PROCESSES, THREADS};
use crate::trace::trust::readiness::{NAMES_MISSING, Need};
use crate::trace::trust::warning::Warning;
use crate::units::counted;
use std::collections::BTreeMap;

/// The hard faults of a trace, or why they are not known, and those of each budget.
pub struct FaultValues<'t> {
    all: Result<FaultSet, String>,
    /// Those that meet the conditions of a budget, by its name.
    of_budgets: BTreeMap<String, HardSet>,
    /// Those of processes and files that no record names, which can meet them too, or do so only for that.
    of_unknown: BTreeMap<String, Vec<(UnknownAmount, HardSet)>>,
    /// Whose the threads are that conditions name.
    owners: BTreeMap<String, Vec<IdOwners>>,
    evidence: Evidence<'t>,
}

/// A budget's name, and its conditions.
type Own<'b> = (&'b String, &'b [Condition<Dimension>]);

/// Whose the threads are that conditions name. The trace is gone through once more where any do.
fn owners_of_threads(trace: &Trace, own: &[Own<'_>]) -> BTreeMap<String, Vec<IdOwners>> {
    let by = vec![Dimension::Process, Dimension::Thread];
    let named = own.iter().filter(|(_, conditions)| owned_ids(conditions) == by);
    let (names, conditions): (Vec<&String>, Vec<&[Condition<Dimension>]>) = named.copied().unzip();
    if names.is_empty() {
        return BTreeMap::new();
    }
    let nothing = vec![Condition::fixed(Dimension::Process, "!*")];
    let query = FaultQuery { group_by: by.clone(), conditions: nothing, ..FaultQuery::default() };
    // Without an answer there is no value either.
    let (_, sets) = FaultSet::answer_with(trace, &query, &conditions).ok().unzip();
    let all = names.into_iter().zip(conditions).zip(sets.into_iter().flatten());
    let of_each = |((name, conditions), set): ((&String, &[Condition<Dimension>]), HardSet)| {
        (name.clone(), owners(conditions, &by, set.rows.iter().map(|(labels, _)| &labels[..])))
    };
    all.map(of_each).collect()
}

/// The conditions again, for faults of files without a name, where they choose faults of page files: these are known by their names alone.
fn of_unnamed_files(conditions: &[Condition<Dimension>]) -> Option<Vec<Condition<Dimension>>> {
    let is_of_page_files = |condition: &&Condition<Dimension>| {
        condition.dimension == Dimension::Kind && condition.patterns.could_pass(&[HardKind::PageFile.name()])
    };
    let kind = conditions.iter().find(is_of_page_files)?;
    let others = conditions.iter().filter(|condition| condition.dimension != Dimension::Kind);
    // Those of a kind that is chosen count already.
    let rest = HardKind::ALL.map(HardKind::name).into_iter().filter(|name| !kind.patterns.could_pass(&[name]));
    let rest = Condition::fixed(Dimension::Kind, &rest.collect::<Vec<_>>().join(";"));
    Some(others.map(Condition::anew).chain([rest, unknown(Dimension::File)]).collect())
}

/// The conditions again, for faults of which nothing tells what lies there, where they choose kinds or modules, or exclude some: these can be of
/// any.
fn of_unknown_kinds(conditions: &[Condition<Dimension>]) -> Option<Unknown<Dimension>> {
    let unknown = HardKind::Unknown.name();
    let is_of_kinds =
        |condition: &&Condition<Dimension>| [Dimension::Kind, Dimension::Module].contains(&condition.dimension);
    let takes = |condition: &Condition<Dimension>| match condition.dimension {
        Dimension::Kind => condition.patterns.could_pass(&[unknown]),
        _ => condition.patterns.could_pass(&[NO_LABEL]),
    };
    let names_unknown = |pattern: &Pattern| pattern.text.eq_ignore_ascii_case(unknown) || pattern.text == NO_LABEL;
    // Page files are known by their names alone.
    let is_of_page_files = |condition: &Condition<Dimension>| {
        let others = HardKind::ALL.map(HardKind::name).into_iter().filter(|name| *name != HardKind::PageFile.name());
        condition.dimension == Dimension::Kind && !condition.patterns.could_pass(&others.collect::<Vec<_>>())
    };
    let asked: Vec<&Condition<Dimension>> = conditions.iter().filter(is_of_kinds).collect();
    // What is named is chosen, or excluded, as what it is.
    let names_it = asked.iter().any(|condition| condition.patterns.all().any(names_unknown));
    if asked.is_empty() || names_it || conditions.iter().any(is_of_page_files) {
        return None;
    }
    let is_excluded = asked.iter().all(|condition| takes(condition));
    if is_excluded && !asked.iter().any(|condition| excludes_named(condition.dimension.name(), &condition.patterns)) {
        return None;
    }
    let others = conditions.iter().filter(|condition| !is_of_kinds(condition)).map(Condition::anew);
    let conditions = others.chain([Condition::fixed(Dimension::Kind, unknown)]).collect();
    Some(Unknown { conditions, is_of_files: true, is_excluded })
}

impl<'t> FaultValues<'t> {
    /// Of all hard faults, and of those of these budgets. The trace is gone through once.
    pub fn new(trace: &'t Trace, budgets: &[Budget]) -> FaultValues<'t> {
        let own = budgets.iter().filter_map(|budget| match &budget.conditions {
            Conditions::Faults(conditions) if !conditions.is_empty() => Some((&budget.name, &conditions[..])),
            _ => None,
        });
        let own: Vec<Own<'_>> = own.collect();
        let owners = owners_of_threads(trace, &own);
        let query = FaultQuery { group_by: vec![Dimension::Process, Dimension::File], ..FaultQuery::default() };
        let unknown = own.iter().flat_map(|(name, conditions)| {
            let of_files = of_unnamed_files(conditions).map(|conditions| Unknown {
                conditions,
                is_of_files: true,
                is_excluded: false,
            });
            let all = of_unknown(conditions).into_iter().chain(of_files).chain(of_unknown_kinds(conditions));
            all.map(|of| ((*name).clone(), of))
        });
        let unknown: Vec<(String, Unknown<Dimension>)> = unknown.collect();
        let others = own.iter().map(|(_, conditions)| *conditions);
        let others: Vec<&[Condition<Dimension>]> =
            others.chain(unknown.iter().map(|(_, of)| &of.conditions[..])).collect();
        // None at all proves nothing unless they were asked for; disk requests alone are enough for the analysis.
        let lacks = |need: &&Need| need.keyword == HARD_FAULTS.keyword && !need.was_on;
        let (all, of_others) = match trace.missing(&FAULTS).iter().find(lacks) {
            Some(need) => (Err(format!("the keyword {} was not recorded", need.keyword)), Vec::new()),
            None => match FaultSet::answer_with(trace, &query, &others) {
                Ok((all, of_others)) => (Ok(all), of_others),
                Err(error) => (Err(error.brief()), Vec::new()),
            },
        };
        let mut of_others = of_others.into_iter();
        let of_budgets = own.into_iter().map(|(name, _)| name.clone()).zip(of_others.by_ref()).collect();
        let mut of_unknown: BTreeMap<String, Vec<(UnknownAmount, HardSet)>> = BTreeMap::new();
        for ((name, of), set) in unknown.into_iter().zip(of_others) {
            of_unknown.entry(name).or_default().push((of.amount(0), set));
        }
        let mut evidence = Evidence::new(trace, &FAULTS);
        let of_threads = all
            .iter()
            .flat_map(|set| &set.warnings)
            .find(|warning| warning.is_of(&[STARTS_MISSING[0], ENDS_MISSING[0], PROCESS_DIFFERS]));
        let of_names = all.iter().flat_map(|set| &set.warnings).find(|warning| warning.code == NAMES_MISSING);
        of_names.into_iter().for_each(|doubt| evidence.add_unknown(&FILES, "file names", doubt.text.clone()));
        of_threads.into_iter().for_each(|doubt| evidence.add_unknown(&PROCESSES, THREADS, doubt.text.clone()));
        FaultValues { all, of_budgets, of_unknown, owners, evidence }
    }

    /// What a reader of them has to know.
    pub fn warnings(&self) -> Vec<Warning> {
        self.all.iter().flat_map(|set| set.warnings_of_hard()).cloned().collect()
    }

    /// The value of a budget.
    pub fn value(&self, trace: &Trace, budget: &Budget, conditions: &[Condition<Dimension>]) -> Result<Value, String> {
        let all = self.all.as_ref().map_err(String::clone)?;
        if let Some(fault) = self.evidence.fault("the trace", &[HARD_FAULT], all.window_times, &budget.conditions) {
            return Err(fault);
        }
        if all.hard_before_start > 0 {
            let faults = counted(all.hard_before_start, "hard fault is", "hard faults are");
            return Err(format!("{faults} before the stamp of the log-file header, and in no number"));
        }
        let overlap = all.warnings.iter().find(|doubt| doubt.code == WAITS_OVERLAP);
        if let Some(doubt) = overlap.filter(|_| budget.measure == Measure::FaultWait) {
            return Err(doubt.text.clone());
        }
        // A process without any fault is there, and has none.
        let of_processes = conditions.iter().filter(|condition| condition.dimension == Dimension::Process);
        let meet_processes = || {
            for condition in of_processes {
                trace.processes().instances.iter().for_each(|process| _ = condition.patterns.matches(&process.label()));
            }
        };
        let doubts = Condition::met_without_rows(conditions, meet_processes);
        let (hard, rows) = match self.of_budgets.get(&budget.name) {
            Some(own) => (&own.hard, &own.rows),
            None => (&all.hard, &all.hard_rows),
        };
        let unknown = |hard: &HardFigures| {
            let faults = counted(hard.malformed, "hard fault has a begin", "hard faults have a begin");
            let is_unknown = hard.malformed > 0 && budget.measure == Measure::FaultWait;
            is_unknown.then(|| format!("{faults} that cannot be true: the wait is not known"))
        };
        if let Some(reason) = unknown(hard) {
            return Err(reason);
        }
        let amount = |figures: &HardFigures| match budget.measure {
            Measure::FaultWait => figures.waited_ns,
            _ => figures.events,
        };
        let row = |(labels, figures): &(Vec<Label>, HardFigures)| Row {
            labels: labels.clone(),
            pages: i64::try_from(amount(figures)).unwrap_or(i64::MAX),
        };
        let unknown_sets = self.of_unknown.get(&budget.name).into_iter().flatten();
        let unowned = unknown_sets.map(|(of, set)| UnknownAmount { amount: amount(&set.hard), ..*of });
        Ok(Value {
            pages: amount(hard),
            total: amount(&all.hard),
            total_unknown: unknown(&all.hard),
            dimensions: all.dimensions.iter().map(|dimension| dimension.name().to_owned()).collect(),
            rows: rows.iter().map(row).collect(),
            doubts: if hard.events == 0 { doubts } else { Vec::new() },
            span_ns: length(all.window_times),
            owners: Some(self.owners.get(&budget.name).cloned().unwrap_or_default()),
            ..Value::default()
        }
        .with_unowned(unowned))
    }
}
