//! Every command of docs/events.md and docs/faults.md runs on a trace of the story that they tell, and finds something.

use crate::event_rows::MANIFEST;
use crate::program::{finish, pfnset};
use etl_writer::payloads::counters::MemInfo;
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::memory::hard_fault;
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Thread};
use etl_writer::payloads::{file, perf};
use etl_writer::{Ptr::P8, Rec, Session, Trace, guid};
use std::path::Path;

const BROWSER: u32 = 8;
const THREAD: u32 = 12;
const DOCUMENT: u64 = 0xffff_c001_0000_1000;
const SECOND: u64 = 10_000_000;
const CLR: &str = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";

/// A browser starts, a click is marked, and its thread waits for a document that had left RAM.
fn trace() -> Vec<u8> {
    let whole = Session::windows10();
    let session = Session { processors: 1, end_time: whole.start_time + 131_000_000, ..whole };
    let at = |tenths: u64| session.t0 + tenths * SECOND / 10;
    let by = |rec: Rec, tenths: u64| rec.by(THREAD, BROWSER).at(at(tenths));
    let fault = |tenths: u64| {
        let time = at(tenths);
        let fault = hard_fault(P8, time - 10_000, 0, 0x40_1000, DOCUMENT, THREAD, 8192).at(time);
        [fault, perf::stack(P8, time, BROWSER, THREAD, &[0x40_0100]).at(time + 1)]
    };
    let clr = guid(CLR);
    let mut records = vec![
        Process::new(4, "System").rec(P8, 4, process::DC_START).at(at(0)),
        Thread { pid: 4, tid: 8, ..Thread::default() }.rec(P8, 3, thread::DC_START).at(at(0)),
        Image { base: 0x7000_0000, size: 0x1000, pid: 4, name: "\\ntoskrnl.exe".into(), ..Image::default() }
            .rec(P8, 3, image::DC_START)
            .at(at(0)),
        by(Process::new(BROWSER, "chrome.exe").rec(P8, 4, process::START), 1),
        by(Thread { pid: BROWSER, tid: THREAD, ..Thread::default() }.rec(P8, 3, thread::START), 1),
        Image { base: 0x40_0000, size: 0x1000, pid: BROWSER, name: "\\chrome.exe".into(), ..Image::default() }
            .rec(P8, 3, image::LOAD)
            .at(at(2)),
        by(file::name(P8, file::NAME, DOCUMENT, "\\Users\\me\\report.docx"), 3),
        perf::mark_record(P8, "start of work").at(at(14)),
        by(Rec::event(P8, clr, 1, 0, vec![1; 4]), 15),
        Rec::event(P8, [7; 16], 5, 0, [&[1, 0, 0, 0, 5, 1][..], &[7, 0]].concat()).at(at(16)),
    ];
    records.extend(fault(33));
    records.extend(fault(40));
    records.push(perf::mark_record(P8, "stop of work").at(at(50)));
    records.push(perf::mark_record(P8, "click").at(at(60)));
    let pages = [Identity::file(1, DOCUMENT, 0, false), Identity::private(2, BROWSER.into(), 0x1000)];
    records.extend((0..).zip(pages).map(|(number, page)| page.rec(P8, 4, IN_MEMORY).at(at(100) + number)));
    records.extend([120, 125, 130].map(|tenths| by(MemInfo { zero: 1, ..MemInfo::default() }.rec(P8, 3), tenths)));
    // Two requests of the disk: their starts, then their ends.
    let number = |packet: u64| [&packet.to_le_bytes()[..], &THREAD.to_le_bytes()].concat();
    let end = [
        &[0; 8][..],
        &4096u32.to_le_bytes(),
        &[0; 4],
        &[0; 8],
        &DOCUMENT.to_le_bytes(),
        &[9, 0, 0, 0, 0, 0, 0, 0],
        &[100, 0, 0, 0, 0, 0, 0, 0],
        &THREAD.to_le_bytes(),
    ];
    records.insert(11, Rec::perf(P8, 0x010c, 3, number(9)).at(at(33) + 2));
    records.insert(12, Rec::perf(P8, 0x010a, 3, end.concat()).at(at(33) + 3));
    records.sort_by_key(|record| record.time);
    Trace::new(session).push_all(records).finish()
}

/// A command line in words, as a shell reads it; what a comment or another file takes from it is left out.
fn words(line: &str) -> Vec<String> {
    let line = line.split("  #").next().unwrap_or_default().split(" > ").next().unwrap_or_default();
    let mut words = Vec::new();
    for (number, part) in line.split('"').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Texts between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The command lines of a page: of blocks for a console, of its sentences, and of its table of flags.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = page.lines().filter_map(|line| line.strip_prefix("$ pfnset ")).map(words).collect();
    let of_text = page.split("```").step_by(2).flat_map(quoted).filter_map(|text| text.strip_prefix("pfnset "));
    all.extend(of_text.filter(|text| text.contains("trace.etl ")).map(words));
    let table = page.split_once("flags after `pfnset events trace.etl --rows` |").map_or("", |(_, table)| table);
    for row in table.split("\n\n").next().unwrap_or_default().lines() {
        let mut before: Vec<String> = Vec::new();
        for flags in quoted(row).filter(|text| text.starts_with("--")) {
            let own = words(flags);
            // These say more of the flag before them.
            let whole = if ["--margin", "--symbols", "--to"].contains(&own[0].as_str()) {
                [&before[..], &own[..]].concat()
            } else {
                own
            };
            all.push([&words("events trace.etl --rows")[..], &whole[..]].concat());
            before = whole;
        }
    }
    all
}

#[test]
fn every_command_of_a_guide_finds_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("a file");
    write("trace.etl", &trace());
    write("acme.man", MANIFEST.as_bytes());
    std::fs::create_dir(folder.path().join("DIR")).expect("a folder");
    for (page, least) in [("events.md", 14), ("faults.md", 12)] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)).expect(page);
        if let Some(budgets) = text.split("```toml").nth(1) {
            write("budgets.toml", budgets.split("```").next().unwrap_or_default().as_bytes());
        }
        let all = commands(&text);
        assert!(all.len() >= least, "{page}: {all:#?}");
        for line in all {
            let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
            let ran = finish(pfnset(&arguments).current_dir(folder.path()));
            assert_eq!(ran.code, 0, "{page}: {line:?}: {}{}", ran.out, ran.err);
            let says_nothing = |text: &str| {
                ["matches nothing", "no row has", "No hard fault", "no event was read by"]
                    .iter()
                    .any(|t| text.contains(t))
            };
            assert!(!says_nothing(&ran.err) && !says_nothing(&ran.out), "{page}: {line:?}: {}{}", ran.out, ran.err);
            assert!(!ran.out.is_empty() || arguments.contains(&"-o"), "{page}: {line:?}: {}", ran.out);
        }
    }
}
