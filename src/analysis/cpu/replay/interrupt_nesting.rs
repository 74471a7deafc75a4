//! Who owns a processor at each moment when interrupts and deferred procedure calls interrupt its thread and each other:
//! the one that began last; of those that began together the one that ends first, then the one logged first.
//!
//! They are logged at their ends. So all that begin before a moment must be read before time passes that moment.

use crate::analysis::time_grid::TickRange;
use crate::units::Ticks;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An interruption of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// First moment.
    pub begin: Ticks,
    /// First moment after it.
    pub end: Ticks,
    /// Number of the record on its processor.
    pub logged: u32,
    /// What ran, as the caller names it.
    pub owner: u32,
}

impl Interval {
    /// Greatest for the one that owns the processor.
    fn rank(&self) -> (Ticks, Reverse<Ticks>, Reverse<u32>) {
        (self.begin, Reverse(self.end), Reverse(self.logged))
    }
}

impl Ord for Interval {
    fn cmp(&self, other: &Interval) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Interval) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Time that passes on one processor.
#[derive(Debug)]
pub struct InterruptNesting {
    range: TickRange,
    now: Ticks,
    /// Begin later, the earliest first.
    later: BinaryHeap<Reverse<Interval>>,
    /// Have begun, the owner first; those below it may have ended.
    begun: BinaryHeap<Interval>,
    /// Intervals that began inside of another one and ended after it.
    pub not_nested: u64,
}

impl InterruptNesting {
    /// Time stands at the window's start.
    pub fn new(range: TickRange) -> InterruptNesting {
        InterruptNesting { range, now: range.from, later: BinaryHeap::new(), begun: BinaryHeap::new(), not_nested: 0 }
    }

    /// Adds an interval that may begin before now only as far as it was not known.
    pub fn add(&mut self, interval: Interval) {
        if interval.end > self.now && interval.begin < self.range.to && interval.begin < interval.end {
            self.later.push(Reverse(interval));
        }
    }

    /// Lets time pass until `until` and calls `owns` with the owner (`None`: the thread) and each stretch of time.
    #[inline(always)]
    pub fn pass(&mut self, until: Ticks, mut owns: impl FnMut(Option<u32>, Ticks, Ticks)) {
        let until = until.min(self.range.to);
        while self.now < until {
            let mut limit = until;
            if let Some(Reverse(next)) = self.later.peek() {
                if next.begin <= self.now {
                    self.begin();
                    continue;
                }
                limit = limit.min(next.begin);
            }
            let owner = match self.begun.peek() {
                Some(owner) if owner.end <= self.now => {
                    self.begun.pop();
                    continue;
                }
                Some(owner) => {
                    limit = limit.min(owner.end);
                    Some(owner.owner)
                }
                None => None,
            };
            owns(owner, self.now, limit);
            self.now = limit;
        }
    }

    fn begin(&mut self) {
        let Some(Reverse(next)) = self.later.pop() else { return };
        while self.begun.peek().is_some_and(|owner| owner.end <= self.now) {
            self.begun.pop();
        }
        let interrupted = self.begun.peek();
        self.not_nested += u64::from(interrupted.is_some_and(|owner| next.begin < owner.end && owner.end < next.end));
        self.begun.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owned(list: &[(i64, i64)], stops: &[i64]) -> Vec<Option<u32>> {
        let mut owners = InterruptNesting::new(TickRange { from: Ticks(0), to: Ticks(40) });
        for (number, &(begin, end)) in (0..).zip(list) {
            owners.add(Interval { begin: Ticks(begin), end: Ticks(end), logged: number, owner: number });
        }
        let mut found = Vec::new();
        for &stop in stops.iter().chain(&[40]) {
            owners.pass(Ticks(stop), |owner, from, to| {
                assert!(from < to && from.0 == found.len() as i64);
                found.resize(to.0 as usize, owner);
            });
        }
        found
    }

    #[test]
    fn an_interrupt_takes_its_time_from_the_one_that_it_interrupted() {
        let found = owned(&[(4, 6), (2, 9), (20, 25)], &[]);
        let at = |time: usize| found[time];
        assert_eq!(
            [1, 2, 4, 5, 6, 8, 9, 22].map(at),
            [None, Some(1), Some(0), Some(0), Some(1), Some(1), None, Some(2)]
        );
    }

    proptest! {
        /// Each moment has the owner that the rule names, however the intervals overlap and time is cut.
        #[test]
        fn each_moment_has_one_owner(
            list in prop::collection::vec((-5i64..45, 0i64..20), 0..30),
            mut stops in prop::collection::vec(0i64..45, 0..5),
        ) {
            stops.sort_unstable();
            let list: Vec<(i64, i64)> = list.iter().map(|&(begin, length)| (begin, begin + length)).collect();
            let found = owned(&list, &stops);
            for (moment, owner) in found.iter().enumerate() {
                let moment = moment as i64;
                let running = (0u32..).zip(&list).filter(|(_, (begin, end))| (*begin..*end).contains(&moment));
                let expected = running.max_by_key(|&(number, &(begin, end))| (begin, -end, Reverse(number)));
                prop_assert_eq!(*owner, expected.map(|(number, _)| number), "at {}", moment);
            }
            prop_assert_eq!(found.len(), 40);
        }
    }
}
