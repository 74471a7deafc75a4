//! Processors by samples alone, for traces without context switches: who was met by how many samples, and how exact that is.
//!
//! Sources: `docs/cpu.md` ("By samples").

use crate::analysis::cpu::all_samples::{Sample, beyond_capacity, samples};
use crate::analysis::cpu::query::{CpuOrder, CpuQuery, Dimension};
use crate::analysis::cpu::sampled_and_exact::interval;
use crate::analysis::cpu::thread_labels::names_one;
use crate::analysis::recording_end::of_named_window;
use crate::analysis::stacks::{
    NO_SAMPLES, Names, Owners, ProfileIntervals, SampleCoverage, SamplesByProcessor, Texts, TimeOfSamples,
};
use crate::analysis::table::group::natural;
use crate::analysis::table::{Group, Measured, Node, Table, Value};
use crate::analysis::time_grid::{TickRange, before_start};
use crate::dimensions::process_dimensions::{ProcessCode, ProcessFacts};
use crate::dimensions::{Condition, IDLE, Label, NO_LABEL};
use crate::error::Error;
use crate::etl::clock::Clock;
use crate::event::hooks::SAMPLED_PROFILE;
use crate::event::perfinfo::ProfileSample;
use crate::load::stacks::first_walk::{Parts as StackParts, session_pointer};
use crate::load::stacks::stack_events::Owner;
use crate::model::page_owner_key::KeyReading;
use crate::model::services::Services;
use crate::model::window::Window;
use crate::moment::{At, Moment};
use crate::trace::Trace;
use crate::trace::analysis_needs::CPU;
use crate::trace::trust::readiness::{Need, undescribed};
use crate::trace::trust::untold_labels::services_unknown;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::Nanos;
use foldhash::HashMap as FastMap;
use std::cmp::Ordering;

/// Samples of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples.
    pub events: u64,
    /// Intervals of the profile timer that they stand for, nanoseconds.
    pub time_ns: u64,
}

impl std::ops::AddAssign for SampleCounts {
    fn add_assign(&mut self, other: SampleCounts) {
        self.events += other.events;
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Samples of a row or a sum. Those of idle threads have it alone: they are no part of it where other threads are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowSamples {
    others: SampleCounts,
    idle: SampleCounts,
    leaves_idle_out: bool,
}

impl RowSamples {
    /// What counts.
    pub fn counts(&self) -> SampleCounts {
        let mut counts = self.others;
        if !self.leaves_idle_out {
            counts += self.idle;
        }
        counts
    }
}

impl std::ops::AddAssign for RowSamples {
    fn add_assign(&mut self, other: RowSamples) {
        self.others += other.others;
        self.idle += other.idle;
        self.leaves_idle_out |= other.leaves_idle_out;
    }
}

/// What the samples of the window tell of themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleFacts {
    /// Records that stand for another number of intervals than one.
    pub of_several: u64,
    /// Samples that met a deferred procedure call or an interrupt.
    pub of_interrupts: u64,
    /// Times of the first and the last one.
    pub span: Option<(Nanos, Nanos)>,
    /// The same of the whole trace.
    pub span_of_trace: Option<(Nanos, Nanos)>,
}

/// What `pfnset cpu` shows of a trace without context switches.
#[derive(Debug)]
pub struct SampledUse {
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// Keywords that were not recorded.
    pub missing: Vec<Need>,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// Its length in ticks.
    pub window_ticks: u64,
    /// Its ends in ticks since trace start.
    pub window_bounds: (i64, i64),
    /// The least and the longest interval of the profile timer that was in force at a sample of the window; without any, at the first one.
    pub intervals_ns: (u64, u64),
    /// All samples in the window.
    pub all: SampleCounts,
    /// Those of idle threads.
    pub idle: SampleCounts,
    /// What else is to be said of them.
    pub facts: SampleFacts,
    /// Of how much time they are.
    pub(crate) coverage: SampleCoverage,
    /// True when the conditions chose nothing but idle threads.
    is_of_idle: bool,
    /// Conditions that chose the rows: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// Rows in the query's order: by name, or most time first.
    pub rows: Vec<Group<RowSamples>>,
    /// By module of the instruction pointer, where rows are by something else.
    pub modules: Vec<Group<RowSamples>>,
}

/// What a processor did when it was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Doing {
    Dpc,
    Isr,
    Thread(ProcessCode),
}

