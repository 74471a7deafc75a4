//! How far the samples of the profile timer are apart on each processor.

use crate::units::Ticks;

/// Lengths of an octave of gaps, and how many octaves there are.
const PARTS: u64 = 8;
const OCTAVES: usize = 64;

/// Of fewer gaps nothing is said of their distance.
const LEAST_GAPS: u64 = 10;

/// How far the samples of each processor are apart.
#[derive(Debug, Clone)]
pub(crate) struct SampleGaps {
    last: Vec<Option<Ticks>>,
    /// By length, eight classes to the octave: how many, and their sum in ticks.
    classes: Box<[(u64, u64)]>,
}

impl Default for SampleGaps {
    fn default() -> SampleGaps {
        SampleGaps { last: Vec::new(), classes: vec![(0, 0); OCTAVES * PARTS as usize].into() }
    }
}

impl SampleGaps {
    /// Adds a record in the order of time. One that stands for several samples ends a gap of several intervals.
    pub fn add(&mut self, processor: u16, time: Ticks, count: u64) {
        let processor = usize::from(processor);
        if self.last.len() <= processor {
            self.last.resize(processor + 1, None);
        }
        let Some(last) = self.last.get_mut(processor) else { return };
        let before = last.replace(time);
        let gap = before.and_then(|before| u64::try_from(time.0.saturating_sub(before.0)).ok());
        let Some(gap) = gap.map(|gap| gap / count.max(1)).filter(|gap| *gap > 0) else { return };
        let octave = gap.ilog2();
        let part = if octave < 3 { (gap << (3 - octave)) - PARTS } else { (gap >> (octave - 3)) - PARTS };
        let class = self.classes.get_mut(octave as usize * PARTS as usize + part as usize);
        class.into_iter().for_each(|(number, sum)| (*number, *sum) = (*number + 1, sum.saturating_add(gap)));
    }

    /// Three quarters of the gaps are not longer, ticks: the interval of a timer that met each processor, also where some samples are
    /// missing. More than the mean where samples come at random. 0 where there are none.
    pub fn typical(&self) -> u64 {
        let all: u64 = self.classes.iter().map(|(number, _)| number).sum();
        let mut before = 0;
        let class = self.classes.iter().find(|(number, _)| {
            before += number;
            *number > 0 && before.saturating_mul(4) >= all.saturating_mul(3)
        });
        class.map_or(0, |(number, sum)| sum / number)
    }

    /// The distance that all but a quarter of the gaps have, about, ticks; `None` where samples come at random, or are few.
    pub fn regular(&self) -> Option<u64> {
        let all: u64 = self.classes.iter().map(|(number, _)| number).sum();
        // What is near the end of a class can be in the one beside it.
        let pairs = self.classes.windows(2).map(|pair| {
            pair.iter().fold((0u64, 0u64), |(number, sum), more| (number + more.0, sum.saturating_add(more.1)))
        });
        let (number, sum) = pairs.max_by_key(|(number, _)| *number)?;
        (all >= LEAST_GAPS && number.saturating_mul(4) >= all.saturating_mul(3)).then(|| sum / number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typical_gap_is_the_interval() {
        let typical = |times: &[i64]| {
            let mut gaps = SampleGaps::default();
            times.iter().for_each(|time| gaps.add(3, Ticks(*time), 1));
            gaps.typical()
        };
        assert_eq!([typical(&[]), typical(&[5]), typical(&[5, 5])], [0; 3]);
        assert_eq!(typical(&[0, 1000, 2000, 3000, 90_000, 91_000]), 1000);
        assert_eq!(typical(&[i64::MIN, i64::MAX]), i64::MAX as u64);
        assert_eq!([typical(&[0, 1]), typical(&[0, 3]), typical(&[0, 7]), typical(&[0, 9])], [1, 3, 7, 9]);
    }

    #[test]
    fn samples_at_random_have_no_distance() {
        let regular = |times: &mut dyn Iterator<Item = i64>| {
            let mut gaps = SampleGaps::default();
            times.for_each(|time| gaps.add(0, Ticks(time), 1));
            gaps.regular()
        };
        assert_eq!(regular(&mut (0..11).map(|n| n * 8000)), Some(8000));
        assert_eq!(regular(&mut (0..10).map(|n| n * 8000)), None, "too few");
        assert_eq!(regular(&mut (0..100).map(|n| n * n * 100)), None);
    }
}
