//! One vocabulary of dimensions: what is known of a process is a dimension of every command that knows processes, with the same
//! labels; help, completions and docs have all dimensions of all commands.

use crate::program::{out, run};
use crate::random_cases::one_in;
use etl_writer::payloads::pages::{self, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::system;
use etl_writer::payloads::thread::{self, Thread};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Processes with pages and threads: two of one name in two sessions, one of them with services; two that had one id, one after
/// the other; one of no session; and a process id that no event describes.
fn machine() -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows11() };
    let host = |pid: u32, session: u32| Process { session, key: pid.into(), ..Process::new(pid, "host.exe") };
    let second = |name: &str, session: u32, key: u64| Process { session, key, ..Process::new(48, name) };
    let thread = |pid: u32, tid: u32| Thread { pid, tid, ..Thread::default() };
    let page = |pfn: u64, pid: u32| {
        Identity::private(pfn, pid.into(), 0x1_0000 + pfn * 4096).rec(P8, 4, pages::ACCESS).by(1, pid)
    };
    let switch = |new: u32, old: u32| thread::Switch { new, old, state: 5, ..thread::Switch::default() }.rec(P8, 4);
    let records: Vec<Rec> = vec![
        Process { session: u32::MAX, ..Process::new(4, "System") }.rec(P8, 4, process::DC_START),
        host(40, 1).rec(P8, 4, process::DC_START),
        host(44, 2).rec(P8, 4, process::DC_START),
        second("one.exe", 1, 0x1000).rec(P8, 4, process::DC_START),
        thread(40, 400).rec(P8, 3, thread::DC_START),
        thread(44, 440).rec(P8, 3, thread::DC_START),
        thread(48, 480).rec(P8, 3, thread::DC_START),
        thread(52, 520).rec(P8, 3, thread::DC_START),
        switch(400, 0),
        page(1, 40),
        page(2, 40),
        switch(440, 400),
        page(3, 44),
        switch(480, 440),
        page(4, 48),
        switch(520, 480),
        page(5, 4),
        second("one.exe", 1, 0x1000).rec(P8, 4, process::END),
        thread(48, 480).rec(P8, 3, thread::END),
        second("two.exe", 3, 0x2000).rec(P8, 4, process::START).by(400, 40),
        thread(48, 484).rec(P8, 3, thread::START).by(400, 40),
        switch(484, 520),
        page(6, 48),
        page(7, 48),
        page(8, 48),
        page(9, 99),
        switch(0, 484),
        system::service(P8, 40, "Dnscache"),
        system::service(P8, 40, "BFE"),
    ];
    let mut trace = Trace::new(session.clone());
    for (number, record) in (1u64..).zip(records) {
        trace.add(&record.at(session.t0 + number * 1000));
    }
    file_of(&trace.finish())
}

fn rows(command: &str, path: &str, names: &str, more: &[&str]) -> Vec<Value> {
    let all = [&[command, path, "-q", "--format", "json", "--group-by", names], more].concat();
    let json: Value = serde_json::from_str(&out(&all)).expect("JSON");
    json["rows"].as_array().expect("rows").clone()
}

/// What the rows count by their labels in one dimension.
fn by(rows: &[Value], dimension: &str, measure: &str) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    for row in rows {
        let label = row[dimension].as_str().map_or_else(|| row[dimension].to_string(), str::to_owned);
        *all.entry(label).or_default() += row[measure].as_i64().expect("a number");
    }
    all
}

fn expected(counts: &[(&str, i64)]) -> BTreeMap<String, i64> {
    counts.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect()
}

