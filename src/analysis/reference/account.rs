//! One owner's account: the pages that it holds, and the ledger entries of what comes and goes.

use crate::analysis::category::Category;
use crate::analysis::reference::held::{Entered, Held, HeldPages, Place};
use crate::analysis::reference::ledger::{Ledger, Plan, add};
use crate::analysis::reference::reason::{AccessReason, ReleaseReason};
use crate::analysis::reference::step::{Kind, Step};
use crate::event::page::PageUse;
use crate::model::space::Layer;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use crate::units::is_kernel_address;

/// An owner and its pages.
#[derive(Debug)]
pub struct Account {
    /// Whose.
    pub owner: OwnerId,
    /// What it holds.
    pub pages: HeldPages,
}

/// Where an account writes: the plan says what.
#[derive(Debug)]
pub struct Desk<'a, 'h> {
    /// What is written down.
    pub plan: &'a Plan<'h>,
    /// Where.
    pub ledger: &'a mut Ledger,
}

impl Account {
    /// An owner that holds nothing.
    pub fn new(owner: OwnerId) -> Account {
        Account { owner, pages: HeldPages::default() }
    }

    /// Follows a step. `space` says what a private page's address belongs to, and the file key of its view.
    #[inline(always)]
    pub fn follow(&mut self, desk: &mut Desk<'_, '_>, step: &Step, space: impl FnOnce(u64) -> (Layer, u64)) {
        let Step { moment, address, pfn, identity, reason, .. } = *step;
        let private = |category, view| Held::private(moment.time, pfn, category, reason, view);
        let own_data = || {
            let (layer, view) = space(address);
            private(Category::of_layer(layer), view)
        };
        let at = Place::address(address);
        match step.kind {
            Kind::Private | Kind::Apart if step.page_use == PageUse::ProcessPrivate => {
                // An address of 0 is an unknown one.
                let place = if address == 0 { Place::frame(pfn) } else { at };
                self.enter(desk, moment, place, own_data());
            }
            Kind::Private => self.enter(desk, moment, kernel_place(step), private(step.category, 0)),
            Kind::Apart => {
                let by_use = &mut desk.ledger.apart.by_use;
                if desk.plan.window.holds(moment) {
                    add(by_use, step.page_use as usize, 1);
                }
                self.enter(desk, moment, kernel_place(step), private(step.category, 0).apart());
            }
            Kind::Shareable => {
                let held = Held::shareable(moment.time, pfn, step.category, reason, identity);
                let place = if address == 0 { Place::frame(pfn) } else { at };
                self.enter(desk, moment, place, held);
            }
            Kind::CopyOnWrite => {
                if self.pages.get(at).is_some_and(Held::is_shareable) {
                    self.leave(desk, moment, at, ReleaseReason::CopyOnWrite);
                }
                self.enter(desk, moment, at, own_data());
            }
            Kind::Combine => {
                if self.pages.get(at).is_some_and(|held| !held.is_shareable()) {
                    self.leave(desk, moment, at, ReleaseReason::PageCombine);
                }
                self.enter(desk, moment, at, Held::shareable(moment.time, 0, step.category, reason, identity));
            }
            Kind::Release => self.release(desk, step),
            Kind::Remove => self.leave(desk, moment, at, ReleaseReason::RemovedFromWorkingSet),
            Kind::Unmap => self.leave_range(desk, moment, (address, identity), ReleaseReason::UnmapFile),
            Kind::FreePool => {
                for place in self.pages.places_in(address, identity) {
                    if self.pages.get(place).is_some_and(Held::is_apart) {
                        self.leave(desk, moment, place, ReleaseReason::PoolFree);
                    }
                }
            }
        }
    }

    /// The content of a page is deleted.
    fn release(&mut self, desk: &mut Desk<'_, '_>, step: &Step) {
        let reason = ReleaseReason::PageRelease;
        match step.page_use {
            PageUse::ProcessPrivate => {
                let place = if step.address == 0 { Place::frame(step.pfn) } else { Place::address(step.address) };
                if self.pages.get(place).is_some_and(|held| !held.is_shareable()) {
                    self.leave(desk, step.moment, place, reason);
                }
            }
            PageUse::File | PageUse::PageFileMapped | PageUse::MetaFile => {
                self.leave_frame(desk, step.moment, step.pfn, reason);
            }
            _ => self.leave(desk, step.moment, kernel_place(step), reason),
        }
    }

    /// A page is accessed.
    #[inline(always)]
    pub fn enter(&mut self, desk: &mut Desk<'_, '_>, moment: Moment, place: Place, held: Held) {
        let Desk { plan, ledger } = desk;
        let inside = plan.window.holds(moment);
        // What the rundown names was held when the working sets had been emptied, so since before the window.
        let rundown = held.reason() == AccessReason::ActiveRundown;
        let held = held.before(rundown || moment <= plan.window.from);
        let owner = self.owner;
        let entered = self.pages.enter(place, held, |gone| {
            ledger.left(plan, moment, owner, &gone, ReleaseReason::NotLogged);
        });
        match entered {
            Entered::New => {
                ledger.entered(plan, moment, owner, &held);
                ledger.rundown_pages += u64::from(rundown && inside && !held.is_apart());
            }
            Entered::Again => add(&mut ledger.reaccesses, held.reason() as usize, u64::from(inside)),
            Entered::SecondMapping => ledger.second_mappings += u64::from(inside),
        }
    }

    /// The page at a place is released; nothing happens when none is held there.
    #[inline(always)]
    pub fn leave(&mut self, desk: &mut Desk<'_, '_>, moment: Moment, place: Place, reason: ReleaseReason) {
        if let Some(held) = self.pages.leave(place) {
            desk.ledger.left(desk.plan, moment, self.owner, &held, reason);
        }
    }

    /// The shareable page with this frame is released.
    pub fn leave_frame(&mut self, desk: &mut Desk<'_, '_>, moment: Moment, pfn: u64, reason: ReleaseReason) {
        if let Some(held) = self.pages.leave_frame(pfn) {
            desk.ledger.left(desk.plan, moment, self.owner, &held, reason);
        }
    }

    /// All pages at `[low, high)` are released.
    pub fn leave_range(
        &mut self,
        desk: &mut Desk<'_, '_>,
        moment: Moment,
        (low, high): (u64, u64),
        reason: ReleaseReason,
    ) {
        for place in self.pages.places_in(low, high) {
            self.leave(desk, moment, place, reason);
        }
    }

    /// Everything is released.
    pub fn leave_all(&mut self, desk: &mut Desk<'_, '_>, moment: Moment, reason: ReleaseReason) {
        for (_, held) in self.pages.take().distinct() {
            desk.ledger.left(desk.plan, moment, self.owner, &held, reason);
        }
    }

    /// Everything is forgotten: the working sets have been emptied.
    pub fn forget(&mut self, desk: &mut Desk<'_, '_>, moment: Moment) {
        for (_, held) in self.pages.take().distinct() {
            desk.ledger.forgotten(desk.plan, moment, &held);
        }
    }

    /// The window ends: what is held now goes into the rows.
    pub fn stop(&self, desk: &mut Desk<'_, '_>) {
        for (_, held) in self.pages.distinct() {
            if held.is_apart() {
                desk.ledger.apart.at_stop += 1;
            } else {
                desk.ledger.add_row(desk.plan, self.owner, &held, None);
            }
        }
    }
}

fn kernel_place(step: &Step) -> Place {
    let is_kernel = is_kernel_address(step.identity, step.pointer);
    Place::of_kernel_page(step.page_use, step.pfn, step.identity, is_kernel)
}
