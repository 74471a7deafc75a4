//! Divides a trace into slices of time, so that millions of updates are sorted and replayed without all being in memory.
//! Each buffer is read once, in the slice of its first stamp.

use crate::etl::buffer_order::Span;
use crate::units::Ticks;

/// A stretch of time and the buffers that begin in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSlice {
    /// First stamp.
    pub from: Ticks,
    /// Last stamp.
    pub to: Ticks,
    /// Buffers by index, in order of their first stamp. What they hold of later slices has to be kept.
    pub buffers: Vec<u32>,
}

/// Records of one slice, about; each needs some 100 bytes during the replay. Every working set is loaded again for each
/// slice: with 2^19 records the replay takes 2 % less processor time and 10 to 20 MiB more memory.
pub const RECORDS: u64 = 300_000;

/// Slices of about this number of records that cover `[begin, end]`; in order, without a gap.
pub fn slices(spans: &[Option<Span>], begin: Ticks, end: Ticks, records: u64) -> Vec<TimeSlice> {
    let mut buffers: Vec<(Span, u32)> = (spans.iter().zip(0..))
        .filter_map(|(span, index)| Some(((*span)?, index)))
        .filter(|(span, _)| span.last >= begin && span.first <= end)
        .collect();
    buffers.sort_unstable_by_key(|&(span, index)| (span.first, index));
    let mut slices = Vec::new();
    let mut slice = TimeSlice { from: begin, to: end, buffers: Vec::new() };
    let (mut count, mut before) = (0, begin);
    for (span, index) in buffers {
        if count >= records.max(1) && span.first > before {
            let next = TimeSlice { from: span.first, to: end, buffers: Vec::new() };
            slice.to = Ticks(span.first.0.saturating_sub(1));
            slices.push(std::mem::replace(&mut slice, next));
            count = 0;
        }
        slice.buffers.push(index);
        before = span.first.max(begin);
        count += u64::from(span.records);
    }
    slices.push(slice);
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The slices follow each other, and each buffer inside the limits is in that of its first stamp.
        #[test]
        fn slices_hold_every_buffer_once(
            list in prop::collection::vec((0i64..1000, 0i64..100, 1u32..1_000_000), 0..40),
            begin in 0i64..500,
            length in 0i64..1000,
        ) {
            let span = |&(first, length, records): &(i64, i64, u32)| {
                Some(Span { first: Ticks(first), last: Ticks(first + length), records, sorted: true })
            };
            let spans: Vec<_> = list.iter().map(span).collect();
            let end = begin + length;
            let slices = slices(&spans, Ticks(begin), Ticks(end), RECORDS);
            prop_assert_eq!((slices[0].from.0, slices[slices.len() - 1].to.0), (begin, end));
            prop_assert!(slices.windows(2).all(|pair| pair[0].to.0 + 1 == pair[1].from.0));
            for (index, span) in spans.iter().flatten().enumerate() {
                let holding: Vec<_> = slices.iter().filter(|slice| slice.buffers.contains(&(index as u32))).collect();
                let inside = span.last.0 >= begin && span.first.0 <= end;
                prop_assert_eq!(holding.len(), usize::from(inside));
                prop_assert!(holding.iter().all(|s| (s.from.0..=s.to.0).contains(&span.first.0.max(begin))));
            }
        }
    }
}
