//! Pieces become rows: each gets the numbers of its labels, conditions are asked once for each combination, sums are added up.
//!
//! Where a dimension is known only when a piece ends, changes of the sums are kept and sorted at the end: 32 bytes for each.

use super::figures::{AtSnapshot, RowState};
use super::label_combination::Combination;
use super::labels::{ABSENT, Labels};
use super::many_questions::Selections;
use super::piece::{BEFORE, Piece};
use super::piece_end::Closing;
use super::piece_taker::PieceTaker;
use super::process_lifetimes::Lives;
use super::query::{AllocationQuery, Dimension};
use super::row_totals::Counted;
use super::stacks_known::StackShares;
use super::timeline::TimelineTrack;
use crate::analysis::time_grid::{Grid, TickRange};
use crate::dimensions::Condition;
use crate::load::allocation_kinds::AllocationKind;
use crate::load::stacks::frame_lists::{ListId, Lists};
use crate::units::Ticks;

/// Codes of [`Counting::recent`]; a power of two.
const RECENT: usize = 1024;

/// What is known of a piece when it is opened, as numbers; [`ABSENT`] where it is not known.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Life of the process.
    pub life: u32,
    /// Thread.
    pub thread: u32,
    /// 1 for large pages.
    pub large: u32,
    /// Pool tag without its mark.
    pub tag: u32,
    /// 1 for paged pool.
    pub paged: u32,
    /// Session of the pool.
    pub session: u32,
    /// Heap, a number of [`Labels::heap`].
    pub heap: u32,
    /// Part of the heap.
    pub source: u32,
    /// A stack.
    pub stack: u32,
}

impl Default for Facts {
    fn default() -> Self {
        let (life, thread, large, tag, paged) = (ABSENT, ABSENT, 0, ABSENT, ABSENT);
        Facts { life, thread, large, tag, paged, session: ABSENT, heap: ABSENT, source: ABSENT, stack: ABSENT }
    }
}

/// The record that opened a piece, and the number of its combination of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// When; [`BEFORE`]: before the trace.
    pub time: Ticks,
    /// The number, of [`Counting::code`].
    pub code: ListId,
}

/// Rows while pieces come.
#[derive(Debug)]
pub struct Counting<'t> {
    /// Processes over time.
    pub lives: Lives,
    /// Names of numbers.
    pub labels: Labels<'t>,
    kind: AllocationKind,
    conditions: &'t [Condition<Dimension>],
    /// Dimensions of the rows, then those of conditions only.
    dimensions: Vec<Dimension>,
    grouped: usize,
    is_late: bool,
    only_leaks_until: Option<Ticks>,
    window: TickRange,
    hole_until: Option<Ticks>,
    codes: Lists<u32>,
    /// Codes that were asked for last, by a hash of their numbers: most are asked for again and again.
    recent: Vec<ListId>,
    row_of_code: Vec<Option<ListId>>,
    row_labels: Lists<u32>,
    rows: Vec<RowState>,
    total: RowState,
    timeline: Option<TimelineTrack>,
    changes: Vec<(Ticks, ListId, i128)>,
    scratch: Vec<u32>,
    /// Takes each piece, where they are asked for one by one; then they are not added up.
    taker: Option<&'t mut dyn PieceTaker>,
    others: Selections<'t>,
    /// Pieces with and without the stacks that are asked for.
    pub stacks: StackShares,
}

/// The middle of a window.
pub(super) fn half(window: TickRange) -> Ticks {
    Ticks(window.from.0.saturating_add((window.ticks() / 2) as i64))
}

