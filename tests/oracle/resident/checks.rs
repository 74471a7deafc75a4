//! What every run checks, and that it is loud only when it should be: a trace in which all is well says nothing, and
//! each thing that is not well adds its line.

use crate::with_file;
use etl_writer::machine::{Machine, PAGE, Setup};
use etl_writer::payloads::counters::{self, MemInfo};
use etl_writer::payloads::file::ViewKind;
use etl_writer::payloads::memory::{self, COMMIT, RESERVE};
use etl_writer::payloads::pages::{Identity, list};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::system;
use etl_writer::{Ptr, Rec, Session, Trace};
use pfnset::analysis::resident::query::{ResidentQuery, SnapshotChoice};
use pfnset::analysis::resident::{ResidentSet, SnapshotSet};
use pfnset::error::Error;

const P: Ptr = Ptr::P8;
/// Pages of the sequence: 40 of the process, the PFN database, combined pages, some on each list.
const PAGES: u64 = 600;

/// What is recorded, and what is wrong with it.
#[derive(Clone)]
struct Story {
    session: Session,
    /// Hooks that are left out.
    without: Vec<u16>,
    /// Version of the page records.
    version: u16,
    /// What MemInfo says of the zero list, and how long before the sequence.
    zero: u64,
    meminfo_before: u64,
    combined_blocks: i32,
    database_pages: u64,
    bad_pages: u64,
    /// Key of the private pages.
    key: u64,
    /// Lost buffers, by their share of all.
    lost: Option<std::ops::Range<f64>>,
    cut: usize,
    twice: bool,
}

impl Default for Story {
    fn default() -> Story {
        Story {
            session: Session { buffer_size: 0x1000, processors: 1, ..Session::windows11() },
            without: Vec::new(),
            version: 4,
            zero: 100,
            meminfo_before: 50,
            combined_blocks: 5,
            database_pages: 20,
            bad_pages: 3,
            key: 40,
            lost: None,
            cut: 0,
            twice: false,
        }
    }
}

/// A page of the sequence by its number; those of the process have a key and an address.
fn page(number: u64, key: u64, address: u64) -> Identity {
    match number {
        0..100 => Identity::new(0, 0, 0, 0).on_list(list::ZERO),
        100..110 => Identity::new(0, 0, 0, 0).on_list(list::BAD),
        110..130 => Identity::new(6, 0, 0, 0xffff_fa80_0000_0000 + (number - 110) * PAGE),
        130..135 => Identity::new(2, 0, 2, 0xffff_8a00_0000_0001),
        135..300 => Identity::new(10, 0, 0, 0).on_list(list::STANDBY),
        _ => Identity::private(0, key, address),
    }
}

impl Story {
    /// The recording before the pages: a process with a range of each kind, a driver, a file.
    fn machine(&self) -> Machine {
        let mut machine = Machine::new(Setup { processors: 1, ..Setup::default() }, 1);
        let life = machine.birth(40, None, true).expect("the first process");
        machine.begin_life(life);
        machine.start_thread(life, 0, 32, 0, RESERVE | COMMIT);
        machine.heap(life, 32, 8, None, 0);
        machine.map(life, 40, 1, ViewKind::Data, 0);
        machine.change_image(0);
        machine.create_file(0, "a.dat");
        machine.tracing = true;
        machine.log_record(system::Cpu { memory_mb: 2, ..system::Cpu::default() }.rec(P, 3));
        machine.begin();
        machine.reserve(life, 41, 1, RESERVE);
        machine.stop(|_| ());
        machine
    }

    fn bytes(&self) -> Vec<u8> {
        let mut machine = self.machine();
        let log = |machine: &mut Machine, rec: Rec, later: u64| {
            machine.time += later;
            machine.log_on(0, rec);
        };
        let standby = [0, 0, 0, 0, 0, 165, 0, 0];
        let meminfo = MemInfo { zero: self.zero, bad: self.bad_pages, standby, ..MemInfo::default() };
        log(&mut machine, meminfo.rec(P, 3), 3);
        for sequence in 0..=u64::from(self.twice) {
            for number in 0..PAGES {
                let first = if number == 0 { self.meminfo_before + sequence } else { 1 };
                let page = page(number, self.key, machine.address(number as usize % 40));
                log(&mut machine, Identity { pfn: number + 1, ..page }.rec(P, self.version, 0x0223), first);
            }
            log(&mut machine, counters::kernel_usage(P, 4, 0, 0xffff_fa80_0000_0000, self.database_pages), 3);
            log(&mut machine, counters::mm_aggregate(P, 1, 1, 1, self.combined_blocks, 30), 3);
        }
        machine.finish();
        let kept = machine.records().filter(|rec| !self.without.contains(&rec.hook));
        // What is listed at the stop comes last.
        let session = self.session.clone();
        let stop = machine.records().map(|record| session.filetime(record.time)).max().expect("records");
        let trace = Trace::new(Session { end_time: stop, ..session }).push_all(kept);
        let lost = self.lost.clone();
        let trace = trace.flush_all().edit_buffers(move |buffers| {
            let (count, lost) = (buffers.len() as f64, lost.unwrap_or(2.0..2.0));
            let mut number = 0.0;
            buffers.retain(|_| {
                number += 1.0;
                !lost.contains(&(number / count))
            });
        });
        trace.cut(self.cut).finish()
    }

