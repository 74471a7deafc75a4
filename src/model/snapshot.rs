//! Snapshots: which page records form a page sequence, and reading these records from the file.
//!
//! One thread logs one record for each physical page, in ascending order of PFNs, and may move between processors while it
//! does. So a snapshot is a list of runs in several buffers. In time order, a smaller PFN begins the next snapshot.

use crate::etl::EtlFile;
use crate::etl::event_area::EventArea;
use crate::etl::record_id::HookId;
use crate::event::hooks::PAGE_IN_MEMORY_24H2;
use crate::event::page_identity::PageIdentity;
use crate::load::page_run::PageRun;
use crate::moment::Moment;
use crate::units::{FileOffset, PointerSize, Ticks};

/// Largest number of pages in a batch.
pub(crate) const BATCH: usize = 256;

/// Largest number of records that are found before they are read. The processor loads them ahead only while nothing else is
/// done, so a batch at a time would wait for memory at the start of each batch.
const FOUND_AHEAD: usize = 8 * BATCH;

/// The first build of Windows that marks pages as cold: version 1903.
pub(crate) const FIRST_BUILD_WITH_COLD: u32 = 18_362;

/// The event version of Windows 11 22H2 and later.
const VERSION_OF_22H2: u8 = 4;

/// One sequence of page records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// When the first page was logged, which is the time of the snapshot.
    pub first: Moment,
    /// When the last page was logged.
    pub last_time: Ticks,
    /// Pages.
    pub pages: u64,
    /// Lowest and highest PFN.
    pub pfns: (u64, u64),
    /// Pages with the same PFN as the page before.
    pub duplicates: u64,
    /// Number of PFNs between the lowest and the highest without a record.
    pub missing_pfns: u64,
    /// Number of gaps that these PFNs form.
    pub gaps: u64,
    /// Event version.
    pub version: u8,
    /// Pointer size.
    pub pointer: PointerSize,
    /// The runs in PFN order.
    pub runs: Vec<PageRun>,
}

/// Cuts the runs of a trace, in order of time, into snapshots.
///
/// A trace can contain sequences of both page events. Two sequences of the same time describe the same pages; then only the
/// one of the newer event is used, because its records have more fields.
pub(crate) fn snapshots(runs: &[PageRun]) -> Vec<Snapshot> {
    let of = |newer: bool| runs.iter().copied().filter(move |run| (run.hook == PAGE_IN_MEMORY_24H2) == newer);
    let newer = sequences(of(true));
    let mut all = sequences(of(false));
    if !newer.is_empty() {
        // Both are in order of time, so it is enough to check the first one that ends later.
        all.retain(|old| {
            let next = newer.partition_point(|new| new.last_time < old.first.time);
            newer.get(next).is_none_or(|new| new.first.time > old.last_time)
        });
    }
    all.extend(newer);
    all.sort_by_key(|snapshot| snapshot.first);
    all
}

fn sequences(runs: impl Iterator<Item = PageRun>) -> Vec<Snapshot> {
    let mut all: Vec<Snapshot> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(snapshot) if run.first_pfn >= snapshot.pfns.1 => {
                if run.first_pfn == snapshot.pfns.1 {
                    snapshot.duplicates += 1;
                } else if run.first_pfn - snapshot.pfns.1 > 1 {
                    snapshot.gaps += 1;
                    snapshot.missing_pfns += run.first_pfn - snapshot.pfns.1 - 1;
                }
                snapshot.pages += u64::from(run.pages);
                snapshot.pfns.1 = run.last_pfn();
                snapshot.last_time = snapshot.last_time.max(run.last_time);
                snapshot.runs.push(run);
            }
            _ => all.push(Snapshot {
                first: run.first,
                last_time: run.last_time,
                pages: u64::from(run.pages),
                pfns: (run.first_pfn, run.last_pfn()),
                duplicates: 0,
                missing_pfns: 0,
                gaps: 0,
                version: run.version,
                pointer: run.pointer,
                runs: vec![run],
            }),
        }
    }
    all
}

/// Numbers of the snapshots that are complete: no other snapshot of the trace is larger by more than a tenth. The others
/// are fragments; their remaining records were damaged or lost.
pub(crate) fn whole(snapshots: &[Snapshot]) -> impl DoubleEndedIterator<Item = usize> {
    let most = snapshots.iter().map(|snapshot| snapshot.pages).max().unwrap_or(0);
    let is_whole = move |snapshot: &Snapshot| u128::from(snapshot.pages) * 10 >= u128::from(most) * 9;
    snapshots.iter().enumerate().filter(move |(_, snapshot)| is_whole(snapshot)).map(|(index, _)| index)
}

