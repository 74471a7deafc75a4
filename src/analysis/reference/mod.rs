//! The reference set: which pages a scenario touched, who holds them, and when the peak was.
//!
//! Page events go through these steps: [`slice_reader`] reads events, [`owner_attribution`] makes a [`working_set_update`] of
//! each, [`update_queue`] puts updates in order, [`owner_shard`] and [`process_replay`] replay them on each [`working_set`],
//! [`totals`] keeps what is counted. [`replay`] runs these steps slice by slice. [`wpa_observer`] counts the same updates by
//! WPA's rules to show the difference, and [`verify`] compares the end with the final page sequence.

pub mod balance;
mod counting_plan;
mod first_holder;
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
mod process_replay;
pub mod query;
pub mod reason;
pub mod recorded;
mod replay;
mod replay_context;
mod rows;
mod series;
mod slice_reader;
mod tables;
mod tally;
pub(crate) mod time_slice;
pub mod timeline;
pub mod totals;
mod update_queue;
pub mod verify;
mod working_set;
mod working_set_update;
mod wpa_observer;

use crate::analysis::readiness::{Need, readiness_of};
use crate::analysis::table::{Group, Node};
use crate::analysis::trust::TrustReport;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX, PAGEFILE_SECTION_DELETE, REMOVE_FROM_WS};
use crate::load::history::History;
use crate::load::survey::Survey;
use crate::model::file_names::FileNames;
use crate::model::owner_key::OwnerKeys;
use crate::model::process::Processes;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::{Snapshot, snapshots, whole};
use crate::model::user_paths::UserPaths;
use crate::model::window::{Ends, Origin, Window, recorder_marks};
use crate::moment::Moment;
use crate::units::{Nanos, PointerSize, count};
use balance::Balance;
use counting_plan::{CountingPlan, RowCount};
use graphics::GraphicsEvents;
use holders::{AverageHeld, Holder, Short, average_held, holders};
use holdings::Holding;
use query::{Dimension, Query};
use reason::{AccessReason, ReleaseReason};
use recorded::RecordedSets;
use replay::ReplayResult;
use replay_context::ReplayContext;
use rows::Labels;
use series::TimelinePlan;
use tally::Span;
use timeline::Timeline;
use totals::KernelPages;
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
    /// Pages accessed in the window, by reason.
    pub accesses: [u64; AccessReason::ALL.len()],
    /// Pages released in the window, by reason.
    pub releases: [u64; ReleaseReason::ALL.len()],
    /// Accesses of pages that were held already, by reason.
    pub reaccesses: [u64; AccessReason::ALL.len()],
    /// The same under WPA's rules.
    pub wpa_reaccesses: [u64; AccessReason::ALL.len()],
    /// Accesses of pages that their owner held at another address.
    pub second_mappings: u64,
    /// Held when the window begins, with what the active rundown names then.
    pub held_at_start: u64,
    /// Held when it ends.
    pub held_at_stop: u64,
    /// Most pages held, and when.
    pub peak: (u64, Nanos),
    /// Accesses of pages that entered no working set: cached writes, and accesses by processes that never started.
    pub never_held: u64,
    /// What each process held: most, when, average; the highest peak first.
    pub holders: Vec<Holder>,
    /// Averages over time of what was held.
    pub average: AverageHeld,
    /// The comparison with the working sets that Windows logged; `None` when it logged none in the window.
    pub recorded: Option<RecordedSets>,
    /// How the pages held at stop follow from those held at start.
    pub balance: Balance,
    /// Accesses by processes that never started.
    pub unattributed: u64,
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
        need_accesses(etl, &history.survey)?;
        let sequences = snapshots(&std::mem::take(&mut history.runs));
        let (window, span, sequence) = scenario(etl, &history, &sequences, query)?;
        let end = sequence.map_or(Moment::LAST, |sequence| sequence.first);

        let processes = Processes::new(&history);
        let rundowns = Rundowns::new(&history);
        let keys = OwnerKeys::new(etl, &history.survey, &processes, &sequences);
        let (version, pointer) = keys.accesses.unwrap_or((2, PointerSize::P8));
        let lifetimes = ProcessTimeline::new(&processes, keys.reading(version, pointer), pointer);
        let timeline = query.timeline.map(|step| timeline_plan(etl, &window, step, query)).transpose()?;
        let plan = CountingPlan { holdings: each.is_some(), ..plan(&history, (window, span), query) };
        let has = |hook| history.survey.kernel_count(hook) > 0;
        let needs = WpaNeeds { removals: has(REMOVE_FROM_WS), sections: has(PAGEFILE_SECTION_DELETE) };
        let context = ReplayContext {
            history: &history,
            rundowns: &rundowns,
            lifetimes: &lifetimes,
            plan: &plan,
            timeline: timeline.as_ref(),
            needs,
        };
        let labels = Labels { directory: &lifetimes, plan: &plan };
        let mut outcome = replay::replay(etl, &context, end, |kept| {
            each.iter_mut().for_each(|each| each(&labels.holding(kept)));
        });
        let shards = std::mem::take(&mut outcome.shards);
        let verification = sequence
            .map(|sequence| Verification::new(etl, &lifetimes, shards, &outcome.outside, sequence, query.examples));

        let rows = labels.rows(&outcome.totals.rows, &query.group_by, query);
        let tree = labels.tree(&rows, query);
        let label = |owner| labels.owner(Some(owner), None);
        let holders = holders(&outcome.tallies, label, &etl.clock, plan.span);
        let is_short = query.short > 0 && !plan.ended;
        let short = is_short.then(|| labels.short(&outcome.totals.rows, &holders, query));
        let comparisons = std::mem::take(&mut outcome.totals.comparisons);
        let records = outcome.recorded_sets;
        let recorded = comparisons.finish(records, label, |moment| etl.clock.nanos(moment.time));
        let mut set = Self::counted(etl, query, &plan, outcome);
        (set.holders, set.recorded) = (holders, (records > 0).then_some(recorded));
        if let Some(timeline) = &mut set.timeline {
            timeline.name_groups(|dimension, label| labels.shown(dimension, label).into_owned());
        }
        set.short = short;
        set.tree = tree;
        set.rows = rows;
        set.verification = verification;
        set.has_removals = needs.removals;
        set.graphics = GraphicsEvents::of(&history.survey);
        set.add_warnings(etl, &history.survey, query.max_residue);
        Ok(set)
    }

    /// The totals; what else is shown is added later.
    fn counted(etl: &EtlFile, query: &Query, plan: &CountingPlan<'_>, outcome: ReplayResult<'_>) -> ReferenceSet {
        let pages = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let balance = Balance::of(&outcome);
        let ReplayResult { totals, held, series, .. } = outcome;
        let timeline = series.map(|series| Timeline::new(&etl.clock, plan.span, series));
        ReferenceSet {
            warnings: Vec::new(),
            missing: Vec::new(),
            window_times: (etl.clock.nanos(plan.window.from.time), etl.clock.nanos(plan.window.to.time)),
            accesses: outcome.accesses,
            releases: totals.releases,
            reaccesses: totals.reaccesses,
            wpa_reaccesses: totals.wpa_reaccesses,
            second_mappings: totals.second_mappings,
            held_at_start: balance.at_start,
            held_at_stop: balance.at_stop,
            peak: (pages(held.peak.0), etl.clock.nanos(held.peak.1)),
            never_held: balance.never_held,
            balance,
            holders: Vec::new(),
            average: average_held(&totals.page_ticks, plan.span),
            recorded: None,
            unattributed: outcome.unattributed,
            graphics: None,
            kernel: totals.kernel,
            pool_at_stop: outcome.outside_at_stop.0,
            ranges_at_stop: outcome.outside_at_stop.1,
            verification: None,
            unverified: None,
            dimensions: query.group_by.clone(),
            with_ended: plan.ended,
            is_selection: !query.conditions.is_empty(),
            rows: Vec::new(),
            tree: Node::default(),
            short: None,
            timeline,
            has_removals: false,
            doubtful: false,
            window: plan.window.clone(),
        }
    }

    /// What casts doubt on the trace, on the account, and what was not recorded.
    fn add_warnings(&mut self, etl: &EtlFile, survey: &Survey, max_residue: f64) {
        let trust = TrustReport::new(etl, survey);
        self.doubtful = trust.any();
        self.missing = readiness_of(survey, "reference_set").map(|fitness| fitness.missing).unwrap_or_default();
        self.warnings = trust.warnings();
        self.warnings.extend(self.doubts(&trust, max_residue));
        let is_told = |need: &&Need| ["WorkingSet", "Memory"].contains(&need.keyword);
        let costs: Vec<Need> = self.missing.iter().filter(|need| !is_told(need)).copied().collect();
        self.warnings.extend(trust.not_there(&costs));
        self.unverified = self.verification.is_none().then(|| {
            trust.cannot_run(
                "Memory",
                "there is no page sequence (Memory: PageInMemory) after the scenario to compare with",
                "Record with the keyword Memory too, and stop the recording with its rundown:\n  \
                 wpr -start ReferenceSet -filemode, then wpr -stop trace.etl\n  \
                 xperf -on PROC_THREAD+LOADER+REFSET+MEMORY+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
            )
        });
    }

    /// What casts doubt on the account itself.
    fn doubts(&self, trust: &TrustReport, max_residue: f64) -> Vec<String> {
        let mut lines = Vec::new();
        if self.window.origin == Origin::WholeTrace {
            lines.push("the trace has no marks of a scenario: the window is the whole trace".to_owned());
        }
        if !self.has_removals {
            let fate = match trust.fate("WorkingSet").is_incomplete() {
                true => "are not in the part of the trace that is left",
                false => "were not recorded",
            };
            lines.push(format!(
                "trims {fate} (keyword WorkingSet, RemoveFromWS events): trimmed pages look as if still held"
            ));
        }
        if self.verification.is_none() {
            let fate = match trust.fate("Memory").is_incomplete() {
                true => "the page sequence after the scenario is in the part of the trace that is missing",
                false => "there is no page sequence after the scenario",
            };
            lines.push(format!("{fate}: nothing proves the result"));
        }
        if self.unattributed > 0 {
            lines.push(format!(
                "{} accesses could not be attributed: they name no process, or one that never started",
                count(self.unattributed)
            ));
        }
        let residue = self.verification.as_ref().map_or(0.0, Verification::residue);
        let nothing_matches = self.verification.as_ref().is_some_and(Verification::is_hopeless);
        if nothing_matches {
            lines.push("no page of the final page sequence matches what is tracked: nothing proves the result".into());
        } else if residue > max_residue {
            lines.push(format!(
                "the account differs from the final page sequence by {:.2} % of the pages that match: something was not \
                 recorded (pfnset refset --verify shows what differs)",
                residue * 100.0
            ));
        }
        lines.extend(self.recorded.as_ref().filter(|sets| sets.residue > max_residue).map(|sets| {
            format!(
                "what is tracked differs from the working sets that Windows logged by {:.2} % of their pages: {}. The \
                 largest differences are in --format json (working_sets)",
                sets.residue * 100.0,
                self.reason_of_difference(trust)
            )
        }));
        lines
    }

    /// Pages accessed in the window.
    pub fn accessed(&self) -> u64 {
        self.accesses.iter().sum()
    }

    /// Pages released in the window.
    pub fn released(&self) -> u64 {
        self.releases.iter().sum()
    }

    /// Why working sets can differ from those that Windows logged.
    fn reason_of_difference(&self, trust: &TrustReport) -> &'static str {
        match () {
            () if trust.any() => "data was lost or is damaged",
            () if !self.window.resets.iter().any(|&reset| reset <= self.window.from) => {
                "the working sets were not emptied before the window, so what was held before is unknown"
            }
            () if !self.has_removals => "trims were not recorded, so trimmed pages look as if still held",
            () => "something was not recorded",
        }
    }

    /// Accesses of held pages by the corrected rules.
    pub fn reaccessed(&self) -> u64 {
        self.reaccesses.iter().sum()
    }

    /// Accesses of held pages by WPA's rules.
    pub fn reaccessed_wpa(&self) -> u64 {
        self.wpa_reaccesses.iter().sum()
    }
}

