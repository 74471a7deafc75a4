//! `pfnset stacks`.

use crate::analysis::stack_profile::StackProfile;
use crate::analysis::stacks::{Dimension, Kind, Root, StackQuery, StackSet, TreeQuery};
use crate::answer::Answer;
use crate::answer::stack_display::{FunctionOrder, StackDisplay};
use crate::answer::stacks;
use crate::cli::args::{
    ColumnArgs, Common, OneOf, OutputFormat, RowArgs, WindowArgs, conditions, group_by, grouped_by, help, refuse,
};
use crate::cli::exit::Exit;
use crate::cli::symbols::{NAMES_FUNCTIONS, SourceArgs, SymbolArgs};
use crate::cli::{output, trace};
use crate::dimensions::Condition;
use crate::error::Error;
use crate::pattern::Patterns;
use crate::trace::Trace;
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::num::NonZeroUsize;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>), mut_arg("format", forms))]
#[command(after_help = help::<Dimension>("Dimensions", "\
Kinds of events: samples (default where there are any), cswitch, ready,
  virtual-alloc, page-access, hard-fault, disk, heap, pool; any other event by
  its name as pfnset events lists it, where that is one event, kernel events by
  their hook id, events of providers as GUID/ID.

Module and function group by the innermost frame; as conditions they select
stacks that have such a frame anywhere.

Self counts events with the function innermost, total those with it anywhere.
Names: methods of .NET by the trace's own records, functions by symbol files
  (pfnset symbols lists which a trace needs), else module and offset.

Examples:
  pfnset stacks trace.etl
  pfnset stacks trace.etl --of hard-fault --where \"process=chrome*\"
  pfnset stacks trace.etl --symbols C:\\symbols --sort total
  pfnset stacks trace.etl --group-by process,module --top 5
  pfnset stacks trace.etl --tree --fold ntdll.dll --from \"click*\" --to 12.5
  pfnset stacks trace.etl --caller-of \"*memcpy\"
  pfnset stacks trace.etl --format collapsed > out.folded    for flame graphs
  pfnset stacks trace.etl --format firefox -o profile.json   profiler.firefox.com

The profile for Firefox has all kinds whose weight is time or memory, with what
was freed; with --of it has one."))]
pub struct Stacks {
    #[command(flatten)]
    pub common: Common,
    /// Events of this kind
    #[arg(long, value_name = "KIND")]
    pub of: Option<String>,
    #[command(flatten)]
    pub rows: RowArgs,
    /// Order of the functions [default: self]
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<FunctionOrder>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    #[command(flatten)]
    pub sources: SourceArgs,
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// With --format collapsed: weights instead of numbers of events
    #[arg(long)]
    pub weight: bool,
}

const ORDERS: OneOf<FunctionOrder> = OneOf(&[
    ("self", "Most with the function innermost first", FunctionOrder::Own),
    ("total", "Most with the function anywhere first", FunctionOrder::Total),
]);

/// Which stacks, and how they are shown.
#[derive(Debug, Args)]
pub struct ShapeArgs {
    #[command(flatten)]
    pub window: WindowArgs,
    /// Only stacks whose innermost function matches
    #[arg(long, value_name = "PATTERNS")]
    pub leaf: Option<String>,
    /// Frames next to each other in these modules become one
    #[arg(long, value_name = "MODULES")]
    pub fold: Option<String>,
    /// Stacks are cut to their N outermost frames
    #[arg(long, value_name = "N")]
    pub max_depth: Option<NonZeroUsize>,
    /// Which functions called which, as an indented tree; --top branches of each [default: 3]
    #[arg(long)]
    pub tree: bool,
    /// A tree of those that called this function
    #[arg(long, value_name = "FUNCTION", conflicts_with = "tree")]
    pub caller_of: Option<String>,
    /// A tree of those that this function called
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["tree", "caller_of"])]
    pub callee_of: Option<String>,
    /// Levels of the tree [default: 16]
    #[arg(long, value_name = "N")]
    pub depth: Option<NonZeroUsize>,
}