/// A page record and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRecord {
    /// Content.
    pub page: PageIdentity,
    /// Which of the two page events.
    pub hook: HookId,
    /// Event version.
    pub version: u8,
    /// When it was logged.
    pub time: Ticks,
    /// Buffer in file order.
    pub buffer: u32,
    /// Offset in the buffer's event area, decompressed.
    pub area_offset: u32,
    /// Offset in the file; `None` in a compressed buffer.
    pub file_offset: Option<FileOffset>,
}

/// Buffers that are read in the order of the file, so that the system reads ahead.
const BUFFERS_TOGETHER: usize = 256;

impl Snapshot {
    /// The records of a page frame: one, unless the sequence repeats its PFN.
    pub(crate) fn records_of(&self, etl: &EtlFile, pfn: u64) -> Vec<PageRecord> {
        let mut scratch = Vec::new();
        let runs = self.runs.iter().filter(|run| (run.first_pfn..=run.last_pfn()).contains(&pfn));
        let record = |run: &PageRun| {
            let area = etl.area(run.buffer as usize, &mut scratch);
            let records = area.records().at_offset(run.start);
            let of_sequence = records.filter_map(|record| Some((run.page_of(&record)?, record)));
            let (page, record) = of_sequence.take(run.pages as usize).find(|(page, _)| page.pfn == pfn)?;
            let area_offset = record.position.offset;
            Some(PageRecord {
                page,
                hook: run.hook,
                version: record.kernel_version(),
                time: area.time_of(&record).unwrap_or(run.first.time),
                buffer: run.buffer,
                area_offset,
                file_offset: (!area.buffer.is_compressed()).then(|| area.file_offset(area_offset as usize)),
            })
        };
        runs.filter_map(record).collect()
    }

    /// Visits some of the pages, for a share that need not be exact: all of few, else the first ones of runs all over the sequence. True
    /// where they are all.
    pub(crate) fn look_at_some(
        &self,
        etl: &EtlFile,
        (runs, in_run): (usize, u32),
        mut visit: impl FnMut(&[PageIdentity]),
    ) -> bool {
        let is_all = self.pages <= runs as u64 * u64::from(in_run);
        let step = if is_all { 1 } else { self.runs.len().div_ceil(runs.max(1)).max(1) };
        let mut chosen: Vec<&PageRun> = self.runs.iter().step_by(step).collect();
        // By buffer, so that a compressed one is decompressed once, however many runs it has.
        chosen.sort_by_key(|run| (run.buffer, run.start));
        let mut scratch = Vec::new();
        for together in chosen.chunk_by(|one, next| one.buffer == next.buffer) {
            let Some(first) = together.first() else { continue };
            let area = etl.area(first.buffer as usize, &mut scratch);
            for run in together {
                let pages = if is_all { run.pages } else { run.pages.min(in_run) };
                batches_of(&area, &PageRun { pages, ..**run }, &mut visit);
            }
        }
        is_all
    }

    /// True when the bit *non-tradeable* of its records says something: those of the older event leave it clear.
    pub(crate) fn tells_non_tradeable(&self) -> bool {
        self.runs.first().is_some_and(|run| run.hook == PAGE_IN_MEMORY_24H2)
    }

    /// True when the bit *cold* of its records says something, in a trace of this build of Windows (0: unknown, and nothing speaks against it).
    pub(crate) fn tells_cold(&self, build: u32) -> bool {
        let is_newer = self.tells_non_tradeable() || self.version >= VERSION_OF_22H2;
        is_newer || build == 0 || build >= FIRST_BUILD_WITH_COLD
    }

    /// The moment after the last page.
    pub fn end(&self) -> Moment {
        Moment::end_of(self.last_time)
    }

    /// Visits all pages in parallel, in batches of up to [`BATCH`], with one accumulator for each thread. The caller must
    /// merge the accumulators by a commutative operation.
    ///
    /// Batches are faster, because pages are joined with tables that do not fit into the cache: the cache misses of many
    /// consecutive look-ups overlap, those of single look-ups between other work do not.
    pub fn fold<A: Send>(
        &self,
        etl: &EtlFile,
        empty: impl Fn() -> A + Sync,
        visit: impl Fn(&mut A, &[PageIdentity]) + Sync,
    ) -> Vec<A> {
        // Runs by buffer, so that a compressed buffer is decompressed once.
        let mut order: Vec<&PageRun> = self.runs.iter().collect();
        order.sort_by_key(|run| (run.buffer, run.start));
        let forward: Vec<&[&PageRun]> = order.chunk_by(|a, b| a.buffer == b.buffer).collect();
        // From the end: of a file larger than the memory, what was read last before is still there.
        let groups: Vec<&[&PageRun]> = forward.rchunks(BUFFERS_TOGETHER).flatten().copied().collect();
        let buffers: Vec<u32> = groups.iter().filter_map(|group| Some(group.first()?.buffer)).collect();
        etl.fold_some(&buffers, empty, |accumulator, at, area| {
            for run in groups.get(at).copied().unwrap_or_default() {
                batches_of(area, run, |pages| visit(accumulator, pages));
            }
        })
    }
}

