//! How often a trace is read: once for all parts that were asked for together, and not again for what was gathered.

use pfnset::analysis::cpu::CpuUse;
use pfnset::analysis::cpu::query::CpuQuery;
use pfnset::analysis::events::{EventFilter, EventStatistics};
use pfnset::analysis::info::TraceInfo;
use pfnset::analysis::memory::MemorySet;
use pfnset::analysis::memory::query::MemoryQuery;
use pfnset::analysis::processes::{ProcessQuery, ProcessSet};
use pfnset::analysis::refset::{self, ReferenceSet};
use pfnset::analysis::resident::ResidentSet;
use pfnset::analysis::resident::query::ResidentQuery;
use pfnset::analysis::resident::query::SnapshotChoice;
use pfnset::trace::{Parts, Trace};
use pfnset::unstable_api::Overview;
use std::path::Path;

fn open(name: &str) -> Trace {
    Trace::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)).expect("a fixture")
}

/// The answers to these questions, as text.
fn answers(trace: &Trace, questions: &[fn(&Trace) -> String]) -> Vec<String> {
    questions.iter().map(|ask| ask(trace)).collect()
}

const QUESTIONS: [fn(&Trace) -> String; 6] = [
    |trace| format!("{:?}", TraceInfo::answer(trace)),
    |trace| format!("{:?}", MemorySet::answer(trace, &MemoryQuery::default())),
    |trace| format!("{:?}", CpuUse::answer(trace, &CpuQuery::default())),
    |trace| format!("{:?}", ReferenceSet::answer(trace, &refset::query::Query::default())),
    |trace| format!("{:?}", ResidentSet::answer(trace, &ResidentQuery::default())),
    |trace| format!("{:?}", ProcessSet::answer(trace, &ProcessQuery::default())),
];

#[test]
fn a_question_walks_once_and_a_second_one_not_at_all() {
    for (ask, name) in QUESTIONS.into_iter().zip(["info", "memory", "cpu", "refset", "resident", "processes"]) {
        for file in ["resident-small.etl", "refset-small.etl", "cpu-compressed.etl"] {
            let trace = open(file);
            let first = ask(&trace);
            // Where only a page sequence tells the size of memory, it is checked, which takes what pages are counted by.
            let walks = if (name, file) == ("memory", "resident-small.etl") { 2 } else { 1 };
            assert_eq!(trace.walks(), walks, "{name} {file}");
            assert_eq!((ask(&trace), trace.walks()), (first, walks), "{name} {file}");
            // What was counted meanwhile is all that the statistics need.
            EventStatistics::answer(&trace, &EventFilter::default());
            assert_eq!(trace.walks(), walks, "{name} {file}");
        }
    }
}

#[test]
fn only_the_parts_that_are_asked_for_are_gathered() {
    let trace = open("resident-small.etl");
    TraceInfo::answer(&trace);
    assert_eq!(trace.walks(), 1);
    trace.gather(MemorySet::PARTS);
    assert_eq!(trace.walks(), 2, "counting gathers no parts");
    trace.gather(Parts::PAGES | Parts::COUNTERS | Parts::SYSTEM);
    assert_eq!(trace.walks(), 2);
    trace.gather(ResidentSet::PARTS);
    assert_eq!(trace.walks(), 3, "memory over time needs no address spaces");
    trace.gather(ReferenceSet::PARTS | ResidentSet::PARTS);
    assert_eq!(trace.walks(), 3);
    trace.gather(CpuUse::PARTS);
    assert_eq!(trace.walks(), 4, "a resident set needs no threads");
}

#[test]
fn answers_do_not_depend_on_what_was_gathered_before() {
    for file in ["resident-small.etl", "refset-small.etl", "cpu-compressed.etl"] {
        let each: Vec<String> = QUESTIONS.iter().map(|ask| ask(&open(file))).collect();
        let (forwards, backwards) = (open(file), open(file));
        assert_eq!(answers(&forwards, &QUESTIONS), each, "{file}");
        let mut reversed = QUESTIONS;
        reversed.reverse();
        let mut last_first = answers(&backwards, &reversed);
        last_first.reverse();
        assert_eq!(last_first, each, "{file}");
    }
}

#[test]
fn a_report_walks_once() {
    for file in ["resident-small.etl", "refset-small.etl", "cpu-compressed.etl"] {
        let trace = open(file);
        let overview = Overview::answer(&trace);
        assert_eq!(trace.walks(), 1, "{file}");
        assert!(overview.resident.is_ok() || overview.reference.is_ok() || overview.cpu.is_ok(), "{file}");
    }
}

#[cfg(feature = "export")]
#[test]
fn an_export_of_all_tables_walks_once() {
    use pfnset::analysis::export::schema::Table;
    use pfnset::analysis::export::{Columns, Sink, TraceFile, export};
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counted(AtomicUsize);

    impl Sink for Counted {
        fn write(&self, _: Table, rows: usize, _: &Columns<'_>) -> Result<(), pfnset::error::Error> {
            self.0.fetch_add(rows, Ordering::Relaxed);
            Ok(())
        }
    }

    for file in ["resident-small.etl", "refset-small.etl", "cpu-compressed.etl"] {
        let (trace, sink) = (open(file), Counted(AtomicUsize::new(0)));
        let identity = || TraceFile { file: file.into(), digest: None, bytes: None, program_version: "1".into() };
        export(&trace, identity, (&Table::ALL, SnapshotChoice::All), str::to_owned, &sink)
            .expect("a sink that takes all");
        assert_eq!(trace.walks(), 1, "{file}");
        assert!(sink.0.into_inner() > 100, "{file}");
    }
}
