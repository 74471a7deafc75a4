//! The columns: against `docs/export.md` in both directions, against the files, and pinned.

use super::{batches, parts};
use crate::program::out;
use pfnset::analysis::export::schema::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// Name, type and nullability of each column as the page lists them, by table.
fn documented() -> BTreeMap<String, Vec<[String; 3]>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join("export.md");
    let page = std::fs::read_to_string(page).expect("docs/export.md");
    let mut tables = BTreeMap::new();
    for section in page.split("\n### `").skip(1) {
        let name = section.split('`').next().unwrap_or_default().to_owned();
        // Other tables of the page list other things.
        let (_, table) = section.split_once("| column |").expect("a table of columns");
        let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
        let columns = rows.map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, kind, _, meaning, null] = cells[..] else { panic!("five cells: {line}") };
            assert!(!meaning.is_empty() && !null.is_empty(), "{line}");
            [name.trim_matches('`').to_owned(), kind.to_owned(), (null != "never").to_string()]
        });
        tables.insert(name, columns.collect());
    }
    tables
}

/// The same of a schema in Arrow.
fn columns(schema: &arrow_schema::Schema) -> Vec<[String; 3]> {
    let kind = |kind: &arrow_schema::DataType| match kind {
        arrow_schema::DataType::Dictionary(..) => "dictionary<int32, utf8>".to_owned(),
        arrow_schema::DataType::Timestamp(..) => "timestamp[us, UTC]".to_owned(),
        arrow_schema::DataType::Boolean => "bool".to_owned(),
        arrow_schema::DataType::Map(..) => "map<utf8, utf8>".to_owned(),
        arrow_schema::DataType::List(_) => "list<utf8>".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    let fields = schema.fields().iter();
    fields.map(|field| [field.name().clone(), kind(field.data_type()), field.is_nullable().to_string()]).collect()
}

#[test]
fn every_column_is_documented_and_every_documented_column_is_written() {
    let page = documented();
    let tables: BTreeMap<String, Vec<[String; 3]>> =
        Table::ALL.into_iter().map(|table| (table.name().to_owned(), columns(&table.schema()))).collect();
    assert_eq!(page, tables);
}

#[test]
fn files_have_the_schema_and_every_column_has_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let traces = [
        "resident-small.etl",
        "refset-proved.etl",
        "refset-small.etl",
        "cpu-compressed.etl",
        "alloc-x86.etl",
        "stacks-keys.etl",
    ];
    let dataset = folder.path().to_str().unwrap();
    out(&[&["export"][..], &traces, &["--out", dataset, "--pages", "--pieces", "--stacks", "--events", "*", "-q"]]
        .concat());
    let mut text = String::new();
    for table in Table::ALL {
        let files = parts(&folder.path().join(table.name()));
        assert_eq!(files.len(), if table.is_of_processors() { 2 } else { traces.len() }, "{}", table.name());
        let mut known = vec![false; columns(&table.schema()).len()];
        for batch in files.iter().flat_map(|path| batches(path)) {
            assert_eq!(columns(&batch.schema()), columns(&table.schema()), "{}", table.name());
            let has_values = batch.columns().iter().map(|column| column.null_count() < column.len());
            known.iter_mut().zip(has_values).for_each(|(known, has_values)| *known |= has_values);
        }
        text += &format!("{}\n", table.name());
        for ([name, kind, nullable], known) in columns(&table.schema()).into_iter().zip(known) {
            // Values of these are in no fixture.
            let rare = [
                "error",
                "machine",
                "os_text",
                "warnings",
                "exit_status",
                "services",
                "module",
                "keys",
                "extension",
                "missing",
            ];
            assert!(known || rare.contains(&name.as_str()), "{}.{name} is null in each row", table.name());
            text += &format!("  {name}: {kind}{}\n", if nullable == "true" { ", null" } else { "" });
        }
    }
    insta::assert_snapshot!("export_schema", text);
}
