//! A page of a working set, and where it is kept: at an address, or by its frame where it has none.

use crate::analysis::category::Category;
use crate::analysis::reference::reason::AccessReason;
use crate::event::page::PageUse;
use crate::units::{PAGE_BYTES, Ticks};

const PFN: u64 = (1 << 40) - 1;
const CATEGORY_SHIFT: u32 = 40;
const REASON_SHIFT: u32 = 48;
const SHAREABLE: u64 = 1 << 56;
const OUTSIDE: u64 = 1 << 57;
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

    /// The same page in another frame.
    #[inline(always)]
    pub fn in_frame(self, pfn: u64) -> Held {
        Held { bits: self.bits & !PFN | pfn & PFN, ..self }
    }

    fn pack(pfn: u64, category: Category, reason: AccessReason) -> u64 {
        pfn & PFN | (category as u64) << CATEGORY_SHIFT | (reason as u64) << REASON_SHIFT
    }

    /// The same page, counted outside of working sets: a kernel page of the active rundown.
    pub fn outside(self) -> Held {
        Held { bits: self.bits | OUTSIDE, ..self }
    }

    /// The same page, held since before the window.
    pub fn before(self, before: bool) -> Held {
        Held { bits: self.bits | if before { BEFORE } else { 0 }, ..self }
    }

    /// Frame; the low 40 bits, more than any processor can address.
    pub const fn pfn(&self) -> u64 {
        self.bits & PFN
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

    /// True for kernel pages that are counted outside of working sets.
    pub const fn is_outside(&self) -> bool {
        self.bits & OUTSIDE != 0
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
    pub fn has_frame(&self) -> bool {
        self.is_shareable() && self.pfn() != 0 && !self.is_combined()
    }

    /// True when another access means the same page: private pages are known by their address alone.
    pub fn is_same(&self, other: &Held) -> bool {
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

    /// The address, or the frame as it is kept.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// True at an address.
    pub const fn has_address(self) -> bool {
        self.0 & 1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_packing() {
        let held = Held::shareable(Ticks(-1), 0xff_ffff_ffff, Category::WsMetaData, AccessReason::PageCombine, 7);
        assert_eq!((held.pfn(), held.category()), (0xff_ffff_ffff, Category::WsMetaData));
        assert_eq!((held.reason(), held.is_shareable()), (AccessReason::PageCombine, true));
        assert!(!held.is_outside() && held.outside().is_outside() && held.before(true).is_before());
        assert_eq!((held.in_frame(3).pfn(), held.in_frame(3).reason()), (3, AccessReason::PageCombine));
        assert_eq!(size_of::<Held>(), 24);
    }
}
