//! Comma-separated values (RFC 4180).

use crate::analysis::table::{Forms, Table};
use crate::escape::visible;
use crate::forms::cells::{plain, written};
use std::io::{self, Write};

/// Fields of this form.
const WRITTEN: [Forms; 3] = [Forms::All, Forms::Csv, Forms::Alone];

/// Writes the records of tables with the same fields; without the heading they continue what was written.
///
/// # Errors
/// What the writer says.
pub fn tables(out: &mut dyn Write, tables: &[Table], has_heading: bool) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let fields = tables.first().into_iter().flat_map(|table| &table.fields);
    let names: Vec<&str> = fields.filter(|field| WRITTEN.contains(&field.forms)).map(|field| field.name).collect();
    if has_heading && !names.is_empty() {
        csv.write_record(names)?;
    }
    for table in tables {
        for record in &table.records {
            for (_, value) in written(&table.fields, record, &WRITTEN) {
                csv.write_field(plain(value).as_bytes())?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
    }
    csv.flush()
}

/// Appends one field, with the quotes that it needs.
pub(super) fn field(out: &mut Vec<u8>, text: &str) {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if writer.write_record([visible(text).as_bytes()]).is_ok()
        && let Ok(mut line) = writer.into_inner()
    {
        line.pop(); // the line's end
        out.append(&mut line);
    }
}
