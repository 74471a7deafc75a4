//! `pfnset cpu` where samples of the profile timer are missing: by samples alone, and beside context switches.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf::{interval, sample};
use etl_writer::payloads::thread::Switch;
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;
use std::ops::Range;

/// Ticks in a millisecond.
const MS: u64 = 10_000;

/// A sample of thread 44 each millisecond, for a quarter of a second on each of two processors, but for those that are missing.
fn samples(is_missing: impl Fn(u16, u64) -> bool) -> (Trace, u64) {
    samples_of(|_, _| 44, is_missing)
}

/// The same of the thread that runs on a processor then.
fn samples_of(thread: impl Fn(u16, u64) -> u32, is_missing: impl Fn(u16, u64) -> bool) -> (Trace, u64) {
    let session = Session { processors: 2, ..Session::windows10() };
    let t0 = session.t0;
    let all = (1..=250).flat_map(|n| [(0, n), (1, n)]).filter(|&(processor, n)| !is_missing(processor, n));
    let met = |(processor, n)| sample(P8, 0xffff_f800_0000_1000, thread(processor, n), 0).on(processor).at(t0 + MS * n);
    let records = all.map(met);
    let timer = interval(P8, 2, 0x0f49, 0, 10_000, 10_000).at(t0 + 10);
    (Trace::new(session).push(timer).push_all(records), t0)
}

fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().expect("UTF-8")
}

/// What is told of missing samples, the codes of what makes numbers doubtful, and the exit code with `--strict`.
fn told(trace: Trace, more: &[&str]) -> (String, Vec<String>, i32) {
    let file = file_of(&trace.finish());
    let args = [&["cpu", path(&file), "--strict", "--format", "json"], more].concat();
    let ran = run(&args);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
    let texts = list("warnings").iter().filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>();
    let texts: Vec<String> =
        texts.into_iter().filter(|text| text.contains("ample") && !text.contains("by samples")).collect();
    let codes = list("doubts").iter().filter_map(|doubt| doubt["code"].as_str().map(str::to_owned)).collect();
    (texts.join("\n"), codes, ran.code)
}

fn by_samples(is_missing: impl Fn(u16, u64) -> bool) -> (String, Vec<String>, i32) {
    told(samples(is_missing).0, &[])
}

/// "One each 1.00 ms on each processor" stood above the table, and nothing else.
#[test]
fn samples_that_are_missing_are_told() {
    assert_eq!(by_samples(|_, _| false), (String::new(), vec![], 0));
    let (text, codes, code) = by_samples(|_, n| (50..200).contains(&n));
    assert!(
        text.contains("no processor has a sample from 0.049") && text.contains("s, 151.000 ms (60.6 %) together"),
        "{text}"
    );
    assert!(text.contains("298.000 ms (59.8 %) of the time of 2 processors"), "{text}");
    assert_eq!((codes, code), (vec!["samples_missing".to_owned()], 3), "{text}");
    // One processor can have been idle.
    let (text, codes, code) = by_samples(|processor, _| processor == 1);
    assert!(text.contains("no sample of processor 1: it was idle, or its samples were lost"), "{text}");
    assert_eq!((codes, code), (vec![], 0), "{text}");
    let (text, codes, code) = by_samples(|processor, n| processor == 1 && n % 4 != 0);
    assert!(text.contains("few samples of processor 1 (24.9 %)"), "{text}");
    assert_eq!((codes, code), (vec![], 0), "{text}");
    // Ten intervals are no hole, and a twentieth of the time is not worth a word.
    assert_eq!(by_samples(|_, n| (50..59).contains(&n)), (String::new(), vec![], 0));
    assert_eq!(by_samples(|_, n| (50..62).contains(&n)).1, ["samples_missing"]);
}

#[test]
fn the_line_above_the_table_says_of_how_much_time_samples_are() {
    let shown = |is_missing: fn(u16, u64) -> bool| {
        let file = file_of(&samples(is_missing).0.finish());
        run(&["cpu", path(&file), "--columns", "process,events"]).out + &run(&["cpu", path(&file)]).out
    };
    let whole = shown(|_, _| false);
    assert!(whole.contains("one each 1.00 ms on each processor"), "{whole}");
    let half = shown(|processor, _| processor == 1);
    assert!(half.contains("1.00 ms each: 249.00 ms of 498.00 ms of 2 processors"), "{half}");
    assert!(!half.contains("one each"), "{half}");
}

