//! The figures of a row: sums of pieces by what the window saw of them, the greatest sum, how long pieces lived.
//!
//! Source: `docs/allocations.md` ("Figures"). Everything is in ticks of the clock and converted once, where it is shown.

use super::piece::{BEFORE, Piece, Reason};
use crate::analysis::cpu::delay_percentiles::{DelayStatistics, DelaySummary, Delays, ReadyKind};
use crate::analysis::time_grid::TickRange;
use crate::units::Ticks;
use std::ops::AddAssign;

/// `ETW_HEAP_EVENT_ALLOC`: the parts of a heap that serve requests, from 1 on.
pub(super) const SOURCES: [&str; 6] = ["lookaside", "low_fragmentation", "main", "slow", "invalid", "segment_heap"];

/// Bytes, and pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Bytes.
    pub bytes: u128,
    /// Pieces.
    pub count: u64,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.bytes += other.bytes;
        self.count += other.count;
    }
}

impl std::ops::Add for Amount {
    type Output = Amount;

    fn add(mut self, other: Amount) -> Amount {
        self += other;
        self
    }
}

/// What is committed at a page sequence, pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtSnapshot {
    /// Committed.
    pub committed: u64,
    /// Pages of them that are in RAM.
    pub resident: u64,
}

impl AtSnapshot {
    /// Committed and not in RAM.
    pub const fn absent(self) -> u64 {
        self.committed.saturating_sub(self.resident)
    }
}

impl AddAssign for AtSnapshot {
    fn add_assign(&mut self, other: AtSnapshot) {
        self.committed = self.committed.saturating_add(other.committed);
        self.resident = self.resident.saturating_add(other.resident);
    }
}

/// The figures of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Opened in the window, alive at its end.
    pub impacting: Amount,
    /// Opened and closed in the window.
    pub transient: Amount,
    /// Alive at the window's begin, closed in it.
    pub freed_only: Amount,
    /// Alive at both ends.
    pub kept: Amount,
    /// Closed in the window, by [`Reason`].
    pub freed_by: [Amount; Reason::ALL.len()],
    /// Alive at the window's end, opened before the last hole in the records.
    pub doubtful_bytes: u128,
    /// When the first piece was opened that was opened in the window and is alive at its end.
    pub oldest: Option<Ticks>,
    /// The greatest sum and its time; `None` when it is 0, and for rows that were added up.
    pub peak: Option<(u128, Ticks)>,
    /// How long pieces of known opening lived that were closed in the window; ticks.
    pub lifetime: DelayStatistics,
    /// At a page sequence, where one was asked for.
    pub at_snapshot: AtSnapshot,
    /// Rows that were added up.
    pub rows: u32,
}

impl Figures {
    /// Alive at the window's begin.
    pub fn at_start(&self) -> Amount {
        self.freed_only + self.kept
    }

    /// Opened in the window.
    pub fn allocated(&self) -> Amount {
        self.impacting + self.transient
    }

    /// Closed in the window.
    pub fn freed(&self) -> Amount {
        self.transient + self.freed_only
    }

    /// Alive at the window's end.
    pub fn at_end(&self) -> Amount {
        self.impacting + self.kept
    }

    /// At the end less at the start, bytes.
    pub fn growth(&self) -> i128 {
        let signed = |amount: Amount| i128::try_from(amount.bytes).unwrap_or(i128::MAX);
        signed(self.impacting) - signed(self.freed_only)
    }

    /// True when no piece was seen in the window.
    pub fn is_empty(&self) -> bool {
        [self.impacting, self.transient, self.freed_only, self.kept].iter().all(|amount| amount.count == 0)
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.impacting += other.impacting;
        self.transient += other.transient;
        self.freed_only += other.freed_only;
        self.kept += other.kept;
        self.freed_by.iter_mut().zip(other.freed_by).for_each(|(sum, amount)| *sum += amount);
        self.doubtful_bytes += other.doubtful_bytes;
        self.at_snapshot += other.at_snapshot;
        self.oldest = [self.oldest, other.oldest].into_iter().flatten().min();
        // Peaks of several rows are not at one time, and percentiles cannot be added.
        (self.peak, self.lifetime) = match self.rows {
            0 => (other.peak, other.lifetime),
            _ if other.rows == 0 => (self.peak, self.lifetime),
            _ => {
                let (count, total) =
                    (self.lifetime.count + other.lifetime.count, self.lifetime.total + other.lifetime.total);
                let max = self.lifetime.max.max(other.lifetime.max);
                (None, DelayStatistics { count, total, max, ..DelayStatistics::default() })
            }
        };
        self.rows += other.rows;
    }
}

