//! `pfnset cpu` where the end of a thread is in no record.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{Switch, Thread};
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;

/// Thread 44 of process 48 runs until 2 ms and waits; its process ends at 5 ms. Thread 52 switches until 20 ms. At `more` ms a record of
/// this kind names thread 44. For how long it waited, in µs, and whether its end was told to be missing.
fn waited(more: Option<(u64, u16)>) -> (u64, bool) {
    let session = Session { processors: 1, ..Session::windows10() };
    let (t0, ms) = (session.t0, 10_000);
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let thread = |pid, tid, hook| Thread { pid, tid, ..Thread::default() }.rec(P8, 4, hook);
    let mut records = vec![
        Process::new(48, "app.exe").rec(P8, 4, process::DC_START).at(t0 + 10),
        Process::new(56, "other.exe").rec(P8, 4, process::DC_START).at(t0 + 10),
        thread(48, 44, 0x0503).at(t0 + 20),
        thread(56, 52, 0x0503).at(t0 + 20),
        switch(44, 0).at(t0 + ms),
        switch(0, 44).at(t0 + 2 * ms),
        Process::new(48, "app.exe").rec(P8, 4, process::END).at(t0 + 5 * ms),
    ];
    let others = (10..=20).flat_map(|n| [switch(52, 0).at(t0 + n * ms), switch(0, 52).at(t0 + n * ms + 100)]);
    records.extend(others.chain(more.map(|(time, hook)| thread(48, 44, hook).at(t0 + time * ms + 5000))));
    records.sort_by_key(|record| record.time);
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["cpu", path, "-q", "--group-by", "thread", "--where", "thread=44", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    let warnings = json["warnings"].as_array().expect("warnings").iter().filter_map(Value::as_str);
    let told = warnings.filter(|text| text.contains("no record of the end")).count();
    (json["rows"][0]["states"]["waiting_ns"].as_u64().expect("a time") / 1000, told > 0)
}

#[test]
fn a_thread_ends_with_its_process_where_nothing_names_it_later() {
    assert_eq!(waited(None), (3000, true));
    // Its own end was logged, a little later as ever; or the end rundown lists it.
    assert_eq!(waited(Some((5, 0x0502))), (3500, false));
    assert_eq!(waited(Some((15, 0x0504))), (18_010, false));
}
