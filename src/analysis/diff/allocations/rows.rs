//! Rows of both sides, joined.

use crate::analysis::allocations::{AllocationRow, AllocationSet, Figures};
use crate::analysis::diff::rows::{DiffOrder, percent};
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::table::group::natural;
use crate::facets::{Label, LabelKind};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::collections::BTreeMap;

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

    /// The sum that decides.
    pub const fn of_measure(&self, measure: AllocationMeasure) -> i128 {
        match measure {
            AllocationMeasure::Outstanding => self.outstanding,
            AllocationMeasure::Growth => self.growth,
            AllocationMeasure::Peak => self.peak,
        }
    }
}

/// One row of the comparison.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AllocationDiffRow {
    /// Labels in order of the dimensions.
    pub labels: Vec<Label>,
    /// The side whose labels these are: it has the whole of those that are cut.
    pub(crate) named_by: usize,
    /// On the left; `None`: the row is not there.
    pub left: Option<AllocationSums>,
    /// On the right.
    pub right: Option<AllocationSums>,
    /// What decides.
    pub measure: AllocationMeasure,
    /// How much the two may differ, bytes.
    pub limit: i128,
}

impl AllocationDiffRow {
    /// The sums that decide.
    pub fn compared(&self) -> (i128, i128) {
        let of = |side: &Option<AllocationSums>| side.unwrap_or_default().of_measure(self.measure);
        (of(&self.left), of(&self.right))
    }

    /// Right less left.
    pub fn delta(&self) -> i128 {
        let (left, right) = self.compared();
        right.saturating_sub(left)
    }

    /// How much more the right side has, in percent of the left; `None` where one of the two has nothing.
    pub fn change(&self) -> Option<f64> {
        percent(self.compared())
    }

    /// True when the two differ by more than is allowed.
    pub fn differs(&self) -> bool {
        self.delta().saturating_abs() > self.limit
    }
}

/// What rows add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllocationTotals {
    /// Rows.
    pub rows: u64,
    /// On the left.
    pub left: AllocationSums,
    /// On the right.
    pub right: AllocationSums,
    /// Right less left of what decides.
    pub delta: i128,
    /// Added, over the rows that have more.
    pub more: i128,
    /// Removed, over the rows that have less.
    pub less: i128,
}

impl AllocationTotals {
    /// Of some rows. Peaks at different times do not add up.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r AllocationDiffRow>) -> AllocationTotals {
        let mut totals = AllocationTotals::default();
        let add = |sum: &mut AllocationSums, side: Option<AllocationSums>| {
            let side = side.unwrap_or_default();
            sum.outstanding = sum.outstanding.saturating_add(side.outstanding);
            sum.growth = sum.growth.saturating_add(side.growth);
            sum.pieces = sum.pieces.saturating_add(side.pieces);
        };
        for row in rows {
            totals.rows += 1;
            add(&mut totals.left, row.left);
            add(&mut totals.right, row.right);
            totals.delta = totals.delta.saturating_add(row.delta());
            totals.more = totals.more.saturating_add(row.delta().max(0));
            totals.less = totals.less.saturating_add(row.delta().min(0).saturating_abs());
        }
        totals
    }

    /// Of all rows: here the peak of all is known.
    pub(super) fn of_all(
        sets: [&AllocationSet; 2],
        rows: &[AllocationDiffRow],
        measure: AllocationMeasure,
    ) -> AllocationTotals {
        let [left, right] = sets.map(|set| AllocationSums::of(&set.total));
        let delta = right.of_measure(measure).saturating_sub(left.of_measure(measure));
        AllocationTotals { left, right, delta, ..AllocationTotals::of(rows) }
    }
}

/// Longest text of a key, bytes: a sum stands for longer ones.
const LONGEST: usize = 256;

/// By what labels of two traces are the same. How much of a long stack is in its label depends on the other stacks of its trace, so the
/// whole text decides.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::analysis::diff) enum Key {
    Text(String),
    Long([u8; 32]),
}

impl Key {
    pub(in crate::analysis::diff) fn new(text: String) -> Key {
        if text.len() > LONGEST { Key::Long(Sha256::digest(text.as_bytes()).into()) } else { Key::Text(text) }
    }
}

fn key(set: &AllocationSet, label: &Label) -> Key {
    let text = match label.kind() {
        LabelKind::Cut(number) => set.whole_stack(number),
        _ => label.to_string(),
    };
    Key::new(text)
}

