//! Flags that commands share. No input or output happens here.

use crate::analysis::table::{Condition, Dimension};
use crate::answer::numbers::{TimeUnit, Unit};
use crate::cli::terminal::{CHARACTERS, Characters};
use crate::cli::threads;
use crate::code_page::CodePage;
use crate::error::Error;
use crate::forms::csv::Cells;
use crate::input::{STANDARD_INPUT, UnpackLimits};
use crate::model::window::{Bound, duration};
use crate::units::Nanos;
use anyhow::Context;
use bytesize::ByteSize;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Flags of every command that reads a trace and prints a report.
#[derive(Debug, Args)]
pub struct Common {
    /// Form of the output
    #[arg(long, value_enum, default_value_t = OutputFormat::Table, value_name = "FORM")]
    pub format: OutputFormat,
    #[command(flatten)]
    pub csv: CsvArgs,
    #[command(flatten)]
    pub base: Base,
}

/// Flags of every command that writes CSV.
#[derive(Debug, Args)]
pub struct CsvArgs {
    /// CSV for spreadsheets: a ' before texts that they would calculate, those that begin with = + - or @
    #[arg(long, hide_short_help = true)]
    pub csv_safe: bool,
}

impl CsvArgs {
    /// What cells may be.
    pub fn cells(&self) -> Cells {
        if self.csv_safe { Cells::Safe } else { Cells::Plain }
    }
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
    /// The trace: an .etl file, an archive (.zip, .gz, .zst, .cab) with one, ARCHIVE!NAME for one of several, or - (standard input)
    pub trace: PathBuf,
    /// More files of the same recording: sessions of one boot that were recorded side by side
    #[arg(value_name = "TRACE")]
    pub further: Vec<PathBuf>,
    #[command(flatten)]
    pub printing: Printing,
    #[command(flatten)]
    pub reading: Reading,
    /// Exit with code 3 when data was lost, the file is damaged or a check of the numbers failed
    #[arg(long)]
    pub strict: bool,
    /// The files in the order of the recording, once it is open.
    #[arg(skip)]
    order: OnceLock<Vec<PathBuf>>,
}

impl std::ops::Deref for Base {
    type Target = Printing;

    fn deref(&self) -> &Printing {
        &self.printing
    }
}

/// Flags of every command that reads traces: how they are read.
#[derive(Debug, Args)]
pub struct Reading {
    /// Threads (default: all processors)
    #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
    pub threads: Option<u16>,
    /// Code page of 8-bit names that are no UTF-8: that of the recording machine, as in 1251 or shift_jis
    #[arg(long, default_value = "1252", value_name = "PAGE")]
    pub ansi_codepage: CodePage,
    /// Archives and standard input: what is larger goes to a temporary file
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size, hide_short_help = true)]
    pub in_memory: ByteSize,
    /// Archives and standard input: what is larger is an error
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = size, hide_short_help = true)]
    pub unpack_limit: ByteSize,
}

impl Reading {
    /// How much may be unpacked.
    pub fn limits(&self) -> UnpackLimits {
        UnpackLimits { in_memory: self.in_memory.as_u64(), most: self.unpack_limit.as_u64(), ..UnpackLimits::default() }
    }
}

/// A file to write. `-` is standard input elsewhere, and would be a file of that name here.
pub fn file_to_write() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == STANDARD_INPUT {
        true => Err("- is not standard output: name a file (./- is one of that name)"),
        false => Ok(path),
    })
}

/// Flags of every command that prints something, whatever it reads.
#[derive(Debug, Args)]
pub struct Printing {
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_parser = file_to_write())]
    pub output: Option<PathBuf>,
    /// Colors: on a terminal, always or never (NO_COLOR is respected)
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Lines, bars and marks in text: as the terminal or the locale shows them, unicode or ascii; JSON, CSV and files are UTF-8
    #[arg(long, value_enum, default_value_t = Characters::Auto, value_name = "WHICH", env = CHARACTERS)]
    #[arg(hide_env_values = true, hide_short_help = true)]
    pub characters: Characters,
    /// No progress bar; on standard error only warnings with which --strict ends with code 3
    #[arg(short, long)]
    pub quiet: bool,
}

impl Base {
    /// All files of the recording, in its order where it is open.
    pub fn traces(&self) -> impl Iterator<Item = &PathBuf> {
        let named = std::iter::once(&self.trace).chain(&self.further);
        let is_open = self.order.get().is_some();
        self.order.get().into_iter().flatten().chain(named.filter(move |_| !is_open))
    }

