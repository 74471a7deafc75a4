//! Rundowns of which most records are missing, or a half, without a word of the session that anything was lost.

use crate::check::{check, folder, json};
use crate::program::{fixtures, run};
use crate::trust::{places, with};
use etl_writer::payloads::memory::hard_fault;
use etl_writer::payloads::perf::sample;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Switch, Thread};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use std::fs;

/// Ticks from one record to the next, so that records of a session last for about as long as its header says.
const STEP: u64 = 1_900_000;

/// What is left of a fixture where of the records of these events only those remain whose number `stays`.
fn thinned(name: &str, hooks: &[u16], stays: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bytes = fs::read(fixtures().join(name)).expect("a fixture");
    let places = places(&bytes, hooks);
    assert!(places.len() > 4, "{name} has {hooks:x?}");
    let gone = places.into_iter().enumerate().filter(|(number, _)| !stays(*number));
    gone.for_each(|(_, at)| bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes()));
    bytes
}

/// The verdict of a budget of pages of a category, why it has none, and the exit code.
fn judged(bytes: &[u8], category: &str) -> (i32, String, String) {
    let budgets = format!("[[budget]]\nname = \"a\"\nwhere = {{ category = \"{category}\" }}\nmax = \"1 GiB\"\n");
    let folder = folder(&budgets);
    fs::write(folder.path().join("trace.etl"), bytes).expect("a trace");
    let ran = check(&folder, "trace.etl --budgets budgets.toml --format json");
    let text = |key: &str| json(&ran)["traces"][0]["budgets"][0][key].as_str().unwrap_or_default().to_owned();
    (ran.code, text("verdict"), text("reason"))
}

/// One record of a rundown was enough for it: pages of heaps were a fifth of what they are, and a budget passed.
#[test]
fn one_record_is_no_rundown() {
    for (hooks, things, category) in [
        (&[0x0264][..], "heap ranges", "Win32Heap"),
        (&[0x0424], "file names", "DriverFile"),
        (&[0x1403, 0x1404], "images", "Driver"),
        (&[0x0503, 0x0504], "threads", "UserStack"),
    ] {
        let bytes = thinned("resident-small.etl", hooks, |number| number == 3);
        let says = format!("the rundown of {things} is not whole: 1 record, beside 14 processes");
        for command in ["resident", "pages"] {
            let ran = with(command, &bytes, &["--strict", "--format", "csv"]);
            assert!(ran.code == 3 && ran.err.contains(&says), "{command}: {}", ran.err);
        }
        let (code, verdict, reason) = judged(&bytes, category);
        assert!((code, &*verdict) == (3, "invalid") && reason.contains(&says), "{category}: {verdict} {reason}");
        assert_eq!(judged(&bytes, "NonPagedPool").1, "pass", "{things}");
    }
    assert_eq!(with("resident", &thinned("resident-small.etl", &[0x0424], |_| true), &["--strict"]).code, 0);
}

/// Half of the names: no page counted as one of a driver's file any more, and nothing said so.
#[test]
fn half_of_the_names_of_files_are_too_few() {
    let bytes = thinned("resident-small.etl", &[0x0424], |number| number % 2 == 0);
    let says = "files: their pages count as MapFile, those of registry files, of drivers and of the prefetcher too";
    for command in ["resident", "pages"] {
        let ran = with(command, &bytes, &["--strict", "--format", "csv"]);
        assert!(ran.code == 3 && ran.err.contains("no record names ") && ran.err.contains(says), "{}", ran.err);
    }
    let (code, verdict, reason) = judged(&bytes, "DriverFile");
    assert!((code, &*verdict) == (3, "invalid") && reason.contains(says), "{verdict} {reason}");
    assert_eq!(judged(&bytes, "Win32Heap").1, "pass");
}

