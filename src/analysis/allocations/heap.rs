//! Blocks of Win32 heaps: a piece for each process, heap and address.
//!
//! Source: `docs/allocations.md` ("Heap").

use super::closing::Closing;
use super::counting::{Counting, Facts, Opening};
use super::figures::Reason;
use super::labels::ABSENT;
use super::lives::{LifeId, Owner};
use crate::event::heap_block::HeapRealloc;
use crate::load::allocation_rule::{LeftOut, Verdict};
use crate::load::allocations::{AllocationEvent, AllocationWhat};
use crate::moment::Moment;
use foldhash::{HashMap as FastMap, HashSet as FastSet};

/// Counters of the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeapCounts {
    /// Records of processes that have ended.
    pub after_end: u64,
    /// Records without a process.
    pub no_process: u64,
    /// Frees of blocks from before the trace: their size is not known.
    pub unknown_frees: u64,
    /// Allocations and reallocations that failed.
    pub left_out: LeftOut,
    /// Reallocations that moved and whose block was logged by an allocation of its own.
    pub realloc_summaries: u64,
}

/// A live block.
#[derive(Debug, Clone, Copy)]
struct Block {
    opening: Opening,
    bytes: u64,
}

/// The heaps of all processes.
#[derive(Debug, Default)]
pub struct Heaps {
    /// Blocks by address, of a process's heap.
    heaps: FastMap<(LifeId, u64), FastMap<u64, Block>>,
    of_life: FastMap<LifeId, FastSet<u64>>,
    /// Processes with a record.
    pub lives: FastSet<LifeId>,
    /// Counters.
    pub counts: HeapCounts,
}

/// Where a record is about a heap.
#[derive(Debug, Clone, Copy)]
struct Place {
    life: LifeId,
    heap: u64,
}

impl Heaps {
    /// A record.
    pub fn record(&mut self, event: &AllocationEvent, counting: &mut Counting<'_>) {
        let Some(id) = event.process_id else { return self.counts.no_process += 1 };
        let life = match counting.lives.of(id, event.moment) {
            Owner::Life(life) => life,
            Owner::Ended => return self.counts.after_end += 1,
            Owner::Nobody => return self.counts.no_process += 1,
        };
        self.lives.insert(life);
        let place = |heap| Place { life, heap };
        let mut has_block = |address: u64| {
            let verdict = Verdict::of_block(address);
            self.counts.left_out.note(verdict);
            verdict == Verdict::Allocates
        };
        match event.what {
            AllocationWhat::HeapAlloc(block) if has_block(block.address) => {
                self.open(place(block.heap), block.address, block.size_bytes, block.source, event, counting);
            }
            AllocationWhat::HeapFree(block) if block.address != 0 => {
                let is_known = self.close(place(block.heap), block.address, closing(event, Reason::Free), counting);
                self.counts.unknown_frees += u64::from(!is_known);
            }
            AllocationWhat::HeapRealloc(block) if has_block(block.address) => {
                self.reallocate(place(block.heap), &block, event, counting);
            }
            AllocationWhat::HeapReset { heap, is_destroyed } => {
                let reason = if is_destroyed { Reason::HeapDestroy } else { Reason::Lost };
                self.close_heap(place(heap), Some(closing(event, reason)), counting);
                self.of_life.get_mut(&life).into_iter().for_each(|heaps| _ = heaps.remove(&heap));
            }
            _ => {}
        }
    }

    fn reallocate(&mut self, place: Place, block: &HeapRealloc, event: &AllocationEvent, counting: &mut Counting<'_>) {
        let (new, old) = (block.address, block.old_address);
        let closing = closing(event, Reason::Realloc);
        let is_live = self.heaps.get(&(place.life, place.heap)).is_some_and(|blocks| blocks.contains_key(&new));
        if new != old && is_live {
            self.counts.realloc_summaries += 1;
            self.close(place, old, closing, counting);
            return;
        }
        if !self.close(place, old, closing, counting) && old != 0 {
            let heap = counting.labels.heap(place.heap);
            let opening = counting.before(block.old_size_bytes, &Facts { life: place.life, heap, ..Facts::default() });
            counting.close(opening, Some(old), block.old_size_bytes, Some(closing));
        }
        self.open(place, new, block.size_bytes, block.source, event, counting);
    }

    fn open(
        &mut self,
        place: Place,
        address: u64,
        bytes: u64,
        source: u32,
        event: &AllocationEvent,
        counting: &mut Counting<'_>,
    ) {
        let facts = Facts {
            life: place.life,
            thread: event.thread_id.unwrap_or(ABSENT),
            heap: counting.labels.heap(place.heap),
            source,
            stack: counting.labels.stack_at(event.moment),
            ..Facts::default()
        };
        let blocks = self.heaps.entry((place.life, place.heap)).or_insert_with(|| {
            self.of_life.entry(place.life).or_default().insert(place.heap);
            FastMap::default()
        });
        if let Some(old) = blocks.get(&address) {
            counting.close(old.opening, Some(address), old.bytes, Some(closing(event, Reason::Lost)));
        }
        let opening = counting.open(event.moment.time, bytes, &facts);
        blocks.insert(address, Block { opening, bytes });
    }

    /// Closes a block; false when it is not known.
    fn close(&mut self, place: Place, address: u64, closing: Closing, counting: &mut Counting<'_>) -> bool {
        let block = self.heaps.get_mut(&(place.life, place.heap)).and_then(|blocks| blocks.remove(&address));
        block.map(|block| counting.close(block.opening, Some(address), block.bytes, Some(closing))).is_some()
    }

    fn close_heap(&mut self, place: Place, closing: Option<Closing>, counting: &mut Counting<'_>) {
        let blocks = self.heaps.remove(&(place.life, place.heap)).unwrap_or_default();
        close_all(blocks, closing, counting);
    }

    /// A process has ended.
    pub fn end_process(&mut self, life: LifeId, moment: Moment, counting: &mut Counting<'_>) {
        let closing = Closing { moment, reason: Reason::ProcessEnd };
        let mut heaps: Vec<u64> = self.of_life.remove(&life).into_iter().flatten().collect();
        heaps.sort_unstable();
        for heap in heaps {
            self.close_heap(Place { life, heap }, Some(closing), counting);
        }
    }

    /// What is live at the end of the trace.
    pub fn end(&mut self, counting: &mut Counting<'_>) {
        let mut heaps: Vec<_> = std::mem::take(&mut self.heaps).into_iter().collect();
        heaps.sort_unstable_by_key(|(place, _)| *place);
        heaps.into_iter().for_each(|(_, blocks)| close_all(blocks, None, counting));
    }
}

/// Closes blocks, by address where their order is seen.
fn close_all(blocks: FastMap<u64, Block>, closing: Option<Closing>, counting: &mut Counting<'_>) {
    let has_order = counting.has_order();
    let close = |(address, block): (u64, Block)| counting.close(block.opening, Some(address), block.bytes, closing);
    if !has_order {
        return blocks.into_iter().for_each(close);
    }
    let mut sorted: Vec<(u64, Block)> = blocks.into_iter().collect();
    sorted.sort_unstable_by_key(|(address, _)| *address);
    sorted.into_iter().for_each(close);
}

fn closing(event: &AllocationEvent, reason: Reason) -> Closing {
    Closing { moment: event.moment, reason }
}
