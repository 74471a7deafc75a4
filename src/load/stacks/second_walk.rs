//! The second walk: events whose time stamps are named by stacks, events that carry stacks, and all events of one kind.

use super::exponential_search::partition_point_near;
use super::first_walk::{has_no_stack, hook_has_no_stack};
use super::stack_events::{Chosen, Events, Owner};
use super::stack_records::PartList;
use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::extended_items;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::{HookId, RecordId};
use crate::event::clr;
use crate::event::heap::HeapRecord;
use crate::event::hooks::*;
use crate::event::outcome::Parsed;
use crate::event::payload::hook_of;
use crate::event::perfinfo::ProfileSample;
use crate::event::pool::PoolAction;
use crate::event::stack::DISK_STARTS;
use crate::event::{Decoded, Event, Payload, Phase, decode};
use crate::load::allocation_rules::Verdict;
use crate::load::timed_records::for_each_moment;
use crate::moment::Moment;
use crate::units::Ticks;
use rayon::prelude::*;

/// A kind of event, as `--of` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventChoice {
    /// `0x0f2e`.
    Samples,
    /// `0x0524` to another thread than the idle one.
    ContextSwitches,
    /// `0x0532`.
    Ready,
    /// `0x0262` that commits, by the rule of `allocations`.
    VirtualAlloc,
    /// `0x0276`, `0x0282`.
    PageAccess,
    /// `0x0220`.
    HardFault,
    /// `0x010c`, `0x010d`, `0x010f`.
    Disk,
    /// `0x1021`, and `0x1022` in place.
    Heap,
    /// `0x0e20`, `0x0e21`.
    Pool,
    /// None: only events that have stacks are wanted, of all kinds.
    WithStacks,
    /// Any other kind.
    Other(RecordId),
}

impl EventChoice {
    /// Its kernel events; none of [`EventChoice::Other`].
    pub const fn hooks(&self) -> &'static [HookId] {
        match self {
            EventChoice::Samples => &[SAMPLED_PROFILE],
            EventChoice::ContextSwitches => &[CSWITCH],
            EventChoice::Ready => &[READY_THREAD],
            EventChoice::VirtualAlloc => &[VIRTUAL_ALLOC],
            EventChoice::PageAccess => &[PAGE_ACCESS, PAGE_ACCESS_EX],
            EventChoice::HardFault => &[HARD_FAULT],
            EventChoice::Disk => DISK_STARTS,
            EventChoice::Heap => &[HEAP_ALLOC, HEAP_REALLOC],
            EventChoice::Pool => &[POOL_ALLOC, SESSION_ALLOC],
            EventChoice::WithStacks | EventChoice::Other(_) => &[],
        }
    }

    /// The same of a kernel event.
    #[inline(always)]
    fn has_hook(&self, hook: HookId) -> bool {
        match self {
            EventChoice::Other(other) => *other == RecordId::Kernel(hook),
            named => named.hooks().contains(&hook),
        }
    }

    #[inline]
    fn has(&self, id: RecordId) -> bool {
        match (self, kind_of(id)) {
            // `GUID/ID` names an event by its id, or a classic one by its type.
            (EventChoice::Other(RecordId::Manifest { provider, id }), RecordId::Classic { class, opcode }) => {
                (*provider, *id) == (class, u16::from(opcode))
            }
            (EventChoice::Other(other), kind) => *other == kind,
            (_, RecordId::Kernel(hook)) => self.has_hook(hook),
            _ => false,
        }
    }
}

/// One id for both forms of a kernel event.
pub fn kind_of(id: RecordId) -> RecordId {
    hook_of(id).map_or(id, RecordId::Kernel)
}

