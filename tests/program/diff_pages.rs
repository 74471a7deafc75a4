//! `pfnset diff` beside tables with a row for each page: CSV of `pfnset pages`, and tables of WPA with and without categories.

use crate::diff::{diff, folder, json, run, write};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The rows of `pfnset pages` of a trace, the heading first.
fn listed(folder: &TempDir, trace: &str) -> Vec<Vec<String>> {
    let ran = run(folder, &["pages", trace, "--format", "csv", "-q"]);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(ran.out.as_bytes());
    let row = |row: csv::StringRecord| row.iter().map(str::to_owned).collect();
    reader.records().map(|record| row(record.expect("a row"))).collect()
}

fn table(rows: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().for_each(|row| writer.write_record(row).expect("room"));
    String::from_utf8(writer.into_inner().expect("room")).expect("UTF-8")
}

fn at(rows: &[Vec<String>], name: &str) -> usize {
    rows[0].iter().position(|heading| heading == name).expect("a column")
}

/// Only these columns, with other headings: a table of WPA.
fn of_wpa(rows: &[Vec<String>], columns: &[(&str, &str)]) -> Vec<Vec<String>> {
    let places: Vec<usize> = columns.iter().map(|(name, _)| at(rows, name)).collect();
    let cell = |row: &Vec<String>, place: usize| match row[place].parse::<u64>() {
        Ok(number) if place == at(rows, "pfn") => format!("{number:#x}"),
        _ => row[place].clone(),
    };
    let body = rows[1..].iter().map(|row| places.iter().map(|place| cell(row, *place)).collect());
    [columns.iter().map(|(_, heading)| (*heading).to_owned()).collect()].into_iter().chain(body).collect()
}

/// Rows with what some pages have in place of others, so that no sum tells it: two pages exchanged, all numbers moved, a page twice.
fn changed(rows: &[Vec<String>]) -> [Vec<Vec<String>>; 3] {
    let (pfn, list) = (at(rows, "pfn"), at(rows, "list"));
    let of_list = |name: &str| rows.iter().position(|row| row[list] == name).expect("a page");
    let mut exchanged = rows.to_vec();
    let (one, other) = (of_list("Active"), of_list("Standby"));
    (exchanged[one][pfn], exchanged[other][pfn]) = (rows[other][pfn].clone(), rows[one][pfn].clone());
    let mut moved = rows.to_vec();
    for row in &mut moved[1..] {
        row[pfn] = (row[pfn].parse::<u64>().expect("a number") + 500_000).to_string();
    }
    let free: Vec<usize> = (1..rows.len()).filter(|row| rows[*row][list] == "Zero").take(2).collect();
    let mut twice = rows.to_vec();
    twice[free[1]] = rows[free[0]].clone();
    [exchanged, moved, twice]
}

fn found(folder: &TempDir, text: &str, more: &[&str]) -> (i32, Value) {
    write(folder, "pages.csv", text);
    let ran = diff(folder, &[&["resident-small.etl", "pages.csv", "--format", "json"], more].concat());
    (ran.code, json(&ran))
}

