//! What each process had committed, for tables of processes.

use super::warnings::AT_END;
use super::{AllocationQuery, AllocationSet, Dimension};
use crate::load::allocation_kinds::AllocationKind;
use crate::model::process::Instance;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::Ticks;

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

/// What is known of the commit of processes.
#[derive(Debug, Default)]
pub(crate) struct CommitOfProcesses {
    /// By process instance; `None` for one of which nobody tells what it had before the trace.
    by_instance: Vec<Option<ProcessCommit>>,
    /// Ids and ends of processes that are no instances: only what they committed before another one had their id tells of them.
    pub nameless: Vec<(u32, Ticks)>,
    /// What makes it doubtful, beyond what is said of the trace.
    pub warnings: Vec<Warning>,
    /// True when the trace has records of it.
    pub is_recorded: bool,
}

impl CommitOfProcesses {
    /// The commit of all processes of a trace.
    pub fn new(trace: &Trace) -> CommitOfProcesses {
        let of = AllocationKind::Commit;
        if !of.is_recorded(trace) {
            return CommitOfProcesses::default();
        }
        let query = AllocationQuery { of: Some(of), group_by: vec![Dimension::Process], ..AllocationQuery::default() };
        let set = match AllocationSet::answer(trace, &query) {
            Ok(set) => set,
            Err(error) => {
                let warnings = vec![Warning::note(of.needs().name, "unknown", format!("commit is not known: {error}"))];
                return CommitOfProcesses { warnings, is_recorded: true, ..CommitOfProcesses::default() };
            }
        };
        // One that began in the trace had nothing before it, and without a record it committed nothing.
        let nothing = ProcessCommit { start: 0, end: 0, peak: Some(0) };
        let born = |process: &Instance| process.begin_time().map(|_| nothing);
        let mut by_instance: Vec<Option<ProcessCommit>> = trace.processes().instances.iter().map(born).collect();
        let bytes = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        for row in &set.rows {
            let known = row.instance.filter(|_| set.is_start_known(row));
            let Some(slot) = known.and_then(|instance| by_instance.get_mut(instance)) else { continue };
            let figures = &row.figures;
            *slot = Some(ProcessCommit {
                start: bytes(figures.at_start().bytes),
                end: bytes(figures.at_end().bytes),
                peak: Some(bytes(figures.peak.map_or(0, |(sum, _)| sum))),
            });
        }
        let of_trace = trace.trust().warnings();
        let own = set.warnings.iter().filter(|warning| !of_trace.contains(warning)).cloned();
        // Those begin with the name.
        let named = |warning: Warning| if warning.is_of(&AT_END) { warning } else { warning.named(of.name()) };
        let mut nameless: Vec<(u32, Ticks)> = set.rows.iter().filter_map(|row| row.nameless).collect();
        nameless.sort_unstable();
        CommitOfProcesses { by_instance, nameless, warnings: own.map(named).collect(), is_recorded: true }
    }

    /// The commit of a process instance.
    pub fn of(&self, instance: usize) -> Option<ProcessCommit> {
        self.by_instance.get(instance).copied().flatten()
    }
}
