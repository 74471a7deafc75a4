//! The contents of a file that pfnset wrote.

use crate::imported::amount::{Amount, CountedRow};
use crate::imported::selection::Selection;
use crate::imported::wpa::columns::{Columns, ExportedTable};
use crate::imported::wpa::page_rows::PageRows;
use crate::model::category::Category;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};

/// Keys and columns of the pages of a row by the list that they are on: together they are its pages.
pub(super) const BY_LIST: [&str; 5] = ["active_pages", "standby_pages", "modified_pages", "free_pages", "other_pages"];

/// Form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PfnsetForm {
    /// `--format json`.
    Json,
    /// `--format csv`.
    Csv,
}

/// By whose rules its pages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedBy {
    /// Ours.
    Corrected,
    /// WPA's.
    Wpa,
    /// Ours, with WPA's number in each row.
    Both,
}

/// A resident or reference set.
#[derive(Debug, Clone)]
pub struct PfnsetTable {
    /// Form of the file.
    pub form: PfnsetForm,
    /// Which of the two.
    pub table: ExportedTable,
    /// By whose rules.
    pub counted_by: CountedBy,
    /// Dimensions of the rows.
    pub dimensions: Vec<String>,
    /// One for each snapshot; one in all for a reference set.
    pub snapshots: Vec<PfnsetSnapshot>,
    /// What made its numbers doubtful when it was written.
    pub warnings: Vec<String>,
    /// Where it contradicts itself: somebody changed it.
    pub(crate) contradictions: Warnings,
    /// Which part of a trace it is, and which of the warnings make numbers wrong.
    pub(crate) selection: Selection,
    /// Its pages, where each row is one.
    pub(crate) listing: Option<Listing>,
}

/// The pages of a table of `pages`.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    /// Each row's page.
    pub(crate) pages: PageRows,
    /// What the columns say.
    pub(crate) columns: Columns,
}

/// One snapshot.
#[derive(Debug, Clone, Default)]
pub struct PfnsetSnapshot {
    /// Its number in the trace.
    pub index: u64,
    /// True for the last whole one of the trace; `None`: the file does not say it.
    pub is_last: Option<bool>,
    /// Its rows.
    pub rows: Vec<PfnsetRow>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PfnsetRow {
    /// Labels in the order of the dimensions.
    pub labels: Vec<Box<str>>,
    /// Pages.
    pub pages: i64,
    /// Pages by WPA's rules.
    pub pages_wpa: i64,
}

impl PfnsetTable {
    /// True when rows by category can be counted by WPA's rules, or by ours.
    pub fn counts(&self, by_wpa: bool) -> bool {
        let has = |name: &str| self.dimensions.iter().any(|dimension| dimension == name);
        match (self.counted_by, by_wpa) {
            _ if !["category", "category_wpa", "class"].into_iter().any(has) => true,
            (CountedBy::Both, true) => true,
            (CountedBy::Wpa, by_wpa) => by_wpa,
            (CountedBy::Corrected, true) => has("category_wpa"),
            (CountedBy::Both | CountedBy::Corrected, false) => has("category") || !has("category_wpa"),
        }
    }

    /// That a row has another class than its category: somebody changed it.
    pub(super) fn other_class(&self) -> Option<String> {
        let at = |name: &str| self.dimensions.iter().position(|dimension| dimension == name);
        let (class, category) = (at("class")?, at("category")?);
        let wrong = |row: &PfnsetRow| {
            let (class, category) = (row.labels.get(class)?, row.labels.get(category)?);
            let known = Category::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(category))?;
            let own = known.class().name();
            (!own.eq_ignore_ascii_case(class)).then(|| {
                format!(
                    "a row has class {class} and category {category}, which is of class {own}: it was changed after pfnset wrote it; \
                     write it again"
                )
            })
        };
        self.snapshots.iter().flat_map(|snapshot| &snapshot.rows).find_map(wrong)
    }

    /// What was wrong when it was written.
    pub(crate) fn warnings_of_file(&self) -> Warnings {
        let mut warnings = self.selection.warnings(self.form == PfnsetForm::Json, &self.warnings);
        warnings.extend(self.guessed_last());
        self.contradictions.iter().cloned().chain(warnings).collect()
    }

