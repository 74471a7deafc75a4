//! Trace statistics (`pfnset events`): one row for each kind of event, with its name, from the survey's counts.

use crate::analysis::table::{Align, Column, Field, Fit, Forms, Line, Table, Value};
use crate::etl::record::HeaderType;
use crate::etl::record_id::{HookId, RecordId};
use crate::event::event_names;
use crate::load::event_kind_counts::KindCount;
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Which rows are shown. Totals are never filtered.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Matches the provider's name, group, GUID, or "kernel".
    pub provider: Patterns,
    /// Matches one of the event's names (WPA's, xperf's, those of its other versions) or its id.
    pub name: Patterns,
}

/// What identifies an event among those of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventNumber {
    /// Kernel event.
    Hook(HookId),
    /// Manifest event id.
    Id(u16),
    /// Classic event type.
    Opcode(u8),
    /// WPP message number.
    Message(u16),
    /// Header type without a public layout.
    Header(HeaderType),
}

/// One kind and version of event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventRow {
    /// GUID in lower case, `kernel`, or `unknown` for headers without a public layout.
    pub provider: String,
    /// Kernel group, class or provider by name.
    pub group: Option<String>,
    /// Id inside the provider.
    pub number: EventNumber,
    /// Event version.
    pub version: u8,
    /// Name as in WPA.
    pub name: Option<String>,
    /// Name in xperf.
    pub xperf: Option<&'static str>,
    /// All names that filters know it by.
    pub aliases: Vec<&'static str>,
    /// Records.
    pub count: u64,
    /// Bytes with headers, without padding.
    pub bytes: u64,
    /// Earliest, since trace start.
    pub first: Nanos,
    /// Latest.
    pub last: Nanos,
    /// Processors on which such events were logged.
    pub processors: u64,
}

/// What `pfnset events` shows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventStatistics {
    /// Records of the file.
    pub total: u64,
    /// Bytes of all records with headers, without padding.
    pub total_bytes: u64,
    /// By header type.
    pub by_header: BTreeMap<HeaderType, u64>,
    /// By processor.
    pub by_processor: BTreeMap<u16, u64>,
    /// Rows that pass the filter, most frequent first.
    pub rows: Vec<EventRow>,
    /// Kinds that the filter hides; their records and those of kinds beyond
    /// [`MOST_KINDS`](crate::load::survey::Survey::MOST_KINDS).
    pub hidden: (u64, u64),
    /// Warnings, most important first.
    pub warnings: Warnings,
}

impl EventStatistics {
    /// Names and filters the survey's counts.
    pub fn answer(trace: &Trace, filter: &EventFilter) -> EventStatistics {
        let (survey, trust) = (trace.survey(), trace.trust());
        let (rows, hidden): (Vec<_>, Vec<_>) =
            survey.kinds.iter().map(|kind| row(trace, kind)).partition(|row| passes(row, filter));
        EventStatistics {
            total: survey.total,
            total_bytes: survey.kinds.iter().map(|k| k.bytes).sum::<u64>() + survey.unlisted.1,
            by_header: survey.by_header.clone(),
            by_processor: survey.by_processor.clone(),
            rows,
            hidden: (hidden.len() as u64, hidden.iter().map(|row| row.count).sum::<u64>() + survey.unlisted.0),
            warnings: trust.warnings(),
        }
    }

    /// True when data was lost or the file is damaged.
    pub fn is_doubtful(&self) -> bool {
        self.warnings.is_doubtful()
    }

    /// One row for each kind, then what is hidden and the total.
    pub fn table(&self) -> Table {
        let stays = |title| Column::number(title);
        let leaves = |title, order| Column::number(title).fit(Fit::Leaves(order));
        let numbers = [
            stays("Count"),
            leaves("Bytes", 4),
            leaves("First s", 2),
            leaves("Last s", 1),
            leaves("CPUs", 0),
            Column { align: Align::Left, ..stays("Id") },
            leaves("Ver", 3),
        ];
        let mut table = Table {
            fields: FIELDS.map(|(name, forms)| Field::only(name, forms)).to_vec(),
            columns: numbers.into_iter().chain([Column::text("Event").fit(Fit::Wraps)]).collect(),
            records: self.rows.iter().map(record).collect(),
            lines: self.rows.iter().map(line).collect(),
            ..Table::default()
        };
        let nothing = || Value::Nothing;
        if self.hidden.1 > 0 {
            let blanks = std::iter::repeat_with(nothing).take(6);
            let hidden = Value::More(self.hidden.0, "kinds not shown");
            table.lines.push(Line::new([Value::count(self.hidden.1)].into_iter().chain(blanks).chain([hidden])));
        }
        let processors = Value::Number(self.by_processor.len() as u64);
        table.lines.push(Line::new([
            Value::count(self.total),
            Value::Bytes(self.total_bytes),
            nothing(),
            nothing(),
            processors,
            nothing(),
            nothing(),
            Value::text("Total"),
        ]));
        table
    }
}

