//! How traces come into a dataset: forms of files, many at once, broken ones, again, a full disk.

use super::{id_of, parts, rows, text};
use crate::program::{Ran, finish, fixtures, pfnset, run, skipped_on_windows};
use arrow_ipc::reader::FileReader;
use etl_writer::{ResidentSpec, generate_resident};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

const TRACE: &str = "resident-small.etl";

fn export(dataset: &Path, arguments: &[&str]) -> Ran {
    run(&[&["export"], arguments, &["--out", dataset.to_str().unwrap()]].concat())
}

/// What every file is, by its path in the dataset, and nothing else is there.
fn files(dataset: &Path) -> BTreeMap<String, Vec<u8>> {
    let work = fs::read_dir(dataset.join(".pfnset").join("work")).expect("the program's folder");
    assert_eq!(work.count(), 0, "nothing is left in the program's folder");
    let name = |path: &Path| path.strip_prefix(dataset).unwrap().to_string_lossy().replace('\\', "/");
    parts(dataset).into_iter().map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

fn tables(dataset: &Path, id: &str) -> Vec<String> {
    let of = |name: &String| name.contains(&format!("/trace={id}/"));
    files(dataset).keys().filter(|name| of(name)).map(|name| name.split('/').next().unwrap().to_owned()).collect()
}

#[test]
fn all_forms_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = |form: &str| folder.path().join(form);
    for form in ["parquet", "arrow", "csv"] {
        let ran = export(&at(form), &[TRACE, "cpu-compressed.etl", "--pages", "--format", form, "-q"]);
        assert_eq!((ran.code, ran.out, ran.err), (0, String::new(), String::new()));
    }
    for (name, _) in files(&at("parquet")) {
        let table = name.split('/').next().unwrap();
        let batches = super::batches(&at("parquet").join(&name));
        let schema = batches.first().map(|batch| batch.schema());
        let mut lines = Vec::new();
        for batch in &batches {
            let cells = |row| batch.columns().iter().map(move |column| text(column, row).unwrap_or_default());
            lines.extend((0..batch.num_rows()).map(|row| cells(row).collect::<Vec<_>>()));
        }
        let mut csv = csv::Reader::from_path(at("csv").join(name.replace(".parquet", ".csv"))).unwrap();
        let headings: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
        if let Some(schema) = schema {
            assert_eq!(headings, schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>());
        }
        let records: Vec<Vec<String>> = csv.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect();
        assert_eq!(records.len(), lines.len(), "{table}");
        let mut arrow = Vec::new();
        for batch in
            FileReader::try_new(File::open(at("arrow").join(name.replace(".parquet", ".arrow"))).unwrap(), None)
                .unwrap()
        {
            let batch = batch.unwrap();
            let cells = |row| batch.columns().iter().map(move |column| text(column, row).unwrap_or_default());
            (0..batch.num_rows()).for_each(|row| arrow.push(cells(row).collect::<Vec<_>>()));
        }
        for (mut other, form) in [(records, "csv"), (arrow, "arrow")] {
            // Equal counts may be in another order.
            other.sort_unstable();
            lines.sort_unstable();
            assert_eq!(other, lines, "{table} as {form}");
        }
    }
}

