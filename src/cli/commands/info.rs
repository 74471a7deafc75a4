//! `pfnset info`.

use crate::analysis::info::{TraceInfo, strict_warnings};
use crate::answer::info;
use crate::answer::numbers::Unit;
use crate::cli::args::Common;
use crate::cli::exit::Exit;
use crate::cli::many_traces::{Each, TraceQuestion};
use crate::cli::trace;
use crate::trace::Trace;
use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pfnset info trace.etl\n  pfnset info trace.etl --format json -o info.json\n  pfnset info --each traces/       a line for each trace\n  pfnset info trace.etl --strict   the checks of all commands too"
)]
pub struct Info {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub each: Each,
}

impl Info {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        if self.each.each {
            let question =
                TraceQuestion { common, each: &self.each, schema: ("pfnset.info", 1), unit: Unit::default() };
            return question.answer(|path, trace, show| {
                let found = self.of(trace);
                show(info::answer(&found, path, &[]))
            });
        }
        let (trace, files) = trace::open_what_fits(common)?;
        let found = self.of(&trace);
        let answer = info::answer(&found, common.first(), &files);
        let exit = trace::finish(answer, common)?;
        Ok(if files.iter().any(|file| file.reason.is_some()) { Exit::BadInput } else { exit })
    }

    /// The facts. Who asks for a strict answer wants to know what any command would say, so its checks are made.
    fn of(&self, trace: &Trace) -> TraceInfo {
        let strict = self.common.strict;
        let reads = if strict { strict_warnings::READS } else { 1 };
        let answer = if strict { TraceInfo::checked } else { TraceInfo::answer };
        trace::with_bar(&self.common, trace, reads, || answer(trace))
    }
}
