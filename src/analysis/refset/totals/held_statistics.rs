//! What one owner holds over time: how much now, the most in the window and when, and its average over time.
//!
//! An owner's changes come in time order, so one pass over them gives all of it. Sums over time are counted in page-ticks:
//! pages times the ticks for which they are held.

use crate::model::window::Window;
use crate::moment::Moment;
use crate::units::Ticks;

/// What one owner holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldStatistics {
    /// Pages after the latest change.
    pub now: i64,
    /// When that was.
    at: Moment,
    /// Most pages in the window, and the first time that they were held.
    pub peak: (i64, Ticks),
    /// Pages times ticks in the window.
    pub page_ticks: i128,
}

impl Default for HeldStatistics {
    fn default() -> Self {
        HeldStatistics { now: 0, at: Moment::FIRST, peak: (0, Ticks(0)), page_ticks: 0 }
    }
}

impl HeldStatistics {
    /// Pages are held from now on, or (less than 0) not any more. `page_ticks` is what that adds in the window. Call in time
    /// order.
    #[inline(always)]
    pub fn change(&mut self, window: &Window, moment: Moment, pages: i64, page_ticks: i64) {
        // Changes of one moment count together: a copy on write takes one page's place with another.
        if moment != self.at {
            self.settle(window);
            self.at = moment;
        }
        self.now += pages;
        self.page_ticks += i128::from(page_ticks);
    }

    #[inline(always)]
    fn settle(&mut self, window: &Window) {
        if self.at <= window.from {
            self.peak = (self.now, window.from.time);
        } else if self.now > self.peak.0 && self.at <= window.to {
            self.peak = (self.now, self.at.time);
        }
    }

    /// The tally after all changes.
    pub fn finished(mut self, window: &Window) -> HeldStatistics {
        self.settle(window);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::refset::averaging_span::AveragingSpan;
    use crate::model::window::Origin;

    fn window(from: i64, to: i64) -> Window {
        let at = |time| Moment { time: Ticks(time), order: 0 };
        Window { from: at(from), to: at(to), from_mark: None, to_mark: None, origin: Origin::User, resets: vec![] }
    }

    fn tally(window: &Window, changes: &[(i64, i64)]) -> (HeldStatistics, f64) {
        let span = AveragingSpan::new(window, Ticks(1000));
        let mut tally = HeldStatistics::default();
        for &(time, pages) in changes {
            let moment = Moment { time: Ticks(time), order: 0 };
            tally.change(window, moment, pages, pages * span.ticks_after(moment.time));
        }
        (tally.finished(window), span.average(tally.page_ticks))
    }

    #[test]
    fn the_window_counts_and_nothing_else() {
        let changes = [(5, 4), (15, 6), (15, -1), (20, -9), (25, 3), (40, 90)];
        let (found, average) = tally(&window(10, 30), &changes);
        assert_eq!((found.peak, found.now), ((9, Ticks(15)), 93));
        assert_eq!(average, (4.0 * 5.0 + 9.0 * 5.0 + 0.0 + 3.0 * 5.0) / 20.0);
        assert_eq!(tally(&window(10, 12), &changes).0.peak, (4, Ticks(10)));
        assert_eq!(tally(&window(10, 10), &changes).1, 4.0);
        assert_eq!(tally(&window(900, 5000), &changes).1, 93.0);
    }
}
