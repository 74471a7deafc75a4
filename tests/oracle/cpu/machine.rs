//! A made-up machine with processors and threads. It lives moment by moment, logs what a recorder would log, and paints who
//! owned each processor and what each thread did in each moment: the truth, which no rule computes.

use etl_writer::Ptr::P8;
use etl_writer::payloads::thread::{CompactSwitch, compact_switches};
use etl_writer::payloads::{perf, process, thread};
use etl_writer::{Rec, Rng, Session};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Runs,
    Ready,
    Waits,
    Unknown,
    Gone,
}

/// One life of a thread.
#[derive(Debug, Clone)]
struct Thread {
    tid: u32,
    pid: u32,
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

/// A processor.
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

/// Everything that happened.
#[derive(Debug)]
pub struct Machine {
    rng: Rng,
    now: usize,
    threads: Vec<Thread>,
    processors: Vec<Processor>,
    /// Owner of each processor in each moment.
    pub owners: Vec<Vec<Owner>>,
    /// What each life did in each moment.
    pub doing: Vec<Vec<Doing>>,
    /// Finished delays: when they ended, life, length.
    pub delays: Vec<(usize, usize, u64)>,
    /// Switch-ins without a known ready time: when.
    pub unknown_ready: Vec<usize>,
    /// Times of all switches.
    pub switches: Vec<usize>,
    /// Ready records that changed nothing: when they were logged, when that is known, life.
    pub redundant: Vec<(usize, usize, usize)>,
    /// Waits that seemed to have ended: when that is known, life, moments.
    waits: Vec<(usize, usize, Range<usize>)>,
    /// Lives that an action of this moment is about.
    touched: Vec<usize>,
    /// The records.
    pub records: Vec<Rec>,
    t0: u64,
}

/// Wait reasons of the session's build, see [`BUILD`].
const WAIT_REASONS: u8 = 39;

/// A build of Windows whose number of wait reasons is known.
pub const BUILD: u32 = 10586;

const REASONS: [u8; 4] = [30, 31, 32, 33];

impl Machine {
    /// A machine that has lived for so many moments.
    pub fn new(session: &Session, seed: u64, processors: usize, threads: usize, moments: usize) -> Machine {
        let mut rng = Rng::new(seed);
        let life = |number: usize| Thread {
            tid: 8 + 4 * number as u32,
            pid: 100 + 4 * (number % 3) as u32,
            doing: Doing::Unknown,
            ready: None,
            asleep: true,
            priority: 0,
            quantum: 0,
            raced: Vec::new(),
            raced_ready: None,
        };
        let mut all: Vec<Thread> = (0..threads).map(life).collect();
        let mut running = Vec::new();
        for number in 0..processors {
            // At first some processors are idle.
            let runs = (number < threads && rng.percent(70)).then_some(number);
            if let Some(thread) = runs {
                (all[thread].doing, all[thread].asleep) = (Doing::Runs, false);
            }
            let compact_until = if rng.percent(30) { moments * 2 / 3 } else { 0 };
            let (interrupts, batch) = (Vec::new(), Vec::new());
            running.push(Processor { runs, interrupts, compact_until, batch, is_open: false });
        }
        all.iter_mut().for_each(|thread| thread.priority = rng.below(4));
        let mut machine = Machine {
            rng,
            now: 0,
            owners: vec![Vec::new(); processors],
            doing: vec![Vec::new(); threads],
            threads: all,
            processors: running,
            delays: Vec::new(),
            unknown_ready: Vec::new(),
            switches: Vec::new(),
            redundant: Vec::new(),
            waits: Vec::new(),
            touched: Vec::new(),
            records: Vec::new(),
            t0: session.t0,
        };
        machine.rundown();
        for now in 1..moments {
            machine.now = now;
            machine.touched.clear();
            let acting = machine.rng.below(processors as u64) as usize;
            machine.act(acting);
            if processors > 1 && machine.rng.percent(25) {
                // Another one does something else in the same moment.
                let other = 1 + machine.rng.below(processors as u64 - 1) as usize;
                machine.act((acting + other) % processors);
            }
            machine.paint();
        }
        machine
    }

    /// Raw stamp of a moment.
    pub fn stamp(&self, moment: usize) -> u64 {
        self.t0 + 1000 + moment as u64
    }

    /// Process and thread id of a life.
    pub fn ids(&self, life: usize) -> (u32, u32) {
        (self.threads[life].pid, self.threads[life].tid)
    }

    fn log(&mut self, processor: usize, rec: Rec) {
        self.records.push(rec.on(processor as u16).at(self.stamp(self.now)));
    }

    fn rundown(&mut self) {
        for pid in [100, 104, 108] {
            let name = format!("p{pid}.exe");
            self.log(0, process::Process::new(pid, &name).rec(P8, 4, process::DC_START));
        }
        for life in 0..self.threads.len() {
            self.thread_record(0, life, thread::DC_START);
        }
        let start = |thread: &Thread| thread.doing;
        let first: Vec<Doing> = self.threads.iter().map(start).collect();
        self.doing.iter_mut().zip(first).for_each(|(list, doing)| list.push(doing));
        for (list, processor) in self.owners.iter_mut().zip(&self.processors) {
            list.push(processor.runs.map_or(Owner::Idle, Owner::Thread));
        }
    }

