//! `pfnset cpu` where interrupts begin before context switches that were before their ends.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf;
use etl_writer::payloads::thread::{Switch, Thread};
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;

/// Thread 44 runs forty times on the only processor for 0.2 ms; after each run an interrupt of 0.01 ms is logged, of this hook. The one
/// of the runs that `is_wrong` says begins with the trace.
fn asked(hook: u16, is_wrong: impl Fn(u64) -> bool) -> ((usize, bool), [u64; 2], String) {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |new, old| Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4);
    let mut records = vec![Thread { pid: 4, tid: 44, ..Thread::default() }.rec(P8, 4, 0x0503).at(t0 + 10)];
    for n in 1..=40 {
        let begin = t0 + 10_000 * n;
        records.extend([switch(44, 0).at(begin), switch(0, 44).at(begin + 2000)]);
        let initial = if is_wrong(n) { t0 + 20 } else { begin + 3000 };
        records.push(perf::dpc(P8, hook, initial, 0xffff_f800_0000_1000).at(begin + 3100));
    }
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
    let of = |list: &str| json[list].as_array().cloned().unwrap_or_default();
    let texts = of("warnings").into_iter().filter_map(|text| text.as_str().map(str::to_owned));
    let told = texts.filter(|text| text.contains("before a context switch of their processor")).count();
    let is_grave = of("doubts").iter().any(|doubt| doubt["code"] == "interrupts_unknown");
    let times = ["threads_ns", "dpc_ns"].map(|owner| json["total"][owner].as_u64().expect("a time"));
    let budget = "[[budget]]\nname = \"cpu\"\nanalysis = \"cpu\"\nmeasure = \"cpu_ms\"\nmax = \"9 s\"\n";
    let budgets = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(budgets.path(), budget).expect("a file");
    let checked = run(&["check", path, "--budgets", budgets.path().to_str().expect("UTF-8"), "--format", "json"]);
    let checked: Value = serde_json::from_str(&checked.out).expect("JSON");
    ((told, is_grave), times, checked["traces"][0]["budgets"][0]["verdict"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn no_interrupt_holds_a_context_switch() {
    let (pass, invalid) = ("pass".to_owned(), "invalid".to_owned());
    // The last interrupt is after the last switch, which ends the window.
    assert_eq!(asked(0x0f44, |_| false), ((0, false), [8_000_000, 390_000], pass.clone()));
    assert_eq!(asked(0x0f44, |n| n == 20), ((1, false), [8_000_000, 380_000], pass.clone()));
    assert_eq!(asked(0x0f44, |n| n % 2 == 0), ((1, true), [8_000_000, 200_000], invalid));
    // A threaded call lets other threads run.
    let (doubts, [threads, _], verdict) = asked(0x0f42, |n| n == 20);
    assert_eq!((doubts, verdict), ((0, false), pass));
    assert!(threads < 5_000_000, "{threads}");
}
