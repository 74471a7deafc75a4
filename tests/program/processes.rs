//! `pfnset processes`: instances, parents, pages against a naive count over `pages`, groups, forms.

use crate::one_of_each;
use crate::program::{finish, fixtures, out, pfnset, run};
use etl_writer::file_of;
use etl_writer::payloads::memory;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Process events and nothing else: a parent from before the trace, children that start and end in it, an id used twice.
fn family() -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let at = |milliseconds: u64| session.t0 + milliseconds * 10_000;
    let child = |key: u64, name: &str| Process { key, parent: 40, session: 2, ..Process::new(48, name) };
    let trace = Trace::new(session.clone())
        .push(
            Process { session: u32::MAX, parent: 0, ..Process::new(4, "System") }
                .rec(P8, 4, process::DC_START)
                .at(at(1)),
        )
        .push(Process::new(40, "parent.exe").rec(P8, 4, process::DC_START).at(at(1)))
        .push(child(0x1000, "one.exe").rec(P8, 4, process::START).by(44, 40).at(at(100)))
        .push(Process { exit_status: -5, ..child(0x1000, "one.exe") }.rec(P8, 4, process::END).at(at(200)))
        .push(child(0x2000, "two.exe").rec(P8, 4, process::START).by(44, 40).at(at(300)))
        .push(Process::new(40, "parent.exe").rec(P8, 4, process::END).at(at(400)))
        .push(
            Process { parent: 40, ..Process::new(52, "orphan.exe") }.rec(P8, 4, process::START).by(44, 40).at(at(500)),
        );
    file_of(&trace.finish())
}

fn json_of(trace: &str, more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["processes", trace, "-q", "--format", "json"], more].concat())).expect("JSON")
}

#[test]
fn without_page_records_everything_but_pages_is_known() {
    let file = family();
    let all = json_of(file.path().to_str().unwrap(), &["--sort", "start"]);
    assert_eq!((&all["snapshot"], &all["snapshot_count"], &all["total"]), (&Value::Null, &json!(0), &json!(5)));
    let list = all["processes"].as_array().unwrap();
    let part = |row: &Value| json!([row["process"], row["parent"], row["session"], row["start_s"], row["end_s"]]);
    let rows: Vec<Value> = list.iter().map(part).collect();
    let start = |n: usize| list[n]["start_s"].as_f64().unwrap();
    assert_eq!(rows[0], json!(["parent.exe (40)", "System (4)", 1, null, list[0]["end_s"]]));
    assert_eq!(rows[1], json!(["System (4)", "Unknown (0)", null, null, null]));
    assert_eq!(rows[2], json!(["one.exe (48)", "parent.exe (40)", 2, list[2]["start_s"], list[2]["end_s"]]));
    assert_eq!(rows[3], json!(["two.exe (48)", "parent.exe (40)", 2, list[3]["start_s"], null]));
    assert_eq!(rows[4][1], "Unknown (40)", "a parent that has ended is no process of that time");
    assert!((start(3) - start(2) - 0.2).abs() < 1e-6 && list[0]["end_s"].as_f64() > Some(start(3)), "{rows:?}");
    assert_eq!((&list[2]["exit_status"], &list[3]["exit_status"]), (&json!(-5), &Value::Null));
    assert_eq!(list[2]["command_line"], "\"C:\\Program Files\\one.exe\" -run");
    for key in ["private_pages", "private_bytes", "page_table_pages", "page_table_bytes"] {
        assert!(list.iter().all(|row| row[key].is_null()), "{key}");
    }
}

#[test]
fn pages_are_those_that_a_naive_count_finds() {
    let file = file_of(&one_of_each::trace(2));
    let path = file.path().to_str().unwrap();
    for trace in [path, "resident-small.etl"] {
        let mut naive: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        for line in out(&["pages", trace, "-q", "--format", "jsonl"]).lines() {
            let page: Value = serde_json::from_str(line).unwrap();
            let counts = naive.entry(page["process"].as_str().unwrap().to_owned()).or_default();
            match page["use"].as_str() {
                Some("ProcessPrivate") => counts[0] += 1,
                Some("PageTable") => counts[1] += 1,
                _ => continue,
            }
            match page["list"].as_str() {
                Some("Standby") => counts[2] += 1,
                Some("Modified" | "ModifiedNoWrite") => counts[3] += 1,
                _ => {}
            }
        }
        let all = json_of(trace, &[]);
        let mut found: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        for row in all["processes"].as_array().unwrap() {
            let counts = found.entry(row["process"].as_str().unwrap().to_owned()).or_default();
            let pages = |key: &str| row[key].as_u64().unwrap();
            for (at, key) in ["private_pages", "page_table_pages", "standby_pages", "modified_pages"].iter().enumerate()
            {
                counts[at] += pages(key);
            }
            assert_eq!(pages("private_bytes"), 4096 * pages("private_pages"));
        }
        let known = |label: &String| found.contains_key(label);
        let unknown: u64 =
            naive.iter().filter(|(label, _)| label.starts_with("Unknown") && !known(label)).map(|(_, c)| c[0]).sum();
        assert_eq!(all["snapshot"]["unattributed_private_pages"], unknown, "{trace}");
        for (label, counts) in found {
            assert_eq!(naive.get(&label).copied().unwrap_or_default(), counts, "{trace}: {label}");
        }
        assert!(naive.values().any(|counts| counts[0] > 0 && counts[1] > 0), "{trace} has what is counted");
    }
}

