//! `pfnset anonymize`: all tables say the same before and after but for names, and no name of the trace is left in the file.

mod secrets;

use crate::program::{fixtures, out, run};
use crate::random_cases::{one_in, one_run_in};
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Compression, Ptr, Rec, Session, Trace, file_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The traces of `fixtures/` and, where they are there, all recorded and made-up ones.
fn traces() -> Vec<PathBuf> {
    let mut folders = vec![fixtures()];
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    let shared = std::env::var_os("PFNSET_TRACES").map_or_else(usual, PathBuf::from);
    match shared.is_dir() {
        true => folders.extend(["real", "synthetic", "wpa"].map(|folder| shared.join(folder))),
        false => eprintln!("SKIPPED: anonymize on recorded traces, no {}", shared.display()),
    }
    let files =
        folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "etl")).collect();
    files.sort();
    files
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
}

pub fn anonymized(trace: &Path, folder: &Path) -> PathBuf {
    let to = folder.join("new.etl");
    let ran = run(&["anonymize", text(trace), "-o", text(&to), "--force", "-q", "--secret", "a"]);
    let is_fine = ran.err.lines().all(|line| line.starts_with("pfnset: warning: "));
    assert!(ran.code == 0 && is_fine, "{}: {}", trace.display(), ran.err);
    to
}

/// What may be others: sizes of buffers in the file, and the time zone and date of the installation.
const OF_THE_FILE: [&str; 4] = ["size_bytes", "compressed", "compressed_buffers", "offset"];

/// All numbers and yes/no values of a document by their keys, sorted: rows may be in another order, because their names are
/// others.
fn numbers(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let told = map.iter().filter(|(key, _)| !OF_THE_FILE.contains(&key.as_str()));
            told.for_each(|(key, value)| numbers(value, key, found));
        }
        Value::Array(list) => list.iter().for_each(|value| numbers(value, key, found)),
        Value::String(_) => {}
        other => found.push(format!("{key}: {other}")),
    }
}

fn figures(arguments: &[&str], trace: &Path) -> Option<Vec<String>> {
    let ran = run(&[&[arguments[0], text(trace), "-q", "--format", "json"], &arguments[1..]].concat());
    (ran.code == 0).then(|| {
        let mut found = Vec::new();
        numbers(&serde_json::from_str(&ran.out).expect("JSON"), "", &mut found);
        found.sort();
        found
    })
}

const TABLES: [&[&str]; 13] = [
    &["events"],
    &["info"],
    &["refset", "--group-by", "file"],
    &["memory", "--timeline", "all"],
    &["resident", "--group-by", "category,list,priority"],
    &["resident", "--group-by", "process,category"],
    &["resident", "--group-by", "file,category"],
    &["refset", "--group-by", "category,access_reason"],
    &["refset", "--group-by", "process,category"],
    &["processes"],
    &["memory", "--group-by", "process"],
    &["cpu", "--group-by", "process,thread"],
    &["pages"],
];

/// Some tables of the traces of `fixtures/`, one of other traces; each run takes others.
#[test]
fn tables_are_the_same_but_for_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    let (own, others) = traces().into_iter().partition(|trace| trace.starts_with(fixtures()));
    for trace in [own, one_in(3, others)].concat() {
        let new = anonymized(&trace, folder.path());
        let parts = if trace.starts_with(fixtures()) { 4 } else { 13 };
        // Each trace has the first.
        for table in [&TABLES[..1], &one_in(parts, TABLES[1..].to_vec())].concat() {
            let [before, after] = [&trace, &new].map(|trace| figures(table, trace));
            // The size of the file and its digest may be others.
            assert_eq!(before, after, "{} {table:?}", trace.display());
            compared += usize::from(before.is_some());
        }
    }
    assert!(compared >= 1, "{compared} tables");
}

/// Records that are read for one command alone: disk requests, stacks as keys, methods of the .NET runtime.
#[test]
fn stacks_and_faults_are_the_same_but_for_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = traces();
    let named = |name: &str| all.iter().rev().find(|path| path.ends_with(name));
    let compared = [
        ("faults-x86.etl", &[&["faults", "--group-by", "file,kind"][..], &["faults", "--of", "disk"]][..]),
        ("stacks-keys.etl", &[&["stacks"], &["stacks", "--group-by", "process,stack"], &["symbols"]]),
        ("stacks-managed.etl", &[&["stacks"], &["stacks", "--group-by", "module,function"]]),
    ];
    let large = ("net.4.5.2.x64.etl", &[&["stacks"][..], &["faults"]][..]);
    for (name, tables) in one_in(2, compared.to_vec()).into_iter().chain(one_run_in(2).then_some(large)) {
        let Some(trace) = named(name) else {
            eprintln!("SKIPPED: no {name}");
            continue;
        };
        let new = anonymized(trace, folder.path());
        for table in tables {
            let [before, after] = [trace, &new].map(|trace| figures(table, trace));
            assert!(before.as_ref().is_some_and(|figures| figures.len() > 20), "{name} {table:?}");
            assert_eq!(before, after, "{name} {table:?}");
        }
    }
}

/// With one secret two traces have the same stand-ins, so their differences are the same ones.
#[test]
fn differences_of_two_traces_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let [left, right] = ["resident-small.etl", "refset-small.etl"].map(|name| fixtures().join(name));
    let new_left = folder.path().join("left.etl");
    std::fs::rename(anonymized(&left, folder.path()), &new_left).expect("another name");
    let new_right = anonymized(&right, folder.path());
    for dimension in ["process", "file", "category,process", "detail"] {
        let of = |left: &Path, right: &Path| {
            let ran = run(&["diff", text(left), text(right), "-q", "--format", "json", "--group-by", dimension]);
            let mut found = Vec::new();
            numbers(&serde_json::from_str(&ran.out).expect("JSON"), "", &mut found);
            found.sort();
            (ran.code, found)
        };
        let before = of(&left, &right);
        assert!(before.1.len() > 20, "{dimension}");
        assert_eq!(before, of(&new_left, &new_right), "{dimension}");
    }
}

