//! Private pages of processes that are in RAM at a page sequence, by address: what is committed is compared with them.

use super::page_set::PageSet;
use crate::analysis::pages::address_of;
use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::classify::PageOwner;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::model::snapshot::Snapshot;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::PAGE_BYTES;
use rayon::prelude::*;
use std::ops::Range;

/// Bits of a page number: addresses have 52 bits at most, of user space 47 or 56.
const PAGE_BITS: u32 = 40;
const MOST_PAGES: u64 = 1 << PAGE_BITS;
/// Most process instances that are told apart.
const MOST_INSTANCES: u32 = 1 << (u64::BITS - PAGE_BITS);

/// The pages of all processes.
#[derive(Debug)]
pub struct ResidentPages {
    /// Begin of the page sequence.
    pub moment: Moment,
    /// Instance and page number as one number, in order: 8 bytes for each page in RAM.
    packed: Vec<u64>,
    /// Pages at an address at which their process has another one.
    pub at_same_address: u64,
}

/// The pages of a process.
#[derive(Debug, Clone, Copy)]
pub struct PagesOf<'p> {
    packed: &'p [u64],
    /// The number of its page 0.
    first: u64,
}

impl ResidentPages {
    /// Of a page sequence.
    pub fn new(trace: &Trace, snapshot: &Snapshot) -> ResidentPages {
        let context = SnapshotContext::new(trace, snapshot);
        let empty = || (BatchClassifier::new(&context), Vec::new());
        let threads = snapshot.fold(trace.etl(), empty, |(classifier, packed), pages| {
            classifier.classify(pages);
            packed.extend(classifier.owned(pages).filter_map(|(page, classified)| pack(page, classified.owner())));
        });
        let mut packed: Vec<u64> = threads.into_iter().flat_map(|(_, packed)| packed).collect();
        packed.par_sort_unstable();
        // One page is committed at an address: more of them there are a sign of wrong records.
        let all = packed.len();
        packed.dedup();
        let at_same_address = (all - packed.len()) as u64;
        ResidentPages { moment: snapshot.first, packed, at_same_address }
    }

    /// All of them, each address once.
    pub fn len(&self) -> u64 {
        self.packed.len() as u64
    }

    /// Those of a process instance.
    pub fn of(&self, instance: usize) -> PagesOf<'_> {
        let first = (instance as u64).saturating_mul(MOST_PAGES);
        let at = |number: u64| self.packed.partition_point(|packed| *packed < number);
        let range = at(first)..at(first.saturating_add(MOST_PAGES));
        let is_known = (instance as u64) < u64::from(MOST_INSTANCES);
        PagesOf { packed: self.packed.get(range).filter(|_| is_known).unwrap_or_default(), first }
    }
}

/// A private page in RAM at an address of a process.
fn pack(page: &PageIdentity, owner: PageOwner) -> Option<u64> {
    let is_private = matches!(page.page_use(), PageUse::ProcessPrivate | PageUse::LargePage);
    let is_in_ram = !matches!(page.list(), PageList::Zero | PageList::Free | PageList::Bad);
    let number = address_of(page)? / PAGE_BYTES;
    match owner {
        PageOwner::Process(instance) if is_private && is_in_ram && number < MOST_PAGES && instance < MOST_INSTANCES => {
            Some(u64::from(instance) << PAGE_BITS | number)
        }
        _ => None,
    }
}

impl PagesOf<'_> {
    /// Of no process.
    pub const NONE: PagesOf<'static> = PagesOf { packed: &[], first: 0 };

    /// How many of them lie in a range of page numbers.
    pub fn inside(&self, pages: &Range<u64>) -> u64 {
        let at = |number: u64| {
            let wanted = number.min(MOST_PAGES);
            self.packed.partition_point(|packed| packed - self.first < wanted) as u64
        };
        at(pages.end).saturating_sub(at(pages.start))
    }

    /// Those that are not in a set.
    pub fn outside(&self, set: &PageSet) -> Vec<u64> {
        let mut ranges = set.iter().peekable();
        let is_outside = |packed: &&u64| {
            let number = **packed - self.first;
            while ranges.next_if(|range| range.end <= number).is_some() {}
            ranges.peek().is_none_or(|range| number < range.start)
        };
        self.packed.iter().filter(is_outside).copied().collect()
    }

    /// The same process with these of its pages.
    pub fn only<'o>(&self, packed: &'o [u64]) -> PagesOf<'o> {
        PagesOf { packed, first: self.first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_those_of_their_process() {
        let page = |instance: u64, number: u64| instance << PAGE_BITS | number;
        let packed = vec![page(0, 7), page(1, 3), page(1, 4), page(1, 9), page(1, MOST_PAGES - 1), page(2, 0)];
        let pages = ResidentPages { moment: Moment::FIRST, packed, at_same_address: 0 };
        let of = pages.of(1);
        let inside =
            [0..4, 4..10, 0..u64::MAX, 5..5, 10..MOST_PAGES - 1, MOST_PAGES..u64::MAX].map(|range| of.inside(&range));
        assert_eq!(inside, [1, 2, 4, 0, 0, 0]);
        assert_eq!(
            [pages.of(0), pages.of(2), pages.of(3), pages.of(usize::MAX)].map(|of| of.inside(&(0..99))),
            [1, 1, 0, 0]
        );
        let mut known = PageSet::default();
        known.insert(0..4);
        known.insert(8..10);
        let left = of.outside(&known);
        assert_eq!((left.len(), of.only(&left).inside(&(4..5)), of.only(&left).inside(&(0..4))), (2, 1, 0));
        assert_eq!(of.outside(&PageSet::default()).len(), 4);
    }

    #[test]
    fn private_pages_in_ram_have_a_place() {
        let page = |page_use: PageUse, list: PageList, address| PageIdentity {
            flags: page_use as u64 | (list as u64) << 4,
            pfn: 1,
            u2: address,
        };
        let of = |page: PageIdentity| pack(&page, PageOwner::Process(2));
        let active = page(PageUse::ProcessPrivate, PageList::Active, 0x7ff0_1234_5678);
        assert_eq!(of(active), Some(2 << PAGE_BITS | 0x7_ff01_2345));
        assert_eq!(pack(&active, PageOwner::Unknown), None);
        assert!(of(page(PageUse::LargePage, PageList::Standby, 0x1000)).is_some());
        assert_eq!(of(page(PageUse::ProcessPrivate, PageList::Free, 0x1000)), None);
        assert_eq!(of(page(PageUse::PageTable, PageList::Active, 0x1000)), None);
        assert_eq!(of(page(PageUse::ProcessPrivate, PageList::Active, u64::MAX)), None, "of the kernel");
        assert_eq!(of(page(PageUse::ProcessPrivate, PageList::Active, 0)), None);
    }
}
