//! Names that a code page decides: against a baseline that was read by another one, conditions choose other processes.

use crate::check::{check, folder, json};
use crate::program::{Ran, finish, fixtures, pfnset};
use serde_json::Value;
use tempfile::TempDir;

/// All of the process with the letter, and all without it; by other dimensions, and by names that are ASCII.
const BUDGETS: &str = r#"
[[budget]]
name = "others"
where = { process = ["!lsäss.exe", "!Unknown*"], class = "Dynamic" }
max_growth = "10 KiB"
[[budget]]
name = "without a limit of growth"
where = { process_name = "!lsäss.exe", class = "Dynamic" }
max = "900 MiB"
[[budget]]
name = "plain"
where = { process = ["MsMpEng.exe", "!Unknown*"] }
max_growth = "0"
[[budget]]
name = "all"
where = { class = "Dynamic" }
max_growth = "0"
"#;

/// A trace with a process name in 8-bit text of no Unicode, with these budgets.
fn with_letter() -> TempDir {
    let folder = folder(BUDGETS);
    let mut bytes = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    let places: Vec<usize> =
        bytes.windows(9).enumerate().filter(|(_, name)| name == b"lsass.exe").map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at + 2] = 0xe4);
    std::fs::write(folder.path().join("letter.etl"), bytes).unwrap();
    folder
}

fn run(folder: &TempDir, line: &str) -> Ran {
    let ran = finish(pfnset(&line.split(' ').collect::<Vec<_>>()).current_dir(folder.path()));
    assert!(ran.code < 2, "{line}: {ran:?}");
    ran
}

/// Of each budget the verdict, the growth in bytes, and reason and warnings.
fn of(folder: &TempDir, trace: &str, more: &str) -> Vec<(String, Option<i64>, String)> {
    let ran = check(folder, &format!("{trace} --budgets budgets.toml --format json {more}"));
    let told = |budget: &Value| {
        let text = format!("{} {}", budget["reason"], budget["warnings"]);
        (budget["verdict"].as_str().unwrap().to_owned(), budget["growth_bytes"].as_i64(), text)
    };
    json(&ran)["traces"][0]["budgets"].as_array().unwrap().iter().map(told).collect()
}

const NAMES: &str = "names of processes in the baseline were read by the code page windows-1251, and those in this trace by windows-1252";

#[test]
fn growth_from_a_baseline_of_another_code_page_is_invalid() {
    let folder = with_letter();
    let save = |name: &str, more: &str| {
        check(&folder, &format!("letter.etl --budgets budgets.toml --save-baseline {name} {more}"));
    };
    save("1251.json", "--ansi-codepage 1251");
    save("1252.json", "--ansi-codepage 1252");
    run(&folder, "resident letter.etl --group-by process,category --ansi-codepage 1251 --format json -o result.json");
    for baseline in ["1251.json", "result.json"] {
        let told = of(&folder, "letter.etl", &format!("--baseline {baseline}"));
        let verdicts: Vec<&str> = told.iter().map(|(verdict, ..)| verdict.as_str()).collect();
        let growth: Vec<Option<i64>> = told.iter().map(|(_, growth, _)| *growth).collect();
        assert_eq!(verdicts, ["invalid", "pass", "pass", "pass"], "{baseline}: {told:?}");
        // A result without names of processes says nothing of those.
        assert_eq!(growth[..2], [None; 2], "{baseline}");
        assert_eq!(growth[2..], [Some(0); 2], "{baseline}");
        assert!(told[0].2.contains(NAMES), "{told:?}");
    }
    let told = of(&folder, "letter.etl", "--baseline 1251.json");
    assert!(told[1].2.contains(&format!("its growth is not known: {NAMES}")), "{told:?}");
    // By the same code page, and against the trace itself, nothing grew.
    for more in ["--baseline 1252.json", "--baseline 1251.json --ansi-codepage 1251", "--baseline letter.etl"] {
        let told = of(&folder, "letter.etl", more);
        assert!(told.iter().all(|(verdict, growth, _)| verdict == "pass" && *growth == Some(0)), "{more}: {told:?}");
    }
    // A program of before wrote none, and names in ASCII need none.
    let saved = std::fs::read_to_string(folder.path().join("1251.json")).unwrap();
    let mut old: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(old.as_object_mut().unwrap().remove("code_page"), Some("windows-1251".into()));
    std::fs::write(folder.path().join("old.json"), old.to_string()).unwrap();
    assert_eq!(of(&folder, "letter.etl", "--baseline old.json")[0].0, "pass");
    check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline plain.json --ansi-codepage 1251");
    assert!(!std::fs::read_to_string(folder.path().join("plain.json")).unwrap().contains("code_page"));
}

/// A process of which both rows are one is no growth of it.
#[test]
fn what_grew_most_says_that_one_process_can_be_two() {
    let folder = with_letter();
    let budgets = "[[budget]]\nname = \"a\"\nmax = \"1 MiB\"\nwhere = { class = \"Dynamic\" }\n";
    std::fs::write(folder.path().join("budgets.toml"), budgets).unwrap();
    check(&folder, "letter.etl --budgets budgets.toml --save-baseline 1251.json --ansi-codepage 1251");
    for (more, is_told) in [("", true), (" --ansi-codepage 1251", false)] {
        let told = of(&folder, "letter.etl", &format!("--baseline 1251.json{more}"));
        let says = format!("what grew most can have one process as two: {NAMES}");
        assert!(told[0].0 == "fail" && told[0].2.contains(&says) == is_told, "{told:?}");
    }
}

#[test]
fn two_sides_of_other_code_pages_are_told() {
    let folder = with_letter();
    for page in ["1251", "1252"] {
        run(
            &folder,
            &format!("resident letter.etl --group-by process,list --ansi-codepage {page} --format json -o {page}.json"),
        );
    }
    for (line, is_told) in [
        ("diff 1251.json letter.etl --group-by process", true),
        ("diff 1251.json 1252.json --group-by process", true),
        ("diff 1252.json letter.etl --group-by process", false),
        ("diff 1251.json letter.etl --group-by process --ansi-codepage 1251", false),
        ("diff 1251.json letter.etl --group-by list", false),
    ] {
        let ran = run(&folder, line);
        let says =
            "names of processes in LEFT were read by the code page windows-1251, and those in RIGHT by windows-1252";
        assert_eq!(
            (ran.out.clone() + &ran.err).split_whitespace().collect::<Vec<_>>().join(" ").contains(says),
            is_told,
            "{line}: {ran:?}"
        );
    }
}
