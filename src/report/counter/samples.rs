//! `pfnset counter --csv` in all forms. Wire format: docs/json.md, schema `pfnset.counter`.

use crate::analysis::table::{Align, Column, Field, Fit, Line, Table, Value};
use crate::counter::samples::{SampleRow, Series};
use crate::counter::{CounterType, CounterValue};
use crate::report::{Report, Style, table, text};
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct SamplesReport<'a> {
    file: &'a Path,
    series: &'a Series,
}

impl<'a> SamplesReport<'a> {
    /// Of these samples.
    pub fn new(file: &'a Path, series: &'a Series) -> Self {
        SamplesReport { file, series }
    }

    fn table(&self) -> Table {
        let rows = || self.series.rows.iter().filter_map(|row| Some((self.series.counter(row)?, row)));
        let fields = ["counter", "time_s", "type", "value", "display", "unit", "reason", "notes"];
        let value_column = Column { align: Align::Right, ..Column::text("Value") }.fit(Fit::Stays);
        Table {
            title: None,
            fields: fields.map(Field::new).to_vec(),
            records: rows().map(|((name, counter_type), row)| record(name, counter_type, row)).collect(),
            columns: vec![
                Column::text("Counter").fit(Fit::Wraps),
                Column::number("Seconds").fit(Fit::Leaves(1)),
                Column::text("Type").fit(Fit::Leaves(0)),
                value_column,
                Column::text("Unit").fit(Fit::Stays),
                Column::text("Notes").fit(Fit::Stays),
            ],
            lines: rows().map(|((name, counter_type), row)| line(name, counter_type, row)).collect(),
        }
    }
}

fn record(name: &str, counter_type: CounterType, row: &SampleRow) -> Vec<Value> {
    let value = row.value.as_ref().ok();
    vec![
        Value::text(name),
        Value::maybe(row.time, Value::Seconds),
        Value::text(counter_type.label()),
        Value::maybe(value, |value| Value::text(value.to_string())),
        Value::maybe(value, |value| Value::text(value.display())),
        Value::maybe(value.and(counter_type.suffix()), Value::text),
        Value::maybe(row.value.as_ref().err(), |reason| Value::text(reason.to_string())),
        notes(value),
    ]
}

fn line(name: &str, counter_type: CounterType, row: &SampleRow) -> Line {
    let value = row.value.as_ref().ok();
    Line::new([
        Value::text(name),
        Value::maybe(row.time, Value::Seconds),
        Value::text(counter_type.label()),
        Value::maybe(value, |value| Value::text(value.display())),
        Value::maybe(value.and(counter_type.suffix()), Value::text),
        match &row.value {
            Ok(_) => notes(value),
            Err(reason) => Value::text(reason.to_string()),
        },
    ])
}

fn notes(value: Option<&CounterValue>) -> Value {
    Value::List(value.map_or(Vec::new(), |value| value.notes.iter().map(|note| note.name()).collect()))
}

impl Report for SamplesReport<'_> {
    fn warnings(&self) -> &[String] {
        &[]
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let (counters, samples) = (self.series.counter_count(), self.series.rows.len() as u64);
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let title = format!(
            "{} counter{}, {} sample{}",
            text::count(counters),
            plural(counters),
            text::count(samples),
            plural(samples)
        );
        text::heading(out, &title)?;
        writeln!(out)?;
        table::text(out, &self.table(), style, self.unit())
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "schema": "pfnset.counter",
            "version": 1,
            "file": self.file.display().to_string(),
            "counters": self.series.counter_count(),
            "rows": table::objects(&self.table()),
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.table()]
    }
}
