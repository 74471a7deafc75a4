//! Budgets of traces that were recorded without a keyword: what is of other pages or lacks some is said, and is no growth.

use crate::check::{check, folder, json};
use crate::trust::{fixture, places};
use serde_json::Value;
use std::fs;

/// Which keywords were on.
const MASKS: [u16; 2] = [0x0005, 0x0020];
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
