//! Records of allocations as small values: commit (VirtualAlloc), pool, heaps.
//!
//! There can be hundreds of millions. [`AllocationReader`] reads those of a few buffers, when their turn comes; what must be known
//! before the first of them (rundowns) is collected by [`AllocationRundowns`]. `analysis::allocations` interprets them.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::HookId;
use crate::event::heap_block::{HeapAlloc, HeapFree, HeapRealloc, HeapRecord};
use crate::event::hooks::*;
use crate::event::pool::{PoolAction, PoolPiece};
use crate::event::virtual_memory::VirtualRange;
use crate::event::{Decoded, Event, Payload, Phase, decode};
use crate::load::pool_rundown::{ListedPool, PoolRundown};
use crate::load::timed_records::for_each_moment;
use crate::moment::{At, Moment};
use crate::units::{PointerSize, Ticks};

/// What is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AllocationKind {
    /// Commit, by VirtualAlloc.
    Commit,
    /// Kernel pool.
    Pool,
    /// Blocks of Win32 heaps.
    Heap,
}

impl AllocationKind {
    /// All, in the order in which a trace is asked for them.
    pub const ALL: [AllocationKind; 3] = [AllocationKind::Commit, AllocationKind::Pool, AllocationKind::Heap];

    /// Records that open and close pieces.
    pub const fn hooks(self) -> &'static [HookId] {
        match self {
            AllocationKind::Commit => &[VIRTUAL_ALLOC, VIRTUAL_FREE],
            AllocationKind::Pool => &[POOL_ALLOC, SESSION_ALLOC, POOL_FREE, SESSION_FREE],
            AllocationKind::Heap => &[HEAP_ALLOC, HEAP_REALLOC, HEAP_FREE, HEAP_CREATE, HEAP_DESTROY],
        }
    }

    /// Records of rundowns.
    pub const fn rundowns(self) -> &'static [HookId] {
        match self {
            AllocationKind::Commit => &[VIRTUAL_ALLOC_DC_START, VIRTUAL_ALLOC_DC_END],
            AllocationKind::Pool => &[
                SNAPSHOT_DC_START,
                SNAPSHOT_DC_END,
                BIG_SNAPSHOT_DC_START,
                BIG_SNAPSHOT_DC_END,
                SESSION_SNAPSHOT_DC_START,
                SESSION_SNAPSHOT_DC_END,
                SESSION_BIG_SNAPSHOT_DC_START,
                SESSION_BIG_SNAPSHOT_DC_END,
            ],
            AllocationKind::Heap => &[],
        }
    }
}

/// The content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationWhat {
    /// `0x0262`, `0x0263`.
    Range {
        /// True for `0x0263`.
        is_free: bool,
        /// As recorded.
        range: VirtualRange,
        /// Pointer size of the record: where its address space ends.
        pointer: PointerSize,
    },
    /// `0x0e20`–`0x0e23`.
    Pool {
        /// True for frees.
        is_free: bool,
        /// As recorded.
        piece: PoolPiece,
    },
    /// A heap was created or destroyed: what it held is gone.
    HeapReset {
        /// Heap handle.
        heap: u64,
        /// True for its end.
        is_destroyed: bool,
    },
    /// `0x1021`.
    HeapAlloc(HeapAlloc),
    /// `0x1022`.
    HeapRealloc(HeapRealloc),
    /// `0x1024`.
    HeapFree(HeapFree),
}

/// A record and whose it is by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationEvent {
    /// When it was logged.
    pub moment: Moment,
    /// The header's process; `None` without ids.
    pub process_id: Option<u32>,
    /// The header's thread; `None` without ids.
    pub thread_id: Option<u32>,
    /// What.
    pub what: AllocationWhat,
}

/// Ids of a header; 0xffffffff stands for none.
fn id(id: Option<u32>) -> Option<u32> {
    id.filter(|id| *id != u32::MAX)
}

impl AllocationEvent {
    fn new(record: &Record<'_>, event: &Event<'_>, moment: Moment) -> Option<AllocationEvent> {
        let what = match *event {
            Event::VirtualRange { phase: phase @ (Phase::Start | Phase::End), range } => {
                AllocationWhat::Range { is_free: phase == Phase::End, range, pointer: record.pointer }
            }
            Event::Pool { action: action @ (PoolAction::Alloc | PoolAction::Free), piece } => {
                AllocationWhat::Pool { is_free: action == PoolAction::Free, piece }
            }
            Event::HeapBlock(record) => match record {
                HeapRecord::Create(created) => AllocationWhat::HeapReset { heap: created.heap, is_destroyed: false },
                HeapRecord::Destroy { heap } => AllocationWhat::HeapReset { heap, is_destroyed: true },
                HeapRecord::Alloc(block) => AllocationWhat::HeapAlloc(block),
                HeapRecord::Realloc(block) => AllocationWhat::HeapRealloc(block),
                HeapRecord::Free(block) => AllocationWhat::HeapFree(block),
                HeapRecord::Expand(_) | HeapRecord::Contract(_) | HeapRecord::Snapshot(_) => return None,
            },
            _ => return None,
        };
        Some(AllocationEvent { moment, process_id: id(record.process_id), thread_id: id(record.thread_id), what })
    }
}

