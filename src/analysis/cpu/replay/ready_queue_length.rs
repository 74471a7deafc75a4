//! The ready queue: how many threads were ready to run and had to wait, over time.
//!
//! A thread can be readied before it waits. Whether it then is in the queue is known only later, because a second ready record
//! can replace the first. Changes after such an entry are held back until it is settled.

use crate::analysis::time_grid::{Grid, Steps, TickRange};
use crate::units::Ticks;
use std::collections::VecDeque;

/// The most changes that are held back; entries that are not settled by then count as they seem. This can only be wrong for a
/// thread that starves for millions of switches, and then waits again without having run.
const MOST_HELD: usize = 1 << 22;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Enter,
    Leave,
    /// An entry that is not settled.
    Perhaps,
    /// An entry that was none.
    Nothing,
}

/// The length over time.
#[derive(Debug)]
pub struct ReadyQueue {
    range: TickRange,
    now: Ticks,
    length: usize,
    /// Ticks at each length, inside of the window.
    pub by_length: Vec<u64>,
    /// Greatest length that lasted, and when it was first reached.
    pub max: Option<(usize, Ticks)>,
    /// Threads that became ready in the window.
    pub arrivals: u64,
    /// Sum of the lengths that they met.
    pub met: u128,
    steps: Steps,
    /// Length × ticks in each step of the timeline.
    pub by_step: Vec<u128>,
    held: VecDeque<(Ticks, Change)>,
    /// Number of the first change that is held back.
    first_held: u64,
}

/// An entry that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingEntry(u64);

impl ReadyQueue {
    /// An empty queue before the window.
    pub fn new(range: TickRange, timeline: Option<Grid>) -> ReadyQueue {
        ReadyQueue {
            range,
            now: range.from,
            length: 0,
            by_length: vec![0],
            max: None,
            arrivals: 0,
            met: 0,
            steps: Steps::new(timeline),
            by_step: Vec::new(),
            held: VecDeque::new(),
            first_held: 0,
        }
    }

    /// A thread becomes ready.
    #[inline(always)]
    pub fn enter(&mut self, time: Ticks) {
        self.change(time, Change::Enter);
    }

    /// A thread is ready no more.
    #[inline(always)]
    pub fn leave(&mut self, time: Ticks) {
        self.change(time, Change::Leave);
    }

    /// A thread becomes ready, unless a later record says otherwise.
    pub fn enter_perhaps(&mut self, time: Ticks) -> PendingEntry {
        self.held.push_back((time, Change::Perhaps));
        PendingEntry(self.first_held + self.held.len() as u64 - 1)
    }

    /// Says whether the thread became ready then.
    pub fn settle(&mut self, entry: PendingEntry, is_ready: bool) {
        let index = entry.0.checked_sub(self.first_held).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| self.held.get_mut(index)) {
            Some(held) => held.1 = if is_ready { Change::Enter } else { Change::Nothing },
            // It was taken as ready already.
            None if !is_ready => self.length = self.length.saturating_sub(1),
            None => {}
        }
        self.release();
    }

    #[inline(always)]
    fn change(&mut self, time: Ticks, change: Change) {
        if self.held.is_empty() {
            return self.apply(time, change);
        }
        self.hold(time, change);
    }

    #[inline(never)]
    fn hold(&mut self, time: Ticks, change: Change) {
        self.held.push_back((time, change));
        if self.held.len() > MOST_HELD
            && let Some((_, first @ Change::Perhaps)) = self.held.front_mut()
        {
            *first = Change::Enter;
            self.release();
        }
    }

    fn release(&mut self) {
        while let Some(&(time, change)) = self.held.front().filter(|(_, change)| *change != Change::Perhaps) {
            self.held.pop_front();
            self.first_held += 1;
            self.apply(time, change);
        }
    }

    #[inline(always)]
    fn apply(&mut self, time: Ticks, change: Change) {
        self.pass(time);
        match change {
            Change::Enter | Change::Perhaps => {
                if self.range.holds(time) {
                    self.arrivals += 1;
                    self.met += self.length as u128;
                }
                self.length += 1;
            }
            Change::Leave => self.length = self.length.saturating_sub(1),
            Change::Nothing => {}
        }
    }

    /// Lets time pass at the current length.
    #[inline(always)]
    fn pass(&mut self, time: Ticks) {
        let time = self.range.clip(time);
        if time <= self.now {
            return;
        }
        if self.by_length.len() <= self.length {
            self.by_length.resize(self.length + 1, 0);
        }
        if let Some(ticks) = self.by_length.get_mut(self.length) {
            *ticks += time.0.wrapping_sub(self.now.0) as u64;
        }
        if self.length > self.max.map_or(0, |(most, _)| most) {
            self.max = Some((self.length, self.now));
        }
        let (length, by_step) = (self.length as u128, &mut self.by_step);
        self.steps.cut(self.now, time, |step, ticks| {
            let step = step as usize;
            if by_step.len() <= step {
                by_step.resize(step + 1, 0);
            }
            by_step.get_mut(step).into_iter().for_each(|sum| *sum += length * u128::from(ticks));
        });
        self.now = time;
    }

    /// Lets the window end.
    pub fn finish(&mut self) {
        for held in &mut self.held {
            held.1 = if held.1 == Change::Perhaps { Change::Enter } else { held.1 };
        }
        self.release();
        self.pass(self.range.to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> ReadyQueue {
        ReadyQueue::new(TickRange { from: Ticks(10), to: Ticks(110) }, None)
    }

    #[test]
    fn lengths_are_held_for_their_time() {
        let mut queue = queue();
        queue.enter(Ticks(5)); // before the window
        queue.enter(Ticks(20));
        queue.enter(Ticks(30));
        queue.leave(Ticks(30)); // a length that lasts no time is no maximum
        queue.leave(Ticks(40));
        queue.leave(Ticks(60));
        queue.finish();
        assert_eq!((queue.by_length.clone(), queue.max), (vec![50, 30, 20], Some((2, Ticks(20)))));
        assert_eq!((queue.arrivals, queue.met, queue.by_step[0]), (2, 1 + 2, 30 + 40));
    }

    #[test]
    fn an_entry_that_was_none_leaves_no_trace() {
        for is_ready in [false, true] {
            let mut queue = queue();
            let first = queue.enter_perhaps(Ticks(20));
            queue.enter(Ticks(30));
            queue.leave(Ticks(50));
            if !is_ready {
                queue.enter(Ticks(60));
            }
            queue.settle(first, is_ready);
            queue.leave(Ticks(70));
            queue.finish();
            match is_ready {
                true => assert_eq!((queue.by_length.clone(), queue.met), (vec![50, 30, 20], 1)),
                false => assert_eq!((queue.by_length.clone(), queue.met), (vec![70, 30], 0)),
            }
            assert_eq!(queue.arrivals, 2);
        }
    }

    #[test]
    fn what_is_never_settled_counts_as_it_seems() {
        let mut queue = queue();
        queue.enter_perhaps(Ticks(20));
        queue.finish();
        assert_eq!(queue.by_length, [10, 90]);
    }
}
