//! The reference set: which pages a scenario touched, who holds them, and when the peak was.
//!
//! The way of a page event: its record → a [`step`] of an owner's [`account`] ([`sheaf`] reads, [`follow`] puts in
//! order) → the [`ledger`]'s sums → [`rows`]. WPA's account is kept beside ours ([`wpa_rules`]) to show the difference,
//! and [`verify`] compares the end with the final page sequence.

pub mod account;
pub mod apart;
pub mod blocks;
pub mod bucket;
pub mod curve;
pub mod follow;
pub mod group;
pub mod held;
pub mod ledger;
pub mod lists;
pub mod memo;
pub mod ordered;
pub mod packed;
pub mod piles;
pub mod query;
pub mod reason;
pub mod rows;
pub mod shared;
pub mod sheaf;
pub mod slabs;
pub mod step;
pub mod tables;
pub mod timeline;
pub mod verify;
pub mod wpa_rules;

use crate::analysis::readiness::{Need, readiness_of};
use crate::analysis::table::{Group, Node};
use crate::analysis::trust::TrustReport;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX, PAGEFILE_SECTION_DELETE, REMOVE_FROM_WS};
use crate::load::history::History;
use crate::model::file_names::FileNames;
use crate::model::owner_key::OwnerKeys;
use crate::model::process::Processes;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::snapshots;
use crate::model::window::{Ends, Origin, Window, recorder_marks};
use crate::moment::Moment;
use crate::units::{Nanos, PointerSize, Ticks};
use bucket::Scene;
use ledger::{Apart, Plan, RowCount};
use query::{Dimension, Query};
use reason::{AccessReason, ReleaseReason};
use rows::Labels;
use timeline::Timeline;
use verify::Verification;
use wpa_rules::WpaNeeds;

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
    /// Accesses by processes that never started.
    pub unattributed: u64,
    /// Kernel pages of the active rundown.
    pub kernel: Apart,
    /// Pool pages at the window's end.
    pub pool_at_stop: u64,
    /// Pages of ranges at the window's end.
    pub ranges_at_stop: u64,
    /// The comparison with the final sequence; `None` without one.
    pub verification: Option<Verification>,
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
    pub short: Option<(Node<RowCount>, Node<RowCount>)>,
    /// Held pages over time, if asked for.
    pub timeline: Option<Timeline>,
    /// True when the trace holds RemoveFromWS events.
    pub has_removals: bool,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
}

/// Most points of a timeline.
pub const MOST_POINTS: i128 = 10_000;

/// Residue above which the account is doubtful: one page in a hundred.
const MOST_RESIDUE: f64 = 0.01;