/// Rows of both sides in the order that is asked for.
pub(super) fn join(
    sets: [&AllocationSet; 2],
    measure: AllocationMeasure,
    tolerance: Tolerance,
    order: DiffOrder,
) -> Vec<AllocationDiffRow> {
    let mut found: BTreeMap<Vec<Key>, AllocationDiffRow> = BTreeMap::new();
    for (side, set) in sets.into_iter().enumerate() {
        let keyed = |row: &AllocationRow| row.labels.iter().map(|label| key(set, label)).collect::<Vec<Key>>();
        for row in &set.rows {
            let joined = found.entry(keyed(row)).or_insert_with(|| AllocationDiffRow {
                labels: row.labels.clone(),
                named_by: side,
                left: None,
                right: None,
                measure,
                limit: 0,
            });
            let slot = if side == 0 { &mut joined.left } else { &mut joined.right };
            *slot = Some(AllocationSums::of(&row.figures));
        }
    }
    let mut rows: Vec<AllocationDiffRow> = found.into_values().collect();
    rows.iter_mut().for_each(|row| row.limit = limit(tolerance, row.compared()));
    rows.sort_by(|a, b| compare(order, a, b));
    rows
}

pub(in crate::analysis::diff) fn limit(tolerance: Tolerance, (left, right): (i128, i128)) -> i128 {
    match tolerance {
        Tolerance::Bytes(bytes) => bytes.into(),
        Tolerance::Share(millionths) => {
            let larger = left.saturating_abs().max(right.saturating_abs());
            let millionths = i128::from(millionths);
            (larger / 1_000_000).saturating_mul(millionths).saturating_add(larger % 1_000_000 * millionths / 1_000_000)
        }
    }
}

pub(super) fn compare(order: DiffOrder, a: &AllocationDiffRow, b: &AllocationDiffRow) -> Ordering {
    let labels = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
    let largest = || b.delta().saturating_abs().cmp(&a.delta().saturating_abs());
    let change = |row: &AllocationDiffRow| row.change().map_or(f64::INFINITY, f64::abs);
    let first = match order {
        DiffOrder::Difference | DiffOrder::Share => largest(),
        DiffOrder::Change => change(b).total_cmp(&change(a)).then_with(largest),
        DiffOrder::Left => b.compared().0.cmp(&a.compared().0),
        DiffOrder::Right => b.compared().1.cmp(&a.compared().1),
        DiffOrder::Name => Ordering::Equal,
    };
    first.then_with(|| labels().unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(outstanding: i128, growth: i128, peak: i128) -> Option<AllocationSums> {
        Some(AllocationSums { outstanding, growth, peak, pieces: 1 })
    }

    fn row(label: &str, left: Option<AllocationSums>, right: Option<AllocationSums>) -> AllocationDiffRow {
        let measure = AllocationMeasure::Outstanding;
        AllocationDiffRow { labels: vec![Label::name(label)], named_by: 0, left, right, measure, limit: 0 }
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
        let ordered = |order| {
            let mut rows = rows.to_vec();
            rows.sort_by(|a, b| compare(order, a, b));
            rows.iter().map(|row| row.labels[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(DiffOrder::Difference), "grew doubled gone");
        assert_eq!(ordered(DiffOrder::Change), "gone doubled grew");
        assert_eq!(ordered(DiffOrder::Right), "grew doubled gone");
        assert_eq!(ordered(DiffOrder::Name), "doubled gone grew");
        let totals = AllocationTotals::of(&rows);
        assert_eq!((totals.left.outstanding, totals.right.outstanding), (114, 150));
        assert_eq!((totals.delta, totals.more, totals.less, totals.rows), (36, 40, 4, 3));
    }

    #[test]
    fn a_tolerance_is_of_the_larger_side_and_nothing_overflows() {
        let of = |text: &str, left, right| limit(text.parse().unwrap(), (left, right));
        assert_eq!([of("2%", 100, 50), of("1 KiB", 1, 1), of("0", 9, 9)], [2, 1024, 0]);
        assert_eq!(of("50%", -1_000_000, 10), 500_000, "what shrank");
        assert!(of("2%", i128::MAX, i128::MIN) > 0);
        let huge = row("x", sums(i128::MIN, 0, 0), sums(i128::MAX, 0, 0));
        assert_eq!((huge.delta(), huge.differs()), (i128::MAX, true));
        assert_eq!(AllocationTotals::of([&huge, &huge]).more, i128::MAX);
    }
}
