//! `pfnset allocations` against what is known of a made-up trace: numbers that another program computed.

use crate::program::{finish, out, pfnset, run};
use crate::terminal::on_a_terminal;
use etl_writer::payloads::memory::{COMMIT, DECOMMIT, RESERVE, virtual_alloc, virtual_free};
use etl_writer::payloads::pages::{IN_MEMORY, Identity, list};
use etl_writer::payloads::pool::{self, BigPool, Counted};
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::{Value, json};
use std::path::Path;

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

/// Rows and conditions by function leave out what has no stack; nothing said how much that is.
#[test]
fn pieces_without_a_stack_are_told() {
    for (of, pieces, without) in [("commit", 33, 3), ("pool", 17, 2), ("heap", 23, 3)] {
        let of_keys = |more: &[&str]| {
            let asked = [&["allocations", "stacks-keys.etl", "--of", of, "-q", "--format", "json"], more].concat();
            serde_json::from_str::<Value>(&out(&asked)).expect("JSON")
        };
        let rows = of_keys(&["--group-by", "function"]);
        let by_name =
            |name: &str| rows["rows"].as_array().expect("rows").iter().find(|row| row["function"] == name).cloned();
        let no_stack = by_name("[no stack]").expect("a row");
        let chosen = of_keys(&["--where", "function=hal*"]);
        for set in [&rows, &chosen] {
            let stacks = &set["stacks"];
            let number = |key: &str| stacks[key].as_u64().expect("a number");
            assert_eq!(number("allocated_pieces"), pieces, "{of}");
            assert_eq!(pieces - number("allocated_pieces_with_stack"), without, "{of}");
            let bytes = number("allocated_bytes") - number("allocated_bytes_with_stack");
            assert_eq!([&json!(without), &json!(bytes)], [&no_stack["allocated_count"], &no_stack["allocated_bytes"]]);
            let warning = format!("{without} of {pieces} pieces (");
            assert!(set["warnings"].to_string().contains(&warning), "{}", set["warnings"]);
            assert!(stacks.get("freed_pieces").is_none());
        }
        let freed = of_keys(&["--group-by", "free_function"]);
        assert!(freed["stacks"]["freed_pieces"].is_u64() && freed["stacks"].get("allocated_pieces").is_none());
        assert!(of_keys(&[]).get("stacks").is_none());
    }
}

