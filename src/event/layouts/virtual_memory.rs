//! Ranges of virtual memory: allocated, freed, rundown, rotated, reset.
//!
//! Sources: `docs/formats.md` ("Memory"): `PageFault_VirtualAlloc` and its relatives of the Windows MOF. Not checked on
//! a recorded trace, because no public one holds them.

use crate::byte_reader::{layout, size};
use crate::etl::record_id::HookId;
use crate::event::Phase;
use crate::event::outcome::Read;
use crate::event::payload::{MEMORY, Payload};
use hook::*;
use zerocopy::little_endian::{U32, U64};

crate::event::hooks_macro::hooks! {
    VIRTUAL_ALLOC = 0x0262, "Memory: VirtualAlloc", "VirtualAlloc";
    VIRTUAL_FREE = 0x0263, "Memory: VirtualFree", "VirtualFree";
    VIRTUAL_ALLOC_DC_START = 0x0280, "Memory: VirtualAllocDCStart";
    VIRTUAL_ALLOC_DC_END = 0x0281, "Memory: VirtualAllocDCEnd";
    VIRTUAL_ROTATE = 0x027f, "Memory: VirtualRotate";
    MEM_RESET = 0x0286, "Memory: MemReset";
    CONTIGUOUS_MEMORY = 0x0271, "Memory: ContiguousMemory";
}

/// `0x0262`, `0x0263` (24/16 bytes) and the rundown `0x0280`, `0x0281` (32/20 bytes): a private range of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualRange {
    /// First address.
    pub base: u64,
    /// Size; 0 in a release means the whole reservation at `base`.
    pub size_bytes: u64,
    /// The process that owns the range; the header's is the one that called.
    pub process_id: u32,
    /// Flags as recorded, see the constants. What they hold in the rundown is not documented: decide nothing by it.
    pub flags: u32,
    /// Committed part; only in the rundown.
    pub commit_bytes: Option<u64>,
}

impl VirtualRange {
    /// Flag: commits (`MEM_COMMIT`).
    pub const COMMIT: u32 = 0x1000;
    /// Flag: reserves (`MEM_RESERVE`).
    pub const RESERVE: u32 = 0x2000;
    /// Flag: decommits (`MEM_DECOMMIT`).
    pub const DECOMMIT: u32 = 0x4000;
    /// Flag: releases the reservation (`MEM_RELEASE`).
    pub const RELEASE: u32 = 0x8000;
    /// Flag: content no longer needed (`MEM_RESET`).
    pub const RESET: u32 = 0x8_0000;
    /// Flag: at the highest possible address (`MEM_TOP_DOWN`).
    pub const TOP_DOWN: u32 = 0x10_0000;
    /// Flag: tracks writes (`MEM_WRITE_WATCH`).
    pub const WRITE_WATCH: u32 = 0x20_0000;
    /// Flag: address windowing extensions (`MEM_PHYSICAL`).
    pub const PHYSICAL: u32 = 0x40_0000;
    /// Flag: undoes a reset (`MEM_RESET_UNDO`).
    pub const RESET_UNDO: u32 = 0x100_0000;
    /// Flag: large pages (`MEM_LARGE_PAGES`).
    pub const LARGE_PAGES: u32 = 0x2000_0000;

    /// The event about a range in this phase.
    pub const fn hook(phase: Phase) -> HookId {
        phase.pick([VIRTUAL_ALLOC, VIRTUAL_FREE, VIRTUAL_ALLOC_DC_START, VIRTUAL_ALLOC_DC_END])
    }
}

layout! {
    AllocLayout<P> = 24 / 16 bytes => VirtualRange, fn read(MEMORY) {
        base: P, size_bytes: P, process_id: U32, flags: U32
    } with |_| { commit_bytes: None }
}

layout! {
    RundownLayout<P> = 32 / 20 bytes => VirtualRange, fn read_rundown(MEMORY) {
        base: P, size_bytes: P, process_id: U32, flags: U32, commit_bytes: P
    }
}

/// `0x027f` VirtualRotate: pages of a view exchanged with others, 20/12 bytes, or 16/8 without flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualRotate {
    /// First address.
    pub base: u64,
    /// Size.
    pub size_bytes: u64,
    /// Flags, direction in bits 0–3; `None` in the form without them.
    pub flags: Option<u32>,
}

layout! {
    RotateLayout<P> = 20 / 12 bytes => VirtualRotate, fn read_with_flags(MEMORY) { base: P, size_bytes: P, flags: U32 }
}

layout! {
    BriefRotateLayout<P> = 16 / 8 bytes => VirtualRotate, fn read_brief(MEMORY) {
        base: P, size_bytes: P
    } with |_| { flags: None }
}

impl VirtualRotate {
    /// Decodes either form, by the length.
    ///
    /// # Errors
    /// A fault when the length is neither form's.
    pub fn read(payload: &Payload<'_>) -> Read<VirtualRotate> {
        let brief = payload.bytes.len() == size::<BriefRotateLayout>(payload.pointer);
        if brief { VirtualRotate::read_brief(payload) } else { VirtualRotate::read_with_flags(payload) }
    }
}

