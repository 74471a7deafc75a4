//! Rows of a comparison: the memory of each key on both sides.

use crate::analysis::diff::dimension::Dimension;
use crate::analysis::diff::processes::Matched;
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::table::group::natural;
use crate::escape::visible;
use crate::facets::Label;
use crate::imported::CountedRow;
use crate::imported::amount::{Amount, Limit};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// One key.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DiffRow {
    /// Labels in order of the dimensions.
    pub labels: Vec<Label>,
    /// On the left; `None`: the key is not there.
    pub left: Option<Amount>,
    /// On the right.
    pub right: Option<Amount>,
    /// How much the two may differ.
    pub limit: Limit,
}

/// How much more the right side has, in percent of the left; `None` where one of the two has nothing.
pub(super) fn percent((left, right): (i128, i128)) -> Option<f64> {
    (left > 0 && right > 0).then(|| right.saturating_sub(left) as f64 * 100.0 / left as f64)
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

    /// Right less left.
    pub fn delta(&self) -> i64 {
        self.right_pages() - self.left_pages()
    }

    /// Pages of both.
    pub(super) fn compared(&self) -> (i128, i128) {
        (self.left_pages().into(), self.right_pages().into())
    }

    /// How much more the right side has, in percent of the left; `None` where one of the two has nothing.
    pub fn change(&self) -> Option<f64> {
        percent(self.compared())
    }

    /// True when the two differ by more than is allowed.
    pub fn differs(&self) -> bool {
        self.left.unwrap_or_default().distance(self.right.unwrap_or_default()) > self.limit
    }
}

/// How rows are ordered; equal ones by their labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffOrder {
    /// The largest difference first.
    #[default]
    Difference,
    /// Those that only one side has first, then the largest difference in percent.
    Change,
    /// Most pages on the left first.
    Left,
    /// Most pages on the right first.
    Right,
    /// By label.
    Name,
    /// Of stacks: the largest difference of shares first.
    Share,
}

impl DiffOrder {
    /// Compares two rows.
    pub fn compare(self, a: &DiffRow, b: &DiffRow) -> Ordering {
        let labels = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
        let largest = || b.delta().abs().cmp(&a.delta().abs());
        let change = |row: &DiffRow| row.change().map_or(f64::INFINITY, f64::abs);
        let first = match self {
            DiffOrder::Difference | DiffOrder::Share => largest(),
            DiffOrder::Change => change(b).total_cmp(&change(a)).then_with(largest),
            DiffOrder::Left => b.left_pages().cmp(&a.left_pages()),
            DiffOrder::Right => b.right_pages().cmp(&a.right_pages()),
            DiffOrder::Name => Ordering::Equal,
        };
        first.then_with(|| labels().unwrap_or(Ordering::Equal))
    }
}

/// Joins the rows of both sides; those that change most come first. `matched` has the matching labels of each dimension.
pub fn join(
    sides: [Vec<CountedRow>; 2],
    dimensions: &[Dimension],
    matched: &[Matched],
    tolerance: Tolerance,
) -> Vec<DiffRow> {
    let mut rows: BTreeMap<Vec<String>, DiffRow> = BTreeMap::new();
    for (side, counted) in sides.into_iter().enumerate() {
        for row in counted {
            let labels = matched.iter().zip(&row.labels).map(|(matched, label)| matched.name(side, label).to_owned());
            let labels: Vec<String> = labels.collect();
            // CSV has hidden characters in writing, so rows are joined by what is visible.
            let form = |(dimension, label): (&Dimension, &String)| match dimension {
                Dimension::Process(_) => visible(label).to_lowercase(),
                _ => visible(label).into_owned(),
            };
            let key = dimensions.iter().zip(&labels).map(form).collect();
            let typed = || dimensions.iter().zip(&labels).map(|(dimension, label)| dimension.label(label)).collect();
            let new = || DiffRow { labels: typed(), left: None, right: None, limit: Limit::default() };
            let found = rows.entry(key).or_insert_with(new);
            let slot = if side == 0 { &mut found.left } else { &mut found.right };
            *slot.get_or_insert_default() += row.amount;
        }
    }
    let mut rows: Vec<DiffRow> = rows.into_values().collect();
    // A row without pages is like a missing row.
    rows.retain(|row| {
        row.left.unwrap_or_default() != Amount::default() || row.right.unwrap_or_default() != Amount::default()
    });
    for row in &mut rows {
        row.limit = tolerance.limit(row.left.unwrap_or_default(), row.right.unwrap_or_default());
    }
    rows.sort_by(|a, b| DiffOrder::default().compare(a, b));
    rows
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

/// What the rows add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffTotals {
    /// Keys.
    pub rows: u64,
    /// Pages on the left.
    pub left: i64,
    /// Pages on the right.
    pub right: i64,
    /// Pages added, summed over the keys that have more.
    pub more: i64,
    /// Pages removed, summed over the keys that have fewer.
    pub less: i64,
}

impl DiffTotals {
    /// Adds up some rows.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r DiffRow>) -> DiffTotals {
        let mut totals = DiffTotals::default();
        for row in rows {
            totals.rows += 1;
            totals.left += row.left_pages();
            totals.right += row.right_pages();
            totals.more += row.delta().max(0);
            totals.less += (-row.delta()).max(0);
        }
        totals
    }

    /// Right less left.
    pub const fn delta(&self) -> i64 {
        self.right - self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(labels: &[&str], pages: i64) -> CountedRow {
        CountedRow { labels: labels.iter().map(|label| (*label).into()).collect(), amount: Amount::of_pages(pages) }
    }

    #[test]
    fn sides_are_joined_and_the_largest_change_comes_first() {
        let left = vec![row(&["Image", "a"], 5), row(&["MapFile", "x"], 9)];
        let right = vec![row(&["Image", "a"], 4), row(&["Image", "a"], 2), row(&["Use14", "x"], 0)];
        let dimensions = [Dimension::Category, Dimension::Detail];
        let rows = join([left, right], &dimensions, &[Matched::default(), Matched::default()], Tolerance::default());
        assert_eq!(rows.iter().map(DiffRow::delta).collect::<Vec<_>>(), [-9, 1]);
        assert!(rows[0].right.is_none() && rows.iter().all(DiffRow::differs));
        let totals = DiffTotals::of(&rows);
        assert_eq!((totals.left, totals.right, totals.more, totals.less, totals.delta()), (14, 6, 1, 9, -8));
    }

    #[test]
    fn each_order_puts_its_largest_first() {
        let sides = [
            vec![row(&["grew"], 100), row(&["doubled"], 10), row(&["gone"], 4), row(&["same"], 50)],
            vec![row(&["grew"], 130), row(&["doubled"], 20), row(&["new"], 2), row(&["same"], 50)],
        ];
        let rows = join(sides, &[Dimension::Category], &[Matched::default()], Tolerance::default());
        let ordered = |order: DiffOrder| {
            let mut rows = rows.clone();
            rows.sort_by(|a, b| order.compare(a, b));
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
            join(sides.clone(), &[Dimension::Category], &[Matched::default()], tolerance.parse().unwrap())
        };
        assert!(rows("1")[0].differs() && !rows("2")[0].differs() && !rows("2%")[0].differs());
    }
}
