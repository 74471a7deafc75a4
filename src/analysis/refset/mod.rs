//! The reference set: which pages a scenario touched, who holds them, and when the peak was.
//!
//! [`replay`] reads the page events and replays them on each owner's working set, whose pages are kept in [`pages`];
//! [`totals`] are what is counted meanwhile. [`final_state_check`] compares the end with the final page sequence.

mod access_stacks;
mod averaging_span;
mod context;
pub mod final_state_check;
pub mod graphics_events;
pub(crate) mod outside_conditions;
mod pages;
pub mod query;
pub mod reason;
mod replay;
mod row_key;
mod rows;
mod summary;
mod tables;
pub(crate) mod totals;
mod unrecorded;
pub(crate) mod warnings;

pub(crate) use access_stacks::StackShare;
pub use row_key::RowCount;
pub use summary::{HeldSummary, ProcessHeld};
pub use totals::balance::{Balance, BalanceStep};
pub use totals::each_holding::Holding;
pub use totals::process_peaks::{AverageHeld, ProcessPeak};
pub use totals::shard_totals::KernelPages;
pub use totals::timeline::{PeakAndAverage, Timeline, TimelineGroup};
pub use totals::working_set_check::{MemInfoWsCheck, MemInfoWsDifference};
pub(crate) use unrecorded::UnrecordedReason;

use crate::analysis::recording_end::{begun_inside, of_named_window};
use crate::analysis::resident::consistency_checks::Checks;
use crate::analysis::rundown_contradictions::RundownContradictions;
use crate::analysis::stacks::StackTexts;
use crate::analysis::table::{Condition, Group, Node};
use crate::code_page::CodePage;
use crate::dimensions::ProcessFacet;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX, PAGEFILE_SECTION_DELETE, REMOVE_FROM_WS};
use crate::load::allocation_rules::LeftOut;
use crate::load::space_events::UnrolledSpaces;
use crate::load::trace_parts::Parts;
use crate::model::drive_paths::DrivePaths;
use crate::model::file_names::FileNames;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::services::Services;
use crate::model::snapshot::{Snapshot, whole};
use crate::model::window::{Ends, Window, recorder_marks};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::REFERENCE_SET;
use crate::trace::ram_size::most_pool_bytes;
use crate::trace::trust::readiness::Need;
use crate::trace::trust::readiness::of_names;
use crate::trace::trust::untold_labels::services_unknown;
use crate::trace::trust::warning::Warnings;
use crate::units::{Nanos, PointerSize};
use access_stacks::{AccessStack, AccessStacks};
use averaging_span::AveragingSpan;
use context::{OptionalEvents, ReplayContext, TimelineQuery};
use final_state_check::Verification;
use graphics_events::GraphicsEvents;
use query::{Dimension, Query};
use replay::ReplayResult;
use replay::outside_working_sets::Unmatched;
use row_key::KeyParts;
use totals::each_holding::KeptHolding;
use totals::process_peaks::{average_held, process_peaks};

