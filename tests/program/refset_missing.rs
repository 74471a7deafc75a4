//! A reference set of which records of one kind are missing, or say something else than the final page sequence.

use crate::program::run;
use crate::trust::{fixture, places, with};
use etl_writer::file_of;
use serde_json::Value;
use std::ops::Range;

const TRACE: &str = "refset-proved.etl";
const ACCESS: u16 = 0x0276;
const ACCESS_EX: u16 = 0x0282;
const ACTIVE: u16 = 0x0275;
const TRIM: u16 = 0x0283;
const VIEW_DC_START: u16 = 0x0427;

/// The fixture without those records of an event whose number is chosen.
fn without(hook: u16, is_gone: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bytes = fixture(TRACE);
    let gone = |(number, at): (usize, Range<usize>)| is_gone(number).then_some(at);
    let places: Vec<_> = places(&bytes, &[hook]).into_iter().enumerate().filter_map(gone).collect();
    assert!(!places.is_empty(), "{hook:#x}");
    places.iter().for_each(|at| bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fff_u16.to_le_bytes()));
    bytes
}

/// Code and text of the doubts of a command.
fn doubts(command: &str, bytes: &[u8], more: &[&str]) -> Vec<(String, String)> {
    let ran = with(command, bytes, &[more, &["--format", "json"]].concat());
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = |doubt: &Value, key: &str| doubt[key].as_str().unwrap_or_default().to_owned();
    let doubts = json["doubts"].as_array().expect("doubts").iter();
    doubts.map(|doubt| (text(doubt, "code"), text(doubt, "text"))).collect()
}

fn says(doubts: &[(String, String)], code: &str) -> Option<String> {
    doubts.iter().find(|(own, _)| own == code).map(|(_, text)| text.clone())
}

