//! `pfnset allocations`: from its flags to the report.

use crate::analysis::allocations::{AllocationOrder, AllocationQuery, AllocationSet, AllocationView, Dimension};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::table::Condition;
use crate::answer::allocations::{self, AllocationDisplay};
use crate::cli::args::{
    ColumnArgs, Common, OneOf, OutputFormat, RowArgs, WindowArgs, by_default, conditions, group_by, grouped_by, help,
    refuse, span,
};
use crate::cli::exit::Exit;
use crate::cli::pool_tags::PoolTagArgs;
use crate::cli::symbols::SymbolArgs;
use crate::cli::{output, trace};
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::units::Nanos;
use clap::Args;

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(mut_arg("from", |from| by_default(from, "the trace's")), mut_arg("to", |to| by_default(to, "the trace's")))]
#[command(after_help = help::<Dimension>("Dimensions", "\
Commit has pages; pool has tag, pool and session; heap has heap and source.
Function and stack are those of the record that allocated, free_function and
free_stack of the one that freed; as a condition, function finds any frame.

Impacting: allocated in the window and still there at its end. Transient:
allocated and freed in it. Growth: at the end less at the start. Doubtful: still
there, but records were lost after it was allocated.

Presets:
  leaks         allocated in the first half and still there, oldest first
  growth        who grew most
  churn         who allocated and freed most
  lifetimes     how long pieces lived, with percentiles
  not-resident  commit that is not in RAM at a page sequence (--snapshot)

Patterns: * any text, ? any character, a leading ! excludes, ; separates; case does not matter.

Examples:
  pfnset allocations trace.etl
  pfnset allocations trace.etl --of pool --group-by tag,process --top 5
  pfnset allocations trace.etl --of pool --pooltags pooltag.txt
  pfnset allocations trace.etl --preset leaks --group-by function
  pfnset allocations trace.etl --preset not-resident --top 10
  pfnset allocations trace.etl --from \"click*\" --to 12.5 --preset churn
  pfnset allocations trace.etl --timeline 100ms --format csv -o commit.csv"))]
pub struct Allocations {
    #[command(flatten)]
    pub common: Common,
    /// What was allocated [default: the first of them in the trace]
    #[arg(long, value_parser = KINDS, value_name = "KIND")]
    pub of: Option<AllocationKind>,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    #[command(flatten)]
    pub tags: PoolTagArgs,
    /// Order of the rows [default: end]
    #[arg(long, value_parser = ORDERS, value_name = "BY")]
    pub sort: Option<AllocationOrder>,
    #[command(flatten)]
    pub window: WindowArgs,
    /// Another view of the same
    #[arg(long, value_parser = PRESETS, value_name = "VIEW", hide_possible_values = true)]
    pub preset: Option<AllocationView>,
    /// With --preset not-resident: at which page sequence, last or a number from 0 [default: last]
    #[arg(long, value_name = "NUMBER", requires = "preset")]
    pub snapshot: Option<SnapshotChoice>,
    /// What was allocated, freed and outstanding every STEP (seconds, or with a unit as in 100ms)
    #[arg(long, value_name = "STEP", value_parser = span, conflicts_with = "preset")]
    pub timeline: Option<Nanos>,
}

pub(super) const KINDS: OneOf<AllocationKind> = OneOf(&[
    ("commit", "Commit by VirtualAlloc", AllocationKind::Commit),
    ("pool", "Kernel pool", AllocationKind::Pool),
    ("heap", "Blocks of Win32 heaps", AllocationKind::Heap),
]);

const ORDERS: OneOf<AllocationOrder> = OneOf(&[
    ("end", "Most at the end first", AllocationOrder::AtEnd),
    ("size", "The same", AllocationOrder::AtEnd),
    ("name", "By name", AllocationOrder::Name),
    ("growth", "Most growth first", AllocationOrder::Growth),
    ("impacting", "Most that was allocated and is still there first", AllocationOrder::Impacting),
    ("allocated", "Most allocated first", AllocationOrder::Allocated),
    ("peak", "Greatest peak first", AllocationOrder::Peak),
    ("pieces", "Most allocations first", AllocationOrder::Pieces),
    ("lifetime", "Longest lives first", AllocationOrder::Lifetime),
    ("oldest", "Oldest that is still there first", AllocationOrder::Oldest),
]);

