//! The snapshots of which pages and ranges are written.

use crate::analysis::resident::query::SnapshotChoice;
use crate::error::Error;
use crate::model::snapshot::Snapshot;
use crate::trace::Trace;

/// A snapshot whose pages and ranges are written.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'t> {
    /// Its number in the trace, from 0.
    pub index: usize,
    /// The snapshot.
    pub snapshot: &'t Snapshot,
    /// True for the last one that is whole.
    pub is_last: bool,
}

/// The snapshots that a choice means.
///
/// # Errors
/// [`Error::Usage`] for a snapshot that is not there.
pub fn chosen(trace: &Trace, choice: SnapshotChoice) -> Result<Vec<Chosen<'_>>, Error> {
    let snapshots = trace.snapshots();
    let last = SnapshotChoice::Last.indices(snapshots)?;
    let of = |index: usize| Some(Chosen { index, snapshot: snapshots.get(index)?, is_last: last.contains(&index) });
    Ok(choice.indices(snapshots)?.into_iter().filter_map(of).collect())
}
