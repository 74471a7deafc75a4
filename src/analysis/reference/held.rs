//! The pages that one owner holds: by address, with the frames of shareable pages beside them.
//!
//! A page of a working set is one address; a shareable page that is mapped at two addresses of one owner counts once.
//! Pages without an address (kernel pages of some uses) are kept by their frame.

use crate::analysis::category::Category;
use crate::analysis::reference::blocks::PageMap;
use crate::analysis::reference::reason::AccessReason;
use crate::event::page::PageUse;
use crate::units::{PAGE_BYTES, Ticks};
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

const PFN_BITS: u32 = 40;
const CATEGORY_SHIFT: u32 = 40;
const REASON_SHIFT: u32 = 48;
const SHAREABLE: u64 = 1 << 56;
const APART: u64 = 1 << 57;
const BEFORE: u64 = 1 << 58;

/// A page that is held. 24 bytes, for there can be many millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// When it was accessed.
    pub since: Ticks,
    /// Shareable pages: `u2` of the identity (file key or prototype PTE address, with flag bits). Private pages: file
    /// key of the view that holds the address; 0 = none.
    pub identity: u64,
    /// Frame, category, reason and flags.
    bits: u64,
}

impl Held {
    /// A private page.
    pub fn private(since: Ticks, pfn: u64, category: Category, reason: AccessReason, view: u64) -> Held {
        Held { since, identity: view, bits: Held::pack(pfn, category, reason) }
    }

    /// A shareable page. The frame of a page that was combined just now is not known: 0.
    pub fn shareable(since: Ticks, pfn: u64, category: Category, reason: AccessReason, identity: u64) -> Held {
        Held { since, identity, bits: Held::pack(pfn, category, reason) | SHAREABLE }
    }

    fn pack(pfn: u64, category: Category, reason: AccessReason) -> u64 {
        pfn & ((1 << PFN_BITS) - 1) | (category as u64) << CATEGORY_SHIFT | (reason as u64) << REASON_SHIFT
    }

    /// The same page, counted apart: a kernel page of the active rundown.
    pub fn apart(self) -> Held {
        Held { bits: self.bits | APART, ..self }
    }

    /// The same page, held since before the window.
    pub fn before(self, before: bool) -> Held {
        Held { bits: self.bits | if before { BEFORE } else { 0 }, ..self }
    }

    /// Frame; the low 40 bits, more than any processor can address.
    pub const fn pfn(&self) -> u64 {
        self.bits & ((1 << PFN_BITS) - 1)
    }

    /// Category.
    pub fn category(&self) -> Category {
        let number = (self.bits >> CATEGORY_SHIFT & 0xff) as usize;
        Category::ALL.get(number).copied().unwrap_or(Category::Unused)
    }

    /// Reason of the access.
    pub fn reason(&self) -> AccessReason {
        let number = (self.bits >> REASON_SHIFT & 0xff) as usize;
        AccessReason::ALL.get(number).copied().unwrap_or(AccessReason::ActiveRundown)
    }

    /// True for shareable pages.
    pub const fn is_shareable(&self) -> bool {
        self.bits & SHAREABLE != 0
    }

    /// True for kernel pages that are counted apart.
    pub const fn is_apart(&self) -> bool {
        self.bits & APART != 0
    }

    /// True when it is held since before the window.
    pub const fn is_before(&self) -> bool {
        self.bits & BEFORE != 0
    }

    /// True for a combined page: its identity is that of its prototype PTE, whatever its frame.
    pub fn is_combined(&self) -> bool {
        self.is_shareable() && self.category() == Category::PageFileMappedSection && self.identity & 1 != 0
    }

    /// True when it is known by its frame: a shareable page that is not combined.
    fn has_frame(&self) -> bool {
        self.is_shareable() && self.pfn() != 0 && !self.is_combined()
    }

    /// True when another access means the same page: private pages are known by their address alone.
    fn is_same(&self, other: &Held) -> bool {
        match (self.is_shareable(), other.is_shareable()) {
            (false, false) => true,
            (true, true) if self.is_combined() || other.is_combined() => self.identity == other.identity,
            (true, true) => self.pfn() == other.pfn() && self.identity == other.identity,
            _ => false,
        }
    }
}

/// Where a page is kept: a page-aligned address, or a frame with the low bit set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(u64);

impl Place {
    /// At an address.
    pub const fn address(address: u64) -> Place {
        Place(address & !(PAGE_BYTES - 1))
    }

