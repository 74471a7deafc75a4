//! The live blocks of a part.

use super::super::replay_result::FreedAgain;
use super::freed_addresses::FreedAddresses;
use super::live_blocks::{Blocks, Live, Sought};
use super::step::{GROUP, PARTS, Step, Steps, What};
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::{slice, vec};

/// What a part found at its steps.
#[derive(Debug, Default)]
pub struct Found {
    /// For each group of steps a bit for each step: 1 where a block was live.
    is_live: Vec<u32>,
    /// These blocks.
    live: Vec<Live>,
    /// The blocks of heaps that are gone.
    gone: Vec<Blocks>,
}

const _: () = assert!(GROUP == u32::BITS as usize);

/// The steps of a part, with what it found at them.
#[derive(Debug)]
pub struct Outcomes<'s> {
    steps: &'s Steps,
    part: usize,
    /// Number of the next group.
    next: usize,
    group: slice::Iter<'s, Step>,
    is_live_in_group: u32,
    is_live: vec::IntoIter<u32>,
    live: vec::IntoIter<Live>,
    gone: vec::IntoIter<Blocks>,
}

impl<'s> Outcomes<'s> {
    /// Those of all parts.
    pub fn of_parts(steps: &'s Steps, found: Vec<Found>) -> Vec<Outcomes<'s>> {
        let new = |(part, Found { is_live, live, gone }): (usize, Found)| {
            let (is_live, live, gone) = (is_live.into_iter(), live.into_iter(), gone.into_iter());
            Outcomes { steps, part, next: 0, group: [].iter(), is_live_in_group: 0, is_live, live, gone }
        };
        found.into_iter().enumerate().map(new).collect()
    }

    /// The next step, and the block that was live then.
    #[inline(always)]
    pub fn next(&mut self) -> Option<(&'s Step, Option<Live>)> {
        if self.group.len() == 0 {
            self.next_group()?;
        }
        let step = self.group.next()?;
        let is_live = self.is_live_in_group & 1 != 0;
        self.is_live_in_group >>= 1;
        Some((step, if is_live { self.live.next() } else { None }))
    }

    /// Loads all of the next group at once. Parts take turns step by step, so nothing else would load ahead for so many of them.
    #[inline(never)]
    fn next_group(&mut self) -> Option<()> {
        let group = self.steps.group(self.part, self.next)?;
        self.next += 1;
        self.group = group.iter();
        self.is_live_in_group = self.is_live.next().unwrap_or(0);
        let live = self.live.as_slice().get(..self.is_live_in_group.count_ones() as usize).unwrap_or_default();
        let loaded = group.iter().fold(0, |sum, step| sum ^ step.address);
        std::hint::black_box(live.iter().fold(loaded, |sum, live| sum ^ live.bytes));
        Some(())
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
}

impl Default for Parts {
    fn default() -> Self {
        Parts { parts: std::array::from_fn(|_| Part::default()) }
    }
}

impl Parts {
    /// Goes through the steps of all parts, side by side; what each found.
    pub fn look_up(&mut self, steps: &Steps) -> Vec<Found> {
        let parts = self.parts.par_iter_mut().enumerate().with_max_len(1);
        parts.map(|(number, part)| part.look_up_all(steps.of_part(number), steps.count_of(number))).collect()
    }

    /// Frees of what was freed already, of all parts.
    pub fn freed_again(&self) -> FreedAgain {
        let mut all = FreedAgain::default();
        self.parts.iter().for_each(|part| all += part.freed.again());
        all
    }

    /// All blocks, by the number of their heap and their address.
    pub fn into_blocks(self) -> impl Iterator<Item = (u32, u64, Live)> {
        self.parts.into_iter().flat_map(Part::into_blocks)
    }
}

/// Heaps of [`Part::recent`]; a power of two.
const RECENT: usize = 8;

/// A part, by heap.
#[derive(Debug, Default)]
struct Part {
    tables: Vec<Blocks>,
    /// Numbers of the tables of heaps.
    numbers: FastMap<u32, u32>,
    /// Heaps that were asked for last, with their tables, by the last bits of their numbers.
    recent: [Option<(u32, u32)>; RECENT],
    /// Tables of heaps that are gone.
    unused: Vec<u32>,
    freed: FreedAddresses,
}

impl Part {
    /// Looks up groups of steps. Most blocks are in no cache: one after another, each look waits for memory; those of a group wait
    /// together, once for the numbers and once for the blocks.
    fn look_up_all<'s>(&mut self, groups: impl Iterator<Item = &'s [Step]>, count: usize) -> Found {
        let mut found = Found {
            is_live: Vec::with_capacity(count.div_ceil(GROUP)),
            live: Vec::with_capacity(count),
            gone: Vec::new(),
        };
        for group in groups {
            let (mut is_live, mut bit) = (0, 1u32);
            for steps in group.chunk_by(|before, step| !before.is_of_all() && !step.is_of_all()) {
                if let [Step { what: What::Gone(_), heap, .. }] = steps {
                    found.gone.push(self.remove(*heap));
                    bit = bit.rotate_left(1);
                    continue;
                }
                let sought = self.load(steps);
                for (step, sought) in steps.iter().zip(sought) {
                    let live =
                        sought.and_then(|(table, sought)| self.tables.get_mut(table as usize)?.step(step, sought));
                    self.freed.note(step, live.is_some());
                    is_live |= if live.is_some() { bit } else { 0 };
                    bit = bit.rotate_left(1);
                    found.live.extend(live);
                }
            }
            found.is_live.push(is_live);
        }
        found
    }

    /// Where the blocks of a group are looked for, by their tables; what these searches look at is in the cache then.
    #[inline(always)]
    fn load(&mut self, steps: &[Step]) -> [Option<(u32, Sought)>; GROUP] {
        let mut sought = [None; GROUP];
        for (step, sought) in steps.iter().zip(&mut sought) {
            *sought = self.seek(step);
        }
        let tables = &self.tables;
        let load = |sought: &Option<(u32, Sought)>, load: fn(&Blocks, Sought) -> u64| {
            sought.and_then(|(table, sought)| Some(load(tables.get(table as usize)?, sought))).unwrap_or(0)
        };
        // Nothing else is done between the looks, so that as many as can be are on their way at a time.
        let loaded = sought.iter().fold(0, |sum, sought| sum ^ load(sought, Blocks::load));
        let frees = steps.iter().zip(&sought).filter(|(step, _)| step.what == What::Free);
        let loaded = frees.fold(loaded, |sum, (_, sought)| sum ^ load(sought, Blocks::load_block));
        std::hint::black_box(loaded);
        sought
    }

    /// The number of a step's table, and what is looked for in it. `None` where its heap has no blocks.
    #[inline(always)]
    fn seek(&mut self, step: &Step) -> Option<(u32, Sought)> {
        let number = match self.recent.get(step.heap as usize % RECENT) {
            Some(Some((heap, number))) if *heap == step.heap => *number,
            _ => self.number(step)?,
        };
        Some((number, self.tables.get(number as usize)?.seek(step.address)))
    }

    /// The number of a heap's table; there is one from the first step on that puts a block there.
    #[inline(never)]
    fn number(&mut self, step: &Step) -> Option<u32> {
        let known = self.numbers.get(&step.heap).copied();
        let number = match known {
            Some(number) => number,
            None if !step.can_add() => return None,
            None => {
                let number = self.unused.pop().unwrap_or(self.tables.len() as u32);
                if number as usize == self.tables.len() {
                    self.tables.push(Blocks::default());
                }
                self.numbers.insert(step.heap, number);
                number
            }
        };
        self.recent.get_mut(step.heap as usize % RECENT).into_iter().for_each(|slot| *slot = Some((step.heap, number)));
        Some(number)
    }

    /// The blocks of a heap, which has none then.
    fn remove(&mut self, heap: u32) -> Blocks {
        self.recent = [None; RECENT];
        let Some(number) = self.numbers.remove(&heap) else { return Blocks::default() };
        self.unused.push(number);
        self.tables.get_mut(number as usize).map(std::mem::take).unwrap_or_default()
    }

    fn into_blocks(mut self) -> impl Iterator<Item = (u32, u64, Live)> {
        let numbers = std::mem::take(&mut self.numbers);
        numbers.into_iter().flat_map(move |(heap, number)| {
            let blocks = self.tables.get_mut(number as usize).map(std::mem::take).unwrap_or_default();
            blocks.into_blocks().map(move |(address, live)| (heap, address, live))
        })
    }
}

impl Step {
    /// True for a step of all parts.
    fn is_of_all(&self) -> bool {
        matches!(self.what, What::Gone(_))
    }

    /// True where a block is live after the step.
    fn can_add(&self) -> bool {
        matches!(self.what, What::Alloc | What::ReallocNew | What::Listed { is_compared: false, .. })
    }
}

impl Blocks {
    /// The block that was live at a step; the one that it opens is live after it.
    #[inline(always)]
    fn step(&mut self, step: &Step, sought: Sought) -> Option<Live> {
        match step.what {
            What::Alloc => self.replace(sought, Live::new(step)),
            What::ReallocNew | What::Listed { is_compared: false, .. } => self.add_if_free(sought, Live::new(step)),
            What::Listed { .. } => self.get(sought),
            What::Free | What::ReallocOld | What::Gone(_) => self.remove(sought),
        }
    }
}
