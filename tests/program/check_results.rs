//! A result as the baseline of budgets: what was wrong when it was written counts as it does of its trace.

use crate::check::{check, folder, json, without_buffer};
use crate::check_unnamed::{NOBODY, moved_to};
use crate::program::{Ran, finish, fixtures, pfnset};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a budgets file, the traces of fixtures, and this result.
fn with_result(budget: &str, arguments: &[&str]) -> TempDir {
    let folder = folder(&format!("[[budget]]\nname = \"it\"\n{budget}\n"));
    std::fs::copy(fixtures().join("refset-proved.etl"), folder.path().join("refset-proved.etl")).unwrap();
    for number in [2, 3] {
        without_buffer(&folder, "resident-small.etl", number);
    }
    write(&folder, arguments);
    folder
}

fn write(folder: &TempDir, arguments: &[&str]) {
    let whole = [arguments, &["--format", "json", "-o", "result.json"]].concat();
    let ran = finish(pfnset(&whole).current_dir(folder.path()));
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// Verdict and reason of the budget of a trace, against this baseline.
fn of(folder: &TempDir, trace: &str, baseline: &str) -> (String, String) {
    let line = format!("{trace} --budgets budgets.toml --baseline {baseline} --format json");
    let budget = json(&check(folder, &line))["traces"][0]["budgets"][0].clone();
    let text = |key: &str| budget[key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("reason"))
}

/// Against the result the verdict is that against its trace, with the same reason.
fn same(budget: &str, result: &[&str], now: &str, (verdict, reason): (&str, &str)) {
    let folder = with_result(budget, result);
    for baseline in ["result.json", result[1]] {
        let (found, told) = of(&folder, now, baseline);
        assert!(found == verdict && told.contains(reason), "{budget} {baseline}: {found} {told}");
    }
}

#[test]
fn categories_without_an_image_of_the_kernel_are_unknown() {
    let by = |dimension| ["resident", "refset-proved.etl", "--group-by", dimension];
    let says = "no image of the kernel is known: drivers count as SystemPage";
    let invalid = ("invalid", says);
    for category in [r#""SystemPage""#, r#""Driver""#, r#"["Driver", "DriverLockedSystemPage"]"#] {
        let budget = format!("max_growth = \"10 %\"\nwhere = {{ category = {category} }}");
        same(&budget, &by("category"), "resident-small.etl", invalid);
    }
    let detail = "max_growth = \"10 %\"\nwhere = { detail = \"*dll*\" }";
    same(detail, &by("detail"), "resident-small.etl", invalid);
    // Whose the pages are, and those of files, are known all the same.
    same("max_growth = \"900 %\"", &by("category"), "resident-small.etl", ("pass", ""));
    let files = "max_growth = \"900 %\"\nwhere = { category = \"MapFile\" }";
    same(files, &by("category"), "resident-small.etl", ("pass", ""));
    let processes = "max_growth = \"900 %\"\nwhere = { process = \"lsass.exe\" }";
    same(processes, &by("process"), "resident-small.etl", ("pass", ""));
}

#[test]
fn accounts_that_are_wrong_are_no_baseline() {
    let result = ["refset", "refset-small.etl", "--group-by", "category"];
    let budget = "analysis = \"refset\"\nmax_growth = \"0\"";
    same(
        budget,
        &result,
        "refset-proved.etl",
        ("invalid", "the account differs from the final page sequence by 2.31 %"),
    );
}

#[test]
fn pages_beside_lost_buffers_are_no_baseline() {
    for (lossy, condition) in [("lossy-3.etl", "list = \"Active\""), ("lossy-2.etl", "category = \"MapFile\"")] {
        let by = condition.split(' ').next().unwrap();
        let budget = format!("max_growth = \"10 %\"\nwhere = {{ {condition} }}");
        let result = ["resident", lossy, "--group-by", by];
        let folder = with_result(&budget, &result);
        let (verdict, reason) = of(&folder, "resident-small.etl", "result.json");
        let says = "A baseline that is the trace, or is saved from it, knows which budgets that concerns";
        assert!(
            verdict == "invalid" && reason.contains("when the baseline was written") && reason.contains(says),
            "{reason}"
        );
        assert_eq!(of(&folder, "resident-small.etl", lossy).0, "invalid");
        // Nor is it one after somebody took the codes of its doubts.
        let path = folder.path().join("result.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"code\": ", "\"mode\": ")).unwrap();
        assert_eq!(of(&folder, "resident-small.etl", "result.json").0, "invalid");
    }
}

