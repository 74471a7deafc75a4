//! Stacks of chosen events, for analyses that have rows of their own: by the moment of the event.

use super::frame_labels::{self, FunctionLabels};
use super::frame_names::{Label as Frame, Names};
use super::named_slices::{self, NamedSlice};
use super::rows::{StackId, all_numbers};
use super::stack_matching::{self, Joined};
use super::stack_texts::StackTexts;
use super::symbol_use;
use crate::dimensions::Label;
use crate::etl::record_id::{HookId, RecordId};
use crate::load::stacks::exponential_search::partition_point_near;
use crate::load::stacks::first_walk::{Parts, session_pointer};
use crate::load::stacks::interner::{Numbered, RecentNumbers};
use crate::load::stacks::second_walk::EventChoice;
use crate::load::stacks::stack_events::{Events, StackEvent};
use crate::moment::Moment;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::units::MOST_BYTES;
use foldhash::{HashMap as FastMap, HashSet as FastSet};

/// Files of the kernel itself, which every driver calls.
const KERNEL: [&str; 6] = ["ntoskrnl.exe", "ntkrnlmp.exe", "ntkrnlpa.exe", "ntkrpamp.exe", "hal.dll", "verifier.dll"];

/// The stacks of events of some kinds.
#[derive(Debug)]
pub(crate) struct EventStacks {
    /// In order of the events; only those that have a stack.
    by_moment: Vec<(Moment, u32)>,
    /// That of no frames is the first one.
    stacks: Numbered<StackId>,
    names: Names,
    /// How many events of a kind have a stack.
    of_kinds: FastMap<RecordId, usize>,
}

impl EventStacks {
    /// Number of the stack of events without one: it is a stack like others, that of no frames.
    pub(crate) const NONE: u32 = 0;

    /// Joins the stacks of a trace with its events of these kinds, and looks for symbols; warnings of that search. Events without a
    /// stack are not collected: of most kinds they are many.
    pub(crate) fn new(trace: &Trace, hooks: &[HookId], symbols: &SymbolFolders) -> (EventStacks, Vec<String>) {
        EventStacks::join(trace, symbols, |kind| matches!(kind, RecordId::Kernel(hook) if hooks.contains(&hook)))
    }

    /// The same of all events that have stacks.
    pub(crate) fn of_all(trace: &Trace, symbols: &SymbolFolders) -> (EventStacks, Vec<String>) {
        EventStacks::join(trace, symbols, |_| true)
    }

