//! `pfnset diff`.

use crate::analysis::allocations::{AllocationQuery, Dimension as AllocationDimension};
use crate::analysis::diff::Diff as Comparison;
use crate::analysis::diff::allocations::{AllocationDiff, AllocationDiffQuery, AllocationMeasure};
use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::comparison::DiffOrder;
use crate::analysis::diff::process_matching::Match;
use crate::analysis::diff::query::DiffQuery;
use crate::analysis::diff::row_choice::RowChoice;
use crate::analysis::diff::side::Source;
use crate::analysis::diff::stacks::{StackDiff, StackDiffQuery, StackMeasure};
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::stacks::{Dimension as StackDimension, Kind, StackQuery};
use crate::analysis::table::{Condition, Dimension as _, spelling};
use crate::answer::Answer;
use crate::answer::comparison::ListedRows;
use crate::answer::{diff, diff_allocations, diff_stacks};
use crate::cli::args::{Common, OneOf, OutputFormat, RowArgs, conditions, group_by, grouped_by, listed, refuse};
use crate::cli::commands::allocations::KINDS;
use crate::cli::exit::Exit;
use crate::cli::recorded_together::{RecordedTogether, with_flag};
use crate::cli::recordings::{Recording, Recordings};
use crate::cli::symbols::SymbolArgs;
use crate::cli::{output, progress, terminal, trace};
use crate::error::Error;
use crate::imported::wpa::WpaOptions;
use crate::imported::wpa::culture::{Culture, Sign};
use crate::input::STANDARD_INPUT;
use crate::load::allocation_kinds::AllocationKind;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::{Warning, Warnings};
use anyhow::Context;
use clap::{Args, ValueEnum};

/// The dimensions of traces, then `rest`.
fn help(rest: &str) -> String {
    let all = || Dimension::ALL.iter().copied();
    let resident = listed("", all().filter(|dimension| dimension.resident(false).is_some()));
    let reference = listed("with --refset: ", all().filter(|dimension| dimension.reference().is_some()));
    let allocations = listed("with --allocations: ", AllocationDimension::ALL.iter().copied());
    let stacks = listed("with --of samples: ", StackDimension::ALL.iter().copied());
    format!("Dimensions:\n{resident}\n{reference}\n{allocations}\n{stacks}\n\n{rest}")
}

#[derive(Debug, Args)]
#[command(mut_arg("group_by", grouped_by::<Dimension>))]
#[command(mut_arg("further", |arg| arg.index(2).num_args(1).required(true).value_name("RIGHT").help("The other side")))]
#[command(mut_arg("trace", |arg| arg.index(1).value_name("LEFT").help("A trace, JSON or CSV of pfnset, or a table that WPA exported")))]
#[command(after_help = help("\
The content of a file decides what it is, not its name. Without --group-by the
sides are compared by the finest dimensions that both have; two traces by
process and category. A trace beside a table of WPA is counted by WPA's rules,
everything else by the corrected ones. --refset compares what was touched while
the traces were recorded, --allocations commit, pool or heap blocks that were
allocated meanwhile, --of samples (or another kind of pfnset stacks) which code
ran, by function.

A terminal shows the first rows, as many as it has room for, and --top any
number; pipes, CSV and JSON have all rows that differ, with --all the others too.

Processes of two traces are matched by name, all of one name together. Beside a
table of WPA they are matched by id.

Exit codes: 0 equal (within --tolerance), 1 different, 3 a side cannot be read
or understood.

Examples:
  pfnset diff trace.etl wpa.csv
  pfnset diff trace.etl wpa.csv --group-by category --where list=Standby
  pfnset diff yesterday.etl today.etl --top 20 --tolerance 1MiB
  pfnset diff yesterday.etl today.etl --refset --group-by process
  pfnset diff old.etl new.etl --refset --group-by function --symbols C:\\symbols
  pfnset diff yesterday.etl today.etl --allocations --of pool --measure growth
  pfnset diff old.etl new.etl --of samples --symbols C:\\symbols --sort share
  pfnset diff kernel.etl --with user.etl wpa.csv
  pfnset diff baseline.json trace.etl --group-by category --format markdown
  pfnset diff trace.etl wpa.csv --map Kategorie=category --locale de"))]