impl<'t> Counting<'t> {
    /// Without pieces.
    pub fn new(
        (lives, labels): (Lives, Labels<'t>),
        kind: AllocationKind,
        (query, group_by): (&'t AllocationQuery, &[Dimension]),
        (window, grid): (TickRange, Option<Grid>),
        hole_until: Option<Ticks>,
        others: &'t [&[Condition<Dimension>]],
    ) -> Counting<'t> {
        let mut dimensions = group_by.to_vec();
        let of_others = others.iter().flat_map(|conditions| conditions.iter()).map(|condition| condition.dimension);
        let stacks = StackShares::asked_by(query.dimensions().chain(of_others.clone()).chain(group_by.iter().copied()));
        let of_drivers = labels.wants_drivers().then_some(Dimension::Stack);
        for dimension in query.dimensions().chain(of_others).chain(of_drivers) {
            if !dimensions.contains(&dimension) {
                dimensions.push(dimension);
            }
        }
        Counting {
            lives,
            labels,
            kind,
            conditions: &query.conditions,
            grouped: group_by.len(),
            is_late: query.only_leaks || dimensions.iter().any(|dimension| dimension.is_known_at_end(kind)),
            only_leaks_until: query.only_leaks.then(|| half(window)),
            dimensions,
            window,
            hole_until,
            codes: Lists::default(),
            recent: vec![ListId(0); RECENT],
            row_of_code: Vec::new(),
            row_labels: Lists::default(),
            rows: Vec::new(),
            total: RowState::default(),
            timeline: grid.map(|grid| TimelineTrack::new(grid, window)),
            changes: Vec::new(),
            scratch: Vec::new(),
            taker: None,
            others: Selections::new(others.iter().copied()),
            stacks,
        }
    }

    /// From now on each piece is given to this one instead of being added up.
    pub fn give_pieces(&mut self, taker: &'t mut dyn PieceTaker) {
        self.taker = Some(taker);
    }

    /// True where pieces are wanted one by one: then their order is seen, and may not be that of a hash table.
    pub const fn has_order(&self) -> bool {
        self.taker.is_some()
    }

    /// The names of numbers.
    pub fn into_labels(self) -> Labels<'t> {
        self.labels
    }

    /// A piece, or more than one, is opened by a record.
    #[inline]
    pub fn open(&mut self, time: Ticks, bytes: u64, facts: &Facts) -> Opening {
        let opening = Opening { time, code: self.code(facts, bytes) };
        self.opened(opening, bytes);
        opening
    }

    /// The same where the number was asked for before.
    #[inline]
    pub fn opened(&mut self, opening: Opening, bytes: u64) {
        if !self.is_late {
            self.change(opening.time, opening.code, bytes.into());
        }
    }

    /// What was opened before the trace.
    pub fn before(&mut self, bytes: u64, facts: &Facts) -> Opening {
        Opening { time: BEFORE, code: self.code(facts, bytes) }
    }

    /// A piece ends, or is there at the end of the trace. `address`: its first byte, where it is known.
    #[inline]
    pub fn close(&mut self, opening: Opening, address: Option<u64>, bytes: u64, closing: Option<Closing>) {
        let closed = closing.map(|closing| (closing.moment.time, closing.reason));
        let piece = Piece { opened: opening.time, closed, bytes };
        if self.stacks.is_any() {
            self.count_stacks(opening, bytes, closing);
        }
        let code = if self.is_late {
            let Some(code) = self.late_code(opening, &piece, closing) else { return };
            code
        } else {
            opening.code
        };
        if let Some(taker) = &mut self.taker {
            let numbers = self.codes.get(code);
            let combination = Combination { dimensions: &self.dimensions, numbers, grouped: self.grouped };
            return taker.take((&piece, address), (code, &combination, closing), (&self.lives, &self.labels));
        }
        self.others.piece(&piece, code, self.is_late, self.window, self.hole_until);
        if let Some((time, _)) = closed.filter(|_| !self.is_late) {
            self.change(time, code, -i128::from(bytes));
        }
        let Some(Some(row)) = self.row_of_code.get(code.0 as usize).copied() else { return };
        self.rows.get_mut(row.0 as usize).into_iter().for_each(|r| r.piece(&piece, self.window, self.hole_until));
        if self.is_late && opening.time != BEFORE {
            self.changes.push((opening.time, row, bytes.into()));
        }
        if let Some((time, _)) = closed.filter(|_| self.is_late) {
            self.changes.push((time, row, -i128::from(bytes)));
        }
    }

