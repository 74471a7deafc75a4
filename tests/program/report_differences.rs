//! `pfnset report` of several traces: the differential flame graph has the numbers of `pfnset stacks`.

use crate::diff_stacks::boot;
use crate::program::{fixtures, out, run};
use crate::report::{self, TRACE};
use etl_writer::file_of;
use serde_json::Value;
use std::collections::BTreeMap;

/// Weights of stacks by the name of their process, as `stacks` tells them.
fn weights_by_process(trace: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for line in out(&["stacks", trace, "-q", "--of", "samples", "--format", "collapsed", "--weight"]).lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a weight");
        if !stack.ends_with(";[no stack]") {
            let process = stack.split(';').next().and_then(|process| process.rsplit_once(" (")).expect("a process").0;
            *all.entry(process.to_owned()).or_default() += weight.parse::<u64>().expect("a number");
        }
    }
    all
}

/// Widths are those of the second trace, and what only the first one has is said.
#[test]
fn two_traces_with_stacks_have_a_differential_flame_graph() {
    let boots = [("KERNEL32.DLL", 3, 0x1_4000_0000), ("kernel32.dll", 6, 0x7ff6_1234_0000)];
    let files = boots.map(|(library, hot, base)| file_of(&boot(base, library, hot)));
    let [first, second] = files.each_ref().map(|file| file.path().to_str().expect("UTF-8"));
    let page = report::page(&[first, second]);
    let found = &report::data(&page)["stackDifferences"][0];
    let rows: Vec<[u64; 7]> = serde_json::from_value(found["rows"].clone()).expect("numbers");
    let name = |row: &[u64; 7]| found["names"][row[1] as usize].as_str().expect("a name").to_owned();
    let shown: Vec<(u64, String, u64, u64)> = rows.iter().map(|row| (row[0], name(row), row[6], row[3])).collect();
    let row = |depth, name: &str, before, now| (depth, name.to_owned(), before, now);
    let expected = [
        row(0, "app.exe", 6, 9),
        row(1, "app.exe+0x1010", 6, 9),
        row(2, "[unknown]", 1, 1),
        row(2, "kernel32.dll+0x20", 2, 2),
        row(3, "app.exe+0x1010", 1, 1),
    ];
    let sorted = |mut rows: Vec<(u64, String, u64, u64)>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(shown), sorted(expected.to_vec()), "one program in two boots");
    assert_eq!(found["whole"], serde_json::json!([6_000_000, 9_000_000]));
    let section = report::between(&page, "<section id=\"differences\">", "</section>");
    assert!(section.contains("which code got hotter") && !section.contains("Only in "), "{section}");

    let (second, whole) = ("stacks-keys.etl", |of: &BTreeMap<String, u64>| of.values().sum::<u64>());
    let page = report::page(&[first, second]);
    let found = &report::data(&page)["stackDifferences"][0];
    let told = [first, second].map(weights_by_process);
    assert_eq!(found["whole"], serde_json::json!(told.each_ref().map(whole)));
    let rows: Vec<[u64; 7]> = serde_json::from_value(found["rows"].clone()).expect("numbers");
    let roots: BTreeMap<String, u64> = (rows.iter().filter(|row| row[0] == 0))
        .map(|row| (found["names"][row[1] as usize].as_str().expect("a name").to_owned(), row[2]))
        .collect();
    assert_eq!(roots, told[1]);
    let mut way: Vec<[u64; 2]> = Vec::new();
    for row in &rows {
        way.truncate(row[0] as usize);
        if let Some(left) = way.last_mut() {
            *left = [left[0].checked_sub(row[5]), left[1].checked_sub(row[2])].map(|left| left.expect("a part"));
        }
        way.push([row[5], row[2]]);
    }
    let section = report::between(&page, "<section id=\"differences\">", "</section>");
    assert!(section.contains(", so not drawn: 6.00 ms, 100.0 % of its samples with a stack, in "), "{section}");
}

/// A picture that needs the samples of both is not missing without a word.
#[test]
fn a_trace_without_samples_is_named() {
    let page = report::page(&["stacks-keys.etl", "alloc-x86.etl"]);
    let section = report::between(&page, "<section id=\"differences\">", "</section>");
    let says = "Not shown: which code got hotter, because alloc-x86.etl has no samples with stacks";
    assert!(section.contains(says) && report::data(&page)["stackDifferences"][0].is_null(), "{section}");
    let page = report::page(&["alloc-x86.etl", "alloc-x86.etl"]);
    assert!(!page.contains("which code got hotter"), "neither has any");
}

/// A copy of the trace.
fn copy() -> tempfile::NamedTempFile {
    let copy = tempfile::Builder::new().suffix(".etl").tempfile().expect("a file");
    std::fs::copy(fixtures().join(TRACE), copy.path()).expect("a copy");
    copy
}

/// Each trace once, as in `check` and `export`.
#[test]
fn a_trace_that_is_named_twice_counts_once() {
    let ran = run(&["report", TRACE, "refset-proved.etl", "./resident-small.etl"]);
    assert!(ran.err.contains("./resident-small.etl is named twice: it counts once"), "{}", ran.err);
    assert_eq!(report::data(&ran.out)["traces"].as_array().map(Vec::len), Some(2));
}

#[test]
fn several_traces_are_compared_with_the_first() {
    let copy = copy();
    let whole = report::page(&[TRACE, "refset-proved.etl", copy.path().to_str().expect("a plain name")]);
    assert!(whole.contains("Nothing differs: each category and each process has as many pages in both."));
    let data = report::data(&whole);
    assert_eq!(data["traces"].as_array().map(Vec::len), Some(3));
    let json: Value = serde_json::from_str(
        &run(&["diff", "-q", TRACE, "refset-proved.etl", "--group-by", "category", "--format", "json"]).out,
    )
    .expect("JSON");
    let first = &data["differences"][0]["byCategory"][0];
    let row = &json["differing"][0];
    assert_eq!(first[0], row["category"]);
    assert_eq!(data["differences"][1]["byCategory"].as_array().map(Vec::len), Some(0), "a trace is like itself");
}

/// `check --baseline` told it, and the report of the same two traces did not.
#[test]
fn differences_of_two_machines_say_so() {
    let [one, other] = ["resident-small.etl", "refset-proved.etl"].map(|name| fixtures().join(name));
    let [one, other] = [&one, &other].map(|path| path.to_str().expect("UTF-8"));
    let says = "it was recorded on a machine with";
    let section = |page: &str| report::between(page, "<section id=\"differences\">", "</section>").to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let same = folder.path().join("same.etl");
    std::fs::copy(one, &same).expect("a fixture");
    assert!(section(&report::page(&[one, other])).contains(says));
    assert!(!section(&report::page(&[one, same.to_str().expect("UTF-8")])).contains(says));
}
