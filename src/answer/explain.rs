//! The answer of `pfnset resident --explain`. Wire format: docs/json.md, schema `pfnset.explain`.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::explain::{
    AddressEvent, CitedEvent, ExplainedAddress, ExplainedPage, Explanation, Fact as Joined, InSnapshot, Target,
};
use crate::analysis::table::{NO_LABEL, Table};
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::Facts;
use crate::answer::numbers;
use crate::answer::text_block::Block;
use crate::dimensions::LabelKind;
use crate::units::{Nanos, PAGE_BYTES, counted};
use serde_json::{Value, json};
use std::path::Path;

/// Column of the texts beside labels.
const COLUMN: usize = 16;

/// Most frames of a stack that people see.
const MOST_FRAMES: usize = 40;

/// The answer of this explanation of the trace at `path`.
pub fn answer<'a>(explanation: &'a Explanation, path: &Path) -> Answer<'a> {
    let target = match explanation.target {
        Target::Pfn(pfn) => json!({ "pfn": pfn }),
        Target::Address { process_id, address } => json!({ "pid": process_id, "address": hex(address) }),
    };
    let found = json!({
        "target": target,
        "snapshot_count": explanation.snapshot_count,
        "snapshots": explanation.snapshots.iter().map(snapshot).collect::<Vec<_>>(),
    });
    let mut rows = Vec::new();
    let head = json!({
        "schema": "pfnset.explain",
        "version": 1,
        "trace": path.display().to_string(),
        "warnings": explanation.warnings.texts(),
    });
    [&head, &found].into_iter().for_each(|part| flatten("", part, &mut rows));
    Answer {
        warnings: explanation.warnings.clone(),
        facts: Facts::of_trace().all(found),
        tables: vec![
            Table::of_texts([("path", "Path"), ("value", "Value")], rows.into_iter().map(<[String; 2]>::from)).into(),
        ],
        screen: Some(screen(explanation)),
        ..Answer::new("pfnset.explain")
    }
}

fn screen(explanation: &Explanation) -> Vec<Block> {
    let mut lines = Lines { blocks: Vec::new(), explanation };
    for (number, snapshot) in explanation.snapshots.iter().enumerate() {
        if number > 0 {
            lines.blocks.push(Block::Blank);
        }
        lines.snapshot(snapshot);
    }
    lines.blocks
}

/// Labels with texts beside them.
struct Lines<'e> {
    blocks: Vec<Block>,
    /// Knows paths as users know them.
    explanation: &'e Explanation,
}

