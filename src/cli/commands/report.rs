//! `pfnset report`.

use crate::analysis::check::TraceResult;
use crate::analysis::check::budget::Budget;
use crate::analysis::check::trace_values::TraceValues;
use crate::analysis::diff::side::Source;
use crate::analysis::report::differences::Differences;
use crate::analysis::report::stack_differences::StackDifferences;
use crate::analysis::report::{Overview, Part};
use crate::cli::args::Base;
use crate::cli::commands::check::read_budgets;
use crate::cli::duplicate_traces::once;
use crate::cli::exit::Exit;
use crate::cli::host_call::Call;
use crate::cli::recorded_together::{RecordedTogether, with_flag};
use crate::cli::recordings::{Recording, Recordings};
use crate::cli::symbols::SymbolArgs;
use crate::cli::{messages, output, progress, trace};
use crate::error::Error;
use crate::forms::html::HtmlReport;
use crate::trace::Trace;
use clap::Args;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// How often a trace is read: all records, its pages for the table and for the pictures, accesses, context switches.
const READS: u64 = 5;

#[derive(Debug, Args)]
#[command(mut_arg("trace", |arg| arg.value_name("ETL")))]
#[command(mut_arg("further", |arg| arg.value_name("ETL").help("More traces: each is shown beside the first and compared with it")))]
#[command(after_help = "\
One HTML file with everything in it: no server, no network, to be opened from a
mail attachment, searched and printed. It shows what the trace holds:

  resident set   tiles by class, category, process or file; WPA's rules or ours
  WPA            which pages WPA counts in other categories, and why
  PFNs           physical memory in order, by category or list
  reference set  held pages over time, reasons, impact
  memory, CPU    over time
  stacks         which code ran, waited, touched pages (flame graph)

It begins with three sentences: what holds the memory, what is out of the
ordinary, where to look next. With several traces it also shows what grew and
what shrank, from three on with a table of all. docs/report.md
explains how to read it.

Examples:
  pfnset report trace.etl -o report.html
  pfnset report before.etl after.etl -o growth.html
  pfnset report kernel.etl --with user.etl -o report.html
  pfnset report good.etl new.etl --budgets budgets.toml -o report.html")]
pub struct Report {
    #[command(flatten)]
    pub recordings: Recordings,
    #[command(flatten)]
    pub base: Base,
    /// Verdicts on these budgets, as pfnset check gives them; max_growth counts from the first trace
    #[arg(long, value_name = "FILE")]
    pub budgets: Option<PathBuf>,
    #[command(flatten)]
    pub symbols: SymbolArgs,
}

