//! How much time a sample stands for: the interval of the profile timer that was in force.

use crate::moment::{At, Moment};

/// Interval of a trace that does not say it, in 100 ns.
const MILLISECOND: u32 = 10_000;

/// Intervals in time order.
#[derive(Debug)]
pub struct ProfileIntervals<'p> {
    /// Before and from then on, in 100 ns; true where the interval was set.
    all: &'p [At<(bool, u32, u32)>],
    next: usize,
}

impl<'p> ProfileIntervals<'p> {
    /// Before the first sample. `all`: in record order.
    pub fn new(all: &'p [At<(bool, u32, u32)>]) -> ProfileIntervals<'p> {
        ProfileIntervals { all, next: 0 }
    }

    /// Nanoseconds between samples at this moment, which is not before the one that was asked for last. Before the first record, what
    /// that one replaced.
    pub fn nanos(&mut self, moment: Moment) -> u64 {
        while self.all.get(self.next).is_some_and(|at| at.moment <= moment) {
            self.next += 1;
        }
        self.in_force()
    }

    /// The one before the first sample.
    pub fn first(&self) -> u64 {
        self.in_force()
    }

    /// The same for the moment that was asked for last.
    pub fn in_force(&self) -> u64 {
        let before = self.next.checked_sub(1).and_then(|last| self.all.get(last)).map(|at| at.value.2);
        let first = self.all.first().map(|at| if at.value.0 { at.value.1 } else { at.value.2 });
        u64::from(before.or(first).unwrap_or(MILLISECOND)) * 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    #[test]
    fn the_interval_is_that_in_force() {
        let at = |time, value| At { moment: Moment { time: Ticks(time), order: 0 }, value };
        let nanos = |all: &[At<(bool, u32, u32)>]| {
            let mut intervals = ProfileIntervals::new(all);
            [1, 5, 9].map(|time| intervals.nanos(Moment { time: Ticks(time), order: 0 }))
        };
        assert_eq!(nanos(&[]), [1_000_000; 3]);
        assert_eq!(nanos(&[at(5, (true, 7, 8)), at(7, (true, 8, 9))]), [700, 800, 900]);
        assert_eq!(nanos(&[at(5, (false, 7, 8))]), [800; 3]);
    }
}
