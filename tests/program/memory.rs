//! `pfnset memory` as a user runs it: made-up machines whose every sample is known, windows, filters, forms.

use crate::program::{finish, fixtures, out, pfnset, run};
use etl_writer::{Compression, MemorySpec, MemoryTruth, Session, file_of, generate_memory};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;
use tempfile::NamedTempFile;

fn made(spec: &MemorySpec) -> (NamedTempFile, MemoryTruth) {
    let (file, truth) = generate_memory(spec, Cursor::new(Vec::new())).expect("memory is large enough");
    (file_of(&file.into_inner()), truth)
}

fn path(file: &NamedTempFile) -> &str {
    file.path().to_str().expect("a plain name")
}

fn json_of(file: &NamedTempFile, more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["memory", path(file), "-q", "--format", "json"], more].concat())).expect("JSON")
}

/// Machines of each form: 64 and 32 bits, old and new records, small and compressed buffers.
fn machines() -> Vec<MemorySpec> {
    let small = Session { buffer_size: 0x2000, ..Session::windows10() };
    let x86 = Session { pointer: etl_writer::Ptr::P4, header_record: etl_writer::Ptr::P4, ..Session::windows7() };
    let machine = |seed, session| MemorySpec { seed, session, ..MemorySpec::default() };
    vec![
        machine(1, Session::windows10()),
        MemorySpec { memory_mb: None, ..machine(2, small.clone()) },
        MemorySpec { old: true, ..machine(3, x86) },
        machine(4, small.compressed(Compression::Xpress)),
        MemorySpec {
            processes: 2_000,
            samples: 5,
            ..machine(5, Session { buffer_size: 1 << 20, ..Session::windows10() })
        },
    ]
}

fn seconds(spec: &MemorySpec, raw: u64) -> f64 {
    (raw - spec.session.t0) as f64 / spec.session.frequency as f64
}

#[test]
fn every_sample_is_there() {
    for spec in machines() {
        let (file, truth) = made(&spec);
        let found = json_of(&file, &[]);
        let close = |a: &Value, raw: u64| (a.as_f64().unwrap() - seconds(&spec, raw)).abs() < 1e-8;
        let samples = found["samples"].as_array().unwrap();
        assert_eq!(samples.len(), truth.counters.len());
        for (sample, (time, info)) in samples.iter().zip(&truth.counters) {
            assert!(close(&sample["time_s"], *time), "{} {time}", sample["time_s"]);
            let lists = json!([
                sample["zero_pages"],
                sample["free_pages"],
                sample["modified_pages"],
                sample["modified_no_write_pages"],
                sample["bad_pages"],
                sample["standby_pages"],
                sample["repurposed_pages"],
                sample["modified_pagefile_pages"],
            ]);
            let expected = json!([
                info.zero,
                info.free,
                info.modified,
                info.modified_no_write,
                info.bad,
                info.standby,
                info.repurposed,
                info.modified_pagefile,
            ]);
            assert_eq!(lists, expected);
            let keys = ["paged_pool_commit_pages", "non_paged_pool_pages", "mdl_pages", "commit_pages"];
            for (key, pages) in keys.iter().zip(info.system) {
                assert_eq!(sample[key], if spec.old { Value::Null } else { json!(pages) }, "{key}");
            }
            let modified = info.modified + info.modified_no_write;
            let others = info.zero + info.free + modified + info.standby.iter().sum::<u64>();
            let in_use = spec.memory_mb.map(|mb| u64::from(mb) * 256 - others);
            assert_eq!(sample["in_use_pages"], json!(in_use));
        }
        let processes = found["working_sets"].as_array().unwrap();
        let labels: Vec<&str> = processes.iter().map(|process| process["process"].as_str().unwrap()).collect();
        assert_eq!(labels, truth.processes.keys().collect::<Vec<_>>());
        for (process, entries) in processes.iter().zip(truth.processes.values()) {
            let samples = process["samples"].as_array().unwrap();
            assert_eq!(samples.len(), entries.len(), "{}", process["process"]);
            for (sample, (time, counts)) in samples.iter().zip(entries) {
                assert!(close(&sample["time_s"], *time));
                let keys = [
                    "working_set_pages",
                    "commit_pages",
                    "virtual_size_pages",
                    "private_working_set_pages",
                    "store_pages",
                    "stored_pages",
                    "commit_debt_pages",
                    "shared_commit_pages",
                ];
                for (place, key) in keys.iter().enumerate() {
                    let expected = if spec.old && place > 3 { Value::Null } else { json!(counts[place]) };
                    assert_eq!(sample[key], expected, "{key}");
                }
            }
        }
        let sessions = found["sessions"].as_array().unwrap();
        for (number, record) in sessions.iter().enumerate() {
            let expected: Vec<Value> = (truth.sessions.iter())
                .map(|(id, entries)| {
                    let counts = entries[number].1;
                    json!({ "session": id, "working_set_pages": counts[0], "commit_pages": counts[1],
                        "paged_pool_pages": counts[2], "private_working_set_pages": counts[3] })
                })
                .collect();
            assert_eq!(record["sessions"], json!(expected));
        }
        assert_eq!(sessions.len(), truth.counters.len());
    }
}

