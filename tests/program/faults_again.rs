//! `pfnset faults --of again`: ranges of files that were read more than once, beside what `resident` and `pages` say of them.

use crate::program::{finish, out, pfnset, run};
use etl_writer::payloads::file;
use etl_writer::payloads::memory::hard_fault;
use etl_writer::payloads::pages::{IN_MEMORY, Identity, list};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const DATA: u64 = 0xffff_c001_0000_1000;
const OTHER: u64 = 0xffff_c001_0000_2000;
const PAGE_FILE: u64 = 0xffff_c001_0000_3000;
const SECOND: u64 = 10_000_000;
const PAGE: u64 = 4096;

/// A hard fault that took a millisecond.
fn fault(key: u64, (offset, bytes): (u64, u32), end: u64) -> Rec {
    hard_fault(P8, end - 10_000, offset, 0x10_0000, key, 4, bytes).at(end)
}

fn pages(time: u64) -> Vec<Rec> {
    let of = |pfn: u64, key, page: u64| Identity::file(pfn, key, page * PAGE, false);
    let all = [
        of(1, DATA, 0),
        of(2, DATA, 1).on_list(list::STANDBY),
        of(3, DATA, 2).on_list(list::MODIFIED),
        of(4, DATA, 3).on_list(list::TRANSITION),
        of(5, DATA, 9),
        of(6, DATA, 40),
        of(7, OTHER, 1),
        of(8, OTHER, 2).on_list(list::FREE),
        Identity::private(9, 4, 0x1000),
    ];
    (0..).zip(all).map(|(number, page)| page.rec(P8, 4, IN_MEMORY).at(time + number)).collect()
}

/// Three pages of a file are read, then two of them and the one after; others once; a page of the page file twice.
fn trace(sequences: u64) -> NamedTempFile {
    let whole = Session::windows10();
    let session = Session { processors: 1, end_time: whole.start_time + 130_000_000, ..whole };
    let at = |second: u64| session.t0 + second * SECOND;
    let names = [(DATA, "\\Data.bin"), (OTHER, "\\Other.bin"), (PAGE_FILE, "\\pagefile.sys")];
    let mut records: Vec<Rec> = names.map(|(key, name)| file::name(P8, file::RUNDOWN, key, name).at(at(1))).to_vec();
    records.push(fault(DATA, (0, 3 * PAGE as u32), at(2)));
    records.push(fault(DATA, (40 * PAGE, PAGE as u32), at(3)));
    records.push(fault(PAGE_FILE, (7 * PAGE, PAGE as u32), at(4)));
    records.push(fault(DATA, (PAGE, 3 * PAGE as u32), at(5)));
    records.push(fault(PAGE_FILE, (7 * PAGE, PAGE as u32), at(6)));
    // One half of a page, then the other half: nothing is read again, though both are in one range.
    records.push(fault(OTHER, (PAGE, 2048), at(7)));
    records.push(fault(OTHER, (PAGE + 2048, 2048), at(8)));
    records.push(fault(OTHER, (u64::MAX - 511, 4096), at(9)));
    records.push(fault(OTHER, (u64::MAX - 1023, 4096), at(10)));
    records.extend((0..sequences).flat_map(|number| pages(at(11 + number))));
    file_of(&Trace::new(session.clone()).push_all(records).finish())
}

fn again(file: &NamedTempFile, more: &[&str]) -> Value {
    let path = file.path().to_str().expect("UTF-8");
    let line = [&["faults", path, "-q", "--of", "again", "--format", "json"], more].concat();
    serde_json::from_str::<Value>(&out(&line)).expect("JSON")["again"].clone()
}

