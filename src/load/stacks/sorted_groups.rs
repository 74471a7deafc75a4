//! Things of millions of records in record order: those of some buffers that follow each other are sorted while the caches hold them,
//! and then only where such groups overlap.

use super::exponential_search::partition_point_near;
use crate::load::timed_records::sort_by_moment;
use crate::moment::{At, Moment};
use rayon::prelude::*;

/// From so many on several threads sort them.
const MANY: usize = 1 << 16;

/// Things that come buffer by buffer.
#[derive(Debug)]
pub struct InGroups<T> {
    /// A list of each reader, of groups one after the other; the first one is added to.
    lists: Vec<Vec<At<T>>>,
    groups: Vec<Group>,
    /// Where the things of the first list begin that are in no group yet.
    open: usize,
}

/// Things of some buffers, in record order: which of which list.
#[derive(Debug)]
struct Group {
    first_buffer: usize,
    list: usize,
    from: usize,
    until: usize,
}

impl<T> Default for InGroups<T> {
    fn default() -> Self {
        InGroups { lists: vec![Vec::new()], groups: Vec::new(), open: 0 }
    }
}

impl<T: Copy + Send + Sync> InGroups<T> {
    /// Adds one.
    #[inline]
    pub fn push(&mut self, thing: At<T>) {
        if let Some(list) = self.lists.first_mut() {
            list.push(thing);
        }
    }

    /// Ends a group; its first buffer.
    pub fn end_group(&mut self, first_buffer: usize) {
        let Some(list) = self.lists.first_mut() else { return };
        let (from, until) = (self.open, list.len());
        if from < until {
            list.get_mut(from..).unwrap_or_default().sort_by_key(|thing| thing.moment);
            self.groups.push(Group { first_buffer, list: 0, from, until });
            self.open = until;
        }
    }

    /// Takes those of another one, each changed.
    pub fn take(&mut self, mut other: InGroups<T>, change: impl Fn(&mut T) + Sync) {
        other.end_group(usize::MAX);
        other.lists.par_iter_mut().flatten().for_each(|thing| change(&mut thing.value));
        let lists = self.lists.len();
        self.lists.append(&mut other.lists);
        self.groups.extend(other.groups.into_iter().map(|group| Group { list: group.list + lists, ..group }));
    }

    /// All of them in record order; those of one record stay in theirs.
    pub fn into_sorted(mut self) -> Vec<At<T>> {
        self.end_group(usize::MAX);
        self.groups.sort_by_key(|group| group.first_buffer);
        let things = |group: &Group| self.lists.get(group.list)?.get(group.from..group.until);
        let groups: Vec<&[At<T>]> = self.groups.iter().filter_map(things).collect();
        let overlaps = overlaps(&groups);
        // Those of one reader are one after the other as they are.
        let is_one = self.groups.is_sorted_by_key(|group| (group.list, group.from)) && self.lists.len() == 1;
        let mut all = match is_one {
            true => self.lists.pop().unwrap_or_default(),
            false => concat(&groups),
        };
        // Their memory is for what the sorting needs.
        drop(std::mem::take(&mut self.lists));
        for (from, until) in overlaps {
            let part = all.get_mut(from..until).unwrap_or_default();
            match part.len() < MANY {
                true => part.sort_by_key(|thing| thing.moment),
                false => sort_by_moment(part),
            }
        }
        all
    }
}

/// All things of these groups, one group after the other. New memory is slow the first time: several threads fill it.
fn concat<T: Copy + Send + Sync>(groups: &[&[At<T>]]) -> Vec<At<T>> {
    let Some(first) = groups.iter().flat_map(|group| group.first()).next() else { return Vec::new() };
    let mut begins = vec![0];
    let mut all = 0;
    for group in groups {
        all += group.len();
        begins.push(all);
    }
    let at = |next: &mut usize, place: usize| {
        *next = partition_point_near(&begins, *next, |begin| *begin <= place);
        let group = next.saturating_sub(1);
        let thing = groups.get(group).zip(begins.get(group)).and_then(|(group, begin)| group.get(place - begin));
        thing.unwrap_or(first).clone()
    };
    (0..all).into_par_iter().with_min_len(MANY).map_init(|| 0, at).collect()
}

