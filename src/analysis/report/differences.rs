//! Compares two traces: what grew and what shrank, by category and by process.

use crate::analysis::diff::Diff;
use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::memory::rows::DiffRow;
use crate::analysis::diff::query::DiffQuery;
use crate::analysis::diff::side::Source;
use crate::analysis::report::Part;
use crate::analysis::table::{Column, Line, Table, Value};
use crate::dimensions::{Label, LabelKind};
use crate::model::category::{Category, Class};
use crate::trace::trust::warning::Warning;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bars of a picture.
const BARS: usize = 20;
/// Most tiles.
const TILES: usize = 1500;

/// Pages of something in both traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is.
    pub label: String,
    /// Its class, where it has one.
    pub class: Option<Class>,
    /// Pages on the left.
    pub left: i64,
    /// Pages on the right.
    pub right: i64,
}

impl Change {
    /// Right less left.
    pub const fn delta(&self) -> i64 {
        self.right - self.left
    }
}

/// A category with its changes by process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryChange {
    /// The category.
    pub all: Change,
    /// Its processes; pages of processes that did not change are one part.
    pub parts: Vec<Change>,
}

/// What differs between two traces.
#[derive(Debug)]
pub struct Differences {
    /// The comparison.
    pub diff: Diff,
    /// How the machines differ.
    pub of_machines: Vec<String>,
    /// By category, the largest change first.
    pub by_category: Vec<Change>,
    /// By process; what belongs to none is left out.
    pub by_process: Vec<Change>,
    /// By category and process.
    pub tiles: Vec<CategoryChange>,
}

impl Differences {
    /// Between the resident sets of two traces.
    pub fn new(left: &Source, right: &Source) -> Part<Differences> {
        let by = |dimensions: &[Dimension]| {
            let query = DiffQuery { group_by: Some(dimensions.to_vec()), keeps_same: true, ..DiffQuery::default() };
            Diff::new(left, right, &query).map_err(|error| super::one_line(&error.to_string()))
        };
        let diff = by(&[Dimension::Category, Dimension::PROCESS])?;
        // A category that changed has processes in which it did not.
        let rows = || diff.compared.differing().chain(diff.compared.agreeing().into_iter().flatten());
        let by_category = changes(rows(), 0);
        // Pages of no process count by category only.
        let by_process = changes(rows().filter(|row| row.labels.get(1).is_some_and(is_of_a_process)), 1);
        let tiles = tiles(rows());
        let is_of_machines = |warning: &&Warning| warning.is_of(&["machine_differs", "build_differs"]);
        let of_machines = diff.warnings.iter().filter(is_of_machines).map(|warning| warning.text.clone()).collect();
        Ok(Differences { diff, of_machines, by_category, by_process, tiles })
    }

    /// The largest changes of a list, and what the rest adds up to.
    pub fn largest(changes: &[Change]) -> Vec<Change> {
        let mut shown: Vec<Change> = changes.iter().take(BARS).cloned().collect();
        let rest = changes.get(BARS..).unwrap_or_default();
        if !rest.is_empty() {
            shown.push(Change {
                label: format!("+ {} more", rest.len()),
                class: None,
                left: rest.iter().map(|change| change.left).sum(),
                right: rest.iter().map(|change| change.right).sum(),
            });
        }
        shown
    }

    /// Changes as a table.
    pub fn table(title: &'static str, changes: &[Change]) -> Table {
        let line = |change: &Change| {
            Line::new([
                Value::text(&change.label),
                Value::pages(change.left),
                Value::pages(change.right),
                Value::SizeDifference(change.delta().saturating_mul(crate::units::PAGE_BYTES as i64)),
                Value::Difference(change.delta()),
            ])
        };
        let columns = ["Left", "Right", "Difference", "Difference, pages"].map(Column::number);
        Table {
            columns: [Column::text(title)].into_iter().chain(columns).collect(),
            lines: changes.iter().map(line).collect(),
            ..Table::default()
        }
    }
}

fn is_of_a_process(label: &Label) -> bool {
    !matches!(label.kind(), LabelKind::Nothing | LabelKind::Shared)
}

/// The class of a category; other labels have none.
fn class_of(label: &Label) -> Option<Class> {
    label.number_in_list().and_then(|number| Category::ALL.get(number)).map(|category| category.class())
}

/// Rows by the label at one place, the largest change first. What did not change in sum is left out.
fn changes<'r>(rows: impl Iterator<Item = &'r DiffRow>, place: usize) -> Vec<Change> {
    let mut all: BTreeMap<&str, Change> = BTreeMap::new();
    for row in rows {
        let Some(label) = row.labels.get(place) else { continue };
        let empty = || Change { label: label.shown().to_owned(), class: class_of(label), left: 0, right: 0 };
        let change = all.entry(label).or_insert_with(empty);
        change.left += row.left_pages();
        change.right += row.right_pages();
    }
    let mut all: Vec<Change> = all.into_values().filter(|change| change.delta() != 0).collect();
    all.sort_by(|a, b| b.delta().abs().cmp(&a.delta().abs()).then_with(|| a.label.cmp(&b.label)));
    all
}

