//! `pfnset check`.

use crate::analysis::check::baseline::{
    Baseline, OtherLengths, Run, Saved, differing_run, runs_of_other_lengths, runs_of_other_processes,
};
use crate::analysis::check::budget::{Analysis, Budget};
use crate::analysis::check::suggested_budgets::suggest;
use crate::analysis::check::trace_values::{TraceValues, Value};
use crate::analysis::check::verdict::Verdict;
use crate::analysis::check::{TraceResult, budgets_file, unused_baseline, worst};
use crate::analysis::diff::side::{Source, SourceContent};
use crate::answer::check::{self, Checked};
use crate::answer::numbers::Unit;
use crate::cli::args::{Base, Common, OutputFormat, UNITS, file_to_write, refuse};
use crate::cli::duplicate_traces::{once, without_copies};
use crate::cli::exit::Exit;
use crate::cli::host_call::Call;
use crate::cli::recorded_together::{RecordedTogether, with_flag};
use crate::cli::recordings::{Recording, Recordings};
use crate::cli::symbols::SymbolArgs;
use crate::cli::trace_paths::passed_over;
use crate::cli::{atomic_file, bounded_file, messages, output, trace, trace_paths};
use crate::error::{Error, Missing};
use crate::forms::{budgets as suggestions, junit};
use crate::imported::wpa::WpaOptions;
use crate::imported::wpa::text::Text;
use crate::input::{Input, STANDARD_INPUT, is_trace_name};
use crate::trace::recording::is_one;
use crate::trace::trust::warning::Warnings;
use anyhow::Context;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(mut_arg("trace", |arg| arg.value_name("ETL")))]
#[command(mut_arg("further", |arg| arg.value_name("ETL").help("More traces and folders with traces, each trace checked by itself; hidden folders (.NAME) are not searched")))]
#[command(after_help = "\
Budgets in TOML, one table for each:
  [[budget]]
  name = \"Browser\"
  where = { process = \"chrome.exe\" }  # as --where; all must hold
  max = \"300 MiB\"                     # or \"1000 pages\", \"5 %\" of all pages
  max_growth = \"2 %\"                  # against --baseline

  analysis    resident (default), refset, faults, cpu, commit, pool or heap
  measure     of refset: held_at_stop (default), peak, accessed, reaccesses
              of faults: hard_faults (default; max = \"200\"), fault_wait_ms
              (max = \"500\" or \"2 s\")
              of cpu: cpu_ms (default), waiting_ms, ready_ms
              of commit, pool, heap: outstanding (default), peak,
              growth_per_minute
  max, min    a value equal to its limit meets it
  watch       part of a limit from which the verdict is watch, default 90 %
  optional    true: where may match nothing

Verdicts: pass; watch: near a limit; fail: beyond it; no match: where matches
nothing; invalid: data that the budget needs was lost, damaged or not recorded.
Other losses do not matter.

Exit codes: 0 pass or watch, 1 a budget failed or matches nothing and is not
optional, 2 the budgets file or the options are wrong, 3 invalid or unreadable;
with --init 4: the trace holds nothing that budgets could be made of.

Examples:
  pfnset check --init trace.etl -o budgets.toml
  pfnset check trace.etl --budgets budgets.toml
  pfnset check trace.etl --budgets budgets.toml --save-baseline baseline.json
  pfnset check runs/ --budgets budgets.toml --save-baseline baseline.json
  pfnset check a.etl b.etl --budgets budgets.toml --baseline baseline.json \\
    --junit verdicts.xml
  pfnset check kernel.etl --with user.etl --budgets budgets.toml")]
pub struct Check {
    #[command(flatten)]
    pub recordings: Recordings,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// The budgets
    #[arg(long, value_name = "FILE", required_unless_present = "init")]
    pub budgets: Option<PathBuf>,
    /// What max_growth counts from: a saved baseline, a trace, or JSON of pfnset resident or refset
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the values of the trace, for --baseline later; of several traces the median of each and its spread
    #[arg(long, value_name = "FILE", value_parser = file_to_write())]
    pub save_baseline: Option<PathBuf>,
    /// Write the verdicts as JUnit XML too
    #[arg(long, value_name = "FILE", value_parser = file_to_write())]
    pub junit: Option<PathBuf>,
    /// Print a budgets file for the trace, with its largest processes and categories and what was allocated most
    #[arg(long, conflicts_with_all = ["budgets", "baseline", "save_baseline", "junit", "further", "symbols"])]
    pub init: bool,
    /// With --init: write over the file of -o
    #[arg(long)]
    pub force: bool,
    /// Unit of sizes [default: auto]
    #[arg(long, value_parser = UNITS, value_name = "UNIT")]
    pub unit: Option<Unit>,
}

/// Why there is no first file. What is missing may lie in the part that was lost.
fn no_budgets(missing: Missing, has_losses: bool) -> Error {
    let what = format!("No budgets: {}", missing.what);
    if !has_losses {
        return Error::MissingEvents(Missing { what, ..missing });
    }
    let advice = missing.advice.map(|advice| format!(". {advice}")).unwrap_or_default();
    Error::MissingPart(format!(
        "{what}. Make them of a whole trace that lost nothing; pfnset info says what was lost and how to record it{advice}"
    ))
}

impl Check {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        match &self.budgets {
            Some(path) if !self.init => self.check(path),
            _ => self.init(),
        }
    }

    fn init(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        let is_toml = (common.format != OutputFormat::Table, "writes budgets in TOML, in no other form");
        refuse("--init", &[is_toml])?;
        refuse("--unit", &[(self.unit.is_some(), "has no effect on --init: limits have the unit that suits them")])?;
        let has_no_file = self.force && common.output.is_none();
        refuse("--force", &[(has_no_file, "lets -o write over a file of budgets, and there is no -o")])?;
        // Budgets are edited by hand.
        if let Some(path) = common.output.as_ref().filter(|path| path.is_file() && !self.force) {
            let text = format!("-o {} is there already; name another file, or add --force", path.display());
            return Err(Error::Usage(text).into());
        }
        trace::prepare_all(common, &self.recordings)?;
        let recording = self.one_recording()?;
        let trace = trace::open_recording(common, &recording)?;
        let found = trace::with_bar(common, &trace, 3, || suggest(&trace))
            .map_err(|missing| no_budgets(missing, trace.trust().any()))?;
        let mut out = output::open(&common.printing)?;
        suggestions::write(&mut out, &common.trace, &found)?;
        out.finish()?;
        // Pages are what most budgets are about: a file without them is a surprise.
        let is_surprise = found.without.iter().any(|(analysis, _)| *analysis == Analysis::Resident);
        if is_surprise && !common.quiet {
            suggestions::missing(&found).iter().for_each(|line| messages::write(line));
        }
        output::warn(&output::told(&found.grave, common.quiet));
        Ok(if common.strict && !found.grave.is_empty() { Exit::BadInput } else { Exit::Fine })
    }

    /// The recording that budgets are made of. An archive can hold its files, which are checked as one too.
    fn one_recording(&self) -> anyhow::Result<Recording> {
        let named = self.recordings.traces.first().context("no trace")?;
        let limits = trace::limits(&self.common);
        let fits = |kernel: &Path, user: &Path| is_one(kernel, user, &limits);
        let is_alone = !named.with.is_empty() || named.trace.is_dir();
        let found = if is_alone { Vec::new() } else { trace_paths::in_argument(&named.trace, Path::new(""), fits) };
        let [one] = <[Recording; 1]>::try_from(found).unwrap_or_else(|_| [named.clone()]);
        Ok(one)
    }

    fn check(&self, path: &Path) -> anyhow::Result<Exit> {
        let common = &self.common;
        self.check_written()?;
        self.remove_earlier_verdicts()?;
        self.refuse_without_effect()?;
        let mut budgets = read_budgets(path, common)?;
        let symbols = self.symbols.folders(common.quiet, common.output.as_deref())?;
        let has_no_names = !self.symbols.symbols.is_empty() && !budgets.iter().any(Budget::names_functions);
        let reason = format!("names functions: no budget of {} is by stack, function or module", path.display());
        refuse("--symbols", &[(has_no_names, &reason)])?;
        budgets.iter_mut().for_each(|budget| budget.symbols = symbols.clone());
        self.check_baseline(&budgets)?;
        trace::prepare_all(common, &self.recordings)?;
        let baseline = self.recordings.baseline.as_ref().map(|files| self.open_baseline(files)).transpose()?;
        let earlier: Option<TraceValues> = baseline.as_ref().map(|baseline| baseline.values(&budgets));
        let limits = trace::limits(common);
        let fits = |kernel: &Path, user: &Path| is_one(kernel, user, &limits);
        let named = &self.recordings.traces;
        let (recordings, repeated) = once(named, trace_paths::recordings(named, Path::new(""), fits)?);
        self.spare_found(&recordings)?;
        // A copy is a trace to check as any other, and no run of its own.
        let are_runs = self.save_baseline.is_some();
        let (recordings, copies) = if are_runs { without_copies(recordings) } else { (recordings, Vec::new()) };
        if !common.quiet {
            passed_over(&self.recordings.traces, Path::new("")).iter().for_each(|line| messages::write(line));
            repeated.iter().chain(&copies).for_each(|line| messages::write(line));
        }
        let together = self.together(&recordings, baseline.as_ref());
        let of_each = |recording: &Recording| self.of_trace(recording, &budgets, earlier.as_ref(), &together);
        let (traces, runs): (Vec<TraceResult>, Vec<Run>) = recordings.iter().map(of_each).unzip();
        if let Some(to) = &self.save_baseline {
            save(to, &budgets, &runs)?;
        }
        let of_baseline = earlier.as_ref().map(|values| self.of_baseline(values, &traces)).unwrap_or_default();
        let warnings = all_warnings(&traces, &of_baseline);
        let verdict = worst(traces.iter().map(|trace| trace.verdict));
        let unit = self.unit.unwrap_or_default();
        if let Some(path) = &self.junit {
            let text = junit::document(&traces, &of_baseline, common.strict, unit)
                .map_err(anyhow::Error::msg)
                .context("--junit")?;
            atomic_file::write(path, text.as_bytes())?;
        }
        let (baseline, of_baseline) = (self.baseline.as_deref(), &of_baseline);
        let checked = Checked { budgets: path, baseline, of_baseline, verdict };
        let first_grave = warnings.grave().first().map(|warning| warning.text.clone());
        output::print(&check::answer(checked, &traces, warnings, unit), common.format, common.csv.cells(), common)?;
        Ok(match (verdict, first_grave) {
            (Verdict::Fail | Verdict::NoMatch, _) => Exit::Difference,
            // Who sees the code has to learn where it comes from, also where budgets are invalid for another reason.
            (Verdict::Pass | Verdict::Watch | Verdict::Invalid, Some(text)) if common.strict => {
                messages::write(&format!("--strict: code 3, because numbers can be wrong: {text}"));
                Exit::BadInput
            }
            (Verdict::Invalid, _) => Exit::BadInput,
            (Verdict::Pass | Verdict::Watch, _) => Exit::Fine,
        })
    }

    /// # Errors
    /// A usage error for flags that change nothing of a check.
    fn refuse_without_effect(&self) -> Result<(), Error> {
        refuse("--force", &[(self.force, "is for --init: it lets -o write over a file of budgets")])?;
        match self.common.format.for_programs() {
            Some(form) => {
                // The verdicts in JUnit are for people, and so is the table that a call from Python takes beside its JSON.
                let has_no_effect = self.unit.is_some() && self.junit.is_none() && Call::current().is_none();
                let reason = "has pages, bytes and nanoseconds; --unit is for table and markdown";
                refuse(&format!("--format {form}"), &[(has_no_effect, reason)])
            }
            None => Ok(()),
        }
    }

    /// The traces that may be of one recording: the baseline is looked at first.
    fn together(&self, recordings: &[Recording], baseline: Option<&Baseline>) -> RecordedTogether {
        let files = self.recordings.baseline.as_ref();
        let together = RecordedTogether::new(recordings.iter().chain(files), with_flag);
        if let Some((files, trace)) = files.zip(baseline.and_then(Baseline::trace)) {
            together.of(files, trace);
        }
        together
    }

    /// What makes values of the baseline doubtful or useless, with its name.
    fn of_baseline(&self, values: &TraceValues, traces: &[TraceResult]) -> Warnings {
        let name = format!("baseline {}", self.baseline.as_deref().unwrap_or(Path::new("")).display());
        let warnings: Warnings = values.warnings.iter().cloned().chain(unused_baseline(traces)).collect();
        warnings.named(&name)
    }

    /// Files that are written beside the answer, with their flags.
    fn written(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let written = [("--junit", &self.junit), ("--save-baseline", &self.save_baseline)];
        written.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)))
    }

    /// # Errors
    /// A usage error for one of these inputs that would be written over.
    fn spare_inputs(&self, inputs: &[&PathBuf]) -> Result<(), Error> {
        for (flag, path) in self.written() {
            if inputs.iter().any(|input| is_same(path, input)) {
                return Err(Error::Usage(format!("{flag} {} is an input; name another file", path.display())));
            }
        }
        Ok(())
    }

    /// The same for the traces of folders.
    fn spare_found(&self, found: &[Recording]) -> anyhow::Result<()> {
        let files: Vec<&PathBuf> = found.iter().flat_map(Recording::files).collect();
        self.spare_inputs(&files)?;
        // Those that are no input would be gone just the same.
        if let Some((flag, path)) = self.written().find(|(_, path)| atomic_file::is_trace(path)) {
            return Err(
                Error::Usage(format!("{flag} {} is a trace by its name; name another file", path.display())).into()
            );
        }
        files.iter().try_for_each(|path| output::spare(path, &self.common.printing, "one of the traces"))
    }

    /// # Errors
    /// A usage error for files that would be written over.
    fn check_written(&self) -> Result<(), Error> {
        self.spare_inputs(&self.recordings.files().chain(&self.budgets).collect::<Vec<_>>())?;
        self.written().try_for_each(|(flag, path)| self.symbols.spare(flag, path))?;
        let written = [("-o", &self.common.output), ("--junit", &self.junit), ("--save-baseline", &self.save_baseline)];
        let written: Vec<(&str, &PathBuf)> =
            written.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?))).collect();
        let same = |(at, (_, path)): (usize, &(&str, &PathBuf))| {
            written.iter().skip(at + 1).find(|(_, other)| is_same(path, other)).map(|(flag, _)| (at, *flag))
        };
        if let Some((at, other)) = written.iter().enumerate().find_map(same) {
            let flag = written.get(at).map_or("", |(flag, _)| flag);
            return Err(Error::Usage(format!("{flag} and {other} name the same file")));
        }
        Ok(())
    }

    /// # Errors
    /// A usage error for a baseline that cannot be read, or is missing.
    fn check_baseline(&self, budgets: &[Budget]) -> Result<(), Error> {
        let usage = |text: String| Err(Error::Usage(text));
        if self.baseline.as_ref().is_some_and(|path| path.as_os_str() == STANDARD_INPUT) {
            return usage("--baseline must be a file".into());
        }
        let needs = budgets.iter().find(|budget| budget.max_growth.is_some());
        match needs.filter(|_| self.baseline.is_none() && self.save_baseline.is_none()) {
            Some(budget) => usage(format!(
                "budget \"{}\" has max_growth: give --baseline FILE, or make one with --save-baseline FILE",
                budget.name
            )),
            None => Ok(()),
        }
    }

    /// Who takes the file when the command ends early, as for budgets that are wrong or a folder without traces, does not get the verdicts
    /// of another run. What a folder of traces can hold stays: it may be one of them.
    fn remove_earlier_verdicts(&self) -> anyhow::Result<()> {
        let is_there = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|of_it| of_it.is_file());
        match self.junit.as_ref().filter(is_there).filter(|path| !is_trace_name(path)) {
            Some(path) => fs::remove_file(path).with_context(|| format!("cannot replace {}", path.display())),
            None => Ok(()),
        }
    }

    fn open_baseline(&self, files: &Recording) -> anyhow::Result<Baseline> {
        let (common, path) = (&self.common, &files.trace);
        let not_understood = |reason: String| Error::NotUnderstood { path: path.into(), reason: reason.into() };
        let input = trace::unpacked(common, |limits| Input::open(path, limits))?;
        if let Some(saved) = Saved::read(input.bytes()).map_err(not_understood)? {
            return match files.with.first() {
                Some(with) => Err(Source::no_trace(with, path).into()),
                None => Ok(Baseline::Saved(saved)),
            };
        }
        drop(input);
        let source = trace::open_source(common, files, &WpaOptions::default())?;
        if let SourceContent::Wpa(_) = source.content {
            return Err(not_understood(
                "it is a table of WPA, which counts by other rules; pfnset diff compares with it".into(),
            )
            .into());
        }
        Ok(Baseline::Source(Box::new(source.content)))
    }

    fn of_trace(
        &self,
        recording: &Recording,
        budgets: &[Budget],
        earlier: Option<&TraceValues>,
        together: &RecordedTogether,
    ) -> (TraceResult, Run) {
        let common = &self.common;
        let files: Vec<PathBuf> = recording.files().cloned().collect();
        let run = |values, (machine, code_page), doubts, warnings| {
            let trace = recording.trace.display().to_string();
            Run { trace, values, machine, code_page, doubts, warnings }
        };
        let trace = match trace::open_recording(common, recording) {
            Ok(trace) => trace,
            Err(error) => {
                let unknown = run(vec![None; budgets.len()], (None, None), Vec::new(), Vec::new());
                return (TraceResult::unreadable(files, budgets, &format!("{error:#}")), unknown);
            }
        };
        let mut values = trace::with_bar(common, &trace, 2, || TraceValues::answer(&trace, budgets));
        values.warnings.extend(together.of(recording, &trace));
        // Rows of many runs are much: only a baseline needs them.
        let is_kept = self.save_baseline.is_some();
        // A name may be wrong, or what it names was not there: that is no 0 which growth counts from.
        let known = |(value, budget): (&Result<Value, String>, &Budget)| {
            value.as_ref().ok().filter(|value| !value.has_no_match() || budget.optional).cloned()
        };
        let kept = values.values.iter().zip(budgets).filter(|_| is_kept).map(known);
        let grave = values.warnings.grave().texts();
        let others = values.warnings.iter().filter(|warning| !warning.is_grave);
        let others = others.map(|warning| warning.text.clone()).collect();
        let run = run(kept.collect(), (values.machines.first().cloned(), values.code_page), grave, others);
        (TraceResult::new(files, budgets, values, earlier), run)
    }
}

