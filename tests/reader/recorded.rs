//! Recorded traces against what two independent parsers found in them, to the event; skipped aloud where they are not.
//!
//! A trace is a file `NAME.etl` with `NAME.etl.expected.json` beside it.

use crate::reading::recorded_traces;
use pfnset::analysis::events::{EventFilter, EventStatistics};
use pfnset::analysis::info::TraceInfo;
use pfnset::answer::{Answer, events, info, numbers};
use pfnset::etl::record_id::RecordId;
use pfnset::etl::{EtlFile, Scratch, extended_items};
use pfnset::forms::{self, Form};
use pfnset::trace::Trace;
use pfnset::unstable_api::TraceDigest;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Type numbers of header types by their names in our JSON.
const HEADERS: [(&str, &str); 14] = [
    ("1", "system32"),
    ("2", "system64"),
    ("3", "compact32"),
    ("4", "compact64"),
    ("10", "full32"),
    ("11", "instance32"),
    ("13", "error"),
    ("15", "message"),
    ("16", "perfinfo32"),
    ("17", "perfinfo64"),
    ("18", "event32"),
    ("19", "event64"),
    ("20", "full64"),
    ("21", "instance64"),
];

/// Our reports on a trace, and what is known about it.
struct Known {
    name: String,
    trace: Trace,
    info: Value,
    events: Value,
    expected: Value,
}

fn known_traces() -> Vec<Known> {
    recorded_traces().iter().filter_map(|path| known(path)).collect()
}

/// The JSON of an answer about a trace.
fn json_of(answer: Answer<'_>, path: &Path) -> Value {
    let mut out = Vec::new();
    forms::write(&answer.of_files([path]), Form::Json, &mut out).expect("memory");
    serde_json::from_slice(&out).expect("JSON")
}

fn known(path: &Path) -> Option<Known> {
    let beside = path.with_extension("etl.expected.json");
    let expected = serde_json::from_str(&std::fs::read_to_string(beside).ok()?).expect("JSON");
    let trace = Trace::open(path).expect("a sound trace");
    let statistics = EventStatistics::answer(&trace, &EventFilter::default());
    Some(Known {
        name: path.file_name()?.to_string_lossy().into_owned(),
        info: json_of(info::answer(&TraceInfo::answer(&trace), path, &[]), path),
        events: json_of(events::answer(&statistics, Some(&TraceDigest::new(trace.etl()))), path),
        expected,
        trace,
    })
}

/// Adds up the counts of the events that `key` gives a name.
fn sums(events: &Value, key: impl Fn(&Map<String, Value>) -> Option<String>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for event in events["events"].as_array().unwrap() {
        if let Some(key) = key(event.as_object().unwrap()) {
            *all.entry(key).or_insert(0) += event["count"].as_u64().unwrap();
        }
    }
    all
}

/// Counts in an object of objects, keys joined by a blank.
fn nested(value: &Value) -> BTreeMap<String, u64> {
    let outer = value.as_object().into_iter().flatten();
    let pairs = outer.flat_map(|(a, inner)| inner.as_object().unwrap().iter().map(move |(b, n)| (a, b, n)));
    pairs.map(|(a, b, n)| (format!("{a} {b}"), n.as_u64().unwrap())).collect()
}

#[test]
fn info_says_what_is_known() {
    for Known { name, info, expected, .. } in known_traces() {
        let (container, header) = (&expected["container"], &expected["log_file_header"]);
        let clock = match header["clock_type_name"].as_str().unwrap() {
            "query_performance_counter" => "qpc",
            other => other,
        };
        let bits = header["pointer_size_bytes"].as_u64().unwrap() * 8;
        for (ours, known) in [
            ("/file/size_bytes", &expected["file_size_bytes"]),
            ("/file/buffers", &container["buffer_count"]),
            ("/file/compressed_buffers", &container["compressed_buffer_count"]),
            ("/file/events", &expected["events"]["total_event_count"]),
            ("/session/logger_name", &header["logger_name"]),
            ("/session/buffer_size_bytes", &header["session_buffer_size_bytes"]),
            ("/session/clock", &json!(clock)),
            ("/session/clock_frequency_hz", &expected["timestamp_conversion"]["clock_ticks_per_second"]),
            ("/session/pointer_bits", &json!(bits)),
            ("/session/processors", &header["number_of_processors"]),
            ("/session/os_build", &header["operating_system_build_number"]),
            ("/session/start_utc", &header["start_time_utc"]),
            ("/session/end_utc", &header["end_time_utc"]),
            ("/session/events_lost", &header["events_lost"]),
            ("/session/buffers_lost", &header["buffers_lost"]),
        ] {
            assert_eq!(info.pointer(ours), Some(known), "{name} {ours}");
        }
        let problems = container["problems"].as_array().map_or(0, Vec::len);
        assert_eq!(info["damage"].as_array().map(Vec::len), Some(problems), "{name}");
    }
}

