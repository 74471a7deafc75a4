//! Merged order: all records by time, then by position in the file, without loading the whole trace.
//!
//! Buffers lie in the file in the order in which they were flushed, so a buffer can begin seconds before the end of an
//! earlier one. A first parallel pass finds each buffer's time span; then the merge opens a buffer at its first stamp
//! and closes it after its last, so about one buffer for each processor is in memory. Buffers whose
//! records are not in time order (none known) are sorted inside, and counted.

use crate::etl::area::Area;
use crate::etl::buffer::Buffer;
use crate::etl::file::{EtlFile, Scratch};
use crate::etl::logfile::{LogFileHeader, MODE_CIRCULAR};
use crate::etl::record::{Position, RawRecord};
use crate::units::Ticks;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Bytes that open buffers may take in addition to the size of the file. Only a malicious file has so many buffers that
/// overlap; records that do not fit are delivered late and counted.
const OPEN_BYTES_LIMIT: usize = 256 << 20;

/// Bytes above which the memory of a closed buffer is freed instead of reused.
const IDLE_BYTES_LIMIT: usize = 64 << 20;

/// Time span and number of one buffer's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Earliest stamp.
    pub first: Ticks,
    /// Latest stamp.
    pub last: Ticks,
    /// Number of records.
    pub records: u32,
    /// False when a stamp is smaller than the one before it.
    pub sorted: bool,
}

/// Time spans of all buffers, and their rank, which orders records of equal time.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Time span of each buffer in file order; `None` for buffers without records.
    pub spans: Vec<Option<Span>>,
    /// Rank of each buffer: its index in the file, or, when sequence numbers do not ascend per processor (a circular
    /// file that wrapped, a shuffled one), its place by sequence number.
    rank: Vec<u32>,
    /// True when the rank is by sequence number.
    pub reordered: bool,
    /// Buffers with records out of time order.
    pub unsorted_buffers: u32,
}

impl Schedule {
    /// Reads all buffers in parallel.
    pub fn new(etl: &EtlFile) -> Schedule {
        let spans = etl.map_buffers(|area| span(area, etl.before_first()));
        let unsorted_buffers = spans.iter().flatten().filter(|s| !s.sorted).count() as u32;
        let (rank, reordered) = ranks(&etl.buffers);
        Schedule { spans, rank, reordered, unsorted_buffers }
    }

    /// Rank of a buffer, which orders records of equal time.
    pub fn rank(&self, buffer: u32) -> u32 {
        self.rank.get(buffer as usize).copied().unwrap_or(buffer)
    }

    /// The records of `etl` in merged order.
    pub fn merge<'e>(&'e self, etl: &'e EtlFile) -> Merged<'e> {
        let mut waiting: Vec<(Ticks, u32, u32)> = (self.spans.iter().zip(0u32..))
            .filter_map(|(span, i)| span.map(|span| (span.first, self.rank(i), i)))
            .collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a)); // descending: the next buffer to open is at the end
        Merged {
            etl,
            schedule: self,
            waiting,
            open: Vec::new(),
            free: Vec::new(),
            heap: BinaryHeap::new(),
            current: None,
            held_bytes: 0,
            limit_bytes: OPEN_BYTES_LIMIT.saturating_add(usize::try_from(etl.size_bytes()).unwrap_or(usize::MAX)),
            latest: Ticks(i64::MIN),
            late: 0,
        }
    }
}

/// Rank of each buffer among records of equal time, and whether it differs from the order in the file.
///
/// The rank is the buffer's index in the file, or, when sequence numbers do not ascend per processor (a circular file
/// that wrapped, a shuffled one), its place by sequence number.
pub fn ranks(buffers: &[Buffer]) -> (Vec<u32>, bool) {
    let mut latest = HashMap::new();
    let ascending =
        buffers.iter().skip(1).all(|b| latest.insert(b.processor, b.sequence).is_none_or(|l| l < b.sequence));
    let mut rank: Vec<u32> = (0..buffers.len() as u32).collect();
    if !ascending {
        let mut order = rank.clone();
        let sequence = |i: u32| buffers.get(i as usize).map_or(0, |b| b.sequence);
        order.sort_by_key(|&i| (i != 0, sequence(i), i)); // the header buffer stays first
        for (place, &buffer) in (0u32..).zip(&order) {
            if let Some(slot) = rank.get_mut(buffer as usize) {
                *slot = place;
            }
        }
    }
    (rank, !ascending)
}

