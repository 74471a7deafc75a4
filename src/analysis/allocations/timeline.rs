//! What was allocated and freed in steps of time.

use crate::analysis::time_grid::{Grid, TickRange};
use crate::units::Ticks;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimelineStep {
    /// Its begin.
    pub from: Ticks,
    /// Opened in it, bytes.
    pub allocated: u128,
    /// Closed in it.
    pub freed: u128,
    /// The sum at its end.
    pub at_end: u128,
    /// The greatest sum in it, its beginning included.
    pub peak: u128,
}

#[derive(Debug, Clone, Copy, Default)]
struct Step {
    allocated: u128,
    freed: u128,
    end: i128,
    peak: i128,
}

/// Steps while changes come.
#[derive(Debug)]
pub struct TimelineTrack {
    grid: Grid,
    window: TickRange,
    steps: Vec<Step>,
    current: usize,
    next: Ticks,
    running: i128,
    tick: Ticks,
    has_begun: bool,
}

impl TimelineTrack {
    /// Without changes.
    pub fn new(grid: Grid, window: TickRange) -> TimelineTrack {
        let steps = vec![Step::default(); usize::try_from(grid.first_from(window.to)).unwrap_or(0)];
        let next = grid.at(1);
        TimelineTrack { grid, window, steps, current: 0, next, running: 0, tick: Ticks(i64::MIN), has_begun: false }
    }

    /// Adds a change; times do not fall.
    #[inline]
    pub fn change(&mut self, time: Ticks, delta: i128) {
        if time >= self.window.to {
            return;
        }
        if time > self.tick {
            self.go_to(time);
        }
        self.running += delta;
        if let Some(step) = self.steps.get_mut(self.current).filter(|_| self.has_begun) {
            *(if delta > 0 { &mut step.allocated } else { &mut step.freed }) += delta.unsigned_abs();
        }
    }

    fn go_to(&mut self, time: Ticks) {
        self.tick = time;
        if self.has_begun {
            self.settle();
        } else if time >= self.window.from {
            self.begin();
        }
        while self.has_begun && time >= self.next && self.current + 1 < self.steps.len() {
            self.end_step();
        }
    }

    fn begin(&mut self) {
        self.has_begun = true;
        self.steps.first_mut().into_iter().for_each(|step| step.peak = self.running);
    }

    fn settle(&mut self) {
        self.steps.get_mut(self.current).into_iter().for_each(|step| step.peak = step.peak.max(self.running));
    }

    fn end_step(&mut self) {
        self.steps.get_mut(self.current).into_iter().for_each(|step| step.end = self.running);
        self.current += 1;
        self.steps.get_mut(self.current).into_iter().for_each(|step| step.peak = self.running);
        self.next = self.grid.at(self.current as u64 + 1);
    }

    /// The steps, with what was there before the trace.
    pub fn finish(mut self, before: u128) -> Vec<TimelineStep> {
        if !self.has_begun {
            self.begin();
        }
        self.settle();
        while self.current < self.steps.len() {
            self.end_step();
        }
        let sum = |running: i128| u128::try_from(i128::try_from(before).unwrap_or(i128::MAX) + running).unwrap_or(0);
        let step = |(number, step): (u64, &Step)| TimelineStep {
            from: self.grid.at(number),
            allocated: step.allocated,
            freed: step.freed,
            at_end: sum(step.end),
            peak: sum(step.peak),
        };
        (0..).zip(&self.steps).map(step).collect()
    }
}
