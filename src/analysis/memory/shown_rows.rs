//! What people see of the rows of memory over time.

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
    /// What grew fastest between its own first and last sample first.
    Growth,
    /// By label.
    Name,
}

/// What people see of the rows; programs have all of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryView {
    /// Rows of a table; `None` = all, and some in the short tables.
    pub top: Option<usize>,
    /// How rows by process or session are ordered.
    pub order: MemoryOrder,
}
