//! `pfnset diff --of KIND`: against what `pfnset stacks` says of each side, and on two boots of one program.

use crate::program::{Ran, out, run};
use crate::random_cases::{one_in, one_run_in};
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::perf;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Session, Trace, file_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const TRACE: &str = "stacks-keys.etl";
const OTHER: &str = "resident-small.etl";

fn diff(more: &[&str]) -> (i32, Value) {
    let ran = run(&[&["diff", "-q", "--format", "json"], more].concat());
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}")))
}

fn stacks(trace: &str, more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["stacks", trace, "-q", "--format", "json"], more].concat())).expect("JSON")
}

fn rows(of: &Value, key: &str) -> Vec<Value> {
    of[key].as_array().cloned().unwrap_or_default()
}

fn all_rows(of: &Value) -> Vec<Value> {
    [rows(of, "differing"), rows(of, "agreeing")].concat()
}

#[test]
fn a_trace_is_equal_to_itself_in_every_kind_and_grouping() {
    let kinds = ["samples", "cswitch", "ready", "virtual-alloc", "page-access", "hard-fault", "heap", "pool", "0x0f2e"];
    for kind in one_in(1, kinds.to_vec()) {
        for measure in ["self", "total"] {
            let (code, found) = diff(&[TRACE, TRACE, "--of", kind, "--measure", measure, "--all"]);
            assert_eq!((code, &found["equal"]), (0, &json!(true)), "{kind}");
            assert!(rows(&found, "differing").is_empty() && !rows(&found, "agreeing").is_empty(), "{kind} {measure}");
        }
    }
    for dimension in one_in(1, vec!["process", "thread", "processor", "module", "function", "stack"]) {
        let (code, found) = diff(&[TRACE, TRACE, "--of", "samples", "--group-by", dimension, "--all"]);
        let sum = |key: &str| rows(&found, "agreeing").iter().map(|row| row[key].as_u64()).sum::<Option<u64>>();
        assert_eq!(
            (code, sum("left_self"), sum("right_self_weight")),
            (0, Some(297), Some(288_000_000)),
            "{dimension}"
        );
    }
}

/// Sums of functions, where those of all addresses that nothing names are not looked at.
fn by_function(side: &str, found: &Value) -> BTreeMap<String, [u64; 4]> {
    let names = ["self", "total", "self_weight", "total_weight"];
    let number = |row: &Value, name: &str| row[format!("{side}{name}")].as_u64().expect("a number");
    let rows = all_rows(found).into_iter().chain(rows(found, "functions"));
    let is_named =
        |row: &Value| row["function"].as_str().is_some_and(|name| !name.starts_with("0x") && name != "[unknown]");
    let rows = rows
        .filter(is_named)
        .map(|row| (row["function"].as_str().expect("a label").to_owned(), names.map(|name| number(&row, name))));
    rows.filter(|(_, sums)| *sums != [0; 4]).collect()
}

const KINDS: [(&str, &[&str]); 3] = [("samples", &[]), ("cswitch", &[]), ("samples", &["--where", "module=nt*"])];

/// Each side has the functions of `stacks`, with their numbers; together they are the row of both.
#[track_caller]
fn assert_sides_are_those_of_stacks(left: &str, right: &str, kinds: &[(&str, &[&str])]) {
    for &(kind, more) in kinds {
        let arguments = [&[left, right, "--of", kind, "--all"], more].concat();
        let ran = run(&[&["diff", "-q", "--format", "json"], &arguments[..]].concat());
        if ran.code == 4 {
            continue;
        }
        let found: Value = serde_json::from_str(&ran.out).expect("JSON");
        for (side, trace) in [("left_", left), ("right_", right)] {
            let own = stacks(trace, &[&["--of", kind], more].concat());
            assert_eq!(by_function(side, &found), by_function("", &own), "{side} {kind}");
            let totals = json!([own["totals"]["events"], own["totals"]["weight"]]);
            let total = ["self", "total_weight"].map(|name| found["total"][format!("{side}{name}")].clone());
            assert_eq!(json!(total), totals, "{side} {kind}");
            let sum: u64 = all_rows(&found).iter().filter_map(|row| row[format!("{side}self")].as_u64()).sum();
            assert_eq!(json!(sum), own["totals"]["events"], "self adds up");
        }
        for row in all_rows(&found) {
            let number = |name: &str| row[name].as_i64().expect("a number");
            let (left, right) = (number("left_self_weight"), number("right_self_weight"));
            assert_eq!(number("delta_weight"), right - left, "{row}");
            let of = found["total"]["left_self_weight"].as_f64().expect("a weight");
            let share = row["left_share"].as_f64().expect("a share");
            assert!((share - left as f64 * 100.0 / of.max(1.0)).abs() < 1e-9, "{row}");
        }
        assert!(rows(&found, "differing").iter().all(|row| row["delta_weight"] != json!(0)));
    }
}

