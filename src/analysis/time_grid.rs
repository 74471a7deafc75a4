//! Points in time at equal distances from the window's start: clock ticks, and the edges of a timeline's steps.

use crate::analysis::recording_end::begun_inside;
use crate::error::Error;
use crate::etl::clock::Clock;
use crate::model::window::{Bound, Ends, Window};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::{Nanos, Ticks, counted};

/// Most steps of a timeline.
pub const MOST_STEPS: u64 = 100_000;

const SECOND: u128 = 1_000_000_000;

/// The begin and the end of the window, in raw ticks: `[from, to)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TickRange {
    /// First tick inside.
    pub from: Ticks,
    /// First tick after it.
    pub to: Ticks,
}

/// Says how many things are before the window of the whole trace, by [`TickRange::count_before`].
pub fn before_start(analysis: &'static str, things: &[(u64, [&str; 2])]) -> Option<Warning> {
    let early = || things.iter().filter(|(number, _)| *number > 0);
    let number = early().fold(0u64, |sum, (number, _)| sum.saturating_add(*number));
    let texts: Vec<String> = early().map(|(number, [one, many])| counted(*number, one, many)).collect();
    let text = format!(
        "{} {} before the stamp of the log-file header, where the window begins: no number has {}",
        texts.join(" and "),
        if number == 1 { "is" } else { "are" },
        if number == 1 { "it" } else { "them" },
    );
    (number > 0).then(|| Warning::grave(analysis, "records_before_start", text).of(number))
}

impl TickRange {
    /// The window that the user named, or the trace from the time in its header to one tick after its last record; from the first record
    /// that is left where older ones were overwritten.
    ///
    /// # Errors
    /// A usage error for a window that cannot be.
    pub fn of_trace(trace: &Trace, from: Option<&Bound>, to: Option<&Bound>) -> Result<(Window, TickRange), Error> {
        let clock = &trace.etl().clock;
        let last = trace.survey().last().unwrap_or(clock.origin).max(clock.origin);
        let first = trace.survey().kept_from(trace.etl()).unwrap_or(clock.origin).max(clock.origin);
        let ends = Ends {
            first,
            last: Moment::end_of(Ticks(last.0.saturating_add(1))),
            ..Ends::of_trace(trace.etl(), trace.survey(), &trace.system().marks)
        };
        let window = Window::between(ends, from, to, clock)?;
        let range = TickRange::of(&window);
        Ok((window, range))
    }

    /// The same for what the machine did: nothing of that is after the end of the recording by the file's header. Rundowns of providers
    /// and records of a merge can be.
    ///
    /// # Errors
    /// The same; also for a window that begins after that end.
    pub fn of_recording(trace: &Trace, from: Option<&Bound>, to: Option<&Bound>) -> Result<(Window, TickRange), Error> {
        let (window, range) = TickRange::of_trace(trace, from, to)?;
        begun_inside(trace, from, window).map(|window| (window, range))
    }

    /// How many of these times are before a window whose begin is not named: before the stamp of the log-file header's record. A merge of
    /// sessions can have the header of one that began later.
    pub fn count_before(self, from: Option<&Bound>, times: impl Iterator<Item = Ticks>) -> u64 {
        if from.is_some() { 0 } else { times.filter(|time| *time < self.from).count() as u64 }
    }

    /// Between the times of a window's ends.
    pub fn of(window: &Window) -> TickRange {
        TickRange { from: window.from.time, to: window.to.time }
    }

    /// Length in ticks.
    pub fn ticks(&self) -> u64 {
        self.between(self.from, self.to)
    }

    /// True for times inside.
    #[inline(always)]
    pub fn holds(&self, time: Ticks) -> bool {
        self.from <= time && time < self.to
    }

    /// The nearest time that is not outside.
    #[inline(always)]
    pub fn clip(&self, time: Ticks) -> Ticks {
        time.max(self.from).min(self.to)
    }

    /// The part of `[a, b)` that is inside, in ticks.
    #[inline(always)]
    pub fn between(&self, a: Ticks, b: Ticks) -> u64 {
        let (a, b) = (self.clip(a), self.clip(b));
        if a < b { b.0.wrapping_sub(a.0) as u64 } else { 0 }
    }
}

/// Points at `from + ⌊k × interval × frequency⌋`, k ≥ 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    from: Ticks,
    /// Distance of the points: nanoseconds × frequency, at least 1.
    scaled: u128,
}

impl Grid {
    /// Points every `interval` from `from` on.
    pub fn new(from: Ticks, interval: Nanos, frequency_hz: u64) -> Grid {
        let interval = u128::try_from(interval.0).unwrap_or(0).min(u128::from(u64::MAX));
        Grid { from, scaled: (interval * u128::from(frequency_hz)).max(1) }
    }

