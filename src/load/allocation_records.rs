//! Records of allocations as small values: ranges of pages (VirtualAlloc), and blocks of pool and heaps.
//!
//! There can be hundreds of millions. [`AllocationReader`] reads those of a few buffers, when their turn comes; `analysis::allocations`
//! interprets them.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::etl::record::{RawRecord, Record};
use crate::etl::record_id::HookId;
use crate::event::heap::{HeapAlloc, HeapFree, HeapRecord};
use crate::event::hooks::*;
use crate::event::payload::{HEAP, heap_hook, hook_of};
use crate::event::pool::{PoolAction, PoolPiece};
use crate::event::virtual_memory::VirtualRange;
use crate::event::{Decoded, Event, Payload, Phase, decode};
use crate::load::allocation_kinds::AllocationKind;
use crate::load::record_runs::{Timed, in_order};
use crate::load::timed_records::for_each_moment;
use crate::moment::Moment;
use crate::units::PointerSize;

/// `0x0262`, `0x0263`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeRecord {
    /// When it was logged.
    pub moment: Moment,
    /// The header's thread; `None` without ids.
    pub thread_id: Option<u32>,
    /// True for `0x0263`.
    pub is_free: bool,
    /// As recorded.
    pub range: VirtualRange,
    /// Pointer size of the record: where its address space ends.
    pub pointer: PointerSize,
}

impl Timed for RangeRecord {
    fn moment(&self) -> Moment {
        self.moment
    }
}

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockAction {
    /// `0x0e20`, `0x0e21`, `0x1021`: it was allocated.
    Alloc,
    /// `0x0e22`, `0x0e23`, `0x1024`: it was freed.
    Free,
    /// `0x1022`: it is the old block of a reallocation. The record of the new one follows, of the same moment.
    ReallocOld,
    /// `0x1022`: it is the new block of a reallocation.
    ReallocNew,
    /// `0x1020`: its heap was created. What was there is gone.
    HeapCreate,
    /// `0x1023`: its heap was destroyed.
    HeapDestroy,
}

/// A block, and what happened to it. What a record does not tell is 0, ids [`u32::MAX`]: there are millions of records, and an `Option`
/// takes twice the room of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRecord {
    /// When it was logged.
    pub moment: Moment,
    /// The header's process.
    pub process_id: u32,
    /// The header's thread.
    pub thread_id: u32,
    /// Handle of its heap; session of pool, [`u32::MAX`] for none.
    pub heap: u64,
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Pool tag without its mark; part of the heap that served it.
    pub label: u32,
    /// True for paged pool.
    pub is_paged: bool,
    /// What happened to it.
    pub action: BlockAction,
}

impl Timed for BlockRecord {
    #[inline(always)]
    fn moment(&self) -> Moment {
        self.moment
    }
}

impl BlockRecord {
    fn new(moment: Moment, (thread_id, process_id): (Option<u32>, Option<u32>), action: BlockAction) -> BlockRecord {
        let id = |id: Option<u32>| id.unwrap_or(u32::MAX);
        let (process_id, thread_id) = (id(process_id), id(thread_id));
        BlockRecord { moment, process_id, thread_id, heap: 0, address: 0, bytes: 0, label: 0, is_paged: false, action }
    }

    #[inline(always)]
    fn of_pool(self, piece: &PoolPiece) -> BlockRecord {
        BlockRecord {
            heap: piece.session_id.unwrap_or(u32::MAX).into(),
            address: piece.address,
            bytes: piece.size_bytes,
            label: piece.tag.without_mark().0,
            is_paged: piece.is_paged(),
            ..self
        }
    }

    #[inline(always)]
    fn of_alloc(self, block: &HeapAlloc) -> BlockRecord {
        let HeapAlloc { heap, size_bytes: bytes, address, source: label } = *block;
        BlockRecord { heap, address, bytes, label, ..self }
    }

    /// A record of a heap; two for a reallocation.
    fn push_heap(found: &mut Vec<BlockRecord>, record: &HeapRecord, new: impl Fn(BlockAction) -> BlockRecord) {
        match *record {
            HeapRecord::Create(created) => {
                found.push(BlockRecord { heap: created.heap, ..new(BlockAction::HeapCreate) });
            }
            HeapRecord::Destroy { heap } => found.push(BlockRecord { heap, ..new(BlockAction::HeapDestroy) }),
            HeapRecord::Alloc(block) => found.push(new(BlockAction::Alloc).of_alloc(&block)),
            HeapRecord::Free(block) => {
                found.push(BlockRecord { heap: block.heap, address: block.address, ..new(BlockAction::Free) });
            }
            HeapRecord::Realloc(block) => found.extend([
                BlockRecord {
                    heap: block.heap,
                    address: block.old_address,
                    bytes: block.old_size_bytes,
                    ..new(BlockAction::ReallocOld)
                },
                BlockRecord {
                    heap: block.heap,
                    address: block.address,
                    bytes: block.size_bytes,
                    label: block.source,
                    ..new(BlockAction::ReallocNew)
                },
            ]),
            HeapRecord::Expand(_) | HeapRecord::Contract(_) | HeapRecord::Snapshot(_) => {}
        }
    }
}