    /// That a snapshot was taken for the last whole one because the later ones have fewer pages: they may be fragments, or of rows that
    /// were chosen and became fewer.
    fn guessed_last(&self) -> Option<Warning> {
        let (taken, end) = (self.last()?, self.snapshots.last()?);
        let is_said = self.snapshots.iter().any(|snapshot| snapshot.is_last.is_some());
        let text = format!(
            "the file does not say which snapshot is the last whole one: snapshot {} is taken, because the rows of snapshot {} \
             have less than nine tenths of the most pages; JSON says it",
            taken.index, end.index
        );
        (!is_said && taken.index != end.index).then(|| Warning::grave(OF_TRACE, "last_snapshot_guessed", text))
    }

    /// The last whole snapshot of the trace; `None` where the file holds others only.
    pub(crate) fn last(&self) -> Option<&PfnsetSnapshot> {
        let says = self.snapshots.iter().any(|snapshot| snapshot.is_last.is_some());
        match says {
            true => self.snapshots.iter().find(|snapshot| snapshot.is_last == Some(true)),
            false => {
                // CSV does not say it; a fragment has fewer pages.
                let pages =
                    |snapshot: &PfnsetSnapshot| snapshot.rows.iter().map(|row| i128::from(row.pages)).sum::<i128>();
                let most = self.snapshots.iter().map(pages).max().unwrap_or(0);
                self.snapshots.iter().rev().find(|snapshot| pages(snapshot) * 10 >= most * 9)
            }
        }
    }

    /// The dimension that holds the category by these rules.
    pub fn category(&self, by_wpa: bool) -> &'static str {
        let is_apart = by_wpa && self.dimensions.iter().any(|dimension| dimension == "category_wpa");
        if is_apart { "category_wpa" } else { "category" }
    }

    /// The rows of a snapshot.
    pub fn rows(&self, snapshot: &PfnsetSnapshot, by_wpa: bool) -> Vec<CountedRow> {
        let by_wpa = by_wpa && self.counted_by == CountedBy::Both && self.category(true) == "category";
        let row = |row: &PfnsetRow| CountedRow {
            labels: row.labels.clone(),
            amount: Amount::of_pages(if by_wpa { row.pages_wpa } else { row.pages }),
        };
        snapshot.rows.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_snapshot_of_csv_has_no_fewer_pages() {
        let snapshot = |index, pages, is_last| {
            let row = PfnsetRow { labels: Vec::new(), pages, pages_wpa: 0 };
            PfnsetSnapshot { index, is_last, rows: vec![row] }
        };
        let table_of = |snapshots: Vec<PfnsetSnapshot>| PfnsetTable {
            form: PfnsetForm::Csv,
            table: ExportedTable::Resident,
            counted_by: CountedBy::Corrected,
            dimensions: Vec::new(),
            snapshots,
            warnings: Vec::new(),
            contradictions: Warnings::default(),
            selection: Selection::default(),
            listing: None,
        };
        let last = |snapshots: Vec<PfnsetSnapshot>| table_of(snapshots).last().map(|snapshot| snapshot.index);
        let is_guessed = |snapshots: Vec<PfnsetSnapshot>| table_of(snapshots).guessed_last().is_some();
        assert!(is_guessed(vec![snapshot(0, 3000, None), snapshot(1, 1500, None)]));
        assert!(!is_guessed(vec![snapshot(0, 3000, None), snapshot(1, 2900, None)]));
        assert!(!is_guessed(vec![snapshot(0, 9, Some(true)), snapshot(1, 1, Some(false))]));
        assert_eq!(last(vec![snapshot(0, 3000, None), snapshot(1, 2900, None), snapshot(2, 1500, None)]), Some(1));
        assert_eq!(last(vec![snapshot(0, 1500, None), snapshot(1, 2900, None)]), Some(1));
        assert_eq!(last(vec![snapshot(0, 9, Some(true)), snapshot(1, 9, Some(false))]), Some(0));
        assert_eq!((last(vec![snapshot(3, 0, None)]), last(Vec::new())), (Some(3), None));
    }
}
