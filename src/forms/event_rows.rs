//! Rows of events: JSON lines, CSV, and a line of text for each. Keys: docs/json.md, schema `pfnset.event_rows`.

use crate::escape::visible;
use crate::event::fields::value::FieldValue;
use crate::event::fields::value_json::{in_quotes, list, members, quoted, value};
use crate::event::fields::value_text::{decimal, digits, hexadecimal, write_guid};
use crate::forms::csv::{self, Cells};
use crate::load::event_row::{EventRow, RowId};
use crate::units::{Nanos, counted};
use std::fmt::Write as _;
use uuid::Uuid;

/// Forms of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventForm {
    /// One line of text.
    Table,
    /// Comma-separated values with a heading line; fields as JSON. No cell is a formula, because anybody can name an event.
    Csv,
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

/// Columns of a process in a line of so many.
fn process_width(width: usize) -> usize {
    (width / 5).clamp(12, 32)
}

/// The line above the rows. `width`: that of a line of text.
pub fn heading(form: EventForm, width: usize) -> Vec<u8> {
    match form {
        EventForm::Csv => (COLUMNS.join(",") + "\n").into_bytes(),
        EventForm::Table => {
            let process = process_width(width);
            format!("    Time s  CPU  Thread  {:process$}  Event, fields\n", "Process").into_bytes()
        }
        EventForm::Jsonl => Vec::new(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    digits(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

/// A key as it stands before its value: `,"key":`.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":").as_bytes()
    };
}

/// Adds a key before what `write` adds, or null.
#[inline(always)]
fn entry<T>(out: &mut Vec<u8>, key: &[u8], value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    out.extend_from_slice(key);
    match value {
        Some(value) => write(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

#[inline(always)]
fn number(out: &mut Vec<u8>, key: &[u8], value: Option<impl Into<u64>>) {
    entry(out, key, value, |out, value| decimal(out, value.into()));
}

fn texts(out: &mut Vec<u8>, key: &[u8], texts: &[String]) {
    if !texts.is_empty() {
        entry(out, key, Some(()), |out, ()| list(out, texts, |out, text| quoted(out, text)));
    }
}

/// Adds seconds with as many of the nine digits as are needed, at least one.
fn seconds(out: &mut Vec<u8>, time: Nanos) {
    const SECOND: u64 = 1_000_000_000;
    if time.0 < 0 {
        out.push(b'-');
    }
    let nanos = time.0.unsigned_abs();
    let (whole, mut rest) = match u64::try_from(nanos) {
        Ok(nanos) => (nanos / SECOND, nanos % SECOND),
        // Centuries; division of 128 bits is slow.
        Err(_) => {
            let whole = u64::try_from(nanos / u128::from(SECOND)).unwrap_or(u64::MAX);
            (whole, (nanos % u128::from(SECOND)) as u64)
        }
    };
    decimal(out, whole);
    let mut text = *b".000000000";
    for digit in text.iter_mut().skip(1).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let zeros = text.iter().skip(2).rev().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(text.get(..text.len() - zeros).unwrap_or_default());
}

/// What rows of one kind have in common, and its text: `,"provider":…` up to `"schema":…`.
#[derive(Debug, Default)]
struct KindText {
    provider: String,
    event: String,
    numbers: Option<Numbers>,
    text: Vec<u8>,
}

type Numbers = (Option<Uuid>, RowId, u8, Option<u8>, Option<u16>, Option<u8>, Option<u64>, Option<&'static str>);

/// Kinds whose texts are kept: a power of two.
const KINDS: usize = 32;

/// Writes rows of a form; what rows of one kind have in common is kept as text.
#[derive(Debug)]
pub struct RowWriter {
    form: EventForm,
    width: usize,
    /// True when each field was asked for: then those that do not fit stand on further lines.
    wraps: bool,
    kinds: [KindText; KINDS],
}

impl RowWriter {
    /// `width` is that of a line of text.
    pub fn new(form: EventForm, width: usize) -> RowWriter {
        RowWriter { form, width, wraps: false, kinds: Default::default() }
    }

    /// The same; fields that do not fit into a line of text stand on further lines.
    #[must_use]
    pub fn wrapping(self, wraps: bool) -> RowWriter {
        RowWriter { wraps, ..self }
    }

    /// Adds a row up to its stack.
    pub fn row(&mut self, out: &mut Vec<u8>, row: &EventRow<'_>) {
        match self.form {
            EventForm::Jsonl => self.object(out, row),
            EventForm::Csv => {
                // Writing into memory cannot fail.
                let _ = csv::line(out, &cells_of(row), Cells::Safe);
                out.pop(); // the line's end
                out.push(b',');
            }
            EventForm::Table => {
                out.extend(line(row, self.width, self.wraps).as_bytes());
                out.push(b'\n');
            }
        }
    }

    /// Adds the frames of its stack, innermost first, and the end of the row.
    pub fn stack(&mut self, out: &mut Vec<u8>, frames: &[String]) {
        match self.form {
            EventForm::Jsonl => {
                texts(out, key!("frames"), frames);
                out.extend_from_slice(b"}\n");
            }
            EventForm::Csv => {
                // As in `stacks`: outermost first, and a `;` inside a name becomes `:`.
                let names: Vec<String> = frames.iter().rev().map(|frame| frame.replace(';', ":")).collect();
                let text = names.join(";");
                if !text.is_empty() {
                    csv::field(out, &text, Cells::Safe);
                }
                out.push(b'\n');
            }
            EventForm::Table => {
                for frame in frames {
                    out.extend(cut(&format!("{:BELOW$}{frame}", ""), self.width).as_bytes());
                    out.push(b'\n');
                }
            }
        }
    }

    /// Adds the object of a row without its end.
    fn object(&mut self, out: &mut Vec<u8>, row: &EventRow<'_>) {
        out.extend_from_slice(b"{\"time_s\":");
        seconds(out, row.time);
        number(out, key!("processor"), row.processor);
        entry(out, key!("process"), row.process.as_deref(), quoted);
        number(out, key!("pid"), row.process_id);
        number(out, key!("thread"), row.thread_id);
        out.extend_from_slice(self.kind(row));
        number(out, key!("length"), Some(row.payload.len() as u64));
        entry(out, key!("fields"), row.fields.as_ref(), |out, fields| members(out, fields));
        texts(out, key!("missing"), &row.missing);
        let bytes = |out: &mut Vec<u8>, bytes: &[u8]| in_quotes(out, |out| digits(out, bytes));
        if !row.rest.is_empty() {
            entry(out, key!("rest"), Some(row.rest), bytes);
        }
        if row.schema.is_none() {
            entry(out, key!("payload"), Some(row.payload), bytes);
        }
    }

    /// The text of a row's kind.
    fn kind(&mut self, row: &EventRow<'_>) -> &[u8] {
        let schema = row.schema.map(|source| source.name());
        let numbers = (row.provider_guid, row.id, row.version, row.opcode, row.task, row.level, row.keywords, schema);
        let id = match row.id {
            RowId::Hook(id) | RowId::Number(id) => usize::from(id),
            RowId::None => usize::from(row.opcode.unwrap_or(0)),
        };
        let place = id ^ id >> 8 ^ row.event.len();
        let Some(known) = self.kinds.get_mut(place % KINDS) else { return &[] };
        if known.numbers != Some(numbers) || known.event != row.event || known.provider != row.provider {
            known.numbers = Some(numbers);
            str::clone_into(&row.event, &mut known.event);
            str::clone_into(&row.provider, &mut known.provider);
            known.text.clear();
            kind_text(&mut known.text, row);
        }
        &known.text
    }
}

fn kind_text(out: &mut Vec<u8>, row: &EventRow<'_>) {
    entry(out, key!("provider"), Some(&*row.provider), quoted);
    entry(out, key!("provider_guid"), row.provider_guid, |out, guid| in_quotes(out, |out| write_guid(out, guid)));
    entry(out, key!("event"), Some(&*row.event), quoted);
    match row.id {
        RowId::Hook(hook) => entry(out, key!("id"), Some(hook), |out, hook| in_quotes(out, |out| hook_id(out, hook))),
        RowId::Number(id) => number(out, key!("id"), Some(id)),
        RowId::None => number(out, key!("id"), None::<u16>),
    }
    number(out, key!("version"), Some(row.version));
    number(out, key!("opcode"), row.opcode);
    number(out, key!("task"), row.task);
    number(out, key!("level"), row.level);
    entry(out, key!("keywords"), row.keywords, |out, keywords| in_quotes(out, |out| hexadecimal(out, keywords)));
    entry(out, key!("schema"), row.schema.map(|source| source.name()), quoted);
}

/// `0x0223`.
fn hook_id(out: &mut Vec<u8>, hook: u16) {
    out.extend_from_slice(b"0x");
    digits(out, &hook.to_be_bytes());
}

fn json_text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn cells_of(row: &EventRow<'_>) -> [String; 20] {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    [
        format!("{}", row.time.seconds()),
        number(row.processor.map(Into::into)),
        row.process.as_deref().unwrap_or_default().to_owned(),
        number(row.process_id.map(Into::into)),
        number(row.thread_id.map(Into::into)),
        row.provider.to_string(),
        row.provider_guid.map(|guid| guid.to_string()).unwrap_or_default(),
        row.event.to_string(),
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
        row.fields.as_ref().map(|fields| json_text(|out| members(out, fields))).unwrap_or_default(),
        row.missing.join("+"),
        hex(row.rest),
        if row.schema.is_none() { hex(row.payload) } else { String::new() },
    ]
}

/// A process in so many columns: of a long name the middle is left out, so that its id stays.
fn process_cell(label: &str, width: usize) -> String {
    let shown = visible(label);
    let length = shown.chars().count();
    if length <= width {
        return format!("{shown:width$}");
    }
    let id = shown.rfind(" (").map_or(0, |at| shown.get(at..).unwrap_or_default().chars().count()).min(width / 2 + 4);
    let begin: String = shown.chars().take(width.saturating_sub(id + 1)).collect();
    let end: String = shown.chars().skip(length - id).collect();
    format!("{begin}…{end}")
}

/// Names of missing fields that a line has.
const MOST_MISSING: usize = 3;

/// What is wrong with a payload. It stands before the fields: there is always room for it.
fn marks(row: &EventRow<'_>) -> String {
    let mut text = String::new();
    if !row.missing.is_empty() {
        let names = row.missing.iter().take(MOST_MISSING).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = row.missing.len().saturating_sub(MOST_MISSING);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = write!(text, "  (missing: {names}{more})");
    }
    if !row.rest.is_empty() {
        let _ = write!(text, "  (rest: {})", bytes(row.rest));
    }
    text
}

fn bytes(bytes: &[u8]) -> String {
    counted(bytes.len() as u64, "byte", "bytes")
}

/// Where lines below a row begin.
const BELOW: usize = 27;

/// `  1.234567    3    5678  chrome.exe (1234)  Process: Start  ProcessId=12 ...`, cut to a width; or with fields on lines below.
fn line(row: &EventRow<'_>, width: usize, wraps: bool) -> String {
    let processor = row.processor.map(|processor| processor.to_string()).unwrap_or_default();
    let thread = row.thread_id.map_or_else(|| "-".to_owned(), |thread| thread.to_string());
    let process = process_cell(row.process.as_deref().unwrap_or("-"), process_width(width));
    // Names of kernel events begin with their class.
    let is_told = row.provider == "kernel" || row.event.starts_with(&format!("{}: ", row.provider));
    let provider = if is_told { String::new() } else { format!("{} ", row.provider) };
    let time = row.time.seconds();
    let mut text =
        format!("{time:>10.6}  {processor:>3}  {thread:>6}  {process}  {provider}{}{}", row.event, marks(row));
    let mut lines = Vec::new();
    for (name, own) in row.fields.iter().flatten() {
        if !wraps && text.len() > 4 * width {
            break;
        }
        let shown = match own {
            FieldValue::Text(text) => text.to_string(),
            other => json_text(|out| value(out, other)).trim_matches('"').to_owned(),
        };
        let field = format!("  {name}={shown}");
        if wraps && visible(&text).chars().count() + visible(&field).chars().count() > width {
            lines.push(std::mem::replace(&mut text, format!("{:1$}", "", BELOW.min(width / 3))));
        }
        text += &field;
    }
    if row.schema.is_none() && !row.payload.is_empty() {
        let shown = row.payload.get(..row.payload.len().min(width)).unwrap_or_default();
        let _ = write!(text, "  {}: {}", bytes(row.payload), hex(shown));
    }
    lines.push(text);
    lines.iter().map(|text| cut(text, width)).collect::<Vec<_>>().join("\n")
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
