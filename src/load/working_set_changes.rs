//! Reads the events that change working sets, and a few others, from the buffers of a stretch of time.
//!
//! The hot path of the reference set. Records with kernel headers are recognized by their hook ids; all others are decoded
//! like any event.

use crate::etl::event_area::{EventArea, KnownHeads};
use crate::etl::record::{HeaderType, RawRecord};
use crate::etl::record_id::{HookId, Position};
use crate::event::working_set_change::WorkingSetEvent;
use crate::event::{Decoded, Event, decode};
use crate::load::timed_records::{hook_and_time, order_of};
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
        let rank = order_of(self.rank, area, 0);
        let (mut records, mut time, mut heads) = (area.records(), self.before_first, KnownHeads::default());
        loop {
            // Nearly all records begin like one before.
            if let Some((layout, bytes, offset)) = records.next_known::<KernelLayout>(&heads) {
                let (own, (thread_id, process_id)) = wide_fields(bytes, area.index, offset);
                time = if area.stamps.contains(own) { own } else { time };
                let moment = Moment { time, order: rank | u64::from(offset) };
                if self.holds(moment)
                    && let Some(payload) = bytes.get(usize::from(layout.payload_at)..)
                {
                    let header = EventHeader { moment, thread_id, process_id, pointer: PointerSize::P8 };
                    kernel_event(layout.hook, payload, header, visitor);
                }
                continue;
            }
            let Some(raw) = records.next() else { return };
            let hook;
            (hook, time) = hook_and_time(area, &raw, time);
            match hook {
                Some(hook) if WorkingSetEvent::is(hook) => {
                    self.new_layout(hook, &raw, (time, rank), &mut heads, visitor)
                }
                Some(hook) if !self.others.contains(&hook) => {}
                _ => {
                    let moment = Moment { time, order: rank | u64::from(raw.position.offset) };
                    if self.holds(moment) {
                        decoded(raw, moment, visitor);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn holds(&self, moment: Moment) -> bool {
        self.begin <= moment && moment < self.end
    }

    /// An event whose first eight bytes are new. They are noted where the header has ids and pointers are wide, as in all traces of
    /// today.
    #[cold]
    #[inline(never)]
    fn new_layout(
        &self,
        hook: HookId,
        raw: &RawRecord<'_>,
        (time, rank): (Ticks, u64),
        heads: &mut KnownHeads<KernelLayout>,
        visitor: &mut impl EventVisitor,
    ) {
        let Some(payload) = raw.kernel_payload() else { return };
        if matches!(raw.header, HeaderType::System64 | HeaderType::Compact64)
            && let Ok(payload_at) = u8::try_from(raw.bytes.len() - payload.len())
        {
            heads.note(raw, hook, KernelLayout { hook, payload_at });
        }
        let moment = Moment { time, order: rank | u64::from(raw.position.offset) };
        if self.holds(moment) {
            let (thread_id, process_id) = raw.kernel_ids();
            let header = EventHeader { moment, thread_id, process_id, pointer: raw.header.pointer() };
            kernel_event(hook, payload, header, visitor);
        }
    }
}

/// What the first eight bytes of a kernel record with ids and wide pointers say.
#[derive(Debug, Clone, Copy)]
struct KernelLayout {
    hook: HookId,
    /// Offset of the payload in the record.
    payload_at: u8,
}

/// Time and ids in a kernel header with ids and wide pointers. Both kinds have them at the same places, so that the compiler knows
/// these.
#[inline(always)]
fn wide_fields(bytes: &[u8], buffer: u32, offset: u32) -> (Ticks, (Option<u32>, Option<u32>)) {
    const HEADER: HeaderType = HeaderType::Compact64;
    let bytes = bytes.first_chunk::<{ HEADER.header_bytes() }>().map_or(&[][..], |bytes| bytes);
    let raw = RawRecord { header: HEADER, position: Position { buffer, offset }, bytes };
    (raw.kernel_time().unwrap_or_default(), raw.kernel_ids())
}

/// An event with a kernel header.
#[inline(always)]
fn kernel_event(hook: HookId, payload: &[u8], header: EventHeader, visitor: &mut impl EventVisitor) {
    if let Some(event) = WorkingSetEvent::read(hook, payload, header.pointer) {
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
