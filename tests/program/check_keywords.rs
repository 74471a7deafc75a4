//! Budgets of traces that were recorded without a keyword: what is of other pages or lacks some is said, and is no growth.

use crate::check::{check, folder, json};
use crate::trust::{fixture, places, with};
use serde_json::Value;
use std::fs;

/// Which keywords were on.
const MASKS: [u16; 2] = [0x0005, 0x0020];
const PAGES: [u16; 2] = [0x0223, 0x028a];
const POOL: [u16; 4] = [0x0e20, 0x0e21, 0x0e22, 0x0e23];
const NAMES: [u16; 3] = [0x0420, 0x0423, 0x0424];
const REGIONS: [u16; 4] = [0x0262, 0x0263, 0x0280, 0x0281];

/// A fixture without the records of these events, as if they had not been recorded.
fn without(name: &str, hooks: &[&[u16]]) -> Vec<u8> {
    let mut bytes = fixture(name);
    for at in places(&bytes, &hooks.concat()) {
        bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
    }
    bytes
}

/// Verdict, reason and warnings of each budget of a trace, against a baseline. A budget: analysis and measure, conditions.
fn judged(trace: &[u8], baseline: &[u8], budgets: &[(&str, &str, &str)], more: &str) -> Vec<(String, String, String)> {
    let budget = |(at, (analysis, measure, conditions)): (usize, &(&str, &str, &str))| {
        format!(
            "[[budget]]\nname = \"{at}\"\nanalysis = \"{analysis}\"\nmeasure = \"{measure}\"\nwhere = {{ {conditions} }}\nmax = \"1 GiB\"\nmax_growth = \"1 %\"\n"
        )
    };
    let folder = folder(&budgets.iter().enumerate().map(budget).collect::<String>());
    for (name, bytes) in [("trace.etl", trace), ("base.etl", baseline)] {
        fs::write(folder.path().join(name), bytes).expect("a trace");
    }
    if more.contains("saved.json") {
        let ran = check(&folder, "base.etl --budgets budgets.toml --save-baseline saved.json -q");
        assert!(folder.path().join("saved.json").exists(), "{ran:?}");
    }
    let found = json(&check(&folder, &format!("trace.etl --budgets budgets.toml --format json {more}")));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |(at, budget): (usize, &Value)| {
        let own = format!("budget \"{at}\": ");
        let warnings = found["traces"][0]["warnings"].as_array().into_iter().flatten().map(text);
        let warnings: Vec<String> = warnings.filter(|line| line.starts_with(&own)).collect();
        (text(&budget["verdict"]), text(&budget["reason"]), warnings.join("\n"))
    };
    found["traces"][0]["budgets"].as_array().expect("budgets").iter().enumerate().map(of).collect()
}

/// Without pool, what was accessed was a twentieth less, and all limits of growth passed.
#[test]
fn accesses_of_a_reason_without_records_are_told_and_are_no_growth() {
    let whole = without("refset-proved.etl", &[&PAGES]);
    let budgets = [
        ("refset", "accessed", ""),
        ("refset", "accessed", "access_reason = \"PoolAllocate;PageRangeAccess\""),
        ("refset", "accessed", "access_reason = \"PrivatePageAccess\""),
        ("refset", "peak", ""),
    ];
    let verdicts = |all: &[(String, String, String)]| all.iter().map(|of| of.0.clone()).collect::<Vec<_>>();
    assert_eq!(verdicts(&judged(&whole, &whole, &budgets, "--baseline base.etl")), ["pass"; 4]);
    for (hooks, reason, code) in
        [(&POOL[..], "PoolAllocate", 0), (&[0x0278, 0x0279], "PageRangeAccess", 0), (&[0x0278], "PageRangeAccess", 0)]
    {
        let bare = without("refset-proved.etl", &[&PAGES, hooks]);
        let ran = with("refset", &bare, &["--strict"]);
        assert!(ran.code == code && ran.out.contains(reason), "{reason}: {}", ran.out);
        for more in ["--baseline base.etl", "--baseline saved.json"] {
            let found = judged(&bare, &whole, &budgets, more);
            assert_eq!(verdicts(&found), ["invalid", "invalid", "pass", "pass"], "{found:?}");
            let says = format!("the baseline has records of accesses by {reason}, this trace has none");
            assert!(found[0].1.starts_with(&says) && found[0].2.contains("count in no sum"), "{found:?}");
            assert!(found[1].1.contains(&format!("by {reason}")), "{found:?}");
            let found = judged(&whole, &bare, &budgets, more);
            assert!(found[0].1.starts_with("this trace has records") && found[1].0 == "invalid", "{found:?}");
            assert_eq!(verdicts(&judged(&bare, &bare, &budgets, more)), ["pass", "invalid", "pass", "pass"]);
        }
    }
    let pool = with("refset", &without("refset-proved.etl", &[&POOL]), &["--format", "json"]);
    let json: Value = serde_json::from_str(&pool.out).expect("JSON");
    assert_eq!(json["missing_keywords"], serde_json::json!(["Pool"]));
}

