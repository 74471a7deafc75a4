//! Rows that can be compared with those of another trace: what has a function or module innermost, and what has it anywhere.

use super::frame_labels;
use super::frame_names::Label as Frame;
use super::query::Dimension;
use super::rows::{Key, SelfAndTotal, Shown, Threads};
use super::stack_texts::StackTexts;
use crate::analysis::table::Group;
use crate::dimensions::Label;
use foldhash::HashMap as FastMap;
use std::collections::BTreeMap;

/// The text by which labels of frames are the same. Loaders write names of files as they were asked for: `KERNEL32.DLL`, `kernel32.dll`.
pub(crate) fn in_one_case(function: &str) -> String {
    match function.split_once('!') {
        Some((module, name)) => format!("{}!{name}", module.to_lowercase()),
        None => function.to_lowercase(),
    }
}

/// Distinct lists of labels, by their numbers.
#[derive(Default)]
struct Lists {
    numbers: BTreeMap<Vec<String>, u32>,
    lists: Vec<Vec<Label>>,
}

impl Lists {
    fn id(&mut self, labels: Vec<Label>, form: impl Fn(&str) -> String) -> u32 {
        let next = self.lists.len() as u32;
        let number = *self.numbers.entry(labels.iter().map(|label| form(label.as_str())).collect()).or_insert(next);
        if number == next {
            self.lists.push(labels);
        }
        number
    }

    fn get(&self, number: u32) -> &[Label] {
        self.lists.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

const fn is_of_frames(dimension: Dimension) -> bool {
    matches!(dimension, Dimension::Module | Dimension::Function)
}

impl Shown<'_> {
    /// The rows that the query wants; none where they are not for a comparison.
    pub fn compared(&self, threads: &Threads, texts: &mut StackTexts) -> Vec<Group<SelfAndTotal>> {
        match self.query.compared && !self.query.group_by.is_empty() {
            true => self.by_labels(&self.query.group_by, threads, texts),
            false => Vec::new(),
        }
    }

    /// Rows by these dimensions. An event counts once for each row that one of its frames belongs to: without a dimension of frames for
    /// one row, as innermost.
    fn by_labels(
        &self,
        dimensions: &[Dimension],
        threads: &Threads,
        texts: &mut StackTexts,
    ) -> Vec<Group<SelfAndTotal>> {
        let stacks = self.stack_numbers(dimensions, texts);
        let beside = |key: &Key| -> Vec<Label> {
            let label = |dimension: &Dimension| match (dimension, stacks.get(&key.stack)) {
                (Dimension::Stack, Some(number)) => texts.label(*number),
                _ => self.label(*dimension, key, threads),
            };
            dimensions.iter().filter(|dimension| !is_of_frames(**dimension)).map(label).collect()
        };
        let of_frame = |frame: Frame| -> Vec<Label> {
            let label = |dimension: &Dimension| match dimension {
                Dimension::Module => frame_labels::module(self.names, frame),
                _ => frame_labels::function(self.names, frame),
            };
            dimensions.iter().filter(|dimension| is_of_frames(**dimension)).map(label).collect()
        };
        let counted_frames = if dimensions.iter().copied().any(is_of_frames) { usize::MAX } else { 1 };
        let (mut outer, mut inner) = (Lists::default(), Lists::default());
        let mut numbers: FastMap<Frame, u32> = FastMap::default();
        // The sum, and the last row that was added to it: recursion counts once.
        let mut sums: FastMap<(u32, u32), (SelfAndTotal, Option<usize>)> = FastMap::default();
        for (number, row) in self.rows.iter().enumerate() {
            let key = &row.key;
            let of_key = outer.id(beside(key), str::to_owned);
            for (depth, frame) in self.frames(key.stack).into_iter().take(counted_frames).enumerate() {
                let called = *numbers.entry(frame).or_insert_with(|| inner.id(of_frame(frame), in_one_case));
                let (sum, last) = sums.entry((of_key, called)).or_default();
                if *last != Some(number) {
                    sum.add(row, depth == 0);
                    *last = Some(number);
                }
            }
        }
        let labels = |outer: &[Label], inner: &[Label]| -> Vec<Label> {
            let (mut outer, mut inner) = (outer.iter().cloned(), inner.iter().cloned());
            let next = |of: &Dimension| if is_of_frames(*of) { inner.next() } else { outer.next() };
            dimensions.iter().filter_map(next).collect()
        };
        let group = |((of_key, number), (sum, _)): (&(u32, u32), &(SelfAndTotal, Option<usize>))| {
            (labels(outer.get(*of_key), inner.get(*number)), self.self_and_total(sum))
        };
        let sorted: BTreeMap<Vec<Label>, SelfAndTotal> = sums.iter().map(group).collect();
        sorted.into_iter().map(|(labels, measure)| Group { labels, measure }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_no_case_and_names_of_functions_have() {
        assert_eq!(in_one_case("KERNEL32.DLL!CreateFile!x"), "kernel32.dll!CreateFile!x");
        assert_eq!(in_one_case("Notepad++.exe+0x1f"), "notepad++.exe+0x1f");
        let mut lists = Lists::default();
        let mut id = |text: &str| lists.id(vec![Label::name(text)], in_one_case);
        assert_eq!([id("A.dll!f"), id("a.DLL!f"), id("a.dll!F"), id("A.dll")], [0, 0, 1, 2]);
        assert_eq!(lists.get(0), [Label::name("A.dll!f")]);
        assert!(lists.get(9).is_empty());
    }
}
