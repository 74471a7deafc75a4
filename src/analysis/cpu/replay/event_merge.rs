//! The processors' events of a slice of time, and the thread events between them, in one order.
//!
//! Stretches of the slice are merged in parallel, because the pass over the events in order has only one thread. They are
//! copied, because that pass reads one list faster than a list for each processor.

use crate::analysis::cpu::replay::processor_event::{ProcessorEvent, ProcessorEvents, StepPart};
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::switch_stacks::{KeptStack, SwitchStacks};
use crate::etl::tournament_tree::{Head, TournamentTree};
use crate::load::owned_events::ThreadEvent;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use rayon::prelude::*;
use std::ops::Range;
use std::slice::Iter;

/// Events that are merged together, about.
const EVENTS: usize = 1 << 12;

/// What events in order are passed on to.
pub(crate) trait InOrder {
    /// What it keeps of stacks.
    type Stack: KeptStack;

    /// An event of a processor, see [`Scheduler::event`].
    fn event(&mut self, event: &ProcessorEvent, parts: &[StepPart], stack: Self::Stack);

    /// A thread event.
    fn thread_event(&mut self, event: &At<ThreadEvent>);
}

impl<S: KeptStack> InOrder for Scheduler<'_, S> {
    type Stack = S;

    #[inline(always)]
    fn event(&mut self, event: &ProcessorEvent, parts: &[StepPart], stack: S) {
        Scheduler::event(self, event, parts, stack);
    }

    fn thread_event(&mut self, event: &At<ThreadEvent>) {
        Scheduler::thread_event(self, event);
    }
}

/// A slice. `S` is what is kept of the stacks of its events.
#[derive(Debug, Default)]
pub struct MergedEvents<'t, S> {
    threads: &'t [At<ThreadEvent>],
    stretches: Vec<Stretch<S>>,
}

/// A part of a slice.
#[derive(Debug, Default)]
struct Stretch<S> {
    list: ProcessorEvents,
    /// By event.
    stacks: Vec<S>,
    /// For each thread event, the index of the event that comes after it.
    thread_events: Vec<usize>,
}

impl<'t, S: KeptStack> MergedEvents<'t, S> {
    /// Merges the events in `lists` and the thread events before `until`, which are taken from `threads`.
    pub fn merge(
        &mut self,
        lists: &[ProcessorEvents],
        threads: &mut &'t [At<ThreadEvent>],
        until: Ticks,
        stacks: Option<&SwitchStacks>,
    ) {
        let due = threads.partition_point(|event| event.moment.time < until);
        (self.threads, *threads) = threads.split_at(due);
        let cuts = cuts(lists);
        self.stretches.resize_with(cuts.len() + 1, Stretch::default);
        self.stretches.par_iter_mut().enumerate().for_each(|(number, stretch)| {
            let from = number.checked_sub(1).and_then(|before| cuts.get(before)).copied();
            let until = cuts.get(number).copied();
            let threads =
                within(self.threads.len(), |index| self.threads.get(index).map(|event| event.moment), from, until);
            stretch.merge(lists, self.threads.get(threads).unwrap_or_default(), (from, until), stacks);
        });
    }

    /// Passes everything on in order.
    pub(crate) fn replay(&self, reader: &mut impl InOrder<Stack = S>) {
        let mut threads = self.threads.iter();
        for Stretch { list, stacks, thread_events } in &self.stretches {
            let (mut from, mut parts) = (0, list.parts.as_slice());
            for until in thread_events.iter().copied().map(Some).chain([None]) {
                let events = list.events.get(from..until.unwrap_or(list.events.len())).unwrap_or_default();
                let stacks = stacks.get(from..from + events.len()).unwrap_or_default();
                for ((index, event), stack) in (from..).zip(events).zip(stacks) {
                    reader.event(event, take_parts(&mut parts, index), *stack);
                }
                from += events.len();
                until.and_then(|_| threads.next()).into_iter().for_each(|event| reader.thread_event(event));
            }
        }
    }
}

