//! The table `events`: against the rows of `pfnset events --rows` of the same trace.

use super::{Row, parts, rows};
use crate::program::{Ran, out, run};
use crate::random_cases::one_in;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn export(dataset: &Path, trace: &str, more: &[&str]) -> Ran {
    run(&[&["export", trace, "--out", dataset.to_str().unwrap(), "--tables", "processes"], more].concat())
}

/// A row of JSON as cells of the table; values of fields as JSON.
fn expected(row: &Value) -> (Row, Option<BTreeMap<String, Value>>) {
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join("+")),
        other => Some(other.to_string()),
    };
    let names = ["processor", "process", "pid", "thread", "provider", "provider_guid", "event", "id", "version"];
    let names = names.into_iter().chain(["opcode", "schema", "missing"]);
    let cells = names.filter_map(|name| Some((name.to_owned(), text(row.get(name)?)?))).collect();
    let fields = row["fields"].as_object().map(|fields| fields.iter().map(|(n, v)| (n.clone(), v.clone())).collect());
    (cells, fields)
}

/// True where a text of the table is this value of JSON: a text as it is, all else as its JSON.
fn is_value(text: Option<&String>, value: &Value) -> bool {
    match (text, value) {
        (None, Value::Null) => true,
        (Some(text), Value::String(value)) => text == value,
        (Some(text), value) => serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value),
        (None, _) => false,
    }
}

/// Compares all rows, in their order; returns how many there are.
fn check(dataset: &Path, trace: &str, names: &str) -> usize {
    let listed = out(&["events", trace, "--rows", "-q", "--format", "jsonl", "--name", names]);
    let mut listed = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let processes: BTreeMap<String, String> = rows(dataset, "processes")
        .into_iter()
        .map(|(_, mut row)| (row.remove("instance").unwrap(), row.remove("process").unwrap()))
        .collect();
    let found = rows(dataset, "events");
    for (number, (_, row)) in found.iter().enumerate() {
        let mut row = row.clone();
        let json = listed.next().unwrap_or_else(|| panic!("{trace} has {number} rows"));
        let (cells, fields) = expected(&json);
        let time: f64 = row.remove("time_s").unwrap().parse().unwrap();
        assert!(Some(time) == json["time_s"].as_f64(), "{trace} {number}: {time} {json}");
        if let Some(instance) = row.remove("instance") {
            assert_eq!(processes[&instance], cells["process"], "{trace} {number}");
        }
        let map = row.remove("fields").map(|text| {
            let pairs: Vec<(String, Option<String>)> = serde_json::from_str(&text).unwrap();
            let map: BTreeMap<String, Option<String>> = pairs.iter().cloned().collect();
            assert_eq!(map.len(), pairs.len(), "engines refuse maps in which a name is twice: {json}");
            map
        });
        assert_eq!(row, cells, "{trace} {number}");
        assert_eq!(map.is_some(), fields.is_some(), "{trace} {number}: {json}");
        for (name, value) in fields.iter().flatten() {
            let text = &map.as_ref().unwrap()[name];
            assert!(is_value(text.as_ref(), value), "{trace} {number}: {name}: {text:?} {value}");
        }
        assert_eq!(map.map(|map| map.len()), fields.map(|fields| fields.len()), "{trace} {number}: {json}");
    }
    assert_eq!(listed.count(), 0, "{trace} has more rows");
    found.len()
}

#[test]
fn rows_are_those_of_events_in_their_order() {
    for trace in one_in(2, vec!["faults-x86.etl", "stacks-keys.etl", "alloc-x86.etl", "cpu-compressed.etl"]) {
        let folder = tempfile::tempdir().unwrap();
        let ran = export(folder.path(), trace, &["--events", "*", "-q"]);
        assert_eq!((ran.code, crate::program::beside_losses(&ran.err).as_str()), (0, ""), "{trace}");
        assert!(check(folder.path(), trace, "*") > 1000, "{trace}");
    }
    // Every record of every schema.
    for trace in one_in(5, recorded()) {
        let folder = tempfile::tempdir().unwrap();
        export(folder.path(), trace.to_str().unwrap(), &["--events", "*", "-q"]);
        check(folder.path(), trace.to_str().unwrap(), "*");
    }
}

