//! Replays all processes that used one process id, one after the other: their working sets by the corrected rules, the
//! pages of the id by WPA's rules, and the address-space events of the id.
//!
//! Events are applied when the replay comes to their moment; frees and unmapped views release pages then. Rundown records
//! at the end describe what is known already.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::reason::ReleaseReason;
use crate::analysis::refset::replay::update::{Update, UpdateKind};
use crate::analysis::refset::replay::working_set::WorkingSet;
use crate::analysis::refset::replay::wpa_observer::WpaObserver;
use crate::analysis::refset::totals::balance::add;
use crate::analysis::refset::totals::shard_totals::Recorder;
use crate::event::Phase;
use crate::event::virtual_memory::VirtualRange;
use crate::load::owned_events::SpaceEvent;
use crate::model::live_space::LiveSpace;
use crate::model::process_timeline::ProcessLifetime;
use crate::model::working_set_owner::Owner;
use crate::moment::{At, Moment};

/// The process that has the id now.
#[derive(Debug)]
struct Current<S> {
    working_set: WorkingSet<S>,
    space: LiveSpace,
}

/// All processes of one id.
#[derive(Debug)]
pub struct ProcessReplay<'h, S = ()> {
    /// Address-space events that have not been applied.
    events: &'h [At<SpaceEvent>],
    /// All of them.
    all_events: &'h [At<SpaceEvent>],
    /// Lifetimes that have not ended.
    lives: &'h [ProcessLifetime],
    /// Moment of the first event or process end that has not been applied.
    due: Moment,
    current: Option<Current<S>>,
    /// What the id holds by WPA's rules.
    pub wpa: WpaObserver,
}

impl<'h, S: AccessStack> ProcessReplay<'h, S> {
    /// The id as it is just before `moment`.
    pub fn new(context: &ReplayContext<'h>, process_id: u32, moment: Moment) -> ProcessReplay<'h, S> {
        let all_events = context.spaces.of(process_id);
        let lives = context.lifetimes.lifetimes_of(process_id);
        let events = all_events.get(all_events.partition_point(|event| event.moment < moment)..).unwrap_or_default();
        let lives = lives.get(lives.partition_point(|life| life.end < moment)..).unwrap_or_default();
        let due = Moment::FIRST;
        ProcessReplay { events, all_events, lives, due, current: None, wpa: WpaObserver::default() }
    }

    /// Applies events and process ends up to and including `moment`.
    #[inline(always)]
    pub fn advance(&mut self, recorder: &mut Recorder<'_, 'h, S>, moment: Moment) {
        if self.due <= moment {
            self.catch_up(recorder, moment);
        }
    }

    #[cold]
    fn catch_up(&mut self, recorder: &mut Recorder<'_, 'h, S>, moment: Moment) {
        loop {
            let event = self.events.split_first();
            let life = self.lives.split_first();
            let event_at = event.map_or(Moment::LAST, |(event, _)| event.moment);
            let end_at = life.map_or(Moment::LAST, |(life, _)| life.end);
            self.due = event_at.min(end_at);
            match (event, life) {
                _ if self.due > moment => return,
                (Some((event, rest)), _) if event_at <= end_at => {
                    self.events = rest;
                    if recorder.context.rundowns.rundown_phase(event) != Some(Phase::DcEnd) {
                        self.apply_event(recorder, event);
                    }
                }
                (_, Some((life, rest))) => {
                    self.lives = rest;
                    self.end(recorder, life);
                }
                _ => return,
            }
        }
    }

    fn end(&mut self, recorder: &mut Recorder<'_, 'h, S>, life: &ProcessLifetime) {
        let reason = if life.end_logged { ReleaseReason::ProcessEnd } else { ReleaseReason::NotLogged };
        if life.end_logged {
            self.wpa = WpaObserver::default();
        }
        if let Some(current) = self.current.take() {
            current.working_set.leave_all(recorder, life.end, reason);
        }
    }

    fn apply_event(&mut self, recorder: &mut Recorder<'_, 'h, S>, event: &At<SpaceEvent>) {
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
                current.working_set.leave_range(recorder, event.moment, range, reason);
            }
            current.space.apply(event.moment, &event.value);
        }
    }

    /// Applies an update that comes next; the replay has been advanced to its moment.
    #[inline(always)]
    pub fn apply(&mut self, recorder: &mut Recorder<'_, 'h, S>, update: &Update<S>) {
        // One jump for both rule sets: which kind comes next cannot be foreseen.
        match update.kind() {
            UpdateKind::Private => self.apply_kind(recorder, UpdateKind::Private, update),
            UpdateKind::Shareable => self.apply_kind(recorder, UpdateKind::Shareable, update),
            UpdateKind::Remove => self.apply_kind(recorder, UpdateKind::Remove, update),
            UpdateKind::Release => self.apply_kind(recorder, UpdateKind::Release, update),
            kind => self.apply_rare(recorder, kind, update),
        }
    }

    #[inline(never)]
    fn apply_rare(&mut self, recorder: &mut Recorder<'_, 'h, S>, kind: UpdateKind, update: &Update<S>) {
        self.apply_kind(recorder, kind, update);
    }

    #[inline(always)]
    fn apply_kind(&mut self, recorder: &mut Recorder<'_, 'h, S>, kind: UpdateKind, update: &Update<S>) {
        let context = recorder.context;
        if update.is_wpa()
            && self.wpa.observe(kind, update, context.optional_events)
            && context.window.holds(update.moment)
        {
            add(&mut recorder.totals.balance.wpa_reaccesses, update.page.reason() as usize, 1);
        }
        if !update.is_corrected() {
            return;
        }
        if self.current.as_ref().is_none_or(|current| current.working_set.owner != update.owner) {
            self.begin(recorder, update);
        }
        let Some(Current { working_set, space }) = &mut self.current else { return };
        working_set.apply(recorder, kind, update, |address| space.layer(address));
    }

    /// Another process has the id now. Its space is that after the events which were applied.
    #[cold]
    fn begin(&mut self, recorder: &mut Recorder<'_, 'h, S>, update: &Update<S>) {
        if let Some(before) = self.current.take() {
            before.working_set.leave_all(recorder, update.moment, ReleaseReason::NotLogged);
        }
        let after = Moment { order: update.moment.order.saturating_add(1), ..update.moment };
        let space = match update.owner.owner() {
            Owner::Process(instance) => (recorder.context.lifetimes.processes.instances.get(instance as usize))
                .map(|instance| LiveSpace::at(self.all_events, instance, after, recorder.context.rundowns)),
            _ => None,
        };
        let working_set = WorkingSet::new(update.owner);
        self.current = Some(Current { working_set, space: space.unwrap_or_default() });
    }

    /// Reads what the id holds in the order of the memory, so that it is in the cache.
    pub fn load(&self) {
        self.working_set().into_iter().for_each(|set| set.pages.load());
        self.wpa.load();
    }

    /// The working set of the process that has the id now.
    pub fn working_set(&self) -> Option<&WorkingSet<S>> {
        self.current.as_ref().map(|current| &current.working_set)
    }

    /// The same, to change it.
    pub fn working_set_mut(&mut self) -> Option<&mut WorkingSet<S>> {
        self.current.as_mut().map(|current| &mut current.working_set)
    }
}

/// The reason of a free.
fn free_reason(flags: u32) -> Option<ReleaseReason> {
    if flags & VirtualRange::RELEASE != 0 {
        Some(ReleaseReason::VirtualAddressRangeEnd)
    } else if flags & VirtualRange::DECOMMIT != 0 {
        Some(ReleaseReason::VirtualAddressRangeDecommit)
    } else {
        None
    }
}
