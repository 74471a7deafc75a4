//! Address-space records of the Memory group (0x02xx): VirtualAlloc, heap ranges, sections, sessions, faults.

use super::super::bytes::{Ptr, Put, guid};
use super::super::record::Rec;

/// Hook: VirtualAlloc.
pub const ALLOC: u16 = 0x0262;
/// Hook: VirtualFree.
pub const FREE: u16 = 0x0263;
/// Hook: VirtualAlloc start rundown.
pub const ALLOC_DC_START: u16 = 0x0280;
/// Hook: VirtualAlloc end rundown.
pub const ALLOC_DC_END: u16 = 0x0281;
/// Flag MEM_COMMIT.
pub const COMMIT: u32 = 0x1000;
/// Flag MEM_RESERVE.
pub const RESERVE: u32 = 0x2000;
/// Flag MEM_DECOMMIT.
pub const DECOMMIT: u32 = 0x4000;
/// Flag MEM_RELEASE.
pub const RELEASE: u32 = 0x8000;

/// Provider Win32HeapRanges: the class of heap ranges when they come as FULL records (types 0x64 … 0x68).
pub fn win32_heap_ranges() -> [u8; 16] {
    guid("d781ca11-61c0-4387-b83d-af52d3d2dd6a")
}

fn alloc_or_free(p: Ptr, hook: u16, base: u64, size: u64, pid: u32, flags: u32) -> Rec {
    let payload = Put::new(p).ptr(base).ptr(size).u32(pid).u32(flags).done();
    Rec::system(p, hook, 3, payload).by(pid.wrapping_add(4), pid)
}

/// VirtualAlloc (0x0262).
pub fn virtual_alloc(p: Ptr, base: u64, size: u64, pid: u32, flags: u32) -> Rec {
    alloc_or_free(p, ALLOC, base, size, pid, flags)
}

/// VirtualFree (0x0263); size 0 with [`RELEASE`] is the whole reservation.
pub fn virtual_free(p: Ptr, base: u64, size: u64, pid: u32, flags: u32) -> Rec {
    alloc_or_free(p, FREE, base, size, pid, flags)
}

/// VirtualAlloc rundown (0x0280, 0x0281) with the region's commit, bytes.
pub fn virtual_rundown(p: Ptr, hook: u16, base: u64, size: u64, pid: u32, flags: u32, commit: u64) -> Rec {
    Rec::perf(p, hook, 3, Put::new(p).ptr(base).ptr(size).u32(pid).u32(flags).ptr(commit).done())
}

/// MemReset (0x0286): bits 0–1 of `what`: 0 reset, 1 undo, 2 undo failed.
pub fn mem_reset(p: Ptr, base: u64, size: u64, what: u32) -> Rec {
    Rec::system(p, 0x0286, 2, Put::new(p).ptr(base).ptr(size).u32(what).done())
}

/// VirtualRotate (0x027f).
pub fn virtual_rotate(p: Ptr, base: u64, size: u64, flags: u32) -> Rec {
    Rec::system(p, 0x027f, 2, Put::new(p).ptr(base).ptr(size).u32(flags).done())
}

/// Where version 4 of the heap rundown has its heap tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapTag {
    /// Right after the count.
    AfterCount,
    /// After the count and 4 bytes of padding.
    AfterCountPadded,
    /// Between flags and process id.
    BeforeProcess,
}

/// A heap's ranges (0x0264), versions 2–4.
#[derive(Clone, Debug)]
pub struct HeapRundown {
    /// Heap handle.
    pub heap: u64,
    /// Flags.
    pub flags: u32,
    /// Process id.
    pub pid: u32,
    /// Ranges: address, size in bytes.
    pub ranges: Vec<(u64, u64)>,
    /// Version 2: 4 bytes of padding before the ranges.
    pub padded: bool,
    /// Version 4: heap tag.
    pub tag: u64,
    /// Version 4: its place.
    pub tag_at: HeapTag,
}

impl HeapRundown {
    /// Ranges of one heap, in the documented form of each version.
    pub fn new(pid: u32, heap: u64, ranges: &[(u64, u64)]) -> HeapRundown {
        let ranges = ranges.to_vec();
        HeapRundown { heap, flags: 2, pid, ranges, padded: false, tag: 0x1122, tag_at: HeapTag::AfterCount }
    }

