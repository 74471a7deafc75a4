//! Samples of the profile timer beside context switches: how many there are of each processor, and how far apart.

use crate::analysis::cpu::replay::processor_event::ProcessorEvent;
use crate::units::Ticks;

/// Samples in the window.
#[derive(Debug, Clone, Default)]
pub struct SampleCounts {
    /// All samples.
    pub all: u64,
    /// Sum of the squares of how many samples each record stands for.
    pub squares: u64,
    /// In deferred procedure calls.
    pub dpc: u64,
    /// In interrupts.
    pub isr: u64,
    /// By processor: those that met another than the idle thread.
    pub busy: Vec<u64>,
    /// How far they are apart.
    pub gaps: SampleGaps,
}

impl SampleCounts {
    /// True where records stand for several samples each, or samples at their usual distance need a fifth more time than there is, `capacity` in
    /// ticks.
    pub fn are_crowded(&self, capacity: u64) -> bool {
        let needed = u128::from(self.all) * u128::from(self.gaps.typical());
        self.squares > self.all || needed * 5 > u128::from(capacity) * 6
    }

    /// Adds a record that stands for `count` samples.
    pub fn add(&mut self, event: &ProcessorEvent, count: u64) {
        self.all += count;
        self.squares = self.squares.saturating_add(count.saturating_mul(count));
        match event.state & 3 {
            0 => {}
            1 => self.dpc += count,
            _ => self.isr += count,
        }
        self.gaps.add(event.processor, event.time, count);
        let processor = usize::from(event.processor);
        if self.busy.len() <= processor {
            self.busy.resize(processor + 1, 0);
        }
        let is_idle = event.thread == 0 && event.state & 3 == 0;
        self.busy.get_mut(processor).into_iter().for_each(|busy| *busy += if is_idle { 0 } else { count });
    }
}

/// Lengths of an octave of gaps, and how many octaves there are.
const PARTS: u64 = 8;
const OCTAVES: usize = 64;

/// How far the samples of each processor are apart.
#[derive(Debug, Clone)]
pub struct SampleGaps {
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
}