    fn thread_record(&mut self, processor: usize, life: usize, hook: u16) {
        let (pid, tid) = self.ids(life);
        self.log(processor, thread::Thread { pid, tid, ..thread::Thread::default() }.rec(P8, 3, hook));
    }

    fn act(&mut self, at: usize) {
        let chance = self.rng.below(100);
        match self.processors[at].interrupts.len() {
            0 if chance < 6 => self.interrupt(at),
            0 if chance < 9 => self.wake_late(at),
            0 => self.schedule(at, chance),
            // Inside of an interrupt: it ends, another one comes, or it readies a thread.
            depth if chance < 10 && depth < 3 => self.interrupt(at),
            _ if chance < 30 => self.wake(at, true),
            _ if chance < 70 => self.end_interrupt(at),
            _ => {}
        }
    }

    fn interrupt(&mut self, at: usize) {
        let isr = self.rng.percent(50);
        let begin = self.now;
        self.processors[at].interrupts.push((isr, begin));
    }

    fn end_interrupt(&mut self, at: usize) {
        let Some((isr, begin)) = self.processors[at].interrupts.pop() else { return };
        let (start, routine) = (self.stamp(begin), 0xffff_f800_0010_0000 + 16 * self.rng.below(3));
        let hook = [0x0f42, 0x0f44, 0x0f45][self.rng.below(3) as usize];
        let rec =
            if isr { perf::isr(P8, 0x0f43, start, routine, 1, 0x51) } else { perf::dpc(P8, hook, start, routine) };
        self.log(at, rec);
    }

    /// Readies a thread that waits, or that no record has told of.
    fn wake(&mut self, at: usize, from_dpc: bool) {
        if self.rng.percent(20) {
            return self.wake_again(at, from_dpc);
        }
        let Some(life) = self.any(|thread| thread.asleep) else { return };
        (self.threads[life].asleep, self.threads[life].quantum) = (false, 0);
        // Some records are not logged: then nobody knows how long the thread was ready.
        if self.rng.percent(90) {
            let tid = self.threads[life].tid;
            self.log(at, thread::ready(P8, tid, 1, 0, u8::from(from_dpc)));
            (self.threads[life].doing, self.threads[life].ready) = (Doing::Ready, Some(self.now));
        }
    }

    /// Any thread that another action of this moment is not about.
    fn any(&mut self, which: impl Fn(&Thread) -> bool) -> Option<usize> {
        let all = (0..self.threads.len()).filter(|life| which(&self.threads[*life]) && !self.touched.contains(life));
        let all: Vec<usize> = all.collect();
        let life = *all.get(self.rng.below(all.len() as u64) as usize)?;
        self.touched.push(life);
        Some(life)
    }

    /// Readies a thread that is ready already, or that has not yet begun to wait.
    fn wake_again(&mut self, at: usize, from_dpc: bool) {
        let can_be = |thread: &Thread| match thread.doing {
            Doing::Ready => thread.ready.is_some(),
            doing => doing == Doing::Runs,
        };
        let Some(life) = self.any(can_be) else { return };
        self.log(at, thread::ready(P8, self.threads[life].tid, 1, 0, u8::from(from_dpc)));
        let now = self.now;
        let thread = &mut self.threads[life];
        match (thread.doing, thread.raced_ready.take()) {
            (Doing::Runs, _) => thread.raced.push(now),
            (_, None) => self.redundant.push((now, now, life)),
            // It still waited when the earlier record seemed to have ended its wait.
            (_, Some((since, record))) => {
                thread.ready = Some(now);
                self.redundant.push((record, now, life));
                self.waits.push((now, life, since..now));
            }
        }
    }

    /// What each life did in each moment, as it is known at `to`.
    pub fn doing_until(&self, to: usize) -> Vec<Vec<Doing>> {
        let mut doing = self.doing.clone();
        for (_, life, moments) in self.waits.iter().filter(|(known, ..)| *known < to) {
            doing[*life][moments.clone()].fill(Doing::Waits);
        }
        doing
    }

    /// A thread of this processor wakes another, starts one, or sees one end.
    fn wake_late(&mut self, at: usize) {
        match self.rng.below(4) {
            0 => self.start(at),
            _ => self.wake(at, false),
        }
    }

    /// Starts a thread with the id of one that has ended, or a new one.
    fn start(&mut self, at: usize) {
        let is_gone = |life: usize| self.threads[life].doing == Doing::Gone && !self.touched.contains(&life);
        let in_use = |tid: u32| (0..self.threads.len()).any(|life| self.threads[life].tid == tid && !is_gone(life));
        let Some(tid) = (2..40).map(|number| 4 * number).find(|&tid| !in_use(tid)) else { return };
        let pid = 100 + 4 * self.rng.below(3) as u32;
        let (doing, priority) = (Doing::Waits, self.rng.below(4));
        let (ready, raced, raced_ready) = (None, Vec::new(), None);
        self.touched.push(self.threads.len());
        self.threads.push(Thread { tid, pid, doing, ready, asleep: true, priority, quantum: 0, raced, raced_ready });
        self.doing.push(vec![Doing::Gone; self.now]);
        self.thread_record(at, self.threads.len() - 1, thread::START);
    }