/// What is counted together. The module is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    doing: Doing,
    thread_id: u32,
    processor: u16,
    module: Option<u32>,
}

impl Key {
    /// The idle thread itself ran, no call or interrupt on top of it.
    fn is_idle(&self) -> bool {
        self.thread_id == 0 && matches!(self.doing, Doing::Thread(_))
    }
}

/// Codes of what is told of a trace by which nobody asked for times.
const OF_TRACE: [&str; 7] = [
    "by_samples",
    "samples_missing",
    "some_samples_missing",
    "samples_beyond_window",
    "interval_assumed",
    "samples_beyond_short_window",
    NO_SAMPLES,
];

impl SampledUse {
    /// That times are estimated; `None` for a trace that has context switches, or no samples.
    pub(crate) fn estimates(trace: &Trace) -> Option<Warning> {
        let has_switches = trace.scheduling().buffers.iter().any(|facts| facts.first_switch.is_some());
        let can_be = !has_switches && trace.survey().kernel_count(SAMPLED_PROFILE) > 0;
        let text =
            "no context switches are in the trace: times are estimated by samples; waits and ready delays are unknown";
        can_be.then(|| Warning::note(CPU.name, "by_samples", text.to_owned()))
    }

    /// That times of the whole trace are by samples, and which are missing, where there are no context switches; of any trace, that samples stand
    /// for more time than there is.
    pub(crate) fn warnings_of_trace(trace: &Trace) -> Warnings {
        match SampledUse::answer(trace, &CpuQuery::default()).ok().flatten() {
            Some(set) => set.warnings.into_iter().filter(|warning| warning.is_of(&OF_TRACE)).collect(),
            None => {
                let whole = TickRange::of_recording(trace, None, None).ok();
                whole.and_then(|(_, range)| beyond_capacity(trace, range)).into_iter().collect()
            }
        }
    }

