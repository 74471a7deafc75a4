//! The table `allocations` has the rows and figures of `pfnset allocations`.

use super::{Row, id_of, rows};
use crate::program::out;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Rows by names of columns, as the JSON of the command has them.
fn told(kind: &str, group_by: &str) -> Vec<Row> {
    let json = out(&["allocations", "alloc-x86.etl", "--of", kind, "--group-by", group_by, "--format", "json", "-q"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let names = [
        ("tag", "tag"),
        ("pool", "pool"),
        ("process", "process"),
        ("start_bytes", "at_start_bytes"),
        ("start_count", "at_start_count"),
        ("allocated_bytes", "allocated_bytes"),
        ("allocated_count", "allocated_count"),
        ("freed_bytes", "freed_bytes"),
        ("freed_count", "freed_count"),
        ("end_bytes", "at_end_bytes"),
        ("end_count", "at_end_count"),
        ("impacting_bytes", "impacting_bytes"),
        ("impacting_count", "impacting_count"),
        ("doubtful_bytes", "doubtful_bytes"),
        ("peak_bytes", "peak_bytes"),
        ("peak_s", "peak_time_s"),
    ];
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => (text != "n/a").then(|| text.clone()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(|number| number.to_string()),
        Value::Number(number) => Some(number.to_string()),
        other => panic!("{other}"),
    };
    let row = |row: &Value| {
        let cell = |(column, key): (&str, &str)| Some((column.to_owned(), text(&row[key])?));
        let mut cells: Row = names.into_iter().filter_map(cell).collect();
        let lifetime = &row["lifetime"];
        for (column, key) in [("lifetime_p95_s", "p95_ns"), ("lifetime_max_s", "max_ns")] {
            if lifetime.is_object() {
                cells.insert(column.to_owned(), (lifetime[key].as_u64().unwrap() as f64 / 1e9).to_string());
            }
        }
        // The trace has rundowns of commit, and no snapshot of the pool at its start; of blocks there is no rundown.
        let is_known = match kind {
            "commit" => json["at_start"]["unknown"].is_null(),
            "pool" => !json["at_start"]["snapshot"].is_null(),
            _ => !row["process_start_s"].is_null(),
        };
        cells.insert("is_start_known".to_owned(), is_known.to_string());
        cells.insert("allocation_kind".to_owned(), kind.to_owned());
        cells
    };
    json["rows"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn allocations_are_those_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    out(&["export", "alloc-x86.etl", "--out", dataset, "--tables", "allocations,processes", "-q"]);
    let mut found: Vec<Row> = rows(folder.path(), "allocations").into_iter().map(|(_, row)| row).collect();
    let processes = rows(folder.path(), "processes");
    for row in &mut found {
        // A process with a number is in the table of processes by that number.
        if let Some(instance) = row.remove("instance") {
            let named =
                |(_, other): &&(String, Row)| other["instance"] == instance && other["process"] == row["process"];
            assert!(processes.iter().any(|process| named(&process)), "{row:?}");
        }
        let impacting = row["impacting_count"] != "0";
        assert_eq!(row.remove("oldest_s").is_some(), impacting, "{row:?}");
    }
    let mut expected = [told("commit", "process"), told("pool", "process,tag,pool"), told("heap", "process")].concat();
    found.sort();
    expected.sort();
    for kind in ["commit", "pool", "heap"] {
        assert!(expected.iter().any(|row| row["allocation_kind"] == kind), "{kind}");
        let known = |known| expected.iter().any(|row| row["allocation_kind"] == kind && row["is_start_known"] == known);
        assert_eq!((known("true"), known("false")), (kind != "pool", kind != "commit"), "{kind}");
    }
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

/// Of some processes nobody tells what they had committed; and where the end rundown says otherwise, the dataset says so.
#[test]
fn what_is_not_known_of_commit_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    out(&["export", "stacks-keys.etl", "resident-small.etl", "--out", dataset, "--tables", "allocations", "-q"]);
    let (keys, small) = (id_of(folder.path(), "stacks-keys.etl"), id_of(folder.path(), "resident-small.etl"));
    let commit: Vec<(String, Row)> =
        rows(folder.path(), "allocations").into_iter().filter(|(_, row)| row["allocation_kind"] == "commit").collect();
    let with = |trace: &str, known| {
        commit.iter().filter(|(id, row)| id == trace && row["is_start_known"] == known).count() as u64
    };
    let json = out(&["allocations", "stacks-keys.etl", "--of", "commit", "--format", "json", "-q"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let (born, unknown) = (&json["at_start"]["born"], &json["at_start"]["unknown"]);
    assert_eq!((Some(with(&keys, "true")), Some(with(&keys, "false"))), (born.as_u64(), unknown.as_u64()));
    assert_eq!((with(&small, "true"), with(&small, "false")), (13, 0));
    let warnings = rows(folder.path(), "warnings");
    let (_, differs) = warnings.iter().find(|(_, row)| row["code"] == "differs_from_rundown").expect("a warning");
    assert!(out(&["processes", "resident-small.etl"]).contains(&differs["text"]), "{differs:?}");
}

/// Sums over the pieces are those of the table `allocations`, and each piece is what it says.
#[test]
fn pieces_add_up_to_allocations() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().to_str().unwrap();
    out(&["export", "alloc-x86.etl", "--out", dataset, "--tables", "allocations", "--pieces", "-q"]);
    let named =
        |row: &Row| ["allocation_kind", "process", "instance", "tag", "pool"].map(|name| row.get(name).cloned());
    let number = |row: &Row, name: &str| row[name].parse::<i128>().unwrap();
    type Sums = [i128; 8];
    let mut pieces: BTreeMap<[Option<String>; 5], Sums> = BTreeMap::new();
    let mut met: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut numbers: BTreeMap<String, BTreeSet<i128>> = BTreeMap::new();
    for (_, row) in rows(folder.path(), "allocation_pieces") {
        let sums = pieces.entry(named(&row)).or_default();
        let bytes = number(&row, "bytes");
        let mut add = |at: usize, holds: bool| {
            sums[at] += if holds { bytes } else { 0 };
            sums[at + 1] += i128::from(holds);
        };
        let (is_opened, is_closed) = (row.contains_key("opened_s"), row.contains_key("closed_s"));
        add(0, !is_opened);
        add(2, is_opened);
        add(4, is_closed);
        add(6, !is_closed);
        assert_eq!(is_closed, row.contains_key("closed_by"), "{row:?}");
        if let (Some(opened), Some(closed)) = (row.get("opened_s"), row.get("closed_s")) {
            assert!(opened.parse::<f64>().unwrap() <= closed.parse::<f64>().unwrap(), "{row:?}");
        }
        let kind = row["allocation_kind"].clone();
        assert_eq!(kind == "heap", row.contains_key("heap"), "{row:?}");
        assert_eq!(kind == "commit", row.contains_key("page_size"), "{row:?}");
        assert!(numbers.entry(kind.clone()).or_default().insert(number(&row, "piece")), "{row:?}");
        met.entry(kind).or_default().extend(row.get("closed_by").cloned());
        met.entry("columns".into()).or_default().extend(row.keys().cloned());
    }
    let mut expected: BTreeMap<[Option<String>; 5], Sums> = BTreeMap::new();
    for (_, row) in rows(folder.path(), "allocations") {
        let names = [
            "start_bytes",
            "start_count",
            "allocated_bytes",
            "allocated_count",
            "freed_bytes",
            "freed_count",
            "end_bytes",
            "end_count",
        ];
        expected.insert(named(&row), names.map(|name| number(&row, name)));
    }
    assert_eq!(pieces, expected);
    for (kind, numbers) in numbers {
        let all: BTreeSet<i128> = (0..numbers.len() as i128).collect();
        assert_eq!(numbers, all, "{kind}");
    }
    for (kind, reasons) in [
        ("commit", &["decommit", "release", "process_end"][..]),
        ("pool", &["free"]),
        ("heap", &["free", "realloc", "heap_destroy"]),
        ("columns", &["address", "thread", "session", "heap_source"]),
    ] {
        assert!(reasons.iter().all(|reason| met[kind].contains(*reason)), "{kind}: {met:?}");
    }
}
