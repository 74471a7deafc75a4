//! `pfnset export`: its flags, the traces that they name, and what is printed of each.

use crate::analysis::export::schema::Table;
use crate::cli::args::{OneOf, Reading, refuse};
use crate::cli::duplicate_traces::{once, without_copies};
use crate::cli::exit::Exit;
use crate::cli::recordings::{Recording, Recordings};
use crate::cli::symbols::SymbolArgs;
use crate::cli::trace_paths::{has_traces_only_in, passed_over, recordings};
use crate::cli::{messages, output, progress, terminal, threads};
use crate::dataset::add_trace::{Choice, Outcome, Snapshots};
use crate::dataset::compact::{By, check, compact};
use crate::dataset::same_recording::Named;
use crate::dataset::tags::{Tag, Tags};
use crate::dataset::{Dataset, Format, Refused};
use crate::error::Error;
use crate::escape::visible;
use crate::forms::line_wrapping::wrapped;
use crate::input::{STANDARD_INPUT, refuse_remote};
use crate::pattern::{Pattern, Patterns};
use crate::symbols::folders::SymbolFolders;
use crate::trace::recording::is_one;
use crate::trace::trust::warning::Warnings;
use crate::units::{count, counted};
use anyhow::Context;
use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Traces that are exported at a time; each is read by all threads.
const AT_A_TIME: usize = 4;

#[derive(Debug, Args)]
#[command(after_help = "\
Each file is a separate trace. From a folder, all traces in it and below are
exported: .etl, .etl.gz, .etl.zst, .zip, .cab. There, kernel.etl and user.etl
are one trace if they were recorded together (also A_kernel.etl, A_user.etl).
Of an archive with several traces, each is one. Hidden folders (.NAME) are not
searched.

Tables (docs/export.md has their columns):
  traces warnings resident processes files ranges refset memory_samples
  working_sets allocations
  cpu cpu_waits cpu_interrupts     where context switches were recorded
  pages refset_pages               a row for each page: with --pages
  allocation_pieces                a row for each allocation: with --pieces
  stacks stack_events              a row for each stack, sample, wait, …: with
                                   --stacks; and --pieces: piece_stacks
  events                           a row for each record: with --events

They are written to DIR/TABLE/trace=ID/part-N.parquet; the ID is from the
file's digest, so that exporting a trace again replaces its parts. A trace
that cannot be read is a row in traces, and the exit code is 3.

Examples:
  pfnset export trace.etl --out dataset
  pfnset export trace.etl --out dataset --pages
  pfnset export traces/ --out dataset --resume
  pfnset export trace.etl --out dataset --events \"Process*;*HardFault\"
  pfnset export trace.etl --out dataset --stacks --symbols C:\\symbols
  pfnset export kernel.etl --with user.etl --out dataset
  pfnset export --compact dataset --out few
  duckdb -c \"SELECT category, sum(bytes) FROM 'dataset/resident/*/*.parquet' GROUP BY 1\"")]
