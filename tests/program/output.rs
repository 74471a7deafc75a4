//! What the program prints: whole outputs as snapshots, JSON read back strictly, CSV parsed back, filters, digests.

use crate::program::{commands, finish, fixtures, out, pfnset, run};
use etl_writer::file_of;
use etl_writer::{Compression, Ptr::P8, Rec, Session, Trace};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

const RESIDENT: &str = "resident-small.etl";
const REFSET: &str = "refset-small.etl";

#[test]
fn help() {
    insta::assert_snapshot!("help", out(&["--help"]));
    for command in commands().iter().filter(|command| *command != "help") {
        insta::assert_snapshot!(format!("help_{command}"), out(&[command, "--help"]));
        let short = out(&[command, "-h"]);
        assert!(short.contains(&format!("Usage: pfnset {command}")));
    }
    assert_eq!(out(&["--version"]), concat!("pfnset ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn tables() {
    for trace in [RESIDENT, REFSET] {
        let name = trace.trim_end_matches(".etl").replace('-', "_");
        insta::assert_snapshot!(format!("info_{name}"), out(&["info", trace]));
        insta::assert_snapshot!(format!("events_{name}"), out(&["events", trace, "--digest"]));
    }
    insta::assert_snapshot!(
        "events_filtered",
        out(&["events", REFSET, "--name", "page*;!*Ex", "--provider", "memory"])
    );
}

#[test]
fn other_forms() {
    insta::assert_snapshot!("info_json", out(&["info", RESIDENT, "--format", "json"]));
    insta::assert_snapshot!("info_csv", out(&["info", RESIDENT, "--format", "csv"]));
    insta::assert_snapshot!("events_csv", out(&["events", REFSET, "--format", "csv"]));
    insta::assert_snapshot!("events_json", out(&["events", REFSET, "--name", "*0x0223;*0x0000", "--format", "json"]));
}

/// Everything that can be wrong with a trace at once.
#[test]
fn a_trace_in_trouble() {
    let session = Session { buffer_size: 0x400, events_lost: 41, buffers_lost: 2, clock: 3, ..Session::windows10() };
    let sample = |n: u64| Rec::perf(P8, 0x0f2e, 2, vec![0; 16]).at(1_000_000_000 + n * 2_904_000).on((n % 2) as u16);
    let misfit = Rec::perf(P8, 0x0f2e, 2, vec![0; 3]).at(1_000_000_000 + 2_904_000 * 500);
    let trace = Trace::new(session.clone())
        .push_all((0..400).map(sample))
        .push(misfit)
        .push(Rec::message(7, 0, vec![1, 2]))
        .push(Rec::unknown(99, vec![0; 4]))
        .push(session.header_rec(9).at(1_000_000_000 + 2_904_000 * 501))
        .lose_buffers(&[4, 5])
        .edit_buffers(|buffers| {
            buffers[1].flags |= 0x02;
            buffers[6].kind = 2;
            buffers[8].offset_field = Some(0x401);
        })
        .cut(0x3c4);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trouble.etl"), trace.finish()).unwrap();
    let run = |arguments: &[&str]| {
        let ran = crate::program::finish(crate::program::pfnset(arguments).current_dir(folder.path()));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    };
    insta::assert_snapshot!("info_trouble", run(&["info", "trouble.etl"]).out);
    insta::assert_snapshot!("events_trouble", run(&["events", "trouble.etl"]).out);
    let json = run(&["info", "trouble.etl", "--format", "json"]);
    insta::assert_snapshot!("info_trouble_stderr", json.err);
    insta::assert_snapshot!("info_trouble_json", json.out);
    let narrow = crate::program::finish(
        crate::program::pfnset(&["info", "trouble.etl"]).current_dir(folder.path()).env("COLUMNS", "60"),
    );
    insta::assert_snapshot!("info_trouble_60_columns", narrow.out);
}

/// What the session cannot hold or tell.
#[test]
fn the_first_line_says_whether_to_trust_a_trace() {
    let first = |name: &str, bytes: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let text = out(&["info", path.to_str().unwrap()]);
        text.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    assert_eq!(
        first("whole.etl", &whole),
        [
            "Verdict: no loss, damage or cut was found; whether the numbers agree is checked by pfnset resident, cpu, memory and",
            "  allocations, or by pfnset info --strict"
        ]
    );
    let cut = first("cut.etl", &whole[..whole.len() / 2]);
    assert_eq!(cut[0], "Verdict: do not trust its totals; the file is cut, copy it again");
    let mut damaged = whole.clone();
    damaged[100_000..100_040].fill(0x41);
    assert!(first("damaged.etl", &damaged)[0].starts_with("Verdict: trust it in part; the file is damaged"));
}

#[test]
fn advice_on_the_session() {
    let rec = |n: u64, bytes: usize| Rec::perf(P8, 0x0f2e, 2, vec![0; bytes]).at(1_000_000_000 + n);
    let advice = |session: Session, recs: Vec<Rec>| {
        let file = file_of(&Trace::new(session).push_all(recs).finish());
        let json: Info =
            serde_json::from_str(&out(&["info", file.path().to_str().unwrap(), "-q", "--format", "json"])).unwrap();
        (json.advice.join("; "), json)
    };
    let roomy = || Session { buffer_size: 0x40000, ..Session::windows10() };
    assert_eq!(advice(roomy(), vec![rec(1, 16)]).0, "");
    let (text, _) = advice(Session { buffer_size: 0x10000, ..Session::windows10() }, vec![rec(1, 16)]);
    assert!(text.starts_with("buffers of 64 KiB hold no event above 65,464 bytes"), "{text}");
    let (text, json) = advice(Session { buffer_size: 0x10000, ..Session::windows10() }, vec![rec(1, 60_000)]);
    assert_eq!((text.as_str(), json.trust.as_str()), ("", "with_care"));
    assert!(json.doubts.iter().any(|doubt| doubt.code == "events_at_size_limit"), "{:?}", json.doubts);
    let text = json.warnings.join("; ");
    assert!(text.contains("takes 60,016 of the 65,464 bytes that fit into a buffer of 64 KiB"), "{text}");
    let (text, _) = advice(Session { clock: 2, ..roomy() }, vec![rec(1, 16)]);
    assert!(text.contains("goes on in steps of the timer"), "{text}");
    let (text, _) = advice(roomy(), vec![rec(50_000, 16), rec(20_000, 16), rec(70_000, 16)]);
    assert!(text.starts_with("time runs backwards in 1 buffer: buffer 1 at 0x"), "{text}");
    let stack = Rec::event(P8, [1; 16], 1, 0, vec![]).with_item(6, &[7; 48]).at(1_000_000_005);
    let kernel_stack = Rec::perf(P8, 0x1820, 2, vec![0; 32]).at(1_000_000_004);
    let (_, json) = advice(roomy(), vec![rec(1, 16), kernel_stack, stack]);
    assert_eq!(json.stack_bytes, 48 + 8 + 32 + 16);
    assert_eq!(json.content.iter().map(|c| c["events"].as_u64().unwrap()).sum::<u64>(), json.file.events);
}

#[test]
fn the_machine_has_its_processors_and_its_release() {
    let info = |session: Session| {
        let cpu = etl_writer::payloads::system::processor_numbers(P8, &[(0, 0), (0, 1), (0, 2)]).at(1_000_000_001);
        let file = file_of(&Trace::new(session).push(cpu).finish());
        let path = file.path().to_str().unwrap().to_owned();
        let json: Info = serde_json::from_str(&out(&["info", &path, "--format", "json"])).unwrap();
        (json.session, out(&["info", &path]))
    };
    let session = Session { processors: 1, ..Session::windows10() };
    let (session, table) = info(Session { mode: session.mode | 0x1000_0000, ..session });
    assert_eq!((session.processors, session.machine_processors), (1, Some(3)));
    assert!(table.contains("3, 64-bit; the session had one set of buffers for all"), "{table}");
    assert_eq!(session.os_name.as_deref(), Some("Windows 10 22H2"));
    assert!(table.contains("Windows 10 22H2 (build 19045)"), "{table}");
}

/// `pfnset.info`, version 1; an unknown key fails.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // read to be checked
struct Info {
    schema: String,
    version: u32,
    trust: String,
    warnings: Vec<String>,
    doubts: Vec<InfoDoubt>,
    unchecked: Vec<String>,
    file: InfoFile,
    session: InfoSession,
    keywords: Vec<String>,
    providers: Vec<BTreeMap<String, Value>>,
    content: Vec<BTreeMap<String, Value>>,
    stack_bytes: u64,
    advice: Vec<String>,
    loss: BTreeMap<String, Value>,
    damage_total: u64,
    damage: Vec<InfoDamage>,
    malformed_records: Vec<BTreeMap<String, Value>>,
    analyses: Vec<InfoAnalysis>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct InfoDoubt {
    analysis: String,
    code: String,
    text: String,
    amount: Option<u64>,
    makes_doubtful: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct InfoFile {
    path: String,
    size_bytes: u64,
    buffers: u64,
    compressed_buffers: u64,
    events: u64,
    events_without_time: u64,
    end_of_log_offset: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct InfoSession {
    logger_name: String,
    log_file_name: String,
    buffer_size_bytes: u32,
    buffers_written: u32,
    mode: Vec<String>,
    clock: String,
    clock_frequency_hz: u64,
    pointer_bits: u32,
    processors: u32,
    machine_processors: Option<u32>,
    os_version: String,
    os_build: u32,
    os_name: Option<String>,
    os: Option<String>,
    start_utc: Option<String>,
    end_utc: Option<String>,
    boot_utc: Option<String>,
    duration_s: f64,
    kept_from_s: Option<f64>,
    events_lost: Option<u32>,
    buffers_lost: Option<u32>,
    stopped: bool,
    merged: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct InfoDamage {
    offset: u64,
    what: String,
    expected: String,
    found: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct InfoAnalysis {
    name: String,
    verdict: String,
    events: u64,
    note: Option<String>,
    missing: Vec<BTreeMap<String, Value>>,
}

/// `pfnset.events`, version 1.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Events {
    schema: String,
    version: u32,
    trace: String,
    warnings: Vec<String>,
    total: u64,
    total_bytes: u64,
    by_header: BTreeMap<String, u64>,
    by_processor: Vec<EventsProcessor>,
    hidden_events: u64,
    events: Vec<EventsRow>,
    digest: Option<EventsDigest>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct EventsProcessor {
    processor: u16,
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct EventsRow {
    provider: String,
    group: Option<String>,
    id: Option<Value>,
    opcode: Option<u8>,
    message: Option<u16>,
    header: Option<String>,
    version: u8,
    name: Option<String>,
    xperf: Option<String>,
    count: u64,
    bytes: u64,
    first_s: f64,
    last_s: f64,
    processors: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventsDigest {
    payloads_sha256: String,
    timestamps_sha256: String,
}

fn events_of(arguments: &[&str]) -> Events {
    let text = out(&[&["events"], arguments, &["--format", "json"]].concat());
    let value: Value = serde_json::from_str(&text).unwrap();
    for row in value["events"].as_array().unwrap() {
        assert!(row.as_object().unwrap().contains_key("name"), "null when unknown, never left out");
        let kinds = ["id", "opcode", "message", "header"].iter().filter(|key| row.get(key).is_some());
        assert_eq!(kinds.count(), 1, "{row}");
    }
    serde_json::from_str(&text).unwrap()
}

#[test]
fn info_json_is_its_contract() {
    for trace in [RESIDENT, REFSET] {
        let info: Info = serde_json::from_str(&out(&["info", trace, "-q", "--format", "json"])).unwrap();
        assert_eq!((info.schema.as_str(), info.version), ("pfnset.info", 1));
        assert_eq!(info.file.path, trace);
        assert_eq!((info.session.clock.as_str(), info.session.pointer_bits), ("qpc", 64));
        for time in [&info.session.start_utc, &info.session.end_utc, &info.session.boot_utc] {
            let time = time.as_deref().unwrap();
            assert!(time.len() == 28 && time.ends_with('Z') && time.as_bytes()[19] == b'.', "{time}");
        }
        assert!(info.damage.is_empty() && info.damage_total == 0 && info.warnings.is_empty() == (trace == RESIDENT));
        let names: Vec<&str> = info.analyses.iter().map(|a| a.name.as_str()).collect();
        let first = ["resident_set", "reference_set", "memory_utilization", "cpu", "commit_allocations"];
        assert_eq!((&names[..5], names.len()), (&first[..], 9));
    }
    // A session that was never stopped, of Vista.
    let trace = file_of(&Trace::new(Session { end_time: 0, clock: 2, ..Session::vista() }).finish());
    let text = run(&["info", trace.path().to_str().unwrap(), "--format", "json"]).out;
    let info: Info = serde_json::from_str(&text).unwrap();
    assert_eq!((info.session.events_lost, info.session.buffers_lost), (Some(0), Some(0)), "numbers by contract");
    assert_eq!((info.session.end_utc, info.session.stopped, info.session.pointer_bits), (None, false, 32));
    assert_eq!((info.session.clock.as_str(), info.session.clock_frequency_hz), ("system_time", 10_000_000));
    assert!(serde_json::from_str::<Value>(&text).unwrap()["session"].get("end_utc").is_some_and(Value::is_null));
}

#[test]
fn events_json_is_its_contract() {
    for trace in [RESIDENT, REFSET] {
        let events = events_of(&[trace]);
        assert_eq!((events.schema.as_str(), events.version, events.hidden_events), ("pfnset.events", 1, 0));
        assert_eq!(events.events.iter().map(|row| row.count).sum::<u64>(), events.total);
        assert_eq!(events.events.iter().map(|row| row.bytes).sum::<u64>(), events.total_bytes);
        assert_eq!(events.by_header.values().sum::<u64>(), events.total);
        assert_eq!(events.by_processor.iter().map(|p| p.count).sum::<u64>(), events.total);
        assert!(events.events.is_sorted_by_key(|row| std::cmp::Reverse(row.count)));
        assert!(events.events.iter().all(|row| row.first_s <= row.last_s));
        assert!(events.digest.is_none());
    }
}

#[test]
fn every_way_to_number_an_event() {
    let rec = |rec: Rec| rec.at(1_000_000_009);
    let trace = Trace::new(Session::windows10())
        .push(rec(Rec::system(P8, 0x0223, 4, vec![0; 24])))
        .push(rec(Rec::event(P8, [1; 16], 4711, 3, vec![])))
        .push(rec(Rec::full(P8, [2; 16], 33, 2, vec![])))
        .push(rec(Rec { guid: [3; 16], ..Rec::message(43, 0x0a, vec![]) }))
        .push(Rec::error(vec![]))
        .push(Rec::unknown(99, vec![]));
    let file = file_of(&trace.finish());
    let events = events_of(&[file.path().to_str().unwrap()]);
    type Found = (String, Option<Value>, Option<u8>, Option<u16>, Option<String>, u8);
    let found: Vec<Found> = events
        .events
        .into_iter()
        .map(|row| (row.provider, row.id, row.opcode, row.message, row.header, row.version))
        .collect();
    let guid = |n: u8| uuid::Uuid::from_bytes([n; 16]).to_string();
    for expected in [
        ("kernel".to_owned(), Some("0x0223".into()), None, None, None, 4),
        (guid(1), Some(4711.into()), None, None, None, 3),
        (guid(2), None, Some(33), None, None, 2),
        (guid(3), None, None, Some(43), None, 0),
        ("unknown".to_owned(), None, None, None, Some("error".to_owned()), 0),
        ("unknown".to_owned(), None, None, None, Some("99".to_owned()), 0),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert_eq!(events.by_header.get("99"), Some(&1));
}

#[test]
fn filters_hide_rows_and_totals_still_add_up() {
    let all = events_of(&[REFSET]);
    for (arguments, shown) in [
        (&["--name", "*PageAccess*"][..], 2),
        (&["--name", "0x0223"], 1),
        (&["--name", "INMEMORY"], 1),     // the name in xperf
        (&["--name", "PageInMemory"], 1), // the name in WPA without its class
        (&["--provider", "memory", "--name", "!*page*"], 9),
        (&["--provider", "Kernel", "--name", "*DCEnd;*DCStart"], 10),
        (&["--provider", "nobody"], 0),
        (&["--name", "*"], all.events.len()),
    ] {
        let some = events_of(&[&[REFSET, "-q"], arguments].concat());
        assert_eq!(some.events.len(), shown, "{arguments:?}: {:?}", some.events);
        assert_eq!((some.total, some.total_bytes), (all.total, all.total_bytes));
        assert_eq!(some.events.iter().map(|row| row.count).sum::<u64>() + some.hidden_events, all.total);
    }
    let table = out(&["events", REFSET, "--provider", "nobody", "-q"]);
    assert!(table.contains("+ 38 kinds not shown") && table.contains("Total"), "{table}");
}

#[test]
fn csv_comes_back() {
    let mut reader = csv::Reader::from_reader(out(&["events", REFSET, "--format", "csv"]).leak().as_bytes());
    let headings: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(headings[..3], ["provider", "group", "number"]);
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let json = events_of(&[REFSET]);
    assert_eq!(rows.len(), json.events.len());
    let count = headings.iter().position(|h| h == "count").unwrap();
    assert!(rows.iter().zip(&json.events).all(|(row, event)| row[count] == event.count.to_string()));

    let mut reader = csv::Reader::from_reader(out(&["info", RESIDENT, "--format", "csv"]).leak().as_bytes());
    let facts: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert!(facts.iter().any(|fact| fact[1] == *"logger" && fact[2] == *"NT Kernel Logger"));
}

/// The same records give the same fingerprints, however the file holds them.
#[test]
fn digests_compare_files() {
    let digest = |session: Session, last: u8| {
        let recs = (0..3_000u64).map(|n| Rec::perf(P8, 7, 2, vec![n as u8; 20]).at(1_000_000_000 + n));
        let trace = Trace::new(session).push_all(recs).push(Rec::perf(P8, 7, 2, vec![last]).at(1_000_009_000));
        let file = file_of(&trace.header_rec(Rec::message(1, 0, vec![5])).finish());
        events_of(&[file.path().to_str().unwrap(), "--digest"]).digest.unwrap()
    };
    // The log-file header record is part of both; its payload names modes and sizes.
    let plain = digest(Session::windows10(), 1);
    let other = digest(Session::windows10(), 2);
    let packed = digest(Session::windows10().compressed(Compression::Huffman), 1);
    let cut_up = digest(Session { buffer_size: 0x400, ..Session::windows10() }, 1);
    assert_ne!(plain.payloads_sha256, other.payloads_sha256);
    assert_eq!(plain.timestamps_sha256, other.timestamps_sha256);
    assert_eq!(plain.timestamps_sha256, packed.timestamps_sha256);
    assert_eq!(plain.timestamps_sha256, cut_up.timestamps_sha256);
    assert!(plain.payloads_sha256.len() == 64 && plain.payloads_sha256.bytes().all(|b| b.is_ascii_hexdigit()));
}

/// Fingerprints by their definition, from the records that were written.
#[test]
fn digests_are_what_the_documentation_says() {
    use sha2::{Digest, Sha256};
    let session = Session::windows10();
    let header = session.header_rec(2);
    let recs = [
        Rec::perf(P8, 7, 2, vec![1, 2, 3]).at(1_000_000_003).with_pebs(9).with_counters(&[4, 5]),
        Rec::event(P8, [1; 16], 1, 0, vec![4, 5]).with_item(1, &[7; 16]).at(1_000_000_004),
        Rec::message(1, 0x20, vec![6]), // no time: that of the record before it
        Rec::full(P8, [1; 16], 1, 0, vec![7; 9]).at(1_000_000_005),
    ];
    let file = file_of(&Trace::new(session).push_all(recs.clone()).finish());
    let (mut payloads, mut stamps) = (Sha256::new(), Sha256::new());
    payloads.update(&header.payload);
    recs.iter().for_each(|rec| payloads.update(&rec.payload));
    [header.time, recs[0].time, recs[1].time, recs[1].time, recs[3].time]
        .iter()
        .for_each(|t| stamps.update(t.to_le_bytes()));
    let hex = |hasher: Sha256| hasher.finalize().iter().map(|b| format!("{b:02x}")).collect::<String>();
    let digest = events_of(&[file.path().to_str().unwrap(), "--digest"]).digest.unwrap();
    assert_eq!((digest.payloads_sha256, digest.timestamps_sha256), (hex(payloads), hex(stamps)));
    let text = run(&["events", file.path().to_str().unwrap(), "--digest"]).out;
    assert!(text.contains("payloads   sha256 "));
}

/// A slip of the hand must not cost a trace.
#[test]
fn no_answer_is_written_over_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("keep.ETL");
    std::fs::write(&other, "a trace").unwrap();
    let trace = fixtures().join("resident-small.etl");
    for to in [other.to_str().unwrap(), "-"] {
        let ran = finish(pfnset(&["resident", trace.to_str().unwrap(), "-o", to]).current_dir(folder.path()));
        assert!(ran.code == 2 && (ran.err.contains("name another file") || ran.err.contains("name a file")), "{ran:?}");
    }
    let budgets = file_of(b"[[budget]]\nname = \"a\"\nmax = \"1 GiB\"\n");
    for flag in ["--junit", "--save-baseline"] {
        let to = other.to_str().unwrap();
        let ran = run(&["check", trace.to_str().unwrap(), "--budgets", budgets.path().to_str().unwrap(), flag, to]);
        assert!(ran.code == 2 && ran.err.contains("is a trace by its name"), "{flag}: {ran:?}");
    }
    assert_eq!(std::fs::read(&other).unwrap(), b"a trace");
    assert!(!folder.path().join("-").exists());
}
