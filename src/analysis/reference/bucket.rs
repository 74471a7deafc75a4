//! One bucket of owners, followed in time order: processes by their ids, sessions and the system.
//!
//! Nothing in the corrected rules reaches from one owner to another but what happens to all at once, so buckets are
//! followed in parallel. Address-space events come from the history, where the model keeps them; page events come as
//! steps.

use crate::analysis::reference::account::{Account, Desk};
use crate::analysis::reference::group::Group;
use crate::analysis::reference::held::{Held, Place};
use crate::analysis::reference::ledger::{Ledger, Plan};
use crate::analysis::reference::ordered::OrderedSteps;
use crate::analysis::reference::packed::PackedStep;
use crate::analysis::reference::reason::ReleaseReason;
use crate::analysis::reference::step::{CORRECTED, Kind, NO_PROCESS, Step, WPA};
use crate::analysis::reference::wpa_rules::WpaNeeds;
use crate::event::page::PageUse;
use crate::load::history::History;
use crate::model::process_timeline::ProcessTimeline;
use crate::model::rundown::Rundowns;
use crate::model::space::Layer;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use foldhash::HashMap as FastMap;
use std::collections::BTreeSet;

/// What all buckets share.
#[derive(Debug)]
pub struct Scene<'h> {
    /// All events of the trace but the page events.
    pub history: &'h History,
    /// Which of them are rundowns.
    pub rundowns: &'h Rundowns,
    /// Who is who.
    pub directory: &'h ProcessTimeline<'h>,
    /// What is written down.
    pub plan: &'h Plan<'h>,
    /// What WPA's rules need.
    pub needs: WpaNeeds,
}

/// Something that happens to all owners at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// The working sets have been emptied: the account begins anew.
    Reset,
    /// A pagefile-backed section with prototype PTEs in this range is deleted.
    SectionDelete(u64, u64),
    /// The window ends.
    Stop,
}

/// A bucket of owners.
#[derive(Debug, Default)]
pub struct Bucket<'h> {
    /// Processes by id.
    groups: Vec<Group<'h>>,
    /// Index of an id's group.
    by_id: FastMap<u32, usize>,
    /// Index of the group that was asked for last: steps of one process come in rows.
    latest: usize,
    /// The system, sessions, keys that name no process.
    others: FastMap<OwnerId, Account>,
    /// Prototype PTE, owner and place of pages of pagefile-backed sections.
    sections: BTreeSet<(u64, OwnerId, Place)>,
    /// What is written down.
    pub ledger: Ledger,
}

impl<'h> Bucket<'h> {
    /// Follows steps (in time order) up to `until`, with the turns of that time.
    pub fn follow(&mut self, scene: &Scene<'h>, steps: OrderedSteps<'_>, turns: &[(Moment, Turn)], until: Moment) {
        let mut rest = steps;
        for &(moment, turn) in turns {
            let (now, later) = rest.split(moment);
            now.iter().for_each(|step| self.step(scene, step));
            rest = later;
            self.advance(scene, moment);
            self.turn(scene, moment, turn);
        }
        rest.iter().for_each(|step| self.step(scene, step));
        self.advance(scene, until);
    }

    #[inline]
    fn step(&mut self, scene: &Scene<'h>, packed: &PackedStep) {
        let Some(id) = process_id(scene, packed.owner()) else {
            let step = &packed.unpack(NO_PROCESS);
            let account = self.others.entry(step.owner).or_insert_with(|| Account::new(step.owner));
            let desk = &mut Desk { plan: scene.plan, ledger: &mut self.ledger };
            account.follow(desk, step, |_| (Layer::None, 0));
            return self.note_section(scene, step);
        };
        let step = &packed.unpack(id);
        if self.groups.get(self.latest).is_none_or(|group| group.process_id != id) {
            self.latest = *self.by_id.entry(id).or_insert_with(|| {
                self.groups.push(Group::new(scene, id, step.moment));
                self.groups.len() - 1
            });
        }
        let Some(group) = self.groups.get_mut(self.latest) else { return };
        group.advance(scene, &mut self.ledger, step.moment);
        if step.rules & WPA != 0 {
            group.follow_wpa(scene, &mut self.ledger, step);
        }
        if step.rules & CORRECTED != 0 {
            group.follow(scene, &mut self.ledger, step);
            self.note_section(scene, step);
        }
    }

    /// Remembers pages of pagefile-backed sections, where sections are deleted.
    fn note_section(&mut self, scene: &Scene<'h>, step: &Step) {
        if scene.needs.sections && step.kind == Kind::Shareable && step.page_use == PageUse::PageFileMapped {
            self.sections.insert((step.identity & !1, step.owner, Place::address(step.address)));
        }
    }

    /// Brings every process up to a moment: frees, unmapped views, ends.
    fn advance(&mut self, scene: &Scene<'h>, moment: Moment) {
        for group in self.groups.iter_mut() {
            group.advance(scene, &mut self.ledger, moment);
        }
    }

    /// All accounts.
    pub fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.groups.iter().filter_map(Group::account).chain(self.others.values())
    }

    fn turn(&mut self, scene: &Scene<'h>, moment: Moment, turn: Turn) {
        let desk = &mut Desk { plan: scene.plan, ledger: &mut self.ledger };
        match turn {
            Turn::Reset => {
                let processes = self.groups.iter_mut().filter_map(Group::account_mut);
                processes.chain(self.others.values_mut()).for_each(|account| account.forget(desk, moment));
                self.groups.iter_mut().for_each(Group::reset_wpa);
                self.sections.clear();
            }
            Turn::Stop => {
                let processes = self.groups.iter().filter_map(Group::account);
                processes.chain(self.others.values()).for_each(|account| account.stop(desk));
            }
            Turn::SectionDelete(low, high) => {
                self.groups.iter_mut().for_each(|group| group.delete_section_wpa(low, high));
                let (first, behind) =
                    ((low, OwnerId::SYSTEM, Place::address(0)), (high, OwnerId::SYSTEM, Place::address(0)));
                let gone: Vec<_> =
                    if low < high { self.sections.range(first..behind).copied().collect() } else { Vec::new() };
                for (prototype, owner, place) in gone {
                    self.sections.remove(&(prototype, owner, place));
                    let account = match process_id(scene, owner) {
                        Some(id) => (self.by_id.get(&id).and_then(|&at| self.groups.get_mut(at)))
                            .and_then(Group::account_mut)
                            .filter(|account| account.owner == owner),
                        None => self.others.get_mut(&owner),
                    };
                    let is_it = |held: &Held| held.is_shareable() && held.identity & !1 == prototype;
                    if let Some(account) = account.filter(|account| account.pages.get(place).is_some_and(is_it)) {
                        account.leave(desk, moment, place, ReleaseReason::PageFileMappedSectionDelete);
                    }
                }
            }
        }
    }
}

/// The process id of an owner that is a process.
#[inline]
fn process_id(scene: &Scene<'_>, owner: OwnerId) -> Option<u32> {
    match owner.owner() {
        Owner::Process(instance) => Some(scene.directory.process_id(instance)),
        Owner::UnknownProcess(id) => Some(id),
        _ => None,
    }
}