    /// The edges of a timeline's steps.
    ///
    /// # Errors
    /// A usage error for a step of 0, and for one that gives too many.
    pub fn of_timeline(range: TickRange, step: Nanos, clock: &Clock) -> Result<Grid, Error> {
        if step.0 <= 0 {
            return Err(Error::Usage("the step of a timeline must be longer than 0".into()));
        }
        let grid = Grid::new(range.from, step, clock.frequency_hz);
        if grid.first_from(range.to) > MOST_STEPS {
            let length = clock.nanos(range.to).0 - clock.nanos(range.from).0;
            let least = Nanos(length / i128::from(MOST_STEPS) + 1).seconds();
            return Err(Error::Usage(format!(
                "a timeline has at most {MOST_STEPS} steps; for {:.3} s a step must be at least {least:.6} s",
                Nanos(length).seconds()
            )));
        }
        Ok(grid)
    }

    /// The point with this number; the last representable time for numbers that are too large.
    pub fn at(&self, number: u64) -> Ticks {
        let ticks = (u128::from(number)).checked_mul(self.scaled).map_or(u128::MAX, |scaled| scaled / SECOND);
        Ticks(i64::try_from(i128::from(self.from.0).saturating_add_unsigned(ticks)).unwrap_or(i64::MAX))
    }

    /// The number of the first point at or after `time`.
    pub fn first_from(&self, time: Ticks) -> u64 {
        let after = u128::try_from(i128::from(time.0) - i128::from(self.from.0)).unwrap_or(0);
        u64::try_from((after * SECOND).div_ceil(self.scaled)).unwrap_or(u64::MAX)
    }
}

/// The point after a time that only goes forwards: counts points without a division for each stretch of time.
#[derive(Debug, Clone, Copy)]
pub struct NextPoint {
    grid: Grid,
    number: u64,
    at: Ticks,
}

impl NextPoint {
    /// The first point of a grid, not counting its begin.
    pub fn new(grid: Grid) -> NextPoint {
        NextPoint { grid, number: 1, at: grid.at(1) }
    }

    /// Number of points before `until` that have not been counted yet.
    #[inline(always)]
    pub fn count_before(&mut self, until: Ticks) -> u64 {
        if self.at >= until { 0 } else { self.count(until) }
    }

    #[cold]
    fn count(&mut self, until: Ticks) -> u64 {
        let next = self.grid.first_from(until).max(self.number);
        let count = next - self.number;
        (self.number, self.at) = (next, self.grid.at(next));
        count
    }
}

/// Cuts stretches of time that follow each other into the steps of a timeline. Without a timeline there is one step.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    grid: Option<Grid>,
    /// Number of the current step.
    number: u32,
    end: Ticks,
}

impl Steps {
    /// The steps of a grid, from the first on.
    pub fn new(grid: Option<Grid>) -> Steps {
        Steps { grid, number: 0, end: grid.map_or(Ticks(i64::MAX), |grid| grid.at(1)) }
    }

    /// Calls `visit` with the step and the length of each part of `[from, to)`, which begins where the last one ended or
    /// later.
    #[inline(always)]
    pub fn cut(&mut self, from: Ticks, to: Ticks, mut visit: impl FnMut(u32, u64)) {
        let mut from = from;
        while self.end < to {
            if from < self.end {
                visit(self.number, self.end.0.wrapping_sub(from.0) as u64);
                from = self.end;
            }
            self.next();
        }
        if from < to {
            visit(self.number, to.0.wrapping_sub(from.0) as u64);
        }
    }

    fn next(&mut self) {
        self.number = self.number.saturating_add(1);
        self.end = self.grid.map_or(Ticks(i64::MAX), |grid| grid.at(u64::from(self.number) + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_of_an_odd_clock_are_rounded_down_one_by_one() {
        let grid = Grid::new(Ticks(1000), Nanos(15_625_000), 2_337_949);
        assert_eq!([0, 1, 2, 3].map(|k| grid.at(k).0 - 1000), [0, 36_530, 73_060, 109_591]);
        assert_eq!([999, 1000, 1001, 37_530, 37_531].map(|t| grid.first_from(Ticks(t))), [0, 0, 1, 1, 2]);
        assert_eq!(grid.at(u64::MAX), Ticks(i64::MAX));
    }

    proptest! {
        /// Points counted stretch by stretch are those of the grid, and parts of steps add up.
        #[test]
        fn counting_and_cutting_miss_nothing(
            interval in 1i128..5_000,
            frequency in prop_oneof![Just(10_000_000u64), Just(1_000_000_000), 1u64..5_000_000_000],
            lengths in prop::collection::vec(0i64..500, 1..20),
        ) {
            let grid = Grid::new(Ticks(50), Nanos(interval), frequency);
            let (mut next, mut steps, mut now) = (NextPoint::new(grid), Steps::new(Some(grid)), 50i64);
            for length in lengths {
                let to = now + length;
                let expected = (1..).map(|k| grid.at(k).0).take_while(|&at| at < to).filter(|&at| at >= now).count();
                prop_assert_eq!(next.count_before(Ticks(to)), expected as u64);
                let mut sum = 0;
                let mut wrong = false;
                steps.cut(Ticks(now), Ticks(to), |number, ticks| {
                    let (begin, end) = (grid.at(number.into()).0, grid.at(u64::from(number) + 1).0);
                    wrong |= now + sum < begin || now + sum + ticks as i64 > end;
                    sum += ticks as i64;
                });
                prop_assert!(!wrong && sum == length);
                now = to;
            }
        }
    }
}
