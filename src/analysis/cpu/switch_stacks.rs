//! Stacks of switch-ins: where a thread had waited that runs again, and who readied it. Kept only where rows or conditions ask for
//! them.
//!
//! Sources: `docs/cpu.md` ("By stack").

use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::stacks::{EventStacks, StackLabels, StackTexts};
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, Label};
use crate::etl::record_id::HookId;
use crate::event::hooks::{CSWITCH, READY_THREAD};
use crate::moment::Moment;
use crate::trace::Trace;
use std::fmt::Debug;
use std::hash::Hash;

/// What a replay keeps of the stack of a record: its number, or nothing where nobody asks for stacks.
pub trait KeptStack: Copy + Default + Ord + Hash + Debug + Send + Sync + 'static {
    /// False where nothing is kept.
    const IS_KEPT: bool;

    /// The stack of the record that was logged at a moment; `place` is where the one before was found.
    fn find(stacks: Option<&SwitchStacks>, moment: Moment, place: &mut usize) -> Self;

    /// Its number; [`EventStacks::NONE`] where it has none.
    fn number(self) -> u32;
}

impl KeptStack for () {
    const IS_KEPT: bool = false;

    #[inline(always)]
    fn find(_: Option<&SwitchStacks>, _: Moment, _: &mut usize) {}

    #[inline(always)]
    fn number(self) -> u32 {
        EventStacks::NONE
    }
}

impl KeptStack for u32 {
    const IS_KEPT: bool = true;

    #[inline]
    fn find(stacks: Option<&SwitchStacks>, moment: Moment, place: &mut usize) -> u32 {
        stacks.map_or(EventStacks::NONE, |stacks| stacks.stacks.find_near(moment, place))
    }

    #[inline(always)]
    fn number(self) -> u32 {
        self
    }
}

/// The stacks of a switch-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SwitchInStacks<S> {
    /// That of the context switch: where the thread had waited.
    pub waited: S,
    /// That of the record that readied it.
    pub readied: S,
}

impl<S: KeptStack> SwitchInStacks<S> {
    /// Their numbers.
    pub fn numbers(self) -> SwitchInStacks<u32> {
        SwitchInStacks { waited: self.waited.number(), readied: self.readied.number() }
    }
}

impl SwitchInStacks<u32> {
    /// The one that a dimension is about.
    pub fn of(self, dimension: Dimension) -> u32 {
        if dimension.is_of_who_readied() { self.readied } else { self.waited }
    }
}

/// The stacks that a query asks for, with names.
#[derive(Debug)]
pub struct SwitchStacks {
    stacks: StackLabels,
    /// Where threads had waited, and who readied them: where the query asks.
    records: [Option<RecordShare>; 2],
}

/// How many records of a kind the trace has, and how many of them have a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordShare {
    /// All.
    pub records: u64,
    /// Those with a stack.
    pub with_stack: u64,
}

/// Of how many switch-ins a stack is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StackShare {
    /// Switch-ins of the rows, before conditions on stacks chose among them; those of idle threads do not count. Of who readied:
    /// those after a wait whose end was logged.
    pub switch_ins: u64,
    /// Those whose record has a stack.
    pub with_stack: u64,
    /// Records of the whole trace.
    pub of_trace: RecordShare,
}

/// Of how much the stacks are known that a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StackShares {
    /// Where threads had waited.
    pub waited: Option<StackShare>,
    /// Who readied them.
    pub readied: Option<StackShare>,
    /// True when conditions on stacks chose the rows.
    pub is_selection: bool,
}

impl SwitchStacks {
    /// Joins the stacks of a trace with its context switches and ready records, and looks for symbols; warnings of that search.
    pub fn new(trace: &Trace, query: &CpuQuery) -> (SwitchStacks, Vec<String>) {
        let asks = |of: fn(Dimension) -> bool| query.kept().any(of);
        let wanted = [
            (CSWITCH, asks(|dimension| dimension.is_of_stacks() && !dimension.is_of_who_readied())),
            (READY_THREAD, asks(Dimension::is_of_who_readied)),
        ];
        let hooks: Vec<HookId> = wanted.iter().filter(|(_, is_wanted)| *is_wanted).map(|(hook, _)| *hook).collect();
        let (stacks, warnings) = EventStacks::new(trace, &hooks, &query.symbols);
        let share =
            |hook| RecordShare { records: trace.survey().kernel_count(hook), with_stack: stacks.events_of(hook) };
        let records = wanted.map(|(hook, is_wanted)| is_wanted.then(|| share(hook)));
        let rows: Vec<StackFacet> = query.kept().filter_map(Dimension::of_stack).collect();
        let conditions: Vec<StackFacet> = query.conditions.iter().filter_map(|one| one.dimension.of_stack()).collect();
        (SwitchStacks { stacks: StackLabels::new(stacks, &rows, &conditions), records }, warnings)
    }

    /// The label of a stack, or of its innermost frame.
    pub fn label(&self, stack: u32, facet: StackFacet) -> Label {
        self.stacks.label(stack, facet)
    }

    /// True when a stack meets a condition.
    pub fn meets(&self, stack: u32, facet: StackFacet, condition: &Condition<Dimension>) -> bool {
        self.stacks.meets(stack, facet, condition)
    }

    /// Of how many of these switch-ins the stacks are known: their stacks, how many, and how many of them were readied after a wait.
    pub fn shares(
        &self,
        all: impl Iterator<Item = (SwitchInStacks<u32>, u64, u64)>,
        is_selection: bool,
    ) -> StackShares {
        let share = |of_trace| StackShare { of_trace, ..StackShare::default() };
        let [waited, readied] = self.records;
        let mut shares = StackShares { waited: waited.map(share), readied: readied.map(share), is_selection };
        let add = |share: &mut StackShare, stack: u32, switch_ins: u64| {
            share.switch_ins += switch_ins;
            share.with_stack += if stack == EventStacks::NONE { 0 } else { switch_ins };
        };
        for (stacks, switch_ins, readied) in all {
            shares.waited.iter_mut().for_each(|share| add(share, stacks.waited, switch_ins));
            shares.readied.iter_mut().for_each(|share| add(share, stacks.readied, readied));
        }
        shares
    }

    /// The whole texts of stacks.
    pub(crate) fn into_texts(self) -> StackTexts {
        self.stacks.into_texts()
    }
}
