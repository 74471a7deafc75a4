//! What a walk through the records of allocations finds beside the pieces.

use super::commit_counts::CommitCheck;
use super::process_lifetimes::LifeId;

/// What was found beside the pieces.
#[derive(Debug, Default)]
pub struct Replayed {
    /// How the state at the start is known: of processes, or 1 for the whole.
    pub at_start: Vec<(&'static str, u64)>,
    /// Counters with their names.
    pub records: Vec<(&'static str, u64)>,
    /// Records that allocate what was live already: the one that freed it is missing.
    pub allocated_again: u64,
    /// The check against the end rundown.
    pub check: Option<Check>,
    /// Processes of which nobody tells what they had committed before the trace.
    pub of_unknown_start: Vec<LifeId>,
    /// Pages in RAM at a page sequence that lie in what is committed.
    pub resident_in_commit: u64,
}

/// The check against the end rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The check of commit.
    Commit(CommitCheck),
    /// The check of pool.
    Pool(PoolCheck),
}

/// The check against the end snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCheck {
    /// Entries.
    pub entries: u64,
    /// Those that are live by the records.
    pub live: u64,
    /// Those that are not.
    pub missing: u64,
}
