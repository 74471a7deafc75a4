//! The history: what the model needs of a trace, collected in one parallel walk.
//!
//! Page records are not kept: a run of them becomes one [`PageRun`] that says where they lie. All other records become
//! small owned values with the moment at which they were logged. Nothing is interpreted here; `model` does that.

use crate::etl::EtlFile;
use crate::etl::order::ranks;
use crate::etl::record::HookId;
use crate::event::Phase;
use crate::event::file::{FileNameKind, ViewKind};
use crate::event::process::ProcessPhase;
use crate::load::collector::Collector;
use crate::load::survey::Survey;
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;

/// When a record was logged: time, then file position, the order of all records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment {
    /// Raw stamp.
    pub time: Ticks,
    /// Rank of the buffer and offset in its event area.
    pub order: u64,
}

/// A value and when it was logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// When.
    pub moment: Moment,
    /// What.
    pub value: T,
}

/// A process event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEvent {
    /// Kind.
    pub phase: ProcessPhase,
    /// UniqueProcessKey, a kernel address.
    pub key: u64,
    /// Process id.
    pub process_id: u32,
    /// Session; `None` for processes of no session.
    pub session_id: Option<u32>,
    /// Physical address of the page directory.
    pub directory_table_base: Option<u64>,
    /// File name of the image.
    pub image_name: Box<str>,
    /// Thread that logged the event (the creator's, for a start).
    pub thread_id: Option<u32>,
}

/// Something that changes or describes a process's address space: addresses, and sizes in bytes.
#[allow(missing_docs)] // fields are named as in `event`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceEvent {
    /// VirtualAlloc (Start), VirtualFree (End), rundown.
    Region { phase: Phase, base: u64, size: u64, flags: u32 },
    /// MapFile, UnmapFile, rundown.
    View { phase: Phase, base: u64, size: u64, file_key: u64, kind: ViewKind },
    /// A heap was created: `[heap, heap + size)` unless a reserve says otherwise.
    HeapCreate { heap: u64, size: u64 },
    /// A heap reserved a range.
    HeapReserve { heap: u64, base: u64, size: u64 },
    /// A heap gave a range back.
    HeapRelease { heap: u64, base: u64, size: u64 },
    /// A heap went with all its ranges.
    HeapDestroy { heap: u64 },
    /// The rundown names a range of a heap.
    HeapRundown { heap: u64, base: u64, size: u64 },
    /// A thread with a user stack, `[limit, base)` committed at first.
    Thread { phase: Phase, thread_id: u32, stack_base: u64, stack_limit: u64 },
}

/// An image at a kernel address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageEvent {
    /// Kind.
    pub phase: Phase,
    /// First address.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// Path as logged.
    pub file_name: Box<str>,
}

/// A file name event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEvent {
    /// Kind.
    pub kind: FileNameKind,
    /// File key.
    pub key: u64,
    /// Path as logged.
    pub name: Box<str>,
}

/// Memory counters as the kernel logged them, pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounters {
    /// Zero list.
    pub zero: u64,
    /// Free list.
    pub free: u64,
    /// Modified list.
    pub modified: u64,
    /// Modified-no-write list.
    pub modified_no_write: u64,
    /// Bad list, as far as the kernel calls pages bad.
    pub bad: u64,
    /// Standby list by priority.
    pub standby: [u64; 8],
}

/// A block of kernel memory of known use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelBlock {
    /// Usage type; 0 = PFN metadata.
    pub usage_type: u8,
    /// First address.
    pub address: u64,
    /// Pages.
    pub pages: u64,
}

/// Page records with consecutive PFNs in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// When the first was logged.
    pub first: Moment,
    /// Stamp of the last.
    pub last_time: Ticks,
    /// Buffer in file order.
    pub buffer: u32,
    /// Offset of the first record in the event area.
    pub start: u32,
    /// Event version: decides what owner keys mean.
    pub version: u8,
    /// Pointer size.
    pub pointer: PointerSize,
    /// Number of records.
    pub pages: u32,
    /// PFN of the first record; the last has `first_pfn + pages - 1`.
    pub first_pfn: u64,
}

impl PageRun {
    /// PFN of the last record.
    pub fn last_pfn(&self) -> u64 {
        self.first_pfn.saturating_add(u64::from(self.pages.saturating_sub(1)))
    }
}

/// True for the events that make up a page sequence.
#[inline(always)]
pub const fn is_page_sequence(hook: HookId) -> bool {
    matches!(hook.0, 0x0223 | 0x028a)
}

