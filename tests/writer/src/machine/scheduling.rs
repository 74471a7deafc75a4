//! Processors and what runs there, moment by moment: who owned each processor and what each thread did is painted as it
//! happens, which no rule computes.

use super::event::thread_record;
use super::lives::Thread;
use super::{Machine, State};
use crate::payloads::perf;
use crate::payloads::thread::{self, CompactSwitch, compact_switches};
use std::ops::Range;

/// Who owns a processor in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Thread(usize),
    Idle,
    Dpc,
    Isr,
}

/// What a thread does in a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Doing {
    Runs,
    Ready,
    Waits,
    #[default]
    Unknown,
    Gone,
}

/// What the scheduler knows of a thread.
#[derive(Debug, Clone, Default)]
pub struct Work {
    doing: Doing,
    /// When it became ready, where that is known.
    ready: Option<usize>,
    /// It waits, whatever the records tell of it.
    asleep: bool,
    priority: u64,
    quantum: u32,
    /// Ready records that came while it ran.
    raced: Vec<usize>,
    /// It is ready only because of such a record: since when, and when the record came.
    raced_ready: Option<(usize, usize)>,
}

#[derive(Debug, Clone)]
struct Processor {
    runs: Option<usize>,
    interrupts: Vec<(bool, usize)>,
    /// It logs compact switches until so late.
    compact_until: usize,
    /// Switches that are not logged yet.
    batch: Vec<CompactSwitch>,
    /// The new thread of its last switch is not logged.
    is_open: bool,
}

/// Processors, and everything that happened on them.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    now: usize,
    processors: Vec<Processor>,
    /// Owner of each processor in each moment.
    pub owners: Vec<Vec<Owner>>,
    /// What each thread did in each moment.
    pub doing: Vec<Vec<Doing>>,
    /// Finished delays: when they ended, thread, length.
    pub delays: Vec<(usize, usize, u64)>,
    /// Switch-ins without a known ready time: when.
    pub unknown_ready: Vec<usize>,
    /// Times of all switches.
    pub switches: Vec<usize>,
    /// Ready records that changed nothing: when they were logged, thread.
    pub redundant: Vec<(usize, usize)>,
    /// Waits that seemed to have ended: thread, moments.
    waits: Vec<(usize, Range<usize>)>,
    /// Threads that an action of this moment is about.
    touched: Vec<usize>,
    /// Stamp of the first moment.
    first: u64,
}

/// A build of Windows whose number of wait reasons is known.
pub const BUILD: u32 = 10586;
/// Wait reasons of this build.
const WAIT_REASONS: u8 = 39;

const REASONS: [u8; 4] = [30, 31, 32, 33];

impl Machine {
    /// Begins to record threads of three processes, and lets them run for so many moments.
    pub fn run(&mut self, threads: usize, moments: usize) {
        for pid in [100, 104, 108] {
            let life = self.birth(pid, None, true).expect("a new id");
            self.lives[life].state = State::Alive;
        }
        for number in 0..threads {
            self.new_thread(number % 3, 8 + 4 * number as u32, None, (0, 0));
            self.threads[number].work = Work { asleep: true, priority: self.rng.below(4), ..Work::default() };
        }
        let processors = usize::from(self.setup.processors);
        for number in 0..processors {
            // At first some processors are idle.
            let runs = (number < threads && self.rng.percent(70)).then_some(number);
            if let Some(thread) = runs {
                let work = &mut self.threads[thread].work;
                (work.doing, work.asleep) = (Doing::Runs, false);
            }
            let compact_until = if self.rng.percent(30) { moments * 2 / 3 } else { 0 };
            let (interrupts, batch) = (Vec::new(), Vec::new());
            self.schedule.processors.push(Processor { runs, interrupts, compact_until, batch, is_open: false });
        }
        (self.schedule.owners, self.schedule.doing) = (vec![Vec::new(); processors], vec![Vec::new(); threads]);
        self.begin();
        self.schedule.first = self.time + 10;
        self.paint();
        for now in 1..moments {
            self.pass(now);
            self.schedule.touched.clear();
            let acting = self.rng.below(processors as u64) as usize;
            self.act(acting);
            if processors > 1 && self.rng.percent(25) {
                // Another one does something else in the same moment.
                let other = 1 + self.rng.below(processors as u64 - 1) as usize;
                self.act((acting + other) % processors);
            }
            self.paint();
        }
    }

