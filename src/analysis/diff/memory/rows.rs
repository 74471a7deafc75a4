//! Rows of a comparison of pages: the memory of each key on both sides.

use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::comparison::{Amounts, ComparedRow, DiffOrder, Join};
use crate::analysis::diff::process_matching::Matched;
use crate::analysis::diff::tolerance::Tolerance;
use crate::imported::CountedRow;
use crate::imported::amount::{Amount, Limit};

/// One key.
pub type DiffRow = ComparedRow<Amount>;

impl Amounts for Amount {
    type Measure = ();
    type Limit = Limit;

    fn amount(&self, (): ()) -> i128 {
        self.pages().into()
    }

    fn limit(tolerance: Tolerance, row: &DiffRow) -> Limit {
        tolerance.limit(row.left.unwrap_or_default(), row.right.unwrap_or_default())
    }

    fn exceeds_limit(row: &DiffRow) -> bool {
        row.left.unwrap_or_default().distance(row.right.unwrap_or_default()) > row.limit
    }
}

impl DiffRow {
    /// Pages on the left; 0 where the key is not there.
    pub fn left_pages(&self) -> i64 {
        self.left.map_or(0, Amount::pages)
    }

    /// Pages on the right.
    pub fn right_pages(&self) -> i64 {
        self.right.map_or(0, Amount::pages)
    }
}

/// Joins the rows of both sides in this order. `matched` has the matching labels of each dimension.
pub fn join(
    sides: [Vec<CountedRow>; 2],
    dimensions: &[Dimension],
    matched: &[Matched],
    (tolerance, order): (Tolerance, DiffOrder),
) -> Vec<DiffRow> {
    let mut joined: Join<Vec<String>, Amount> = Join::new(());
    for (side, counted) in sides.into_iter().enumerate() {
        for row in counted {
            let labels = matched.iter().zip(&row.labels).map(|(matched, label)| matched.name(side, label).to_owned());
            let labels: Vec<String> = labels.collect();
            let key = dimensions.iter().zip(&labels).map(|(dimension, label)| dimension.joined_by(label)).collect();
            let typed = || dimensions.iter().zip(&labels).map(|(dimension, label)| dimension.label(label)).collect();
            *joined.side(side, key, typed) += row.amount;
        }
    }
    // A row without pages is like a missing row.
    let is_there = |amount: Option<Amount>| amount.unwrap_or_default() != Amount::default();
    joined.rows.retain(|_, row| is_there(row.left) || is_there(row.right));
    joined.in_order(tolerance, order, None)
}

/// Labels of counted rows in the form of their dimensions.
pub fn in_one_form(rows: &mut [CountedRow], dimensions: &[Dimension]) {
    for row in rows {
        for (dimension, label) in dimensions.iter().zip(&mut row.labels) {
            let form = dimension.in_one_form(label);
            if form != **label {
                *label = form.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::diff::comparison::ComparedTotals;

    fn row(labels: &[&str], pages: i64) -> CountedRow {
        CountedRow { labels: labels.iter().map(|label| (*label).into()).collect(), amount: Amount::of_pages(pages) }
    }

    #[test]
    fn sides_are_joined_and_the_largest_change_comes_first() {
        let left = vec![row(&["Image", "a"], 5), row(&["MapFile", "x"], 9)];
        let right = vec![row(&["Image", "a"], 4), row(&["Image", "a"], 2), row(&["Use14", "x"], 0)];
        let dimensions = [Dimension::Category, Dimension::Detail];
        let rows = join([left, right], &dimensions, &[Matched::default(), Matched::default()], Default::default());
        assert_eq!(rows.iter().map(DiffRow::delta).collect::<Vec<_>>(), [-9, 1]);
        assert!(rows[0].right.is_none() && rows.iter().all(DiffRow::differs));
        let totals = ComparedTotals::of(&rows);
        assert_eq!((totals.left, totals.right, totals.more, totals.less, totals.delta()), (14, 6, 1, 9, -8));
    }

    #[test]
    fn each_order_puts_its_largest_first() {
        let sides = [
            vec![row(&["grew"], 100), row(&["doubled"], 10), row(&["gone"], 4), row(&["same"], 50)],
            vec![row(&["grew"], 130), row(&["doubled"], 20), row(&["new"], 2), row(&["same"], 50)],
        ];
        let rows = join(sides, &[Dimension::Category], &[Matched::default()], Default::default());
        let ordered = |order: DiffOrder| {
            let mut rows = rows.clone();
            rows.sort_by(|a, b| order.compare(None, a, b));
            rows.iter().map(|row| row.labels[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(DiffOrder::Difference), "grew doubled gone new same");
        assert_eq!(ordered(DiffOrder::Change), "gone new doubled grew same");
        assert_eq!(ordered(DiffOrder::Left), "grew same doubled gone new");
        assert_eq!(ordered(DiffOrder::Right), "grew same doubled new gone");
        assert_eq!(ordered(DiffOrder::Name), "doubled gone grew new same");
        let changes: Vec<Option<f64>> = rows.iter().map(DiffRow::change).collect();
        assert_eq!(changes, [Some(30.0), Some(100.0), None, None, Some(0.0)]);
    }

    #[test]
    fn what_is_allowed_is_no_difference() {
        let sides = [vec![row(&["a"], 100)], vec![row(&["a"], 98)]];
        let rows = |tolerance: &str| {
            join(
                sides.clone(),
                &[Dimension::Category],
                &[Matched::default()],
                (tolerance.parse().unwrap(), DiffOrder::default()),
            )
        };
        assert!(rows("1")[0].differs() && !rows("2")[0].differs() && !rows("2%")[0].differs());
    }
}
