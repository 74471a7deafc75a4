//! How owner keys are read: one answer for a trace, whichever command asks.

use crate::program::out;
use etl_writer::file_of;
use etl_writer::payloads::pages::{ACCESS, IN_MEMORY, Identity};
use etl_writer::payloads::perf::mark;
use etl_writer::payloads::process::{DC_START, Process};
use etl_writer::{Ptr, Session, Trace};
use serde_json::Value;

/// A trace whose keys are process ids although its event version calls for process objects: as many in a hundred name
/// the one known process, the others name nobody. Accesses first, then the page sequence.
fn trace(named: u64) -> Vec<u8> {
    let key = |page: u64| if page % 100 < named { 100 } else { 0xabc0 + 4 * (page % 7) };
    let page = |page: u64| Identity::private(0x1000 + page, key(page), 0x1_0000 + page * 0x1000);
    let process = Process::new(100, "a.exe").rec(Ptr::P8, 4, DC_START);
    Trace::new(Session::windows10())
        .push(process.at(1_000_000_010))
        .push(mark(Ptr::P8, "RefSetTraceStart").at(1_000_000_020))
        .push_all((0..300).map(|n| page(n).rec(Ptr::P8, 2, ACCESS).by(104, 100).at(1_000_000_100 + n)))
        .push(mark(Ptr::P8, "RefSetTraceStop").at(1_000_001_000))
        .push_all((0..300).map(|n| page(n).rec(Ptr::P8, 2, IN_MEMORY).at(1_000_002_000 + n)))
        .finish()
}

/// Processes of the private pages by the command's JSON.
fn processes(command: &str, file: &str) -> Vec<(String, u64)> {
    let json: Value =
        serde_json::from_str(&out(&[command, file, "-q", "--group-by", "process", "--format", "json"])).expect("JSON");
    let rows = json["rows"].as_array().or(json["snapshots"][0]["rows"].as_array()).expect("rows").clone();
    let pages = |row: &Value| row["pages"].as_u64().expect("pages");
    rows.iter().map(|row| (row["process"].as_str().expect("a name").to_owned(), pages(row))).collect()
}

#[test]
fn the_resident_set_and_the_reference_set_read_a_traces_keys_alike() {
    for named in [0, 5, 20, 80] {
        let file = file_of(&trace(named));
        let path = file.path().to_str().expect("a path");
        let of_a = |command| {
            let found = processes(command, path).into_iter().find(|(name, _)| name == "a.exe (100)");
            found.map_or(0, |(_, pages)| pages)
        };
        // A tenth of the keys is more than chance: see "Owner keys" in docs/accuracy.md.
        let expected = if named >= 10 { 3 * named } else { 0 };
        assert_eq!((of_a("resident"), of_a("refset")), (expected, expected), "{named} of 100 keys are process ids");
    }
}

/// A trace of Windows 7 in which one page of a hundred belongs to the one process that is known: frames of page
/// directories cannot be addresses of process objects, and a match by chance is hardly possible.
#[test]
fn a_few_frames_of_page_directories_are_recognized() {
    let page = |page: u64| {
        let key = if page.is_multiple_of(100) { 0x1_2345 } else { 0x2_0000 + page % 7 };
        Identity::private(0x1000 + page, key, 0x1_0000 + page * 0x1000)
    };
    let process = Process { directory_table: 0x1234_5000, ..Process::new(100, "a.exe") };
    let file = file_of(
        &Trace::new(Session::windows10())
            .push(process.rec(Ptr::P8, 4, DC_START).at(1_000_000_010))
            .push_all((0..300).map(|n| page(n).rec(Ptr::P8, 2, IN_MEMORY).at(1_000_002_000 + n)))
            .finish(),
    );
    let found = processes("resident", file.path().to_str().expect("a path"));
    assert!(found.contains(&("a.exe (100)".to_owned(), 3)), "{found:?}");
}
