//! `pfnset refset` as a user runs it: whole outputs, windows, the timeline, impact, exit codes.

use crate::program::{finish, out, pfnset, run};
use crate::random_cases::one_in;
use etl_writer::payloads::pages::{self, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace, guid};
use serde_json::Value;
use std::collections::BTreeSet;

const TRACE: &str = "refset-small.etl";

fn json(arguments: &[&str]) -> Value {
    let all = [&["refset", TRACE, "-q", "--format", "json"], arguments].concat();
    serde_json::from_str(&out(&all)).expect("JSON")
}

fn rows(arguments: &[&str]) -> Vec<Vec<String>> {
    let text = out(&[&["refset", TRACE, "-q", "--format", "csv"], arguments].concat());
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|row| row.expect("CSV").iter().map(str::to_owned).collect()).collect()
}

fn pages(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
fn tables() {
    insta::assert_snapshot!("refset", out(&["refset", TRACE, "-q"]));
    insta::assert_snapshot!("refset_rows", out(&["refset", TRACE, "-q", "--group-by", "class,file", "--top", "3"]));
    insta::assert_snapshot!("refset_impact", out(&["refset", TRACE, "-q", "--group-by", "impact,category"]));
    insta::assert_snapshot!("refset_timeline", out(&["refset", TRACE, "-q", "--timeline", "10ms"]));
    let nested = ["--group-by", "process,category,access_reason", "--top", "2", "--sort", "name"];
    insta::assert_snapshot!("refset_nested", out(&[&["refset", TRACE, "-q"], &nested[..]].concat()));
    let some = ["--where", "category=Image;MapFile", "--group-by", "file,release_reason", "--top", "4"];
    insta::assert_snapshot!("refset_where", out(&[&["refset", TRACE, "-q"], &some[..]].concat()));
    for columns in ["60", "80"] {
        let ran = finish(pfnset(&["refset", TRACE]).env("COLUMNS", columns));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        insta::assert_snapshot!(format!("refset_{columns}_columns"), ran.out);
    }
}

#[test]
fn every_process_that_held_pages_has_a_line() {
    let whole = json(&[]);
    let text = out(&["refset", TRACE, "-q", "--top", "99"]);
    let lines: Vec<&str> = text.split("\nProcess at stop").nth(1).expect("processes").lines().skip(2).collect();
    let holders = whole["held_by_process"].as_array().unwrap();
    assert_eq!(lines.len(), holders.len());
    for holder in holders {
        let name = format!("{}  ", holder["process"].as_str().unwrap());
        let line = lines.iter().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("{name} in {lines:?}"));
        let time = format!("{:.6}", holder["peak_time_s"].as_f64().unwrap());
        assert!(line.contains(&format!(" {}  {time}", pages(holder, "peak_pages"))), "{line}");
    }
    let gone = lines.iter().filter(|line| line.contains("   0   ")).count();
    assert!(gone > 0, "{lines:?}");
    // The flag that is named shows all of them, in any order.
    let flag = format!("--top {}", holders.len());
    for order in ["pages", "name", "peak"] {
        let short = out(&["refset", TRACE, "-q", "--top", "1", "--sort", order]);
        let hidden = format!(" of the others held pages before and none at stop: {flag} shows all\n");
        assert!(short.ends_with(&hidden), "{short}");
        let (top, number) = flag.split_once(' ').expect("a flag with its number");
        let all = out(&["refset", TRACE, "-q", top, number, "--sort", order]);
        assert!(!all.contains("of the others held") && !all.contains("more  "), "{all}");
        assert_eq!(all.lines().filter(|line| line.contains("   0   ")).count(), gone, "{all}");
    }
    let by_peak = out(&["refset", TRACE, "-q", "--top", "99", "--sort", "peak"]);
    let first = by_peak.split("\nProcess at stop").nth(1).expect("processes").lines().skip(2);
    let order: Vec<&str> = holders.iter().map(|holder| holder["process"].as_str().unwrap()).collect();
    assert!(first.zip(&order).all(|(line, name)| line.starts_with(name)), "{by_peak}");
}

