//! The timeline: what processors and threads did in steps of equal length.

use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::replay::processor::{Processor, ProcessorUse, TicksByUse, add_uses};
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::replay::thread_counts::CountedOf;
use crate::analysis::cpu::replay::thread_instances::IDLE_INSTANCE;
use crate::analysis::cpu::switch_stacks::KeptStack;
use crate::analysis::cpu::thread_labels::Labels;
use crate::analysis::time_grid::{Grid, TickRange};
use crate::dimensions::Label;
use crate::etl::EtlFile;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// One step; times in ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineStep {
    /// Its begin since trace start.
    pub from: Nanos,
    /// Its length.
    pub ticks: u64,
    /// What the processors did.
    pub by_use: TicksByUse,
    /// Mean length of the ready queue.
    pub queue_mean: f64,
    /// Time of each group.
    pub groups: BTreeMap<String, u64>,
}

/// The steps.
pub fn steps<S: KeptStack>(
    etl: &EtlFile,
    range: TickRange,
    grid: Grid,
    processors: &[Processor],
    scheduler: &Scheduler<'_, S>,
    labels: &Labels<'_>,
    query: &CpuQuery,
) -> Vec<TimelineStep> {
    let mut groups = groups(processors, scheduler, labels, query);
    let count = grid.first_from(range.to);
    let step = |number: u64| {
        let (from, to) = (range.clip(grid.at(number)), range.clip(grid.at(number + 1)));
        let at = number as usize;
        let mut by_use: TicksByUse = [0; 5];
        for times in processors.iter().filter_map(|processor| processor.times.get(at)) {
            add_uses(&mut by_use, times);
        }
        let ticks = range.between(from, to);
        let queue = scheduler.queue.by_step.get(at).copied().unwrap_or(0);
        TimelineStep {
            from: etl.clock.nanos(from),
            ticks,
            by_use,
            queue_mean: queue as f64 / ticks.max(1) as f64,
            groups: groups.get_mut(at).map(std::mem::take).unwrap_or_default(),
        }
    };
    (0..count).map(step).collect()
}

/// Time of each group by step.
fn groups<S: KeptStack>(
    processors: &[Processor],
    scheduler: &Scheduler<'_, S>,
    labels: &Labels<'_>,
    query: &CpuQuery,
) -> Vec<BTreeMap<String, u64>> {
    let mut all: Vec<BTreeMap<String, u64>> = Vec::new();
    let mut add = |step: usize, label: String, ticks: u64| {
        if all.len() <= step {
            all.resize(step + 1, BTreeMap::new());
        }
        let Some(groups) = all.get_mut(step) else { return };
        let sum = groups.entry(label).or_default();
        *sum = sum.saturating_add(ticks);
    };
    let is_of_processor = |dimension| dimension == Dimension::Processor;
    if query.group_by == [Dimension::Processor] {
        let wanted =
            |number| labels.meets(&query.conditions, is_of_processor, CountedOf::thread(IDLE_INSTANCE, number));
        for (number, processor) in (0..=u16::MAX).zip(processors).filter(|(number, _)| wanted(*number)) {
            for (step, times) in processor.times.iter().enumerate() {
                let ticks = times.get(ProcessorUse::Threads as usize).copied().unwrap_or(0);
                if ticks > 0 {
                    add(step, number.to_string(), ticks);
                }
            }
        }
        return all;
    }
    let dimensions = query.group_by.iter().filter(|dimension| **dimension != Dimension::Processor);
    for (&(instance, stacks, step), &ticks) in &scheduler.by_step {
        let of = CountedOf { stacks: stacks.numbers(), ..CountedOf::thread(instance, 0) };
        if labels.meets(&query.conditions, |dimension| !is_of_processor(dimension), of) {
            let names: Vec<Label> = dimensions.clone().map(|d| labels.label(*d, of)).collect();
            add(step as usize, names.join(" / "), ticks);
        }
    }
    all
}
