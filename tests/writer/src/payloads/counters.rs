//! Memory counters: KernelMemUsage, MMStats, MemInfo, MemInfoWS.

use super::super::bytes::{Ptr, Put};
use super::super::record::Rec;

/// KernelMemUsage (0x027b): usage type (0 = PFN metadata), address, pages.
pub fn kernel_usage(p: Ptr, version: u16, usage: u32, address: u64, pages: u64) -> Rec {
    Rec::perf(p, 0x027b, version, Put::new(p).u32(usage).pad_to(p.size()).ptr(address).ptr(pages).done())
}

/// MMStats aggregate (0x027c type 1), 32 bytes: scans, pages scanned, pages combined, blocks, their references.
pub fn mm_aggregate(p: Ptr, scans: u32, scanned: u64, combined: u64, blocks: i32, references: i32) -> Rec {
    let payload = Put::new(p).u32(1).u32(scans).u64(scanned).u64(combined).i32(blocks).i32(references).done();
    Rec::perf(p, 0x027c, 2, payload)
}

/// MMStats iteration (0x027c type 2), 12 bytes.
pub fn mm_iteration(p: Ptr, scanned: u32, combined: u32) -> Rec {
    Rec::perf(p, 0x027c, 2, Put::new(p).u32(2).u32(scanned).u32(combined).done())
}

/// MemInfo (0x0270), all in pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemInfo {
    /// Zeroed pages.
    pub zero: u64,
    /// Free pages.
    pub free: u64,
    /// Modified pages.
    pub modified: u64,
    /// Modified pages not to be written.
    pub modified_no_write: u64,
    /// Bad pages.
    pub bad: u64,
    /// Standby by priority.
    pub standby: [u64; 8],
    /// Repurposed since boot, by priority.
    pub repurposed: [u64; 8],
    /// Modified pages bound for the pagefile.
    pub modified_pagefile: u64,
    /// Version 3: paged-pool commit, non-paged pool, MDL, system commit.
    pub system: [u64; 4],
}

impl MemInfo {
    /// The record: 22 counts, from version 3 on 26.
    pub fn rec(&self, p: Ptr, version: u16) -> Rec {
        let mut put = Put::new(p);
        put.ptr(self.zero).ptr(self.free).ptr(self.modified).ptr(self.modified_no_write).ptr(self.bad);
        for count in self.standby.iter().chain(&self.repurposed) {
            put.ptr(*count);
        }
        put.ptr(self.modified_pagefile);
        if version >= 3 {
            self.system.iter().for_each(|count| {
                put.ptr(*count);
            });
        }
        Rec::perf(p, 0x0270, version, put.done())
    }
}

/// MemInfoWS (0x027d) or MemInfoSessionWS (0x027e): for each process or session id 8 counts in pages (working set,
/// commit, virtual size or paged pool, private working set, store size, stored, commit debt, shared commit); `old`
/// writes the first 4 only.
pub fn working_sets(p: Ptr, hook: u16, entries: &[(u32, [u64; 8])], old: bool) -> Rec {
    let mut put = Put::new(p);
    put.u32(entries.len() as u32);
    for (id, counts) in entries {
        put.u32(*id);
        counts.iter().take(if old { 4 } else { 8 }).for_each(|count| {
            put.ptr(*count);
        });
    }
    Rec::perf(p, hook, 3, put.done())
}
