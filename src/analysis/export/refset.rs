//! The tables of the reference set: counted, and one row for each holding of a page.

use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::query::{Dimension, HELD, Query};
use crate::analysis::refset::totals::each_holding::Holding;
use crate::dimensions::{Label, LabelKind};
use crate::error::Error;
use crate::model::category::Category;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;
use crate::units::PAGE_BYTES;

/// The dimensions of the counted table, in the order of its columns.
const COUNTED: [Dimension; 8] = [
    Dimension::PROCESS,
    Dimension::Category,
    Dimension::Class,
    Dimension::FILE,
    Dimension::Detail,
    Dimension::AccessReason,
    Dimension::ReleaseReason,
    Dimension::Impact,
];

/// A label, or null where there is none.
fn known(label: &Label) -> Cell<'_> {
    if label.kind() == LabelKind::Nothing { Cell::Null } else { Cell::Text(label) }
}

/// Which of the two tables are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The counted one.
    pub counted: bool,
    /// A row for each holding.
    pub holdings: bool,
}

/// Writes the tables; both are empty for a trace without page accesses. Returns what casts doubt on them.
///
/// # Errors
/// [`Error::NotWritten`], and those of [`ReferenceSet::answer`].
pub fn write(trace: &Trace, has_accesses: bool, wanted: Wanted, sink: &dyn Sink) -> Result<Warnings, Error> {
    let mut warnings = Warnings::default();
    let mut counted = ColumnBatches::new(Table::Refset, sink);
    let mut pages = ColumnBatches::new(Table::RefsetPages, sink);
    if has_accesses {
        let query = Query { group_by: COUNTED.to_vec(), summary_rows: 0, examples: 0, ..Query::default() };
        let mut written = Ok(());
        let mut each = |holding: &Holding| {
            if written.is_ok() {
                written = push_holding(trace, holding, &mut pages);
            }
        };
        let set = match wanted.holdings {
            true => ReferenceSet::with_holdings(trace, &query, &mut each),
            false => ReferenceSet::answer(trace, &query),
        };
        written?;
        match set {
            Ok(set) => {
                push_counted(&set, &mut counted)?;
                warnings = set.warnings;
            }
            Err(Error::MissingEvents(_) | Error::MissingPart(_) | Error::Usage(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if wanted.holdings {
        pages.finish()?;
    }
    if wanted.counted {
        counted.finish()?;
    }
    Ok(warnings)
}

fn push_counted(set: &ReferenceSet, rows: &mut ColumnBatches<'_>) -> Result<(), Error> {
    for row in &set.rows {
        let [process, category, class, file, detail, access, release, impact] = row.labels.as_slice() else { continue };
        rows.push([
            known(process),
            Cell::Text(category),
            Cell::Text(class),
            known(file),
            known(detail),
            Cell::Text(access),
            if *release == HELD { Cell::Null } else { Cell::Text(release) },
            Cell::Text(impact),
            Cell::Integer(row.measure.pages),
            Cell::Integer(row.measure.pages.saturating_mul(PAGE_BYTES as i64)),
            Cell::Integer(row.measure.impact_pages),
        ])?;
    }
    Ok(())
}

fn push_holding(trace: &Trace, holding: &Holding, rows: &mut ColumnBatches<'_>) -> Result<(), Error> {
    let category: Category = holding.category;
    let seconds = |time| Cell::Real(trace.time(time).seconds());
    rows.push([
        known(&holding.process),
        Cell::Text(category.name()),
        Cell::Text(category.class().name()),
        Cell::maybe(holding.pfn, Cell::count),
        Cell::Text(holding.page_use.name()),
        known(&holding.file),
        known(&holding.detail),
        Cell::Text(holding.access_reason.name()),
        Cell::maybe(holding.released.map(|(reason, _)| reason.name()), Cell::Text),
        seconds(holding.since),
        Cell::maybe(holding.released, |(_, time)| seconds(time)),
    ])
}
