//! What recorder keywords record, and which analyses need it. Readiness (`pfnset info`), the warnings of things without a rundown,
//! the advice how to record, and what a budget needs (`pfnset check`) all come from here.
//!
//! Keyword names are those of WPR profiles, with the xperf flag beside them. Source: `docs/categories.md`.

use crate::dimensions::single_dimensions::{DETAIL, MODULE};
use crate::dimensions::{Dimension, FileFacet, ProcessFacet};
use crate::event::hooks::*;
use crate::model::category::Category::{self, *};
pub use crate::trace::recorded_by_keyword::{Exchange, Recorded, Things};

fn names<D: Dimension>(dimensions: &[D]) -> Vec<&'static str> {
    dimensions.iter().map(|dimension| dimension.name()).collect()
}

/// Nothing yet.
const THINGS: Things = Things {
    name: "",
    begins: &[],
    ends: &[],
    at_start: &[],
    at_stop: &[],
    at_any_time: &[],
    told_by: &[],
    without: "",
};

const PRIVATE: &[Category] = &[
    VirtualAllocPreTrace,
    VirtualAlloc,
    UserStack,
    Win32Heap,
    CopyOnWriteImage,
    CopyOnWriteMapFile,
    CopyOnWritePageFileMappedSection,
];

pub(crate) static STACKS: Recorded = Recorded {
    others: &[STACK, STACK_KEY_KERNEL, STACK_KEY_USER],
    ..Recorded::new("Stacks", Some("-stackwalk Profile+CSwitch"), "stacks of events")
};

/// Name of the things that views are.
pub(crate) const VIEW_THINGS: &str = "views";
/// Name of the things that processes are.
pub(crate) const PROCESS_THINGS: &str = "processes";
/// Name of the things that threads are.
pub(crate) const THREADS: &str = "threads";

pub(crate) static PROCESSES: Recorded = Recorded {
    things: &[
        Things::of(PROCESS_THINGS, &[PROCESS_START, PROCESS_END, PROCESS_DC_START, PROCESS_DC_END]),
        Things {
            without: "pages of their stacks count as VirtualAlloc",
            ..Things::of(THREADS, &[THREAD_START, THREAD_END, THREAD_DC_START, THREAD_DC_END])
        },
    ],
    dimensions: || names(ProcessFacet::ALL),
    // Where a fault is in the memory of its process tells what it read.
    fault_kinds: &["image", "mapped_file", "cache", "unknown"],
    exchanges: &[Exchange::new(&[UserStack], PRIVATE)],
    ..Recorded::new("ProcessThread", Some("PROC_THREAD"), "process and thread rundown")
};

pub(crate) static IMAGES: Recorded = Recorded {
    things: &[Things::of("images", &[IMAGE_LOAD, IMAGE_UNLOAD, IMAGE_DC_START, IMAGE_DC_END])],
    dimensions: || vec![DETAIL.name, MODULE.name],
    fault_kinds: &["image", "mapped_file", "cache", "unknown"],
    exchanges: &[Exchange::new(&[Driver], &[Driver, SystemPage])],
    ..Recorded::new("Loader", Some("LOADER"), "image rundown")
};

pub(crate) static VIEWS: Recorded = Recorded {
    things: &[Things::of(VIEW_THINGS, &[MAP_FILE, UNMAP_FILE, MAP_FILE_DC_START, MAP_FILE_DC_END])],
    exchanges: &[
        Exchange {
            has_detail: true,
            ..Exchange::new(&[CopyOnWriteImage, CopyOnWriteMapFile, CopyOnWritePageFileMappedSection], PRIVATE)
        },
        Exchange {
            has_detail: true,
            ..Exchange::new(&[SessionCopyOnWriteImage], &[SessionCopyOnWriteImage, SessionPrivate])
        },
    ],
    fault_kinds: &["image", "mapped_file", "unknown"],
    ..Recorded::new("VAMap", Some("VAMAP"), "map-file rundown")
};

pub(crate) static REGIONS: Recorded = Recorded {
    things: &[Things::of(
        "VirtualAlloc regions",
        &[VIRTUAL_ALLOC, VIRTUAL_FREE, VIRTUAL_ALLOC_DC_START, VIRTUAL_ALLOC_DC_END],
    )],
    exchanges: &[Exchange::new(&[VirtualAlloc, UserStack], PRIVATE)],
    ..Recorded::new("VirtualAllocation", Some("VIRT_ALLOC"), "virtual-alloc events and rundown")
};