/// Those of all traces, with their names where there are several, then those of the baseline.
fn all_warnings(traces: &[TraceResult], of_baseline: &Warnings) -> Warnings {
    let of_trace = |trace: &TraceResult| match traces.len() {
        0 | 1 => trace.all_warnings(),
        _ => trace.all_warnings().named(&trace.path().display().to_string()),
    };
    traces.iter().flat_map(of_trace).chain(of_baseline.iter().cloned()).collect()
}

/// True for two names of a file, also of one that is not there yet.
fn is_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some((folder.canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    a == b || atomic_file::is_same_file(a, b) || place(a).is_some_and(|a| Some(a) == place(b))
}

/// Saves the values of runs, unless there are none: a good baseline is not lost by a wrong name of a trace.
fn save(to: &Path, budgets: &[Budget], runs: &[Run]) -> anyhow::Result<()> {
    // A budget has a baseline only where its value is known in each run.
    let lacks = |at: usize| runs.iter().find(|run| !run.values.get(at).is_some_and(Option::is_some));
    let unknown: Vec<(&Budget, &Run)> =
        budgets.iter().enumerate().filter_map(|(at, budget)| Some((budget, lacks(at)?))).collect();
    if let Some((budget, run)) = unknown.first() {
        let by = if runs.len() > 1 { format!(" in all traces: {} lacks them", run.trace) } else { String::new() };
        if unknown.len() == budgets.len() {
            messages::write(&format!(
                "--save-baseline: {} is not written, because no value is known{by}",
                to.display()
            ));
            return Ok(());
        }
        let more = if unknown.len() > 1 { format!(" and {} more", unknown.len() - 1) } else { String::new() };
        messages::write(&format!(
            "--save-baseline: {} has no value of \"{}\"{more}: {} lacks it; with this baseline they are invalid",
            to.display(),
            budget.name,
            run.trace
        ));
    }
    let differing = budgets.iter().enumerate().filter_map(|(at, budget)| Some((budget, differing_run(runs, at)?)));
    for (budget, run) in differing {
        messages::write(&format!(
            "--save-baseline: {} has no value of \"{}\": {} was recorded with other keywords than the first trace, so that it \
             counts other pages; with this baseline it is invalid",
            to.display(),
            budget.name,
            run.trace
        ));
    }
    let of_others = |(at, budget)| Some((budget, runs_of_other_processes(budget, runs, at)?));
    for (budget, reason) in budgets.iter().enumerate().filter_map(of_others) {
        messages::write(&format!(
            "--save-baseline: {} has no value of \"{}\": its runs differ: {reason}; with this baseline it is invalid",
            to.display(),
            budget.name
        ));
    }
    let lengths =
        budgets.iter().enumerate().filter_map(|(at, budget)| Some((budget, runs_of_other_lengths(runs, at)?)));
    for (budget, OtherLengths { shortest, longest, grows }) in lengths {
        messages::write(&format!(
            "--save-baseline: {} has the median of runs of other lengths for \"{}\": {} is shorter than {} by more than a tenth, and \
             {grows}; their spread is not used",
            to.display(),
            budget.name,
            shortest.trace,
            longest.trace
        ));
    }
    machines_differ(to, runs).into_iter().for_each(|text| messages::write(&text));
    let saved = Saved::new(budgets, runs);
    atomic_file::write(to, format!("{}\n", serde_json::to_string_pretty(&saved)?).as_bytes())
}

/// That a run is of another machine than the first one: a median of both is that of neither.
fn machines_differ(to: &Path, runs: &[Run]) -> Option<String> {
    let (first, others) = runs.split_first()?;
    let machine = first.machine.as_ref()?;
    others.iter().find_map(|run| {
        let found = run.machine.as_ref()?.differences(machine, "the first trace");
        let text = found.iter().next()?.text.clone();
        Some(format!("--save-baseline: {} has the median of runs that differ: {}: {text}", to.display(), run.trace))
    })
}

/// The budgets of a file.
pub fn read_budgets(path: &Path, base: &Base) -> anyhow::Result<Vec<Budget>> {
    output::spare(path, &base.printing, "the budgets file")?;
    let bytes = bounded_file::read(path).with_context(|| format!("cannot read the budgets {}", path.display()))?;
    // Windows PowerShell writes what it redirects, as `pfnset check --init`, in UTF-16.
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Ok(budgets_file::read(path, &Text::new(&bytes).whole())?);
    }
    let text = String::from_utf8(bytes).map_err(|error| Error::NotBudgets {
        path: path.into(),
        line: 1,
        column: 1,
        reason: format!("it is no UTF-8 text: {}", error.utf8_error()),
    })?;
    Ok(budgets_file::read(path, &text)?)
}