pub struct Export {
    #[command(flatten)]
    pub recordings: Recordings,
    /// Traces (.etl, archives with one, ARCHIVE!NAME, - for standard input) and folders with traces
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Folder of the dataset: it is created, or the traces are added to it
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Only these tables, warnings and traces [default: all but those with a row for each page, piece, stack or record]
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',')]
    pub tables: Option<Vec<Table>>,
    /// Also a row for each page: pages, refset_pages
    #[arg(long)]
    pub pages: bool,
    /// Also a row for each piece of commit, pool and heaps: allocation_pieces
    #[arg(long)]
    pub pieces: bool,
    /// Also a row for each distinct stack and for each sample, context switch, hard fault, …: stacks, stack_events; with --pieces also
    /// the stacks of pieces: piece_stacks
    #[arg(long)]
    pub stacks: bool,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Also the table events: a row with all fields for each record whose name in WPA or xperf, or whose id, matches; repeatable
    #[arg(long, value_name = "PATTERNS")]
    pub events: Vec<String>,
    /// Of which snapshots of each trace pages, resident and ranges have rows: last (the last whole one) or all
    #[arg(long, value_parser = SNAPSHOTS, default_value = "last", value_name = "WHICH")]
    pub snapshot: Snapshots,
    /// Form of the files
    #[arg(long, value_enum, default_value_t = FileFormat::Parquet, value_name = "FORM")]
    pub format: FileFormat,
    /// Skip traces that are there already: same digest, same version of pfnset, same form, these tables
    #[arg(long)]
    pub resume: bool,
    /// Write the names of machines; without this flag, each has a pseudonym
    #[arg(long)]
    pub machine_names: bool,
    /// Instead of exporting, copy the dataset PATH into the new folder DIR with few files, by year, month (the default), day or tag_KEY
    #[arg(long, value_name = "BY", num_args = 0..=1, require_equals = true, default_missing_value = "month",
        conflicts_with_all = ["tables", "pages", "pieces", "stacks", "symbols", "snapshot", "format", "resume", "machine_names", "tags", "name", "strict", "with", "events",
            "ansi_codepage", "in_memory", "unpack_limit"])]
    pub compact: Option<By>,
    /// Add the column tag_KEY to traces, with this value for the traces of this run; repeatable
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    pub tags: Vec<Tag>,
    /// What stands in traces.trace_file in place of PATH, for a copy of what lies elsewhere
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
    /// End with code 3 where numbers of a trace can be wrong: lost or damaged data, failed checks
    #[arg(long)]
    pub strict: bool,
    /// Print nothing but errors, and what is lost, cut off or damaged
    #[arg(short, long)]
    pub quiet: bool,
}

const SNAPSHOTS: OneOf<Snapshots> = OneOf(&[
    ("last", "The last whole snapshot of each trace", Snapshots::Last),
    ("all", "All; the column is_last tells them apart", Snapshots::All),
]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// Parquet with zstd
    Parquet,
    /// Arrow files (IPC, Feather 2) with zstd
    Arrow,
    /// Comma-separated values
    Csv,
}

impl FileFormat {
    const fn format(self) -> Format {
        match self {
            FileFormat::Parquet => Format::Parquet,
            FileFormat::Arrow => Format::Arrow,
            FileFormat::Csv => Format::Csv,
        }
    }
}

/// What is done so far, by all threads.
#[derive(Default)]
struct Progress {
    next: AtomicUsize,
    bytes: AtomicU64,
    broken: AtomicUsize,
    doubtful: AtomicUsize,
    passed_over: AtomicUsize,
    stopped: AtomicBool,
    /// The path of each trace, by its name in the dataset.
    paths: Mutex<BTreeMap<String, PathBuf>>,
}

impl Progress {
    /// The path by which the same trace was exported before.
    fn same_trace(&self, id: &str, path: &Path) -> Option<PathBuf> {
        let mut paths = self.paths.lock().ok()?;
        let before = paths.get(id).cloned();
        if before.is_none() {
            paths.insert(id.to_owned(), path.to_path_buf());
        }
        before
    }
}

