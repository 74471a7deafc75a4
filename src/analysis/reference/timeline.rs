//! Held pages by category over time.

use crate::analysis::category::Category;
use crate::analysis::reference::MOST_POINTS;
use crate::analysis::reference::held_over_time::ByCategory;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::model::window::Window;
use crate::units::{Nanos, Ticks};

/// One point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Since trace start.
    pub time: Nanos,
    /// Pages held by all owners.
    pub pages: u64,
    /// Pages of each of the timeline's categories.
    pub by_category: Vec<u64>,
}

/// The number of held pages at regular times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Categories that occur, by name.
    pub categories: Vec<Category>,
    /// Points.
    pub points: Vec<Point>,
}

/// Stamps of the points: from the window's begin in steps, and its end.
///
/// # Errors
/// A usage error for a step of 0 or one that gives too many points.
pub fn points(etl: &EtlFile, window: &Window, step: Nanos) -> Result<Vec<Ticks>, Error> {
    let (from, to) = (etl.clock.nanos(window.from.time), etl.clock.nanos(window.to.time));
    let length = to.0.saturating_sub(from.0);
    if step.0 <= 0 {
        return Err(Error::Usage("the step of a timeline must be longer than 0".into()));
    }
    if length / step.0 >= MOST_POINTS {
        let least = Nanos(length / MOST_POINTS + 1).seconds();
        return Err(Error::Usage(format!(
            "a timeline has at most {MOST_POINTS} points; for {:.3} s the step must be at least {least:.6} s",
            Nanos(length).seconds()
        )));
    }
    let steps = (0..=length / step.0).map(|n| etl.clock.ticks_at(Nanos(from.0 + n * step.0)));
    let mut points: Vec<Ticks> = steps.collect();
    points.push(window.to.time);
    points.dedup();
    Ok(points)
}

impl Timeline {
    /// Adds up the changes between the points.
    pub fn new(etl: &EtlFile, points: &[Ticks], changes: &[ByCategory]) -> Timeline {
        let nothing = [0; Category::ALL.len()];
        let mut now = nothing;
        let mut all: Vec<(Ticks, ByCategory)> = Vec::new();
        for (index, &time) in points.iter().enumerate() {
            let change = changes.get(index).unwrap_or(&nothing);
            now.iter_mut().zip(change).for_each(|(now, change)| *now += change);
            all.push((time, now));
        }
        let occurs =
            |category: &Category| all.iter().any(|(_, pages)| pages.get(*category as usize).is_some_and(|&p| p != 0));
        let categories: Vec<Category> = Category::ALL.into_iter().filter(occurs).collect();
        let count = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let point = |(time, pages): &(Ticks, ByCategory)| Point {
            time: etl.clock.nanos(*time),
            pages: count(pages.iter().sum()),
            by_category: categories.iter().map(|&c| count(pages.get(c as usize).copied().unwrap_or(0))).collect(),
        };
        Timeline { points: all.iter().map(point).collect(), categories }
    }

    /// Indices of the `most` categories that hold most pages at one of the points, in their order.
    pub fn largest(&self, most: usize) -> Vec<usize> {
        let height = |i: usize| self.points.iter().filter_map(|point| point.by_category.get(i)).max().copied();
        let mut all: Vec<usize> = (0..self.categories.len()).collect();
        all.sort_by_key(|&i| std::cmp::Reverse(height(i)));
        all.truncate(most);
        all.sort_unstable();
        all
    }
}
