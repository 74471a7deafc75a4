//! `pfnset check`: values beside their limits: digits of times, columns of CSV, columns that a terminal has no room for, conditions that
//! take everything.

use crate::check::{FILES, check, folder, json, without_buffer};
use crate::check_cpu::switches;
use crate::program::{finish, fixtures, pfnset, run};
use std::fs;

/// `0.000 ms above max 0.800 ms`, of a value of 0.800 ms.
#[test]
fn a_limit_that_is_broken_by_less_than_a_microsecond_is_told_to_the_nanosecond() {
    let trace = switches(1000, 9000, &[]);
    let trace = trace.path().to_str().expect("UTF-8");
    let folder = folder("");
    let path = folder.path().join("budgets.toml");
    let printed = |limit: &str| {
        let text = format!("[[budget]]\nname = \"all\"\nanalysis = \"cpu\"\n{limit}\n");
        fs::write(&path, text).expect("room for a file");
        let run = run(&["check", trace, "--budgets", path.to_str().expect("UTF-8"), "-q"]);
        (run.code, run.out)
    };
    let (code, out) = printed("max = \"799800 ns\"");
    let row = "all     fail     0.800000 ms  max 0.799800 ms  -0.000200 ms";
    assert!(code == 1 && out.contains(row) && out.contains("all: 0.000200 ms above max 0.799800 ms"), "{out}");
    let (code, out) = printed("min = \"800100 ns\"");
    assert!(code == 1 && out.contains("all: 0.000100 ms below min 0.800100 ms"), "{out}");
    let (code, out) = printed("max = \"0.7\"");
    assert!(code == 1 && out.contains("all: 0.100 ms above max 0.700 ms"), "{out}");
}

/// JSON had them, CSV did not.
#[test]
fn csv_has_growth_its_limit_and_optional() {
    let text = |more: &str| {
        format!(
            "[[budget]]\nname = \"All\"\nwhere.category = \"*\"\nmax = \"1 GiB\"\nmax_growth = \"10 pages\"\n{more}"
        )
    };
    let folder = folder(&text("optional = true\n"));
    check(&folder, "resident-small.etl --budgets budgets.toml --save-baseline base.json -q");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --baseline base.json --format csv");
    let mut lines = ran.out.lines();
    let (head, row) = (lines.next().expect("a heading"), lines.next().expect("a row"));
    assert!(head.ends_with(",reason,warnings,baseline_value,growth,growth_limit_value,optional"), "{head}");
    let (all, limit) = (3000 * 4096, 3010 * 4096);
    assert!(row.ends_with(&format!(",{all},0,{limit},true")), "{row}");
    fs::write(folder.path().join("budgets.toml"), text("").replace("max_growth = \"10 pages\"\n", "")).expect("a file");
    let ran = check(&folder, "resident-small.etl --budgets budgets.toml --format csv");
    assert!(ran.out.lines().nth(1).is_some_and(|row| row.ends_with(",,,,false")), "{}", ran.out);
}

/// Columns left by their place: the last one failed, and the first one that only was near its limit stood there instead.
#[test]
fn a_narrow_table_of_traces_keeps_the_worst_budgets() {
    let budget = |name: &str, pages: u32| {
        format!("[[budget]]\nname = \"{name} of the list\"\nwhere.category = \"Image\"\nmax = \"{pages} pages\"\n")
    };
    let folder = folder(&[budget("Near", 370), budget("Good", 900), budget("Broken", 10)].concat());
    fs::copy(fixtures().join("resident-small.etl"), folder.path().join("nightly-run-of-friday.etl")).expect("a copy");
    let line = ["check", "resident-small.etl", "nightly-run-of-friday.etl", "--budgets", "budgets.toml", "-q"];
    let at = |width: &str| finish(pfnset(&line).current_dir(folder.path()).env("COLUMNS", width)).out;
    let table = |text: &str| text.split("\n\n").nth(1).expect("a table").to_owned();
    let wide = table(&at("66"));
    assert!(wide.starts_with("Trace"), "{wide}");
    let heading = wide.lines().next().expect("a heading");
    assert!(heading.contains("Verdict") && heading.ends_with("Broken of the list"), "{wide}");
    assert!(wide.contains("Not shown, for lack of width: Near of the list, Good of the list"), "{wide}");
    let narrow = table(&at("40"));
    assert!(narrow.lines().next().is_some_and(|heading| heading.ends_with("Verdict")), "{narrow}");
    assert!(narrow.contains("Not shown, for lack of width: Near of"), "{narrow}");
}

