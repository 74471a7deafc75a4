//! Processors by events: who ran, who was ready and had to wait, who took the processor away, what interrupts cost.
//!
//! [`replay`] goes through the records of all processors in order and counts. [`rows`], [`interrupts`],
//! [`wakeups_and_preemptions`], [`timeline`] and [`sampled_and_exact`] convert the counts to results, and [`tables`] shows them.
//! [`switch_stacks`] are the stacks of switch-ins, where they are asked for.
//! Times are raw ticks, converted once at the end.

mod all_samples;
#[cfg(feature = "cli")]
mod by_samples;
pub mod delay_percentiles;
mod interrupts;
pub mod query;
pub(crate) mod replay;
mod row_measure;
mod rows;
mod sampled_and_exact;
pub(crate) mod switch_stacks;
mod tables;
mod thread_labels;
mod timeline;
mod timeline_table;
mod unknown_processes;
mod wakeups_and_preemptions;
mod warnings;

#[cfg(feature = "cli")]
pub(crate) use by_samples::SampledUse;
pub use interrupts::InterruptRow;
pub(crate) use replay::processor::TicksByUse;
pub use replay::processor::{ProcessorUse, RoutineTimes};
pub use replay::scheduler::PreemptionTimes;
pub use replay::thread_counts::WaitTime;
pub use rows::{CpuRow, StateTimes};
pub use sampled_and_exact::{SampledTime, Sampling};
pub(crate) use tables::decimal;
pub use timeline::TimelineStep;
pub(crate) use timeline_table::SERIES;
pub(crate) use unknown_processes::MissedTimes;
pub use wakeups_and_preemptions::{PreemptionRow, WakeupRow};

use crate::analysis::repeated_marks::marks_repeated;
use crate::analysis::stacks::StackTexts;
use crate::analysis::time_grid::{Grid, TickRange};
use crate::dimensions::{Condition, Dimension as _};
use crate::error::{Error, Missing};
use crate::etl::EtlFile;
use crate::event::hooks::SAMPLED_PROFILE;
use crate::load::trace_parts::Parts;
use crate::model::kernel_images::KernelImages;
use crate::model::services::Services;
use crate::model::window::Window;
use crate::trace::Trace;
use crate::trace::analysis_needs::CPU;
use crate::trace::trust::readiness::Need;
use crate::trace::trust::untold_labels::services_unknown;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{Nanos, Ticks};
use query::{CpuQuery, Dimension};
use replay::processor::{Processor, add_uses};
use replay::ready_queue_length::ReadyQueue;
use replay::scheduler::Scheduler;
use switch_stacks::{KeptStack, StackShares, SwitchStacks};
use thread_labels::Labels;
use unknown_processes::MissedByConditions;

/// What one processor, or all of them, did; ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessorTimes {
    /// By [`replay::processor::ProcessorUse`].
    pub by_use: TicksByUse,
    /// Context switches.
    pub switches: u64,
}

/// The ready queue in numbers.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct QueueSummary {
    /// Mean length over time.
    pub mean: f64,
    /// Greatest length that lasted.
    pub max: u64,
    /// When it was first reached.
    pub max_time: Option<Nanos>,
    /// Share of the window in which no thread was ready.
    pub empty_share: f64,
    /// Mean length just before each thread became ready; `None` if none did.
    pub seen_by_arrivals: Option<f64>,
    /// That mean divided by the mean over time.
    pub clumping: Option<f64>,
    /// Lengths that occurred, and their ticks.
    pub by_length: Vec<(u64, u64)>,
}

