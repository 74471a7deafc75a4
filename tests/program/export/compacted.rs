//! `export --compact`: the copy has the rows of the dataset, each once, in few files; killed at any moment, it is there as a whole or
//! not at all, and the dataset is as it was.

use super::{Row, batches, parts, rows, text};
use crate::program::{Ran, command, out, run};
use crate::random_cases::{one_in, times};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Instant;

const TRACES: [&str; 4] = ["resident-small.etl", "refset-small.etl", "refset-proved.etl", "cpu-compressed.etl"];

fn compact(from: &Path, to: &Path, by: &str) -> Ran {
    let flag = if by.is_empty() { "--compact".to_owned() } else { format!("--compact={by}") };
    run(&["export", &flag, from.to_str().unwrap(), "--out", to.to_str().unwrap()])
}

/// A dataset of four traces, two of them tagged: a copy of one that is made once.
fn dataset(folder: &Path) -> PathBuf {
    static MADE: OnceLock<BTreeMap<PathBuf, Vec<u8>>> = OnceLock::new();
    let files = MADE.get_or_init(|| {
        let made = tempfile::tempdir().unwrap();
        let to = made.path().to_str().unwrap();
        let tagged = ["export", "-q", "--pages", "--events", "*", "--tag", "build=a/../b c", "--out", to];
        out(&[&tagged[..], &TRACES[..2]].concat());
        out(&[&["export", "-q", "--pages", "--out", to], &TRACES[2..]].concat());
        let inside = |path: PathBuf| path.strip_prefix(made.path()).unwrap().to_owned();
        bytes(made.path()).into_iter().map(|(path, bytes)| (inside(path), bytes)).collect()
    });
    let dataset = folder.join("dataset");
    for (path, bytes) in files {
        let path = dataset.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dataset
}

/// The rows of a table of a copy, in their order, by the bundle; the trace is a column.
fn copied(copy: &Path, table: &str) -> Vec<(String, Row)> {
    let mut all = Vec::new();
    for path in parts(&copy.join(table)) {
        assert!(path.ends_with("part-0.parquet"), "{}", path.display());
        let bundle = path.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
        for batch in batches(&path) {
            let schema = batch.schema();
            for row in 0..batch.num_rows() {
                let cells = schema.fields().iter().zip(batch.columns());
                let cells = cells.filter_map(|(field, column)| Some((field.name().clone(), text(column, row)?)));
                all.push((bundle.clone(), cells.collect()));
            }
        }
    }
    all
}

/// Rows by trace, in their order.
fn by_trace(rows: Vec<(String, Row)>) -> BTreeMap<String, Vec<Row>> {
    let mut all: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    rows.into_iter().for_each(|(trace, row)| all.entry(trace).or_default().push(row));
    all
}

fn tables(dataset: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dataset).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// The copy has the rows of the dataset, those of each trace in their order.
fn check(dataset: &Path, copy: &Path) {
    assert_holds(&rows_of(dataset), copy);
}

type RowsOfTables = BTreeMap<String, BTreeMap<String, Vec<Row>>>;

fn rows_of(dataset: &Path) -> RowsOfTables {
    let read = |table: String| (table.clone(), by_trace(rows(dataset, &table)));
    tables(dataset).into_iter().map(read).collect()
}

fn assert_holds(expected: &RowsOfTables, copy: &Path) {
    assert!(expected.keys().eq(&tables(copy)));
    for (table, rows) in expected {
        let found = copied(copy, table).into_iter().map(|(_, mut row)| (row.remove("trace").expect("a trace"), row));
        assert_eq!(&by_trace(found.collect()), rows, "{table}");
    }
}

/// All bytes of a folder's files, by path; `.pfnset` too.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(bytes(&path)),
            path => drop(all.insert(path.clone(), fs::read(path).unwrap())),
        }
    }
    all
}

#[test]
fn the_copy_has_each_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let (before, expected) = (bytes(&dataset), rows_of(&dataset));
    for (by, bundles) in one_in(1, vec![("", 1), ("year", 1), ("day", 1), ("tag_build", 2)]) {
        let copy = folder.path().join(format!("copy {by}"));
        let ran = compact(&dataset, &copy, by);
        assert!(ran.code == 0 && ran.out.contains(": 4 traces in "), "{ran:?}");
        assert_holds(&expected, &copy);
        assert_eq!(fs::read_dir(copy.join("traces")).unwrap().count(), bundles, "{by}");
        assert_eq!(before, bytes(&dataset), "the dataset is only read");
        if by == "tag_build" {
            assert_tags(&copy);
        }
        // The same bytes again.
        let again = folder.path().join(format!("again {by}"));
        assert_eq!(compact(&dataset, &again, by).code, 0);
        assert!(bytes(&copy).values().eq(bytes(&again).values()), "{by}");
    }
    let misspelled = compact(&dataset, &folder.path().join("copy tag_buid"), "tag_buid");
    assert!(misspelled.code == 2 && misspelled.err.contains("has tag_buid: tags are tag_build"), "{misspelled:?}");
}

fn assert_tags(copy: &Path) {
    let tagged: BTreeSet<(String, Option<String>)> =
        copied(copy, "traces").into_iter().map(|(bundle, mut row)| (bundle, row.remove("tag_build"))).collect();
    let expected = [
        ("bundle=__HIVE_DEFAULT_PARTITION__".to_owned(), None),
        ("bundle=a%2F..%2Fb%20c".to_owned(), Some("a/../b c".to_owned())),
    ];
    assert_eq!(tagged, expected.into());
}

