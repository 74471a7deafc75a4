//! The live blocks of a part.

use super::super::counting::Opening;
use super::step::{LookUp, Steps, What};
use crate::load::stacks::frame_lists::ListId;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::collections::hash_map::Entry;
use std::vec;

/// Blocks that are looked for at a time. Most are in no cache: one after another, each look waits for memory; together they wait once.
const BATCH: usize = 32;

/// A live block.
#[derive(Debug, Clone, Copy)]
pub struct Live {
    opened: Ticks,
    /// Size.
    pub bytes: u64,
    code: ListId,
    /// Pool tag, perhaps with a mark.
    pub label: u32,
}

impl Live {
    fn new(step: &LookUp) -> Live {
        Live { opened: step.opening.time, bytes: step.bytes, code: step.opening.code, label: step.label }
    }

    /// What opened it.
    pub fn opening(&self) -> Opening {
        Opening { time: self.opened, code: self.code }
    }
}

/// Blocks of a heap by their address.
pub type Blocks = FastMap<u64, Live>;

/// What a part found at its steps, in their order.
#[derive(Debug)]
pub struct Found {
    is_live: vec::IntoIter<bool>,
    live: vec::IntoIter<Live>,
    gone: vec::IntoIter<Blocks>,
}

impl Found {
    /// The block that was live at the next step.
    #[inline]
    pub fn next(&mut self) -> Option<Live> {
        if self.is_live.next()? { self.live.next() } else { None }
    }

    /// The blocks of the next heap that is gone.
    pub fn next_gone(&mut self) -> Option<Blocks> {
        self.gone.next()
    }
}

/// A part, by heap.
#[derive(Debug, Default)]
pub struct Part {
    heaps: FastMap<u32, Blocks>,
}

impl Part {
    /// Goes through the steps of all parts, side by side; what each found.
    pub fn look_up_all(parts: &mut [Part], steps: &Steps) -> Vec<Found> {
        let own = parts.par_iter_mut().zip(&steps.of_part).with_max_len(1);
        own.map(|(part, own)| part.look_up_own(own)).collect()
    }

    fn look_up_own(&mut self, own: &[LookUp]) -> Found {
        let mut is_live = Vec::with_capacity(own.len());
        let (mut found, mut gone) = (Vec::with_capacity(own.len()), Vec::new());
        for batch in own.chunks(BATCH) {
            let is_near = |step: &&LookUp| self.heaps.get(&step.heap).is_some_and(|b| b.contains_key(&step.address));
            std::hint::black_box(batch.iter().filter(is_near).count());
            for step in batch {
                if let What::Gone(_) = step.what {
                    gone.push(self.heaps.remove(&step.heap).unwrap_or_default());
                    continue;
                }
                let live = self.look_up(step);
                is_live.push(live.is_some());
                found.extend(live);
            }
        }
        Found { is_live: is_live.into_iter(), live: found.into_iter(), gone: gone.into_iter() }
    }

    /// The block that was live at a step; the one that it opens is live after it.
    #[inline]
    fn look_up(&mut self, step: &LookUp) -> Option<Live> {
        match step.what {
            What::Alloc => self.heaps.entry(step.heap).or_default().insert(step.address, Live::new(step)),
            What::ReallocNew | What::Listed { is_compared: false, .. } => {
                match self.heaps.entry(step.heap).or_default().entry(step.address) {
                    Entry::Occupied(live) => Some(*live.get()),
                    Entry::Vacant(place) => {
                        place.insert(Live::new(step));
                        None
                    }
                }
            }
            What::Listed { .. } => self.heaps.get(&step.heap)?.get(&step.address).copied(),
            What::Free | What::ReallocOld | What::Gone(_) => self.heaps.get_mut(&step.heap)?.remove(&step.address),
        }
    }

    /// All blocks, by the number of their heap and their address.
    pub fn into_blocks(self) -> impl Iterator<Item = (u32, u64, Live)> {
        self.heaps.into_iter().flat_map(|(heap, blocks)| blocks.into_iter().map(move |(at, live)| (heap, at, live)))
    }
}
