//! Several files as one recording: the same tables as the whole, each file's losses by its name, and what does not fit.

use crate::one_of_each::{records, session, trace};
use crate::program::{Ran, finish, out, pfnset, run};
use etl_writer::payloads::header;
use etl_writer::session::MODE_COMPRESSED;
use etl_writer::{Compression, Ptr, Rec, Session, Trace};
use std::path::{Path, PathBuf};

/// A session that began 70 µs after the first one.
pub fn beside() -> Session {
    let first = session();
    Session {
        t0: first.t0 + 700,
        start_time: first.start_time + 700,
        logger_name: "UserTrace".into(),
        mode: first.mode | MODE_COMPRESSED,
        compression: Compression::Xpress,
        buffer_size: 0x2000,
        ..first
    }
}

const PAGE_IN_MEMORY: u16 = 0x0223;

/// The keywords of the kernel's session, by which its file is known.
const MASKS: [u16; 2] = [0x0020, 0x0021];

/// Writes the records for which `second` holds to `b.etl`, compressed, and the others to `a.etl`. Page sequences stay in one, and keywords in `a.etl`.
pub fn split(folder: &Path, second: impl Fn(usize) -> bool) -> [PathBuf; 2] {
    let (mut a, mut b) = (Trace::new(session()), Trace::new(beside()));
    for (number, rec) in records(2, Vec::new()).into_iter().enumerate() {
        let number = if rec.hook == PAGE_IN_MEMORY { 1 } else { number };
        if second(number) && !MASKS.contains(&rec.hook) { b.add(&rec) } else { a.add(&rec) }
    }
    [put(folder, "a.etl", &a.finish()), put(folder, "b.etl", &b.finish())]
}

/// Paths of a kernel's and a user's file of one recording, by names that tell which is which.
pub fn pair(folder: &Path) -> [String; 2] {
    let mut names = ["kernel.etl", "user.etl"].into_iter();
    split(folder, |n| n % 5 == 0).map(|path| {
        let to = folder.join(names.next().unwrap());
        std::fs::rename(path, &to).unwrap();
        to.to_str().unwrap().to_owned()
    })
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn with(command: &str, files: &[PathBuf], more: &[&str]) -> Ran {
    let files = files.iter().map(|path| path.to_str().unwrap());
    run(&[&[command], &files.collect::<Vec<_>>()[..], more].concat())
}

const ASKED: [(&str, &[&str]); 4] = [
    ("resident", &["--format", "csv", "--group-by", "process,category,detail,rule"]),
    ("resident", &["--format", "csv", "--snapshot", "0", "--group-by", "list,use,file"]),
    ("processes", &["--format", "csv"]),
    ("pages", &["--format", "csv"]),
];

#[test]
fn files_of_one_recording_give_the_tables_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let whole = put(folder.path(), "whole.etl", &trace(2));
    type Choice = fn(usize) -> bool;
    let choices: [Choice; 5] = [|_| false, |n| n % 2 == 0, |n| n % 7 < 3, |n| n > 40, |n| (n * n) % 11 > 4];
    for choice in choices {
        let files = split(folder.path(), choice);
        for (command, more) in ASKED {
            let expected = with(command, std::slice::from_ref(&whole), more);
            assert_eq!(with(command, &files, more), expected, "{command} {more:?}");
        }
    }
}

#[test]
fn json_lists_all_files_and_info_tells_what_fits() {
    let folder = tempfile::tempdir().unwrap();
    let files = split(folder.path(), |n| n % 5 == 0);
    let json = |ran: &Ran| serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
    let resident = json(&with("resident", &files, &["--format", "json"]));
    assert_eq!(resident["trace"], files[0].to_str().unwrap());
    assert_eq!(resident["traces"], serde_json::json!([files[0].to_str(), files[1].to_str()]));
    let alone = json(&with("resident", &files[..1], &["--format", "json"]));
    assert!(alone.get("traces").is_none());

    let later = Session { boot_time: session().boot_time + 3_000_000_000, ..session() };
    let other = put(folder.path(), "later.etl", &Trace::new(later).finish());
    let three = [files[0].clone(), files[1].clone(), other];
    let ran = with("info", &three, &["--format", "json"]);
    assert_eq!(ran.code, 3);
    let info = json(&ran);
    let told: Vec<_> = info["files"].as_array().unwrap().iter().map(|file| (&file["fits"], &file["reason"])).collect();
    let another = serde_json::json!("it was recorded after another boot of Windows");
    assert_eq!(told, [(&true.into(), &().into()), (&true.into(), &().into()), (&false.into(), &another)]);
    assert_eq!(info["files"][1]["start_s"], 0.00007);
    let ran = with("info", &three, &[]);
    assert!(ran.code == 3 && ran.out.contains("another boot of Windows"), "{}", ran.out);
    assert_eq!(with("info", &files, &["--strict"]).code, strictest(&files));
}

