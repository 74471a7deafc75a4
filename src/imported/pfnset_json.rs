//! JSON that pfnset wrote: `pfnset.resident` and `pfnset.refset`, of any grouping.

use crate::dimensions::single_dimensions::{IMPACT, RELEASE_REASON};
use crate::imported::file_kind::EXPECTED;
use crate::imported::pfnset_table::{CountedBy, PfnsetForm, PfnsetRow, PfnsetSnapshot, PfnsetTable};
use crate::imported::selection::{Chosen, ChosenBy, Selection};
use crate::imported::wpa::columns::ExportedTable;
use serde_json::Value;

/// The key of the keywords that a trace was recorded without.
const MISSING_KEYWORDS: &str = "missing_keywords";

/// Version of the two schemas that is read.
const VERSION: u64 = 1;

/// Reads a document.
///
/// # Errors
/// A text that says why it is none of these.
pub(super) fn read(text: &str) -> Result<PfnsetTable, String> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(first) = documents.next() else { return Err(format!("{EXPECTED}, and it is empty")) };
    let document = first.map_err(|error| {
        let start: String = text.trim_start().chars().take(24).collect();
        format!(
            "{EXPECTED}; it begins as JSON, \"{}\", but is not valid: {error}",
            start.lines().next().unwrap_or_default()
        )
    })?;
    if documents.next().is_some() {
        return Err("it holds several JSON values, as in JSON lines; write it as one JSON object".into());
    }
    let schema = document.get("schema").and_then(Value::as_str).unwrap_or_default();
    let table = match schema {
        "pfnset.resident" => ExportedTable::Resident,
        "pfnset.refset" => ExportedTable::Reference,
        "" => return Err("it is JSON of another program: it has no key \"schema\" as pfnset writes it".into()),
        other => return Err(format!("it is {other}; expected pfnset.resident or pfnset.refset")),
    };
    let version = document.get("version").and_then(Value::as_u64).unwrap_or(0);
    if version != VERSION {
        return Err(format!("it is version {version} of {schema}; this program reads version {VERSION}"));
    }
    let texts = |key: &str| -> Vec<String> {
        let list = document.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let dimensions = texts("group_by");
    let counted_by = match document.get("classification").and_then(Value::as_str) {
        Some("wpa") => CountedBy::Wpa,
        Some("both") if dimensions.iter().any(|dimension| dimension == "category") => CountedBy::Both,
        _ => CountedBy::Corrected,
    };
    let snapshots = match table {
        ExportedTable::Resident => {
            let list = document.get("snapshots").and_then(Value::as_array).into_iter().flatten();
            list.map(|snapshot| snapshot_of(snapshot, &dimensions)).collect::<Result<Vec<_>, _>>()?
        }
        ExportedTable::Reference => vec![snapshot_of(&document, &dimensions)?],
    };
    if snapshots.is_empty() {
        return Err(format!("it is {schema} without a snapshot"));
    }
    let selection = Selection {
        chosen: chosen(&document, &dimensions, &snapshots)?,
        window: window(&document),
        grave: document
            .get("doubts")
            .and_then(Value::as_array)
            .map(|doubts| doubts.iter().filter_map(|doubt| Some(doubt.get("text")?.as_str()?.to_owned())).collect()),
        missing_keywords: document.get(MISSING_KEYWORDS).map(|_| texts(MISSING_KEYWORDS)),
    };
    let warnings = texts("warnings");
    Ok(PfnsetTable { form: PfnsetForm::Json, table, counted_by, dimensions, snapshots, warnings, selection })
}

/// What chose the rows: the file names it, or, of a program of before, its sums tell that something did.
fn chosen(document: &Value, dimensions: &[String], snapshots: &[PfnsetSnapshot]) -> Result<Chosen, String> {
    if let Some(conditions) = document.get("where") {
        let text = |condition: &Value, key: &str| condition.get(key).and_then(Value::as_str).map(str::to_owned);
        let condition =
            |value: &Value| Some(ChosenBy { dimension: text(value, "dimension")?, patterns: text(value, "patterns")? });
        let conditions: Option<Vec<ChosenBy>> =
            conditions.as_array().and_then(|conditions| conditions.iter().map(condition).collect());
        return conditions.map(Chosen::By).ok_or_else(|| "its \"where\" is no list of conditions".to_owned());
    }
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_i64);
    let list = document.get("snapshots").and_then(Value::as_array).into_iter().flatten();
    let mut selected = list.filter_map(|one| Some((number(one, "selected_pages")?, number(one, "pages")?)));
    let counts_ended = dimensions.iter().any(|name| [RELEASE_REASON.name, IMPACT.name].contains(&name.as_str()));
    let sum = || snapshots.iter().flat_map(|one| &one.rows).fold(0i64, |sum, row| sum.saturating_add(row.pages));
    let held = number(document, "held_at_stop").filter(|_| !counts_ended);
    let is_part = selected.any(|(selected, all)| selected != all) || held.is_some_and(|held| held != sum());
    Ok(if is_part { Chosen::NotNamed } else { Chosen::NotSaid })
}

