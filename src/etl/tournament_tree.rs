//! The next of several sorted sequences of records, for merging them in time order.

use crate::units::Ticks;

/// Order of a record among those of other buffers: its time, the rank of its buffer. The slot of the buffer is in the
/// lowest bits. One number, because numbers are compared without branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    /// After all keys: no record, and no slot has this number.
    pub const NONE: Key = Key(u128::MAX);

    /// The key of a record in this slot.
    #[inline(always)]
    pub fn new(time: Ticks, rank: u32, slot: usize) -> Key {
        let ascending = (time.0 as u64) ^ (1 << 63); // negative times first
        Key(u128::from(ascending) << 64 | u128::from(rank) << 32 | u128::from(slot as u32))
    }

    /// The slot.
    #[inline(always)]
    pub fn slot(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The least of many keys, one for each slot, where one changes at a time: a binary tree whose inner nodes hold the lesser
/// key of their two children. A change takes one comparison for each level.
#[derive(Debug)]
pub(crate) struct TournamentTree {
    /// The root is node 1, the children of node n are 2n and 2n + 1, the second half are the leaves.
    nodes: Vec<Key>,
}

impl TournamentTree {
    /// No slot has a record.
    pub fn new() -> TournamentTree {
        TournamentTree { nodes: vec![Key::NONE; 2] }
    }

    /// The least key of all slots.
    #[inline(always)]
    pub fn get(&self) -> Key {
        self.nodes.get(1).copied().unwrap_or(Key::NONE)
    }

    /// Sets the key of a slot and returns the least key. Read back from the tree it would cost more: two halves that were
    /// just stored are not forwarded to one load of both.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, key: Key) -> Key {
        if slot >= self.nodes.len() / 2 {
            self.grow(slot);
        }
        let mut node = self.nodes.len() / 2 + slot;
        let mut least = key;
        while let Some(to) = self.nodes.get_mut(node) {
            *to = least;
            if node == 1 {
                break;
            }
            least = self.nodes.get(node ^ 1).map_or(least, |other| least.min(*other));
            node /= 2;
        }
        least
    }

    #[cold]
    fn grow(&mut self, slot: usize) {
        let leaves = (slot + 1).next_power_of_two();
        let before = std::mem::replace(&mut self.nodes, vec![Key::NONE; 2 * leaves]);
        for (slot, key) in before.iter().skip(before.len() / 2).enumerate() {
            self.set(slot, *key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_key_is_that_of_a_sorted_list(changes in prop::collection::vec((0usize..20, any::<Option<i64>>()), 1..80)) {
            let mut least = TournamentTree::new();
            let mut list = [Key::NONE; 20];
            for (slot, time) in changes {
                let key = time.map_or(Key::NONE, |time| Key::new(Ticks(time), 7, slot));
                least.set(slot, key);
                list[slot] = key;
                prop_assert_eq!(least.get(), list.iter().copied().min().unwrap());
            }
        }
    }

    #[test]
    fn keys_are_in_order_of_time_then_of_rank() {
        let keys = [(i64::MIN, 9), (-1, 8), (0, 1), (0, 2), (5, 0), (i64::MAX, 3)];
        let keys = keys.map(|(time, rank)| Key::new(Ticks(time), rank, 4));
        assert!(keys.is_sorted() && keys[5] < Key::NONE);
        assert!(keys.iter().all(|key| key.slot() == 4));
    }
}