impl Lines<'_> {
    fn title(&mut self, text: String) {
        self.blocks.push(Block::Title(text));
    }

    fn line(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Line(text.into()));
    }

    fn blank(&mut self) {
        self.blocks.push(Block::Blank);
    }

    fn pair(&mut self, left: &str, right: &str) {
        self.blocks.push(Block::Pair(left.to_owned(), COLUMN, self.explanation.shown(right).to_string()));
    }

    fn snapshot(&mut self, snapshot: &InSnapshot) {
        let which = numbers::which_snapshot(snapshot.index, self.explanation.snapshot_count);
        let which = which.map_or_else(String::new, |which| format!("in {which}, "));
        let at = format!("{which}at {:.3} s", snapshot.time.seconds());
        let is_address = matches!(self.explanation.target, Target::Address { .. });
        if let Target::Address { address, .. } = self.explanation.target {
            let process = snapshot.process.as_deref().unwrap_or(NO_LABEL);
            self.title(format!("Address 0x{address:x} of {process} {at}"));
            match (snapshot.pages.len() + snapshot.more_pages) as u64 {
                0 => self.pair("Resident", "no page at this address"),
                pages => self.pair("Resident", &counted(pages, "page", "pages")),
            }
        }
        for page in &snapshot.pages {
            if is_address {
                self.blank();
            }
            let (pfn, physical) = (page.record.page.pfn, page.record.page.pfn.wrapping_mul(PAGE_BYTES));
            self.title(format!("PFN 0x{pfn:x} (physical address 0x{physical:x}) {at}"));
            self.page(page);
        }
        if snapshot.more_pages > 0 {
            self.blank();
            self.line(format!("+ {} more pages at this address", numbers::count(snapshot.more_pages as u64)));
        }
        if let Some(absent) = &snapshot.absent {
            self.absent(absent);
        }
    }

    fn page(&mut self, page: &ExplainedPage) {
        let record = &page.record;
        let place = match record.file_offset {
            Some(offset) => format!("file offset {offset}"),
            None => format!("0x{:x} of the event area of the compressed buffer {}", record.area_offset, record.buffer),
        };
        self.pair("Record", &format!("{} version {}, {place}", show_event(&page.event), record.version));
        self.pair("Flags word", &format!("0x{:016x}", page.record.page.flags));
        for field in &page.fields {
            let left = if field.bits == "u2" { "u2".to_owned() } else { format!("  {}", field.bits) };
            let name = if field.bits == "u2" { "" } else { field.name };
            let value = match field.value {
                _ if field.bits == "u2" => format!("0x{:016x}", field.value),
                0..10 => field.value.to_string(),
                _ => format!("0x{:x}", field.value),
            };
            let line = if name.is_empty() {
                format!("{value}, {}", field.meaning)
            } else {
                format!("{name:<14} {value:<15} {}", field.meaning)
            };
            self.pair(&left, &line);
        }
        self.pair("Shown under", page.process.shown());
        if page.detail.kind() != LabelKind::Nothing {
            self.pair("Detail", &page.detail);
        }
        self.joined(&page.facts, &page.history, page.more_history);
        if let Some(frames) = &page.commit_stack {
            self.commit_stack(frames);
        }
        self.blank();
        self.decision("Corrected", page.rule);
        self.decision("WPA", page.rule_wpa);
    }

    fn commit_stack(&mut self, frames: &[String]) {
        self.blank();
        self.line("Committed by, innermost frame first");
        frames.iter().take(MOST_FRAMES).for_each(|frame| self.line(format!("  {frame}")));
        if let Some(more @ 1..) = frames.len().checked_sub(MOST_FRAMES) {
            self.line(format!("  + {} more", numbers::count(more as u64)));
        }
    }

    fn absent(&mut self, address: &ExplainedAddress) {
        self.joined(&address.facts, &address.history, address.more_history);
        let Some((corrected, wpa)) = address.would_be else { return };
        self.blank();
        self.line("A private page at this address would be");
        self.decision("Corrected", corrected);
        self.decision("WPA", wpa);
        if address.facts.iter().any(|fact| fact.kind == "view") {
            self.pair("Note", "shareable pages of a view name their file, not an address: pfnset pages --where file=…");
        }
    }

    fn joined(&mut self, facts: &[Joined], history: &[AddressEvent], more: usize) {
        if !facts.is_empty() {
            self.blank();
            self.line("Joined with");
        }
        for fact in facts {
            let decides = match (fact.corrected, fact.wpa) {
                // No-break spaces: the mark stays in one piece.
                (true, true) => "  ←\u{a0}decides",
                (true, false) => "  ←\u{a0}decides\u{a0}(corrected)",
                (false, true) => "  ←\u{a0}decides\u{a0}(WPA)",
                (false, false) => "",
            };
            let range = fact.range.map(|range| format!("{}, ", show_range(range))).unwrap_or_default();
            self.pair(&format!("  {}", fact.title), &format!("{range}{}{decides}", fact.text));
            if !fact.events.is_empty() {
                let events: Vec<String> = fact.events.iter().map(show_event).collect();
                self.pair("", &format!("by {}", events.join("; ")));
            }
        }
        // Events that only repeat the lines above are in JSON alone.
        let is_told = |seen: &AddressEvent| facts.iter().any(|fact| fact.events.contains(&seen.event));
        if history.iter().all(|seen| seen.rundown || is_told(seen)) {
            return;
        }
        let left_out = if more > 0 { format!(" ({} not shown)", numbers::count(more as u64)) } else { String::new() };
        self.blank();
        self.line(format!("Events, in order{left_out}"));
        let mut after = false;
        for seen in history {
            if seen.after && !after {
                after = true;
                self.pair("", "— the snapshot —");
            }
            let range = seen.range.map(|range| format!("  {}", show_range(range))).unwrap_or_default();
            let more = if seen.text.is_empty() { String::new() } else { format!("  {}", seen.text) };
            let time = format!("  {} s", numbers::seconds(seen.event.time));
            self.pair(&time, &format!("{}{range}{more}", seen.event.name));
        }
    }

    fn decision(&mut self, whose: &str, rule: Rule) {
        self.pair(whose, rule.category().name());
        self.pair("", &format!("{} [{}]", rule.text(), rule.id()));
    }
}

