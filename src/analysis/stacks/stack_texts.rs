//! Stacks as numbers of the names of their frames. The text of a stack can have 128 KiB where its event has 100 bytes, so it is made
//! where it is written.

use super::frame_names::{Label as Frame, Names};
use super::text_interner::Texts;
use crate::analysis::table::Value;
use crate::dimensions::{Label, LabelKind};
use crate::load::stacks::frame_lists::{ListId, Lists};
use crate::load::stacks::frame_trie::PathId;
use crate::load::stacks::recent_lists::spread;
use foldhash::HashMap as FastMap;
use hashbrown::HashTable;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hasher};

/// Room for the labels of all stacks, bytes. Each of them has its part of it, and [`END_OF_LABEL`] at least.
const ROOM: usize = 24 << 20;

/// Of a text that is too long for its label, the bytes at its end that the label has as well.
const END_OF_LABEL: usize = 1 << 10;

/// Distinct texts of stacks.
#[derive(Default)]
pub(crate) struct StackTexts {
    /// True where each text is written on a line.
    of_lines: bool,
    names: Texts,
    name_of_frame: FastMap<Frame, u32>,
    /// The same by the number of a frame.
    name_of_number: Vec<Option<u32>>,
    /// Numbers of names, innermost first.
    parts: Lists<u32>,
    /// By list of frames, that of its names.
    part_of_frames: FastMap<PathId, ListId>,
    stacks: Vec<Stack>,
    /// Stacks with the upper half of the hash of their names.
    by_hash: HashTable<(u32, u32)>,
    /// Seeded: no trace shall make stacks collide.
    hasher: foldhash::fast::RandomState,
    /// By stack, its place among all in the order of their texts.
    ranks: Vec<u32>,
    /// Longest text that is a label, bytes.
    longest: usize,
}

/// Where the names of a stack are.
#[derive(Debug, Clone, Copy)]
struct Stack {
    /// Its inner and its outer part.
    parts: [ListId; 2],
    /// How many names of each part are written, the innermost ones.
    kept: [usize; 2],
    /// The name that stands for the outer frames that are left out.
    outer: Option<u32>,
    /// Length of the text, bytes.
    length: usize,
}

impl fmt::Debug for StackTexts {
    /// Without the seed: equal texts look equal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackTexts").field("parts", &self.parts).field("stacks", &self.stacks).finish_non_exhaustive()
    }
}

impl StackTexts {
    /// None yet, for texts that are written on a line each.
    pub fn of_lines() -> StackTexts {
        StackTexts { of_lines: true, ..StackTexts::default() }
    }

    /// A name as texts have it: a `;` inside is `:`.
    pub fn name(&self, name: &str) -> String {
        let name = name.replace(';', ":");
        if self.of_lines { name.replace(['\r', '\n'], " ") } else { name }
    }

    /// The number of the stack with these parts, lists of [`Names::labels`].
    pub fn of_lists(&mut self, names: &Names, kernel: Option<PathId>, user: Option<PathId>) -> u32 {
        let parts = [kernel, user].map(|list| self.part_of_list(names, list));
        self.number(parts)
    }

    fn part_of_list(&mut self, names: &Names, list: Option<PathId>) -> ListId {
        let Some(list) = list else { return self.parts.id(&[]) };
        if let Some(known) = self.part_of_frames.get(&list) {
            return *known;
        }
        let numbers: Vec<u32> = names.numbers(Some(list)).map(|frame| self.name_of_number(names, frame)).collect();
        let part = self.parts.id(&numbers);
        self.part_of_frames.insert(list, part);
        part
    }

    fn name_of_number(&mut self, names: &Names, frame: u32) -> u32 {
        if let Some(known) = self.name_of_number.get(frame as usize).copied().flatten() {
            return known;
        }
        let number = self.name_number(names, names.frame(frame));
        if self.name_of_number.len() <= frame as usize {
            self.name_of_number.resize(names.lists().distinct().len(), None);
        }
        self.name_of_number.get_mut(frame as usize).into_iter().for_each(|name| *name = Some(number));
        number
    }

    /// The number of the stack with these frames, innermost first.
    pub fn of_frames(&mut self, names: &Names, frames: &[Frame]) -> u32 {
        let parts = [self.part(names, frames), self.parts.id(&[])];
        self.number(parts)
    }

    fn part(&mut self, names: &Names, frames: &[Frame]) -> ListId {
        let numbers: Vec<u32> = frames.iter().map(|frame| self.name_number(names, *frame)).collect();
        self.parts.id(&numbers)
    }

    fn name_number(&mut self, names: &Names, frame: Frame) -> u32 {
        if let Some(known) = self.name_of_frame.get(&frame) {
            return *known;
        }
        let number = self.names.id(&self.name(&names.text(frame)));
        self.name_of_frame.insert(frame, number);
        number
    }

