//! Steps: what happened to blocks, in order, ready to be looked up. Blocks are divided into parts by their address, so that the
//! parts are looked up side by side, and each finds its own in little memory.

use super::super::counting::Opening;
use super::super::piece::{BEFORE, Reason};
use crate::load::stacks::frame_lists::ListId;
use crate::moment::Moment;

/// Parts of all blocks; a power of two.
pub const PARTS: usize = 64;

/// What happens at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A block is allocated.
    Alloc,
    /// A block is freed.
    Free,
    /// The old block of a reallocation; the step of the new one follows.
    ReallocOld,
    /// The new block of a reallocation.
    ReallocNew,
    /// All blocks of the heap are gone.
    Gone(Reason),
    /// A snapshot lists a block. `is_compared`: a record or the start snapshot had it, so it is only looked for.
    Listed {
        /// True for the snapshot at the end.
        is_end: bool,
        /// True where it is only looked for.
        is_compared: bool,
    },
}

/// One step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// When it was logged.
    pub moment: Moment,
    /// Address of the block.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Number of its heap, or its session.
    pub heap: u32,
    /// What a block has in common with others, if this opens one.
    pub code: ListId,
    /// See [`super::live_blocks::Live::label`].
    pub label: u32,
    /// True for paged pool.
    pub is_paged: bool,
    /// True for a free in a heap that was created in the trace.
    pub is_of_new_heap: bool,
    /// What happens.
    pub what: What,
}

impl Step {
    /// At a block.
    pub fn new(moment: Moment, (heap, address, bytes): (u32, u64, u64), what: What) -> Step {
        let (is_paged, is_of_new_heap) = (false, false);
        Step { moment, address, bytes, heap, code: ListId(0), label: 0, is_paged, is_of_new_heap, what }
    }

    /// The opening of its block.
    pub fn opening(&self) -> Opening {
        let is_before = matches!(self.what, What::Listed { .. });
        Opening { time: if is_before { BEFORE } else { self.moment.time }, code: self.code }
    }
}

/// The part of a block by the leading bits of its hash. Parts are of different sizes, up to one and its double: so their tables do not
/// grow to the double at the same time, and take what tables of all sizes take on average.
const PART_OF: [u8; 1024] = {
    let mut parts = [0; 1024];
    let mut slot = 0;
    while slot < parts.len() {
        // The logarithm of 1 + slot / 1024, bit by bit.
        let (mut number, mut part, mut bit) = ((1 << 30) + ((slot as u64) << 20), 0, PARTS / 2);
        while bit > 0 {
            number = (number * number) >> 30;
            if number >= 2 << 30 {
                number >>= 1;
                part += bit;
            }
            bit /= 2;
        }
        parts[slot] = part as u8;
        slot += 1;
    }
    parts
};

