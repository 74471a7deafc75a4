//! When the records were written that damage has swallowed: after the last good record before it, and before the first one
//! of the same processor after it.

use crate::etl::EtlFile;
use crate::etl::buffer::Buffer;
use crate::etl::buffer_order::Span;
use crate::etl::file::Scratch;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::etl::stamp_limits::flushed_at;
use crate::units::{FileOffset, Ticks};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The damaged places of one buffer, or of the bytes between two buffers, and the time that they concern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DamagedTime {
    /// Offset of the first place.
    pub offset: FileOffset,
    /// Last good record before it.
    pub from: Ticks,
    /// First good record after the last place.
    pub to: Ticks,
}

/// The times of the damage at these offsets of a file. `spans` are those of its buffers, `end` is the last record of the trace.
pub(crate) fn damaged_times(
    etl: &EtlFile,
    spans: &[Option<Span>],
    end: Ticks,
    offsets: impl Iterator<Item = FileOffset>,
) -> Vec<DamagedTime> {
    let buffers = etl.own_buffers();
    // A buffer can be damaged in many places: it is read once.
    let mut places: BTreeMap<(usize, bool), (FileOffset, FileOffset)> = BTreeMap::new();
    for offset in offsets {
        let after = buffers.partition_point(|buffer| buffer.offset <= offset);
        let before = after.checked_sub(1).and_then(|at| buffers.get(at));
        let is_inside = before.is_some_and(|buffer| offset.0 - buffer.offset.0 < u64::from(buffer.size_bytes));
        let (first, last) = places.entry((after, is_inside)).or_insert((offset, offset));
        (*first, *last) = (offset.min(*first), offset.max(*last));
    }
    let trace = (etl.clock.origin, end);
    let times = places.into_iter().map(|((after, is_inside), (first, last))| {
        let (from, to) = match after.checked_sub(1).filter(|_| is_inside) {
            Some(damaged) => inside(etl, spans, damaged, first..=last, trace),
            None => between(etl, spans, after, trace),
        };
        DamagedTime { offset: first, from, to }
    });
    times.collect()
}

/// Records of one stream are in order of time; sessions that were told so have one for all processors.
fn stream(etl: &EtlFile, buffer: &Buffer) -> u16 {
    if etl.header.mode & MODE_NO_PER_PROCESSOR == 0 { buffer.processor } else { 0 }
}

/// Damage inside of a buffer: what follows it there up to the next good record, or to the end of the buffer.
fn inside(
    etl: &EtlFile,
    spans: &[Option<Span>],
    damaged: usize,
    places: RangeInclusive<FileOffset>,
    (start, end): (Ticks, Ticks),
) -> (Ticks, Ticks) {
    let Some(buffer) = etl.own_buffers().get(damaged) else { return (start, end) };
    let (mut before, mut after) = (None, None);
    // Of compressed bytes nobody knows from where on they are wrong.
    if !buffer.is_compressed() {
        let mut scratch = Scratch::new();
        let area = etl.area(damaged, &mut scratch);
        for record in area.records() {
            let (at, time) = (area.file_offset(record.position.offset as usize), area.time_of(&record));
            if at < *places.start() {
                before = before.max(time);
            } else if at > *places.end() && after.is_none() {
                after = time;
            }
        }
    }
    let order = |at: usize, buffer: &Buffer| (buffer.sequence, at);
    let (own, stream_of) = (order(damaged, buffer), stream(etl, buffer));
    let (mut last, mut first) = (None::<Ticks>, None::<Ticks>);
    for ((at, other), span) in etl.own_buffers().iter().enumerate().zip(spans) {
        let Some(span) = span.filter(|_| at != damaged && stream(etl, other) == stream_of) else { continue };
        if order(at, other) < own {
            last = last.max(Some(span.last));
        } else {
            first = Some(first.map_or(span.first, |first| first.min(span.first)));
        }
    }
    // A merged file has the buffers of several sessions: the next one can begin before this one was full.
    let flushed = flushed_at(&etl.clock, buffer).map(|flushed| flushed.min(end));
    let next = first.unwrap_or(end).max(flushed.unwrap_or(start));
    (before.or(last).unwrap_or(start), after.unwrap_or(next))
}

/// Damage between buffers, whose processor nobody knows: the time in which any processor has no records around it.
fn between(etl: &EtlFile, spans: &[Option<Span>], after: usize, (start, end): (Ticks, Ticks)) -> (Ticks, Ticks) {
    let mut around: BTreeMap<u16, (Option<Ticks>, Option<Ticks>)> = BTreeMap::new();
    for ((at, buffer), span) in etl.own_buffers().iter().enumerate().zip(spans) {
        let Some(span) = span else { continue };
        let (last, first) = around.entry(stream(etl, buffer)).or_default();
        if at < after {
            *last = (*last).max(Some(span.last));
        } else {
            *first = Some(first.map_or(span.first, |first| first.min(span.first)));
        }
    }
    let from = around.values().map(|(last, _)| last.unwrap_or(start)).min();
    let to = around.values().map(|(_, first)| first.unwrap_or(end)).max();
    (from.unwrap_or(start), to.unwrap_or(end))
}
