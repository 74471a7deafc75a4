//! `pfnset refset --group-by stack,function,module`: rows by the stack of the access that a row counts.

use crate::program::{out, run};
use crate::random_cases::cases;
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::pages::{self, Extra, Identity};
use etl_writer::payloads::perf;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const T0: u64 = 1_000_000_000;
/// Base addresses.
const APP: u64 = 0x1_4000_0000;
const LIB: u64 = 0x7ff8_0000_0000;
const KERNEL: u64 = 0xffff_f800_0000_0000;

/// What `refset` says of a trace.
fn rows(trace: &str, more: &[&str]) -> Value {
    let line = [&["refset", trace, "-q", "--format", "json"], more].concat();
    serde_json::from_str(&out(&line)).expect("JSON")
}

/// Pages by the labels of these dimensions.
fn by(trace: &str, dimensions: &str, more: &[&str]) -> BTreeMap<String, i64> {
    let found = rows(trace, &[&["--group-by", dimensions], more].concat());
    let label = |row: &Value| {
        let labels = dimensions.split(',').map(|dimension| row[dimension].as_str().expect("a label").to_owned());
        labels.collect::<Vec<_>>().join(" | ")
    };
    let rows = found["rows"].as_array().expect("rows").iter();
    rows.map(|row| (label(row), row["pages"].as_i64().expect("pages"))).collect()
}

fn pages<const N: usize>(rows: [(&str, i64); N]) -> BTreeMap<String, i64> {
    rows.map(|(label, pages)| (label.to_owned(), pages)).into()
}

/// Two processes that share images and a kernel.
fn beginning() -> Vec<Rec> {
    let image = |pid: u32, base: u64, name: &str| {
        let image = Image { base, size: 0x1_0000, pid, name: format!(r"\Windows\{name}"), ..Image::default() };
        image.rec(P8, 2, image::LOAD).by(16, pid)
    };
    vec![
        Process::new(8, "app.exe").rec(P8, 4, process::DC_START).at(T0),
        image(8, APP, "app.exe").at(T0 + 1),
        image(8, LIB, "lib.dll").at(T0 + 2),
        image(0, KERNEL, "ntoskrnl.exe").at(T0 + 3),
    ]
}

fn access(page: u64) -> Rec {
    Identity::private(0x100 + page, 8, 0x10_0000 + page * 4096).rec(P8, 4, pages::ACCESS).by(16, 8)
}

/// Read by `app.exe+0x1010`, called by lib.dll: whole.
const READ: [u64; 2] = [APP + 0x1010, LIB + 0x30];
/// Allocated by the kernel for `app.exe+0x2020`.
const FAULT: [u64; 1] = [KERNEL + 0x500];
const FILL: [u64; 1] = [APP + 0x2020];

/// The page is accessed from app.exe.
fn read(page: u64, time: u64) -> [Rec; 2] {
    [access(page).at(time), perf::stack(P8, time, 8, 16, &READ).at(time + 2)]
}

/// The same from the kernel, whose caller is logged later.
fn filled(page: u64, time: u64) -> [Rec; 3] {
    let part = |frames: &[u64]| perf::stack(P8, time, 8, 16, frames);
    [access(page).at(time), part(&FAULT).at(time + 2), part(&FILL).at(time + 4)]
}

/// Pages 0 to 3 are read, 4 to 6 filled, 7 nobody knows. Then page 1 is deleted and filled, page 0 filled although it is there.
fn known() -> Trace {
    let mut records = beginning();
    records.extend((0..4).flat_map(|page| read(page, T0 + 100 + page * 10)));
    records.extend((4..7).flat_map(|page| filled(page, T0 + 1000 + page * 10)));
    records.push(access(7).at(T0 + 1500));
    let release = Identity::private(0x101, 8, 0x10_1000).rec(P8, 4, pages::RELEASE).by(16, 8);
    records.push(release.at(T0 + 1600));
    records.extend(filled(1, T0 + 2000).into_iter().chain(filled(0, T0 + 2010)));
    Trace::new(Session { processors: 2, ..Session::windows10() }).push_all(records)
}