    fn pass(&mut self, now: usize) {
        (self.schedule.now, self.time) = (now, self.stamp(now));
    }

    /// Raw stamp of a moment.
    pub fn stamp(&self, moment: usize) -> u64 {
        self.schedule.first + moment as u64
    }

    fn log_thread(&mut self, processor: usize, thread: usize, hook: u16) {
        self.log_on(processor as u16, thread_record(self.setup.p, &self.thread(thread), hook));
    }

    fn act(&mut self, at: usize) {
        let chance = self.rng.below(100);
        match self.schedule.processors[at].interrupts.len() {
            0 if chance < 6 => self.interrupt(at),
            0 if chance < 9 => self.wake_late(at),
            0 => self.run_on(at, chance),
            // Inside of an interrupt: it ends, another one comes, or it readies a thread.
            depth if chance < 10 && depth < 3 => self.interrupt(at),
            _ if chance < 30 => self.wake(at, true),
            _ if chance < 70 => self.end_interrupt(at),
            _ => {}
        }
    }

    fn interrupt(&mut self, at: usize) {
        let isr = self.rng.percent(50);
        let begin = self.schedule.now;
        self.schedule.processors[at].interrupts.push((isr, begin));
    }

    fn end_interrupt(&mut self, at: usize) {
        let Some((isr, begin)) = self.schedule.processors[at].interrupts.pop() else { return };
        let (start, routine) = (self.stamp(begin), 0xffff_f800_0010_0000 + 16 * self.rng.below(3));
        let hook = [0x0f42, 0x0f44, 0x0f45][self.rng.below(3) as usize];
        let p = self.setup.p;
        let rec = match isr {
            true => perf::isr(p, 0x0f43, start, routine, 1, 0x51),
            false => perf::dpc(p, hook, start, routine),
        };
        self.log_on(at as u16, rec);
    }

    /// Readies a thread that waits, or that no record has told of.
    fn wake(&mut self, at: usize, from_dpc: bool) {
        if self.rng.percent(20) {
            return self.wake_again(at, from_dpc);
        }
        let Some(number) = self.any(|work| work.asleep) else { return };
        (self.threads[number].work.asleep, self.threads[number].work.quantum) = (false, 0);
        // Some records are not logged: then nobody knows how long the thread was ready.
        if self.rng.percent(90) {
            let tid = self.threads[number].tid;
            self.log_on(at as u16, thread::ready(self.setup.p, tid, 1, 0, u8::from(from_dpc)));
            (self.threads[number].work.doing, self.threads[number].work.ready) =
                (Doing::Ready, Some(self.schedule.now));
        }
    }

    /// Any thread that another action of this moment is not about.
    fn any(&mut self, which: impl Fn(&Work) -> bool) -> Option<usize> {
        let all = (0..self.threads.len())
            .filter(|number| which(&self.threads[*number].work) && !self.schedule.touched.contains(number));
        let all: Vec<usize> = all.collect();
        let number = *all.get(self.rng.below(all.len() as u64) as usize)?;
        self.schedule.touched.push(number);
        Some(number)
    }

