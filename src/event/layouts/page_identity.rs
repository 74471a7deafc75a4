//! Page identity, the core of all page records (Memory group).
//!
//! The hot path: a trace holds one identity per physical page and snapshot, so [`PageIdentity::read`] and the accessors
//! compile to a few instructions, and only the length is validated. `model` decides whether a key is a
//! process id or the address of a kernel object.
//!
//! Sources: `docs/formats.md` ("Page identity"), after the public `MMPFN_IDENTITY` description and TraceEvent. No
//! public trace holds these records; another length than the layout's is therefore never interpreted.

use crate::byte_reader::{self, layout};
use crate::named_enum::named_enum;
use crate::units::PointerSize;
use zerocopy::little_endian::U64;

crate::event::hooks_macro::hooks! {
    PAGE_IN_MEMORY = 0x0223, "Memory: PageInMemory", "InMemory";
    PAGE_IN_MEMORY_24H2 = 0x028a, "Memory: PageInMemory (24H2)";
    IN_MEMORY_ACTIVE = 0x0275, "Memory: InMemoryActive", "InMemoryActive";
    IN_MEMORY_ACTIVE_RUNDOWN = 0x0285, "Memory: InMemoryActiveRundown";
    PAGE_ACCESS = 0x0276, "Memory: PageAccess", "PageAccess";
    PAGE_RELEASE = 0x0277, "Memory: PageRelease", "PageRelease";
}

named_enum! {
    /// What a page is used for (`MMPFNUSE_*`, bits 0–3 of the flags word).
    #[allow(missing_docs)] // the names say it; `docs/formats.md` has the table
    pub enum PageUse {
        ProcessPrivate,
        File,
        PageFileMapped,
        PageTable,
        PagedPool,
        NonPagedPool,
        SystemPte,
        SessionPrivate,
        MetaFile,
        Awe,
        DriverLocked,
        KernelStack,
        WsMetaData,
        LargePage,
        /// Not defined publicly; seen for pages that the memory manager has handed over.
        Use14,
        /// Not defined publicly.
        Use15,
    }
}

impl PageUse {
    /// The use in the low 4 bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self::ALL[(bits & 15) as usize]
    }
}

named_enum! {
    /// The memory manager's list that a page is on (`MMPFNLIST_*`, bits 4–6 of the flags word).
    #[allow(missing_docs)] // the names say it
    pub enum PageList {
        Zero,
        Free,
        Standby,
        Modified,
        ModifiedNoWrite,
        Bad,
        Active,
        Transition,
    }
}

impl PageList {
    /// The list in the low 3 bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self::ALL[(bits & 7) as usize]
    }
}

/// Which record a page identity came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PageKind {
    /// `0x0223`: any page, one record per page and snapshot.
    InMemory,
    /// `0x028a`: the same on 24H2 and later, with *non-tradeable* filled in.
    InMemoryTradeable,
    /// `0x0275`: a page on the active list.
    InMemoryActive,
    /// `0x0285`: a page on the active list, logged for the keyword WorkingSet.
    InMemoryActiveRundown,
    /// `0x0276`: a private page was added to a working set.
    Access,
    /// `0x0277`: the content of the page was deleted.
    Release,
}

/// `MMPFN_IDENTITY`: 24 bytes (8-byte pointers) or 16 bytes (4-byte pointers), no padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PageIdentity {
    /// Flags word, 8 bytes at 0: use, list, key and the rest.
    pub flags: u64,
    /// Page frame number, a pointer at 8: physical address ÷ 4096.
    pub pfn: u64,
    /// A pointer at 8+P whose meaning depends on the use: virtual address, file key, or prototype PTE address.
    pub u2: u64,
}

layout! {
    IdentityLayout<P> = 24 / 16 bytes => PageIdentity { flags: U64, pfn: P, u2: P }
}

impl PageIdentity {
    /// Size of the structure, bytes: 24 or 16.
    pub const fn size(pointer: PointerSize) -> usize {
        byte_reader::size::<IdentityLayout>(pointer)
    }

