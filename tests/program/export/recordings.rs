//! The files of one recording that come in several runs, and one trace by several names.

use super::{parts, rows};
use crate::program::{Ran, fixtures, run};
use crate::recording::pair;
use std::fs;
use std::path::Path;

fn export(dataset: &Path, arguments: &[&str]) -> Ran {
    run(&[&["export"], arguments, &["--out", dataset.to_str().unwrap()]].concat())
}

/// Names of the files in `traces`.
fn files(dataset: &Path) -> Vec<String> {
    let name = |row: &super::Row| row["trace_file"].rsplit(['/', '\\']).next().unwrap().to_owned();
    let mut names: Vec<String> = rows(dataset, "traces").iter().map(|(_, row)| name(row)).collect();
    names.sort_unstable();
    names
}

/// Both were traces of one machine and time, and nothing said so.
#[test]
fn two_files_of_a_recording_in_two_runs_are_told_and_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let [kernel, user] = pair(folder.path());
    let dataset = folder.path().join("dataset");
    let first = export(&dataset, &[&kernel]);
    assert!(first.code == 0 && !first.err.contains("recorded together"), "{first:?}");
    for (flags, code) in [(&[][..], 0), (&["--resume", "-q"], 0), (&["--resume", "--strict"], 3)] {
        let ran = export(&dataset, &[&[user.as_str()], flags].concat());
        let told =
            format!("Export both as one, which takes the place of both: pfnset export {kernel} --with {user} --out");
        assert!(ran.code == code && ran.err.contains(&told), "{flags:?}: {ran:?}");
    }
    assert_eq!(files(&dataset), ["kernel.etl", "user.etl"]);
    // A table that would be lost is spared.
    assert_eq!(export(&dataset, &[&user, "--pages", "-q"]).code, 0);
    let ran = export(&dataset, &[&user, "--with", &kernel]);
    assert!(ran.code == 2 && ran.err.contains("is of a part of the recording"), "{ran:?}");
    let ran = export(&dataset, &[&user, "--with", &kernel, "--pages"]);
    assert!(ran.code == 0 && ran.err.matches("it takes the place of").count() == 2, "{ran:?}");
    let whole = (files(&dataset), parts(&dataset));
    assert_eq!(whole.0, ["kernel.etl"]);
    for flags in [&[kernel.as_str()][..], &[&user, "--resume"]] {
        let ran = export(&dataset, flags);
        assert!(ran.code == 0 && ran.out.split_whitespace().any(|word| word == "once."), "{ran:?}");
    }
    assert_eq!((files(&dataset), parts(&dataset)), whole);
}

/// What cannot be read takes no place.
#[test]
fn a_recording_that_cannot_be_read_leaves_its_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [kernel, user] = pair(folder.path());
    let dataset = folder.path().join("dataset");
    assert_eq!(export(&dataset, &[&kernel, "-q", "--tables", "files"]).code, 0);
    fs::write(&user, "no trace").unwrap();
    assert_eq!(export(&dataset, &[&kernel, "--with", &user, "-q", "--tables", "files"]).code, 3);
    assert_eq!(files(&dataset), ["kernel.etl", "kernel.etl"]);
    let ran = export(&dataset, &[&kernel, "--tables", "files"]);
    assert!(ran.code == 0 && ran.out.contains("3 tables"), "{ran:?}");
}

/// In one run too, and only what a folder would put together.
#[test]
fn sessions_of_other_names_or_times_are_traces() {
    let folder = tempfile::tempdir().unwrap();
    let [kernel, user] = pair(folder.path());
    let told = |user: &str| {
        let dataset = tempfile::tempdir().unwrap();
        export(dataset.path(), &[&kernel, user, "--tables", "files"]).err.contains("recorded together")
    };
    assert!(told(&user));
    let other = folder.path().join("other.etl");
    fs::copy(&user, &other).unwrap();
    assert!(!told(other.to_str().unwrap()));
    fs::copy(fixtures().join("resident-small.etl"), &user).unwrap();
    assert!(!told(&user), "another boot");
}

/// The row got another name without a word.
#[test]
fn another_name_of_a_trace_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for form in ["parquet", "csv"] {
        let dataset = folder.path().join(form);
        let [one, twin] = ["one.etl", "twin.etl"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
        for path in [&one, &twin] {
            fs::copy(fixtures().join("resident-small.etl"), path).unwrap();
        }
        let of = |path: &str, more: &[&str]| {
            let ran = export(&dataset, &[&[path, "--tables", "files", "--format", form], more].concat());
            assert_eq!(ran.code, 0, "{ran:?}");
            ran.err
        };
        assert_eq!([of(&one, &[]), of(&one, &[])], ["", ""]);
        let told = format!("the dataset had the same trace as {one}; it takes its place as {twin}");
        assert!(of(&twin, &[]).contains(&told));
        assert_eq!(of(&one, &["-q"]), "");
    }
}

/// Tables that were there from an earlier run counted as written.
#[test]
fn the_line_counts_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let of = |more: &[&str]| {
        let ran = export(folder.path(), &[&["resident-small.etl"], more].concat()).out;
        ran.split_once("resident-small.etl: ").unwrap().1.to_owned()
    };
    assert!(of(&[]).starts_with("10 tables, "));
    let rows: usize =
        ["files", "ranges", "traces", "warnings"].iter().map(|table| rows(folder.path(), table).len()).sum();
    let told = of(&["--tables", "files,ranges"]);
    assert!(told.starts_with(&format!("4 tables, {rows} rows, ")), "{told}");
}

/// The folder seemed to hold no trace.
#[test]
fn traces_in_the_folder_of_the_dataset_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::copy(fixtures().join("resident-small.etl"), inside.join("a.etl")).unwrap();
    let all = folder.path().to_str().unwrap();
    for out in [folder.path(), inside.as_path()] {
        let ran = export(out, &[all]);
        let says = format!("lie in the folder of the dataset, --out {}, where none are looked for", out.display());
        assert!(ran.code == 2 && ran.err.contains(&says), "{ran:?}");
    }
    let ran = export(&folder.path().join("dataset"), &[all, "--tables", "files"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let none = tempfile::tempdir().unwrap();
    let ran = export(none.path(), &[none.path().to_str().unwrap()]);
    assert!(ran.code == 3 && ran.err.contains("the folder holds no trace"), "{ran:?}");
}

/// It named those of the last run alone.
#[test]
fn the_row_of_a_trace_names_all_tables_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let export = |more: &[&str]| {
        let ran = export(folder.path(), &[&["resident-small.etl"], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let there = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut there: Vec<String> = there.filter(|name| !name.starts_with('.')).collect();
        let mut told: Vec<String> =
            rows(folder.path(), "traces")[0].1["tables"].split(',').map(str::to_owned).collect();
        there.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, there, "{more:?}");
        there.len()
    };
    assert_eq!(export(&["--tables", "files"]), 3);
    let all = export(&[]);
    // Those of processors are not there: the trace has no context switch.
    for tables in ["processes", "cpu,warnings"] {
        assert_eq!(export(&["--tables", tables]), all);
    }
    assert_eq!(export(&["--pages"]), all + 2);
    assert_eq!(export(&["--tables", "resident"]), all + 2);
}
