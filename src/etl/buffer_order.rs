//! The order of buffers: by time, then by their rank.
//!
//! Buffers lie in the file in the order in which they were flushed, so a buffer can begin seconds before the end of an
//! earlier one. The survey finds each buffer's time span; what needs records in time order opens buffers by their spans.

use crate::etl::buffer::Buffer;
use crate::etl::log_file_header::{LogFileHeader, MODE_CIRCULAR};
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

/// Rank of each buffer among records of equal time: by its file and sequence number, which ascends on each processor, wherever it lies in
/// the file. Most files have their buffers in this order; those of a circular file that wrapped, and of others, lie elsewhere. Which of
/// two processors was first is not recorded. Where numbers repeat, that of the processor decides.
pub fn ranks(buffers: &[Buffer]) -> Vec<u32> {
    let place = |i: u32| buffers.get(i as usize).map_or((0, 0, 0), |b| (b.file, b.sequence, b.processor));
    let mut order: Vec<u32> = (0..buffers.len() as u32).collect();
    order.sort_by_key(|&i| (i != 0, place(i), i)); // the header buffer stays first
    let mut rank = vec![0; buffers.len()];
    for (place, &buffer) in (0u32..).zip(&order) {
        if let Some(slot) = rank.get_mut(buffer as usize) {
            *slot = place;
        }
    }
    rank
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
pub(crate) fn is_circular_order(buffers: &[Buffer], kept: usize, start: usize) -> bool {
    let mut latest = HashMap::new();
    let ring = buffers.iter().skip(start).chain(buffers.iter().take(start).skip(kept));
    ring.fold(true, |ascending, b| ascending & latest.insert(b.processor, b.sequence).is_none_or(|l| l < b.sequence))
}
