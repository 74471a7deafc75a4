//! Follows the changes of all owners in time order, by groups: for a timeline. Shards collect their changes slice by slice;
//! here they are sorted and followed one after the other, which gives each group's exact peak.

use crate::analysis::reference::counting_plan::RowKey;
use crate::analysis::reference::query::Dimension;
use crate::analysis::reference::rows::Labels;
use crate::analysis::reference::tally::{HeldTally, Span};
use crate::analysis::table::Condition;
use crate::model::window::Window;
use crate::moment::Moment;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What a timeline shows.
#[derive(Debug)]
pub struct TimelinePlan {
    /// Stamps of the points.
    pub points: Vec<Ticks>,
    /// What makes a group.
    pub dimensions: Vec<Dimension>,
    /// What a page must meet to be shown.
    pub conditions: Vec<Condition<Dimension>>,
}

/// The number of pages of a group changed.
#[derive(Debug, Clone, Copy)]
pub struct GroupChange {
    /// When.
    pub moment: Moment,
    /// From when on it counts in averages.
    pub since: Ticks,
    /// Number of the key in its shard; in [`Series`] number of the group.
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

/// A point of the timeline.
#[derive(Debug, Default)]
pub struct SeriesPoint {
    /// Pages of all groups.
    pub pages: i64,
    /// Groups that changed since the point before, and their pages.
    pub changed: Vec<(u32, i64)>,
}

/// What was followed.
#[derive(Debug)]
pub struct Followed {
    /// All groups together.
    pub all: HeldTally,
    /// Groups by their numbers.
    pub groups: Vec<(Vec<String>, HeldTally)>,
    /// One for each stamp of the plan.
    pub points: Vec<SeriesPoint>,
    /// What groups held before the change that names it: pages that are added from a point on. Points of all groups
    /// have them already.
    pub held_before: FastMap<u32, BTreeMap<usize, i64>>,
}

/// The groups of a timeline between two slices.
#[derive(Debug)]
pub struct Series<'p> {
    /// What the timeline shows.
    pub plan: &'p TimelinePlan,
    window: &'p Window,
    span: Span,
    index: FastMap<Vec<String>, u32>,
    /// Labels, tally, and whether it changed since the latest point.
    groups: Vec<(Vec<String>, HeldTally, bool)>,
    all: HeldTally,
    /// Groups that changed since the latest point.
    changed: Vec<u32>,
    points: Vec<SeriesPoint>,
    /// Pages that were held at points before the change that names them: what is added from a point on, by group.
    held_before: FastMap<u32, BTreeMap<usize, i64>>,
}

impl<'p> Series<'p> {
    /// Nothing is held yet.
    pub fn new(plan: &'p TimelinePlan, window: &'p Window, span: Span) -> Series<'p> {
        let (index, groups, all, held_before) = Default::default();
        Series { plan, window, span, index, groups, all, changed: Vec::new(), points: Vec::new(), held_before }
    }

    /// Takes the changes of one slice out of all shards. Call in time order.
    pub fn add_slice<'s>(&mut self, labels: &Labels<'_>, shards: impl Iterator<Item = &'s mut GroupChanges>) {
        let mut all: Vec<GroupChange> = Vec::new();
        for shard in shards {
            for key in shard.keys.iter().skip(shard.groups.len()) {
                let group = self.group(labels, key);
                shard.groups.push(group);
            }
            let groups = &shard.groups;
            all.extend(shard.changes.drain(..).filter_map(|change| {
                let group = groups.get(change.group as usize).copied().flatten()?;
                Some(GroupChange { group, ..change })
            }));
        }
        all.par_sort_unstable_by_key(|change| change.moment);
        all.iter().for_each(|change| self.follow(change));
    }

    /// The group of a key.
    fn group(&mut self, labels: &Labels<'_>, key: &RowKey) -> Option<u32> {
        labels.meets(key, &self.plan.conditions).then_some(())?;
        let names: Vec<String> = self.plan.dimensions.iter().map(|&dimension| labels.label(key, dimension)).collect();
        let next = self.groups.len() as u32;
        let group = *self.index.entry(names.clone()).or_insert(next);
        if group == next {
            self.groups.push((names, HeldTally::default(), false));
        }
        Some(group)
    }

    fn follow(&mut self, change: &GroupChange) {
        if change.moment > self.window.to {
            return;
        }
        while self.plan.points.get(self.points.len()).is_some_and(|&point| point < change.moment.time) {
            self.add_point();
        }
        let pages = i64::from(change.pages);
        if change.since < change.moment.time {
            // The active rundown names pages that were held when the working sets had been emptied.
            let first = self.plan.points.partition_point(|&point| point < change.since);
            if first < self.points.len() {
                let added = self.held_before.entry(change.group).or_default();
                *added.entry(first).or_default() += pages;
                *added.entry(self.points.len()).or_default() -= pages;
            }
        }
        let page_ticks = pages * self.span.ticks_after(change.since);
        self.all.change(self.window, change.moment, pages, page_ticks);
        if let Some((_, tally, is_changed)) = self.groups.get_mut(change.group as usize) {
            tally.change(self.window, change.moment, pages, page_ticks);
            if !std::mem::replace(is_changed, true) {
                self.changed.push(change.group);
            }
        }
    }

    fn add_point(&mut self) {
        let mut changed = Vec::with_capacity(self.changed.len());
        for group in self.changed.drain(..) {
            if let Some((_, tally, is_changed)) = self.groups.get_mut(group as usize) {
                *is_changed = false;
                changed.push((group, tally.now));
            }
        }
        self.points.push(SeriesPoint { pages: self.all.now, changed });
    }

    /// After the last slice.
    pub fn finish(mut self) -> Followed {
        while self.points.len() < self.plan.points.len() {
            self.add_point();
        }
        let mut added: BTreeMap<usize, i64> = BTreeMap::new();
        for (&point, &pages) in self.held_before.values().flatten() {
            *added.entry(point).or_default() += pages;
        }
        let mut pages = 0;
        for (number, point) in self.points.iter_mut().enumerate() {
            pages += added.get(&number).copied().unwrap_or(0);
            point.pages += pages;
        }
        let window = self.window;
        let groups = self.groups.into_iter().map(|(labels, tally, _)| (labels, tally.finished(window)));
        Followed {
            all: self.all.finished(window),
            groups: groups.collect(),
            points: self.points,
            held_before: self.held_before,
        }
    }
}