/// The result says how long the scenario was, and the growth of what is held says little after one of another length.
#[test]
fn scenarios_of_other_lengths_are_told() {
    let result = ["refset", "refset-proved.etl", "--group-by", "category"];
    let folder = with_result("analysis = \"refset\"\nmax_growth = \"0\"", &result);
    let line = "refset-proved.etl --budgets budgets.toml --baseline result.json --format json";
    let ran = |other: &str| -> [Ran; 2] {
        [
            check(&folder, line),
            finish(pfnset(&["diff", other, "refset-proved.etl", "--format", "json"]).current_dir(folder.path())),
        ]
    };
    let told = |ran: &[Ran; 2]| ran.each_ref().map(|ran| json(ran).to_string().contains("grows with the time"));
    assert_eq!(told(&ran("result.json")), [false, false]);
    let path = folder.path().join("result.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let [start, stop] = ["start_s", "stop_s"].map(|key| document["window"][key].as_f64().unwrap());
    document["window"]["stop_s"] = (start + (stop - start) * 4.0).into();
    std::fs::write(&path, document.to_string()).unwrap();
    assert_eq!(told(&ran("result.json")), [true, true]);
}

/// Labels that the trace does not tell are in no result either.
#[test]
fn dimensions_that_the_trace_does_not_tell_are_no_baseline() {
    for (dimension, label, says) in [
        ("pool_tag", "ETWB", "no pool snapshot tells what was allocated before the trace"),
        ("service", "Dhcp", "the trace lists no services"),
    ] {
        let budget = format!("max_growth = \"10 %\"\nwhere = {{ {dimension} = \"{label}\" }}\noptional = true");
        let result = ["resident", "refset-proved.etl", "--group-by", dimension];
        let folder = with_result(&budget, &result);
        let (verdict, reason) = of(&folder, "resident-small.etl", "result.json");
        let is_told = reason.contains(says) || reason.contains("no record of the pool");
        assert!(verdict == "invalid" && is_told, "{dimension}: {verdict} {reason}");
    }
}

/// Pages of a process that no record of the earlier trace names were growth against its result, or hid it; against the trace they were not.
#[test]
fn what_no_record_names_of_a_result_can_be_growth_or_hide_it() {
    let folder = folder("");
    std::fs::write(folder.path().join("before.etl"), moved_to(1, NOBODY)).unwrap();
    std::fs::write(folder.path().join("whole.etl"), moved_to(0, NOBODY)).unwrap();
    write(&folder, &["resident", "before.etl", "--group-by", "process,process_name,pid,session,category"]);
    for (conditions, max_growth, verdict) in [
        ("process = \"lsass.exe\"", "0", "invalid"),
        ("process_name = \"lsass.exe\"", "0", "invalid"),
        ("pid = 780", "0", "invalid"),
        ("session = 0", "0", "invalid"),
        ("process = \"!lsass.exe\"", "0", "invalid"),
        ("process_name = \"!lsass.exe\"", "0", "invalid"),
        ("pid = \"!780\"", "0", "invalid"),
        ("session = \"!0\"", "0", "invalid"),
        ("process = \"lsass.exe\"", "10 pages", "pass"),
        ("process = \"!lsass.exe\"", "10 pages", "pass"),
        ("session = \"!0\"", "10 pages", "pass"),
    ] {
        let budget = format!("[[budget]]\nname = \"a\"\nwhere = {{ {conditions} }}\nmax_growth = \"{max_growth}\"\n");
        std::fs::write(folder.path().join("budgets.toml"), budget).unwrap();
        for baseline in ["before.etl", "result.json"] {
            let (found, reason) = of(&folder, "whole.etl", baseline);
            let said = reason.starts_with("of the baseline: no record names the process of ");
            assert!(found == verdict && said == (verdict == "invalid"), "{conditions} {baseline}: {found} {reason}");
        }
    }
}
