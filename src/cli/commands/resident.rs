//! `pfnset resident`, and `--explain` for one page.

use crate::analysis::resident::ResidentSet;
use crate::analysis::resident::explain::{Explanation, Target};
use crate::analysis::resident::page_counts::ResidentOrder;
use crate::analysis::resident::page_dimensions::Dimension;
use crate::analysis::resident::query::{Classification, ResidentQuery, ResidentView, SnapshotChoice};
use crate::analysis::resident::tables::ColumnChoice;
use crate::analysis::table::Condition;
use crate::answer::{explain, resident};
use crate::cli::args::{Common, Names, OneOf, RowArgs, conditions, group_by, grouped_by, help, refuse};
use crate::cli::exit::Exit;
use crate::cli::many_traces::{Each, TraceQuestion};
use crate::cli::pool_tags::PoolTagArgs;
use crate::cli::symbols::{NAMES_FUNCTIONS, SymbolArgs};
use crate::cli::{output, trace};
use crate::error::Error;
use anyhow::Context;
use clap::Args;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(after_help = help::<Dimension>("Dimensions, at most 7", "\
Columns:
  pages, size, share, wpa, difference, active, standby, modified, free, other

Without --group-by: physical memory, the largest categories by class, and the
processes with most pages of their own (private memory, page tables, working-set
metadata, AWE and large pages) in 24 lines. Before Windows 11 no owner of AWE and
large pages is recorded: they have a row of their own. In use is what is neither modified,
standby nor free. Modified includes modified-no-write, free includes zero; other
is bad and in transition.

Presets:
  by-process           process, category
  by-list-priority     list, priority, category
  private-working-set  process, category where list=Active,
                       use=ProcessPrivate, process=!n/a
  files                file where file=!n/a
  drivers              detail (the image) where category=Driver

Stack, function and module are those of the last VirtualAlloc that committed the
address of a page of a process, if stacks were recorded. Rows have the innermost
frame; as conditions, function and module find any frame of the stack.

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset resident trace.etl
  pfnset resident trace.etl --all --wpa
  pfnset resident trace.etl --pivot list
  pfnset resident trace.etl --group-by process,category --top 5
  pfnset resident trace.etl --where \"process=chrome.exe*\" --group-by list
  pfnset resident trace.etl --preset files --top 20 --unit mib
  pfnset resident trace.etl --group-by process,function --symbols C:\\symbols
  pfnset resident trace.etl --group-by pool_tag --pooltags pooltag.txt
  pfnset resident --each monday.etl week/ --group-by class
  pfnset resident trace.etl --explain 0x1a2b3
  pfnset resident trace.etl --explain 0x7ff6103b0000 --process 4242"))]
pub struct Resident {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub each: Each,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    #[command(flatten)]
    pub tags: PoolTagArgs,
    /// Dimensions and conditions for a common question
    #[arg(long, value_name = "NAME", conflicts_with = "group_by", hide_possible_values = true,
        value_parser = Names(ResidentQuery::presets().collect()))]
    pub preset: Option<String>,
    /// Order of the rows [default: pages]
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<ResidentOrder>,
    /// By whose rules pages are counted [default: both]
    #[arg(long, value_parser = CLASSIFICATIONS, value_name = "RULES")]
    pub classification: Option<Classification>,
    /// Everything: what the first screen cuts off, and below any table the numbers of the checks; without --each
    #[arg(long, conflicts_with = "top")]
    pub all: bool,
    /// Show WPA's number and the difference; in narrow tables they replace lists
    #[arg(long)]
    pub wpa: bool,
    /// A column for each list, as in RAMMap
    #[arg(long, value_parser = PIVOTS, value_name = "DIM", conflicts_with_all = ["wpa", "columns"])]
    pub pivot: Option<()>,
    /// These columns in this order
    #[arg(long, value_name = "COLUMN,…", value_parser = Names(ColumnChoice::column_names().map(|name| (name, "")).collect()),
        hide_possible_values = true)]
    pub columns: Option<String>,
    /// Which page sequence of the trace: last, all or a number from 0
    #[arg(long, default_value = "last", value_name = "WHICH")]
    pub snapshot: SnapshotChoice,
    /// Explain a page: a PFN, or with --process a virtual address (0x… or decimal)
    #[arg(long, value_name = "PFN|VA", value_parser = number, conflicts_with_all = ["group_by", "preset", "conditions", "top", "unit", "sort", "classification", "all", "wpa", "pivot", "columns", "pooltags", "each"])]
    pub explain: Option<u64>,
    /// The process (id) of the address to explain
    #[arg(long, value_name = "PID", value_parser = process_id)]
    pub process: Option<u32>,
}