/// The pages of one run, whose buffer `area` is, in batches of up to [`BATCH`].
#[inline(always)]
pub(crate) fn batches_of(area: &EventArea<'_>, run: &PageRun, mut visit: impl FnMut(&[PageIdentity])) {
    let mut batch = [PageIdentity::default(); BATCH];
    let mut left = run.pages;
    let mut records = area.records().at_offset(run.start);
    while left > 0 {
        let Some(first) = records.next() else { return };
        let Some(page) = run.page_of(&first) else { continue };
        left -= 1;
        batch[0] = page;
        // Nearly all records that follow are of the same kind and size, so their payloads have the same offset.
        let payload = first.hook().and_then(|_| first.kernel_payload()).unwrap_or_default();
        let (payload_at, pointer) = (first.bytes.len() - payload.len(), first.header.pointer());
        let mut filled = 1;
        loop {
            let most = if payload.is_empty() { 0 } else { FOUND_AHEAD.min(left as usize) };
            let alike = records.alike(&first, most);
            left -= alike.len() as u32;
            let mut payloads = alike.parts(payload_at);
            let mut unread = alike.len();
            while filled + unread > 0 {
                let slots = batch.iter_mut().skip(filled);
                for (slot, payload) in slots.zip(&mut payloads) {
                    *slot = PageIdentity::read(payload, pointer).unwrap_or_default(); // has the length of the first one
                }
                let read = unread.min(BATCH - filled);
                visit(batch.get(..filled + read).unwrap_or_default());
                (filled, unread) = (0, unread - read);
            }
            if alike.is_empty() {
                break;
            }
        }
    }
}

/// The pages of one run, one by one.
#[inline(always)]
pub(crate) fn pages_of(area: &EventArea<'_>, run: &PageRun, mut visit: impl FnMut(PageIdentity)) {
    batches_of(area, run, |pages| pages.iter().copied().for_each(&mut visit));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(time: i64, first_pfn: u64, pages: u32) -> PageRun {
        PageRun {
            first: Moment { time: Ticks(time), order: 0 },
            last_time: Ticks(time),
            buffer: 0,
            start: 0,
            hook: crate::event::hooks::PAGE_IN_MEMORY,
            version: 2,
            pointer: PointerSize::P8,
            pages,
            first_pfn,
        }
    }

    #[test]
    fn a_pfn_that_falls_back_begins_a_snapshot() {
        let all = snapshots(&[run(1, 1, 10), run(2, 15, 5), run(3, 1, 3), run(4, 4, 1)]);
        let facts: Vec<_> = all.iter().map(|s| (s.pages, s.pfns, s.missing_pfns, s.gaps)).collect();
        assert_eq!(facts, [(15, (1, 19), 4, 1), (4, (1, 4), 0, 0)]);
    }

    #[test]
    fn sequences_of_both_page_events_at_one_time_are_one() {
        let newer = |time, first_pfn| PageRun { hook: PAGE_IN_MEMORY_24H2, ..run(time, first_pfn, 10) };
        let times = |runs: &[PageRun]| snapshots(runs).iter().map(|s| (s.first.time.0, s.pages)).collect::<Vec<_>>();
        assert_eq!(times(&[run(1, 1, 10), newer(2, 1), run(3, 11, 10), newer(4, 11)]), [(2, 20)]);
        // Sequences one after the other are two snapshots.
        assert_eq!(times(&[run(1, 1, 10), run(2, 11, 10), newer(3, 1), newer(4, 11)]), [(1, 20), (3, 20)]);
    }

    #[test]
    fn a_sequence_that_is_much_smaller_than_another_is_a_fragment() {
        let all = snapshots(&[run(1, 1, 90), run(2, 1, 100), run(3, 1, 89), run(4, 1, 1)]);
        assert_eq!(whole(&all).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(whole(&all[3..]).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn flags_that_older_windows_leaves_clear_are_not_told() {
        let older = snapshots(&[run(1, 1, 10)]);
        let newer = snapshots(&[PageRun { hook: PAGE_IN_MEMORY_24H2, ..run(1, 1, 10) }]);
        let version_4 = snapshots(&[PageRun { version: 4, ..run(1, 1, 10) }]);
        assert_eq!([&older, &version_4, &newer].map(|all| all[0].tells_non_tradeable()), [false, false, true]);
        let builds = [0, 7601, 17_763, 18_362, 26_100];
        assert_eq!(builds.map(|build| older[0].tells_cold(build)), [true, false, false, true, true]);
        assert!(builds.iter().all(|build| newer[0].tells_cold(*build) && version_4[0].tells_cold(*build)));
    }

    #[test]
    fn the_same_pfn_twice_is_a_duplicate() {
        let all = snapshots(&[run(1, 1, 10), run(2, 10, 5)]);
        assert_eq!((all.len(), all[0].duplicates, all[0].pages), (1, 1, 15));
    }
}
