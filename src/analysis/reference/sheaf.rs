//! What one thread reads from the buffers of one slab: steps, sorted into buckets of owners, and the few facts that
//! belong to no owner.
//!
//! The hot path: a trace holds tens of millions of these records. Kernel headers of the page events are read by hand;
//! everything else takes the way of all events.

use crate::analysis::reference::apart::{ApartEvent, ApartKind};
use crate::analysis::reference::ledger::add;
use crate::analysis::reference::memo::Memo;
use crate::analysis::reference::packed::PackedStep;
use crate::analysis::reference::piles::Piles;
use crate::analysis::reference::reason::AccessReason;
use crate::analysis::reference::step::{CORRECTED, Circumstances, Made, Step, StepMaker, WPA, group_of};
use crate::etl::area::Area;
use crate::etl::record::{HookId, RawRecord};
use crate::event::hooks::{
    IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX, PAGE_COMBINE, PAGE_RANGE_ACCESS, PAGE_RANGE_RELEASE, PAGE_RELEASE,
    PAGEFILE_SECTION_DELETE, POOL_ALLOC, POOL_FREE, REMOVE_FROM_WS, SESSION_ALLOC, SESSION_FREE, UNMAP_FILE,
};
use crate::event::page::{ExtraInfo, PageAccessEx, PageCombine, PageIdentity, PageKind};
use crate::event::pool::PoolAction;
use crate::event::section::SectionPhase;
use crate::event::{Decoded, Event, Phase, decode};
use crate::model::process_timeline::ProcessTimeline;
use crate::model::window::Window;
use crate::moment::Moment;
use crate::units::is_kernel_address;
use crate::units::{PAGE_BYTES, Ticks};

/// Number of buckets: enough that each owner of a busy trace has nearly one of its own.
pub const BUCKETS: usize = 256;

/// The bucket of a group of owners.
pub fn bucket_of(group: u64) -> usize {
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// What all threads share while they read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Who is who.
    pub directory: &'a ProcessTimeline<'a>,
    /// Rank of each buffer among records of equal time.
    pub rank: &'a [u32],
    /// The window, for counting accesses.
    pub window: &'a Window,
    /// First moment that is followed.
    pub begin: Moment,
    /// First moment that is not.
    pub end: Moment,
}

/// A thread's harvest.
#[derive(Debug)]
pub struct Sheaf {
    /// Steps by bucket.
    pub buckets: Piles,
    /// Steps behind the slab's end, for later slabs.
    ahead: Piles,
    /// Steps of processes that start later, with the moment at which they were logged: it is their order.
    pub later: Vec<(Moment, PackedStep)>,
    /// Pages accessed in the window, by reason.
    pub accesses: [u64; AccessReason::ALL.len()],
    /// Accesses in the window by processes that never started.
    pub unattributed: u64,
    /// Pool and page ranges.
    pub apart: Vec<ApartEvent>,
    /// Deleted sections: ranges of prototype PTEs.
    pub sections: Vec<(Moment, u64, u64)>,
    memo: Memo,
}

impl Default for Sheaf {
    fn default() -> Self {
        Sheaf {
            buckets: Piles::new(BUCKETS),
            ahead: Piles::new(BUCKETS),
            later: Vec::new(),
            accesses: [0; AccessReason::ALL.len()],
            unattributed: 0,
            apart: Vec::new(),
            sections: Vec::new(),
            memo: Memo::default(),
        }
    }
}

