//! Until when records may be missing: buffers were lost, and nothing tells which records were in them.
//!
//! Source: `docs/allocations.md` ("Lost buffers").

use crate::trace::Trace;
use crate::trace::trust::loss::sequence_holes;
use crate::units::Ticks;
use std::collections::BTreeMap;

/// The buffers of a processor by sequence number, each with its earliest and latest stamp; after [`OfProcessor::settle`]
/// the latest of it and all before, and the earliest of it and all after.
#[derive(Debug, Default)]
struct OfProcessor {
    buffers: Vec<Stamps>,
}

#[derive(Debug)]
struct Stamps {
    sequence: u64,
    first: Option<Ticks>,
    last: Option<Ticks>,
}

impl OfProcessor {
    fn settle(&mut self) {
        self.buffers.sort_unstable_by_key(|buffer| buffer.sequence);
        let mut latest: Option<Ticks> = None;
        for buffer in &mut self.buffers {
            latest = latest.max(buffer.last);
            buffer.last = latest;
        }
        let mut earliest: Option<Ticks> = None;
        for buffer in self.buffers.iter_mut().rev() {
            earliest = [earliest, buffer.first].into_iter().flatten().min();
            buffer.first = earliest;
        }
    }

    /// First record after a hole, where there are buffers before it too, and the last record before it lies before `end`.
    fn after(&self, low: u64, high: u64, end: Ticks) -> Option<Ticks> {
        let before = self.buffers.partition_point(|buffer| buffer.sequence <= low).checked_sub(1)?;
        let begins_late = self.buffers.get(before)?.last.is_some_and(|last| last >= end);
        let after = self.buffers.partition_point(|buffer| buffer.sequence < high);
        self.buffers.get(after).filter(|_| !begins_late)?.first
    }
}

/// The end of the last hole that begins before `end`, a window's end: the first record after it of the processor whose
/// records come back last. What was lost later frees nothing in the window.
pub fn hole_until(trace: &Trace, end: Ticks) -> Option<Ticks> {
    let etl = trace.etl();
    let own = (etl, 0..etl.own_buffers().len());
    let files = std::iter::once(own).chain(etl.further().map(|(_, file, buffers)| (file, buffers)));
    let mut latest = None;
    for (file, buffers) in files {
        let holes = sequence_holes(file);
        if holes.is_empty() {
            continue;
        }
        let mut processors: BTreeMap<u16, OfProcessor> = BTreeMap::new();
        for (index, buffer) in buffers.clone().zip(etl.buffers.get(buffers).unwrap_or_default()) {
            let span = trace.survey().spans.get(index).copied().flatten();
            let (first, last) = (span.map(|span| span.first), span.map(|span| span.last));
            let stamps = Stamps { sequence: buffer.sequence, first, last };
            processors.entry(buffer.processor).or_default().buffers.push(stamps);
        }
        processors.values_mut().for_each(OfProcessor::settle);
        for hole in holes {
            latest = latest.max(processors.values().filter_map(|own| own.after(hole.low, hole.high, end)).max());
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_reaches_to_the_first_record_after_it() {
        let stamps = |sequence, first: Option<i64>| Stamps {
            sequence,
            first: first.map(Ticks),
            last: first.map(|first| Ticks(first + 1)),
        };
        let mut own = OfProcessor {
            buffers: vec![stamps(9, Some(50)), stamps(1, Some(5)), stamps(7, None), stamps(8, Some(60))],
        };
        own.settle();
        let after = |low, high, end| own.after(low, high, Ticks(end)).map(|first| first.0);
        assert_eq!(
            [after(1, 7, 100), after(1, 9, 100), after(0, 7, 100), after(9, 12, 100)],
            [Some(50), Some(50), None, None]
        );
        assert_eq!([after(1, 7, 6), after(1, 7, 7), after(7, 9, 6)], [None, Some(50), None], "it begins at 6");
    }
}
