//! Held pages over time, by any dimensions that tell what is held: points at regular times, and for each group its exact
//! peak and its average.

use crate::analysis::category::Category;
use crate::analysis::reference::query::Dimension;
use crate::analysis::reference::series::{Series, TimelinePlan};
use crate::analysis::reference::tally::{HeldTally, Span};
use crate::analysis::table::group::natural;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::clock::Clock;
use crate::model::window::Window;
use crate::units::{Nanos, Ticks};
use std::collections::{BTreeMap, BTreeSet};

/// Most points of a timeline.
const MOST_POINTS: i128 = 10_000;

/// Most pages in the window, when that was first, and the average over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Most pages.
    pub peak: u64,
    /// The first time of them, since trace start.
    pub peak_time: Nanos,
    /// Average over time.
    pub average: f64,
}

impl Extent {
    fn new(tally: &HeldTally, clock: &Clock, span: Span) -> Extent {
        let peak = u64::try_from(tally.peak.0).unwrap_or(0);
        Extent { peak, peak_time: clock.nanos(tally.peak.1), average: span.average(tally.page_ticks) }
    }
}

/// One group over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineGroup {
    /// Labels in the order of the dimensions.
    pub labels: Vec<String>,
    /// The same as tables show them.
    pub shown: Vec<String>,
    /// Peak and average.
    pub extent: Extent,
    /// Changes: the number of a point, and the pages from there on.
    changes: Vec<(usize, u64)>,
}

impl TimelineGroup {
    /// Pages at each of so many points.
    pub fn pages(&self, points: usize) -> impl Iterator<Item = u64> {
        let mut changes = self.changes.iter().peekable();
        let mut now = 0;
        (0..points).map(move |point| {
            while let Some((_, pages)) = changes.next_if(|(at, _)| *at <= point) {
                now = *pages;
            }
            now
        })
    }
}

/// The number of held pages at regular times.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// What makes a group.
    pub dimensions: Vec<Dimension>,
    /// Times of the points, since trace start.
    pub times: Vec<Nanos>,
    /// Pages at each point.
    pub pages: Vec<u64>,
    /// Of all pages that the conditions select.
    pub extent: Extent,
    /// Groups that held pages in the window: categories in their order, others with the highest peak first.
    pub groups: Vec<TimelineGroup>,
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
    /// Of the series that was followed.
    pub fn new(clock: &Clock, span: Span, series: Series<'_>) -> Timeline {
        let plan: &TimelinePlan = series.plan;
        let followed = series.finish();
        let count = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let mut pages = Vec::with_capacity(plan.points.len());
        let mut groups: Vec<TimelineGroup> = (followed.groups.into_iter())
            .map(|(labels, tally)| TimelineGroup {
                shown: labels.clone(),
                labels,
                extent: Extent::new(&tally, clock, span),
                changes: Vec::new(),
            })
            .collect();
        for (number, point) in followed.points.into_iter().enumerate() {
            pages.push(count(point.pages));
            for (group, held) in point.changed {
                groups.get_mut(group as usize).into_iter().for_each(|group| group.changes.push((number, count(held))));
            }
        }
        for (group, added) in &followed.held_before {
            groups.get_mut(*group as usize).into_iter().for_each(|group| group.changes = with(&group.changes, added));
        }
        groups.retain(|group| group.extent.peak > 0);
        let place = |group: &TimelineGroup| {
            let label = group.labels.first();
            Category::ALL.iter().position(|category| label.is_some_and(|label| label == category.name()))
        };
        match plan.dimensions[..] {
            [Dimension::Category] => groups.sort_by_key(place),
            _ => groups.sort_by(|a, b| {
                let names = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
                b.extent.peak.cmp(&a.extent.peak).then_with(|| names().unwrap_or(std::cmp::Ordering::Equal))
            }),
        }
        Timeline {
            dimensions: plan.dimensions.clone(),
            times: plan.points.iter().map(|&time| clock.nanos(time)).collect(),
            pages,
            extent: Extent::new(&followed.all, clock, span),
            groups,
        }
    }

    /// Names the groups as tables show them.
    pub fn name_groups(&mut self, shown: impl Fn(Dimension, &str) -> String) {
        for group in &mut self.groups {
            let labels = self.dimensions.iter().zip(&group.labels);
            group.shown = labels.map(|(&dimension, label)| shown(dimension, label)).collect();
        }
    }

    /// True when the groups are the categories.
    pub fn is_by_category(&self) -> bool {
        self.dimensions == [Dimension::Category]
    }

    /// Numbers of all groups.
    pub fn all_groups(&self) -> Vec<usize> {
        (0..self.groups.len()).collect()
    }

    /// Numbers of the groups by their peak, the highest first.
    pub fn by_peak(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.groups.len()).collect();
        all.sort_by_key(|&i| std::cmp::Reverse(self.groups.get(i).map_or(0, |group| group.extent.peak)));
        all
    }
}

/// Changes with pages that are added from a point on.
fn with(changes: &[(usize, u64)], added: &BTreeMap<usize, i64>) -> Vec<(usize, u64)> {
    let points: BTreeSet<usize> = changes.iter().map(|(point, _)| *point).chain(added.keys().copied()).collect();
    let mut changes = changes.iter().peekable();
    let (mut held, mut more) = (0u64, 0);
    let at = |point| {
        while let Some((_, pages)) = changes.next_if(|(at, _)| *at <= point) {
            held = *pages;
        }
        more += added.get(&point).copied().unwrap_or(0);
        (point, held.saturating_add_signed(more))
    };
    points.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_added_to_the_points_before_they_are_named() {
        let added = BTreeMap::from([(0, 5), (2, -5)]);
        assert_eq!(with(&[(1, 3), (2, 9)], &added), [(0, 5), (1, 8), (2, 9)]);
        assert_eq!(with(&[(2, 5), (4, 6)], &added), [(0, 5), (2, 5), (4, 6)]);
        assert_eq!(with(&[], &BTreeMap::from([(1, 2), (3, -2)])), [(1, 2), (3, 0)]);
    }
}
