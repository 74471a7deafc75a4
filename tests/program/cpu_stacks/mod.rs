//! `pfnset cpu` by stack: where threads had waited that run again, and who readied them.

mod model;

use crate::program::{out, run};
use crate::random_cases::one_in;
use crate::symbols::{NAME, database};
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Switch, Thread};
use etl_writer::payloads::{merged, perf};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of, guid};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const T0: u64 = 1_000_000_000;
/// Base addresses.
const APP: u64 = 0x1_4000_0000;
const LIB: u64 = 0x7ff8_0000_0000;
const KERNEL: u64 = 0xffff_f800_0000_0000;

/// Read in lib.dll for app.exe: whole. It waits in the kernel for what app.exe does.
const READ: [u64; 2] = [LIB + 0x30, APP + 0x1010];
const WAIT: [u64; 1] = [KERNEL + 0x500];
const DOES: [u64; 1] = [APP + 0x2020];

/// What `cpu` says of a trace.
fn json_of(trace: &str, more: &[&str]) -> Value {
    let line = [&["cpu", trace, "-q", "--format", "json"], more].concat();
    serde_json::from_str(&out(&line)).expect("JSON")
}

/// The numbers of a row that add up: times of the clock of 100 ns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Sums {
    cpu: u64,
    switches: u64,
    /// By kind: how many, ticks.
    delays: BTreeMap<String, (u64, u64)>,
    unknown_ready: u64,
    unfinished: u64,
    redundant: u64,
    /// By reason: how many, ticks.
    waits: BTreeMap<String, (u64, u64)>,
}

fn add_pairs(sum: &mut BTreeMap<String, (u64, u64)>, more: &BTreeMap<String, (u64, u64)>) {
    for (name, (count, ticks)) in more {
        let own = sum.entry(name.clone()).or_default();
        *own = (own.0 + count, own.1 + ticks);
    }
}

impl std::ops::AddAssign<&Sums> for Sums {
    fn add_assign(&mut self, other: &Sums) {
        self.cpu += other.cpu;
        self.switches += other.switches;
        self.unknown_ready += other.unknown_ready;
        self.unfinished += other.unfinished;
        self.redundant += other.redundant;
        add_pairs(&mut self.delays, &other.delays);
        add_pairs(&mut self.waits, &other.waits);
    }
}

impl Sums {
    fn of(row: &Value) -> Sums {
        let number = |value: &Value| value.as_u64().expect("a number");
        let pairs = |object: &Value| {
            let all = object.as_object().expect("an object").iter().filter(|(name, _)| *name != "all");
            let ticks = |value: &Value| (number(&value["count"]), number(&value["total_ns"]) / 100);
            all.map(|(name, value)| (name.clone(), ticks(value))).collect()
        };
        Sums {
            cpu: number(&row["cpu_ns"]) / 100,
            switches: number(&row["switches"]),
            delays: pairs(&row["ready"]),
            unknown_ready: number(&row["unknown_ready"]),
            unfinished: number(&row["unfinished"]),
            redundant: number(&row["redundant"]),
            waits: pairs(&row["waits"]),
        }
    }
}

