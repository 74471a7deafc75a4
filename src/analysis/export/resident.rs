//! The tables `pages` and `resident` of a snapshot: one pass over its pages, about a million at a time.

use crate::analysis::export::chosen_snapshots::Chosen;
use crate::analysis::export::column_batches::BATCH_ROWS;
use crate::analysis::export::page_attributes::{KeyOrder, PageAttributes, PageTexts};
use crate::analysis::export::schema::Table;
use crate::analysis::export::sink::Sink;
use crate::analysis::pages::address_of;
use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::load::page_run::PageRun;
use crate::model::snapshot::Snapshot;
use crate::units::PAGE_BYTES;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};
use arrow_schema::ArrowError;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::sync::Arc;

/// A page.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    pfn: u64,
    /// Offset of a file's page in its file, or else the address; 0 where there is none.
    at: u64,
    key: PageAttributes,
}

/// Which of the two tables are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// A row for each page.
    pub pages: bool,
    /// A row for each group of pages.
    pub resident: bool,
}

/// What one thread found.
struct Found<'c> {
    classifier: BatchClassifier<'c>,
    rows: Vec<Row>,
    counts: FastMap<PageAttributes, u64>,
}

/// Writes the tables of one snapshot.
///
/// # Errors
/// [`Error::NotWritten`].
pub fn write(
    etl: &EtlFile,
    context: &SnapshotContext<'_>,
    chosen: Chosen<'_>,
    wanted: Wanted,
    sink: &dyn Sink,
) -> Result<(), Error> {
    let texts = PageTexts::new(context);
    let Chosen { index, snapshot, is_last } = chosen;
    let at = At { index: index as i64, is_last, seconds: etl.clock.nanos(snapshot.first.time).seconds() };
    let read = |runs: &[PageRun]| -> Vec<Found<'_>> {
        let part = Snapshot { runs: runs.to_vec(), ..empty_like(snapshot) };
        let empty =
            || Found { classifier: BatchClassifier::new(context), rows: Vec::new(), counts: FastMap::default() };
        part.fold(etl, empty, |found, pages| {
            found.classifier.classify(pages);
            for (page, classified) in pages.iter().zip(found.classifier.classified_pages(pages.len())) {
                let key = texts.key(page, classified);
                if wanted.resident && !wanted.pages {
                    *found.counts.entry(key).or_default() += 1;
                }
                if wanted.pages {
                    let place = if page.is_file_backed() { Some(page.file_offset()) } else { address_of(page) };
                    found.rows.push(Row { pfn: page.pfn, at: place.unwrap_or(0), key });
                }
            }
        })
    };
    let mut counts: FastMap<PageAttributes, u64> = FastMap::default();
    let mut take = |found: Vec<Found<'_>>| {
        let mut rows: Vec<Vec<Row>> = Vec::new();
        let mut count = |(key, pages)| *counts.entry(key).or_default() += pages;
        for part in found {
            part.counts.into_iter().for_each(&mut count);
            rows.push(part.rows);
        }
        if !wanted.pages {
            return Ok(());
        }
        let rows = sorted(rows, &texts.order());
        if wanted.resident {
            counted(&rows).into_iter().for_each(count);
        }
        write_rows(&rows, &texts, at, sink)
    };
    let mut last = Vec::new();
    for runs in groups(&snapshot.runs) {
        // Some steps of writing a batch have one thread; meanwhile the others read the next.
        let before = std::mem::take(&mut last);
        let (found, taken) = rayon::join(|| read(runs), || if before.is_empty() { Ok(()) } else { take(before) });
        taken?;
        last = found;
    }
    take(last)?;
    if wanted.resident { write_counts(counts, &texts, at, sink) } else { Ok(()) }
}

/// A snapshot without its runs.
fn empty_like(snapshot: &Snapshot) -> Snapshot {
    Snapshot {
        first: snapshot.first,
        last_time: snapshot.last_time,
        pages: snapshot.pages,
        pfns: snapshot.pfns,
        duplicates: snapshot.duplicates,
        missing_pfns: snapshot.missing_pfns,
        gaps: snapshot.gaps,
        version: snapshot.version,
        pointer: snapshot.pointer,
        runs: Vec::new(),
    }
}

/// Runs of about [`BATCH_ROWS`] pages.
fn groups(runs: &[PageRun]) -> Vec<&[PageRun]> {
    let (mut groups, mut start, mut pages) = (Vec::new(), 0, 0);
    for (place, run) in runs.iter().enumerate() {
        if pages > 0 && pages + run.pages as usize > BATCH_ROWS {
            groups.push(runs.get(start..place).unwrap_or_default());
            (start, pages) = (place, 0);
        }
        pages += run.pages as usize;
    }
    groups.push(runs.get(start..).unwrap_or_default());
    groups
}