/// How the sum of a row changes: its greatest value after all records of one tick.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Sum of the changes so far; what was there before the trace is not in it.
    running: i128,
    /// Time of the last change.
    tick: Ticks,
    /// What the sum was at the window's begin.
    at_from: Option<i128>,
    /// The greatest sum in the window, and its time.
    best: (i128, Ticks),
}

impl Default for Level {
    fn default() -> Self {
        Level { running: 0, tick: BEFORE, at_from: None, best: (0, BEFORE) }
    }
}

impl Level {
    /// Adds a change; times do not fall. True when the sum before it was that after all records of an earlier tick of the window.
    #[inline]
    pub fn change(&mut self, time: Ticks, delta: i128, window: TickRange) {
        if time >= window.to {
            return;
        }
        if time > self.tick {
            self.settle();
            if time >= window.from && self.at_from.is_none() {
                self.begin(window);
            }
            self.tick = time;
        }
        self.running += delta;
    }

    fn begin(&mut self, window: TickRange) {
        self.at_from = Some(self.running);
        self.best = (self.running, window.from);
    }

    /// The last tick is over.
    fn settle(&mut self) {
        if self.at_from.is_some() && self.running > self.best.0 {
            self.best = (self.running, self.tick);
        }
    }

    /// Sums at the window's begin and end, and the greatest one: all without what was there before the trace.
    fn finish(&mut self, window: TickRange) -> (i128, i128, (i128, Ticks)) {
        self.settle();
        if self.at_from.is_none() {
            self.begin(window);
        }
        (self.at_from.unwrap_or(0), self.running, self.best)
    }
}

/// A row while pieces come.
#[derive(Debug, Default)]
pub struct RowState {
    figures: Figures,
    /// Bytes that were there before the trace.
    before: u128,
    level: Level,
    lifetimes: Delays,
}

impl RowState {
    /// A change of the sum.
    #[inline]
    pub fn change(&mut self, time: Ticks, delta: i128, window: TickRange) {
        self.level.change(time, delta, window);
    }

    /// A piece whose end is known. `hole_until`: pieces from before may have been freed by records that are missing.
    #[inline]
    pub fn piece(&mut self, piece: &Piece, window: TickRange, hole_until: Option<Ticks>) {
        if let Some(ticks) = self.sums_of(piece, window, hole_until) {
            self.lifetimes.add(ReadyKind::Other, ticks);
        }
    }

    /// The same without the lifetime, which is returned if it counts.
    pub fn sums_of(&mut self, piece: &Piece, window: TickRange, hole_until: Option<Ticks>) -> Option<u64> {
        let amount = Amount { bytes: piece.bytes.into(), count: 1 };
        if piece.opened == BEFORE {
            self.before += amount.bytes;
        }
        let closed = piece.closed.filter(|(time, _)| *time < window.to);
        if piece.opened >= window.to || closed.is_some_and(|(time, _)| time < window.from) {
            return None;
        }
        let is_old = piece.opened < window.from;
        let figures = &mut self.figures;
        let Some((time, reason)) = closed else {
            *(if is_old { &mut figures.kept } else { &mut figures.impacting }) += amount;
            if !is_old {
                figures.oldest = Some(figures.oldest.map_or(piece.opened, |oldest| oldest.min(piece.opened)));
            }
            if hole_until.is_some_and(|until| piece.opened < until) {
                figures.doubtful_bytes += amount.bytes;
            }
            return None;
        };
        *(if is_old { &mut figures.freed_only } else { &mut figures.transient }) += amount;
        figures.freed_by.get_mut(reason as usize).into_iter().for_each(|sum| *sum += amount);
        (piece.opened != BEFORE).then(|| time.0.saturating_sub(piece.opened.0).max(0) as u64)
    }