#[test]
fn many_traces_at_once_and_broken_ones_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (from, dataset) = (folder.path().join("from"), folder.path().join("dataset"));
    fs::create_dir_all(from.join("deep/deeper")).unwrap();
    fs::copy(fixtures().join(TRACE), from.join("deep/deeper/a.etl")).unwrap();
    fs::copy(fixtures().join("refset-small.etl"), from.join("b.etl")).unwrap();
    fs::write(from.join("deep/letter.etl"), "Hello, this is a letter and no trace at all.").unwrap();
    fs::write(from.join("deep/notes.txt"), "no trace, and it does not say that it is one").unwrap();
    let none = from.join("none.etl");
    let ran = export(&dataset, &[from.to_str().unwrap(), none.to_str().unwrap()]);
    assert_eq!(ran.code, 3, "{ran:?}");
    // A long line continues on the next one.
    assert_eq!(ran.out.lines().filter(|line| line.starts_with('t')).count(), 4, "{}", ran.out);
    let unread = "pfnset: warning: 2 of 4 traces could not be read; the column error of traces says why";
    assert_eq!(ran.err.lines().last(), Some(unread));
    let traces: BTreeMap<String, _> =
        rows(&dataset, "traces").into_iter().map(|(id, row)| (row["trace_file"].clone(), (id, row))).collect();
    assert_eq!(traces.len(), 4);
    for (file, (id, row)) in &traces {
        let broken = file.ends_with("letter.etl") || file.ends_with("none.etl");
        assert_eq!(row.contains_key("error"), broken, "{row:?}");
        assert_eq!(tables(&dataset, id).len(), if broken { 1 } else { 12 - 2 }, "{file}");
        assert_eq!(row.get("digest").is_none(), file.ends_with("none.etl"));
    }
    let error = &traces[&none.display().to_string()].1["error"];
    assert!(error.starts_with("cannot read ") && error.contains("none.etl: "), "{error}");
}

#[test]
fn a_trace_is_replaced_and_others_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path();
    assert_eq!(export(dataset, &[TRACE, "-q", "--tables", "resident,processes"]).code, 0);
    let id = id_of(dataset, TRACE);
    assert!(id.starts_with('t') && id.len() == 21, "{id}");
    assert_eq!(tables(dataset, &id), ["processes", "resident", "traces", "warnings"]);
    let first = files(dataset);
    assert_eq!(export(dataset, &[TRACE, "refset-small.etl", "-q", "--tables", "files"]).code, 0);
    assert_eq!(tables(dataset, &id), ["files", "processes", "resident", "traces", "warnings"]);
    let resident = format!("resident/trace={id}/part-0.parquet");
    assert_eq!(files(dataset)[&resident], first[&resident]);
    // Another form: nothing of the old one is left, and what would be gone must be asked for too.
    let before = files(dataset);
    let refused = |flags: &[&str], says: &str| {
        let ran = export(dataset, &[&[TRACE, "-q", "--tables"], flags].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
        assert_eq!(files(dataset), before, "{flags:?}");
    };
    refused(&["files,ranges", "--format", "csv"], "holds traces in the form parquet");
    refused(&["cpu", "--snapshot", "all"], "resident, processes, files of resident-small.etl in");
    refused(&["files", "--ansi-codepage", "1251"], "they were written by the code page windows-1252");
    assert_eq!(export(dataset, &[TRACE, "refset-small.etl", "-q", "--format", "csv"]).code, 0);
    assert!(tables(dataset, &id).contains(&"ranges".to_owned()));
    assert!(files(dataset).keys().filter(|name| name.contains(&id)).all(|name| name.ends_with("/part-0.csv")));
    // Another version: the same.
    let state = dataset.join(".pfnset").join("traces").join(format!("{id}.json"));
    let changed = fs::read_to_string(&state).unwrap().replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    fs::write(&state, changed).unwrap();
    let ran = export(dataset, &[TRACE, "-q", "--tables", "processes", "--format", "csv"]);
    assert!(ran.code == 2 && ran.err.contains("they were written by pfnset 0.0.1"), "{}", ran.err);
    assert_eq!(export(dataset, &[TRACE, "-q", "--format", "csv"]).code, 0);
}

/// Nothing was said of a table that the trace cannot have.
#[test]
fn a_table_that_a_trace_cannot_have_is_told_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path();
    assert_eq!(export(dataset, &[TRACE, "-q"]).code, 0);
    let before = files(dataset);
    let ran = export(dataset, &[TRACE, "--tables", "cpu"]);
    assert!(ran.code == 0 && ran.out.contains("; not cpu, for which it has no events"), "{}", ran.out);
    let resident = format!("resident/trace={}/part-0.parquet", id_of(dataset, TRACE));
    assert_eq!(files(dataset)[&resident], before[&resident]);
    let ran = export(dataset, &[TRACE, "--tables", "refset,resident"]);
    assert!(ran.out.contains("; not refset, for which it has no events"), "{}", ran.out);
}

