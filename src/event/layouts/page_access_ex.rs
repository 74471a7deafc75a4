//! Page records (Memory group) that say more than a page identity: extra info, page range, page combine.
//!
//! Read on the hot path like `page`, with the same rule: exactly the length of the layout. Sources: `docs/formats.md`
//! ("Extra info", "Page range"). No public trace holds these records.

use super::page_identity::{IdentityLayout, PageIdentity, PageUse};
use crate::byte_reader::{self, layout};
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{MEMORY, Payload};
use crate::units::PointerSize;
use zerocopy::little_endian::U64;

crate::event::hooks_macro::hooks! {
    PAGE_ACCESS_EX = 0x0282, "Memory: PageAccessEx", "PageAccessEx";
    REMOVE_FROM_WS = 0x0283, "Memory: RemoveFromWS";
    PAGE_RANGE_ACCESS = 0x0278, "Memory: PageRangeAccess";
    PAGE_RANGE_RELEASE = 0x0279, "Memory: PageRangeRelease";
    PAGE_COMBINE = 0x027a, "Memory: PageCombine";
}

/// Whose working set an access or a removal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkingSetKind {
    /// A process's.
    Process,
    /// A session's.
    Session,
    /// A system one: system cache, paged pool, system views and PTEs.
    System,
    /// Number 3, not defined publicly.
    Unknown3,
}

/// Extra info: one word of pointer size (8 or 4 bytes) with flags in its low 12 bits and a virtual address above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExtraInfo {
    /// The word as recorded.
    pub raw: u64,
}

impl ExtraInfo {
    /// Size of the word, bytes: 8 or 4.
    pub const fn size(pointer: PointerSize) -> usize {
        byte_reader::size::<ExtraLayout>(pointer)
    }

    /// The word in `bytes`; `None` unless they are exactly one pointer.
    #[inline]
    pub fn read(bytes: &[u8], pointer: PointerSize) -> Option<ExtraInfo> {
        byte_reader::exactly::<ExtraLayout>(bytes, pointer)
    }

    /// Whose working set.
    #[inline]
    pub const fn working_set(&self) -> WorkingSetKind {
        match self.raw & 3 {
            0 => WorkingSetKind::Process,
            1 => WorkingSetKind::Session,
            2 => WorkingSetKind::System,
            _ => WorkingSetKind::Unknown3,
        }
    }

    /// PageAccessEx only: filled by the cache manager's copy (a cached write), not added to a working set, no address.
    #[inline]
    pub const fn cached_write(&self) -> bool {
        self.raw & 4 != 0
    }

    /// PageAccessEx only: copy-on-write; the identity is that of the new, private page.
    #[inline]
    pub const fn copy_on_write(&self) -> bool {
        self.raw & 8 != 0
    }

    /// Virtual address, page-aligned; 0 where the record has none.
    #[inline]
    pub const fn virtual_address(&self) -> u64 {
        self.raw & !0xfff
    }
}

layout! {
    ExtraLayout<P> = 8 / 4 bytes => ExtraInfo { raw: P }
}

/// `0x0282` PageAccessEx: a shareable page was added to a working set. 32 or 20 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageAccessEx {
    /// The page.
    pub page: PageIdentity,
    /// Where it was added.
    pub extra: ExtraInfo,
}

layout! {
    AccessExLayout<P> = 32 / 20 bytes => PageAccessEx { page: IdentityLayout<P>, extra: ExtraLayout<P> }
}

impl PageAccessEx {
    /// Size of the structure, bytes: 32 or 20.
    pub const fn size(pointer: PointerSize) -> usize {
        byte_reader::size::<AccessExLayout>(pointer)
    }

    /// The record in `bytes`; `None` unless they are exactly as long as the structure.
    #[inline]
    pub fn read(bytes: &[u8], pointer: PointerSize) -> Option<PageAccessEx> {
        byte_reader::exactly::<AccessExLayout>(bytes, pointer)
    }
}

/// `0x027a` PageCombine: a private page was replaced by a combined one. 32 or 20 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageCombine {
    /// The private page before it was combined.
    pub page: PageIdentity,
    /// Address of the combined page's prototype PTE as it was; bit 0 has no known meaning.
    pub prototype_pte_raw: u64,
}

layout! {
    CombineLayout<P> = 32 / 20 bytes => PageCombine { page: IdentityLayout<P>, prototype_pte_raw: P }
}

impl PageCombine {
    /// Size of the structure, bytes: 32 or 20.
    pub const fn size(pointer: PointerSize) -> usize {
        byte_reader::size::<CombineLayout>(pointer)
    }

    /// The record in `bytes`; `None` unless they are exactly as long as the structure.
    #[inline]
    pub fn read(bytes: &[u8], pointer: PointerSize) -> Option<PageCombine> {
        byte_reader::exactly::<CombineLayout>(bytes, pointer)
    }

    /// Address of the combined page's prototype PTE, as in [`PageIdentity::prototype_pte`].
    #[inline]
    pub const fn prototype_pte(&self) -> u64 {
        self.prototype_pte_raw & !1
    }
}

