//! All processors together: what each thread does at each moment, in one ordered pass over the processors' events.

use crate::analysis::cpu::delay_percentiles::ReadyKind;
use crate::analysis::cpu::query::CpuQuery;
use crate::analysis::cpu::replay::before_switches::BeforeSwitches;
use crate::analysis::cpu::replay::open_waits::OpenWaits;
use crate::analysis::cpu::replay::process_numbers::ProcessNumbers;
use crate::analysis::cpu::replay::process_pair_counts::{PairCounts, ProcessNumber};
use crate::analysis::cpu::replay::processor_event::{ProcessorEvent, ProcessorEventKind, StepPart};
use crate::analysis::cpu::replay::ready_queue_length::{PendingEntry, ReadyQueue};
use crate::analysis::cpu::replay::sample_counts::SampleCounts;
use crate::analysis::cpu::replay::silent_times::SilentTimes;
use crate::analysis::cpu::replay::thread_counts::{CountsByThread, WaitTime};
use crate::analysis::cpu::replay::thread_instances::{
    EarlyReadyRecords, IDLE_INSTANCE, ReadiedAtEnd, ReadyRecord, State, ThreadIndex, ThreadInstances, ThreadStarts,
    UNKNOWN_INSTANCE, WaitReason,
};
use crate::analysis::cpu::switch_stacks::{KeptStack, SwitchInStacks};
use crate::analysis::time_grid::{Grid, TickRange};
use crate::load::scheduling::UNKNOWN_THREAD;
use crate::model::process::Processes;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// A thread on a processor.
#[derive(Debug, Clone, Copy)]
struct Run<S> {
    instance: ThreadIndex,
    since: Ticks,
    /// Ticks that count as running only if the run ends normally, because the thread has been seen on another processor.
    provisional: u64,
    /// Stacks of the switch-in that began it.
    stacks: SwitchInStacks<S>,
}

/// Finished delays of threads that lost the processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PreemptionTimes {
    /// How many.
    pub count: u64,
    /// Until they ran again, ticks.
    pub ticks: u64,
}

/// The state of all threads and processors. `S` is what is kept of the stacks of switch-ins.
#[derive(Debug)]
pub struct Scheduler<'p, S> {
    pub(crate) range: TickRange,
    pub(crate) instances: ThreadInstances,
    pub(crate) counts: CountsByThread<S>,
    pub(crate) open_waits: OpenWaits<S>,
    pub(crate) queue: ReadyQueue,
    pub(crate) before: BeforeSwitches,
    /// Threads whose end is in no record, and that of their process is.
    pub(crate) ended_with_process: u64,
    /// Threads that the rundown at the end lists in another process than that at the start.
    pub(crate) process_differs: u64,
    pub(crate) starts: ThreadStarts,
    runs: Vec<Option<Run<S>>>,
    /// Threads that run when the window ends and were readied meanwhile.
    pub(crate) readied_at_end: Vec<ReadiedAtEnd>,
    pub(crate) processes: &'p Processes,
    pub(crate) process_numbers: ProcessNumbers,
    /// Thread, waker, 1 = from a deferred procedure call.
    pub(crate) wakeups: PairCounts<u64>,
    /// Thread, who took the processor from it, [`ReadyKind`].
    pub(crate) preemptions: PairCounts<PreemptionTimes>,
    pub(crate) samples: SampleCounts,
    pub(crate) silent: SilentTimes,
    /// Ticks of threads, by the stacks of their switch-ins, in the steps of the timeline.
    pub(crate) by_step: FastMap<(ThreadIndex, SwitchInStacks<S>, u32), u64>,
}

