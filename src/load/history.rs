//! The history: what the model needs of a trace, collected in one parallel walk.
//!
//! Page records are not kept: a run of them becomes one [`PageRun`] that says where they lie. All other records become
//! small owned values with the moment at which they were logged. Nothing is interpreted here; `model` does that.

pub use crate::load::page_run::{PageRun, is_page_sequence};

use crate::etl::EtlFile;
use crate::etl::order::ranks;
use crate::event::Phase;
use crate::event::file::{FileNameKind, ViewKind};
use crate::event::pool::PoolTag;
use crate::event::process::ProcessPhase;
use crate::load::collector::Collector;
use crate::load::page_run::cut_and_sort;
use crate::load::pool_rundown::PoolRundown;
use crate::load::space_events::{RundownRun, SpaceEvents};
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

impl Moment {
    /// Before all records.
    pub const FIRST: Moment = Moment { time: Ticks(i64::MIN), order: 0 };
    /// Behind all records.
    pub const LAST: Moment = Moment { time: Ticks(i64::MAX), order: u64::MAX };
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

/// A view at a kernel address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelView {
    /// Process that the record names; session images are listed by a process of their session.
    pub process_id: u32,
    /// Kind of event.
    pub phase: Phase,
    /// First address.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// File key.
    pub file_key: u64,
    /// What is mapped.
    pub kind: ViewKind,
}

impl KernelView {
    /// The same as an event of an address space.
    pub const fn as_view(&self) -> SpaceEvent {
        let KernelView { phase, base, size, file_key, kind, .. } = *self;
        SpaceEvent::View { phase, base, size, file_key, kind }
    }
}

/// A session begins, ends, or is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionEvent {
    /// Kind.
    pub phase: Phase,
    /// Unique key, a kernel address.
    pub key: u64,
    /// Session id.
    pub session_id: u32,
}

/// A big pool allocation: made, freed, or there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolEvent {
    /// Kind.
    pub phase: Phase,
    /// First address, page-aligned.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// Tag.
    pub tag: PoolTag,
}

/// A registry hive's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiveFile {
    /// True in a rundown, which lists all hives.
    pub listed: bool,
    /// Path as logged.
    pub file_name: Box<str>,
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

/// Everything that the model is built from, each list in order of its moments.
#[derive(Debug, Default)]
pub struct History {
    /// Counts, damage and losses of the whole trace.
    pub survey: Survey,
    /// Process events.
    pub processes: Vec<At<ProcessEvent>>,
    /// Address-space events by process id.
    pub spaces: FastMap<u32, SpaceEvents>,
    /// What was mapped or allocated in a process without an id yet, by the thread that did it.
    pub newborn: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Views at kernel addresses (session images), whatever process they name.
    pub kernel_views: Vec<At<KernelView>>,
    /// Images at kernel addresses.
    pub kernel_images: Vec<At<ImageEvent>>,
    /// File names.
    pub files: Vec<At<FileEvent>>,
    /// Registry hive files.
    pub hives: Vec<At<HiveFile>>,
    /// Sessions.
    pub sessions: Vec<At<SessionEvent>>,
    /// Big pool allocations.
    pub pool: Vec<At<PoolEvent>>,
    /// Rundowns of big pool allocations, until their layout is settled.
    pub(crate) pool_rundown: PoolRundown,
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
    /// Highest address of user mode by the system configuration.
    pub highest_user_address: Option<u64>,
    /// Page records.
    pub runs: Vec<PageRun>,
}

impl History {
    /// Walks the whole trace.
    pub fn new(etl: &EtlFile) -> History {
        let (rank, _) = ranks(&etl.buffers);
        let (survey, parts) = Survey::with_listeners(etl, || Collector::new(&rank));
        // The first part is taken as it is: most lists are long, and many are in one part only.
        let mut parts = parts.into_iter().map(|part| part.history);
        let mut all = History { survey, ..parts.next().unwrap_or_default() };
        parts.for_each(|part| all.append(part));
        all.sort();
        all.unroll_across_changes(etl);
        cut_and_sort(&mut all.runs, etl);
        all
    }

    /// Keeps all events of address spaces in memory, for those who follow them event by event.
    pub fn unroll(&mut self, etl: &EtlFile) {
        self.spaces.par_iter_mut().for_each(|(_, events)| events.unroll(etl, |_| true));
    }

    /// A run of rundown records in which keywords were turned on or off belongs to two rundowns.
    fn unroll_across_changes(&mut self, etl: &EtlFile) {
        let changes: Vec<Ticks> = self.survey.group_masks.iter().map(|masks| masks.time).collect();
        let up_to = |time: Ticks| changes.partition_point(|&at| at <= time);
        let is_cut = |run: &RundownRun| up_to(run.times.0) < up_to(run.times.1);
        self.spaces.par_iter_mut().for_each(|(_, events)| events.unroll(etl, is_cut));
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
        self.sessions.append(&mut part.sessions);
        self.pool.append(&mut part.pool);
        self.pool_rundown.append(part.pool_rundown);
        self.ram_pages = self.ram_pages.max(part.ram_pages);
        self.highest_user_address = self.highest_user_address.max(part.highest_user_address);
        self.volumes.append(&mut part.volumes);
        self.marks.append(&mut part.marks);
        self.runs.append(&mut part.runs);
    }

