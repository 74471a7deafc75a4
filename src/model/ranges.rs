//! Address ranges that do not overlap, each with a value.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Ranges `[base, end)` by their base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeMap<T> {
    ranges: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for RangeMap<T> {
    fn default() -> Self {
        RangeMap { ranges: BTreeMap::new() }
    }
}

impl<T: Clone> RangeMap<T> {
    /// The range that holds `address`: base, end, value.
    pub fn get(&self, address: u64) -> Option<(u64, u64, &T)> {
        let (&base, (end, value)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some((base, *end, value))
    }

    /// True when one range holds all of `[base, end)`.
    pub fn covers(&self, base: u64, end: u64) -> bool {
        self.get(base).is_some_and(|(_, until, _)| end <= until)
    }

    /// Adds `[base, base + size)`; what overlaps it is cut away. An empty range changes nothing; one that passes the
    /// end of the address space ends there.
    pub fn insert(&mut self, base: u64, size: u64, value: T) {
        let end = base.saturating_add(size);
        if base < end {
            let overlaps = self.ranges.range(..end).next_back().is_some_and(|(_, (until, _))| base < *until);
            if overlaps {
                self.remove(base, end);
            }
            self.ranges.insert(base, (end, value));
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
                self.ranges.insert(end, (until, value.clone()));
            }
            self.ranges.insert(before, (base, value));
        }
        while let Some((&inside, &(until, _))) = self.ranges.range((Bound::Included(base), Bound::Excluded(end))).next()
        {
            if let Some((_, value)) = self.ranges.remove(&inside)
                && end < until
            {
                self.ranges.insert(end, (until, value));
            }
        }
    }

    /// Removes the whole ranges that touch `[base, end)` and whose value is not wanted any more.
    pub fn remove_if(&mut self, base: u64, end: u64, unwanted: impl Fn(&T) -> bool) {
        let first = self.get(base).map_or(base, |(from, ..)| from);
        if first >= end {
            return;
        }
        let touching = self.ranges.range((Bound::Included(first), Bound::Excluded(end)));
        let gone: Vec<u64> = touching.filter(|(_, (_, value))| unwanted(value)).map(|(&from, _)| from).collect();
        gone.iter().for_each(|from| drop(self.ranges.remove(from)));
    }

    /// The parts of `[base, end)` that no range holds, by address.
    pub fn gaps(&self, base: u64, end: u64) -> Vec<(u64, u64)> {
        let mut at = self.get(base).map_or(base, |(_, until, _)| until);
        let mut gaps = Vec::new();
        while at < end {
            let next = self.ranges.range(at..end).next();
            let (from, until) = next.map_or((end, end), |(&from, (until, _))| (from, *until));
            if at < from {
                gaps.push((at, from));
            }
            at = until;
        }
        gaps
    }

    /// Removes the whole range that holds `address` and gives it.
    pub fn take(&mut self, address: u64) -> Option<(u64, u64, T)> {
        let base = self.get(address)?.0;
        let (end, value) = self.ranges.remove(&base)?;
        Some((base, end, value))
    }

    /// All ranges by address: base, end, value.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, &T)> {
        self.ranges.iter().map(|(&base, (end, value))| (base, *end, value))
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// True when there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Ranges from a list in any order. Sorted lists without overlaps, the usual case, cost a bulk build.
    pub fn from_list(mut list: Vec<(u64, u64, T)>) -> Self {
        list.retain(|&(base, size, _)| size > 0 && base < u64::MAX);
        if !list.is_sorted_by_key(|range| range.0) {
            list.sort_by_key(|range| range.0);
        }
        let overlap = list.windows(2).any(|pair| pair[0].0.saturating_add(pair[0].1) > pair[1].0);
        let mut map = RangeMap::default();
        if overlap {
            list.into_iter().for_each(|(base, size, value)| map.insert(base, size, value));
        } else {
            map.ranges =
                list.into_iter().map(|(base, size, value)| (base, (base.saturating_add(size), value))).collect();
        }
        map
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

    proptest! {
        /// The slow, obvious oracle: one slot per address.
        #[test]
        fn behaves_like_an_array(steps in prop::collection::vec((0u64..64, 0u64..20, 0u8..4), 0..60)) {
            let mut map = RangeMap::default();
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
