//! Stacks of resident pages: of the VirtualAlloc that committed the address of a page. They are joined only where rows or conditions ask
//! for them.

use crate::analysis::resident::ranges_by_address::RangesByAddress;
use crate::analysis::stacks::{EventStacks, StackLabels, StackTexts};
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, Dimension, Label, LabelKind};
use crate::event::hooks::VIRTUAL_ALLOC;
use crate::load::space_events::SpaceReader;
use crate::model::address_space_at::lifetime;
use crate::model::commits::commits_at;
use crate::model::process::Instance;
use crate::moment::Moment;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use rayon::prelude::*;

/// What people read for pages that no record committed.
const NO_COMMIT: &str = "no commit";
/// The same of modules, where addresses in no module are in the same row: programs read the same of both.
const NO_COMMIT_OR_MODULE: &str = "no commit or no module";

/// The stacks of all records of VirtualAlloc, with names.
#[derive(Debug)]
pub(crate) struct CommitStacks {
    stacks: StackLabels,
    /// True where rows by module have commits by addresses in no module.
    has_no_module: bool,
    allocations: u64,
    /// What is missing of symbols.
    pub told: Vec<String>,
}

/// Records of VirtualAlloc of a whole trace, and those of them that have a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AllocationShare {
    pub allocations: u64,
    pub with_stack: u64,
}

/// Of how many pages of a snapshot the stack is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PageShare {
    /// Pages, before conditions on stacks chose among them.
    pub pages: u64,
    /// Those whose commit is in the trace.
    pub committed: u64,
    /// Those whose commit has a stack.
    pub with_stack: u64,
}

/// Who committed what is committed at a snapshot.
#[derive(Debug)]
pub(crate) struct CommittedPages<'s> {
    pub stacks: &'s CommitStacks,
    /// By process instance, the numbers of stacks.
    by_instance: Vec<RangesByAddress<u32>>,
}

impl CommitStacks {
    /// Joins the stacks of a trace with its allocations, for what rows are grouped by and what conditions look at.
    pub fn new(trace: &Trace, rows: &[StackFacet], conditions: &[StackFacet], symbols: &SymbolFolders) -> CommitStacks {
        let (stacks, told) = EventStacks::new(trace, &[VIRTUAL_ALLOC], symbols);
        let allocations = trace.survey().kernel_count(VIRTUAL_ALLOC);
        let is_in_none = |stack| stacks.module_label(stack).kind() == LabelKind::Nothing;
        let has_no_module = rows.contains(&StackFacet::Module) && (0..stacks.distinct() as u32).any(is_in_none);
        CommitStacks { stacks: StackLabels::new(stacks, rows, conditions), has_no_module, allocations, told }
    }

    /// How many allocations have a known stack.
    pub fn share(&self) -> AllocationShare {
        AllocationShare { allocations: self.allocations, with_stack: self.stacks.events() as u64 }
    }

    /// The stack of the record that was logged at a moment: names of its frames, innermost first. `None` where it has none.
    pub fn names_at(&self, moment: Moment) -> Option<Vec<String>> {
        let number = self.stacks.find_near(moment, &mut 0);
        (number != EventStacks::NONE).then(|| self.stacks.names(number))
    }

    /// The label of the stack of a page's commit; `None`: no record committed it.
    pub fn label(&self, stack: Option<u32>, facet: StackFacet) -> Label {
        match (stack, facet) {
            (Some(stack), _) => match self.stacks.label(stack, facet) {
                label if label.kind() == LabelKind::Nothing && self.has_no_module => {
                    label.shown_as(NO_COMMIT_OR_MODULE)
                }
                label => label,
            },
            (None, StackFacet::Module) if self.has_no_module => Label::nothing().shown_as(NO_COMMIT_OR_MODULE),
            (None, _) => Label::nothing().shown_as(NO_COMMIT),
        }
    }

    /// True when the stack of a page's commit meets a condition.
    pub fn meets<D: Dimension>(&self, stack: Option<u32>, facet: StackFacet, condition: &Condition<D>) -> bool {
        match stack {
            Some(stack) => self.stacks.meets(stack, facet, condition),
            None => condition.matches([&Label::nothing().shown_as(NO_COMMIT)]),
        }
    }

    /// Who committed what is committed at a moment: process by process, in parallel.
    pub fn at(&self, trace: &Trace, moment: Moment) -> CommittedPages<'_> {
        let of = |reader: &mut SpaceReader, process: &Instance| {
            let events = trace.spaces().by_process_id.get(&process.process_id).filter(|_| process.is_alive(moment))?;
            let own = lifetime(events.read(trace.etl(), reader), process);
            let mut place = 0;
            let commits = commits_at(own, moment, |at| self.stacks.find_near(at, &mut place));
            Some(RangesByAddress::joined(commits.iter().map(|(base, end, stack)| (base, end, *stack))))
        };
        let by_instance = trace.processes().instances.par_iter().map_init(SpaceReader::default, of);
        CommittedPages { stacks: self, by_instance: by_instance.map(Option::unwrap_or_default).collect() }
    }

    /// The whole texts of stacks.
    pub fn into_texts(self) -> StackTexts {
        self.stacks.into_texts()
    }
}

impl CommittedPages<'_> {
    /// The number of the stack of the record that committed an address of a process instance; `None`: no record did.
    #[inline]
    pub fn find(&self, instance: u32, address: u64) -> Option<u32> {
        self.by_instance.get(instance as usize)?.get(address)
    }
}

impl PageShare {
    /// Counts a page with the stack of its commit.
    #[inline]
    pub fn add(&mut self, stack: Option<u32>) {
        self.pages += 1;
        self.committed += u64::from(stack.is_some());
        self.with_stack += u64::from(stack.is_some_and(|stack| stack != EventStacks::NONE));
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: PageShare) {
        self.pages += other.pages;
        self.committed += other.committed;
        self.with_stack += other.with_stack;
    }
}
