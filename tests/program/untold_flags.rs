//! Flags of pages that older Windows leaves clear: that they are clear says nothing, and no command takes it for an answer.

use crate::program::{Ran, run};
use crate::trust::{fixture, places, with};

const NON_TRADEABLE: &str = "do not tell which pages are non-tradeable";
const COLD: &str = "do not tell which pages are cold";

/// The trace as an older Windows recorded it: the build is in the log-file header.
fn of_build(build: u32) -> Vec<u8> {
    let mut bytes = fixture("resident-small.etl");
    let at = bytes.windows(4).position(|four| four == 19_045u32.to_le_bytes()).expect("the build");
    bytes[at..at + 4].copy_from_slice(&build.to_le_bytes());
    bytes
}

/// The trace with page records of 24H2, the only ones in which the flag is filled in.
fn of_24h2() -> Vec<u8> {
    let mut bytes = fixture("resident-small.etl");
    let pages = places(&bytes, &[0x0223]);
    pages.iter().for_each(|at| bytes[at.start + 6..at.start + 8].copy_from_slice(&0x028au16.to_le_bytes()));
    bytes
}

/// What a run says, in one line.
fn said(ran: &Ran) -> String {
    format!("{} {}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn checked(bytes: &[u8], condition: &str) -> Ran {
    let text = format!("[[budget]]\nname = \"a\"\nwhere = {{ {condition} }}\nmax = \"100 %\"\noptional = true\n");
    let budgets = etl_writer::file_of(text.as_bytes());
    with("check", bytes, &["--budgets", budgets.path().to_str().expect("a path")])
}

#[test]
fn a_budget_of_a_flag_that_the_trace_does_not_tell_is_invalid() {
    for (bytes, condition, reason) in [
        (of_build(19_045), "non_tradeable = true", NON_TRADEABLE),
        (of_build(19_045), "non_tradeable = false", NON_TRADEABLE),
        (of_build(26_100), "non_tradeable = true", NON_TRADEABLE),
        (of_build(17_763), "cold = true", COLD),
    ] {
        let ran = checked(&bytes, condition);
        assert!(ran.code == 3 && said(&ran).contains("invalid") && said(&ran).contains(reason), "{condition}: {ran:?}");
    }
    for (bytes, condition) in [
        (of_24h2(), "non_tradeable = true"),
        (of_build(19_045), "cold = true"),
        (of_build(18_362), "cold = true"),
        (of_build(17_763), "pinned = true"),
    ] {
        let ran = checked(&bytes, condition);
        assert!(ran.code == 0 && !said(&ran).contains("do not tell"), "{condition}: {ran:?}");
    }
}

#[test]
fn rows_and_conditions_on_a_flag_that_the_trace_does_not_tell_have_a_note() {
    for (command, more, reason) in [
        ("resident", ["--group-by", "non_tradeable"], NON_TRADEABLE),
        ("resident", ["--where", "non_tradeable=false"], NON_TRADEABLE),
        ("pages", ["--where", "non_tradeable=false"], NON_TRADEABLE),
        ("resident", ["--group-by", "list,cold"], COLD),
        ("pages", ["--where", "cold=true"], COLD),
    ] {
        let ran = with(command, &of_build(17_763), &more);
        assert!(ran.code == 0 && said(&ran).contains(reason), "{command} {more:?}: {}", ran.err);
        // It is what the records are, no damage of the trace.
        let strict = with(command, &of_build(17_763), &[&more[..], &["--strict", "-q"]].concat());
        assert_eq!(strict.code, 0, "{command} {more:?}: {}", strict.err);
        // Those of 24H2 tell both.
        let ran = with(command, &of_24h2(), &more);
        assert!(ran.code == 0 && !said(&ran).contains("do not tell"), "{command} {more:?}: {}", ran.err);
    }
    let ran = with("resident", &of_build(17_763), &["--group-by", "pinned"]);
    assert!(!said(&ran).contains("do not tell"), "{ran:?}");
}

#[test]
fn a_comparison_says_which_side_does_not_tell_a_flag() {
    let newer = etl_writer::file_of(&of_24h2());
    let newer = newer.path().to_str().expect("a path");
    let ran = run(&["diff", "resident-small.etl", newer, "--group-by", "non_tradeable"]);
    assert!(said(&ran).contains(&format!("LEFT: the page records (0x0223) {NON_TRADEABLE}")), "{ran:?}");
    assert!(!said(&ran).contains("RIGHT: the page records"), "{ran:?}");
    let ran = run(&["diff", newer, "resident-small.etl", "--where", "non_tradeable=true"]);
    assert!(said(&ran).contains(&format!("RIGHT: the page records (0x0223) {NON_TRADEABLE}")), "{ran:?}");
    let ran = run(&["diff", "resident-small.etl", newer]);
    assert!(!said(&ran).contains("do not tell"), "{ran:?}");
}
