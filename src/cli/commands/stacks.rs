//! `pfnset stacks`.

use crate::analysis::stacks::{Dimension, Kind, StackQuery, StackSet};
use crate::answer::stacks;
use crate::cli::args::{ColumnArgs, Common, OutputFormat, RowArgs, conditions, grouped_by, help, refuse};
use crate::cli::exit::Exit;
use crate::cli::symbols::SymbolArgs;
use crate::cli::{output, trace};
use crate::facets::Condition;
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>), mut_arg("format", forms))]
#[command(after_help = help::<Dimension>("Dimensions", "\
Kinds of events: samples (default where there are any), cswitch, ready,
  virtual-alloc, page-access, hard-fault, disk, heap, pool; any other kernel
  event by its hook id as pfnset events lists it, events of providers as
  GUID/ID.

Module and function group by the innermost frame; as conditions they select
stacks that have such a frame anywhere.

Self counts events with the function innermost, total those with it anywhere.
Names: methods of .NET by the trace's own records, functions by symbol files
  (pfnset symbols lists which a trace needs), else module and offset.

Examples:
  pfnset stacks trace.etl
  pfnset stacks trace.etl --of hard-fault --where \"process=chrome*\"
  pfnset stacks trace.etl --symbols C:\\symbols
  pfnset stacks trace.etl --group-by process,module --top 5
  pfnset stacks trace.etl --format collapsed > out.folded    for flame graphs"))]
pub struct Stacks {
    #[command(flatten)]
    pub common: Common,
    /// Events of this kind
    #[arg(long, value_name = "KIND")]
    pub of: Option<String>,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// With --format collapsed: weights instead of numbers of events
    #[arg(long)]
    pub weight: bool,
}

/// `--format` with one more form.
fn forms(arg: clap::Arg) -> clap::Arg {
    let names = ["table", "json", "csv", "jsonl", "markdown", "collapsed"];
    arg.value_parser(PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "json" => OutputFormat::Json,
        "csv" => OutputFormat::Csv,
        "jsonl" => OutputFormat::Jsonl,
        "markdown" => OutputFormat::Markdown,
        "collapsed" => OutputFormat::Collapsed,
        _ => OutputFormat::Table,
    }))
}

impl Stacks {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        let mut query = StackQuery { conditions: conditions(&rows.conditions)?, ..StackQuery::default() };
        query.of = self.of.as_deref().map(Kind::parse).transpose().context("--of")?;
        if let Some(names) = &rows.group_by {
            query.group_by(names).context("--group-by")?;
        }
        rows.check(common.format)?;
        self.columns.check(common.format)?;
        let is_collapsed = common.format == OutputFormat::Collapsed;
        refuse(
            "--format collapsed",
            &[(is_collapsed && rows.group_by.is_some(), "has whole stacks: --group-by has no effect")],
        )?;
        refuse(
            "this form",
            &[(self.weight && !is_collapsed, "has events and weights: --weight is for --format collapsed")],
        )?;
        query.symbols = self.symbols.folders(common.quiet)?;
        let trace = trace::open(common)?;
        query.whole_stacks = is_collapsed;
        let set = trace::with_bar(common, &trace, 3, || StackSet::answer(&trace, &query))?;
        let no_memory = rows.unit.is_some() && !set.of.is_of_memory();
        refuse(&format!("--of {}", set.of.name()), &[(no_memory, "counts no memory: --unit has no effect")])?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        let answer = match is_collapsed {
            true => stacks::collapsed(&set, self.weight),
            false => stacks::answer(&set, rows.top, rows.unit(), Default::default()),
        };
        trace::finish_with(&self.columns, answer, common, set.doubtful)
    }
}