impl Events {
    /// Walks over all records; `most_pool_bytes`: no allocation of pool is larger.
    pub fn new(etl: &EtlFile, parts: &PartList, choice: &EventChoice, most_pool_bytes: u64) -> Events {
        let mut stamps: Vec<Ticks> = parts.all().par_iter().filter_map(|part| parts.time_of_event(part)).collect();
        // Nearly in order already.
        stamps.par_sort();
        stamps.dedup();
        let has_clr_stacks = parts.has_clr_stacks();
        let rank = ranks(&etl.buffers);
        let readers = etl.fold_groups(
            || Reader { stamps: &stamps, place: 0, has_clr_stacks, choice, most_pool_bytes, events: Events::default() },
            |reader, area| {
                let processor = area.buffer.processor;
                for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
                    let is_other = hook.filter(|hook| !choice.has_hook(*hook));
                    if is_other.is_some_and(hook_has_no_stack) {
                        return;
                    }
                    let is_named = raw.time().is_some_and(|time| reader.is_named(time));
                    if let Some(hook) = is_other.filter(|hook| !THREAD_IN_PAYLOAD.contains(hook)) {
                        return reader.other(&raw, (hook, is_named), moment, processor);
                    }
                    if hook == Some(SAMPLED_PROFILE) && reader.sample(&raw, is_named, moment, processor) {
                        return;
                    }
                    let may_be = is_named || is_other.is_none();
                    if may_be && let Ok(record) = raw.read() {
                        reader.record(&record, is_named, moment, processor);
                    }
                });
            },
            |reader, first_buffer| reader.events.end_group(first_buffer),
        );
        let mut readers = readers.into_iter();
        let mut all = readers.next().map(|reader| reader.events).unwrap_or_default();
        readers.for_each(|reader| all.take(reader.events));
        all.sort();
        all
    }
}

/// Events of a thread that their payload says.
const THREAD_IN_PAYLOAD: &[HookId] = &[SAMPLED_PROFILE, CSWITCH, HARD_FAULT];

struct Reader<'r> {
    /// The stamps that stacks name, sorted, and where the last one was looked for: the records of a buffer are nearly in order.
    stamps: &'r [Ticks],
    place: usize,
    has_clr_stacks: bool,
    choice: &'r EventChoice,
    most_pool_bytes: u64,
    events: Events,
}

