//! The value of each budget in a trace.

use crate::analysis::check::allocation_values::{AllocationValues, COUNTS_ON};
use crate::analysis::check::budget::{Analysis, Budget, Conditions, Measure};
use crate::analysis::check::cpu_values::CpuValues;
use crate::analysis::check::fault_values::FaultValues;
use crate::analysis::check::measured_value::UnknownAmount;
pub use crate::analysis::check::measured_value::{Row, Value};
use crate::analysis::check::reference_values::{PAGES, ReferenceValues};
use crate::analysis::check::required_data::{DRIVERS, Evidence};
use crate::analysis::check::unknown_heaps::{none_by_heaps, of_heaps};
use crate::analysis::check::unknown_owners::of_unknown;
use crate::analysis::check::unknown_services::unknown_services;
use crate::analysis::check::unnamed_categories::of_unnamed;
use crate::analysis::check::unrecorded::{
    telling_categories, unrecorded, unrecorded_ends, unrecorded_interrupts, unrecorded_starts, unrecorded_wakeups,
};
use crate::analysis::refset::ReferenceSet;
use crate::analysis::resident::count_pages;
use crate::analysis::resident::known_things::{
    ADDRESSES_MISSING, DRIVERS_UNKNOWN, FILES_UNNAMED, HEAPS_AFTER_PAGES, HEAPS_MISSING, SOME_HEAPS_MISSING,
    SOME_UNNAMED,
};
use crate::analysis::resident::page_dimensions::{Dimension as ResidentDimension, DimensionCode};
use crate::analysis::resident::query::{SnapshotChoice, stacks_for};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::warnings;
use crate::analysis::table::{Condition, Dimension as _};
use crate::code_page::CodePage;
use crate::load::allocation_kinds::AllocationKind;
use crate::model::snapshot::Snapshot;
use crate::trace::analysis_needs::{
    FILES, HEAPS, IMAGES, PROCESS_THINGS, PROCESSES, REFERENCE_SET, REGIONS, RESIDENT_SET, Recorded, THREADS,
    VIEW_THINGS, VIEWS,
};
use crate::trace::machine::Machine;
use crate::trace::trust::readiness::NAMES_MISSING;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::trace::{Parts, Trace};
use crate::units::counted;
use std::collections::BTreeMap;

/// The values of a trace.
#[derive(Debug, Clone, Default)]
pub struct TraceValues {
    /// The values in the order of the budgets, or why one is not known.
    pub values: Vec<Result<Value, String>>,
    /// Doubts about the trace, most important first.
    pub warnings: Warnings,
    /// What it was recorded on; of a baseline of several runs each that differs.
    pub(crate) machines: Vec<Machine>,
    /// The code page by which names of processes were read, where some needed one.
    pub(crate) code_page: Option<CodePage>,
}

