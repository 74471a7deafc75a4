//! Text tables: one look for all commands.

use crate::report::Style;
use crate::report::text::printable;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use std::io::{self, Write};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table under construction. Numbers never wrap: where the width is too small, optional columns go first, then long
/// labels are cut in the middle.
#[derive(Debug)]
pub struct TextTable {
    width: usize,
    titles: Vec<String>,
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Numbers of rows in front of which a rule is drawn.
    rules: Vec<usize>,
    /// Columns that may go, the first to go first.
    optional: Vec<usize>,
    /// Text columns that may be cut.
    flexible: Vec<usize>,
}

/// Narrowest that a column is cut to, characters.
const LEAST: usize = 28;
/// Blanks between columns.
const GAP: usize = 2;

impl TextTable {
    /// A table with these headings. The text columns can be cut.
    pub fn new(style: &Style, columns: &[(&str, Align)]) -> TextTable {
        let text = |(index, &(_, align)): (usize, &(&str, Align))| (align == Align::Left).then_some(index);
        TextTable {
            width: usize::from(style.width),
            titles: columns.iter().map(|&(title, _)| title.to_owned()).collect(),
            columns: columns.iter().map(|&(_, align)| align).collect(),
            rows: Vec::new(),
            rules: Vec::new(),
            optional: Vec::new(),
            flexible: columns.iter().enumerate().filter_map(text).collect(),
        }
    }

    /// Keeps a text column from being cut.
    pub fn keep_width(mut self, column: usize) -> Self {
        self.flexible.retain(|&other| other != column);
        self
    }

    /// Columns that may be left out where the width is small, by their headings, the first to go first.
    pub fn optional(mut self, titles: &[&str]) -> Self {
        let position = |title: &&str| self.titles.iter().position(|other| other == title);
        self.optional = titles.iter().filter_map(position).collect();
        self
    }

    /// Adds a row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell.to_string()).into_owned()).collect());
    }

    /// Adds a rule, before a total.
    pub fn rule(&mut self) {
        self.rules.push(self.rows.len());
    }

    /// Prints the table without trailing blanks.
    ///
    /// # Errors
    /// What the writer says.
    pub fn print(mut self, out: &mut dyn Write) -> io::Result<()> {
        let shown = self.fit();
        let mut table = Table::new();
        table
            .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
            .set_content_arrangement(ContentArrangement::Disabled);
        let cell = |text: &str, align: Align| Cell::new(text).set_alignment(alignment(align));
        let cells = |row: &[String]| -> Vec<Cell> {
            let all = row.iter().zip(&self.columns).enumerate();
            all.filter(|(index, _)| shown.contains(index)).map(|(_, (text, &align))| cell(text, align)).collect()
        };
        table.set_header(cells(&self.titles));
        self.rows.iter().for_each(|row| {
            table.add_row(cells(row));
        });
        for index in 0..shown.len() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((0, if index + 1 == shown.len() { 0 } else { 1 }));
            }
        }
        let lines: Vec<String> = table.lines().collect();
        let width = lines.iter().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        let head = lines.len() - self.rows.len(); // no cell has more than one line
        for (number, line) in lines.iter().enumerate() {
            if number >= head && self.rules.contains(&(number - head)) {
                writeln!(out, "{}", "─".repeat(width))?;
            }
            let line: String = line.trim_end().chars().take(width).collect();
            writeln!(out, "{line}")?;
        }
        let hidden: Vec<&str> = (self.titles.iter().enumerate())
            .filter_map(|(index, title)| (!shown.contains(&index)).then_some(title.as_str()))
            .collect();
        if hidden.is_empty() { Ok(()) } else { writeln!(out, "Not shown, for want of width: {}", hidden.join(", ")) }
    }

    /// Leaves out columns and cuts texts until the table fits; gives the columns that are left.
    fn fit(&mut self) -> Vec<usize> {
        let natural: Vec<usize> = (self.titles.iter().enumerate())
            .map(|(index, title)| {
                let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
                cells.max().unwrap_or(0).max(title.chars().count())
            })
            .collect();
        let mut shown: Vec<usize> = (0..self.titles.len()).collect();
        let total = |shown: &[usize], least: bool| -> usize {
            let width = |&index: &usize| {
                let natural = natural.get(index).copied().unwrap_or(0);
                GAP + if least && self.flexible.contains(&index) { natural.min(LEAST) } else { natural }
            };
            shown.iter().map(width).sum::<usize>().saturating_sub(GAP)
        };
        for column in &self.optional {
            if total(&shown, true) <= self.width {
                break;
            }
            shown.retain(|other| other != column);
        }
        let mut excess = total(&shown, false).saturating_sub(self.width);
        // The widest text gives most; labels come first, so later columns are cut before them.
        for &index in self.flexible.iter().rev() {
            let natural = natural.get(index).copied().unwrap_or(0);
            let give = excess.min(natural.saturating_sub(LEAST));
            if give > 0 && shown.contains(&index) {
                excess -= give;
                let rows = self.rows.iter_mut().chain(std::iter::once(&mut self.titles));
                rows.filter_map(|row| row.get_mut(index)).for_each(|cell| *cell = cut(cell, natural - give));
            }
        }
        shown
    }
}

/// A text of at most `most` characters: its begin and its end, which tells files apart.
fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let end = (most.saturating_sub(1)) * 2 / 3;
    let begin = most.saturating_sub(1) - end;
    let head: String = text.chars().take(begin).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{head}…{tail}")
}

const fn alignment(align: Align) -> CellAlignment {
    match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(width: u16, optional: &[&str]) -> String {
        let columns = [("Name", Align::Left), ("Pages", Align::Right), ("Share", Align::Right)];
        let mut table = TextTable::new(&Style { width }, &columns).optional(optional);
        table.row(["a long label that does not end before it is cut", "1,234", "99.0 %"]);
        table.rule();
        table.row(["Total", "7", "1.0 %"]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn labels_are_cut_in_the_middle_and_numbers_never() {
        let text = printed(45, &[]);
        assert!(text.lines().all(|line| line.chars().count() <= 45), "{text}");
        assert!(text.contains("…") && text.contains("it is cut  1,234"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with('─')).count(), 2);
    }

    #[test]
    fn optional_columns_go_before_labels_become_unreadable() {
        let text = printed(40, &["Share"]);
        assert!(!text.contains("99.0 %") && text.contains("1,234"), "{text}");
        assert!(text.ends_with("\nNot shown, for want of width: Share\n"), "{text}");
        assert!(printed(100, &["Share"]).contains("Share"));
    }
}
