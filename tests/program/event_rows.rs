//! `pfnset events --rows`: a row for each record, in every form.

use crate::program::{finish, out, pfnset, run};
use crate::random_cases::one_in;
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::Value;

const TRACES: [&str; 6] = [
    "resident-small.etl",
    "refset-small.etl",
    "cpu-compressed.etl",
    "stacks-keys.etl",
    "faults-x86.etl",
    "refset-proved.etl",
];

fn rows(trace: &str, more: &[&str]) -> Vec<Value> {
    let text = out(&[&["events", trace, "--rows", "-q", "--format", "jsonl"], more].concat());
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_record_has_a_row_in_the_order_of_time() {
    for trace in one_in(1, TRACES.to_vec()) {
        let all = rows(trace, &[]);
        let summary: Value = serde_json::from_str(&out(&["events", trace, "-q", "--format", "json"])).expect("JSON");
        assert_eq!(Some(all.len() as u64), summary["total"].as_u64(), "{trace}");
        assert!(all.is_sorted_by(|a, b| a["time_s"].as_f64() <= b["time_s"].as_f64()), "{trace}");
        for row in &all {
            let has_payload = row["payload"].is_string();
            assert_eq!(row["schema"].is_null(), has_payload, "{trace}: {row}");
            assert_eq!(row["fields"].is_object(), !has_payload, "{trace}: {row}");
        }
        let with_fields = all.iter().filter(|row| row["fields"].is_object()).count();
        assert!(with_fields * 2 > all.len(), "{trace}: {with_fields} of {}", all.len());
    }
}

/// Headers of hard faults, samples and context switches name no process: the thread in the payload does, as for stacks.
#[test]
fn processes_are_those_of_the_threads_that_payloads_name() {
    let events = vec![
        ("faults-x86.etl", "Memory: HardFault", "0x0220"),
        ("stacks-keys.etl", "PerfInfo: SampledProfile", "0x0f2e"),
        ("cpu-compressed.etl", "Thread: CSwitch", "0x0524"),
    ];
    for (trace, event, hook) in one_in(1, events) {
        let all = rows(trace, &["--name", event]);
        let stacks = out(&["stacks", trace, "-q", "--of", hook, "--group-by", "process", "--format", "json"]);
        let stacks: Value = serde_json::from_str(&stacks).expect("JSON");
        let mut compared = 0;
        for group in stacks["rows"].as_array().expect("rows") {
            let is_own = |row: &&Value| match group["process"].as_str() {
                Some("Unknown") => row["process"].is_null(),
                _ => row["process"] == group["process"],
            };
            let own = all.iter().filter(is_own).count() as u64;
            compared += own;
            // Stacks know the process of some samples better: what they know of the others is the same.
            assert!(Some(own) == group["events"].as_u64() || trace == "stacks-keys.etl", "{trace}: {own} of {group}");
        }
        assert!(compared > 0 && all.iter().any(|row| row["process"].is_string()), "{trace}");
        assert!(all.iter().all(|row| row["pid"].is_null()), "the header names none");
        let known = all.iter().find_map(|row| row["process"].as_str()).expect("a process");
        let chosen = rows(trace, &["--name", event, "--where", &format!("process={known}")]);
        assert_eq!(chosen.len(), all.iter().filter(|row| row["process"] == known).count(), "{trace}");
    }
}

/// `Unknown*` means processes without a name in all tables; rows that tell no process were left out, and said to be none.
#[test]
fn rows_of_no_known_process_are_unknown_and_none() {
    let all = rows("faults-x86.etl", &[]);
    let nameless = |row: &&Value| row["process"].as_str().is_none_or(|process| process.starts_with("Unknown ("));
    let count = |condition: &str| rows("faults-x86.etl", &["--where", condition]).len();
    let (none, without) =
        (all.iter().filter(|row| row["process"].is_null()).count(), all.iter().filter(nameless).count());
    assert!(none > 0 && without < all.len());
    assert_eq!([count("process=Unknown*"), count("process=n/a")], [without, none]);
    assert_eq!([count("process=!Unknown*"), count("process=!n/a")], [without, none].map(|some| all.len() - some));
}

#[test]
fn fields_are_those_of_the_tables() {
    let started = rows("refset-small.etl", &["--name", "Process: DCStart"]);
    assert!(!started.is_empty());
    let processes: Value =
        serde_json::from_str(&out(&["processes", "refset-small.etl", "-q", "--format", "json"])).expect("JSON");
    let ids: Vec<&Value> =
        processes["processes"].as_array().expect("a list").iter().map(|process| &process["pid"]).collect();
    assert!(started.iter().all(|row| ids.contains(&&row["fields"]["ProcessId"])), "{ids:?}");
    let faults: Value =
        serde_json::from_str(&out(&["faults", "faults-x86.etl", "-q", "--format", "json"])).expect("JSON");
    let of = |name: &str| rows("faults-x86.etl", &["--name", name]);
    let bytes =
        |rows: Vec<Value>, field: &str| rows.iter().filter_map(|row| row["fields"][field].as_u64()).sum::<u64>();
    assert_eq!(Some(bytes(of("Memory: HardFault"), "ByteCount")), faults["hard"]["bytes"].as_u64());
    assert_eq!(Some(bytes(of("DiskIo: Read;DiskIo: Write"), "TransferSize")), faults["disk"]["bytes"].as_u64());
}

#[test]
fn windows_filters_and_heads_choose_rows() {
    let all = rows("faults-x86.etl", &[]);
    assert_eq!(rows("faults-x86.etl", &["--head", "7"]), all[..7]);
    let part = rows("faults-x86.etl", &["--from", "0.1", "--to", "0.2"]);
    let expected: Vec<&Value> =
        all.iter().filter(|row| row["time_s"].as_f64().is_some_and(|time| (0.1..0.2).contains(&time))).collect();
    assert!(!part.is_empty() && part.iter().eq(expected));
    let provider = rows("faults-x86.etl", &["--provider", "DiskIo"]);
    assert!(
        !provider.is_empty() && provider.iter().all(|row| row["event"].as_str().unwrap_or("").starts_with("DiskIo: "))
    );
    let ran = run(&["events", "faults-x86.etl", "--rows", "--name", "nothing*", "--format", "jsonl"]);
    assert!(ran.code == 0 && ran.out.is_empty() && ran.err.contains("matches nothing"), "{ran:?}");
}

/// A circular file keeps the records of its session, which are before the first one of the others: a window without a begin has them.
#[test]
fn a_window_without_a_begin_has_all_that_is_before_its_end() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let records = (1..20).map(|n| Rec::event(P8, [7; 16], n, 0, vec![0; 4]).at(t0 + u64::from(n) * 10_000));
    let file = file_of(&Trace::new(session).push_all(records).circular(8000).finish());
    let path = file.path().to_str().expect("UTF-8");
    let all = rows(path, &[]);
    assert!(all.iter().any(|row| row["event"] == "EventTrace: Header"), "{all:?}");
    assert_eq!(rows(path, &["--to", "100"]), all);
    assert_eq!(rows(path, &["--from", "0", "--to", "100"]), all);
    for middle in ["0.0045", "0.010", "0.0185"] {
        let sides = [rows(path, &["--to", middle]), rows(path, &["--from", middle])].concat();
        assert_eq!(sides, all, "{middle}");
    }
}

