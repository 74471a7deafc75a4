//! What every command does with its trace: open it, show progress, print the report, choose the exit code.

use crate::cli::args::{Base, Common};
use crate::cli::exit::Exit;
use crate::cli::{output, progress};
use anyhow::Context;
use pfnset::error::Error;
use pfnset::etl::EtlFile;
use pfnset::report::Report;

/// Opens the trace and sets the number of threads.
pub fn open(base: &Base) -> anyhow::Result<EtlFile> {
    if base.trace.as_os_str() == "-" {
        let reason = "it stands for standard input, which is not read: the program has to go back and forth in a trace; \
                      write it to a file and name that (a file named - is ./-)";
        return Err(Error::NotEtl { path: base.trace.clone(), reason: reason.into() }.into());
    }
    output::spare_the_trace(base)?;
    if let Some(threads) = base.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().context("cannot start threads")?;
    }
    let mut etl = EtlFile::open(&base.trace)?;
    etl.code_page = base.ansi_codepage;
    Ok(etl)
}

/// Runs work that reads the whole trace `times` times, with a progress bar.
pub fn with_bar<T>(base: &Base, etl: &EtlFile, times: u64, work: impl FnOnce() -> T) -> T {
    progress::with_bar(base.quiet, times * etl.size_bytes(), || etl.bytes_read(), work)
}

/// Prints the report. With `--strict`, lost or damaged data makes the exit code that of bad input.
pub fn finish(report: &dyn Report, common: &Common, doubtful: bool) -> anyhow::Result<Exit> {
    output::print(report, common)?;
    Ok(if common.strict && doubtful { Exit::BadInput } else { Exit::Fine })
}