    /// The identity in `bytes`; `None` unless they are exactly as long as the structure.
    #[inline]
    pub fn read(bytes: &[u8], pointer: PointerSize) -> Option<PageIdentity> {
        byte_reader::exactly::<IdentityLayout>(bytes, pointer)
    }

    /// True for a possible PFN: physical addresses have 52 bits, so PFNs have 40.
    #[inline(always)]
    pub const fn is_possible_pfn(pfn: u64) -> bool {
        pfn >> 40 == 0
    }

    /// What the page is used for.
    #[inline]
    pub const fn page_use(&self) -> PageUse {
        PageUse::from_bits(self.flags)
    }

    /// The list that the page is on.
    #[inline]
    pub const fn list(&self) -> PageList {
        PageList::from_bits(self.flags >> 4)
    }

    /// Not accessed recently (1903 and later; active pages only).
    #[inline]
    pub const fn cold(&self) -> bool {
        self.flags & 1 << 7 != 0
    }

    /// Referenced beyond its mappings: locked, or in I/O.
    #[inline]
    pub const fn pinned(&self) -> bool {
        self.flags & 1 << 8 != 0
    }

    /// Bits 9–56: owner key, file offset ÷ 512, reference count or 0, by use.
    #[inline]
    pub const fn key(&self) -> u64 {
        self.flags >> 9 & 0xffff_ffff_ffff
    }

    /// Memory priority, 0–7.
    #[inline]
    pub const fn priority(&self) -> u8 {
        (self.flags >> 57 & 7) as u8
    }

    /// The page cannot be given to another partition (24H2 and later; always false before).
    #[inline]
    pub const fn non_tradeable(&self) -> bool {
        self.flags & 1 << 60 != 0
    }

    /// True for the two uses whose key and `u2` name a place in a file: File and MetaFile.
    #[inline]
    pub const fn is_file_backed(&self) -> bool {
        const FILE_USES: u64 = 1 << PageUse::File as u64 | 1 << PageUse::MetaFile as u64;
        FILE_USES >> (self.flags & 15) & 1 != 0
    }

    /// A file page that is mapped as an executable image; false for all other uses.
    #[inline]
    pub const fn is_image(&self) -> bool {
        self.is_file_backed() & (self.u2 & 1 != 0)
    }

    /// A data page of a file that is also mapped as an image; false for all other uses.
    #[inline]
    pub const fn mismatch(&self) -> bool {
        self.is_file_backed() & (self.u2 & 2 != 0)
    }

    /// A page into which memory combining merged several equal pages (use PageFileMapped); false for all other uses.
    #[inline]
    pub const fn combined(&self) -> bool {
        (self.flags & 15 == PageUse::PageFileMapped as u64) & (self.u2 & 1 != 0)
    }

    /// `u2` as a file key, without its flag bits: for uses File and MetaFile.
    #[inline]
    pub const fn file_key(&self) -> u64 {
        self.u2 & !3
    }

    /// Byte offset in the file, a multiple of 512: for uses File and MetaFile.
    #[inline]
    pub const fn file_offset(&self) -> u64 {
        self.flags & 0x01ff_ffff_ffff_fe00
    }