pub struct Diff {
    #[command(flatten)]
    pub recordings: Recordings,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub rows: RowArgs,
    /// Order of the rows
    #[arg(long, value_parser = ORDERS, default_value = "difference", value_name = "BY")]
    pub sort: DiffOrder,
    /// Also rows that are equal or differ within the tolerance
    #[arg(long)]
    pub all: bool,
    /// Compare reference sets (of traces; files say what they are)
    #[arg(long, conflicts_with_all = ["classification", "snapshot"])]
    pub refset: bool,
    /// Compare what two traces allocated
    #[arg(long, conflicts_with_all = ["refset", "classification", "snapshot", "map", "locale", "decimal", "group"])]
    pub allocations: bool,
    /// Compare the stacks of a kind of events, as in pfnset stacks: samples, cswitch, …; with --allocations: commit, pool or heap
    /// [default: the first of them in both traces]
    #[arg(long, value_name = "KIND", conflicts_with_all = ["refset", "classification", "snapshot", "map", "locale", "decimal", "group"])]
    pub of: Option<String>,
    /// What decides whether rows differ, with --allocations [default: outstanding] or --of [default: self]
    #[arg(long, value_parser = MEASURES, value_name = "MEASURE")]
    pub measure: Option<Measure>,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// By whose rules pages are counted [default: WPA's beside a table of WPA, else corrected]
    #[arg(long, value_enum, value_name = "RULES")]
    pub classification: Option<Rules>,
    /// Which page sequence of each side: last or a number from 0, as in 0,last
    #[arg(long, value_name = "LEFT,RIGHT", value_parser = snapshots)]
    pub snapshot: Option<[SnapshotChoice; 2]>,
    /// How much rows may differ: pages (10), a size (1.5MiB) or a share of the larger side (2%)
    #[arg(long, value_name = "AMOUNT", default_value = "0", hide_default_value = true,
          value_parser = Tolerance::between_sides)]
    pub tolerance: Tolerance,
    /// How processes are matched [default: by id beside a table of WPA, else by name]; pid compares keys of nameless files too
    #[arg(long = "match", value_enum, value_name = "BY")]
    pub matching: Option<MatchBy>,
    /// Keep processes of one name apart, by the order of their starts
    #[arg(long)]
    pub apart: bool,
    /// What a column of WPA's table is: a dimension, pages, size_mb (_b, _kb, _gb), pfn, address, snapshot or ignore
    #[arg(long, value_name = "HEADING=MEANING", value_parser = mapping)]
    pub map: Vec<(String, String)>,
    /// Language of the numbers in WPA's table: en, de, fr, de-CH, …
    #[arg(long, value_name = "NAME", value_parser = Culture::of_locale)]
    pub locale: Option<Culture>,
    /// Decimal sign in WPA's table
    #[arg(long, value_name = "SIGN")]
    pub decimal: Option<Sign>,
    /// Sign between groups of digits in WPA's table
    #[arg(long, value_name = "SIGN")]
    pub group: Option<Sign>,
}

/// What decides whether rows differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Allocations(AllocationMeasure),
    Stacks(StackMeasure),
}

const MEASURES: OneOf<Measure> = OneOf(&[
    ("outstanding", "What is there at the end", Measure::Allocations(AllocationMeasure::Outstanding)),
    ("growth", "At the end less at the beginning", Measure::Allocations(AllocationMeasure::Growth)),
    ("peak", "The most at any time", Measure::Allocations(AllocationMeasure::Peak)),
    ("self", "Of stacks: events with the function innermost", Measure::Stacks(StackMeasure::Own)),
    ("total", "Of stacks: events with it anywhere", Measure::Stacks(StackMeasure::Total)),
]);

