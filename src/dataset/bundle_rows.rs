//! The rows of many traces, one after the other, as row groups of one file.

use crate::analysis::export::arrow_schema::Layout;
use crate::analysis::export::column_batches::{BATCH_ROWS, dictionary, list_builder, map_builder};
use crate::analysis::export::schema::Kind;
use crate::dataset::table_files::Part;
use crate::error::Error;
use crate::input::{MOST_EXPANSION, expands_too_much};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_schema::ArrowError;
use foldhash::HashMap as FastMap;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Rows that are read at a time.
const READ_ROWS: usize = 1 << 16;
/// Memory of batches that wait, bytes; a dictionary counts in each batch that uses it.
const MOST_WAITING: usize = 256 << 20;

/// A file with rows of a trace.
pub struct Source<'s> {
    /// The file.
    pub path: &'s Path,
    /// Values of the layout's further columns.
    pub texts: &'s [Option<String>],
}

/// The batches of a Parquet file of a dataset.
///
/// # Errors
/// [`Error::Unreadable`], here and of each batch.
pub fn reader(path: &Path) -> Result<impl Iterator<Item = Result<RecordBatch, Error>>, Error> {
    let not = |error: io::Error| Error::Unreadable { path: path.to_path_buf(), source: error };
    let file = File::open(path).map_err(not)?;
    let packed = file.metadata().map_err(not)?.len();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| not(io::Error::other(error)))?;
    let of_group = |group: &RowGroupMetaData| u64::try_from(group.total_byte_size()).unwrap_or(u64::MAX);
    let unpacked = builder.metadata().row_groups().iter().map(of_group).fold(0, u64::saturating_add);
    if expands_too_much(packed, unpacked) {
        let reason = format!("it unpacks to more than {MOST_EXPANSION} times its size, which no table does");
        return Err(not(io::Error::other(reason)));
    }
    let batches = builder.with_batch_size(READ_ROWS).build().map_err(|error| not(io::Error::other(error)))?;
    Ok(batches.map(move |batch| batch.map_err(|error| not(io::Error::other(error)))))
}

/// Rows that wait until they are enough for a row group.
pub struct Merged {
    layout: Layout,
    batches: Vec<RecordBatch>,
    /// Values of further columns and the rows that have them.
    texts: Vec<(Vec<Option<String>>, usize)>,
    rows: usize,
    /// Memory of the batches, bytes.
    waiting: usize,
}

impl Merged {
    /// No rows yet.
    pub fn new(layout: Layout) -> Merged {
        Merged { layout, batches: Vec::new(), texts: Vec::new(), rows: 0, waiting: 0 }
    }

    /// Adds the rows of a file.
    ///
    /// # Errors
    /// [`Error::Unreadable`], also of a file with other columns; [`Error::NotWritten`].
    pub fn add(&mut self, source: &Source<'_>, part: &mut Part) -> Result<(), Error> {
        for batch in reader(source.path)? {
            let own = own_columns(&self.layout, &batch?).ok_or_else(|| Error::Unreadable {
                path: source.path.to_path_buf(),
                source: io::Error::other("its columns are not those of the table"),
            })?;
            self.rows += own.num_rows();
            self.texts.push((source.texts.to_vec(), own.num_rows()));
            self.waiting = self.waiting.saturating_add(own.get_array_memory_size());
            self.batches.push(own);
            if self.rows >= BATCH_ROWS || self.waiting >= MOST_WAITING {
                self.flush(part)?;
            }
        }
        Ok(())
    }

    /// Writes the rows that are left.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn finish(mut self, part: &mut Part) -> Result<(), Error> {
        self.flush(part)
    }

    fn flush(&mut self, part: &mut Part) -> Result<(), Error> {
        let (batches, texts) = (std::mem::take(&mut self.batches), std::mem::take(&mut self.texts));
        let columns = self.layout.table.columns();
        self.waiting = 0;
        part.write(std::mem::take(&mut self.rows), &|place| match columns.get(place) {
            Some(column) => merged(column.kind, &batches, place),
            None => repeated(&texts, place - columns.len()),
        })
    }
}

/// The table's own columns of a batch; `None` where it lacks one, or has it in another type.
fn own_columns(layout: &Layout, batch: &RecordBatch) -> Option<RecordBatch> {
    let schema = batch.schema();
    let places = layout.table.columns().iter().map(|column| {
        let (place, field) = schema.column_with_name(column.name)?;
        (*field.data_type() == column.kind.data_type()).then_some(place)
    });
    batch.project(&places.collect::<Option<Vec<usize>>>()?).ok()
}

/// A column of all batches.
fn merged(kind: Kind, batches: &[RecordBatch], place: usize) -> Result<ArrayRef, ArrowError> {
    fn numbers<T: ArrowPrimitiveType>(batches: &[RecordBatch], place: usize) -> PrimitiveArray<T> {
        batches.iter().flat_map(|batch| batch.column(place).as_primitive::<T>().iter()).collect()
    }
    Ok(match kind {
        Kind::Text => return texts(batches, place),
        Kind::Integer => Arc::new(numbers::<Int64Type>(batches, place)),
        Kind::Address => Arc::new(numbers::<UInt64Type>(batches, place)),
        Kind::Real => Arc::new(numbers::<Float64Type>(batches, place)),
        Kind::Flag => {
            Arc::new(batches.iter().flat_map(|batch| batch.column(place).as_boolean().iter()).collect::<BooleanArray>())
        }
        Kind::Instant => Arc::new(numbers::<TimestampMicrosecondType>(batches, place).with_timezone("UTC")),
        Kind::Map => return maps(batches, place),
        Kind::List => return lists(batches, place),
    })
}

