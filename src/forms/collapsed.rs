//! Collapsed stacks, as flame graph programs read them: the cells of each record, with blanks between them, and no heading.

use crate::analysis::table::Value;
use crate::answer::Answer;
use crate::escape::visible;
use crate::forms::cells::plain;
use std::io::{self, Write};

/// Writes the records of an answer.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    answer.tables.iter().try_for_each(|rows| rows.records.each(|record| one(record, out)))
}

fn one(record: &[Value], out: &mut dyn Write) -> io::Result<()> {
    for (number, value) in record.iter().enumerate() {
        let blank = if number > 0 { " " } else { "" };
        write!(out, "{blank}{}", visible(&plain(value)))?;
    }
    writeln!(out)
}
