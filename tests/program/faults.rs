//! `pfnset faults` against what is known of a made-up trace: numbers that another program computed.

use crate::program::{out, run};
use serde_json::{Value, json};

const TRACE: &str = "faults-x86.etl";

fn json_of(more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["faults", TRACE, "-q", "--format", "json"], more].concat())).expect("JSON")
}

/// An object without its lists.
fn flat(value: &Value) -> Value {
    let object = value.as_object().expect("an object");
    object.iter().filter(|(_, value)| !value.is_array()).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[test]
fn totals_are_those_of_another_program() {
    let all = json_of(&[]);
    assert_eq!(
        flat(&all["hard"]),
        json!({"events": 289, "bytes": 2_519_552, "bytes_again": 1_990_144, "waited_ns": 3_468_037_155u64, "blocked_ns": 1_126_254_251, "p50_ns": 2_138_626, "p95_ns": 42_772_532, "p99_ns": 42_789_641, "max_ns": 42_790_924, "malformed": 3})
    );
    assert_eq!(
        flat(&all["disk"]),
        json!({"operations": 322, "bytes": 3_091_456, "bytes_again": 1_675_776, "response_ns": 2_427_180_404u64, "service_ns": 963_760_116, "queue_max": 5, "no_start": 17, "unfinished": 14})
    );
    assert_eq!(flat(&all["soft"]), json!({"events": 176, "hard_markers": 31}));
    let part = json_of(&["--from", "work-start", "--to", "work-end"]);
    assert_eq!(
        flat(&part["hard"]),
        json!({"events": 133, "bytes": 1_160_192, "bytes_again": 972_800, "waited_ns": 1_786_244_695, "blocked_ns": 596_242_689, "p50_ns": 2_155_735, "p95_ns": 42_772_960, "p99_ns": 42_790_069, "max_ns": 42_790_924, "malformed": 0})
    );
    assert_eq!(
        flat(&part["disk"]),
        json!({"operations": 160, "bytes": 1_679_872, "bytes_again": 853_504, "response_ns": 1_367_337_354, "service_ns": 519_205_081, "queue_max": 5, "no_start": 8, "unfinished": 3})
    );
    let kinds = json_of(&["--group-by", "kind"])["hard"]["rows"].clone();
    let events: Vec<_> =
        kinds.as_array().expect("rows").iter().map(|row| (row["kind"].clone(), row["events"].clone())).collect();
    assert_eq!(
        events,
        [("image", 120), ("unknown", 88), ("page_file", 38), ("mapped_file", 18), ("cache", 25)]
            .map(|(kind, events)| (json!(kind), json!(events)))
    );
}

/// The trace has 1.2 s; by its header the recording ended after 0.8 s. What is after that was written by its stop.
#[test]
fn the_window_after_the_end_of_the_recording_is_told() {
    let mut bytes = std::fs::read(crate::program::fixtures().join(TRACE)).expect("a trace");
    let end = u64::from_le_bytes(bytes[120..128].try_into().expect("8 bytes")) - 4_000_000;
    bytes[120..128].copy_from_slice(&end.to_le_bytes());
    let file = etl_writer::file_of(&bytes);
    let path = file.path().to_str().expect("UTF-8");
    let whole = run(&["faults", path, "--timeline", "0.2", "--format", "csv"]);
    let says = "the window goes on for 0.400 s after the end of the recording by the file's header (0.800";
    assert!(whole.code == 0 && whole.err.contains(says), "{}", whole.err);
    assert!(!run(&["faults", path, "--to", "0.79", "--format", "csv"]).err.contains("the window goes on for"));
    let outside = run(&["faults", path, "--from", "0.9"]);
    assert!(outside.code == 2 && outside.err.contains("but the recording ends at 0.800"), "{outside:?}");
    assert!(!run(&["faults", TRACE, "--format", "csv"]).err.contains("after the end of the recording"));
}

/// `stacks` answered with no event, where `faults` refused the same window.
#[test]
fn every_command_judges_its_window_by_the_end_of_the_recording() {
    for (line, seconds) in [
        ("faults faults-x86.etl", 0.4),
        ("stacks faults-x86.etl --of hard-fault", 0.4),
        ("stacks stacks-keys.etl", 0.001),
        ("cpu cpu-compressed.etl", 0.1),
        ("allocations alloc-x86.etl", 2.0),
        ("refset refset-small.etl", 0.02),
        ("memory resident-small.etl", 1.0),
    ] {
        let mut words: Vec<&str> = line.split(' ').collect();
        let whole: Value = serde_json::from_str(&out(&["info", words[1], "-q", "--format", "json"])).expect("JSON");
        let last = whole["session"]["duration_s"].as_f64().expect("a time");
        let mut bytes = std::fs::read(crate::program::fixtures().join(words[1])).expect("a trace");
        let end = u64::from_le_bytes(bytes[120..128].try_into().expect("8 bytes")) - (seconds * 1e7) as u64;
        bytes[120..128].copy_from_slice(&end.to_le_bytes());
        let file = etl_writer::file_of(&bytes);
        words[1] = file.path().to_str().expect("UTF-8");
        let [inside, outside] = [1.5, 0.5].map(|times| format!("{:.6}", last - seconds * times));
        let refused = run(&[&words[..], &["--from", &outside, "--to", "99"]].concat());
        let says = format!("the window begins at {outside} s, but the recording ends at ");
        assert!(refused.code == 2 && refused.out.is_empty() && refused.err.contains(&says), "{line}: {refused:?}");
        if line.starts_with("cpu") {
            continue; // that the window goes on behind the last context switch is told, and how far
        }
        let beyond = run(&[
            &words[..],
            &["--from", &inside, "--to", &format!("{:.6}", last - seconds / 4.0), "--format", "csv"],
        ]
        .concat());
        let says = "after the end of the recording by the file's header";
        assert!(beyond.code == 0 && beyond.err.matches(says).count() == 1, "{line}: {beyond:?}");
    }
}

#[test]
fn rows_add_up_to_their_totals() {
    for by in ["process", "thread", "file", "process,file,kind,disk", "priority", "operation,module"] {
        let all = json_of(&["--group-by", by]);
        for (list, of, sums) in [
            ("hard", "kind module process thread file", ["events", "bytes", "bytes_again", "malformed"]),
            ("disk", "disk priority operation process thread file", ["operations", "bytes", "bytes_again", "no_start"]),
        ] {
            let rows = all[list]["rows"].as_array().expect("rows");
            let has_rows = by.split(',').any(|own| of.split(' ').any(|known| known == own));
            assert_eq!(has_rows, !rows.is_empty(), "{list} by {by}");
            for sum in sums.into_iter().filter(|_| has_rows) {
                let added: u64 = rows.iter().map(|row| row[sum].as_u64().expect("a number")).sum();
                assert_eq!(Some(added), all[list][sum].as_u64(), "{list} by {by}: {sum}");
            }
        }
    }
}

#[test]
fn steps_add_up_to_the_whole() {
    let all = json_of(&["--timeline", "7ms"]);
    let steps = all["timeline"].as_array().expect("steps");
    let sum = |key: &str| steps.iter().map(|step| step[key].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(
        (Some(sum("hard_faults")), Some(sum("bytes"))),
        (all["hard"]["events"].as_u64(), all["hard"]["bytes"].as_u64())
    );
    assert_eq!(Some(sum("disk_bytes")), all["disk"]["bytes"].as_u64());
    let deepest = steps.iter().filter_map(|step| step["queue_max"].as_u64()).max();
    assert_eq!(deepest, all["disk"]["queue_max"].as_u64());
    assert!(steps.iter().any(|step| step["available_pages"].is_u64()));
}

#[test]
fn conditions_select_before_sums() {
    let all = json_of(&["--group-by", "kind"]);
    let of = |kind: &str| json_of(&["--where", &format!("kind={kind}")]);
    let images = of("image");
    let row = all["hard"]["rows"].as_array().expect("rows").iter().find(|row| row["kind"] == "image").expect("a row");
    for key in ["events", "bytes", "waited_ns", "blocked_ns", "p95_ns"] {
        assert_eq!(images["hard"][key], row[key], "{key}");
    }
    assert_eq!(images["disk"]["operations"], 0, "requests have no kind");
    assert_eq!(images["soft"]["events"], 0, "nor have soft faults");
    let rows = all["soft"]["rows"].as_array().expect("rows");
    let process = rows[0]["process"].as_str().expect("a process");
    let own: Vec<_> = rows.iter().filter(|row| row["process"] == process).cloned().collect();
    let soft = json_of(&["--where", &format!("process={process}")])["soft"].clone();
    assert!(own.len() < rows.len(), "others are left out");
    assert_eq!(soft["rows"].as_array(), Some(&own));
    let ran = run(&["faults", TRACE, "--where", "process=nobody.exe*"]);
    assert!(ran.err.contains("matches nothing"), "{}", ran.err);
}

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(out(&["faults", TRACE, "-q"]));
    insta::assert_snapshot!(
        "disk_requests",
        out(&["faults", TRACE, "-q", "--of", "disk", "--group-by", "disk,operation"])
    );
    insta::assert_snapshot!("soft_faults", out(&["faults", TRACE, "-q", "--of", "soft", "--top", "4"]));
    insta::assert_snapshot!("over_time", out(&["faults", TRACE, "-q", "--timeline", "50ms"]));
}

#[test]
fn what_has_no_effect_is_refused() {
    for (more, says) in [
        (&["--of", "soft", "--group-by", "process"][..], "--group-by has no effect"),
        (
            &["--of", "soft", "--where", "file=*.dll"],
            "--where file: soft faults have none, it is of hard faults and disk requests",
        ),
        (&["--of", "soft", "--unit", "ms"], "--unit has no effect"),
        (&["--of", "hard", "--group-by", "disk"], "--group-by disk: hard faults have none, it is of disk requests"),
        (&["--of", "disk", "--group-by", "process,module"], "--group-by module: disk requests have none"),
        (&["--of", "disk", "--where", "kind=image"], "leave out --of disk or --where kind"),
        (&["--of", "hard", "--where", "operation=read"], "leave out --of hard or --where operation"),
        (
            &["--group-by", "disk", "--where", "kind=image"],
            "kind is of hard faults, disk of disk requests: no row has both",
        ),
        (&["--timeline", "50ms", "--top", "3"], "--top has no effect"),
        (&["--format", "csv", "--top", "3"], "has all rows"),
    ] {
        let ran = run(&[&["faults", TRACE], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{more:?}: {ran:?}");
        assert!(ran.err.contains(says), "{more:?}: {}", ran.err);
    }
}

/// A table by what hard faults do not have is one of disk requests, and no table is empty in silence.
#[test]
fn dimensions_of_requests_choose_requests() {
    for (chosen, group_by) in [
        (&["--group-by", "disk"][..], "disk"),
        (&["--group-by", "process,priority"], "process,priority"),
        (&["--group-by", "operation"], "operation"),
        (&["--where", "operation=read"], "process"),
    ] {
        let of_disk = [&["faults", TRACE, "-q", "--of", "disk"], chosen].concat();
        for form in [&["--format", "table"][..], &["--format", "csv"]] {
            let named = out(&[&of_disk, form].concat());
            assert_eq!(out(&[&["faults", TRACE, "-q"], chosen, form].concat()), named, "{chosen:?}");
            assert!(named.lines().count() > 1, "{named}");
        }
        assert_eq!(json_of(chosen)["group_by"], json!(group_by.split(',').collect::<Vec<_>>()));
    }
    let warned = |more: &[&str]| json_of(more)["warnings"].to_string();
    let none = "not counted, because of the conditions: hard faults have no operation, soft faults have no operation";
    assert!(warned(&["--where", "operation=read"]).contains(none));
    let none = "conditions: disk requests have no kind, soft faults have no kind";
    assert!(warned(&["--where", "process=*", "--where", "kind=image"]).contains(none));
    assert!(run(&["faults", TRACE, "--where", "kind=image"]).out.contains(none));
    assert!(!warned(&["--where", "process=*"]).contains("not counted"));
    // `n/a` is the label of a hard fault in no module; the others have no such label, and are left out as the line says.
    let no_module = json_of(&["--where", "module=n/a"]);
    assert!(no_module["warnings"].to_string().contains("disk requests have no module, soft faults have no module"));
    assert_eq!([&no_module["soft"]["events"], &no_module["disk"]["operations"]], [&json!(0); 2], "{no_module}");
}

#[test]
fn a_trace_without_faults_says_how_to_record_them() {
    let ran = run(&["faults", "resident-small.etl"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("HARD_FAULTS"), "{}", ran.err);
}
