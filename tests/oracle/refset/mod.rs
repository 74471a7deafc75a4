//! The reference set of made-up histories: the library's account against rules that are followed one event after the
//! other, and against what the machine itself holds.
//!
//! The machine of `tests/writer` lives through random `steps` and logs them as events, `rules` follows those, the library
//! reads the trace of them. No layout, no look-up and no state is shared with the library.

mod balance;
mod final_state;
mod rules;
mod steps;
mod tallies;
mod wpa;

use self::rules::{Counts, Rules, Said, Span};
use self::steps::{STEPS, step};
use self::tallies::Tally;
use crate::random_cases::cases;
use crate::{Op, each_step_happens, ops, with_file};
use etl_writer::Ptr;
use etl_writer::machine::{Keys, Setup, What};
use pfnset::analysis::refset::ProcessPeak;
use pfnset::analysis::refset::ReferenceSet;
use pfnset::analysis::refset::query::{Dimension, Query};
use pfnset::analysis::refset::reason::{AccessReason, ReleaseReason};
use pfnset::model::window::Bound;
use pfnset::units::Nanos;
use proptest::prelude::*;

/// Ticks of the made-up traces: 100 ns, from this stamp on.
const TICK: i128 = 100;
const T0: u64 = 1_000_000_000;

fn counts<'a>(list: impl Iterator<Item = (&'static str, &'a u64)>) -> Counts {
    list.filter(|(_, count)| **count > 0).map(|(name, count)| (name, *count)).collect()
}

/// Peak, its stamp, pages times ticks.
fn tally(set: &ReferenceSet, holder: &ProcessPeak) -> Tally {
    let stamp = |time: Nanos| T0 + u64::try_from(time.0 / TICK).unwrap();
    let (from, to) = set.window_times;
    let ticks = (stamp(to) - stamp(from)) as f64;
    (holder.peak.0, stamp(holder.peak.1), (holder.average * ticks).round() as u64)
}

/// What the library says, in the form of the rules.
fn said_by(set: &ReferenceSet, impact: &ReferenceSet) -> Said {
    let by_access = |list: &[u64; 6]| counts(AccessReason::ALL.iter().map(|reason| reason.name()).zip(list));
    let verification = set.verification.as_ref().expect("a final sequence");
    let all = verification.all;
    Said {
        accesses: by_access(&set.balance.accesses),
        releases: counts(ReleaseReason::ALL.iter().map(|reason| reason.name()).zip(&set.balance.releases)),
        reaccesses: by_access(&set.balance.reaccesses),
        wpa: by_access(&set.balance.wpa_reaccesses),
        second_mappings: set.balance.second_mappings,
        held_at_start: set.held_at_start,
        held_at_stop: set.held_at_stop,
        peak: (set.peak.0, T0 + u64::try_from(set.peak.1.0 / TICK).unwrap()),
        never_held: set.balance.never_held,
        unattributed: set.balance.unattributed,
        kernel: (set.kernel.by_use.iter().sum(), set.kernel.released, set.kernel.at_stop),
        pool_at_stop: set.pool_at_stop,
        ranges_at_stop: set.ranges_at_stop,
        rows: set
            .rows
            .iter()
            .map(|row| ((row.labels[0].to_string(), row.labels[1].to_string()), row.measure.pages))
            .collect(),
        impact: (impact.rows.iter().map(|row| (row.labels[0].to_string(), row.measure.pages)))
            .filter(|row| row.1 != 0)
            .collect(),
        holders: set.process_peaks.iter().map(|holder| (holder.process.clone(), tally(set, holder))).collect(),
        sets: set.mem_info_ws.as_ref().map_or((0, 0, 0), |sets| (sets.records, sets.compared, sets.agree)),
        verification: (verification.tracked, all.matched, all.only_tracked, all.only_final),
    }
}

