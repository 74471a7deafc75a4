//! Samples: of what shares are, in `cpu` and in `stacks`, and what is said of time without samples.

use crate::program::{out, run};
use serde_json::Value;
use std::path::Path;

/// 626 records, 143 of which stand for three intervals each.
fn of_several_intervals() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/symbols/stacks-symbols.etl.gz");
    path.to_string_lossy().into_owned()
}

/// A processor without any record is in the exact shares and not in those of samples; nothing said so.
#[test]
fn shares_of_samples_and_exact_shares_name_what_they_are_of() {
    let shown = out(&["cpu", "cpu-compressed.etl", "--preset", "sampling", "-q"]);
    let base = "Samples % is of 1,495 samples, Exact % of 299.95 ms × 6 processors, 16.7 % of it not known";
    assert!(shown.contains(base), "{shown}");
    let csv = out(&["cpu", "cpu-compressed.etl", "--preset", "sampling", "--format", "csv", "-q"]);
    assert!(csv.starts_with("process,") && !csv.contains("Samples % is"), "{csv}");
}

/// Shares of chosen stacks are of these, which only a line with all numbers told.
#[test]
fn chosen_stacks_say_that_shares_are_of_them() {
    let of = |more: &[&str]| run(&[&["stacks", "stacks-keys.etl", "-q"], more].concat()).out;
    let leaf = of(&["--leaf", "ntoskrnl*"]);
    assert!(leaf.contains("Shares and sums are of the events whose innermost function matches ntoskrnl*, not of all"));
    let both = of(&["--leaf", "ntoskrnl*", "--where", "process=Idle*"]);
    assert!(both.contains("matches ntoskrnl* and that meet the conditions, not of all"), "{both}");
    assert!(of(&["--where", "process=Idle*"]).contains("Shares and sums are of the events that meet the conditions"));
    assert!(!of(&[]).contains("Shares and sums"));
}

/// What a command says, without the breaks of lines.
fn words(arguments: &[&str]) -> String {
    run(arguments).out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn records_that_stand_for_several_intervals_are_told() {
    let trace = of_several_intervals();
    let shown = words(&["cpu", &trace, "-q"]);
    assert!(shown.contains("143 records stand for several intervals (field Count), which Time counts"), "{shown}");
    let json: Value = serde_json::from_str(&run(&["cpu", &trace, "-q", "--format", "json"]).out).expect("JSON");
    let stacks: Value = serde_json::from_str(&run(&["stacks", &trace, "-q", "--format", "json"]).out).expect("JSON");
    assert_eq!(json["samples"]["time_ns"], stacks["totals"]["weight"]);
    assert_eq!(json["samples"]["time_ns"], 912_000_000);
    // 626 records of 1 ms, and two more for each of the 143.
    assert_eq!(json["samples"]["events"].as_u64().map(|events| events + 2 * 143), Some(912));
}

/// A window without samples looked like idle processors; so did what follows the last sample.
#[test]
fn a_window_says_where_its_samples_are() {
    let trace = of_several_intervals();
    let all = words(&["cpu", &trace, "-q"]);
    assert!(all.contains("626 samples from 0.00") && !all.contains("No sample"), "less than ten intervals: {all}");
    let none = words(&["cpu", &trace, "--to", "0.00001", "-q"]);
    assert!(none.contains("No samples; those of the trace are from 0.00"), "{none}");
}