/// What a dimension can never have gave a warning and code 0.
#[test]
fn labels_that_cannot_be_are_refused() {
    for (of, condition, says) in [
        ("commit", "reason=foo", "reason is never \"foo\"; known are decommit, release, free"),
        ("heap", "source=foo", "source is never \"foo\"; known are lookaside"),
        ("commit", "size=3", "size is never \"3\"; it is a power of two"),
        ("commit", "thread=x", "thread is never \"x\"; it is a whole number"),
        ("pool", "session=abc", "session is never \"abc\""),
    ] {
        assert_refused(&["allocations", TRACE, "--of", of, "--where", condition], says);
    }
    assert_refused(&["processes", TRACE, "--where", "pid=abc"], "pid is never \"abc\"; it is a whole number");
    assert_refused(&["faults", "faults-x86.etl", "--where", "disk=x"], "disk is never \"x\"");
    assert_refused(&["cpu", "cpu-compressed.etl", "--where", "processor=x"], "processor is never \"x\"");
    for (of, condition) in [("heap", "source=1*;7"), ("commit", "size=1*;4096"), ("commit", "reason=free*;lost")] {
        assert_eq!(run(&["allocations", TRACE, "--of", of, "--where", condition]).code, 0, "{condition}");
    }
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

/// Tables tell processes of one name and id apart by their start, and no condition knew that label.
#[test]
fn a_label_with_a_start_chooses_that_process() {
    let rows = |pattern: &str| -> Vec<Vec<String>> {
        let condition = format!("process={pattern}");
        let line = ["allocations", TRACE, "-q", "--group-by", "process", "--format", "markdown", "--unit", "kib"];
        let shown = out(&[&line[..], &["--top", "1000", "--where", &condition]].concat());
        let rows = shown.lines().filter(|line| line.starts_with("| ") && line.contains(".exe ("));
        rows.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
    };
    let all = rows("*");
    let told_apart: Vec<_> = all.iter().filter(|row| row[1].contains(" from ")).collect();
    assert!(told_apart.len() > 5, "{all:?}");
    for row in told_apart {
        assert_eq!(rows(&row[1]), std::slice::from_ref(row));
        assert!(!rows(&format!("!{}", row[1])).contains(row));
        let of_all: Vec<_> = rows(row[1].split(" from ").next().expect("name and id"));
        assert!(of_all.len() > 1 && of_all.contains(row), "{of_all:?}");
    }
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

/// Rows were in the order of the 95th percentile: the row of the rest could have a longer life than all that were shown.
#[test]
fn longest_lives_come_first() {
    for of in ["commit", "pool", "heap"] {
        for by in ["process", "thread"] {
            let line =
                ["allocations", TRACE, "-q", "--of", of, "--sort", "lifetime", "--group-by", by, "--format", "json"];
            let set: Value = serde_json::from_str(&out(&line)).expect("JSON");
            let rows = set["rows"].as_array().expect("rows");
            let longest: Vec<u64> = rows.iter().map(|row| row["lifetime"]["max_ns"].as_u64().unwrap_or(0)).collect();
            assert!(longest.len() > 1 && longest.is_sorted_by(|a, b| a >= b), "{of} {by}: {longest:?}");
        }
    }
}

/// With the last line, which repeats what makes the numbers wrong, and the prompt 24 lines.
#[test]
fn first_screens_fit() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/synthetic");
    let kinds = ["commit", "pool", "heap"];
    let traces =
        kinds.map(|of| (beside.join(format!("alloc-{of}.etl")), of)).into_iter().filter(|(trace, _)| trace.exists());
    for (trace, of) in traces.chain(kinds.map(|of| (TRACE.into(), of))) {
        let line = format!("pfnset allocations {} --of {of}", trace.display());
        let Some(shown) = on_a_terminal("first_screens_fit", 80, &line) else { return };
        let lines: Vec<&str> = shown.lines().collect();
        let seen = lines[lines.len().saturating_sub(23)..].join("\n");
        for part in ["sizes in", "At start ", "over time: ", "nd ", "Growth", "+ ", "Total ", "Other kinds: "] {
            assert!(seen.contains(part), "{line}: no {part:?}\n{shown}");
        }
        // Nothing of it takes a second line.
        let from_title = lines.iter().skip_while(|line| !line.contains("; sizes in")).count();
        let repeated = usize::from(lines.last().is_some_and(|last| last.starts_with("! ")));
        assert!(from_title - repeated <= 18, "{line}\n{shown}");
        assert_eq!(repeated == 1, lines[0].starts_with("! DATA WAS LOST"), "{line}\n{shown}");
    }
    for of in kinds {
        let line = format!("pfnset allocations {TRACE} --of {of}");
        let Some(shown) = on_a_terminal("first_screens_fit", 80, &line) else { return };
        insta::assert_snapshot!(format!("screen_80_{of}"), shown);
    }
}

/// Pages of big pool have the same words for their tags as allocations.
#[test]
fn resident_pages_have_the_tags_of_pool() {
    let session = Session { processors: 1, ..Session::windows10() };
    let base = 0xffff_a18f_0000_0000;
    let entry =
        |at: u64, tag: &[u8; 4]| BigPool { address: base + at * 0x1_0000, bytes: 0x2000, tag: *tag, non_paged: false };
    let entries = [entry(0, b"Ntf "), entry(1, b"Thre")];
    let page = |pfn, at: u64| Identity::new(4, pfn, 0, base + at).rec(P8, 4, IN_MEMORY);
    let mut recs = vec![Process::new(4, "System").rec(P8, 4, process::DC_START)];
    recs.push(pool::big_pool(P8, 0x0e2a, None, Counted::Padded, &entries));
    recs.extend([page(1, 0), page(2, 0x1000), page(3, 0x1_0000), page(4, 0x5_0000)]);
    let begin = session.t0;
    let recs = (0..).zip(recs).map(|(number, rec)| rec.at(begin + number * 10));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("pool.etl"), Trace::new(session).push_all(recs).finish()).expect("room");
    std::fs::write(folder.path().join("tags.txt"), "Ntf - ntfs.sys - files\n").expect("room");
    std::fs::write(folder.path().join("others.txt"), "Zzzz - z.sys - nothing\n").expect("room");
    let of = |more: &[&str]| {
        let line = [&["resident", "pool.etl", "--group-by", "pool_tag"], more].concat();
        finish(pfnset(&line).current_dir(folder.path()))
    };
    let all: Value = serde_json::from_str(&of(&["-q", "--format", "json"]).out).expect("JSON");
    let rows = all["snapshots"][0]["rows"].as_array().expect("rows");
    let rows: Vec<Value> = rows.iter().map(|row| json!([row["pool_tag"], row["pages"]])).collect();
    assert_eq!(json!(rows), json!([["Ntf ", 2], ["Thre", 1], ["n/a", 1]]));
    assert!(of(&[]).out.contains("Thre (threads)"), "{:?}", of(&[]));
    let named = of(&["--pooltags", "tags.txt"]);
    assert!(named.out.contains("Ntf  (ntfs.sys)") && named.err.is_empty(), "{named:?}");
    assert!(of(&["--pooltags", "others.txt"]).err.contains("it names no tag of the rows"));
    // Nobody writes the blanks that fill a tag.
    let chosen = of(&["-q", "--where", "pool_tag=Ntf", "--format", "csv"]);
    assert_eq!(chosen.out.lines().count(), 2, "{chosen:?}");
    // A page of the pool has a tag also where nobody recorded any; other pages have none.
    let unknown = run(&["resident", "resident-small.etl", "--group-by", "use,pool_tag", "--format", "csv"]);
    assert!(unknown.err.contains("no record of the pool is in the trace"), "{}", unknown.err);
    for line in unknown.out.lines().skip(1) {
        assert_eq!(line.contains("PagedPool,"), line.contains(",Unknown,"), "{line}");
    }
    assert!(unknown.out.contains(",Unknown,"), "{}", unknown.out);
    assert_refused(
        &["resident", "resident-small.etl", "--pooltags", "any.txt"],
        "--pooltags is for rows of pool tags: --group-by pool_tag",
    );
}

