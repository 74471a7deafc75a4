//! `pfnset resident` as a user runs it: whole outputs of the fixture and of a small trace with two page sequences.

use crate::one_of_each;
use crate::program::{finish, out, pfnset, run};
use etl_writer::Ptr::P8;
use etl_writer::file_of;
use etl_writer::payloads::{merged, system};

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
    std::fs::write(folder.path().join("two.etl"), one_of_each::trace(2)).expect("room for a trace");
    let arguments = [&["resident", "two.etl", "-q"], arguments].concat();
    let ran = finish(pfnset(&arguments).current_dir(folder.path()));
    assert_eq!((ran.code, crate::program::beside_losses(&ran.err).as_str()), (0, ""), "{arguments:?}");
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

/// A trace that tells drive letters and services.
fn of_a_named_machine(arguments: &[&str]) -> String {
    let more = vec![
        merged::volume(P8, "\\Device\\HarddiskVolume3\\", "C:\\"),
        merged::volume(P8, "\\SystemRoot\\", "C:\\Windows\\"),
        system::service(P8, one_of_each::APP, "Dnscache"),
        system::service(P8, one_of_each::APP, "BFE"),
        system::service(P8, 0, "Stopped"),
    ];
    let file = file_of(&one_of_each::trace_with(1, more));
    out(&[&["resident", file.path().to_str().unwrap(), "-q"], arguments].concat())
}

fn rows_of(json: &str) -> Vec<serde_json::Value> {
    let all: serde_json::Value = serde_json::from_str(json).expect("JSON");
    all["snapshots"][0]["rows"].as_array().expect("rows").clone()
}

#[test]
fn pages_of_no_process_are_named_for_people_and_labelled_for_programs() {
    let table = out(&["resident", TRACE, "--group-by", "process"]);
    assert!(
        table.contains("\nshared (files, images, sections) ") && table.contains("\nkernel, free, owner not recorded "),
        "{table}"
    );
    assert!(!table.contains("Unknown (-1)") && !table.contains("n/a"), "{table}");
    for (dimension, shared, none) in
        [("process", "Unknown (-1)", "n/a"), ("process_name", "Unknown (-1)", "n/a"), ("pid", "-1", "n/a")]
    {
        let rows = rows_of(&out(&["resident", TRACE, "-q", "--group-by", dimension, "--format", "json"]));
        let owner = |label: &str| rows.iter().find(|row| row[dimension] == label).map(|row| row["owner"].clone());
        assert_eq!((owner(shared), owner(none)), (Some("shared".into()), Some("kernel_or_free".into())), "{dimension}");
        assert!(rows.iter().any(|row| row["owner"] == "process"));
    }
    assert!(
        rows_of(&of_two_sequences(&["--snapshot", "last", "--group-by", "process", "--format", "json"]))
            .iter()
            .any(|row| row["owner"] == "unknown" && row["process"] == "Unknown (99)")
    );
    let pages = |condition: &str| -> u64 {
        let rows =
            rows_of(&out(&["resident", TRACE, "-q", "--where", condition, "--group-by", "list", "--format", "json"]));
        rows.iter().map(|row| row["pages"].as_u64().unwrap()).sum()
    };
    for (label, words) in [("Unknown (-1)", "shared*"), ("n/a", "kernel, free, owner not recorded")] {
        for dimension in ["process", "process_name", "service", "command-line"] {
            let (one, other) = (pages(&format!("{dimension}={label}")), pages(&format!("{dimension}={words}")));
            assert!(one > 0 && one == other, "{dimension}: {one} and {other}");
            assert_eq!(pages(&format!("{dimension}=!{words}")), 3000 - one);
        }
    }
}