    /// Counts the stacks of a piece in the window.
    fn count_stacks(&mut self, opening: Opening, bytes: u64, closing: Option<Closing>) {
        let closing = closing.filter(|closing| closing.moment.time < self.window.to);
        if opening.time >= self.window.to || closing.is_some_and(|closing| closing.moment.time < self.window.from) {
            return;
        }
        if let Some(allocated) = &mut self.stacks.allocated {
            let is_of_opening = |dimension: &Dimension| matches!(dimension, Dimension::Stack | Dimension::Function);
            let at = self.dimensions.iter().position(is_of_opening);
            let stack = at.and_then(|at| self.codes.get(opening.code).get(at)).copied();
            allocated.add(stack.unwrap_or(ABSENT), bytes);
        }
        if let Some(freed) = &mut self.stacks.freed {
            freed.add(closing.map_or(ABSENT, |closing| closing.stack(&self.labels)), bytes);
        }
    }

    /// Pages of what was opened here, at a page sequence.
    pub fn at_snapshot(&mut self, opening: Opening, pages: AtSnapshot) {
        let Some(Some(row)) = self.row_of_code.get(opening.code.0 as usize).copied() else { return };
        self.rows.get_mut(row.0 as usize).into_iter().for_each(|row| row.at_snapshot(pages));
    }