    /// Without an address.
    pub const fn frame(pfn: u64) -> Place {
        Place(pfn << 12 | 1)
    }

    /// Where a page that is no process's data is kept: by its address where its use has one.
    pub fn of_kernel_page(page_use: PageUse, pfn: u64, u2: u64, is_kernel_address: bool) -> Place {
        use PageUse::*;
        let by_address = matches!(
            page_use,
            PageTable | PagedPool | NonPagedPool | SystemPte | SessionPrivate | KernelStack | WsMetaData
        );
        if by_address && is_kernel_address { Place::address(u2) } else { Place::frame(pfn) }
    }

    /// The number behind it.
    pub const fn raw(self) -> u64 {
        self.0
    }

    const fn has_address(self) -> bool {
        self.0 & 1 == 0
    }
}

/// What an access did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The page is new.
    New,
    /// It was held already.
    Again,
    /// It was held already, at another address.
    SecondMapping,
}

/// The pages of one owner.
#[derive(Debug, Default)]
pub struct HeldPages {
    placed: PageMap<Held>,
    unplaced: FastMap<Place, Held>,
    /// Where the shareable page with a frame was mapped first. What is kept there is the page as it was accessed first.
    frames: FastMap<u64, Place>,
    /// Further addresses of the pages that have several, which is seldom, by frame.
    others: FastMap<u64, BTreeSet<Place>>,
}

impl HeldPages {
    /// What is held at a place.
    #[inline(always)]
    pub fn get(&self, place: Place) -> Option<&Held> {
        if place.has_address() { self.placed.get(place.0) } else { self.unplaced.get(&place) }
    }