/// What `pfnset cpu` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct CpuUse {
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// Conditions that chose the rows: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Keywords that were not recorded, and the consequences of each.
    pub missing: Vec<Need>,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// Its length.
    pub window_ticks: u64,
    /// Its ends in ticks since trace start.
    pub window_bounds: (i64, i64),
    /// Ticks in a second.
    pub frequency_hz: u64,
    /// What all processors did.
    pub total: ProcessorTimes,
    /// What each processor did.
    pub by_processor: Vec<ProcessorTimes>,
    /// Context switches from another thread than the one that ran.
    pub breaks: u64,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// True when the conditions chose nothing but the idle threads.
    pub(crate) is_of_idle: bool,
    /// Processors without a context switch that the conditions chose.
    pub(crate) silent_processors: Vec<u32>,
    /// Rows in the query's order.
    pub rows: Vec<CpuRow>,
    /// What the conditions can miss.
    pub(crate) missed: MissedByConditions,
    /// Delays of groups of rows, where rows are nested.
    pub subtotals: Vec<CpuRow>,
    /// Interrupts and deferred procedure calls by routine, those that took longest first.
    pub interrupts: Vec<InterruptRow>,
    /// The ready queue.
    pub queue: QueueSummary,
    /// Who took the processor from whom.
    pub preemptions: Vec<PreemptionRow>,
    /// Who readied whom.
    pub wakeups: Vec<WakeupRow>,
    /// The timeline, if asked for.
    pub timeline: Option<Vec<TimelineStep>>,
    /// What samples and clock ticks say.
    pub sampling: Sampling,
    /// Distance of clock ticks.
    pub tick: Nanos,
    /// Of how much the stacks are known; `None` where rows and conditions do not ask for them.
    pub(crate) stacks: Option<StackShares>,
    /// The whole stacks of rows.
    pub(crate) stack_texts: StackTexts,
}

impl CpuUse {
    /// What the answer is made of.
    pub const PARTS: Parts = Parts::SYSTEM.and(Parts::SCHEDULING);

    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without context switches, [`Error::MissingPart`] when they were lost, [`Error::Usage`] for a
    /// window or a timeline that cannot be.
    pub fn answer(trace: &Trace, query: &CpuQuery) -> Result<CpuUse, Error> {
        trace.gather(CpuUse::PARTS);
        let window = replay::processor_setup::window(trace, query)?.ok_or_else(|| without_switches(trace))?;
        let of_others = query.conditions.iter().find(|condition| condition.dimension != Dimension::Processor);
        if let Some(condition) = of_others.filter(|_| query.has_timeline_of_processors()) {
            let name = condition.dimension.name();
            return Err(Error::Usage(format!("a timeline of processors is of all that they ran, whatever its {name}")));
        }
        let (stacks, told) = query.wants_stacks().then(|| SwitchStacks::new(trace, query)).unzip();
        let told = told.unwrap_or_default();
        let mut set = match &stacks {
            None => Replay::<()>::new(trace, query, &window, None)?.counted(trace, query, window, None, told),
            Some(known) => {
                Replay::<u32>::new(trace, query, &window, Some(known))?.counted(trace, query, window, Some(known), told)
            }
        };
        set.stack_texts = stacks.map(SwitchStacks::into_texts).unwrap_or_default();
        let (named, begin) = ((query.from.as_ref(), query.to.as_ref()), set.window.from.time);
        set.warnings.extend(marks_repeated(CPU.name, trace, named, begin));
        Ok(set)
    }

    /// Ticks as nanoseconds, rounded down.
    pub fn ns(&self, ticks: u64) -> u64 {
        nanos(ticks.into(), self.frequency_hz)
    }

    /// The mean of times, rounded down once.
    pub fn mean_ns(&self, ticks: u64, count: u64) -> u64 {
        mean_nanos(ticks, count, self.frequency_hz)
    }

    /// What clock-tick accounting charges for this many clock ticks.
    pub fn charged_ns(&self, clock_ticks: u64) -> u64 {
        u64::try_from(self.tick.0).unwrap_or(u64::MAX).saturating_mul(clock_ticks)
    }

    /// Window × processors in ticks.
    pub fn capacity(&self) -> u128 {
        u128::from(self.window_ticks) * self.by_processor.len() as u128
    }

    /// The same in nanoseconds.
    pub fn capacity_ns(&self) -> u64 {
        nanos(self.capacity(), self.frequency_hz)
    }

    /// A part of window × processors.
    pub fn share(&self, ticks: u64) -> f64 {
        match self.capacity() {
            0 => 0.0,
            capacity => ticks as f64 / capacity as f64,
        }
    }

    /// What a reader of shares of samples has to know: those that are missing make these wrong.
    pub(crate) fn warnings_beside_samples(&self) -> Warnings {
        let graver = |warning: &Warning| match warning.code {
            "some_samples_missing" => Warning::grave(CPU.name, "samples_missing", warning.text.clone()),
            _ => warning.clone(),
        };
        self.warnings.iter().map(graver).collect()
    }

