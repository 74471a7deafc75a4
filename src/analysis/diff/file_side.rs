//! The side that is a file: its rows by the dimensions asked for.

use crate::analysis::diff::compared_dimensions::{Dimension, dimension_of, passes};
use crate::analysis::diff::side::{Source, SourceContent};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::table::{Condition, Dimension as _};
use crate::dimensions::single_dimensions::{CATEGORY, CATEGORY_WPA, CLASS};
use crate::error::Error;
use crate::imported::CountedRow;
use crate::imported::pfnset_table::{PfnsetSnapshot, PfnsetTable};
use crate::imported::wpa::columns::{SNAPSHOT, Says};
use crate::imported::wpa::page_rows::PageRows;
use crate::imported::wpa::{WpaExport, WpaQuery, WpaRows, seconds};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A query to a file.
#[derive(Debug, Clone, Copy)]
pub struct FileQuery<'q> {
    /// Dimensions of the rows.
    pub dimensions: &'q [Dimension],
    /// Conditions.
    pub conditions: &'q [Condition<Dimension>],
    /// Which snapshot.
    pub snapshot: SnapshotChoice,
    /// By whose rules, where the file has both.
    pub by_wpa: bool,
    /// True where the pages are wanted, each for itself.
    pub with_pages: bool,
}

/// The rows of a file.
#[derive(Debug, Default)]
pub struct FileSide<'s> {
    /// By the dimensions asked for.
    pub rows: Vec<CountedRow>,
    /// What else an export says.
    pub export: Option<WpaRows>,
    /// Its pages, where each row is one and they are wanted.
    pub pages: Option<FilePages<'s>>,
    /// The time of its snapshot in seconds, if the file has it.
    pub time: Option<f64>,
}

/// The pages of a file.
#[derive(Debug)]
pub struct FilePages<'s> {
    /// Pages of all snapshots.
    pub rows: Cow<'s, PageRows>,
    /// For each combination of labels whether its pages are compared: those of the snapshot that meet the conditions.
    pub wanted: Vec<bool>,
    /// Dimensions of its labels and their key columns: the category first, the others in the order of the columns.
    pub dimensions: Vec<(Dimension, usize)>,
    /// True where addresses are those of the trace for pages of all kinds, not of private ones alone.
    pub all_addresses: bool,
}

impl<'s> FilePages<'s> {
    fn new(rows: Cow<'s, PageRows>, wanted: Vec<bool>, category: &str, all_addresses: bool) -> FilePages<'s> {
        let named = |(at, (key, column)): (usize, &(&str, usize))| {
            let dimension = match dimension_of(key) {
                key if key == category => Dimension::Category,
                key if key == CATEGORY.name => return None,
                key => Dimension::of_name(key)?,
            };
            dimension.resident(false).map(|_| (dimension, at, *column))
        };
        let mut found: Vec<(Dimension, usize, usize)> = rows.keys.iter().enumerate().filter_map(named).collect();
        found.sort_by_key(|(dimension, _, column)| (*dimension != Dimension::Category, *column));
        let dimensions = found.into_iter().map(|(dimension, at, _)| (dimension, at)).collect();
        FilePages { rows, wanted, dimensions, all_addresses }
    }

    /// Codes of the labels of a key column that its pages have.
    pub fn codes(&self, key: usize) -> BTreeSet<u32> {
        let combinations = (0u32..).zip(&self.wanted).filter(|(_, wanted)| **wanted);
        combinations.map(|(combination, _)| self.rows.code(combination, key)).collect()
    }
}

impl<'s> FileSide<'s> {
    /// Reads a file; a trace gives no rows.
    ///
    /// # Errors
    /// [`Error::NotUnderstood`], [`Error::Usage`] for a snapshot that is not there.
    pub fn new(source: &'s Source, query: &FileQuery<'_>) -> Result<FileSide<'s>, Error> {
        match &source.content {
            SourceContent::Trace(_) => Ok(FileSide::default()),
            SourceContent::Pfnset(table) => {
                let snapshot = chosen(source, table, query.snapshot)?;
                let pages = query.with_pages.then(|| pfnset_pages(table, snapshot, query)).flatten();
                Ok(FileSide { rows: pfnset_rows(table, snapshot, query), pages, ..FileSide::default() })
            }
            SourceContent::Wpa(export) => export_side(source, export, query),
        }
    }
}