impl Reader<'_> {
    fn is_named(&mut self, time: Ticks) -> bool {
        self.place = partition_point_near(self.stamps, self.place, |stamp| *stamp < time);
        self.stamps.get(self.place) == Some(&time)
    }

    /// An event with a kernel header that is not chosen, and whose thread the header says, if anything does.
    #[inline]
    fn other(&mut self, raw: &RawRecord<'_>, (hook, is_named): (HookId, bool), moment: Moment, processor: u16) {
        if is_named && raw.kernel_payload().is_some() {
            let (thread_id, _) = raw.kernel_ids();
            self.events.push(moment, (RecordId::Kernel(hook), processor, true), thread_id, None);
        }
    }

    /// A sample with a kernel header, where samples are chosen; false when there is more to find out of it.
    #[inline]
    fn sample(&mut self, raw: &RawRecord<'_>, is_named: bool, moment: Moment, processor: u16) -> bool {
        let (hook, version, pointer) = (SAMPLED_PROFILE, raw.kernel_version(), raw.header.pointer());
        let payload = raw.kernel_payload().map(|bytes| Payload { hook, version, pointer, bytes });
        let sample =
            payload.filter(|_| *self.choice == EventChoice::Samples).map(|payload| ProfileSample::read(&payload));
        let Some(Ok(Parsed { value: sample, .. })) = sample else { return false };
        let chosen = Chosen { amount: sample.count.into(), owner: Owner::Thread(sample.thread_id) };
        let kind = RecordId::Kernel(SAMPLED_PROFILE);
        self.events.push(moment, (kind, processor, is_named), Some(sample.thread_id), Some(chosen));
        true
    }

    fn record(&mut self, record: &Record<'_>, is_named: bool, moment: Moment, processor: u16) {
        let id = kind_of(record.id);
        let is_of_runtime = self.has_clr_stacks && matches!(id, RecordId::Manifest { provider: clr::CLR, .. });
        let carries = !record.extended.is_empty() && extended_items::stacks(record.extended).next().is_some();
        let may_have_stack = (is_named || is_of_runtime || carries) && !has_no_stack(record);
        let is_chosen = self.choice.has(id);
        if !may_have_stack && !is_chosen {
            return;
        }
        // Of others the header says the thread.
        let tells = |hook| is_chosen || THREAD_IN_PAYLOAD.contains(&hook);
        let event = match id {
            RecordId::Kernel(hook) if tells(hook) => match decode(record) {
                Decoded::Event { event, .. } => Some(event),
                _ => None,
            },
            _ => None,
        };
        let chosen = if is_chosen { self.chosen(record, event.as_ref(), (moment, processor)) } else { None };
        if !may_have_stack && chosen.is_none() {
            return;
        }
        let thread_id = match event {
            Some(Event::ProfileSample(sample)) => Some(sample.thread_id),
            Some(Event::ContextSwitch(switch)) => Some(switch.new_thread_id),
            Some(Event::HardFault(fault)) => Some(fault.thread_id),
            _ => record.thread_id,
        };
        self.events.push(moment, (id, processor, may_have_stack), thread_id, chosen);
    }

    /// What is counted of an event of the chosen kind; `None` when it is none, or does not fit its layout.
    fn chosen(
        &mut self,
        record: &Record<'_>,
        event: Option<&Event<'_>>,
        (moment, processor): (Moment, u16),
    ) -> Option<Chosen> {
        let of_header = Owner::Process(record.process_id);
        let of_thread = |thread: u32| Owner::Thread(thread);
        let counted = |amount, owner| Some(Chosen { amount, owner });
        match (self.choice, event) {
            (EventChoice::Samples, Some(Event::ProfileSample(found))) => {
                counted(found.count.into(), of_thread(found.thread_id))
            }
            (EventChoice::ContextSwitches, Some(Event::ContextSwitch(found))) => {
                self.events.push_stop(moment, found.old_thread_id, processor);
                if found.new_thread_id == 0 { None } else { counted(0, of_thread(found.new_thread_id)) }
            }
            (EventChoice::VirtualAlloc, Some(Event::VirtualRange { phase: Phase::Start, range })) => {
                let verdict = Verdict::of_range(range, record.pointer);
                self.allocated(verdict, range.size_bytes, Owner::Process(Some(range.process_id)))
            }
            (EventChoice::HardFault, Some(Event::HardFault(found))) => {
                let verdict = Verdict::of_transfer(found.byte_count);
                self.allocated(verdict, found.byte_count.into(), of_thread(found.thread_id))
            }
            (EventChoice::Pool, Some(Event::Pool { action: PoolAction::Alloc, piece })) => {
                let verdict = Verdict::of_pool(piece.address, piece.size_bytes, self.most_pool_bytes);
                self.allocated(verdict, piece.size_bytes, of_header)
            }
            (EventChoice::Heap, _) => match HeapRecord::read(&Payload::of(record)?).ok()?.value {
                HeapRecord::Alloc(found) => {
                    self.allocated(Verdict::of_block(found.address, found.size_bytes), found.size_bytes, of_header)
                }
                // One that moves wrote an allocation too.
                HeapRecord::Realloc(found) if found.address == 0 || found.address == found.old_address => {
                    self.allocated(Verdict::of_block(found.address, found.size_bytes), found.size_bytes, of_header)
                }
                _ => None,
            },
            (EventChoice::Ready | EventChoice::PageAccess | EventChoice::Disk | EventChoice::Other(_), _) => {
                counted(1, event.and_then(owner_by_payload).unwrap_or(of_header))
            }
            _ => None,
        }
    }

    /// A record that counts, by the rule of `allocations` and `faults`; others are noted.
    fn allocated(&mut self, verdict: Verdict, amount: u64, owner: Owner) -> Option<Chosen> {
        self.events.left_out.note(verdict);
        (verdict == Verdict::Allocates).then_some(Chosen { amount, owner })
    }
}

/// Whose an event is by its payload, where that says it and the header need not.
pub fn owner_by_payload(event: &Event<'_>) -> Option<Owner> {
    match event {
        Event::ProfileSample(found) => Some(Owner::Thread(found.thread_id)),
        Event::ContextSwitch(found) => Some(Owner::Thread(found.new_thread_id)),
        Event::HardFault(found) => Some(Owner::Thread(found.thread_id)),
        Event::VirtualRange { range, .. } => Some(Owner::Process(Some(range.process_id))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_guid_and_a_number_name_classic_events_too() {
        let choice = EventChoice::Other(RecordId::Manifest { provider: Uuid::max(), id: 7 });
        assert!(choice.has(RecordId::Classic { class: Uuid::max(), opcode: 7 }));
        assert!(choice.has(RecordId::Manifest { provider: Uuid::max(), id: 7 }));
        assert!(!choice.has(RecordId::Classic { class: Uuid::max(), opcode: 8 }));
        assert!(!choice.has(RecordId::Classic { class: Uuid::nil(), opcode: 7 }));
    }
}
