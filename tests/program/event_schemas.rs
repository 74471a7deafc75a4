//! `pfnset events --rows`: which schema, which names of numbers and which provider's name a row has, on made-up traces.

use crate::program::{out, run};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of, guid, tracelogging_schema};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const FIRST: &str = "11111111-0000-0000-0000-000000000001";
const SECOND: &str = "22222222-0000-0000-0000-000000000002";
const METADATA: &str = "bbccf6c1-6cd1-48c4-80ff-839482e37671";
/// A provider that `pfnset` knows without the trace.
const WELL_KNOWN: &str = "763fd754-7086-4dfe-95eb-c01a46faf4ca";

fn trace(records: Vec<Rec>) -> NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut trace = Trace::new(session.clone());
    for (number, record) in (1u64..).zip(records) {
        trace.add(&record.at(session.t0 + number * 1000));
    }
    file_of(&trace.finish())
}

/// These keys of all rows but those of event information.
fn rows(file: &NamedTempFile, keys: &[&str]) -> Vec<Value> {
    let path = file.path().to_str().expect("UTF-8");
    let text = out(&["events", path, "--rows", "-q", "--format", "jsonl"]);
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let all = all.filter(|row| row["provider"] != "kernel" && row["provider"] != "EventMetadata");
    all.map(|row| keys.iter().map(|key| row[key].clone()).collect()).collect()
}

/// Bytes of a structure, and texts behind it that it points at.
struct Info {
    bytes: Vec<u8>,
    texts: Vec<u8>,
}

