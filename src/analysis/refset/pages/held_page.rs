//! A page of a working set: what is known of it, and where it is kept.

use crate::analysis::category_rules::Rule;
use crate::analysis::refset::reason::AccessReason;
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::model::category::Category;
use crate::units::{PAGE_BYTES, Ticks};

/// What is known of a page, in 8 bytes: frame (40 bits, more than any processor can address), use (4), category (8),
/// reason of the access (3), flags (from bit 56).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageFacts(u64);

const PFN: u64 = (1 << 40) - 1;
const USE_SHIFT: u32 = 40;
const CATEGORY_SHIFT: u32 = 44;
const REASON_SHIFT: u32 = 52;
const REASON: u64 = 7 << REASON_SHIFT;
const SHAREABLE: u64 = 1 << 56;
const OUTSIDE: u64 = 1 << 57;
const BEFORE: u64 = 1 << 58;

impl PageFacts {
    #[inline(always)]
    const fn new(pfn: u64, page_use: PageUse, category: Category, reason: AccessReason) -> PageFacts {
        let kind = (page_use as u64) << USE_SHIFT | (category as u64) << CATEGORY_SHIFT;
        PageFacts(pfn & PFN | kind | (reason as u64) << REASON_SHIFT)
    }

    /// By the identity alone, accessed for the most frequent reason.
    #[inline(always)]
    pub const fn of(page: &PageIdentity) -> PageFacts {
        PageFacts::new(page.pfn, page.page_use(), Rule::of_use(page).category(), AccessReason::PrivatePageAccess)
    }

    /// Accessed for another reason.
    #[inline(always)]
    pub const fn with_reason(self, reason: AccessReason) -> PageFacts {
        PageFacts(self.0 & !REASON | (reason as u64) << REASON_SHIFT)
    }

    /// A process's own data of another category.
    #[inline(always)]
    pub fn own_data(self, category: Category) -> PageFacts {
        PageFacts::new(self.pfn(), PageUse::ProcessPrivate, category, self.reason())
    }

    /// A page that was combined; its frame is not known: 0.
    pub fn combined(self) -> PageFacts {
        PageFacts::new(0, PageUse::PageFileMapped, Category::PageFileMappedSection, AccessReason::PageCombine)
    }

    /// Frame.
    #[inline(always)]
    pub const fn pfn(self) -> u64 {
        self.0 & PFN
    }

    /// Use.
    #[inline(always)]
    pub const fn page_use(self) -> PageUse {
        PageUse::from_bits(self.0 >> USE_SHIFT)
    }

    /// Category.
    #[inline(always)]
    pub fn category(self) -> Category {
        let number = self.0 >> CATEGORY_SHIFT & 0xff;
        Category::ALL.get(number as usize).copied().unwrap_or(Category::Unused)
    }

    /// Reason of the access.
    #[inline(always)]
    pub fn reason(self) -> AccessReason {
        let number = (self.0 & REASON) >> REASON_SHIFT;
        AccessReason::ALL.get(number as usize).copied().unwrap_or(AccessReason::ActiveRundown)
    }
}

/// A page that is held. 24 bytes, because there can be many millions; more only where the stack of its access is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldPage<S = ()> {
    /// When it was accessed.
    pub since: Ticks,
    /// Shareable pages: `u2` of the identity (file key or prototype PTE address, with flag bits). Private pages: file
    /// key of the view that holds the address; 0 = none.
    pub identity: u64,
    /// What is known of it.
    pub page: PageFacts,
    /// The stack of its access.
    pub stack: S,
}

impl<S: Default> Default for HeldPage<S> {
    fn default() -> Self {
        HeldPage { since: Ticks(0), identity: 0, page: PageFacts(0), stack: S::default() }
    }
}

impl HeldPage {
    /// A private page.
    pub const fn private(since: Ticks, page: PageFacts, view: u64) -> HeldPage {
        HeldPage { since, identity: view, page, stack: () }
    }

    /// A shareable page.
    pub const fn shareable(since: Ticks, page: PageFacts, identity: u64) -> HeldPage {
        HeldPage { since, identity, page: PageFacts(page.0 | SHAREABLE), stack: () }
    }

    /// The same page with the stack of its access.
    #[inline(always)]
    pub fn with_stack<S>(self, stack: S) -> HeldPage<S> {
        let HeldPage { since, identity, page, stack: () } = self;
        HeldPage { since, identity, page, stack }
    }
}

impl<S: Copy> HeldPage<S> {
    /// The same page, counted outside of working sets: a kernel page of the active rundown.
    pub const fn outside(self) -> Self {
        HeldPage { page: PageFacts(self.page.0 | OUTSIDE), ..self }
    }

