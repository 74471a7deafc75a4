//! Plausible time stamps: a stamp far outside the session is damage, not a time.
//!
//! A session's records lie between its start and its end, with an hour of tolerance. Its end is EndTime or the latest flush
//! of a buffer, whichever is later, because merged files continue after EndTime and the machine's clock may have been set
//! back.

use crate::etl::buffer::{Buffer, TYPE_HEADER};
use crate::etl::clock::{Clock, ClockKind};
use crate::etl::log_file_header::LogFileHeader;
use crate::units::{FileTime, Ticks};

/// FILETIME units in ten years: how long after its start a session's buffers may have been flushed.
const TEN_YEARS: u64 = 10 * 366 * 86_400 * 10_000_000;

/// The earliest and the latest plausible stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampLimits {
    /// An hour before the session's start.
    pub earliest: Ticks,
    /// An hour after its end.
    pub latest: Ticks,
}

impl StampLimits {
    /// No limits: every stamp is accepted.
    pub const NONE: StampLimits = StampLimits { earliest: Ticks(i64::MIN), latest: Ticks(i64::MAX) };

    /// The limits of a session.
    pub(crate) fn new(header: &LogFileHeader, clock: &Clock, buffers: &[Buffer]) -> StampLimits {
        let hour = i128::from(clock.frequency_hz) * 3600;
        let end = header.end_time.filter(|end| *end >= header.start_time).map(|end| in_ticks(clock, end));
        let flushes = buffers.iter().filter_map(|buffer| flushed(clock, buffer));
        let last = flushes.chain(end).max();
        let mut start = i128::from(clock.origin.0);
        if clock.kind == ClockKind::SystemTime {
            // The system clock can be set back while the session runs.
            start = header.end_time.map_or(start, |end| start.min(in_ticks(clock, end)));
        }
        let latest = last.map_or(Ticks(i64::MAX), |last| ticks(last.max(start) + hour));
        StampLimits { earliest: ticks(start - hour), latest }
    }

    /// True for a plausible stamp.
    #[inline(always)]
    pub fn contains(&self, stamp: Ticks) -> bool {
        (self.earliest <= stamp) & (stamp <= self.latest)
    }
}

/// When a buffer was flushed: no record in it is later.
pub(crate) fn flushed_at(clock: &Clock, buffer: &Buffer) -> Option<Ticks> {
    flushed(clock, buffer).map(ticks)
}

/// The kernel writes its session's ticks, a merge writes FILETIMEs, and header buffers hold 0.
fn flushed(clock: &Clock, buffer: &Buffer) -> Option<i128> {
    let is_filetime = (clock.start.0..clock.start.0.saturating_add(TEN_YEARS)).contains(&buffer.flushed);
    (buffer.kind != TYPE_HEADER && buffer.flushed != 0).then(|| match is_filetime {
        true => in_ticks(clock, FileTime(buffer.flushed)),
        false => i128::from(buffer.flushed as i64),
    })
}

fn ticks(ticks: i128) -> Ticks {
    Ticks(ticks.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// Raw stamp at a FILETIME.
fn in_ticks(clock: &Clock, time: FileTime) -> i128 {
    let since_start = i128::from(time.0) - i128::from(clock.start.0);
    i128::from(clock.origin.0) + since_start.saturating_mul(clock.frequency_hz.into()).div_euclid(10_000_000)
}
