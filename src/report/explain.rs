//! `pfnset resident --explain` in all forms. Wire format: docs/json.md, schema `pfnset.explain`.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::explain::{
    AddressEvent, CitedEvent, ExplainedAddress, ExplainedPage, Explanation, Fact, InSnapshot, Target,
};
use crate::analysis::table::Table;
use crate::report::{Report, Style, text};
use crate::units::{Nanos, PAGE_BYTES};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct ExplainReport<'a> {
    trace: &'a Path,
    answer: &'a Explanation,
}

/// Width of the first column.
const LEFT: usize = 16;

impl<'a> ExplainReport<'a> {
    /// Of this answer.
    pub fn new(trace: &'a Path, answer: &'a Explanation) -> Self {
        ExplainReport { trace, answer }
    }
}

impl Report for ExplainReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.answer.warnings
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let answer = self.answer;
        text::warnings(out, &answer.warnings, style.width)?;
        let mut lines = Lines { out, width: usize::from(style.width), answer };
        for (number, snapshot) in answer.snapshots.iter().enumerate() {
            if number > 0 {
                writeln!(lines.out)?;
            }
            let which = text::which_snapshot(snapshot.index, answer.snapshot_count);
            let which = which.map_or_else(String::new, |which| format!("in {which}, "));
            let at = format!("{which}at {:.3} s", snapshot.time.seconds());
            if let Target::Address { address, .. } = answer.target {
                let process = snapshot.process.as_deref().unwrap_or("n/a");
                text::heading(lines.out, &format!("Address 0x{address:x} of {process} {at}"))?;
                let pages = snapshot.pages.len() + snapshot.more_pages;
                match pages {
                    0 => lines.pair("Resident", "no page at this address")?,
                    1 => lines.pair("Resident", "1 page")?,
                    _ => lines.pair("Resident", &format!("{} pages", text::count(pages as u64)))?,
                }
            }
            for page in &snapshot.pages {
                if let Target::Address { .. } = answer.target {
                    writeln!(lines.out)?;
                }
                let (pfn, physical) = (page.record.page.pfn, page.record.page.pfn.wrapping_mul(PAGE_BYTES));
                text::heading(lines.out, &format!("PFN 0x{pfn:x} (physical address 0x{physical:x}) {at}"))?;
                lines.page(page)?;
            }
            if snapshot.more_pages > 0 {
                writeln!(lines.out, "\n+ {} more pages at this address", text::count(snapshot.more_pages as u64))?;
            }
            if let Some(absent) = &snapshot.absent {
                lines.absent(absent)?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let target = match self.answer.target {
            Target::Pfn(pfn) => json!({ "pfn": pfn }),
            Target::Address { process_id, address } => json!({ "pid": process_id, "address": hex(address) }),
        };
        json!({
            "schema": "pfnset.explain",
            "version": 1,
            "trace": self.trace.display().to_string(),
            "warnings": self.answer.warnings,
            "target": target,
            "snapshot_count": self.answer.snapshot_count,
            "snapshots": self.answer.snapshots.iter().map(snapshot).collect::<Vec<_>>(),
        })
    }

    fn tables(&self) -> Vec<Table> {
        let mut rows = Vec::new();
        flatten("", &self.json(), &mut rows);
        vec![Table::of_texts([("path", "Path"), ("value", "Value")], rows.into_iter().map(<[String; 2]>::from))]
    }
}

/// Text with a left column, wrapped.
struct Lines<'o> {
    out: &'o mut dyn Write,
    width: usize,
    /// Knows paths as users know them.
    answer: &'o Explanation,
}