    /// Readies a thread that is ready already, or that has not yet begun to wait.
    fn wake_again(&mut self, at: usize, from_dpc: bool) {
        let can_be = |work: &Work| match work.doing {
            Doing::Ready => work.ready.is_some(),
            doing => doing == Doing::Runs,
        };
        let Some(number) = self.any(can_be) else { return };
        let tid = self.threads[number].tid;
        self.log_on(at as u16, thread::ready(self.setup.p, tid, 1, 0, u8::from(from_dpc)));
        let now = self.schedule.now;
        let work = &mut self.threads[number].work;
        match (work.doing, work.raced_ready.take()) {
            (Doing::Runs, _) => work.raced.push(now),
            (_, None) => self.schedule.redundant.push((now, number)),
            // It still waited when the earlier record seemed to have ended its wait.
            (_, Some((since, record))) => {
                work.ready = Some(now);
                self.schedule.redundant.push((record, number));
                self.schedule.waits.push((number, since..now));
            }
        }
    }

    /// What each thread did in each moment, as it is known in the end.
    pub fn doing(&self) -> Vec<Vec<Doing>> {
        let mut doing = self.schedule.doing.clone();
        for (number, moments) in &self.schedule.waits {
            doing[*number][moments.clone()].fill(Doing::Waits);
        }
        doing
    }

    /// A thread of this processor wakes another, starts one, or sees one end.
    fn wake_late(&mut self, at: usize) {
        match self.rng.below(4) {
            0 => self.spawn(at),
            _ => self.wake(at, false),
        }
    }

    /// Starts a thread with the id of one that has ended, or a new one.
    fn spawn(&mut self, at: usize) {
        let is_gone =
            |number: usize| self.threads[number].work.doing == Doing::Gone && !self.schedule.touched.contains(&number);
        let in_use =
            |tid: u32| (0..self.threads.len()).any(|number| self.threads[number].tid == tid && !is_gone(number));
        let Some(tid) = (2..40).map(|n| 4 * n).find(|&tid| !in_use(tid)) else { return };
        let (life, priority, thing) = (self.rng.below(3) as usize, self.rng.below(4), self.thing());
        let work = Work { doing: Doing::Waits, asleep: true, priority, ..Work::default() };
        self.schedule.touched.push(self.threads.len());
        self.threads.push(Thread { tid, life, stack: None, thing, alive: true, work });
        self.schedule.doing.push(vec![Doing::Gone; self.schedule.now]);
        self.log_thread(at, self.threads.len() - 1, thread::START);
    }

    fn run_on(&mut self, at: usize, chance: u64) {
        let Some(old) = self.schedule.processors[at].runs else { return self.dispatch(at, 5, 0) };
        if self.schedule.touched.contains(&old) {
            return;
        }
        self.threads[old].work.quantum += 1;
        let best = self.best().map(|number| self.threads[number].work.priority);
        let is_better = best.is_some_and(|best| best > self.threads[old].work.priority);
        match chance {
            // A thread of higher priority takes the processor.
            _ if is_better && chance < 70 => self.dispatch(at, 1, REASONS[1 + chance as usize % 2]),
            _ if self.threads[old].work.quantum > 12 => self.dispatch(at, 1, 30),
            9..25 => {
                self.threads[old].work.asleep = true;
                self.dispatch(at, 5, [0, 6, 15][chance as usize % 3]);
            }
            25..28 => self.dispatch(at, 1, 33),
            28 => self.end_while_it_waits(at),
            29 => self.dispatch(at, 4, 0),
            _ => {}
        }
    }

    /// The ready thread with the greatest priority.
    fn best(&self) -> Option<usize> {
        let can_run = |number: &usize| {
            let work = &self.threads[*number].work;
            let can_run = !work.asleep && work.doing != Doing::Runs && work.doing != Doing::Gone;
            can_run && !self.schedule.touched.contains(number)
        };
        (0..self.threads.len()).filter(can_run).max_by_key(|&number| (self.threads[number].work.priority, number))
    }

    /// A thread that waits is ended by another.
    fn end_while_it_waits(&mut self, at: usize) {
        let Some(number) = self.any(|work| work.asleep && work.doing == Doing::Waits) else { return };
        self.log_thread(at, number, thread::END);
        (self.threads[number].work.doing, self.threads[number].work.asleep) = (Doing::Gone, false);
    }

