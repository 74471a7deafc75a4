//! Rows of both sides, joined.

use crate::analysis::diff::allocations::{Key, limit};
use crate::analysis::diff::processes::Matched;
use crate::analysis::diff::rows::{DiffOrder, percent};
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::stacks::{Dimension, Kind, SelfAndTotal, StackSet, Weight, in_one_case};
use crate::analysis::table::group::natural;
use crate::error::Error;
use crate::facets::{Label, LabelKind};
use crate::units::PAGE_BYTES;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What decides whether rows differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StackMeasure {
    /// The weight of events with the row's frame innermost.
    #[default]
    Own,
    /// The weight of events with it anywhere.
    Total,
}

impl StackMeasure {
    /// Name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            StackMeasure::Own => "self",
            StackMeasure::Total => "total",
        }
    }

    /// The weight that decides.
    pub const fn of(self, sums: &SelfAndTotal) -> u64 {
        match self {
            StackMeasure::Own => sums.self_weight,
            StackMeasure::Total => sums.total_weight,
        }
    }
}

/// One row of the comparison.
#[derive(Debug, Clone)]
pub struct StackDiffRow {
    /// Labels in order of the dimensions.
    pub labels: Vec<Label>,
    /// The side whose labels these are: it has the whole of those that are cut.
    pub(crate) named_by: usize,
    /// On the left; `None`: the row is not there.
    pub left: Option<SelfAndTotal>,
    /// On the right.
    pub right: Option<SelfAndTotal>,
    /// What decides.
    pub measure: StackMeasure,
    /// The weight of all events of both sides.
    pub all: [u64; 2],
    /// How much the two may differ, in the kind's unit.
    pub limit: i128,
}

impl StackDiffRow {
    /// The weights that decide.
    pub fn compared(&self) -> (i128, i128) {
        let of = |side: &Option<SelfAndTotal>| i128::from(self.measure.of(&side.unwrap_or_default()));
        (of(&self.left), of(&self.right))
    }

    /// The same as shares of all of their side, in percent.
    pub fn shares(&self) -> [f64; 2] {
        let (left, right) = self.compared();
        let [all_left, all_right] = self.all;
        [share(left, all_left), share(right, all_right)]
    }

    /// Right less left.
    pub fn delta(&self) -> i128 {
        let (left, right) = self.compared();
        right - left
    }

    /// How much more the right side has, in percent of the left; `None` where one of the two has nothing.
    pub fn change(&self) -> Option<f64> {
        percent(self.compared())
    }

    /// True when the two differ by more than is allowed.
    pub fn differs(&self) -> bool {
        self.delta().abs() > self.limit
    }
}

/// A part of all, in percent.
pub(super) fn share(part: i128, all: u64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

/// What rows add up to. Totals of functions do not add up: an event is in those of all functions of its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StackTotals {
    /// Rows.
    pub rows: u64,
    /// What decides, of both sides.
    pub weights: (i128, i128),
}

impl StackTotals {
    /// Of some rows.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r StackDiffRow>) -> StackTotals {
        let mut totals = StackTotals::default();
        for row in rows {
            let (left, right) = row.compared();
            totals.rows += 1;
            totals.weights.0 += left;
            totals.weights.1 += right;
        }
        totals
    }
}

/// The tolerance in the unit of a kind: any has shares, kinds of memory amounts.
///
/// # Errors
/// [`Error::Usage`] for an amount of memory where weights are none.
pub(super) fn tolerance_of(kind: &Kind, tolerance: Tolerance) -> Result<Tolerance, Error> {
    match (kind.weight(), tolerance) {
        (_, Tolerance::Share(_) | Tolerance::Bytes(0)) | (Weight::Bytes, _) => Ok(tolerance),
        (Weight::Pages, Tolerance::Bytes(bytes)) => Ok(Tolerance::Bytes(bytes / PAGE_BYTES)),
        (Weight::Time | Weight::Count, Tolerance::Bytes(_)) => Err(Error::Usage(format!(
            "the tolerance of {} is a share of the larger side, as in 2%: amounts of memory are for kinds of memory",
            kind.name()
        ))),
    }
}

fn key(set: &StackSet, dimension: Dimension, label: &Label) -> Key {
    let text = match label.kind() {
        LabelKind::Cut(number) => set.texts.text(number),
        _ => label.to_string(),
    };
    Key::new(match dimension {
        Dimension::Module | Dimension::Function => in_one_case(&text),
        Dimension::Stack => text.split(';').map(in_one_case).collect::<Vec<_>>().join(";"),
        _ => text,
    })
}

