//! What every command does with its trace: open it, show progress, print the answer, choose the exit code.

use crate::analysis::diff::side::Source;
use crate::analysis::info::recording_files::{self, RecordingFile};
use crate::answer::{Answer, Place};
use crate::cli::args::{Base, ColumnArgs, Common, OutputFormat};
use crate::cli::exit::Exit;
use crate::cli::host_call::{Call, OpenTrace};
use crate::cli::recordings::{Recording, Recordings};
use crate::cli::{output, progress, threads};
use crate::error::Error;
use crate::etl::EtlFile;
use crate::imported::wpa::WpaOptions;
use crate::input::UnpackLimits;
use crate::trace::{Trace, recording};
use anyhow::Context;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The trace of a command.
pub enum Opened {
    /// It was opened by the command.
    Own(Box<Trace>),
    /// It was open already.
    Lent(Arc<OpenTrace>),
}

impl Deref for Opened {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        match self {
            Opened::Own(trace) => trace,
            Opened::Lent(open) => open.trace(),
        }
    }
}

/// The trace that is open already, where another program has opened it.
fn lent() -> Option<Arc<OpenTrace>> {
    Call::current().and_then(|call| call.trace.clone())
}

/// Opens the trace, with all files of its recording, and sets the number of threads.
pub fn open(base: &Base) -> anyhow::Result<Opened> {
    if let Some(open) = lent() {
        base.set_order(open.files().iter().map(|file| PathBuf::from(&file.path)).collect());
        return Ok(Opened::Lent(open));
    }
    prepare(base)?;
    let (all, order) = recording::open_all(&base.trace, &base.further, |path| open_file(base, path))?;
    base.set_order(order);
    Ok(Opened::Own(Box::new(all.into())))
}

/// Opens all files of a recording.
pub fn open_recording(base: &Base, files: &Recording) -> anyhow::Result<Trace> {
    if let Some(reason) = &files.refused {
        let source = io::Error::other(reason.clone());
        return Err(Error::Unreadable { path: files.trace.clone(), source }.into());
    }
    recording::open_all(&files.trace, &files.with, |path| open_file(base, path)).map(|(all, _)| all.into())
}

/// Opens the trace and the other files that fit to it; returns for each file whether it does.
pub fn open_what_fits(base: &Base) -> anyhow::Result<(Opened, Vec<RecordingFile>)> {
    if let Some(open) = lent() {
        let files = open.files().to_vec();
        return Ok((Opened::Lent(open), files));
    }
    let named = |path: &Path, file| (path.display().to_string(), file);
    prepare(base)?;
    let first = named(&base.trace, open_file(base, &base.trace)?);
    let others = base.further.iter().map(|path| Ok(named(path, open_file(base, path)?)));
    let (all, files) = recording_files::join(first, others.collect::<anyhow::Result<_>>()?);
    base.set_order(files.iter().map(|file| PathBuf::from(&file.path)).collect());
    Ok((Opened::Own(Box::new(all.into())), files))
}

/// [`prepare`] for a command whose arguments are separate traces.
pub fn prepare_all(base: &Base, recordings: &Recordings) -> anyhow::Result<()> {
    recordings.files().try_for_each(|path| output::spare(path, base, "the input"))?;
    prepare(base)
}

/// Checks that no input is written over, and sets the number of threads.
pub fn prepare(base: &Base) -> anyhow::Result<()> {
    output::spare_the_trace(base)?;
    threads::start(base.reading.threads)
}

/// Opens one file.
pub fn open_file(base: &Base, path: &Path) -> anyhow::Result<EtlFile> {
    let mut etl = unpacked(base, |limits| EtlFile::open_within(path, limits))?;
    etl.code_page = base.reading.ansi_codepage;
    Ok(etl)
}

/// Opens a side of a comparison; a trace can have more files.
pub fn open_source(base: &Base, files: &Recording, options: &WpaOptions) -> anyhow::Result<Source> {
    let open = |limits: &_| Source::open(&files.trace, limits, options, base.reading.ansi_codepage);
    let source = unpacked(base, open)?;
    let others = files.with.iter().map(|path| Ok((path.clone(), open_file(base, path)?)));
    Ok(source.with(others.collect::<anyhow::Result<_>>()?)?)
}

/// How inputs are opened. Inside of another program they are copied: it has no handler for files that shrink.
pub fn limits(base: &Base) -> UnpackLimits {
    let mut limits = base.reading.limits();
    if let Some(call) = Call::current() {
        (limits.copies, limits.stop) = (true, call.watch.stop.clone());
    }
    limits
}

/// Opens an input, which may have to be unpacked.
pub fn unpacked<T>(base: &Base, open: impl FnOnce(&UnpackLimits) -> T) -> T {
    let limits = limits(base);
    let unpacked = || limits.unpacked.load(Ordering::Relaxed);
    progress::while_unpacking(base.quiet, unpacked, || open(&limits))
}

/// Runs work that reads the whole trace `times` times, with a progress bar.
pub fn with_bar<T>(base: &Base, trace: &Trace, times: u64, work: impl FnOnce() -> T) -> T {
    let etl = trace.etl();
    progress::with_bar(base.quiet, times * etl.size_bytes(), || etl.bytes_read(), work)
}

/// Prints the answer, or of its rows the columns that the user chose.
pub fn finish_with(columns: &ColumnArgs, answer: Answer<'_>, common: &Common) -> anyhow::Result<Exit> {
    finish(with_columns(columns, false, answer)?, common)
}

/// The answer with the columns that the user chose; `each`: of the rows beside those of other traces.
pub fn with_columns<'a>(columns: &ColumnArgs, each: bool, answer: Answer<'a>) -> anyhow::Result<Answer<'a>> {
    let Some(names) = &columns.columns else { return Ok(answer) };
    let place = if each { Place::BesideOthers } else { Place::Alone };
    answer.with_columns(names, place).context("--columns")
}

/// Prints the answer. With `--strict`, lost or damaged data makes the exit code that of bad input.
pub fn finish(answer: Answer<'_>, common: &Common) -> anyhow::Result<Exit> {
    let warnings = answer.warnings.clone();
    output::print(&answer.of_files(common.traces()), common.format, common.csv.cells(), common)?;
    Ok(output::strict_exit(common, common.format == OutputFormat::Table, &warnings))
}