#[test]
fn paths_are_as_users_know_them_in_tables_only() {
    let table = out(&["refset", TRACE, "-q", "--group-by", "file,detail"]);
    assert!(table.contains("\nVolume") && !table.contains("\\Device\\HarddiskVolume"), "{table}");
    assert!(table.contains("no file") && table.contains("no detail") && !table.contains("n/a"), "{table}");
    let timeline = out(&["refset", TRACE, "-q", "--timeline", "20ms", "--group-by", "file"]);
    assert!(timeline.contains("no file") && !timeline.contains("n/a"), "{timeline}");
    let files = rows(&["--group-by", "file"]);
    assert!(files.iter().any(|row| row[0].starts_with("\\Device\\HarddiskVolume")), "{files:?}");
    let pages_of = |condition: &str| pages(&json(&["--where", condition, "--group-by", "file"])["rows"][0], "pages");
    let one = &files.iter().find(|row| row[0].starts_with("\\Device\\HarddiskVolume")).expect("a file")[0];
    let shown = one.replacen("\\Device\\Harddisk", "", 1).replacen('\\', ":\\", 1);
    assert_eq!(pages_of(&format!("file={one}")), pages_of(&format!("file={shown}")));
}

#[test]
fn csv_and_json() {
    let whole = out(&["refset", TRACE, "-q", "--format", "json"]);
    insta::assert_snapshot!("refset_json", whole);
    for (name, arguments) in [
        ("refset_csv", &[][..]),
        ("refset_rows_csv", &["--group-by", "class,access_reason,release_reason"]),
        ("refset_impact_csv", &["--group-by", "impact,process"]),
        ("refset_timeline_csv", &["--timeline", "10ms"]),
    ] {
        insta::assert_snapshot!(name, out(&[&["refset", TRACE, "-q", "--format", "csv"], arguments].concat()));
    }
    let verify = |format| {
        let ran = run(&["refset", TRACE, "-q", "--verify", "--format", format]);
        assert_eq!((ran.code, crate::program::beside_losses(&ran.err).as_str()), (1, ""));
        ran.out
    };
    insta::assert_snapshot!("refset_verify_csv", verify("csv"));
    assert_eq!(verify("json"), whole, "the comparison is in each document; the flag is about the exit code");
}

/// Conditions and groups change the keys of rows, a timeline adds one; all others are as without.
#[test]
fn flags_change_their_own_keys_only() {
    let whole = json(&[]);
    for (name, arguments, own) in [
        ("refset_timeline_json", &["--timeline", "20ms"][..], &["timeline"][..]),
        (
            "refset_some_json",
            &["--group-by", "impact,category", "--where", "category=Image;MapFile"],
            &["group_by", "rows", "where"],
        ),
    ] {
        let some = json(arguments);
        let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<BTreeSet<_>>();
        let all = &keys(&some) | &keys(&whole);
        let differing: Vec<&String> = all.iter().filter(|key| some.get(key) != whole.get(key)).collect();
        assert_eq!(differing, own, "{arguments:?}");
        let differing: serde_json::Map<_, _> =
            differing.into_iter().map(|key| (key.clone(), some[key].clone())).collect();
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&differing).expect("JSON"));
    }
}

#[test]
fn a_window_of_marks_is_the_window_by_their_names() {
    let whole = json(&[]);
    let named = json(&["--from", "refsettracestart", "--to", "*Stop"]);
    assert_eq!((&whole["window"]["origin"], &named["window"]["origin"]), (&"marks".into(), &"user".into()));
    for key in ["accesses", "releases_by_reason", "reaccesses", "held_at_start", "held_at_stop", "peak_held", "rows"] {
        assert_eq!(whole[key], named[key], "{key}");
    }
    assert_eq!(named["window"]["start_mark"], "RefSetTraceStart");
}

