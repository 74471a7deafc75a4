//! Allocations against slow, obvious oracles: the state of each single page of a small address space after each record, and lists of
//! blocks that are searched from one end to the other.

mod blocks;
mod commit;

use crate::random_cases::cases;
use crate::with_file;
use blocks::{heap_story, pool_story};
use commit::{AtSequence, story, tell};
use etl_writer::payloads::memory::{virtual_alloc, virtual_free};
use etl_writer::payloads::pool;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr, Rec, Session, Trace};
use pfnset::analysis::resident::query::SnapshotChoice;
use pfnset::model::window::Bound;
use pfnset::units::Nanos;
use pfnset::unstable_api::{AllocationQuery, AllocationSet};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PID: u32 = 88;
const PAGE: u64 = 4096;
const NAMES: [&str; 7] = ["decommit", "release", "free", "realloc", "heap_destroy", "process_end", "lost"];

/// What the page-by-page account knows of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// `None`: before the trace.
    pub opened: Option<u64>,
    pub closed: Option<(u64, &'static str)>,
    pub bytes: u64,
}

/// Figures of a row: bytes and pieces at the start, opened, closed, at the end; the peak.
type Sums = ([(u64, u64); 4], u64);

fn sums(pieces: &[Piece], from: u64, to: u64) -> Sums {
    let is_open = |piece: &Piece, time: u64| {
        piece.opened.is_none_or(|at| at < time) && piece.closed.is_none_or(|(at, _)| at >= time)
    };
    let inside = |time: u64| (from..to).contains(&time);
    let sum = |wanted: &dyn Fn(&Piece) -> bool| {
        let chosen = || pieces.iter().filter(|piece| wanted(piece));
        (chosen().map(|piece| piece.bytes).sum::<u64>(), chosen().count() as u64)
    };
    let parts = [
        sum(&|piece| is_open(piece, from)),
        sum(&|piece| piece.opened.is_some_and(inside)),
        sum(&|piece| piece.closed.is_some_and(|(at, _)| inside(at)) && piece.opened.is_none_or(|at| at < to)),
        sum(&|piece| is_open(piece, to)),
    ];
    // After all records of a tick is before the first one of the next.
    let peak = (from..to).map(|time| if time == from { from } else { time }).chain([to]);
    let peak = peak.map(|time| sum(&|piece| is_open(piece, time)).0).max().unwrap_or(0);
    (parts, peak)
}

/// Rows by reason, and all together.
fn expected(pieces: &[Piece], from: u64, to: u64) -> BTreeMap<String, Sums> {
    let mut by: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
    for piece in pieces {
        let reason = piece.closed.filter(|(at, _)| *at < to).map_or("outstanding", |(_, reason)| reason);
        by.entry(reason.to_owned()).or_default().push(*piece);
        by.entry("total".to_owned()).or_default().push(*piece);
    }
    let rows = by.into_iter().map(|(name, pieces)| (name, sums(&pieces, from, to)));
    rows.filter(|(_, (parts, _))| parts.iter().any(|(_, count)| *count > 0)).collect()
}

struct Asked {
    rows: BTreeMap<String, Sums>,
    records: BTreeMap<&'static str, u64>,
}

