//! The answer of `pfnset counter --csv`. Wire format: docs/json.md, schema `pfnset.counter`.

use crate::analysis::table::{Align, Column, Field, Fit, Line, Table, Value};
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::text_block::Block;
use crate::counter::samples::{SampleRow, Series};
use crate::counter::{CounterType, CounterValue};
use crate::units::counted;
use std::path::Path;

/// The answer of the samples of a file.
pub fn answer(file: &Path, series: &Series) -> Answer<'static> {
    let (counters, samples) = (series.counter_count(), series.rows.len() as u64);
    let (counters_said, samples_said) =
        (counted(counters, "counter", "counters"), counted(samples, "sample", "samples"));
    let facts =
        Facts::default().is("file", file.display().to_string()).is("counters", counters).has("rows", Fact::Rows(0));
    let screen = vec![Block::Title(format!("{counters_said}, {samples_said}")), Block::Blank, Block::Rows(0)];
    Answer { facts, tables: vec![table(series).into()], screen: Some(screen), ..Answer::new("pfnset.counter") }
}

fn table(series: &Series) -> Table {
    let rows = || series.rows.iter().filter_map(|row| Some((series.counter(row)?, row)));
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
