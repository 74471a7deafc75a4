//! Events that have, or may have, a stack: 32 bytes each.

use super::exponential_search::partition_point_near;
use super::interner::Numbered;
use super::sorted_groups::InGroups;
use crate::etl::record_id::RecordId;
use crate::load::allocation_rules::LeftOut;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use std::collections::BTreeSet;

/// Whose an event without a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The process of this thread.
    Thread(u32),
    /// This process, if known.
    Process(Option<u32>),
}

/// What is counted of an event of the chosen kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// Bytes, or number of profile intervals; 1 where events are counted.
    pub amount: u64,
    /// Whose it is when it has no stack.
    pub owner: Owner,
}

/// What many events have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Class {
    /// Their kind.
    pub kind: RecordId,
    /// Where they were logged.
    pub processor: u16,
    /// False for events that only were chosen, but can have no stack.
    pub may_have_stack: bool,
    /// Set for events of the chosen kind.
    owner: Option<OwnerKind>,
    /// True where the amount of an event is the number of its amount.
    is_large: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum OwnerKind {
    Thread,
    Process,
    NoProcess,
}

impl Class {
    /// True for events of the chosen kind.
    pub fn is_chosen(&self) -> bool {
        self.owner.is_some()
    }
}

/// No thread: the number by which record headers say it.
const NO_THREAD: u32 = u32::MAX;

/// An event that has, or may have, a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackEvent {
    class: u32,
    thread_id: u32,
    owner: u32,
    amount: u32,
}

const _: () = assert!(size_of::<At<StackEvent>>() == 32);

impl StackEvent {
    /// Its thread, by the payload or the header.
    #[inline]
    pub fn thread_id(&self) -> Option<u32> {
        (self.thread_id != NO_THREAD).then_some(self.thread_id)
    }

    /// The thread of its stack, for an event that tells none.
    pub fn take_thread(&mut self, thread_id: Option<u32>) {
        self.thread_id = self.thread_id().or(thread_id).unwrap_or(NO_THREAD);
    }
}

/// What the second walk collects, in record order.
#[derive(Debug, Default)]
pub struct Events {
    classes: Numbered<Class>,
    /// The number of the last one: most events of a buffer have the same.
    last_class: u32,
    /// Events, once they were sorted.
    pub events: Vec<At<StackEvent>>,
    unsorted: InGroups<StackEvent>,
    /// Amounts that take more than four bytes.
    large: Vec<u64>,
    /// Context switches: the thread that stopped, for their times of waiting, and the processor.
    pub stops: Vec<At<(u32, u16)>>,
    unsorted_stops: InGroups<(u32, u16)>,
    /// Processors on which threads stopped.
    switching: BTreeSet<u16>,
    last_switching: Option<u16>,
    /// Records of the chosen kind that allocate nothing, by the rule of `allocations`.
    pub left_out: LeftOut,
}

impl Events {
    /// Adds an event.
    pub fn push(
        &mut self,
        moment: Moment,
        (kind, processor, may_have_stack): (RecordId, u16, bool),
        thread_id: Option<u32>,
        chosen: Option<Chosen>,
    ) {
        let (owner_kind, owner) = match chosen.map(|chosen| chosen.owner) {
            None => (None, 0),
            Some(Owner::Thread(id)) => (Some(OwnerKind::Thread), id),
            Some(Owner::Process(Some(id))) => (Some(OwnerKind::Process), id),
            Some(Owner::Process(None)) => (Some(OwnerKind::NoProcess), 0),
        };
        let amount = chosen.map_or(0, |chosen| chosen.amount);
        let (is_large, amount) = u32::try_from(amount).map_or_else(
            |_| {
                self.large.push(amount);
                (true, self.large.len() as u32 - 1)
            },
            |amount| (false, amount),
        );
        let class = Class { kind, processor, may_have_stack, owner: owner_kind, is_large };
        if self.classes.get(self.last_class) != Some(&class) {
            self.last_class = self.classes.number(class);
        }
        let class = self.last_class;
        let value = StackEvent { class, thread_id: thread_id.unwrap_or(NO_THREAD), owner, amount };
        self.unsorted.push(At { moment, value });
    }

    /// A context switch: the thread that stopped, and where.
    pub fn push_stop(&mut self, moment: Moment, thread_id: u32, processor: u16) {
        self.unsorted_stops.push(At { moment, value: (thread_id, processor) });
        if self.last_switching.replace(processor) != Some(processor) {
            self.switching.insert(processor);
        }
    }

    /// True when a processor has a context switch, to any thread.
    pub fn has_switch_of(&self, processor: u32) -> bool {
        u16::try_from(processor).is_ok_and(|processor| self.switching.contains(&processor))
    }

