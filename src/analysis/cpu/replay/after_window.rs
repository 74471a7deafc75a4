//! Records in the window whose meaning only later ones tell.
//!
//! A thread is readied while it runs. Whether that ended its next wait or changed nothing is known when the thread is switched
//! out, and when it is readied again or runs again. Both can come after the window. What a record was does not depend on where
//! the window ends: so the counts of two windows, one after the other, are those of both together.
//!
//! The same for stacks: where a thread waits when the window ends is told by its next switch-in, and who ends that wait by the record
//! that readies it.

use crate::analysis::cpu::replay::event_merge::InOrder;
use crate::analysis::cpu::replay::processor_event::{ProcessorEvent, ProcessorEventKind, StepPart};
use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::replay::thread_instances::{ReadiedAtEnd, State, ThreadIndex};
use crate::analysis::cpu::switch_stacks::KeptStack;
use crate::event::Phase;
use crate::load::owned_events::ThreadEvent;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// What a thread does whose ready records are in doubt.
#[derive(Debug)]
enum Doing {
    /// It runs.
    Runs {
        /// Where, and its records.
        run: ReadiedAtEnd,
        /// Its end was logged.
        ends: bool,
    },
    /// It was switched out after the window, after a record in it.
    LeftLater(ReadiedAtEnd),
    /// It was switched out in the window.
    LeftBefore(ThreadIndex),
}

impl Doing {
    fn instance(&self) -> ThreadIndex {
        match self {
            Doing::Runs { run, .. } | Doing::LeftLater(run) => run.instance,
            Doing::LeftBefore(instance) => *instance,
        }
    }
}

/// A thread that waits, or is ready, when the window ends.
#[derive(Debug, Clone, Copy)]
struct Waiter {
    instance: ThreadIndex,
    is_ready: bool,
}

/// The threads in doubt, by their ids.
#[derive(Debug)]
pub(crate) struct AfterWindow<'s, 'p, S> {
    scheduler: &'s mut Scheduler<'p, S>,
    open: FastMap<u32, Doing>,
    /// Those whose stacks are asked for.
    waiters: FastMap<u32, Waiter>,
}

impl<'s, 'p, S: KeptStack> AfterWindow<'s, 'p, S> {
    /// The threads that are in doubt when the window ends.
    pub(crate) fn new(scheduler: &'s mut Scheduler<'p, S>) -> AfterWindow<'s, 'p, S> {
        let mut open = FastMap::default();
        for run in std::mem::take(&mut scheduler.readied_at_end) {
            let instance = scheduler.instances.get_mut(run.instance);
            open.insert(instance.thread_id, Doing::Runs { ends: instance.ends_at_switch_out, run });
        }
        for (id, instance) in (0..).zip(&scheduler.instances.all) {
            if instance.state == State::Ready && instance.pending.is_some() {
                open.insert(instance.thread_id, Doing::LeftBefore(id));
            }
        }
        let is_wanted = |state| S::IS_KEPT && matches!(state, State::Waiting | State::Ready);
        let waiters = (0..).zip(&scheduler.instances.all).filter(|(_, instance)| is_wanted(instance.state));
        let waiters = waiters.map(|(id, instance)| {
            (instance.thread_id, Waiter { instance: id, is_ready: instance.state == State::Ready })
        });
        AfterWindow { waiters: waiters.collect(), scheduler, open }
    }

    /// A thread runs that waited, or its end was logged.
    fn waited(&mut self, thread: u32, stack: S) {
        if let Some(waiter) = self.waiters.remove(&thread) {
            self.scheduler.open_waits.runs_later(waiter.instance, stack);
        }
    }

    /// A record readied it.
    fn readied(&mut self, thread: u32, stack: S) {
        if let Some(waiter) = self.waiters.get_mut(&thread).filter(|waiter| !waiter.is_ready) {
            waiter.is_ready = true;
            self.scheduler.open_waits.readied(waiter.instance, stack);
        }
    }

    /// The window's end.
    pub(crate) fn begin(&self) -> Ticks {
        self.scheduler.range.to
    }

