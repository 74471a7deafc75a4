//! Merged order: all records by time, then by position in the file, without loading the whole trace.
//!
//! Buffers lie in the file in the order in which they were flushed, so a buffer can begin seconds before the end of an
//! earlier one. A first parallel pass finds each buffer's time span; with the spans, `merge` knows when to open a buffer.

use crate::etl::buffer::Buffer;
use crate::etl::event_area::EventArea;
use crate::etl::file::EtlFile;
use crate::etl::logfile::{LogFileHeader, MODE_CIRCULAR};
use crate::units::Ticks;
use std::collections::HashMap;

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
}

/// Rank of each buffer among records of equal time, and whether it differs from the order in the file.
///
/// The rank is the buffer's index in the file, or, when sequence numbers do not ascend per processor (a circular file
/// that wrapped, a shuffled one), its place by sequence number.
pub fn ranks(buffers: &[Buffer]) -> (Vec<u32>, bool) {
    let mut latest = HashMap::new();
    let ascending =
        buffers.iter().skip(1).all(|b| latest.insert((b.file, b.processor), b.sequence).is_none_or(|l| l < b.sequence));
    let mut rank: Vec<u32> = (0..buffers.len() as u32).collect();
    if !ascending {
        let mut order = rank.clone();
        let place = |i: u32| buffers.get(i as usize).map_or((0, 0), |b| (b.file, b.sequence));
        order.sort_by_key(|&i| (i != 0, place(i), i)); // the header buffer stays first
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

fn span(area: &EventArea<'_>, before_first: Ticks) -> Option<Span> {
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