    fn set(&self, snapshot: SnapshotChoice) -> ResidentSet {
        with_file(&self.bytes(), |trace| {
            ResidentSet::answer(trace, &ResidentQuery { snapshot, ..ResidentQuery::default() }).unwrap()
        })
    }

    /// Warnings, and the last snapshot.
    fn told(&self) -> (Vec<String>, SnapshotSet) {
        let mut set = self.set(SnapshotChoice::Last);
        (set.warnings.texts(), set.snapshots.pop().unwrap())
    }
}

#[track_caller]
fn only(story: Story, texts: &[&str]) -> SnapshotSet {
    let (warnings, snapshot) = story.told();
    assert_eq!(warnings.len(), texts.len(), "{warnings:#?}");
    for (warning, text) in warnings.iter().zip(texts) {
        assert!(warning.contains(text), "{text:?} in {warnings:#?}");
    }
    snapshot
}

#[test]
fn a_trace_in_which_all_is_well_says_nothing() {
    let snapshot = only(Story::default(), &[]);
    let checks = &snapshot.checks;
    assert_eq!((checks.pages, checks.pfns, checks.missing_pfns, checks.duplicates), (PAGES, (1, PAGES), 0, 0));
    assert_eq!((checks.bad_list, checks.bad_meminfo, checks.slist_or_temp()), (10, Some(3), Some(7)));
    assert_eq!((checks.combined, checks.combined_mmstats), (5, Some(5)));
    assert_eq!((checks.pfn_database, checks.pfn_database_counted), (Some((0xffff_fa80_0000_0000, 20)), 20));
    assert_eq!(checks.ram_pages, Some(512));
    assert_eq!((checks.contradictions.count, checks.keyed), (0, (300, 0)));
    let lists: Vec<_> = checks.lists.iter().map(|l| (l.what.as_str(), l.counted, l.expected)).collect();
    assert_eq!(lists[0], ("Zero", 100, 100));
    assert_eq!(lists[9], ("Standby priority 5", 165, 165));
}

#[test]
fn counters_that_disagree_are_told() {
    only(Story { zero: 300, ..Story::default() }, &["Zero: 100 pages counted, MemInfo says 300"]);
    only(Story { zero: 110, ..Story::default() }, &[]);
    only(Story { combined_blocks: 500, ..Story::default() }, &[]); // most of them are not in RAM
    only(Story { database_pages: 200, ..Story::default() }, &["PFN database: 20 pages counted, the kernel says 200"]);
}

#[test]
fn counters_of_another_time_are_not_compared() {
    let old = Story { zero: 300, meminfo_before: 30_000_000, ..Story::default() };
    only(old, &["MemInfo record is 3.0 s older than the page sequence"]);
}

#[test]
fn each_keyword_that_was_not_recorded_is_named_with_what_it_costs() {
    let kinds: [(&[u16], &str, &str); 7] = [
        (&[0x0303, 0x0304], "ProcessThread", "process names"),
        (&[0x1403, 0x1404], "Loader", "Driver"),
        (&[0x0427, 0x0428], "VAMap", "CopyOnWrite"),
        (&[0x0262, 0x0280, 0x0281], "VirtualAllocation", "UserStack"),
        (&[0x0264], "Win32HeapRanges", "counted as VirtualAlloc"),
        (&[0x0424], "Filename", "DriverFile"),
        (&[0x0270], "MemoryInfo", "bad pages"),
    ];
    for (without, keyword, cost) in kinds {
        let set = Story { without: without.to_vec(), ..Story::default() }.set(SnapshotChoice::Last);
        let missing: Vec<_> = set.missing.iter().map(|need| need.keyword).collect();
        assert_eq!(missing, [keyword]);
        let line = &set.warnings.iter().find(|warning| warning.text.contains(keyword)).expect(keyword).text;
        assert!(line.contains(cost), "{line}");
    }
}

#[test]
fn changes_without_a_rundown_are_told() {
    let without = vec![0x0280, 0x0281];
    only(Story { without, ..Story::default() }, &["no rundown of VirtualAlloc regions"]);
}

#[test]
fn a_sequence_alone_is_a_table_with_what_is_unknown_above_it() {
    let without =
        vec![0x0262, 0x0264, 0x0280, 0x0281, 0x0303, 0x0304, 0x0503, 0x0504, 0x1403, 0x1404, 0x0427, 0x0428, 0x0424];
    let snapshot = only(
        Story { without, ..Story::default() },
        &[
            "300 of 300 active private pages have an owner key that names no process",
            "therefore unknown",
            "no heap ranges",
        ],
    );
    assert_eq!(snapshot.rows.iter().map(|row| row.measure.pages).sum::<u64>(), PAGES);
}

