//! The page sequences of a trace, and what is wrong with them.

use crate::etl::clock::Clock;
use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::load::history::PageRuns;
use crate::load::page_run::PageRun;
use crate::model::snapshot::{Snapshot, snapshots, whole};
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{Nanos, count, counted};

/// Time between records of one sequence, at most. Between two sequences the kernel walks over its names and ranges.
const AT_ONCE: Nanos = Nanos(10_000_000);

/// Pages that a snapshot may have fewer than another one: single page frames are retired when they are found to be broken, and so few
/// change no table. Memory that is added to a machine, or taken from it, comes in blocks of many MiB.
const fn slack(pages: u64) -> u64 {
    if pages / 1024 > 16 { pages / 1024 } else { 16 }
}

/// The page sequences of a trace.
#[derive(Debug, Clone, Default)]
pub struct PageSequences {
    /// The snapshots in order of time.
    pub snapshots: Vec<Snapshot>,
    /// Page records that were left out, because the newer page event says the same and more.
    pub repeated: u64,
    /// Page records that were left out, because their PFN is impossible.
    pub impossible: u64,
    /// Number of the snapshot with most page frames, the first of them.
    largest: usize,
}

/// Page frames of a snapshot.
const fn frames(snapshot: &Snapshot) -> u64 {
    snapshot.pages.saturating_sub(snapshot.duplicates)
}

impl PageSequences {
    /// The sequences of these runs, which come in order of time.
    pub(super) fn new(records: &PageRuns) -> PageSequences {
        let (runs, impossible) = (&records.runs, records.impossible);
        let snapshots = snapshots(runs);
        let pages = |runs: &[PageRun]| runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        let repeated = pages(runs) - snapshots.iter().map(|snapshot| pages(&snapshot.runs)).sum::<u64>();
        let by_frames = snapshots.iter().enumerate().rev().max_by_key(|(_, snapshot)| frames(snapshot));
        let largest = by_frames.map_or(0, |(index, _)| index);
        PageSequences { snapshots, repeated, impossible, largest }
    }

    /// That a snapshot lacks pages that another one of the trace has. RAM does not shrink, so the larger one is believed.
    pub(crate) fn fewer(&self, snapshot: &Snapshot) -> Option<Warning> {
        let all = frames(self.snapshots.get(self.largest)?);
        let lacking = all.saturating_sub(frames(snapshot));
        let index = self.snapshots.partition_point(|other| other.first < snapshot.first);
        (lacking > slack(all)).then(|| {
            let text = format!(
                "snapshot {index} has {} fewer than snapshot {}: unless memory was added to the machine or taken from it between them, \
                 page records are missing",
                counted(lacking, "page", "pages"),
                self.largest
            );
            Warning::grave(RESIDENT_SET.name, "sequence_too_few", text).of(lacking)
        })
    }

    /// Lines on records that cannot be pages, and on sequences of which only a part is there.
    pub fn warnings(&self, clock: &Clock) -> Warnings {
        let of = RESIDENT_SET.name;
        let pages = counted(
            self.impossible,
            "page record is left out: it names a PFN",
            "page records are left out: they name PFNs",
        );
        let left_out = (self.impossible > 0)
            .then(|| Warning::grave(of, "pfns_impossible", format!("{pages} that no machine has")).of(self.impossible));
        let fragments = self.fragments(clock).map(|text| Warning::note(of, "sequence_fragments", text));
        let broken = self.broken(clock).next().map(|first| {
            let text = format!(
                "snapshot {} goes on where snapshot {first} ends, as if one page sequence had been broken in two: neither is whole",
                first + 1
            );
            Warning::grave(of, "sequence_broken", text)
        });
        left_out.into_iter().chain(broken).chain(fragments).collect()
    }

    /// Numbers of snapshots after which the next one goes on at once: it does not begin where RAM begins. A PFN that is wrong breaks a
    /// sequence so.
    fn broken(&self, clock: &Clock) -> impl Iterator<Item = usize> {
        let goes_on = move |(a, b): (&Snapshot, &Snapshot)| {
            let between = clock.nanos(b.first.time).0.saturating_sub(clock.nanos(a.last_time).0);
            b.pfns.0 > a.pfns.0 && between < AT_ONCE.0
        };
        let pairs = self.snapshots.iter().zip(self.snapshots.iter().skip(1)).enumerate();
        pairs.filter(move |(_, pair)| goes_on(*pair)).map(|(first, _)| first)
    }

    /// True for a snapshot that is a part of a sequence, whose other part is the one before or after it.
    pub(crate) fn is_broken(&self, snapshot: &Snapshot, clock: &Clock) -> bool {
        let parts = self.broken(clock).flat_map(|first| [first, first + 1]);
        parts.filter_map(|part| self.snapshots.get(part)).any(|part| part.first == snapshot.first)
    }

    /// A line on records that say what others say too.
    pub(crate) fn repetition(&self) -> Option<Warning> {
        (self.repeated > 0).then(|| {
            let text = format!(
                "{} page records of {PAGE_IN_MEMORY} repeat the sequence of {PAGE_IN_MEMORY_24H2} and are not counted again",
                count(self.repeated)
            );
            Warning::note(RESIDENT_SET.name, "records_repeated", text).of(self.repeated)
        })
    }

    fn fragments(&self, clock: &Clock) -> Option<String> {
        let is_whole: Vec<usize> = whole(&self.snapshots).collect();
        let (others, last) = (self.snapshots.len() - is_whole.len(), is_whole.last()?);
        let fragments = self.snapshots.iter().enumerate().filter(|(index, _)| is_whole.binary_search(index).is_err());
        let text = |(index, snapshot): (usize, &Snapshot)| {
            let time = clock.nanos(snapshot.first.time).seconds();
            format!("snapshot {index} at {time:.3} s with {}", counted(snapshot.pages, "page", "pages"))
        };
        let named: Vec<String> = fragments.take(3).map(text).collect();
        let more = if others > named.len() { format!(" and {} more", others - named.len()) } else { String::new() };
        let pages = count(self.snapshots.get(*last)?.pages);
        (others > 0).then(|| {
            format!(
                "{} of a page sequence, most of which is missing: {}{more}; the last whole one is snapshot {last} with \
                 {pages} pages (any can be chosen)",
                counted(others as u64, "fragment", "fragments"),
                named.join(", ")
            )
        })
    }
}
