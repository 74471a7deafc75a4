//! `pfnset symbols`.

use crate::analysis::stacks::SymbolNeeds;
use crate::answer::symbols;
use crate::cli::args::{ColumnArgs, Common, OutputFormat};
use crate::cli::exit::Exit;
use crate::cli::symbols::SymbolArgs;
use crate::cli::trace;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

#[derive(Debug, Args)]
#[command(mut_arg("format", forms))]
#[command(after_help = "\
Frames are those of all stacks of the trace. A symbol file (PDB) belongs to an
image by its GUID and age, which only merged traces name. Nothing is asked over
a network: --format manifest lists what is missing, a line NAME,GUIDAGE,1 each,
meant for symchk (not tried); on a symbol server a file is at NAME/GUIDAGE/NAME.

Examples:
  pfnset symbols trace.etl
  pfnset symbols trace.etl --symbols C:\\symbols --format csv
  pfnset symbols trace.etl --format manifest > missing.txt")]
pub struct Symbols {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
}

/// `--format` with one more form.
fn forms(arg: clap::Arg) -> clap::Arg {
    let names = ["table", "json", "csv", "jsonl", "markdown", "manifest"];
    arg.value_parser(PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "json" => OutputFormat::Json,
        "csv" => OutputFormat::Csv,
        "jsonl" => OutputFormat::Jsonl,
        "markdown" => OutputFormat::Markdown,
        "manifest" => OutputFormat::Collapsed,
        _ => OutputFormat::Table,
    }))
}

impl Symbols {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        self.columns.check(common.format)?;
        let folders = self.symbols.folders(common.quiet, common.output.as_deref())?;
        let trace = trace::open(common)?;
        let needs = trace::with_bar(common, &trace, 3, || SymbolNeeds::answer(&trace, &folders))?;
        let answer = match common.format {
            OutputFormat::Collapsed => symbols::manifest(&needs),
            _ => symbols::answer(&needs),
        };
        trace::finish_with(&self.columns, answer, common)
    }
}
