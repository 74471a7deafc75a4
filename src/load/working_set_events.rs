//! Reads the events that change working sets, and a few others, from the buffers of a stretch of time.
//!
//! The hot path of the reference set. Records with kernel headers are recognized by their hook ids; all others are decoded
//! like any event.

use crate::etl::event_area::EventArea;
use crate::etl::record::RawRecord;
use crate::etl::record_id::HookId;
use crate::event::working_set_change::WorkingSetEvent;
use crate::event::{Decoded, Event, decode};
use crate::load::timed_records::for_each_moment;
use crate::moment::Moment;
use crate::units::{PointerSize, Ticks};

/// What the header of a record says.
#[derive(Debug, Clone, Copy)]
pub struct EventHeader {
    /// When it was logged.
    pub moment: Moment,
    /// Thread that logged it.
    pub thread_id: Option<u32>,
    /// Process of that thread.
    pub process_id: Option<u32>,
    /// Pointer size.
    pub pointer: PointerSize,
}

/// Receives the events.
pub trait EventVisitor {
    /// A working set changes.
    fn working_set_event(&mut self, event: WorkingSetEvent, header: EventHeader);

    /// Any other event of the ids that were asked for, or with a classic header.
    fn other_event(&mut self, event: &Event<'_>, header: EventHeader);
}

/// Which records are read.
#[derive(Debug, Clone, Copy)]
pub struct EventRange<'a> {
    /// First moment that is read.
    pub begin: Moment,
    /// First moment that is not.
    pub end: Moment,
    /// Rank of each buffer among records of equal time.
    pub rank: &'a [u32],
    /// Time of records that have none and come before all others.
    pub before_first: Ticks,
    /// Other ids that are read; they are rare.
    pub others: &'static [HookId],
}

impl EventRange<'_> {
    /// Reads one buffer.
    #[inline(always)]
    pub fn read(&self, area: &EventArea<'_>, visitor: &mut impl EventVisitor) {
        for_each_moment(area, self.rank, self.before_first, |raw, hook, moment| {
            if moment < self.begin || self.end <= moment {
                return;
            }
            match hook {
                Some(hook) if WorkingSetEvent::is(hook) => kernel_event(raw, hook, moment, visitor),
                Some(hook) if !self.others.contains(&hook) => {}
                _ => decoded(raw, moment, visitor),
            }
        });
    }
}

/// An event with a kernel header.
#[inline(always)]
fn kernel_event(raw: RawRecord<'_>, hook: HookId, moment: Moment, visitor: &mut impl EventVisitor) {
    let pointer = raw.header.pointer();
    let (thread_id, process_id) = raw.kernel_ids();
    let header = EventHeader { moment, thread_id, process_id, pointer };
    let event = raw.kernel_payload().and_then(|payload| WorkingSetEvent::read(hook, payload, pointer));
    if let Some(event) = event {
        visitor.working_set_event(event, header);
    }
}

/// Decodes like any event: for classic headers and rare ids.
#[cold]
#[inline(never)]
fn decoded(raw: RawRecord<'_>, moment: Moment, visitor: &mut impl EventVisitor) {
    let Ok(record) = raw.read() else { return };
    let Decoded::Event { event, .. } = decode(&record) else { return };
    let (thread_id, process_id) = (record.thread_id, record.process_id);
    let header = EventHeader { moment, thread_id, process_id, pointer: record.pointer };
    match WorkingSetEvent::of(&event) {
        Some(event) => visitor.working_set_event(event, header),
        None => visitor.other_event(&event, header),
    }
}
