//! `pfnset cpu`: from its flags to the report.

use crate::analysis::cpu::query::{CpuOrder, CpuQuery, DEFAULT_TICK, Dimension};
use crate::analysis::cpu::{CpuUse, SampledUse};
use crate::analysis::table::Condition;
use crate::answer::cpu::{self, CpuDisplay, CpuView};
use crate::answer::numbers::TimeUnit;
use crate::cli::args::{
    ColumnArgs, Common, OneOf, OutputFormat, WindowArgs, by_default, conditions, group_by, grouped_by, help, refuse,
    span,
};
use crate::cli::exit::Exit;
use crate::cli::symbols::SymbolArgs;
use crate::cli::{output, trace};
use crate::error::Error;
use crate::units::Nanos;
use anyhow::Context;
use clap::Args;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(mut_arg("from", |from| by_default(from, "first context switch")), mut_arg("to", |to| by_default(to, "last context switch")))]
#[command(after_help = help::<Dimension>("Dimensions", "\
CPU is the time on the processors without interrupts and deferred procedure
calls; with them it is what WPA's CPU Usage (Precise) shows. A delay is the time
from ready to running: after a wait, or after a thread lost the processor. p95:
95 of 100 delays are not longer. Lost to others: the delays of threads that
lost the processor, by preemption, quantum end and the like.

By processor, a delay counts where it ended and a wait where it began. CPU % is
of all processors together. Idle threads have rows of their own; processors and
sums leave their time out.

Stack, function and module are those of the context switch that let the thread
run, if stacks were recorded: where it had waited. A row has the waits that these
switch-ins ended, their delays, and the time until the next switch.
Ready_stack, ready_function and ready_module are those of who readied it. Rows
have the innermost frame; as conditions, functions and modules find any frame.

A trace with samples and without context switches is answered by samples, with
the error that they have; there, modules are those of samples.

Presets:
  delays      ready delays by kind, with percentiles
  preemption  who took the processor from whom, and how long until it ran again
  waits       waits by reason
  wakers      who readied whom, itself or from a deferred procedure call
  interrupts  interrupts and deferred procedure calls by module and routine
  states      running, ready, waiting and unknown time of each thread
  sampling    exact times beside samples (with their 95 % interval) and beside
              what clock ticks, as in % Processor Time, would have charged
  queue       time at each length of the ready queue

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset cpu trace.etl
  pfnset cpu trace.etl --group-by process,thread --top 5
  pfnset cpu trace.etl --where \"process=chrome.exe*\" --preset delays
  pfnset cpu trace.etl --where \"process=app*\" --group-by function --preset waits
  pfnset cpu trace.etl --group-by process,ready_function --symbols C:\\symbols
  pfnset cpu trace.etl --from \"click*\" --to 12.5 --preset preemption
  pfnset cpu trace.etl --timeline 100ms --format csv -o cpu.csv"))]
pub struct Cpu {
    #[command(flatten)]
    pub common: Common,
    /// Rows by these dimensions, nested in this order [default: process]
    #[arg(long, value_name = "DIM,…")]
    pub group_by: Option<String>,
    /// Only what has a label that matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS")]
    pub conditions: Vec<String>,
    /// Only the first N rows of each level, and one row for the rest
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Order of the rows [default: cpu; delays: ready; waits: waits; states: running]
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<CpuOrder>,
    /// Unit of times [default: auto]
    #[arg(long, value_parser = UNITS, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Another view of the same
    #[arg(long, value_parser = PRESETS, value_name = "VIEW", hide_possible_values = true)]
    pub preset: Option<CpuView>,
    /// Time by group and mean queue length every STEP (seconds, or with a unit as in 100ms)
    #[arg(long, value_name = "STEP", value_parser = span, conflicts_with = "preset")]
    pub timeline: Option<Nanos>,
    /// Distance of the clock ticks that --preset sampling compares with [default: 15.625ms]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub tick: Option<Nanos>,
}

