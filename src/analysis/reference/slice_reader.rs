//! What one thread reads from the buffers of a time slice: updates by shard, and the few events that belong to no owner.
//!
//! The hot path: a trace holds tens of millions of page events. Those with kernel headers are recognised by their hook ids; all
//! others are decoded like any event.

use crate::analysis::reference::attribution::{Attribution, Attributor, Header};
use crate::analysis::reference::outside::{OutsideEvent, OutsideKind};
use crate::analysis::reference::reason::AccessReason;
use crate::analysis::reference::totals::add;
use crate::analysis::reference::update::Update;
use crate::analysis::reference::update_queue::UpdateQueue;
use crate::etl::area::Area;
use crate::etl::record::{HookId, RawRecord};
use crate::event::hooks::{
    PAGE_RANGE_ACCESS, PAGE_RANGE_RELEASE, PAGEFILE_SECTION_DELETE, POOL_ALLOC, POOL_FREE, SESSION_ALLOC, SESSION_FREE,
    UNMAP_FILE,
};
use crate::event::pool::PoolAction;
use crate::event::section::SectionPhase;
use crate::event::working_set::WorkingSetEvent;
use crate::event::{Decoded, Event, Phase, decode};
use crate::model::process_timeline::ProcessTimeline;
use crate::model::window::Window;
use crate::moment::Moment;
use crate::units::is_kernel_address;
use crate::units::{PAGE_BYTES, Ticks};

/// Other events that are followed; they are rare.
const OTHERS: [HookId; 8] = [
    PAGE_RANGE_ACCESS,
    PAGE_RANGE_RELEASE,
    PAGEFILE_SECTION_DELETE,
    UNMAP_FILE,
    POOL_ALLOC,
    SESSION_ALLOC,
    POOL_FREE,
    SESSION_FREE,
];

/// Number of shards: enough that each owner of a busy trace has nearly one of its own.
pub const SHARDS: usize = 256;

/// The shard of a group of owners.
#[inline(always)]
pub fn shard_of(group: u64) -> usize {
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// What all threads share while they read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Process lifetimes.
    pub lifetimes: &'a ProcessTimeline<'a>,
    /// Rank of each buffer among records of equal time.
    pub rank: &'a [u32],
    /// The window, for counting accesses.
    pub window: &'a Window,
    /// First moment that is followed.
    pub begin: Moment,
    /// First moment that is not.
    pub end: Moment,
    /// Time of records that have none and come before all others.
    pub before_first: Ticks,
}

/// A thread's reader.
#[derive(Debug)]
pub struct SliceReader<'a> {
    reading: Reading<'a>,
    attributor: Attributor<'a>,
    /// Last stamp of the slice.
    until: Ticks,
    /// Updates by shard.
    pub updates: UpdateQueue,
    /// Updates after the slice's end, with their shards.
    ahead: Vec<(usize, Update)>,
    /// Updates of processes that start later, with the moment at which they were logged: it is their order.
    pub not_started: Vec<(Moment, Update)>,
    /// Pages accessed in the window, by reason.
    pub accesses: [u64; AccessReason::ALL.len()],
    /// Accesses in the window of pages that enter no working set.
    pub never_held: u64,
    /// Those of them by processes that never started.
    pub unattributed: u64,
    /// Pool and page ranges.
    pub outside: Vec<OutsideEvent>,
    /// Deleted sections: ranges of prototype PTEs.
    pub deleted_sections: Vec<(Moment, u64, u64)>,
}

