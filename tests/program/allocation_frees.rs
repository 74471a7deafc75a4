//! Frees that no record tells, and commit that is wrong in two processes by as much: allocations say so, and budgets are invalid.

use crate::program::run;
use etl_writer::payloads::memory::{COMMIT, RESERVE, virtual_alloc, virtual_free, virtual_rundown};
use etl_writer::payloads::pool;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::Value;

fn of_records(records: impl IntoIterator<Item = Rec>) -> tempfile::NamedTempFile {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut time = session.t0 + 10;
    let mut trace = Trace::new(session);
    let system = Process::new(4, "System").rec(P8, 4, process::DC_START);
    for rec in std::iter::once(system).chain(records) {
        time += 1000;
        trace.add(&rec.at(time));
    }
    file_of(&trace.finish())
}

/// The code of the command with `--strict`, and its warnings.
fn told(file: &tempfile::NamedTempFile, of: &str) -> (i32, String) {
    let path = file.path().to_str().expect("a plain name");
    let ran = run(&["allocations", path, "--of", of, "--strict", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran.code, json["warnings"].to_string())
}

/// Why a budget of it has no value.
fn reason(file: &tempfile::NamedTempFile, of: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let budgets = folder.path().join("budgets.toml");
    let text =
        format!("[[budget]]\nname = \"a\"\nanalysis = \"{of}\"\nmeasure = \"growth_per_minute\"\nmax = \"1 GiB\"\n");
    std::fs::write(&budgets, text).expect("room");
    let budgets = budgets.to_str().expect("a plain name");
    let ran = run(&["check", file.path().to_str().expect("a plain name"), "--budgets", budgets, "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    json["traces"][0]["budgets"][0]["reason"].to_string()
}

fn allocated(number: u64) -> Rec {
    pool::pool(P8, pool::ALLOC, 1, *b"Test", 64, 0xffff_a000_0000_0000 + number * 0x1000)
}

fn freed(number: u64) -> Rec {
    pool::pool(P8, pool::FREE, 1, *b"Test", 64, 0xffff_a000_0000_0000 + number * 0x1000)
}

#[test]
fn a_kind_without_a_free_is_told() {
    let none = of_records((0..150).map(allocated));
    let (code, warnings) = told(&none, "pool");
    assert!(code == 3 && warnings.contains("no free of pool is in the trace, beside 150 allocations"), "{warnings}");
    assert!(reason(&none, "pool").contains("no free of pool is in the trace"));
    for records in [(0..150).map(allocated).chain([freed(3)]).collect::<Vec<_>>(), (0..20).map(allocated).collect()] {
        let (_, warnings) = told(&of_records(records), "pool");
        assert!(!warnings.contains("no free of pool is in the trace"), "{warnings}");
    }
    let ranges = (0..150).map(|number| virtual_alloc(P8, 0x10_0000 * (number + 1), 0x1000, 40, RESERVE | COMMIT));
    let (code, warnings) = told(&of_records(ranges), "commit");
    assert!(code == 3 && warnings.contains("no free of commit is in the trace"), "{warnings}");
}

#[test]
fn what_is_allocated_twice_proves_that_frees_are_missing() {
    let of = |missing: u64| {
        let rounds = (0..400u64).flat_map(move |number| {
            let is_missing = number < missing;
            [allocated(number % 2)].into_iter().chain((!is_missing).then(|| freed(number % 2)))
        });
        of_records(rounds)
    };
    let (code, warnings) = told(&of(0), "pool");
    assert!(code == 0 && !warnings.contains("no record freed"), "{warnings}");
    let (code, warnings) = told(&of(39), "pool");
    assert!(
        code == 0 && warnings.contains("39 of 400 allocations of pool are at addresses that no record freed"),
        "{warnings}"
    );
    assert!(!reason(&of(39), "pool").contains("no record freed"));
    let many = of(60);
    let (code, warnings) = told(&many, "pool");
    assert!(code == 3 && warnings.contains("60 of 400 allocations of pool are"), "{warnings}");
    assert!(reason(&many, "pool").contains("no record freed"));
    let reserved = |number: u64| virtual_alloc(P8, 0x10_0000 * (1 + number % 7), 0x1000, 40, RESERVE | COMMIT);
    let free = virtual_free(P8, 0x10_0000, 0, 40, 0x8000);
    let (code, warnings) = told(&of_records((0..120).map(reserved).chain([free])), "commit");
    assert!(code == 3 && warnings.contains("113 of 120 allocations of commit are"), "{warnings}");
}

/// One process has a megabyte too much by the records, the other one too little: the sums are equal.
#[test]
fn commit_that_is_wrong_in_both_directions_is_told() {
    const END: u16 = 0x0281;
    let size = 0x10_0000;
    let records = |listed: [u64; 2]| {
        let own = [40, 48].map(|id| virtual_alloc(P8, 0x100_0000, 2 * size, id, RESERVE | COMMIT));
        let [one, other] = listed;
        let end = [(40, one), (48, other)].map(|(id, all)| virtual_rundown(P8, END, 0x100_0000, all, id, 0, all));
        let began = [40, 48].map(|id| Process::new(id, "app.exe").rec(P8, 4, process::START));
        began.into_iter().chain(own).chain(end)
    };
    let (code, warnings) = told(&of_records(records([2 * size, 2 * size])), "commit");
    assert!(code == 0 && !warnings.contains("end rundown,"), "{warnings}");
    let (code, warnings) = told(&of_records(records([3 * size, size])), "commit");
    assert!(code == 3 && warnings.contains("process by process, in 2 of 2 processes, by 2,097,152"), "{warnings}");
}