#[test]
fn ranges_that_were_read_again_stand_beside_ram() {
    let file = trace(2);
    let all = again(&file, &[]);
    assert_eq!((&all["snapshot"], all["snapshot_s"].as_f64().map(|s| s > 11.9)), (&json!(1), Some(true)));
    let rows = all["rows"].as_array().expect("rows");
    let key =
        |row: &Value| json!([row["file"], row["from_offset"], row["to_offset"], row["range_pages"], row["events"]]);
    let data = json!(["\\Data.bin", 0, 4 * PAGE, 4, 2]);
    let swapped = json!(["\\pagefile.sys", 7 * PAGE, 8 * PAGE, 1, 2]);
    // A range at the end of all numbers is cut there.
    assert_eq!(rows.iter().map(key).collect::<Vec<_>>()[..2], [data, swapped]);
    assert_eq!((rows.len(), &rows[2]["bytes_again"]), (3, &json!(512)));
    let times = |row: &Value| [row["first_s"].as_f64(), row["last_s"].as_f64()].map(|s| s.map(f64::round));
    assert_eq!([times(&rows[0]), times(&rows[1])], [[Some(2.0), Some(5.0)], [Some(4.0), Some(6.0)]]);
    assert_eq!((&rows[0]["bytes"], &rows[0]["bytes_again"]), (&json!(6 * PAGE), &json!(2 * PAGE)));
    let in_ram =
        |row: &Value| ["resident_pages", "active_pages", "standby_pages", "modified_pages"].map(|key| row[key].clone());
    assert_eq!(in_ram(&rows[0]), [4, 1, 1, 1].map(|pages| json!(pages)));
    assert_eq!(in_ram(&rows[1]), [const { Value::Null }; 4], "private memory");
    // The same by the pages themselves.
    let path = file.path().to_str().expect("UTF-8");
    let pages = out(&["pages", path, "-q", "--format", "jsonl", "--where", "file=*Data.bin"]);
    let pages: Vec<Value> = pages.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let inside = |page: &&Value| page["file_offset"].as_u64().is_some_and(|offset| offset < 4 * PAGE);
    assert_eq!((pages.iter().filter(inside).count(), pages.len()), (4, 6));
}

/// All ranges, with those that were read once.
#[test]
fn all_that_was_read_is_listed_by_offset() {
    let file = trace(1);
    let path = file.path().to_str().expect("UTF-8");
    let text = out(&["faults", path, "-q", "--of", "ranges", "--format", "jsonl"]);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut found: Vec<_> =
        rows.iter().map(|row| json!([row["file"], row["from_offset"], row["range_pages"]])).collect();
    found.sort_by_key(Value::to_string);
    let mut expected = vec![
        json!(["\\Data.bin", 0, 4]),
        json!(["\\Data.bin", 40 * PAGE, 1]),
        json!(["\\Other.bin", PAGE, 1]),
        json!(["\\Other.bin", u64::MAX - 4095, 1]),
        json!(["\\pagefile.sys", 7 * PAGE, 1]),
    ];
    expected.sort_by_key(Value::to_string);
    assert_eq!(found, expected);
    let json: Value =
        serde_json::from_str(&out(&["faults", path, "-q", "--of", "ranges", "--format", "json"])).expect("JSON");
    let sum: u64 = rows.iter().map(|row| row["bytes"].as_u64().expect("a number")).sum();
    assert_eq!(Some(sum), json["hard"]["bytes"].as_u64());
    assert_eq!(json["ranges"]["rows"].as_array(), Some(&rows));
}

/// Times of the CSV were rounded: from such a time on the fault was outside of the window.
#[test]
fn times_of_ranges_are_exact_in_csv() {
    for of in ["ranges", "again"] {
        let form = |form: &str| out(&["faults", "faults-x86.etl", "-q", "--of", of, "--format", form]);
        let csv = form("csv");
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let heads = reader.headers().expect("a heading").clone();
        let place = |name: &str| heads.iter().position(|head| head == name).expect("a column");
        let places = ["first_s", "last_s"].map(place);
        let found: Vec<[f64; 2]> = reader
            .records()
            .map(|row| row.expect("a row"))
            .map(|row| places.map(|at| row[at].parse().expect("seconds")))
            .collect();
        let exact: Vec<[f64; 2]> = (form("jsonl").lines())
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .map(|row| ["first_s", "last_s"].map(|key| row[key].as_f64().expect("seconds")))
            .collect();
        assert!(!found.is_empty(), "{of}");
        assert_eq!(found, exact, "{of}");
    }
}