    /// The first file of the recording.
    pub fn first(&self) -> &PathBuf {
        self.traces().next().unwrap_or(&self.trace)
    }

    /// Keeps the order of the files of the recording.
    pub fn set_order(&self, order: Vec<PathBuf>) {
        // A command that opens it again finds the same order.
        let _ = self.order.set(order);
    }
}

/// A size: K, M, G and T are powers of 1,024 with and without `iB`, as in budgets and in WPA.
fn size(text: &str) -> Result<ByteSize, String> {
    let text = text.trim().to_ascii_lowercase();
    let short = text.strip_suffix('b').unwrap_or(&text);
    let is_short = short.ends_with(['k', 'm', 'g', 't', 'p']);
    if is_short { format!("{short}ib").parse() } else { text.parse() }
}

fn threads(text: &str) -> Result<u16, String> {
    let threads = text.parse().ok().filter(|threads| threads::POSSIBLE.contains(threads));
    threads.ok_or_else(|| format!("expected a number from 1 to {}", threads::POSSIBLE.end()))
}

/// A length of time.
pub fn span(text: &str) -> Result<Nanos, String> {
    duration(text)
        .filter(|span| span.0 > 0)
        .ok_or_else(|| "expected a time longer than 0: seconds, as in 0.5, or with a unit, as in 100ms".into())
}

fn whole_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or more".into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned text
    Table,
    /// One JSON object, documented in docs/json.md
    Json,
    /// Comma-separated values with a heading line
    Csv,
    /// One JSON object for each row, on a line of its own
    Jsonl,
    /// Markdown tables
    Markdown,
    /// A line for each distinct stack, for flame graphs
    #[value(skip)]
    Collapsed,
    /// A profile for profiler.firefox.com
    #[value(skip)]
    Firefox,
}

impl OutputFormat {
    /// True for text that people read.
    pub const fn is_for_people(self) -> bool {
        matches!(self, OutputFormat::Table | OutputFormat::Markdown)
    }

    /// Its name where it is for programs.
    pub const fn for_programs(self) -> Option<&'static str> {
        match self {
            OutputFormat::Table | OutputFormat::Markdown => None,
            OutputFormat::Json => Some("json"),
            OutputFormat::Csv => Some("csv"),
            OutputFormat::Jsonl => Some("jsonl"),
            OutputFormat::Collapsed => Some("collapsed"),
            OutputFormat::Firefox => Some("firefox"),
        }
    }

    /// # Errors
    /// A usage error for `--top` and the unit of times where this form has all rows, in nanoseconds.
    pub fn refuse_top_and_times(self, top: Option<usize>, unit: Option<TimeUnit>) -> Result<(), Error> {
        let Some(form) = self.for_programs() else { return Ok(()) };
        let all = (top.is_some(), "has all rows; --top is for table and markdown");
        let unit = (unit.is_some(), "has nanoseconds; --unit is for table and markdown");
        refuse(&format!("--format {form}"), &[all, unit])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Flags of commands whose rows are groups.
#[derive(Debug, Args)]
pub struct RowArgs {
    /// Rows by these dimensions, nested in this order
    #[arg(long, value_name = "DIM,…")]
    pub group_by: Option<String>,
    /// Only what has a label that matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS")]
    pub conditions: Vec<String>,
    /// Only the first N rows of each level, and one row for the rest
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub top: Option<usize>,
    /// Unit of sizes [default: auto]
    #[arg(long, value_parser = UNITS, value_name = "UNIT")]
    pub unit: Option<Unit>,
}

impl RowArgs {
    /// The unit in which amounts of memory are shown.
    pub fn unit(&self) -> Unit {
        self.unit.unwrap_or_default()
    }

    /// # Errors
    /// A usage error for flags that would be without effect in this form.
    pub fn check(&self, format: OutputFormat) -> Result<(), Error> {
        let Some(form) = format.for_programs() else { return Ok(()) };
        let all = "has all rows; --top is for table and markdown";
        let bytes = "has pages and bytes; --unit is for table and markdown";
        refuse(&format!("--format {form}"), &[(self.top.is_some(), all), (self.unit.is_some(), bytes)])
    }
}

/// The window of commands whose numbers can be of a part of the trace.
#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Begin of the window: seconds since trace start, or the text of a mark (the first that matches)
    #[arg(long, value_name = "SECONDS|MARK")]
    pub from: Option<Bound>,
    /// End of the window (exclusive): seconds since trace start, or the text of a mark (the first after its begin that matches)
    #[arg(long, value_name = "SECONDS|MARK")]
    pub to: Option<Bound>,
}

