//! Budgets by ids of threads and processes: an id means another one in another trace, and in another process.

use crate::check_cpu::against;
use crate::check_faults::check;
use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::memory::hard_fault;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Switch, Thread};
use etl_writer::{Put, Rec, Session, Trace, file_of, guid};
use serde_json::Value;
use tempfile::{NamedTempFile, TempDir};

/// A thread, its process, and how long it runs.
type Running = (u32, (u32, &'static str), u64);

const SYSTEM: (u32, &str) = (4, "System");
const A: (u32, &str) = (40, "a.exe");
const B: (u32, &str) = (48, "b.exe");

/// These threads run one after the other on one processor, as long as each says; the rest of 20,000 ticks it is idle. Each has a hard fault.
fn trace(threads: &[Running]) -> NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let mut records: Vec<Rec> = Vec::new();
    for (tid, (pid, name), _) in threads {
        records.push(Process::new(*pid, name).rec(P8, 4, process::DC_START).at(begin + 1));
        records.push(Thread { pid: *pid, tid: *tid, ..Thread::default() }.rec(P8, 3, thread::DC_START).at(begin + 2));
    }
    let switch = |at: u64, old, new| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(begin + at);
    let (mut now, mut old) = (1000, 0);
    for (tid, _, ticks) in threads.iter().filter(|(_, _, ticks)| *ticks > 0) {
        records.push(switch(now, old, *tid));
        records.push(hard_fault(P8, begin + now, 0, 0x10_0000, 0xffff_c001_0000_1000, *tid, 4096).at(begin + now + 10));
        (now, old) = (now + ticks, *tid);
    }
    records.extend([switch(now, old, 0), switch(21_000, 0, 4)]);
    file_of(&Trace::new(session).push_all(records).finish())
}

fn name(file: &NamedTempFile) -> &str {
    file.path().to_str().expect("UTF-8")
}

fn budget(analysis: &str, conditions: &str, limit: &str) -> String {
    format!("[[budget]]\nname = '{conditions}'\nanalysis = \"{analysis}\"\nwhere = {{ {conditions} }}\n{limit}\n")
}

fn texts<'v>(results: &'v [Value], key: &str) -> Vec<&'v str> {
    results.iter().map(|result| result[key].as_str().unwrap_or_default()).collect()
}

/// A thread that is another process's passed with 0, because the condition on it matched it there.
#[test]
fn a_thread_of_another_process_is_no_match() {
    let file = trace(&[(8, SYSTEM, 3000), (12, SYSTEM, 0), (88, A, 4000)]);
    let conditions = [
        "process = \"System\", thread = 88",
        "process = \"System\", thread = 8",
        // It is there and never ran.
        "process = \"System\", thread = 12",
        "pid = 4, thread = 88",
        "thread = 12",
        "process = \"System\", processor = 0, thread = 12",
    ];
    let text: String = conditions.iter().map(|conditions| budget("cpu", conditions, "max = \"9 s\"")).collect();
    let (code, results) = check(name(&file), &text);
    let verdicts = texts(&results, "verdict");
    assert_eq!((code, verdicts), (1, vec!["no match", "pass", "pass", "no match", "pass", "pass"]), "{results:#?}");
    let reason = texts(&results, "reason")[0];
    assert_eq!(reason, "thread \"88\" matches nothing of what process=System lets pass");
    let told = run(&["cpu", name(&file), "--where", "process=System", "--where", "thread=88"]);
    assert!(told.err.contains(reason), "{told:?}");
}

/// Verdicts and reasons of budgets against a trace, and against what was saved of these runs; what was said when it was saved.
fn compared(now: &NamedTempFile, runs: &[&NamedTempFile], text: &str) -> (Vec<(String, String)>, String) {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("budgets.toml"), text).expect("a file");
    let names: Vec<&str> = runs.iter().map(|run| name(run)).collect();
    let line = [&["check"], &names[..], &["--budgets", &path("budgets.toml"), "--save-baseline", &path("saved.json")]];
    let saved = run(&line.concat());
    (against(&path("saved.json"), name(now), text), saved.err)
}

/// One thread of a list was another process's, and another one was the same: growth was judged. What names no id was not.
#[test]
fn growth_of_a_list_of_threads_is_judged_id_by_id() {
    let before = trace(&[(8, SYSTEM, 3000), (120, A, 3000)]);
    let now = trace(&[(8, SYSTEM, 3000), (120, B, 3000)]);
    for analysis in ["cpu", "faults"] {
        let of = |patterns: &str| budget(analysis, &format!("thread = {patterns}"), "max_growth = \"3 %\"");
        let text = ["[\"8\", \"120\"]", "120", "8", "\"*\"", "\"*;!120\""].map(of).concat();
        let (of_saved, _) = compared(&now, &[&before], &text);
        for found in [against(name(&before), name(&now), &text), of_saved] {
            let verdicts: Vec<&str> = found.iter().map(|(verdict, _)| verdict.as_str()).collect();
            assert_eq!(verdicts, ["invalid", "invalid", "pass", "pass", "pass"], "{analysis}: {found:#?}");
            let says = "thread 120 is of a.exe (40) in the baseline and of b.exe (48) in the trace: ids of threads and heaps are those of one run";
            assert_eq!([&found[0].1, &found[1].1], [says, says]);
        }
    }
}

