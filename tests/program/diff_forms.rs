//! `pfnset diff` beside tables of WPA in every form, written by the test support from the rows of `pfnset pages`: they agree with
//! their trace, and planted differences are found, by key and by page. The expectation is counted naively.

use crate::program::{Ran, finish, out, pfnset, run};
use crate::random_cases::cases;
use etl_writer::wpa::{CULTURES, ENCODINGS, Form, Row};
use etl_writer::{ResidentSpec, generate_resident};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::LazyLock;
use tempfile::TempDir;

/// A page as `pfnset pages` tells it.
#[derive(Debug, Clone)]
struct Page {
    pfn: u64,
    address: String,
    /// By name of the dimension.
    labels: BTreeMap<&'static str, String>,
}

struct Machine {
    folder: TempDir,
    pages: Vec<Page>,
}

/// Dimensions with their headings.
const COLUMNS: [(&str, &str); 6] = [
    ("category", "Page Category"),
    ("process", "Process"),
    ("list", "MMList"),
    ("priority", "Page Priority"),
    ("detail", "Description"),
    ("pinned", "Pinned"),
];

static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    let spec = ResidentSpec { pages: 1500, seed: 5, ..ResidentSpec::small() };
    let (trace, _) = generate_resident(&spec, Cursor::new(Vec::new())).expect("a trace");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("trace.etl"), trace.into_inner()).expect("room for a trace");
    let listed = finish(pfnset(&["pages", "trace.etl", "--format", "csv", "-q"]).current_dir(folder.path())).out;
    let mut reader = csv::Reader::from_reader(listed.as_bytes());
    let headings = reader.headers().expect("headings").clone();
    let page = |row: csv::StringRecord| {
        let cell = |name: &str| row[headings.iter().position(|heading| heading == name).expect("a column")].to_owned();
        let label = |dimension: &'static str| match dimension {
            "category" => cell("category_wpa"),
            "pinned" => cell("flags").split('+').any(|flag| flag == "pinned").to_string(),
            other => cell(other),
        };
        Page {
            pfn: cell("pfn").parse().expect("a number"),
            address: cell("address"),
            labels: COLUMNS.iter().map(|(dimension, _)| (*dimension, label(dimension))).collect(),
        }
    };
    let pages: Vec<Page> = reader.records().map(|row| page(row.expect("a row"))).collect();
    assert_eq!(pages.len(), 1500);
    Machine { folder, pages }
});

fn diff(name: &str, table: &[u8], arguments: &[&str]) -> Ran {
    std::fs::write(MACHINE.folder.path().join(name), table).expect("room for a table");
    let line = [&["diff", "trace.etl", name, "-q"], arguments].concat();
    finish(pfnset(&line).current_dir(MACHINE.folder.path()))
}

fn form() -> impl Strategy<Value = Form> {
    let delimiter = prop::sample::select(vec![',', ';', '\t']);
    let culture = prop::sample::select(CULTURES.to_vec());
    let encoding = prop::sample::select(ENCODINGS.to_vec());
    let measure =
        prop::sample::select(vec![(true, Some("MB")), (true, None), (false, Some("MB")), (false, Some("KB"))]);
    (delimiter, culture, encoding, measure, any::<[bool; 3]>()).prop_map(
        |(delimiter, culture, encoding, (pages, size), [crlf, total, declared])| Form {
            delimiter,
            encoding,
            culture,
            crlf,
            pages,
            size,
            total,
            declared,
        },
    )
}

type Key = Vec<String>;

fn counted(pages: &[Page], dimensions: &[&str]) -> BTreeMap<Key, i64> {
    let mut all = BTreeMap::new();
    for page in pages {
        let key = dimensions.iter().map(|dimension| page.labels[dimension].clone()).collect::<Key>();
        *all.entry(key).or_default() += 1;
    }
    all
}

/// Labels of a row of the JSON.
fn key_of(row: &Value, dimensions: &[&str]) -> Key {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    dimensions.iter().map(|dimension| text(&row[*dimension])).collect()
}

/// `[left, right, delta]` of the keys that differ.
fn expected(left: &[Page], right: &[Page], dimensions: &[&str]) -> BTreeMap<Key, [i64; 3]> {
    let [left, right] = [left, right].map(|pages| counted(pages, dimensions));
    let keys = left.keys().chain(right.keys()).cloned();
    let row = |key: Key| {
        let [l, r] = [&left, &right].map(|side| side.get(&key).copied().unwrap_or(0));
        (l != r).then_some((key, [l, r, r - l]))
    };
    keys.filter_map(row).collect()
}

fn found(json: &Value, dimensions: &[&str]) -> BTreeMap<Key, [i64; 3]> {
    let pages = |row: &Value| ["left_pages", "right_pages", "delta_pages"].map(|key| row[key].as_i64().expect("pages"));
    let rows = json["differing"].as_array().expect("a list");
    rows.iter().map(|row| (key_of(row, dimensions), pages(row))).collect()
}

