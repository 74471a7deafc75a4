//! The hottest path: from the outermost function with most weight to its heaviest callee, and so on while one of them has half of what
//! its caller has.

use super::counts::StackCounts;
use super::rows::{Row, Shown, StackId, numbers_as_shown};
use super::text_interner::Texts;
use super::tree::TreeRow;
use rayon::prelude::*;
use std::cmp::Reverse;

/// Frames that are taken out of a stack at a time: it is kept from the innermost one outwards.
const AHEAD: usize = 8;

/// Numbers of the next frames of a stack; `u32::MAX` where there is none, because each stack of the trace has such a list.
type FramesAhead = [u32; AHEAD];

/// Most lines that are kept.
const MOST: usize = 3;

impl Shown<'_> {
    /// The path. Of functions that lead to the same events only the innermost is kept; of a long path the first and the last ones. What
    /// is left out above a row is its number of folded ones.
    pub fn hottest_path(&self) -> Vec<TreeRow> {
        let mut left: Vec<&Row> = self.rows.iter().filter(|row| row.with_stack() > 0).collect();
        let mut texts = Texts::default();
        // By frame, the number of its text.
        let mut numbers: Vec<Option<u32>> = vec![None; self.names.lists().distinct().len()];
        let mut ahead: Vec<FramesAhead> = Vec::new();
        let mut path: Vec<(u32, StackCounts)> = Vec::new();
        for depth in 0.. {
            if depth % AHEAD == 0 {
                ahead = left.par_iter().map_init(Vec::new, |all, row| self.ahead(row.key.stack, depth, all)).collect();
            }
            let mut number = |frames: &FramesAhead| {
                let frame = frames.get(depth % AHEAD)?;
                let number = numbers.get_mut(*frame as usize)?;
                Some(*number.get_or_insert_with(|| texts.id(&self.names.text(self.names.frame(*frame)))))
            };
            let of: Vec<Option<u32>> = ahead.iter().map(&mut number).collect();
            let mut sums: Vec<StackCounts> = Vec::new();
            for (number, row) in of.iter().zip(&left) {
                let Some(number) = number.map(|number| number as usize) else { continue };
                if sums.len() <= number {
                    sums.resize(number + 1, StackCounts::default());
                }
                sums.get_mut(number).into_iter().for_each(|sum| *sum += (*row).into());
            }
            let sums = (0u32..).zip(sums).filter(|(_, sum)| sum.events > 0);
            let order = |(number, counts): &(u32, StackCounts)| {
                (Reverse((counts.weight, counts.events)), texts.get(*number).to_owned())
            };
            let Some((most, counts)) = sums.min_by_key(order) else { break };
            let is_hot = |before: &StackCounts| match before.weight {
                0 => counts.events >= before.events.div_ceil(2),
                weight => counts.weight >= weight.div_ceil(2),
            };
            if path.last().is_some_and(|(_, before)| !is_hot(before)) {
                break;
            }
            path.push((most, counts));
            let stays = || of.iter().map(|number| *number == Some(most));
            let (mut rows, mut frames) = (stays(), stays());
            left.retain(|_| rows.next().unwrap_or(false));
            ahead.retain(|_| frames.next().unwrap_or(false));
        }
        let row = |(number, counts): &(u32, StackCounts)| TreeRow {
            depth: 0,
            function: Some(texts.get(*number).to_owned()),
            folded: 0,
            counts: self.counts(counts),
            ends: 0,
        };
        shortened(path.iter().map(row).collect())
    }

    /// The next frames of a stack as it is shown, from so many on, counted from the outermost one.
    fn ahead(&self, stack: StackId, depth: usize, all: &mut Vec<u32>) -> FramesAhead {
        numbers_as_shown(self.names, self.query, stack, all);
        let mut ahead = [u32::MAX; AHEAD];
        for (frame, number) in ahead.iter_mut().zip(all.iter().rev().skip(depth)) {
            *frame = *number;
        }
        ahead
    }
}

fn shortened(path: Vec<TreeRow>) -> Vec<TreeRow> {
    let mut kept: Vec<TreeRow> = Vec::new();
    for row in path {
        match kept.last_mut().filter(|last| last.counts == row.counts) {
            Some(last) => *last = TreeRow { folded: last.folded + 1, ..row },
            None => kept.push(row),
        }
    }
    let more = kept.len().saturating_sub(MOST);
    if more > 0 {
        let hidden: u64 = kept.drain(1..=more).map(|row| row.folded + 1).sum();
        kept.get_mut(1).into_iter().for_each(|row| row.folded += hidden);
    }
    kept.iter_mut().enumerate().for_each(|(depth, row)| row.depth = depth);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_same_events_and_the_middle_of_a_long_path_are_left_out() {
        let path = |events: &[u64]| {
            let row = |(number, events): (usize, &u64)| TreeRow {
                depth: 0,
                function: Some(number.to_string()),
                folded: 0,
                counts: StackCounts { events: *events, with_stack: *events, weight: *events },
                ends: 0,
            };
            let rows = shortened(events.iter().enumerate().map(row).collect());
            rows.iter()
                .map(|row| format!("{}+{}", row.function.as_deref().unwrap_or_default(), row.folded))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(path(&[]), "");
        assert_eq!(path(&[9, 9, 8, 8, 8, 7]), "1+1 4+2 5+0");
        assert_eq!(path(&[90, 80, 80, 70, 60, 50, 40, 30]), "0+0 6+5 7+0");
    }
}
