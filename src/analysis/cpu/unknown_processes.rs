//! Threads of which no event tells the process, or not more of it than its id: how much time they had, and what of it conditions on
//! processes can miss.

use crate::analysis::cpu::delay_percentiles::DelaySummary;
use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::replay::thread_counts::ThreadCounts;
use crate::analysis::cpu::replay::thread_instances::{IDLE_INSTANCE, ThreadIndex};
use crate::analysis::cpu::switch_stacks::KeptStack;
use crate::analysis::cpu::thread_labels::Labels;
use crate::dimensions::process_dimensions::named_process_id;
use crate::dimensions::{Condition, ProcessFacet};
use crate::pattern::Pattern;
use crate::trace::Trace;
use crate::trace::analysis_needs::{CPU, PROCESSES, THREADS};
use crate::trace::trust::warning::Warning;

/// What threads did, ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MissedTimes {
    /// On the processors, without interrupts.
    pub cpu: u64,
    /// Ready delays.
    pub ready: u64,
    /// Waits.
    pub waited: u64,
}

impl MissedTimes {
    fn of<'c>(all: impl Iterator<Item = &'c ThreadCounts>) -> MissedTimes {
        let mut times = MissedTimes::default();
        let mut delays = Vec::new();
        for counted in all {
            times.cpu = times.cpu.saturating_add(counted.cpu);
            let waits = counted.waits.iter();
            times.waited = waits.fold(times.waited, |sum, (_, wait)| sum.saturating_add(wait.ticks));
            delays.push(&counted.delays);
        }
        times.ready = DelaySummary::new(&delays).all.total;
        times
    }
}

/// What can be of the processes that conditions choose, and does not meet them, because nobody knows whose it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MissedByConditions {
    /// Of threads of which no event tells the process.
    pub without_process: MissedTimes,
    /// Of threads of processes of which only the id is known.
    pub without_name: MissedTimes,
}

impl MissedByConditions {
    /// Of the query's conditions; nothing where none is on processes. After the rows: which stacks meet conditions is kept, and what is
    /// asked for first marks the user's patterns.
    pub(super) fn new<S: KeptStack>(
        scheduler: &Scheduler<'_, S>,
        labels: &Labels<'_>,
        query: &CpuQuery,
    ) -> MissedByConditions {
        // Read anew: what they match here is no answer to the user's patterns.
        let anew = |condition: &Condition<Dimension>| Condition::parse(&condition.text()).ok();
        let conditions: Vec<Condition<Dimension>> = query.conditions.iter().filter_map(anew).collect();
        if !conditions.iter().any(|condition| is_of_process(condition.dimension)) {
            return MissedByConditions::default();
        }
        let all = scheduler.counts.each();
        let times = |is_chosen: &dyn Fn(ThreadIndex) -> bool| {
            let chosen = all.iter().filter(|(of, counted)| {
                let others_hold = || labels.meets(&conditions, |dimension| !is_of_process(dimension), *of);
                of.instance != IDLE_INSTANCE
                    && is_chosen(of.instance)
                    && !counted.is_empty()
                    && others_hold()
                    && !labels.meets(&conditions, is_of_process, *of)
            });
            MissedTimes::of(chosen.map(|(_, counted)| *counted))
        };
        MissedByConditions {
            without_process: times(&|instance| labels.is_without_process(instance)),
            without_name: times(&|instance| labels.unnamed_process(instance).is_some_and(|id| can_be(id, &conditions))),
        }
    }
}

const fn is_of_process(dimension: Dimension) -> bool {
    matches!(dimension, Dimension::Process(_))
}

/// False where a condition is by process ids alone, and not by this one.
fn can_be(id: u32, conditions: &[Condition<Dimension>]) -> bool {
    let number = |pattern: &Pattern| named_process_id(&pattern.text)?.parse::<u32>().ok();
    conditions.iter().all(|condition| {
        let is_of_ids = matches!(condition.dimension, Dimension::Process(ProcessFacet::Process | ProcessFacet::Pid));
        let wanted = condition.patterns.wanted();
        !is_of_ids || wanted.iter().any(|pattern| number(pattern).is_none_or(|number| number == id))
    })
}

/// Less than one part in so many of the time of threads is not worth a word; a tenth makes numbers by process doubtful.
const FEW: u64 = 1000;
const MANY: u64 = 10;

/// How much time threads had of which nobody knows the process, or its name. Where no thread or no process was recorded, that is told; and a broken
/// chain of switches (not `is_whole`) names threads that never were.
pub(super) fn warnings<S: KeptStack>(
    trace: &Trace,
    scheduler: &Scheduler<'_, S>,
    labels: &Labels<'_>,
    is_whole: bool,
) -> Vec<Warning> {
    let (mut all, mut without_process, mut without_name) = (0u64, 0u64, 0u64);
    for (of, counted) in scheduler.counts.each().iter().filter(|(of, _)| of.instance != IDLE_INSTANCE) {
        all = all.saturating_add(counted.cpu);
        if labels.is_without_process(of.instance) {
            without_process = without_process.saturating_add(counted.cpu);
        } else if labels.unnamed_process(of.instance).is_some() {
            without_name = without_name.saturating_add(counted.cpu);
        }
    }
    let is_recorded = |is_of: fn(&str) -> bool| {
        let hooks = PROCESSES.things.iter().filter(|things| is_of(things.name));
        let mut hooks = hooks.flat_map(|things| things.described().chain(things.changes()));
        hooks.any(|hook| trace.survey().kernel_count(hook) > 0)
    };
    let told = [
        (without_process, "threads of which no event tells the process", is_recorded(|name| name == THREADS)),
        (without_name, "threads of processes of which no event tells the name", is_recorded(|name| name != THREADS)),
    ];
    let frequency = trace.etl().clock.frequency_hz.max(1);
    let warning = |(ticks, of, is_recorded): (u64, &str, bool)| {
        let is_at_least = |part: u64| ticks > 0 && u128::from(ticks) * u128::from(part) >= u128::from(all);
        let share = ticks as f64 * 100.0 / all.max(1) as f64;
        let milliseconds = ticks as f64 * 1e3 / frequency as f64;
        let text = format!(
            "{milliseconds:.3} ms ({share:.1} %) of the time of threads are of {of}: each process can have had more time than its row says"
        );
        (is_recorded && is_at_least(FEW)).then(|| match is_whole && is_at_least(MANY) {
            true => Warning::grave(CPU.name, "processes_unknown", text),
            false => Warning::note(CPU.name, "some_processes_unknown", text),
        })
    };
    told.into_iter().filter_map(warning).collect()
}
