//! Starts, ends and rundowns of threads, the first context switch, and the end of the window.

use crate::analysis::cpu::replay::scheduler::Scheduler;
use crate::analysis::cpu::replay::thread_counts::WaitTime;
use crate::analysis::cpu::replay::thread_instances::{ProcessEvidence, State, ThreadIndex, WaitReason};
use crate::analysis::cpu::switch_stacks::KeptStack;
use crate::dimensions::process_dimensions::ProcessCode;
use crate::event::Phase;
use crate::load::owned_events::ThreadEvent;
use crate::moment::At;
use crate::units::Ticks;

impl<S: KeptStack> Scheduler<'_, S> {
    /// A thread event.
    pub fn thread_event(&mut self, event: &At<ThreadEvent>) {
        let At { moment, value: ThreadEvent { phase, process_id, thread_id, processor } } = *event;
        let time = moment.time;
        let current = self.instances.current(thread_id);
        let state = current.map_or(State::Ended, |id| self.instances.get_mut(id).state);
        let alive = current.filter(|_| state != State::Ended);
        let id = match (phase, alive) {
            (Phase::Start, Some(id)) if self.is_the_same(id, process_id, time) => {
                // The start rundown listed it before its start was logged.
                let instance = self.instances.get_mut(id);
                (instance.begin, instance.since) = (time, time);
                id
            }
            (Phase::Start, alive) => {
                alive.into_iter().for_each(|id| self.end_unseen(id, time));
                self.instances.add(thread_id, time)
            }
            (Phase::End, Some(id)) => id,
            (Phase::DcStart | Phase::DcEnd, Some(id)) if self.may_be_of(id, process_id) => id,
            (Phase::DcStart | Phase::DcEnd, Some(id)) => {
                let known = self.instances.get_mut(id).process;
                let is_listed = known.is_some_and(|known| !known.is_start);
                self.process_differs += u64::from(is_listed && phase == Phase::DcEnd);
                self.end_unseen(id, time);
                self.instances.add(thread_id, time)
            }
            (Phase::End, None) => match current {
                Some(ended) => ended,
                None => self.instances.add(thread_id, Ticks(i64::MIN)),
            },
            (Phase::DcStart | Phase::DcEnd, None) => {
                let begin = if current.is_some() { time } else { Ticks(i64::MIN) };
                self.instances.add(thread_id, begin)
            }
        };
        let instance = self.instances.get_mut(id);
        instance.named = time;
        self.starts.follow(phase, instance.process.is_some());
        let is_start = phase == Phase::Start;
        self.describe(id, ProcessEvidence { process_id, moment, is_start });
        match phase {
            Phase::Start => self.start(id, processor, time),
            Phase::End => match self.instances.get_mut(id).state {
                State::Running => self.instances.get_mut(id).ends_at_switch_out = true,
                State::Ended => {}
                _ => self.end(id, time),
            },
            Phase::DcStart | Phase::DcEnd => {}
        }
    }

    /// Notes a thread's process, if no earlier record had it.
    fn describe(&mut self, id: ThreadIndex, described: ProcessEvidence) {
        let instance = self.instances.get_mut(id);
        if instance.process.is_none() {
            instance.process = Some(described);
            instance.process_number = Some(self.process_numbers.of_process(instance.process_code(self.processes), id));
        }
    }

    /// True when an instance that is known from rundowns only may be the one that starts now. One that was listed in the window and starts
    /// after it is another one with the same id: what the first did after the window is not read.
    fn is_the_same(&mut self, id: ThreadIndex, process_id: u32, time: Ticks) -> bool {
        let (instance, to) = (self.instances.get_mut(id), self.range.to);
        let is_another = instance.named < to && time >= to;
        !instance.has_records && !is_another && self.may_be_of(id, process_id)
    }

    pub(crate) fn may_be_of(&mut self, id: ThreadIndex, process_id: u32) -> bool {
        self.instances.get_mut(id).process.is_none_or(|known| known.process_id == process_id)
    }

    fn start(&mut self, id: ThreadIndex, processor: u16, time: Ticks) {
        let instance = self.instances.get_mut(id);
        (instance.state, instance.since, instance.has_records) = (State::Waiting, time, true);
        (instance.wait, instance.wait_processor) = (WaitReason::START, processor);
        if self.range.holds(time) {
            self.waited(id, processor, WaitReason::START, WaitTime::BEGUN);
        }
    }

    /// A thread ends.
    pub(crate) fn end(&mut self, id: ThreadIndex, time: Ticks) {
        if self.instances.get_mut(id).state == State::Ready {
            self.leave_queue(id, time);
        }
        self.set(id, State::Ended, time);
        self.close_waits(id);
        self.instances.get_mut(id).end = Some(time);
    }

    /// A thread has ended without a record of it, before `time`: as its process did, where that was logged and nothing came after it.
    fn end_unseen(&mut self, id: ThreadIndex, time: Ticks) {
        let ended = self.end_with_process(id).filter(|ended| *ended < time);
        self.ended_with_process += u64::from(ended.is_some());
        self.end(id, ended.unwrap_or(time));
    }

    /// When a thread ended at the latest that waits or of which nothing is known: as its process ended, or did what it did last.
    fn end_with_process(&mut self, id: ThreadIndex) -> Option<Ticks> {
        let processes = self.processes;
        let instance = self.instances.get_mut(id);
        let ProcessCode::Instance(index) = instance.process_code(processes) else { return None };
        let process = processes.instances.get(index as usize).filter(|process| process.end_logged)?;
        let end = process.end_time()?;
        let is_idle = matches!(instance.state, State::Waiting | State::Unknown);
        (is_idle && instance.named <= end).then_some(end.max(instance.since))
    }

    /// The first context switch: of threads that were readied long before it nobody knows whether they ran since.
    #[cold]
    pub(crate) fn first_switch(&mut self, time: Ticks) {
        self.before.is_over = true;
        if self.before.forgotten().is_none() {
            return;
        }
        for id in 0..self.instances.all.len() as ThreadIndex {
            let instance = self.instances.get_mut(id);
            instance.early_ready = None;
            if instance.state == State::Ready {
                self.leave_queue(id, time);
                self.set(id, State::Unknown, time);
                self.open_waits.readied(id, S::default());
            }
        }
    }

    /// The window ends; thread events after it only describe.
    pub fn finish(&mut self, later: &[At<ThreadEvent>]) {
        let to = self.range.to;
        for id in 0..self.instances.all.len() as ThreadIndex {
            let instance = self.instances.get_mut(id);
            let (state, processor) = (instance.state, instance.processor);
            if state == State::Ready {
                self.settle(id);
                let stacks = self.open_waits.unfinished(id);
                self.counts.of(id, processor, stacks).unfinished += 1;
            }
        }
        self.queue.finish();
        later.iter().for_each(|event| self.thread_event(event));
        for id in 0..self.instances.all.len() as ThreadIndex {
            let state = self.instances.get_mut(id).state;
            match self.end_with_process(id).filter(|ended| *ended < to) {
                Some(_) => self.end_unseen(id, to),
                None => {
                    self.set(id, state, to);
                    self.close_waits(id);
                }
            }
        }
    }
}