/// Index of the oldest data buffer of a circular file that wrapped, by the log-file header alone; `None` for any other.
///
/// With N buffers in the file, the first S of which are never overwritten, and W ever written, it is
/// S + (W − S) mod (N − S). No wrapped file is public, so nothing depends on this: see [`is_circular_order`].
pub fn circular_start(header: &LogFileHeader, buffers: usize) -> Option<usize> {
    let (kept, written) = (usize::try_from(header.start_buffers).ok()?, usize::try_from(header.buffers_written).ok()?);
    let overwritten = buffers.checked_sub(kept).filter(|ring| *ring > 0)?;
    let wrapped = header.mode & MODE_CIRCULAR != 0 && written > buffers;
    wrapped.then(|| kept + (written - kept) % overwritten)
}

/// True when the sequence numbers of each processor ascend from the buffer at `start` to the end of the file and then
/// from the buffer after the first `kept` ones: true if the writer would have overwritten `start` next.
pub fn is_circular_order(buffers: &[Buffer], kept: usize, start: usize) -> bool {
    let mut latest = HashMap::new();
    let ring = buffers.iter().skip(start).chain(buffers.iter().take(start).skip(kept));
    ring.fold(true, |ascending, b| ascending & latest.insert(b.processor, b.sequence).is_none_or(|l| l < b.sequence))
}

fn span(area: &Area<'_>, before_first: Ticks) -> Option<Span> {
    let mut span: Option<Span> = None;
    let mut previous = Ticks(i64::MIN);
    area.for_each_timed(before_first, |_, time| {
        let s = span.get_or_insert(Span { first: time, last: time, records: 0, sorted: true });
        s.first = s.first.min(time);
        s.last = s.last.max(time);
        s.records += 1;
        s.sorted &= previous <= time;
        previous = time;
    });
    span
}

/// An open buffer of the merge.
#[derive(Debug, Default)]
struct OpenBuffer {
    index: u32,
    rank: u32,
    scratch: Scratch,
    /// Offset of the next record.
    next: u32,
    /// Time of the record before `next`, for records without their own.
    time: Ticks,
    /// Stamps and offsets in descending order, for buffers that are not sorted; the next record is at the end.
    sorted: Option<Vec<(Ticks, u32)>>,
}

impl OpenBuffer {
    fn held_bytes(&self) -> usize {
        let stamps = self.sorted.as_ref().map_or(0, |sorted| sorted.capacity() * size_of::<(Ticks, u32)>());
        self.scratch.capacity() + stamps
    }
}

/// Stamp, rank of the buffer, offset of the record, slot of the open buffer.
type Head = Reverse<(Ticks, u32, u32, usize)>;

/// The records of a trace in merged order. Not an `Iterator`, because a record borrows its buffer, which the next call may
/// close.
#[derive(Debug)]
pub struct Merged<'e> {
    etl: &'e EtlFile,
    schedule: &'e Schedule,
    waiting: Vec<(Ticks, u32, u32)>,
    open: Vec<OpenBuffer>,
    free: Vec<usize>,
    heap: BinaryHeap<Head>,
    /// Slot whose record was returned last; it is not in the heap.
    current: Option<usize>,
    /// Memory of all slots, open or not.
    held_bytes: usize,
    limit_bytes: usize,
    latest: Ticks,
    late: u64,
}

impl<'e> Merged<'e> {
    /// Records that were delivered after a later one because too many buffers overlapped.
    pub fn late_records(&self) -> u64 {
        self.late
    }

