//! Totals over time of what one shard of owners does. Sums only, so that shards can be added up in any order; what
//! depends on the order among owners (the peak, the first holder of a shared page) is handed on as changes.

use crate::analysis::reference::counting_plan::{CountingPlan, RowCount, RowKey};
use crate::analysis::reference::first_holder::Share;
use crate::analysis::reference::held_over_time::HeldChanges;
use crate::analysis::reference::page::Held;
use crate::analysis::reference::reason::{AccessReason, ReleaseReason};
use crate::event::page::PageUse;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;

/// The totals of one shard. Counts are pages.
#[derive(Debug, Default)]
pub struct Totals {
    /// Released in the window, by reason.
    pub releases: [u64; ReleaseReason::ALL.len()],
    /// Accesses of held pages in the window, by reason.
    pub reaccesses: [u64; AccessReason::ALL.len()],
    /// The same under WPA's rules.
    pub wpa_reaccesses: [u64; AccessReason::ALL.len()],
    /// Accesses in the window of pages that the owner held at another address.
    pub second_mappings: u64,
    /// Pages of the active rundown inside the window that are held by owners.
    pub rundown_pages: u64,
    /// Held pages that were forgotten in the window, as the working sets were emptied.
    pub emptied: u64,
    /// Kernel pages of the active rundown.
    pub kernel: KernelPages,
    /// Held pages over time.
    pub held: HeldChanges,
    /// Holders of shareable pages since they were taken last.
    pub shares: Vec<Share>,
    /// Rows.
    pub rows: FastMap<RowKey, RowCount>,
}

/// Kernel pages of the active rundown, which are in no working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelPages {
    /// New in the window.
    pub entered: u64,
    /// Released in the window.
    pub released: u64,
    /// There at the window's end.
    pub at_stop: u64,
    /// By use, as logged.
    pub by_use: [u64; PageUse::ALL.len()],
}

impl KernelPages {
    /// All that were logged.
    pub fn logged(&self) -> u64 {
        self.by_use.iter().sum()
    }
}

/// Counts as the plan says.
#[derive(Debug)]
pub struct Recorder<'t, 'h> {
    /// What is counted.
    pub plan: &'t CountingPlan<'h>,
    /// Where.
    pub totals: &'t mut Totals,
}

impl Recorder<'_, '_> {
    /// A page is held from now on.
    #[inline]
    pub fn entered(&mut self, moment: Moment, owner: OwnerId, held: &Held) {
        if held.is_outside() {
            return;
        }
        self.totals.held.change(&self.plan.timeline, moment, held.page.category(), 1);
        if self.plan.impact && held.is_shareable() {
            self.totals.shares.push(Share { moment, owner, held: *held, release: None });
        }
    }

    /// A page is not held any more.
    #[inline]
    pub fn left(&mut self, moment: Moment, owner: OwnerId, held: &Held, reason: ReleaseReason) {
        let inside = self.plan.window.holds(moment);
        if inside {
            add(&mut self.totals.releases, reason as usize, 1);
        }
        if held.is_outside() {
            self.totals.kernel.released += u64::from(inside);
            return;
        }
        self.totals.held.change(&self.plan.timeline, moment, held.page.category(), -1);
        if inside && self.plan.ended {
            self.add_row(owner, held, Some(reason));
        }
        if self.plan.impact && held.is_shareable() {
            self.totals.shares.push(Share { moment, owner, held: *held, release: Some(reason) });
        }
    }

    /// A page is forgotten because the working sets have been emptied.
    pub fn forgotten(&mut self, moment: Moment, held: &Held) {
        if !held.is_outside() {
            self.totals.held.change(&self.plan.timeline, moment, held.page.category(), -1);
            self.totals.emptied += u64::from(self.plan.window.holds(moment));
        }
    }

    /// The window ends while a page is held.
    pub fn held_at_stop(&mut self, owner: OwnerId, held: &Held) {
        if held.is_outside() {
            self.totals.kernel.at_stop += 1;
        } else {
            self.add_row(owner, held, None);
        }
    }

    /// Adds a holding to its row. Private pages are physical pages of their own; shareable ones are counted where all
    /// holders are known.
    fn add_row(&mut self, owner: OwnerId, held: &Held, release: Option<ReleaseReason>) {
        let (key, pages) = self.plan.row(owner, held, release);
        let impact_pages = if held.is_shareable() { 0 } else { pages };
        *self.totals.rows.entry(key).or_default() += RowCount { pages, impact_pages };
    }
}

impl Totals {
    /// Adds another shard's totals; changes and shares have been taken before.
    pub fn append(&mut self, other: Totals) {
        add_all(&mut self.releases, &other.releases);
        add_all(&mut self.reaccesses, &other.reaccesses);
        add_all(&mut self.wpa_reaccesses, &other.wpa_reaccesses);
        add_all(&mut self.kernel.by_use, &other.kernel.by_use);
        self.second_mappings += other.second_mappings;
        self.rundown_pages += other.rundown_pages;
        self.emptied += other.emptied;
        self.kernel.entered += other.kernel.entered;
        self.kernel.released += other.kernel.released;
        self.kernel.at_stop += other.kernel.at_stop;
        for (key, count) in other.rows {
            *self.rows.entry(key).or_default() += count;
        }
        self.held.append(&other.held);
    }
}

/// Adds to one slot of a table.
pub fn add(table: &mut [u64], index: usize, count: u64) {
    if let Some(slot) = table.get_mut(index) {
        *slot = slot.saturating_add(count);
    }
}

/// Adds one table to another.
pub fn add_all(all: &mut [u64], part: &[u64]) {
    all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
}
