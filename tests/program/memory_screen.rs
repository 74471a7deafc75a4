//! The first screen of `pfnset memory`: columns of time that stand one below the other, and a title of what the conditions choose.

use crate::program::{out, run};
use etl_writer::{MemorySpec, file_of, generate_memory};
use std::io::Cursor;

/// Pools are in 5 of 11 samples: their course had 5 columns of time and the lists' 8, one below the other.
#[test]
fn courses_of_counters_have_the_same_columns_of_time() {
    let shown = run(&["memory", "faults-x86.etl", "-q"]).out;
    let course = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {shown}"));
        let at = line.char_indices().find(|(_, sign)| ('▁'..='█').contains(sign)).expect("a course").0;
        line[at..].chars().count()
    };
    assert_eq!(course("Paged pool commit"), course("Standby"), "{shown}");
    assert!(
        shown.contains("Pools, MDL and system commit are in 5 of 11 samples: their numbers are of these."),
        "{shown}"
    );
}

/// A title of counters stood above processes alone.
#[test]
fn the_title_is_of_what_the_conditions_choose() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let title =
        |more: &[&str]| out(&[&["memory", path, "-q"], more].concat()).lines().next().expect("a line").to_owned();
    let of_one = title(&["--where", "process=p5-0*"]);
    assert!(of_one.starts_with("1 process, ") && of_one.contains(" samples of working sets from "), "{of_one}");
    assert!(!of_one.contains("repurposed") && !of_one.contains("physical memory"), "{of_one}");
    let of_lists = title(&["--where", "list=Standby"]);
    assert!(of_lists.contains("physical memory") && !of_lists.contains("process"), "{of_lists}");
    assert!(title(&[]).contains("process"));
}

/// Nothing in such a trace is checked, and its report said that the checks had passed.
#[test]
fn a_report_does_not_call_good_what_nothing_checks() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let page = crate::report::page(&[file.path().to_str().expect("a plain name")]);
    assert!(page.contains("Whether its numbers agree is not known") && !page.contains("checks of its numbers passed"));
}