/// Each command of docs/allocations.md on a fixture shows rows.
#[test]
fn the_guide_shows_rows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("docs/allocations.md")).expect("the guide");
    let commands =
        guide.lines().filter_map(|line| line.strip_prefix("$ pfnset ")).filter(|line| line.contains("fixtures/"));
    let mut count = 0;
    for line in commands {
        let words: Vec<&str> = line.split(" #").next().unwrap_or_default().split_whitespace().collect();
        let words: Vec<&str> = words.iter().map(|word| word.trim_matches('"')).collect();
        let ran = finish(pfnset(&words).current_dir(root));
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        let has_rows = ran.out.lines().any(|line| line.starts_with("──")) && !ran.out.contains("Nothing meets");
        assert!(has_rows, "{line}: {}", ran.out);
        count += 1;
    }
    assert!(count >= 3);
    // And the function that touched most pages is one command away, in the first row.
    let ran = finish(pfnset(&["stacks", "fixtures/stacks-keys.etl", "--of", "page-access", "-q"]).current_dir(root));
    let rows: Vec<&str> = ran.out.lines().skip_while(|line| !line.starts_with("──")).skip(1).collect();
    assert!(rows[0].starts_with("win32k.sys+0x71ad5 "), "{}", ran.out);
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
    // What the file does not say is told in our own words.
    assert_eq!([row("Thre"), row("Proc")], [json!([null, "Thread objects"]), json!([null, "processes"])]);
    let table = out(&["allocations", TRACE, "-q", "--of", "pool", "--top", "20", "--pooltags", file]);
    assert!(table.contains("Ntfx (ntfs.sys) ") && table.contains("Thre (Thread objects) "), "{table}");
    // A file that has no effect is not passed over.
    std::fs::write(folder.path().join("others.txt"), "Zzzz - z.sys - none of these\n").expect("file");
    let others = folder.path().join("others.txt");
    let told = run(&["allocations", TRACE, "--of", "pool", "--pooltags", others.to_str().expect("a name")]);
    assert!(told.code == 0 && told.err.contains("it names no tag of the rows"), "{told:?}");
    assert_refused(&["allocations", TRACE, "--pooltags", file], "--pooltags is for rows of pool tags");
    assert_refused(&["allocations", TRACE, "--of", "pool", "--pooltags", "none.txt"], "--pooltags none.txt: ");
    assert_refused(
        &["allocations", TRACE, "--of", "pool", "--pooltags", TRACE],
        "no line of it is `TAG - DRIVER - TEXT`",
    );
}

