//! The reference set: which pages a scenario touched, who holds them, and when the peak was.
//!
//! Page events go through these steps: [`slice_reader`] reads events, [`owner_attribution`] makes an [`update`] of each,
//! [`update_queue`] puts updates in order, [`owner_shard`] and [`process_replay`] replay them on each [`working_set`], [`recorder`] keeps what is counted.
//! [`replay`] runs these steps slice by slice. [`wpa_observer`] counts the same updates by WPA's rules to show the
//! difference, and [`verify`] compares the end with the final page sequence.

mod doubts;
mod first_holder;
pub mod flows;
pub mod graphics;
mod held_over_time;
pub mod holders;
pub mod holdings;
mod outside_working_sets;
mod owner_attribution;
mod owner_shard;
mod page;
mod page_arena;
mod page_map;
mod page_set;
mod plan;
mod process_replay;
pub mod query;
pub mod reason;
pub mod recorded;
pub mod recorder;
mod replay;
mod rows;
mod slice_reader;
mod tables;
mod tally;
pub mod timeline;
mod update;
mod update_queue;
pub mod verify;
mod working_set;
mod wpa_observer;

use crate::analysis::readiness::Need;
use crate::analysis::table::{Group, Node};
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGEFILE_SECTION_DELETE, REMOVE_FROM_WS};
use crate::load::history::History;
use crate::model::file_names::FileNames;
use crate::model::owner_key::OwnerKeys;
use crate::model::process::Processes;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::{Snapshot, snapshots, whole};
use crate::model::user_paths::UserPaths;
use crate::model::window::{Ends, Window, recorder_marks};
use crate::moment::Moment;
use crate::units::{Nanos, PointerSize};
use flows::Flows;
use graphics::GraphicsEvents;
use holders::{AverageHeld, Holder, Short, average_held, holders};
use holdings::Holding;
use plan::{Kept, Plan, RowCount, TimelinePlan};
use query::{Dimension, Query};
use recorded::RecordedSets;
use recorder::KernelPages;
use replay::ReplayResult;
use tally::Span;
use timeline::Timeline;
use verify::Verification;
use wpa_observer::WpaNeeds;

/// What `pfnset refset` shows. Counts are pages.
#[derive(Debug)]
pub struct ReferenceSet {
    /// Doubts, most important first.
    pub warnings: Vec<String>,
    /// Keywords that were not recorded and what each costs.
    pub missing: Vec<Need>,
    /// The window.
    pub window: Window,
    /// Its ends since trace start.
    pub window_times: (Nanos, Nanos),
    /// What came and went in the window.
    pub flows: Flows,
    /// Held when the window begins, with what the active rundown names then.
    pub held_at_start: u64,
    /// Held when it ends.
    pub held_at_stop: u64,
    /// Most pages held, and when.
    pub peak: (u64, Nanos),
    /// What each process held: most, when, average; the highest peak first.
    pub holders: Vec<Holder>,
    /// Averages over time of what was held.
    pub average: AverageHeld,
    /// The comparison with the working sets that Windows logged; `None` when it logged none in the window.
    pub recorded: Option<RecordedSets>,
    /// Events of WPA's reasons Reclaim and Offer; `None` when they were not recorded.
    pub graphics: Option<GraphicsEvents>,
    /// Kernel pages of the active rundown.
    pub kernel: KernelPages,
    /// Pool pages at the window's end.
    pub pool_at_stop: u64,
    /// Pages of ranges at the window's end.
    pub ranges_at_stop: u64,
    /// The comparison with the final sequence; `None` without one.
    pub verification: Option<Verification>,
    /// Why there is no comparison.
    pub unverified: Option<Error>,
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// True when rows count holdings that ended in the window too.
    pub with_ended: bool,
    /// True when conditions chose the rows: they do not add up to what is held at stop.
    pub is_selection: bool,
    /// Rows.
    pub rows: Vec<Group<RowCount>>,
    /// The same, nested.
    pub tree: Node<RowCount>,
    /// Largest categories and processes of what is held at the window's end.
    pub short: Option<Short>,
    /// Held pages over time, if asked for.
    pub timeline: Option<Timeline>,
    /// True when the trace holds RemoveFromWS events.
    pub has_removals: bool,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
}

