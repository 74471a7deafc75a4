//! Blocks of Win32 heaps: a piece for each process, heap and address.
//!
//! Source: `docs/allocations.md` ("Heap").

use super::super::counting::{Counting, Facts};
use super::super::piece::Reason;
use super::super::piece_end::Closing;
use super::super::process_lifetimes::{LifeId, Owner};
use super::live_blocks::{Blocks, Live};
use super::step::{Step, Steps, What};
use crate::load::allocation_records::{BlockAction, BlockRecord};
use crate::load::allocation_rules::{LeftOut, Verdict};
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
    /// Frees of address 0, which free nothing.
    pub frees_of_nothing: u64,
    /// Frees of unknown blocks in heaps that were created in the trace, and in which no record allocated a block.
    pub frees_of_new_heaps: u64,
    /// Allocations and reallocations that failed.
    pub left_out: LeftOut,
    /// Allocations at the address of a live block.
    pub allocated_again: u64,
    /// Reallocations that moved and whose block was logged by an allocation of its own.
    pub realloc_summaries: u64,
}

/// Heaps of [`Heaps::recent`]; a power of two.
const RECENT: usize = 256;

/// A heap of a process.
#[derive(Debug, Clone, Copy)]
struct Heap {
    life: LifeId,
    handle: u64,
    /// Number of the handle among the labels.
    label: u32,
    /// True when a block was allocated since it was created.
    has_blocks: bool,
    /// True when it was created in the trace.
    is_new: bool,
}

/// The heaps of all processes, but what is live.
#[derive(Debug, Default)]
pub struct Heaps {
    all: Vec<Heap>,
    numbers: FastMap<(LifeId, u64), u32>,
    /// Numbers that were asked for last, by their last bits: most are asked for again and again.
    recent: Vec<u32>,
    /// Those with blocks.
    of_life: FastMap<LifeId, FastSet<u32>>,
    /// Those that were created in the trace.
    created: FastSet<(LifeId, u64)>,
    /// Processes with a record.
    pub lives: FastSet<LifeId>,
    /// Counters.
    pub counts: HeapCounts,
    /// The old block of a reallocation whose new one has its turn next.
    old_record: Option<BlockRecord>,
    old_step: Option<(Step, Option<Live>)>,
}

impl Heaps {
    /// A record.
    pub fn prepare(&mut self, record: &BlockRecord, counting: &mut Counting<'_>, steps: &mut Steps) {
        if record.action == BlockAction::ReallocOld {
            self.old_record = Some(*record);
            return;
        }
        let old = self.old_record.take();
        if record.process_id == u32::MAX {
            return self.counts.no_process += 1;
        }
        let life = match counting.lives.of(record.process_id, record.moment) {
            Owner::Life(life) => life,
            Owner::Ended => return self.counts.after_end += 1,
            Owner::Nobody => return self.counts.no_process += 1,
        };
        let known = self.number(life, record.heap);
        match record.action {
            BlockAction::HeapCreate => {
                self.gone(known, record.moment, Reason::Lost, steps);
                self.note_created(life, record.heap, known);
            }
            BlockAction::HeapDestroy => self.gone(known, record.moment, Reason::HeapDestroy, steps),
            BlockAction::Free if record.address == 0 => self.counts.frees_of_nothing += 1,
            BlockAction::Free => match known {
                Some(number) => {
                    let step = Step::new(record.moment, (number, record.address, 0), What::Free);
                    let is_of_new_heap = self.all.get(number as usize).is_some_and(|heap| heap.is_new);
                    steps.push(Step { is_of_new_heap, ..step });
                }
                None => {
                    self.counts.unknown_frees += 1;
                    self.counts.frees_of_new_heaps += u64::from(self.created.contains(&(life, record.heap)));
                }
            },
            BlockAction::Alloc | BlockAction::ReallocNew | BlockAction::ReallocOld => {
                let verdict = Verdict::of_block(record.address, record.bytes);
                self.counts.left_out.note(verdict);
                if verdict != Verdict::Allocates {
                    return;
                }
                let number = known.unwrap_or_else(|| self.add(life, record.heap, counting));
                let at = |record: &BlockRecord| (number, record.address, record.bytes);
                if let Some(old) = old.filter(|old| old.address != 0) {
                    steps.push(Step::new(old.moment, at(&old), What::ReallocOld));
                }
                self.note_blocks(number);
                let what = if record.action == BlockAction::Alloc { What::Alloc } else { What::ReallocNew };
                let mut step = Step::new(record.moment, at(record), what);
                let facts = Facts {
                    thread: record.thread_id,
                    source: record.label,
                    stack: counting.labels.stack_at(record.moment),
                    ..self.facts(number)
                };
                step.code = counting.code(&facts, record.bytes);
                steps.push(step);
            }
        }
    }

