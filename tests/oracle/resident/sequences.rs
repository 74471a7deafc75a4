//! Page sequences are told apart: the library's runs against all page records, sorted.

use crate::random_cases::cases;
use crate::with_file;
use etl_writer::machine::{Event, Keys, Machine, Setup, What};
use etl_writer::payloads::pages::{IN_MEMORY, IN_MEMORY_24H2, Identity};
use etl_writer::{Ptr, Session, Trace};
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

/// A trace of sequences: first PFN, pages, holes in percent. Also the time and the PFN of each record.
fn write(seed: u64, sequences: &[(u64, u64, u64)], p: Ptr) -> (Vec<u8>, Vec<(u64, u64)>) {
    let setup = Setup { p, keys: Keys::Address, headers: true, processors: 4, ..Setup::default() };
    let session = Session { buffer_size: 0x1000, ..setup.session() };
    let mut machine = Machine::new(setup, seed);
    for &(first, pages, holes) in sequences {
        let mut pfn = first;
        let pages: Vec<Identity> = (0..pages)
            .map(|_| {
                pfn += 1 + if machine.rng.percent(holes) { machine.rng.below(9) } else { 0 };
                Identity::new(10, pfn - 1, 0, 0)
            })
            .collect();
        machine.log_sequence(pages);
    }
    let page = |event: &Event| match event.what {
        What::Final(page) => Some((event.time, page.pfn)),
        _ => None,
    };
    (machine.trace(session, false), machine.events.iter().filter_map(page).collect())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn sequences_are_told_apart(
        seed in any::<u64>(),
        sequences in prop::collection::vec((0u64..40, 1u64..150, 0u64..20), 1..5),
        wide in any::<bool>(),
    ) {
        let (bytes, records) = write(seed, &sequences, if wide { Ptr::P8 } else { Ptr::P4 });
        with_file(&bytes, |trace| {
            let found: Vec<Sequence> = (trace.need_snapshots().unwrap().iter())
                .map(|snapshot| {
                    let parts = snapshot.fold(trace.etl(), Vec::new, |all, pages| all.extend(pages.iter().map(|page| page.pfn)));
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
    with_file(&trace.finish(), |trace| {
        let snapshots = trace.need_snapshots().unwrap();
        let pages: Vec<u64> = snapshots.iter().map(|snapshot| snapshot.pages).collect();
        assert_eq!(pages, [199]);
        let parts = snapshots[0].fold(
            trace.etl(),
            || 0,
            |marked, pages| *marked += pages.iter().filter(|p| p.non_tradeable()).count(),
        );
        assert_eq!(parts.iter().sum::<usize>(), 199);
    });
}
