//! What is counted of each row, and the orders of rows.

use crate::analysis::table::group::natural;
use crate::analysis::table::{Group, Node};
use std::cmp::Ordering;

/// Pages of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Pages by the classification that the rows are grouped by.
    pub pages: u64,
    /// Pages of the same labels by WPA's rules.
    pub pages_wpa: u64,
    /// Pages on the active list.
    pub active: u64,
    /// Pages on the standby list.
    pub standby: u64,
    /// Pages on the modified and modified-no-write lists.
    pub modified: u64,
}

impl std::ops::AddAssign for PageCounts {
    fn add_assign(&mut self, other: PageCounts) {
        self.pages += other.pages;
        self.pages_wpa += other.pages_wpa;
        self.active += other.active;
        self.standby += other.standby;
        self.modified += other.modified;
    }
}

/// How rows are ordered; equal ones by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResidentOrder {
    /// Most pages first.
    #[default]
    Pages,
    /// By label.
    Name,
    /// Most pages by WPA's rules first.
    PagesWpa,
    /// Greatest difference between the two first.
    Difference,
}

impl ResidentOrder {
    fn compare(self, a: &PageCounts, b: &PageCounts) -> Ordering {
        let difference = |counts: &PageCounts| counts.pages.abs_diff(counts.pages_wpa);
        let first = match self {
            ResidentOrder::Name => return Ordering::Equal,
            ResidentOrder::Pages => b.pages.cmp(&a.pages),
            ResidentOrder::PagesWpa => b.pages_wpa.cmp(&a.pages_wpa),
            ResidentOrder::Difference => difference(b).cmp(&difference(a)),
        };
        first.then_with(|| b.pages_wpa.cmp(&a.pages_wpa))
    }

    /// Orders groups that are ordered by pages.
    pub(super) fn sort(self, groups: &mut [Group<PageCounts>]) {
        if self != ResidentOrder::Pages {
            groups.sort_by(|a, b| {
                let labels = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
                self.compare(&a.measure, &b.measure).then_with(|| labels().unwrap_or(Ordering::Equal))
            });
        }
    }

    /// The groups as a tree.
    pub(super) fn tree(self, groups: &[Group<PageCounts>], top: Option<usize>) -> Node<PageCounts> {
        Node::tree(groups, |a, b| self.compare(a, b), top)
    }
}
