//! The counts of each row, and the orders of rows.

use crate::analysis::table::group::natural;
use crate::analysis::table::{Group, Node};
use crate::event::page_identity::PageList;
use std::cmp::Ordering;

/// Pages of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageCounts {
    /// Pages by the classification that the rows are grouped by.
    pub pages: u64,
    /// Pages of the same labels by WPA's rules.
    pub pages_wpa: u64,
    /// Of `pages` those on each list, in the order of [`PageList::ALL`]; they add up to `pages`.
    pub by_list: [u64; PageList::ALL.len()],
}

impl std::ops::AddAssign for PageCounts {
    fn add_assign(&mut self, other: PageCounts) {
        self.pages += other.pages;
        self.pages_wpa += other.pages_wpa;
        self.by_list.iter_mut().zip(other.by_list).for_each(|(all, part)| *all += part);
    }
}

impl PageCounts {
    /// Pages that both rule sets count alike.
    pub fn of_lists(by_list: [u64; PageList::ALL.len()]) -> PageCounts {
        let pages = by_list.iter().sum();
        PageCounts { pages, pages_wpa: pages, by_list }
    }

    /// Pages on one of these lists.
    fn on(&self, lists: &[PageList]) -> u64 {
        lists.iter().filter_map(|&list| self.by_list.get(list as usize)).sum()
    }

    /// Pages on the active list.
    pub fn active(&self) -> u64 {
        self.on(&[PageList::Active])
    }

    /// Pages on the standby list.
    pub fn standby(&self) -> u64 {
        self.on(&[PageList::Standby])
    }

    /// Pages on the modified and modified-no-write lists.
    pub fn modified(&self) -> u64 {
        self.on(&[PageList::Modified, PageList::ModifiedNoWrite])
    }

    /// Pages on the zero and free lists.
    pub fn free(&self) -> u64 {
        self.on(&[PageList::Zero, PageList::Free])
    }

    /// Pages on other lists: bad and in transition.
    pub fn other(&self) -> u64 {
        self.on(&[PageList::Bad, PageList::Transition])
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
