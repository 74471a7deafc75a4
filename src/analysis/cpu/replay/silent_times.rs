//! Times in which a processor that is sampled always, idle or not, has no record.

use crate::analysis::cpu::replay::processor_event::{ProcessorEvent, ProcessorEventKind};
use crate::analysis::cpu::replay::sample_counts::SampleCounts;
use crate::units::Ticks;

/// A time without records is told from so many intervals of the timer on; so many samples say that idle threads are met too.
const LEAST_INTERVALS: u64 = 20;

/// All but one part in so many of the rest of the time has samples.
const UNSAMPLED_PART: u128 = 20;

/// When each processor had no record.
#[derive(Debug, Clone, Default)]
pub(crate) struct SilentTimes(Vec<OfProcessor>);

#[derive(Debug, Clone, Default)]
struct OfProcessor {
    first: Option<Ticks>,
    last: Option<Ticks>,
    longest: Option<(Ticks, Ticks)>,
    samples: u64,
    idle_samples: u64,
    /// Records are known to be missing: all is told already.
    is_broken: bool,
}

impl SilentTimes {
    /// An event, in the order of time.
    #[inline(always)]
    pub fn add(&mut self, event: &ProcessorEvent) {
        let number = usize::from(event.processor);
        if self.0.len() <= number {
            self.0.resize(number + 1, OfProcessor::default());
        }
        let Some(own) = self.0.get_mut(number) else { return };
        match event.kind {
            ProcessorEventKind::Sample => {
                let count = u64::from(event.other);
                own.samples += count;
                own.idle_samples += if event.thread == 0 && event.state & 3 == 0 { count } else { 0 };
            }
            ProcessorEventKind::Switch | ProcessorEventKind::Ready | ProcessorEventKind::ReadyFromDpc => {}
            _ => own.is_broken = true,
        }
        let (from, to) = (own.last.replace(event.time).unwrap_or(event.time), event.time);
        own.first = own.first.or(Some(to));
        if own.longest.is_none_or(|(begin, end)| length(from, to) > length(begin, end)) {
            own.longest = Some((from, to));
        }
    }

    /// Processors with the longest time in which they have no record, though they have samples of all the rest of it, idle threads among
    /// them. A processor whose timer stops when it is idle has more such times, or no samples of idle threads.
    pub fn found(&self, samples: &SampleCounts) -> Vec<(usize, (Ticks, Ticks))> {
        let Some(interval) = samples.gaps.regular() else { return Vec::new() };
        let is_found = |own: &OfProcessor, silent: u64, all: u64| {
            let rest = u128::from(all.saturating_sub(silent));
            let sampled = u128::from(own.samples) * u128::from(interval);
            silent >= interval.saturating_mul(LEAST_INTERVALS)
                && own.idle_samples >= LEAST_INTERVALS
                && sampled + rest / UNSAMPLED_PART >= rest
                && !own.is_broken
        };
        let found = |(number, own): (usize, &OfProcessor)| {
            let (from, to) = own.longest?;
            let all = length(own.first?, own.last?);
            is_found(own, length(from, to), all).then_some((number, (from, to)))
        };
        self.0.iter().enumerate().filter_map(found).collect()
    }
}

fn length(from: Ticks, to: Ticks) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}
