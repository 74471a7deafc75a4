//! Budgets of processor time: values are those of `cpu`.

use crate::check_faults::check;
use crate::cpu_stacks::known;
use crate::program::{out, run};
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf;
use etl_writer::payloads::thread::Switch;
use etl_writer::{Rec, Session, Trace, file_of};
use serde_json::{Value, json};

fn budget(name: &str, measure: &str, rest: &str) -> String {
    format!("[[budget]]\nname = \"{name}\"\nanalysis = \"cpu\"\nmeasure = \"{measure}\"\n{rest}\n")
}

fn rows(trace: &str, more: &[&str]) -> Vec<Value> {
    let json: Value =
        serde_json::from_str(&out(&[&["cpu", trace, "-q", "--format", "json"], more].concat())).expect("JSON");
    json["rows"].as_array().expect("rows").clone()
}

fn nanos(row: &Value, key: &str) -> u64 {
    row[key].as_u64().expect("a number")
}

#[test]
fn budgets_of_processor_time() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let rows = |more: &[&str]| rows(trace, more);
    let by_function = rows(&["--group-by", "function", "--where", "process=!Idle (0)"]);
    let all: u64 = by_function.iter().map(|row| nanos(row, "cpu_ns")).sum();
    let known = by_function.iter().find(|row| row["function"].as_str().is_some_and(|name| name.starts_with("lib.dll")));
    let known = known.expect("a function");
    let (function, own) = (known["function"].as_str().expect("a text"), nanos(known, "cpu_ns"));
    let of_function = format!("where.function = \"{function}\"\nwatch = \"100 %\"\n");
    let text = [
        budget("all", "cpu_ms", &format!("max = \"{} ns\"", all + by_function.len() as u64)),
        budget("less", "cpu_ms", "max = \"0.001\""),
        budget("share", "cpu_ms", "where.module = \"lib.dll\"\nmax = \"100 %\""),
        budget("function", "cpu_ms", &format!("{of_function}max = \"10 s\"")),
        budget("waits", "waiting_ms", "max = \"1 s\""),
        budget("nobody", "cpu_ms", "where.process = \"nobody.exe\"\nmax = \"1\""),
        budget("idle", "cpu_ms", "where.process = \"Idle*\"\nmax = \"0\""),
        budget("processor", "cpu_ms", "where.processor = 0\nmax = \"10 s\""),
    ]
    .concat();
    let (_, results) = check(trace, &text);
    let of = |name: &str, key: &str| {
        results.iter().find(|result| result["name"] == name).map(|result| result[key].clone()).unwrap_or_default()
    };
    let ms = |name: &str| of(name, "value").as_f64().unwrap_or_else(|| panic!("{name}: {}", of(name, "reason")));
    // Rows are rounded down one by one, sums once.
    assert!((ms("all") - all as f64 / 1e6).abs() < 1e-4, "{} {all}", ms("all"));
    // As a condition a function is anywhere in the stack: as much as in its own row, or more.
    assert!(ms("function") >= own as f64 / 1e6 && ms("function") <= ms("all"), "{} {own}", ms("function"));
    assert_eq!((of("less", "verdict"), of("all", "unit")), (json!("fail"), json!("ms")));
    assert_eq!((of("nobody", "verdict"), of("idle", "verdict")), (json!("no match"), json!("fail")));
    // What was asked for alone is counted, else idle threads are in no sum: as in the tables of `cpu`.
    let idle: u64 = rows(&["--where", "process=Idle"]).iter().map(|row| nanos(row, "cpu_ns")).sum();
    assert!(idle > 0 && (ms("idle") - idle as f64 / 1e6).abs() < 1e-4, "{} {idle}", ms("idle"));
    let first = &rows(&["--group-by", "processor", "--where", "processor=0"])[0];
    assert!((ms("processor") - nanos(first, "cpu_ns") as f64 / 1e6).abs() < 1e-4, "{} {first}", ms("processor"));
    assert!(of("function", "warnings").to_string().contains("have no stack"), "{}", of("function", "warnings"));
    // No context switch was recorded here, and nothing is known.
    let (code, results) = check("resident-small.etl", &text);
    assert!(code == 3 && results.iter().all(|result| result["verdict"] == "invalid"), "{results:?}");
}

/// Who ran for most of the time is not in these traces: a budget of 10 s passed, and another one failed by a flipped bit.
#[test]
fn what_ran_is_invalid_where_the_chain_of_switches_is_broken() {
    let text = budget("all", "cpu_ms", "max = \"10 s\"");
    let (code, results) = check("stacks-keys.etl", &text);
    assert_eq!((code, &results[0]["verdict"]), (3, &json!("invalid")), "{}", results[0]);
    let reason = results[0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("the chain of context switches is broken: "), "{reason}");
    let (code, results) = check("cpu-compressed.etl", &text);
    assert_eq!((code, &results[0]["verdict"]), (0, &json!("pass")), "{}", results[0]);
}

