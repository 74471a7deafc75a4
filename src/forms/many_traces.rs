//! Many traces (`--each`): the output of all of them as one table, CSV, JSON lines or Markdown.

use crate::analysis::table::{Field, TraceTable, Value};
use crate::answer::answer_type::Warnings;
use crate::answer::{Answer, Facts, Rows, Units};
use crate::forms::csv::Cells;
use crate::forms::{Form, Look, csv, json, markdown, text};
use crate::units::counted;
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
pub fn of_form<'o>(
    form: Form,
    units: Units,
    schema: (&'static str, u32),
    out: &'o mut dyn Write,
) -> Box<dyn Answers + 'o> {
    match form {
        Form::Text(look) => Box::new(OneTable::new(out, Some(look), units)),
        Form::Markdown => Box::new(OneTable::new(out, None, units)),
        Form::Csv(cells) => Box::new(OneCsv::new(out, cells)),
        // No command has both these forms and several traces.
        Form::Collapsed | Form::Firefox => Box::new(OneCsv::new(out, csv::Cells::Plain)),
        Form::Json | Form::JsonLines => Box::new(OneObjectEach::new(out, schema)),
    }
}

/// One table for people, written at the end: columns are fitted to the rows of all traces.
pub struct OneTable<'o> {
    out: &'o mut dyn Write,
    /// `None`: Markdown.
    look: Option<Look>,
    units: Units,
    warnings: Warnings,
    /// What chose the rows of all traces.
    chosen_by: Option<String>,
    table: TraceTable,
    /// What is said of the rows, and of which traces.
    notes: Vec<(String, Vec<String>)>,
    /// How many traces have an answer.
    answers: usize,
}

impl<'o> OneTable<'o> {
    /// Aligned text, or Markdown without a look.
    pub fn new(out: &'o mut dyn Write, look: Option<Look>, units: Units) -> OneTable<'o> {
        OneTable {
            out,
            look,
            units,
            warnings: Warnings::default(),
            chosen_by: None,
            table: TraceTable::default(),
            notes: Vec::new(),
            answers: 0,
        }
    }

    fn note(&mut self, trace: &str, note: &str) {
        match self.notes.iter_mut().find(|(known, _)| known == note) {
            Some((_, traces)) => traces.push(trace.to_owned()),
            None => self.notes.push((note.to_owned(), vec![trace.to_owned()])),
        }
    }
}

/// `a.etl and 2 more traces: …`; a note on all traces names none.
fn of_traces(note: &str, traces: &[String], answers: usize) -> String {
    match traces {
        [first, others @ ..] if traces.len() < answers => match others.len() {
            0 => format!("{first}: {note}"),
            more => format!("{first} and {}: {note}", counted(more as u64, "more trace", "more traces")),
        },
        _ => note.to_owned(),
    }
}

impl Answers for OneTable<'_> {
    fn add(&mut self, trace: &str, answer: Answer<'_>) -> io::Result<()> {
        self.warnings.extend(answer.warnings.clone().named(trace));
        self.chosen_by.clone_from(&answer.chosen_by);
        self.answers += 1;
        answer.notes.iter().for_each(|note| self.note(trace, note));
        // Rows that are made for this place say it themselves.
        let said = if answer.beside_others.is_none() { answer.headline.clone() } else { Vec::new() };
        self.table.add(trace, &said, answer.into_tables_beside_others().into_iter().map(Rows::into_table).collect());
        Ok(())
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        self.table.add_error(&of_trace(trace, error));
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let (chosen_by, units) = (self.chosen_by, self.units);
        let tables = vec![self.table.into_table().into()];
        let notes = self.notes.iter().map(|(note, traces)| of_traces(note, traces, self.answers)).collect();
        let all = Answer { chosen_by, warnings: self.warnings, tables, notes, units, ..Answer::default() };
        match self.look {
            Some(look) => text::with_last_line(self.out, look, &all.warnings, |out| text::whole(&all, look, out)),
            None => markdown::write(&all, self.out),
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
        let mut csv = csv::Records::new(self.out, self.cells);
        for (trace, error) in std::mem::take(&mut self.waiting) {
            let mut record = vec![Value::Nothing; self.fields.len()];
            record.first_mut().into_iter().for_each(|first| *first = Value::text(&trace));
            record.last_mut().into_iter().for_each(|last| *last = Value::text(&error));
            csv.record(&self.fields, &record)?;
        }
        csv.finish()
    }

    /// Writes the heading, once: with `trace` before and `error` after these fields.
    fn head(&mut self, fields: Vec<Field>) -> io::Result<()> {
        if self.fields.is_empty() {
            self.fields = fields;
            let mut csv = csv::Records::new(self.out, self.cells);
            csv.heading(&self.fields)?;
            csv.finish()?;
            self.unread()?;
        }
        Ok(())
    }
}

/// The fields of a trace's records beside those of others.
fn of_fields(fields: &[Field]) -> Vec<Field> {
    let [trace, error] = ["trace", "error"].map(Field::new);
    std::iter::once(trace).chain(fields.iter().copied()).chain([error]).collect()
}

impl Answers for OneCsv<'_> {
    fn add(&mut self, trace: &str, answer: Answer<'_>) -> io::Result<()> {
        for rows in answer.into_tables_beside_others() {
            let fields = of_fields(&rows.records.fields);
            self.head(fields.clone())?;
            if fields != self.fields {
                return Err(io::Error::other(format!("the rows of {trace} have other columns than those before")));
            }
            let mut csv = csv::Records::new(self.out, self.cells);
            let trace = Value::text(trace);
            rows.records.each(|record| {
                let record = std::iter::once(&trace).chain(record).chain([&Value::Nothing]);
                csv.record(&fields, &record.cloned().collect::<Vec<_>>())
            })?;
            csv.finish()?;
        }
        Ok(())
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        self.waiting.push((trace.to_owned(), error.to_owned()));
        if self.fields.is_empty() { Ok(()) } else { self.unread() }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.head(of_fields(&[]))
    }
}

