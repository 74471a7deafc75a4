//! `pfnset cpu`: what it prints in all views and forms, sums that must hold, what it refuses.

use crate::program::{Ran, finish, out, pfnset, run};
use crate::random_cases::one_in;
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf;
use etl_writer::payloads::thread::Switch;
use etl_writer::{Session, Trace, file_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const TRACE: &str = "cpu-compressed.etl";

fn json_of(more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["cpu", TRACE, "-q", "--format", "json"], more].concat())).expect("JSON")
}

fn numbers<'v>(list: &'v Value, key: &'v str) -> impl Iterator<Item = u64> + 'v {
    list.as_array().expect("a list").iter().map(move |row| row[key].as_u64().unwrap_or_else(|| panic!("{key}: {row}")))
}

#[test]
fn every_view_prints() {
    insta::assert_snapshot!("cpu", out(&["cpu", TRACE, "-q"]));
    for columns in [60, 80] {
        let ran = finish(pfnset(&["cpu", TRACE, "-q"]).env("COLUMNS", columns.to_string()));
        insta::assert_snapshot!(format!("cpu_{columns}_columns"), ran.out);
    }
    let views = ["delays", "preemption", "waits", "wakers", "interrupts", "states", "sampling", "queue"];
    for view in views {
        let printed = out(&["cpu", TRACE, "-q", "--preset", view, "--top", "6"]);
        insta::assert_snapshot!(format!("cpu_{view}"), printed);
    }
    insta::assert_snapshot!("cpu_timeline", out(&["cpu", TRACE, "-q", "--timeline", "50ms"]));
    let nested = ["--group-by", "process,thread", "--top", "2", "--unit", "us", "--sort", "ready"];
    insta::assert_snapshot!("cpu_nested", out(&[&["cpu", TRACE, "-q"], &nested[..]].concat()));
    let between = ["--from", "work-start", "--to", "work-end", "--where", "process=burn*", "--group-by", "processor"];
    insta::assert_snapshot!("cpu_between_marks", out(&[&["cpu", TRACE, "-q"], &between[..]].concat()));
}