fn no_snapshot(source: &Source, index: usize, known: &str) -> Error {
    Error::Usage(format!("{} has no snapshot {index}; it holds {known}", source.path.display()))
}

fn chosen<'t>(source: &Source, table: &'t PfnsetTable, choice: SnapshotChoice) -> Result<&'t PfnsetSnapshot, Error> {
    let listed = || table.snapshots.iter().map(|snapshot| snapshot.index.to_string()).collect::<Vec<_>>().join(", ");
    match choice {
        SnapshotChoice::Index(index) => {
            let found = table.snapshots.iter().find(|snapshot| snapshot.index == index as u64);
            found.ok_or_else(|| no_snapshot(source, index, &listed()))
        }
        _ => table.last().ok_or_else(|| {
            let (path, known) = (source.path.display(), listed());
            Error::Usage(format!(
                "{path} does not hold the last whole snapshot of its trace; choose one that it holds: {known}"
            ))
        }),
    }
}

/// The place of each dimension in the labels of a row, and whether it is derived from what stands there.
fn places(dimensions: &[Dimension], known: &[&str], category: &str) -> Vec<(Dimension, Option<usize>, bool)> {
    let at = |dimension: Dimension| {
        let name = if dimension == Dimension::Category { category } else { dimension.name() };
        known.iter().position(|known| *known == name)
    };
    let place = |dimension: &Dimension| match (at(*dimension), dimension.derived_from()) {
        // The class that stands in a file is that of the corrected category.
        (Some(_), Some(from)) if category == CATEGORY_WPA.name && at(from).is_some() => (*dimension, at(from), true),
        (None, Some(from)) => (*dimension, at(from), true),
        (place, _) => (*dimension, place, false),
    };
    dimensions.iter().map(place).collect()
}

fn labels_at(labels: &[Box<str>], places: &[(Dimension, Option<usize>, bool)]) -> Vec<Box<str>> {
    let label = |(dimension, at, is_derived): &(Dimension, Option<usize>, bool)| {
        let label = at.and_then(|at| labels.get(at)).map_or("", |label| &**label);
        if *is_derived { dimension.derived(label).into() } else { label.into() }
    };
    places.iter().map(label).collect()
}

/// Whether a label of a dimension of a file meets the conditions.
fn is_wanted<'q>(table: &PfnsetTable, query: &FileQuery<'q>) -> impl Fn(&str, &str) -> bool + use<'q> {
    let category = table.category(query.by_wpa);
    // What chose the rows of the file needs no second look: of a stack they have the innermost frame alone.
    let is_open = |condition: &&Condition<Dimension>| {
        !table.selection.is_by(condition.dimension.name(), &condition.patterns.to_string())
    };
    let open: Vec<Condition<Dimension>> = query.conditions.iter().filter(is_open).cloned().collect();
    move |name, label| match name {
        name if name == category => passes(&open, CATEGORY.name, label),
        name if [CATEGORY.name, CATEGORY_WPA.name].contains(&name) => true,
        name if name == CLASS.name && category == CATEGORY_WPA.name => true,
        name => passes(&open, name, label),
    }
}

/// The pages of a table that pfnset wrote; `None` where its rows are no pages.
fn pfnset_pages<'s>(table: &'s PfnsetTable, snapshot: &PfnsetSnapshot, query: &FileQuery<'_>) -> Option<FilePages<'s>> {
    let listing = table.listing.as_ref()?;
    let pages = &listing.pages;
    let has_addresses = listing.columns.says.contains(&Says::Address);
    let is_wanted = is_wanted(table, query);
    let wanted = pages.wanted(|key, label| match key {
        SNAPSHOT => label.parse() == Ok(snapshot.index),
        key => is_wanted(key, label),
    });
    Some(FilePages::new(Cow::Borrowed(pages), wanted, table.category(query.by_wpa), has_addresses))
}

