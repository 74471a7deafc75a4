//! What datasets of many machines need: pairs and archives from folders, tags, the same order of rows in every run.

use super::{batches, id_of, parts, rows};
use crate::archives::zip;
use crate::program::{Ran, finish, fixtures, out, pfnset, run};
use crate::random_cases::one_in;
use arrow_array::RecordBatch;
use pfnset::analysis::export::schema::Table;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

fn export(dataset: &Path, arguments: &[&str]) -> Ran {
    run(&[&["export"], arguments, &["--out", dataset.to_str().unwrap()]].concat())
}

/// A ZIP archive with these fixtures.
fn archive(path: &Path, members: &[(&str, &str)]) {
    let files: Vec<(&str, Vec<u8>)> =
        members.iter().map(|(name, fixture)| (*name, fs::read(fixtures().join(fixture)).unwrap())).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    fs::write(path, zip(&files, ::zip::CompressionMethod::Stored)).unwrap();
}

/// Rows in their order are the same whatever threads there are, in each table.
#[test]
fn every_table_has_its_rows_in_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let traces = ["resident-small.etl", "refset-proved.etl", "refset-small.etl", "cpu-compressed.etl"];
    let bytes = |threads: &str, round: u32| {
        let dataset = folder.path().join(format!("{threads}-{round}"));
        assert_eq!(
            export(&dataset, &[&traces[..], &["--pages", "-q", "-j", threads, "--format", "csv"]].concat()).code,
            0
        );
        let read = |path: std::path::PathBuf| {
            (path.strip_prefix(&dataset).unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        };
        parts(&dataset).into_iter().map(read).collect::<Vec<_>>()
    };
    let first = bytes("1", 0);
    assert!(first.len() > Table::ALL.len(), "{}", first.len());
    for (threads, round) in one_in(2, vec![("1", 1), ("2", 0), ("2", 1), ("7", 0)]) {
        let again = bytes(threads, round);
        for (one, other) in first.iter().zip(&again) {
            assert!(one == other, "-j {threads}: {} differs", one.0.display());
        }
        assert_eq!(first.len(), again.len());
    }
}

#[test]
fn pairs_and_traces_of_archives_in_a_folder_are_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("in").join(name);
    fs::create_dir_all(at("a")).unwrap();
    fs::create_dir_all(at("b")).unwrap();
    let copy = |fixture: &str, to: &str| fs::copy(fixtures().join(fixture), at(to)).map(drop).unwrap();
    // Two files that no one recorded together have such names.
    copy("resident-small.etl", "a/kernel.etl");
    copy("alloc-x86.etl", "a/user.etl");
    archive(
        &at("b/several.zip"),
        &[("x/one.etl", "resident-small.etl"), ("two.etl", "refset-small.etl"), ("readme.txt", "README.md")],
    );
    let dataset = folder.path().join("dataset");
    let ran = export(&dataset, &[at("").to_str().unwrap(), "--tables", "traces"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let named = |dataset: &Path| -> BTreeSet<String> {
        let name = |row: &super::Row| row["trace_file"].rsplit(['/', '\\', '!']).next().unwrap().to_owned();
        rows(dataset, "traces").iter().map(|(_, row)| name(row)).collect()
    };
    assert_eq!(named(&dataset), ["kernel.etl", "one.etl", "two.etl", "user.etl"].map(String::from).into());
    // An archive that is named is as one in a folder.
    let again = folder.path().join("again");
    assert_eq!(export(&again, &[at("b/several.zip").to_str().unwrap(), "-q", "--tables", "traces"]).code, 0);
    assert_eq!(rows(&again, "traces").len(), 2);
    // The same trace by its name in the archive.
    let member = format!("{}!x/one.etl", at("b/several.zip").display());
    let ran = export(&again, &[&member, "--resume", "--tables", "traces"]);
    assert!(ran.out.contains("there already"), "{ran:?}");
}

/// A recording of two sessions that really are one.
#[test]
fn a_pair_in_a_folder_is_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("in")).unwrap();
    let [kernel, user] = crate::recording::split(folder.path(), |n| n % 5 == 0);
    let names = ["PC7_Kernel.etl", "PC7_User.etl"].map(|name| folder.path().join("in").join(name));
    fs::rename(kernel, &names[0]).unwrap();
    fs::rename(user, &names[1]).unwrap();
    let (dataset, named) = (folder.path().join("dataset"), folder.path().join("named"));
    let ran = export(&dataset, &[folder.path().join("in").to_str().unwrap()]);
    assert!(ran.code == 0 && ran.out.contains("PC7_User.etl"), "{ran:?}");
    let [(id, row)] = &rows(&dataset, "traces")[..] else { panic!("one trace") };
    export(&named, &[names[0].to_str().unwrap(), "--with", names[1].to_str().unwrap()]);
    let [(same, told)] = &rows(&named, "traces")[..] else { panic!("one trace") };
    assert_eq!((id, row), (same, told));
}

