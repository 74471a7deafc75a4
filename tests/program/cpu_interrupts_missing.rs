//! `pfnset cpu` where interrupts are in one part of the time with context switches, and not in the rest.

use crate::trust::with;
use etl_writer::payloads::perf::{dpc, isr};
use etl_writer::payloads::thread::Switch;
use etl_writer::{Ptr::P8, Rec, Session, Trace};

/// A second of switches, a thousand, with a deferred procedure call and an interrupt after those that are chosen.
fn told(has_dpc: impl Fn(u64) -> bool, has_isr: impl Fn(u64) -> bool, more: &[&str]) -> String {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let mut records: Vec<Rec> = Vec::new();
    for n in 1..=1000 {
        let at = t0 + 10_000 * n;
        records.extend([switch(44, 0).at(at), switch(0, 44).at(at + 3000)]);
        records.extend(has_dpc(n).then(|| dpc(P8, 0x0f44, at + 4000, 0xffff_f800_0000_1000).at(at + 4100)));
        records.extend(has_isr(n).then(|| isr(P8, 0x0f43, at + 5000, 0xffff_f800_0000_2000, 1, 7).at(at + 5100)));
    }
    let bytes = Trace::new(session).push_all(records).finish();
    with("cpu", &bytes, &[&["--format", "csv"], more].concat()).err
}

#[test]
fn interrupts_that_are_missing_at_an_end_of_the_trace_are_told() {
    let says = "though threads are switched: their time counts as that of threads there";
    let all = told(|_| true, |_| true, &[]);
    assert!(!all.contains(says), "{all}");
    let end = told(|n| n < 600, |_| true, &[]);
    assert!(end.contains("no deferred procedure calls are in the trace from 0.5") && end.contains(says), "{end}");
    assert!(!end.contains("no interrupts are in the trace"), "{end}");
    let begin = told(|_| true, |n| n > 300, &[]);
    assert!(begin.contains("no interrupts are in the trace from 0.0") && begin.contains(says), "{begin}");
    // Not of a window that the silence is not in.
    let window = told(|n| n < 600, |_| true, &["--from", "100ms", "--to", "400ms"]);
    assert!(!window.contains(says), "{window}");
    // Few that end early are no proof.
    let few = told(|n| n < 600 && n % 10 == 0, |_| true, &[]);
    assert!(!few.contains(says), "{few}");
}
