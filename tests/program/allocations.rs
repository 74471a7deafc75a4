//! `pfnset allocations` against what is known of a made-up trace: numbers that another program computed.

use crate::program::{out, run};
use serde_json::{Value, json};

fn assert_refused(arguments: &[&str], says: &str) {
    let ran = run(arguments);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
    assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
}

const TRACE: &str = "alloc-x86.etl";

fn json_of(more: &[&str]) -> Value {
    serde_json::from_str(&out(&[&["allocations", TRACE, "-q", "--format", "json"], more].concat())).expect("JSON")
}

#[test]
fn commit_is_exact() {
    let all = json_of(&[]);
    let total = &all["total"];
    let names = ["at_start_bytes", "allocated_bytes", "freed_bytes", "at_end_bytes", "at_end_count", "peak_bytes"];
    let found: Vec<&Value> = names.iter().map(|name| &total[*name]).collect();
    assert_eq!(json!(found), json!([11034624, 106754048, 97288192, 20500480, 83, 25698304]));
    assert_eq!(total["peak_time_s"], json!(5.744387922));
    assert_eq!(total["lifetime"]["p99_ns"], json!(3098662545u64));
    assert_eq!(all["at_start"], json!({ "born": 26, "start_rundown": 6 }));
    assert_eq!(all["check"]["equal"], json!(12));
    assert_eq!((&all["balanced"], all["rows"].as_array().map(Vec::len)), (&json!(true), Some(30)));
}

#[test]
fn pool_and_heap_are_exact() {
    let pool = json_of(&["--of", "pool"]);
    assert_eq!(pool["records"], json!({ "allocations": 655, "frees": 436, "mismatched": 14, "malformed": 0 }));
    assert_eq!(pool["check"], json!({ "entries": 43, "live": 41, "missing": 0 }));
    assert_eq!(pool["total"]["at_end_bytes"], json!(1625312));
    let heap = json_of(&["--of", "heap", "--from", "work-start", "--to", "work-end"]);
    assert_eq!(heap["window"]["start_mark"], json!("work-start"));
    let total = &heap["total"];
    assert_eq!([&total["impacting_bytes"], &total["kept_count"]], [&json!(56038), &json!(12)]);
    assert_eq!(total["freed_by"]["heap_destroy"], json!({ "bytes": 8241, "count": 14 }));
}

#[test]
fn conditions_select_pieces() {
    let kept = json_of(&["--where", "reason=outstanding", "--group-by", "process"]);
    assert_eq!([&kept["total"]["at_end_bytes"], &kept["total"]["freed_bytes"]], [&json!(20500480), &json!(0)]);
    let large = json_of(&["--where", "pages=large", "--group-by", "reason"]);
    let freed =
        large["rows"].as_array().expect("rows").iter().filter_map(|row| row["freed_bytes"].as_u64()).sum::<u64>();
    assert_eq!(json!(freed), large["total"]["freed_bytes"]);
    let leaks = json_of(&["--preset", "leaks"]);
    assert_eq!(leaks["total"]["at_end_bytes"], leaks["total"]["impacting_bytes"]);
    assert!(leaks["total"]["impacting_bytes"].as_u64() < json_of(&[])["total"]["impacting_bytes"].as_u64());
}

#[test]
fn functions_that_allocated() {
    let all = |more: &[&str]| -> Value {
        let line = [&["allocations", "stacks-keys.etl", "-q", "--format", "json"], more].concat();
        serde_json::from_str(&out(&line)).expect("JSON")
    };
    let by = all(&["--group-by", "function"]);
    assert_eq!(by["rows"][0]["function"], json!("hal.dll+0x36ed3"));
    let total = by["total"]["allocated_bytes"].clone();
    // Any frame of the stack, not only the innermost one.
    let one = all(&["--where", "function=hal.dll*", "--group-by", "stack"]);
    assert!(one["total"]["allocated_bytes"].as_u64() < total.as_u64());
    for row in one["rows"].as_array().expect("rows") {
        assert!(row["stack"].as_str().is_some_and(|stack| stack.contains("hal.dll+")), "{row}");
    }
}

#[test]
fn screens() {
    insta::assert_snapshot!("first_screen", out(&["allocations", TRACE, "-q"]));
    insta::assert_snapshot!("pool", out(&["allocations", TRACE, "-q", "--of", "pool"]));
    insta::assert_snapshot!("leaks", out(&["allocations", TRACE, "-q", "--preset", "leaks", "--top", "5"]));
    insta::assert_snapshot!("growth", out(&["allocations", TRACE, "-q", "--preset", "growth", "--top", "5"]));
    insta::assert_snapshot!(
        "churn",
        out(&["allocations", TRACE, "-q", "--of", "heap", "--preset", "churn", "--top", "5"])
    );
    insta::assert_snapshot!("lifetimes", out(&["allocations", TRACE, "-q", "--preset", "lifetimes", "--top", "5"]));
    insta::assert_snapshot!("timeline", out(&["allocations", TRACE, "-q", "--timeline", "1"]));
}

#[test]
fn wrong_usage_is_answered_with_the_remedy() {
    assert_refused(
        &["allocations", TRACE, "--of", "heap", "--group-by", "tag"],
        "tag is a dimension of pool, not of heap",
    );
    assert_refused(&["allocations", TRACE, "--timeline", "1", "--top", "3"], "--top has no effect");
    let ran = run(&["allocations", "resident-small.etl", "--of", "pool"]);
    assert!(ran.code == 4 && ran.err.contains("the keyword Pool"), "{ran:?}");
}

#[test]
fn pool_tags_have_their_drivers() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("pooltag.txt");
    std::fs::write(&file, "rem\r\nNt?x - ntfs.sys   - NTFS\r\nThre - <unknown> - Thread objects\r\n").expect("file");
    let file = file.to_str().expect("a name");
    let all = json_of(&["--of", "pool", "--pooltags", file]);
    let row = |tag: &str| {
        let mut rows = all["rows"].as_array().expect("rows").iter();
        let row = rows.find(|row| row["tag"] == tag).unwrap_or_else(|| panic!("no {tag} in {all}"));
        json!([row["tag_driver"], row["tag_text"]])
    };
    assert_eq!(row("Ntfx"), json!(["ntfs.sys", "NTFS"]));
    assert_eq!([row("Thre"), row("Proc")], [json!([null, "Thread objects"]), json!([null, null])]);
    let table = out(&["allocations", TRACE, "-q", "--of", "pool", "--top", "20", "--pooltags", file]);
    assert!(table.contains("Ntfx (ntfs.sys) ") && table.contains("Thre (Thread objects) "), "{table}");
    // A file that has no effect is not passed over.
    assert_refused(&["allocations", TRACE, "--pooltags", file], "--pooltags is for rows of pool tags");
    assert_refused(&["allocations", TRACE, "--of", "pool", "--pooltags", "none.txt"], "--pooltags none.txt: ");
    assert_refused(
        &["allocations", TRACE, "--of", "pool", "--pooltags", TRACE],
        "no line of it is `TAG - DRIVER - TEXT`",
    );
}