    /// Ends those of buffers that follow each other; the first of these.
    pub fn end_group(&mut self, first_buffer: usize) {
        self.unsorted.end_group(first_buffer);
        self.unsorted_stops.end_group(first_buffer);
    }

    /// What an event has in common with others.
    #[inline]
    pub fn class(&self, event: &StackEvent) -> Option<&Class> {
        self.classes.get(event.class)
    }

    /// By number, what many events have in common.
    pub fn classes(&self) -> &[Class] {
        self.classes.things()
    }

    /// The number of what an event has in common with others.
    pub fn class_number(event: &StackEvent) -> usize {
        event.class as usize
    }

    /// What is counted of an event; `None` of one that is not of the chosen kind.
    pub fn chosen(&self, event: &StackEvent) -> Option<Chosen> {
        let class = self.class(event)?;
        let owner = match class.owner? {
            OwnerKind::Thread => Owner::Thread(event.owner),
            OwnerKind::Process => Owner::Process(Some(event.owner)),
            OwnerKind::NoProcess => Owner::Process(None),
        };
        let amount = match class.is_large {
            true => self.large.get(event.amount as usize).copied().unwrap_or_default(),
            false => event.amount.into(),
        };
        Some(Chosen { amount, owner })
    }

    /// True when there is an event of the chosen kind.
    pub fn has_chosen(&self) -> bool {
        self.classes().iter().any(Class::is_chosen)
    }

    /// The events with this stamp, as the range of their places; `near` is where the ones before were found.
    pub fn at_time(&self, time: Ticks, near: &mut usize) -> std::ops::Range<usize> {
        let first = partition_point_near(&self.events, *near, |event| event.moment.time < time);
        *near = first;
        first..partition_point_near(&self.events, first, |event| event.moment.time <= time)
    }

    /// Takes those of another one.
    pub fn take(&mut self, other: Events) {
        let classes: Vec<u32> =
            other.classes.into_things().into_iter().map(|class| self.classes.number(class)).collect();
        let large = self.large.len() as u32;
        self.large.extend(other.large);
        let all = &self.classes;
        let renumber = |now: &mut StackEvent| {
            now.class = classes.get(now.class as usize).copied().unwrap_or_default();
            if all.get(now.class).is_some_and(|class| class.is_large) {
                now.amount += large;
            }
        };
        self.unsorted.take(other.unsorted, renumber);
        self.unsorted_stops.take(other.unsorted_stops, |_| ());
        self.switching.extend(other.switching);
        self.left_out += other.left_out;
    }

    /// Puts them in record order.
    pub fn sort(&mut self) {
        self.events = std::mem::take(&mut self.unsorted).into_sorted();
        self.stops = std::mem::take(&mut self.unsorted_stops).into_sorted();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::hooks::{HEAP_ALLOC, SAMPLED_PROFILE};

    #[test]
    fn events_are_what_was_put_in() {
        let moment = |time: u64| Moment { time: Ticks(time as i64), order: time };
        let owners = [Owner::Thread(u32::MAX), Owner::Process(None), Owner::Process(Some(u32::MAX)), Owner::Thread(0)];
        let chosen: Vec<Option<Chosen>> = (owners.iter())
            .flat_map(|owner| {
                [1, u64::from(u32::MAX), u64::MAX, 1 << 40].map(|amount| Some(Chosen { amount, owner: *owner }))
            })
            .chain([None])
            .collect();
        let (mut all, mut other) = (Events::default(), Events::default());
        for (number, chosen) in (0u64..).zip(&chosen) {
            let to = if number % 3 == 0 { &mut other } else { &mut all };
            let kind = RecordId::Kernel(if number % 2 == 0 { HEAP_ALLOC } else { SAMPLED_PROFILE });
            let thread = (number % 5 > 0).then_some(number as u32);
            to.push(moment(100 - number), (kind, number as u16, number % 4 == 0), thread, *chosen);
        }
        all.take(other);
        all.sort();
        assert!(all.has_chosen());
        for (event, (number, chosen)) in all.events.iter().rev().zip((0u64..).zip(&chosen)) {
            let class = all.class(&event.value).unwrap();
            assert_eq!((event.moment, all.chosen(&event.value)), (moment(100 - number), *chosen));
            assert_eq!((class.processor, class.may_have_stack), (number as u16, number % 4 == 0));
            assert_eq!(event.value.thread_id(), (number % 5 > 0).then_some(number as u32));
            let mut near = 0;
            assert_eq!(all.at_time(event.moment.time, &mut near), near..near + 1);
        }
    }
}
