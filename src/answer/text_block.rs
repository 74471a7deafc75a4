//! The parts of what people see.

use crate::analysis::table::{Course, Table};

/// A part of what people see.
#[derive(Debug, Clone)]
pub enum Block {
    /// A heading; where it is long it continues on the next line.
    Heading(String),
    /// A heading that continues with an indent.
    Title(String),
    /// A text of one or more lines. Blanks at its beginning indent all of them.
    Text(String),
    /// A line that continues with an indent.
    Line(String),
    /// The first of these that is no longer than a line, else the last.
    Fitting(Vec<String>),
    /// A label, and at this column a text.
    Pair(String, usize, String),
    /// How far an item of a list is indented, and its text.
    Item(usize, String),
    /// The parts of a whole: as a bar, and in these words.
    Bar(Vec<(String, u64)>),
    /// How a number changes over time, below a label.
    Course(String, Course),
    /// The table of the answer with this number.
    Rows(usize),
    /// A table of its own.
    Table(Table),
    /// The table of the answer with this number, whose ranked columns are many: what the columns are that a width
    /// has no room for, and how many more the table does not have.
    Ranked(usize, &'static str, u64),
    /// The table of the answer with this number where a width has room for all of it, else this one, which says it in less.
    Either(usize, Table),
    /// An empty line.
    Blank,
}