impl TraceValues {
    /// Measures a trace.
    pub fn answer(trace: &Trace, budgets: &[Budget]) -> TraceValues {
        let has = |analysis| budgets.iter().any(|budget| budget.analysis == analysis);
        let mut all = TraceValues::default();
        if has(Analysis::Resident) {
            let parts = if has(Analysis::Reference) { ReferenceSet::PARTS } else { Parts::NONE };
            trace.gather(SnapshotContext::PARTS | parts);
        }
        let mut resident = has(Analysis::Resident).then(|| ResidentValues::new(trace, &mut all));
        // Before anything is matched: budgets of one kind are answered together.
        budgets.iter().for_each(|budget| budget.conditions.forget());
        let faults = has(Analysis::Faults).then(|| FaultValues::new(trace, budgets));
        if let Some(faults) = &faults {
            all.warnings.add(but_not_recorded(&faults.warnings()));
        }
        let processors = has(Analysis::Cpu).then(|| CpuValues::new(trace));
        if let Some(processors) = &processors {
            all.warnings.add(but_not_recorded(processors.warnings()));
        }
        let kinds = AllocationKind::ALL.into_iter().filter(|kind| has(Analysis::Allocations(*kind)));
        let allocations: Vec<AllocationValues<'_>> =
            kinds.map(|kind| AllocationValues::new(trace, kind, budgets)).collect();
        allocations.iter().for_each(|values| all.warnings.add(but_not_recorded(values.warnings())));
        let mut reference = has(Analysis::Reference).then(|| ReferenceValues::new(trace, &mut all.warnings));
        let wrong_times = trace.trust().wrong_times();
        for budget in budgets {
            let value = match &budget.conditions {
                Conditions::Resident(conditions) => resident.as_mut().map(|values| values.value(budget, conditions)),
                Conditions::Reference(conditions) => {
                    reference.as_mut().map(|values| values.value(trace, budget, conditions))
                }
                Conditions::Faults(conditions) => faults.as_ref().map(|values| values.value(trace, budget, conditions)),
                Conditions::Cpu(conditions) => {
                    processors.as_ref().map(|values| values.value(trace, budget, conditions))
                }
                Conditions::Allocations(conditions) => {
                    let own = allocations.iter().find(|values| Analysis::Allocations(values.of) == budget.analysis);
                    own.map(|values| values.value(trace, budget, conditions))
                }
            };
            let mut value = value.unwrap_or_else(|| Err(String::new()));
            let wrong_times = wrong_times.clone().filter(|_| budget.measure.is_of_time());
            let of_services = || unknown_services(trace, &budget.conditions).filter(|_| value.is_ok());
            if let Some(reason) = wrong_times.or_else(of_services) {
                value = Err(reason);
            }
            if let Ok(value) = &mut value {
                value.note_of_trace(trace, budget);
                value.unmatched = budget.conditions.unmatched();
                value.has_no_match = budget.conditions.has_no_match();
                if value.pages == 0 && value.unmatched.is_empty() {
                    value.doubts.extend(budget.conditions.unmet_together());
                }
            }
            all.values.push(value);
        }
        // Whether the file can be trusted does not depend on the budgets: also one of which nothing was measured can have losses.
        all.warnings.add(trace.trust().warnings());
        all.machines.push(Machine::of(trace));
        TraceValues { code_page: trace.code_page_of_names(), ..all }
    }

    /// The same as what growth counts from: who reads why a value is not known sees that it is no fault of the trace which is judged.
    pub(crate) fn of_baseline(mut self) -> TraceValues {
        let told = |reason| format!("of the baseline: {reason}");
        self.values = self.values.into_iter().map(|value| value.map_err(told)).collect();
        self
    }
}

impl Value {
    /// Says how the trace was read, and what was not recorded, where pages or times count elsewhere for that.
    fn note_of_trace(&mut self, trace: &Trace, budget: &Budget) {
        self.code_page = Some(trace.etl().code_page);
        let unrecorded = match (budget.analysis, budget.measure) {
            (Analysis::Resident, _) => unrecorded(trace, &RESIDENT_SET, &budget.conditions),
            (Analysis::Reference, _) => unrecorded(trace, &REFERENCE_SET, &budget.conditions),
            (Analysis::Cpu, Measure::CpuTime) => unrecorded_interrupts(trace),
            (Analysis::Cpu, Measure::WaitTime) => unrecorded_wakeups(trace),
            (Analysis::Cpu, Measure::ReadyTime) => unrecorded_starts(trace),
            (Analysis::Allocations(AllocationKind::Heap), _) => {
                unrecorded_ends(trace, PROCESS_THINGS, COUNTS_ON).into_iter().collect()
            }
            _ => return,
        };
        self.rows_without = match budget.analysis {
            Analysis::Resident => Some(telling_categories(trace, &RESIDENT_SET)),
            Analysis::Reference => Some(telling_categories(trace, &REFERENCE_SET)),
            _ => None,
        };
        let (keywords, texts): (Vec<&str>, Vec<String>) = unrecorded.into_iter().unzip();
        self.unrecorded = Some(keywords.into_iter().map(str::to_owned).collect());
        self.doubts.extend(texts);
    }

    /// Why it is not to be compared with an earlier one: other keywords were recorded.
    pub(crate) fn differs_from(&self, earlier: &Value) -> Option<String> {
        let (now, before) = (self.unrecorded.as_ref()?, earlier.unrecorded.as_ref()?);
        let only = |one: &[String], other: &[String]| one.iter().find(|keyword| !other.contains(keyword)).cloned();
        let told = |keyword: String, has: &str, has_not: &str| {
            format!(
                "{has} was recorded with the keyword {keyword}, {has_not} without: what it tells apart counts elsewhere"
            )
        };
        let gone = only(now, before).map(|keyword| told(keyword, "the baseline", "this trace"));
        gone.or_else(|| only(before, now).map(|keyword| told(keyword, "this trace", "the baseline")))
    }
}

