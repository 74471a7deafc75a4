//! Every command in every form, with one file and with several, with chosen columns and with `--each`: what holds for one holds
//! for all.

use crate::program::{Ran, finish, fixtures, out, pfnset};
use crate::recording::beside;
use etl_writer::Trace;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

const FORMS: [&str; 5] = ["table", "json", "csv", "jsonl", "markdown"];

/// Questions with two columns of their tables, and whether they can be asked of each trace.
type Asked = (&'static [&'static str], Option<[&'static str; 2]>, bool);
const ASKED: [Asked; 9] = [
    (&["processes", "one.etl"], Some(["private", "parent"]), false),
    (&["resident", "one.etl"], None, true),
    (&["resident", "one.etl", "--group-by", "process"], Some(["pages", "share"]), true),
    (&["refset", "touched.etl", "--group-by", "process"], Some(["pages", "share"]), true),
    (&["memory", "one.etl"], Some(["most", "mean"]), true),
    (&["memory", "one.etl", "--timeline", "all"], Some(["zero", "free"]), true),
    (&["cpu", "cpu.etl", "--group-by", "process"], Some(["switches", "cpu"]), false),
    (&["events", "one.etl"], None, true),
    (&["info", "one.etl"], None, true),
];

/// Traces, and a file of the same recording without anything that counts.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("one.etl", &crate::one_of_each::trace(1));
    write("empty.etl", &Trace::new(beside()).finish());
    for (name, fixture) in [("touched.etl", "refset-small.etl"), ("cpu.etl", "cpu-compressed.etl")] {
        write(name, &std::fs::read(fixtures().join(fixture)).unwrap());
    }
    folder
}

fn run(folder: &Path, parts: &[&[&str]]) -> Ran {
    let ran = finish(pfnset(&parts.concat()).current_dir(folder));
    assert!(ran.code == 0, "{parts:?}: {}{}", ran.out, ran.err);
    ran
}

/// Headings of a table in text or Markdown, without blanks.
fn headings(text: &str, form: &str) -> Vec<String> {
    let rule: &[char] = if form == "table" { &['─'] } else { &['-', ':', '|'] };
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.len() > 5 && line.trim().chars().all(|c| rule.contains(&c))).unwrap();
    let split: Vec<&str> = match form {
        "table" => lines[at - 1].split("  ").collect(),
        _ => lines[at - 1].split('|').collect(),
    };
    split.iter().map(|heading| heading.trim().to_owned()).filter(|heading| !heading.is_empty()).collect()
}

#[test]
fn several_files_change_no_form_but_the_names_in_json() {
    let folder = folder();
    for (asked, _, _) in
        ASKED.iter().filter(|(asked, ..)| asked[1] == "one.etl" && asked[0] != "info" && asked[0] != "events")
    {
        for form in FORMS {
            let ask =
                |files: &[&str]| run(folder.path(), &[&asked[..1], files, &asked[2..], &["--format", form, "-q"]]).out;
            let (one, two) = (ask(&["one.etl"]), ask(&["one.etl", "empty.etl"]));
            if form != "json" {
                assert_eq!(one, two, "{asked:?} {form}");
                continue;
            }
            let mut value: Value = serde_json::from_str(&two).unwrap();
            assert_eq!(value["traces"], serde_json::json!(["one.etl", "empty.etl"]));
            value.as_object_mut().unwrap().shift_remove("traces");
            assert_eq!(value, serde_json::from_str::<Value>(&one).unwrap(), "{asked:?}");
        }
    }
}

#[test]
fn chosen_columns_are_those_of_every_form_for_people() {
    let folder = folder();
    for (asked, columns, has_each) in ASKED {
        let Some(columns) = columns else { continue };
        let names = columns.join(",");
        let more: [&[&str]; 3] = [&[], &["empty.etl"], &["--each"]];
        let is_one = asked[1] == "one.etl";
        let wanted = more.into_iter().enumerate().filter(|(at, _)| [true, is_one, has_each][*at]);
        for (_, more) in wanted {
            for form in ["table", "markdown"] {
                let ran = run(folder.path(), &[asked, more, &["--columns", &names, "--format", form, "-q"]]);
                let shown = headings(&ran.out, form);
                let plain = |heading: &String| heading.to_lowercase();
                let last: Vec<String> = shown.iter().rev().take(2).rev().map(plain).collect();
                assert_eq!(last, columns, "{asked:?} {more:?} {form}: {}", ran.out);
                assert!(shown.len() <= 4, "trace, label or time, and these: {shown:?}");
            }
            let ran = finish(
                pfnset(&[asked, more, &["--columns", &names, "--format", "csv"]].concat()).current_dir(folder.path()),
            );
            assert_eq!(ran.code, 2, "{asked:?} {more:?}: {}", ran.err);
        }
    }
}

