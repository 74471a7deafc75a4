//! What a command answers: of its trace, or with `--each` of many traces one after the other.
//!
//! Such a command has a field `each`, and calls [`Asked::answer`] with what it does with one trace.

use crate::cli::args::{Common, OutputFormat, refuse};
use crate::cli::exit::{self, Exit};
use crate::cli::{output, trace};
use clap::Args;
use pfnset::error::Error;
use pfnset::etl::EtlFile;
use pfnset::input::is_trace_name;
use pfnset::report::each::{Answers, OneCsv, OneObjectEach, OneTable};
use pfnset::report::text::Unit;
use pfnset::report::{Report, Style};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The flag.
#[derive(Debug, Args)]
pub struct Each {
    /// Each trace by itself, in one table of all: arguments, and what is in folders (.etl, .etl.gz, .zip, .gz, .zst, .cab).
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
    pub fn answer(&self, of_trace: impl Fn(&Path, &EtlFile, Show<'_>) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let common = self.common;
        if !self.each.each {
            let etl = trace::open(common)?;
            return of_trace(&common.trace, &etl, &mut |report, doubtful| trace::finish(report, common, doubtful));
        }
        let of_each = |path: &Path, show: Show<'_>| of_trace(path, &trace::open_file(common, path)?, show);
        self.answer_each(&of_each)
    }

    /// Asks all traces, whatever comes of one; an error of writing ends it.
    fn answer_each(&self, of_each: &dyn Fn(&Path, Show<'_>) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let common = self.common;
        let as_json = "has one object for each trace: --format jsonl writes them, each on a line";
        refuse("--each", &[(common.format == OutputFormat::Json, as_json)])?;
        trace::prepare(common)?;
        let inputs: Vec<Input> = common.traces().flat_map(|path| inputs(path)).collect();
        inputs.iter().flatten().try_for_each(|path| output::spare(path, common, "one of the traces"))?;
        output::writing(common, |out, width| {
            let mut answers = self.form(out, width);
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

/// A trace, or why there is none at a path.
type Input = Result<PathBuf, (PathBuf, String)>;

/// The traces that an argument stands for: those in a folder by name, or itself.
fn inputs(argument: &Path) -> Vec<Input> {
    if !argument.is_dir() {
        return vec![Ok(argument.into())];
    }
    let entries = WalkDir::new(argument).follow_links(true).sort_by_file_name().into_iter();
    let found: Vec<Input> = entries
        .filter_map(|entry| match entry {
            Ok(entry) => (entry.file_type().is_file() && is_trace_name(entry.path())).then(|| Ok(entry.into_path())),
            Err(error) => Some(Err((error.path().unwrap_or(argument).into(), error.to_string()))),
        })
        .collect();
    match found.is_empty() {
        true => vec![Err((argument.into(), "the folder holds no trace".into()))],
        false => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stand_for_the_traces_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("b/c")).unwrap();
        std::fs::create_dir(path("d")).unwrap();
        for name in ["z.etl", "b/c/y.ETL", "b/x.zip", "a.txt", "a.etl.expected.json", "b/w.etl.gz", "b/etl"] {
            std::fs::write(path(name), "").unwrap();
        }
        let found: Vec<PathBuf> = inputs(folder.path()).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, ["b/c/y.ETL", "b/w.etl.gz", "b/x.zip", "z.etl"].map(path));
        assert_eq!(inputs(&path("d")), [Err((path("d"), "the folder holds no trace".into()))]);
        assert_eq!(inputs(&path("a.txt")), [Ok(path("a.txt"))], "what is named is asked");
    }
}
