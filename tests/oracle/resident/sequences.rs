//! Page sequences are told apart: the library's runs against all page records, sorted.

use crate::with_file;
use etl_writer::payloads::pages::{IN_MEMORY, IN_MEMORY_24H2, Identity};
use etl_writer::payloads::perf;
use etl_writer::{HeaderKind, Ptr, Rng, Session, Trace, guid};
use pfnset::analysis::resident::ResidentModel;
use proptest::prelude::*;

/// What is known of a sequence: PFNs in order; the rest is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sequence {
    pfns: Vec<u64>,
    gaps: u64,
    missing: u64,
}

/// The slow, obvious way: all records in order of time, cut where a PFN falls back. The same PFN twice in a row is a
/// page that was logged twice.
fn sorted(mut records: Vec<(u64, u64)>) -> Vec<Sequence> {
    records.sort_by_key(|&(time, _)| time);
    let mut all: Vec<Sequence> = Vec::new();
    for (_, pfn) in records {
        match all.last_mut() {
            Some(sequence) if *sequence.pfns.last().unwrap() <= pfn => {
                let hole = (pfn - sequence.pfns.last().unwrap()).saturating_sub(1);
                sequence.gaps += u64::from(hole > 0);
                sequence.missing += hole;
                sequence.pfns.push(pfn);
            }
            _ => all.push(Sequence { pfns: vec![pfn], gaps: 0, missing: 0 }),
        }
    }
    all
}

/// Writes sequences as one thread logs them that moves between processors, other records between its own.
fn write(seed: u64, sequences: &[(u64, u64, u64)], p: Ptr, restless: u64) -> (Vec<u8>, Vec<(u64, u64)>) {
    let mut rng = Rng::new(seed);
    let session = Session { buffer_size: 0x1000, processors: 4, ..Session::windows10() };
    let session = if p == Ptr::P4 { session.bits32() } else { session };
    let mut time = session.t0 + 10;
    let mut trace = Trace::new(session);
    let mut records = Vec::new();
    for &(first, pages, holes) in sequences {
        let (mut pfn, mut processor) = (first, rng.below(4) as u16);
        for _ in 0..pages {
            if rng.percent(restless) {
                processor = rng.below(4) as u16;
            }
            if rng.percent(2) {
                trace.add(&perf::sample(p, 0x1000, 4, 0).at(time).on(rng.below(4) as u16));
            }
            let record = Identity::new(10, pfn, 0, 0).rec(p, 2, IN_MEMORY).at(time).on(processor);
            let record = match rng.below(40) {
                0 => record.with_header(HeaderKind::System(p)),
                1 => record.into_class(guid("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c")),
                _ => record,
            };
            trace.add(&record);
            records.push((time, pfn));
            // Records of one stamp are in order of their PFNs.
            time += rng.below(3);
            pfn += 1 + if rng.percent(holes) { rng.below(9) } else { 0 };
        }
        time += 1 + rng.below(50);
    }
    (trace.finish(), records)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sequences_are_told_apart(
        seed in any::<u64>(),
        sequences in prop::collection::vec((0u64..40, 1u64..150, 0u64..20), 1..5),
        wide in any::<bool>(),
        restless in 0u64..30,
    ) {
        let (bytes, records) = write(seed, &sequences, if wide { Ptr::P8 } else { Ptr::P4 }, restless);
        with_file(&bytes, |etl| {
            let model = ResidentModel::new(etl).unwrap();
            let found: Vec<Sequence> = (model.snapshots.iter())
                .map(|snapshot| {
                    let parts = snapshot.fold(etl, Vec::new, |all, pages| all.extend(pages.iter().map(|page| page.pfn)));
                    let mut pfns: Vec<u64> = parts.into_iter().flatten().collect();
                    pfns.sort_unstable();
                    Sequence { pfns, gaps: snapshot.gaps, missing: snapshot.missing_pfns }
                })
                .collect();
            prop_assert_eq!(found, sorted(records));
            Ok(())
        })?;
    }
}

/// A kernel that logs both page events of each page tells one sequence; the newer event's is taken.
#[test]
fn both_page_events_of_a_page_are_one_page() {
    let p = Ptr::P8;
    let mut trace = Trace::new(Session::windows11());
    for pfn in 1..200u64 {
        let page = Identity::new(10, pfn, 0, 0);
        trace.add(&page.rec(p, 4, IN_MEMORY).at(1_000_000_100 + 2 * pfn));
        let newer = Identity { non_tradeable: true, ..page };
        trace.add(&newer.rec(p, 4, IN_MEMORY_24H2).at(1_000_000_101 + 2 * pfn));
    }
    with_file(&trace.finish(), |etl| {
        let model = ResidentModel::new(etl).unwrap();
        let pages: Vec<u64> = model.snapshots.iter().map(|snapshot| snapshot.pages).collect();
        assert_eq!(pages, [199]);
        let parts = model.snapshots[0].fold(
            etl,
            || 0,
            |marked, pages| *marked += pages.iter().filter(|p| p.non_tradeable()).count(),
        );
        assert_eq!(parts.iter().sum::<usize>(), 199);
    });
}
