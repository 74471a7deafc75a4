//! Many traces (`--each`): the output of all of them as one table, CSV, JSON lines or Markdown.

use crate::analysis::table::{Field, Table, TraceTable};
use crate::report::text::{self, Unit};
use crate::report::{Report, Style, table};
use serde_json::json;
use std::io::{self, Write};

/// Answers of traces, one after the other.
pub trait Answers {
    /// Adds the result of a trace.
    ///
    /// # Errors
    /// What the writer says.
    fn add(&mut self, trace: &str, report: &dyn Report) -> io::Result<()>;

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

/// One table for people, written at the end: columns are fitted to the rows of all traces.
pub struct OneTable<'o> {
    out: &'o mut dyn Write,
    /// `None`: Markdown.
    style: Option<Style>,
    unit: Unit,
    warnings: Vec<String>,
    table: TraceTable,
}

impl<'o> OneTable<'o> {
    /// Aligned text, or Markdown without a style.
    pub fn new(out: &'o mut dyn Write, style: Option<Style>, unit: Unit) -> OneTable<'o> {
        OneTable { out, style, unit, warnings: Vec::new(), table: TraceTable::default() }
    }
}

impl Answers for OneTable<'_> {
    fn add(&mut self, trace: &str, report: &dyn Report) -> io::Result<()> {
        self.warnings.extend(report.warnings().iter().map(|line| format!("{trace}: {line}")));
        self.table.add(trace, report.tables_of_each());
        Ok(())
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        self.table.add_error(&of_trace(trace, error));
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let table = self.table.into_table();
        match self.style {
            Some(style) => {
                text::warnings(self.out, &self.warnings, style.width)?;
                table::text(self.out, &table, &style, self.unit)
            }
            None => table::markdown(self.out, &[table], self.unit),
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
    fields: Vec<Field>,
    /// Traces that could not be read, until another one has given the fields.
    waiting: Vec<(String, String)>,
}

impl<'o> OneCsv<'o> {
    /// Nothing yet.
    pub fn new(out: &'o mut dyn Write) -> OneCsv<'o> {
        OneCsv { out, fields: Vec::new(), waiting: Vec::new() }
    }

    fn unread(&mut self) -> io::Result<()> {
        for (trace, error) in std::mem::take(&mut self.waiting) {
            table::csv_rows(self.out, &[Table::of_unread(&self.fields, &trace, &error)], false)?;
        }
        Ok(())
    }

    /// Writes the heading, once.
    fn head(&mut self, fields: &[Field]) -> io::Result<()> {
        if self.fields.is_empty() {
            self.fields = fields.to_vec();
            table::csv_rows(self.out, &[Table { fields: fields.to_vec(), ..Table::default() }], true)?;
            self.unread()?;
        }
        Ok(())
    }
}

impl Answers for OneCsv<'_> {
    fn add(&mut self, trace: &str, report: &dyn Report) -> io::Result<()> {
        for table in report.tables_of_each() {
            let table = table.of_trace(trace);
            self.head(&table.fields)?;
            if table.fields != self.fields {
                return Err(io::Error::other(format!("the rows of {trace} have other columns than those before")));
            }
            table::csv_rows(self.out, &[table], false)?;
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
    /// Of this schema.
    pub fn new(out: &'o mut dyn Write, schema: &'static str) -> OneObjectEach<'o> {
        OneObjectEach { out, schema }
    }
}

impl Answers for OneObjectEach<'_> {
    fn add(&mut self, _: &str, report: &dyn Report) -> io::Result<()> {
        report.write_json(&mut OneLine { out: self.out, indents: false })?;
        writeln!(self.out)
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        let object = json!({ "schema": self.schema, "version": 1, "trace": trace, "error": error });
        writeln!(self.out, "{object}")
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// Takes line breaks and indents out of JSON, whose texts have none: a large document is never in memory as a whole.
struct OneLine<'o> {
    out: &'o mut dyn Write,
    /// True between a line break and the end of the indent after it.
    indents: bool,
}

impl Write for OneLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, breaks) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let text = if self.indents { text.trim_ascii_start() } else { text };
            self.indents = breaks || self.indents && text.is_empty();
            self.out.write_all(text)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_one_line_is_the_same_json() {
        let value = json!({ "a": ["  b\n  c", {}, [], null, 1.5], "d": { "e": " " } });
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        for piece in 1..9 {
            let mut out = Vec::new();
            let mut line = OneLine { out: &mut out, indents: false };
            pretty.as_bytes().chunks(piece).for_each(|piece| line.write_all(piece).unwrap());
            let text = String::from_utf8(out).unwrap();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn traces_without_rows_wait_for_the_heading() {
        let mut out = Vec::new();
        let mut csv = Box::new(OneCsv::new(&mut out));
        csv.add_error("a.etl", "gone").unwrap();
        csv.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "trace,error\na.etl,gone\n");
    }
}
