//! Stacks of chosen events, for analyses that have rows of their own: by the moment of the event.

use super::frame_names::{Label, Names};
use super::join::{self, Joined};
use super::stack_texts::StackTexts;
use super::symbol_use;
use crate::etl::record_id::HookId;
use crate::load::stacks::first_walk::{Parts, session_pointer};
use crate::load::stacks::frame_lists::ListId;
use crate::load::stacks::second_walk::{EventChoice, Events, StackEvent};
use crate::moment::Moment;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use foldhash::HashMap as FastMap;

/// Kernel and user part of a stack, with names.
type NamedStack = (Option<ListId>, Option<ListId>);

/// The stacks of events of some kinds.
#[derive(Debug)]
pub(crate) struct EventStacks {
    /// In order of the events; only those that have a stack.
    by_moment: Vec<(Moment, u32)>,
    stacks: Vec<NamedStack>,
    names: Names,
}

impl EventStacks {
    /// Number of the stack of events without one.
    pub(crate) const NONE: u32 = 0;

    /// Joins the stacks of a trace with its events of these kinds, and looks for symbols; warnings of that search.
    pub(crate) fn new(trace: &Trace, hooks: &'static [HookId], symbols: &SymbolFolders) -> (EventStacks, Vec<String>) {
        EventStacks::join(trace, hooks, symbols, |event| event.chosen.is_some())
    }

    /// The same of all events that have stacks.
    pub(crate) fn of_all(trace: &Trace, symbols: &SymbolFolders) -> (EventStacks, Vec<String>) {
        EventStacks::join(trace, &[], symbols, |_| true)
    }

    fn join(
        trace: &Trace,
        hooks: &'static [HookId],
        symbols: &SymbolFolders,
        is_wanted: fn(&StackEvent) -> bool,
    ) -> (EventStacks, Vec<String>) {
        let parts = Parts::new(trace.etl());
        let mut events = Events::new(trace.etl(), &parts.parts, &EventChoice::AnyOf(hooks));
        let Joined { stacks: attached, .. } = join::join(&parts, &mut events);
        let names = Names::new(&parts.addresses, session_pointer(trace.etl()));
        let mut found = EventStacks { by_moment: Vec::new(), stacks: vec![(None, None)], names };
        let mut numbers: FastMap<NamedStack, u32> = FastMap::default();
        for (event, stack) in events.events.iter().zip(&attached) {
            if !is_wanted(&event.value) || !stack.has_stack() {
                continue;
            }
            found.names.go_to(event.moment.time);
            let (space, frames) = (stack.process_id.unwrap_or(0), &parts.frames);
            let kernel = stack.kernel.list().map(|list| found.names.of(space, list, frames, true));
            let user = stack.user.list().map(|list| found.names.of(space, list, frames, kernel.is_none()));
            let number = *numbers.entry((kernel, user)).or_insert_with(|| {
                found.stacks.push((kernel, user));
                found.stacks.len() as u32 - 1
            });
            found.by_moment.push((event.moment, number));
        }
        let (_, warnings) = symbol_use::read(&mut found.names, symbols);
        (found, warnings)
    }

    /// True when none of the events has a stack.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_moment.is_empty()
    }

    /// The number of the stack of the event that was logged at this moment.
    pub(crate) fn find(&self, moment: Moment) -> u32 {
        let at = self.by_moment.partition_point(|(event, _)| *event < moment);
        self.by_moment.get(at).filter(|(event, _)| *event == moment).map_or(EventStacks::NONE, |(_, stack)| *stack)
    }

    fn frames(&self, number: u32) -> impl Iterator<Item = Label> {
        let (kernel, user) = self.stacks.get(number as usize).copied().unwrap_or_default();
        let part = |list: Option<ListId>| list.map_or(&[][..], |list| self.names.labels.get(list));
        let none = (kernel.is_none() && user.is_none()).then_some(Label::NoStack);
        part(kernel).iter().chain(part(user)).copied().chain(none)
    }

    /// Names of all frames, innermost first.
    pub(crate) fn functions(&self, number: u32) -> impl Iterator<Item = String> {
        self.frames(number).map(|frame| self.names.text(frame))
    }

    /// The names of the stack as it is shown, innermost first: of a very long one not all.
    pub(crate) fn names(&self, number: u32) -> Vec<String> {
        self.names.stack(self.frames(number))
    }

    /// The number of the text of a stack.
    pub(crate) fn text_number(&self, number: u32, texts: &mut StackTexts) -> u32 {
        match self.stacks.get(number as usize).copied().unwrap_or_default() {
            (None, None) => texts.of_frames(&self.names, &[Label::NoStack]),
            (kernel, user) => texts.of_lists(&self.names, kernel, user),
        }
    }

    /// Outermost first; a `;` inside a name becomes `:`.
    pub(crate) fn text(&self, number: u32) -> String {
        self.names(number).iter().rev().map(|name| name.replace(';', ":")).collect::<Vec<_>>().join(";")
    }
}