/// Sums by the labels of these dimensions.
fn by(trace: &str, dimensions: &str, more: &[&str]) -> BTreeMap<String, Sums> {
    let found = json_of(trace, &[&["--group-by", dimensions], more].concat());
    let label = |row: &Value| {
        let labels = dimensions.split(',').map(|dimension| match &row[dimension] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        labels.collect::<Vec<_>>().join(" | ")
    };
    let rows = found["rows"].as_array().expect("rows").iter();
    rows.map(|row| (label(row), Sums::of(row))).collect()
}

/// One of the numbers by label.
fn only<T>(rows: BTreeMap<String, Sums>, of: impl Fn(&Sums) -> T) -> BTreeMap<String, T> {
    rows.into_iter().map(|(label, sums)| (label, of(&sums))).collect()
}

fn labelled<T, const N: usize>(rows: [(&str, T); N]) -> BTreeMap<String, T> {
    rows.map(|(label, value)| (label.to_owned(), value)).into()
}

/// A process with threads 16, 20 and 24, its images and a kernel.
fn beginning() -> Vec<Rec> {
    let image = |pid: u32, base: u64, name: &str| {
        let image = Image { base, size: 0x1_0000, pid, name: format!(r"\Windows\{name}"), ..Image::default() };
        image.rec(P8, 2, image::LOAD).by(16, pid)
    };
    let thread = |tid| Thread { pid: 8, tid, ..Thread::default() }.rec(P8, 3, thread::DC_START);
    let mut records = vec![
        Process::new(8, "app.exe").rec(P8, 4, process::DC_START).at(T0),
        image(8, APP, "app.exe").at(T0 + 1),
        image(8, LIB, "lib.dll").at(T0 + 2),
        image(0, KERNEL, "ntoskrnl.exe").at(T0 + 3),
    ];
    records.extend([16, 20, 24].map(|tid| thread(tid).at(T0 + 4)));
    records
}

const WAITING: u8 = 5;
const READY: u8 = 1;
const USER_REQUEST: u8 = 6;
const PREEMPTED: u8 = 32;

fn switch(time: u64, new: u32, old: u32, state: u8, wait_reason: u8) -> Rec {
    Switch { new, old, state, wait_reason, ..Switch::default() }.rec(P8, 4).at(time)
}

fn stack(time: u64, thread: u32, frames: &[u64]) -> Rec {
    perf::stack(P8, time, 8, thread, frames).at(time + 1)
}

fn ready(time: u64, thread: u32) -> Rec {
    thread::ready(P8, thread, 1, 0, 0).at(time)
}

fn trace_of(records: Vec<Rec>) -> Trace {
    Trace::new(Session { processors: 2, ..Session::windows10() }).push_all(records)
}

/// On one processor: thread 16 waits twice in lib.dll (100 and 300 ticks), is readied by thread 20 each time, and once without a
/// stack; thread 20 waits in the kernel and loses the processor once.
pub(super) fn known() -> Trace {
    let mut records = beginning();
    let at = |ticks: u64| T0 + 1000 + ticks;
    records.extend([
        switch(at(0), 16, 0, 0, 0),
        // 16 waits, 20 runs from where nobody knows.
        switch(at(50), 20, 16, WAITING, USER_REQUEST),
        ready(at(150), 16),
        stack(at(150), 20, &DOES),
        // 20 loses the processor to 16, which had waited in lib.dll.
        switch(at(160), 16, 20, READY, PREEMPTED),
        stack(at(160), 16, &READ),
        switch(at(200), 20, 16, WAITING, USER_REQUEST),
        stack(at(200), 20, &WAIT),
        // Its caller in user mode is logged later, with the stamp of the switch.
        perf::stack(P8, at(200), 8, 20, &DOES).at(at(202)),
        ready(at(500), 16),
        switch(at(520), 16, 20, WAITING, 0),
        stack(at(520), 16, &READ),
        switch(at(600), 0, 16, WAITING, USER_REQUEST),
        ready(at(700), 20),
        stack(at(700), 24, &READ),
        switch(at(730), 20, 0, 0, 0),
        switch(at(900), 0, 20, WAITING, USER_REQUEST),
    ]);
    trace_of(records)
}

#[test]
fn a_switch_in_has_the_wait_before_it_and_the_run_after_it() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let read = "app.exe+0x1010;lib.dll+0x30";
    // 20 ran 100 ticks when it was seen first, and 170 at the end, without a stack; 320 after its wait in the kernel.
    let cpu =
        [("[idle]", 130), ("[no stack]", 50 + 110 + 170), ("app.exe+0x2020;ntoskrnl.exe+0x500", 320), (read, 120)];
    assert_eq!(only(by(trace, "stack", &[]), |sums| sums.cpu), labelled(cpu));
    let functions = by(trace, "function", &[]);
    let lib = &functions["lib.dll+0x30"];
    assert_eq!((lib.switches, &lib.waits), (2, &labelled([("UserRequest", (2, 100 + 300))])));
    assert_eq!(lib.delays, labelled([("wakeup", (2, 10 + 20))]));
    // It had lost the processor.
    let kernel = &functions["ntoskrnl.exe+0x500"];
    assert_eq!((&kernel.delays, kernel.waits.len()), (&labelled([("preempted", (1, 40))]), 0));
    // The waits of 20 (Executive) and, after its last run, of 16 end outside of the trace, or in a switch without a stack.
    let none = &functions["[no stack]"];
    assert_eq!(none.waits, labelled([("Executive", (1, 180)), ("UserRequest", (1, 300))]));
    assert_eq!((none.switches, none.unknown_ready), (3, 2));
    // Who readied.
    let readied = by(trace, "ready_function", &[]);
    assert_eq!(readied["app.exe+0x2020"].waits, labelled([("UserRequest", (1, 100))]));
    assert_eq!(readied["lib.dll+0x30"].delays, labelled([("wakeup", (1, 30))]));
    assert_eq!(readied["[no stack]"].delays, labelled([("wakeup", (1, 20)), ("preempted", (1, 40))]));
    let both = only(by(trace, "ready_module,module", &["--where", "thread=16"]), |sums| sums.switches);
    let unknown = ("[no stack] | [no stack]", 1);
    assert_eq!(both, labelled([unknown, ("[no stack] | lib.dll", 1), ("app.exe | lib.dll", 1)]));
}