#[test]
fn processes_are_grouped_by_what_is_known_of_them() {
    let json = |names: &str| rows_of(&of_a_named_machine(&["--group-by", names, "--format", "json"]));
    let single = json("process");
    let labels = |rows: &[serde_json::Value], key: &str| -> Vec<String> {
        rows.iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    let names = labels(&json("process_name"), "process_name");
    assert_eq!(names.len(), names.iter().collect::<std::collections::BTreeSet<_>>().len(), "each name once: {names:?}");
    assert!(names.contains(&"app.exe".to_owned()) && names.contains(&"Unknown (99)".to_owned()), "{names:?}");
    let pages = |rows: &[serde_json::Value]| rows.iter().map(|row| row["pages"].as_u64().unwrap()).sum::<u64>();
    for dimension in ["process_name", "service", "command_line", "folder", "extension"] {
        assert_eq!(pages(&json(dimension)), pages(&single), "{dimension}");
    }
    let services = json("service,process");
    let app = services.iter().find(|row| row["process"] == "app.exe (40)").expect("a process with services");
    assert_eq!((&app["service"], &app["owner"]), (&"BFE, Dnscache".into(), &"process".into()));
    assert!(services.iter().any(|row| row["service"] == "no service" && row["owner"] == "process"));
    let lines = labels(&json("command_line"), "command_line");
    assert!(lines.contains(&"\"C:\\Program Files\\app.exe\" -run".to_owned()), "{lines:?}");
}

#[test]
fn processes_of_one_name_are_one_row() {
    let of = |names: &str| rows_of(&out(&["resident", TRACE, "--group-by", names, "--format", "json"]));
    let pages = |row: &serde_json::Value| row["pages"].as_u64().unwrap();
    let single: u64 =
        of("process").iter().filter(|row| row["process"].as_str().unwrap().starts_with("csrss.exe (")).map(pages).sum();
    let joined = of("process_name");
    let row = joined.iter().find(|row| row["process_name"] == "csrss.exe").expect("a row");
    assert!(single > 0 && pages(row) == single);
    let lists = ["active_pages", "standby_pages", "modified_pages", "free_pages", "other_pages"];
    for row in &joined {
        assert_eq!(lists.iter().map(|key| row[key].as_u64().unwrap()).sum::<u64>(), pages(row), "{row}");
    }
}

#[test]
fn paths_are_as_users_know_them_in_tables_only() {
    let table = of_a_named_machine(&["--group-by", "file"]);
    assert!(table.contains("\nC:\\Windows\\System32\\lib.dll "), "{table}");
    assert!(of_a_named_machine(&["--group-by", "detail"]).contains("\nC:\\Windows\\drv.sys "));
    let rows = rows_of(&of_a_named_machine(&["--group-by", "file,folder,extension", "--format", "json"]));
    let row = rows.iter().find(|row| row["extension"] == ".dll").expect("the image");
    assert_eq!(row["file"], "\\Device\\HarddiskVolume3\\Windows\\System32\\lib.dll");
    assert_eq!(row["folder"], "\\Device\\HarddiskVolume3\\Windows\\System32");
    let pages = |condition: &str| {
        let json = of_a_named_machine(&["--where", condition, "--group-by", "extension", "--format", "json"]);
        rows_of(&json).iter().map(|row| row["pages"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(pages("file=C:\\Windows\\*"), 2);
    assert_eq!(pages("file=\\Device\\HarddiskVolume3\\Windows\\*"), 2);
    assert_eq!(pages("folder=C:\\;\\Device\\HarddiskVolume3"), 1, "the folder of $Mft");
    assert_eq!(pages("extension=none"), 2, "$Mft and SOFTWARE");
    assert_eq!(pages("extension=Unknown"), 1);
    let file = file_of(&one_of_each::trace_with(1, vec![merged::volume(P8, "\\Device\\HarddiskVolume3\\", "C:\\")]));
    let pages = |form: &str| out(&["pages", file.path().to_str().unwrap(), "-q", "--format", form]);
    assert!(pages("table").contains("C:\\Windows\\System32\\lib.dll") && !pages("table").contains("HarddiskVolume3"));
    assert!(
        pages("csv").contains("\\Device\\HarddiskVolume3\\Windows\\System32\\lib.dll")
            && !pages("csv").contains("C:\\")
    );
    // Without a mapping the volume's number is what is known.
    let table = of_two_sequences(&["--group-by", "folder"]);
    assert!(table.contains("\nVolume3:\\Windows\\System32 ") && !table.contains("\\Device\\"), "{table}");
    assert!(out(&["resident", TRACE, "--group-by", "file", "--format", "csv"]).contains("\\Device\\HarddiskVolume3\\"));
}

#[test]
fn lists_go_across() {
    let table = out(&["resident", TRACE, "--pivot", "list", "--unit", "pages"]);
    insta::assert_snapshot!("pivot_list", table);
    insta::assert_snapshot!("pivot_list_by_use", out(&["resident", TRACE, "--pivot", "list", "--group-by", "use"]));
    let rows = rows_of(&out(&["resident", TRACE, "--group-by", "list", "--format", "json"]));
    let heading: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().skip(1).collect();
    let total: Vec<&str> = table.lines().last().unwrap().split_whitespace().skip(1).collect();
    assert_eq!((heading[0], total[0]), ("Size/pages", "3,000"));
    assert_eq!(heading.len(), rows.len() + 1);
    for (list, pages) in heading.iter().zip(total).skip(1) {
        let row = rows.iter().find(|row| row["list"] == *list).expect("a list");
        assert_eq!(row["pages"].to_string(), pages.replace(',', ""));
    }
}

#[test]
fn columns_are_those_that_were_chosen() {
    let table = out(&["resident", TRACE, "--group-by", "category", "--columns", "free,wpa,share", "--top", "2"]);
    insta::assert_snapshot!("chosen_columns", table);
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

/// Classes are those of the categories by the rules that were asked for, and every form says whose rules these are.
#[test]
fn classes_are_by_the_rules_that_were_asked_for() {
    let csv = |more: &[&str]| out(&[&["resident", "resident-small.etl", "-q", "--format", "csv"], more].concat());
    let pages_of = |csv: &str, label: &str, column: &str| -> u64 {
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let heading = lines.next().expect("a heading");
        let at =
            |name: &str| heading.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name}: {csv}"));
        let (of, pages) = (at("class"), at(column));
        lines.filter(|line| line[of] == label).map(|line| line[pages].parse::<u64>().expect("a number")).sum()
    };
    let wpa = csv(&["--group-by", "class", "--classification", "wpa"]);
    assert!(wpa.lines().next().unwrap().ends_with(",classification") && wpa.lines().nth(1).unwrap().ends_with(",wpa"));
    assert_eq!((pages_of(&wpa, "Dynamic", "pages"), pages_of(&wpa, "Free", "pages")), (1274, 0));
    let both = csv(&["--group-by", "class"]);
    assert_eq!((pages_of(&both, "Dynamic", "pages"), pages_of(&both, "Free", "pages")), (971, 303));
    let both_in_two = csv(&["--group-by", "class,category"]);
    for both in [&both, &both_in_two] {
        assert_eq!((pages_of(both, "Dynamic", "pages_wpa"), pages_of(both, "Free", "pages_wpa")), (1274, 0));
    }
    let apart = csv(&["--group-by", "class,class_wpa"]);
    assert!(apart.contains("\n0,Free,Dynamic,303,"), "{apart}");
    let free = ["--where", "class=Free", "--group-by", "class"];
    assert_eq!(
        csv(&[&free[..], &["--classification", "wpa"]].concat()).lines().count(),
        1,
        "by WPA's rules no page is free"
    );
    for (more, heading) in [(&[][..], None), (&["--group-by", "category"], Some("Pages by WPA"))] {
        for format in ["table", "markdown"] {
            let asked = ["resident", "resident-small.etl", "--classification", "wpa", "--format", format];
            let text = out(&[&asked[..], more].concat());
            let title = text.lines().find(|line| line.contains("3,000 pages")).expect("a title");
            assert!(title.contains("by WPA's rules") && heading.is_none_or(|heading| text.contains(heading)), "{text}");
        }
    }
}

/// Only `check` said that tags of what is older than the trace are unknown; the others had "n/a" for most of the pool without a word.
#[test]
fn tags_of_a_pool_without_a_snapshot_are_told_by_all_that_show_them() {
    const UNTOLD: &str = "no pool snapshot tells what was allocated before the trace: pages of it have no tag";
    const TRACE: &str = "refset-proved.etl";
    for (arguments, is_told) in [
        (&["resident", TRACE, "--group-by", "pool_tag"][..], true),
        (&["resident", TRACE, "--where", "pool_tag=Thre"], true),
        (&["resident", TRACE], false),
        (&["pages", TRACE, "--where", "pool_tag=Thre"], true),
        (&["diff", TRACE, TRACE, "--group-by", "pool_tag"], true),
        (&["diff", TRACE, TRACE, "--where", "pool_tag=Thre"], true),
        (&["diff", TRACE, TRACE, "--group-by", "use"], false),
    ] {
        let for_programs = if arguments[0] == "pages" { "csv" } else { "json" };
        for form in [&[][..], &["--format", for_programs]] {
            let ran = run(&[arguments, form].concat());
            let told = format!("{} {}", ran.out, ran.err);
            // Lines for people are folded.
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(told.contains(UNTOLD), is_told, "{arguments:?} {form:?}: {told}");
        }
    }
    let each = run(&["resident", "--each", TRACE, TRACE, "--group-by", "pool_tag", "--format", "jsonl"]);
    assert!(each.out.contains(UNTOLD), "{each:?}");
}
