//! The analyses on any file: what they add up must agree, whatever the file says.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::analysis::cpu::CpuUse;
use pfnset::analysis::cpu::query::CpuQuery;
use pfnset::analysis::memory::MemorySet;
use pfnset::analysis::memory::query::{MemoryQuery, TimelineStep};
use pfnset::analysis::memory::working_sets::MemoryTrack;
use pfnset::analysis::processes::{Dimension, ProcessQuery, ProcessSet};
use pfnset::analysis::refset::ReferenceSet;
use pfnset::analysis::resident::ResidentSet;
use pfnset::analysis::resident::query::SnapshotChoice;
use pfnset::analysis::{refset, resident};
use pfnset::trace::Trace;
use pfnset::unstable_api::{AllocationQuery, AllocationSet, FaultQuery, FaultSet, StackQuery, StackSet};

#[path = "../scratch_file.rs"]
mod scratch_file;

fuzz_target!(|data: &[u8]| scratch_file::open(data).iter().for_each(analyse));

fn analyse(trace: &Trace) {
    for group_by in [
        "category",
        "process,use",
        "list,priority,category_wpa",
        "detail",
        "process_name,service",
        "folder,extension",
        "stack",
        "process,function,module",
    ] {
        let mut query = resident::query::ResidentQuery { snapshot: SnapshotChoice::All, ..Default::default() };
        query.group_by = pfnset::dimensions::Dimension::parse_list(group_by).expect("dimensions");
        let Ok(set) = ResidentSet::answer(trace, &query) else { break };
        for snapshot in &set.snapshots {
            let rows: u64 = snapshot.rows.iter().map(|row| row.measure.pages).sum();
            assert_eq!((rows, snapshot.selected), (snapshot.pages, snapshot.pages), "{group_by}");
            let memory = snapshot.memory();
            assert_eq!(memory.in_use + memory.modified + memory.standby + memory.free, memory.all);
            let _ = set.overview(snapshot, &Default::default());
        }
    }
    if let Ok(set) =
        ProcessSet::answer(trace, &ProcessQuery { group_by: vec![Dimension::Session], ..Default::default() })
    {
        let grouped: u64 = set.rows.iter().map(|row| row.measure.processes).sum();
        assert_eq!((grouped, set.processes.len() as u64), (set.total, set.total));
    }
    if let Ok(set) = StackSet::answer(trace, &StackQuery::default()) {
        let innermost: u64 = set.functions.iter().map(|row| row.counts.self_events).sum();
        assert_eq!((innermost, set.totals.with_stack <= set.totals.events), (set.totals.events, true));
    }
    if let Ok(set) = FaultSet::answer(trace, &FaultQuery::default()) {
        let events: u64 = set.hard_rows.iter().map(|(_, figures)| figures.events).sum();
        let operations: u64 = set.disk_rows.iter().map(|(_, figures)| figures.operations).sum();
        assert_eq!((events, operations), (set.hard.events, set.disk.operations));
    }
    for group_by in ["process,thread", "tag,pool,session", "process,heap,source", "reason,size,function,free_stack"] {
        let mut query = AllocationQuery::default();
        query.group_by = pfnset::dimensions::Dimension::parse_list(group_by).expect("dimensions");
        if let Ok(set) = AllocationSet::answer(trace, &query) {
            let at_end: u128 = set.rows.iter().map(|row| row.figures.at_end().bytes).sum();
            assert_eq!((set.is_balanced, at_end), (true, set.total.at_end().bytes), "{group_by}");
        }
    }
    let mut query = AllocationQuery::default();
    query.at_snapshot = Some(SnapshotChoice::Last);
    if let Ok(set) = AllocationSet::answer(trace, &query) {
        let (at, snapshot) = (set.total.at_snapshot, set.snapshot.expect("the one that was asked for"));
        assert!(
            at.resident <= at.committed
                && set.rows.iter().all(|row| row.figures.at_snapshot.resident <= row.figures.at_snapshot.committed)
        );
        assert!(snapshot.index < trace.snapshots().len());
    }
    let group_by = pfnset::dimensions::Dimension::parse_list("process,thread").expect("dimensions");
    let query = CpuQuery { group_by, ..CpuQuery::default() };
    if let Ok(cpu) = CpuUse::answer(trace, &query) {
        assert!(cpu.is_balanced());
        for states in cpu.rows.iter().filter_map(|row| row.states) {
            let sum = states.running + states.ready + states.waiting + states.unknown + states.not_alive;
            assert_eq!(sum, cpu.window_ticks);
        }
        // Rows by stack are the same in parts.
        let sum = |set: &CpuUse| {
            set.rows.iter().fold((0u64, 0, 0u64), |(cpu, switches, waited), row| {
                let waits = row.waits.values().fold(waited, |sum, wait| sum.saturating_add(wait.ticks));
                (cpu.saturating_add(row.cpu), switches + row.switches, waits)
            })
        };
        let group_by = pfnset::dimensions::Dimension::parse_list("stack,ready_function").expect("dimensions");
        let query = CpuQuery { group_by, ..CpuQuery::default() };
        let by_stack = CpuUse::answer(trace, &query).expect("the same trace");
        assert!(by_stack.is_balanced());
        assert_eq!(sum(&by_stack), sum(&cpu));
    }
    let query = MemoryQuery { all_samples: true, timeline: Some(TimelineStep::Samples), ..Default::default() };
    if let Ok(set) = MemorySet::answer(trace, &query) {
        let view = Default::default();
        let kept =
            |track: &MemoryTrack| track.samples.len() as u64 == track.count && track.first.moment <= track.last.moment;
        assert!(set.processes.iter().chain(&set.sessions).all(kept));
        assert_eq!(set.table(view).records.len(), set.samples.len());
        let _ = (set.largest_table(view), set.growth_table(view), set.session_records());
    }
    let _ = ReferenceSet::answer(trace, &refset::query::Query::default());
}
