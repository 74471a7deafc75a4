//! Texts on lines of a width: paragraphs, and what continues on the next line.

use crate::escape::visible;
use std::borrow::Cow;
use std::io::{self, Write};

/// A line that keeps its indent where it is broken.
pub(super) fn paragraph(out: &mut dyn Write, text: &str, width: usize) -> io::Result<()> {
    let text = visible(text);
    let start = text.trim_start_matches(' ');
    let indent = text.len() - start.len();
    wrap(start, width.saturating_sub(indent)).iter().try_for_each(|part| writeln!(out, "{:indent$}{part}", ""))
}

/// Names the columns of a table that were left out, if any.
///
/// # Errors
/// What the writer says.
pub fn not_shown(out: &mut dyn Write, columns: &[impl AsRef<str>], width: u16) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let names = columns.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    paragraph(out, &format!("Not shown, for lack of width: {names}"), width.into())
}

/// A text that continues on the next lines, indented.
///
/// # Errors
/// What the writer says.
pub fn wrapped(out: &mut dyn Write, text: &str, width: u16) -> io::Result<()> {
    let mut indent = "";
    for part in wrap(text, usize::from(width).saturating_sub(2)) {
        writeln!(out, "{indent}{part}")?;
        indent = "  ";
    }
    Ok(())
}

/// Breaks a text into lines at blanks; a word longer than a line is continued on the next.
pub fn wrap(text: &str, width: usize) -> Vec<Cow<'_, str>> {
    let options = textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_at_blanks() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("aaaaaaaa b", 5), ["aaaaa", "aaa b"]);
    }
}
