//! What one thread reads from the buffers of a time slice: updates by shard, and the few events that belong to no owner.
//!
//! The hot path: a trace holds tens of millions of page events.

use crate::analysis::refset::access_stacks::AccessStack;
use crate::analysis::refset::context::ReplayContext;
use crate::analysis::refset::replay::outside_working_sets::{OutsideEvent, OutsideKind};
use crate::analysis::refset::replay::owner_attribution::{Attribution, Attributor};
use crate::analysis::refset::replay::update::Update;
use crate::analysis::refset::replay::update_queue::UpdateQueue;
use crate::analysis::refset::totals::balance::{Balance, add};
use crate::etl::record_id::HookId;
use crate::event::hooks::{
    MEM_INFO_WS, PAGE_RANGE_ACCESS, PAGE_RANGE_RELEASE, PAGEFILE_SECTION_DELETE, POOL_ALLOC, POOL_FREE, SESSION_ALLOC,
    SESSION_FREE, UNMAP_FILE,
};
use crate::event::pool::PoolAction;
use crate::event::section::SectionPhase;
use crate::event::working_set_change::WorkingSetEvent;
use crate::event::{Event, Phase};
use crate::load::allocation_rules::{LeftOut, Verdict};
use crate::load::working_set_changes::{EventHeader, EventVisitor};
use crate::moment::Moment;
use crate::units::is_kernel_address;
use crate::units::{PAGE_BYTES, Ticks};

/// Other events that are followed; they are rare.
pub const OTHERS: [HookId; 9] = [
    PAGE_RANGE_ACCESS,
    PAGE_RANGE_RELEASE,
    PAGEFILE_SECTION_DELETE,
    UNMAP_FILE,
    POOL_ALLOC,
    SESSION_ALLOC,
    POOL_FREE,
    SESSION_FREE,
    MEM_INFO_WS,
];

/// Number of shards: enough that each owner of a busy trace has nearly one of its own.
pub const SHARDS: usize = 256;

/// The shard of a group of owners.
#[inline(always)]
pub fn shard_of(group: u64) -> usize {
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// A thread's reader.
#[derive(Debug)]
pub struct SliceReader<'a, S = ()> {
    context: &'a ReplayContext<'a>,
    attributor: Attributor<'a>,
    /// First moment that is not followed.
    end: Moment,
    /// Last stamps of the slice and of the next one.
    until: [Ticks; 2],
    /// Updates by shard, also those of the next slice: buffers reach into it.
    pub updates: UpdateQueue<S>,
    /// Updates of later slices, with their shards.
    ahead: Vec<(usize, Update<S>)>,
    /// Updates of processes that start later, with the moment at which they were logged: it is their order.
    pub not_started: Vec<(Moment, Update<S>)>,
    /// Where the stack of the access before was found.
    last_stack: usize,
    /// Accesses of all slices.
    pub balance: Balance,
    /// Records in the window of what each working set has.
    pub recorded_sets: u64,
    /// Records of pool that cannot be true.
    pub left_out: LeftOut,
    /// Pool and page ranges.
    pub outside: Vec<OutsideEvent>,
    /// Deleted sections: ranges of prototype PTEs.
    pub deleted_sections: Vec<(Moment, u64, u64)>,
}

