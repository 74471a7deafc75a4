//! The merge of all buffers into one sequence of records in time order.
//!
//! A buffer is opened at its first stamp and closed after its last, so about one buffer for each processor is in memory.
//! Buffers whose records are not in time order (none known) are sorted inside.

use crate::etl::buffer_order::Schedule;
use crate::etl::event_area::record_at;
use crate::etl::file::{EtlFile, Scratch};
use crate::etl::record::{HeaderType, RawRecord};
use crate::etl::record_id::Position;
use crate::etl::tournament_tree::{Key, TournamentTree};
use crate::units::Ticks;

/// Bytes that open buffers may take in addition to the size of the file. Only a malicious file has so many buffers that
/// overlap; records that do not fit are delivered late and counted.
const OPEN_BYTES_LIMIT: usize = 256 << 20;

/// Bytes above which the memory of a closed buffer is freed instead of reused.
const IDLE_BYTES_LIMIT: usize = 64 << 20;

/// An open buffer and its next record.
#[derive(Debug)]
struct OpenBuffer<'e> {
    index: u32,
    rank: u32,
    processor: u16,
    /// The event area where it lies uncompressed in the file; `None` when it is in `scratch`.
    in_file: Option<&'e [u8]>,
    scratch: Scratch,
    /// Kind, offset and size of the next record.
    header: HeaderType,
    at: usize,
    size: usize,
    /// Its time, which is that of the record before it when it has none.
    time: Ticks,
    /// Stamps and offsets in descending order, for buffers that are not sorted; the next record is at the end.
    sorted: Option<Vec<(Ticks, u32)>>,
}

impl<'e> OpenBuffer<'e> {
    const CLOSED: OpenBuffer<'e> = OpenBuffer {
        index: 0,
        rank: 0,
        processor: 0,
        in_file: None,
        scratch: Scratch::new(),
        header: HeaderType::Error,
        at: 0,
        size: 0,
        time: Ticks(0),
        sorted: None,
    };

    fn held_bytes(&self) -> usize {
        let stamps = self.sorted.as_ref().map_or(0, |sorted| sorted.capacity() * size_of::<(Ticks, u32)>());
        self.scratch.capacity() + stamps
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.in_file.unwrap_or(&self.scratch)
    }

    /// The next record.
    #[inline(always)]
    fn record(&self) -> Option<RawRecord<'_>> {
        let bytes = self.bytes().get(self.at..)?.get(..self.size)?;
        Some(RawRecord { header: self.header, position: self.position(), bytes })
    }

    #[inline(always)]
    fn position(&self) -> Position {
        Position { buffer: self.index, offset: self.at as u32 }
    }

    /// Opens a buffer; false when it has no records.
    fn open(&mut self, etl: &'e EtlFile, schedule: &Schedule, index: u32) -> bool {
        let Some(buffer) = etl.buffers.get(index as usize) else { return false };
        let before_first = etl.before_first();
        let is_sorted = schedule.spans.get(index as usize).copied().flatten().is_none_or(|span| span.sorted);
        (self.index, self.rank, self.processor) = (index, schedule.rank(index), buffer.processor);
        self.in_file = (!buffer.is_compressed()).then(|| etl.area_over(index, &[]).bytes);
        (self.at, self.size, self.time) = (0, 0, before_first);
        let area = etl.area(index as usize, &mut self.scratch);
        self.sorted = (!is_sorted).then(|| {
            let mut stamps = Vec::new();
            area.for_each_timed(before_first, |record, time| stamps.push((time, record.position.offset)));
            stamps.sort_unstable_by(|a, b| b.cmp(a));
            stamps
        });
        let has_records = match &self.sorted {
            None => self.read(etl, 0),
            Some(sorted) => sorted.last().copied().is_some_and(|next| self.read_sorted(next)),
        };
        // A damaged compressed buffer can announce a large size; that memory must not be kept.
        let written = self.scratch.len();
        if self.scratch.capacity() / 2 > written {
            self.scratch.shrink_to(written);
        }
        has_records
    }

    /// Moves to the record after the current one; false when there is none.
    #[inline(always)]
    fn advance(&mut self, etl: &EtlFile) -> bool {
        let Some(sorted) = &mut self.sorted else { return self.read(etl, self.at + self.size.next_multiple_of(8)) };
        sorted.pop();
        sorted.last().copied().is_some_and(|next| self.read_sorted(next))
    }

    /// Reads the record at `at` or, where the chain is broken there, the next valid one.
    #[inline(always)]
    fn read(&mut self, etl: &EtlFile, at: usize) -> bool {
        let position = Position { buffer: self.index, offset: at as u32 };
        let Some((header, bytes)) = record_at(self.bytes(), at) else { return self.read_after_break(etl, at) };
        let record = RawRecord { header, position, bytes };
        let time = record.time().filter(|time| etl.stamps.contains(*time)).unwrap_or(self.time);
        (self.header, self.at, self.size, self.time) = (header, at, bytes.len(), time);
        true
    }

    #[cold]
    fn read_after_break(&mut self, etl: &EtlFile, at: usize) -> bool {
        let area = etl.area_over(self.index, &self.scratch);
        let next = area.records().at_offset(at as u32).next().map(|record| record.position.offset as usize);
        next.is_some_and(|next| self.read(etl, next))
    }

    #[cold]
    fn read_sorted(&mut self, (time, offset): (Ticks, u32)) -> bool {
        let read = record_at(self.bytes(), offset as usize).map(|(header, bytes)| (header, bytes.len()));
        let Some((header, size)) = read else { return false };
        (self.header, self.at, self.size, self.time) = (header, offset as usize, size, time);
        true
    }
}