#[test]
fn resume_passes_over_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path();
    let resumed = |more: &[&str]| {
        let ran = export(dataset, &[&[TRACE, "--resume"], more].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran.out.contains("there already")
    };
    assert!(!resumed(&["--tables", "resident"]));
    assert!(resumed(&["--tables", "resident"]) && resumed(&["--tables", "traces"]));
    assert!(!resumed(&["--tables", "resident,files"]), "a table is missing");
    assert!(resumed(&["--tables", "files"]) && resumed(&["--tables", "resident"]));
    fs::remove_file(dataset.join("files").join(format!("trace={}", id_of(dataset, TRACE))).join("part-0.parquet"))
        .unwrap();
    assert!(!resumed(&["--tables", "resident"]), "a file is missing");
    let part = dataset.join("resident").join(format!("trace={}", id_of(dataset, TRACE))).join("part-0.parquet");
    let whole = fs::read(&part).unwrap();
    for cut in [0, 500] {
        fs::write(&part, &whole[..cut]).unwrap();
        assert!(!resumed(&["--tables", "resident"]), "a file of {cut} bytes");
        assert!(resumed(&["--tables", "resident"]));
    }
    assert!(!resumed(&["--tables", "resident", "--format", "csv"]), "another form");
    assert!(!resumed(&["--tables", "resident", "--ansi-codepage", "1251"]), "another code page");
    assert!(!resumed(&["--tables", "resident", "--machine-names"]), "names instead of pseudonyms");
    // A table that the trace cannot have is not missing; a broken trace is told again.
    assert!(!resumed(&[]) && resumed(&[]));
    let letter = folder.path().join("letter.etl");
    fs::write(&letter, "no trace").unwrap();
    for _ in 0..2 {
        let ran = export(dataset, &[letter.to_str().unwrap(), "--resume"]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.err.contains("1 of 1 trace could not be read"), "{}", ran.err);
    }
}

/// A job that was red at night was green when it was repeated, with the same numbers.
#[test]
fn resume_says_again_what_makes_numbers_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let trace = fixtures().join("refset-small.etl");
    let strict = |more: &[&str]| {
        let ran = export(folder.path(), &[&[trace.to_str().unwrap(), "--strict"], more].concat());
        (ran.code, ran.err, ran.out.contains("there already"))
    };
    let (first, again) = (strict(&[]), strict(&["--resume"]));
    assert!(first.0 == 3 && first.1.contains("warning: "), "{first:?}");
    assert_eq!((again.0, &again.1, first.2, again.2), (3, &first.1, false, true));
}

#[test]
fn machines_have_pseudonyms_unless_names_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("machine.etl");
    let spec = ResidentSpec { pages: 100, computer: Some("HOST-7".into()), ..ResidentSpec::small() };
    generate_resident(&spec, File::create(&trace).unwrap()).unwrap();
    let dataset = folder.path().join("dataset");
    let machine = |more: &[&str]| {
        let arguments = [&[trace.to_str().unwrap(), "-q", "--tables", "traces"], more].concat();
        assert_eq!(export(&dataset, &arguments).code, 0);
        rows(&dataset, "traces")[0].1["machine"].clone()
    };
    let pseudonym = machine(&[]);
    assert!(pseudonym.len() == 13 && pseudonym.starts_with('m'), "{pseudonym}");
    assert_eq!(machine(&["--machine-names"]), "HOST-7");
    assert_eq!(pseudonym, machine(&[]));
}

/// A file may not grow beyond 4 KiB, as on a disk that is nearly full.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_leaves_no_part() {
    if skipped_on_windows("a_full_disk_is_an_error_and_leaves_no_part", "limits of file sizes are those of Unix") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("dataset");
    let script = r#"trap '' XFSZ; ulimit -f 8; exec "$@""#;
    let full = |more: &[&str]| {
        let mut command = assert_cmd::Command::new("sh");
        let arguments = ["-c", script, "sh", env!("CARGO_BIN_EXE_pfnset"), "export", TRACE, "--out"];
        command.current_dir(fixtures()).args(arguments).arg(&dataset).args(more);
        let ran = finish(&mut command);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.starts_with("pfnset: cannot write ") && ran.err.lines().count() == 1, "{}", ran.err);
        assert!(ran.err.contains(dataset.to_str().unwrap()) && ran.err.contains("too large"), "{}", ran.err);
    };
    for form in ["parquet", "arrow", "csv"] {
        full(&["--pages", "--format", form]);
        assert_eq!(files(&dataset), BTreeMap::new());
    }
    assert_eq!(export(&dataset, &[TRACE, "-q"]).code, 0);
    let before = files(&dataset);
    full(&["--pages"]);
    assert_eq!(files(&dataset), before);
}

