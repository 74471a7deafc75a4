//! `pfnset diff --allocations`: against what `pfnset allocations` says of each side.

use crate::program::{Ran, out, run};
use crate::random_cases::one_in;
use crate::trust::{fixture, places};
use etl_writer::file_of;
use serde_json::{Value, json};

const TRACE: &str = "alloc-x86.etl";
const OTHER: &str = "stacks-keys.etl";

fn diff(more: &[&str]) -> (i32, Value) {
    let ran = run(&[&["diff", "--allocations", "-q", "--format", "json"], more].concat());
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}")))
}

fn allocations(trace: &str, more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["allocations", trace, "-q", "--format", "json"], more].concat())).expect("JSON")
}

fn rows(of: &Value, key: &str) -> Vec<Value> {
    of[key].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_trace_is_equal_to_itself_in_every_kind_and_grouping() {
    let of_code = ["stack", "function", "free_stack", "free_function"];
    let all = [&["process", "thread", "reason", "size"], &of_code[..]].concat();
    let own: [(&str, &[&str]); 3] =
        [("commit", &["pages"]), ("pool", &["tag", "pool", "session"]), ("heap", &["heap", "source"])];
    for (kind, own) in own {
        for dimension in one_in(3, all.iter().chain(own).copied().collect()) {
            // Code is compared of traces with stacks alone.
            let trace = if of_code.contains(&dimension) { OTHER } else { TRACE };
            let (code, found) = diff(&[trace, trace, "--of", kind, "--group-by", dimension, "--all"]);
            assert_eq!((code, &found["equal"]), (0, &json!(true)), "{kind} by {dimension}");
            assert!(rows(&found, "differing").is_empty() && !rows(&found, "agreeing").is_empty(), "{kind} {dimension}");
        }
        for measure in ["outstanding", "growth", "peak"] {
            assert_eq!(diff(&[TRACE, TRACE, "--of", kind, "--measure", measure, "--match", "pid"]).0, 0, "{measure}");
        }
    }
    let (code, found) = diff(&[OTHER, OTHER, "--group-by", "process,stack,function", "--apart", "--all"]);
    let rows = rows(&found, "agreeing");
    assert!(
        code == 0 && rows.iter().any(|row| row["stack"].as_str().is_some_and(|text| text.contains(';'))),
        "{rows:?}"
    );
}

/// The parts of a row by which `allocations` and `diff` can be compared.
fn sums(row: &Value) -> Value {
    let number = |name: &str| row[name].as_i64().expect("a number");
    json!([number("at_end_bytes"), number("at_end_bytes") - number("at_start_bytes"), number("peak_bytes")])
}

#[test]
fn both_sides_are_those_of_allocations() {
    let (code, found) = diff(&[TRACE, OTHER, "--of", "commit", "--group-by", "pages,thread", "--all"]);
    assert_eq!(code, 1);
    let joined: Vec<Value> = [rows(&found, "differing"), rows(&found, "agreeing")].concat();
    for (side, trace) in [("left", TRACE), ("right", OTHER)] {
        let of_side = |name: &str, row: &Value| row[format!("{side}_{name}")].clone();
        let own = allocations(trace, &["--of", "commit", "--group-by", "pages,thread"]);
        for row in rows(&own, "rows") {
            let same = |joined: &&Value| joined["pages"] == row["pages"] && joined["thread"] == row["thread"];
            let joined = joined.iter().find(same).unwrap_or_else(|| panic!("no {row}"));
            let found = ["outstanding_bytes", "growth_bytes", "peak_bytes"].map(|name| of_side(name, joined));
            assert_eq!(json!(found), sums(&row), "{side} {row}");
            assert_eq!(of_side("pieces", joined), row["at_end_count"]);
        }
        let total = ["outstanding_bytes", "growth_bytes", "peak_bytes"].map(|name| of_side(name, &found["total"]));
        assert_eq!(json!(total), sums(&own["total"]));
    }
    for row in &joined {
        let number = |name: &str| row[name].as_i64().expect("a number");
        assert_eq!(
            number("delta_bytes"),
            number("right_outstanding_bytes") - number("left_outstanding_bytes"),
            "{row}"
        );
    }
    assert!(rows(&found, "differing").iter().all(|row| row["delta_bytes"] != json!(0)));
}

/// All processes of one name are one row. Their peak is that of their sum, which is less than the sum of their peaks.
#[test]
fn the_peak_of_processes_of_one_name_is_that_of_their_sum() {
    let (_, found) = diff(&[TRACE, TRACE, "--of", "commit", "--all"]);
    let apart = rows(&allocations(TRACE, &["--of", "commit"]), "rows");
    let mut together = 0;
    for row in rows(&found, "agreeing") {
        let name = row["process"].as_str().expect("a name");
        let condition = format!("process={name}");
        let own = allocations(TRACE, &["--of", "commit", "--where", &condition]);
        assert_eq!(row["left_peak_bytes"], own["total"]["peak_bytes"], "{row}");
        let begins = format!("{name} (");
        let of_name = apart.iter().filter(|row| row["process"].as_str().is_some_and(|text| text.starts_with(&begins)));
        let peaks: u64 = of_name.map(|row| row["peak_bytes"].as_u64().unwrap_or(0)).sum();
        together += usize::from(Some(peaks) != row["left_peak_bytes"].as_u64());
    }
    assert!(together > 0, "no two processes of one name have their peaks at different times");
}

#[test]
fn a_tolerance_and_a_condition_hold_for_both_sides() {
    let (code, found) = diff(&[TRACE, OTHER, "--of", "commit", "--tolerance", "1 TiB", "--all"]);
    assert_eq!((code, &found["equal"]), (0, &json!(true)));
    assert!(found["rows_within_tolerance"].as_u64() > Some(0), "{found}");
    let (code, found) = diff(&[TRACE, OTHER, "--of", "commit", "--where", "process=nobody.exe"]);
    assert_eq!((code, &found["equal"]), (1, &json!(false)), "nothing was compared");
    // The blanks that fill a tag up to four characters do not count.
    let tags = rows(&allocations(TRACE, &["--of", "pool"]), "rows");
    let tag = tags.iter().filter_map(|row| row["tag"].as_str()).find(|tag| tag.ends_with(' ')).expect("a short tag");
    let condition = format!("tag={}", tag.trim_end());
    let (code, found) = diff(&[TRACE, TRACE, "--of", "pool", "--where", &condition, "--all"]);
    assert_eq!((code, rows(&found, "agreeing").len(), &rows(&found, "agreeing")[0]["tag"]), (0, 1, &json!(tag)));
}

#[test]
fn doubts_of_both_sides_are_told() {
    let (_, found) = diff(&[TRACE, TRACE, "--of", "heap"]);
    let warnings = found["warnings"].as_array().expect("warnings");
    for side in ["LEFT", "RIGHT"] {
        for words in ["left out: ", "nothing tells what heap blocks "] {
            let line = format!("{side}: {words}");
            assert!(warnings.iter().any(|text| text.as_str().is_some_and(|text| text.starts_with(&line))), "{found}");
        }
    }
}

#[test]
fn screens() {
    let shown = |more: &[&str]| -> String {
        let ran: Ran = run(&[&["diff", TRACE, OTHER, "--allocations", "-q"], more].concat());
        assert_eq!(ran.code, 1, "{ran:?}");
        ran.out
    };
    insta::assert_snapshot!("diff_commit", shown(&["--of", "commit", "--top", "5"]));
    insta::assert_snapshot!("diff_growth", shown(&["--of", "commit", "--measure", "growth", "--group-by", "pages"]));
    insta::assert_snapshot!("diff_peak", shown(&["--of", "commit", "--measure", "peak", "--top", "2"]));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    for (arguments, code, says) in [
        (
            &["diff", TRACE, "resident-small.etl", "--allocations", "--of", "pool"][..],
            4,
            "RIGHT (resident-small.etl): ",
        ),
        (&["diff", TRACE, TRACE, "--of", "commit"], 2, "--of commit is for --allocations"),
        (&["diff", TRACE, TRACE, "--allocations", "--of", "samples"], 2, "known are commit, pool, heap"),
        (&["diff", TRACE, TRACE, "--allocations", "--measure", "self"], 2, "is for --of samples"),
        (&["diff", TRACE, TRACE, "--measure", "peak"], 2, "--allocations"),
        (&["diff", TRACE, TRACE, "--allocations", "--refset"], 2, "--refset"),
        (&["diff", TRACE, TRACE, "--allocations", "--snapshot", "0"], 2, "--snapshot"),
        (&["diff", TRACE, TRACE, "--allocations", "--symbols", "."], 2, "--symbols names functions"),
        (
            &["diff", TRACE, TRACE, "--allocations", "--of", "heap", "--group-by", "tag"],
            2,
            "tag is a dimension of pool",
        ),
    ] {
        let ran = run(arguments);
        assert!(ran.code == code && ran.out.is_empty() && ran.err.contains(says), "{arguments:?}: {ran:?}");
    }
}

/// Plain `diff` told it, and `check --baseline`; what was allocated, and which code ran, was compared without a word.
#[test]
fn another_build_of_windows_is_told_of_all_that_is_compared() {
    let whole = fixture(OTHER);
    // Build of the log-file header: after those of the buffer and the record, and four bytes of its own.
    let at = 72 + 32 + 8;
    let build = u16::from_le_bytes([whole[at], whole[at + 1]]);
    let mut bytes = whole;
    bytes[at..at + 2].copy_from_slice(&(build + 1).to_le_bytes());
    let other = file_of(&bytes);
    let path = other.path().to_str().expect("UTF-8");
    for what in [&["--allocations"][..], &["--of", "samples"], &["--of", "cswitch"]] {
        let told = |right: &str| {
            let ran = run(&[&["diff", OTHER, right, "--format", "json", "-q"], what].concat());
            let found: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
            let texts: Vec<String> = rows(&found, "warnings").iter().map(|text| text.to_string()).collect();
            texts.into_iter().filter(|text| text.contains(" of Windows")).collect::<Vec<_>>()
        };
        let says = format!(
            "\"RIGHT: it is of build {} of Windows, LEFT of build {build}: growth is that of both\"",
            build + 1
        );
        assert_eq!((told(OTHER), told(path)), (vec![], vec![says]), "{what:?}");
    }
}

/// Some were `Unknown`, and those that no record lists kept their ids, which were compared with ids of another recording.
#[test]
fn processes_without_a_name_are_one_row_unless_ids_are_compared() {
    let nameless = |found: &Value, key: &str| -> Vec<(String, u64)> {
        let lists = ["rows", "differing", "agreeing"].into_iter();
        let named = lists.flat_map(|list| rows(found, list)).map(|row| {
            let bytes = row[key].as_u64().unwrap_or_default();
            (row["process"].as_str().unwrap_or_default().to_owned(), bytes)
        });
        named.filter(|(process, _)| process.starts_with("Unknown")).collect()
    };
    // More are in no list where the records of processes are of another kind, which no reader knows.
    let mut bytes = fixture(TRACE);
    for record in places(&bytes, &[0x0301, 0x0302, 0x0303, 0x0304]) {
        bytes[record.start + 6..record.start + 8].copy_from_slice(&0x0eff_u16.to_le_bytes());
    }
    let unlisted = file_of(&bytes);
    let left = unlisted.path().to_str().expect("UTF-8");
    for of in ["heap", "commit", "pool"] {
        let by = ["--of", of, "--group-by", "process"];
        let sum = |trace: &str| {
            let own = nameless(&allocations(trace, &by), "at_end_bytes");
            assert!(own.iter().all(|(process, _)| process.starts_with("Unknown (")), "{own:?}");
            own.iter().map(|(_, bytes)| bytes).sum::<u64>()
        };
        let (_, found) = diff(&[&[left, TRACE, "--all"], &by[..]].concat());
        let both = ["left_outstanding_bytes", "right_outstanding_bytes"].map(|side| nameless(&found, side));
        let one = |trace: &str| vec![("Unknown".to_owned(), sum(trace))];
        assert_eq!(both, [one(left), one(TRACE)], "{of}");
        let (_, by_id) = diff(&[&[left, TRACE, "--all", "--match", "pid"], &by[..]].concat());
        let ids = nameless(&by_id, "left_outstanding_bytes");
        assert!(!ids.is_empty() && ids.iter().all(|(process, _)| process.starts_with("Unknown (")), "{of}: {ids:?}");
        // No start orders those that no record lists.
        let (_, apart) = diff(&[&[left, TRACE, "--all", "--apart"], &by[..]].concat());
        let apart = nameless(&apart, "left_outstanding_bytes");
        let is_apart = |name: &str| name == "Unknown" || name.starts_with("Unknown #");
        assert!(apart.iter().all(|(process, _)| is_apart(process)), "{of}: {apart:?}");
    }
}