    /// `u2` as the address of a prototype PTE, without its flag bit: for use PageFileMapped.
    #[inline]
    pub const fn prototype_pte(&self) -> u64 {
        self.u2 & !1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn flags_are_read_bit_by_bit() {
        // use 1, list 2, cold, key 0x8000_0000_0001, priority 5, non-tradeable; pinned is clear.
        let flags = 1 | 2 << 4 | 1 << 7 | 0x8000_0000_0001 << 9 | 5 << 57 | 1 << 60 | 7 << 61;
        let page = PageIdentity { flags, pfn: 0, u2: 0xffff_a000_0000_1003 };
        assert_eq!((page.page_use(), page.list()), (PageUse::File, PageList::Standby));
        assert_eq!((page.cold(), page.pinned(), page.non_tradeable()), (true, false, true));
        assert_eq!((page.key(), page.priority()), (0x8000_0000_0001, 5));
        assert_eq!(page.file_offset(), 0x8000_0000_0001 * 512);
        assert_eq!(page.file_key(), 0xffff_a000_0000_1000);
        assert_eq!((page.is_image(), page.mismatch(), page.combined()), (true, true, false));
        let pinned = PageIdentity { flags: 1 << 8, pfn: 0, u2: 0 };
        assert_eq!((pinned.pinned(), pinned.cold(), pinned.non_tradeable(), pinned.key()), (true, false, false, 0));
    }

    #[test]
    fn flag_bits_of_u2_belong_to_their_uses_only() {
        for number in 0..16 {
            let page = PageIdentity { flags: number, pfn: 0, u2: 3 };
            let is_file = [PageUse::File, PageUse::MetaFile].contains(&page.page_use());
            assert_eq!((page.is_file_backed(), page.is_image(), page.mismatch()), (is_file, is_file, is_file));
            assert_eq!(page.combined(), page.page_use() == PageUse::PageFileMapped);
        }
        assert_eq!(PageIdentity { flags: 2, pfn: 0, u2: 0x1001 }.prototype_pte(), 0x1000);
    }

    #[test]
    fn numbers_of_uses_and_lists_are_the_kernels() {
        let labels: Vec<_> = (0..16).map(|bits| PageUse::from_bits(bits).name()).collect();
        assert_eq!(labels[0], "ProcessPrivate");
        assert_eq!(labels[3..9], ["PageTable", "PagedPool", "NonPagedPool", "SystemPte", "SessionPrivate", "MetaFile"]);
        assert_eq!(labels[9..14], ["Awe", "DriverLocked", "KernelStack", "WsMetaData", "LargePage"]);
        assert_eq!(labels[14..], ["Use14", "Use15"]);
        for (number, page_use) in PageUse::ALL.into_iter().enumerate() {
            assert_eq!((page_use as usize, format!("{page_use:?}").as_str()), (number, page_use.name()));
        }
        for (number, list) in PageList::ALL.into_iter().enumerate() {
            assert_eq!((list as usize, format!("{list:?}").as_str()), (number, list.name()));
        }
        assert_eq!(PageList::from_bits(4), PageList::ModifiedNoWrite);
        assert_eq!(PageList::from_bits(0xe), PageList::Active);
    }

    #[test]
    fn identities_in_all_their_records() {
        for (p, size, at) in [(P8, 24, [8, 16]), (P4, 16, [8, 12])] {
            let bytes =
                Bytes::new(size).u64(0, 0xf123_4567_89ab_cdef).ptr(p, at[0], 0x12_3456).ptr(p, at[1], 0x7654_3000);
            for (hook, expected) in [
                (0x0223, PageKind::InMemory),
                (0x028a, PageKind::InMemoryTradeable),
                (0x0275, PageKind::InMemoryActive),
                (0x0285, PageKind::InMemoryActiveRundown),
                (0x0276, PageKind::Access),
                (0x0277, PageKind::Release),
            ] {
                for version in [2, 4] {
                    let Event::Page { kind, page } = event(hook, version, p, &bytes) else { panic!() };
                    assert_eq!(kind, expected);
                    let identity = PageIdentity { flags: 0xf123_4567_89ab_cdef, pfn: 0x12_3456, u2: 0x7654_3000 };
                    assert_eq!(page, identity);
                }
                check_exact(hook, 4, p, &bytes);
                check_unknown_version(hook, p, &bytes);
            }
        }
        let full = Bytes::new(24).u64(8, u64::MAX).u64(16, u64::MAX - 1);
        let page = PageIdentity::read(&full.0, P8).unwrap();
        assert_eq!((page.pfn, page.u2), (u64::MAX, u64::MAX - 1));
    }

    #[test]
    fn one_pointer_sizes_bytes_are_no_identity_of_the_other() {
        assert_eq!(PageIdentity::read(&[0; 16], P8), None);
        assert_eq!(PageIdentity::read(&[0; 24], P4), None);
        assert_eq!((PageIdentity::size(P8), PageIdentity::size(P4)), (24, 16));
    }
}