    /// Answers a query by samples; `None` for a trace that has context switches, or no samples, and for what only switch-ins have.
    ///
    /// # Errors
    /// [`Error::Usage`] for a window that cannot be.
    pub fn answer(trace: &Trace, query: &CpuQuery) -> Result<Option<SampledUse>, Error> {
        trace.gather(super::CpuUse::PARTS);
        let Some(estimates) = SampledUse::estimates(trace).filter(|_| !query.needs_switch_ins()) else {
            return Ok(None);
        };
        let (clock, trust) = (&trace.etl().clock, trace.trust());
        let (window, range) = TickRange::of_recording(trace, query.from.as_ref(), query.to.as_ref())?;
        let samples = samples(trace);
        let parts = StackParts::new(trace.etl());
        let first = samples.first().map(|sample| sample.moment).unwrap_or_default();
        let owners = Owners::new(trace.processes(), &parts.threads);
        let (counted, modules) = counted(trace, &parts, &owners, &samples, range);
        let labels = Labels::new(trace, query, &modules);
        let first_ns = ProfileIntervals::new(&parts.intervals).nanos(first);
        let own = samples.iter().filter(|sample| range.holds(sample.moment.time)).map(|sample| sample.moment);
        let intervals_ns = intervals_of(ProfileIntervals::new(&parts.intervals), own, first_ns);
        let of_processors = counted.iter().map(|(key, counts)| (key.processor, counts.time_ns));
        let by_processor = SamplesByProcessor::of(trace, of_processors);
        let times = samples.iter().map(|At { moment, value: (sample, on) }| (moment.time, *on, sample.count.into()));
        let coverage = SampleCoverage::new((trace, &parts), range, times, by_processor, Some(intervals_ns.1));
        let (mut all, mut idle) = (SampleCounts::default(), SampleCounts::default());
        for (key, counts) in &counted {
            all += *counts;
            idle += if key.is_idle() { *counts } else { SampleCounts::default() };
        }
        let fits = |key: &Key| query.conditions.iter().all(|c| c.matches([&labels.label(c.dimension, key)]));
        let chosen: Vec<(Key, SampleCounts)> = counted.into_iter().filter(|(key, _)| fits(key)).collect();
        let has_conditions = query.conditions.iter().any(|condition| condition.dimension != Dimension::Processor);
        let is_of_idle = has_conditions && chosen.iter().all(|(key, _)| key.is_idle());
        let rows_by = |dimensions: &[Dimension], order| groups(&chosen, dimensions, &labels, is_of_idle, order);
        let mut warnings = trust.warnings();
        warnings.push(estimates);
        warnings.extend(of_window(trace, query, &samples, range));
        let time = TimeOfSamples { records: all.events, time_ns: all.time_ns };
        warnings.extend(time.beyond_capacity(trace, CPU.name, range));
        warnings.extend(coverage.warnings(clock, CPU.name));
        warnings.extend(owners.doubt(CPU.name));
        warnings.extend(undescribed(trace.survey(), trace.processes(), &CPU));
        warnings.extend(services_unknown(trace.system(), CPU.name, query.needs_services()));
        let has_modules = query.group_by.contains(&Dimension::Module);
        Ok(Some(SampledUse {
            warnings,
            missing: trace.missing(&CPU),
            window,
            window_times: (clock.nanos(range.from), clock.nanos(range.to)),
            window_ticks: range.ticks(),
            window_bounds: (range.from.0.saturating_sub(clock.origin.0), range.to.0.saturating_sub(clock.origin.0)),
            intervals_ns,
            coverage,
            all,
            idle,
            facts: facts(&samples, range, clock),
            is_of_idle,
            rows: rows_by(&query.group_by, query.order),
            modules: if has_modules { Vec::new() } else { rows_by(&[Dimension::Module], CpuOrder::Cpu) },
            filter: Condition::written(&query.conditions),
            dimensions: query.group_by.clone(),
        }))
    }

    /// The rows as a table, in this order: by name, or most time first.
    pub fn row_table(&self, order: CpuOrder, top: Option<usize>) -> Table {
        let of_processors = self.dimensions.iter().take_while(|own| **own == Dimension::Processor).count();
        table(self, &self.dimensions, &self.rows, order, (top, 1 + of_processors))
    }

    /// The modules as a table.
    pub fn module_table(&self, top: Option<usize>) -> Table {
        table(self, &[Dimension::Module], &self.modules, CpuOrder::Cpu, (top, 1))
    }

    /// Half of the 95 % interval (Wilson) of the time that a group had, nanoseconds.
    pub fn error_ns(&self, counts: &SampleCounts) -> u64 {
        let (low, high) = interval(counts.events, self.all.events);
        ((high - low) / 2.0 * self.all.time_ns as f64).round() as u64
    }
}

/// What of the trace is not in the window, and what of the window is not in the recording.
fn of_window(trace: &Trace, query: &CpuQuery, samples: &[Sample], range: TickRange) -> Vec<Warning> {
    let early = range.count_before(query.from.as_ref(), samples.iter().map(|sample| sample.moment.time));
    let before = before_start(CPU.name, &[(early, ["sample", "samples"])]);
    let named = (query.from.as_ref(), query.to.as_ref());
    let beyond = of_named_window(CPU.name, trace, named, (range.from, range.to));
    before.into_iter().chain(beyond).collect()
}