/// Without what was not recorded: a budget that needs it says so itself.
fn but_not_recorded(warnings: &[Warning]) -> Warnings {
    let is_told = |warning: &&Warning| !warning.is_of(&["not_recorded", "heaps_not_recorded"]);
    warnings.iter().filter(is_told).cloned().collect()
}

/// The things of which a warning says that they are not known.
fn unknown_things(warning: &Warning) -> Vec<(&'static Recorded, &'static str, String)> {
    let all = unknown_by(warning.code);
    all.into_iter().map(|(recorded, things)| (recorded, things, warning.text.clone())).collect()
}

/// The same of a warning with this code.
pub(super) fn unknown_by(code: &str) -> Vec<(&'static Recorded, &'static str)> {
    match code {
        FILES_UNNAMED | NAMES_MISSING => vec![(&FILES, "file names")],
        HEAPS_MISSING | HEAPS_AFTER_PAGES => vec![(&HEAPS, "heap ranges")],
        DRIVERS_UNKNOWN => vec![(&IMAGES, DRIVERS)],
        // All that only the address of a private page tells.
        ADDRESSES_MISSING => {
            vec![(&REGIONS, "regions"), (&HEAPS, "heap ranges"), (&VIEWS, VIEW_THINGS), (&PROCESSES, THREADS)]
        }
        _ => Vec::new(),
    }
}

/// What rows of the resident set are grouped by.
const PAGES_BY: [ResidentDimension; 2] = [ResidentDimension::PROCESS, ResidentDimension::Category];

/// Most conditions whose pages are counted together with those of other budgets.
const MOST_CONDITIONS: usize = ResidentDimension::MOST - PAGES_BY.len();

/// Pages of groups, by the codes of their dimensions.
type PagesByCodes = BTreeMap<Vec<DimensionCode>, u64>;

/// The resident set of a trace, or why it has none.
struct ResidentValues<'t> {
    trace: &'t Trace,
    snapshot: Result<&'t Snapshot, String>,
    /// Things that are not known, and why.
    unknown: Vec<(&'static Recorded, &'static str, String)>,
    /// True where so many files have no name that categories which names tell are doubtful.
    lacks_names: bool,
    /// True where some processes have no heap range.
    lacks_heaps: bool,
    /// Why the pages cannot be those of the machine.
    far_from_meminfo: Option<String>,
    /// Without stacks, which each budget can have others of.
    context: Option<SnapshotContext<'t>>,
    /// All pages, by the dimensions that budgets have conditions on.
    counted: BTreeMap<Vec<ResidentDimension>, PagesByCodes>,
}

