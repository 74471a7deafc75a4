//! Single stories that random machines do not meet: keywords that go off and on, merged sessions, 32-bit peculiarities,
//! names of sessions, pool rundowns of no known form.

use crate::resident::labels_of;
use crate::with_file;
use etl_writer::payloads::file::{self, View, ViewKind};
use etl_writer::payloads::memory::{self, HeapRundown};
use etl_writer::payloads::pages::Identity;
use etl_writer::payloads::pool::{self, BigPool, Counted};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::{self, Thread};
use etl_writer::payloads::{header, system};
use etl_writer::{Ptr, Rec, Session, Trace};
use pfnset::analysis::resident::page_dimensions::Dimension;

const PAGE: u64 = 4096;
const A: u64 = 0x1_0000;
const B: u64 = 0x5_0000;

/// Writes the records one after the other and gives the label of each page, snapshot by snapshot.
fn labels(p: Ptr, records: Vec<Rec>, dimension: Dimension) -> Vec<Vec<String>> {
    let session = Session::windows11();
    let mut trace = Trace::new(if p == Ptr::P4 { session.bits32() } else { session });
    for (number, rec) in (0u64..).zip(records) {
        trace.add(&rec.at(1_000_000_100 + 3 * number));
    }
    with_file(&trace.finish(), |trace| {
        let of = |snapshot| labels_of(trace, snapshot, [dimension]).0;
        trace
            .need_snapshots()
            .unwrap()
            .iter()
            .map(|snapshot| of(snapshot).into_iter().map(|(_, [label])| label).collect())
            .collect()
    })
}

fn categories(p: Ptr, records: Vec<Rec>) -> Vec<Vec<String>> {
    labels(p, records, Dimension::Category)
}

/// Pages of process 40 at these addresses, PFN from 1.
fn pages(p: Ptr, addresses: &[u64]) -> Vec<Rec> {
    (1..).zip(addresses).map(|(pfn, &address)| Identity::private(pfn, 40, address).rec(p, 4, 0x0223)).collect()
}

fn masks(hook: u16, mask: u32) -> Rec {
    header::group_masks(Ptr::P8, hook, [mask, 0, 0, 0, 0, 0, 0, 0], 80)
}

fn process(p: Ptr, hook: u16) -> Rec {
    Process { key: p.pick(0xffff_9c08_0000_0080, 0x8500_0020), ..Process::new(40, "a.exe") }.rec(p, 4, hook)
}

fn region(p: Ptr, hook: u16, base: u64) -> Rec {
    memory::virtual_rundown(p, hook, base, PAGE, 40, 0, 0)
}

#[test]
fn what_was_freed_while_its_keyword_was_off_is_gone() {
    let p = Ptr::P8;
    let mut records = vec![
        masks(header::MASKS_AFTER, 0x8000),
        process(p, process::DC_START),
        region(p, memory::ALLOC_DC_START, A),
        masks(header::MASKS_BEFORE, 0x8000),
        process(p, process::DC_END),
        region(p, memory::ALLOC_DC_END, A),
        masks(header::MASKS_AFTER, 0x1),
    ];
    records.extend(pages(p, &[A, B]));
    records.push(masks(header::MASKS_AFTER, 0x8000));
    records.push(process(p, process::DC_START));
    records.push(region(p, memory::ALLOC_DC_START, B));
    records.extend(pages(p, &[A, B]));
    let expected = [["VirtualAlloc", "VirtualAlloc_PreTrace"], ["VirtualAlloc_PreTrace", "VirtualAlloc"]];
    assert_eq!(categories(p, records), expected);
}

#[test]
fn a_session_that_starts_or_stops_in_a_rundown_does_not_cut_it_in_two() {
    let p = Ptr::P8;
    let mut records = vec![
        masks(header::MASKS_AFTER, 0x8001),
        process(p, process::DC_START),
        region(p, memory::ALLOC_DC_START, A),
        masks(header::MASKS_AFTER, 0x1), // another session
        region(p, memory::ALLOC_DC_START, B),
        masks(header::MASKS_BEFORE, 0x1),
        process(p, process::DC_END),
        region(p, memory::ALLOC_DC_END, A),
        masks(header::MASKS_BEFORE, 0x8001), // the other session
        region(p, memory::ALLOC_DC_END, B),
    ];
    records.extend(pages(p, &[A, B, B + PAGE]));
    assert_eq!(categories(p, records), [["VirtualAlloc", "VirtualAlloc", "VirtualAlloc_PreTrace"]]);
}

