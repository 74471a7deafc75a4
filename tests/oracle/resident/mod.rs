//! The resident set of made-up machines, page by page: the library's joins against the plain truth.
//!
//! A machine lives through random events (processes with reused ids, regions, views, heaps, stacks, files, drivers,
//! session images), is recorded in one of many ways (with and without rundowns, with losses, in all forms of keys,
//! headers and pointers), and is looked at once or several times. The machine of `tests/writer` keeps what is true in
//! arrays, `truth` names it by the rules of the specification; nothing of the library's own model is used for that.

mod checks;
mod sequences;
mod steps;
mod stories;
mod truth;

use self::steps::{LAST_STEP, SNAPSHOT, step};
use self::truth::{Labels, Snap};
use crate::random_cases::cases;
use crate::{Op, each_step_happens, ops, with_file};
use etl_writer::machine::{Keys, Setup};
use etl_writer::{Compression, Ptr};
use pfnset::analysis::resident::SnapshotContext;
use pfnset::analysis::resident::page_dimensions::Dimension;
use pfnset::model::snapshot::Snapshot;
use pfnset::trace::Trace;
use proptest::prelude::*;

/// What `Labels` has.
const DIMENSIONS: [Dimension; 5] =
    [Dimension::Category, Dimension::CategoryWpa, Dimension::PROCESS, Dimension::FILE, Dimension::Detail];

/// The library's labels of the pages of a snapshot, in order of their PFNs, and the number of contradictions.
fn labels_of<const N: usize>(
    trace: &Trace,
    snapshot: &Snapshot,
    dimensions: [Dimension; N],
) -> (Vec<(u64, [String; N])>, usize) {
    let context = SnapshotContext::new(trace, snapshot);
    let parts = snapshot.fold(trace.etl(), Vec::new, |all, pages| {
        all.extend(pages.iter().map(|page| {
            let classified = context.classify(page);
            let label = |dimension: Dimension| dimension.label(&context, dimension.code(&context, page, &classified));
            (page.pfn, dimensions.map(|dimension| label(dimension).to_string()))
        }));
    });
    let mut all: Vec<(u64, [String; N])> = parts.into_iter().flatten().collect();
    all.sort_by_key(|page| page.0);
    (all, context.contradictions.len())
}

/// Lets a machine live and compares.
fn check(setup: Setup, seed: u64, before: &[Op], during: &[Op], meanwhile: &[Op]) -> Result<(), TestCaseError> {
    let mut machine = steps::machine(setup.clone(), seed);
    before.iter().for_each(|op| step(&mut machine, *op));
    machine.begin();
    let mut snaps: Vec<Snap> = Vec::new();
    for op in during {
        match op {
            Op(SNAPSHOT, ..) if !setup.lossy && snaps.len() < 3 => snaps.push(truth::take(&mut machine)),
            op => step(&mut machine, *op),
        }
    }
    let mut meanwhile = if setup.lossy { Vec::new() } else { meanwhile.to_vec() };
    machine.stop(|machine| meanwhile.pop().into_iter().for_each(|op| step(machine, op)));
    snaps.push(truth::take(&mut machine));
    let bytes = machine.finish();
    with_file(&bytes, |trace| {
        let snapshots = trace.need_snapshots().unwrap();
        prop_assert_eq!(snapshots.len(), snaps.len(), "snapshots");
        for (index, (snapshot, snap)) in snapshots.iter().zip(&snaps).enumerate() {
            let (found, contradictions) = labels_of(trace, snapshot, DIMENSIONS);
            let wanted = truth::labels(&machine, snap);
            prop_assert_eq!(found.len(), wanted.len(), "pages of snapshot {}", index);
            for (number, ((pfn, [category, wpa, process, file, detail]), mut wanted)) in
                found.into_iter().zip(wanted).enumerate()
            {
                let found = Labels { pfn, category, wpa, process, file, detail };
                if setup.lossy {
                    // WPA's rules know only events, and those are lost.
                    wanted.wpa.clone_from(&found.wpa);
                    if wanted.detail == truth::ANY {
                        wanted.detail.clone_from(&found.detail);
                    }
                }
                prop_assert_eq!(
                    &found,
                    &wanted,
                    "page {} of snapshot {}: {}",
                    number,
                    index,
                    truth::show(snap, number)
                );
            }
            if !setup.lossy {
                prop_assert_eq!(contradictions, 0, "contradictions in snapshot {}", index);
            }
        }
        Ok(())
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let forms = (0u8..3, any::<bool>(), any::<bool>(), 0u8..4);
    (flags, forms).prop_map(|((start, heap_start, end, headers, provider), (keys, wide, new_hook, how))| Setup {
        p: if wide { Ptr::P8 } else { Ptr::P4 },
        keys: [Keys::Pid, Keys::Address, Keys::Directory][usize::from(keys)],
        sessions: 3,
        hook: if new_hook { 0x028a } else { 0x0223 },
        start,
        heap_start: start && heap_start,
        end,
        lossy: false,
        removals: false,
        headers,
        provider,
        processors: 3,
        compression: if how == 0 { Compression::Xpress } else { Compression::None },
    })
}

proptest! {
    #![proptest_config(cases(128))]

    /// All that the trace tells is told right, at each of several moments.
    #[test]
    fn every_page_is_what_it_is(
        setup in setup(), seed in any::<u64>(), before in ops(40, LAST_STEP + 1), during in ops(60, LAST_STEP + 1), meanwhile in ops(8, LAST_STEP + 1),
    ) {
        check(setup, seed, &before, &during, &meanwhile)?;
    }

    /// Where events were lost, the end rundown is right.
    #[test]
    fn the_end_rundown_is_right_where_events_were_lost(
        setup in setup(), seed in any::<u64>(), before in ops(40, LAST_STEP + 1), during in ops(60, LAST_STEP + 1),
    ) {
        check(Setup { end: true, lossy: true, ..setup }, seed, &before, &during, &[])?;
    }
}

#[test]
fn each_step_happens_on_these_machines() {
    let recorded = |seed| {
        let mut machine = steps::machine(Setup::default(), seed);
        machine.begin();
        machine
    };
    each_step_happens(LAST_STEP + 1, recorded, step);
}