const ORDERS: OneOf<CpuOrder> = OneOf(&[
    ("cpu", "Most processor time first", CpuOrder::Cpu),
    ("name", "By name", CpuOrder::Name),
    ("switches", "Most switches first", CpuOrder::Switches),
    ("ready", "Longest ready in all first", CpuOrder::Ready),
    ("preempted", "Most time lost to others first", CpuOrder::Preempted),
    ("waits", "Longest waiting in all first", CpuOrder::Waits),
    ("running", "Longest running in all first, with interrupts", CpuOrder::Running),
]);

pub(super) const UNITS: OneOf<TimeUnit> = OneOf(&[
    ("ns", "", TimeUnit::Nanoseconds),
    ("us", "", TimeUnit::Microseconds),
    ("ms", "", TimeUnit::Milliseconds),
    ("s", "", TimeUnit::Seconds),
    ("auto", "", TimeUnit::Auto),
]);

const PRESETS: OneOf<CpuView> = OneOf(&[
    ("delays", "Ready delays by kind", CpuView::Delays),
    ("preemption", "Who took the processor from whom", CpuView::Preemption),
    ("waits", "Waits by reason", CpuView::Waits),
    ("wakers", "Who readied whom", CpuView::Wakers),
    ("interrupts", "Interrupts by routine", CpuView::Interrupts),
    ("states", "What each thread did", CpuView::States),
    ("sampling", "Exact times beside samples and clock ticks", CpuView::Sampling),
    ("queue", "Time at each length of the ready queue", CpuView::Queue),
]);

impl Cpu {
    fn view(&self) -> CpuView {
        match self.preset {
            Some(view) => view,
            None if self.timeline.is_some() => CpuView::Timeline,
            None if self.group_by.is_some() => CpuView::Rows,
            None => CpuView::Summary,
        }
    }

    /// True for dimensions, views and orders that samples know too.
    fn can_be_sampled(&self, query: &CpuQuery) -> bool {
        !query.needs_switch_ins()
            && matches!(self.view(), CpuView::Summary | CpuView::Rows)
            && matches!(self.sort, None | Some(CpuOrder::Cpu | CpuOrder::Name))
    }

