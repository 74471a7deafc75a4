//! Samples: of what shares are, in `cpu` and in `stacks`, and what is said of time without samples.

use crate::program::{finish, out, pfnset, run};
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf;
use etl_writer::payloads::thread::Switch;
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;
use std::path::Path;

/// 626 records, 143 of which stand for three intervals each.
fn of_several_intervals() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/symbols/stacks-symbols.etl.gz");
    path.to_string_lossy().into_owned()
}

/// A processor without any record is in the exact shares and not in those of samples; nothing said so.
#[test]
fn shares_of_samples_and_exact_shares_name_what_they_are_of() {
    let shown = out(&["cpu", "cpu-compressed.etl", "--preset", "sampling", "-q"]);
    let base = "Samples % is of 1,495 samples, Exact % of 299.95 ms × 6 processors, 16.7 % of it not known";
    assert!(shown.contains(base), "{shown}");
    let csv = out(&["cpu", "cpu-compressed.etl", "--preset", "sampling", "--format", "csv", "-q"]);
    assert!(csv.starts_with("process,") && !csv.contains("Samples % is"), "{csv}");
}

/// A record can stand for several samples: elsewhere samples are records, and the line said nothing of it.
#[test]
fn samples_of_which_one_record_stands_for_several_are_told() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |n: u64| Switch { new: [44, 0][n as usize % 2], old: [0, 44][n as usize % 2], ..Switch::default() };
    let records = (0..8).map(|n| switch(n).rec(P8, 4).at(t0 + (n + 1) * 100_000));
    let sample = |n: u64, count: u8| {
        let mut record = perf::sample(P8, 0x1000, 44, 0);
        record.payload[12] = count;
        record.at(t0 + n * 50_000 + 20_000)
    };
    for (count, base) in
        [(1, "Samples % is of 7 samples, Exact"), (3, "Samples % is of 21 samples in 7 records, Exact")]
    {
        let trace = Trace::new(session.clone()).push_all(records.clone()).push_all((4..11).map(|n| sample(n, count)));
        let file = file_of(&trace.finish());
        let shown = words(&["cpu", file.path().to_str().expect("a path"), "--preset", "sampling", "-q"]);
        assert!(shown.contains(base), "{shown}");
    }
}

/// Time of which nothing is known and threads that no event describes are one row beside samples, and two elsewhere.
#[test]
fn what_the_row_unknown_holds_is_said() {
    let session = Session { processors: 2, ..Session::windows10() };
    let t0 = session.t0;
    let switch = |n: u64| Switch { new: [44, 0][n as usize % 2], old: [0, 44][n as usize % 2], ..Switch::default() };
    let recs = (0..8).map(|n| switch(n).rec(P8, 4).at(t0 + (n + 1) * 10_000).on(0));
    let sample = perf::sample(P8, 0x1000, 44, 0).at(t0 + 15_000).on(0);
    let sentence = "Unknown is time of which nothing is known together with the threads that no event describes";
    let both = Trace::new(session).push_all(recs).push(sample).finish();
    let file = file_of(&both);
    let shown = words(&["cpu", file.path().to_str().expect("a path"), "--preset", "sampling", "-q"]);
    assert!(shown.contains(sentence), "{shown}");
    assert!(!words(&["cpu", "cpu-compressed.etl", "--preset", "sampling", "-q"]).contains(sentence));
}

/// Shares of chosen stacks are of these, which only a line with all numbers told.
#[test]
fn chosen_stacks_say_that_shares_are_of_them() {
    let of = |more: &[&str]| run(&[&["stacks", "stacks-keys.etl", "-q"], more].concat()).out;
    let leaf = of(&["--leaf", "ntoskrnl*"]);
    let says = "Shares and sums are of the events that meet the conditions, not of all";
    assert!(leaf.contains(says) && leaf.contains("Where innermost function=ntoskrnl*"), "{leaf}");
    let both = of(&["--leaf", "ntoskrnl*", "--where", "process=Idle*"]);
    assert!(both.contains(says) && both.contains("Where process=Idle* and innermost function=ntoskrnl*"), "{both}");
    assert!(of(&["--where", "process=Idle*"]).contains(says));
    for tree in [&["--tree"][..], &["--caller-of", "ntoskrnl*"], &["--callee-of", "ntoskrnl*"]] {
        for chosen in [&["--leaf", "ntoskrnl*"][..], &["--where", "process=!nobody*"]] {
            for form in ["table", "markdown"] {
                let shown = of(&[tree, chosen, &["--format", form]].concat());
                assert_eq!(shown.matches(says).count(), 1, "{tree:?} {chosen:?}: {shown}");
                assert_eq!(shown.matches("; no stack: ").count(), 1, "one title: {shown}");
            }
        }
        assert!(!of(tree).contains("Shares and sums"), "{tree:?}");
    }
    assert!(!of(&[]).contains("Shares and sums"));
}