    /// The same page, held since before the window.
    pub const fn before(self, before: bool) -> Self {
        HeldPage { page: PageFacts(self.page.0 | if before { BEFORE } else { 0 }), ..self }
    }

    /// The same page in another frame.
    pub const fn in_frame(self, pfn: u64) -> Self {
        HeldPage { page: PageFacts(self.page.0 & !PFN | pfn & PFN), ..self }
    }

    /// True for shareable pages.
    pub const fn is_shareable(&self) -> bool {
        self.page.0 & SHAREABLE != 0
    }

    /// True for kernel pages that are counted outside of working sets.
    pub const fn is_outside(&self) -> bool {
        self.page.0 & OUTSIDE != 0
    }

    /// True when it is held since before the window.
    pub const fn is_before(&self) -> bool {
        self.page.0 & BEFORE != 0
    }

    /// True for a combined page: its identity is that of its prototype PTE, whatever its frame.
    pub fn is_combined(&self) -> bool {
        self.is_shareable() && self.page.category() == Category::PageFileMappedSection && self.identity & 1 != 0
    }

    /// True when it is known by its frame: a shareable page that is not combined.
    pub fn has_frame(&self) -> bool {
        self.is_shareable() && self.page.pfn() != 0 && !self.is_combined()
    }

    /// True when another access is of the same page. Private pages are identified by their address alone.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.is_shareable(), other.is_shareable()) {
            (false, false) => true,
            (true, true) if self.is_combined() || other.is_combined() => self.identity == other.identity,
            (true, true) => self.page.pfn() == other.page.pfn() && self.identity == other.identity,
            _ => false,
        }
    }
}

/// Where a page is kept: the number of the page at its address, or its frame with [`FRAME`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageLocation(pub u64);

/// More than any page number.
const FRAME: u64 = 1 << 60;

impl PageLocation {
    /// At an address.
    pub const fn address(address: u64) -> PageLocation {
        PageLocation(address / PAGE_BYTES)
    }

    /// Without an address.
    pub const fn frame(pfn: u64) -> PageLocation {
        PageLocation(pfn & (u64::MAX >> 12) | FRAME)
    }

    /// Where a page that is no process's data is kept: by its address where its use has one.
    pub fn of_kernel_page(page_use: PageUse, pfn: u64, u2: u64, is_kernel_address: bool) -> PageLocation {
        use PageUse::*;
        let by_address = matches!(
            page_use,
            PageTable | PagedPool | NonPagedPool | SystemPte | SessionPrivate | KernelStack | WsMetaData
        );
        if by_address && is_kernel_address { PageLocation::address(u2) } else { PageLocation::frame(pfn) }
    }

    /// The address; without one the frame above bit 12, and bit 0.
    pub const fn to_address(self) -> u64 {
        self.0 << 12 | self.0 >> 60
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_packing() {
        let page = PageIdentity { flags: 12, pfn: 0xff_ffff_ffff, u2: 0 };
        let facts = PageFacts::of(&page).with_reason(AccessReason::PoolAllocate);
        assert_eq!(
            (facts.pfn(), facts.page_use(), facts.category()),
            (page.pfn, PageUse::WsMetaData, Category::WsMetaData)
        );
        let held = HeldPage::shareable(Ticks(-1), facts, 7);
        assert_eq!((held.page.reason(), held.is_shareable()), (AccessReason::PoolAllocate, true));
        assert!(!held.is_outside() && held.outside().is_outside() && held.before(true).is_before());
        assert_eq!((held.in_frame(3).page.pfn(), held.in_frame(3).page.reason()), (3, AccessReason::PoolAllocate));
        let own = facts.own_data(Category::Win32Heap);
        assert_eq!(
            (own.page_use(), own.category(), own.pfn()),
            (PageUse::ProcessPrivate, Category::Win32Heap, page.pfn)
        );
        assert_eq!((facts.combined().pfn(), facts.combined().category()), (0, Category::PageFileMappedSection));
        assert_eq!(
            (size_of::<HeldPage>(), size_of::<HeldPage<u32>>(), size_of::<Option<PageLocation>>()),
            (24, 32, 16)
        );
    }

    #[test]
    fn places_say_where_they_are() {
        assert_eq!(PageLocation::address(0xffff_f000_1234_5678).to_address(), 0xffff_f000_1234_5000);
        assert_eq!(PageLocation::frame(0xff_1234_5678).to_address(), 0xff_1234_5678 << 12 | 1);
        assert_ne!(PageLocation::frame(1), PageLocation::address(0x1000));
    }
}