/// The median of two programs that had the same id was a baseline, and their spread excused growth.
#[test]
fn runs_of_other_processes_give_no_median() {
    let runs = [
        trace(&[(8, SYSTEM, 3000), (120, (40, "a.exe"), 3000)]),
        trace(&[(8, SYSTEM, 3000), (120, (40, "b.exe"), 5000)]),
    ];
    let [first, second] = [0, 1].map(|at: usize| name(&runs[at]));
    let of = |conditions: &str| budget("cpu", conditions, "max_growth = \"3 %\"");
    let text = ["process = 40", "pid = 40", "thread = [\"8\", \"120\"]", "thread = 8", "process = \"System\""]
        .map(of)
        .concat();
    let (found, err) = compared(&runs[1], &[&runs[0], &runs[1]], &text);
    let verdicts: Vec<&str> = found.iter().map(|(verdict, _)| verdict.as_str()).collect();
    assert_eq!(verdicts, ["invalid", "invalid", "invalid", "pass", "pass"], "{found:#?}");
    let of_process = format!("process id 40 is a.exe (40) in {first} and b.exe (40) in {second}: name the process");
    let of_thread = format!("thread 120 is of a.exe (40) in {first} and of b.exe (40) in {second}: ");
    assert_eq!(found[0].1, format!("the runs of the baseline differ: {of_process}"));
    assert!(found[2].1.contains(&of_thread), "{}", found[2].1);
    assert!(err.contains(&format!("its runs differ: {of_process}; with this baseline it is invalid")), "{err}");
    assert_eq!(err.matches("its runs differ").count(), 3, "{err}");
    // Runs of the same processes have a median.
    let (found, err) = compared(&runs[1], &[&runs[1], &trace(&[(8, SYSTEM, 3000), (120, (40, "b.exe"), 4000)])], &text);
    assert!(!err.contains("differ: ") && found.iter().all(|(verdict, _)| verdict != "invalid"), "{err} {found:#?}");
}

/// Blocks of heaps, each with the heap, the thread and the process that allocated it.
fn blocks(all: &[(u64, u32, u32)]) -> NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let class = guid("222962ab-6180-4b88-a825-346b75f2a24a");
    let processes = [A, B].map(|(pid, name)| Process::new(pid, name).rec(P8, 4, process::DC_START).at(begin + 1));
    let block = |(at, (heap, tid, pid)): (u64, &(u64, u32, u32))| {
        let payload = Put::new(P8).ptr(*heap).ptr(48).ptr(heap + 64).u32(3).done();
        Rec::full(P8, class, 33, 2, payload).by(*tid, *pid).at(begin + 1000 * at)
    };
    let all: Vec<Rec> = (1..).zip(all).map(block).collect();
    file_of(&Trace::new(session).push_all(processes).push_all(all).finish())
}

#[test]
fn growth_of_a_list_of_heaps_is_judged_id_by_id() {
    let before = blocks(&[(0x1000, 7, 40), (0x2000, 9, 40)]);
    let now = blocks(&[(0x1000, 7, 40), (0x2000, 9, 48)]);
    let of = |conditions: &str| budget("heap", conditions, "max_growth = \"3 %\"");
    let text = [
        "heap = [\"0x1000\", \"0x2000\"]",
        "heap = \"0x1000\"",
        "heap = \"0x*\"",
        "thread = [\"7\", \"9\"]",
        "thread = 7",
    ]
    .map(of);
    let (of_saved, _) = compared(&now, &[&before], &text.concat());
    for found in [against(name(&before), name(&now), &text.concat()), of_saved] {
        let verdicts: Vec<&str> = found.iter().map(|(verdict, _)| verdict.as_str()).collect();
        assert_eq!(verdicts, ["invalid", "pass", "pass", "invalid", "pass"], "{found:#?}");
        assert!(
            found[0].1.starts_with("heap 0x2000 is of a.exe (40) in the baseline and of b.exe (48) in the trace: ")
        );
        assert!(found[3].1.starts_with("thread 9 is of a.exe (40) in the baseline and of b.exe (48) in the trace: "));
    }
}

/// A number alone was taken, and a list of numbers was no list.
#[test]
fn lists_of_numbers_are_taken_as_lists_of_texts() {
    let value = |dimension: &str, patterns: &str| {
        let text = format!("[[budget]]\nname = \"a\"\nwhere.{dimension} = {patterns}\nmax = \"1 GiB\"\n");
        let folder = crate::check::folder(&text);
        let ran = crate::check::check(&folder, "resident-small.etl --budgets budgets.toml --format json");
        assert_eq!(ran.code, 0, "{dimension} {patterns}: {ran:?}");
        crate::check::json(&ran)["traces"][0]["budgets"][0]["value_pages"].as_u64()
    };
    for (dimension, numbers, texts) in [
        ("priority", "[1, 5]", "[\"1\", \"5\"]"),
        ("priority", "[1, \"5\"]", "\"1;5\""),
        ("pid", "[780, 99999]", "[\"780\", \"99999\"]"),
        ("cold", "[true, false]", "[\"true\", \"false\"]"),
    ] {
        let found = value(dimension, numbers);
        assert!(found > Some(0) && found == value(dimension, texts), "{dimension} {numbers}: {found:?}");
    }
    let folder = crate::check::folder("[[budget]]\nname = \"a\"\nwhere.pid = [1.5]\nmax = \"1 GiB\"\n");
    let ran = crate::check::check(&folder, "resident-small.etl --budgets budgets.toml");
    let says = "line 3, column 13: expected patterns: text, a whole number, true or false, or a list of these";
    assert!(ran.code == 2 && ran.err.contains(says), "{ran:?}");
}