#[test]
fn both_sides_are_those_of_stacks() {
    for (left, right) in [(TRACE, OTHER), (OTHER, TRACE)] {
        assert_sides_are_those_of_stacks(left, right, &one_in(1, KINDS.to_vec()));
    }
}

#[test]
fn both_sides_are_those_of_stacks_also_of_a_recorded_trace() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/real/net.4.5.2.x64.etl");
    match trace.to_str().filter(|_| trace.exists()) {
        Some(_) if !one_run_in(1) => {}
        Some(trace) => assert_sides_are_those_of_stacks(trace, TRACE, &one_in(3, KINDS.to_vec())),
        None => eprintln!("SKIPPED: differences of recorded samples, no {}", trace.display()),
    }
}

/// A boot of one program: its modules at `base`, with samples in `app.exe+0x1010` (`hot` of them), in `kernel32.dll` called by it, at an
/// address that nothing names, and one without a stack.
pub(crate) fn boot(base: u64, library: &str, hot: u64) -> Vec<u8> {
    let session = Session { processors: 2, ..Session::windows10() };
    let t0 = session.t0;
    let image = |base: u64, name: &str| {
        let image = Image { base, size: 0x1_0000, pid: 8, name: format!(r"\Windows\{name}"), ..Image::default() };
        image.rec(P8, 2, image::LOAD).by(16, 8)
    };
    let mut records = vec![
        Process::new(8, "app.exe").rec(P8, 4, process::DC_START).at(t0),
        image(base, "app.exe").at(t0 + 1),
        image(base + 0x10_0000, library).at(t0 + 2),
    ];
    let (app, own, unknown) = (base + 0x1010, base + 0x10_0020, base + 0x40_0000);
    let mut time = t0 + 100;
    let mut sampled = |frames: &[u64]| {
        time += 10_000;
        records.push(perf::sample(P8, frames.first().copied().unwrap_or(base), 16, 0).at(time));
        if !frames.is_empty() {
            records.push(perf::stack(P8, time, 8, 16, frames).at(time + 2));
        }
    };
    (0..hot).for_each(|_| sampled(&[app]));
    sampled(&[own, app]);
    // Recursion counts once.
    sampled(&[app, own, app]);
    sampled(&[unknown, app]);
    sampled(&[]);
    Trace::new(session).push_all(records).finish()
}

#[test]
fn boots_have_the_same_rows_wherever_their_images_are() {
    let first = file_of(&boot(0x1_4000_0000, "KERNEL32.DLL", 3));
    let second = file_of(&boot(0x7ff6_1234_0000, "kernel32.dll", 5));
    let [left, right] = [&first, &second].map(|file| file.path().to_str().expect("UTF-8"));
    let sides =
        |row: &Value, name: &str| ["left_", "right_"].map(|side| row[format!("{side}{name}")].as_u64().unwrap_or(0));
    let shown = |more: &[&str]| {
        let (code, found) = diff(&[&[left, right, "--of", "samples", "--all"], more].concat());
        assert_eq!(code, 1, "{found}");
        let label = |row: &Value| {
            row["function"].as_str().or(row["module"].as_str()).or(row["stack"].as_str()).expect("a label").to_owned()
        };
        let rows = all_rows(&found);
        rows.iter().map(|row| (label(row), sides(row, "self"), sides(row, "total"))).collect::<Vec<_>>()
    };
    let row = |label: &str, own: [u64; 2], total: [u64; 2]| (label.to_owned(), own, total);
    let functions = [
        row("app.exe+0x1010", [4, 6], [6, 8]),
        row("[no stack]", [1, 1], [1, 1]),
        row("[unknown]", [1, 1], [1, 1]),
        row("KERNEL32.DLL+0x20", [1, 1], [2, 2]),
    ];
    assert_eq!(shown(&[]), functions);
    let modules = [
        row("app.exe", [4, 6], [6, 8]),
        row("[no stack]", [1, 1], [1, 1]),
        row("KERNEL32.DLL", [1, 1], [2, 2]),
        row("n/a", [1, 1], [1, 1]),
    ];
    assert_eq!(shown(&["--group-by", "module"]), modules);
    let by_stack = shown(&["--group-by", "stack"]);
    assert_eq!(by_stack[0], row("app.exe+0x1010", [3, 5], [3, 5]));
    assert!(by_stack.contains(&row("app.exe+0x1010;[unknown]", [1, 1], [1, 1])), "{by_stack:?}");
    assert_eq!(by_stack.len(), 5, "{by_stack:?}");
    // An event without a stack is in no function that a condition names.
    let (_, found) = diff(&[left, right, "--of", "samples", "--where", "function=kernel32.dll*", "--all"]);
    assert_eq!(sides(&found["total"], "self"), [2, 2], "{found}");
    let (code, found) = diff(&[left, right, "--of", "samples", "--where", "function=nothing"]);
    assert_eq!((code, &found["equal"]), (1, &json!(false)), "nothing was compared");
}