/// What `pfnset refset` shows. Counts are pages.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReferenceSet {
    /// Doubts, most important first.
    pub warnings: Warnings,
    /// Keywords that were not recorded and what each costs.
    pub missing: Vec<Need>,
    /// The code page by which names of processes were read, where some needed one.
    pub(crate) code_page: Option<CodePage>,
    /// Access reasons of which the trace has no record.
    pub(crate) unrecorded: Vec<UnrecordedReason>,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// What came and went in the window.
    pub balance: Balance,
    /// Held when the window begins, with what the active rundown names then.
    pub held_at_start: u64,
    /// Held when it ends.
    pub held_at_stop: u64,
    /// Most pages held, and when.
    pub peak: (u64, Nanos),
    /// What each process held: most, when, average; the highest peak first.
    pub process_peaks: Vec<ProcessPeak>,
    /// Averages over time of what was held.
    pub average: AverageHeld,
    /// The comparison with the working sets that Windows logged; `None` when it logged none in the window.
    pub mem_info_ws: Option<MemInfoWsCheck>,
    /// Events of WPA's reasons Reclaim and Offer; `None` when they were not recorded.
    pub graphics: Option<GraphicsEvents>,
    /// Kernel pages of the active rundown.
    pub kernel: KernelPages,
    /// Pool pages at the window's end.
    pub pool_at_stop: u64,
    /// Pages of ranges at the window's end.
    pub ranges_at_stop: u64,
    /// Events of pool and ranges to which the others are missing.
    pub(crate) unmatched: Unmatched,
    /// Records of the whole trace: of the active rundown, of accesses of private pages, of shareable ones.
    pub(crate) records: [u64; 3],
    /// Records of pool that cannot be true.
    pub(crate) left_out: LeftOut,
    /// The comparison with the final sequence; `None` without one.
    pub verification: Option<Verification>,
    /// Why there is no comparison.
    pub unverified: Option<Error>,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// True when rows count holdings that ended in the window too.
    pub with_ended: bool,
    /// True where rows have impacting pages, which count for and against a row: they are no part of a whole.
    pub(crate) is_net: bool,
    /// True when conditions chose the rows: they do not add up to what is held at stop.
    pub is_selection: bool,
    /// These conditions: names of dimensions and patterns.
    pub(crate) filter: Vec<(&'static str, String)>,
    /// Rows.
    pub rows: Vec<Group<RowCount>>,
    /// The same, nested.
    pub tree: Node<RowCount>,
    /// Largest categories and processes of what is held at the window's end.
    pub summary: Option<HeldSummary>,
    /// Held pages over time, if asked for.
    pub timeline: Option<Timeline>,
    /// Of how many pages the stack is known, where rows or conditions ask for stacks.
    pub(crate) stacks: Option<StackShare>,
    /// The whole stacks of the rows.
    pub(crate) stack_texts: StackTexts,
    /// True when the trace holds RemoveFromWS events.
    pub has_removals: bool,
}

impl ReferenceSet {
    /// What the answer is made of; with rows by file also [`Parts::FILES`].
    pub const PARTS: Parts = Parts::SYSTEM.and(Parts::SPACES).and(Parts::PAGES);

    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without page accesses, [`Error::Usage`] for a window or a timeline that cannot be.
    pub fn answer(trace: &Trace, query: &Query) -> Result<ReferenceSet, Error> {
        Self::replayed(trace, query, None)
    }

    /// The same, and passes on each holding that ended in the window or is held at its end, as the query's dimensions name
    /// it. Those of one slice come together; their order within it depends on nothing but the trace.
    ///
    /// # Errors
    /// The same.
    pub fn with_holdings(trace: &Trace, query: &Query, each: &mut dyn FnMut(&Holding)) -> Result<ReferenceSet, Error> {
        Self::replayed(trace, query, Some(each))
    }

