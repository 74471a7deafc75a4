//! Rows of both sides, joined.

use crate::analysis::allocations::{AllocationSet, Figures};
use crate::analysis::diff::comparison::{Amounts, ComparedRow, Join, Key, limit};
use crate::analysis::diff::row_choice::RowChoice;
use crate::analysis::diff::tolerance::Tolerance;
use crate::dimensions::{Label, LabelKind};

/// What decides whether rows differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocationMeasure {
    /// What is outstanding at the end.
    #[default]
    Outstanding,
    /// What is there at the end less what was there at the beginning.
    Growth,
    /// The greatest sum at any time.
    Peak,
}

impl AllocationMeasure {
    /// Name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AllocationMeasure::Outstanding => "outstanding",
            AllocationMeasure::Growth => "growth",
            AllocationMeasure::Peak => "peak",
        }
    }
}

/// Sums of one side, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllocationSums {
    /// At the end.
    pub outstanding: i128,
    /// At the end less at the beginning.
    pub growth: i128,
    /// The most at any time.
    pub peak: i128,
    /// Pieces at the end.
    pub pieces: u64,
}

impl AllocationSums {
    pub(super) fn of(figures: &Figures) -> AllocationSums {
        let bytes = |sum: u128| i128::try_from(sum).unwrap_or(i128::MAX);
        AllocationSums {
            outstanding: bytes(figures.at_end().bytes),
            growth: figures.growth(),
            peak: bytes(figures.peak.map_or(0, |(sum, _)| sum)),
            pieces: figures.at_end().count,
        }
    }
}

impl Amounts for AllocationSums {
    type Measure = AllocationMeasure;
    type Limit = i128;

    fn amount(&self, measure: AllocationMeasure) -> i128 {
        match measure {
            AllocationMeasure::Outstanding => self.outstanding,
            AllocationMeasure::Growth => self.growth,
            AllocationMeasure::Peak => self.peak,
        }
    }

    fn limit(tolerance: Tolerance, row: &AllocationDiffRow) -> i128 {
        limit(tolerance, row.compared())
    }

    fn exceeds_limit(row: &AllocationDiffRow) -> bool {
        row.delta().saturating_abs() > row.limit
    }
}

/// One row of the comparison.
pub type AllocationDiffRow = ComparedRow<AllocationSums>;

fn key(set: &AllocationSet, label: &Label) -> Key {
    let text = match label.kind() {
        LabelKind::Cut(number) => set.whole_stack(number),
        _ => label.to_string(),
    };
    Key::new(text)
}

/// Rows of both sides in the order that is asked for.
pub(super) fn join(sets: [&AllocationSet; 2], measure: AllocationMeasure, choice: RowChoice) -> Vec<AllocationDiffRow> {
    let mut joined: Join<Vec<Key>, AllocationSums> = Join::new(measure);
    for (side, set) in sets.into_iter().enumerate() {
        for row in &set.rows {
            let keys = row.labels.iter().map(|label| key(set, label)).collect();
            *joined.side(side, keys, || row.labels.clone()) = AllocationSums::of(&row.figures);
        }
    }
    joined.in_order(choice.tolerance, choice.order, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::diff::comparison::{ComparedTotals, DiffOrder};

    fn sums(outstanding: i128, growth: i128, peak: i128) -> Option<AllocationSums> {
        Some(AllocationSums { outstanding, growth, peak, pieces: 1 })
    }

    fn row(label: &str, left: Option<AllocationSums>, right: Option<AllocationSums>) -> AllocationDiffRow {
        let measure = AllocationMeasure::Outstanding;
        AllocationDiffRow { left, right, ..AllocationDiffRow::new(vec![Label::name(label)], 0, measure) }
    }

    #[test]
    fn the_measure_decides() {
        let mut row = row("a", sums(10, -5, 30), sums(10, 7, 20));
        let mut of = |measure| {
            row.measure = measure;
            (row.delta(), row.differs(), row.change())
        };
        assert_eq!(of(AllocationMeasure::Outstanding), (0, false, Some(0.0)));
        assert_eq!(of(AllocationMeasure::Growth), (12, true, None));
        assert_eq!(of(AllocationMeasure::Peak).0, -10);
    }

    #[test]
    fn rows_are_ordered_and_added_up() {
        let rows = [
            row("grew", sums(100, 0, 0), sums(130, 0, 0)),
            row("doubled", sums(10, 0, 0), sums(20, 0, 0)),
            row("gone", sums(4, 0, 0), None),
        ];
        let ordered = |order: DiffOrder| {
            let mut rows = rows.to_vec();
            rows.sort_by(|a, b| order.compare(None, a, b));
            rows.iter().map(|row| row.labels[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(DiffOrder::Difference), "grew doubled gone");
        assert_eq!(ordered(DiffOrder::Change), "gone doubled grew");
        assert_eq!(ordered(DiffOrder::Right), "grew doubled gone");
        assert_eq!(ordered(DiffOrder::Name), "doubled gone grew");
        let totals = ComparedTotals::of(&rows);
        assert_eq!((totals.left, totals.right), (114, 150));
        assert_eq!((totals.delta(), totals.more, totals.less, totals.rows), (36, 40, 4, 3));
    }

    #[test]
    fn a_tolerance_is_of_the_larger_side_and_nothing_overflows() {
        let of = |text: &str, left, right| limit(text.parse().unwrap(), (left, right));
        assert_eq!([of("2%", 100, 50), of("1 KiB", 1, 1), of("0", 9, 9)], [2, 1024, 0]);
        assert_eq!(of("50%", -1_000_000, 10), 500_000, "what shrank");
        assert!(of("2%", i128::MAX, i128::MIN) > 0);
        let huge = row("x", sums(i128::MIN, 0, 0), sums(i128::MAX, 0, 0));
        assert_eq!((huge.delta(), huge.differs()), (i128::MAX, true));
        assert_eq!(ComparedTotals::of([&huge, &huge]).more, i128::MAX);
    }
}
