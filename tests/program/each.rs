//! `--each`: many traces, one answer each, whatever comes of one of them.

use crate::one_of_each;
use crate::program::{Ran, finish, fixtures, out, pfnset};
use crate::random_cases::one_in;
use etl_writer::{MemorySpec, generate_memory};
use insta::assert_snapshot;
use serde_json::Value;
use std::io::Write;
use tempfile::TempDir;

const COMMANDS: [&str; 5] = ["info", "events", "resident", "refset", "memory"];

/// A folder with traces, two of them packed, one file that is no trace, and one that only has its name.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    std::fs::create_dir(folder.path().join("week")).unwrap();
    let [resident, refset] =
        ["resident-small.etl", "refset-small.etl"].map(|name| std::fs::read(fixtures().join(name)).unwrap());
    write("monday.etl", &resident);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&refset).unwrap();
    write("week/b.etl.gz", &gzip.finish().unwrap());
    write("week/c.etl", b"a text, and no trace");
    write("week/notes.txt", b"not looked at");
    write("week/two.etl", &one_of_each::trace(2));
    let memory = generate_memory(&MemorySpec::default(), std::io::Cursor::new(Vec::new())).unwrap().0;
    write("week/a.etl", &memory.into_inner());
    folder
}

const TRACES: [&str; 5] = ["monday.etl", "week/a.etl", "week/b.etl.gz", "week/c.etl", "week/two.etl"];

fn run(folder: &TempDir, line: &str) -> Ran {
    finish(pfnset(&line.split(' ').collect::<Vec<_>>()).current_dir(folder.path()))
}

fn rows(csv: &str) -> Vec<csv::StringRecord> {
    csv::ReaderBuilder::new().from_reader(csv.as_bytes()).records().map(Result::unwrap).collect()
}

#[test]
fn rows_are_those_of_each_trace() {
    let folder = folder();
    for (command, more) in one_in(
        2,
        vec![
            ("events", ""),
            ("events", " --name Memory*;Process*"),
            ("resident", ""),
            ("resident", " --group-by process,category --where class=Dynamic"),
            ("resident", " --group-by list --snapshot all"),
            ("refset", ""),
            ("refset", " --timeline 20ms --group-by process"),
            ("refset", " --verify"),
            ("memory", ""),
            ("memory", " --group-by process"),
            ("memory", " --timeline 1s"),
            ("memory", " --timeline 1s --group-by process"),
        ],
    ) {
        let all = run(&folder, &format!("{command} --each monday.etl week --format csv -q{more}"));
        assert_eq!(all.code, 3, "{command}{more}: week/c.etl is no trace: {}", all.err);
        let all = rows(&all.out);
        let named: Vec<&str> = all.iter().map(|row| &row[0]).collect();
        let mut order = named.clone();
        order.dedup();
        let mut with_rows = Vec::new();
        for trace in TRACES {
            let ran = run(&folder, &format!("{command} {trace} --format csv -q{more}"));
            let rows_of_one = if ran.code < 2 { rows(&ran.out) } else { Vec::new() };
            if ran.code >= 2 || !rows_of_one.is_empty() {
                with_rows.push(trace);
            }
            let told: Vec<_> = all.iter().filter(|row| &row[0] == trace).collect();
            if ran.code >= 2 {
                let error = &told[0][told[0].len() - 1];
                assert!(told.len() == 1 && !error.is_empty() && ran.err.contains(error), "{error}: {}", ran.err);
                continue;
            }
            assert_eq!(told.len(), rows_of_one.len(), "{command}{more} {trace}");
            for (row, alone) in told.iter().zip(&rows_of_one) {
                let middle: Vec<&str> = row.iter().skip(1).take(row.len() - 2).collect();
                assert_eq!((middle, &row[row.len() - 1]), (alone.iter().collect(), ""), "{command}{more} {trace}");
            }
        }
        assert_eq!(order, with_rows, "{command}{more}");
    }
}

#[test]
fn objects_are_those_of_each_trace() {
    let folder = folder();
    for command in COMMANDS {
        let ran = run(&folder, &format!("{command} --each monday.etl week --format jsonl -q"));
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!((ran.code, lines.len()), (3, TRACES.len()), "{command}");
        for (line, trace) in lines.into_iter().zip(TRACES) {
            let object: Value = serde_json::from_str(line).unwrap();
            let alone = run(&folder, &format!("{command} {trace} --format json -q"));
            assert_eq!(object["schema"], format!("pfnset.{command}"));
            if alone.code == 0 {
                assert_eq!(object, serde_json::from_str::<Value>(&alone.out).unwrap(), "{command} {trace}");
            } else {
                let error = object["error"].as_str().unwrap();
                assert!(object["trace"] == trace && alone.err.contains(error), "{error}: {}", alone.err);
            }
        }
    }
}

#[test]
fn one_table_has_a_row_for_each_trace_and_group() {
    let folder = folder();
    for (name, line) in [
        ("each_resident", "resident --each monday.etl week --group-by class -q"),
        ("each_info", "info --each week monday.etl"),
        ("each_memory", "memory --each week --group-by list -q"),
        ("each_refset", "refset --each week -q --verify"),
        ("each_markdown", "resident --each monday.etl week/c.etl --group-by class,list --top 1 --format markdown -q"),
    ] {
        let mut program = pfnset(&line.split(' ').collect::<Vec<_>>());
        assert_snapshot!(name, finish(program.current_dir(folder.path()).env("COLUMNS", "100")).out);
    }
}

