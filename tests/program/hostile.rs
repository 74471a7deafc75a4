//! Text from outside that would steer a terminal, turn a line around or hide in it: in no form and no message it comes through,
//! and no row is lost to it.

use crate::one_of_each;
use crate::program::{Ran, finish, fixtures, pfnset};
use crate::random_cases::one_in;
use etl_writer::Ptr::P8;
use etl_writer::payloads::image::Image;
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Switch, Thread};
use etl_writer::payloads::{file, memory, perf, pool};
use etl_writer::{Rec, Session, Trace, tracelogging_schema};
use pfnset::unstable_api::is_hidden;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Names as an attacker gives them: the first begins an escape sequence that never ends.
const NAMES: [&str; 6] = [
    "a\u{1b}]0;title",
    "b\u{9b}2J\u{7f}\u{7}\r.exe",
    "c\u{202e}gpj.exe",
    "d\u{200b}\u{e0041}\u{feff}.exe",
    "e<img src=x>|[x](http://x.y)@all.exe",
    "=f\u{ffff}\u{fffe}.exe",
];

/// The trace with one page for each rule, and processes, images and files with such names.
fn trace() -> Vec<u8> {
    let mut more = Vec::new();
    for (number, name) in (0u32..).zip(NAMES) {
        let pid = 400 + 4 * number;
        let named = Process { command: format!("{name} \u{1b}[31m/x\n/y"), ..Process::new(pid, name) };
        more.push(named.rec(P8, 4, process::START).by(8, 4));
        let image = Image { base: 0x40_0000, size: 0x1000, pid, name: format!("\\Device\\{name}"), ..Image::default() };
        more.push(image.rec(P8, 3, etl_writer::payloads::image::LOAD));
        more.push(file::name(
            P8,
            file::RUNDOWN,
            one_of_each::UNNAMED_KEY + u64::from(number) * 16,
            &format!("\\{name}"),
        ));
    }
    one_of_each::trace_with(2, more)
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("h.etl"), trace()).unwrap();
    let mut marked = std::fs::read(fixtures().join("refset-small.etl")).unwrap();
    for (from, to) in
        [("RefSetTraceStart", b"R\x1b]0;x\x07T\r\n\x9btart".as_slice()), ("RefSetTraceStop", b"R\x1b[2J\x7fTraceStop ")]
    {
        let at = marked.windows(from.len()).position(|part| part == from.as_bytes()).expect("a mark");
        marked[at..at + to.len().min(from.len())].copy_from_slice(&to[..to.len().min(from.len())]);
    }
    std::fs::write(folder.path().join("m.etl"), marked).unwrap();
    std::fs::write(folder.path().join("c.etl"), scheduled()).unwrap();
    let tags = NAMES.map(|name| format!("\u{1b}[?? - {name} - {name}\n")).concat();
    std::fs::write(folder.path().join("tags.txt"), tags).unwrap();
    let budget = |analysis: &str, dimension: &str| {
        let pattern = "where = { DIM = \"*\" }".replace("DIM", dimension);
        format!("[[budget]]\nname = \"b\\u009b\\u202e{analysis}\"\nanalysis = \"{analysis}\"\n{pattern}\nmax = \"1\"\n")
    };
    let budgets = budget("faults", "file") + &budget("commit", "function").replace("\"1\"", "\"1 KiB\"");
    std::fs::write(folder.path().join("b.toml"), budgets).unwrap();
    std::fs::write(folder.path().join("f.etl"), faulted()).unwrap();
    folder
}

/// Each name is that of a file that two hard faults read.
fn faulted() -> Vec<u8> {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut records = Vec::new();
    for (number, name) in (1u64..).zip(NAMES) {
        records.push(file::name(P8, file::RUNDOWN, number * 16, &format!("\\{name}")));
        // Each ends a thousand ticks after it began.
        records.extend([1, 2].map(|nth| {
            let begin = session.t0 + 99_000 + (3 * (number - 1) + nth) * 1000;
            memory::hard_fault(P8, begin, 0, 0x10_0000, number * 16, 4, 4096)
        }));
    }
    let stamped: Vec<_> = records.into_iter().zip((session.t0 + 100_000..).step_by(1000)).collect();
    Trace::new(session).push_all(stamped.into_iter().map(|(record, time)| record.at(time))).finish()
}