    /// True when the processors' times add up to window × processors.
    pub fn is_balanced(&self) -> bool {
        let sum = |times: &ProcessorTimes| times.by_use.iter().map(|ticks| u128::from(*ticks)).sum::<u128>();
        let each = self.by_processor.iter().all(|times| sum(times) == u128::from(self.window_ticks));
        each && sum(&self.total) == self.capacity()
    }
}

/// What processors and threads did. `S` is what is kept of the stacks of switch-ins.
struct Replay<'r, S> {
    images: KernelImages<'r>,
    timeline: Option<Grid>,
    processors: Vec<Processor>,
    scheduler: Scheduler<'r, S>,
}

impl<'r, S: KeptStack> Replay<'r, S> {
    /// Goes through the records of the window.
    fn new(
        trace: &'r Trace,
        query: &CpuQuery,
        window: &Window,
        stacks: Option<&SwitchStacks>,
    ) -> Result<Replay<'r, S>, Error> {
        let range = TickRange::of(window);
        let timeline = query.timeline.map(|step| Grid::of_timeline(range, step, &trace.etl().clock)).transpose()?;
        let images = KernelImages::new(&trace.system().kernel_images);
        let setups = replay::processor_setup::setups(trace, range, timeline, query, &images);
        let mut processors: Vec<Processor> = setups.into_iter().map(Processor::new).collect();
        let first: Vec<Option<u32>> = processors.iter().map(Processor::first_thread).collect();
        let mut scheduler = Scheduler::new(range, timeline, query, trace.processes(), &first);
        replay::pipeline::run(trace, &mut processors, &mut scheduler, stacks);
        Ok(Replay { images, timeline, processors, scheduler })
    }

    /// What was counted; `told` are warnings of the search for symbols.
    fn counted(
        &self,
        trace: &Trace,
        query: &CpuQuery,
        window: Window,
        stacks: Option<&SwitchStacks>,
        told: Vec<String>,
    ) -> CpuUse {
        let (etl, processors, scheduler, range) =
            (trace.etl(), &self.processors, &self.scheduler, self.scheduler.range);
        let services = query.needs_services().then(|| Services::new(trace.system(), trace.processes()));
        let labels = Labels::new(&scheduler.instances.all, trace.processes(), services, stacks).matching(query);
        let by_processor: Vec<ProcessorTimes> = processors.iter().map(times).collect();
        let (total, charged) = totals(processors, &by_processor);
        let missing = trace.missing(&CPU);
        let shares = stacks.map(|stacks| rows::stacks_known(scheduler, &labels, stacks, query));
        let mut warnings = warnings::warnings(trace, &missing, processors, range, shares.as_ref(), told);
        let uses: Vec<TicksByUse> = by_processor.iter().map(|times| times.by_use).collect();
        // Who is only said to have run on beyond the switches need not have been met.
        if !warnings.iter().any(|warning| warning.is_of(&warnings::BEYOND_SWITCHES)) {
            warnings.extend(sampled_and_exact::samples_missing(scheduler, &uses, etl.clock.frequency_hz));
        }
        warnings.extend(all_samples::beside_switches(trace, range, &scheduler.samples, processors.len() as u64));
        // A broken chain of switches is told already, and makes all of this doubtful.
        let is_whole = processors.iter().all(|processor| processor.breaks == 0);
        warnings.extend(unknown_processes::warnings(trace, scheduler, &labels, is_whole));
        warnings.extend(warnings::of_scheduler(trace, scheduler, is_whole));
        warnings.extend(services_unknown(trace.system(), CPU.name, query.needs_services()));
        CpuUse {
            warnings,
            filter: Condition::written(&query.conditions),
            missing,
            window_times: (etl.clock.nanos(range.from), etl.clock.nanos(range.to)),
            window,
            window_ticks: range.ticks(),
            window_bounds: [range.from, range.to].map(|time| time.0.saturating_sub(etl.clock.origin.0)).into(),
            frequency_hz: etl.clock.frequency_hz,
            breaks: processors.iter().map(|processor| processor.breaks).sum(),
            dimensions: query.group_by.clone(),
            is_of_idle: rows::is_of_idle(scheduler, &labels, query),
            silent_processors: rows::chosen_silent(processors, query),
            rows: rows::rows(scheduler, processors, &labels, &query.group_by, query),
            missed: MissedByConditions::new(scheduler, &labels, query),
            subtotals: (1..query.group_by.len())
                .flat_map(|count| rows::rows(scheduler, processors, &labels, &query.group_by[..count], query))
                .collect(),
            interrupts: interrupts::rows(processors, &self.images),
            queue: queue(&scheduler.queue, etl, range),
            preemptions: wakeups_and_preemptions::preemptions(scheduler, &labels, query),
            wakeups: wakeups_and_preemptions::wakeups(scheduler, &labels, query),
            timeline: (self.timeline)
                .map(|grid| timeline::steps(etl, range, grid, processors, scheduler, &labels, query)),
            sampling: Sampling::new(scheduler, &labels, &total.by_use, &charged),
            tick: query.tick,
            total,
            by_processor,
            stacks: shares,
            stack_texts: StackTexts::default(),
        }
    }
}

