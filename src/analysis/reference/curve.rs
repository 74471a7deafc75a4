//! How many pages are held over time: the peak, and the values at the window's ends.
//!
//! Buckets of owners hand in their changes slab by slab, each bucket's own nearly in order. Sorting all of them for one
//! maximum would cost more than following them did, so sums over short stretches of time rule out all stretches that
//! cannot hold the maximum; only the others are put in order.

use crate::analysis::reference::ledger::Change;
use crate::analysis::reference::window::Window;
use crate::units::Ticks;

/// The curve so far.
#[derive(Debug)]
pub struct Curve<'w> {
    window: &'w Window,
    now: i64,
    /// Held when the window begins.
    pub at_from: i64,
    /// Held when it ends.
    pub at_to: i64,
    /// Most pages in the window, and the first time that they were held.
    pub peak: (i64, Ticks),
    entered: bool,
}

/// Stretches into which a slab's time is divided.
const STRETCHES: usize = 4096;

#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    sum: i64,
    rise: i64,
}

impl<'w> Curve<'w> {
    /// Nothing is held yet.
    pub fn new(window: &'w Window) -> Curve<'w> {
        Curve { window, now: 0, at_from: 0, at_to: 0, peak: (0, window.from.time), entered: false }
    }

    /// Takes the changes of one slab; those of the next slab come all behind these.
    pub fn add(&mut self, lists: &[&[Change]]) {
        let all = || lists.iter().flat_map(|list| list.iter());
        let inside = || all().filter(|change| self.window.holds(change.moment));
        let mut bounds: Option<(Ticks, Ticks)> = None;
        let (mut before, mut behind) = (0, 0);
        for change in all() {
            if change.moment <= self.window.from {
                before += change.pages;
            } else if change.moment > self.window.to {
                behind += change.pages;
            } else {
                let (low, high) = bounds.get_or_insert((change.moment.time, change.moment.time));
                (*low, *high) = ((*low).min(change.moment.time), (*high).max(change.moment.time));
            }
        }
        self.now += before;
        if !self.entered {
            self.at_from = self.now;
            self.at_to = self.now;
            self.peak = (self.now, self.window.from.time);
            self.entered = bounds.is_some() || behind != 0;
        }
        if let Some((low, high)) = bounds {
            let width = (high.0.saturating_sub(low.0) / STRETCHES as i64).saturating_add(1);
            let index = |time: Ticks| (time.0.saturating_sub(low.0) / width) as usize;
            let mut stretches = vec![Stretch::default(); STRETCHES + 1];
            for change in inside() {
                if let Some(stretch) = stretches.get_mut(index(change.moment.time)) {
                    stretch.sum += change.pages;
                    stretch.rise += change.pages.max(0);
                }
            }
            // What is reached for certain, and what cannot be exceeded.
            let mut value = self.now;
            let reached = stretches.iter().map(|stretch| {
                value += stretch.sum;
                value
            });
            let certain = reached.max().unwrap_or(self.now);
            let mut value = self.now;
            let mut chosen = vec![None; stretches.len()];
            for (stretch, slot) in stretches.iter().zip(&mut chosen) {
                if stretch.rise > 0 && value + stretch.rise >= certain && value + stretch.rise > self.peak.0 {
                    *slot = Some((value, Vec::new()));
                }
                value += stretch.sum;
            }
            for change in inside() {
                if let Some(Some((_, changes))) = chosen.get_mut(index(change.moment.time)) {
                    changes.push(*change);
                }
            }
            for (mut value, mut changes) in chosen.into_iter().flatten() {
                changes.sort_unstable_by_key(|change| change.moment);
                // Changes of one moment count together: a copy on write takes one page's place with another.
                for together in changes.chunk_by(|a, b| a.moment == b.moment) {
                    value += together.iter().map(|change| change.pages).sum::<i64>();
                    if let Some(first) = together.first().filter(|_| value > self.peak.0) {
                        self.peak = (value, first.moment.time);
                    }
                }
            }
            self.now = value;
            self.at_to = value;
        }
        self.now += behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::reference::window::Origin;
    use crate::load::history::Moment;
    use proptest::prelude::*;

    fn at(time: i64) -> Moment {
        Moment { time: Ticks(time), order: 0 }
    }

    proptest! {
        /// Against adding up all changes in order.
        #[test]
        fn finds_the_first_maximum(
            list in prop::collection::vec((0i64..30_000, -3i64..4, 0usize..5), 0..300),
            cut in 0i64..30_000,
            from in 0i64..20_000,
            length in 0i64..20_000,
        ) {
            let window = Window {
                from: at(from), to: at(from + length), from_mark: None, to_mark: None, origin: Origin::User, resets: vec![],
            };
            let mut curve = Curve::new(&window);
            for slab in [0..cut, cut..i64::MAX] {
                let mut lists = vec![Vec::new(); 5];
                for &(time, pages, bucket) in list.iter().filter(|change| slab.contains(&change.0)) {
                    lists[bucket].push(Change { moment: at(time), pages });
                }
                lists.iter_mut().for_each(|list| list.sort_by_key(|change| change.moment));
                curve.add(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
            let held = |time: i64| list.iter().filter(|change| change.0 <= time).map(|change| change.1).sum::<i64>();
            let mut peak = (held(from), Ticks(from));
            let mut times: Vec<i64> = list.iter().map(|change| change.0).filter(|&t| t > from && t <= from + length).collect();
            times.sort_unstable();
            for time in times {
                if held(time) > peak.0 {
                    peak = (held(time), Ticks(time));
                }
            }
            prop_assert_eq!(curve.peak, peak);
            prop_assert_eq!((curve.at_from, curve.at_to), (held(from), held(from + length)));
        }
    }
}