impl Lines<'_> {
    fn pair(&mut self, left: &str, right: &str) -> io::Result<()> {
        let mut left = left;
        for line in text::wrap(&self.answer.shown(right), self.width.saturating_sub(LEFT).max(20)) {
            writeln!(self.out, "{}", format!("{left:<LEFT$}{line}").trim_end())?;
            left = "";
        }
        Ok(())
    }

    fn page(&mut self, page: &ExplainedPage) -> io::Result<()> {
        let record = &page.record;
        let place = match record.file_offset {
            Some(offset) => format!("file offset {offset}"),
            None => format!("0x{:x} of the event area of the compressed buffer {}", record.area_offset, record.buffer),
        };
        self.pair("Record", &format!("{} version {}, {place}", show_event(&page.event), record.version))?;
        self.pair("Flags word", &format!("0x{:016x}", page.record.page.flags))?;
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
            self.pair(&left, &line)?;
        }
        if page.process != "n/a" {
            self.pair("Shown under", &page.process)?;
        }
        if page.detail != "n/a" {
            self.pair("Detail", &page.detail)?;
        }
        self.joined(&page.facts, &page.history, page.more_history)?;
        writeln!(self.out)?;
        self.decision("Corrected", page.rule)?;
        self.decision("WPA", page.rule_wpa)
    }

    fn absent(&mut self, address: &ExplainedAddress) -> io::Result<()> {
        self.joined(&address.facts, &address.history, address.more_history)?;
        let Some((corrected, wpa)) = address.would_be else { return Ok(()) };
        writeln!(self.out, "\nA private page at this address would be")?;
        self.decision("Corrected", corrected)?;
        self.decision("WPA", wpa)?;
        if address.facts.iter().any(|fact| fact.kind == "view") {
            self.pair(
                "Note",
                "shareable pages of a view name their file, not an address: pfnset pages --where file=…",
            )?;
        }
        Ok(())
    }

    fn joined(&mut self, facts: &[Fact], history: &[AddressEvent], more: usize) -> io::Result<()> {
        if !facts.is_empty() {
            writeln!(self.out, "\nJoined with")?;
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
            self.pair(&format!("  {}", fact.title), &format!("{range}{}{decides}", fact.text))?;
            if !fact.events.is_empty() {
                let events: Vec<String> = fact.events.iter().map(show_event).collect();
                self.pair("", &format!("by {}", events.join("; ")))?;
            }
        }
        // Events that only repeat the lines above are in JSON alone.
        let told = |seen: &AddressEvent| facts.iter().any(|fact| fact.events.contains(&seen.event));
        let history: &[AddressEvent] =
            if history.iter().all(|seen| seen.rundown || told(seen)) { &[] } else { history };
        if !history.is_empty() {
            let left_out = if more > 0 { format!(" ({} not shown)", text::count(more as u64)) } else { String::new() };
            writeln!(self.out, "\nEvents, in order{left_out}")?;
        }
        let mut after = false;
        for seen in history {
            if seen.after && !after {
                after = true;
                self.pair("", "— the snapshot —")?;
            }
            let range = seen.range.map(|range| format!("  {}", show_range(range))).unwrap_or_default();
            let more = if seen.text.is_empty() { String::new() } else { format!("  {}", seen.text) };
            let time = format!("  {} s", text::seconds(seen.event.time));
            self.pair(&time, &format!("{}{range}{more}", seen.event.name))?;
        }
        Ok(())
    }

    fn decision(&mut self, whose: &str, rule: Rule) -> io::Result<()> {
        self.pair(whose, rule.category().name())?;
        self.pair("", &format!("{} [{}]", rule.text(), rule.id()))
    }
}

fn show_range((base, end): (u64, u64)) -> String {
    format!("0x{base:x}–0x{end:x}")
}

fn show_event(event: &CitedEvent) -> String {
    format!("{} ({}) at {} s", event.name, event.hook, text::seconds(event.time))
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
        "process": page.process,
        "detail": page.detail,
        "facts": page.facts.iter().map(fact).collect::<Vec<_>>(),
        "events": page.history.iter().map(seen).collect::<Vec<_>>(),
        "more_events": page.more_history,
        "category": decision(page.rule),
        "category_wpa": decision(page.rule_wpa),
    })
}

fn fact(fact: &Fact) -> Value {
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
