//! JSON that pfnset wrote: `pfnset.resident` and `pfnset.refset`, of any grouping.

use crate::dimensions::single_dimensions::{CATEGORY, CATEGORY_WPA, IMPACT, RELEASE_REASON};
use crate::imported::file_kind::EXPECTED;
use crate::imported::pfnset_table::{BY_LIST, CountedBy, PfnsetForm, PfnsetRow, PfnsetSnapshot, PfnsetTable};
use crate::imported::selection::{Chosen, ChosenBy, Selection, ToldOnce};
use crate::imported::wpa::columns::ExportedTable;
use crate::imported::wpa::contradictions::{categories_unknown, is_category};
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::{PAGE_BYTES, count, counted};
use serde_json::Value;
use std::collections::BTreeMap;

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
            list.map(|snapshot| resident_of(snapshot, &dimensions)).collect::<Result<Vec<_>, _>>()?
        }
        ExportedTable::Reference => vec![snapshot_of(&document, &dimensions)?],
    };
    if snapshots.is_empty() {
        return Err(format!("it is {schema} without a snapshot"));
    }
    let selection = Selection {
        chosen: chosen(&document, &dimensions, &snapshots)?,
        window: window(&document),
        span_ns: span_ns(&document),
        grave: told_once(&document, "doubts"),
        notes: told_once(&document, "notes").unwrap_or_default(),
        missing_keywords: document.get(MISSING_KEYWORDS).map(|_| texts(MISSING_KEYWORDS)),
        code_page: document.get("code_page").and_then(Value::as_str).and_then(|page| page.parse().ok()),
    };
    if let (ExportedTable::Reference, Chosen::By(conditions), [all]) = (table, &selection.chosen, snapshots.as_slice())
    {
        let is_whole = conditions.is_empty() && !counts_ended(&dimensions);
        check_total(all, &document, "held_at_stop").filter(|_| is_whole).map_or(Ok(()), Err)?;
    }
    let warnings = texts("warnings");
    let is_whole = selection.chosen == Chosen::By(Vec::new());
    let mut contradictions: Warnings = is_whole.then(|| other_total(&document)).flatten().into_iter().collect();
    contradictions.extend(other_sizes(&document));
    contradictions.extend(unknown_categories(&dimensions, &snapshots));
    let form = PfnsetForm::Json;
    Ok(PfnsetTable {
        form,
        table,
        counted_by,
        dimensions,
        snapshots,
        warnings,
        contradictions,
        selection,
        listing: None,
    })
}

/// That without conditions other pages were counted than the snapshot has.
fn other_total(document: &Value) -> Option<Warning> {
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_i64);
    let mut snapshots = document.get("snapshots")?.as_array()?.iter();
    snapshots.find_map(|snapshot| {
        let (pages, selected) = (number(snapshot, "pages")?, number(snapshot, "selected_pages")?);
        let [pages_shown, selected_shown] = [pages, selected].map(|pages| count(pages.unsigned_abs()));
        let text = format!(
            "a snapshot of the file has {pages_shown} pages, and its rows have {selected_shown}: rows are missing, or were changed"
        );
        (pages != selected).then(|| Warning::grave(OF_TRACE, "total_differs", text))
    })
}

/// Rows whose pages by list do not add up to them.
fn other_sizes(document: &Value) -> Option<Warning> {
    let number = |row: &Value, key: &str| row.get(key).and_then(Value::as_i64).map(i128::from);
    let snapshots = document.get("snapshots")?.as_array()?.iter();
    let rows =
        snapshots.filter_map(|snapshot| snapshot.get("rows")?.as_array()).flat_map(|rows| rows.iter().enumerate());
    let other = |(at, row): (usize, &Value)| {
        let by_list: Option<i128> = BY_LIST.iter().map(|key| number(row, key)).sum();
        let (pages, by_list) = (number(row, "pages")?, by_list?);
        (pages != by_list).then_some((at + 1, pages, by_list))
    };
    let found: Vec<(usize, i128, i128)> = rows.filter_map(other).collect();
    let (at, pages, by_list) = found.first()?;
    let shown = |pages: &i128| count(u64::try_from(*pages).unwrap_or(u64::MAX));
    let [pages, by_list] = [pages, by_list].map(shown);
    let rows = counted(
        found.len() as u64,
        "row of the table has another size than its pages",
        "rows of the table have another size than their pages",
    );
    let text = format!("{rows}: row {at} has pages {pages}, and by its lists {by_list}; the pages are compared");
    Some(Warning::grave(OF_TRACE, "sizes_differ", text).of(found.len() as u64))
}

/// The labels of rows that stand for a category and are none.
fn unknown_categories(dimensions: &[String], snapshots: &[PfnsetSnapshot]) -> Option<Warning> {
    let own = [CATEGORY.name, CATEGORY_WPA.name];
    let places =
        (0..dimensions.len()).filter(|at| dimensions.get(*at).is_some_and(|name| own.contains(&name.as_str())));
    let rows = || snapshots.iter().flat_map(|snapshot| snapshot.rows.iter().enumerate());
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for at in places {
        for (number, label) in rows().filter_map(|(number, row)| Some((number, &**row.labels.get(at)?))) {
            if !is_category(label) {
                found.entry(label).or_insert(number + 1);
            }
        }
    }
    let found: Vec<String> = found.iter().map(|(label, number)| format!("\"{label}\" (row {number})")).collect();
    categories_unknown(&found)
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
    let sum = || snapshots.iter().fold(0i64, |all, one| all.saturating_add(sum(one)));
    let held = number(document, "held_at_stop").filter(|_| !counts_ended(dimensions));
    let is_part = selected.any(|(selected, all)| selected != all) || held.is_some_and(|held| held != sum());
    Ok(if is_part { Chosen::NotNamed } else { Chosen::NotSaid })
}

