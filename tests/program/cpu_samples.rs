//! `pfnset cpu` by samples that cannot be: they stand for more time than there is.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf::{self, interval};
use etl_writer::{Rec, Session, Trace, file_of};
use serde_json::Value;

/// A sample of thread 44 each millisecond, so many of them on the only processor; each record stands for `count` samples.
fn trace(samples: u64, count: u16) -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let mut records = vec![interval(P8, 2, 0x0f49, 0, 10_000, 10_000).at(t0 + 10)];
    let payload = [&0xffff_f800_0000_1000u64.to_le_bytes()[..], &44u32.to_le_bytes(), &count.to_le_bytes(), &[0, 0]];
    let sample = Rec::perf(P8, 0x0f2e, 2, payload.concat());
    records.extend((1..=samples).map(|n| sample.clone().at(t0 + 10_000 * n)));
    file_of(&Trace::new(session).push_all(records).finish())
}

fn doubts(count: u16) -> Vec<String> {
    let file = trace(200, count);
    let path = file.path().to_str().expect("UTF-8");
    let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
    assert_eq!(json["samples"]["events"], 200, "{json}");
    let doubts = json["doubts"].as_array().expect("doubts").iter();
    doubts.filter_map(|doubt| doubt["code"].as_str()).map(str::to_owned).collect()
}

#[test]
fn samples_of_more_time_than_there_is_are_told() {
    assert_eq!(doubts(1), Vec::<String>::new());
    assert_eq!(doubts(7), ["samples_beyond_window"]);
}

/// Wherever the weights of samples are shown as time.
#[test]
fn weights_of_more_time_than_there_is_are_told() {
    const SAYS: &str = "the samples stand for 1.400 s, and the window has";
    let [good, bad] = [1, 7].map(|count| trace(200, count));
    let [good, bad] = [&good, &bad].map(|file| file.path().to_str().expect("UTF-8"));
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("p.json");
    let profile = profile.to_str().expect("UTF-8");
    let forms: [&[&str]; 3] =
        [&["--format", "json"], &["--format", "collapsed", "--weight"], &["--format", "firefox", "-o", profile]];
    for form in forms {
        let of = |path| run(&[&["stacks", path, "--of", "samples", "--strict"], form].concat());
        let (sound, wrong) = (of(good), of(bad));
        assert!(sound.code == 0 && !format!("{sound:?}").contains("stand for"), "{sound:?}");
        assert!(wrong.code == 3 && format!("{wrong:?}").contains(SAYS), "{wrong:?}");
    }
    let diff = run(&["diff", good, bad, "--of", "samples", "--group-by", "process", "--strict", "--format", "json"]);
    assert!(diff.code == 3 && diff.out.contains("RIGHT: the samples stand for 1.400 s"), "{diff:?}");
    let info = run(&["info", bad, "--strict"]);
    assert!(info.code == 3 && info.out.contains("the samples stand for 1.400 s"), "{info:?}");
    // Only what is in the window.
    let part = run(&["stacks", bad, "--from", "0.1", "--to", "0.15", "--strict", "--format", "json"]);
    assert!(part.code == 3 && part.out.contains("and the window has 0.050 s of 1 processors"), "{part:?}");
}

/// Nothing is measured by a few milliseconds: a note, which leaves the code 0.
#[test]
fn a_short_recording_has_a_note() {
    let file = trace(30, 7);
    let ran = run(&["stacks", file.path().to_str().expect("UTF-8"), "-q", "--strict", "--format", "json"]);
    assert!(ran.code == 0 && ran.err.is_empty() && ran.out.contains("the samples stand for 0.210 s"), "{ran:?}");
    assert!(!ran.out.contains("is wrong, and so are times"), "{ran:?}");
}

/// Exact times by context switches beside samples that cannot be.
#[test]
fn samples_beside_context_switches_are_told_too() {
    use etl_writer::payloads::process::{self, Process};
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let mut records = vec![interval(P8, 2, 0x0f49, 0, 200_000, 200_000).at(t0 + 10)];
    records.push(Process::new(40, "app.exe").rec(P8, 4, process::DC_START).at(t0 + 11));
    for n in 1..=200u64 {
        let [new, old] = if n % 2 == 0 { [44u32, 0] } else { [0, 44] };
        let switch = [&new.to_le_bytes()[..], &old.to_le_bytes(), &[0; 16]].concat();
        records.push(Rec::system(P8, 0x0524, 4, switch).at(t0 + 10_000 * n - 5));
        let payload = [&0xffff_f800_0000_1000u64.to_le_bytes()[..], &44u32.to_le_bytes(), &[1, 0, 0, 0]].concat();
        records.push(Rec::perf(P8, 0x0f2e, 2, payload).at(t0 + 10_000 * n));
    }
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    for line in [&["stacks", path, "--of", "samples", "--strict"][..], &["info", path, "--strict"]] {
        let ran = run(line);
        assert!(ran.code == 3 && ran.out.contains("the samples stand for 4.000 s"), "{ran:?}");
    }
}

