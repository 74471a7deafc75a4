//! Text tables: one look for all commands.

use crate::report::Style;
use crate::report::text::printable;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
use std::io::{self, Write};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table under construction. The last column gets what is left of the width.
#[derive(Debug)]
pub struct TextTable {
    table: Table,
    columns: Vec<Align>,
    rules: Vec<usize>,
}

impl TextTable {
    /// A table with these headings.
    pub fn new(style: &Style, columns: &[(&str, Align)]) -> TextTable {
        let mut table = Table::new();
        table
            .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(style.width)
            .set_header(columns.iter().map(|&(title, align)| Cell::new(title).set_alignment(alignment(align))));
        for (index, (_, align)) in columns.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((if index == 0 { 0 } else { 1 }, 1));
                if *align == Align::Right {
                    column.set_constraint(ColumnConstraint::ContentWidth); // numbers never wrap
                }
            }
        }
        TextTable { table, columns: columns.iter().map(|&(_, align)| align).collect(), rules: Vec::new() }
    }

    /// Keeps a text column from wrapping.
    pub fn keep_width(mut self, column: usize) -> Self {
        if let Some(column) = self.table.column_mut(column) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        self
    }

    /// Lets a text column be no wider than `columns` characters.
    pub fn at_most(mut self, column: usize, columns: u16) -> Self {
        if let Some(column) = self.table.column_mut(column) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(columns)));
        }
        self
    }

    /// Adds a row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().zip(&self.columns);
        self.table.add_row(
            cells.map(|(text, &align)| Cell::new(printable(&text.to_string())).set_alignment(alignment(align))),
        );
    }

    /// Adds a rule, before a total.
    pub fn rule(&mut self) {
        self.rules.push(self.table.row_count());
    }

    /// Prints the table without trailing blanks.
    ///
    /// # Errors
    /// What the writer says.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines: Vec<String> = self.table.lines().collect();
        let width = lines.iter().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        // Rows can take several lines, but those behind a rule (a total) never do.
        let behind = self.rules.first().map_or(0, |&rule| self.table.row_count() - rule);
        for (number, line) in lines.iter().enumerate() {
            if behind > 0 && number + behind == lines.len() {
                writeln!(out, "{}", "─".repeat(width))?;
            }
            let line: String = line.trim_end().chars().take(width).collect();
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

const fn alignment(align: Align) -> CellAlignment {
    match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    }
}