impl ShapeArgs {
    /// Puts them into the query; `top`: branches of each function.
    fn ask(&self, query: &mut StackQuery, top: Option<usize>) {
        const DEPTH: usize = 16;
        const BRANCHES: usize = 3;
        let patterns = |text: &Option<String>| text.as_deref().map(Patterns::new);
        (query.from, query.to) = (self.window.from.clone(), self.window.to.clone());
        (query.leaf, query.fold) = (patterns(&self.leaf), patterns(&self.fold));
        query.max_depth = self.max_depth.map(NonZeroUsize::get);
        let root = match (patterns(&self.caller_of), patterns(&self.callee_of)) {
            (Some(function), _) => Some(Root::CallersOf(function)),
            (_, Some(function)) => Some(Root::CalledBy(function)),
            _ => self.tree.then_some(Root::All),
        };
        let depth = self.depth.map_or(DEPTH, NonZeroUsize::get);
        query.tree = root.map(|root| TreeQuery::new(root, depth, top.unwrap_or(BRANCHES)));
    }
}

/// A flag with patterns, and what they must match.
type Named<'q> = (&'static str, &'static str, &'q Patterns);

/// Flags of a query that choose stacks: what they let pass is all that is shown.
fn choosing(query: &StackQuery) -> impl Iterator<Item = Named<'_>> {
    let root = query.tree.as_ref().and_then(|tree| match &tree.root {
        Root::CallersOf(patterns) => Some(("--caller-of", "function", patterns)),
        Root::CalledBy(patterns) => Some(("--callee-of", "function", patterns)),
        Root::All => None,
    });
    query.leaf.as_ref().map(|patterns| ("--leaf", "function", patterns)).into_iter().chain(root)
}

/// After a run: a line for each pattern of a flag that matched nothing, and for each root that changed no path.
fn unmatched(query: &StackQuery) -> Vec<String> {
    let fold = query.fold.as_ref().map(|patterns| ("--fold", "module", patterns));
    let lines = |(flag, what, patterns): Named<'_>| -> Vec<String> {
        let missed = patterns.all().filter(|pattern| !pattern.has_matched());
        missed
            .map(|pattern| format!("{flag}: no {what} matches \"{}\"{}", pattern.text, pattern.cut_advice()))
            .collect()
    };
    let roots = query.symbols.roots.iter().filter(|root| !root.is_used());
    let of_roots = roots.map(|root| format!("--source-root: no path of a source file is changed by {}", root.text()));
    choosing(query).chain(fold).flat_map(lines).chain(of_roots).collect()
}

/// An answer that says above everything else on a screen that no function is the one that was asked for.
fn with_no_function<'a>(answer: Answer<'a>, query: &StackQuery) -> Answer<'a> {
    let empty = choosing(query).filter(|(.., patterns)| patterns.select_nothing());
    let line = |(flag, what, patterns): Named<'_>| {
        format!("No {what} matches {flag} ({patterns}): what it chooses is empty below")
    };
    Answer { headline: answer.headline.into_iter().chain(empty.map(line)).collect(), ..answer }
}

/// `--format` with two more forms.
fn forms(arg: clap::Arg) -> clap::Arg {
    let names = ["table", "json", "csv", "jsonl", "markdown", "collapsed", "firefox"];
    arg.value_parser(PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "json" => OutputFormat::Json,
        "csv" => OutputFormat::Csv,
        "jsonl" => OutputFormat::Jsonl,
        "markdown" => OutputFormat::Markdown,
        "collapsed" => OutputFormat::Collapsed,
        "firefox" => OutputFormat::Firefox,
        _ => OutputFormat::Table,
    }))
}

impl Stacks {
    /// As for other commands, but lists of the JSON object can be cut too, and trees in all forms.
    fn check_rows(&self) -> Result<(), Error> {
        let (format, rows) = (self.common.format, &self.rows);
        let has_bytes = format == OutputFormat::Json && rows.unit.is_some();
        refuse("--format json", &[(has_bytes, "has pages and bytes; --unit is for table and markdown")])?;
        if format == OutputFormat::Json { Ok(()) } else { rows.check(format) }
    }

