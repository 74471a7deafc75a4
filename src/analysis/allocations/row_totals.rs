//! What rows come to when all their pieces are there.

use super::figures::{Figures, RowState};
use super::timeline::{TimelineStep, TimelineTrack};
use crate::analysis::time_grid::TickRange;
use crate::load::stacks::frame_lists::{ListId, Lists};
use rayon::prelude::*;

/// Rows when all pieces are there.
#[derive(Debug)]
pub struct Counted {
    /// Numbers of the labels, and figures.
    pub rows: Vec<(Vec<u32>, Figures)>,
    /// All of them.
    pub total: Figures,
    /// True when the changes of each row's sum agree with its pieces.
    pub is_balanced: bool,
    /// Steps, where they were asked for.
    pub timeline: Option<Vec<TimelineStep>>,
}

impl Counted {
    /// What rows come to when all their pieces and changes are there.
    pub fn of_rows(
        mut states: Vec<RowState>,
        row_labels: &Lists<u32>,
        mut total: RowState,
        timeline: Option<TimelineTrack>,
        window: TickRange,
    ) -> Counted {
        states.iter().for_each(|row| total.add_pieces(row));
        let before = total.before();
        let of_rows = || states.par_iter().map(RowState::lifetime).collect::<Vec<_>>();
        let (of_all, of_rows) = rayon::join(|| RowState::lifetime_of(&states), of_rows);
        let (total, mut is_balanced) = total.finish(of_all, window);
        let mut rows = Vec::new();
        for (number, (row, lifetime)) in (0..).zip(states.iter_mut().zip(of_rows)) {
            let (figures, is_row_balanced) = row.finish(lifetime, window);
            is_balanced &= is_row_balanced;
            if !figures.is_empty() {
                rows.push((row_labels.get(ListId(number)).to_vec(), figures));
            }
        }
        let timeline = timeline.map(|timeline| timeline.finish(before));
        Counted { rows, total, is_balanced, timeline }
    }
}
