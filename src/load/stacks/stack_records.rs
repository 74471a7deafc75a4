//! Records that carry stacks or parts of them, 32 bytes each: there are as many as events with stacks.

use super::frame_trie::PathId;
use super::interner::Numbered;
use super::kernel_or_user::Half;
use super::sorted_groups::InGroups;
use crate::moment::{At, Moment};
use crate::units::Ticks;

/// A record that carries a stack, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// `0x1820`: of the event at this time.
    Walk(Ticks, Half, PathId),
    /// `0x1825`, `0x1826`: the same by key.
    Reference(Ticks, Half, u64),
    /// With the event itself.
    Item(Half, PathId),
    /// The same by key.
    ItemKey(u64),
    /// The user part of all events of the thread that wait for one.
    Deferred(PathId),
    /// Of the runtime's event before it.
    Clr(PathId),
    /// A thread of this id began or ended.
    ThreadChanged,
}

/// For whom it was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StackOwner {
    /// Process of the stack.
    pub process_id: Option<u32>,
    /// Thread of the stack.
    pub thread_id: Option<u32>,
}

/// A record that carries a stack, with numbers of what it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Ticks from its event to the record, or, where they are too many, the number of the event's time.
    since: u32,
    /// Number of its list or key.
    what: u32,
    /// Number of its owner.
    owner: u32,
    /// Processor of the record.
    pub processor: u16,
    kind: Kind,
    half: Half,
}

const _: () = assert!(size_of::<At<Part>>() == 32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Walk,
    /// A walk whose event is far away.
    FarWalk,
    Reference,
    FarReference,
    Item,
    ItemKey,
    Deferred,
    Clr,
    ThreadChanged,
}

/// Records that carry stacks.
#[derive(Debug, Default)]
pub struct PartList {
    /// In record order once they were sorted.
    parts: Vec<At<Part>>,
    unsorted: InGroups<Part>,
    keys: Numbered<u64>,
    owners: Numbered<StackOwner>,
    /// Owners that came last, by thread: most come again soon.
    recent_owners: Vec<Option<(StackOwner, u32)>>,
    far: Vec<Ticks>,
}

impl PartList {
    /// Adds one.
    pub fn push(&mut self, moment: Moment, carrier: Carrier, owner: StackOwner, processor: u16) {
        let (kind, half, what) = match carrier {
            Carrier::Walk(_, half, list) => (Kind::Walk, half, list.get()),
            Carrier::Reference(_, half, key) => (Kind::Reference, half, self.keys.number(key)),
            Carrier::Item(half, list) => (Kind::Item, half, list.get()),
            Carrier::ItemKey(key) => (Kind::ItemKey, Half::Whole, self.keys.number(key)),
            Carrier::Deferred(list) => (Kind::Deferred, Half::User, list.get()),
            Carrier::Clr(list) => (Kind::Clr, Half::User, list.get()),
            Carrier::ThreadChanged => (Kind::ThreadChanged, Half::Whole, 0),
        };
        let (kind, since) = match carrier {
            Carrier::Walk(time, ..) | Carrier::Reference(time, ..) => self.since(moment.time, time, kind),
            _ => (kind, 0),
        };
        let owner = self.owner_number(owner);
        self.unsorted.push(At { moment, value: Part { since, what, owner, processor, kind, half } });
    }

    #[inline]
    fn owner_number(&mut self, owner: StackOwner) -> u32 {
        const RECENT: usize = 256;
        let slot = (owner.thread_id.unwrap_or(0) >> 2) as usize % RECENT;
        if let Some(Some((of, number))) = self.recent_owners.get(slot)
            && *of == owner
        {
            return *number;
        }
        let number = self.owners.number(owner);
        self.recent_owners.resize(RECENT, None);
        self.recent_owners.get_mut(slot).into_iter().for_each(|slot| *slot = Some((owner, number)));
        number
    }

    fn since(&mut self, record: Ticks, event: Ticks, kind: Kind) -> (Kind, u32) {
        let near = record.0.checked_sub(event.0).and_then(|ticks| u32::try_from(ticks).ok());
        near.map_or_else(
            || {
                self.far.push(event);
                let kind = if kind == Kind::Walk { Kind::FarWalk } else { Kind::FarReference };
                (kind, self.far.len() as u32 - 1)
            },
            |ticks| (kind, ticks),
        )
    }