/// `trust` alone is "yes" of a trace whose numbers nobody has checked.
#[test]
fn rows_of_info_say_what_was_not_checked() {
    let folder = folder();
    for (more, is_checked) in [("", false), (" --strict", true)] {
        let read =
            |form: &str| run(&folder, &format!("info --each monday.etl week/b.etl.gz --format {form} -q{more}")).out;
        let csv = read("csv");
        let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let at = heading.iter().position(|name| *name == "unchecked").unwrap();
        let own: Vec<String> = rows(&csv).iter().map(|row| row[at].to_owned()).collect();
        let of_json = |line: &str| {
            let object: Value = serde_json::from_str(line).unwrap();
            object["unchecked"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
        };
        let expected: Vec<Vec<String>> = read("jsonl").lines().map(of_json).collect();
        assert_eq!(own, expected.iter().map(|names| names.join(";")).collect::<Vec<_>>());
        assert!(own.iter().all(|names| names.is_empty() == is_checked), "{own:?}");
    }
}

#[test]
fn codes_tell_the_worst_of_all_and_wrong_usage_comes_first() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for (line, code, says) in [
        ("resident --each monday.etl week/two.etl", 0, ""),
        ("resident --each monday.etl week/a.etl", 4, ""),
        ("resident --each none.etl monday.etl", 3, ""),
        ("resident --each empty monday.etl", 3, ""),
        ("resident --each monday.etl week/two.etl --snapshot 1", 2, ""),
        ("refset --each week/b.etl.gz --verify", 1, "above 1 %"),
        ("refset --each week/b.etl.gz --group-by class --columns pages", 0, ""),
        ("resident --each monday.etl --format json", 2, "--format jsonl writes them"),
        ("resident --each monday.etl --top 3 --format csv", 2, "--top is for table"),
        ("resident --each week --where category=Imge", 2, "did you mean"),
        ("resident --each monday.etl --explain 0x100", 2, "cannot be used with"),
        ("events --each week --digest", 2, "--digest is in the form jsonl with --each"),
        ("resident --each week -o week/two.etl", 2, "week/two.etl is one of the traces itself"),
        ("processes --each week", 2, "'--each' is a flag of pfnset info, events, resident"),
        ("resident week", 3, "it is a directory"),
    ] {
        let ran = run(&folder, line);
        assert!(ran.code == code && ran.err.contains(says), "{line}: {} {}", ran.code, ran.err);
    }
    let ran = run(&folder, "resident --each empty none.etl --format csv");
    let told = "trace,error\nempty,cannot read empty: the folder holds no trace\nnone.etl,cannot read none.etl: ";
    assert!(ran.out.starts_with(told), "{}", ran.out);
    // A pattern is told when it matches nothing in any of them.
    let ran = run(&folder, "resident --each monday.etl week/two.etl --where process=csrss*;nobody* --group-by class");
    assert!(ran.code == 0 && ran.err.contains("\"nobody*\" matches nothing"), "{}", ran.err);
    assert!(!ran.err.contains("csrss"), "{}", ran.err);
}

/// Between others, a trace with working sets alone had an empty block, or none.
#[test]
fn each_trace_says_what_it_has_instead_of_counters() {
    let told = "no samples of page lists; rows by process are the working sets of 26 processes";
    for more in [&[][..], &["--timeline", "all"], &["--timeline", "10ms"]] {
        let text = out(&[&["memory", "--each", "refset-proved.etl", "resident-small.etl", "-q"], more].concat());
        assert!(text.replace('\n', " ").contains(told) && text.contains("refset-proved.etl"), "{text}");
    }
    assert!(out(&["memory", "refset-proved.etl", "-q", "--timeline", "all"]).contains(told));
}

/// The line stood above the table of one trace alone.
#[test]
fn conditions_that_choose_nothing_are_told_of_each_trace() {
    for condition in ["process=nope", "access_reason=PoolAllocate"] {
        let says = format!("Nothing meets the conditions of --where ({condition}): what they choose is empty below");
        for each in [&["--each"][..], &[]] {
            let ran = crate::program::run(&[&["refset", "refset-proved.etl", "--where", condition], each].concat());
            assert!(ran.out.replace("\n  ", " ").contains(&says), "{each:?}: {ran:?}");
        }
    }
}

/// The Markdown of several traces had none of the warnings that its table has: a document looked as if nothing was doubtful.
#[test]
fn markdown_has_the_warnings_of_each_trace() {
    let folder = folder();
    for command in COMMANDS {
        let ran = run(&folder, &format!("{command} --each monday.etl week --format markdown -o all.md"));
        let document = std::fs::read_to_string(folder.path().join("all.md")).unwrap();
        let plain = |line: &str| line.replace("<!-- -->", "").replace('\\', "");
        let quoted: Vec<String> = document.lines().filter_map(|line| line.strip_prefix("> ")).map(plain).collect();
        let told = ran.err.lines().filter_map(|line| line.split_once("warning: "));
        let told: Vec<String> = told.map(|(_, line)| plain(line)).collect();
        assert!(!told.is_empty() || command == "events", "{command}: {}", ran.err);
        assert_eq!(quoted, told, "{command}: {document}");
        assert!(document.starts_with('>') != told.is_empty(), "{command}: {document}");
    }
}
