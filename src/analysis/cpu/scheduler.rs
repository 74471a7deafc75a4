//! All processors together: what each thread does at each moment, in one ordered pass over the processors' steps.

use crate::analysis::cpu::cells::Cells;
use crate::analysis::cpu::delays::ReadyKind;
use crate::analysis::cpu::grid::{Grid, Range};
use crate::analysis::cpu::lives::{IDLE, LifeId, Lives, NOBODY, RacedRecords, ReadyRecord, State, WaitReason};
use crate::analysis::cpu::pair_counts::{PairCounts, Party};
use crate::analysis::cpu::parties::Parties;
use crate::analysis::cpu::processor::{PartOfSpan, Step, StepKind};
use crate::analysis::cpu::query::CpuQuery;
use crate::analysis::cpu::ready_queue::ReadyQueue;
use crate::load::scheduling::UNKNOWN_THREAD;
use crate::model::process::Processes;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// A thread on a processor.
#[derive(Debug, Clone, Copy)]
struct Run {
    life: LifeId,
    since: Ticks,
    /// Ticks that count as running only if the run ends as it should, because the thread has been seen elsewhere.
    provisional: u64,
}

/// Finished delays of threads that lost the processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PreemptionTimes {
    /// How many.
    pub count: u64,
    /// Until they ran again, ticks.
    pub ticks: u64,
}

/// Samples of the profile timer that met no thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// All samples in the window.
    pub all: u64,
    /// In deferred procedure calls.
    pub dpc: u64,
    /// In interrupts.
    pub isr: u64,
}

/// The state of all threads and processors.
#[derive(Debug)]
pub struct Scheduler<'p> {
    pub(super) range: Range,
    pub(super) lives: Lives,
    pub(super) cells: Cells,
    pub(super) queue: ReadyQueue,
    runs: Vec<Option<Run>>,
    pub(super) processes: &'p Processes,
    pub(super) parties: Parties,
    /// Thread, waker, 1 = from a deferred procedure call.
    pub(super) wakeups: PairCounts<u64>,
    /// Thread, who took the processor from it, [`ReadyKind`].
    pub(super) preemptions: PairCounts<PreemptionTimes>,
    pub(super) samples: SampleCounts,
    /// Ticks of threads in the steps of the timeline.
    pub(super) by_step: FastMap<(LifeId, u32), u64>,
}