    /// The next record, its time and the processor of its buffer.
    pub fn next_record(&mut self) -> Option<(RawRecord<'_>, Ticks, u16)> {
        let slot = self.advance()?;
        let etl = self.etl;
        let open = self.open.get(slot)?;
        let buffer = etl.buffers.get(open.index as usize)?;
        let at = match &open.sorted {
            Some(sorted) => sorted.last()?.1,
            None => open.next,
        };
        let area = etl.area_over(open.index, &open.scratch);
        let record = area.records().at_offset(at).next()?;
        Some((record, open.time, buffer.processor))
    }

    /// Moves to the next record and returns the slot of its buffer, whose `next` (or `sorted`) then refers to it.
    fn advance(&mut self) -> Option<usize> {
        if let Some(slot) = self.current.take() {
            match self.step(slot) {
                Some(head) => self.heap.push(head),
                None => self.close(slot),
            }
        }
        loop {
            let next_time = self.heap.peek().map(|Reverse((time, rank, ..))| (*time, *rank));
            let due = self.waiting.last().is_some_and(|w| next_time.is_none_or(|n| (w.0, w.1) < n));
            if !due || (next_time.is_some() && self.held_bytes > self.limit_bytes) {
                break;
            }
            let (.., index) = self.waiting.pop()?;
            self.open(index);
        }
        let Reverse((time, _, _, slot)) = self.heap.pop()?;
        if time < self.latest {
            self.late += 1;
        }
        self.latest = self.latest.max(time);
        self.current = Some(slot);
        Some(slot)
    }

    fn open(&mut self, index: u32) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.open.push(OpenBuffer::default());
            self.open.len() - 1
        });
        let before_first = self.etl.before_first();
        let unsorted = self.schedule.spans.get(index as usize).copied().flatten().is_some_and(|s| !s.sorted);
        let Some(open) = self.open.get_mut(slot) else { return };
        (open.index, open.rank, open.next, open.time) = (index, self.schedule.rank(index), 0, before_first);
        self.held_bytes = self.held_bytes.saturating_sub(open.held_bytes());
        let area = self.etl.area(index as usize, &mut open.scratch);
        open.sorted = unsorted.then(|| {
            let mut stamps = Vec::new();
            area.for_each_timed(before_first, |record, time| stamps.push((time, record.position.offset)));
            stamps.sort_unstable_by(|a, b| b.cmp(a));
            stamps
        });
        let first = match open.sorted.as_ref().and_then(|s| s.last()) {
            Some(&first) => Some(first),
            None => (area.records().next())
                .map(|record| (area.time_of(&record).unwrap_or(before_first), record.position.offset)),
        };
        // A damaged compressed buffer can announce a large size; that memory must not be kept.
        let written = open.scratch.len();
        if open.scratch.capacity() / 2 > written {
            open.scratch.shrink_to(written);
        }
        self.held_bytes += open.held_bytes();
        match first {
            Some((time, offset)) => {
                open.time = time;
                self.heap.push(Reverse((time, open.rank, offset, slot)));
            }
            None => self.close(slot),
        }
    }

    /// The heap entry of the record after the current one of `slot`.
    fn step(&mut self, slot: usize) -> Option<Head> {
        let etl = self.etl;
        let open = self.open.get_mut(slot)?;
        if let Some(sorted) = &mut open.sorted {
            sorted.pop();
            let &(time, offset) = sorted.last()?;
            open.time = time;
            return Some(Reverse((time, open.rank, offset, slot)));
        }
        let area = etl.area_over(open.index, &open.scratch);
        let mut records = area.records().at_offset(open.next);
        records.next();
        let Position { offset, .. } = {
            let record = records.next()?;
            open.time = area.time_of(&record).unwrap_or(open.time);
            record.position
        };
        open.next = offset;
        Some(Reverse((open.time, open.rank, offset, slot)))
    }

    fn close(&mut self, slot: usize) {
        if let Some(open) = self.open.get_mut(slot) {
            let before = open.held_bytes();
            open.sorted = None;
            if self.held_bytes > IDLE_BYTES_LIMIT {
                open.scratch = Scratch::new();
            }
            self.held_bytes = self.held_bytes.saturating_sub(before - open.held_bytes());
        }
        self.free.push(slot);
    }
}