impl Sheaf {
    /// Reads one buffer. `until` is the slab's last stamp.
    pub fn read(&mut self, reading: &Reading<'_>, until: Ticks, area: &Area<'_>, before_first: Ticks) {
        let rank = reading.rank.get(area.index as usize).copied().unwrap_or(area.index);
        let rank = u64::from(rank) << 32;
        let mut time = before_first;
        for raw in area.records() {
            let hook = match raw.kernel_time() {
                Some(own) => {
                    time = own;
                    raw.hook()
                }
                None => {
                    time = untimed(raw, time);
                    None
                }
            };
            let moment = Moment { time, order: rank | u64::from(raw.position.offset) };
            if moment < reading.begin || reading.end <= moment {
                continue;
            }
            match hook {
                Some(
                    hook @ (IN_MEMORY_ACTIVE | PAGE_ACCESS | PAGE_RELEASE | PAGE_COMBINE | PAGE_ACCESS_EX
                    | REMOVE_FROM_WS),
                ) => {
                    self.take(reading, until, raw, hook, moment);
                }
                Some(
                    PAGE_RANGE_ACCESS
                    | PAGE_RANGE_RELEASE
                    | PAGEFILE_SECTION_DELETE
                    | UNMAP_FILE
                    | POOL_ALLOC
                    | SESSION_ALLOC
                    | POOL_FREE
                    | SESSION_FREE,
                )
                | None => {
                    self.decode(reading, until, raw, moment);
                }
                Some(_) => {}
            }
        }
    }

    /// A page event with a kernel header. The record is handed on by value: where its address is taken, every field goes
    /// through memory, and the loop takes twice as long.
    #[inline(always)]
    fn take(&mut self, reading: &Reading<'_>, until: Ticks, raw: RawRecord<'_>, hook: HookId, moment: Moment) {
        let pointer = raw.header.pointer();
        let (thread_id, process_id) = raw.kernel_ids();
        let at = Circumstances { moment, thread_id, process_id, pointer };
        let Some(payload) = raw.kernel_payload() else { return };
        let mut maker = StepMaker { directory: reading.directory, memo: &mut self.memo };
        let (made, reason) = match hook {
            IN_MEMORY_ACTIVE | PAGE_ACCESS | PAGE_RELEASE => {
                let (kind, reason) = match hook {
                    IN_MEMORY_ACTIVE => (PageKind::InMemoryActive, Some(AccessReason::ActiveRundown)),
                    PAGE_ACCESS => (PageKind::Access, Some(AccessReason::PrivatePageAccess)),
                    _ => (PageKind::Release, None),
                };
                (PageIdentity::read(payload, pointer).map(|page| maker.page(kind, &page, at)), reason)
            }
            PAGE_ACCESS_EX => {
                let access = PageAccessEx::read(payload, pointer);
                (access.map(|access| maker.access_ex(&access, at)), Some(AccessReason::SharablePageAccess))
            }
            REMOVE_FROM_WS => (ExtraInfo::read(payload, pointer).map(|extra| maker.remove(extra, at)), None),
            _ => {
                let combine = PageCombine::read(payload, pointer);
                (combine.map(|combine| maker.combine(&combine, at)), Some(AccessReason::PageCombine))
            }
        };
        // A payload of another length was counted as a misfit when the trace was surveyed.
        if let Some(made) = made {
            self.keep(reading, until, made, reason, at);
        }
    }

    /// The way of all events, for classic headers and rare ids.
    #[cold]
    #[inline(never)]
    fn decode(&mut self, reading: &Reading<'_>, until: Ticks, raw: RawRecord<'_>, moment: Moment) {
        let Ok(record) = raw.read() else { return };
        let Decoded::Event { event, .. } = decode(&record) else { return };
        let (thread_id, process_id) = (record.thread_id, record.process_id);
        let at = Circumstances { moment, thread_id, process_id, pointer: record.pointer };
        let mut maker = StepMaker { directory: reading.directory, memo: &mut self.memo };
        let (made, reason) = match event {
            Event::Page { kind, page } => {
                let reason = match kind {
                    PageKind::InMemoryActive => Some(AccessReason::ActiveRundown),
                    PageKind::Access => Some(AccessReason::PrivatePageAccess),
                    _ => None,
                };
                (maker.page(kind, &page, at), reason)
            }
            Event::PageAccessEx(access) => (maker.access_ex(&access, at), Some(AccessReason::SharablePageAccess)),
            Event::RemoveFromWorkingSet(extra) => (maker.remove(extra, at), None),
            Event::PageCombine(combine) => (maker.combine(&combine, at), Some(AccessReason::PageCombine)),
            Event::MapView { phase: Phase::End, view } if is_kernel_address(view.base, record.pointer) => {
                let steps = [false, true].map(|session| maker.unmap(view.base, view.size_bytes, session, at));
                steps.into_iter().for_each(|step| self.keep(reading, until, Made::Step(step), None, at));
                return;
            }
            Event::Pool { action: PoolAction::Free, piece } if piece.size_bytes >= PAGE_BYTES => {
                self.apart.push(ApartEvent { moment, kind: ApartKind::PoolFree(piece.address) });
                (Made::Step(maker.free_pool(piece.address, piece.size_bytes, at)), None)
            }
            ref other => return self.apart(other, moment),
        };
        self.keep(reading, until, made, reason, at);
    }