/// What a reset record says (bits 0–1 of its last word).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResetKind {
    /// The content is no longer needed.
    Reset,
    /// The content is needed again and was still present.
    Undo,
    /// The content is needed again but was discarded.
    UndoFailed,
    /// Number 3, not defined publicly.
    Unknown3,
}

/// `0x0286` MemReset, 20/12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemReset {
    /// First address.
    pub base: u64,
    /// Size.
    pub size_bytes: u64,
    /// Flags word as recorded.
    pub flags: u32,
}

impl MemReset {
    /// What the record says.
    pub const fn kind(&self) -> ResetKind {
        match self.flags & 3 {
            0 => ResetKind::Reset,
            1 => ResetKind::Undo,
            2 => ResetKind::UndoFailed,
            _ => ResetKind::Unknown3,
        }
    }
}

layout! {
    ResetLayout<P> = 20 / 12 bytes => MemReset, fn read(MEMORY) { base: P, size_bytes: P, flags: U32 }
}

/// `0x0271`: physically contiguous memory was asked for, 16 bytes whatever the pointer size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContiguousMemory {
    /// The thread that asked.
    pub thread_id: u64,
    /// Size.
    pub size_bytes: u64,
}

layout! {
    ContiguousLayout = 16 bytes => ContiguousMemory, fn read(MEMORY) { thread_id: U64, size_bytes: U64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::event::{Event, Fault, Phase};

    #[test]
    fn allocations_and_frees() {
        for (p, size, at) in [(P8, 24, [8, 16, 20]), (P4, 16, [4, 8, 12])] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x2_0000).ptr(p, at[0], 0x5000).u32(at[1], 77).u32(at[2], 0x3000);
            for (hook, expected) in [(0x0262, Phase::Start), (0x0263, Phase::End)] {
                let Event::VirtualRange { phase, range } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!(phase, expected);
                assert_eq!((range.base, range.size_bytes, range.process_id), (0x2_0000, 0x5000, 77));
                assert_eq!(range.flags, VirtualRange::COMMIT | VirtualRange::RESERVE);
                assert_eq!(range.commit_bytes, None);
                check_fixed(hook, 2, p, &bytes);
                check_unknown_version(hook, p, &bytes);
            }
        }
    }

    #[test]
    fn rundown_adds_the_commit() {
        for (p, size, at) in [(P8, 32, [8, 16, 20, 24]), (P4, 20, [4, 8, 12, 16])] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x2_0000).ptr(p, at[0], 0x5000).u32(at[1], 77).u32(at[2], 5);
            let bytes = bytes.ptr(p, at[3], 0x3000);
            for (hook, expected) in [(0x0280, Phase::DcStart), (0x0281, Phase::DcEnd)] {
                let Event::VirtualRange { phase, range } = event(hook, 4, p, &bytes) else { panic!() };
                let wanted = VirtualRange {
                    base: 0x2_0000,
                    size_bytes: 0x5000,
                    process_id: 77,
                    flags: 5,
                    commit_bytes: Some(0x3000),
                };
                assert_eq!((phase, range), (expected, wanted));
                check_fixed(hook, 4, p, &bytes);
            }
        }
    }

    #[test]
    fn rotate_with_and_without_flags() {
        for (p, long, short) in [(P8, 20, 16), (P4, 12, 8)] {
            let bytes = Bytes::new(long).ptr(p, 0, 1).ptr(p, p.bytes(), 2).u32(short, 3);
            let Event::VirtualRotate(found) = event(0x027f, 2, p, &bytes) else { panic!() };
            assert_eq!(found, VirtualRotate { base: 1, size_bytes: 2, flags: Some(3) });
            let brief = bytes.clone().cut(4);
            let Event::VirtualRotate(found) = event(0x027f, 2, p, &brief) else { panic!() };
            assert_eq!(found.flags, None);
            for cut in [1, 2, 3, 5, 6, long] {
                assert_eq!(fault(0x027f, 2, p, &bytes.clone().cut(cut)), Fault::Length { expected: long });
            }
            odd(0x027f, 2, p, &bytes.more(&[0; 8]));
        }
    }

    #[test]
    fn reset_kinds_are_two_bits() {
        for (p, size) in [(P8, 20), (P4, 12)] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x1000).ptr(p, p.bytes(), 0x2000).u32(2 * p.bytes(), 0x15);
            let Event::MemReset(found) = event(0x0286, 2, p, &bytes) else { panic!() };
            assert_eq!(found, MemReset { base: 0x1000, size_bytes: 0x2000, flags: 0x15 });
            assert_eq!(found.kind(), ResetKind::Undo);
            check_fixed(0x0286, 2, p, &bytes);
        }
        let kind = |flags| MemReset { base: 0, size_bytes: 0, flags }.kind();
        assert_eq!([kind(0), kind(2), kind(7)], [ResetKind::Reset, ResetKind::UndoFailed, ResetKind::Unknown3]);
    }

    #[test]
    fn contiguous_memory_does_not_depend_on_the_pointer_size() {
        for p in [P8, P4] {
            let bytes = Bytes::new(16).u64(0, 5000).u64(8, 0x10_0000);
            let expected = ContiguousMemory { thread_id: 5000, size_bytes: 0x10_0000 };
            assert_eq!(event(0x0271, 2, p, &bytes), Event::ContiguousMemory(expected));
            check_fixed(0x0271, 2, p, &bytes);
        }
    }
}
