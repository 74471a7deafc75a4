//! Records of buffers that overlap in time, in one order. Each buffer's records are a run; a run is kept until its last record's turn.

use crate::moment::Moment;
use crate::units::Ticks;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A record that knows when it was logged.
pub trait Timed: Copy {
    /// When it was logged.
    fn moment(&self) -> Moment;
}

/// The rest of a run, with the moment of its next record.
#[derive(Debug)]
struct Run<T> {
    next: Moment,
    at: usize,
    records: Vec<T>,
}

impl<T> Ord for Run<T> {
    /// The greatest one is that whose next record is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.next.cmp(&self.next)
    }
}

impl<T> PartialOrd for Run<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Run<T> {
    fn eq(&self, other: &Self) -> bool {
        self.next == other.next
    }
}

impl<T> Eq for Run<T> {}

/// Runs that are not at their end.
#[derive(Debug)]
pub struct RecordRuns<T> {
    /// Those that have begun.
    begun: BinaryHeap<Run<T>>,
    /// Those that begin later; the first one is the last. So few runs are compared with each other at a time.
    waiting: Vec<Run<T>>,
}

impl<T> Default for RecordRuns<T> {
    fn default() -> Self {
        RecordRuns { begun: BinaryHeap::new(), waiting: Vec::new() }
    }
}

impl<T: Timed> RecordRuns<T> {
    /// Adds runs; one that is not in order is put in order.
    pub fn add(&mut self, runs: Vec<Vec<T>>) {
        for mut records in runs {
            if !records.is_sorted_by_key(T::moment) {
                records.sort_by_key(T::moment);
            }
            let first = records.first().map(T::moment);
            self.waiting.extend(first.map(|next| Run { next, at: 0, records }));
        }
        self.waiting.sort_by_key(|run| std::cmp::Reverse(run.next));
    }

    /// The records up to this time, in order. `room`: an older answer, whose memory is used again: what is large and short-lived leaves
    /// holes that what is small and long-lived gets into.
    pub fn take_until(&mut self, to: Ticks, room: Vec<T>) -> Vec<T> {
        let waiting = self.waiting.iter().map(|run| run.records.len()).sum::<usize>();
        let mut taken = emptied(room, waiting);
        loop {
            let earliest = self.begun.peek().map_or(Moment::LAST, |run| run.next);
            if let Some(run) = self.waiting.pop_if(|run| run.next <= earliest) {
                self.begun.push(run);
                continue;
            }
            let Some(mut run) = self.begun.peek_mut().filter(|run| run.next.time <= to) else { return taken };
            taken.extend(run.records.get(run.at));
            let at = run.at + 1;
            match run.records.get(at).map(T::moment) {
                Some(next) => (run.at, run.next) = (at, next),
                None => drop(PeekMut::pop(run)),
            }
        }
    }
}

/// An empty list with room for so many, and a few more, so that lists of about one length get no new memory.
pub fn emptied<T>(mut list: Vec<T>, len: usize) -> Vec<T> {
    list.clear();
    if list.capacity() < len {
        drop(std::mem::take(&mut list));
        list.reserve_exact(len + len / 8);
    }
    list
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
                runs.add(new);
                to += length;
                let taken = runs.take_until(Ticks(to - 1), found.clone());
                prop_assert!(taken.iter().all(|moment| moment.time.0 < to));
                found.extend(taken);
            }
            found.extend(runs.take_until(Ticks(i64::MAX), Vec::new()));
            all.sort_unstable();
            prop_assert_eq!(found, all);
        }
    }
}
