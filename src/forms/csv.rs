//! Comma-separated values (RFC 4180).

use crate::analysis::table::{Forms, Table};
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

/// Writes the records of tables with the same fields; without the heading they continue what was written.
///
/// # Errors
/// What the writer says.
pub(crate) fn tables(out: &mut dyn Write, tables: &[Table], has_heading: bool, cells: Cells) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let fields = tables.first().into_iter().flat_map(|table| &table.fields);
    let names: Vec<&str> = fields.filter(|field| WRITTEN.contains(&field.forms)).map(|field| field.name).collect();
    if has_heading && !names.is_empty() {
        csv.write_record(names)?;
    }
    for table in tables {
        for record in &table.records {
            for (_, value) in written(&table.fields, record, &WRITTEN) {
                csv.write_field(cells.shown(plain(value)).as_bytes())?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
    }
    csv.flush()
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
