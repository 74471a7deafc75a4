//! Ranges of virtual memory: allocated, freed, rundown, rotated, reset.
//!
//! Sources: `docs/formats.md` ("Memory"): `PageFault_VirtualAlloc` and its relatives of the Windows MOF. Not checked on
//! a recorded trace, for no public one holds them.

use super::outcome::{Parsed, Read};
use super::payload::{MEMORY, Payload};

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

    /// Decodes `0x0262` and `0x0263`.
    ///
    /// # Errors
    /// A fault when there are fewer than 24 or 16 bytes.
    pub fn read(payload: &Payload<'_>) -> Read<VirtualRange> {
        VirtualRange::read_with(payload, payload.pointer.pick(24, 16), false)
    }

    /// Decodes the rundown, `0x0280` and `0x0281`.
    ///
    /// # Errors
    /// A fault when there are fewer than 32 or 20 bytes.
    pub fn read_rundown(payload: &Payload<'_>) -> Read<VirtualRange> {
        VirtualRange::read_with(payload, payload.pointer.pick(32, 20), true)
    }

    fn read_with(payload: &Payload<'_>, expected: usize, rundown: bool) -> Read<VirtualRange> {
        let oddity = payload.fixed(expected, MEMORY)?;
        let mut c = payload.cursor();
        let value = VirtualRange {
            base: c.ptr("base")?,
            size_bytes: c.ptr("region size")?,
            process_id: c.u32("process id")?,
            flags: c.u32("flags")?,
            commit_bytes: if rundown { Some(c.ptr("commit size")?) } else { None },
        };
        Ok(Parsed::new(value, oddity))
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

impl VirtualRotate {
    /// Decodes either form.
    ///
    /// # Errors
    /// A fault when the length is neither form's.
    pub fn read(payload: &Payload<'_>) -> Read<VirtualRotate> {
        let short = payload.bytes.len() == payload.pointer.pick(16, 8);
        let expected = if short { payload.bytes.len() } else { payload.pointer.pick(20, 12) };
        let oddity = payload.fixed(expected, MEMORY)?;
        let mut c = payload.cursor();
        let value = VirtualRotate {
            base: c.ptr("base")?,
            size_bytes: c.ptr("size")?,
            flags: if short { None } else { Some(c.u32("flags")?) },
        };
        Ok(Parsed::new(value, oddity))
    }
}

/// What a reset record says (bits 0–1 of its last word).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResetKind {
    /// The content is no longer needed.
    Reset,
    /// The content is needed again and was still there.
    Undo,
    /// The content is needed again but was gone.
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

    /// Decodes the 20 or 12 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<MemReset> {
        let oddity = payload.fixed(payload.pointer.pick(20, 12), MEMORY)?;
        let mut c = payload.cursor();
        Ok(Parsed::new(MemReset { base: c.ptr("base")?, size_bytes: c.ptr("size")?, flags: c.u32("flags")? }, oddity))
    }
}

/// `0x0271`: physically contiguous memory was asked for, 16 bytes whatever the pointer size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContiguousMemory {
    /// The thread that asked.
    pub thread_id: u64,
    /// Size.
    pub size_bytes: u64,
}

impl ContiguousMemory {
    /// Decodes the 16 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<ContiguousMemory> {
        let oddity = payload.fixed(16, MEMORY)?;
        let mut c = payload.cursor();
        let value = ContiguousMemory { thread_id: c.u64("thread id")?, size_bytes: c.u64("bytes")? };
        Ok(Parsed::new(value, oddity))
    }
}