#[test]
fn two_halves_make_a_whole() {
    let (whole, first, second) = (json(&[]), json(&["--to", "0.04"]), json(&["--from", "40000.1us"]));
    for key in ["accesses", "releases", "reaccesses", "reaccesses_wpa_rules"] {
        assert_eq!(pages(&first, key) + pages(&second, key), pages(&whole, key), "{key}");
    }
    assert_eq!(first["held_at_stop"], second["held_at_start"]);
    assert_eq!(second["held_at_stop"], whole["held_at_stop"]);
    let peak = |set: &Value| pages(&set["peak_held"], "pages");
    assert_eq!(peak(&first).max(peak(&second)), peak(&whole));
    assert!(first["window"]["stop_mark"].is_null());
}

#[test]
fn a_window_that_cannot_be_is_code_2() {
    let ran = run(&["refset", TRACE, "--from", "no such mark"]);
    assert!(ran.code == 2 && ran.err.contains("\"RefSetTraceStart\""), "{ran:?}");
    let ran = run(&["refset", TRACE, "--from", "0.05", "--to", "0.04"]);
    assert!(ran.code == 2 && ran.err.contains("before it begins"), "{ran:?}");
    let ran = run(&["refset", TRACE, "--timeline", "0"]);
    assert!(ran.code == 2 && ran.err.contains("longer than 0"), "{ran:?}");
    let ran = run(&["refset", TRACE, "--timeline", "1ns"]);
    assert!(ran.code == 2 && ran.out.is_empty(), "{ran:?}");
}

#[test]
fn impact_adds_up() {
    let window = ["--from", "0.03", "--to", "0.05"];
    let whole = json(&window);
    let set = json(&[&window[..], &["--group-by", "impact"]].concat());
    let of = |name: &str| {
        let row = set["rows"].as_array().unwrap().iter().find(|row| row["impact"] == name).cloned();
        row.unwrap_or_else(|| panic!("{name} in {set}"))
    };
    let (impacting, persistent, transient) = (of("Impacting"), of("Persistent"), of("Transient"));
    // What was gained, and what was there all the time.
    let gained = pages(&whole, "held_at_stop") - pages(&whole, "held_at_start");
    assert_eq!(pages(&impacting, "pages"), gained);
    assert!(pages(&persistent, "pages") <= pages(&whole, "held_at_start").min(pages(&whole, "held_at_stop")));
    assert!(pages(&transient, "pages") > 0);
    assert!(pages(&persistent, "impact_pages") < pages(&persistent, "pages"), "shared pages count once");
    assert_eq!(pages(&persistent, "impact_bytes"), pages(&persistent, "impact_pages") * 4096);
    let csv = rows(&[&window[..], &["--group-by", "impact"]].concat());
    assert_eq!(csv[0], ["impact", "pages", "bytes", "impact_pages", "impact_bytes"]);
    for row in &csv[1..] {
        let found = of(&row[0]);
        let keys = ["pages", "bytes", "impact_pages", "impact_bytes"];
        assert_eq!(row[1..], keys.map(|key| pages(&found, key).to_string()), "{row:?}");
    }
}

#[test]
fn the_timeline_adds_up() {
    let whole = json(&["--timeline", "5ms"]);
    let points = whole["timeline"]["points"].as_array().unwrap();
    for point in points {
        let parts = point["by_category"].as_object().unwrap().values().map(|pages| pages.as_i64().unwrap());
        assert_eq!(parts.sum::<i64>(), pages(point, "pages"));
    }
    assert_eq!(pages(&points[0], "pages"), pages(&whole, "held_at_start"), "with what the active rundown names");
    assert_eq!(pages(points.last().unwrap(), "pages"), pages(&whole, "held_at_stop"));
    let csv = rows(&["--timeline", "5ms"]);
    assert_eq!(csv.len(), points.len() + 1);
    assert_eq!(csv[0][..2], ["time_s", "pages"]);
    for (row, point) in csv[1..].iter().zip(points) {
        assert_eq!(row[1], pages(point, "pages").to_string());
        assert_eq!(row[0], point["time_s"].to_string(), "exact");
    }
}

