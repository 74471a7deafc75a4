//! Page sequences that lack pages which another one of the same trace has. RAM does not shrink between two of them.

use crate::program::run;
use etl_writer::payloads::counters::MemInfo;
use etl_writer::payloads::pages::{IN_MEMORY, Identity};
use etl_writer::payloads::process::{DC_START, Process};
use etl_writer::payloads::system::Cpu;
use etl_writer::{Ptr, Rec, Session, Trace, file_of};
use serde_json::Value;

/// A trace with page sequences of so many pages, a second apart.
fn trace(sequences: &[u64]) -> Vec<u8> {
    let whole = Session::windows10();
    let session = Session { processors: 1, end_time: whole.start_time + 51_000_000, ..whole };
    let begin = session.t0;
    let mut all: Vec<Rec> = vec![
        Process::new(4, "System").rec(Ptr::P8, 4, DC_START).at(begin),
        Process::new(40, "app.exe").rec(Ptr::P8, 4, DC_START).at(begin + 1),
    ];
    for (second, pages) in (1..).zip(sequences) {
        let page = |pfn: u64| Identity::private(0x100 + pfn, 40, (1 + pfn) << 12).rec(Ptr::P8, 4, IN_MEMORY);
        all.extend((0..*pages).map(|pfn| page(pfn).at(begin + second * 10_000_000 + pfn)));
    }
    Trace::new(session).push_all(all).finish()
}

const FEWER: &str = "pages fewer than snapshot";

/// What each command says, and its code with `--strict`.
fn strict(bytes: &[u8], more: &[&str]) -> Vec<(&'static str, bool, i32)> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file_of(bytes);
    let path = file.path().to_str().expect("a path");
    let budgets = file_of(b"[[budget]]\nname = \"a\"\nwhere.process = \"app.exe\"\nmax = \"1 GiB\"\n");
    let to = folder.path().join("to").to_str().expect("a path").to_owned();
    let budgets = budgets.path().to_str().expect("a path");
    let commands: [(&str, &[&str]); 7] = [
        ("resident", more),
        ("pages", more),
        ("diff", &[path]),
        ("check", &["--budgets", budgets]),
        ("info", &[]),
        ("report", &["-o", &to]),
        ("export", &["--out", &to]),
    ];
    let run_one = |(command, more): (&'static str, &[&str])| {
        let ran = run(&[&[command, path, "--strict", "-q"], more].concat());
        let _ = std::fs::remove_file(&to);
        let said = format!("{} {}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ");
        (command, said.contains(FEWER), ran.code)
    };
    commands.into_iter().map(run_one).collect()
}

#[test]
fn a_snapshot_that_lacks_pages_of_another_one_is_doubtful_in_all_commands() {
    for (command, says, code) in strict(&trace(&[1000, 950]), &[]) {
        assert!(says && code == 3, "{command}: {says}, {code}");
    }
    // A few pages can be retired, and a larger one after it takes nothing away from the last one.
    for sequences in [[1000, 984], [950, 1000]] {
        for (command, says, _) in strict(&trace(&sequences), &[]) {
            assert!(!says, "{command}: {sequences:?}");
        }
    }
    // But from an earlier one, where that is asked for.
    let earlier = strict(&trace(&[950, 1000]), &["--snapshot", "0"]);
    assert!(earlier.iter().take(2).all(|(_, says, code)| *says && *code == 3), "{earlier:?}");
}

