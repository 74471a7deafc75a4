//! Allocations (`pfnset allocations`): what was allocated, by whom, and what of it was never freed: commit, pool, heaps.
//!
//! Everything is a list of pieces, each with what opened it and what closed it. [`replay`] goes through the records in order and keeps
//! what is live; [`counting`] adds pieces up to rows with their [`figures`]; [`rows`] gives them names.
//! Source: `docs/allocations.md`.

mod blocks;
mod commit;
mod commit_by_process;
mod commit_counts;
mod commit_replay;
mod counting;
mod each_piece;
mod figures;
mod label_combination;
mod labels;
mod lost_buffers;
mod many_questions;
mod page_set;
mod piece;
mod piece_end;
mod piece_taker;
#[cfg(feature = "cli")]
mod pieces_with_stacks;
mod process_lifetimes;
mod query;
mod replay;
mod replay_result;
mod resident_pages;
mod row_totals;
mod rows;
mod stacks_known;
#[cfg(feature = "cli")]
mod tables;
mod tag_drivers;
mod timeline;
mod warnings;

use crate::etl::clock::Clock;
pub(crate) use commit_by_process::{CommitOfProcesses, ProcessCommit};
pub(crate) use each_piece::each_piece;
pub use figures::Figures;
pub(crate) use piece_taker::ListedPiece;
#[cfg(feature = "cli")]
pub(crate) use pieces_with_stacks::{PieceOfStack, Pieces};
pub(crate) use query::CommonNames;
pub use query::{AllocationOrder, AllocationQuery, Dimension};
pub use replay_result::Check;
pub use rows::AllocationRow;
#[cfg(feature = "cli")]
pub use tables::AllocationView;
pub use timeline::TimelineStep;
pub(crate) use warnings::{ALLOCATIONS_MISSING, FAR_FROM_RUNDOWN, FREES_DIFFER, FREES_UNKNOWN, SNAPSHOT_IMPOSSIBLE};

use crate::analysis::recording_end::{beyond_recording, recording_end};
use crate::analysis::repeated_marks::marks_repeated;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::warnings::of_snapshots;
use crate::analysis::stacks::{EventStacks, StackTexts};
use crate::analysis::time_grid::{Grid, TickRange};
use crate::dimensions::{Condition, Dimension as _};
use crate::error::Error;
use crate::event::hooks::{STACK, STACK_KEY_KERNEL};
use crate::load::allocation_kinds::AllocationKind;
use crate::model::window::Window;
use crate::symbols::folders::SymbolFolders;
use crate::trace::analysis_needs::{AnalysisNeeds, COMMIT_ALLOCATIONS, HEAP_ALLOCATIONS, POOL_ALLOCATIONS};
use crate::trace::trust::readiness::Need;
use crate::trace::trust::warning::{Warnings, symbols_missing};
use crate::trace::{Parts, Trace};
use crate::units::{Nanos, Ticks};
use counting::Counting;
use labels::Labels;
use process_lifetimes::{LifeId, Lives};
use replay_result::Replayed;
use resident_pages::ResidentPages;
use row_totals::Counted;
use stacks_known::StackShares;

/// Steps of the curve on the first screen.
const CURVE_STEPS: u64 = 48;

impl AllocationKind {
    /// Name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AllocationKind::Commit => "commit",
            AllocationKind::Pool => "pool",
            AllocationKind::Heap => "heap",
        }
    }

    /// What it needs of a trace.
    pub(crate) fn needs(self) -> &'static AnalysisNeeds {
        match self {
            AllocationKind::Commit => &COMMIT_ALLOCATIONS,
            AllocationKind::Pool => &POOL_ALLOCATIONS,
            AllocationKind::Heap => &HEAP_ALLOCATIONS,
        }
    }

    /// Who allocates: processes, or the tags of pool.
    const fn owner(self) -> Dimension {
        match self {
            AllocationKind::Pool => Dimension::Tag,
            AllocationKind::Commit | AllocationKind::Heap => Dimension::Process,
        }
    }

    /// True when a trace has records of it.
    pub(crate) fn is_recorded(self, trace: &Trace) -> bool {
        let mut hooks = self.hooks().iter().chain(self.rundowns());
        hooks.any(|hook| trace.survey().kernel_count(*hook) > 0)
    }
}