/// Folders of Windows and macOS are one where their names differ in capital letters only: a file would come over another.
#[test]
fn bundles_that_differ_in_capital_letters_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, copy) = (folder.path().join("dataset"), folder.path().join("copy"));
    for (trace, tag) in TRACES.iter().zip(["build=Main", "build=main", "build=other"]) {
        out(&["export", trace, "-q", "--tag", tag, "--out", dataset.to_str().unwrap()]);
    }
    assert_eq!(compact(&dataset, &copy, "tag_build").code, 0);
    check(&dataset, &copy);
    let bundles = copied(&copy, "traces").into_iter().map(|(bundle, mut row)| (row.remove("tag_build"), bundle));
    let bundles: BTreeMap<String, String> = bundles.map(|(tag, bundle)| (tag.unwrap(), bundle)).collect();
    let expected = [("Main", "bundle=Main"), ("main", "bundle=Main"), ("other", "bundle=other")];
    assert_eq!(bundles, expected.map(|(tag, bundle)| (tag.to_owned(), bundle.to_owned())).into());
}

/// What a killed export left and does not fit is said, as `export` says it.
#[test]
fn what_is_not_used_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let left = dataset.join(".pfnset/work/ready-t00000000000000000000");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("state.json"), "{}").unwrap();
    let ran = compact(&dataset, &folder.path().join("copy"), "");
    assert!(ran.code == 0 && ran.err.contains("is not used"), "{ran:?}");
    assert!(left.exists());
}

#[test]
fn flags_without_effect_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (dataset(folder.path()), folder.path().join("copy"));
    for flag in
        ["--ansi-codepage=1251", "--in-memory=1GiB", "--unpack-limit=1GiB", "--resume", "--name=x", "--events=*"]
    {
        let ran = run(&["export", "--compact", from.to_str().unwrap(), "--out", to.to_str().unwrap(), flag]);
        assert!(ran.code == 2 && ran.err.contains("cannot be used with"), "{flag}: {ran:?}");
    }
    assert!(!to.exists());
}

#[test]
fn wrong_usage_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let copy = folder.path().join("copy");
    assert_eq!(compact(&dataset, &copy, "").code, 0);
    let csv = folder.path().join("csv");
    out(&["export", "-q", "--format", "csv", "resident-small.etl", "--out", csv.to_str().unwrap()]);
    let (new, before) = (folder.path().join("new"), bytes(folder.path()));
    for (ran, says) in [
        (compact(&dataset, &copy, ""), "is there already"),
        (compact(&dataset, &dataset.join("few"), ""), "lies in the dataset"),
        (compact(folder.path(), &new, ""), "is no dataset"),
        (compact(&dataset, &dataset.join("none/../few"), ""), "without .."),
        (compact(&copy, &new, ""), "is itself a copy in few files: name the dataset"),
        (compact(&csv, &new, ""), "its files are csv, not parquet"),
        (compact(&dataset, &new, "week"), "expected year, month, day"),
        (compact(&dataset, Path::new("s3://bucket/x"), ""), "is no local path"),
        (run(&["export", "resident-small.etl", "--out", copy.to_str().unwrap()]), "is a copy that"),
    ] {
        assert!(ran.code == 2 && ran.err.contains(says), "{says}: {ran:?}");
    }
    assert!(before == bytes(folder.path()), "nothing has changed");
    // Beside the dataset, though its name stands in the path.
    assert_eq!(compact(&dataset, &dataset.join("../beside"), "").code, 0);
    fs::remove_dir_all(folder.path().join("beside")).unwrap();
    // A trace with a file missing is an error, not a copy without it.
    fs::remove_file(parts(&dataset.join("files")).first().unwrap()).unwrap();
    let ran = compact(&dataset, &new, "");
    assert!(ran.code == 2 && ran.err.contains("files are missing") && !new.exists(), "{ran:?}");
}

#[test]
fn a_killed_run_leaves_no_copy_and_the_dataset_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let run = |copy: &Path| {
        let mut command = command(&["export", "--compact", "-q", "-j", "2"]);
        command.arg(&dataset).arg("--out").arg(copy).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begin = Instant::now();
    assert!(run(&copies.join("whole")).status().unwrap().success());
    let (whole_run, whole, before) = (begin.elapsed(), bytes(&copies.join("whole")), bytes(&dataset));
    let (mut killed, mut complete, mut left) = (0, 0, 0);
    let rounds = times(6).max(4);
    for round in 0..rounds {
        let copy = copies.join("copy");
        let mut child = run(&copy).spawn().unwrap();
        std::thread::sleep(whole_run * (round * 1100 / rounds) as u32 / 1000);
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        assert!(before == bytes(&dataset), "round {round}: the dataset has changed");
        if copy.exists() {
            complete += 1;
            assert!(bytes(&copy).values().eq(whole.values()), "round {round}: a part of a copy");
            fs::remove_dir_all(&copy).unwrap();
        }
        let unfinished = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".pfnset-compact-");
        left += fs::read_dir(&copies).unwrap().flatten().filter(unfinished).count();
        // The next run makes the copy, and nothing else remains.
        assert!(run(&copy).status().unwrap().success());
        assert!(bytes(&copy).values().eq(whole.values()), "round {round}");
        let names: BTreeSet<String> = fs::read_dir(&copies)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            // Of a run that was killed before it held its lock: an empty file.
            .filter(|name| !name.starts_with(".pfnset-lock-"))
            .collect();
        assert_eq!(names, ["copy", "whole"].map(String::from).into(), "round {round}");
        fs::remove_dir_all(&copy).unwrap();
    }
    println!("{killed} killed, {complete} complete, {left} left unfinished");
    assert!(killed > rounds / 4 && left > 0, "{killed} {left}");
}