impl<'a> SliceReader<'a> {
    /// A reader that has read nothing.
    pub fn new(reading: Reading<'a>) -> SliceReader<'a> {
        SliceReader {
            reading,
            attributor: Attributor::new(reading.lifetimes),
            until: Ticks(i64::MIN),
            updates: UpdateQueue::new(SHARDS),
            ahead: Vec::new(),
            not_started: Vec::new(),
            accesses: [0; AccessReason::ALL.len()],
            never_held: 0,
            unattributed: 0,
            outside: Vec::new(),
            deleted_sections: Vec::new(),
        }
    }

    /// Begins a slice that ends with `until`; memory is kept.
    pub fn begin(&mut self, until: Ticks) {
        self.until = until;
        self.updates.clear();
        for (shard, update) in self.ahead.extract_if(.., |(_, update)| update.moment.time <= until) {
            self.updates.push(shard, update);
        }
        self.accesses = [0; AccessReason::ALL.len()];
        (self.never_held, self.unattributed) = (0, 0);
    }

    /// Reads one buffer.
    pub fn read(&mut self, area: &Area<'_>) {
        let rank = self.reading.rank.get(area.index as usize).copied().unwrap_or(area.index);
        let rank = u64::from(rank) << 32;
        let mut time = self.reading.before_first;
        for raw in area.records() {
            let hook = match raw.kernel_time() {
                Some(own) => {
                    time = if area.stamps.contains(own) { own } else { time };
                    raw.hook()
                }
                None => {
                    time = untimed(area, raw, time);
                    None
                }
            };
            let moment = Moment { time, order: rank | u64::from(raw.position.offset) };
            if moment < self.reading.begin || self.reading.end <= moment {
                continue;
            }
            match hook {
                Some(hook) if WorkingSetEvent::is(hook) => self.page_event(raw, hook, moment),
                Some(hook) if !OTHERS.contains(&hook) => {}
                _ => self.decode(raw, moment),
            }
        }
    }

    /// A page event with a kernel header. The record is handed on by value: where its address is taken, every field goes
    /// through memory, and the loop takes twice as long.
    #[inline(always)]
    fn page_event(&mut self, raw: RawRecord<'_>, hook: HookId, moment: Moment) {
        let pointer = raw.header.pointer();
        let (thread_id, process_id) = raw.kernel_ids();
        let header = Header { moment, thread_id, process_id, pointer };
        let event = raw.kernel_payload().and_then(|payload| WorkingSetEvent::read(hook, payload, pointer));
        if let Some(event) = event {
            self.attribute(event, header);
        }
    }

    #[inline(always)]
    fn attribute(&mut self, event: WorkingSetEvent, header: Header) {
        // Each arm ends by itself: if the arms joined, the compiler would pass all fields through memory.
        match event {
            WorkingSetEvent::Page(kind, page) => {
                if let Some(attribution) = self.attributor.page(kind, &page, header) {
                    self.keep(attribution, header.moment);
                }
            }
            WorkingSetEvent::AccessEx(access) => {
                let attribution = self.attributor.access_ex(&access, header);
                self.keep(attribution, header.moment);
            }
            WorkingSetEvent::Remove(extra) => {
                let attribution = self.attributor.remove(extra, header);
                self.keep(attribution, header.moment);
            }
            WorkingSetEvent::Combine(combine) => {
                let attribution = self.attributor.combine(&combine, header);
                self.keep(attribution, header.moment);
            }
        }
    }

    /// Decodes like any event: for classic headers and rare ids.
    #[cold]
    #[inline(never)]
    fn decode(&mut self, raw: RawRecord<'_>, moment: Moment) {
        let Ok(record) = raw.read() else { return };
        let Decoded::Event { event, .. } = decode(&record) else { return };
        let (thread_id, process_id) = (record.thread_id, record.process_id);
        let header = Header { moment, thread_id, process_id, pointer: record.pointer };
        if let Some(event) = WorkingSetEvent::of(&event) {
            return self.attribute(event, header);
        }
        let kind = match event {
            Event::MapView { phase: Phase::End, view } if is_kernel_address(view.base, record.pointer) => {
                let both = self.attributor.unmap(view.base, view.size_bytes, header);
                return both.into_iter().for_each(|attribution| self.keep(attribution, moment));
            }
            Event::PagefileSection { phase: SectionPhase::Delete, section } => {
                return self.deleted_sections.push((moment, section.start, section.end));
            }
            Event::PageRangeAccess(range) => OutsideKind::of_range(&range, true),
            Event::PageRangeRelease(range) => OutsideKind::of_range(&range, false),
            // What is smaller than a page shares its page with other pool.
            Event::Pool { action: PoolAction::Alloc, piece } if piece.size_bytes >= PAGE_BYTES => {
                OutsideKind::PoolAllocate(piece.address, piece.size_bytes.div_ceil(PAGE_BYTES))
            }
            Event::Pool { action: PoolAction::Free, piece } if piece.size_bytes >= PAGE_BYTES => {
                let freed = self.attributor.free_pool(piece.address, piece.size_bytes, header);
                self.keep(freed, moment);
                OutsideKind::PoolFree(piece.address)
            }
            _ => return,
        };
        self.outside.push(OutsideEvent { moment, kind });
    }

    /// Counts an access and puts its update where it belongs: one update where both rule sets see it in one shard at one
    /// moment, else two.
    #[inline(always)]
    fn keep(&mut self, attribution: Attribution, logged: Moment) {
        let Attribution { update, group, process_id, is_known } = attribution;
        if update.kind().is_access() && self.reading.window.holds(logged) {
            add(&mut self.accesses, update.page.reason() as usize, 1);
            self.never_held += u64::from(!update.is_corrected());
            self.unattributed += u64::from(!is_known);
        }
        let together = update.moment == logged && group == u64::from(process_id);
        if update.is_corrected() {
            let update = if together { update } else { update.without_wpa() };
            self.put(group, update, logged);
        }
        if update.is_wpa() && !(together && update.is_corrected()) {
            self.put(u64::from(process_id), update.for_wpa(process_id, logged), logged);
        }
    }

    #[inline(always)]
    fn put(&mut self, group: u64, update: Update, logged: Moment) {
        if update.moment != logged {
            // Emptied working sets hold nothing of it.
            if !self.reading.window.resets.iter().any(|&reset| logged <= reset && reset < update.moment) {
                self.not_started.push((logged, update));
            }
        } else if update.moment.time > self.until {
            self.ahead.push((shard_of(group), update));
        } else {
            self.updates.push(shard_of(group), update);
        }
    }
}

/// Time of a record without a kernel header; that of the record before it when it has none that can be true.
#[cold]
#[inline(never)]
fn untimed(area: &Area<'_>, raw: RawRecord<'_>, before: Ticks) -> Ticks {
    area.time_of(&raw).unwrap_or(before)
}