#[test]
fn each_trace_has_the_rows_that_it_has_alone() {
    let folder = folder();
    for (asked, _, has_each) in ASKED.iter().filter(|(_, _, has_each)| *has_each) {
        assert!(has_each);
        for form in FORMS.iter().filter(|form| **form != "json") {
            let ran = run(folder.path(), &[asked, &["--each", "--format", form, "-q"]]);
            assert!(ran.out.contains(asked[1]), "{asked:?} {form}: {}", ran.out);
        }
        // JSON lines have the object of the trace alone.
        let each = run(folder.path(), &[asked, &["--each", "--format", "jsonl", "-q"]]).out;
        let alone = run(folder.path(), &[asked, &["--format", "json", "-q"]]).out;
        let [each, alone] = [&each, &alone].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(each, alone, "{asked:?}");
    }
}

/// Warnings are in the text, in JSON, above Markdown, and on standard error for forms without a place for them.
#[test]
fn warnings_are_told_in_every_form() {
    let folder = folder();
    let warnings = |form: &str, more: &[&str]| {
        let ran = run(folder.path(), &[&["refset", "touched.etl", "--format", form], more]);
        format!("{}{}", ran.out, ran.err)
    };
    for form in FORMS {
        for more in [&[][..], &["--each"]] {
            if form == "json" && !more.is_empty() {
                continue;
            }
            assert!(warnings(form, more).contains("trims were not recorded"), "{form} {more:?}");
        }
    }
    assert!(out(&["refset", "refset-small.etl", "--format", "json", "-q"]).contains("trims were not recorded"));
}

/// Markdown had rows alone: sums and what is not known stand in sentences around them.
#[test]
fn markdown_has_the_sentences_of_the_screen() {
    for (arguments, above, below) in [
        (&["cpu", "cpu-compressed.etl"][..], "Processor time: threads 733.57 ms (40.8 %)", None),
        (&["allocations", "alloc-x86.etl"], "At start 10.52 MiB + allocated 101.81 MiB", Some("Other kinds: ")),
        (&["faults", "faults-x86.etl"], "289 hard faults read 2.40 MiB", None),
        (&["stacks", "stacks-keys.etl"], "By process: Idle (0) 53.3 %", None),
        (&["refset", "refset-small.etl"], "", Some("4 of the others held pages before")),
    ] {
        let shown = crate::program::run(&[arguments, &["--format", "markdown"]].concat()).out;
        let (head, rows) = shown.split_once("\n| ").expect("a table");
        assert!(head.contains("**") && head.contains(above), "{shown}");
        let (_, end) = rows.rsplit_once(" |\n").expect("rows");
        assert!(below.is_none_or(|below| end.starts_with(&format!("\n{below}"))), "{shown}");
    }
}

/// Markdown lacked tables of first screens, without a word.
#[test]
fn markdown_has_every_table_of_the_screen() {
    for (arguments, parts) in [
        (&["faults", "faults-x86.etl"][..], &["| Process |", "| File |"][..]),
        (&["stacks", "stacks-keys.etl"], &["| Function |", "| Hottest path (--tree): |"]),
        (&["resident", "resident-small.etl"], &["| Category | Size/MiB |", " checks passed"]),
        (
            &["refset", "refset-small.etl"],
            &["| Held |", "- Accessed by: ", "- Verification: ", "| Category at stop |", "| Process at stop |"],
        ),
        (
            &["refset", "refset-small.etl", "--verify"],
            &["| Use |", "| Process |", "**Examples ", "| Only |", "+ 28 more"],
        ),
    ] {
        let shown = crate::program::run(&[arguments, &["-q", "--format", "markdown"]].concat()).out;
        let missing: Vec<_> = parts.iter().filter(|part| !shown.contains(**part)).collect();
        assert!(missing.is_empty(), "{missing:?}: {shown}");
        // A line directly below a row would be a row.
        let lines: Vec<&str> = shown.lines().collect();
        let ends = lines.windows(2).filter(|two| two[0].starts_with('|') && !two[1].starts_with('|'));
        assert!(ends.clone().all(|two| two[1].is_empty()), "{shown}");
        assert!(!shown.contains("\n\n\n"), "{shown}");
    }
}
