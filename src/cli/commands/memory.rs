//! `pfnset memory`: from its flags to the report.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::query::{MemoryDimension, MemoryQuery, TimelineStep};
use crate::analysis::memory::shown_rows::{MemoryOrder, MemoryView};
use crate::analysis::table::{Condition, Dimension as _};
use crate::answer::answer_type::Answer;
use crate::answer::memory;
use crate::cli::args::{
    ColumnArgs, Common, OneOf, OutputFormat, RowArgs, WindowArgs, conditions, group_by, grouped_by, inclusive, refuse,
};
use crate::cli::exit::Exit;
use crate::cli::many_traces::{Each, TraceQuestion};
use crate::cli::{output, trace};
use crate::error::Error;
use crate::model::window::duration;
use clap::Args;
use std::cell::Cell;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<MemoryDimension>))]
#[command(mut_arg("to", inclusive))]
#[command(after_help = "\
Dimensions, one at a time:
  list      page lists: InUse, Standby, Zero, Free, Modified, ModifiedNoWrite, Bad
  priority  standby by priority, 0 to 7
  process   working set, private working set and commit of each process
  session   the same of each session's own space, not of its processes

In use is physical memory without standby, modified, free and zero pages, as in
resident and in the Task Manager of Windows. Repurposed pages were taken from standby
for another use: many in a second are the sign that memory ran short.

Of a process that began after the first sample of any, the table by process has no
Start, and no End of one that ended before the last. Its growth, and start and end in
JSON and CSV, are of its own first and last sample.

--where: list and priority choose counters, process and session choose processes
and sessions.
Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset memory trace.etl
  pfnset memory trace.etl --timeline 1s --unit mib
  pfnset memory trace.etl --timeline all --format csv -o memory.csv
  pfnset memory trace.etl --timeline 1s --group-by process --where \"process=chrome*\"
  pfnset memory trace.etl --group-by process --sort growth --top 20
  pfnset memory --each traces/ --group-by list
  pfnset memory trace.etl --where \"process=chrome*\" --from 10 --to 20 --format json")]
pub struct Memory {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub each: Each,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Order of the rows by process or session
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<MemoryOrder>,
    /// Over time: every STEP (seconds, or with a unit as in 100ms), or all samples; counters, or working sets by process or session
    #[arg(long, value_name = "STEP|all", value_parser = step)]
    pub timeline: Option<TimelineStep>,
    #[command(flatten)]
    pub window: WindowArgs,
}

const ORDERS: OneOf<MemoryOrder> = OneOf(&[
    ("most", "Largest working set at any time first", MemoryOrder::Most),
    ("size", "Largest working set at the end first", MemoryOrder::End),
    ("private", "Largest private working set at the end first", MemoryOrder::Private),
    ("commit", "Most commit at the end first", MemoryOrder::Commit),
    ("growth", "What grew fastest between its own first and last sample first", MemoryOrder::Growth),
    ("name", "By name", MemoryOrder::Name),
]);

fn step(text: &str) -> Result<TimelineStep, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(TimelineStep::Samples);
    }
    let step = duration(text).filter(|step| step.0 > 0).map(TimelineStep::Every);
    step.ok_or_else(|| "expected all, or a time longer than 0: seconds, as in 0.5, or with a unit, as in 100ms".into())
}

/// True for conditions that choose counters.
fn is_of_counters(condition: &Condition<MemoryDimension>) -> bool {
    matches!(condition.dimension, MemoryDimension::List | MemoryDimension::Priority)
}

/// An answer that says where nothing meets the conditions: also where names of lists and priorities are known, and no counter that is
/// shown is of all of them.
fn with_no_match<'a>(answer: Answer<'a>, set: &MemorySet, query: &MemoryQuery) -> Answer<'a> {
    match set.no_counter_meets() && !Condition::has_no_match(&query.conditions) {
        true => output::with_nothing_chosen(answer, query.conditions.iter().filter(|of| is_of_counters(of))),
        false => output::with_no_match(answer, &query.conditions),
    }
}

