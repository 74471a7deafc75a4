//! `pfnset check`: doubts about a file that no budget measures, baselines that say nothing of a condition, traces that are there twice.

use crate::check::{FILES, check, folder, json};
use crate::program::{Ran, finish, fixtures, pfnset};
use crate::recording::split;
use crate::trust::places;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn copy(name: &str, folder: &TempDir, to: &str) {
    let path = folder.path().join(to);
    fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("a folder");
    fs::copy(fixtures().join(name), path).expect("a trace");
}

fn run(folder: &TempDir, line: &str) -> Ran {
    finish(pfnset(&line.split(' ').collect::<Vec<_>>()).current_dir(folder.path()))
}

fn budget_of(json: &Value, trace: usize) -> &Value {
    &json["traces"][trace]["budgets"][0]
}

/// Where no page was recorded, the budget is invalid for that, and the losses of the file were not said at all.
#[test]
fn losses_are_told_where_no_budget_can_be_measured() {
    let folder = folder("[[budget]]\nname = \"All\"\nmax = \"1 GiB\"\n");
    let mut bytes = fs::read(fixtures().join("cpu-compressed.etl")).expect("a fixture");
    bytes.truncate(bytes.len() * 2 / 3);
    fs::write(folder.path().join("cut.etl"), bytes).expect("a trace");
    let line = "cut.etl --budgets budgets.toml --strict --junit verdicts.xml --format json";
    let ran = check(&folder, line);
    assert!(ran.code == 3 && ran.err.contains("--strict: code 3, because numbers can be wrong: "), "{ran:?}");
    assert_eq!(budget_of(&json(&ran), 0)["verdict"], "invalid");
    assert!(json(&ran)["doubts"].as_array().is_some_and(|doubts| !doubts.is_empty()), "{}", ran.out);
    let junit = fs::read_to_string(folder.path().join("verdicts.xml")).expect("verdicts");
    assert!(junit.contains("name=\"--strict\""), "{junit}");
}

/// JSON of `resident` says which keywords its trace lacks; growth was judged of pages that other keywords put elsewhere.
#[test]
fn growth_against_a_saved_result_of_other_keywords_is_not_judged() {
    let of = |name: &str, more: &str| format!("[[budget]]\nname = \"x\"\nwhere.category = \"{name}\"\n{more}\n");
    let folder = folder(&of("VirtualAlloc", "max_growth = \"1 %\""));
    let ran = run(&folder, "resident resident-small.etl --group-by process,category --format json -o base.json");
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = "resident-small.etl --budgets budgets.toml --baseline base.json --format json";
    assert_eq!(budget_of(&json(&check(&folder, line)), 0)["verdict"], "pass");
    let path = folder.path().join("base.json");
    let mut base: Value = serde_json::from_slice(&fs::read(&path).expect("JSON")).expect("JSON");
    base["missing_keywords"] = vec!["Win32HeapRanges"].into();
    fs::write(&path, base.to_string()).expect("room for a file");
    let ran = check(&folder, line);
    assert_eq!((ran.code, &budget_of(&json(&ran), 0)["verdict"]), (3, &"invalid".into()), "{}", ran.out);
    assert!(ran.out.contains("this trace was recorded with the keyword Win32HeapRanges, the baseline without"));
    // What cannot be without the keyword is no 0 of the baseline.
    fs::write(folder.path().join("budgets.toml"), of("Win32Heap", "max_growth = \"1 %\"")).expect("room for a file");
    let ran = check(&folder, line);
    let reason = "of the baseline: its categories cannot be known: the keyword Win32HeapRanges was not recorded";
    assert!(ran.code == 3 && ran.out.contains(reason), "{ran:?}");
}