/// A fifth of the names: the categories that only names tell were less, without a word.
#[test]
fn categories_say_that_files_without_a_name_can_be_of_them() {
    let bytes = thinned("resident-small.etl", &[0x0424], |number| number % 6 != 0);
    let says = "files: their pages count as MapFile, those of registry files, of drivers and of the prefetcher too";
    let ran = with("resident", &bytes, &["--strict", "--format", "csv"]);
    assert!(ran.code == 0 && ran.err.contains("no record names ") && ran.err.contains(says), "{}", ran.err);
    let budget = |(at, (conditions, max)): (usize, &(&str, &str))| {
        format!("[[budget]]\nname = \"{at}\"\nwhere = {{ {conditions} }}\nmax = \"{max}\"\n")
    };
    let all = [
        ("category = \"DriverFile\"", "300 KiB"),
        ("category = \"DriverFile\"", "1 GiB"),
        ("rule = \"file.hive*\"", "300 KiB"),
        ("category = \"PagedPool\"", "1 MiB"),
        ("list = \"Active\", category = \"DriverFile\"", "300 KiB"),
    ];
    let told = |bytes: &[u8]| {
        let folder = folder(&all.iter().enumerate().map(budget).collect::<String>());
        fs::write(folder.path().join("trace.etl"), bytes).expect("a trace");
        let found = json(&check(&folder, "trace.etl --budgets budgets.toml --format json"));
        let lines = found["traces"][0]["warnings"].as_array().expect("warnings").clone();
        let text = |at: usize| {
            lines.iter().any(|line| {
                line.as_str().unwrap_or_default().starts_with(&format!("budget \"{at}\": no record names the file of "))
            })
        };
        (0..all.len()).map(text).collect::<Vec<_>>()
    };
    assert_eq!(told(&bytes), [true, false, true, false, true]);
    assert_eq!(told(&fs::read(fixtures().join("resident-small.etl")).expect("a fixture")), [false; 5]);
}

