//! Commit of one process, by VirtualAlloc: what each page's state is, as ranges, and the pieces that come of it.
//!
//! Source: `docs/allocations.md` ("Commit"). Ranges are page numbers. Every record costs the ranges that it ends or begins, never the
//! pages in it: regions of 256 GiB are usual, and a hostile trace has larger ones.

use super::commit_counts::{CommitCheck, CommitCounts, Source};
use super::counting::{Counting, Facts, Opening};
use super::figures::AtSnapshot;
use super::page_set::{PageCounts, PageSet};
use super::piece::Reason;
use super::piece_end::Closing;
use super::resident_pages::PagesOf;
use crate::event::virtual_memory::VirtualRange;
use crate::load::allocation_rules::Verdict;
use crate::moment::Moment;
use crate::units::{PAGE_BYTES, PointerSize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A region of a rundown, pages, with the bytes of it that are committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Pages.
    pub pages: Range<u64>,
    /// Committed bytes.
    pub commit_bytes: u64,
}

/// The pages of a range, or `None` where it goes beyond the end of the address space.
pub fn pages_of(base: u64, size_bytes: u64, pointer: PointerSize) -> Option<Range<u64>> {
    let end = u128::from(base) + u128::from(size_bytes);
    let limit = pointer.pick(1u128 << 64, 1u128 << 32);
    (end <= limit).then(|| base / PAGE_BYTES..end.div_ceil(u128::from(PAGE_BYTES)) as u64)
}

/// Bytes of a number of pages; all 2^52 pages of an address space are one byte too many for a number.
fn bytes(pages: u64) -> u64 {
    pages.saturating_mul(PAGE_BYTES)
}

/// Address of the first page.
const fn address_of(pages: &Range<u64>) -> u64 {
    pages.start.saturating_mul(PAGE_BYTES)
}

fn length(pages: &Range<u64>) -> u64 {
    pages.end.saturating_sub(pages.start)
}

/// Committed pages in a row that one record committed.
#[derive(Debug, Clone, Copy)]
struct Run {
    end: u64,
    opening: Opening,
    /// Number of the record, or of the region for what was committed before the trace.
    opened_by: u64,
}

/// Set in [`Run::opened_by`] of what was committed before the trace.
const OF_REGION: u64 = 1 << 63;

/// A region of which only the sum is known.
#[derive(Debug, Clone, Copy, Default)]
struct Summed {
    /// Pages of it whose state is not known one by one.
    pages: u64,
    /// How many of them are committed.
    committed: u64,
}

/// The pages of a process.
#[derive(Debug)]
pub struct Space {
    /// How its first state is known.
    pub source: Source,
    /// Records before this moment are not applied.
    rundown_at: Option<Moment>,
    facts: Facts,
    runs: BTreeMap<u64, Run>,
    committed: PageSet,
    /// Where the start is not known: pages of known state.
    known: Option<PageSet>,
    /// Pages of summed regions: end and number.
    summed: BTreeMap<u64, (u64, u32)>,
    regions: Vec<Summed>,
    reservations: BTreeMap<u64, u64>,
    /// Commit that only the end rundown tells, a piece for each region: its pages, bytes.
    rests: Vec<(Range<u64>, u64)>,
    /// True from the end rundown on.
    is_listed: bool,
}

impl Space {
    /// A process without any record yet.
    pub fn new(source: Source, facts: Facts) -> Space {
        let known = matches!(source, Source::EndRundown | Source::Unknown).then(PageSet::default);
        Space {
            source,
            rundown_at: None,
            facts,
            runs: BTreeMap::new(),
            committed: PageSet::default(),
            known,
            summed: BTreeMap::new(),
            regions: Vec::new(),
            reservations: BTreeMap::new(),
            rests: Vec::new(),
            is_listed: false,
        }
    }

    /// Sets the state by the start rundown. Where regions overlap, the later one counts.
    pub fn start(&mut self, at: Moment, regions: &[Region], counting: &mut Counting<'_>) {
        self.rundown_at = Some(at);
        let before = counting.before(0, &self.facts);
        for (number, region) in (0u32..).zip(regions) {
            let pages = region.pages.clone();
            self.reserve_range(pages.clone());
            self.take_summed(&pages);
            self.take_runs(&pages);
            self.committed.remove(pages.clone());
            let all = bytes(length(&pages));
            self.regions.push(Summed::default());
            if region.commit_bytes == all {
                let opened_by = OF_REGION | u64::from(number);
                self.runs.insert(pages.start, Run { end: pages.end, opening: before, opened_by });
                self.committed.insert(pages);
            } else if region.commit_bytes > 0 {
                self.summed.insert(pages.start, (pages.end, number));
            }
        }
        // Parts of a region that a later one covers are not its own.
        for (start, (end, number)) in &self.summed {
            self.regions.get_mut(*number as usize).into_iter().for_each(|region| region.pages += end - start);
        }
        for (region, listed) in self.regions.iter_mut().zip(regions) {
            region.committed = listed.commit_bytes.div_ceil(PAGE_BYTES).min(region.pages);
        }
    }

