//! Cutting a trace into slabs of time, so that millions of steps can be sorted and followed without holding them all.

use crate::etl::order::Span;
use crate::units::Ticks;

/// A stretch of time and the buffers that have records in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slab {
    /// First stamp.
    pub from: Ticks,
    /// Last stamp.
    pub to: Ticks,
    /// Buffers by index, in order of their first stamp.
    pub buffers: Vec<u32>,
}

/// Records of one slab, about: some 60 bytes each while they are followed.
pub const RECORDS: u64 = 1 << 20;

/// How often buffers may be read because they reach into several slabs. Only a file made to hurt has more: its slabs
/// become larger.
const MOST_READS: usize = 3;

/// Slabs of about so many records that cover `[begin, end]`; in order, without a gap.
pub fn slabs(spans: &[Option<Span>], begin: Ticks, end: Ticks, records: u64) -> Vec<Slab> {
    let mut buffers: Vec<(Span, u32)> = (spans.iter().zip(0..))
        .filter_map(|(span, index)| Some(((*span)?, index)))
        .filter(|(span, _)| span.last >= begin && span.first <= end)
        .collect();
    buffers.sort_unstable_by_key(|&(span, index)| (span.first, index));
    let mut records = records.max(1);
    loop {
        let slabs = cut(&buffers, begin, end, records);
        let reads: usize = slabs.iter().map(|slab| slab.buffers.len()).sum();
        if slabs.len() <= 1 || reads <= MOST_READS * buffers.len() {
            return slabs;
        }
        records = records.saturating_mul(2);
    }
}

fn cut(buffers: &[(Span, u32)], begin: Ticks, end: Ticks, records: u64) -> Vec<Slab> {
    let mut slabs: Vec<Slab> = vec![Slab { from: begin, to: end, buffers: Vec::new() }];
    let mut count = 0;
    for (span, _) in buffers {
        let from = span.first.max(begin);
        if count >= records
            && let Some(last) = slabs.last_mut().filter(|last| from > last.from)
        {
            last.to = Ticks(from.0 - 1);
            slabs.push(Slab { from, to: end, buffers: Vec::new() });
            count = 0;
        }
        count += u64::from(span.records);
    }
    for (span, index) in buffers {
        let first = slabs.partition_point(|slab| slab.to < span.first);
        for slab in slabs.iter_mut().skip(first).take_while(|slab| slab.from <= span.last) {
            slab.buffers.push(*index);
        }
    }
    slabs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buffers_that_all_overlap_are_not_read_for_ever() {
        let span = Some(Span { first: Ticks(0), last: Ticks(1 << 40), records: 1 << 20, sorted: true });
        let spans: Vec<_> = (0..50i64).map(|n| span.map(|span| Span { first: Ticks(n), ..span })).collect();
        let all = slabs(&spans, Ticks(0), Ticks(1 << 41), RECORDS);
        let reads: usize = all.iter().map(|slab| slab.buffers.len()).sum();
        assert!(reads <= MOST_READS * 50 && all.len() < 10, "{reads} reads in {} slabs", all.len());
        assert_eq!(slabs(&[], Ticks(0), Ticks(9), RECORDS).len(), 1);
    }

    proptest! {
        /// Every stamp of a buffer inside the limits lies in exactly one slab, which lists the buffer.
        #[test]
        fn slabs_cover_everything_once(
            list in prop::collection::vec((0i64..1000, 0i64..100, 1u32..1_000_000), 0..40),
            begin in 0i64..500,
            length in 0i64..1000,
        ) {
            let span = |&(first, length, records): &(i64, i64, u32)| {
                Some(Span { first: Ticks(first), last: Ticks(first + length), records, sorted: true })
            };
            let spans: Vec<_> = list.iter().map(span).collect();
            let slabs = slabs(&spans, Ticks(begin), Ticks(begin + length), RECORDS);
            for (index, span) in spans.iter().flatten().enumerate() {
                for stamp in span.first.0.max(begin)..=span.last.0.min(begin + length) {
                    let holding: Vec<_> = slabs.iter().filter(|s| (s.from.0..=s.to.0).contains(&stamp)).collect();
                    prop_assert_eq!(holding.len(), 1);
                    prop_assert!(holding[0].buffers.contains(&(index as u32)));
                }
            }
        }
    }
}