    /// True when nothing is held.
    pub fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.unplaced.is_empty()
    }

    /// Adds a page. Pages that must have left unnoticed go to `gone`: what was held at the place, or what the frame
    /// held before.
    #[inline(always)]
    pub fn enter(&mut self, place: Place, held: Held, mut gone: impl FnMut(Held)) -> Entered {
        if let Some(old) = self.insert(place, held) {
            if old.is_same(&held) {
                old.bits = old.bits & !((1 << PFN_BITS) - 1) | held.pfn();
                return Entered::Again;
            }
            self.leave(place).into_iter().for_each(&mut gone);
            self.insert(place, held);
        }
        if !held.has_frame() {
            return Entered::New;
        }
        let first = match self.frames.entry(held.pfn()) {
            Entry::Vacant(vacant) => {
                vacant.insert(place);
                return Entered::New;
            }
            Entry::Occupied(first) => *first.get(),
        };
        if self.get(first).is_some_and(|page| page.identity == held.identity) {
            self.others.entry(held.pfn()).or_default().insert(place);
            return Entered::SecondMapping;
        }
        self.frames.insert(held.pfn(), place);
        self.remove_all(held.pfn(), first).into_iter().for_each(gone);
        Entered::New
    }

    /// Takes out all places of a page whose frame is no longer its own.
    #[cold]
    fn remove_all(&mut self, pfn: u64, first: Place) -> Option<Held> {
        for place in self.others.remove(&pfn).into_iter().flatten() {
            self.remove(place);
        }
        self.remove(first)
    }

    /// Puts a page at a place; gives what is held there instead when something is.
    #[inline(always)]
    fn insert(&mut self, place: Place, held: Held) -> Option<&mut Held> {
        if place.has_address() {
            return self.placed.insert(place.0, held);
        }
        match self.unplaced.entry(place) {
            Entry::Occupied(old) => Some(old.into_mut()),
            Entry::Vacant(vacant) => {
                vacant.insert(held);
                None
            }
        }
    }

    #[inline(always)]
    fn remove(&mut self, place: Place) -> Option<Held> {
        if place.has_address() { self.placed.remove(place.0) } else { self.unplaced.remove(&place) }
    }

    /// Takes a page out; gives it when the owner does not hold it at another address still.
    #[inline(always)]
    pub fn leave(&mut self, place: Place) -> Option<Held> {
        let held = self.remove(place)?;
        if !held.has_frame() {
            return Some(held);
        }
        if self.others.is_empty() {
            self.frames.remove(&held.pfn());
            return Some(held);
        }
        self.leave_one_of(place, held)
    }

    /// The same, where pages have several addresses.
    #[cold]
    fn leave_one_of(&mut self, place: Place, held: Held) -> Option<Held> {
        let Entry::Occupied(mut entry) = self.others.entry(held.pfn()) else {
            self.frames.remove(&held.pfn());
            return Some(held);
        };
        let next = if entry.get_mut().remove(&place) { None } else { entry.get_mut().pop_first() };
        if entry.get().is_empty() {
            entry.remove();
        }
        if let Some(next) = next {
            self.frames.insert(held.pfn(), next);
            if let Some(page) = self.insert(next, held) {
                *page = held;
            }
        }
        None
    }

    /// Takes out the page with this frame, wherever it is.
    pub fn leave_frame(&mut self, pfn: u64) -> Option<Held> {
        match self.frames.remove(&pfn) {
            Some(first) => self.remove_all(pfn, first),
            None => self.leave(Place::frame(pfn)),
        }
    }

    /// Places held in `[low, high)`, a page counted whole when a byte of it is inside.
    pub fn places_in(&self, low: u64, high: u64) -> impl Iterator<Item = Place> + use<> {
        self.placed.members(low, high).into_iter().map(Place)
    }

    /// Every page once, with one of its places, in any order.
    pub fn distinct(&self) -> impl Iterator<Item = (Place, Held)> {
        let placed = self.placed.iter().map(|(address, &held)| (Place(address), held));
        let all = placed.chain(self.unplaced.iter().map(|(&place, &held)| (place, held)));
        all.filter(|(place, held)| {
            let several = if self.others.is_empty() { None } else { self.others.get(&held.pfn()) };
            !held.has_frame() || several.is_none_or(|others| !others.contains(place))
        })
    }

    /// Empties the set.
    pub fn take(&mut self) -> HeldPages {
        std::mem::take(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(pfn: u64, key: u64) -> Held {
        Held::shareable(Ticks(5), pfn, Category::Image, AccessReason::SharablePageAccess, key)
    }

    fn private(pfn: u64) -> Held {
        Held::private(Ticks(5), pfn, Category::VirtualAlloc, AccessReason::PrivatePageAccess, 0)
    }

    #[test]
    fn fields_survive_packing() {
        let held = Held::shareable(Ticks(-1), 0xff_ffff_ffff, Category::WsMetaData, AccessReason::PageCombine, 7);
        assert_eq!((held.pfn(), held.category()), (0xff_ffff_ffff, Category::WsMetaData));
        assert_eq!((held.reason(), held.is_shareable()), (AccessReason::PageCombine, true));
        assert!(!held.is_apart() && held.apart().is_apart() && held.before(true).is_before());
        assert_eq!(size_of::<Held>(), 24);
    }

    #[test]
    fn a_page_at_two_addresses_counts_once() {
        let mut set = HeldPages::default();
        let none = |held: Held| panic!("{held:?}");
        assert_eq!(set.enter(Place::address(0x1000), file(7, 0x100), none), Entered::New);
        assert_eq!(set.enter(Place::address(0x9000), file(7, 0x100), none), Entered::SecondMapping);
        assert_eq!(set.enter(Place::address(0x9000), file(7, 0x100), none), Entered::Again);
        assert_eq!(set.distinct().count(), 1);
        assert_eq!(set.leave(Place::address(0x1000)), None);
        assert!(set.leave(Place::address(0x9000)).is_some());
        assert!(set.is_empty() && set.frames.is_empty());
    }

    #[test]
    fn what_must_have_left_unnoticed_is_handed_out() {
        let mut set = HeldPages::default();
        let mut gone = Vec::new();
        set.enter(Place::address(0x1000), file(7, 0x100), |held| gone.push(held.pfn()));
        set.enter(Place::address(0x1000), private(9), |held| gone.push(held.pfn()));
        assert_eq!(gone, [7]);
        set.enter(Place::address(0x2000), file(8, 0x100), |held| gone.push(held.pfn()));
        set.enter(Place::address(0x3000), file(8, 0x200), |held| gone.push(held.pfn()));
        assert_eq!(gone, [7, 8]);
        assert_eq!(set.distinct().count(), 2);
    }

    #[test]
    fn ranges_find_addresses_and_no_frames() {
        let mut set = HeldPages::default();
        for page in [1, 63, 64] {
            set.enter(Place::address(page << 12), private(page), |_| ());
        }
        set.enter(Place::frame(2), private(2).apart(), |_| ());
        let pages: Vec<u64> = set.places_in(0x1000, 0x40000).map(|place| place.0 >> 12).collect();
        assert_eq!(pages, [1, 63]);
    }
}
