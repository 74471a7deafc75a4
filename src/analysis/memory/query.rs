//! A query about memory over time.

use crate::dimensions::single_dimensions::{LIST, PRIORITY};
use crate::dimensions::{Condition, Label, ProcessFacet, Values, dimensions};
use crate::etl::record_id::HookId;
use crate::event::hooks::{MEM_INFO, MEM_INFO_SESSION_WS, MEM_INFO_WS};
use crate::model::window::Bound;
use crate::units::Nanos;

/// Page lists by the names of [`MemoryDimension::List`].
pub(crate) const LISTS: [&str; 7] = ["InUse", "Standby", "Zero", "Free", "Modified", "ModifiedNoWrite", "Bad"];

dimensions! {
    /// What rows are grouped and filtered by.
    pub enum MemoryDimension [1] {
        List: LIST.of(Values::OneOf(|| LISTS.to_vec()));
        Priority: PRIORITY;
        Process: ProcessFacet::Process.facet();
        Session: ProcessFacet::Session.facet();
    }
}

impl MemoryDimension {
    /// The records that rows of it are made of.
    pub(super) const fn records(self) -> HookId {
        match self {
            MemoryDimension::List | MemoryDimension::Priority => MEM_INFO,
            MemoryDimension::Process => MEM_INFO_WS,
            MemoryDimension::Session => MEM_INFO_SESSION_WS,
        }
    }

    /// The keyword of those records, and what a trace without them lacks.
    pub(super) const fn needs(self) -> (&'static str, &'static str) {
        match self {
            MemoryDimension::List | MemoryDimension::Priority => (
                "MemoryInfo",
                "the trace holds no counters of page lists (Memory: MemInfo), which rows by list and priority are made of",
            ),
            MemoryDimension::Process => (
                "MemoryInfoWS",
                "the trace holds no working sets of processes (Memory: MemInfoWS), which rows by process are made of",
            ),
            MemoryDimension::Session => (
                "MemoryInfoWS",
                "the trace holds no working sets of sessions (Memory: MemInfoSessionWS), which rows by session are made of",
            ),
        }
    }
}

/// At which times the machine's counters are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineStep {
    /// At each sample.
    Samples,
    /// In steps.
    Every(Nanos),
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct MemoryQuery {
    /// What the rows are; `None`: counters and processes in short.
    pub group_by: Option<MemoryDimension>,
    /// Conditions: of lists and priorities on counters, of processes and sessions on working sets.
    pub conditions: Vec<Condition<MemoryDimension>>,
    /// Begin of the window; `None`: that of the trace.
    pub from: Option<Bound>,
    /// End of the window; `None`: that of the trace.
    pub to: Option<Bound>,
    /// Counters over time.
    pub timeline: Option<TimelineStep>,
    /// True to keep every sample of every process, which takes memory in proportion.
    pub all_samples: bool,
}

impl MemoryQuery {
    /// True when the conditions on a dimension let a label pass.
    pub(super) fn selects(&self, dimension: MemoryDimension, label: &Label) -> bool {
        let mut of_it = self.conditions.iter().filter(|condition| condition.dimension == dimension);
        of_it.all(|condition| condition.matches([label]))
    }

    /// The same without a note that a pattern has matched.
    pub(super) fn could_select(&self, dimension: MemoryDimension, label: &Label) -> bool {
        let mut of_it = self.conditions.iter().filter(|condition| condition.dimension == dimension);
        of_it.all(|condition| condition.patterns.could_pass(&[label.as_str(), label.shown()]))
    }

    /// True where sessions are among what conditions choose: not beside rows of processes, nor for people without rows by session.
    pub(super) fn shows_sessions(&self) -> bool {
        let is_of_process = |condition: &Condition<_>| condition.dimension == MemoryDimension::Process;
        match self.group_by {
            Some(MemoryDimension::Session) => true,
            Some(MemoryDimension::Process) => false,
            _ => self.all_samples && !self.conditions.iter().any(is_of_process),
        }
    }
}
