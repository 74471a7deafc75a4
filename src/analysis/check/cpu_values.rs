//! The values of budgets of processor time.

use super::budget::{Budget, Measure};
use super::id_owners::{owned_ids, owners};
use super::measured_value::{Row, Value, length};
use super::required_data::Evidence;
use super::unknown_owners::rows_perhaps_excluded;
use super::unrecorded::NOT_READY;
use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::replay::processor::ProcessorUse;
use crate::analysis::cpu::{CpuRow, CpuUse, MissedTimes, ProcessorTimes};
use crate::analysis::stacks::PROCESS_DIFFERS;
use crate::dimensions::process_dimensions::{ProcessCode, ProcessFacts};
use crate::dimensions::{Condition, Dimension as _, Label, NO_LABEL, ProcessFacet};
use crate::event::hooks::{CSWITCH, READY_THREAD};
use crate::model::page_owner_key::KeyReading;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::analysis_needs::{CPU, PROCESSES, THREADS};
use crate::trace::trust::warning::{Warning, no_switches_of};
use crate::units::counted;

/// What threads did, or why it is not known.
pub struct CpuValues<'t> {
    all: Result<CpuUse, String>,
    evidence: Evidence<'t>,
}

fn answer(trace: &Trace, conditions: &[Condition<Dimension>], symbols: &SymbolFolders) -> Result<CpuUse, String> {
    // Rows by process are the sums of those by their threads.
    let owned = owned_ids(conditions);
    let group_by = if owned.is_empty() { vec![Dimension::PROCESS] } else { owned };
    let query = CpuQuery { group_by, conditions: conditions.to_vec(), symbols: symbols.clone(), ..CpuQuery::default() };
    CpuUse::answer(trace, &query).map_err(|error| error.brief())
}