impl ReferenceSet {
    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without page accesses, [`Error::Usage`] for a window or a timeline that cannot be.
    pub fn new(etl: &EtlFile, query: &Query) -> Result<ReferenceSet, Error> {
        let mut history = History::new(etl);
        history.unroll(etl);
        let survey = &history.survey;
        if [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX].iter().all(|&hook| survey.kernel_count(hook) == 0) {
            return Err(Error::MissingEvents(
                "the trace holds no page accesses (Memory: PageAccess, PageAccessEx), so nothing is known of what the \
                 scenario touched. Record with the keyword ReferenceSet, and with WorkingSet to see trims:\n  \
                 wpr -start ReferenceSet -filemode, then wpr -stop trace.etl\n  \
                 xperf -on PROC_THREAD+LOADER+REFSET+MEMORY+VIRT_ALLOC+VAMAP+FILENAME, then xperf -d trace.etl"
                    .into(),
            ));
        }
        let sequences = snapshots(&std::mem::take(&mut history.runs));
        let survey = &history.survey;
        let (start, stop) = recorder_marks(&history.marks);
        // The sequence that belongs to the scenario: the first behind its stop, else the last of the trace.
        let behind = stop.or(start).map_or(Moment::FIRST, |mark| mark.moment);
        let sequence = sequences.iter().find(|s| stop.is_some() && s.first > behind).or(sequences.last());
        let sequence = sequence.filter(|s| s.first > behind);
        let last = sequence.map_or(Moment::LAST, |sequence| sequence.first);
        let ends = Ends {
            marks: &history.marks,
            first: survey.spans.iter().flatten().map(|span| span.first).min().unwrap_or_default(),
            last: if last == Moment::LAST { end_of(survey.last()) } else { last },
            rundown: survey.kernel_span(IN_MEMORY_ACTIVE).map(|span| span.0),
        };
        let window = Window::new(ends, query.from.as_ref(), query.to.as_ref(), &etl.clock)?;
        let times = (etl.clock.nanos(window.from.time), etl.clock.nanos(window.to.time));
        let timeline = query.timeline.map(|step| timeline::points(etl, &window, step)).transpose()?;

        let processes = Processes::new(&history);
        let rundowns = Rundowns::new(&history);
        let keys = OwnerKeys::new(etl, survey, &processes, &sequences);
        let (version, pointer) = keys.accesses.unwrap_or((2, PointerSize::P8));
        let directory = ProcessTimeline::new(&processes, keys.reading(version, pointer), pointer);
        let mut keep = query.keep();
        let files = keep.file || keep.detail;
        let ended = keep.release_reason || keep.impact;
        (keep.owner, keep.category) = (true, true);
        let plan = Plan {
            window,
            ended,
            impact: keep.impact,
            keep,
            timeline: timeline.unwrap_or_default(),
            slab_records: query.slab_records,
            names: if files { FileNames::new(&history) } else { FileNames::default() },
        };
        let has = |hook| survey.kernel_count(hook) > 0;
        let needs = WpaNeeds { removals: has(REMOVE_FROM_WS), sections: has(PAGEFILE_SECTION_DELETE) };
        let scene = Scene { history: &history, rundowns: &rundowns, directory: &directory, plan: &plan, needs };
        let outcome = follow::follow(etl, &scene, last);

        let verification = sequence.map(|sequence| {
            Verification::new(etl, &directory, outcome.buckets, &outcome.apart, sequence, query.examples)
        });
        let labels = Labels { directory: &directory, plan: &plan };
        let rows = labels.rows(&outcome.ledger.rows, &query.group_by, query);
        let short = (query.short > 0 && !ended).then(|| {
            let of = |dimension| {
                query.order.tree(&labels.rows(&outcome.ledger.rows, &[dimension], query), Some(query.short))
            };
            (of(Dimension::Category), of(Dimension::Process))
        });

        let doubts = TrustReport::new(etl, survey);
        let missing = readiness_of(survey, "reference_set").map(|fitness| fitness.missing).unwrap_or_default();
        let mut warnings = doubts.warnings();
        warnings.extend(doubts_of(&plan.window, needs.removals, verification.is_some(), outcome.unattributed));
        if let Some(verification) = verification.as_ref().filter(|verification| verification.residue() > MOST_RESIDUE) {
            warnings.push(format!(
                "the account differs from the final page sequence by {:.2} % of the pages that match: something was not \
                 recorded (pfnset refset --verify shows what differs)",
                verification.residue() * 100.0
            ));
        }
        let costs: Vec<_> = (missing.iter())
            .filter(|need| !["WorkingSet", "Memory"].contains(&need.keyword))
            .map(|need| format!("{} ({})", need.keyword, need.without))
            .collect();
        if !costs.is_empty() {
            warnings.push(format!("not in the trace, therefore unknown: {}", costs.join("; ")));
        }
        let pages = |pages: i64| u64::try_from(pages).unwrap_or(0);
        let held_timeline = query.timeline.map(|_| Timeline::new(etl, &plan, &outcome.ledger.timeline));
        Ok(ReferenceSet {
            warnings,
            missing,
            window_times: times,
            accesses: outcome.accesses,
            releases: outcome.ledger.releases,
            reaccesses: outcome.ledger.reaccesses,
            wpa_reaccesses: outcome.ledger.wpa_reaccesses,
            second_mappings: outcome.ledger.second_mappings,
            held_at_start: pages(outcome.at_from) + outcome.ledger.rundown_pages,
            held_at_stop: pages(outcome.at_to),
            peak: (pages(outcome.peak.0), etl.clock.nanos(outcome.peak.1)),
            unattributed: outcome.unattributed,
            kernel: outcome.ledger.apart,
            pool_at_stop: outcome.apart_at_stop.0,
            ranges_at_stop: outcome.apart_at_stop.1,
            verification,
            dimensions: query.group_by.clone(),
            with_ended: ended,
            is_selection: !query.conditions.is_empty(),
            tree: query.order.tree(&rows, query.top),
            rows,
            short,
            timeline: held_timeline,
            has_removals: needs.removals,
            doubtful: doubts.any(),
            window: plan.window,
        })
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

fn end_of(last: Option<Ticks>) -> Moment {
    last.map_or(Moment::LAST, |time| Moment { time, order: u64::MAX })
}

/// What casts doubt on the account itself.
fn doubts_of(window: &Window, removals: bool, verified: bool, unattributed: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if window.origin == Origin::WholeTrace {
        lines.push("the trace has no marks of a scenario: the window is the whole trace".to_owned());
    }
    if !removals {
        lines.push(
            "trims were not recorded (keyword WorkingSet, RemoveFromWS events): trimmed pages look as if still held"
                .to_owned(),
        );
    }
    if !verified {
        lines.push("there is no page sequence behind the scenario: nothing proves the result".to_owned());
    }
    if unattributed > 0 {
        lines.push(format!(
            "{unattributed} accesses could not be attributed: they name no process, or one that never started"
        ));
    }
    lines
}
