//! What one bucket of owners writes down while it follows its steps. Sums only, so that buckets can be added up in any
//! order; what depends on the order among owners (the peak, the first holder of a shared page) leaves as changes.

use crate::analysis::category::Category;
use crate::analysis::reference::curve::{Change, Sums};
use crate::analysis::reference::held::Held;
use crate::analysis::reference::reason::{AccessReason, Impact, ReleaseReason};
use crate::event::page::PageUse;
use crate::model::file_names::FileNames;
use crate::model::window::Window;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// What must be written down.
#[derive(Debug)]
pub struct Plan<'h> {
    /// The window.
    pub window: Window,
    /// Rows for holdings that ended inside the window, not only for what is held at its end.
    pub ended: bool,
    /// Physical pages are counted for their first holder.
    pub impact: bool,
    /// Dimensions that rows keep apart.
    pub keep: Keep,
    /// Stamps at which the timeline is read; empty without one.
    pub timeline: Vec<Ticks>,
    /// Records that are followed at a time.
    pub slab_records: u64,
    /// File names, where rows need them.
    pub names: FileNames<'h>,
}

/// Dimensions that rows keep apart; the others are left out of their keys.
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

/// Key of a row; dimensions that are not kept apart have their default.
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

impl Plan<'_> {
    /// Key and sign of a holding.
    pub fn row(&self, owner: OwnerId, held: &Held, release: Option<ReleaseReason>) -> (RowKey, i64) {
        let keep = self.keep;
        let (impact, sign) = Impact::of(held.is_before(), release.is_some());
        let key = RowKey {
            owner: keep.owner.then_some(owner),
            category: keep.category.then(|| held.category()),
            file: if keep.file { self.file(held) } else { FileCode::None },
            detail: if keep.detail { self.detail(held) } else { FileCode::None },
            access_reason: keep.access_reason.then(|| held.reason()),
            release_reason: release.filter(|_| keep.release_reason),
            impact: keep.impact.then_some(impact),
        };
        (key, if keep.impact { sign } else { 1 })
    }

    fn file(&self, held: &Held) -> FileCode {
        match held.category() {
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

/// A shareable page got or lost a holder.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// When.
    pub moment: Moment,
    /// Who.
    pub owner: OwnerId,
    /// The holding.
    pub held: Held,
    /// Why it ended; `None` when it began.
    pub release: Option<ReleaseReason>,
}

/// The account of one bucket.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Pages released in the window, by reason.
    pub releases: [u64; ReleaseReason::ALL.len()],
    /// Accesses of held pages in the window, by reason.
    pub reaccesses: [u64; AccessReason::ALL.len()],
    /// The same under WPA's rules.
    pub wpa_reaccesses: [u64; AccessReason::ALL.len()],
    /// Accesses in the window of pages that the owner held at another address.
    pub second_mappings: u64,
    /// Pages of the active rundown inside the window that are held by owners.
    pub rundown_pages: u64,
    /// Kernel pages of the active rundown, counted apart: at their most, and at the window's end.
    pub apart: Apart,
    /// Changes of the number of held pages since they were taken last.
    pub changes: Vec<Change>,
    /// The same, added up.
    pub sums: Sums,
    /// Holders of shareable pages since they were taken last.
    pub shares: Vec<Share>,
    /// Rows.
    pub rows: FastMap<RowKey, RowCount>,
    /// Changes by category for each point of the timeline.
    pub timeline: Vec<[i64; Category::ALL.len()]>,
}

/// Kernel pages of the active rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apart {
    /// Logged in the rundown.
    pub logged: u64,
    /// Released in the window.
    pub released: u64,
    /// Held at the window's end.
    pub at_stop: u64,
    /// By use, as logged.
    pub by_use: [u64; PageUse::ALL.len()],
}

impl Default for Apart {
    fn default() -> Self {
        Apart { logged: 0, released: 0, at_stop: 0, by_use: [0; PageUse::ALL.len()] }
    }
}

impl Ledger {
    /// A page is held from now on.
    #[inline]
    pub fn entered(&mut self, plan: &Plan<'_>, moment: Moment, owner: OwnerId, held: &Held) {
        if held.is_apart() {
            return;
        }
        self.change(plan, moment, held.category(), 1);
        if plan.impact && held.is_shareable() {
            self.shares.push(Share { moment, owner, held: *held, release: None });
        }
    }

    /// A page is not held any more.
    #[inline]
    pub fn left(&mut self, plan: &Plan<'_>, moment: Moment, owner: OwnerId, held: &Held, reason: ReleaseReason) {
        let inside = plan.window.holds(moment);
        if inside {
            add(&mut self.releases, reason as usize, 1);
        }
        if held.is_apart() {
            self.apart.released += u64::from(inside);
            return;
        }
        self.change(plan, moment, held.category(), -1);
        if inside && plan.ended {
            self.add_row(plan, owner, held, Some(reason));
        }
        if plan.impact && held.is_shareable() {
            self.shares.push(Share { moment, owner, held: *held, release: Some(reason) });
        }
    }

    /// A page is forgotten because the account begins anew.
    pub fn forgotten(&mut self, plan: &Plan<'_>, moment: Moment, held: &Held) {
        if !held.is_apart() {
            self.change(plan, moment, held.category(), -1);
        }
    }

    /// Adds a holding to its row. Private pages are physical pages of their own; shareable ones are counted where all
    /// holders are known.
    pub fn add_row(&mut self, plan: &Plan<'_>, owner: OwnerId, held: &Held, release: Option<ReleaseReason>) {
        let (key, pages) = plan.row(owner, held, release);
        let impact_pages = if held.is_shareable() { 0 } else { pages };
        *self.rows.entry(key).or_default() += RowCount { pages, impact_pages };
    }

    #[inline]
    fn change(&mut self, plan: &Plan<'_>, moment: Moment, category: Category, pages: i64) {
        match self.changes.last_mut() {
            Some(last) if last.moment == moment => last.pages += pages,
            _ => self.changes.push(Change { moment, pages }),
        }
        if !plan.timeline.is_empty() {
            let point = plan.timeline.partition_point(|&at| at < moment.time);
            if self.timeline.len() < plan.timeline.len() {
                self.timeline.resize(plan.timeline.len(), [0; Category::ALL.len()]);
            }
            if let Some(slot) = self.timeline.get_mut(point).and_then(|point| point.get_mut(category as usize)) {
                *slot += pages;
            }
        }
    }

    /// Adds another bucket's sums; changes and shares have been taken before.
    pub fn append(&mut self, other: Ledger) {
        let sum = |all: &mut [u64], part: &[u64]| all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
        sum(&mut self.releases, &other.releases);
        sum(&mut self.reaccesses, &other.reaccesses);
        sum(&mut self.wpa_reaccesses, &other.wpa_reaccesses);
        sum(&mut self.apart.by_use, &other.apart.by_use);
        self.second_mappings += other.second_mappings;
        self.rundown_pages += other.rundown_pages;
        self.apart.logged += other.apart.logged;
        self.apart.released += other.apart.released;
        self.apart.at_stop += other.apart.at_stop;
        for (key, count) in other.rows {
            *self.rows.entry(key).or_default() += count;
        }
        if self.timeline.len() < other.timeline.len() {
            self.timeline.resize(other.timeline.len(), [0; Category::ALL.len()]);
        }
        for (all, part) in self.timeline.iter_mut().zip(&other.timeline) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
        }
    }
}

/// Adds to one slot of a table.
pub fn add(table: &mut [u64], index: usize, count: u64) {
    if let Some(slot) = table.get_mut(index) {
        *slot = slot.saturating_add(count);
    }
}
