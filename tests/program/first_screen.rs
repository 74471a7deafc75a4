//! The first screen of `pfnset resident`: what fits in 24 lines of 80 columns, and that its numbers follow from each other.

use crate::one_of_each;
use crate::program::{finish, fixtures, out, pfnset, run};
use crate::random_cases::one_in;
use etl_writer::file_of;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TRACE: &str = "resident-small.etl";

/// Traces with page sequences: the fixture, a machine of our own, and what lies beside the repository.
fn traces() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/synthetic");
    let beside =
        ["resident-win11.etl", "resident-compressed-x86.etl", "refset-small.etl"].map(|name| beside.join(name));
    std::iter::once(fixtures().join(TRACE)).chain(beside).filter(|path| path.exists()).collect()
}

/// The screen without its warnings.
fn screen(trace: &Path, columns: &str, more: &[&str]) -> String {
    let arguments = [&["resident", trace.to_str().unwrap(), "-q"], more].concat();
    let ran = finish(pfnset(&arguments).env("COLUMNS", columns));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    let begin = ran.out.find("Physical memory").or_else(|| ran.out.find("Selected memory"));
    ran.out[begin.unwrap_or_else(|| panic!("{}", ran.out))..].to_owned()
}

/// Rows by their label, the numbers in pages by heading.
fn rows(screen: &str) -> Vec<(String, BTreeMap<String, u64>)> {
    let lines: Vec<&str> = screen.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("Category")).expect("a heading");
    // Headings and numbers end in the same column.
    let ends: Vec<(String, usize)> = lines[head]
        .split_whitespace()
        .map(|word| (word.to_owned(), lines[head].find(word).unwrap() + word.chars().count()))
        .skip(1)
        .collect();
    let mut found = Vec::new();
    for line in &lines[head + 1..] {
        let chars: Vec<char> = line.chars().collect();
        let is_row = !line.starts_with('─') && chars.len() > 30 && !line.contains("passed") && !line.contains("width");
        if !is_row {
            continue;
        }
        let mut numbers = BTreeMap::new();
        for (heading, end) in &ends {
            let text: String = chars.iter().take(*end).collect();
            let text = text.rsplit("  ").next().unwrap_or_default().trim().replace([',', '+'], "");
            if chars.len() >= *end
                && chars[end - 1] != ' '
                && let Ok(number) = text.parse()
            {
                numbers.insert(heading.clone(), number);
            }
        }
        let label: String = line.trim_end().split("  ").find(|part| !part.is_empty()).unwrap_or_default().into();
        let indent = line.len() - line.trim_start().len();
        found.push((format!("{}{}", " ".repeat(indent), label.trim()), numbers));
    }
    found
}

#[test]
fn it_fits_in_24_lines_of_80_columns() {
    for trace in traces() {
        let flags = [&[][..], &["--wpa"], &["--where", "process=*.exe*"], &["--unit", "kib"]];
        for more in one_in(2, flags.to_vec()) {
            let text = screen(&trace, "80", more);
            // With the prompt below, the title is in sight.
            let from_title = text.lines().skip_while(|line| !line.contains(" memory at ")).count();
            assert!((1..=23).contains(&from_title), "{trace:?} {more:?}\n{text}");
            // A column that has no room is named.
            let named = |name: &str| text.lines().nth(3).is_some_and(|line| line.contains(name));
            let told = text.lines().find(|line| line.starts_with("Not shown, for lack of width: ")).unwrap_or_default();
            for column in
                ["Share", "Difference"].into_iter().filter(|column| *column == "Share" || text.contains("WPA"))
            {
                assert!(named(column) || told.contains(column), "{column}\n{text}");
            }
            for heading in ["Active", "Standby", "Modified"] {
                assert!(text.contains(heading), "{trace:?} {more:?}\n{text}");
            }
        }
        let flags = [&[][..], &["--wpa"], &["--all"], &["--pivot", "list"]];
        let runs = ["60", "80", "100", "120"].into_iter().flat_map(|columns| flags.map(|more| (columns, more)));
        for (columns, more) in one_in(4, runs.collect()) {
            let arguments = [&["resident", trace.to_str().unwrap(), "-q"], more].concat();
            let ran = finish(pfnset(&arguments).env("COLUMNS", columns));
            let width: usize = columns.parse().unwrap();
            let wide: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > width).collect();
            let wide: Vec<&str> = wide.into_iter().filter(|line| !line.starts_with("Not shown")).collect();
            assert!(wide.is_empty(), "{trace:?} {columns} {more:?}: {wide:#?}");
        }
    }
}