#[test]
fn conditions_find_any_frame_of_either_stack() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let functions = |condition: &str| {
        only(by(trace, "function", &["--where", condition]), |sums| sums.switches).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(functions("function=app.exe+0x1*"), ["lib.dll+0x30"]);
    assert_eq!(functions("module=app.exe"), ["lib.dll+0x30", "ntoskrnl.exe+0x500"]);
    assert_eq!(functions("module=!app.exe"), ["[idle]", "[no stack]"]);
    assert_eq!(functions("stack=app.exe+0x2020*"), ["ntoskrnl.exe+0x500"]);
    assert_eq!(functions("ready_function=app.exe+0x1010"), ["[no stack]"]);
    assert_eq!(functions("ready_stack=app.exe+0x2020"), ["lib.dll+0x30"]);
    assert_eq!(functions("ready_module=[no stack]"), ["[no stack]", "lib.dll+0x30", "ntoskrnl.exe+0x500"]);
    let missed = run(&["cpu", trace, "--group-by", "process", "--where", "function=nobody"]);
    assert!(missed.err.contains("function \"nobody\" matches nothing"), "{missed:?}");
}

#[test]
fn the_share_without_a_stack_is_said() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let told =
        |more: &[&str]| out(&[&["cpu", trace, "-q"], more].concat()).split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "Stacks are known of 3 of 6 switch-ins (50.0 %) and of 3 of the 8 context switches of the trace.";
    for view in [&["--group-by", "module"][..], &["--preset", "waits", "--group-by", "function"]] {
        assert!(told(view).contains(says) && !told(view).contains("who readied"), "{}", told(view));
    }
    assert!(told(&["--timeline", "1", "--group-by", "stack"]).contains(says));
    let says =
        "Stacks of who readied are known of 2 of 3 wakeups (66.7 %) and of 2 of the 3 ready records of the trace.";
    assert!(told(&["--group-by", "ready_module"]).contains(says), "{}", told(&["--group-by", "ready_module"]));
    let selected = told(&["--where", "module=lib.dll"]);
    assert!(selected.contains("of 6 switch-ins (50.0 %), before the conditions on stacks, and of 3"), "{selected}");
    assert!(told(&["--group-by", "module", "--where", "thread=16"]).contains("known of 2 of 3 switch-ins (66.7 %)"));
    assert!(!told(&[]).contains("Stacks are known"));
    let waited = json!({ "switch_ins": 6, "with_stack": 3, "records": 8, "records_with_stack": 3 });
    let readied = json!({ "switch_ins": 3, "with_stack": 2, "records": 3, "records_with_stack": 2 });
    let shares = |more: &[&str]| json_of(trace, more)["stacks"].clone();
    assert_eq!(shares(&["--group-by", "function"]), json!({ "waited": waited, "readied": null }));
    assert_eq!(
        shares(&["--where", "ready_stack=*", "--group-by", "stack"]),
        json!({ "waited": waited, "readied": readied })
    );
    assert_eq!(shares(&[]), Value::Null);
}