/// Warnings with their codes; `None` where the file has no such key.
fn told_once(document: &Value, key: &str) -> Option<Vec<ToldOnce>> {
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
    let list = document.get(key)?.as_array()?.iter();
    // A doubt that somebody took the code of is one all the same.
    let told = |one| Some(ToldOnce { code: text(one, "code").unwrap_or_default(), text: text(one, "text")? });
    Some(list.filter_map(told).collect())
}

/// The length of the scenario of a reference set.
fn span_ns(document: &Value) -> Option<u64> {
    let seconds = |key: &str| document.get("window")?.get(key)?.as_f64();
    let length = (seconds("stop_s")? - seconds("start_s")?) * 1e9;
    // The conversion saturates.
    length.is_finite().then_some(length.round() as u64)
}

/// The window of a reference set, where a user chose it.
fn window(document: &Value) -> Option<(f64, f64)> {
    let window = document.get("window")?;
    let is_users = window.get("origin").and_then(Value::as_str) == Some("user");
    let seconds = |key: &str| window.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    is_users.then(|| (seconds("start_s"), seconds("stop_s")))
}

/// True where rows are of pages that were released, too.
fn counts_ended(dimensions: &[String]) -> bool {
    dimensions.iter().any(|name| [RELEASE_REASON.name, IMPACT.name].contains(&name.as_str()))
}

fn sum(snapshot: &PfnsetSnapshot) -> i64 {
    snapshot.rows.iter().fold(0, |sum, row| sum.saturating_add(row.pages))
}

/// That the rows have another sum than the file says: somebody changed it, or a part of it is gone.
fn check_total(snapshot: &PfnsetSnapshot, value: &Value, key: &str) -> Option<String> {
    let total = value.get(key).and_then(Value::as_i64)?;
    let sum = sum(snapshot);
    let text = || {
        format!(
            "its rows have {sum} pages and its {key} is {total}: it was changed after pfnset wrote it; write it again"
        )
    };
    (sum != total).then(text)
}

/// A snapshot of a resident set, in which nothing is less than no page.
fn resident_of(value: &Value, dimensions: &[String]) -> Result<PfnsetSnapshot, String> {
    let snapshot = snapshot_of(value, dimensions)?;
    if let Some(at) = snapshot.rows.iter().position(|row| row.pages < 0 || row.pages_wpa < 0) {
        return Err(format!(
            "row {} has less than no page: it was changed after pfnset wrote it; write it again",
            at + 1
        ));
    }
    check_total(&snapshot, value, "selected_pages").map_or(Ok(snapshot), Err)
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
        let bytes = row.get("bytes").and_then(Value::as_i64);
        if bytes.is_some_and(|bytes| pages.checked_mul(PAGE_BYTES as i64) != Some(bytes)) {
            let text = "pages and bytes are not the same amount: it was changed after pfnset wrote it; write it again";
            return Err(format!("row {}: {text}", number + 1));
        }
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
        let told = ToldOnce { code: "x".to_owned(), text: "y".to_owned() };
        assert!(named.is_by("process", "A*") && named.grave == Some(vec![told]), "{named:?}");
        assert_eq!(of(r#","where":[]"#, 3).unwrap().chosen, Chosen::By(Vec::new()));
        assert!(of(r#","where":[]"#, 4).unwrap_err().contains("its rows have 3 pages and its held_at_stop is 4"));
        assert!(of(r#","where":[{"dimension":"process"}]"#, 4).unwrap_err().contains("no list of conditions"));
        let window = r#","window":{"start_s":1.5,"stop_s":2.5,"origin":"user"}"#;
        assert_eq!(of(window, 3).unwrap().window, Some((1.5, 2.5)));
        assert_eq!(of(&window.replace("user", "marks"), 3).unwrap().window, None);
    }

    #[test]
    fn rows_that_contradict_their_totals_are_refused() {
        let of = |rows: &str| {
            let text = format!(
                r#"{{"schema":"pfnset.resident","version":1,"group_by":["list"],"where":[],
                "snapshots":[{{"index":0,"selected_pages":3,"rows":[{rows}]}}]}}"#
            );
            read(&text).map(|_| ())
        };
        assert_eq!(of(r#"{"list":"Active","pages":3,"bytes":12288}"#), Ok(()));
        for (rows, says) in [
            (r#"{"list":"Active","pages":2}"#, "its rows have 2 pages and its selected_pages is 3"),
            (r#"{"list":"Active","pages":5},{"list":"Zero","pages":-2}"#, "row 2 has less than no page"),
            (r#"{"list":"Active","pages":3,"bytes":4096}"#, "row 1: pages and bytes are not the same amount"),
        ] {
            let told = of(rows).unwrap_err();
            assert!(told.contains(says), "{told}");
        }
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
