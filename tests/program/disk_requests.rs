//! `pfnset faults --of disk` where records of requests are missing: what is unknown is no 0.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::{Rec, Session, Trace, file_of};
use serde_json::Value;
use tempfile::NamedTempFile;

fn start(irp: u64) -> Rec {
    let payload = [&irp.to_le_bytes()[..], &44u32.to_le_bytes()].concat();
    Rec::system(P8, 0x010c, 3, payload)
}

/// Reads 4 KiB of disk 0.
fn completion(irp: u64) -> Rec {
    completion_after(irp, 200)
}

fn completion_after(irp: u64, response: u64) -> Rec {
    let u32s = [0u32, 0, 4096, 0].map(u32::to_le_bytes).concat();
    let u64s = [irp << 12, 0xffff_a000, irp, response].map(u64::to_le_bytes).concat();
    Rec::perf(P8, 0x010a, 3, [&u32s[..], &u64s, &44u32.to_le_bytes()].concat())
}

/// Twenty reads one after the other; of some only one of the two records.
fn reads(has_start: impl Fn(u64) -> bool, has_end: impl Fn(u64) -> bool) -> NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let of = |irp: u64| {
        let begin = t0 + irp * 1000;
        let starts = has_start(irp).then(|| start(irp).at(begin));
        starts.into_iter().chain(has_end(irp).then(|| completion(irp).at(begin + 200)))
    };
    file_of(&Trace::new(session).push_all((1..=20).flat_map(of)).finish())
}

fn asked(file: &NamedTempFile, more: &[&str]) -> (String, Value) {
    let path = file.path().to_str().expect("UTF-8");
    let table = run(&[&["faults", path, "--of", "disk"], more].concat());
    let json = run(&[&["faults", path, "--format", "json"], more].concat());
    (table.out + &table.err, serde_json::from_str(&json.out).expect("JSON"))
}

/// Codes of warnings that make numbers wrong.
fn doubts(json: &Value) -> Vec<&str> {
    let doubts = json["doubts"].as_array().expect("doubts").iter();
    doubts.filter_map(|doubt| doubt["code"].as_str()).collect()
}

#[test]
fn without_starts_the_queue_is_unknown() {
    let (table, json) = asked(&reads(|_| false, |_| true), &[]);
    assert_eq!(doubts(&json), ["requests_unmatched"], "{json}");
    assert!(table.contains("20 disk requests: 20 without start (in no queue)"), "{table}");
    let total = table.lines().find(|line| line.starts_with("Total")).expect("a total");
    assert!(total.ends_with("unknown"), "{table}");
    let (table, json) = asked(&reads(|_| true, |_| true), &[]);
    assert!(doubts(&json).is_empty() && json["disk"]["queue_max"] == 1, "{json}");
    let total = table.lines().find(|line| line.starts_with("Total")).expect("a total");
    assert!(!table.contains("disk requests: ") && total.ends_with(" 1"), "{table}");
}

#[test]
fn requests_without_an_end_are_told_beside_the_table() {
    let (table, json) = asked(&reads(|_| true, |irp| irp % 2 == 0), &[]);
    assert_eq!((doubts(&json), &json["disk"]["unfinished"]), (vec!["requests_unmatched"], &10.into()), "{json}");
    assert!(table.contains("20 disk requests: 10 without end (in no sum)"), "{table}");
    // The last one was on its way when the recording ended.
    let (table, json) = asked(&reads(|_| true, |irp| irp < 20), &[]);
    assert!(doubts(&json).is_empty(), "{json}");
    assert!(table.contains("20 disk requests: 1 without end (in no sum)"), "{table}");
}

/// All completions are missing: no less doubtful than half of them. A few starts at the end of a short trace are no such loss.
#[test]
fn requests_of_which_none_was_completed_make_numbers_doubtful() {
    let file = reads(|_| true, |_| false);
    let (table, json) = asked(&file, &[]);
    assert_eq!((doubts(&json), &json["disk"]["unfinished"]), (vec!["requests_unmatched"], &20.into()), "{json}");
    assert!(table.contains("20 without end (in no sum); no completion is known"), "{table}");
    let path = file.path().to_str().expect("UTF-8");
    let code = |line: &[&str]| run(&[line, &["--strict"]].concat()).code;
    assert_eq!((code(&["faults", path]), code(&["info", path])), (3, 3));
    assert!(doubts(&asked(&reads(|irp| irp < 8, |_| false), &[]).1).is_empty());
}

/// The disks worked longer than all responses took, and nothing was said. Short requests, and fewer than half, are no contradiction.
#[test]
fn responses_that_contradict_the_stamps_are_told() {
    let told = |took: u64, response: &dyn Fn(u64) -> u64| {
        let session = Session { processors: 1, ..Session::windows10() };
        let t0 = session.t0;
        let of = |irp: u64| {
            let begin = t0 + irp * 2000;
            [start(irp).at(begin), completion_after(irp, response(irp)).at(begin + took)]
        };
        let (table, json) = asked(&file_of(&Trace::new(session).push_all((1..=20).flat_map(of)).finish()), &[]);
        let says = "of 20 disk requests differ from the time between the records of their start and completion";
        assert_eq!(table.contains(says), !doubts(&json).is_empty(), "{table}");
        doubts(&json).iter().map(|code| (*code).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(1000, &|_| 0), ["responses_differ"]);
    assert_eq!(told(1000, &|_| 50_000), ["responses_differ"]);
    assert_eq!(told(1000, &|irp| if irp % 2 == 0 { 0 } else { 1000 }), [""; 0]);
    assert_eq!(told(1000, &|_| 600), [""; 0]);
    assert_eq!(told(150, &|_| 0), [""; 0]);
}

/// Requests before time 0 were in no number, and nothing said so.
#[test]
fn requests_before_the_header_are_told() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let of = |irp: u64| {
        let begin = t0 - 10_000 + irp * 1000;
        [start(irp).at(begin), completion(irp).at(begin + 200)]
    };
    let file = file_of(&Trace::new(session).push_all((1..=20).flat_map(of)).finish());
    let (table, json) = asked(&file, &[]);
    assert!(doubts(&json).contains(&"records_before_start"), "{json}");
    assert_eq!(json["disk"]["operations"], 11);
    assert!(table.contains("9 disk requests are before the stamp of the log-file header"), "{table}");
    let (table, json) = asked(&file, &["--from", "0"]);
    assert!(!doubts(&json).contains(&"records_before_start") && !table.contains("before the stamp"), "{table}");
}