/// A whole processor was not there, and the table by processor of `stacks`, its comparison and `info` said nothing.
#[test]
fn a_processor_without_samples_is_told_wherever_samples_are_counted() {
    let file = |missing: &dyn Fn(u16, u64) -> bool| file_of(&samples(missing).0.finish());
    let (whole, silent) = (file(&|_, _| false), file(&|processor, _| processor == 1));
    let few = file(&|processor, n| processor == 1 && n % 4 != 0);
    let says = "no sample of processor 1: it was idle, or its samples were lost";
    let lines = |path: &str| {
        let all = [
            &["stacks", path, "--of", "samples", "--group-by", "processor"][..],
            &["stacks", path],
            &["stacks", path, "--format", "firefox"],
            &["diff", path, path, "--of", "samples", "--group-by", "process"],
            &["info", path, "--strict"],
            &["cpu", path],
        ];
        all.map(run).map(|ran| (ran.code, [ran.out, ran.err].concat()))
    };
    for (code, told) in lines(path(&silent)) {
        assert!(code == 0 && told.contains(says), "{told}");
    }
    for (_, told) in lines(path(&whole)) {
        assert!(!told.contains("of processor"), "{told}");
    }
    let told = run(&["stacks", path(&few)]).out.replace("\n  ", " ");
    assert!(told.contains("few samples of processor 1 (24.9 %)"), "{told}");
    // In a few intervals a processor can be missed by chance.
    let short = file(&|processor, n| processor == 1 || n > 9);
    assert!(!run(&["stacks", path(&short)]).out.contains("of processor"));
}

/// `stacks` and `diff` said that samples were those of all the time, where `cpu` told what is missing.
#[test]
fn time_without_samples_is_told_wherever_samples_are_counted() {
    let of = |missing: &dyn Fn(u16, u64) -> bool| file_of(&samples(missing).0.finish());
    let (whole, few) = (of(&|_, _| false), of(&|processor, n| (n + u64::from(processor)) % 4 != 0));
    let hole = of(&|_, n| (50..200).contains(&n));
    let says = "of the time of 2 processors from the first to the last sample have no sample: processors were idle, or";
    let ran = |arguments: &[&str]| {
        let ran = run(arguments);
        (ran.code, [ran.out, ran.err].concat().replace("\n  ", " "))
    };
    let stacks = |file: &tempfile::NamedTempFile| ran(&["stacks", path(file), "--strict"]);
    let (code, told) = stacks(&few);
    assert!(code == 0 && told.contains(says) && !told.contains("no processor has"), "{told}");
    let (code, told) = stacks(&hole);
    assert!(code == 3 && told.contains(says) && told.contains("151.000 ms (60.6 %) together"), "{told}");
    let (code, told) = stacks(&whole);
    assert!(code == 0 && !told.contains("no sample") && !told.contains("assumed"), "{told}");
    let (_, told) = ran(&["stacks", path(&few), "--format", "firefox"]);
    assert!(told.contains(says), "{told}");
    let (_, told) = ran(&["diff", path(&whole), path(&few), "--of", "samples", "--group-by", "process"]);
    assert!(told.contains("RIGHT: 366.000 ms") && told.matches(says).count() == 1, "{told}");
    // In a part of it as well.
    let (_, told) = ran(&["stacks", path(&hole), "--from", "0.02", "--to", "0.1"]);
    assert!(told.contains(says), "{told}");
    let (_, told) = ran(&["stacks", path(&hole), "--from", "0.21"]);
    assert!(!told.contains("no sample") && !told.contains("no processor has"), "{told}");
}

/// By context switches all processors can have been idle: nothing is grave by samples alone.
#[test]
fn stacks_of_samples_beside_context_switches_have_a_note() {
    let (trace, t0) = samples(|_, n| (50..200).contains(&n));
    let switch = Switch { new: 0, old: 44, state: 5, ..Switch::default() }.rec(P8, 4).at(t0 + 5000);
    let file = file_of(&trace.push(switch).finish());
    let ran = run(&["stacks", path(&file), "--of", "samples", "--strict"]);
    assert!(ran.code == 0 && ran.out.contains("no processor has a sample from 0.049"), "{ran:?}");
}

/// Times were by an interval that no record names, as if one did, also where the samples are at another one.
#[test]
fn an_interval_that_no_record_names_is_told() {
    let of = |each: u64| {
        let session = Session { processors: 1, ..Session::windows10() };
        let t0 = session.t0;
        let met = |n| sample(P8, 0xffff_f800_0000_1000, 44, 0).at(t0 + MS * n);
        file_of(&Trace::new(session).push_all((1..=240).filter(|n| n % each == 0).map(met)).finish())
    };
    let named = file_of(&samples(|_, _| false).0.finish());
    let says = "no event names the interval of the samples: 1.000 ms is assumed";
    let (each, eighth) = (of(1), of(8));
    let told = |file: &tempfile::NamedTempFile| {
        let all = [
            &["stacks", path(file)][..],
            &["stacks", path(file), "--format", "json"],
            &["stacks", path(file), "--format", "firefox"],
            &["diff", path(file), path(file), "--of", "samples", "--group-by", "process"],
            &["cpu", path(file)],
        ];
        all.map(run).map(|ran| [ran.out, ran.err].concat().replace("\n  ", " "))
    };
    for told in told(&each) {
        assert!(told.contains(says) && !told.contains("distances"), "{told}");
    }
    let title = |file: &tempfile::NamedTempFile| run(&["stacks", path(file)]).out.contains("every 1.00 ms, assumed)");
    assert_eq!([&each, &eighth, &named].map(title), [true, true, false]);
    for told in told(&eighth) {
        assert!(
            told.contains(&format!("{says}, but by their distances on a processor a sample is of 8.000 ms")),
            "{told}"
        );
    }
    for told in told(&named) {
        assert!(!told.contains("assumed"), "{told}");
    }
}