/// The window of a reference set, where a user chose it.
fn window(document: &Value) -> Option<(f64, f64)> {
    let window = document.get("window")?;
    let is_users = window.get("origin").and_then(Value::as_str) == Some("user");
    let seconds = |key: &str| window.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    is_users.then(|| (seconds("start_s"), seconds("stop_s")))
}

fn snapshot_of(value: &Value, dimensions: &[String]) -> Result<PfnsetSnapshot, String> {
    let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
    let rows = value.get("rows").and_then(Value::as_array).ok_or("its rows are missing")?;
    let row = |(number, row): (usize, &Value)| {
        let missing = |key: &str| format!("row {} has no {key}", number + 1);
        let pages = row.get("pages").and_then(Value::as_i64).ok_or_else(|| missing("pages"))?;
        let labels =
            dimensions.iter().map(|dimension| row.get(dimension).and_then(label).ok_or_else(|| missing(dimension)));
        let pages_wpa = row.get("pages_wpa").and_then(Value::as_i64).unwrap_or(pages);
        Ok(PfnsetRow { labels: labels.collect::<Result<_, String>>()?, pages, pages_wpa })
    };
    let rows = rows.iter().enumerate().map(row).collect::<Result<Vec<_>, String>>()?;
    Ok(PfnsetSnapshot { index, is_last: value.get("is_last").and_then(Value::as_bool), rows })
}

fn label(value: &Value) -> Option<Box<str>> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read() {
        let text = r#"{"schema":"pfnset.resident","version":1,"classification":"both","group_by":["category","priority"],
            "warnings":["x"],"snapshots":[{"index":1,"rows":[{"category":"Image","priority":5,"pages":3,"pages_wpa":4}]}]}"#;
        let table = read(text).unwrap();
        assert_eq!((table.counted_by, table.snapshots[0].index), (CountedBy::Both, 1));
        let row = |by_wpa| table.rows(&table.snapshots[0], by_wpa).remove(0);
        assert_eq!((row(false).amount.pages(), row(true).amount.pages()), (3, 4));
        assert_eq!(row(true).labels, ["Image".into(), "5".into()]);
        let refset =
            r#"{"schema":"pfnset.refset","version":1,"group_by":["process"],"rows":[{"process":"a","pages":-1}]}"#;
        assert_eq!(read(refset).unwrap().rows(&read(refset).unwrap().snapshots[0], false)[0].amount.pages(), -1);
    }

    #[test]
    fn what_chose_the_rows_is_read_or_told_by_sums() {
        let of = |more: &str, held: i64| {
            let text = format!(
                r#"{{"schema":"pfnset.refset","version":1,"group_by":["process"],"held_at_stop":{held}{more},
                "rows":[{{"process":"a","pages":3}}]}}"#
            );
            read(&text).map(|table| table.selection)
        };
        assert_eq!(of("", 3).unwrap().chosen, Chosen::NotSaid);
        assert_eq!(of("", 4).unwrap().chosen, Chosen::NotNamed);
        let named =
            of(r#","where":[{"dimension":"process","patterns":"a*"}],"doubts":[{"code":"x","text":"y"}]"#, 4).unwrap();
        assert!(named.is_by("process", "A*") && named.grave == Some(vec!["y".to_owned()]), "{named:?}");
        assert_eq!(of(r#","where":[]"#, 4).unwrap().chosen, Chosen::By(Vec::new()));
        assert!(of(r#","where":[{"dimension":"process"}]"#, 4).unwrap_err().contains("no list of conditions"));
        let window = r#","window":{"start_s":1.5,"stop_s":2.5,"origin":"user"}"#;
        assert_eq!(of(window, 3).unwrap().window, Some((1.5, 2.5)));
        assert_eq!(of(&window.replace("user", "marks"), 3).unwrap().window, None);
    }

    #[test]
    fn what_is_something_else_is_told() {
        for (text, says) in [
            ("{", "is not valid: EOF"),
            ("{}", "another program"),
            (r#"{"schema":"pfnset.info","version":1}"#, "it is pfnset.info; expected pfnset.resident"),
            (r#"{"schema":"pfnset.refset","version":7}"#, "version 7"),
            (r#"{"schema":"pfnset.resident","version":1,"snapshots":[]}"#, "without a snapshot"),
            (r#"{"schema":"pfnset.refset","version":1,"group_by":["list"],"rows":[{"pages":1}]}"#, "row 1 has no list"),
            ("{\"a\":1}\n{\"a\":2}", "as in JSON lines"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
