//! Counts of pairs of processes: who readied whom, who took the processor from whom.
//!
//! There can be millions of pairs of threads, but there are few of processes. So the threads of a process count together, see
//! [`super::process_numbers`].

use foldhash::HashMap as FastMap;

/// A process, or a thread whose process was not known when it was counted.
pub type ProcessNumber = u32;

/// Pairs of processes with numbers below this one are counted in a table instead of a map.
const MOST_IN_TABLE: ProcessNumber = 256;

/// Counts by pairs and kinds.
#[derive(Debug)]
pub struct PairCounts<T> {
    kinds: usize,
    /// By first process, then by second process × kinds + kind.
    table: Vec<Vec<T>>,
    others: FastMap<(ProcessNumber, ProcessNumber, usize), T>,
}

impl<T: Copy + Default + PartialEq> PairCounts<T> {
    /// Nothing counted yet, for this number of kinds.
    pub fn new(kinds: usize) -> PairCounts<T> {
        PairCounts { kinds, table: Vec::new(), others: FastMap::default() }
    }

    /// What is counted of a pair and a kind.
    #[inline(always)]
    pub fn of(&mut self, first: ProcessNumber, second: ProcessNumber, kind: usize) -> &mut T {
        let in_table = first < MOST_IN_TABLE && second < MOST_IN_TABLE && kind < self.kinds;
        if !in_table {
            return self.others.entry((first, second, kind)).or_default();
        }
        let (row, at) = (first as usize, second as usize * self.kinds + kind);
        if self.table.get(row).is_none_or(|row| row.len() <= at) {
            self.grow(row, at);
        }
        &mut self.table[row][at]
    }

    #[cold]
    fn grow(&mut self, row: usize, at: usize) {
        if self.table.len() <= row {
            self.table.resize_with(row + 1, Vec::new);
        }
        self.table[row].resize(at + 1, T::default());
    }

    /// All pairs with a count: first, second, kind, count.
    pub fn each(&self) -> impl Iterator<Item = (ProcessNumber, ProcessNumber, usize, T)> {
        let in_table = (0..).zip(&self.table).flat_map(move |(first, row)| {
            let place = move |at: usize| ((at / self.kinds) as ProcessNumber, at % self.kinds);
            row.iter().enumerate().map(move |(at, value)| (first, place(at).0, place(at).1, *value))
        });
        let others = self.others.iter().map(|(&(first, second, kind), value)| (first, second, kind, *value));
        in_table.chain(others).filter(|(.., value)| *value != T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn pairs_are_counted_wherever_they_are_kept(
            list in prop::collection::vec((0u32..4, 250u32..260, 0usize..3, any::<bool>()), 0..200),
        ) {
            let mut counts: PairCounts<u64> = PairCounts::new(3);
            let mut expected: BTreeMap<(ProcessNumber, ProcessNumber, usize), u64> = BTreeMap::new();
            for (first, second, kind, swapped) in list {
                let (first, second) = if swapped { (second, first) } else { (first, second) };
                *counts.of(first, second, kind) += 1;
                *expected.entry((first, second, kind)).or_default() += 1;
            }
            let found: BTreeMap<_, _> = counts.each().map(|(first, second, kind, count)| ((first, second, kind), count)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
