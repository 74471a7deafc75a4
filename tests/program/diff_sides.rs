//! `pfnset diff`: numbers of exported tables, and flags that fit the sides.

use crate::diff::{diff, folder, json, run, write};
use serde_json::Value;

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

/// Pages by list and category, as WPA counts them.
fn by_list(folder: &tempfile::TempDir) -> Vec<(String, Vec<(String, i64)>)> {
    let line = [
        "resident",
        "resident-small.etl",
        "--group-by",
        "list,category",
        "--classification",
        "wpa",
        "--format",
        "json",
    ];
    let kept = json(&run(folder, &line));
    let mut lists: Vec<(String, Vec<(String, i64)>)> = Vec::new();
    for row in kept["snapshots"][0]["rows"].as_array().expect("rows") {
        let label = |key: &str| row[key].as_str().expect("a label").to_owned();
        let of_category = (label("category"), row["pages"].as_i64().expect("pages"));
        match lists.iter_mut().find(|(list, _)| *list == label("list")) {
            Some((_, rows)) => rows.push(of_category),
            None => lists.push((label("list"), vec![of_category])),
        }
    }
    lists
}

/// Rows of sums above the rows of opened groups: all memory counted twice.
#[test]
fn sums_of_opened_groups_count_once() {
    let folder = folder();
    let lists = by_list(&folder);
    let pages = |pages: i64| pages.to_string();
    let size = |pages: i64| format!("{:.3}", pages as f64 / 256.0);
    let table = |head: &str, list: &dyn Fn(&str, i64) -> String, row: &dyn Fn(&str, &str, i64) -> String| {
        let rows = lists.iter().map(|(name, rows)| {
            let below: String = rows.iter().map(|(category, pages)| row(name, category, *pages)).collect();
            list(name, rows.iter().map(|(_, pages)| pages).sum()) + &below
        });
        write(&folder, "nested.csv", &format!("{head}\n{}", rows.collect::<String>()));
    };
    let nested = |more: &[&str]| diff(&folder, &[&["resident-small.etl", "nested.csv"], more].concat());
    let told = "rows of the table are sums of other rows, as groups that were opened have them";
    for (head, amount) in [("Page Count", &pages as &dyn Fn(i64) -> String), ("Size (MB)", &size)] {
        table(
            &format!("MMList,Page Category,{head}"),
            &|list, sum| format!("{list},,{}\n", amount(sum)),
            &|list, category, sum| format!("{list},{category},{}\n", amount(sum)),
        );
        for more in [&[][..], &["--group-by", "list"], &["--group-by", "category"], &["--where", "list=Standby"]] {
            let ran = nested(more);
            assert!(ran.code == 0 && ran.out.contains(told) && ran.out.contains("Equal: "), "{head} {more:?}: {ran:?}");
        }
    }
    // Below a column that is not compared; the sums below the rows.
    table("MMList,Path Tree,Page Count", &|list, sum| format!("{list},,{sum}\n"), &|list, category, sum| {
        format!("{list},x/{category},{sum}\n")
    });
    assert!(nested(&[]).code == 0 && nested(&[]).out.contains(told), "{:?}", nested(&[]));
    // What cannot be told is an error: a sum of other rows, and labels that stand above alone.
    let other = |list: &str, sum| format!("{list},,{}\n", sum + i64::from(list == "Active"));
    table("MMList,Page Category,Page Count", &other, &|list, category, sum| format!("{list},{category},{sum}\n"));
    let ran = nested(&[]);
    assert!(ran.code == 3 && ran.err.contains("the row of MMList \"Active\" looks like the sum"), "{ran:?}");
    table("MMList,Page Category,Page Count", &|list, sum| format!("{list},,{sum}\n"), &|_, category, sum| {
        format!(",{category},{sum}\n")
    });
    let ran = nested(&[]);
    assert!(ran.code == 3 && ran.err.contains("labels of groups seem to be written once"), "{ran:?}");
}

/// A file may be absent in the description of a page: such rows are no sums.
#[test]
fn rows_without_a_description_are_no_sums() {
    let folder = folder();
    let text = "Page Category,Description,Page Count\nImage,,7\nImage,a.dll,7\nImage,b.dll,5\nMapFile,c.dat,3\nMapFile,,1\nDriver,d.sys,2\n";
    write(&folder, "flat.csv", text);
    let ran = diff(&folder, &["resident-small.etl", "flat.csv", "--format", "json"]);
    assert_eq!(json(&ran)["right"]["total_pages"], 25, "{ran:?}");
    // Rows of pages are those with the number of one.
    let text = "Page Category,Page Frame Number,Page Count\nImage,,2\nImage,0x1,1\nImage,0x2,1\n";
    write(&folder, "pages.csv", text);
    let ran = diff(&folder, &["resident-small.etl", "pages.csv", "--format", "json"]);
    assert_eq!(json(&ran)["right"]["total_pages"], 2, "{ran:?}");
}

