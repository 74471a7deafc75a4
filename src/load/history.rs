//! The history: what the model needs of a trace, collected in one parallel walk.
//!
//! Page records are not kept in memory: a `PageRun` says where a run of them lies in the file. All other events become
//! small owned values with the moment at which they were logged. `model` interprets them.

use crate::code_page::CodePage;
use crate::etl::EtlFile;
use crate::event::process::ProcessPhase;
use crate::load::creator_threads::CreatorThreads;
use crate::load::event_values::*;
use crate::load::mem_info_ws::WorkingSetRecord;
use crate::load::page_run::PageRun;
use crate::load::pool_rundown::PoolRundown;
use crate::load::space_events::{RundownRun, SpaceEvents};
use crate::load::survey::Survey;
use crate::moment::At;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;

/// Everything that the model is built from, each list in order of its moments.
#[derive(Debug, Default)]
pub struct History {
    /// Counts, damage and losses of the whole trace.
    pub survey: Survey,
    /// Process events.
    pub processes: Vec<At<ProcessEvent>>,
    /// Thread events, without those of idle threads.
    pub threads: Vec<At<ThreadEvent>>,
    /// Executables in processes whose file name may be cut in process events.
    pub process_images: Vec<At<ProcessImage>>,
    /// The encoding of 8-bit names.
    pub code_page: CodePage,
    /// Address-space events by process id.
    pub spaces: FastMap<u32, SpaceEvents>,
    /// Events of processes that have no id yet, because they are being created, by the thread that creates them. Empty after
    /// [`History::sort`].
    pub(crate) unassigned: FastMap<u32, Vec<At<SpaceEvent>>>,
    /// Views at kernel addresses (session images), for any process id.
    pub kernel_views: Vec<At<KernelView>>,
    /// Images at kernel addresses.
    pub kernel_images: Vec<At<ImageEvent>>,
    /// File names.
    pub files: Vec<At<FileEvent>>,
    /// Registry hive files.
    pub hives: Vec<At<HiveFile>>,
    /// Services that were running when they were listed.
    pub services: Vec<At<RunningService>>,
    /// Sessions.
    pub sessions: Vec<At<SessionEvent>>,
    /// Big pool allocations.
    pub pool: Vec<At<PoolEvent>>,
    /// Rundowns of big pool allocations, until their layout has been determined.
    pub(crate) pool_rundown: PoolRundown,
    /// MemInfo records.
    pub counters: Vec<At<MemoryCounters>>,
    /// Where the MemInfoWS and MemInfoSessionWS records lie, in no order.
    pub working_sets: Vec<WorkingSetRecord>,
    /// Combined pages by the MMStats aggregate (blocks in use).
    pub combined: Vec<At<u64>>,
    /// KernelMemUsage records.
    pub kernel_blocks: Vec<At<KernelBlock>>,
    /// RAM by the system configuration, pages.
    pub ram_pages: Option<u64>,
    /// Page records that were left out because their PFN is impossible.
    pub impossible_pages: u64,
    /// Prefixes of kernel paths, each with the user's prefix (`C:\`).
    pub volumes: Vec<(Box<str>, Box<str>)>,
    /// Marks.
    pub marks: Vec<At<Box<str>>>,
    /// Highest address of user mode by the system configuration.
    pub highest_user_address: Option<u64>,
    /// Where the page records lie.
    pub runs: Vec<PageRun>,
}

impl History {
    /// Reads all events of address spaces into memory, for callers that process them event by event.
    pub fn unroll(&mut self, etl: &EtlFile) {
        self.spaces.par_iter_mut().for_each(|(_, events)| events.unroll(etl, |_| true));
    }

    /// Reads runs of rundown records into memory if keywords were turned on or off between their records: such a run
    /// belongs to two rundowns.
    pub(crate) fn unroll_across_changes(&mut self, etl: &EtlFile) {
        let changes: Vec<Ticks> = self.survey.group_masks.iter().map(|masks| masks.time).collect();
        let up_to = |time: Ticks| changes.partition_point(|&at| at <= time);
        let is_cut = |run: &RundownRun| up_to(run.times.0) < up_to(run.times.1);
        self.spaces.par_iter_mut().for_each(|(_, events)| events.unroll(etl, is_cut));
    }

    pub(crate) fn append(&mut self, mut part: History) {
        self.processes.append(&mut part.processes);
        self.threads.append(&mut part.threads);
        self.process_images.append(&mut part.process_images);
        for (process_id, mut events) in part.spaces {
            self.spaces.entry(process_id).or_default().append(&mut events);
        }
        for (thread_id, mut events) in part.unassigned {
            self.unassigned.entry(thread_id).or_default().append(&mut events);
        }
        self.kernel_views.append(&mut part.kernel_views);
        self.kernel_images.append(&mut part.kernel_images);
        self.files.append(&mut part.files);
        self.hives.append(&mut part.hives);
        self.services.append(&mut part.services);
        self.counters.append(&mut part.counters);
        self.working_sets.append(&mut part.working_sets);
        self.combined.append(&mut part.combined);
        self.kernel_blocks.append(&mut part.kernel_blocks);
        self.sessions.append(&mut part.sessions);
        self.pool.append(&mut part.pool);
        self.pool_rundown.append(part.pool_rundown);
        self.ram_pages = self.ram_pages.max(part.ram_pages);
        self.impossible_pages += part.impossible_pages;
        self.highest_user_address = self.highest_user_address.max(part.highest_user_address);
        self.volumes.append(&mut part.volumes);
        self.marks.append(&mut part.marks);
        self.runs.append(&mut part.runs);
    }

    pub(crate) fn sort(&mut self) {
        self.return_user_views();
        self.assign_to_started();
        self.pool.append(&mut self.pool_rundown.take_allocations());
        by_moment(&mut self.processes);
        by_moment(&mut self.threads);
        by_moment(&mut self.process_images);
        self.spaces.par_iter_mut().for_each(|(_, events)| events.sort());
        by_moment(&mut self.kernel_views);
        by_moment(&mut self.kernel_images);
        self.files.par_sort_unstable_by_key(|event| event.moment);
        by_moment(&mut self.hives);
        by_moment(&mut self.services);
        by_moment(&mut self.counters);
        by_moment(&mut self.combined);
        by_moment(&mut self.kernel_blocks);
        by_moment(&mut self.marks);
        by_moment(&mut self.sessions);
        by_moment(&mut self.pool);
        self.volumes.sort();
        self.volumes.dedup();
    }

    /// Moves views back to their processes on 32-bit Windows with 3 GiB for user mode, where some addresses above 2 GiB are
    /// user addresses.
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

    /// Assigns the events of processes without an id to the process that the same thread started next.
    fn assign_to_started(&mut self) {
        let mut starts = CreatorThreads::default();
        for event in self.processes.iter().filter(|event| event.value.phase == ProcessPhase::Start) {
            let thread = event.value.thread_id.into_iter();
            thread.for_each(|thread| starts.add(thread, event.moment, event.value.process_id));
        }
        starts.sort();
        for (thread_id, mut events) in std::mem::take(&mut self.unassigned) {
            by_moment(&mut events);
            for event in events {
                // The instance begins at its start event, so its views must not be earlier.
                if let Some((moment, process_id)) = starts.next(thread_id, event.moment) {
                    self.spaces.entry(process_id).or_default().push(At { moment, value: event.value });
                }
            }
        }
    }
}

fn by_moment<T>(list: &mut [At<T>]) {
    list.sort_by_key(|event| event.moment);
}
