//! Text tables: one look for all commands.

use crate::report::Style;
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
        TextTable { table, columns: columns.iter().map(|&(_, align)| align).collect() }
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
        self.table.add_row(cells.map(|(text, &align)| Cell::new(text.to_string()).set_alignment(alignment(align))));
    }

    /// Prints the table without trailing blanks.
    ///
    /// # Errors
    /// What the writer says.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
    }
}

const fn alignment(align: Align) -> CellAlignment {
    match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    }
}