#[test]
fn its_numbers_follow_from_each_other() {
    for trace in traces() {
        for more in [&[][..], &["--all"], &["--top", "1"], &["--where", "list=Standby;Active"]] {
            let text = screen(&trace, "200", &[more, &["--unit", "pages"]].concat());
            let rows = rows(&text);
            let total = rows.iter().position(|(label, _)| label == "Total").expect("a total");
            let (classes, processes) = (&rows[..total], &rows[total + 1..]);
            let sum = |rows: &[(String, BTreeMap<String, u64>)], heading: &str, depth: usize| -> u64 {
                let at_depth = |label: &str| label.len() - label.trim_start().len() == depth;
                rows.iter().filter(|(label, _)| at_depth(label)).filter_map(|(_, row)| row.get(heading)).sum()
            };
            for heading in ["Size/pages", "WPA", "Active", "Standby", "Modified", "Free", "Other"] {
                let of_total = rows[total].1.get(heading).copied().unwrap_or(0);
                assert_eq!(sum(classes, heading, 0), of_total, "{trace:?} {more:?} {heading}\n{text}");
                if let Some((_, all)) = processes.first() {
                    let all = all.get(heading).copied().unwrap_or(0);
                    assert_eq!(sum(processes, heading, 2), all, "{trace:?} {more:?} {heading}\n{text}");
                }
                // The parts of a class add up to it; a class of which nothing is shown says so.
                let starts = (0..total).filter(|&at| !classes[at].0.starts_with(' '));
                for start in starts {
                    let parts = classes[start + 1..].iter().take_while(|(label, _)| label.starts_with(' '));
                    let parts: Vec<_> = parts.cloned().collect();
                    let class = classes[start].1.get(heading).copied().unwrap_or(0);
                    assert!(
                        parts.is_empty() || sum(&parts, heading, 2) == class,
                        "{heading} of {:?}\n{text}",
                        classes[start]
                    );
                }
            }
            let of_total = |heading: &str| rows[total].1.get(heading).copied().unwrap_or(0);
            let legend = text.lines().skip(2).take_while(|line| !line.starts_with("Category")).collect::<String>();
            let part = |name: &str| -> u64 {
                let rest = legend.split(&format!("{name} ")).nth(1).unwrap_or_default();
                rest.split(' ').next().unwrap_or_default().replace(',', "").parse().expect("a number")
            };
            assert_eq!(part("in use"), of_total("Active") + of_total("Other"), "{text}");
            for (name, heading) in [("modified", "Modified"), ("standby", "Standby"), ("free", "Free")] {
                assert_eq!(part(name), of_total(heading), "{trace:?} {more:?}\n{text}");
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_there_with_all() {
    let (short, whole) =
        (screen(&fixtures().join(TRACE), "120", &[]), screen(&fixtures().join(TRACE), "120", &["--all"]));
    assert!(short.contains("+ ") && !short.contains("UserStack"), "{short}");
    for text in ["UserStack", "PfnDatabase", "SearchIndexer.exe (1284)", "Checks: PFNs 0x1 to 0xc1a"] {
        assert!(whole.contains(text), "{text}\n{whole}");
    }
    assert!(!whole.contains(" more"), "{whole}");
}

#[test]
fn checks_are_one_line() {
    assert!(
        out(&["resident", TRACE])
            .ends_with("\n8 checks passed; no data for: size of RAM; each number is rounded by itself\n")
    );
    let last = |columns| screen(&fixtures().join(TRACE), columns, &[]).lines().last().unwrap().to_owned();
    assert_eq!(last("70"), "8 checks passed; no data for: size of RAM");
    assert_eq!(last("40"), "8 checks passed; no data for 1 other");
    let bare = file_of(&one_of_each::trace(1));
    let ran = run(&["resident", bare.path().to_str().unwrap()]);
    let last = ran.out.lines().last().unwrap();
    assert!(last.contains(" checks failed: "), "{last}");
}

#[test]
fn all_shows_the_checks_below_any_table() {
    for arguments in
        [&["--group-by", "list"][..], &["--pivot", "list"], &["--columns", "size"], &["--preset", "by-process"]]
    {
        let [short, whole] = [&[][..], &["--all"]].map(|all| out(&[&["resident", TRACE], arguments, all].concat()));
        let rest = whole.strip_prefix(short.as_str()).unwrap_or_else(|| panic!("{whole}"));
        assert!(rest.starts_with("Checks: PFNs 0x"), "{rest}");
    }
}

#[test]
fn sizes_are_in_the_users_unit() {
    for (unit, total) in [("pages", "3,000"), ("kib", "12,000"), ("mib", "11.72"), ("gib", "0.01")] {
        let text = out(&["resident", TRACE, "--unit", unit]);
        let line = text.lines().find(|line| line.starts_with("Total")).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(total), "{unit}\n{text}");
    }
}

#[test]
fn flags_without_effect_are_refused() {
    for (arguments, says) in [
        (&["--all", "--top", "3"][..], "cannot be used with"),
        (&["--all", "--format", "json"], "--all is for table and markdown"),
        (&["--wpa", "--format", "csv"], "--wpa is for table and markdown"),
        (&["--wpa", "--group-by", "process"], "--wpa needs rows by category or class"),
        (&["--wpa", "--classification", "wpa"], "--wpa needs both counts"),
        (&["--columns", "sise"], "did you mean \"size\""),
        (&["--columns", "wpa", "--group-by", "list"], "needs rows by category"),
        (&["--columns", "size", "--format", "json"], "--columns is for table and markdown"),
        (&["--pivot", "list", "--format", "json"], "--group-by category,list"),
        (&["--pivot", "process"], "invalid value"),
    ] {
        let ran = run(&[&["resident", TRACE], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn markdown_has_the_same_screen() {
    insta::assert_snapshot!("first_screen_markdown", out(&["resident", TRACE, "--format", "markdown"]));
    insta::assert_snapshot!("first_screen_all", out(&["resident", TRACE, "--all"]));
    insta::assert_snapshot!("first_screen_wpa_80_columns", screen(&fixtures().join(TRACE), "80", &["--wpa"]));
    insta::assert_snapshot!(
        "first_screen_of_few",
        screen(&fixtures().join(TRACE), "80", &["--where", "category=Image;Unused"])
    );
}

/// Who orders by the difference sees the greatest ones, whatever class they are of.
#[test]
fn the_greatest_differences_are_on_the_first_screen() {
    let trace = fixtures().join("resident-small.etl");
    let ran = finish(pfnset(&["resident", trace.to_str().unwrap(), "--sort", "difference"]).env("COLUMNS", "80"));
    for category in ["VirtualAlloc_PreTrace", "Win32Heap", "Unused"] {
        assert!(ran.out.contains(&format!("  {category} ")), "{category}: {}", ran.out);
    }
}