    /// A `0x0262`.
    pub fn allocate(&mut self, record: &Record, counting: &mut Counting<'_>, counts: &mut CommitCounts) {
        let is = |flag: u32| record.range.flags & flag != 0;
        let verdict = Verdict::of_range(&record.range, record.pointer);
        counts.left_out.note(verdict);
        let pages = pages_of(record.range.base, record.range.size_bytes, record.pointer);
        let Some(pages) = pages.filter(|_| verdict != Verdict::Impossible) else { return };
        if !is(VirtualRange::RESERVE | VirtualRange::COMMIT) {
            return counts.reset += 1;
        }
        if is(VirtualRange::RESERVE) {
            let is_again = self.close_range(&pages, record.closing(Reason::Lost), counting, counts);
            counts.allocated_again += u64::from(is_again);
            self.known.iter_mut().for_each(|known| _ = known.insert(pages.clone()));
            self.reserve_range(pages.clone());
        }
        if verdict == Verdict::Allocates {
            self.commit(&pages, record, counting, counts);
            if !self.is_reserved(pages.start) {
                self.reserve_range(pages);
            }
        }
    }

    /// A `0x0263`.
    pub fn free(&mut self, record: &Record, counting: &mut Counting<'_>, counts: &mut CommitCounts) {
        const COALESCE_PLACEHOLDERS: u32 = 1;
        const PRESERVE_PLACEHOLDER: u32 = 2;
        let flags = record.range.flags;
        let is = |flag: u32| flags & flag != 0;
        let pages = pages_of(record.range.base, record.range.size_bytes, record.pointer);
        let Some(pages) = pages.filter(|_| is(VirtualRange::RELEASE | VirtualRange::DECOMMIT)) else {
            counts.impossible_frees += 1;
            return counts.left_out.note(Verdict::Impossible);
        };
        if is(COALESCE_PLACEHOLDERS) {
            return;
        }
        let pages = match record.range.size_bytes {
            0 => match self.reservations.get(&pages.start) {
                Some(end) => pages.start..*end,
                None => return counts.unknown_size += 1,
            },
            _ => pages,
        };
        let is_release = is(VirtualRange::RELEASE);
        let closing = record.closing(if is_release { Reason::Release } else { Reason::Decommit });
        self.close_range(&pages, closing, counting, counts);
        let unknown = self.known.as_mut().map_or_else(Vec::new, |known| known.insert(pages.clone()));
        for gap in unknown {
            let bytes = bytes(length(&gap));
            if is_release {
                counts.unknown_release_bytes = counts.unknown_release_bytes.saturating_add(bytes);
            } else if !self.is_listed {
                counts.estimated_bytes = counts.estimated_bytes.saturating_add(bytes);
                let opening = counting.before(bytes, &self.facts);
                counting.close(opening, Some(address_of(&gap)), bytes, Some(closing));
            }
        }
        if is_release {
            self.cut_reservations(&pages);
            if is(PRESERVE_PLACEHOLDER) {
                self.reservations.insert(pages.start, pages.end);
            }
        }
    }

    fn commit(&mut self, pages: &Range<u64>, record: &Record, counting: &mut Counting<'_>, counts: &mut CommitCounts) {
        self.commit_summed(pages, counting);
        self.known.iter_mut().for_each(|known| _ = known.insert(pages.clone()));
        let gaps = self.committed.insert(pages.clone());
        let new: u64 = gaps.iter().map(length).sum();
        let again = bytes(length(pages).saturating_sub(new));
        counts.recommitted_bytes = counts.recommitted_bytes.saturating_add(again);
        if new == 0 {
            return;
        }
        let large = u32::from(record.range.flags & VirtualRange::LARGE_PAGES != 0);
        let facts = Facts { thread: record.thread, large, stack: record.stack, ..self.facts };
        let opening = counting.open(record.moment.time, bytes(new), &facts);
        for gap in gaps {
            self.runs.insert(gap.start, Run { end: gap.end, opening, opened_by: record.number });
        }
    }

    /// Pages of summed regions in a range that is committed: as many as cannot lie outside of it were committed before.
    fn commit_summed(&mut self, pages: &Range<u64>, counting: &mut Counting<'_>) {
        let taken = self.take_summed(pages);
        let mut by_region: BTreeMap<u32, u64> = BTreeMap::new();
        taken.iter().for_each(|(range, region)| *by_region.entry(*region).or_default() += length(range));
        for (number, inside) in &mut by_region {
            let Some(region) = self.regions.get_mut(*number as usize) else { continue };
            region.pages = region.pages.saturating_sub(*inside);
            let committed = region.committed.saturating_sub(region.pages);
            region.committed -= committed;
            *inside = committed;
        }
        if taken.is_empty() {
            return;
        }
        let opening = counting.before(0, &self.facts);
        for (range, region) in taken {
            let left = by_region.entry(region).or_default();
            let first = length(&range).min(*left);
            *left -= first;
            if first > 0 {
                let end = range.start + first;
                self.runs.insert(range.start, Run { end, opening, opened_by: OF_REGION | u64::from(region) });
                self.committed.insert(range.start..end);
            }
        }
    }

