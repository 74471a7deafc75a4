//! From samples to the value of a counter, or to the reason why there is none.

use crate::counter::decimal::Decimal;
use crate::counter::formula::Formula;
use crate::counter::predefined::Predefined;
use crate::counter::type_word::CounterType;
use std::fmt;
use thiserror::Error;

/// One reading of a counter. What was not recorded is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CounterSample {
    /// Raw value.
    pub counter: Option<u64>,
    /// Raw value of the base.
    pub base: Option<u64>,
    /// Time on the clock of the type, ticks.
    pub time: Option<u64>,
    /// Ticks of that clock in a second.
    pub frequency: Option<u64>,
}

/// The value of a counter. Its text has six decimals.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterValue {
    /// The value.
    pub value: Decimal,
    /// Decimals that a monitor shows: 6, or 0 for counts and differences.
    pub decimals: u8,
    /// True when a monitor shows it as `0x…`.
    pub hexadecimal: bool,
    /// Unit: `/sec`, `%`, `seconds` or nothing; `None` when the type's display is not documented.
    pub unit: Option<&'static str>,
    /// What to know about it.
    pub notes: Vec<Note>,
}

/// What to know about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The raw value wrapped between the samples.
    Wrapped,
    /// The base wrapped between the samples.
    BaseWrapped,
    /// A percentage above 100.
    Above100,
    /// A percentage below 0.
    Below0,
    /// The clocks of the two samples tell of other times between them.
    ClocksDisagree,
    /// The two samples have other frequencies, and the value is by that of the newest.
    FrequencyChanged,
}

/// Why there is no value: the first of these that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// Windows does not define the type.
    #[error("unknown-type")]
    UnknownType,
    /// The value is a text.
    #[error("text")]
    Text,
    /// The formula of the type is not public.
    #[error("not-calculable")]
    NotCalculable,
    /// The base of another counter, or a counter without data.
    #[error("not-shown")]
    NotShown,
    /// No sample.
    #[error("no-sample")]
    NoSample,
    /// Only one sample.
    #[error("needs-two-samples")]
    NeedsTwoSamples,
    /// A sample without its raw value.
    #[error("no-counter")]
    NoCounter,
    /// More than 32 bits where there can be 32.
    #[error("value-too-large")]
    ValueTooLarge,
    /// A sample without its base.
    #[error("no-base")]
    NoBase,
    /// A sample without its time.
    #[error("no-time")]
    NoTime,
    /// The frequency is missing or 0.
    #[error("no-frequency")]
    NoFrequency,
    /// The newest sample is older than the one before.
    #[error("time-went-back")]
    TimeWentBack,
    /// Both samples are of the same time.
    #[error("time-did-not-advance")]
    TimeDidNotAdvance,
    /// The base fell by more than a wrap can explain.
    #[error("base-went-back")]
    BaseWentBack,
    /// Both bases are the same.
    #[error("base-did-not-advance")]
    BaseDidNotAdvance,
    /// The base is 0.
    #[error("base-zero")]
    BaseZero,
    /// The raw value fell by more than a wrap can explain: it was restarted.
    #[error("counter-went-back")]
    CounterWentBack,
    /// The time of the start is 0.
    #[error("no-start")]
    NoStart,
    /// The start lies after the sample.
    #[error("start-after-now")]
    StartAfterNow,
}

impl Note {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Note::Wrapped => "wrapped",
            Note::BaseWrapped => "base-wrapped",
            Note::Above100 => "above-100",
            Note::Below0 => "below-0",
            Note::ClocksDisagree => "clocks-disagree",
            Note::FrequencyChanged => "frequency-changed",
        }
    }
}

impl fmt::Display for CounterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl CounterValue {
    /// As a monitor shows it, without the unit: counts and differences without decimals, some as `0x…`.
    pub fn display(&self) -> String {
        match (self.hexadecimal, self.decimals) {
            (true, _) => format!("0x{:x}", self.value.whole()),
            (false, 0) => self.value.whole().to_string(),
            (false, _) => self.value.to_string(),
        }
    }
}