/// The interval at the first sample of the trace stood for all, also in a window where another one was in force.
#[test]
fn intervals_that_change_are_told() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let set = |time: u64, new, old| interval(P8, 2, 0x0f49, 0, new, old).at(t0 + time);
    let payload = [&0xffff_f800_0000_1000u64.to_le_bytes()[..], &44u32.to_le_bytes(), &[1, 0, 0, 0]];
    let sample = |time: u64| Rec::perf(P8, 0x0f2e, 2, payload.concat()).at(t0 + time);
    let slow = (1..=10).map(|n| sample(10_000 * n));
    let fast = (1..=10).map(|n| sample(100_000 + 5_000 * n));
    let begin = std::iter::once(set(10, 10_000, 10_000));
    let records = begin.chain(slow).chain([set(100_001, 5_000, 10_000)]).chain(fast);
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    let told = |window: &[&str]| run(&[&["cpu", path, "-q"], window].concat()).out;
    assert!(told(&[]).contains("one each 500.0 µs to 1.00 ms"), "{}", told(&[]));
    assert!(told(&["--from", "0.0101"]).contains("one each 500.0 µs on"), "{}", told(&["--from", "0.0101"]));
    let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
    let of = |key: &str| json["samples"][key].as_u64();
    assert_eq!((of("interval_ns"), of("longest_interval_ns")), (Some(500_000), Some(1_000_000)));
}

/// Beside context switches, where samples are a second opinion: one record of 5,000 samples took 84 % of them, without a word.
#[test]
fn samples_beside_switches_are_compared_with_the_time_there_is() {
    use etl_writer::payloads::thread::Switch;
    let codes = |count: u16, copies: usize| {
        let session = Session { processors: 1, ..Session::windows10() };
        let t0 = session.t0;
        let switch = |new, old| Switch { new, old, ..Switch::default() }.rec(P8, 4);
        let mut records = vec![interval(P8, 2, 0x0f49, 0, 10_000, 10_000).at(t0 + 10), switch(44, 0).at(t0 + 20)];
        for n in 1..=200 {
            let count = if n == 100 { count } else { 1 };
            let payload =
                [&0xffff_f800_0000_1000u64.to_le_bytes()[..], &44u32.to_le_bytes(), &count.to_le_bytes(), &[0, 0]];
            let sample = Rec::perf(P8, 0x0f2e, 2, payload.concat()).at(t0 + 10_000 * n);
            records.extend(std::iter::repeat_n(sample, copies));
        }
        records.push(switch(0, 44).at(t0 + 2_005_000));
        let file = file_of(&Trace::new(session).push_all(records).finish());
        let path = file.path().to_str().expect("UTF-8");
        let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
        let doubts = json["doubts"].as_array().expect("doubts").iter().filter_map(|doubt| doubt["code"].as_str());
        doubts.filter(|code| code.starts_with("samples_")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(codes(1, 1), Vec::<String>::new());
    assert_eq!(codes(5000, 1), ["samples_beyond_window"]);
    assert_eq!(codes(1, 2), ["samples_beyond_window"]);
}

/// Markdown had no table of modules.
#[test]
fn markdown_has_the_modules_too() {
    let file = trace(200, 1);
    let path = file.path().to_str().expect("UTF-8");
    let text = run(&["cpu", path, "-q"]).out;
    let markdown = run(&["cpu", path, "-q", "--format", "markdown"]).out;
    assert!(text.contains("\nModule ") && markdown.contains("\n\n| Module |"), "{text} {markdown}");
    assert_eq!(markdown.matches("CPU use by samples from").count(), 1, "{markdown}");
}

/// Samples of three threads: 10 has most, 9 fewest.
fn of_three_threads() -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let threads = [44, 10, 10, 9, 10, 44];
    let records = (1..).zip(threads).map(|(n, thread)| perf::sample(P8, 0x1000, thread, 0).at(t0 + 10_000 * n).on(0));
    file_of(&Trace::new(session).push_all(records).finish())
}

/// The order by name had an effect on the table alone.
#[test]
fn rows_by_name_are_in_this_order_in_all_forms() {
    let file = of_three_threads();
    let path = file.path().to_str().expect("UTF-8");
    let of = |form: &str, order: &str| {
        run(&["cpu", path, "-q", "--group-by", "thread", "--format", form, "--sort", order]).out
    };
    let thread = |row: &Value| row["thread"].as_u64().expect("a thread");
    for (order, expected) in [("name", [9, 10, 44]), ("cpu", [10, 44, 9])] {
        let csv = of("csv", order);
        let csv = csv.lines().skip(1).filter_map(|row| row.split(',').next()?.parse::<u64>().ok());
        assert_eq!(csv.collect::<Vec<_>>(), expected, "{order}");
        let lines = of("jsonl", order);
        let lines = lines.lines().map(|line| thread(&serde_json::from_str(line).expect("JSON")));
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{order}");
        let json: Value = serde_json::from_str(&of("json", order)).expect("JSON");
        let rows = json["samples"]["rows"].as_array().expect("rows").iter().map(thread);
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{order}");
    }
}

/// Beside shares of stacks, which are of those that are chosen, nothing told that these are of all.
#[test]
fn shares_of_chosen_samples_say_what_they_are_of() {
    const SAYS: &str = "Shares are of all samples in the window, not only of those that meet the conditions";
    let file = of_three_threads();
    let path = file.path().to_str().expect("UTF-8");
    for form in ["table", "markdown"] {
        let of = |more: &[&str]| {
            let shown = run(&[&["cpu", path, "-q", "--format", form], more].concat()).out;
            shown.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let chosen = of(&["--where", "thread=44"]);
        assert!(chosen.contains(SAYS), "{form}: {chosen}");
        assert!(!of(&[]).contains("Shares are"), "{form}");
    }
}