#[test]
fn amounts_and_shares_have_orders_of_their_own() {
    let first = file_of(&boot(0x1_4000_0000, "kernel32.dll", 1));
    let second = file_of(&boot(0x1_4000_0000, "kernel32.dll", 9));
    let [left, right] = [&first, &second].map(|file| file.path().to_str().expect("UTF-8"));
    let (_, found) = diff(&[left, right, "--of", "samples", "--sort", "share", "--all"]);
    let shares: Vec<(String, f64)> = (all_rows(&found).iter())
        .map(|row| {
            let share = |side: &str| row[format!("{side}_share")].as_f64().expect("a share");
            (row["function"].as_str().expect("a label").to_owned(), share("right") - share("left"))
        })
        .collect();
    assert_eq!(shares[0].0, "app.exe+0x1010");
    // 2 of 5 became 10 of 13; 1 of 5 became 1 of 13.
    assert!((shares[0].1 - (1000.0 / 13.0 - 40.0)).abs() < 1e-9, "{shares:?}");
    let lost = shares.iter().filter(|(_, points)| (points - (100.0 / 13.0 - 20.0)).abs() < 1e-9).count();
    assert_eq!(lost, 3, "{shares:?}");
    let warnings = rows(&found, "warnings");
    assert!(warnings.iter().any(|line| line.as_str().is_some_and(|line| line.starts_with("LEFT spans "))), "{found}");
    let (code, found) = diff(&[left, right, "--of", "samples", "--tolerance", "80%"]);
    assert_eq!((code, &found["equal"], &found["rows_within_tolerance"]), (0, &json!(true), &json!(1)), "{found}");
}

#[test]
fn symbol_files_name_functions_of_both_sides() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let (trace, symbols) = (beside.join("traces/synthetic/stacks-symbols.etl"), beside.join("symbols/flat"));
    let (Some(trace), Some(symbols)) = (trace.to_str().filter(|_| trace.exists()), symbols.to_str()) else {
        return eprintln!("SKIPPED: differences by names of symbol files, no {}", trace.display());
    };
    let (_, found) = diff(&[trace, TRACE, "--of", "samples", "--symbols", symbols]);
    let own = stacks(trace, &["--of", "samples", "--symbols", symbols]);
    assert_eq!(
        by_function("left_", &found),
        by_function("", &own).into_iter().filter(|(_, sums)| sums[0] > 0).collect()
    );
    assert!(by_function("left_", &found).keys().any(|name| name.contains('!')), "{found}");
}

