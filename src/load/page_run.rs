//! Runs of page records: where the pages of a sequence lie in the file. The records themselves are not kept in memory.

use crate::etl::event_area::EventArea;
use crate::etl::file::{EtlFile, Scratch};
use crate::etl::record::RawRecord;
use crate::etl::record_id::HookId;
use crate::event::Payload;
use crate::event::page_identity::PageIdentity;
use crate::moment::Moment;
use crate::units::{PointerSize, Ticks};

/// Page records with consecutive PFNs in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// When the first record was logged.
    pub first: Moment,
    /// Stamp of the last record.
    pub last_time: Ticks,
    /// Buffer in file order.
    pub buffer: u32,
    /// Offset of the first record in the event area.
    pub start: u32,
    /// Which of the two page events; a trace can contain both.
    pub hook: HookId,
    /// Event version, which decides what owner keys mean.
    pub version: u8,
    /// Pointer size.
    pub pointer: PointerSize,
    /// Number of records.
    pub pages: u32,
    /// PFN of the first record; the last has `first_pfn + pages - 1`.
    pub first_pfn: u64,
}

impl PageRun {
    /// A run of one record.
    pub fn new(
        first: Moment,
        buffer: u32,
        start: u32,
        hook: HookId,
        version: u8,
        pointer: PointerSize,
        first_pfn: u64,
    ) -> PageRun {
        PageRun { first, last_time: first.time, buffer, start, hook, version, pointer, pages: 1, first_pfn }
    }

    /// True when records of this kind can belong to the run.
    #[inline(always)]
    pub fn is_like(&self, hook: HookId, version: u8, pointer: PointerSize) -> bool {
        (self.hook, self.version, self.pointer) == (hook, version, pointer)
    }

    /// True when a page with this PFN and stamp continues the run.
    #[inline(always)]
    pub fn continues(&self, pfn: u64, time: Ticks) -> bool {
        self.first_pfn.wrapping_add(u64::from(self.pages)) == pfn && self.last_time <= time
    }

    /// Adds the next pages; `time` is the stamp of the last.
    #[inline(always)]
    pub fn extend(&mut self, pages: u32, time: Ticks) {
        self.pages += pages;
        self.last_time = time;
    }

    /// PFN of the last record.
    pub fn last_pfn(&self) -> u64 {
        self.first_pfn.saturating_add(u64::from(self.pages.saturating_sub(1)))
    }

    /// Cuts the run at the stamps of other runs; a cut that is not needed does no harm.
    fn cut(&self, area: &EventArea<'_>, starts: &[Ticks], parts: &mut Vec<PageRun>) {
        let mut part: Option<PageRun> = None;
        let (mut left, mut time) = (self.pages, self.first.time);
        for record in area.records().at_offset(self.start) {
            if left == 0 {
                break;
            }
            let Some(page) = self.page_of(&record) else { continue };
            time = area.time_of(&record).unwrap_or(time);
            left -= 1;
            match &mut part {
                Some(part)
                    if starts.get(starts.partition_point(|&at| at < part.last_time)).is_none_or(|&at| at > time) =>
                {
                    part.extend(1, time);
                }
                _ => {
                    let offset = u64::from(record.position.offset.saturating_sub(self.start));
                    let first = Moment { time, order: self.first.order.saturating_add(offset) };
                    let start = record.position.offset;
                    parts.extend(part.replace(PageRun {
                        first,
                        last_time: time,
                        start,
                        pages: 1,
                        first_pfn: page.pfn,
                        ..*self
                    }));
                }
            }
        }
        parts.extend(part);
    }

    /// The page of a record in the run's buffer, if the record is of the run's kind.
    #[inline(always)]
    pub fn page_of(&self, record: &RawRecord<'_>) -> Option<PageIdentity> {
        match record.hook() {
            Some(hook) if hook == self.hook => PageIdentity::read(record.kernel_payload()?, record.header.pointer()),
            Some(_) => None,
            None => self.classic_page_of(record),
        }
    }

    /// The page of a record that is logged under its class GUID. No known recorder does that.
    #[cold]
    fn classic_page_of(&self, record: &RawRecord<'_>) -> Option<PageIdentity> {
        let record = record.read().ok()?;
        let payload = Payload::of(&record).filter(|payload| payload.hook == self.hook)?;
        PageIdentity::read(payload.bytes, payload.pointer)
    }
}

/// Cuts runs at the beginning of other runs, and sorts them by time.
///
/// The thread that logs a sequence moves between processors. When a later sequence comes to a processor just where an
/// earlier one left it, the PFNs in that processor's buffer continue without a break: one run that belongs to two
/// sequences. The records between the two parts are in another buffer, and their stamps show where to cut.
pub(crate) fn cut_and_sort(runs: &mut Vec<PageRun>, etl: &EtlFile) {
    // Records of equal time on two processors can only be in the order of their PFNs.
    let by_time = |run: &PageRun| (run.first.time, run.first_pfn, run.first.order);
    runs.sort_unstable_by_key(by_time);
    let starts: Vec<Ticks> = runs.iter().map(|run| run.first.time).collect();
    let is_broken = |(run, next): (&PageRun, &Ticks)| *next < run.last_time;
    if !runs.iter().zip(starts.iter().skip(1)).any(is_broken) {
        return;
    }
    let mut scratch = Scratch::new();
    let mut cut = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate() {
        if starts.get(at + 1).is_some_and(|next| is_broken((run, next))) {
            let area = etl.area(run.buffer as usize, &mut scratch);
            run.cut(&area, &starts, &mut cut);
        } else {
            cut.push(*run);
        }
    }
    cut.sort_unstable_by_key(by_time);
    *runs = cut;
}