/// Heap ranges are a user-mode provider; its records may be hook ids or classic events.
pub(crate) static HEAPS: Recorded = Recorded {
    things: &[Things {
        name: "heap ranges",
        begins: &[HEAP_RANGE_CREATE, HEAP_RANGE_RESERVE],
        ends: &[HEAP_RANGE_RELEASE, HEAP_RANGE_DESTROY],
        at_any_time: &[HEAP_RANGE_RUNDOWN],
        ..THINGS
    }],
    exchanges: &[Exchange::new(&[Win32Heap], PRIVATE)],
    ..Recorded::new("Win32HeapRanges", Some("-on Win32HeapRanges in a user session"), "heap ranges")
};

pub(crate) static FILES: Recorded = Recorded {
    things: &[Things {
        name: "file names",
        begins: &[FILE_CREATE],
        ends: &[FILE_DELETE],
        at_any_time: &[FILE_RUNDOWN],
        told_by: &[FILE_NAME],
        ..THINGS
    }],
    dimensions: || [names(FileFacet::ALL), vec![DETAIL.name]].concat(),
    fault_kinds: &["page_file", "image", "mapped_file", "cache", "unknown"],
    exchanges: &[
        Exchange::new(&[DriverFile, Prefetcher, RegistryFile], &[DriverFile, Prefetcher, RegistryFile, MapFile]),
        // WPA looks for hives among the metafiles.
        Exchange { is_of_wpa: true, ..Exchange::new(&[RegistryFile], &[RegistryFile, MetaFile]) },
    ],
    ..Recorded::new("Filename", Some("FILENAME"), "file names")
};

/// Where the PFN database lies, which the kernel says after the page sequence.
pub(crate) static PFN_DATABASE: Recorded = Recorded {
    others: &[KERNEL_MEM_USAGE],
    exchanges: &[Exchange::new(&[PfnDatabase], &[PfnDatabase, SystemPage])],
    ..Recorded::new("Memory", Some("MEMORY"), "place of the PFN database (KernelMemUsage)")
};

/// Those that describe things.
pub(crate) static DESCRIBING: [&Recorded; 6] = [&PROCESSES, &IMAGES, &VIEWS, &REGIONS, &HEAPS, &FILES];

const PAGE_RECORDS: Recorded =
    Recorded::of_events("Memory", "MEMORY", "page sequence (PageInMemory)", &[PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2]);
static PAGES: Recorded = PAGE_RECORDS;
/// The same for an analysis of what happened before it.
static FINAL_PAGES: Recorded = Recorded { events: "the final page sequence", ..PAGE_RECORDS };
static ACCESSES: Recorded =
    Recorded::of_events("ReferenceSet", "REFSET", "page accesses and releases", &[PAGE_ACCESS, PAGE_ACCESS_EX]);
static TRIMS: Recorded =
    Recorded { others: &[REMOVE_FROM_WS], ..Recorded::new("WorkingSet", None, "trims (RemoveFromWS)") };
static COUNTERS: Recorded = Recorded::of_events("MemoryInfo", "MEMINFO", "memory counters (MemInfo)", &[MEM_INFO]);
static WORKING_SETS: Recorded =
    Recorded::of_events("MemoryInfoWS", "MEMINFO_WS", "working sets by process (MemInfoWS)", &[MEM_INFO_WS]);
static SWITCHES: Recorded = Recorded::of_events("CSwitch", "CSWITCH", "context switches", &[CSWITCH, COMPACT_CSWITCH]);
static READY: Recorded = Recorded::of_events("ReadyThread", "DISPATCHER", "threads that become ready", &[READY_THREAD]);
pub(crate) static DPCS: Recorded =
    Recorded::of_events("DPC", "DPC", "deferred procedure calls", &[DPC, THREADED_DPC, TIMER_DPC]);
pub(crate) static INTERRUPTS: Recorded =
    Recorded::of_events("Interrupt", "INTERRUPT", "interrupts", &[ISR, PASSIVE_ISR, ISR_MSI]);
static SAMPLES: Recorded = Recorded::of_events("SampledProfile", "PROFILE", "CPU samples", &[SAMPLED_PROFILE]);

/// What an analysis needs, most important first.
#[derive(Debug)]
pub struct AnalysisNeeds {
    /// Name as in JSON.
    pub name: &'static str,
    /// Name for people, with the command.
    pub title: &'static str,
    /// Without this it cannot run.
    pub required: &'static Recorded,
    /// What is enough in place of that, and what the answer lacks then.
    pub instead: Option<(&'static Recorded, &'static str)>,
    /// What else it uses, and what it lacks without that.
    pub optional: &'static [(&'static Recorded, &'static str)],
    /// What the trace does not hold, for the error message.
    pub absent: &'static str,
    /// How to record it.
    pub advice: &'static str,
}

