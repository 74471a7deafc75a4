//! What is known before the replay: the trace's other events, the window, and what is counted by which keys.

use crate::analysis::category::Category;
use crate::analysis::reference::page::Held;
use crate::analysis::reference::query::{Dimension, Query};
use crate::analysis::reference::reason::{AccessReason, Impact, ReleaseReason};
use crate::analysis::reference::tally::Span;
use crate::analysis::reference::wpa_observer::WpaNeeds;
use crate::analysis::table::Condition;
use crate::error::Error;
use crate::etl::clock::Clock;
use crate::load::history::History;
use crate::model::file_names::FileNames;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;
use crate::model::user_paths::UserPaths;
use crate::model::window::Window;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::{Nanos, Ticks};

/// What a replay knows of the trace and of the query.
#[derive(Debug)]
pub struct Plan<'h> {
    /// All events of the trace but the page events.
    pub history: &'h History,
    /// Which of them are rundowns.
    pub rundowns: &'h Rundowns,
    /// Process lifetimes.
    pub lifetimes: &'h ProcessTimeline<'h>,
    /// What WPA's rules need.
    pub needs: WpaNeeds,
    /// The window.
    pub window: Window,
    /// What averages are over.
    pub span: Span,
    /// Dimensions that are part of a row's key.
    pub keep: Kept,
    /// Holdings are kept one by one.
    pub holdings: bool,
    /// The timeline, if there is one.
    pub timeline: Option<TimelinePlan>,
    /// Records of a time slice.
    pub slice_records: u64,
    /// File names, where rows need them.
    pub names: FileNames<'h>,
    /// Paths as users know them.
    pub user_paths: UserPaths,
}

/// What a timeline shows.
#[derive(Debug)]
pub struct TimelinePlan {
    /// Stamps of the points.
    pub points: Vec<Ticks>,
    /// What makes a group.
    pub dimensions: Vec<Dimension>,
    /// What a page must meet to be shown.
    pub conditions: Vec<Condition<Dimension>>,
}

impl TimelinePlan {
    /// What a query asks for.
    ///
    /// # Errors
    /// A usage error for a step that gives too many points, and for dimensions that nothing has while it is held.
    pub fn new(clock: &Clock, window: &Window, step: Nanos, query: &Query) -> Result<TimelinePlan, Error> {
        let (points, dimensions) = (window.points(clock, step)?, query.timeline_dimensions()?);
        Ok(TimelinePlan { points, dimensions, conditions: query.conditions.clone() })
    }
}

/// Dimensions that are part of a row's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept(u16);

impl Kept {
    /// These dimensions.
    pub fn of(dimensions: impl IntoIterator<Item = Dimension>) -> Kept {
        Kept(dimensions.into_iter().fold(0, |all, dimension| all | 1 << dimension as u16))
    }

    /// True when a dimension is one of them.
    #[inline(always)]
    pub const fn has(self, dimension: Dimension) -> bool {
        self.0 >> dimension as u16 & 1 != 0
    }
}

/// A file in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum FileCode {
    /// No file.
    #[default]
    None,
    /// A combined page.
    Combined,
    /// Index of a name.
    Name(u32),
    /// Key without a name.
    Unknown(u64),
}

/// Key of a row: always owner and category, of the other dimensions those that are part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named like the dimensions
pub struct RowKey {
    pub owner: OwnerId,
    pub category: Category,
    pub file: FileCode,
    pub detail: FileCode,
    pub access_reason: Option<AccessReason>,
    pub release_reason: Option<ReleaseReason>,
    pub impact: Option<Impact>,
}

/// Counts of a row. Negative for holdings that began before the window and ended in it, where rows keep impact apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCount {
    /// Pages, each owner's.
    pub pages: i64,
    /// Pages, each physical page once.
    pub impact_pages: i64,
}

impl std::ops::AddAssign for RowCount {
    fn add_assign(&mut self, other: RowCount) {
        self.pages += other.pages;
        self.impact_pages += other.impact_pages;
    }
}

impl Plan<'_> {
    /// Rows for holdings that ended inside the window, not only for what is held at its end.
    #[inline(always)]
    pub const fn with_ended(&self) -> bool {
        self.keep.has(Dimension::ReleaseReason) || self.with_impact()
    }

    /// Physical pages are counted for their first holder.
    #[inline(always)]
    pub const fn with_impact(&self) -> bool {
        self.keep.has(Dimension::Impact)
    }

    /// When the working sets were emptied last before a moment: what the active rundown names is held since then.
    #[cold]
    pub fn emptied_before(&self, moment: Moment) -> Ticks {
        let resets = self.window.resets.iter().filter(|&&reset| reset <= moment);
        resets.map(|reset| reset.time).max().unwrap_or(self.window.from.time)
    }

    /// Key and sign of a holding.
    pub fn row(&self, owner: OwnerId, held: &Held, release: Option<ReleaseReason>) -> (RowKey, i64) {
        let keeps = |dimension| self.keep.has(dimension);
        let (impact, sign) = Impact::of(held.is_before(), release.is_some());
        let key = RowKey {
            owner,
            category: held.page.category(),
            file: if keeps(Dimension::File) { self.file(held) } else { FileCode::None },
            detail: if keeps(Dimension::Detail) { self.detail(held) } else { FileCode::None },
            access_reason: keeps(Dimension::AccessReason).then(|| held.page.reason()),
            release_reason: release.filter(|_| keeps(Dimension::ReleaseReason)),
            impact: self.with_impact().then_some(impact),
        };
        (key, if self.with_impact() { sign } else { 1 })
    }

    fn file(&self, held: &Held) -> FileCode {
        match held.page.category() {
            Category::Image | Category::MapFile | Category::MetaFile if held.is_shareable() => {
                self.named(held.identity & !3, held.since)
            }
            _ => FileCode::None,
        }
    }

    fn detail(&self, held: &Held) -> FileCode {
        if held.is_combined() {
            FileCode::Combined
        } else if !held.is_shareable() && held.identity != 0 {
            self.named(held.identity & !3, held.since)
        } else {
            FileCode::None
        }
    }

    fn named(&self, key: u64, since: Ticks) -> FileCode {
        let moment = Moment { time: since, order: u64::MAX };
        self.names.at(key, moment).map_or(FileCode::Unknown(key), FileCode::Name)
    }
}
