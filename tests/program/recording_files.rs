//! Files that are given as one recording and are none: each case is refused, or told by every command.

use crate::one_of_each::{records, session, trace};
use crate::program::{Ran, run};
use crate::recording::{beside, split};
use etl_writer::payloads::system::Cpu;
use etl_writer::{Rec, Session, Trace};
use std::path::{Path, PathBuf};

fn put(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn with(command: &str, files: &[PathBuf]) -> Ran {
    let files: Vec<&str> = files.iter().map(|path| path.to_str().unwrap()).collect();
    run(&[&[command], &files[..], &["--format", "json", "--strict"]].concat())
}

fn codes(command: &str, files: &[PathBuf]) -> (i32, Vec<String>) {
    let ran = with(command, files);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let texts = json["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    (ran.code, texts.collect())
}

/// All commands tell it, and end with 3.
fn told(files: &[PathBuf], says: &str) {
    for command in ["info", "processes", "events"] {
        let (code, warnings) = codes(command, files);
        assert!(code == 3 && warnings.iter().any(|text| text.contains(says)), "{command} {says}: {code} {warnings:?}");
    }
}

/// A file of events of a provider, 2 ms apart.
fn user(session: Session) -> Trace {
    let first = session.t0 + 100;
    Trace::new(session).push_all(events(first))
}

fn events(first: u64) -> impl Iterator<Item = Rec> {
    let payload = |number: u64| [number.to_le_bytes(), [7; 8]].concat();
    (0..200)
        .map(move |number| Rec::event(session().pointer, [9; 16], 5, 0, payload(number)).at(first + number * 20_000))
}

#[test]
fn sessions_one_after_the_other_and_of_other_machines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = put(folder.path(), "a.etl", &trace(1));
    let hour = 36_000_000_000;
    let later = Session {
        t0: beside().t0 + hour,
        start_time: beside().start_time + hour,
        end_time: beside().end_time + hour,
        ..beside()
    };
    let many = Session { processors: 8, ..beside() };
    // Half a second after the first one had ended: heap ranges of it are of another time than its pages.
    let half = beside().end_time - beside().start_time + 5_000_000;
    let soon = Session {
        t0: beside().t0 + half,
        start_time: beside().start_time + half,
        end_time: beside().end_time + half,
        ..beside()
    };
    for (session, says) in [
        (later, "they were not recorded together"),
        (soon, "they were not recorded together"),
        (many, "its machine has 8 processors, not 1"),
    ] {
        let other = put(folder.path(), "b.etl", &user(session).finish());
        for files in [[first.clone(), other.clone()], [other, first.clone()]] {
            let ran = with("processes", &files);
            assert!(ran.code == 3 && (ran.err.contains(says) || ran.err.contains("its machine has 1")), "{}", ran.err);
        }
    }
}

#[test]
fn files_whose_clocks_differ_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let first = put(folder.path(), "a.etl", &trace(1));
    let good = put(folder.path(), "good.etl", &user(beside()).finish());
    let (_, warnings) = codes("info", &[first.clone(), good]);
    assert!(!warnings.iter().any(|text| text.contains("FILES")), "{warnings:?}");
    // All stamps are four seconds later, while the dates stay; and only those of the records.
    let all = user(Session { t0: beside().t0 + 40_000_000, ..beside() }).finish();
    told(&[first.clone(), put(folder.path(), "b.etl", &all)], "THE CLOCKS OF THE FILES DIFFER: by its stamps");
    let records = Trace::new(beside()).push_all(events(beside().t0 + 300_000_000)).finish();
    told(&[first.clone(), put(folder.path(), "c.etl", &records)], "THE CLOCKS OF THE FILES DIFFER: records of");
    // The date was set by a minute before the second session began, and with it that of the boot.
    let minute = 600_000_000;
    let set = Session {
        start_time: beside().start_time + minute,
        end_time: beside().end_time + minute,
        boot_time: beside().boot_time + 50_000_000,
        ..beside()
    };
    let (_, warnings) = codes("info", &[first, put(folder.path(), "d.etl", &user(set).finish())]);
    assert!(warnings.iter().any(|text| text.contains("CLOCKS OF THE FILES DIFFER")), "{warnings:?}");
}

