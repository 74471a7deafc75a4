//! Pairs of processes: who took the processor from whom, and who readied whom.

use crate::analysis::cpu::delay_percentiles::ReadyKind;
use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::replay::process_pair_counts::ProcessNumber;
use crate::analysis::cpu::replay::scheduler::{PreemptionTimes, Scheduler};
use crate::analysis::cpu::replay::thread_counts::CountedOf;
use crate::analysis::cpu::switch_stacks::KeptStack;
use crate::analysis::cpu::thread_labels::Labels;
use foldhash::HashMap as FastMap;
use std::cmp::Reverse;
use std::sync::Arc;

/// Threads of a process that lost the processor to those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionRow {
    /// Who lost it.
    pub process: String,
    /// Who ran then.
    pub preemptor: String,
    /// Why the thread lost the processor.
    pub kind: ReadyKind,
    /// How often, and how long until they ran again.
    pub times: PreemptionTimes,
}

/// Threads of a process that another readied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeupRow {
    /// Who became ready.
    pub process: String,
    /// Who did it, or was interrupted by a deferred procedure call that did.
    pub waker: String,
    /// True for a deferred procedure call.
    pub from_dpc: bool,
    /// How often.
    pub count: u64,
}

/// Processes by their numbers.
struct Numbered<'s, S> {
    scheduler: &'s Scheduler<'s, S>,
    labels: &'s Labels<'s>,
    query: &'s CpuQuery,
}

impl<S: KeptStack> Numbered<'_, S> {
    fn label(&self, process: ProcessNumber) -> Option<Arc<str>> {
        self.scheduler.process_numbers.member(process).map(|instance| self.labels.process(instance))
    }

    /// The label, unless the user's conditions on processes rule the process out.
    fn wanted(&self, process: ProcessNumber) -> Option<Arc<str>> {
        let member = self.scheduler.process_numbers.member(process)?;
        let is_of_process = |dimension| matches!(dimension, Dimension::Process(_));
        let meets = self.labels.meets(&self.query.conditions, is_of_process, CountedOf::thread(member, 0));
        meets.then(|| self.labels.process(member))
    }
}

/// Preemptions, those that cost most first.
pub fn preemptions<S: KeptStack>(
    scheduler: &Scheduler<'_, S>,
    labels: &Labels<'_>,
    query: &CpuQuery,
) -> Vec<PreemptionRow> {
    let processes = Numbered { scheduler, labels, query };
    let mut sums: FastMap<(Arc<str>, Arc<str>, ReadyKind), PreemptionTimes> = FastMap::default();
    for (process, preemptor, kind, times) in scheduler.preemptions.each() {
        let Some(&kind) = ReadyKind::ALL.get(kind) else { continue };
        if let (Some(process), Some(preemptor)) = (processes.wanted(process), processes.label(preemptor)) {
            let sum = sums.entry((process, preemptor, kind)).or_default();
            sum.count += times.count;
            sum.ticks = sum.ticks.saturating_add(times.ticks);
        }
    }
    let row = |((process, preemptor, kind), times): ((Arc<str>, Arc<str>, ReadyKind), PreemptionTimes)| PreemptionRow {
        process: process.to_string(),
        preemptor: preemptor.to_string(),
        kind,
        times,
    };
    let mut rows: Vec<PreemptionRow> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        let key = |row: &PreemptionRow| (Reverse(row.times.ticks), Reverse(row.times.count), row.kind);
        (key(a), &a.process, &a.preemptor).cmp(&(key(b), &b.process, &b.preemptor))
    });
    rows
}

/// Wakeups, the most frequent first.
pub fn wakeups<S: KeptStack>(scheduler: &Scheduler<'_, S>, labels: &Labels<'_>, query: &CpuQuery) -> Vec<WakeupRow> {
    let processes = Numbered { scheduler, labels, query };
    let mut sums: FastMap<(Arc<str>, Arc<str>, bool), u64> = FastMap::default();
    for (process, waker, from_dpc, count) in scheduler.wakeups.each() {
        if let (Some(process), Some(waker)) = (processes.wanted(process), processes.label(waker)) {
            *sums.entry((process, waker, from_dpc == 1)).or_default() += count;
        }
    }
    let row = |((process, waker, from_dpc), count): ((Arc<str>, Arc<str>, bool), u64)| WakeupRow {
        process: process.to_string(),
        waker: waker.to_string(),
        from_dpc,
        count,
    };
    let mut rows: Vec<WakeupRow> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        (Reverse(a.count), &a.process, &a.waker, a.from_dpc).cmp(&(Reverse(b.count), &b.process, &b.waker, b.from_dpc))
    });
    rows
}