#[test]
fn screens() {
    let shown = |more: &[&str]| -> String {
        let ran: Ran = run(&[&["diff", TRACE, OTHER, "-q"], more].concat());
        assert_eq!(ran.code, 1, "{ran:?}");
        ran.out
    };
    insta::assert_snapshot!("diff_samples", shown(&["--of", "samples", "--top", "5"]));
    insta::assert_snapshot!(
        "diff_modules",
        shown(&["--of", "samples", "--group-by", "module", "--measure", "total", "--top", "3"])
    );
    insta::assert_snapshot!("diff_samples_markdown", shown(&["--of", "samples", "--top", "2", "--format", "markdown"]));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    for (arguments, code, says) in [
        (&["diff", TRACE, "refset-small.etl", "--of", "hard-fault"][..], 4, "RIGHT (refset-small.etl): "),
        (
            &["diff", TRACE, TRACE, "--of", "sample"],
            2,
            "LEFT: unknown kind of event \"sample\"; did you mean \"samples\"?",
        ),
        (&["diff", TRACE, TRACE, "--of", "samples", "--refset"], 2, "--refset"),
        (&["diff", TRACE, TRACE, "--of", "samples", "--snapshot", "0"], 2, "--snapshot"),
        (&["diff", TRACE, TRACE, "--of", "samples", "--measure", "peak"], 2, "is for --allocations"),
        (&["diff", TRACE, TRACE, "--measure", "self"], 2, "is for --of samples"),
        (&["diff", TRACE, TRACE, "--sort", "share"], 2, "--sort share is for --of samples"),
        (&["diff", TRACE, TRACE, "--of", "samples", "--tolerance", "1 MiB"], 2, "the tolerance of samples is a share"),
        (&["diff", TRACE, TRACE, "--of", "samples", "--unit", "mib"], 2, "counts no memory"),
        (
            &["diff", TRACE, TRACE, "--of", "samples", "--group-by", "module", "--symbols", "."],
            2,
            "--symbols names functions",
        ),
        (&["diff", TRACE, TRACE, "--of", "samples", "--group-by", "tag"], 2, "unknown dimension"),
    ] {
        let ran = run(arguments);
        assert!(ran.code == code && ran.out.is_empty() && ran.err.contains(says), "{arguments:?}: {ran:?}");
    }
}

/// That no record has a stack was followed by a line that no event has one.
#[test]
fn that_a_side_has_no_stacks_is_said_once() {
    let (_, found) = diff(&[OTHER, TRACE, "--of", "samples"]);
    let of = |side: &str| -> Vec<String> {
        let all = found["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
        all.filter(|text| text.starts_with(side) && text.contains("stack")).map(str::to_owned).collect()
    };
    assert_eq!(of("LEFT: ").len(), 1, "{found:#}");
    assert!(of("LEFT: ")[0].contains("no record of the trace has a stack"), "{found:#}");
    assert!(of("RIGHT: ").iter().all(|text| !text.contains("no record")), "{found:#}");
}

/// Without stacks all samples are in one row, `[no stack]`, and two traces were equal by it, whatever ran.
#[test]
fn sides_without_stacks_are_not_equal_by_code() {
    const BARE: &str = "cpu-compressed.etl";
    let one_line = |ran: &Ran| ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "neither side has a stack of what is compared";
    for more in [
        &["--of", "samples"][..],
        &["--of", "samples", "--strict", "--tolerance", "2%"],
        &["--of", "samples", "--format", "json"],
        &["--of", "samples", "--group-by", "module"],
        &["--of", "samples", "--group-by", "process,function", "--measure", "total"],
        &["--of", "samples", "--group-by", "process", "--where", "function=!x*"],
        &["--of", "cswitch"],
    ] {
        let ran = run(&[&["diff", BARE, BARE, "-q"], more].concat());
        assert!(ran.code == 4 && ran.out.is_empty() && one_line(&ran).contains(says), "{more:?}: {ran:?}");
    }
    // So too of pages and of what was allocated.
    for (trace, more) in [
        (OTHER, &["--group-by", "function"][..]),
        (OTHER, &["--where", "module=!x*"]),
        ("refset-small.etl", &["--refset", "--group-by", "module"]),
        ("alloc-x86.etl", &["--allocations", "--group-by", "process,stack"]),
    ] {
        let ran = run(&[&["diff", trace, trace, "-q"], more].concat());
        assert!(ran.code == 4 && one_line(&ran).contains(says), "{trace} {more:?}: {ran:?}");
    }
    // No code is needed to compare by process.
    let (code, found) = diff(&[BARE, BARE, "--of", "samples", "--group-by", "process"]);
    assert_eq!((code, &found["equal"]), (0, &json!(true)), "{found:#}");
    // One side with stacks differs from one without.
    let (code, found) = diff(&[OTHER, TRACE, "--of", "samples"]);
    assert_eq!((code, &found["equal"]), (1, &json!(false)), "{found:#}");
}

/// The trace has stacks, but not of the events that the condition chooses.
#[test]
fn events_without_stacks_are_not_equal_by_code() {
    let chosen = |by: &str| {
        let ran =
            run(&["diff", TRACE, TRACE, "-q", "--of", "samples", "--where", "function=[no stack]", "--group-by", by]);
        (ran.code, ran.err.contains("neither side has a stack"))
    };
    assert_eq!(chosen("function"), (4, true));
    assert_eq!(chosen("process"), (0, false));
}