/// Lets a machine live, and compares. `window` is a share of the trace, in 256ths; without one the marks count.
fn check(
    setup: &Setup,
    seed: u64,
    [before, during, behind]: [&[Op]; 3],
    window: Option<(u8, u8)>,
    slice_records: u64,
) -> Result<(), TestCaseError> {
    let mut machine = steps::machine(setup.clone(), seed);
    before.iter().for_each(|op| step(&mut machine, *op));
    machine.start_mark();
    let start = machine.events.iter().position(|event| matches!(event.what, What::Mark(_))).unwrap();
    during.iter().for_each(|op| step(&mut machine, *op));
    machine.stop_mark();
    let stop = machine.events.len() - 1;
    behind.iter().for_each(|op| step(&mut machine, *op));
    let bytes = steps::finish(&mut machine);
    let (events, lives) = (&machine.events, &machine.lives);

    let mut query = Query { slice_records, ..Query::default() };
    let mut span = Span { from: start + 1, to: stop, begin: events[start].time, end: events[stop].time };
    if let Some((from, length)) = window {
        // The final sequence is not followed, and the window begins before it.
        let last = events.iter().position(|event| matches!(event.what, What::Final(_))).unwrap() - 1;
        let at = |share: u64| events[0].time + (events[last].time - events[0].time) * share / 256;
        let (from, to) = (at(u64::from(from)), at((u64::from(from) + u64::from(length)).min(255)));
        let bound = |time: u64| Some(Bound::Time(Nanos(i128::from(time - T0) * TICK)));
        (query.from, query.to) = (bound(from), bound(to));
        span = Span {
            from: events.iter().position(|event| event.time >= from).unwrap(),
            to: events.iter().rposition(|event| event.time <= to).unwrap(),
            begin: from,
            end: to,
        };
    }
    if span.begin == span.end && window.is_some() {
        return with_file(&bytes, |trace| {
            prop_assert!(ReferenceSet::answer(trace, &query).is_err(), "an empty window");
            Ok(())
        });
    }
    let wanted = Rules::new(setup, lives).follow(events, span);
    with_file(&bytes, |trace| {
        let set = ReferenceSet::answer(trace, &query).unwrap();
        let impact =
            ReferenceSet::answer(trace, &Query { group_by: vec![Dimension::Impact], ..query.clone() }).unwrap();
        prop_assert_eq!(said_by(&set, &impact), wanted);
        let parts: f64 = set.average.by_class.iter().map(|(_, pages)| pages).sum();
        let holders: f64 = set.process_peaks.iter().map(|holder| holder.average).sum();
        let near = |pages: f64| (pages - set.average.pages).abs() < 1e-6;
        prop_assert!(near(parts) && near(holders), "{:?} {:?}", set.average, holders);
        balance::check(trace, &query, &set, seed)?;
        if setup.removals {
            prop_assert_eq!(set.balance.reaccessed(), 0, "nothing is lost, so no page is accessed twice");
            if window.is_none() {
                let unknown = machine.held_by_nobody();
                let all = set.verification.as_ref().unwrap().all;
                let sets = set.mem_info_ws.as_ref();
                prop_assert!(sets.is_none_or(|sets| sets.agree == sets.compared && sets.residue == 0.0), "{:?}", sets);
                prop_assert!(all.only_tracked == 0 && all.only_final <= unknown, "{:?}", all);
            }
        }
        Ok(())
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    (any::<bool>(), any::<bool>(), any::<bool>(), 1u64..4).prop_map(|(wide, by_id, headers, sessions)| Setup {
        p: if wide { Ptr::P8 } else { Ptr::P4 },
        keys: if by_id { Keys::Pid } else { Keys::Address },
        headers,
        sessions,
        ..Setup::default()
    })
}

proptest! {
    #![proptest_config(cases(64))]

    /// With RemoveFromWS events: the rules, which find no re-access, and the machine.
    #[test]
    fn every_page_is_accounted_for(
        setup in setup(), seed in any::<u64>(), before in ops(80, STEPS), during in ops(200, STEPS), behind in ops(30, STEPS),
        slab in prop::sample::select(vec![1u64, 40, 1 << 20]),
    ) {
        check(&setup, seed, [&before, &during, &behind], None, slab)?;
    }

    /// Without them: the rules alone, with the re-accesses that are left.
    #[test]
    fn trims_that_were_not_recorded(
        setup in setup(), seed in any::<u64>(), before in ops(80, STEPS), during in ops(200, STEPS), behind in ops(30, STEPS),
        slab in prop::sample::select(vec![1u64, 40, 1 << 20]),
    ) {
        check(&Setup { removals: false, ..setup }, seed, [&before, &during, &behind], None, slab)?;
    }

    /// Any window, marks or not.
    #[test]
    fn any_window(
        setup in setup(), removals in any::<bool>(), seed in any::<u64>(), before in ops(80, STEPS), during in ops(200, STEPS),
        behind in ops(30, STEPS), from in any::<u8>(), length in any::<u8>(), slab in prop::sample::select(vec![1u64, 40, 1 << 20]),
    ) {
        check(&Setup { removals, ..setup }, seed, [&before, &during, &behind], Some((from, length)), slab)?;
    }
}

#[test]
fn each_step_happens_on_these_machines() {
    each_step_happens(STEPS, |seed| steps::machine(Setup::default(), seed), step);
}
