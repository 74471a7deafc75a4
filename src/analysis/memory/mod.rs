//! Memory over time: the kernel's records of its page lists, pools and commit (MemInfo), and of the working sets of processes
//! and sessions (MemInfoWS, MemInfoSessionWS).

mod counter_sparkline;
pub mod counters;
pub mod query;
mod sample_times;
pub(crate) mod shown_rows;
pub(crate) mod tables;
pub mod timeline;
#[cfg(feature = "cli")]
pub(crate) mod timeline_samples;
mod timeline_table;
mod virtual_commit;
mod warnings;
pub mod working_sets;

use crate::analysis::recording_end::{begun_inside, of_named_window};
use crate::analysis::resident::warnings::failed_checks;
use crate::dimensions::{Condition, Dimension as _, Label};
use crate::error::Error;
use crate::event::hooks::{MEM_INFO, MEM_INFO_SESSION_WS, MEM_INFO_WS};
use crate::event::memory_counters::WorkingSetSizes;
use crate::load::owned_events::MemoryCounters;
use crate::load::trace_parts::Parts;
use crate::model::window::{Bound, Ends, Window};
use crate::moment::{At, Moment};
use crate::trace::Trace;
use crate::trace::analysis_needs::MEMORY_UTILIZATION;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::Nanos;
use counters::{COUNTERS, CounterColumn, CounterSummary, MemorySample, Repurposed, STANDBY};
use query::{MemoryDimension, MemoryQuery};
use sample_times::SampleTimes;
use std::collections::BTreeMap;
use timeline::MemoryTimeline;
use virtual_commit::VirtualCommit;
use working_sets::{MemoryTrack, WorkingSetTracks};

/// The source of the size of physical memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PhysicalSource {
    /// The system configuration.
    SystemConfiguration,
    /// The pages of a page sequence.
    PageSequence,
}

impl PhysicalSource {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            PhysicalSource::SystemConfiguration => "system_configuration",
            PhysicalSource::PageSequence => "page_sequence",
        }
    }
}

/// What `pfnset memory` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct MemorySet {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// Conditions that chose counters and processes: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Pages of physical memory, if the trace has them.
    pub physical: Option<(u64, PhysicalSource)>,
    /// MemInfo records in the window, in order of time.
    pub samples: Vec<MemorySample>,
    /// The course of the counters that meet the conditions.
    pub summaries: Vec<CounterSummary>,
    /// Pages taken from standby: all, then by priority.
    pub repurposed: Vec<Repurposed>,
    /// Processes by label.
    pub processes: Vec<MemoryTrack>,
    /// Sessions by number.
    pub sessions: Vec<MemoryTrack>,
    /// What the rows are.
    pub group_by: Option<MemoryDimension>,
    /// Counters or working sets at regular times, or at each sample.
    pub timeline: Option<MemoryTimeline>,
    /// The counters that meet the conditions.
    chosen: Vec<CounterColumn>,
    /// Commit by VirtualAlloc at the moments of a timeline of processes.
    virtual_commit: Option<VirtualCommit>,
    /// When what was sampled.
    times: SampleTimes,
    clock: crate::etl::clock::Clock,
}

