//! `pfnset faults`: from its flags to the report.

use crate::analysis::faults::{Dimension, FaultQuery, FaultSet, Of, RangeQuery};
use crate::analysis::resident::query::SnapshotChoice;
use crate::answer::faults::{self, FaultView};
use crate::answer::numbers::TimeUnit;
use crate::cli::args::{
    ColumnArgs, Common, OneOf, OutputFormat, WindowArgs, conditions, group_by, grouped_by, help, refuse, span,
};
use crate::cli::commands::cpu::UNITS;
use crate::cli::exit::Exit;
use crate::cli::{output, trace};
use crate::dimensions::{Condition, Dimension as _};
use crate::error::Error;
use crate::units::Nanos;
use anyhow::Context;
use clap::Args;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(after_help = help::<Dimension>("Dimensions", "\
Kind and module are those of hard faults; disk, priority and operation those of
disk requests, and choose --of disk by themselves. Soft faults have a process only.
What lacks the dimension of a condition is not counted, which is said.

Waited: time from fault to page, summed over threads. Blocked: time in which at
least one thread waited. Again: bytes that had been read before. Response: from
start to completion of a request. Service: time for which the disk worked on
it alone.

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset faults trace.etl
  pfnset faults trace.etl --group-by file,kind --top 10
  pfnset faults trace.etl --where \"process=chrome.exe*\" --group-by module
  pfnset faults trace.etl --of disk --group-by disk,priority,operation
  pfnset faults trace.etl --of again --top 10
  pfnset faults trace.etl --from \"click*\" --to 12.5 --timeline 100ms"))]
pub struct Faults {
    #[command(flatten)]
    pub common: Common,
    /// Rows of these alone
    #[arg(long, value_parser = VIEWS, value_name = "WHAT")]
    pub of: Option<FaultView>,
    /// Rows by these dimensions, in this order [default: process]
    #[arg(long, value_name = "DIM,…")]
    pub group_by: Option<String>,
    /// Only what has a label that matches; repeatable, all must hold
    #[arg(long = "where", value_name = "DIM=PATTERNS")]
    pub conditions: Vec<String>,
    /// Only the first N rows, and one row for the rest
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Unit of times [default: auto]
    #[arg(long, value_parser = UNITS, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub window: WindowArgs,
    /// With --of ranges, again: beside which page sequence, last or a number from 0 [default: last]
    #[arg(long, value_name = "NUMBER", requires = "of")]
    pub snapshot: Option<SnapshotChoice>,
    /// Faults, requests and available memory every STEP (seconds, or with a unit as in 100ms)
    #[arg(long, value_name = "STEP", value_parser = span, conflicts_with = "of")]
    pub timeline: Option<Nanos>,
}

const VIEWS: OneOf<FaultView> = OneOf(&[
    ("hard", "Hard faults", FaultView::Hard),
    ("disk", "Disk requests", FaultView::Disk),
    ("soft", "Soft faults by process and kind", FaultView::Soft),
    ("ranges", "Ranges of files that hard faults read, and what RAM holds of them", FaultView::Ranges),
    ("again", "Those that were read more than once", FaultView::Again),
]);

impl Faults {
    /// What is shown. Dimensions that only disk requests have choose these; the first screen is mostly of hard faults, and a JSON
    /// document and a timeline are of all.
    fn view(&self, query: &FaultQuery) -> anyhow::Result<FaultView> {
        Ok(match self.of {
            Some(view) => view,
            None if self.timeline.is_some() => FaultView::Timeline,
            None if self.common.format == OutputFormat::Json => FaultView::Summary,
            None => match query.only_of().context("--group-by, --where")? {
                Some(Of::Disk) => FaultView::Disk,
                _ => FaultView::Summary,
            },
        })
    }

    /// Dimensions that the chosen rows never have are refused: of a condition nothing would be left.
    fn check_dimensions(&self, of: Of, name: &str, query: &FaultQuery) -> anyhow::Result<()> {
        let groups = query.group_by.iter().copied();
        for (flag, lacking) in [("--group-by", of.lacks(groups)), ("--where", of.lacks(query.filtered()))] {
            let Some(dimension) = lacking else { continue };
            let others: Vec<&str> = Of::ALL.into_iter().filter(|other| other.has(dimension)).map(Of::name).collect();
            let (own, others, dimension) = (of.name(), others.join(" and "), dimension.name());
            let text = format!(
                "{flag} {dimension}: {own} have none, it is of {others}; leave out {name} or {flag} {dimension}"
            );
            return Err(Error::Usage(text).into());
        }
        Ok(())
    }

    /// Flags that would be without effect are refused.
    fn check(&self, query: &FaultQuery, view: FaultView) -> anyhow::Result<()> {
        let common = &self.common;
        let is_json = common.format == OutputFormat::Json;
        let of_steps = view == FaultView::Timeline && !is_json;
        refuse(
            "--timeline",
            &[
                (of_steps && self.group_by.is_some(), "has steps: --group-by is for --format json beside it"),
                (of_steps && self.top.is_some(), "is shown as a whole: --top has no effect"),
            ],
        )?;
        match self.of {
            Some(FaultView::Soft) => {
                let by = (self.group_by.is_some(), "is by process and kind: --group-by has no effect");
                let unit = (self.unit.is_some(), "has no times: --unit has no effect");
                refuse("--of soft", &[by, unit])?;
                self.check_dimensions(Of::Soft, "--of soft", query)?;
            }
            Some(FaultView::Hard) => self.check_dimensions(Of::Hard, "--of hard", query)?,
            Some(FaultView::Ranges | FaultView::Again) => {
                let name = if self.of == Some(FaultView::Again) { "--of again" } else { "--of ranges" };
                let is_json = common.format == OutputFormat::Json;
                let by = (self.group_by.is_some() && !is_json, "is by range: --group-by has no effect");
                refuse(name, &[by])?;
                self.check_dimensions(Of::Hard, name, query)?;
            }
            Some(FaultView::Disk) => self.check_dimensions(Of::Disk, "--of disk", query)?,
            _ => {}
        }
        Ok(common.format.refuse_top_and_times(self.top, self.unit)?)
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        let mut query = FaultQuery {
            conditions: conditions(&self.conditions)?,
            from: self.window.from.clone(),
            to: self.window.to.clone(),
            timeline: self.timeline,
            ranges: matches!(self.of, Some(FaultView::Ranges | FaultView::Again)).then(|| RangeQuery {
                only_again: self.of == Some(FaultView::Again),
                beside: self.snapshot.unwrap_or_default(),
            }),
            ..FaultQuery::default()
        };
        query.group_by = group_by(self.group_by.as_ref(), query.group_by)?;
        refuse(
            "--snapshot",
            &[(self.snapshot.is_some() && query.ranges.is_none(), "is for --of ranges and --of again")],
        )?;
        let view = self.view(&query)?;
        self.check(&query, view)?;
        self.columns.check(common.format)?;
        let trace = trace::open(common)?;
        let set = trace::with_bar(common, &trace, 2, || FaultSet::answer(&trace, &query))?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        let answer = faults::answer(&set, view, self.top, self.unit.unwrap_or_default());
        let answer = output::with_no_match(answer, &query.conditions);
        trace::finish_with(&self.columns, answer, common)
    }
}