/// Rows by list of the baseline have no dimension of those by process and category: what grew was one row without a label.
#[test]
fn what_grew_is_not_told_by_rows_that_cannot_be_compared() {
    let folder = folder("[[budget]]\nname = \"x\"\nwhere.list = \"Active\"\nmax = \"1 pages\"\n");
    for (by, told, grown_by) in [("list", true, vec!["process", "category"]), ("list,process", false, vec!["process"])]
    {
        let ran = run(&folder, &format!("resident resident-small.etl --group-by {by} --format json -o base.json"));
        assert_eq!(ran.code, 0, "{ran:?}");
        let line = "resident-small.etl --budgets budgets.toml --baseline base.json";
        let found = json(&check(&folder, &format!("{line} --format json")));
        let of = budget_of(&found, 0);
        let says = "what grew most is not known: rows of the baseline are by list, and none of process and category can be compared";
        assert_eq!((&of["grown_by"], of["warnings"].to_string().contains(says)), (&grown_by.into(), told), "{of}");
        assert!(of["grown"].as_array().is_some_and(|rows| rows.len() == 5), "{of}");
        let table = check(&folder, line).out;
        assert_eq!(table.contains("its largest parts, by process and category:"), told, "{table}");
    }
}

/// A process with another id in the baseline counted as 0 there, and all of it as growth.
#[test]
fn a_condition_that_matches_nothing_in_the_baseline_gives_no_growth() {
    let by =
        |more: &str| format!("[[budget]]\nname = \"a\"\nwhere.process = \"csrss.exe\"\nmax_growth = \"0\"\n{more}");
    let folder = folder(&by(""));
    let other = "[[budget]]\nname = \"a\"\nwhere.process = \"nobody.exe\"\nmax_growth = \"0\"\n";
    // The baseline is the same trace, in which the process has another name.
    let base = run(&folder, "resident resident-small.etl --group-by process,category --format json -o base.json");
    assert_eq!(base.code, 0, "{base:?}");
    let path = folder.path().join("base.json");
    let text = fs::read_to_string(&path).expect("JSON").replace("csrss.exe", "other.exe");
    fs::write(&path, text).expect("room for a file");
    let line = "resident-small.etl --budgets budgets.toml --baseline base.json --format json";
    let ran = check(&folder, line);
    let found = json(&ran);
    assert_eq!((ran.code, &budget_of(&found, 0)["verdict"]), (3, &"invalid".into()), "{}", ran.out);
    assert!(budget_of(&found, 0)["baseline_value"].is_null(), "{}", ran.out);
    assert!(ran.out.contains("nothing in the baseline meets its conditions, so there is no growth to judge"));
    // Who allows it counts from 0, and a warning says so.
    fs::write(folder.path().join("budgets.toml"), by("optional = true\n")).expect("room for a file");
    let ran = check(&folder, line);
    assert_eq!((ran.code, &budget_of(&json(&ran), 0)["verdict"]), (1, &"fail".into()), "{}", ran.out);
    assert!(ran.out.contains("nothing in the baseline meets its conditions: all of it counts as growth"));
    // Nor is it a run with the value 0.
    fs::write(folder.path().join("budgets.toml"), format!("{other}{FILES}max = \"1 GiB\"\n")).expect("room for a file");
    let line = "resident-small.etl refset-small.etl --budgets budgets.toml --save-baseline runs.json";
    let ran = check(&folder, line);
    assert!(ran.err.contains("runs.json has no value of \"a\": resident-small.etl lacks it"), "{ran:?}");
    let saved: Value = serde_json::from_slice(&fs::read(folder.path().join("runs.json")).expect("a baseline")).unwrap();
    assert!(saved["budgets"][0]["pages"].is_null() && saved["budgets"][1]["pages"].is_u64(), "{saved}");
}

/// Median and spread were of one run that counted several times.
#[test]
fn copies_of_a_trace_are_one_run() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    copy("resident-small.etl", &folder, "runs/a.etl");
    copy("resident-small.etl", &folder, "runs/b.etl");
    copy("refset-small.etl", &folder, "runs/c.etl");
    let line = "runs --budgets budgets.toml --save-baseline base.json --format json";
    let ran = check(&folder, line);
    assert!(ran.err.contains("pfnset: runs/b.etl is a copy of runs/a.etl: it counts once\n"), "{ran:?}");
    assert_eq!(json(&ran)["traces"].as_array().map(Vec::len), Some(2));
    let saved: Value = serde_json::from_slice(&fs::read(folder.path().join("base.json")).expect("a baseline")).unwrap();
    assert_eq!(saved["budgets"][0]["runs"].as_array().map(Vec::len), Some(2), "{saved}");
}