/// Context switches of processes with such names, between marks with such names; samples, hard faults and allocations of their code,
/// which lies in images and methods of the .NET runtime with such names.
fn scheduled() -> Vec<u8> {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut records = Vec::new();
    let time_of = |records: &Vec<Rec>| session.t0 + 1000 * records.len() as u64;
    for (number, name) in (0u32..).zip(NAMES) {
        let (pid, tid) = (400 + 4 * number, 800 + 4 * number);
        records.push(Process::new(pid, name).rec(P8, 4, process::START));
        records.push(Thread { pid, tid, ..Thread::default() }.rec(P8, 3, thread::START));
        records.push(perf::mark_record(P8, &format!("click{number}\u{1b}]0;x\u{7}\r\n\u{202e}{name}")));
        records.push(Switch { new: tid, state: 2, ..Switch::default() }.rec(P8, 4));
        records.push(Switch { old: tid, state: 5, ..Switch::default() }.rec(P8, 4));
        let (base, key) = (0x40_0000 + 0x10_0000 * u64::from(number), 0xffff_8000_0000_0000 + 64 * u64::from(number));
        let image = Image { base, size: 0x1000, pid, name: format!("\\Device\\{name}"), ..Image::default() };
        records.push(image.rec(P8, 3, etl_writer::payloads::image::LOAD));
        records.push(method(base + 0x8000, name).by(tid, pid));
        records.push(file::name(P8, file::RUNDOWN, key, &format!("\\{name}")));
        for event in [
            perf::sample(P8, base + 8, tid, 0),
            memory::hard_fault(P8, session.t0, 0, base, key, tid, 4096),
            memory::virtual_alloc(P8, base + 0x2_0000, 0x1000, pid, 0x1000).by(tid, pid),
            pool::pool(P8, 0x0e20, 0x200, *b"\x1b[\x9b2", 64, key).by(tid, pid),
        ] {
            let time = time_of(&records);
            records.push(event);
            records.push(perf::stack(P8, time, pid, tid, &[base + 8, base + 0x8008, base + 0x10]));
        }
    }
    let times = (session.t0..).step_by(1000);
    let stamped: Vec<_> = records.into_iter().zip(times).map(|(record, time)| record.at(time)).collect();
    Trace::new(session).push_all(stamped).finish()
}

/// A method of the .NET runtime.
fn method(start: u64, name: &str) -> Rec {
    const CLR: [u8; 16] = *b"\x23\x0d\x3c\xe1\xbc\xcc\x12\x4e\x93\x1b\xd9\xcc\x2e\xee\x27\xe4";
    let head = [[1u64, 2, start].map(u64::to_le_bytes).concat(), vec![0, 0x10, 0, 0], vec![0; 8]].concat();
    let texts = format!("{name}\0{name}\0\0").encode_utf16().flat_map(u16::to_le_bytes).collect();
    Rec::event(P8, CLR, 143, 0, [head, texts].concat())
}

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    finish(pfnset(arguments).current_dir(folder))
}

/// Messages have one line each, whatever a name is.
#[test]
fn a_name_begins_no_line_of_its_own() {
    let folder = folder();
    std::fs::write(folder.path().join("a\npfnset: no.etl"), "no trace").unwrap();
    let budgets = "[[budget]]\nname = \"a\"\nmax = 1\n";
    std::fs::write(folder.path().join("b\nx.toml"), budgets).unwrap();
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["a\nb.etl", "c\nd.etl"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    }
    std::fs::write(folder.path().join("two.zip"), archive.finish().unwrap().into_inner()).unwrap();
    for arguments in [
        &["info", "none\npfnset: x.etl"][..],
        &["info", "a\npfnset: no.etl"],
        &["info", "two.zip"],
        &["info", "two.zip!x\ny.etl"],
        &["check", "h.etl", "--budgets", "b\nx.toml"],
        &["resident", "h.etl", "--format", "csv", "--where", "process=x\ny*"],
        &["info", "h.etl", "-o", "no\nfolder/x"],
        &["diff", "h.etl", "a\npfnset: no.etl"],
        &["events", "--each", "a\npfnset: no.etl", "none\n.etl", "--format", "csv"],
        &["counter", "--csv", "a\npfnset: no.etl"],
    ] {
        let ran = run(folder.path(), arguments);
        is_harmless(&ran, arguments);
        assert!(ran.err.lines().all(|line| line.starts_with("pfnset: ")), "{arguments:?}: {}", ran.err);
        let is_warning = |line: &str| line.starts_with("pfnset: warning: ");
        assert!(ran.err.lines().count() <= 1 || ran.err.lines().all(is_warning), "{arguments:?}: {}", ran.err);
    }
}

