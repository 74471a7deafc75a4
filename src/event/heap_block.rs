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

#[cfg(test)]
mod tests {
    use super::super::payload::Payload;
    use super::super::testing::*;
    use super::hook::*;
    use super::*;
    use crate::etl::record_id::HookId;

    fn payload(hook: HookId, pointer: crate::units::PointerSize, bytes: &[u8]) -> Payload<'_> {
        Payload { hook, version: 2, pointer, bytes }
    }

    #[test]
    fn blocks_of_both_pointer_sizes() {
        for p in [P8, P4] {
            let size = p.bytes();
            let bytes =
                Bytes::new(3 * size + 4).ptr(p, 0, 1).ptr(p, size, 64).ptr(p, 2 * size, 0x1000).u32(3 * size, 2);
            let found = HeapAlloc::read(&payload(HEAP_ALLOC, p, &bytes.0)).unwrap().value;
            assert_eq!(found, HeapAlloc { heap: 1, size_bytes: 64, address: 0x1000, source: 2 });
            assert!(HeapAlloc::read(&payload(HEAP_ALLOC, p, &bytes.clone().cut(1).0)).is_err());
            let bytes = Bytes::new(5 * size + 4).ptr(p, 0, 1).ptr(p, size, 0x2000).ptr(p, 2 * size, 0x1000);
            let bytes = bytes.ptr(p, 3 * size, 128).ptr(p, 4 * size, 64).u32(5 * size, 2);
            let found = HeapRealloc::read(&payload(HEAP_REALLOC, p, &bytes.0)).unwrap().value;
            assert_eq!((found.address, found.old_address, found.size_bytes), (0x2000, 0x1000, 128));
            assert_eq!((found.heap, found.old_size_bytes, found.source), (1, 64, 2));
            assert!(HeapRealloc::read(&payload(HEAP_REALLOC, p, &bytes.cut(1).0)).is_err());
        }
    }
}
