//! The files of one table: a batch becomes a row group of a Parquet file, an Arrow file of its own, or lines of CSV.

use crate::analysis::export::Columns;
use crate::analysis::export::arrow_schema::Layout;
use crate::analysis::export::schema::{Column, Kind};
use crate::dataset::csv;
use crate::dataset::format::Format;
use crate::dataset::text_column::TextColumn;
use crate::error::Error;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table's files that are being written.
pub struct Part {
    layout: Layout,
    folder: PathBuf,
    format: Format,
    form: Form,
    /// Files so far.
    files: u32,
    /// Rows so far.
    rows: u64,
}

/// The column that says whose a row is, in files with rows of several traces.
pub const TRACE_COLUMN: &str = "trace";

/// The name of a file of a table.
pub fn file_name(number: u32, format: Format) -> String {
    format!("part-{number}.{}", format.name())
}

/// The number and the form in such a name; `None` for any other name.
pub fn of_file_name(name: &str) -> Option<(u32, Format)> {
    let (number, format) = name.strip_prefix("part-")?.split_once('.')?;
    let (number, format) = (number.parse().ok()?, Format::of_name(format)?);
    (file_name(number, format) == name).then_some((number, format))
}

/// True for a file that is no link.
pub fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

/// True where such a file ends as one of this form does: one that a full disk cut, or a copy that broke off, is none.
pub fn is_whole(path: &Path, format: Format) -> bool {
    let end: &[u8] = match format {
        Format::Parquet => b"PAR1",
        Format::Arrow => b"ARROW1",
        Format::Csv => b"\n",
    };
    let last = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-(end.len() as i64)))?;
        let mut last = Vec::new();
        file.take(end.len() as u64).read_to_end(&mut last)?;
        Ok(last)
    };
    is_there(path) && last().is_ok_and(|last| last == end)
}

enum Form {
    Parquet(Box<Parquet>),
    Arrow,
    Csv(Box<::csv::Writer<File>>),
}

struct Parquet {
    writer: SerializedFileWriter<BufWriter<File>>,
    factory: ArrowRowGroupWriterFactory,
    groups: usize,
}

impl Part {
    /// Begins the files of a table in a folder, where they must not be yet.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn new(layout: Layout, folder: &Path, format: Format) -> Result<Part, Error> {
        std::fs::create_dir_all(folder).map_err(Error::not_written(folder))?;
        let path = folder.join(file_name(0, format));
        // Never over a file that is there: its rows would be lost.
        let create = || File::create_new(&path).map_err(Error::not_written(&path));
        let form = match format {
            Format::Parquet => {
                Form::Parquet(Box::new(Parquet::new(&layout, create()?).map_err(|error| at(&path, error))?))
            }
            Format::Arrow => Form::Arrow,
            Format::Csv => {
                let mut writer = ::csv::Writer::from_writer(create()?);
                writer.write_record(layout.names()).map_err(|error| at(&path, error))?;
                Form::Csv(Box::new(writer))
            }
        };
        let files = if format == Format::Arrow { 0 } else { 1 };
        Ok(Part { layout, folder: folder.to_path_buf(), format, form, files, rows: 0 })
    }

    /// Path of the file that is being written.
    fn path(&self) -> PathBuf {
        self.folder.join(file_name(self.files.saturating_sub(1), self.format))
    }

    /// Adds a batch.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn write(&mut self, rows: usize, column: &Columns<'_>) -> Result<(), Error> {
        self.rows += rows as u64;
        if let Form::Arrow = self.form {
            // A file of Arrow has one dictionary for each column, a batch its own.
            self.files += 1;
        }
        let path = self.path();
        match &mut self.form {
            Form::Parquet(parquet) if rows > 0 => parquet.write(&self.layout, column).map_err(|error| at(&path, error)),
            Form::Parquet(_) => Ok(()),
            Form::Arrow => {
                let batch = batch(&self.layout, column).map_err(|error| at(&path, error))?;
                let file = File::create_new(&path).map_err(Error::not_written(&path))?;
                write_arrow(&batch, file).map_err(|error| at(&path, error))
            }
            Form::Csv(writer) => {
                let batch = batch(&self.layout, column).map_err(|error| at(&path, error))?;
                csv::write(writer, &batch).map_err(|error| at(&path, error))
            }
        }
    }

    /// Writes what is left; the files are whole then. Returns their number and the rows.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn finish(mut self) -> Result<(u32, u64), Error> {
        if let Form::Arrow = self.form
            && self.files == 0
        {
            let empty = RecordBatch::new_empty(self.layout.schema());
            self.write(0, &|place| Ok(ArrayRef::clone(empty.column(place))))?;
        }
        let path = self.path();
        match self.form {
            Form::Parquet(parquet) => parquet.finish().map_err(|error| at(&path, error))?,
            Form::Arrow => {}
            Form::Csv(mut writer) => writer.flush().map_err(Error::not_written(&path))?,
        }
        Ok((self.files, self.rows))
    }
}