/// Places, in all things of these groups, between which they have to be sorted.
fn overlaps<T>(groups: &[&[At<T>]]) -> Vec<(usize, usize)> {
    let moment = |thing: Option<&At<T>>| thing.map(|thing| thing.moment);
    // The earliest moment of a group and those after it.
    let mut earliest: Vec<Moment> = Vec::with_capacity(groups.len());
    for group in groups.iter().rev() {
        let after = earliest.last().copied().unwrap_or(Moment::LAST);
        earliest.push(moment(group.first()).map_or(after, |first| first.min(after)));
    }
    earliest.reverse();
    let earliest = |group: usize| earliest.get(group).copied().unwrap_or(Moment::LAST);
    let mut found: Vec<(usize, usize)> = Vec::new();
    // The latest moments of the groups before this one, and before the one before it.
    let (mut latest, mut latest_before, mut start) = (Moment::FIRST, Moment::FIRST, 0);
    for (number, pair) in groups.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        latest = latest.max(moment(before.last()).unwrap_or(Moment::FIRST));
        let (border, next) = (start + before.len(), earliest(number + 1));
        if latest > next {
            // What overlaps reaches to the end of a group where it overlaps others beyond it.
            let from = match latest_before > next {
                true => start,
                false => start + before.partition_point(|thing| thing.moment <= next),
            };
            let until = match earliest(number + 2) < latest {
                true => border + after.len(),
                false => border + after.partition_point(|thing| thing.moment < latest),
            };
            match found.last_mut() {
                Some((_, end)) if from <= *end => *end = until.max(*end),
                _ => found.push((from, until)),
            }
        }
        (latest_before, start) = (latest, border);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;
    use proptest::prelude::*;

    proptest! {
        /// Groups that overlap a little, much, and with those far away; two things of one record stay in their order.
        #[test]
        fn all_are_in_record_order(
            groups in prop::collection::vec((0usize..6, prop::collection::vec((0i64..40, 0u64..3), 0..12)), 0..12),
            apart in 0i64..30,
            turns in prop::collection::vec(any::<bool>(), 12),
        ) {
            let (mut all, mut other, mut expected) = (InGroups::default(), InGroups::default(), Vec::new());
            for (number, (((order, things), is_other), base)) in groups.iter().zip(turns).zip(0..).enumerate() {
                let to = if is_other { &mut other } else { &mut all };
                for (thing, (time, place)) in (0u32..).zip(things) {
                    let moment = Moment { time: Ticks(base * apart + time), order: (number as u64) << 32 | place };
                    to.push(At { moment, value: thing });
                    expected.push(At { moment, value: if is_other { thing + 100 } else { thing } });
                }
                to.end_group(number + order);
            }
            all.take(other, |thing| *thing += 100);
            expected.sort_by_key(|thing| thing.moment);
            prop_assert_eq!(all.into_sorted(), expected);
        }
    }

    #[test]
    fn only_what_overlaps_is_sorted() {
        let group = |times: &[i64]| {
            let at = |time: &i64| At { moment: Moment { time: Ticks(*time), order: 0 }, value: () };
            times.iter().map(at).collect::<Vec<_>>()
        };
        let overlaps = |groups: &[Vec<At<()>>]| overlaps(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(overlaps(&[group(&[1, 2, 5]), group(&[4, 6, 7]), group(&[8, 9])]), [(2, 4)]);
        assert_eq!(overlaps(&[group(&[1, 5]), group(&[6, 9]), group(&[8, 9, 10])]), [(3, 5)]);
        assert_eq!(overlaps(&[group(&[1, 9]), group(&[]), group(&[3, 4]), group(&[5, 11])]), [(1, 5)]);
        assert!(overlaps(&[group(&[1, 2]), group(&[2, 3])]).is_empty());
    }
}