/// # Errors
/// [`Error::MissingEvents`] or [`Error::MissingPart`] without page accesses.
fn need_accesses(etl: &EtlFile, survey: &Survey) -> Result<(), Error> {
    if [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX].iter().any(|&hook| survey.kernel_count(hook) > 0) {
        return Ok(());
    }
    Err(TrustReport::new(etl, survey).cannot_run(
        "ReferenceSet",
        "the trace holds no page accesses (Memory: PageAccess, PageAccessEx), so nothing is known of what the scenario \
         touched",
        "Record with the keyword ReferenceSet, and with WorkingSet to see trims:\n  \
         wpr -start ReferenceSet -filemode, then wpr -stop trace.etl\n  \
         xperf -on PROC_THREAD+LOADER+REFSET+MEMORY+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl",
    ))
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

/// The timeline that the query asks for.
fn timeline_plan(etl: &EtlFile, window: &Window, step: Nanos, query: &Query) -> Result<TimelinePlan, Error> {
    Ok(TimelinePlan {
        points: timeline::points(etl, window, step)?,
        dimensions: query.timeline_dimensions()?,
        conditions: query.conditions.clone(),
    })
}

/// What the query needs to be counted.
fn plan<'h>(history: &'h History, (window, span): (Window, Span), query: &Query) -> CountingPlan<'h> {
    let mut keep = query.keep();
    let files = keep.file || keep.detail;
    let ended = keep.release_reason || keep.impact;
    (keep.owner, keep.category) = (true, true);
    CountingPlan {
        window,
        span,
        ended,
        impact: keep.impact,
        keep,
        holdings: false,
        timeline: query.timeline.is_some(),
        slice_records: query.slice_records,
        names: if files { FileNames::new(history) } else { FileNames::default() },
        user_paths: UserPaths::new(&history.volumes),
    }
}