    fn replayed(trace: &Trace, query: &Query, each: Option<&mut dyn FnMut(&Holding)>) -> Result<ReferenceSet, Error> {
        let key_parts = KeyParts::of(query.kept());
        let has_names = key_parts.file || key_parts.detail;
        let has_services = query.kept().any(|dimension| dimension == Dimension::Process(ProcessFacet::Service));
        trace.gather(if has_names { ReferenceSet::PARTS | Parts::FILES } else { ReferenceSet::PARTS });
        let etl = trace.etl();
        need_accesses(trace)?;
        let (window, span, sequence) = scenario(trace, query)?;
        let (stacks, told) = key_parts.stack.then(|| AccessStacks::new(trace, query)).unzip();

        let spaces = UnrolledSpaces::new(&trace.spaces().by_process_id, etl);
        let keys = trace.owner_keys();
        let (version, pointer) = keys.accesses.unwrap_or((2, PointerSize::P8));
        let lifetimes = ProcessTimeline::new(trace.processes(), keys.reading(version, pointer), pointer);
        let services = has_services.then(|| Services::new(trace.system(), trace.processes()));
        let has = |hook| trace.survey().kernel_count(hook) > 0;
        let context = ReplayContext {
            survey: trace.survey(),
            spaces: &spaces,
            rundowns: trace.rundowns(),
            lifetimes: &lifetimes,
            services: services.as_ref(),
            optional_events: OptionalEvents { removals: has(REMOVE_FROM_WS), sections: has(PAGEFILE_SECTION_DELETE) },
            most_pool_bytes: most_pool_bytes(trace),
            timeline: query.timeline.map(|step| TimelineQuery::new(&etl.clock, &window, step, query)).transpose()?,
            window,
            span,
            key_parts,
            holdings: each.is_some(),
            slice_records: query.slice_records,
            stacks: stacks.as_ref(),
            names: match has_names {
                true => FileNames::new(&trace.files().names),
                false => FileNames::default(),
            },
            drive_paths: DrivePaths::new(&trace.system().volumes),
        };
        let of_files = context.names.records;
        let mut set = match stacks {
            None => Self::verified::<()>(etl, query, &context, sequence, each),
            Some(_) => Self::verified::<u32>(etl, query, &context, sequence, each),
        };
        if let (Some(verification), Some(sequence)) = (&mut set.verification, sequence) {
            verification.incomplete = missing_part(trace, sequence);
        }
        let end = sequence.map_or(Moment::LAST, |sequence| sequence.first);
        let contradictions = RundownContradictions::at(end, &spaces, trace.processes(), trace.rundowns());
        set.unverified = set.verification.is_none().then(|| unverified(trace));
        set.stack_texts = stacks.map(AccessStacks::into_texts).unwrap_or_default();
        set.add_warnings(trace, query.max_residue, told.unwrap_or_default());
        let (named, ends) = ((query.from.as_ref(), query.to.as_ref()), (set.window.from.time, set.window.to.time));
        set.warnings.extend(of_named_window(REFERENCE_SET.name, trace, named, ends));
        set.warnings.extend(contradictions.warning(REFERENCE_SET.name, "categories are by the events"));
        set.warnings.extend(set.outside_chosen(&query.conditions));
        set.warnings.extend(of_names(&of_files, &REFERENCE_SET));
        set.warnings.extend(services_unknown(trace.system(), REFERENCE_SET.name, has_services));
        Ok(set)
    }

    /// The replay up to the final sequence, and the comparison with it. `S` is what is kept of the stacks of accesses.
    fn verified<S: AccessStack>(
        etl: &EtlFile,
        query: &Query,
        context: &ReplayContext<'_>,
        sequence: Option<&Snapshot>,
        mut each: Option<&mut dyn FnMut(&Holding)>,
    ) -> ReferenceSet {
        let end = sequence.map_or(Moment::LAST, |sequence| sequence.first);
        let each = |kept: &KeptHolding<S>| each.iter_mut().for_each(|each| each(&context.holding(kept)));
        let mut outcome = replay::replay(etl, context, end, each);
        let shards = std::mem::take(&mut outcome.shards).into_iter().map(|(shard, _)| shard).collect();
        let compare =
            |sequence| Verification::new(etl, context.lifetimes, shards, &outcome.outside, sequence, query.examples);
        let verification = sequence.map(compare);
        ReferenceSet { verification, ..Self::counted(etl, query, context, outcome) }
    }

