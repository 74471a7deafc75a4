//! Names of processes that are not ASCII: the same in every command, table, filter and format.

use crate::program::{out, run};
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::refset::{RefsetSpec, generate_refset};
use etl_writer::{Compression, Ptr::P8, Session, Trace, file_of};
use serde_json::Value;
use std::io::Cursor;

/// A process with a name of these bytes, by which the kernel knew it.
fn process(pid: u32, name: &[u8], command: &str) -> Process {
    Process { name_bytes: name.into(), command: command.into(), ..Process::new(pid, "") }
}

/// Two processes of one id, both named by an image; names by code page, UTF-8 and command line; a page for each.
fn trace() -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut time = session.t0;
    let mut trace = Trace::new(session);
    let image = |pid, name: &str| Image { base: 0x40_0000, size: 0x1000, pid, name: name.into(), ..Image::default() };
    let first = Process { key: 0x1000, ..process(40, b"Teams ?.exe", "") };
    let second = Process { key: 0x2000, ..process(40, b"Teams ?.exe", "") };
    let mut recs = vec![
        first.rec(P8, 4, process::DC_START),
        image(40, "\\Device\\HarddiskVolume3\\Windows\\System32\\ntdll.dll").rec(P8, 3, image::DC_START),
        image(40, "\\Device\\HarddiskVolume3\\Apps\\Teams ж.exe").rec(P8, 3, image::DC_START),
        first.rec(P8, 4, process::END),
        second.rec(P8, 4, process::START).by(8, 4),
        image(40, "\\Device\\HarddiskVolume3\\Apps\\Teams й.exe").rec(P8, 3, image::LOAD),
        process(44, b"Caf\xe9.exe", "").rec(P8, 4, process::DC_START),
        process(48, "Müller.exe".as_bytes(), "").rec(P8, 4, process::DC_START),
        process(52, b"SearchProtocolH", "C:\\SearchProtocolHost.exe /x").rec(P8, 4, process::DC_START),
        process(56, b"UpdateManagerSe", "").rec(P8, 4, process::DC_START),
        image(56, "\\Device\\HarddiskVolume3\\UpdateManagerService.exe").rec(P8, 3, image::DC_START),
        process(60, "Größenänder€ung".as_bytes().get(..15).unwrap(), "\"C:\\a b\\Größenänder€ung.exe\"").rec(
            P8,
            4,
            process::DC_START,
        ),
    ];
    recs.extend(
        (40u32..64).step_by(4).map(|pid| Identity::private(u64::from(pid), pid.into(), 0x1000).rec(P8, 4, IN_MEMORY)),
    );
    for rec in recs {
        time += 10;
        trace.add(&rec.at(time));
    }
    file_of(&trace.finish())
}

const NAMES: [&str; 6] = [
    "Teams й.exe (40)",
    "Café.exe (44)",
    "Müller.exe (48)",
    "SearchProtocolHost.exe (52)",
    "UpdateManagerService.exe (56)",
    "Größenänder€ung.exe (60)",
];

#[test]
fn every_command_and_format_shows_the_same_names() {
    let file = trace();
    let path = file.path().to_str().unwrap();
    for arguments in [
        &["resident", path, "--group-by", "process"][..],
        &["pages", path],
        &["pages", path, "--format", "xperf"],
        &["pages", path, "--format", "jsonl"],
        &["processes", path, "--sort", "name"],
        &["processes", path, "--format", "jsonl"],
        &["processes", path, "--format", "markdown"],
    ] {
        let ran = run(&[arguments, &["-q"]].concat());
        assert_eq!((ran.code, ran.out.contains('\u{fffd}')), (0, false), "{arguments:?} {}", ran.out);
        // xperf has the id before the name.
        let name = |label: &'static str| label.split(" (").next().unwrap();
        NAMES.iter().for_each(|label| assert!(ran.out.contains(name(label)), "{arguments:?} {label} {}", ran.out));
    }
    let csv = out(&["pages", path, "-q", "--format", "csv"]);
    NAMES.iter().for_each(|label| assert!(csv.contains(label), "{label} {csv}"));
    let first = out(&["processes", path, "-q", "--format", "csv", "--where", "name=*ж.exe"]);
    assert!(first.contains("Teams ж.exe (40)") && first.lines().count() == 2, "{first}");
    for (label, pfn) in NAMES.iter().zip((40..).step_by(4)) {
        let explained = out(&["resident", path, "-q", "--explain", &pfn.to_string()]);
        assert!(explained.contains(label), "{label} {explained}");
        let condition = format!("process={label}");
        let rows = out(&["resident", path, "-q", "--format", "json", "--group-by", "process", "--where", &condition]);
        let rows: Value = serde_json::from_str(&rows).unwrap();
        assert_eq!(
            (&rows["snapshots"][0]["rows"][0]["process"], &rows["snapshots"][0]["rows"][0]["pages"]),
            (&Value::from(*label), &Value::from(1))
        );
    }
}

#[test]
fn the_code_page_is_a_flag() {
    let file = trace();
    let path = file.path().to_str().unwrap();
    for (page, name) in [("1252", "Café.exe"), ("windows-1251", "Cafй.exe"), ("cp1253", "Cafι.exe")] {
        for command in [&["resident", "--group-by", "process"][..], &["pages"], &["processes"]] {
            let shown = out(&[command, &[path, "-q", "--ansi-codepage", page]].concat());
            assert!(shown.contains(name) && shown.contains("Müller.exe"), "{command:?} {page} {shown}");
        }
    }
    let ran = run(&["processes", path, "--ansi-codepage", "klingon"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("klingon") && ran.err.contains("windows-1251"), "{}", ran.err);
}

#[test]
fn the_reference_set_shows_the_same_names() {
    let spec = RefsetSpec { compression: Compression::None, ..RefsetSpec::small() };
    let (written, _) = generate_refset(&spec, Cursor::new(Vec::new())).unwrap();
    let mut bytes = written.into_inner();
    let ends: Vec<usize> =
        bytes.windows(8).enumerate().filter(|(_, w)| w.ends_with(b".exe\0")).map(|(at, _)| at).collect();
    let mut changed = 0;
    for at in ends.into_iter().filter(|at| *at >= 6) {
        if bytes[at - 6..at] == *b"worker" {
            bytes[at - 5] = 0xf6;
            changed += 1;
        }
    }
    assert!(changed > 1);
    let file = file_of(&bytes);
    let path = file.path().to_str().unwrap();
    let rows = out(&["refset", path, "-q", "--format", "csv", "--group-by", "process", "--where", "process=wörker*"]);
    assert!(rows.lines().count() > 1 && rows.lines().skip(1).all(|line| line.starts_with("wörker")), "{rows}");
    let other = out(&["refset", path, "-q", "--ansi-codepage", "1251", "--group-by", "process"]);
    assert!(other.contains("wцrker"), "{other}");
}
