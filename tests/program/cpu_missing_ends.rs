//! What ran on a processor before its first record that was kept, and after its last one, is not known.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::thread::Switch;
use etl_writer::{Rec, Session, Trace, file_of};
use serde_json::Value;

/// Ticks between two switches of processor 0; processor 1 has a tenth of them.
const STEP: u64 = 1000;

fn session() -> Session {
    Session { processors: 2, buffer_size: 0x400, ..Session::windows10() }
}

/// Processor 0 runs thread 44 for a twentieth of the time, processor 1 thread 48 for half of it.
fn trace(session: Session) -> Trace {
    let begin = session.t0;
    let switch = |new, old| Switch { new, old, ..Switch::default() }.rec(P8, 4);
    let runs = (1..=400u64).flat_map(move |n| {
        let at = begin + STEP * n;
        let often = [switch(44, 0).at(at).on(0), switch(0, 44).at(at + STEP / 20).on(0)];
        let seldom = [switch(48, 0).at(at + 1).on(1), switch(0, 48).at(at + 1 + STEP * 5).on(1)];
        often.into_iter().chain(seldom.into_iter().filter(move |_| n % 10 == 0))
    });
    let mut all: Vec<Rec> = runs.collect();
    all.sort_by_key(|rec| rec.time);
    Trace::new(session).push_all(all)
}

struct Answer {
    window: (String, String),
    by_thread: Vec<(String, u64)>,
    unknown: u64,
    codes: Vec<String>,
}

fn cpu(bytes: &[u8], window: Option<&(String, String)>) -> Answer {
    let file = file_of(bytes);
    let mut line = vec!["cpu", file.path().to_str().expect("UTF-8"), "--group-by", "thread", "--format", "json", "-q"];
    window.into_iter().for_each(|(from, to)| line.extend(["--from", from, "--to", to]));
    let ran = run(&line);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let nanos = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}: {json}"));
    let rows = json["rows"].as_array().expect("rows").iter();
    let seconds = |key: &str| json["window"][key].as_f64().unwrap_or_else(|| panic!("{json}"));
    Answer {
        window: (format!("{:.9}", seconds("start_s")), format!("{:.9}", seconds("stop_s"))),
        by_thread: rows.map(|row| (row["thread"].to_string(), nanos(&row["cpu_ns"]))).collect(),
        unknown: nanos(&json["total"]["unknown_ns"]),
        codes: json["doubts"]
            .as_array()
            .expect("doubts")
            .iter()
            .map(|doubt| doubt["code"].as_str().expect("a code").to_owned())
            .collect(),
    }
}

/// By how much a thread has more time than it had in this window of the whole trace, nanoseconds.
fn too_much(part: &Answer) -> u64 {
    let whole = cpu(&trace(session()).finish(), Some(&part.window));
    let most = |thread: &str| whole.by_thread.iter().find(|(other, _)| other == thread).map_or(0, |(_, nanos)| *nanos);
    part.by_thread.iter().map(|(thread, nanos)| nanos.saturating_sub(most(thread))).max().unwrap_or(0)
}

/// Buffers of each processor began at another moment, and all before them was time of one thread, with "unknown 0 ns".
#[test]
fn a_circular_log_does_not_tell_what_ran_before_the_first_switch() {
    let kept = cpu(&trace(session()).circular(8).finish(), None);
    assert_eq!(too_much(&kept), 0);
    assert!(kept.unknown > 0);
    // Of everything else that is counted in a window, every command says it.
    let file = file_of(&trace(session()).circular(8).finish());
    for command in ["cpu", "stacks", "events", "info"] {
        let ran = run(&[command, file.path().to_str().expect("UTF-8"), "--format", "json"]);
        assert!(ran.out.contains("the session kept only its last buffers: records begin at"), "{command}: {ran:?}");
    }
    let whole = cpu(&trace(session()).circular(8000).finish(), None);
    assert_eq!((whole.unknown, whole.codes.len()), (0, 0), "{:?}", whole.codes);
}

/// In memory and merged, so that no bit of the header says it: the first switch is a minute after the session's start.
#[test]
fn neither_does_a_session_that_began_long_before() {
    let begin = session().t0 + 600_000_000;
    let switch = |new, old, at: u64, on| Switch { new, old, ..Switch::default() }.rec(P8, 4).at(begin + at).on(on);
    let records = [switch(44, 0, 0, 0), switch(0, 44, 100, 0), switch(0, 48, 90_000, 1), switch(44, 0, 99_000, 0)];
    let found = cpu(&Trace::new(session()).push_all(records).finish(), None);
    assert_eq!(found.unknown, 9_000_000);
}

#[test]
fn the_end_of_a_cut_file_is_unknown() {
    let whole = trace(session()).finish();
    let cut = cpu(&whole[..whole.len() * 3 / 5], None);
    assert_eq!(too_much(&cut), 0);
    assert!(cut.unknown > 0);
    let never_stopped = trace(Session { end_time: 0, ..session() }).finish();
    let found = cpu(&never_stopped[..whole.len() * 3 / 5], None);
    assert_eq!(too_much(&found), 0);
    assert!(found.unknown > 0);
}

/// By docs/cpu.md a hole counts for processors with buffers on both sides of it; where one has none, it is told.
#[test]
fn buffers_that_are_missing_at_an_end_of_a_processor_are_told() {
    let mut told = 0;
    for lost in 1..20 {
        let found = cpu(&trace(session()).lose_buffers(&[lost]).finish(), None);
        let (more, is_told) = (too_much(&found), found.codes.iter().any(|code| code == "switches_at_ends"));
        // A twentieth of 40 ms.
        assert!(more < 2_000_000 || is_told, "buffer {lost}: {more} ns too much");
        told += u64::from(is_told);
    }
    assert!(told > 0);
}
