//! Comma-separated values (RFC 4180).

use crate::analysis::table::{Field, Forms, Value};
use crate::answer::Rows;
use crate::escape::visible;
use crate::forms::cells::{plain, written};
use std::borrow::Cow;
use std::io::{self, Write};

/// Fields of this form.
const WRITTEN: [Forms; 3] = [Forms::All, Forms::Csv, Forms::Alone];

/// What a cell may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cells {
    /// Any text.
    #[default]
    Plain,
    /// No formula: spreadsheets calculate a text that begins with `=`, `+`, `-` or `@`. It gets a `'` before it.
    Safe,
}

impl Cells {
    fn shown(self, text: Cow<'_, str>) -> Cow<'_, str> {
        let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
        match self == Cells::Safe && is_formula {
            true => Cow::Owned(format!("'{text}")),
            false => text,
        }
    }
}

/// Writes records with the same fields, below a heading.
///
/// # Errors
/// What the writer says.
pub(crate) fn rows(out: &mut dyn Write, rows: &[Rows<'_>], cells: Cells) -> io::Result<()> {
    let mut csv = Records::new(out, cells);
    rows.first().map_or(Ok(()), |first| csv.heading(&first.records.fields))?;
    rows.iter().try_for_each(|rows| rows.records.each(|record| csv.record(&rows.records.fields, record)))?;
    csv.finish()
}

/// Writes records one by one.
pub(super) struct Records<'o> {
    csv: csv::Writer<&'o mut dyn Write>,
    cells: Cells,
}

impl<'o> Records<'o> {
    pub(super) fn new(out: &'o mut dyn Write, cells: Cells) -> Records<'o> {
        Records { csv: csv::Writer::from_writer(out), cells }
    }

    pub(super) fn heading(&mut self, fields: &[Field]) -> io::Result<()> {
        let names: Vec<&str> = fields.iter().filter(|f| WRITTEN.contains(&f.forms)).map(|field| field.name).collect();
        if names.is_empty() { Ok(()) } else { Ok(self.csv.write_record(names)?) }
    }

    pub(super) fn record(&mut self, fields: &[Field], record: &[Value]) -> io::Result<()> {
        for (_, value) in written(fields, record, &WRITTEN) {
            self.csv.write_field(self.cells.shown(plain(value)).as_bytes())?;
        }
        Ok(self.csv.write_record(None::<&[u8]>)?)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

/// Writes one line of texts.
pub(super) fn line(out: &mut Vec<u8>, texts: &[String], cells: Cells) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for text in texts {
        writer.write_field(cells.shown(visible(text)).as_bytes())?;
    }
    writer.write_record(None::<&[u8]>)?;
    writer.flush()
}

/// Appends one field, with the quotes that it needs.
pub(super) fn field(out: &mut Vec<u8>, text: &str, cells: Cells) {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if writer.write_record([cells.shown(visible(text)).as_bytes()]).is_ok()
        && let Ok(mut line) = writer.into_inner()
    {
        line.pop(); // the line's end
        out.append(&mut line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_texts_and_numbers_stay() {
        let safe = |text: &str| Cells::Safe.shown(Cow::Borrowed(text)).into_owned();
        for text in ["=1+1", "+x", "-x (4)", "@SUM(A1)", " =x"] {
            assert_eq!(safe(text), format!("'{text}"));
            assert_eq!(Cells::Plain.shown(Cow::Borrowed(text)), text);
        }
        for text in ["", "-12", "+1.5", "-1e3", "a=b", "'x"] {
            assert_eq!(safe(text), text);
        }
    }
}