impl Info {
    fn put(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    fn text(&mut self, at: usize, text: &str) {
        let offset = (self.bytes.len() + self.texts.len()) as u32;
        self.put(at, &offset.to_le_bytes());
        self.texts.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    }

    fn record(mut self, opcode: u8, before: &[u8]) -> Rec {
        self.bytes.extend(self.texts);
        Rec::full(P8, guid(METADATA), opcode, 0, [before, &self.bytes].concat())
    }
}

/// `TRACE_EVENT_INFO` of an event with one number `m` that has the map `M`; of a manifest (source 0) or a class (1).
fn event_info(provider: &str, event: &str, id: u16, source: u8) -> Rec {
    let mut info = Info { bytes: vec![0; 112 + 24], texts: Vec::new() };
    info.put(0, &guid(provider));
    info.put(16, &guid(event));
    info.put(32, &id.to_le_bytes());
    info.put(37, &[if source == 1 { 12 } else { 0 }]);
    info.put(48, &[source]);
    for place in [100, 104] {
        info.put(place, &[1]);
    }
    info.put(108, &[4]);
    info.put(112 + 8, &[8]);
    info.put(112 + 16, &[1]);
    for (place, text) in [(52, "Prov"), (68, "Task"), (112 + 4, "m"), (112 + 12, "M")] {
        info.text(place, text);
    }
    info.record(32, &[])
}

/// `EVENT_MAP_INFO` of a map `M` with a name of 1.
fn map_info(provider: &str, name: &str) -> Rec {
    let mut info = Info { bytes: vec![0; 24], texts: Vec::new() };
    info.put(4, &[1]);
    info.put(8, &[1]);
    info.put(20, &[1]);
    info.text(0, "M");
    info.text(16, name);
    info.record(33, &guid(provider))
}

fn event(provider: &str, id: u16, payload: &[u8]) -> Rec {
    Rec::event(P8, guid(provider), id, 0, payload.to_vec())
}

/// Parts of a manifest with an event 1 and a map of its own.
fn manifest(provider: &str, name: &str, process: u32, parts: usize) -> Vec<Rec> {
    let xml = format!(
        r#"<m xmlns="x"><provider name="Source" guid="{{{provider}}}"><task name="Work" value="1"/>
        <valueMap name="M"><map value="1" message="{name}"/></valueMap><event value="1" task="Work" template="t"/>
        <template tid="t"><data name="m" inType="win:UInt32" map="M"/></template></provider></m>"#
    );
    let size = xml.len().div_ceil(parts);
    let part = |(number, xml): (usize, &[u8])| {
        let head = [1, 1, 0, 0x5b, parts as u8, 0, number as u8, 0];
        let event = event(provider, 0xfffe, &[&head, xml].concat());
        Rec { opcode: 254, task: 0xfffe, ..event }.by(8, process)
    };
    xml.as_bytes().chunks(size).enumerate().map(part).collect()
}

#[test]
fn maps_are_those_of_the_provider_that_the_schema_names() {
    let file = trace(vec![
        event_info(FIRST, SECOND, 5, 0),
        event_info(FIRST, SECOND, 0, 1),
        map_info(FIRST, "one"),
        map_info(SECOND, "wrong"),
        event(FIRST, 5, &[1, 0, 0, 0]),
        event(SECOND, 5, &[1, 0, 0, 0]),
        Rec::full(P8, guid(SECOND), 12, 0, vec![1, 0, 0, 0]),
    ]);
    assert_eq!(rows(&file, &["schema", "fields"]), vec![json!(["merged", {"m": "one"}]); 3]);
}

#[test]
fn each_process_has_the_names_of_its_own_manifest() {
    let number = |process| event(FIRST, 1, &[1, 0, 0, 0]).by(8, process);
    let records = [manifest(FIRST, "A", 100, 3), manifest(FIRST, "B", 200, 1), vec![number(100), number(200)]];
    let file = trace([vec![map_info(FIRST, "merged")], records.concat()].concat());
    let all = rows(&file, &["event", "fields"]);
    assert_eq!(all[all.len() - 2..], [json!(["Work", {"m": "A"}]), json!(["Work", {"m": "B"}])]);
    // The parts themselves are events with fields.
    assert_eq!(all[0][0], "ManifestData");
}

#[test]
fn manifest_data_needs_no_whole_manifest() {
    let mut parts = manifest(FIRST, "A", 100, 3);
    let length = parts[0].payload.len();
    parts.truncate(1);
    let fields = json!({"Format": 1, "MajorVersion": 1, "MinorVersion": 0, "Magic": 0x5b, "TotalChunks": 3, "ChunkNumber": 0,
        "PayloadLength": length});
    let keys = ["provider", "event", "schema", "fields", "rest"];
    assert_eq!(rows(&trace(parts), &keys), [json!([FIRST, "ManifestData", "manifest", fields, null])]);
}

#[test]
fn providers_have_the_name_that_the_trace_gives_them() {
    let own = tracelogging_schema("Solo", &[("a", 4)]);
    let solo = |provider: &str| event(provider, 0, &[7]).with_item(11, &own);
    let named = solo(FIRST).with_item(12, b"\x0a\0My.Prov\0");
    let file = trace(vec![named, solo(FIRST), event(FIRST, 9, &[]), event(WELL_KNOWN, 9, &[])]);
    let expected = [json!(["My.Prov", "Solo"]), json!([FIRST, "Solo"]), json!(["My.Prov", "EventID(9)"])];
    assert_eq!(rows(&file, &["provider", "event"]), [&expected[..], &[json!([WELL_KNOWN, "EventID(9)"])]].concat());
    // Both questions take the same patterns, and names that only one of them has are said.
    let path = file.path().to_str().expect("UTF-8");
    for more in [&[][..], &["--rows"]] {
        let ran = run(&[&["events", path, "--provider", "*DotNETRuntimePrivate"], more].concat());
        assert!(ran.code == 0 && !ran.err.contains("matches nothing"), "{ran:?}");
    }
    let ran = run(&["events", path, "--name", "GarbageCollection*"]);
    let says = "\"GarbageCollection*\" matches nothing (names from event information and manifests need --rows)";
    assert!(ran.err.contains(says), "{ran:?}");
}

/// 400 structures of one byte each, whose names take more than a record may have.
#[test]
fn missing_room_for_names_is_not_a_payload_that_is_too_short() {
    let name = "n".repeat(100);
    let mut schema = b"\0\0\0Wide\0".to_vec();
    schema.extend([b"a\0\x04", format!("{name}\0\x04").repeat(400).as_bytes()].concat());
    let size = (schema.len() as u16).to_le_bytes();
    schema[..2].copy_from_slice(&size);
    let file = trace(vec![event(FIRST, 0, &[7; 401]).with_item(11, &schema)]);
    let row = &rows(&file, &["fields", "missing", "rest"])[0];
    let said = row[1][0].as_str().expect("a text");
    assert!(row[0].as_object().is_some_and(|fields| fields.len() > 100), "{row}");
    assert!(said.ends_with(" fields without room for their names"), "{said}");
}

#[test]
fn around_a_moment_behind_the_end_is_said() {
    let file = trace(vec![event(FIRST, 9, &[])]);
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["events", path, "--rows", "--around", "99"]);
    assert!(
        ran.code == 2 && ran.err.contains("the moment 99.000000 s is behind the end of the trace, 0.000"),
        "{ran:?}"
    );
    let ran = run(&["events", path, "--rows", "--around", "0.005"]);
    assert!(ran.code == 0 && ran.out.contains("EventID(9)"), "{ran:?}");
}

/// A disk request that is never completed, of a thread of another process than the one that is asked for.
#[test]
fn requests_without_an_end_obey_conditions() {
    let thread = |id: u32, process: u32| {
        let mut payload = [process.to_le_bytes(), id.to_le_bytes()].concat();
        payload.resize(72, 0);
        Rec::system(P8, 0x0503, 3, payload).by(id, process)
    };
    let start = |thread: u32| Rec::perf(P8, 0x010c, 3, [&[9; 8][..], &thread.to_le_bytes()].concat());
    let file = trace(vec![thread(40, 8), thread(80, 12), start(40), start(80)]);
    let path = file.path().to_str().expect("UTF-8");
    let unfinished = |condition: &[&str]| -> Value {
        let text = out(&[&["faults", path, "-q", "--format", "json"], condition].concat());
        serde_json::from_str::<Value>(&text).expect("JSON")["disk"]["unfinished"].clone()
    };
    let of = |condition: &str| unfinished(&["--where", condition]);
    assert_eq!(unfinished(&[]), 2);
    assert_eq!([of("thread=80"), of("operation=read"), of("operation=write"), of("thread=7")], [1, 2, 0, 0]);
}