/// The snapshot of the rows.
#[derive(Debug, Clone, Copy)]
struct At {
    index: i64,
    is_last: bool,
    seconds: f64,
}

impl At {
    fn column(self, name: &str, rows: usize) -> Result<ArrayRef, ArrowError> {
        match name {
            "snapshot" => Ok(Arc::new(Int64Array::from_value(self.index, rows))),
            "is_last" => Ok(Arc::new(BooleanArray::from(vec![self.is_last; rows]))),
            "time_s" => Ok(Arc::new(Float64Array::from_value(self.seconds, rows))),
            _ => Err(ArrowError::SchemaError(format!("no column {name}"))),
        }
    }
}

/// Name of a column by its place.
fn name_of(table: Table, place: usize) -> &'static str {
    table.columns().get(place).map_or("", |column| column.name)
}

/// Rows by place, then frame: first each to the others of its place, then these by frame.
fn sorted(parts: Vec<Vec<Row>>, order: &KeyOrder) -> Vec<Row> {
    let mut starts = vec![0usize; order.places() + 1];
    for row in parts.iter().flatten() {
        starts.get_mut(order.place(&row.key) + 1).into_iter().for_each(|count| *count += 1);
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut sorted = vec![Row::default(); sum];
    for row in parts.into_iter().flatten() {
        if let Some(next) = starts.get_mut(order.place(&row.key)) {
            sorted.get_mut(*next).into_iter().for_each(|slot| *slot = row);
            *next += 1;
        }
    }
    let same: Vec<&mut [Row]> = sorted.chunk_by_mut(of_same_place).collect();
    let compare = |one: &Row, other: &Row| {
        (one.pfn, one.at).cmp(&(other.pfn, other.at)).then_with(|| order.compare(&one.key, &other.key))
    };
    same.into_par_iter().for_each(|rows| rows.sort_unstable_by(compare));
    sorted
}

/// True for rows of one process and category.
#[inline(always)]
fn of_same_place(a: &Row, b: &Row) -> bool {
    let place = |row: &Row| (row.key.process(), row.key.category());
    place(a) == place(b)
}

/// How many of the sorted rows have the same key. Of one process and category there are few keys: their counts stay near.
fn counted(rows: &[Row]) -> Vec<(PageAttributes, u64)> {
    let same: Vec<&[Row]> = rows.chunk_by(of_same_place).collect();
    let counts = same.into_par_iter().flat_map_iter(|rows| {
        let mut counts: FastMap<PageAttributes, u64> = FastMap::default();
        rows.iter().for_each(|row| *counts.entry(row.key).or_default() += 1);
        counts
    });
    counts.collect()
}

/// Writes sorted rows.
fn write_rows(all: &[Row], texts: &PageTexts<'_>, at: At, sink: &dyn Sink) -> Result<(), Error> {
    let rows = || all.iter();
    sink.write(Table::Pages, all.len(), &|place| {
        let file = |row: &Row| row.key.is_file_backed();
        Ok(match name_of(Table::Pages, place) {
            "pfn" => Arc::new(Int64Array::from_iter_values(rows().map(|row| row.pfn as i64))),
            "address" => {
                Arc::new(rows().map(|row| (row.at != 0 && !file(row)).then_some(row.at)).collect::<UInt64Array>())
            }
            "file_offset" => Arc::new(rows().map(|row| file(row).then_some(row.at as i64)).collect::<Int64Array>()),
            name => match texts.column(name, rows().map(|row| &row.key))? {
                Some(column) => column,
                None => at.column(name, all.len())?,
            },
        })
    })
}

fn write_counts(
    counts: FastMap<PageAttributes, u64>,
    texts: &PageTexts<'_>,
    at: At,
    sink: &dyn Sink,
) -> Result<(), Error> {
    let order = texts.order();
    let mut all: Vec<(PageAttributes, u64)> = counts.into_iter().collect();
    all.par_sort_unstable_by(|(one, pages), (other, others)| {
        (order.place(one), others).cmp(&(order.place(other), pages)).then_with(|| order.compare(one, other))
    });
    for all in all.chunks(BATCH_ROWS) {
        sink.write(Table::Resident, all.len(), &|place| {
            let pages = || all.iter().map(|(_, pages)| *pages as i64);
            Ok(match name_of(Table::Resident, place) {
                "pages" => Arc::new(Int64Array::from_iter_values(pages())),
                "bytes" => Arc::new(Int64Array::from_iter_values(pages().map(|pages| pages * PAGE_BYTES as i64))),
                name => match texts.column(name, all.iter().map(|(key, _)| key))? {
                    Some(column) => column,
                    None => at.column(name, all.len())?,
                },
            })
        })?;
    }
    Ok(())
}
