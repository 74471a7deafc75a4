//! Rows: counts grouped by the user's dimensions.

use crate::analysis::cpu::delay_percentiles::{DelaySummary, Delays, ReadyKind};
use crate::analysis::cpu::query::{CpuOrder, CpuQuery, Dimension};
use crate::analysis::cpu::replay::processor::Processor;
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::replay::thread_counts::{CountedOf, ThreadCounts, WaitTime};
use crate::analysis::cpu::replay::thread_instances::{
    IDLE_INSTANCE, State, ThreadIndex, ThreadInstance, UNKNOWN_INSTANCE,
};
use crate::analysis::cpu::switch_stacks::{KeptStack, StackShares, SwitchStacks};
use crate::analysis::cpu::thread_labels::Labels;
use crate::analysis::table::group::natural;
use crate::dimensions::{Condition, Label};
use crate::units::Ticks;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Counts of a group; times in ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuRow {
    /// Labels in order of the dimensions.
    pub labels: Vec<Label>,
    /// True for the idle threads alone: sums of rows with other threads leave them out.
    pub(crate) is_idle: bool,
    /// True when its switches are those to idle threads too, though its time is that of others alone.
    pub(crate) counts_idle_switches: bool,
    /// The thread's id, if rows are threads.
    pub thread_id: Option<u32>,
    /// On the processors, without interrupts.
    pub cpu: u64,
    /// The same with interrupts.
    pub with_interrupts: u64,
    /// Switch-ins; of a processor all switches.
    pub switches: u64,
    /// Ready delays.
    pub delays: DelaySummary,
    /// Switch-ins whose ready time is not known.
    pub unknown_ready: u64,
    /// Delays that had not ended when the window ended.
    pub unfinished: u64,
    /// Ready records that changed nothing.
    pub redundant: u64,
    /// Waits by reason.
    pub waits: BTreeMap<String, WaitTime>,
    /// What the thread did, if rows are threads.
    pub states: Option<StateTimes>,
}

impl CpuRow {
    /// Time of all waits, ticks.
    pub(crate) fn waited(&self) -> u64 {
        self.waits.values().fold(0, |sum, wait| sum.saturating_add(wait.ticks))
    }
}

/// What a thread did in the window, ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateTimes {
    /// It ran, with the interrupts that it met.
    pub running: u64,
    /// It was ready.
    pub ready: u64,
    /// It waited.
    pub waiting: u64,
    /// Unknown, because no record says it.
    pub unknown: u64,
    /// It had not started or had ended.
    pub not_alive: u64,
}

/// The parts of a row.
#[derive(Default)]
struct Parts<'c> {
    row: CpuRow,
    delays: Vec<&'c Delays>,
    profile: Option<[u64; 4]>,
    /// Instead of those that were added.
    all_switches: Option<u64>,
    /// Of the idle threads: time without interrupts, and with them.
    idle: (u64, u64),
    has_threads: bool,
    /// Switches to others than the idle threads.
    of_threads: u64,
}

impl<'c> Parts<'c> {
    fn add(&mut self, counted: &'c ThreadCounts, is_idle: bool) {
        let row = &mut self.row;
        row.switches += counted.switches;
        if is_idle {
            self.idle.0 = self.idle.0.saturating_add(counted.cpu);
            self.idle.1 = self.idle.1.saturating_add(counted.with_interrupts);
            return;
        }
        self.has_threads = true;
        self.of_threads += counted.switches;
        row.cpu = row.cpu.saturating_add(counted.cpu);
        row.with_interrupts = row.with_interrupts.saturating_add(counted.with_interrupts);
        row.unknown_ready += counted.unknown_ready;
        row.unfinished += counted.unfinished;
        row.redundant += counted.redundant;
        self.delays.push(&counted.delays);
        for (reason, time) in &counted.waits {
            *row.waits.entry(reason.name().into_owned()).or_default() += *time;
        }
    }
}

/// True when the rows show what each thread did: all of it, not a part of its switch-ins, nor what it did on some processors.
fn has_states(dimensions: &[Dimension], query: &CpuQuery) -> bool {
    dimensions.contains(&Dimension::Thread) && !query.needs_processors() && !query.wants_stacks()
}

/// True when the conditions on threads leave the idle ones alone: then the time of the idle threads is what was asked for.
pub fn is_of_idle<S>(scheduler: &Scheduler<'_, S>, labels: &Labels<'_>, query: &CpuQuery) -> bool
where
    S: KeptStack,
{
    query.conditions.iter().any(|condition| condition.dimension != Dimension::Processor)
        && scheduler.counts.each().into_iter().all(|(of, counted)| {
            of.instance == IDLE_INSTANCE || counted.is_empty() || !labels.meets(&query.conditions, |_| true, of)
        })
}

/// Processors that the conditions choose as a whole, with their numbers: one that no thread is known of is one too. None where
/// a condition is on something else.
fn chosen_processors<'p>(processors: &'p [Processor], query: &CpuQuery) -> impl Iterator<Item = (u32, &'p Processor)> {
    let fits = |number: u32| {
        let label = Label::number(number);
        query.conditions.iter().all(|of| of.dimension == Dimension::Processor && of.matches([&label]))
    };
    (0u32..).zip(processors).filter(move |(number, _)| fits(*number))
}

/// Of the processors that conditions choose as a whole those without a context switch: no thread is known of them.
pub fn chosen_silent(processors: &[Processor], query: &CpuQuery) -> Vec<u32> {
    let chosen = chosen_processors(processors, query).filter(|_| !query.conditions.is_empty());
    chosen.filter(|(_, processor)| !processor.has_switches()).map(|(number, _)| number).collect()
}