const FILLED: &str = "app.exe+0x2020;ntoskrnl.exe+0x500";
const READ_BY: &str = "lib.dll+0x30;app.exe+0x1010";

#[test]
fn the_access_that_made_a_page_count_says_whose_it_is() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    assert_eq!(by(trace, "stack", &[]), pages([(FILLED, 4), (READ_BY, 3), ("[no stack]", 1)]));
    let of_functions = [("ntoskrnl.exe+0x500", 4), ("app.exe+0x1010", 3), ("[no stack]", 1)];
    assert_eq!(by(trace, "function", &[]), pages(of_functions));
    assert_eq!(by(trace, "module", &[]), pages([("ntoskrnl.exe", 4), ("app.exe", 3), ("[no stack]", 1)]));
    // A condition finds any frame.
    assert_eq!(by(trace, "function", &["--where", "function=app.exe+0x2*"]), pages([("ntoskrnl.exe+0x500", 4)]));
    assert_eq!(by(trace, "function", &["--where", "module=app.exe"]), pages([of_functions[0], of_functions[1]]));
    assert_eq!(by(trace, "function", &["--where", "module=!lib.dll;!ntoskrnl*"]), pages([("[no stack]", 1)]));
    assert_eq!(by(trace, "module", &["--where", "stack=lib.dll*"]), pages([("app.exe", 3)]));
    // All that was held in the window: page 1 was read and deleted.
    let of_impact = [("Impacting | ntoskrnl.exe+0x500", 4), ("Impacting | [no stack]", 1)];
    let impact = [("Impacting | app.exe+0x1010", 3), ("Transient | app.exe+0x1010", 1)];
    assert_eq!(by(trace, "impact,function", &[]), pages([of_impact[0], of_impact[1], impact[0], impact[1]]));
    let share = json!({ "pages": 8, "pages_with_stack": 7, "accesses": 10, "accesses_with_stack": 9 });
    assert_eq!(rows(trace, &["--group-by", "function"])["stacks"], share);
    assert_eq!(rows(trace, &["--group-by", "category", "--where", "function=x"])["stacks"], share);
    assert_eq!(rows(trace, &[])["stacks"], Value::Null);
}