    fn join(
        trace: &Trace,
        symbols: &SymbolFolders,
        is_wanted: impl Fn(RecordId) -> bool,
    ) -> (EventStacks, Vec<String>) {
        let parts = Parts::new(trace.etl());
        let mut events = Events::new(trace.etl(), &parts.parts, &EventChoice::WithStacks, MOST_BYTES);
        let Joined { stacks: attached, .. } = stack_matching::join(&parts, &mut events);
        let mut names = Names::new(&parts.addresses, session_pointer(trace.etl()));
        let is_wanted: Vec<bool> = events.classes().iter().map(|class| is_wanted(class.kind)).collect();
        let is_wanted = |event: &StackEvent| is_wanted.get(Events::class_number(event)).is_some_and(|wanted| *wanted);
        let (mut by_moment, mut stacks, mut counts) =
            (Vec::new(), Numbered::default(), vec![0; events.classes().len()]);
        stacks.number(StackId::default());
        let mut recent = RecentNumbers::default();
        let each = |NamedSlice { events, stacks: of_events, ids }: NamedSlice<'_>| {
            let all = events.iter().zip(of_events).zip(ids);
            for ((event, _), id) in all.filter(|((event, stack), _)| stack.has_stack() && is_wanted(&event.value)) {
                by_moment.push((event.moment, recent.number(&mut stacks, id.near(), id)));
                let count = counts.get_mut(Events::class_number(&event.value));
                count.into_iter().for_each(|count| *count += 1);
            }
        };
        named_slices::for_each(&mut names, (&events.events, &attached), &parts, |event| is_wanted(&event.value), each);
        let mut found = EventStacks { by_moment, stacks, names, of_kinds: FastMap::default() };
        for (class, count) in events.classes().iter().zip(counts) {
            *found.of_kinds.entry(class.kind).or_default() += count;
        }
        drop((parts, events, attached));
        found.stacks.close();
        found.names.close();
        let (_, warnings) = symbol_use::read(&mut found.names, symbols);
        (found, warnings)
    }

    /// The same, with one name for all addresses outside of modules: they are those of one boot.
    pub(crate) fn without_addresses(mut self) -> EventStacks {
        self.names.hides_addresses = true;
        self
    }

    /// The names of frames, and the stacks by their numbers.
    #[cfg(feature = "cli")]
    pub(crate) fn into_stacks(self) -> (Names, Vec<StackId>) {
        (self.names, self.stacks.into_things())
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

    /// The same for events that are asked for nearly in order: `place` is where the one before was found.
    pub(crate) fn find_near(&self, moment: Moment, place: &mut usize) -> u32 {
        *place = partition_point_near(&self.by_moment, *place, |(event, _)| *event < moment);
        self.by_moment.get(*place).filter(|(event, _)| *event == moment).map_or(EventStacks::NONE, |(_, stack)| *stack)
    }

    /// How many events have a stack.
    pub(crate) fn events(&self) -> usize {
        self.by_moment.len()
    }

    /// How many events with this hook have a stack.
    pub(crate) fn events_of(&self, hook: HookId) -> u64 {
        self.of_kinds.get(&RecordId::Kernel(hook)).map_or(0, |count| *count as u64)
    }

    /// How many different stacks there are, that of no frames included.
    pub(crate) fn distinct(&self) -> usize {
        self.stacks.things().len()
    }

    /// Labels of the functions of all frames.
    pub(crate) fn function_labels(&self) -> FunctionLabels {
        FunctionLabels::new(&self.names)
    }

    /// The label of the innermost function of a stack.
    pub(crate) fn function_label(&self, number: u32) -> Label {
        self.frames(number).next().map_or_else(Label::nothing, |frame| frame_labels::function(&self.names, frame))
    }

    /// The label of the module of the innermost frame.
    pub(crate) fn module_label(&self, number: u32) -> Label {
        self.frames(number).next().map_or_else(Label::nothing, |frame| frame_labels::module(&self.names, frame))
    }

    /// Labels of all modules of a stack.
    pub(crate) fn module_labels(&self, number: u32) -> Vec<Label> {
        let mut seen = FastSet::default();
        let is_first = |frame: &Frame| seen.insert(self.names.module(*frame));
        self.frames(number).filter(is_first).map(|frame| frame_labels::module(&self.names, frame)).collect()
    }

    /// The driver that a stack leads to first: the module of the innermost kernel frame outside of the kernel itself.
    pub(crate) fn driver(&self, number: u32) -> Option<&str> {
        let StackId { kernel, .. } = self.stack(number);
        let mut modules = self.names.frames(kernel).filter_map(|frame| self.names.module(frame));
        modules.find(|module| !KERNEL.iter().any(|own| own.eq_ignore_ascii_case(module)))
    }

    /// The frames of a stack, innermost first; one stands for none.
    pub(crate) fn frames(&self, number: u32) -> impl Iterator<Item = Frame> {
        all_numbers(&self.names, self.stack(number)).map(|frame| self.names.frame(frame))
    }

    fn stack(&self, number: u32) -> StackId {
        self.stacks.get(number).copied().unwrap_or_default()
    }

    /// What a condition may call the functions of a stack, the innermost one first.
    pub(crate) fn functions_to_filter(&self, number: u32) -> Vec<Label> {
        self.frames(number).flat_map(|frame| frame_labels::functions(&self.names, frame)).collect()
    }

    /// What a condition may call a stack.
    pub(crate) fn stacks_to_filter(&self, number: u32) -> Vec<Label> {
        frame_labels::stacks(&self.names, &self.frames(number).collect::<Vec<_>>())
    }

    /// The names of the stack as it is shown, innermost first: of a very long one not all.
    pub(crate) fn names(&self, number: u32) -> Vec<String> {
        self.names.stack(self.frames(number), |frame| self.names.text(frame))
    }

    /// The number of the text of a stack.
    pub(crate) fn text_number(&self, number: u32, texts: &mut StackTexts) -> u32 {
        match self.stack(number) {
            StackId { kernel: None, user: None } => texts.of_frames(&self.names, &[Frame::NoStack]),
            StackId { kernel, user } => texts.of_lists(&self.names, kernel, user),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{PointerSize, Ticks};
    use proptest::prelude::*;

    proptest! {
        /// From any place, forwards and back.
        #[test]
        fn stacks_near_a_place_are_those_found_without_it(
            events in prop::collection::btree_set(0i64..300, 0..80),
            asked in prop::collection::vec((0i64..300, prop::option::of(0usize..400)), 0..80),
        ) {
            let moment = |time: i64| Moment { time: Ticks(time / 2), order: (time % 2) as u64 };
            let names = Names::new(&[], PointerSize::P8);
            let by_moment = (1u32..).zip(&events).map(|(number, time)| (moment(*time), number)).collect();
            let stacks = EventStacks { by_moment, stacks: Numbered::default(), names, of_kinds: FastMap::default() };
            let mut place = 0;
            for (time, jump) in asked {
                place = jump.unwrap_or(place);
                let found = stacks.find_near(moment(time), &mut place);
                prop_assert_eq!(found, stacks.find(moment(time)));
                prop_assert_eq!(found != EventStacks::NONE, events.contains(&time));
            }
        }
    }
}