#[test]
fn a_trace_without_stacks_says_so() {
    let trace = "cpu-compressed.etl";
    let of = |by: &str| out(&["cpu", trace, "--group-by", by]).split_whitespace().collect::<Vec<_>>().join(" ");
    let waited = of("function");
    assert!(
        waited.contains("no record of a context switch has a stack: rows by stack, function and module"),
        "{waited}"
    );
    assert!(waited.contains("[no stack] 733.57 ms") && !waited.contains("readied thread"), "{waited}");
    assert!(of("ready_module").contains("no record of a readied thread has a stack"));
    assert!(of("ready_module,stack").contains("context switch has a stack"));
    // By samples there are modules; stacks of switch-ins there are none.
    let sampled = run(&["cpu", "resident-small.etl", "--group-by", "function"]);
    assert!(sampled.code == 4 && sampled.err.contains("stacks of switch-ins: no context switch"), "{sampled:?}");
    let refused = run(&["cpu", "resident-small.etl", "--group-by", "module", "--symbols", "."]);
    assert!(refused.code == 2 && refused.err.contains("samples and no context switches"), "{refused:?}");
}

#[test]
fn what_has_no_effect_is_refused() {
    for (arguments, says) in [
        ("--symbols .", "--symbols names functions"),
        ("--preset wakers --where function=x", "conditions on anything else have no effect"),
        ("--preset preemption --where ready_module=x", "conditions on anything else have no effect"),
        ("--preset states --where stack=x", "is of whole threads"),
        ("--preset states --group-by thread,function", "is of whole threads"),
        ("--preset queue --group-by stack", "has rows of its own"),
        ("--timeline 1s --group-by processor --where function=x", "whatever its function"),
    ] {
        let ran = run(&[&["cpu", "stacks-keys.etl"], &arguments.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments}");
        assert!(ran.err.contains(says), "{arguments}: {}", ran.err);
    }
}

/// Both ends of a window: what is cut off there has the stacks of its switch-in, wherever that is, and is not counted twice.
#[test]
fn windows_cut_waits_and_runs() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let start = json_of(trace, &[])["window"]["start_s"].as_f64().expect("a number");
    let at = |ticks: u64| format!("{:.7}", start + ticks as f64 / 1e7);
    let rows = |from: u64, to: u64| by(trace, "function", &["--from", &at(from), "--to", &at(to)]);
    // The wait of 16 from 200 to 500, of which the switch-in is outside: also when it is readied outside.
    let before = rows(180, 510);
    let lib = &before["lib.dll+0x30"];
    assert_eq!((&lib.waits, lib.unfinished), (&labelled([("UserRequest", (1, 300))]), 1));
    assert_eq!(rows(180, 310)["lib.dll+0x30"].waits, labelled([("UserRequest", (1, 110))]));
    let readied = |to: u64| by(trace, "ready_function", &["--from", &at(110), "--to", &at(to)]);
    assert_eq!([140, 155].map(|to| readied(to)["app.exe+0x2020"].waits["UserRequest"]), [(0, 30), (0, 40)]);
    // The run from 160 began before the window: its switch-in is not in it, its stack is known.
    assert_eq!((lib.cpu, lib.switches), (20, 0));
    // The same wait, of which the begin is outside.
    let after = rows(400, 560);
    assert_eq!(after["lib.dll+0x30"].waits, labelled([("UserRequest", (0, 100))]));
    assert_eq!((after["lib.dll+0x30"].cpu, after["ntoskrnl.exe+0x500"].cpu), (40, 120));
    // Windows side by side: times, switch-ins and waits are those of both together.
    let parts = |rows: BTreeMap<String, Sums>| only(rows, |sums| (sums.cpu, sums.switches, sums.waits.clone()));
    let both = |ends: &[u64]| {
        let mut all: BTreeMap<String, Sums> = BTreeMap::new();
        for ends in ends.windows(2) {
            rows(ends[0], ends[1]).into_iter().for_each(|(label, sums)| *all.entry(label).or_default() += &sums);
        }
        all.values_mut().for_each(|sums| sums.waits.retain(|_, wait| *wait != (0, 0)));
        parts(all)
    };
    for cut in one_in(1, (10..890).step_by(35).collect()) {
        assert_eq!(both(&[0, cut, 890]), both(&[0, 890]), "cut at {cut}");
    }
}

