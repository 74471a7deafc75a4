//! Lists of frames that share their outer frames, as the stacks of call trees do: each frame of a list is a node that leads to the
//! next outer one. A million stacks of 60 frames are some four million nodes of eight bytes.

use super::interner::Numbered;
use std::hash::Hash;
use std::num::NonZeroU32;

/// Number of a list of frames in a [`FrameTrie`]: of the node of its innermost frame, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(NonZeroU32);

impl Default for PathId {
    fn default() -> PathId {
        PathId::at(0)
    }
}

impl PathId {
    /// By the place of its node.
    fn at(place: u32) -> PathId {
        PathId(NonZeroU32::MIN.saturating_add(place))
    }

    /// The place of its node. That of an outer frame is smaller than those of the frames inside.
    #[inline]
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The number; never 0.
    #[inline]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// By its number; `None` for 0.
    #[inline]
    pub fn of(number: u32) -> Option<PathId> {
        NonZeroU32::new(number).map(PathId)
    }
}

/// A frame of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// The frame around it, which is in a node before it; `None` for the outermost one.
    pub outer: Option<PathId>,
    /// The number of the frame.
    pub frame: u32,
}

/// Distinct lists of frames.
#[derive(Debug, Clone)]
pub struct FrameTrie<T> {
    frames: Numbered<T>,
    nodes: Numbered<Node>,
}

impl<T> Default for FrameTrie<T> {
    fn default() -> Self {
        FrameTrie { frames: Numbered::default(), nodes: Numbered::default() }
    }
}

impl<T: Copy + Eq + Hash> FrameTrie<T> {
    /// The number of a frame.
    pub fn frame_number(&mut self, frame: T) -> u32 {
        self.frames.number(frame)
    }

    /// The list with this frame inside of another list.
    #[inline]
    pub fn inside(&mut self, outer: Option<PathId>, frame: T) -> PathId {
        let frame = self.frames.number(frame);
        self.inside_by_number(outer, frame)
    }

    /// The same with the number of the frame.
    #[inline]
    pub fn inside_by_number(&mut self, outer: Option<PathId>, frame: u32) -> PathId {
        PathId::at(self.nodes.number(Node { outer, frame }))
    }

    /// The number of a list, innermost frame first; `None` of one without frames.
    #[cfg(test)]
    pub fn id(&mut self, list: &[T]) -> Option<PathId> {
        list.iter().rev().fold(None, |outer, frame| Some(self.inside(outer, *frame)))
    }

    /// Makes room for so many nodes.
    pub fn make_room(&mut self, nodes: usize) {
        self.nodes.make_room(nodes);
    }

    /// Takes all lists of another one. By the place of each of its nodes, the number of its list now.
    pub fn take(&mut self, other: FrameTrie<T>) -> Vec<PathId> {
        let frames: Vec<u32> = other.frames.into_things().into_iter().map(|frame| self.frames.number(frame)).collect();
        let nodes = other.nodes.into_things();
        let mut now: Vec<PathId> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let outer = node.outer.and_then(|outer| now.get(outer.place()).copied());
            let frame = frames.get(node.frame as usize).copied().unwrap_or_default();
            now.push(PathId::at(self.nodes.number(Node { outer, frame })));
        }
        now
    }
}

impl<T: Copy + Eq> FrameTrie<T> {
    /// True when a list is that of these frames, innermost first, inside of another list.
    #[inline]
    pub fn is_inside(&self, list: PathId, frames: &[T], outer: Option<PathId>) -> bool {
        let mut next = Some(list);
        for frame in frames {
            let Some(node) = next.and_then(|list| self.node(list)) else { return false };
            if self.frames.get(node.frame) != Some(frame) {
                return false;
            }
            next = node.outer;
        }
        next == outer
    }
}

impl<T: Copy> FrameTrie<T> {
    /// The frames of a list, innermost first.
    pub fn frames(&self, list: Option<PathId>) -> impl Iterator<Item = T> {
        self.numbers(list).filter_map(|number| self.frame(number))
    }

    /// A frame by its number.
    #[inline]
    pub fn frame(&self, number: u32) -> Option<T> {
        self.frames.get(number).copied()
    }
}

impl<T> FrameTrie<T> {
    /// The innermost frame of a list, and the list around it.
    #[inline]
    pub fn node(&self, list: PathId) -> Option<&Node> {
        self.nodes.get(list.get() - 1)
    }

    /// Numbers of the frames of a list, innermost first.
    #[inline]
    pub fn numbers(&self, list: Option<PathId>) -> impl Iterator<Item = u32> {
        let mut next = list;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next?.get() - 1)?;
            next = node.outer;
            Some(node.frame)
        })
    }

    /// Distinct frames by their numbers.
    pub fn distinct(&self) -> &[T] {
        self.frames.things()
    }

    /// All nodes; a list is the node of its innermost frame.
    pub fn nodes(&self) -> &[Node] {
        self.nodes.things()
    }

    /// Forgets what only new lists need.
    pub fn close_lists(&mut self) {
        self.nodes.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_are_what_was_put_in(
            lists in prop::collection::vec(prop::collection::vec(0u64..4, 0..6), 0..40),
            others in prop::collection::vec(prop::collection::vec(0u64..4, 0..6), 0..40),
        ) {
            let (mut trie, mut other) = (FrameTrie::default(), FrameTrie::default());
            let ids: Vec<_> = lists.iter().map(|list| trie.id(list)).collect();
            let of_others: Vec<_> = others.iter().map(|list| other.id(list)).collect();
            let now = trie.take(other);
            let moved = of_others.iter().map(|id| id.map(|id| now[id.place()]));
            let all: Vec<_> = lists.iter().chain(&others).zip(ids.into_iter().chain(moved)).collect();
            for (list, id) in &all {
                prop_assert_eq!(&trie.frames(*id).collect::<Vec<_>>(), *list);
                prop_assert_eq!(id.is_none(), list.is_empty());
                prop_assert!(all.iter().all(|(other, of_other)| (list == other) == (id == of_other)));
            }
            let is_outward = |(place, node): (usize, &Node)| node.outer.is_none_or(|outer| outer.place() < place);
            prop_assert!(trie.nodes().iter().enumerate().all(is_outward));
        }
    }

    #[test]
    fn a_list_is_known_by_its_frames_and_the_list_around() {
        let mut trie = FrameTrie::default();
        let (all, outer) = (trie.id(&[1, 2, 3, 4]).unwrap(), trie.id(&[3, 4]));
        assert!(trie.is_inside(all, &[1, 2], outer) && trie.is_inside(all, &[1, 2, 3, 4], None));
        let others = [(&[1, 2][..], trie.id(&[4])), (&[1, 3], outer), (&[1], outer), (&[1, 2, 3, 4, 5], None)];
        assert!(others.into_iter().all(|(frames, outer)| !trie.is_inside(all, frames, outer)));
    }

    #[test]
    fn outer_frames_are_shared() {
        let mut trie = FrameTrie::default();
        assert_eq!(trie.id(&[1, 2, 3]).map(PathId::get), Some(3));
        assert_eq!(trie.id(&[9, 2, 3]).map(PathId::get), Some(4));
        assert_eq!(trie.id(&[2, 3]).map(PathId::get), Some(2));
        assert_eq!((trie.nodes().len(), trie.distinct().len()), (4, 4));
    }
}
