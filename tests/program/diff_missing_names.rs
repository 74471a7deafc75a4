//! `pfnset diff` of two boots: processes, files and code without a name have labels with a value of one boot, by which nothing is compared.

use crate::program::{finish, pfnset, run};
use crate::report;
use crate::trust::fixture;
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::memory::{COMMIT, RESERVE, virtual_alloc};
use etl_writer::payloads::pages::{self, Identity};
use etl_writer::payloads::perf;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Session, Trace, file_of};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::NamedTempFile;

const TRACE: &str = "resident-small.etl";

/// The trace with another address of the process that no event names.
fn other_process_key() -> NamedTempFile {
    let mut bytes = fixture(TRACE);
    let key = [0x60, 0x00, 0xc1, 0xff, 0x3f];
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&key)).collect();
    assert_eq!(places.len(), 5, "pages of the process");
    places.iter().for_each(|at| bytes[at + 2] = 0xc3);
    file_of(&bytes)
}

/// A boot in which `app.exe` and code in no image allocate and read memory, each called by the other.
fn boot_with_code_at(nameless: u64) -> NamedTempFile {
    let session = Session { processors: 2, ..Session::windows10() };
    let (t0, app) = (session.t0, 0x1_4000_0000);
    let image = Image { base: app, size: 0x1_0000, pid: 8, name: r"\Windows\app.exe".to_owned(), ..Image::default() };
    let mut records = vec![
        Process::new(8, "app.exe").rec(P8, 4, process::DC_START).at(t0),
        image.rec(P8, 2, image::LOAD).by(16, 8).at(t0 + 1),
    ];
    let stacks = [vec![nameless, app + 0x10], vec![app + 0x20, nameless], vec![nameless + 0x100, app + 0x10]];
    for (number, frames) in (1..).zip(stacks) {
        let (time, base) = (t0 + 100 * number, 0x10_0000 * number);
        let commit = virtual_alloc(P8, base, 0x1000 * number, 8, RESERVE | COMMIT).by(16, 8);
        let access = Identity::private(0x100 + number, 8, base).rec(P8, 4, pages::ACCESS).by(16, 8);
        for (record, later) in [(commit, 0), (access, 20)] {
            records.push(record.at(time + later));
            records.push(perf::stack(P8, time + later, 8, 16, &frames).at(time + later + 2));
        }
    }
    file_of(&Trace::new(session).push_all(records).finish())
}

fn path(file: &NamedTempFile) -> &str {
    file.path().to_str().expect("UTF-8")
}

fn diff(arguments: &[&str]) -> (i32, Value) {
    let ran = run(&[&["diff", "-q", "--format", "json", "--all"], arguments].concat());
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}")))
}

/// Labels and amounts of both sides of the rows whose label begins so.
fn rows(found: &Value, dimension: &str, begin: &str) -> Vec<(String, [u64; 2])> {
    let lists = ["differing", "agreeing"].into_iter().flat_map(|list| found[list].as_array().into_iter().flatten());
    let row = |row: &Value| {
        let side = |side: &str| {
            let names = ["pages", "outstanding_bytes"].map(|name| row[format!("{side}_{name}")].as_u64());
            names.into_iter().flatten().next().unwrap_or(0)
        };
        (row[dimension].as_str().unwrap_or_default().to_owned(), [side("left"), side("right")])
    };
    lists.map(row).filter(|(label, _)| label.starts_with(begin)).collect()
}

/// What the program writes, in a file.
fn saved(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let path = folder.join(name).to_str().expect("UTF-8").to_owned();
    let ran = finish(&mut pfnset(&[arguments, &["-q", "-o", &path]].concat()));
    assert_eq!(ran.code, 0, "{ran:?}");
    path
}

/// Their owner keys are addresses, and the addresses of one boot were compared with those of another.
#[test]
fn processes_that_nothing_names_are_one_row() {
    let other = other_process_key();
    for more in [
        &[][..],
        &["--apart"],
        &["--group-by", "process"],
        &["--group-by", "process_name"],
        &["--group-by", "service,category"],
        &["--group-by", "command_line"],
    ] {
        let (code, found) = diff(&[&[TRACE, path(&other)], more].concat());
        assert_eq!((code, &found["equal"]), (0, &json!(true)), "{more:?}");
        let dimension =
            more.last().filter(|by| !by.starts_with('-')).map_or("process", |by| by.split(',').next().unwrap_or(by));
        let nameless = rows(&found, dimension, "Unknown");
        let of_one = |label: &str| nameless.iter().any(|(own, _)| own == label);
        assert!(of_one("Unknown") && !of_one("Unknown (0xe0801fffe080)"), "{more:?}: {nameless:?}");
        assert!(of_one("Unknown (-1)"), "pages of several lack no name: {nameless:?}");
    }
    // Ids are compared where they are asked for.
    for more in [&["--match", "pid"][..], &["--group-by", "pid"], &["--match", "pid", "--group-by", "process_name"]] {
        let (code, found) = diff(&[&[TRACE, path(&other)], more].concat());
        assert_eq!((code, &found["equal"]), (1, &json!(false)), "{more:?}");
    }
    let page = report::page(&[TRACE, path(&other)]);
    assert!(page.contains("Nothing differs: each category and each process has as many pages in both."));
}

