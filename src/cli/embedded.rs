//! Commands inside of another program, such as the Python module: it opens a trace once and runs commands on it. They are those
//! of the command line, with its words for what is wrong; what they would print goes to the caller.
//!
//! A command and what it calls ask [`Call::current`] where their surroundings matter: the trace, threads, output, messages,
//! progress. No command knows who calls it.

use crate::analysis::export::collected;
use crate::analysis::info::recording_files::{self, RecordingFile};
use crate::answer::Answer;
use crate::cli::commands::{Cli, Command};
use crate::cli::{error_flags, exit, threads, trace};
use crate::error::Error;
use crate::forms::{self, Form, Look, arrow};
use crate::input::{STANDARD_INPUT, Stopped};
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::doubt::texts;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the caller sees of a call while it runs, from another thread.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set it to stop the call, which then fails with [`Failure::Stopped`].
    pub stop: Arc<AtomicBool>,
    /// Bytes that were read so far.
    pub done: AtomicU64,
    /// About how many will be read; 0 while that is not known.
    pub total: AtomicU64,
}

/// A trace that was opened for many calls, one at a time.
#[derive(Debug)]
pub struct OpenTrace {
    trace: Trace,
    files: Vec<RecordingFile>,
    watch: Arc<Watch>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code that the program would have.
    pub exit: u8,
    /// What it would have written to standard output.
    pub output: Vec<u8>,
    /// Its answer as text, where the caller wants that besides.
    pub text: Vec<u8>,
    /// The rows of its answer, typed; `None` for a command that has no answer of rows.
    pub rows: Option<RecordBatch>,
    /// What it would have written to standard error.
    pub told: Vec<String>,
}

/// A table of an export.
#[derive(Debug)]
pub struct ExportedTable {
    /// Its columns.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
    /// What casts doubt on it.
    pub told: Vec<String>,
}

/// Why a command has no outcome.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments.
    Usage(String),
    /// The input cannot be read or is no trace.
    NotATrace(String),
    /// What the command needs is missing from the file.
    MissingPart(String),
    /// What the command needs was not recorded, and how to record it.
    MissingEvents(String, Option<String>),
    /// Something else, such as a file that cannot be written.
    Other(String),
    /// The caller stopped it.
    Stopped,
    /// An error of this library.
    Fault(String),
}

/// A call, for the commands.
pub(super) struct Call {
    pub trace: Option<Arc<OpenTrace>>,
    pub watch: Arc<Watch>,
    /// Columns of text.
    pub width: u16,
    has_text: bool,
    output: RefCell<Vec<u8>>,
    text: RefCell<Vec<u8>>,
    rows: RefCell<Option<RecordBatch>>,
    told: RefCell<Vec<String>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Call>>> = const { RefCell::new(None) };
}