/// A trace with stacks tells itself which driver a tag is of; a file counts more.
#[test]
fn pool_tags_get_the_drivers_of_their_stacks() {
    let trace = "stacks-keys.etl";
    let json = |more: &[&str]| -> Value {
        let base = ["allocations", trace, "-q", "--of", "pool", "--format", "json"];
        serde_json::from_str(&out(&[&base, more].concat())).expect("JSON")
    };
    let row = |all: &Value| {
        let row = &all["rows"][0];
        json!([row["tag"], row["tag_driver"], row["tag_text"]])
    };
    let by_stack = json(&["--group-by", "function", "--where", "tag=Abcd"]);
    let mut modules: Vec<&str> =
        by_stack["rows"].as_array().expect("rows").iter().filter_map(|r| r["function"].as_str()).collect();
    modules.retain(|function| function.contains(".sys+"));
    assert!(!modules.is_empty(), "{by_stack}");
    let all = json(&[]);
    let driver = all["rows"][0]["tag_driver"].as_str().expect("a driver");
    let first = driver.split(", ").next().expect("a name");
    assert!(modules.iter().any(|function| function.starts_with(first)), "{driver}: {modules:?}");
    assert_eq!(all["rows"][0]["tag_text"], Value::Null);
    let table = out(&["allocations", trace, "-q", "--of", "pool"]);
    assert!(table.contains(&format!("Abcd ({driver})")), "{table}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pooltag.txt");
    std::fs::write(&file, "Abcd - own.sys - letters\n").expect("file");
    let named = json(&["--pooltags", file.to_str().expect("a name")]);
    assert_eq!(row(&named), json!(["Abcd", "own.sys", "letters"]));
}

/// app.exe commits 16 pages and gives 4 back, of the others 5 are in RAM; other.exe commits 8, all in RAM, and later 100. A page of
/// app.exe lies in no commit.
fn committed_and_not_in_ram(more_pages: impl IntoIterator<Item = Rec>) -> Vec<u8> {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut time = session.t0;
    let mut recs = Vec::new();
    let mut log = |rec: Rec| {
        time += 10;
        recs.push(rec.at(time));
    };
    for (pid, name) in [(40, "app.exe"), (48, "other.exe")] {
        log(Process::new(pid, name).rec(P8, 4, process::START));
    }
    let page = |number: u64| 0x10_0000 + number * 4096;
    log(virtual_alloc(P8, page(0), 16 * 4096, 40, RESERVE | COMMIT).by(44, 40));
    log(virtual_free(P8, page(12), 4 * 4096, 40, DECOMMIT).by(44, 40));
    log(virtual_alloc(P8, page(0), 8 * 4096, 48, RESERVE | COMMIT).by(52, 48));
    let of = |pid: u64, numbers: std::ops::Range<u64>| numbers.map(move |number| (pid, page(number)));
    let pages = of(40, 3..7).chain(of(40, 11..12)).chain(of(40, 12..13)).chain(of(48, 0..8));
    for (pfn, (pid, address)) in (0x100..).zip(pages) {
        let page = Identity::private(pfn, pid, address);
        log(if pfn == 0x101 { page.on_list(list::STANDBY) } else { page }.rec(P8, 4, IN_MEMORY));
    }
    more_pages.into_iter().for_each(&mut log);
    log(virtual_alloc(P8, page(1000), 100 * 4096, 48, RESERVE | COMMIT).by(52, 48));
    Trace::new(session).push_all(recs).finish()
}

#[test]
fn commit_that_is_not_in_ram() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("both.etl"), committed_and_not_in_ram([])).expect("room for a trace");
    let of = |more: &[&str]| {
        let line = [&["allocations", "both.etl", "-q", "--preset", "not-resident"], more].concat();
        finish(pfnset(&line).current_dir(folder.path()))
    };
    let all: Value = serde_json::from_str(&of(&["--format", "json"]).out).expect("JSON");
    let sums = |row: &Value| {
        ["committed", "resident", "not_resident"].map(|name| {
            let bytes = row[format!("snapshot_{name}_bytes")].as_u64().expect("bytes");
            bytes / 4096
        })
    };
    assert_eq!(
        (sums(&all["total"]), sums(&all["rows"][0]), sums(&all["rows"][1])),
        ([20, 13, 7], [12, 5, 7], [8, 8, 0])
    );
    assert_eq!(all["rows"][0]["process"], json!("app.exe (40)"));
    assert_eq!(
        [&all["snapshot"]["private_bytes"], &all["snapshot"]["in_commit_bytes"]],
        [&json!(14 * 4096), &json!(13 * 4096)]
    );
    // Conditions choose rows, not what lies in commit.
    let one: Value =
        serde_json::from_str(&of(&["--format", "json", "--where", "process=other.exe"]).out).expect("JSON");
    assert_eq!((sums(&one["total"]), &one["snapshot"]), ([8, 8, 0], &all["snapshot"]));
    insta::assert_snapshot!("not_resident", of(&[]).out);
    // Two pages at one address: one of them is left out, and the line says so.
    let twice = [Identity::private(0x200, 40, 0x10_0000 + 3 * 4096).rec(P8, 4, IN_MEMORY)];
    std::fs::write(folder.path().join("both.etl"), committed_and_not_in_ram(twice)).expect("room for a trace");
    let again: Value = serde_json::from_str(&of(&["--format", "json"]).out).expect("JSON");
    assert_eq!(
        ["private_bytes", "in_commit_bytes", "at_same_address_bytes"].map(|key| again["snapshot"][key].as_u64()),
        [14, 13, 1].map(|pages| Some(pages * 4096))
    );
    let says = "each address once (without 1 page at addresses where the process has another page)";
    assert!(of(&[]).out.replace('\n', " ").contains(says), "{}", of(&[]).out);
    std::fs::write(folder.path().join("both.etl"), committed_and_not_in_ram([])).expect("room for a trace");
    for (more, says) in [
        (&["--from", "0"][..], "--from and --to have no effect"),
        (&["--snapshot", "7"], "there is no snapshot 7"),
        (&["--group-by", "reason"], "reason is known when a piece ends"),
        (&["--where", "size=1"], "size is known when a piece ends"),
        (&["--of", "pool"], "the keyword Pool"),
    ] {
        let ran = of(more);
        assert!(ran.code != 0 && ran.out.is_empty() && ran.err.contains(says), "{more:?}: {ran:?}");
    }
    assert_refused(
        &["allocations", TRACE, "--preset", "leaks", "--snapshot", "0"],
        "--snapshot is for --preset not-resident",
    );
    let ran = run(&["allocations", TRACE, "--preset", "not-resident"]);
    assert!(ran.code == 4 && ran.err.contains("InMemory"), "{ran:?}");
}

