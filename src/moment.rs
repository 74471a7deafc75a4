//! Moments: the total order of all records of a trace.

use crate::units::Ticks;

/// When a record was logged. Records are ordered by time stamp; equal stamps by the sequence number of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment {
    /// Raw stamp.
    pub time: Ticks,
    /// Rank of the buffer (high 32 bits) and offset in its event area (low 32 bits).
    pub order: u64,
}

impl Moment {
    /// Before all records.
    pub const FIRST: Moment = Moment { time: Ticks(i64::MIN), order: 0 };
    /// After all records.
    pub const LAST: Moment = Moment::end_of(Ticks(i64::MAX));

    /// After all records with this stamp.
    pub const fn end_of(time: Ticks) -> Moment {
        Moment { time, order: u64::MAX }
    }
}

/// A value and when it was logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// When it was logged.
    pub moment: Moment,
    /// What was logged.
    pub value: T,
}