impl<'p> Scheduler<'p> {
    /// Before the trace: each processor runs the old thread of its first switch.
    pub fn new(
        range: Range,
        timeline: Option<Grid>,
        query: &CpuQuery,
        processes: &'p Processes,
        first_threads: &[Option<u32>],
    ) -> Scheduler<'p> {
        let mut all = Scheduler {
            range,
            lives: Lives::new(query),
            cells: Cells::new(query.needs_processors()),
            queue: ReadyQueue::new(range, timeline),
            runs: vec![None; first_threads.len()],
            processes,
            parties: Parties::default(),
            wakeups: PairCounts::new(2),
            preemptions: PairCounts::new(ReadyKind::ALL.len()),
            samples: SampleCounts::default(),
            by_step: FastMap::default(),
        };
        let before = Ticks(i64::MIN);
        for (processor, thread) in (0..=u16::MAX).zip(first_threads) {
            let Some(thread) = *thread else { continue };
            let life = all.lives.current(thread).unwrap_or_else(|| all.lives.add(thread, before));
            if life != IDLE {
                let found = all.lives.get_mut(life);
                (found.state, found.processor, found.has_records) = (State::Running, processor, true);
            }
            all.runs[usize::from(processor)] = Some(Run { life, since: before, provisional: 0 });
        }
        all
    }

    /// A step of a processor. `parts` are the parts of the timeline that the span before it has.
    #[inline(always)]
    pub fn step(&mut self, step: &Step, parts: &[PartOfSpan]) {
        let processor = step.processor;
        match step.kind {
            StepKind::Switch => self.switch(processor, step, parts),
            StepKind::Ready => self.ready(processor, step, false),
            StepKind::ReadyFromDpc => self.ready(processor, step, true),
            StepKind::Break => {
                if let Some(run) = self.take_run(processor) {
                    self.cut_off(processor, run);
                }
                self.switch(processor, step, &[]);
            }
            StepKind::Hole => {
                if let Some(run) = self.take_run(processor) {
                    self.credit(processor, run, step, parts);
                    let life = self.lives.get_mut(run.life);
                    if life.state == State::Running && life.processor == processor {
                        self.set(run.life, State::Unknown, step.time);
                    }
                }
            }
            StepKind::Sample => self.sample(step),
        }
    }

    #[inline(always)]
    fn take_run(&mut self, processor: u16) -> Option<Run> {
        self.runs.get_mut(usize::from(processor))?.take()
    }

    /// A run whose end is missing: what the thread did since it began is unknown.
    #[cold]
    fn cut_off(&mut self, processor: u16, run: Run) {
        let life = self.lives.get_mut(run.life);
        if life.state == State::Running && life.processor == processor {
            (life.state, life.raced) = (State::Unknown, None);
        } else {
            let [running, .., unknown] = &mut life.profile;
            *running = running.saturating_sub(run.provisional);
            *unknown += run.provisional;
        }
    }

    /// The time of a run that ends.
    #[inline(always)]
    fn credit(&mut self, processor: u16, run: Run, step: &Step, parts: &[PartOfSpan]) {
        let with_interrupts = self.range.between(run.since, step.time);
        let cell = self.cells.of(run.life, processor);
        cell.cpu += step.cpu;
        cell.with_interrupts += with_interrupts;
        if step.charged > 0 {
            self.lives.get_mut(run.life).charged += u64::from(step.charged);
        }
        for &PartOfSpan { number, ticks, .. } in parts {
            *self.by_step.entry((run.life, number)).or_default() += ticks;
        }
    }

    #[inline(always)]
    fn switch(&mut self, processor: u16, step: &Step, parts: &[PartOfSpan]) {
        if let Some(run) = self.take_run(processor) {
            self.credit(processor, run, step, parts);
        }
        let (new, old, time) = (step.thread, step.other, step.time);
        let life = if new == old {
            self.switch_out(processor, step, NOBODY);
            self.switch_in(processor, new, time)
        } else {
            let life = self.switch_in(processor, new, time);
            self.switch_out(processor, step, life);
            life
        };
        let run = (life != NOBODY).then_some(Run { life, since: time, provisional: 0 });
        self.runs.get_mut(usize::from(processor)).into_iter().for_each(|slot| *slot = run);
    }

    #[inline(always)]
    fn switch_in(&mut self, processor: u16, thread: u32, time: Ticks) -> LifeId {
        let counts = self.range.holds(time);
        if thread == 0 || thread == UNKNOWN_THREAD {
            let life = if thread == 0 { IDLE } else { NOBODY };
            self.cells.of(life, processor).switches += u64::from(counts && life == IDLE);
            return life;
        }
        let id = match self.lives.current(thread) {
            None => self.lives.add(thread, Ticks(i64::MIN)),
            Some(id) if self.lives.get_mut(id).state == State::Ended => self.lives.add(thread, time),
            Some(id) => id,
        };
        let life = self.lives.get_mut(id);
        life.has_records = true;
        let (state, since, kind, preemptor) = (life.state, life.since, life.ready, life.preemptor);
        match state {
            State::Ready => self.leave_queue(id, time),
            State::Running => self.run_elsewhere(id, time),
            State::Waiting | State::Unknown | State::Ended => {}
        }
        self.set(id, State::Running, time);
        self.lives.get_mut(id).processor = processor;
        if counts {
            let cell = self.cells.of(id, processor);
            cell.switches += 1;
            if state == State::Ready {
                let ticks = (time.0 - since.0) as u64;
                cell.delays.add(kind, ticks);
                if kind != ReadyKind::Wakeup {
                    self.preempted(id, preemptor, kind, ticks);
                }
            } else {
                cell.unknown_ready += 1;
            }
        }
        id
    }

    /// A thread runs again that lost the processor.
    #[inline(always)]
    fn preempted(&mut self, id: LifeId, preemptor: LifeId, kind: ReadyKind, ticks: u64) {
        if self.lives.get_mut(id).is_wanted {
            let (process, preemptor) = (self.party(id), self.party(preemptor));
            let times = self.preemptions.of(process, preemptor, kind as usize);
            times.count += 1;
            times.ticks += ticks;
        }
    }

    /// What pairs of processes count a thread as.
    #[inline(always)]
    fn party(&mut self, id: LifeId) -> Party {
        let life = self.lives.get_mut(id);
        *life.party.get_or_insert_with(|| self.parties.of_thread(id))
    }

    /// The thread runs on another processor already: a record was lost there, or there is none yet.
    #[cold]
    fn run_elsewhere(&mut self, id: LifeId, time: Ticks) {
        let life = self.lives.get_mut(id);
        life.raced = None;
        let ticks = self.range.between(life.since, time);
        let processor = usize::from(life.processor);
        let run = self.runs.get_mut(processor).and_then(Option::as_mut);
        run.filter(|run| run.life == id).into_iter().for_each(|run| run.provisional = ticks);
    }

    #[inline(always)]
    fn switch_out(&mut self, processor: u16, step: &Step, preemptor: LifeId) {
        let (thread, time) = (step.other, step.time);
        if thread == 0 || thread == UNKNOWN_THREAD {
            return;
        }
        let id = self.lives.current(thread).unwrap_or_else(|| self.lives.add(thread, Ticks(i64::MIN)));
        let life = self.lives.get_mut(id);
        life.has_records = true;
        let raced = match life.state {
            State::Ended => return,
            State::Running if life.processor != processor => return,
            State::Running => life.raced.take(),
            State::Ready => {
                self.leave_queue(id, time);
                None
            }
            State::Waiting | State::Unknown => None,
        };
        let ends = self.lives.get_mut(id).ends_at_switch_out;
        let wait = match step.state {
            4 => None,
            _ if ends => None,
            1 | 3 | 7 => {
                self.set(id, State::Ready, time);
                let life = self.lives.get_mut(id);
                (life.ready, life.preemptor) = (ReadyKind::of_reason(step.reason), preemptor);
                life.processor = processor;
                self.queue.enter(time);
                raced.iter().for_each(|raced| self.redundant(id, raced.all()));
                return;
            }
            5 | 8 => Some(WaitReason::of_kernel(step.reason)),
            6 | 9 => Some(WaitReason::IN_SWAP),
            _ => Some(WaitReason::of_unknown_state(step.reason)),
        };
        match wait {
            None => {
                raced.iter().for_each(|raced| self.redundant(id, raced.all()));
                self.end(id, time);
            }
            Some(reason) => self.wait(id, processor, reason, time, raced),
        }
    }

    #[inline(always)]
    fn wait(&mut self, id: LifeId, processor: u16, reason: WaitReason, time: Ticks, raced: Option<Box<RacedRecords>>) {
        self.set(id, State::Waiting, time);
        let life = self.lives.get_mut(id);
        (life.wait, life.wait_processor) = (reason, processor);
        if self.range.holds(time) {
            self.cells.of(id, processor).wait(reason).count += 1;
        }
        if let Some(raced) = raced {
            self.redundant(id, raced.more.iter().copied());
            let life = self.lives.get_mut(id);
            (life.state, life.ready, life.processor) = (State::Ready, ReadyKind::Wakeup, processor);
            life.unsettled = Some(self.queue.enter_perhaps(time));
            life.raced = Some(raced);
        }
    }

    /// Ready records that changed nothing.
    fn redundant(&mut self, id: LifeId, records: impl Iterator<Item = (Ticks, u16)>) {
        for (time, processor) in records {
            self.cells.of(id, processor).redundant += u64::from(self.range.holds(time));
        }
    }

    #[inline(always)]
    fn ready(&mut self, processor: u16, step: &Step, from_dpc: bool) {
        let (thread, time) = (step.thread, step.time);
        if thread == 0 || thread == UNKNOWN_THREAD {
            return;
        }
        let waker = self.waker(processor, step.other);
        let id = self.lives.current(thread).unwrap_or_else(|| self.lives.add(thread, Ticks(i64::MIN)));
        let life = self.lives.get_mut(id);
        life.has_records = true;
        let record = ReadyRecord { time, processor, waker, from_dpc };
        match life.state {
            State::Waiting | State::Unknown => {}
            State::Ended => return,
            State::Running => {
                return match &mut life.raced {
                    Some(raced) => raced.more.push((time, processor)),
                    none => *none = Some(Box::new(RacedRecords { first: record, more: Vec::new() })),
                };
            }
            State::Ready => match life.unsettled.take() {
                None => return self.redundant(id, std::iter::once((time, processor))),
                // It still waited when the record came that seemed to have ended its wait.
                Some(entry) => {
                    life.state = State::Waiting;
                    let raced = life.raced.take();
                    self.queue.settle(entry, false);
                    self.redundant(id, raced.iter().map(|raced| (raced.first.time, raced.first.processor)));
                }
            },
        }
        self.set(id, State::Ready, time);
        let life = self.lives.get_mut(id);
        (life.ready, life.processor) = (ReadyKind::Wakeup, processor);
        self.queue.enter(time);
        self.woken(id, &record);
    }

    #[inline(always)]
    fn woken(&mut self, id: LifeId, record: &ReadyRecord) {
        if self.range.holds(record.time) && self.lives.get_mut(id).is_wanted {
            let (process, waker) = (self.party(id), self.party(record.waker));
            *self.wakeups.of(process, waker, record.from_dpc.into()) += 1;
        }
    }

    /// The thread that logged a record: the header's, else the one that runs.
    #[inline(always)]
    fn waker(&mut self, processor: u16, named: u32) -> LifeId {
        match named {
            UNKNOWN_THREAD => {
                let run = self.runs.get(usize::from(processor)).copied().flatten();
                run.map_or(NOBODY, |run| run.life)
            }
            _ => self.lives.current(named).unwrap_or_else(|| self.lives.add(named, Ticks(i64::MIN))),
        }
    }

    /// A thread that was ready is so no more; what was in doubt is settled.
    #[inline(always)]
    pub(super) fn leave_queue(&mut self, id: LifeId, time: Ticks) {
        if self.lives.get_mut(id).unsettled.is_some() {
            self.settle(id);
        }
        self.queue.leave(time);
    }

    /// No record came that would have replaced the early one.
    pub(super) fn settle(&mut self, id: LifeId) {
        let life = self.lives.get_mut(id);
        let (entry, raced) = (life.unsettled.take(), life.raced.take());
        if let Some(raced) = raced {
            self.woken(id, &raced.first);
        }
        if let Some(entry) = entry {
            self.queue.settle(entry, true);
        }
    }

    /// Ends what a thread did until now, and sets what it does from now on.
    #[inline(always)]
    pub(super) fn set(&mut self, id: LifeId, state: State, time: Ticks) {
        let life = self.lives.get_mut(id);
        let ticks = self.range.between(life.since, time);
        let (before, wait, processor) = (life.state, life.wait, life.wait_processor);
        if let Some(sum) = life.profile.get_mut(before as usize) {
            *sum += ticks;
        }
        if before == State::Running {
            life.raced = None;
        }
        (life.state, life.since) = (state, time);
        if before == State::Waiting && ticks > 0 {
            self.cells.of(id, processor).wait(wait).ticks += ticks;
        }
    }

    fn sample(&mut self, step: &Step) {
        if !self.range.holds(step.time) {
            return;
        }
        let count = u64::from(step.other);
        self.samples.all += count;
        match step.state & 3 {
            0 => {
                let thread = step.thread;
                let current = if thread == UNKNOWN_THREAD { Some(NOBODY) } else { self.lives.current(thread) };
                let id = current.unwrap_or_else(|| self.lives.add(thread, Ticks(i64::MIN)));
                self.lives.get_mut(id).samples += count;
            }
            1 => self.samples.dpc += count,
            _ => self.samples.isr += count,
        }
    }
}