/// All of them were equal, without a word.
#[test]
fn pages_of_pfnset_are_compared_one_by_one() {
    let folder = folder();
    let rows = listed(&folder, "resident-small.etl");
    let pages = |rows: &[Vec<String>], more: &[&str]| {
        let (code, json) = found(&folder, &table(rows), more);
        (code, json["equal"] == true, json["pages"].clone(), json)
    };
    for more in [&[][..], &["--classification", "wpa"], &["--group-by", "list"], &["--where", "list=Standby;Active"]] {
        let (code, equal, pages, _) = pages(&rows, more);
        assert!(code == 0 && equal && pages["compared"].as_u64() > Some(1000), "{more:?}: {pages}");
        assert_eq!(
            (&pages["differing_in_any"], &pages["only_left"], &pages["repeated"]),
            (&json!(0), &json!(0), &json!(0))
        );
    }
    let [exchanged, moved, twice] = changed(&rows);
    let (code, equal, found, all) = pages(&exchanged, &[]);
    assert_eq!((code, equal, &found["differing_in_any"]), (1, false, &json!(2)), "{found}");
    assert_eq!(all["differing"], json!([]), "sums do not tell it");
    let of_list = found["by_dimension"].as_array().expect("a list").iter().find(|of| of["dimension"] == "list");
    assert_eq!(of_list.expect("the list")["differing"], 2);
    assert_eq!(found["other_address"], 2);
    let (code, equal, found, _) = pages(&moved, &[]);
    assert_eq!((code, equal, &found["only_left"], &found["only_right"]), (1, false, &json!(3000), &json!(3000)));
    let (code, equal, found, all) = pages(&twice, &[]);
    assert_eq!((code, equal, &found["repeated"], &found["only_left"]), (1, false, &json!(1), &json!(1)));
    assert!(all["warnings"].to_string().contains("1 row of the table repeats a page frame number"), "{all}");
    // Single pages count where no difference is allowed.
    assert_eq!(pages(&moved, &["--tolerance", "1"]).0, 0);
    let (_, _, _, all) = pages(&rows, &["--strict"]);
    assert_eq!(all["ignored_columns"], json!(["file_offset", "flags", "category_wpa"]));
    let ran = diff(&folder, &["pages.csv", "resident-small.etl", "--classification", "wpa"]);
    assert!(
        ran.out.contains("Columns that are not compared: \"file_offset\", \"flags\", \"category\"\n"),
        "{}",
        ran.out
    );
    write(&folder, "changed.csv", &table(&exchanged));
    let ran = diff(&folder, &["changed.csv", "resident-small.etl", "--format", "markdown"]);
    assert!(ran.out.contains("**Different: 807 rows agree, but single pages do not**"), "{}", ran.out);
    assert!(ran.out.contains("**Pages whose other labels differ**"), "{}", ran.out);
    // Beside another file nothing is compared page by page.
    let ran = diff(&folder, &["pages.csv", "changed.csv", "--format", "json"]);
    let ignored = json!(["pfn", "address", "file_offset", "flags", "category_wpa"]);
    assert_eq!(json(&ran)["ignored_columns"], ignored, "columns of both sides, each once");
}

/// Numbers of pages are decimal, whatever columns somebody left out: as a table of WPA they were read as hexadecimal.
#[test]
fn pages_are_compared_by_the_columns_that_are_left() {
    let folder = folder();
    let rows = listed(&folder, "resident-small.etl");
    let all: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    let without = |gone: &[&str]| -> Vec<Vec<String>> {
        let is_left = |at: &usize| !gone.contains(&all[*at]);
        rows.iter().map(|row| (0..row.len()).filter(is_left).map(|at| row[at].clone()).collect()).collect()
    };
    for (gone, dimensions) in [
        (&["category_wpa"][..], 7),
        (&["category"], 7),
        (&["category", "category_wpa", "file", "detail", "address"], 4),
        (&["category", "category_wpa", "file", "detail", "address", "list", "priority", "use", "process"], 0),
    ] {
        let (code, json) = found(&folder, &table(&without(gone)), &[]);
        let pages = &json["pages"];
        assert_eq!((code, &json["right"]["kind"]), (0, &json!("pfnset_csv")), "{gone:?}: {json}");
        assert_eq!((&pages["compared"], &pages["other_address"]), (&json!(3000), &json!(0)), "{gone:?}");
        assert_eq!(pages["by_dimension"].as_array().map(Vec::len), Some(dimensions), "{gone:?}: {pages}");
    }
    let safe = ["pages", "resident-small.etl", "--format", "csv", "--csv-safe", "-o", "pages.csv"];
    assert_eq!(run(&folder, &safe).code, 0);
    let ran = diff(&folder, &["pages.csv", "resident-small.etl", "--format", "json"]);
    assert_eq!((ran.code, &json(&ran)["pages"]["differing_in_any"]), (0, &json!(0)), "{ran:?}");
}

#[test]
fn a_snapshot_of_several_is_compared_with_its_own_pages() {
    let folder = folder();
    let written = ["pages", "two.etl", "--snapshot", "all", "--format", "csv", "-o", "pages.csv"];
    assert_eq!(run(&folder, &written).code, 0);
    for snapshot in ["0,0", "1,1"] {
        let ran = diff(&folder, &["two.etl", "pages.csv", "--snapshot", snapshot, "--format", "json"]);
        let pages = json(&ran)["pages"].clone();
        assert_eq!(
            (ran.code, &pages["repeated"], &pages["only_right"]),
            (0, &json!(0), &json!(0)),
            "{snapshot}: {pages}"
        );
        assert!(pages["compared"].as_u64() > Some(10), "{pages}");
    }
}

