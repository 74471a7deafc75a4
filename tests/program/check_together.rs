//! Budgets with several conditions, each of which something meets, and nothing all of them.

use crate::check::{check, folder, json};
use crate::program::fixtures;
use serde_json::Value;
use std::fs;

/// Verdict and warnings of a budget with these conditions, which passes with 0 where nothing is wrong with them.
fn judged(trace: &str, of: &str, conditions: &str) -> (String, String) {
    let max = if ["faults", "cpu"].iter().any(|analysis| of.contains(analysis)) { "1000" } else { "1 GiB" };
    let folder = folder(&format!("[[budget]]\nname = \"a\"\n{of}\nwhere = {{ {conditions} }}\nmax = \"{max}\"\n"));
    fs::copy(fixtures().join(trace), folder.path().join(trace)).expect("a fixture");
    let found = json(&check(&folder, &format!("{trace} --budgets budgets.toml --format json -q")));
    let budget = &found["traces"][0]["budgets"][0];
    assert_eq!(budget["value"].as_f64(), Some(0.0), "{conditions}: {budget}");
    let warnings = budget["warnings"].as_array().expect("warnings").iter().filter_map(Value::as_str);
    let told: Vec<&str> = warnings.filter(|warning| warning.contains("matches nothing")).collect();
    (budget["verdict"].as_str().expect("a verdict").to_owned(), told.join("; "))
}

/// What nobody knows the owner of was asked for with the user's own patterns: what they matched there counted as met, and the budget passed with 0
/// without a word.
#[test]
fn conditions_that_nothing_meets_together_are_told() {
    let resident = ("resident-small.etl", "");
    let pool = ("alloc-x86.etl", "analysis = \"pool\"\nmeasure = \"growth_per_minute\"");
    let commit = ("alloc-x86.etl", "analysis = \"commit\"");
    let faults = ("faults-x86.etl", "analysis = \"faults\"");
    for ((trace, of), conditions, verdict, told) in [
        (
            resident,
            "session = 0, category = \"Map*\"",
            "no match",
            "category \"Map*\" matches nothing of what session=0 lets pass",
        ),
        (
            resident,
            "session = 0, category = \"MapFile\"",
            "pass",
            "category \"MapFile\" matches nothing of what session=0 lets pass",
        ),
        (
            resident,
            "session = 0, class = \"F*\"",
            "no match",
            "class \"F*\" matches nothing of what session=0 lets pass",
        ),
        (resident, "session = 0, list = \"Free\"", "pass", "list \"Free\" matches nothing of what session=0 lets pass"),
        (
            resident,
            "process = \"lsass.exe\", session = \"n/a\"",
            "no match",
            "session \"n/a\" matches nothing of what process=lsass.exe lets pass",
        ),
        (
            pool,
            "tag = \"MmS*\", session = \"2*\"",
            "no match",
            "tag \"MmS*\" matches nothing of what session=2* lets pass",
        ),
        (
            pool,
            "tag = \"MmSt;Foo\", session = 2",
            "no match",
            "tag \"MmSt\" matches nothing of what session=2 lets pass; tag \"Foo\" matches nothing of what session=2 lets pass",
        ),
        (
            commit,
            "process = \"reborn.exe (368)\", pages = \"large\"",
            "pass",
            "pages \"large\" matches nothing of what process=reborn.exe (368) lets pass",
        ),
        (
            faults,
            "thread = 504, module = \"gam*\"",
            "no match",
            "thread \"504\" matches nothing of what module=gam* lets pass",
        ),
    ] {
        assert_eq!(judged(trace, of, conditions), (verdict.to_owned(), told.to_owned()));
    }
}

/// A process or a thread that is there and has nothing on a processor or in a module has 0.
#[test]
fn a_true_0_of_several_conditions_is_told() {
    let of = "analysis = \"cpu\"";
    let told = "processor \"3\" matches nothing of what thread=108 lets pass".to_owned();
    assert_eq!(judged("cpu-compressed.etl", of, "thread = 108, processor = 3"), ("pass".to_owned(), told));
    let told = "processor \"99\" matches nothing".to_owned();
    assert_eq!(judged("cpu-compressed.etl", of, "thread = 108, processor = 99"), ("no match".to_owned(), told));
    let (verdict, told) =
        judged("faults-x86.etl", "analysis = \"faults\"", "process = \"svchost.exe (140)\", module = \"gam*\"");
    let says = "process \"svchost.exe (140)\" matches nothing of what module=gam* lets pass";
    assert_eq!((verdict.as_str(), told.as_str()), ("pass", says));
}
