//! The tables `stacks`, `stack_events` and `piece_stacks`: against what `pfnset stacks` and `pfnset allocations` say.

use super::{Row, id_of, parts, rows};
use crate::program::{out, run};
use crate::random_cases::{one_in, one_run_in};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const TRACE: &str = "stacks-keys.etl";

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&out(&[arguments, &["-q", "--format", "json"]].concat())).expect("JSON")
}

/// Frames of the stacks of a dataset of one trace, by their numbers.
fn frames(dataset: &Path) -> BTreeMap<String, Vec<String>> {
    let of = |(_, row): &(String, Row)| {
        (row["stack_id"].clone(), serde_json::from_str(&row["frames"]).expect("a list of texts"))
    };
    let found = rows(dataset, "stacks");
    let all: BTreeMap<String, Vec<String>> = found.iter().map(of).collect();
    assert_eq!(all.len(), found.len(), "each number once");
    assert!(all.values().all(|frames| !frames.is_empty()));
    all
}

/// Self and total of functions as the tables have them, and what stands in no stack.
#[track_caller]
fn assert_events_are_those_of_stacks(trace: &str, more: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    out(&[&["export", trace, "--out", dataset, "--stacks", "-q"], more].concat());
    let frames = frames(folder.path());
    let events = rows(folder.path(), "stack_events");
    let kinds: BTreeSet<&str> = events.iter().map(|(_, row)| row["event_kind"].as_str()).collect();
    assert!(kinds.contains("samples"));
    for kind in kinds {
        let told = json(&[&["stacks", trace, "--of", kind], more].concat());
        let mut found: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
        let mut all = [0; 4];
        for (_, row) in events.iter().filter(|(_, row)| row["event_kind"] == kind) {
            assert_eq!(row["weight_unit"], told["weight"].as_str().unwrap());
            let weight: u64 = row.get("weight").map_or(0, |weight| weight.parse().unwrap());
            let stack = row.get("stack_id").map(|number| &frames[number]);
            let known = u64::from(!row.contains_key("weight"));
            [1, u64::from(stack.is_some()), weight, known].iter().zip(&mut all).for_each(|(one, sum)| *sum += one);
            let distinct: BTreeSet<&String> = stack.into_iter().flatten().collect();
            for function in distinct {
                let sums = found.entry(function).or_default();
                let own = u64::from(stack.and_then(|frames| frames.last()) == Some(function));
                [own, 1, own * weight, weight].iter().zip(sums).for_each(|(one, sum)| *sum += one);
            }
        }
        let number = |value: &Value| value.as_u64().expect("a number");
        let totals = ["events", "with_stack", "weight", "weight_unknown"].map(|name| number(&told["totals"][name]));
        // Weights of waits are rounded to nanoseconds one by one.
        assert!(totals[2].abs_diff(all[2]) <= all[0] && (totals[0], totals[1], totals[3]) == (all[0], all[1], all[3]));
        let functions = told["functions"].as_array().expect("functions");
        let functions = functions.iter().filter(|row| row["function"] != "[no stack]");
        for row in functions {
            let name = row["function"].as_str().expect("a label");
            let sums = found.remove(name).unwrap_or_else(|| panic!("{kind}: no {name}"));
            let numbers = ["self", "total", "self_weight", "total_weight"].map(|name| number(&row[name]));
            assert_eq!((sums[0], sums[1]), (numbers[0], numbers[1]), "{kind} {name}");
            assert!((2..4).all(|at| sums[at].abs_diff(numbers[at]) <= sums[1]), "{kind} {name}: {sums:?} {numbers:?}");
        }
        assert!(found.is_empty(), "{kind}: {found:?}");
    }
}

#[test]
fn events_and_their_stacks_are_those_of_the_command() {
    assert_events_are_those_of_stacks(TRACE, &[]);
}

