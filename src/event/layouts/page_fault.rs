//! Page faults.
//!
//! Sources: `docs/formats.md` ("Memory"). Hard faults were checked on recorded traces; the others are after the Windows
//! MOF only.

use crate::byte_reader::layout;
use crate::event::payload::MEMORY;
use crate::units::Ticks;
use zerocopy::little_endian::{I64, U32, U64};

crate::event::hooks_macro::hooks! {
    TRANSITION_FAULT = 0x020a, "Memory: TransitionFault";
    DEMAND_ZERO_FAULT = 0x020b, "Memory: DemandZeroFault";
    COPY_ON_WRITE = 0x020c, "Memory: CopyOnWrite";
    GUARD_PAGE_FAULT = 0x020d, "Memory: GuardPageFault";
    HARD_PAGE_FAULT = 0x020e, "Memory: HardPageFault";
    ACCESS_VIOLATION = 0x020f, "Memory: AccessViolation";
    HARD_FAULT = 0x0220, "Memory: HardFault", "HardFault";
}

/// Which kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// `0x020a`: the page was in memory but not in the working set.
    Transition,
    /// `0x020b`: a zeroed page was supplied (demand zero).
    DemandZero,
    /// `0x020c`: a private copy was created (copy-on-write).
    CopyOnWrite,
    /// `0x020d`: a guard page was touched.
    GuardPage,
    /// `0x020e`: the page had to be read.
    Hard,
    /// `0x020f`: the access was not allowed.
    AccessViolation,
}

/// `0x020a`–`0x020f`, 16/8 bytes. Thread and process are the header's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFault {
    /// Address that was touched.
    pub virtual_address: u64,
    /// Instruction that touched it.
    pub instruction: u64,
}

layout! {
    PageFaultLayout<P> = 16 / 8 bytes => PageFault, fn read(MEMORY) { virtual_address: P, instruction: P }
}

/// `0x0220`: a page was read from a file, 40/32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardFault {
    /// When the read began; the record's time is its end.
    pub initial_time: Ticks,
    /// Byte offset in the file.
    pub read_offset: u64,
    /// Address that was touched.
    pub virtual_address: u64,
    /// File key.
    pub file_key: u64,
    /// Thread that touched it.
    pub thread_id: u32,
    /// Bytes read, a multiple of 512.
    pub byte_count: u32,
}

layout! {
    HardFaultLayout<P> = 40 / 32 bytes => HardFault, fn read(MEMORY) {
        initial_time: I64, read_offset: U64, virtual_address: P, file_key: P, thread_id: U32, byte_count: U32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn faults_of_all_kinds() {
        for (p, size) in [(P8, 16), (P4, 8)] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x7000_0010).ptr(p, p.bytes(), 0x7100_0020);
            for (hook, expected) in [
                (0x020a, FaultKind::Transition),
                (0x020b, FaultKind::DemandZero),
                (0x020c, FaultKind::CopyOnWrite),
                (0x020d, FaultKind::GuardPage),
                (0x020e, FaultKind::Hard),
                (0x020f, FaultKind::AccessViolation),
            ] {
                let Event::PageFault { kind, fault } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!(kind, expected);
                assert_eq!(fault, PageFault { virtual_address: 0x7000_0010, instruction: 0x7100_0020 });
                check_fixed(hook, 2, p, &bytes);
            }
        }
    }

    #[test]
    fn hard_fault() {
        for (p, size, at) in [(P8, 40, [16, 24, 32, 36]), (P4, 32, [16, 20, 24, 28])] {
            let bytes = Bytes::new(size).u64(0, 1234).u64(8, 0x1_0000_0200).ptr(p, at[0], 0x7000_0000);
            let bytes = bytes.ptr(p, at[1], 0xa000_1000).u32(at[2], 5000).u32(at[3], 32768);
            let expected = HardFault {
                initial_time: Ticks(1234),
                read_offset: 0x1_0000_0200,
                virtual_address: 0x7000_0000,
                file_key: 0xa000_1000,
                thread_id: 5000,
                byte_count: 32768,
            };
            assert_eq!(event(0x0220, 2, p, &bytes), Event::HardFault(expected));
            check_fixed(0x0220, 2, p, &bytes);
            check_unknown_version(0x0220, p, &bytes);
        }
    }
}
