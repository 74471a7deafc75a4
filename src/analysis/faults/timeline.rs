//! Faults and requests in steps of equal length.

use super::disk_requests::Request;
use super::hard_faults::Hard;
use super::rows::changes;
use crate::analysis::time_grid::{Grid, TickRange};
use crate::event::disk_io::DiskOperation;
use crate::trace::Trace;
use crate::units::{Nanos, Ticks};
use std::collections::BTreeSet;

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultStep {
    /// Its begin since trace start.
    pub from: Nanos,
    /// Hard faults that ended in it.
    pub hard_faults: u64,
    /// Bytes that they read.
    pub bytes: u64,
    /// Their waits, whole, in nanoseconds.
    pub waited_ns: u64,
    /// Those of them whose begin cannot be true: they have no wait.
    pub malformed: u64,
    /// Bytes of reads and writes that were completed in it.
    pub disk_bytes: u64,
    /// Most requests of one disk that were open at once.
    pub queue_max: u64,
    /// Zero, free and standby pages by its last MemInfo record; `None` without one.
    pub available_pages: Option<u64>,
}

impl FaultStep {
    /// The waits; `None` where there are faults and no wait is known.
    pub(crate) fn waited(&self) -> Option<u64> {
        (self.hard_faults == 0 || self.malformed < self.hard_faults).then_some(self.waited_ns)
    }
}

/// The steps.
pub fn steps(trace: &Trace, range: TickRange, grid: Grid, hard: &[Hard], requests: &[Request]) -> Vec<FaultStep> {
    let clock = &trace.etl().clock;
    let count = grid.first_from(range.to);
    let mut steps: Vec<FaultStep> =
        (0..count).map(|number| FaultStep { from: clock.nanos(grid.at(number)), ..FaultStep::default() }).collect();
    let number = |time: Ticks| (grid.first_from(Ticks(time.0.saturating_add(1))).saturating_sub(1)) as usize;
    let mut waited = vec![0u128; steps.len()];
    for hard in hard {
        let at = number(hard.end.time);
        if let (Some(step), Some(waited)) = (steps.get_mut(at), waited.get_mut(at)) {
            step.hard_faults += 1;
            step.bytes = step.bytes.saturating_add(hard.bytes);
            step.malformed += u64::from(hard.begin.is_none());
            *waited += u128::from(hard.waited().unwrap_or(0));
        }
    }
    for (step, ticks) in steps.iter_mut().zip(waited) {
        let ns = ticks.saturating_mul(1_000_000_000) / u128::from(clock.frequency_hz.max(1));
        step.waited_ns = u64::try_from(ns).unwrap_or(u64::MAX);
    }
    let completed = requests.iter().filter(|request| range.holds(request.end.time));
    for request in completed.filter(|request| request.operation != DiskOperation::Flush) {
        if let Some(step) = steps.get_mut(number(request.end.time)) {
            step.disk_bytes = step.disk_bytes.saturating_add(request.bytes);
        }
    }
    queues(range, number, requests, &mut steps);
    for record in trace.counters().memory.iter().filter(|record| range.holds(record.moment.time)) {
        let pages = &record.value;
        let available = [pages.zero, pages.free].into_iter().chain(pages.standby).fold(0, u64::saturating_add);
        if let Some(step) = steps.get_mut(number(record.moment.time)) {
            step.available_pages = Some(available);
        }
    }
    steps
}

/// The greatest depth of each step, the depth at its begin included: the deepest stretches of time are put first into the steps that
/// have none yet, so that a step is looked at once, however many disks there are.
fn queues(range: TickRange, number: impl Fn(Ticks) -> usize, requests: &[Request], steps: &mut [FaultStep]) {
    let mut stretches: Vec<(u64, usize, usize)> = Vec::new();
    for list in changes(requests.iter(), range).into_values() {
        let mut depth = 0u64;
        for pair in list.windows(2) {
            let &[(from, opens), (to, _)] = pair else { continue };
            depth = if opens { depth + 1 } else { depth.saturating_sub(1) };
            if depth > 0 && from < to {
                stretches.push((depth, number(from), number(Ticks(to.0 - 1))));
            }
        }
    }
    stretches.sort_unstable_by_key(|stretch| std::cmp::Reverse(stretch.0));
    let mut without: BTreeSet<usize> = (0..steps.len()).collect();
    for (depth, first, last) in stretches {
        while let Some(&at) = without.range(first..=last).next() {
            without.remove(&at);
            steps.get_mut(at).into_iter().for_each(|step| step.queue_max = depth);
        }
    }
}
