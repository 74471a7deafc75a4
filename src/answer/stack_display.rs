//! What is shown of stacks, and how.

use crate::answer::numbers::Unit;

/// How functions are ordered for people. Those of programs are in the order of their totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FunctionOrder {
    /// Most of their own first.
    #[default]
    Own,
    /// Most with what they call first.
    Total,
}

/// What is shown of a result, and how.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StackDisplay {
    /// Rows of each table for people, and of lists for programs; `None`: as many as fit, and all.
    pub top: Option<usize>,
    /// Order of functions.
    pub order: FunctionOrder,
    /// Unit of sizes.
    pub unit: Unit,
}
