//! A query about the processors: dimensions, conditions, window, timeline.

use crate::dimensions::single_dimensions::{
    FUNCTION, MODULE, PROCESSOR, READY_FUNCTION, READY_MODULE, READY_STACK, STACK, THREAD,
};
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, ProcessFacet, dimensions};
use crate::model::window::Bound;
use crate::symbols::folders::SymbolFolders;
use crate::units::Nanos;

dimensions! {
    /// What rows are grouped and filtered by. Stack, function and module are those of switch-ins; module also that of samples, in a
    /// trace without context switches.
    pub enum Dimension {
        Process(ProcessFacet);
        Thread: THREAD;
        Processor: PROCESSOR;
        Stack: STACK;
        Function: FUNCTION;
        Module: MODULE;
        ReadyStack: READY_STACK;
        ReadyFunction: READY_FUNCTION;
        ReadyModule: READY_MODULE;
    }
}

impl Dimension {
    /// The process of a thread.
    pub const PROCESS: Dimension = Dimension::Process(ProcessFacet::Process);

    /// True for those of the stacks of switch-ins.
    pub const fn is_of_stacks(self) -> bool {
        self.of_stack().is_some()
    }

    /// True for those of the stack of the record that readied the thread.
    pub const fn is_of_who_readied(self) -> bool {
        matches!(self, Dimension::ReadyStack | Dimension::ReadyFunction | Dimension::ReadyModule)
    }

    /// What it is of a stack; `None` for other facts.
    pub(crate) const fn of_stack(self) -> Option<StackFacet> {
        match self {
            Dimension::Stack | Dimension::ReadyStack => Some(StackFacet::Stack),
            Dimension::Function | Dimension::ReadyFunction => Some(StackFacet::Function),
            Dimension::Module | Dimension::ReadyModule => Some(StackFacet::Module),
            _ => None,
        }
    }
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
    /// Longest waiting in all first.
    Waits,
    /// Longest running in all first, with the interrupts that came meanwhile.
    Running,
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
    /// Where symbol files are looked for, for rows by stack and function.
    pub symbols: SymbolFolders,
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
            symbols: SymbolFolders::default(),
        }
    }
}

impl CpuQuery {
    /// True when rows or conditions keep processors apart.
    pub fn needs_processors(&self) -> bool {
        self.has(Dimension::Processor)
    }

    /// True when rows or conditions name services.
    pub(super) fn needs_services(&self) -> bool {
        self.has(Dimension::Process(ProcessFacet::Service))
    }

    /// True for a timeline of what processors ran, which is not kept by thread.
    pub(super) fn has_timeline_of_processors(&self) -> bool {
        self.timeline.is_some() && self.group_by == [Dimension::Processor]
    }

    /// True when rows or conditions ask for stacks of switch-ins.
    pub fn wants_stacks(&self) -> bool {
        self.kept().any(Dimension::is_of_stacks)
    }

    /// True when they ask for what samples do not have; they have modules.
    pub fn needs_switch_ins(&self) -> bool {
        self.kept().any(|dimension| dimension.is_of_stacks() && dimension != Dimension::Module)
    }

    fn has(&self, wanted: Dimension) -> bool {
        self.kept().any(|dimension| dimension == wanted)
    }

    /// What rows must be kept apart by.
    pub(super) fn kept(&self) -> impl Iterator<Item = Dimension> {
        let conditions = self.conditions.iter().map(|condition| condition.dimension);
        self.group_by.iter().copied().chain(conditions)
    }
}
