//! Joins stacks and parts of stacks with their events.
//!
//! Sources: `docs/stacks.md` ("Joining"). Records name their event by its time stamp; of several events with that stamp the thread, the
//! processor and the order decide. The user part of a stay in the kernel belongs to all events of that stay.

use crate::etl::record_id::RecordId;
use crate::event::clr;
use crate::load::stacks::first_walk::Parts;
use crate::load::stacks::frame_trie::PathId;
use crate::load::stacks::kernel_or_user::Half;
use crate::load::stacks::stack_events::{Class, Events};
use crate::load::stacks::stack_records::{Carrier, Part, StackOwner};
use crate::moment::{At, Moment};
use crate::units::{Ticks, counted};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::ops::Range;

/// Events before and after the stack's record that are looked at. More of one stamp are not in a trace that Windows wrote.
const MOST_CANDIDATES: usize = 4096;

/// A part of an event's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot(u32);

impl Slot {
    /// One by a key that nothing defines.
    const UNRESOLVED: Slot = Slot(u32::MAX);

    fn of(list: PathId) -> Slot {
        Slot(list.get())
    }

    fn is_empty(self) -> bool {
        self == Slot::default()
    }

    /// The frames.
    pub fn list(self) -> Option<PathId> {
        PathId::of(self.0).filter(|_| self != Slot::UNRESOLVED)
    }
}

/// The stack of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attached {
    /// Kernel part, or the whole stack.
    pub kernel: Slot,
    /// User part.
    pub user: Slot,
    process_id: u32,
    has_process: bool,
    /// True when `kernel` holds the user frames too.
    is_whole: bool,
}

const _: () = assert!(size_of::<Attached>() == 16);

impl Attached {
    /// Of lists that are known.
    #[cfg(test)]
    pub fn of_lists(process_id: u32, kernel: Option<PathId>, user: Option<PathId>) -> Attached {
        let slot = |list: Option<PathId>| list.map(Slot::of).unwrap_or_default();
        Attached { kernel: slot(kernel), user: slot(user), process_id, has_process: true, is_whole: false }
    }

    /// Process of the stack.
    pub fn process_id(&self) -> Option<u32> {
        self.has_process.then_some(self.process_id)
    }

    fn has(&self, half: Half) -> bool {
        match half {
            Half::Kernel => !self.kernel.is_empty(),
            Half::User => !self.user.is_empty() || self.is_whole,
            Half::Whole => !self.kernel.is_empty() || !self.user.is_empty(),
        }
    }

    fn put(&mut self, half: Half, slot: Slot, owner: StackOwner) {
        *(if half == Half::User { &mut self.user } else { &mut self.kernel }) = slot;
        self.is_whole |= half == Half::Whole;
        if let Some(id) = owner.process_id.filter(|_| !self.has_process) {
            (self.process_id, self.has_process) = (id, true);
        }
    }

    /// True when it has frames.
    pub fn has_stack(&self) -> bool {
        self.has_kernel_frames() || self.has_user_frames()
    }

    /// True when it has frames of the kernel.
    pub fn has_kernel_frames(&self) -> bool {
        self.kernel.list().is_some()
    }

    /// True when it has frames of user mode.
    pub fn has_user_frames(&self) -> bool {
        self.user.list().is_some() || (self.is_whole && self.kernel.list().is_some())
    }

    /// True when the frames of user mode are missing.
    pub fn is_incomplete(&self) -> bool {
        self.has_kernel_frames() && !self.has_user_frames() && !is_kernel_process(self.process_id())
    }
}

fn is_kernel_process(process_id: Option<u32>) -> bool {
    matches!(process_id, Some(0 | 4))
}

/// What could not be joined, and what was joined by way of another event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JoinCounts {
    /// Records without an event.
    pub unmatched: u64,
    /// Records whose event has that part already.
    pub duplicates: u64,
    /// Keys that nothing defines.
    pub unresolved_keys: u64,
    /// User parts that an event got from another one's record.
    pub completed_by_others: u64,
    /// Events whose user part did not come.
    pub lost_user_parts: u64,
}