#[test]
fn tags_are_columns_of_traces() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path();
    assert_eq!(
        export(dataset, &["resident-small.etl", "-q", "--tag", "build=26100.1", "--tag", "lab_2=Ä \"x\""]).code,
        0
    );
    assert_eq!(export(dataset, &["refset-small.etl", "-q"]).code, 0);
    let tagged = id_of(dataset, "resident-small.etl");
    for (id, row) in rows(dataset, "traces") {
        let tags = (row.get("tag_build").map(String::as_str), row.get("tag_lab_2").map(String::as_str));
        assert_eq!(tags, if id == tagged { (Some("26100.1"), Some("Ä \"x\"")) } else { (None, None) });
    }
    assert!(rows(dataset, "resident").iter().all(|(_, row)| row.keys().all(|name| !name.starts_with("tag_"))));
    // The same tags are there already, others are not.
    let resumed = |tags: &[&str]| {
        export(dataset, &[&["resident-small.etl", "--resume"], tags].concat()).out.contains("there already")
    };
    assert!(resumed(&["--tag", "lab_2=Ä \"x\"", "--tag", "build=26100.1"]));
    assert!(!resumed(&["--tag", "build=26100.2"]) && resumed(&["--tag", "build=26100.2"]) && !resumed(&[]));
    for (bad, says) in [
        ("Build=1", "a key has lower-case letters"),
        ("a b=1", "a key has"),
        ("../x=1", "a key has"),
        ("build", "expected KEY=VALUE"),
        ("build=", "a value has"),
        ("build=a\nb", "no control characters"),
    ] {
        let ran = export(dataset, &["resident-small.etl", "--tag", bad]);
        assert!(ran.code == 2 && ran.err.contains(says), "{bad}: {ran:?}");
    }
    let ran = export(dataset, &["resident-small.etl", "--tag", "a=1", "--tag", "a=2"]);
    assert!(ran.code == 2 && ran.err.contains("tag a is there twice"), "{ran:?}");
    // In the other forms too.
    let csv = folder.path().join("csv");
    export(&csv, &["resident-small.etl", "-q", "--tag", "build=7", "--format", "csv", "--tables", "traces"]);
    let text = fs::read_to_string(parts(&csv.join("traces")).first().unwrap()).unwrap();
    let mut lines = text.lines();
    // Warnings are lines of a cell.
    assert!(lines.next().unwrap().ends_with(",tag_build") && lines.last().unwrap().ends_with(",7"), "{text}");
}

#[test]
fn a_trace_has_the_name_that_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let name = ["--name", "s3a://bucket/traces/x.etl", "-q", "--tables", "traces"];
    assert_eq!(export(folder.path(), &[&["resident-small.etl"], &name[..]].concat()).code, 0);
    assert_eq!(rows(folder.path(), "traces")[0].1["trace_file"], "s3a://bucket/traces/x.etl");
    // Of a folder and an archive, the names in them follow.
    let from = folder.path().join("in");
    fs::create_dir_all(&from).unwrap();
    archive(&from.join("two.zip"), &[("a.etl", "resident-small.etl"), ("b.etl", "refset-small.etl")]);
    let dataset = folder.path().join("dataset");
    assert_eq!(export(&dataset, &[from.to_str().unwrap(), "-q", "--tables", "traces", "--name", "gs://b"]).code, 0);
    let names: BTreeSet<String> =
        rows(&dataset, "traces").iter().map(|(_, row)| row["trace_file"].replace('\\', "/")).collect();
    assert_eq!(names, ["gs://b/two.zip!a.etl", "gs://b/two.zip!b.etl"].map(String::from).into());
    let ran = export(folder.path(), &[&["resident-small.etl", "refset-small.etl"], &name[..]].concat());
    assert!(ran.code == 2 && ran.err.contains("--name is for one PATH, and there are 2"), "{ran:?}");
    // With a separator at the end, of the folder or of its name; `--resume` sees another name.
    let resumed = |path: &str, name: &str| {
        let ran = export(&dataset, &[path, "--tables", "traces", "--resume", "--name", name]);
        let names = rows(&dataset, "traces").iter().map(|(_, row)| row["trace_file"].replace('\\', "/")).collect();
        (ran.out.matches("there already").count(), names)
    };
    let slash = format!("{}/", from.display());
    let expected: BTreeSet<String> = ["s3://b/t/two.zip!a.etl", "s3://b/t/two.zip!b.etl"].map(String::from).into();
    assert_eq!(resumed(&slash, "s3://b/t"), (0, expected.clone()));
    assert_eq!(resumed(from.to_str().unwrap(), "s3://b/t/"), (2, expected.clone()));
    assert_eq!(resumed(&slash, "s3://b/t/"), (2, expected));
}

