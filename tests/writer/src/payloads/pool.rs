//! Pool records (hooks 0x0exx): allocations and the snapshots whose layout is only a hypothesis.

use super::super::bytes::{Ptr, Put};
use super::super::record::Rec;

/// Hook: pool allocation.
pub const ALLOC: u16 = 0x0e20;
/// Hook: session pool allocation.
pub const SESSION_ALLOC: u16 = 0x0e21;
/// Hook: pool free.
pub const FREE: u16 = 0x0e22;
/// Hook: session pool free.
pub const SESSION_FREE: u16 = 0x0e23;

/// Pool allocation or free (0x0e20, 0x0e22; 0x0e24, 0x0e26 alike): type (bit 0 paged), tag, bytes, address.
pub fn pool(p: Ptr, hook: u16, kind: u32, tag: [u8; 4], bytes: u64, address: u64) -> Rec {
    Rec::system(p, hook, 2, Put::new(p).u32(kind).raw(&tag).ptr(bytes).ptr(address).done())
}

/// Session pool allocation or free (0x0e21, 0x0e23).
pub fn session_pool(p: Ptr, hook: u16, kind: u32, tag: [u8; 4], bytes: u64, address: u64, session: u32) -> Rec {
    Rec::system(p, hook, 2, Put::new(p).u32(kind).raw(&tag).ptr(bytes).ptr(address).u32(session).done())
}

/// One big-pool allocation.
#[derive(Clone, Copy, Debug)]
pub struct BigPool {
    /// Page-aligned address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Tag.
    pub tag: [u8; 4],
    /// Non-paged: bit 0 of the stored address.
    pub non_paged: bool,
}

/// How a snapshot record counts its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// u32 count, padding to a pointer.
    Padded,
    /// u32 count, no padding.
    Tight,
    /// No count.
    No,
}

/// Big-pool snapshot (0x0e2a, 0x0e2b; with a session id 0x0e2e, 0x0e2f) in one of the three supposed forms.
pub fn big_pool(p: Ptr, hook: u16, session: Option<u32>, counted: Counted, entries: &[BigPool]) -> Rec {
    let mut put = Put::new(p);
    if let Some(session) = session {
        put.u32(session);
    }
    match counted {
        Counted::Padded => {
            let at = put.u32(entries.len() as u32).written();
            put.pad_to(at.next_multiple_of(p.size()));
        }
        Counted::Tight => {
            put.u32(entries.len() as u32);
        }
        Counted::No => {}
    }
    for entry in entries {
        let end = put.written() + 3 * p.size();
        put.ptr(entry.address | u64::from(entry.non_paged)).ptr(entry.bytes).raw(&entry.tag).pad_to(end);
    }
    Rec::perf(p, hook, 2, put.done())
}

/// Pool snapshot (0x0e28, 0x0e29) in the supposed form: total size, first address, overhead, then entries of
/// (allocated, size, tag) that lie one after another.
pub fn snapshot(p: Ptr, hook: u16, first: u64, entries: &[(bool, u32, [u8; 4])]) -> Rec {
    let total: u64 = entries.iter().map(|entry| u64::from(entry.1)).sum();
    let mut put = Put::new(p);
    put.ptr(total).ptr(first).u16(16).u8(0).u8(0).u32(entries.len() as u32);
    for (allocated, size, tag) in entries {
        let end = put.written() + p.pick(16, 12);
        put.u8(u8::from(*allocated)).u8(0).u16(0).u32(*size).raw(tag).pad_to(end);
    }
    Rec::perf(p, hook, 2, put.done())
}