#[test]
fn a_row_without_a_number_of_a_page_is_refused() {
    let folder = folder();
    let mut rows = listed(&folder, "resident-small.etl");
    let pfn = at(&rows, "pfn");
    for (cell, says) in
        [("", "1 row has no page frame number (pfn)"), ("1f", "line 8, column \"pfn\": \"1f\" is no page frame number")]
    {
        rows[7][pfn] = cell.to_owned();
        write(&folder, "pages.csv", &table(&rows));
        let ran = diff(&folder, &["resident-small.etl", "pages.csv"]);
        assert!(ran.code == 3 && ran.err.contains(says), "{cell}: {ran:?}");
    }
}

/// Without the column of categories nothing was compared page by page, and nothing said so.
#[test]
fn pages_of_wpa_are_compared_by_what_the_table_has() {
    let folder = folder();
    let rows = listed(&folder, "resident-small.etl");
    let columns =
        [("process", "Process"), ("list", "MMList"), ("priority", "Page Priority"), ("pfn", "Page Frame Number")];
    let with_category = [&[("category_wpa", "Page Category")], &columns[..]].concat();
    for columns in [&with_category[..], &columns, &columns[1..], &columns[3..]] {
        let (code, json) = found(&folder, &table(&of_wpa(&rows, columns)), &[]);
        let pages = &json["pages"];
        assert_eq!((code, &pages["compared"], &pages["differing_in_any"]), (0, &json!(3000), &json!(0)), "{columns:?}");
        assert_eq!(pages["by_dimension"].as_array().map(Vec::len), Some(columns.len() - 1));
        let [exchanged, moved, twice] = changed(&rows);
        let (code, json) = found(&folder, &table(&of_wpa(&exchanged, columns)), &[]);
        let differs = columns.len() > 1;
        assert_eq!(
            (code, &json["pages"]["differing_in_any"]),
            (i32::from(differs), &json!(if differs { 2 } else { 0 }))
        );
        let (code, json) = found(&folder, &table(&of_wpa(&moved, columns)), &[]);
        assert_eq!((code, &json["pages"]["only_left"], &json["equal"]), (1, &json!(3000), &json!(false)));
        let (code, json) = found(&folder, &table(&of_wpa(&twice, columns)), &[]);
        assert_eq!((code, &json["pages"]["repeated"]), (1, &json!(1)));
        assert!(json["warnings"].to_string().contains("1 row of the export repeats"), "{json}");
    }
    let text = table(&of_wpa(&rows, &columns));
    write(&folder, "raw.csv", &text);
    let ran = diff(&folder, &["raw.csv", "resident-small.etl"]);
    let line = "Page by page: 3,000 pages on both sides, 0 with another process, list or priority; 0 only on the left, 0 only on the right";
    assert!(ran.out.replace('\n', " ").contains(line), "{}", ran.out);
    // Beside another table nothing is compared page by page.
    let ran = diff(&folder, &["raw.csv", "raw.csv"]);
    assert!(ran.out.contains("Columns that are not compared: \"Page Frame Number\""), "{}", ran.out);
}

/// Within a category, no sum of categories tells which page has which list.
#[test]
fn other_labels_than_the_category_count_page_by_page() {
    let folder = folder();
    let rows = listed(&folder, "resident-small.etl");
    let (pfn, category) = (at(&rows, "pfn"), at(&rows, "category_wpa"));
    let mut turned = rows.clone();
    let of_image: Vec<usize> = (1..rows.len()).filter(|row| rows[*row][category] == "Image").collect();
    for (place, row) in of_image.iter().enumerate() {
        turned[*row][pfn] = rows[of_image[(place + 1) % of_image.len()]][pfn].clone();
    }
    let columns = [("category_wpa", "Page Category"), ("list", "MMList"), ("pfn", "Page Frame Number")];
    let (code, json) = found(&folder, &table(&of_wpa(&turned, &columns)), &[]);
    let pages = &json["pages"];
    assert_eq!((code, &pages["differing"], &json["differing"]), (1, &json!(0), &json!([])), "{pages}");
    assert_eq!((&pages["groups"], &pages["by_dimension"][0]["differing"]), (&json!([]), &json!(0)));
    let of_list = pages["by_dimension"][1]["differing"].as_u64().expect("a number");
    assert!(of_list > 0 && pages["differing_in_any"] == of_list, "{pages}");
    let groups = pages["label_groups"].as_array().expect("groups").iter();
    assert_eq!(groups.map(|group| group["pages"].as_u64().expect("a number")).sum::<u64>(), of_list);
    assert_eq!(pages["examples"][0]["other_labels"][0]["dimension"], "list");
}
