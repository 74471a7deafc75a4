//! The next of several sorted sequences of records, for merging them in time order.

use crate::units::Ticks;

/// When the next record of a sequence was logged, and the rank of its buffer.
pub(crate) type Head = (Ticks, u32);

/// Bits of the slot in a key.
const SLOT_BITS: u32 = u16::BITS;

/// The slot has no record.
const NONE: u64 = u64::MAX;

/// The least of many heads, one for each slot, where one changes at a time: a binary tree whose inner nodes hold the lesser key
/// of their two children. A change takes one comparison for each level. A key is the time since `base` and the slot in one
/// number, because numbers are compared without branches; only equal times are compared with the rest.
#[derive(Debug)]
pub(crate) struct TournamentTree {
    /// No head is earlier.
    base: Ticks,
    /// The root is node 1, the children of node n are 2n and 2n + 1, the second half are the leaves.
    nodes: Vec<u64>,
    /// By slot.
    heads: Vec<Head>,
}

impl TournamentTree {
    /// No slot has a record.
    pub fn new(base: Ticks) -> TournamentTree {
        TournamentTree { base, nodes: vec![NONE; 2], heads: vec![Head::default()] }
    }

    /// The slot with the least head of all; `None` if no slot has a record.
    pub fn get(&self) -> Option<usize> {
        slot_of(self.nodes.get(1).copied().unwrap_or(NONE))
    }

    /// Sets the head of a slot and returns the slot with the least one. Read back from the tree it would cost more.
    #[inline(always)]
    pub fn set(&mut self, slot: u16, head: Option<Head>) -> Option<usize> {
        let at = usize::from(slot);
        if at >= self.heads.len() {
            self.grow(at);
        }
        let mut least = NONE;
        if let (Some(head), Some(own)) = (head, self.heads.get_mut(at)) {
            *own = head;
            least = self.key(head.0, slot);
        }
        let mut node = self.heads.len() + at;
        while let Some(to) = self.nodes.get_mut(node) {
            *to = least;
            if node == 1 {
                break;
            }
            least = self.nodes.get(node ^ 1).map_or(least, |other| self.lesser(least, *other));
            node /= 2;
        }
        slot_of(least)
    }

    /// Times that are too far from the base have one key.
    #[inline(always)]
    fn key(&self, time: Ticks, slot: u16) -> u64 {
        const LAST: u64 = (NONE >> SLOT_BITS) - 1;
        (time.0.wrapping_sub(self.base.0) as u64).min(LAST) << SLOT_BITS | u64::from(slot)
    }

    #[inline(always)]
    fn lesser(&self, one: u64, other: u64) -> u64 {
        if (one ^ other) >> SLOT_BITS == 0 {
            return self.lesser_of_equal_time(one, other);
        }
        one.min(other)
    }

    #[cold]
    fn lesser_of_equal_time(&self, one: u64, other: u64) -> u64 {
        // A slot without a record is equal only to another one.
        let head = |key| slot_of(key).and_then(|slot| Some((*self.heads.get(slot)?, slot)));
        if head(one) <= head(other) { one } else { other }
    }

    #[cold]
    fn grow(&mut self, slot: usize) {
        let leaves = (slot + 1).next_power_of_two();
        let before = std::mem::replace(&mut self.nodes, vec![NONE; 2 * leaves]);
        let heads = std::mem::replace(&mut self.heads, vec![Head::default(); leaves]);
        for ((slot, key), head) in (0..=u16::MAX).zip(before.iter().skip(before.len() / 2)).zip(heads) {
            self.set(slot, (*key != NONE).then_some(head));
        }
    }
}

#[inline(always)]
fn slot_of(key: u64) -> Option<usize> {
    (key != NONE).then_some(usize::from(key as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Also where times are equal, and where they are too far from the base to have keys of their own.
        #[test]
        fn the_least_head_is_that_of_a_sorted_list(
            base in prop_oneof![Just(i64::MIN), Just(-3)],
            changes in prop::collection::vec(
                (0u16..20, any::<Option<bool>>(), -3i64..3, prop_oneof![Just(0), Just(i64::MAX - 3)], 0u32..3),
                1..80,
            ),
        ) {
            let mut least = TournamentTree::new(Ticks(base));
            let mut list = [None; 20];
            for (slot, is_there, time, far, rank) in changes {
                let head = is_there.map(|_| (Ticks(far + time), rank));
                list[usize::from(slot)] = head;
                let expected = (0..).zip(list).filter_map(|(slot, head)| Some((head?, slot))).min();
                let expected = expected.map(|(_, slot): (Head, usize)| slot);
                prop_assert_eq!(least.set(slot, head), expected);
                prop_assert_eq!(least.get(), expected);
            }
        }
    }
}