fn ask(bytes: &[u8], of: &str, window: (u64, u64), t0: u64) -> Option<Asked> {
    with_file(bytes, |trace| {
        let bound = |stamp: u64| Some(Bound::Time(Nanos(i128::from(stamp - t0) * 100)));
        let mut query = AllocationQuery::default();
        (query.from, query.to) = (bound(window.0), bound(window.1));
        // A dimension of one kind chooses it.
        let finer = match of {
            "commit" => "reason,pages",
            "pool" => "reason,pool",
            _ => "reason,heap",
        };
        query.group_by = pfnset::dimensions::Dimension::parse_list(finer).expect("dimensions");
        let finer = AllocationSet::answer(trace, &query).ok()?;
        assert!(finer.is_balanced);
        query.of = Some(finer.of);
        query.group_by = pfnset::dimensions::Dimension::parse_list("reason").expect("dimensions");
        let set = AllocationSet::answer(trace, &query).expect("the same kind");
        assert!(set.is_balanced && set.total == finer.total);
        let all = |figures: &pfnset::unstable_api::Figures| -> Sums {
            let parts = [figures.at_start(), figures.allocated(), figures.freed(), figures.at_end()];
            let parts = parts.map(|amount| (u64::try_from(amount.bytes).expect("small"), amount.count));
            (parts, figures.peak.map_or(0, |(bytes, _)| u64::try_from(bytes).expect("small")))
        };
        let mut rows: BTreeMap<String, Sums> =
            set.rows.iter().map(|row| (row.labels[0].to_string(), all(&row.figures))).collect();
        // A timeline and rows that are known at once give the same total.
        query.group_by = pfnset::dimensions::Dimension::parse_list("thread").expect("dimensions");
        query.timeline = Some(Nanos(700));
        let early = AllocationSet::answer(trace, &query).expect("the same kind");
        assert_eq!((early.is_balanced, early.total), (true, set.total));
        let steps = &early.timeline;
        assert_eq!(steps.iter().map(|step| step.allocated).sum::<u128>(), set.total.allocated().bytes);
        assert_eq!(steps.iter().map(|step| step.freed).sum::<u128>(), set.total.freed().bytes);
        if let Some(last) = steps.last() {
            assert_eq!(last.at_end, set.total.at_end().bytes);
            let peak = steps.iter().map(|step| step.peak).max();
            assert_eq!(peak, Some(set.total.peak.map_or(0, |(bytes, _)| bytes)));
        }
        if !set.total.is_empty() {
            rows.insert("total".to_owned(), all(&set.total));
        }
        Some(Asked { rows, records: set.records.iter().copied().collect() })
    })
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn commit_is_that_of_each_page(story in story()) {
        let (bytes, t0, end, pieces, counts, _) = tell(&story);
        let length = end - t0 + 2;
        let from = t0 + u64::from(story.window.0) * length / 600;
        let to = from + 1 + u64::from(story.window.1) * length / 256;
        for (from, to) in [(t0, end + 1), (from, to)] {
            let found = ask(&bytes, "commit", (from, to), t0).expect("records");
            prop_assert_eq!(found.rows, expected(&pieces, from, to));
            for name in
                ["after_end", "malformed", "reset", "unknown_size", "recommitted_bytes", "unknown_release_bytes", "estimated_bytes"]
            {
                prop_assert_eq!(found.records[name], counts.get(name).copied().unwrap_or(0), "{}", name);
            }
        }
    }

    /// What is committed and what of it is in RAM, page by page.
    #[test]
    fn commit_that_is_not_in_ram_is_that_of_each_page(story in story()) {
        let (bytes, .., expected) = tell(&story);
        with_file(&bytes, |trace| {
            let mut query = AllocationQuery::default();
            query.at_snapshot = Some(SnapshotChoice::Last);
            query.group_by = pfnset::dimensions::Dimension::parse_list("pages").expect("a dimension");
            let set = AllocationSet::answer(trace, &query).expect("records");
            let mut found: AtSequence = AtSequence::new();
            for row in &set.rows {
                let at = row.figures.at_snapshot;
                let of = if row.labels[0].as_str() == "large" { "large" } else { "normal" };
                found.insert(of, (at.committed, at.resident));
            }
            found.retain(|_, sum| *sum != (0, 0));
            let mut expected = expected.clone();
            expected.retain(|_, sum| *sum != (0, 0));
            prop_assert_eq!(&found, &expected);
            let sum = expected.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let total = set.total.at_snapshot;
            prop_assert_eq!((total.committed, total.resident), sum);
            let at = set.snapshot.expect("a page sequence");
            prop_assert_eq!(at.in_commit, sum.1);
            prop_assert!(at.private_pages >= at.in_commit);
            Ok(())
        })?;
    }

    #[test]
    fn blocks_are_those_of_a_list(
        steps in prop::collection::vec((0u8..14, 1u64..9, 0u64..5, 0u64..4, 0u8..3), 1..80),
        dies in prop::option::of(0usize..80),
        window in (any::<u8>(), any::<u8>()),
        is_p4 in any::<bool>(),
    ) {
        let (bytes, t0, end, pieces) = heap_story(&steps, dies, is_p4);
        let length = end - t0 + 2;
        let from = t0 + u64::from(window.0) * length / 600;
        let to = from + 1 + u64::from(window.1) * length / 256;
        for (from, to) in [(t0, end + 1), (from, to)] {
            if let Some(found) = ask(&bytes, "heap", (from, to), t0) {
                prop_assert_eq!(found.rows, expected(&pieces, from, to));
            }
        }
    }

    #[test]
    fn pool_is_that_of_a_list(
        steps in prop::collection::vec((any::<bool>(), 1u64..9, 0u64..4, 0u32..3, 0u8..3), 1..80),
        window in (any::<u8>(), any::<u8>()),
    ) {
        let (bytes, t0, end, pieces) = pool_story(&steps);
        let length = end - t0 + 2;
        let from = t0 + u64::from(window.0) * length / 600;
        let to = from + 1 + u64::from(window.1) * length / 256;
        for (from, to) in [(t0, end + 1), (from, to)] {
            let found = ask(&bytes, "pool", (from, to), t0).expect("records");
            prop_assert_eq!(found.rows, expected(&pieces, from, to));
        }
    }
}