impl<S: KeptStack> Stretch<S> {
    /// Merges what `[from, until)` holds.
    fn merge(
        &mut self,
        lists: &[ProcessorEvents],
        threads: &[At<ThreadEvent>],
        (from, until): (Option<Moment>, Option<Moment>),
        known: Option<&SwitchStacks>,
    ) {
        let Stretch { list: out, stacks, thread_events } = self;
        out.clear();
        stacks.clear();
        thread_events.clear();
        let mut place = 0;
        let mut sources: Vec<Source<'_>> = lists.iter().map(|list| Source::new(list, from, until)).collect();
        let mut threads = threads.iter().peekable();
        let heads = sources.iter().filter_map(Source::head);
        let mut least = TournamentTree::new(heads.map(|(time, _)| time).min().unwrap_or_default());
        for (number, source) in (0..=u16::MAX).zip(&sources) {
            least.set(number, source.head());
        }
        let mut next = least.get();
        while let Some(slot) = next
            && let Some(source) = sources.get_mut(slot)
            && let (Some(event), Some(&order)) = (source.events.next(), source.orders.next())
        {
            let moment = Moment { time: event.time, order };
            while threads.next_if(|event| event.moment < moment).is_some() {
                thread_events.push(out.events.len());
            }
            let index = out.events.len() as u32;
            for part in take_parts(&mut source.parts, source.index) {
                out.parts.push(StepPart { index, ..*part });
            }
            source.index += 1;
            out.events.push(*event);
            stacks.push(S::find(known, moment, &mut place));
            next = least.set(slot as u16, source.head());
        }
        thread_events.extend(threads.map(|_| out.events.len()));
    }
}

/// Events of a processor that have not been merged.
struct Source<'l> {
    index: usize,
    events: Iter<'l, ProcessorEvent>,
    orders: Iter<'l, u64>,
    parts: &'l [StepPart],
}

impl<'l> Source<'l> {
    /// Those in `[from, until)`.
    fn new(list: &'l ProcessorEvents, from: Option<Moment>, until: Option<Moment>) -> Source<'l> {
        let range = within(list.events.len(), |index| list.moment(index), from, until);
        let mut parts = list.parts.as_slice();
        if let Some(before) = range.start.checked_sub(1) {
            take_parts(&mut parts, before);
        }
        Source {
            index: range.start,
            events: list.events.get(range.clone()).unwrap_or_default().iter(),
            orders: list.orders.get(range).unwrap_or_default().iter(),
            parts,
        }
    }

    /// When the next event was logged. Records of equal time and rank are of one buffer, whose events are in order already.
    #[inline(always)]
    fn head(&self) -> Option<Head> {
        let (event, order) = (self.events.as_slice().first()?, self.orders.as_slice().first()?);
        Some((event.time, (order >> 32) as u32))
    }
}

/// Moments that cut the lists into stretches of about [`EVENTS`].
fn cuts(lists: &[ProcessorEvents]) -> Vec<Moment> {
    let all: usize = lists.iter().map(|list| list.events.len()).sum();
    let stretches = all / EVENTS + 1;
    let Some(longest) = lists.iter().max_by_key(|list| list.events.len()) else { return Vec::new() };
    (1..stretches).filter_map(|number| longest.moment(longest.events.len() * number / stretches)).collect()
}

/// The indices of a sorted list that `[from, until)` holds; `None`: no limit.
fn within(
    length: usize,
    moment: impl Fn(usize) -> Option<Moment>,
    from: Option<Moment>,
    until: Option<Moment>,
) -> Range<usize> {
    let first_at = |limit: Moment| {
        let (mut low, mut high) = (0, length);
        while low < high {
            let middle = low.midpoint(high);
            if moment(middle).is_some_and(|moment| moment < limit) { low = middle + 1 } else { high = middle }
        }
        low
    };
    from.map_or(0, first_at)..until.map_or(length, first_at)
}

/// The parts of the span that the event with this index ends, and those of events before it, are taken from `parts`.
#[inline(always)]
fn take_parts<'l>(parts: &mut &'l [StepPart], index: usize) -> &'l [StepPart] {
    if parts.is_empty() {
        return &[];
    }
    let (own, rest) = parts.split_at(parts.iter().take_while(|part| part.index as usize <= index).count());
    *parts = rest;
    own
}