#[test]
fn unknown_versions_are_read_as_the_known_one_nearest_and_told() {
    only(
        Story { version: 9, ..Story::default() },
        &["version 9, known are 2 and 4; owner keys are read as process_id"],
    );
}

#[test]
fn keys_that_fit_another_reading_are_read_so_and_told() {
    let as_address = Story { key: 0x9c08_0000_0080, ..Story::default() };
    only(as_address.clone(), &["read as process_key: as process_id, which their version 4 calls for"]);
    only(Story { version: 2, ..as_address }, &[]);
    only(Story { key: 44, ..Story::default() }, &["300 of 300 active private pages have an owner key that names no"]);
}

#[test]
fn losses_come_first_and_only_those_within_the_sequence_hit_it() {
    let within = Story { lost: Some(0.4..0.5), ..Story::default() };
    let (warnings, snapshot) = within.told();
    assert!(warnings[0].starts_with("DATA WAS LOST"), "{warnings:#?}");
    assert!(snapshot.checks.lost_buffers > 0 && snapshot.pages < PAGES);
    assert!(warnings.iter().any(|line| line.contains("into the page sequence")));
    // A loss in the first of two sequences is none of the second.
    let first = Story { lost: Some(0.2..0.3), twice: true, ..Story::default() }.set(SnapshotChoice::All);
    let lost: Vec<_> = first.snapshots.iter().map(|snapshot| snapshot.checks.lost_buffers > 0).collect();
    assert_eq!(lost, [true, false]);
    assert!(first.warnings.iter().any(|warning| warning.text.starts_with("snapshot 0: ")));
    let counted = Story { session: Session { events_lost: 7, ..Story::default().session }, ..Story::default() };
    assert!(counted.told().0[0].starts_with("DATA WAS LOST while recording: 7 events"));
}

#[test]
fn a_truncated_file_is_read_as_far_as_it_goes_and_says_so_first() {
    let (warnings, snapshot) = Story { cut: 0x2800, ..Story::default() }.told();
    assert!(warnings[0].starts_with("THE FILE IS CUT") && warnings[1].contains("DAMAGED"), "{warnings:#?}");
    assert!((1..PAGES).contains(&snapshot.pages));
}

#[test]
fn events_that_the_end_rundown_contradicts_are_named() {
    // Another region than the one that was allocated is there at the end.
    let story = Story { without: vec![0x0281], ..Story::default() };
    // Without a rundown at the end there is nothing to contradict, which is said.
    only(story, &["no end rundown of VirtualAlloc regions, though there is one of processes"]);
    let mut trace = Trace::new(Session::windows11());
    let mut time = 1_000_000_100;
    let mut log = |trace: &mut Trace, rec: Rec| {
        time += 2;
        trace.add(&rec.at(time));
    };
    let user = Process::new(40, "a.exe");
    log(&mut trace, user.rec(P, 4, process::DC_START));
    log(&mut trace, memory::virtual_rundown(P, 0x0280, 0x1_0000, PAGE, 40, 0, 0));
    log(&mut trace, memory::virtual_alloc(P, 0x5_0000, PAGE, 40, memory::RESERVE));
    log(&mut trace, user.rec(P, 4, process::DC_END));
    log(&mut trace, memory::virtual_rundown(P, 0x0281, 0x7_0000, PAGE, 40, 0, 0));
    for (pfn, address) in [(1, 0x1_0000), (2, 0x5_0000), (3, 0x7_0000)] {
        log(&mut trace, Identity::private(pfn, 40, address).rec(P, 4, 0x0223));
    }
    let set = with_file(&trace.finish(), |trace| ResidentSet::answer(trace, &ResidentQuery::default()).unwrap());
    assert_eq!(set.snapshots[0].checks.contradictions.count, 3);
    let is_of_ranges = |text: &str| text.contains("disagree on 3 ranges or threads");
    let line = &set.warnings.iter().find(|warning| is_of_ranges(&warning.text)).expect("a warning").text;
    assert!(line.contains("region 0x10000 of a.exe (40) only in the events"), "{line}");
    let counts: Vec<_> = set.snapshots[0].rows.iter().map(|row| (row.labels[0].as_str(), row.measure.pages)).collect();
    assert_eq!(counts, [("VirtualAlloc_PreTrace", 2), ("VirtualAlloc", 1)]);
}

#[test]
fn a_trace_without_pages_is_answered_with_the_remedy() {
    let story = Story { without: vec![0x0223], ..Story::default() };
    let error = with_file(&story.bytes(), |trace| ResidentSet::answer(trace, &ResidentQuery::default()).unwrap_err());
    assert!(matches!(error, Error::MissingEvents(_)));
    let text = error.to_string();
    assert!(text.contains("wpr -start") && text.contains("xperf -on") && text.contains("Memory"), "{text}");
}
