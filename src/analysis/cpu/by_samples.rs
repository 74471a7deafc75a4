//! Processors by samples alone, for traces without context switches: who was met by how many samples, and how exact that is.
//!
//! Sources: `docs/cpu.md` ("By samples").

use crate::analysis::cpu::query::{CpuOrder, CpuQuery, Dimension};
use crate::analysis::cpu::sampled_and_exact::interval;
use crate::analysis::cpu::time_grid::TickRange;
use crate::analysis::stacks::{Names, Owners, ProfileIntervals, Texts};
use crate::analysis::table::{Group, Measured, Node, Table, Value};
use crate::error::Error;
use crate::etl::buffer_order::ranks;
use crate::event::hooks::SAMPLED_PROFILE;
use crate::event::perfinfo::ProfileSample;
use crate::event::{Decoded, Event, decode};
use crate::facets::process::{ProcessCode, ProcessFacts};
use crate::facets::{Condition, Label, NO_LABEL};
use crate::load::stacks::first_walk::{Parts as StackParts, session_pointer};
use crate::load::stacks::stack_events::Owner;
use crate::load::timed_records::for_each_moment;
use crate::model::page_owner_key::KeyReading;
use crate::model::services::Services;
use crate::model::window::Window;
use crate::moment::At;
use crate::trace::Trace;
use crate::trace::analysis_needs::CPU;
use crate::trace::doubt::{Doubt, any_grave, texts};
use crate::trace::readiness::Need;
use crate::units::Nanos;
use foldhash::HashMap as FastMap;

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

/// What `pfnset cpu` shows of a trace without context switches.
#[derive(Debug)]
pub struct SampledUse {
    /// Doubts, most important first.
    pub warnings: Vec<String>,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
    /// The warnings with their codes.
    pub(crate) doubts: Vec<Doubt>,
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
    /// Interval of the profile timer at the first sample.
    pub interval_ns: u64,
    /// All samples in the window.
    pub all: SampleCounts,
    /// Conditions that chose the rows: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// Rows, most time first.
    pub rows: Vec<Group<SampleCounts>>,
    /// By module of the instruction pointer, where rows are by something else.
    pub modules: Vec<Group<SampleCounts>>,
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

type Sample = At<(ProfileSample, u16)>;

impl SampledUse {
    /// Answers a query by samples; `None` for a trace that has context switches, or no samples, and for what only switch-ins have.
    ///
    /// # Errors
    /// [`Error::Usage`] for a window that cannot be.
    pub fn answer(trace: &Trace, query: &CpuQuery) -> Result<Option<SampledUse>, Error> {
        trace.gather(super::CpuUse::PARTS);
        let has_switches = trace.scheduling().buffers.iter().any(|facts| facts.first_switch.is_some());
        if has_switches || trace.survey().kernel_count(SAMPLED_PROFILE) == 0 || query.needs_switch_ins() {
            return Ok(None);
        }
        let (clock, trust) = (&trace.etl().clock, trace.trust());
        let (window, range) = TickRange::of_trace(trace, query.from.as_ref(), query.to.as_ref())?;
        let samples = samples(trace);
        let parts = StackParts::new(trace.etl());
        let first = samples.first().map(|sample| sample.moment).unwrap_or_default();
        let (counted, modules) = counted(trace, &parts, &samples, range);
        let labels = Labels::new(trace, query, &modules);
        let mut all = SampleCounts::default();
        counted.values().for_each(|counts| all += *counts);
        let fits = |key: &Key| query.conditions.iter().all(|c| c.lets_pass([&labels.label(c.dimension, key)]));
        let chosen: Vec<(Key, SampleCounts)> = counted.into_iter().filter(|(key, _)| fits(key)).collect();
        let missing = trace.missing(&CPU);
        let mut doubts = trust.doubts();
        let text =
            "no context switches are in the trace: times are estimated by samples; waits and ready delays are unknown";
        doubts.push(Doubt::note(CPU.name, "by_samples", text.to_owned()));
        let has_modules = query.group_by.contains(&Dimension::Module);
        Ok(Some(SampledUse {
            warnings: texts(&doubts),
            doubtful: any_grave(&doubts),
            doubts,
            missing,
            window,
            window_times: (clock.nanos(range.from), clock.nanos(range.to)),
            window_ticks: range.ticks(),
            window_bounds: (range.from.0.saturating_sub(clock.origin.0), range.to.0.saturating_sub(clock.origin.0)),
            interval_ns: ProfileIntervals::new(&parts.intervals).nanos(first),
            all,
            rows: groups(&chosen, &query.group_by, &labels),
            modules: if has_modules { Vec::new() } else { groups(&chosen, &[Dimension::Module], &labels) },
            filter: Condition::written(&query.conditions),
            dimensions: query.group_by.clone(),
        }))
    }