fn pfnset_rows(table: &PfnsetTable, snapshot: &PfnsetSnapshot, query: &FileQuery<'_>) -> Vec<CountedRow> {
    let category = table.category(query.by_wpa);
    let known: Vec<&str> = table.dimensions.iter().map(String::as_str).collect();
    let places = places(query.dimensions, &known, category);
    let is_wanted = is_wanted(table, query);
    let is_row = |row: &CountedRow| known.iter().zip(&row.labels).all(|(name, label)| is_wanted(name, label));
    let rows = table.rows(snapshot, query.by_wpa).into_iter().filter(is_row);
    rows.map(|row| CountedRow { labels: labels_at(&row.labels, &places), ..row }).collect()
}

fn export_side<'s>(source: &Source, export: &WpaExport, query: &FileQuery<'_>) -> Result<FileSide<'s>, Error> {
    let keys: Vec<&str> = export.columns.keys.iter().map(|(dimension, _)| *dimension).collect();
    let names: Vec<&str> = keys.iter().map(|key| dimension_of(key)).collect();
    let places = places(query.dimensions, &names, CATEGORY.name);
    let mut wanted: Vec<&str> =
        places.iter().filter_map(|(_, at, _)| at.and_then(|at| keys.get(at).copied())).collect();
    if keys.contains(&SNAPSHOT) && !wanted.contains(&SNAPSHOT) {
        wanted.push(SNAPSHOT);
    }
    let asked = WpaQuery {
        dimensions: &wanted,
        is_wanted: &|key, label| passes(query.conditions, dimension_of(key), label),
        with_pages: query.with_pages,
    };
    let not_understood = |reason| Error::NotUnderstood { path: source.path.clone(), reason };
    let mut found = export.read(&asked).map_err(not_understood)?;
    let mut rows = std::mem::take(&mut found.rows);
    let (mut time, mut chosen) = (None, None);
    if let Some(at) = wanted.iter().position(|name| *name == SNAPSHOT) {
        let mut times: Vec<(f64, Box<str>)> = (found.snapshots.iter())
            .map(|label| (seconds(export, label).unwrap_or(f64::NEG_INFINITY), label.clone()))
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let listed = || times.iter().map(|(_, label)| &**label).collect::<Vec<_>>().join(", ");
        let one = match query.snapshot {
            SnapshotChoice::Index(index) => {
                Some(times.get(index).ok_or_else(|| no_snapshot(source, index, &listed()))?)
            }
            _ => times.last(),
        };
        if let Some((seconds, label)) = one {
            time = Some(*seconds).filter(|seconds| seconds.is_finite());
            rows.retain(|row| row.labels.get(at) == Some(label));
            chosen = Some(label.clone());
        }
    }
    let inside: Vec<_> = (places.iter())
        .map(|(dimension, at, is_derived)| {
            let name = at.and_then(|at| keys.get(at).copied());
            (*dimension, name.and_then(|name| wanted.iter().position(|known| *known == name)), *is_derived)
        })
        .collect();
    let rows = rows.into_iter().map(|row| CountedRow { labels: labels_at(&row.labels, &inside), ..row }).collect();
    let pages = (query.with_pages && export.columns.has_pfn()).then(|| {
        let pages = std::mem::take(&mut found.pages);
        let is_chosen = |label: &str| chosen.as_ref().is_none_or(|chosen| **chosen == *label);
        let wanted = pages.wanted(|key, label| key != SNAPSHOT || is_chosen(label));
        FilePages::new(Cow::Owned(pages), wanted, CATEGORY.name, false)
    });
    Ok(FileSide { rows, export: Some(found), pages, time })
}
