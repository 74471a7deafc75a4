//! One processor: what it does at each moment, from its records alone.
//!
//! Passes its records on in order, each switch with the thread time of the span that it ends. [`super::scheduler`] takes those of
//! all processors.

use crate::analysis::cpu::replay::interrupt_nesting::{InterruptNesting, Interval};
use crate::analysis::cpu::replay::processor_event::{ProcessorEvent, ProcessorEventKind, ProcessorEvents, StepPart};
use crate::analysis::time_grid::{Grid, NextPoint, Steps, TickRange};
use crate::etl::Scratch;
use crate::load::interruptions::{Interruption, InterruptionEvent};
use crate::load::scheduling::{Scheduling, SchedulingEvent, SchedulingReader, SchedulingRecords, UNKNOWN_THREAD};
use crate::moment::Moment;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::collections::VecDeque;

/// What a processor can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorUse {
    /// Threads other than idle.
    Threads,
    /// The idle thread.
    Idle,
    /// Deferred procedure calls.
    Dpc,
    /// Interrupts.
    Isr,
    /// Unknown.
    Unknown,
}

/// Ticks by [`ProcessorUse`].
pub(crate) type TicksByUse = [u64; 5];

/// What ran, how often and how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutineTimes {
    /// Records in the window.
    pub count: u64,
    /// Their whole time.
    pub inclusive: u64,
    /// Moments of the window that it owned.
    pub exclusive: u64,
    /// The longest.
    pub max: u64,
}

/// Kind, address, and the number of the time span in which the same kernel images are loaded.
pub type Routine = (Interruption, u64, u32);

/// What is known of a processor before its records are read.
#[derive(Debug, Clone, Default)]
pub struct ProcessorSetup {
    /// Number of the processor.
    pub number: u16,
    /// Records before it have been handled.
    pub(crate) begin: Ticks,
    /// The window.
    pub range: TickRange,
    /// Steps of the timeline.
    pub timeline: Option<Grid>,
    /// Clock ticks.
    pub clock: Option<Grid>,
    /// When records go missing, in order.
    pub holes: VecDeque<Moment>,
    /// Nothing tells what ran before the first switch: only the last buffers were kept.
    pub(crate) begins_unknown: bool,
    /// Buffers are missing that can have been before its first one, and after its last one.
    pub(crate) missing_at_ends: (bool, bool),
    /// The last switch.
    pub(crate) last_switch: Option<Ticks>,
    /// First switch of each buffer and its old thread, in order.
    pub first_switches: Vec<(Moment, u32)>,
    /// When kernel images were loaded and unloaded, in order.
    pub image_changes: std::sync::Arc<[Ticks]>,
}

impl ProcessorSetup {
    fn first_thread(&self) -> Option<u32> {
        self.first_switches.first().map(|&(_, old)| old).filter(|_| !self.begins_unknown)
    }
}

/// What one processor did.
#[derive(Debug)]
pub struct Processor {
    setup: ProcessorSetup,
    /// Records whose time has not come yet.
    records: SchedulingRecords,
    is_sorted: bool,
    scratch: Scratch,
    nesting: InterruptNesting,
    clock: Option<NextPoint>,
    steps: Steps,
    /// The thread that runs; `None`: unknown.
    running: Option<u32>,
    after_hole: bool,
    /// First switch after the window and its old thread, of the buffers that were read.
    next_outside: Option<(Moment, u32)>,
    span: Span,
    logged: u32,
    latest: Moment,
    routine_ids: FastMap<Routine, u32>,
    /// What ran.
    pub routines: Vec<(Routine, RoutineTimes)>,
    /// Ticks by use in each step of the timeline; without a timeline there is one.
    pub times: Vec<TicksByUse>,
    /// Clock ticks by use, without those of threads.
    pub charged: TicksByUse,
    /// Context switches in the window.
    pub switches: u64,
    /// Context switches from another thread than the one that ran.
    pub breaks: u64,
    /// Interrupts whose initial time is after their record.
    pub malformed: u64,
    /// Interrupts whose initial time is before the first record of the trace.
    pub implausible: u64,
    /// Interrupts whose initial time is before a switch that was before their record.
    pub(crate) over_switches: u64,
    /// Samples of threads in the window while it is known which thread runs, and those of another thread than that.
    pub(crate) samples: (u64, u64),
}