/// 3 where one of the commands whose checks `info` makes ends with it.
fn strictest(files: &[PathBuf]) -> i32 {
    let codes =
        ["resident", "refset", "cpu", "faults", "allocations"].map(|name| with(name, files, &["--strict"]).code);
    if codes.contains(&3) { 3 } else { 0 }
}

#[test]
fn losses_are_told_for_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let first = put(folder.path(), "a.etl", &trace(1));
    let rec = |n: u64| Rec::perf(Ptr::P8, 0x0f2e, 2, vec![0; 64]).at(beside().t0 + n * 1000);
    let session = Session { buffer_size: 0x400, events_lost: 5, compression: Compression::None, mode: 1, ..beside() };
    let bytes = Trace::new(session).push_all((0..100).map(rec)).lose_buffers(&[4]).finish();
    let second = put(folder.path(), "b.etl", &bytes);
    let ran = with("resident", &[first.clone(), second.clone()], &["--strict"]);
    assert_eq!(ran.code, 3);
    let line = format!("! {}: DATA WAS LOST", second.display());
    let flat = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&line) && flat.contains("5 events, 1 missing sequence number"), "{}", ran.out);
    let alone = std::slice::from_ref(&first);
    assert_eq!((with("info", alone, &[]).code, with("info", alone, &["--strict"]).code), (0, strictest(alone)));
    let info = with("info", &[first, second], &["--format", "json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    // The first file lost nothing: the advice is for the second one.
    assert!(info["loss"]["advice"].as_str().is_some_and(|advice| advice.contains("1 KiB")), "{}", info["loss"]);
    assert_eq!((&info["loss"]["missing_buffers"], info["loss"]["holes"].as_array().unwrap().len()), (&1.into(), 1));
}

/// A second file that lost something: `info --each` and `export` had the counters of the first one, while events and damage were sums.
#[test]
fn losses_of_all_files_are_one_sum() {
    let folder = tempfile::tempdir().unwrap();
    let pair = folder.path().join("pair");
    std::fs::create_dir(&pair).unwrap();
    let rec = |n: u64| Rec::perf(Ptr::P8, 0x0f2e, 2, vec![0; 64]).at(beside().t0 + n * 1000);
    for (end_time, lost) in [(beside().end_time, Some([5, 2])), (0, None)] {
        let mine = Session { events_lost: 1, buffers_lost: 2, ..session() };
        let first = put(&pair, "kernel.etl", &Trace::new(mine).push_all(records(1, Vec::new())).finish());
        let other = Session { buffer_size: 0x400, compression: Compression::None, mode: 1, ..beside() };
        let bytes = Trace::new(Session { events_lost: 4, end_time, ..other }).push_all((0..100).map(rec));
        let files = [first, put(&pair, "user.etl", &bytes.lose_buffers(&[4]).finish())];

        let info: serde_json::Value =
            serde_json::from_str(&with("info", &files, &["--format", "json", "-q"]).out).unwrap();
        let [events, buffers] = ["events_lost", "buffers_lost"].map(|key| info["session"][key].as_u64());
        assert_eq!((events.zip(buffers), &info["loss"]["missing_buffers"]), (Some((5, 2)), &1.into()));
        assert_eq!(info["session"]["stopped"], lost.is_some());
        let of_second = lost.map_or(serde_json::Value::Null, |_| 4.into());
        assert_eq!((&info["files"][0]["events_lost"], &info["files"][1]["events_lost"]), (&1.into(), &of_second));

        let each = with("info", &[], &["--each", pair.to_str().unwrap(), "--format", "csv", "-q"]).out;
        let dataset = folder.path().join(format!("dataset-{end_time}"));
        let asked = ["--out", dataset.to_str().unwrap(), "--format", "csv", "--tables", "traces", "-q"];
        assert_eq!(with("export", std::slice::from_ref(&pair), &asked).code, 0);
        let part = std::fs::read_dir(dataset.join("traces")).unwrap().next().unwrap().unwrap().path();
        let expected = lost.map_or(["", "", "1"].map(str::to_owned), |[e, b]| [e, b, 1].map(|n| n.to_string()));
        for table in [each, std::fs::read_to_string(part.join("part-0.csv")).unwrap()] {
            let mut lines = csv::ReaderBuilder::new().from_reader(table.as_bytes());
            let names = lines.headers().unwrap().clone();
            let row = lines.records().next().unwrap().unwrap();
            let of = |name: &str| row[names.iter().position(|own| own == name).unwrap()].to_owned();
            assert_eq!(["events_lost", "buffers_lost", "missing_buffers"].map(of), expected, "{table}");
        }
        let pages = with("pages", &files, &["--format", "xperf", "-q"]).out;
        assert!(pages.contains("Events Lost: 5, Buffers lost: 2"), "{}", &pages[..600]);
    }
}

#[test]
fn what_is_of_another_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = put(folder.path(), "a.etl", &trace(1));
    let refused = |other: &Path, says: &str| {
        for command in ["resident", "pages", "events", "processes"] {
            let ran = with(command, &[first.clone(), other.to_owned()], &[]);
            assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (3, "", 1), "{}", ran.err);
            assert!(ran.err.contains("does not belong to the recording of") && ran.err.contains(says), "{}", ran.err);
        }
    };
    refused(&first, "the same file again");
    for (session, says) in [
        (Session { boot_time: session().boot_time - 864_000_000_000, ..beside() }, "another boot"),
        (Session { frequency: 3_000_000, ..beside() }, "its clock has 3000000 Hz, not 10000000 Hz"),
        (Session { clock: 2, ..beside() }, "its clock is system_time, not qpc"),
        (Session { pointer: Ptr::P4, header_record: Ptr::P4, ..beside() }, "its pointers have 4 bytes, not 8"),
        (Session { build: 26100, ..beside() }, "Windows build 26100, not 19045"),
    ] {
        refused(&put(folder.path(), "b.etl", &Trace::new(session).finish()), says);
    }
    assert!(!out(&["info", first.to_str().unwrap()]).contains("Fits the first"));
}