impl Memory {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        let is_object = match common.format {
            OutputFormat::Json => true,
            OutputFormat::Jsonl => self.each.each,
            _ => false,
        };
        let mut query = MemoryQuery {
            conditions: conditions(&rows.conditions)?,
            from: self.window.from.clone(),
            to: self.window.to.clone(),
            timeline: self.timeline,
            all_samples: is_object || self.timeline.is_some(),
            ..MemoryQuery::default()
        };
        query.group_by = group_by(rows.group_by.as_ref(), Vec::new())?.first().copied();
        rows.check(common.format)?;
        self.columns.check(common.format)?;
        let has_order = matches!(query.group_by, Some(MemoryDimension::Process | MemoryDimension::Session));
        let is_for_people = common.format.is_for_people();
        refuse(
            "--sort",
            &[
                (
                    self.sort.is_some() && !(has_order && self.timeline.is_none()),
                    "orders rows by process or session: --group-by process or session, without --timeline",
                ),
                (
                    self.sort.is_some() && !is_for_people,
                    "is for table and markdown: the other forms have their own order",
                ),
            ],
        )?;
        self.check_top(&query, has_order)?;
        self.check_conditions(&query, is_object)?;
        let question = TraceQuestion { common, each: &self.each, schema: memory::SCHEMA, unit: rows.unit() };
        let view = MemoryView { top: rows.top, order: self.sort.unwrap_or_default() };
        // Of all traces that answer; `None`: none did.
        let no_counter_meets = Cell::new(None);
        let exit = question.answer(|_, trace, show| {
            let set = trace::with_bar(common, trace, 2, || MemorySet::answer(trace, &query))?;
            no_counter_meets.set(Some(no_counter_meets.get().unwrap_or(true) && set.no_counter_meets()));
            let answer = with_no_match(memory::answer(&set, view, rows.unit()), &set, &query);
            show(trace::with_columns(&self.columns, self.each.each, answer)?)
        })?;
        let mut lines = Condition::unmatched(&query.conditions);
        if lines.is_empty() && no_counter_meets.get() == Some(true) {
            lines.push("no counter meets the conditions of --where".to_owned());
        }
        output::tell_unmatched(common.quiet, &lines);
        Ok(exit)
    }

    /// Refuses a number of rows where nothing is cut.
    fn check_top(&self, query: &MemoryQuery, has_order: bool) -> Result<(), Error> {
        let rows = &self.rows;
        refuse(
            "--timeline",
            &[(self.timeline.is_some() && rows.top.is_some(), "is shown as a whole: --top has no effect")],
        )?;
        let whole = "cuts rows by process or session: lists and priorities are shown as a whole";
        refuse("--top", &[(rows.top.is_some() && query.group_by.is_some() && !has_order, whole)])?;
        let chooses_counters = !query.conditions.is_empty() && query.conditions.iter().all(is_of_counters);
        let whole = "cuts working sets, and --where chooses counters alone, which are shown as a whole";
        refuse("--top", &[(rows.top.is_some() && query.group_by.is_none() && chooses_counters, whole)])?;
        let no_rows = "has counters of the system: --top cuts rows of --group-by process or session";
        let of_counters = rows.top.is_some() && query.group_by.is_none();
        refuse("--each", &[(self.each.each && of_counters, no_rows)])?;
        refuse("--columns", &[(self.columns.columns.is_some() && of_counters, no_rows)])
    }

    /// # Errors
    /// A usage error for conditions on what is not shown: the first screen and a JSON object have both counters and processes, chosen
    /// columns are those of counters.
    fn check_conditions(&self, query: &MemoryQuery, is_object: bool) -> Result<(), Error> {
        let is_for_people = self.common.format.is_for_people();
        let by_session = query.group_by == Some(MemoryDimension::Session);
        let of_process = query.conditions.iter().any(|condition| condition.dimension == MemoryDimension::Process);
        let reason = "process: the rows are whole sessions; --group-by process shows what it chooses";
        refuse("--where", &[(by_session && of_process, reason)])?;
        let is_plain = query.group_by.is_none() && self.timeline.is_none();
        let shows_all = is_plain && is_for_people && !self.each.each && self.columns.columns.is_none();
        if is_object || shows_all {
            return Ok(());
        }
        let is_of_process = |of: MemoryDimension| matches!(of, MemoryDimension::Process | MemoryDimension::Session);
        let shows_processes = query.group_by.is_some_and(is_of_process);
        let mut conditions = query.conditions.iter().map(|condition| condition.dimension);
        let Some(other) = conditions.find(|of| is_of_process(*of) != shows_processes) else { return Ok(()) };
        let (shown, advice) = match shows_processes {
            true => ("processes or sessions", "--group-by list or priority"),
            false => ("counters of the system", "--group-by process or session"),
        };
        let reason = format!("{}: the rows are {shown}; {advice} shows what it chooses", other.name());
        refuse("--where", &[(true, &reason)])
    }
}