impl Export {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        threads::start(self.reading.threads)?;
        if let Some(by) = &self.compact {
            return self.compact(by);
        }
        let (refused, traces): (Vec<Recording>, Vec<Recording>) =
            self.traces()?.into_iter().partition(|recording| recording.refused.is_some());
        let streamed = traces.iter().flat_map(Recording::files).filter(|path| path.as_os_str() == STANDARD_INPUT);
        if streamed.count() > 1 {
            return Err(Error::Usage("only one of the files can be standard input (-)".into()).into());
        }
        let choice = self.choice()?;
        let dataset = self.dataset(&traces)?;
        let done = Progress::default();
        let size = |recording: &Recording| -> u64 {
            recording.files().map(|path| std::fs::metadata(path).map_or(0, |data| data.len())).sum()
        };
        let all_bytes = traces.iter().map(size).sum();
        let failed: Mutex<Option<anyhow::Error>> = Mutex::default();
        let work = || {
            while let Some(recording) = traces.get(done.next.fetch_add(1, Ordering::Relaxed)) {
                if done.stopped.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = self.export(&dataset, recording, &choice, &done) {
                    done.stopped.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = failed.lock() {
                        first.get_or_insert(error);
                    }
                }
                done.bytes.fetch_add(size(recording), Ordering::Relaxed);
            }
        };
        let at_a_time = AT_A_TIME.min(traces.len()).min(threads::count());
        progress::with_bar(
            self.quiet,
            all_bytes,
            || done.bytes.load(Ordering::Relaxed),
            || side_by_side(at_a_time, &work),
        );
        if let Some(error) = failed.into_inner().ok().flatten() {
            return Err(error);
        }
        self.tell_unmatched(&choice.events, done.passed_over.into_inner());
        let broken = done.broken.into_inner();
        if broken > 0 {
            let of = counted(traces.len() as u64, "trace", "traces");
            if !self.quiet {
                output::warn(&[format!(
                    "{} of {of} could not be read; the column error of traces says why",
                    count(broken as u64)
                )]);
            }
        }
        output::warn(&refused.iter().filter_map(not_read).collect::<Vec<_>>());
        let doubtful = self.strict && done.doubtful.into_inner() > 0;
        Ok(if broken > 0 || doubtful || !refused.is_empty() { Exit::BadInput } else { Exit::Fine })
    }

    /// The only PATH, and what stands for it in the dataset.
    fn path_and_name(&self) -> Result<Option<(String, String)>, Error> {
        match (&self.name, self.paths.as_slice()) {
            (None, _) => Ok(None),
            (Some(name), [path]) => {
                // Without the separator at the end: it comes with the names below.
                let (shown, ends) = (path.display().to_string(), std::path::is_separator);
                let name = if path.is_dir() { name.trim_end_matches(ends) } else { name };
                Ok(Some((shown.trim_end_matches(ends).to_owned(), name.to_owned())))
            }
            (Some(_), paths) => Err(Error::Usage(format!("--name is for one PATH, and there are {}", paths.len()))),
        }
    }

    /// The recordings that the command line names.
    fn traces(&self) -> Result<Vec<Recording>, Error> {
        for path in self.recordings.files().filter(|path| !path.exists()) {
            refuse_remote(path)?;
        }
        self.spare_traces_of_the_dataset()?;
        let limits = self.reading.limits();
        let fits = |kernel: &Path, user: &Path| is_one(kernel, user, &limits);
        let (traces, repeated) = once(&self.recordings.traces, recordings(&self.recordings.traces, &self.out, fits)?);
        // Exported side by side, any of the copies could give the trace its name.
        let (traces, copies) = without_copies(traces);
        if !self.quiet {
            let passed_over = passed_over(&self.recordings.traces, &self.out);
            passed_over.iter().chain(&repeated).chain(&copies).for_each(|line| messages::write(line));
        }
        Ok(traces)
    }

    /// # Errors
    /// A usage error for a folder whose traces all lie in the dataset's: there none are looked for, and it would seem to hold none.
    fn spare_traces_of_the_dataset(&self) -> Result<(), Error> {
        let mut folders = self.recordings.traces.iter().map(|one| &one.trace).filter(|path| path.is_dir());
        let Some(folder) = folders.find(|folder| has_traces_only_in(folder, &self.out)) else { return Ok(()) };
        let (folder, out) = (folder.display(), self.out.display());
        Err(Error::Usage(format!(
            "the traces of {folder} lie in the folder of the dataset, --out {out}, where none are looked for: name another folder, as in \
             --out {}",
            self.out.join("dataset").display()
        )))
    }

    fn choice(&self) -> Result<Choice, Error> {
        let tables = self.tables();
        if tables.contains(&Table::Events) && Patterns::new(&self.events.join(";")).all().next().is_none() {
            return Err(Error::Usage(
                "say which events with --events NAME, as in --events \"Process*\"; * is all".into(),
            ));
        }
        let has_names = tables.contains(&Table::Stacks);
        let needless = !self.symbols.symbols.is_empty() && !has_names;
        refuse("--symbols", &[(needless, "names functions in the table stacks: ask for it with --stacks")])?;
        let symbols = if has_names { self.symbols.folders(self.quiet, None)? } else { SymbolFolders::default() };
        Ok(Choice {
            tables,
            snapshots: self.snapshot,
            resume: self.resume,
            machine_names: self.machine_names,
            code_page: self.reading.ansi_codepage,
            events: Patterns::new(&self.events.join(";")),
            symbols,
        })
    }

    /// Opens the dataset. What does not fit it is said also with `--quiet`: somebody put it there.
    fn dataset(&self, traces: &[Recording]) -> Result<Dataset, Error> {
        let tags = Tags::new(&self.tags).map_err(Error::Usage)?;
        let dataset = Dataset::open(&self.out, self.format.format(), env!("CARGO_PKG_VERSION"))?;
        warn_of(dataset.refused());
        let dataset = dataset.with_tags(tags, self.path_and_name()?);
        let named: Vec<(&Path, &[PathBuf])> =
            traces.iter().map(|recording| (recording.trace.as_path(), recording.with.as_slice())).collect();
        dataset.refuse_other_form(&named, &self.reading.limits())?;
        Ok(dataset)
    }

    /// Says which patterns of `--events` match no record; of traces that were skipped that is not known.
    fn tell_unmatched(&self, events: &Patterns, passed_over: usize) {
        if passed_over == 0 {
            let missed = events.all().filter(|pattern| !pattern.has_matched());
            let line =
                |pattern: &Pattern| format!("--events \"{}\" matches nothing{}", pattern.text, pattern.cut_advice());
            output::tell_unmatched(self.quiet, &missed.map(line).collect::<Vec<_>>());
        }
    }

    /// Copies a dataset into few files.
    fn compact(&self, by: &By) -> anyhow::Result<Exit> {
        let [from] = self.paths.as_slice() else {
            return Err(Error::Usage("--compact copies one dataset: --compact DATASET --out NEW".into()).into());
        };
        check(from, &self.out)?;
        let (done, all) = (AtomicU64::default(), part_bytes(from));
        let bytes = || done.load(Ordering::Relaxed);
        let made = progress::with_bar(self.quiet, all, bytes, || compact(from, &self.out, by, &done))?;
        warn_of(&made.refused);
        if !self.quiet {
            let line = format!(
                "{}: {} in {} instead of {}, {}",
                self.out.display(),
                counted(made.traces as u64, "trace", "traces"),
                counted(made.files.0 as u64, "file", "files"),
                count(made.files.1 as u64),
                ByteSize(made.bytes)
            );
            output::unless_closed(
                writeln!(std::io::stdout(), "{}", visible(&line)).context("cannot write to standard output"),
            )?;
        }
        Ok(Exit::Fine)
    }

    /// The tables that were asked for.
    fn tables(&self) -> Vec<Table> {
        let mut tables = match &self.tables {
            Some(tables) => tables.clone(),
            None => {
                let is_small = |table: &Table| {
                    !(table.is_by_page() || table.is_by_piece() || table.is_of_stacks() || *table == Table::Events)
                };
                Table::ALL.into_iter().filter(is_small).collect()
            }
        };
        tables.extend([Table::Warnings, Table::Traces]);
        tables.extend((!self.events.is_empty()).then_some(Table::Events));
        if self.pages {
            tables.extend(Table::ALL.into_iter().filter(|table| table.is_by_page()));
        }
        tables.extend(self.pieces.then_some(Table::AllocationPieces));
        if self.stacks {
            tables.extend([Table::Stacks, Table::StackEvents]);
            tables.extend(tables.contains(&Table::AllocationPieces).then_some(Table::PieceStacks));
        }
        // What others refer to is there too, from the same run.
        tables.extend(tables.contains(&Table::PieceStacks).then_some(Table::AllocationPieces));
        tables.extend(tables.iter().any(|table| table.is_of_stacks()).then_some(Table::Stacks));
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    fn export(&self, dataset: &Dataset, recording: &Recording, choice: &Choice, done: &Progress) -> anyhow::Result<()> {
        let limits = self.reading.limits();
        let outcome = dataset.export(&recording.trace, &recording.with, choice, &limits)?;
        if outcome.error.is_some() {
            done.broken.fetch_add(1, Ordering::Relaxed);
        }
        done.passed_over.fetch_add(outcome.passed_over.into(), Ordering::Relaxed);
        if !outcome.grave.is_empty() {
            done.doubtful.fetch_add(1, Ordering::Relaxed);
        }
        let name = shown(recording);
        // What was not recorded is in the table of warnings; here it would fill the screen.
        let shown: Warnings = outcome.grave.iter().chain(&outcome.of_symbols).cloned().collect();
        let lines = output::told(&shown, self.quiet);
        output::warn(&lines.iter().map(|line| format!("{name}: {line}")).collect::<Vec<_>>());
        let told: Vec<String> = outcome.related.beside.iter().map(|other| alone(&name, other, &self.out)).collect();
        done.doubtful.fetch_add(usize::from(outcome.grave.is_empty() && !told.is_empty()), Ordering::Relaxed);
        output::warn(&told);
        if self.quiet {
            return Ok(());
        }
        notes(&name, &outcome).iter().for_each(|line| messages::write(line));
        let same = done.same_trace(&outcome.id, &recording.trace);
        let mut line = line(&name, &outcome, same.as_deref());
        let is_named = |table: &Table| self.tables.as_ref().is_some_and(|named| named.contains(table));
        let is_asked_for =
            |table: &&Table| is_named(table) || table.is_by_page() || table.is_by_piece() || table.is_of_stacks();
        let lacking: Vec<&str> = outcome.lacking.iter().filter(is_asked_for).map(|table| table.name()).collect();
        if !lacking.is_empty() {
            line.push_str(&format!("; not {}, for which it has no events", lacking.join(", ")));
        }
        let width = terminal::output_width(false);
        // Who reads the lines may want no more of them; the traces are exported all the same.
        let written =
            wrapped(&mut std::io::stdout(), &visible(&line), width).context("cannot write to standard output");
        output::unless_closed(written).map(drop)
    }
}

