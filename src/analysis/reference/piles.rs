//! Steps of many buckets in chunks of one size, which go from one bucket to another: a vector for each bucket would keep
//! the room of its largest slab for good, several times what one slab needs.

use crate::analysis::reference::packed::PackedStep;

/// Bits of a position in a chunk.
pub const CHUNK_BITS: u32 = 8;

/// Steps of a chunk: 12 KiB.
const CHUNK: usize = 1 << CHUNK_BITS;

/// The steps of one bucket, in the order in which they were put there.
#[derive(Debug, Default)]
struct Pile {
    full: Vec<Vec<PackedStep>>,
    open: Vec<PackedStep>,
}

/// Steps by bucket.
#[derive(Debug)]
pub struct Piles {
    piles: Vec<Pile>,
    /// Empty chunks.
    spare: Vec<Vec<PackedStep>>,
}

impl Piles {
    /// So many empty buckets.
    pub fn new(buckets: usize) -> Piles {
        Piles { piles: (0..buckets).map(|_| Pile::default()).collect(), spare: Vec::new() }
    }

    /// Adds a step to a bucket.
    #[inline(always)]
    pub fn push(&mut self, bucket: usize, step: PackedStep) {
        let Some(pile) = self.piles.get_mut(bucket) else { return };
        if pile.open.len() == pile.open.capacity() {
            pile.turn(&mut self.spare);
        }
        pile.open.push(step);
    }

    /// The steps of a bucket.
    pub fn chunks(&self, bucket: usize) -> impl Iterator<Item = &[PackedStep]> {
        let pile = self.piles.get(bucket);
        pile.into_iter().flat_map(|pile| pile.full.iter().chain([&pile.open])).map(Vec::as_slice)
    }

    /// Empties all buckets; `keep` gets each step with its bucket.
    pub fn drain(&mut self, mut keep: impl FnMut(usize, PackedStep)) {
        for (bucket, pile) in self.piles.iter_mut().enumerate() {
            let open = (!pile.open.is_empty()).then(|| std::mem::take(&mut pile.open));
            for mut chunk in pile.full.drain(..).chain(open) {
                chunk.drain(..).for_each(|step| keep(bucket, step));
                self.spare.push(chunk);
            }
        }
    }

    /// Empties all buckets.
    pub fn clear(&mut self) {
        self.drain(|_, _| ());
    }
}

impl Pile {
    /// Begins another chunk.
    #[cold]
    fn turn(&mut self, spare: &mut Vec<Vec<PackedStep>>) {
        let next = spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
        let full = std::mem::replace(&mut self.open, next);
        if !full.is_empty() {
            self.full.push(full);
        }
    }
}