/// The rows of some dimensions, in the query's order.
pub fn rows<S: KeptStack>(
    scheduler: &Scheduler<'_, S>,
    processors: &[Processor],
    labels: &Labels<'_>,
    dimensions: &[Dimension],
    query: &CpuQuery,
) -> Vec<CpuRow> {
    let of_processors = dimensions == [Dimension::Processor];
    let fits = |of: CountedOf| labels.meets(&query.conditions, |_| true, of);
    let mut found: HashMap<Vec<Label>, Parts<'_>> = HashMap::new();
    let names = |of: CountedOf| dimensions.iter().map(|dimension| labels.label(*dimension, of)).collect::<Vec<_>>();
    let of_threads = dimensions.contains(&Dimension::Thread);
    let thread_id = |instance| of_threads.then(|| labels.thread_id(instance));
    if of_processors {
        for (number, processor) in chosen_processors(processors, query) {
            // All switches of the processor, not only those to threads that are counted.
            found.entry(vec![Label::number(number)]).or_default().all_switches = Some(processor.switches);
        }
    }
    for (of, counted) in scheduler.counts.each() {
        if !counted.is_empty() && fits(of) {
            let parts = found.entry(names(of)).or_default();
            parts.row.thread_id = thread_id(of.instance);
            parts.add(counted, of.instance == IDLE_INSTANCE);
        }
    }
    if has_states(dimensions, query) {
        let conditions_hold = |id: &ThreadIndex| fits(CountedOf::thread(*id, 0));
        let instances =
            (0..).zip(&scheduler.instances.all).filter(|(id, _)| ![IDLE_INSTANCE, UNKNOWN_INSTANCE].contains(id));
        for (id, instance) in instances.filter(|(id, instance)| was_alive(instance, scheduler) && conditions_hold(id)) {
            let parts = found.entry(names(CountedOf::thread(id, 0))).or_default();
            parts.row.thread_id = thread_id(id);
            let sum = parts.profile.get_or_insert_default();
            sum.iter_mut().zip(instance.profile).for_each(|(sum, ticks)| *sum = sum.saturating_add(ticks));
        }
    }
    let window = scheduler.range.ticks();
    // A processor is not used by its idle thread.
    let shows_idle = !of_processors || is_of_idle(scheduler, labels, query);
    let finish = |(labels, parts): (Vec<Label>, Parts<'_>)| {
        let Parts { mut row, delays, profile, all_switches, idle, has_threads, of_threads } = parts;
        row.is_idle = shows_idle && !has_threads && profile.is_none();
        if row.is_idle {
            (row.cpu, row.with_interrupts) = idle;
        }
        row.switches = all_switches.unwrap_or(row.switches);
        row.counts_idle_switches = !row.is_idle && row.switches > of_threads;
        row.delays = DelaySummary::new(&delays);
        row.states = profile.map(|profile| states(profile, window));
        row.labels = labels;
        row
    };
    let mut rows: Vec<CpuRow> = found.into_par_iter().map(finish).collect();
    sort(&mut rows, query.order);
    rows
}

/// Of how many switch-ins the stacks are known, of those that meet the conditions on other facts.
pub fn stacks_known<S: KeptStack>(
    scheduler: &Scheduler<'_, S>,
    labels: &Labels<'_>,
    stacks: &SwitchStacks,
    query: &CpuQuery,
) -> StackShares {
    // Read anew: what they match here is no answer to the user's patterns.
    let others: Vec<Condition<Dimension>> = (query.conditions.iter())
        .filter(|condition| !condition.dimension.is_of_stacks())
        .filter_map(|condition| Condition::parse(&condition.text()).ok())
        .collect();
    let all = scheduler.counts.each();
    let threads = all.iter().filter(|(of, _)| of.instance != IDLE_INSTANCE && labels.meets(&others, |_| true, *of));
    let counts = |(of, counted): &(CountedOf, &ThreadCounts)| {
        (of.stacks, counted.switches, counted.delays.count_of(ReadyKind::Wakeup))
    };
    stacks.shares(threads.map(counts), others.len() < query.conditions.len())
}

fn states(profile: [u64; 4], window: u64) -> StateTimes {
    let of = |state: State| profile.get(state as usize).copied().unwrap_or(0);
    StateTimes {
        running: of(State::Running),
        ready: of(State::Ready),
        waiting: of(State::Waiting),
        unknown: of(State::Unknown),
        not_alive: profile.iter().fold(window, |left, ticks| left.saturating_sub(*ticks)),
    }
}

fn was_alive<S>(instance: &ThreadInstance, scheduler: &Scheduler<'_, S>) -> bool {
    let range = scheduler.range;
    instance.begin < range.to && instance.end.unwrap_or(Ticks(i64::MAX)) > range.from
}

fn sort(rows: &mut [CpuRow], order: CpuOrder) {
    let key = |row: &CpuRow| match order {
        CpuOrder::Cpu => row.cpu,
        CpuOrder::Name => 0,
        CpuOrder::Switches => row.switches,
        CpuOrder::Ready => row.delays.all.total,
        CpuOrder::Preempted => row.delays.lost().1,
        CpuOrder::Waits => row.waited(),
        CpuOrder::Running => row.with_interrupts,
    };
    rows.sort_by(|a, b| {
        let names = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
        Reverse(key(a)).cmp(&Reverse(key(b))).then_with(|| names().unwrap_or(std::cmp::Ordering::Equal))
    });
}
