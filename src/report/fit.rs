//! Texts fitted to widths: in a column of a table, on a line of a terminal. Wide characters take two columns.

use crate::analysis::table::{Column, Fit};
use crate::report::text;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The cells of a row that are shown, cut to their widths, or on several lines where texts continue.
pub fn lines(row: &[String], columns: &[Column], shown: &[(usize, usize)]) -> Vec<Vec<String>> {
    let cells: Vec<Vec<String>> = (shown.iter())
        .map(|&(index, width)| {
            let cell = row.get(index).map_or("", String::as_str);
            match columns.get(index).map(|column| column.fit) {
                Some(Fit::Wraps) => text::wrap(cell, width).iter().map(|part| part.to_string()).collect(),
                _ => vec![cut(cell, width)],
            }
        })
        .collect();
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..count).map(|line| cells.iter().map(|cell| cell.get(line).cloned().unwrap_or_default()).collect()).collect()
}

/// A text cut to at most `most` columns. Its beginning and its end are kept, because paths differ at their end.
pub fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let end = (most.saturating_sub(1)) * 2 / 3;
    let begin = most.saturating_sub(1) - end;
    let tail: String = text.chars().rev().collect();
    let tail: String = first(&tail, end).chars().rev().collect();
    format!("{}…{tail}", first(text, begin))
}

/// The longest beginning of the text that takes at most `width` columns.
pub fn first(text: &str, width: usize) -> &str {
    let mut left = width;
    let end = text.char_indices().find(|(_, c)| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Passes text on and continues lines that are wider than `width` on the next line, indented. Tables fit by themselves; this
/// is for headings and notes, whose length depends on the trace.
pub struct Fitted<'o> {
    out: &'o mut dyn Write,
    width: usize,
    line: Vec<u8>,
}

impl<'o> Fitted<'o> {
    /// Writes to `out`.
    pub fn new(out: &'o mut dyn Write, width: u16) -> Fitted<'o> {
        Fitted { out, width: width.into(), line: Vec::new() }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        // A text takes at most as many columns as it has bytes. Color codes take none.
        if line.len() <= self.width || textwrap::core::display_width(&line) <= self.width {
            self.out.write_all(line.as_bytes())?;
        } else {
            let indent = " ".repeat(line.len() - line.trim_start_matches(' ').len() + 2);
            let options = textwrap::Options::new(self.width)
                .subsequent_indent(&indent)
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            self.out.write_all(textwrap::fill(&line, options).as_bytes())?;
        }
        self.line.clear();
        Ok(())
    }
}

impl Write for Fitted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(part) => {
                    self.line.extend_from_slice(part);
                    self.end_line()?;
                    self.out.write_all(b"\n")?;
                }
                None => self.line.extend_from_slice(part),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_continue_keep_each_character() {
        let all = [Column::number("n"), Column::text("name").fit(Fit::Wraps)];
        let row = ["7".to_owned(), "Memory: VirtualAllocDCStart (VA-DCStart)".to_owned()];
        let parts = lines(&row, &all, &[(0, 1), (1, 20)]);
        assert_eq!(parts, [["7", "Memory:"], ["", "VirtualAllocDCStart"], ["", "(VA-DCStart)"]]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(cut("記録記録記録", 7), "記…記録");
        assert_eq!(first("記録", 3), "記");
    }

    #[test]
    fn long_lines_continue_indented() {
        let mut out = Vec::new();
        let mut fitted = Fitted::new(&mut out, 12);
        write!(fitted, "short\n  one two three four\n\u{1b}[1mbold, 記録記録\u{1b}[0m\n{}\nend", "x".repeat(15))
            .unwrap();
        fitted.flush().unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..4], ["short", "  one two", "    three", "    four"]);
        assert_eq!(lines[4..6], ["\u{1b}[1mbold,", "  記録記録\u{1b}[0m"]);
        assert_eq!(lines[6..], ["xxxxxxxxxx", "  xxxxx", "end"]);
    }
}
