//! How many pages are held over time: the peak, and the values at the window's ends.
//!
//! Buckets of owners hand in their changes slab by slab. Sorting all of them for one maximum would cost more than
//! following them did, so each bucket adds its changes up over short stretches of time; the sums rule out all stretches
//! that cannot hold the maximum, and only the changes of the others are put in order.

use crate::model::window::Window;
use crate::moment::Moment;
use crate::units::Ticks;

/// The number of held pages changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub moment: Moment,
    /// By how much.
    pub pages: i64,
}

/// Stretches into which a slab's time is divided.
const STRETCHES: usize = 512;

/// The stretches of one slab.
#[derive(Debug, Clone, Copy)]
pub struct Stretches<'w> {
    window: &'w Window,
    first: Ticks,
    width: i64,
}

impl<'w> Stretches<'w> {
    /// Of the time from `first` to `last`.
    pub fn new(window: &'w Window, first: Ticks, last: Ticks) -> Stretches<'w> {
        let width = (last.0.saturating_sub(first.0) / STRETCHES as i64).saturating_add(1);
        Stretches { window, first, width }
    }

    #[inline]
    fn index(&self, moment: Moment) -> usize {
        let stretch = moment.time.0.saturating_sub(self.first.0) / self.width;
        usize::try_from(stretch).unwrap_or(0).min(STRETCHES)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    sum: i64,
    rise: i64,
}

/// Changes added up.
#[derive(Debug, Default)]
pub struct Sums {
    before: i64,
    behind: i64,
    /// Empty without changes in the window.
    inside: Vec<Stretch>,
}

impl Sums {
    /// Adds changes up.
    pub fn new(stretches: &Stretches<'_>, changes: &[Change]) -> Sums {
        let mut sums = Sums::default();
        let window = stretches.window;
        for change in changes {
            if change.moment <= window.from {
                sums.before += change.pages;
            } else if change.moment > window.to {
                sums.behind += change.pages;
            } else {
                if sums.inside.is_empty() {
                    sums.inside = vec![Stretch::default(); STRETCHES + 1];
                }
                if let Some(stretch) = sums.inside.get_mut(stretches.index(change.moment)) {
                    stretch.sum += change.pages;
                    stretch.rise += change.pages.max(0);
                }
            }
        }
        sums
    }
}

/// The stretches that can hold the maximum: the value at their begin.
#[derive(Debug)]
pub struct Chosen(Vec<Option<i64>>);

impl Chosen {
    /// Those changes that lie in one of them.
    pub fn changes<'c>(
        &'c self,
        stretches: &'c Stretches<'_>,
        changes: impl Iterator<Item = Change> + 'c,
    ) -> impl Iterator<Item = Change> + 'c {
        let is_chosen = move |moment| self.0.get(stretches.index(moment)).is_some_and(Option::is_some);
        changes.filter(move |change| stretches.window.holds(change.moment) && is_chosen(change.moment))
    }
}

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

impl<'w> Curve<'w> {
    /// Nothing is held yet.
    pub fn new(window: &'w Window) -> Curve<'w> {
        Curve { window, now: 0, at_from: 0, at_to: 0, peak: (0, window.from.time), entered: false }
    }

    /// Takes the sums of one slab; those of the next slab come all behind these. Gives the stretches that must be looked
    /// at, for [`Curve::look`].
    pub fn add(&mut self, parts: impl Iterator<Item = Sums>) -> Chosen {
        let mut all = Sums::default();
        for part in parts {
            all.before += part.before;
            all.behind += part.behind;
            if all.inside.is_empty() {
                all.inside = part.inside;
                continue;
            }
            for (all, part) in all.inside.iter_mut().zip(&part.inside) {
                all.sum += part.sum;
                all.rise += part.rise;
            }
        }
        self.now += all.before;
        if !self.entered {
            (self.at_from, self.at_to) = (self.now, self.now);
            self.peak = (self.now, self.window.from.time);
            self.entered = !all.inside.is_empty() || all.behind != 0;
        }
        // What is reached for certain.
        let mut value = self.now;
        let reached = all.inside.iter().map(|stretch| {
            value += stretch.sum;
            value
        });
        let certain = reached.max().unwrap_or(self.now);
        // And what cannot be exceeded.
        let mut value = self.now;
        let chosen = all.inside.iter().map(|stretch| {
            let (begin, highest) = (value, value + stretch.rise);
            value += stretch.sum;
            (stretch.rise > 0 && highest >= certain && highest > self.peak.0).then_some(begin)
        });
        let chosen = Chosen(chosen.collect());
        if !all.inside.is_empty() {
            self.at_to = value;
        }
        self.now = value + all.behind;
        chosen
    }

    /// Looks for the maximum in the changes of the chosen stretches.
    pub fn look(&mut self, stretches: &Stretches<'_>, chosen: &Chosen, mut changes: Vec<Change>) {
        changes.sort_unstable_by_key(|change| change.moment);
        for stretch in changes.chunk_by(|a, b| stretches.index(a.moment) == stretches.index(b.moment)) {
            let index = stretch.first().map_or(0, |change| stretches.index(change.moment));
            let Some(mut value) = chosen.0.get(index).copied().flatten() else { continue };
            // Changes of one moment count together: a copy on write takes one page's place with another.
            for together in stretch.chunk_by(|a, b| a.moment == b.moment) {
                value += together.iter().map(|change| change.pages).sum::<i64>();
                if let Some(first) = together.first().filter(|_| value > self.peak.0) {
                    self.peak = (value, first.moment.time);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::window::Origin;
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
            for slab in [0..cut, cut..30_000] {
                let mut lists = vec![Vec::new(); 5];
                for &(time, pages, bucket) in list.iter().filter(|change| slab.contains(&change.0)) {
                    lists[bucket].push(Change { moment: at(time), pages });
                }
                let stretches = Stretches::new(&window, Ticks(slab.start), Ticks(slab.end));
                let chosen = curve.add(lists.iter().map(|list| Sums::new(&stretches, list)));
                let changes = lists.into_iter().flat_map(|list| chosen.changes(&stretches, list.into_iter()));
                curve.look(&stretches, &chosen, changes.collect());
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
