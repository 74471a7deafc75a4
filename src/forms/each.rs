//! Many traces (`--each`): the output of all of them as one table, CSV, JSON lines or Markdown.

use crate::analysis::table::{Field, Table, TraceTable};
use crate::answer::{Answer, Facts, Units};
use crate::forms::csv::Cells;
use crate::forms::{Form, Look, csv, json, markdown, table, text};
use std::io::{self, Write};

/// Answers of traces, one after the other.
pub trait Answers {
    /// Adds the answer of a trace.
    ///
    /// # Errors
    /// What the writer says.
    fn add(&mut self, trace: &str, answer: Answer<'_>) -> io::Result<()>;

    /// Adds a trace without a result, and the reason.
    ///
    /// # Errors
    /// What the writer says.
    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()>;

    /// Writes what is left.
    ///
    /// # Errors
    /// What the writer says.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The form of the answers of many traces. JSON is one object for each.
pub fn of_form<'o>(form: Form, units: Units, schema: &'static str, out: &'o mut dyn Write) -> Box<dyn Answers + 'o> {
    match form {
        Form::Text(look) => Box::new(OneTable::new(out, Some(look), units)),
        Form::Markdown => Box::new(OneTable::new(out, None, units)),
        Form::Csv(cells) => Box::new(OneCsv::new(out, cells)),
        // No command has both this form and several traces.
        Form::Collapsed => Box::new(OneCsv::new(out, csv::Cells::Plain)),
        Form::Json | Form::JsonLines => Box::new(OneObjectEach::new(out, schema)),
    }
}

/// One table for people, written at the end: columns are fitted to the rows of all traces.
pub struct OneTable<'o> {
    out: &'o mut dyn Write,
    /// `None`: Markdown.
    look: Option<Look>,
    units: Units,
    warnings: Vec<String>,
    table: TraceTable,
}

impl<'o> OneTable<'o> {
    /// Aligned text, or Markdown without a look.
    pub fn new(out: &'o mut dyn Write, look: Option<Look>, units: Units) -> OneTable<'o> {
        OneTable { out, look, units, warnings: Vec::new(), table: TraceTable::default() }
    }
}

impl Answers for OneTable<'_> {
    fn add(&mut self, trace: &str, answer: Answer<'_>) -> io::Result<()> {
        self.warnings.extend(answer.warnings.iter().map(|line| format!("{trace}: {line}")));
        self.table.add(trace, answer.into_tables_beside_others());
        Ok(())
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        self.table.add_error(&of_trace(trace, error));
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let table = self.table.into_table();
        match self.look {
            Some(look) => {
                text::warnings(self.out, &self.warnings, look)?;
                table::text(self.out, &table, self.units, look.width)
            }
            None => markdown::tables(self.out, &[table], self.units),
        }
    }
}

/// `a.etl: no .etl file`; a reason that names the trace says enough.
fn of_trace(trace: &str, error: &str) -> String {
    if error.contains(trace) { error.to_owned() } else { format!("{trace}: {error}") }
}

/// Comma-separated values, written as they come: `trace`, the columns of the command, `error`.
pub struct OneCsv<'o> {
    out: &'o mut dyn Write,
    cells: Cells,
    fields: Vec<Field>,
    /// Traces that could not be read, until another one has given the fields.
    waiting: Vec<(String, String)>,
}

impl<'o> OneCsv<'o> {
    /// Nothing yet.
    pub fn new(out: &'o mut dyn Write, cells: Cells) -> OneCsv<'o> {
        OneCsv { out, cells, fields: Vec::new(), waiting: Vec::new() }
    }

    fn unread(&mut self) -> io::Result<()> {
        for (trace, error) in std::mem::take(&mut self.waiting) {
            csv::tables(self.out, &[Table::of_unread(&self.fields, &trace, &error)], false, self.cells)?;
        }
        Ok(())
    }

    /// Writes the heading, once.
    fn head(&mut self, fields: &[Field]) -> io::Result<()> {
        if self.fields.is_empty() {
            self.fields = fields.to_vec();
            csv::tables(self.out, &[Table { fields: fields.to_vec(), ..Table::default() }], true, self.cells)?;
            self.unread()?;
        }
        Ok(())
    }
}

impl Answers for OneCsv<'_> {
    fn add(&mut self, trace: &str, answer: Answer<'_>) -> io::Result<()> {
        for table in answer.into_tables_beside_others() {
            let table = table.of_trace(trace);
            self.head(&table.fields)?;
            if table.fields != self.fields {
                return Err(io::Error::other(format!("the rows of {trace} have other columns than those before")));
            }
            csv::tables(self.out, &[table], false, self.cells)?;
        }
        Ok(())
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        self.waiting.push((trace.to_owned(), error.to_owned()));
        if self.fields.is_empty() { Ok(()) } else { self.unread() }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.head(&Table::default().of_trace("").fields)
    }
}

/// One JSON object for each trace, on a line of its own.
pub struct OneObjectEach<'o> {
    out: &'o mut dyn Write,
    schema: &'static str,
}

impl<'o> OneObjectEach<'o> {
    /// A writer of objects of this schema.
    pub fn new(out: &'o mut dyn Write, schema: &'static str) -> OneObjectEach<'o> {
        OneObjectEach { out, schema }
    }
}

impl Answers for OneObjectEach<'_> {
    fn add(&mut self, _: &str, answer: Answer<'_>) -> io::Result<()> {
        json::line(&answer, self.out)
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        let facts = Facts::default().is("trace", trace).is("error", error);
        json::line(&Answer { facts, ..Answer::new(self.schema) }, self.out)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_without_rows_wait_for_the_heading() {
        let mut out = Vec::new();
        let mut csv = Box::new(OneCsv::new(&mut out, Cells::Plain));
        csv.add_error("a.etl", "gone").unwrap();
        csv.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "trace,error\na.etl,gone\n");
    }
}