/// A page sequence at which commit was compared with what is in RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitSnapshot {
    /// Number in the trace, from 0.
    pub index: usize,
    /// When, since trace start.
    pub time: Nanos,
    /// Private pages of all processes in RAM, those at one address of a process once.
    pub private_pages: u64,
    /// The pages that were left out because of that.
    pub at_same_address: u64,
    /// Of these in what the records tell to be committed.
    pub in_commit: u64,
}

/// What `pfnset allocations` shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct AllocationSet {
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// Keywords that were not recorded, and the consequences of each.
    pub missing: Vec<Need>,
    /// The kind.
    pub of: AllocationKind,
    /// The other kinds, and whether the trace has them.
    pub others: Vec<(AllocationKind, bool)>,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// Its length in ticks.
    pub window_ticks: u64,
    /// Its length up to the end of the recording, after which rundowns of providers and records of a merge can lie: what rates are of.
    pub recorded_length: Nanos,
    /// Ticks in a second.
    pub frequency_hz: u64,
    /// How the state at the start is known.
    pub at_start: Vec<(&'static str, u64)>,
    /// True when sums over time and sums of pieces agree in every row.
    pub is_balanced: bool,
    /// All rows together.
    pub total: Figures,
    /// Counters of the whole trace.
    pub records: Vec<(&'static str, u64)>,
    /// The check against the end rundown.
    pub check: Option<Check>,
    /// Instances of processes of which nobody tells what they had committed before the trace, in order.
    pub(crate) of_unknown_start: Vec<usize>,
    /// The page sequence at which commit is compared with what is in RAM, where one was asked for.
    pub snapshot: Option<CommitSnapshot>,
    /// End of the last hole in the records.
    pub hole_until: Option<Nanos>,
    /// Only what was allocated before this time and is alive at the end counts (`--preset leaks`).
    pub(crate) leaks_before: Option<Nanos>,
    /// Conditions that chose what is counted: dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Of how many pieces the stacks are known that its rows or conditions ask for.
    pub(crate) stacks: StackShares,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// Rows in the query's order.
    pub rows: Vec<AllocationRow>,
    /// The whole stacks of the rows.
    stack_texts: StackTexts,
    /// The timeline, or the steps of the curve.
    pub timeline: Vec<TimelineStep>,
    origin: Ticks,
}

impl AllocationSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] when nothing of the kind is in the trace, [`Error::MissingPart`] when it was lost, [`Error::Usage`] for
    /// a window, a timeline or a dimension that cannot be.
    pub fn answer(trace: &Trace, query: &AllocationQuery) -> Result<AllocationSet, Error> {
        AllocationSet::answer_with(trace, query, &[]).map(|(set, _)| set)
    }

    /// Answers a query, and the same one with other conditions instead; all go through the trace together. The others have no timeline,
    /// no lifetimes and no texts of stacks.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn answer_with(
        trace: &Trace,
        query: &AllocationQuery,
        others: &[&[Condition<Dimension>]],
    ) -> Result<(AllocationSet, Vec<AllocationSet>), Error> {
        trace.gather(Parts::SYSTEM);
        let of = kind(trace, query)?;
        let asked = snapshot_asked_for(trace, of, query)?;
        let etl = trace.etl();
        let (window, range) = TickRange::of_recording(trace, query.from.as_ref(), query.to.as_ref())?;
        let grid = match query.timeline {
            Some(step) => Grid::of_timeline(range, step, &etl.clock)?,
            None => Grid::new(range.from, curve_step(range, &etl.clock), etl.clock.frequency_hz),
        };
        let group_by = if query.group_by.is_empty() { vec![of.owner()] } else { query.group_by.clone() };
        let asked_by =
            |conditions: &[Condition<Dimension>]| StackShares::asked_by(conditions.iter().map(|c| c.dimension));
        let wants_stacks = query.wants_stacks() || others.iter().any(|conditions| asked_by(conditions).is_any());
        let wants_drivers = wants_drivers(trace, of, &group_by, wants_stacks);
        let symbols = if wants_stacks { query.symbols.clone() } else { SymbolFolders::default() };
        let (stacks, told) =
            (wants_stacks || wants_drivers).then(|| EventStacks::new(trace, of.hooks(), &symbols)).unzip();
        let hole_until = lost_buffers::hole_until(trace, range.to);
        let lives = Lives::new(&trace.system().processes);
        let labels = Labels::new(trace, query.put_together.as_ref(), stacks);
        let labels = if wants_drivers { labels.with_drivers() } else { labels };
        let (query_by, grid) = ((query, &group_by[..]), Some(grid));
        let mut counting = Counting::new((lives, labels), of, query_by, (range, grid), hole_until, others);
        let resident = asked.and_then(|at| trace.snapshots().get(at)).map(|at| ResidentPages::new(trace, at));
        let replayed = replay::replay(trace, of, &mut counting, resident.as_ref());
        let instance = |life: &LifeId| counting.lives.instance(*life, trace.processes());
        let mut of_unknown_start: Vec<usize> = replayed.of_unknown_start.iter().filter_map(instance).collect();
        of_unknown_start.sort_unstable();
        let stacks = counting.stacks;
        let (counted, of_others, mut labels) = counting.finish();
        labels.rank_stacks();
        let told: Vec<String> = told.into_iter().flatten().collect();
        let snapshot = asked.zip(resident.as_ref()).map(|(index, pages)| CommitSnapshot {
            index,
            time: trace.time(pages.moment.time),
            private_pages: pages.len(),
            at_same_address: pages.at_same_address,
            in_commit: replayed.resident_in_commit,
        });
        let whole = Whole { of, window, range, replayed, of_unknown_start, snapshot, hole_until, group_by, told };
        let mut set = whole.set(trace, query, counted, &labels, stacks.of(StackShares::asked_by(query.dimensions())));
        let sets = others
            .iter()
            .zip(of_others)
            .map(|(own, counted)| whole.set(trace, query, counted, &labels, stacks.of(asked_by(own))));
        let sets = sets.collect();
        set.stack_texts = labels.into_stack_texts();
        Ok((set, sets))
    }

    /// True when all is known that a row had when the trace began.
    pub(crate) fn is_start_known(&self, row: &AllocationRow) -> bool {
        match self.of {
            AllocationKind::Commit => {
                row.instance.is_some_and(|instance| self.of_unknown_start.binary_search(&instance).is_err())
            }
            AllocationKind::Pool => !self.lacks_pool_snapshot(),
            // There is no rundown of blocks: only a process that began in the trace had none.
            AllocationKind::Heap => row.process_start.is_some(),
        }
    }

    /// True when no snapshot tells what pool was allocated before the trace.
    pub(crate) fn lacks_pool_snapshot(&self) -> bool {
        self.of == AllocationKind::Pool && self.at_start.iter().any(|(source, _)| *source == "unknown")
    }

    /// A stamp as time since the trace began.
    pub fn time(&self, stamp: Ticks) -> Nanos {
        let ticks = i128::from(stamp.0) - i128::from(self.origin.0);
        Nanos((ticks * 1_000_000_000).div_euclid(i128::from(self.frequency_hz.max(1))))
    }

    /// Ticks as nanoseconds, rounded down.
    pub fn ns(&self, ticks: u64) -> u64 {
        self.mean_ns(ticks, 1)
    }

    /// The mean of times, rounded down once.
    pub fn mean_ns(&self, ticks: u64, count: u64) -> u64 {
        let divisor = u128::from(self.frequency_hz.max(1)) * u128::from(count.max(1));
        u64::try_from(u128::from(ticks) * 1_000_000_000 / divisor).unwrap_or(u64::MAX)
    }
}