/// Why a path that was found in a folder is not read.
fn not_read(recording: &Recording) -> Option<String> {
    Some(format!("cannot read {}: {}", recording.trace.display(), recording.refused.as_ref()?))
}

/// Says what lies in a dataset and does not fit it.
fn warn_of(refused: &[Refused]) {
    let text = |refused: &Refused| format!("{} is not used: {}", refused.path.display(), refused.reason);
    output::warn(&refused.iter().map(text).collect::<Vec<_>>());
}

/// Bytes of the files in a dataset.
fn part_bytes(dataset: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dataset).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

/// Runs the same work so many times at once; this thread does what no other can be had for.
fn side_by_side(times: usize, work: &(dyn Fn() + Sync)) {
    thread::scope(|scope| {
        let _ = (1..times).all(|_| thread::Builder::new().spawn_scoped(scope, work).is_ok());
        work();
    });
}

/// The files of a recording, where they can be guessed from a folder as well as where they were named.
fn shown(recording: &Recording) -> String {
    recording.files().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" + ")
}

/// That a file of a recording is there beside another one, and what to do.
fn alone(name: &str, other: &Named, out: &Path) -> String {
    let [kernel, user] = if other.is_kernel { [&other.file, name] } else { [name, &other.file] };
    format!(
        "{name} was recorded together with {} ({}), which is a trace of its own: whatever sums over traces counts their machine and time \
         twice. Export both as one, which takes the place of both: pfnset export {kernel} --with {user} --out {}",
        other.file,
        other.id,
        out.display()
    )
}