/// No hidden character but the ends of lines and, where they were asked for, our own styles.
pub(crate) fn is_harmless(ran: &Ran, what: &[&str]) {
    for text in [&ran.out, &ran.err] {
        let bare =
            ["\u{1b}[1m", "\u{1b}[33m", "\u{1b}[0m"].iter().fold(text.clone(), |text, own| text.replace(own, ""));
        if let Some(hidden) = bare.chars().find(|&c| c != '\n' && is_hidden(c)) {
            panic!("{what:?}: {hidden:?} in {bare}");
        }
    }
}

const ASKED: [&[&str]; 32] = [
    &["faults", "f.etl", "--of", "again"],
    &["info", "h.etl"],
    &["events", "h.etl"],
    &["processes", "h.etl"],
    &["processes", "h.etl", "--group-by", "command_line,name"],
    &["resident", "h.etl"],
    &["resident", "h.etl", "--group-by", "process,file,detail"],
    &["resident", "h.etl", "--where", "process=\u{1b}]x;nothing\u{202e}*"],
    &["refset", "m.etl"],
    &["refset", "m.etl", "--group-by", "process,file"],
    &["refset", "m.etl", "--timeline", "20ms", "--group-by", "process"],
    &["refset", "m.etl", "--verify", "--max-residue", "100"],
    &["diff", "h.etl", "m.etl", "--group-by", "process,file"],
    &["cpu", "c.etl", "--from", "click1*", "--to", "click4*"],
    &["cpu", "c.etl", "--group-by", "process,thread"],
    &["cpu", "c.etl", "--preset", "waits"],
    &["cpu", "c.etl", "--group-by", "process,stack"],
    &["stacks", "c.etl"],
    &["stacks", "c.etl", "--tree"],
    &["stacks", "c.etl", "--group-by", "process,thread,module,function,stack"],
    &["stacks", "c.etl", "--of", "virtual-alloc", "--where", "function=\u{1b}]x;nothing\u{202e}*"],
    &["faults", "c.etl"],
    &["faults", "c.etl", "--group-by", "process,file,module"],
    &["allocations", "c.etl", "--group-by", "process,function,stack"],
    &["allocations", "c.etl", "--of", "pool", "--group-by", "tag", "--pooltags", "tags.txt"],
    &["allocations", "c.etl", "--timeline", "10us"],
    &["symbols", "c.etl"],
    &["diff", "c.etl", "c.etl", "--of", "samples", "--all"],
    &["diff", "c.etl", "c.etl", "--allocations", "--group-by", "process,function", "--all"],
    &["check", "c.etl", "--budgets", "b.toml"],
    &["events", "c.etl", "--name", "*Sample*"],
    &["resident", "h.etl", "--group-by", "process,function"],
];

