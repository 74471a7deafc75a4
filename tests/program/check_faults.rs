//! Budgets of hard faults: values are those of `faults`, and what was not recorded is not 0.

use crate::program::{out, run};
use etl_writer::Ptr::P8;
use etl_writer::bytes::Put;
use etl_writer::payloads::file::{self, View, ViewKind};
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Thread};
use etl_writer::payloads::{header, memory};
use etl_writer::{Rec, Session, Trace, file_of};
use insta::assert_snapshot;
use serde_json::{Value, json};

const APP: u32 = 40;
const TID: u32 = 44;
const DATA: u64 = 0xffff_c001_0000_1000;
const DLL: u64 = 0x7ff6_0000_0000;
/// Group masks with hard faults on.
const MASKS: [u32; 8] = [0x2000, 0, 0, 0, 0, 0, 0, 0];

fn budget(name: &str, measure: &str, rest: &str) -> String {
    format!("[[budget]]\nname = \"{name}\"\nanalysis = \"faults\"\nmeasure = \"{measure}\"\n{rest}\n")
}

/// Exit code, and what became of each budget of a trace.
pub fn check(trace: &str, budgets: &str) -> (i32, Vec<Value>) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), budgets).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let ran = run(&["check", trace, "--budgets", path, "-q", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (ran.code, json["traces"][0]["budgets"].as_array().expect("budgets").clone())
}

/// Verdict and reason of a budget on a trace of these records.
fn judged(records: Vec<Rec>, measure: &str, rest: &str) -> (String, String) {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let stamped: Vec<Rec> = records.into_iter().zip(1u64..).map(|(record, n)| record.at(t0 + 1000 * n)).collect();
    let file = file_of(&Trace::new(session).push_all(stamped).finish());
    let (_, budgets) = check(file.path().to_str().expect("UTF-8"), &budget("one", measure, rest));
    let text = |key: &str| budgets[0][key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("reason"))
}

fn process() -> Vec<Rec> {
    let thread = Thread { pid: APP, tid: TID, ..Thread::default() };
    vec![Process::new(APP, "app.exe").rec(P8, 4, process::DC_START), thread.rec(P8, 3, thread::DC_START)]
}

/// A thread waits for one fault at a time: forty that begin together and end one after the other waited twenty times as long as there was.
#[test]
fn waits_of_a_thread_that_lie_in_each_other_are_not_judged() {
    let session = || Session { processors: 1, ..Session::windows10() };
    let t0 = session().t0;
    let trace = |begin: &dyn Fn(u64) -> u64| {
        let fault = |n: u64| memory::hard_fault(P8, begin(n), 0, DLL, DATA, TID, 4096).at(t0 + 1000 * n);
        file_of(
            &Trace::new(session())
                .push_all(process().into_iter().map(|rec| rec.at(t0 + 1)).chain((1..=40).map(fault)))
                .finish(),
        )
    };
    // Next to each other; a few in others, as where a page is needed to read one; all from the first moment on.
    let few = |n: u64| t0 + 1000 * (if n.is_multiple_of(8) { n - 2 } else { n - 1 });
    let begins: [(&dyn Fn(u64) -> u64, bool); 3] =
        [(&|n| t0 + 1000 * (n - 1), true), (&few, true), (&|_| t0 + 1, false)];
    for (begin, is_sound) in begins {
        let file = trace(begin);
        let path = file.path().to_str().expect("UTF-8");
        let ran = run(&["faults", path, "--strict"]);
        let says = "39 of 40 hard faults begin before another one of the same thread has ended";
        assert_eq!((ran.code, ran.out.contains(says)), if is_sound { (0, false) } else { (3, true) }, "{ran:?}");
        let budgets = ["hard_faults", "fault_wait_ms"].map(|of| budget(of, of, "max = \"1000\""));
        let (_, judged) = check(path, &budgets.concat());
        let wait = if is_sound { "pass" } else { "invalid" };
        assert_eq!((&judged[0]["verdict"], &judged[1]["verdict"]), (&json!("pass"), &json!(wait)), "{judged:?}");
    }
}

fn images() -> Rec {
    let dll = Image { base: DLL, size: 0x1_0000, pid: APP, name: "\\Windows\\x.dll".into(), ..Image::default() };
    dll.rec(P8, 3, image::DC_START)
}

fn views() -> Rec {
    View::new(APP, 0x10_0000, 0x1_0000, DATA, ViewKind::Data).rec(P8, 3, file::MAP_DC_START)
}

fn names() -> Rec {
    file::name(P8, file::RUNDOWN, DATA, "\\Device\\HarddiskVolume1\\data.bin")
}

/// Two faults, one in the image and one in the view, that began so many ticks before the trace's clock shows.
fn faults(started: u64) -> Vec<Rec> {
    let fault = |address: u64| memory::hard_fault(P8, started, 0, address, DATA, TID, 4096);
    vec![fault(DLL + 0x1000), fault(0x10_1000)]
}

fn disk_read() -> Rec {
    let payload = Put::new(P8).u32(0).u32(0).u32(4096).u32(0).u64(0).ptr(DATA).ptr(7).u64(10).u32(TID).done();
    Rec::perf(P8, 0x010a, 3, payload)
}

/// Disk requests alone were once enough for "0 hard faults: pass".
#[test]
fn a_trace_of_the_disk_alone_does_not_know_its_faults() {
    let records = || [process(), vec![disk_read()]].concat();
    for measure in ["hard_faults", "fault_wait_ms"] {
        let (verdict, reason) = judged(records(), measure, "max = \"200\"");
        assert_eq!(verdict, "invalid", "{reason}");
        assert!(reason.contains("the keyword HardFaults was not recorded"), "{reason}");
    }
    let masks = header::group_masks(P8, header::MASKS_BEFORE, MASKS, 80);
    let asked = [vec![masks], records()].concat();
    assert_eq!(judged(asked, "hard_faults", "max = \"200\"").0, "pass", "they were asked for, and there was none");
}

/// What a fault read is known by images, views and names of files; a kind that they do not change stays known.
#[test]
fn conditions_need_what_tells_them() {
    let t = Session::windows10().t0;
    let (image, view, name) = (|| vec![images()], || vec![views()], || vec![names()]);
    let parts = |parts: &[Vec<Rec>]| [process(), parts.concat(), faults(t)].concat();
    let kind = |kinds: &str| format!("where.kind = \"{kinds}\"\nmax = \"10\"");
    let module = "where.module = \"x.dll\"\nmax = \"10\"";
    let all = || parts(&[image(), view(), name()]);
    for rest in [kind("image"), kind("mapped_file"), module.to_owned(), kind("*"), kind("page_file;unknown")] {
        assert_eq!(judged(all(), "hard_faults", &rest), ("pass".into(), String::new()), "{rest}");
    }
    for (lacks, records, rest, keyword) in [
        ("images", parts(&[view(), name()]), kind("image"), "Loader"),
        ("images", parts(&[view(), name()]), module.to_owned(), "Loader"),
        ("views", parts(&[image(), name()]), kind("mapped_file"), "VAMap"),
        ("views", parts(&[image(), name()]), kind("image"), "VAMap"),
        ("names", parts(&[image(), view()]), kind("page_file"), "Filename"),
        ("names", parts(&[image(), view()]), kind("image"), "Filename"),
    ] {
        let (verdict, reason) = judged(records, "hard_faults", &rest);
        assert_eq!(verdict, "invalid", "{lacks} {rest}: {reason}");
        assert!(reason.ends_with(&format!("cannot be known: the keyword {keyword} was not recorded")), "{reason}");
    }
    for rest in [kind("image"), kind("mapped_file"), module.to_owned()] {
        let (verdict, reason) = judged([image(), view(), name(), faults(t)].concat(), "hard_faults", &rest);
        assert_eq!(verdict, "invalid", "{rest}: {reason}");
        assert!(reason.ends_with("cannot be known: the keyword ProcessThread was not recorded"), "{reason}");
    }
    for rest in [kind("*"), kind("page_file")] {
        assert_eq!(judged(parts(&[name()]), "hard_faults", &rest).0, "pass", "{rest}");
    }
}

/// A fault that began after its end once added 0 to the wait.
#[test]
fn waits_that_are_not_known_are_no_zeros() {
    let t = Session::windows10().t0;
    let later = || [process(), vec![images(), views(), names()], faults(t), faults(t + 1_000_000)].concat();
    let (verdict, reason) = judged(later(), "fault_wait_ms", "max = \"1000 s\"");
    assert_eq!(
        (verdict.as_str(), reason.contains("2 hard faults have a begin that cannot be true")),
        ("invalid", true)
    );
    assert_eq!(judged(later(), "hard_faults", "max = \"10\"").0, "pass", "their number is known");
}

/// Values are those of `faults`, and a limit that equals the value holds.
#[test]
fn budgets_of_hard_faults() {
    let faults = |more: &[&str]| -> Value {
        serde_json::from_str(&out(&[&["faults", "faults-x86.etl", "-q", "--format", "json"], more].concat()))
            .expect("JSON")
    };
    let all = faults(&[]);
    let by_process = all["hard"]["rows"].as_array().expect("rows");
    // Of the others some waits are not known.
    let first = by_process.iter().find(|row| row["malformed"] == 0).expect("a row");
    let process = first["process"].as_str().expect("a process");
    let [events, waited] = ["events", "waited_ns"].map(|key| first[key].as_u64().expect("a number"));
    let total = all["hard"]["events"].as_u64().expect("a number");
    let own = format!("where.process = \"{process}\"\n");
    let text = [
        budget("all", "hard_faults", &format!("max = \"{total}\"")),
        budget("less", "hard_faults", &format!("max = \"{}\"", total - 1)),
        budget("own", "hard_faults", &format!("{own}max = \"{events} faults\"\nwatch = \"100 %\"")),
        budget("wait", "fault_wait_ms", &format!("{own}max = \"{waited} ns\"")),
        budget("long", "fault_wait_ms", &format!("{own}max = \"{} ns\"", waited - 1)),
        budget("none", "hard_faults", "where.process = \"nobody.exe\"\nmax = \"1\""),
        // Three faults are of nobody: with room for them it is certain.
        budget("certain", "hard_faults", &format!("{own}max = \"{} faults\"\nwatch = \"100 %\"", events + 3)),
        budget("quiet", "hard_faults", "where.process = \"System\"\nwhere.kind = \"cache\"\nmax = \"100000\""),
    ]
    .concat();
    let (code, results) = check("faults-x86.etl", &text);
    let of = |key: &str| results.iter().map(|result| result[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("verdict")[..7], ["watch", "fail", "invalid", "invalid", "fail", "no match", "pass"]);
    let ms = waited as f64 / 1e6;
    assert_eq!(of("value")[..5], [json!(total), json!(total), json!(events), json!(ms), json!(ms)]);
    assert_eq!((&of("unit")[0], &of("unit")[3]), (&json!("faults"), &json!("ms")));
    assert!(results.iter().all(|result| result["value_bytes"].is_null() && result["limit_bytes"].is_null()));
    assert_eq!((code, &results[4]["room"]), (1, &json!(-1e-6)));
    let grown = &results[1]["grown"][0];
    assert!(grown["value"].is_u64() && grown["pages"].is_null(), "{grown}");
    // No hard fault was recorded here: nothing is known of them.
    let (code, results) = check("resident-small.etl", &text);
    assert!(code == 3 && results.iter().all(|result| result["verdict"] == "invalid"), "{results:?}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    assert_snapshot!(run(&["check", "faults-x86.etl", "--budgets", path, "-q"]).out);
}

/// Budgets of one kind go through the trace together: hundreds cost little more than one where the trace is long and holds little of it.
#[test]
fn many_budgets_read_the_trace_once() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let commit = memory::virtual_alloc(P8, 0x20_0000, 0x1000, APP, 0x1000);
    let mut records = [process(), vec![images(), views(), names(), commit], faults(t0)].concat();
    records.extend((0..60_000).map(|_| memory::mem_reset(P8, 0x10_0000, 0x1000, 0)));
    let stamped: Vec<Rec> = records.into_iter().zip(1u64..).map(|(record, n)| record.at(t0 + 1000 * n)).collect();
    let file = file_of(&Trace::new(session).push_all(stamped).finish());
    let one_by_one = |analysis: &str, measure: &str, limit: &str, count: usize| {
        let of = |number| {
            let head = format!("[[budget]]\nname = \"{number}\"\nanalysis = \"{analysis}\"\nmeasure = \"{measure}\"\n");
            format!("{head}max = \"{limit}\"\nwhere.process = \"app*;{number}*\"\n")
        };
        let budgets: String = (0..count).map(of).collect();
        let begun = std::time::Instant::now();
        let (code, judged) = check(file.path().to_str().expect("UTF-8"), &budgets);
        assert!(judged.len() == count && judged.iter().all(|budget| budget["value"] == judged[0]["value"]), "{code}");
        begun.elapsed()
    };
    for (analysis, measure, limit) in [("faults", "hard_faults", "10"), ("commit", "growth_per_minute", "900 GiB")] {
        let one = one_by_one(analysis, measure, limit, 1);
        let many = one_by_one(analysis, measure, limit, 400);
        assert!(many < 40 * one, "{analysis}: {many:?} for 400, {one:?} for one");
    }
}

/// Hard faults before time 0 are in no number: a budget passed with the others.
#[test]
fn faults_before_the_header_make_a_budget_invalid() {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let verdict = |first: u64| {
        let fault =
            |n: u64| memory::hard_fault(P8, first + 1000 * n - 10, 0, 0x7000, DATA, TID, 4096).at(first + 1000 * n);
        let file = file_of(&Trace::new(session.clone()).push_all((1..=20).map(fault)).finish());
        let (_, results) = check(file.path().to_str().expect("UTF-8"), &budget("all", "hard_faults", "max = \"100\""));
        results[0]["verdict"].clone()
    };
    assert_eq!((verdict(t0), verdict(t0 - 10_000)), (json!("pass"), json!("invalid")));
}

/// Deletes of names were missing: an object kept the first name, its faults were of that file, and a budget of the other passed.
#[test]
fn names_without_their_deletes_make_budgets_of_files_invalid() {
    let t = Session::windows10().t0;
    let records = |deletes: bool| {
        let mut all = [process(), vec![images(), views()]].concat();
        for key in (1..=4).map(|number| 0x7000 * number) {
            all.push(file::name(P8, file::RUNDOWN, key, "\\old"));
            all.extend(deletes.then(|| file::name(P8, file::DELETE, key, "\\old")));
            all.extend([
                file::name(P8, file::CREATE, key, "\\new"),
                memory::hard_fault(P8, t, 0, 0x10_1000, key, TID, 4096),
            ]);
        }
        all
    };
    for (deletes, wanted) in [(true, false), (false, true)] {
        let (verdict, reason) = judged(records(deletes), "hard_faults", "where.file = \"*new\"\nmax = \"10\"");
        let says = "records of names of files: 4 deletes are missing (0 are there)";
        assert_eq!((verdict == "invalid", reason.contains(says)), (wanted, wanted), "{verdict} {reason}");
        assert_eq!(judged(records(deletes), "hard_faults", "max = \"10\"").0, "pass");
    }
}

/// Faults of a process that no record names can be those of a process that has none by its name.
#[test]
fn faults_of_unknown_processes_may_be_of_a_process_without_any() {
    let t = Session::windows10().t0;
    let known = || {
        [process(), vec![images(), views(), names(), Process::new(48, "p.exe").rec(P8, 4, process::DC_START)]].concat()
    };
    let unknown = || (0..4).map(|tid| memory::hard_fault(P8, t, 0, 0x10_1000, DATA, 900 + tid, 4096));
    let of = "where.process = \"p.exe\"\n";
    let judged = |max: &str| {
        judged(
            known().into_iter().chain(unknown()).collect(),
            "hard_faults",
            &format!("{of}max = \"{max}\"\noptional = true"),
        )
    };
    let (verdict, reason) = judged("3");
    assert_eq!(verdict, "invalid", "{reason}");
    assert!(
        reason.contains("no record names the process of 4 faults, so the value is 0 faults to 4 faults"),
        "{reason}"
    );
    assert_ne!(judged("4").0, "invalid");
}

/// Without the ends of threads, faults of a thread were those of the next one with its id, and nothing told it.
#[test]
fn faults_by_process_are_not_known_without_the_ends_of_threads() {
    let thread = |pid: u32, tid: u32, hook: u16| Thread { pid, tid, ..Thread::default() }.rec(P8, 3, hook);
    let all = |pid: u32, hook: u16| (0..20).map(move |n| thread(pid, TID + 4 * n, hook)).collect::<Vec<_>>();
    let other = Process::new(APP + 8, "other.exe").rec(P8, 4, process::DC_START);
    let records = |has_ends: bool| {
        let ends = if has_ends { all(APP, thread::END) } else { Vec::new() };
        let next = [all(APP + 8, thread::START), all(APP + 8, thread::DC_END)].concat();
        let faults = faults(Session::windows10().t0);
        [process(), all(APP, thread::DC_START), vec![other.clone()], faults, ends, next].concat()
    };
    let of_one = "where = { process = \"app.exe\" }\nmax = \"100\"";
    let verdict = |has_ends: bool, rest: &str| judged(records(has_ends), "hard_faults", rest);
    assert_eq!(verdict(true, of_one).0, "pass");
    let (found, reason) = verdict(false, of_one);
    assert!(found == "invalid" && reason.contains("20 ends of threads are in no record"), "{found} {reason}");
    assert_eq!(verdict(false, "max = \"100\"").0, "pass");
}

/// What lies in a module is an image. A budget of both needed VAMap, one of the module alone did not; and page files, which names tell, could
/// be whatever nothing told.
#[test]
fn without_views_kinds_of_modules_and_page_files_are_known() {
    let t = Session::windows10().t0;
    let records = || [process(), vec![images(), names()], faults(t)].concat();
    let of = |conditions: &str| judged(records(), "hard_faults", &format!("where = {{ {conditions} }}\nmax = \"100\""));
    let (verdict, reason) = of("kind = \"image\"");
    assert!(verdict == "invalid" && reason.contains("VAMap was not recorded"), "{verdict} {reason}");
    for known in ["module = \"x.dll\"", "kind = \"image\", module = \"x.dll\""] {
        assert_eq!(of(known), ("pass".to_owned(), String::new()), "{known}");
    }
    // Those in no module can be of any kind.
    for unknown in ["!x.dll", "*"] {
        let (verdict, reason) = of(&format!("kind = \"image\", module = \"{unknown}\""));
        assert!(verdict == "invalid" && reason.contains("VAMap was not recorded"), "{verdict} {reason}");
    }
    let none = "where.kind = \"page_file\"\nmax = \"0\"\noptional = true";
    let (verdict, reason) = judged(records(), "hard_faults", none);
    assert_eq!((verdict.as_str(), reason.contains("no record names")), ("pass", false), "{reason}");
}
