//! Trace statistics: the survey's counts with names, filtered.

use crate::error::DamageLog;
use crate::etl::EtlFile;
use crate::etl::record::{HeaderType, HookId, RecordId};
use crate::event::catalog;
use crate::load::kinds::KindCount;
use crate::load::survey::Survey;
use crate::pattern::Patterns;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Which rows are shown. Totals are never filtered.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Matches the provider's name, group, GUID, or "kernel".
    pub provider: Patterns,
    /// Matches the event's name, xperf name or id.
    pub name: Patterns,
}

/// How an event is told from others of its provider.
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
    /// Kinds that the filter hides; their records and those of kinds beyond [`Survey::MOST_KINDS`].
    pub hidden: (u64, u64),
    /// Doubts, most important first.
    pub warnings: Vec<String>,
    /// Places that are damaged.
    pub damage: DamageLog,
    /// True when data was lost or the file is damaged.
    doubtful: bool,
}

impl EventStatistics {
    /// Names and filters the survey's counts.
    pub fn new(etl: &EtlFile, survey: &Survey, filter: &EventFilter) -> EventStatistics {
        let (rows, hidden): (Vec<_>, Vec<_>) =
            survey.kinds.iter().map(|kind| row(etl, kind)).partition(|row| passes(row, filter));
        let doubts = crate::analysis::trust::TrustReport::new(etl, survey);
        EventStatistics {
            total: survey.total,
            total_bytes: survey.kinds.iter().map(|k| k.bytes).sum::<u64>() + survey.unlisted.1,
            by_header: survey.by_header.clone(),
            by_processor: survey.by_processor.clone(),
            rows,
            hidden: (hidden.len() as u64, hidden.iter().map(|row| row.count).sum::<u64>() + survey.unlisted.0),
            warnings: doubts.warnings(),
            damage: survey.damage.clone(),
            doubtful: doubts.any(),
        }
    }

    /// True when data was lost or the file is damaged.
    pub fn is_doubtful(&self) -> bool {
        self.doubtful
    }
}

fn passes(row: &EventRow, filter: &EventFilter) -> bool {
    let number = row.number.text();
    filter.provider.matches_any(&[&row.provider, row.group.as_deref().unwrap_or("")])
        && filter.name.matches_any(&[row.name.as_deref().unwrap_or(""), row.xperf.unwrap_or(""), &number])
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

fn row(etl: &EtlFile, kind: &KindCount) -> EventRow {
    let (provider, number) = match kind.id {
        RecordId::Kernel(hook) => ("kernel".to_owned(), EventNumber::Hook(hook)),
        RecordId::Classic { class, opcode } => (class.to_string(), EventNumber::Opcode(opcode)),
        RecordId::Manifest { provider, id } => (provider.to_string(), EventNumber::Id(id)),
        RecordId::Message { guid, number } => (guid.to_string(), EventNumber::Message(number)),
        RecordId::Opaque(header) => ("unknown".to_owned(), EventNumber::Header(header)),
    };
    let known = catalog::name(kind.id);
    let guid = match kind.id {
        RecordId::Classic { class: guid, .. } | RecordId::Manifest { provider: guid, .. } => Some(guid),
        _ => None,
    };
    let group = known.map(|k| k.group()).or_else(|| guid.and_then(catalog::provider_name));
    EventRow {
        provider,
        group: kind.own_provider.clone().or_else(|| group.map(str::to_owned)),
        number,
        version: kind.version,
        name: kind.own_name.clone().or_else(|| known.map(|k| k.name.to_owned())),
        xperf: known.and_then(|k| k.alias),
        count: kind.count,
        bytes: kind.bytes,
        first: etl.clock.nanos(kind.first),
        last: etl.clock.nanos(kind.last),
        processors: kind.processors.len() as u64,
    }
}