#[test]
fn events_that_two_files_hold_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let first = put(folder.path(), "a.etl", &trace(1));
    let part = put(folder.path(), "user.etl", &user(beside()).finish());
    // A merge of the kernel's session and of the other one, beside that one.
    let own = records(1, Vec::new()).into_iter().chain(events(beside().t0 + 100));
    let mut own: Vec<Rec> = own.collect();
    own.sort_by_key(|rec| rec.time);
    let merged = put(folder.path(), "merged.etl", &Trace::new(session()).push_all(own).finish());
    told(&[merged.clone(), part.clone()], "FILES HOLD THE SAME EVENTS");
    told(&[part.clone(), merged.clone()], "FILES HOLD THE SAME EVENTS");
    let budgets = put(folder.path(), "budgets.toml", b"[[budget]]\nname = \"a\"\nmax = \"1 GiB\"\n");
    let [merged, part, budgets] = [merged, part, budgets].map(|path| path.to_str().unwrap().to_owned());
    let ran = run(&["check", &merged, "--with", &part, "--budgets", &budgets, "-q", "--format", "json"]);
    assert!(ran.code == 3 && ran.out.contains("\"invalid\"") && ran.out.contains("FILES HOLD"), "{ran:?}");
    assert_eq!(run(&["check", &merged, "--budgets", &budgets, "-q"]).code, 0);
    // A copy under another name, of which only the name of the session differs.
    let copy = put(folder.path(), "copy.etl", &user(Session { logger_name: "Other".into(), ..beside() }).finish());
    let user = put(folder.path(), "user.etl", &user(beside()).finish());
    told(&[first.clone(), user, copy], "FILES HOLD THE SAME EVENTS");
    // Both sessions got each event, one a moment after the other.
    let twice = Trace::new(Session { logger_name: "Other".into(), ..beside() }).push_all(events(beside().t0 + 103));
    let twice = put(folder.path(), "twice.etl", &twice.finish());
    let one = put(folder.path(), "one.etl", &self::user(beside()).finish());
    told(&[first, one, twice], "FILES HOLD THE SAME EVENTS");
    let halves = split(folder.path(), |number| number % 2 == 0);
    let (_, warnings) = codes("info", &halves);
    assert!(!warnings.iter().any(|text| text.contains("FILES HOLD")), "{warnings:?}");
}

#[test]
fn files_of_two_computers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let of = |session: Session, computer: &str, name: &str, records: Vec<Rec>| {
        let cpu = Cpu { computer: computer.into(), processors: 1, ..Cpu::default() };
        let cpu = cpu.rec(session.pointer, 3).at(session.t0 + 5);
        put(folder.path(), name, &Trace::new(session).push(cpu).push_all(records).finish())
    };
    let first = of(session(), "ONE", "a.etl", records(1, Vec::new()));
    told(&[first.clone(), of(beside(), "TWO", "b.etl", Vec::new())], "name two computers");
    let (_, warnings) = codes("info", &[first, of(beside(), "one", "c.etl", Vec::new())]);
    assert!(!warnings.iter().any(|text| text.contains("computers")), "{warnings:?}");
}

/// All stamps of both files are half as far apart as they were: the frequency in the headers is twice too high.
#[test]
fn a_frequency_that_is_too_high_is_told_of_several_files() {
    let folder = tempfile::tempdir().unwrap();
    // The kernel's session ends after five seconds, the other one a minute later, without an event there.
    let longer = Session { end_time: beside().end_time + 600_000_000, ..beside() };
    let of = |factor: u64| {
        let [kernel, other] =
            [session(), longer.clone()].map(|own| Session { frequency: factor * own.frequency, ..own });
        let started = Session { t0: kernel.t0 + 700 * factor, ..other };
        let first = started.t0 + 100;
        let names = ["a", "b"].map(|name| format!("{name}{factor}.etl"));
        let files = [
            put(folder.path(), &names[0], &Trace::new(kernel).push_all(records(1, Vec::new())).finish()),
            put(folder.path(), &names[1], &Trace::new(started).push_all(events(first)).finish()),
        ];
        codes("info", &files).1
    };
    let short = |warnings: &[String]| warnings.iter().any(|text| text.contains("before the header's end"));
    assert!(!short(&of(1)), "{:?}", of(1));
    assert!(short(&of(2)), "{:?}", of(2));
}

