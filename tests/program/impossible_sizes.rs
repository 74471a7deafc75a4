//! Sizes that no machine has are left out and told, by each command that would add them up.

use crate::program::run;
use crate::trust::{fixture, places, with};
use etl_writer::payloads::counters::{MemInfo, working_sets};
use etl_writer::payloads::memory::{COMMIT, RESERVE, hard_fault, virtual_alloc};
use etl_writer::payloads::pool;
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::system::Cpu;
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::Value;

fn json(records: Vec<Rec>, more: &[&str]) -> Value {
    let session = Session { processors: 1, ..Session::windows10() };
    let mut time = session.t0 + 10;
    let mut trace = Trace::new(session);
    for rec in [Process::new(40, "app.exe").rec(P8, 4, process::DC_START)].into_iter().chain(records) {
        time += 1000;
        trace.add(&rec.at(time));
    }
    let file = file_of(&trace.finish());
    let (command, more) = more.split_first().expect("a command");
    let ran = run(&[&[*command, file.path().to_str().expect("a plain name"), "--format", "json"], more].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn warns(json: &Value, says: &str) -> bool {
    json["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .any(|text| text.as_str().is_some_and(|text| text.contains(says)))
}

const HUGE: u64 = 1 << 40; // 4,194,304 GiB in pages

#[test]
fn counters_that_no_machine_has_are_left_out() {
    let machine = || Cpu { memory_mb: 1024, ..Cpu::default() }.rec(P8, 3);
    let sound = MemInfo { zero: 5000, free: 100, system: [9, 9, 9, 7000], ..MemInfo::default() };
    let wrong = MemInfo { system: [9, 9, 9, HUGE], ..sound };
    let set = |counts: [u64; 4]| {
        let [all, commit, size, private] = counts;
        working_sets(P8, 0x027d, &[(40, [all, commit, size, private, 0, 0, 0, 0])], false)
    };
    let of = |sets: Vec<Rec>| {
        let records = [machine(), sound.rec(P8, 3), wrong.rec(P8, 3), set([300, 200, 900, 100])];
        json(records.into_iter().chain(sets).collect(), &["memory", "--group-by", "process"])
    };
    let whole = of(vec![set([350, 200, 900, 100])]);
    assert!(warns(&whole, "left out: 1 sample of counters that cannot be true") && !warns(&whole, "working set that"));
    // More than the RAM, commit of no machine, and a private part that is larger than the whole.
    let sets = vec![set([300_000, 200, 900, 100]), set([300, HUGE, 900, 100]), set([300, 200, 900, 270_000])];
    let json = of(sets);
    assert!(warns(&json, "left out: 3 working sets that cannot be true"), "{}", json["warnings"]);
    let row = &json["rows"][0];
    assert_eq!(
        ["working_set_most_pages", "commit_most_pages", "private_most_pages"].map(|key| row[key].as_u64()),
        [300, 200, 100].map(Some)
    );
}

#[test]
fn allocations_and_reads_that_no_machine_has_are_left_out() {
    let range = |pages: u64| virtual_alloc(P8, 0x1000_0000, pages * 4096, 40, RESERVE | COMMIT);
    let commit = json(vec![range(3), range(HUGE)], &["allocations", "--of", "commit"]);
    assert!(warns(&commit, "left out: 1 impossible record"), "{}", commit["warnings"]);
    assert_eq!(commit["total"]["allocated_bytes"], 3 * 4096);
    let block = |number: u64, bytes: u64| {
        pool::pool(P8, pool::ALLOC, 1, *b"Test", bytes, 0xffff_a000_0000_0000 + number * 0x1000)
    };
    let pool = json(vec![block(0, 64), block(1, u64::MAX)], &["allocations", "--of", "pool"]);
    assert!(warns(&pool, "left out: 1 impossible record"), "{}", pool["warnings"]);
    assert_eq!(pool["total"]["allocated_bytes"], 64);
    let begin = Session::windows10().t0;
    let fault = |bytes: u32| hard_fault(P8, begin, 0, 0x1000, 0xffff_a000_0000_0000, 44, bytes);
    let faults = json(vec![fault(4096), fault(0xffff_f000)], &["faults"]);
    assert!(warns(&faults, "1 record of a read or write is left out"), "{}", faults["warnings"]);
    assert_eq!((&faults["hard"]["bytes"], &faults["hard"]["events"]), (&4096.into(), &1.into()));
}

#[test]
fn pool_that_is_larger_than_the_machine_is_left_out() {
    let block = |number: u64, bytes: u64| {
        pool::pool(P8, pool::ALLOC, 1, *b"Test", bytes, 0xffff_a000_0000_0000 + number * 0x1000)
    };
    let of = |memory_mb: Option<u32>, more: &[&str]| {
        let machine = memory_mb.map(|memory_mb| Cpu { memory_mb, ..Cpu::default() }.rec(P8, 3));
        json(machine.into_iter().chain([block(0, 64), block(1, 4 << 30)]).collect(), more)
    };
    for more in [&["allocations", "--of", "pool"][..], &["stacks", "--of", "pool"]] {
        let (small, large, unknown) = (of(Some(1024), more), of(Some(8192), more), of(None, more));
        assert!(warns(&small, "left out: 1 impossible record"), "{}", small["warnings"]);
        assert!(!warns(&large, "impossible") && !warns(&unknown, "impossible"), "{}", large["warnings"]);
    }
    assert_eq!(of(Some(1024), &["allocations", "--of", "pool"])["total"]["allocated_bytes"], 64);
}

/// No record says how much RAM it has, but its page sequences do: 17 MiB.
#[test]
fn a_reference_set_leaves_such_pool_out() {
    const SIZE: usize = 32 + 8; // behind the header
    let whole = fixture("refset-proved.etl");
    let mut bytes = whole.clone();
    let place = places(&whole, &[0x0e20]).first().expect("pool").start + SIZE;
    bytes[place..place + 4].copy_from_slice(&[0xff; 4]);
    let accessed = |bytes: &[u8]| {
        let ran = with("refset", bytes, &["--format", "json"]);
        let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        (json["balance"]["accessed"].as_u64(), warns(&json, "left out: 1 impossible record of pool"))
    };
    let (before, after) = (accessed(&whole), accessed(&bytes));
    assert!(!before.1 && after.1);
    assert!(before.0.is_some() && after.0 <= before.0, "{before:?} {after:?}");
    let pool = with("allocations", &bytes, &["--of", "pool", "--format", "json"]).out;
    assert!(pool.contains("left out: 1 impossible record"), "{pool}");
}

/// The same of ranges of pages: one of 16 TiB was accessed in 17 MiB.
#[test]
fn a_reference_set_leaves_such_ranges_out() {
    const PAGES: usize = 32 + 16; // behind the header
    let whole = fixture("refset-proved.etl");
    let ranges = places(&whole, &[0x0278]);
    let mut bytes = whole.clone();
    let place = ranges.first().expect("a range").start + PAGES;
    bytes[place..place + 8].copy_from_slice(&(1u64 << 32).to_le_bytes());
    let ran = with("refset", &bytes, &["--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    assert!(warns(&json, "left out: 1 impossible record of pool and page ranges"), "{}", json["warnings"]);
    assert!(json["balance"]["accessed"].as_u64().is_some_and(|pages| pages < 1 << 20), "{}", json["balance"]);
}

/// Not one release of a kind: all that was ever accessed counts as held.
#[test]
fn ranges_without_any_release_are_told() {
    let mut bytes = fixture("refset-proved.etl");
    places(&bytes, &[0x0279]).iter().for_each(|at| bytes[at.start + 6..at.start + 8].copy_from_slice(&[0xff, 0x0f]));
    let told = |bytes: &[u8]| with("refset", bytes, &[]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told(&bytes).contains("ranges has a release"), "{}", told(&bytes));
    assert!(!told(&fixture("refset-proved.etl")).contains("has a release"));
}

/// Frees of other sizes than what they free: those of blocks from before the trace made the growth what they said.
#[test]
fn frees_of_other_sizes_are_told() {
    let block = |action, number: u64, bytes: u64| {
        pool::pool(P8, action, 1, *b"Test", bytes, 0xffff_a000_0000_0000 + number * 0x1000)
    };
    let of = |more: u64| {
        let pairs = (0..120)
            .flat_map(|n| [block(pool::ALLOC, n, 64), block(pool::FREE, n, 64 + if n % 5 == 0 { more } else { 0 })]);
        json(pairs.collect(), &["allocations", "--of", "pool"])
    };
    let says = "24 of 120 frees of pool are of another size or tag";
    assert!(warns(&of(4096), says) && !warns(&of(0), says), "{}", of(4096)["warnings"]);
}

/// A block of a 32-bit machine that ends beyond its addresses.
#[test]
fn pool_beyond_the_addresses_of_the_machine_is_left_out() {
    let block = |address: u64, bytes: u64| pool::pool(P8, pool::ALLOC, 1, *b"Test", bytes, address);
    let of =
        |address| json(vec![block(0x9500_0000, 64), block(address, 0x8000_0000)], &["allocations", "--of", "pool"]);
    assert!(warns(&of(0x9503_0000), "left out: 1 impossible record"), "{}", of(0x9503_0000)["warnings"]);
    assert!(!warns(&of(0x7000_0000), "impossible") && !warns(&of(0xffff_a000_0000_0000), "impossible"));
}

/// One bit of a size in the start snapshot made the growth 0, which passed every budget.
#[test]
fn a_snapshot_of_pool_that_is_larger_than_the_machine_is_left_out() {
    let address = |number: u64| 0xffff_a000_0000_0000 + number * 0x10_0000;
    let listed = |bytes| {
        let entry = |number, bytes| pool::BigPool { address: address(number), bytes, tag: *b"Test", non_paged: true };
        pool::big_pool(P8, 0x0e2a, None, pool::Counted::Padded, &[entry(0, 0xd000), entry(1, bytes)])
    };
    let free = |number| pool::pool(P8, pool::FREE, 0, *b"Test", 0xd000, address(number));
    let records = |bytes| vec![listed(bytes), pool::pool(P8, pool::ALLOC, 0, *b"Test", 64, address(9)), free(1)];
    let of = |bytes| json(records(bytes), &["allocations", "--of", "pool"]);
    let (sound, wrong) = (of(0xd000), of(0xd000 + (1 << 51)));
    let says = "left out: 1 allocation of a pool snapshot of more than the machine has";
    assert!(warns(&wrong, says) && !warns(&sound, "snapshot"), "{} {}", wrong["warnings"], sound["warnings"]);
    assert_eq!([&sound, &wrong].map(|json| json["total"]["at_start_bytes"].as_u64()), [Some(0x1_a000); 2]);
    let folder = tempfile::tempdir().expect("a folder");
    let budgets = folder.path().join("budgets.toml");
    let text = "[[budget]]\nname = \"growth\"\nanalysis = \"pool\"\nmax = \"20 MiB\"\n";
    std::fs::write(&budgets, text).expect("written");
    let verdict = |bytes| {
        let json = json(records(bytes), &["check", "--budgets", budgets.to_str().expect("a plain name")]);
        json["traces"][0]["budgets"][0]["verdict"].clone()
    };
    assert_eq!([verdict(0xd000), verdict(0xd000 + (1 << 51))], ["pass", "invalid"]);
}
