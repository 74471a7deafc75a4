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
