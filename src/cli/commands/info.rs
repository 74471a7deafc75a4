//! `pfnset info`.

use crate::cli::args::Common;
use crate::cli::exit::Exit;
use crate::cli::trace;
use clap::Args;
use pfnset::analysis::info::TraceInfo;
use pfnset::load::survey::Survey;
use pfnset::report::info::InfoReport;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pfnset info trace.etl\n  pfnset info trace.etl --format json -o info.json\n  pfnset info trace.etl --strict   code 3 when data was lost or the file is damaged"
)]
pub struct Info {
    #[command(flatten)]
    pub common: Common,
}

impl Info {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        let (etl, files) = trace::open_what_fits(common)?;
        let survey = trace::with_bar(common, &etl, 1, || Survey::new(&etl));
        let info = TraceInfo::new(&etl, &survey);
        let exit = trace::finish(&InfoReport::new(&common.trace, &info, &files), common, info.is_doubtful())?;
        Ok(if files.iter().any(|file| file.reason.is_some()) { Exit::BadInput } else { exit })
    }
}
