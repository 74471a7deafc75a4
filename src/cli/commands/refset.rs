//! `pfnset refset`: from its flags to the report.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::{Dimension, Query, RowOrder};
use crate::analysis::table::Condition;
use crate::answer::refset::{self, RefsetView};
use crate::cli::args::{
    ColumnArgs, Common, OneOf, RowArgs, WindowArgs, by_default, conditions, group_by, grouped_by, help, inclusive,
    refuse, span,
};
use crate::cli::exit::Exit;
use crate::cli::many_traces::{Each, Show, TraceQuestion};
use crate::cli::symbols::{NAMES_FUNCTIONS, SymbolArgs};
use crate::cli::{messages, output, trace};
use crate::error::Error;
use crate::trace::Trace;
use crate::units::Nanos;
use clap::Args;
use std::path::Path;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(mut_arg("from", |from| by_default(from, "start mark")), mut_arg("to", |to| by_default(inclusive(to), "stop mark")))]
#[command(after_help = help::<Dimension>("Dimensions", "\
Rows count pages held at the window's end; with release_reason or impact all
pages held in the window.

A page is held while it is in a working set: of a process, a session, or the
system (its cache, paged pool, system views). At the start, pages are held that
were still active after the recorder emptied all working sets. Kernel pages that
were active at the start, pool of whole pages, and ranges of large,
driver-locked and AWE pages are in no working set: they are accessed and
released, but not held. Cached writes are accesses that enter no working set.
A re-access is an access of a page that is held already: if trims were recorded,
there is none.

Impact says when a page was held:
  Impacting   from inside the window until after it; negative where it was held
              before the window and released inside
  Transient   only inside the window
  Persistent  before, in and after the window
Charged pages (impact_pages in CSV and JSON) counts each physical page once:
for the process that accessed it first, until the last holder releases it.

Stack, function and module are those of the access that a row counts, if stacks
were recorded: of the record that put the page into the working set, of a charged
page that of its first holder. Rows have the innermost frame; as conditions,
function and module find any frame of the stack.

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset refset trace.etl
  pfnset refset trace.etl --group-by process,category --top 5
  pfnset refset trace.etl --where \"process=chrome.exe*\" --group-by file
  pfnset refset trace.etl --group-by impact,function --symbols C:\\symbols
  pfnset refset trace.etl --from \"click*\" --to 12.5 --group-by impact,process
  pfnset refset trace.etl --timeline 100ms --format csv -o held.csv
  pfnset refset trace.etl --timeline 1 --where \"process=chrome*\" --group-by process
  pfnset refset --each traces/ --group-by class
  pfnset refset trace.etl --verify --max-residue 0.5"))]
pub struct Refset {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub each: Each,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Order of the rows [default: pages]
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<RowOrder>,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Held pages over time, every STEP (seconds, or with a unit as in 100ms): by category, or as --group-by says
    #[arg(long, value_name = "STEP", value_parser = span, conflicts_with = "verify")]
    pub timeline: Option<Nanos>,
    /// Compare with the final page sequence by use and process; exit code 1 when they differ too much
    #[arg(long, conflicts_with_all = ["group_by", "conditions"])]
    pub verify: bool,
    /// How many pages may disagree, in percent of the pages that match, or that Windows logged; more are a warning (--strict) and with
    /// --verify exit code 1
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub max_residue: f64,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok().filter(|percent| *percent >= 0.0);
    percent.ok_or_else(|| "a number of percent, 0 or more".to_owned())
}

const ORDERS: OneOf<RowOrder> = OneOf(&[
    ("pages", "Most pages first", RowOrder::Pages),
    ("size", "The same", RowOrder::Pages),
    ("name", "By name", RowOrder::Name),
    ("peak", "Processes with the highest peak first (without --group-by, --columns and --each)", RowOrder::Peak),
    ("impact", "Most physical pages first (with the dimension impact)", RowOrder::ImpactPages),
]);

