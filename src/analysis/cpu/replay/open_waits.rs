//! Waits until the switch-in that ends them: only then it is known to which stack they belong. Kept only where stacks are.

use crate::analysis::cpu::replay::thread_counts::{CountsByThread, WaitTime};
use crate::analysis::cpu::replay::thread_instances::{ThreadIndex, WaitReason};
use crate::analysis::cpu::switch_stacks::{KeptStack, SwitchInStacks};

/// The waits of all threads.
#[derive(Debug, Default)]
pub struct OpenWaits<S>(Vec<OpenWait<S>>);

/// What a thread did since its last switch-in.
#[derive(Debug, Clone, Default)]
struct OpenWait<S> {
    /// Its waits, and where they began: one, or one that began before and was found to go on.
    waits: Vec<(WaitReason, u16, WaitTime)>,
    /// Stack of the record that readied it, while it is ready.
    readied: S,
    /// Stack of the first ready record of its current run.
    readied_early: S,
    /// Stack of its next switch-in, where that comes after the window.
    runs_later: S,
}

impl<S: KeptStack> OpenWaits<S> {
    #[inline(always)]
    fn of(&mut self, thread: ThreadIndex) -> &mut OpenWait<S> {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, OpenWait::default);
        }
        &mut self.0[at]
    }

    /// A thread waited.
    pub fn add(&mut self, thread: ThreadIndex, processor: u16, reason: WaitReason, time: WaitTime) {
        let waits = &mut self.of(thread).waits;
        match waits.last_mut() {
            Some((known, at, sum)) if (*known, *at) == (reason, processor) => *sum += time,
            _ => waits.push((reason, processor, time)),
        }
    }

    /// A record readied a thread.
    #[inline(always)]
    pub fn readied(&mut self, thread: ThreadIndex, stack: S) {
        if S::IS_KEPT {
            self.of(thread).readied = stack;
        }
    }

    /// A record came for a thread that ran.
    #[inline(always)]
    pub fn readied_early(&mut self, thread: ThreadIndex, stack: S) {
        if S::IS_KEPT {
            self.of(thread).readied_early = stack;
        }
    }

    /// That record ends the wait that begins now.
    #[inline(always)]
    pub fn ends_at_once(&mut self, thread: ThreadIndex) {
        if S::IS_KEPT {
            let open = self.of(thread);
            open.readied = open.readied_early;
        }
    }

    /// A thread runs again after the window.
    pub fn runs_later(&mut self, thread: ThreadIndex, stack: S) {
        self.of(thread).runs_later = stack;
    }

    /// The stacks of a thread that is ready when the window ends.
    pub fn unfinished(&mut self, thread: ThreadIndex) -> SwitchInStacks<S> {
        match S::IS_KEPT {
            true => {
                let open = self.of(thread);
                SwitchInStacks { waited: open.runs_later, readied: open.readied }
            }
            false => SwitchInStacks::default(),
        }
    }

    /// A thread runs again: its waits belong to this switch-in, whose stacks are returned.
    #[inline(always)]
    pub fn close(&mut self, thread: ThreadIndex, waited: S, counts: &mut CountsByThread<S>) -> SwitchInStacks<S> {
        if !S::IS_KEPT {
            return SwitchInStacks::default();
        }
        let open = self.of(thread);
        let stacks = SwitchInStacks { waited, readied: std::mem::take(&mut open.readied) };
        for (reason, processor, time) in open.waits.drain(..) {
            *counts.of(thread, processor, stacks).wait(reason) += time;
        }
        stacks
    }

    /// The same of waits whose switch-in is not in the window, or was not logged.
    #[inline(always)]
    pub fn close_unfinished(&mut self, thread: ThreadIndex, counts: &mut CountsByThread<S>) {
        if S::IS_KEPT {
            let waited = self.of(thread).runs_later;
            self.close(thread, waited, counts);
        }
    }
}