/// What a naive count over the truth gives.
#[test]
fn summaries_are_those_of_a_naive_count() {
    for spec in machines() {
        let (file, truth) = made(&spec);
        let found = json_of(&file, &[]);
        let counter = |name: &str| {
            let all = found["summary"]["counters"].as_array().unwrap();
            all.iter().find(|counter| counter["counter"] == name).unwrap_or_else(|| panic!("{name}"))
        };
        let check = |name: &str, values: Vec<u64>| {
            let mean = (values.iter().sum::<u64>() as f64 / values.len() as f64).round() as u64;
            let (least, most) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            let keys = ["start_pages", "end_pages", "least_pages", "most_pages", "mean_pages"];
            let expected = [values.first().unwrap(), values.last().unwrap(), least, most, &mean];
            assert_eq!(keys.map(|key| counter(name)[key].as_u64().unwrap()), expected.map(|pages| *pages), "{name}");
        };
        let of = |value: &dyn Fn(&etl_writer::payloads::counters::MemInfo) -> u64| {
            truth.counters.iter().map(|(_, info)| value(info)).collect::<Vec<_>>()
        };
        check("zero", of(&|info| info.zero));
        check("standby", of(&|info| info.standby.iter().sum()));
        check("standby_5", of(&|info| info.standby[5]));
        if !spec.old {
            check("commit", of(&|info| info.system[3]));
        }
        for priority in 0..8 {
            let values = of(&|info| info.repurposed[priority]);
            let steps: Vec<u64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let found = &found["summary"]["repurposed"][priority + 1];
            assert_eq!((&found["priority"], &found["pages"]), (&json!(priority), &json!(steps.iter().sum::<u64>())));
            let times: Vec<u64> = truth.counters.iter().map(|(time, _)| *time).collect();
            let rate = |n: usize| steps[n] as f64 * spec.session.frequency as f64 / (times[n + 1] - times[n]) as f64;
            let most = (0..steps.len()).map(rate).fold(0.0, f64::max).round() as u64;
            assert_eq!(found["most_pages_per_s"].as_u64().unwrap_or(0), most, "{priority}");
        }
        let rows = json_of(&file, &["--group-by", "process"])["rows"].clone();
        for (row, (label, entries)) in rows.as_array().unwrap().iter().zip(&truth.processes) {
            let most = |place: usize| entries.iter().map(|(_, counts)| counts[place]).max().unwrap();
            let [first, last] = [entries.first(), entries.last()].map(|entry| entry.unwrap().1);
            let found = [
                "working_set_start_pages",
                "working_set_end_pages",
                "working_set_most_pages",
                "private_start_pages",
                "private_end_pages",
                "private_most_pages",
                "commit_start_pages",
                "commit_end_pages",
                "commit_most_pages",
            ];
            let expected = [first[0], last[0], most(0), first[3], last[3], most(3), first[1], last[1], most(1)];
            assert_eq!(found.map(|key| row[key].as_u64().unwrap()), expected, "{label}");
            assert_eq!(
                (row["process"].as_str(), row["samples"].as_u64()),
                (Some(&**label), Some(entries.len() as u64))
            );
        }
        let sum: u64 = rows.as_array().unwrap().iter().map(|row| row["samples"].as_u64().unwrap()).sum();
        assert_eq!(sum, truth.entries);
    }
}