#[test]
fn rows_in_csv_are_those_of_json() {
    let arguments = ["--group-by", "process,category,access_reason", "--where", "category=Image;MapFile"];
    let (csv, whole) = (rows(&arguments), json(&arguments));
    let found = whole["rows"].as_array().unwrap();
    assert_eq!(csv[0], ["process", "category", "access_reason", "pages", "bytes"]);
    assert_eq!(csv.len(), found.len() + 1);
    for (row, object) in csv[1..].iter().zip(found) {
        assert!(["Image", "MapFile"].contains(&row[1].as_str()));
        assert_eq!((object["process"].as_str(), object["category"].as_str()), (Some(&*row[0]), Some(&*row[1])));
        assert_eq!(row[3], pages(object, "pages").to_string());
    }
}

#[test]
fn verify_is_code_1_when_too_much_disagrees() {
    let strict = run(&["refset", TRACE, "-q", "--verify"]);
    assert_eq!(strict.code, 1);
    insta::assert_snapshot!("refset_verify", strict.out);
    assert_eq!(run(&["refset", TRACE, "-q", "--verify", "--max-residue", "2.3"]).code, 1);
    let lenient = run(&["refset", TRACE, "-q", "--verify", "--max-residue", "2.32"]);
    // What is above the limit is told above the tables too.
    let told = strict.out.find("\n\n").expect("warnings") + 2;
    let warning = "! the account differs from the final page sequence";
    assert!(strict.out[..told].contains(warning) && !lenient.out.contains(warning), "{}", lenient.out);
    assert!(lenient.code == 0 && lenient.out.ends_with(&strict.out[told..]), "{}", lenient.out);
    let csv = run(&["refset", TRACE, "-q", "--verify", "--format", "csv"]);
    assert_eq!((csv.code, csv.out.lines().next()), (1, Some("by,name,matched,only_tracked,only_final")));
    assert_eq!(run(&["refset", "resident-small.etl", "--verify"]).code, 4);
}

/// The first number of a line.
fn signed(line: &str) -> i64 {
    let numbers = line.split_whitespace().filter_map(|word| word.replace([',', '+'], "").parse().ok());
    numbers.take(1).next().unwrap_or_else(|| panic!("no number in {line}"))
}

/// The first number of the line that begins with this.
fn shown(text: &str, line: &str) -> i64 {
    signed(text.lines().find(|found| found.starts_with(line)).unwrap_or_else(|| panic!("{line} in {text}")))
}

/// The sum of the numbers of a list of reasons, which may go on in further lines.
fn sum_of_reasons(text: &str, what: &str) -> i64 {
    let lines = text.lines().skip_while(|line| !line.starts_with(what));
    let list: Vec<&str> =
        lines.enumerate().take_while(|(i, line)| *i == 0 || line.starts_with(' ')).map(|l| l.1).collect();
    let list = list.join(" ").replace(what, "");
    let numbers = list.split_whitespace().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    numbers.map(|word| word.replace(',', "").parse::<i64>().expect("a number")).sum()
}