/// A column of maps of all batches.
fn maps(batches: &[RecordBatch], place: usize) -> Result<ArrayRef, ArrowError> {
    let mut all = map_builder();
    for batch in batches {
        let column = batch.column(place).as_map();
        let texts = |array: &ArrayRef| array.as_string_opt::<i32>().cloned();
        let (names, values) = texts(column.keys()).zip(texts(column.values())).ok_or_else(not_texts)?;
        for (row, ends) in column.value_offsets().windows(2).enumerate() {
            if let [from, to] = *ends {
                for entry in from as usize..to as usize {
                    all.keys().append_value(names.value(entry));
                    all.values().append_option(values.is_valid(entry).then(|| values.value(entry)));
                }
            }
            all.append(column.is_valid(row))?;
        }
    }
    Ok(Arc::new(all.finish()))
}

/// A column of lists of all batches.
fn lists(batches: &[RecordBatch], place: usize) -> Result<ArrayRef, ArrowError> {
    let mut all = list_builder();
    for batch in batches {
        let column = batch.column(place).as_list::<i32>();
        let texts = column.values().as_string_opt::<i32>().ok_or_else(not_texts)?;
        for (row, ends) in column.value_offsets().windows(2).enumerate() {
            if let [from, to] = *ends {
                (from as usize..to as usize).for_each(|entry| all.values().append_value(texts.value(entry)));
            }
            all.append(column.is_valid(row));
        }
    }
    Ok(Arc::new(all.finish()))
}

fn not_texts() -> ArrowError {
    ArrowError::SchemaError("a map or list of something else".into())
}

/// A column of texts of all batches: each different text gets one number.
fn texts(batches: &[RecordBatch], place: usize) -> Result<ArrayRef, ArrowError> {
    let mut numbers: FastMap<&str, i32> = FastMap::default();
    let mut all: Vec<&str> = Vec::new();
    let mut keys: Vec<Option<i32>> = Vec::new();
    for batch in batches {
        let column: &DictionaryArray<Int32Type> = batch.column(place).as_dictionary();
        let of_batch = column.values().as_string_opt::<i32>();
        let of_batch = of_batch.ok_or_else(|| ArrowError::SchemaError("a dictionary of something else".into()))?;
        let mut here: Vec<Option<i32>> = vec![None; of_batch.len()];
        for key in column.keys() {
            let number = key.and_then(|key| {
                let known = here.get_mut(usize::try_from(key).ok()?)?;
                if known.is_none() {
                    let text = of_batch.value(key as usize);
                    let next = i32::try_from(all.len()).ok()?;
                    let number = *numbers.entry(text).or_insert(next);
                    if number == next {
                        all.push(text);
                    }
                    *known = Some(number);
                }
                *known
            });
            keys.push(number);
        }
    }
    // Offsets of texts have 31 bits.
    let bytes = all.iter().map(|text| text.len()).fold(0, usize::saturating_add);
    i32::try_from(bytes).map_err(|_| ArrowError::OffsetOverflowError(bytes))?;
    dictionary(Int32Array::from(keys), Arc::new(StringArray::from_iter_values(all)))
}

/// A further column: the same text in all rows of a file.
fn repeated(texts: &[(Vec<Option<String>>, usize)], place: usize) -> Result<ArrayRef, ArrowError> {
    let mut numbers: FastMap<&str, i32> = FastMap::default();
    let mut all: Vec<&str> = Vec::new();
    let mut keys: Vec<Option<i32>> = Vec::new();
    for (values, rows) in texts {
        let number = values.get(place).and_then(Option::as_deref).map(|text| {
            let next = all.len() as i32; // a row group has fewer rows
            let number = *numbers.entry(text).or_insert(next);
            if number == next {
                all.push(text);
            }
            number
        });
        keys.extend(std::iter::repeat_n(number, *rows));
    }
    dictionary(Int32Array::from(keys), Arc::new(StringArray::from_iter_values(all)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::arrow::ArrowWriter;
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;

    #[test]
    fn a_file_that_unpacks_to_far_more_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let written = |name: &str, text: &str| {
            let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let batch = RecordBatch::try_from_iter([("text", column)]).unwrap();
            let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default()));
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            path
        };
        let small = written("small.parquet", "text");
        assert_eq!(reader(&small).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
        let bomb = written("bomb.parquet", &"a".repeat(8 << 20));
        assert!(std::fs::metadata(&bomb).unwrap().len() < 16_384);
        let Err(Error::Unreadable { source, .. }) = reader(&bomb) else { panic!("it is read") };
        assert!(source.to_string().contains("more than 200 times its size"), "{source}");
    }
}