impl Report {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let base = &self.base;
        if base.output.is_none() && Call::current().is_none() && std::io::stdout().is_terminal() {
            return Err(Error::Usage("the report is a file for a browser; name it: -o report.html".into()).into());
        }
        trace::prepare_all(base, &self.recordings)?;
        let (recordings, repeated) = once(&self.recordings.traces, self.recordings.traces.clone());
        let recordings = &recordings[..];
        if !base.quiet {
            repeated.iter().for_each(|line| messages::write(line));
        }
        let mut budgets = self.budgets.as_ref().map(|path| self.read_budgets(path, recordings)).transpose()?;
        let sources = recordings.iter().map(|files| self.open(files)).collect::<anyhow::Result<Vec<Source>>>()?;
        let traces: Vec<&Trace> = sources.iter().filter_map(Source::trace).collect();
        let symbols = self.symbols.folders(base.quiet, base.output.as_deref())?;
        budgets.iter_mut().flatten().for_each(|budget| budget.symbols = symbols.clone());
        let total = traces.iter().map(|trace| READS * trace.etl().size_bytes()).sum();
        let done = || traces.iter().map(|trace| trace.etl().bytes_read()).sum();
        let (overviews, (differences, stacks)) = progress::with_bar(base.quiet, total, done, || {
            let together = RecordedTogether::new(recordings, with_flag);
            let of_trace = |(recording, trace): (&Recording, &&Trace)| {
                let mut overview = Overview::with_symbols(trace, &symbols);
                overview.warnings.extend(together.of(recording, trace));
                overview
            };
            let overviews: Vec<Overview> = recordings.iter().zip(&traces).map(of_trace).collect();
            let stacks = StackDifferences::of_all(&traces, &overviews.iter().collect::<Vec<_>>(), &symbols);
            (overviews, (differences(&sources), stacks))
        });
        let is_named = overviews.iter().any(|overview| overview.stacks.is_ok())
            || budgets.iter().flatten().any(Budget::names_functions);
        if !self.symbols.symbols.is_empty() && !is_named && !base.quiet {
            messages::write("--symbols has no effect: no samples, waits or page accesses with stacks to name");
        }
        let verdicts = budgets.map(|budgets| verdicts(recordings, &traces, &budgets)).unwrap_or_default();
        let page = HtmlReport::new(recordings.iter().map(paths).zip(&overviews), &differences)
            .with_verdicts(&verdicts)
            .with_stacks(&stacks);
        let mut bytes = Vec::new();
        page.write(&mut bytes)?;
        let written = output::open_rows(&base.printing).and_then(|mut out| {
            out.write(&bytes)?;
            out.finish()
        });
        if output::unless_closed(written)? {
            for (recording, overview) in recordings.iter().zip(&overviews) {
                let name = if overviews.len() > 1 { format!("{}: ", recording.trace.display()) } else { String::new() };
                let lines = output::told(&overview.warnings, base.quiet);
                output::warn(&lines.iter().map(|line| format!("{name}{line}")).collect::<Vec<_>>());
            }
        }
        let doubtful = overviews.iter().any(|overview| overview.warnings.is_doubtful());
        Ok(if base.strict && doubtful { Exit::BadInput } else { Exit::Fine })
    }

    /// The budgets; those that count from another trace need one.
    fn read_budgets(&self, path: &Path, recordings: &[Recording]) -> anyhow::Result<Vec<Budget>> {
        let budgets = read_budgets(path, &self.base)?;
        let of_growth = budgets.iter().find(|budget| budget.max_growth.is_some());
        match of_growth.filter(|_| recordings.len() < 2) {
            Some(budget) => {
                let text = format!(
                    "budget \"{}\" has max_growth, which counts from the first of several traces: name an earlier trace before this one",
                    budget.name
                );
                Err(Error::Usage(text).into())
            }
            None => Ok(budgets),
        }
    }

    fn open(&self, files: &Recording) -> anyhow::Result<Source> {
        Ok(Source::of_trace(&files.trace, trace::open_recording(&self.base, files)?))
    }
}

/// The files of a recording.
fn paths(recording: &Recording) -> Vec<&Path> {
    recording.files().map(PathBuf::as_path).collect()
}

/// The results of the budgets for each trace. The first trace is the baseline of the others.
fn verdicts(recordings: &[Recording], traces: &[&Trace], budgets: &[Budget]) -> Vec<TraceResult> {
    let values: Vec<TraceValues> = traces.iter().map(|trace| TraceValues::answer(trace, budgets)).collect();
    let earlier = values.first().cloned().map(TraceValues::of_baseline);
    let files = recordings.iter().map(|recording| recording.files().cloned().collect());
    let result = |(number, (files, values)): (usize, (_, TraceValues))| {
        TraceResult::new(files, budgets, values, earlier.as_ref().filter(|_| number > 0))
    };
    files.zip(values).enumerate().map(result).collect()
}

/// Between the first trace and each of the others.
fn differences(sources: &[Source]) -> Vec<Part<Differences>> {
    let Some((first, others)) = sources.split_first() else { return Vec::new() };
    others.iter().map(|other| Differences::new(first, other)).collect()
}