#[test]
fn saved_results_are_compared_in_the_same_way() {
    let (other, folder) = (other_process_key(), tempfile::tempdir().expect("a folder"));
    for (form, by) in [("json", "process"), ("csv", "process,category"), ("json", "process_name"), ("csv", "file")] {
        let left = saved(folder.path(), "left", &["resident", TRACE, "--group-by", by, "--format", form]);
        let (code, found) = diff(&[&left, path(&other)]);
        assert_eq!((code, &found["equal"]), (0, &json!(true)), "{form} by {by}: {}", found["differing"]);
    }
    // Page by page as by rows.
    let pages = saved(folder.path(), "pages.csv", &["pages", TRACE, "--format", "csv"]);
    for (more, differing) in [(&["--group-by", "process"][..], 0), (&["--group-by", "process", "--match", "pid"], 5)] {
        let (code, found) = diff(&[&[pages.as_str(), path(&other)], more].concat());
        assert_eq!((code != 0, &found["pages"]["differing_in_any"]), (differing > 0, &json!(differing)), "{found}");
        assert_eq!(found["pages"]["compared"], json!(3000));
    }
}

/// File keys are addresses of one boot too.
#[test]
fn files_without_a_name_are_one_row() {
    let sides = ["refset-small.etl", "refset-proved.etl"];
    let by_file = |more: &[&str]| {
        let (_, found) = diff(&[&sides, &["--group-by", "file"][..], more].concat());
        rows(&found, "file", "Unknown")
    };
    assert_eq!(by_file(&[]), [("Unknown".to_owned(), [500, 500])]);
    let keys = [("Unknown (0xffffe08011005410)", [500, 0]), ("Unknown (0xffffe08011005800)", [0, 500])];
    let mut of_one_boot = by_file(&["--match", "pid"]);
    of_one_boot.sort();
    assert_eq!(of_one_boot, keys.map(|(label, pages)| (label.to_owned(), pages)));
    let (_, found) = diff(&[TRACE, sides[0], "--group-by", "detail"]);
    let detail = rows(&found, "detail", "Unknown");
    assert!(detail.len() == 1 && detail[0].0 == "Unknown" && detail[0].1.iter().all(|pages| *pages > 0), "{detail:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let left = saved(folder.path(), "file.json", &["resident", sides[0], "--group-by", "file", "--format", "json"]);
    let (_, found) = diff(&[&left, sides[1]]);
    assert_eq!(rows(&found, "file", "Unknown"), [("Unknown".to_owned(), [500, 500])]);
}

#[test]
fn code_in_no_image_is_one_row() {
    let [left, right] = [0x7ff6_0000_0000, 0x7ff7_1230_0000].map(boot_with_code_at);
    let sides = [path(&left), path(&right)];
    for asked in [
        &["--allocations", "--of", "commit", "--group-by", "function"][..],
        &["--allocations", "--of", "commit", "--group-by", "stack"],
        &["--allocations", "--of", "commit", "--measure", "peak", "--group-by", "process,function"],
        &["--refset", "--group-by", "function"],
        &["--of", "virtual-alloc"],
    ] {
        let (code, found) = diff(&[&sides, asked].concat());
        assert_eq!((code, &found["equal"]), (0, &json!(true)), "{asked:?}: {found}");
        let rows = found["agreeing"].to_string();
        assert!(rows.contains("[unknown]") && !rows.contains("\"0x"), "{asked:?}: {rows}");
    }
    let by_function = ["--allocations", "--of", "commit", "--group-by", "function"];
    let (_, found) = diff(&[&sides, &by_function[..]].concat());
    assert_eq!(
        rows(&found, "function", ""),
        [("[unknown]", 0x4000), ("app.exe+0x20", 0x2000)].map(|(of, bytes)| (of.to_owned(), [bytes; 2]))
    );
    // Conditions know both words for it: that of these rows, and the address that other commands show.
    for (condition, bytes) in [
        ("function=[unknown]", [0x6000; 2]),
        ("function=0x7ff6*", [0x6000, 0]),
        ("function=!0x7ff6*", [0, 0x6000]),
        ("stack=*0x10?[unknown]", [0x4000; 2]),
        ("stack=*0x7ff712300100", [0, 0x3000]),
    ] {
        let (_, found) = diff(&[&sides, &by_function[..], &["--where", condition]].concat());
        let sums = ["left", "right"].map(|side| found["total"][format!("{side}_outstanding_bytes")].clone());
        assert_eq!(json!(sums), json!(bytes), "{condition}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let left = saved(folder.path(), "code.json", &["refset", sides[0], "--group-by", "function", "--format", "json"]);
    assert_eq!(diff(&[&left, sides[1]]).0, 0);
}

/// Those of a reference set stood in the order of their ids.
#[test]
fn processes_of_one_name_are_numbered_by_their_starts_in_reference_sets_too() {
    let trace = "refset-proved.etl";
    let own = run(&["refset", trace, "-q", "--group-by", "process", "--format", "json"]);
    let own: Value = serde_json::from_str(&own.out).expect("JSON");
    let pages = |process: &str| {
        let row = own["rows"].as_array().expect("rows").iter().find(|row| row["process"] == process);
        row.and_then(|row| row["pages"].as_u64()).unwrap_or_else(|| panic!("no {process}"))
    };
    let wanted = [pages("child1.exe (24660)"), pages("child1.exe (22696)")];
    assert_ne!(wanted[0], wanted[1]);
    let (_, found) = diff(&[trace, trace, "--refset", "--group-by", "process", "--apart", "--sort", "name"]);
    let found: Vec<u64> = rows(&found, "process", "child1.exe #").iter().map(|(_, [left, _])| *left).collect();
    assert_eq!(found, wanted, "the one with the larger id began first");
}
