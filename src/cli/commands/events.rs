//! `pfnset events`.

use super::event_rows::{RowsArgs, dimensions, unmatched};
use crate::analysis::events::{EventFilter, EventStatistics};
use crate::answer::events;
use crate::answer::numbers::Unit;
use crate::cli::args::{Common, OutputFormat, refuse};
use crate::cli::exit::Exit;
use crate::cli::many_traces::{Each, TraceQuestion};
use crate::cli::{output, trace};
use crate::load::sha256_digest::TraceDigest;
use crate::pattern::Patterns;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Dimensions of --where:
  {}

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.
Quote them as below in cmd.exe, PowerShell, bash and zsh; those with ! in the single quotes of bash and zsh.

Examples:
  pfnset events trace.etl --provider \"Memory;Process\"
  pfnset events trace.etl --name \"*DCStart;*DCEnd\"
  pfnset events --each traces/ --name \"Memory*\" --format csv -o memory.csv
  pfnset events trace.etl --rows --name \"Process*\" --head 20
  pfnset events trace.etl --rows --from 1.5 --to 1.6 --format jsonl
  pfnset events trace.etl --rows --around \"click*\" --where \"process=chrome*\"
  pfnset events trace.etl --rows --field \"FileName=*.dll\" --fields FileName
  pfnset events trace.etl --rows --name \"*HardFault\" --stacks
  pfnset events trace.etl --digest --format json   to compare files or readers", dimensions()))]
pub struct Events {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub each: Each,
    /// Only providers that match: name, kernel group, GUID or "kernel"
    #[arg(long, value_name = "PATTERNS")]
    pub provider: Option<String>,
    /// Only events whose name in WPA or xperf, of any version, or whose id matches
    #[arg(long, value_name = "PATTERNS")]
    pub name: Option<String>,
    #[command(flatten)]
    pub rows: RowsArgs,
    /// Add SHA-256 fingerprints of all payloads and of all raw time stamps in file order
    #[arg(long)]
    pub digest: bool,
}

impl Events {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        let (has_room, which) = match self.each.each {
            false => (matches!(common.format, OutputFormat::Table | OutputFormat::Json), "the forms table and json"),
            true => (common.format == OutputFormat::Jsonl, "the form jsonl with --each"),
        };
        let which = format!("is in {which}; the others have rows alone");
        refuse("--digest", &[(self.digest && !has_room, &which)])?;
        let filter = EventFilter {
            provider: self.provider.as_deref().map(Patterns::new).unwrap_or_default(),
            name: self.name.as_deref().map(Patterns::new).unwrap_or_default(),
        };
        if self.rows.rows {
            let each = (self.each.each, "lists the records of one trace; leave --each out, and run it for each trace");
            refuse("--rows", &[each, (self.digest, "lists records; --digest is of the statistics without --rows")])?;
            return self.rows.list(common, filter);
        }
        refuse("--symbols", &[(!self.rows.symbols.symbols.is_empty(), "names the functions of --rows --stacks")])?;
        let question = TraceQuestion { common, each: &self.each, schema: ("pfnset.events", 1), unit: Unit::default() };
        let exit = question.answer(|_, trace, show| {
            let statistics = trace::with_bar(common, trace, 1, || EventStatistics::answer(trace, &filter));
            let digest = self.digest.then(|| TraceDigest::new(trace.etl()));
            show(events::answer(&statistics, digest.as_ref()))
        })?;
        // Without rows no schemas are read: event information and manifests name nothing.
        output::tell_unmatched(
            common.quiet,
            &unmatched(&filter, " (names from event information and manifests need --rows)"),
        );
        Ok(exit)
    }
}