/// The time since the last switch.
#[derive(Debug, Default)]
struct Span {
    ticks: u64,
    charged: u64,
    parts: Vec<(u32, u64)>,
}

/// When a switch was, and its old thread.
fn switched(event: &SchedulingEvent) -> Option<(Moment, u32)> {
    match event.what {
        Scheduling::Switch { old, .. } => Some((event.moment, old)),
        _ => None,
    }
}

impl Processor {
    /// A processor without records.
    pub fn new(setup: ProcessorSetup) -> Processor {
        let first = setup.first_thread();
        Processor {
            records: SchedulingRecords::default(),
            is_sorted: true,
            scratch: Scratch::new(),
            nesting: InterruptNesting::new(setup.range),
            clock: setup.clock.map(NextPoint::new),
            steps: Steps::new(setup.timeline),
            running: first,
            after_hole: first.is_none(),
            next_outside: None,
            span: Span::default(),
            logged: 0,
            latest: Moment::FIRST,
            routine_ids: FastMap::default(),
            routines: Vec::new(),
            times: vec![[0; 5]],
            charged: [0; 5],
            switches: 0,
            breaks: 0,
            malformed: 0,
            implausible: 0,
            over_switches: 0,
            samples: (0, 0),
            setup,
        }
    }

    /// The same processor in the time after the window; it reads the buffers of that time again.
    pub(crate) fn after_window(&self) -> Processor {
        let begin = self.setup.range.to;
        let range = TickRange { from: begin, to: Ticks(i64::MAX) };
        let setup = ProcessorSetup { begin, range, timeline: None, clock: None, ..self.setup.clone() };
        Processor { running: self.running, after_hole: self.after_hole, ..Processor::new(setup) }
    }

    /// The thread that runs at first, as far as it is known.
    pub fn first_thread(&self) -> Option<u32> {
        self.setup.first_thread()
    }

    /// Ticks of the window before the first switch and after the last one in which buffers are missing that can be of this processor.
    pub(crate) fn perhaps_missing(&self) -> u64 {
        let ProcessorSetup { range, first_switches, last_switch, missing_at_ends, .. } = &self.setup;
        let ticks = |from: Ticks, to: Ticks| u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
        let before = first_switches.first().map_or(0, |(first, _)| ticks(range.from, first.time.min(range.to)));
        let after = last_switch.map_or(0, |last| ticks(last.max(range.from), range.to));
        let counted = |is_missing: bool, ticks: u64| if is_missing { ticks } else { 0 };
        counted(missing_at_ends.0 && !self.setup.begins_unknown, before)
            .saturating_add(counted(missing_at_ends.1, after))
    }

    /// Without any switch or interrupt: nothing is known about it.
    pub fn has_switches(&self) -> bool {
        !self.setup.first_switches.is_empty()
    }

    /// Reads a buffer; `trace_begin` is the first stamp of the trace.
    pub fn read(&mut self, reader: &SchedulingReader<'_>, buffer: u32, trace_begin: Ticks) {
        let before = self.records.events.len();
        reader.read(buffer, &mut self.scratch, &mut self.records);
        let events = &mut self.records.events;
        let new = events.get(before..).unwrap_or_default();
        if let (Some(first), Some(last)) = (new.first(), new.last()) {
            self.is_sorted &= self.latest <= first.moment;
            self.latest = self.latest.max(last.moment);
            let inside = new.partition_point(|event| event.moment.time < self.setup.range.to);
            let outside = new.iter().skip(inside).find_map(switched);
            self.next_outside = [self.next_outside, outside].into_iter().flatten().min();
            events.truncate(before + inside);
            let handled = events.get(before..).unwrap_or_default();
            let handled = handled.partition_point(|event| event.moment.time < self.setup.begin);
            events.drain(before..before + handled);
        }
        let mut interruptions = std::mem::take(&mut self.records.interruptions);
        interruptions.drain(..).for_each(|event| self.interruption(&event, trace_begin));
        self.records.interruptions = interruptions;
    }

