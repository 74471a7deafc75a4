//! Budgets beside what no record names: pages of processes without a record, drivers where no image of the kernel is known.

use crate::check::{check, folder, json};
use crate::program::fixtures;
use serde_json::Value;
use std::fs;

/// Budgets of pages with these conditions and limits.
fn budgets(all: &[(&str, &str)]) -> String {
    let of = |(at, (conditions, limit)): (usize, &(&str, &str))| {
        format!("[[budget]]\nname = \"{at}\"\nwhere = {{ {conditions} }}\n{limit}\n")
    };
    all.iter().enumerate().map(of).collect()
}

/// The verdicts with their reasons.
fn verdicts(trace: &str, all: &[(&str, &str)]) -> Vec<(String, String)> {
    let folder = folder(&budgets(all));
    fs::copy(fixtures().join(trace), folder.path().join(trace)).expect("a fixture");
    let found = json(&check(&folder, &format!("{trace} --budgets budgets.toml --format json -q")));
    let text = |budget: &Value, name: &str| budget[name].as_str().unwrap_or_default().to_owned();
    let budgets = found["traces"][0]["budgets"].as_array().expect("budgets");
    budgets.iter().map(|budget| (text(budget, "verdict"), text(budget, "reason"))).collect()
}

/// Budgets of ordinary files were invalid for that no image of the kernel is known.
#[test]
fn files_are_known_without_images_of_the_kernel() {
    let limit = "max = \"1 GiB\"";
    let of_files = ["detail = \"*ntdll.dll\"", "detail = \"*data*.dat\"", "category = \"Image\", detail = \"*.dll\""];
    for (verdict, reason) in verdicts("refset-proved.etl", &of_files.map(|conditions| (conditions, limit))) {
        assert_eq!((verdict.as_str(), reason.as_str()), ("pass", ""));
    }
    let of_drivers =
        ["detail = \"*.sys\"", "detail = \"*\\\\ntoskrnl.exe\"", "detail = \"n/a\"", "category = \"Driver\""];
    for (verdict, reason) in verdicts("refset-proved.etl", &of_drivers.map(|conditions| (conditions, limit))) {
        assert!(verdict == "invalid" && reason.contains("no image of the kernel is known"), "{verdict}: {reason}");
    }
}

/// The pages that a condition chooses counted once more, as what it could choose.
#[test]
fn what_conditions_choose_of_nobody_counts_once() {
    let all = [
        ("process = \"Unknown (0xe0801fffe080)\"", "max = \"5 pages\""),
        ("process = \"shared*\"", "max = \"1416 pages\""),
        ("process = \"n/a\"", "max = \"668 pages\""),
    ];
    for (verdict, reason) in verdicts("resident-small.etl", &all) {
        assert!(verdict == "watch" && reason.contains(" left below max "), "{verdict}: {reason}");
    }
}
