//! Traces of sessions without the keyword ProcessThread, or without an end rundown: what that makes of numbers is said.

use crate::check::{check, folder, json};
use crate::program::run;
use crate::recording::kept;
use crate::trust::{fixture, places, with};
use etl_writer::Ptr::P8;
use etl_writer::payloads::counters::working_sets;
use etl_writer::payloads::perf::sample;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread;
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;
use std::fs;

const PROCESSES: [u16; 8] = [0x0301, 0x0302, 0x0303, 0x0304, 0x0501, 0x0502, 0x0503, 0x0504];
const GROUP_MASKS: [u16; 2] = [0x0005, 0x0020];

/// The fixture with other hook ids in place of these, which no reader knows.
fn without(name: &str, hooks: &[u16]) -> Vec<u8> {
    let mut bytes = fixture(name);
    for record in places(&bytes, hooks) {
        bytes[record.start + 6..record.start + 8].copy_from_slice(&0x0eff_u16.to_le_bytes());
    }
    bytes
}

fn budget(name: &str, rest: &str) -> String {
    format!("[[budget]]\nname = \"{name}\"\n{rest}\n")
}

/// Budgets of commit passed with the memory of processes that had ended, and those of categories with 0 KiB: all private pages were of nobody.
#[test]
fn budgets_of_commit_and_categories_are_invalid() {
    let heaps = budget("heaps", "where.category = \"Win32Heap\"\nmax = \"1 KiB\"");
    let commit = budget("commit", "analysis = \"commit\"\nmeasure = \"growth_per_minute\"\nmax = \"1 GiB\"");
    let all = budget("all", "max = \"1 GiB\"");
    let folder = folder(&[heaps, commit, all].concat());
    let whole = fixture("resident-small.etl");
    let bare = without("resident-small.etl", &[&PROCESSES[..], &GROUP_MASKS].concat());
    let verdicts = |bytes: &[u8]| {
        fs::write(folder.path().join("now.etl"), bytes).expect("room for a trace");
        let found = json(&check(&folder, "now.etl --budgets budgets.toml --format json -q"));
        let of = |at: usize, key: &str| found["traces"][0]["budgets"][at][key].as_str().unwrap_or_default().to_owned();
        [0, 1, 2].map(|at| (of(at, "verdict"), of(at, "reason")))
    };
    assert_eq!(verdicts(&whole).map(|(verdict, _)| verdict), ["fail", "pass", "pass"]);
    let [heaps, commit, all] = verdicts(&bare);
    assert_eq!(heaps.1, "its categories cannot be known: the keyword ProcessThread was not recorded");
    assert!(commit.1.starts_with("no record of processes is in the trace (keyword ProcessThread): "), "{commit:?}");
    assert_eq!([heaps.0.as_str(), &commit.0, &all.0], ["invalid", "invalid", "pass"]);
}

/// Where owner keys are process ids, ranges are found without process events.
#[test]
fn process_ids_need_no_process_events() {
    let heaps = budget("heaps", "where.category = \"Win32Heap\"\nmax = \"1 GiB\"");
    let folder = folder(&heaps);
    let is_left = |hook: u16| !PROCESSES.contains(&hook) && !GROUP_MASKS.contains(&hook);
    kept(folder.path(), "whole.etl", Vec::new(), |_| true);
    kept(folder.path(), "bare.etl", Vec::new(), is_left);
    let value = |trace: &str| {
        let found = json(&check(&folder, &format!("{trace} --budgets budgets.toml --format json -q")));
        found["traces"][0]["budgets"][0]["value"].clone()
    };
    assert!(value("whole.etl").as_u64().is_some_and(|bytes| bytes > 0));
    assert_eq!(value("bare.etl"), value("whole.etl"));
}

/// The check against the end rundown is what makes commit of a trace that lacks records invalid.
#[test]
fn commit_without_an_end_rundown_is_not_checked() {
    let folder = folder(&budget("commit", "analysis = \"commit\"\nmax = \"1 GiB\""));
    let warnings = |bytes: Vec<u8>| {
        fs::write(folder.path().join("now.etl"), bytes).expect("room for a trace");
        let found = json(&check(&folder, "now.etl --budgets budgets.toml --format json -q"));
        found["traces"][0]["budgets"][0]["warnings"].to_string()
    };
    let says = "no end rundown to compare its commit with";
    assert!(!warnings(fixture("resident-small.etl")).contains(says));
    let told = warnings(without("resident-small.etl", &[0x0281]));
    assert!(told.contains(says), "{told}");
}

/// Copies on write lost their detail, and pages of a pool whose allocations are not known had no tag: the rest of them passed.
#[test]
fn details_and_tags_need_what_tells_them() {
    let reason = |bytes: &[u8], condition: &str| {
        let folder = folder(&budget("one", &format!("where.{condition}\nmax = \"1 GiB\"")));
        fs::write(folder.path().join("now.etl"), bytes).expect("room for a trace");
        let found = json(&check(&folder, "now.etl --budgets budgets.toml --format json -q"));
        found["traces"][0]["budgets"][0]["reason"].as_str().unwrap_or_default().to_owned()
    };
    let bare = without("resident-small.etl", &[&PROCESSES[..], &GROUP_MASKS].concat());
    let [of_all, of_files] = ["detail = \"*.dll\"", "file = \"*.dll\""].map(|condition| reason(&bare, condition));
    assert_eq!(
        [of_all.as_str(), &of_files],
        ["detail cannot be known: the keyword ProcessThread was not recorded", ""]
    );
    assert_eq!(reason(&fixture("resident-small.etl"), "detail = \"*.dll\""), "");
    let of_tags = reason(&fixture("refset-proved.etl"), "pool_tag = \"*\"");
    assert_eq!(of_tags, "no pool snapshot tells what was allocated before the trace: pages of it have no tag");
}

