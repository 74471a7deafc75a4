//! Windows of time and the steps in them: an empty window is told, and rows of different times look different.

use crate::program::{out, run};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Switch, Thread};
use etl_writer::{Ptr::P8, Session, Trace, file_of};
use serde_json::Value;

/// All numbers of an empty window are 0, and nothing said why.
#[test]
fn an_empty_window_is_an_error_of_every_command() {
    for (command, trace) in [
        ("cpu", "cpu-compressed.etl"),
        ("cpu", "resident-small.etl"),
        ("stacks", "stacks-keys.etl"),
        ("faults", "faults-x86.etl"),
        ("allocations", "alloc-x86.etl"),
        ("refset", "refset-small.etl"),
        ("memory", "resident-small.etl"),
        ("events", "cpu-compressed.etl"),
    ] {
        let rows = if command == "events" { &["--rows"][..] } else { &[] };
        for window in [["--from", "0.001", "--to", "0.001"], ["--from", "1ns", "--to", "2ns"]] {
            let ran = run(&[&[command, trace], rows, &window[..]].concat());
            let told = ran.err.contains("the window is empty: it begins and ends at 0.00");
            assert!(ran.code == 2 && told && ran.out.is_empty(), "{command} {window:?}: {ran:?}");
        }
    }
}

/// A window of processors ends with the last switch: what begins there or later has no end of its own.
#[test]
fn a_window_from_the_last_switch_on_needs_an_end() {
    let whole: Value =
        serde_json::from_str(&out(&["cpu", "cpu-compressed.etl", "-q", "--format", "json"])).expect("JSON");
    let last = whole["window"]["stop_s"].as_f64().expect("a time");
    for (from, says) in [
        (format!("{:.9}", last), "the window is empty: it begins and, by default, ends with the last context switch"),
        (format!("{:.9}", last + 1e-3), "with the last context switch, which is the default: name its end too"),
    ] {
        let ran = run(&["cpu", "cpu-compressed.etl", "--from", &from]);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(says), "{from}: {ran:?}");
        let named = run(&["cpu", "cpu-compressed.etl", "-q", "--from", &from, "--to", "99"]);
        assert!(named.code == 0 && named.out.contains("CPU use from"), "{from}: {named:?}");
    }
}

/// One switch is the first and the last one: all times are 0, and nothing said why.
#[test]
fn a_window_of_one_switch_says_that_it_is_empty() {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let switch = Switch { new: 44, old: 0, ..Switch::default() }.rec(P8, 4).at(begin + 1000);
    let file = file_of(&Trace::new(session).push_all(vec![switch]).finish());
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["cpu", path, "--strict", "--format", "json"]);
    let set: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    assert!(ran.code == 3 && set["doubts"][0]["code"] == "window_empty", "{ran:?}");
    let (code, results) = crate::check_faults::check(path, CPU_BUDGET);
    assert!(code == 3 && results[0]["verdict"] == "invalid", "{results:?}");
}

const CPU_BUDGET: &str = "[[budget]]\nname = \"a\"\nanalysis = \"cpu\"\nmeasure = \"cpu_ms\"\nmax = \"1 s\"\n";

/// Six digits do not tell steps apart that are shorter than a microsecond.
#[test]
fn times_of_a_timeline_are_told_apart() {
    let times = |step: &str| -> Vec<String> {
        let window = ["--from", "0.1", "--to", "0.100006"];
        let text = out(&[&["cpu", "cpu-compressed.etl", "-q", "--timeline", step], &window[..]].concat());
        let first = text.lines().filter_map(|line| line.split_whitespace().next());
        first.filter(|cell| cell.starts_with("0.1")).map(str::to_owned).collect()
    };
    assert_eq!(times("2us"), ["0.100000", "0.100002", "0.100004"]);
    let close = times("500ns");
    assert_eq!((close.len(), &close[..3]), (12, &["0.100000000", "0.100000500", "0.100001000"].map(str::to_owned)[..]));
}

/// Thread 44 waits from 2 ms to 6 ms and from 7 ms to 9 ms. The mean had the time of both, and the number of those that began in the window.
#[test]
fn the_mean_of_waits_is_of_those_that_are_counted() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch =
        |(at, new, old): (u64, u32, u32)| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4).at(t0 + at);
    let mut records = vec![
        Process::new(40, "app.exe").rec(P8, 4, process::DC_START).at(t0 + 1),
        Thread { pid: 40, tid: 44, ..Thread::default() }.rec(P8, 3, thread::DC_START).at(t0 + 2),
    ];
    let steps = [(10_000, 44, 0), (20_000, 0, 44), (60_000, 44, 0), (70_000, 0, 44), (90_000, 44, 0), (100_000, 0, 44)];
    records.extend(steps.map(switch));
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    let waits = |more: &[&str]| {
        let text = run(&[&["cpu", path, "-q", "--preset", "waits", "--format", "csv"], more].concat()).out;
        let row = text.lines().find(|line| line.starts_with("app.exe")).unwrap_or_else(|| panic!("{text}"));
        row.split(',').skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(waits(&["--from", "0.004", "--to", "0.0095"]), ["1", "4000000", "2000000"]);
    assert_eq!(waits(&["--from", "0.004", "--to", "0.005"]), ["0", "1000000", ""]);
    assert_eq!(waits(&["--from", "0.001", "--to", "0.0095"]), ["2", "6000000", "3000000"]);
}

/// A loop sets one mark in each round: the window takes the first, and says so.
#[test]
fn marks_whose_text_occurs_several_times_are_told() {
    for (command, trace, begin) in [
        (&["cpu"][..], "cpu-compressed.etl", "work-start"),
        (&["cpu", "--preset", "sampling"], "cpu-compressed.etl", "work-start"),
        (&["memory"], "faults-x86.etl", "work-start"),
        (&["faults"], "faults-x86.etl", "work-start"),
        (&["allocations"], "alloc-x86.etl", "work-start"),
        (&["stacks"], "cpu-compressed.etl", "work-start"),
        (&["events", "--rows", "--head", "1"], "cpu-compressed.etl", "work-start"),
        (&["refset"], "refset-small.etl", "RefSetTraceStart"),
    ] {
        let told = |from: &str| {
            let ran = run(&[command, &[trace, "--from", from, "--format", "csv"]].concat());
            assert!(ran.code == 0 || ran.err.contains("no mark matches"), "{command:?} {trace}: {ran:?}");
            ran.err.lines().find(|line| line.contains("marks match")).map(str::to_owned)
        };
        let both = format!("{}*", &begin[..4]);
        assert_eq!(told(begin), None, "{command:?} {trace}");
        let line = told(&both).unwrap_or_else(|| panic!("{command:?} {trace} {both}"));
        assert!(line.contains(&format!("2 marks match \"{both}\" (at ")), "{line}");
        assert!(line.contains("the window begins with the first of them; name another one by its time"), "{line}");
    }
}
