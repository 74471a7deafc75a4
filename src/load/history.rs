//! The history: what the model needs of a trace, collected in one parallel walk, part by part.
//!
//! Page records are not kept in memory: a `PageRun` says where a run of them lies in the file. All other events become
//! small owned values with the moment at which they were logged. `model` interprets them.

use crate::code_page::CodePage;
use crate::etl::EtlFile;
use crate::event::process::ProcessPhase;
use crate::load::creator_threads::CreatorThreads;
use crate::load::owned_events::*;
use crate::load::page_run::PageRun;
use crate::load::pool_rundown::PoolRundown;
use crate::load::scheduling::BufferFacts;
use crate::load::space_events::{RundownRun, SpaceEvents};
use crate::load::survey::Survey;
use crate::load::working_set_samples::WorkingSetRecord;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::{HashMap as FastMap, HashSet as FastSet};
use rayon::prelude::*;

/// What one walk collected: the parts that were asked for, each list in order of its moments; the others are empty.
#[derive(Debug, Default)]
pub struct History {
    /// What every walk collects.
    pub system: SystemHistory,
    /// [`Parts::SPACES`](crate::load::trace_parts::Parts::SPACES).
    pub spaces: SpaceHistory,
    /// [`Parts::FILES`](crate::load::trace_parts::Parts::FILES).
    pub files: FileHistory,
    /// [`Parts::PAGES`](crate::load::trace_parts::Parts::PAGES).
    pub pages: PageRuns,
    /// [`Parts::COUNTERS`](crate::load::trace_parts::Parts::COUNTERS).
    pub counters: CounterHistory,
    /// [`Parts::SCHEDULING`](crate::load::trace_parts::Parts::SCHEDULING).
    pub scheduling: SchedulingHistory,
}

/// The machine and what runs on it.
#[derive(Debug, Default)]
pub struct SystemHistory {
    /// Process events.
    pub processes: Vec<At<ProcessEvent>>,
    /// Executables in processes whose file name may be cut in process events.
    pub process_images: Vec<At<ProcessImage>>,
    /// Process ids of address-space events.
    pub space_ids: FastSet<u32>,
    /// The encoding of 8-bit names.
    pub code_page: CodePage,
    /// Views at kernel addresses (session images), for any process id.
    pub kernel_views: Vec<At<KernelView>>,
    /// Images at kernel addresses.
    pub kernel_images: Vec<At<ImageEvent>>,
    /// Services that were running when they were listed.
    pub services: Vec<At<RunningService>>,
    /// Prefixes of kernel paths, each with the user's prefix (`C:\`).
    pub volumes: Vec<(Box<str>, Box<str>)>,
    /// Marks.
    pub marks: Vec<At<Box<str>>>,
    /// RAM by the system configuration, pages.
    pub ram_pages: Option<u64>,
    /// Highest address of user mode by the system configuration.
    pub highest_user_address: Option<u64>,
}

/// Address spaces, sessions and kernel memory.
#[derive(Debug, Default)]
pub struct SpaceHistory {
    /// Address-space events by process id.
    pub by_process_id: FastMap<u32, SpaceEvents>,
    /// Events of processes that have no id yet, because they are being created, by the thread that creates them. Empty after
    /// [`History::finish`].
    pub(crate) unassigned: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Sessions.
    pub sessions: Vec<At<SessionEvent>>,
    /// Big pool allocations.
    pub pool: Vec<At<PoolEvent>>,
    /// Rundowns of big pool allocations, until their layout has been determined.
    pub(crate) pool_rundown: PoolRundown,
    /// KernelMemUsage records.
    pub kernel_blocks: Vec<At<KernelBlock>>,
}

/// Files by name.
#[derive(Debug, Default)]
pub struct FileHistory {
    /// File names.
    pub names: Vec<At<FileEvent>>,
    /// Registry hive files.
    pub hives: Vec<At<HiveFile>>,
}

/// Page records.
#[derive(Debug, Default)]
pub struct PageRuns {
    /// Where they lie.
    pub runs: Vec<PageRun>,
    /// Those that were left out because their PFN is impossible.
    pub impossible: u64,
}

/// Memory counters.
#[derive(Debug, Default)]
pub struct CounterHistory {
    /// MemInfo records.
    pub memory: Vec<At<MemoryCounters>>,
    /// Where the MemInfoWS and MemInfoSessionWS records lie, in no order.
    pub working_sets: Vec<WorkingSetRecord>,
    /// Combined pages by the MMStats aggregate (blocks in use).
    pub combined: Vec<At<u64>>,
}

/// Threads and processors.
#[derive(Debug, Default)]
pub struct SchedulingHistory {
    /// Thread events, without those of idle threads.
    pub threads: Vec<At<ThreadEvent>>,
    /// Buffers with scheduling records, in file order.
    pub buffers: Vec<BufferFacts>,
}