/// One page of `one.exe` went as it ended, and seven are of known processes.
#[test]
fn a_reference_set_by_what_is_known_of_processes() {
    let file = machine();
    let path = file.path().to_str().expect("UTF-8");
    let of = |dimension: &str| by(&rows("refset", path, dimension, &[]), dimension, "pages");
    assert_eq!(
        of("process"),
        expected(&[
            ("host.exe (40)", 2),
            ("host.exe (44)", 1),
            ("System (4)", 1),
            ("two.exe (48)", 3),
            ("Unknown (99)", 1)
        ])
    );
    assert_eq!(of("process_name"), expected(&[("host.exe", 3), ("System", 1), ("two.exe", 3), ("Unknown (99)", 1)]));
    assert_eq!(of("session"), expected(&[("1", 2), ("2", 1), ("3", 3), ("n/a", 2)]));
    assert_eq!(of("service"), expected(&[("BFE, Dnscache", 2), ("no service", 5), ("Unknown (99)", 1)]));
    assert_eq!(of("pid"), expected(&[("40", 2), ("44", 1), ("4", 1), ("48", 3), ("Unknown (99)", 1)]));
    let ended = rows("refset", path, "process_name,session", &["--where", "release_reason=ProcessEnd"]);
    let one = ended.iter().find(|row| row["process_name"] == "one.exe").expect("the first process of the id");
    assert_eq!((&one["session"], &one["pages"]), (&json!(1), &json!(1)));
    let chosen = |condition: &str| -> i64 {
        rows("refset", path, "process", &["--where", condition]).iter().map(|row| row["pages"].as_i64().unwrap()).sum()
    };
    let conditions =
        ["service=dnscache*", "service=*dnscache*", "session=3", "session=no session", "process_name=host*"];
    assert_eq!(conditions.map(chosen), [0, 2, 3, 2, 3]);
    let held = |names: &str| -> Value {
        let all = ["refset", path, "-q", "--format", "json", "--timeline", "1ms", "--group-by", names];
        serde_json::from_str(&out(&all)).expect("JSON")
    };
    let timeline = held("session");
    let groups = timeline["timeline"]["groups"].as_array().expect("groups");
    let third = groups.iter().find(|group| group["session"] == 3).expect("a number, as in rows");
    assert_eq!(third["peak_pages"], 3);
    let table = out(&["refset", path, "-q", "--group-by", "session"]);
    assert!(table.contains("\nno session ") && !table.contains("n/a"), "{table}");
}

