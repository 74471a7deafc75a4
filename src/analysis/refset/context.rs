//! What is known before the replay: the trace's other events, the window, and what is counted by which keys.

use crate::analysis::refset::access_stacks::{AccessStack, AccessStacks};
use crate::analysis::refset::averaging_span::AveragingSpan;
use crate::analysis::refset::pages::held_page::HeldPage;
use crate::analysis::refset::query::{Dimension, Query};
use crate::analysis::refset::reason::{Impact, ReleaseReason};
use crate::analysis::refset::row_key::{FileCode, KeyParts, RowKey};
use crate::analysis::table::Condition;
use crate::error::Error;
use crate::etl::clock::Clock;
use crate::load::space_events::UnrolledSpaces;
use crate::load::survey::Survey;
use crate::model::category::Category;
use crate::model::drive_paths::DrivePaths;
use crate::model::file_names::FileNames;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;
use crate::model::services::Services;
use crate::model::window::Window;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::{Nanos, Ticks};

/// What a replay knows of the trace and of the query.
#[derive(Debug)]
pub struct ReplayContext<'h> {
    /// Counts of all records.
    pub survey: &'h Survey,
    /// Events of the address spaces.
    pub spaces: &'h UnrolledSpaces<'h>,
    /// Which of them are rundowns.
    pub rundowns: &'h Rundowns,
    /// Process lifetimes.
    pub lifetimes: &'h ProcessTimeline<'h>,
    /// Services of the processes, where rows need them.
    pub services: Option<&'h Services>,
    /// Which events the trace holds of those that not every recording has.
    pub optional_events: OptionalEvents,
    /// No allocation of pool is larger.
    pub most_pool_bytes: u64,
    /// The window.
    pub window: Window,
    /// What averages are over.
    pub span: AveragingSpan,
    /// What is part of a row's key.
    pub key_parts: KeyParts,
    /// Holdings are kept one by one.
    pub holdings: bool,
    /// The timeline, if there is one.
    pub timeline: Option<TimelineQuery>,
    /// Records of a time slice.
    pub slice_records: u64,
    /// Stacks of accesses, where rows need them.
    pub stacks: Option<&'h AccessStacks>,
    /// File names, where rows need them.
    pub names: FileNames<'h>,
    /// Paths as users know them.
    pub drive_paths: DrivePaths,
}

/// Which optional events the trace holds; some rules depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OptionalEvents {
    /// It holds RemoveFromWS events.
    pub removals: bool,
    /// It holds deletes of pagefile-backed sections.
    pub sections: bool,
}

/// What a timeline shows.
#[derive(Debug)]
pub struct TimelineQuery {
    /// Stamps of the points.
    pub points: Vec<Ticks>,
    /// What makes a group.
    pub dimensions: Vec<Dimension>,
    /// What a page must meet to be shown.
    pub conditions: Vec<Condition<Dimension>>,
}

impl TimelineQuery {
    /// What a query asks for.
    ///
    /// # Errors
    /// A usage error for a step that gives too many points, and for dimensions that nothing has while it is held.
    pub fn new(clock: &Clock, window: &Window, step: Nanos, query: &Query) -> Result<TimelineQuery, Error> {
        let (points, dimensions) = (window.points(clock, step)?, query.timeline_dimensions()?);
        Ok(TimelineQuery { points, dimensions, conditions: query.conditions.clone() })
    }
}

impl ReplayContext<'_> {
    /// Rows for holdings that ended inside the window, not only for what is held at its end.
    #[inline(always)]
    pub const fn with_ended(&self) -> bool {
        self.key_parts.release_reason || self.with_impact()
    }

    /// Physical pages are counted for their first holder.
    #[inline(always)]
    pub const fn with_impact(&self) -> bool {
        self.key_parts.impact
    }

    /// When the working sets were emptied last before a moment: what the active rundown names is held since then.
    #[cold]
    pub fn emptied_before(&self, moment: Moment) -> Ticks {
        let resets = self.window.resets.iter().filter(|&&reset| reset <= moment);
        resets.map(|reset| reset.time).max().unwrap_or(self.window.from.time)
    }

    /// Key and sign of a holding.
    pub fn row<S: AccessStack>(
        &self,
        owner: OwnerId,
        held: &HeldPage<S>,
        release: Option<ReleaseReason>,
    ) -> (RowKey, i64) {
        let keeps = self.key_parts;
        let (impact, sign) = Impact::of(held.is_before(), release.is_some());
        let key = RowKey {
            owner,
            category: held.page.category(),
            file: if keeps.file { self.file(held) } else { FileCode::None },
            detail: if keeps.detail { self.detail(held) } else { FileCode::None },
            access_reason: keeps.access_reason.then(|| held.page.reason()),
            release_reason: release.filter(|_| keeps.release_reason),
            impact: self.with_impact().then_some(impact),
            stack: held.stack.number(),
        };
        (key, if self.with_impact() { sign } else { 1 })
    }

    fn file<S: Copy>(&self, held: &HeldPage<S>) -> FileCode {
        match held.page.category() {
            Category::Image | Category::MapFile | Category::MetaFile if held.is_shareable() => {
                self.named(held.identity & !3, held.since)
            }
            _ => FileCode::None,
        }
    }

    fn detail<S: Copy>(&self, held: &HeldPage<S>) -> FileCode {
        if held.is_combined() {
            FileCode::Combined
        } else if !held.is_shareable() && held.identity != 0 {
            self.named(held.identity & !3, held.since)
        } else {
            FileCode::None
        }
    }

    fn named(&self, key: u64, since: Ticks) -> FileCode {
        let moment = Moment::end_of(since);
        self.names.at(key, moment).map_or(FileCode::Unknown(key), FileCode::Name)
    }
}
