//! Which analyses can run on a trace: are the events there that they need, and which recorder keyword adds missing ones?
//!
//! Keyword names are those of WPR profiles, with the xperf flag beside them. Source: `docs/categories.md`.

use crate::etl::record_id::HookId;
use crate::event::hooks::*;
use crate::event::keywords;
use crate::load::survey::Survey;
use crate::named::named_enum;

named_enum! {
    /// Can the analysis run?
    pub enum ReadinessLevel {
        /// All events that it uses are there.
        Ready = "ready",
        /// It runs, but parts of its answer are missing or less exact.
        Partial = "partial",
        /// It cannot run.
        Missing = "missing",
    }
}

/// Events of one recorder keyword that an analysis uses.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// Keyword in a WPR profile.
    pub keyword: &'static str,
    /// Flag of xperf; `None` where xperf has none.
    pub xperf: Option<&'static str>,
    /// What the events are, for people.
    pub events: &'static str,
    /// Any of these kernel events will do.
    pub hooks: &'static [HookId],
    /// What the analysis lacks without them.
    pub without: &'static str,
    /// True when the analysis cannot run without them.
    pub required: bool,
    /// True when the keyword was on while recording, but none of its events are in the trace.
    pub was_on: bool,
}

/// An analysis and what it needs.
#[derive(Debug, Clone)]
pub struct Readiness {
    /// Name as in JSON: `resident_set`, ….
    pub name: &'static str,
    /// Name for people, with the command.
    pub title: &'static str,
    /// Can it run?
    pub level: ReadinessLevel,
    /// Records of what it needs most.
    pub events: u64,
    /// What is not in the trace.
    pub missing: Vec<Need>,
}

/// An optional keyword and its flag in xperf.
const fn keyword(keyword: &'static str, xperf: &'static str) -> Need {
    let xperf = if xperf.is_empty() { None } else { Some(xperf) };
    Need { keyword, xperf, events: "", hooks: &[], without: "everything", required: false, was_on: false }
}

impl Need {
    const fn events(self, events: &'static str, hooks: &'static [HookId]) -> Need {
        Need { events, hooks, ..self }
    }

    const fn without(self, without: &'static str) -> Need {
        Need { without, ..self }
    }

    const fn required(self) -> Need {
        Need { required: true, ..self }
    }
}

const PAGES: Need =
    keyword("Memory", "MEMORY").events("page sequence (PageInMemory)", &[PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2]);
const PROCESSES: Need = keyword("ProcessThread", "PROC_THREAD")
    .events("process and thread rundown", &[PROCESS_DC_START, PROCESS_DC_END, PROCESS_START])
    .without("process names, UserStack");
const IMAGES: Need = keyword("Loader", "LOADER")
    .events("image rundown", &[IMAGE_DC_START, IMAGE_DC_END, IMAGE_LOAD])
    .without("Driver pages and their names");
const FILES: Need = keyword("Filename", "FILENAME")
    .events("file names", &[FILE_RUNDOWN, FILE_NAME, FILE_CREATE])
    .without("file names, DriverFile, Prefetcher, RegistryFile");
const VIEWS: Need = keyword("VAMap", "VAMAP")
    .events("map-file rundown", &[MAP_FILE, MAP_FILE_DC_START, MAP_FILE_DC_END])
    .without("CopyOnWrite… and SessionCopyOnWriteImage");
const REGIONS: Need = keyword("VirtualAllocation", "VIRT_ALLOC")
    .events("virtual-alloc events and rundown", &[VIRTUAL_ALLOC_DC_START, VIRTUAL_ALLOC_DC_END, VIRTUAL_ALLOC])
    .without("VirtualAlloc, and UserStack beyond its first pages");
/// Heap ranges are a user-mode provider; its records may be hook ids or classic events.
const HEAPS: Need = keyword("Win32HeapRanges", "-on Win32HeapRanges in a user session")
    .events("heap ranges", &[HEAP_RANGE_RUNDOWN, HEAP_RANGE_CREATE, HEAP_RANGE_RESERVE])
    .without("Win32Heap");
const MEMORY_INFO: Need = keyword("MemoryInfo", "MEMINFO").events("memory counters (MemInfo)", &[MEM_INFO]);