/// What changed in the dataset beside the tables of a trace.
fn notes(name: &str, outcome: &Outcome) -> Vec<String> {
    let renamed = outcome.renamed.iter().map(|(before, now)| {
        format!("{name}: the dataset had the same trace as {before}; it takes its place as {now}")
    });
    let instead = outcome.related.instead_of.iter().map(|part| {
        format!("{name}: it takes the place of {} ({}), which was a trace of a part of its files", part.file, part.id)
    });
    renamed.chain(instead).collect()
}

/// What is said of a trace.
fn line(name: &str, outcome: &Outcome, same: Option<&Path>) -> String {
    let Outcome { id, rows, bytes, tables, .. } = outcome;
    match &outcome.error {
        Some(error) => format!("{id}  {error}"),
        None if let Some(same) = same => format!("{id}  {name}: the same trace as {}", same.display()),
        None if let Some(Named { id: whole, file, .. }) = &outcome.related.part_of => {
            format!(
                "{id}  {name}: a file of the recording {whole} ({file}), which is there: it counts once. Export its files together"
            )
        }
        None if outcome.passed_over => format!("{id}  {name}: there already"),
        None => format!(
            "{id}  {name}: {}, {}, {}",
            counted(*tables as u64, "table", "tables"),
            counted(*rows, "row", "rows"),
            ByteSize(*bytes)
        ),
    }
}