#[test]
fn forms_for_programs() {
    let head = |arguments: &[&str]| {
        let all = out(&[&["cpu", TRACE, "-q"], arguments].concat());
        all.lines().take(4).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("cpu_csv", head(&["--format", "csv", "--group-by", "process,thread,processor"]));
    insta::assert_snapshot!("cpu_timeline_csv", out(&["cpu", TRACE, "-q", "--format", "csv", "--timeline", "0.2"]));
    insta::assert_snapshot!("cpu_delays_jsonl", head(&["--format", "jsonl", "--preset", "delays"]));
    insta::assert_snapshot!("cpu_markdown", head(&["--format", "markdown", "--preset", "queue", "--unit", "ms"]));
    // Each view has as many values on each line as its heading has names.
    let views = vec!["delays", "preemption", "waits", "wakers", "interrupts", "states", "sampling", "queue"];
    for view in one_in(1, views) {
        let csv = out(&["cpu", TRACE, "-q", "--format", "csv", "--preset", view]);
        let first = out(&["cpu", TRACE, "-q", "--format", "jsonl", "--preset", view]);
        let first: Value = serde_json::from_str(first.lines().next().expect("a row")).expect("JSON");
        let names: Vec<&str> = csv.lines().next().expect("a heading").split(',').collect();
        assert_eq!(names, first.as_object().expect("an object").keys().collect::<Vec<_>>(), "{view}");
    }
}

#[test]
fn sums_hold_whatever_rows_are_grouped_by() {
    let whole = json_of(&[]);
    assert_eq!(whole["balanced"], true);
    let owners = ["threads_ns", "idle_ns", "dpc_ns", "isr_ns", "unknown_ns"];
    let total: u64 = owners.iter().map(|owner| whole["total"][owner].as_u64().unwrap()).sum();
    assert_eq!(total, whole["total"]["capacity_ns"].as_u64().unwrap());
    for owner in owners {
        assert_eq!(numbers(&whole["by_processor"], owner).sum::<u64>(), whole["total"][owner].as_u64().unwrap());
    }
    let [threads, idle] = ["threads_ns", "idle_ns"].map(|owner| whole["total"][owner].as_u64().unwrap());
    let switches = whole["total"]["switches"].as_u64().unwrap();
    for dims in ["process", "thread", "process,thread", "processor,process", "thread,processor"] {
        let rows = &json_of(&["--group-by", dims])["rows"];
        assert_eq!(numbers(rows, "cpu_ns").sum::<u64>(), threads + idle, "{dims}");
        assert_eq!(numbers(rows, "switches").sum::<u64>(), switches, "{dims}");
        for key in ["unknown_ready", "unfinished", "redundant"] {
            assert_eq!(numbers(rows, key).sum::<u64>(), numbers(&whole["rows"], key).sum::<u64>(), "{dims} {key}");
        }
        let delays = |rows: &Value| -> u64 {
            rows.as_array().unwrap().iter().filter_map(|row| row["ready"]["all"]["count"].as_u64()).sum()
        };
        assert_eq!(delays(rows), delays(&whole["rows"]), "{dims}");
    }
    let rows = &json_of(&["--group-by", "processor"])["rows"];
    assert_eq!(numbers(rows, "cpu_ns").sum::<u64>(), threads, "idle is no use of a processor");
}

/// The idle threads have rows of their own; the row of a processor is the same whatever is nested in it.
#[test]
fn idle_is_in_no_sum_with_other_threads() {
    let whole = json_of(&[]);
    let total = |key: &str| whole["total"][key].as_u64().unwrap();
    let printed = |more: &[&str]| out(&[&["cpu", TRACE, "-q", "--unit", "ns"], more].concat());
    let cpu = |text: &str, row: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(row)).unwrap_or_else(|| panic!("{row}: {text}"));
        line.split_whitespace().next().unwrap().replace(',', "").parse().unwrap()
    };
    let by_process = printed(&["--group-by", "process"]);
    let by_processor = printed(&["--group-by", "processor"]);
    let nested = printed(&["--group-by", "processor,process"]);
    assert_eq!(cpu(&by_processor, "Total "), total("threads_ns"));
    assert_eq!([&by_process, &nested].map(|text| cpu(text, "Total without idle ")), [total("threads_ns"); 2]);
    assert_eq!(cpu(&by_process, "Idle (0) "), total("idle_ns"));
    assert_eq!(cpu(&nested, "3 "), cpu(&by_processor, "3 "));
    // Where nothing else is asked for, it is counted.
    let of_idle = json_of(&["--group-by", "processor", "--where", "process=Idle"]);
    assert_eq!(numbers(&of_idle["rows"], "cpu_ns").sum::<u64>(), total("idle_ns"));
    let idle = ["--where", "process=Idle", "--group-by"];
    for dims in ["process", "processor", "processor,process"] {
        assert_eq!(cpu(&printed(&[&idle[..], &[dims]].concat()), "Total "), total("idle_ns"), "{dims}");
    }
}

#[test]
fn a_view_without_rows_says_so() {
    let of_idle = out(&["cpu", TRACE, "-q", "--preset", "waits", "--where", "process=Idle"]);
    assert!(
        of_idle.contains("\nNone in the window: the threads that meet the conditions of --where have none"),
        "{of_idle}"
    );
    let window = ["--from", "0.01", "--to", "0.010001"];
    let of_all = out(&[&["cpu", TRACE, "-q", "--preset", "wakers"], &window[..]].concat());
    assert!(of_all.contains("\nNone in the window\n"), "{of_all}");
}

#[test]
fn states_of_each_thread_add_up_to_the_window() {
    for window in [&[][..], &["--from", "work-start", "--to", "work-end"], &["--from", "0.1", "--to", "0.5"]] {
        let all = json_of(&[&["--group-by", "process,thread"], window].concat());
        let length = all["window"]["ticks"].as_u64().unwrap() * 100;
        let rows = all["rows"].as_array().unwrap();
        let mut seen = 0;
        for row in rows.iter().filter(|row| row["thread"] != json!(0)) {
            let sum: u64 = row["states"].as_object().unwrap().values().map(|ns| ns.as_u64().unwrap()).sum();
            assert_eq!(sum, length, "{row}");
            assert_eq!(row["states"]["running_ns"], row["cpu_with_interrupts_ns"], "{row}");
            seen += 1;
        }
        assert!(seen > 40, "{seen} threads");
    }
}