/// One JSON object for each trace, on a line of its own.
pub struct OneObjectEach<'o> {
    out: &'o mut dyn Write,
    schema: (&'static str, u32),
}

impl<'o> OneObjectEach<'o> {
    /// A writer of objects of this schema and its version.
    pub fn new(out: &'o mut dyn Write, schema: (&'static str, u32)) -> OneObjectEach<'o> {
        OneObjectEach { out, schema }
    }
}

impl Answers for OneObjectEach<'_> {
    fn add(&mut self, _: &str, answer: Answer<'_>) -> io::Result<()> {
        json::line(&answer, self.out)
    }

    fn add_error(&mut self, trace: &str, error: &str) -> io::Result<()> {
        let facts = Facts::default().is("trace", trace).is("error", error);
        json::line(&Answer { facts, schema: self.schema, ..Answer::default() }, self.out)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Records;

    #[test]
    fn traces_without_rows_wait_for_the_heading() {
        let mut out = Vec::new();
        let mut csv = Box::new(OneCsv::new(&mut out, Cells::Plain));
        csv.add_error("a.etl", "gone").unwrap();
        csv.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "trace,error\na.etl,gone\n");
    }

    #[test]
    fn records_stand_between_trace_and_error() {
        let records = || Records::streamed(["x", "y"], || (1..3).map(|x| vec![Value::Count(x), Value::Nothing]));
        let no_table = || unreachable!("a form for programs makes no table");
        let answer = || Answer { tables: vec![Rows::new(records(), no_table)], ..Answer::new("s") };
        let mut out = Vec::new();
        let mut csv = Box::new(OneCsv::new(&mut out, Cells::Plain));
        csv.add_error("a", "gone").unwrap();
        csv.add("b", answer()).unwrap();
        csv.add_error("c", "too").unwrap();
        csv.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "trace,x,y,error\na,,,gone\nb,1,,\nb,2,,\nc,,,too\n");
        let mut lines = Vec::new();
        json::lines(&mut lines, &answer().tables).unwrap();
        assert_eq!(String::from_utf8(lines).unwrap(), "{\"x\":1,\"y\":null}\n{\"x\":2,\"y\":null}\n");
    }

    #[test]
    fn a_note_names_the_traces_that_it_is_of() {
        let traces = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(of_traces("x", &traces(&["a"]), 3), "a: x");
        assert_eq!(of_traces("x", &traces(&["a", "b"]), 3), "a and 1 more trace: x");
        assert_eq!(of_traces("x", &traces(&["a", "b", "c"]), 3), "x");
    }
}