/// What the screen shows adds up, in the whole trace and in windows of it: the lines of the first table, the reasons
/// below it, the keys of JSON, and the rows by reason with the notes under them.
#[test]
fn what_is_on_screen_adds_up() {
    let windows: [&[&str]; 5] =
        [&[], &["--from", "0"], &["--from", "0.03"], &["--from", "0.03", "--to", "0.05"], &["--to", "0.02"]];
    let mut never_held = 0;
    let windows = ["refset-small.etl", "refset-proved.etl"].into_iter().flat_map(|t| windows.map(|w| (t, w)));
    let (whole, some) = windows.partition::<Vec<_>, _>(|(_, window)| window.is_empty());
    for (trace, window) in [whole, one_in(1, some)].concat() {
        let run = |more: &[&str]| out(&[&["refset", trace, "-q"], window, more].concat());
        let screen = run(&[]);
        let lines = screen.lines().skip_while(|line| !line.starts_with("at start")).skip(1);
        let steps = lines.take_while(|line| !line.starts_with("at stop")).filter(|line| !line.starts_with('─'));
        let sum: i64 = steps.map(signed).sum();
        assert_eq!(shown(&screen, "at start") + sum, shown(&screen, "at stop"), "{screen}");
        assert_eq!(sum_of_reasons(&screen, "Accessed by"), shown(&screen, "accessed"), "{screen}");
        assert_eq!(-sum_of_reasons(&screen, "Released by"), shown(&screen, "released"), "{screen}");

        let whole: Value = serde_json::from_str(&run(&["--format", "json"])).expect("JSON");
        let sum: i64 = whole["balance"].as_object().expect("balance").values().filter_map(Value::as_i64).sum();
        assert_eq!(pages(&whole, "held_at_start") + sum, pages(&whole, "held_at_stop"));
        assert_eq!(pages(&whole["balance"], "never_held"), -pages(&whole, "never_held"));
        never_held += pages(&whole, "never_held");

        let rows = run(&["--group-by", "access_reason,release_reason", "--unit", "pages"]);
        let notes = rows.split_once("\nBy access reason").expect("notes").1.replace('\n', " ");
        let numbers: Vec<i64> =
            notes.split_whitespace().filter_map(|word| word.replace([',', ':'], "").parse().ok()).collect();
        let less = if notes.contains(", less ") { vec!["emptied"] } else { vec![] };
        assert_eq!(less.len(), usize::from(pages(&whole["balance"], "emptied") != 0), "{notes}");
        let [start, entered, .., outside, left, stop, released_outside, released] = numbers[..] else {
            panic!("{notes}")
        };
        let total = shown(&rows, "Total");
        assert_eq!(start + entered + pages(&whole["balance"], "emptied"), total, "{rows}");
        assert_eq!(left + stop, total, "{rows}");
        assert_eq!((left + released_outside, -released), (released, shown(&screen, "released")), "{rows}");
        assert_eq!(released_outside - outside, pages(&whole["balance"], "outside_working_sets"), "{rows}");
    }
    assert!(never_held > 0, "the trace has cached writes");
}

#[test]
fn a_selection_names_its_conditions_and_hides_the_whole() {
    let screen = out(&["refset", TRACE, "-q", "--where", "category=Image"]);
    assert!(screen.contains("\nWhere category=Image\n488 of the 1,711 pages held at stop\n"), "{screen}");
    assert!(!screen.contains("at the peak") && !screen.contains("Accessed by"), "{screen}");
    let rows = out(&["refset", TRACE, "-q", "--where", "category=Image", "--group-by", "file"]);
    assert!(rows.contains("\nWhere category=Image\n"), "{rows}");
    let (some, whole) = (json(&["--where", "category=Image"]), json(&[]));
    for key in ["held_at_start", "held_at_stop", "peak_held", "balance"] {
        assert_eq!(some[key], whole[key], "{key} is that of all pages");
    }
}

#[test]
fn offers_and_reclaims_are_counted_without_pages() {
    let whole = json(&[]);
    assert!(whole["offer_events"].is_null() && whole["reclaim_events"].is_null());
    let provider = guid("802ec45a-1e99-4b83-9920-87c98277ba9d");
    let graphics = |id: u16| Rec::event(P8, provider, id, 1, vec![0; 24]).at(1_000_002_000);
    let page = Identity::new(0, 0x10, 0, 0x10000).rec(P8, 2, pages::ACCESS).at(1_000_001_000).by(8, 4);
    let trace = Trace::new(Session::windows10()).push(page).push_all([186, 187, 188, 190, 190, 33].map(graphics));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("graphics.etl");
    std::fs::write(&path, trace.finish()).expect("room for a trace");
    let run = |more: &[&str]| out(&[&["refset", path.to_str().expect("UTF-8"), "-q"], more].concat());
    let whole: Value = serde_json::from_str(&run(&["--format", "json"])).expect("JSON");
    assert_eq!((pages(&whole, "offer_events"), pages(&whole, "reclaim_events")), (3, 2));
    assert_eq!((pages(&whole, "accesses"), pages(&whole, "held_at_stop")), (1, 1));
    assert!(run(&[]).contains("Reclaim: 2 and Offer: 3 events of Microsoft-Windows-DxgKrnl; they name no pages"));
}