/// (JSON name, title, needs); the first need's events are counted.
const ANALYSES: [(&str, &str, &[Need]); 4] = [
    (
        "resident_set",
        "resident set (pfnset resident)",
        &[
            PAGES.required(),
            PROCESSES,
            REGIONS,
            VIEWS,
            HEAPS,
            IMAGES,
            FILES,
            MEMORY_INFO.without("check of lists and bad pages against the kernel's own counters"),
        ],
    ),
    (
        "reference_set",
        "reference set (pfnset refset)",
        &[
            keyword("ReferenceSet", "REFSET")
                .events("page accesses and releases", &[PAGE_ACCESS, PAGE_ACCESS_EX])
                .required(),
            PAGES.events("the final page sequence", PAGES.hooks).without("proof against the final state"),
            keyword("WorkingSet", "")
                .events("trims (RemoveFromWS)", &[REMOVE_FROM_WS])
                .without("trims: trimmed pages look as if still held"),
            PROCESSES,
            REGIONS,
            VIEWS,
            HEAPS,
            IMAGES,
            FILES,
        ],
    ),
    (
        "memory_utilization",
        "memory utilization over time",
        &[
            MEMORY_INFO.required(),
            keyword("MemoryInfoWS", "MEMINFO_WS")
                .events("working sets by process (MemInfoWS)", &[MEM_INFO_WS])
                .without("working sets by process"),
        ],
    ),
    (
        "cpu",
        "CPU use (pfnset cpu)",
        &[
            keyword("CSwitch", "CSWITCH").events("context switches", &[CSWITCH, COMPACT_CSWITCH]).required(),
            keyword("ReadyThread", "DISPATCHER").events("threads that become ready", &[READY_THREAD]).without(
                "ready delays of wakeups, who woke whom; the queue holds only threads that lost the processor",
            ),
            keyword("DPC", "DPC")
                .events("deferred procedure calls", &[DPC, THREADED_DPC, TIMER_DPC])
                .without("time in deferred procedure calls: threads are charged with it"),
            keyword("Interrupt", "INTERRUPT")
                .events("interrupts", &[ISR, PASSIVE_ISR, ISR_MSI])
                .without("time in interrupts: threads are charged with it"),
            keyword("SampledProfile", "PROFILE")
                .events("CPU samples", &[SAMPLED_PROFILE])
                .without("the comparison with samples"),
            PROCESSES.without("process names, starts and ends of threads"),
            IMAGES.without("modules of interrupts"),
        ],
    ),
];

/// Judges all analyses.
pub fn readiness(survey: &Survey) -> Vec<Readiness> {
    ANALYSES.iter().map(|(name, title, needs)| judge(survey, name, title, needs)).collect()
}

/// Judges one analysis by its JSON name; `None` for a name that is no analysis.
pub fn readiness_of(survey: &Survey, name: &str) -> Option<Readiness> {
    ANALYSES.iter().find(|a| a.0 == name).map(|(name, title, needs)| judge(survey, name, title, needs))
}

fn judge(survey: &Survey, name: &'static str, title: &'static str, needs: &[Need]) -> Readiness {
    let masks = survey.masks_ever_on();
    let marked = |need: &Need| Need { was_on: keywords::has(&masks, need.keyword), ..*need };
    let missing: Vec<Need> = needs.iter().filter(|need| records(survey, need) == 0).map(marked).collect();
    let level = match () {
        () if missing.iter().any(|need| need.required) => ReadinessLevel::Missing,
        () if missing.is_empty() => ReadinessLevel::Ready,
        () => ReadinessLevel::Partial,
    };
    let events = needs.iter().take(1).map(|need| records(survey, need)).sum();
    Readiness { name, title, level, events, missing }
}

fn records(survey: &Survey, need: &Need) -> u64 {
    need.hooks.iter().map(|&hook| survey.kernel_count(hook)).sum()
}

/// Things that the kernel lists in rundowns: name, events that change them, records of their rundowns.
const DESCRIBED: [(&str, &[HookId], &[HookId]); 7] = [
    ("processes", &[PROCESS_START, PROCESS_END], &[PROCESS_DC_START, PROCESS_DC_END]),
    ("threads", &[THREAD_START, THREAD_END], &[THREAD_DC_START, THREAD_DC_END]),
    ("images", &[IMAGE_LOAD, IMAGE_UNLOAD], &[IMAGE_DC_START, IMAGE_DC_END]),
    ("views", &[MAP_FILE, UNMAP_FILE], &[MAP_FILE_DC_START, MAP_FILE_DC_END]),
    ("VirtualAlloc regions", &[VIRTUAL_ALLOC, VIRTUAL_FREE], &[VIRTUAL_ALLOC_DC_START, VIRTUAL_ALLOC_DC_END]),
    (
        "heap ranges",
        &[HEAP_RANGE_CREATE, HEAP_RANGE_RESERVE, HEAP_RANGE_RELEASE, HEAP_RANGE_DESTROY],
        &[HEAP_RANGE_RUNDOWN],
    ),
    ("file names", &[FILE_CREATE, FILE_DELETE], &[FILE_RUNDOWN, FILE_NAME]),
];

/// A warning about things whose changes were recorded, but not their state before; `None` when there are none.
pub fn not_described(survey: &Survey) -> Option<String> {
    let any = |hooks: &[HookId]| hooks.iter().any(|&hook| survey.kernel_count(hook) > 0);
    let kinds: Vec<_> = DESCRIBED.iter().filter(|(_, c, r)| any(c) && !any(r)).map(|(name, ..)| *name).collect();
    (!kinds.is_empty())
        .then(|| format!("no rundown of {}: of these only what changed during the trace is known", kinds.join(", ")))
}