/// Two saved tables of two windows could not be told apart.
#[test]
fn stacks_name_their_window_and_its_marks() {
    let of = |more: &[&str]| words(&[&["stacks", "stacks-keys.etl", "-q", "--of", "samples"], more].concat());
    let both = ["--from", "0.001", "--to", "0.0015"];
    for form in [&[][..], &["--tree"], &["--group-by", "process"], &["--format", "markdown"], &["--columns", "self"]] {
        let shown = of(&[&both[..], form].concat());
        assert!(shown.contains(" samples from 0.001000 s to 0.001500 s ("), "{form:?}: {shown}");
        assert!(!of(form).contains("samples from"), "{form:?}");
    }
    assert!(of(&["--from", "0.001"]).contains(" samples from 0.001000 s to the end ("));
    // What is beyond the trace is cut off, and said to be so.
    let beyond = of(&["--to", "100"]);
    assert!(beyond.contains(" samples from the beginning to 0.00") && !beyond.contains("100.000000"), "{beyond}");
    let marked = words(&["stacks", "cpu-compressed.etl", "-q", "--from", "work*"]);
    assert!(marked.contains("1,130 samples from 0.075386 s \"work-start\" to the end (1.130 s"), "{marked}");
}

/// An event exactly at the end of a window counted in `stacks` and not in `cpu`, and twice in windows side by side.
#[test]
fn an_event_at_the_end_of_a_window_is_outside() {
    let trace = of_several_intervals();
    for (trace, kind, name) in [
        (trace.as_str(), "samples", "PerfInfo: SampledProfile"),
        ("faults-x86.etl", "hard-fault", "*HardFault"),
        ("refset-proved.etl", "page-access", "*PageAccess*"),
    ] {
        let all = out(&["events", trace, "--rows", "--name", name, "--format", "csv", "-q"]);
        let times: Vec<&str> = all.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        let at = times[times.len() / 2];
        let of = |more: &[&str]| {
            let asked = [&["stacks", trace, "--of", kind, "--format", "json", "-q"], more].concat();
            let json: Value = serde_json::from_str(&out(&asked)).expect("JSON");
            json["totals"]["events"].as_u64().expect("a number") as usize
        };
        let earlier = times.iter().filter(|time| time.parse::<f64>().unwrap() < at.parse().unwrap()).count();
        assert_eq!(
            (of(&["--to", at]), of(&["--from", at]), of(&[])),
            (earlier, times.len() - earlier, times.len()),
            "{kind}"
        );
    }
}

