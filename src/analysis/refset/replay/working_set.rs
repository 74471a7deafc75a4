//! One owner's working set: what each update does to it, by the corrected rules.

use crate::analysis::category_rules::Rule;
use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::pages::held_page::{HeldPage, PageLocation};
use crate::analysis::refset::pages::working_set_pages::{AccessResult, WorkingSetPages};
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::replay::update::{Update, UpdateKind};
use crate::analysis::refset::totals::balance::add;
use crate::analysis::refset::totals::held_statistics::HeldStatistics;
use crate::analysis::refset::totals::shard_totals::Recorder;
use crate::analysis::refset::totals::working_set_check::Difference;
use crate::event::page_identity::PageUse;
use crate::model::address_space::Layer;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::is_kernel_address;

/// An owner and its pages.
#[derive(Debug)]
pub struct WorkingSet<S = ()> {
    /// Whose.
    pub owner: OwnerId,
    /// What it holds.
    pub pages: WorkingSetPages<S>,
    /// How much it holds over time; of the system and the sessions [`ShardTotals`](crate::analysis::refset::totals::shard_totals::ShardTotals) has it.
    pub tally: HeldStatistics,
}

impl<S: AccessStack> WorkingSet<S> {
    /// An owner that holds nothing.
    pub fn new(owner: OwnerId) -> WorkingSet<S> {
        WorkingSet { owner, pages: WorkingSetPages::default(), tally: HeldStatistics::default() }
    }

    /// Applies an update of a kind. `space` says what a private page's address belongs to, and the file key of its view.
    #[inline(always)]
    pub fn apply(
        &mut self,
        recorder: &mut Recorder<'_, '_, S>,
        kind: UpdateKind,
        update: &Update<S>,
        space: impl FnOnce(u64) -> (Layer, u64),
    ) {
        let (moment, page, identity) = (update.moment, update.page, update.identity);
        let own_data = || {
            let (layer, view) = space(update.address());
            HeldPage::private(moment.time, page.own_data(Rule::of_layer(layer).category()), view)
                .with_stack(update.stack)
        };
        let kernel_page = HeldPage::private(moment.time, page, 0).with_stack(update.stack);
        let shareable = HeldPage::shareable(moment.time, page, identity).with_stack(update.stack);
        let at = PageLocation::address(update.address());
        match kind {
            UpdateKind::Private | UpdateKind::Kernel if page.page_use() == PageUse::ProcessPrivate => {
                self.enter(recorder, moment, user_place(update), own_data());
            }
            UpdateKind::Private => self.enter(recorder, moment, kernel_place(update), kernel_page),
            UpdateKind::Kernel => {
                let inside = recorder.context.window.holds(moment);
                add(&mut recorder.totals.kernel.by_use, page.page_use() as usize, u64::from(inside));
                self.enter(recorder, moment, kernel_place(update), kernel_page.outside());
            }
            UpdateKind::Shareable => {
                self.enter(recorder, moment, user_place(update), shareable);
            }
            UpdateKind::CopyOnWrite => {
                if self.pages.get(at).is_some_and(HeldPage::is_shareable) {
                    self.leave(recorder, moment, at, ReleaseReason::CopyOnWrite);
                }
                self.enter(recorder, moment, at, own_data());
            }
            UpdateKind::Combine => {
                if self.pages.get(at).is_some_and(|held| !held.is_shareable()) {
                    self.leave(recorder, moment, at, ReleaseReason::PageCombine);
                }
                self.enter(recorder, moment, at, shareable);
            }
            UpdateKind::Recorded => {
                let tracked = u64::try_from(self.tally.now).unwrap_or(0);
                let difference = Difference { moment, owner: self.owner, recorded: identity, tracked };
                recorder.totals.comparisons.compare(difference);
            }
            UpdateKind::Release => self.release(recorder, update),
            UpdateKind::Remove => self.leave(recorder, moment, at, ReleaseReason::RemovedFromWorkingSet),
            UpdateKind::Unmap => {
                self.leave_range(recorder, moment, (update.address(), identity), ReleaseReason::UnmapFile);
            }
            UpdateKind::FreePool => {
                for place in self.pages.places_in(update.address(), identity) {
                    if self.pages.get(place).is_some_and(HeldPage::is_outside) {
                        self.leave(recorder, moment, place, ReleaseReason::PoolFree);
                    }
                }
            }
        }
    }

