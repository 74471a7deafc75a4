//! Forms. Each [`Form`] writes any [`Answer`]; the HTML report, JUnit and files of budgets have content of their own. Widths, glyphs,
//! colors and rounding are decided here alone, and text from outside is made harmless ([`escape`](crate::escape)) where a form
//! writes it.

pub(crate) mod aligned_table;
pub(crate) mod arrow;
pub(crate) mod ascii_stand_ins;
pub(crate) mod bar;
pub(crate) mod budgets;
mod cells;
mod collapsed;
pub(crate) mod column_widths;
pub mod csv;
pub(crate) mod event_rows;
mod firefox;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod line_wrapping;
pub(crate) mod many_traces;
pub(crate) mod markdown;
pub mod pages;
mod sparkline;
mod styling;
pub(crate) mod text;

pub use styling::Look;

use crate::answer::Answer;
use std::io::{self, Write};

/// The forms in which any answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The cells of each record, a blank between them: stacks with their counts, for programs that draw flame graphs.
    Collapsed,
    /// The profile of an answer, for the viewer of Firefox.
    Firefox,
}

/// Writes an answer.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text(look) => text::write(answer, look, out)?,
        Form::Json => json::object(answer, out)?,
        Form::Csv(cells) => csv::rows(out, &answer.tables, cells)?,
        Form::JsonLines => json::lines(out, &answer.tables)?,
        Form::Markdown => markdown::write(answer, out)?,
        Form::Collapsed => collapsed::write(answer, out)?,
        Form::Firefox => firefox::write(answer, out)?,
    }
    out.flush()
}