impl<'t> ResidentValues<'t> {
    fn new(trace: &'t Trace, all: &mut TraceValues) -> ResidentValues<'t> {
        let (mut unknown, mut lacks_names, mut lacks_heaps, mut far_from_meminfo) = (Vec::new(), false, false, None);
        let snapshot = trace.need_snapshots().map_err(|error| error.brief()).and_then(|snapshots| {
            let indices = SnapshotChoice::Last.indices(snapshots).unwrap_or_default();
            let (warnings, is_far) = match indices.first() {
                Some(index) => warnings::with_lists(trace, *index),
                None => (warnings::of_snapshots(trace, &indices), None),
            };
            far_from_meminfo = is_far;
            let has = |code| warnings.iter().any(|warning| warning.code == code);
            (lacks_names, lacks_heaps) = (has(SOME_UNNAMED), has(SOME_HEAPS_MISSING));
            unknown.extend(warnings.iter().flat_map(unknown_things));
            all.warnings.add(but_not_recorded(&warnings));
            let last = indices.first().and_then(|index| snapshots.get(*index));
            last.ok_or_else(|| "it has no whole snapshot".to_owned())
        });
        let counted = BTreeMap::new();
        ResidentValues { trace, snapshot, unknown, lacks_names, lacks_heaps, far_from_meminfo, context: None, counted }
    }

    fn value(&mut self, budget: &Budget, conditions: &[Condition<ResidentDimension>]) -> Result<Value, String> {
        let (trace, snapshot) = (self.trace, *self.snapshot.as_ref().map_err(String::clone)?);
        let mut evidence = Evidence::new(trace, &RESIDENT_SET);
        self.unknown
            .iter()
            .for_each(|(recorded, things, reason)| evidence.add_unknown(recorded, things, reason.clone()));
        let time = (trace.time(snapshot.first.time), trace.time(snapshot.last_time));
        if let Some(fault) = evidence.fault("the page sequence", &PAGES, time, &budget.conditions) {
            return Err(fault);
        }
        // What is left of a later one is no snapshot; the one before it is of another moment.
        let later = trace.snapshots().iter().filter(|other| other.first > snapshot.first);
        let times = later.map(|other| (trace.time(other.first.time), trace.time(other.last_time)));
        let mut faults = times.filter_map(|time| {
            evidence.fault("a page sequence after the last whole one", &PAGES, time, &budget.conditions)
        });
        if let Some(fault) = faults.next() {
            return Err(fault);
        }
        if trace.page_sequences().is_broken(snapshot, &trace.etl().clock) {
            return Err(
                "the page sequence is broken in two: one snapshot goes on where another ends, and neither is whole"
                    .to_owned(),
            );
        }
        if let Some(damage) = damaged_pages(trace, snapshot).or_else(|| self.far_from_meminfo.clone()) {
            return Err(damage);
        }
        let last = trace.snapshots().iter().position(|other| other.first == snapshot.first);
        if let Some(fault) = self.pool_fault(budget, conditions) {
            return Err(fault);
        }
        if let Some(unknown) = warnings::of_untold(trace, last.as_slice(), &[], conditions).next() {
            return Err(unknown.text);
        }
        let stacks = stacks_for(trace, &PAGES_BY, conditions, &budget.symbols);
        let doubts: Vec<Warning> = stacks.iter().flat_map(warnings::of_stacks).collect();
        if let Some(none) = doubts.iter().find(|doubt| doubt.code == "no_stacks") {
            return Err(none.text.clone());
        }
        let doubts: Vec<String> = doubts.into_iter().map(|doubt| doubt.text).collect();
        if stacks.is_some() || conditions.len() > MOST_CONDITIONS {
            let context = SnapshotContext::with_stacks(trace, snapshot, stacks.as_ref());
            let pages = count_pages(trace, &context, snapshot, &PAGES_BY, conditions);
            return Ok(of_pages(&context, pages, snapshot.pages, doubts));
        }
        Ok(self.counted_value(snapshot, conditions, doubts))
    }

    /// The value from the pages that are counted for all budgets with conditions on the same dimensions.
    fn counted_value(
        &mut self,
        snapshot: &'t Snapshot,
        conditions: &[Condition<ResidentDimension>],
        doubts: Vec<String>,
    ) -> Value {
        let trace = self.trace;
        let unnamed = of_unnamed(conditions).filter(|all| self.lacks_names && all.len() <= MOST_CONDITIONS);
        let context = self.context.get_or_insert_with(|| SnapshotContext::new(trace, snapshot));
        let mut dimensions = PAGES_BY.to_vec();
        // Of the same dimensions as the conditions, and then by file.
        let counted_by = unnamed.as_deref().unwrap_or(conditions);
        for dimension in counted_by.iter().map(|condition| condition.dimension) {
            if !dimensions.contains(&dimension) {
                dimensions.push(dimension);
            }
        }
        let all = self.counted.entry(dimensions.clone());
        let all = &*all.or_insert_with_key(|by| count_pages(trace, context, snapshot, by, &[]));
        let of = |conditions: &[_]| selected(context, (&dimensions, all), conditions);
        let pages = of(conditions);
        let pages_of = |conditions: &[_]| of(conditions).values().sum::<u64>();
        let unowned: Vec<UnknownAmount> =
            of_unknown(conditions).iter().map(|of| of.amount(pages_of(&of.conditions))).collect();
        let movable = of_heaps(conditions).filter(|_| self.lacks_heaps);
        let of_heaps = movable.map_or(0, |of| {
            let pages = without_heaps(context, selected(context, (&dimensions, all), &of.conditions));
            if of.is_more { pages } else { -pages }
        });
        let perhaps = unnamed.map_or(0, |conditions| pages_of(&conditions));
        let mut value = of_pages(context, pages, snapshot.pages, doubts).with_unowned(unowned);
        // No limit is looked at where nothing meets the conditions.
        value.doubts.extend(none_by_heaps(of_heaps).filter(|_| value.pages == 0));
        Value { perhaps: value.perhaps.saturating_add(perhaps), of_heaps, ..value }
    }
}

impl ResidentValues<'_> {
    /// Why it is not known which tags the pages of the pool have: records of the pool were lost. What they do not tell is in
    /// [`warnings::of_untold`].
    fn pool_fault(&self, budget: &Budget, conditions: &[Condition<ResidentDimension>]) -> Option<String> {
        let pool = AllocationKind::Pool;
        let survey = self.trace.survey();
        let is_of_tags = conditions.iter().any(|condition| condition.dimension == ResidentDimension::PoolTag);
        if !is_of_tags || !pool.hooks().iter().any(|hook| survey.kernel_count(*hook) > 0) {
            return None;
        }
        let (clock, last) = (&self.trace.etl().clock, survey.last()?);
        let time = (clock.nanos(clock.origin), clock.nanos(last));
        let evidence = Evidence::new(self.trace, pool.needs());
        evidence.fault("the record of the pool", pool.hooks(), time, &budget.conditions)
    }
}

