//! How many pages are held over time: the peak, and the values at the window's ends.
//!
//! Shards report their changes slice by slice. Sorting all changes to find one maximum would cost more than the replay.
//! So changes are first added up over short stretches of time. The sums rule out all stretches that cannot contain the
//! maximum, and only the changes in the others are sorted.

use crate::model::window::Window;
use crate::moment::Moment;
use crate::units::Ticks;
use rayon::prelude::*;

/// The number of held pages changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    moment: Moment,
    pages: i64,
}

/// Changes of one shard of owners.
#[derive(Debug, Default)]
pub struct HeldChanges {
    /// Since they were taken last.
    changes: Vec<Change>,
}

impl HeldChanges {
    /// Pages are held from now on, or (less than 0) not any more.
    #[inline]
    pub fn change(&mut self, moment: Moment, pages: i64) {
        match self.changes.last_mut() {
            Some(last) if last.moment == moment => last.pages += pages,
            _ => self.changes.push(Change { moment, pages }),
        }
    }
}

/// Stretches into which a slice's time is divided, at most; at least half as many unless it has fewer ticks.
const STRETCHES: usize = 1024;

/// The changes in one of them.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    sum: i64,
    rise: i64,
}

/// Changes of one slice up to the window's end, added up.
#[derive(Debug)]
struct Sums {
    first: Ticks,
    /// Bits of the ticks of a stretch: a division for each change would cost more than all else here.
    shift: u32,
    /// Before the window.
    before: i64,
    inside: Vec<Stretch>,
}

impl Sums {
    fn new(first: Ticks, last: Ticks) -> Sums {
        let ticks = last.0.saturating_sub(first.0).max(0) as u64;
        let shift = (u64::BITS - ticks.leading_zeros()).saturating_sub(STRETCHES.ilog2());
        Sums { first, shift, before: 0, inside: vec![Stretch::default(); STRETCHES + 1] }
    }

    #[inline]
    fn index(&self, moment: Moment) -> usize {
        let stretch = moment.time.0.saturating_sub(self.first.0) >> self.shift;
        usize::try_from(stretch).unwrap_or(0).min(STRETCHES)
    }

    fn add(mut self, window: &Window, changes: &[Change]) -> Sums {
        for change in changes {
            if change.moment <= window.from {
                self.before += change.pages;
            } else if change.moment <= window.to {
                let index = self.index(change.moment);
                if let Some(stretch) = self.inside.get_mut(index) {
                    stretch.sum += change.pages;
                    stretch.rise += change.pages.max(0);
                }
            }
        }
        self
    }

    fn merge(mut self, other: Sums) -> Sums {
        self.before += other.before;
        for (all, part) in self.inside.iter_mut().zip(&other.inside) {
            all.sum += part.sum;
            all.rise += part.rise;
        }
        self
    }
}

/// The number of held pages over time, as far as it is known.
#[derive(Debug)]
pub struct HeldOverTime<'w> {
    window: &'w Window,
    /// Held when the window begins.
    pub at_from: i64,
    /// Held when it ends, or now.
    pub at_to: i64,
    /// Most pages in the window, and the first time that they were held.
    pub peak: (i64, Ticks),
}

impl<'w> HeldOverTime<'w> {
    /// Nothing is held yet.
    pub fn new(window: &'w Window) -> HeldOverTime<'w> {
        HeldOverTime { window, at_from: 0, at_to: 0, peak: (0, window.from.time) }
    }

    /// Takes the changes of one slice, which lasts from `first` to `last`, out of all shards. Call in time order: the
    /// changes of the next slice must all come later.
    pub fn add_slice(&mut self, first: Ticks, last: Ticks, shards: &mut [&mut HeldChanges]) {
        let window = self.window;
        let empty = || Sums::new(first, last);
        let sums =
            (shards.par_iter().fold(empty, |sums, shard| sums.add(window, &shard.changes))).reduce(empty, Sums::merge);
        let chosen = self.add_sums(&sums);
        let is_chosen = |change: &Change| {
            window.holds(change.moment) && chosen.get(sums.index(change.moment)).is_some_and(Option::is_some)
        };
        let changes = shards.par_iter_mut().flat_map_iter(|shard| shard.changes.drain(..).filter(is_chosen));
        self.find_peak(&sums, &chosen, changes.collect());
    }

    /// Goes on to the end of a slice. Gives the number of held pages at the start of each stretch that can hold the
    /// maximum.
    fn add_sums(&mut self, sums: &Sums) -> Vec<Option<i64>> {
        if sums.before != 0 {
            // Nothing in the window came before.
            self.at_from += sums.before;
            (self.at_to, self.peak.0) = (self.at_from, self.at_from);
        }
        // What is reached for certain, and what each stretch cannot exceed.
        let (mut value, mut certain) = (self.at_to, self.at_to);
        let mut begins = Vec::with_capacity(sums.inside.len());
        for stretch in &sums.inside {
            begins.push((value, stretch.rise));
            value += stretch.sum;
            certain = certain.max(value);
        }
        self.at_to = value;
        let can_hold = |(begin, rise): (i64, i64)| {
            let highest = begin + rise;
            (rise > 0 && highest >= certain && highest > self.peak.0).then_some(begin)
        };
        begins.into_iter().map(can_hold).collect()
    }

    /// Looks for the maximum in the changes of the chosen stretches.
    fn find_peak(&mut self, sums: &Sums, chosen: &[Option<i64>], mut changes: Vec<Change>) {
        changes.sort_unstable_by_key(|change| change.moment);
        for stretch in changes.chunk_by(|a, b| sums.index(a.moment) == sums.index(b.moment)) {
            let index = stretch.first().map_or(0, |change| sums.index(change.moment));
            let Some(mut value) = chosen.get(index).copied().flatten() else { continue };
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
            let mut curve = HeldOverTime::new(&window);
            for slice in [0..cut, cut..30_000] {
                let mut shards: Vec<HeldChanges> = (0..5).map(|_| HeldChanges::default()).collect();
                for &(time, pages, shard) in list.iter().filter(|change| slice.contains(&change.0)) {
                    shards[shard].change(at(time), pages);
                }
                curve.add_slice(Ticks(slice.start), Ticks(slice.end), &mut shards.iter_mut().collect::<Vec<_>>());
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
