//! `pfnset cpu` where ready records are missing, or name threads that are not there; and where switches are missing beside them.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf::sample;
use etl_writer::payloads::thread::{Switch, Thread, ready};
use etl_writer::{Rec, Session, Trace, file_of};
use serde_json::Value;

/// Thread 44 runs forty times on the only processor, each time 0.1 ms after it was readied, where that is logged. `more` is readied, and no
/// other record names it.
fn doubts(is_logged: impl Fn(u64) -> bool, more: Option<u32>) -> (Vec<String>, String) {
    doubts_beside(is_logged, more, Vec::new())
}

/// The same with more records, which have no time.
fn doubts_beside(is_logged: impl Fn(u64) -> bool, more: Option<u32>, others: Vec<Rec>) -> (Vec<String>, String) {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let thread = Thread { pid: 4, tid: 44, ..Thread::default() }.rec(P8, 4, 0x0503);
    let mut records = vec![thread.at(t0 + 10)];
    for n in 1..=40 {
        let begin = t0 + 10_000 * n;
        records.extend(is_logged(n).then(|| ready(P8, 44, 0, 0, 0).at(begin).by(0, 0)));
        records.extend([switch(44, 0).at(begin + 1000), switch(0, 44).at(begin + 3000)]);
    }
    records.extend(more.map(|thread| ready(P8, thread, 0, 0, 0).at(t0 + 55_000).by(0, 0)));
    records.extend(others.into_iter().zip(0..).map(|(record, number)| record.at(t0 + 60_000 + number)));
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
    let codes = json["doubts"].as_array().expect("doubts").iter();
    let codes = codes.filter_map(|doubt| doubt["code"].as_str()).map(str::to_owned).collect();
    let budget = "[[budget]]\nname = \"ready\"\nanalysis = \"cpu\"\nmeasure = \"ready_ms\"\nmax = \"9 s\"\n";
    let budgets = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(budgets.path(), budget).expect("a file");
    let checked = run(&["check", path, "--budgets", budgets.path().to_str().expect("UTF-8"), "--format", "json"]);
    let checked: Value = serde_json::from_str(&checked.out).expect("JSON");
    (codes, checked["traces"][0]["budgets"][0]["verdict"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn ready_records_that_are_missing_are_told_and_judged() {
    assert_eq!(doubts(|_| true, None), (vec![], "pass".to_owned()));
    // Four of forty are no more than a tenth, as at the ends of a trace.
    assert_eq!(doubts(|n| n > 4, None), (vec![], "pass".to_owned()));
    assert_eq!(doubts(|n| n % 2 == 0, None), (vec!["wakeups_missing".to_owned()], "invalid".to_owned()));
}

/// How long a thread was ready at first is not known without its start.
#[test]
fn starts_of_threads_that_are_missing_are_told_and_judged() {
    let thread = |tid: u32, hook: u16| Thread { pid: 4, tid, ..Thread::default() }.rec(P8, 4, hook);
    let started = (0..5).flat_map(|number| [0x0501, 0x0502].map(|hook| thread(100 + 4 * number, hook))).collect();
    assert_eq!(doubts_beside(|_| true, None, started), (vec![], "pass".to_owned()));
    let ended = (0..5).map(|number| thread(100 + 4 * number, 0x0502)).collect();
    let missing = vec!["thread_starts_missing".to_owned()];
    assert_eq!(doubts_beside(|_| true, None, ended), (missing, "invalid".to_owned()));
}

/// It stood in the ready queue to the end.
#[test]
fn a_ready_record_of_a_thread_that_never_was_is_told() {
    assert_eq!(doubts(|_| true, Some(7777)), (vec!["readied_unknown".to_owned()], "pass".to_owned()));
}

/// Thread 44 runs and waits, as `first` other threads were readied before the first switch and nothing else is known of them.
fn queue_after(first: u32) -> (f64, usize) {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let others =
        (0..first).map(|number| ready(P8, 100 + 4 * number, 0, 0, 0).at(t0 + 100 + u64::from(number)).by(0, 0));
    let runs = (1..=40).flat_map(|n| [switch(44, 0).at(t0 + 10_000 * n), switch(0, 44).at(t0 + 10_000 * n + 3000)]);
    let file = file_of(&Trace::new(session).push_all(others.chain(runs)).finish());
    let path = file.path().to_str().expect("UTF-8");
    let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
    let warnings = json["warnings"].as_array().expect("warnings").iter().filter_map(Value::as_str);
    let told = warnings.filter(|text| text.contains("before the first context switch")).count();
    (json["queue"]["mean"].as_f64().expect("a mean"), told)
}

#[test]
fn threads_readied_long_before_the_first_switch_are_in_no_queue() {
    assert_eq!(queue_after(10), (10.0, 0));
    assert_eq!(queue_after(11), (0.0, 1));
}

/// Thread 44 runs forty times, is readied before each, and is sampled while it runs; these switches are there.
fn with_switches(is_there: impl Fn(u64) -> bool) -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let thread = Thread { pid: 4, tid: 44, ..Thread::default() }.rec(P8, 4, 0x0503);
    let runs = (1..=40).flat_map(|n| {
        let begin = t0 + 10_000 * n;
        let switches = is_there(n).then(|| [switch(44, 0).at(begin + 1000), switch(0, 44).at(begin + 3000)]);
        let sampled = sample(P8, 0xffff_f800_0000_0000, 44, 0).at(begin + 2000);
        [ready(P8, 44, 0, 0, 0).at(begin).by(0, 0), sampled].into_iter().chain(switches.into_iter().flatten())
    });
    file_of(&Trace::new(session).push_all([thread.at(t0 + 10)].into_iter().chain(runs)).finish())
}

/// A third of the switches was gone and budgets of time passed: the window ended with the last one.
#[test]
fn switches_that_are_missing_are_told_and_judged() {
    let says = |is_there: fn(u64) -> bool| {
        let file = with_switches(is_there);
        let path = file.path().to_str().expect("UTF-8");
        let budget = "[[budget]]\nname = \"t\"\nanalysis = \"cpu\"\nmax = \"9 s\"\n";
        let budgets = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(budgets.path(), budget).expect("a file");
        let checked = run(&["check", path, "--budgets", budgets.path().to_str().expect("UTF-8"), "--format", "json"]);
        let checked: Value = serde_json::from_str(&checked.out).expect("JSON");
        let verdict = checked["traces"][0]["budgets"][0]["verdict"].as_str().unwrap_or_default().to_owned();
        let told: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
        let mut doubts = told["doubts"].as_array().expect("doubts").iter();
        let missing = doubts.find(|doubt| doubt["code"] == "switches_missing");
        let missing = missing.and_then(|doubt| doubt["text"].as_str()).map(str::to_owned);
        (verdict, missing.unwrap_or_default())
    };
    assert_eq!(says(|_| true), ("pass".to_owned(), String::new()));
    let (verdict, warning) = says(|n| n < 28);
    assert!(verdict == "invalid" && warning.starts_with("threads are readied for 12.7"), "{verdict} {warning}");
    let (verdict, warning) = says(|n| n > 12);
    assert!(
        verdict == "invalid" && warning.starts_with("threads are readied for 12.100 ms before"),
        "{verdict} {warning}"
    );
    let (verdict, warning) = says(|n| !(10..=20).contains(&n));
    let of_samples = "11 of 40 samples are of another thread than the one that ran by the context switches";
    assert!(verdict == "invalid" && warning.starts_with(of_samples), "{verdict} {warning}");
}

/// A ready record right after the last switch is the last one of each healthy trace: in a window of microseconds it was long.
#[test]
fn windows_are_told_of_missing_switches_where_they_reach_them() {
    let told = |is_there: fn(u64) -> bool, window: &[&str]| {
        let file = with_switches(is_there);
        let ran = run(&[&["cpu", file.path().to_str().expect("UTF-8"), "--format", "json", "-q"], window].concat());
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        json["doubts"].as_array().expect("doubts").iter().any(|doubt| doubt["code"] == "switches_missing")
    };
    // The last ready record is 0.7 ms after the last switch, of 38 ms.
    assert!(!told(|n| n < 40, &["--from", "0.039", "--to", "0.0393"]));
    let missing = |n| n < 28;
    assert!(told(missing, &[]) && told(missing, &["--from", "0.02", "--to", "0.035"]));
    assert!(!told(missing, &["--from", "0.01", "--to", "0.02"]));
}

/// Who ran before the first switch was made of the thread that it stops, without a word; after the last one a warning said so.
#[test]
fn a_window_from_before_the_first_switch_is_told() {
    let file = with_switches(|n| n > 12);
    let path = file.path().to_str().expect("UTF-8");
    let codes = |from: &[&str]| {
        let ran = run(&[&["cpu", path, "--format", "json", "-q"], from].concat());
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        json["doubts"].as_array().expect("doubts").iter().any(|doubt| doubt["code"] == "window_before_switches")
    };
    assert_eq!([codes(&["--from", "0"]), codes(&[])], [true, false]);
}