/// Why page records of a snapshot are not those of its pages.
fn damaged_pages(trace: &Trace, snapshot: &Snapshot) -> Option<String> {
    let sequences = trace.page_sequences();
    let impossible = || {
        let records = counted(sequences.impossible, "page record names a PFN", "page records name PFNs");
        (sequences.impossible > 0).then(|| format!("{records} that no machine has: the page sequence is damaged"))
    };
    // Which of the two records is true, nobody knows; both count.
    let twice = || {
        let pages = counted(snapshot.duplicates, "PFN occurs", "PFNs occur");
        (snapshot.duplicates > 0).then(|| format!("{pages} twice in the page sequence: their pages count twice"))
    };
    sequences.fewer(snapshot).map(|fewer| fewer.text).or_else(impossible).or_else(twice)
}

/// Those pages that meet the conditions, of pages by these dimensions, which begin with [`PAGES_BY`].
fn selected(
    context: &SnapshotContext<'_>,
    (by, all): (&[ResidentDimension], &PagesByCodes),
    conditions: &[Condition<ResidentDimension>],
) -> PagesByCodes {
    let place = |condition: &Condition<ResidentDimension>| by.iter().position(|of| *of == condition.dimension);
    let places: Vec<usize> = conditions.iter().map(|condition| place(condition).unwrap_or(usize::MAX)).collect();
    let mut known: Vec<BTreeMap<DimensionCode, bool>> = vec![BTreeMap::new(); conditions.len()];
    let mut passing = BTreeMap::new();
    for (codes, pages) in all {
        let passes = conditions.iter().zip(&places).zip(&mut known).all(|((condition, place), known)| {
            let code = codes.get(*place).copied().unwrap_or(DimensionCode::None);
            *known.entry(code).or_insert_with(|| condition.dimension.meets(context, code, condition))
        });
        if passes {
            *passing.entry(codes.iter().take(PAGES_BY.len()).copied().collect()).or_default() += pages;
        }
    }
    passing
}

/// How many of the pages are of programs that have no heap range.
fn without_heaps(context: &SnapshotContext<'_>, pages: PagesByCodes) -> i64 {
    let is_without = |codes: &[DimensionCode]| match codes.first() {
        Some(DimensionCode::Number(index)) => {
            u32::try_from(*index).is_ok_and(|index| context.heaps.without.contains(&index))
        }
        _ => false,
    };
    let sum: u64 = pages.iter().filter(|(codes, _)| is_without(codes)).map(|(_, pages)| pages).sum();
    i64::try_from(sum).unwrap_or(i64::MAX)
}

fn of_pages(context: &SnapshotContext<'_>, pages: PagesByCodes, total: u64, doubts: Vec<String>) -> Value {
    let row = |(codes, pages): (Vec<DimensionCode>, u64)| Row {
        labels: (PAGES_BY.iter().zip(codes)).map(|(dimension, code)| dimension.label(context, code)).collect(),
        pages: i64::try_from(pages).unwrap_or(i64::MAX),
    };
    Value {
        pages: pages.values().sum(),
        total,
        dimensions: PAGES_BY.map(|dimension| dimension.name().to_owned()).to_vec(),
        rows: pages.into_iter().map(row).collect(),
        doubts,
        ..Value::default()
    }
}