#[test]
fn two_sessions_with_page_sequences_are_two_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let first = put(folder.path(), "a.etl", &trace(1));
    let mut other = Trace::new(beside());
    records(1, Vec::new()).iter().for_each(|rec| other.add(rec));
    let other = put(folder.path(), "b.etl", &other.finish());
    let says = "both hold page sequences, so each is a recording of its own; pfnset diff compares them";
    let ran = with("resident", &[first.clone(), other.clone()], &[]);
    assert!(ran.code == 3 && ran.err.trim_end().ends_with(says), "{}", ran.err);
    let ran = with("info", &[first, other], &["--format", "json"]);
    let info: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &info["files"][1]["reason"]), (3, &says.into()));
}

/// `check` and `diff` take each argument as a trace: `--with` adds the other file, on either side and to the baseline.
#[test]
fn with_adds_a_file_to_the_trace_before_it() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "whole.etl", &trace(2));
    put(folder.path(), "same.etl", &trace(2));
    split(folder.path(), |n| n % 2 == 0);
    let budgets = "[[budget]]\nname = \"Heaps\"\nwhere = { category = \"Win32Heap;VirtualAlloc\" }\nmax_growth = \"0\"\n\
                   [[budget]]\nname = \"Files\"\nwhere = { class = \"File\" }\nmax = \"100 %\"\n";
    put(folder.path(), "budgets.toml", budgets.as_bytes());
    let run = |line: &str| finish(pfnset(&line.split(' ').collect::<Vec<_>>()).current_dir(folder.path()));
    let json =
        |ran: &Ran| serde_json::from_str::<serde_json::Value>(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    for (line, left, right) in [
        ("diff whole.etl a.etl --with b.etl", None, Some(["a.etl", "b.etl"])),
        ("diff a.etl --with b.etl whole.etl", Some(["a.etl", "b.etl"]), None),
        ("diff b.etl --with a.etl a.etl --with b.etl", Some(["b.etl", "a.etl"]), Some(["a.etl", "b.etl"])),
    ] {
        let ran = run(&format!("{line} --group-by process,category,detail --format json"));
        let json = json(&ran);
        assert_eq!((ran.code, &json["equal"]), (0, &true.into()), "{line}: {}", ran.out);
        for (side, files) in [("left", left), ("right", right)] {
            assert_eq!(json[side]["traces"], serde_json::json!(files), "{line}");
            files.iter().for_each(|[first, _]| assert_eq!(json[side]["path"], *first));
        }
    }
    assert_eq!(run("diff whole.etl a.etl").code, 1, "the other file is needed");
    let of = |line: &str| {
        let ran = run(&format!("{line} --budgets budgets.toml --format json -q"));
        let json = json(&ran);
        let traces: Vec<_> = json["traces"].as_array().unwrap().clone();
        let told = traces.iter().map(|trace| (trace["verdict"].clone(), trace["budgets"].clone()));
        (ran.code, told.collect::<Vec<_>>(), traces.iter().map(|trace| trace["traces"].clone()).collect::<Vec<_>>())
    };
    let (code, whole, _) = of("check whole.etl same.etl --baseline whole.etl");
    assert_eq!(code, 0, "{whole:?}");
    let (code, split, files) = of("check a.etl --with b.etl whole.etl --baseline b.etl --with a.etl");
    assert_eq!((code, &split), (0, &whole));
    assert_eq!(files, [serde_json::json!(["a.etl", "b.etl"]), serde_json::Value::Null]);
    for (line, code, says) in [
        ("check --with b.etl a.etl --budgets budgets.toml", 2, "--with b.etl follows the trace that it belongs to"),
        ("diff budgets.toml --with b.etl a.etl", 3, "budgets.toml: expected a trace"),
        ("diff whole.etl --with whole.etl a.etl", 3, "the same file again"),
        ("resident a.etl --with b.etl", 2, "'--with' is a flag of pfnset diff, check"),
        ("diff a.etl b.etl --with a.etl -o a.etl", 2, "-o a.etl is the input itself"),
    ] {
        let ran = run(line);
        assert!(ran.code == code && ran.err.contains(says), "{line}: {} {}", ran.code, ran.err);
    }
    let saved = run("check whole.etl --budgets budgets.toml --save-baseline base.json");
    assert_eq!(saved.code, 0, "{}", saved.err);
    let ran = run("check a.etl --budgets budgets.toml --baseline base.json --with b.etl");
    assert!(ran.code == 2 && ran.err.contains("base.json, before it, is no trace"), "{}", ran.err);
    // A file that does not fit makes the budgets of its trace invalid, and no others.
    let ran = run("check whole.etl --with a.etl whole.etl --baseline whole.etl --budgets budgets.toml --format json");
    let verdicts: Vec<_> =
        json(&ran)["traces"].as_array().unwrap().iter().map(|trace| trace["verdict"].clone()).collect();
    assert_eq!((ran.code, verdicts), (3, vec!["invalid".into(), "pass".into()]), "{}", ran.out);
    let first = run("check --init a.etl --with b.etl");
    assert_eq!(first.out.replace("a.etl", "whole.etl"), run("check --init whole.etl").out);
}

