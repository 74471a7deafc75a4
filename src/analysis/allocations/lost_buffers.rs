//! Until when records may be missing: buffers were lost, and nothing tells which records were in them.
//!
//! Source: `docs/allocations.md` ("Lost buffers").

use crate::trace::Trace;
use crate::trace::trust::loss::sequence_holes;
use crate::units::Ticks;
use std::collections::BTreeMap;

/// First record after a sequence of buffers, by sequence number: of each processor.
#[derive(Debug, Default)]
struct OfProcessor {
    /// Sequence numbers with the earliest stamp of the buffer, in order; after [`OfProcessor::settle`] that of it and all later ones.
    buffers: Vec<(u64, Option<Ticks>)>,
}

impl OfProcessor {
    fn settle(&mut self) {
        self.buffers.sort_unstable();
        let mut earliest: Option<Ticks> = None;
        for (_, first) in self.buffers.iter_mut().rev() {
            earliest = [earliest, *first].into_iter().flatten().min();
            *first = earliest;
        }
    }

    /// First record after a hole, where there are buffers before it too.
    fn after(&self, low: u64, high: u64) -> Option<Ticks> {
        let has_before = self.buffers.first().is_some_and(|(sequence, _)| *sequence <= low);
        let at = self.buffers.partition_point(|(sequence, _)| *sequence < high);
        self.buffers.get(at).filter(|_| has_before)?.1
    }
}

/// The end of the last hole: the first record after it of the processor whose records come back last.
pub fn hole_until(trace: &Trace) -> Option<Ticks> {
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
            let first = trace.survey().spans.get(index).copied().flatten().map(|span| span.first);
            processors.entry(buffer.processor).or_default().buffers.push((buffer.sequence, first));
        }
        processors.values_mut().for_each(OfProcessor::settle);
        for hole in holes {
            latest = latest.max(processors.values().filter_map(|own| own.after(hole.low, hole.high)).max());
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_reaches_to_the_first_record_after_it() {
        let mut own =
            OfProcessor { buffers: vec![(9, Some(Ticks(50))), (1, Some(Ticks(5))), (7, None), (8, Some(Ticks(60)))] };
        own.settle();
        assert_eq!(
            [own.after(1, 7), own.after(1, 9), own.after(0, 7), own.after(9, 12)],
            [Some(Ticks(50)), Some(Ticks(50)), None, None]
        );
    }
}
