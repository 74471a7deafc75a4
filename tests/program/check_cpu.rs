//! Budgets of processor time: values are those of `cpu`.

use crate::check_faults::check;
use crate::cpu_stacks::known;
use crate::program::{out, run};
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{Switch, Thread, ready};
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
pub fn switches(from: u64, to: u64, more: &[Rec]) -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let switch = |tick: u64, old, new| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(begin + tick);
    let mut records = vec![switch(from, 0, 44)];
    records.extend(more.iter().cloned().map(|record| record.at(begin + (from + to) / 2)));
    records.push(switch(to, 44, 0));
    file_of(&Trace::new(session).push_all(records).finish())
}

/// Idle for eight ninths of the time: shares were of the time of the other threads, so a min of 100 % passed, and a saved
/// baseline was told to contradict itself.
#[test]
fn a_share_of_idle_time_is_one_of_all_time() {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let switch = |tick: u64, old, new| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(begin + tick);
    let process = Process::new(4, "System").rec(P8, 4, process::DC_START).at(begin + 1);
    let thread = Thread { pid: 4, tid: 44, ..Thread::default() }.rec(P8, 4, 0x0503).at(begin + 2);
    let records = [process, thread, switch(1000, 44, 0), switch(9000, 0, 44), switch(10_000, 44, 0)];
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    let idle = |name: &str, limit: &str| budget(name, "cpu_ms", &format!("where.process = \"Idle*\"\n{limit}"));
    let shares = [idle("above", "min = \"60 %\""), idle("below", "min = \"100 %\"")].concat();
    let (_, results) = check(trace, &shares);
    let verdicts: Vec<&Value> = results.iter().map(|result| &result["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "fail"], "{results:?}");
    // They never wait, so this would always be met.
    let (_, results) = check(trace, &budget("waits", "waiting_ms", "where.process = \"Idle*\"\nmax = \"0\""));
    let reason = results[0]["reason"].to_string();
    assert!(results[0]["verdict"] == "invalid" && reason.contains("these never wait"), "{reason}");
    let text = idle("grown", "max_growth = \"1 %\"");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("budgets.toml"), &text).expect("a file");
    run(&["check", trace, "--budgets", &path("budgets.toml"), "--save-baseline", &path("base.json"), "-q"]);
    let found = against(&path("base.json"), trace, &text);
    assert_eq!(found[0], ("pass".to_owned(), String::new()), "{found:?}");
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
    // 1 is before the trace, as any begin that one flipped bit makes smaller: a budget passed for it.
    for begin in [0xf600_0000_0000_0000, u64::MAX, i64::MAX as u64, 1] {
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

/// Each of both is in the trace, and no process is both.
#[test]
fn conditions_on_processes_that_no_process_meets_together_are_no_match() {
    let text = [
        budget("both", "cpu_ms", "where.process = \"burn.exe\"\nwhere.pid = 1468\nmax = \"1\""),
        budget("other", "cpu_ms", "where.command_line = \"*svchost*\"\nwhere.process = \"burn.exe\"\nmax = \"1\""),
        budget("own", "cpu_ms", "where.process = \"burn.exe\"\nwhere.pid = 996\nmax = \"10 s\""),
    ]
    .concat();
    let (code, results) = check("cpu-compressed.etl", &text);
    let verdicts: Vec<&Value> = results.iter().map(|result| &result["verdict"]).collect();
    assert_eq!((code, verdicts), (1, vec![&json!("no match"), &json!("no match"), &json!("pass")]), "{results:?}");
}

/// One bad record of a million made budgets invalid that every other command answers with a note; most of them make numbers wrong
/// everywhere.
#[test]
fn records_that_do_not_fit_are_judged_as_by_cpu() {
    let bad = Switch::default().rec(P8, 4).cut_payload(4);
    let text = budget("all", "cpu_ms", "max = \"10 s\"");
    let judged = |bad: &[Rec]| {
        let file = switches(1000, 9000, bad);
        let trace = file.path().to_str().expect("UTF-8");
        let cpu = run(&["cpu", trace, "-q", "--strict", "--format", "json"]);
        (check(trace, &text), cpu)
    };
    let ((code, results), cpu) = judged(std::slice::from_ref(&bad));
    assert_eq!((code, &results[0]["verdict"], cpu.code), (0, &json!("pass"), 0), "{} {}", results[0], cpu.err);
    let ((code, results), cpu) = judged(&[bad.clone(), bad.clone(), bad]);
    assert_eq!((code, &results[0]["verdict"], cpu.code), (3, &json!("invalid"), 3), "{}", results[0]);
    assert!(cpu.err.contains("do not fit their layout and are left out: what they tell"), "{}", cpu.err);
}

/// A processor without any switch may have run one thread all the time: a budget that this time could exceed passed.
#[test]
fn time_of_a_processor_without_switches_can_take_a_value_above_its_limit() {
    let trace = "cpu-compressed.etl";
    let own = "where.process = \"explorer.exe\"\n";
    let text = [
        budget("below", "cpu_ms", "max = \"900\""),
        budget("above", "cpu_ms", "max = \"700\""),
        budget("far", "cpu_ms", "max = \"1.1 s\""),
        budget("least", "cpu_ms", "min = \"700\""),
        budget("share", "cpu_ms", &format!("{own}max = \"20 %\"")),
        budget("large share", "cpu_ms", &format!("{own}max = \"60 %\"")),
        budget("whole", "cpu_ms", "max = \"100 %\"\nwatch = \"100 %\""),
        // What the processor without switches did is in no value of another one.
        budget("another", "cpu_ms", "where.processor = 0\nmax = \"300\""),
        budget("itself too", "cpu_ms", "where.processor = \"0;5\"\nmax = \"300\""),
    ]
    .concat();
    let (_, results) = check(trace, &text);
    let verdicts: Vec<&str> = results.iter().filter_map(|result| result["verdict"].as_str()).collect();
    let wanted = ["invalid", "fail", "pass", "watch", "invalid", "pass", "watch", "pass", "invalid"];
    assert_eq!(verdicts, wanted, "{results:#?}");
    assert!(results[0]["reason"].as_str().is_some_and(|text| text.contains("is unknown for 299.")), "{}", results[0]);
}

/// What threads did there, and what they waited for next, is in no record: a budget of waits passed with what the others tell.
#[test]
fn waits_are_unknown_where_a_processor_has_no_switches() {
    let text = ["waiting_ms", "ready_ms"].map(|measure| budget(measure, measure, "max = \"9 s\""));
    let (code, results) = check("cpu-compressed.etl", &text.concat());
    assert_eq!(code, 3, "{results:?}");
    for result in &results {
        let reason = result["reason"].as_str().unwrap_or_default();
        assert!(result["verdict"] == "invalid" && reason.contains("no context switch of processor "), "{result}");
    }
}

/// Verdict and reason of each budget of a trace against a baseline.
pub fn against(baseline: &str, trace: &str, budgets: &str) -> Vec<(String, String)> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), budgets).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["check", trace, "--budgets", path, "--baseline", baseline, "-q", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let text = |budget: &Value, key: &str| budget[key].as_str().unwrap_or_default().to_owned();
    let budgets = json["traces"][0]["budgets"].as_array().expect("budgets");
    budgets.iter().map(|budget| (text(budget, "verdict"), text(budget, "reason"))).collect()
}

/// The spread of a short and a long run is that of their lengths: a value of a short trace that failed beside one run was "in the spread".
#[test]
fn runs_of_other_lengths_make_no_spread() {
    let [short, long, now] = [9000, 30_000, 20_000].map(|to| switches(1000, to, &[]));
    let [short, long, now] = [&short, &long, &now].map(|file| file.path().to_str().expect("UTF-8"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let text = budget("all", "cpu_ms", "max_growth = \"5 %\"");
    std::fs::write(path("budgets.toml"), &text).expect("a file");
    let save = |runs: &[&str]| {
        let line = [&["check"][..], runs, &["--budgets", &path("budgets.toml"), "--save-baseline", &path("runs.json")]];
        run(&line.concat()).err
    };
    let says = format!("{short} is shorter than {long} by more than a tenth, and sums grow with the time");
    let told = save(&[short, long]);
    assert!(told.contains(&says), "{told}");
    let found = against(&path("runs.json"), now, &text);
    assert_eq!(found[0].0, "fail", "{found:?}");
    assert!(!save(&[long, long]).contains("is shorter than"));
    let table = run(&["check", now, "--budgets", &path("budgets.toml"), "--baseline", &path("runs.json")]).out;
    assert!(table.contains("it spans 0.002 s and the baseline 0.003 s"), "{table}");
}

/// `max` was invalid for time that nobody knows the threads of, and `max_growth` of the same value passed.
#[test]
fn unknown_time_can_be_growth_too() {
    let text = ["0", "299", "300", "900"].map(|ms| budget(ms, "cpu_ms", &format!("max_growth = \"{ms}\"")));
    let found = against("cpu-compressed.etl", "cpu-compressed.etl", &text.concat());
    let verdicts: Vec<&str> = found.iter().map(|(verdict, _)| verdict.as_str()).collect();
    assert_eq!((verdicts[0], verdicts[1]), ("invalid", "invalid"), "{found:?}");
    assert!(verdicts[2] != "invalid" && verdicts[3] != "invalid", "{found:?}");
    assert!(
        found[0].1.contains("is unknown for 299.9") && found[0].1.contains("and the baseline with max_growth is"),
        "{found:?}"
    );
}

/// Without ReadyThread waits last longer, so growth against such a recording was too small.
#[test]
fn waits_that_end_elsewhere_are_not_compared() {
    let files = [switches(1000, 9000, &[ready(P8, 44, 0, 0, 0)]), switches(1000, 9000, &[])];
    let [with, without] = files.each_ref().map(|file| file.path().to_str().expect("UTF-8"));
    let text = budget("waits", "waiting_ms", "max_growth = \"10 s\"");
    let says = "recorded with the keyword ReadyThread";
    for (baseline, trace, is_judged) in
        [(without, with, false), (with, without, false), (with, with, true), (without, without, true)]
    {
        let found = against(baseline, trace, &text);
        assert_eq!((found[0].0 == "invalid", found[0].1.contains(says)), (!is_judged, !is_judged), "{found:?}");
    }
}

/// A warning said that lengths of time are wrong, and budgets of them passed beside it.
#[test]
fn times_that_are_wrong_are_not_judged() {
    let mut bytes = std::fs::read(crate::program::fixtures().join("faults-x86.etl")).expect("a trace");
    let frequency: [u8; 8] = 2_337_949u64.to_le_bytes();
    let at = bytes.windows(8).position(|found| found == frequency).expect("the clock's frequency");
    bytes[at..at + 8].copy_from_slice(&(2_337_949u64 / 10).to_le_bytes());
    let file = tempfile::Builder::new().suffix(".etl").tempfile().expect("a file");
    std::fs::write(file.path(), bytes).expect("a file");
    let of_faults = |name: &str, measure| {
        format!("[[budget]]\nname = \"{name}\"\nanalysis = \"faults\"\nmeasure = \"{measure}\"\nmin = \"1\"\n")
    };
    let text = [of_faults("waits", "fault_wait_ms"), of_faults("number", "hard_faults")].concat();
    let (code, results) = check(file.path().to_str().expect("UTF-8"), &text);
    assert_eq!((code, &results[0]["verdict"], &results[1]["verdict"]), (3, &json!("invalid"), &json!("pass")));
    assert!(
        results[0]["reason"].as_str().is_some_and(|text| text.contains("THE CLOCK IS IMPOSSIBLE")),
        "{}",
        results[0]
    );
}

/// Delays of threads that began are missing without records of threads: growth of them was judged against a trace that has them.
#[test]
fn ready_delays_without_records_of_threads_are_told() {
    let file = switches(1000, 9000, &[ready(P8, 44, 0, 0, 0)]);
    let (_, results) = check(file.path().to_str().expect("UTF-8"), &budget("ready", "ready_ms", "max = \"9 s\""));
    let says = "no record of threads is in the trace (keyword ProcessThread): ";
    assert!(results[0]["verdict"] == "pass" && results[0]["warnings"].to_string().contains(says), "{}", results[0]);
}

/// A part of all was taken of the time that is known: it failed and passed, though that of a processor without context switches can be in all.
#[test]
fn a_share_of_all_is_not_known_beside_a_silent_processor() {
    let trace = crate::program::fixtures().join("cpu-compressed.etl");
    let trace = trace.to_str().expect("UTF-8");
    let of = |name: &str, limit: &str| budget(name, "cpu_ms", &format!("where.process = \"System\"\n{limit}"));
    let budgets = [
        of("max", "max = \"4 %\""),
        of("min", "min = \"4.5 %\""),
        of("most", "max = \"50 %\""),
        of("least", "min = \"0.1 %\""),
        of("too much", "max = \"2 %\""),
        of("time", "min = \"1 ms\""),
    ];
    let (_, results) = check(trace, &budgets.concat());
    let verdicts: Vec<&str> = results.iter().map(|result| result["verdict"].as_str().expect("a text")).collect();
    assert_eq!(verdicts, ["invalid", "invalid", "pass", "pass", "fail", "pass"], "{results:?}");
    let reason = results[0]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("which threads ran is unknown for 299.949 ms in all, so max is 29.343 ms to 41.341 ms"),
        "{reason}"
    );
}
