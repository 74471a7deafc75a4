//! Files of one recording that are named as separate traces: every command that takes them so says it, with what makes one trace of both.

use crate::check::{check, folder, json};
use crate::program::{fixtures, run};
use crate::recording::pair;
use std::fs;

const BUDGETS: &str = "[[budget]]\nname = \"all\"\nmax = \"100 %\"\n";

/// `check` told of one that a keyword was not recorded, which the other one has.
#[test]
fn separate_files_of_a_recording_are_told() {
    let folder = folder(BUDGETS);
    let [kernel, user] = pair(folder.path());
    let budgets = folder.path().join("budgets.toml").to_str().unwrap().to_owned();
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    let with = format!("Name both as one trace: {kernel} --with {user}");
    let each = format!("Without --each, both are one trace: {kernel} {user}");
    let said = |arguments: &[&str]| {
        let ran = run(arguments);
        format!("{}{}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for [first, second] in [[&kernel, &user], [&user, &kernel]] {
        let told = said(&["check", first, second, "--budgets", &budgets, "-q"]);
        let both = format!("{second}: it was recorded together with {first}: ");
        assert!(told.contains(&both) && told.contains(&with), "{told}");
        let told = said(&["info", "--each", first, second]);
        assert!(told.contains(&both) && told.contains(&each), "{told}");
        let told = said(&["resident", "--each", first, second, "--format", "csv", "-q"]);
        assert!(told.contains(&both) && told.contains(&each), "{told}");
        let told = said(&["report", first, second, "-o", &page]);
        assert!(told.contains(&both) && fs::read_to_string(&page).unwrap().contains("was recorded together with"));
        // Only one of them holds pages, so nothing is compared: this says why.
        let told = said(&["diff", first, second]);
        assert!(told.contains(&both) && told.contains("no page sequence"), "{told}");
    }
    let ran = run(&["check", &kernel, &user, "--budgets", &budgets, "--format", "json", "-q"]);
    let told = json(&ran)["traces"][1]["warnings"].to_string();
    assert!(told.contains("it was recorded together with"), "{told}");
    assert_eq!(run(&["info", "--each", &kernel, &user, "--strict", "-q"]).code, 3);
    for [baseline, new] in [[&kernel, &user], [&user, &kernel]] {
        let told = said(&["check", new, "--baseline", baseline, "--budgets", &budgets, "-q"]);
        assert!(
            told.contains(&format!("it was recorded together with {baseline}: ")) && told.contains(&with),
            "{told}"
        );
    }
}

#[test]
fn what_is_one_trace_or_two_is_not_told() {
    let folder = folder(BUDGETS);
    let [kernel, user] = pair(folder.path());
    let told = |arguments: &[&str]| {
        let ran = check(&folder, &[arguments, &["--budgets", "budgets.toml", "-q"]].concat().join(" "));
        format!("{}{}", ran.out, ran.err).contains("recorded together")
    };
    assert!(told(&[&kernel, &user]));
    assert!(!told(&[&kernel, "--with", &user]) && !told(&["."]) && !told(&[&kernel, "--with", &user, &user]));
    fs::copy(&user, folder.path().join("other.etl")).unwrap();
    assert!(!told(&[&kernel, "other.etl"]), "of another name");
    fs::copy(fixtures().join("resident-small.etl"), &user).unwrap();
    assert!(!told(&[&kernel, &user]), "of another boot");
}