    /// Pages of it at a page sequence.
    pub fn at_snapshot(&mut self, pages: AtSnapshot) {
        self.figures.at_snapshot += pages;
    }

    /// Bytes that were there before the trace.
    pub fn before(&self) -> u128 {
        self.before
    }

    /// How long its pieces lived.
    pub fn lifetime(&self) -> DelayStatistics {
        Self::lifetime_of(std::slice::from_ref(self))
    }

    /// How long the pieces of all these rows lived.
    pub fn lifetime_of(rows: &[RowState]) -> DelayStatistics {
        let lifetimes: Vec<&Delays> = rows.iter().map(|row| &row.lifetimes).collect();
        DelaySummary::new(&lifetimes).all
    }

    /// Adds the pieces of another row, without the changes of its sum and without lifetimes.
    pub fn add_pieces(&mut self, other: &RowState) {
        self.figures += other.figures;
        self.before += other.before;
    }

    /// The figures with these lifetimes, and whether the changes of the sum agree with the pieces.
    pub fn finish(&mut self, lifetime: DelayStatistics, window: TickRange) -> (Figures, bool) {
        let (from, to, (best, time)) = self.level.finish(window);
        let before = i128::try_from(self.before).unwrap_or(i128::MAX);
        let peak = u128::try_from(before + best).unwrap_or(0);
        let mut figures = self.figures;
        figures.peak = (peak > 0).then_some((peak, time));
        figures.lifetime = lifetime;
        figures.rows = 1;
        let is = |amount: Amount, sum: i128| i128::try_from(amount.bytes) == Ok(before + sum);
        let is_balanced = is(figures.at_start(), from) && is(figures.at_end(), to);
        (figures, is_balanced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: TickRange = TickRange { from: Ticks(10), to: Ticks(20) };

    #[test]
    fn pieces_are_sorted_by_what_the_window_saw() {
        let mut row = RowState::default();
        let pieces = [(5, 15, 1), (5, 25, 2), (12, 14, 4), (12, 20, 8), (1, 9, 16), (20, 30, 32)];
        for (opened, closed, bytes) in pieces {
            let closed = Some((Ticks(closed), Reason::Free));
            row.piece(&Piece { opened: Ticks(opened), closed, bytes }, WINDOW, Some(Ticks(6)));
        }
        let mut changes: Vec<(i64, i128)> = pieces
            .iter()
            .flat_map(|&(opened, closed, bytes)| [(opened, bytes.into()), (closed, -i128::from(bytes))])
            .collect();
        changes.sort_unstable();
        changes.into_iter().for_each(|(time, delta)| row.change(Ticks(time), delta, WINDOW));
        let (figures, is_balanced) = row.finish(row.lifetime(), WINDOW);
        assert!(is_balanced);
        let bytes = [figures.freed_only, figures.kept, figures.transient, figures.impacting].map(|amount| amount.bytes);
        assert_eq!(bytes, [1, 2, 4, 8]);
        assert_eq!((figures.doubtful_bytes, figures.peak), (2, Some((15, Ticks(12)))));
        assert_eq!((figures.lifetime.count, figures.lifetime.max, figures.lifetime.p50), (2, 10, 2));
    }

    #[test]
    fn a_peak_is_after_all_records_of_a_tick() {
        let mut row = RowState::default();
        row.piece(&Piece { opened: BEFORE, closed: None, bytes: 100 }, WINDOW, None);
        for (time, delta) in [(11, 50), (11, -50), (12, 7), (13, -7), (14, 7)] {
            row.change(Ticks(time), delta, WINDOW);
        }
        assert_eq!(row.finish(row.lifetime(), WINDOW).0.peak, Some((107, Ticks(12))));
        let mut row = RowState::default();
        row.piece(&Piece { opened: BEFORE, closed: None, bytes: 100 }, WINDOW, None);
        assert_eq!(row.finish(row.lifetime(), WINDOW).0.peak, Some((100, Ticks(10))), "at the window's begin");
        assert_eq!(RowState::default().finish(DelayStatistics::default(), WINDOW).0.peak, None);
    }
}