/// The same samples, and thread 44 runs on both processors for the given milliseconds, else the idle thread.
fn beside_switches(
    busy: Range<u64>,
    is_missing: impl Fn(u16, u64) -> bool,
    more: &[&str],
) -> (String, Vec<String>, i32) {
    let thread_of = |processor: u16| 44 + 4 * u32::from(processor);
    let runs = |n: u64| busy.start < n && n <= busy.end;
    let (trace, t0) = samples_of(|processor, n| if runs(n) { thread_of(processor) } else { 0 }, is_missing);
    let switch = |processor: u16, at: u64, new, old| {
        Switch { new, old, state: 5, ..Switch::default() }.rec(P8, 4).on(processor).at(t0 + at)
    };
    let of = |processor: u16| {
        let thread = thread_of(processor);
        let (begin, end) = (busy.start * MS + 5000, busy.end * MS + 5000);
        [
            switch(processor, 5000, 0, thread),
            switch(processor, begin, thread, 0),
            switch(processor, end, 0, thread),
            switch(processor, 251 * MS, thread, 0),
        ]
    };
    told(trace.push_all([0, 1].into_iter().flat_map(of)), more)
}

/// Shares of samples were of those of other times and processors, and nothing said so.
#[test]
fn a_busy_processor_has_samples() {
    let sampling = &["--preset", "sampling"];
    assert_eq!(beside_switches(1..240, |_, _| false, sampling), (String::new(), vec![], 0));
    let (text, codes, code) = beside_switches(1..240, |processor, _| processor == 1, sampling);
    assert!(text.contains("they lack 239.000 ms of 239.000 ms of processor 1; shares of samples"), "{text}");
    assert_eq!((codes, code), (vec!["samples_missing".to_owned()], 3));
    // Exact times are right.
    let (text, codes, code) = beside_switches(1..240, |processor, _| processor == 1, &[]);
    assert_eq!((text.contains("of processor 1"), codes, code), (true, vec![], 0));
    let (text, codes, _) = beside_switches(1..240, |_, n| (50..150).contains(&n), sampling);
    assert!(text.contains("they lack 100.000 ms of 239.000 ms of processor 0, 100.000 ms of"), "{text}");
    assert_eq!(codes, ["samples_missing"]);
}

/// An idle processor need not be sampled.
#[test]
fn an_idle_processor_needs_no_samples() {
    let (text, codes, code) = beside_switches(100..105, |processor, _| processor == 1, &["--preset", "sampling"]);
    assert_eq!((text, codes, code), (String::new(), vec![], 0));
}

/// The threads of the last switches were said to have run on, and samples to have missed them.
#[test]
fn time_beyond_the_switches_is_not_called_busy() {
    let beyond = ["--preset", "sampling", "--to", "100"];
    let (_, codes, _) = beside_switches(1..240, |_, n| n > 100, &beyond);
    assert_eq!(codes, ["window_beyond_switches"]);
}

/// Time of which all records of a processor were missing was idle time, and nothing said so.
#[test]
fn a_processor_without_any_record_for_once_is_told() {
    let (text, codes, code) = beside_switches(180..240, |processor, n| processor == 1 && (100..136).contains(&n), &[]);
    assert!(text.contains("processor 1 from 0.0989") || text.contains("processor 1 from 0.099"), "{text}");
    assert!(text.contains("(37.000 ms) has no sample, context switch or ready record, though else sampled"), "{text}");
    assert_eq!((codes, code), (vec![], 0), "{text}");
    // A few intervals are nothing, and one whose timer stops when it is idle is sampled so nowhere.
    for missing in [100..118, 0..180] {
        let (text, ..) = beside_switches(180..240, |processor, n| processor == 1 && missing.contains(&n), &[]);
        assert_eq!(text, "", "{missing:?}");
    }
    let (text, ..) = beside_switches(180..240, |processor, n| processor == 1 && n < 180 && n % 60 > 20, &[]);
    assert_eq!(text, "");
}