    /// True when nothing is in doubt.
    pub(crate) fn is_settled(&self) -> bool {
        self.open.is_empty() && self.waiters.is_empty()
    }

    fn switch_out(&mut self, processor: u16, thread: u32, state: u8) {
        match self.open.get(&thread) {
            Some(Doing::Runs { run, .. }) if run.processor == processor => {}
            Some(Doing::Runs { .. }) | None => return,
            Some(_) => return self.woken(thread),
        }
        let Some(Doing::Runs { run, ends }) = self.open.remove(&thread) else { return };
        if ends || matches!(state, 1 | 3 | 4 | 7) {
            self.scheduler.redundant(run.instance, run.records.all());
        } else {
            self.scheduler.redundant(run.instance, run.records.more.iter().copied());
            self.open.insert(thread, Doing::LeftLater(run));
        }
    }

    /// It is certain that a thread has left its wait by its early record; of a thread that runs, the run was cut.
    fn woken(&mut self, thread: u32) {
        // Those that left the processor in the window are settled like this when it ends.
        if let Some(Doing::LeftLater(run)) = self.open.remove(&thread) {
            self.scheduler.woken(run.instance, &run.records.first);
        }
    }

    /// The thread still waited until now.
    fn ready(&mut self, thread: u32) {
        if let None | Some(Doing::Runs { .. }) = self.open.get(&thread) {
            return;
        }
        match self.open.remove(&thread) {
            Some(Doing::LeftLater(run)) => {
                let first = run.records.first;
                self.scheduler.redundant(run.instance, std::iter::once((first.time, first.processor)));
            }
            Some(Doing::LeftBefore(id)) => {
                if let Some(entry) = self.scheduler.instances.get_mut(id).pending.take() {
                    self.scheduler.supersede(id, entry);
                    self.waiters.get_mut(&thread).into_iter().for_each(|waiter| waiter.is_ready = false);
                }
            }
            Some(Doing::Runs { .. }) | None => {}
        }
    }

    /// Records are missing: the end of the run on this processor is not known.
    fn cut(&mut self, processor: u16) {
        self.open.retain(|_, doing| !matches!(doing, Doing::Runs { run, .. } if run.processor == processor));
    }

    /// The trace ends: threads that do not run again were woken.
    pub(crate) fn finish(&mut self) {
        let mut threads: Vec<u32> = self.open.keys().copied().collect();
        threads.sort_unstable();
        threads.into_iter().for_each(|thread| self.woken(thread));
    }
}

impl<S: KeptStack> InOrder for AfterWindow<'_, '_, S> {
    type Stack = S;

    fn event(&mut self, event: &ProcessorEvent, _: &[StepPart], stack: S) {
        let (processor, thread, old) = (event.processor, event.thread, event.other);
        match event.kind {
            ProcessorEventKind::Switch | ProcessorEventKind::Break => {
                if event.kind == ProcessorEventKind::Break {
                    self.cut(processor);
                }
                self.switch_out(processor, old, event.state);
                self.woken(thread);
                self.waited(old, S::default()); // its switch-in was not logged
                self.waited(thread, stack);
            }
            ProcessorEventKind::RecordsMissing | ProcessorEventKind::BrokenLater => self.cut(processor),
            ProcessorEventKind::Ready | ProcessorEventKind::ReadyFromDpc => {
                self.ready(thread);
                self.readied(thread, stack);
            }
            ProcessorEventKind::Sample => {}
        }
    }

    fn thread_event(&mut self, event: &At<ThreadEvent>) {
        let ThreadEvent { phase, process_id, thread_id, .. } = event.value;
        if matches!(phase, Phase::Start | Phase::End) {
            self.waited(thread_id, S::default());
        }
        match (phase, self.open.get_mut(&thread_id)) {
            (_, None) => {}
            (Phase::End, Some(Doing::Runs { ends, .. })) => *ends = true,
            (Phase::DcStart | Phase::DcEnd, Some(doing)) => {
                let id = doing.instance();
                if !self.scheduler.may_be_of(id, process_id) {
                    self.woken(thread_id);
                }
            }
            (Phase::Start | Phase::End, Some(_)) => self.woken(thread_id),
        }
    }
}
