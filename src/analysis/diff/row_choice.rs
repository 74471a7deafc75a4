//! Which rows of a comparison are kept and seen, and in which order.

use super::processes::Match;
use super::rows::DiffOrder;
use super::tolerance::Tolerance;

/// How two traces are compared row by row, whatever the rows are of.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowChoice {
    /// How processes are matched; `None`: by name.
    pub matching: Option<Match>,
    /// How much rows may differ.
    pub tolerance: Tolerance,
    /// How rows are ordered.
    pub order: DiffOrder,
    /// True to keep the rows that do not differ.
    pub keeps_same: bool,
    /// Rows that are shown; `None` = as many as `screen` has room for, or all.
    pub top: Option<usize>,
    /// Rows that a screen has room for, where there is one.
    pub screen: Option<usize>,
}

impl RowChoice {
    /// How many rows people see, at most.
    #[cfg(feature = "cli")]
    pub(crate) fn listed(&self) -> usize {
        self.top.or(self.screen).unwrap_or(usize::MAX)
    }
}