#[test]
fn nothing_hidden_comes_through_any_form() {
    let folder = folder();
    let forms = ["table", "json", "csv", "jsonl", "markdown"];
    let all = ASKED.iter().flat_map(|asked| forms.map(|form| ["always", "never"].map(|color| (asked, form, color))));
    for (asked, form, color) in one_in(6, all.flatten().collect()) {
        let all = [asked, &["--format", form, "--color", color][..]].concat();
        let ran = run(folder.path(), &all);
        assert!(ran.code < 3 && ran.code != 2, "{all:?}: {}", ran.err);
        is_harmless(&ran, &all);
    }
    for (arguments, forms) in [
        (["stacks", "c.etl"].as_slice(), ["collapsed", "firefox"].as_slice()),
        (&["stacks", "c.etl", "--of", "virtual-alloc"], &["collapsed", "firefox"]),
        (&["events", "c.etl", "--rows", "--stacks"], &["table", "csv", "jsonl"]),
        (&["symbols", "c.etl"], &["manifest"]),
    ] {
        for form in forms {
            let all = [arguments, &["--format", form, "--color", "always"]].concat();
            let ran = run(folder.path(), &all);
            assert_eq!(ran.code, 0, "{all:?}: {}", ran.err);
            is_harmless(&ran, &all);
        }
    }
    let named = "h\u{1b}[2J\u{202e}.etl";
    std::fs::copy(folder.path().join("h.etl"), folder.path().join(named)).unwrap();
    for form in ["table", "csv", "jsonl", "xperf"] {
        for trace in ["h.etl", named] {
            let all = ["pages", trace, "--format", form, "--color", "always"];
            is_harmless(&run(folder.path(), &all), &all);
        }
    }
}

#[test]
fn no_row_is_lost_to_a_name() {
    let folder = folder();
    for arguments in
        [&["processes", "h.etl", "-q"][..], &["resident", "h.etl", "-q", "--group-by", "process,file,detail"]]
    {
        for color in ["always", "never"] {
            let form = |form| run(folder.path(), &[arguments, &["--format", form, "--color", color]].concat()).out;
            let (rows, lines) = (form("csv"), form("jsonl"));
            let rows = csv::Reader::from_reader(rows.as_bytes()).into_records().map(Result::unwrap).count();
            assert_eq!((rows, rows > 5), (lines.lines().count(), true), "{arguments:?}");
        }
    }
    // JSON gives names back as they are.
    let lines = run(folder.path(), &["processes", "h.etl", "-q", "--format", "jsonl"]).out;
    let names: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone()).collect();
    for name in ["c\u{202e}gpj.exe", "d\u{200b}\u{e0041}\u{feff}.exe"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
}

/// A saved CSV has names in writing; the same trace is no other than it.
#[test]
fn a_saved_table_is_equal_to_its_trace() {
    let folder = folder();
    for form in ["csv", "json"] {
        let saved = format!("saved.{form}");
        let made = run(
            folder.path(),
            &["resident", "h.etl", "-q", "--group-by", "process,category", "--format", form, "-o", &saved],
        );
        assert_eq!(made.code, 0, "{}", made.err);
        let ran = run(folder.path(), &["diff", &saved, "h.etl", "--group-by", "process,category", "-q"]);
        assert_eq!(ran.code, 0, "{form}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn markdown_of_a_trace_is_text() {
    let folder = folder();
    for arguments in [&["processes", "h.etl"][..], &["resident", "h.etl", "--group-by", "process,file"]] {
        let text = run(folder.path(), &[arguments, &["--format", "markdown", "-q"]].concat()).out;
        assert_eq!(text.contains("img src=x"), arguments[0] == "processes", "{text}");
        for active in ["e<img", "|[x](", "](http://", "@all"] {
            assert!(!text.contains(active), "{active}: {text}");
        }
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert!(table.len() > 5 && table.iter().all(|line| columns(line) == columns(table[0])), "{text}");
    }
}

/// Events whose provider, name, fields and values anybody can choose.
fn named_events() -> Vec<u8> {
    let session = Session { processors: 1, ..Session::windows10() };
    let texts = [
        "=cmd|' /C calc'!A0",
        "+1+cmd|x",
        "@SUM(A1)",
        "-2+3",
        "\u{85}a\u{2028}b\u{2029}c",
        NAMES[0],
        NAMES[1],
        NAMES[2],
    ];
    let event = |(number, text): (u64, &&str)| {
        let schema = tracelogging_schema(text, &[(text, 2)]);
        let provider = [&(text.len() as u16 + 3).to_le_bytes(), text.as_bytes(), b"\0"].concat();
        let event = Rec::event(P8, [7; 16], 0, 0, [text.as_bytes(), b"\0"].concat());
        event.with_item(11, &schema).with_item(12, &provider).by(8, 400).at(session.t0 + 1000 + number * 1000)
    };
    let records: Vec<Rec> = (0..).zip(&texts).map(event).collect();
    let started = Process::new(400, "=cmd|x.exe").rec(P8, 4, process::START).at(session.t0 + 500);
    Trace::new(session.clone()).push(started).push_all(records).finish()
}

/// In every form of the rows, without a flag.
#[test]
fn rows_of_events_are_harmless_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("e.etl"), named_events()).unwrap();
    let rows = |form: &str| {
        let all = ["events", "e.etl", "--rows", "-q", "--format", form, "--color", "always"];
        let ran = run(folder.path(), &all);
        assert_eq!(ran.code, 0, "{}", ran.err);
        is_harmless(&ran, &all);
        ran.out
    };
    let table = rows("table");
    assert!(table.contains("=cmd|' /C calc'!A0=") && table.contains("\\x85a\\u{2028}b"), "{table}");
    let csv = rows("csv");
    let cells: Vec<String> = csv::Reader::from_reader(csv.as_bytes())
        .into_records()
        .flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let is_formula = |cell: &&String| cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
    assert_eq!(cells.iter().find(is_formula), None);
    assert!(cells.iter().any(|cell| cell == "'=cmd|' /C calc'!A0"), "{csv}");
    assert!(cells.iter().any(|cell| cell == "'=cmd|x.exe (400)"), "{csv}");
    // JSON gives texts back as they are.
    let named: Vec<Value> = rows("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for text in ["=cmd|' /C calc'!A0", "\u{85}a\u{2028}b\u{2029}c", NAMES[0]] {
        let row = named.iter().find(|row| row["event"] == text).expect("a row");
        assert_eq!((&row["provider"], &row["fields"][text]), (&row["event"], &row["event"]));
    }
}