    /// Switches to the best thread; the old one is in `state` from now on.
    fn dispatch(&mut self, at: usize, state: u8, reason: u8) {
        let (old, new) = (self.schedule.processors[at].runs, self.best());
        if old.is_none() && new.is_none() {
            return;
        }
        self.schedule.touched.extend(old.into_iter().chain(new));
        self.log_switch(at, old, new, (state, reason));
        self.schedule.switches.push(self.schedule.now);
        if let Some(new) = new {
            let work = &mut self.threads[new].work;
            match work.ready.take() {
                Some(ready) => self.schedule.delays.push((self.schedule.now, new, (self.schedule.now - ready) as u64)),
                None => self.schedule.unknown_ready.push(self.schedule.now),
            }
            (work.doing, work.quantum, work.raced_ready) = (Doing::Runs, 0, None);
        }
        if let Some(old) = old {
            let now = self.schedule.now;
            let work = &mut self.threads[old].work;
            (work.doing, work.ready) = match state {
                1 => (Doing::Ready, Some(now)),
                4 => (Doing::Gone, None),
                _ => (Doing::Waits, None),
            };
            let mut raced = std::mem::take(&mut work.raced);
            if state == 5 && !raced.is_empty() {
                (work.doing, work.ready, work.asleep) = (Doing::Ready, Some(now), false);
                work.raced_ready = Some((now, raced.remove(0)));
            }
            self.schedule.redundant.extend(raced.into_iter().map(|record| (record, old)));
        }
        self.schedule.processors[at].runs = new;
    }

    /// Logs a switch, on some processors in packets of several.
    fn log_switch(&mut self, at: usize, old: Option<usize>, new: Option<usize>, (state, reason): (u8, u8)) {
        let tid = |number: Option<usize>| number.map_or(0, |number| self.threads[number].tid);
        let (new, old, time) = (tid(new), tid(old), self.stamp(self.schedule.now));
        let is_compact = self.schedule.now < self.schedule.processors[at].compact_until;
        let batch = &mut self.schedule.processors[at].batch;
        if is_compact {
            let number = if state == 5 { reason } else { WAIT_REASONS + state };
            batch.push(CompactSwitch { time, old, number });
        }
        if batch.len() == 7 || !is_compact && !batch.is_empty() {
            let batch = std::mem::take(batch);
            self.log_on(at as u16, compact_switches(&batch));
        }
        if !is_compact {
            let switch = thread::Switch { new, old, state, wait_reason: reason, ..thread::Switch::default() };
            self.log_on(at as u16, switch.rec(self.setup.p, 4));
        }
        self.schedule.processors[at].is_open = is_compact;
    }

    /// True when the last switch of each processor names the thread that runs from then on.
    pub fn is_closed(&self) -> bool {
        !self.schedule.processors.iter().any(|processor| processor.is_open)
    }

    fn paint(&mut self) {
        for (list, processor) in self.schedule.owners.iter_mut().zip(&self.schedule.processors) {
            list.push(match (processor.interrupts.last(), processor.runs) {
                (Some((true, _)), _) => Owner::Isr,
                (Some((false, _)), _) => Owner::Dpc,
                (None, Some(number)) => Owner::Thread(number),
                (None, None) => Owner::Idle,
            });
        }
        for (list, thread) in self.schedule.doing.iter_mut().zip(&self.threads) {
            list.push(thread.work.doing);
        }
    }

    /// Ends the interrupts that are not over, so that all are logged.
    pub fn settle(&mut self) {
        for at in 0..self.schedule.processors.len() {
            while !self.schedule.processors[at].interrupts.is_empty() {
                self.pass(self.schedule.now + 1);
                self.end_interrupt(at);
                self.paint();
            }
        }
    }
}
