//! Counts records without decoding them: those of kinds whose validity depends on version and length alone.

use crate::etl::event_area::{EventArea, KNOWN, KnownHeads, Records};
use crate::etl::record::RawRecord;
use crate::etl::record_id::HookId;
use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::event::payload::{HEAP, heap_hook};
use crate::event::{Decoded, decode, is_judged_by_length};
use crate::load::walk::{KindRun, Run, Visitor};
use crate::units::Ticks;

/// Takes the records that can be counted without decoding them: those whose validity depends on version and length alone.
/// The first record of a kind and length is decoded; if it is valid, all with the same first 8 bytes are.
#[derive(Debug)]
pub struct CountOnly {
    /// First eight bytes of valid records, by hook: kind of header, size, hook, version and extension words.
    valid: [[u8; 8]; 256],
    /// Those of kinds that alternate record by record.
    heads: KnownHeads<Counted>,
    /// The same kinds, with their records since they were taken last.
    kinds: [Option<KindRun>; KNOWN],
    /// The buffer that was loaded last: from the first such record on. Others are mostly in long runs, which need no loading ahead.
    loaded: Option<u32>,
}

/// What the first eight bytes of a record say to whom only counts it.
#[derive(Debug, Clone, Copy)]
struct Counted {
    hook: HookId,
    kind: u8,
    time_at: u8,
    payload_at: u8,
}

/// A record that was counted, for who needs a field of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedRecord<'a> {
    /// Its hook id.
    pub hook: HookId,
    /// When it was logged.
    pub time: Ticks,
    /// What follows its header.
    pub payload: &'a [u8],
    /// Where the record lies in the area.
    pub offset: u32,
}

impl Default for CountOnly {
    fn default() -> Self {
        // No record begins with zeros.
        CountOnly { valid: [[0; 8]; 256], heads: KnownHeads::default(), kinds: [None; KNOWN], loaded: None }
    }
}

impl CountOnly {
    /// True when this record and all with the same first 8 bytes are valid.
    #[inline(always)]
    pub(crate) fn is_valid(&mut self, first: &RawRecord<'_>, hook: HookId) -> bool {
        // Hooks that are often together have places of their own.
        let place = usize::from(hook.kind() ^ hook.group() << 4);
        let (Some(head), Some(valid)) = (first.bytes.first_chunk::<8>(), self.valid.get_mut(place)) else {
            return false;
        };
        if valid != head {
            let is_valid = is_judged_by_length(hook)
                && first.read().is_ok_and(|record| matches!(decode(&record), Decoded::Event { surplus: None, .. }));
            if !is_valid {
                return false;
            }
            *valid = *head;
        }
        true
    }

    /// Notes a kind of records, so that [`Visitor::take_mixed`] takes them.
    pub(crate) fn note(&mut self, first: &RawRecord<'_>, hook: HookId) {
        let place = KnownHeads::<Counted>::place_of(hook);
        let Some(slot) = self.kinds.get_mut(place).filter(|kind| kind.is_none_or(|kind| kind.run.records == 0)) else {
            return;
        };
        let Some(payload) = first.kernel_payload() else { return };
        let (time_at, payload_at) = (first.kernel_time_at() as u8, (first.bytes.len() - payload.len()) as u8);
        let run = Run { record_bytes: first.bytes.len(), ..Run::NONE };
        *slot = Some(KindRun { header: first.header, hook, version: first.kernel_version(), run });
        self.heads.note(first, hook, Counted { hook, kind: place as u8, time_at, payload_at });
    }

    /// Takes the next records of the noted kinds, and calls `each` for each of them.
    #[inline(always)]
    pub(crate) fn take_noted<'a>(
        &mut self,
        area: &EventArea<'_>,
        rest: &mut Records<'a>,
        mut each: impl FnMut(CountedRecord<'a>),
    ) -> Option<Run> {
        let mut all: Option<Run> = None;
        while let Some((counted, bytes, offset)) = rest.next_known(&self.heads) {
            let Counted { hook, kind, time_at, payload_at } = counted;
            let time = RawRecord::time_in(bytes, usize::from(time_at));
            if !area.stamps.contains(time) {
                rest.go_back_to(offset);
                break;
            }
            if let Some(Some(KindRun { run, .. })) = self.kinds.get_mut(usize::from(kind)) {
                run.records += 1;
                (run.earliest, run.latest) = (run.earliest.min(time), run.latest.max(time));
            }
            match &mut all {
                Some(all) => all.add(time),
                None => {
                    all = Some(Run::new(time, 0));
                    if self.loaded.replace(area.index) != Some(area.index) {
                        area.load();
                    }
                }
            }
            each(CountedRecord {
                hook,
                time,
                payload: bytes.get(usize::from(payload_at)..).unwrap_or_default(),
                offset,
            });
        }
        all
    }
}

impl Visitor for CountOnly {
    #[inline(always)]
    fn take_run(
        &mut self,
        first: &RawRecord<'_>,
        hook: HookId,
        area: &EventArea<'_>,
        rest: &mut Records<'_>,
    ) -> Option<Run> {
        if !self.is_valid(first, hook) {
            return None;
        }
        let time = first.kernel_time().filter(|time| area.stamps.contains(*time))?;
        let mut run = Run::new(time, first.bytes.len());
        let time_at = first.kernel_time_at();
        // One by one, because in some traces nearly all runs have a single record.
        while let Some(next) = rest.next_alike(first) {
            let time = RawRecord::time_in(next.bytes, time_at);
            if !area.stamps.contains(time) {
                rest.go_back_to(next.position.offset);
                break;
            }
            run.add(time);
        }
        // Snapshots of pages are long runs.
        if !matches!(hook, PAGE_IN_MEMORY | PAGE_IN_MEMORY_24H2) {
            self.note(first, hook);
        }
        Some(run)
    }

    /// Blocks of heaps, of which there can be a hundred million; `allocations` reads them later.
    #[inline(always)]
    fn take_classic(&mut self, first: &RawRecord<'_>, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        const CLASS: [u8; 16] = HEAP.to_bytes_le();
        let (kind, _) = first.of_class(&CLASS)?;
        if !self.is_valid(first, heap_hook(kind)) {
            return None;
        }
        let mut run = Run::new(area.time_of(first)?, first.bytes.len());
        while let Some(next) = rest.next_alike(first) {
            match area.time_of(&next).filter(|_| next.of_class(&CLASS).is_some()) {
                Some(time) => run.add(time),
                None => {
                    rest.go_back_to(next.position.offset);
                    break;
                }
            }
        }
        Some(run)
    }

    #[inline(always)]
    fn take_mixed(&mut self, area: &EventArea<'_>, rest: &mut Records<'_>) -> Option<Run> {
        self.take_noted(area, rest, |_| {})
    }

    fn take_kinds(&mut self) -> Vec<KindRun> {
        let kinds = self.kinds.iter_mut().flatten().filter(|kind| kind.run.records > 0);
        kinds
            .map(|kind| {
                let run = Run { record_bytes: kind.run.record_bytes, ..Run::NONE };
                KindRun { run: std::mem::replace(&mut kind.run, run), ..*kind }
            })
            .collect()
    }
}
