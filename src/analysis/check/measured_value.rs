//! What was measured for a budget.

use crate::dimensions::Label;

/// A part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Labels in the order of the dimensions.
    pub labels: Vec<Label>,
    /// Pages, hard faults or nanoseconds.
    pub pages: i64,
}

/// The value of a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    /// Pages; hard faults or nanoseconds where the budget is of these.
    pub pages: u64,
    /// The same without the conditions.
    pub total: u64,
    /// Why that is not known, though the value is: then no limit is a part of it.
    pub(crate) total_unknown: Option<String>,
    /// Dimensions of the rows.
    pub dimensions: Vec<String>,
    /// The parts of the value; parts of a peak have their own peaks.
    pub rows: Vec<Row>,
    /// Of a baseline of several runs the value of each; their median is `pages`.
    pub(crate) runs: Vec<u64>,
    /// A line for each pattern of the conditions that matched nothing.
    pub(crate) unmatched: Vec<String>,
    /// What else casts doubt on it.
    pub(crate) doubts: Vec<String>,
    /// Keywords without which it counts pages of other categories too; `None` where that is not known.
    pub(crate) unrecorded: Option<Vec<String>>,
    /// True when nothing meets the conditions, and a name may be wrong.
    pub(crate) has_no_match: bool,
}

impl Value {
    /// True when nothing meets the conditions, and a name may be wrong.
    pub fn has_no_match(&self) -> bool {
        self.has_no_match
    }
}
