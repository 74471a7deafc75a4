//! Clock: converts raw time stamps to nanoseconds since trace start and to UTC, in integer arithmetic.
//!
//! The log-file header record gives the origin: its own stamp and its StartTime are the same instant. Its boot time is
//! not used, because it was wrong by up to 15 s in recorded traces.

use crate::named_enum::named_enum;
use crate::units::{FileTime, Nanos, Ticks};

named_enum! {
    /// What the session's raw stamps count.
    pub enum ClockKind {
        /// The performance counter (clock type 1).
        Qpc = "qpc",
        /// FILETIMEs (clock type 2).
        SystemTime = "system_time",
        /// Processor cycles (clock type 3): imprecise, because the frequency is only known in whole MHz.
        CpuCycle = "cpu_cycle",
    }
}

/// The session's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// What the stamps count.
    pub kind: ClockKind,
    /// Ticks in a second; never 0.
    pub frequency_hz: u64,
    /// Raw stamp of the log-file header record.
    pub origin: Ticks,
    /// The same instant as a FILETIME.
    pub start: FileTime,
}

impl Clock {
    /// Time since the start of the trace: ⌊(raw − origin) · 10⁹ / frequency⌋, negative before the start.
    pub fn nanos(&self, raw: Ticks) -> Nanos {
        Nanos(self.scaled(raw, 1_000_000_000))
    }

    /// A length of time: ⌊ticks · 10⁹ / frequency⌋ nanoseconds, at most what 64 bits hold.
    pub(crate) fn length_ns(&self, ticks: u64) -> u64 {
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency_hz.max(1));
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// UTC as FILETIME: StartTime + ⌊(raw − origin) · 10⁷ / frequency⌋, limited to the range of a FILETIME.
    pub fn filetime(&self, raw: Ticks) -> FileTime {
        let time = i128::from(self.start.0) + self.scaled(raw, 10_000_000);
        FileTime(time.clamp(0, i128::from(u64::MAX)) as u64)
    }

    /// Raw stamp of the instant `nanos` after the start: the last tick at or before it.
    pub fn ticks_at(&self, nanos: Nanos) -> Ticks {
        let ticks = (nanos.0.saturating_mul(i128::from(self.frequency_hz))).div_euclid(1_000_000_000)
            + i128::from(self.origin.0);
        Ticks(ticks.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// The first raw time that is not before so many nanoseconds since trace start.
    pub(crate) fn ticks_from(&self, nanos: Nanos) -> Ticks {
        let Nanos(floor) = self.nanos(self.ticks_at(nanos));
        let at = self.ticks_at(nanos);
        if floor < nanos.0 { Ticks(at.0.saturating_add(1)) } else { at }
    }

    fn scaled(&self, raw: Ticks, per_second: i64) -> i128 {
        // Division of 128 bits takes ten times as long, and millions of rows have a time.
        if let Some(ticks) = raw.0.checked_sub(self.origin.0)
            && let Ok(frequency) = i64::try_from(self.frequency_hz.max(1))
            && frequency <= i64::MAX / per_second
        {
            let (seconds, rest) = (ticks.div_euclid(frequency), ticks.rem_euclid(frequency));
            return i128::from(seconds) * i128::from(per_second) + i128::from(rest * per_second / frequency);
        }
        self.scaled_exactly(raw, per_second)
    }

    fn scaled_exactly(&self, raw: Ticks, per_second: i64) -> i128 {
        let ticks = i128::from(raw.0) - i128::from(self.origin.0);
        (ticks * i128::from(per_second)).div_euclid(i128::from(self.frequency_hz.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QPC: Clock =
        Clock { kind: ClockKind::Qpc, frequency_hz: 2_337_949, origin: Ticks(1_000), start: FileTime(130_000_000_000) };

    #[test]
    fn no_drift_over_hours() {
        let ten_hours = 36_000i64;
        let raw = Ticks(1_000 + ten_hours * 2_337_949);
        assert_eq!(QPC.nanos(raw), Nanos(i128::from(ten_hours) * 1_000_000_000));
        assert_eq!(QPC.filetime(raw), FileTime(130_000_000_000 + 36_000 * 10_000_000));
        assert_eq!(QPC.ticks_at(QPC.nanos(raw)), raw);
    }

    #[test]
    fn floors_before_the_start_too() {
        assert_eq!(QPC.nanos(Ticks(999)), Nanos(-428)); // -427.7… rounds away from zero
        assert_eq!(QPC.filetime(Ticks(i64::MIN)), FileTime(0));
    }

    proptest! {
        #[test]
        fn seconds_and_their_rest_are_the_whole(
            raw in prop_oneof![any::<i64>(), 0i64..1_000_000_000_000],
            origin in prop_oneof![any::<i64>(), 0i64..1_000_000_000],
            frequency_hz in prop_oneof![Just(0u64), Just(10_000_000), 1u64..10_000_000_000, any::<u64>()],
        ) {
            let clock = Clock { frequency_hz, origin: Ticks(origin), ..QPC };
            for per_second in [1_000_000_000, 10_000_000] {
                prop_assert_eq!(clock.scaled(Ticks(raw), per_second), clock.scaled_exactly(Ticks(raw), per_second));
            }
        }
    }
}