#[test]
fn working_sets_are_compared_with_those_that_windows_logged() {
    let whole: Value =
        serde_json::from_str(&out(&["refset", "refset-proved.etl", "-q", "--format", "json"])).expect("JSON");
    let sets = &whole["working_sets"];
    assert_eq!(["records", "compared", "agree"].map(|key| pages(sets, key)), [8, 172, 172]);
    assert_eq!(sets["worst"].as_array().map(Vec::len), Some(0));
    let screen = out(&["refset", "refset-proved.etl", "-q"]);
    let line = "\nWorking sets  172 of 172 have as many pages as Windows logged (MemInfoWS records: 8)\n";
    assert!(screen.contains(line) && !screen.contains('!'), "{screen}");
    assert!(json(&[])["working_sets"].is_null() && !out(&["refset", TRACE, "-q"]).contains("Working sets"));
}

/// A trace in which two pages of a process are accessed, and Windows says that it has five.
pub fn with_a_set_that_differs() -> Vec<u8> {
    let page = |n: u64| Identity::private(0x10 + n, 8, 0x10000 + n * 4096).rec(P8, 4, pages::ACCESS).by(16, 8);
    let set = |pid: u32, pages: u64| {
        let numbers = [pages, 9, 9, 9, 0, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes);
        pid.to_le_bytes().into_iter().chain(numbers)
    };
    let sets = 2u32.to_le_bytes().into_iter().chain(set(8, 5)).chain(set(12, 0)).collect();
    let started = Process::new(8, "a.exe").rec(P8, 4, process::DC_START).at(1_000_000_500);
    let trace = Trace::new(Session::windows10()).push(started).push_all((0..2).map(|n| page(n).at(1_000_001_000 + n)));
    trace.push(Rec::perf(P8, 0x027d, 2, sets).at(1_000_002_000)).finish()
}

#[test]
fn working_sets_that_differ_are_told_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sets.etl");
    std::fs::write(&path, with_a_set_that_differs()).expect("room for a trace");
    let run = |more: &[&str]| out(&[&["refset", path.to_str().expect("UTF-8"), "-q"], more].concat());
    let whole: Value = serde_json::from_str(&run(&["--format", "json"])).expect("JSON");
    let sets = &whole["working_sets"];
    assert_eq!(["records", "compared", "agree"].map(|key| pages(sets, key)), [1, 2, 1]);
    let worst = &sets["worst"][0];
    assert_eq!((pages(worst, "recorded_pages"), pages(worst, "tracked_pages")), (5, 2));
    assert_eq!((worst["process"].as_str(), worst["time_s"].as_f64()), (Some("a.exe (8)"), Some(0.0002)));
    let screen = run(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        screen.contains(
            "working sets that Windows logged by 60.00 % of their pages: the working sets were not emptied before"
        ),
        "{screen}"
    );
    assert!(screen.contains("the largest difference: a.exe (8) has 2, logged were 5 at 0.000200 s"), "{screen}");
    assert!(!run(&["--max-residue", "60"]).contains("by 60.00 %"));
}