/// Reads records of one kind.
#[derive(Debug)]
pub struct AllocationReader<'e> {
    etl: &'e EtlFile,
    rank: Vec<u32>,
    hooks: &'static [HookId],
}

impl<'e> AllocationReader<'e> {
    /// A reader of this file.
    pub fn new(etl: &'e EtlFile, kind: AllocationKind) -> AllocationReader<'e> {
        let (rank, _) = ranks(&etl.buffers);
        AllocationReader { etl, rank, hooks: kind.hooks() }
    }

    /// The records of these buffers, in no order.
    pub fn read(&self, buffers: &[u32]) -> Vec<Vec<AllocationEvent>> {
        self.etl.fold_some(buffers, Vec::new, |found, _, area| {
            for_each_moment(area, &self.rank, self.etl.before_first(), |raw, hook, moment| {
                // Heaps log under the GUID of their class: what has no hook id is looked at.
                if hook.is_some_and(|hook| !self.hooks.contains(&hook)) {
                    return;
                }
                if let Some(hook) = hook
                    && let Some(event) = pool_record(&raw, hook, moment)
                {
                    return found.push(event);
                }
                let Ok(record) = raw.read() else { return };
                if hook.is_none() && !crate::event::payload::hook_of(record.id).is_some_and(|h| self.hooks.contains(&h))
                {
                    return;
                }
                if let Decoded::Event { event, .. } = decode(&record) {
                    found.extend(AllocationEvent::new(&record, &event, moment));
                }
            });
        })
    }
}

/// A pool record with a kernel header, decoded where it lies.
#[inline(always)]
fn pool_record(raw: &RawRecord<'_>, hook: HookId, moment: Moment) -> Option<AllocationEvent> {
    let is_free = match hook {
        POOL_ALLOC | SESSION_ALLOC => false,
        POOL_FREE | SESSION_FREE => true,
        _ => return None,
    };
    let (version, pointer) = (raw.kernel_version(), raw.header.pointer());
    let payload = Payload { hook, version, pointer, bytes: raw.kernel_payload()? };
    let is_of_session = matches!(hook, SESSION_ALLOC | SESSION_FREE);
    let read = if is_of_session { PoolPiece::read_session(&payload) } else { PoolPiece::read(&payload) };
    let (thread_id, process_id) = raw.kernel_ids();
    let what = AllocationWhat::Pool { is_free, piece: read.ok()?.value };
    Some(AllocationEvent { moment, process_id: id(process_id), thread_id: id(thread_id), what })
}

/// A region that a rundown lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedRegion {
    /// True for `0x0281`.
    pub is_end: bool,
    /// The region.
    pub range: VirtualRange,
    /// Pointer size of the record.
    pub pointer: PointerSize,
    /// The header's thread.
    pub thread_id: Option<u32>,
}

/// Records of rundowns, in order.
#[derive(Debug, Default)]
pub struct AllocationRundowns {
    /// Regions of processes.
    pub regions: Vec<At<ListedRegion>>,
    /// Entries of pool snapshots whose layout was found.
    pub pool: Vec<At<ListedPool>>,
}

#[derive(Default)]
struct RundownReader {
    regions: Vec<At<ListedRegion>>,
    pool: PoolRundown,
}

impl AllocationRundowns {
    /// Walks over all records.
    pub fn new(etl: &EtlFile, kind: AllocationKind) -> AllocationRundowns {
        let (rank, _) = ranks(&etl.buffers);
        let wanted = kind.rundowns();
        let readers = etl.fold_buffers(RundownReader::default, |reader, area| {
            for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
                if hook.is_some_and(|hook| !wanted.contains(&hook)) {
                    return;
                }
                let Ok(record) = raw.read() else { return };
                let Decoded::Event { event, .. } = decode(&record) else { return };
                match event {
                    Event::VirtualRange { phase: phase @ (Phase::DcStart | Phase::DcEnd), range }
                        if kind == AllocationKind::Commit =>
                    {
                        let (pointer, thread_id) = (record.pointer, id(record.thread_id));
                        let is_end = phase == Phase::DcEnd;
                        reader.regions.push(At { moment, value: ListedRegion { is_end, range, pointer, thread_id } });
                    }
                    Event::PoolSnapshot { phase, snapshot } if kind == AllocationKind::Pool => {
                        reader.pool.add(moment, phase, &snapshot);
                    }
                    _ => {}
                }
            });
        });
        let (mut all, mut pool) = (AllocationRundowns::default(), PoolRundown::default());
        for reader in readers {
            all.regions.extend(reader.regions);
            pool.append(reader.pool);
        }
        all.pool = pool.take_listed();
        all.regions.sort_by_key(|region| region.moment);
        all.pool.sort_by_key(|entry| entry.moment);
        all
    }
}

/// The earliest and the latest stamp of a record, for windows.
pub fn whole(spans: &[Option<crate::etl::buffer_order::Span>]) -> Option<(Ticks, Ticks)> {
    let spans = || spans.iter().flatten();
    Some((spans().map(|span| span.first).min()?, spans().map(|span| span.last).max()?))
}