/// Lines of all files of a table, sorted.
fn exported(dataset: &Path, table: &str) -> Vec<String> {
    let partitions = std::fs::read_dir(dataset.join(table)).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        partitions.flat_map(|p| std::fs::read_dir(p).unwrap().map(|e| e.unwrap().path())).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let mut lines: Vec<String> = std::fs::read_to_string(&files[0]).unwrap().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn export_takes_the_files_of_a_recording_as_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "whole.etl", &trace(2));
    // The keywords stay in the first one, which makes it that of the kernel's session.
    split(folder.path(), |n| n % 2 == 1);
    let run = |line: &str| finish(pfnset(&line.split(' ').collect::<Vec<_>>()).current_dir(folder.path()));
    for line in ["whole.etl --out one", "a.etl --with b.etl --out two", "a.etl --out three"] {
        let ran = run(&format!("export {line} --pages --format csv -q"));
        assert_eq!((ran.code, crate::program::beside_losses(&ran.err)), (0, String::new()), "{line}");
    }
    let of = |dataset: &str, table: &str| exported(&folder.path().join(dataset), table);
    for table in ["resident", "processes", "ranges", "files", "pages"] {
        assert_eq!(of("one", table), of("two", table), "{table}");
        assert!(of("one", table).len() > 1, "{table}");
    }
    assert_ne!(of("one", "ranges"), of("three", "ranges"), "half of them are in the other file");
    let again = run("export a.etl --with b.etl --out two --pages --format csv --resume");
    assert!(again.out.contains("there already"), "{again:?}");
    let turned = run("export b.etl --with a.etl --out two --pages --format csv");
    assert_eq!(
        (turned.code, std::fs::read_dir(folder.path().join("two/traces")).unwrap().count()),
        (0, 1),
        "the same trace in the other order: {turned:?}"
    );
    assert_eq!(of("one", "pages"), of("two", "pages"), "its times are those of the first file");
    let other = run("export a.etl --out two --format csv");
    assert_eq!(
        (other.code, std::fs::read_dir(folder.path().join("two/traces")).unwrap().count()),
        (0, 1),
        "it is a part of the trace that is there"
    );
    assert!((other.err.clone() + &other.out).contains("a.etl"), "and that is said: {other:?}");
    assert_eq!(run("export . --with b.etl --out four").code, 2);
}