/// The value of the newest of these samples, which are in the order of their recording. Only the last two are used.
///
/// # Errors
/// The first [`Reason`] that applies.
pub fn calculate(counter_type: CounterType, samples: &[CounterSample]) -> Result<CounterValue, Reason> {
    let known = counter_type.predefined().ok_or(Reason::UnknownType)?;
    let formula = known.formula;
    match formula {
        Formula::Text => return Err(Reason::Text),
        Formula::NotCalculable => return Err(Reason::NotCalculable),
        Formula::NotShown => return Err(Reason::NotShown),
        _ => {}
    }
    let (newest, before) = samples.split_last().ok_or(Reason::NoSample)?;
    let before = match formula.samples() {
        2 => Some(before.last().ok_or(Reason::NeedsTwoSamples)?),
        _ => None,
    };
    let parts = Parts::read(known, newest, before)?;
    let fraction = parts.fraction(formula);
    let value = Decimal::of_fraction(fraction.negative, fraction.numerator, fraction.denominator);
    let whole = formula.is_whole().then(|| Decimal::of_whole(parts.counter));
    let mut notes = parts.notes;
    if formula.is_percentage() {
        notes.extend(fraction.is_above_100().then_some(Note::Above100));
        notes.extend(fraction.negative.then_some(Note::Below0));
    }
    Ok(CounterValue {
        value: whole.or(value).ok_or(Reason::NotCalculable)?,
        decimals: if formula.is_whole() { 0 } else { 6 },
        hexadecimal: formula == Formula::Hexadecimal,
        unit: counter_type.suffix(),
        notes,
    })
}

/// What a formula works with; 0 for what it does not use.
#[derive(Debug, Default)]
struct Parts {
    /// `C1`, or `C1 − C0` where two samples are needed.
    counter: u64,
    /// `B1`, or `B1 − B0`.
    base: u64,
    /// `T1`, or `T1 − T0`.
    time: u64,
    frequency: u64,
    notes: Vec<Note>,
}

/// A fraction with its sign.
#[derive(Debug)]
struct Fraction {
    negative: bool,
    numerator: u128,
    denominator: u128,
}

impl Parts {
    /// Reads and checks what the formula uses, in the order of [`Reason`].
    fn read(known: &Predefined, newest: &CounterSample, before: Option<&CounterSample>) -> Result<Parts, Reason> {
        let (formula, bits) = (known.formula, known.counter_type.value_bits());
        let mut parts = Parts::default();
        let used = || before.into_iter().chain([newest]);
        let all = |of: fn(&CounterSample) -> Option<u64>, missing: Reason| -> Result<(u64, u64), Reason> {
            let new = of(newest).ok_or(missing)?;
            Ok((before.map_or(Some(0), of).ok_or(missing)?, new))
        };
        let (old_counter, new_counter) = all(|sample| sample.counter, Reason::NoCounter)?;
        if bits == 32 && used().any(|sample| sample.counter > Some(u32::MAX.into())) {
            return Err(Reason::ValueTooLarge);
        }
        let bases = match () {
            () if formula.uses_base_difference() => all(|sample| sample.base, Reason::NoBase)?,
            () if formula.uses_base() => (0, newest.base.ok_or(Reason::NoBase)?),
            () => (0, 0),
        };
        if formula.uses_instances() && bases.1 > u32::MAX.into() {
            return Err(Reason::ValueTooLarge);
        }
        let (old_time, new_time) = match formula.uses_time() {
            true => all(|sample| sample.time, Reason::NoTime)?,
            false => (0, 0),
        };
        if formula.uses_frequency() {
            parts.frequency = newest.frequency.filter(|&ticks| ticks > 0).ok_or(Reason::NoFrequency)?;
        }
        parts.time = new_time.checked_sub(old_time).ok_or(Reason::TimeWentBack)?;
        if formula.uses_time_difference() && parts.time == 0 {
            return Err(Reason::TimeDidNotAdvance);
        }
        parts.base = base_of(formula, bases, &mut parts.notes)?;
        parts.counter = new_counter;
        if formula.uses_value_difference() {
            let wrapped;
            (parts.counter, wrapped) = difference((old_counter, new_counter), bits).ok_or(Reason::CounterWentBack)?;
            if wrapped {
                parts.notes.insert(0, Note::Wrapped);
            }
        }
        if formula == Formula::Elapsed && new_counter == 0 {
            return Err(Reason::NoStart);
        }
        if formula == Formula::Elapsed && new_counter > new_time {
            return Err(Reason::StartAfterNow);
        }
        Ok(parts)
    }

