//! One place judges a trace, and all commands say the same: `info --strict` ends with 3 where any command does.

use crate::program::{fixtures, run};
use crate::random_cases::one_in;
use etl_writer::payloads::memory::hard_fault;
use etl_writer::{Ptr, Session, Trace, file_of};
use std::path::PathBuf;

/// The commands that judge their own numbers, or those of the trace.
const COMMANDS: [&str; 10] =
    ["resident", "pages", "processes", "refset", "cpu", "memory", "stacks", "allocations", "faults", "events"];

/// Some traces of the repository, and of those of `../shared` where they are there, in each run others.
pub fn some_traces() -> Vec<PathBuf> {
    let shared = fixtures().join("../../shared");
    let recorded = std::env::var_os("PFNSET_TRACES").map_or_else(|| shared.join("traces"), PathBuf::from);
    let folders = [recorded.join("real"), recorded.join("synthetic"), recorded.join("wpa"), shared.join("edge")];
    let traces = |folder: &PathBuf| -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
        let mut traces: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "etl")).collect();
        traces.sort();
        traces
    };
    [one_in(1, traces(&fixtures())), one_in(8, folders.iter().flat_map(traces).collect())].concat()
}

/// On `resident-split.etl`, on which events and end rundown disagree, `info --strict` said "trust it" and ended with 0.
#[test]
fn info_and_the_commands_agree_on_every_trace() {
    let traces = some_traces();
    assert!(traces.len() > 1, "{traces:?}");
    for trace in &traces {
        let path = trace.to_str().expect("UTF-8");
        let strict = |command: &str| run(&[command, path, "--strict", "-q", "--format", "csv"]).code;
        let codes = COMMANDS.map(|command| (command, strict(command)));
        let worst: Vec<&str> = codes.into_iter().filter(|(_, code)| *code == 3).map(|(command, _)| command).collect();
        assert_eq!(codes[0].1, codes[1].1, "{path}: pages as resident");
        let info = run(&["info", path, "--strict"]);
        assert_eq!(info.code == 3, !worst.is_empty(), "{path}: {worst:?}\n{}", info.out);
        if info.code == 0 {
            assert!(info.out.starts_with("Verdict: trust it"), "{path}: {}", info.out);
        } else {
            assert!(!info.out.starts_with("Verdict: trust it;"), "{path}: {}", info.out);
        }
    }
}

/// `-q` leaves out notes. What makes numbers wrong is said by each command, so that code 3 of `--strict` never comes without a word.
#[test]
fn what_makes_numbers_wrong_is_said_quietly_too() {
    for trace in some_traces() {
        let path = trace.to_str().expect("UTF-8");
        for command in COMMANDS {
            let ran = run(&[command, path, "--strict", "-q", "--format", "csv"]);
            assert!(ran.code != 3 || !ran.err.is_empty(), "{command} {path}");
        }
    }
    let refset = run(&["refset", "refset-small.etl", "-q", "--format", "csv"]);
    assert!(refset.code == 0 && refset.err.contains("trims"), "{refset:?}");
}

/// What `info` does not check it calls neither good nor bad, and says who checks it.
#[test]
fn what_info_does_not_check_it_names() {
    let plain = run(&["info", "resident-small.etl", "--format", "json"]);
    let strict = run(&["info", "resident-small.etl", "--format", "json", "--strict"]);
    let unchecked = |ran: &str| {
        let json: serde_json::Value = serde_json::from_str(ran).expect("JSON");
        json["unchecked"].as_array().expect("a list").len()
    };
    assert_eq!((unchecked(&plain.out), unchecked(&strict.out)), (4, 0));
    let headline = |arguments: &[&str]| {
        let ran = run(&[&["info"], arguments].concat());
        ran.out.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        headline(&["resident-small.etl"]),
        "Verdict: no loss, damage or cut was found; whether the numbers agree is checked by pfnset resident, cpu, memory and"
    );
    // Its commit differs from the end rundown; its samples are few, and of an assumed interval.
    assert_eq!(
        headline(&["resident-small.etl", "--strict"]),
        "Verdict: trust it with care; no loss was found, but there are 3 warnings"
    );
    let session = Session { processors: 1, ..Session::windows10() };
    let fault = hard_fault(Ptr::P8, session.t0 + 10, 0, 0x10_0000, 7, 4, 4096).at(session.t0 + 20);
    let sound = file_of(&Trace::new(session).push(fault).finish());
    assert_eq!(
        headline(&[sound.path().to_str().expect("UTF-8"), "--strict"]),
        "Verdict: trust it; no loss, damage or cut was found, and the checks of pfnset faults passed"
    );
}

/// The reason of code 3 stood in the file alone.
#[test]
fn a_file_is_not_the_only_place_of_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.txt").display().to_string();
    for line in
        ["refset refset-small.etl", "refset refset-small.etl --each", "diff refset-small.etl refset-small.etl --refset"]
    {
        let ran = run(&[&line.split(' ').collect::<Vec<_>>()[..], &["-q", "--strict", "-o", &file]].concat());
        assert_eq!(ran.code, 3, "{line}: {ran:?}");
        assert!(ran.err.contains("--strict: code 3, because numbers can be wrong: "), "{line}: {}", ran.err);
    }
    let shown = run(&["refset", "refset-small.etl", "-q", "--strict"]);
    assert!(shown.code == 3 && shown.err.is_empty(), "it stands on the screen: {shown:?}");
}

/// One warning that makes numbers wrong was "1 warning, 1 of which makes numbers wrong".
#[test]
fn one_grave_warning_is_not_counted_twice() {
    let told = run(&["info", "refset-proved.etl"]).out;
    assert!(told.contains("there is 1 warning; it makes numbers wrong"), "{told}");
}
