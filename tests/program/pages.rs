//! `pfnset pages` and `pfnset resident --explain`, the real program on traces of known content.

use crate::one_of_each;
use crate::program::{Ran, command, finish, pfnset};
use crate::random_cases::one_in;
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::{file, perf, process};
use etl_writer::{Compression, Ptr, Rec, ResidentSpec, Session, Trace, generate_resident};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// A folder with `t.etl`.
fn folder(bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.etl"), bytes).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Ran {
    finish(pfnset(args).current_dir(folder).env("COLUMNS", "110"))
}

/// Standard output of a run that must succeed, with at most a word on standard error: a page of `one_of_each` has a key of no process.
fn out(folder: &Path, args: &[&str]) -> String {
    let ran = run(folder, args);
    let is_known = |line: &str| line.ends_with("have an owner key that names no process (keys read as process_id)");
    assert!(ran.code == 0 && ran.err.replace("\n  ", " ").lines().all(is_known), "{args:?}: {ran:?}");
    ran.out
}

/// Exit code and standard error of a run that must fail.
fn failure(folder: &Path, args: &[&str]) -> (i32, String) {
    let ran = run(folder, args);
    (ran.code, ran.err)
}

fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// Generated traces lack some keywords, so warnings are expected; they are not what is tested here.
const QUIET: &str = "-q";

#[test]
fn each_form_has_its_rows() {
    let folder = folder(&one_of_each::trace(1));
    for form in ["table", "csv", "jsonl", "xperf"] {
        insta::assert_snapshot!(
            format!("rows_{form}"),
            out(folder.path(), &["pages", "t.etl", QUIET, "--format", form])
        );
    }
}