/// Everything that the model is built from, each list in order of its moments.
#[derive(Debug, Default)]
pub struct History {
    /// Counts, damage and losses of the whole trace.
    pub survey: Survey,
    /// Process events.
    pub processes: Vec<At<ProcessEvent>>,
    /// Address-space events by process id.
    pub spaces: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Views that were mapped into a process without an id yet, by the thread that mapped them.
    pub newborn: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Views at kernel addresses (session images), whatever process they name.
    pub kernel_views: Vec<At<SpaceEvent>>,
    /// Images at kernel addresses.
    pub kernel_images: Vec<At<ImageEvent>>,
    /// File names.
    pub files: Vec<At<FileEvent>>,
    /// Registry hive files.
    pub hives: Vec<At<Box<str>>>,
    /// MemInfo records.
    pub counters: Vec<At<MemoryCounters>>,
    /// Combined pages by the MMStats aggregate (blocks in use).
    pub combined: Vec<At<u64>>,
    /// KernelMemUsage records.
    pub kernel_blocks: Vec<At<KernelBlock>>,
    /// RAM by the system configuration, pages.
    pub ram_pages: Option<u64>,
    /// Prefixes of kernel paths and what users call them.
    pub volumes: Vec<(Box<str>, Box<str>)>,
    /// Marks.
    pub marks: Vec<At<Box<str>>>,
    /// Page records.
    pub runs: Vec<PageRun>,
}

impl History {
    /// Walks the whole trace.
    pub fn new(etl: &EtlFile) -> History {
        let (rank, _) = ranks(&etl.buffers);
        let (survey, parts) = Survey::with_listeners(etl, || Collector::new(&rank));
        let mut all = History { survey, ..History::default() };
        for part in parts {
            all.append(part.history);
        }
        all.sort();
        all
    }

    fn append(&mut self, mut part: History) {
        self.processes.append(&mut part.processes);
        for (process_id, mut events) in part.spaces {
            self.spaces.entry(process_id).or_default().append(&mut events);
        }
        for (thread_id, mut events) in part.newborn {
            self.newborn.entry(thread_id).or_default().append(&mut events);
        }
        self.kernel_views.append(&mut part.kernel_views);
        self.kernel_images.append(&mut part.kernel_images);
        self.files.append(&mut part.files);
        self.hives.append(&mut part.hives);
        self.counters.append(&mut part.counters);
        self.combined.append(&mut part.combined);
        self.kernel_blocks.append(&mut part.kernel_blocks);
        self.ram_pages = self.ram_pages.max(part.ram_pages);
        self.volumes.append(&mut part.volumes);
        self.marks.append(&mut part.marks);
        self.runs.append(&mut part.runs);
    }

    fn sort(&mut self) {
        self.adopt_newborn();
        by_moment(&mut self.processes);
        self.spaces.par_iter_mut().for_each(|(_, events)| by_moment(events));
        by_moment(&mut self.kernel_views);
        by_moment(&mut self.kernel_images);
        self.files.par_sort_unstable_by_key(|event| event.moment);
        by_moment(&mut self.hives);
        by_moment(&mut self.counters);
        by_moment(&mut self.combined);
        by_moment(&mut self.kernel_blocks);
        by_moment(&mut self.marks);
        self.volumes.sort();
        self.volumes.dedup();
        // Records of equal time on two processors can only be in the order of their PFNs.
        self.runs.sort_unstable_by_key(|run| (run.first.time, run.first_pfn, run.first.order));
    }

    /// Gives views that were mapped before their process had an id to the process that the same thread started next.
    fn adopt_newborn(&mut self) {
        let mut starts: Vec<(u32, Moment, u32)> = (self.processes.iter())
            .filter(|event| event.value.phase == ProcessPhase::Start)
            .filter_map(|event| Some((event.value.thread_id?, event.moment, event.value.process_id)))
            .collect();
        starts.sort_unstable();
        for (thread_id, events) in std::mem::take(&mut self.newborn) {
            for event in events {
                let next = starts.partition_point(|&(thread, moment, _)| (thread, moment) < (thread_id, event.moment));
                match starts.get(next).filter(|start| start.0 == thread_id) {
                    Some(&(_, moment, process_id)) => {
                        // The process begins to be known at its start, so its views do too.
                        self.spaces.entry(process_id).or_default().push(At { moment, value: event.value });
                    }
                    None => self.newborn.entry(thread_id).or_default().push(event),
                }
            }
        }
    }
}

fn by_moment<T>(list: &mut [At<T>]) {
    list.sort_by_key(|event| event.moment);
}

/// True for addresses of the kernel's half: the upper canonical half in 64-bit traces, 2 GiB up in 32-bit ones.
pub const fn is_kernel_address(address: u64, pointer: PointerSize) -> bool {
    match pointer {
        PointerSize::P8 => address >= 0xffff_8000_0000_0000,
        PointerSize::P4 => address >= 0x8000_0000,
    }
}