/// The kernel session's file of a recording of two, named again, was a trace of its own; CSV and JUnit called both alike.
#[test]
fn a_file_of_a_pair_counts_once_and_a_pair_has_both_names() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    fs::create_dir(folder.path().join("pair")).expect("a folder");
    for (path, name) in split(folder.path(), |n| n % 2 == 0).iter().zip(["kernel.etl", "user.etl"]) {
        fs::rename(path, folder.path().join("pair").join(name)).expect("a trace");
    }
    let both = "pair/kernel.etl + pair/user.etl";
    for traces in ["pair pair/kernel.etl", "pair/kernel.etl pair", "pair pair/user.etl"] {
        let line = format!("{traces} --budgets budgets.toml --format csv --junit verdicts.xml");
        let ran = check(&folder, &line);
        assert!(ran.err.contains(&format!("is a file of {both}: it counts once")), "{ran:?}");
        let rows: Vec<&str> = ran.out.lines().skip(1).collect();
        assert!(rows.len() == 1 && rows[0].starts_with(both), "{traces}: {}", ran.out);
        let junit = fs::read_to_string(folder.path().join("verdicts.xml")).expect("verdicts");
        assert!(junit.contains(&format!("<testsuite name=\"{both}\"")), "{junit}");
    }
    let ran = run(&folder, "export pair pair/kernel.etl --out data");
    assert!(ran.err.contains(&format!("pair/kernel.etl is a file of {both}: it counts once")), "{ran:?}");
    let parts = fs::read_dir(folder.path().join("data/resident")).expect("a table").count();
    assert_eq!(parts, 1);
}

/// `check` counts it once; sums over the rows of `--each` had its pages twice.
#[test]
fn each_has_a_trace_that_is_named_twice_once() {
    let folder = folder("");
    copy("refset-small.etl", &folder, "week/a.etl");
    let line = "resident --each resident-small.etl ./resident-small.etl week week/a.etl --group-by class --format csv";
    let ran = run(&folder, line);
    for path in ["./resident-small.etl", "week/a.etl"] {
        assert!(ran.err.contains(&format!("pfnset: {path} is named twice: it counts once\n")), "{ran:?}");
    }
    let rows = |name: &str| ran.out.lines().filter(|line| line.starts_with(name) && line.contains(",Dynamic,")).count();
    assert_eq!((rows("resident-small.etl"), rows("./"), rows("week/a.etl")), (1, 0, 1), "{}", ran.out);
    assert!(!run(&folder, &format!("{line} -q")).err.contains("named twice"));
}

/// Lines with an error had version 1 beside others of version 2.
#[test]
fn lines_with_an_error_have_the_version_of_the_others() {
    let folder = folder("");
    fs::write(folder.path().join("bad.etl"), "no trace").expect("a file");
    for (command, version) in [("memory", 2), ("resident", 1)] {
        let ran = run(&folder, &format!("{command} --each bad.etl --format jsonl"));
        let line: Value = serde_json::from_str(&ran.out).expect("a line");
        assert_eq!((&line["version"], line["error"].is_string()), (&Value::from(version), true), "{}", ran.out);
    }
}

/// A wildcard over names that pfnset knows was looked at for the keywords that its categories need, and counted as met: 0, and a pass.
#[test]
fn a_wildcard_that_no_page_meets_is_no_match() {
    let budget =
        |of: &str, more: &str| format!("[[budget]]\nname = \"x\"\nwhere = {{ {of} }}\nmax = \"1 GiB\"\n{more}");
    let verdict = |text: &str| {
        let folder = folder(text);
        let ran = check(&folder, "resident-small.etl --budgets budgets.toml --format json");
        (ran.code, budget_of(&json(&ran), 0)["verdict"].as_str().expect("a verdict").to_owned())
    };
    assert_eq!(verdict(&budget("category = \"*15\"", "")), (1, "no match".into()));
    assert_eq!(verdict(&budget("category = \"*15\"", "optional = true")), (0, "no match".into()));
    assert_eq!(verdict(&budget("process = \"nosuch*\", category = \"Im*\"", "")), (1, "no match".into()));
    // What has pages is met, and of a name that is known 0 is a value.
    assert_eq!(verdict(&budget("category = \"Im*\"", "")), (0, "pass".into()));
    assert_eq!(verdict(&budget("category = \"Use15\"", "")), (0, "pass".into()));
}

