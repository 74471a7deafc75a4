//! The answer of `pfnset info`. Wire format: docs/json.md, schema `pfnset.info`.

use crate::analysis::info::TraceInfo;
use crate::analysis::info::recording_files::{self, RecordingFile};
use crate::analysis::table::Table;
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::rows::Records;
use crate::answer::text_block::Block;
use crate::answer::{info_many_traces, numbers};
use crate::error::DamageLog;
use crate::trace::trust::readiness::{Need, Readiness, ReadinessLevel};
use crate::trace::trust::warning::Warning;
use crate::units::Nanos;
use serde_json::{Value, json};
use std::path::Path;

/// Column of the texts beside labels.
const COLUMN: usize = 28;

/// The answer of these facts and of the files that were named, the first one at `path`.
pub fn answer<'a>(info: &'a TraceInfo, path: &Path, files: &[RecordingFile]) -> Answer<'a> {
    let table_of_files = (files.len() > 1).then(|| recording_files::table(files));
    let verdict = [("Verdict", info.verdict()), ("Good for", info.good_for())];
    let said = said(info, path, files);
    let mut facts = facts(info);
    if let Some(table) = &table_of_files {
        facts = facts.has("files", Fact::Records(Records::of(table.clone())));
    }
    let headline: Vec<String> = verdict.iter().map(|(what, said)| format!("{what}: {said}")).collect();
    Answer {
        warnings: info.warnings.clone(),
        closing: headline.clone(),
        headline,
        facts,
        screen: Some(screen(info, files, table_of_files, &said)),
        tables: vec![rows(info, verdict, said).into()],
        beside_others: Some(vec![info_many_traces::table(info).into()]),
        ..Answer::new("pfnset.info")
    }
}