/// What was lost of a further file makes the budgets invalid that rest on it, and no others.
#[test]
fn a_loss_in_a_further_file_makes_its_budgets_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let budgets = "[[budget]]\nname = \"Heaps\"\nwhere = { category = \"Win32Heap\" }\nmax = \"1 GiB\"\n\
                   [[budget]]\nname = \"Pool\"\nwhere = { category = \"NonPagedPool\" }\nmax = \"1 GiB\"\n";
    put(folder.path(), "budgets.toml", budgets.as_bytes());
    let verdicts = |lost: &[u64]| {
        let session = Session { buffer_size: 0x400, compression: Compression::None, mode: 1, ..beside() };
        let (mut a, mut b) = (Trace::new(self::session()), Trace::new(session));
        for (number, rec) in records(2, Vec::new()).into_iter().enumerate() {
            if rec.hook != PAGE_IN_MEMORY && number % 2 == 0 { b.add(&rec) } else { a.add(&rec) }
        }
        put(folder.path(), "a.etl", &a.finish());
        put(folder.path(), "b.etl", &b.lose_buffers(lost).finish());
        let line = ["check", "a.etl", "--with", "b.etl", "--budgets", "budgets.toml", "--format", "json"];
        let ran = finish(pfnset(&line).current_dir(folder.path()));
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let budgets = json["traces"][0]["budgets"].as_array().unwrap().clone();
        let verdicts: Vec<String> = budgets.iter().map(|b| b["verdict"].as_str().unwrap().to_owned()).collect();
        (ran.code, verdicts, budgets[0]["reason"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(verdicts(&[]), (0, vec!["pass".into(), "pass".into()], String::new()));
    let lost: Vec<_> = (1..8).map(|buffer| verdicts(&[buffer])).collect();
    let invalid: Vec<_> = lost.iter().filter(|(_, verdicts, _)| verdicts[0] == "invalid").collect();
    assert!(!invalid.is_empty(), "{lost:?}");
    let mut seen = 0;
    for (code, verdicts, reason) in invalid {
        assert_eq!((*code, verdicts[1].as_str()), (3, "pass"), "the pages are in the other file: {reason}");
        // Where all heap ranges were in that buffer, nothing tells that they were recorded.
        let known = ["b.etl: 1 buffer is missing between", "the keyword Win32HeapRanges was not recorded"];
        assert!(known.iter().any(|known| reason.contains(known)), "{reason}");
        seen += usize::from(reason.contains(known[0]));
    }
    assert!(seen > 0, "the file is named");
}

/// In a folder the two sessions of a recording are one trace, for `--each` as for `check`.
#[test]
fn each_recording_of_a_folder_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let pair = folder.path().join("pair");
    std::fs::create_dir(&pair).unwrap();
    let files = split(&pair, |n| n % 2 == 0);
    let files: Vec<PathBuf> = files
        .iter()
        .zip(["kernel.etl", "user.etl"])
        .map(|(path, name)| {
            let named = pair.join(name);
            std::fs::rename(path, &named).unwrap();
            named
        })
        .collect();
    let line = ["--group-by", "process,category", "--format", "csv", "-q"];
    let whole = with("resident", &files, &line);
    let each = with("resident", &[pair], &[&["--each"], &line[..]].concat());
    let name = files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" + ");
    let rows = |ran: &Ran, cut: &str| {
        ran.out.lines().skip(1).map(|line| line.trim_start_matches(cut).to_owned()).collect::<Vec<_>>()
    };
    assert!(whole.code == 0 && each.code == 0 && whole.out.lines().count() > 3, "{each:?}");
    let of_each: Vec<String> =
        rows(&each, &format!("{name},")).iter().map(|line| line.trim_end_matches(',').to_owned()).collect();
    assert_eq!(of_each, rows(&whole, ""));
}