/// An outermost frame was called innermost, and its events its own, without a word.
#[test]
fn cut_and_folded_stacks_say_so() {
    const LEFT: &str = "self and innermost are of the frames left";
    let of = |more: &[&str]| words(&[&["stacks", "stacks-keys.etl", "-q", "--of", "samples"], more].concat());
    let cases = [
        (&["--max-depth", "1"][..], "Stacks are cut to 1 outermost frame"),
        (&["--max-depth", "3"], "Stacks are cut to 3 outermost frames"),
        (&["--fold", "hal.dll;fltmgr.sys"], "Stacks are folded in hal.dll;fltmgr.sys"),
        (
            &["--max-depth", "2", "--fold", "hal.dll", "--where", "process=Idle*"],
            "Where process=Idle*; stacks are cut to 2 outermost frames and folded in hal.dll",
        ),
    ];
    let forms =
        [&[][..], &["--tree"], &["--group-by", "module"], &["--format", "markdown"], &["--columns", "self,total"]];
    for (flags, says) in cases {
        for form in forms {
            let shown = of(&[flags, form].concat()).replace('\\', ""); // Markdown has one before an asterisk
            assert!(shown.contains(&format!("{says}: {LEFT}")), "{flags:?} {form:?}: {shown}");
        }
        assert!(of(flags).contains("Frames of whole stacks: "), "{flags:?}");
        if flags.len() == 2 {
            let mut screen = pfnset(&[&["stacks", "stacks-keys.etl", "-q", "--of", "samples"], flags].concat());
            let screen = finish(screen.env("COLUMNS", "80")).out;
            // What the fixture has above its title scrolls away.
            let from_title = screen.lines().skip_while(|line| line.starts_with("! ") || line.is_empty());
            assert!(from_title.count() <= 23, "one of 24 lines is for the prompt: {screen}");
        }
    }
    let whole = of(&[]);
    assert!(!whole.contains(LEFT) && whole.contains("Frames: "), "{whole}");
    let json = |more: &[&str]| -> Value {
        let ran = run(&[&["stacks", "stacks-keys.etl", "-q", "--format", "json"], more].concat());
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let cut = json(&["--max-depth", "2", "--fold", "hal.dll;fltmgr.sys"]);
    assert_eq!((&cut["max_depth"], &cut["fold"]), (&2.into(), &"hal.dll;fltmgr.sys".into()));
    let whole = json(&[]);
    assert!(["max_depth", "fold"].iter().all(|key| whole.get(key) == Some(&Value::Null)), "{whole}");
}

/// What a command says, without the breaks of lines.
fn words(arguments: &[&str]) -> String {
    run(arguments).out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn records_that_stand_for_several_intervals_are_told() {
    let trace = of_several_intervals();
    let shown = words(&["cpu", &trace, "-q"]);
    assert!(shown.contains("143 records stand for several intervals (field Count), which Time counts"), "{shown}");
    let json: Value = serde_json::from_str(&run(&["cpu", &trace, "-q", "--format", "json"]).out).expect("JSON");
    let stacks: Value = serde_json::from_str(&run(&["stacks", &trace, "-q", "--format", "json"]).out).expect("JSON");
    assert_eq!(json["samples"]["time_ns"], stacks["totals"]["weight"]);
    assert_eq!(json["samples"]["time_ns"], 912_000_000);
    // 626 records of 1 ms, and two more for each of the 143.
    assert_eq!(json["samples"]["events"].as_u64().map(|events| events + 2 * 143), Some(912));
}

/// A window without samples looked like idle processors; so did what follows the last sample.
#[test]
fn a_window_says_where_its_samples_are() {
    let trace = of_several_intervals();
    let all = words(&["cpu", &trace, "-q"]);
    assert!(all.contains("626 samples from 0.00") && !all.contains("No sample"), "less than ten intervals: {all}");
    let none = words(&["cpu", &trace, "--to", "0.00001", "-q"]);
    assert!(none.contains("No samples; those of the trace are from 0.00"), "{none}");
}

/// All processes were off by -100 % in a window without a clock tick.
#[test]
fn a_window_without_a_clock_tick_compares_nothing_with_ticks() {
    let of = |to: &str| {
        let window = ["--from", "0.1", "--to", to, "-q"];
        out(&[&["cpu", "cpu-compressed.etl", "--preset", "sampling"], &window[..]].concat())
    };
    let (without, with) = (of("0.105"), of("0.2"));
    assert!(without.contains("(no clock tick is in the window)") && !without.contains("-100.0 %"), "{without}");
    assert!(with.contains("Exact times beside samples and clock ticks"), "{with}");
}

/// With `--top` the rows were other ones, in an order of their own.
#[test]
fn the_first_rows_of_waits_are_those_of_the_whole_table() {
    for order in ["waits", "name", "cpu", "switches"] {
        let rows = |top: &[&str]| -> Vec<Vec<String>> {
            let shown =
                out(&[&["cpu", "cpu-compressed.etl", "-q", "--preset", "waits", "--unit", "ns", "--sort", order], top]
                    .concat());
            let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            shown.lines().skip_while(|line| !line.starts_with('─')).skip(1).map(cells).collect()
        };
        let (all, first) = (rows(&[]), rows(&["--top", "2"]));
        let (more, shown) = first.split_last().expect("rows");
        assert!(shown.len() > 2 && more.first().is_some_and(|cell| cell == "+"), "{order}: {first:?}");
        assert_eq!(shown, &all[..shown.len()], "{order}");
        assert_eq!(more[1], (all.len() - shown.len()).to_string(), "{order}");
    }
}