    /// The flag that asks for what samples do not know, as it was written.
    fn needs_switches(&self) -> String {
        let named = |list: &'static [(&str, &str, CpuOrder)], sort: CpuOrder| {
            list.iter().find(|(_, _, order)| *order == sort).map_or("", |(name, ..)| name)
        };
        let preset = PRESETS.0.iter().find(|(_, _, preset)| Some(*preset) == self.preset);
        match (preset, self.timeline, self.sort) {
            (Some((name, ..)), ..) => format!("--preset {name}"),
            (None, Some(_), _) => "--timeline".to_owned(),
            (None, None, Some(sort)) => format!("--sort {}", named(ORDERS.0, sort)),
            (None, None, None) => "stacks of switch-ins".to_owned(),
        }
    }

    /// Flags that would be without effect are refused.
    fn check(&self, query: &CpuQuery) -> Result<(), Error> {
        let view = self.view();
        let grouped =
            matches!(view, CpuView::Summary | CpuView::Rows | CpuView::Delays | CpuView::Waits | CpuView::States);
        let has_conditions = !self.conditions.is_empty();
        let of_all = matches!(view, CpuView::Interrupts | CpuView::Sampling | CpuView::Queue);
        let json = self.common.format == OutputFormat::Json;
        let reasons = [
            (
                self.group_by.is_some() && !grouped && view != CpuView::Timeline,
                "has rows of its own: --group-by has no effect",
            ),
            (self.sort.is_some() && !grouped, "has an order of its own: --sort has no effect"),
            (has_conditions && of_all, "is of all processes: --where has no effect"),
            (self.top.is_some() && view == CpuView::Timeline, "is shown as a whole: --top has no effect"),
            (
                self.tick.is_some() && view != CpuView::Sampling && !json,
                "does not show clock ticks: --tick has no effect",
            ),
        ];
        let preset = PRESETS.0.iter().find(|(_, _, preset)| Some(*preset) == self.preset);
        let name = match (preset, self.timeline) {
            (Some((name, ..)), _) => format!("--preset {name}"),
            (None, Some(_)) => "--timeline".to_owned(),
            (None, None) => "this view".to_owned(),
        };
        refuse(&name, &reasons)?;
        self.check_conditions(query, &name)?;
        let of_threads = query.group_by.contains(&Dimension::Thread) && !query.needs_processors();
        let reason = "is of threads: group it by thread or process,thread, on all processors";
        refuse("--preset states", &[(view == CpuView::States && !of_threads, reason)])?;
        self.common.format.refuse_top_and_times(self.top, self.unit)
    }

    /// The same of conditions and stacks.
    fn check_conditions(&self, query: &CpuQuery, name: &str) -> Result<(), Error> {
        let view = self.view();
        let is_of_others = |condition: &Condition<Dimension>| !matches!(condition.dimension, Dimension::Process(_));
        let chooses = query.conditions.iter().any(is_of_others);
        let of_processes = matches!(view, CpuView::Preemption | CpuView::Wakers);
        let is_of_processor = |condition: &Condition<Dimension>| condition.dimension == Dimension::Processor;
        let of_processor = query.conditions.iter().any(is_of_processor) && query.group_by != [Dimension::Processor];
        let whole = "is of whole threads: stacks are those of their switch-ins";
        let reasons = [
            (chooses && of_processes, "is of processes: conditions on anything else have no effect"),
            (view == CpuView::States && query.wants_stacks(), whole),
            (
                view == CpuView::Timeline && of_processor,
                "is of threads on all processors: --where processor has no effect",
            ),
        ];
        refuse(name, &reasons)?;
        let reason = "names functions: it is for rows or conditions by stack, function or module, also ready_function and the \
                      like, as in --group-by function";
        refuse("--symbols", &[(!self.symbols.symbols.is_empty() && !query.wants_stacks(), reason)])
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        let mut query = CpuQuery {
            conditions: conditions(&self.conditions)?,
            order: self.sort.unwrap_or_else(|| self.view().order()),
            from: self.window.from.clone(),
            to: self.window.to.clone(),
            timeline: self.timeline,
            tick: self.tick.unwrap_or(DEFAULT_TICK),
            ..CpuQuery::default()
        };
        match &self.group_by {
            Some(_) => query.group_by = group_by(self.group_by.as_ref(), query.group_by)?,
            None if self.preset == Some(CpuView::States) => {
                query.group_by = vec![Dimension::PROCESS, Dimension::Thread]
            }
            None => {}
        }
        self.check(&query)?;
        self.columns.check(common.format)?;
        if query.wants_stacks() {
            query.symbols = self.symbols.folders(common.quiet, common.output.as_deref())?;
        }
        let trace = trace::open(common)?;
        let display = CpuDisplay {
            view: self.view(),
            order: query.order,
            top: self.top,
            unit: self.unit.unwrap_or_default(),
            is_grouped: self.group_by.is_some(),
        };
        let can_be_sampled = self.can_be_sampled(&query);
        if can_be_sampled && let Some(set) = trace::with_bar(common, &trace, 3, || SampledUse::answer(&trace, &query))?
        {
            let reason = "names functions of switch-ins: the trace has samples and no context switches";
            refuse("--symbols", &[(!self.symbols.symbols.is_empty(), reason)])?;
            let reason = "is beside exact times: the trace has samples and no context switches";
            refuse("--tick", &[(self.tick.is_some(), reason)])?;
            output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
            let answer = output::with_no_match(cpu::answer_by_samples(&set, display), &query.conditions);
            return trace::finish_with(&self.columns, answer, common);
        }
        // One walk for the events, one for the records of processors; stacks take two more.
        let walks = if query.wants_stacks() { 4 } else { 2 };
        let set = trace::with_bar(common, &trace, walks, || CpuUse::answer(&trace, &query));
        let set = match can_be_sampled {
            true => set?,
            false => set.with_context(|| self.needs_switches())?,
        };
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        let answer = cpu::answer(&set, display);
        trace::finish_with(&self.columns, answer, common)
    }
}
