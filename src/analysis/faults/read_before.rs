//! Which bytes were read before: a union of ranges, of which all edges are known beforehand.

/// A union of ranges that grows. Adding and asking take logarithmic time, also where many small ranges lie in each large one.
#[derive(Debug, Default)]
pub struct Coverage {
    /// All edges, ascending: they cut the numbers into pieces.
    edges: Vec<u128>,
    /// The first piece at or after this one that is not covered.
    next: Vec<usize>,
    /// Lengths of covered pieces, as a tree of partial sums.
    sums: Vec<u128>,
}

impl Coverage {
    /// An empty union, for these ranges.
    pub fn new(ranges: impl Iterator<Item = (u64, u64)>) -> Coverage {
        let mut edges: Vec<u128> = ranges.flat_map(|range| [range.0.into(), end(range)]).collect();
        edges.sort_unstable();
        edges.dedup();
        Coverage { next: (0..=edges.len()).collect(), sums: vec![0; edges.len() + 1], edges }
    }

    /// Adds `bytes` from `offset` on, as far as 2^64.
    pub fn add(&mut self, range: (u64, u64)) {
        let to = self.piece(end(range));
        let mut piece = self.uncovered(self.piece(range.0.into()));
        while piece < to {
            let edge = |piece: usize| self.edges.get(piece).copied().unwrap_or_default();
            let length = edge(piece + 1).saturating_sub(edge(piece));
            self.count(piece, length);
            if let Some(next) = self.next.get_mut(piece) {
                *next = piece + 1;
            }
            piece = self.uncovered(piece + 1);
        }
    }

    /// How many bytes of a range are covered.
    pub fn covered(&self, range: (u64, u64)) -> u64 {
        let (from, to) = (self.piece(range.0.into()), self.piece(end(range)));
        u64::try_from(self.before(to).saturating_sub(self.before(from))).unwrap_or(u64::MAX)
    }

    fn piece(&self, edge: u128) -> usize {
        self.edges.partition_point(|known| *known < edge)
    }

    /// The first piece at or after one that is not covered. Paths are halved on the way, so that they stay short.
    fn uncovered(&mut self, mut piece: usize) -> usize {
        while let Some(next) = self.next.get(piece).copied().filter(|next| *next != piece) {
            let over = self.next.get(next).copied().unwrap_or(next);
            if let Some(slot) = self.next.get_mut(piece) {
                *slot = over;
            }
            piece = over;
        }
        piece
    }

    fn count(&mut self, piece: usize, length: u128) {
        let mut at = piece + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += length;
            at += at & at.wrapping_neg();
        }
    }

    /// Covered bytes of all pieces before one.
    fn before(&self, piece: usize) -> u128 {
        let (mut at, mut sum) = (piece, 0);
        while at > 0 {
            sum += self.sums.get(at).copied().unwrap_or_default();
            at &= at - 1;
        }
        sum
    }
}

/// Where a range of (offset, bytes) ends, at most at 2^64.
fn end((offset, bytes): (u64, u64)) -> u128 {
    (u128::from(offset) + u128::from(bytes)).min(1 << 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_at_the_end_of_all_numbers_is_cut() {
        let range = (u64::MAX - 9, 100);
        let mut read = Coverage::new([range].into_iter());
        read.add(range);
        assert_eq!((read.covered(range), read.covered((u64::MAX, 1))), (10, 0), "its edges were not announced");
    }

    proptest! {
        #[test]
        fn covered_bytes_are_those_of_a_set(ranges in prop::collection::vec((0u64..60, 0u64..20), 1..30)) {
            let mut read = Coverage::new(ranges.iter().copied());
            let mut bytes = std::collections::BTreeSet::new();
            for (offset, length) in ranges {
                let own = offset..offset + length;
                prop_assert_eq!(read.covered((offset, length)), own.clone().filter(|byte| bytes.contains(byte)).count() as u64);
                bytes.extend(own);
                read.add((offset, length));
            }
        }
    }
}