/// The sum over all ranges is what the faults say, whatever is chosen.
#[test]
fn ranges_add_up_to_what_was_read_again() {
    for more in [&[][..], &["--where", "file=*.bin"], &["--from", "4.5"], &["--where", "kind=page_file", "--to", "9"]] {
        for trace in ["faults-x86.etl", trace(1).path().to_str().expect("UTF-8")] {
            let line = [&["faults", trace, "-q", "--of", "again", "--format", "json"], more].concat();
            let ran = run(&line);
            if ran.code == 2 {
                assert!(ran.err.contains("4.5") || ran.err.contains('9'), "a window after the end: {}", ran.err);
                continue;
            }
            let all: Value = serde_json::from_str(&ran.out).expect("JSON");
            let rows = all["again"]["rows"].as_array().expect("rows");
            let sum: u64 = rows.iter().map(|row| row["bytes_again"].as_u64().expect("a number")).sum();
            assert_eq!(Some(sum), all["hard"]["bytes_again"].as_u64(), "{line:?}");
        }
    }
}

#[test]
fn without_a_page_sequence_that_is_said() {
    let file = trace(0);
    let all = again(&file, &[]);
    assert_eq!((&all["snapshot"], &all["rows"][0]["resident_pages"]), (&Value::Null, &Value::Null));
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["faults", path, "--of", "again"]);
    assert!(ran.code == 0 && ran.out.contains("the trace has no page sequence"), "{ran:?}");
    for (more, code, says) in [
        (&["--of", "again", "--snapshot", "0"][..], 4, "page"),
        (&["--of", "hard", "--snapshot", "0"], 2, "--snapshot is for --of ranges and --of again"),
        (&["--of", "again", "--group-by", "file"], 2, "--group-by has no effect"),
        (&["--of", "again", "--where", "disk=0"], 2, "hard faults have none"),
        (&["--of", "again", "--snapshot", "all"], 2, "one page sequence"),
    ] {
        let ran = run(&[&["faults", path], more].concat());
        assert!(ran.code == code && ran.err.contains(says), "{more:?}: {ran:?}");
    }
    let file = trace(2);
    let path = file.path().to_str().expect("UTF-8");
    assert_eq!(again(&file, &["--snapshot", "0"])["snapshot"], 0);
    assert_eq!(run(&["faults", path, "--of", "again", "--snapshot", "7"]).code, 2);
    insta::assert_snapshot!("again", out(&["faults", path, "-q", "--of", "again"]));
}

/// What was read again is what such rows are ordered by: it left, and what RAM holds stayed, with no value in any row.
#[test]
fn what_rows_are_ordered_by_stays_in_narrow_tables() {
    let header = |path: &str, of: &str, columns: &str| {
        let ran = finish(pfnset(&["faults", path, "-q", "--of", of]).env("COLUMNS", columns));
        let line = ran.out.lines().find(|line| line.starts_with("File ")).unwrap_or_else(|| panic!("{}", ran.out));
        line.split("  ").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<String>>()
    };
    let without = trace(0);
    let with = trace(2);
    let [without, with] = [&without, &with].map(|file| file.path().to_str().expect("UTF-8"));
    for of in ["again", "ranges"] {
        assert_eq!(header("faults-x86.etl", of, "60"), ["File", "Read", "Again", "Waited"]);
        let eighty = header("faults-x86.etl", of, "80");
        assert!(eighty.starts_with(&["File", "Offset"].map(String::from)), "{eighty:?}");
        assert!(["Read", "Again", "Waited", "Last s"].iter().all(|kept| eighty.contains(&(*kept).to_owned())));
        assert!(!eighty.contains(&"In RAM".to_owned()), "{eighty:?}");
        // With a page sequence what RAM holds is the last that leaves.
        assert_eq!(header(with, of, "60"), ["File", "Read", "Again", "Waited", "In RAM"]);
        assert_eq!(header(with, of, "50"), ["File", "Read", "Again", "Waited"]);
        assert_eq!(header(without, of, "50"), ["File", "Read", "Again", "Waited"]);
    }
}

