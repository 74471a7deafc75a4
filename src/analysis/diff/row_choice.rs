//! Which rows of a comparison are kept, and in which order.

use super::comparison::DiffOrder;
use super::process_matching::Match;
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
}
