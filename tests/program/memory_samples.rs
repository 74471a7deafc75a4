//! `pfnset memory` where samples of counters or of working sets are missing.

use crate::program::run;
use crate::trust::places;
use etl_writer::payloads::counters::working_sets;
use etl_writer::payloads::process::{DC_START, Process};
use etl_writer::{MemorySpec, Ptr::P8, Rec, Session, Trace, file_of, generate_memory};
use std::io::Cursor;
use tempfile::NamedTempFile;

/// A trace without those records of an event whose number, by time, is in a range.
fn without(hook: u16, gone: std::ops::Range<usize>) -> (NamedTempFile, usize) {
    let spec = MemorySpec::default();
    let (file, truth) = generate_memory(&spec, Cursor::new(Vec::new())).expect("memory is large enough");
    let mut bytes = file.into_inner();
    let mut places = places(&bytes, &[hook]);
    // Headers of PerfInfo have the time at 8, those of System at 16.
    let time = |at: &std::ops::Range<usize>| {
        let from = at.start + if matches!(bytes[at.start + 2], 16 | 17) { 8 } else { 16 };
        u64::from_le_bytes(bytes[from..from + 8].try_into().expect("8 bytes"))
    };
    places.sort_by_key(time);
    for at in places.into_iter().skip(gone.start).take(gone.len()) {
        bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
    }
    (file_of(&bytes), truth.counters.len())
}

fn told(file: &NamedTempFile, more: &[&str]) -> (String, String) {
    let ran = run(&[&["memory", file.path().to_str().expect("a plain name")], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    (ran.out, ran.err)
}

/// The number above the table was that of page lists, and nothing said that most of the time had no sample.
#[test]
fn samples_of_working_sets_that_are_missing_are_told() {
    let by_process = ["--group-by", "process"];
    let (whole, all) = without(0x027d, 0..0);
    let (table, _) = told(&whole, &by_process);
    assert!(!table.contains("missing by their usual distance"), "{table}");
    let (file, _) = without(0x027d, 3..8);
    let (table, _) = told(&file, &by_process);
    let left = format!("{} samples from", all - 5);
    assert!(table.contains("no working sets were sampled between") && table.contains(&left), "{left}: {table}");
    let (_, err) = told(&file, &["--group-by", "process", "--format", "csv"]);
    assert!(err.contains("5 samples are missing by their usual distance"), "{err}");
    let (table, _) = told(&file, &["--group-by", "list"]);
    assert!(!table.contains("were sampled between"), "not of these rows: {table}");
    let (file, _) = without(0x0270, 3..8);
    let (table, _) = told(&file, &["--group-by", "list"]);
    assert!(table.contains("no page lists were sampled between"), "{table}");
    // The page of a report has both.
    let page = file.path().with_extension("html");
    let ran = run(&["report", file.path().to_str().unwrap(), "-o", page.to_str().unwrap()]);
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert!(html.contains("no page lists were sampled between"), "{ran:?}");
}

/// A table without a row said nothing.
#[test]
fn a_window_without_samples_of_working_sets_is_said() {
    let (file, _) = without(0x027d, 3..8);
    let window = ["--group-by", "process", "--from", "1.8", "--to", "3.2"];
    let (table, _) = told(&file, &window);
    assert!(table.contains("No samples of working sets in the window"), "{table}");
    for form in ["csv", "json"] {
        let (_, err) = told(&file, &[&window[..], &["--format", form]].concat());
        assert!(err.contains("no samples of working sets are in the window"), "{form}: {err}");
    }
}

/// Two samples were left, which tell no usual distance; those of working sets do.
#[test]
fn most_samples_that_are_missing_are_told() {
    let (file, _) = without(0x0270, 1..11);
    let (table, _) = told(&file, &["--group-by", "list"]);
    assert!(table.contains("no page lists were sampled between"), "{table}");
}

/// The working set of an id that a sample has twice is whose? The first one counts, and the others are told.
#[test]
fn working_sets_of_no_process_and_of_one_twice_are_left_out() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let of = |entries: &[(u32, u64)]| {
        let entries: Vec<(u32, [u64; 8])> =
            entries.iter().map(|(id, pages)| (*id, [*pages, *pages, 0, 1, 0, 0, 0, 0])).collect();
        working_sets(P8, 0x027d, &entries, false)
    };
    let made = |second: Rec| {
        let trace = Trace::new(session.clone())
            .push(Process::new(40, "app.exe").rec(P8, 4, DC_START).at(t0 + 10))
            .push(of(&[(40, 7)]).at(t0 + 1000))
            .push(second.at(t0 + 2000));
        file_of(&trace.finish())
    };
    let says = "working sets of process 0, or of a process or session that the same sample had before";
    let (table, _) = told(&made(of(&[(0, 900), (40, 9), (40, 500)])), &["--group-by", "process", "--format", "csv"]);
    assert!(!table.contains("500") && !table.contains("900") && !table.contains("(0)"), "{table}");
    let (_, err) = told(&made(of(&[(0, 900), (40, 9), (40, 500)])), &["--group-by", "process", "--format", "csv"]);
    assert!(err.contains(&format!("left out: 2 {says}")), "{err}");
    let (_, err) = told(&made(of(&[(40, 9)])), &["--group-by", "process", "--format", "csv"]);
    assert!(!err.contains(says), "{err}");
}
