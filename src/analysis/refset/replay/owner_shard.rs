//! One shard of owners, replayed in time order: processes by their ids, sessions and the system.
//!
//! By the corrected rules owners do not depend on each other, except in events that concern all of them. So shards are
//! replayed in parallel. Address-space events come from the history, where the model keeps them; page events come as
//! updates.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::pages::held_page::{HeldPage, PageLocation};
use crate::analysis::refset::reason::ReleaseReason;
use crate::analysis::refset::replay::owner_attribution::process_id;
use crate::analysis::refset::replay::process_replay::ProcessReplay;
use crate::analysis::refset::replay::update::{Update, UpdateKind};
use crate::analysis::refset::replay::update_queue::OrderedUpdates;
use crate::analysis::refset::replay::working_set::WorkingSet;
use crate::analysis::refset::totals::shard_totals::Recorder;
use crate::event::page_identity::PageUse;
use crate::model::address_space::Layer;
use crate::model::working_set_owner::OwnerId;
use crate::moment::Moment;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// Pages that can be read in order in the time in which one is read out of order.
const PAGES_PER_UPDATE: usize = 8;

/// Something that happens to all owners at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GlobalEvent {
    /// The working sets have been emptied: the replay begins anew.
    Reset,
    /// A pagefile-backed section with prototype PTEs in this range is deleted.
    SectionDelete(u64, u64),
    /// The window ends.
    Stop,
}

/// A shard of owners.
#[derive(Debug, Default)]
pub struct Shard<'h, S = ()> {
    processes: Vec<ProcessReplay<'h, S>>,
    /// Index of an id's processes.
    by_id: FastMap<u32, usize>,
    /// The owner that was asked for last, and the index of its processes: successive updates often have one owner.
    latest: Option<(OwnerId, usize)>,
    /// The system, sessions, keys that name no process.
    others: FastMap<OwnerId, WorkingSet<S>>,
    /// Pages of pagefile-backed sections: prototype PTE, owner and place; index of the owner's processes.
    section_pages: BTreeMap<(u64, OwnerId, PageLocation), usize>,
}

impl<'h, S: AccessStack> Shard<'h, S> {
    /// Replays updates up to `until`, with the global events of that time.
    pub fn replay(
        &mut self,
        recorder: &mut Recorder<'_, 'h, S>,
        mut updates: OrderedUpdates<'_, S>,
        events: &[(Moment, GlobalEvent)],
        until: Moment,
    ) {
        self.load(updates.len());
        for &(moment, event) in events {
            let (now, later) = updates.split(moment);
            now.iter().for_each(|update| self.apply(recorder, update));
            updates = later;
            self.advance(recorder, moment);
            self.global_event(recorder, moment, event);
        }
        updates.iter().for_each(|update| self.apply(recorder, update));
        self.advance(recorder, until);
    }

    /// Loads the processes' pages into the cache before so many updates. After a slice of other shards they are no longer
    /// there, and updates in their order wait for one page after the other.
    fn load(&self, updates: usize) {
        let held: usize = self.processes.iter().filter_map(ProcessReplay::working_set).map(|set| set.pages.len()).sum();
        if held <= updates * PAGES_PER_UPDATE {
            self.processes.iter().for_each(ProcessReplay::load);
        }
    }

    #[inline]
    fn apply(&mut self, recorder: &mut Recorder<'_, 'h, S>, update: &Update<S>) {
        let index = match self.latest {
            Some((owner, index)) if owner == update.owner => index,
            _ => self.find(recorder, update),
        };
        match self.processes.get_mut(index) {
            Some(process) => {
                process.advance(recorder, update.moment);
                process.apply(recorder, update);
            }
            None => {
                let set = self.others.entry(update.owner).or_insert_with(|| WorkingSet::new(update.owner));
                set.apply(recorder, update.kind(), update, |_| (Layer::None, 0));
            }
        }
        // Where sections are deleted, their pages are remembered.
        if recorder.context.optional_events.sections
            && update.is_corrected()
            && update.kind() == UpdateKind::Shareable
            && update.page.page_use() == PageUse::PageFileMapped
        {
            let page = (update.identity & !1, update.owner, PageLocation::address(update.address()));
            self.section_pages.insert(page, index);
        }
    }

    /// Finds the processes of an owner; an index that is none stands for owners that are no process.
    fn find(&mut self, recorder: &Recorder<'_, 'h, S>, update: &Update<S>) -> usize {
        let index = match process_id(update.owner, recorder.context.lifetimes) {
            Some(id) => *self.by_id.entry(id).or_insert_with(|| {
                self.processes.push(ProcessReplay::new(recorder.context, id, update.moment));
                self.processes.len() - 1
            }),
            None => usize::MAX,
        };
        self.latest = Some((update.owner, index));
        index
    }

    /// Applies the events of every process up to a moment: frees, unmapped views, ends.
    fn advance(&mut self, recorder: &mut Recorder<'_, 'h, S>, moment: Moment) {
        self.processes.iter_mut().for_each(|process| process.advance(recorder, moment));
    }

    /// All working sets.
    pub fn working_sets(&self) -> impl Iterator<Item = &WorkingSet<S>> {
        self.processes.iter().filter_map(ProcessReplay::working_set).chain(self.others.values())
    }

    fn global_event(&mut self, recorder: &mut Recorder<'_, 'h, S>, moment: Moment, event: GlobalEvent) {
        match event {
            GlobalEvent::Reset => {
                let processes = self.processes.iter_mut().filter_map(ProcessReplay::working_set_mut);
                processes.chain(self.others.values_mut()).for_each(|set| set.forget(recorder, moment));
                self.processes.iter_mut().for_each(|process| process.wpa = Default::default());
                self.section_pages.clear();
            }
            GlobalEvent::Stop => self.working_sets().for_each(|set| set.stop(recorder)),
            GlobalEvent::SectionDelete(low, high) => {
                self.processes.iter_mut().for_each(|process| process.wpa.delete_section(low, high));
                if low < high {
                    self.delete_section(recorder, moment, low, high);
                }
            }
        }
    }

    /// Pages of pagefile-backed sections with prototype PTEs at `[low, high)` are released.
    fn delete_section(&mut self, recorder: &mut Recorder<'_, 'h, S>, moment: Moment, low: u64, high: u64) {
        let at = |prototype_pte: u64| (prototype_pte, OwnerId::SYSTEM, PageLocation::address(0));
        let gone: Vec<_> = self.section_pages.range(at(low)..at(high)).map(|(&page, &index)| (page, index)).collect();
        for (page, index) in gone {
            self.section_pages.remove(&page);
            let (prototype_pte, owner, place) = page;
            let set = match self.processes.get_mut(index) {
                Some(process) => process.working_set_mut().filter(|set| set.owner == owner),
                None => self.others.get_mut(&owner),
            };
            let is_it = |held: &HeldPage<S>| held.is_shareable() && held.identity & !1 == prototype_pte;
            if let Some(set) = set.filter(|set| set.pages.get(place).is_some_and(is_it)) {
                set.leave(recorder, moment, place, ReleaseReason::PageFileMappedSectionDelete);
            }
        }
    }
}