#[test]
fn views_of_a_newborn_survive_the_lost_end_of_the_process_before() {
    let p = Ptr::P8;
    let before = Process { key: 0xffff_9c08_0000_4080, ..Process::new(40, "old.exe") };
    let mut records = vec![
        before.rec(p, 4, process::DC_START),
        View::new(40, B, PAGE, 1, ViewKind::Data).rec(p, 3, file::MAP_DC_START),
        View::new(0, A, PAGE, 1, ViewKind::Image).rec(p, 3, file::MAP).by(700, 4),
        memory::virtual_alloc(p, A + 2 * PAGE, PAGE, 0, memory::RESERVE).by(700, 4),
        process(p, process::START).by(700, 4),
    ];
    records.extend(pages(p, &[A, A + 2 * PAGE, B]));
    assert_eq!(categories(p, records), [["CopyOnWriteImage", "VirtualAlloc", "VirtualAlloc_PreTrace"]]);
}

#[test]
fn a_heap_of_a_32_bit_process_is_read_with_its_own_pointers() {
    let p = Ptr::P8;
    let class = memory::win32_heap_ranges();
    let mut records = vec![
        process(p, process::DC_START),
        memory::heap_reserve(Ptr::P4, 40, 0x50_0000, 0x50_0000, PAGE).into_class(class),
        HeapRundown::new(40, 0x60_0000, &[(0x60_0000, PAGE)]).rec(Ptr::P4, 3).into_class(class),
    ];
    records.extend(pages(p, &[0x50_0000, 0x60_0000, 0x70_0000]));
    assert_eq!(categories(p, records), [["Win32Heap", "Win32Heap", "VirtualAlloc_PreTrace"]]);
}

#[test]
fn three_gib_of_user_space_are_the_users() {
    let p = Ptr::P4;
    let story = |highest_user_address| {
        let cpu = system::Cpu { highest_user_address, architecture: 0, ..system::Cpu::default() };
        let mut records = vec![
            cpu.rec(p, 3),
            process(p, process::DC_START),
            View::new(40, 0x9000_0000, PAGE, 1, ViewKind::Data).rec(p, 2, file::MAP_DC_START),
            View::new(500, 0xc400_0000, PAGE, 1, ViewKind::Image).rec(p, 2, file::MAP_DC_START),
        ];
        records.extend(pages(p, &[0x9000_0000]));
        records.push(Identity::new(7, 9, 0, 0xc400_0000).rec(p, 4, 0x0223));
        categories(p, records).concat()
    };
    assert_eq!(story(0xbffe_ffff), ["CopyOnWriteMapFile", "SessionCopyOnWriteImage"]);
    assert_eq!(story(0x7ffe_ffff), ["VirtualAlloc_PreTrace", "SessionCopyOnWriteImage"]);
}

#[test]
fn kernel_addresses_of_57_bits_are_the_kernels() {
    let p = Ptr::P8;
    let base = 0xff20_0000_0000_0000;
    let records = vec![
        View::new(500, base, PAGE, 1, ViewKind::Image).rec(p, 3, file::MAP_DC_END),
        Identity::new(7, 9, 0, base).rec(p, 4, 0x0223),
    ];
    assert_eq!(categories(p, records), [["SessionCopyOnWriteImage"]]);
}

#[test]
fn pages_of_a_session_name_it() {
    for p in [Ptr::P8, Ptr::P4] {
        let key = |n: u64| p.pick(0xffff_9c08_f000_0000, 0x8700_0000) + n * 0x1000;
        let page = |pfn, n| Identity::new(7, pfn, key(n) & 0xffff_ffff_ffff, 0).rec(p, 4, 0x0223);
        let mut records = vec![
            memory::session(p, 0x024d, key(0), 0),
            memory::session(p, 0x024b, key(1), 1),
            memory::session(p, 0x024e, key(1), 1),
            page(1, 0),
            page(2, 1),
            page(3, 2),
            Identity::new(7, 4, 0, 0).rec(p, 4, 0x0223),
        ];
        records.push(memory::session(p, 0x024c, key(2), 2));
        let gone = format!("Unknown (0x{:x})", key(1) & 0xffff_ffff_ffff);
        assert_eq!(labels(p, records, Dimension::SESSION), [["0", &gone, "2", "n/a"]]);
    }
}

#[test]
fn a_process_that_ended_claims_no_page() {
    let p = Ptr::P8;
    let mut records = vec![process(p, process::DC_START), region(p, memory::ALLOC_DC_START, A)];
    records.extend(pages(p, &[A, A]));
    records.push(process(p, process::END));
    records.push(process(p, process::DEFUNCT).versioned(4));
    records.extend(pages(p, &[A, A]));
    assert_eq!(labels(p, records.clone(), Dimension::PROCESS), [["a.exe (40)"; 2], ["Unknown (40)"; 2]]);
    assert_eq!(categories(p, records), [["VirtualAlloc"; 2], ["VirtualAlloc_PreTrace"; 2]]);
}

