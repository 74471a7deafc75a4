//! The pages of one working set: by address, with the frames of shareable pages beside them.
//!
//! A page of a working set is one address; a shareable page that is mapped at two addresses of one owner counts once.
//! Pages without an address (kernel pages of some uses) are kept by their frame, above all addresses.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::pages::held_page::{HeldPage, PageLocation};
use crate::analysis::refset::pages::page_map::PageMap;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::hint::black_box;

/// What an access did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessResult {
    /// The page is new.
    New,
    /// It was held already.
    Again,
    /// It was held already, at another address.
    SecondMapping,
}

/// The pages of one owner.
#[derive(Debug, Default)]
pub struct WorkingSetPages<S = ()> {
    pages: PageMap<HeldPage<S>>,
    /// Where the shareable page with a frame was mapped first. What is kept there is the page as it was accessed first.
    frames: FastMap<u64, PageLocation>,
    /// Further addresses of the pages that have several, which is seldom, by frame.
    others: FastMap<u64, BTreeSet<PageLocation>>,
}

impl<S: AccessStack> WorkingSetPages<S> {
    /// What is held at a place.
    #[inline(always)]
    pub fn get(&self, place: PageLocation) -> Option<&HeldPage<S>> {
        self.pages.get(place.0)
    }

    /// About so many pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Reads the memory of the set in order, so that it is in the cache.
    pub fn load(&self) {
        self.pages.load();
        self.frames.values().for_each(|place| _ = black_box(*place));
    }

    /// Adds a page. Pages whose release was not logged go to `gone`: another page that was held at the place, or that was
    /// in the frame before.
    #[inline(always)]
    pub fn enter(&mut self, place: PageLocation, held: HeldPage<S>, mut gone: impl FnMut(HeldPage<S>)) -> AccessResult {
        let pfn = held.page.pfn();
        if let Some(old) = self.pages.insert(place.0, held) {
            if old.is_same(&held) {
                *old = old.in_frame(pfn);
                return AccessResult::Again;
            }
            self.leave(place).into_iter().for_each(&mut gone);
            self.pages.insert(place.0, held);
        }
        if !held.has_frame() {
            return AccessResult::New;
        }
        let first = match self.frames.entry(pfn) {
            Entry::Vacant(vacant) => {
                vacant.insert(place);
                return AccessResult::New;
            }
            Entry::Occupied(first) => *first.get(),
        };
        if self.get(first).is_some_and(|page| page.identity == held.identity) {
            self.others.entry(pfn).or_default().insert(place);
            return AccessResult::SecondMapping;
        }
        self.frames.insert(pfn, place);
        self.remove_all(pfn, first).into_iter().for_each(gone);
        AccessResult::New
    }

    /// Takes out all places of a page whose frame is no longer its own.
    #[cold]
    fn remove_all(&mut self, pfn: u64, first: PageLocation) -> Option<HeldPage<S>> {
        for place in self.others.remove(&pfn).into_iter().flatten() {
            self.pages.remove(place.0);
        }
        self.pages.remove(first.0)
    }

    /// Takes a page out; gives it when the owner does not hold it at another address still.
    #[inline(always)]
    pub fn leave(&mut self, place: PageLocation) -> Option<HeldPage<S>> {
        let held = self.pages.remove(place.0)?;
        if !held.has_frame() {
            return Some(held);
        }
        if self.others.is_empty() {
            self.frames.remove(&held.page.pfn());
            return Some(held);
        }
        self.leave_one_of(place, held)
    }

    /// The same, where pages have several addresses.
    #[cold]
    fn leave_one_of(&mut self, place: PageLocation, held: HeldPage<S>) -> Option<HeldPage<S>> {
        let Entry::Occupied(mut entry) = self.others.entry(held.page.pfn()) else {
            self.frames.remove(&held.page.pfn());
            return Some(held);
        };
        let next = if entry.get_mut().remove(&place) { None } else { entry.get_mut().pop_first() };
        if entry.get().is_empty() {
            entry.remove();
        }
        if let Some(next) = next {
            self.frames.insert(held.page.pfn(), next);
            if let Some(page) = self.pages.insert(next.0, held) {
                *page = held;
            }
        }
        None
    }

