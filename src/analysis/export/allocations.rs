//! The table `allocations`: commit, pool and heaps of the whole trace, by who allocated.

use crate::analysis::allocations::{AllocationQuery, AllocationRow, AllocationSet, Dimension};
use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::dimensions::{Label, LabelKind};
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;

/// The dimensions of a kind's rows.
const fn dimensions(kind: AllocationKind) -> &'static [Dimension] {
    match kind {
        AllocationKind::Pool => &[Dimension::Process, Dimension::Tag, Dimension::Pool],
        AllocationKind::Commit | AllocationKind::Heap => &[Dimension::Process],
    }
}

/// The allocations of each kind that a trace has, and what casts doubt on them.
///
/// # Errors
/// As [`AllocationSet::answer`], without those of a trace that has none.
pub fn read(trace: &Trace) -> Result<(Vec<AllocationSet>, Warnings), Error> {
    let (mut sets, mut warnings) = (Vec::new(), Warnings::default());
    for kind in AllocationKind::ALL {
        let group_by = dimensions(kind).to_vec();
        match AllocationSet::answer(trace, &AllocationQuery { of: Some(kind), group_by, ..Default::default() }) {
            Ok(set) => {
                warnings.extend(set.warnings.iter().cloned());
                sets.push(set);
            }
            Err(Error::MissingEvents(_) | Error::MissingPart(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((sets, warnings))
}

/// Writes the table; it is empty for a trace without such records. Returns what casts doubt on it.
///
/// # Errors
/// [`Error::NotWritten`], and those of [`read`].
pub fn write(trace: &Trace, sink: &dyn Sink) -> Result<Warnings, Error> {
    let mut rows = ColumnBatches::new(Table::Allocations, sink);
    let (sets, warnings) = read(trace)?;
    for set in &sets {
        set.rows.iter().try_for_each(|row| push(set, row, &mut rows))?;
    }
    rows.finish()?;
    Ok(warnings)
}

fn push(set: &AllocationSet, row: &AllocationRow, rows: &mut ColumnBatches<'_>) -> Result<(), Error> {
    let label = |dimension| {
        let place = set.dimensions.iter().position(|of_row| *of_row == dimension);
        let label = place.and_then(|place| row.labels.get(place));
        Cell::maybe(label.filter(|label| label.kind() != LabelKind::Nothing).map(Label::as_str), Cell::Text)
    };
    let bytes = |bytes: u128| Cell::count(u64::try_from(bytes).unwrap_or(u64::MAX));
    let seconds = |stamp| Cell::Real(set.time(stamp).seconds());
    let lived = |ticks| match row.figures.lifetime.count {
        0 => Cell::Null,
        _ => Cell::Real(set.ns(ticks) as f64 / 1e9),
    };
    let figures = &row.figures;
    rows.push([
        Cell::Text(set.of.name()),
        label(Dimension::Process),
        Cell::maybe(row.instance, |instance| Cell::count(instance as u64)),
        label(Dimension::Tag),
        label(Dimension::Pool),
        Cell::Flag(set.is_start_known(row)),
        bytes(figures.at_start().bytes),
        Cell::count(figures.at_start().count),
        bytes(figures.allocated().bytes),
        Cell::count(figures.allocated().count),
        bytes(figures.freed().bytes),
        Cell::count(figures.freed().count),
        bytes(figures.at_end().bytes),
        Cell::count(figures.at_end().count),
        bytes(figures.impacting.bytes),
        Cell::count(figures.impacting.count),
        bytes(figures.doubtful_bytes),
        bytes(figures.peak.map_or(0, |(peak, _)| peak)),
        Cell::maybe(figures.peak, |(_, time)| seconds(time)),
        Cell::maybe(figures.oldest, seconds),
        lived(figures.lifetime.p95),
        lived(figures.lifetime.max),
    ])
}
