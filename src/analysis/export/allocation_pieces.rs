//! The table `allocation_pieces`: a row for each piece of commit, pool and heaps, as it ends. Only the rows of a batch are in memory.

use crate::analysis::allocations::{Dimension, ListedPiece, each_piece};
use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::error::Error;
use crate::etl::clock::Clock;
use crate::load::allocations::AllocationKind;
use crate::trace::Trace;
use crate::trace::doubt::Doubt;

/// Writes the table; it is empty for a trace without such records. Returns what casts doubt on it.
///
/// # Errors
/// [`Error::NotWritten`], those of [`each_piece`].
pub fn write(trace: &Trace, sink: &dyn Sink) -> Result<Vec<Doubt>, Error> {
    let mut rows = ColumnBatches::new(Table::AllocationPieces, sink);
    let (clock, mut doubts) = (&trace.etl().clock, Vec::new());
    for kind in AllocationKind::ALL {
        let mut written = Ok(());
        let mut push = |piece: &ListedPiece<'_>| {
            if written.is_ok() {
                written = rows.push(row(kind, piece, clock));
            }
        };
        doubts.extend(each_piece(trace, kind, &mut push)?);
        written?;
    }
    rows.finish()?;
    Ok(doubts)
}

fn row<'p>(kind: AllocationKind, piece: &ListedPiece<'p>, clock: &Clock) -> [Cell<'p>; 17] {
    let owner = piece.owner;
    let text = |dimension| Cell::maybe(owner.label(dimension), Cell::Text);
    let number = |dimension| Cell::maybe(owner.number(dimension), Cell::count);
    let seconds = |stamp| Cell::Real(clock.nanos(stamp).seconds());
    [
        Cell::Text(kind.name()),
        Cell::count(piece.number),
        text(Dimension::Process),
        Cell::maybe(owner.instance, |instance| Cell::count(instance as u64)),
        number(Dimension::Thread),
        text(Dimension::Tag),
        text(Dimension::Pool),
        number(Dimension::Session),
        Cell::maybe(owner.number(Dimension::Heap), Cell::Address),
        text(Dimension::Source),
        text(Dimension::Pages),
        Cell::maybe(piece.address, Cell::Address),
        Cell::count(piece.bytes),
        Cell::maybe(piece.opened, seconds),
        Cell::maybe(piece.closed, |(stamp, _)| seconds(stamp)),
        Cell::maybe(piece.closed, |(_, reason)| Cell::Text(reason)),
        Cell::Flag(piece.is_doubtful),
    ]
}
