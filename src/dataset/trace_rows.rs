//! Rows of `traces` as a dataset has them.

use crate::analysis::export::schema::Table;
use crate::dataset::bundle_rows::reader;
use crate::dataset::format::Format;
use crate::dataset::identity::TraceId;
use crate::dataset::paths::Places;
use crate::dataset::table_files::file_name;
use crate::dataset::tags;
use crate::dataset::trace_state::State;
use crate::error::Error;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, StringArray};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What a row says of which bundle the trace belongs to.
#[derive(Debug, Default)]
pub struct TraceRow {
    /// The day on which the recording began, as `2026-11-23`.
    pub day: Option<String>,
    /// Tags by column.
    pub tags: BTreeMap<String, String>,
}

/// Reads the row of a trace.
///
/// # Errors
/// [`Error::Unreadable`].
pub fn read(path: &Path) -> Result<TraceRow, Error> {
    let mut row = TraceRow::default();
    for batch in reader(path)? {
        let batch = batch?;
        if batch.num_rows() > 0 {
            add(&batch, &mut row);
        }
    }
    Ok(row)
}

fn add(batch: &RecordBatch, row: &mut TraceRow) {
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if column.is_null(0) {
            continue;
        }
        let name = field.name();
        if name == "start_time" {
            let time =
                column.as_primitive_opt::<TimestampMicrosecondType>().and_then(|times| times.value_as_datetime(0));
            row.day = time.map(|time| time.format("%Y-%m-%d").to_string());
        } else if name.strip_prefix(tags::PREFIX).is_some_and(tags::is_key) {
            let texts = column.as_dictionary_opt::<Int32Type>();
            let texts = texts.and_then(|texts| texts.downcast_dict::<StringArray>());
            let text = texts.and_then(|texts| texts.into_iter().next().flatten().map(str::to_owned));
            row.tags.extend(text.map(|text| (name.clone(), text)));
        }
    }
}

/// Bytes of a table of lines that are read for its first row.
const MOST_BYTES: u64 = 1 << 20;

/// The name of a trace's file in its row; `None` where it cannot be read.
pub fn name_of(places: &Places, id: &TraceId, state: &State) -> Option<String> {
    const COLUMN: &str = "trace_file";
    let path = places.partition(Table::Traces, id).ok()??.join(file_name(0, state.format));
    let of_batch = |batch: RecordBatch| {
        let texts = batch.column_by_name(COLUMN)?.as_dictionary_opt::<Int32Type>()?.downcast_dict::<StringArray>()?;
        texts.into_iter().next().flatten().map(str::to_owned)
    };
    match state.format {
        Format::Parquet => of_batch(reader(&path).ok()?.next()?.ok()?),
        // Its reader believes whatever lengths the file has, and a dataset may come from anybody.
        Format::Arrow => None,
        Format::Csv => {
            let mut rows = csv::Reader::from_reader(File::open(path).ok()?.take(MOST_BYTES));
            let at = rows.headers().ok()?.iter().position(|name| name == COLUMN)?;
            Some(rows.records().next()?.ok()?.get(at)?.to_owned())
        }
    }
}
