//! Updates of working sets: what a page event does to its owner's working set. 48 bytes, because a time slice holds half a
//! million of them; more only where the stacks of accesses are kept.

use crate::analysis::refset::pages::held_page::PageFacts;
use crate::analysis::refset::reason::AccessReason;
use crate::event::page_identity::PageIdentity;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use crate::units::{PAGE_BYTES, PointerSize};

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum UpdateKind {
    /// A page that is no one else's enters a working set: private data, page tables, kernel pages.
    Private,
    /// A kernel page of the active rundown, which is in no working set.
    Kernel,
    /// A shareable page enters a working set.
    Shareable,
    /// A private copy takes a shareable page's place.
    CopyOnWrite,
    /// A private page becomes a combined one; the identity is the prototype PTE's address.
    Combine,
    /// A page's content is deleted.
    Release,
    /// The page at an address is trimmed.
    Remove,
    /// A view at kernel addresses is unmapped: `address` up to `identity`.
    Unmap,
    /// Pool that was not seen being allocated is freed: `address` up to `identity`.
    FreePool,
    /// Nothing: Windows says how many pages the working set has, `identity`.
    Recorded,
}

impl UpdateKind {
    /// The kind with a number. A match of numbers costs nothing, where a table is read.
    #[inline(always)]
    const fn of(number: u64) -> UpdateKind {
        use UpdateKind::*;
        match number {
            0 => Private,
            1 => Kernel,
            2 => Shareable,
            3 => CopyOnWrite,
            4 => Combine,
            5 => Release,
            7 => Unmap,
            8 => FreePool,
            9 => Recorded,
            _ => Remove,
        }
    }

    /// True when a page enters a working set.
    #[inline(always)]
    pub const fn is_access(self) -> bool {
        use UpdateKind::*;
        matches!(self, Private | Kernel | Shareable | CopyOnWrite | Combine)
    }
}

/// One update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<S = ()> {
    /// When it happens.
    pub moment: Moment,
    /// Whose working set; where only WPA's rules see the update: the process id under which they count it.
    pub owner: OwnerId,
    /// `u2` of the identity, or what the kind says.
    pub identity: u64,
    /// Address; below the page: kind (4 bits), pointer size, whom it concerns (2).
    address: u64,
    /// The page.
    pub page: PageFacts,
    /// The stack of an access.
    pub stack: S,
}

const KIND: u64 = 15;
const POINTER_64: u64 = 1 << 7;
const CORRECTED: u64 = 1 << 8;
const WPA: u64 = 1 << 9;

impl Update {
    /// An update of the system's working set that both rule sets see. An address of 0 is an unknown one.
    #[inline(always)]
    pub fn new(moment: Moment, kind: UpdateKind, page: &PageIdentity, address: u64, pointer: PointerSize) -> Update {
        let bits = if pointer == PointerSize::P8 { POINTER_64 } else { 0 };
        let address = address & !(PAGE_BYTES - 1) | bits | CORRECTED | WPA | kind as u64;
        Update { moment, owner: OwnerId::SYSTEM, identity: page.u2, address, page: PageFacts::of(page), stack: () }
    }

    /// With another kind.
    #[inline(always)]
    pub const fn with_kind(self, kind: UpdateKind) -> Update {
        Update { address: self.address & !KIND | kind as u64, ..self }
    }

    /// With another reason of the access.
    #[inline(always)]
    pub const fn with_reason(self, reason: AccessReason) -> Update {
        Update { page: self.page.with_reason(reason), ..self }
    }

    /// For the working sets alone.
    #[inline(always)]
    pub const fn without_wpa(self) -> Update {
        Update { address: self.address & !WPA, ..self }
    }

    /// For WPA's rules alone, as logged: under a process id, at a moment.
    #[inline(always)]
    pub const fn for_wpa(self, process_id: u32, moment: Moment) -> Update {
        let owner = OwnerId::new(Owner::UnknownProcess(process_id));
        Update { address: self.address & !CORRECTED, owner, moment, ..self }
    }

    /// With the stack of the access.
    #[inline(always)]
    pub fn with_stack<S>(self, stack: S) -> Update<S> {
        let Update { moment, owner, identity, address, page, stack: () } = self;
        Update { moment, owner, identity, address, page, stack }
    }
}

impl<S> Update<S> {
    /// True when it changes a working set.
    #[inline(always)]
    pub const fn is_corrected(&self) -> bool {
        self.address & CORRECTED != 0
    }

    /// True when WPA's rules see it.
    #[inline(always)]
    pub const fn is_wpa(&self) -> bool {
        self.address & WPA != 0
    }

    /// What happens.
    #[inline(always)]
    pub const fn kind(&self) -> UpdateKind {
        UpdateKind::of(self.address & KIND)
    }

    /// Address of the page; 0 where the event has none.
    #[inline(always)]
    pub const fn address(&self) -> u64 {
        self.address & !(PAGE_BYTES - 1)
    }

    /// Pointer size of the record: what is a kernel address.
    #[inline(always)]
    pub const fn pointer(&self) -> PointerSize {
        if self.address & POINTER_64 != 0 { PointerSize::P8 } else { PointerSize::P4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    #[test]
    fn fields_survive_packing() {
        let moment = Moment { time: Ticks(-5), order: 7 };
        let page = PageIdentity { flags: 15, pfn: 0xff_1234_5678, u2: 0xffff_a000_1234_5679 };
        for number in 0..10 {
            let kind = UpdateKind::of(number);
            assert_eq!(kind as u64, number);
            let update = Update::new(moment, UpdateKind::Remove, &page, 0xffff_f000_1234_5abc, PointerSize::P4);
            let update = update.with_reason(AccessReason::PageCombine).with_kind(kind);
            assert_eq!((update.kind(), update.address()), (kind, 0xffff_f000_1234_5000));
            assert_eq!((update.page.pfn(), update.identity), (page.pfn, page.u2));
            assert_eq!((update.page.reason(), update.pointer()), (AccessReason::PageCombine, PointerSize::P4));
            assert!(update.is_corrected() && update.is_wpa() && !update.without_wpa().is_wpa());
            let wpa = update.for_wpa(4242, Moment::default());
            assert_eq!((wpa.owner.owner(), wpa.moment), (Owner::UnknownProcess(4242), Moment::default()));
            assert!(wpa.is_wpa() && !wpa.is_corrected());
        }
        let wide = Update::new(moment, UpdateKind::Private, &page, 0x1000, PointerSize::P8);
        assert_eq!((wide.pointer(), wide.page.reason()), (PointerSize::P8, AccessReason::PrivatePageAccess));
        assert_eq!((size_of::<Update>(), size_of::<Update<u32>>()), (48, 56));
    }
}