/// Some recorded traces, of a few megabytes together.
fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/real");
    let mut traces: Vec<(u64, PathBuf)> = parts_of(&folder);
    traces.sort();
    if traces.is_empty() {
        println!("SKIPPED: events of recorded traces, no {}", folder.display());
    }
    let mut room = 6_000_000_u64;
    let has_room = |(bytes, _): &(u64, PathBuf)| {
        room = room.saturating_sub(*bytes);
        room > 0
    };
    traces.into_iter().take_while(has_room).map(|(_, path)| path).collect()
}

fn parts_of(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "etl"));
    paths.map(|path| (fs::metadata(&path).unwrap().len(), path)).collect()
}

#[test]
fn names_choose_and_are_a_part_of_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path();
    let resumed = |more: &[&str]| {
        let ran = export(dataset, "faults-x86.etl", &[&["--resume"], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out.contains("there already")
    };
    assert!(!resumed(&["--events", "DiskRead"]) && resumed(&["--events", "DiskRead"]));
    // 257 of two versions, by the name of xperf.
    assert_eq!(check(dataset, "faults-x86.etl", "DiskRead"), 257);
    assert!(resumed(&[]), "the table stays");
    assert!(!resumed(&["--events", "DiskRead;Image: Load"]), "other events");
    assert!(resumed(&["--events", "DiskRead", "--events", "Image: Load"]), "the same in two flags");
    assert_eq!(check(dataset, "faults-x86.etl", "DiskRead;Image: Load"), 298);
    assert!(!resumed(&["--tables", "files", "--events", "Image: Load"]));
    assert_eq!(check(dataset, "faults-x86.etl", "Image: Load"), 41);

    let ran = export(dataset, "faults-x86.etl", &["--events", "Image: Load;DiskReed"]);
    assert!(ran.code == 0 && ran.err.contains("--events \"DiskReed\" matches nothing"), "{ran:?}");
    for more in [&["--tables", "events"][..], &["--events", " ; "]] {
        let ran = export(dataset, "faults-x86.etl", more);
        assert!(ran.code == 2 && ran.err.contains("--events NAME"), "{ran:?}");
    }
    let none = folder.path().join("none");
    export(&none, "faults-x86.etl", &["-q"]);
    assert!(!none.join("events").exists());
    export(&none, "faults-x86.etl", &["-q", "--events", "Nothing"]);
    assert_eq!((parts(&none.join("events")).len(), rows(&none, "events").len()), (1, 0));
}

#[test]
fn all_forms_and_numbers_of_threads_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, more) in [
        ("one", &["-j", "1"][..]),
        ("four", &["-j", "4"]),
        ("csv", &["--format", "csv"]),
        ("arrow", &["--format", "arrow"]),
    ] {
        assert_eq!(export(&at(name), "stacks-keys.etl", &[&["--events", "*", "-q"], more].concat()).code, 0);
    }
    let file = |name: &str| parts(&at(name).join("events")).pop_first().unwrap();
    assert!(fs::read(file("one")).unwrap() == fs::read(file("four")).unwrap());
    let json = |row: &Row| {
        let pairs: Vec<(String, Option<String>)> = serde_json::from_str(row.get("fields")?).unwrap();
        Some(pairs.into_iter().map(|(name, value)| (name, value.into())).collect::<serde_json::Map<String, Value>>())
    };
    let expected: Vec<_> = rows(&at("one"), "events").iter().map(|(_, row)| json(row)).collect();
    let mut csv = csv::Reader::from_path(file("csv")).unwrap();
    let place = csv.headers().unwrap().iter().position(|name| name == "fields").unwrap();
    let from_csv = csv.records().map(|record| {
        let cell = record.unwrap()[place].to_owned();
        (!cell.is_empty()).then(|| serde_json::from_str::<serde_json::Map<String, Value>>(&cell).unwrap())
    });
    assert!(from_csv.eq(expected.iter().cloned()));
    let arrow = arrow_ipc::reader::FileReader::try_new(fs::File::open(file("arrow")).unwrap(), None).unwrap();
    let arrow: usize = arrow.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(arrow, expected.len());
}