    fn schedule(&mut self, at: usize, chance: u64) {
        let Some(old) = self.processors[at].runs else { return self.dispatch(at, 5, 0) };
        if self.touched.contains(&old) {
            return;
        }
        self.threads[old].quantum += 1;
        let best = self.best().map(|life| self.threads[life].priority);
        let is_better = best.is_some_and(|best| best > self.threads[old].priority);
        match chance {
            // A thread of higher priority takes the processor.
            _ if is_better && chance < 70 => self.dispatch(at, 1, REASONS[1 + chance as usize % 2]),
            _ if self.threads[old].quantum > 12 => self.dispatch(at, 1, 30),
            9..25 => {
                self.threads[old].asleep = true;
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
        let can_run = |life: &usize| {
            let thread = &self.threads[*life];
            let can_run = !thread.asleep && thread.doing != Doing::Runs && thread.doing != Doing::Gone;
            can_run && !self.touched.contains(life)
        };
        (0..self.threads.len()).filter(can_run).max_by_key(|&life| (self.threads[life].priority, life))
    }

    /// A thread that waits is ended by another.
    fn end_while_it_waits(&mut self, at: usize) {
        let Some(life) = self.any(|thread| thread.asleep && thread.doing == Doing::Waits) else { return };
        self.thread_record(at, life, thread::END);
        (self.threads[life].doing, self.threads[life].asleep) = (Doing::Gone, false);
    }

    /// Switches to the best thread; the old one is in `state` from now on.
    fn dispatch(&mut self, at: usize, state: u8, reason: u8) {
        let (old, new) = (self.processors[at].runs, self.best());
        if old.is_none() && new.is_none() {
            return;
        }
        self.touched.extend(old.into_iter().chain(new));
        self.log_switch(at, old, new, (state, reason));
        self.switches.push(self.now);
        if let Some(new) = new {
            let thread = &mut self.threads[new];
            match thread.ready.take() {
                Some(ready) => self.delays.push((self.now, new, (self.now - ready) as u64)),
                None => self.unknown_ready.push(self.now),
            }
            (thread.doing, thread.quantum, thread.raced_ready) = (Doing::Runs, 0, None);
        }
        if let Some(old) = old {
            let now = self.now;
            let thread = &mut self.threads[old];
            (thread.doing, thread.ready) = match state {
                1 => (Doing::Ready, Some(now)),
                4 => (Doing::Gone, None),
                _ => (Doing::Waits, None),
            };
            let mut raced = std::mem::take(&mut thread.raced);
            if state == 5 && !raced.is_empty() {
                (thread.doing, thread.ready, thread.asleep) = (Doing::Ready, Some(now), false);
                thread.raced_ready = Some((now, raced.remove(0)));
            }
            self.redundant.extend(raced.into_iter().map(|record| (record, now, old)));
        }
        self.processors[at].runs = new;
    }

    /// Logs a switch, on some processors in packets of several.
    fn log_switch(&mut self, at: usize, old: Option<usize>, new: Option<usize>, (state, reason): (u8, u8)) {
        let tid = |life: Option<usize>| life.map_or(0, |life| self.threads[life].tid);
        let (new, old, time) = (tid(new), tid(old), self.stamp(self.now));
        let is_compact = self.now < self.processors[at].compact_until;
        let batch = &mut self.processors[at].batch;
        if is_compact {
            let number = if state == 5 { reason } else { WAIT_REASONS + state };
            batch.push(CompactSwitch { time, old, number });
        }
        if batch.len() == 7 || !is_compact && !batch.is_empty() {
            let batch = std::mem::take(batch);
            self.log(at, compact_switches(&batch));
        }
        if !is_compact {
            let switch = thread::Switch { new, old, state, wait_reason: reason, ..thread::Switch::default() };
            self.log(at, switch.rec(P8, 4));
        }
        self.processors[at].is_open = is_compact;
    }

    /// True when the last switch of each processor names the thread that runs from then on.
    pub fn is_closed(&self) -> bool {
        !self.processors.iter().any(|processor| processor.is_open)
    }

    fn paint(&mut self) {
        for (list, processor) in self.owners.iter_mut().zip(&self.processors) {
            list.push(match (processor.interrupts.last(), processor.runs) {
                (Some((true, _)), _) => Owner::Isr,
                (Some((false, _)), _) => Owner::Dpc,
                (None, Some(life)) => Owner::Thread(life),
                (None, None) => Owner::Idle,
            });
        }
        for (list, thread) in self.doing.iter_mut().zip(&self.threads) {
            list.push(thread.doing);
        }
    }

    /// Ends the interrupts that are not over, so that all are logged.
    pub fn settle(&mut self) {
        for at in 0..self.processors.len() {
            while !self.processors[at].interrupts.is_empty() {
                self.now += 1;
                self.end_interrupt(at);
                self.paint();
            }
        }
    }
}