#[test]
fn windows_conditions_and_timelines() {
    let (file, _) = made(&MemorySpec::default());
    let window = json_of(&file, &["--from", "1.0", "--to", "3.2"]);
    let times =
        |list: &Value| list.as_array().unwrap().iter().map(|s| s["time_s"].as_f64().unwrap()).collect::<Vec<_>>();
    assert!(times(&window["samples"]).iter().all(|time| (1.0..3.2).contains(time)), "{window}");
    assert_eq!((window["samples"].as_array().unwrap().len(), window["sessions"].as_array().unwrap().len()), (5, 5));
    assert!(window["working_sets"].as_array().unwrap().iter().all(|w| w["samples"].as_array().unwrap().len() <= 5));

    let some = json_of(&file, &["--where", "process=p1*", "--where", "list=Standby;Free", "--where", "session=1"]);
    let list =
        |list: &Value, key: &str| list.as_array().unwrap().iter().map(|one| one[key].to_string()).collect::<Vec<_>>();
    assert!(list(&some["working_sets"], "process").iter().all(|label| label.starts_with("\"p1")));
    assert_eq!(list(&some["working_sets"], "process").len(), 6 + 1, "p1 and odd numbers from 11 to 19, p15 twice");
    assert!(
        list(&some["summary"]["counters"], "counter")
            .iter()
            .all(|name| name.contains("standby") || name.contains("free"))
    );
    assert_eq!(list(&some["sessions"][0]["sessions"], "session"), ["1"]);

    let all = json_of(&file, &["--timeline", "all"]);
    assert_eq!(times(&all["timeline"]), times(&all["samples"]));
    let steps = json_of(&file, &["--timeline", "2s"]);
    let found: Vec<(f64, Value)> = times(&steps["timeline"])
        .into_iter()
        .zip(list(&steps["timeline"], "zero").into_iter().map(Value::from))
        .collect();
    assert_eq!(found.len(), 4, "0, 2, 4 and the end: {found:?}");
    for (time, zero) in found {
        let before = steps["samples"].as_array().unwrap().iter().rfind(|s| s["time_s"].as_f64().unwrap() <= time);
        assert_eq!(before.unwrap()["zero_pages"].to_string(), zero, "the latest sample");
    }
    working_sets_over_time(&file, &all);
    for (condition, fields, heading) in
        [("priority=5", "time_s,standby_5", "priority 5"), ("list=Zero;Free", "time_s,zero,free", "Free")]
    {
        let timeline = ["memory", path(&file), "-q", "--where", condition, "--timeline", "2s"];
        let csv = out(&[&timeline[..], &["--format", "csv"]].concat());
        assert_eq!((csv.lines().next(), csv.lines().count()), (Some(fields), 5), "{condition}");
        let table = out(&timeline);
        assert!(table.contains(heading) && !table.contains("Modified"), "{table}");
    }
    for wrong in [
        &["--timeline", "0"][..],
        &["--timeline", "1ns"],
        &["--timeline", "all", "--top", "3"],
        &["--group-by", "list,process"],
        &["--where", "list=Active"],
        &["--from", "2", "--to", "1"],
        // Conditions that choose nothing of what is shown.
        &["--timeline", "2s", "--where", "process=p1*"],
        &["--group-by", "priority", "--where", "session=1"],
        &["--group-by", "process", "--where", "priority=3"],
        &["--format", "csv", "--where", "process=p1*"],
        &["--group-by", "session", "--where", "process=p1*"],
        &["--group-by", "session", "--where", "process=p1*", "--format", "json"],
        // Shown as a whole.
        &["--group-by", "priority", "--top", "2"],
        &["--group-by", "list", "--top", "1"],
    ] {
        assert_eq!(run(&[&["memory", path(&file)], wrong].concat()).code, 2, "{wrong:?}");
    }
}

