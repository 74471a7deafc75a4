//! Presentation: result structs in, bytes out. Only rounding and alignment are computed here.

pub mod ascii;
pub mod check;
pub mod chosen;
pub mod counter;
pub mod cpu;
pub mod diff;
pub mod each_trace;
pub mod events;
pub mod explain;
pub mod fit;
pub mod html;
pub mod info;
mod info_of_each;
pub mod memory;
pub mod pages;
pub mod processes;
pub mod recording_files;
pub mod refset;
pub mod resident;
pub mod table;
pub mod text;

use crate::analysis::table::Table;
use std::io::{self, Write};
use text::Unit;

/// How text output may look.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Columns available.
    pub width: u16,
}

/// One command's result in all forms.
pub trait Report {
    /// Warnings that every form must show.
    fn warnings(&self) -> &[String];

    /// Aligned text, warnings first. May hold color codes.
    ///
    /// # Errors
    /// What the writer says.
    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()>;

    /// The documented JSON object.
    fn json(&self) -> serde_json::Value;

    /// Writes that object; reports that can be large write it without having it in memory.
    ///
    /// # Errors
    /// What the writer says.
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        Ok(serde_json::to_writer_pretty(out, &self.json())?)
    }

    /// The tables for the forms below: all with the same fields.
    fn tables(&self) -> Vec<Table>;

    /// The tables for Markdown.
    fn tables_for_people(&self) -> Vec<Table> {
        self.tables()
    }

    /// The tables as a part of those of many traces: with the same fields for any trace.
    fn tables_of_each(&self) -> Vec<Table> {
        self.tables()
    }

    /// The unit in which amounts of memory are shown.
    fn unit(&self) -> Unit {
        Unit::default()
    }

    /// Comma-separated values with a heading line.
    ///
    /// # Errors
    /// What the writer says.
    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        table::csv(out, &self.tables())
    }

    /// One JSON object on each line, with the fields of CSV and JSON.
    ///
    /// # Errors
    /// What the writer says.
    fn json_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        table::json_lines(out, &self.tables())
    }

    /// Markdown tables, warnings first.
    ///
    /// # Errors
    /// What the writer says.
    fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        for warning in self.warnings() {
            writeln!(out, "> {}\n", text::printable(warning))?;
        }
        table::markdown(out, &self.tables_for_people(), self.unit())
    }
}

/// A result struct as JSON. Serializing our own types cannot fail; if it did, the value would be the error's text.
fn to_json(wire: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(wire).unwrap_or_else(|error| serde_json::Value::String(error.to_string()))
}
