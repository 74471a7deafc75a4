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
    /// Frees of blocks that were freed already: the record that allocated one is missing.
    pub freed_again: FreedAgain,
    /// Frees that freed nothing of what is known.
    pub idle_frees: IdleFrees,
    /// The check against the end rundown.
    pub check: Option<Check>,
    /// Entries of pool snapshots that cannot be true.
    pub listed_left_out: u64,
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

/// Frees that freed nothing of what is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdleFrees {
    /// Those that cannot be true, or are of no address.
    pub impossible: u64,
    /// Those of addresses at which nothing was allocated in the trace.
    pub unmatched: u64,
}

/// Frees of addresses at which no record allocated anything since they were freed, or since their heap was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FreedAgain {
    /// How many.
    pub frees: u64,
    /// True where that is estimated by some of the addresses.
    pub is_estimated: bool,
}

impl std::ops::AddAssign for FreedAgain {
    fn add_assign(&mut self, other: FreedAgain) {
        self.frees = self.frees.saturating_add(other.frees);
        if other.is_estimated {
            self.is_estimated = true;
        }
    }
}
