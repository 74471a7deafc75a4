//! Windows of time and the steps in them: an empty window is told, and rows of different times look different.

use crate::program::{out, run};

/// All numbers of an empty window are 0, and nothing said why.
#[test]
fn an_empty_window_is_an_error_of_every_command() {
    for (command, trace) in [
        ("cpu", "cpu-compressed.etl"),
        ("cpu", "resident-small.etl"),
        ("stacks", "stacks-keys.etl"),
        ("faults", "faults-x86.etl"),
        ("allocations", "alloc-x86.etl"),
        ("refset", "refset-small.etl"),
        ("memory", "resident-small.etl"),
        ("events", "cpu-compressed.etl"),
    ] {
        let rows = if command == "events" { &["--rows"][..] } else { &[] };
        for window in [["--from", "0.001", "--to", "0.001"], ["--from", "1ns", "--to", "2ns"]] {
            let ran = run(&[&[command, trace], rows, &window[..]].concat());
            let told = ran.err.contains("the window is empty: it begins and ends at 0.00");
            assert!(ran.code == 2 && told && ran.out.is_empty(), "{command} {window:?}: {ran:?}");
        }
    }
}

/// Six digits do not tell steps apart that are shorter than a microsecond.
#[test]
fn times_of_a_timeline_are_told_apart() {
    let times = |step: &str| -> Vec<String> {
        let window = ["--from", "0.1", "--to", "0.100006"];
        let text = out(&[&["cpu", "cpu-compressed.etl", "-q", "--timeline", step], &window[..]].concat());
        let first = text.lines().filter_map(|line| line.split_whitespace().next());
        first.filter(|cell| cell.starts_with("0.1")).map(str::to_owned).collect()
    };
    assert_eq!(times("2us"), ["0.100000", "0.100002", "0.100004"]);
    let close = times("500ns");
    assert_eq!((close.len(), &close[..3]), (12, &["0.100000000", "0.100000500", "0.100001000"].map(str::to_owned)[..]));
}