#[test]
fn a_copy_that_cannot_be_read_is_one_row_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for copy in ["one", "other"] {
        let path = folder.path().join(copy).join("x.etl");
        let ran = export(&folder.path().join("out"), &[path.to_str().unwrap(), "--name", "s3://b/x.etl"]);
        assert_eq!(ran.code, 3, "{ran:?}");
    }
    let [(_, row)] = &rows(&folder.path().join("out"), "traces")[..] else { panic!("one row") };
    assert_eq!(row["trace_file"], "s3://b/x.etl");
}

/// The file in the middle could be the user file of the first and the kernel file of the last.
#[test]
fn each_file_of_a_folder_is_in_one_recording() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("in");
    fs::create_dir_all(&from).unwrap();
    let [_, third] = crate::recording::split(folder.path(), |n| n % 7 < 3);
    fs::rename(third, from.join("user-test_user.etl")).unwrap();
    let [kernel, user] = crate::recording::split(folder.path(), |n| n % 5 == 0);
    fs::rename(kernel, from.join("kernel-test_kernel.etl")).unwrap();
    fs::rename(user, from.join("kernel-test_user.etl")).unwrap();
    let dataset = folder.path().join("dataset");
    let ran = export(&dataset, &[from.to_str().unwrap(), "--tables", "traces"]);
    assert!(ran.code == 0, "{ran:?}");
    let told: String = ran.out.split_whitespace().collect();
    for name in ["kernel-test_kernel.etl", "kernel-test_user.etl", "user-test_user.etl"] {
        assert_eq!(told.matches(name).count(), 1, "{}", ran.out);
    }
    assert_eq!(rows(&dataset, "traces").len(), 2);
}

#[test]
fn files_say_what_their_columns_mean() {
    let folder = tempfile::tempdir().unwrap();
    out(&["export", "resident-small.etl", "-q", "--tag", "build=1", "--out", folder.path().to_str().unwrap()]);
    for table in Table::ALL.into_iter().filter(|table| {
        let is_asked_for = table.is_by_page() || table.is_by_piece() || table.is_of_stacks() || *table == Table::Events;
        !is_asked_for && !table.is_of_processors()
    }) {
        let files = parts(&folder.path().join(table.name()));
        let file = File::open(files.first().unwrap()).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let stated = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let value = |key: &str| stated.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        assert_eq!(value("pfnset.schema_version").as_deref(), Some("2"));
        assert!(value("pfnset.description").is_some_and(|text| text.len() > 10), "{}", table.name());
        for field in reader.schema().fields() {
            assert!(value(&format!("pfnset.column.{}", field.name())).is_some(), "{}.{}", table.name(), field.name());
        }
    }
    let batch: &RecordBatch = &batches(parts(&folder.path().join("traces")).first().unwrap())[0];
    assert!(batch.schema().field_with_name("tag_build").unwrap().is_nullable());
}

/// A folder named `s3:` would take what was meant for a bucket.
#[test]
fn paths_with_a_scheme_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace = fixtures().join("resident-small.etl");
    let trace = trace.to_str().unwrap();
    for arguments in [
        &["export", trace, "--out", "s3://bucket/ds"][..],
        &["export", "s3a://bucket/t.etl", "--out", "ds", "-q"],
        &["export", trace, "--with", "s3a://bucket/t.etl", "--out", "ds", "-q"],
        &["resident", trace, "-o", "file:///x"],
        &["pages", trace, "-o", "s3a://bucket/x"],
        &["report", trace, "-o", "gs://bucket/x.html"],
        &["anonymize", trace, "-o", "abfss://c@account.dfs.core.windows.net/x.etl"],
        &["diff", trace, "s3://bucket/t.etl"],
        &["info", "https://example.org/t.etl"],
        &["check", trace, "--budgets", "b.toml", "--junit", "s3://bucket/x.xml"],
    ] {
        fs::write(folder.path().join("b.toml"), "[[budget]]\nname = \"a\"\nmax = \"1 %\"\n").unwrap();
        let ran = finish(pfnset(arguments).current_dir(folder.path()));
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("is no local path. Copy a trace to a disk"), "{ran:?}");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["b.toml"], "{arguments:?}");
    }
    // A drive is no scheme, nor is a name with a colon.
    for path in ["C:\\none.etl", "C:/none.etl", "c://none.etl", "a b://none.etl"] {
        let ran = run(&["info", path]);
        assert!(ran.code != 0 && !ran.err.contains("local path"), "{ran:?}");
    }
}
