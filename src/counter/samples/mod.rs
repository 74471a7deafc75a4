//! Files of raw samples: comma-separated values with a heading line, one row for each sample of a counter.
//!
//! Rows with the same name and type are successive samples of one counter; other rows may stand between them.

mod columns;
mod raw;
mod series;

use crate::error::Error;
use columns::{SampleColumn, SampleColumns};
use csv::ByteRecord;
pub use raw::RawSample;
pub use series::{SampleRow, Series};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Reads a file of samples and calculates each.
///
/// # Errors
/// [`Error::Unreadable`], and [`Error::NotSamples`] with the line and the column.
pub fn read_file(path: &Path) -> Result<Series, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    match path.as_os_str() == "-" {
        true => read(io::stdin().lock(), path),
        false => read(BufReader::new(File::open(path).map_err(unreadable)?), path),
    }
}

/// Reads samples from anywhere; `path` is named in errors.
///
/// # Errors
/// As [`read_file`].
pub fn read(mut input: impl BufRead, path: &Path) -> Result<Series, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    // PowerShell writes UTF-16 with `-Encoding Unicode`, and a mark before UTF-8.
    let start: Vec<u8> = input.fill_buf().map_err(unreadable)?.iter().copied().take(3).collect();
    match start[..] {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes).map_err(unreadable)?;
            rows(wide_text(&bytes).as_bytes(), path)
        }
        [0xef, 0xbb, 0xbf] => {
            input.consume(3);
            rows(input, path)
        }
        _ => rows(input, path),
    }
}

/// UTF-16 after its mark. What is no text becomes U+FFFD, which no number has.
fn wide_text(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let little = bytes.first() == Some(&0xff);
    let units = units.iter().map(|&unit| if little { u16::from_le_bytes(unit) } else { u16::from_be_bytes(unit) });
    char::decode_utf16(units.skip(1)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Longest line of headings: what never ends is no table.
const HEADING_BYTES: u64 = 1 << 20;
/// Lines before the heading that Windows PowerShell writes: `#TYPE Microsoft.PowerShell…`.
const TYPE_LINE: &[u8] = b"#TYPE";

fn rows(mut input: impl BufRead, path: &Path) -> Result<Series, Error> {
    let place = SourceLine { path, lines_before: 0, lines_read: Cell::default() };
    let mut heading = first_line(&mut input, &place)?;
    let lines_before = u64::from(heading.starts_with(TYPE_LINE));
    if lines_before > 0 {
        heading = first_line(&mut input, &place)?;
    }
    let place = SourceLine { path, lines_before, lines_read: Cell::default() };
    let delimiter = delimiter(&heading);
    let mut csv = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(heading.chain(input).chain(&b"\n"[..]));
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| {
        let is_record = csv.read_byte_record(record).map_err(|error| place.unreadable(error))?;
        place.lines_read.set(csv.position().line().saturating_sub(1));
        Ok(is_record)
    };
    if !next(&mut record)? {
        return Err(place.wrong(1, "the file is empty; expected a line of headings".into()));
    }
    let columns = SampleColumns::of_headings(&record).map_err(|reason| place.wrong(place.line(&record), reason))?;
    let mut series = Series::default();
    while next(&mut record)? {
        let wrong = |(column, reason): (SampleColumn, String)| {
            let heading = columns.heading(column);
            place.wrong(place.line(&record), format!("column {heading}: {reason}"))
        };
        if record.len() != columns.count() {
            let missing =
                columns.first_missing(&record).map_or(String::new(), |name| format!("; column {name} is missing"));
            let reason = format!("{} columns instead of {}{missing}", record.len(), columns.count());
            return Err(place.wrong(place.line(&record), reason));
        }
        let name = columns.name(&record);
        let counter_type = columns.counter_type(&record).map_err(wrong)?;
        series.push(&name, counter_type, &columns.sample(&record).map_err(wrong)?);
    }
    Ok(series)
}

/// The next line with its end; a file that begins with none is an error, before it is read to its end.
fn first_line(input: &mut impl BufRead, place: &SourceLine<'_>) -> Result<Vec<u8>, Error> {
    let mut line = Vec::new();
    let read = input.take(HEADING_BYTES).read_until(b'\n', &mut line);
    let length = read.map_err(|source| Error::Unreadable { path: place.path.to_owned(), source })?;
    match length as u64 == HEADING_BYTES {
        true => Err(place.wrong(1, format!("the line of headings is longer than {HEADING_BYTES} bytes"))),
        false => Ok(line),
    }
}

/// A comma, or what Excel and `Export-Csv -UseCulture` write in other countries.
fn delimiter(heading: &[u8]) -> u8 {
    let count = |delimiter: u8| heading.iter().filter(|&&byte| byte == delimiter).count();
    [b';', b'\t'].into_iter().fold(b',', |best, other| if count(other) > count(best) { other } else { best })
}

/// A line of a file, as messages name it.
struct SourceLine<'p> {
    path: &'p Path,
    lines_before: u64,
    /// Lines up to the end of the record that was read last. Where a record begins `csv` tells without the empty lines above it.
    lines_read: Cell<u64>,
}

impl SourceLine<'_> {
    fn line(&self, record: &ByteRecord) -> u64 {
        let more = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        (self.lines_before + self.lines_read.get()).saturating_sub(more)
    }

    fn wrong(&self, line: u64, reason: String) -> Error {
        Error::NotSamples { path: self.path.to_owned(), line, reason }
    }

    fn unreadable(&self, error: csv::Error) -> Error {
        let source = match error.into_kind() {
            csv::ErrorKind::Io(source) => source,
            other => io::Error::other(format!("{other:?}")),
        };
        Error::Unreadable { path: self.path.to_owned(), source }
    }
}