/// All facts in rows.
fn rows(info: &TraceInfo, verdict: [(&'static str, String); 2], said: Vec<Said>) -> Table {
    let verdict = verdict.map(|(what, said)| ["Summary".to_owned(), what.to_owned(), said]);
    let said = said.into_iter().map(|(section, fact, value)| [section.into(), fact.into(), value]);
    let analyses = info.analyses.iter().map(|a| ["Good for".into(), a.name.into(), a.level.name().into()]);
    let columns = [("section", "Section"), ("fact", "Fact"), ("value", "Value")];
    Table::of_texts(columns, verdict.into_iter().chain(said).chain(analyses))
}

/// A fact in words: section, label, text.
type Said = (&'static str, &'static str, String);

/// The keywords that were on, where the file says it: traces of some recorders hold events of the kernel and no flags.
fn keywords_said(info: &TraceInfo) -> String {
    match () {
        () if !info.keywords.is_empty() => info.keywords.join(", "),
        () if info.analyses.iter().any(|analysis| analysis.events > 0) => "the file does not say which".to_owned(),
        () => "none of the kernel".to_owned(),
    }
}

/// The facts in the order in which they are shown.
fn said(info: &TraceInfo, path: &Path, files: &[RecordingFile]) -> Vec<Said> {
    let i = info;
    let mut path = path.display().to_string();
    let further = files.iter().skip(1).filter(|file| file.reason.is_none()).count();
    if further > 0 {
        path += &format!(" and {further} more; the numbers are of all");
    }
    let name = |name: &str| if name.is_empty() { "(none)".to_owned() } else { name.to_owned() };
    let mut buffers = format!("{} of {} KiB", numbers::count(i.buffers), i.buffer_size_bytes / 1024);
    if i.compressed_buffers > 0 {
        buffers += &format!(", {} compressed", numbers::count(i.compressed_buffers));
    }
    let mut events = numbers::count(i.events);
    if i.events_without_time > 0 {
        events += &format!(", {} of them without a time of their own", numbers::count(i.events_without_time));
    }
    let version = || format!("Windows {}.{}", i.os_version.0, i.os_version.1);
    let release = i.os_release.map_or_else(version, str::to_owned);
    let exact = i.os_text.as_ref().map_or_else(String::new, |text| format!("; {text}"));
    let system = format!("{release} (build {}){exact}", i.os_build);
    let processors = i.machine_processors.map_or_else(|| "number unknown".to_owned(), |n| numbers::count(n.into()));
    let one_for_all = if i.is_unbound() { "; the session had one set of buffers for all" } else { "" };
    let end = match i.end {
        Some(end) => numbers::utc(end).unwrap_or_else(|| format!("FILETIME {}", end.0)),
        None => "never stopped (counters of lost events were never written)".into(),
    };
    let start = numbers::utc(i.start).unwrap_or_else(|| format!("FILETIME {}", i.start.0));
    let merge = format!(
        "files of clock {}, booted {}{}",
        i.clock.name(),
        numbers::utc(i.boot).unwrap_or_else(|| "?".into()),
        if i.merged { "; is itself a merged file" } else { "" }
    );
    let loss = i.trust.loss_of_all();
    vec![
        ("File", "path", path),
        ("File", "size", format!("{} ({} bytes)", numbers::bytes(i.size_bytes), numbers::count(i.size_bytes))),
        ("File", "buffers", buffers),
        ("File", "events", events),
        ("Session", "logger", name(&i.logger_name)),
        ("Session", "log file", name(&i.log_file_name)),
        ("Session", "mode", if i.mode.is_empty() { "no flags".into() } else { i.mode.join(", ") }),
        ("Session", "clock", format!("{}, {} Hz", i.clock.name(), numbers::count(i.clock_frequency_hz))),
        ("Session", "start", start),
        ("Session", "end", end),
        ("Session", "events span", events_span(i)),
        ("Session", "merges with", merge),
        ("Machine", "system", system),
        ("Machine", "processors", format!("{processors}, {}-bit{one_for_all}", i.pointer_bits)),
        ("Recorded", "keywords", keywords_said(i)),
        ("Lost", "events", lost(loss.known(loss.events_lost))),
        ("Lost", "buffers", lost(loss.known(loss.buffers_lost))),
        ("Lost", "missing sequence numbers", numbers::count(loss.missing_buffers)),
        ("Lost", "damaged places", numbers::count(i.trust.damaged)),
    ]
}

/// `10 min 1 s, of which the last 1.12 s are left: the session keeps only its last buffers`.
fn events_span(info: &TraceInfo) -> String {
    let whole = numbers::duration(info.duration);
    match info.kept_from.map(|from| info.duration.0.saturating_sub(from.0)) {
        Some(left) if left < info.duration.0 / 100 * 99 => {
            let left = numbers::duration(Nanos(left));
            format!("{whole}, of which the last {left} are left: the session keeps only its last buffers")
        }
        _ => whole,
    }
}

fn facts(info: &TraceInfo) -> Facts<'_> {
    let i = info;
    Facts::default()
        .is("trust", i.trust().name())
        .has("warnings", Fact::Warnings)
        .is("doubts", i.warnings.iter().map(doubt_json).collect::<Vec<_>>())
        .is("unchecked", i.unchecked())
        .has(
            "file",
            Fact::Object(Facts::default().has("path", Fact::Trace).all(json!({
                "size_bytes": i.size_bytes,
                "buffers": i.buffers,
                "compressed_buffers": i.compressed_buffers,
                "events": i.events,
                "events_without_time": i.events_without_time,
                "end_of_log_offset": i.end_of_log.map(|o| o.0),
            }))),
        )
        .is("session", session(i))
        .is("keywords", &i.keywords)
        .has("providers", Fact::table(|| i.provider_table()))
        .has("content", Fact::table(|| i.content_table()))
        .all(json!({
            "stack_bytes": i.stack_bytes,
            "advice": i.advice,
            "loss": loss(i),
            "damage_total": i.damage.total,
            "damage": i.damage.places.iter().map(|d| json!({
                "offset": d.offset.0, "what": d.what, "expected": d.expected, "found": d.found,
            })).collect::<Vec<_>>(),
            "malformed_records": i.trust.misfits.iter().map(|(what, count)| json!({
                "what": what, "count": count,
            })).collect::<Vec<_>>(),
            "analyses": i.analyses.iter().map(readiness_json).collect::<Vec<_>>(),
        }))
}

fn doubt_json(warning: &Warning) -> Value {
    let Warning { analysis, code, text, amount, is_grave } = warning;
    json!({ "analysis": analysis, "code": code, "text": text, "amount": amount, "makes_doubtful": is_grave })
}

fn readiness_json(analysis: &Readiness) -> Value {
    json!({
        "name": analysis.name,
        "verdict": analysis.level.name(),
        "events": analysis.events,
        "note": analysis.note,
        "missing": analysis.missing.iter().map(|n| json!({
            "keyword": n.keyword, "xperf": n.xperf, "events": n.events, "without": n.without,
            "required": n.required, "was_on": n.was_on,
        })).collect::<Vec<_>>(),
    })
}

fn session(info: &TraceInfo) -> Value {
    let (i, loss) = (info, info.trust.loss_of_all());
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
        "start_utc": numbers::utc(i.start),
        "end_utc": i.end.and_then(numbers::utc),
        "boot_utc": numbers::utc(i.boot),
        "duration_s": i.duration.seconds(),
        "kept_from_s": i.kept_from.map(|from| from.seconds()),
        // Numbers in all versions of this schema; "stopped" says whether they are known.
        "events_lost": loss.events_lost,
        "buffers_lost": loss.buffers_lost,
        "stopped": loss.counters_known,
        "merged": i.merged,
    })
}

fn loss(info: &TraceInfo) -> Value {
    let loss = info.trust.loss_of_all();
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
            "processors": h.processors,
            "hits": h.hits,
        })).collect::<Vec<_>>(),
        "last_dropped": loss.dropped.iter().map(|(processor, time)| json!({
            "processor": processor, "time_s": time.seconds(),
        })).collect::<Vec<_>>(),
        "peak": loss.peak.map(|p| json!({
            "bytes_per_s": p.bytes_per_second, "events_per_s": p.events_per_second, "time_s": p.at.seconds(),
        })),
        "advice": info.trust.advice(),
    })
}

fn lost(count: Option<u32>) -> String {
    count.map_or_else(|| "unknown".into(), |count| numbers::count(count.into()))
}