#[test]
fn groups_add_up_to_the_processes() {
    let file = file_of(&one_of_each::trace(1));
    let path = file.path().to_str().unwrap();
    let whole = json_of(path, &[]);
    let sum =
        |list: &Value, key: &str| list.as_array().unwrap().iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    for names in ["session", "name,pid", "parent", "started,ended", "command-line"] {
        let grouped = json_of(path, &["--group-by", names]);
        assert_eq!(sum(&grouped["rows"], "processes"), whole["total"].as_u64().unwrap(), "{names}");
        for key in ["private_pages", "page_table_bytes"] {
            assert_eq!(sum(&grouped["rows"], key), sum(&whole["processes"], key), "{names} {key}");
        }
    }
    let one = json_of(path, &["--where", "name=app*", "--where", "ended=false"]);
    assert_eq!((one["processes"].as_array().unwrap().len(), &one["total"]), (1, &whole["total"]));
}

#[test]
fn every_form_shows_the_same_rows() {
    let file = family();
    let path = file.path().to_str().unwrap();
    let csv = out(&["processes", path, "-q", "--format", "csv"]);
    let lines = out(&["processes", path, "-q", "--format", "jsonl"]);
    let objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects, *json_of(path, &[])["processes"].as_array().unwrap());
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let heading: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    for (record, object) in reader.records().zip(&objects) {
        for (name, cell) in heading.iter().zip(&record.unwrap()) {
            let text = match &object[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(cell, text, "{name}");
        }
    }
    let table = |columns: &str, more: &[&str]| {
        let ran = finish(pfnset(&[&["processes", path, "-q"], more].concat()).env("COLUMNS", columns));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran.out
    };
    insta::assert_snapshot!("processes_120_columns", table("120", &["--sort", "name"]));
    insta::assert_snapshot!("processes_80_columns", table("80", &["--sort", "start", "--top", "2"]));
    insta::assert_snapshot!("processes_grouped", table("120", &["--group-by", "session,name", "--top", "2"]));
    let markdown = table("120", &["--group-by", "session", "--format", "markdown"]);
    insta::assert_snapshot!("processes_markdown", markdown);
    let fixture = fixtures().join("resident-small.etl");
    insta::assert_snapshot!("processes_with_pages", out(&["processes", fixture.to_str().unwrap(), "-q", "--top", "6"]));
}

#[test]
fn it_fits_and_shows_the_lists() {
    let fixture = fixtures().join("resident-small.etl");
    for columns in ["60", "80", "100"] {
        for sort in ["pages", "start"] {
            let arguments = ["processes", fixture.to_str().unwrap(), "-q", "--sort", sort];
            let ran = finish(pfnset(&arguments).env("COLUMNS", columns));
            let width: usize = columns.parse().unwrap();
            let mut lines = ran.out.lines().filter(|line| !line.starts_with("Not shown"));
            assert!(lines.all(|line| line.chars().count() <= width), "{columns} {sort}\n{}", ran.out);
            assert!(columns == "60" || sort == "start" || ran.out.contains("Standby  Modified"), "{}", ran.out);
            assert!(columns == "60" || sort == "pages" || ran.out.contains("Start s"), "{}", ran.out);
        }
    }
}

#[test]
fn pages_of_unknown_processes_are_a_warning() {
    let file = file_of(&one_of_each::trace(1));
    let ran = run(&["processes", file.path().to_str().unwrap()]);
    let text = "1 page of no process of the trace (1 private, 0 of page tables) is in no row";
    assert!(ran.out.contains(text), "{}", ran.out);
    let found = json_of(file.path().to_str().unwrap(), &[]);
    assert_eq!(found["snapshot"]["unattributed_private_pages"], 1);
    assert!(!run(&["processes", "refset-small.etl"]).out.contains("of no process of the trace"));
}

