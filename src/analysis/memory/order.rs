//! The orders of rows by process or session.

/// How rows of processes and sessions are ordered for people; equal ones by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryOrder {
    /// The largest working set at any time first.
    #[default]
    Most,
    /// The largest working set at the end first.
    End,
    /// The largest private working set at the end first.
    Private,
    /// The most commit at the end first.
    Commit,
    /// What grew most from its first to its last sample first.
    Growth,
    /// By label.
    Name,
}