fn show_range((base, end): (u64, u64)) -> String {
    format!("0x{base:x}–0x{end:x}")
}

fn show_event(event: &CitedEvent) -> String {
    format!("{} ({}) at {} s", event.name, event.hook, numbers::seconds(event.time))
}

fn hex(value: u64) -> String {
    format!("0x{value:x}")
}

fn seconds(time: Nanos) -> Value {
    json!(time.seconds())
}

fn snapshot(snapshot: &InSnapshot) -> Value {
    json!({
        "index": snapshot.index,
        "time_s": seconds(snapshot.time),
        "owner_keys": snapshot.reading.name(),
        "process": snapshot.process,
        "pages": snapshot.pages.iter().map(page).collect::<Vec<_>>(),
        "more_pages": snapshot.more_pages,
        "absent": snapshot.absent.as_ref().map(|absent| json!({
            "facts": absent.facts.iter().map(fact).collect::<Vec<_>>(),
            "events": absent.history.iter().map(seen).collect::<Vec<_>>(),
            "more_events": absent.more_history,
            "would_be": absent.would_be.map(|(corrected, _)| decision(corrected)),
            "would_be_wpa": absent.would_be.map(|(_, wpa)| decision(wpa)),
        })),
    })
}

fn page(page: &ExplainedPage) -> Value {
    let fields = page.fields.iter().map(
        |field| json!({ "name": field.name, "bits": field.bits, "value": hex(field.value), "meaning": field.meaning }),
    );
    json!({
        "pfn": page.record.page.pfn,
        "flags": hex(page.record.page.flags),
        "u2": hex(page.record.page.u2),
        "record": {
            "name": page.event.name,
            "hook": page.event.hook.to_string(),
            "version": page.record.version,
            "time_s": seconds(page.event.time),
            "buffer": page.record.buffer,
            "area_offset": page.record.area_offset,
            "file_offset": page.record.file_offset.map(|offset| offset.0),
        },
        "fields": fields.collect::<Vec<_>>(),
        "process": page.process.as_str(),
        "detail": page.detail.as_str(),
        "facts": page.facts.iter().map(fact).collect::<Vec<_>>(),
        "commit_stack": page.commit_stack,
        "events": page.history.iter().map(seen).collect::<Vec<_>>(),
        "more_events": page.more_history,
        "category": decision(page.rule),
        "category_wpa": decision(page.rule_wpa),
    })
}

fn fact(fact: &Joined) -> Value {
    json!({
        "kind": fact.kind,
        "text": fact.text,
        "base": fact.range.map(|(base, _)| hex(base)),
        "end": fact.range.map(|(_, end)| hex(end)),
        "events": fact.events.iter().map(event).collect::<Vec<_>>(),
        "decides": fact.corrected,
        "decides_wpa": fact.wpa,
    })
}

fn seen(seen: &AddressEvent) -> Value {
    let mut value = event(&seen.event);
    if let Some(object) = value.as_object_mut() {
        object.insert("base".into(), json!(seen.range.map(|(base, _)| hex(base))));
        object.insert("end".into(), json!(seen.range.map(|(_, end)| hex(end))));
        object.insert("text".into(), json!(seen.text));
        object.insert("after_snapshot".into(), json!(seen.after));
    }
    value
}

fn event(event: &CitedEvent) -> Value {
    json!({ "name": event.name, "hook": event.hook.to_string(), "time_s": seconds(event.time) })
}

fn decision(rule: Rule) -> Value {
    json!({ "name": rule.category().name(), "rule": rule.id(), "text": rule.text() })
}

/// Every value with its path, `snapshots.0.pages.0.pfn`.
fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| flatten(&below(key), value, rows)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| flatten(&below(&at.to_string()), value, rows));
        }
        Value::Null => rows.push((path.to_owned(), String::new())),
        Value::String(text) => rows.push((path.to_owned(), text.clone())),
        other => rows.push((path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_rows_have_paths() {
        let mut rows = Vec::new();
        flatten("", &json!({ "a": [1, { "b": null }], "c": "x" }), &mut rows);
        let rows: Vec<(&str, &str)> = rows.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        assert_eq!(rows, [("a.0", "1"), ("a.1.b", ""), ("c", "x")]);
    }
}