/// Each condition against the rows themselves.
#[test]
fn conditions_are_those_of_the_rows() {
    let trace = "faults-x86.etl";
    let all = rows(trace, &[]);
    let is = |row: &Value, key: &str, text: &str| row[key].to_string().trim_matches('"') == text;
    for (more, keep) in [
        (
            &["--where", "process=system"][..],
            &(|row: &Value| is(row, "process", "System (4)")) as &dyn Fn(&Value) -> bool,
        ),
        (&["--where", "pid=4;0"], &|row| is(row, "pid", "4") || is(row, "pid", "0")),
        (&["--where", "process=n/a"], &|row| row["process"].is_null()),
        (&["--where", "processor=1;2", "--where", "event=Memory*"], &|row| {
            ["1", "2"].iter().any(|cpu| is(row, "processor", cpu)) && row["event"].to_string().starts_with("\"Memory")
        }),
        (&["--where", "provider=!kernel"], &|row| !is(row, "provider", "kernel")),
        // Names by which --provider and --name know them, and no row shows.
        (&["--where", "provider=DiskIo;Memory"], &|row| is(row, "provider", "DiskIo") || is(row, "provider", "Memory")),
        (&["--where", "provider=!DiskIo"], &|row| !is(row, "provider", "DiskIo")),
        (&["--where", "event=0x0220;HardFault"], &|row| is(row, "event", "0x0220") || is(row, "event", "HardFault")),
        (&["--field", "byteCount=4096"], &|row| row["fields"]["ByteCount"] == 4096),
        (&["--field", "ByteCount=!4096", "--field", "ReadOffset=0"], &|row| {
            row["fields"]["ByteCount"].is_u64()
                && row["fields"]["ByteCount"] != 4096
                && row["fields"]["ReadOffset"] == 0
        }),
        (&["--where", "thread=0x*;n/a"], &|row| row["thread"].is_null()),
    ] {
        let expected: Vec<&Value> = all.iter().filter(|row| keep(row)).collect();
        assert!(rows(trace, more).iter().eq(expected), "{more:?}");
    }
    let some = rows(trace, &["--name", "*HardFault", "--fields", "ByteCount,readoffset"]);
    assert!(!some.is_empty());
    for row in some {
        let names: Vec<&String> = row["fields"].as_object().expect("fields").keys().collect();
        assert_eq!(names, ["ByteCount", "ReadOffset"]);
    }
}

