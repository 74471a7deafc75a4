//! The answer of `pfnset counter TYPE`. Wire format: docs/json.md, schema `pfnset.counter_type`.

use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::text_block::Block;
use crate::counter::{Coded, CounterType, Formula, Timer};

/// Column of the texts of one type's facts.
const COLUMN: usize = 12;

/// The answer that explains these types.
pub fn answer(types: &[CounterType]) -> Answer<'static> {
    let screen = match types {
        [counter_type] => explained(*counter_type),
        _ => vec![Block::Either(0, narrow_table(types))],
    };
    Answer {
        facts: Facts::default().has("types", Fact::Rows(0)),
        tables: vec![table(types).into()],
        screen: Some(screen),
        ..Answer::new("pfnset.counter_type")
    }
}

/// All of one type.
fn explained(counter_type: CounterType) -> Vec<Block> {
    let name = counter_type.predefined().map_or("unknown type", |known| known.name);
    let fields = counter_type.fields();
    let or_none = |field: Option<Coded>| field.map_or("none".to_owned(), |field| field.to_string());
    let modifiers = if fields.modifiers.is_empty() { "none".to_owned() } else { fields.modifiers.join(", ") };
    let bits = [
        ("Bits 8-9", fields.size.to_string()),
        ("10-11", fields.kind.to_string()),
        ("16-19", or_none(fields.subtype)),
        ("20-21", or_none(fields.timer)),
        ("22-25", modifiers),
        ("28-31", fields.display.to_string()),
        ("Reserved", format!("0x{:08x}", fields.reserved)),
    ];
    let title = Block::Title(format!("{name} ({counter_type}, {})", counter_type.0));
    let facts = facts(counter_type).into_iter().chain(bits);
    std::iter::once(title).chain(facts.map(|(label, text)| Block::Pair(label.to_owned(), COLUMN, text))).collect()
}

/// Two lines for a type, for where one has no room.
fn narrow_table(types: &[CounterType]) -> Table {
    let lines = |counter_type: &CounterType| {
        let known = counter_type.predefined();
        let formula = known.and_then(|known| known.formula.text()).map(|text| format!("= {text}"));
        let suffix = counter_type.suffix().filter(|suffix| !suffix.is_empty()).map(|suffix| format!("in {suffix}"));
        let dotnet = known.and_then(|known| known.dotnet).map(|name| format!(".NET {name}"));
        let more: Vec<String> = formula.into_iter().chain(suffix).chain(dotnet).collect();
        let name = Value::maybe(known, |known| Value::text(known.name));
        let first = Line::new([Value::text(counter_type.to_string()), name]);
        let second = (!more.is_empty()).then(|| Line::new([Value::Nothing, Value::text(more.join(", "))]));
        std::iter::once(first).chain(second)
    };
    Table {
        columns: vec![
            Column::text("Word").fit(Fit::Stays),
            Column::text("Name, formula, unit, name of .NET").fit(Fit::Wraps),
        ],
        lines: types.iter().flat_map(lines).collect(),
        ..Table::default()
    }
}

fn table(types: &[CounterType]) -> Table {
    let fields = [
        "word",
        "name",
        "dotnet",
        "formula",
        "meaning",
        "samples",
        "base",
        "clock",
        "suffix",
        "size",
        "type",
        "subtype",
        "timer",
        "modifiers",
        "display",
        "reserved",
    ];
    let line = |counter_type: &CounterType| {
        let known = counter_type.predefined();
        let formula = known.map(|known| known.formula);
        Line::new([
            Value::text(counter_type.to_string()),
            Value::maybe(known, |known| Value::text(known.name)),
            Value::maybe(formula.and_then(Formula::text), Value::text),
            Value::maybe(counter_type.suffix(), Value::text),
            Value::maybe(known.and_then(|known| known.dotnet), Value::text),
        ])
    };
    Table {
        title: None,
        fields: fields.map(Field::new).to_vec(),
        records: types.iter().map(|counter_type| record(*counter_type)).collect(),
        columns: vec![
            Column::text("Word").fit(Fit::Stays),
            Column::text("Name").fit(Fit::Stays),
            Column::text("Formula").fit(Fit::Leaves(2)),
            Column::text("Suffix").fit(Fit::Leaves(1)),
            Column::text(".NET name").fit(Fit::Leaves(0)),
        ],
        lines: types.iter().map(line).collect(),
    }
}