    fn interruption(&mut self, event: &InterruptionEvent, trace_begin: Ticks) {
        let end = event.end.time;
        let range = self.setup.range;
        let is_inside = range.holds(end);
        if !is_inside && (end <= range.from || event.begin >= range.to) {
            return;
        }
        let images = self.setup.image_changes.partition_point(|change| *change <= end) as u32;
        let routine = (event.kind, event.routine, images);
        let next = self.routines.len() as u32;
        let id = *self.routine_ids.entry(routine).or_insert(next);
        if id == next {
            self.routines.push((routine, RoutineTimes::default()));
        }
        // No clock of a machine was ever below 0, and before the trace nobody saw it: such a begin says no more than one after the end.
        let length = u64::try_from(i128::from(end.0) - i128::from(event.begin.0)).ok().filter(|_| event.begin.0 >= 0);
        let is_seen = event.begin >= trace_begin;
        self.malformed += u64::from(is_inside && length.is_none());
        self.implausible += u64::from(is_inside && length.is_some() && !is_seen);
        self.over_switches += u64::from(is_inside && length.is_some() && is_seen && event.holds_switch);
        let length = length.filter(|_| is_seen && !event.holds_switch);
        let begin = if length.is_some() { event.begin } else { end };
        let length = length.unwrap_or(0);
        if let (true, Some((_, times))) = (is_inside, self.routines.get_mut(id as usize)) {
            times.count += 1;
            times.inclusive = times.inclusive.saturating_add(length);
            times.max = times.max.max(length);
        }
        let logged = self.logged;
        self.logged = self.logged.wrapping_add(1);
        self.nesting.add(Interval { begin, end, logged, owner: id });
    }

    /// Passes on all records before `until`, or the window's end. Everything that begins before it must have been added.
    pub fn advance(&mut self, until: Ticks, out: &mut ProcessorEvents) {
        out.clear();
        // Holes after the window stay: they tell that the switch after them says nothing of the run before.
        let until = until.min(self.setup.range.to);
        let mut pending = std::mem::take(&mut self.records.events);
        if !self.is_sorted {
            pending.sort_by_key(|event| event.moment);
            self.is_sorted = true;
        }
        let processor = self.setup.number;
        let due = pending.partition_point(|event| event.moment.time < until);
        out.events.reserve(due);
        out.orders.reserve(due);
        for (index, event) in pending.iter().enumerate().take(due) {
            self.holes_before(event.moment, out);
            let (thread, other, kind) = match event.what {
                Scheduling::Switch { state, reason, new, old } => {
                    let new = new.unwrap_or_else(|| self.next_old(&pending, index));
                    self.switch(event.moment, (state, reason), (new, old), out);
                    continue;
                }
                Scheduling::Ready { from_dpc: false, thread, waker } => (thread, waker, ProcessorEventKind::Ready),
                Scheduling::Ready { from_dpc: true, thread, waker } => {
                    (thread, waker, ProcessorEventKind::ReadyFromDpc)
                }
                Scheduling::Sample { thread, count, .. } => (thread, count, ProcessorEventKind::Sample),
            };
            let state = if let Scheduling::Sample { flags, .. } = event.what { flags } else { 0 };
            if kind == ProcessorEventKind::Sample && state & 3 == 0 {
                self.sampled(event.moment.time, thread);
            }
            let Moment { time, order } = event.moment;
            out.push(
                order,
                ProcessorEvent { time, cpu: 0, thread, other, charged: 0, processor, kind, state, reason: 0 },
            );
        }
        pending.drain(..due);
        self.records.events = pending;
        self.holes_before(Moment { time: until, order: 0 }, out);
    }

