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

/// What of a key the labels in some dimensions depend on.
#[derive(Debug, Clone, Copy)]
pub struct LabelParts {
    owner: bool,
    category: bool,
    others: KeyParts,
}

impl LabelParts {
    /// For labels in these dimensions.
    pub fn of(dimensions: &[Dimension]) -> LabelParts {
        let owner = dimensions.iter().any(|dimension| matches!(dimension, Dimension::Process(_)));
        // Whose a page is depends on what it is.
        let category =
            owner || dimensions.iter().any(|dimension| matches!(dimension, Dimension::Category | Dimension::Class));
        LabelParts { owner, category, others: KeyParts::of(dimensions.iter().copied()) }
    }

    /// The key of all keys with the same labels.
    pub fn of_key(&self, key: &RowKey) -> RowKey {
        let keeps = self.others;
        RowKey {
            owner: if self.owner { key.owner } else { OwnerId::SYSTEM },
            category: if self.category { key.category } else { Category::Unused },
            file: if keeps.file { key.file } else { FileCode::None },
            detail: if keeps.detail { key.detail } else { FileCode::None },
            access_reason: key.access_reason.filter(|_| keeps.access_reason),
            release_reason: key.release_reason.filter(|_| keeps.release_reason),
            impact: key.impact.filter(|_| keeps.impact),
            stack: if keeps.stack { key.stack } else { 0 },
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::stack_dimensions::StackFacet;
    use crate::dimensions::{Dimension as _, ProcessFacet};
    use crate::model::working_set_owner::Owner;

    #[test]
    fn a_key_keeps_what_its_labels_depend_on() {
        let key = |owner, category, stack| RowKey {
            owner: OwnerId::new(Owner::Process(owner)),
            category,
            file: FileCode::Name(3),
            detail: FileCode::Combined,
            access_reason: None,
            release_reason: None,
            impact: None,
            stack,
        };
        let [a, b] = [key(1, Category::Image, 5), key(2, Category::MapFile, 5)];
        let is_one = |dimensions: &[Dimension]| {
            let parts = LabelParts::of(dimensions);
            parts.of_key(&a) == parts.of_key(&b)
        };
        assert!(is_one(&[Dimension::Stack(StackFacet::Stack), Dimension::FILE]));
        assert!(
            ![Dimension::Category, Dimension::Class, Dimension::Process(ProcessFacet::Process)]
                .iter()
                .any(|dimension| is_one(&[*dimension]))
        );
        let all = LabelParts::of(Dimension::ALL);
        assert_eq!([a, b].map(|key| all.of_key(&key)), [a, b]);
        assert_ne!(all.of_key(&a), all.of_key(&key(1, Category::Image, 6)));
    }
}
