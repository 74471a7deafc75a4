//! `pfnset events` in all forms. Wire format: docs/json.md, schema `pfnset.events`.

use crate::analysis::digest::Digest;
use crate::analysis::statistics::{EventNumber, EventRow, EventStatistics};
use crate::report::table::{Align, TextTable};
use crate::report::{Report, Style, text, to_json};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct EventsReport<'a> {
    trace: &'a Path,
    statistics: &'a EventStatistics,
    digest: Option<&'a Digest>,
}

impl<'a> EventsReport<'a> {
    /// Of these results.
    pub fn new(trace: &'a Path, statistics: &'a EventStatistics, digest: Option<&'a Digest>) -> Self {
        EventsReport { trace, statistics, digest }
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    version: u32,
    trace: String,
    warnings: &'a [String],
    total: u64,
    total_bytes: u64,
    by_header: BTreeMap<String, u64>,
    by_processor: Vec<WireProcessor>,
    hidden_events: u64,
    events: Vec<WireEvent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<WireDigest<'a>>,
}

#[derive(Serialize)]
struct WireProcessor {
    processor: u16,
    count: u64,
}

#[derive(Serialize)]
struct WireEvent<'a> {
    provider: &'a str,
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opcode: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<String>,
    version: u8,
    name: Option<&'a str>,
    xperf: Option<&'a str>,
    count: u64,
    bytes: u64,
    first_s: f64,
    last_s: f64,
    processors: u64,
}

#[derive(Serialize)]
struct WireDigest<'a> {
    payloads_sha256: &'a str,
    timestamps_sha256: &'a str,
}

impl<'a> From<&'a EventRow> for WireEvent<'a> {
    fn from(row: &'a EventRow) -> Self {
        let (mut id, mut opcode, mut message, mut header) = (None, None, None, None);
        match row.number {
            EventNumber::Hook(hook) => id = Some(hook.to_string().into()),
            EventNumber::Id(number) => id = Some(number.into()),
            EventNumber::Opcode(number) => opcode = Some(number),
            EventNumber::Message(number) => message = Some(number),
            EventNumber::Header(kind) => header = Some(kind.name()),
        }
        WireEvent {
            provider: &row.provider,
            group: row.group.as_deref(),
            id,
            opcode,
            message,
            header,
            version: row.version,
            name: row.name.as_deref(),
            xperf: row.xperf,
            count: row.count,
            bytes: row.bytes,
            first_s: row.first.seconds(),
            last_s: row.last.seconds(),
            processors: row.processors,
        }
    }
}

impl Report for EventsReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.statistics.warnings
    }

    fn json(&self) -> serde_json::Value {
        let s = self.statistics;
        to_json(&Wire {
            schema: "pfnset.events",
            version: 1,
            trace: self.trace.display().to_string(),
            warnings: &s.warnings,
            total: s.total,
            total_bytes: s.total_bytes,
            by_header: s.by_header.iter().map(|(kind, count)| (kind.name(), *count)).collect(),
            by_processor: s
                .by_processor
                .iter()
                .map(|(&processor, &count)| WireProcessor { processor, count })
                .collect(),
            hidden_events: s.hidden.1,
            events: s.rows.iter().map(WireEvent::from).collect(),
            digest: self
                .digest
                .map(|d| WireDigest { payloads_sha256: &d.payloads_sha256, timestamps_sha256: &d.timestamps_sha256 }),
        })
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let s = self.statistics;
        text::warnings(out, &s.warnings, style.width)?;
        let mut table = TextTable::new(
            style,
            &[
                ("Count", Align::Right),
                ("Bytes", Align::Right),
                ("First s", Align::Right),
                ("Last s", Align::Right),
                ("CPUs", Align::Right),
                ("Id", Align::Left),
                ("Ver", Align::Right),
                ("Event", Align::Left),
            ],
        )
        .keep_width(5);
        for row in &s.rows {
            table.row([
                text::count(row.count),
                text::bytes(row.bytes),
                text::seconds(row.first),
                text::seconds(row.last),
                row.processors.to_string(),
                row.number.text(),
                row.version.to_string(),
                label(row),
            ]);
        }
        if s.hidden.1 > 0 {
            let what = format!("+ {} kinds not shown", text::count(s.hidden.0));
            table.row([
                text::count(s.hidden.1),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                what,
            ]);
        }
        let processors = s.by_processor.len().to_string();
        let blank = String::new;
        table.row([
            text::count(s.total),
            text::bytes(s.total_bytes),
            blank(),
            blank(),
            processors,
            blank(),
            blank(),
            "Total".into(),
        ]);
        table.print(out)?;
        if let Some(digest) = self.digest {
            writeln!(out, "\npayloads   sha256 {}", digest.payloads_sha256)?;
            writeln!(out, "timestamps sha256 {}", digest.timestamps_sha256)?;
        }
        Ok(())
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record([
            "provider",
            "group",
            "number",
            "version",
            "name",
            "xperf",
            "count",
            "bytes",
            "first_s",
            "last_s",
            "processors",
        ])?;
        for row in &self.statistics.rows {
            csv.write_record([
                &row.provider,
                row.group.as_deref().unwrap_or(""),
                &row.number.text(),
                &row.version.to_string(),
                row.name.as_deref().unwrap_or(""),
                row.xperf.unwrap_or(""),
                &row.count.to_string(),
                &row.bytes.to_string(),
                // All digits, as in JSON: six would round what most clocks count.
                &row.first.seconds().to_string(),
                &row.last.seconds().to_string(),
                &row.processors.to_string(),
            ])?;
        }
        csv.flush()
    }
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
