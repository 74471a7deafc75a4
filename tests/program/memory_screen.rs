//! The first screen of `pfnset memory`: columns of time that stand one below the other, and a title of what the conditions choose.

use crate::program::{fixtures, out, run};
use etl_writer::payloads::counters::MemInfo;
use etl_writer::{MemorySpec, Ptr, Session, Trace, file_of, generate_memory};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Cursor;

/// Pools are in 5 of 11 samples: their course had 5 columns of time and the lists' 8, one below the other.
#[test]
fn courses_of_counters_have_the_same_columns_of_time() {
    let shown = run(&["memory", "faults-x86.etl", "-q"]).out;
    let course = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {shown}"));
        let at = line.char_indices().find(|(_, sign)| ('▁'..='█').contains(sign)).expect("a course").0;
        line[at..].chars().count()
    };
    assert_eq!(course("Paged pool commit"), course("Standby"), "{shown}");
    assert!(
        shown.contains("Pools, MDL and system commit are in 5 of 11 samples: their numbers are of these."),
        "{shown}"
    );
}

/// A title of counters stood above processes alone.
#[test]
fn the_title_is_of_what_the_conditions_choose() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let title =
        |more: &[&str]| out(&[&["memory", path, "-q"], more].concat()).lines().next().expect("a line").to_owned();
    let of_one = title(&["--where", "process=p5-0*"]);
    assert!(of_one.starts_with("1 process, ") && of_one.contains(" samples of working sets from "), "{of_one}");
    assert!(!of_one.contains("repurposed") && !of_one.contains("physical memory"), "{of_one}");
    let of_lists = title(&["--where", "list=Standby"]);
    assert!(of_lists.contains("physical memory") && !of_lists.contains("process"), "{of_lists}");
    assert!(title(&[]).contains("process"));
}

/// Nothing in such a trace is checked, and its report said that the checks had passed.
#[test]
fn a_report_does_not_call_good_what_nothing_checks() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let page = crate::report::page(&[file.path().to_str().expect("a plain name")]);
    assert!(page.contains("Whether its numbers agree is not known") && !page.contains("checks of its numbers passed"));
}

/// Rows in steps repeat a sample where the next comes a little later, and leave samples out: nothing said so.
#[test]
fn a_timeline_in_steps_says_which_samples_it_has() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let text = |more: &[&str]| {
        let shown = out(&[&["memory", path, "-q"], more].concat());
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let points = |step: &str, by: &[&str]| -> Vec<(String, f64)> {
        let line = [&["memory", path, "-q", "--format", "json", "--timeline", step], by].concat();
        let all: Value = serde_json::from_str(&out(&line)).expect("JSON");
        let time = |point: &Value| (point["process"].to_string(), point["time_s"].as_f64().expect("a time"));
        all["timeline"].as_array().expect("points").iter().map(time).collect()
    };
    for (by, what) in [(&[][..], "sample"), (&["--group-by", "process"], "sample of a working set")] {
        let all = points("all", by);
        for step in ["2s", "300ms", "500ms", "0.49"] {
            let rows = points(step, by);
            let of = |(owner, time): &(String, f64)| all.iter().rposition(|(o, at)| o == owner && at <= time);
            let in_rows: BTreeSet<usize> = rows.iter().filter_map(of).collect();
            let missing = all.len() - in_rows.len();
            let mut times: Vec<f64> = rows.iter().map(|(_, time)| *time).collect();
            times.dedup();
            let is_new = |pair: &&[f64]| !all.iter().any(|(_, at)| pair[0] < *at && *at <= pair[1]);
            let repeating = times.windows(2).filter(is_new).count();
            let shown = text(&[&["--timeline", step], by].concat());
            let repeats = match repeating {
                1 => "1 row repeats the sample above".to_owned(),
                more => format!("{more} rows repeat the sample above"),
            };
            assert_eq!(shown.contains(&repeats), repeating > 0, "{step} {by:?}, {repeats}: {shown}");
            let plural = what.replacen("sample", "samples", 1).replace("a working set", "working sets");
            let in_none = match missing {
                1 => format!("1 {what} is in no row"),
                more => format!("{more} {plural} are in no row"),
            };
            assert_eq!(shown.contains(&in_none), missing > 0, "{step} {by:?}, {in_none}: {shown}");
            let says = repeating + missing > 0;
            assert_eq!(shown.contains("; --timeline all has each sample"), says, "{step} {by:?}: {shown}");
        }
        assert!(!text(&[&["--timeline", "all"], by].concat()).contains("in no row"));
    }
}

