//! Allocations of heaps: the blocks that a program asked for.
//!
//! Sources: `docs/formats.md` ("Heap blocks"), after the Windows MOF. No public trace has them.

use super::payload::ANY;
use crate::bytes::layout;
use zerocopy::little_endian::U32;

super::hook_name::hooks! {
    HEAP_ALLOC = 0x1021, "Heap: Alloc";
    HEAP_REALLOC = 0x1022, "Heap: Realloc";
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