/// `access_reason = "*"` was `no match` where nothing was accessed again: it cannot be misspelled.
#[test]
fn a_condition_that_takes_everything_is_0_where_there_is_nothing() {
    let folder = folder("");
    fs::copy(fixtures().join("refset-proved.etl"), folder.path().join("proved.etl")).expect("a copy");
    let judged = |condition: &str| {
        let text = format!(
            "[[budget]]\nname = \"x\"\nanalysis = \"refset\"\nmeasure = \"reaccesses\"\n{condition}\nmax = \"0\"\n"
        );
        fs::write(folder.path().join("budgets.toml"), text).expect("room for a file");
        let ran = check(&folder, "proved.etl --budgets budgets.toml --format json -q");
        let budget = json(&ran)["traces"][0]["budgets"][0].clone();
        (ran.code, budget["verdict"].clone(), budget["value"].clone(), budget["warnings"].clone())
    };
    let zero = (0, "pass".into(), 0.into(), serde_json::json!([]));
    assert_eq!(judged(""), zero);
    for all in ["\"*\"", "\"**\"", "\"*a*;*o*\""] {
        assert_eq!(judged(&format!("where.access_reason = {all}")), zero, "{all}");
    }
    // A wildcard that takes some names and not others is no such condition.
    assert_eq!(judged("where.access_reason = \"Pool*\"").1, "no match");
}

/// Rows of CSV say what makes them doubtful: those of the trace, and of their own budget.
#[test]
fn rows_have_their_warnings() {
    let both = "[[budget]]\nname = \"csrss\"\nwhere = { process = \"csrss*;nobody*\" }\nmax = \"1 GiB\"\n";
    let folder = folder(&format!("{FILES}max = \"100 %\"\n{both}"));
    let lossy = without_buffer(&folder, "refset-small.etl", 8);
    let ran = check(&folder, &format!("{lossy} --budgets budgets.toml --format csv -q"));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(ran.code == 0 && lines[0].contains(",reason,warnings,"), "{}", ran.out);
    assert!(lines[1].contains("THE FILE LACKS 1 buffer") && !lines[1].contains("matches nothing"), "{}", ran.out);
    let own = "process \"\"nobody*\"\" matches nothing";
    assert!(lines[2].contains("THE FILE LACKS 1 buffer") && lines[2].contains(own), "{}", ran.out);
}

/// A first file of budgets had some that the trace that they were made of could not answer.
#[test]
fn suggested_budgets_can_be_judged_on_their_own_trace() {
    let folder = folder("");
    for name in ["refset-proved.etl", "refset-small.etl", "resident-small.etl", "alloc-x86.etl", "faults-x86.etl"] {
        fs::copy(fixtures().join(name), folder.path().join("now.etl")).expect("a fixture");
        let made = check(&folder, "--init now.etl -o first.toml --force -q");
        assert_eq!(made.code, 0, "{name}: {made:?}");
        let first = fs::read_to_string(folder.path().join("first.toml")).expect("the file");
        let unknown =
            "# No budget of SystemPage, memory: its categories cannot be known: no image of the kernel is known";
        assert_eq!(first.contains(unknown), name == "refset-proved.etl", "{name}: {first}");
        let found = json(&check(&folder, "now.etl --budgets first.toml --format json -q"));
        let judged = found["traces"][0]["budgets"].as_array().expect("budgets");
        assert!(!judged.is_empty(), "{name}");
        for budget in judged {
            assert!(["pass", "watch"].contains(&budget["verdict"].as_str().expect("a verdict")), "{name}: {budget}");
        }
    }
}

/// Windows PowerShell writes `pfnset check --init trace.etl > budgets.toml` in UTF-16, with a byte-order mark and `\r\n`.
#[test]
fn budgets_in_utf_16_are_read() {
    let folder = folder("");
    let made = run(&["check", "--init", fixtures().join("resident-small.etl").to_str().expect("UTF-8"), "-q"]);
    let text = made.out.replace('\n', "\r\n");
    let judged = |bytes: &[u8]| {
        fs::write(folder.path().join("budgets.toml"), bytes).expect("room for a file");
        check(&folder, "resident-small.etl --budgets budgets.toml -q")
    };
    let plain = judged(text.as_bytes());
    assert_eq!(plain.code, 0, "{plain:?}");
    for (mark, bytes) in [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)] {
        let words: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(bytes)).collect();
        let read = judged(&words);
        assert_eq!((read.code, read.out), (0, plain.out.clone()));
    }
}