const PRESETS: OneOf<AllocationView> = OneOf(&[
    ("leaks", "Allocated early and still there", AllocationView::Leaks),
    ("growth", "Who grew most", AllocationView::Growth),
    ("churn", "Who allocated and freed most", AllocationView::Churn),
    ("lifetimes", "How long pieces lived", AllocationView::Lifetimes),
    ("not-resident", "What is committed and not in RAM", AllocationView::NotResident),
]);

impl Allocations {
    fn order(&self) -> AllocationOrder {
        self.sort.unwrap_or(match self.preset {
            Some(AllocationView::Leaks) => AllocationOrder::Oldest,
            Some(AllocationView::Growth) => AllocationOrder::Growth,
            Some(AllocationView::Churn) => AllocationOrder::Allocated,
            Some(AllocationView::Lifetimes) => AllocationOrder::Lifetime,
            Some(AllocationView::NotResident) => AllocationOrder::Absent,
            Some(AllocationView::Outstanding) | None => AllocationOrder::AtEnd,
        })
    }

    /// The page sequence of `--preset not-resident`.
    fn at_snapshot(&self) -> Result<Option<SnapshotChoice>, Error> {
        let is_asked = self.preset == Some(AllocationView::NotResident);
        let has_window = self.window.is_given();
        refuse("--snapshot", &[(self.snapshot.is_some() && !is_asked, "is for --preset not-resident")])?;
        refuse(
            "--preset not-resident",
            &[
                (has_window && is_asked, "shows the moment of a page sequence: --from and --to have no effect"),
                (self.sort.is_some() && is_asked, "has an order of its own: what is not in RAM, largest first"),
            ],
        )?;
        Ok(is_asked.then(|| self.snapshot.unwrap_or_default()))
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let (common, rows) = (&self.common, &self.rows);
        let at_snapshot = self.at_snapshot()?;
        let mut query = AllocationQuery {
            of: self.of,
            conditions: conditions(&rows.conditions)?,
            order: self.order(),
            from: self.window.from.clone(),
            to: self.window.to.clone(),
            timeline: self.timeline,
            at_snapshot,
            only_leaks: self.preset == Some(AllocationView::Leaks),
            ..AllocationQuery::default()
        };
        query.group_by = group_by(rows.group_by.as_ref(), query.group_by)?;
        let has_names = query.wants_stacks();
        let reason = "names functions: it is for rows or conditions by function or stack, as in --group-by function";
        refuse("--symbols", &[(!self.symbols.symbols.is_empty() && !has_names, reason)])?;
        if has_names {
            query.symbols = self.symbols.folders(common.quiet, common.output.as_deref())?;
        }
        query.pool_tags = self.tags.read(common)?;
        rows.check(common.format)?;
        self.columns.check(common.format)?;
        let is_timeline = self.timeline.is_some();
        let of_steps = is_timeline && common.format != OutputFormat::Json;
        refuse(
            "--timeline",
            &[
                (of_steps && rows.group_by.is_some(), "has steps: --group-by is for --format json beside it"),
                (rows.top.is_some() && is_timeline, "is shown as a whole: --top has no effect"),
                (self.sort.is_some() && is_timeline, "has an order of its own: --sort has no effect"),
            ],
        )?;
        let no_sizes = self.preset == Some(AllocationView::Lifetimes) && rows.unit.is_some();
        refuse("--preset lifetimes", &[(no_sizes, "has times: --unit has no effect")])?;
        let trace = trace::open(common)?;
        let set = trace::with_bar(common, &trace, 3, || AllocationSet::answer(&trace, &query))?;
        let has_no_tags = self.tags.pooltags.is_some() && (is_timeline || !set.dimensions.contains(&Dimension::Tag));
        refuse("--pooltags", &[(has_no_tags, "is for rows of pool tags: --of pool --group-by tag")])?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        self.tags.tell_unused(&query.pool_tags, common.quiet);
        let display = AllocationDisplay {
            view: self.preset.unwrap_or(AllocationView::Outstanding),
            is_summary: rows.group_by.is_none() && !is_timeline && self.preset.is_none(),
            is_timeline,
            order: query.order,
            top: rows.top,
            unit: rows.unit(),
        };
        let answer = output::with_no_match(allocations::answer(&set, display), &query.conditions);
        trace::finish_with(&self.columns, answer, common)
    }
}