/// Puts the call back that was there before: a thread that waits for others may take up another call meanwhile.
struct Before(Option<Rc<Call>>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Call {
    /// The call that this thread works on; none in the program.
    pub fn current() -> Option<Rc<Call>> {
        CURRENT.with_borrow(Option::clone)
    }

    /// Runs a part of a command, which may unwind where it is stopped.
    fn run<T>(self: &Rc<Call>, work: impl FnOnce() -> anyhow::Result<T>) -> Result<T, Failure> {
        let before = Before(CURRENT.replace(Some(self.clone())));
        let made = catch_unwind(AssertUnwindSafe(work));
        drop(before);
        match made {
            _ if self.watch.stop.load(Ordering::Relaxed) => Err(Failure::Stopped),
            Ok(made) => made.map_err(|error| Failure::of(&error)),
            Err(payload) => Err(Failure::of_panic(payload.as_ref())),
        }
    }

    /// Takes a message.
    pub fn tell(&self, text: &str) {
        self.told.borrow_mut().push(text.strip_prefix("warning: ").unwrap_or(text).to_owned());
    }

    /// Takes the rows of an answer, and its text if the caller wants it.
    pub fn take(&self, answer: &Answer<'_>) -> io::Result<()> {
        *self.rows.borrow_mut() = Some(arrow::rows(&answer.tables).map_err(io::Error::other)?);
        let look = Look { width: self.width, color: false, rows: None };
        if self.has_text { forms::write(answer, Form::Text(look), &mut *self.text.borrow_mut()) } else { Ok(()) }
    }
}

/// The output of a call.
pub(super) struct Captured(pub Rc<Call>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.output.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Failure {
    fn of(error: &anyhow::Error) -> Failure {
        let text = error_flags::with_flags(error);
        match (exit::of_error(error), error.downcast_ref::<Error>()) {
            (_, Some(Error::MissingEvents(missing))) => {
                Failure::MissingEvents(missing.what.clone(), missing.advice.clone())
            }
            (_, Some(Error::MissingPart(_))) => Failure::MissingPart(text),
            (exit::Exit::BadInput, _) => Failure::NotATrace(text),
            (_, Some(Error::NotWritten { .. })) => Failure::Other(text),
            (_, None) if error.chain().any(|cause| cause.is::<io::Error>()) => Failure::Other(text),
            _ => Failure::Usage(text),
        }
    }

    fn of_panic(payload: &(dyn Any + Send)) -> Failure {
        if payload.is::<Stopped>() {
            return Failure::Stopped;
        }
        let text = payload.downcast_ref::<&str>().copied().map(str::to_owned);
        Failure::Fault(text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default())
    }
}

/// Reads the arguments of a call; standard input is that of the caller.
fn parsed(arguments: &[OsString]) -> Result<Command, Failure> {
    let program = std::iter::once(OsString::from("pfnset"));
    let cli = Cli::parse(program.chain(arguments.iter().cloned())).map_err(|error| {
        let text = error.render().to_string();
        // How the program is called is no help here.
        let is_help = |line: &str| line.starts_with("Usage:") || line.starts_with("For more information");
        let lines: Vec<&str> = text.lines().take_while(|line| !is_help(line)).collect();
        Failure::Usage(lines.join("\n").trim_start_matches("error: ").trim_end().to_owned())
    })?;
    if arguments.iter().any(|argument| argument == STANDARD_INPUT) {
        return Err(Failure::Usage("standard input (-) is for the program".into()));
    }
    Ok(cli.command)
}

fn call(trace: Option<Arc<OpenTrace>>, watch: &Arc<Watch>, (width, has_text): (u16, bool)) -> Rc<Call> {
    let (output, text, rows, told) = Default::default();
    Rc::new(Call { trace, watch: watch.clone(), width, has_text, output, text, rows, told })
}

/// For calls without text.
const NO_TEXT: (u16, bool) = (u16::MAX, false);

/// Opens a trace by the arguments of `pfnset info`: its files, and how they are read.
///
/// # Errors
/// Why there is none.
pub fn open(arguments: &[OsString], watch: &Arc<Watch>) -> Result<OpenTrace, Failure> {
    let Command::Info(info) = parsed(arguments)? else {
        return Err(Failure::Usage("a trace is opened with the arguments of info".into()));
    };
    call(None, watch, NO_TEXT).run(|| {
        let base = &info.common.base;
        let named = |path: &PathBuf| anyhow::Ok((path.display().to_string(), trace::open_file(base, path)?));
        let first = named(&base.trace)?;
        let others = base.further.iter().map(named).collect::<anyhow::Result<_>>()?;
        let (etl, files) = recording_files::join(first, others);
        if let Some(reason) = files.iter().find_map(|file| file.reason.clone().map(|reason| (file, reason))) {
            let (other, first) = (reason.0.path.clone().into(), base.trace.clone());
            return Err(Error::NotOneRecording { other, first, reason: reason.1 }.into());
        }
        Ok(OpenTrace { trace: etl.into(), files, watch: watch.clone() })
    })
}

/// Runs a command; `trace` is that of its arguments, where it is open already. Text is as wide as `text` says, which also says whether
/// the answer's text is wanted beside its form.
///
/// # Errors
/// Why it has no outcome.
pub fn run(
    arguments: &[OsString],
    trace: Option<Arc<OpenTrace>>,
    watch: &Arc<Watch>,
    text: (u16, bool),
) -> Result<Outcome, Failure> {
    let command = parsed(arguments)?;
    let call = call(trace, watch, text);
    let exit = call.run(|| command.run())? as u8;
    Ok(Outcome {
        exit,
        output: call.output.take(),
        text: call.text.take(),
        rows: call.rows.take(),
        told: call.told.take(),
    })
}

/// A table of an export, of the snapshots of this choice; of `events` the records with these names.
///
/// # Errors
/// Why there is none.
pub fn table(
    trace: &Arc<OpenTrace>,
    name: &str,
    snapshot: &str,
    events: Option<&str>,
) -> Result<ExportedTable, Failure> {
    call(Some(trace.clone()), &trace.watch, NO_TEXT).run(|| {
        let table = name.parse().map_err(Error::Usage)?;
        let choice = snapshot.parse().map_err(Error::Usage)?;
        let names = events.map(Patterns::new);
        let (batches, doubts) = collected::table(&trace.trace, table, choice, names.as_ref())?;
        let missed = names.iter().flat_map(Patterns::all).filter(|pattern| !pattern.has_matched());
        let missed = missed.map(|pattern| format!("events \"{}\" matches nothing", pattern.text));
        let told = texts(&doubts).into_iter().chain(missed).collect();
        Ok(ExportedTable { schema: table.schema(), batches, told })
    })
}

/// Runs work on so many threads, or on one for each processor, and does not wait for it.
///
/// # Errors
/// The system has no threads to give.
pub fn spawn(asked: Option<u16>, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let pool = threads::pool(asked).map_err(|error| Failure::Other(format!("{error:#}")))?;
    // Whoever waits for it sees that it did not end.
    pool.spawn(|| drop(catch_unwind(AssertUnwindSafe(work))));
    Ok(())
}

impl OpenTrace {
    /// The trace.
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Its files.
    pub(super) fn files(&self) -> &[RecordingFile] {
        &self.files
    }

    /// What calls on it are watched by.
    pub const fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }
}