impl Schedule {
    /// The records of `etl` in merged order.
    pub fn merge<'e>(&'e self, etl: &'e EtlFile) -> Merged<'e> {
        Merged::new(etl, self)
    }
}

/// The records of a trace in merged order. Not an `Iterator`, because a record borrows its buffer, which the next call may
/// close.
#[derive(Debug)]
pub struct Merged<'e> {
    etl: &'e EtlFile,
    schedule: &'e Schedule,
    /// First stamp, rank and index of the buffers that are not open yet, in descending order.
    waiting: Vec<(Ticks, u32, u32)>,
    /// Key of the last of them.
    due: Key,
    slots: Vec<OpenBuffer<'e>>,
    free: Vec<usize>,
    least: TournamentTree,
    /// Slot whose record was returned last.
    current: Option<usize>,
    /// Memory of all slots, open or not.
    held_bytes: usize,
    limit_bytes: usize,
    latest: Ticks,
    late: u64,
}

impl<'e> Merged<'e> {
    fn new(etl: &'e EtlFile, schedule: &'e Schedule) -> Merged<'e> {
        let mut waiting: Vec<(Ticks, u32, u32)> = (schedule.spans.iter().zip(0u32..))
            .filter_map(|(span, i)| span.map(|span| (span.first, schedule.rank(i), i)))
            .collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        let mut merged = Merged {
            etl,
            schedule,
            waiting,
            due: Key::NONE,
            slots: Vec::new(),
            free: Vec::new(),
            least: TournamentTree::new(),
            current: None,
            held_bytes: 0,
            limit_bytes: OPEN_BYTES_LIMIT.saturating_add(usize::try_from(etl.size_bytes()).unwrap_or(usize::MAX)),
            latest: Ticks(i64::MIN),
            late: 0,
        };
        merged.note_due();
        merged
    }

    /// Records that were delivered after a later one because too many buffers overlapped.
    pub fn late_records(&self) -> u64 {
        self.late
    }

    /// The next record, its time and the processor of its buffer.
    #[inline]
    pub fn next_record(&mut self) -> Option<(RawRecord<'_>, Ticks, u16)> {
        let mut next = match self.current.take() {
            Some(slot) => self.advance(slot),
            None => self.least.get(),
        };
        if self.due < next {
            next = self.open_due();
        }
        let open = self.slots.get(next.slot())?;
        self.current = Some(next.slot());
        self.late += u64::from(open.time < self.latest);
        self.latest = self.latest.max(open.time);
        Some((open.record()?, open.time, open.processor))
    }

    /// Moves to the next record of a slot and returns the key of the next record of all.
    #[inline(always)]
    fn advance(&mut self, slot: usize) -> Key {
        let Some(open) = self.slots.get_mut(slot) else { return self.least.get() };
        match open.advance(self.etl) {
            true => self.least.set(slot, Key::new(open.time, open.rank, slot)),
            false => self.close(slot),
        }
    }

    /// Opens the buffers that begin before the next record, and returns the key of the record that is next then.
    #[cold]
    fn open_due(&mut self) -> Key {
        while self.due < self.least.get() {
            let is_full = self.least.get() != Key::NONE && self.held_bytes > self.limit_bytes;
            let Some((.., index)) = self.waiting.pop_if(|_| !is_full) else { break };
            self.note_due();
            self.open(index);
        }
        self.least.get()
    }

    fn note_due(&mut self) {
        self.due = self.waiting.last().map_or(Key::NONE, |&(time, rank, _)| Key::new(time, rank, 0));
    }

    fn open(&mut self, index: u32) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(OpenBuffer::CLOSED);
            self.slots.len() - 1
        });
        let Some(open) = self.slots.get_mut(slot) else { return };
        let before = open.held_bytes();
        let has_records = open.open(self.etl, self.schedule, index);
        self.held_bytes = self.held_bytes.saturating_sub(before) + open.held_bytes();
        if has_records {
            self.least.set(slot, Key::new(open.time, open.rank, slot));
        } else {
            self.close(slot);
        }
    }

    #[cold]
    fn close(&mut self, slot: usize) -> Key {
        if let Some(open) = self.slots.get_mut(slot) {
            let before = open.held_bytes();
            open.sorted = None;
            if self.held_bytes > IDLE_BYTES_LIMIT {
                open.scratch = Scratch::new();
            }
            self.held_bytes = self.held_bytes.saturating_sub(before - open.held_bytes());
        }
        self.free.push(slot);
        self.least.set(slot, Key::NONE)
    }
}
