//! Results that were saved as JSON or as a baseline: `diff` and `check` say what was wrong when they were written, and compare no part
//! of a trace as if it were the whole. Before, a result with `--where`, with `--from`, or of a doubtful trace was taken as sound.

use crate::check::{check, folder, json};
use crate::program::{Ran, finish, pfnset};
use serde_json::Value;
use tempfile::TempDir;

const BUDGETS: &str = "[[budget]]\nname = \"lsass\"\nwhere = { process = \"lsass.exe\" }\nmax_growth = \"50 %\"\n";
const GAPS: &str = "1,224 PFNs between the first and the last are missing in 500 gaps";

fn run(folder: &TempDir, arguments: &[&str]) -> Ran {
    finish(pfnset(arguments).current_dir(folder.path()))
}

/// Writes a result as JSON.
fn save(folder: &TempDir, name: &str, arguments: &[&str]) {
    let ran = run(folder, &[arguments, &["--format", "json", "-o", name]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// The same without the keys that older programs did not write.
fn as_before(folder: &TempDir, name: &str, older: &str) {
    let text = std::fs::read_to_string(folder.path().join(name)).expect("a result");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    for key in ["where", "doubts", "notes"] {
        document.as_object_mut().and_then(|object| object.remove(key)).expect("a key");
    }
    std::fs::write(folder.path().join(older), document.to_string()).expect("room for a file");
}

#[test]
fn a_part_of_a_trace_is_not_compared_with_the_whole() {
    let folder = folder(BUDGETS);
    let sound = "resident-small.etl";
    save(&folder, "part.json", &["resident", sound, "--where", "process=lsass.exe"]);
    as_before(&folder, "part.json", "older.json");
    for order in [["part.json", sound], [sound, "part.json"]] {
        let ran = run(&folder, &["diff", order[0], order[1]]);
        let says = "(part.json) holds only what meets process=lsass.exe, and the trace beside it is whole";
        assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
        // The same question to both sides has an answer, also where the file has no processes.
        let ran = run(&folder, &["diff", order[0], order[1], "--where", "process=LSASS.exe"]);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
        assert!(ran.out.contains("Equal: 9 rows, 190 pages"), "{}", ran.out);
    }
    let ran = run(&folder, &["diff", "older.json", sound]);
    assert!(ran.code == 2 && ran.err.contains("holds only a part of its pages, by conditions"), "{}", ran.err);
    // Two files cannot be asked again.
    save(&folder, "whole.json", &["resident", sound]);
    let ran = run(&folder, &["diff", "part.json", "whole.json", "--strict"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.out.contains("! LEFT holds only what meets process=lsass.exe: what it leaves out looks as"),
        "{}",
        ran.out
    );
    assert_eq!(run(&folder, &["diff", "part.json", "part.json", "--strict"]).code, 0);
}

#[test]
fn a_baseline_holds_what_the_budget_counts() {
    let folder = folder(BUDGETS);
    let sound = "resident-small.etl";
    let of = |baseline: &str| {
        let ran = check(&folder, &format!("{sound} --budgets budgets.toml --baseline {baseline} --format json"));
        let budget = json(&ran)["traces"][0]["budgets"][0].clone();
        (ran.code, budget["baseline_pages"].as_u64(), budget["reason"].as_str().unwrap_or_default().to_owned())
    };
    save(&folder, "own.json", &["resident", sound, "--where", "process=lsass.exe"]);
    assert_eq!(of("own.json"), (0, Some(190), String::new()));
    let by = ["--group-by", "process", "--where"];
    save(&folder, "other.json", &[&["resident", sound], &by[..], &["category=Image"]].concat());
    let (code, pages, reason) = of("other.json");
    assert!((code, pages) == (3, None) && reason.contains("holds only what meets category=Image"), "{reason}");
    as_before(&folder, "other.json", "older.json");
    let (code, pages, reason) = of("older.json");
    assert!((code, pages) == (3, None) && reason.contains("only a part of its pages"), "{reason}");
}

#[test]
fn a_window_that_was_chosen_is_no_whole_scenario() {
    let budgets = "[[budget]]\nname = \"touched\"\nanalysis = \"refset\"\nmax_growth = \"50 %\"\n";
    let folder = folder(budgets);
    // The account of the other fixture does not add up.
    let trace = &crate::program::fixtures().join("refset-proved.etl").display().to_string();
    save(&folder, "window.json", &["refset", trace, "--group-by", "process", "--from", "0.01", "--to", "0.02"]);
    let ran = run(&folder, &["diff", "window.json", trace]);
    let says =
        "LEFT (window.json) is of a window that was chosen, 0.010 s to 0.020 s, and the trace beside it is whole";
    assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
    let ran = check(&folder, &format!("{trace} --budgets budgets.toml --baseline window.json"));
    assert!(ran.code == 3 && ran.out.contains("write it of the whole scenario"), "{}", ran.out);
}

#[test]
fn a_snapshot_that_is_not_the_last_is_no_baseline() {
    let bytes = crate::one_of_each::trace(1);
    let folder = folder("[[budget]]\nname = \"all\"\nmax_growth = \"50 %\"\n");
    std::fs::write(folder.path().join("one.etl"), bytes).expect("room for a file");
    save(&folder, "last.json", &["resident", "one.etl"]);
    let text = std::fs::read_to_string(folder.path().join("last.json")).expect("a result");
    assert!(text.contains("\"is_last\": true"), "{text}");
    let earlier = text.replace("\"is_last\": true", "\"is_last\": false");
    std::fs::write(folder.path().join("earlier.json"), earlier).expect("room for a file");
    let ran = run(&folder, &["diff", "earlier.json", "one.etl"]);
    assert!(ran.code == 2 && ran.err.contains("does not hold the last whole snapshot"), "{}", ran.err);
    assert_eq!(run(&folder, &["diff", "earlier.json", "one.etl", "--snapshot", "0,last"]).code, 0);
    let ran = check(&folder, "one.etl --budgets budgets.toml --baseline earlier.json");
    assert!(ran.code == 3 && ran.out.contains("does not hold the last whole snapshot"), "{}", ran.out);
}

#[test]
fn doubts_of_a_saved_result_are_said_and_strict_fails() {
    let folder = folder(BUDGETS);
    let doubtful = "refset-small.etl";
    save(&folder, "doubtful.json", &["resident", doubtful, "--group-by", "process"]);
    as_before(&folder, "doubtful.json", "older.json");
    check(&folder, &format!("{doubtful} --budgets budgets.toml --save-baseline saved.json"));
    for baseline in ["doubtful.json", "older.json", "saved.json", doubtful] {
        let line = format!("resident-small.etl --budgets budgets.toml --baseline {baseline} --junit v.xml");
        let ran = check(&folder, &format!("{line} --format json"));
        let junit = std::fs::read_to_string(folder.path().join("v.xml")).expect("JUnit XML");
        let flat = |text: &str| text.contains(&format!("baseline {baseline}: ")) && text.contains(GAPS);
        assert!(flat(&json(&ran)["warnings"].to_string()) && flat(&ran.err) && flat(&junit), "{baseline}: {}", ran.err);
        // What is exceeded for certain is a failure; else the doubt decides.
        assert_eq!(ran.code, 1);
        let wide = BUDGETS.replace("50 %", "500 %");
        std::fs::write(folder.path().join("wide.toml"), &wide).expect("room for a file");
        let line = line.replace("budgets.toml", "wide.toml");
        // Of a saved baseline the conditions are the same: only the limit differs.
        assert_eq!(check(&folder, &line).code, 0, "{baseline}");
        assert_eq!(check(&folder, &format!("{line} --strict")).code, 3, "{baseline}");
        assert!(check(&folder, &format!("{line} -q --format json")).err.contains(GAPS) || baseline == doubtful);
    }
    for file in ["doubtful.json", "older.json"] {
        let ran = run(&folder, &["diff", file, file, "--strict"]);
        assert!(ran.code == 3 && ran.out.contains("! LEFT: when it was written: 1,224 PFNs"), "{}", ran.out);
    }
    // A sound result with a note is no doubtful one.
    save(&folder, "sound.json", &["resident", "resident-small.etl", "--group-by", "process"]);
    assert_eq!(run(&folder, &["diff", "sound.json", "resident-small.etl", "--strict"]).code, 0);
}

#[test]
fn csv_says_less_and_this_is_told() {
    let folder = folder(BUDGETS);
    run(&folder, &["resident", "resident-small.etl", "--format", "csv", "-o", "x.csv"]);
    let ran = run(&folder, &["diff", "x.csv", "resident-small.etl", "--format", "json", "--strict"]);
    assert!(ran.code == 0 && ran.err.contains("LEFT: CSV says neither which conditions"), "{}", ran.err);
}

#[test]
fn two_outputs_are_not_one_file() {
    let folder = folder(BUDGETS);
    for flags in ["-o v.xml --junit v.xml", "-o v.xml --junit ./v.xml", "-o v.xml --save-baseline v.xml"] {
        let ran =
            check(&folder, &format!("resident-small.etl --budgets budgets.toml --baseline refset-small.etl {flags}"));
        assert!(ran.code == 2 && ran.err.contains("name the same file"), "{flags}: {}", ran.err);
        assert!(!folder.path().join("v.xml").exists());
    }
}

/// A budgets file from a device was read until memory was full.
#[cfg(unix)]
#[test]
fn files_without_an_end_are_refused() {
    let folder = folder(BUDGETS);
    for line in [
        "check resident-small.etl --budgets /dev/zero",
        "anonymize resident-small.etl -o x.etl --secret-file /dev/zero",
    ] {
        let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
        assert!(ran.code != 0 && ran.err.contains("it holds more than 16 MiB"), "{line}: {}", ran.err);
    }
}

#[test]
fn an_output_over_a_symbol_file_is_refused() {
    let folder = folder(BUDGETS);
    let pdb = folder.path().join("symbols").join("app.PDB");
    std::fs::create_dir(pdb.parent().unwrap()).expect("a folder");
    std::fs::write(&pdb, "symbols").expect("room for a file");
    let line = ["symbols", "resident-small.etl", "--symbols", "symbols", "-o"];
    let ran = run(&folder, &[&line[..], &["symbols/app.PDB"]].concat());
    assert!(ran.code == 2 && ran.err.contains("-o symbols/app.PDB is a symbol file"), "{}", ran.err);
    assert_eq!(std::fs::read(&pdb).unwrap(), b"symbols");
    assert_ne!(run(&folder, &[&line[..], &["symbols/list.txt"]].concat()).code, 2);
    for flag in ["--junit", "--save-baseline"] {
        let line = ["check", "resident-small.etl", "--budgets", "budgets.toml", "--symbols", "symbols", flag];
        let ran = run(&folder, &[&line[..], &["symbols/app.PDB"]].concat());
        assert!(ran.code == 2 && ran.err.contains(&format!("{flag} symbols/app.PDB is a symbol file")), "{}", ran.err);
        assert_eq!(std::fs::read(&pdb).unwrap(), b"symbols");
    }
}

/// `--init` proposed nothing for what a trace has of hard faults.
#[test]
fn budgets_of_hard_faults_are_proposed_and_pass() {
    let folder = tempfile::tempdir().unwrap();
    let budgets = folder.path().join("b.toml");
    let budgets = budgets.to_str().expect("a plain name");
    let ran = crate::program::run(&["check", "--init", "faults-x86.etl", "-o", budgets, "-q"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = std::fs::read_to_string(budgets).unwrap();
    assert!(text.contains("measure = \"hard_faults\"") && text.contains("the wait is not known"), "{text}");
    let ran = crate::program::run(&["check", "faults-x86.etl", "--budgets", budgets]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
}

/// Conditions can be of the words of tables, for files of pfnset as for traces; `pid` follows from the process in the same words.
#[test]
fn the_words_of_tables_choose_rows_of_files() {
    let folder = folder(BUDGETS);
    let trace = crate::program::fixtures().join("resident-small.etl");
    let trace = trace.to_str().expect("UTF-8");
    for (by, condition) in [
        ("process,category", "process=shared*"),
        ("process,category", "process=!kernel*"),
        ("process,file", "file=no file"),
        ("process,session", "session=no*"),
        ("detail", "detail=no detail"),
    ] {
        for form in ["json", "csv"] {
            run(&folder, &["resident", trace, "--group-by", by, "--format", form, "-o", "written"]);
            let ran = run(&folder, &["diff", trace, "written", "--where", condition, "--format", "json"]);
            let found = json(&ran);
            assert!(
                ran.code == 0 && found["right"]["total_pages"].as_u64() > Some(100),
                "{by} {condition} {form}: {ran:?}"
            );
        }
    }
    run(&folder, &["resident", trace, "--group-by", "process", "--format", "json", "-o", "written"]);
    assert_eq!(run(&folder, &["diff", trace, "written", "--group-by", "pid"]).code, 0);
    // A baseline that is such a file.
    let budget = "[[budget]]\nname = \"a\"\nwhere = { process = \"!shared*\" }\nmax_growth = \"0\"\n";
    std::fs::write(folder.path().join("budgets.toml"), budget).expect("room for a file");
    let ran = run(&folder, &["check", trace, "--budgets", "budgets.toml", "--baseline", "written", "--format", "json"]);
    let found = json(&ran)["traces"][0]["budgets"][0].clone();
    assert!(ran.code == 0 && found["value_pages"] == found["baseline_pages"], "{found}");
}

/// WPA's categories in a column of their own are the same by all rules: such a baseline was refused, with advice that could not help.
#[test]
fn a_baseline_by_the_categories_of_wpa_is_judged() {
    let of_wpa = "[[budget]]\nname = \"a\"\nwhere = { category_wpa = \"MapFile\" }\nmax_growth = \"0\"\n";
    let folder = folder(of_wpa);
    let against = |by: &str, rules: &str| {
        let line =
            ["resident", "resident-small.etl", "--group-by", by, "--classification", rules, "--format", "json", "-o"];
        assert_eq!(run(&folder, &[&line[..], &["written"]].concat()).code, 0);
        let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline written --format json -q");
        json(&ran)["traces"][0]["budgets"][0].clone()
    };
    for (by, rules) in [
        ("category_wpa", "both"),
        ("category_wpa", "wpa"),
        ("category_wpa", "corrected"),
        ("category_wpa,category", "both"),
        ("process,category_wpa", "both"),
        ("category_wpa,class", "both"),
    ] {
        let found = against(by, rules);
        assert_eq!(
            (&found["verdict"], &found["baseline_pages"]),
            (&"pass".into(), &found["value_pages"]),
            "{by} {rules}"
        );
        assert!(found["value_pages"].as_u64() > Some(100), "{found}");
    }
    // Categories that are WPA's alone are no others.
    for by in ["category", "category_wpa,category", "class"] {
        let found = against(by, "wpa");
        let reason = found["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("by the corrected rules, grouped by the dimensions of the budget"), "{by}: {found}");
    }
    let ours = of_wpa.replace("category_wpa", "category");
    std::fs::write(folder.path().join("budgets.toml"), ours).expect("room for a file");
    let reason = against("category_wpa", "both")["reason"].to_string();
    assert!(reason.contains("the baseline has no category: write it grouped by category"), "{reason}");
}

/// A CSV has no mark of the last whole snapshot: one with fewer pages was passed over without a word.
#[test]
fn a_guessed_snapshot_of_csv_is_told() {
    let folder = folder("[[budget]]\nname = \"a\"\nwhere.category = \"Image\"\nmax_growth = \"1 GiB\"\n");
    let rows = |last: u64| {
        let text = format!(
            "snapshot,category,pages,bytes,pages_wpa\n0,Image,3000,12288000,3000\n1,Image,{last},{},{last}\n",
            last * 4096
        );
        std::fs::write(folder.path().join("two.csv"), text).expect("room for a file");
    };
    let told = "the file does not say which snapshot is the last whole one: snapshot 0 is taken";
    let of_diff =
        || run(&folder, &["diff", "two.csv", "resident-small.etl", "--group-by", "category", "--format", "json"]);
    let of_check = || check(&folder, "resident-small.etl --budgets budgets.toml --baseline two.csv --format json");
    rows(1500);
    assert!(of_diff().out.contains(&format!("LEFT: {told}")), "{}", of_diff().out);
    assert!(of_check().out.contains(&format!("baseline two.csv: {told}")), "{}", of_check().out);
    rows(2900);
    assert!(!of_diff().out.contains(told) && !of_check().out.contains(told));
}

/// What is no heap in a trace without heap ranges counts as VirtualAlloc, and CSV does not say what was recorded.
#[test]
fn a_baseline_of_csv_does_not_judge_what_a_keyword_decides() {
    let folder = folder(
        "[[budget]]\nname = \"a\"\nwhere.category = \"VirtualAlloc\"\nmax_growth = \"1 GiB\"\n\
         [[budget]]\nname = \"b\"\nmax_growth = \"1 GiB\"\n",
    );
    run(&folder, &["resident", "resident-small.etl", "--format", "csv", "-o", "x.csv"]);
    run(&folder, &["resident", "resident-small.etl", "--format", "json", "-o", "x.json"]);
    for (baseline, first) in [("x.csv", "invalid"), ("x.json", "pass")] {
        let ran =
            check(&folder, &format!("resident-small.etl --budgets budgets.toml --baseline {baseline} --format json"));
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        let verdicts = [0, 1].map(|at| json["traces"][0]["budgets"][at]["verdict"].clone());
        assert_eq!(verdicts, [first, "pass"], "{baseline}: {ran:?}");
    }
}

/// Results of a misspelled condition were "Equal", and two of the same condition or window seemed to be of the whole machine.
#[test]
fn what_both_files_leave_out_is_said_and_nothing_is_not_equal() {
    let folder = folder(BUDGETS);
    let none = ["--where", "process=chrme.exe"];
    save(&folder, "none.json", &[&["resident", "resident-small.etl"][..], &none].concat());
    let ran = run(&folder, &["diff", "none.json", "none.json"]);
    assert!(ran.code == 1 && ran.out.contains("No match: neither side has a row"), "{ran:?}");
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&run(&folder, &[arguments, &["--format", "json"]].concat()).out).expect("JSON")
    };
    let none = json(&["diff", "none.json", "none.json"]);
    assert_eq!((&none["no_match"], &none["equal"]), (&true.into(), &false.into()));
    save(&folder, "part.json", &["resident", "resident-small.etl", "--where", "category=!MapFile"]);
    save(&folder, "window.json", &["refset", "refset-small.etl", "--from", "0.01", "--to", "0.012"]);
    for (file, says) in [("part.json", ", where category=!MapFile"), ("window.json", ", from 0.010000 s to 0.012000 s")]
    {
        let ran = run(&folder, &["diff", file, file]);
        assert!(ran.code == 0 && ran.out.matches(says).count() == 2, "{ran:?}");
    }
    let part = json(&["diff", "part.json", "part.json"]);
    assert_eq!(part["left"]["where"][0]["patterns"], "!MapFile");
    assert_eq!(part["no_match"], false);
    assert!(json(&["diff", "window.json", "window.json"])["right"]["window"]["stop_s"].is_number());
}
