//! Held pages over time, by any dimensions that say what is held: points at regular times, and for each group its exact
//! peak and its average.
//!
//! Shards collect their changes slice by slice; here they are sorted and followed one after the other.

use crate::analysis::refset::averaging_span::AveragingSpan;
use crate::analysis::refset::context::{ReplayContext, TimelineQuery};
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::row_key::RowKey;
use crate::analysis::refset::totals::held_statistics::HeldStatistics;
use crate::analysis::table::group::natural;
use crate::dimensions::Label;
use crate::etl::clock::Clock;
use crate::moment::Moment;
use crate::units::{Nanos, Ticks};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Most pages in the window, when that was first, and the average over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakAndAverage {
    /// Most pages.
    pub peak: u64,
    /// The first time of them, since trace start.
    pub peak_time: Nanos,
    /// Average over time.
    pub average: f64,
}

impl PeakAndAverage {
    fn new(tally: &HeldStatistics, clock: &Clock, span: AveragingSpan) -> PeakAndAverage {
        let peak = u64::try_from(tally.peak.0).unwrap_or(0);
        PeakAndAverage { peak, peak_time: clock.nanos(tally.peak.1), average: span.average(tally.page_ticks) }
    }
}

/// One group over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineGroup {
    /// Labels in the order of the dimensions.
    pub labels: Vec<Label>,
    /// Peak and average.
    pub extent: PeakAndAverage,
    /// Changes: the number of a point, and the pages from there on.
    changes: Vec<(usize, u64)>,
}

impl TimelineGroup {
    /// Pages at each of so many points.
    pub fn pages(&self, points: usize) -> impl Iterator<Item = u64> {
        at_points(&self.changes, points)
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
    /// Peak and average of all pages that the conditions select.
    pub extent: PeakAndAverage,
    /// Groups that held pages in the window: categories in their order, others with the highest peak first.
    pub groups: Vec<TimelineGroup>,
}

/// The number of pages of a group changed.
#[derive(Debug, Clone, Copy)]
struct GroupChange {
    /// When the number changed.
    moment: Moment,
    /// From when on it counts in averages and at points: the active rundown names pages that are held for longer.
    since: Ticks,
    /// Number of the key in its shard; in [`GroupsOverTime`] number of the group.
    group: u32,
    /// Pages that are added.
    pages: i32,
}

/// Changes of one shard.
#[derive(Debug, Default)]
pub struct GroupChanges {
    index: FastMap<RowKey, u32>,
    keys: Vec<RowKey>,
    /// Since they were taken last.
    changes: Vec<GroupChange>,
    /// Groups of the keys as far as they are known; `None` for keys that the conditions do not select.
    groups: Vec<Option<u32>>,
}

impl GroupChanges {
    /// Pages of a key are held from now on, or (less than 0) not any more.
    pub fn push(&mut self, moment: Moment, since: Ticks, key: RowKey, pages: i64) {
        let group = *self.index.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        });
        self.changes.push(GroupChange { moment, since, group, pages: pages as i32 });
    }
}

/// One group as far as it was followed.
#[derive(Debug)]
struct FollowedGroup {
    labels: Vec<Label>,
    tally: HeldStatistics,
    /// Pages that are added at a point.
    added: BTreeMap<usize, i64>,
}

/// The groups of a timeline between two slices.
#[derive(Debug)]
pub struct GroupsOverTime<'p> {
    context: &'p ReplayContext<'p>,
    timeline: &'p TimelineQuery,
    index: FastMap<Vec<Label>, u32>,
    groups: Vec<FollowedGroup>,
    all: HeldStatistics,
}