    /// The record as hook 0x0264; `into_class(win32_heap_ranges())` gives the provider's form.
    pub fn rec(&self, p: Ptr, version: u16) -> Rec {
        let count = self.ranges.len() as u32;
        let mut put = Put::new(p);
        put.ptr(self.heap).u32(self.flags);
        if version >= 4 && self.tag_at == HeapTag::BeforeProcess {
            put.u64(self.tag).u32(self.pid).u32(count);
        } else {
            put.u32(self.pid).u32(count);
            match version {
                ..=2 if self.padded => {
                    put.u32(0);
                }
                ..=2 => {}
                3 => {
                    put.u32(0);
                }
                _ if self.tag_at == HeapTag::AfterCountPadded => {
                    put.u32(0).u64(self.tag);
                }
                _ => {
                    put.u64(self.tag);
                }
            }
        }
        for (address, size) in &self.ranges {
            put.ptr(*address).ptr(*size);
        }
        Rec::system(p, 0x0264, version, put.done()).by(self.pid.wrapping_add(4), self.pid)
    }
}

/// HeapRangeCreate (0x0265): heap handle, size of the first range, flags.
pub fn heap_create(p: Ptr, pid: u32, heap: u64, first_size: u64, flags: u32) -> Rec {
    Rec::system(p, 0x0265, 2, Put::new(p).ptr(heap).ptr(first_size).u32(flags).done()).by(pid.wrapping_add(4), pid)
}

/// HeapRangeReserve (0x0266).
pub fn heap_reserve(p: Ptr, pid: u32, heap: u64, address: u64, size: u64) -> Rec {
    Rec::system(p, 0x0266, 2, Put::new(p).ptr(heap).ptr(address).ptr(size).done()).by(pid.wrapping_add(4), pid)
}

/// HeapRangeRelease (0x0267).
pub fn heap_release(p: Ptr, pid: u32, heap: u64, address: u64, size: u64) -> Rec {
    Rec::system(p, 0x0267, 2, Put::new(p).ptr(heap).ptr(address).ptr(size).done()).by(pid.wrapping_add(4), pid)
}

/// HeapRangeDestroy (0x0268).
pub fn heap_destroy(p: Ptr, pid: u32, heap: u64) -> Rec {
    Rec::system(p, 0x0268, 2, Put::new(p).ptr(heap).done()).by(pid.wrapping_add(4), pid)
}

/// Pagefile-backed section (0x0248 rundown, 0x0249 create, 0x024f delete): range of prototype PTEs, creator.
pub fn section(p: Ptr, hook: u16, base: u64, end: u64, pid: u32) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).ptr(base).ptr(end).u32(pid).done())
}

/// Section object of a pagefile-backed section (0x0287 create, 0x0288 delete).
pub fn section_object(p: Ptr, hook: u16, object: u64, base: u64) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).ptr(object).ptr(base).done())
}

/// Session (0x024b create, 0x024e delete, 0x024d start rundown, 0x024c end rundown).
pub fn session(p: Ptr, hook: u16, key: u64, id: u32) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).ptr(key).u32(id).done())
}

/// Page faults without I/O (0x020a … 0x020f): address and instruction pointer.
pub fn fault(p: Ptr, hook: u16, address: u64, ip: u64) -> Rec {
    Rec::system(p, hook, 2, Put::new(p).ptr(address).ptr(ip).done())
}

/// Hard fault (0x0220): start time (raw), offset in the file, address, file key, thread, bytes.
pub fn hard_fault(p: Ptr, started: u64, offset: u64, address: u64, key: u64, tid: u32, bytes: u32) -> Rec {
    let payload = Put::new(p).u64(started).u64(offset).ptr(address).ptr(key).u32(tid).u32(bytes).done();
    Rec::perf(p, 0x0220, 2, payload)
}

/// Contiguous memory (0x0271).
pub fn contiguous(p: Ptr, tid: u64, bytes: u64) -> Rec {
    Rec::perf(p, 0x0271, 2, Put::new(p).u64(tid).u64(bytes).done())
}