    /// Refuses flags that would be without effect in this form.
    fn check_form(&self, query: &StackQuery) -> Result<(), Error> {
        let (format, rows) = (self.common.format, &self.rows);
        let is_collapsed = format == OutputFormat::Collapsed;
        let (is_grouped, is_tree) = (rows.group_by.is_some(), query.tree.is_some());
        refuse(
            "--format collapsed",
            &[
                (is_collapsed && is_grouped, "has whole stacks: --group-by has no effect"),
                (is_collapsed && is_tree, "has whole stacks: a tree is for the other forms"),
            ],
        )?;
        let is_profile = format == OutputFormat::Firefox;
        refuse(
            "--format firefox",
            &[
                (is_profile && is_grouped, "has each event: --group-by has no effect"),
                (is_profile && is_tree, "has each event: a tree is for the other forms"),
            ],
        )?;
        refuse("--depth", &[(self.shape.depth.is_some() && !is_tree, "is for --tree, --caller-of, --callee-of")])?;
        refuse("--group-by", &[(is_grouped && is_tree, "has rows, a tree has functions")])?;
        let of_no_frames = !self.shows_frames(query);
        refuse("--symbols", &[(of_no_frames && !self.symbols.symbols.is_empty(), NAMES_FUNCTIONS)])?;
        let reason = "is of functions: rows of --group-by process, thread or processor have none";
        refuse("--lines", &[(of_no_frames && self.sources.lines, reason)])?;
        refuse("--inlines", &[(of_no_frames && self.sources.inlines, reason)])?;
        let reason = "changes stacks: rows of --group-by process, thread or processor have the same numbers without";
        refuse("--fold", &[(of_no_frames && query.fold.is_some(), reason)])?;
        refuse("--max-depth", &[(of_no_frames && query.max_depth.is_some(), reason)])?;
        refuse(
            "--sort",
            &[
                (
                    self.sort.is_some() && (is_grouped || is_tree),
                    "orders functions: rows of --group-by and trees have their own order",
                ),
                (
                    self.sort.is_some() && !format.is_for_people(),
                    "is for table and markdown: the other forms have their own order",
                ),
            ],
        )?;
        refuse(
            "this form",
            &[(self.weight && !is_collapsed, "has events and weights: --weight is for --format collapsed")],
        )
    }

    /// True where frames make what is shown, or choose it: a JSON object has functions beside its rows.
    fn shows_frames(&self, query: &StackQuery) -> bool {
        self.rows.group_by.is_none() || query.looks_at_frames() || self.common.format == OutputFormat::Json
    }

    /// The events one by one, for viewers of profiles.
    fn profile(&self, trace: &Trace, query: &StackQuery) -> anyhow::Result<Exit> {
        let common = &self.common;
        let no_unit = self.rows.unit.is_some();
        refuse("--format firefox", &[(no_unit, "has bytes; --unit is for table and markdown")])?;
        let profile = trace::with_bar(common, trace, 5, || StackProfile::answer(trace, query))?;
        let exit = trace::finish(stacks::profile(&profile), common)?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        output::tell_unmatched(common.quiet, &unmatched(query));
        Ok(exit)
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        let mut query = StackQuery { conditions: conditions(&rows.conditions)?, ..StackQuery::default() };
        query.group_by = group_by(rows.group_by.as_ref(), query.group_by)?;
        self.shape.ask(&mut query, rows.top);
        self.check_rows()?;
        self.columns.check(common.format)?;
        self.check_form(&query)?;
        let is_collapsed = common.format == OutputFormat::Collapsed;
        if self.shows_frames(&query) {
            query.symbols = self.sources.ask(self.symbols.folders(common.quiet, common.output.as_deref())?)?;
        }
        let trace = trace::open(common)?;
        query.of = self.of.as_deref().map(|kind| Kind::of_trace(kind, &trace)).transpose().context("--of")?;
        if common.format == OutputFormat::Firefox {
            return self.profile(&trace, &query);
        }
        query.whole_stacks = is_collapsed;
        query.hottest = !is_collapsed && query.tree.is_none() && query.group_by.is_empty();
        let set = trace::with_bar(common, &trace, 3, || StackSet::answer(&trace, &query))?;
        let no_memory = rows.unit.is_some() && !set.of.is_of_memory();
        refuse(&format!("--of {}", set.of.name()), &[(no_memory, "counts no memory: --unit has no effect")])?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        output::tell_unmatched(common.quiet, &unmatched(&query));
        let answer = match is_collapsed {
            true => stacks::collapsed(&set, self.weight),
            false => stacks::answer(
                &set,
                StackDisplay { top: rows.top, order: self.sort.unwrap_or_default(), unit: rows.unit() },
            ),
        };
        let answer = with_no_function(output::with_no_match(answer, &query.conditions), &query);
        trace::finish_with(&self.columns, answer, common)
    }
}