/// What `resident` says of all pages was not said beside the explanation of one.
#[test]
fn an_explanation_has_the_warnings_of_the_table() {
    let warnings = |bytes: &[u8], more: &[&str]| {
        let ran = with("resident", bytes, &[more, &["--format", "json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        json["warnings"].as_array().expect("warnings").clone()
    };
    for (hooks, says) in [(&[0x0424][..], "no record names "), (&[0x1404], "no image of the kernel is known")] {
        let bytes = thinned("resident-small.etl", hooks, |number| hooks == [0x0424] && number % 2 == 0);
        let of_page = warnings(&bytes, &["--explain", "5"]);
        assert!(of_page.iter().any(|line| line.as_str().is_some_and(|line| line.starts_with(says))), "{of_page:?}");
        assert_eq!(of_page, warnings(&bytes, &[]));
    }
}

/// Records of threads that do not fit were a note, though each of them tells of which process its faults and waits are.
#[test]
fn threads_that_cannot_be_read_make_numbers_doubtful() {
    {
        let (trace, command) = ("resident-small.etl", "resident");
        let mut bytes = fs::read(fixtures().join(trace)).expect("a fixture");
        let starts = places(&bytes, &[0x0501]);
        assert!(!starts.is_empty(), "{trace}");
        // Each 40 bytes shorter than its layout, and a record of an unknown event behind it.
        for at in starts {
            let size = u16::from_le_bytes([bytes[at.start + 4], bytes[at.start + 5]]);
            bytes[at.start + 4..at.start + 6].copy_from_slice(&(size - 40).to_le_bytes());
            let rest = at.start + usize::from(size - 40).next_multiple_of(8);
            let header = bytes[at.start..at.start + 4].to_vec();
            bytes[rest..rest + 4].copy_from_slice(&header);
            let left = at.start + usize::from(size).next_multiple_of(8) - rest;
            bytes[rest + 4..rest + 6].copy_from_slice(&(left as u16).to_le_bytes());
            bytes[rest + 6..rest + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
            let time = bytes[at.start + 16..at.start + 24].to_vec();
            bytes[rest + 16..rest + 24].copy_from_slice(&time);
        }
        let ran = with(command, &bytes, &["--strict", "--format", "csv"]);
        let says = "records of 0x0501 do not fit their layout and are left out";
        assert!(ran.code == 3 && ran.err.contains(says), "{trace}: {} {}", ran.code, ran.err);
    }
}

/// The end of a process was missing, and what ended with it counted as going on: a leak of another process.
#[test]
fn ends_of_processes_that_are_missing_are_told() {
    let t = Session::windows10().t0;
    let process = |pid: u32, phase| Process::new(pid, &format!("p{pid}.exe")).rec(P8, 4, phase);
    let system = || process(4, process::DC_START);
    let begun: Vec<Rec> = (0..12).map(|n| process(100 + 4 * n, process::DC_START)).collect();
    // Six of them are not in the list of processes at the end, and one record of an end is there.
    let listed: Vec<Rec> =
        std::iter::once(4).chain((0..7).map(|n| 100 + 4 * n)).map(|pid| process(pid, process::DC_END)).collect();
    let whole_list: Vec<Rec> =
        std::iter::once(4).chain((0..12).map(|n| 100 + 4 * n)).map(|pid| process(pid, process::DC_END)).collect();
    let file = |ends: u32| {
        let ended = (0..ends).map(|n| process(128 + 4 * n, process::END));
        let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
        let all = std::iter::once(system()).chain(begun.clone()).chain(ended).chain(listed.clone());
        (0..).zip(all).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
        file_of(&trace.finish())
    };
    let told = |ends: u32| {
        let file = file(ends);
        let ran = run(&["processes", file.path().to_str().expect("a plain name"), "--strict", "--format", "csv"]);
        (ran.code, ran.err)
    };
    let (code, err) = told(0);
    assert!(code == 3 && err.contains("5 ends of processes are in no record"), "{code} {err}");
    let (code, err) = told(5);
    assert!(code == 0 && !err.contains("in no record"), "{code} {err}");
    // Those that start while the list is being written are in none.
    let late = (0..12).map(|n| process(400 + 4 * n, process::START));
    let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
    let all = std::iter::once(system()).chain(begun.clone()).chain(whole_list).chain(late);
    (0..).zip(all).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
    let file = file_of(&trace.finish());
    let ran = run(&["processes", file.path().to_str().expect("a plain name"), "--format", "csv"]);
    assert!(!ran.err.contains("in no record"), "{}", ran.err);
}

/// A process whose start is missing got the end of the one that had its id before as its start, and nothing said that starts are missing.
#[test]
fn starts_of_processes_that_are_missing_are_told() {
    let t = Session::windows10().t0;
    let process =
        |pid: u32, key: u64, phase| Process { key, ..Process::new(pid, &format!("p{key}.exe")) }.rec(P8, 4, phase);
    let file = |has_starts: bool| {
        let before = (1..=3).map(|n| process(100 + n, u64::from(n), process::DC_START));
        let ended = (1..=3).map(|n| process(100 + n, u64::from(n), process::END));
        let started = (1..=3).filter(|_| has_starts).map(|n| process(100 + n, u64::from(n + 10), process::START));
        let after = (1..=3).map(|n| process(100 + n, u64::from(n + 10), process::DC_END));
        let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
        let of_thread = Thread { pid: 101, tid: 1000, ..Thread::default() }.rec(P8, 3, thread::DC_START);
        let fault = hard_fault(P8, t + STEP * 5 - 10, 0, 0x10_0000, 0x7000, 1000, 4096);
        let all = before.chain([of_thread, fault]).chain(ended).chain(started).chain(after);
        (0..).zip(all).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
        file_of(&trace.finish())
    };
    let told = |has_starts: bool, more: &[&str]| {
        let file = file(has_starts);
        let path = file.path().to_str().expect("a plain name");
        let ran = run(&[&["processes", path, "--strict", "--format", "json"], more].concat());
        let found: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        let rows = found["processes"].as_array().expect("a list").iter();
        let rows: Vec<(String, bool)> = rows
            .map(|row| (row["process"].as_str().unwrap_or_default().to_owned(), row["start_s"].is_null()))
            .collect();
        (ran.code, ran.err, rows)
    };
    let is_of = |rows: &[(String, bool)], name: &str, has_none: bool| rows.contains(&(name.to_owned(), has_none));
    let (code, err, rows) = told(false, &[]);
    assert!(code == 3 && err.contains("3 starts of processes are in no record"), "{code} {err}");
    assert!(is_of(&rows, "p11.exe (101)", true), "no start is invented: {rows:?}");
    let (.., started) = told(false, &["--where", "started=true"]);
    assert!(started.len() == 3 && is_of(&started, "p11.exe (101)", true), "{started:?}");
    let (code, err, rows) = told(true, &[]);
    assert!(
        code == 0 && !err.contains("in no record") && is_of(&rows, "p11.exe (101)", false),
        "{code} {err} {rows:?}"
    );

    // A budget by process has no value then.
    for (has_starts, verdict) in [(true, "pass"), (false, "invalid")] {
        let path = file(has_starts);
        let budget = "[[budget]]\nname = \"a\"\nwhere = { process = \"p1.exe*\" }\nanalysis = \"faults\"\nmeasure = \"hard_faults\"\nmax = \"9\"\n";
        let (_, budgets) = crate::check_faults::check(path.path().to_str().expect("a plain name"), budget);
        assert_eq!(budgets[0]["verdict"], verdict, "{budgets:?}");
        let reason = budgets[0]["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("starts of processes are in no record"), !has_starts, "{reason}");
    }
}

/// Where the end of a process and of a thread is missing, the next record of the id says whose it is: faults were of the wrong process.
#[test]
fn an_id_with_another_name_is_another_process() {
    let t = Session::windows10().t0;
    let named = |name: &str, phase| Process { key: 0x1000, ..Process::new(100, name) }.rec(P8, 4, phase);
    let records = [named("a.exe", process::DC_START), named("b.exe", process::START), named("b.exe", process::DC_END)];
    let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
    (0..).zip(records).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
    let file = file_of(&trace.finish());
    let ran = run(&["processes", file.path().to_str().expect("a plain name"), "--format", "csv"]);
    let names: Vec<&str> = ran.out.lines().filter(|line| line.contains(".exe")).collect();
    assert!(names.len() == 2 && ran.out.contains("a.exe") && ran.out.contains("b.exe"), "{}", ran.out);
}

/// Events of a thread whose start is missing were of the process in which a thread with its id had ended.
#[test]
fn threads_whose_starts_are_missing_are_of_the_process_after_them() {
    let t = Session::windows10().t0;
    let process = |pid: u32, name: &str| Process::new(pid, name).rec(P8, 4, process::DC_START);
    let thread = |pid: u32, tid: u32, hook| Thread { pid, tid, ..Thread::default() }.rec(P8, 3, hook);
    let records = |starts: bool| {
        let mut all = vec![process(100, "old.exe"), process(200, "new.exe")];
        for tid in (1000..1040).step_by(4) {
            all.extend([thread(100, tid, thread::DC_START), thread(100, tid, thread::END)]);
            all.extend(starts.then(|| thread(200, tid, thread::START)));
            let begun = t + STEP * (all.len() as u64 + 1) - 10;
            all.push(hard_fault(P8, begun, 0, 0x10_0000, 0x7000, tid, 4096));
            all.push(thread(200, tid, thread::DC_END));
        }
        all
    };
    for (starts, code) in [(true, 0), (false, 3)] {
        let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
        (0..).zip(records(starts)).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
        let file = file_of(&trace.finish());
        let path = file.path().to_str().expect("a plain name");
        let ran = run(&["faults", path, "--group-by", "process", "--strict", "--format", "csv"]);
        assert!(ran.code == code && ran.out.contains("new.exe (200),10,"), "{starts}: {ran:?}");
        assert_eq!(ran.err.contains("10 starts of threads are in no record"), !starts, "{}", ran.err);
    }
}

/// Both rundowns name another process of a thread, and no start or end between them does: faults were of the first one without a word.
#[test]
fn threads_of_two_processes_are_told() {
    let t = Session::windows10().t0;
    let process = |pid: u32, name: &str| Process::new(pid, name).rec(P8, 4, process::DC_START);
    let thread = |pid: u32, hook| Thread { pid, tid: 1000, ..Thread::default() }.rec(P8, 3, hook);
    let budget = "[[budget]]\nname = \"a\"\nwhere = { process = \"new.exe*\" }\nanalysis = \"faults\"\nmeasure = \"hard_faults\"\nmax = \"9\"\n";
    let says = "1 thread is of another process";
    for (between, last, differs) in
        [(&[][..], 200, true), (&[], 100, false), (&[thread(100, thread::END), thread(200, thread::START)], 200, false)]
    {
        let fault = hard_fault(P8, t + STEP * 4 - 10, 0, 0x10_0000, 0x7000, 1000, 4096);
        let sampled = sample(P8, 0x1000, 1000, 0);
        let first = [process(100, "old.exe"), process(200, "new.exe"), thread(100, thread::DC_START), fault, sampled];
        let all = first.into_iter().chain(between.iter().cloned()).chain([thread(last, thread::DC_END)]);
        let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
        (0..).zip(all).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
        let file = file_of(&trace.finish());
        let path = file.path().to_str().expect("a plain name");
        let ran = run(&["faults", path, "--group-by", "process", "--strict", "--format", "csv"]);
        assert_eq!((ran.code == 3, ran.err.contains(says)), (differs, differs), "{ran:?}");
        let ran = run(&["cpu", path, "--format", "csv"]);
        assert_eq!((ran.code, ran.err.contains(says)), (0, differs), "{ran:?}");
        let (_, budgets) = crate::check_faults::check(path, budget);
        assert_eq!(budgets[0]["verdict"] == "invalid", differs, "{budgets:?}");
    }
}

/// The same where context switches name the threads: budgets of a process, and rows of stacks in a dataset.
#[test]
fn threads_of_two_processes_are_told_of_context_switches() {
    let t = Session::windows10().t0;
    let process = |pid: u32, name: &str| Process::new(pid, name).rec(P8, 4, process::DC_START);
    let thread = |pid: u32, hook| Thread { pid, tid: 1000, ..Thread::default() }.rec(P8, 3, hook);
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let budget = "[[budget]]\nname = \"a\"\nwhere = { process = \"new.exe*\" }\nanalysis = \"cpu\"\nmeasure = \"cpu_ms\"\nmax = \"900\"\n\
                  [[budget]]\nname = \"b\"\nanalysis = \"cpu\"\nmeasure = \"cpu_ms\"\nmax = \"900\"\n";
    let says = "1 thread is of another process";
    for (between, last, differs) in
        [(&[][..], 200, true), (&[], 100, false), (&[thread(100, thread::END), thread(200, thread::START)], 200, false)]
    {
        let first = [process(100, "old.exe"), process(200, "new.exe"), thread(100, thread::DC_START)];
        let first = first.into_iter().chain([switch(1000, 0), switch(0, 1000)]);
        let all = first.chain(between.iter().cloned()).chain([
            switch(1000, 0),
            switch(0, 1000),
            thread(last, thread::DC_END),
        ]);
        let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
        (0..).zip(all).for_each(|(at, record)| trace.add(&record.at(t + STEP * (at + 1))));
        let file = file_of(&trace.finish());
        let path = file.path().to_str().expect("a plain name");
        let ran = run(&["cpu", path, "--strict", "--format", "csv"]);
        assert_eq!((ran.code == 3, ran.err.contains(says)), (differs, differs), "{ran:?}");
        let (_, budgets) = crate::check_faults::check(path, budget);
        let is_invalid = |budget: &serde_json::Value| budget["verdict"] == "invalid";
        assert_eq!(budgets.iter().map(is_invalid).collect::<Vec<_>>(), [differs, false], "{budgets:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().to_str().expect("a plain name");
        let ran = run(&["export", path, "--out", out, "--tables", "stack_events,warnings"]);
        assert!(ran.code == 0 && ran.err.contains(says) == differs, "{ran:?}");
    }
}

/// Half of the allocations: the end rundown lists what no event tells. `refset` was silent where `resident` was not.
#[test]
fn events_that_the_end_rundown_contradicts_are_told_of_the_reference_set() {
    let says = "events and end rundown disagree on ";
    let whole = fs::read(fixtures().join("refset-small.etl")).expect("a fixture");
    for (bytes, is_told) in [(whole, false), (thinned("refset-small.etl", &[0x0262], |number| number % 2 == 0), true)] {
        for analysis in ["refset", "resident"] {
            let ran = with(analysis, &bytes, &["--format", "csv"]);
            assert_eq!(ran.err.contains(says), is_told, "{analysis}: {}", ran.err);
        }
    }
}

/// Half of the heap ranges: pages of heaps were half of what they are, and the checks passed.
#[test]
fn half_of_the_heap_ranges_are_too_few() {
    let bytes = thinned("resident-small.etl", &[0x0264], |number| number >= 14);
    let says = "processes with regions have no heap range";
    let ran = with("resident", &bytes, &["--strict", "--format", "csv"]);
    assert!(ran.code == 3 && ran.err.contains(says), "{}", ran.err);
    let (code, verdict, reason) = judged(&bytes, "Win32Heap");
    assert!((code, &*verdict) == (3, "invalid") && reason.contains(says), "{verdict} {reason}");
    assert_eq!(judged(&bytes, "NonPagedPool").1, "pass");
}

/// Images of processes alone: no machine runs without a kernel, and pages of drivers were SystemPage without a word.
#[test]
fn a_kernel_without_images_is_told() {
    let bytes = thinned("resident-small.etl", &[0x1404], |_| false);
    let says = "no image of the kernel is known";
    assert!(with("resident", &bytes, &[]).out.contains(says));
    let (_, verdict, reason) = judged(&bytes, "Driver");
    assert!(verdict == "invalid" && reason.contains(says), "{verdict} {reason}");
    assert!(!with("resident", &thinned("resident-small.etl", &[0x1404], |_| true), &[]).out.contains(says));
}

/// A context switch before the header's start: the window began with it, and all processors ran from there on.
#[test]
fn a_context_switch_before_the_recording_is_told() {
    let t = Session::windows10().t0;
    let switch = |at: u64, new: u32, old: u32| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(at);
    let of = |first: u64| {
        let mut trace = Trace::new(Session { processors: 1, ..Session::windows10() });
        for record in [switch(first, 8, 0), switch(t + 200_000, 0, 8), switch(t + 300_000, 8, 0)] {
            trace.add(&record);
        }
        let file = file_of(&trace.finish());
        let ran = run(&["cpu", file.path().to_str().expect("a plain name"), "--strict", "-q", "--format", "csv"]);
        ran.err.contains("before the stamp of the log-file header")
    };
    assert!(of(t - 10_000_000) && !of(t + 10));
}

/// Regions of processes that ended before the rundown at the stop are in that at the start alone: a peak of VirtualAlloc without it passed.
#[test]
fn a_start_rundown_of_regions_that_is_missing_is_told_where_processes_ended() {
    let whole = fs::read(fixtures().join("refset-proved.etl")).expect("a fixture");
    let bare = |hooks: &[u16]| thinned("refset-proved.etl", hooks, |_| false);
    let says = "only the rundown at the stop lists VirtualAlloc regions: it lacks those of 4 processes";
    let told = |bytes: &[u8]| {
        let ran = with("refset", bytes, &["--strict", "--format", "csv"]);
        (ran.code, ran.err.contains(says))
    };
    assert_eq!(
        [told(&whole), told(&bare(&[0x0280])), told(&bare(&[0x0280, 0x0302]))].map(|told| told.1),
        [false, true, false]
    );
    assert_eq!((told(&whole).0, told(&bare(&[0x0280])).0), (0, 3));
    let judged = |bytes: &[u8], more: &str| {
        let folder = folder(&format!("[[budget]]\nname = \"a\"\nanalysis = \"refset\"\nmax = \"1 GiB\"\n{more}\n"));
        fs::write(folder.path().join("trace.etl"), bytes).expect("a trace");
        let ran = check(&folder, "trace.etl --budgets budgets.toml --format json");
        let budget = &json(&ran)["traces"][0]["budgets"][0];
        assert_eq!(
            budget["reason"].as_str().is_some_and(|reason| reason.contains(says)),
            budget["verdict"] == "invalid"
        );
        budget["verdict"].as_str().expect("a verdict").to_owned()
    };
    let peak = "measure = \"peak\"\nwhere = { category = \"VirtualAlloc\" }";
    assert_eq!([judged(&whole, peak), judged(&bare(&[0x0280]), peak)], ["pass", "invalid"]);
    // What is held at the stop is of processes that go on, and accesses have no category.
    for more in [&peak[peak.find("where").expect("conditions")..], "measure = \"peak\"", "measure = \"accessed\""] {
        assert_eq!(judged(&bare(&[0x0280]), more), "pass", "{more}");
    }
}