    fn sort(&mut self) {
        self.return_user_views();
        self.adopt_newborn();
        self.pool.append(&mut self.pool_rundown.settle());
        by_moment(&mut self.processes);
        self.spaces.par_iter_mut().for_each(|(_, events)| events.sort());
        by_moment(&mut self.kernel_views);
        by_moment(&mut self.kernel_images);
        self.files.par_sort_unstable_by_key(|event| event.moment);
        by_moment(&mut self.hives);
        by_moment(&mut self.counters);
        by_moment(&mut self.combined);
        by_moment(&mut self.kernel_blocks);
        by_moment(&mut self.marks);
        by_moment(&mut self.sessions);
        by_moment(&mut self.pool);
        self.volumes.sort();
        self.volumes.dedup();
    }

    /// On 32-bit Windows with 3 GiB for users, part of what looks like the kernel's half is not.
    fn return_user_views(&mut self) {
        let Some(highest) = self.highest_user_address else { return };
        let spaces = &mut self.spaces;
        self.kernel_views.retain(|At { moment, value }| {
            let is_user = value.base <= highest && value.process_id != 0;
            if is_user {
                let event = At { moment: *moment, value: value.as_view() };
                spaces.entry(value.process_id).or_default().push(event);
            }
            !is_user
        });
    }

    /// Gives views that were mapped before their process had an id to the process that the same thread started next.
    fn adopt_newborn(&mut self) {
        let mut starts: Vec<(u32, Moment, u32)> = (self.processes.iter())
            .filter(|event| event.value.phase == ProcessPhase::Start)
            .filter_map(|event| Some((event.value.thread_id?, event.moment, event.value.process_id)))
            .collect();
        starts.sort_unstable();
        for (thread_id, mut events) in std::mem::take(&mut self.newborn) {
            by_moment(&mut events);
            for event in events {
                match next_start(&starts, thread_id, event.moment) {
                    Some((moment, process_id)) => {
                        // The process begins to be known at its start, so its views do too.
                        self.spaces.entry(process_id).or_default().push(At { moment, value: event.value });
                    }
                    None => self.newborn.entry(thread_id).or_default().push(event),
                }
            }
        }
    }
}

/// The process that a thread starts next, with the moment of its start: what the thread does to a process without an id
/// it does to that one. `starts` are sorted: thread, moment, process.
///
/// Equal stamps in the buffers of two processors have no order: what was logged at the stamp of a start, but in another
/// buffer, came before it.
pub fn next_start(starts: &[(u32, Moment, u32)], thread_id: u32, moment: Moment) -> Option<(Moment, u32)> {
    let next = starts.partition_point(|&(thread, at, _)| (thread, at) < (thread_id, moment));
    let of_thread = |at: usize| starts.get(at).filter(|start| start.0 == thread_id);
    let is_tie = |start: &&(u32, Moment, u32)| start.1.time == moment.time && start.1.order >> 32 != moment.order >> 32;
    let found = next.checked_sub(1).and_then(of_thread).filter(is_tie).or_else(|| of_thread(next));
    found.map(|&(_, moment, process)| (moment, process))
}

fn by_moment<T>(list: &mut [At<T>]) {
    list.sort_by_key(|event| event.moment);
}

/// True for addresses of the kernel's half: the upper canonical half in 64-bit traces, 2 GiB up in 32-bit ones.
pub const fn is_kernel_address(address: u64, pointer: PointerSize) -> bool {
    match pointer {
        PointerSize::P8 => address >> 63 != 0, // with 57-bit addresses too
        PointerSize::P4 => address >= 0x8000_0000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_starts_the_process_that_it_has_prepared() {
        let at = |time: i64, buffer: u64, offset: u64| Moment { time: Ticks(time), order: buffer << 32 | offset };
        let starts = [(4, at(10, 1, 50), 100), (4, at(20, 1, 90), 200), (8, at(15, 2, 0), 300)];
        let next = |thread, moment| next_start(&starts, thread, moment).map(|(_, process)| process);
        assert_eq!([9, 11, 21].map(|time| next(4, at(time, 1, 0))), [Some(100), Some(200), None]);
        assert_eq!((next(8, at(3, 1, 0)), next(5, at(3, 1, 0))), (Some(300), None));
        // At the stamp of a start: the order within its buffer counts, another buffer came before it.
        assert_eq!((next(4, at(10, 1, 40)), next(4, at(10, 1, 60))), (Some(100), Some(200)));
        assert_eq!((next(4, at(10, 0, 60)), next(4, at(10, 9, 60))), (Some(100), Some(100)));
        assert_eq!(next(4, at(20, 9, 0)), Some(200));
    }
}
