//! The Win32 heaps of processes: heaps that come and go, and the blocks that a program asked for.
//!
//! The heap provider logs them under its class GUID, so their process and thread are the header's; pointers have the size of the
//! process. Fields are packed, and newer versions add fields at the end: the longest form that fits is taken.
//! Sources: `docs/formats.md` ("Heap blocks"), after the Windows MOF and TraceEvent. No public trace has them.

use crate::byte_reader::{layout, size};
use crate::event::outcome::{Fault, Read};
use crate::event::payload::{ANY, Payload};
use hook::*;
use zerocopy::little_endian::U32;

crate::event::hooks_macro::hooks! {
    HEAP_CREATE = 0x1020, "Heap: Create";
    HEAP_ALLOC = 0x1021, "Heap: Alloc";
    HEAP_REALLOC = 0x1022, "Heap: Realloc";
    HEAP_DESTROY = 0x1023, "Heap: Destroy";
    HEAP_FREE = 0x1024, "Heap: Free";
    HEAP_EXPAND = 0x1025, "Heap: Expand";
    HEAP_SNAPSHOT = 0x1026, "Heap: Snapshot";
    HEAP_CONTRACT = 0x102a, "Heap: Contract";
}

/// A record about a heap or its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapRecord {
    /// A heap was created.
    Create(HeapCreate),
    /// A block was allocated.
    Alloc(HeapAlloc),
    /// A block has another size now, and perhaps another address.
    Realloc(HeapRealloc),
    /// A block was freed.
    Free(HeapFree),
    /// A heap was destroyed, with all its blocks.
    Destroy {
        /// Heap handle, an address.
        heap: u64,
    },
    /// A heap took memory.
    Expand(HeapResize),
    /// A heap gave memory back.
    Contract(HeapResize),
    /// What a heap has in all.
    Snapshot(HeapSnapshot),
}

layout! {
    DestroyLayout<P> = 8 / 4 bytes => HeapRecord as Destroy { heap: P }
}

impl HeapRecord {
    /// Decodes any of the records, by the hook id.
    ///
    /// # Errors
    /// A fault when the payload is shorter than its layout, or for another hook id.
    pub fn read(payload: &Payload<'_>) -> Read<HeapRecord> {
        Ok(match payload.hook {
            HEAP_CREATE => HeapCreate::read(payload)?.map(HeapRecord::Create),
            HEAP_ALLOC => HeapAlloc::read(payload)?.map(HeapRecord::Alloc),
            HEAP_REALLOC => HeapRealloc::read(payload)?.map(HeapRecord::Realloc),
            HEAP_FREE => HeapFree::read(payload)?.map(HeapRecord::Free),
            HEAP_DESTROY => payload.read::<DestroyLayout>(ANY)?,
            HEAP_EXPAND => HeapResize::read(payload)?.map(HeapRecord::Expand),
            HEAP_CONTRACT => HeapResize::read(payload)?.map(HeapRecord::Contract),
            HEAP_SNAPSHOT => HeapSnapshot::read(payload)?.map(HeapRecord::Snapshot),
            _ => return Err(Fault::Value { field: "hook id" }),
        })
    }
}

/// `0x1021`: 28/16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapAlloc {
    /// Heap handle, an address.
    pub heap: u64,
    /// Size of the block.
    pub size_bytes: u64,
    /// Its address.
    pub address: u64,
    /// Which part of the heap served it.
    pub source: u32,
}

layout! {
    AllocLayout<P> = 28 / 16 bytes => HeapAlloc, fn read(ANY) { heap: P, size_bytes: P, address: P, source: U32 }
}

/// `0x1024`: 20/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapFree {
    /// Heap handle, an address.
    pub heap: u64,
    /// Address of the block.
    pub address: u64,
    /// Which part of the heap took it back.
    pub source: u32,
}

layout! {
    FreeLayout<P> = 20 / 12 bytes => HeapFree, fn read(ANY) { heap: P, address: P, source: U32 }
}

/// `0x1020`: 12/8 bytes; version 3 (Windows 10) adds three sizes: 36/20.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapCreate {
    /// Heap handle, an address.
    pub heap: u64,
    /// Flags.
    pub flags: u32,
    /// Reserved at first, bytes; only in the longer form.
    pub reserved_bytes: Option<u64>,
    /// Committed at first, bytes; only in the longer form.
    pub committed_bytes: Option<u64>,
}

layout! {
    CreateLayout<P> = 12 / 8 bytes => HeapCreate, fn read_short(ANY) {
        heap: P, flags: U32
    } with |_| { reserved_bytes: None, committed_bytes: None }
}

