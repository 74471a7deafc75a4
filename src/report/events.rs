//! `pfnset events` in all forms. Wire format: docs/json.md, schema `pfnset.events`.

use crate::analysis::event_statistics::EventStatistics;
use crate::analysis::table::Table;
use crate::load::sha256_digest::TraceDigest;
use crate::report::{Report, Style, table, text};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct EventsReport<'a> {
    trace: &'a Path,
    statistics: &'a EventStatistics,
    digest: Option<&'a TraceDigest>,
}

impl<'a> EventsReport<'a> {
    /// Of these results.
    pub fn new(trace: &'a Path, statistics: &'a EventStatistics, digest: Option<&'a TraceDigest>) -> Self {
        EventsReport { trace, statistics, digest }
    }
}

impl Report for EventsReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.statistics.warnings
    }

    fn json(&self) -> serde_json::Value {
        let s = self.statistics;
        let by_header: BTreeMap<String, u64> = s.by_header.iter().map(|(kind, count)| (kind.name(), *count)).collect();
        let by_processor = s.by_processor.iter();
        let mut object = json!({
            "schema": "pfnset.events",
            "version": 1,
            "trace": self.trace.display().to_string(),
            "warnings": s.warnings,
            "total": s.total,
            "total_bytes": s.total_bytes,
            "by_header": by_header,
            "by_processor": by_processor.map(|(processor, count)| json!({ "processor": processor, "count": count }))
                .collect::<Vec<_>>(),
            "hidden_events": s.hidden.1,
            "events": table::objects(&s.table()),
        });
        if let (Some(object), Some(digest)) = (object.as_object_mut(), self.digest) {
            let digest =
                json!({ "payloads_sha256": digest.payloads_sha256, "timestamps_sha256": digest.timestamps_sha256 });
            object.insert("digest".into(), digest);
        }
        object
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::warnings(out, &self.statistics.warnings, style.width)?;
        table::text(out, &self.statistics.table(), style, self.unit())?;
        if let Some(digest) = self.digest {
            writeln!(out, "\npayloads   sha256 {}", digest.payloads_sha256)?;
            writeln!(out, "timestamps sha256 {}", digest.timestamps_sha256)?;
        }
        Ok(())
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.statistics.table()]
    }
}
