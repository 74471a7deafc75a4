//! Which analyses can run on a trace: are the events that they need there, and which recorder keyword adds what is missing?
//!
//! Keyword names are those of WPR profiles, with the xperf flag beside them. Source: `docs/categories.md`.

use crate::etl::record::HookId;
use crate::event::hooks::*;
use crate::event::keywords;
use crate::load::survey::Survey;

/// Can the analysis run?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// All events that it uses are there.
    Ready,
    /// It runs, but parts of its answer are missing or less exact.
    Partial,
    /// It cannot run.
    Missing,
}

impl Fitness {
    /// Name as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Fitness::Ready => "ready",
            Fitness::Partial => "partial",
            Fitness::Missing => "missing",
        }
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
    /// True when the keyword was on while recording, and yet none of its events are in the trace.
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
    pub verdict: Fitness,
    /// Records of what it needs most.
    pub events: u64,
    /// What is not in the trace.
    pub missing: Vec<Need>,
}

const fn need(
    keyword: &'static str,
    xperf: &'static str,
    events: &'static str,
    hooks: &'static [HookId],
    without: &'static str,
    required: bool,
) -> Need {
    Need {
        keyword,
        xperf: if xperf.is_empty() { None } else { Some(xperf) },
        events,
        hooks,
        without,
        required,
        was_on: false,
    }
}

const PROCESSES: Need = need(
    "ProcessThread",
    "PROC_THREAD",
    "process and thread rundown",
    &[PROCESS_DC_START, PROCESS_DC_END, PROCESS_START],
    "process names, UserStack",
    false,
);
const IMAGES: Need = need(
    "Loader",
    "LOADER",
    "image rundown",
    &[IMAGE_DC_START, IMAGE_DC_END, IMAGE_LOAD],
    "Driver pages and their names",
    false,
);
const FILES: Need = need(
    "Filename",
    "FILENAME",
    "file names",
    &[FILE_RUNDOWN, FILE_NAME, FILE_CREATE],
    "file names, DriverFile, Prefetcher, RegistryFile",
    false,
);
const VIEWS: Need = need(
    "VAMap",
    "VAMAP",
    "map-file rundown",
    &[MAP_FILE, MAP_FILE_DC_START, MAP_FILE_DC_END],
    "CopyOnWrite… and SessionCopyOnWriteImage",
    false,
);
const REGIONS: Need = need(
    "VirtualAllocation",
    "VIRT_ALLOC",
    "virtual-alloc events and rundown",
    &[VIRTUAL_ALLOC_DC_START, VIRTUAL_ALLOC_DC_END, VIRTUAL_ALLOC],
    "VirtualAlloc, and UserStack beyond its first pages",
    false,
);
/// Heap ranges are a user-mode provider; its records may be hook ids or classic events.
const HEAPS: Need = need(
    "Win32HeapRanges",
    "-on Win32HeapRanges in a user session",
    "heap ranges",
    &[HEAP_RANGE_RUNDOWN, HEAP_RANGE_CREATE, HEAP_RANGE_RESERVE],
    "Win32Heap",
    false,
);
const MEMORY_INFO: Need = need(
    "MemoryInfo",
    "MEMINFO",
    "memory counters (MemInfo)",
    &[MEM_INFO],
    "check of lists and bad pages against the kernel's own counters",
    false,
);

/// (JSON name, title, needs); the first need's events are counted.
const ANALYSES: [(&str, &str, &[Need]); 4] = [
    (
        "resident_set",
        "resident set (pfnset resident)",
        &[
            need(
                "Memory",
                "MEMORY",
                "page sequence (PageInMemory)",
                &[PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2],
                "everything",
                true,
            ),
            PROCESSES,
            REGIONS,
            VIEWS,
            HEAPS,
            IMAGES,
            FILES,
            MEMORY_INFO,
        ],
    ),
    (
        "reference_set",
        "reference set (pfnset refset)",
        &[
            need(
                "ReferenceSet",
                "REFSET",
                "page accesses and releases",
                &[PAGE_ACCESS, PAGE_ACCESS_EX],
                "everything",
                true,
            ),
            need(
                "Memory",
                "MEMORY",
                "the final page sequence",
                &[PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2],
                "proof against the final state",
                false,
            ),
            need(
                "WorkingSet",
                "",
                "trims (RemoveFromWS)",
                &[REMOVE_FROM_WS],
                "trims: trimmed pages look as if still held",
                false,
            ),
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
            need("MemoryInfo", "MEMINFO", "memory counters (MemInfo)", &[MEM_INFO], "everything", true),
            need(
                "MemoryInfoWS",
                "MEMINFO_WS",
                "working sets by process (MemInfoWS)",
                &[MEM_INFO_WS],
                "working sets by process",
                false,
            ),
        ],
    ),
    (
        "cpu",
        "CPU use",
        &[
            need("SampledProfile", "PROFILE", "CPU samples", &[SAMPLED_PROFILE], "samples", false),
            need("CSwitch", "CSWITCH", "context switches", &[CSWITCH, COMPACT_CSWITCH], "exact times", false),
            PROCESSES,
            IMAGES,
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
    // The CPU view works with either samples or switches, so neither is required by itself.
    let no_cpu = name == "cpu"
        && missing.iter().filter(|n| n.keyword == "SampledProfile" || n.keyword == "CSwitch").count() == 2;
    let verdict = match () {
        () if no_cpu || missing.iter().any(|need| need.required) => Fitness::Missing,
        () if missing.is_empty() => Fitness::Ready,
        () => Fitness::Partial,
    };
    let counted = if name == "cpu" { 2 } else { 1 };
    let events = needs.iter().take(counted).map(|need| records(survey, need)).sum();
    Readiness { name, title, verdict, events, missing }
}

fn records(survey: &Survey, need: &Need) -> u64 {
    need.hooks.iter().map(|&hook| survey.kernel_count(hook)).sum()
}

/// What the kernel describes in rundowns: name, events that change it, records of its rundowns.
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
