//! The table `allocations` has the rows and figures of `pfnset allocations`.

use super::{Row, rows};
use crate::program::out;
use serde_json::Value;

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
    }
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}