/// Names of people, programs and files in tables: parts of paths and command lines that are long enough to tell something.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            let told = ["process", "file", "image", "name", "command_line", "service", "package", "computer"];
            for (key, value) in map {
                match value {
                    Value::String(text) if told.contains(&key.as_str()) => {
                        found.extend(text.split(['\\', '/', '"', ' ', '(', ')', '.']).map(str::to_lowercase));
                    }
                    other => names(other, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

#[test]
fn no_name_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = fixtures().join("resident-small.etl");
    let new = anonymized(&trace, folder.path());
    let mut all = BTreeSet::new();
    for table in [&["resident", "--group-by", "process"][..], &["resident", "--group-by", "file"], &["processes"]] {
        let document = out(&[&[table[0], text(&trace), "-q", "--format", "json"], &table[1..]].concat());
        names(&serde_json::from_str(&document).expect("JSON"), &mut all);
    }
    let bytes = std::fs::read(&new).expect("the new file").to_ascii_lowercase();
    let has = |name: &str| {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        [name.as_bytes(), &wide].iter().any(|name| memchr::memmem::find(&bytes, name).is_some())
    };
    let left: Vec<&String> = all.iter().filter(|name| name.chars().count() >= 5 && has(name)).collect();
    let gone = all.iter().filter(|name| name.chars().count() >= 5 && !has(name)).count();
    insta::assert_snapshot!("words_that_stay", left.iter().map(|name| format!("{name}\n")).collect::<String>());
    assert!(gone > 20, "{gone} names are gone");
}

#[test]
fn the_trace_and_other_files_are_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("a.etl");
    std::fs::copy(fixtures().join("cpu-compressed.etl"), &trace).expect("a copy");
    let before = std::fs::read(&trace).expect("the trace");
    assert_eq!(run(&["anonymize", text(&trace), "-o", text(&trace), "--force"]).code, 2);
    assert_eq!(run(&["anonymize", text(&trace)]).code, 2, "where to");
    let other = folder.path().join("b.etl");
    std::fs::write(&other, "b").expect("a file");
    let ran = run(&["anonymize", text(&trace), "-o", text(&other)]);
    assert!(ran.code == 2 && ran.err.contains("--force"), "{ran:?}");
    assert_eq!(std::fs::read(&trace).expect("the trace"), before);
    assert_eq!(run(&["anonymize", text(&other), "-o", text(&folder.path().join("c.etl"))]).code, 3, "no trace");
    let whole = std::fs::read(fixtures().join("resident-small.etl")).expect("the trace");
    std::fs::write(&other, &whole[..whole.len() - 0x5000]).expect("a cut trace");
    let to = folder.path().join("d.etl");
    assert_eq!(run(&["anonymize", text(&other), "-o", text(&to), "--strict", "-q"]).code, 3, "it is written, and cut");
    assert!(out(&["info", text(&to)]).contains("DAMAGED in 1 place"));
}

/// The file says how large its buffers are; that alone makes no large file.
#[test]
fn large_buffers_with_little_in_them_stay_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = Session { buffer_size: 0x0100_0000, compression: Compression::Xpress, ..Session::windows10() };
    let recs = (0..50).map(|n| Rec::perf(Ptr::P8, 0x0f2e, 2, vec![0; 16]).at(1_000_000_000 + n * 1_000));
    let trace = file_of(&Trace::new(session).push_all(recs).finish());
    let new = anonymized(trace.path(), folder.path());
    let size = |path: &Path| std::fs::metadata(path).expect("a file").len();
    assert!(size(&new) <= 20 * size(trace.path()).max(4096), "{} of {}", size(&new), size(trace.path()));
    assert_eq!(figures(&["events"], trace.path()), figures(&["events"], &new));
}

/// The page of the docs said that `info --strict` says the same of both; of a record that was cut short it gave another reason.
#[test]
fn what_does_not_fit_is_counted_as_before_for_perhaps_another_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let process = Process { command: "app.exe -x".into(), ..Process::new(40, "app.exe") };
    let whole = process.rec(Ptr::P8, 4, process::START);
    let cut = (0..whole.payload.len()).map(|length| Rec { payload: whole.payload[..length].to_vec(), ..whole.clone() });
    let t0 = Session::windows10().t0;
    let recs = cut.zip(1..).map(|(rec, n)| rec.at(t0 + n * 1000));
    let trace = file_of(&Trace::new(Session::windows10()).push_all(recs).finish());
    let new = anonymized(trace.path(), folder.path());
    let [before, after] = [trace.path(), &new].map(|trace| {
        let ran = run(&["info", text(trace), "-q", "--strict", "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        let mut events: BTreeMap<String, u64> = BTreeMap::new();
        for row in json["malformed_records"].as_array().expect("rows") {
            let (event, _reason) = row["what"].as_str().and_then(|what| what.split_once(", ")).expect("a reason");
            *events.entry(event.to_owned()).or_default() += row["count"].as_u64().expect("a number");
        }
        let doubts = json["doubts"].as_array().expect("doubts").iter().map(|doubt| doubt["code"].clone());
        (ran.code, events, doubts.collect::<Vec<_>>())
    });
    assert!(before.1.len() > 50, "{before:?}");
    assert_eq!(before, after);
    let docs = std::fs::read_to_string(fixtures().join("../docs/anonymize.md")).expect("docs");
    assert!(docs.contains("The reasons in these doubts can be others"), "the docs say so");
}