    fn number(&mut self, parts: [ListId; 2]) -> u32 {
        let [inner, outer] = parts.map(|part| self.parts.get(part));
        let all = inner.iter().chain(outer).map(|name| self.names.get(*name));
        let (kept, bytes) = super::frame_names::kept(all.map(str::len));
        let left_out = inner.len() + outer.len() - kept;
        let kept = [kept.min(inner.len()), kept.saturating_sub(inner.len())];
        let mark = super::frame_names::outer_frames(left_out as u64);
        let written = kept[0] + kept[1] + usize::from(mark.is_some());
        let length = bytes + mark.as_ref().map_or(0, String::len) + written.saturating_sub(1);
        let outer = mark.map(|mark| self.names.id(&mark));
        let stack = Stack { parts, kept, outer, length };
        let mut state = self.hasher.build_hasher();
        self.inwards(&stack).for_each(|name| state.write_u32(name));
        let hash = (state.finish() >> 32) as u32;
        let is_same = |(of, number): &(u32, u32)| {
            let known = self.stacks.get(*number as usize).filter(|_| *of == hash);
            known.is_some_and(|known| self.inwards(known).eq(self.inwards(&stack)))
        };
        if let Some((_, known)) = self.by_hash.find(spread(hash), is_same) {
            return *known;
        }
        let number = self.stacks.len() as u32;
        self.stacks.push(stack);
        self.by_hash.insert_unique(spread(hash), (hash, number), |(hash, _)| spread(*hash));
        number
    }

    /// Numbers of its names, outermost first.
    fn inwards(&self, stack: &Stack) -> impl Iterator<Item = u32> {
        let part = |list: ListId, kept: usize| self.parts.get(list).get(..kept).unwrap_or_default().iter().rev();
        let ([inner, outer], [of_inner, of_outer]) = (stack.parts, stack.kept);
        stack.outer.into_iter().chain(part(outer, of_outer).chain(part(inner, of_inner)).copied())
    }

    /// Its names, outermost first.
    pub fn names(&self, number: u32) -> impl Iterator<Item = &str> {
        let stack = self.stacks.get(number as usize);
        stack.into_iter().flat_map(|stack| self.inwards(stack)).map(|name| self.names.get(name))
    }

    /// Its names with `;` between them.
    pub fn text(&self, number: u32) -> String {
        self.names(number).collect::<Vec<_>>().join(";")
    }

    /// The order of two texts.
    pub fn order(&self, a: u32, b: u32) -> Ordering {
        let of = |number: u32| self.stacks.get(number as usize);
        let (Some(a), Some(b)) = (of(a), of(b)) else { return a.cmp(&b) };
        if a.outer == b.outer && (a.parts[1], a.kept[1]) == (b.parts[1], b.kept[1]) {
            // Most of them differ in their inner parts only.
            let inner = |stack: &Stack| Stack { outer: None, kept: [stack.kept[0], 0], ..*stack };
            return self.order_of(self.inwards(&inner(a)), self.inwards(&inner(b)));
        }
        self.order_of(self.inwards(a), self.inwards(b))
    }

    fn order_of(&self, mut a: impl Iterator<Item = u32>, mut b: impl Iterator<Item = u32>) -> Ordering {
        loop {
            match (a.next(), b.next()) {
                (Some(of_a), Some(of_b)) if of_a == of_b => {}
                // No name has a `;`: the order is decided in these two.
                (Some(of_a), Some(of_b)) => {
                    let (goes_on_a, goes_on_b) = (a.next().is_some(), b.next().is_some());
                    let (name_a, name_b) = (self.names.get(of_a).as_bytes(), self.names.get(of_b).as_bytes());
                    let shared = name_a.len().min(name_b.len());
                    let ((begin_a, end_a), (begin_b, end_b)) = (name_a.split_at(shared), name_b.split_at(shared));
                    let rest = |end: &[u8], goes_on: bool| end.first().copied().or(goes_on.then_some(b';'));
                    return begin_a.cmp(begin_b).then_with(|| rest(end_a, goes_on_a).cmp(&rest(end_b, goes_on_b)));
                }
                (of_a, of_b) => return of_a.is_some().cmp(&of_b.is_some()),
            }
        }
    }

    /// Gives each stack that is known now its place, and its part of the room for labels.
    pub fn rank(&mut self) {
        self.longest = (ROOM / self.stacks.len().max(1)).max(END_OF_LABEL);
        self.ranks = Vec::new();
        if self.stacks.iter().all(|stack| stack.length <= self.longest) {
            return; // only labels that are cut have it
        }
        let mut sorted: Vec<u32> = (0..self.stacks.len() as u32).collect();
        sorted.sort_unstable_by(|a, b| self.order(*a, *b));
        self.ranks = vec![0; sorted.len()];
        for (rank, number) in (0u32..).zip(sorted) {
            self.ranks.get_mut(number as usize).into_iter().for_each(|place| *place = rank);
        }
    }

