//! `pfnset resident` as a user runs it: whole outputs of the fixture and of a small trace with two page sequences.

use crate::machine;
use crate::program::{finish, out, pfnset};

const TRACE: &str = "resident-small.etl";

/// Standard output for a terminal of this width.
fn at(columns: &str, arguments: &[&str]) -> String {
    let ran = finish(pfnset(arguments).env("COLUMNS", columns));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    ran.out
}

/// Outputs for a trace with two page sequences; it lacks keywords, so its warnings go to standard error.
fn of_two_sequences(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("two.etl"), machine::trace(2)).expect("room for a trace");
    let arguments = [&["resident", "two.etl", "-q"], arguments].concat();
    let ran = finish(pfnset(&arguments).current_dir(folder.path()));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    ran.out
}

#[test]
fn default_table_at_several_widths() {
    for columns in ["60", "80", "120"] {
        insta::assert_snapshot!(format!("resident_{columns}_columns"), at(columns, &["resident", TRACE]));
    }
}

#[test]
fn presets() {
    for preset in ["by-process", "by-list-priority", "private-working-set", "files", "drivers"] {
        let name = preset.replace('-', "_");
        insta::assert_snapshot!(format!("preset_{name}"), out(&["resident", TRACE, "--preset", preset]));
        assert!(out(&["resident", "--help"]).contains(&format!("\n  {preset} ")), "{preset} is in the help");
    }
    let help = out(&["resident", "--help"]);
    let listed = help.split("\nPresets:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    assert_eq!(listed.lines().filter(|line| !line.starts_with("   ")).count(), 5, "no preset without a snapshot");
}

#[test]
fn nested_groups() {
    for (name, arguments) in [
        ("top", &["--group-by", "process,category,detail", "--top", "3"][..]),
        ("by_name", &["--group-by", "list,category", "--top", "4", "--sort", "name"]),
        ("by_wpa", &["--group-by", "process,category", "--top", "5", "--sort", "wpa"]),
        ("by_difference", &["--group-by", "category,process", "--top", "4", "--sort", "difference"]),
        ("without_category", &["--group-by", "class,use,priority,cold,pinned,non_tradeable", "--top", "3"]),
        ("session_pid", &["--group-by", "session,pid", "--unit", "pages"]),
        ("by_rule", &["--group-by", "rule,category_wpa", "--unit", "pages"]),
        ("where_rule", &["--where", "rule=private.*;file.hive*", "--group-by", "rule,process", "--top", "3"]),
        ("where", &["--group-by", "category,file", "--where", "category=MapFile;Image", "--top", "5", "--unit", "mib"]),
        ("nothing", &["--where", "process=nobody", "-q"]),
    ] {
        insta::assert_snapshot!(format!("resident_{name}"), out(&[&["resident", TRACE], arguments].concat()));
    }
}

#[test]
fn classifications() {
    for rules in ["corrected", "wpa"] {
        insta::assert_snapshot!(format!("resident_{rules}"), out(&["resident", TRACE, "--classification", rules]));
    }
}

#[test]
fn two_snapshots() {
    for which in ["last", "0", "all"] {
        insta::assert_snapshot!(format!("snapshot_{which}"), of_two_sequences(&["--snapshot", which]));
    }
    let nested = ["--snapshot", "all", "--group-by", "process,category", "--format", "csv"];
    insta::assert_snapshot!("snapshot_all_csv", of_two_sequences(&nested));
}

#[test]
fn csv_and_json() {
    let nested = ["--group-by", "list,priority,class"];
    for format in ["csv", "json"] {
        insta::assert_snapshot!(format!("resident_{format}"), out(&["resident", TRACE, "--format", format]));
        let all = [&["resident", TRACE, "--format", format], &nested[..]].concat();
        insta::assert_snapshot!(format!("resident_nested_{format}"), out(&all));
    }
    let every = ["--group-by", "use,class,pid,session,cold,pinned,non_tradeable", "--format", "json"];
    insta::assert_snapshot!("resident_every_kind_of_value_json", of_two_sequences(&every));
}

#[test]
fn explanations() {
    insta::assert_snapshot!("explain", out(&["resident", TRACE, "--explain", "0x100"]));
    insta::assert_snapshot!("explain_json", out(&["resident", TRACE, "--explain", "0x100", "--format", "json"]));
    insta::assert_snapshot!("explain_csv", out(&["resident", TRACE, "--explain", "0x100", "--format", "csv"]));
}
