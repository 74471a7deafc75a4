//! The answer of `pfnset events`. Wire format: docs/json.md, schema `pfnset.events`.

use crate::analysis::events::EventStatistics;
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::text_block::Block;
use crate::load::sha256_digest::TraceDigest;
use serde_json::json;
use std::collections::BTreeMap;

/// The answer of these results.
pub fn answer<'a>(statistics: &'a EventStatistics, digest: Option<&TraceDigest>) -> Answer<'a> {
    let by_header: BTreeMap<String, u64> =
        statistics.by_header.iter().map(|(kind, count)| (kind.name(), *count)).collect();
    let by_processor = statistics.by_processor.iter();
    let by_processor = by_processor.map(|(processor, count)| json!({ "processor": processor, "count": count }));
    let mut facts = Facts::of_trace()
        .is("total", statistics.total)
        .is("total_bytes", statistics.total_bytes)
        .is("by_header", by_header)
        .is("by_processor", by_processor.collect::<Vec<_>>())
        .is("hidden_events", statistics.hidden.1)
        .has("events", Fact::Rows(0));
    let mut screen = vec![Block::Rows(0)];
    if let Some(digest) = digest {
        let (payloads, timestamps) = (&digest.payloads_sha256, &digest.timestamps_sha256);
        facts = facts.is("digest", json!({ "payloads_sha256": payloads, "timestamps_sha256": timestamps }));
        screen.push(Block::Blank);
        screen.push(Block::Line(format!("payloads   sha256 {payloads}")));
        screen.push(Block::Line(format!("timestamps sha256 {timestamps}")));
    }
    Answer {
        warnings: statistics.warnings.clone(),
        facts,
        tables: vec![statistics.table().into()],
        screen: Some(screen),
        ..Answer::new("pfnset.events")
    }
}
