//! The hottest path: from the outermost function with most weight to its heaviest callee, and so on while one of them has half of what
//! its caller has.

use super::counts::StackCounts;
use super::frame_names::{Label as Frame, Texts};
use super::rows::{Counted, Shown, StackId};
use super::tree::TreeRow;
use foldhash::HashMap as FastMap;
use std::cmp::Reverse;

/// Most lines that are kept.
const MOST: usize = 3;

impl Shown<'_> {
    /// The path. Of functions that lead to the same events only the innermost is kept; of a long path the first and the last ones. What
    /// is left out above a row is its number of folded ones.
    pub fn hottest_path(&self) -> Vec<TreeRow> {
        let mut left: Vec<(StackId, &Counted)> = (self.rows.iter())
            .filter(|(_, counted)| counted.with_stack > 0)
            .map(|(key, counted)| (key.stack, counted))
            .collect();
        let mut texts = Texts::default();
        let mut numbers: FastMap<Frame, u32> = FastMap::default();
        let mut path: Vec<(u32, StackCounts)> = Vec::new();
        for depth in 0.. {
            let mut sums: FastMap<u32, StackCounts> = FastMap::default();
            let mut number = |stack: StackId| {
                let frame = self.frame_from_outside(stack, depth)?;
                Some(*numbers.entry(frame).or_insert_with(|| texts.id(&self.names.text(frame))))
            };
            let of: Vec<Option<u32>> = left.iter().map(|(stack, _)| number(*stack)).collect();
            for (number, (_, counted)) in of.iter().zip(&left) {
                number.iter().for_each(|number| *sums.entry(*number).or_default() += (*counted).into());
            }
            let order = |(number, counts): &(u32, StackCounts)| {
                (Reverse((counts.weight, counts.events)), texts.get(*number).to_owned())
            };
            let Some((most, counts)) = sums.into_iter().min_by_key(order) else { break };
            let is_hot = |before: &StackCounts| match before.weight {
                0 => counts.events >= before.events.div_ceil(2),
                weight => counts.weight >= weight.div_ceil(2),
            };
            if path.last().is_some_and(|(_, before)| !is_hot(before)) {
                break;
            }
            path.push((most, counts));
            let mut stays = of.iter().map(|number| *number == Some(most));
            left.retain(|_| stays.next().unwrap_or(false));
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

    /// A frame of a stack as it is shown, counted from the outermost one.
    fn frame_from_outside(&self, stack: StackId, depth: usize) -> Option<Frame> {
        if self.query.fold.is_some() || self.query.max_depth.is_some() {
            return self.frames(stack).into_iter().rev().nth(depth);
        }
        let part = |list: Option<_>| list.map_or(&[][..], |list| self.names.labels.get(list));
        part(stack.user).iter().rev().chain(part(stack.kernel).iter().rev()).nth(depth).copied()
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