    /// What one carries.
    pub fn carrier(&self, part: &At<Part>) -> Carrier {
        let Part { what, half, kind, .. } = part.value;
        let list = || PathId::of(what).unwrap_or_default();
        let key = || self.keys.get(what).copied().unwrap_or_default();
        match kind {
            Kind::Walk | Kind::FarWalk => Carrier::Walk(self.time_of_event(part).unwrap_or_default(), half, list()),
            Kind::Reference | Kind::FarReference => {
                Carrier::Reference(self.time_of_event(part).unwrap_or_default(), half, key())
            }
            Kind::Item => Carrier::Item(half, list()),
            Kind::ItemKey => Carrier::ItemKey(key()),
            Kind::Deferred => Carrier::Deferred(list()),
            Kind::Clr => Carrier::Clr(list()),
            Kind::ThreadChanged => Carrier::ThreadChanged,
        }
    }

    /// The time of the event that it names; `None` of one that names none.
    pub fn time_of_event(&self, part: &At<Part>) -> Option<Ticks> {
        let since = part.value.since;
        match part.value.kind {
            Kind::Walk | Kind::Reference => Some(Ticks(part.moment.time.0.wrapping_sub(since.into()))),
            Kind::FarWalk | Kind::FarReference => self.far.get(since as usize).copied(),
            _ => None,
        }
    }

    /// Its process and thread.
    #[inline]
    pub fn owner(&self, part: &Part) -> StackOwner {
        self.owners.get(part.owner).copied().unwrap_or_default()
    }

    /// All of them.
    pub fn all(&self) -> &[At<Part>] {
        &self.parts
    }

    /// True when some are stacks of the runtime.
    pub fn has_clr_stacks(&self) -> bool {
        self.parts.iter().any(|part| part.value.kind == Kind::Clr)
    }

    /// Takes those of another one, whose lists of frames have these numbers now.
    pub fn take(&mut self, other: PartList, lists: &[PathId]) {
        let keys: Vec<u32> = other.keys.into_things().into_iter().map(|key| self.keys.number(key)).collect();
        let owners: Vec<u32> = other.owners.into_things().into_iter().map(|owner| self.owners.number(owner)).collect();
        let far = self.far.len() as u32;
        self.far.extend(other.far);
        let renumber = |now: &mut Part| {
            let number = |all: &[u32], number: u32| all.get(number as usize).copied().unwrap_or_default();
            now.owner = number(&owners, now.owner);
            now.what = match now.kind {
                Kind::Reference | Kind::FarReference | Kind::ItemKey => number(&keys, now.what),
                Kind::ThreadChanged => 0,
                _ => PathId::of(now.what).and_then(|list| lists.get(list.place())).map_or(now.what, |list| list.get()),
            };
            if matches!(now.kind, Kind::FarWalk | Kind::FarReference) {
                now.since += far;
            }
        };
        self.unsorted.take(other.unsorted, renumber);
    }

    /// Ends those of buffers that follow each other; the first of these.
    pub fn end_group(&mut self, first_buffer: usize) {
        self.unsorted.end_group(first_buffer);
    }

    /// Puts them in record order; those of one record stay in theirs.
    pub fn sort(&mut self) {
        self.parts = std::mem::take(&mut self.unsorted).into_sorted();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_was_put_in() {
        let moment = |time: i64| Moment { time: Ticks(time), order: time as u64 };
        let list = |number: u32| PathId::of(number).unwrap();
        let carriers = [
            Carrier::Walk(Ticks(7), Half::Kernel, list(1)),
            Carrier::Walk(Ticks(99), Half::User, list(2)),
            Carrier::Walk(Ticks(i64::MIN), Half::Whole, list(2)),
            Carrier::Reference(Ticks(9), Half::User, u64::MAX),
            Carrier::Reference(Ticks(i64::MAX), Half::Kernel, 5),
            Carrier::Item(Half::Whole, list(1)),
            Carrier::ItemKey(5),
            Carrier::Deferred(list(2)),
            Carrier::Clr(list(1)),
            Carrier::ThreadChanged,
        ];
        let owner = |n: u32| StackOwner { process_id: (n > 3).then_some(n), thread_id: (n != 5).then_some(n) };
        let (mut all, mut other) = (PartList::default(), PartList::default());
        for (number, carrier) in (0u32..).zip(carriers) {
            all.push(moment(10 + i64::from(number)), carrier, owner(number), number as u16);
            other.push(moment(30 - i64::from(number)), carrier, owner(20 - number), number as u16);
        }
        all.take(other, &[list(1), list(2)]);
        all.sort();
        let found: Vec<_> = all.all().iter().map(|part| (all.carrier(part), all.owner(&part.value))).collect();
        let numbers = 0..carriers.len() as u32;
        let first = numbers.clone().zip(carriers).map(|(number, carrier)| (carrier, owner(number)));
        let second = numbers.zip(carriers).map(|(number, carrier)| (carrier, owner(20 - number))).rev();
        assert_eq!(found, first.chain(second).collect::<Vec<_>>());
        assert!(all.has_clr_stacks());
    }
}
