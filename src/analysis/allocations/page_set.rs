//! Sets of pages as ranges that do not touch: regions of 256 GiB are usual, so there is no bit for each page.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of page numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageSet {
    /// First page and the one after the last.
    ranges: BTreeMap<u64, u64>,
}

impl PageSet {
    /// Adds a range; gives the parts of it that were not in the set, in order. What it touches becomes one range, so a range is looked
    /// at once only after it was added.
    pub fn insert(&mut self, pages: Range<u64>) -> Vec<Range<u64>> {
        if pages.is_empty() {
            return Vec::new();
        }
        let (mut from, mut to) = (pages.start, pages.end);
        if let Some((&start, &end)) = self.ranges.range(..=from).next_back().filter(|(_, end)| **end >= pages.start) {
            (from, to) = (start, to.max(end));
        }
        let mut gaps = Vec::new();
        let mut next = pages.start;
        while let Some((&start, &end)) = self.ranges.range(from..).next().filter(|(start, _)| **start <= pages.end) {
            if start > next {
                gaps.push(next..start);
            }
            next = next.max(end);
            to = to.max(end);
            self.ranges.remove(&start);
        }
        if next < pages.end {
            gaps.push(next..pages.end);
        }
        self.ranges.insert(from, to);
        gaps
    }

    /// Takes a range out.
    pub fn remove(&mut self, pages: Range<u64>) {
        if pages.is_empty() {
            return;
        }
        self.split(pages.start);
        self.split(pages.end);
        while let Some((&start, _)) = self.ranges.range(pages.clone()).next() {
            self.ranges.remove(&start);
        }
    }

    /// Makes a range end here.
    fn split(&mut self, page: u64) {
        if let Some((_, end)) = self.ranges.range_mut(..page).next_back().filter(|(_, end)| **end > page) {
            let after = std::mem::replace(end, page);
            self.ranges.insert(page, after);
        }
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().map(|(start, end)| *start..*end)
    }

    /// Number of pages.
    pub fn len(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }
}

/// Counts how many pages of a set lie in ranges, for many ranges.
#[derive(Debug)]
pub struct PageCounts {
    /// Ranges with the number of pages before them.
    ranges: Vec<(Range<u64>, u64)>,
}

impl PageCounts {
    /// Counts of the pages of a set, by address.
    pub fn new(set: &PageSet) -> PageCounts {
        let mut before = 0;
        let ranges = set.iter().map(|range| {
            let pages = range.end - range.start;
            before += pages;
            (range, before - pages)
        });
        PageCounts { ranges: ranges.collect() }
    }

    fn before(&self, page: u64) -> u64 {
        let at = self.ranges.partition_point(|(range, _)| range.start < page);
        let last = at.checked_sub(1).and_then(|last| self.ranges.get(last));
        last.map_or(0, |(range, before)| before + page.min(range.end) - range.start)
    }

    /// Pages of the set in a range.
    pub fn inside(&self, pages: Range<u64>) -> u64 {
        self.before(pages.end.max(pages.start)) - self.before(pages.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_cases::cases;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn a_set_of_ranges_is_a_set_of_pages(
            steps in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..20), 0..40),
            (from, length) in (0u64..60, 0u64..30),
        ) {
            let (mut set, mut pages) = (PageSet::default(), BTreeSet::new());
            for (is_insert, start, length) in steps {
                let range = start..start + length;
                if is_insert {
                    let gaps: Vec<u64> = set.insert(range.clone()).into_iter().flatten().collect();
                    let expected: Vec<u64> = range.clone().filter(|page| !pages.contains(page)).collect();
                    prop_assert_eq!(gaps, expected);
                    pages.extend(range);
                } else {
                    set.remove(range.clone());
                    range.for_each(|page| _ = pages.remove(&page));
                }
                prop_assert_eq!(set.iter().flatten().collect::<Vec<_>>(), pages.iter().copied().collect::<Vec<_>>());
                let ranges: Vec<_> = set.iter().collect();
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert_eq!(set.len(), pages.len() as u64);
            }
            let inside = PageCounts::new(&set).inside(from..from + length);
            prop_assert_eq!(inside, pages.range(from..from + length).count() as u64);
        }
    }
}
