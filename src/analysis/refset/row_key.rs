//! Keys and counts of rows: how holdings are told apart.

use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::reason::{AccessReason, Impact, ReleaseReason};
use crate::model::category::Category;
use crate::model::working_set_owner::OwnerId;

/// What rows are kept apart by, besides owner and category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // named like the parts of the key
pub struct KeyParts {
    pub file: bool,
    pub detail: bool,
    pub access_reason: bool,
    pub release_reason: bool,
    pub impact: bool,
    pub stack: bool,
}

impl KeyParts {
    /// What these dimensions need.
    pub fn of(dimensions: impl IntoIterator<Item = Dimension>) -> KeyParts {
        let mut parts = KeyParts::default();
        for dimension in dimensions {
            match dimension {
                Dimension::Process(_) | Dimension::Category | Dimension::Class => {}
                Dimension::File(_) => parts.file = true,
                Dimension::Detail => parts.detail = true,
                Dimension::AccessReason => parts.access_reason = true,
                Dimension::ReleaseReason => parts.release_reason = true,
                Dimension::Impact => parts.impact = true,
                Dimension::Stack(_) => parts.stack = true,
            }
        }
        parts
    }
}

/// A file in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum FileCode {
    /// No file.
    #[default]
    None,
    /// A combined page.
    Combined,
    /// Index of a name.
    Name(u32),
    /// Key without a name.
    Unknown(u64),
}

/// Key of a row: always owner and category, of the other dimensions those that are part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named like the dimensions
pub struct RowKey {
    pub owner: OwnerId,
    pub category: Category,
    pub file: FileCode,
    pub detail: FileCode,
    pub access_reason: Option<AccessReason>,
    pub release_reason: Option<ReleaseReason>,
    pub impact: Option<Impact>,
    /// Number of the stack of the access; 0 where it has none, and where no row asks for it.
    pub stack: u32,
}

/// Counts of a row. Negative for holdings that began before the window and ended in it, where rows keep impact apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCount {
    /// Pages, each owner's.
    pub pages: i64,
    /// Pages, each physical page once.
    pub impact_pages: i64,
}

impl std::ops::AddAssign for RowCount {
    fn add_assign(&mut self, other: RowCount) {
        self.pages += other.pages;
        self.impact_pages += other.impact_pages;
    }
}