/// The page named the first file only, and the command after *Next* had other numbers.
#[test]
fn the_page_of_a_recording_names_all_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let paths = split(folder.path(), |n| n % 5 == 0);
    let [kernel, user] = paths.map(|path| path.to_str().unwrap().replace('\\', "/"));
    let (kernel, user) = (kernel.as_str(), user.as_str());
    let page = run(&["report", "-q", kernel, "--with", user, kernel]).out;
    assert!(page.contains(&format!("<dt>File</dt><dd>{kernel} + {user}, ")), "{kernel}");
    assert!(page.contains(&format!("<dt>File</dt><dd>{kernel}, ")), "{kernel}");
    let next: Vec<&str> = page
        .split("Next: <code>")
        .skip(1)
        .filter_map(|rest| rest.split_once("</code>"))
        .map(|(line, _)| line)
        .collect();
    assert!(next.len() == 2 && next[0].contains(&format!(" {kernel} {user}")) && !next[1].contains(user), "{next:?}");
    let words: Vec<&str> = next[0].split(' ').skip(1).collect();
    assert_eq!(run(&words).code, 0, "{words:?}");
}

/// Heap ranges that a session recorded after the pages were written counted as those of the pages, and nothing told it.
#[test]
fn heap_ranges_of_a_session_after_the_pages_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let is_heap = |rec: &Rec| (0x0264..=0x0268).contains(&rec.hook);
    let (heaps, others): (Vec<Rec>, Vec<Rec>) = records(1, Vec::new()).into_iter().partition(is_heap);
    let first = put(folder.path(), "a.etl", &Trace::new(session()).push_all(others).finish());
    let budgets = "[[budget]]\nname = \"a\"\nwhere = { category = \"VirtualAlloc\" }\nmax = \"1 GiB\"\n";
    let budgets = put(folder.path(), "budgets.toml", budgets.as_bytes());
    for (shift, verdict) in [(0, "pass"), (35_000_000, "invalid")] {
        let of = Session {
            t0: beside().t0 + shift,
            start_time: beside().start_time + shift,
            end_time: beside().end_time + shift,
            ..beside()
        };
        let records = heaps.iter().map(|rec| rec.clone().at(rec.time + shift + 1000));
        let other = put(folder.path(), "b.etl", &Trace::new(of).push_all(records).finish());
        let (_, warnings) = codes("resident", &[first.clone(), other.clone()]);
        let is_told =
            warnings.iter().any(|text| text.contains("the session of heap ranges began 0.500 s after the page"));
        assert_eq!(is_told, shift > 0, "{warnings:?}");
        let [first, other, budgets] = [&first, &other, &budgets].map(|path| path.to_str().unwrap());
        let ran = run(&["check", first, "--with", other, "--budgets", budgets, "--format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        assert_eq!(json["traces"][0]["budgets"][0]["verdict"], verdict, "{ran:?}");
    }
}

/// Times counted from the session of the file that was named first, and ended with it: growth, budgets and windows differed by the order of names.
#[test]
fn files_of_a_recording_have_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let is_heap = |rec: &Rec| (0x0264..=0x0268).contains(&rec.hook);
    let (heaps, others): (Vec<Rec>, Vec<Rec>) = records(1, Vec::new()).into_iter().partition(is_heap);
    let kernel = put(folder.path(), "kernel.etl", &Trace::new(session()).push_all(others.clone()).finish());
    let without_keywords = others.into_iter().filter(|rec| ![0x0020, 0x0021].contains(&rec.hook));
    let plain = put(folder.path(), "plain.etl", &Trace::new(session()).push_all(without_keywords).finish());
    // Half a second later, and at an end half a second earlier.
    let half = 5_000_000;
    let (later, length) = (beside(), session().end_time - session().start_time);
    let later = Session { t0: later.t0 + half, start_time: later.start_time + half, ..later };
    let ended = Session {
        t0: session().t0,
        start_time: session().start_time,
        end_time: session().start_time + length / 2,
        ..beside()
    };
    let budgets = "[[budget]]\nname = \"a\"\nanalysis = \"commit\"\nmeasure = \"growth_per_minute\"\nmax = \"1 GiB\"\n";
    let budgets = put(folder.path(), "budgets.toml", budgets.as_bytes());
    for (number, of) in [later, ended].into_iter().enumerate() {
        let heap = put(folder.path(), &format!("heap{number}.etl"), &Trace::new(of).push_all(heaps.clone()).finish());
        for first in [&kernel, &plain] {
            for command in ["info", "allocations", "processes", "resident", "memory", "events"] {
                let [one, other] =
                    [[first.clone(), heap.clone()], [heap.clone(), first.clone()]].map(|files| with(command, &files));
                assert_eq!((one.code, &one.out), (other.code, &other.out), "{command} {first:?} {number}");
            }
            let [first, heap, budgets] = [first, &heap, &budgets].map(|path| path.to_str().unwrap());
            let checked = |of: [&str; 2]| {
                let ran = run(&["check", of[0], "--with", of[1], "--budgets", budgets, "--format", "json"]);
                let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
                json["traces"][0]["budgets"].clone()
            };
            assert_eq!(checked([first, heap]), checked([heap, first]));
            let equal = run(&["diff", first, "--with", heap, heap, "--with", first, "--allocations"]);
            assert!(equal.code == 0 && equal.out.contains("Equal"), "{equal:?}");
        }
    }
}