#[test]
fn standard_input_is_a_trace_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let (piped, named) = (folder.path().join("piped"), folder.path().join("named"));
    let pipe = |bytes: Vec<u8>, more: &[&str]| {
        let mut command = pfnset(&["export", "-", "--out", piped.to_str().unwrap()]);
        finish(command.args(more).write_stdin(bytes))
    };
    let trace = fs::read(fixtures().join(TRACE)).unwrap();
    assert_eq!(pipe(trace.clone(), &[]).code, 0);
    assert_eq!(export(&named, &[TRACE, "-q"]).code, 0);
    let without_traces = |dataset: &Path| -> BTreeMap<String, Vec<u8>> {
        files(dataset).into_iter().filter(|(name, _)| !name.starts_with("traces/")).collect()
    };
    assert!(without_traces(&piped).keys().eq(without_traces(&named).keys()), "one name, and the same tables");
    let [(id, row)] = &rows(&piped, "traces")[..] else { panic!("one trace") };
    let [(same_id, same)] = &rows(&named, "traces")[..] else { panic!("one trace") };
    assert_eq!((id, &row["digest"], &row["records"]), (same_id, &same["digest"], &same["records"]));
    assert_eq!((row["trace_file"].as_str(), &row["file_bytes"]), ("-", &same["file_bytes"]));
    let ran = pipe(trace, &["--resume"]);
    assert!(ran.code == 0 && ran.out.contains("there already"), "{ran:?}");
    let ran = pipe(b"Hello, this is no trace".to_vec(), &[]);
    assert!(ran.code == 3 && rows(&piped, "traces").len() == 2, "{ran:?}");
}

#[test]
fn the_same_trace_by_two_names_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let (twin, dataset) = (folder.path().join("twin.etl"), folder.path().join("dataset"));
    fs::copy(fixtures().join(TRACE), &twin).unwrap();
    let ran = export(&dataset, &[TRACE, twin.to_str().unwrap(), "--tables", "files"]);
    // Both were exported, and the last one to end gave the row its name.
    assert!(ran.code == 0 && ran.err.ends_with(&format!("twin.etl is a copy of {TRACE}: it counts once\n")), "{ran:?}");
    let [(_, row)] = &rows(&dataset, "traces")[..] else { panic!("one trace") };
    assert_eq!(row["trace_file"], TRACE);
}

/// The row with the error stayed beside that of the good file for ever.
#[test]
fn a_trace_that_can_be_read_again_takes_the_place_of_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, dataset) = (folder.path().join("trace.etl"), folder.path().join("dataset"));
    let trace_of = |bytes: &[u8]| {
        fs::write(&trace, bytes).unwrap();
        let ran = export(&dataset, &[trace.to_str().unwrap(), "--tables", "files", "-q"]);
        (ran.code, rows(&dataset, "traces").into_iter().map(|(_, row)| !row.contains_key("error")).collect::<Vec<_>>())
    };
    let whole = fs::read(fixtures().join(TRACE)).unwrap();
    assert_eq!(trace_of(&whole[..100]), (3, vec![false]));
    assert_eq!(trace_of(&whole[..200]), (3, vec![false]), "another error in its place");
    let other = folder.path().join("other.etl");
    fs::write(&other, "no trace").unwrap();
    assert_eq!(export(&dataset, &[other.to_str().unwrap(), "-q"]).code, 3);
    let (code, mut are_read) = trace_of(&whole);
    are_read.sort_unstable();
    assert_eq!((code, are_read), (0, vec![false, true]), "that of the other file stays");
}

