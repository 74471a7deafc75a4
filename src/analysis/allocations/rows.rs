//! Rows with their names, in order.

use super::figures::Figures;
use super::labels::{ABSENT, Labels};
use super::query::{AllocationOrder, AllocationQuery, Dimension};
use crate::dimensions::Label;
use crate::etl::clock::Clock;
use crate::event::pool::PoolTag;
use crate::model::pool_tags::TagUse;
use crate::units::{Nanos, Ticks};
use std::cmp::{Ordering, Reverse};

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocationRow {
    /// Labels in order of the dimensions; those of very long stacks are cut.
    pub labels: Vec<Label>,
    /// When its process began; `None`: before the trace, or rows are of no processes.
    pub process_start: Option<Nanos>,
    /// What its pool tag stands for, as a file of the user says.
    pub(crate) tag_use: Option<TagUse>,
    /// Its process among the instances of the trace.
    pub(crate) instance: Option<usize>,
    /// Id and end of its process, where only its allocations tell of it: another one had its id after it.
    pub(crate) nameless: Option<(u32, Ticks)>,
    /// Its figures.
    pub figures: Figures,
}

/// Rows in this order.
pub fn rows(
    counted: Vec<(Vec<u32>, Figures)>,
    dimensions: &[Dimension],
    labels: &Labels<'_>,
    query: &AllocationQuery,
    clock: &Clock,
) -> Vec<AllocationRow> {
    let tag_at = dimensions.iter().position(|dimension| *dimension == Dimension::Tag);
    let process = dimensions.iter().position(|dimension| *dimension == Dimension::Process);
    let number_of = |numbers: &[u32]| process.and_then(|at| numbers.get(at)).copied().filter(|n| *n != ABSENT);
    let row = |(numbers, figures): (Vec<u32>, Figures)| {
        let start = number_of(&numbers).and_then(|number| labels.start(number)).map(|start| clock.nanos(start));
        let tag = tag_at.and_then(|at| numbers.get(at)).filter(|tag| **tag != ABSENT);
        let tag_use = tag.and_then(|tag| tag_use(*tag, labels, query));
        let label = |(dimension, number): (&Dimension, &u32)| {
            let label = labels.of_row(*dimension, *number);
            match (dimension, &tag_use) {
                (Dimension::Tag, Some(of_it)) => {
                    let shown = of_it.beside(&label);
                    label.shown_as(&shown)
                }
                _ => label,
            }
        };
        let instance = number_of(&numbers).and_then(|number| labels.instance(number));
        let nameless = number_of(&numbers).and_then(|number| labels.nameless(number));
        let labels = dimensions.iter().zip(&numbers).map(label).collect();
        AllocationRow { labels, process_start: start, tag_use, instance, nameless, figures }
    };
    let mut rows: Vec<AllocationRow> = counted.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        compare(query.order, &a.figures, &b.figures)
            .then_with(|| a.labels.cmp(&b.labels))
            .then_with(|| a.process_start.cmp(&b.process_start))
    });
    rows
}

/// What a tag stands for: as a file or we ourselves say, with the driver of its stacks where those do not name one.
fn tag_use(tag: u32, labels: &Labels<'_>, query: &AllocationQuery) -> Option<TagUse> {
    let driver = || labels.drivers_of(tag);
    match query.pool_tags.of(PoolTag(tag)).cloned() {
        Some(of_it) => Some(TagUse { driver: of_it.driver.or_else(driver), ..of_it }),
        None => driver().map(|driver| TagUse { driver: Some(driver), text: String::new() }),
    }
}

/// Which of two rows comes first.
pub fn compare(order: AllocationOrder, a: &Figures, b: &Figures) -> Ordering {
    let by = |key: fn(&Figures) -> (i128, u64)| Reverse(key(a)).cmp(&Reverse(key(b)));
    match order {
        AllocationOrder::Name => Ordering::Equal,
        AllocationOrder::AtEnd => by(|f| (signed(f.at_end().bytes), f.at_end().count)),
        AllocationOrder::Growth => by(|f| (f.growth(), f.at_end().count)),
        AllocationOrder::Impacting => by(|f| (signed(f.impacting.bytes), f.impacting.count)),
        AllocationOrder::Allocated => by(|f| (signed(f.allocated().bytes), f.allocated().count)),
        AllocationOrder::Peak => by(|f| (f.peak.map_or(0, |(bytes, _)| signed(bytes)), f.at_end().count)),
        AllocationOrder::Pieces => by(|f| (0, f.allocated().count)),
        AllocationOrder::Lifetime => by(|f| (f.lifetime.max.into(), f.lifetime.count)),
        AllocationOrder::Absent => by(|f| (f.at_snapshot.absent().into(), f.at_snapshot.committed)),
        AllocationOrder::Oldest => a.oldest.unwrap_or(LAST).cmp(&b.oldest.unwrap_or(LAST)),
    }
}

const LAST: crate::units::Ticks = crate::units::Ticks(i64::MAX);

fn signed(bytes: u128) -> i128 {
    i128::try_from(bytes).unwrap_or(i128::MAX)
}