layout! {
    LongCreateLayout<P> = 36 / 20 bytes => HeapCreate, fn read_long(ANY) {
        heap: P, flags: U32, reserved_bytes: P, committed_bytes: P, -allocated(P)
    }
}

impl HeapCreate {
    /// Decodes the longest form that fits.
    ///
    /// # Errors
    /// A fault when the payload is shorter than the short form.
    pub fn read(payload: &Payload<'_>) -> Read<HeapCreate> {
        let is_long = payload.bytes.len() >= size::<LongCreateLayout>(payload.pointer);
        if is_long { HeapCreate::read_long(payload) } else { HeapCreate::read_short(payload) }
    }
}

/// `0x1025`, `0x102a`: a heap took memory from the system or gave it back: 52/28 bytes; version 3 adds the allocated bytes: 60/32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapResize {
    /// Heap handle, an address.
    pub heap: u64,
    /// Bytes that were committed or decommitted.
    pub size_bytes: u64,
    /// Their address.
    pub address: u64,
    /// Committed in all, bytes.
    pub committed_bytes: u64,
    /// Reserved in all, bytes.
    pub reserved_bytes: u64,
}

layout! {
    ResizeLayout<P> = 52 / 28 bytes => HeapResize, fn read_short(ANY) {
        heap: P, size_bytes: P, address: P, -free(P), committed_bytes: P, reserved_bytes: P, -uncommitted_ranges(U32)
    }
}

layout! {
    LongResizeLayout<P> = 60 / 32 bytes => HeapResize, fn read_long(ANY) {
        heap: P, size_bytes: P, address: P, -free(P), committed_bytes: P, reserved_bytes: P, -uncommitted_ranges(U32),
        -allocated(P)
    }
}

impl HeapResize {
    /// Decodes the longest form that fits.
    ///
    /// # Errors
    /// A fault when the payload is shorter than the short form.
    pub fn read(payload: &Payload<'_>) -> Read<HeapResize> {
        let is_long = payload.bytes.len() >= size::<LongResizeLayout>(payload.pointer);
        if is_long { HeapResize::read_long(payload) } else { HeapResize::read_short(payload) }
    }
}

/// `0x1026`: 36/20 bytes; later forms have more behind it: 56/36, 64/40.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSnapshot {
    /// Heap handle, an address.
    pub heap: u64,
    /// Free, bytes.
    pub free_bytes: u64,
    /// Committed, bytes.
    pub committed_bytes: u64,
    /// Reserved, bytes.
    pub reserved_bytes: u64,
    /// Flags.
    pub flags: u32,
}

layout! {
    SnapshotLayout<P> = 36 / 20 bytes => HeapSnapshot, fn read_first(ANY) {
        heap: P, free_bytes: P, committed_bytes: P, reserved_bytes: P, flags: U32
    }
}

layout! {
    LaterSnapshotLayout<P> = 56 / 36 bytes => HeapSnapshot, fn read_later(ANY) {
        heap: P, free_bytes: P, committed_bytes: P, reserved_bytes: P, flags: U32, -process_id(U32), -large_ranges(P),
        -free_list_length(U32), -ranges(U32)
    }
}

layout! {
    LongSnapshotLayout<P> = 64 / 40 bytes => HeapSnapshot, fn read_long(ANY) {
        heap: P, free_bytes: P, committed_bytes: P, reserved_bytes: P, flags: U32, -process_id(U32), -large_ranges(P),
        -free_list_length(U32), -ranges(U32), -allocated(P)
    }
}

impl HeapSnapshot {
    /// Decodes the longest form that fits.
    ///
    /// # Errors
    /// A fault when the payload is shorter than the shortest form.
    pub fn read(payload: &Payload<'_>) -> Read<HeapSnapshot> {
        let (length, pointer) = (payload.bytes.len(), payload.pointer);
        if length >= size::<LongSnapshotLayout>(pointer) {
            HeapSnapshot::read_long(payload)
        } else if length >= size::<LaterSnapshotLayout>(pointer) {
            HeapSnapshot::read_later(payload)
        } else {
            HeapSnapshot::read_first(payload)
        }
    }
}

/// `0x1022`: 44/24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRealloc {
    /// Heap handle, an address.
    pub heap: u64,
    /// Address now. A block that moved has a [`HeapAlloc`] too.
    pub address: u64,
    /// Address before.
    pub old_address: u64,
    /// Size now.
    pub size_bytes: u64,
    /// Size before.
    pub old_size_bytes: u64,
    /// Which part of the heap served it.
    pub source: u32,
}

