//! The side that is a file: its rows by the dimensions asked for.

use crate::analysis::diff::compared_dimensions::{Dimension, dimension_of, passes};
use crate::analysis::diff::side::{Source, SourceContent};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::table::{Condition, Dimension as _};
use crate::dimensions::single_dimensions::{CATEGORY, CATEGORY_WPA, CLASS};
use crate::error::Error;
use crate::imported::CountedRow;
use crate::imported::pfnset_table::{PfnsetSnapshot, PfnsetTable};
use crate::imported::wpa::columns::SNAPSHOT;
use crate::imported::wpa::{WpaExport, WpaQuery, WpaRows, seconds};

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
    /// True where the pages of an export are wanted.
    pub with_pages: bool,
}

/// The rows of a file.
#[derive(Debug, Default)]
pub struct FileSide {
    /// By the dimensions asked for.
    pub rows: Vec<CountedRow>,
    /// The pages of an export.
    pub export: Option<WpaRows>,
    /// The time of its snapshot in seconds, if the file has it.
    pub time: Option<f64>,
}

impl FileSide {
    /// Reads a file; a trace gives no rows.
    ///
    /// # Errors
    /// [`Error::NotUnderstood`], [`Error::Usage`] for a snapshot that is not there.
    pub fn new(source: &Source, query: &FileQuery<'_>) -> Result<FileSide, Error> {
        match &source.content {
            SourceContent::Trace(_) => Ok(FileSide::default()),
            SourceContent::Pfnset(table) => {
                let snapshot = chosen(source, table, query.snapshot)?;
                Ok(FileSide { rows: pfnset_rows(table, snapshot, query), ..FileSide::default() })
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

fn pfnset_rows(table: &PfnsetTable, snapshot: &PfnsetSnapshot, query: &FileQuery<'_>) -> Vec<CountedRow> {
    let category = table.category(query.by_wpa);
    let known: Vec<&str> = table.dimensions.iter().map(String::as_str).collect();
    let places = places(query.dimensions, &known, category);
    // What chose the rows of the file needs no second look: of a stack they have the innermost frame alone.
    let is_open = |condition: &&Condition<Dimension>| {
        !table.selection.is_by(condition.dimension.name(), &condition.patterns.to_string())
    };
    let open: Vec<Condition<Dimension>> = query.conditions.iter().filter(is_open).cloned().collect();
    let is_wanted = |row: &CountedRow| {
        known.iter().zip(&row.labels).all(|(name, label)| match *name {
            name if name == category => passes(&open, CATEGORY.name, label),
            name if [CATEGORY.name, CATEGORY_WPA.name].contains(&name) => true,
            name if name == CLASS.name && category == CATEGORY_WPA.name => true,
            name => passes(&open, name, label),
        })
    };
    let rows = table.rows(snapshot, query.by_wpa).into_iter().filter(is_wanted);
    rows.map(|row| CountedRow { labels: labels_at(&row.labels, &places), ..row }).collect()
}

fn export_side(source: &Source, export: &WpaExport, query: &FileQuery<'_>) -> Result<FileSide, Error> {
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
    let mut time = None;
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
            let code = found.snapshots.iter().position(|known| known == label).unwrap_or(0) as u32;
            found.pages.retain(|page| page.snapshot() == code);
        }
    }
    let inside: Vec<_> = (places.iter())
        .map(|(dimension, at, is_derived)| {
            let name = at.and_then(|at| keys.get(at).copied());
            (*dimension, name.and_then(|name| wanted.iter().position(|known| *known == name)), *is_derived)
        })
        .collect();
    let rows = rows.into_iter().map(|row| CountedRow { labels: labels_at(&row.labels, &inside), ..row }).collect();
    Ok(FileSide { rows, export: Some(found), time })
}
