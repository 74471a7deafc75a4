//! What is noticed in the rows of a table, of which `contradictions` tells.

use super::culture::Place;
use crate::imported::amount::Amount;
use std::collections::BTreeMap;

/// What is noticed while rows are read.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    /// Rows whose size is not that of their pages.
    pub(super) other_sizes: Cases,
    /// Rows without an amount.
    pub(super) empty: Cases,
    /// Labels that are no category, or that say "total", with the first place of each.
    pub(super) labels: BTreeMap<Box<str>, Place>,
    /// The rows without any label that have the least and the most memory.
    pub(super) totals: Option<[(Amount, Place); 2]>,
    /// The memory of all other rows.
    pub(super) whole: Amount,
}

/// Rows of one kind; the first of them.
#[derive(Debug, Default)]
pub(super) struct Cases {
    pub(super) count: u64,
    pub(super) first: Option<(Place, String)>,
}

impl Cases {
    pub(super) fn add(&mut self, place: Place, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|(first, _)| place < *first) {
            self.first = Some((place, text()));
        }
    }

    fn merge(&mut self, other: Cases) {
        self.count += other.count;
        self.first = std::mem::take(&mut self.first).into_iter().chain(other.first).min();
    }
}

impl Noticed {
    pub(super) fn merge(&mut self, other: Noticed) {
        self.other_sizes.merge(other.other_sizes);
        self.empty.merge(other.empty);
        for (label, place) in other.labels {
            let first = self.labels.entry(label).or_insert(place);
            *first = place.min(*first);
        }
        other.totals.into_iter().flatten().for_each(|total| self.add_total(total));
        self.whole += other.whole;
    }

    pub(super) fn add_total(&mut self, total: (Amount, Place)) {
        let [least, most] = self.totals.unwrap_or([total; 2]);
        self.totals = Some([least.min(total), most.max(total)]);
    }

    /// The memory of the rows, where those that are sums of others were told from them.
    pub(super) fn count_once(&mut self, rows: impl Iterator<Item = Amount>) {
        self.whole = Amount::default();
        rows.for_each(|amount| self.whole += amount);
    }
}
