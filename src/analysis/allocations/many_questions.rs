//! Rows of more questions of the same records: each has its own conditions, and all see each piece once. So thousands of budgets go
//! through a trace once.

use super::figures::RowState;
use super::label_combination::Combination;
use super::labels::Labels;
use super::piece::{BEFORE, Piece};
use super::process_lifetimes::Lives;
use super::query::Dimension;
use super::row_totals::Counted;
use crate::analysis::time_grid::TickRange;
use crate::dimensions::{Condition, Label};
use crate::load::stacks::frame_lists::{ListId, Lists};
use crate::units::Ticks;

/// More questions.
#[derive(Debug, Default)]
pub struct Selections<'t> {
    all: Vec<Selection<'t>>,
    /// The questions that want a combination of labels, with their rows; those of all combinations, one after the other.
    chosen: Vec<(u32, ListId)>,
    /// Where those of a combination end.
    ends: Vec<usize>,
    /// Changes of sums by combination, where they are known only when pieces end.
    changes: Vec<(Ticks, ListId, i128)>,
}

#[derive(Debug)]
struct Selection<'t> {
    conditions: &'t [Condition<Dimension>],
    row_labels: Lists<u32>,
    rows: Vec<RowState>,
    total: RowState,
}

impl<'t> Selections<'t> {
    /// One for each of these conditions.
    pub fn new(all: impl Iterator<Item = &'t [Condition<Dimension>]>) -> Selections<'t> {
        let empty = |conditions| Selection {
            conditions,
            row_labels: Lists::default(),
            rows: Vec::new(),
            total: RowState::default(),
        };
        Selections { all: all.map(empty).collect(), ..Selections::default() }
    }

    /// Takes note of the next combination of labels.
    pub fn meet(&mut self, combination: &Combination<'_>, labels: &mut Labels<'_>, lives: &Lives) {
        if self.all.is_empty() {
            return;
        }
        let mut of_dimension: Vec<(Dimension, Vec<Label>)> = Vec::new();
        let mut row: Option<Vec<u32>> = None;
        for (number, selection) in (0..).zip(&mut self.all) {
            let is_wanted = selection.conditions.iter().all(|condition| {
                let wanted = condition.dimension;
                if !of_dimension.iter().any(|(known, _)| *known == wanted) {
                    let own = labels.to_filter(wanted, combination.number_of(wanted), lives);
                    of_dimension.push((wanted, own));
                }
                let own = of_dimension.iter().find(|(known, _)| *known == wanted);
                condition.matches(own.into_iter().flat_map(|(_, labels)| labels))
            });
            if !is_wanted {
                continue;
            }
            let row = row.get_or_insert_with(|| {
                let grouped = combination.dimensions.iter().zip(combination.numbers).take(combination.grouped);
                grouped.map(|(dimension, number)| labels.row_number(*dimension, *number, lives)).collect()
            });
            let row = selection.row_labels.id(row);
            if row.0 as usize >= selection.rows.len() {
                selection.rows.push(RowState::default());
            }
            self.chosen.push((number, row));
        }
        self.ends.push(self.chosen.len());
    }

    /// Calls this with each question that wants a combination, and its row.
    #[inline]
    fn each(&mut self, code: ListId, mut with: impl FnMut(&mut Selection<'t>, ListId)) {
        let at = code.0 as usize;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(begin);
        for (number, row) in self.chosen.get(begin..end).unwrap_or_default() {
            if let Some(selection) = self.all.get_mut(*number as usize) {
                with(selection, *row);
            }
        }
    }

    /// The sum of a combination changes; times do not fall.
    #[inline]
    pub fn change(&mut self, time: Ticks, code: ListId, delta: i128, window: TickRange) {
        if self.chosen.is_empty() {
            return;
        }
        self.each(code, |selection, row| {
            selection.total.change(time, delta, window);
            selection.rows.get_mut(row.0 as usize).into_iter().for_each(|row| row.change(time, delta, window));
        });
    }

    /// A piece ends. `is_late`: the changes that it made are told only now.
    #[inline]
    pub fn piece(&mut self, piece: &Piece, code: ListId, is_late: bool, window: TickRange, hole_until: Option<Ticks>) {
        let chosen = self.chosen.len();
        if chosen == 0 {
            return;
        }
        let mut is_wanted = false;
        self.each(code, |selection, row| {
            is_wanted = true;
            let row = selection.rows.get_mut(row.0 as usize);
            row.into_iter().for_each(|row| _ = row.sums_of(piece, window, hole_until));
        });
        if is_late && is_wanted {
            let bytes = i128::from(piece.bytes);
            self.changes.extend((piece.opened != BEFORE).then_some((piece.opened, code, bytes)));
            self.changes.extend(piece.closed.map(|(time, _)| (time, code, -bytes)));
        }
    }

    /// The rows of each question.
    pub fn finish(mut self, window: TickRange) -> Vec<Counted> {
        let mut changes = std::mem::take(&mut self.changes);
        changes.sort_unstable_by_key(|(time, code, _)| (*time, *code));
        changes.into_iter().for_each(|(time, code, delta)| self.change(time, code, delta, window));
        self.all.into_iter().map(|selection| selection.finish(window)).collect()
    }
}

impl Selection<'_> {
    fn finish(self, window: TickRange) -> Counted {
        Counted::of_rows(self.rows, &self.row_labels, self.total, None, window)
    }
}