    /// The rows as a table, in this order: by name, or most time first.
    pub fn row_table(&self, order: CpuOrder, top: Option<usize>) -> Table {
        table(self, &self.dimensions, &self.rows, order, top)
    }

    /// The modules as a table.
    pub fn module_table(&self, top: Option<usize>) -> Table {
        table(self, &[Dimension::Module], &self.modules, CpuOrder::Cpu, top)
    }

    /// Half of the 95 % interval (Wilson) of the time that a group had, nanoseconds.
    pub fn error_ns(&self, counts: &SampleCounts) -> u64 {
        let (low, high) = interval(counts.events, self.all.events);
        ((high - low) / 2.0 * self.all.time_ns as f64).round() as u64
    }
}

fn table(
    set: &SampledUse,
    dimensions: &[Dimension],
    groups: &[Group<SampleCounts>],
    order: CpuOrder,
    top: Option<usize>,
) -> Table {
    type Of = Measured<SampleCounts, SampledUse>;
    const COLUMNS: [Of; 4] = [
        Of::new("events", "Samples", |counts, _| Value::count(counts.events)),
        Of::shown("Share", |counts, set| Value::share(counts.time_ns, set.all.time_ns)),
        Of::new("time_ns", "Time", |counts, _| Value::Duration(counts.time_ns)),
        Of::new("error_ns", "Error (95 %)", |counts, set| Value::Duration(set.error_ns(counts))),
    ];
    let most = |counts: &SampleCounts| if order == CpuOrder::Name { 0 } else { counts.time_ns };
    let tree = Node::tree(groups, |a, b| most(b).cmp(&most(a)), top);
    Table::of_groups(dimensions, groups, &tree, set, &COLUMNS)
}

/// All samples in record order, with their processors.
fn samples(trace: &Trace) -> Vec<Sample> {
    let etl = trace.etl();
    let (rank, _) = ranks(&etl.buffers);
    let found = etl.fold_buffers(Vec::new, |all: &mut Vec<Sample>, area| {
        for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
            if hook.is_none_or(|hook| hook == SAMPLED_PROFILE)
                && let Ok(record) = raw.read()
                && let Decoded::Event { event: Event::ProfileSample(sample), .. } = decode(&record)
            {
                all.push(At { moment, value: (sample, area.buffer.processor) });
            }
        });
    });
    let mut all: Vec<Sample> = found.into_iter().flatten().collect();
    all.sort_unstable_by_key(|sample| sample.moment);
    all
}

/// Counts the samples of the window; the modules are texts.
fn counted(
    trace: &Trace,
    parts: &StackParts,
    samples: &[Sample],
    range: TickRange,
) -> (FastMap<Key, SampleCounts>, Texts) {
    let owners = Owners::new(trace.processes(), &parts.threads);
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
        let module = names.module_at(process.unwrap_or(u32::MAX), sample.instruction).map(|name| modules.id(name));
        let key = Key { doing, thread_id: sample.thread_id, processor: *processor, module };
        let time_ns = intervals.nanos(*moment).saturating_mul(sample.count.into());
        *counted.entry(key).or_default() += SampleCounts { events: 1, time_ns };
    }
    (counted, modules)
}

/// Rows by dimensions, most time first.
fn groups(counted: &[(Key, SampleCounts)], dimensions: &[Dimension], labels: &Labels<'_>) -> Vec<Group<SampleCounts>> {
    let mut sums: FastMap<Vec<Label>, SampleCounts> = FastMap::default();
    for (key, counts) in counted {
        *sums.entry(dimensions.iter().map(|own| labels.label(*own, key)).collect()).or_default() += *counts;
    }
    let mut groups: Vec<Group<SampleCounts>> =
        sums.into_iter().map(|(labels, measure)| Group { labels, measure }).collect();
    groups.sort_by(|a, b| {
        let texts = |group: &Group<SampleCounts>| -> Vec<String> {
            group.labels.iter().map(|label| label.as_str().to_owned()).collect()
        };
        let most = |group: &Group<SampleCounts>| (group.measure.time_ns, group.measure.events);
        most(b).cmp(&most(a)).then_with(|| texts(a).cmp(&texts(b)))
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
            (Dimension::Process(facet), Doing::Thread(code)) => {
                let facts = ProcessFacts {
                    processes: self.trace.processes(),
                    services: self.services.as_ref(),
                    reading: KeyReading::ProcessId,
                    nobody: NO_LABEL,
                };
                facet.label(code, &facts)
            }
            (Dimension::Process(_), Doing::Dpc) => Label::name("DPC"),
            (Dimension::Process(_), Doing::Isr) => Label::name("ISR"),
            (Dimension::Thread, _) => Label::number(key.thread_id),
            (Dimension::Processor, _) => Label::number(key.processor),
            (Dimension::Module, _) => Label::maybe(key.module.map(|module| self.modules.get(module))),
            // Those of switch-ins: refused before.
            _ => Label::nothing(),
        }
    }
}