const PROCESS_NAMES: &str = "process names, UserStack";
pub(crate) const PROCESS_LIVES: &str = "process names, when they ended, and which process an id was used for";
const REGION_KINDS: &str = "VirtualAlloc, and UserStack beyond its first pages";
const COPIES_ON_WRITE: &str = "CopyOnWrite… and SessionCopyOnWriteImage";
const DRIVERS: &str = "Driver pages and their names";
const FILE_NAMES: &str = "file names, DriverFile, Prefetcher, RegistryFile";

/// Resident set.
pub(crate) static RESIDENT_SET: AnalysisNeeds = AnalysisNeeds {
    name: "resident_set",
    title: "resident set (pfnset resident)",
    required: &PAGES,
    instead: None,
    optional: &[
        (&PROCESSES, PROCESS_NAMES),
        (&REGIONS, REGION_KINDS),
        (&VIEWS, COPIES_ON_WRITE),
        (&HEAPS, "Win32Heap, which counts as VirtualAlloc"),
        (&IMAGES, DRIVERS),
        (&FILES, FILE_NAMES),
        (&COUNTERS, "lists and bad pages"),
    ],
    absent: "the trace holds no page sequence (Memory: PageInMemory), so nothing is known of what RAM held",
    advice: "Record with the keyword Memory:\n  wpr -start ResidentSet -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+MEMORY+MEMINFO+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
};

/// Reference set.
pub(crate) static REFERENCE_SET: AnalysisNeeds = AnalysisNeeds {
    name: "reference_set",
    title: "reference set (pfnset refset)",
    required: &ACCESSES,
    instead: None,
    optional: &[
        (&FINAL_PAGES, "proof against the final state"),
        (&TRIMS, "trims: trimmed pages look as if still held"),
        (&PROCESSES, PROCESS_NAMES),
        (&REGIONS, REGION_KINDS),
        (&VIEWS, COPIES_ON_WRITE),
        (&HEAPS, "Win32Heap, which counts as VirtualAlloc"),
        (&IMAGES, DRIVERS),
        (&FILES, FILE_NAMES),
        (&POOL, "PoolAllocate, PoolFree"),
    ],
    absent: "the trace holds no page accesses (Memory: PageAccess, PageAccessEx), so nothing is known of what the scenario \
             touched",
    advice: "Record with the keyword ReferenceSet, and with WorkingSet to see trims:\n  \
             wpr -start ReferenceSet -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+REFSET+MEMORY+POOL+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
};

/// Memory over time.
pub(crate) static MEMORY_UTILIZATION: AnalysisNeeds = AnalysisNeeds {
    name: "memory_utilization",
    title: "memory utilization over time",
    required: &COUNTERS,
    instead: Some((&WORKING_SETS, "page lists, commit and what was repurposed (working sets by process are known)")),
    optional: &[(&WORKING_SETS, "working sets by process"), (&PROCESSES, PROCESS_LIVES)],
    absent: "the trace holds no memory counters (Memory: MemInfo, MemInfoWS)",
    advice: "Record with the keywords MemoryInfo and MemoryInfoWS:\n  \
             wpr -start GeneralProfile -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+MEMINFO+MEMINFO_WS, then xperf -d trace.etl",
};

/// Use of the processors.
pub(crate) static CPU: AnalysisNeeds = AnalysisNeeds {
    name: "cpu",
    title: "CPU use (pfnset cpu)",
    required: &SWITCHES,
    instead: Some((&SAMPLES, "exact times, waits and ready delays (samples estimate the times)")),
    optional: &[
        (
            &READY,
            "ready delays of wakeups, which count as waiting, and who woke whom; the queue holds only threads that lost the processor",
        ),
        (&DPCS, "time in deferred procedure calls: threads are charged with it"),
        (&INTERRUPTS, "time in interrupts: threads are charged with it"),
        (&SAMPLES, "the comparison with samples"),
        (&PROCESSES, "process names, starts and ends of threads"),
        (&IMAGES, "modules of interrupts"),
    ],
    absent: "no context switch is in the trace",
    advice: "Record with the keywords CSwitch, ReadyThread, DPC, Interrupt, SampledProfile, ProcessThread and Loader:\n  \
             wpr -start CPU -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+CSWITCH+DISPATCHER+DPC+INTERRUPT+PROFILE, then xperf -d trace.etl",
};