/// `0x0278`, `0x0279`: several pages at once, 24 or 16 bytes, no padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageRange {
    /// Flags word, 8 bytes at 0: use in bits 0–3, key in bits 4–51, the rest reserved.
    pub flags: u64,
    /// A pointer at 8: virtual address, prototype PTE address (large pages of a pagefile section), or first PFN
    /// (driver-locked and AWE pages).
    pub start: u64,
    /// A pointer at 8+P: number of pages.
    pub pages: u64,
}

layout! {
    RangeLayout<P> = 24 / 16 bytes => PageRange { flags: U64, start: P, pages: P }
}

impl PageRange {
    /// Size of the structure, bytes: 24 or 16.
    pub const fn size(pointer: PointerSize) -> usize {
        byte_reader::size::<RangeLayout>(pointer)
    }

    /// The range in `bytes`; `None` unless they are exactly as long as the structure.
    #[inline]
    pub fn read(bytes: &[u8], pointer: PointerSize) -> Option<PageRange> {
        byte_reader::exactly::<RangeLayout>(bytes, pointer)
    }

    /// What the pages are used for.
    #[inline]
    pub const fn page_use(&self) -> PageUse {
        PageUse::from_bits(self.flags)
    }

    /// Unique key (session, AWE and large pages).
    #[inline]
    pub const fn key(&self) -> u64 {
        self.flags >> 4 & 0xffff_ffff_ffff
    }
}

/// Turns one of the readers above into a decoder with the group's exact-length rule.
pub(crate) fn decode<T>(
    payload: &Payload<'_>,
    size: fn(PointerSize) -> usize,
    read: fn(&[u8], PointerSize) -> Option<T>,
) -> Read<T> {
    let expected = size(payload.pointer);
    let oddity = payload.exactly(expected, MEMORY)?;
    let value = read(payload.bytes, payload.pointer).ok_or(Fault::Length { expected })?;
    Ok(Parsed::new(value, oddity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn access_ex_is_identity_and_extra_info() {
        for (p, size, at) in [(P8, 32, [8, 16, 24]), (P4, 20, [8, 12, 16])] {
            let bytes =
                Bytes::new(size).u64(0, 0x61).ptr(p, at[0], 7).ptr(p, at[1], 0xa000_1000).ptr(p, at[2], 0x7000_5008);
            let Event::PageAccessEx(found) = event(0x0282, 4, p, &bytes) else { panic!() };
            assert_eq!(found.page, PageIdentity { flags: 0x61, pfn: 7, u2: 0xa000_1000 });
            assert_eq!(found.extra.virtual_address(), 0x7000_5000);
            assert_eq!((found.extra.cached_write(), found.extra.copy_on_write()), (false, true));
            check_exact(0x0282, 4, p, &bytes);
            check_unknown_version(0x0282, p, &bytes);
        }
    }

    #[test]
    fn extra_info_alone() {
        for p in [P8, P4] {
            let bytes = Bytes::new(p.bytes()).ptr(p, 0, 0xb123_4006);
            let Event::RemoveFromWorkingSet(found) = event(0x0283, 2, p, &bytes) else { panic!() };
            assert_eq!((found.raw, found.virtual_address()), (0xb123_4006, 0xb123_4000));
            assert_eq!((found.working_set(), found.cached_write()), (WorkingSetKind::System, true));
            check_exact(0x0283, 2, p, &bytes);
        }
        let kinds = [0, 1, 2, 3].map(|raw| ExtraInfo { raw }.working_set());
        let all = [WorkingSetKind::Process, WorkingSetKind::Session, WorkingSetKind::System, WorkingSetKind::Unknown3];
        assert_eq!(kinds, all);
    }

    #[test]
    fn combine_is_identity_and_prototype_pte() {
        for (p, size, at) in [(P8, 32, [8, 24]), (P4, 20, [8, 16])] {
            let bytes = Bytes::new(size).u64(0, 0x60).ptr(p, at[0], 7).ptr(p, at[1], 0xc000_1009);
            let Event::PageCombine(found) = event(0x027a, 2, p, &bytes) else { panic!() };
            assert_eq!((found.page.pfn, found.page.page_use()), (7, PageUse::ProcessPrivate));
            assert_eq!((found.prototype_pte_raw, found.prototype_pte()), (0xc000_1009, 0xc000_1008));
            check_exact(0x027a, 2, p, &bytes);
        }
    }

    #[test]
    fn ranges_have_their_key_in_other_bits_than_identities() {
        for (p, size, at) in [(P8, 24, [8, 16]), (P4, 16, [8, 12])] {
            let flags = 9 | 0x8000_0000_0001 << 4 | 0xfff << 52;
            let bytes = Bytes::new(size).u64(0, flags).ptr(p, at[0], 0x1000).ptr(p, at[1], 512);
            let Event::PageRangeAccess(found) = event(0x0278, 2, p, &bytes) else { panic!() };
            assert_eq!((found.page_use(), found.key()), (PageUse::Awe, 0x8000_0000_0001));
            assert_eq!((found.flags, found.start, found.pages), (flags, 0x1000, 512));
            assert_eq!(event(0x0279, 2, p, &bytes), Event::PageRangeRelease(found));
            check_exact(0x0279, 2, p, &bytes);
        }
    }
}
