//! Which samples the rows of a timeline in steps have: the steps are seldom those of the recorder.

use crate::analysis::memory::MemorySet;
use crate::analysis::memory::timeline::MemoryTimeline;
use crate::analysis::memory::working_sets::MemoryTrack;
use crate::moment::Moment;
use crate::units::Nanos;

/// What differs between the rows of a timeline and the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct UnlikeSamples {
    /// Rows without a sample since the row before.
    pub repeating: u64,
    /// Samples that are in no row: a later one came before the next row.
    pub in_no_row: u64,
}

impl MemorySet {
    /// How the rows of the timeline differ from the samples.
    pub(crate) fn unlike_samples(&self) -> UnlikeSamples {
        match &self.timeline {
            Some(MemoryTimeline::Counters(rows)) => {
                let mut all: Vec<Nanos> = self.samples.iter().map(|sample| sample.time).collect();
                all.dedup();
                let shown = rows.iter().map(|(time, sample)| (*time, sample.as_ref().map(|sample| sample.time)));
                of_counters(&all, shown)
            }
            Some(MemoryTimeline::WorkingSets(moments)) => of_tracks(self.tracks(), moments),
            Some(MemoryTimeline::Samples(_)) | None => UnlikeSamples::default(),
        }
    }
}

/// Times of all samples; times of rows with those of their samples. Both rise.
fn of_counters(all: &[Nanos], shown: impl Iterator<Item = (Nanos, Option<Nanos>)>) -> UnlikeSamples {
    let (mut before, mut repeating, mut distinct) = (None, 0, 0u64);
    for (row, sample) in shown.filter_map(|(row, sample)| Some((row, sample?))) {
        match before == Some(sample) {
            true => repeating += u64::from(row != sample),
            false => distinct += 1,
        }
        before = Some(sample);
    }
    UnlikeSamples { repeating, in_no_row: (all.len() as u64).saturating_sub(distinct) }
}

/// A sample is in the rows from its moment to that of the next one, while the process lives.
fn of_tracks(tracks: &[MemoryTrack], rows: &[Moment]) -> UnlikeSamples {
    let first_row = |from: Moment| rows.partition_point(|row| *row < from);
    let in_no_row = |track: &MemoryTrack| {
        let begins = || track.sampled().map(|sample| sample.moment);
        let ends = begins().skip(1).chain([track.end]);
        begins().zip(ends).filter(|(begin, end)| first_row(*begin) == first_row(*end)).count() as u64
    };
    let mut fresh: Vec<usize> =
        tracks.iter().flat_map(MemoryTrack::sampled).map(|sample| first_row(sample.moment)).collect();
    fresh.sort_unstable();
    fresh.dedup();
    let after_first = fresh.first().map_or(0, |first| rows.len().saturating_sub(*first));
    let in_rows = fresh.iter().filter(|row| **row < rows.len()).count();
    UnlikeSamples {
        repeating: after_first.saturating_sub(in_rows) as u64,
        in_no_row: tracks.iter().map(in_no_row).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_repeat_and_samples_in_no_row_are_counted() {
        let count = |all: &[i128], shown: &[(i128, i128)]| {
            let all: Vec<Nanos> = all.iter().copied().map(Nanos).collect();
            let shown = shown.iter().map(|(row, sample)| (Nanos(*row), Some(Nanos(*sample))));
            let UnlikeSamples { repeating, in_no_row } = of_counters(&all, shown);
            (repeating, in_no_row)
        };
        assert_eq!(count(&[10, 20, 30], &[(10, 10), (20, 20), (30, 30)]), (0, 0));
        // The second sample comes just after its row, and the third before the next.
        assert_eq!(count(&[10, 21, 30], &[(10, 10), (20, 10), (30, 30)]), (1, 1));
        assert_eq!(count(&[10, 20, 30], &[(10, 10), (30, 30)]), (0, 1));
        // Two records of one moment are one sample.
        assert_eq!(count(&[10], &[(10, 10), (10, 10)]), (0, 0));
    }
}
