//! Runs a command on its trace or, with `--each`, on many traces one after the other.
//!
//! Such a command has a field `each`, and calls [`TraceQuestion::answer`] with the function that handles one trace.

use crate::answer::numbers::Unit;
use crate::answer::{Answer, Units};
use crate::cli::args::{Common, OutputFormat, refuse};
use crate::cli::duplicate_traces::once;
use crate::cli::exit::{self, Exit};
use crate::cli::flags_in_errors::with_flags;
use crate::cli::recorded_together::{RecordedTogether, without_each};
use crate::cli::recordings::Recording;
use crate::cli::trace_paths::{in_argument, passed_over};
use crate::cli::{messages, output, trace};
use crate::error::Error;
use crate::forms::many_traces;
use crate::trace::Trace;
use crate::trace::recording::is_one;
use clap::Args;
use std::path::Path;

/// The flag.
#[derive(Debug, Args)]
pub struct Each {
    /// Analyze each trace by itself, also those in folders (.etl, .etl.gz, .zip, .gz, .zst, .cab; kernel.etl and user.etl are one), in one table;
    /// jsonl writes one object for each
    #[arg(long)]
    pub each: bool,
}

/// Takes the answer of a trace, and whether its data is doubtful.
pub type Show<'s> = &'s mut dyn FnMut(Answer<'_>) -> anyhow::Result<Exit>;

/// What a command asks of its trace, or of each of several.
pub struct TraceQuestion<'a> {
    /// The flags that all commands have.
    pub common: &'a Common,
    /// Whether each trace is asked by itself.
    pub each: &'a Each,
    /// The schema of the JSON.
    pub schema: (&'static str, u32),
    /// The unit in which amounts of memory are shown.
    pub unit: Unit,
}

impl TraceQuestion<'_> {
    /// Opens the trace, or each of them, and passes it to `of_trace`.
    pub fn answer(&self, of_trace: impl Fn(&Path, &Trace, Show<'_>) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let common = self.common;
        if !self.each.each {
            let trace = trace::open(common)?;
            return of_trace(&common.trace, &trace, &mut |answer| trace::finish(answer, common));
        }
        let of_each = |files: &Recording, together: &RecordedTogether, show: Show<'_>| {
            let trace = trace::open_recording(common, files)?;
            let together = together.of(files, &trace);
            let found = of_trace(&files.trace, &trace, &mut |mut answer| {
                answer.warnings.extend(together.clone());
                show(answer)
            });
            // Without an answer that says it: what this trace lacks may be in the other one.
            let unsaid = together.as_ref().filter(|_| found.is_err());
            let line = unsaid.map(|warning| format!("{}: {}", files.trace.display(), warning.text));
            output::warn(line.as_slice());
            found
        };
        self.answer_each(&of_each)
    }

    /// Runs on all traces, also after one failed. Only an error of writing ends it.
    fn answer_each(
        &self,
        of_each: &dyn Fn(&Recording, &RecordedTogether, Show<'_>) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let common = self.common;
        let as_json = "has one object for each trace: --format jsonl writes them, each on a line";
        refuse("--each", &[(common.format == OutputFormat::Json, as_json)])?;
        trace::prepare(common)?;
        let asked: Vec<Recording> = common.traces().map(|path| Recording::new(path.clone(), Vec::new())).collect();
        let (nothing, limits) = (Path::new(""), trace::limits(common));
        let fits = |kernel: &Path, user: &Path| is_one(kernel, user, &limits);
        let (inputs, repeated) =
            once(&asked, asked.iter().flat_map(|one| in_argument(&one.trace, nothing, fits)).collect());
        let read = inputs.iter().filter(|one| one.refused.is_none()).flat_map(Recording::files);
        read.into_iter().try_for_each(|path| output::spare(path, common, "one of the traces"))?;
        if !common.quiet {
            passed_over(&asked, nothing).iter().chain(&repeated).for_each(|line| messages::write(line));
        }
        let units = Units { size: self.unit, ..Units::default() };
        // Nobody may read the table any more: whether the traces are sound counts all the same.
        output::writing_on(common, |out| {
            let mut out = output::for_people(out, common.format, common);
            let form = output::form(common.format, common.csv.cells(), common);
            let mut answers = many_traces::of_form(form, units, self.schema, &mut out);
            let mut worst = Exit::Fine;
            let together = RecordedTogether::new(&inputs, without_each);
            for input in &inputs {
                let mut written = Ok(());
                let name = input.files().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" + ");
                let mut show = |answer: Answer<'_>| {
                    let warnings = answer.warnings.clone().named(&name);
                    self.warn(&name, &answer);
                    written = answers.add(&name, answer.of_files(input.files()));
                    Ok(output::strict_exit(common, common.format == OutputFormat::Table, &warnings))
                };
                let exit = of_each(input, &together, &mut show);
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

    /// Tells of a trace's warnings, which the text table has in itself.
    fn warn(&self, name: &str, answer: &Answer<'_>) {
        if self.common.format != OutputFormat::Table {
            let warnings = output::told(&answer.warnings, self.common.quiet);
            let lines = warnings.iter().map(|line| format!("{name}: {line}"));
            output::warn(&lines.collect::<Vec<_>>());
        }
    }
}

/// One line that says why.
fn brief(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Error>() {
        Some(known @ (Error::MissingEvents(_) | Error::MissingPart(_))) => known.brief(),
        _ => with_flags(error).lines().collect::<Vec<_>>().join(" "),
    }
}
