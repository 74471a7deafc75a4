//! Labels of stacks by their numbers, and conditions on them: for analyses whose rows have a stack.

use super::event_stacks::EventStacks;
use super::frame_labels::FunctionLabels;
use super::stack_texts::StackTexts;
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, Dimension, Label};
use crate::moment::Moment;

/// The stacks of some events, with what rows and conditions need of their names.
#[derive(Debug)]
pub(crate) struct StackLabels {
    stacks: EventStacks,
    /// For conditions; empty where there is none on functions.
    functions: FunctionLabels,
    /// By stack, the number of its text; empty where nobody asks for it.
    texts_of_stacks: Vec<u32>,
    texts: StackTexts,
}

impl StackLabels {
    /// Of these stacks: what rows are grouped by, and what conditions look at.
    pub fn new(stacks: EventStacks, rows: &[StackFacet], conditions: &[StackFacet]) -> StackLabels {
        let asks_for_functions = conditions.contains(&StackFacet::Function);
        let functions = if asks_for_functions { stacks.function_labels() } else { FunctionLabels::default() };
        let mut texts = StackTexts::default();
        let wants_texts = [rows, conditions].iter().any(|facets| facets.contains(&StackFacet::Stack));
        let numbers = 0..if wants_texts { stacks.distinct() as u32 } else { 0 };
        let texts_of_stacks = numbers.map(|number| stacks.text_number(number, &mut texts)).collect();
        texts.rank();
        StackLabels { stacks, functions, texts_of_stacks, texts }
    }

    /// How many events have a stack.
    pub fn events(&self) -> usize {
        self.stacks.events()
    }

    /// The stack of the event that was logged at a moment; `place` is where the one before was found.
    #[inline]
    pub fn find_near(&self, moment: Moment, place: &mut usize) -> u32 {
        self.stacks.find_near(moment, place)
    }

    /// The names of its frames, innermost first: of a very long stack not all.
    pub fn names(&self, stack: u32) -> Vec<String> {
        self.stacks.names(stack)
    }

    fn text(&self, stack: u32) -> u32 {
        self.texts_of_stacks.get(stack as usize).copied().unwrap_or(0)
    }

    /// The label of a stack, or of its innermost frame; that of a very long stack is cut.
    pub fn label(&self, stack: u32, facet: StackFacet) -> Label {
        match facet {
            StackFacet::Function => self.stacks.function_label(stack),
            StackFacet::Module => self.stacks.module_label(stack),
            StackFacet::Stack => self.texts.label(self.text(stack)),
        }
    }

    /// True when a stack meets a condition: the whole stack, or any of its frames.
    pub fn meets<D: Dimension>(&self, stack: u32, facet: StackFacet, condition: &Condition<D>) -> bool {
        match facet {
            StackFacet::Function => {
                condition.matches(self.stacks.frames(stack).flat_map(|frame| self.functions.of(frame)))
            }
            StackFacet::Module => condition.matches(&self.stacks.module_labels(stack)),
            StackFacet::Stack => condition.matches([&Label::name(self.texts.text(self.text(stack)))]),
        }
    }

    /// The whole texts of stacks.
    pub fn into_texts(self) -> StackTexts {
        self.texts
    }
}