/// A trace with the records that are kept, as one file.
pub fn kept(folder: &Path, name: &str, first: Vec<Rec>, keeps: impl Fn(u16) -> bool) -> PathBuf {
    let rest = records(2, Vec::new()).into_iter().filter(|rec| keeps(rec.hook));
    put(folder, name, &Trace::new(session()).push_all(first.into_iter().chain(rest)).finish())
}

/// Without heap ranges, pages of heaps are VirtualAlloc: a night without the file of heaps once failed by their pages.
#[test]
fn growth_is_judged_only_between_recordings_of_the_same_keywords() {
    let folder = tempfile::tempdir().unwrap();
    let is_heap = |hook: u16| (0x0264..=0x0268).contains(&hook);
    kept(folder.path(), "whole.etl", Vec::new(), |_| true);
    kept(folder.path(), "bare.etl", Vec::new(), |hook| !is_heap(hook));
    let budgets =
        "[[budget]]\nname = \"a\"\nwhere = { category = \"VirtualAlloc\" }\nmax = \"1 GiB\"\nmax_growth = \"5 %\"\n";
    put(folder.path(), "budgets.toml", budgets.as_bytes());
    let check = |line: &str| {
        let line = format!("check {line} --budgets budgets.toml --format json");
        let ran = finish(pfnset(&line.split(' ').collect::<Vec<_>>()).current_dir(folder.path()));
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let budget = json["traces"][0]["budgets"][0].clone();
        (ran.code, budget["reason"].as_str().unwrap_or_default().to_owned(), ran.err)
    };
    check("bare.etl --save-baseline bare.json -q");
    check("whole.etl --save-baseline whole.json -q");
    let warnings = check("bare.etl --baseline bare.json").2;
    assert!(warnings.contains("pages of heaps are counted as VirtualAlloc"), "{warnings}");
    assert!(!check("whole.etl --baseline whole.json").2.contains("are counted as VirtualAlloc"));
    for other in ["bare.etl", "bare.json"] {
        let (code, reason, _) = check(&format!("whole.etl --baseline {other} -q"));
        assert!(code == 3 && reason.contains("this trace was recorded with the keyword Win32HeapRanges"), "{reason}");
        assert_eq!(check(&format!("bare.etl --baseline {other} -q")).0, 0);
    }
    // Runs of other keywords have no median, and none of them hides growth in a spread.
    let told = check("whole.etl bare.etl --save-baseline runs.json").2;
    assert!(told.contains("no value of \"a\": bare.etl was recorded with other keywords"), "{told}");
    for trace in ["whole.etl", "bare.etl"] {
        let (code, reason, _) = check(&format!("{trace} --baseline runs.json -q"));
        assert!(
            code == 3 && reason.contains("was invalid, or nothing met the conditions, when the baseline was saved"),
            "{trace}: {reason}"
        );
    }
    for other in ["whole.etl", "whole.json"] {
        let (code, reason, _) = check(&format!("bare.etl --baseline {other} -q"));
        assert!(code == 3 && reason.contains("the baseline was recorded with the keyword Win32HeapRanges"), "{reason}");
    }
}

/// Events of a keyword that was on, but logged nothing, tell as little as those of one that was off.
#[test]
fn a_keyword_that_logged_nothing_makes_its_categories_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let masks = || vec![header::group_masks(session().pointer, 0x0005, [u32::MAX; 8], 70).at(session().t0)];
    let is_view = |hook: u16| (0x0425..=0x0428).contains(&hook);
    kept(folder.path(), "t.etl", masks(), |hook| !is_view(hook));
    for (category, code) in [("CopyOnWriteImage", 3), ("VirtualAlloc", 3), ("NonPagedPool", 0)] {
        let budgets = format!("[[budget]]\nname = \"a\"\nwhere = {{ category = \"{category}\" }}\nmax = \"1 GiB\"\n");
        put(folder.path(), "budgets.toml", budgets.as_bytes());
        let ran = finish(pfnset(&["check", "t.etl", "--budgets", "budgets.toml"]).current_dir(folder.path()));
        assert_eq!(ran.code, code, "{category}: {ran:?}");
        assert_eq!(
            ran.out.contains("the keyword VAMap was on, but none of its events"),
            code == 3,
            "{category}: {ran:?}"
        );
    }
}
