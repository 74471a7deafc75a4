//! What damage has swallowed lies after it. Budgets of that time are invalid, and commands say what is not known.

use crate::check::{check, folder, json};
use crate::program::{finish, fixtures, pfnset};
use tempfile::TempDir;

const BUFFER: usize = 0x1_0000;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).unwrap()
}

fn write(folder: &TempDir, name: &str, bytes: &[u8]) {
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

/// From an offset in a buffer on to its end there is nothing: a write that was torn.
fn torn(mut bytes: Vec<u8>, buffer: usize, from: usize) -> Vec<u8> {
    bytes[buffer * BUFFER + from..(buffer + 1) * BUFFER].fill(0);
    bytes
}

/// Verdicts of the budgets, and the exit code.
fn verdicts(folder: &TempDir, trace: &str) -> (Vec<String>, Option<i32>, String) {
    let ran = check(folder, &format!("{trace} --budgets budgets.toml --format json -q"));
    let json = json(&ran);
    let budgets = json["traces"][0]["budgets"].as_array().unwrap();
    (budgets.iter().map(|budget| budget["verdict"].as_str().unwrap().to_owned()).collect(), Some(ran.code), ran.out)
}

/// The damage was dated by the good records of its buffer, which lie before it: budgets passed with a third of the pages.
#[test]
fn what_is_gone_up_to_the_end_of_a_buffer_lies_after_the_damage() {
    let folder = folder(
        "[[budget]]\nname = \"Image\"\nwhere = { category = \"Image\" }\nmax = \"1200 KiB\"\n\
         [[budget]]\nname = \"All\"\nmax = \"11 MiB\"\n",
    );
    assert_eq!(verdicts(&folder, "resident-small.etl").0, ["fail", "fail"]);
    for (buffer, from) in [(1, 80), (1, 512), (1, 16_384), (3, 80), (5, 512)] {
        write(&folder, "torn.etl", &torn(fixture("resident-small.etl"), buffer, from));
        let (verdicts, code, out) = verdicts(&folder, "torn.etl");
        assert_eq!((verdicts, code), (vec!["invalid".to_owned(); 2], Some(3)), "{buffer} {from}: {out}");
        assert!(out.contains("the file is damaged at offset"), "{out}");
    }
}

/// The damage ended where the page sequence that is left begins.
#[test]
fn damage_that_swallows_the_begin_of_the_page_sequence_lies_in_it() {
    let folder = folder("[[budget]]\nname = \"NonPaged\"\nwhere = { category = \"NonPagedPool\" }\nmax = \"4 MiB\"\n");
    let whole = fixture("refset-proved.etl");
    write(&folder, "whole.etl", &whole);
    assert_eq!(verdicts(&folder, "whole.etl").0, ["fail"]);
    write(&folder, "torn.etl", &torn(whole, 6, BUFFER / 2));
    assert_eq!(verdicts(&folder, "torn.etl").0, ["invalid"]);
}

/// Of compressed bytes nobody knows from where on they are wrong.
#[test]
fn a_damaged_compressed_buffer_is_missing_as_a_whole() {
    let folder = folder("[[budget]]\nname = \"CPU\"\nanalysis = \"cpu\"\nmax = \"3600 s\"\n");
    let whole = fixture("cpu-compressed.etl");
    write(&folder, "whole.etl", &whole);
    assert_eq!(verdicts(&folder, "whole.etl").0, ["pass"]);
    let file = pfnset::etl::EtlFile::open(&folder.path().join("whole.etl")).unwrap();
    let of = file.buffers.iter().filter(|buffer| buffer.is_compressed());
    let places: Vec<usize> = of.map(|buffer| buffer.offset.0 as usize).collect();
    assert!(places.len() > 2, "{places:?}");
    for place in places {
        let mut bytes = whole.clone();
        bytes[place + 100..place + 140].iter_mut().for_each(|byte| *byte ^= 0x5a);
        write(&folder, "torn.etl", &bytes);
        let (verdicts, code, out) = verdicts(&folder, "torn.etl");
        assert_eq!((verdicts, code), (vec!["invalid".to_owned()], Some(3)), "{place}: {out}");
    }
}

/// An upload that repeats a block: what is in it was counted again.
#[test]
fn a_copy_of_a_buffer_is_damage_and_counts_once() {
    let folder = folder("");
    let whole = fixture("faults-x86.etl");
    let run = |arguments: &[&str]| finish(pfnset(arguments).current_dir(folder.path()));
    let faults = |name: &str| {
        let ran = run(&["faults", name, "--format", "json", "-q"]);
        json(&ran)["hard_faults"].clone()
    };
    write(&folder, "whole.etl", &whole);
    let file = pfnset::etl::EtlFile::open(&folder.path().join("whole.etl")).unwrap();
    let place = |buffer: usize| file.buffers[buffer].offset.0 as usize..whole.len();
    let (second, third) = (place(2).start..place(3).start, place(3).start);
    // Again after itself, and at the end.
    for at in [third, whole.len()] {
        let twice = [&whole[..at], &whole[second.clone()], &whole[at..]].concat();
        write(&folder, "twice.etl", &twice);
        assert_eq!(faults("twice.etl"), faults("whole.etl"));
        let info = run(&["info", "twice.etl", "--strict"]);
        assert!(info.code == 3 && info.out.contains("THE FILE IS DAMAGED in 1 place, first: buffer "), "{}", info.out);
        assert!(info.out.contains(&format!("0x{at:x}")), "{}", info.out);
    }
    // In the place of another one, which is lost then.
    let instead = [&whole[..third], &whole[second], &whole[place(4)]].concat();
    write(&folder, "instead.etl", &instead);
    let info = run(&["info", "instead.etl", "--strict"]);
    assert!(info.code == 3 && info.out.contains("THE FILE IS DAMAGED"), "{}", info.out);
    assert!(info.out.contains("DATA WAS LOST") || info.out.contains("THE FILE LACKS"), "{}", info.out);
}

/// Only `info` said it, and not with `--strict`.
#[test]
fn a_session_that_was_never_stopped_is_doubtful_everywhere() {
    let folder = folder("[[budget]]\nname = \"All\"\nmax = \"1 GiB\"\n");
    let mut bytes = fixture("resident-small.etl");
    bytes[0x78..0x80].fill(0); // EndTime
    bytes[0x8c..0x90].fill(0); // BuffersWritten
    write(&folder, "running.etl", &bytes);
    write(&folder, "cut.etl", &bytes[..5 * BUFFER]);
    for command in ["info", "resident", "processes", "allocations", "report"] {
        let page = ["-o", "page.html"];
        let more = if command == "report" { &page[..] } else { &["--format", "json"] };
        let ran = finish(pfnset(&[&[command, "running.etl", "--strict"], more].concat()).current_dir(folder.path()));
        assert!(ran.code == 3 && ran.err.contains("THE SESSION WAS NEVER STOPPED"), "{command}: {ran:?}");
    }
    let json = json(&finish(pfnset(&["info", "running.etl", "--format", "json"]).current_dir(folder.path())));
    assert_eq!((&json["trust"], &json["doubts"][0]["code"]), (&"loss_unknown".into(), &"loss_unknown".into()));
    // Each processor has records after the page sequence; of the cut file nobody knows where it ends.
    assert_eq!(check(&folder, "running.etl --budgets budgets.toml -q").code, 0);
    assert_eq!(check(&folder, "running.etl --budgets budgets.toml -q --strict").code, 3);
    let (verdicts, code, out) = verdicts(&folder, "cut.etl");
    assert_eq!((verdicts, code), (vec!["invalid".to_owned()], Some(3)), "{out}");
    assert!(out.contains("the session was never stopped, and its last buffers may be missing"), "{out}");
}

/// A page of CI that is made from JUnit was green beside a red step.
#[test]
fn the_code_of_strict_is_explained() {
    let folder = folder("[[budget]]\nname = \"All\"\nmax = \"1 GiB\"\n");
    let ran = check(&folder, "refset-small.etl --budgets budgets.toml --strict --format json --junit out.xml -q");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("pfnset: --strict: code 3, because numbers can be wrong: "), "{}", ran.err);
    let json = json(&ran);
    assert_eq!((&json["verdict"], &json["doubts"]), (&"pass".into(), &json["traces"][0]["doubts"]));
    let doubt = json["doubts"][0]["text"].as_str().unwrap();
    assert!(ran.err.contains(doubt), "{}", ran.err);
    let xml = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
    assert!(xml.contains("errors=\"1\"") && xml.contains("<error message=\"numbers can be wrong: "), "{xml}");
    let ran = check(&folder, "refset-small.etl --budgets budgets.toml --junit out.xml -q");
    let xml = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
    assert!(ran.code == 0 && ran.err.is_empty() && !xml.contains("<error "), "{} {xml}", ran.err);
}