/// Heap events have the classic form, and were not looked for; nor were those of providers with short payloads.
#[test]
fn events_of_heaps_and_short_ones_that_two_files_hold_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let is_heap = |rec: &&Rec| (0x0264..=0x0268).contains(&rec.hook);
    let all = records(1, Vec::new());
    let heaps = Trace::new(beside()).push_all(all.iter().filter(is_heap).cloned()).finish();
    let short =
        |number: u64| Rec::event(session().pointer, [9; 16], 5, 0, vec![1; 4]).at(beside().t0 + number * 20_000);
    let short: Vec<Rec> = (1..40).map(short).collect();
    let first = put(folder.path(), "a.etl", &Trace::new(session()).push_all(all).push_all(short.clone()).finish());
    let of_heaps = put(folder.path(), "b.etl", &heaps);
    told(&[first.clone(), of_heaps], "FILES HOLD THE SAME EVENTS");
    let copied = put(folder.path(), "c.etl", &Trace::new(beside()).push_all(short.clone()).finish());
    told(&[first, copied.clone()], "THE SAME EVENTS");
    // Others at other times.
    let later = |rec: Rec| {
        let time = rec.time + 1;
        rec.at(time)
    };
    let others = Trace::new(session()).push_all(short.into_iter().map(later)).finish();
    let others = put(folder.path(), "d.etl", &others);
    let (_, warnings) = codes("info", &[copied, others]);
    assert!(!warnings.iter().any(|text| text.contains("SAME EVENTS")), "{warnings:?}");
}

/// The recording ends with the session that ends last: a window after the end of the kernel's session was refused, though the other one had events there.
#[test]
fn a_recording_ends_with_its_last_session() {
    let folder = tempfile::tempdir().unwrap();
    let half = (session().end_time - session().start_time) / 2;
    let short = Session { end_time: session().start_time + half, ..session() };
    let early = |rec: &Rec| rec.time < short.t0 + half;
    let kernel = Trace::new(short.clone()).push_all(records(1, Vec::new()).into_iter().filter(early)).finish();
    let kernel = put(folder.path(), "kernel.etl", &kernel);
    let later = Rec::event(session().pointer, [9; 16], 5, 0, vec![1; 16]).at(session().t0 + half + half / 2);
    let user = put(folder.path(), "user.etl", &Trace::new(beside()).push(later).finish());
    let [kernel, user] = [&kernel, &user].map(|path| path.to_str().unwrap());
    let from = format!("{:.3}", half as f64 / 1e7 * 1.2);
    let ran = run(&["allocations", kernel, user, "--from", &from]);
    assert!(!ran.err.contains("the recording ends at"), "{ran:?}");
    // Nothing of what the kernel logs is in the second half.
    let says = "after the end of the kernel's session by the file's header";
    let ran = |files: &[&str]| run(&[&["allocations"], files].concat()).out.replace("\n ", "");
    let (both, alone) = (ran(&[kernel, user]), ran(&[kernel]));
    assert!(both.contains(says) && !alone.contains(says), "{both} {alone}");
}