#[test]
fn wrong_usage_is_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("dataset");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for (ran, says) in [
        (export(&dataset, &["-", TRACE, "--with", "-"]), "only one of the files can be standard input"),
        (export(&dataset, &[TRACE, "--tables", "pages,page"]), "unknown table \"page\"; there are pages, resident"),
        (export(&file.join("below"), &[TRACE]), "cannot write"),
        (run(&["export", TRACE]), "--out"),
    ] {
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(says), "{}", ran.err);
    }
    let none = export(&dataset, &[folder.path().to_str().unwrap()]);
    assert!(none.code == 3 && none.err.contains("the folder holds no trace"), "{none:?}");
    assert!(!dataset.join("traces").exists());
}

/// Half of the traces in each form: queries saw one half, and nothing said so.
#[test]
fn a_dataset_has_one_form() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path();
    let of = |trace: &str, more: &[&str]| export(dataset, &[&[trace, "--tables", "files"], more].concat());
    assert_eq!(of(TRACE, &[]).code, 0);
    let before = files(dataset);
    for more in [&["--format", "csv"][..], &["--format", "arrow", "--resume"]] {
        let ran = of("refset-small.etl", more);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("holds traces in the form parquet (such as t"), "{ran:?}");
        assert!(ran.err.contains("export in this form too, or all traces again, or into another folder"), "{ran:?}");
    }
    let letter = dataset.join("letter.etl");
    fs::write(&letter, "no trace").unwrap();
    assert_eq!(of(letter.to_str().unwrap(), &["--format", "csv"]).code, 2);
    fs::remove_file(letter).unwrap();
    assert_eq!(files(dataset), before);
    assert_eq!(of("refset-small.etl", &[]).code, 0);
    assert_eq!(of(TRACE, &["--format", "csv"]).code, 2, "one of two");
    assert_eq!(of(TRACE, &["refset-small.etl", "--format", "csv"]).code, 0, "both");
}

/// The row kept the path where the trace had been before.
#[test]
fn resume_sees_another_path() {
    let folder = tempfile::tempdir().unwrap();
    let (twin, dataset) = (folder.path().join("twin.etl"), folder.path().join("dataset"));
    fs::copy(fixtures().join(TRACE), &twin).unwrap();
    let resumed = |trace: &str| {
        let ran = export(&dataset, &[trace, "--tables", "files", "--resume"]);
        let [(_, row)] = &rows(&dataset, "traces")[..] else { panic!("one trace") };
        (ran.out.contains("there already"), row["trace_file"].clone())
    };
    let twin = twin.to_str().unwrap();
    assert_eq!(resumed(TRACE), (false, TRACE.to_owned()));
    assert_eq!(resumed(twin), (false, twin.to_owned()));
    assert_eq!(resumed(twin), (true, twin.to_owned()));
}

/// The name of a recording followed the order of its files where one came by standard input.
#[test]
fn a_pair_with_standard_input_has_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let [kernel, user] = crate::recording::split(folder.path(), |n| n == 7);
    let [kernel, user] = [kernel, user].map(|path| path.to_str().unwrap().to_owned());
    let id = |stream: Option<&str>, first: &str, other: &str| {
        let dataset = tempfile::tempdir().unwrap();
        let out = dataset.path().to_str().unwrap();
        let mut command = pfnset(&["export", first, "--with", other, "--tables", "files", "-q", "--out", out]);
        let ran = finish(command.write_stdin(stream.map_or_else(Vec::new, |path| fs::read(path).unwrap())));
        assert_eq!(ran.code, 0, "{ran:?}");
        let [(id, row)] = &rows(dataset.path(), "traces")[..] else { panic!("one trace") };
        (id.clone(), row["digest"].clone())
    };
    let named = id(None, &kernel, &user);
    for (stream, first, other) in
        [(&kernel, "-", &*user), (&kernel, &user, "-"), (&user, "-", &kernel), (&user, &kernel, "-")]
    {
        assert_eq!(id(Some(stream), first, other), named, "{first} {other}");
    }
}
