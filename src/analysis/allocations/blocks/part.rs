//! The live blocks of a part.

use super::step::{PARTS, Step, Steps, What};
use super::table::{Blocks, Live};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::vec;

/// Blocks that are loaded at a time. Most are in no cache: one after another, each look waits for memory; together they wait once.
const BATCH: usize = 32;

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

/// All live blocks, in parts.
#[derive(Debug)]
pub struct Parts {
    parts: [Part; PARTS],
    /// The steps of each part in a slice.
    steps: [Vec<u32>; PARTS],
}

impl Default for Parts {
    fn default() -> Self {
        Parts { parts: std::array::from_fn(|_| Part::default()), steps: std::array::from_fn(|_| Vec::new()) }
    }
}

impl Parts {
    /// Goes through the steps of all parts, side by side; what each found.
    pub fn look_up(&mut self, steps: &Steps) -> Vec<Found> {
        steps.divide(&mut self.steps);
        let own = self.parts.par_iter_mut().zip(&self.steps).with_max_len(1);
        own.map(|(part, own)| part.look_up_own(own, &steps.all)).collect()
    }

    /// All blocks, by the number of their heap and their address.
    pub fn into_blocks(self) -> impl Iterator<Item = (u32, u64, Live)> {
        let of_heap = |(heap, blocks): (u32, Blocks)| blocks.into_blocks().map(move |(at, live)| (heap, at, live));
        self.parts.into_iter().flat_map(move |part| part.heaps.into_iter().flat_map(of_heap))
    }
}

/// A part, by heap.
#[derive(Debug, Default)]
struct Part {
    heaps: FastMap<u32, Blocks>,
}

impl Part {
    fn look_up_own(&mut self, own: &[u32], all: &[Step]) -> Found {
        let mut is_live = Vec::with_capacity(own.len());
        let (mut found, mut gone) = (Vec::with_capacity(own.len()), Vec::new());
        for batch in own.chunks(BATCH) {
            let steps = || batch.iter().filter_map(|number| all.get(*number as usize));
            let load = |step: &Step| self.heaps.get(&step.heap).map_or(0, |blocks| blocks.load(step.address));
            std::hint::black_box(steps().fold(0, |sum, step| sum ^ load(step)));
            for step in steps() {
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
    fn look_up(&mut self, step: &Step) -> Option<Live> {
        match step.what {
            What::Alloc => self.heaps.entry(step.heap).or_default().replace(step.address, Live::new(step)),
            What::ReallocNew | What::Listed { is_compared: false, .. } => {
                self.heaps.entry(step.heap).or_default().add_if_free(step.address, Live::new(step))
            }
            What::Listed { .. } => self.heaps.get(&step.heap)?.get(step.address),
            What::Free | What::ReallocOld | What::Gone(_) => self.heaps.get_mut(&step.heap)?.remove(step.address),
        }
    }
}
