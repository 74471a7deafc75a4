//! Rows of both sides, joined.

use crate::analysis::diff::comparison::{Amounts, ComparedRow, DiffOrder, Join, Key, limit};
use crate::analysis::diff::process_matching::Matched;
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::stacks::{Dimension, Kind, SelfAndTotal, StackSet, Weight, in_one_case};
use crate::dimensions::{Label, LabelKind};
use crate::error::Error;
use crate::units::PAGE_BYTES;

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

impl Amounts for SelfAndTotal {
    type Measure = StackMeasure;
    /// In the kind's unit.
    type Limit = i128;

    fn amount(&self, measure: StackMeasure) -> i128 {
        measure.of(self).into()
    }

    fn limit(tolerance: Tolerance, row: &StackDiffRow) -> i128 {
        limit(tolerance, row.compared())
    }

    fn exceeds_limit(row: &StackDiffRow) -> bool {
        row.delta().saturating_abs() > row.limit
    }
}

/// One row of the comparison.
pub type StackDiffRow = ComparedRow<SelfAndTotal>;

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
    let mut joined: Join<Vec<Key>, SelfAndTotal> = Join::new(measure);
    for (side, set) in sets.into_iter().enumerate() {
        for row in &set.compared {
            let label = |(dimension, label): (&Dimension, &Label)| match dimension {
                Dimension::Process => Label::name(matched.name(side, label.as_str())),
                _ => label.clone(),
            };
            let labels: Vec<Label> = dimensions.iter().zip(&row.labels).map(label).collect();
            let keys = dimensions.iter().zip(&labels).map(|(dimension, label)| key(set, *dimension, label)).collect();
            add(joined.side(side, keys, || labels), &row.measure);
        }
    }
    joined.in_order(tolerance, order, Some(sets.map(|set| set.totals.weight)))
}

/// Processes of one name have no event in common.
fn add(sum: &mut SelfAndTotal, other: &SelfAndTotal) {
    sum.self_events += other.self_events;
    sum.total_events += other.total_events;
    sum.self_weight = sum.self_weight.saturating_add(other.self_weight);
    sum.total_weight = sum.total_weight.saturating_add(other.total_weight);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::diff::comparison::ComparedTotals;

    const ALL: [u64; 2] = [100, 1000];

    fn row(label: &str, left: Option<u64>, right: Option<u64>) -> StackDiffRow {
        let sums = |weight: u64| SelfAndTotal {
            self_events: 1,
            total_events: 1,
            self_weight: weight,
            total_weight: weight.saturating_mul(2),
        };
        let measure = StackMeasure::Own;
        let (left, right) = (left.map(sums), right.map(sums));
        StackDiffRow { left, right, ..StackDiffRow::new(vec![Label::name(label)], 0, measure) }
    }

    #[test]
    fn rows_are_ordered_by_amounts_or_by_shares() {
        let rows = [
            row("grew", Some(40), Some(400)),
            row("halved", Some(50), Some(250)),
            row("gone", Some(10), None),
            row("new", None, Some(350)),
        ];
        let ordered = |order: DiffOrder| {
            let mut rows = rows.to_vec();
            rows.sort_by(|a, b| order.compare(Some(ALL), a, b));
            rows.iter().map(|row| row.labels[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(DiffOrder::Difference), "grew new halved gone");
        assert_eq!(ordered(DiffOrder::Share), "new halved gone grew");
        assert_eq!(ordered(DiffOrder::Change), "new gone grew halved");
        assert_eq!(ordered(DiffOrder::Left), "halved grew gone new");
        assert_eq!(ordered(DiffOrder::Right), "grew new halved gone");
        assert_eq!(ordered(DiffOrder::Name), "gone grew halved new");
        assert_eq!(rows.each_ref().map(|row| row.shares(ALL)), [[40.0, 40.0], [50.0, 25.0], [10.0, 0.0], [0.0, 35.0]]);
        let totals = ComparedTotals::of(&rows);
        assert_eq!((totals.rows, totals.left, totals.right), (4, 100, 1000));
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
        assert_eq!(ComparedTotals::of([&huge, &huge]).left, 2 * i128::from(u64::MAX));
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
