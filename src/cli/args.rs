//! Every flag and its help. No input or output happens here.

use clap::{Args, Parser, Subcommand, ValueEnum};
use pfnset::report::text::Unit;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  pfnset info trace.etl                      can it be trusted, for what?
  pfnset resident trace.etl                  what RAM held, and WPA's count
  pfnset resident trace.etl --group-by process,category --top 5
  pfnset refset trace.etl                    which pages a scenario touched
  pfnset pages trace.etl --format csv        one row for each page
  pfnset events trace.etl                    every kind of event
  pfnset events trace.etl --name 'Memory*' --format json -o events.json

Exit codes:
  0  fine
  1  a check found a difference (refset --verify)
  2  wrong usage, or the output cannot be written
  3  the input cannot be read, is no .etl, or lacks what was recorded
     with --strict also: data was lost or damaged
  4  the events that the command needs are not in the trace";

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
    /// What every page of RAM holds at a snapshot, corrected, with WPA's number beside it
    Resident(Resident),
    /// Which pages a scenario touched, who holds them and when the peak was, proved against the final state
    Refset(crate::cli::refset::Refset),
    /// One row for each page of a snapshot, in PFN order
    Pages(Pages),
    /// Print a shell completion script
    #[command(after_help = "Example:\n  pfnset completions bash > ~/.local/share/bash-completion/completions/pfnset")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Flags of every command that reads a trace and prints a report.
#[derive(Debug, Args)]
pub struct Common {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORM")]
    pub format: Format,
    #[command(flatten)]
    pub base: Base,
}

impl std::ops::Deref for Common {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

/// Flags of every command that reads a trace.
#[derive(Debug, Args)]
pub struct Base {
    /// The trace, an .etl file
    pub trace: PathBuf,
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

#[derive(Debug, Args)]
#[command(after_help = "\
Dimensions:
  list, use, category, category_wpa, class, rule, process, pid, session,
  file, detail, priority, cold, pinned, non_tradeable

Presets:
  by-process           process, category
  by-list-priority     list, priority, category
  private-working-set  process, category of active private pages
  files                file: pages of files
  drivers              detail (the image) of pages of category Driver

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset resident trace.etl
  pfnset resident trace.etl --group-by process,category --top 5
  pfnset resident trace.etl --where 'process=chrome.exe*' --group-by list
  pfnset resident trace.etl --preset files --top 20 --unit mib
  pfnset resident trace.etl --explain 0x1a2b3
  pfnset resident trace.etl --explain 0x7ff6103b0000 --process 4242")]
pub struct Resident {
    #[command(flatten)]
    pub common: Common,
    /// Rows by these dimensions, nested in this order
    #[arg(long, value_name = "DIM,…", conflicts_with = "preset")]
    pub group_by: Option<String>,
    /// Dimensions and conditions for a common question
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Only pages whose label matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS")]
    pub conditions: Vec<String>,
    /// Only the first N rows of each level, and one row for the rest
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Order of the rows
    #[arg(long, value_enum, default_value_t = SortBy::Pages, value_name = "BY")]
    pub sort: SortBy,
    /// Unit of sizes
    #[arg(long, value_enum, default_value_t = UnitName::Auto, value_name = "UNIT")]
    pub unit: UnitName,
    /// By whose rules pages are counted
    #[arg(long, value_enum, default_value_t = Rules::Both, value_name = "RULES")]
    pub classification: Rules,
    /// Which page sequence of the trace: last, all or a number from 0
    #[arg(long, default_value = "last", value_name = "WHICH")]
    pub snapshot: pfnset::analysis::resident::query::SnapshotChoice,
    /// Why a page is what it is: a PFN, or with --process a virtual address (0x… or decimal)
    #[arg(long, value_name = "PFN|VA", value_parser = number, conflicts_with_all = ["group_by", "preset", "conditions", "top"])]
    pub explain: Option<u64>,
    /// The process (id) of the address to explain
    #[arg(long, value_name = "PID", requires = "explain")]
    pub process: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Dimensions and patterns as in pfnset resident.

Flags of a page:
  cold, pinned, non_tradeable, combined
  image     mapped as an executable image
  mismatch  data page of a file that is also mapped as an image

Examples:
  pfnset pages trace.etl | less -S
  pfnset pages trace.etl --format csv -o pages.csv
  pfnset pages trace.etl --format jsonl --where category=Win32Heap
  pfnset pages trace.etl --format xperf | findstr InMemory")]
pub struct Pages {
    #[command(flatten)]
    pub base: Base,
    /// Form of the rows
    #[arg(long, value_enum, default_value_t = RowFormat::Table, value_name = "FORM")]
    pub format: RowFormat,
    /// Only pages whose label matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS")]
    pub conditions: Vec<String>,
    /// Which page sequence of the trace: last, all or a number from 0
    #[arg(long, default_value = "last", value_name = "WHICH")]
    pub snapshot: pfnset::analysis::resident::query::SnapshotChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Aligned text
    Table,
    /// Comma-separated values with a heading line, documented in docs/json.md
    Csv,
    /// One JSON object on each line, documented in docs/json.md
    Jsonl,
    /// InMemory lines in the manner of xperf -a dumper; its own columns are not published, see docs/json.md
    Xperf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    /// Most pages first
    Pages,
    /// By name
    Name,
    /// Most pages by WPA's rules first
    Wpa,
    /// Greatest difference from WPA first
    Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitName {
    Pages,
    Kib,
    Mib,
    Gib,
    Auto,
}

impl UnitName {
    /// The unit of that name.
    pub fn unit(self) -> Unit {
        match self {
            UnitName::Pages => Unit::Pages,
            UnitName::Kib => Unit::Kib,
            UnitName::Mib => Unit::Mib,
            UnitName::Gib => Unit::Gib,
            UnitName::Auto => Unit::Auto,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rules {
    /// Ours
    Corrected,
    /// What WPA shows
    Wpa,
    /// Ours, with WPA's count beside it
    Both,
}

/// Reads `0x1f` or `31`.
fn number(text: &str) -> Result<u64, String> {
    let read = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(&digits.replace('`', ""), 16),
        None => text.parse(),
    };
    read.map_err(|_| "expected a number, as in 0x1a2b3 or 107187".into())
}