#[test]
fn events_say_what_is_known() {
    for Known { name, events, expected, .. } in known_traces() {
        let known = &expected["events"];
        assert_eq!(events["total"], known["total_event_count"], "{name}");

        let mut headers = BTreeMap::new();
        for (kind, count) in known["event_count_per_header_type"].as_object().unwrap() {
            let number = kind.split(' ').next().unwrap();
            let ours = HEADERS.iter().find(|(n, _)| *n == number).map_or(kind.as_str(), |(_, name)| name);
            headers.insert(ours, count);
        }
        let ours: BTreeMap<&str, &Value> =
            events["by_header"].as_object().unwrap().iter().map(|(k, v)| (&k[..], v)).collect();
        assert_eq!(ours, headers, "{name}");

        let ours = events["by_processor"].as_array().unwrap().iter();
        let ours: BTreeMap<String, u64> =
            ours.map(|p| (p["processor"].to_string(), p["count"].as_u64().unwrap())).collect();
        let processors = known["event_count_per_processor_number"].as_object().unwrap().iter();
        let processors: BTreeMap<String, u64> = processors.map(|(k, v)| (k.clone(), v.as_u64().unwrap())).collect();
        assert_eq!(ours, processors.into_iter().filter(|(_, n)| *n > 0).collect(), "{name}");

        let ours = sums(&events, |e| (e["provider"] == "kernel").then(|| e["id"].as_str().unwrap().to_owned()));
        let hooks = known["kernel_event_count_per_hook_id"].as_object().unwrap().iter();
        let hooks: BTreeMap<String, u64> =
            hooks.map(|(k, v)| (k.to_lowercase(), v["count"].as_u64().unwrap())).collect();
        assert_eq!(ours, hooks, "{name}");

        let text = |e: &Map<String, Value>, key: &str| e.get(key).map(|v| v.to_string());
        let provider = |e: &Map<String, Value>| e["provider"].as_str().unwrap().to_owned();
        let user = |e: &Map<String, Value>| e["provider"] != "kernel";
        let ours = sums(&events, |e| Some(format!("{} {}", provider(e), text(e, "id").filter(|_| user(e))?)));
        assert_eq!(ours, nested(&known["manifest_event_count_per_provider_guid_and_event_id"]), "{name}");
        let ours = sums(&events, |e| Some(format!("{} {} v{}", provider(e), text(e, "opcode")?, e["version"])));
        assert_eq!(ours, nested(&known["classic_event_count_per_class_guid_and_type_and_version"]), "{name}");
        let ours = sums(&events, |e| Some(format!("{} {}", provider(e), text(e, "message")?)));
        assert_eq!(ours, nested(&known["wpp_message_count_per_guid_and_message_number"]), "{name}");
        let all: u64 = sums(&events, |_| Some(String::new())).into_values().sum();
        assert_eq!(Some(all), known["total_event_count"].as_u64(), "{name}");

        let digest = &events["digest"];
        assert_eq!(digest["payloads_sha256"], known["sha256_of_all_payloads_concatenated_in_file_order"], "{name}");
        assert_eq!(
            digest["timestamps_sha256"], known["sha256_of_all_raw_timestamps_as_le_int64_in_file_order"],
            "{name}"
        );
    }
}

/// First, last, earliest and latest record, the first of each hook id, and samples: place, ids, times and bytes.
#[test]
fn single_records_are_what_is_known() {
    for Known { name, trace, expected, .. } in known_traces() {
        let known = &expected["events"];
        let records: Vec<Described<'_>> =
            described(known).into_iter().map(|(what, json)| Described { what, json }).collect();
        assert!(records.len() > 4, "{name}");
        for record in records {
            record.check(&name, trace.etl());
        }
        let etl = trace.etl();
        let mut scratch = Scratch::new();
        let (mut first, mut last) = (None, None);
        for index in 0..etl.buffers.len() {
            etl.area(index, &mut scratch).for_each_timed(etl.before_first(), |raw, time| {
                let at = (time.0, u64::from(raw.position.buffer), u64::from(raw.position.offset));
                first = Some(first.map_or(at, |first: (i64, u64, u64)| first.min(at)));
                last = last.max(Some(at));
            });
        }
        for (ours, key) in [
            (first, "event_with_lowest_timestamp_first_in_file_order"),
            (last, "event_with_highest_timestamp_last_in_file_order"),
        ] {
            let number = |field: &str| known[key][field].as_i64().unwrap();
            let place = (number("buffer_index") as u64, number("offset_in_decompressed_event_area") as u64);
            assert_eq!(ours, Some((number("raw_timestamp"), place.0, place.1)), "{name} {key}");
        }
    }
}

