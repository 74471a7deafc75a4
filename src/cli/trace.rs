//! What every command does with its trace: open it, show progress, print the report, choose the exit code.

use crate::cli::args::{Base, Common};
use crate::cli::exit::Exit;
use crate::cli::{output, progress};
use anyhow::Context;
use pfnset::analysis::recording::{self, RecordingFile};
use pfnset::error::Error;
use pfnset::etl::EtlFile;
use pfnset::input::UnpackLimits;
use pfnset::report::Report;
use pfnset::report::recording::OfSeveralFiles;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Opens the trace, with all files of its recording, and sets the number of threads.
pub fn open(base: &Base) -> anyhow::Result<EtlFile> {
    let mut all = open_first(base)?;
    for path in &base.further {
        let not_one = |reason| Error::NotOneRecording { other: path.clone(), first: base.trace.clone(), reason };
        let other = open_file(base, path)?;
        all.join(&path.display().to_string(), other).map_err(not_one)?;
    }
    Ok(all)
}

/// Opens the trace and the other files that fit to it; tells of each file whether it does.
pub fn open_what_fits(base: &Base) -> anyhow::Result<(EtlFile, Vec<RecordingFile>)> {
    let named = |path: &Path, file| (path.display().to_string(), file);
    let first = named(&base.trace, open_first(base)?);
    let others = base.further.iter().map(|path| Ok(named(path, open_file(base, path)?)));
    Ok(recording::join(first, others.collect::<anyhow::Result<_>>()?))
}

/// Opens the first file and sets the number of threads.
fn open_first(base: &Base) -> anyhow::Result<EtlFile> {
    prepare(base)?;
    open_file(base, &base.trace)
}

/// Checks that no input is written over, and sets the number of threads.
pub fn prepare(base: &Base) -> anyhow::Result<()> {
    output::spare_the_trace(base)?;
    if let Some(threads) = base.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().context("cannot start threads")?;
    }
    Ok(())
}

fn open_file(base: &Base, path: &Path) -> anyhow::Result<EtlFile> {
    let mut etl = unpacked(base, |limits| EtlFile::open_within(path, limits))?;
    etl.code_page = base.ansi_codepage;
    Ok(etl)
}

/// Opens an input, which may have to be unpacked.
pub fn unpacked<T>(base: &Base, open: impl FnOnce(&UnpackLimits) -> T) -> T {
    let limits = UnpackLimits {
        in_memory: base.in_memory.as_u64(),
        most: base.unpack_limit.as_u64(),
        ..UnpackLimits::default()
    };
    let unpacked = || limits.unpacked.load(Ordering::Relaxed);
    progress::while_unpacking(base.quiet, unpacked, || open(&limits))
}

/// Runs work that reads the whole trace `times` times, with a progress bar.
pub fn with_bar<T>(base: &Base, etl: &EtlFile, times: u64, work: impl FnOnce() -> T) -> T {
    progress::with_bar(base.quiet, times * etl.size_bytes(), || etl.bytes_read(), work)
}

/// Prints the report. With `--strict`, lost or damaged data makes the exit code that of bad input.
pub fn finish(report: &dyn Report, common: &Common, doubtful: bool) -> anyhow::Result<Exit> {
    let of_all = OfSeveralFiles { report, traces: common.traces().map(|path| path.display().to_string()).collect() };
    output::print(if common.further.is_empty() { report } else { &of_all }, common.format, common)?;
    Ok(if common.strict && doubtful { Exit::BadInput } else { Exit::Fine })
}
