//! `pfnset resident --group-by stack,function,module`: rows by the stack of the VirtualAlloc that committed the address of a page.

use crate::program::{out, run};
use crate::random_cases::cases;
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::memory::{COMMIT, DECOMMIT, RELEASE, RESERVE, virtual_alloc, virtual_free, virtual_rundown};
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::perf;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const T0: u64 = 1_000_000_000;
const SECOND: u64 = 10_000_000;
/// Base addresses of images.
const APP: u64 = 0x1_4000_0000;
const LIB: u64 = 0x7ff8_0000_0000;
const KERNEL: u64 = 0xffff_f800_0000_0000;
/// Where memory is allocated, in both processes.
const BASE: u64 = 0x10_0000;
const PAGE: u64 = 4096;
const PIDS: [u32; 2] = [8, 12];

/// Frames of a whole stack, and of the part in the kernel and that in user mode of another one.
const READ: [u64; 2] = [APP + 0x1010, LIB + 0x30];
const KERNEL_PART: [u64; 1] = [KERNEL + 0x500];
const USER_PART: [u64; 1] = [APP + 0x2020];
const READ_BY: &str = "lib.dll+0x30;app.exe+0x1010";
const FILLED_BY: &str = "app.exe+0x2020;ntoskrnl.exe+0x500";

/// Which stack a record has.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Nobody,
    Read,
    Fill,
}

/// Two processes that share images and a kernel.
fn beginning() -> Vec<Rec> {
    let image = |pid: u32, base: u64, name: &str| {
        let image = Image { base, size: 0x1_0000, pid, name: format!(r"\Windows\{name}"), ..Image::default() };
        image.rec(P8, 2, image::LOAD).by(16, pid)
    };
    let mut all = vec![image(0, KERNEL, "ntoskrnl.exe").at(T0)];
    for pid in PIDS {
        all.push(
            Process::new(pid, if pid == 8 { "app.exe" } else { "other.exe" }).rec(P8, 4, process::DC_START).at(T0),
        );
        all.extend([(APP, "app.exe"), (LIB, "lib.dll")].map(|(base, name)| image(pid, base, name).at(T0 + 1)));
    }
    all
}

/// A record of VirtualAlloc or VirtualFree with its stack.
fn with_stack(record: Rec, pid: u32, time: u64, of: Of) -> Vec<Rec> {
    let part = |frames: &[u64], later: u64| perf::stack(P8, time, pid, pid + 4, frames).at(time + later);
    let record = record.at(time);
    match of {
        Of::Nobody => vec![record],
        Of::Read => vec![record, part(&READ, 1)],
        Of::Fill => vec![record, part(&KERNEL_PART, 1), part(&USER_PART, 2)],
    }
}

fn alloc(pid: u32, (page, count): (u64, u64), flags: u32, time: u64, of: Of) -> Vec<Rec> {
    with_stack(virtual_alloc(P8, BASE + page * PAGE, count * PAGE, pid, flags), pid, time, of)
}

fn free(pid: u32, (page, count): (u64, u64), flags: u32, time: u64) -> Rec {
    virtual_free(P8, BASE + page * PAGE, count * PAGE, pid, flags).at(time)
}

fn page(pfn: u64, pid: u32, number: u64) -> Identity {
    Identity::private(pfn, pid.into(), BASE + number * PAGE)
}

fn sequence(pages: impl IntoIterator<Item = Identity>, time: u64) -> Vec<Rec> {
    (0u64..).zip(pages).map(|(number, page)| page.rec(P8, 4, IN_MEMORY).at(time + number)).collect()
}

/// Nine pages of one process, a page of the other one at the same address, a page of a file and a page table.
fn pages() -> Vec<Identity> {
    let own = (0..9).map(|number| page(0x100 + number, 8, number));
    let others =
        [page(0x109, 12, 0), Identity::file(0x10a, 0xffff_a000_0000_1000, 0, true), Identity::new(3, 0x10b, 8, BASE)];
    own.chain(others).collect()
}