/// The error of a writer, with the system's own error where that is the cause.
fn at(path: &Path, error: impl Into<io::Error>) -> Error {
    Error::NotWritten { path: path.to_path_buf(), source: error.into() }
}

/// Errors of all writers become those of the system.
struct Wrapped(io::Error);

impl From<Wrapped> for io::Error {
    fn from(wrapped: Wrapped) -> io::Error {
        wrapped.0
    }
}

impl From<ParquetError> for Wrapped {
    fn from(error: ParquetError) -> Wrapped {
        Wrapped(match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(cause) => io::Error::other(cause),
            },
            error => io::Error::other(error),
        })
    }
}

impl From<arrow_schema::ArrowError> for Wrapped {
    fn from(error: arrow_schema::ArrowError) -> Wrapped {
        Wrapped(match error {
            arrow_schema::ArrowError::IoError(_, error) => error,
            error => io::Error::other(error),
        })
    }
}

impl From<io::Error> for Wrapped {
    fn from(error: io::Error) -> Wrapped {
        Wrapped(error)
    }
}

/// All columns of a batch.
fn batch(layout: &Layout, column: &Columns<'_>) -> Result<RecordBatch, Wrapped> {
    let columns = (0..layout.count()).into_par_iter().map(column);
    Ok(RecordBatch::try_new(layout.schema(), columns.collect::<Result<_, _>>()?)?)
}

fn write_arrow(batch: &RecordBatch, file: File) -> Result<(), Wrapped> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
    let mut writer = FileWriter::try_new_with_options(BufWriter::new(file), &batch.schema(), options)?;
    writer.write(batch)?;
    writer.finish()?;
    Ok(writer.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error).map(drop)?)
}

/// How columns are compressed.
fn level() -> ZstdLevel {
    ZstdLevel::try_new(1).unwrap_or_default()
}

/// True for columns by which rows are sorted: with the least and the greatest text of each page, readers can skip pages.
/// Of other texts a page has nearly all values.
fn is_sorted_by(column: &Column) -> bool {
    column.kind == Kind::Text && matches!(column.name, "process" | "category")
}