/// `top` rows of each level; the first `sums` levels are of all threads.
fn table(
    set: &SampledUse,
    dimensions: &[Dimension],
    groups: &[Group<RowSamples>],
    order: CpuOrder,
    (top, sums): (Option<usize>, usize),
) -> Table {
    type Of = Measured<RowSamples, SampledUse>;
    const COLUMNS: [Of; 4] = [
        Of::new("events", "Samples", |row, _| Value::count(row.counts().events)),
        Of::shown("Share", |row, set| Value::share(row.counts().time_ns, set.all.time_ns)),
        Of::new("time_ns", "Time", |row, _| Value::Duration(row.counts().time_ns)),
        Of::new("error_ns", "Error (95 %)", |row, set| Value::Duration(set.error_ns(&row.counts()))),
    ];
    let most = |row: &RowSamples| if order == CpuOrder::Name { 0 } else { row.counts().time_ns };
    let mut tree = Node::tree(groups, |a, b| most(b).cmp(&most(a)), top);
    leave_idle_out(&mut tree, if set.is_of_idle { 0 } else { sums });
    let mut table = Table::of_groups(dimensions, groups, &tree, set, &COLUMNS).with_total(&tree, set, &COLUMNS);
    let leaves_out = tree.measure.leaves_idle_out && tree.measure.idle.events > 0;
    let label = table.lines.last_mut().and_then(|line| line.cells.first_mut()).filter(|_| leaves_out);
    label.into_iter().for_each(|label| *label = Value::text("Total without idle"));
    table
}

/// Takes idle threads out of the first levels of sums.
fn leave_idle_out(node: &mut Node<RowSamples>, levels: usize) {
    if let Some(below) = levels.checked_sub(1) {
        node.measure.leaves_idle_out = true;
        node.parts.iter_mut().for_each(|part| leave_idle_out(part, below));
    }
}

/// The least and the longest interval at these moments, which are in order; `else_ns` without any.
fn intervals_of(
    mut intervals: ProfileIntervals<'_>,
    moments: impl Iterator<Item = Moment>,
    else_ns: u64,
) -> (u64, u64) {
    let of_each = moments.map(|moment| intervals.nanos(moment));
    let both = of_each.fold(None, |all: Option<(u64, u64)>, nanos| {
        let (least, most) = all.unwrap_or((nanos, nanos));
        Some((least.min(nanos), most.max(nanos)))
    });
    both.unwrap_or((else_ns, else_ns))
}

fn facts(samples: &[Sample], range: TickRange, clock: &Clock) -> SampleFacts {
    let span = |first: Option<&Sample>, last: Option<&Sample>| {
        Some((clock.nanos(first?.moment.time), clock.nanos(last?.moment.time)))
    };
    let mut own = samples.iter().filter(|sample| range.holds(sample.moment.time));
    let count = |is_counted: fn(&ProfileSample) -> bool| {
        let own = samples.iter().filter(|sample| range.holds(sample.moment.time));
        own.filter(|sample| is_counted(&sample.value.0)).count() as u64
    };
    SampleFacts {
        of_several: count(|sample| sample.count != 1),
        of_interrupts: count(|sample| sample.flags & 3 != 0),
        span_of_trace: span(samples.first(), samples.last()),
        span: span(own.clone().next(), own.next_back()),
    }
}

/// Counts the samples of the window; the modules are texts.
fn counted(
    trace: &Trace,
    parts: &StackParts,
    owners: &Owners<'_>,
    samples: &[Sample],
    range: TickRange,
) -> (FastMap<Key, SampleCounts>, Texts) {
    let mut names = Names::new(&parts.addresses, session_pointer(trace.etl()));
    let mut intervals = ProfileIntervals::new(&parts.intervals);
    let mut modules = Texts::default();
    let mut counted: FastMap<Key, SampleCounts> = FastMap::default();
    for At { moment, value: (sample, processor) } in samples.iter().filter(|sample| range.holds(sample.moment.time)) {
        names.go_to(moment.time);
        let process = owners.process_of(Owner::Thread(sample.thread_id), *moment);
        let instance = process.and_then(|id| owners.instance(id, *moment)).and_then(|index| u32::try_from(index).ok());
        let code = match (instance, process) {
            (Some(index), _) => ProcessCode::Instance(index),
            (None, Some(0)) => ProcessCode::Idle,
            (None, Some(id)) => ProcessCode::UnknownId(id),
            (None, None) => ProcessCode::Unknown,
        };
        // Of both bits the interrupt came last.
        let doing = match sample.flags & 3 {
            0 => Doing::Thread(code),
            1 => Doing::Dpc,
            _ => Doing::Isr,
        };
        let module = names.module_at(process, sample.instruction).map(|name| modules.id(name));
        let key = Key { doing, thread_id: sample.thread_id, processor: *processor, module };
        let time_ns = intervals.nanos(*moment).saturating_mul(sample.count.into());
        *counted.entry(key).or_default() += SampleCounts { events: 1, time_ns };
    }
    (counted, modules)
}