/// The list of processes, which any trace with process events can give: it is not among [`ANALYSES`].
pub(crate) static PROCESS_LIST: AnalysisNeeds = AnalysisNeeds {
    name: "processes",
    title: "processes (pfnset processes)",
    required: &PROCESSES,
    instead: None,
    optional: &[],
    absent: "no event in the trace describes a process",
    advice: "Record with the keyword ProcessThread:\n  wpr -start GeneralProfile -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER, then xperf -d trace.etl",
};

/// Stacks of events.
pub(crate) static STACK_EVENTS: AnalysisNeeds = AnalysisNeeds {
    name: "stacks",
    title: "stacks (pfnset stacks)",
    required: &STACKS,
    instead: None,
    optional: &[(&PROCESSES, PROCESS_NAMES), (&IMAGES, "modules of frames")],
    absent: "the trace holds no stacks and no events of this kind",
    advice: "Record stacks of samples and context switches:\n  wpr -start CPU -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+PROFILE+CSWITCH -stackwalk Profile+CSwitch, then xperf -d trace.etl",
};

pub(crate) static HARD_FAULTS: Recorded =
    Recorded::of_events("HardFaults", "HARD_FAULTS", "hard faults (HardFault)", &[HARD_FAULT]);
/// Few traces have them, and no number of other faults needs them.
pub(crate) static SOFT_FAULTS: Recorded = Recorded::of_events(
    "AllFaults",
    "ALL_FAULTS",
    "soft faults",
    &[TRANSITION_FAULT, DEMAND_ZERO_FAULT, COPY_ON_WRITE, GUARD_PAGE_FAULT, HARD_PAGE_FAULT, ACCESS_VIOLATION],
);
/// Either is enough to begin with.
static FAULTS_OR_DISK: Recorded = Recorded {
    others: &[HARD_FAULT, DISK_READ, DISK_WRITE, DISK_FLUSH],
    ..Recorded::new("HardFaults", Some("HARD_FAULTS"), "hard faults (HardFault)")
};
static DISK: Recorded = Recorded::of_events("DiskIO", "DISK_IO", "disk requests", &[DISK_READ, DISK_WRITE, DISK_FLUSH]);
static DISK_STARTS: Recorded =
    Recorded::of_events("DiskIOInit", "DISK_IO_INIT", "starts of disk requests", &[DISK_READ_INIT, DISK_WRITE_INIT]);

/// Hard faults and the disk.
pub(crate) static FAULTS: AnalysisNeeds = AnalysisNeeds {
    name: "faults",
    title: "hard faults and disk (pfnset faults)",
    required: &FAULTS_OR_DISK,
    instead: None,
    optional: &[
        (&HARD_FAULTS, "hard faults"),
        (&DISK, "disk requests"),
        (&DISK_STARTS, "queue depth, and threads of disk requests"),
        (&PROCESSES, PROCESS_NAMES),
        (&FILES, "file names"),
        (&IMAGES, "modules, and which faults read images"),
        (&VIEWS, "which faults read mapped files"),
    ],
    absent: "the trace holds no faults and no disk requests (Memory: HardFault, DiskIo)",
    advice: "Record with the keywords HardFaults, DiskIO, DiskIOInit, Filename, VAMap, ProcessThread and Loader:\n  \
             wpr -start GeneralProfile -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+HARD_FAULTS+DISK_IO+DISK_IO_INIT+FILENAME+VAMAP+MEMINFO, then xperf -d trace.etl",
};

pub(crate) static POOL: Recorded =
    Recorded::of_events("Pool", "POOL", "pool allocations", &[POOL_ALLOC, SESSION_ALLOC, POOL_FREE, SESSION_FREE]);
/// The heap provider writes into a session of its own.
static HEAP_BLOCKS: Recorded = Recorded {
    others: &[HEAP_ALLOC, HEAP_REALLOC, HEAP_FREE],
    ..Recorded::new("Heap", Some("-heap -pids in a user session"), "allocations of heaps")
};

/// What was committed.
pub(crate) static COMMIT_ALLOCATIONS: AnalysisNeeds = AnalysisNeeds {
    name: "commit_allocations",
    title: "commit by process (pfnset allocations)",
    required: &REGIONS,
    instead: None,
    optional: &[(&PROCESSES, PROCESS_LIVES)],
    absent: "the trace holds no VirtualAlloc events, so nothing is known of what was committed",
    advice: "Record with the keyword VirtualAllocation, and stacks to see who allocates:\n  \
             wpr -start VirtualAllocation -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+VIRT_ALLOC -stackwalk VirtualAlloc+VirtualFree, then xperf -d trace.etl",
};

