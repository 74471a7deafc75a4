//! Frees that no record tells, and commit that is wrong in two processes by as much: allocations say so, and budgets are invalid.

use crate::program::run;
use etl_writer::payloads::memory::{COMMIT, RESERVE, virtual_alloc, virtual_free, virtual_rundown};
use etl_writer::payloads::pool::{self, BigPool, Counted};
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr::P8, Put, Rec, Session, Trace, file_of, guid};
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

/// Records of VirtualAlloc that do not fit were told of pool, none of whose numbers they touch.
#[test]
fn misfits_of_other_kinds_of_allocations_are_not_told() {
    let misfit = Rec::perf(P8, 0x0262, 3, vec![0; 8]);
    let is_told = |records: Vec<Rec>, of: &str| told(&of_records(records), of).1.contains("not fit");
    let commit = || virtual_alloc(P8, 0x10_0000, 0x1000, 4, RESERVE | COMMIT);
    let all = || vec![allocated(0), misfit.clone(), commit()];
    assert!(!is_told(all(), "pool") && is_told(all(), "commit"));
    // What others are of can matter.
    let thread = Rec::perf(P8, 0x0501, 3, vec![0; 2]);
    assert!(is_told(vec![allocated(0), misfit.clone(), thread], "pool"));
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

#[test]
fn what_is_freed_twice_proves_that_allocations_are_missing() {
    let of = |missing: u64| {
        let rounds = (0..400u64).flat_map(move |number| {
            let is_missing = (10..10 + missing).contains(&number);
            (!is_missing).then(|| allocated(number % 2)).into_iter().chain([freed(number % 2)])
        });
        of_records(rounds)
    };
    let (code, warnings) = told(&of(0), "pool");
    assert!(code == 0 && !warnings.contains("that no record allocated"), "{warnings}");
    let (code, warnings) = told(&of(39), "pool");
    assert!(
        code == 0 && warnings.contains("39 of 400 frees of pool are of blocks that no record allocated"),
        "{warnings}"
    );
    assert!(reason(&of(39), "pool").contains("shorter than a second"));
    let many = of(60);
    let (code, warnings) = told(&many, "pool");
    assert!(
        code == 3 && warnings.contains("60 of 400 frees of pool are of blocks that no record allocated"),
        "{warnings}"
    );
    assert!(reason(&many, "pool").contains("no record allocated"));
    let none = of_records((0..150).map(freed));
    let (code, warnings) = told(&none, "pool");
    assert!(code == 3 && warnings.contains("no allocation of pool is in the trace, beside 150 frees"), "{warnings}");
    // Each address is freed once: these can be from before the trace.
    let before = of_records((0..150).map(freed).chain([allocated(200)]));
    let (code, warnings) = told(&before, "pool");
    assert!(code == 0 && !warnings.contains("that no record allocated"), "{warnings}");
}

/// In a heap that was created in the trace nothing is from before it.
#[test]
fn frees_in_a_new_heap_prove_that_allocations_are_missing() {
    let class = guid("222962ab-6180-4b88-a825-346b75f2a24a");
    let rec = |kind: u8, put: &mut Put| Rec::full(P8, class, kind, 2, put.done()).by(7, 40);
    let created = |heap: u64| rec(32, Put::new(P8).ptr(heap).u32(0));
    let allocated = |heap: u64, number: u64| rec(33, Put::new(P8).ptr(heap).ptr(48).ptr(0x1_0000 + number * 64).u32(3));
    let freed = |heap: u64, number: u64| rec(36, Put::new(P8).ptr(heap).ptr(0x1_0000 + number * 64).u32(3));
    let of = |is_new: bool, first: u64| {
        let began = Process::new(40, "app.exe").rec(P8, 4, process::START);
        let begin = [began].into_iter().chain(is_new.then(|| created(0x1000)));
        of_records(
            begin.chain((first..200).map(|number| allocated(0x1000, number))).chain((0..200).map(|n| freed(0x1000, n))),
        )
    };
    for (is_new, first, wanted) in [(false, 50, 0), (true, 0, 0), (true, 50, 3)] {
        let (code, warnings) = told(&of(is_new, first), "heap");
        assert_eq!(
            (code, warnings.contains("50 of 200 frees of heap are of blocks")),
            (wanted, wanted == 3),
            "{warnings}"
        );
    }
    assert!(reason(&of(true, 50), "heap").contains("no record allocated"));
    // No block of it was allocated at all.
    let (code, warnings) = told(
        &of_records(
            [created(0x1000)].into_iter().chain((0..120).map(|n| freed(0x1000, n))).chain([allocated(0x2000, 1)]),
        ),
        "heap",
    );
    assert!(code == 3 && warnings.contains("120 of 120 frees of heap are of blocks"), "{warnings}");
}

/// The end lists 30 allocations of which a record or the snapshot at the start tells, and that are not there by the records.
#[test]
fn an_end_snapshot_proves_that_allocations_are_missing() {
    let entry = |number: u64| BigPool {
        address: 0xffff_a000_0000_0000 + number * 0x1000,
        bytes: 64,
        tag: *b"Test",
        non_paged: false,
    };
    let listed = |hook: u16| {
        let entries: Vec<BigPool> = (0..30).map(entry).collect();
        pool::big_pool(P8, hook, None, Counted::Padded, &entries)
    };
    let of = |missing: u64| {
        let again = (missing..30).map(allocated);
        of_records([listed(0x0e2a)].into_iter().chain((0..30).map(freed)).chain(again).chain([listed(0x0e2b)]))
    };
    for (missing, wanted) in [(3, 0), (4, 3)] {
        let (code, warnings) = told(&of(missing), "pool");
        let says = format!("{missing} of 30 allocations of the end snapshot are in no record");
        assert!(code == wanted && warnings.contains(&says), "{warnings}");
    }
    assert!(reason(&of(4), "pool").contains("in no record"));
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

/// A process whose end is missing had its commit until the end of the trace, in no comparison with the end rundown.
#[test]
fn commit_of_a_process_that_the_end_rundown_does_not_list_is_told() {
    const END: u16 = 0x0281;
    let size = 0x10_0000;
    let records = |ends: bool| {
        let began = [40, 48].map(|id| Process::new(id, "app.exe").rec(P8, 4, process::START));
        let own = [40, 48].map(|id| virtual_alloc(P8, 0x100_0000, size, id, RESERVE | COMMIT));
        let ended = ends.then(|| Process::new(48, "app.exe").rec(P8, 4, process::END));
        began.into_iter().chain(own).chain(ended).chain([virtual_rundown(P8, END, 0x100_0000, size, 40, 0, size)])
    };
    let (code, warnings) = told(&of_records(records(true)), "commit");
    assert!(code == 0 && !warnings.contains("end rundown"), "{warnings}");
    let (code, warnings) = told(&of_records(records(false)), "commit");
    let says = "1,048,576 bytes by the records (and 1,048,576 bytes in 1 process that the end rundown does not list)";
    assert!(code == 3 && warnings.contains(says), "{warnings}");
    assert!(reason(&of_records(records(false)), "commit").contains(says));
}

/// A start was missing, and all that its process allocated was left out with what comes after the end of the one before.
#[test]
fn records_after_the_end_of_a_process_are_told_where_a_start_is_missing() {
    let process = |name: &str, hook: u16| Process::new(40, name).rec(P8, 4, hook);
    let records = |is_started: bool| {
        let before = [process("one.exe", process::START), process("one.exe", process::END)];
        let started = is_started.then(|| process("two.exe", process::START));
        let pairs = (0..20).flat_map(|number| {
            let address = 0x100_0000 + 0x10_0000 * number;
            [virtual_alloc(P8, address, 0x1000, 40, RESERVE | COMMIT), virtual_free(P8, address, 0, 40, 0x8000)]
        });
        before.into_iter().chain(started).chain(pairs).chain([process("two.exe", process::END)]).collect::<Vec<_>>()
    };
    let says = "40 records of commit are of processes that have ended by the records, and 1 start of a process is in no record";
    let (code, warnings) = told(&of_records(records(true)), "commit");
    assert!(code == 0 && !warnings.contains("have ended by the records"), "{warnings}");
    let (code, warnings) = told(&of_records(records(false)), "commit");
    assert!(code == 3 && warnings.contains(says), "{warnings}");
}

/// Everything in a window was doubtful for buffers that were lost after its end.
#[test]
fn a_loss_after_the_window_casts_no_doubt_on_it() {
    let session = Session { processors: 1, buffer_size: 0x400, ..Session::windows10() };
    let at = |number: u64| session.t0 + 10 + number * 1000;
    let records: Vec<Rec> = (0..90).map(|number| allocated(number).at(at(number))).collect();
    let file = file_of(&Trace::new(session.clone()).push_all(records).lose_buffers(&[5]).finish());
    let path = file.path().to_str().expect("a plain name");
    let of = |window: &[&str]| -> Value {
        let ran = run(&[&["allocations", path, "--of", "pool", "-q", "--format", "json"], window].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
    };
    let whole = of(&[]);
    assert!(whole["hole_until_s"].is_f64() && whole["total"]["doubtful_bytes"].as_u64() > Some(0), "{whole}");
    let before = of(&["--to", "0.002"]);
    assert!(before["total"]["at_end_bytes"].as_u64() > Some(0), "{before}");
    assert!(before["hole_until_s"].is_null() && before["total"]["doubtful_bytes"] == 0, "{before}");
    let into = of(&["--to", whole["hole_until_s"].to_string().as_str()]);
    assert_eq!(into["total"]["doubtful_bytes"], into["total"]["at_end_bytes"], "{into}");
}

/// Impossible frees were left out with a note, and everything seemed to leak.
#[test]
fn frees_of_which_none_is_of_an_allocation_are_told() {
    let says = "is of what was allocated, beside 150 allocations";
    let impossible = |_| pool::pool(P8, pool::FREE, 1, *b"Test", 64, 0);
    let of = |frees: Vec<Rec>| of_records((0..150).map(allocated).chain(frees));
    let (code, warnings) = told(&of((0..20).map(impossible).collect()), "pool");
    assert!(
        code == 3 && warnings.contains(&format!("none of 20 frees of pool {says} (impossible are 20)")),
        "{warnings}"
    );
    assert!(reason(&of((0..20).map(impossible).collect()), "pool").contains("none of 20 frees"));
    let others = |number: u64| (1000..1000 + number).map(freed).collect::<Vec<_>>();
    let (code, warnings) = told(&of(others(100)), "pool");
    assert!(
        code == 3 && warnings.contains(&format!("none of 100 frees of pool {says} (impossible are 0)")),
        "{warnings}"
    );
    // So few can be of blocks from before the trace; and one that matches is enough.
    for frees in [others(99), others(100).into_iter().chain([freed(3)]).collect(), vec![impossible(0), freed(3)]] {
        let (_, warnings) = told(&of(frees), "pool");
        assert!(!warnings.contains(says), "{warnings}");
    }
    let ranges = (0..150).map(|number| virtual_alloc(P8, 0x10_0000 * (number + 1), 0x1000, 40, RESERVE | COMMIT));
    let without_flags = (0..20).map(|number| virtual_free(P8, 0x10_0000 * (number + 1), 0x1000, 40, 0));
    let (code, warnings) = told(&of_records(ranges.chain(without_flags)), "commit");
    assert!(code == 3 && warnings.contains(&format!("none of 20 frees of commit {says}")), "{warnings}");
}