impl<'p, S: KeptStack> Scheduler<'p, S> {
    /// Before the trace: each processor runs the old thread of its first switch.
    pub fn new(
        range: TickRange,
        timeline: Option<Grid>,
        query: &CpuQuery,
        processes: &'p Processes,
        first_threads: &[Option<u32>],
    ) -> Scheduler<'p, S> {
        let mut all = Scheduler {
            range,
            instances: ThreadInstances::new(query),
            counts: CountsByThread::new(query.needs_processors()),
            open_waits: OpenWaits::default(),
            queue: ReadyQueue::new(range, timeline),
            before: BeforeSwitches::default(),
            ended_with_process: 0,
            process_differs: 0,
            starts: ThreadStarts::default(),
            runs: vec![None; first_threads.len()],
            readied_at_end: Vec::new(),
            processes,
            process_numbers: ProcessNumbers::default(),
            wakeups: PairCounts::new(2),
            preemptions: PairCounts::new(ReadyKind::ALL.len()),
            samples: SampleCounts::default(),
            silent: SilentTimes::default(),
            by_step: FastMap::default(),
        };
        let before = Ticks(i64::MIN);
        for (processor, thread) in (0..=u16::MAX).zip(first_threads) {
            let Some(thread) = *thread else { continue };
            let instance = all.instances.current(thread).unwrap_or_else(|| all.instances.add(thread, before));
            if instance != IDLE_INSTANCE {
                let found = all.instances.get_mut(instance);
                (found.state, found.processor, found.has_records) = (State::Running, processor, true);
            }
            all.runs[usize::from(processor)] =
                Some(Run { instance, since: before, provisional: 0, stacks: SwitchInStacks::default() });
        }
        all
    }

    /// An event of a processor, and its stack. `parts` are the parts of the timeline that the span before it has.
    #[inline(always)]
    pub fn event(&mut self, event: &ProcessorEvent, parts: &[StepPart], stack: S) {
        let processor = event.processor;
        if self.range.holds(event.time) {
            self.silent.add(event);
        }
        match event.kind {
            ProcessorEventKind::Switch => self.switch(processor, event, parts, stack),
            ProcessorEventKind::Ready => self.ready(processor, event, false, stack),
            ProcessorEventKind::ReadyFromDpc => self.ready(processor, event, true, stack),
            ProcessorEventKind::Break => {
                if let Some(run) = self.take_run(processor) {
                    self.cut_off(processor, run);
                }
                self.switch(processor, event, &[], stack);
            }
            ProcessorEventKind::BrokenLater => {
                if let Some(run) = self.take_run(processor) {
                    self.cut_off(processor, run);
                }
            }
            ProcessorEventKind::RecordsMissing => {
                if let Some(run) = self.take_run(processor) {
                    self.credit(processor, run, event, parts);
                    let instance = self.instances.get_mut(run.instance);
                    if instance.state == State::Running && instance.processor == processor {
                        if event.time >= self.range.to
                            && let Some(records) = instance.early_ready.take()
                        {
                            self.readied_at_end.push(ReadiedAtEnd { instance: run.instance, processor, records });
                        }
                        self.set(run.instance, State::Unknown, event.time);
                    }
                }
            }
            ProcessorEventKind::Sample => self.sample(event),
        }
    }

    #[inline(always)]
    fn take_run(&mut self, processor: u16) -> Option<Run<S>> {
        self.runs.get_mut(usize::from(processor))?.take()
    }

    /// A run whose end is missing: what the thread did since it began is unknown.
    #[cold]
    fn cut_off(&mut self, processor: u16, run: Run<S>) {
        let instance = self.instances.get_mut(run.instance);
        if instance.state == State::Running && instance.processor == processor {
            (instance.state, instance.early_ready) = (State::Unknown, None);
        } else {
            let [running, .., unknown] = &mut instance.profile;
            *running = running.saturating_sub(run.provisional);
            *unknown = unknown.saturating_add(run.provisional);
        }
    }

    /// The time of a run that ends.
    #[inline(always)]
    fn credit(&mut self, processor: u16, run: Run<S>, event: &ProcessorEvent, parts: &[StepPart]) {
        let with_interrupts = self.range.between(run.since, event.time);
        let counted = self.counts.of(run.instance, processor, run.stacks);
        counted.cpu = counted.cpu.saturating_add(event.cpu);
        counted.with_interrupts = counted.with_interrupts.saturating_add(with_interrupts);
        if event.charged > 0 {
            self.instances.get_mut(run.instance).charged += u64::from(event.charged);
        }
        for &StepPart { number, ticks, .. } in parts {
            let sum = self.by_step.entry((run.instance, run.stacks, number)).or_default();
            *sum = sum.saturating_add(ticks);
        }
    }

    #[inline(always)]
    fn switch(&mut self, processor: u16, event: &ProcessorEvent, parts: &[StepPart], stack: S) {
        if !self.before.is_over {
            self.first_switch(event.time);
        }
        if let Some(run) = self.take_run(processor) {
            self.credit(processor, run, event, parts);
        }
        let (new, old, time) = (event.thread, event.other, event.time);
        let (instance, stacks) = if new == old {
            self.switch_out(processor, event, UNKNOWN_INSTANCE);
            self.switch_in(processor, new, time, stack)
        } else {
            let begun = self.switch_in(processor, new, time, stack);
            self.switch_out(processor, event, begun.0);
            begun
        };
        let run = (instance != UNKNOWN_INSTANCE).then_some(Run { instance, since: time, provisional: 0, stacks });
        self.runs.get_mut(usize::from(processor)).into_iter().for_each(|slot| *slot = run);
    }

    #[inline(always)]
    fn switch_in(&mut self, processor: u16, thread: u32, time: Ticks, stack: S) -> (ThreadIndex, SwitchInStacks<S>) {
        let counts = self.range.holds(time);
        if thread == 0 || thread == UNKNOWN_THREAD {
            let instance = if thread == 0 { IDLE_INSTANCE } else { UNKNOWN_INSTANCE };
            let none = SwitchInStacks::default();
            self.counts.of(instance, processor, none).switches += u64::from(counts && instance == IDLE_INSTANCE);
            return (instance, none);
        }
        let id = match self.instances.current(thread) {
            None => self.instances.add(thread, Ticks(i64::MIN)),
            Some(id) if self.instances.get_mut(id).state == State::Ended => self.instances.add(thread, time),
            Some(id) => id,
        };
        let instance = self.instances.get_mut(id);
        instance.has_records = true;
        let (state, since, kind, preemptor) = (instance.state, instance.since, instance.ready, instance.preemptor);
        match state {
            State::Ready => self.leave_queue(id, time),
            State::Running => self.run_elsewhere(id, time),
            State::Waiting | State::Unknown | State::Ended => {}
        }
        self.set(id, State::Running, time);
        self.instances.get_mut(id).processor = processor;
        let stacks = self.open_waits.close(id, stack, &mut self.counts);
        if counts {
            let counted = self.counts.of(id, processor, stacks);
            counted.switches += 1;
            if state == State::Ready {
                let ticks = time.0.wrapping_sub(since.0) as u64;
                counted.delays.add(kind, ticks);
                if kind != ReadyKind::Wakeup {
                    self.preempted(id, preemptor, kind, ticks);
                }
            } else {
                counted.unknown_ready += 1;
            }
        }
        (id, stacks)
    }

    /// A thread runs again that lost the processor.
    #[inline(always)]
    fn preempted(&mut self, id: ThreadIndex, preemptor: ThreadIndex, kind: ReadyKind, ticks: u64) {
        if self.instances.get_mut(id).is_wanted {
            let (process, preemptor) = (self.process_number(id), self.process_number(preemptor));
            let times = self.preemptions.of(process, preemptor, kind as usize);
            times.count += 1;
            times.ticks = times.ticks.saturating_add(ticks);
        }
    }

    /// The number by which pairs count the process of a thread.
    #[inline(always)]
    fn process_number(&mut self, id: ThreadIndex) -> ProcessNumber {
        let instance = self.instances.get_mut(id);
        *instance.process_number.get_or_insert_with(|| self.process_numbers.of_thread(id))
    }

    /// The thread runs on another processor already: a record was lost there, or there is none yet.
    #[cold]
    fn run_elsewhere(&mut self, id: ThreadIndex, time: Ticks) {
        let instance = self.instances.get_mut(id);
        instance.early_ready = None;
        let ticks = self.range.between(instance.since, time);
        let processor = usize::from(instance.processor);
        let run = self.runs.get_mut(processor).and_then(Option::as_mut);
        run.filter(|run| run.instance == id).into_iter().for_each(|run| run.provisional = ticks);
    }

    #[inline(always)]
    fn switch_out(&mut self, processor: u16, event: &ProcessorEvent, preemptor: ThreadIndex) {
        let (thread, time) = (event.other, event.time);
        if thread == 0 || thread == UNKNOWN_THREAD {
            return;
        }
        let id = self.instances.current(thread).unwrap_or_else(|| self.instances.add(thread, Ticks(i64::MIN)));
        let instance = self.instances.get_mut(id);
        instance.has_records = true;
        let early_ready = match instance.state {
            State::Ended => return,
            State::Running if instance.processor != processor => return,
            State::Running => instance.early_ready.take(),
            State::Ready => {
                self.leave_queue(id, time);
                None
            }
            State::Waiting | State::Unknown => None,
        };
        let ends = self.instances.get_mut(id).ends_at_switch_out;
        let wait = match event.state {
            4 => None,
            _ if ends => None,
            1 | 3 | 7 => {
                self.set(id, State::Ready, time);
                self.close_waits(id);
                let instance = self.instances.get_mut(id);
                (instance.ready, instance.preemptor) = (ReadyKind::of_reason(event.reason), preemptor);
                instance.processor = processor;
                self.queue.enter(time);
                early_ready.iter().for_each(|early_ready| self.redundant(id, early_ready.all()));
                return;
            }
            5 | 8 => Some(WaitReason::of_kernel(event.reason)),
            6 | 9 => Some(WaitReason::IN_SWAP),
            _ => Some(WaitReason::of_unknown_state(event.reason)),
        };
        match wait {
            None => {
                early_ready.iter().for_each(|early_ready| self.redundant(id, early_ready.all()));
                self.end(id, time);
            }
            Some(reason) => self.wait(id, processor, reason, time, early_ready),
        }
    }

    #[inline(always)]
    fn wait(
        &mut self,
        id: ThreadIndex,
        processor: u16,
        reason: WaitReason,
        time: Ticks,
        early_ready: Option<Box<EarlyReadyRecords>>,
    ) {
        self.set(id, State::Waiting, time);
        self.close_waits(id);
        let instance = self.instances.get_mut(id);
        (instance.wait, instance.wait_processor) = (reason, processor);
        if self.range.holds(time) {
            self.waited(id, processor, reason, WaitTime::BEGUN);
        }
        if let Some(early_ready) = early_ready {
            self.open_waits.ends_at_once(id);
            self.redundant(id, early_ready.more.iter().copied());
            let instance = self.instances.get_mut(id);
            (instance.state, instance.ready, instance.processor) = (State::Ready, ReadyKind::Wakeup, processor);
            instance.pending = Some(self.queue.enter_perhaps(time));
            instance.early_ready = Some(early_ready);
        }
    }

    /// A wait, or a part of one.
    #[inline(always)]
    pub(crate) fn waited(&mut self, id: ThreadIndex, processor: u16, reason: WaitReason, time: WaitTime) {
        match S::IS_KEPT {
            true => self.open_waits.add(id, processor, reason, time),
            false => *self.counts.of(id, processor, SwitchInStacks::default()).wait(reason) += time,
        }
    }

    /// Waits whose switch-in is not in the window, or was not logged.
    #[inline(always)]
    pub(crate) fn close_waits(&mut self, id: ThreadIndex) {
        self.open_waits.close_unfinished(id, &mut self.counts);
    }

    /// Ready records that changed nothing. They belong to no switch-in.
    pub(crate) fn redundant(&mut self, id: ThreadIndex, records: impl Iterator<Item = (Ticks, u16)>) {
        for (time, processor) in records {
            self.counts.of(id, processor, SwitchInStacks::default()).redundant += u64::from(self.range.holds(time));
        }
    }

    #[inline(always)]
    fn ready(&mut self, processor: u16, event: &ProcessorEvent, from_dpc: bool, stack: S) {
        let (thread, time) = (event.thread, event.time);
        if thread == 0 || thread == UNKNOWN_THREAD {
            return;
        }
        self.before.readied += u64::from(!self.before.is_over);
        let waker = self.waker(processor, event.other);
        let id = self.instances.current(thread).unwrap_or_else(|| self.instances.add(thread, Ticks(i64::MIN)));
        let instance = self.instances.get_mut(id);
        instance.has_records = true;
        let record = ReadyRecord { time, processor, waker, from_dpc };
        match instance.state {
            State::Waiting | State::Unknown => {}
            State::Ended => return,
            State::Running => {
                return match &mut instance.early_ready {
                    Some(early_ready) => early_ready.more.push((time, processor)),
                    none => {
                        *none = Some(Box::new(EarlyReadyRecords { first: record, more: Vec::new() }));
                        self.open_waits.readied_early(id, stack);
                    }
                };
            }
            State::Ready => match instance.pending.take() {
                None => return self.redundant(id, std::iter::once((time, processor))),
                // It still waited when the record came that seemed to have ended its wait.
                Some(entry) => {
                    self.supersede(id, entry);
                }
            },
        }
        self.set(id, State::Ready, time);
        let instance = self.instances.get_mut(id);
        (instance.ready, instance.processor) = (ReadyKind::Wakeup, processor);
        self.queue.enter(time);
        self.open_waits.readied(id, stack);
        self.woken(id, &record);
    }

    /// A thread still waits that an early record seemed to have readied.
    pub(crate) fn supersede(&mut self, id: ThreadIndex, entry: PendingEntry) {
        let instance = self.instances.get_mut(id);
        instance.state = State::Waiting;
        let early_ready = instance.early_ready.take();
        self.open_waits.readied(id, S::default());
        self.queue.settle(entry, false);
        self.redundant(id, early_ready.iter().map(|early_ready| (early_ready.first.time, early_ready.first.processor)));
    }

    #[inline(always)]
    pub(crate) fn woken(&mut self, id: ThreadIndex, record: &ReadyRecord) {
        if self.range.holds(record.time) && self.instances.get_mut(id).is_wanted {
            let (process, waker) = (self.process_number(id), self.process_number(record.waker));
            *self.wakeups.of(process, waker, record.from_dpc.into()) += 1;
        }
    }

    /// The thread that logged a record: the header's, else the one that runs.
    #[inline(always)]
    fn waker(&mut self, processor: u16, named: u32) -> ThreadIndex {
        match named {
            UNKNOWN_THREAD => {
                let run = self.runs.get(usize::from(processor)).copied().flatten();
                run.map_or(UNKNOWN_INSTANCE, |run| run.instance)
            }
            _ => self.instances.current(named).unwrap_or_else(|| self.instances.add(named, Ticks(i64::MIN))),
        }
    }

    /// A thread is no longer ready; an entry that was in doubt is settled.
    #[inline(always)]
    pub(crate) fn leave_queue(&mut self, id: ThreadIndex, time: Ticks) {
        if self.instances.get_mut(id).pending.is_some() {
            self.settle(id);
        }
        self.queue.leave(time);
    }

    /// No record came that would have replaced the early one.
    pub(crate) fn settle(&mut self, id: ThreadIndex) {
        let instance = self.instances.get_mut(id);
        let (entry, early_ready) = (instance.pending.take(), instance.early_ready.take());
        if let Some(early_ready) = early_ready {
            self.woken(id, &early_ready.first);
        }
        if let Some(entry) = entry {
            self.queue.settle(entry, true);
        }
    }

    /// Ends what a thread did until now, and sets what it does from now on.
    #[inline(always)]
    pub(crate) fn set(&mut self, id: ThreadIndex, state: State, time: Ticks) {
        let instance = self.instances.get_mut(id);
        let (ticks, is_earlier) = (self.range.between(instance.since, time), instance.since < self.range.from);
        let (before, wait, processor) = (instance.state, instance.wait, instance.wait_processor);
        if let Some(sum) = instance.profile.get_mut(before as usize) {
            *sum = sum.saturating_add(ticks);
        }
        if before == State::Running {
            instance.early_ready = None;
        }
        (instance.state, instance.since) = (state, time);
        if before == State::Waiting && ticks > 0 {
            self.waited(id, processor, wait, WaitTime::time(ticks, is_earlier));
        }
    }

    fn sample(&mut self, event: &ProcessorEvent) {
        if !self.range.holds(event.time) {
            return;
        }
        let count = u64::from(event.other);
        self.samples.add(event, count);
        if event.state & 3 == 0 {
            let thread = event.thread;
            let current =
                if thread == UNKNOWN_THREAD { Some(UNKNOWN_INSTANCE) } else { self.instances.current(thread) };
            let id = current.unwrap_or_else(|| self.instances.add(thread, Ticks(i64::MIN)));
            self.instances.get_mut(id).samples += count;
        }
    }
}
