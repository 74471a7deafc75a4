//! Every flag and its help. No input or output happens here.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  pfnset info trace.etl                         what the trace holds, what was lost, what it is good for
  pfnset events trace.etl                       every kind of event, most frequent first
  pfnset events trace.etl --name 'Memory*'      only kernel memory events
  pfnset events trace.etl --format json -o e.json

Exit codes:
  0 fine   1 a check or diff found a difference   2 wrong usage
  3 the input cannot be read or is no .etl (with --strict also: data was lost or damaged)
  4 the events that the command needs are not in the trace";

/// Offline analyzer of Windows memory traces (.etl): what every page of RAM holds, and for whom.
#[derive(Debug, Parser)]
#[command(name = "pfnset", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// What to know before trusting a trace: session, keywords, losses, damage, fitness for each analysis
    Info(Info),
    /// Trace statistics: a row for each kind of event
    Events(Events),
    /// Print a shell completion script
    #[command(after_help = "Example:\n  pfnset completions bash > ~/.local/share/bash-completion/completions/pfnset")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Flags of every command that reads a trace.
#[derive(Debug, Args)]
pub struct Common {
    /// The trace, an .etl file
    pub trace: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORM")]
    pub format: Format,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Colors: on a terminal, always or never (NO_COLOR is respected)
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// No progress bar and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
    /// Threads (default: all processors)
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Exit with code 3 when data was lost while recording or the file is damaged
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned text
    Table,
    /// One JSON object, documented in docs/json.md
    Json,
    /// Comma-separated values with a heading line
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pfnset info trace.etl --strict && pfnset resident trace.etl")]
pub struct Info {
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset events trace.etl --provider 'Memory;Process'
  pfnset events trace.etl --name '*DCStart;!Image*'
  pfnset events trace.etl --digest --format json   to compare files or readers")]
pub struct Events {
    #[command(flatten)]
    pub common: Common,
    /// Only providers that match: name, kernel group, GUID or "kernel"
    #[arg(long, value_name = "PATTERNS")]
    pub provider: Option<String>,
    /// Only events whose name, xperf name or id matches
    #[arg(long, value_name = "PATTERNS")]
    pub name: Option<String>,
    /// Add SHA-256 fingerprints of all payloads and of all raw time stamps in file order
    #[arg(long)]
    pub digest: bool,
}