impl Refset {
    /// Flags that would be without effect are refused.
    fn check(&self, query: &Query) -> Result<(), Error> {
        let rows = &self.rows;
        rows.check(self.common.format)?;
        self.columns.check(self.common.format)?;
        let whole = [
            (rows.top.is_some(), "is shown as a whole: --top has no effect"),
            (self.sort.is_some(), "has an order of its own: --sort has no effect"),
            (rows.unit.is_some(), "counts pages: --unit has no effect"),
            (self.columns.columns.is_some(), "has columns of its own: --columns has no effect"),
        ];
        for (flag, is_given) in [("--timeline", self.timeline.is_some()), ("--verify", self.verify)] {
            if is_given {
                refuse(flag, &whole)?;
            }
        }
        let has_window = self.window.is_given();
        let at_end = "compares what is held at the final page sequence: --from and --to have no effect";
        refuse("--verify", &[(self.verify && has_window, at_end)])?;
        let by_impact = query.order == RowOrder::ImpactPages && !query.group_by.contains(&Dimension::Impact);
        let by_peak = query.order == RowOrder::Peak;
        let is_screen = self.common.format.is_for_people();
        let no_peak = [
            (by_peak && rows.group_by.is_some(), "needs the list of processes, which is there without --group-by"),
            (by_peak && !rows.conditions.is_empty(), "needs all pages: peaks of a selection are in --timeline"),
            (by_peak && self.each.each, "is for the list of processes of one trace, which --each does not show"),
            (by_peak && self.columns.columns.is_some(), "is for the list of processes, which --columns does not show"),
            (by_peak && !is_screen, "is for tables; held_by_process of --format json has that order"),
        ];
        refuse("--sort peak", &no_peak)?;
        refuse("--sort impact", &[(by_impact, "needs rows by impact, as in --group-by impact,process")])
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        let mut query = Query {
            conditions: conditions(&rows.conditions)?,
            top: rows.top,
            order: self.sort.unwrap_or_default(),
            from: self.window.from.clone(),
            to: self.window.to.clone(),
            timeline: self.timeline,
            max_residue: self.max_residue / 100.0,
            ..Query::default()
        };
        if rows.group_by.is_some() {
            query.group_by = group_by(rows.group_by.as_ref(), query.group_by)?;
            query.timeline_by.clone_from(&query.group_by);
        } else if self.each.each && common.format.is_for_people() {
            query.group_by = vec![Dimension::Category]; // of many traces, rows by process and category are too many to read
        }
        query.summary_rows = rows.top.unwrap_or(query.summary_rows);
        let has_names = query.wants_stacks();
        refuse("--symbols", &[(!self.symbols.symbols.is_empty() && !has_names, NAMES_FUNCTIONS)])?;
        if has_names {
            query.symbols = self.symbols.folders(common.quiet, common.output.as_deref())?;
        }
        self.check(&query)?;
        let question = TraceQuestion { common, each: &self.each, schema: ("pfnset.refset", 1), unit: rows.unit() };
        let exit = question.answer(|path, trace, show| self.of_trace(&query, path, trace, show))?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        Ok(exit)
    }

    fn of_trace(&self, query: &Query, path: &Path, trace: &Trace, show: Show<'_>) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        // One walk for the events, one for the pages; stacks take two more.
        let walks = if query.wants_stacks() { 4 } else { 2 };
        let mut set = trace::with_bar(common, trace, walks, || ReferenceSet::answer(trace, query))?;
        let view = match () {
            () if self.verify => RefsetView::Verification,
            () if self.timeline.is_some() => RefsetView::Timeline,
            () if rows.group_by.is_some() || set.with_ended => RefsetView::Rows,
            () => RefsetView::Summary,
        };
        let verification = set.verification.as_ref();
        let is_whole = verification.is_none_or(|verification| verification.incomplete.is_none());
        let residue = verification.map(|verification| verification.residue() * 100.0);
        if let Some(error) = set.unverified.take_if(|_| self.verify) {
            return Err(error.into());
        }
        let answer = refset::answer(&set, rows.unit(), view);
        // Labels of accesses that are in no working set are known and choose no row. Over time there can be pages that are gone at the stop.
        let is_empty = matches!(view, RefsetView::Summary | RefsetView::Rows) && set.rows.is_empty();
        let answer = match !query.conditions.is_empty() && is_empty {
            true => output::with_nothing_chosen(answer, &query.conditions),
            false => output::with_no_match(answer, &query.conditions),
        };
        let exit = show(trace::with_columns(&self.columns, self.each.each, answer)?)?;
        let is_above = residue.is_some_and(|residue| residue > self.max_residue);
        // Pages that match and are of another use.
        let uses_differ = set.warnings.iter().any(|warning| warning.code == "uses_differ");
        let differs = self.verify && (!is_whole || is_above || uses_differ);
        if let (true, false, Some(residue)) = (differs, common.quiet, residue) {
            let limit = self.max_residue;
            let of_trace = if self.each.each { format!("{}: ", path.display()) } else { String::new() };
            messages::write(&match is_whole {
                true if !is_above => {
                    format!(
                        "{of_trace}pages that match are of another use, more than {limit} % of them (--max-residue)"
                    )
                }
                true => format!("{of_trace}the residue of {residue:.2} % is above {limit} % (--max-residue)"),
                false => format!("{of_trace}the page sequence is not whole: it proves nothing"),
            });
        }
        Ok(if exit == Exit::Fine && differs { Exit::Difference } else { exit })
    }
}
