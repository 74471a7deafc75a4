//! The commands: each has a file with its flags and its run, and a line in the list below.

pub mod allocations;
pub mod anonymize;
pub mod check;
pub mod completions;
pub mod counter;
pub mod cpu;
pub mod diff;
mod event_rows;
pub mod events;
pub mod export;
pub mod faults;
pub mod info;
pub mod man;
pub mod memory;
pub mod pages;
pub mod processes;
pub mod refset;
pub mod report;
pub mod resident;
pub mod stacks;
pub mod symbols;
pub mod words;

use crate::cli::exit::{Exit, is_closed_pipe};
use crate::cli::messages;
use crate::escape;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

const EXAMPLES: &str = "\
Examples:
  pfnset info trace.etl                      can it be trusted, for what?
  pfnset resident trace.etl                  what RAM held, and WPA's count
  pfnset resident trace.etl --group-by process,category --top 5
  pfnset refset trace.etl                    which pages a scenario touched
  pfnset cpu trace.etl                       who ran, and who had to wait
  pfnset pages trace.etl --format csv        one row for each page
  pfnset events trace.etl                    every kind of event
  pfnset events trace.etl --name \"Memory*\" --format json -o events.json

pfnset help words explains the words that tables use.

Exit codes:
  0  fine
  1  a check or diff found a difference (refset --verify, diff, check)
  2  wrong usage, or the output cannot be written
  3  the input cannot be read, is no .etl, or lacks what was recorded
     with --strict also: data was lost or damaged
  4  the events that the command needs are not in the trace";

/// What `pfnset` alone shows: it fits a terminal of 80 columns and 24 lines.
const SHORT_HELP: &str = "\
pfnset: what every page of RAM holds, and for whom, from Windows traces (.etl)
Usage: pfnset COMMAND [OPTIONS] TRACE

  pfnset info TRACE          can it be trusted, and for which of these?
  pfnset resident TRACE      what every page of RAM holds, with WPA's number
  pfnset refset TRACE        which pages a scenario touched, who holds them
  pfnset memory TRACE        page lists, commit and working sets over time
  pfnset allocations TRACE   what was allocated and never freed
  pfnset processes TRACE     who ran, from when to when, with which pages
  pfnset cpu TRACE           who ran, who had to wait, what interrupts cost
  pfnset faults TRACE        what was read from disk, and who waited for it
  pfnset stacks TRACE        which code did it
  pfnset diff LEFT RIGHT     two traces, or a trace and a table of WPA
  pfnset check TRACE         is memory within its budgets? For builds
  pfnset report TRACE -o F   one HTML file with pictures and all numbers
  pfnset export TRACE        tables for SQL

Also: pages, events, symbols, counter, anonymize, words, completions.
`pfnset COMMAND --help` has flags and examples, `pfnset --help` more of all,
`pfnset help words` explains the words. A trace to try:
  pfnset resident fixtures/resident-small.etl
";

/// The command line of the process.
pub fn arguments() -> Vec<OsString> {
    // Shells of Windows do not expand patterns of file names.
    wild::args_os().collect()
}

/// Offline analyzer of Windows memory traces (.etl): what every page of RAM holds, and for whom.
#[derive(Debug, Parser)]
#[command(name = "pfnset", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the arguments, of which the first is the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let error = match Cli::parse_plain(&arguments) {
            Err(error) => error,
            read => return read,
        };
        // The parser quotes arguments as they are, among styles of its own: what would steer a terminal is written out before.
        let shown = arguments.iter().map(|argument| in_writing(argument)).collect::<Vec<_>>();
        if shown == arguments {
            return Err(error);
        }
        Err(Cli::parse_plain(&shown).err().unwrap_or_else(|| {
            let text = escape::lines(&error.render().to_string());
            Cli::command().error(error.kind(), text.trim_start_matches("error: "))
        }))
    }

    fn parse_plain(arguments: &[OsString]) -> Result<Cli, clap::Error> {
        let read = Cli::command().try_get_matches_from(arguments).and_then(|matches| {
            refuse_csv_safe(&matches)?;
            Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut Cli::command()))
        });
        read.map_err(|mut error| {
            if error.kind() == ErrorKind::UnknownArgument {
                // The tip of the parser, to pass a flag as the value of another, does not help.
                error.remove(ContextKind::Suggested);
                if let Some(tip) = owners_of(&error) {
                    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
                }
            }
            error
        })
    }

    /// The same; wrong usage ends the program, with a message.
    pub fn read(arguments: Vec<OsString>) -> Cli {
        let is_alone = arguments.len() < 2;
        Cli::parse(arguments).unwrap_or_else(|error| {
            if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && is_alone {
                messages::write_short_help(SHORT_HELP);
                std::process::exit(error.exit_code());
            }
            if error.use_stderr() {
                messages::write_usage(&error);
                std::process::exit(error.exit_code());
            }
            match messages::write_help(&error) {
                Err(unwritten) if !is_closed_pipe(&unwritten) => {
                    messages::write(&format!("cannot write standard output: {unwritten}"));
                    std::process::exit(Exit::Usage as i32)
                }
                _ => std::process::exit(error.exit_code()),
            }
        })
    }
}