impl MemorySet {
    /// What the answer is made of.
    pub const PARTS: Parts = Parts::SYSTEM.and(Parts::COUNTERS).and(Parts::PAGES);

    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] or [`Error::MissingPart`] without memory counters, or without those that the rows are made of,
    /// [`Error::Usage`] for a window or a timeline that cannot be.
    pub fn answer(trace: &Trace, query: &MemoryQuery) -> Result<MemorySet, Error> {
        trace.gather(MemorySet::PARTS);
        let (etl, counters, trust) = (trace.etl(), trace.counters(), trace.trust());
        check_recorded(trace, query)?;
        let (window, of_window) = window(trace, query)?;
        let (physical, ram) = (physical(trace), trace.system().ram_pages.filter(|&pages| pages > 0));
        let (inside, wrong): (Vec<&At<MemoryCounters>>, Vec<_>) =
            (counters.memory.iter()).filter(|at| window.holds(at.moment)).partition(|at| at.value.is_possible());
        let sample = |at: &&At<_>| {
            MemorySample::new(etl.clock.nanos(at.moment.time), at.value, physical.map(|(pages, _)| pages))
        };
        let samples: Vec<MemorySample> = inside.iter().map(sample).collect();
        let working_sets = &counters.working_sets;
        let WorkingSetTracks { processes, sessions, left_out: [impossible, misplaced], moments } =
            working_sets::read(etl, working_sets, (trace.processes(), ram), &window, query);
        let times = sample_times(&etl.clock, &samples, moments);
        let tracks = tracks_of(query.group_by, &processes, &sessions);
        let timeline = MemoryTimeline::new(etl, query, &window, &inside, &samples, tracks)?;
        let virtual_commit = match &timeline {
            Some(MemoryTimeline::Samples(moments) | MemoryTimeline::WorkingSets(moments))
                if query.group_by == Some(MemoryDimension::Process) =>
            {
                VirtualCommit::new(trace, &processes, moments)?
            }
            _ => None,
        };
        let (virtual_commit, of_commit) = virtual_commit.unzip();
        let summary = |column: &CounterColumn| CounterSummary::new(*column, &samples);
        let chosen: Vec<CounterColumn> = columns().filter(|column| is_selected(query, column)).collect();
        let mut set = MemorySet {
            warnings: trust.warnings(),
            filter: Condition::written(&query.conditions),
            physical,
            summaries: chosen.iter().filter_map(summary).collect(),
            chosen,
            repurposed: Repurposed::all(&samples)
                .into_iter()
                .filter(|of| is_priority_selected(query, of.priority))
                .collect(),
            samples,
            processes,
            sessions,
            group_by: query.group_by,
            timeline,
            virtual_commit,
            times,
            clock: etl.clock,
        };
        set.warnings.extend(of_window);
        set.warnings.add(set.doubts_of_times(trace, query.group_by));
        set.warnings.extend(warnings::fallen(&set.samples));
        set.warnings.extend(warnings::warnings(trace, &set.samples, set.physical.is_some()));
        set.warnings.extend(warnings::left_out(impossible, "working set", "working sets"));
        set.warnings.extend(warnings::misplaced(misplaced));
        set.warnings.extend(warnings::left_out(wrong.len() as u64, "sample of counters", "samples of counters"));
        set.warnings.extend(of_commit.into_iter().flatten());
        set.warnings.add(of_physical(trace, set.physical));
        Ok(set)
    }

    /// That samples of what these rows show are missing; `None`: of counters and working sets of processes.
    pub(crate) fn doubts_of_times(&self, trace: &Trace, rows: Option<MemoryDimension>) -> Warnings {
        self.times.doubts(rows, |of| trace.survey().kernel_count(of.records()) > 0)
    }

    /// Times of the samples that the rows are made of, and what they are samples of.
    pub(crate) fn sample_times(&self) -> (&[Nanos], &'static str) {
        self.times.of(self.group_by)
    }

    /// Time since trace start.
    pub fn time(&self, moment: Moment) -> Nanos {
        self.clock.nanos(moment.time)
    }

    /// The records of sessions with their entries, where all samples were asked for.
    pub fn session_records(&self) -> Vec<(Moment, Vec<WorkingSetSizes>)> {
        let mut records: BTreeMap<Moment, Vec<WorkingSetSizes>> = BTreeMap::new();
        for sample in self.sessions.iter().flat_map(|session| &session.samples) {
            records.entry(sample.moment).or_default().push(sample.value);
        }
        records.into_iter().collect()
    }

    /// True when conditions choose counters, and the trace has none of these that is shown: lists are no priorities, and only standby
    /// has these.
    pub(crate) fn no_counter_meets(&self) -> bool {
        let of_counters = [MemoryDimension::List, MemoryDimension::Priority].map(MemoryDimension::name);
        let is_shown = |summary: &CounterSummary| match self.group_by {
            Some(MemoryDimension::List) => summary.column.list.is_some(),
            Some(MemoryDimension::Priority) => summary.column.priority.is_some(),
            Some(MemoryDimension::Process | MemoryDimension::Session) | None => true,
        };
        !self.summaries.iter().any(is_shown)
            && !self.samples.is_empty()
            && self.filter.iter().any(|(name, _)| of_counters.contains(name))
    }

    /// True when, by the samples, no page of the chosen priorities was taken from standby.
    pub fn nothing_repurposed(&self) -> bool {
        self.samples.len() > 1 && !self.repurposed.is_empty() && self.repurposed.iter().all(|of| of.pages == 0)
    }

    /// Pages per second by which a working set grew; `None` for a single sample.
    pub fn growth_per_second(&self, track: &MemoryTrack) -> Option<f64> {
        let nanos = self.time(track.last.moment).0 - self.time(track.first.moment).0;
        (nanos > 0).then(|| track.growth() as f64 * 1e9 / nanos as f64)
    }
}

/// The tracks that rows by process or session are made of.
fn tracks_of<'t>(
    rows: Option<MemoryDimension>,
    processes: &'t [MemoryTrack],
    sessions: &'t [MemoryTrack],
) -> Option<&'t [MemoryTrack]> {
    match rows {
        Some(MemoryDimension::Process) => Some(processes),
        Some(MemoryDimension::Session) => Some(sessions),
        Some(MemoryDimension::List | MemoryDimension::Priority) | None => None,
    }
}