impl WindowArgs {
    /// True where one of its ends is.
    pub fn is_given(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }
}

/// An end of the window that is this without its flag.
pub fn by_default(arg: Arg, what: &str) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {what}]"))
}

/// `--to` of a command whose window has the records of its end.
pub fn inclusive(arg: Arg) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(help.replace("(exclusive)", "(inclusive)"))
}

/// `--columns` of commands with one table of rows.
#[derive(Debug, Args)]
pub struct ColumnArgs {
    /// Only these columns of the rows, beside their labels, by their headings, in this order
    #[arg(long, value_name = "COLUMN,…")]
    pub columns: Option<String>,
}

impl ColumnArgs {
    /// # Errors
    /// A usage error in forms that have all columns.
    pub fn check(&self, format: OutputFormat) -> Result<(), Error> {
        let is_for_people = format.is_for_people();
        let reason = "is for table and markdown: the other forms have all columns";
        refuse("--columns", &[(self.columns.is_some() && !is_for_people, reason)])
    }
}

/// The first reason that holds against a combination of flags.
///
/// # Errors
/// A usage error with it.
pub fn refuse(flag: &str, reasons: &[(bool, &str)]) -> Result<(), Error> {
    match reasons.iter().find(|(holds, _)| *holds) {
        Some((_, reason)) => Err(Error::Usage(format!("{flag} {reason}"))),
        None => Ok(()),
    }
}

/// Any text. Shells complete these names; whether a list of them is sound is checked later, with advice.
#[derive(Debug, Clone)]
pub struct Names(pub Vec<(&'static str, &'static str)>);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|&(name, help)| PossibleValue::new(name).help(help))))
    }
}

/// One of these values: name, help, value.
#[derive(Debug, Clone, Copy)]
pub struct OneOf<T: 'static>(pub &'static [(&'static str, &'static str, T)]);

impl<T: Copy + Send + Sync + 'static> OneOf<T> {
    fn names(self) -> impl Iterator<Item = PossibleValue> {
        self.0.iter().map(|&(name, help, _)| match help {
            "" => PossibleValue::new(name),
            help => PossibleValue::new(name).help(help),
        })
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for OneOf<T> {
    type Value = T;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let given = PossibleValuesParser::new(self.names()).parse_ref(command, arg, value)?;
        let known = self.0.iter().find(|(name, ..)| *name == given).map(|&(.., value)| value);
        known.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidValue).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names()))
    }
}

/// Names of dimensions in lines that fit 80 columns, each after two blanks.
pub fn listed<D: Dimension>(first: &str, dimensions: impl IntoIterator<Item = D>) -> String {
    const WIDTH: usize = 79;
    let mut lines = vec![format!("  {first}")];
    let names: Vec<&str> = dimensions.into_iter().map(|dimension| dimension.name()).collect();
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 < names.len() { "," } else { "" };
        match lines.last_mut() {
            Some(line) if line.len() + name.len() + comma.len() < WIDTH => {
                let blank = if line.ends_with(' ') { "" } else { " " };
                line.extend([blank, name, comma]);
            }
            _ => lines.push(format!("  {name}{comma}")),
        }
    }
    lines.join("\n")
}

/// Help after the flags of a command with these dimensions: their list, then `rest`.
pub fn help<D: Dimension>(heading: &str, rest: &str) -> String {
    format!("{heading}:\n{}\n\n{rest}", listed("", D::ALL.iter().copied()))
}

/// `--group-by` of a command with these dimensions.
pub fn grouped_by<D: Dimension>(arg: Arg) -> Arg {
    let names = D::ALL.iter().map(|dimension| (dimension.name(), dimension.title()));
    arg.value_parser(Names(names.collect())).hide_possible_values(true)
}

/// The dimensions of `--group-by`, or those that are usual.
pub fn group_by<D: Dimension>(names: Option<&String>, usual: Vec<D>) -> anyhow::Result<Vec<D>> {
    names.map_or(Ok(usual), |names| D::parse_list(names).context("--group-by"))
}

/// The conditions of `--where`.
pub fn conditions<D: Dimension>(texts: &[String]) -> anyhow::Result<Vec<Condition<D>>> {
    texts.iter().map(|text| Condition::parse(text).context("--where")).collect()
}

/// Units of sizes.
pub const UNITS: OneOf<Unit> = OneOf(&[
    ("pages", "", Unit::Pages),
    ("kib", "", Unit::Kib),
    ("mib", "", Unit::Mib),
    ("gib", "", Unit::Gib),
    ("auto", "", Unit::Auto),
]);