#[test]
fn spreadsheets_calculate_no_name() {
    let folder = folder();
    let cells = |more: &[&str]| {
        let text = run(folder.path(), &[&["processes", "h.etl", "-q", "--format", "csv"], more].concat()).out;
        let rows = csv::Reader::from_reader(text.as_bytes()).into_records().map(Result::unwrap);
        rows.flat_map(|row| row.iter().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<String>>()
    };
    let is_formula = |cell: &&String| cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
    for form in ["table", "json", "jsonl", "markdown"] {
        let ran = run(folder.path(), &["processes", "h.etl", "--csv-safe", "--format", form]);
        assert!(ran.code == 2 && ran.err.contains("--csv-safe is for --format csv"), "{ran:?}");
    }
    assert_eq!(run(folder.path(), &["pages", "h.etl", "--csv-safe"]).code, 2);
    let (plain, safe) = (cells(&[]), cells(&["--csv-safe"]));
    assert!(plain.iter().any(|cell| is_formula(&cell)));
    assert_eq!(safe.iter().find(is_formula), None);
    assert_eq!(safe.iter().map(|cell| cell.trim_start_matches('\'')).collect::<Vec<_>>(), plain);
}

#[test]
fn junit_and_budgets_are_sound_for_any_name() {
    let folder = folder();
    let budgets = "[[budget]]\nname = \"g\\uFFFF\\u001b\"\nwhere = { process = \"*\" }\nmax = \"1 pages\"\n";
    std::fs::write(folder.path().join("b.toml"), budgets).unwrap();
    let ran = run(folder.path(), &["check", "h.etl", "--budgets", "b.toml", "--junit", "x.xml"]);
    is_harmless(&ran, &["check"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let xml = std::fs::read_to_string(folder.path().join("x.xml")).unwrap();
    assert!(!xml.chars().any(|c| c != '\n' && is_hidden(c)), "{xml}");
    roxmltree::Document::parse(&xml).unwrap();
    // Names of budgets that were made of the trace are read back as they are.
    let made = run(folder.path(), &["check", "--init", "h.etl", "-o", "made.toml", "-q"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let ran = run(folder.path(), &["check", "h.etl", "--budgets", "made.toml", "-q"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
}

/// Names that mean something else as a pattern, or the same as another name.
#[test]
fn budgets_of_any_name_are_met_by_their_trace() {
    let names = ["\u{85}nel.exe", "Twice.exe", "TWICE.EXE", " blank.exe", "a;b.exe", "!c.exe", "tab.exe\t"];
    let session = Session { processors: 1, ..Session::windows10() };
    let mut records = Vec::new();
    for (pid, name) in (4u32..).step_by(4).zip(names) {
        let named = Process { name_bytes: name.as_bytes().into(), ..Process::new(pid, "") };
        records.push(named.rec(P8, 4, process::DC_START));
        records.extend((0..4).map(|page| {
            let page = u64::from(pid) * 16 + page;
            Identity::private(page, pid.into(), 0x1000 + page).rec(P8, 4, IN_MEMORY)
        }));
        for at in [0, 1] {
            let base = 0x10_0000 * (2 * u64::from(pid) + at);
            records.push(memory::virtual_alloc(P8, base, 0x1000, pid, 0x1000).by(4, pid));
        }
        let tag = if pid % 8 == 0 { *b"Case" } else { *b"cAsE" };
        records.push(pool::pool(P8, 0x0e20, 0x200, tag, 64, u64::from(pid) << 32).by(4, pid));
    }
    let stamped = records.into_iter().zip((session.t0..).step_by(1000)).map(|(record, time)| record.at(time));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("n.etl"), Trace::new(session).push_all(stamped.collect::<Vec<_>>()).finish())
        .unwrap();
    let made = run(folder.path(), &["check", "--init", "n.etl", "-o", "made.toml", "-q"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let budgets = std::fs::read_to_string(folder.path().join("made.toml")).unwrap();
    let named: Vec<&str> = budgets.lines().filter_map(|line| line.strip_prefix("name = ")).collect();
    let of = |text: &str| named.iter().filter(|name| name.to_lowercase().contains(text)).count();
    assert!(of("twice.exe, memory") == 1 && of("nel.exe") + of("blank.exe") == 0, "{budgets}");
    let ran = run(folder.path(), &["check", "n.etl", "--budgets", "made.toml", "-q"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn members_of_archives_and_arguments_are_harmless_in_messages() {
    let folder = folder();
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["a\u{1b}]0;x\u{7}.etl", "b\u{202e}.etl"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&trace()).unwrap();
    }
    std::fs::write(folder.path().join("two.zip"), archive.finish().unwrap().into_inner()).unwrap();
    for arguments in [
        &["info", "two.zip"][..],
        &["export", "two.zip", "--out", "d"],
        &["export", "two.zip!a\u{1b}]0;x\u{7}.etl", "--out", "e"],
        &["resident", "h.etl", "--group-by", "x\u{1b}[2J"],
        &["resident", "h.etl", "--format", "x\u{1b}[2J\u{202e}"],
        &["no\u{1b}]0;x\u{7}ne"],
        &["info", "none\u{1b}]0;x\u{7}.etl"],
        &["refset", "m.etl", "--from", "nowhere\u{9b}"],
    ] {
        is_harmless(&run(folder.path(), arguments), arguments);
    }
}

/// What is wrong with arguments is said in colors on a terminal, and arguments are quoted there.
#[test]
fn arguments_are_harmless_between_styles() {
    for arguments in [
        &["info", "x.etl", "--threads", "a\u{1b}[2Jb"][..],
        &["info", "x.etl", "--unpack-limit=a\u{1b}]0;b"],
        &["info", "x.etl", "--a\u{1b}[8mb"],
        &["a\u{1b}]0;b\u{202e}"],
        &["info", "x.etl", "a\u{1b}b", "-o"],
    ] {
        let ran = finish(pfnset(arguments).env("CLICOLOR_FORCE", "1"));
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        let own = ["1", "4", "0", "31", "32", "33"].map(|style| format!("\u{1b}[{style}m"));
        let bare = own.iter().fold(ran.err.clone(), |text, own| text.replace(own, ""));
        assert!(ran.err.len() > bare.len(), "in colors: {bare}");
        is_harmless(&Ran { err: bare.clone(), ..ran }, arguments);
        assert!(bare.contains("a\\x1b") || arguments[3..].contains(&"-o"), "{bare}");
    }
}