/// Pages of session images were SessionPrivate, without a word.
#[test]
fn an_end_rundown_that_lacks_a_kind_is_told() {
    let says = "no end rundown of views, though there is one of processes: nothing proves what there was at the end; copies of session";
    for (hooks, is_told) in [(&[0x0428][..], true), (&[], false)] {
        let bytes = if hooks.is_empty() { fixture("resident-small.etl") } else { without("resident-small.etl", hooks) };
        for form in ["json", "table"] {
            let ran = with("resident", &bytes, &["--format", form]);
            assert_eq!(ran.out.replace("\n ", "").contains(says), is_told, "{form}: {}", ran.out);
        }
    }
}

/// A trace without any of it was doubted less than one with a half.
#[test]
fn an_end_rundown_that_is_not_there_is_told() {
    let says = "no end rundown of processes, threads, images, views, VirtualAlloc regions: nothing proves what there was at the end; copies of session";
    for (name, command) in [("resident-small.etl", "resident"), ("refset-proved.etl", "refset")] {
        let told = |bytes: &[u8]| with(command, bytes, &["--format", "json"]).out.contains(says);
        assert!(told(&without(name, &[0x0304, 0x0504, 0x1404, 0x0428, 0x0281])), "{name}");
        assert!(!told(&fixture(name)), "{name}");
    }
}

/// An id that was used twice was one process that grew, without a word.
#[test]
fn working_sets_by_process_say_that_lives_are_unknown() {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let sets =
        |time: u64, pages: u64| working_sets(P8, 0x027d, &[(40, [7, pages, 0, 5, 0, 0, 0, 0])], false).at(begin + time);
    let process = Process::new(40, "app.exe").rec(P8, 4, process::DC_START).at(begin + 1);
    let bare = vec![sets(10, 3), sets(20, 19)];
    let says = "therefore unknown: ProcessThread";
    for (recs, is_told) in [(bare.clone(), true), ([vec![process], bare].concat(), false)] {
        let bytes = Trace::new(session.clone()).push_all(recs).finish();
        for form in [&["--group-by", "process"][..], &["--format", "json"]] {
            let ran = with("memory", &bytes, form);
            let told = ran.out.replace("\n  ", " ");
            assert!(ran.code == 0 && told.contains(says) == is_told, "{}", ran.out);
        }
    }
}

/// `cpu` said it and `stacks` of the same samples did not.
#[test]
fn stacks_of_unknown_threads_are_told() {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let process = Process::new(40, "app.exe").rec(P8, 4, process::DC_START).at(begin + 1);
    let thread = thread::Thread { pid: 40, tid: 44, ..Default::default() }.rec(P8, 4, thread::DC_START).at(begin + 2);
    let samples = [10, 20].map(|time| sample(P8, 0x1000, 44, 1).at(begin + time));
    let says = "no record of threads: of which process they are is unknown";
    for (first, is_told) in [(vec![process.clone()], true), (vec![process, thread], false)] {
        let file = file_of(&Trace::new(session.clone()).push_all(first.into_iter().chain(samples.clone())).finish());
        let path = file.path().to_str().expect("UTF-8");
        for line in [["stacks", path, "--of", "samples"].as_slice(), &["cpu", path]] {
            let ran = run(&[line, &["--strict", "--format", "json"]].concat());
            let found: Value = serde_json::from_str(&ran.out).expect("JSON");
            assert_eq!(
                (found["warnings"].to_string().contains(says), ran.code == 3),
                (is_told, is_told),
                "{line:?} {ran:?}"
            );
        }
    }
}

/// Pages of stacks became VirtualAlloc, and counted as its growth.
#[test]
fn growth_against_a_trace_with_threads_is_not_judged() {
    let folder = folder(&budget("regions", "where.category = \"VirtualAlloc\"\nmax_growth = \"1 %\""));
    fs::write(folder.path().join("whole.etl"), fixture("resident-small.etl")).expect("room for a trace");
    fs::write(folder.path().join("bare.etl"), without("resident-small.etl", &PROCESSES[4..]))
        .expect("room for a trace");
    for (now, baseline, is_judged) in [("bare", "whole", false), ("whole", "bare", false), ("bare", "bare", true)] {
        let line = format!("{now}.etl --budgets budgets.toml --baseline {baseline}.etl --format json -q");
        let found = json(&check(&folder, &line))["traces"][0]["budgets"][0].clone();
        let told = found["reason"].as_str().unwrap_or_default().contains("with the keyword ProcessThread");
        assert_eq!((found["verdict"] != "invalid", !told), (is_judged, is_judged), "{line}: {found}");
    }
}

/// No record has to name the process of the idle threads: `cpu` called it Idle (0), and `stacks` Unknown (0).
#[test]
fn the_process_of_the_idle_threads_needs_no_record() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let met = |(number, thread): (u64, u32)| sample(P8, 0xffff_f800_0000_1000, thread, 0).at(t0 + 10_000 * number);
    let records = [(1, 0), (2, 0), (3, 44)].map(met).to_vec();
    let bytes = Trace::new(session).push_all(records).finish();
    let rows = with("stacks", &bytes, &["-q", "--group-by", "process", "--format", "csv"]).out;
    assert!(rows.contains("\nIdle (0),") && !rows.contains("Unknown (0)"), "{rows}");
}
