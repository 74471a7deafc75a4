//! Successive samples of many counters: each is calculated with the one before it.

use crate::counter::calculation::{CounterValue, Note, Reason, calculate};
use crate::counter::samples::raw::RawSample;
use crate::counter::type_word::{CounterType, Timer};
use crate::units::Nanos;
use foldhash::HashMap;

/// The samples of a file, in its order.
#[derive(Debug, Default)]
pub struct Series {
    /// One for each sample.
    pub rows: Vec<SampleRow>,
    counters: Vec<CounterState>,
    numbers: HashMap<(String, CounterType), usize>,
}

/// A sample and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRow {
    counter: usize,
    /// Time since this counter's first sample; `None` without a clock.
    pub time: Option<Nanos>,
    /// The value, or why there is none.
    pub value: Result<CounterValue, Reason>,
}

#[derive(Debug)]
struct CounterState {
    name: String,
    counter_type: CounterType,
    /// The first sample's clock, and its time on it.
    start: Option<(TimeSource, u64)>,
    before: Option<RawSample>,
}

/// Where the time of a sample stands.
#[derive(Debug, Clone, Copy)]
enum TimeSource {
    /// In the time that the type's formula uses; of PDH's second value, or of another column.
    OfFormula { is_second: bool },
    /// In a separate column.
    SampleColumn(Timer),
}

impl Series {
    /// Adds a sample.
    pub fn push(&mut self, name: &str, counter_type: CounterType, raw: &RawSample) {
        let key = (name.to_owned(), counter_type);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let start = TimeSource::choose(counter_type, raw);
            self.counters.push(CounterState { name: name.to_owned(), counter_type, start, before: None });
            self.counters.len() - 1
        });
        let Some(counter) = self.counters.get_mut(number) else { return };
        let time = counter.start.and_then(|(clock, start)| {
            let (now, frequency) = clock.read(counter_type, raw)?;
            let ticks = i128::from(now) - i128::from(start);
            Some(Nanos(ticks * 1_000_000_000 / i128::from(frequency)))
        });
        let value = match &counter.before {
            None => calculate(counter_type, &[raw.of_type(counter_type)]),
            Some(before) => {
                let samples = raw.with_before(before, counter_type);
                let mut value = calculate(counter_type, &samples);
                let formula = counter_type.predefined().map(|known| known.formula);
                let is_of_time = formula.is_some_and(|formula| formula.uses_time() && formula.samples() > 1);
                if let Ok(value) = &mut value
                    && is_of_time
                    && raw.has_other_times(before, counter_type)
                {
                    value.notes.push(Note::ClocksDisagree);
                }
                let [earlier, later] = samples.map(|sample| sample.frequency);
                let has_frequency = formula.is_some_and(|formula| formula.uses_frequency() && formula.samples() > 1);
                if let Ok(value) = &mut value
                    && has_frequency
                    && earlier.zip(later).is_some_and(|(earlier, later)| earlier != later)
                {
                    value.notes.push(Note::FrequencyChanged);
                }
                value
            }
        };
        counter.before = Some(raw.clone());
        self.rows.push(SampleRow { counter: number, time, value });
    }

    /// Name and type of a row's counter.
    pub fn counter(&self, row: &SampleRow) -> Option<(&str, CounterType)> {
        let counter = self.counters.get(row.counter)?;
        Some((&counter.name, counter.counter_type))
    }

    /// How many counters there are.
    pub fn counter_count(&self) -> u64 {
        self.counters.len() as u64
    }
}

impl TimeSource {
    /// The clock of the formula if the first sample has its time, else any clock of which it has the time.
    fn choose(counter_type: CounterType, first: &RawSample) -> Option<(TimeSource, u64)> {
        let columns = counter_type.timer().into_iter().chain([Timer::HundredNs, Timer::Tick, Timer::Object]);
        let of_formula = [true, false].map(|is_second| TimeSource::OfFormula { is_second });
        let all = of_formula.into_iter().chain(columns.map(TimeSource::SampleColumn));
        all.filter_map(|clock| Some((clock, clock.read(counter_type, first)?.0))).next()
    }

    /// Time and frequency of a sample.
    fn read(self, counter_type: CounterType, raw: &RawSample) -> Option<(u64, u64)> {
        let (time, frequency) = match self {
            TimeSource::SampleColumn(timer) => raw.clock(timer),
            TimeSource::OfFormula { is_second } => {
                if is_second && raw.second.is_none() {
                    return None;
                }
                counter_type.predefined().filter(|known| known.formula.uses_time())?;
                let second = raw.second.filter(|_| is_second);
                let sample = RawSample { second, ..raw.clone() }.of_type(counter_type);
                (sample.time, counter_type.timer().and_then(Timer::fixed_frequency).or(sample.frequency))
            }
        };
        Some((time?, frequency.filter(|&ticks| ticks > 0)?))
    }
}
