//! All pieces of a trace, one by one.

use super::counting::Counting;
use super::labels::Labels;
use super::lost_buffers;
use super::piece_taker::{ListedPiece, PieceList};
use super::process_lifetimes::Lives;
use super::query::{AllocationQuery, Dimension};
use super::replay;
use super::warnings::{warnings, warnings_at_end};
use crate::analysis::stacks::EventStacks;
use crate::analysis::time_grid::TickRange;
use crate::error::Error;
use crate::load::allocation_kinds::AllocationKind;
use crate::trace::trust::warning::Warnings;
use crate::trace::{Parts, Trace};

/// The dimensions that a kind's pieces have.
fn dimensions(of: AllocationKind, with_stacks: bool) -> Vec<Dimension> {
    let own: &[Dimension] = match of {
        AllocationKind::Commit => &[Dimension::Pages],
        AllocationKind::Pool => &[Dimension::Tag, Dimension::Pool, Dimension::Session],
        AllocationKind::Heap => &[Dimension::Heap, Dimension::Source],
    };
    let stack: &[Dimension] = if with_stacks { &[Dimension::Stack] } else { &[] };
    [&[Dimension::Process, Dimension::Thread], own, stack].concat()
}

/// Gives each piece of a kind to `each`, with the numbers of its stacks where there are `stacks`, which come back; nothing where the trace
/// has none. No piece is kept when it has ended. Returns what casts doubt on them too.
///
/// # Errors
/// [`Error::Usage`] where the trace has no window.
pub(crate) fn each_piece(
    trace: &Trace,
    of: AllocationKind,
    stacks: Option<EventStacks>,
    each: &mut (dyn FnMut(&ListedPiece<'_>) + Send),
) -> Result<(Option<EventStacks>, Warnings), Error> {
    trace.gather(Parts::SYSTEM);
    if !of.is_recorded(trace) {
        return Ok((stacks, Warnings::default()));
    }
    let (_, range) = TickRange::of_trace(trace, None, None)?;
    let query = AllocationQuery { of: Some(of), ..AllocationQuery::default() };
    let hole_until = lost_buffers::hole_until(trace, range.to);
    let lives = Lives::new(&trace.system().processes);
    let dimensions = dimensions(of, stacks.is_some());
    let labels = Labels::new(trace, None, stacks);
    let mut list = PieceList::new(hole_until, each);
    let mut counting = Counting::new((lives, labels), of, (&query, &dimensions), (range, None), hole_until, &[]);
    counting.give_pieces(&mut list);
    let replayed = replay::replay(trace, of, &mut counting, None);
    let stacks = counting.into_labels().into_stacks();
    let mut warnings = warnings(trace, of, &trace.missing(of.needs()), &replayed, Vec::new());
    warnings.extend(warnings_at_end(of, list.doubtful_bytes, replayed.check));
    Ok((stacks, warnings))
}