/// Waits that nothing tells were 0 ns, and `info --strict` called the trace sound.
#[test]
fn waits_that_nothing_tells_are_no_zeros() {
    let whole = Session::windows10();
    let session = Session { processors: 1, end_time: whole.start_time + 210_000_000, ..whole };
    let at = |second: u64| session.t0 + second * SECOND;
    // Their begin is after their end.
    let broken = |second: u64| hard_fault(P8, at(second) + 1, 0, 0x10_0000, DATA, 4, 4096).at(at(second));
    let of = |records: Vec<Rec>| file_of(&Trace::new(session.clone()).push_all(records).finish());
    let all = of(vec![broken(2), broken(3)]);
    let path = all.path().to_str().expect("UTF-8");
    let says = "the begin of 2 of 2 hard faults cannot be true: their waits are in no sum";
    let screen = out(&["faults", path, "-q"]);
    assert!(screen.contains(says) && screen.contains("how long threads waited is unknown"), "{screen}");
    for more in [&["--of", "hard"][..], &["--of", "again"], &["--timeline", "1s"], &[]] {
        let screen = out(&[&["faults", path, "-q"], more].concat());
        assert!(screen.contains("  unknown"), "{screen}");
        // Steps without a fault have no wait.
        assert!(!screen.contains(" 0 ns") || more.first() == Some(&"--timeline"), "{screen}");
        let csv = run(&[&["faults", path, "--format", "csv"], more].concat());
        assert!(csv.err.contains(says), "{csv:?}");
    }
    let json: Value =
        serde_json::from_str(&run(&["faults", path, "-q", "--format", "json", "--timeline", "1s"]).out).expect("JSON");
    let waits = |of: &Value| json!([of["waited_ns"], of["malformed"]]);
    assert_eq!([waits(&json["hard"]), waits(&json["hard"]["rows"][0])], [json!([null, 2]), json!([null, 2])]);
    assert_eq!([&json["timeline"][0], &json["timeline"][2]].map(waits), [json!([0, 0]), json!([null, 1])]);
    // One judgement.
    for command in ["faults", "info"] {
        let ran = run(&[command, path, "--strict", "--format", "csv"]);
        assert!(ran.code == 3 && ran.err.contains(says), "{command}: {ran:?}");
    }
    // Few of many leave the sums what they are.
    let few =
        of([vec![broken(1)], (20..38).map(|tenth| fault(DATA, (0, 4096), at(0) + tenth * SECOND / 10)).collect()]
            .concat());
    for command in ["faults", "info"] {
        let ran = run(&[command, few.path().to_str().expect("UTF-8"), "--strict", "--format", "csv"]);
        assert!(
            ran.code == 0 && ran.err.contains("the begin of 1 of 19 hard faults cannot be true"),
            "{command}: {ran:?}"
        );
    }
}

/// A trace without the keyword AllFaults had 0 of them, and nothing said that this is not known.
#[test]
fn soft_faults_that_were_not_recorded_are_unknown() {
    let file = trace(0);
    let path = file.path().to_str().expect("UTF-8");
    let says =
        "AllFaults (soft faults; a WPR profile with this keyword or xperf -on PROC_THREAD+ALL_FAULTS records them)";
    let of = |more: &[&str]| run(&[&["faults", path], more].concat());
    let table = of(&["--of", "soft"]).out;
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(says) && words.ends_with("Total unknown"), "{table}");
    assert!(of(&["--of", "soft", "--format", "csv"]).err.contains(says));
    let json: Value = serde_json::from_str(&of(&["--of", "soft", "--format", "json"]).out).expect("JSON");
    assert_eq!(json["soft"], json!({"events": 0, "hard_markers": 0, "rows": []}));
    assert!(json["warnings"].to_string().contains(says), "{json}");
    // Few traces have them: what does not show them does not ask for them.
    assert!(!of(&[]).out.contains("AllFaults"));
    assert!(!run(&["faults", "faults-x86.etl", "--of", "soft"]).out.contains("AllFaults"));
}