#[test]
fn a_timeline_takes_conditions_and_groups() {
    let some = ["--timeline", "5ms", "--where", "category=Image;MapFile", "--group-by", "process,category"];
    let whole = json(&some);
    let timeline = &whole["timeline"];
    let groups = timeline["groups"].as_array().expect("groups");
    let points = timeline["points"].as_array().expect("points");
    assert_eq!(timeline["group_by"], serde_json::json!(["process", "category"]));
    assert!(timeline["categories"].is_null() && points[0]["by_category"].is_null());
    for (number, point) in points.iter().enumerate() {
        let held: i64 = groups.iter().map(|group| group["pages"][number].as_i64().expect("pages")).sum();
        assert_eq!(held, pages(point, "pages"));
    }
    let most = points.iter().map(|point| pages(point, "pages")).max();
    assert!(most <= Some(pages(timeline, "peak_pages")), "the peak can lie between points");
    for group in groups {
        assert!(["Image", "MapFile"].contains(&group["category"].as_str().expect("a category")));
        assert!(group["average_pages"].as_f64() < group["peak_pages"].as_f64());
    }
    assert_eq!(pages(&whole["peak_held"], "pages"), 1712, "that of all pages");

    let csv = rows(&some);
    assert_eq!(csv[0], ["time_s", "process", "category", "pages"]);
    let held = |time: &str| -> i64 {
        csv[1..].iter().filter(|row| row[0] == time).map(|row| row[3].parse::<i64>().expect("pages")).sum()
    };
    for point in points {
        assert_eq!(held(&point["time_s"].to_string()), pages(point, "pages"), "times are exact");
    }
    insta::assert_snapshot!("refset_timeline_groups", out(&[&["refset", TRACE, "-q"], &some[..]].concat()));
    let ran = run(&["refset", TRACE, "--timeline", "5ms", "--group-by", "release_reason"]);
    assert!(ran.code == 2 && ran.err.contains("release_reason is only known"), "{ran:?}");
}

/// Rows of impacting pages are net: a row of -13 pages once had a share of 5.1 %, under a title of pages held.
#[test]
fn rows_of_both_signs_have_no_shares_and_say_what_they_are() {
    let of = |more: &[&str]| {
        let line = ["refset", "refset-small.etl", "-q", "--from", "0.045", "--to", "0.06", "--group-by", "category"];
        out(&[&line, more].concat())
    };
    let net = of(&["--where", "impact=Impacting", "--top", "6"]);
    assert!(net.contains("\nImpact from ") && net.contains(" -13 ") && !net.contains(" %  "), "{net}");
    assert!(
        !net.contains("Share") && net.contains("Impacting pages count where they came in the window and stayed"),
        "{net}"
    );
    assert!(of(&["--where", "impact=*"]).contains("rows and totals of them are net growth"));
    // Pages of one sign are parts of a whole.
    let transient = of(&["--where", "impact=Transient"]);
    assert!(transient.contains("Share") && !transient.contains("net growth"), "{transient}");
    let by_impact = out(&["refset", "refset-small.etl", "-q", "--group-by", "impact"]);
    assert!(
        by_impact.contains("charged pages a physical page once") && by_impact.contains("net growth"),
        "{by_impact}"
    );
}

/// `--sort peak` had no effect in Markdown and with `--columns`, and `--top` of the advice showed nothing more.
#[test]
fn markdown_has_the_processes_of_the_screen() {
    let markdown = |more: &[&str]| {
        let shown = run(&[&["refset", "refset-small.etl", "-q", "--format", "markdown"], more].concat()).out;
        let (_, rows) = shown.split_once("| Process at stop |").unwrap_or_else(|| panic!("processes: {shown}"));
        let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|')).map(str::to_owned).collect();
        (shown, rows)
    };
    let (shown, _): (String, Vec<String>) = markdown(&["--top", "14"]);
    let (_, advice) = shown.split_once("4 of the others held pages before and none at stop: --top ").expect("advice");
    let (_, all) = markdown(&["--top", advice.split(' ').next().expect("a number")]);
    assert_eq!(all.len(), 18, "{all:?}");
    let peak = |row: &String| row.split(" | ").nth(4).and_then(|peak| peak.parse::<u64>().ok()).expect("a peak");
    let (_, sorted) = markdown(&["--sort", "peak", "--top", "18"]);
    assert!(sorted.is_sorted_by_key(|row| std::cmp::Reverse(peak(row))), "{sorted:?}");
    assert!(!all.is_sorted_by_key(|row| std::cmp::Reverse(peak(row))), "{all:?}");
    let ran = run(&["refset", "refset-small.etl", "--sort", "peak", "--columns", "pages"]);
    assert!(ran.code == 2 && ran.err.contains("which --columns does not show"), "{ran:?}");
}