impl<'a, S: AccessStack> SliceReader<'a, S> {
    /// A reader that has read nothing.
    pub fn new(context: &'a ReplayContext<'a>, end: Moment) -> SliceReader<'a, S> {
        SliceReader {
            context,
            attributor: Attributor::new(context.lifetimes),
            end,
            until: [Ticks(i64::MIN); 2],
            updates: UpdateQueue::new(SHARDS),
            ahead: Vec::new(),
            not_started: Vec::new(),
            last_stack: 0,
            balance: Balance::default(),
            recorded_sets: 0,
            left_out: LeftOut::default(),
            outside: Vec::new(),
            deleted_sections: Vec::new(),
        }
    }

    /// Begins a slice; `until` are the last stamps of it and of the next one. Memory is kept.
    pub fn begin(&mut self, until: [Ticks; 2]) {
        self.until = until;
        self.updates.advance();
        let [now, next] = until;
        for (shard, update) in self.ahead.extract_if(.., |(_, update)| update.moment.time <= next) {
            self.updates.push(shard, update, update.moment.time > now);
        }
    }

    /// Counts an access and puts its update where it belongs: one update where both rule sets see it in one shard at one
    /// moment, else two.
    #[inline(always)]
    fn keep(&mut self, attribution: Attribution, logged: Moment) {
        let Attribution { update, group, process_id, is_known } = attribution;
        let mut stack = S::default();
        if update.kind().is_access() {
            stack = S::find(self.context.stacks, logged, &mut self.last_stack);
            if self.context.window.holds(logged) {
                add(&mut self.balance.accesses, update.page.reason() as usize, 1);
                self.balance.never_held += u64::from(!update.is_corrected());
                self.balance.unattributed += u64::from(!is_known);
            }
        }
        let together = update.moment == logged && group == u64::from(process_id);
        if update.is_corrected() {
            let update = if together { update } else { update.without_wpa() };
            self.put(group, update.with_stack(stack), logged);
        }
        if update.is_wpa() && !(together && update.is_corrected()) {
            self.put(u64::from(process_id), update.for_wpa(process_id, logged).with_stack(stack), logged);
        }
    }

    #[inline(always)]
    fn put(&mut self, group: u64, update: Update<S>, logged: Moment) {
        if update.moment != logged {
            self.put_later(update, logged);
            return;
        }
        let [now, next] = self.until;
        if update.moment.time > next {
            self.ahead.push((shard_of(group), update));
            return;
        }
        self.updates.push(shard_of(group), update, update.moment.time > now);
    }

    /// Keeps an update of a process that has not started yet.
    #[cold]
    #[inline(never)]
    fn put_later(&mut self, update: Update<S>, logged: Moment) {
        let window = &self.context.window;
        // Emptied working sets hold nothing of it.
        let stays = !window.resets.iter().any(|&reset| logged <= reset && reset < update.moment);
        if update.kind().is_access() {
            let enters = stays && window.holds(update.moment) && update.moment < self.end;
            self.balance.not_started += i64::from(window.holds(logged)) - i64::from(enters);
        }
        if stays {
            self.not_started.push((logged, update));
        }
    }
}

impl<S: AccessStack> EventVisitor for SliceReader<'_, S> {
    #[inline(always)]
    fn working_set_event(&mut self, event: WorkingSetEvent, header: EventHeader) {
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

    fn other_event(&mut self, event: &Event<'_>, header: EventHeader) {
        let moment = header.moment;
        let kind = match *event {
            Event::MapView { phase: Phase::End, view } if is_kernel_address(view.base, header.pointer) => {
                let both = self.attributor.unmap(view.base, view.size_bytes, header);
                return both.into_iter().for_each(|attribution| self.keep(attribution, moment));
            }
            Event::PagefileSection { phase: SectionPhase::Delete, section } => {
                return self.deleted_sections.push((moment, section.start, section.end));
            }
            Event::ProcessWorkingSets(sets) if self.context.window.holds(moment) => {
                self.recorded_sets += 1;
                return sets.iter().for_each(|set| {
                    let recorded = self.attributor.recorded(set.id, set.working_set_pages, header);
                    self.keep(recorded, moment);
                });
            }
            Event::PageRangeAccess(range) | Event::PageRangeRelease(range)
                if range.pages > self.context.most_pool_bytes / PAGE_BYTES =>
            {
                return self.left_out.note(Verdict::Impossible);
            }
            Event::PageRangeAccess(range) => OutsideKind::of_range(&range, true),
            Event::PageRangeRelease(range) => OutsideKind::of_range(&range, false),
            Event::Pool { action: PoolAction::Alloc | PoolAction::Free, piece }
                if Verdict::of_pool(piece.address, piece.size_bytes, self.context.most_pool_bytes)
                    == Verdict::Impossible =>
            {
                return self.left_out.note(Verdict::Impossible);
            }
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
}