    /// Closes what is committed in a range; all of it is not committed after that. True where some of it surely was.
    fn close_range(
        &mut self,
        pages: &Range<u64>,
        closing: Closing,
        counting: &mut Counting<'_>,
        counts: &mut CommitCounts,
    ) -> bool {
        let runs = self.take_runs(pages);
        let was_committed = !runs.is_empty();
        close_runs(runs, Some(closing), counting);
        self.committed.remove(pages.clone());
        let mut by_region: BTreeMap<u32, u64> = BTreeMap::new();
        for (range, region) in self.take_summed(pages) {
            *by_region.entry(region).or_default() += length(&range);
        }
        for (number, inside) in by_region {
            let Some(region) = self.regions.get_mut(number as usize) else { continue };
            let freed = inside.min(region.committed);
            let is_exact = region.committed == region.pages || inside == region.pages;
            region.committed -= freed;
            region.pages = region.pages.saturating_sub(inside);
            if freed == 0 {
                continue;
            }
            if !is_exact {
                counts.estimated_bytes = counts.estimated_bytes.saturating_add(bytes(freed));
            }
            let opening = counting.before(bytes(freed), &self.facts);
            counting.close(opening, None, bytes(freed), Some(closing));
        }
        was_committed
    }

    /// Takes out the runs in a range; those that reach beyond it are cut.
    fn take_runs(&mut self, pages: &Range<u64>) -> Vec<(Range<u64>, Run)> {
        for page in [pages.start, pages.end] {
            if let Some((_, run)) = self.runs.range_mut(..page).next_back().filter(|(_, run)| run.end > page) {
                let rest = *run;
                run.end = page;
                self.runs.insert(page, rest);
            }
        }
        let mut taken = Vec::new();
        while let Some((&start, &run)) = self.runs.range(pages.clone()).next() {
            self.runs.remove(&start);
            taken.push((start..run.end, run));
        }
        taken
    }

    /// The same for pages of summed regions.
    fn take_summed(&mut self, pages: &Range<u64>) -> Vec<(Range<u64>, u32)> {
        for page in [pages.start, pages.end] {
            if let Some((_, (end, region))) =
                self.summed.range_mut(..page).next_back().filter(|(_, part)| part.0 > page)
            {
                let rest = (*end, *region);
                *end = page;
                self.summed.insert(page, rest);
            }
        }
        let mut taken = Vec::new();
        while let Some((&start, &(end, region))) = self.summed.range(pages.clone()).next() {
            self.summed.remove(&start);
            taken.push((start..end, region));
        }
        taken
    }

    fn is_reserved(&self, page: u64) -> bool {
        self.reservations.range(..=page).next_back().is_some_and(|(_, end)| *end > page)
    }

    fn reserve_range(&mut self, pages: Range<u64>) {
        self.cut_reservations(&pages);
        self.reservations.insert(pages.start, pages.end);
    }

    /// Takes a range out of the reservations; a part leaves up to two.
    fn cut_reservations(&mut self, pages: &Range<u64>) {
        for page in [pages.start, pages.end] {
            if let Some((_, end)) = self.reservations.range_mut(..page).next_back().filter(|(_, end)| **end > page) {
                let rest = std::mem::replace(end, page);
                self.reservations.insert(page, rest);
            }
        }
        while let Some((&start, _)) = self.reservations.range(pages.clone()).next() {
            self.reservations.remove(&start);
        }
    }

    /// True for records that the start rundown has in it already.
    pub fn is_before_rundown(&self, moment: Moment) -> bool {
        self.rundown_at.is_some_and(|at| moment < at)
    }

    /// All that is committed.
    fn committed_bytes(&self) -> u128 {
        let summed: u64 = self.regions.iter().map(|region| region.committed).sum();
        let rests: u128 = self.rests.iter().map(|(_, rest)| u128::from(*rest)).sum();
        (u128::from(self.committed.len()) + u128::from(summed)) * u128::from(PAGE_BYTES) + rests
    }

    /// What is committed at the end of the trace in a process that its end rundown does not list.
    pub fn unlisted_bytes(&self) -> u128 {
        if self.is_listed { 0 } else { self.committed_bytes() }
    }

