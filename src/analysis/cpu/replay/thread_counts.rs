//! Counts of switch-ins, delays and waits: of one thread, of one processor, or of one thread on one processor; where stacks are kept,
//! of the switch-ins with the same stacks.

use crate::analysis::cpu::delay_percentiles::Delays;
use crate::analysis::cpu::replay::thread_instances::{ThreadIndex, WaitReason};
use crate::analysis::cpu::switch_stacks::{KeptStack, SwitchInStacks};
use foldhash::HashMap as FastMap;

/// Waits for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitTime {
    /// Waits that began in the window.
    pub count: u64,
    /// Their time in the window, and that of waits that began before it.
    pub ticks: u64,
    /// The part of that time that is of waits that began before the window.
    pub of_earlier: u64,
}

impl WaitTime {
    /// A wait that begins.
    pub const BEGUN: WaitTime = WaitTime { count: 1, ticks: 0, of_earlier: 0 };

    /// Time of a wait that has been counted, or that began before the window.
    pub const fn time(ticks: u64, is_earlier: bool) -> WaitTime {
        WaitTime { count: 0, ticks, of_earlier: if is_earlier { ticks } else { 0 } }
    }

    /// Time in the window of the waits that began in it.
    pub const fn of_begun(&self) -> u64 {
        self.ticks.saturating_sub(self.of_earlier)
    }
}

impl std::ops::AddAssign for WaitTime {
    fn add_assign(&mut self, other: WaitTime) {
        self.count += other.count;
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.of_earlier = self.of_earlier.saturating_add(other.of_earlier);
    }
}

/// What is counted.
#[derive(Debug, Default)]
pub struct ThreadCounts {
    /// Ticks on the processor without interrupts.
    pub cpu: u64,
    /// The same with interrupts.
    pub with_interrupts: u64,
    /// Switch-ins.
    pub switches: u64,
    /// Switch-ins whose ready time is not known.
    pub unknown_ready: u64,
    /// Delays that had not ended when the window ended.
    pub unfinished: u64,
    /// Ready records that changed nothing.
    pub redundant: u64,
    /// Finished delays.
    pub delays: Delays,
    /// Waits by reason.
    pub waits: Vec<(WaitReason, WaitTime)>,
}

impl ThreadCounts {
    /// The waits for a reason.
    #[inline(always)]
    pub fn wait(&mut self, reason: WaitReason) -> &mut WaitTime {
        let at = match self.waits.iter().position(|(known, _)| *known == reason) {
            Some(at) => at,
            None => {
                self.waits.push((reason, WaitTime::default()));
                self.waits.len() - 1
            }
        };
        &mut self.waits[at].1
    }

    /// True when there is nothing to show.
    pub fn is_empty(&self) -> bool {
        let ThreadCounts { cpu, with_interrupts, switches, unknown_ready, unfinished, redundant, delays, waits } = self;
        let counts = [cpu, with_interrupts, switches, unknown_ready, unfinished, redundant];
        counts.iter().all(|count| **count == 0) && delays.is_empty() && waits.is_empty()
    }
}

/// What counts are of: a thread, its processor where processors are kept apart, its stacks where they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedOf {
    /// The thread.
    pub instance: ThreadIndex,
    /// Its processor, or 0.
    pub processor: u16,
    /// Numbers of its stacks.
    pub stacks: SwitchInStacks<u32>,
}

impl CountedOf {
    /// A thread on a processor.
    pub fn thread(instance: ThreadIndex, processor: u16) -> CountedOf {
        CountedOf { instance, processor, stacks: SwitchInStacks::default() }
    }
}

/// All counts.
#[derive(Debug, Default)]
pub struct CountsByThread<S> {
    by_processor: bool,
    all: Vec<ThreadCounts>,
    /// Threads on processors, and their switch-ins by stacks: which they are, and where.
    places: FastMap<(ThreadIndex, u16, SwitchInStacks<S>), usize>,
}

impl<S: KeptStack> CountsByThread<S> {
    /// Of threads, or of threads on processors.
    pub fn new(by_processor: bool) -> CountsByThread<S> {
        CountsByThread { by_processor, ..CountsByThread::default() }
    }

    /// The counts of a thread on a processor, of the switch-ins with these stacks.
    #[inline(always)]
    pub fn of(&mut self, instance: ThreadIndex, processor: u16, stacks: SwitchInStacks<S>) -> &mut ThreadCounts {
        let at = match self.by_processor || S::IS_KEPT {
            false => instance as usize,
            true => {
                let next = self.places.len();
                let processor = if self.by_processor { processor } else { 0 };
                *self.places.entry((instance, processor, stacks)).or_insert(next)
            }
        };
        if self.all.len() <= at {
            self.grow(at);
        }
        &mut self.all[at]
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        self.all.resize_with(at + 1, ThreadCounts::default);
    }

    /// All counts, and what they are of.
    pub fn each(&self) -> Vec<(CountedOf, &ThreadCounts)> {
        if !self.by_processor && !S::IS_KEPT {
            return (0..).zip(&self.all).map(|(instance, counted)| (CountedOf::thread(instance, 0), counted)).collect();
        }
        let of = |(instance, processor, stacks): (ThreadIndex, u16, SwitchInStacks<S>)| {
            let stacks = stacks.numbers();
            CountedOf { instance, processor, stacks }
        };
        let mut all: Vec<_> = self.places.iter().map(|(&key, &at)| (of(key), &self.all[at])).collect();
        all.sort_unstable_by_key(|(of, _)| *of);
        all
    }
}