/// How the columns of a table are stored that are no texts.
fn properties(layout: &Layout) -> WriterProperties {
    let stated = layout.metadata().into_iter().map(|(key, text)| KeyValue::new(key, text)).collect();
    let all = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level()))
        .set_created_by(concat!("pfnset ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(stated))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(None);
    let stored = |all: parquet::file::properties::WriterPropertiesBuilder, column: &Column| {
        let path = ColumnPath::from(column.name);
        match (column.kind, column.name) {
            // Different in each row, or few small numbers: a dictionary of them takes longer and saves nothing.
            (Kind::Integer, "pfn" | "file_offset" | "base" | "snapshot" | "instance" | "session" | "priority")
            | (Kind::Address, _) => all
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            _ => all,
        }
    };
    layout.table.columns().iter().fold(all, stored).build()
}

/// Columns in the file that a column is.
fn stored_columns(field: &Field) -> usize {
    if matches!(field.data_type(), DataType::Map(..)) { 2 } else { 1 }
}

/// An encoded column.
enum Chunk {
    Texts(TextColumn),
    Other(ArrowColumnChunk),
}

impl Parquet {
    fn new(layout: &Layout, file: File) -> Result<Parquet, Wrapped> {
        // The descriptions are in the file's own metadata; the schema that Arrow adds need not repeat them.
        let schema = Arc::new(Schema::new(layout.schema().fields().clone()));
        let writer = ArrowWriter::try_new(BufWriter::new(file), schema, Some(properties(layout)))?;
        let (writer, factory) = writer.into_serialized_writer()?;
        Ok(Parquet { writer, factory, groups: 0 })
    }

    /// A batch becomes a row group; its columns are made and encoded in parallel, each in memory only for that time.
    fn write(&mut self, layout: &Layout, column: &Columns<'_>) -> Result<(), Wrapped> {
        let (schema, stored) = (layout.schema(), self.writer.schema_descr().columns().to_vec());
        let mut writers = self.factory.create_column_writers(self.groups)?.into_iter();
        let mut first = 0;
        // Of a map, names and values are two columns in the file.
        let columns = schema.fields().iter().enumerate().map(|(place, field)| {
            let writers: Vec<ArrowColumnWriter> = writers.by_ref().take(stored_columns(field)).collect();
            first += writers.len();
            (place, first - writers.len(), writers)
        });
        let columns: Vec<_> = columns.collect();
        let encode = |(place, first, writers): (usize, usize, Vec<ArrowColumnWriter>)| -> Result<Vec<Chunk>, Wrapped> {
            let array = column(place)?;
            if let (Some(texts), Some(descriptor)) = (array.as_dictionary_opt::<Int32Type>(), stored.get(first)) {
                let is_trace = layout.names().nth(place) == Some(TRACE_COLUMN);
                let statistics = is_trace || layout.table.columns().get(place).is_some_and(is_sorted_by);
                return Ok(vec![Chunk::Texts(TextColumn::new(descriptor, texts, statistics, level())?)]);
            }
            let leaves = compute_leaves(schema.field(place), &array)?;
            let written = writers.into_iter().zip(leaves).map(|(mut writer, leaf)| {
                writer.write(&leaf)?;
                Ok(Chunk::Other(writer.close()?))
            });
            written.collect()
        };
        let chunks: Vec<Result<Vec<Chunk>, Wrapped>> = columns.into_par_iter().with_max_len(1).map(encode).collect();
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks {
            for chunk in chunk? {
                match chunk {
                    Chunk::Texts(chunk) => chunk.append_to_row_group(&mut group)?,
                    Chunk::Other(chunk) => chunk.append_to_row_group(&mut group)?,
                }
            }
        }
        group.close()?;
        self.groups += 1;
        Ok(())
    }

    fn finish(self) -> Result<(), Wrapped> {
        let file = self.writer.into_inner()?;
        Ok(file.into_inner().map_err(io::IntoInnerError::into_error).map(drop)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::export::Sink;
    use crate::analysis::export::column_batches::{Cell, ColumnBatches};
    use crate::analysis::export::schema::Table;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::fs;
    use std::sync::Mutex;

    struct To(Mutex<Part>);

    impl Sink for To {
        fn write(&self, _: Table, rows: usize, column: &Columns<'_>) -> Result<(), Error> {
            self.0.lock().unwrap().write(rows, column)
        }
    }

    /// A table in batches of this number of rows.
    fn written(folder: &Path, format: Format, batches: &[i64]) -> Vec<String> {
        let to = To(Mutex::new(Part::new(Layout::of(Table::CpuWaits), folder, format).unwrap()));
        for (batch, rows) in batches.iter().enumerate() {
            let mut table = ColumnBatches::new(Table::CpuWaits, &to);
            for row in 0..*rows {
                let name = format!("process {batch}");
                let waits = Cell::Integer(row);
                table
                    .push([Cell::Text(&name), Cell::Integer(1), Cell::Text("Executive"), waits, Cell::Real(0.5)])
                    .unwrap();
            }
            table.finish().unwrap();
        }
        let (files, rows) = to.0.into_inner().unwrap().finish().unwrap();
        assert_eq!(rows, batches.iter().sum::<i64>() as u64);
        (0..files).map(|number| file_name(number, format)).collect()
    }

    #[test]
    fn names_of_parts_are_read_as_they_are_written() {
        assert_eq!(of_file_name(&file_name(17, Format::Arrow)), Some((17, Format::Arrow)));
        for name in
            ["part-", "part-0", "part-00.csv", "part-+1.csv", "part-0.csv/../x", "part-0.CSV", "authorized_keys"]
        {
            assert_eq!(of_file_name(name), None, "{name}");
        }
    }

    /// Names of processes, row by row.
    fn processes(batches: impl Iterator<Item = RecordBatch>) -> Vec<String> {
        let of_batch = |batch: RecordBatch| -> Vec<String> {
            let column = batch.column(0).as_dictionary::<Int32Type>().clone();
            let texts = column.downcast_dict::<arrow_array::StringArray>().unwrap();
            texts.into_iter().map(|text| text.unwrap().to_owned()).collect()
        };
        batches.flat_map(of_batch).collect()
    }

    #[test]
    fn batches_are_row_groups_files_or_lines() {
        let expected = ["process 0", "process 0", "process 1", "process 1", "process 1"];
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &String| File::open(folder.path().join(name)).unwrap();

        let names = written(folder.path(), Format::Parquet, &[2, 3]);
        assert_eq!(names, ["part-0.parquet"]);
        let reader = ParquetRecordBatchReaderBuilder::try_new(open(&names[0])).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        // Batches of the reader end with their row group, because each has a dictionary of its own.
        let groups = (0..2).map(|group| {
            let reader = ParquetRecordBatchReaderBuilder::try_new(open(&names[0])).unwrap();
            reader.with_row_groups(vec![group]).build().unwrap().next().unwrap().unwrap()
        });
        assert_eq!(processes(groups), expected);

        let names = written(folder.path(), Format::Arrow, &[2, 3]);
        assert_eq!(names, ["part-0.arrow", "part-1.arrow"]);
        let read = |name| arrow_ipc::reader::FileReader::try_new(open(name), None).unwrap();
        assert_eq!(processes(names.iter().flat_map(read).map(Result::unwrap)), expected);

        let names = written(folder.path(), Format::Csv, &[2, 3]);
        assert_eq!(names, ["part-0.csv"]);
        let text = fs::read_to_string(folder.path().join(&names[0])).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "process,thread,reason,waits,waiting_s");
        assert_eq!(
            (lines.len(), lines[1], lines[5]),
            (6, "process 0,1,Executive,0,0.5", "process 1,1,Executive,2,0.5")
        );
    }

    #[test]
    fn a_table_without_rows_has_its_columns_in_all_forms() {
        for (format, name) in
            [(Format::Parquet, "part-0.parquet"), (Format::Arrow, "part-0.arrow"), (Format::Csv, "part-0.csv")]
        {
            let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            assert_eq!(written(one.path(), format, &[0]), [name]);
            assert_eq!(written(other.path(), format, &[]), [name]);
            assert!(other.path().join(name).metadata().unwrap().len() > 0);
        }
    }

    #[test]
    fn no_part_comes_over_another() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), Format::Parquet, &[2]);
        let path = folder.path().join("part-0.parquet");
        let before = fs::read(&path).unwrap();
        assert!(Part::new(Layout::of(Table::CpuWaits), folder.path(), Format::Parquet).is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