/// By process: each sample that the document has is a row at its own time, and steps show the latest one.
fn working_sets_over_time(file: &NamedTempFile, whole: &Value) {
    let by_process = json_of(file, &["--timeline", "all", "--group-by", "process"]);
    let key = |time: &Value, process: &Value| (time.to_string(), process.as_str().unwrap().to_owned());
    let rows: BTreeMap<_, _> = by_process["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (key(&row["time_s"], &row["process"]), row["working_set_pages"].as_u64().unwrap()))
        .collect();
    let mut samples = 0;
    for process in whole["working_sets"].as_array().unwrap() {
        for sample in process["samples"].as_array().unwrap() {
            let row = rows.get(&key(&sample["time_s"], &process["process"]));
            assert_eq!(row.copied(), sample["working_set_pages"].as_u64(), "{process}");
            samples += 1;
        }
    }
    assert!(samples > 100 && rows.len() >= samples, "{samples} samples, {} rows", rows.len());

    let steps = json_of(file, &["--timeline", "2s", "--group-by", "process"]);
    for row in steps["timeline"].as_array().unwrap() {
        let process = whole["working_sets"].as_array().unwrap().iter().find(|p| p["process"] == row["process"]);
        let before = |s: &&Value| s["time_s"].as_f64() <= row["time_s"].as_f64();
        let latest = process.unwrap()["samples"].as_array().unwrap().iter().rfind(before);
        assert_eq!(row["commit_pages"], latest.unwrap()["commit_pages"], "{row}");
    }
    let lists = json_of(file, &["--timeline", "2s", "--group-by", "priority"]);
    assert!(lists["timeline"][0]["standby_3"].is_u64() && lists["timeline"][0]["zero"].is_null(), "{lists}");

    let one = out(&["memory", path(file), "--where", "priority=3"]);
    let repurposed = one.split("Repurposed").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(repurposed.contains("prio 3") && !repurposed.contains("prio 4"), "{one}");
}

/// What has no room is in lines; who asks for more rows gets the tables.
#[test]
fn the_first_screen_fits() {
    let long = made(&MemorySpec { memory_mb: None, ..MemorySpec::default() }).0;
    let old = made(&MemorySpec { old: true, ..MemorySpec::default() }).0;
    for file in [
        fixtures().join("resident-small.etl"),
        fixtures().join("faults-x86.etl"),
        long.path().into(),
        old.path().into(),
    ] {
        let file = file.to_str().expect("UTF-8");
        let screen = finish(pfnset(&["memory", file, "-q"]).env("COLUMNS", "80")).out;
        let height = screen
            .lines()
            .skip_while(|line| line.starts_with("! ") || line.starts_with("  ") || line.is_empty())
            .count();
        assert!(height <= 23, "{height} lines of {file}, and one of 24 is for the prompt: {screen}");
        assert!(screen.contains("Standby at the end by priority 0: "), "{screen}");
        let more = out(&["memory", file, "-q", "--top", "4"]);
        assert!(more.contains("prio 0") && !more.contains("by priority 0"), "{more}");
    }
}

#[test]
fn what_is_unknown_is_said() {
    let (file, _) = made(&MemorySpec { old: true, memory_mb: None, ..MemorySpec::default() });
    let text = out(&["memory", path(&file)]);
    assert!(
        text.contains("physical memory is unknown, and so is what is in use") && !text.contains("In use"),
        "{text}"
    );
    assert!(text.contains("Not in records of this form: pools, MDL, system commit"), "{text}");
    let (small, _) = made(&MemorySpec { memory_mb: Some(1), ..MemorySpec::default() });
    assert!(out(&["memory", path(&small)]).starts_with("! the page lists hold more pages than physical memory has"));
    let only_lists = out(&["memory", "resident-small.etl"]);
    assert!(only_lists.starts_with("! not in the trace, therefore unknown: MemoryInfoWS"), "{only_lists}");
    assert!(only_lists.contains("1 sample at 3.001 s"), "{only_lists}");
    let none = run(&["memory", "refset-small.etl"]);
    assert!(none.code == 4 && none.err.contains("MemoryInfo"), "{none:?}");
}

#[test]
fn tables() {
    let (file, _) = made(&MemorySpec::default());
    for (name, arguments) in [
        ("memory", &[][..]),
        ("memory_timeline", &["--timeline", "2s"]),
        ("memory_lists", &["--group-by", "list", "--unit", "pages"]),
        ("memory_priorities", &["--group-by", "priority"]),
        ("memory_processes", &["--group-by", "process", "--top", "3"]),
        ("memory_sessions", &["--group-by", "session"]),
        ("memory_markdown", &["--format", "markdown"]),
        ("memory_csv", &["--format", "csv"]),
        ("memory_timeline_processes", &["--timeline", "2s", "--group-by", "process"]),
        ("memory_timeline_sessions_csv", &["--timeline", "2s", "--group-by", "session", "--format", "csv"]),
        ("memory_timeline_csv", &["--timeline", "2s", "--format", "csv"]),
        ("memory_sessions_jsonl", &["--group-by", "session", "--format", "jsonl"]),
    ] {
        insta::assert_snapshot!(name, out(&[&["memory", path(&file)], arguments].concat()));
    }
    for columns in ["60", "80"] {
        let ran = finish(pfnset(&["memory", path(&file)]).env("COLUMNS", columns));
        insta::assert_snapshot!(format!("memory_{columns}_columns"), ran.out);
        let widest =
            ran.out.lines().filter(|line| !line.starts_with("Not shown")).map(|line| line.chars().count()).max();
        assert!(widest <= columns.parse().ok(), "{}", ran.out);
    }
}

/// Labels of the table for people, in its order.
fn labels_by(file: &NamedTempFile, sort: &str) -> Vec<String> {
    let text = out(&["memory", path(file), "-q", "--group-by", "process", "--sort", sort]);
    let is_row = |line: &&str| line.contains(" (") && !line.starts_with(['+', ' ']);
    text.lines().filter(is_row).filter_map(|line| Some(format!("{})", line.split_once(')')?.0))).collect()
}

#[test]
fn rows_have_the_order_that_was_asked_for() {
    let (file, _) = made(&machines()[1]);
    let all = json_of(&file, &[]);
    let of = |process: &Value, pick: &dyn Fn(Vec<u64>) -> u64| {
        let samples = process["samples"].as_array().expect("samples").iter();
        pick(samples.map(|sample| sample["working_set_pages"].as_u64().expect("pages")).collect())
    };
    let processes = all["working_sets"].as_array().expect("processes");
    let label = |process: &Value| process["process"].as_str().expect("a label").to_owned();
    let sizes = |pick: &dyn Fn(Vec<u64>) -> u64| -> BTreeMap<String, u64> {
        processes.iter().map(|process| (label(process), of(process, pick))).collect()
    };
    let last = sizes(&|samples| *samples.last().expect("a sample"));
    let most = sizes(&|samples| samples.into_iter().max().expect("a sample"));
    assert!(last.len() > 5 && last != most);
    for (sort, sizes) in [("size", last), ("most", most)] {
        let found = labels_by(&file, sort);
        assert_eq!(found.len(), sizes.len(), "{found:?}");
        assert!(found.is_sorted_by(|a, b| sizes[a] >= sizes[b]), "{sort}: {found:?}");
    }
    let found = labels_by(&file, "name");
    // p2 is before p10, as people count.
    let parts = |label: &String| -> Vec<u32> {
        label.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    assert!(found.len() == processes.len() && found.is_sorted_by_key(parts), "{found:?}");
    for form in ["csv", "json"] {
        let ran = run(&["memory", path(&file), "--group-by", "process", "--sort", "name", "--format", form]);
        assert!(ran.code == 2 && ran.err.contains("--sort is for table and markdown"), "{form}: {ran:?}");
    }
}

/// By process, the commit by the records of VirtualAlloc stands beside the kernel's, with the difference; of a process of which nobody
/// tells what it had before the trace nothing is said.
#[test]
fn commit_by_virtual_alloc_is_beside_the_kernels() {
    use etl_writer::payloads::counters::working_sets;
    use etl_writer::payloads::memory::{COMMIT, DECOMMIT, RESERVE, virtual_alloc, virtual_free};
    use etl_writer::payloads::process::{self, Process};
    use etl_writer::{Ptr::P8, Rec, Trace};

    let session = Session { processors: 1, ..Session::windows10() };
    let mut time = session.t0;
    let mut recs = vec![Process::new(48, "old.exe").rec(P8, 4, process::DC_START).at(time)];
    let mut log = |rec: Rec| {
        time += 10;
        recs.push(rec.at(time));
    };
    let sample = |pages: u64| {
        working_sets(P8, 0x027d, &[(40, [7, pages, 0, 5, 0, 0, 0, 0]), (48, [1, 9, 0, 1, 0, 0, 0, 0])], false)
    };
    log(Process::new(40, "app.exe").rec(P8, 4, process::START));
    log(virtual_alloc(P8, 0x4_0000, 4096, 48, RESERVE | COMMIT).by(52, 48));
    log(sample(3));
    log(virtual_alloc(P8, 0x10_0000, 16 * 4096, 40, RESERVE | COMMIT).by(44, 40));
    log(sample(19));
    log(virtual_free(P8, 0x10_0000, 4 * 4096, 40, DECOMMIT).by(44, 40));
    log(sample(14));
    let file = file_of(&Trace::new(session).push_all(recs).finish());
    let all = json_of(&file, &["--timeline", "all", "--group-by", "process"]);
    let of = |name: &str| -> Vec<Value> {
        let rows = all["timeline"].as_array().expect("rows").iter().filter(|row| row["process"] == name);
        rows.map(|row| json!([row["commit_pages"], row["virtual_alloc_pages"], row["commit_difference_pages"]]))
            .collect()
    };
    assert_eq!(of("app.exe (40)"), [json!([3, 0, 3]), json!([19, 16, 3]), json!([14, 12, 2])]);
    assert_eq!(of("old.exe (48)"), vec![json!([9, null, null]); 3]);
    let table = out(&[
        "memory",
        path(&file),
        "-q",
        "--timeline",
        "all",
        "--group-by",
        "process",
        "--where",
        "process=app*",
        "--unit",
        "kib",
    ]);
    assert!(table.contains("VirtualAlloc  Difference"), "{table}");
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().skip(1).collect()).collect();
    assert!(lines.contains(&vec!["28", "76", "64", "+12"]), "{table}");
    // Without records of commit there are no such columns.
    let (plain, _) = made(&MemorySpec::default());
    let row = &json_of(&plain, &["--timeline", "2s", "--group-by", "process"])["timeline"][0];
    assert_eq!((&row["virtual_alloc_pages"], row["commit_pages"].is_u64()), (&Value::Null, true));
}

/// Working sets alone are an answer, and `info` says so.
#[test]
fn working_sets_alone_are_enough_in_part() {
    let info: Value =
        serde_json::from_str(&out(&["info", "refset-proved.etl", "-q", "--format", "json"])).expect("JSON");
    let memory = info["analyses"].as_array().expect("a list").iter().find(|one| one["name"] == "memory_utilization");
    let memory = memory.unwrap_or_else(|| panic!("{}", info["analyses"]));
    assert!(memory.to_string().contains("\"partial\""), "{memory}");
    assert_eq!(run(&["memory", "refset-proved.etl", "-q"]).code, 0);
}

/// A trace without working sets has no rows by process: it says so, and is not missing between others.
#[test]
fn rows_of_what_was_not_recorded() {
    let trace = fixtures().join("resident-small.etl");
    let trace = trace.to_str().unwrap();
    for (arguments, code) in [
        (&["memory", trace, "--group-by", "process"][..], 4),
        (&["memory", trace, "--group-by", "session", "--format", "json"], 4),
        (&["memory", trace, "--group-by", "list"], 0),
        (&["memory", "--each", trace, "--group-by", "process", "--format", "csv"], 4),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(
            code == 0 || format!("{}{}", ran.out, ran.err).contains("the trace holds no working sets of"),
            "{ran:?}"
        );
    }
}
