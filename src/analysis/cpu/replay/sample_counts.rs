//! Samples of the profile timer beside context switches: how many there are of each processor.

use crate::analysis::cpu::replay::processor_event::ProcessorEvent;
use crate::analysis::stacks::SampleGaps;

/// Samples in the window.
#[derive(Debug, Clone, Default)]
pub struct SampleCounts {
    /// All samples: a record can stand for several.
    pub all: u64,
    /// Their records.
    pub records: u64,
    /// Sum of the squares of how many samples each record stands for.
    pub squares: u64,
    /// In deferred procedure calls.
    pub dpc: u64,
    /// In interrupts.
    pub isr: u64,
    /// By processor: those that met another than the idle thread.
    pub busy: Vec<u64>,
    /// How far they are apart.
    pub(crate) gaps: SampleGaps,
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
        self.records += 1;
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