/// What all questions of one walk share.
struct Whole {
    of: AllocationKind,
    window: Window,
    range: TickRange,
    replayed: Replayed,
    of_unknown_start: Vec<usize>,
    snapshot: Option<CommitSnapshot>,
    hole_until: Option<Ticks>,
    group_by: Vec<Dimension>,
    /// What is missing of symbols.
    told: Vec<String>,
}

impl Whole {
    fn set(
        &self,
        trace: &Trace,
        query: &AllocationQuery,
        Counted { rows, total, is_balanced, timeline }: Counted,
        labels: &Labels<'_>,
        stacks: StackShares,
    ) -> AllocationSet {
        let Whole { of, window, range, replayed, of_unknown_start, snapshot, hole_until, group_by, told } = self;
        let (of, range, clock) = (*of, *range, &trace.etl().clock);
        let missing = trace.missing(of.needs());
        let of_stacks = warnings::lack_of_stacks(of.needs().name, stacks, labels.lacks_stacks());
        let mut warnings = warnings::warnings(trace, of, &missing, replayed, of_stacks);
        if let Some(snapshot) = snapshot {
            warnings.add(of_snapshots(trace, &[snapshot.index]));
        }
        warnings.add(warnings::warnings_at_end(of, total.doubtful_bytes, replayed.check));
        let told = told.iter().filter(|_| stacks.is_any());
        warnings.extend(symbols_missing(of.needs().name, told.cloned()));
        warnings.extend(beyond_recording(of.needs().name, trace, range.from, range.to));
        let named = (query.from.as_ref(), query.to.as_ref());
        warnings.extend(marks_repeated(of.needs().name, trace, named, range.from));
        AllocationSet {
            warnings,
            missing,
            of,
            others: AllocationKind::ALL.into_iter().filter(|o| *o != of).map(|o| (o, o.is_recorded(trace))).collect(),
            window: window.clone(),
            window_times: (clock.nanos(range.from), clock.nanos(range.to)),
            window_ticks: range.ticks(),
            recorded_length: {
                let end = recording_end(trace).map_or(range.to, |end| range.clip(end));
                Nanos(clock.nanos(end).0 - clock.nanos(range.from).0)
            },
            frequency_hz: clock.frequency_hz,
            at_start: replayed.at_start.clone(),
            is_balanced,
            total,
            records: replayed.records.clone(),
            check: replayed.check,
            of_unknown_start: of_unknown_start.clone(),
            snapshot: *snapshot,
            hole_until: hole_until.map(|until| clock.nanos(until)),
            leaks_before: query.only_leaks.then(|| clock.nanos(counting::half(range))),
            filter: Condition::written(&query.conditions),
            stacks,
            rows: rows::rows(rows, group_by, labels, query, clock),
            stack_texts: StackTexts::default(),
            dimensions: group_by.clone(),
            timeline: timeline.unwrap_or_default(),
            origin: clock.origin,
        }
    }
}