layout! {
    ReallocLayout<P> = 44 / 24 bytes => HeapRealloc, fn read(ANY) {
        heap: P, address: P, old_address: P, size_bytes: P, old_size_bytes: P, source: U32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;
    use crate::units::PointerSize;

    fn heap(hook: u16, version: u8, p: PointerSize, bytes: &Bytes) -> HeapRecord {
        match event(hook, version, p, bytes) {
            Event::HeapBlock(record) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn blocks_of_both_pointer_sizes() {
        for p in [P8, P4] {
            let at = p.bytes();
            let bytes = Bytes::new(3 * at + 4).ptr(p, 0, 1).ptr(p, at, 64).ptr(p, 2 * at, 0x1000).u32(3 * at, 2);
            let expected = HeapAlloc { heap: 1, size_bytes: 64, address: 0x1000, source: 2 };
            assert_eq!(heap(0x1021, 2, p, &bytes), HeapRecord::Alloc(expected));
            check_fixed(0x1021, 2, p, &bytes);
            let bytes = Bytes::new(5 * at + 4).ptr(p, 0, 1).ptr(p, at, 0x2000).ptr(p, 2 * at, 0x1000);
            let bytes = bytes.ptr(p, 3 * at, 128).ptr(p, 4 * at, 64).u32(5 * at, 2);
            let HeapRecord::Realloc(found) = heap(0x1022, 2, p, &bytes) else { panic!() };
            assert_eq!((found.address, found.old_address, found.size_bytes), (0x2000, 0x1000, 128));
            assert_eq!((found.heap, found.old_size_bytes, found.source), (1, 64, 2));
            check_fixed(0x1022, 2, p, &bytes);
            let bytes = Bytes::new(2 * at + 4).ptr(p, 0, 1).ptr(p, at, 0x2000).u32(2 * at, 5);
            let expected = HeapFree { heap: 1, address: 0x2000, source: 5 };
            assert_eq!(heap(0x1024, 2, p, &bytes), HeapRecord::Free(expected));
            check_fixed(0x1024, 2, p, &bytes);
            let bytes = Bytes::new(at).ptr(p, 0, 7);
            assert_eq!(heap(0x1023, 2, p, &bytes), HeapRecord::Destroy { heap: 7 });
            check_fixed(0x1023, 2, p, &bytes);
        }
    }

    #[test]
    fn heaps_have_the_longest_form_that_fits() {
        for p in [P8, P4] {
            let at = p.bytes();
            let short = Bytes::new(at + 4).ptr(p, 0, 1).u32(at, 2);
            let HeapRecord::Create(found) = heap(0x1020, 2, p, &short) else { panic!() };
            assert_eq!((found.heap, found.flags, found.reserved_bytes, found.committed_bytes), (1, 2, None, None));
            let long = Bytes::new(4 * at + 4).ptr(p, 0, 1).u32(at, 2).ptr(p, at + 4, 30).ptr(p, 2 * at + 4, 20);
            let HeapRecord::Create(found) = heap(0x1020, 3, p, &long) else { panic!() };
            assert_eq!((found.reserved_bytes, found.committed_bytes), (Some(30), Some(20)));
            for (hook, size) in [(0x1025, 6 * at + 4), (0x102a, 7 * at + 4)] {
                let bytes = Bytes::new(size).ptr(p, 0, 1).ptr(p, at, 4096).ptr(p, 2 * at, 0x9000);
                let bytes = bytes.ptr(p, 4 * at, 5).ptr(p, 5 * at, 6);
                let (HeapRecord::Expand(found) | HeapRecord::Contract(found)) = heap(hook, 3, p, &bytes) else {
                    panic!()
                };
                assert_eq!((found.heap, found.size_bytes, found.address), (1, 4096, 0x9000));
                assert_eq!((found.committed_bytes, found.reserved_bytes), (5, 6));
            }
            for size in [4 * at + 4, 5 * at + 16, 6 * at + 16] {
                let bytes =
                    Bytes::new(size).ptr(p, 0, 1).ptr(p, at, 3).ptr(p, 2 * at, 4).ptr(p, 3 * at, 5).u32(4 * at, 6);
                let expected = HeapSnapshot { heap: 1, free_bytes: 3, committed_bytes: 4, reserved_bytes: 5, flags: 6 };
                assert_eq!(heap(0x1026, 3, p, &bytes), HeapRecord::Snapshot(expected));
            }
        }
    }
}
