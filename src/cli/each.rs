//! Runs a command on its trace or, with `--each`, on many traces one after the other.
//!
//! Such a command has a field `each`, and calls [`Asked::answer`] with the function that handles one trace.

use crate::cli::args::{Common, OutputFormat, refuse};
use crate::cli::exit::{self, Exit};
use crate::cli::trace_paths::{Named, named};
use crate::cli::{output, trace};
use clap::Args;
use pfnset::error::Error;
use pfnset::report::each_trace::{Answers, OneCsv, OneObjectEach, OneTable};
use pfnset::report::text::Unit;
use pfnset::report::{Report, Style};
use pfnset::trace::Trace;
use std::io::{self, Write};
use std::path::Path;

/// The flag.
#[derive(Debug, Args)]
pub struct Each {
    /// Analyze each trace by itself, also those in folders (.etl, .etl.gz, .zip, .gz, .zst, .cab), in one table.
    /// --top counts in each trace; jsonl writes one object for each
    #[arg(long)]
    pub each: bool,
}

/// Takes the report of a trace, and whether its data is doubtful.
pub type Show<'s> = &'s mut dyn FnMut(&dyn Report, bool) -> anyhow::Result<Exit>;

/// A question to traces.
pub struct Asked<'a> {
    /// The flags that all commands have.
    pub common: &'a Common,
    /// Whether each trace is asked by itself.
    pub each: &'a Each,
    /// The schema of the JSON.
    pub schema: &'static str,
    /// In what amounts of memory are shown.
    pub unit: Unit,
}

impl Asked<'_> {
    /// Opens the trace, or each of them, and passes it to `of_trace`.
    pub fn answer(&self, of_trace: impl Fn(&Path, &Trace, Show<'_>) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let common = self.common;
        if !self.each.each {
            let trace = trace::open(common)?;
            return of_trace(&common.trace, &trace, &mut |report, doubtful| trace::finish(report, common, doubtful));
        }
        let of_each = |path: &Path, show: Show<'_>| of_trace(path, &trace::open_file(common, path)?.into(), show);
        self.answer_each(&of_each)
    }

    /// Runs on all traces, also after one failed. Only an error of writing ends it.
    fn answer_each(&self, of_each: &dyn Fn(&Path, Show<'_>) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let common = self.common;
        let as_json = "has one object for each trace: --format jsonl writes them, each on a line";
        refuse("--each", &[(common.format == OutputFormat::Json, as_json)])?;
        trace::prepare(common)?;
        let inputs: Vec<Named> = common.traces().flat_map(|path| named(path, None)).collect();
        inputs.iter().flatten().try_for_each(|path| output::spare(path, common, "one of the traces"))?;
        output::writing(common, |out, width| {
            let mut out = output::for_people(out, common.format, common);
            let mut answers = self.form(&mut out, width);
            let mut worst = Exit::Fine;
            for input in inputs {
                let (path, mut written) = (input.as_ref().unwrap_or_else(|(path, _)| path), Ok(()));
                let name = path.display().to_string();
                let mut show = |report: &dyn Report, doubtful: bool| {
                    written = answers.add(&name, report);
                    self.warn(&name, report);
                    Ok(if common.strict && doubtful { Exit::BadInput } else { Exit::Fine })
                };
                let exit = match &input {
                    Ok(path) => of_each(path, &mut show),
                    Err((path, reason)) => {
                        let source = io::Error::other(reason.clone());
                        Err(Error::Unreadable { path: path.clone(), source }.into())
                    }
                };
                written?;
                worst = worst.of_both(match exit {
                    Ok(exit) => exit,
                    Err(error) => {
                        answers.add_error(&name, &brief(&error))?;
                        exit::of_error(&error)
                    }
                });
            }
            answers.finish()?;
            Ok(worst)
        })
    }

    fn form<'o>(&self, out: &'o mut dyn Write, width: u16) -> Box<dyn Answers + 'o> {
        match self.common.format {
            OutputFormat::Table => Box::new(OneTable::new(out, Some(Style { width }), self.unit)),
            OutputFormat::Markdown => Box::new(OneTable::new(out, None, self.unit)),
            OutputFormat::Csv => Box::new(OneCsv::new(out)),
            OutputFormat::Json | OutputFormat::Jsonl => Box::new(OneObjectEach::new(out, self.schema)),
        }
    }

    /// Tells of a trace's doubts, which the text table has in itself.
    fn warn(&self, name: &str, report: &dyn Report) {
        if self.common.format != OutputFormat::Table && !self.common.quiet {
            let lines = report.warnings().iter().map(|line| format!("{name}: {line}"));
            output::warn(&lines.collect::<Vec<_>>());
        }
    }
}

/// One line that says why.
fn brief(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Error>() {
        Some(known @ (Error::MissingEvents(_) | Error::MissingPart(_))) => known.brief(),
        _ => format!("{error:#}").lines().collect::<Vec<_>>().join(" "),
    }
}