/// What all processors did, and what clock ticks charge of it.
fn totals(processors: &[Processor], by_processor: &[ProcessorTimes]) -> (ProcessorTimes, TicksByUse) {
    let total = by_processor.iter().fold(ProcessorTimes::default(), |mut sum, times| {
        add_uses(&mut sum.by_use, &times.by_use);
        sum.switches += times.switches;
        sum
    });
    let charged = processors.iter().fold([0; 5], |mut sum: TicksByUse, processor| {
        add_uses(&mut sum, &processor.charged);
        sum
    });
    (total, charged)
}

/// The error of a trace without context switches; one that has samples is good for something else.
fn without_switches(trace: &Trace) -> Error {
    match trace.cannot_run(&CPU) {
        Error::MissingEvents(missing) if trace.survey().kernel_count(SAMPLED_PROFILE) > 0 => {
            let mut lacking = vec![CPU.required.keyword];
            lacking.extend(trace.missing(&CPU).iter().map(|need| need.keyword));
            lacking.dedup();
            let what = format!(
                "{}, only samples: they tell whom the processors had time for, not when or how long threads waited. Not recorded: {}",
                missing.what,
                lacking.join(", ")
            );
            Error::MissingEvents(Missing { what, ..missing })
        }
        error => error,
    }
}

fn nanos(ticks: u128, frequency_hz: u64) -> u64 {
    u64::try_from(ticks.saturating_mul(1_000_000_000) / u128::from(frequency_hz.max(1))).unwrap_or(u64::MAX)
}

fn mean_nanos(ticks: u64, count: u64, frequency_hz: u64) -> u64 {
    let scaled = u128::from(ticks) * 1_000_000_000;
    u64::try_from(scaled / (u128::from(frequency_hz.max(1)) * u128::from(count.max(1)))).unwrap_or(u64::MAX)
}

fn times(processor: &Processor) -> ProcessorTimes {
    let by_use = processor.times.iter().fold([0; 5], |mut sum: TicksByUse, step| {
        add_uses(&mut sum, step);
        sum
    });
    ProcessorTimes { by_use, switches: processor.switches }
}

fn queue(queue: &ReadyQueue, etl: &EtlFile, range: TickRange) -> QueueSummary {
    let window = range.ticks().max(1) as f64;
    let by_length = || (0u64..).zip(&queue.by_length);
    let sum: u128 = by_length().map(|(length, ticks)| u128::from(length) * u128::from(*ticks)).sum();
    let mean = sum as f64 / window;
    let seen_by_arrivals = (queue.arrivals > 0).then(|| queue.met as f64 / queue.arrivals as f64);
    QueueSummary {
        mean,
        max: queue.max.map_or(0, |(length, _)| length as u64),
        max_time: queue.max.map(|(_, time): (usize, Ticks)| etl.clock.nanos(time)),
        empty_share: queue.by_length.first().map_or(0.0, |ticks| *ticks as f64 / window),
        seen_by_arrivals,
        clumping: seen_by_arrivals.filter(|_| mean > 0.0).map(|seen| seen / mean),
        by_length: by_length().filter(|(_, ticks)| **ticks > 0).map(|(length, ticks)| (length, *ticks)).collect(),
    }
}