/// Rows of both sides in the order that is asked for.
pub(super) fn join(
    sets: [&StackSet; 2],
    dimensions: &[Dimension],
    matched: &Matched,
    (measure, tolerance, order): (StackMeasure, Tolerance, DiffOrder),
) -> Vec<StackDiffRow> {
    let mut found: BTreeMap<Vec<Key>, StackDiffRow> = BTreeMap::new();
    let all = sets.map(|set| set.totals.weight);
    for (side, set) in sets.into_iter().enumerate() {
        for row in &set.compared {
            let label = |(dimension, label): (&Dimension, &Label)| match dimension {
                Dimension::Process => Label::name(matched.name(side, label.as_str())),
                _ => label.clone(),
            };
            let labels: Vec<Label> = dimensions.iter().zip(&row.labels).map(label).collect();
            let keys = dimensions.iter().zip(&labels).map(|(dimension, label)| key(set, *dimension, label)).collect();
            let new = || StackDiffRow { labels, named_by: side, left: None, right: None, measure, all, limit: 0 };
            let joined = found.entry(keys).or_insert_with(new);
            let slot = if side == 0 { &mut joined.left } else { &mut joined.right };
            add(slot.get_or_insert_default(), &row.measure);
        }
    }
    let mut rows: Vec<StackDiffRow> = found.into_values().collect();
    rows.iter_mut().for_each(|row| row.limit = limit(tolerance, row.compared()));
    rows.sort_by(|a, b| compare(order, a, b));
    rows
}

/// Processes of one name have no event in common.
fn add(sum: &mut SelfAndTotal, other: &SelfAndTotal) {
    sum.self_events += other.self_events;
    sum.total_events += other.total_events;
    sum.self_weight = sum.self_weight.saturating_add(other.self_weight);
    sum.total_weight = sum.total_weight.saturating_add(other.total_weight);
}

pub(super) fn compare(order: DiffOrder, a: &StackDiffRow, b: &StackDiffRow) -> Ordering {
    let labels = || a.labels.iter().zip(&b.labels).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
    let largest = || b.delta().abs().cmp(&a.delta().abs());
    let change = |row: &StackDiffRow| row.change().map_or(f64::INFINITY, f64::abs);
    let points = |row: &StackDiffRow| {
        let [left, right] = row.shares();
        (right - left).abs()
    };
    let first = match order {
        DiffOrder::Difference => largest(),
        DiffOrder::Share => points(b).total_cmp(&points(a)).then_with(largest),
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

    fn row(label: &str, left: Option<u64>, right: Option<u64>) -> StackDiffRow {
        let sums = |weight: u64| SelfAndTotal {
            self_events: 1,
            total_events: 1,
            self_weight: weight,
            total_weight: weight.saturating_mul(2),
        };
        let measure = StackMeasure::Own;
        let (left, right) = (left.map(sums), right.map(sums));
        StackDiffRow { labels: vec![Label::name(label)], named_by: 0, left, right, measure, all: [100, 1000], limit: 0 }
    }

    #[test]
    fn rows_are_ordered_by_amounts_or_by_shares() {
        let rows = [
            row("grew", Some(40), Some(400)),
            row("halved", Some(50), Some(250)),
            row("gone", Some(10), None),
            row("new", None, Some(350)),
        ];
        let ordered = |order| {
            let mut rows = rows.to_vec();
            rows.sort_by(|a, b| compare(order, a, b));
            rows.iter().map(|row| row.labels[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(DiffOrder::Difference), "grew new halved gone");
        assert_eq!(ordered(DiffOrder::Share), "new halved gone grew");
        assert_eq!(ordered(DiffOrder::Change), "new gone grew halved");
        assert_eq!(ordered(DiffOrder::Left), "halved grew gone new");
        assert_eq!(ordered(DiffOrder::Right), "grew new halved gone");
        assert_eq!(ordered(DiffOrder::Name), "gone grew halved new");
        assert_eq!(rows.each_ref().map(StackDiffRow::shares), [[40.0, 40.0], [50.0, 25.0], [10.0, 0.0], [0.0, 35.0]]);
        assert_eq!(StackTotals::of(&rows), StackTotals { rows: 4, weights: (100, 1000) });
    }

    #[test]
    fn the_measure_decides_and_nothing_overflows() {
        let total = |left, right| StackDiffRow { measure: StackMeasure::Total, ..row("a", Some(left), Some(right)) };
        assert_eq!((row("a", Some(5), Some(7)).delta(), total(5, 7).delta()), (2, 4));
        let huge = row("a", Some(u64::MAX), None);
        assert_eq!((huge.delta(), huge.differs(), huge.change()), (-i128::from(u64::MAX), true, None));
        let mut sum = SelfAndTotal { total_weight: u64::MAX, ..SelfAndTotal::default() };
        add(&mut sum, &huge.left.unwrap_or_default());
        assert_eq!(sum.total_weight, u64::MAX);
        assert_eq!(StackTotals::of([&huge, &huge]).weights.0, 2 * i128::from(u64::MAX));
    }

    #[test]
    fn tolerances_have_the_unit_of_their_kind() {
        let of = |kind: &str, tolerance: &str| {
            tolerance_of(&Kind::parse(kind).unwrap(), tolerance.parse().unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(of("samples", "2%"), Ok(Tolerance::Share(20_000)));
        assert_eq!(of("samples", "0"), Ok(Tolerance::Bytes(0)));
        assert_eq!(of("page-access", "10"), Ok(Tolerance::Bytes(10)));
        assert_eq!(of("hard-fault", "1 KiB"), Ok(Tolerance::Bytes(1024)));
        assert!(of("cswitch", "1 KiB").unwrap_err().contains("a share"));
        assert!(of("disk", "10").is_err());
    }
}