/// No scenario touches pages of files alone.
#[test]
fn a_reference_set_without_private_pages_is_wrong() {
    let whole = without("refset-proved.etl", &[&PAGES]);
    let budgets = [
        ("refset", "accessed", ""),
        ("refset", "peak", ""),
        ("refset", "accessed", "access_reason = \"PoolAllocate\""),
    ];
    let bare = without("refset-proved.etl", &[&PAGES, &[0x0276]]);
    let ran = with("refset", &bare, &["--strict"]);
    let says = "no access of a private page (PageAccess) is in the trace, beside ";
    assert!(ran.code == 3 && ran.out.contains(says), "{ran:?}");
    let found = judged(&bare, &whole, &budgets, "--baseline base.etl");
    assert!(found[..2].iter().all(|of| of.0 == "invalid" && of.1.starts_with(says)), "{found:?}");
    assert_eq!(found[2].0, "pass", "{found:?}");
}

/// A median of runs with pool and without is that of neither.
#[test]
fn runs_that_lack_other_accesses_give_no_median() {
    let folder = folder("[[budget]]\nname = \"a\"\nanalysis = \"refset\"\nmeasure = \"accessed\"\nmax = \"1 GiB\"\n");
    for (name, hooks) in [("a.etl", &PAGES[..]), ("b.etl", &[&PAGES[..], &POOL].concat())] {
        fs::write(folder.path().join(name), without("refset-proved.etl", &[hooks])).expect("a trace");
    }
    let ran = check(&folder, "a.etl b.etl --budgets budgets.toml --save-baseline saved.json");
    assert!(ran.err.contains("recorded with other keywords than the first trace"), "{ran:?}");
    let saved: Value =
        serde_json::from_slice(&fs::read(folder.path().join("saved.json")).expect("saved")).expect("JSON");
    assert!(saved["budgets"][0]["pages"].is_null(), "{saved}");
}

/// WPA looks for hives among the metafiles: without names of files they are metafiles, a fifth more than with them.
#[test]
fn metafiles_of_wpa_are_others_without_names() {
    let [whole, bare] = [&[][..], &NAMES].map(|hooks| without("resident-small.etl", &[&MASKS, hooks]));
    let budgets =
        [("resident", "pages", "category_wpa = \"MetaFile\""), ("resident", "pages", "category = \"MetaFile\"")];
    for (trace, base) in [(&whole, &bare), (&bare, &whole)] {
        let found = judged(trace, base, &budgets, "--baseline base.etl");
        assert!(found[0].0 == "invalid" && found[0].1.contains("the keyword Filename"), "{found:?}");
        assert_eq!(found[1].0, "pass", "{found:?}");
    }
    let told = judged(&bare, &bare, &budgets, "--baseline base.etl");
    assert!(told[0].0 == "pass" && told[0].2.contains("pages of RegistryFile count as others"), "{told:?}");
    assert_eq!(judged(&whole, &whole, &budgets, "--baseline base.etl")[0].2, "");
}

/// A category of which conditions leave out one rule is not all of it.
#[test]
fn rules_that_are_left_out_split_categories() {
    let whole = without("resident-small.etl", &[&MASKS]);
    let by = |condition| ("resident", "pages", condition);
    let budgets = [
        by("rule = \"!private.none\""),
        by("rule = \"!private.no_owner\""),
        by("rule = \"!use.section\""),
        by("rule = \"!file.hive_by_place\""),
    ];
    for (hooks, keyword, is_split) in [
        (&REGIONS[..], "VirtualAllocation", [true, false, false, false]),
        (&[0x0425, 0x0426, 0x0427, 0x0428], "VAMap", [true, false, false, false]),
        (&NAMES, "Filename", [false, false, false, true]),
    ] {
        let bare = without("resident-small.etl", &[&MASKS, hooks]);
        for (trace, base) in [(&whole, &bare), (&bare, &whole)] {
            let found = judged(trace, base, &budgets, "--baseline base.etl");
            for (of, is_split) in found.iter().zip(is_split) {
                let wanted = if is_split { "invalid" } else { "pass" };
                assert!(of.0 == wanted && of.1.contains(keyword) == is_split, "{keyword}: {found:?}");
            }
        }
    }
}