    /// Its text, where that is short; else both ends of it, and its place among all: so labels are different where texts are, and are
    /// in the same order.
    pub fn label(&self, number: u32) -> Label {
        let length = self.stacks.get(number as usize).map_or(0, |stack| stack.length);
        let text = self.text(number);
        if length <= self.longest {
            return Label::name(text);
        }
        let is_boundary = |at: &usize| text.is_char_boundary(*at);
        let begin = (0..=self.longest).rev().find(is_boundary).and_then(|to| text.get(..to)).unwrap_or_default();
        let end = (text.len().saturating_sub(END_OF_LABEL)..)
            .find(is_boundary)
            .and_then(|from| text.get(from..))
            .unwrap_or_default();
        let rank = self.ranks.get(number as usize).copied().unwrap_or(number);
        Label::cut(format!("{begin} … (stack {rank:010}) … {end}"), number)
    }

    /// Puts the whole texts into the record of a row whose labels are cut: programs get whole stacks.
    pub fn complete(&self, labels: &[Label], record: &mut [Value]) {
        let cut = labels.iter().zip(record).filter(|(label, _)| matches!(label.kind(), LabelKind::Cut(_)));
        cut.for_each(|(label, value)| *value = self.value(label));
    }

    /// The value of a label: of one that is cut the whole text.
    pub fn value(&self, label: &Label) -> Value {
        match label.kind() {
            LabelKind::Cut(number) => Value::Text(self.text(number)),
            _ => Value::of_label(label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text by the rule: names innermost first, as many as there is room for.
    fn slowly(names: &[String]) -> String {
        let mut room = 128usize << 10;
        let mut kept: Vec<&str> = Vec::new();
        for name in names {
            let Some(rest) = room.checked_sub(name.len() + 32) else { break };
            (room, kept) = (rest, [kept, vec![name]].concat());
        }
        let mark = format!("[{} outer frames]", names.len() - kept.len());
        kept.extend((kept.len() < names.len()).then_some(&*mark));
        kept.reverse();
        kept.join(";")
    }

    fn name() -> impl Strategy<Value = String> {
        let long = prop::sample::select(vec![1usize, 2, 65_000, 65_004, 131_040, 131_041]);
        prop_oneof![9 => "[a-b0:é]{0,2}", 1 => long.prop_map(|length| "x".repeat(length))]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

        #[test]
        fn numbers_texts_and_their_order_are_those_of_whole_texts(
            stacks in prop::collection::vec((prop::collection::vec(name(), 0..4), prop::collection::vec(name(), 1..4)), 1..12),
        ) {
            let mut texts = StackTexts::default();
            let mut found = Vec::new();
            for (inner, outer) in &stacks {
                let parts = [inner, outer].map(|names| {
                    let numbers: Vec<u32> = names.iter().map(|name| texts.names.id(name)).collect();
                    texts.parts.id(&numbers)
                });
                found.push((texts.number(parts), slowly(&[&inner[..], outer].concat())));
            }
            texts.rank();
            for (number, text) in &found {
                prop_assert!(texts.text(*number) == *text, "a text");
                prop_assert!(texts.label(*number) == **text, "a label");
                prop_assert_eq!(texts.stacks[*number as usize].length, text.len());
                for (other, of_other) in &found {
                    prop_assert_eq!(texts.order(*number, *other), text.cmp(of_other));
                    prop_assert_eq!(number == other, text == of_other);
                }
            }
        }
    }

    #[test]
    fn labels_of_long_texts_are_cut_and_stay_different_and_in_order() {
        let mut texts = StackTexts::default();
        let name = |n: u32| format!("{}é{n}", "x".repeat(100_000));
        let numbers: Vec<u32> = (0..400).rev().map(|n| texts.names.id(&name(n))).collect();
        let stacks: Vec<u32> = numbers
            .iter()
            .map(|number| {
                let parts = [texts.parts.id(&[*number]), texts.parts.id(&[])];
                texts.number(parts)
            })
            .collect();
        texts.rank();
        let mut sorted = stacks.clone();
        sorted.sort_by_cached_key(|stack| texts.label(*stack));
        let mut by_text = stacks.clone();
        by_text.sort_by_cached_key(|stack| texts.text(*stack));
        assert_eq!(sorted, by_text);
        let label = texts.label(stacks[0]);
        assert!(
            label.len() < 70_000 && label.ends_with("xé399") && label.contains(" … (stack 0000000"),
            "{}",
            label.len()
        );
        assert_eq!(texts.value(&label), Value::Text(name(399)));
        assert_eq!(texts.value(&Label::number(7u32)), Value::Number(7));
    }
}