impl JoinCounts {
    /// What of the stacks is not known; nothing where all is.
    pub(crate) fn unknown_counts(&self) -> Option<String> {
        let kinds = [
            (self.lost_user_parts, "user part", "user parts"),
            (self.unmatched, "event of a stack", "events of stacks"),
            (self.unresolved_keys, "key", "keys"),
        ];
        let counts: Vec<String> = kinds
            .into_iter()
            .filter(|(number, ..)| *number > 0)
            .map(|(number, one, many)| counted(number, one, many))
            .collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

/// The stacks of events, in the order of the events.
pub struct Joined {
    /// One for each event.
    pub stacks: Vec<Attached>,
    /// What went wrong.
    pub counts: JoinCounts,
}

/// Joins all parts with events.
pub fn join(parts: &Parts, events: &mut Events) -> Joined {
    // New memory is slow the first time: several threads fill it.
    let stacks = rayon::iter::repeat_n(Attached::default(), events.events.len()).collect();
    let of_runtime =
        |class: &Class| class.may_have_stack && matches!(class.kind, RecordId::Manifest { provider: clr::CLR, .. });
    let is_runtime = events.classes().iter().map(of_runtime).collect();
    let mut joining = Joining {
        parts,
        events,
        is_runtime,
        stacks,
        waiting: FastMap::default(),
        of_runtime: FastMap::default(),
        seen: 0,
        near: 0,
        counts: JoinCounts::default(),
    };
    parts.parts.all().iter().for_each(|part| joining.part(part));
    let left: Vec<u32> = std::mem::take(&mut joining.waiting).into_values().flatten().collect();
    joining.lose(&left);
    Joined { stacks: joining.stacks, counts: joining.counts }
}

/// When, for whom and where a part was logged.
struct Record {
    moment: Moment,
    owner: StackOwner,
    processor: u16,
}

struct Joining<'a> {
    parts: &'a Parts,
    events: &'a mut Events,
    is_runtime: Vec<bool>,
    stacks: Vec<Attached>,
    /// Events that wait for their user part, by thread.
    waiting: FastMap<u32, Vec<u32>>,
    /// Last event of the runtime, by thread.
    of_runtime: FastMap<u32, u32>,
    /// Events before the current part.
    seen: usize,
    /// Where the event of the last part was looked for.
    near: usize,
    counts: JoinCounts,
}

impl Joining<'_> {
    fn part(&mut self, part: &At<Part>) {
        let at = &Record {
            moment: part.moment,
            owner: self.parts.parts.owner(&part.value),
            processor: part.value.processor,
        };
        match self.parts.parts.carrier(part) {
            Carrier::Walk(time, half, list) => self.record(at, time, half, Slot::of(list)),
            Carrier::Reference(time, half, key) => {
                let found = self.definition(key, half, at.moment.time);
                self.counts.unresolved_keys += u64::from(found.is_none());
                self.record(at, time, half, found.map_or(Slot::UNRESOLVED, |(_, id)| Slot::of(id)));
            }
            Carrier::Item(half, list) => self.item(at, half, Slot::of(list)),
            Carrier::ItemKey(key) => {
                let Some(event) = self.own(at.moment) else { return self.counts.unmatched += 1 };
                let has = |half| self.stacks.get(event).is_some_and(|stack| stack.has(half));
                let found = [Half::Kernel, Half::User]
                    .into_iter()
                    .filter(|half| !has(*half))
                    .filter_map(|half| Some((self.definition(key, half, at.moment.time)?, half)))
                    .min_by_key(|((moment, _), _)| *moment);
                match found {
                    Some(((_, id), half)) => self.item(at, half, Slot::of(id)),
                    None => self.counts.unresolved_keys += 1,
                }
            }
            Carrier::Deferred(list) => {
                for event in self.take_waiting(at.owner) {
                    self.counts.completed_by_others += u64::from(self.complete(event, Slot::of(list), at.owner));
                }
            }
            Carrier::Clr(list) => self.runtime(at, list),
            Carrier::ThreadChanged => {
                let left = self.take_waiting(at.owner);
                self.lose(&left);
            }
        }
    }

    /// The first definition from this time on.
    fn definition(&self, key: u64, half: Half, from: Ticks) -> Option<(Moment, PathId)> {
        let all = self.parts.definitions.get(&(key, half))?;
        all.get(all.partition_point(|(moment, _)| moment.time < from)).copied()
    }

    /// The event that was logged at this moment.
    fn own(&self, moment: Moment) -> Option<usize> {
        let at = self.events.events.partition_point(|event| event.moment < moment);
        self.events.events.get(at).filter(|event| event.moment == moment).map(|_| at)
    }

    /// A stack, or a part, of the event with this stamp.
    fn record(&mut self, at: &Record, time: Ticks, half: Half, slot: Slot) {
        let event = match self.find(at, time, half) {
            Found::Event(event) => Some(event),
            Found::HaveIt => return self.counts.duplicates += 1,
            Found::None => {
                self.counts.unmatched += 1;
                None
            }
        };
        if half == Half::User {
            self.user_part(event, time, slot, at.owner);
        } else if let Some(event) = event {
            self.attach(event, half, slot, at.owner);
        }
    }

    fn attach(&mut self, event: usize, half: Half, slot: Slot, owner: StackOwner) {
        let Some(stack) = self.stacks.get_mut(event) else { return };
        stack.put(half, slot, owner);
        if let Some(found) = self.events.events.get_mut(event) {
            found.value.take_thread(owner.thread_id);
        }
        let waits =
            half == Half::Kernel && !is_kernel_process(owner.process_id) && stack.user.is_empty() && !stack.is_whole;
        if waits && let Some(thread) = owner.thread_id {
            self.waiting.entry(thread).or_default().push(event as u32);
        }
    }