impl ReferenceSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without page accesses, [`Error::Usage`] for a window or a timeline that cannot be.
    pub fn new(etl: &EtlFile, query: &Query) -> Result<ReferenceSet, Error> {
        Self::replayed(etl, query, None)
    }

    /// The same, and passes on each holding that ended in the window or is held at its end, as the query's dimensions name
    /// it. Those of one slice come together; their order within it depends on nothing but the trace.
    ///
    /// # Errors
    /// The same.
    pub fn with_holdings(etl: &EtlFile, query: &Query, each: &mut dyn FnMut(&Holding)) -> Result<ReferenceSet, Error> {
        Self::replayed(etl, query, Some(each))
    }

    fn replayed(
        etl: &EtlFile,
        query: &Query,
        mut each: Option<&mut dyn FnMut(&Holding)>,
    ) -> Result<ReferenceSet, Error> {
        let mut history = History::new(etl);
        history.unroll(etl);
        doubts::need_accesses(etl, &history.survey)?;
        let sequences = snapshots(&std::mem::take(&mut history.runs));
        let (window, span, sequence) = scenario(etl, &history, &sequences, query)?;
        let end = sequence.map_or(Moment::LAST, |sequence| sequence.first);

        let processes = Processes::new(&history);
        let rundowns = Rundowns::new(&history);
        let keys = OwnerKeys::new(etl, &history.survey, &processes, &sequences);
        let (version, pointer) = keys.accesses.unwrap_or((2, PointerSize::P8));
        let lifetimes = ProcessTimeline::new(&processes, keys.reading(version, pointer), pointer);
        let keep = Kept::of(query.kept());
        let has = |hook| history.survey.kernel_count(hook) > 0;
        let plan = Plan {
            history: &history,
            rundowns: &rundowns,
            lifetimes: &lifetimes,
            needs: WpaNeeds { removals: has(REMOVE_FROM_WS), sections: has(PAGEFILE_SECTION_DELETE) },
            timeline: query.timeline.map(|step| TimelinePlan::new(&etl.clock, &window, step, query)).transpose()?,
            window,
            span,
            keep,
            holdings: each.is_some(),
            slice_records: query.slice_records,
            names: match keep.has(Dimension::File) || keep.has(Dimension::Detail) {
                true => FileNames::new(&history),
                false => FileNames::default(),
            },
            user_paths: UserPaths::new(&history.volumes),
        };
        let mut outcome =
            replay::replay(etl, &plan, end, |kept| each.iter_mut().for_each(|each| each(&plan.holding(kept))));
        let shards = std::mem::take(&mut outcome.shards).into_iter().map(|(shard, _)| shard).collect();
        let verification = sequence
            .map(|sequence| Verification::new(etl, &lifetimes, shards, &outcome.outside, sequence, query.examples));
        let mut set = Self::counted(etl, query, &plan, outcome);
        set.unverified = verification.is_none().then(|| doubts::unverified(etl, &history.survey));
        set.verification = verification;
        set.add_warnings(etl, &history.survey, query.max_residue);
        Ok(set)
    }

    /// What was counted; the verification and doubts are added later.
    fn counted(etl: &EtlFile, query: &Query, plan: &Plan<'_>, outcome: ReplayResult<'_>) -> ReferenceSet {
        let pages = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let seconds = |moment: Moment| etl.clock.nanos(moment.time);
        let ReplayResult { totals, held, groups, .. } = outcome;
        let rows = plan.rows(&totals.rows, &query.group_by, query);
        let holders = holders(&outcome.tallies, |owner| plan.owner(owner), &etl.clock, plan.span);
        let is_short = query.short > 0 && !plan.with_ended();
        let records = outcome.recorded_sets;
        let recorded = totals.comparisons.finish(records, |owner| plan.owner(owner), seconds);
        ReferenceSet {
            warnings: Vec::new(),
            missing: Vec::new(),
            window: plan.window.clone(),
            window_times: (seconds(plan.window.from), seconds(plan.window.to)),
            flows: totals.flows,
            held_at_start: pages(held.at_from) + totals.flows.rundown,
            held_at_stop: pages(held.at_to),
            peak: (pages(held.peak.0), etl.clock.nanos(held.peak.1)),
            short: is_short.then(|| plan.short(&totals.rows, &holders, query)),
            holders,
            average: average_held(&totals.page_ticks, plan.span),
            recorded: (records > 0).then_some(recorded),
            graphics: GraphicsEvents::of(&plan.history.survey),
            kernel: totals.kernel,
            pool_at_stop: outcome.outside_at_stop.0,
            ranges_at_stop: outcome.outside_at_stop.1,
            verification: None,
            unverified: None,
            dimensions: query.group_by.clone(),
            with_ended: plan.with_ended(),
            is_selection: !query.conditions.is_empty(),
            tree: plan.tree(&rows, query),
            rows,
            timeline: groups.map(|groups| groups.finish(&etl.clock)),
            has_removals: plan.needs.removals,
            doubtful: false,
        }
    }
}

/// The window, and the page sequence at its end if there is one: the first after the scenario's stop, else the last of
/// the trace.
fn scenario<'s>(
    etl: &EtlFile,
    history: &History,
    sequences: &'s [Snapshot],
    query: &Query,
) -> Result<(Window, Span, Option<&'s Snapshot>), Error> {
    let (start, stop) = recorder_marks(&history.marks);
    let begin = stop.or(start).map_or(Moment::FIRST, |mark| mark.moment);
    let whole: Vec<&Snapshot> = whole(sequences).filter_map(|index| sequences.get(index)).collect();
    let sequence = whole.iter().find(|s| stop.is_some() && s.first > begin).or(whole.last()).copied();
    let sequence = sequence.filter(|s| s.first > begin);
    let whole = Ends::of_trace(history);
    let ends = Ends {
        last: sequence.map_or(whole.last, |sequence| sequence.first),
        rundown: history.survey.kernel_span(IN_MEMORY_ACTIVE).map(|span| span.0),
        ..whole
    };
    let window = Window::new(ends, query.from.as_ref(), query.to.as_ref(), &etl.clock)?;
    let span = Span::new(&window, ends.last.time);
    Ok((window, span, sequence))
}
