//! `pfnset events --rows`.

use crate::analysis::event_rows::{Dimension, EventListing, EventRowQuery, FieldChoice, FieldCondition, UserManifest};
use crate::analysis::events::{EventFilter, EventStatistics};
use crate::cli::args::{Common, OutputFormat, Printing, WindowArgs, conditions, refuse};
use crate::cli::exit::Exit;
use crate::cli::symbols::SymbolArgs;
use crate::cli::{output, trace};
use crate::dimensions::Dimension as _;
use crate::error::Error;
use crate::forms::event_rows::{self, EventForm, RowWriter};
use crate::forms::text;
use crate::model::window::{Bound, duration};
use crate::units::Nanos;
use anyhow::Context;
use clap::Args;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

/// How far around a moment `--around` reaches: a burst of events, not a whole second of them.
const MARGIN: Nanos = Nanos(10_000_000);

/// Flags of `--rows`.
#[derive(Debug, Args)]
#[command(mut_arg("from", |from| from.requires("rows").help("With --rows: only records from here on: seconds since trace start, or the text of a mark")))]
#[command(mut_arg("to", |to| to.requires("rows").help("With --rows: only records before this")))]
pub struct RowsArgs {
    /// One row for each record, in the order of time, with its fields; forms table, csv, jsonl
    // A flag that conflicts with it would make flags that need it pass without it, and be ignored: conflicts are told by the command.
    #[arg(long)]
    pub rows: bool,
    /// With --rows: only records with a label that matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS", requires = "rows")]
    pub conditions: Vec<String>,
    /// With --rows: only records with a field whose value matches; repeatable, all must hold
    #[arg(long, value_name = "NAME=PATTERNS", requires = "rows")]
    pub field: Vec<String>,
    /// With --rows: only these fields, in this order
    #[arg(long, value_name = "NAME,…", requires = "rows")]
    pub fields: Option<String>,
    #[command(flatten)]
    pub window: WindowArgs,
    /// With --rows: only records around this moment (of marks the first that matches)
    #[arg(long, value_name = "SECONDS|MARK", requires = "rows", conflicts_with_all = ["from", "to"])]
    pub around: Option<Bound>,
    /// With --around: how far before and after the moment [default: 10ms]
    #[arg(long, value_name = "DURATION", requires = "around", value_parser = margin)]
    pub margin: Option<Nanos>,
    /// With --rows: only the first N
    #[arg(long, value_name = "N", requires = "rows")]
    pub head: Option<u64>,
    /// With --rows: an instrumentation manifest (XML) for events that the trace does not describe; repeatable
    #[arg(long, value_name = "FILE.man", requires = "rows")]
    pub manifest: Vec<PathBuf>,
    /// With --rows: the frames of each record's stack, innermost first; in csv outermost first, as in stacks
    #[arg(long, requires = "rows")]
    pub stacks: bool,
    #[command(flatten)]
    pub symbols: SymbolArgs,
}

/// Largest manifest that is read, bytes: those of Windows have some megabytes.
const LARGEST_MANIFEST: u64 = 64 << 20;

fn manifest(path: &PathBuf, printing: &Printing) -> anyhow::Result<UserManifest> {
    output::spare(path, printing, "the manifest")?;
    let wrong = |reason: String| Error::Usage(format!("--manifest {}: {reason}", path.display()));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    file.take(LARGEST_MANIFEST + 1).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > LARGEST_MANIFEST {
        return Err(wrong(format!("it has more than {} MiB", LARGEST_MANIFEST >> 20)).into());
    }
    Ok(UserManifest::read(path.display().to_string(), &bytes).map_err(wrong)?)
}

fn margin(text: &str) -> Result<Nanos, String> {
    duration(text).ok_or_else(|| "expected a duration, such as 10ms or 0.5".into())
}

/// The dimensions of `--where`, for the help.
pub fn dimensions() -> String {
    Dimension::names(Dimension::ALL).join(", ")
}

impl RowsArgs {
    fn query(&self, filter: EventFilter, printing: &Printing) -> anyhow::Result<EventRowQuery> {
        let named = !self.symbols.symbols.is_empty() && !self.stacks;
        refuse("--symbols", &[(named, "names the functions of --rows --stacks")])?;
        let field = |text: &String| FieldCondition::parse(text).context("--field");
        Ok(EventRowQuery {
            filter,
            conditions: conditions(&self.conditions)?,
            fields: self.field.iter().map(field).collect::<anyhow::Result<_>>()?,
            shown: self.fields.as_deref().map(FieldChoice::parse).transpose().context("--fields")?,
            from: self.window.from.clone(),
            to: self.window.to.clone(),
            around: self.around.clone().map(|moment| (moment, self.margin.unwrap_or(MARGIN))),
            head: self.head,
            manifests: self.manifest.iter().map(|path| manifest(path, printing)).collect::<anyhow::Result<_>>()?,
            stacks: if self.stacks {
                Some(self.symbols.folders(printing.quiet, printing.output.as_deref())?)
            } else {
                None
            },
        })
    }
}