#[test]
fn the_share_without_a_stack_is_said() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let told = |more: &[&str]| {
        out(&[&["refset", trace, "-q"], more].concat()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let says = "Stacks are known of 7 of 8 pages (87.5 %) and of 9 of the 10 page accesses of the trace.";
    assert!(told(&["--group-by", "module"]).contains(says), "{}", told(&["--group-by", "module"]));
    assert!(told(&["--timeline", "1", "--group-by", "module"]).contains(says));
    let selected = told(&["--where", "module=lib.dll"]);
    assert!(selected.contains("(87.5 %), before the conditions on stacks, and of 9"), "{selected}");
    assert!(told(&["--group-by", "impact,module"]).contains("Stacks are known of 9 of the 10 page accesses"));
    assert!(!told(&[]).contains("Stacks are known"));
    let csv = out(&["refset", trace, "-q", "--group-by", "stack", "--format", "csv"]);
    assert!(csv.contains(&format!("{FILLED},4,16384\n")), "{csv}");
    let none = run(&["refset", "refset-small.etl", "--group-by", "function"]);
    assert!(
        none.err.contains("no record of a page access has a stack") || none.out.contains("has a stack"),
        "{none:?}"
    );
    let refused = run(&["refset", trace, "--symbols", "."]);
    assert!(refused.code == 2 && refused.err.contains("--symbols names functions"), "{refused:?}");
}

#[test]
fn stacks_go_with_their_records_not_with_their_times() {
    let mut records = beginning();
    let stack = |time: u64, thread: u32, frames: &[u64]| perf::stack(P8, time, 8, thread, frames);
    // At one time on two processors.
    let time = T0 + 100;
    records.push(access(0).on(0).at(time));
    records.push(access(1).by(20, 8).on(1).at(time));
    records.push(stack(time, 16, &READ).on(0).at(time + 1));
    records.push(stack(time, 20, &FILL).on(1).at(time + 1));
    // The address space of a process that is being created: its page counts from its start on.
    let time = T0 + 200;
    let shared = Identity::file(0x900, 0xffff_a000_0000_1000, 0, true);
    records.push(shared.access_ex(P8, 4, Extra::process(0x7000_0000)).by(16, 0).at(time));
    records.push(stack(time, 16, &READ).at(time + 1));
    records.push(Process::new(12, "child.exe").rec(P8, 4, process::START).by(16, 8).at(T0 + 300));
    // The same page in the parent, which is its second holder.
    let time = T0 + 400;
    records.push(shared.access_ex(P8, 4, Extra::process(0x7000_0000)).by(20, 8).at(time));
    records.push(stack(time, 20, &FILL).at(time + 1));
    let file = file_of(&Trace::new(Session { processors: 2, ..Session::windows10() }).push_all(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    let of_app = [("app.exe (8) | app.exe+0x1010", 1), ("app.exe (8) | app.exe+0x2020", 2)];
    assert_eq!(
        by(trace, "process,function", &[]),
        pages([of_app[0], of_app[1], ("child.exe (12) | app.exe+0x1010", 1)])
    );
    // A page of both is charged to the first, and to its stack.
    let found = rows(trace, &["--group-by", "impact,function"]);
    let charged = |function: &str| {
        let mut rows = found["rows"].as_array().expect("rows").iter();
        rows.find(|row| row["function"] == function).map(|row| (row["pages"].clone(), row["impact_pages"].clone()))
    };
    assert_eq!(charged("app.exe+0x1010"), Some((json!(2), json!(2))));
    assert_eq!(charged("app.exe+0x2020"), Some((json!(2), json!(1))));
}

proptest! {
    #![proptest_config(cases(6))]
    /// Against a map of pages, and against the rows without stacks. A step is an access with one of three stacks, or a release.
    #[test]
    fn rows_by_stack_add_up(steps in prop::collection::vec((0u8..4, 0u64..12), 0..60)) {
        let functions = [("[no stack]", &[][..]), ("app.exe+0x1010", &READ[..]), ("app.exe+0x2020", &FILL[..])];
        let (mut records, mut held) = (beginning(), BTreeMap::<u64, &str>::new());
        for (time, (what, page)) in (1u64..).map(|number| T0 + number * 100).zip(steps) {
            match functions.get(usize::from(what)) {
                Some((function, frames)) => {
                    held.entry(page).or_insert(function);
                    records.push(access(page).at(time));
                    records.extend((!frames.is_empty()).then(|| perf::stack(P8, time, 8, 16, frames).at(time + 1)));
                }
                None => {
                    held.remove(&page);
                    let gone = Identity::private(0x100 + page, 8, 0x10_0000 + page * 4096);
                    records.push(gone.rec(P8, 4, pages::RELEASE).by(16, 8).at(time));
                }
            }
        }
        records.push(access(99).at(T0 + 100_000));
        held.insert(99, "[no stack]");
        let file = file_of(&Trace::new(Session::windows10()).push_all(records).finish());
        let trace = file.path().to_str().expect("UTF-8");
        let mut want = BTreeMap::<String, i64>::new();
        held.values().for_each(|function| *want.entry((*function).to_owned()).or_default() += 1);
        prop_assert_eq!(by(trace, "function", &[]), want);
        for dimension in ["stack", "module"] {
            for others in ["process", "impact", "access_reason,release_reason"] {
                let mut sums = BTreeMap::<String, i64>::new();
                for (label, pages) in by(trace, &format!("{others},{dimension}"), &[]) {
                    let (label, _) = label.rsplit_once(" | ").expect("labels");
                    *sums.entry(label.to_owned()).or_default() += pages;
                }
                sums.retain(|_, pages| *pages != 0);
                prop_assert_eq!(sums, by(trace, others, &[]), "{} {}", others, dimension);
            }
        }
    }
}

#[test]
fn check_and_diff_have_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (trace, budgets) = (path("known.etl"), path("budgets.toml"));
    std::fs::write(&trace, known().finish()).expect("room");
    let budget = |limit: u32| {
        let text = format!(
            "[[budget]]\nname = \"reads\"\nanalysis = \"refset\"\nwhere = {{ function = \"app.exe+0x1010\" }}\nmax = \"{limit} pages\"\n"
        );
        std::fs::write(&budgets, text).expect("room");
        run(&["check", "--budgets", &budgets, &trace, "-q"])
    };
    assert_eq!([3, 2].map(|limit| budget(limit).code), [0, 1], "{:?}", budget(2));
    assert!(budget(3).out.contains("1 of 10 page accesses have no stack"), "{:?}", budget(3));
    let none = run(&["check", "--budgets", &budgets, "refset-proved.etl", "-q"]);
    assert!(none.code == 3 && none.out.contains("no record of a page access has a stack"), "{none:?}");
    // One page less is read.
    let other = path("other.etl");
    let mut records = beginning();
    records.extend((0..2).flat_map(|page| read(page, T0 + 100 + page * 10)));
    std::fs::write(&other, Trace::new(Session::windows10()).push_all(records).finish()).expect("room");
    let line = ["diff", &trace, &other, "--refset", "-q", "--format", "json", "--group-by", "function"];
    let found: Value =
        serde_json::from_str(&run(&[&line[..], &["--where", "module=lib.dll"]].concat()).out).expect("JSON");
    let row = &found["differing"][0];
    assert_eq!(
        ["function", "left_pages", "right_pages"].map(|key| row[key].clone()),
        [json!("app.exe+0x1010"), json!(3), json!(2)]
    );
    let refused = run(&["diff", &trace, &other, "--refset", "--symbols", "."]);
    assert!(refused.code == 2 && refused.err.contains("--symbols names functions"), "{refused:?}");
}

/// Rows of a file have the innermost function of each stack; a condition finds any. So the file decides only where it was written with it.
#[test]
fn rows_of_files_do_not_answer_what_any_frame_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (trace, all, some, budgets) = (path("trace.etl"), path("all.json"), path("some.json"), path("budgets.toml"));
    let mut records = beginning();
    records.extend((0..3).flat_map(|page| read(page, T0 + 100 + page * 10)));
    std::fs::write(&trace, Trace::new(Session::windows10()).push_all(records).finish()).expect("room");
    let write = ["refset", &trace, "-q", "--group-by", "function", "--format", "json", "-o"];
    out(&[&write[..], &[&all]].concat());
    // The outer frame: the innermost one is of another module.
    let condition = ["--where", "function=lib.dll*"];
    out(&[&write[..], &[&some], &condition].concat());
    let diff = |file: &str| run(&[&["diff", file, &trace, "-q", "--group-by", "function"][..], &condition].concat());
    assert_eq!(diff(&some).code, 0, "{:?}", diff(&some));
    let refused = diff(&all);
    assert!(refused.code == 2 && refused.err.contains("the innermost function of each stack"), "{refused:?}");
    let budget = "[[budget]]\nname = \"lib\"\nanalysis = \"refset\"\nwhere = { function = \"lib.dll*\" }\nmax_growth = \"1 page\"\n";
    std::fs::write(&budgets, budget).expect("room");
    let check = run(&["check", &trace, "--budgets", &budgets, "--baseline", &all, "-q"]);
    assert!(check.code == 3 && check.out.contains("--save-baseline"), "{check:?}");
}
