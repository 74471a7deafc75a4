//! Records of buffers that overlap in time, in one order. Each buffer's records are a run; a run is kept until its last record's turn.

use crate::moment::Moment;
use crate::units::Ticks;

/// A record that knows when it was logged.
pub trait Timed: Copy {
    /// When it was logged.
    fn moment(&self) -> Moment;
}

/// A moment as one number, in the same order: two of them are compared without a branch, which nothing could predict.
#[inline(always)]
const fn number_of(moment: Moment) -> u128 {
    ((moment.time.0 as u64 ^ 1 << 63) as u128) << 64 | moment.order as u128
}

/// Later than all moments but the last one.
const NEVER: u128 = u128::MAX;

/// The rest of a run.
#[derive(Debug)]
struct Run<T> {
    at: usize,
    records: Vec<T>,
}

/// A run that begins later.
#[derive(Debug)]
struct Waiting<T> {
    first: u128,
    records: Vec<T>,
}

/// The next record of a run.
#[derive(Debug, Clone, Copy)]
struct Next {
    /// Its moment.
    moment: u128,
    /// The number of the run.
    run: u32,
}

impl Next {
    const NONE: Next = Next { moment: NEVER, run: u32::MAX };
}

/// Runs that have begun, and which of them has the earliest record: a binary tree whose nodes have the earlier one of the two below.
#[derive(Debug)]
struct Begun<T> {
    /// By their numbers; without records where one has ended.
    runs: Vec<Run<T>>,
    /// Numbers of those that have ended.
    ended: Vec<u32>,
    /// The tree: the root has number 1, the nodes below `n` have `2 n` and `2 n + 1`, the last half of all are those of the runs.
    nodes: Vec<Next>,
}

impl<T> Default for Begun<T> {
    fn default() -> Self {
        Begun { runs: Vec::new(), ended: Vec::new(), nodes: Vec::new() }
    }
}

impl<T: Timed> Begun<T> {
    /// The earliest record.
    #[inline(always)]
    fn first(&self) -> Next {
        self.nodes.get(1).copied().unwrap_or(Next::NONE)
    }

    fn add(&mut self, Waiting { first, records }: Waiting<T>) {
        let run = self.ended.pop().unwrap_or(self.runs.len() as u32);
        match self.runs.get_mut(run as usize) {
            Some(ended) => *ended = Run { at: 0, records },
            None => self.runs.push(Run { at: 0, records }),
        }
        if self.runs.len() * 2 > self.nodes.len() {
            self.grow();
        }
        self.note(Next { moment: first, run });
    }

    /// Makes the tree so large that all runs have a place.
    #[cold]
    fn grow(&mut self) {
        let old = self.nodes.len() / 2;
        let runs: Vec<Next> = self.nodes.get(old..).unwrap_or_default().to_vec();
        self.nodes = vec![Next::NONE; self.runs.len().next_power_of_two() * 2];
        runs.into_iter().filter(|next| next.run != u32::MAX).for_each(|next| self.note(next));
    }

    /// The next record of a run is another one now: so are the nodes above it, perhaps.
    #[inline(always)]
    fn note(&mut self, mut next: Next) {
        let mut at = self.nodes.len() / 2 + next.run as usize;
        loop {
            let Some(node) = self.nodes.get_mut(at) else { return };
            *node = next;
            if at <= 1 {
                return;
            }
            let other = self.nodes.get(at ^ 1).copied().unwrap_or(Next::NONE);
            next = if other.moment < next.moment { other } else { next };
            at /= 2;
        }
    }

    /// Takes the first record of a run.
    #[inline(always)]
    fn take(&mut self, number: u32) -> Option<T> {
        let run = self.runs.get_mut(number as usize)?;
        let record = run.records.get(run.at).copied()?;
        run.at += 1;
        let moment = match run.records.get(run.at) {
            Some(next) => number_of(next.moment()),
            None => {
                run.records = Vec::new();
                self.ended.push(number);
                NEVER
            }
        };
        self.note(Next { moment, run: number });
        Some(record)
    }
}

/// Runs that are not at their end.
#[derive(Debug)]
pub struct RecordRuns<T> {
    begun: Begun<T>,
    /// Those that begin later; the first one is the last. So few runs are compared with each other at a time.
    waiting: Vec<Waiting<T>>,
    /// When the first of them begins.
    next_run: u128,
}

impl<T> Default for RecordRuns<T> {
    fn default() -> Self {
        RecordRuns { begun: Begun::default(), waiting: Vec::new(), next_run: NEVER }
    }
}

impl<T: Timed> RecordRuns<T> {
    /// Adds runs, each of them in order.
    pub fn add(&mut self, runs: Vec<Vec<T>>) {
        for records in runs {
            let first = records.first().map(|record| number_of(record.moment()));
            self.waiting.extend(first.map(|first| Waiting { first, records }));
        }
        self.waiting.sort_by_key(|run| std::cmp::Reverse(run.first));
        self.note_waiting();
    }

    fn note_waiting(&mut self) {
        self.next_run = self.waiting.last().map_or(NEVER, |run| run.first);
    }

    /// The next record, if it is not later than this time.
    #[inline(always)]
    pub fn next_until(&mut self, to: Ticks) -> Option<T> {
        while self.next_run <= self.begun.first().moment {
            let Some(run) = self.waiting.pop() else { break };
            self.begun.add(run);
            self.note_waiting();
        }
        let first = self.begun.first();
        if first.moment > number_of(Moment { time: to, order: u64::MAX }) {
            return None;
        }
        self.begun.take(first.run)
    }

    /// The records up to this time, in order.
    pub fn take_until(&mut self, to: Ticks) -> Vec<T> {
        std::iter::from_fn(|| self.next_until(to)).collect()
    }
}

/// The records of a run in order: nearly always they are.
pub fn in_order<T: Timed>(mut records: Vec<T>) -> Vec<T> {
    if !records.is_sorted_by_key(T::moment) {
        records.sort_by_key(T::moment);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Timed for Moment {
        fn moment(&self) -> Moment {
            *self
        }
    }

    proptest! {
        /// Whatever the runs and the slices, the records come as if all were sorted.
        #[test]
        fn runs_are_merged(
            slices in prop::collection::vec((prop::collection::vec(prop::collection::vec(0i64..60, 0..9), 0..5), 0i64..20), 1..5),
        ) {
            let (mut runs, mut all, mut found, mut to) = (RecordRuns::default(), Vec::new(), Vec::new(), 0);
            for (number, (of_slice, length)) in slices.iter().enumerate() {
                // Nothing of a slice is before its begin.
                let moment = |run: usize, at: usize, time: i64| Moment {
                    time: Ticks(to + time),
                    order: (number * 100 + run * 10 + at) as u64,
                };
                let new: Vec<Vec<Moment>> = of_slice
                    .iter()
                    .enumerate()
                    .map(|(run, times)| times.iter().enumerate().map(|(at, time)| moment(run, at, *time)).collect())
                    .collect();
                all.extend(new.iter().flatten().copied());
                runs.add(new.into_iter().map(in_order).collect());
                to += length;
                let taken = runs.take_until(Ticks(to - 1));
                prop_assert!(taken.iter().all(|moment| moment.time.0 < to));
                found.extend(taken);
            }
            found.extend(runs.take_until(Ticks(i64::MAX)));
            all.sort_unstable();
            prop_assert_eq!(found, all);
        }
    }
}