/// A buffer that is missing at a known time hid that more was lost at no known time.
#[test]
fn losses_without_a_time_are_told_beside_those_with_one() {
    let of = |events_lost: u32, lost: &'static [u64]| {
        let session = Session { processors: 1, events_lost, ..Session::windows10() };
        let t0 = session.t0;
        let mut trace = Trace::new(session);
        trace.add(&Process::new(40, "app.exe").rec(P8, 4, process::DC_START).at(t0 + 1));
        for second in 1..5u64 {
            let base = 0x10_0000 * second;
            trace.add(&virtual_alloc(P8, base, 0x1000, 40, RESERVE | COMMIT).at(t0 + second * 10_000_000));
            trace = trace.flush_all();
        }
        let file = file_of(&trace.lose_buffers(lost).finish());
        out(&["allocations", file.path().to_str().expect("a plain name")])
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (dated, undated) = ("missing between", "at times that the trace does not tell");
    let both = of(7, &[2]);
    assert!(both.contains(dated) && both.contains(undated), "{both}");
    let one = of(0, &[2]);
    assert!(one.contains(dated) && !one.contains(undated), "{one}");
    let other = of(7, &[]);
    assert!(!other.contains(dated) && other.contains(undated), "{other}");
}

/// An address that one processor frees and another one allocates at one time stamp: sums followed the order of their buffers in the file.
#[test]
fn records_of_equal_time_have_one_order_wherever_their_buffers_lie() {
    let session = || Session { processors: 2, buffer_size: 0x400, ..Session::windows10() };
    let begin = session().t0 + 1000;
    let of = |hook, number: u64| pool::pool(P8, hook, 1, *b"Test", 64, 0xffff_a000_0000_0000 + number % 3 * 0x1000);
    let records = (0..90u64).map(|number| {
        let (hook, processor) = if number % 2 == 0 { (pool::ALLOC, 1) } else { (pool::FREE, 0) };
        of(hook, number / 2).at(begin + number / 2 * 5).on(processor)
    });
    let records: Vec<Rec> = records.collect();
    let folder = tempfile::tempdir().expect("a folder");
    let told = |trace: Trace| {
        std::fs::write(folder.path().join("pool.etl"), trace.finish()).expect("room");
        let asked = ["allocations", "pool.etl", "--of", "pool", "-q", "--format", "json"];
        finish(pfnset(&asked).current_dir(folder.path())).out
    };
    let trace = || Trace::new(session()).push_all(records.clone());
    let first = told(trace());
    let by_processor = |is_reversed: bool| {
        told(trace().edit_buffers(move |buffers| buffers.sort_by_key(|buffer| (buffer.processor == 0) == is_reversed)))
    };
    assert!(first.contains("\"allocations\": 45"), "{first}");
    assert!([by_processor(false), by_processor(true), told(trace().shuffled(3))].iter().all(|other| *other == first));
}

/// They were said to have one label, and have two.
#[test]
fn rows_without_stacks_are_said_to_name_no_function() {
    let shown = out(&["allocations", TRACE, "--group-by", "function"]);
    assert!(shown.contains("rows by function and stack name no function ([no stack] or n/a)"), "{shown}");
}
