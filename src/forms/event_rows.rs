//! Rows of events: JSON lines, CSV, and a line of text for each. Keys: docs/json.md, schema `pfnset.event_rows`.

use crate::escape::visible;
use crate::event::fields::value::{FieldValue, Fields};
use crate::event::fields::value_text::digits;
use crate::forms::csv::{self, Cells};
use crate::forms::json;
use crate::load::event_row::{EventRow, RowId};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::fmt::Write as _;

/// Forms of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventForm {
    /// One line of text.
    Table,
    /// Comma-separated values with a heading line; fields as JSON.
    Csv(Cells),
    /// One JSON object on each line.
    Jsonl,
}

/// Columns of CSV.
const COLUMNS: [&str; 21] = [
    "time_s",
    "processor",
    "process",
    "pid",
    "thread",
    "provider",
    "provider_guid",
    "event",
    "id",
    "version",
    "opcode",
    "task",
    "level",
    "keywords",
    "schema",
    "length",
    "fields",
    "missing",
    "rest",
    "payload",
    "frames",
];

/// The line above the rows.
pub fn heading(form: EventForm) -> Vec<u8> {
    match form {
        EventForm::Csv(_) => (COLUMNS.join(",") + "\n").into_bytes(),
        EventForm::Table => b"    Time s  CPU  Process, event, fields\n".to_vec(),
        EventForm::Jsonl => Vec::new(),
    }
}

/// Adds a row. `width` is that of a line of text.
pub fn row(form: EventForm, width: usize, out: &mut Vec<u8>, row: &EventRow<'_>) {
    // Writing into memory cannot fail.
    let _ = match form {
        EventForm::Jsonl => {
            let written = json::compact(&Object(row), out);
            out.push(b'\n');
            written
        }
        EventForm::Csv(cells) => csv::line(out, &cells_of(row), cells),
        EventForm::Table => {
            out.extend(line(row, width).as_bytes());
            out.push(b'\n');
            for frame in &row.frames {
                out.extend(cut(&format!("{:19}{frame}", ""), width).as_bytes());
                out.push(b'\n');
            }
            Ok(())
        }
    };
}

fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    digits(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

struct Object<'r>(&'r EventRow<'r>);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time_s", &row.time.seconds())?;
        map.serialize_entry("processor", &row.processor)?;
        map.serialize_entry("process", &row.process)?;
        map.serialize_entry("pid", &row.process_id)?;
        map.serialize_entry("thread", &row.thread_id)?;
        map.serialize_entry("provider", &row.provider)?;
        map.serialize_entry("provider_guid", &row.provider_guid.map(|guid| guid.to_string()))?;
        map.serialize_entry("event", &row.event)?;
        match row.id {
            RowId::Number(number) => map.serialize_entry("id", &number)?,
            RowId::Hook(hook) => map.serialize_entry("id", &format!("0x{hook:04x}"))?,
            RowId::None => map.serialize_entry("id", &None::<u16>)?,
        }
        map.serialize_entry("version", &row.version)?;
        map.serialize_entry("opcode", &row.opcode)?;
        map.serialize_entry("task", &row.task)?;
        map.serialize_entry("level", &row.level)?;
        map.serialize_entry("keywords", &row.keywords.map(|keywords| format!("0x{keywords:x}")))?;
        map.serialize_entry("schema", &row.schema.map(|source| source.name()))?;
        map.serialize_entry("length", &row.payload.len())?;
        map.serialize_entry("fields", &row.fields.as_ref().map(Members))?;
        if !row.missing.is_empty() {
            map.serialize_entry("missing", &row.missing)?;
        }
        if !row.rest.is_empty() {
            map.serialize_entry("rest", &hex(row.rest))?;
        }
        if row.schema.is_none() {
            map.serialize_entry("payload", &hex(row.payload))?;
        }
        if !row.frames.is_empty() {
            map.serialize_entry("frames", &row.frames)?;
        }
        map.end()
    }
}

struct Members<'f>(&'f Fields);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(&**name, &Of(value)))?;
        map.end()
    }
}

