//! Which columns of a table are shown in a width, and how wide.

use crate::analysis::table::{Align, Column, Fit, Table};

/// Narrowest that a column is cut to.
const LEAST: usize = 28;
/// Blanks between columns.
const GAP: usize = 2;

impl Column {
    const fn shrinks(&self) -> bool {
        matches!((self.align, self.fit), (Align::Left, Fit::Shrinks | Fit::Leaves(_)))
    }

    /// The least width where `natural` is the widest cell.
    fn least(&self, natural: usize) -> usize {
        if self.shrinks() { natural.min(LEAST) } else { natural }
    }
}

impl Table {
    /// Index and width of each column that is shown in `most` columns of text, where `natural` are the widths of the widest
    /// cells: columns that may go are left out first, then labels are cut.
    pub fn fitting(&self, natural: &[usize], most: usize) -> Vec<(usize, usize)> {
        let mut shown: Vec<(usize, &Column, usize)> = self
            .columns
            .iter()
            .zip(natural)
            .enumerate()
            .map(|(index, (column, &width))| (index, column, width))
            .collect();
        let taken = |widths: &mut dyn Iterator<Item = usize>| widths.map(|width| width + GAP).sum::<usize>();
        let least = |shown: &[(usize, &Column, usize)]| {
            taken(&mut shown.iter().map(|(_, column, width)| column.least(*width))).saturating_sub(GAP)
        };
        let mut leaving: Vec<(u8, usize)> = (self.columns.iter().enumerate())
            .filter_map(|(index, column)| if let Fit::Leaves(order) = column.fit { Some((order, index)) } else { None })
            .collect();
        leaving.sort_unstable();
        for (_, leaves) in leaving {
            if least(&shown) <= most {
                break;
            }
            shown.retain(|(index, ..)| *index != leaves);
        }
        let wanted = taken(&mut shown.iter().map(|(.., width)| *width)).saturating_sub(GAP);
        let mut excess = wanted.saturating_sub(most);
        // Labels come first, so later columns are cut before them.
        for (_, column, width) in shown.iter_mut().rev() {
            let give = excess.min(*width - column.least(*width));
            excess -= give;
            *width -= give;
        }
        shown.into_iter().map(|(index, _, width)| (index, width)).collect()
    }
}