/// A count since boot that fell added 0, and its way back a rate that no machine has, without a word.
#[test]
fn counts_since_boot_that_fall_are_told() {
    let session = Session { processors: 1, ..Session::windows10() };
    let of = |counts: &[u64]| {
        let sample = |(second, &count): (u64, &u64)| {
            let info = MemInfo { zero: 9, repurposed: [1000, 0, count, 0, 0, 0, 0, 0], ..MemInfo::default() };
            info.rec(Ptr::P8, 3).at(session.t0 + second * 10_000_000)
        };
        file_of(&Trace::new(session.clone()).push_all((1..).zip(counts).map(sample)).finish())
    };
    let fell = of(&[5_000_000, 0, 5_000_010]);
    let path = fell.path().to_str().expect("a plain name");
    let says = "pages repurposed since boot fall in 1 place, first of priority 2 from 5,000,000 to 0 at 2.000000 s";
    for (command, more) in
        [("memory", &["-q", "--strict"][..]), ("memory", &["--strict", "--format", "csv"]), ("info", &["--strict"])]
    {
        let ran = run(&[&[command, path], more].concat());
        let shown = format!("{}{}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.code == 3 && shown.contains(says), "{command}: {ran:?}");
    }
    let sound = of(&[5_000_000, 5_000_000, 5_000_010]);
    let ran = run(&["memory", sound.path().to_str().expect("a plain name"), "--strict"]);
    assert!(ran.code == 0 && !ran.out.contains("since boot fall"), "{ran:?}");
}

#[test]
fn a_page_sequence_that_memory_counters_contradict_gives_no_sound_size_of_memory() {
    let mut trace = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    let counters = [240u64.to_le_bytes(), 60u64.to_le_bytes()].concat();
    let at = trace.windows(16).position(|bytes| *bytes == counters).expect("Zero and Free of MemInfo");
    trace[at..at + 16].rotate_left(8);
    let file = file_of(&trace);
    let ran = run(&["memory", file.path().to_str().unwrap(), "--strict"]);
    assert!(ran.code == 3 && ran.out.contains("Zero: 240 pages counted, MemInfo says 60"), "{ran:?}");
}

/// The overview judged growth between the samples of each process, the rows that it points to by who came or went.
#[test]
fn growth_is_the_same_in_the_overview_in_rows_and_in_csv() {
    let spec = MemorySpec { processes: 12, ..MemorySpec::default() };
    let (file, _) = generate_memory(&spec, Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let of = |more: &[&str]| out(&[&["memory", path, "-q"], more].concat());
    let sorted = ["--group-by", "process", "--sort", "growth", "--format", "markdown", "--unit", "pages"];
    let shown = of(&[&sorted[..], &["--columns", "growth/s,start,end", "--top", "1000"]].concat());
    // `| p5-0.exe (20) | +12 | 1,234 |  |`: a blank cell where the process was not there.
    let rows: Vec<Vec<&str>> = (shown.lines().filter(|line| line.ends_with('|') && line.contains(" (")))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.iter().any(|row| row[3].is_empty()) && rows.iter().any(|row| row[4].is_empty()), "{shown}");
    let rate = |cell: &str| cell.replace([',', '+'], "").replace('\u{2212}', "-").parse::<i64>().unwrap_or(0);
    let rates: Vec<(&str, i64)> = rows.iter().map(|row| (row[1], rate(row[2]))).collect();
    assert!(rates.len() > 5 && rates.is_sorted_by(|a, b| a.1 >= b.1), "{shown}");
    let csv = of(&["--group-by", "process", "--format", "csv"]);
    for row in csv::Reader::from_reader(csv.as_bytes()).records().map(|row| row.expect("a row")) {
        let number = |place: usize| row[place].parse::<f64>().expect("a number");
        let growth = (number(5) - number(4)) / (number(3) - number(2));
        assert!(rates.iter().any(|(label, rate)| *label == &row[0] && (*rate as f64 - growth).abs() < 0.51), "{row:?}");
    }
    let overview = of(&["--unit", "pages", "--top", "3"]);
    let fastest = overview.split("Fastest growing").nth(1).expect("what grew").lines().skip(2).take(3);
    let fastest: Vec<String> = fastest.map(|line| line.split_inclusive(')').next().unwrap_or("").to_owned()).collect();
    assert_eq!(fastest, rates.iter().take(3).map(|(label, _)| (*label).to_owned()).collect::<Vec<_>>(), "{overview}");
}

/// Names that are known, and no counter that is shown is of all of them: tables were empty without a word.
#[test]
fn conditions_that_no_counter_meets_together_are_said() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let kept = tempfile::NamedTempFile::new().expect("room for a file");
    let kept_path = kept.path().to_str().expect("a plain name");
    for (line, conditions) in [
        ("--group-by list --where priority=3", "priority=3"),
        ("--group-by priority --where list=Zero", "list=Zero"),
        ("--group-by list --where list=Standby --where priority=3", "list=Standby, priority=3"),
        ("--group-by priority --where list=Zero --timeline 2", "list=Zero"),
        ("--where list=Zero --where priority=3", "list=Zero, priority=3"),
        ("--where list=Zero --where priority=3 --where process=*", "list=Zero, priority=3"),
    ] {
        let arguments: Vec<&str> = ["memory", path].into_iter().chain(line.split(' ')).collect();
        let said = format!("Nothing meets the conditions of --where ({conditions}): what they choose is empty below");
        let warned = "no counter meets the conditions of --where";
        let ran = run(&arguments);
        assert!(ran.code == 0 && ran.out.starts_with(&said) && ran.err.contains(warned), "{line}: {ran:?}");
        let written = run(&[&arguments[..], &["-o", kept_path]].concat());
        let text = std::fs::read_to_string(kept.path()).expect("the output");
        assert!(text.starts_with(&said) && written.err.contains(warned), "{line}: {text}");
        let markdown = run(&[&arguments[..], &["--format", "markdown"]].concat());
        assert!(markdown.out.starts_with(&format!("**{said}**")), "{line}: {markdown:?}");
        let json = run(&[&arguments[..], &["--format", "json"]].concat());
        assert!(json.code == 0 && json.err.contains(warned), "{line}: {json:?}");
    }
    // Standby by priority is a part of that list, and what a condition chooses is shown.
    for line in ["--group-by list --where list=Zero", "--group-by priority --where list=Standby", "--where priority=3"]
    {
        let ran = run(&["memory", path].into_iter().chain(line.split(' ')).collect::<Vec<_>>());
        assert!(ran.code == 0 && ran.err.is_empty() && !ran.out.contains("Nothing meets"), "{line}: {ran:?}");
    }
}