    /// The events of a thread that wait; they do so no longer.
    fn take_waiting(&mut self, owner: StackOwner) -> Vec<u32> {
        owner.thread_id.and_then(|thread| self.waiting.remove(&thread)).unwrap_or_default()
    }

    /// Gives an event its user part; false when it has one already, which it keeps.
    fn complete(&mut self, event: u32, slot: Slot, owner: StackOwner) -> bool {
        let stack = self.stacks.get_mut(event as usize).filter(|stack| !stack.has(Half::User));
        stack.map(|stack| stack.put(Half::User, slot, owner)).is_some()
    }

    /// Events whose user part will not come; one that came with the event itself is not lost.
    fn lose(&mut self, waiting: &[u32]) {
        let lacks = |event: &&u32| self.stacks.get(**event as usize).is_some_and(|stack| !stack.has(Half::User));
        self.counts.lost_user_parts += waiting.iter().filter(lacks).count() as u64;
    }

    /// All that wait since the event or later get it; those that wait longer had left the kernel in between.
    fn user_part(&mut self, event: Option<usize>, time: Ticks, slot: Slot, owner: StackOwner) {
        for waiting in self.take_waiting(owner) {
            let is_later = self.events.events.get(waiting as usize).is_some_and(|event| event.moment.time >= time);
            if !is_later {
                self.lose(&[waiting]);
            } else if self.complete(waiting, slot, owner) {
                self.counts.completed_by_others += u64::from(Some(waiting as usize) != event);
            }
        }
        if let Some(event) = event.filter(|event| self.stacks.get(*event).is_some_and(|stack| !stack.has(Half::User))) {
            self.attach(event, Half::User, slot, owner);
        }
    }

    /// A stack that came with its event.
    fn item(&mut self, at: &Record, half: Half, slot: Slot) {
        let Some(event) = self.own(at.moment) else { return self.counts.unmatched += 1 };
        match self.stacks.get(event) {
            Some(stack) if stack.has(half) => self.counts.duplicates += 1,
            _ => self.attach(event, half, slot, at.owner),
        }
    }

    fn runtime(&mut self, at: &Record, list: PathId) {
        while let Some(event) = self.events.events.get(self.seen).filter(|event| event.moment < at.moment) {
            let is_runtime = self.is_runtime.get(Events::class_number(&event.value)).copied().unwrap_or(false);
            if let Some(thread) = event.value.thread_id().filter(|_| is_runtime) {
                self.of_runtime.insert(thread, self.seen as u32);
            }
            self.seen += 1;
        }
        let event = at.owner.thread_id.and_then(|thread| self.of_runtime.get(&thread)).copied();
        let Some(event) = event else { return self.counts.unmatched += 1 };
        match self.stacks.get(event as usize) {
            Some(stack) if stack.has(Half::Whole) => self.counts.duplicates += 1,
            _ => self.attach(event as usize, Half::User, Slot::of(list), at.owner),
        }
    }

    /// The event of a stamp to which this part belongs.
    fn find(&mut self, at: &Record, time: Ticks, half: Half) -> Found {
        let Range { start: first, end: last } = self.events.at_time(time, &mut self.near);
        let events = &self.events.events;
        let middle =
            first + events.get(first..last).unwrap_or_default().partition_point(|event| event.moment < at.moment);
        let before = (middle.saturating_sub(MOST_CANDIDATES).max(first)..middle).rev();
        let after = middle..last.min(middle.saturating_add(MOST_CANDIDATES));
        let mut best: Option<(u8, usize)> = None;
        let mut have_it = false;
        for index in before.chain(after) {
            let Some(event) = events.get(index).map(|event| &event.value) else { continue };
            let Some(class) = self.events.class(event).filter(|class| class.may_have_stack) else { continue };
            let processor = class.processor == at.processor;
            let rank = match event.thread_id() {
                Some(thread) if Some(thread) != at.owner.thread_id => continue,
                Some(_) if processor => 1,
                Some(_) => 2,
                None if processor => 3,
                None => 4,
            };
            if self.stacks.get(index).is_none_or(|stack| stack.has(half)) {
                have_it = true;
            } else if best.is_none_or(|(so_far, _)| rank < so_far) {
                best = Some((rank, index));
                if rank == 1 {
                    break; // none is better
                }
            }
        }
        match best {
            Some((_, event)) => Found::Event(event),
            None if have_it => Found::HaveIt,
            None => Found::None,
        }
    }
}

enum Found {
    Event(usize),
    /// There are some, but all have that part.
    HaveIt,
    None,
}
