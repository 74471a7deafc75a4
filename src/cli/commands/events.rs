//! `pfnset events`.

use crate::analysis::event_rows::{EventListing, EventRowQuery};
use crate::analysis::event_statistics::{EventFilter, EventStatistics};
use crate::answer::events;
use crate::answer::numbers::Unit;
use crate::cli::args::{Common, OutputFormat, refuse};
use crate::cli::each::{Each, TraceQuestion};
use crate::cli::exit::Exit;
use crate::cli::{output, trace};
use crate::forms::event_rows::{self, EventForm};
use crate::forms::text;
use crate::load::sha256_digest::TraceDigest;
use crate::model::window::Bound;
use crate::pattern::Patterns;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.
Quote them as below in cmd.exe, PowerShell, bash and zsh; those with ! in the single quotes of bash and zsh.

Examples:
  pfnset events trace.etl --provider \"Memory;Process\"
  pfnset events trace.etl --name \"*DCStart;*DCEnd\"
  pfnset events --each traces/ --name \"Memory*\" --format csv -o memory.csv
  pfnset events trace.etl --rows --name \"Process*\" --head 20
  pfnset events trace.etl --rows --from 1.5 --to 1.6 --format jsonl
  pfnset events trace.etl --digest --format json   to compare files or readers")]
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
    /// One row for each record, in the order of time, with its fields; forms table, csv, jsonl
    #[arg(long, conflicts_with_all = ["each", "digest"])]
    pub rows: bool,
    /// With --rows: only records from here on: seconds since trace start, or the text of a mark
    #[arg(long, value_name = "SECONDS|MARK", requires = "rows")]
    pub from: Option<Bound>,
    /// With --rows: only records before this
    #[arg(long, value_name = "SECONDS|MARK", requires = "rows")]
    pub to: Option<Bound>,
    /// With --rows: only the first N
    #[arg(long, value_name = "N", requires = "rows")]
    pub head: Option<u64>,
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
        if self.rows {
            return self.list(filter);
        }
        let question = TraceQuestion { common, each: &self.each, schema: "pfnset.events", unit: Unit::default() };
        let exit = question.answer(|_, trace, show| {
            let statistics = trace::with_bar(common, trace, 1, || EventStatistics::answer(trace, &filter));
            let digest = self.digest.then(|| TraceDigest::new(trace.etl()));
            show(events::answer(&statistics, digest.as_ref()), statistics.is_doubtful())
        })?;
        output::tell_unmatched(common.quiet, &unmatched(&filter));
        Ok(exit)
    }

    /// One row for each record.
    fn list(&self, filter: EventFilter) -> anyhow::Result<Exit> {
        let common = &self.common;
        let form = match common.format {
            OutputFormat::Table => EventForm::Table,
            OutputFormat::Csv => EventForm::Csv(common.csv.cells()),
            OutputFormat::Jsonl => EventForm::Jsonl,
            OutputFormat::Json | OutputFormat::Markdown | OutputFormat::Collapsed => {
                refuse("--rows", &[(true, "has the forms table, csv and jsonl")])?;
                return Ok(Exit::Usage);
            }
        };
        let query = EventRowQuery { filter, from: self.from.clone(), to: self.to.clone(), head: self.head };
        let trace = trace::open(common)?;
        let listing = trace::with_bar(common, &trace, 2, || EventListing::answer(&trace, &query))?;
        output::unless_closed(self.write(&listing, form))?;
        output::tell_unmatched(common.quiet, &unmatched(&query.filter));
        Ok(if common.strict && listing.doubtful { Exit::BadInput } else { Exit::Fine })
    }

    fn write(&self, listing: &EventListing<'_>, form: EventForm) -> anyhow::Result<()> {
        let common = &self.common;
        let width = usize::from(output::width(common));
        let mut out = match form {
            EventForm::Table => output::open_rows_for_people(common)?,
            EventForm::Csv(_) | EventForm::Jsonl => output::open_rows(common)?,
        };
        if form == EventForm::Table {
            out.text(|out, look| text::warnings(out, &listing.warnings, look))?;
        } else if !common.quiet {
            output::warn(&listing.warnings);
        }
        out.write(&event_rows::heading(form))?;
        listing.stream(|text, row| event_rows::row(form, width, text, row), &mut |bytes| out.write(bytes))?;
        out.finish()
    }
}

/// The user's patterns that matched nothing.
fn unmatched(filter: &EventFilter) -> Vec<String> {
    [("provider", &filter.provider), ("name", &filter.name)]
        .into_iter()
        .flat_map(|(flag, patterns)| patterns.all().filter(|p| !p.has_matched()).map(move |p| (flag, &p.text)))
        .map(|(flag, text)| format!("--{flag} \"{text}\" matches nothing"))
        .collect()
}