    /// The content of a page is deleted.
    fn release(&mut self, recorder: &mut Recorder<'_, '_, S>, update: &Update<S>) {
        let (moment, reason) = (update.moment, ReleaseReason::PageRelease);
        match update.page.page_use() {
            PageUse::ProcessPrivate => {
                let place = user_place(update);
                if self.pages.get(place).is_some_and(|held| !held.is_shareable()) {
                    self.leave(recorder, moment, place, reason);
                }
            }
            PageUse::File | PageUse::PageFileMapped | PageUse::MetaFile => {
                if let Some(held) = self.pages.leave_frame(update.page.pfn()) {
                    recorder.left(moment, self.owner, &held, reason, &mut self.tally);
                }
            }
            _ => self.leave(recorder, moment, kernel_place(update), reason),
        }
    }

    /// A page is accessed.
    #[inline(always)]
    fn enter(&mut self, recorder: &mut Recorder<'_, '_, S>, moment: Moment, place: PageLocation, held: HeldPage<S>) {
        let inside = recorder.context.window.holds(moment);
        // What the rundown names was held when the working sets had been emptied, so since before the window.
        let rundown = held.page.reason() == AccessReason::ActiveRundown;
        let held = held.before(rundown || moment <= recorder.context.window.from);
        let WorkingSet { owner, pages, tally } = self;
        let entered = pages.enter(place, held, |gone| {
            recorder.left(moment, *owner, &gone, ReleaseReason::NotLogged, tally);
        });
        match entered {
            AccessResult::New => {
                recorder.entered(moment, *owner, &held, tally);
                recorder.totals.balance.rundown += u64::from(rundown && inside && !held.is_outside());
                recorder.totals.balance.accessed_outside += u64::from(inside && held.is_outside());
            }
            AccessResult::Again => {
                add(&mut recorder.totals.balance.reaccesses, held.page.reason() as usize, u64::from(inside))
            }
            AccessResult::SecondMapping => recorder.totals.balance.second_mappings += u64::from(inside),
        }
    }

    /// The page at a place is released; nothing happens when none is held there.
    #[inline(always)]
    pub fn leave(
        &mut self,
        recorder: &mut Recorder<'_, '_, S>,
        moment: Moment,
        place: PageLocation,
        reason: ReleaseReason,
    ) {
        if let Some(held) = self.pages.leave(place) {
            recorder.left(moment, self.owner, &held, reason, &mut self.tally);
        }
    }

    /// All pages at `[low, high)` are released.
    pub fn leave_range(
        &mut self,
        recorder: &mut Recorder<'_, '_, S>,
        moment: Moment,
        (low, high): (u64, u64),
        reason: ReleaseReason,
    ) {
        for place in self.pages.places_in(low, high) {
            self.leave(recorder, moment, place, reason);
        }
    }

    /// Everything is released: the owner ends.
    pub fn leave_all(mut self, recorder: &mut Recorder<'_, '_, S>, moment: Moment, reason: ReleaseReason) {
        for (_, held) in self.pages.distinct() {
            recorder.left(moment, self.owner, &held, reason, &mut self.tally);
        }
        let tally = self.tally.finished(&recorder.context.window);
        recorder.totals.ended.extend((tally.peak.0 > 0).then_some((self.owner, tally)));
    }

    /// Everything is forgotten: the working sets have been emptied.
    pub fn forget(&mut self, recorder: &mut Recorder<'_, '_, S>, moment: Moment) {
        for (_, held) in std::mem::take(&mut self.pages).distinct() {
            recorder.forgotten(moment, self.owner, &held, &mut self.tally);
        }
    }

    /// The window ends: what is held now goes into the rows.
    pub fn stop(&self, recorder: &mut Recorder<'_, '_, S>) {
        for (_, held) in self.pages.distinct() {
            recorder.held_at_stop(self.owner, &held);
        }
    }
}

/// Where a process's page is kept. An address of 0 is an unknown one.
#[inline(always)]
fn user_place<S>(update: &Update<S>) -> PageLocation {
    if update.address() == 0 { PageLocation::frame(update.page.pfn()) } else { PageLocation::address(update.address()) }
}

fn kernel_place<S>(update: &Update<S>) -> PageLocation {
    let is_kernel = is_kernel_address(update.identity, update.pointer());
    PageLocation::of_kernel_page(update.page.page_use(), update.page.pfn(), update.identity, is_kernel)
}
