//! What each process had committed, for tables of processes.

use super::{AllocationQuery, AllocationSet, Dimension};
use crate::load::allocations::AllocationKind;
use crate::trace::Trace;

/// What a process had committed by VirtualAlloc, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessCommit {
    /// When the trace began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// The most at any time; `None` for several processes, which have their peaks at different times.
    pub peak: Option<u64>,
}

impl std::ops::AddAssign for ProcessCommit {
    fn add_assign(&mut self, other: ProcessCommit) {
        self.start = self.start.saturating_add(other.start);
        self.end = self.end.saturating_add(other.end);
        self.peak = None;
    }
}

/// By process instance. `None` for one of which nobody tells what it had before the trace; for all, where commit was not recorded.
pub(crate) fn commit_by_process(trace: &Trace) -> Vec<Option<ProcessCommit>> {
    let mut all = vec![None; trace.processes().instances.len()];
    let of = AllocationKind::Commit;
    let query = AllocationQuery { of: Some(of), group_by: vec![Dimension::Process], ..AllocationQuery::default() };
    if !of.is_recorded(trace) {
        return all;
    }
    let Ok(set) = AllocationSet::answer(trace, &query) else { return all };
    let bytes = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
    for row in &set.rows {
        let known = row.instance.filter(|instance| !set.of_unknown_start.contains(instance));
        let Some(slot) = known.and_then(|instance| all.get_mut(instance)) else { continue };
        let figures = &row.figures;
        *slot = Some(ProcessCommit {
            start: bytes(figures.at_start().bytes),
            end: bytes(figures.at_end().bytes),
            peak: Some(bytes(figures.peak.map_or(0, |(sum, _)| sum))),
        });
    }
    all
}