impl<'p> GroupsOverTime<'p> {
    /// Nothing is held yet; `None` when no timeline was asked for.
    pub fn new(context: &'p ReplayContext<'p>) -> Option<GroupsOverTime<'p>> {
        let timeline = context.timeline.as_ref()?;
        Some(GroupsOverTime {
            context,
            timeline,
            index: FastMap::default(),
            groups: Vec::new(),
            all: HeldStatistics::default(),
        })
    }

    /// Takes the changes of one slice out of all shards. Call in time order.
    pub fn add_slice<'s>(&mut self, shards: impl Iterator<Item = &'s mut GroupChanges>) {
        let mut all: Vec<GroupChange> = Vec::new();
        for shard in shards {
            for key in shard.keys.iter().skip(shard.groups.len()) {
                let group = self.group(key);
                shard.groups.push(group);
            }
            let groups = &shard.groups;
            all.extend(shard.changes.drain(..).filter_map(|change| {
                let group = groups.get(change.group as usize).copied().flatten()?;
                Some(GroupChange { group, ..change })
            }));
        }
        all.par_sort_unstable_by_key(|change| change.moment);
        all.iter().take_while(|change| change.moment <= self.context.window.to).for_each(|change| self.follow(change));
    }

    /// The group of a key.
    fn group(&mut self, key: &RowKey) -> Option<u32> {
        self.context.meets(key, &self.timeline.conditions).then_some(())?;
        let label = |&dimension: &Dimension| self.context.label(key, dimension);
        let labels: Vec<Label> = self.timeline.dimensions.iter().map(label).collect();
        let next = self.groups.len() as u32;
        let group = *self.index.entry(labels.clone()).or_insert(next);
        if group == next {
            self.groups.push(FollowedGroup { labels, tally: HeldStatistics::default(), added: BTreeMap::new() });
        }
        Some(group)
    }

    fn follow(&mut self, change: &GroupChange) {
        let (window, pages) = (&self.context.window, i64::from(change.pages));
        let page_ticks = pages * self.context.span.ticks_after(change.since);
        self.all.change(window, change.moment, pages, page_ticks);
        if let Some(group) = self.groups.get_mut(change.group as usize) {
            group.tally.change(window, change.moment, pages, page_ticks);
            let first = self.timeline.points.partition_point(|&point| point < change.since);
            *group.added.entry(first).or_default() += pages;
        }
    }

    /// The timeline after the last slice.
    pub fn finish(self, clock: &Clock) -> Timeline {
        let GroupsOverTime { context, timeline, groups, all, .. } = self;
        let extent = |tally: HeldStatistics| PeakAndAverage::new(&tally.finished(&context.window), clock, context.span);
        let mut added: BTreeMap<usize, i64> = BTreeMap::new();
        groups
            .iter()
            .flat_map(|group| &group.added)
            .for_each(|(&point, pages)| *added.entry(point).or_default() += pages);
        let groups = groups.into_iter().map(|group| TimelineGroup {
            labels: group.labels,
            extent: extent(group.tally),
            changes: summed(&group.added),
        });
        let mut groups: Vec<TimelineGroup> = groups.filter(|group| group.extent.peak > 0).collect();
        let place = |group: &TimelineGroup| group.labels.first().and_then(Label::number_in_list);
        match timeline.dimensions[..] {
            [Dimension::Category] => groups.sort_by_key(place),
            _ => groups.sort_by(|a, b| {
                let names = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
                b.extent.peak.cmp(&a.extent.peak).then_with(|| names().unwrap_or(Ordering::Equal))
            }),
        }
        Timeline {
            dimensions: timeline.dimensions.clone(),
            times: timeline.points.iter().map(|&time| clock.nanos(time)).collect(),
            pages: at_points(&summed(&added), timeline.points.len()).collect(),
            extent: extent(all),
            groups,
        }
    }
}

/// Pages from each point on of which pages are added at points.
fn summed(added: &BTreeMap<usize, i64>) -> Vec<(usize, u64)> {
    let sums = added.iter().scan(0, |held, (&point, pages)| {
        *held += pages;
        Some((point, u64::try_from(*held).unwrap_or(0)))
    });
    sums.collect()
}

/// Pages at each of so many points.
fn at_points(changes: &[(usize, u64)], points: usize) -> impl Iterator<Item = u64> {
    let mut changes = changes.iter().peekable();
    let mut now = 0;
    (0..points).map(move |point| {
        while let Some((_, pages)) = changes.next_if(|(at, _)| *at <= point) {
            now = *pages;
        }
        now
    })
}

impl Timeline {
    /// True when the groups are the categories.
    pub fn is_by_category(&self) -> bool {
        self.dimensions == [Dimension::Category]
    }

    /// Numbers of the groups by their peak, the highest first.
    pub fn by_peak(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.groups.len()).collect();
        all.sort_by_key(|&i| std::cmp::Reverse(self.groups.get(i).map_or(0, |group| group.extent.peak)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stay_until_they_change() {
        let held = summed(&BTreeMap::from([(1, 5), (2, -5), (4, 7)]));
        assert_eq!(held, [(1, 5), (2, 0), (4, 7)]);
        assert!(at_points(&held, 6).eq([0, 5, 0, 0, 7, 7]));
    }
}
