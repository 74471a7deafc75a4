//! A query about the processors: dimensions, conditions, window, timeline.

use crate::error::Error;
use crate::facets::vocabulary::{MODULE, PROCESSOR, THREAD};
use crate::facets::{Condition, Dimension as _, ProcessFacet, dimensions};
use crate::model::window::Bound;
use crate::units::Nanos;

dimensions! {
    /// What rows are grouped and filtered by; module only those of samples, in a trace without context switches.
    pub enum Dimension {
        Process(ProcessFacet);
        Thread: THREAD;
        Processor: PROCESSOR;
        Module: MODULE;
    }
}

impl Dimension {
    /// The process of a thread.
    pub const PROCESS: Dimension = Dimension::Process(ProcessFacet::Process);
}

/// Order of rows; equal ones by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuOrder {
    /// Most processor time first.
    #[default]
    Cpu,
    /// By label.
    Name,
    /// Most switches first.
    Switches,
    /// Longest ready in all first.
    Ready,
    /// Most time lost to preemption first.
    Preempted,
}

/// The clock tick of most Windows systems.
pub(crate) const DEFAULT_TICK: Nanos = Nanos(15_625_000);

/// A query.
#[derive(Debug, Clone)]
pub struct CpuQuery {
    /// Dimensions of the rows, outermost first.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a row must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Order of the rows.
    pub order: CpuOrder,
    /// Beginning of the window; `None` = the first context switch.
    pub from: Option<Bound>,
    /// End of the window; `None` = the last context switch.
    pub to: Option<Bound>,
    /// Step of the timeline.
    pub timeline: Option<Nanos>,
    /// Distance of clock ticks.
    pub tick: Nanos,
}

impl Default for CpuQuery {
    fn default() -> Self {
        CpuQuery {
            group_by: vec![Dimension::PROCESS],
            conditions: Vec::new(),
            order: CpuOrder::default(),
            from: None,
            to: None,
            timeline: None,
            tick: DEFAULT_TICK,
        }
    }
}

impl CpuQuery {
    /// Sets the dimensions of `a,b,c`.
    ///
    /// # Errors
    /// A usage error for an unknown name and a name that occurs twice.
    pub fn group_by(&mut self, names: &str) -> Result<(), Error> {
        self.group_by = Dimension::parse_list(names, Dimension::ALL.len())?;
        Ok(())
    }

    /// True when rows or conditions keep processors apart.
    pub fn needs_processors(&self) -> bool {
        self.has(Dimension::Processor)
    }

    /// True when rows or conditions name services.
    pub(super) fn needs_services(&self) -> bool {
        self.has(Dimension::Process(ProcessFacet::Service))
    }

    /// True when rows or conditions are of what only samples have.
    pub(super) fn needs_samples(&self) -> bool {
        self.has(Dimension::Module)
    }

    fn has(&self, wanted: Dimension) -> bool {
        let conditions = self.conditions.iter().map(|condition| condition.dimension);
        self.group_by.iter().copied().chain(conditions).any(|dimension| dimension == wanted)
    }
}
