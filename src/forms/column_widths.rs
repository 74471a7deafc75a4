//! Tables and texts fitted to widths: which columns are shown and how wide, texts in a column, lines of a terminal. Wide
//! characters take two columns.

use crate::analysis::table::{Align, Column, Fit};
use crate::forms::line_wrapping;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Narrowest that texts are cut to: as long as columns can be left out instead, and where none is left.
const LEAST: [usize; 2] = [28, 12];
/// Blanks between columns.
pub const GAP: usize = 2;

/// True for columns whose texts may be cut.
const fn shrinks(column: &Column) -> bool {
    matches!((column.align, column.fit), (Align::Left, Fit::Shrinks | Fit::Wraps | Fit::Leaves(_)))
}

/// A column's widest cell, and the widest word of texts that continue on the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Natural {
    /// Width of the widest cell.
    pub cell: usize,
    /// Width of the widest word that stays whole; 0 where texts are cut.
    pub word: usize,
}

/// Words that are wider than this may be broken: paths, mostly.
pub const WIDEST_WORD: usize = 40;

/// The least width of a column with these widths.
fn least_of(column: &Column, natural: Natural, least: usize) -> usize {
    // Below the usual least, nothing stays whole.
    let least = if least >= LEAST[0] { least.max(natural.word) } else { least };
    if shrinks(column) { natural.cell.min(least) } else { natural.cell }
}

/// Index and width of each column that is shown in `most` columns of text, where `natural` are the widths of the widest
/// cells: columns that may go are left out first, then labels are cut. Where numbers alone are too wide, the last
/// columns go.
pub fn fitting(columns: &[Column], natural: &[Natural], most: usize) -> Vec<(usize, usize)> {
    let mut shown: Vec<(usize, &Column, Natural)> =
        columns.iter().zip(natural).enumerate().map(|(index, (column, &width))| (index, column, width)).collect();
    let taken = |shown: &[(usize, &Column, Natural)], least| {
        let widths = shown.iter().map(|(_, column, width)| least_of(column, *width, least) + GAP);
        widths.sum::<usize>().saturating_sub(GAP)
    };
    let order = |(index, column): (usize, &Column)| match column.fit {
        Fit::Spare(order) => Some((false, order, index)),
        Fit::Leaves(order) => Some((true, order, index)),
        Fit::Stays | Fit::Shrinks | Fit::Wraps => None,
    };
    let mut leaving: Vec<(bool, u8, usize)> = columns.iter().enumerate().filter_map(order).collect();
    leaving.sort_unstable();
    for (is_missed, _, leaves) in leaving {
        // Less important columns are left out before anything is cut.
        if taken(&shown, if is_missed { LEAST[0] } else { usize::MAX }) > most {
            shown.retain(|(index, ..)| *index != leaves);
        }
    }
    while shown.len() > 1 && taken(&shown, LEAST[1]) > most {
        shown.pop();
    }
    let mut excess = taken(&shown, usize::MAX).saturating_sub(most);
    for least in LEAST {
        // Labels come first, so later columns are cut before them.
        for (_, column, width) in shown.iter_mut().rev() {
            let give = excess.min(width.cell.saturating_sub(least_of(column, *width, least)));
            excess -= give;
            width.cell -= give;
        }
    }
    shown.into_iter().map(|(index, _, width)| (index, width.cell)).collect()
}

/// The cells of a row that are shown, cut to their widths, or on several lines where texts continue.
pub fn lines(row: &[String], columns: &[Column], shown: &[(usize, usize)]) -> Vec<Vec<String>> {
    let cells: Vec<Vec<String>> = (shown.iter())
        .map(|&(index, width)| {
            let cell = row.get(index).map_or("", String::as_str);
            match columns.get(index).map(|column| column.fit) {
                Some(Fit::Wraps) => line_wrapping::wrap(cell, width).iter().map(|part| part.to_string()).collect(),
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

    #[test]
    fn columns_go_before_texts_become_unreadable_and_numbers_last() {
        let columns =
            ["a", "b", "c", "d"].map(|title| if title == "a" { Column::text(title) } else { Column::number(title) });
        let mut columns = columns.to_vec();
        columns[2].fit = Fit::Leaves(0);
        let natural = |word| [40, 9, 6, 9].map(|cell| Natural { cell, word });
        let shown = |width| fitting(&columns, &natural(0), width);
        assert_eq!(shown(100).len(), 4);
        assert_eq!(shown(60), [(0, 30), (1, 9), (2, 6), (3, 9)]);
        assert_eq!(shown(50), [(0, 28), (1, 9), (3, 9)], "the column that may go");
        assert_eq!(shown(40), [(0, 18), (1, 9), (3, 9)], "then the text");
        assert_eq!(shown(30), [(0, 19), (1, 9)], "then the last number");
        let shown = |width| fitting(&columns, &natural(32), width);
        assert_eq!(shown(62).len(), 4, "a word is whole");
        assert_eq!(shown(61), [(0, 39), (1, 9), (3, 9)], "before it is broken, the column that may go");
    }
}