fn labels<'p>(page: &'p Page, dimensions: &[&'static str]) -> Vec<&'p str> {
    dimensions.iter().map(|dimension| page.labels[dimension].as_str()).collect()
}

/// A page that differs, as the JSON has it. The category is the first of the labels.
fn example(pfn: u64, [left, right]: [Option<&Vec<&str>>; 2], dimensions: &[&str]) -> Value {
    let both = left.zip(right).map(|(left, right)| left.iter().zip(right)).into_iter().flatten();
    let others = both.zip(dimensions).skip(1).filter(|((left, right), _)| left != right);
    let others: Value = others
        .map(|((left, right), dimension)| serde_json::json!({ "dimension": dimension, "left": left, "right": right }))
        .collect();
    let category = |side: Option<&Vec<&str>>| side.map(|labels| labels[0].to_owned());
    serde_json::json!({ "pfn": format!("0x{pfn:x}"), "left": category(left), "right": category(right), "other_labels": others })
}

/// Other categories for some pages: which page, and the page whose category it gets.
fn planted() -> impl Strategy<Value = Vec<(prop::sample::Index, prop::sample::Index)>> {
    prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..4)
}

fn changed(planted: &[(prop::sample::Index, prop::sample::Index)]) -> Vec<Page> {
    let mut pages = MACHINE.pages.clone();
    for (at, from) in planted {
        let category = from.get(&MACHINE.pages).labels["category"].clone();
        let at = at.index(pages.len());
        pages[at].labels.insert("category", category);
    }
    pages
}

proptest! {
    #![proptest_config(cases(6))]

    /// Grouped tables: any dimensions, rows cut in two and shuffled, every form.
    #[test]
    fn grouped_tables(
        form in form(),
        columns in prop::sample::subsequence(COLUMNS.to_vec(), 1..5).prop_shuffle(),
        planted in planted(),
        cut in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let dimensions: Vec<&str> = columns.iter().map(|column| column.0).collect();
        let headings: Vec<&str> = columns.iter().map(|column| column.1).collect();
        let pages = changed(&planted);
        let mut rows: Vec<Row> = Vec::new();
        for (key, count) in counted(&pages, &dimensions) {
            let (one, rest) = if cut && count > 1 { (1, count as u64 - 1) } else { (0, count as u64) };
            rows.extend((one > 0).then(|| Row { cells: key.clone(), pages: one }));
            rows.push(Row { cells: key, pages: rest });
        }
        let mut order = etl_writer::Rng::new(seed);
        rows.sort_by_cached_key(|_| order.word());
        let ran = diff("grouped.csv", &form.file(&headings, &rows), &["--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {form:?}: {ran:?}"));
        let wanted = expected(&MACHINE.pages, &pages, &dimensions);
        prop_assert_eq!(&json["dimensions"], &Value::from(dimensions.clone()));
        prop_assert_eq!(found(&json, &dimensions), wanted.clone(), "{:?}", form);
        prop_assert_eq!(json["equal"].as_bool(), Some(wanted.is_empty()));
        prop_assert_eq!(ran.code, i32::from(!wanted.is_empty()));
        prop_assert_eq!(json["left"]["total_pages"].as_i64(), Some(1500));
        let totals = |side: &str| found(&json, &dimensions).values().map(|row| row[usize::from(side == "right")]).sum::<i64>();
        prop_assert_eq!(json["right"]["total_pages"].as_i64(), Some(1500 + totals("right") - totals("left")));
    }

    /// Tables with a row for each page: other categories, exchanged pages, pages that are not there, pages that the trace does not have.
    #[test]
    fn raw_tables(
        form in form(),
        planted in planted(),
        exchanged in planted(),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        more in prop::collection::btree_set(1u64 << 30..1 << 31, 0..3),
        columns in prop::sample::subsequence(COLUMNS[1..].to_vec(), 0..4),
        seed in any::<u64>(),
    ) {
        let mut pages = changed(&planted);
        for (one, other) in &exchanged {
            let [one, other] = [one, other].map(|at| at.index(pages.len()));
            let [pfn_of_one, pfn_of_other] = [one, other].map(|at| pages[at].pfn);
            (pages[one].pfn, pages[other].pfn) = (pfn_of_other, pfn_of_one);
        }
        let gone: std::collections::BTreeSet<usize> = gone.iter().map(|index| index.index(pages.len())).collect();
        for at in gone.iter().rev() {
            pages.remove(*at);
        }
        let last = pages.last().expect("pages").clone();
        pages.extend(more.iter().map(|pfn| Page { pfn: *pfn, ..last.clone() }));
        let dimensions = ["category"].into_iter().chain(columns.iter().map(|column| column.0)).collect::<Vec<_>>();
        let headings: Vec<&str> = (["Page Category"].into_iter())
            .chain(columns.iter().map(|column| column.1))
            .chain(["Page Frame Number", "Virtual Address"])
            .collect();
        let row = |page: &Page| {
            let labels = dimensions.iter().map(|dimension| page.labels[dimension].clone());
            Row { cells: labels.chain([format!("0x{:X}", page.pfn), page.address.clone()]).collect(), pages: 1 }
        };
        let mut rows: Vec<Row> = pages.iter().map(row).collect();
        let mut order = etl_writer::Rng::new(seed);
        rows.sort_by_cached_key(|_| order.word());
        let ran = diff("raw.csv", &form.file(&headings, &rows), &["--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {form:?}: {ran:?}"));
        let wanted = expected(&MACHINE.pages, &pages, &dimensions);
        prop_assert_eq!(found(&json, &dimensions), wanted, "{:?}", form);

        let ours: BTreeMap<u64, Vec<&str>> = MACHINE.pages.iter().map(|page| (page.pfn, labels(page, &dimensions))).collect();
        let theirs: BTreeMap<u64, Vec<&str>> = pages.iter().map(|page| (page.pfn, labels(page, &dimensions))).collect();
        let all: std::collections::BTreeSet<u64> = ours.keys().chain(theirs.keys()).copied().collect();
        let differs = all.iter().filter(|pfn| ours.get(pfn) != theirs.get(pfn));
        let wanted: Vec<Value> = differs
            .map(|pfn| example(*pfn, [ours.get(pfn), theirs.get(pfn)], &dimensions))
            .collect();
        prop_assert_eq!(&json["pages"]["examples"], &Value::from(wanted.clone()));
        let both = all.iter().filter(|pfn| ours.contains_key(pfn) && theirs.contains_key(pfn)).count();
        let number = |key: &str| json["pages"][key].as_u64().expect("a number") as usize;
        prop_assert_eq!((number("compared"), number("only_left"), number("only_right")), (both, gone.len(), more.len()));
        prop_assert_eq!(number("differing_in_any") + number("only_left") + number("only_right"), wanted.len());
        prop_assert_eq!(number("repeated"), 0);
        let differing = |at: usize| {
            let others = ours.iter().filter(|(pfn, ours)| theirs.get(pfn).is_some_and(|theirs| theirs[at] != ours[at]));
            serde_json::json!({ "dimension": dimensions[at], "differing": others.count() })
        };
        prop_assert_eq!(&json["pages"]["by_dimension"], &(0..dimensions.len()).map(differing).collect::<Value>());
        prop_assert_eq!(&json["pages"]["differing"], &json["pages"]["by_dimension"][0]["differing"]);
        prop_assert_eq!(ran.code, i32::from(!wanted.is_empty()));
    }
}

