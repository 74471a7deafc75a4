//! `pfnset processes`.

use crate::analysis::processes::{Dimension, ProcessOrder, ProcessQuery, ProcessSet};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::table::Condition;
use crate::answer::processes;
use crate::cli::args::{ColumnArgs, Common, OneOf, RowArgs, conditions, group_by, grouped_by, help, refuse};
use crate::cli::exit::Exit;
use crate::cli::{output, trace};
use clap::Args;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(after_help = help::<Dimension>("Dimensions", "\
Without --group-by each process has a row. Start and end are empty for what
happened before or after the trace. Private and page tables are pages at the
snapshot, whatever list they are on; standby and modified are parts of both.
Commit by VirtualAlloc is shown where it was recorded, of processes whose commit
before the trace is known.

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset processes trace.etl
  pfnset processes trace.etl --where started=true --sort start
  pfnset processes trace.etl --where name=svchost.exe --format csv
  pfnset processes trace.etl --columns private,parent,start_s
  pfnset processes trace.etl --group-by session,name --top 5"))]
pub struct Processes {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Order of the rows [default: pages]; with --group-by in tables and Markdown
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<ProcessOrder>,
    /// At which page sequence of the trace pages are counted: last or a number from 0 [default: last]
    #[arg(long, value_name = "WHICH")]
    pub snapshot: Option<SnapshotChoice>,
}

const ORDERS: OneOf<ProcessOrder> = OneOf(&[
    ("pages", "Most pages first", ProcessOrder::Pages),
    ("size", "The same", ProcessOrder::Pages),
    ("name", "By name", ProcessOrder::Name),
    ("start", "By start, those from before the trace first (groups: by name)", ProcessOrder::Start),
]);

impl Processes {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        let mut query = ProcessQuery {
            conditions: conditions(&rows.conditions)?,
            sort: self.sort.unwrap_or_default(),
            snapshot: self.snapshot.unwrap_or_default(),
            ..ProcessQuery::default()
        };
        query.group_by = group_by(rows.group_by.as_ref(), query.group_by)?;
        rows.check(common.format)?;
        self.columns.check(common.format)?;
        let has_own_order = rows.group_by.is_some() && self.sort.is_some() && !common.format.is_for_people();
        refuse(
            "--sort",
            &[(has_own_order, "is for table and markdown: grouped rows of the other forms have their own order")],
        )?;
        let trace = trace::open(common)?;
        let set = trace::with_bar(common, &trace, 2, || ProcessSet::answer(&trace, &query))?;
        let has_no_pages = self.sort == Some(ProcessOrder::Pages) && set.snapshot.is_none();
        let reason = "needs page records, and the trace holds none: its rows have an order by name and by start";
        refuse("--sort by pages", &[(has_no_pages, reason)])?;
        let of_pages = |is_asked: bool| is_asked && set.snapshot.is_none();
        let without = "is for pages of page records, and the trace holds none: leave it out";
        refuse("--snapshot", &[(of_pages(self.snapshot.is_some()), without)])?;
        refuse("--unit", &[(of_pages(rows.unit.is_some()), without)])?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        let answer = processes::answer(&set, (query.sort, rows.top), rows.unit());
        let answer = output::with_no_match(answer, &query.conditions);
        trace::finish_with(&self.columns, answer, common)
    }
}