/// Times are in nanoseconds here: a tick is 100 of them.
#[test]
fn rows_around_a_moment_or_a_mark() {
    let near = |rows: &[Value], moment: f64, margin: f64| -> Vec<Value> {
        let is_near = |row: &&Value| (row["time_s"].as_f64().unwrap_or(-1.0) - moment).abs() < margin + 1e-9;
        rows.iter().filter(is_near).cloned().collect()
    };
    let all = rows("refset-small.etl", &[]);
    let around = |more: &[&str]| rows("refset-small.etl", &[&["--around"], more].concat());
    let mark = all.iter().find(|row| row["fields"]["Name"] == "RefSetTraceStop").expect("a mark");
    let moment = mark["time_s"].as_f64().expect("a time");
    assert_eq!(around(&["RefSet*Stop", "--margin", "20us"]), near(&all, moment, 20e-6));
    assert_eq!(around(&["mark:refsettracestop"]), near(&all, moment, 10e-3));
    assert_eq!(around(&["0.03"]), near(&all, 0.03, 10e-3));
}

#[test]
fn stacks_are_those_of_the_analysis() {
    let with = rows("stacks-keys.etl", &["--stacks", "--name", "*SampledProfile"]);
    let text = out(&["stacks", "stacks-keys.etl", "-q", "--of", "samples", "--format", "collapsed"]);
    let mut expected: Vec<String> = Vec::new();
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a count");
        // The first frame is the process.
        let frames = stack.split_once(';').map_or("", |(_, frames)| frames);
        expected.extend(std::iter::repeat_n(frames.to_owned(), count.parse().expect("a number")));
    }
    let frames = |row: &Value| -> Vec<String> {
        let list = row["frames"].as_array().into_iter().flatten();
        list.rev().map(|frame| frame.as_str().expect("text").replace(';', ":")).collect()
    };
    let mut found: Vec<String> = with.iter().map(|row| frames(row).join(";")).collect();
    expected.iter_mut().filter(|stack| *stack == "[no stack]").for_each(String::clear);
    found.sort();
    expected.sort();
    assert!(found == expected && found.iter().filter(|stack| !stack.is_empty()).count() > 50);
    insta::assert_snapshot!(out(&[
        "events",
        "stacks-keys.etl",
        "--rows",
        "-q",
        "--stacks",
        "--head",
        "2",
        "--where",
        "event=*Sample*"
    ]));
}

