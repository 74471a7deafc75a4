//! Totals over time of what one shard of owners does. Sums only, so that shards can be added up in any order; what
//! depends on the order among owners (the peak, the first holder of a shared page) is handed on as changes.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::pages::held_page::HeldPage;
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::row_key::{RowCount, RowKey};
use crate::analysis::refset::totals::balance::{Balance, add, add_all};
use crate::analysis::refset::totals::each_holding::KeptHolding;
use crate::analysis::refset::totals::held_over_time::HeldChanges;
use crate::analysis::refset::totals::held_statistics::HeldStatistics;
use crate::analysis::refset::totals::shared_pages::SharedPageChange;
use crate::analysis::refset::totals::timeline::GroupChanges;
use crate::analysis::refset::totals::working_set_check::Comparisons;
use crate::event::page_identity::PageUse;
use crate::model::category::Category;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// The totals of one shard. Counts are pages.
#[derive(Debug, Default)]
pub struct ShardTotals<S = ()> {
    /// What came and went.
    pub balance: Balance,
    /// Kernel pages of the active rundown.
    pub kernel: KernelPages,
    /// Held pages over time.
    pub held: HeldChanges,
    /// The same by groups, for a timeline.
    pub groups: GroupChanges,
    /// Holders of shareable pages since they were taken last.
    pub shares: Vec<SharedPageChange<S>>,
    /// Rows.
    pub rows: FastMap<RowKey, RowCount>,
    /// Holdings one by one, where they are asked for, until the end of the slice.
    pub holdings: Vec<KeptHolding<S>>,
    /// What the system holds, with the private pages of sessions.
    pub system: HeldStatistics,
    /// What the sessions hold apart from those.
    pub sessions: HeldStatistics,
    /// What owners held that ended.
    pub ended: Vec<(OwnerId, HeldStatistics)>,
    /// Page-ticks in the window by category.
    pub page_ticks: PageTicks,
    /// Comparisons with the working sets that Windows logged.
    pub comparisons: Comparisons,
}

/// Page-ticks of each category.
pub type PageTicks = [i128; Category::ALL.len()];

/// Kernel pages of the active rundown, which are in no working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelPages {
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

/// Counts what the context asks for.
#[derive(Debug)]
pub struct Recorder<'t, 'h, S = ()> {
    /// What is counted.
    pub context: &'t ReplayContext<'h>,
    /// The sums to which it is added.
    pub totals: &'t mut ShardTotals<S>,
}

/// A change of the number of held pages.
struct Change {
    moment: Moment,
    /// From when on it counts in averages.
    since: Ticks,
    owner: OwnerId,
    pages: i64,
}

impl<S: AccessStack> Recorder<'_, '_, S> {
    /// A page is held from now on.
    #[inline]
    pub fn entered(&mut self, moment: Moment, owner: OwnerId, held: &HeldPage<S>, tally: &mut HeldStatistics) {
        if held.is_outside() {
            return;
        }
        let is_older = held.page.reason() == AccessReason::ActiveRundown && self.context.window.holds(moment);
        let since = if is_older { self.context.emptied_before(moment) } else { moment.time };
        self.change(Change { moment, since, owner, pages: 1 }, held, tally);
        if self.context.with_impact() && held.is_shareable() {
            self.totals.shares.push(SharedPageChange { moment, owner, held: *held, release: None });
        }
    }

    /// A page is not held any more.
    #[inline]
    pub fn left(
        &mut self,
        moment: Moment,
        owner: OwnerId,
        held: &HeldPage<S>,
        reason: ReleaseReason,
        tally: &mut HeldStatistics,
    ) {
        let inside = self.context.window.holds(moment);
        if inside {
            add(&mut self.totals.balance.releases, reason as usize, 1);
        }
        if held.is_outside() {
            self.totals.kernel.released += u64::from(inside);
            self.totals.balance.released_outside += u64::from(inside);
            return;
        }
        self.change(Change { moment, since: moment.time, owner, pages: -1 }, held, tally);
        if inside && self.context.with_ended() {
            self.add_row(owner, held, Some(reason));
        }
        if inside && self.context.holdings {
            self.totals.holdings.push(KeptHolding { owner, held: *held, released: Some((reason, moment.time)) });
        }
        if self.context.with_impact() && held.is_shareable() {
            self.totals.shares.push(SharedPageChange { moment, owner, held: *held, release: Some(reason) });
        }
    }

    /// A page is forgotten because the working sets have been emptied.
    pub fn forgotten(&mut self, moment: Moment, owner: OwnerId, held: &HeldPage<S>, tally: &mut HeldStatistics) {
        if !held.is_outside() {
            self.change(Change { moment, since: moment.time, owner, pages: -1 }, held, tally);
            self.totals.balance.emptied += u64::from(self.context.window.holds(moment));
        }
    }

    /// The number of held pages changes.
    #[inline(always)]
    fn change(&mut self, change: Change, held: &HeldPage<S>, tally: &mut HeldStatistics) {
        let Change { moment, since, owner, pages } = change;
        let (totals, category) = (&mut *self.totals, held.page.category());
        totals.held.change(moment, pages);
        let page_ticks = pages * self.context.span.ticks_after(since);
        if let Some(slot) = totals.page_ticks.get_mut(category as usize) {
            *slot += i128::from(page_ticks);
        }
        let tally = match owner.owner() {
            Owner::System => &mut totals.system,
            // As in rows.
            Owner::Session(_) if category == Category::SessionPrivate => &mut totals.system,
            Owner::Session(_) => &mut totals.sessions,
            _ => tally,
        };
        tally.change(&self.context.window, moment, pages, page_ticks);
        if self.context.timeline.is_some() {
            totals.groups.push(moment, since, self.context.row(owner, held, None).0, pages);
        }
    }

    /// The window ends while a page is held.
    pub fn held_at_stop(&mut self, owner: OwnerId, held: &HeldPage<S>) {
        if held.is_outside() {
            self.totals.kernel.at_stop += 1;
        } else {
            self.add_row(owner, held, None);
            let kept = self.context.holdings.then_some(KeptHolding { owner, held: *held, released: None });
            self.totals.holdings.extend(kept);
        }
    }

    /// Adds a holding to its row. Private pages are physical pages of their own; shareable ones are counted where all
    /// holders are known.
    fn add_row(&mut self, owner: OwnerId, held: &HeldPage<S>, release: Option<ReleaseReason>) {
        let (key, pages) = self.context.row(owner, held, release);
        let impact_pages = if held.is_shareable() { 0 } else { pages };
        *self.totals.rows.entry(key).or_default() += RowCount { pages, impact_pages };
    }
}

impl<S> ShardTotals<S> {
    /// Adds another shard's totals; changes and shares have been taken before.
    pub fn append(&mut self, other: ShardTotals<S>) {
        self.balance += other.balance;
        add_all(&mut self.kernel.by_use, &other.kernel.by_use);
        self.kernel.released += other.kernel.released;
        self.kernel.at_stop += other.kernel.at_stop;
        for (key, count) in other.rows {
            *self.rows.entry(key).or_default() += count;
        }
        self.page_ticks.iter_mut().zip(other.page_ticks).for_each(|(all, part)| *all += part);
        self.comparisons.append(other.comparisons);
    }
}
