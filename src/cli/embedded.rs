//! Commands inside of another program, such as the Python module: it opens a trace once and runs commands on it. They are those
//! of the command line, with its words for what is wrong; what they would print goes to the caller.
//!
//! A call is told to what commands use by [`call`](super::host_call). No command knows who calls it.

use crate::analysis::export::table_in_memory;
use crate::analysis::info::recording_files;
use crate::cli::commands::{Cli, Command};
use crate::cli::host_call::Call;
pub use crate::cli::host_call::{OpenTrace, Watch};
use crate::cli::{exit, flags_in_errors, threads, trace};
use crate::error::Error;
use crate::escape::{lines, visible};
use crate::input::{STANDARD_INPUT, Stopped};
use crate::pattern::Patterns;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::any::Any;
use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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

impl Failure {
    fn of(error: &anyhow::Error) -> Failure {
        let whole = flags_in_errors::with_flags(error);
        let text = visible(&whole).into_owned();
        match (exit::of_error(error), error.downcast_ref::<Error>()) {
            (_, Some(Error::MissingEvents(missing))) => {
                Failure::MissingEvents(lines(&missing.what), missing.advice.as_deref().map(lines))
            }
            (_, Some(Error::MissingPart(_))) => Failure::MissingPart(lines(&whole)),
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
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Failure::Fault(lines(&text.unwrap_or_default()))
    }
}

/// Reads the arguments of a call; standard input is that of the caller.
fn parsed(arguments: &[OsString]) -> Result<Command, Failure> {
    let program = std::iter::once(OsString::from("pfnset"));
    let cli = Cli::parse(program.chain(arguments.iter().cloned())).map_err(|error| {
        let text = error.render().to_string();
        // How the program is called is no help here.
        let is_help = |line: &str| line.starts_with("Usage:") || line.starts_with("For more information");
        let told: Vec<&str> = text.lines().take_while(|line| !is_help(line)).collect();
        Failure::Usage(told.join("\n").trim_start_matches("error: ").trim_end().to_owned())
    })?;
    if arguments.iter().any(|argument| argument == STANDARD_INPUT) {
        return Err(Failure::Usage("standard input (-) is for the program".into()));
    }
    Ok(cli.command)
}

/// Runs work as a call.
fn as_call<T>(call: &Rc<Call>, work: impl FnOnce() -> anyhow::Result<T>) -> Result<T, Failure> {
    match call.run(work) {
        _ if call.watch.stop.load(Ordering::Relaxed) => Err(Failure::Stopped),
        Ok(made) => made.map_err(|error| Failure::of(&error)),
        Err(payload) => Err(Failure::of_panic(payload.as_ref())),
    }
}

/// Opens a trace by the arguments of `pfnset info`: its files, and how they are read.
///
/// # Errors
/// Why there is none.
pub fn open(arguments: &[OsString], watch: &Arc<Watch>) -> Result<OpenTrace, Failure> {
    let Command::Info(info) = parsed(arguments)? else {
        return Err(Failure::Usage("a trace is opened with the arguments of info".into()));
    };
    as_call(&Call::new(None, watch, None), || {
        let base = &info.common.base;
        let named = |path: &PathBuf| anyhow::Ok((path.display().to_string(), trace::open_file(base, path)?));
        let first = named(&base.trace)?;
        let others = base.further.iter().map(named).collect::<anyhow::Result<_>>()?;
        let (etl, files) = recording_files::join(first, others);
        if let Some(reason) = files.iter().find_map(|file| file.reason.clone().map(|reason| (file, reason))) {
            let (other, first) = (reason.0.path.clone().into(), base.trace.clone());
            return Err(Error::NotOneRecording { other, first, reason: reason.1 }.into());
        }
        Ok(OpenTrace::new(etl.into(), files, watch))
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
    let call = Call::new(trace, watch, Some(text));
    let exit = as_call(&call, || command.run())? as u8;
    let (output, text, rows, told) = call.taken();
    Ok(Outcome { exit, output, text, rows, told })
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
    as_call(&Call::new(Some(trace.clone()), trace.watch(), None), || {
        let table = name.parse().map_err(Error::Usage)?;
        let choice = snapshot.parse().map_err(Error::Usage)?;
        let names = events.map(Patterns::new);
        let (batches, warnings) = table_in_memory::table(trace.trace(), table, choice, names.as_ref())?;
        let missed = names.iter().flat_map(Patterns::all).filter(|pattern| !pattern.has_matched());
        let missed = missed.map(|pattern| format!("events \"{}\" matches nothing", pattern.text));
        let told = warnings.texts().into_iter().chain(missed).map(|line| visible(&line).into_owned()).collect();
        Ok(ExportedTable { schema: table.schema(), batches, told })
    })
}

/// Runs work on so many threads, or on one for each processor, and does not wait for it.
///
/// # Errors
/// The system has no threads to give, or so many cannot be asked for.
pub fn spawn(asked: Option<u16>, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    if asked.is_some_and(|threads| !threads::POSSIBLE.contains(&threads)) {
        return Err(Failure::Usage(format!("threads: expected a number from 1 to {}", threads::POSSIBLE.end())));
    }
    let pool = threads::pool(asked).map_err(|error| Failure::Other(format!("{error:#}")))?;
    let own = pool.clone();
    pool.spawn(move || {
        // Whoever waits for it sees that it did not end.
        drop(catch_unwind(AssertUnwindSafe(work)));
        threads::give_back(asked, own);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/resident-small.etl");
    const TEXT: (u16, bool) = (100, true);

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn opened() -> Arc<OpenTrace> {
        Arc::new(open(&line(&format!("info {FIXTURE}")), &Arc::default()).expect("a trace"))
    }

    /// The calls come one after the other on one trace, which is walked over once for what they share.
    #[test]
    fn a_command_on_an_open_trace_gives_its_output_its_rows_and_its_text() {
        let trace = opened();
        let ask = |text: &str| run(&line(&format!("{text} {FIXTURE}")), Some(trace.clone()), trace.watch(), TEXT);
        let answer =
            ask("resident --format json --group-by list --where process=none-such*;lsass*").expect("an answer");
        let object: serde_json::Value = serde_json::from_slice(&answer.output).expect("JSON");
        assert_eq!((answer.exit, &object["schema"]), (0, &"pfnset.resident".into()));
        let rows = answer.rows.expect("rows");
        assert_eq!(rows.num_rows(), object["snapshots"][0]["rows"].as_array().expect("rows").len());
        assert!(answer.told.iter().any(|line| line.contains("none-such")), "{:?}", answer.told);
        let text = String::from_utf8(answer.text).expect("UTF-8");
        assert!(text.contains("Total") && text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let walks = trace.trace().walks();
        ask("resident --format csv").expect("another answer");
        assert_eq!(trace.trace().walks(), walks);
        assert!(Call::current().is_none());
    }

    #[test]
    fn what_is_wrong_has_its_kind() {
        let trace = opened();
        let failed = |text: &str| run(&line(text), Some(trace.clone()), trace.watch(), TEXT).expect_err(text);
        let of_trace = |text: &str| failed(&format!("{text} {FIXTURE}"));
        let Failure::Usage(text) = of_trace("resident --nonsense") else { panic!("no usage error") };
        assert!(text.contains("--nonsense") && !text.contains("Usage") && !text.starts_with("error"), "{text}");
        assert!(matches!(of_trace("resident --group-by procss"), Failure::Usage(text) if text.contains("\"process\"")));
        assert!(matches!(of_trace("refset"), Failure::MissingEvents(_, Some(advice)) if advice.contains("wpr")));
        assert!(matches!(failed("resident -"), Failure::Usage(text) if text.contains("standard input")));
        let none = open(&line("info none-such.etl"), &Arc::default());
        assert!(matches!(none, Err(Failure::NotATrace(text)) if text.starts_with("cannot read none-such.etl")));
    }

    /// A program that shows messages may show them on a terminal.
    #[test]
    fn messages_are_harmless() {
        let trace = opened();
        let name = "a\u{1b}[2Jb\u{202e}\n.etl";
        let of = |arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            run(&arguments, Some(trace.clone()), trace.watch(), TEXT)
        };
        let Err(Failure::NotATrace(text)) = open(&["info".into(), name.into()], &Arc::default()) else {
            panic!("no such file")
        };
        assert!(text.starts_with("cannot read a\\x1b[2Jb\\u{202e}\\x0a.etl: "), "{text}");
        for flag in [format!("--group-by={name}"), format!("--snapshot={name}"), format!("--{name}")] {
            let Err(Failure::Usage(text)) = of(&["resident", FIXTURE, &flag]) else { panic!("{flag} is wrong") };
            assert!(!text.contains(|c| c != '\n' && crate::escape::is_hidden(c)), "{text:?}");
            assert!(flag.starts_with("--snapshot") || text.contains("a\\x1b[2Jb"), "{text}");
        }
        let told = of(&["resident", FIXTURE, &format!("--where=process={name}")]).expect("an answer").told;
        assert!(told.iter().any(|line| line.contains("a\\x1b[2Jb\\u{202e}\\x0a.etl")), "{told:?}");
        let told = table(&trace, "events", "last", Some(name)).unwrap_or_else(|failure| panic!("{failure:?}")).told;
        assert!(told.iter().any(|line| line.contains("a\\x1b[2Jb\\u{202e}\\x0a.etl")), "{told:?}");
    }

    #[test]
    fn a_call_that_is_stopped_fails_and_the_trace_is_whole_after_it() {
        let trace = opened();
        let ask = || run(&line(&format!("resident --format json {FIXTURE}")), Some(trace.clone()), trace.watch(), TEXT);
        trace.watch().stop.store(true, Ordering::Relaxed);
        assert!(matches!(ask(), Err(Failure::Stopped)));
        assert!(matches!(table(&trace, "pages", "last", None), Err(Failure::Stopped)));
        trace.watch().stop.store(false, Ordering::Relaxed);
        let after = ask().expect("an answer").output;
        let fresh = opened();
        let expected =
            run(&line(&format!("resident --format json {FIXTURE}")), Some(fresh.clone()), fresh.watch(), TEXT);
        assert_eq!(after, expected.expect("an answer").output);
        let watch = Arc::<Watch>::default();
        watch.stop.store(true, Ordering::Relaxed);
        assert!(matches!(open(&line(&format!("info {FIXTURE}")), &watch), Err(Failure::Stopped)));
    }

    #[test]
    fn a_table_has_the_rows_of_the_export() {
        let trace = opened();
        let rows = |name: &str, snapshot: &str, events: Option<&str>| {
            let table = table(&trace, name, snapshot, events).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
            assert!(table.batches.iter().all(|batch| batch.schema() == table.schema));
            table.batches.iter().map(RecordBatch::num_rows).sum::<usize>()
        };
        assert_eq!(rows("pages", "all", None), 3000);
        assert_eq!(rows("events", "last", Some("*")), 4119);
        assert!(rows("processes", "last", None) > 5);
        for (name, snapshot, events) in [
            ("traces", "last", None),
            ("events", "last", None),
            ("pages", "last", Some("*")),
            ("files", "all", None),
            ("pages", "7", None),
            ("none", "last", None),
        ] {
            assert!(matches!(table(&trace, name, snapshot, events), Err(Failure::Usage(_))), "{name}");
        }
        assert!(matches!(table(&trace, "cpu", "last", None), Err(Failure::MissingEvents(..))));
    }

    #[test]
    fn calls_run_on_threads_of_their_own() {
        let (send, receive) = std::sync::mpsc::channel();
        for asked in [Some(1), Some(3), None] {
            let send = send.clone();
            let work = move || {
                let _ = send.send((asked, threads::count()));
            };
            spawn(asked, work).expect("threads");
        }
        spawn(Some(1), || panic!("an error of a call ends nobody else")).expect("threads");
        for many in [0, 1025, u16::MAX] {
            assert!(matches!(spawn(Some(many), || ()), Err(Failure::Usage(_))));
        }
        drop(send);
        let counted: Vec<(Option<u16>, usize)> = receive.into_iter().collect();
        assert!(counted.contains(&(Some(1), 1)) && counted.contains(&(Some(3), 3)) && counted.len() == 3);
    }
}