    /// The formula. Everything fits: a difference of raw values is below 2⁶³, a number of instances below 2³².
    fn fraction(&self, formula: Formula) -> Fraction {
        let [counter, base, time, frequency] = [self.counter, self.base, self.time, self.frequency].map(u128::from);
        let of = |numerator, denominator| Fraction { negative: false, numerator, denominator };
        match formula {
            Formula::Rate => of(counter * frequency, time),
            Formula::QueueLength => of(counter, time),
            Formula::Busy => of(100 * counter, time),
            Formula::NotIdle => Fraction::not(counter, time),
            Formula::MeanBusy => of(100 * counter, time * base),
            Formula::MeanNotIdle => Fraction::not(counter, time * base),
            Formula::Precision | Formula::SampleFraction | Formula::Fraction => of(100 * counter, base),
            Formula::AverageTime => of(counter, frequency * base),
            Formula::Average => of(counter, base),
            Formula::Elapsed => of(time - counter, frequency),
            Formula::Hexadecimal | Formula::Count | Formula::Difference => of(counter, 1),
            Formula::NotShown | Formula::Text | Formula::NotCalculable => of(0, 0),
        }
    }
}

impl Fraction {
    /// `100 · (1 − part / whole)`.
    fn not(part: u128, whole: u128) -> Fraction {
        Fraction { negative: part > whole, numerator: 100 * part.abs_diff(whole), denominator: whole }
    }

    fn is_above_100(&self) -> bool {
        !self.negative && self.numerator / 100 >= self.denominator && self.numerator > 100 * self.denominator
    }
}

/// `B1` or `B1 − B0`.
fn base_of(formula: Formula, bases: (u64, u64), notes: &mut Vec<Note>) -> Result<u64, Reason> {
    if !formula.uses_base_difference() {
        return if formula.uses_base() && bases.1 == 0 { Err(Reason::BaseZero) } else { Ok(bases.1) };
    }
    let wide = formula == Formula::Precision || bases.0.max(bases.1) > u32::MAX.into();
    let (difference, wrapped) = difference(bases, if wide { 64 } else { 32 }).ok_or(Reason::BaseWentBack)?;
    notes.extend(wrapped.then_some(Note::BaseWrapped));
    if difference == 0 { Err(Reason::BaseDidNotAdvance) } else { Ok(difference) }
}