    /// Compares the thread of a sample with the one that runs.
    fn sampled(&mut self, time: Ticks, thread: u32) {
        let running = self.running.filter(|_| thread != UNKNOWN_THREAD && self.setup.range.holds(time));
        if let Some(running) = running {
            self.samples = (self.samples.0 + 1, self.samples.1 + u64::from(running != thread));
        }
    }

    /// The old thread of the switch after the one at `index`, if nothing is missing in between.
    #[cold]
    fn next_old(&self, pending: &[SchedulingEvent], index: usize) -> u32 {
        let Some(this) = pending.get(index) else { return UNKNOWN_THREAD };
        let read = pending.iter().skip(index + 1).find_map(switched).or(self.next_outside);
        self.old_of_next_switch(this.moment, read).unwrap_or(UNKNOWN_THREAD)
    }

    /// The old thread of the first switch after a moment, if nothing is missing in between. `read`: the first one of the buffers that
    /// were read.
    fn old_of_next_switch(&self, moment: Moment, read: Option<(Moment, u32)>) -> Option<u32> {
        let firsts = &self.setup.first_switches;
        let unread = firsts.get(firsts.partition_point(|(first, _)| *first <= moment)).copied();
        let (next, old) = [read, unread].into_iter().flatten().min_by_key(|(moment, _)| *moment)?;
        let is_cut = self.setup.holes.front().is_some_and(|hole| *hole < next);
        (!is_cut).then_some(old)
    }

    #[inline(always)]
    fn holes_before(&mut self, moment: Moment, out: &mut ProcessorEvents) {
        while let Some(hole) = self.setup.holes.front().copied().filter(|hole| *hole < moment) {
            self.setup.holes.pop_front();
            self.hole(hole, out);
        }
    }

    #[cold]
    fn hole(&mut self, moment: Moment, out: &mut ProcessorEvents) {
        self.pass(moment.time);
        let (cpu, charged) = self.end_span(self.used_for(), out);
        self.ends_span(ProcessorEventKind::RecordsMissing, moment, (cpu, charged), out);
        (self.running, self.after_hole) = (None, true);
    }

    /// An event that ends the span and is about no thread.
    fn ends_span(
        &self,
        kind: ProcessorEventKind,
        Moment { time, order }: Moment,
        (cpu, charged): (u64, u32),
        out: &mut ProcessorEvents,
    ) {
        let (thread, processor) = (UNKNOWN_THREAD, self.setup.number);
        out.push(
            order,
            ProcessorEvent { time, cpu, thread, other: thread, charged, processor, kind, state: 0, reason: 0 },
        );
    }

    #[inline(always)]
    fn switch(&mut self, moment: Moment, (state, reason): (u8, u8), (new, old): (u32, u32), out: &mut ProcessorEvents) {
        self.pass(moment.time);
        let is_break = !self.after_hole && self.running != Some(old);
        let used_for = if is_break { ProcessorUse::Unknown } else { self.used_for() };
        let (cpu, charged) = self.end_span(used_for, out);
        if self.setup.range.holds(moment.time) {
            self.switches += 1;
            self.breaks += u64::from(is_break);
        }
        let kind = if is_break { ProcessorEventKind::Break } else { ProcessorEventKind::Switch };
        let (Moment { time, order }, processor) = (moment, self.setup.number);
        out.push(order, ProcessorEvent { time, cpu, thread: new, other: old, charged, processor, kind, state, reason });
        (self.running, self.after_hole) = (Some(new).filter(|&new| new != UNKNOWN_THREAD), new == UNKNOWN_THREAD);
    }

    /// The use of moments that no interrupt owns.
    #[inline(always)]
    fn used_for(&self) -> ProcessorUse {
        match self.running {
            Some(0) => ProcessorUse::Idle,
            Some(_) => ProcessorUse::Threads,
            None => ProcessorUse::Unknown,
        }
    }