    /// Compares with the end rundown, at its first record.
    pub fn end_rundown(&mut self, regions: &[Region], check: &mut CommitCheck) {
        let counts = PageCounts::new(&self.committed);
        let (mut listed, mut rundown) = (PageSet::default(), 0u128);
        for region in regions {
            rundown += u128::from(region.commit_bytes);
            listed.insert(region.pages.clone());
            if self.source == Source::EndRundown {
                let rest = region.commit_bytes.saturating_sub(bytes(counts.inside(region.pages.clone())));
                self.rests.extend((rest > 0).then(|| (region.pages.clone(), rest)));
            }
        }
        self.is_listed = true;
        let all = self.committed.len();
        let inside: u64 = listed.iter().map(|pages| counts.inside(pages)).sum();
        let page = u128::from(PAGE_BYTES);
        let computed = self.committed_bytes();
        check.processes += 1;
        check.equal += u64::from(computed == rundown);
        check.computed_bytes += computed;
        check.rundown_bytes += rundown;
        check.difference_bytes += computed.abs_diff(rundown);
        check.outside_bytes += u128::from(all - inside) * page;
    }

    /// What is committed at a page sequence, of which these pages are in RAM. Returns how many of them are in what is committed.
    pub fn at_snapshot(&self, resident: PagesOf<'_>, counting: &mut Counting<'_>) -> u64 {
        let mut found = 0;
        for (start, run) in &self.runs {
            let pages = *start..run.end;
            let part = AtSnapshot { committed: length(&pages), resident: resident.inside(&pages) };
            found += part.resident;
            counting.at_snapshot(run.opening, part);
        }
        let mut by_region: BTreeMap<u32, u64> = BTreeMap::new();
        for (start, (end, region)) in &self.summed {
            *by_region.entry(*region).or_default() += resident.inside(&(*start..*end));
        }
        for (number, inside) in by_region {
            let Some(region) = self.regions.get(number as usize).filter(|region| region.committed > 0) else {
                continue;
            };
            let part = AtSnapshot { committed: region.committed, resident: inside.min(region.committed) };
            found += part.resident;
            let opening = counting.before(0, &self.facts);
            counting.at_snapshot(opening, part);
        }
        if self.is_listed { found + self.rests_at_snapshot(resident, counting) } else { found }
    }

    /// The same for what only the end rundown tells, which can come after the page sequence.
    pub fn rests_at_snapshot(&self, resident: PagesOf<'_>, counting: &mut Counting<'_>) -> u64 {
        let unknown = self.known.as_ref().map(|known| resident.outside(known)).unwrap_or_default();
        let unknown = resident.only(&unknown);
        let mut found = 0;
        for (pages, bytes) in &self.rests {
            let committed = bytes.div_ceil(PAGE_BYTES);
            let part = AtSnapshot { committed, resident: unknown.inside(pages).min(committed) };
            found += part.resident;
            let opening = counting.before(*bytes, &self.facts);
            counting.at_snapshot(opening, part);
        }
        found
    }

    /// The process, or the trace, ends.
    pub fn end(self, closing: Option<Closing>, counting: &mut Counting<'_>) {
        let runs = self.runs.into_iter().map(|(start, run)| (start..run.end, run));
        close_runs(runs, closing, counting);
        let summed = self.regions.iter().map(|region| bytes(region.committed));
        let rests = self.rests.into_iter().map(|(_, bytes)| bytes);
        for bytes in summed.chain(rests).filter(|bytes| *bytes > 0) {
            let opening = counting.before(bytes, &self.facts);
            counting.close(opening, None, bytes, closing);
        }
    }
}

/// Closes runs in order: those that touch and that one record opened are one piece.
fn close_runs(
    runs: impl IntoIterator<Item = (Range<u64>, Run)>,
    closing: Option<Closing>,
    counting: &mut Counting<'_>,
) {
    let mut last: Option<(Range<u64>, Run)> = None;
    for (pages, run) in runs {
        match &mut last {
            Some((before, one)) if before.end == pages.start && one.opened_by == run.opened_by => {
                before.end = pages.end
            }
            _ => {
                if let Some((pages, run)) = last.replace((pages, run)) {
                    counting.close(run.opening, Some(address_of(&pages)), bytes(length(&pages)), closing);
                }
            }
        }
    }
    if let Some((pages, run)) = last {
        counting.close(run.opening, Some(address_of(&pages)), bytes(length(&pages)), closing);
    }
}

/// A record that allocates or frees.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// When it was logged.
    pub moment: Moment,
    /// Number among all records.
    pub number: u64,
    /// Its addresses.
    pub range: VirtualRange,
    /// Pointer size.
    pub pointer: PointerSize,
    /// The thread that called.
    pub thread: u32,
    /// Its stack.
    pub stack: u32,
}

impl Record {
    fn closing(&self, reason: Reason) -> Closing {
        Closing { moment: self.moment, reason }
    }
}
