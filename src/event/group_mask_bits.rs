//! Keywords: names of the bits in a session's group masks, which say what it records.
//!
//! A user turns bits on by a WPR keyword or an xperf flag; the file holds masks only. Public enable flags of mask 0 that
//! the kernel turns into a bit of another mask have the same name in both places. Sources: `docs/formats.md` ("Group
//! masks and keywords"), after the public trace headers and the WPR and xperf documentation.

use std::borrow::Cow;

/// One bit of the group masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyword {
    /// Index of the mask, 0–7.
    pub mask: u8,
    /// The bit in that mask.
    pub bit: u32,
    /// Plain name.
    pub flag: &'static str,
    /// Flag in xperf's command line, if there is one.
    pub xperf: Option<&'static str>,
    /// System keyword in a WPR profile, if there is one.
    pub wpr: Option<&'static str>,
}

impl Keyword {
    /// The WPR keyword, else the xperf flag, else the plain name.
    pub fn name(&self) -> &'static str {
        self.wpr.or(self.xperf).unwrap_or(self.flag)
    }
}

/// Names of all bits that are set: each name once, in the order of masks and bits. A bit without a name is written
/// `masks[1] bit 0x40000000`.
pub fn names(masks: &[u32; 8]) -> Vec<Cow<'static, str>> {
    let mut names: Vec<Cow<'static, str>> = Vec::new();
    for (index, mask) in masks.iter().enumerate() {
        for bit in (0..u32::BITS).map(|shift| 1 << shift).filter(|bit| mask & bit != 0) {
            let known = KEYWORDS.iter().find(|keyword| usize::from(keyword.mask) == index && keyword.bit == bit);
            let name = known.map_or_else(|| format!("masks[{index}] bit 0x{bit:x}").into(), |k| k.name().into());
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// True when the masks have a bit on that a WPR keyword or xperf flag of this name turns on.
pub fn has(masks: &[u32; 8], name: &str) -> bool {
    let named = |keyword: &&Keyword| keyword.wpr == Some(name) || keyword.xperf == Some(name);
    KEYWORDS.iter().filter(named).any(|k| masks.get(usize::from(k.mask)).is_some_and(|mask| mask & k.bit != 0))
}

const fn b(mask: u8, bit: u32, flag: &'static str) -> Keyword {
    Keyword { mask, bit, flag, xperf: None, wpr: None }
}

/// With an xperf flag.
const fn x(mask: u8, bit: u32, flag: &'static str, xperf: &'static str) -> Keyword {
    Keyword { mask, bit, flag, xperf: Some(xperf), wpr: None }
}

/// With a WPR keyword.
const fn w(mask: u8, bit: u32, flag: &'static str, wpr: &'static str) -> Keyword {
    Keyword { mask, bit, flag, xperf: None, wpr: Some(wpr) }
}

/// With both.
const fn xw(mask: u8, bit: u32, flag: &'static str, xperf: &'static str, wpr: &'static str) -> Keyword {
    Keyword { mask, bit, flag, xperf: Some(xperf), wpr: Some(wpr) }
}

/// All bits with a name, by mask and bit. Mask 3 has none that is public.
pub static KEYWORDS: [Keyword; 117] = [
    xw(0, 0x1, "process", "PROC_THREAD", "ProcessThread"),
    xw(0, 0x2, "thread", "PROC_THREAD", "ProcessThread"),
    xw(0, 0x4, "image load", "LOADER", "Loader"),
    xw(0, 0x8, "process counters", "PERF_COUNTER", "ProcessCounter"),
    xw(0, 0x10, "cswitch", "CSWITCH", "CSwitch"),
    xw(0, 0x20, "dpc", "DPC", "DPC"),
    xw(0, 0x40, "interrupt", "INTERRUPT", "Interrupt"),
    xw(0, 0x80, "system call", "SYSCALL", "SystemCall"),
    xw(0, 0x100, "disk I/O", "DISK_IO", "DiskIO"),
    xw(0, 0x200, "file names", "FILENAME", "Filename"),
    xw(0, 0x400, "disk I/O init", "DISK_IO_INIT", "DiskIOInit"),
    xw(0, 0x800, "dispatcher", "DISPATCHER", "ReadyThread"),
    xw(0, 0x1000, "page faults", "ALL_FAULTS", "AllFaults"),
    xw(0, 0x2000, "hard faults", "HARD_FAULTS", "HardFaults"),
    xw(0, 0x4000, "virtual alloc", "VIRT_ALLOC", "VirtualAllocation"),
    xw(0, 0x8000, "VA map", "VAMAP", "VAMap"),
    xw(0, 0x10000, "network", "NETWORKTRACE", "NetworkTrace"),
    xw(0, 0x20000, "registry", "REGISTRY", "Registry"),
    b(0, 0x40000, "debug print"),
    b(0, 0x80000, "job"),
    xw(0, 0x100000, "ALPC", "ALPC", "Alpc"),
    xw(0, 0x200000, "split I/O", "SPLIT_IO", "SplitIO"),
    x(0, 0x400000, "debug events", "DEBUG_EVENTS"),
    xw(0, 0x800000, "driver", "DRIVERS", "Drivers"),
    xw(0, 0x1000000, "profile", "PROFILE", "SampledProfile"),
    xw(0, 0x2000000, "file I/O", "FILE_IO", "FileIO"),
    xw(0, 0x4000000, "file I/O init", "FILE_IO_INIT", "FileIOInit"),
    b(0, 0x10000000, "no system config"),
    xw(1, 0x1, "memory", "MEMORY", "Memory"),
    xw(1, 0x2, "profile", "PROFILE", "SampledProfile"),
    xw(1, 0x4, "context switch", "CSWITCH", "CSwitch"),
    xw(1, 0x8, "footprint", "FOOTPRINT", "FootPrint"),
    xw(1, 0x10, "drivers", "DRIVERS", "Drivers"),
    xw(1, 0x20, "reference set", "REFSET", "ReferenceSet"),
    xw(1, 0x40, "pool", "POOL", "Pool"),
    xw(1, 0x80, "DPC", "DPC", "DPC"),
    xw(1, 0x100, "compact cswitch", "COMPACT_CSWITCH", "CompactCSwitch"),
    xw(1, 0x200, "dispatcher", "DISPATCHER", "ReadyThread"),
    xw(1, 0x400, "PMC profile", "PMC_PROFILE", "PmcProfile"),
    b(1, 0x800, "process in-swap"),
    b(1, 0x1000, "affinity"),
    xw(1, 0x2000, "priority", "PRIORITY", "ThreadPriority"),
    xw(1, 0x4000, "interrupt", "INTERRUPT", "Interrupt"),
    xw(1, 0x8000, "virtual alloc", "VIRT_ALLOC", "VirtualAllocation"),
    xw(1, 0x10000, "spinlock", "SPINLOCK", "SpinLock"),
    w(1, 0x20000, "sync objects", "SynchronizationObjects"),
    x(1, 0x40000, "DPC queue", "DPC_QUEUE"),
    xw(1, 0x80000, "memory info", "MEMINFO", "MemoryInfo"),
    xw(1, 0x100000, "contiguous memory", "CONTMEMGEN", "ContiguousMemorygeneration"),
    b(1, 0x200000, "spinlock counters"),
    xw(1, 0x400000, "session, pagefile sections", "SESSION", "Session"),
    xw(1, 0x800000, "memory info WS", "MEMINFO_WS", "MemoryInfoWS"),
    xw(1, 0x1000000, "kernel queue", "KQUEUE", "KernelQueue"),
    x(1, 0x2000000, "interrupt steering", "INTERRUPT_STEER"),
    x(1, 0x4000000, "should yield", "SHOULDYIELD"),
    w(1, 0x8000000, "working set", "WorkingSet"),
    w(2, 0x1, "anti-starvation", "AntiStarvation"),
    w(2, 0x2, "process freeze", "ProcessFreeze"),
    b(2, 0x4, "PFN list"),
    b(2, 0x8, "WS detail"),
    b(2, 0x10, "WS entry"),
    b(2, 0x20, "heap"),
    xw(2, 0x40, "system call", "SYSCALL", "SystemCall"),
    b(2, 0x80, "UMS"),
    b(2, 0x100, "backtrace"),
    b(2, 0x200, "vulcan"),
    b(2, 0x400, "objects"),
    b(2, 0x800, "events"),
    b(2, 0x1000, "full trace"),
    b(2, 0x2000, "DFSS"),
    b(2, 0x4000, "prefetch"),
    xw(2, 0x8000, "processor idle", "IDLE_STATES", "IdleStates"),
    xw(2, 0x10000, "CPU config", "CPU_CONFIG", "CpuConfig"),
    x(2, 0x20000, "timer", "TIMER"),
    x(2, 0x40000, "clock interrupt", "CLOCKINT"),
    b(2, 0x80000, "load balancer"),
    x(2, 0x100000, "clock timer", "KE_CLOCK"),
    b(2, 0x200000, "idle selection"),
    b(2, 0x400000, "IPI"),
    b(2, 0x800000, "I/O timer"),
    xw(2, 0x1000000, "registry hive", "REG_HIVE", "RegistryHive"),
    w(2, 0x2000000, "registry notify", "RegistryNotify"),
    b(2, 0x4000000, "exit latency"),
    b(2, 0x8000000, "worker thread"),
    b(4, 0x1, "optical I/O"),
    b(4, 0x2, "optical I/O init"),
    b(4, 0x8, "DLL info"),
    b(4, 0x10, "DLL info with working set flush"),
    x(4, 0x40, "handles", "OB_HANDLE"),
    x(4, 0x80, "objects", "OB_OBJECT"),
    b(4, 0x200, "wake drop"),
    b(4, 0x400, "wake event"),
    b(4, 0x800, "debugger"),
    b(4, 0x1000, "process attach"),
    b(4, 0x2000, "wake counter"),
    x(4, 0x8000, "power", "POWER"),
    b(4, 0x10000, "soft trim"),
    x(4, 0x20000, "cache manager", "CC"),
    x(4, 0x80000, "minifilter I/O init", "FLT_IO_INIT"),
    x(4, 0x100000, "minifilter I/O", "FLT_IO"),
    x(4, 0x200000, "minifilter fast I/O", "FLT_FASTIO"),
    x(4, 0x400000, "minifilter I/O failure", "FLT_IO_FAILURE"),
    b(4, 0x800000, "hypervisor profile"),
    b(4, 0x1000000, "WDF DPC"),
    b(4, 0x2000000, "WDF interrupt"),
    b(4, 0x4000000, "cache flush"),
    x(5, 0x1, "hibernate rundown", "HIBERRUNDOWN"),
    b(5, 0x40, "physical memory ranges"),
    b(6, 0x1, "system config: system"),
    b(6, 0x2, "system config: graphics"),
    b(6, 0x4, "system config: storage"),
    b(6, 0x8, "system config: network"),
    b(6, 0x10, "system config: services"),
    b(6, 0x20, "system config: PnP"),
    b(6, 0x40, "system config: optical"),
    b(7, 0x1, "mark with flush"),
    b(7, 0x2, "memory control"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_single_bits() {
        assert!(KEYWORDS.is_sorted_by(|a, b| (a.mask, a.bit) < (b.mask, b.bit)));
        assert!(KEYWORDS.iter().all(|k| k.bit.count_ones() == 1 && k.mask < 8));
    }

    #[test]
    fn masks_of_a_perfview_trace_name_each_keyword_once() {
        let names = names(&[0x0001_270f, 2, 0, 0, 0, 0, 0, 0]);
        let expected = [
            "ProcessThread",
            "Loader",
            "ProcessCounter",
            "DiskIO",
            "Filename",
            "DiskIOInit",
            "HardFaults",
            "NetworkTrace",
            "SampledProfile",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn redirected_flags_and_their_targets_are_one_name() {
        assert_eq!(names(&[0x4000, 0x8000, 0, 0, 0, 0, 0, 0]), ["VirtualAllocation"]);
        assert_eq!(names(&[0x10, 0, 0, 0, 0, 0, 0, 0]), names(&[0, 4, 0, 0, 0, 0, 0, 0]));
        assert_eq!(names(&[0x80, 0, 0x40, 0, 0, 0, 0, 0]), ["SystemCall"]);
        assert!(has(&[0x4000, 0, 0, 0, 0, 0, 0, 0], "VirtualAllocation"));
        assert!(has(&[0, 0x8000, 0, 0, 0, 0, 0, 0], "VIRT_ALLOC"));
        assert!(!has(&[0, 0x8000, 0, 0, 0, 0, 0, 0], "Memory"));
    }

    #[test]
    fn bits_without_a_wpr_keyword_or_a_name_are_not_dropped() {
        let masks = [0x8040_0000, 0, 4, 1, 0, 0, 0, 0];
        assert_eq!(names(&masks), ["DEBUG_EVENTS", "masks[0] bit 0x80000000", "PFN list", "masks[3] bit 0x1"]);
        assert_eq!(names(&[0; 8]), Vec::<Cow<str>>::new());
    }
}