/// At one time on two processors.
#[test]
fn stacks_go_with_their_records_not_with_their_times() {
    let mut records = beginning();
    let time = T0 + 1000;
    records.extend([switch(time, 16, 0, 0, 0).on(0), switch(time, 20, 0, 0, 0).on(1)]);
    records.extend([stack(time, 20, &DOES).on(1), stack(time, 16, &READ).on(0)]);
    let time = T0 + 1100;
    records.extend([switch(time, 0, 16, WAITING, 0).on(0), switch(time + 5, 0, 20, WAITING, 0).on(1)]);
    // Two of the readiers, at one time on two processors too.
    let time = T0 + 1200;
    records.extend([ready(time, 16).on(0), ready(time, 20).on(1)]);
    records.extend([stack(time, 24, &WAIT).on(1), stack(time, 28, &DOES).on(0)]);
    let time = T0 + 1300;
    records.extend([switch(time, 16, 0, 0, 0).on(0), switch(time, 20, 0, 0, 0).on(1)]);
    records.push(switch(T0 + 1400, 0, 16, WAITING, 0).on(0));
    let file = file_of(&trace_of(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    let of_threads = only(by(trace, "thread,function", &[]), |sums| sums.cpu);
    let first = [("16 | lib.dll+0x30", 100), ("20 | app.exe+0x2020", 105)];
    let idle = ("0 | [idle]", 200 + 195);
    let again = [("16 | [no stack]", 100), ("20 | [no stack]", 100)];
    assert_eq!(of_threads, labelled([first[0], first[1], idle, again[0], again[1]]));
    let who = only(by(trace, "thread,ready_function", &["--where", "ready_function=*+*"]), |sums| sums.delays.clone());
    let delay = labelled([("wakeup", (1, 100))]);
    assert_eq!(who, labelled([("16 | app.exe+0x2020", delay.clone()), ("20 | ntoskrnl.exe+0x500", delay)]));
}

#[test]
fn forms_have_whole_rows() {
    let file = file_of(&known().finish());
    let trace = file.path().to_str().expect("UTF-8");
    let csv = |more: &[&str]| out(&[&["cpu", trace, "-q", "--format", "csv"], more].concat());
    let rows = csv(&["--group-by", "stack", "--where", "module=lib.dll"]);
    assert!(rows.starts_with("stack,cpu_ns,") && rows.contains("\napp.exe+0x1010;lib.dll+0x30,12000,"), "{rows}");
    let waits = csv(&["--group-by", "function", "--preset", "waits", "--sort", "waits"]);
    let first = waits.lines().nth(1).expect("a row");
    // 480 ticks of several reasons are more than 400 of one.
    assert!(first.starts_with("[no stack],UserRequest,1,30000"), "{waits}");
    let steps = json_of(trace, &["--group-by", "function", "--timeline", "20us"]);
    let steps = steps["timeline"].as_array().expect("steps").clone();
    let lib = |step: &Value| step["groups"]["lib.dll+0x30"].as_u64().unwrap_or(0) / 100;
    assert_eq!(steps.iter().map(lib).collect::<Vec<_>>(), [40, 0, 80, 0, 0]);
}

#[test]
fn symbol_files_name_functions() {
    let mut records = beginning();
    let base = APP + 0x100_0000;
    let name = r"\Windows\crash.exe".to_owned();
    let image = Image { base, size: 0x9000, pid: 8, name, ..Image::default() };
    let time = T0 + 20;
    records.push(image.rec(P8, 2, image::LOAD).by(16, 8).at(time));
    let id = guid("f535c5fb-2ae8-4bb8-aa20-6c30be566c5a");
    records.push(merged::debug_id(P8, 36, base, 8, id, 1, NAME).at(time));
    records.push(switch(T0 + 100, 16, 0, 0, 0));
    records.push(stack(T0 + 100, 16, &[base + 0x1020]));
    records.push(switch(T0 + 200, 0, 16, WAITING, USER_REQUEST));
    let file = file_of(&trace_of(records).finish());
    let trace = file.path().to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(NAME), database()).expect("a file");
    let symbols = ["--symbols", folder.path().to_str().expect("UTF-8")];
    let cpu = |more: &[&str]| only(by(trace, "function", more), |sums| sums.cpu);
    assert_eq!(cpu(&symbols), labelled([("crash.exe!printf", 100)]));
    assert_eq!(cpu(&[]), labelled([("crash.exe+0x1020", 100)]));
    assert_eq!(cpu(&[&symbols[..], &["--where", "function=*!printf"]].concat()), cpu(&symbols));
}