/// Without ReadyThread a wait lasts until the thread runs: another quantity, which is said.
#[test]
fn waits_without_ready_records_are_told() {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let switch = |n: u64, old, new| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(begin + 1000 * n);
    let records = vec![switch(1, 44, 0), switch(2, 0, 44), switch(3, 44, 0)];
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let (_, results) = check(file.path().to_str().expect("UTF-8"), &budget("waits", "waiting_ms", "max = \"9 s\""));
    assert_eq!(results[0]["verdict"], "pass");
    assert!(results[0]["warnings"].to_string().contains("no record says when threads became ready"), "{}", results[0]);
}

/// A trace of one processor, on which thread 44 runs from the first to the second of these ticks.
fn switches(from: u64, to: u64, more: &[Rec]) -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let switch = |tick: u64, old, new| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(begin + tick);
    let mut records = vec![switch(from, 0, 44)];
    records.extend(more.iter().cloned().map(|record| record.at(begin + (from + to) / 2)));
    records.push(switch(to, 44, 0));
    file_of(&Trace::new(session).push_all(records).finish())
}

/// A flipped bit in the begin of a DPC took the time of all threads before it, and nothing said so.
#[test]
fn an_interrupt_cannot_begin_before_time() {
    let cpu = |more: &[Rec]| {
        let file = switches(1000, 9000, more);
        rows(file.path().to_str().expect("UTF-8"), &["--where", "process=!Idle*"])
            .iter()
            .map(|row| nanos(row, "cpu_ns"))
            .sum()
    };
    let alone: u64 = cpu(&[]);
    assert!(alone > 0);
    for begin in [0xf600_0000_0000_0000, u64::MAX, i64::MAX as u64] {
        assert_eq!(cpu(&[perf::dpc(P8, 0x0f44, begin, 0x1000)]), alone, "{begin:#x}");
    }
}

/// A run that ended early has grown in nothing.
#[test]
fn growth_of_sums_over_other_times_is_said() {
    let (long, short) = (switches(1000, 900_000, &[]), switches(1000, 90_000, &[]));
    let folder = tempfile::tempdir().expect("a folder");
    let [budgets, saved] = ["budgets.toml", "base.json"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&budgets, budget("all", "cpu_ms", "max_growth = \"10 %\"")).expect("a file");
    let [long, short] = [&long, &short].map(|file| file.path().to_str().expect("UTF-8"));
    run(&["check", long, "--budgets", &budgets, "--save-baseline", &saved, "-q"]);
    for (trace, baseline, is_said) in [(short, long, true), (short, &*saved, true), (long, &*saved, false)] {
        let ran = run(&["check", trace, "--budgets", &budgets, "--baseline", baseline, "-q", "--format", "json"]);
        let said = ran.out.contains("sums grow with the time");
        assert_eq!((ran.code, said), (0, is_said), "{trace} {baseline}: {ran:?}");
    }
}

/// Without records of interrupts threads are charged with their time, and growth was judged between both.
#[test]
fn time_with_and_without_interrupts_is_not_compared() {
    let dpc = perf::dpc(P8, 0x0f44, Session::windows10().t0 + 4000, 0x1000);
    let (with, without) = (switches(1000, 9000, &[dpc]), switches(1000, 9000, &[]));
    let folder = tempfile::tempdir().expect("a folder");
    let budgets = folder.path().join("budgets.toml").display().to_string();
    std::fs::write(&budgets, budget("all", "cpu_ms", "max = \"10 s\"\nmax_growth = \"1000 %\"")).expect("a file");
    let [with, without] = [&with, &without].map(|file| file.path().to_str().expect("UTF-8"));
    for (trace, baseline, verdict) in
        [(without, with, "invalid"), (with, without, "invalid"), (without, without, "pass")]
    {
        let ran = run(&["check", trace, "--budgets", &budgets, "--baseline", baseline, "-q", "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        let of = &json["traces"][0]["budgets"][0];
        assert_eq!(of["verdict"], verdict, "{of}");
        assert_eq!(
            of["reason"].to_string().contains("what it tells apart counts elsewhere"),
            verdict == "invalid",
            "{of}"
        );
        assert_eq!(of["warnings"].to_string().contains("no event of the keyword DPC is in the trace (time in deferred procedure calls: threads are charged with it)"), trace == without, "{of}");
    }
}