    /// The number of a heap, where one of its blocks was allocated; its process is one with a record.
    #[inline]
    fn number(&mut self, life: LifeId, handle: u64) -> Option<u32> {
        let is_it = |number: u32| self.all.get(number as usize).is_some_and(|h| h.life == life && h.handle == handle);
        let slot = ((handle >> 16) as u32 ^ life) as usize % RECENT;
        if let Some(recent) = self.recent.get(slot).copied().filter(|recent| is_it(*recent)) {
            return Some(recent);
        }
        self.lives.insert(life);
        let number = self.numbers.get(&(life, handle)).copied()?;
        self.recent.resize(RECENT, u32::MAX);
        self.recent.get_mut(slot).into_iter().for_each(|recent| *recent = number);
        Some(number)
    }

    fn add(&mut self, life: LifeId, handle: u64, counting: &mut Counting<'_>) -> u32 {
        let number = self.all.len() as u32;
        let label = counting.labels.heap(handle);
        let is_new = self.created.contains(&(life, handle));
        self.all.push(Heap { life, handle, label, has_blocks: false, is_new });
        self.numbers.insert((life, handle), number);
        number
    }

    fn note_created(&mut self, life: LifeId, handle: u64, known: Option<u32>) {
        self.created.insert((life, handle));
        let heap = known.and_then(|number| self.all.get_mut(number as usize));
        heap.into_iter().for_each(|heap| heap.is_new = true);
    }

    fn note_blocks(&mut self, number: u32) {
        if let Some(heap) = self.all.get_mut(number as usize).filter(|heap| !heap.has_blocks) {
            heap.has_blocks = true;
            self.of_life.entry(heap.life).or_default().insert(number);
        }
    }

    /// All that is known of the blocks of a heap.
    fn facts(&self, number: u32) -> Facts {
        let heap = self.all.get(number as usize);
        heap.map_or_else(Facts::default, |heap| Facts { life: heap.life, heap: heap.label, ..Facts::default() })
    }

    /// A heap is created or destroyed: what it held is gone.
    fn gone(&mut self, known: Option<u32>, moment: Moment, reason: Reason, steps: &mut Steps) {
        let Some(number) = known else { return };
        let Some(heap) = self.all.get_mut(number as usize).filter(|heap| heap.has_blocks) else { return };
        heap.has_blocks = false;
        self.of_life.get_mut(&heap.life).into_iter().for_each(|heaps| _ = heaps.remove(&number));
        steps.push(Step::new(moment, (number, 0, 0), What::Gone(reason)));
    }

    /// A process has ended.
    pub fn prepare_end(&mut self, life: LifeId, moment: Moment, steps: &mut Steps) {
        let heaps = self.of_life.remove(&life).unwrap_or_default();
        let mut heaps: Vec<(u64, u32)> = heaps.into_iter().map(|number| (self.place(number).1, number)).collect();
        heaps.sort_unstable();
        for (_, number) in heaps {
            self.gone(Some(number), moment, Reason::ProcessEnd, steps);
        }
    }

    /// Process and handle of a heap.
    pub fn place(&self, number: u32) -> (LifeId, u64) {
        self.all.get(number as usize).map_or((0, 0), |heap| (heap.life, heap.handle))
    }

    /// A step that was looked up, with the block that was live.
    #[inline]
    pub fn count(&mut self, step: &Step, live: Option<Live>, counting: &mut Counting<'_>) {
        match step.what {
            What::Free => match live {
                Some(live) => close(step, &live, Reason::Free, counting),
                None => self.counts.unknown_frees += 1,
            },
            What::ReallocOld => self.old_step = Some((*step, live)),
            What::ReallocNew => {
                let old = self.old_step.take();
                let is_summary = live.is_some();
                self.counts.realloc_summaries += u64::from(is_summary);
                match old {
                    Some((old, Some(live))) => close(&old, &live, Reason::Realloc, counting),
                    Some((old, None)) if !is_summary => {
                        let facts = self.facts(old.heap);
                        let opening = counting.before(old.bytes, &facts);
                        let closing = Some(Closing { moment: old.moment, reason: Reason::Realloc });
                        counting.close(opening, Some(old.address), old.bytes, closing);
                    }
                    _ => {}
                }
                if !is_summary {
                    counting.opened(step.opening(), step.bytes);
                }
            }
            _ => {
                self.counts.allocated_again += u64::from(live.is_some());
                live.iter().for_each(|live| close(step, live, Reason::Lost, counting));
                counting.opened(step.opening(), step.bytes);
            }
        }
    }

    /// A heap is gone, with these blocks.
    pub fn count_gone(step: &Step, reason: Reason, blocks: impl Iterator<Item = Blocks>, counting: &mut Counting<'_>) {
        let mut blocks: Vec<(u64, Live)> = blocks.flat_map(Blocks::into_blocks).collect();
        if counting.has_order() {
            blocks.sort_unstable_by_key(|(address, _)| *address);
        }
        let closing = Some(Closing { moment: step.moment, reason });
        for (address, live) in blocks {
            counting.close(live.opening(), Some(address), live.bytes, closing);
        }
    }
}

fn close(step: &Step, live: &Live, reason: Reason, counting: &mut Counting<'_>) {
    let closing = Some(Closing { moment: step.moment, reason });
    counting.close(live.opening(), Some(step.address), live.bytes, closing);
}
