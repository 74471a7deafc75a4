//! `pfnset cpu` and its budgets where no event tells of which process threads are, or how it is called.

use crate::check_faults::check;
use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Switch, Thread};
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;

/// Thread 44 of app.exe runs for 1 ms, then thread 48 for the rest of 10 ms but for the idle thread's 1 ms at the end.
fn trace(tells_second: bool, tells_name: bool, first_runs_until: u64) -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let rundown = |tid| Thread { pid: 40, tid, ..Thread::default() }.rec(P8, 3, thread::DC_START);
    let other = Process::new(4, "System").rec(P8, 4, process::DC_START);
    let mut records = vec![other.at(t0 + 1)];
    records.extend(tells_name.then(|| Process::new(40, "app.exe").rec(P8, 4, process::DC_START).at(t0 + 2)));
    records.push(rundown(44).at(t0 + 3));
    records.extend(tells_second.then(|| rundown(48).at(t0 + 4)));
    let steps = [(10_000, 44, 0), (first_runs_until, 48, 44), (100_000, 0, 48), (110_000, 44, 0)];
    records.extend(steps.map(|(at, new, old)| switch(new, old).at(t0 + at)));
    file_of(&Trace::new(session).push_all(records).finish())
}

fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().expect("UTF-8")
}

/// Codes of what makes numbers doubtful, and the exit code with `--strict`.
fn told(file: &tempfile::NamedTempFile) -> (Vec<String>, i32) {
    let ran = run(&["cpu", path(file), "--strict", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    let is_about_processes = |code: &&str| code.contains("processes_unknown");
    let doubts = json["doubts"].as_array().expect("doubts").iter();
    let codes = doubts.filter_map(|doubt| doubt["code"].as_str()).filter(is_about_processes);
    (codes.map(str::to_owned).collect(), ran.code)
}

#[test]
fn time_of_threads_of_nobody_is_told() {
    assert_eq!(told(&trace(true, true, 20_000)), (vec![], 0));
    assert_eq!(told(&trace(false, true, 20_000)), (vec!["processes_unknown".to_owned()], 3));
    assert_eq!(told(&trace(true, false, 20_000)), (vec!["processes_unknown".to_owned()], 3));
    // 0.5 ms of 9 are a note, and 0.001 ms are not worth a word.
    let notes = |file: &tempfile::NamedTempFile| {
        let ran = run(&["cpu", path(file), "--strict", "--format", "json"]);
        (ran.code, ran.err.contains("are of threads of which no event tells the process"))
    };
    assert_eq!(notes(&trace(false, true, 95_000)), (0, true));
    assert_eq!(notes(&trace(false, true, 99_990)), (0, false));
    let ran = run(&["cpu", path(&trace(false, true, 20_000)), "-q", "--format", "json"]);
    assert!(
        ran.err.contains("8.000 ms (88.9 %) of the time of threads are of threads of which no event"),
        "{}",
        ran.err
    );
}

fn verdicts(file: &tempfile::NamedTempFile, budgets: &[&str]) -> Vec<String> {
    let budget = |(at, text): (usize, &&str)| format!("[[budget]]\nname = \"{at}\"\nanalysis = \"cpu\"\n{text}\n");
    let text: String = budgets.iter().enumerate().map(budget).collect();
    let (_, results) = check(path(file), &text);
    results.iter().map(|result| result["verdict"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A budget of 4 ms passed with 1 ms of the process's 9.
#[test]
fn a_process_can_have_had_the_time_of_threads_of_nobody() {
    let app = "where.process = \"app.exe\"\n";
    let budgets = [
        &*format!("{app}max = \"4\""),
        &format!("{app}max = \"9.5\""),
        &format!("{app}max = \"0.5\""),
        &format!("{app}max = \"50 %\""),
        &format!("{app}min = \"4\""),
        &format!("{app}min = \"0.5\""),
        &format!("{app}min = \"9.5\""),
        "max = \"10\"\nwatch = \"100 %\"",
        "where.process = \"Idle*\"\nmax = \"4\"",
        "where.pid = 44444\nmax = \"4\"\noptional = true",
        &format!("{app}where.thread = 44\nmax = \"4\""),
        &format!("{app}where.processor = 0\nmax = \"4\""),
        "where.processor = 0\nmax = \"10\"\nwatch = \"100 %\"",
    ];
    let found = verdicts(&trace(false, true, 20_000), &budgets);
    let wanted = [
        "invalid", "pass", "fail", "invalid", "invalid", "pass", "fail", "pass", "pass", "no match", "pass", "invalid",
        "pass",
    ];
    assert_eq!(found, wanted);
    let file = trace(true, true, 20_000);
    assert_eq!(verdicts(&file, &budgets[..5]), ["fail", "watch", "fail", "fail", "pass"]);
}

/// What it ran under another name than `Unknown (40)` is in no event: an optional budget of a name passed as not there.
#[test]
fn a_process_without_a_name_can_be_the_one_of_an_optional_budget() {
    let optional = |rest: &str| format!("{rest}\noptional = true");
    let budgets = [
        optional("where.process = \"app.exe\"\nmax = \"4\""),
        optional("where.process = \"app.exe\"\nmax = \"9.5\""),
        optional("where.pid = 44\nmax = \"4\""),
        "where.process = \"app.exe\"\nmax = \"4\"".to_owned(),
    ];
    let budgets: Vec<&str> = budgets.iter().map(String::as_str).collect();
    assert_eq!(verdicts(&trace(true, false, 20_000), &budgets), ["invalid", "no match", "no match", "no match"]);
    assert_eq!(verdicts(&trace(true, true, 20_000), &budgets[2..3]), ["no match"]);
}