/// Eight pages are committed by one stack, two of them again by another, of which one is decommitted; one again without a stack. What is reserved
/// only has no effect. Then a page sequence. After it all is released, and one page committed again; then another sequence.
fn known() -> Trace {
    let mut records = beginning();
    records.extend(alloc(8, (0, 8), RESERVE | COMMIT, T0 + 100, Of::Read));
    records.extend(alloc(8, (2, 2), COMMIT, T0 + 200, Of::Fill));
    records.push(free(8, (3, 1), DECOMMIT, T0 + 300));
    records.extend(alloc(8, (5, 1), COMMIT, T0 + 400, Of::Nobody));
    records.extend(alloc(12, (0, 2), RESERVE | COMMIT, T0 + 500, Of::Fill));
    records.extend(alloc(12, (0, 1), RESERVE, T0 + 600, Of::Read));
    records.extend(sequence(pages(), T0 + SECOND));
    records.push(free(8, (0, 0), RELEASE, T0 + 2 * SECOND));
    records.extend(alloc(8, (1, 1), RESERVE | COMMIT, T0 + 2 * SECOND + 100, Of::Fill));
    records.extend(sequence(pages(), T0 + 3 * SECOND));
    records.extend(alloc(8, (0, 8), RESERVE | COMMIT, T0 + 4 * SECOND, Of::Read));
    Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(records)
}

/// What `resident` says of all snapshots of a trace.
fn answer(trace: &str, more: &[&str]) -> Value {
    let line = [&["resident", trace, "-q", "--format", "json", "--snapshot", "all"], more].concat();
    serde_json::from_str(&out(&line)).expect("JSON")
}

type Rows = BTreeMap<String, i64>;

