//! `pfnset diff`: what people see, what each kind of side is told by, exit codes, and what is said of files that are none.

use crate::one_of_each;
use crate::program::{Ran, finish, fixtures, pfnset};
use crate::random_cases::one_in;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with the trace of every rule, twice, and a fixture.
pub(super) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("room for a file");
    write("one.etl", &one_of_each::trace(1));
    write("two.etl", &one_of_each::trace(2));
    for name in ["resident-small.etl", "refset-small.etl"] {
        write(name, &std::fs::read(fixtures().join(name)).expect("a fixture"));
    }
    folder
}

pub(super) fn run(folder: &TempDir, arguments: &[&str]) -> Ran {
    finish(pfnset(arguments).current_dir(folder.path()))
}

pub(super) fn diff(folder: &TempDir, arguments: &[&str]) -> Ran {
    run(folder, &[&["diff"], arguments].concat())
}

pub(super) fn write(folder: &TempDir, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).expect("room for a file");
}

pub(super) fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// What WPA shows of the trace of every rule, with a category that has a page too many and one that is not there.
const GROUPED: &str = "\
Page Category,Page Count,Size (MB),Count,Thread Id
VirtualAlloc_PreTrace,8,0.031,1,1
CopyOnWriteImage,1,0.004,1,1
MapFile,4,0.016,1,1
Image,1,0.004,1,1
MetaFile,1,0.004,1,1
PageFileMappedSection,1,0.004,1,1
Driver,1,0.004,1,1
SessionCopyOnWriteImage,1,0.004,1,1
SystemPage,1,0.004,1,1
StraggleIOPage,1,0.004,1,1
PageTable,1,0.004,1,1
NonPagedPool,1,0.004,1,1
Use15,1,0.004,1,1
";

const RAW: &str = "\
Process,Page Category,Page Frame Number,Virtual Address,Size (MB)
app.exe (40),Win32Heap,0x100,0x31000,0.004
app.exe (40),VirtualAlloc_PreTrace,0x101,0x15000,0.004
app.exe (40),UserStack,0x102,0x1f000,0.004
app.exe (40),CopyOnWriteImage,0x103,0x7ff600003000,0.004
app.exe (40),VirtualAlloc_PreTrace,0x104,0x99000,0.004
other.exe (48),Image,0x116,,0.004
Unknown (-1),Image,0x105,,0.004
Unknown (-1),Image,0x999,,0.004
Unknown (-1),Image,0x999,,0.004
";