/// A label and a text beside it.
fn labelled(label: &str, text: String) -> Block {
    Block::Pair(format!("  {label}"), COLUMN, text)
}

fn screen(info: &TraceInfo, files: &[RecordingFile], table: Option<Table>, said: &[Said]) -> Vec<Block> {
    let mut screen = Vec::new();
    if let Some(table) = table {
        screen.push(Block::Table(table));
        let apart = files.iter().filter_map(|file| Some((&file.path, file.reason.as_ref()?)));
        screen.extend(apart.map(|(path, reason)| {
            Block::Text(format!("{path} does not belong to the recording of the first: {reason}"))
        }));
        screen.push(Block::Blank);
    }
    let mut section = "";
    for (of, label, value) in said {
        if *of != section {
            if !section.is_empty() {
                screen.push(Block::Blank);
            }
            screen.push(Block::Title((*of).to_owned()));
            section = of;
        }
        screen.push(labelled(label, value.clone()));
    }
    screen.extend(losses(info));
    screen.extend(damaged_places(&info.damage));
    let content = info.content_table();
    screen.push(Block::Blank);
    screen.push(Block::Title(content.title.clone().unwrap_or_default()));
    screen.push(Block::Table(content));
    if !info.advice.is_empty() {
        screen.extend([Block::Blank, Block::Title("Advice".into())]);
    }
    screen.extend(info.advice.iter().map(|line| Block::Item(2, line.clone())));
    screen.extend([Block::Blank, Block::Title("Good for".into())]);
    screen.extend(info.analyses.iter().flat_map(readiness));
    screen
}

/// Further holes, and when each processor lost its last event.
fn losses(info: &TraceInfo) -> Vec<Block> {
    let loss = info.trust.loss_of_all();
    let holes = loss.holes.iter().skip(3).map(|hole| {
        let when = format!(
            "{} numbers from {} on, silent {:.3} s to {:.3} s",
            numbers::count(hole.missing),
            numbers::count(hole.first_missing),
            hole.silent.0.seconds(),
            hole.silent.1.seconds()
        );
        labelled("hole", when)
    });
    let dropped = loss.dropped.iter().map(|(processor, time)| {
        labelled("last drop", format!("processor {processor} at {} s", numbers::seconds(*time)))
    });
    holes.chain(dropped).collect()
}

/// The first damaged places, and how many more there are.
fn damaged_places(damage: &DamageLog) -> Vec<Block> {
    const SHOWN: u64 = 10;
    let places = damage.places.iter().take(SHOWN as usize).map(|damage| {
        let what =
            format!("{} at {}: expected {}, found {}", damage.what, damage.offset, damage.expected, damage.found);
        labelled("damage", what)
    });
    let more = match damage.total.saturating_sub(SHOWN) {
        0 => None,
        more => Some(labelled("", format!("+ {} more places", numbers::count(more)))),
    };
    places.chain(more).collect()
}

fn readiness(analysis: &Readiness) -> Vec<Block> {
    let events = match analysis.events {
        1 => "1 event".to_owned(),
        n => format!("{} events", numbers::count(n)),
    };
    let verdict = match analysis.level {
        ReadinessLevel::Ready => format!("yes, {events}"),
        ReadinessLevel::Partial => format!("in part, {events}"),
        ReadinessLevel::Missing => "no".to_owned(),
    };
    // An analysis that cannot run at all gets one line for its optional keywords: a list would fill the screen.
    let cannot_run = analysis.level == ReadinessLevel::Missing && analysis.missing.iter().any(|need| need.required);
    let is_brief = |need: &&Need| cannot_run && !need.required && !need.was_on;
    let (brief, whole): (Vec<&Need>, Vec<&Need>) = analysis.missing.iter().partition(is_brief);
    let mut blocks = vec![Block::Line(format!("  {}: {verdict}", analysis.title))];
    blocks.extend(whole.into_iter().map(|need| Block::Item(4, advice(need))));
    let others: Vec<String> = (brief.into_iter())
        .map(|need| match need.xperf {
            Some(flag) if !flag.contains(' ') => format!("{} ({flag})", need.keyword),
            _ => need.keyword.to_owned(),
        })
        .collect();
    if !others.is_empty() {
        blocks.push(Block::Item(4, format!("for a full answer add {}", others.join(", "))));
    }
    blocks.extend(analysis.note.iter().map(|note| Block::Item(4, note.clone())));
    blocks
}

/// What to record for a need.
fn advice(need: &Need) -> String {
    let xperf = need.xperf.map_or_else(|| "not in xperf".to_owned(), |flag| format!("xperf {flag}"));
    let keyword = format!("keyword {} ({xperf})", need.keyword);
    let advice = match (need.was_on, need.required) {
        (true, _) => format!("{keyword} was on, but none of its events are here"),
        (false, true) => format!("needs {keyword}"),
        (false, false) => format!("add {keyword}"),
    };
    let cost = if need.required { String::new() } else { format!("; without: no {}", need.without) };
    format!("{advice}: {}{cost}", need.events)
}