/// Threads run for 1000 ticks from record to record: 100 µs.
#[test]
fn processors_by_what_is_known_of_processes() {
    let file = machine();
    let path = file.path().to_str().expect("UTF-8");
    let of = |dimension: &str| {
        let rows = rows("cpu", path, dimension, &[]);
        by(&rows, dimension, "cpu_ns").into_iter().map(|(label, ns)| (label, ns / 100_000)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(
        of("process"),
        expected(&[
            ("host.exe (40)", 3),
            ("host.exe (44)", 2),
            ("one.exe (48)", 2),
            ("two.exe (48)", 5),
            ("Unknown (52)", 6)
        ])
    );
    assert_eq!(of("process_name"), expected(&[("host.exe", 5), ("one.exe", 2), ("two.exe", 5), ("Unknown (52)", 6)]));
    assert_eq!(of("session"), expected(&[("1", 5), ("2", 2), ("3", 5), ("n/a", 6)]));
    assert_eq!(of("service"), expected(&[("BFE, Dnscache", 3), ("no service", 9), ("Unknown (52)", 6)]));
    assert_eq!(of("pid"), expected(&[("40", 3), ("44", 2), ("48", 7), ("Unknown (52)", 6)]));
    let nested = rows("cpu", path, "session,thread", &["--where", "process_name=*.exe"]);
    let found: Vec<_> = nested.iter().map(|row| (row["session"].clone(), row["thread"].clone())).collect();
    assert_eq!(found, [(json!(3), json!(484)), (json!(1), json!(400)), (json!(1), json!(480)), (json!(2), json!(440))]);
    let pairs = |condition: &str| {
        let ran = run(&["cpu", path, "-q", "--format", "csv", "--preset", "preemption", "--where", condition]);
        (ran.code, ran.out.lines().count() - 1)
    };
    let all = pairs("process=*").1;
    let of_sessions: usize = ["session=1", "session=2", "session=3", "session=n/a"].map(|of| pairs(of).1).iter().sum();
    assert_eq!(of_sessions, all, "conditions on any dimension of processes choose pairs");
}

/// The same labels as in the resident set, which has them from page records.
#[test]
fn labels_are_those_of_the_resident_set_and_of_the_processes() {
    let trace = "resident-small.etl";
    let resident: Value = serde_json::from_str(&out(&[
        "resident",
        trace,
        "-q",
        "--format",
        "json",
        "--group-by",
        "process,process_name,session,service,pid",
    ]))
    .expect("JSON");
    let processes: Value = serde_json::from_str(&out(&["processes", trace, "-q", "--format", "json"])).expect("JSON");
    let known = processes["processes"].as_array().expect("a list");
    let rows = resident["snapshots"][0]["rows"].as_array().expect("rows");
    let mut seen = 0;
    for row in rows.iter().filter(|row| row["owner"] == "process") {
        let process = known.iter().find(|process| process["process"] == row["process"]).expect("a process");
        assert_eq!((&row["process_name"], &row["pid"]), (&process["name"], &process["pid"]));
        assert!(row["session"] == process["session"] || row["session"] == "n/a" && process["session"].is_null());
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

/// Two traces are compared by what is known of processes in both analyses.
#[test]
fn traces_are_compared_by_any_of_them() {
    let left_pages = |more: &[&str]| -> BTreeMap<String, i64> {
        let files = ["diff", "refset-small.etl", "refset-proved.etl", "-q", "--format", "json"];
        let ran = run(&[&files[..], more].concat());
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        let dimension = more.last().expect("a dimension").to_string();
        by(json["differing"].as_array().expect("rows"), &dimension, "left_pages")
    };
    for dimension in one_in(1, vec!["pid", "session", "process_name", "service"]) {
        for (analysis, more) in [("refset", &["--refset"][..]), ("resident", &[])] {
            let found = left_pages(&[more, &["--group-by", dimension]].concat());
            let all = ["refset-small.etl", "-q", "--format", "json", "--group-by", dimension];
            let whole: Value = serde_json::from_str(&out(&[&[analysis], &all[..]].concat())).expect("JSON");
            let rows = if analysis == "refset" { &whole["rows"] } else { &whole["snapshots"][0]["rows"] };
            let known = by(rows.as_array().expect("rows"), dimension, "pages");
            let differing = found.iter().filter(|(_, pages)| **pages > 0);
            let lower = |label: &str| label.to_lowercase();
            for (label, pages) in differing {
                let same = known.iter().find(|(known, _)| lower(known) == lower(label));
                assert_eq!(same.map(|(_, pages)| *pages), Some(*pages), "{analysis} {dimension} {label}");
            }
            assert!(!found.is_empty() && (dimension != "pid" || found.len() > 10), "{analysis} {dimension}: {found:?}");
        }
    }
}

/// What tables show was refused as a condition, or matched nothing.
#[test]
fn labels_can_be_typed_as_they_are_shown() {
    for (command, condition, shown) in [
        ("cpu cpu-compressed.etl --group-by session", "session=[idle]", "[idle]"),
        ("allocations alloc-x86.etl --of pool --group-by tag", "tag=Proc (processes)", "Proc (processes)"),
        ("memory resident-small.etl --group-by priority", "priority=prio 3", "prio 3"),
        ("memory resident-small.etl --group-by list", "list=Modified no-write", "Modified no-write"),
    ] {
        let arguments: Vec<&str> = command.split(' ').chain(["-q", "--where", condition]).collect();
        let ran = run(&arguments);
        let rows: Vec<&str> = ran.out.lines().skip_while(|line| !line.starts_with("───")).skip(1).collect();
        assert!(ran.code == 0 && rows.first().is_some_and(|row| row.starts_with(shown)), "{condition}: {ran:?}");
        assert!(!ran.err.contains("matches nothing"), "{condition}: {ran:?}");
    }
    let pages = |list: &str| {
        let ran =
            run(&["diff", "resident-small.etl", "refset-small.etl", "--all", "-q", "--format", "csv", "--where", list]);
        assert_eq!(ran.code, 1, "{list}: {ran:?}");
        ran.out
    };
    assert_eq!(pages("list=Modified no-write"), pages("list=ModifiedNoWrite"));
    let budget = |rest: &str| {
        let (code, results) =
            crate::check_faults::check("alloc-x86.etl", &format!("[[budget]]\nname = \"a\"\n{rest}\n"));
        (code, results[0]["value"].clone())
    };
    let of_tag = |tag: &str| {
        budget(&format!("analysis = \"pool\"\nmeasure = \"growth_per_minute\"\nwhere.tag = \"{tag}\"\nmax = \"1 GiB\""))
    };
    let shown = of_tag("Proc (processes)");
    assert!(shown == of_tag("Proc") && shown.1.as_u64().is_some_and(|bytes| bytes > 0), "{shown:?}");
}