/// What identifies an event among those of its provider: one text in CSV, one of four keys in JSON.
const FIELDS: [(&str, Forms); 15] = [
    ("provider", Forms::All),
    ("group", Forms::All),
    ("number", Forms::Csv),
    ("id", Forms::Json),
    ("opcode", Forms::Json),
    ("message", Forms::Json),
    ("header", Forms::Json),
    ("version", Forms::All),
    ("name", Forms::All),
    ("xperf", Forms::All),
    ("count", Forms::All),
    ("bytes", Forms::All),
    ("first_s", Forms::All),
    ("last_s", Forms::All),
    ("processors", Forms::All),
];

fn record(row: &EventRow) -> Vec<Value> {
    let [mut id, mut opcode, mut message, mut header] = [const { Value::Absent }; 4];
    match row.number {
        EventNumber::Hook(hook) => id = Value::text(hook.to_string()),
        EventNumber::Id(number) => id = Value::Number(number.into()),
        EventNumber::Opcode(number) => opcode = Value::Number(number.into()),
        EventNumber::Message(number) => message = Value::Number(number.into()),
        EventNumber::Header(kind) => header = Value::text(kind.name()),
    }
    vec![
        Value::text(&row.provider),
        Value::maybe(row.group.as_deref(), Value::text),
        Value::text(row.number.text()),
        id,
        opcode,
        message,
        header,
        Value::Number(row.version.into()),
        Value::maybe(row.name.as_deref(), Value::text),
        Value::maybe(row.xperf, Value::text),
        Value::count(row.count),
        Value::Bytes(row.bytes),
        Value::ExactSeconds(row.first),
        Value::ExactSeconds(row.last),
        Value::Number(row.processors),
    ]
}

fn line(row: &EventRow) -> Line {
    Line::new([
        Value::count(row.count),
        Value::Bytes(row.bytes),
        Value::Seconds(row.first),
        Value::Seconds(row.last),
        Value::Number(row.processors),
        Value::text(row.number.text()),
        Value::Number(row.version.into()),
        Value::text(label(row)),
    ])
}

/// Name with xperf's beside it, or what identifies an event without a name.
fn label(row: &EventRow) -> String {
    let group = row.group.as_deref();
    let provider = match (row.provider.as_str(), group) {
        ("kernel", _) => None,
        (guid, None) => Some(guid.to_owned()),
        (_, Some(group)) => Some(group.to_owned()),
    };
    let alias = row.xperf.map_or_else(String::new, |xperf| format!(" ({xperf})"));
    match (provider, &row.name) {
        (None, Some(name)) => format!("{name}{alias}"),
        (None, None) => format!("{} (no public name)", group.unwrap_or("kernel")),
        (Some(provider), Some(name)) if !name.starts_with(&provider) => format!("{provider}: {name}{alias}"),
        (Some(_), Some(name)) => format!("{name}{alias}"),
        (Some(provider), None) => provider,
    }
}

fn passes(row: &EventRow, filter: &EventFilter) -> bool {
    let number = row.number.text();
    filter.provider.matches_any(&[&row.provider, row.group.as_deref().unwrap_or("")])
        && filter.name.matches_any(&[&[row.name.as_deref().unwrap_or(""), &number], &row.aliases[..]].concat())
}

impl EventNumber {
    /// The number as people write it: `0x0223`, `7`, `type 33`, `message 43`.
    pub fn text(&self) -> String {
        match self {
            EventNumber::Hook(hook) => hook.to_string(),
            EventNumber::Id(id) => id.to_string(),
            EventNumber::Opcode(opcode) => format!("type {opcode}"),
            EventNumber::Message(number) => format!("message {number}"),
            EventNumber::Header(header) => format!("header {}", header.name()),
        }
    }
}

fn row(trace: &Trace, kind: &KindCount) -> EventRow {
    let (provider, number) = match kind.id {
        RecordId::Kernel(hook) => ("kernel".to_owned(), EventNumber::Hook(hook)),
        RecordId::Classic { class, opcode } => (class.to_string(), EventNumber::Opcode(opcode)),
        RecordId::Manifest { provider, id } => (provider.to_string(), EventNumber::Id(id)),
        RecordId::Message { guid, number } => (guid.to_string(), EventNumber::Message(number)),
        RecordId::Opaque(header) => ("unknown".to_owned(), EventNumber::Header(header)),
    };
    let known = event_names::name(kind.id);
    let guid = match kind.id {
        RecordId::Classic { class: guid, .. } | RecordId::Manifest { provider: guid, .. } => Some(guid),
        _ => None,
    };
    let group = known.map(|k| k.group()).or_else(|| guid.and_then(event_names::provider_name));
    EventRow {
        provider,
        group: kind.own_provider.clone().or_else(|| group.map(str::to_owned)),
        number,
        version: kind.version,
        name: kind.own_name.clone().or_else(|| known.map(|k| k.name.to_owned())),
        xperf: known.and_then(|k| k.alias),
        aliases: event_names::all_names(kind.id),
        count: kind.count,
        bytes: kind.bytes,
        first: trace.time(kind.first),
        last: trace.time(kind.last),
        processors: kind.processors.len() as u64,
    }
}