/// Categories by size with their largest processes; together at most [`TILES`].
fn tiles<'r>(rows: impl Iterator<Item = &'r DiffRow>) -> Vec<CategoryChange> {
    let mut all: BTreeMap<&Label, Vec<Change>> = BTreeMap::new();
    for row in rows {
        let [category, process] = &row.labels[..] else { continue };
        let change =
            Change { label: process.shown().to_owned(), class: None, left: row.left_pages(), right: row.right_pages() };
        all.entry(category).or_default().push(change);
    }
    let most = TILES / all.len().max(1);
    let of_category = |(category, mut parts): (&Label, Vec<Change>)| {
        let sum = |parts: &[Change]| (parts.iter().map(|c| c.left).sum(), parts.iter().map(|c| c.right).sum());
        let (left, right) = sum(&parts);
        parts.sort_by_key(|change| Reverse(change.left.max(change.right)));
        if parts.len() > most {
            let rest = parts.split_off(most);
            let (left, right) = sum(&rest);
            parts.push(Change { label: format!("+ {} more", rest.len()), class: None, left, right });
        }
        let class = class_of(category);
        CategoryChange { all: Change { label: category.to_string(), class, left, right }, parts }
    };
    let mut tiles: Vec<CategoryChange> = all.into_iter().map(of_category).collect();
    tiles.sort_by_key(|tile| Reverse(tile.all.left.max(tile.all.right)));
    tiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_page::CodePage;
    use crate::imported::amount::Amount;
    use crate::imported::wpa::WpaOptions;
    use crate::input::UnpackLimits;
    use std::path::Path;

    fn row(labels: [&str; 2], left: i64, right: i64) -> DiffRow {
        let pages = |pages: i64| Some(Amount::of_pages(pages));
        let [category, process] = labels;
        let labels = vec![Dimension::Category.label(category), Dimension::PROCESS.label(process)];
        DiffRow { left: pages(left), right: pages(right), ..DiffRow::new(labels, 0, ()) }
    }

    /// What did not change by process counts in the sums by category and by process.
    #[test]
    fn both_sides_are_whole() {
        let open = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
            Source::open(&path, &UnpackLimits::default(), &WpaOptions::default(), CodePage::default()).unwrap()
        };
        let (left, right) = (open("resident-small.etl"), open("refset-small.etl"));
        let found = Differences::new(&left, &right).unwrap();
        for (dimension, changes) in [(Dimension::Category, &found.by_category), (Dimension::PROCESS, &found.by_process)]
        {
            let query = DiffQuery { group_by: Some(vec![dimension]), ..DiffQuery::default() };
            let rows = Diff::new(&left, &right, &query).unwrap().compared.rows;
            assert!(changes.len() > 5);
            for change in changes {
                let row = rows.iter().find(|row| row.labels == [change.label.clone()]).unwrap();
                assert_eq!((change.left, change.right), (row.left_pages(), row.right_pages()), "{}", change.label);
            }
        }
    }

    #[test]
    fn changes_are_summed_on_either_side() {
        let rows = [
            row(["Image", "a.exe"], 10, 30),
            row(["Win32Heap", "a.exe"], 5, 0),
            row(["Image", "b.exe"], 30, 10),
            row(["MapFile", "b.exe"], 7, 8),
        ];
        let by_process = changes(rows.iter(), 1);
        let of = |changes: &[Change]| changes.iter().map(|c| (c.label.clone(), c.delta())).collect::<Vec<_>>();
        assert_eq!(of(&by_process), [("b.exe".into(), -19), ("a.exe".into(), 15)]);
        let by_category = changes(rows.iter(), 0);
        assert_eq!(of(&by_category), [("Win32Heap".into(), -5), ("MapFile".into(), 1)], "Image moved, and is as large");
        assert_eq!(by_category[0].class, Some(Class::Dynamic));
        let tiles = tiles(rows.iter());
        assert_eq!((tiles[0].all.label.as_str(), tiles[0].parts.len()), ("Image", 2));
        let many: Vec<Change> =
            (1..30).map(|n| Change { label: format!("p{n}"), class: None, left: 0, right: n }).collect();
        let largest = Differences::largest(&many);
        assert_eq!(
            (largest.len(), largest[BARS].label.as_str(), largest[BARS].right),
            (21, "+ 9 more", (21..30).sum())
        );
    }
}