    /// The number of a combination, with what the end of the piece tells; `None` for a piece that nobody asks for.
    fn late_code(&mut self, opening: Opening, piece: &Piece, closing: Option<Closing>) -> Option<ListId> {
        let closing = closing.filter(|closing| closing.moment.time < self.window.to);
        let is_outside = opening.time >= self.window.to || closing.is_some_and(|c| c.moment.time < self.window.from);
        let is_leak = |until: Ticks| closing.is_none() && opening.time >= self.window.from && opening.time < until;
        if is_outside || !self.only_leaks_until.is_none_or(is_leak) {
            return None;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(self.codes.get(opening.code));
        for (dimension, number) in self.dimensions.iter().zip(&mut scratch) {
            match dimension {
                Dimension::Reason => *number = closing.map_or(ABSENT, |closing| closing.reason as u32),
                Dimension::Size => *number = size_class(piece.bytes),
                Dimension::FreeStack | Dimension::FreeFunction => {
                    *number = closing.map_or(ABSENT, |closing| closing.stack(&self.labels));
                }
                _ => {}
            }
        }
        let code = self.number(&scratch);
        self.scratch = scratch;
        Some(code)
    }

    #[inline]
    fn change(&mut self, time: Ticks, code: ListId, delta: i128) {
        self.others.change(time, code, delta, self.window);
        let Some(Some(row)) = self.row_of_code.get(code.0 as usize).copied() else { return };
        self.change_row(time, row, delta);
    }

    #[inline]
    fn change_row(&mut self, time: Ticks, row: ListId, delta: i128) {
        if let Some(timeline) = &mut self.timeline {
            timeline.change(time, delta);
        }
        self.total.change(time, delta, self.window);
        self.rows.get_mut(row.0 as usize).into_iter().for_each(|row| row.change(time, delta, self.window));
    }

    /// The number of what a piece has in common with others. Numbers may be asked for in any order.
    #[inline]
    pub fn code(&mut self, facts: &Facts, bytes: u64) -> ListId {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(self.dimensions.iter().map(|dimension| match dimension {
            Dimension::Process => facts.life,
            Dimension::Thread => facts.thread,
            Dimension::Pages => facts.large,
            Dimension::Tag => facts.tag,
            Dimension::Pool => facts.paged,
            Dimension::Session => facts.session,
            Dimension::Heap => facts.heap,
            Dimension::Source => facts.source,
            Dimension::Stack | Dimension::Function => facts.stack,
            Dimension::Size if self.kind != AllocationKind::Commit => size_class(bytes),
            Dimension::Size | Dimension::Reason | Dimension::FreeStack | Dimension::FreeFunction => ABSENT,
        }));
        let code = self.number(&scratch);
        self.scratch = scratch;
        code
    }

    #[inline]
    fn number(&mut self, list: &[u32]) -> ListId {
        let mixed = list.iter().fold(0u32, |sum, number| (sum.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9));
        let slot = (mixed >> (u32::BITS - RECENT.ilog2())) as usize;
        let is_it = |recent: &ListId| {
            let known = self.codes.get(*recent);
            // Without a call, as comparing slices has one: lists have few numbers.
            known.len() == list.len() && !list.is_empty() && known.iter().zip(list).all(|(known, own)| known == own)
        };
        if let Some(recent) = self.recent.get(slot).copied().filter(is_it) {
            return recent;
        }
        let code = self.new_number(list);
        self.recent.get_mut(slot).into_iter().for_each(|recent| *recent = code);
        code
    }

    fn new_number(&mut self, list: &[u32]) -> ListId {
        let code = self.codes.id(list);
        if code.0 as usize >= self.row_of_code.len() {
            let row = if self.taker.is_none() { self.row_of(list) } else { None };
            self.row_of_code.push(row);
            let combination = Combination { dimensions: &self.dimensions, numbers: list, grouped: self.grouped };
            self.others.meet(&combination, &mut self.labels, &self.lives);
        }
        code
    }

    /// The row of a combination that is met for the first time; `None` where a condition does not hold.
    fn row_of(&mut self, list: &[u32]) -> Option<ListId> {
        let combination = Combination { dimensions: &self.dimensions, numbers: list, grouped: self.grouped };
        let is_wanted = self.conditions.iter().all(|condition| {
            let number = combination.number_of(condition.dimension);
            let labels = self.labels.to_filter(condition.dimension, number, &self.lives);
            condition.matches(&labels)
        });
        if !is_wanted {
            return None;
        }
        let stack = combination.number_of(Dimension::Stack);
        if stack != ABSENT {
            self.labels.note_driver(combination.number_of(Dimension::Tag), stack);
        }
        let grouped = self.dimensions.iter().zip(list).take(self.grouped);
        let labels: Vec<u32> =
            grouped.map(|(dimension, number)| self.labels.row_number(*dimension, *number, &self.lives)).collect();
        let row = self.row_labels.id(&labels);
        if row.0 as usize >= self.rows.len() {
            self.rows.push(RowState::default());
        }
        Some(row)
    }

    /// The rows of all pieces; those of other questions.
    pub fn finish(mut self) -> (Counted, Vec<Counted>, Labels<'t>) {
        let mut changes = std::mem::take(&mut self.changes);
        changes.sort_unstable_by_key(|(time, row, _)| (*time, *row));
        changes.into_iter().for_each(|(time, row, delta)| self.change_row(time, row, delta));
        let others = std::mem::take(&mut self.others).finish(self.window);
        let counted = Counted::of_rows(self.rows, &self.row_labels, self.total, self.timeline, self.window);
        (counted, others, self.labels)
    }
}

/// 0 for 0 bytes, else one more than the exponent of the smallest power of two that is not smaller.
fn size_class(bytes: u64) -> u32 {
    match bytes {
        0 => 0,
        _ => u64::BITS + 1 - (bytes - 1).leading_zeros(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_classes_of_powers_of_two() {
        let powers = [0, 1, 2, 3, 4, 5, 4096, 4097, 1 << 63, (1 << 63) + 1, u64::MAX].map(size_class);
        assert_eq!(powers, [0, 1, 2, 3, 3, 4, 13, 14, 64, 65, 65]);
    }
}
