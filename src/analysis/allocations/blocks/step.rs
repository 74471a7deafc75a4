//! Steps: what happened to blocks, in order, ready to be looked up. Blocks are divided into parts by their address, so that the
//! parts are looked up side by side, and each finds its own in little memory.

use super::super::counting::Opening;
use super::super::figures::{BEFORE, Reason};
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
    /// See [`super::table::Live::label`].
    pub label: u32,
    /// True for paged pool.
    pub is_paged: bool,
    /// What happens.
    pub what: What,
    part: u8,
}

impl Step {
    /// At a block.
    pub fn new(moment: Moment, (heap, address, bytes): (u32, u64, u64), what: What) -> Step {
        Step { moment, address, bytes, heap, code: ListId(0), label: 0, is_paged: false, what, part: 0 }
    }

    /// The opening of its block.
    pub fn opening(&self) -> Opening {
        let is_before = matches!(self.what, What::Listed { .. });
        Opening { time: if is_before { BEFORE } else { self.moment.time }, code: self.code }
    }

    /// Its part; none for what is about all.
    pub fn part(&self) -> Option<usize> {
        (!matches!(self.what, What::Gone(_))).then_some(usize::from(self.part))
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

/// Steps of a slice, in order.
#[derive(Debug, Default)]
pub struct Steps {
    /// All.
    pub all: Vec<Step>,
}

impl Steps {
    /// Adds a step.
    #[inline]
    pub fn push(&mut self, mut step: Step) {
        step.part = part_of(&step);
        self.all.push(step);
    }

    /// The numbers of the steps of each part, in order.
    pub fn divide(&self, of_part: &mut [Vec<u32>; PARTS]) {
        of_part.iter_mut().for_each(Vec::clear);
        for (number, step) in (0..).zip(&self.all) {
            match step.part() {
                Some(part) => of_part.get_mut(part).into_iter().for_each(|own| own.push(number)),
                None => of_part.iter_mut().for_each(|own| own.push(number)),
            }
        }
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
}
