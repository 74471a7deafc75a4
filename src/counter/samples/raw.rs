//! The values in a row of a file, and those that a formula uses.

use crate::counter::calculation::CounterSample;
use crate::counter::formula::Formula;
use crate::counter::type_word::{CounterType, Timer};

/// What a row of a file says. Cells that are empty are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawSample {
    /// Raw value.
    pub counter: Option<u64>,
    /// Raw value of the base.
    pub base: Option<u64>,
    /// Performance counter, and its frequency.
    pub ticks: (Option<u64>, Option<u64>),
    /// System time in units of 100 ns.
    pub hundred_ns: Option<u64>,
    /// Clock of the counter's object, and its frequency.
    pub object: (Option<u64>, Option<u64>),
    /// PDH's second value: the base or the time, as the type needs.
    pub second: Option<u64>,
    /// PDH's number of instances.
    pub instances: Option<u64>,
    /// PDH's frequency.
    pub time_base: Option<u64>,
}

/// Nanoseconds by which clocks that agree may differ.
const LEAST_DIFFERENCE: i128 = 100_000_000;

fn formula_of(counter_type: CounterType) -> Formula {
    counter_type.predefined().map_or(Formula::NotShown, |known| known.formula)
}

impl RawSample {
    /// Time and frequency of a clock.
    pub(super) fn clock(&self, timer: Timer) -> (Option<u64>, Option<u64>) {
        match timer {
            Timer::Tick => self.ticks,
            Timer::HundredNs => (self.hundred_ns, timer.fixed_frequency()),
            Timer::Object => self.object,
        }
    }

    /// What a formula of this type works with. PDH's columns come before the others.
    pub fn of_type(&self, counter_type: CounterType) -> CounterSample {
        self.with_second(counter_type, self.second)
    }

    /// What a formula of this type works with, of a sample and the one before it. A difference of PDH's second value and another
    /// column is none: where one of the two lacks it, both are read from the other columns.
    pub(super) fn with_before(&self, before: &RawSample, counter_type: CounterType) -> [CounterSample; 2] {
        let needs_both = formula_of(counter_type).samples() > 1;
        let has_both = before.second.is_some() && self.second.is_some();
        [before, self].map(|sample| sample.with_second(counter_type, sample.second.filter(|_| has_both || !needs_both)))
    }

    /// True where the clocks of the two samples tell of other times between them, by more than a tenth: a value by one of them is
    /// wrong. The clocks of one moment are read one after the other, and system time advances in steps of 16 ms.
    pub(super) fn has_other_times(&self, before: &RawSample, counter_type: CounterType) -> bool {
        let nanos = |from: Option<u64>, to: Option<u64>, frequency: Option<u64>| {
            let frequency = i128::from(frequency.filter(|&ticks| ticks > 0)?);
            Some((i128::from(to?) - i128::from(from?)) * 1_000_000_000 / frequency)
        };
        let of_clock = |timer: Timer| {
            let ((from, _), (to, frequency)) = (before.clock(timer), self.clock(timer));
            nanos(from, to, frequency)
        };
        let [earlier, later] = self.with_before(before, counter_type);
        let frequency = counter_type.timer().and_then(Timer::fixed_frequency).or(later.frequency);
        let spans = [Timer::Tick, Timer::HundredNs, Timer::Object].into_iter().filter_map(of_clock);
        let spans: Vec<i128> = spans.chain(nanos(earlier.time, later.time, frequency)).collect();
        let (least, most) = (spans.iter().min().copied().unwrap_or(0), spans.iter().max().copied().unwrap_or(0));
        most - least > (most / 10).max(LEAST_DIFFERENCE)
    }

    fn with_second(&self, counter_type: CounterType, second: Option<u64>) -> CounterSample {
        let formula = formula_of(counter_type);
        let (time, frequency) = counter_type.timer().map_or((None, None), |timer| self.clock(timer));
        let second_is_time = formula.uses_time();
        let instances = self.instances.filter(|_| formula.uses_instances());
        CounterSample {
            counter: self.counter,
            base: instances.or(second.filter(|_| !second_is_time)).or(self.base),
            time: second.filter(|_| second_is_time).or(time),
            frequency: self.time_base.or(frequency),
        }
    }
}
