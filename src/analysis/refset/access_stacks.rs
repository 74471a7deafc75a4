//! Stacks of page accesses: which code brought a page into a working set. Kept only where rows or conditions ask for it.

use crate::analysis::refset::query::{Dimension, Query};
use crate::analysis::refset::row_key::RowKey;
use crate::analysis::stacks::{EventStacks, StackLabels, StackTexts};
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, Label};
use crate::etl::record_id::HookId;
use crate::event::hooks::{PAGE_ACCESS, PAGE_ACCESS_EX};
use crate::moment::Moment;
use crate::trace::Trace;
use std::fmt::Debug;

/// The records of accesses whose stacks count.
const ACCESSES: &[HookId] = &[PAGE_ACCESS, PAGE_ACCESS_EX];

/// What a replay keeps of the stack of an access: its number, or nothing where nobody asks for stacks.
pub trait AccessStack: Copy + Default + Ord + Debug + Send + Sync + 'static {
    /// The stack of the access that was logged at a moment; `place` is where the one before was found.
    fn find(stacks: Option<&AccessStacks>, moment: Moment, place: &mut usize) -> Self;

    /// Its number; [`EventStacks::NONE`] where it has none.
    fn number(self) -> u32;
}

impl AccessStack for () {
    #[inline(always)]
    fn find(_: Option<&AccessStacks>, _: Moment, _: &mut usize) {}

    #[inline(always)]
    fn number(self) -> u32 {
        EventStacks::NONE
    }
}

impl AccessStack for u32 {
    #[inline]
    fn find(stacks: Option<&AccessStacks>, moment: Moment, place: &mut usize) -> u32 {
        stacks.map_or(EventStacks::NONE, |stacks| stacks.stacks.find_near(moment, place))
    }

    #[inline(always)]
    fn number(self) -> u32 {
        self
    }
}

/// The stacks of all accesses, with names.
#[derive(Debug)]
pub struct AccessStacks {
    stacks: StackLabels,
    accesses: u64,
}

/// Of how many pages and accesses the stack is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StackShare {
    /// Pages of the rows, before conditions on stacks chose among them.
    pub pages: i64,
    /// Those whose access has a stack.
    pub pages_with_stack: i64,
    /// Records of accesses in the trace.
    pub accesses: u64,
    /// Those that have a stack.
    pub accesses_with_stack: u64,
}

impl AccessStacks {
    /// Joins the stacks of a trace with its accesses, and looks for symbols; warnings of that search.
    pub fn new(trace: &Trace, query: &Query) -> (AccessStacks, Vec<String>) {
        let (stacks, warnings) = EventStacks::new(trace, ACCESSES, &query.symbols);
        let kept: Vec<StackFacet> = query.kept().filter_map(Dimension::of_stack).collect();
        let asked: Vec<StackFacet> = query.conditions.iter().filter_map(|one| one.dimension.of_stack()).collect();
        let accesses = ACCESSES.iter().map(|&hook| trace.survey().kernel_count(hook)).sum();
        (AccessStacks { stacks: StackLabels::new(stacks, &kept, &asked), accesses }, warnings)
    }

    /// The label of a stack, or of its innermost frame.
    pub fn label(&self, stack: u32, facet: StackFacet) -> Label {
        self.stacks.label(stack, facet)
    }

    /// True when a stack meets a condition.
    pub fn meets(&self, stack: u32, facet: StackFacet, condition: &Condition<Dimension>) -> bool {
        self.stacks.meets(stack, facet, condition)
    }

    /// Of how many of these pages the stack is known.
    pub fn share(&self, rows: impl Iterator<Item = (RowKey, i64)>) -> StackShare {
        let accesses_with_stack = self.stacks.events() as u64;
        let mut share = StackShare { accesses: self.accesses, accesses_with_stack, ..StackShare::default() };
        for (key, pages) in rows {
            share.pages += pages;
            share.pages_with_stack += if key.stack == EventStacks::NONE { 0 } else { pages };
        }
        share
    }

    /// The whole texts of stacks.
    pub(crate) fn into_texts(self) -> StackTexts {
        self.stacks.into_texts()
    }
}
