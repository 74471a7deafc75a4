//! Figures as tables: for programs every figure, for people those of one view.

use super::figures::{Amount, Figures};
use super::piece::Reason;
use super::query::{AllocationOrder, Dimension};
use super::rows::{AllocationRow, compare};
use super::timeline::TimelineStep;
use super::{AllocationSet, Check};
use crate::analysis::table::{Column, Course, Field, Forms, Group, Line, Measured, Node, Table, Value};
use crate::dimensions::Dimension as _;
use crate::units::PAGE_BYTES;

/// The columns that people see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationView {
    /// At the end, growth, and what came and went.
    Outstanding,
    /// What was allocated early and is still there.
    Leaks,
    /// What grew.
    Growth,
    /// What was allocated and freed.
    Churn,
    /// How long pieces lived.
    Lifetimes,
    /// What is committed and not in RAM.
    NotResident,
}

/// A sum of bytes; those that no 64 bits hold are written with a fraction.
fn number(bytes: u128) -> Value {
    u64::try_from(bytes).map_or(Value::Decimal(bytes as f64), Value::Number)
}

/// A size for people.
fn size(bytes: u128) -> Value {
    Value::Size(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Six sums and what they are called.
type Part = (&'static str, &'static str, fn(&Figures) -> Amount);

const PARTS: [Part; 8] = [
    ("at_start_bytes", "at_start_count", Figures::at_start),
    ("allocated_bytes", "allocated_count", Figures::allocated),
    ("freed_bytes", "freed_count", Figures::freed),
    ("at_end_bytes", "at_end_count", Figures::at_end),
    ("impacting_bytes", "impacting_count", |figures| figures.impacting),
    ("transient_bytes", "transient_count", |figures| figures.transient),
    ("freed_only_bytes", "freed_only_count", |figures| figures.freed_only),
    ("kept_bytes", "kept_count", |figures| figures.kept),
];

const LIFETIME: [&str; 6] =
    ["lifetime_count", "lifetime_mean_ns", "lifetime_p50_ns", "lifetime_p95_ns", "lifetime_p99_ns", "lifetime_max_ns"];

const SNAPSHOT: [&str; 3] = ["snapshot_committed_bytes", "snapshot_resident_bytes", "snapshot_not_resident_bytes"];

impl AllocationSet {
    /// Names of the figures of a row.
    fn figure_fields() -> Vec<Field> {
        let parts = PARTS.iter().flat_map(|(bytes, count, _)| [Field::new(bytes), Field::new(count)]);
        let rest = [
            Field::only("freed_by", Forms::Json),
            Field::new("peak_bytes"),
            Field::new("peak_time_s"),
            Field::new("doubtful_bytes"),
            Field::only("lifetime", Forms::Json),
        ];
        parts.chain(rest).chain(LIFETIME.map(|name| Field::only(name, Forms::Csv))).collect()
    }

    fn figure_values(&self, figures: &Figures) -> Vec<Value> {
        let parts = PARTS.iter().flat_map(|(.., of)| {
            let amount = of(figures);
            [number(amount.bytes), Value::Number(amount.count)]
        });
        let freed_by = Reason::ALL.iter().zip(figures.freed_by).filter(|(_, amount)| amount.count > 0);
        let freed_by = freed_by.map(|(reason, amount)| {
            let amount = vec![("bytes".into(), number(amount.bytes)), ("count".into(), Value::Number(amount.count))];
            (reason.name().into(), Value::Object(amount))
        });
        let rest = [
            Value::Object(freed_by.collect()),
            number(figures.peak.map_or(0, |(bytes, _)| bytes)),
            Value::maybe(figures.peak, |(_, time)| Value::ExactSeconds(self.time(time))),
            number(figures.doubtful_bytes),
        ];
        let lifetime = self.lifetime_values(figures);
        let names = LIFETIME.map(|name| name.trim_start_matches("lifetime_").into());
        let object = Value::maybe(lifetime.clone(), |values| Value::Object(names.into_iter().zip(values).collect()));
        let flat = lifetime.unwrap_or_else(|| vec![Value::Nothing; LIFETIME.len()]);
        parts.chain(rest).chain([object]).chain(flat).collect()
    }

    /// What is committed at a page sequence; nothing where none was asked for.
    fn snapshot_values(&self, figures: &Figures) -> Vec<Value> {
        let at = figures.at_snapshot;
        let pages = self.snapshot.map(|_| [at.committed, at.resident, at.absent()]);
        let bytes = |pages: u64| number(u128::from(pages) * u128::from(PAGE_BYTES));
        pages.into_iter().flatten().map(bytes).collect()
    }

    /// Count and times; `None` without pieces.
    fn lifetime_values(&self, figures: &Figures) -> Option<Vec<Value>> {
        let lifetime = &figures.lifetime;
        let mean = self.mean_ns(lifetime.total, lifetime.count);
        let times = [lifetime.p50, lifetime.p95, lifetime.p99, lifetime.max].map(|ticks| self.ns(ticks));
        let all = [lifetime.count, mean].into_iter().chain(times).map(Value::Number);
        (lifetime.count > 0).then(|| all.collect())
    }

    /// The figures of all rows together, with their names.
    pub fn total_values(&self) -> Vec<(Field, Value)> {
        let values = AllocationSet::figure_fields().into_iter().zip(self.figure_values(&self.total));
        let at_snapshot = SNAPSHOT.map(Field::new).into_iter().zip(self.snapshot_values(&self.total));
        let values = values.chain(at_snapshot);
        values.filter(|(field, _)| field.forms != Forms::Csv).collect()
    }

    /// The rows for people: the columns of a view, the first `top` of each level.
    pub fn row_table(&self, view: AllocationView, order: AllocationOrder, top: Option<usize>) -> Table {
        let groups: Vec<Group<Figures>> =
            (self.rows.iter()).map(|row| Group { labels: row.labels.clone(), measure: row.figures }).collect();
        let mut tree = Node::tree(&groups, |a, b| compare(order, a, b), top);
        tree.measure = self.total;
        let measured = columns(view, order);
        let table = Table::of_tree(Dimension::titles(&self.dimensions), &tree, self, &measured);
        if groups.len() > 1 { table.with_total(&tree, self, &measured) } else { table }
    }

    /// Names of the values of a row for programs.
    pub(crate) fn row_fields(&self) -> impl Iterator<Item = Field> {
        let at_snapshot = self.snapshot.iter().flat_map(|_| SNAPSHOT.map(Field::new));
        self.label_fields().into_iter().chain(AllocationSet::figure_fields()).chain(at_snapshot)
    }

    /// The rows for programs.
    pub(crate) fn row_records(&self) -> impl Iterator<Item = Vec<Value>> {
        let values = |row: &AllocationRow| {
            let figures = self.figure_values(&row.figures).into_iter().chain(self.snapshot_values(&row.figures));
            self.label_values(row).into_iter().chain(figures)
        };
        self.rows.iter().map(move |row| values(row).collect())
    }

    /// The whole of a stack whose label is cut.
    pub(crate) fn whole_stack(&self, number: u32) -> String {
        self.stack_texts.text(number)
    }

    fn label_fields(&self) -> Vec<Field> {
        let fields = self.dimensions.iter().flat_map(|dimension| match dimension {
            Dimension::Process => vec![Field::new("process"), Field::new("process_start_s")],
            Dimension::Tag => ["tag", "tag_driver", "tag_text"].map(Field::new).to_vec(),
            Dimension::Size => vec![Field::new("size_bytes")],
            other => vec![Field::new(other.name())],
        });
        fields.collect()
    }

    fn label_values(&self, row: &AllocationRow) -> Vec<Value> {
        let values = self.dimensions.iter().zip(&row.labels).flat_map(|(dimension, label)| match dimension {
            Dimension::Process => {
                vec![Value::of_label(label), Value::maybe(row.process_start, Value::ExactSeconds)]
            }
            Dimension::Tag => {
                let driver = row.tag_use.as_ref().and_then(|of_it| of_it.driver.as_deref());
                let text = row.tag_use.as_ref().map(|of_it| of_it.text.as_str()).filter(|text| !text.is_empty());
                vec![Value::of_label(label), Value::maybe(driver, Value::text), Value::maybe(text, Value::text)]
            }
            _ => vec![self.stack_texts.value(label)],
        });
        values.collect()
    }

    /// The timeline: for programs and people.
    pub fn timeline_table(&self) -> Table {
        let fields = ["from_s", "allocated_bytes", "freed_bytes", "at_end_bytes", "peak_bytes"];
        let record = |step: &TimelineStep| {
            let sums = [step.allocated, step.freed, step.at_end, step.peak];
            std::iter::once(Value::ExactSeconds(self.time(step.from))).chain(sums.map(number)).collect()
        };
        let line = |step: &TimelineStep| {
            let sums = [step.allocated, step.freed, step.at_end, step.peak];
            Line::new(std::iter::once(Value::Seconds(self.time(step.from))).chain(sums.map(size)))
        };
        Table {
            fields: fields.map(Field::new).to_vec(),
            columns: ["From/s", "Allocated", "Freed", "At end", "Peak"].map(Column::number).to_vec(),
            records: self.timeline.iter().map(record).collect(),
            lines: self.timeline.iter().map(line).collect(),
            ..Table::default()
        }
        .with_times_apart()
    }

    /// The greatest sum of each step, from 0 to the peak.
    pub fn course(&self) -> Course {
        let most = self.timeline.iter().map(|step| step.peak).max().unwrap_or(0).max(1);
        // Halves go up.
        let height = |step: &TimelineStep| (step.peak.saturating_mul(14) / most).div_ceil(2).min(7) as u8;
        Course { heights: self.timeline.iter().map(|step| Some(height(step))).collect() }
    }

    /// The check for programs.
    pub fn check_values(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(match self.check? {
            Check::Commit(check) => vec![
                ("processes", Value::Number(check.processes)),
                ("equal", Value::Number(check.equal)),
                ("computed_bytes", number(check.computed_bytes)),
                ("rundown_bytes", number(check.rundown_bytes)),
                ("difference_bytes", number(check.difference_bytes)),
                ("outside_bytes", number(check.outside_bytes)),
            ],
            Check::Pool(check) => vec![
                ("entries", Value::Number(check.entries)),
                ("live", Value::Number(check.live)),
                ("missing", Value::Number(check.missing)),
            ],
        })
    }
}

type Of = Measured<Figures, AllocationSet>;
const AT_END: Of = Measured::shown("At end", |figures, _| size(figures.at_end().bytes));
const GROWTH: Of =
    Measured::shown("Growth", |figures, _| Value::SizeDifference(i64::try_from(figures.growth()).unwrap_or(i64::MAX)));
const IMPACTING: Of = Measured::shown("Impacting", |figures, _| size(figures.impacting.bytes));
const TRANSIENT: Of = Measured::shown("Transient", |figures, _| size(figures.transient.bytes));
const ALLOCATED: Of = Measured::shown("Allocated", |figures, _| size(figures.allocated().bytes));
const FREED: Of = Measured::shown("Freed", |figures, _| size(figures.freed().bytes));
const PEAK: Of = Measured::shown("Peak", |figures, _| {
    if figures.rows > 1 { Value::Nothing } else { size(figures.peak.map_or(0, |(bytes, _)| bytes)) }
});
const DOUBTFUL: Of = Measured::shown("Doubtful", |figures, _| size(figures.doubtful_bytes));
const PIECES: Of = Measured::shown("Pieces", |figures, _| Value::Count(count(figures.at_end())));
const ALLOCATIONS: Of = Measured::shown("Allocations", |figures, _| Value::Count(count(figures.allocated())));
const FREES: Of = Measured::shown("Frees", |figures, _| Value::Count(count(figures.freed())));
const OLDEST: Of =
    Measured::shown("Oldest/s", |figures, set| Value::maybe(figures.oldest, |time| Value::Seconds(set.time(time))));
const LIVES: Of = Measured::shown("Lives", |figures, _| Value::count(figures.lifetime.count));
const MEAN: Of = Measured::shown("Mean", |figures, set| {
    let lifetime = &figures.lifetime;
    duration(figures, set.mean_ns(lifetime.total, lifetime.count))
});
const P50: Of = Measured::shown("p50", |figures, set| percentile(figures, set.ns(figures.lifetime.p50)));
const P95: Of = Measured::shown("p95", |figures, set| percentile(figures, set.ns(figures.lifetime.p95)));
const P99: Of = Measured::shown("p99", |figures, set| percentile(figures, set.ns(figures.lifetime.p99)));
/// Among sizes it needs to be told of what it is.
const LONGEST_LIFE: Of =
    Measured::shown("Longest life", |figures, set| duration(figures, set.ns(figures.lifetime.max)));
const MAX: Of = Measured::shown("Longest", |figures, set| duration(figures, set.ns(figures.lifetime.max)));
const COMMITTED: Of = Measured::shown("Committed", |figures, _| of_pages(figures.at_snapshot.committed));
const RESIDENT: Of = Measured::shown("In RAM", |figures, _| of_pages(figures.at_snapshot.resident));
const ABSENT: Of = Measured::shown("Not in RAM", |figures, _| of_pages(figures.at_snapshot.absent()));
const ABSENT_SHARE: Of = Measured::shown("Share", |figures, _| {
    let at = figures.at_snapshot;
    if at.committed == 0 { Value::Nothing } else { Value::share(at.absent(), at.committed) }
});

/// The column that shows why rows are in this order.
fn ordered_by(view: AllocationView, order: AllocationOrder) -> Option<Of> {
    Some(match order {
        AllocationOrder::Name => return None,
        AllocationOrder::AtEnd => AT_END,
        AllocationOrder::Growth => GROWTH,
        AllocationOrder::Impacting => IMPACTING,
        AllocationOrder::Allocated => ALLOCATED,
        AllocationOrder::Peak => PEAK,
        AllocationOrder::Pieces => ALLOCATIONS,
        AllocationOrder::Lifetime if view == AllocationView::Lifetimes => MAX,
        AllocationOrder::Lifetime => LONGEST_LIFE,
        AllocationOrder::Absent => ABSENT,
        AllocationOrder::Oldest => OLDEST,
    })
}

/// The columns of a view, with the one that rows are ordered by.
fn columns(view: AllocationView, order: AllocationOrder) -> Vec<Of> {
    let columns = match view {
        AllocationView::Outstanding => vec![
            AT_END,
            GROWTH.leaves(4),
            IMPACTING.leaves(3),
            TRANSIENT.leaves(2),
            PEAK.leaves(5),
            ALLOCATED.leaves(1),
            DOUBTFUL.spare(0),
            PIECES.spare(1),
        ],
        AllocationView::Leaks => vec![OLDEST, IMPACTING, PIECES, DOUBTFUL.leaves(0)],
        AllocationView::Growth => {
            vec![GROWTH, AT_END, ALLOCATED.leaves(1), FREED.leaves(0), PEAK.leaves(2), PIECES.spare(0)]
        }
        AllocationView::Churn => {
            vec![ALLOCATED, ALLOCATIONS, FREED.leaves(1), FREES.leaves(0), TRANSIENT, AT_END.leaves(2)]
        }
        AllocationView::Lifetimes => vec![LIVES, MEAN, P50, P95, P99.leaves(0), MAX],
        AllocationView::NotResident => vec![ABSENT, ABSENT_SHARE.leaves(1), COMMITTED, RESIDENT, PIECES.spare(0)],
    };
    Of::ordered(columns, ordered_by(view, order))
}

fn count(amount: Amount) -> i64 {
    i64::try_from(amount.count).unwrap_or(i64::MAX)
}

fn of_pages(pages: u64) -> Value {
    size(u128::from(pages) * u128::from(PAGE_BYTES))
}

fn duration(figures: &Figures, nanos: u64) -> Value {
    if figures.lifetime.count == 0 { Value::Nothing } else { Value::Duration(nanos) }
}

/// Percentiles of several rows cannot be added.
fn percentile(figures: &Figures, nanos: u64) -> Value {
    if figures.rows > 1 { Value::Nothing } else { duration(figures, nanos) }
}