/// An argument without hidden characters.
fn in_writing(argument: &OsStr) -> OsString {
    match escape::visible(&argument.to_string_lossy()) {
        Cow::Borrowed(_) => argument.to_owned(),
        Cow::Owned(shown) => shown.into(),
    }
}

/// `--csv-safe` is for CSV, whichever command has it.
fn refuse_csv_safe(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((_, flags)) = matches.subcommand() else { return Ok(()) };
    let is_safe = flags.try_get_one::<bool>("csv_safe").ok().flatten() == Some(&true);
    let form = || flags.get_raw("format").into_iter().flatten().next();
    match is_safe && form().is_some_and(|form| form != "csv") {
        true => Err(Cli::command().error(ErrorKind::ArgumentConflict, "--csv-safe is for --format csv")),
        false => Ok(()),
    }
}

/// Names the commands that have the flag which another command refuses.
fn owners_of(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let wanted = unknown.strip_prefix("--")?;
    let cli = Cli::command();
    let has = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(wanted));
    let owners: Vec<&str> = cli.get_subcommands().filter(has).map(clap::Command::get_name).collect();
    (!owners.is_empty()).then(|| format!("'{unknown}' is a flag of pfnset {}", owners.join(", ")))
}

/// Makes the list of commands: a line of help, flags, the schema of the JSON in docs/json.md; `Cli` where the command writes about
/// the whole command line.
macro_rules! commands {
    ($($(#[$help:meta])* $name:ident($flags:ty), $schema:expr $(, $cli:ident)?;)*) => {
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$help])* $name($flags),)*
        }

        impl Command {
            /// Runs the command.
            pub fn run(&self) -> anyhow::Result<Exit> {
                match self {
                    $(Command::$name(flags) => flags.run($($cli::command())?),)*
                }
            }
        }

        /// Commands with the schemas of their JSON.
        #[cfg(test)]
        const SCHEMAS: &[(&str, Option<&str>)] = &[$((stringify!($name), $schema)),*];
    };
}

commands! {
    /// What to know before trusting a trace: session, keywords, losses, damage, fitness for each analysis
    Info(info::Info), Some("pfnset.info");
    /// Trace statistics: a row for each kind of event
    Events(events::Events), Some("pfnset.events");
    /// What every page of RAM holds at a snapshot, corrected, with WPA's number beside it
    Resident(resident::Resident), Some("pfnset.resident");
    /// Compare two sides: traces, files that pfnset wrote, tables that WPA exported
    Diff(diff::Diff), Some("pfnset.diff");
    /// Budgets: is the memory of traces within its limits? For scripts and builds
    Check(check::Check), Some("pfnset.check");
    /// Which pages a scenario touched, who holds them, when the peak was, checked against the final state
    Refset(refset::Refset), Some("pfnset.refset");
    /// Processors by context switches: who ran, who was ready and had to wait, what interrupts cost
    Cpu(cpu::Cpu), Some("pfnset.cpu");
    /// Which code did it: stacks of samples, context switches, allocations, page accesses and any other event
    Stacks(stacks::Stacks), Some("pfnset.stacks");
    /// What was read because it was not in RAM: hard faults, who waited for them, the disk, soft faults by kind
    Faults(faults::Faults), Some("pfnset.faults");
    /// What was allocated and never freed: commit, kernel pool, heap blocks, by process, tag, function
    Allocations(allocations::Allocations), Some("pfnset.allocations");
    /// Which symbol files (PDB) the stacks of a trace need, which are found, which are missing
    Symbols(symbols::Symbols), Some("pfnset.symbols");
    /// One row for each page of a snapshot, in PFN order
    Pages(pages::Pages), Some("pfnset.pages");
    /// The processes of the trace: start, end, parent, command line, and their pages at a snapshot
    Processes(processes::Processes), Some("pfnset.processes");
    /// Memory over time: page lists, pools, commit, working sets, and what was taken from standby
    Memory(memory::Memory), Some("pfnset.memory");
    /// One HTML file to look at: traces in pictures, offline, with all numbers
    Report(report::Report), None;
    /// Tables for SQL: every page, process, file and range of one trace or of thousands, as Parquet
    Export(export::Export), None;
    /// Counter types explained, and the values of a file of raw performance-counter samples
    Counter(counter::Counter), Some("pfnset.counter");
    /// Write the trace again without names of people and files, so that others may have it
    Anonymize(anonymize::Anonymize), None;
    /// The words that tables and messages use, one line each
    Words(words::Words), None;
    /// Print a shell completion script
    Completions(completions::Completions), None, Cli;
    /// Write the manual pages of all commands
    #[command(hide = true)]
    Man(man::Man), None, Cli;
}

