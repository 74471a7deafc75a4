//! `pfnset info` in all forms. Wire format: docs/json.md, schema `pfnset.info`.

use crate::analysis::info::TraceInfo;
use crate::analysis::recording_files::{self, RecordingFile};
use crate::analysis::table::Table;
use crate::error::DamageLog;
use crate::report::{Report, Style, info_of_each, table, text};
use crate::trace::readiness::{Need, Readiness, ReadinessLevel};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The report.
#[derive(Debug)]
pub struct InfoReport<'a> {
    trace: &'a Path,
    info: &'a TraceInfo,
    files: &'a [RecordingFile],
    warnings: Vec<String>,
}

impl<'a> InfoReport<'a> {
    /// Of these facts and the files that were named.
    pub fn new(trace: &'a Path, info: &'a TraceInfo, files: &'a [RecordingFile]) -> Self {
        InfoReport { trace, info, files, warnings: info.trust.warnings() }
    }

    /// The files, when several were named.
    fn files(&self) -> Option<Table> {
        (self.files.len() > 1).then(|| recording_files::table(self.files))
    }

    /// What stands first, above the warnings.
    fn verdict(&self) -> [(&'static str, String); 2] {
        [("Verdict", self.info.trust().text()), ("Good for", self.info.good_for())]
    }

    /// Facts as (section, label, text): the text and CSV forms print them in this order.
    fn facts(&self) -> Vec<(&'static str, &'static str, String)> {
        let i = self.info;
        let mut path = self.trace.display().to_string();
        let further = self.files.iter().skip(1).filter(|file| file.reason.is_none()).count();
        if further > 0 {
            path += &format!(" and {further} more; the numbers are of all");
        }
        let name = |name: &str| if name.is_empty() { "(none)".to_owned() } else { name.to_owned() };
        let mut buffers = format!("{} of {} KiB", text::count(i.buffers), i.buffer_size_bytes / 1024);
        if i.compressed_buffers > 0 {
            buffers += &format!(", {} compressed", text::count(i.compressed_buffers));
        }
        let mut events = text::count(i.events);
        if i.events_without_time > 0 {
            events += &format!(", {} of them without a time of their own", text::count(i.events_without_time));
        }
        let version = || format!("Windows {}.{}", i.os_version.0, i.os_version.1);
        let release = i.os_release.map_or_else(version, str::to_owned);
        let exact = i.os_text.as_ref().map_or_else(String::new, |text| format!("; {text}"));
        let system = format!("{release} (build {}){exact}", i.os_build);
        let processors = i.machine_processors.map_or_else(|| "number unknown".to_owned(), |n| text::count(n.into()));
        let one_for_all = if i.is_unbound() { "; the session had one set of buffers for all" } else { "" };
        let end = match i.end {
            Some(end) => text::utc(end).unwrap_or_else(|| format!("FILETIME {}", end.0)),
            None => "never stopped (counters of lost events were never written)".into(),
        };
        let start = text::utc(i.start).unwrap_or_else(|| format!("FILETIME {}", i.start.0));
        let merge = format!(
            "files of clock {}, booted {}{}",
            i.clock.name(),
            text::utc(i.boot).unwrap_or_else(|| "?".into()),
            if i.merged { "; is itself a merged file" } else { "" }
        );
        let loss = i.trust.loss_of_all();
        vec![
            ("File", "path", path),
            ("File", "size", format!("{} ({} bytes)", text::bytes(i.size_bytes), text::count(i.size_bytes))),
            ("File", "buffers", buffers),
            ("File", "events", events),
            ("Session", "logger", name(&i.logger_name)),
            ("Session", "log file", name(&i.log_file_name)),
            ("Session", "mode", if i.mode.is_empty() { "no flags".into() } else { i.mode.join(", ") }),
            ("Session", "clock", format!("{}, {} Hz", i.clock.name(), text::count(i.clock_frequency_hz))),
            ("Session", "start", start),
            ("Session", "end", end),
            ("Session", "events span", text::duration(i.duration)),
            ("Session", "merges with", merge),
            ("Machine", "system", system),
            ("Machine", "processors", format!("{processors}, {}-bit{one_for_all}", i.pointer_bits)),
            (
                "Recorded",
                "keywords",
                if i.keywords.is_empty() { "none of the kernel".into() } else { i.keywords.join(", ") },
            ),
            ("Lost", "events", lost(loss.events_lost, loss.counters_known)),
            ("Lost", "buffers", lost(loss.buffers_lost, loss.counters_known)),
            ("Lost", "missing sequence numbers", text::count(loss.missing_buffers)),
            ("Lost", "damaged places", text::count(i.trust.damaged)),
        ]
    }

    fn session(&self) -> Value {
        let (i, loss) = (self.info, &self.info.trust.loss);
        json!({
            "logger_name": i.logger_name,
            "log_file_name": i.log_file_name,
            "buffer_size_bytes": i.buffer_size_bytes,
            "buffers_written": i.buffers_written,
            "mode": i.mode,
            "clock": i.clock.name(),
            "clock_frequency_hz": i.clock_frequency_hz,
            "pointer_bits": i.pointer_bits,
            "processors": i.processors,
            "machine_processors": i.machine_processors,
            "os_version": format!("{}.{}", i.os_version.0, i.os_version.1),
            "os_build": i.os_build,
            "os": i.os_text,
            "os_name": i.os_release,
            "start_utc": text::utc(i.start),
            "end_utc": i.end.and_then(text::utc),
            "boot_utc": text::utc(i.boot),
            "duration_s": i.duration.seconds(),
            "events_lost": loss.events_lost,
            "buffers_lost": loss.buffers_lost,
            "stopped": loss.counters_known,
            "merged": i.merged,
        })
    }

    fn loss(&self) -> Value {
        let loss = self.info.trust.loss_of_all();
        json!({
            "missing_buffers": loss.missing_buffers,
            "buffers_flagged_events_lost": loss.flagged_events_lost,
            "buffers_flagged_buffer_lost": loss.flagged_buffer_lost,
            "holes": loss.holes.iter().map(|h| json!({
                "first_missing": h.first_missing,
                "missing": h.missing,
                "silent_from_s": h.silent.0.seconds(),
                "silent_to_s": h.silent.1.seconds(),
                "processor": h.processor,
                "hits": h.hits,
            })).collect::<Vec<_>>(),
            "last_dropped": loss.dropped.iter().map(|(processor, time)| json!({
                "processor": processor, "time_s": time.seconds(),
            })).collect::<Vec<_>>(),
            "peak": loss.peak.map(|p| json!({
                "bytes_per_s": p.bytes_per_second, "events_per_s": p.events_per_second, "time_s": p.at.seconds(),
            })),
            "advice": loss.advice(self.info.buffer_size_bytes),
        })
    }
}

fn lost(count: u32, known: bool) -> String {
    if known { text::count(u64::from(count)) } else { "unknown".into() }
}

impl Report for InfoReport<'_> {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let i = self.info;
        let width = usize::from(style.width);
        self.verdict().iter().try_for_each(|(what, said)| text::heading(out, &format!("{what}: {said}")))?;
        writeln!(out)?;
        text::warnings(out, &self.warnings, style.width)?;
        if let Some(files) = self.files() {
            table::text(out, &files, style, self.unit())?;
            for (file, reason) in self.files.iter().filter_map(|file| Some((file, file.reason.as_ref()?))) {
                let line = format!("{} does not belong to the recording of the first: {reason}", file.path);
                text::wrap(&text::printable(&line), width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
            }
            writeln!(out)?;
        }
        let mut section = "";
        for (of, label, value) in self.facts() {
            if of != section {
                if !section.is_empty() {
                    writeln!(out)?;
                }
                text::heading(out, of)?;
                section = of;
            }
            labelled(out, label, &value, width)?;
        }
        let loss = i.trust.loss_of_all();
        for hole in loss.holes.iter().skip(3) {
            let when = format!(
                "{} numbers from {} on, silent {:.3} s to {:.3} s",
                text::count(hole.missing),
                text::count(hole.first_missing),
                hole.silent.0.seconds(),
                hole.silent.1.seconds()
            );
            labelled(out, "hole", &when, width)?;
        }
        for (processor, time) in &loss.dropped {
            labelled(out, "last drop", &format!("processor {processor} at {} s", text::seconds(*time)), width)?;
        }
        damaged_places(out, &i.damage, width)?;
        let content = i.content_table();
        writeln!(out)?;
        text::heading(out, content.title.as_deref().unwrap_or_default())?;
        table::text(out, &content, style, self.unit())?;
        if !i.advice.is_empty() {
            writeln!(out)?;
            text::heading(out, "Advice")?;
        }
        for line in &i.advice {
            listed(out, line, 2, width)?;
        }
        writeln!(out)?;
        text::heading(out, "Good for")?;
        i.analyses.iter().try_for_each(|analysis| print_readiness(out, analysis, width))
    }