/// Verdict and reason of a budget of the reference set.
fn judged(bytes: &[u8], measure: &str, more: &str) -> (String, String) {
    let text =
        format!("[[budget]]\nname = \"a\"\nanalysis = \"refset\"\nmeasure = \"{measure}\"\nmax = \"1 GiB\"\n{more}\n");
    let budgets = file_of(text.as_bytes());
    let ran = with("check", bytes, &["--budgets", budgets.path().to_str().expect("a path"), "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = |key: &str| json["traces"][0]["budgets"][0][key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("reason"))
}

/// A third of the trims is gone: only the line of re-accesses on the first screen showed it.
#[test]
fn re_accesses_beside_trims_prove_that_releases_are_missing() {
    let whole = fixture(TRACE);
    let thinned = without(TRIM, |number| number % 3 == 2);
    let [of_whole, of_thinned] =
        [&whole, &thinned].map(|bytes| says(&doubts("refset", bytes, &[]), "releases_missing"));
    assert_eq!(of_whole, None);
    let line = of_thinned.expect("told");
    assert!(line.starts_with("2 pages entered a working set that had them already (re-accesses), beside "), "{line}");
    assert_eq!(with("refset", &thinned, &["--strict"]).code, 3);

    // Wherever numbers of the reference set stand.
    let file = file_of(&thinned);
    let (path, folder) = (file.path().to_str().expect("a path"), tempfile::tempdir().expect("a folder"));
    let of_diff = doubts("diff", &whole, &[path, "--refset"]);
    assert_eq!(says(&of_diff, "releases_missing"), Some(format!("RIGHT: {line}")), "{of_diff:?}");
    let of_info = doubts("info", &thinned, &["--strict"]);
    assert_eq!(says(&of_info, "releases_missing").as_ref(), Some(&line), "{of_info:?}");
    let report = folder.path().join("report.html").to_str().expect("a path").to_owned();
    run(&["report", path, "-o", &report, "-q"]);
    let page = std::fs::read_to_string(&report).expect("a page");
    assert!(page.contains("that had them already (re-accesses)"));
    let dataset = folder.path().join("dataset").to_str().expect("a path").to_owned();
    run(&["export", path, "--out", &dataset, "--format", "csv", "-q"]);
    let partition = std::fs::read_dir(format!("{dataset}/warnings")).expect("a table").next().expect("a part").unwrap();
    let table = std::fs::read_to_string(partition.path().join("part-0.csv")).expect("a table");
    assert!(table.contains("releases_missing"), "{table}");

    // What was held is not known; how often it entered again is.
    let (verdict, reason) = judged(&without(TRIM, |number| number % 3 == 2), "held_at_stop", "");
    assert!(verdict == "invalid", "{reason}");
    assert_ne!(judged(&whole, "held_at_stop", "").0, "invalid");
}

/// Without trims re-accesses are expected, which is said in other words.
#[test]
fn re_accesses_without_trims_are_no_proof() {
    let bytes = without(TRIM, |_| true);
    let all = doubts("refset", &bytes, &[]);
    assert!(says(&all, "no_trims").is_some() && says(&all, "releases_missing").is_none(), "{all:?}");
}

/// No access of one kind: `accessed` was less by as much as they are, without a word.
#[test]
fn a_kind_of_access_without_a_record_is_told() {
    assert_eq!(says(&doubts("refset", &fixture(TRACE), &[]), "accesses_missing"), None);
    for (hook, reason, other, says_of) in [
        (ACCESS, "PrivatePageAccess", "SharablePageAccess", "no access of a private page (PageAccess)"),
        (ACCESS_EX, "SharablePageAccess", "PrivatePageAccess", "no access of a shareable page (PageAccessEx)"),
        (ACTIVE, "ActiveRundown", "PrivatePageAccess", "no active page (InMemoryActive)"),
    ] {
        let bytes = without(hook, |_| true);
        let line = says(&doubts("refset", &bytes, &[]), "accesses_missing").expect("told");
        assert!(line.starts_with(&format!("{says_of} is in the trace, beside ")), "{line}");
        for measure in ["accessed", "held_at_stop", "peak"] {
            let (verdict, why) = judged(&bytes, measure, "");
            assert!(verdict == "invalid" && why.contains(says_of), "{measure}: {verdict} {why}");
        }
        let of = |reason: &str| judged(&bytes, "accessed", &format!("where = {{ access_reason = \"{reason}\" }}"));
        assert_eq!((of(reason).0.as_str(), of(other).0.as_str()), ("invalid", "pass"), "{reason}");
    }
}

/// Shareable pages are matched by their frame, whatever use their accesses had.
#[test]
fn pages_that_match_with_another_use_are_told() {
    let whole = fixture(TRACE);
    let mut bytes = whole.clone();
    // Bits 0 to 3 of the identity, after a header of 32 bytes: of pages of a section of the pagefile those of a file.
    for at in places(&whole, &[ACCESS_EX]) {
        let of_use = &mut bytes[at.start + 32];
        *of_use = if *of_use & 15 == 2 { *of_use & !15 | 1 } else { *of_use };
    }
    let json = |bytes: &[u8]| -> Value {
        serde_json::from_str(&with("refset", bytes, &["--format", "json"]).out).expect("JSON")
    };
    let [sound, other] = [&whole, &bytes].map(|bytes| json(bytes)["verification"].clone());
    assert_eq!((&sound["matched_other_use"], &sound["matched"]), (&0.into(), &other["matched"]));
    let differing = other["matched_other_use"].as_u64().expect("a number");
    assert!(differing > 20, "{other}");
    let line = says(&doubts("refset", &bytes, &[]), "uses_differ").expect("told");
    assert!(line.starts_with(&format!("{differing} of ")), "{line}");
    let verify = |bytes: &[u8]| with("refset", bytes, &["--verify"]);
    let (fine, bad) = (verify(&whole), verify(&bytes));
    assert_eq!((fine.code, bad.code), (0, 1), "{bad:?}");
    let says = format!("{differing} pages that match are of another use in the sequence");
    assert!(
        bad.out.contains(&says) && bad.err.contains("of another use") && !fine.out.contains("another use"),
        "{bad:?}"
    );
    assert_eq!(judged(&bytes, "held_at_stop", "").0, "invalid");
}

/// The peak by details lacked the files of views whose process ended.
#[test]
fn views_without_a_rundown_at_the_start_are_told() {
    let bytes = without(VIEW_DC_START, |_| true);
    let line = says(&doubts("refset", &bytes, &[]), "rundown_incomplete").expect("told");
    assert!(line.starts_with("only the rundown at the stop lists views: it lacks those of "), "{line}");
    assert_eq!(says(&doubts("refset", &fixture(TRACE), &[]), "rundown_incomplete"), None);
    let copies = "where = { category = \"CopyOnWriteImage\" }";
    assert_eq!(judged(&fixture(TRACE), "peak", copies).0, "pass");
    let (verdict, why) = judged(&bytes, "peak", copies);
    assert!(verdict == "invalid" && why.contains("lists views"), "{verdict} {why}");
}