/// A session met the condition that no process met: the rows of processes were empty, and nothing said so.
#[test]
fn sessions_that_are_not_shown_meet_no_condition() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let sessions = out(&["memory", path, "-q", "--group-by", "session", "--format", "csv"]);
    let sessions: Vec<&str> = sessions.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let mut told = 0;
    for session in &sessions {
        let conditions = ["--where", "process=p5-0*", "--where", &format!("session={session}")];
        let ran = run(&[&["memory", path, "--group-by", "process", "--format", "csv"], &conditions[..]].concat());
        let says = format!("session \"{session}\" matches nothing of what process=p5-0* lets pass");
        assert_eq!(ran.err.contains(&says), ran.out.lines().count() == 1, "{ran:?}");
        told += usize::from(ran.err.contains(&says));
    }
    assert!(told > 0, "{sessions:?}");
}

/// The counters of the whole system stood below `Where process=…`, and `--top` left the tables of processes out.
#[test]
fn what_is_chosen_is_shown_or_refused() {
    let (file, _) = generate_memory(&MemorySpec::default(), Cursor::new(Vec::new())).expect("memory is large enough");
    let file = file_of(&file.into_inner());
    let path = file.path().to_str().expect("a plain name");
    let ran = |more: &[&str]| run(&[&["memory", path, "-q"], more].concat());
    for (dimension, columns) in [("process=p5-0*", "end,most"), ("session=1", "end")] {
        let refused = ran(&["--where", dimension, "--columns", columns]);
        assert!(refused.code == 2 && refused.err.contains("the rows are counters of the system"), "{refused:?}");
    }
    assert_eq!(ran(&["--where", "list=Standby", "--columns", "end,most"]).code, 0);
    let refused = ran(&["--top", "2", "--columns", "end,most"]);
    assert!(refused.code == 2 && refused.err.contains("--group-by process or session"), "{refused:?}");

    let markdown = |more: &[&str]| ran(&[more, &["--format", "markdown"]].concat()).out;
    let of_one = markdown(&["--where", "process=p5-0*"]);
    assert!(of_one.contains("| p5-0.exe (120) |") && !of_one.contains("| Counter"), "{of_one}");
    let of_lists = markdown(&["--where", "list=Standby"]);
    assert!(of_lists.contains("| Repurposed/pages |") && !of_lists.contains("working sets"), "{of_lists}");
    let two = markdown(&["--top", "2"]);
    let table = |what: &str| {
        let (_, rows) = two.split_once(what).unwrap_or_else(|| panic!("{what}: {two}"));
        rows.lines().skip(2).take_while(|line| line.starts_with('|')).count()
    };
    for what in ["| Largest working sets/", "| Fastest growing/"] {
        assert_eq!(table(what), 3, "two and the others: {two}");
    }
    // Without the table that has them, no unit of them.
    for more in [&["--columns", "end"][..], &["--each"]] {
        let shown = ran(more).out;
        assert!(!shown.contains("repurposed"), "{shown}");
    }
}