#[test]
fn what_matches_nothing_or_has_no_effect_is_said() {
    let base = ["events", "faults-x86.etl", "--rows", "--format", "jsonl"];
    for (more, says) in [
        (&["--where", "process=nobody"][..], "process \"nobody\" matches nothing"),
        (&["--where", "event=Memory*", "--where", "thread=12345678"], "of what event=Memory* lets pass"),
        (&["--field", "Nothing=*"], "has a field of this name"),
        (&["--field", "ByteCount=77"], "field ByteCount: \"77\" matches nothing"),
        (&["--fields", "ByteCount,Nothing"], "no row has a field Nothing"),
        (&["--stacks"], "the trace has no stacks"),
    ] {
        let ran = run(&[&base[..], more].concat());
        assert!(ran.code == 0 && ran.err.contains(says), "{more:?}: {}", ran.err);
    }
    for (more, says) in [
        (&["--where", "file=x"][..], "unknown dimension \"file\""),
        (&["--field", "x"], "write NAME=PATTERNS"),
        (&["--fields", "a,a"], "named twice"),
        (&["--around", "1", "--from", "0.5"], "cannot be used with"),
        (&["--around", "nowhere"], "no mark matches"),
        (&["--margin", "1ms"], "--around"),
        (&["--symbols", "."], "--rows --stacks"),
    ] {
        let ran = run(&[&base[..], more].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{more:?}: {ran:?}");
    }
    let ran = run(&["events", "faults-x86.etl", "--symbols", "."]);
    assert!(ran.code == 2 && ran.err.contains("--rows --stacks"), "{ran:?}");
}

pub const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events" xmlns:win="x"><instrumentation><events>
  <provider name="Acme-Store" guid="{07070707-0707-0707-0707-070707070707}" symbol="ACME">
    <opcodes><opcode name="acme:Halt" value="11"/></opcodes><tasks><task name="Sale" value="3"/></tasks>
    <maps><valueMap name="Kind"><map value="1" message="$(string.one)"/></valueMap>
      <bitMap name="Flags"><map value="0x1" message="$(string.red)"/><map value="0x4" message="$(string.big)"/></bitMap></maps>
    <templates><template tid="T1"><data name="Kind" inType="win:UInt32" map="Kind"/><data name="Flags" inType="win:UInt8" map="Flags"/>
      <data name="Count" inType="win:UInt8"/><data name="Parts" inType="win:UInt16" count="Count"/></template></templates>
    <events><event value="5" version="0" symbol="SOLD" task="Sale" opcode="acme:Halt" template="T1"/>
      <event value="5" version="1" symbol="SOLD1" task="Sale" template="T1"/>
      <event value="6" symbol="EMPTY" task="win:None" opcode="win:Info"/></events>
  </provider></events></instrumentation><localization><resources culture="en-US"><stringTable>
  <string id="one" value="single "/><string id="red" value="Red"/><string id="big" value="Big"/></stringTable></resources></localization></instrumentationManifest>"#;

/// Events of which the trace says nothing, and one of another version.
#[test]
fn a_manifest_of_the_user_describes_what_the_trace_does_not() {
    let provider = [7u8; 16];
    let payload = || [&[1, 0, 0, 0, 5, 2][..], &[7, 0, 9, 1]].concat();
    let event = |id, version, payload| Rec { opcode: 11, task: 3, ..Rec::event(P8, provider, id, version, payload) };
    let session = Session { processors: 1, ..Session::windows10() };
    let mut trace = Trace::new(session.clone());
    let records = [
        event(5, 0, payload()),
        event(5, 2, payload()),
        Rec { opcode: 0, ..event(6, 0, Vec::new()) },
        event(5, 0, payload()[..8].to_vec()),
    ];
    for (number, record) in (1u64..).zip(records) {
        trace.add(&record.at(session.t0 + number * 1000));
    }
    let file = file_of(&trace.finish());
    let path = file.path().to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let wide: Vec<u8> = "\u{feff}".chars().chain(MANIFEST.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
    for manifest in [write("acme.man", MANIFEST.as_bytes()), write("wide.man", &wide)] {
        let all = rows(path, &["--manifest", &manifest, "--provider", "Acme*"]);
        let shown: Vec<[String; 4]> =
            all.iter().map(|row| ["event", "schema", "fields", "missing"].map(|key| row[key].to_string())).collect();
        let fields = r#"{"Kind":"single","Flags":"Red|Big","Count":2,"Parts":[7,265]}"#;
        let some = r#"{"Kind":"single","Flags":"Red|Big","Count":2}"#;
        assert_eq!(
            shown,
            [
                [r#""Sale/Halt""#, r#""manifest""#, fields, "null"],
                [r#""EventID(5)""#, "null", "null", "null"],
                [r#""EMPTY""#, r#""manifest""#, "{}", "null"],
                [r#""Sale/Halt""#, r#""manifest""#, some, r#"["Parts"]"#],
            ]
            .map(|row| row.map(str::to_owned))
        );
        assert_eq!(all[3]["rest"], "0700");
    }
    for (bytes, says) in [
        (&b"<x/>"[..], "it describes no event"),
        (b"<x>", "manifest"),
        (b"", "manifest"),
        (br#"<!DOCTYPE x [<!ENTITY a "a">]><x>&a;</x>"#, "DTD"),
    ] {
        let ran = run(&["events", path, "--rows", "--manifest", &write("wrong.man", bytes)]);
        assert!(ran.code == 2 && ran.err.contains(says) && ran.out.is_empty(), "{says}: {ran:?}");
    }
    let other = write("other.man", MANIFEST.replace("07070707-", "17070707-").as_bytes());
    let ran = run(&["events", path, "--rows", "--format", "jsonl", "--manifest", &other]);
    assert!(ran.code == 0 && ran.err.contains("no event was read by it"), "{ran:?}");
    let ran = run(&["events", path, "--rows", "--manifest", "not-there.man"]);
    assert!(ran.code == 2 && ran.err.contains("not-there.man"), "{ran:?}");
}

#[test]
fn forms_for_people_and_spreadsheets() {
    insta::assert_snapshot!(out(&["events", "faults-x86.etl", "--rows", "-q", "--head", "24"]));
    let csv = out(&["events", "faults-x86.etl", "--rows", "-q", "--format", "csv"]);
    let mut reader = csv.lines();
    assert!(reader.next().is_some_and(|heading| heading.starts_with("time_s,processor,process,pid,")));
    assert_eq!(reader.count(), rows("faults-x86.etl", &[]).len());
    // Fields that were asked for are all there, in narrow terminals on further lines.
    let fields = ["FileObject", "ReadOffset", "VirtualAddress", "ByteCount"];
    let asked = ["events", "faults-x86.etl", "--rows", "-q", "--name", "*HardFault", "--head", "2", "--fields"];
    let fields_of = fields.join(",");
    let line = [&asked[..], &[fields_of.as_str()]].concat();
    for columns in ["40", "80", "200"] {
        let shown = finish(pfnset(&line).env("COLUMNS", columns)).out;
        let count = |name: &&str| shown.matches(&format!("{name}=")).count();
        assert_eq!(fields.iter().map(count).collect::<Vec<_>>(), [2; 4], "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.chars().count() <= columns.parse().unwrap()), "{shown}");
    }
    for (more, says) in [
        (&["--rows", "--format", "json"][..], "has the forms table, csv and jsonl"),
        (&["--rows", "--digest"], "--digest is of the statistics without --rows"),
        (&["--rows", "--each"], "lists the records of one trace"),
        (&["--head", "3"], "--rows"),
        // Ignored without a word, because --rows, which they need, conflicted with these.
        (&["--digest", "--from", "0.1"], "--rows"),
        (&["--digest", "--where", "process=app.exe"], "--rows"),
        (&["--each", "--stacks"], "--rows"),
    ] {
        let ran = run(&[&["events", "faults-x86.etl"], more].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{more:?}: {ran:?}");
    }
}

/// A head that ends where the first part of the trace ends once hid that a pattern matches nothing.
#[test]
fn patterns_that_match_nothing_are_told_also_with_a_head() {
    let told = |more: &[&str]| {
        let line = ["events", "faults-x86.etl", "--rows", "--format", "jsonl", "--where", "process=app.exe;typo"];
        run(&[&line, more].concat()).err.lines().filter(|line| line.contains("typo")).collect::<Vec<_>>().join("|")
    };
    assert_eq!(told(&[]), "pfnset: warning: process \"typo\" matches nothing");
    let part = "pfnset: warning: process \"typo\" matches nothing in the part that was read for --head";
    assert_eq!(told(&["--head", "1"]), part);
    assert_eq!(told(&["--head", "1", "-q"]), "");
}

/// Messages without a time begin later buffers, also of a later slice; those have the time of the trace's start, and come first, in
/// the order of the file. Others have the time of the record before them.
#[test]
fn records_without_a_time_are_in_their_place() {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut trace = Trace::new(session.clone());
    let untimed = |number| Rec::message(number, 0, vec![7; 4]).at(session.t0);
    for buffer in 0..22u16 {
        if buffer % 7 == 6 {
            trace.add(&untimed(buffer));
            trace.add(&untimed(buffer + 1000));
        }
        for number in 0..1000u64 {
            let time = session.t0 + 10_000 + u64::from(buffer) * 10_000 + number * 10;
            trace.add(&Rec::event(P8, [7; 16], buffer, 0, vec![1; 4]).at(time));
        }
        trace.add(&untimed(buffer + 2000));
        trace = trace.flush_all();
    }
    let file = file_of(&trace.finish());
    let text = out(&["events", file.path().to_str().expect("UTF-8"), "--rows", "-q", "--format", "jsonl"]);
    let time = |line: &str| line.strip_prefix("{\"time_s\":")?.split(',').next()?.parse::<f64>().ok();
    let times: Vec<f64> = text.lines().filter_map(time).collect();
    assert!(times.len() > 22_000 && times.is_sorted());
    let begins = [6, 1006, 13, 1013, 20, 1020];
    let ends = (0..22).map(|buffer| buffer + 2000);
    let named = begins.into_iter().chain(ends).map(|number| format!("Message({number})"));
    let messages = text.lines().filter(|line| line.contains("\"Message("));
    assert!(messages.zip(named).all(|(line, name)| line.contains(&name)));
    assert!(text.lines().skip(1).take(6).all(|line| line.contains("\"Message(")));
}

/// A window whose end is not given reaches beyond the last record, and two windows with a common end are the whole.
#[test]
fn a_window_without_an_end_has_the_last_record() {
    for trace in ["resident-small.etl", "faults-x86.etl", "cpu-compressed.etl"] {
        let all = rows(trace, &[]);
        assert_eq!(rows(trace, &["--from", "0"]), all, "{trace}");
        let parts = [rows(trace, &["--to", "0.3"]), rows(trace, &["--from", "0.3"])].concat();
        assert_eq!(parts, all, "{trace}");
    }
}

/// Above many rows nobody sees a warning; and rows for programs come with what was lost, also with `-q`.
#[test]
fn rows_of_a_damaged_trace_say_so() {
    let whole = std::fs::read(crate::program::fixtures().join("resident-small.etl")).expect("a fixture");
    let file = file_of(&whole[..200_000]);
    let path = file.path().to_str().expect("UTF-8");
    let quiet = run(&["events", path, "--rows", "-q", "--format", "csv"]);
    assert!(quiet.code == 0 && quiet.err.contains("THE FILE IS CUT"), "{}", quiet.err);
    let line = format!("pfnset events {path} --rows");
    let Some(shown) = crate::terminal::on_a_terminal("rows_of_a_damaged_trace_say_so", 80, &line) else { return };
    assert!(shown.lines().next_back().is_some_and(|last| last.starts_with("! THE FILE IS CUT")), "{shown}");
}

/// A window without such records was told as a name that is wrong, and a window without any by nothing.
#[test]
fn an_empty_window_is_no_wrong_name() {
    let rows = |more: &[&str]| run(&[&["events", "stacks-keys.etl", "--rows"], more].concat());
    let empty = ["--from", "0", "--to", "0.000001"];
    let told = rows(&[&["--name", "CSwitch"], &empty[..]].concat());
    assert!(told.err.contains("no record of the window meets all conditions") && told.code == 0, "{told:?}");
    assert!(!told.err.contains("matches nothing"), "{told:?}");
    let wrong = rows(&[&["--name", "Nothing"], &empty[..]].concat());
    assert!(wrong.err.contains("--name \"Nothing\" matches nothing in the window"), "{wrong:?}");
    let some = rows(&["--name", "CSwitch", "--head", "1"]);
    assert!(!some.err.contains("no record"), "{some:?}");
}