#[cfg(test)]
mod tests {
    use super::{Cli, SCHEMAS};
    use crate::analysis::memory::query::MemoryDimension;
    use crate::analysis::{allocations, cpu, diff, faults, processes, refset, resident, stacks};
    use crate::dimensions::Dimension;
    use clap::CommandFactory;

    #[test]
    fn the_first_help_fits_a_terminal_and_names_all_commands() {
        let lines: Vec<&str> = super::SHORT_HELP.lines().collect();
        assert!(lines.len() < 24 && lines.iter().all(|line| line.len() <= 80), "{}", super::SHORT_HELP);
        let words: Vec<&str> = super::SHORT_HELP.split(|c: char| !c.is_ascii_lowercase()).collect();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(words.contains(&command.get_name()), "{}", command.get_name());
        }
    }

    #[test]
    fn every_command_is_documented() {
        let (json, readme) = (include_str!("../../../docs/json.md"), include_str!("../../../README.md"));
        for (command, schema) in SCHEMAS {
            let command = command.to_lowercase();
            for schema in schema.iter() {
                assert!(readme.contains(&format!("| `pfnset {command} ")), "README.md has no row for {command}");
                assert!(json.contains(&format!("\n## `{schema}`, version ")), "docs/json.md has no {schema}");
            }
        }
    }

    /// Names of the dimensions of an analysis.
    fn names<D: Dimension>() -> Vec<&'static str> {
        D::ALL.iter().map(|dimension| dimension.name()).collect()
    }

    #[test]
    fn every_dimension_is_in_help_completions_and_docs() {
        let page = include_str!("../../../docs/json.md");
        for (command, dimensions) in [
            ("resident", names::<resident::page_dimensions::Dimension>()),
            ("refset", names::<refset::query::Dimension>()),
            ("cpu", names::<cpu::query::Dimension>()),
            ("memory", names::<MemoryDimension>()),
            ("processes", names::<processes::Dimension>()),
            ("stacks", names::<stacks::Dimension>()),
            ("faults", names::<faults::Dimension>()),
            ("allocations", names::<allocations::Dimension>()),
            ("diff", names::<diff::compared_dimensions::Dimension>()),
        ] {
            let cli = Cli::command();
            let flags = cli.find_subcommand(command).expect("a command");
            let group_by = flags.get_arguments().find(|flag| flag.get_long() == Some("group-by")).expect("a flag");
            let completed: Vec<_> = group_by.get_possible_values();
            let completed: Vec<&str> = completed.iter().map(|value| value.get_name()).collect();
            assert_eq!(completed, dimensions, "{command}");
            let help = flags.get_after_help().expect("help").to_string();
            let list = help.split("\n\n").next().expect("the list of dimensions");
            let schema = format!("\n## `pfnset.{command}`");
            let keys = page.split(&schema).nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a schema");
            for name in dimensions {
                let has = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
                assert!(has(list), "the help of {command} has no {name}");
                // A row of `memory` is told by its kind, of which the page lists the keys.
                let is_told = command == "memory" || keys.contains(&format!(".{name}`"));
                assert!(is_told, "docs/json.md: pfnset.{command} has no {name}");
            }
        }
    }
}