#[test]
fn recorded_samples_and_names_of_symbol_files_too() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let (real, made) = ("traces/real/net.4.5.2.x64.etl", "traces/synthetic/stacks-symbols.etl");
    let managed = "traces/synthetic/stacks-managed.etl";
    let traces = one_in(1, vec![(made, Some("symbols/flat")), (managed, None)]).into_iter();
    for (trace, symbols) in traces.chain(one_run_in(1).then_some((real, None))) {
        let trace = beside.join(trace);
        if !trace.exists() {
            eprintln!("SKIPPED: tables of stacks, no {}", trace.display());
            continue;
        }
        let symbols = symbols.map(|folder| beside.join(folder).display().to_string());
        let more: Vec<&str> = symbols.iter().flat_map(|folder| ["--symbols", folder.as_str()]).collect();
        assert_events_are_those_of_stacks(trace.to_str().unwrap(), &more);
    }
}

/// An export without stacks leaves the tables of stacks as they are, and what is missing in them is still said.
#[test]
fn doubts_of_stacks_stay_as_long_as_these() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let trace = beside.join("traces/synthetic/stacks-symbols.etl");
    if !trace.exists() {
        eprintln!("SKIPPED: doubts of stacks, no {}", trace.display());
        return;
    }
    let (trace, symbols) = (trace.display().to_string(), beside.join("symbols/flat").display().to_string());
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    let told = || -> Vec<String> {
        let all = rows(folder.path(), "warnings").into_iter().map(|(_, row)| row);
        all.filter(|row| row["code"] == "symbols_missing").map(|row| row["text"].clone()).collect()
    };
    out(&["export", &trace, "--out", dataset, "--stacks", "--symbols", &symbols, "-q"]);
    let first = told();
    assert!(!first.is_empty() && rows(folder.path(), "stacks").len() > 1);
    for tables in [&[][..], &["--tables", "processes"], &["--tables", "warnings"]] {
        let again = run(&[&["export", &trace, "--out", dataset, "-q"], tables].concat());
        assert_eq!((again.code, told()), (0, first.clone()), "{tables:?}");
    }
    // Without folders to look in, nothing was looked for.
    out(&["export", &trace, "--out", dataset, "--stacks", "-q"]);
    assert_eq!(told(), [""; 0]);
}

/// Bytes of pieces by the stack that allocated them are those of `allocations`, and by the one that freed them.
#[test]
fn pieces_have_the_stacks_of_allocations() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    out(&["export", TRACE, "--out", dataset, "--tables", "piece_stacks", "-q"]);
    let frames = frames(folder.path());
    let key = |row: &Row| (row["allocation_kind"].clone(), row["piece"].clone());
    let links: BTreeMap<(String, String), Row> =
        rows(folder.path(), "piece_stacks").into_iter().map(|(_, row)| (key(&row), row)).collect();
    let mut met = 0;
    for kind in ["commit", "pool", "heap"] {
        for (dimension, column) in [("stack", "stack_id"), ("free_stack", "free_stack_id")] {
            let mut found: BTreeMap<String, i64> = BTreeMap::new();
            for (_, row) in rows(folder.path(), "allocation_pieces") {
                let is_wanted =
                    if column == "stack_id" { row.contains_key("opened_s") } else { row.contains_key("closed_s") };
                let stack = links.get(&key(&row)).and_then(|link| link.get(column));
                if let Some(stack) = stack.filter(|_| is_wanted && row["allocation_kind"] == kind) {
                    let text = frames[stack].iter().map(|name| name.replace(';', ":")).collect::<Vec<_>>().join(";");
                    *found.entry(text).or_default() += row["bytes"].parse::<i64>().unwrap();
                }
            }
            let told = json(&["allocations", TRACE, "--of", kind, "--group-by", dimension]);
            let bytes = if column == "stack_id" { "allocated_bytes" } else { "freed_bytes" };
            let told: BTreeMap<String, i64> = (told["rows"].as_array().expect("rows").iter())
                .map(|row| (row[dimension].as_str().expect("a label").to_owned(), row[bytes].as_i64().expect("bytes")))
                .filter(|(label, bytes)| !label.starts_with('[') && label != "n/a" && *bytes > 0)
                .collect();
            met += found.len();
            assert_eq!(found, told, "{kind} by {dimension}");
        }
    }
    assert!(met > 20, "{met}");
}