#[test]
fn steps_of_a_timeline_add_up() {
    for dims in ["process", "process,thread", "processor"] {
        let all = json_of(&["--group-by", dims, "--timeline", "7ms"]);
        let steps = all["timeline"].as_array().unwrap();
        for owner in ["threads_ns", "idle_ns", "dpc_ns", "isr_ns", "unknown_ns"] {
            assert_eq!(numbers(&all["timeline"], owner).sum::<u64>(), all["total"][owner].as_u64().unwrap());
        }
        let groups = steps.iter().flat_map(|step| step["groups"].as_object().unwrap().values());
        let sum: u64 = groups.map(|ns| ns.as_u64().unwrap()).sum();
        let idle = if dims == "processor" { 0 } else { all["total"]["idle_ns"].as_u64().unwrap() };
        assert_eq!(sum, all["total"]["threads_ns"].as_u64().unwrap() + idle, "{dims}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = out(&["cpu", TRACE, "-q", "--format", "json", "-j", "1", "--group-by", "process,thread"]);
    let three = out(&["cpu", TRACE, "-q", "--format", "json", "-j", "3", "--group-by", "process,thread"]);
    assert_eq!(one, three);
}

#[test]
fn without_context_switches_it_says_what_to_record() {
    let ran = run(&["cpu", "refset-small.etl"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""));
    for part in ["CSwitch", "wpr -start CPU", "xperf -on PROC_THREAD+LOADER+CSWITCH+DISPATCHER+DPC+INTERRUPT+PROFILE"] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    let empty = file_of(&Trace::new(Session::windows10()).finish());
    assert_eq!(run(&["cpu", empty.path().to_str().unwrap()]).code, 4);
    for more in [&["--preset", "waits"][..], &["--timeline", "50ms"], &["--sort", "ready"]] {
        let ran = run(&[&["cpu", SAMPLED], more].concat());
        assert_eq!(ran.code, 4, "samples know nothing of it: {more:?}");
        let flag = if more[0] == "--timeline" { "--timeline".to_owned() } else { more.join(" ") };
        let says = format!("pfnset: {flag}: no context switch is in the trace, only samples: ");
        assert!(ran.err.starts_with(&says) && ran.err.contains("Not recorded: CSwitch, "), "{}", ran.err);
        assert!(!ran.err.contains("Not recorded: CSwitch, ReadyThread, DPC, Interrupt, SampledProfile"), "{}", ran.err);
    }
}

/// A trace with samples and without context switches.
const SAMPLED: &str = "resident-small.etl";

/// The sums are those of `pfnset stacks`, the errors those of the formula.
#[test]
fn samples_answer_where_there_are_no_context_switches() {
    let of = |more: &[&str]| -> Value {
        serde_json::from_str(&out(&[&["cpu", SAMPLED, "-q", "--format", "json"], more].concat())).expect("JSON")
    };
    let stacks: Value =
        serde_json::from_str(&out(&["stacks", SAMPLED, "-q", "--of", "samples", "--format", "json"])).expect("JSON");
    let all = of(&[]);
    assert!(all["rows"].is_null() && all["total"].is_null() && all["sampling"].is_null());
    let (samples, events) = (&all["samples"], stacks["totals"]["events"].as_u64().expect("a number"));
    assert!(events > 0 && samples["events"] == events && samples["time_ns"] == stacks["totals"]["weight"]);
    for by in ["process", "thread", "module", "process,thread,module", "processor", "pid"] {
        let set = of(&["--group-by", by]);
        let rows = set["samples"]["rows"].as_array().expect("rows").clone();
        let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().expect("a number")).sum::<u64>();
        assert_eq!((sum("events"), Some(sum("time_ns"))), (events, samples["time_ns"].as_u64()), "{by}");
        for row in &rows {
            let (hits, n) = (row["events"].as_f64().expect("a number"), events as f64);
            let (p, zz) = (hits / n, 1.959963984540054f64.powi(2));
            let half = (zz * (p * (1.0 - p) / n + zz / (4.0 * n * n))).sqrt() / (1.0 + zz / n);
            let error = half * samples["time_ns"].as_f64().expect("a number");
            assert!((row["error_ns"].as_f64().expect("a number") - error).abs() < 2.0, "{row}");
        }
    }
    let one = &all["samples"]["rows"][0];
    let process = one["process"].as_str().expect("a process");
    let part = of(&["--where", &format!("process={process}")]);
    assert_eq!((&part["samples"]["rows"][0], &part["samples"]["events"]), (one, &samples["events"]));
    insta::assert_snapshot!("by_samples", out(&["cpu", SAMPLED, "-q"]));
}

/// Idle threads are in no sum of samples with others, as in those of context switches.
#[test]
fn samples_of_idle_threads_count_alone() {
    let session = Session { processors: 2, ..Session::windows10() };
    let t0 = session.t0;
    let sample =
        |n: u64, thread, flags, processor| perf::sample(P8, 0x1000, thread, flags).at(t0 + n * 10_000).on(processor);
    // Processor 0: idle three times, once with a deferred call on top, twice thread 44; processor 1: idle.
    let recs = [(0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 1, 0), (44, 0, 0), (44, 0, 0), (0, 0, 1)];
    let recs = (1..).zip(recs).map(|(n, (thread, flags, processor))| sample(n, thread, flags, processor));
    let file = file_of(&Trace::new(session).push_all(recs).finish());
    let path = file.path().to_str().expect("a path");
    let of = |more: &[&str]| out(&[&["cpu", path, "-q"], more].concat());
    let rows = |more: &[&str]| -> Vec<(String, u64)> {
        let set: Value =
            serde_json::from_str(&of(&[more, &["--format", "json", "--sort", "name"]].concat())).expect("JSON");
        let label = |row: &Value| row.as_object().and_then(|row| row.values().next()).expect("a label").to_string();
        let rows = set["samples"]["rows"].as_array().expect("rows");
        let mut rows: Vec<_> = rows.iter().map(|row| (label(row), row["events"].as_u64().expect("samples"))).collect();
        rows.sort();
        rows
    };
    let named =
        |rows: &[(&str, u64)]| rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
    assert_eq!(rows(&["--group-by", "processor"]), named(&[("0", 3), ("1", 0)]));
    assert_eq!(
        rows(&["--group-by", "thread"]),
        named(&[("\"DPC\"", 1), ("0", 4), ("44", 2)]),
        "the row of the idle thread is its own, and not that of a call on top of it"
    );
    let idle = ["--group-by", "processor", "--where", "process=Idle*"];
    assert_eq!(rows(&idle), named(&[("0", 3), ("1", 1)]), "all that was asked for");
    let nested = of(&["--group-by", "processor,process"]);
    let samples = |label: &str| -> Vec<String> {
        let of = nested.lines().filter(|line| line.trim_start().starts_with(label));
        of.filter_map(|line| line.trim_start().strip_prefix(label)?.split_whitespace().next().map(str::to_owned))
            .collect()
    };
    assert_eq!(
        (samples("Idle (0)"), samples("Total without idle")),
        (vec!["3".to_owned(), "1".to_owned()], vec!["3".to_owned()])
    );
    assert!(nested.contains("; 4 met an idle thread"), "{nested}");
}

/// A processor without a context switch is a row with the condition on it as without.
#[test]
fn a_condition_chooses_a_processor_of_which_nothing_is_known() {
    let rows = |more: &[&str]| json_of(&[&["--group-by", "processor"], more].concat())["rows"].clone();
    let all = rows(&[]);
    for number in 0..6 {
        let one = rows(&["--where", &format!("processor={number}")]);
        let of_all = all.as_array().expect("rows").iter().filter(|row| row["processor"] == number);
        assert_eq!(one.as_array().expect("rows").iter().collect::<Vec<_>>(), of_all.collect::<Vec<_>>(), "{number}");
    }
    let ran = run(&["cpu", "cpu-compressed.etl", "--where", "processor=5"]);
    let told = "No thread is known that ran there: without a context switch, 299.95 ms of processor 5 are unknown";
    assert!(ran.out.contains(told) && !ran.err.contains("nothing"), "{ran:?}");
    let ran = run(&["cpu", "cpu-compressed.etl", "--where", "processor=6"]);
    assert!(ran.err.contains("processor \"6\" matches nothing"), "{ran:?}");
}

/// In rows of many threads the idle ones have a row of their own, whatever other threads there are.
#[test]
fn idle_threads_are_of_no_session() {
    for by in ["session", "session,process"] {
        let rows = json_of(&["--group-by", by])["rows"].as_array().expect("rows").clone();
        let idle: Vec<&Value> = rows.iter().filter(|row| row["session"] == "[idle]").collect();
        let sum: u64 = idle.iter().map(|row| row["cpu_ns"].as_u64().expect("a time")).sum();
        assert_eq!(Some(sum), json_of(&[])["total"]["idle_ns"].as_u64(), "{by}");
    }
}

/// No record says how long the last threads ran on.
#[test]
fn a_window_beyond_the_last_switch_says_so() {
    let of = |more: &[&str]| run(&[&["cpu", TRACE, "--strict", "--format", "json"], more].concat());
    let codes = |ran: &Ran| -> Vec<String> {
        let set: Value = serde_json::from_str(&ran.out).expect("JSON");
        let doubts = set["doubts"].as_array().expect("a list").iter();
        doubts.map(|doubt| doubt["code"].as_str().expect("a code").to_owned()).collect()
    };
    let beyond = "window_beyond_switches".to_owned();
    for inside in [&[][..], &["--from", "0.1", "--to", "0.3"], &["--from", "0.05"]] {
        let ran = of(inside);
        assert!(ran.code == 0 && !codes(&ran).contains(&beyond), "{inside:?}: {ran:?}");
    }
    for (outside, says) in
        [(["--from", "0.301", "--to", "0.4"], "99.000 ms"), (["--from", "0.2", "--to", "99"], " ms of the window")]
    {
        let ran = of(&outside);
        assert!(ran.code == 3 && codes(&ran).contains(&beyond) && ran.out.contains(says), "{outside:?}: {ran:?}");
    }
}

/// What was asked for has room before what was not.
#[test]
fn chosen_processes_have_their_columns_in_a_timeline() {
    let mut command = pfnset(&["cpu", TRACE, "-q", "--timeline", "50ms", "--where", "process=burn*"]);
    let table = finish(command.env("COLUMNS", "80")).out;
    let heading = table.lines().find(|line| line.starts_with("From s")).expect("a heading");
    assert!(heading.contains("burn.exe (996)"), "{table}");
    assert!(table.contains("Not shown, for lack of width: Unknown"), "{table}");
}

#[test]
fn the_first_screen_fits() {
    let ran = finish(pfnset(&["cpu", TRACE, "-q"]).env("COLUMNS", "80"));
    let height = ran.out.lines().skip_while(|line| !line.starts_with("CPU use")).count();
    assert!(height <= 23, "{height} lines, and one of 24 is for the prompt: {}", ran.out);
}

/// Damaged stamps: a window of 4,600 years, of which twelve processors have more ticks than a number holds.
#[test]
fn times_of_a_hostile_window_are_added() {
    let session = Session { processors: 12, ..Session::windows10() };
    let (begin, pointer) = (session.t0, session.pointer);
    let switch = |new, old| Switch { new, old, ..Switch::default() }.rec(pointer, 4);
    let records = (0..12_u16).flat_map(|processor| {
        let (first, last) = (switch(100, 0).at(begin), switch(0, 100).at(begin + (3 << 61)));
        [first.on(processor), last.on(processor)]
    });
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_string_lossy();
    for preset in ["delays", "preemption", "waits", "states", "sampling", "queue"] {
        assert!(out(&["cpu", &path, "-q", "--preset", preset]).contains("12 processors"), "{preset}");
    }
    for group_by in ["processor", "process", "process,thread"] {
        out(&["cpu", &path, "-q", "--group-by", group_by, "--timeline", "10000000000"]);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let ran = run(&["export", &path, "-q", "--out", &folder.path().to_string_lossy()]);
    assert!(ran.code == 0 && ran.err.contains("TIMES CONTRADICT THE HEADER"), "{ran:?}");
}

#[test]
fn flags_without_effect_are_refused() {
    for (arguments, says) in [
        ("--preset wakers --group-by thread", "--preset wakers has rows of its own"),
        ("--preset queue --sort name", "--preset queue has an order of its own"),
        ("--preset interrupts --where process=x", "--preset interrupts is of all processes"),
        ("--preset preemption --where processor=1", "conditions on anything else have no effect"),
        ("--preset wakers --where thread=4", "conditions on anything else have no effect"),
        ("--timeline 1ms --group-by processor --where process=x", "whatever its process"),
        ("--timeline 1s --top 3", "--timeline is shown as a whole"),
        ("--tick 1ms", "--tick has no effect"),
        ("--preset states --group-by process", "--preset states is of threads"),
        ("--preset states --group-by thread,processor", "--preset states is of threads"),
        ("--format csv --top 3", "--top is for table and markdown"),
        ("--format jsonl --unit us", "--unit is for table and markdown"),
        ("--timeline 1us", "at most 100000 steps"),
        ("--timeline 0", "longer than 0"),
        ("--from 0.2 --to 0.1", "before it begins"),
        ("--from nowhere", "no mark matches"),
        ("--from work-end --to work-start", "the mark \"work-start\" is not after the begin of the window"),
        ("--group-by modules", "unknown dimension"),
    ] {
        let ran = run(&[&["cpu", TRACE], &arguments.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments}");
        assert!(ran.err.contains(says), "{arguments}: {}", ran.err);
    }
}

/// Nothing is known of what comes after a trace: its last threads ran on until the end of any window.
#[test]
fn a_window_ends_with_the_trace() {
    let threads = |to: &str| {
        let text = out(&["cpu", TRACE, "-q", "--format", "json", "--to", to]);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        (json["window"]["stop_s"].as_f64().expect("a time"), json["total"]["threads_ns"].as_u64().expect("a time"))
    };
    assert_eq!(threads("1000"), threads("100000"));
    assert!(threads("1000").0 < 10.0, "{:?}", threads("1000"));
}

/// What a thread did on one processor is not what it did: threads that did nothing there were listed, with their states everywhere.
#[test]
fn threads_of_a_processor_are_those_that_ran_on_it() {
    let json = |more: &[&str]| -> serde_json::Value {
        serde_json::from_str(&out(&[&["cpu", TRACE, "-q", "--format", "json"], more].concat())).expect("JSON")
    };
    let of_one = json(&["--group-by", "thread", "--where", "processor=1"]);
    let apart = json(&["--group-by", "thread,processor", "--where", "processor=1"]);
    let rows = |json: &serde_json::Value| json["rows"].as_array().expect("rows").clone();
    assert_eq!(rows(&of_one).len(), rows(&apart).len());
    assert!(rows(&of_one).iter().all(|row| row["states"].is_null()) && !rows(&of_one).is_empty(), "{of_one}");
    let all = rows(&json(&["--group-by", "thread"]));
    assert!(all.iter().any(|row| !row["states"].is_null()));
    let one = json(&["--timeline", "50ms", "--group-by", "processor", "--where", "processor=1"]);
    assert!(one["timeline"].to_string().len() > 10, "{one}");
}

#[test]
fn what_is_not_listed_is_summed_in_every_view() {
    let trace = "cpu-compressed.etl";
    for (preset, column) in [("waits", "count"), ("interrupts", "count"), ("states", "")] {
        let table = out(&["cpu", trace, "--preset", preset, "--top", "1"]);
        let more = table.lines().find(|line| line.starts_with("+ ")).unwrap_or_else(|| panic!("{preset}: {table}"));
        let cells: Vec<&str> = more.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert!(cells.len() > 1, "{preset}: {table}");
        if column.is_empty() {
            continue;
        }
        let text = out(&["cpu", trace, "-q", "--preset", preset, "--format", "csv"]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let place = reader.headers().unwrap().iter().position(|name| name == column).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        // All wait reasons of the first process are shown.
        let is_shown = |at: usize| at == 0 || preset == "waits" && rows[at][0] == rows[0][0];
        let left = (0..rows.len()).filter(|at| !is_shown(*at)).map(|at| rows[at][place].parse::<u64>().unwrap());
        assert_eq!(cells[1].replace(',', ""), left.sum::<u64>().to_string(), "{preset}: {table}");
    }
}

/// A run that the next switch breaks is unknown in every window: it was the thread's where the window ended before that switch.
#[test]
fn windows_side_by_side_add_up_where_switches_are_missing() {
    let session = Session { processors: 2, ..Session::windows10() };
    let (begin, pointer) = (session.t0, session.pointer);
    let at = |processor: u16, time: u64, (new, old): (u32, u32)| {
        Switch { new, old, ..Switch::default() }.rec(pointer, 4).at(begin + time).on(processor)
    };
    // On the first processor 20 is switched out that never was switched in; the second has all.
    let switches = [(0, (10, 0)), (2000, (30, 20)), (3000, (10, 30)), (9000, (0, 10))];
    let first = switches.map(|(time, switch)| at(0, time, switch));
    let second = [(100, (40, 0)), (8000, (0, 40))].map(|(time, switch)| at(1, time, switch));
    let file = file_of(&Trace::new(session).push_all(first).push_all(second).finish());
    let path = file.path().to_string_lossy();
    let of = |window: &[&str]| -> BTreeMap<String, u64> {
        let text = out(&[&["cpu", &path, "-q", "--group-by", "thread", "--format", "json"], window].concat());
        let json: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["balanced"], true, "{window:?}");
        let rows = json["rows"].as_array().expect("rows").iter();
        let rows = rows.map(|row| (row["thread"].to_string(), row["cpu_ns"].as_u64().expect("a time")));
        let of_all = ["threads_ns", "idle_ns", "unknown_ns"]
            .map(|use_of| (use_of.to_owned(), json["total"][use_of].as_u64().expect("a time")));
        rows.chain(of_all).filter(|(_, time)| *time > 0).collect()
    };
    let whole = of(&[]);
    assert_eq!(whole["unknown_ns"], 200_000, "from the switch to 10 to that from 20");
    for middle in ["0.0001", "0.00015", "0.0002", "0.00025", "0.0005"] {
        let mut sum = of(&["--to", middle]);
        for (key, time) in of(&["--from", middle]) {
            *sum.entry(key).or_default() += time;
        }
        assert_eq!(sum, whole, "{middle}");
    }
}

/// Samples, their span and those of idle threads are of all processes, above a table of those that were chosen.
#[test]
fn samples_above_chosen_rows_are_said_to_be_of_all() {
    let of = |more: &[&str]| out(&[&["cpu", SAMPLED, "-q"], more].concat());
    let all = "51 samples from 1.013490 s to 1.995496 s";
    assert!(of(&["--where", "process=lsass*"]).contains(&format!("\nWithout the conditions: {all}")));
    assert!(of(&[]).contains(&format!("\n{all}")));
}

/// No process seemed to have a service where nothing lists them.
#[test]
fn a_trace_that_lists_no_services_says_so() {
    let says = "the trace lists no services";
    for (command, trace) in
        [("cpu", "cpu-compressed.etl"), ("cpu", SAMPLED), ("resident", SAMPLED), ("refset", "refset-small.etl")]
    {
        for asks in [["--group-by", "service"], ["--where", "service=*"]] {
            let ran = run(&[&[command, trace, "--format", "csv"][..], &asks].concat());
            assert!(ran.err.contains(says), "{command} {trace} {asks:?}: {ran:?}");
        }
        assert!(!run(&[command, trace, "--format", "csv"]).err.contains(says), "{command} {trace}");
    }
    assert!(run(&["pages", SAMPLED, "--format", "csv", "--where", "service=*"]).err.contains(says));
}

/// Clock ticks are compared with exact times: a JSON object of samples has none.
#[test]
fn ticks_are_refused_where_samples_answer() {
    let ran = run(&["cpu", SAMPLED, "--tick", "1ms", "--format", "json"]);
    assert!(ran.code == 2 && ran.err.contains("--tick is beside exact times"), "{ran:?}");
}