/// Rows by dimensions, by name or most time first.
fn groups(
    counted: &[(Key, SampleCounts)],
    dimensions: &[Dimension],
    labels: &Labels<'_>,
    is_of_idle: bool,
    order: CpuOrder,
) -> Vec<Group<RowSamples>> {
    // A processor is not used by its idle thread.
    let of_processors = dimensions == [Dimension::Processor];
    let mut sums: FastMap<Vec<Label>, RowSamples> = FastMap::default();
    for (key, counts) in counted {
        let none = SampleCounts::default();
        let (others, idle) = if key.is_idle() { (none, *counts) } else { (*counts, none) };
        let leaves_idle_out = !is_of_idle && (of_processors || !key.is_idle());
        let row = sums.entry(dimensions.iter().map(|own| labels.label(*own, key)).collect()).or_default();
        *row += RowSamples { others, idle, leaves_idle_out };
    }
    let mut groups: Vec<Group<RowSamples>> =
        sums.into_iter().map(|(labels, measure)| Group { labels, measure }).collect();
    groups.sort_by(|a, b| {
        let texts = |group: &Group<RowSamples>| -> Vec<String> {
            group.labels.iter().map(|label| label.as_str().to_owned()).collect()
        };
        let most = |group: &Group<RowSamples>| (group.measure.counts().time_ns, group.measure.counts().events);
        // As rows of context switches, and as the table.
        let names = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
        match order {
            CpuOrder::Name => names().unwrap_or(Ordering::Equal),
            _ => most(b).cmp(&most(a)).then_with(|| texts(a).cmp(&texts(b))),
        }
    });
    groups
}

/// Labels of keys.
struct Labels<'l> {
    trace: &'l Trace,
    services: Option<Services>,
    modules: &'l Texts,
}

impl<'l> Labels<'l> {
    fn new(trace: &'l Trace, query: &CpuQuery, modules: &'l Texts) -> Labels<'l> {
        let services = query.needs_services().then(|| Services::new(trace.system(), trace.processes()));
        Labels { trace, services, modules }
    }

    fn label(&self, dimension: Dimension, key: &Key) -> Label {
        match (dimension, key.doing) {
            (Dimension::Process(facet), _) if key.is_idle() && !names_one(facet) => Label::name(IDLE),
            (Dimension::Process(facet), Doing::Thread(code)) => {
                let facts = ProcessFacts {
                    processes: self.trace.processes(),
                    services: self.services.as_ref(),
                    reading: KeyReading::ProcessId,
                    nobody: NO_LABEL,
                };
                facet.label(code, &facts)
            }
            (Dimension::Process(_) | Dimension::Thread, Doing::Dpc) => Label::name("DPC"),
            (Dimension::Process(_) | Dimension::Thread, Doing::Isr) => Label::name("ISR"),
            (Dimension::Thread, Doing::Thread(_)) => Label::number(key.thread_id),
            (Dimension::Processor, _) => Label::number(key.processor),
            (Dimension::Module, _) => Label::maybe(key.module.map(|module| self.modules.get(module))),
            // Those of switch-ins: refused before.
            (
                Dimension::Stack
                | Dimension::Function
                | Dimension::ReadyStack
                | Dimension::ReadyFunction
                | Dimension::ReadyModule,
                _,
            ) => Label::nothing(),
        }
    }
}