impl<'t> CpuValues<'t> {
    /// Of all threads.
    pub fn new(trace: &'t Trace) -> CpuValues<'t> {
        let all = answer(trace, &[], &SymbolFolders::default());
        let mut evidence = Evidence::new(trace, &CPU);
        let of_threads = all.iter().flat_map(|set| &set.warnings).find(|warning| warning.code == PROCESS_DIFFERS);
        of_threads.into_iter().for_each(|doubt| evidence.add_unknown(&PROCESSES, THREADS, doubt.text.clone()));
        CpuValues { all, evidence }
    }

    /// What a reader of them has to know.
    pub fn warnings(&self) -> &[Warning] {
        self.all.as_ref().map_or(&[], |set| &set.warnings)
    }

    /// Why the trace does not tell what the budget measures, whatever its conditions choose.
    fn unmeasured(&self, trace: &Trace, budget: &Budget, all: &CpuUse) -> Option<String> {
        let fault = self.evidence.fault("the trace", &[CSWITCH], all.window_times, &budget.conditions);
        let early = || all.warnings.iter().find(|warning| warning.code == "records_before_start");
        let is_not_recorded = budget.measure == Measure::ReadyTime && trace.survey().kernel_count(READY_THREAD) == 0;
        fault
            .or_else(|| early().map(|early| early.text.clone()))
            .or_else(|| unknown_threads(all))
            .or_else(|| unknown_waits(all, budget.measure))
            .or_else(|| is_not_recorded.then(|| NOT_READY.to_owned()))
            .or_else(|| missing_records(all, budget.measure))
    }

    /// The value of a budget.
    pub fn value(&self, trace: &Trace, budget: &Budget, conditions: &[Condition<Dimension>]) -> Result<Value, String> {
        let all = self.all.as_ref().map_err(String::clone)?;
        if let Some(reason) = self.unmeasured(trace, budget, all) {
            return Err(reason);
        }
        match_processes(trace, conditions);
        let own = match conditions {
            [] => None,
            _ => Some(answer(trace, &processors_last(conditions), &budget.symbols)?),
        };
        let mut of_chosen = 0;
        let unmet = Condition::met_without_rows(&processors_last(conditions), || {
            of_chosen = unknown_ticks(chosen(all, conditions));
        });
        let of_stacks = |doubt: &&Warning| ["no_stacks", "stacks_incomplete"].contains(&doubt.code);
        let doubts: Vec<&Warning> = own.iter().flat_map(|own| &own.warnings).filter(of_stacks).collect();
        if let Some(none) = doubts.iter().find(|doubt| doubt.code == "no_stacks") {
            return Err(none.text.clone());
        }
        let counted = own.as_ref().unwrap_or(all);
        let is_of_idle = counted.is_of_idle;
        if is_of_idle && budget.measure != Measure::CpuTime && !counted.rows.is_empty() {
            return Err(IDLE_WAITS.to_owned());
        }
        let nanos = |set: &CpuUse| {
            set.ns(counted_rows(set, is_of_idle).fold(0u64, |sum, row| sum.saturating_add(ticks(row, budget.measure))))
        };
        let row = |row: &CpuRow| Row {
            labels: row.labels.clone(),
            pages: i64::try_from(counted.ns(ticks(row, budget.measure))).unwrap_or(i64::MAX),
        };
        let [unowned, unnamed] = unowned_ticks(counted, budget.measure);
        let unknown = |ticks| if budget.measure == Measure::CpuTime { all.ns(ticks) } else { 0 };
        let value = Value {
            pages: nanos(counted),
            total: nanos(all),
            dimensions: vec![Dimension::PROCESS.name().to_owned()],
            owners: Some(owners(conditions, &counted.dimensions, counted.rows.iter().map(|row| &row.labels[..]))),
            rows: counted_rows(counted, is_of_idle).map(row).collect(),
            doubts: (doubts.into_iter().map(|doubt| doubt.text.clone()))
                .chain(unmet.into_iter().filter(|_| counted.rows.is_empty()))
                .collect(),
            span_ns: length(all.window_times),
            unowned: counted.ns(unowned),
            unnamed: counted.ns(unnamed),
            unknown_ns: unknown(of_chosen),
            total_unknown_ns: unknown(unknown_ticks(&all.by_processor)),
            ..Value::default()
        };
        Ok(Value { excluded: rows_perhaps_excluded(&value, &budget.conditions), ..value })
    }
}

/// Why a limit of waits says nothing of the idle threads: it would always be met.
const IDLE_WAITS: &str = "only idle threads meet the conditions, and these never wait (measure cpu_ms has their time)";

/// The conditions with those on processors last: a thread is there also where it never ran on these.
fn processors_last(conditions: &[Condition<Dimension>]) -> Vec<Condition<Dimension>> {
    let (of_processors, others): (Vec<_>, Vec<_>) =
        conditions.iter().cloned().partition(|condition| condition.dimension == Dimension::Processor);
    [others, of_processors].concat()
}

/// Why records that are missing make a measure unknown.
fn missing_records(all: &CpuUse, measure: Measure) -> Option<String> {
    let is_of_ready = measure == Measure::ReadyTime;
    let is_fault = |warning: &&Warning| match warning.code {
        "window_empty" | "interrupts_unknown" | "switches_missing" => true,
        "wakeups_missing" | "thread_starts_missing" => is_of_ready,
        _ => false,
    };
    all.warnings.iter().find(is_fault).map(|fault| fault.text.clone())
}

/// A process that never ran is there, and ran for no time: its labels match where all conditions on processes hold.
fn match_processes(trace: &Trace, conditions: &[Condition<Dimension>]) {
    let (processes, reading) = (trace.processes(), KeyReading::ProcessId);
    let facts = ProcessFacts { processes, services: None, reading, nobody: NO_LABEL };
    for index in 0..processes.instances.len() as u32 {
        let holds = |condition: &Condition<Dimension>| match condition.dimension {
            // Services are not asked for: what runs has theirs.
            Dimension::Process(facet) if facet != ProcessFacet::Service => {
                condition.matches([&facet.label(ProcessCode::Instance(index), &facts)])
            }
            _ => true,
        };
        let _ = conditions.iter().all(holds);
    }
}

/// Why it is not known which threads ran. A processor without any switch may have been idle all the time: it alone makes no value
/// unknown that its time would not take above a limit.
fn unknown_threads(set: &CpuUse) -> Option<String> {
    if set.breaks > 0 {
        let switches = counted(set.breaks, "switch is", "switches are");
        let text = "from another thread than the one that ran, so the time before is of nobody who is known";
        return Some(format!("the chain of context switches is broken: {switches} {text}"));
    }
    let with_switches = || set.by_processor.iter().filter(|times| times.switches > 0);
    let all: u128 = with_switches().flat_map(|times| times.by_use.iter()).map(|ticks| u128::from(*ticks)).sum();
    let unknown = u128::from(unknown_ticks(with_switches()));
    (unknown * 2 > all).then(|| {
        let share = unknown as f64 * 100.0 / all as f64;
        format!("which threads ran is unknown for {share:.1} % of the time of the processors")
    })
}

/// Why it is not known how long threads waited: one that ran on a processor without context switches counts as waiting meanwhile, and
/// what it waited for from there on is in no record. Neither a lower nor an upper limit is left.
fn unknown_waits(set: &CpuUse, measure: Measure) -> Option<String> {
    let silent = (0..).zip(&set.by_processor).filter(|(_, times)| times.switches == 0).map(|(number, _)| number);
    let silent = no_switches_of(silent).filter(|_| measure != Measure::CpuTime)?;
    Some(format!("{silent}: threads that ran or stopped there have unknown times of waiting"))
}

/// The processors that conditions do not exclude: what ran on others is in no value.
fn chosen<'s>(set: &'s CpuUse, conditions: &[Condition<Dimension>]) -> impl Iterator<Item = &'s ProcessorTimes> {
    let of_processors = conditions.iter().filter(|condition| condition.dimension == Dimension::Processor);
    let of_processors: Vec<&Condition<Dimension>> = of_processors.collect();
    let fits = move |number: u32| of_processors.iter().all(|condition| condition.matches([&Label::number(number)]));
    (0u32..).zip(&set.by_processor).filter(move |(number, _)| fits(*number)).map(|(_, times)| times)
}