const ORDERS: OneOf<ResidentOrder> = OneOf(&[
    ("pages", "Most pages first", ResidentOrder::Pages),
    ("size", "The same", ResidentOrder::Pages),
    ("name", "By name", ResidentOrder::Name),
    ("wpa", "Most pages by WPA's rules first", ResidentOrder::PagesWpa),
    ("difference", "Greatest difference from WPA first", ResidentOrder::Difference),
]);

const PIVOTS: OneOf<()> = OneOf(&[("list", "Zero, free, standby, modified, …", ())]);

const CLASSIFICATIONS: OneOf<Classification> = OneOf(&[
    ("corrected", "Ours", Classification::Corrected),
    ("wpa", "What WPA shows", Classification::Wpa),
    ("both", "Ours, with WPA's count beside it", Classification::Both),
]);

/// Reads `0x1f` or `31`.
fn number(text: &str) -> Result<u64, String> {
    let read = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(&digits.replace('`', ""), 16),
        None => text.parse(),
    };
    read.map_err(|_| "expected a number, as in 0x1a2b3 or 107187".into())
}

fn process_id(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected the id of a process, as in 4242".into())
}

/// No physical address has more than 52 bits, so no PFN has more than 40.
const FIRST_THAT_IS_NO_PFN: u64 = 1 << 40;

/// Why a flag has no effect without them.
const NEEDS_RULES: &str = "needs rows by category or class: the rule sets differ in nothing else";

/// Orders by WPA's count need rows that have one.
fn check_order(query: &ResidentQuery) -> Result<(), Error> {
    let flag = match query.sort {
        ResidentOrder::PagesWpa => "--sort wpa",
        ResidentOrder::Difference => "--sort difference",
        ResidentOrder::Pages | ResidentOrder::Name => return Ok(()),
    };
    let is_wpa = query.classification == Classification::Wpa && query.sort == ResidentOrder::PagesWpa;
    refuse(
        flag,
        &[
            (!query.is_by_rules(), NEEDS_RULES),
            (!query.compares() && !is_wpa, "needs both counts (--classification both)"),
        ],
    )
}