/// A table of 21 MB, with all combinations of 14 empty columns, took more than a minute.
#[test]
fn a_table_with_labels_left_out_everywhere_is_refused() {
    const COLUMNS: usize = 13;
    let folder = folder();
    let names: Vec<String> = (0..COLUMNS).map(|at| format!("Column {}", (b'A' + at as u8) as char)).collect();
    let mut text = format!("Process,{},Page Category,Page Count\n", names.join(","));
    for mask in 0..1 << COLUMNS {
        let labels: Vec<&str> = (0..COLUMNS).map(|at| if mask >> at & 1 == 1 { "x" } else { "" }).collect();
        text += &format!("a.exe (4),{},Image,1\n", labels.join(","));
    }
    write(&folder, "made.csv", &text);
    let ran = diff(&folder, &["made.csv", "resident-small.etl"]);
    assert!(ran.code == 3 && ran.err.contains("lack labels in 8,192 combinations of columns"), "{ran:?}");
}

/// Each was taken without a word, two of them as equal to the trace.
#[test]
fn what_contradicts_itself_in_a_table_of_wpa_is_said() {
    let folder = folder();
    let sound = [
        "Process,Page Category,Page Count,Size (MB)",
        "a.exe (4),Image,720,2.812",
        "a.exe (4),MapFile,\"1,567\",6.121",
        "Unknown (-1),PageTable,3,0.012",
        ",,\"2,290\",8.945",
        "",
    ];
    let said = |lines: &[&str]| {
        write(&folder, "wpa.csv", &lines.join("\r\n"));
        let arguments =
            ["resident-small.etl", "wpa.csv", "--group-by", "category", "--format", "json", "--strict", "-q"];
        let ran = diff(&folder, &arguments);
        let of_table = |text: &&Value| text.as_str().is_some_and(|text| text.starts_with("RIGHT: "));
        let texts: Vec<Value> =
            json(&ran)["warnings"].as_array().expect("a list").iter().filter(of_table).cloned().collect();
        (ran.code, texts)
    };
    assert_eq!(said(&sound), (1, Vec::new()));
    let cases = [
        (1, "a.exe (4),Image,720,2.822", "line 2 has Page Count 720, and Size (MB) 2.822 is the size of 722 pages"),
        (4, ",,\"2,290\",9.000", "line 5 has Page Count 2,290, and Size (MB) 9.000 is the size of 2,304 pages"),
        (1, "a.exe (4),Image,,2.812", "line 2 has Page Count empty, beside Size (MB) 2.812; it counts as 0"),
        (3, "a.exe (4),PageTabel,3,0.012", "1 label is no known category, or names a total: \"PageTabel\" (line 4)"),
        (4, "Total,Total,\"2,290\",8.945", "1 label is no known category, or names a total: \"Total\" (line 5)"),
        (
            4,
            ",,\"2,300\",8.984",
            "line 5 of the table, a total without labels, has 2,300 pages, and its rows have 2,290",
        ),
        // A size is compared where it decides.
        (2, "a.exe (4),MapFile,\"1,568\",6.125", "has 2,290 pages, and its rows have 2,291"),
    ];
    for (at, line, text) in cases {
        let mut lines = sound;
        lines[at] = line;
        let (code, texts) = said(&lines);
        assert!(
            code == 3 && texts.iter().any(|said| said.to_string().replace("\\\"", "\"").contains(text)),
            "{line}: {texts:#?}"
        );
    }
    // Rows that no condition wants are of the total too, and sums of opened groups are not.
    write(
        &folder,
        "wpa.csv",
        &sound.join("\n").replace("a.exe (4),Image", "a.exe (4),,\"2,287\",8.934\na.exe (4),Image"),
    );
    let ran = diff(&folder, &["resident-small.etl", "wpa.csv", "--where", "category=Image", "--format", "json", "-q"]);
    assert!(
        !ran.out.contains("a total without labels") && ran.out.contains("1 row of the table is the sum"),
        "{ran:?}"
    );
}