#[test]
fn other_exports_are_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, with] = ["plain", "with"].map(|name| folder.path().join(name));
    let export = |to: &Path, more: &[&str]| {
        run(&[&["export", TRACE, "--pieces", "-q", "--out", to.to_str().unwrap()], more].concat())
    };
    assert_eq!((export(&plain, &[]).code, export(&with, &["--stacks"]).code), (0, 0));
    for path in parts(&plain) {
        let name = path.strip_prefix(&plain).unwrap();
        let (old, new) = (fs::read(&path).unwrap(), fs::read(with.join(name)).unwrap());
        let says_more = ["traces", "warnings"].iter().any(|table| name.starts_with(table));
        assert!(old == new || says_more, "{}", name.display());
    }
    let tables =
        |folder: &Path| fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect::<BTreeSet<_>>();
    let more: Vec<String> =
        tables(&with).difference(&tables(&plain)).map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(more, ["piece_stacks", "stack_events", "stacks"]);
    // Pieces are numbered in one run: those that another table refers to are not written alone.
    let alone = export(&with, &[]);
    assert!(alone.code == 2 && alone.err.contains("piece_stacks of "), "{alone:?}");
    let again = export(&with, &["--stacks", "--resume"]);
    assert_eq!((again.code, again.out.as_str()), (0, ""), "{again:?}");
}

#[test]
fn forms_and_flags() {
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    out(&["export", TRACE, "--out", &to("csv"), "--tables", "stacks", "--format", "csv", "-q"]);
    let file = parts(&folder.path().join("csv").join("stacks")).into_iter().next().expect("a file");
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("stack_id,frames\n1,\"[\"\""), "{text:.80}");
    out(&["export", TRACE, "resident-small.etl", "--out", &to("set"), "--tables", "stack_events", "-q"]);
    out(&["export", "--compact", &to("set"), "--out", &to("few"), "-q"]);
    let id = id_of(&folder.path().join("set"), TRACE);
    let mut compacted = 0;
    for path in parts(&folder.path().join("few").join("stacks")) {
        compacted += super::batches(&path).iter().map(|batch| batch.num_rows()).sum::<usize>();
    }
    let lists = rows(&folder.path().join("set"), "stacks");
    assert_eq!((compacted, lists.iter().all(|(trace, _)| *trace == id)), (lists.len(), true));
    let warnings = rows(&folder.path().join("set"), "warnings");
    assert!(warnings.iter().any(|(trace, row)| *trace != id && row["code"] == "no_stacks"), "{warnings:?}");
    for (arguments, says) in [
        (&["--symbols", "."][..], "--symbols names functions in the table stacks"),
        (&["--stacks", "--symbols", "nowhere"], "there is no such folder"),
    ] {
        let ran = run(&[&["export", TRACE, "--out", &to("x")], arguments].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn tables_of_a_trace_without_stacks_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    let ran = run(&["export", "cpu-compressed.etl", "--out", dataset, "--stacks"]);
    let words: Vec<&str> = ran.out.split_whitespace().collect();
    let told = "; not stacks, for which it has no events";
    assert!(ran.code == 0 && words.join(" ").contains(told), "{ran:?}");
}

/// The frames of each record are those of `pfnset events --rows --stacks`.
#[test]
fn events_refer_to_their_stacks() {
    let listed = out(&["events", TRACE, "--rows", "--stacks", "-q", "--format", "jsonl"]);
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    out(&["export", TRACE, "--out", dataset, "--stacks", "--events", "*", "-q"]);
    let (frames, events) = (frames(folder.path()), rows(folder.path(), "events"));
    assert_eq!(listed.len(), events.len());
    let mut with_stack = 0;
    for (json, (_, row)) in listed.iter().zip(&events) {
        let own: Vec<&str> = json["frames"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let known = row.get("stack_id").map(|number| frames[number].iter().rev().map(String::as_str).collect());
        assert_eq!(known.unwrap_or_else(Vec::new), own, "{json}");
        with_stack += usize::from(!own.is_empty());
    }
    assert!(with_stack > 100 && with_stack < events.len(), "{with_stack}");
    out(&["export", TRACE, "--out", dataset, "--events", "*", "-q"]);
    assert!(rows(folder.path(), "events").iter().all(|(_, row)| !row.contains_key("stack_id")));
}