/// `new − old` in this number of bits, and whether it wrapped. `None`: half of the range or more, so it went back.
fn difference((old, new): (u64, u64), bits: u32) -> Option<(u64, bool)> {
    let shift = 64 - bits;
    let difference = (new << shift).wrapping_sub(old << shift) >> shift;
    (difference < 1 << (bits - 1)).then_some((difference, new < old))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples as (counter, base, time, frequency).
    type Reading = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

    fn of(name: &str, samples: &[Reading]) -> String {
        let samples: Vec<CounterSample> = (samples.iter())
            .map(|&(counter, base, time, frequency)| CounterSample { counter, base, time, frequency })
            .collect();
        match calculate(CounterType::parse(name).unwrap(), &samples) {
            Err(reason) => reason.to_string(),
            Ok(value) => {
                let notes: Vec<&str> = value.notes.iter().map(|note| note.name()).collect();
                format!("{value} {}", notes.join(" ")).trim_end().to_owned()
            }
        }
    }

    const MOST: Option<u64> = Some(u64::MAX);
    const HALF: u64 = 1 << 63;

    #[test]
    fn the_largest_numbers_fit() {
        let (some, zero) = (Some, Some(0));
        assert_eq!(
            of("PERF_COUNTER_BULK_COUNT", &[(zero, None, zero, None), (some(HALF - 1), None, some(1), MOST)]),
            format!("{}.000000", u128::from(HALF - 1) * u128::from(u64::MAX))
        );
        assert_eq!(of("PERF_ELAPSED_TIME", &[(some(1), None, MOST, some(1))]), "18446744073709551614.000000");
        assert_eq!(
            of("PERF_AVERAGE_TIMER", &[(zero, zero, None, None), (some(1), some(HALF - 1), None, MOST)]),
            "0.000000"
        );
        let instances = some(u64::from(u32::MAX));
        assert_eq!(
            of("PERF_COUNTER_MULTI_TIMER_INV", &[(zero, None, zero, None), (zero, instances, MOST, None)]),
            "100.000000"
        );
        assert_eq!(
            of("PERF_LARGE_RAW_FRACTION", &[(MOST, some(1), None, None)]),
            "1844674407370955161500.000000 above-100"
        );
    }

    #[test]
    fn wraps_and_restarts_are_told_apart_at_half_of_the_range() {
        let delta =
            |name: &str, old: u64, new: u64| of(name, &[(Some(old), None, None, None), (Some(new), None, None, None)]);
        let (small, large) = ("PERF_COUNTER_DELTA", "PERF_COUNTER_LARGE_DELTA");
        assert_eq!(delta(small, 1 << 31, 0), "counter-went-back");
        assert_eq!(delta(small, (1 << 31) + 1, 0), "2147483647.000000 wrapped");
        assert_eq!(delta(small, 0, 1 << 31), "counter-went-back", "as far as half of the range");
        assert_eq!(delta(large, HALF, 0), "counter-went-back");
        assert_eq!(delta(large, HALF + 1, 0), "9223372036854775807.000000 wrapped");
        assert_eq!(delta(small, 1 << 32, 0), "value-too-large");
        // SQL Server pairs AVERAGE_BULK with a base of 64 bits.
        let average =
            |old, new| of("PERF_AVERAGE_BULK", &[(Some(0), Some(old), None, None), (Some(8), Some(new), None, None)]);
        assert_eq!(average(u64::from(u32::MAX), 3), "2.000000 base-wrapped");
        assert_eq!(average(u64::from(u32::MAX) - 3, 1 << 32), "2.000000");
        assert_eq!(average(1 << 32, 3), "base-went-back");
    }

    #[test]
    fn the_first_reason_that_applies_is_told() {
        let all = |counter, base, time, frequency| (Some(counter), Some(base), Some(time), Some(frequency));
        let none: Reading = (None, None, None, None);
        for (name, samples, reason) in [
            ("0x1", &[][..], "unknown-type"),
            ("PERF_COUNTER_TEXT", &[], "text"),
            ("PERF_COUNTER_COUNTER", &[], "no-sample"),
            ("PERF_COUNTER_COUNTER", &[none], "needs-two-samples"),
            ("PERF_COUNTER_COUNTER", &[none, all(1 << 32, 0, 0, 0)], "no-counter"),
            ("PERF_COUNTER_COUNTER", &[all(1 << 32, 0, 0, 0), all(0, 0, 0, 0)], "value-too-large"),
            ("PERF_COUNTER_COUNTER", &[(Some(1), None, None, None), all(0, 0, 0, 0)], "no-time"),
            ("PERF_COUNTER_COUNTER", &[all(1, 0, 9, 1), all(0, 0, 0, 0)], "no-frequency"),
            ("PERF_COUNTER_COUNTER", &[all(1, 0, 9, 1), all(0, 0, 0, 1)], "time-went-back"),
            ("PERF_COUNTER_MULTI_TIMER", &[all(1, 1, 0, 1), all(0, 1 << 32, 0, 1)], "value-too-large"),
            ("PERF_COUNTER_MULTI_TIMER", &[all(1, 1, 0, 1), all(0, 0, 0, 1)], "time-did-not-advance"),
            ("PERF_COUNTER_MULTI_TIMER", &[all(1, 1, 0, 1), all(0, 0, 1, 1)], "base-zero"),
            ("PERF_AVERAGE_TIMER", &[all(1, 9, 0, 0), all(0, 8, 0, 0)], "no-frequency"),
            ("PERF_AVERAGE_TIMER", &[all(1, 9, 0, 0), all(0, 8, 0, 1)], "base-went-back"),
            ("PERF_AVERAGE_TIMER", &[all(1, 9, 0, 0), all(0, 10, 0, 1)], "counter-went-back"),
            ("PERF_ELAPSED_TIME", &[all(0, 0, 0, 0)], "no-frequency"),
            ("PERF_ELAPSED_TIME", &[all(0, 0, 0, 1)], "no-start"),
            ("PERF_ELAPSED_TIME", &[none, all(2, 0, 1, 1)], "start-after-now"),
        ] {
            assert_eq!(of(name, samples), reason, "{name} {samples:?}");
        }
    }
}