    /// Lets time pass.
    #[inline(always)]
    fn pass(&mut self, until: Ticks) {
        let Processor { nesting, span, steps, times, clock, charged, routines, .. } = self;
        nesting.pass(until, |owner, from, to| {
            let ticks = clock.as_mut().map_or(0, |clock| clock.count_before(to));
            match owner.and_then(|owner| routines.get_mut(owner as usize)) {
                None => {
                    span.ticks += to.0.wrapping_sub(from.0) as u64;
                    span.charged += ticks;
                    steps.cut(from, to, |step, ticks| span.add(step, ticks));
                }
                Some(((kind, ..), routine)) => {
                    routine.exclusive += to.0.wrapping_sub(from.0) as u64;
                    let used_for = if *kind == Interruption::Isr { ProcessorUse::Isr } else { ProcessorUse::Dpc };
                    add(charged, used_for, ticks);
                    steps.cut(from, to, |step, ticks| add_in(times, step, used_for, ticks));
                }
            }
        });
    }

    /// Ends the span since the last switch: its time and clock ticks belong to this use.
    #[inline(always)]
    fn end_span(&mut self, used_for: ProcessorUse, out: &mut ProcessorEvents) -> (u64, u32) {
        let span = &mut self.span;
        let (ticks, charged) = (span.ticks, span.charged);
        if used_for != ProcessorUse::Threads {
            add(&mut self.charged, used_for, charged);
        }
        let index = out.events.len() as u32;
        for &(step, ticks) in &span.parts {
            add_in(&mut self.times, step, used_for, ticks);
            if self.setup.timeline.is_some() {
                out.parts.push(StepPart { index, number: step, ticks });
            }
        }
        span.parts.clear();
        (span.ticks, span.charged) = (0, 0);
        (ticks, u32::try_from(charged).unwrap_or(u32::MAX))
    }

    /// Lets the window end: the last event ends the last span.
    pub fn finish(&mut self, out: &mut ProcessorEvents) {
        self.advance(self.setup.range.to, out);
        self.pass(self.setup.range.to);
        let end = Moment { time: self.setup.range.to, order: 0 };
        // What a moment was does not depend on where the window ends.
        let next = self.old_of_next_switch(end, self.next_outside);
        let is_broken = self.running.zip(next).is_some_and(|(running, old)| running != old);
        let used_for = if is_broken { ProcessorUse::Unknown } else { self.used_for() };
        let (cpu, charged) = self.end_span(used_for, out);
        let kind = if is_broken { ProcessorEventKind::BrokenLater } else { ProcessorEventKind::RecordsMissing };
        self.ends_span(kind, end, (cpu, charged), out);
    }

    /// Records with an earlier stamp than the one before.
    pub fn went_back(&self) -> u64 {
        self.records.went_back
    }

    /// Intervals that overlap without nesting.
    pub fn not_nested(&self) -> u64 {
        self.nesting.not_nested
    }
}

impl Span {
    #[inline(always)]
    fn add(&mut self, step: u32, ticks: u64) {
        match self.parts.last_mut() {
            Some((last, sum)) if *last == step => *sum += ticks,
            _ => self.parts.push((step, ticks)),
        }
    }
}

/// Adds ticks of several processors, each as many as the window has: of a hostile window more than a number holds.
pub fn add_uses(sum: &mut TicksByUse, ticks: &TicksByUse) {
    sum.iter_mut().zip(ticks).for_each(|(sum, ticks)| *sum = sum.saturating_add(*ticks));
}

#[inline(always)]
fn add(all: &mut TicksByUse, used_for: ProcessorUse, ticks: u64) {
    all.get_mut(used_for as usize).into_iter().for_each(|sum| *sum += ticks);
}

#[inline(always)]
fn add_in(times: &mut Vec<TicksByUse>, step: u32, used_for: ProcessorUse, ticks: u64) {
    let step = step as usize;
    if times.len() <= step {
        times.resize(step + 1, [0; 5]);
    }
    times.get_mut(step).into_iter().for_each(|all| add(all, used_for, ticks));
}
