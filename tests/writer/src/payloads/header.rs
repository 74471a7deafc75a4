//! Records of the header group (hooks 0x00xx); the log-file header itself is `Session::header_rec`.

use super::super::bytes::{Ptr, Put};
use super::super::record::Rec;

/// Hook: group masks after a change.
pub const MASKS_AFTER: u16 = 0x0005;
/// Hook: rundown complete.
pub const RUNDOWN_COMPLETE: u16 = 0x0008;
/// Hook: group masks before a change.
pub const MASKS_BEFORE: u16 = 0x0020;

/// Group masks (0x0005 or 0x0020): 8 masks and the kernel event version (42 on 9200, 70 on 18362, 85 on 26100).
pub fn group_masks(p: Ptr, hook: u16, masks: [u32; 8], event_version: u32) -> Rec {
    let mut put = Put::new(p);
    masks.iter().for_each(|mask| {
        put.u32(*mask);
    });
    Rec::perf(p, hook, 2, put.u32(event_version).done())
}

/// Rundown complete (0x0008): no payload.
pub fn rundown_complete(p: Ptr) -> Rec {
    Rec::perf(p, RUNDOWN_COMPLETE, 2, Vec::new())
}

/// Debug id RSDS (0x0040) of a provider's binary.
pub fn debug_id(p: Ptr, id: [u8; 16], age: u32, pdb: &str) -> Rec {
    Rec::perf(p, 0x0040, 2, Put::new(p).raw(&id).u32(age).narrow(pdb).done())
}

/// Build lab (0x0042).
pub fn build_lab(p: Ptr, text: &str) -> Rec {
    Rec::perf(p, 0x0042, 2, Put::new(p).narrow(text).done())
}

/// Provider binary path (0x0043).
pub fn provider_path(p: Ptr, providers: &[[u8; 16]], path: &str) -> Rec {
    let mut put = Put::new(p);
    put.u32(providers.len() as u32);
    providers.iter().for_each(|id| {
        put.raw(id);
    });
    Rec::perf(p, 0x0043, 2, put.wide(path).done())
}

/// Partition info (0x0050), 48 bytes.
pub fn partition(p: Ptr, kind: u32, clock_offset: u64, id: [u8; 16], parent: [u8; 16]) -> Rec {
    Rec::system(p, 0x0050, 2, Put::new(p).u16(0).u16(0).u32(kind).u64(clock_offset).raw(&id).raw(&parent).done())
}

/// Last dropped times (0x0052): one raw time per processor, 0 = never.
pub fn last_dropped(p: Ptr, times: &[u64]) -> Rec {
    let mut put = Put::new(p);
    put.u32(times.len() as u32).u32(0);
    times.iter().for_each(|time| {
        put.u64(*time);
    });
    Rec::perf(p, 0x0052, 2, put.done())
}