/// Pages of each snapshot by the labels of these dimensions.
fn by(trace: &str, dimensions: &str, more: &[&str]) -> Vec<Rows> {
    let found = answer(trace, &[&["--group-by", dimensions], more].concat());
    let label = |row: &Value| {
        let labels = dimensions.split(',').map(|name| match &row[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        labels.collect::<Vec<_>>().join(" | ")
    };
    let row = |row: &Value| (label(row), row["pages"].as_i64().expect("pages"));
    let rows = |of: &Value| of["rows"].as_array().expect("rows").iter().map(row).collect();
    found["snapshots"].as_array().expect("snapshots").iter().map(rows).collect()
}

fn rows<const N: usize>(rows: [(&str, i64); N]) -> Rows {
    rows.map(|(label, pages)| (label.to_owned(), pages)).into()
}

#[test]
fn the_last_commit_that_nothing_ended_says_whose_a_page_is() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let first = rows([(READ_BY, 5), (FILLED_BY, 2), ("[no stack]", 1), ("n/a", 4)]);
    assert_eq!(by(trace, "stack", &[]), [first, rows([(FILLED_BY, 2), ("n/a", 10)])]);
    let first = rows([("app.exe+0x1010", 5), ("ntoskrnl.exe+0x500", 2), ("[no stack]", 1), ("n/a", 4)]);
    let second = rows([("ntoskrnl.exe+0x500", 2), ("n/a", 10)]);
    assert_eq!(by(trace, "function", &[]), [first, second.clone()]);
    let first = rows([("app.exe", 5), ("ntoskrnl.exe", 2), ("[no stack]", 1), ("n/a", 4)]);
    assert_eq!(by(trace, "module", &[])[0], first);
    // A process has what it committed itself.
    let other = [("app.exe (8) | ntoskrnl.exe+0x500", 1), ("other.exe (12) | ntoskrnl.exe+0x500", 1)];
    let filled = ["--where", "function=app.exe+0x2*"];
    assert_eq!(by(trace, "process,function", &filled)[0], rows(other), "any frame");
    // Conditions find any frame; what nobody committed has none.
    assert_eq!(by(trace, "function", &["--where", "module=lib.dll"])[0], rows([("app.exe+0x1010", 5)]));
    assert_eq!(by(trace, "module", &["--where", "stack=app.exe+0x2*"])[1], rows([("ntoskrnl.exe", 2)]));
    let rest = rows([
        ("[no stack] | ProcessPrivate", 1),
        ("n/a | File", 1),
        ("n/a | PageTable", 1),
        ("n/a | ProcessPrivate", 2),
    ]);
    assert_eq!(by(trace, "function,use", &["--where", "module=!*.dll;!ntos*"])[0], rest);
    for condition in ["function=no commit", "module=no commit", "stack=no commit"] {
        assert_eq!(by(trace, "use", &["--where", condition])[0].values().sum::<i64>(), 4, "{condition}");
    }
    assert_eq!(by(trace, "function", &["--where", "function=n/a", "--where", "use=File"])[1], rows([("n/a", 1)]));
    let all = ["--classification", "wpa", "--where", "category=VirtualAlloc"];
    assert_eq!(by(trace, "function", &all)[1], rows([("ntoskrnl.exe+0x500", 2)]));
}

#[test]
fn commit_from_before_the_trace_has_no_stack() {
    let mut records = beginning();
    records.push(virtual_rundown(P8, 0x0280, BASE, 4 * PAGE, 8, 0, 4 * PAGE).at(T0 + 50));
    records.extend(alloc(8, (1, 2), COMMIT, T0 + 100, Of::Read));
    records.push(free(8, (0, 0), RELEASE, T0 + 2 * SECOND));
    let at = records.len() - 1;
    records.splice(at..at, sequence(pages(), T0 + SECOND));
    records.extend(sequence(pages(), T0 + 3 * SECOND));
    let file = file_of(&Trace::new(Session::windows10()).push_all(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    let first = rows([("app.exe+0x1010", 2), ("n/a", 10)]);
    assert_eq!(by(trace, "function", &[]), [first, rows([("n/a", 12)])], "the rundown says how much is released");
}

#[test]
fn a_process_that_comes_after_another_of_its_id_has_its_own_commit() {
    let mut records = beginning();
    records.extend(alloc(8, (0, 4), RESERVE | COMMIT, T0 + 100, Of::Read));
    records.push(Process::new(8, "app.exe").rec(P8, 4, process::END).at(T0 + 200));
    records.push(Process::new(8, "second.exe").rec(P8, 4, process::START).by(16, 12).at(T0 + 300));
    records.extend(alloc(8, (2, 1), RESERVE | COMMIT, T0 + 400, Of::Nobody));
    records.extend(sequence(pages(), T0 + SECOND));
    let file = file_of(&Trace::new(Session::windows10()).push_all(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    let own = by(trace, "process,function", &["--where", "process=8", "--where", "use=ProcessPrivate"]);
    assert_eq!(own, [rows([("second.exe (8) | n/a", 8), ("second.exe (8) | [no stack]", 1)])]);
}

/// Programs read the same of an address in no module: people read what the row has, and conditions tell them apart.
#[test]
fn no_commit_and_no_module_are_two_facts() {
    let mut records = beginning();
    let made_while_it_ran = perf::stack(P8, T0 + 100, 8, 12, &[0x77_0000, APP + 0x1010]).at(T0 + 101);
    records.push(virtual_alloc(P8, BASE, 2 * PAGE, 8, RESERVE | COMMIT).at(T0 + 100));
    records.push(made_while_it_ran);
    records.extend(sequence(pages(), T0 + SECOND));
    let file = file_of(&Trace::new(Session { processors: 1, ..Session::windows10() }).push_all(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    assert_eq!(by(trace, "module", &[])[0], rows([("n/a", 12)]));
    let table = out(&["resident", trace, "-q", "--group-by", "module"]);
    assert!(table.contains("no commit or no module"), "{table}");
    for (condition, pages) in [("no module", 2), ("no commit", 10), ("n/a", 12)] {
        let chosen = by(trace, "module", &["--where", &format!("module={condition}")]);
        assert_eq!(chosen[0], rows([("n/a", pages)]), "{condition}");
    }
}

#[test]
fn the_share_without_a_stack_is_said() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let found = answer(trace, &["--group-by", "function"]);
    let share = json!({ "pages": 12, "pages_committed": 8, "pages_with_stack": 7 });
    assert_eq!(found["snapshots"][0]["stacks"], share);
    assert_eq!(found["snapshots"][1]["stacks"]["pages_with_stack"], 2);
    assert_eq!(found["stacks"], json!({ "allocations": 7, "allocations_with_stack": 6 }));
    let selected = answer(trace, &["--where", "use=ProcessPrivate", "--where", "function=app*"]);
    let share = json!({ "pages": 10, "pages_committed": 8, "pages_with_stack": 7 });
    assert_eq!((&selected["snapshots"][0]["stacks"], &selected["snapshots"][0]["selected_pages"]), (&share, &json!(7)));
    assert_eq!(
        (&answer(trace, &[])["stacks"], &answer(trace, &[])["snapshots"][0]["stacks"]),
        (&json!(null), &json!(null))
    );
    let told = |more: &[&str]| {
        let line = [&["resident", trace, "-q", "--snapshot", "0"], more].concat();
        out(&line).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let rows = told(&["--group-by", "module"]);
    let says = "Stacks are known of 7 of 12 pages (58.3 %) and of 6 of the 7 VirtualAlloc records of the trace. Pages that a record \
                without a stack committed: 1; that none of the trace committed (kernel, files and sections, and from before the trace): 4.";
    assert!(rows.contains(says) && rows.contains("no commit 4 "), "{rows}");
    assert!(told(&["--group-by", "stack"]).contains("no commit"));
    let screen = told(&["--where", "module=lib.dll"]);
    assert!(
        screen.contains("Stacks are known of 7 of 12 pages (58.3 %), before the conditions on stacks."),
        "{screen}"
    );
    assert!(!told(&[]).contains("Stacks are known"));
    let incomplete = out(&["resident", trace, "--group-by", "module"]);
    assert!(incomplete.contains("1 of 7 VirtualAlloc records have no stack"), "{incomplete}");
    let none = run(&["resident", "resident-small.etl", "--group-by", "function"]);
    assert!(none.out.contains("no record of VirtualAlloc has a stack") && none.code == 0, "{none:?}");
    for command in ["resident", "pages"] {
        let refused = run(&[command, trace, "--symbols", "."]);
        assert!(refused.code == 2 && refused.err.contains("--symbols names functions"), "{refused:?}");
    }
}

#[test]
fn pages_are_chosen_by_stack_and_explained_with_it() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let pfns = |snapshot: &str, condition: &str| {
        let csv = out(&["pages", trace, "-q", "--format", "csv", "--snapshot", snapshot, "--where", condition]);
        csv.lines().skip(1).map(|line| line.split(',').nth(1).expect("a PFN").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(pfns("0", "function=app.exe+0x2020"), ["258", "265"]);
    assert_eq!(pfns("0", "stack=[no stack]"), ["261"]);
    assert_eq!(pfns("all", "module=lib.dll"), ["256", "257", "260", "262", "263"]);
    assert_eq!(pfns("1", "function=n/a").len(), 10);
    let explained = |more: &[&str]| {
        let line = [&["resident", trace, "-q", "--format", "json", "--snapshot", "0"], more].concat();
        let found: Value = serde_json::from_str(&out(&line)).expect("JSON");
        let page = found["snapshots"][0]["pages"][0].clone();
        let facts = page["facts"].as_array().expect("facts").iter();
        let fact = facts.clone().find(|fact| fact["kind"] == "commit").cloned().unwrap_or_default();
        (page["commit_stack"].clone(), fact)
    };
    let (stack, fact) = explained(&["--explain", "0x102"]);
    assert_eq!(stack, json!(["ntoskrnl.exe+0x500", "app.exe+0x2020"]));
    assert_eq!(
        (&fact["base"], &fact["end"], &fact["events"][0]["hook"]),
        (&json!("0x102000"), &json!("0x103000"), &json!("0x0262"))
    );
    assert_eq!(explained(&["--explain", "0x104000", "--process", "8"]).0, json!(["app.exe+0x1010", "lib.dll+0x30"]));
    let (stack, fact) = explained(&["--explain", "0x105"]);
    assert_eq!((stack, &fact["text"]), (Value::Null, &json!("VirtualAlloc, without a stack")));
    for pfn in ["0x103", "0x108", "0x10a", "0x10b"] {
        assert_eq!(explained(&["--explain", pfn]), (Value::Null, Value::Null), "{pfn}");
    }
    let text = out(&["resident", trace, "--snapshot", "0", "--explain", "0x102"]);
    assert!(text.contains("Committed by, innermost frame first\n  ntoskrnl.exe+0x500\n  app.exe+0x2020\n"), "{text}");
}

#[test]
fn check_and_diff_have_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (trace, other, budgets) = (path("known.etl"), path("other.etl"), path("budgets.toml"));
    std::fs::write(&trace, known().finish()).expect("room");
    let mut records = beginning();
    records.extend(alloc(8, (0, 8), RESERVE | COMMIT, T0 + 100, Of::Read));
    records.extend(sequence(pages(), T0 + SECOND));
    std::fs::write(&other, Trace::new(Session::windows10()).push_all(records).finish()).expect("room");
    let budget = |limit: u32| {
        let text = format!(
            "[[budget]]\nname = \"reads\"\nwhere = {{ function = \"lib.dll+0x30\" }}\nmax = \"{limit} pages\"\n"
        );
        std::fs::write(&budgets, text).expect("room");
        run(&["check", "--budgets", &budgets, &other, "-q"])
    };
    assert_eq!([8, 7].map(|limit| budget(limit).code), [0, 1], "{:?}", budget(7));
    let named = run(&["check", "--budgets", &budgets, &other, "-q", "--symbols", "."]);
    assert_eq!(named.code, 1, "a budget by function takes symbols: {named:?}");
    let some = run(&["check", "--budgets", &budgets, &trace]);
    assert!(format!("{some:?}").contains("1 of 7 VirtualAlloc records have no stack"), "{some:?}");
    let none = run(&["check", "--budgets", &budgets, "resident-small.etl", "-q"]);
    assert!(none.code == 3 && none.out.contains("no record of VirtualAlloc has a stack"), "{none:?}");
    let line = ["diff", &trace, &other, "-q", "--format", "json", "--group-by", "function"];
    let found: Value = serde_json::from_str(&run(&line).out).expect("JSON");
    let row = |function: &str| {
        let mut rows = found["differing"].as_array().expect("rows").iter();
        rows.find(|row| row["function"] == function).map(|row| [row["left_pages"].clone(), row["right_pages"].clone()])
    };
    assert_eq!(row("app.exe+0x1010"), Some([json!(0), json!(8)]), "{found}");
    assert_eq!(row("ntoskrnl.exe+0x500"), Some([json!(2), json!(0)]));
    let found: Value =
        serde_json::from_str(&run(&[&line[..], &["--where", "module=lib.dll"]].concat()).out).expect("JSON");
    assert_eq!(
        (found["differing"].as_array().map(Vec::len), &found["differing"][0]["right_pages"]),
        (Some(1), &json!(8))
    );
}

/// A step of a history: what, in which of the processes, pages, with which stack.
type Step = (u8, usize, u64, u64, u8);

/// The history as records, and by process and page the function that committed it at the end.
fn history(steps: &[Step], time: &mut u64, committed: &mut BTreeMap<(u32, u64), &str>) -> Vec<Rec> {
    let stacks = [("[no stack]", Of::Nobody), ("app.exe+0x1010", Of::Read), ("ntoskrnl.exe+0x500", Of::Fill)];
    let mut records = Vec::new();
    for &(what, process, first, count, stack) in steps {
        *time += 100;
        let (pid, (function, of)) = (PIDS[process], stacks[usize::from(stack)]);
        let flags = [COMMIT, RESERVE | COMMIT, RESERVE, DECOMMIT, RELEASE][usize::from(what)];
        match what {
            0..3 => records.extend(alloc(pid, (first, count), flags, *time, of)),
            _ => records.push(free(pid, (first, count), flags, *time)),
        }
        for number in first..first + count {
            match what {
                0 | 1 => _ = committed.insert((pid, number), function),
                2 => {}
                _ => _ = committed.remove(&(pid, number)),
            }
        }
    }
    records
}

proptest! {
    #![proptest_config(cases(6))]
    /// Against a map of pages at two times, and against the rows without stacks.
    #[test]
    fn rows_by_stack_add_up(
        steps in prop::collection::vec((0u8..5, 0usize..2, 0u64..12, 1u64..5, 0u8..3), 0..40),
        first in 0usize..40,
    ) {
        let (mut records, mut time, mut committed) = (beginning(), T0, BTreeMap::new());
        let own = || PIDS.into_iter().flat_map(|pid| (0..12).map(move |number| (pid, number)));
        let (before, after) = steps.split_at(first.min(steps.len()));
        let mut want = Vec::new();
        for steps in [before, after] {
            records.extend(history(steps, &mut time, &mut committed));
            time += SECOND;
            records.extend(sequence((0..).zip(own()).map(|(pfn, (pid, number))| page(pfn, pid, number)), time));
            time += SECOND;
            let mut functions = Rows::new();
            own().for_each(|at| *functions.entry((*committed.get(&at).unwrap_or(&"n/a")).to_owned()).or_default() += 1);
            want.push(functions);
        }
        let file = file_of(&Trace::new(Session::windows10()).push_all(records).finish());
        let trace = file.path().to_str().expect("UTF-8");
        prop_assert_eq!(by(trace, "function", &[]), want);
        for dimension in ["stack", "module"] {
            for others in ["process", "category,list"] {
                let sums = by(trace, &format!("{others},{dimension}"), &[]).into_iter().map(|rows| {
                    let mut sums = Rows::new();
                    for (label, pages) in rows {
                        let (label, _) = label.rsplit_once(" | ").expect("labels");
                        *sums.entry(label.to_owned()).or_default() += pages;
                    }
                    sums
                });
                prop_assert_eq!(sums.collect::<Vec<_>>(), by(trace, others, &[]), "{} {}", others, dimension);
            }
        }
    }
}