fn sample_times(clock: &crate::etl::clock::Clock, samples: &[MemorySample], sets: [Vec<Moment>; 2]) -> SampleTimes {
    let [processes, sessions] = sets.map(|moments| {
        let mut times: Vec<Nanos> = moments.into_iter().map(|moment| clock.nanos(moment.time)).collect();
        times.dedup();
        times
    });
    SampleTimes { counters: samples.iter().map(|sample| sample.time).collect(), processes, sessions }
}

/// # Errors
/// Those of a trace without the counters that are asked for.
fn check_recorded(trace: &Trace, query: &MemoryQuery) -> Result<(), Error> {
    let has = |hook| trace.survey().kernel_count(hook) > 0;
    if !(has(MEM_INFO) || has(MEM_INFO_WS) || has(MEM_INFO_SESSION_WS)) {
        return Err(trace.cannot_run(&MEMORY_UTILIZATION));
    }
    let Some(missing) = query.group_by.filter(|of| !has(of.records())) else { return Ok(()) };
    let (keyword, absent) = missing.needs();
    Err(trace.trust().cannot_run(keyword, absent, MEMORY_UTILIZATION.advice))
}

/// Standby by priority follows standby.
fn columns() -> impl Iterator<Item = CounterColumn> {
    let after_standby = |column: &CounterColumn| if column.name == "standby" { &STANDBY[..] } else { &[] };
    COUNTERS.into_iter().flat_map(move |column| std::iter::once(column).chain(after_standby(&column).iter().copied()))
}

fn is_selected(query: &MemoryQuery, column: &CounterColumn) -> bool {
    let priority = column.priority.map_or_else(Label::nothing, Label::number);
    // Standby by priority is a part of that list.
    let list = Label::maybe(column.list.or(column.priority.map(|_| "Standby")));
    query.selects(MemoryDimension::List, &list) && query.selects(MemoryDimension::Priority, &priority)
}

/// The sum of all priorities is only there if all are chosen.
fn is_priority_selected(query: &MemoryQuery, priority: Option<u8>) -> bool {
    let is_chosen = query.conditions.iter().any(|condition| condition.dimension == MemoryDimension::Priority);
    match priority {
        None => !is_chosen,
        Some(priority) => query.selects(MemoryDimension::Priority, &Label::number(priority)),
    }
}

/// The whole trace, unless the user names an end. Marks do not matter. With what is said of it.
fn window(trace: &Trace, query: &MemoryQuery) -> Result<(Window, Vec<Warning>), Error> {
    let (etl, ends) = (trace.etl(), Ends::of_trace(trace.etl(), trace.survey(), &trace.system().marks));
    let first = Bound::Time(Nanos(etl.clock.nanos(ends.first).0.min(0)));
    let last = Bound::Time(Nanos(etl.clock.nanos(ends.last.time).0.saturating_add(1_000_000_000)));
    let (from, to) = (query.from.as_ref().unwrap_or(&first), query.to.as_ref().unwrap_or(&last));
    let window = Window::new(ends, Some(from), Some(to), &etl.clock)?;
    let mut window = begun_inside(trace, query.from.as_ref(), window)?;
    if query.from.is_none() {
        window.from = Moment::FIRST;
    }
    if query.to.is_none() {
        window.to = Moment::LAST;
    }
    let (named, ends) = ((query.from.as_ref(), query.to.as_ref()), (window.from.time, window.to.time));
    let told = of_named_window(MEMORY_UTILIZATION.name, trace, named, ends);
    Ok((window, told))
}

/// What is wrong with the page sequence that gives the size of physical memory, and with it what is in use.
fn of_physical(trace: &Trace, physical: Option<(u64, PhysicalSource)>) -> Warnings {
    let Some((pages, PhysicalSource::PageSequence)) = physical else { return Warnings::default() };
    let counted = trace.snapshots().iter().position(|snapshot| snapshot.pages == pages);
    let mut failed = counted.map(|index| failed_checks(trace, index).grave()).unwrap_or_default();
    // Whose pages they are is of no matter here.
    failed
        .retain(|warning| warning.code.starts_with("sequence_") || warning.is_of(&["pfns_impossible", "lists_differ"]));
    failed
}

/// The size of physical memory. A page sequence that may be incomplete cannot give it.
fn physical(trace: &Trace) -> Option<(u64, PhysicalSource)> {
    let sequence = || trace.snapshots().iter().map(|snapshot| snapshot.pages).max();
    let configured = trace.system().ram_pages.filter(|&pages| pages > 0);
    let configured = configured.map(|pages| (pages, PhysicalSource::SystemConfiguration));
    let of_sequence = || sequence().filter(|_| !trace.trust().any()).map(|pages| (pages, PhysicalSource::PageSequence));
    configured.or_else(of_sequence)
}
