//! The time over which averages are taken.

use crate::model::window::Window;
use crate::units::Ticks;

/// The part of the window over which averages are taken: it does not go beyond the end of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AveragingSpan {
    from: Ticks,
    to: Ticks,
}

impl AveragingSpan {
    /// From the window's start to its end, or to the end of what is known.
    pub fn new(window: &Window, last: Ticks) -> AveragingSpan {
        let from = window.from.time;
        AveragingSpan { from, to: window.to.time.min(last).max(from) }
    }

    /// Ticks from a stamp to the end. Where the span has no length, what is held at it counts.
    #[inline(always)]
    pub fn ticks_after(self, at: Ticks) -> i64 {
        if self.from == self.to {
            return i64::from(at <= self.to);
        }
        self.to.0.saturating_sub(at.0.max(self.from.0)).max(0)
    }

    /// Average over time of page-ticks.
    pub fn average(self, page_ticks: i128) -> f64 {
        page_ticks as f64 / (self.to.0.saturating_sub(self.from.0)).max(1) as f64
    }
}
