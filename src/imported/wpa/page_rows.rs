//! Rows of a table that are pages. Each takes 16 bytes: its labels are the number of their combination.

use super::labels::Key;
use foldhash::HashMap as FastMap;
use std::sync::{Mutex, PoisonError};

/// A row that is a page: frame number and combination of labels in one word, and the virtual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCell {
    word: u64,
    /// 0 where the table has none.
    pub address: u64,
}

/// Page frame numbers of 52-bit physical addresses have 40 bits.
const COMBINATION_BITS: u32 = 24;
const MOST_COMBINATIONS: u64 = 1 << COMBINATION_BITS;

impl PageCell {
    pub(super) fn new(pfn: u64, combination: u32, address: u64) -> Option<PageCell> {
        let fits = pfn << COMBINATION_BITS >> COMBINATION_BITS == pfn && u64::from(combination) < MOST_COMBINATIONS;
        fits.then_some(PageCell { word: pfn << COMBINATION_BITS | u64::from(combination), address })
    }

    /// Page frame number.
    pub const fn pfn(&self) -> u64 {
        self.word >> COMBINATION_BITS
    }

    /// Number of the combination of its labels.
    pub const fn combination(&self) -> u32 {
        (self.word & (MOST_COMBINATIONS - 1)) as u32
    }
}

/// The rows of a table that are pages.
#[derive(Debug, Clone, Default)]
pub struct PageRows {
    /// In order of PFNs; rows of one page in the order of the table.
    pub cells: Vec<PageCell>,
    /// Dimensions of the key columns, and the number of each column.
    pub keys: Vec<(&'static str, usize)>,
    /// Labels of each key column by code.
    pub labels: Vec<Vec<Box<str>>>,
    /// Codes of the labels of each combination.
    pub(super) combinations: Vec<Key>,
}

impl PageRows {
    /// The code of a combination's label in a key column.
    #[inline]
    pub fn code(&self, combination: u32, key: usize) -> u32 {
        self.combinations.get(combination as usize).and_then(|codes| codes.get(key)).copied().unwrap_or(0)
    }

    /// The label of a code in a key column.
    pub fn label(&self, key: usize, code: u32) -> &str {
        self.labels.get(key).and_then(|labels| labels.get(code as usize)).map_or("", |label| label)
    }

    /// For each combination whether its label in each key column is wanted.
    pub fn wanted(&self, is_wanted: impl Fn(&str, &str) -> bool) -> Vec<bool> {
        let by_label: Vec<Vec<bool>> = (self.keys.iter().zip(&self.labels))
            .map(|((key, _), labels)| labels.iter().map(|label| is_wanted(key, label)).collect())
            .collect();
        let is_one = |(labels, code): (&Vec<bool>, &u32)| labels.get(*code as usize).copied().unwrap_or(true);
        self.combinations.iter().map(|codes| by_label.iter().zip(codes).all(is_one)).collect()
    }
}

/// The combinations of labels of a table: one list for all threads.
#[derive(Debug, Default)]
pub(super) struct Combinations(Mutex<Coded>);

#[derive(Debug, Default)]
struct Coded {
    numbers: FastMap<Key, u32>,
    list: Vec<Key>,
}

impl Combinations {
    fn number(&self, codes: &Key) -> u32 {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Coded { numbers, list } = &mut *guard;
        *numbers.entry(*codes).or_insert_with(|| {
            list.push(*codes);
            u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
        })
    }

    pub fn into_list(self) -> Vec<Key> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).list
    }
}

/// The combinations that a thread knows.
#[derive(Debug, Default)]
pub(super) struct CombinationCache {
    known: FastMap<Key, u32>,
    last: Option<(Key, u32)>,
}

impl CombinationCache {
    #[inline]
    pub fn number(&mut self, codes: &Key, all: &Combinations) -> u32 {
        match &self.last {
            Some((last, number)) if last == codes => *number,
            _ => {
                let number = *self.known.entry(*codes).or_insert_with(|| all.number(codes));
                self.last = Some((*codes, number));
                number
            }
        }
    }
}