fn coded(field: Option<Coded>) -> Value {
    Value::maybe(field, |field| Value::text(field.to_string()))
}

fn record(counter_type: CounterType) -> Vec<Value> {
    let (known, fields) = (counter_type.predefined(), counter_type.fields());
    let formula = known.map(|known| known.formula);
    vec![
        Value::text(counter_type.to_string()),
        Value::maybe(known, |known| Value::text(known.name)),
        Value::maybe(known.and_then(|known| known.dotnet), Value::text),
        Value::maybe(formula.and_then(Formula::text), Value::text),
        Value::maybe(formula, |formula| Value::text(formula.meaning())),
        Value::maybe(formula, |formula| Value::Number(formula.samples() as u64)),
        Value::maybe(known.and_then(|known| known.base), |base| Value::text(base.name())),
        Value::maybe(formula.and_then(|formula| formula.clock(counter_type)), |timer| Value::text(clock(timer))),
        Value::maybe(counter_type.suffix(), Value::text),
        Value::text(fields.size.to_string()),
        Value::text(fields.kind.to_string()),
        coded(fields.subtype),
        coded(fields.timer),
        Value::List(fields.modifiers),
        Value::text(fields.display.to_string()),
        Value::text(format!("0x{:08x}", fields.reserved)),
    ]
}

const fn clock(timer: Timer) -> &'static str {
    match timer {
        Timer::Tick => "performance counter",
        Timer::HundredNs => "system time in units of 100 ns",
        Timer::Object => "clock of the counter's object",
    }
}

/// Where the time of a clock stands, and its frequency.
const fn places(timer: Timer) -> (&'static str, &'static str) {
    match timer {
        Timer::Tick => (
            "PERF_DATA_BLOCK.PerfTime, Timestamp_PerfTime",
            "ticks of the performance counter per second (PERF_DATA_BLOCK.PerfFreq, Frequency_PerfTime)",
        ),
        Timer::HundredNs => ("PERF_DATA_BLOCK.PerfTime100nSec, Timestamp_Sys100NS", "10,000,000"),
        Timer::Object => (
            "PERF_OBJECT_TYPE.PerfTime, Timestamp_Object",
            "ticks of that clock per second (PERF_OBJECT_TYPE.PerfFreq, Frequency_Object)",
        ),
    }
}

/// What there is to say of a type: label and text.
fn facts(counter_type: CounterType) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    match counter_type.predefined() {
        None => facts.push(("Name", "none: Windows does not define this type, so it has no formula".to_owned())),
        Some(known) => {
            let formula = known.formula;
            facts.extend(known.alias().map(|alias| ("Also", alias.to_owned())));
            facts.extend(known.dotnet.map(|dotnet| (".NET", dotnet.to_owned())));
            facts.push(("Value", formula.meaning().to_owned()));
            if let Some(text) = formula.text() {
                facts.push(("Formula", text.to_owned()));
                let bits = counter_type.value_bits();
                facts.push(("C", format!("the raw value, {bits} bits: {}", formula.value_meaning())));
            }
            if let Some(timer) = formula.clock(counter_type) {
                let (time, frequency) = places(timer);
                if formula.uses_time() {
                    facts.push(("T", format!("{} ({time})", clock(timer))));
                }
                if formula.uses_frequency() {
                    facts.push(("F", frequency.to_owned()));
                }
            }
            facts.extend(known.base.map(|base| ("B", format!("{}: {}", base.name(), base.meaning()))));
            facts.push(("Samples", samples(formula).to_owned()));
        }
    }
    let suffix = match counter_type.suffix() {
        None => "unknown".to_owned(),
        Some("") => "none".to_owned(),
        Some(suffix) => suffix.to_owned(),
    };
    facts.push(("Suffix", suffix));
    facts
}

const fn samples(formula: Formula) -> &'static str {
    match formula.samples() {
        0 => "none: nothing is calculated",
        1 => "1",
        _ => "2: Δ is the newest (1) minus the one before it (0)",
    }
}
