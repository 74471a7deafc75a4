//! Address ranges that do not overlap, each with a value.

use std::collections::BTreeMap;

/// Ranges `[base, end)` by their base.
#[derive(Debug, Clone)]
pub struct RangeMap<T> {
    ranges: Ranges<T>,
}

impl<T> Default for RangeMap<T> {
    fn default() -> Self {
        RangeMap { ranges: Ranges::List(Vec::new()) }
    }
}

/// Most address spaces are listed by a rundown and hardly change, and a sorted list is built and read many times faster
/// than a tree. A tree is used when a change would move too many entries of the list.
#[derive(Debug, Clone)]
enum Ranges<T> {
    List(Vec<(u64, u64, T)>),
    Tree(BTreeMap<u64, (u64, T)>),
}

/// Longest list that is changed as a list.
const LONGEST_LIST: usize = 1024;

impl<T> Ranges<T> {
    /// The last range whose base is at or below `address`.
    fn last_up_to(&self, address: u64) -> Option<(u64, u64, &T)> {
        match self {
            Ranges::List(list) => {
                let after = list.partition_point(|range| range.0 <= address);
                list.get(after.checked_sub(1)?).map(|(base, end, value)| (*base, *end, value))
            }
            Ranges::Tree(tree) => tree.range(..=address).next_back().map(|(base, (end, value))| (*base, *end, value)),
        }
    }

    /// The first range whose base is at or above `address`.
    fn first_from(&self, address: u64) -> Option<(u64, u64, &T)> {
        match self {
            Ranges::List(list) => {
                let at = list.partition_point(|range| range.0 < address);
                list.get(at).map(|(base, end, value)| (*base, *end, value))
            }
            Ranges::Tree(tree) => tree.range(address..).next().map(|(base, (end, value))| (*base, *end, value)),
        }
    }

    /// Adds a range; replaces one with the same base.
    fn put(&mut self, base: u64, end: u64, value: T) {
        match self {
            Ranges::List(list) if list.len() < LONGEST_LIST => {
                let at = list.partition_point(|range| range.0 < base);
                match list.get_mut(at).filter(|range| range.0 == base) {
                    Some(range) => *range = (base, end, value),
                    None => list.insert(at, (base, end, value)),
                }
            }
            _ => drop(self.as_tree().insert(base, (end, value))),
        }
    }

    /// Removes the range with this base.
    fn take(&mut self, base: u64) -> Option<(u64, T)> {
        match self {
            Ranges::List(list) if list.len() <= LONGEST_LIST => {
                let at = list.binary_search_by_key(&base, |range| range.0).ok()?;
                let (_, end, value) = list.remove(at);
                Some((end, value))
            }
            _ => self.as_tree().remove(&base),
        }
    }

    fn as_tree(&mut self) -> &mut BTreeMap<u64, (u64, T)> {
        if let Ranges::List(list) = self {
            let ranges = std::mem::take(list).into_iter().map(|(base, end, value)| (base, (end, value)));
            *self = Ranges::Tree(ranges.collect());
        }
        match self {
            Ranges::Tree(tree) => tree,
            Ranges::List(_) => unreachable!("it was made a tree above"),
        }
    }
}

impl<T: Clone> RangeMap<T> {
    /// The range that holds `address`: base, end, value.
    pub fn get(&self, address: u64) -> Option<(u64, u64, &T)> {
        self.ranges.last_up_to(address).filter(|&(_, end, _)| address < end)
    }

    /// True when one range holds all of `[base, end)`.
    pub fn covers(&self, base: u64, end: u64) -> bool {
        self.get(base).is_some_and(|(_, until, _)| end <= until)
    }

    /// Adds `[base, base + size)` and removes the parts of other ranges that overlap it. An empty range changes nothing; a
    /// range that passes the end of the address space ends there.
    pub fn insert(&mut self, base: u64, size: u64, value: T) {
        let end = base.saturating_add(size);
        if base < end {
            if self.ranges.last_up_to(end - 1).is_some_and(|(_, until, _)| base < until) {
                self.remove(base, end);
            }
            self.ranges.put(base, end, value);
        }
    }

    /// Cuts `[base, end)` out of all ranges.
    pub fn remove(&mut self, base: u64, end: u64) {
        if base >= end {
            return;
        }
        if let Some((before, until, value)) = self.get(base).map(|(b, e, v)| (b, e, v.clone()))
            && before < base
        {
            if end < until {
                self.ranges.put(end, until, value.clone());
            }
            self.ranges.put(before, base, value);
        }
        while let Some((inside, until, _)) = self.ranges.first_from(base).filter(|range| range.0 < end) {
            if let Some((_, value)) = self.ranges.take(inside)
                && end < until
            {
                self.ranges.put(end, until, value);
            }
        }
    }

    /// Removes the whole ranges that overlap `[base, end)` and whose value is not wanted any more.
    pub fn remove_if(&mut self, base: u64, end: u64, unwanted: impl Fn(&T) -> bool) {
        let mut at = self.get(base).map_or(base, |(from, ..)| from);
        while let Some((from, until, value)) = self.ranges.first_from(at).filter(|range| range.0 < end) {
            if unwanted(value) {
                self.ranges.take(from);
            }
            at = until;
        }
    }

