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
        let formula = counter_type.predefined().map_or(Formula::NotShown, |known| known.formula);
        let (time, frequency) = counter_type.timer().map_or((None, None), |timer| self.clock(timer));
        let second_is_time = formula.uses_time();
        let instances = self.instances.filter(|_| formula.uses_instances());
        CounterSample {
            counter: self.counter,
            base: instances.or(self.second.filter(|_| !second_is_time)).or(self.base),
            time: self.second.filter(|_| second_is_time).or(time),
            frequency: self.time_base.or(frequency),
        }
    }
}