impl RowsArgs {
    /// One row for each record.
    pub fn list(&self, common: &Common, filter: EventFilter) -> anyhow::Result<Exit> {
        let form = match common.format {
            OutputFormat::Table => EventForm::Table,
            OutputFormat::Csv => EventForm::Csv,
            OutputFormat::Jsonl => EventForm::Jsonl,
            OutputFormat::Json | OutputFormat::Markdown | OutputFormat::Collapsed | OutputFormat::Firefox => {
                refuse("--rows", &[(true, "has the forms table, csv and jsonl")])?;
                return Ok(Exit::Usage);
            }
        };
        let query = self.query(filter, common)?;
        let trace = trace::open(common)?;
        let listing = trace::with_bar(common, &trace, 2, || EventListing::answer(&trace, &query))?;
        let mut read = None;
        output::unless_closed(write(common, &listing, form, self.fields.is_some()).map(|wrote| read = Some(wrote)))?;
        if let Some(wrote) = read {
            // A name that only records outside of the window have is no name that is wrong.
            EventStatistics::answer(&trace, &query.filter);
            let is_part = query.from.is_some() || query.to.is_some() || query.around.is_some();
            // What comes after the head is not known.
            let part = match (wrote.is_whole, is_part) {
                (false, _) => " in the part that was read for --head",
                (true, true) => " in the window",
                (true, false) => "",
            };
            let unmatched = [unmatched(&query.filter, ""), query.unmatched()].concat();
            let mut lines: Vec<String> = unmatched.into_iter().map(|line| format!("{line}{part}")).collect();
            if lines.is_empty() && wrote.is_whole && !wrote.has_rows && query.head != Some(0) {
                let place = if is_part { "of the window" } else { "of the trace" };
                lines.push(format!("no record {place} meets all conditions: there is no row"));
            }
            output::tell_unmatched(common.quiet, &lines);
        }
        Ok(output::strict_exit(common, form == EventForm::Table, &listing.warnings))
    }
}

/// What was written.
struct Wrote {
    /// The trace was read to its end.
    is_whole: bool,
    /// There was a row.
    has_rows: bool,
}

fn write(common: &Common, listing: &EventListing<'_>, form: EventForm, wraps: bool) -> anyhow::Result<Wrote> {
    let width = usize::from(output::width(common));
    let mut out = match form {
        EventForm::Table => output::open_rows_for_people(common)?,
        EventForm::Csv | EventForm::Jsonl => output::open_rows(common)?,
    };
    if form == EventForm::Table {
        out.text(|out, look| text::warnings(out, &listing.warnings, look))?;
    } else {
        output::warn(&output::told(&listing.warnings, common.quiet));
    }
    let heading = event_rows::heading(form, width);
    out.write(&heading)?;
    let lines_of = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let mut lines = listing.warnings.len() + lines_of(&heading);
    let new = || RowWriter::new(form, width).wrapping(wraps);
    let mut has_rows = false;
    let is_whole = listing.stream(new, RowWriter::row, RowWriter::stack, &mut |bytes| {
        has_rows |= !bytes.is_empty();
        lines += lines_of(bytes);
        out.write(bytes)
    })?;
    if form == EventForm::Table {
        out.text(|out, look| text::repeated(out, look, &listing.warnings, lines))?;
    }
    out.finish()?;
    if form != EventForm::Table {
        output::warn_again(&listing.warnings, lines, common);
    }
    Ok(Wrote { is_whole, has_rows })
}
/// Patterns of `--provider` and `--name` that matched nothing. `but`: what else is to be said of them.
pub fn unmatched(filter: &EventFilter, but: &str) -> Vec<String> {
    [("provider", &filter.provider), ("name", &filter.name)]
        .into_iter()
        .flat_map(|(flag, patterns)| patterns.all().filter(|p| !p.has_matched()).map(move |p| (flag, p)))
        .map(|(flag, p)| format!("--{flag} \"{}\" matches nothing{but}{}", p.text, p.cut_advice()))
        .collect()
}