/// What was allocated from the kernel's pools.
pub(crate) static POOL_ALLOCATIONS: AnalysisNeeds = AnalysisNeeds {
    name: "pool_allocations",
    title: "pool by tag (pfnset allocations --of pool)",
    required: &POOL,
    instead: None,
    absent: "the trace holds no pool events, so nothing is known of what drivers allocated",
    advice: "Record with the keyword Pool, and stacks to see who allocates:\n  \
             wpr -start Pool -filemode, then wpr -stop trace.etl\n  \
             xperf -on PROC_THREAD+LOADER+POOL -stackwalk PoolAlloc+PoolFree, then xperf -d trace.etl",
    ..COMMIT_ALLOCATIONS
};

/// What was allocated from heaps.
pub(crate) static HEAP_ALLOCATIONS: AnalysisNeeds = AnalysisNeeds {
    name: "heap_allocations",
    title: "heap blocks (pfnset allocations --of heap)",
    required: &HEAP_BLOCKS,
    instead: None,
    absent: "the trace holds no heap events, so nothing is known of the blocks that programs allocated",
    advice: "Record the heaps of a process beside the kernel's session:\n  \
             wpr -start Heap -filemode (TracingFlags = 1 of its image), then wpr -stop trace.etl\n  \
             xperf -start heap -heap -pids 1234, then xperf -stop heap -d heap.etl",
    ..COMMIT_ALLOCATIONS
};

/// Those that `pfnset info` judges.
pub(crate) static ANALYSES: [&AnalysisNeeds; 9] = [
    &RESIDENT_SET,
    &REFERENCE_SET,
    &MEMORY_UTILIZATION,
    &CPU,
    &COMMIT_ALLOCATIONS,
    &POOL_ALLOCATIONS,
    &HEAP_ALLOCATIONS,
    &FAULTS,
    &STACK_EVENTS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::record_id::HookId;
    use crate::event::group_mask_bits::KEYWORDS;
    use std::collections::BTreeSet;

    fn all() -> impl Iterator<Item = &'static Recorded> {
        let needed = |needs: &&'static AnalysisNeeds| needs.optional.iter().map(|(recorded, _)| *recorded);
        let analyses = || ANALYSES.into_iter().chain([&PROCESS_LIST]);
        analyses().map(|needs| needs.required).chain(analyses().flat_map(move |needs| needed(&needs)))
    }

    #[test]
    fn keywords_are_those_of_the_group_masks() {
        // No flags of the kernel's session.
        let others = [HEAPS.keyword, HEAP_BLOCKS.keyword, STACKS.keyword];
        for recorded in all().filter(|recorded| !others.contains(&recorded.keyword)) {
            let of = |keyword: &&crate::event::group_mask_bits::Keyword| keyword.wpr == Some(recorded.keyword);
            let flags: BTreeSet<Option<&str>> = KEYWORDS.iter().filter(of).map(|keyword| keyword.xperf).collect();
            assert_eq!(flags, [recorded.xperf].into(), "{}", recorded.keyword);
        }
    }

    #[test]
    fn what_describes_things_also_tells_when_they_begin_and_end() {
        for things in DESCRIBING.iter().flat_map(|recorded| recorded.things) {
            let hooks: Vec<HookId> = things.described().chain(things.changes()).collect();
            let each: BTreeSet<HookId> = hooks.iter().copied().collect();
            assert!(each.len() == hooks.len() && things.rundowns().next().is_some(), "{}", things.name);
            assert!(!things.begins.is_empty() && !things.ends.is_empty(), "{}", things.name);
        }
        for exchange in DESCRIBING.iter().flat_map(|recorded| recorded.exchanges) {
            assert!(exchange.needs.iter().all(|category| exchange.family.contains(category)), "{exchange:?}");
        }
    }

    #[test]
    fn the_documents_name_each_keyword() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let text = ["categories.md", "cpu.md", "allocations.md", "faults.md", "stacks.md"].map(read).concat();
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        assert!(text.is_empty() || words.len() > 500, "the documents");
        for recorded in all().filter(|_| !text.is_empty()) {
            assert!(words.contains(recorded.keyword), "{} is in no table of docs", recorded.keyword);
        }
    }
}