const ORDERS: OneOf<DiffOrder> = OneOf(&[
    ("difference", "Largest difference first", DiffOrder::Difference),
    ("change", "Largest difference in percent first; before them what only one side has", DiffOrder::Change),
    ("left", "Most pages on the left first", DiffOrder::Left),
    ("right", "Most pages on the right first", DiffOrder::Right),
    ("name", "By label", DiffOrder::Name),
    ("share", "Of stacks: largest difference of shares first", DiffOrder::Share),
]);

/// Lines of an answer besides its rows: the sides, the verdict, headings, sums, a note, the prompt.
const BESIDE_ROWS: u16 = 14;
/// The same of stacks: rows that are equal, and frames without names, are said too.
const BESIDE_ROWS_OF_STACKS: u16 = 17;
/// Fewest rows that are listed.
const FEWEST_ROWS: u16 = 10;
/// The same of stacks.
const FEWEST_ROWS_OF_STACKS: u16 = 6;
/// Fewest rows where all of an answer is in sight then.
const FEWEST_IN_SIGHT: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rules {
    /// Ours
    Corrected,
    /// What WPA shows
    Wpa,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MatchBy {
    /// By id
    Pid,
    /// By name
    Name,
}

/// What is compared.
enum Question {
    Pages(Box<DiffQuery>),
    Allocations(Box<AllocationDiffQuery>),
    Stacks(Box<StackDiffQuery>),
}

/// True where functions have names in the rows or the conditions.
fn has_names(query: &StackQuery) -> bool {
    let is_named = |of: &StackDimension| matches!(of, StackDimension::Function | StackDimension::Stack);
    let conditions = query.conditions.iter().map(|condition| condition.dimension);
    query.group_by.is_empty() || query.group_by.iter().copied().chain(conditions).any(|of| is_named(&of))
}

/// Whether `--apart` and `--match` change something in rows of pages.
fn matching_fits(rows: &[Dimension]) -> [bool; 2] {
    [rows.contains(&Dimension::PROCESS), rows.iter().any(|of| of.depends_on_boot())]
}

/// What was allocated, by its name.
fn allocation_kind(name: &str) -> Result<AllocationKind, Error> {
    let known = || KINDS.0.iter().map(|(name, ..)| *name);
    let found = KINDS.0.iter().find(|(known, ..)| *known == name).map(|(.., kind)| *kind);
    let advice = || format!("--of {name}: unknown kind of allocations{}", spelling::advice(name, known()));
    found.ok_or_else(|| Error::Usage(advice()))
}

fn snapshots(text: &str) -> Result<[SnapshotChoice; 2], String> {
    let (left, right) = text.split_once(',').unwrap_or((text, text));
    let one = |text: &str| match text.trim().parse()? {
        SnapshotChoice::All => Err("one snapshot of each side is compared, as in 0,last".to_owned()),
        choice => Ok(choice),
    };
    Ok([one(left)?, one(right)?])
}

fn mapping(text: &str) -> Result<(String, String), String> {
    let (heading, meaning) = text.rsplit_once('=').ok_or("expected HEADING=MEANING, as in \"Page Count=pages\"")?;
    Ok((heading.to_owned(), meaning.to_owned()))
}

impl Diff {
    fn how_matched(&self) -> Result<Option<Match>, Error> {
        Ok(match (self.matching, self.apart) {
            (Some(MatchBy::Pid), true) => {
                return Err(Error::Usage("--apart is for --match name: ids tell processes apart anyway".into()));
            }
            (_, true) => Some(Match::NameAndStart),
            (Some(MatchBy::Pid), _) => Some(Match::Pid),
            (Some(MatchBy::Name), _) => Some(Match::Name),
            (None, _) => None,
        })
    }

    fn query(&self) -> anyhow::Result<DiffQuery> {
        let group_by = self.rows.group_by.as_deref().map(Dimension::parse_list);
        Ok(DiffQuery {
            reference: self.refset,
            group_by: group_by.transpose().context("--group-by")?,
            conditions: conditions(&self.rows.conditions)?,
            order: self.sort,
            keeps_same: self.all,
            by_wpa: self.classification.map(|rules| rules == Rules::Wpa),
            snapshots: self.snapshot.unwrap_or_default(),
            matching: self.how_matched()?,
            tolerance: self.tolerance,
            symbols: SymbolFolders::default(),
        })
    }

    fn allocation_query(&self) -> anyhow::Result<AllocationDiffQuery> {
        let mut allocations = AllocationQuery {
            of: self.of.as_deref().map(allocation_kind).transpose()?,
            conditions: conditions(&self.rows.conditions)?,
            ..AllocationQuery::default()
        };
        allocations.group_by = group_by(self.rows.group_by.as_ref(), allocations.group_by)?;
        if allocations.wants_stacks() {
            allocations.symbols = self.symbols.folders(self.common.quiet, self.common.output.as_deref())?;
        }
        Ok(AllocationDiffQuery {
            measure: match self.measure {
                Some(Measure::Allocations(measure)) => measure,
                _ => AllocationMeasure::default(),
            },
            rows: self.row_choice()?,
            allocations,
        })
    }

    fn row_choice(&self) -> anyhow::Result<RowChoice> {
        Ok(RowChoice {
            matching: self.how_matched()?,
            tolerance: self.tolerance,
            order: self.sort,
            keeps_same: self.all,
        })
    }

    /// How many rows people see.
    fn listed(&self) -> ListedRows {
        ListedRows { top: self.rows.top, screen: self.screen() }
    }

    /// Prints an answer of as many rows as a terminal has room for beside its warnings and its lines that are longer than the terminal's.
    fn print<'a>(&self, answer: impl Fn(ListedRows) -> Answer<'a>) -> anyhow::Result<()> {
        let common = &self.common;
        let listed = self.listed();
        let room = terminal::output_rows(common.output.is_some());
        let mut shown = answer(listed);
        if let (Some(room), Some(most), None) = (room, listed.screen, listed.top) {
            // The most rows with which all is in sight, with the prompt below: rows can be of several lines.
            let (mut fits, mut beyond) = (FEWEST_IN_SIGHT.saturating_sub(1), most + 1);
            while fits + 1 < beyond {
                let middle = if beyond > most { most } else { fits.midpoint(beyond) };
                let fitted = answer(ListedRows { screen: Some(middle), ..listed });
                if output::lines(&fitted, common)? < room.into() {
                    (fits, shown) = (middle, fitted);
                } else {
                    beyond = middle;
                }
            }
        }
        output::print(&shown, common.format, common.csv.cells(), common)
    }

    /// The rows that a terminal has room for.
    fn screen(&self) -> Option<usize> {
        let rows = terminal::output_rows(self.common.output.is_some())?;
        let is_text = self.common.format == OutputFormat::Table;
        let (beside, fewest) = match self.of.is_some() && !self.allocations {
            true => (BESIDE_ROWS_OF_STACKS, FEWEST_ROWS_OF_STACKS),
            false => (BESIDE_ROWS, FEWEST_ROWS),
        };
        (is_text && !self.all).then(|| rows.saturating_sub(beside).max(fewest).into())
    }

    fn stack_query(&self, of: &str) -> anyhow::Result<StackDiffQuery> {
        if KINDS.0.iter().any(|(name, ..)| *name == of) && Kind::parse(of).is_err() {
            return Err(Error::Usage(format!("--of {of} is for --allocations")).into());
        }
        let mut stacks = StackQuery { conditions: conditions(&self.rows.conditions)?, ..StackQuery::default() };
        stacks.group_by = group_by(self.rows.group_by.as_ref(), stacks.group_by)?;
        if has_names(&stacks) {
            stacks.symbols = self.symbols.folders(self.common.quiet, self.common.output.as_deref())?;
        }
        Ok(StackDiffQuery {
            of: of.to_owned(),
            stacks,
            measure: match self.measure {
                Some(Measure::Stacks(measure)) => measure,
                _ => StackMeasure::default(),
            },
            rows: self.row_choice()?,
        })
    }

    /// What is compared, and flags that are for something else.
    fn question(&self) -> anyhow::Result<Question> {
        let of_stacks = self.of.as_deref().filter(|_| !self.allocations);
        refuse(
            "--sort share",
            &[(self.sort == DiffOrder::Share && of_stacks.is_none(), "is for --of samples and other stacks")],
        )?;
        let wrong = match self.measure {
            Some(Measure::Allocations(_)) => (!self.allocations, "of outstanding, growth or peak is for --allocations"),
            Some(Measure::Stacks(_)) => (of_stacks.is_none(), "of self or total is for --of samples and other stacks"),
            None => (false, ""),
        };
        refuse("--measure", &[wrong])?;
        let mut question = match of_stacks {
            _ if self.allocations => Question::Allocations(self.allocation_query()?.into()),
            Some(of) => Question::Stacks(self.stack_query(of)?.into()),
            None => Question::Pages(self.query()?.into()),
        };
        let has_names = match &question {
            Question::Allocations(query) => query.allocations.wants_stacks(),
            Question::Stacks(query) => has_names(&query.stacks),
            Question::Pages(query) => query.wants_stacks(),
        };
        let fits = match &question {
            // Without --group-by, what the sides have decides.
            Question::Pages(query) => query.group_by.as_ref().map_or([true; 2], |of| matching_fits(of)),
            Question::Allocations(query) => {
                let group_by = &query.allocations.group_by;
                [group_by.is_empty() || group_by.contains(&AllocationDimension::Process); 2]
            }
            Question::Stacks(query) => [query.stacks.group_by.contains(&StackDimension::Process); 2],
        };
        self.refuse_matching(fits)?;
        let reason = "names functions: it is for rows or conditions by function or module, with --allocations and --of also by stack";
        refuse("--symbols", &[(!self.symbols.symbols.is_empty() && !has_names, reason)])?;
        if let Question::Pages(query) = &mut question
            && has_names
        {
            query.symbols = self.symbols.folders(self.common.quiet, self.common.output.as_deref())?;
        }
        self.rows.check(self.common.format)?;
        Ok(question)
    }

    /// Flags that match processes have no effect on other rows. The two: whether `--apart` and `--match` fit the rows.
    fn refuse_matching(&self, [apart_fits, match_fits]: [bool; 2]) -> Result<(), Error> {
        refuse("--apart", &[(self.apart && !apart_fits, "is for rows by process, as in --group-by process")])?;
        let reason = "is for rows by process, as in --group-by process; of pages also for rows by file";
        refuse("--match", &[(self.matching.is_some() && !match_fits, reason)])
    }

    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let common = &self.common;
        let question = self.question()?;
        let locale = self.locale.unwrap_or_default();
        let culture = Culture { decimal: self.decimal.or(locale.decimal), group: self.group.or(locale.group) };
        let options = WpaOptions { columns: self.map.clone(), culture };
        let [left, right] = self.recordings.traces.as_slice() else {
            return Err(Error::Usage("two sides are compared: LEFT and RIGHT".into()).into());
        };
        if [left, right].into_iter().all(|side| side.trace.as_os_str() == STANDARD_INPUT) {
            return Err(Error::Usage("only one of the sides can be standard input (-)".into()).into());
        }
        trace::prepare_all(common, &self.recordings)?;
        let open = |side: &Recording| trace::open_source(common, side, &options);
        let recordings = [left, right];
        let (left, right) = (open(left)?, open(right)?);
        if options != WpaOptions::default() && !left.is_export() && !right.is_export() {
            let flags = "--map, --locale, --decimal and --group";
            return Err(Error::Usage(format!("{flags} are for a table that WPA exported: no side is one")).into());
        }
        let together = recorded_together(recordings, [&left, &right]);
        let said = together.as_ref().map(|warning| warning.text.clone());
        let compared = match &question {
            Question::Pages(query) => self.of_pages([&left, &right], query, together),
            Question::Allocations(query) => self.of_allocations([&left, &right], query, together),
            Question::Stacks(query) => self.of_stacks([&left, &right], query, together),
        };
        // Why one side lacks what is compared; nobody need record it again.
        if compared.is_err() {
            output::warn(said.as_slice());
        }
        compared
    }

    fn of_pages(&self, sides: [&Source; 2], query: &DiffQuery, together: Option<Warning>) -> anyhow::Result<Exit> {
        let common = &self.common;
        let [left, right] = sides;
        let mut found = self.with_bar(sides, || Comparison::new(left, right, query))?;
        // What the sides have decided it.
        self.refuse_matching(matching_fits(&found.dimensions))?;
        found.warnings.extend(together);
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.conditions));
        self.print(|listed| diff::answer(&found, self.rows.unit(), listed))?;
        Ok(self.exit(&found.warnings, found.is_equal()))
    }

    fn of_stacks(
        &self,
        sides: [&Source; 2],
        query: &StackDiffQuery,
        together: Option<Warning>,
    ) -> anyhow::Result<Exit> {
        let common = &self.common;
        let [left, right] = sides;
        let mut found = self.with_bar(sides, || StackDiff::new(left, right, query))?;
        found.warnings.extend(together);
        let no_memory = self.rows.unit.is_some() && !found.of().is_of_memory();
        let of = format!("--of {}", found.of().name());
        refuse(&of, &[(no_memory, "counts no memory: --unit has no effect")])?;
        output::tell_unmatched(common.quiet, &Condition::unmatched(&query.stacks.conditions));
        self.print(|listed| diff_stacks::answer(&found, self.rows.unit(), listed))?;
        Ok(self.exit(&found.warnings, found.compared.is_equal()))
    }

    fn of_allocations(
        &self,
        sides: [&Source; 2],
        query: &AllocationDiffQuery,
        together: Option<Warning>,
    ) -> anyhow::Result<Exit> {
        let [left, right] = sides;
        let mut found = self.with_bar(sides, || AllocationDiff::new(left, right, query))?;
        found.warnings.extend(together);
        output::tell_unmatched(self.common.quiet, &Condition::unmatched(&query.allocations.conditions));
        self.print(|listed| diff_allocations::answer(&found, self.rows.unit(), listed))?;
        Ok(self.exit(&found.warnings, found.compared.is_equal()))
    }

    fn with_bar<T>(&self, sides: [&Source; 2], work: impl FnOnce() -> T) -> T {
        let traces: Vec<&Trace> = sides.into_iter().filter_map(|side| side.trace()).collect();
        let total = traces.iter().map(|trace| 2 * trace.etl().size_bytes()).sum();
        let done = || traces.iter().map(|trace| trace.etl().bytes_read()).sum();
        progress::with_bar(self.common.quiet, total, done, work)
    }

    fn exit(&self, warnings: &Warnings, is_equal: bool) -> Exit {
        match output::strict_exit(&self.common, self.common.format == OutputFormat::Table, warnings) {
            Exit::Fine if !is_equal => Exit::Difference,
            exit => exit,
        }
    }
}

/// What is said of sides that are files of one recording.
fn recorded_together(recordings: [&Recording; 2], sides: [&Source; 2]) -> Option<Warning> {
    let together = RecordedTogether::new(recordings, with_flag);
    let of = |(recording, side): (&Recording, &Source)| {
        let warning = together.of(recording, side.trace()?)?;
        Some(warning.named(&side.path.display().to_string()))
    };
    recordings.into_iter().zip(sides).filter_map(of).next()
}
