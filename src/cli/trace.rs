//! What every command does with its trace: open it, show progress, print the report, choose the exit code.

use crate::cli::args::{Base, Common};
use crate::cli::exit::Exit;
use crate::cli::{output, progress};
use anyhow::Context;
use pfnset::etl::EtlFile;
use pfnset::input::UnpackLimits;
use pfnset::report::Report;
use std::sync::atomic::Ordering;

/// Opens the trace and sets the number of threads.
pub fn open(base: &Base) -> anyhow::Result<EtlFile> {
    output::spare_the_trace(base)?;
    if let Some(threads) = base.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().context("cannot start threads")?;
    }
    let limits = UnpackLimits {
        in_memory: base.in_memory.as_u64(),
        most: base.unpack_limit.as_u64(),
        ..UnpackLimits::default()
    };
    let unpacked = || limits.unpacked.load(Ordering::Relaxed);
    let mut etl = progress::while_unpacking(base.quiet, unpacked, || EtlFile::open_within(&base.trace, &limits))?;
    etl.code_page = base.ansi_codepage;
    Ok(etl)
}

/// Runs work that reads the whole trace `times` times, with a progress bar.
pub fn with_bar<T>(base: &Base, etl: &EtlFile, times: u64, work: impl FnOnce() -> T) -> T {
    progress::with_bar(base.quiet, times * etl.size_bytes(), || etl.bytes_read(), work)
}

/// Prints the report. With `--strict`, lost or damaged data makes the exit code that of bad input.
pub fn finish(report: &dyn Report, common: &Common, doubtful: bool) -> anyhow::Result<Exit> {
    output::print(report, common.format, common)?;
    Ok(if common.strict && doubtful { Exit::BadInput } else { Exit::Fine })
}
