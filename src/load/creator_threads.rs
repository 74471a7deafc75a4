//! Which process a thread starts next. A process that is being created has no id yet: its events belong to the process that
//! the same thread starts next.

use crate::moment::Moment;

/// Starts of processes by the thread that logged them, each with a number (a process id, or an instance's index).
#[derive(Debug, Clone, Default)]
pub struct CreatorThreads {
    starts: Vec<(u32, Moment, u32)>,
}

impl CreatorThreads {
    /// Adds a start.
    pub fn add(&mut self, thread_id: u32, moment: Moment, number: u32) {
        self.starts.push((thread_id, moment, number));
    }

    /// Sorts the starts; to be called after the last one was added.
    pub fn sort(&mut self) {
        self.starts.sort_unstable();
    }

    /// The process that a thread starts next, and when.
    ///
    /// Records with equal stamps in buffers of two processors have no known order: an event with the stamp of a start, but
    /// in another buffer, is taken to be before the start.
    pub fn next(&self, thread_id: u32, moment: Moment) -> Option<(Moment, u32)> {
        let next = self.starts.partition_point(|&(thread, at, _)| (thread, at) < (thread_id, moment));
        let of_thread = |at: usize| self.starts.get(at).filter(|start| start.0 == thread_id);
        let is_tie =
            |start: &&(u32, Moment, u32)| start.1.time == moment.time && start.1.order >> 32 != moment.order >> 32;
        let found = next.checked_sub(1).and_then(of_thread).filter(is_tie).or_else(|| of_thread(next));
        found.map(|&(_, moment, number)| (moment, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    #[test]
    fn a_thread_starts_the_process_that_it_has_prepared() {
        let at = |time: i64, buffer: u64, offset: u64| Moment { time: Ticks(time), order: buffer << 32 | offset };
        let starts = vec![(4, at(10, 1, 50), 100), (4, at(20, 1, 90), 200), (8, at(15, 2, 0), 300)];
        let starts = CreatorThreads { starts };
        let next = |thread, moment| starts.next(thread, moment).map(|(_, process)| process);
        assert_eq!([9, 11, 21].map(|time| next(4, at(time, 1, 0))), [Some(100), Some(200), None]);
        assert_eq!((next(8, at(3, 1, 0)), next(5, at(3, 1, 0))), (Some(300), None));
        // With the stamp of a start: inside its buffer the order counts, other buffers are before it.
        assert_eq!((next(4, at(10, 1, 40)), next(4, at(10, 1, 60))), (Some(100), Some(200)));
        assert_eq!((next(4, at(10, 0, 60)), next(4, at(10, 9, 60))), (Some(100), Some(100)));
        assert_eq!(next(4, at(20, 9, 0)), Some(200));
    }
}
