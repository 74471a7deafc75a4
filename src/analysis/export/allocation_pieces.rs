//! The tables `allocation_pieces` and `piece_stacks`: a row for each piece of commit, pool and heaps, as it ends. Only the rows of a batch
//! are in memory.

use crate::analysis::allocations::{Dimension, ListedPiece, each_piece};
use crate::analysis::export::column_batches::{Cell, ColumnBatches};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::analysis::stacks::EventStacks;
use crate::error::Error;
use crate::etl::clock::Clock;
use crate::load::allocation_kinds::AllocationKind;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;

/// Writes those of the two tables that `has` names; they are empty for a trace without such records. The second one needs `stacks`.
/// Returns what casts doubt on them.
///
/// # Errors
/// [`Error::NotWritten`], those of [`each_piece`].
pub fn write(
    trace: &Trace,
    has: impl Fn(Table) -> bool,
    mut stacks: Option<EventStacks>,
    sink: &dyn Sink,
) -> Result<Warnings, Error> {
    let batches = |table: Table| has(table).then(|| ColumnBatches::new(table, sink));
    let (mut rows, mut links) = (batches(Table::AllocationPieces), batches(Table::PieceStacks));
    let (clock, mut warnings) = (&trace.etl().clock, Warnings::default());
    for kind in AllocationKind::ALL {
        let mut written = Ok(());
        let mut push = |piece: &ListedPiece<'_>| {
            if written.is_ok() {
                written = rows.as_mut().map_or(Ok(()), |rows| rows.push(row(kind, piece, clock)));
            }
            if let Some(links) = links.as_mut().filter(|_| written.is_ok() && is_linked(piece)) {
                written = links.push(link(kind, piece));
            }
        };
        let (same, told) = each_piece(trace, kind, stacks, &mut push)?;
        written?;
        stacks = same;
        warnings.extend(told);
    }
    [rows, links].into_iter().flatten().try_for_each(ColumnBatches::finish)?;
    Ok(warnings)
}

const fn is_linked(piece: &ListedPiece<'_>) -> bool {
    piece.stack.is_some() || piece.closing_stack.is_some()
}

fn link<'p>(kind: AllocationKind, piece: &ListedPiece<'p>) -> [Cell<'p>; 4] {
    let stack = |number: Option<u32>| Cell::maybe(number, |number| Cell::count(number.into()));
    [Cell::Text(kind.name()), Cell::count(piece.number), stack(piece.stack), stack(piece.closing_stack)]
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
