//! What is counted of commit beside its pieces, and how the state at the start is known.

use crate::load::allocation_rules::LeftOut;

/// How the state of a process at its first record is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// It began in the trace: nothing was committed.
    Born,
    /// The rundown at the start of the session lists its regions.
    StartRundown,
    /// Only that at the end does.
    EndRundown,
    /// Nothing does.
    Unknown,
}

impl Source {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Born => "born",
            Source::StartRundown => "start_rundown",
            Source::EndRundown => "end_rundown",
            Source::Unknown => "unknown",
        }
    }
}

/// Counters of the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommitCounts {
    /// Records before the start rundown of their process.
    pub before_rundown: u64,
    /// Records of processes that have ended.
    pub after_end: u64,
    /// Records of no known process.
    pub no_process: u64,
    /// Resets and their undoing.
    pub reset: u64,
    /// Records that cannot be.
    pub left_out: LeftOut,
    /// Frees that cannot be.
    pub impossible_frees: u64,
    /// Frees of whole reservations that are not known.
    pub unknown_size: u64,
    /// Reservations of what was committed: the records that freed it are missing.
    pub allocated_again: u64,
    /// Committed again.
    pub recommitted_bytes: u64,
    /// Released, and not known whether it was committed.
    pub unknown_release_bytes: u64,
    /// Freed, and known only in sum.
    pub estimated_bytes: u64,
}

/// The check against the end rundown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommitCheck {
    /// Processes that it lists.
    pub processes: u64,
    /// Those that agree.
    pub equal: u64,
    /// By the records.
    pub computed_bytes: u128,
    /// By the rundown.
    pub rundown_bytes: u128,
    /// Sum of the absolute differences.
    pub difference_bytes: u128,
    /// Committed outside of all regions of the rundown.
    pub outside_bytes: u128,
    /// By the records, in processes that the rundown does not list.
    pub unlisted_bytes: u128,
    /// Those of these processes that have anything.
    pub unlisted: u64,
}