impl History {
    pub(crate) fn append(&mut self, part: History) {
        self.system.append(part.system);
        self.spaces.append(part.spaces);
        self.files.names.extend(part.files.names);
        self.files.hives.extend(part.files.hives);
        self.pages.runs.extend(part.pages.runs);
        self.pages.impossible += part.pages.impossible;
        self.counters.memory.extend(part.counters.memory);
        self.counters.working_sets.extend(part.counters.working_sets);
        self.counters.combined.extend(part.counters.combined);
        self.scheduling.threads.extend(part.scheduling.threads);
    }

    /// Sorts all lists, and assigns the events that did not name their process.
    pub(crate) fn finish(&mut self, survey: &Survey, etl: &EtlFile) {
        self.system.sort();
        self.return_user_views();
        self.spaces.assign_to_started(&self.system.processes);
        self.spaces.sort();
        self.spaces.unroll_across_changes(survey, etl);
        self.system.space_ids.extend(self.spaces.by_process_id.keys());
        self.files.names.par_sort_unstable_by_key(|event| event.moment);
        by_moment(&mut self.files.hives);
        by_moment(&mut self.counters.memory);
        by_moment(&mut self.counters.combined);
        by_moment(&mut self.scheduling.threads);
    }

    /// Moves views back to their processes on 32-bit Windows with 3 GiB for user mode, where some addresses above 2 GiB are
    /// user addresses.
    fn return_user_views(&mut self) {
        let Some(highest) = self.system.highest_user_address else { return };
        let spaces = &mut self.spaces.by_process_id;
        self.system.kernel_views.retain(|At { moment, value }| {
            let is_user = value.base <= highest && value.process_id != 0;
            if is_user {
                let event = At { moment: *moment, value: value.as_view() };
                spaces.entry(value.process_id).or_default().push(event);
            }
            !is_user
        });
    }
}

impl SystemHistory {
    fn append(&mut self, part: SystemHistory) {
        self.processes.extend(part.processes);
        self.process_images.extend(part.process_images);
        self.space_ids.extend(part.space_ids);
        self.kernel_views.extend(part.kernel_views);
        self.kernel_images.extend(part.kernel_images);
        self.services.extend(part.services);
        self.volumes.extend(part.volumes);
        self.marks.extend(part.marks);
        self.ram_pages = self.ram_pages.max(part.ram_pages);
        self.highest_user_address = self.highest_user_address.max(part.highest_user_address);
    }

    fn sort(&mut self) {
        by_moment(&mut self.processes);
        by_moment(&mut self.process_images);
        by_moment(&mut self.kernel_views);
        by_moment(&mut self.kernel_images);
        by_moment(&mut self.services);
        by_moment(&mut self.marks);
        self.volumes.sort();
        self.volumes.dedup();
    }
}

impl SpaceHistory {
    fn append(&mut self, mut part: SpaceHistory) {
        for (process_id, mut events) in part.by_process_id {
            self.by_process_id.entry(process_id).or_default().append(&mut events);
        }
        for (thread_id, mut events) in part.unassigned {
            self.unassigned.entry(thread_id).or_default().append(&mut events);
        }
        self.sessions.append(&mut part.sessions);
        self.pool.append(&mut part.pool);
        self.pool_rundown.append(part.pool_rundown);
        self.kernel_blocks.append(&mut part.kernel_blocks);
    }

    fn sort(&mut self) {
        self.pool.append(&mut self.pool_rundown.take_allocations());
        self.by_process_id.par_iter_mut().for_each(|(_, events)| events.sort());
        by_moment(&mut self.sessions);
        by_moment(&mut self.pool);
        by_moment(&mut self.kernel_blocks);
    }

    /// Assigns the events of processes without an id to the process that the same thread started next.
    fn assign_to_started(&mut self, processes: &[At<ProcessEvent>]) {
        let mut starts = CreatorThreads::default();
        for event in processes.iter().filter(|event| event.value.phase == ProcessPhase::Start) {
            let thread = event.value.thread_id.into_iter();
            thread.for_each(|thread| starts.add(thread, event.moment, event.value.process_id));
        }
        starts.sort();
        for (thread_id, mut events) in std::mem::take(&mut self.unassigned) {
            by_moment(&mut events);
            for event in events {
                // The instance begins at its start event, so its views must not be earlier.
                if let Some((moment, process_id)) = starts.next(thread_id, event.moment) {
                    self.by_process_id.entry(process_id).or_default().push(At { moment, value: event.value });
                }
            }
        }
    }

    /// Reads runs of rundown records into memory if keywords were turned on or off between their records: such a run
    /// belongs to two rundowns.
    fn unroll_across_changes(&mut self, survey: &Survey, etl: &EtlFile) {
        let changes: Vec<Ticks> = survey.group_masks.iter().map(|masks| masks.time).collect();
        let up_to = |time: Ticks| changes.partition_point(|&at| at <= time);
        let is_cut = |run: &RundownRun| up_to(run.times.0) < up_to(run.times.1);
        self.by_process_id.par_iter_mut().for_each(|(_, events)| events.unroll(etl, is_cut));
    }
}

fn by_moment<T>(list: &mut [At<T>]) {
    list.sort_by_key(|event| event.moment);
}