#[test]
fn the_stack_of_a_thread_reaches_down_to_its_region() {
    let p = Ptr::P8;
    let stack = Thread { pid: 40, tid: 44, user_stack: (A + 8 * PAGE, A + 6 * PAGE), ..Thread::default() };
    let story = |with_region: bool| {
        let mut records = vec![process(p, process::DC_START), stack.rec(p, 3, thread::DC_START)];
        if with_region {
            records.push(memory::virtual_rundown(p, memory::ALLOC_DC_START, A, 10 * PAGE, 40, 0, 0));
        }
        records.extend(pages(p, &[A, A + 5 * PAGE, A + 6 * PAGE, A + 7 * PAGE, A + 8 * PAGE]));
        categories(p, records).concat()
    };
    assert_eq!(story(true), ["UserStack", "UserStack", "UserStack", "UserStack", "VirtualAlloc"]);
    let none = "VirtualAlloc_PreTrace";
    assert_eq!(story(false), [none, none, "UserStack", "UserStack", none]);
}

/// A rundown of the kernel's pool in any supposed form gives tags; one odd record of an id makes all of it unknown.
#[test]
fn pool_rundowns_are_used_only_when_all_records_fit() {
    for p in [Ptr::P8, Ptr::P4] {
        let base = p.pick(0xffff_a18f_0000_0000, 0xb000_0000);
        let entry = |n: u64, tag: &[u8; 4]| BigPool {
            address: base + n * 0x10_000,
            bytes: 2 * PAGE,
            tag: *tag,
            non_paged: n == 1,
        };
        let page = |pfn, n: u64, at| Identity::new(4 + n as u8, pfn, 0, base + n * 0x10_000 + at).rec(p, 4, 0x0223);
        let told = |rundown: Vec<Rec>| {
            let mut records = rundown;
            records.extend([page(1, 0, 0), page(2, 0, PAGE), page(3, 0, 2 * PAGE), page(4, 1, 0)]);
            labels(p, records, Dimension::Detail).concat()
        };
        for counted in [Counted::Padded, Counted::Tight, Counted::No] {
            for (hook, session) in [(0x0e2b, None), (0x0e2f, Some(77)), (0x0e2a, None)] {
                let record = |entries: &[BigPool]| pool::big_pool(p, hook, session, counted, entries);
                let all = vec![record(&[entry(0, b"Ntfx")]), record(&[entry(5, b"Zzzz"), entry(1, b"MmSt")])];
                assert_eq!(told(all.clone()), ["Ntfx", "Ntfx", "n/a", "MmSt"], "{counted:?} {hook:x}");
                let odd = [all, vec![record(&[entry(2, b"\x01\0\x7f\0")])]].concat();
                assert_eq!(told(odd), ["n/a"; 4], "{counted:?} {hook:x}");
            }
        }
        // What is freed during the trace has no tag any more, what is allocated has one.
        let all = vec![
            pool::big_pool(p, 0x0e2a, None, Counted::Padded, &[entry(0, b"Ntfx")]),
            pool::pool(p, pool::FREE, 1, *b"Ntfx", 0, base),
            pool::pool(p, pool::ALLOC, 0x1000_0000, *b"Fil\xe5", PAGE, base + 0x10_000),
        ];
        assert_eq!(told(all), ["n/a", "n/a", "n/a", "File"]);
    }
}

#[test]
fn hives_are_listed_or_guessed() {
    let p = Ptr::P8;
    let names = ["\\Device\\HarddiskVolume3\\Windows\\System32\\config\\SAM", "\\Device\\HarddiskVolume3\\my.hiv"];
    let story = |hive: Rec| {
        let mut records = vec![hive];
        for (key, name) in (1u64..).zip(names) {
            records.push(Identity::file(key, key << 8, 0, false).rec(p, 4, 0x0223));
            records.push(file::name(p, file::RUNDOWN, key << 8, name));
        }
        categories(p, records).concat()
    };
    let listed = file::hive_rundown(p, 1, 1, 1, "\\??\\C:\\my.hiv", "\\REGISTRY\\MACHINE\\MY");
    assert_eq!(story(listed), ["MapFile", "RegistryFile"]);
    // One that is opened during the trace is known beside the well-known ones.
    let opened = file::hive_initialize(p, 1, 0, 0, 1, "\\??\\C:\\my.hiv");
    assert_eq!(story(opened), ["RegistryFile", "RegistryFile"]);
}
