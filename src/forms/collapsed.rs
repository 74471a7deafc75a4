//! Collapsed stacks, as flame graph programs read them: the cells of each record, with blanks between them, and no heading.

use crate::answer::Answer;
use crate::escape::visible;
use crate::forms::cells::plain;
use std::io::{self, Write};

/// Writes the records of an answer.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    for record in answer.tables.iter().flat_map(|table| &table.records) {
        for (number, value) in record.iter().enumerate() {
            let blank = if number > 0 { " " } else { "" };
            write!(out, "{blank}{}", visible(&plain(value)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