/// The stories are not empty: each way to close a piece comes about.
#[test]
fn stories_have_every_reason() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for _ in 0..200 {
        let story = proptest::strategy::ValueTree::current(&story().new_tree(&mut runner).expect("a story"));
        met.extend(tell(&story).3.iter().filter_map(|piece| piece.closed).map(|(_, reason)| reason));
    }
    assert!(["decommit", "release", "process_end", "lost"].iter().all(|reason| met.contains(reason)), "{met:?}");
    assert!(met.iter().all(|reason| NAMES.contains(reason)));
}

/// Addresses that wrap, sizes of 2^63, a billion pages in a record, a free of everything, ids that come back: no hang, and books that
/// balance.
#[test]
fn hostile_records_are_counted_and_cost_nothing() {
    let session = Session { processors: 1, buffer_size: 0x1_0000, ..Session::windows10() };
    let (p, t0) = (Ptr::P8, session.t0);
    let mut recs = vec![Process::new(PID, "app.exe").rec(p, 3, process::START).at(t0 + 1)];
    let mut time = t0 + 1;
    let mut push = |rec: Rec| {
        time += 1;
        recs.push(rec.by(7, PID).at(time));
    };
    // Every second page, then all of them, again and again.
    for number in 0..20_000u64 {
        push(virtual_alloc(p, number * 2 * PAGE, PAGE, PID, 0x1000));
    }
    for _ in 0..20_000 {
        push(virtual_alloc(p, 0, 1 << 42, PID, 0x1000));
    }
    push(virtual_alloc(p, u64::MAX - 5, 100, PID, 0x3000));
    push(virtual_alloc(p, 1 << 63, 1 << 63, PID, 0x3000));
    push(virtual_free(p, 0, u64::MAX, PID, 0x4000));
    push(virtual_free(p, 0, u64::MAX, PID, 0x8000));
    for _ in 0..3 {
        push(virtual_alloc(p, 0, u64::MAX, PID, 0x3000));
        push(Process::new(PID, "app.exe").rec(p, 3, process::START));
    }
    push(pool::pool(p, pool::ALLOC, 1, *b"Huge", u64::MAX, 16));
    push(pool::pool(p, pool::ALLOC, 1, *b"Huge", u64::MAX, 32));
    push(pool::pool(p, pool::FREE, 1, *b"Huge", 1 << 63, 48));
    let bytes = Trace::new(session).push_all(recs).finish();
    let begun = std::time::Instant::now();
    with_file(&bytes, |trace| {
        for names in ["process", "reason,size", "tag"] {
            let mut query = AllocationQuery::default();
            query.group_by = pfnset::dimensions::Dimension::parse_list(names).expect("dimensions");
            let set = AllocationSet::answer(trace, &query).expect("records");
            assert!(set.is_balanced, "{names}");
            if names == "tag" {
                // No block has as many bytes: such records are left out and told.
                assert_eq!(set.total.at_end().bytes, 0);
            }
        }
    });
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