    /// The parts of `[base, end)` that no range holds, by address.
    pub fn gaps(&self, base: u64, end: u64) -> Vec<(u64, u64)> {
        let mut at = self.get(base).map_or(base, |(_, until, _)| until);
        let mut gaps = Vec::new();
        while at < end {
            let next = self.ranges.first_from(at).filter(|range| range.0 < end);
            let (from, until) = next.map_or((end, end), |(from, until, _)| (from, until));
            if at < from {
                gaps.push((at, from));
            }
            at = until;
        }
        gaps
    }

    /// Removes the whole range that contains `address` and returns it.
    pub fn take(&mut self, address: u64) -> Option<(u64, u64, T)> {
        let base = self.get(address)?.0;
        let (end, value) = self.ranges.take(base)?;
        Some((base, end, value))
    }

    /// All ranges by address: base, end, value.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, &T)> {
        let (list, tree) = match &self.ranges {
            Ranges::List(list) => (list.as_slice(), None),
            Ranges::Tree(tree) => (Default::default(), Some(tree)),
        };
        let tree = tree.into_iter().flatten().map(|(&base, (end, value))| (base, *end, value));
        list.iter().map(|(base, end, value)| (*base, *end, value)).chain(tree)
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        match &self.ranges {
            Ranges::List(list) => list.len(),
            Ranges::Tree(tree) => tree.len(),
        }
    }

    /// True when there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ranges from a list in any order: base, size, value. Sorted lists without overlaps, the usual case, are used
    /// unchanged.
    pub fn from_list(mut list: Vec<(u64, u64, T)>) -> Self {
        list.retain(|&(base, size, _)| size > 0 && base < u64::MAX);
        if !list.is_sorted_by_key(|range| range.0) {
            list.sort_by_key(|range| range.0);
        }
        let overlap = list.windows(2).any(|pair| pair[0].0.saturating_add(pair[0].1) > pair[1].0);
        if overlap {
            let mut map = RangeMap::default();
            list.into_iter().for_each(|(base, size, value)| map.insert(base, size, value));
            return map;
        }
        list.iter_mut().for_each(|range| range.1 = range.0.saturating_add(range.1));
        RangeMap { ranges: Ranges::List(list) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_in_the_middle_leaves_both_ends() {
        let mut map = RangeMap::default();
        map.insert(10, 10, 'a');
        map.remove(13, 15);
        assert_eq!(map.iter().collect::<Vec<_>>(), [(10, 13, &'a'), (15, 20, &'a')]);
        map.insert(0, 100, 'b');
        assert_eq!(map.iter().collect::<Vec<_>>(), [(0, 100, &'b')]);
    }

    #[test]
    fn ranges_at_the_end_of_the_address_space_do_not_overflow() {
        let mut map = RangeMap::default();
        map.insert(u64::MAX - 10, u64::MAX, 'a');
        assert!(map.get(u64::MAX - 1).is_some());
        map.insert(5, 0, 'b');
        assert_eq!(map.len(), 1);
    }

    #[test]
    fn whole_ranges_go_by_value() {
        let mut map = RangeMap::default();
        [(0, 'a'), (10, 'b'), (20, 'a'), (30, 'a')].into_iter().for_each(|(base, value)| map.insert(base, 8, value));
        map.remove_if(5, 30, |&value| value == 'a');
        assert_eq!(map.iter().collect::<Vec<_>>(), [(10, 18, &'b'), (30, 38, &'a')]);
        map.remove_if(9, 10, |_| true);
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn a_long_list_becomes_a_tree_when_it_changes() {
        let count = 2 * LONGEST_LIST as u64;
        let mut map = RangeMap::from_list((0..count).map(|n| (10 * n, 5, n)).collect());
        assert!(matches!(map.ranges, Ranges::List(_)));
        assert_eq!(map.take(33), Some((30, 35, 3)));
        map.insert(32, 1, 77);
        assert!(matches!(map.ranges, Ranges::Tree(_)));
        assert_eq!(map.iter().skip(2).take(3).collect::<Vec<_>>(), [(20, 25, &2), (32, 33, &77), (40, 45, &4)]);
        assert_eq!(map.len() as u64, count);
    }

    proptest! {
        /// The slow, obvious oracle: one slot per address.
        #[test]
        fn behaves_like_an_array(steps in prop::collection::vec((0u64..64, 0u64..20, 0u8..4), 0..60), tree: bool) {
            let mut map = RangeMap::default();
            if tree {
                map.ranges.as_tree();
            }
            let mut oracle = [None; 100];
            for (n, (base, size, what)) in steps.into_iter().enumerate() {
                match what {
                    0 => {
                        map.remove(base, base + size);
                        oracle[base as usize..(base + size) as usize].fill(None);
                    }
                    _ => {
                        map.insert(base, size, n);
                        oracle[base as usize..(base + size) as usize].fill(Some(n));
                    }
                }
                let gaps = map.gaps(base, base + size);
                for (address, want) in oracle.iter().enumerate() {
                    let in_gap = gaps.iter().any(|gap| (gap.0..gap.1).contains(&(address as u64)));
                    let wanted = want.is_none() && (base..base + size).contains(&(address as u64));
                    prop_assert_eq!(in_gap, wanted);
                    prop_assert_eq!(map.get(address as u64).map(|(_, _, v)| *v), *want);
                }
            }
        }
    }
}