/// Two recordings in one file count as one: nothing said it but a note, and budgets passed.
#[test]
fn a_file_of_several_recordings_makes_every_budget_invalid() {
    let folder = folder(&format!("{FILES}max = \"1 GiB\"\n"));
    let [one, other] =
        ["resident-small.etl", "refset-small.etl"].map(|name| fs::read(fixtures().join(name)).expect("a fixture"));
    fs::write(folder.path().join("glued.etl"), [one, other].concat()).expect("a trace");
    let ran = check(&folder, "glued.etl --budgets budgets.toml --format json");
    assert_eq!((ran.code, &budget_of(&json(&ran), 0)["verdict"]), (3, &"invalid".into()), "{}", ran.out);
    assert!(ran.out.contains("the file holds several recordings: "), "{}", ran.out);
    let ran = run(&folder, "resident glued.etl --format csv -q");
    assert!(ran.code == 0 && ran.err.contains("THE FILE HOLDS SEVERAL RECORDINGS: "), "{}", ran.err);
    assert_eq!(run(&folder, "resident glued.etl --strict").code, 3);
    let info = run(&folder, "info glued.etl --format json").out;
    assert_eq!(serde_json::from_str::<Value>(&info).expect("JSON")["trust"], "several_recordings");
}

/// The trace with records of another event where these were.
pub(crate) fn without(name: &str, hooks: &[u16]) -> Vec<u8> {
    let mut bytes = fs::read(fixtures().join(name)).expect("a fixture");
    let places = places(&bytes, hooks);
    assert!(!places.is_empty(), "{name} has {hooks:x?}");
    places.into_iter().for_each(|at| bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes()));
    bytes
}

