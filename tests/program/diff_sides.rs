//! `pfnset diff`: numbers of exported tables, and flags that fit the sides.

use crate::diff::{diff, folder, json, run, write};

/// Reference sets have no snapshots and one set of rules.
#[test]
fn flags_of_resident_sets_are_errors_between_reference_sets() {
    let folder = folder();
    let trace = "refset-small.etl";
    let arguments = ["refset", trace, "--group-by", "process", "--format", "json", "-o", "kept.json"];
    assert_eq!(run(&folder, &arguments).code, 0);
    for more in [["--snapshot", "0"], ["--classification", "wpa"]] {
        for sides in [&[trace, trace, "--refset"][..], &[trace, "kept.json"]] {
            let ran = diff(&folder, &[sides, &more].concat());
            assert!(ran.code == 2 && ran.err.contains(more[0].trim_start_matches('-')), "{ran:?}");
        }
    }
}

/// Sizes in whole kilobytes, grouped by three: what stands after the sign is no part of a kilobyte, since pages have none.
#[test]
fn kilobytes_without_decimals() {
    let folder = folder();
    let arguments =
        ["resident", "resident-small.etl", "--group-by", "category", "--classification", "wpa", "--format", "json"];
    let kept = json(&run(&folder, &arguments));
    let rows: Vec<(&str, i64)> = (kept["snapshots"][0]["rows"].as_array().expect("rows").iter())
        .map(|row| (row["category"].as_str().expect("a category"), row["pages"].as_i64().expect("pages") * 4))
        .collect();
    assert!(rows.iter().any(|(_, size)| *size >= 1000), "{rows:?}");
    for (sign, zeros, locale) in [(",", "", "en"), (".", "", "de"), (",", ".000", "en"), (".", ",000", "de")] {
        let cell = |size: i64| match size / 1000 {
            0 => format!("{size}{zeros}"),
            thousands => format!("{thousands}{sign}{:03}{zeros}", size % 1000),
        };
        let lines = rows.iter().map(|(category, size)| format!("{category}\t{}\n", cell(*size)));
        write(&folder, "wpa.csv", &format!("Page Category\tSize (KB)\n{}", lines.collect::<String>()));
        for arguments in [&[][..], &["--locale", locale]] {
            let ran =
                diff(&folder, &[&["resident-small.etl", "wpa.csv", "--classification", "wpa"], arguments].concat());
            assert_eq!(ran.code, 0, "{sign} {zeros}: {}", ran.out);
        }
    }
}

/// What a spreadsheet saves: other signs between the cells, capitals, a table in UTF-16. It was taken for a table of WPA.
#[test]
fn tables_of_pfnset_are_known_however_they_were_saved_again() {
    let folder = folder();
    let trace = "resident-small.etl";
    let ran = run(&folder, &["resident", trace, "--group-by", "process,category", "--format", "csv"]);
    let (heading, rows) = ran.out.split_once('\n').expect("a heading");
    assert!(!rows.contains([';', '\t', '"']), "the signs are changed as they are");
    let utf16 = |text: &str| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16().collect::<Vec<_>>());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let four = |line: &str| line.split(',').take(4).collect::<Vec<_>>().join(";");
    for (name, bytes) in [
        ("semicolons", ran.out.replace(',', ";").into_bytes()),
        ("tabs", ran.out.replace(',', "\t").into_bytes()),
        ("declared", format!("sep=;\r\n{}", ran.out.replace(',', ";")).into_bytes()),
        ("capitals", format!("{}\n{rows}", heading.to_uppercase()).into_bytes()),
        ("utf-16", utf16(&ran.out.replace(',', "\t"))),
        ("few columns", ran.out.lines().map(|line| four(line) + "\n").collect::<String>().into_bytes()),
    ] {
        std::fs::write(folder.path().join("saved.csv"), bytes).expect("room for a file");
        let ran = diff(&folder, &["saved.csv", trace]);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        assert!(ran.out.contains("CSV of pfnset") && ran.out.contains("Equal: "), "{name}: {}", ran.out);
    }
}

/// Held pages of all times were added up, and compared by WPA's rules.
#[test]
fn rows_of_a_timeline_are_refused() {
    let folder = folder();
    let trace = "refset-small.etl";
    for by in ["process", "class"] {
        let line = ["refset", trace, "--timeline", "1", "--group-by", by, "--format", "csv", "-o", "steps.csv"];
        assert_eq!(run(&folder, &line).code, 0);
        let ran = diff(&folder, &["steps.csv", trace]);
        assert!(ran.code == 3 && ran.err.contains("its rows are of many times (time_s)"), "{ran:?}");
    }
}

/// Pages that are held at the end have no reason of release in a dataset, and one with a name in tables.
#[test]
fn the_reference_set_of_a_dataset_is_that_of_its_trace() {
    let folder = folder();
    let trace = "refset-small.etl";
    assert_eq!(run(&folder, &["export", trace, "--out", "data", "--format", "csv"]).code, 0);
    let mut found = std::fs::read_dir(folder.path().join("data/refset")).expect("a table");
    let table = found.next().expect("a part").expect("a part").path().join("part-0.csv");
    let ran = diff(&folder, &[table.to_str().expect("UTF-8"), trace]);
    assert!(ran.code == 0 && ran.out.contains("Equal: "), "{ran:?}");
}