#[test]
fn csv_and_json_lines_say_the_same_and_paths_survive() {
    let folder = folder(&one_of_each::trace(1));
    let csv = rows(&out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv"]));
    let jsonl = out(folder.path(), &["pages", "t.etl", QUIET, "--format", "jsonl"]);
    let json: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((csv.len(), json.len()), (one_of_each::pages().len(), one_of_each::pages().len()));
    for (row, object) in csv.iter().zip(&json) {
        assert_eq!(row.len(), object.as_object().unwrap().len());
        for (name, text) in row {
            let value = match &object[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                Value::Array(flags) => flags.iter().map(|flag| flag.as_str().unwrap()).collect::<Vec<_>>().join("+"),
                other => other.to_string(),
            };
            assert_eq!(&value, text, "{name}");
        }
    }
    let text = csv.iter().find(|row| row["pfn"] == 0x108.to_string()).unwrap();
    assert_eq!((text["file"].as_str(), text["detail"].as_str()), (one_of_each::TEXT_PATH, one_of_each::TEXT_PATH));
}

#[test]
fn conditions_select_rows_and_change_none() {
    let folder = folder(&one_of_each::trace(1));
    let all = rows(&out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv"]));
    for (condition, keep) in [
        ("process=app.exe*", (|row: &BTreeMap<String, String>| row["process"] == "app.exe (40)") as fn(&_) -> bool),
        ("category=!VirtualAlloc*;!Un*", |row| {
            !row["category"].starts_with("VirtualAlloc") && row["category"] != "Unused"
        }),
        ("cold=true", |row| row["flags"].contains("cold")),
        ("file=*lib.dll", |row| row["file"].ends_with("lib.dll")),
        ("detail=*lib.dll", |row| row["detail"].ends_with("lib.dll")),
        ("process=nobody", |_| false),
    ] {
        let some = rows(&out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv", "--where", condition]));
        let expected: Vec<_> = all.iter().filter(|row| keep(row)).cloned().collect();
        assert!(expected.len() < all.len());
        assert_eq!(some, expected, "{condition}");
    }
}

/// The rows of generated machines are all there, in order, with the categories that the simulation knows, and the same
/// for any number of threads.
#[test]
fn rows_of_generated_machines_are_complete_and_the_same_for_any_number_of_threads() {
    let specs = vec![
        ResidentSpec::small(),
        ResidentSpec { pages: 6_000, event_version: 2, pointer: Ptr::P4, ..ResidentSpec::small() },
        ResidentSpec {
            pages: 6_000,
            compression: Compression::Xpress,
            build: 26100,
            page_hook: 0x028a,
            ..ResidentSpec::small()
        },
    ];
    for spec in one_in(1, specs) {
        let (bytes, truth) = generate_resident(&spec, Cursor::new(Vec::new())).unwrap();
        let folder = folder(&bytes.into_inner());
        for form in [vec!["csv"], one_in(3, vec!["table", "jsonl", "xperf"])].concat() {
            let run = |threads| out(folder.path(), &["pages", "t.etl", QUIET, "--format", form, "-j", threads]);
            let one = run("1");
            assert!(one == run("2") && one == run("5"), "{form}");
            if form == "csv" {
                let rows = rows(&one);
                let pfns: Vec<u64> = rows.iter().map(|row| row["pfn"].parse().unwrap()).collect();
                assert_eq!(pfns.len() as u64, spec.pages);
                assert!(pfns.is_sorted_by(|a, b| a < b));
                let mut categories: BTreeMap<&str, u64> = BTreeMap::new();
                rows.iter().for_each(|row| *categories.entry(&row["category"]).or_default() += 1);
                assert_eq!(categories, truth.by_category.iter().map(|(name, count)| (*name, *count)).collect());
            }
        }
    }
}

/// Slices begin in the middle of runs; a record between two pages must not shift them.
#[test]
fn a_record_between_pages_shifts_no_slice() {
    let session = Session { processors: 1, buffer_size: 0x10_0000, ..Session::windows10() };
    let mut trace = Trace::new(session);
    let mut time = 1_000_000_100;
    let mut log = |trace: &mut Trace, rec: Rec| {
        time += 1;
        trace.add(&rec.at(time));
    };
    log(&mut trace, process::Process::new(4, "System").rec(Ptr::P8, 4, process::DC_START));
    for pfn in 0..20_000 {
        if pfn == 100 || pfn == 9000 {
            log(&mut trace, perf::sample(Ptr::P8, 0x7ff6_0000_0000, 4, 0));
        }
        log(&mut trace, Identity::private(pfn, 4, pfn << 12).rec(Ptr::P8, 4, IN_MEMORY));
    }
    let folder = folder(&trace.finish());
    let rows = rows(&out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv"]));
    assert_eq!(rows.len(), 20_000);
    for (pfn, row) in rows.iter().enumerate() {
        let address = if pfn == 0 { String::new() } else { format!("0x{:x}", pfn << 12) };
        assert_eq!((row["pfn"].parse(), &row["address"]), (Ok(pfn), &address));
    }
}

/// Names of 60 KB make slices of more than 60 MB: they go out in pieces, complete and in order.
#[test]
fn slices_with_much_text_go_out_in_pieces() {
    let session = Session { processors: 1, buffer_size: 0x4_0000, ..Session::windows10() };
    let name = format!("\\{}", "x".repeat(30_000));
    let key = 0xffff_c001_0000_2000;
    let page = |pfn| Identity::file(pfn, key, pfn << 12, false).rec(Ptr::P8, 4, IN_MEMORY).at(1_000_000_100 + pfn);
    let trace = Trace::new(session)
        .push_all((1..=1500).map(page))
        .push(file::name(Ptr::P8, file::RUNDOWN, key, &name).at(1_000_010_000));
    let folder = folder(&trace.finish());
    let text = out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv"]);
    assert!(text.len() > 1500 * 2 * 30_000);
    for (row, pfn) in text.lines().skip(1).zip(1..) {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!((fields[1].parse(), fields[9], fields[11]), (Ok(pfn), name.as_str(), name.as_str()));
    }
    assert_eq!(text.lines().count(), 1501);
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let (bytes, _) = generate_resident(&ResidentSpec::small(), Cursor::new(Vec::new())).unwrap();
    let folder = folder(&bytes.into_inner());
    let mut child = command(&["pages", "t.etl", "--format", "jsonl", "-q"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"snapshot\":0,\"pfn\":"), "{line}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn several_snapshots_are_told_apart() {
    let folder = folder(&one_of_each::trace(2));
    let snapshots = |which: &str| -> Vec<String> {
        let csv = out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv", "--snapshot", which]);
        rows(&csv).into_iter().map(|row| row["snapshot"].clone()).collect()
    };
    let count = one_of_each::pages().len();
    assert_eq!(snapshots("0"), vec!["0"; count]);
    assert_eq!(snapshots("last"), vec!["1"; count]);
    assert_eq!(snapshots("all"), [vec!["0"; count], vec!["1"; count]].concat());
    let (code, error) = failure(folder.path(), &["pages", "t.etl", "--snapshot", "2"]);
    assert_eq!((code, error.contains("(0 to 1)")), (2, true), "{error}");
}

#[test]
fn rows_can_go_to_a_file() {
    let folder = folder(&one_of_each::trace(1));
    let printed = out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv"]);
    assert_eq!(out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv", "-o", "pages.csv"]), "");
    assert_eq!(std::fs::read_to_string(folder.path().join("pages.csv")).unwrap(), printed);
}

#[test]
fn mistakes_and_missing_events_have_their_codes() {
    let folder = folder(&one_of_each::trace(1));
    let (code, error) = failure(folder.path(), &["pages", "t.etl", "--where", "color=red"]);
    assert_eq!((code, error.contains("non_tradeable")), (2, true), "{error}");
    let (code, error) = failure(folder.path(), &["pages", "t.etl", "--where", "cold"]);
    assert_eq!((code, error.contains("DIMENSION=PATTERNS")), (2, true), "{error}");
    let nothing = Trace::new(Session::windows10()).finish();
    let folder = self::folder(&nothing);
    let (code, error) = failure(folder.path(), &["pages", "t.etl"]);
    assert_eq!((code, error.contains("wpr -start")), (4, true), "{error}");
}

fn explained(folder: &Path, what: &[&str]) -> String {
    let args = [&["resident", "t.etl", QUIET, "--explain"], what].concat();
    out(folder, &args)
}

#[test]
fn pages_are_explained() {
    let folder = folder(&one_of_each::trace(1));
    for (name, pfn) in [
        ("heap", "0x100"),
        ("stack_below_the_initial_commit", "0x101"),
        ("stack_in_the_initial_commit", "0x102"),
        ("copied_on_write", "0x103"),
        ("region_of_the_rundown", "0x104"),
        ("region_of_the_trace", "0x105"),
        ("freed_region", "0x106"),
        ("unknown_owner", "0x107"),
        ("file", "0x108"),
        ("unnamed_file", "0x10a"),
        ("metafile", "0x10b"),
        ("combined", "0x10c"),
        ("driver", "0x10d"),
        ("pfn_database", "0x10e"),
        ("session_image", "0x10f"),
        ("zero", "0x110"),
        ("transition", "0x112"),
        ("reused_process_id", "0x116"),
        ("registry", "512"),
    ] {
        insta::assert_snapshot!(format!("explain_{name}"), explained(folder.path(), &[pfn]));
    }
}

#[test]
fn addresses_are_explained() {
    let folder = folder(&one_of_each::trace(1));
    for (name, address, process) in [
        ("address_with_a_page", "0x31abc", "40"),
        ("address_without_a_page", "0x30000", "40"),
        ("address_in_a_view", "0x7ff600000000", "40"),
        ("address_in_nothing", "0x72000000", "40"),
        ("address_of_the_kernel", "0xfffff80120001000", "4"),
    ] {
        let text = explained(folder.path(), &[address, "--process", process]);
        insta::assert_snapshot!(format!("explain_{name}"), text);
    }
}

#[test]
fn explanations_fit_on_a_screen() {
    let folder = folder(&one_of_each::trace(1));
    for page in one_of_each::pages() {
        let text = explained(folder.path(), &[&page.pfn.to_string()]);
        assert!(text.lines().count() <= 45, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }
}

/// For every page: the explanation's categories, process and detail are those of its row.
#[test]
fn explanations_agree_with_rows() {
    let folder = folder(&one_of_each::trace(1));
    let rows = rows(&out(folder.path(), &["pages", "t.etl", QUIET, "--format", "csv"]));
    for row in rows {
        let text = out(folder.path(), &["resident", "t.etl", QUIET, "--explain", &row["pfn"], "--format", "json"]);
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&json["schema"], &json["version"]), (&Value::from("pfnset.explain"), &Value::from(1)));
        let page = &json["snapshots"][0]["pages"][0];
        for (name, value) in [
            ("category", &page["category"]["name"]),
            ("category_wpa", &page["category_wpa"]["name"]),
            ("process", &page["process"]),
            ("detail", &page["detail"]),
        ] {
            assert_eq!(value, &Value::from(row[name].as_str()), "{name} of {}", row["pfn"]);
        }
        assert_eq!(page["pfn"].to_string(), row["pfn"]);
        // A range decides exactly where a rule about ranges does.
        for (decision, decides) in [("category", "decides"), ("category_wpa", "decides_wpa")] {
            let rule = page[decision]["rule"].as_str().unwrap();
            let by_range = ["heap", "stack", "region", "view.image", "driver", "session.image"];
            let by_range = by_range.iter().any(|end| rule.ends_with(end)) || rule == "system.pfn_database";
            let deciding = page["facts"].as_array().unwrap().iter().filter(|fact| fact[decides] == true).count();
            assert_eq!(deciding, usize::from(by_range), "{rule} of {}", row["pfn"]);
        }
    }
}

#[test]
fn explanations_have_a_json_form() {
    let folder = folder(&one_of_each::trace(1));
    insta::assert_snapshot!(out(
        folder.path(),
        &["resident", "t.etl", QUIET, "--explain", "0x105", "--format", "json"]
    ));
}

#[test]
fn what_cannot_be_explained_is_said() {
    let folder = folder(&one_of_each::trace(1));
    let explain = |args: &[&str]| failure(folder.path(), &[&["resident", "t.etl", "--explain"], args].concat());
    insta::assert_snapshot!(explain(&["0x1ff"]).1, @"pfnset: PFN 0x1ff is not in snapshot 0: its 24 pages have PFNs from 0x100 to 0x200, with 233 missing in 1 gap");
    insta::assert_snapshot!(explain(&["0x1000", "--process", "41"]).1, @"pfnset: the trace knows no process 41; pfnset resident --group-by process lists those with pages");
    assert_eq!(explain(&["0x1ff"]).0, 2);
    assert_eq!(explain(&["0x1000", "--process", "41"]).0, 2);
    assert_eq!(explain(&["0x100", "--top", "3"]).0, 2);
    assert_eq!(explain(&["x"]).0, 2);
}

#[test]
fn a_page_frame_that_a_sequence_repeats_is_explained_twice() {
    let session = Session { processors: 1, ..Session::windows10() };
    let page = |pfn, address, time| Identity::private(pfn, 4, address).rec(Ptr::P8, 4, IN_MEMORY).at(time);
    let trace = Trace::new(session)
        .push(process::Process::new(4, "System").rec(Ptr::P8, 4, process::DC_START).at(1_000_000_001))
        .push(page(1, 0x1000, 1_000_000_002))
        .push(page(2, 0x2000, 1_000_000_003))
        .push(page(2, 0x3000, 1_000_000_004));
    let folder = folder(&trace.finish());
    let path: PathBuf = folder.path().join("t.etl");
    let trace = pfnset::trace::Trace::open(&path).unwrap();
    use pfnset::analysis::resident::explain::{Explanation, Target};
    let answer = Explanation::answer(&trace, Target::Pfn(2), Default::default(), &Default::default()).unwrap();
    let addresses: Vec<u64> = answer.snapshots[0].pages.iter().map(|page| page.record.page.u2).collect();
    assert_eq!(addresses, [0x2000, 0x3000]);
}
