//! Values of pages in blocks of 64 pages, all in one vector.
//!
//! Why not a vector for each block: it would call the allocator at every change. Shards move between threads, so half of
//! what is freed belongs to another thread's arena, and threads would wait for each other. Here a block has room for a
//! power of two of values.
//! The values of few pages lie dense in the order of their addresses; a block of many has a slot for each page, so that
//! nothing has to move.

use std::hint::black_box;

/// Sizes of rooms by class. The last has a slot for each page; most blocks of more than a few pages have nearly all.
const CAPACITY: [u8; 6] = [0, 2, 4, 8, 16, 64];
const SLOTS: u8 = 5;

/// Values of a class.
#[inline(always)]
const fn capacity(class: u8) -> u32 {
    CAPACITY[class as usize % CAPACITY.len()] as u32
}

/// Which of 64 pages have a value, and where these lie.
#[derive(Debug, Clone, Copy, Default)]
pub struct Block {
    /// Pages that are there.
    mask: u64,
    /// Index of the first value. 2^32 values would be 100 GB.
    first: u32,
    class: u8,
}

/// The values of many blocks.
#[derive(Debug)]
pub struct PageArena<V> {
    values: Vec<V>,
    /// First indices of empty rooms, by class.
    spare: [Vec<u32>; CAPACITY.len()],
    /// Values of the rooms that are not empty.
    used: usize,
}

impl<V> Default for PageArena<V> {
    fn default() -> Self {
        PageArena { values: Vec::new(), spare: Default::default(), used: 0 }
    }
}

impl<V: Copy + Default> PageArena<V> {
    fn take(&mut self, class: u8) -> u32 {
        self.used += capacity(class) as usize;
        if let Some(first) = self.spare.get_mut(usize::from(class)).and_then(Vec::pop) {
            return first;
        }
        let first = self.values.len();
        self.values.resize(first + capacity(class) as usize, V::default());
        first as u32
    }

    fn give_back(&mut self, block: &Block) {
        self.used -= capacity(block.class) as usize;
        if let Some(spare) = self.spare.get_mut(usize::from(block.class)).filter(|_| block.class > 0) {
            spare.push(block.first);
        }
    }

    /// Values that there is room for.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Reads the memory in order, so that it is in the cache.
    pub fn load(&self) {
        const LINE: usize = 64;
        let step = (LINE / size_of::<V>().max(1)).max(1);
        self.values.iter().step_by(step).for_each(|value| _ = black_box(*value));
    }

    /// True when most of the vector is empty, so that copying to a new one is worth it.
    #[inline(always)]
    pub fn is_sparse(&self) -> bool {
        self.values.len() > 4096 && self.used * 4 < self.values.len()
    }
}

impl Block {
    /// Pages that have a value.
    #[inline(always)]
    pub const fn mask(&self) -> u64 {
        self.mask
    }

    #[inline(always)]
    const fn index(&self, bit: u64) -> usize {
        let before = if self.class == SLOTS { u64::MAX } else { self.mask };
        self.first as usize + (before & (bit - 1)).count_ones() as usize
    }

    /// The value of a page.
    #[inline(always)]
    pub fn get<'l, V>(&self, arena: &'l PageArena<V>, bit: u64) -> Option<&'l V> {
        if self.mask & bit == 0 { None } else { arena.values.get(self.index(bit)) }
    }

    /// The same, to change it.
    #[inline(always)]
    pub fn get_mut<'l, V>(&self, arena: &'l mut PageArena<V>, bit: u64) -> Option<&'l mut V> {
        if self.mask & bit == 0 { None } else { arena.values.get_mut(self.index(bit)) }
    }

    /// Sets the value of a page that is not there.
    #[inline(always)]
    pub fn insert<V: Copy + Default>(&mut self, arena: &mut PageArena<V>, bit: u64, value: V) {
        let count = self.mask.count_ones();
        if count == capacity(self.class) {
            self.resize(arena, self.class + 1);
        }
        let index = self.index(bit);
        if self.class != SLOTS
            && let Some(list) = arena.values.get_mut(index..=(self.first + count) as usize)
        {
            list.copy_within(..list.len() - 1, 1);
        }
        if let Some(slot) = arena.values.get_mut(index) {
            *slot = value;
        }
        self.mask |= bit;
    }

    /// Takes a page out.
    #[inline(always)]
    pub fn remove<V: Copy + Default>(&mut self, arena: &mut PageArena<V>, bit: u64) -> Option<V> {
        let value = *self.get(arena, bit)?;
        let count = self.mask.count_ones();
        if self.class != SLOTS
            && let Some(list) = arena.values.get_mut(self.index(bit)..(self.first + count) as usize)
        {
            list.copy_within(1.., 0);
        }
        self.mask &= !bit;
        let least = if self.class == SLOTS { 8 } else { capacity(self.class) / 4 };
        if count - 1 <= least {
            self.resize(arena, if self.mask == 0 { 0 } else { self.class - 1 });
        }
        Some(value)
    }

    /// Moves to a room of another class.
    #[cold]
    #[inline(never)]
    fn resize<V: Copy + Default>(&mut self, arena: &mut PageArena<V>, class: u8) {
        let next = Block { first: if class > 0 { arena.take(class) } else { 0 }, class, ..*self };
        let mut rest = self.mask;
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            rest &= rest - 1;
            if let Some(&value) = self.get(arena, bit)
                && let Some(slot) = next.get_mut(arena, bit)
            {
                *slot = value;
            }
        }
        arena.give_back(self);
        *self = next;
    }

    /// Moves the values to another vector.
    pub fn copy<V: Copy + Default>(&mut self, from: &PageArena<V>, to: &mut PageArena<V>) {
        let first = to.values.len();
        let list = self.first as usize..(self.first + capacity(self.class)) as usize;
        to.values.extend_from_slice(from.values.get(list).unwrap_or_default());
        to.used = to.values.len();
        self.first = first as u32;
    }
}