/// True where stacks tell which driver a pool tag is of. Stacks that nobody asked for are read if there are not too many: they are kept
/// in memory.
fn wants_drivers(trace: &Trace, of: AllocationKind, group_by: &[Dimension], wants_stacks: bool) -> bool {
    const MOST_STACKS: u64 = 1_000_000;
    let stacks = [STACK, STACK_KEY_KERNEL].map(|hook| trace.survey().kernel_count(hook));
    let stacks = stacks.into_iter().fold(0, u64::saturating_add);
    let has_tags = of == AllocationKind::Pool && group_by.contains(&Dimension::Tag);
    has_tags && stacks > 0 && (wants_stacks || stacks <= MOST_STACKS)
}

/// The kind that is asked for, or the first recorded one that has the dimensions.
fn kind(trace: &Trace, query: &AllocationQuery) -> Result<AllocationKind, Error> {
    let only: Vec<(Dimension, AllocationKind)> =
        query.dimensions().filter_map(|dimension| Some((dimension, dimension.only_of()?))).collect();
    let fits = |kind: &AllocationKind| only.iter().all(|(_, of)| of == kind);
    let recorded = || AllocationKind::ALL.into_iter().filter(|kind| kind.is_recorded(trace));
    let of = match query.of {
        Some(of) => of,
        None => recorded().find(fits).or_else(|| recorded().next()).unwrap_or(AllocationKind::Commit),
    };
    if let Some((dimension, other)) = only.iter().find(|(_, other)| *other != of) {
        return Err(Error::Usage(format!(
            "{} is a dimension of {}, not of {}",
            dimension.name(),
            other.name(),
            of.name()
        )));
    }
    match of.is_recorded(trace) {
        true => Ok(of),
        false => Err(trace.cannot_run(of.needs())),
    }
}

/// The number of the page sequence at which commit is compared with what is in RAM.
fn snapshot_asked_for(trace: &Trace, of: AllocationKind, query: &AllocationQuery) -> Result<Option<usize>, Error> {
    let Some(choice) = query.at_snapshot else { return Ok(None) };
    if of != AllocationKind::Commit {
        return Err(Error::Usage(format!("commit is compared with what is in RAM, not {}", of.name())));
    }
    if let Some(late) = query.dimensions().find(|dimension| dimension.is_known_at_end(of)) {
        let name = late.name();
        return Err(Error::Usage(format!("{name} is known when a piece ends: at a page sequence nobody knows it")));
    }
    if choice == SnapshotChoice::All {
        return Err(Error::Usage("commit is compared with what is in RAM at one page sequence".into()));
    }
    trace.gather(SnapshotContext::PARTS);
    Ok(choice.indices(trace.need_snapshots()?)?.first().copied())
}

/// The step of the curve on the first screen.
fn curve_step(range: TickRange, clock: &Clock) -> Nanos {
    Nanos(i128::from(clock.length_ns(range.ticks()).div_ceil(CURVE_STEPS)).max(1))
}