#[test]
fn a_budget_of_pages_is_invalid_where_the_last_snapshot_lacks_some() {
    let budgets = file_of(b"[[budget]]\nname = \"a\"\nwhere.process = \"app.exe\"\nmax = \"1 GiB\"\n");
    let budgets = budgets.path().to_str().expect("a path");
    for (sequences, verdict) in [([1000, 983], "invalid"), ([1000, 984], "pass"), ([983, 1000], "pass")] {
        let file = file_of(&trace(&sequences));
        let path = file.path().to_str().expect("a path");
        let ran = run(&["check", path, "--budgets", budgets, "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(json["traces"][0]["budgets"][0]["verdict"], verdict, "{sequences:?}: {}", ran.out);
    }
}

/// A page that stands twice in a sequence counts twice: no limit can be judged.
#[test]
fn a_budget_of_pages_is_invalid_where_a_page_occurs_twice() {
    let session = || Session { processors: 1, ..Session::windows10() };
    let begin = session().t0;
    let budgets = file_of(b"[[budget]]\nname = \"a\"\nwhere.process = \"app.exe\"\nmax = \"1 GiB\"\n");
    let budgets = budgets.path().to_str().expect("a path");
    for (last, verdict) in [(8, "pass"), (7, "invalid")] {
        let page = |pfn: u64| Identity::private(0x100 + pfn, 40, (1 + pfn) << 12).rec(Ptr::P8, 4, IN_MEMORY);
        let pages = (0..8).chain([last]).zip(10..).map(|(pfn, at)| page(pfn).at(begin + at));
        let process = Process::new(40, "app.exe").rec(Ptr::P8, 4, DC_START).at(begin);
        let file = file_of(&Trace::new(session()).push_all([process].into_iter().chain(pages)).finish());
        let path = file.path().to_str().expect("a path");
        let ran = run(&["check", path, "--budgets", budgets, "--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(json["traces"][0]["budgets"][0]["verdict"], verdict, "{}", ran.out);
    }
}

/// Of several snapshots each is named once.
#[test]
fn of_all_snapshots_those_that_lack_pages_are_named() {
    let file = file_of(&trace(&[980, 1000, 950]));
    let path = file.path().to_str().expect("a path");
    let ran = run(&["resident", path, "--snapshot", "all", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    let said = json["warnings"].to_string();
    for says in ["\"snapshot 0 has 20 pages fewer than snapshot 1:", "\"snapshot 2 has 50 pages fewer than snapshot 1:"]
    {
        assert_eq!(said.matches(says).count(), 1, "{says}: {said}");
    }
    assert_eq!(said.matches(FEWER).count(), 2, "{said}");
}

/// A sequence of a thousand pages after other records, and what all commands that count its pages warn of.
fn beside(others: Vec<Rec>, address: impl Fn(u64) -> u64) -> Vec<u8> {
    let session = Session { processors: 1, ..Session::windows10() };
    let begin = session.t0;
    let process = Process::new(40, "app.exe").rec(Ptr::P8, 4, DC_START).at(begin);
    let others = others.into_iter().zip(1..).map(|(rec, at)| rec.at(begin + at));
    let page = |pfn: u64| Identity::private(0x100 + pfn, 40, address(pfn)).rec(Ptr::P8, 4, IN_MEMORY);
    let pages = (0..1000).map(|pfn| page(pfn).at(begin + 1000 + pfn));
    Trace::new(session).push_all([process].into_iter().chain(others).chain(pages)).finish()
}

fn doubts(command: &str, bytes: &[u8]) -> String {
    let file = file_of(bytes);
    let ran = run(&[command, file.path().to_str().expect("a path"), "--format", "json"]);
    serde_json::from_str::<Value>(&ran.out).expect("JSON")["doubts"].to_string()
}

/// The end of a sequence is lost, and with it a part of RAM that other records tell of.
#[test]
fn a_sequence_that_ends_below_the_size_of_ram_is_doubtful() {
    let own = |pfn: u64| (1 + pfn) << 12;
    let of_ram = |memory_mb: u32| beside(vec![Cpu { memory_mb, ..Cpu::default() }.rec(Ptr::P8, 3)], own);
    // 4 MiB are 1,024 pages.
    for (memory_mb, is_told) in [(4, false), (5, true), (8, true)] {
        for command in ["resident", "info"] {
            let said = doubts(command, &of_ram(memory_mb));
            assert_eq!(said.contains("sequence_too_few"), is_told, "{command} {memory_mb}: {said}");
        }
    }
    assert!(
        doubts("resident", &of_ram(8))
            .contains("the sequence has 1,000 pages, the machine has 2,048: it ends with PFN 1,255")
    );
    let of_lists = |zero: u64| {
        // Long before the sequence, so that lists are not compared one by one.
        let counters = MemInfo { zero, ..MemInfo::default() }.rec(Ptr::P8, 3);
        beside(vec![counters], own)
    };
    let says = "the lists of a MemInfo record have 1,500 without those that are active";
    assert!(doubts("resident", &of_lists(1500)).contains(says), "{}", doubts("resident", &of_lists(1500)));
    assert!(!doubts("resident", &of_lists(1100)).contains("sequence_too_few"));
}

/// Records whose addresses are lost: all private pages were VirtualAlloc_PreTrace, or of what lies at one address.
#[test]
fn private_pages_without_addresses_are_told() {
    let budgets = file_of(b"[[budget]]\nname = \"a\"\nwhere.category = \"Win32Heap\"\nmax = \"1 GiB\"\n");
    let budgets = budgets.path().to_str().expect("a path");
    let reason = |bytes: &[u8]| {
        let file = file_of(bytes);
        let ran = run(&["check", file.path().to_str().expect("a path"), "--budgets", budgets, "--format", "json"]);
        serde_json::from_str::<Value>(&ran.out).expect("JSON")["traces"][0]["budgets"][0]["reason"].to_string()
    };
    type Address = fn(u64) -> u64;
    let cases: [(Address, &str); 4] = [
        (|_| 0, "1,000 of 1,000"),
        (|_| 0x7_0000, "1,000 of 1,000"),
        (|pfn| if pfn % 3 == 0 { pfn << 12 } else { 0 }, "of 1,000"),
        (|pfn| (1 + pfn) << 12, ""),
    ];
    for (address, says) in cases {
        let bytes = beside(Vec::new(), address);
        for command in ["resident", "processes"] {
            let said = doubts(command, &bytes);
            assert_eq!(
                said.contains("addresses_missing"),
                command == "resident" && !says.is_empty(),
                "{command}: {said}"
            );
        }
        let said = doubts("resident", &bytes);
        assert!(
            says.is_empty() || said.contains(&format!("{says} private pages looked at have the address 0x")),
            "{said}"
        );
        assert_eq!(reason(&bytes).contains("looked at have the address"), !says.is_empty(), "{}", reason(&bytes));
    }
}