    /// Takes out the page with this frame, wherever it is.
    pub fn leave_frame(&mut self, pfn: u64) -> Option<HeldPage<S>> {
        match self.frames.remove(&pfn) {
            Some(first) => self.remove_all(pfn, first),
            None => self.leave(PageLocation::frame(pfn)),
        }
    }

    /// Places held in `[low, high)`, a page counted whole when a byte of it is inside.
    pub fn places_in(&mut self, low: u64, high: u64) -> impl Iterator<Item = PageLocation> + use<S> {
        self.pages.members(low, high).into_iter().map(PageLocation)
    }

    /// Every page once, with one of its places, in any order.
    pub fn distinct(&self) -> impl Iterator<Item = (PageLocation, HeldPage<S>)> {
        self.pages.iter().map(|(page, &held)| (PageLocation(page), held)).filter(|(place, held)| {
            let several = if self.others.is_empty() { None } else { self.others.get(&held.page.pfn()) };
            !held.has_frame() || several.is_none_or(|others| !others.contains(place))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::refset::pages::held_page::PageFacts;
    use crate::event::page_identity::PageIdentity;
    use crate::units::Ticks;

    fn file(pfn: u64, key: u64) -> HeldPage {
        HeldPage::shareable(Ticks(5), PageFacts::of(&PageIdentity { flags: 1, pfn, u2: key }), key)
    }

    fn private(pfn: u64) -> HeldPage {
        HeldPage::private(Ticks(5), PageFacts::of(&PageIdentity { flags: 0, pfn, u2: 0 }), 0)
    }

    #[test]
    fn a_page_at_two_addresses_counts_once() {
        let mut set: WorkingSetPages = WorkingSetPages::default();
        let none = |held: HeldPage| panic!("{held:?}");
        assert_eq!(set.enter(PageLocation::address(0x1000), file(7, 0x100), none), AccessResult::New);
        assert_eq!(set.enter(PageLocation::address(0x9000), file(7, 0x100), none), AccessResult::SecondMapping);
        assert_eq!(set.enter(PageLocation::address(0x9000), file(7, 0x100), none), AccessResult::Again);
        assert_eq!(set.distinct().count(), 1);
        assert_eq!(set.leave(PageLocation::address(0x1000)), None);
        assert!(set.leave(PageLocation::address(0x9000)).is_some());
        assert!(set.distinct().next().is_none() && set.frames.is_empty());
    }

    #[test]
    fn what_must_have_left_unnoticed_is_handed_out() {
        let mut set: WorkingSetPages = WorkingSetPages::default();
        let mut gone = Vec::new();
        set.enter(PageLocation::address(0x1000), file(7, 0x100), |held| gone.push(held.page.pfn()));
        set.enter(PageLocation::address(0x1000), private(9), |held| gone.push(held.page.pfn()));
        assert_eq!(gone, [7]);
        set.enter(PageLocation::address(0x2000), file(8, 0x100), |held| gone.push(held.page.pfn()));
        set.enter(PageLocation::address(0x3000), file(8, 0x200), |held| gone.push(held.page.pfn()));
        assert_eq!(gone, [7, 8]);
        assert_eq!(set.distinct().count(), 2);
    }

    #[test]
    fn ranges_find_addresses_and_no_frames() {
        let mut set: WorkingSetPages = WorkingSetPages::default();
        for page in [1, 63, 64] {
            set.enter(PageLocation::address(page << 12), private(page), |_| ());
        }
        set.enter(PageLocation::frame(2), private(2).outside(), |_| ());
        let pages: Vec<u64> = set.places_in(0x1000, 0x40000).map(|place| place.0).collect();
        assert_eq!(pages, [1, 63]);
    }
}
