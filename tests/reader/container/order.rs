//! Merged order against a slow oracle that collects everything and sorts; the same result for any number of threads.

use super::serial;
use crate::opened::{Opened, open};
use crate::random_cases::cases;
use etl_writer::{Compression, Rec, Rng, Session, Trace};
use pfnset::etl::buffer_order::Schedule;
use pfnset::etl::record_id::Position;
use pfnset::load::sha256_digest::TraceDigest;
use pfnset::load::survey::Survey;
use pfnset::units::Ticks;
use proptest::prelude::*;

type Seen = (Ticks, Position, u16, Vec<u8>);

/// The merge, record by record.
fn merged(opened: &Opened) -> (Vec<Seen>, Schedule) {
    let schedule = Schedule::new(opened);
    let mut merge = schedule.merge(opened);
    let mut seen = Vec::new();
    while let Some((raw, time, processor)) = merge.next_record() {
        seen.push((time, raw.position, processor, raw.bytes.to_vec()));
    }
    assert_eq!(merge.late_records(), 0);
    assert!(merge.next_record().is_none(), "the end stays the end");
    drop(merge);
    (seen, schedule)
}

/// All records, sorted by time, then file position; where sequence numbers do not ascend per processor, the position is
/// that which the buffer has by sequence number, behind the header buffer.
fn oracle(opened: &Opened) -> Vec<Seen> {
    let mut latest = std::collections::BTreeMap::new();
    let ascending =
        opened.buffers.iter().skip(1).all(|b| latest.insert(b.processor, b.sequence).is_none_or(|l| l < b.sequence));
    let mut all = Vec::new();
    for index in 0..opened.buffers.len() {
        let mut scratch = Vec::new();
        let area = opened.area(index, &mut scratch);
        let place = if ascending || index == 0 { index as u64 } else { 1 + area.buffer.sequence };
        let mut before = opened.before_first();
        for raw in area.records() {
            before = raw.time().unwrap_or(before);
            all.push((place, (before, raw.position, area.buffer.processor, raw.bytes.to_vec())));
        }
    }
    all.sort_by_key(|(place, (time, position, ..))| (*time, *place, position.buffer, position.offset));
    all.into_iter().map(|(_, seen)| seen).collect()
}

fn assert_merged(opened: &Opened) {
    let (seen, _) = merged(opened);
    let expected = oracle(opened);
    assert_eq!(seen.len(), expected.len());
    if let Some(at) = (0..seen.len()).find(|&at| seen[at] != expected[at]) {
        panic!("record {at} of {}: {:?} instead of {:?}", seen.len(), &seen[at], &expected[at]);
    }
}

/// Records of `processors` with few different times, so that many are equal.
fn crowded(count: u64, processors: u64, seed: u64) -> Vec<Rec> {
    let mut rng = Rng::new(seed);
    let mut ticks = vec![0; processors as usize];
    let rec = |n| {
        let cpu = rng.below(processors);
        ticks[cpu as usize] += rng.below(3);
        serial(n, ticks[cpu as usize]).on(cpu as u16)
    };
    (0..count).map(rec).collect()
}

#[test]
fn equal_times_are_settled_by_file_position() {
    for session in [Session::windows10(), Session::windows10().merged(), Session::windows7()] {
        let session = Session { buffer_size: 0x400, ..session };
        let opened = open(&Trace::new(session).push_all(crowded(3_000, 4, 1)).finish());
        let (seen, schedule) = merged(&opened);
        assert!(!schedule.reordered && schedule.unsorted_buffers == 0);
        assert!(seen.windows(2).filter(|pair| pair[0].0 == pair[1].0).count() > 1_000);
        assert!(seen.is_sorted_by_key(|(time, position, ..)| (*time, *position)));
        assert_merged(&opened);
    }
}

#[test]
fn late_flushes_shuffled_and_wrapped_files_merge_alike() {
    let session = Session { buffer_size: 0x400, ..Session::windows10() };
    // Processor 3 logs one record at the start and is flushed at the very end.
    let late = || Trace::new(session.clone()).push(serial(0, 0).on(3)).push_all(crowded(2_000, 3, 2));
    assert_merged(&open(&late().finish()));
    for seed in 0..5 {
        let shuffled = open(&late().shuffled(seed).finish());
        assert!(merged(&shuffled).1.reordered);
        assert_merged(&shuffled);
    }
    assert_merged(&open(&late().circular(9).finish()));
}

#[test]
fn records_out_of_time_order_are_sorted_inside_their_buffer_and_counted() {
    for compression in [Compression::None, Compression::Xpress] {
        let session = Session { buffer_size: 0x400, ..Session::windows10().compressed(compression) };
        let mut rng = Rng::new(3);
        let recs: Vec<Rec> = (0..500).map(|n| serial(n, n + rng.below(30)).on((n % 2) as u16)).collect();
        let opened = open(&Trace::new(session).push_all(recs).finish());
        let (seen, schedule) = merged(&opened);
        assert!(schedule.unsorted_buffers > 10);
        assert!(seen.is_sorted_by_key(|(time, ..)| *time));
        assert_merged(&opened);
    }
}

#[test]
fn one_thread_and_two_say_the_same() {
    let session = Session { buffer_size: 0x1000, ..Session::windows8().merged() };
    let opened = open(&Trace::new(session).push_all(crowded(5_000, 8, 4)).finish());
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let survey = Survey::new(&opened);
            let kinds: Vec<_> = survey
                .kinds
                .iter()
                .map(|k| (k.id, k.version, k.count, k.bytes, k.first, k.last, k.processors.clone()))
                .collect();
            let counts = (survey.total, survey.by_header, survey.by_processor, survey.spans);
            (kinds, counts, TraceDigest::new(&opened), merged(&opened).0, Schedule::new(&opened).spans)
        })
    };
    let one = run(1);
    assert_eq!(one.1.3, one.4, "survey and schedule see the same spans");
    assert!(one == run(2) && one == run(7));
}

/// A trace of any shape: (processor, tick step, is it late) for each record.
fn any_trace() -> impl Strategy<Value = Vec<u8>> {
    let records = prop::collection::vec((0u16..5, 0u64..4, prop::bool::weighted(0.02)), 0..400);
    (records, prop::bool::ANY, prop::option::of(0u64..100), prop::option::of(2usize..9), prop::bool::ANY).prop_map(
        |(records, packed, shuffle, circular, messages)| {
            let compression = if packed { Compression::Xpress } else { Compression::None };
            let session = Session { buffer_size: 0x200, ..Session::windows10().compressed(compression) };
            let mut ticks = [50u64; 5];
            let mut trace = Trace::new(session);
            for (n, (cpu, step, is_late)) in (0..).zip(records) {
                let tick = &mut ticks[usize::from(cpu)];
                *tick += step;
                let at = if is_late { *tick - 40 } else { *tick };
                trace.add(&if messages && n % 5 == 0 {
                    Rec::message(3, 0, vec![]).on(cpu)
                } else {
                    serial(n, at).on(cpu)
                });
            }
            trace = circular.into_iter().fold(trace, Trace::circular);
            shuffle.into_iter().fold(trace, Trace::shuffled).finish()
        },
    )
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_trace_merges_as_the_oracle_says(bytes in any_trace()) {
        assert_merged(&open(&bytes));
    }
}
