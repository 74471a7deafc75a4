//! Page records: identity, extra info and page range (hooks 0x0223, 0x028a, 0x0275 … 0x0285).

use super::super::bytes::{Ptr, Put};
use super::super::record::Rec;

/// Hook: every page of RAM.
pub const IN_MEMORY: u16 = 0x0223;
/// Hook: every page of RAM, 24H2 and later.
pub const IN_MEMORY_24H2: u16 = 0x028a;
/// Hook: active pages after the start mark.
pub const IN_MEMORY_ACTIVE: u16 = 0x0275;
/// Hook: active pages, rundown of the WorkingSet keyword.
pub const ACTIVE_RUNDOWN: u16 = 0x0285;
/// Hook: private page accessed.
pub const ACCESS: u16 = 0x0276;
/// Hook: page released.
pub const RELEASE: u16 = 0x0277;
/// Hook: page range accessed.
pub const RANGE_ACCESS: u16 = 0x0278;
/// Hook: page range released.
pub const RANGE_RELEASE: u16 = 0x0279;
/// Hook: page combined.
pub const COMBINE: u16 = 0x027a;
/// Hook: shareable page accessed.
pub const ACCESS_EX: u16 = 0x0282;
/// Hook: page removed from a working set.
pub const REMOVE_FROM_WS: u16 = 0x0283;

/// List numbers (bits 4–6).
pub mod list {
    /// Zeroed pages.
    pub const ZERO: u8 = 0;
    /// Free pages.
    pub const FREE: u8 = 1;
    /// Standby.
    pub const STANDBY: u8 = 2;
    /// Modified.
    pub const MODIFIED: u8 = 3;
    /// Modified, not to be written.
    pub const MODIFIED_NO_WRITE: u8 = 4;
    /// Bad.
    pub const BAD: u8 = 5;
    /// Active.
    pub const ACTIVE: u8 = 6;
    /// In transition.
    pub const TRANSITION: u8 = 7;
}

/// A page identity. Bits: 0–3 use, 4–6 list, 7 cold, 8 pinned, 9–56 key, 57–59 priority, 60 non-tradeable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity {
    /// Use, 0–15.
    pub page_use: u8,
    /// List, 0–7.
    pub list: u8,
    /// Cold.
    pub cold: bool,
    /// Pinned.
    pub pinned: bool,
    /// The 48 bits from bit 9 on: owner key, or file offset ÷ 512.
    pub key: u64,
    /// Priority, 0–7.
    pub priority: u8,
    /// Non-tradeable.
    pub non_tradeable: bool,
    /// Page frame number.
    pub pfn: u64,
    /// The word after the PFN: address, file key with its low bits, prototype PTE.
    pub u2: u64,
}

impl Identity {
    /// An active page of this use, priority 5.
    pub fn new(page_use: u8, pfn: u64, key: u64, u2: u64) -> Identity {
        Identity { page_use, list: list::ACTIVE, key, priority: 5, pfn, u2, ..Identity::default() }
    }

    /// An active private page.
    pub fn private(pfn: u64, owner_key: u64, address: u64) -> Identity {
        Identity::new(0, pfn, owner_key, address)
    }

    /// An active file page at `offset` bytes of the file `key`; image or data.
    pub fn file(pfn: u64, key: u64, offset: u64, image: bool) -> Identity {
        Identity::new(1, pfn, offset >> 9, key | u64::from(image))
    }

    /// An active page of a pagefile-backed section, by its prototype PTE.
    pub fn section(pfn: u64, prototype: u64) -> Identity {
        Identity::new(2, pfn, 0, prototype)
    }

    /// The same page on another list.
    pub fn on_list(self, list: u8) -> Identity {
        Identity { list, ..self }
    }

    /// The same page with another priority.
    pub fn with_priority(self, priority: u8) -> Identity {
        Identity { priority, ..self }
    }

    /// The flags word.
    pub fn flags(&self) -> u64 {
        u64::from(self.page_use & 15)
            | u64::from(self.list & 7) << 4
            | u64::from(self.cold) << 7
            | u64::from(self.pinned) << 8
            | (self.key & 0xffff_ffff_ffff) << 9
            | u64::from(self.priority & 7) << 57
            | u64::from(self.non_tradeable) << 60
    }

    /// Appends the identity: 24 or 16 bytes.
    pub fn put(&self, put: &mut Put) {
        put.u64(self.flags()).ptr(self.pfn).ptr(self.u2);
    }

    /// The record: PERFINFO for the sequences (0x0223, 0x028a, 0x0275, 0x0285), SYSTEM for 0x0276 and 0x0277.
    pub fn rec(&self, p: Ptr, version: u16, hook: u16) -> Rec {
        let mut put = Put::new(p);
        self.put(&mut put);
        match hook {
            ACCESS | RELEASE => Rec::system(p, hook, version, put.done()),
            _ => Rec::perf(p, hook, version, put.done()),
        }
    }

    /// PageAccessEx (0x0282) of a shareable page.
    pub fn access_ex(&self, p: Ptr, version: u16, extra: Extra) -> Rec {
        let mut put = Put::new(p);
        self.put(&mut put);
        Rec::system(p, ACCESS_EX, version, put.ptr(extra.word()).done())
    }

    /// PageCombine (0x027a): this private page became the combined page with this prototype PTE.
    pub fn combine(&self, p: Ptr, version: u16, prototype: u64) -> Rec {
        let mut put = Put::new(p);
        self.put(&mut put);
        Rec::system(p, COMBINE, version, put.ptr(prototype).done())
    }
}

/// Extra info of 0x0282 and 0x0283.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// Working set: 0 a process's, 1 a session's, 2 a system one.
    pub working_set: u8,
    /// Cached write, entered no working set.
    pub cached_write: bool,
    /// Copy-on-write: the identity is the new, private page's.
    pub copy_on_write: bool,
    /// Page-aligned address.
    pub address: u64,
}

impl Extra {
    /// A page at `address` in the working set of the running process.
    pub fn process(address: u64) -> Extra {
        Extra { address, ..Extra::default() }
    }

    /// The word: bits 0–1 working set, 2 cached write, 3 copy-on-write, 12 and up the address.
    pub fn word(&self) -> u64 {
        u64::from(self.working_set & 3)
            | u64::from(self.cached_write) << 2
            | u64::from(self.copy_on_write) << 3
            | (self.address & !0xfff)
    }
}

/// RemoveFromWS (0x0283).
pub fn remove_from_ws(p: Ptr, version: u16, extra: Extra) -> Rec {
    Rec::system(p, REMOVE_FROM_WS, version, Put::new(p).ptr(extra.word()).done())
}

/// Page range (0x0278, 0x0279): use, unique key, start, number of pages.
pub fn range(p: Ptr, version: u16, hook: u16, page_use: u8, key: u64, start: u64, pages: u64) -> Rec {
    let word = u64::from(page_use & 15) | (key & 0xffff_ffff_ffff) << 4;
    Rec::system(p, hook, version, Put::new(p).u64(word).ptr(start).ptr(pages).done())
}