    /// What belongs to no owner.
    fn apart(&mut self, event: &Event<'_>, moment: Moment) {
        let kind = match *event {
            Event::PageRangeAccess(range) => ApartKind::of_range(&range, true),
            Event::PageRangeRelease(range) => ApartKind::of_range(&range, false),
            // What is smaller than a page shares its page with other pool.
            Event::Pool { action: PoolAction::Alloc, piece } if piece.size_bytes >= PAGE_BYTES => {
                ApartKind::PoolAllocate(piece.address, piece.size_bytes.div_ceil(PAGE_BYTES))
            }
            Event::PagefileSection { phase: SectionPhase::Delete, section } => {
                return self.sections.push((moment, section.start, section.end));
            }
            _ => return,
        };
        self.apart.push(ApartEvent { moment, kind });
    }

    /// Counts an access and puts its step where it belongs.
    #[inline(always)]
    fn keep(
        &mut self,
        reading: &Reading<'_>,
        until: Ticks,
        made: Made,
        reason: Option<AccessReason>,
        at: Circumstances,
    ) {
        if let Some(reason) = reason
            && reading.window.holds(at.moment)
            && !matches!(made, Made::Nothing)
        {
            add(&mut self.accesses, reason as usize, 1);
            self.unattributed += u64::from(matches!(made, Made::Unattributed(_)));
        }
        let (Made::Step(step) | Made::Unattributed(step)) = made else { return };
        let group = group_of(step.owner, reading.directory);
        let together = step.moment == at.moment && group == u64::from(step.process_id);
        if together && step.rules & CORRECTED != 0 {
            return self.put(reading, until, group, &step, at.moment);
        }
        if step.rules & CORRECTED != 0 {
            self.put(reading, until, group, &Step { rules: CORRECTED, ..step }, at.moment);
        }
        if step.rules & WPA != 0 {
            let wpa = Step { rules: WPA, moment: at.moment, ..step };
            self.put(reading, until, u64::from(step.process_id), &wpa, at.moment);
        }
    }

    #[inline(always)]
    fn put(&mut self, reading: &Reading<'_>, until: Ticks, group: u64, step: &Step, logged: Moment) {
        let packed = PackedStep::new(step);
        if step.moment != logged {
            // Emptied working sets hold nothing of it.
            if !reading.window.resets.iter().any(|&reset| logged <= reset && reset < step.moment) {
                self.later.push((logged, packed));
            }
            return;
        }
        let buckets = if step.moment.time > until { &mut self.ahead } else { &mut self.buckets };
        buckets.push(bucket_of(group), packed);
    }

    /// Ready for the next slab, which ends with `until`; memory is kept.
    pub fn clear(&mut self, until: Ticks) {
        self.buckets.clear();
        let mut behind = Vec::new();
        self.ahead.drain(|bucket, step| match step.moment.time <= until {
            true => self.buckets.push(bucket, step),
            false => behind.push((bucket, step)),
        });
        behind.into_iter().for_each(|(bucket, step)| self.ahead.push(bucket, step));
        (self.accesses, self.unattributed) = ([0; AccessReason::ALL.len()], 0);
    }
}

/// Time of a record without a kernel header; that of the record before it when it has none.
#[cold]
#[inline(never)]
fn untimed(raw: RawRecord<'_>, before: Ticks) -> Ticks {
    raw.time().unwrap_or(before)
}