/// Budgets of files and details were judged where nothing told which pages have them: smaller by 40 %, and passed.
#[test]
fn details_whose_records_are_missing_are_invalid() {
    let of =
        |(at, more): (usize, &str)| format!("[[budget]]\nname = \"{at}\"\nwhere = {{ {more} }}\nmax = \"1 GiB\"\n");
    let all = ["detail = \"*.dll\"", "detail = \"*.dll\", category = \"MapFile\"", "file = \"*.dll\""];
    let folder = folder(&all.into_iter().enumerate().map(of).collect::<String>());
    let verdicts = |name: &str, hooks: &[u16]| {
        fs::write(folder.path().join(name), without("resident-small.etl", hooks)).expect("a trace");
        let ran = json(&check(&folder, &format!("{name} --budgets budgets.toml --format json")));
        let budgets = ran["traces"][0]["budgets"].as_array().expect("budgets").clone();
        budgets.iter().map(|budget| budget["verdict"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    // Copies on write have the file of their view; pages of mapped files have a name without it.
    assert_eq!(verdicts("views.etl", &[0x0425, 0x0426, 0x0427, 0x0428]), ["invalid", "pass", "pass"]);
    assert_eq!(verdicts("files.etl", &[0x0424]), ["invalid"; 3]);
}

/// Numbers of processes from three fifths of the pages, and what is in use by a half of them, were sound with `--strict`.
#[test]
fn numbers_of_an_incomplete_page_sequence_are_doubtful_everywhere() {
    let folder = folder("");
    let whole = fs::read(fixtures().join("resident-small.etl")).expect("a fixture");
    let places = places(&whole, &[0x0223]);
    let write = |name: &str, is_there: &dyn Fn(usize) -> bool| {
        let mut bytes = whole.clone();
        for (_, at) in places.iter().enumerate().filter(|(at, _)| !is_there(*at)) {
            bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
        }
        fs::write(folder.path().join(name), bytes).expect("a trace");
    };
    write("begin.etl", &|at| at < places.len() * 3 / 5);
    write("half.etl", &|at| at % 2 == 0);
    for (command, says) in [
        ("resident begin.etl", "MemInfo says"),
        ("processes begin.etl", "MemInfo says"),
        ("pages begin.etl", "MemInfo says"),
        ("resident half.etl", "are missing in"),
        ("processes half.etl", "are missing in"),
        ("pages half.etl", "are missing in"),
        ("memory half.etl", "are missing in"),
    ] {
        let ran = run(&folder, &format!("{command} --strict --format csv"));
        assert!(ran.code == 3 && ran.err.contains(says), "{command}: {ran:?}");
    }
    // The rows of pages are those of its totals: so are the warnings.
    for name in ["begin.etl", "half.etl"] {
        let told = ["resident", "pages"].map(|command| run(&folder, &format!("{command} {name} --format csv")).err);
        assert_eq!(told[0], told[1]);
    }
}

/// A class follows from the category: a baseline without it was refused, and one that somebody changed was believed.
#[test]
fn the_class_of_a_baseline_is_that_of_its_categories() {
    let folder = folder("[[budget]]\nname = \"Files\"\nwhere = { class = \"File\" }\nmax_growth = \"0 %\"\n");
    for (form, own, changed) in
        [("json", "\"class\": \"File\"", "\"class\": \"Kernel\""), ("csv", ",File,", ",Kernel,")]
    {
        let line = |by: &str| format!("resident resident-small.etl --group-by {by} --format {form} -o base -q");
        let checked = || check(&folder, "resident-small.etl --budgets budgets.toml --baseline base --format json -q");
        for by in ["category", "class", "class,category"] {
            assert_eq!(run(&folder, &line(by)).code, 0);
            let found = json(&checked());
            let budget = budget_of(&found, 0);
            assert!(
                budget["verdict"] == "pass" && budget["baseline_value"] == budget["value"],
                "{form} {by}: {budget}"
            );
        }
        let base = folder.path().join("base");
        let text = fs::read_to_string(&base).expect("a baseline");
        fs::write(&base, text.replacen(own, changed, 1)).expect("a baseline");
        let ran = checked();
        let says = "a row has class Kernel and category";
        assert!(ran.code == 3 && ran.err.contains(says), "{form}: {ran:?}");
        assert!(run(&folder, "diff resident-small.etl base").err.contains(says));
    }
}

/// `refset --strict` failed beside them, and budgets of the same numbers passed.
#[test]
fn an_account_that_does_not_add_up_is_no_value() {
    let measures = ["held_at_stop", "peak", "reaccesses", "accessed"];
    let budget = |measure: &str| {
        format!("[[budget]]\nname = \"{measure}\"\nanalysis = \"refset\"\nmeasure = \"{measure}\"\nmax = \"1 GiB\"\n")
    };
    let folder = folder(&measures.map(budget).concat());
    for name in ["refset-proved.etl", "stacks-keys.etl"] {
        copy(name, &folder, name);
    }
    let verdicts = |name: &str| {
        let ran = check(&folder, &format!("{name} --budgets budgets.toml --format json -q"));
        let found = json(&ran);
        let budgets = found["traces"][0]["budgets"].as_array().expect("budgets").clone();
        (ran.code, budgets.iter().map(|budget| budget["verdict"].clone()).collect::<Vec<_>>(), ran.out)
    };
    let (code, proved, _) = verdicts("refset-proved.etl");
    assert_eq!((code, proved), (0, vec!["pass".into(); 4]));
    let wrong: [Value; 4] = ["invalid", "invalid", "invalid", "pass"].map(Value::from);
    for (name, says) in [
        ("refset-small.etl", "the account differs from the final page sequence by 2.31 %"),
        ("stacks-keys.etl", "accesses could not be attributed"),
    ] {
        assert_eq!(run(&folder, &format!("refset {name} --strict -q")).code, 3);
        let (code, found, told) = verdicts(name);
        assert_eq!((code, &found[..]), (3, &wrong[..]), "{name}: {told}");
        assert!(told.contains(says), "{told}");
    }
}
