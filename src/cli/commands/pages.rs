//! `pfnset pages`.

use crate::analysis::pages::{PageListing, PageQuery};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::table::Condition;
use crate::cli::args::{Base, CsvArgs, OneOf, conditions, refuse};
use crate::cli::exit::Exit;
use crate::cli::output::Rows;
use crate::cli::symbols::SymbolArgs;
use crate::cli::{output, trace};
use crate::forms::csv::Cells;
use crate::forms::pages::{PageForm, PageText};
use crate::forms::text;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Dimensions and patterns as in pfnset resident.

Flags of a page:
  cold, pinned, non_tradeable, combined
  image     mapped as an executable image
  mismatch  data page of a file that is also mapped as an image

Examples:
  pfnset pages trace.etl
  pfnset pages trace.etl --format csv -o pages.csv
  pfnset pages trace.etl --format jsonl --where category=Win32Heap
  pfnset pages trace.etl --format csv --where \"process=chrome.exe*\"
  pfnset pages trace.etl --where module=app.exe
  pfnset pages trace.etl --format xperf -o pages.txt

The table has the columns that fit the terminal; CSV and JSON lines have all.")]
pub struct Pages {
    #[command(flatten)]
    pub base: Base,
    /// Form of the rows
    #[arg(long, value_parser = FORMS, default_value = "table", value_name = "FORM")]
    pub format: PageForm,
    #[command(flatten)]
    pub csv: CsvArgs,
    /// Only pages whose label matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS")]
    pub conditions: Vec<String>,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Which page sequence of the trace: last, all or a number from 0
    #[arg(long, default_value = "last", value_name = "WHICH")]
    pub snapshot: SnapshotChoice,
}

const FORMS: OneOf<PageForm> = OneOf(&[
    ("table", "Aligned text", PageForm::Table),
    ("csv", "Comma-separated values with a heading line, documented in docs/json.md", PageForm::Csv(Cells::Plain)),
    ("jsonl", "One JSON object on each line, documented in docs/json.md", PageForm::Jsonl),
    (
        "xperf",
        "InMemory lines in the manner of xperf -a dumper; its own columns are not published, see docs/json.md",
        PageForm::Xperf,
    ),
]);

impl Pages {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let mut query = PageQuery {
            snapshot: self.snapshot,
            conditions: conditions(&self.conditions)?,
            symbols: SymbolFolders::default(),
        };
        let has_names = query.wants_stacks();
        let reason = "names functions: it is for conditions on stack, function or module, as in --where module=app.exe";
        refuse("--symbols", &[(!self.symbols.symbols.is_empty() && !has_names, reason)])?;
        if has_names {
            query.symbols = self.symbols.folders(self.base.quiet, self.base.output.as_deref())?;
        }
        let mut form = self.format;
        if let PageForm::Csv(cells) = &mut form {
            *cells = self.csv.cells();
        }
        let trace = trace::open(&self.base)?;
        let listing =
            trace::with_bar(&self.base, &trace, if has_names { 3 } else { 1 }, || PageListing::answer(&trace, &query))?;
        output::unless_closed(self.write(&trace, &listing, form))?;
        output::tell_unmatched(self.base.quiet, &Condition::unmatched(&query.conditions));
        Ok(output::strict_exit(&self.base, form == PageForm::Table, &listing.warnings))
    }

    /// Writes the pages.
    fn write(&self, trace: &Trace, listing: &PageListing<'_>, form: PageForm) -> anyhow::Result<()> {
        let width = output::width(&self.base);
        let mut out = match form {
            PageForm::Table => output::open_rows_for_people(&self.base)?,
            PageForm::Csv(_) | PageForm::Jsonl | PageForm::Xperf => output::open_rows(&self.base)?,
        };
        let mut lines = 0;
        self.warn(&mut out, form, &listing.warnings)?;
        for (place, &index) in listing.snapshots.iter().enumerate() {
            let Some(pages) = listing.snapshot(index) else { continue };
            if place == 0 {
                let loss = trace.trust().loss_of_all();
                let of = (trace.etl(), [loss.events_lost, loss.buffers_lost]);
                out.write(&PageText::heading(form, of, self.base.first(), width))?;
            }
            if form == PageForm::Table && listing.snapshots.len() > 1 {
                out.write(format!("Snapshot {index}\n").as_bytes())?;
            }
            let rows = PageText::new(form, trace.etl(), &pages.names(), index, width);
            pages.stream(|out, row| rows.row(out, row), &mut |bytes| {
                // No terminal has more, and counting costs.
                if lines <= usize::from(u16::MAX) {
                    lines += bytes.iter().filter(|&&byte| byte == b'\n').count();
                }
                out.write(bytes)
            })?;
        }
        if form == PageForm::Table {
            out.text(|out, look| text::repeated(out, look, &listing.warnings, lines))?;
        }
        out.finish()?;
        if form != PageForm::Table {
            output::warn_again(&listing.warnings, lines, &self.base);
        }
        Ok(())
    }

    /// Above the rows in text, on standard error otherwise.
    fn warn(&self, out: &mut Rows, form: PageForm, warnings: &Warnings) -> anyhow::Result<()> {
        if form == PageForm::Table {
            return Ok(out.text(|out, look| text::warnings(out, warnings, look))?);
        }
        output::warn(&output::told(warnings, self.base.quiet));
        Ok(())
    }
}
