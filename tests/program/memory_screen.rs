//! The first screen of `pfnset memory`: columns of time that stand one below the other, and a title of what the conditions choose.

use crate::program::{out, run};
use etl_writer::{MemorySpec, file_of, generate_memory};
use serde_json::Value;
use std::collections::BTreeSet;
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

/// Rows in steps repeat a sample where the next comes a little later, and leave samples out: nothing said so.
#[test]
fn a_timeline_in_steps_says_which_samples_it_has() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let text = |more: &[&str]| {
        let shown = out(&[&["memory", path, "-q"], more].concat());
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let points = |step: &str, by: &[&str]| -> Vec<(String, f64)> {
        let line = [&["memory", path, "-q", "--format", "json", "--timeline", step], by].concat();
        let all: Value = serde_json::from_str(&out(&line)).expect("JSON");
        let time = |point: &Value| (point["process"].to_string(), point["time_s"].as_f64().expect("a time"));
        all["timeline"].as_array().expect("points").iter().map(time).collect()
    };
    for (by, what) in [(&[][..], "sample"), (&["--group-by", "process"], "sample of a working set")] {
        let all = points("all", by);
        for step in ["2s", "300ms", "500ms", "0.49"] {
            let rows = points(step, by);
            let of = |(owner, time): &(String, f64)| all.iter().rposition(|(o, at)| o == owner && at <= time);
            let in_rows: BTreeSet<usize> = rows.iter().filter_map(of).collect();
            let missing = all.len() - in_rows.len();
            let mut times: Vec<f64> = rows.iter().map(|(_, time)| *time).collect();
            times.dedup();
            let is_new = |pair: &&[f64]| !all.iter().any(|(_, at)| pair[0] < *at && *at <= pair[1]);
            let repeating = times.windows(2).filter(is_new).count();
            let shown = text(&[&["--timeline", step], by].concat());
            let repeats = match repeating {
                1 => "1 row repeats the sample above".to_owned(),
                more => format!("{more} rows repeat the sample above"),
            };
            assert_eq!(shown.contains(&repeats), repeating > 0, "{step} {by:?}, {repeats}: {shown}");
            let plural = what.replacen("sample", "samples", 1).replace("a working set", "working sets");
            let in_none = match missing {
                1 => format!("1 {what} is in no row"),
                more => format!("{more} {plural} are in no row"),
            };
            assert_eq!(shown.contains(&in_none), missing > 0, "{step} {by:?}, {in_none}: {shown}");
            let says = repeating + missing > 0;
            assert_eq!(shown.contains("; --timeline all has each sample"), says, "{step} {by:?}: {shown}");
        }
        assert!(!text(&[&["--timeline", "all"], by].concat()).contains("in no row"));
    }
}