/// What does not differ is a line with its sums, and with `--all` rows in every form.
#[test]
fn equal_rows_are_listed_on_demand() {
    let base = ["diff", "resident-small.etl", "refset-small.etl", "-q"];
    let said = |arguments: &[&str]| crate::program::run(&[&base[..], arguments].concat()).out;
    let count = |json: &str, key: &str| {
        let json: Value = serde_json::from_str(json).expect("JSON");
        json[key].as_array().map(Vec::len)
    };
    let json = said(&["--format", "json"]);
    let (differing, none) = (count(&json, "differing").expect("rows"), count(&json, "agreeing"));
    let all = said(&["--all", "--format", "json"]);
    let agreeing = count(&all, "agreeing").expect("rows");
    assert_eq!((count(&all, "differing"), none), (Some(differing), None));
    assert!(agreeing > 0, "{all}");
    assert_eq!(said(&["--format", "csv"]).lines().count(), 1 + differing);
    assert_eq!(said(&["--all", "--format", "csv"]).lines().count(), 1 + differing + agreeing);
    assert!(said(&[]).contains(&format!("\n+ {agreeing} equal")), "{}", said(&[]));
    assert!(!said(&["--all"]).contains(" equal"), "{}", said(&["--all"]));
    // The key is there also where nothing agrees.
    let same =
        ["diff", "resident-small.etl", "refset-small.etl", "-q", "--group-by", "class", "--all", "--format", "json"];
    assert_eq!(count(&crate::program::run(&same).out, "agreeing"), Some(0));
}

/// Both sides lack the same column: it was named twice.
#[test]
fn a_column_that_is_not_compared_is_named_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pages.csv");
    std::fs::write(&file, out(&["pages", "resident-small.etl", "--format", "csv"])).expect("room");
    let file = file.to_str().expect("a plain name");
    let shown = run(&["diff", file, file]).out;
    assert_eq!(shown.matches("\"pfn\"").count(), 1, "{shown}");
}