/// Whoever makes all addresses lie in one part gains nothing: they are looked up as before.
#[inline]
fn part_of(step: &Step) -> u8 {
    let hash = (step.address >> 3 ^ u64::from(step.heap) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    PART_OF.get((hash >> (u64::BITS - PART_OF.len().ilog2())) as usize).copied().unwrap_or(0)
}

/// Part of a step that is about all parts.
pub const ALL_PARTS: u8 = u8::MAX;

/// Steps that a part has one after the other; a power of two.
pub const GROUP: usize = 32;

/// Steps of a slice. Those of a part are together in groups: one by one, each would be in a cache line of which a part needs nothing
/// else. In a list for each part, the next steps of all parts would be at equal places of pages, for which a cache has little room.
#[derive(Debug, Default)]
pub struct Steps {
    /// The parts of all steps, in order.
    order: Vec<u8>,
    /// Groups, in the order in which they were begun. The last ones may be from before.
    groups: Vec<[Step; GROUP]>,
    /// Groups that were begun.
    begun: usize,
    of_parts: Vec<OfPart>,
}

/// The steps of a part.
#[derive(Debug, Clone, Default)]
struct OfPart {
    groups: Vec<u32>,
    /// Steps of the last group.
    last: usize,
}

impl Steps {
    /// No steps, with room for about so many; `room`: steps of which nothing is needed any more.
    pub fn with_room(room: Steps, len: usize) -> Steps {
        let Steps { mut order, mut groups, mut of_parts, .. } = room;
        order.clear();
        order.reserve_exact(len);
        groups.reserve_exact((len / GROUP + PARTS).saturating_sub(groups.len()));
        of_parts.resize(PARTS, OfPart::default());
        of_parts.iter_mut().for_each(|part| part.groups.clear());
        Steps { order, groups, begun: 0, of_parts }
    }

    /// Adds a step.
    #[inline(always)]
    pub fn push(&mut self, step: Step) {
        if matches!(step.what, What::Gone(_)) {
            self.order.push(ALL_PARTS);
            return (0..PARTS).for_each(|part| self.push_to(part, step));
        }
        let part = part_of(&step);
        self.order.push(part);
        self.push_to(usize::from(part), step);
    }

    #[inline]
    fn push_to(&mut self, part: usize, step: Step) {
        let Some(own) = self.of_parts.get_mut(part) else { return };
        if own.groups.is_empty() || own.last == GROUP {
            own.groups.push(self.begun as u32);
            own.last = 0;
            // The whole group comes into the cache at once.
            match self.groups.get_mut(self.begun) {
                Some(group) => *group = [step; GROUP],
                None => self.groups.push([step; GROUP]),
            }
            self.begun += 1;
        }
        let group = own.groups.last().and_then(|group| self.groups.get_mut(*group as usize));
        group.and_then(|group| group.get_mut(own.last)).into_iter().for_each(|slot| *slot = step);
        own.last += 1;
    }

    /// A group of the steps of a part; `None` after the last one.
    pub fn group(&self, part: usize, number: usize) -> Option<&[Step]> {
        let own = self.of_parts.get(part)?;
        let group = self.groups.get(*own.groups.get(number)? as usize)?;
        group.get(..if number + 1 == own.groups.len() { own.last } else { GROUP })
    }

    /// The steps of a part, in groups.
    pub fn of_part(&self, part: usize) -> impl Iterator<Item = &[Step]> {
        (0..).map_while(move |number| self.group(part, number))
    }

    /// How many steps a part has.
    pub fn count_of(&self, part: usize) -> usize {
        self.of_parts.get(part).map_or(0, |own| own.groups.len().saturating_sub(1) * GROUP + own.last)
    }

    /// The parts of all steps, in order; [`ALL_PARTS`] for what is about all.
    pub fn order(&self) -> &[u8] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_get_their_share() {
        let mut blocks = [0u32; PARTS];
        for number in 0..1 << 18 {
            let at = (u32::MAX, 0xffff_a000_0000_1000 + number * 48, 48);
            blocks[usize::from(part_of(&Step::new(Moment::FIRST, at, What::Free)))] += 1;
        }
        let (least, most) = (blocks.iter().min().unwrap(), blocks.iter().max().unwrap());
        assert!(*least > 2000 && *most < 8000 && blocks[PARTS - 1] > blocks[0] * 3 / 2, "{blocks:?}");
    }

    /// Steps of one slice and of the next one, which uses the room of the first: each part has its own in order.
    #[test]
    fn parts_have_their_steps_in_order() {
        let step = |number: u64, what| Step::new(Moment::FIRST, (1, number * 48, number), what);
        let mut steps = Steps::default();
        for (slice, count) in [3000u64, 500].into_iter().enumerate() {
            steps = Steps::with_room(steps, 10);
            for number in 0..count {
                steps.push(step(number + slice as u64, What::Free));
                if number % 100 == 7 {
                    steps.push(step(number, What::Gone(Reason::Free)));
                }
            }
            let mut met = vec![0; PARTS];
            for (part, met) in met.iter_mut().enumerate() {
                let in_order = steps.order().iter().filter(|of| usize::from(**of) == part || **of == ALL_PARTS).count();
                assert_eq!((steps.of_part(part).flatten().count(), steps.count_of(part)), (in_order, in_order));
                let of_part = steps.of_part(part).flatten();
                let frees: Vec<&Step> = of_part.filter(|step| step.what == What::Free).collect();
                assert!(frees.is_sorted_by_key(|step| step.bytes));
                assert!(frees.iter().all(|step| usize::from(part_of(step)) == part));
                *met = frees.len() as u64;
            }
            assert_eq!(met.iter().sum::<u64>(), count);
        }
    }
}