    fn json(&self) -> Value {
        let i = self.info;
        let mut json = json!({
            "schema": "pfnset.info",
            "version": 1,
            "trust": i.trust().name(),
            "warnings": self.warnings,
            "file": {
                "path": self.trace.display().to_string(),
                "size_bytes": i.size_bytes,
                "buffers": i.buffers,
                "compressed_buffers": i.compressed_buffers,
                "events": i.events,
                "events_without_time": i.events_without_time,
                "end_of_log_offset": i.end_of_log.map(|o| o.0),
            },
            "session": self.session(),
            "keywords": i.keywords,
            "providers": table::objects(&i.provider_table()),
            "content": table::objects(&i.content_table()),
            "stack_bytes": i.stack_bytes,
            "advice": i.advice,
            "loss": self.loss(),
            "damage_total": i.damage.total,
            "damage": i.damage.places.iter().map(|d| json!({
                "offset": d.offset.0, "what": d.what, "expected": d.expected, "found": d.found,
            })).collect::<Vec<_>>(),
            "malformed_records": i.trust.misfits.iter().map(|(what, count)| json!({
                "what": what, "count": count,
            })).collect::<Vec<_>>(),
            "analyses": i.analyses.iter().map(|a| json!({
                "name": a.name,
                "verdict": a.level.name(),
                "events": a.events,
                "missing": a.missing.iter().map(|n| json!({
                    "keyword": n.keyword, "xperf": n.xperf, "events": n.events, "without": n.without,
                    "required": n.required, "was_on": n.was_on,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        });
        if let (Some(files), Some(object)) = (self.files(), json.as_object_mut()) {
            object.insert("files".into(), table::objects(&files));
        }
        json
    }

    fn tables(&self) -> Vec<Table> {
        let verdict = self.verdict().map(|(what, said)| ["Summary".to_owned(), what.to_owned(), said]);
        let facts = self.facts().into_iter().map(|(section, fact, value)| [section.into(), fact.into(), value]);
        let analyses = self.info.analyses.iter();
        let analyses = analyses.map(|a| ["Good for".into(), a.name.into(), a.level.name().into()]);
        let columns = [("section", "Section"), ("fact", "Fact"), ("value", "Value")];
        vec![Table::of_texts(columns, verdict.into_iter().chain(facts).chain(analyses))]
    }

    fn tables_of_each(&self) -> Vec<Table> {
        vec![info_of_each::table(self.info)]
    }
}

fn labelled(out: &mut dyn Write, label: &str, value: &str, width: usize) -> io::Result<()> {
    const LABEL: usize = 24;
    let mut shown = label;
    for line in text::wrap(&text::printable(value), width.saturating_sub(LABEL + 4)) {
        writeln!(out, "  {shown:<LABEL$}  {line}")?;
        shown = "";
    }
    Ok(())
}

/// The first damaged places, and how many more there are.
fn damaged_places(out: &mut dyn Write, damage: &DamageLog, width: usize) -> io::Result<()> {
    const SHOWN: u64 = 10;
    for damage in damage.places.iter().take(SHOWN as usize) {
        let what =
            format!("{} at {}: expected {}, found {}", damage.what, damage.offset, damage.expected, damage.found);
        labelled(out, "damage", &what, width)?;
    }
    match damage.total.saturating_sub(SHOWN) {
        0 => Ok(()),
        more => labelled(out, "", &format!("+ {} more places", text::count(more)), width),
    }
}

/// An item of a list, indented.
fn listed(out: &mut dyn Write, line: &str, indent: usize, width: usize) -> io::Result<()> {
    let mut mark = "-";
    for part in text::wrap(&text::printable(line), width.saturating_sub(indent + 2)) {
        writeln!(out, "{:indent$}{mark} {part}", "")?;
        mark = " ";
    }
    Ok(())
}

fn print_readiness(out: &mut dyn Write, analysis: &Readiness, width: usize) -> io::Result<()> {
    let events = match analysis.events {
        1 => "1 event".to_owned(),
        n => format!("{} events", text::count(n)),
    };
    let verdict = match analysis.level {
        ReadinessLevel::Ready => format!("yes, {events}"),
        ReadinessLevel::Partial => format!("in part, {events}"),
        ReadinessLevel::Missing => "no".to_owned(),
    };
    writeln!(out, "  {}: {verdict}", analysis.title)?;
    let mut list = |line: &str| listed(out, line, 4, width);
    // An analysis that cannot run at all gets one line for its optional keywords: a list would fill the screen.
    let cannot_run = analysis.level == ReadinessLevel::Missing && analysis.missing.iter().any(|need| need.required);
    let brief = |need: &&Need| cannot_run && !need.required && !need.was_on;
    for need in analysis.missing.iter().filter(|need| !brief(need)) {
        let xperf = need.xperf.map_or_else(|| "not in xperf".to_owned(), |flag| format!("xperf {flag}"));
        let keyword = format!("keyword {} ({xperf})", need.keyword);
        let advice = match (need.was_on, need.required) {
            (true, _) => format!("{keyword} was on, but none of its events are here"),
            (false, true) => format!("needs {keyword}"),
            (false, false) => format!("add {keyword}"),
        };
        let cost = if need.required { String::new() } else { format!("; without: no {}", need.without) };
        let line = format!("{advice}: {}{cost}", need.events);
        list(&line)?;
    }
    let others: Vec<String> = (analysis.missing.iter().filter(brief))
        .map(|need| match need.xperf {
            Some(flag) if !flag.contains(' ') => format!("{} ({flag})", need.keyword),
            _ => need.keyword.to_owned(),
        })
        .collect();
    if others.is_empty() { Ok(()) } else { list(&format!("for a full answer add {}", others.join(", "))) }
}
