//! A report with the columns that a user chose.

use crate::analysis::table::Table;
use crate::error::Error;
use crate::report::text::Unit;
use crate::report::{Report, Style, table, text};
use serde_json::Value;
use std::io::{self, Write};

/// The rows of another report, with some of their columns.
pub struct ChosenColumns<'a> {
    report: &'a dyn Report,
    tables: Vec<Table>,
}

impl<'a> ChosenColumns<'a> {
    /// These tables of a report with the columns of `a,b,c`.
    ///
    /// # Errors
    /// A usage error for a name that is no heading.
    pub fn new(report: &'a dyn Report, tables: Vec<Table>, names: &str) -> Result<ChosenColumns<'a>, Error> {
        let tables = tables.into_iter().map(|table| table.with_columns(names));
        Ok(ChosenColumns { report, tables: tables.collect::<Result<_, _>>()? })
    }
}

impl Report for ChosenColumns<'_> {
    fn warnings(&self) -> &[String] {
        self.report.warnings()
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, self.warnings(), style.width)?;
        for (number, chosen) in self.tables.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            if let Some(title) = &chosen.title {
                text::heading(out, &text::printable(title))?;
                writeln!(out)?;
            }
            table::text(out, chosen, style, self.unit())?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        self.report.json()
    }

    fn tables(&self) -> Vec<Table> {
        self.report.tables()
    }

    fn tables_for_people(&self) -> Vec<Table> {
        self.tables.clone()
    }

    fn tables_of_each(&self) -> Vec<Table> {
        self.tables.clone()
    }

    fn unit(&self) -> Unit {
        self.report.unit()
    }
}