struct Of<'f>(&'f FieldValue);

impl Serialize for Of<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            FieldValue::Null => serializer.serialize_none(),
            FieldValue::Flag(flag) => serializer.serialize_bool(*flag),
            FieldValue::Unsigned(number) => serializer.serialize_u64(*number),
            FieldValue::Signed(number) => serializer.serialize_i64(*number),
            FieldValue::Float(number) if number.is_finite() => serializer.serialize_f32(*number),
            FieldValue::Double(number) if number.is_finite() => serializer.serialize_f64(*number),
            FieldValue::Object(fields) => Members(fields).serialize(serializer),
            FieldValue::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(&Of(value)))?;
                list.end()
            }
            other => serializer.serialize_str(&other.text()),
        }
    }
}

fn json_text(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    let _ = json::compact(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn cells_of(row: &EventRow<'_>) -> [String; 21] {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    [
        format!("{}", row.time.seconds()),
        number(row.processor.map(Into::into)),
        row.process.clone().unwrap_or_default(),
        number(row.process_id.map(Into::into)),
        number(row.thread_id.map(Into::into)),
        row.provider.clone(),
        row.provider_guid.map(|guid| guid.to_string()).unwrap_or_default(),
        row.event.clone(),
        match row.id {
            RowId::Number(number) => number.to_string(),
            RowId::Hook(hook) => format!("0x{hook:04x}"),
            RowId::None => String::new(),
        },
        row.version.to_string(),
        number(row.opcode.map(Into::into)),
        number(row.task.map(Into::into)),
        number(row.level.map(Into::into)),
        row.keywords.map(|keywords| format!("0x{keywords:x}")).unwrap_or_default(),
        row.schema.map(|source| source.name().to_owned()).unwrap_or_default(),
        row.payload.len().to_string(),
        row.fields.as_ref().map(|fields| json_text(&Members(fields))).unwrap_or_default(),
        row.missing.join("+"),
        hex(row.rest),
        if row.schema.is_none() { hex(row.payload) } else { String::new() },
        // As in `stacks`: outermost first, and a `;` inside a name becomes `:`.
        row.frames.iter().rev().map(|frame| frame.replace(';', ":")).collect::<Vec<_>>().join(";"),
    ]
}

/// `  1.234567    3  chrome.exe (1234)  Process: Start  ProcessId=12 ...`, cut to a width.
fn line(row: &EventRow<'_>, width: usize) -> String {
    let processor = row.processor.map(|processor| processor.to_string()).unwrap_or_default();
    let process = row.process.as_deref().unwrap_or("-");
    // Names of kernel events begin with their class.
    let is_told = row.provider == "kernel" || row.event.starts_with(&format!("{}: ", row.provider));
    let provider = if is_told { String::new() } else { format!("{} ", row.provider) };
    let mut text = format!("{:>10.6}  {processor:>3}  {process}  {provider}{}", row.time.seconds(), row.event);
    for (name, value) in row.fields.iter().flatten() {
        if text.len() > 4 * width {
            break;
        }
        let shown = match value {
            FieldValue::Text(text) => text.clone(),
            other => json_text(&Of(other)).trim_matches('"').to_owned(),
        };
        let _ = write!(text, "  {name}={shown}");
    }
    if row.schema.is_none() && !row.payload.is_empty() {
        let shown = row.payload.get(..row.payload.len().min(width)).unwrap_or_default();
        let _ = write!(text, "  {} bytes: {}", row.payload.len(), hex(shown));
    }
    if !row.missing.is_empty() {
        let _ = write!(text, "  (missing: {})", row.missing.join(", "));
    }
    if !row.rest.is_empty() {
        let _ = write!(text, "  (rest: {} bytes)", row.rest.len());
    }
    cut(&text, width)
}

/// A line without hidden characters, at most so wide.
fn cut(text: &str, width: usize) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(width) {
        Some((_, _)) => {
            let end = shown.char_indices().nth(width.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", shown.get(..end).unwrap_or_default())
        }
        None => shown.into_owned(),
    }
}
