//! Forms: each writes any [`Answer`]. Widths, glyphs, colors and rounding are decided here alone, and text from outside is made
//! harmless ([`escape`](crate::escape)) where a form writes it.

pub mod ascii;
pub mod bar;
pub mod budgets;
mod cells;
mod course;
pub mod csv;
pub mod each;
pub mod fit;
pub mod html;
pub mod json;
pub mod junit;
pub mod lines;
mod look;
pub mod markdown;
pub mod pages;
pub mod table;
pub mod text;

pub use look::Look;

use crate::answer::Answer;
use std::io::{self, Write};

/// The forms in which any answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Aligned text for a screen.
    Text(Look),
    /// One JSON object.
    Json,
    /// Comma-separated values with a heading line.
    Csv(csv::Cells),
    /// One JSON object on each line, with the fields of CSV.
    JsonLines,
    /// Markdown (GitHub's).
    Markdown,
}

/// Writes an answer.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text(look) => text::write(answer, look, out)?,
        Form::Json => json::object(answer, out)?,
        Form::Csv(cells) => csv::tables(out, &answer.tables, true, cells)?,
        Form::JsonLines => json::lines(out, &answer.tables)?,
        Form::Markdown => markdown::write(answer, out)?,
    }
    out.flush()
}