#[test]
fn beside_a_table_of_wpa() {
    let folder = folder();
    write(&folder, "wpa.csv", GROUPED);
    let ran = diff(&folder, &["one.etl", "wpa.csv"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    insta::assert_snapshot!("diff_table", ran.out);
    insta::assert_snapshot!("diff_markdown", diff(&folder, &["one.etl", "wpa.csv", "--format", "markdown"]).out);
    insta::assert_snapshot!("diff_csv", diff(&folder, &["one.etl", "wpa.csv", "--format", "csv"]).out);
    insta::assert_snapshot!("diff_json", diff(&folder, &["one.etl", "wpa.csv", "--format", "json"]).out);
    let top = diff(&folder, &["wpa.csv", "one.etl", "--top", "1", "--unit", "pages"]);
    insta::assert_snapshot!("diff_top_other_way_round", top.out);
}

#[test]
fn page_by_page() {
    let folder = folder();
    write(&folder, "raw.csv", RAW);
    let arguments = ["one.etl", "raw.csv", "--where", "process=app.exe*;new.exe*;other.exe*;Unknown (-1)"];
    let ran = diff(&folder, &arguments);
    assert_eq!(ran.code, 1, "{}", ran.err);
    insta::assert_snapshot!("diff_pages", ran.out);
    let narrow = finish(pfnset(&[&["diff"], &arguments[..]].concat()).current_dir(folder.path()).env("COLUMNS", "60"));
    insta::assert_snapshot!("diff_pages_60_columns", narrow.out);
    let other = json(&diff(&folder, &["raw.csv", "one.etl", "--format", "json", "-q"]));
    let first = &other["pages"]["examples"][0];
    assert_eq!((&first["pfn"], &first["left"]), (&"0x100".into(), &"Win32Heap".into()));
    assert_eq!((&other["pages"]["only_left"], &other["pages"]["repeated"]), (&1.into(), &1.into()));
    // The commands that are printed can be run.
    let line = ran.out.lines().find(|line| line.trim_start().starts_with("pfnset ")).expect("a command line");
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert_eq!(run(&folder, &words).code, 0, "{line}");
}

/// Two runs of one machine: ids differ, names do not.
#[test]
fn two_traces() {
    let folder = folder();
    let ran = diff(&folder, &["one.etl", "resident-small.etl", "--group-by", "process", "--top", "4"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!("diff_two_traces", ran.out);
    for arguments in [&["one.etl", "two.etl"][..], &["two.etl", "two.etl", "--snapshot", "0,1"]] {
        let ran = diff(&folder, arguments);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        assert!(ran.out.contains("\nEqual: ") && !ran.out.contains("Why our corrected table"), "{}", ran.out);
    }
    let labels = |arguments: &[&str]| -> Vec<String> {
        let all = ["one.etl", "resident-small.etl", "--group-by", "process", "--format", "json", "-q"];
        let json = json(&diff(&folder, &[&all[..], arguments].concat()));
        let rows = json["differing"].as_array().expect("rows").iter();
        rows.map(|row| row["process"].as_str().expect("a label").to_owned()).collect()
    };
    let has = |labels: &[String], label: &str| labels.iter().any(|known| known == label);
    let by_name = labels(&[]);
    assert!(has(&by_name, "csrss.exe") && has(&by_name, "Unknown (-1)"), "{by_name:?}");
    let apart = labels(&["--apart"]);
    assert!(has(&apart, "csrss.exe #1") && has(&apart, "csrss.exe #2"), "{apart:?}");
    assert!(!has(&apart, "n/a #1"), "no process is numbered: {apart:?}");
    let by_id = labels(&["--match", "pid"]);
    assert!(by_id.iter().any(|label| label.starts_with("csrss.exe (")), "{by_id:?}");
}

#[test]
fn what_pfnset_wrote_agrees_with_its_trace() {
    let folder = folder();
    let kinds = [("json", "pfnset_json"), ("csv", "pfnset_csv")];
    let groupings = vec!["category", "process,category", "list,priority,use", "class,category_wpa", "file,detail,cold"];
    for group_by in one_in(2, groupings) {
        for (format, kind) in kinds {
            let written = ["resident", "resident-small.etl", "--group-by", group_by, "--format", format, "-o", "kept"];
            assert_eq!(run(&folder, &written).code, 0);
            for rules in [&[][..], &["--classification", "wpa"], &["--classification", "corrected"]] {
                if group_by.starts_with("class") && rules.last() == Some(&"corrected") {
                    let ran = diff(&folder, &[&["kept", "resident-small.etl"], rules].concat());
                    assert!(ran.code == 2 && ran.err.contains("LEFT (kept) counts by WPA's rules"), "{ran:?}");
                    continue;
                }
                let all = [&["kept", "resident-small.etl", "--format", "json"], rules].concat();
                let ran = diff(&folder, &all);
                let json = json(&ran);
                assert_eq!((ran.code, &json["left"]["kind"]), (0, &kind.into()), "{all:?} {group_by}: {}", ran.out);
                assert!(json["rows_compared"].as_u64() > Some(1) && json.get("moved").is_none());
            }
        }
    }
    for group_by in ["category", "class"] {
        let by_wpa = ["resident", "resident-small.etl", "--group-by", group_by, "--classification", "wpa"];
        assert_eq!(run(&folder, &[&by_wpa[..], &["--format", "csv", "-o", "kept"]].concat()).code, 0);
        let ran = diff(&folder, &["kept", "resident-small.etl"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.out.matches("3,000 pages by WPA's rules\n").count(), 2, "{ran:?}");
    }
    let written = ["pages", "resident-small.etl", "--format", "csv", "-o", "kept"];
    assert_eq!(run(&folder, &written).code, 0);
    let ran =
        diff(&folder, &["resident-small.etl", "kept", "--group-by", "process,category", "--where", "list=Active"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for group_by in one_in(1, vec!["process,category", "category,access_reason", "impact,class"]) {
        for (format, kind) in kinds {
            let written = ["refset", "refset-small.etl", "--group-by", group_by, "--format", format, "-o", "kept"];
            assert_eq!(run(&folder, &written).code, 0);
            let ran = diff(&folder, &["refset-small.etl", "kept", "--format", "json"]);
            assert_eq!((ran.code, &json(&ran)["right"]["kind"]), (0, &kind.into()), "{group_by}: {}", ran.out);
        }
    }
    assert_eq!(diff(&folder, &["refset-small.etl", "refset-small.etl", "--refset"]).code, 0);
}

#[test]
fn a_table_of_the_reference_set_is_compared_with_all_that_was_held() {
    let folder = folder();
    let arguments =
        ["refset", "refset-small.etl", "--group-by", "class,release_reason", "--format", "json", "-o", "kept"];
    assert_eq!(run(&folder, &arguments).code, 0);
    let kept: Value = serde_json::from_slice(&std::fs::read(folder.path().join("kept")).expect("JSON")).expect("JSON");
    let mut table = "Category Class\tRelease Reason\tSize (Process View) (KB)\tAccess Time (s)\n".to_owned();
    for row in kept["rows"].as_array().expect("rows") {
        let text = |key: &str| row[key].as_str().expect("a label").to_owned();
        let size = row["pages"].as_i64().expect("pages") * 4;
        table += &format!("{}\t{}\t{size}.000\t0.5\n", text("class"), text("release_reason"));
    }
    write(&folder, "wpa.csv", &table);
    let ran = diff(&folder, &["refset-small.etl", "wpa.csv", "--format", "json"]);
    let found = json(&ran);
    assert_eq!((ran.code, &found["dimensions"]), (0, &serde_json::json!(["class", "release_reason"])), "{}", ran.out);
    assert_eq!(diff(&folder, &["refset-small.etl", "wpa.csv", "--group-by", "class"]).code, 0);
}

#[test]
fn differences_that_are_allowed() {
    let folder = folder();
    write(&folder, "wpa.csv", GROUPED);
    for (tolerance, code, says) in [
        ("1", 0, "Equal within the tolerance: 16 rows"),
        ("4 KiB", 0, "5 rows differ within the tolerance"),
        ("4095B", 1, "Different: "),
        ("100%", 0, "within the tolerance"),
        ("10%", 1, "Different: "),
    ] {
        let ran = diff(&folder, &["one.etl", "wpa.csv", "--tolerance", tolerance]);
        assert_eq!(ran.code, code, "{tolerance}: {}", ran.out);
        assert!(ran.out.contains(says), "{tolerance}: {}", ran.out);
    }
    assert_eq!(diff(&folder, &["one.etl", "wpa.csv", "--tolerance", "lots"]).code, 2);
    let held = diff(&folder, &["resident-small.etl", "one.etl", "--tolerance", "1GiB"]);
    assert!(held.code == 0 && held.out.contains("3,000 pages on the left, "), "{held:?}");
}

/// Labels were once made of numbers that another reading of the trace had given to files: each run had other rows.
#[test]
fn a_trace_equals_itself_by_each_dimension() {
    let folder = folder();
    std::fs::write(folder.path().join("named.etl"), one_of_each::trace_with_names_before()).expect("room for a file");
    for by in one_in(1, vec!["category", "class", "list", "process,category", "category,file", "category,detail"]) {
        for line in ["named.etl", "named.etl --snapshot 0,0", "resident-small.etl"] {
            let words: Vec<&str> = line.split(' ').collect();
            let ran = diff(&folder, &[&words[..1], &words, &["--group-by", by]].concat());
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{line} by {by}: {}", ran.out);
        }
    }
}

#[test]
fn a_table_says_of_which_snapshot_it_is() {
    let folder = folder();
    let json_of = |name: &str, arguments: &[&str]| {
        let all = [&["two.etl", name, "--format", "json"], arguments].concat();
        let ran = diff(&folder, &all);
        json(&ran)
    };
    let times = run(&folder, &["resident", "two.etl", "--snapshot", "all", "--format", "json", "-q"]);
    let times = json(&times);
    let time = |index: usize| times["snapshots"][index]["time_s"].as_f64().expect("a time");
    let row = |index: usize, pages: u64| format!("Image;{:.6};{pages}\n", time(index) * 1000.0).replace('.', ",");
    write(&folder, "first.csv", &format!("Page Category;Snapshot Time (ms);Page Count\n{}", row(0, 1)));
    write(&folder, "both.csv", &format!("Page Category;Snapshot Time (ms);Page Count\n{}{}", row(1, 7), row(0, 1)));
    assert_eq!(json_of("first.csv", &[])["left"]["snapshot"], 0);
    let last = json_of("both.csv", &[]);
    assert_eq!((&last["left"]["snapshot"], &last["right"]["total_pages"]), (&1.into(), &7.into()));
    let first = json_of("both.csv", &["--snapshot", "0,0"]);
    assert_eq!((&first["left"]["snapshot"], &first["right"]["total_pages"]), (&0.into(), &1.into()));
    let ran = diff(&folder, &["two.etl", "both.csv", "--snapshot", "0,2"]);
    assert!(ran.code == 2 && ran.err.contains("both.csv has no snapshot 2"), "{ran:?}");
    write(&folder, "other.csv", "Page Category;Snapshot Time (s);Page Count\nImage;86400;1\n");
    let doubts = |found: &Value| found["warnings"].to_string().contains("it may be of another trace");
    assert!(doubts(&json_of("other.csv", &[])) && !doubts(&last) && !doubts(&first), "a time of no page sequence");
}

#[test]
fn files_that_are_none_are_told_in_one_line() {
    let folder = folder();
    let cases: [(&[u8], &str); 15] = [
        (b"Hello, this is a letter and no table at all.\nIt goes on.\n", "it begins with \"Hello, this is a letter \""),
        (b"", "and it is empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0", "its first bytes are 7f 45 4c 46"),
        (
            b"{\"schema\": \"pfnset.info\", \"version\": 1}",
            "it is pfnset.info; expected pfnset.resident or pfnset.refset",
        ),
        (b"{\"a\": ", "it begins as JSON"),
        (
            b"Foo,Bar\n1,2\n",
            "no column of the table is known, so there is nothing to compare by; its headings are \"Foo\", \"Bar\"",
        ),
        (b"Page Category,Foo\nImage,2\n", "no column tells how much memory a row has"),
        (b"Page Category,Size\nImage,\"1,024\"\n", "line 2, column \"Size\": \"1,024\" can be two numbers"),
        (b"Page Category;Size\nImage;1,024\nMapFile;0,5\n", "column \"Size\" has no unit"),
        (
            b"Page Category;Size (MB)\nImage;1,024\nMapFile;2.048\n",
            "line 3, column \"Size (MB)\": \".\" is the decimal sign here, and line 2, column \"Size (MB)\" has \",\"",
        ),
        (b"Page Category,Page Count\nImage,1\nMapFile,1,2\n", "line 3: it has 3 columns where the heading has 2"),
        (b"Page Category,Page Count\nImage,many\n", "line 2, column \"Page Count\": \"many\" is no number"),
        (b"Page Category,Page Count\nImage,-3\n", "line 2, column \"Page Count\": \"-3\" is negative"),
        (
            b"Page Category,Page Frame Number\nImage,0xg\n",
            "line 2, column \"Page Frame Number\": \"0xg\" is no hexadecimal",
        ),
        (b"Page Category,Page Frame Number\nImage,0x123456789abcd\n", "a page frame number above 40 bits"),
    ];
    for (bytes, says) in cases {
        std::fs::write(folder.path().join("file"), bytes).expect("room for a file");
        let ran = diff(&folder, &["one.etl", "file"]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (3, "", 1), "{says}: {ran:?}");
        assert!(ran.err.starts_with("pfnset: file: ") && ran.err.contains(says), "{says}: {}", ran.err);
    }
    let ran = diff(&folder, &["one.etl", "/dev/null"]);
    assert!(ran.code == 3 && ran.err.contains("not a regular file"), "{ran:?}");
    std::fs::write(folder.path().join("file"), b"PK\x03\x04\0\0\0\0").expect("room for a file");
    let ran = diff(&folder, &["one.etl", "file"]);
    assert!(ran.code == 3 && ran.err.contains("cannot unpack file"), "{ran:?}");
}

#[test]
fn nothing_in_common_lists_what_there_is() {
    let folder = folder();
    write(&folder, "lists.csv", "MMList,Page Count\nActive,3\n");
    write(&folder, "categories.csv", "Page Category,Page Count\nImage,3\n");
    let ran = diff(&folder, &["lists.csv", "categories.csv"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("that has list; this has category"), "{}", ran.err);
}

#[test]
fn rows_are_ordered_as_asked() {
    let folder = folder();
    let order = |by: &str| -> Vec<i64> {
        let ran = diff(&folder, &["one.etl", "resident-small.etl", "--sort", by, "--format", "json", "-q"]);
        let json = json(&ran);
        let rows = json["differing"].as_array().expect("rows").iter();
        let key = match by {
            "left" => "left_pages",
            "right" => "right_pages",
            _ => "delta_pages",
        };
        rows.map(|row| row[key].as_i64().expect("a number").abs()).collect()
    };
    for by in ["difference", "left", "right"] {
        let rows = order(by);
        assert!(rows.len() > 20 && rows.is_sorted_by(|a, b| a >= b), "{by}: {rows:?}");
    }
    let by_change = diff(&folder, &["one.etl", "resident-small.etl", "--sort", "change", "--top", "3", "-q"]);
    assert!(by_change.out.contains("  only right  "), "{}", by_change.out);
}

/// Traces of a scenario have another comparison, which a beginner does not know of.
#[test]
fn traces_with_reference_sets_are_told_of_them() {
    let both = ["diff", "refset-small.etl", "refset-proved.etl", "-q"];
    let hint = "Both traces also have what was touched while they were recorded: --refset compares that";
    assert!(crate::program::run(&both).out.contains(hint));
    assert!(!crate::program::run(&[&both[..], &["--refset"]].concat()).out.contains(hint));
    assert!(!crate::program::run(&["diff", "resident-small.etl", "refset-small.etl", "-q"]).out.contains(hint));
}

/// A name that is wrong is no proof that nothing changed.
#[test]
fn what_matches_nothing_is_not_equal() {
    let folder = folder();
    for form in ["table", "json", "csv"] {
        let ran = diff(&folder, &["one.etl", "one.etl", "--where", "process=nothing*", "--format", form]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("matches nothing"), "{ran:?}");
        match form {
            "table" => assert!(ran.out.contains("No match: nothing of either side"), "{}", ran.out),
            "json" => assert_eq!(json(&ran)["equal"], false),
            _ => {}
        }
    }
    assert_eq!(diff(&folder, &["one.etl", "one.etl", "--where", "process=app*;nothing*", "-q"]).code, 0);
}

/// Lines that end as those of the old Macintosh do: in WPA's tables and in our own.
#[test]
fn lines_may_end_with_carriage_returns() {
    let folder = folder();
    let saved = run(&folder, &["resident", "one.etl", "--group-by", "category", "--format", "csv", "-q"]).out;
    let saved = saved.lines().take(4).map(|line| format!("{line}\n")).collect::<String>();
    for (name, text) in [("wpa.csv", GROUPED), ("raw.csv", RAW), ("saved.csv", &saved)] {
        write(&folder, name, text);
        let rows = |text: &str| {
            write(&folder, name, text);
            diff(&folder, &["one.etl", name, "--format", "csv", "-q"])
        };
        let (plain, told) = (rows(text), rows(&text.replace('\n', "\r")));
        assert!(plain.out.lines().count() > 5, "{name}: {plain:?}");
        assert_eq!(plain, told, "{name}");
    }
    // Where a number is wrong, its line is said.
    write(&folder, "wpa.csv", &GROUPED.replace("Driver,1", "Driver,x").replace('\n', "\r"));
    let ran = diff(&folder, &["one.etl", "wpa.csv"]);
    assert!(ran.code == 3 && ran.err.contains("line 8"), "{ran:?}");
}

#[test]
fn what_a_side_does_not_have_is_wrong_usage() {
    let folder = folder();
    write(&folder, "wpa.csv", GROUPED);
    write(&folder, "names.csv", "Process Name,Page Count\napp.exe,3\n");
    let by_category = run(&folder, &["resident", "one.etl", "--group-by", "category", "--format", "json"]).out;
    write(&folder, "by_category.json", &by_category);
    for (arguments, says) in [
        (&["one.etl", "wpa.csv", "--group-by", "list"][..], "RIGHT (wpa.csv) has no list; it has category, class"),
        (&["wpa.csv", "one.etl", "--where", "process=a*"], "LEFT (wpa.csv) has no process"),
        (&["one.etl", "wpa.csv", "--snapshot", "all"], "one snapshot of each side"),
        (&["one.etl", "one.etl", "--snapshot", "0,9"], "there is no snapshot 9"),
        (&["one.etl", "wpa.csv", "--apart"], "both sides must be traces"),
        (&["one.etl", "one.etl", "--apart", "--match", "pid"], "--apart is for --match name"),
        (&["one.etl", "names.csv", "--match", "pid"], "names of processes without ids"),
        (&["one.etl", "by_category.json", "--match", "pid"], "is for rows by process"),
        (&["one.etl", "wpa.csv", "--refset"], "the file is a resident set"),
        (&["one.etl", "wpa.csv", "--top", "3", "--format", "json"], "--top is for table"),
        (&["one.etl", "wpa.csv", "-o", "wpa.csv"], "is the input itself"),
        (&["one.etl", "wpa.csv", "--locale", "tlh"], "known are en"),
        (&["one.etl", "wpa.csv", "--map", "Count"], "expected HEADING=MEANING"),
        (&["one.etl", "one.etl", "--map", "Count=pages"], "no side is one"),
        (&["one.etl", "one.etl", "--locale", "de"], "no side is one"),
    ] {
        let ran = diff(&folder, arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
    let ran = diff(&folder, &["one.etl", "wpa.csv", "--map", "Nonsense=pages"]);
    assert!(ran.code == 3 && ran.err.contains("no heading is \"Nonsense\""), "{ran:?}");
    let ran = diff(&folder, &["one.etl", "refset-small.etl", "--refset"]);
    assert!(ran.code == 4 && ran.err.contains("ReferenceSet"), "{ran:?}");
    // Of two traces the message has to say which.
    assert!(ran.err.starts_with("pfnset: LEFT (one.etl): the trace holds no page accesses"), "{}", ran.err);
    let ran = diff(&folder, &["one.etl", "refset-small.etl", "--snapshot", "0,3"]);
    assert!(ran.err.starts_with("pfnset: RIGHT (refset-small.etl): there is no snapshot 3"), "{}", ran.err);
}

#[test]
fn what_is_not_recognized_can_be_given() {
    let folder = folder();
    write(&folder, "wpa.csv", "Kategorie;Seiten;Grösse\nVirtualAlloc_PreTrace;8;x\nImage;1;y\n");
    let ran = diff(&folder, &["one.etl", "wpa.csv", "--map", "Seiten=pages", "--format", "json"]);
    let found = json(&ran);
    let taken = "column \"Kategorie\" is taken for category";
    let warnings = found["warnings"].as_array().expect("a list");
    assert!(warnings.iter().any(|line| line.as_str().expect("a text").contains(taken)), "{warnings:?}");
    assert_eq!(found["ignored_columns"], serde_json::json!(["Grösse"]));
    assert_eq!(found["right"]["total_pages"], 9);
    write(&folder, "wpa.csv", "Page Category,Size\nImage,\"4,096\"\n");
    let total = |arguments: &[&str]| {
        let all = [&["one.etl", "wpa.csv", "--format", "json", "-q"], arguments].concat();
        json(&diff(&folder, &all))["right"]["total_pages"].clone()
    };
    assert_eq!(total(&["--locale", "en"]), 1);
    assert_eq!(total(&["--group", ","]), 1);
    assert_eq!(total(&["--map", "Size=size_mb"]), 1049, "4.096 MB");
    let names = "Process Name,Page Count\napp.exe,10\nUnknown,5\n";
    write(&folder, "wpa.csv", names);
    let found = json(&diff(&folder, &["one.etl", "wpa.csv", "--format", "json"]));
    let row = found["differing"].as_array().expect("rows").iter().find(|row| row["process"] == "app.exe");
    assert!(row.is_some_and(|row| row["right_pages"] == 10 && row["left_pages"].as_u64() > Some(5)), "{found}");
}

#[test]
fn a_side_can_be_standard_input() {
    let folder = folder();
    let kept = run(&folder, &["resident", "one.etl", "--format", "json"]).out;
    let ran = finish(pfnset(&["diff", "-", "one.etl"]).current_dir(folder.path()).write_stdin(kept));
    assert!(ran.code == 0 && ran.out.contains("\nLEFT   -: JSON of pfnset"), "{ran:?}");
    let ran = diff(&folder, &["-", "-"]);
    assert!(ran.code == 2 && ran.err.contains("only one of the sides"), "{ran:?}");
}

/// A trace that lost data says so, and `--strict` makes it code 3.
#[test]
fn doubts_of_a_side_are_told() {
    let folder = folder();
    let whole = std::fs::read(folder.path().join("resident-small.etl")).expect("the fixture");
    std::fs::write(folder.path().join("cut.etl"), &whole[..whole.len() - 0x5000]).expect("room for a trace");
    let ran = diff(&folder, &["resident-small.etl", "cut.etl"]);
    assert!(ran.out.starts_with("! RIGHT: THE FILE IS CUT: it ends inside of its last buffer."), "{}", ran.out);
    assert_eq!(diff(&folder, &["resident-small.etl", "cut.etl", "--strict"]).code, 3);
    let kept = ["resident", "cut.etl", "--format", "json", "-q", "-o", "kept"];
    assert_eq!(run(&folder, &kept).code, 0);
    let ran = diff(&folder, &["kept", "cut.etl"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("LEFT: when it was written: THE FILE IS CUT: it ends inside"), "{}", ran.out);
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let folder = folder();
    let mut table = "Process,Page Category,Page Frame Number\n".to_owned();
    (0..80_000).for_each(|pfn| table += &format!("p{}.exe ({}),Image,0x{pfn:x}\n", pfn % 777, pfn % 777));
    write(&folder, "raw.csv", &table);
    let with = |threads: &str| diff(&folder, &["resident-small.etl", "raw.csv", "--format", "json", "-j", threads]);
    let one = with("1");
    assert_eq!(one.code, 1);
    assert_eq!((&with("2"), &with("5")), (&one, &one));
}