#[test]
fn what_cannot_be_answered_is_said() {
    let empty = file_of(&Trace::new(Session::windows10()).finish());
    let ran = run(&["processes", empty.path().to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""));
    assert!(ran.err.contains("ProcessThread"), "{}", ran.err);
    for (arguments, says) in [
        (["--snapshot", "all"], "one snapshot"),
        (["--snapshot", "7"], "no snapshot 7"),
        (["--group-by", "list"], "--group-by: unknown dimension"),
        (["--where", "name"], "--where: \"name\" is no condition"),
    ] {
        let ran = run(&[&["processes", "resident-small.etl"], &arguments[..]].concat());
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn pages_of_a_process_whose_key_no_event_told_are_unknown_and_not_none() {
    let whole = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    let cut = file_of(&whole[..131_072]);
    let ran = run(&["processes", cut.path().to_str().unwrap(), "-q", "--format", "json"]);
    assert!(ran.err.contains("THE FILE IS CUT"), "{}", ran.err);
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    let (mut known, mut unknown) = (0, 0);
    for row in all["processes"].as_array().unwrap() {
        let counted = !row["private_pages"].is_null();
        *(if counted { &mut known } else { &mut unknown }) += 1;
        assert_eq!(counted, !row["name"].is_null(), "{row}");
    }
    assert!(known > 0 && unknown > 0 && all["snapshot"]["unattributed_private_pages"].as_u64() > Some(0));
}

#[test]
fn without_page_records_no_snapshot_is_shown_and_none_can_be_chosen() {
    let file = family();
    let path = file.path().to_str().unwrap();
    let all = json_of(path, &[]);
    assert_eq!((&all["snapshot"], &all["total"]), (&Value::Null, &json!(5)));
    let chosen = run(&["processes", path, "--snapshot", "0"]);
    assert!(chosen.code == 2 && chosen.err.contains("the trace holds no page records"), "{chosen:?}");
}

#[test]
fn idle_is_not_its_own_parent() {
    let session = Session { processors: 1, ..Session::windows10() };
    let at = session.t0 + 10_000;
    let idle = Process { parent: 0, ..Process::new(0, "Idle") }.rec(P8, 4, process::DC_START).at(at);
    let system = Process { parent: 0, ..Process::new(4, "System") }.rec(P8, 4, process::DC_START).at(at);
    let file = file_of(&Trace::new(session).push(idle).push(system).finish());
    let all = json_of(file.path().to_str().unwrap(), &["--sort", "name"]);
    let parents: Vec<_> = all["processes"].as_array().unwrap().iter().map(|row| row["parent"].clone()).collect();
    assert_eq!(parents, [Value::Null, json!("Idle (0)")]);
    // The table of export named Idle.
    let dataset = tempfile::tempdir().unwrap();
    let ran = run(&[
        "export",
        file.path().to_str().unwrap(),
        "-q",
        "--format",
        "csv",
        "--out",
        dataset.path().to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let partition = std::fs::read_dir(dataset.path().join("processes")).unwrap().next().unwrap().unwrap().path();
    let mut table = csv::Reader::from_path(partition.join("part-0.csv")).unwrap();
    let at = table.headers().unwrap().iter().position(|name| name == "parent").unwrap();
    let exported: Vec<String> = table.records().map(|row| row.unwrap()[at].to_owned()).collect();
    assert_eq!(exported, ["", "Idle (0)"]);
}

/// A process that begins in the trace and names its own id was its own parent.
#[test]
fn no_process_is_its_own_parent() {
    let session = Session { processors: 1, ..Session::windows10() };
    let odd = Process { parent: 48, key: 0x1000, ..Process::new(48, "odd.exe") }.rec(P8, 4, process::START).by(44, 40);
    let file = file_of(&Trace::new(session.clone()).push(odd.at(session.t0 + 10_000)).finish());
    let row = &json_of(file.path().to_str().unwrap(), &[])["processes"][0];
    assert_eq!(
        (&row["process"], &row["parent"], &row["parent_pid"]),
        (&json!("odd.exe (48)"), &Value::Null, &json!(48))
    );
}

#[test]
fn a_selection_of_nothing_has_a_total_of_nothing() {
    let table = out(&["processes", "resident-small.etl", "-q", "--group-by", "name", "--where", "pid=1"]);
    let total = table.lines().find(|line| line.starts_with("Total")).unwrap();
    assert_eq!(total.split_whitespace().collect::<Vec<_>>(), ["Total", "0", "0"], "{table}");
}

/// Commit of processes is that of `allocations`, where their state before the trace is known.
#[test]
fn commit_is_that_of_allocations() {
    let trace = fixtures().join("alloc-x86.etl").display().to_string();
    let all = json_of(&trace, &[]);
    let arguments = ["allocations", &trace, "--of", "commit", "--group-by", "process", "--format", "json", "-q"];
    let allocations: Value = serde_json::from_str(&out(&arguments)).expect("JSON");
    let key = |row: &Value, start: &str| (row["process"].as_str().unwrap().to_owned(), row[start].to_string());
    let rows = allocations["rows"].as_array().unwrap();
    let expected: BTreeMap<_, _> = rows.iter().map(|row| (key(row, "process_start_s"), row)).collect();
    let known = all["processes"].as_array().unwrap().iter().filter(|row| !row["commit_end_bytes"].is_null());
    let mut compared = 0;
    for row in known {
        // A process without start was there before the trace, also where its end rundown or its first record came later.
        let Some(of_row) = expected.get(&key(row, "start_s")) else {
            // One that began in the trace and committed nothing.
            assert!(row["start_s"].is_number() && row["commit_peak_bytes"] == json!(0), "{row}");
            continue;
        };
        for (ours, theirs) in [
            ("commit_start_bytes", "at_start_bytes"),
            ("commit_end_bytes", "at_end_bytes"),
            ("commit_peak_bytes", "peak_bytes"),
        ] {
            assert_eq!(row[ours], of_row[theirs], "{ours} of {row}");
        }
        compared += 1;
    }
    let unknown = allocations["at_start"]["unknown"].as_u64().unwrap_or(0);
    assert_eq!(compared + unknown as usize, rows.len(), "{}", allocations["at_start"]);
    assert!(compared > 10);
    for more in [&[][..], &["--group-by", "session"]] {
        let table = out(&[&["processes", &trace, "-q"], more].concat());
        assert!(table.lines().any(|line| line.contains("/MiB")), "the unit of commit: {table}");
    }
    let grouped = json_of(&trace, &["--group-by", "session"]);
    let sum = |key: &str| grouped["rows"].as_array().unwrap().iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    assert_eq!(sum("commit_end_bytes"), allocations["total"]["at_end_bytes"].as_u64().unwrap());
    assert!(grouped["rows"][0]["commit_peak_bytes"].is_null(), "processes have their peaks at different times");
}

/// What makes the numbers of `allocations` doubtful does so here, and a sum says how much it leaves out.
#[test]
fn commit_has_the_doubts_of_allocations() {
    let session = Session { processors: 1, ..Session::windows10() };
    let records = [
        Process::new(40, "old.exe").rec(P8, 4, process::DC_START),
        Process { key: 0x1000, ..Process::new(48, "new.exe") }.rec(P8, 4, process::START).by(44, 40),
        memory::virtual_alloc(P8, 0x10_0000, 0x1_0000, 48, memory::COMMIT | memory::RESERVE),
        memory::virtual_alloc(P8, 0x10_0000, u64::MAX, 48, memory::COMMIT),
        // Nothing tells what it had before the trace.
        memory::virtual_alloc(P8, 0x10_0000, 0x1000, 40, memory::COMMIT | memory::RESERVE),
        // By the end rundown one more page is committed.
        memory::virtual_rundown(P8, memory::ALLOC_DC_END, 0x10_0000, 0x1_1000, 48, 0, 0x1_1000),
    ];
    let at = |(record, number): (Rec, u64)| record.at(session.t0 + number * 1000);
    let file = file_of(&Trace::new(session.clone()).push_all(records.into_iter().zip(1..).map(at)).finish());
    let path = file.path().to_str().unwrap();
    let all = json_of(path, &["--group-by", "session"]);
    let told = [
        "commit: left out: 1 impossible record",
        "commit at the end differs from the end rundown in 1 of 1 processes, by 4,096 bytes in all",
        "the commit of 1 of 2 processes is not known and is in no sum: nothing tells what they had before the trace",
    ];
    for line in told {
        assert!(all["warnings"].as_array().unwrap().contains(&json!(line)), "{line}: {}", all["warnings"]);
    }
    for form in ["table", "csv"] {
        let ran = run(&["allocations", path, "--format", form]);
        assert!(format!("{}{}", ran.out, ran.err).replace("\n ", "").contains(told[1]), "{ran:?}");
    }
    assert_eq!((&all["commit_unknown"], &all["rows"][0]["commit_unknown_processes"]), (&json!(1), &json!(1)));
    assert_eq!(all["rows"][0]["commit_end_bytes"], json!(0x1_0000));
    let table = run(&["processes", path]).out;
    assert!(table.contains("Total (commit of 1)") && told.iter().all(|line| table.contains(line)), "{table}");
    let groups = run(&["processes", path, "--group-by", "session"]).out;
    assert!(groups.contains("Of unknown commit"), "{groups}");
    let csv = run(&["processes", path, "--group-by", "session", "--format", "csv"]);
    assert!(csv.out.contains("commit_unknown_processes") && csv.err.contains(told[2]), "{csv:?}");
    assert_eq!(json_of(family().path().to_str().unwrap(), &[])["commit_unknown"], Value::Null, "not recorded");
}

/// Before Windows 11 nothing tells whose they are: they were missing from the processes without a word.
#[test]
fn awe_and_large_pages_without_an_owner_are_told() {
    let rows =
        json_of_rows(&["resident", "resident-small.etl", "--group-by", "category", "--where", "use=Awe;LargePage"]);
    let pages: u64 = rows.iter().map(|row| row["pages"].as_u64().unwrap()).sum();
    assert_eq!(pages, 9, "{rows:?}");
    let screen = out(&["resident", "resident-small.etl", "--all", "--unit", "pages"]);
    let line = screen.lines().find(|line| line.contains("owner not recorded (AWE, large)")).expect("a row");
    assert!(line.split_whitespace().any(|word| word == "9"), "{screen}");
    let listed = out(&["processes", "resident-small.etl"]);
    assert!(
        listed.contains("! 9 AWE and large pages are in no row: their owner is not recorded before Windows 11"),
        "{listed}"
    );
    let json = json_of("resident-small.etl", &[]);
    assert_eq!(json["snapshot"]["awe_and_large_pages"], 9);
}

fn json_of_rows(arguments: &[&str]) -> Vec<Value> {
    let json: Value = serde_json::from_str(&out(&[arguments, &["--format", "json"]].concat())).unwrap();
    json["snapshots"][0]["rows"].as_array().expect("rows").clone()
}

/// What a process committed before another one got its id was in a row of `allocations`, and in none here.
#[test]
fn a_process_without_a_record_whose_id_is_used_again_has_a_row() {
    let session = Session { processors: 1, ..Session::windows10() };
    let at = |milliseconds: u64| session.t0 + milliseconds * 10_000;
    let committed =
        |base: u64| memory::virtual_alloc(P8, base, 0x4000, 48, memory::RESERVE | memory::COMMIT).by(52, 48);
    let of = |has_first: bool| {
        let trace = Trace::new(session.clone())
            .push(Process::new(4, "System").rec(P8, 4, process::DC_START).at(at(1)))
            .push_all(has_first.then(|| committed(0x10_0000).at(at(100))))
            .push(Process::new(48, "two.exe").rec(P8, 4, process::START).by(44, 4).at(at(300)))
            .push(committed(0x20_0000).at(at(400)));
        file_of(&trace.finish())
    };
    let file = of(true);
    let path = file.path().to_str().unwrap();
    let all = json_of(path, &["--sort", "start"]);
    let list = all["processes"].as_array().unwrap();
    let row = list.iter().find(|row| row["process"] == "Unknown (48)").unwrap_or_else(|| panic!("{all}"));
    assert_eq!((&row["pid"], &row["start_s"], &row["name"]), (&json!(48), &Value::Null, &Value::Null));
    let next = list.iter().find(|row| row["process"] == "two.exe (48)").expect("a row");
    assert!(row["end_s"].is_number() && row["end_s"] == next["start_s"], "{row} {next}");
    // Nothing tells what it had before.
    assert_eq!((&row["commit_end_bytes"], &next["commit_end_bytes"]), (&Value::Null, &json!(0x4000)));
    assert!(all["warnings"].to_string().contains("the commit of 2 of 3 processes is not known"), "{}", all["warnings"]);
    let allocations = out(&["allocations", path, "-q", "--format", "csv"]);
    assert!(allocations.contains("Unknown (48)"), "{allocations}");
    let file = of(false);
    let without = json_of(file.path().to_str().unwrap(), &[]);
    assert_eq!(without["total"], json!(2), "{without}");
}