/// Limits of later builds rest on these numbers.
#[test]
fn a_first_file_of_a_doubtful_trace_says_so() {
    let folder = folder("");
    let ran = check(&folder, "--init refset-small.etl --strict -o first.toml");
    assert!(ran.code == 3 && ran.err.contains("warning: "), "{ran:?}");
    let file = std::fs::read_to_string(folder.path().join("first.toml")).unwrap();
    assert!(file.contains("\n# The limits may be wrong: "), "{file}");
    assert_eq!(check(&folder, "refset-small.etl --budgets first.toml -q").code, 0);
    assert_eq!(check(&folder, "--init refset-small.etl").code, 0);
    let ran = check(&folder, "--init resident-small.etl --format json");
    assert!(ran.code == 2 && ran.err.contains("--init writes budgets in TOML, in no other form"), "{ran:?}");
}

/// A night without its trace was green.
#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_a_trace_that_cannot_be_read() {
    let folder = folder("[[budget]]\nname = \"All\"\nmax = \"1 GiB\"\n");
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    write(&folder, "runs/a.etl", &fixture("resident-small.etl"));
    std::os::unix::fs::symlink("/nonexistent/x.etl", folder.path().join("runs/today.etl")).unwrap();
    let ran = check(&folder, "runs --budgets budgets.toml");
    assert!(ran.code == 3 && ran.out.contains("cannot read runs/today.etl: a link to nothing"), "{}", ran.out);
    let export = || finish(pfnset(&["export", "runs", "--out", "d"]).current_dir(folder.path()));
    let ran = export();
    assert!(ran.code == 3 && ran.err.contains("cannot read runs/today.etl: a link to nothing"), "{ran:?}");
    // One that leads out of the folder is not followed, as with --each.
    std::fs::remove_file(folder.path().join("runs/today.etl")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("refset-small.etl"), folder.path().join("runs/today.etl")).unwrap();
    let ran = check(&folder, "runs --budgets budgets.toml");
    assert!(ran.code == 3 && ran.out.contains("a link out of the folder is not followed"), "{}", ran.out);
    assert_eq!(check(&folder, "runs refset-small.etl --budgets budgets.toml --format csv").out.lines().count(), 4);
    let ran = export();
    assert!(ran.code == 3 && !ran.out.contains("today") && ran.err.contains("name its target"), "{ran:?}");
}
