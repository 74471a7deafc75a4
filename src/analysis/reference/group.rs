//! The processes of one id, one life after the other: their pages by the corrected rules, the id's pages by WPA's, and
//! the address-space events of the id.
//!
//! Events are applied when the account comes to their moment, frees and unmapped views release pages then. Rundown
//! records at the end describe what is known already.

use crate::analysis::reference::account::{Account, Desk};
use crate::analysis::reference::bucket::Scene;
use crate::analysis::reference::ledger::{Ledger, add};
use crate::analysis::reference::reason::ReleaseReason;
use crate::analysis::reference::step::{Step, free_reason};
use crate::analysis::reference::wpa_rules::WpaPages;
use crate::event::Phase;
use crate::load::facts::SpaceEvent;
use crate::load::space_events::SpaceEvents;
use crate::model::live_space::LiveSpace;
use crate::model::process_timeline::ProcessLifetime;
use crate::model::working_set_owner::Owner;
use crate::moment::{At, Moment};

/// The process that lives now.
#[derive(Debug)]
struct Current {
    account: Account,
    space: LiveSpace,
}

/// All processes of one id.
#[derive(Debug, Default)]
pub struct Group<'h> {
    /// The id.
    pub process_id: u32,
    events: &'h [At<SpaceEvent>],
    /// First event that has not been applied.
    next: usize,
    lives: &'h [ProcessLifetime],
    /// First life that has not ended.
    life: usize,
    current: Option<Current>,
    wpa: WpaPages,
}

impl<'h> Group<'h> {
    /// The id as it is just before `moment`.
    pub fn new(scene: &Scene<'h>, process_id: u32, moment: Moment) -> Group<'h> {
        let events: &[At<SpaceEvent>] = scene.history.spaces.get(&process_id).map_or(&[], SpaceEvents::kept);
        let lives = scene.directory.lives(process_id);
        Group {
            process_id,
            events,
            next: events.partition_point(|event| event.moment < moment),
            lives,
            life: lives.partition_point(|life| life.end < moment),
            current: None,
            wpa: WpaPages::default(),
        }
    }

    /// Applies events and ends of lives up to and with `moment`.
    #[inline]
    pub fn advance(&mut self, scene: &Scene<'h>, ledger: &mut Ledger, moment: Moment) {
        loop {
            let event = self.events.get(self.next).filter(|event| event.moment <= moment);
            let life = self.lives.get(self.life).filter(|life| life.end <= moment);
            match (event, life) {
                (None, None) => return,
                (Some(event), None) => self.apply(scene, ledger, event),
                (Some(event), Some(life)) if event.moment <= life.end => self.apply(scene, ledger, event),
                (_, Some(life)) => self.end(scene, ledger, life),
            }
        }
    }

    fn end(&mut self, scene: &Scene<'h>, ledger: &mut Ledger, life: &ProcessLifetime) {
        self.life += 1;
        let reason = if life.end_logged { ReleaseReason::ProcessEnd } else { ReleaseReason::NotLogged };
        if life.end_logged {
            self.wpa = WpaPages::default();
        }
        if let Some(mut current) = self.current.take() {
            current.account.leave_all(&mut Desk { plan: scene.plan, ledger }, life.end, reason);
        }
    }

    fn apply(&mut self, scene: &Scene<'h>, ledger: &mut Ledger, event: &At<SpaceEvent>) {
        self.next += 1;
        if scene.rundowns.rundown_phase(event) == Some(Phase::DcEnd) {
            return;
        }
        let space = self.current.as_ref().map(|current| &current.space);
        let released = match event.value {
            SpaceEvent::Region { phase: Phase::End, base, size, flags } => {
                let range = match size {
                    // Size 0 means the whole reservation.
                    0 => space.and_then(|space| space.region(base)).unwrap_or((base, base)),
                    _ => (base, base.saturating_add(size)),
                };
                let reason = free_reason(flags);
                if reason.is_some() {
                    self.wpa.free(range.0, range.1);
                }
                reason.map(|reason| (range, reason))
            }
            SpaceEvent::View { phase: Phase::End, base, size, .. } => {
                let known = space.and_then(|space| space.view(base)).map_or(0, |view| view.1);
                Some(((base, base.saturating_add(size).max(known)), ReleaseReason::UnmapFile))
            }
            SpaceEvent::Thread { phase: Phase::End, stack_base, stack_limit, .. } => {
                self.wpa.free(stack_limit, stack_base);
                None
            }
            _ => None,
        };
        if let Some(current) = &mut self.current {
            if let Some((range, reason)) = released {
                current.account.leave_range(&mut Desk { plan: scene.plan, ledger }, event.moment, range, reason);
            }
            current.space.apply(event.moment, &event.value);
        }
    }

    /// The corrected part of a step; the group has been advanced to its moment.
    #[inline]
    pub fn follow(&mut self, scene: &Scene<'h>, ledger: &mut Ledger, step: &Step) {
        if self.current.as_ref().is_none_or(|current| current.account.owner != step.owner) {
            self.begin(scene, ledger, step);
        }
        let Some(Current { account, space }) = &mut self.current else { return };
        account.follow(&mut Desk { plan: scene.plan, ledger }, step, |address| space.layer(address));
    }

    /// Another process has the id now. Its space is that behind the events which were applied.
    fn begin(&mut self, scene: &Scene<'h>, ledger: &mut Ledger, step: &Step) {
        if let Some(mut before) = self.current.take() {
            before.account.leave_all(&mut Desk { plan: scene.plan, ledger }, step.moment, ReleaseReason::NotLogged);
        }
        let behind = Moment { order: step.moment.order.saturating_add(1), ..step.moment };
        let space = match step.owner.owner() {
            Owner::Process(instance) => (scene.directory.processes.instances.get(instance as usize))
                .map(|instance| LiveSpace::at(self.events, instance, behind, scene.rundowns)),
            _ => None,
        };
        self.current = Some(Current { account: Account::new(step.owner), space: space.unwrap_or_default() });
    }

    /// WPA's part of a step: counts an access of a page that it takes to be held.
    #[inline]
    pub fn follow_wpa(&mut self, scene: &Scene<'h>, ledger: &mut Ledger, step: &Step) {
        if self.wpa.follow(step, scene.needs) && scene.plan.window.holds(step.moment) {
            add(&mut ledger.wpa_reaccesses, step.reason as usize, 1);
        }
    }

    /// A pagefile-backed section is deleted.
    pub fn delete_section_wpa(&mut self, low: u64, high: u64) {
        self.wpa.delete_section(low, high);
    }

    /// WPA's account begins anew.
    pub fn reset_wpa(&mut self) {
        self.wpa = WpaPages::default();
    }

    /// The account of the process that lives now.
    pub fn account(&self) -> Option<&Account> {
        self.current.as_ref().map(|current| &current.account)
    }

    /// The same, to change it.
    pub fn account_mut(&mut self) -> Option<&mut Account> {
        self.current.as_mut().map(|current| &mut current.account)
    }
}
