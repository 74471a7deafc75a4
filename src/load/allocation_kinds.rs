//! Kinds of allocations, with their records, and what must be known before the first of them: rundowns.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::record_id::HookId;
use crate::event::hooks::*;
use crate::event::virtual_memory::VirtualRange;
use crate::event::{Decoded, Event, Phase, decode};
use crate::load::pool_rundown::{ListedPool, PoolRundown};
use crate::load::timed_records::for_each_moment;
use crate::moment::At;
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
        let rank = ranks(&etl.buffers);
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
                        let (pointer, thread_id) = (record.pointer, record.thread_id);
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
