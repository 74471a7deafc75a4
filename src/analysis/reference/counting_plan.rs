//! What a query needs to be counted, and the keys of its rows.

use crate::analysis::category::Category;
use crate::analysis::reference::page::Held;
use crate::analysis::reference::reason::{AccessReason, Impact, ReleaseReason};
use crate::analysis::reference::tally::Span;
use crate::model::file_names::FileNames;
use crate::model::user_paths::UserPaths;
use crate::model::window::Window;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::Ticks;

/// What a query needs to be counted.
#[derive(Debug)]
pub struct CountingPlan<'h> {
    /// The window.
    pub window: Window,
    /// What averages are over.
    pub span: Span,
    /// Rows for holdings that ended inside the window, not only for what is held at its end.
    pub ended: bool,
    /// Physical pages are counted for their first holder.
    pub impact: bool,
    /// Dimensions that are part of a row's key.
    pub keep: Keep,
    /// Holdings are kept one by one.
    pub holdings: bool,
    /// Changes are kept by row for a timeline.
    pub timeline: bool,
    /// Records of a time slice.
    pub slice_records: u64,
    /// File names, where rows need them.
    pub names: FileNames<'h>,
    /// Paths as users know them.
    pub user_paths: UserPaths,
}

/// Dimensions that are part of a row's key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // named like the dimensions
pub struct Keep {
    pub owner: bool,
    pub category: bool,
    pub file: bool,
    pub detail: bool,
    pub access_reason: bool,
    pub release_reason: bool,
    pub impact: bool,
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

/// Key of a row; dimensions that are not part of it have their default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(missing_docs)] // named like the dimensions
pub struct RowKey {
    pub owner: Option<OwnerId>,
    pub category: Option<Category>,
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

impl CountingPlan<'_> {
    /// When the working sets were emptied last before a moment: what the active rundown names is held since then.
    #[cold]
    pub fn emptied_before(&self, moment: Moment) -> Ticks {
        let resets = self.window.resets.iter().filter(|&&reset| reset <= moment);
        resets.map(|reset| reset.time).max().unwrap_or(self.window.from.time)
    }

    /// Key and sign of a holding.
    pub fn row(&self, owner: OwnerId, held: &Held, release: Option<ReleaseReason>) -> (RowKey, i64) {
        let keep = self.keep;
        let (impact, sign) = Impact::of(held.is_before(), release.is_some());
        let key = RowKey {
            owner: keep.owner.then_some(owner),
            category: keep.category.then(|| held.page.category()),
            file: if keep.file { self.file(held) } else { FileCode::None },
            detail: if keep.detail { self.detail(held) } else { FileCode::None },
            access_reason: keep.access_reason.then(|| held.page.reason()),
            release_reason: release.filter(|_| keep.release_reason),
            impact: keep.impact.then_some(impact),
        };
        (key, if keep.impact { sign } else { 1 })
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
