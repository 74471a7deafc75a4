//! The processors' steps of a slice of time, and the thread events between them, in one order.
//!
//! Only the order is kept: which list the next step comes from. Stretches of the slice are merged in parallel, because the
//! ordered pass over the steps is not.

use crate::analysis::cpu::processor::{Step, StepList};
use crate::etl::least_key::{Key, LeastKey};
use crate::load::facts::ThreadEvent;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use rayon::prelude::*;
use std::slice::Iter;

/// Steps that are merged together, about.
const STEPS: usize = 1 << 13;

/// Stands for a thread event in the order; no processor has this number.
const THREAD_EVENT: u32 = u32::MAX;

/// A slice.
#[derive(Debug, Default)]
pub struct Merged<'t> {
    /// Steps of each processor.
    pub lists: Vec<StepList>,
    threads: &'t [At<ThreadEvent>],
    /// Processor of each step, or [`THREAD_EVENT`].
    order: Vec<Vec<u32>>,
}

/// What comes next.
#[derive(Debug)]
pub enum Next<'l> {
    /// A processor's step, and how the span that it ends is spread over the timeline.
    Step(u16, &'l Step, &'l [(u32, u32, u64)]),
    /// A thread event.
    Thread(&'l At<ThreadEvent>),
}

impl<'t> Merged<'t> {
    /// Finds the order of the steps in `lists` and of the thread events before `until`, which are taken from `threads`.
    pub fn merge(&mut self, threads: &mut &'t [At<ThreadEvent>], until: Ticks) {
        let due = threads.partition_point(|event| event.moment.time < until);
        (self.threads, *threads) = threads.split_at(due);
        let cuts = self.cuts();
        self.order.resize_with(cuts.len() + 1, Vec::new);
        let Merged { lists, threads, order } = self;
        order.par_iter_mut().enumerate().for_each(|(number, order)| {
            let from = number.checked_sub(1).and_then(|before| cuts.get(before)).copied();
            merge(lists, threads, from, cuts.get(number).copied(), order);
        });
    }

    /// Moments that cut the slice into parts of about [`STEPS`].
    fn cuts(&self) -> Vec<Moment> {
        let all: usize = self.lists.iter().map(|list| list.steps.len()).sum();
        let parts = all / STEPS + 1;
        let Some(longest) = self.lists.iter().map(|list| &list.steps).max_by_key(|steps| steps.len()) else {
            return Vec::new();
        };
        (1..parts).filter_map(|part| longest.get(longest.len() * part / parts)).map(|step| step.moment).collect()
    }

    /// Calls `visit` with everything in order.
    #[inline(always)]
    pub fn each(&self, mut visit: impl FnMut(Next<'_>)) {
        let mut sources: Vec<Source<'_>> = self.lists.iter().map(Source::new).collect();
        let mut threads = self.threads.iter();
        for &number in self.order.iter().flatten() {
            match sources.get_mut(number as usize) {
                Some(source) => {
                    if let Some(step) = source.steps.next() {
                        visit(Next::Step(number as u16, step, source.parts()));
                    }
                }
                None => threads.next().into_iter().for_each(|event| visit(Next::Thread(event))),
            }
        }
    }
}

/// The part of `sorted` that `[from, until)` holds; `None`: no limit.
fn within<T>(sorted: &[T], moment: impl Fn(&T) -> Moment, from: Option<Moment>, until: Option<Moment>) -> &[T] {
    let before = |limit: Option<Moment>, or: usize| {
        limit.map_or(or, |limit| sorted.partition_point(|item| moment(item) < limit))
    };
    sorted.get(before(from, 0)..before(until, sorted.len())).unwrap_or_default()
}

/// Finds the order of what `[from, until)` holds.
fn merge(
    lists: &[StepList],
    threads: &[At<ThreadEvent>],
    from: Option<Moment>,
    until: Option<Moment>,
    order: &mut Vec<u32>,
) {
    let mut sources: Vec<Iter<'_, Step>> =
        lists.iter().map(|list| within(&list.steps, |step| step.moment, from, until).iter()).collect();
    let mut threads = within(threads, |event| event.moment, from, until).iter().peekable();
    // Records of equal time and rank are of one buffer, whose steps are in order already.
    let key = |source: &Iter<'_, Step>, number: usize| {
        let next = source.as_slice().first().map(|step| step.moment);
        next.map_or(Key::NONE, |moment| Key::new(moment.time, (moment.order >> 32) as u32, number))
    };
    order.clear();
    let mut least = LeastKey::new();
    for (number, source) in sources.iter().enumerate() {
        least.set(number, key(source, number));
    }
    let mut next = least.get();
    while let Some(source) = sources.get_mut(next.slot())
        && let Some(step) = source.next()
    {
        while threads.next_if(|event| event.moment < step.moment).is_some() {
            order.push(THREAD_EVENT);
        }
        order.push(next.slot() as u32);
        next = least.set(next.slot(), key(source, next.slot()));
    }
    order.extend(threads.map(|_| THREAD_EVENT));
}

/// The steps of a processor that have not been visited.
struct Source<'l> {
    steps: Iter<'l, Step>,
    count: usize,
    parts: &'l [(u32, u32, u64)],
}

impl<'l> Source<'l> {
    fn new(list: &'l StepList) -> Source<'l> {
        Source { steps: list.steps.iter(), count: list.steps.len(), parts: &list.parts }
    }

    /// The parts of the timeline that belong to the step that `steps` has just given.
    #[inline(always)]
    fn parts(&mut self) -> &'l [(u32, u32, u64)] {
        if self.parts.is_empty() {
            return &[];
        }
        let index = self.count - self.steps.len() - 1;
        let own = self.parts.iter().take_while(|part| part.0 as usize <= index).count();
        let (own, rest) = self.parts.split_at(own);
        self.parts = rest;
        own
    }
}
