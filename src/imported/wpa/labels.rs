//! Labels as numbers: one list for each column and all threads, and a cache for each thread.

use foldhash::HashMap as FastMap;
use std::sync::{Mutex, PoisonError};

/// Most key columns of a table.
pub(super) const MOST_KEYS: usize = 16;

/// Codes of the labels of a row, by key column.
pub(super) type Key = [u32; MOST_KEYS];

/// The labels of a column.
#[derive(Debug, Default)]
pub struct Labels(Mutex<Coded>);

/// Labels with their codes, and in the order of their codes.
#[derive(Debug, Default)]
struct Coded {
    codes: FastMap<Box<str>, u32>,
    list: Vec<Box<str>>,
}

impl Labels {
    fn code(&self, label: &str) -> u32 {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Coded { codes, list } = &mut *guard;
        if let Some(code) = codes.get(label) {
            return *code;
        }
        let code = u32::try_from(list.len()).unwrap_or(u32::MAX);
        codes.insert(label.into(), code);
        list.push(label.into());
        code
    }

    /// All labels in the order of their codes.
    pub fn into_list(self) -> Vec<Box<str>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).list
    }
}

/// What a thread knows of the labels of a column: codes, and whether rows with them are wanted.
#[derive(Debug, Default)]
pub struct LabelCache {
    known: FastMap<Box<[u8]>, (u32, bool)>,
    last: (Box<[u8]>, Option<(u32, bool)>),
}

impl LabelCache {
    /// Code of a cell, and whether its rows are wanted.
    #[inline]
    pub fn get(&mut self, cell: &[u8], labels: &Labels, is_wanted: impl FnOnce(&str) -> bool) -> (u32, bool) {
        if let (last, Some(found)) = &self.last
            && **last == *cell
        {
            return *found;
        }
        let found = match self.known.get(cell) {
            Some(found) => *found,
            None => {
                let text = String::from_utf8_lossy(cell);
                let text = text.trim();
                let found = (labels.code(text), is_wanted(text));
                self.known.insert(cell.into(), found);
                found
            }
        };
        if self.last.0.len() == cell.len() {
            self.last.0.copy_from_slice(cell);
            self.last.1 = Some(found);
        } else {
            self.last = (cell.into(), Some(found));
        }
        found
    }
}
