//! `pfnset export`: what is in the tables, how they come into the dataset, and what `docs/export.md` says of them.

mod allocations;
mod compacted;
mod counts;
mod dataset;
mod events;
mod fleet;
mod hostile;
mod killed;
mod recordings;
mod schema;
mod stacks;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A row: values by column, as text; null is left out.
pub type Row = BTreeMap<String, String>;

/// All files below a folder, without the program's own below `.pfnset`.
pub fn parts(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if entry.file_name() == ".pfnset" => assert!(path.is_dir()),
            path if path.is_dir() => found.extend(parts(&path)),
            path => drop(found.insert(path)),
        }
    }
    found
}

/// The batches of a Parquet file.
pub fn batches(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").with_batch_size(4096).build();
    reader.expect("readable").collect::<Result<_, _>>().expect("whole")
}

/// A cell as text.
pub fn text(column: &dyn Array, row: usize) -> Option<String> {
    (!column.is_null(row)).then(|| match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => format!("0x{:x}", column.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Timestamp(..) => {
            let time = column.as_primitive::<TimestampMicrosecondType>().value_as_datetime(row).expect("a time");
            format!("{}Z", time.format("%Y-%m-%dT%H:%M:%S%.6f"))
        }
        DataType::Dictionary(..) => {
            let texts = column.as_dictionary::<Int32Type>();
            texts.values().as_string::<i32>().value(texts.keys().value(row) as usize).to_owned()
        }
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            let [names, values] = entries.columns() else { panic!("names and values") };
            let pairs: Vec<(Option<&str>, Option<&str>)> =
                names.as_string::<i32>().iter().zip(values.as_string::<i32>()).collect();
            serde_json::to_string(&pairs).unwrap()
        }
        DataType::List(_) => {
            let texts = column.as_list::<i32>().value(row);
            serde_json::to_string(&texts.as_string::<i32>().iter().collect::<Vec<_>>()).unwrap()
        }
        other => panic!("a column of {other}"),
    })
}

/// The rows of a table of all traces, by trace.
pub fn rows(dataset: &Path, table: &str) -> Vec<(String, Row)> {
    let mut all = Vec::new();
    for path in parts(&dataset.join(table)) {
        let partition = path.parent().and_then(Path::file_name).expect("a partition").to_string_lossy().into_owned();
        let trace = partition.strip_prefix("trace=").expect("a hive partition").to_owned();
        for batch in batches(&path) {
            let schema = batch.schema();
            for row in 0..batch.num_rows() {
                let cells = schema.fields().iter().zip(batch.columns());
                let cells = cells.filter_map(|(field, column)| Some((field.name().clone(), text(column, row)?)));
                all.push((trace.clone(), cells.collect()));
            }
        }
    }
    all
}

/// The trace in the dataset that was exported from a file of this name.
pub fn id_of(dataset: &Path, name: &str) -> String {
    let traces = rows(dataset, "traces");
    let found: Vec<&String> =
        traces.iter().filter(|(_, row)| row["trace_file"].ends_with(name)).map(|(id, _)| id).collect();
    assert_eq!(found.len(), 1, "{name}: {traces:?}");
    found[0].clone()
}