    /// What was counted; the verification and warnings are added later.
    fn counted<S>(
        etl: &EtlFile,
        query: &Query,
        context: &ReplayContext<'_>,
        outcome: ReplayResult<'_, S>,
    ) -> ReferenceSet {
        let pages = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let seconds = |moment: Moment| etl.clock.nanos(moment.time);
        let ReplayResult { totals, held, groups, .. } = outcome;
        let rows = context.rows(&totals.rows, &query.group_by, query);
        let process_peaks = process_peaks(&outcome.tallies, |owner| context.owner(owner), &etl.clock, context.span);
        let is_summary = query.summary_rows > 0 && !context.with_ended();
        let records = outcome.recorded_sets;
        let mem_info_ws = totals.comparisons.finish(records, |owner| context.owner(owner), seconds);
        ReferenceSet {
            warnings: Warnings::default(),
            missing: Vec::new(),
            code_page: None,
            unrecorded: UnrecordedReason::all(context.survey),
            window: context.window.clone(),
            window_times: (seconds(context.window.from), seconds(context.window.to)),
            balance: totals.balance,
            held_at_start: pages(held.at_from) + totals.balance.rundown,
            held_at_stop: pages(held.at_to),
            peak: (pages(held.peak.0), etl.clock.nanos(held.peak.1)),
            summary: is_summary.then(|| context.summary(&totals.rows, &process_peaks, query)),
            process_peaks,
            average: average_held(&totals.page_ticks, context.span),
            mem_info_ws: (records > 0).then_some(mem_info_ws),
            graphics: GraphicsEvents::of(context.survey),
            kernel: totals.kernel,
            pool_at_stop: outcome.outside_at_stop.0,
            ranges_at_stop: outcome.outside_at_stop.1,
            unmatched: outcome.outside.unmatched,
            records: [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX].map(|hook| context.survey.kernel_count(hook)),
            left_out: outcome.left_out,
            verification: None,
            unverified: None,
            dimensions: query.group_by.clone(),
            with_ended: context.with_ended(),
            is_net: query.counts_impacting(),
            is_selection: !query.conditions.is_empty(),
            filter: Condition::written(&query.conditions),
            tree: context.tree(&rows, query),
            rows,
            timeline: groups.map(|groups| groups.finish(&etl.clock)),
            stacks: context.stack_share(&totals.rows, query),
            stack_texts: StackTexts::default(),
            has_removals: context.optional_events.removals,
        }
    }
}

/// The window, and the page sequence at its end if there is one: the first after the scenario's stop, else the last of
/// the trace.
fn scenario<'t>(trace: &'t Trace, query: &Query) -> Result<(Window, AveragingSpan, Option<&'t Snapshot>), Error> {
    let (marks, sequences) = (&trace.system().marks, trace.snapshots());
    let (start, stop) = recorder_marks(marks);
    let begin = stop.or(start).map_or(Moment::FIRST, |mark| mark.moment);
    let whole: Vec<&Snapshot> = whole(sequences).filter_map(|index| sequences.get(index)).collect();
    let sequence = whole.iter().find(|s| stop.is_some() && s.first > begin).or(whole.last()).copied();
    let sequence = sequence.filter(|s| s.first > begin);
    let whole = Ends::of_trace(trace.etl(), trace.survey(), marks);
    let ends = Ends {
        last: sequence.map_or(whole.last, |sequence| sequence.first),
        last_is: sequence.map(|_| "the page sequence after the scenario"),
        rundown: trace.survey().kernel_span(IN_MEMORY_ACTIVE),
        ..whole
    };
    let window = Window::new(ends, query.from.as_ref(), query.to.as_ref(), &trace.etl().clock)?;
    let window = begun_inside(trace, query.from.as_ref(), window)?;
    let span = AveragingSpan::new(&window, ends.last.time);
    Ok((window, span, sequence))
}

/// What of the page sequence is missing.
fn missing_part(trace: &Trace, sequence: &Snapshot) -> Option<String> {
    let clock = &trace.etl().clock;
    let is_part = trace.page_sequences().is_broken(sequence, clock);
    let broken = || is_part.then(|| "it was broken in two".to_owned());
    let cut = || trace.trust().cut_text().map(|cut| format!("the file is cut: {cut}"));
    Checks::of_sequence(sequence, trace).missing_part().or_else(broken).or_else(cut)
}

/// # Errors
/// [`Error::MissingEvents`] or [`Error::MissingPart`] without page accesses.
fn need_accesses(trace: &Trace) -> Result<(), Error> {
    if [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX].iter().any(|&hook| trace.survey().kernel_count(hook) > 0) {
        return Ok(());
    }
    Err(trace.cannot_run(&REFERENCE_SET))
}

/// Why there is no comparison with a final page sequence.
fn unverified(trace: &Trace) -> Error {
    trace.trust().cannot_run(
        "Memory",
        "there is no page sequence (Memory: PageInMemory) after the scenario to compare with",
        "Record with the keyword Memory too, and stop the recording with its rundown:\n  \
         wpr -start ReferenceSet -filemode, then wpr -stop trace.etl\n  \
         xperf -on PROC_THREAD+LOADER+REFSET+MEMORY+POOL+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
    )
}