/// Time of processors in which it is not known which threads ran.
fn unknown_ticks<'p>(processors: impl IntoIterator<Item = &'p ProcessorTimes>) -> u64 {
    let unknown = processors.into_iter().filter_map(|times| times.by_use.get(ProcessorUse::Unknown as usize));
    unknown.fold(0u64, |sum, ticks| sum.saturating_add(*ticks))
}

/// Time of threads that can be of the processes that conditions choose, because nobody knows whose they are; and what of it is of processes
/// without a name. The idle threads are known.
fn unowned_ticks(set: &CpuUse, measure: Measure) -> [u64; 2] {
    let ticks = |times: MissedTimes| match measure {
        _ if set.is_of_idle && !by_process(set).is_empty() => 0,
        Measure::ReadyTime => times.ready,
        Measure::WaitTime => times.waited,
        _ => times.cpu,
    };
    let unnamed = ticks(set.missed.without_name);
    [ticks(set.missed.without_process).saturating_add(unnamed), unnamed]
}

/// The rows by process.
fn by_process(set: &CpuUse) -> &[CpuRow] {
    if set.dimensions.len() > 1 { &set.subtotals } else { &set.rows }
}

/// The rows without the idle threads, which run where nothing else does, unless nothing else was asked for: as `pfnset cpu` adds up. A
/// share of idle time is one of all time that is known, not of that of the other threads.
fn counted_rows(set: &CpuUse, is_of_idle: bool) -> impl Iterator<Item = &CpuRow> {
    by_process(set).iter().filter(move |row| is_of_idle || !row.is_idle)
}

/// Ticks of a row that a measure counts.
fn ticks(row: &CpuRow, measure: Measure) -> u64 {
    match measure {
        Measure::ReadyTime => row.delays.all.total,
        Measure::WaitTime => row.waited(),
        _ => row.cpu,
    }
}