/// Bytes of the shortest records that are many: pool with a short header.
const POOL_RECORD_BYTES: usize = 40;

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
        let rank = ranks(&etl.buffers);
        AllocationReader { etl, rank, hooks: kind.hooks() }
    }

    /// Ranges in these buffers, those of each buffer by themselves and in order.
    pub fn ranges(&self, buffers: &[u32]) -> Vec<Vec<RangeRecord>> {
        self.read(buffers, |found, raw, _, moment| {
            self.decode(&raw, |record, event| {
                if let Event::VirtualRange { phase: phase @ (Phase::Start | Phase::End), range } = event {
                    let (thread_id, pointer) = (record.thread_id, record.pointer);
                    found.push(RangeRecord { moment, thread_id, is_free: phase == Phase::End, range, pointer });
                }
            });
        })
    }

    /// Blocks in these buffers, those of each buffer by themselves and in order.
    pub fn blocks(&self, buffers: &[u32]) -> Vec<Vec<BlockRecord>> {
        let is_of_heaps = self.hooks.contains(&HEAP_ALLOC);
        self.read(buffers, |found, raw, hook, moment| {
            let record = match hook {
                Some(hook) => pool_record(&raw, hook, moment),
                None if is_of_heaps => heap_record(&raw, moment),
                None => None,
            };
            if let Some(record) = record {
                return found.push(record);
            }
            self.decode(&raw, |record, event| {
                let new = |action| BlockRecord::new(moment, (record.thread_id, record.process_id), action);
                match event {
                    Event::Pool { action: PoolAction::Alloc, piece } => {
                        found.push(new(BlockAction::Alloc).of_pool(&piece))
                    }
                    Event::Pool { action: PoolAction::Free, piece } => {
                        found.push(new(BlockAction::Free).of_pool(&piece))
                    }
                    Event::HeapBlock(record) => BlockRecord::push_heap(found, &record, new),
                    _ => {}
                }
            });
        })
    }

    fn read<T: Timed + Send>(
        &self,
        buffers: &[u32],
        take: impl Fn(&mut Vec<T>, RawRecord<'_>, Option<HookId>, Moment) + Sync,
    ) -> Vec<Vec<T>> {
        self.etl.map_some(buffers, |area| {
            // As many as there are at most, of those that are many: a vector that grows is copied.
            let mut found = Vec::with_capacity(area.bytes.len() / POOL_RECORD_BYTES);
            for_each_moment(area, &self.rank, self.etl.before_first(), |raw, hook, moment| {
                // Heaps log under the GUID of their class: what has no hook id is looked at.
                if hook.is_none_or(|hook| self.hooks.contains(&hook)) {
                    take(&mut found, raw, hook, moment);
                }
            });
            in_order(found)
        })
    }

    fn decode(&self, raw: &RawRecord<'_>, take: impl FnOnce(&Record<'_>, Event<'_>)) {
        let Ok(record) = raw.read() else { return };
        if !hook_of(record.id).is_some_and(|hook| self.hooks.contains(&hook)) {
            return;
        }
        if let Decoded::Event { event, .. } = decode(&record) {
            take(&record, event);
        }
    }
}

/// A pool record with a kernel header, decoded where it lies.
#[inline(always)]
fn pool_record(raw: &RawRecord<'_>, hook: HookId, moment: Moment) -> Option<BlockRecord> {
    let action = match hook {
        POOL_ALLOC | SESSION_ALLOC => BlockAction::Alloc,
        POOL_FREE | SESSION_FREE => BlockAction::Free,
        _ => return None,
    };
    let (version, pointer) = (raw.kernel_version(), raw.header.pointer());
    let payload = Payload { hook, version, pointer, bytes: raw.kernel_payload()? };
    let is_of_session = matches!(hook, SESSION_ALLOC | SESSION_FREE);
    let read = if is_of_session { PoolPiece::read_session(&payload) } else { PoolPiece::read(&payload) };
    Some(BlockRecord::new(moment, raw.kernel_ids(), action).of_pool(&read.ok()?.value))
}

/// A block of a heap that was allocated or freed, logged with the class of heaps: decoded where it lies.
#[inline(always)]
fn heap_record(raw: &RawRecord<'_>, moment: Moment) -> Option<BlockRecord> {
    const CLASS: [u8; 16] = HEAP.to_bytes_le();
    let (kind, bytes) = raw.of_class(&CLASS)?;
    let hook = heap_hook(kind);
    let payload = Payload { hook, version: 0, pointer: raw.header.pointer(), bytes };
    let new = |action| BlockRecord::new(moment, raw.kernel_ids(), action);
    match hook {
        HEAP_ALLOC => Some(new(BlockAction::Alloc).of_alloc(&HeapAlloc::read(&payload).ok()?.value)),
        HEAP_FREE => {
            let HeapFree { heap, address, .. } = HeapFree::read(&payload).ok()?.value;
            Some(BlockRecord { heap, address, ..new(BlockAction::Free) })
        }
        _ => None,
    }
}
