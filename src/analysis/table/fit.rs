//! Which columns of a table are shown in a width, and how wide.

use crate::analysis::table::{Align, Column, Fit, Table};

/// Narrowest that texts are cut to: as long as columns can be left out instead, and where none is left.
const LEAST: [usize; 2] = [28, 12];
/// Blanks between columns.
pub const GAP: usize = 2;

impl Column {
    const fn shrinks(&self) -> bool {
        matches!((self.align, self.fit), (Align::Left, Fit::Shrinks | Fit::Wraps | Fit::Leaves(_)))
    }

    /// The least width where `natural` is the widest cell.
    fn least(&self, natural: usize, least: usize) -> usize {
        if self.shrinks() { natural.min(least) } else { natural }
    }
}

impl Table {
    /// Index and width of each column that is shown in `most` columns of text, where `natural` are the widths of the widest
    /// cells: columns that may go are left out first, then labels are cut. Where numbers alone are too wide, the last
    /// columns go.
    pub fn fitting(&self, natural: &[usize], most: usize) -> Vec<(usize, usize)> {
        let mut shown: Vec<(usize, &Column, usize)> = self
            .columns
            .iter()
            .zip(natural)
            .enumerate()
            .map(|(index, (column, &width))| (index, column, width))
            .collect();
        let taken = |shown: &[(usize, &Column, usize)], least| {
            let widths = shown.iter().map(|(_, column, width)| column.least(*width, least) + GAP);
            widths.sum::<usize>().saturating_sub(GAP)
        };
        let order = |(index, column): (usize, &Column)| match column.fit {
            Fit::Spare(order) => Some((false, order, index)),
            Fit::Leaves(order) => Some((true, order, index)),
            Fit::Stays | Fit::Shrinks | Fit::Wraps => None,
        };
        let mut leaving: Vec<(bool, u8, usize)> = self.columns.iter().enumerate().filter_map(order).collect();
        leaving.sort_unstable();
        for (is_missed, _, leaves) in leaving {
            // Less important columns are left out before anything is cut.
            if taken(&shown, if is_missed { LEAST[0] } else { usize::MAX }) > most {
                shown.retain(|(index, ..)| *index != leaves);
            }
        }
        while shown.len() > 1 && taken(&shown, LEAST[1]) > most {
            shown.pop();
        }
        let mut excess = taken(&shown, usize::MAX).saturating_sub(most);
        for least in LEAST {
            // Labels come first, so later columns are cut before them.
            for (_, column, width) in shown.iter_mut().rev() {
                let give = excess.min(*width - column.least(*width, least));
                excess -= give;
                *width -= give;
            }
        }
        shown.into_iter().map(|(index, _, width)| (index, width)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_before_texts_become_unreadable_and_numbers_last() {
        let columns =
            ["a", "b", "c", "d"].map(|title| if title == "a" { Column::text(title) } else { Column::number(title) });
        let mut table = Table { columns: columns.to_vec(), ..Table::default() };
        table.columns[2].fit = Fit::Leaves(0);
        let shown = |width| table.fitting(&[40, 9, 6, 9], width);
        assert_eq!(shown(100).len(), 4);
        assert_eq!(shown(60), [(0, 30), (1, 9), (2, 6), (3, 9)]);
        assert_eq!(shown(50), [(0, 28), (1, 9), (3, 9)], "the column that may go");
        assert_eq!(shown(40), [(0, 18), (1, 9), (3, 9)], "then the text");
        assert_eq!(shown(30), [(0, 19), (1, 9)], "then the last number");
    }
}