impl Resident {
    /// # Errors
    /// A usage error for flags that would be without effect.
    fn check_view(&self, query: &ResidentQuery, view: &ResidentView) -> Result<(), crate::error::Error> {
        let is_for_people = self.common.format.is_for_people();
        let flags = [
            ("--all", self.all, "is for table and markdown: the other forms have all rows"),
            ("--wpa", self.wpa, "is for table and markdown: the other forms have all columns"),
            ("--columns", self.columns.is_some(), "is for table and markdown: the other forms have all columns"),
            (
                "--pivot",
                self.pivot.is_some(),
                "is for table and markdown; for the other forms: --group-by category,list",
            ),
        ];
        for (flag, given, why) in flags {
            refuse(flag, &[(given && !is_for_people, why)])?;
        }
        let of_one = "is of one trace: tables of --each have all rows, and no numbers of checks";
        refuse("--all", &[(self.all && self.each.each, of_one)])?;
        let chooses = self.columns.is_some() || self.pivot.is_some();
        let why = "keeps WPA's columns where the width is small; --columns and --pivot say which columns there are";
        refuse("--wpa", &[(self.wpa && chooses, why)])?;
        let needs_both = self.wpa || view.columns.has_wpa_column();
        let flag = if self.wpa { "--wpa" } else { "--columns wpa,difference" };
        refuse(
            flag,
            &[
                (needs_both && !query.is_by_rules(), NEEDS_RULES),
                (needs_both && !query.compares(), "needs both counts (--classification both)"),
            ],
        )
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        if let Some(number) = self.explain {
            return self.explain(number);
        }
        let why = "names the process of --explain ADDRESS; rows of a process are chosen by --where pid=PID";
        refuse("--process", &[(self.process.is_some(), why)])?;
        let (common, rows) = (&self.common, &self.rows);
        let mut query = ResidentQuery {
            sort: self.sort.unwrap_or_default(),
            classification: self.classification.unwrap_or_default(),
            snapshot: self.snapshot,
            ..ResidentQuery::default()
        };
        let is_sorted_by_wpa = matches!(query.sort, ResidentOrder::PagesWpa | ResidentOrder::Difference);
        let mut view = ResidentView { sort: query.sort, top: rows.top, ..ResidentView::default() };
        view.columns.wpa = self.wpa || is_sorted_by_wpa || self.classification == Some(Classification::Both);
        view.columns.all = self.all;
        view.columns.lists_across = self.pivot.is_some();
        if let Some(columns) = &self.columns {
            view.columns.choose(columns).context("--columns")?;
        }
        let is_plain =
            rows.group_by.is_none() && self.preset.is_none() && self.pivot.is_none() && self.columns.is_none();
        let is_for_people = common.format.is_for_people();
        let is_first_screen = is_plain && is_for_people && !self.each.each;
        query.processes = is_first_screen;
        if let Some(preset) = &self.preset {
            query.preset(preset).context("--preset")?;
        }
        query.group_by = group_by(rows.group_by.as_ref(), query.group_by)?;
        query.conditions.extend(conditions(&rows.conditions)?);
        rows.check(common.format)?;
        let has_names = query.wants_stacks();
        refuse("--symbols", &[(!self.symbols.symbols.is_empty() && !has_names, NAMES_FUNCTIONS)])?;
        if has_names {
            query.symbols = self.symbols.folders(common.quiet, common.output.as_deref())?;
        }
        let has_tags = query.group_by.contains(&Dimension::PoolTag);
        refuse(
            "--pooltags",
            &[(self.tags.pooltags.is_some() && !has_tags, "is for rows of pool tags: --group-by pool_tag")],
        )?;
        query.pool_tags = self.tags.read(common)?;
        check_order(&query)?;
        self.check_view(&query, &view)?;
        let question = TraceQuestion { common, each: &self.each, schema: ("pfnset.resident", 1), unit: rows.unit() };
        let exit = question.answer(|_, trace, show| {
            // One walk for the events, one for the pages; stacks take two more.
            let walks = if has_names { 4 } else { 2 };
            let set = trace::with_bar(common, trace, walks, || ResidentSet::answer(trace, &query))?;
            show(resident::answer(&set, &view, rows.unit(), is_first_screen))
        })?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        self.tags.tell_unused(&query.pool_tags, common.quiet);
        Ok(exit)
    }

    fn explain(&self, number: u64) -> anyhow::Result<Exit> {
        let target = match self.process {
            Some(process_id) => Target::Address { process_id, address: number },
            None if number >= FIRST_THAT_IS_NO_PFN => {
                return Err(Error::Usage(format!(
                    "--explain 0x{number:x}: no PFN is that large, so this is a virtual address; name its process: --process \
                     PID (any process for an address of the kernel)"
                ))
                .into());
            }
            None => Target::Pfn(number),
        };
        let symbols = self.symbols.folders(self.common.quiet, self.common.output.as_deref())?;
        let trace = trace::open(&self.common)?;
        let explain = || Explanation::answer(&trace, target, self.snapshot, &symbols);
        // One walk for the events, one for the pages, two for the stacks.
        let explanation = trace::with_bar(&self.common, &trace, 4, explain).map_err(|error| match error {
            Error::Usage(text) if matches!(target, Target::Pfn(0x10000..)) => {
                Error::Usage(format!("{text}; if it is a virtual address, name its process: --process PID"))
            }
            other => other,
        })?;
        let answer = explain::answer(&explanation, self.common.first());
        trace::finish(answer, &self.common)
    }
}