#[test]
fn extended_items_are_what_is_known() {
    for Known { name, trace, expected, .. } in known_traces() {
        let (mut items, mut with_items, mut payload_bytes) = (BTreeMap::<String, u64>::new(), 0, 0);
        let mut scratch = Scratch::new();
        for index in 0..trace.etl().buffers.len() {
            for raw in trace.etl().area(index, &mut scratch).records() {
                let record = raw.read().expect("a sound header");
                payload_bytes += record.payload.len() as u64;
                with_items += u64::from(!record.extended.is_empty());
                extended_items::items(record.extended)
                    .for_each(|item| *items.entry(item.kind.to_string()).or_insert(0) += 1);
            }
        }
        let known = &expected["events"];
        assert_eq!(json!(items), known["extended_data_item_count_per_type"], "{name}");
        assert_eq!(json!(with_items), known["records_with_extended_data_items"], "{name}");
        assert_eq!(json!(payload_bytes), known["payload_bytes_total"], "{name}");
    }
}

/// All records that are described somewhere in `value`, with the name of the place.
fn described(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(map) if map.contains_key("raw_timestamp") => vec![(String::new(), value)],
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, inner)| described(inner).into_iter().map(move |(path, v)| (format!("{key}/{path}"), v)))
            .collect(),
        Value::Array(list) => list.iter().flat_map(described).collect(),
        _ => Vec::new(),
    }
}

/// One record that is described.
struct Described<'a> {
    what: String,
    json: &'a Value,
}

impl Described<'_> {
    fn check(&self, name: &str, etl: &EtlFile) {
        let number = |key: &str| self.json[key].as_u64();
        let (index, offset) = (number("buffer_index"), number("offset_in_decompressed_event_area"));
        let mut scratch = Scratch::new();
        let area = etl.area(index.unwrap() as usize, &mut scratch);
        let raw = area.records().find(|raw| Some(u64::from(raw.position.offset)) == offset);
        let raw = raw.unwrap_or_else(|| panic!("{name} {}: no record there", self.what));
        let record = raw.read().expect("a sound header");
        let time = record.time.unwrap();
        let kind = record.header.name();
        let type_number = HEADERS.iter().find(|(_, ours)| *ours == kind).unwrap().0;
        let (hook, guid, id) = match record.id {
            RecordId::Kernel(hook) => (json!(hook.to_string()), Value::Null, Value::Null),
            RecordId::Classic { class, opcode } => (Value::Null, json!(class.to_string()), json!(opcode)),
            RecordId::Manifest { provider, id } => (Value::Null, json!(provider.to_string()), json!(id)),
            RecordId::Message { guid, number } => (Value::Null, json!(guid.to_string()), json!(number)),
            RecordId::Opaque(_) => (Value::Null, Value::Null, Value::Null),
        };
        let hex: String = record.payload.iter().map(|byte| format!("{byte:02x}")).collect();
        let known_hex = self.json["payload_hex"].as_str().unwrap();
        for (key, ours) in [
            ("processor_number", json!(area.buffer.processor)),
            ("header_type", json!(type_number.parse::<u8>().unwrap())),
            ("record_size_bytes", json!(raw.bytes.len())),
            ("kernel_hook_id", hook),
            ("guid", guid),
            ("event_id_or_class_type", id),
            ("thread_id", json!(record.thread_id)),
            ("process_id", json!(record.process_id)),
            ("raw_timestamp", json!(time.0)),
            ("nanoseconds_since_trace_start", json!(etl.clock.nanos(time).0 as i64)),
            ("utc_filetime_100ns", json!(etl.clock.filetime(time).0)),
            ("utc_iso8601", json!(numbers::utc(etl.clock.filetime(time)))),
            ("payload_length_bytes", json!(record.payload.len())),
            ("payload_hex", json!(hex.get(..known_hex.len()))),
        ] {
            let known = &self.json[key];
            let none = known.as_u64() == Some(u64::from(u32::MAX)) && ours.is_null();
            assert!(*known == ours || none, "{name} {} {key}: {ours}, known is {known}", self.what);
        }
        if !self.json["version"].is_null() {
            assert_eq!(self.json["version"], json!(record.version), "{name} {}", self.what);
        }
    }
}
