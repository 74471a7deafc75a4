//! The types that Windows defines: words, names and formulas. Sources: `winperf.h`, Microsoft Learn, .NET's
//! `PerformanceCounterType`; `docs/counters.md` lists where they disagree.

use crate::counter::formula::{BaseCounter, Formula};
use crate::counter::type_word::CounterType;
use thiserror::Error;

/// A type that Windows defines.
#[derive(Debug)]
pub struct Predefined {
    /// The word.
    pub counter_type: CounterType,
    /// Name in `winperf.h`.
    pub name: &'static str,
    /// Name in .NET, which PowerShell's `Get-Counter` prints.
    pub dotnet: Option<&'static str>,
    /// How values are made.
    pub formula: Formula,
    /// The counter that must stand beside it.
    pub base: Option<BaseCounter>,
}

/// No counter type has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no counter type; expected a number, as in 0x20410500, or a name, as in PERF_COUNTER_TIMER or CounterTimer")]
pub struct UnknownType;

/// The base of precision timers has two names in `winperf.h`.
const TIMESTAMP: (CounterType, &str) = (CounterType(0x4003_0500), "PERF_PRECISION_TIMESTAMP");

/// Makes the table: word, name, .NET's name, formula, base.
macro_rules! predefined {
    ($($word:literal $name:literal $dotnet:expr, $formula:ident $($base:ident)?;)*) => {
        impl Predefined {
            /// All of them, in the order of `docs/counters.md`.
            pub const ALL: &'static [Predefined] = &[$(Predefined {
                counter_type: CounterType($word),
                name: concat!("PERF_", $name),
                dotnet: $dotnet,
                formula: Formula::$formula,
                base: [$(Some(BaseCounter::$base),)? None][0],
            }),*];
        }
    };
}

predefined! {
    0x0000_0000 "COUNTER_RAWCOUNT_HEX" Some("NumberOfItemsHEX32"), Hexadecimal;
    0x0000_0100 "COUNTER_LARGE_RAWCOUNT_HEX" Some("NumberOfItemsHEX64"), Hexadecimal;
    0x0001_0000 "COUNTER_RAWCOUNT" Some("NumberOfItems32"), Count;
    0x0001_0100 "COUNTER_LARGE_RAWCOUNT" Some("NumberOfItems64"), Count;
    0x0040_0400 "COUNTER_DELTA" Some("CounterDelta32"), Difference;
    0x0040_0500 "COUNTER_LARGE_DELTA" Some("CounterDelta64"), Difference;
    0x0041_0400 "SAMPLE_COUNTER" Some("SampleCounter"), Rate;
    0x0045_0400 "COUNTER_QUEUELEN_TYPE" Some("CountPerTimeInterval32"), QueueLength;
    0x0045_0500 "COUNTER_LARGE_QUEUELEN_TYPE" Some("CountPerTimeInterval64"), QueueLength;
    0x0055_0500 "COUNTER_100NS_QUEUELEN_TYPE" None, QueueLength;
    0x0065_0500 "COUNTER_OBJ_TIME_QUEUELEN_TYPE" None, QueueLength;
    0x1041_0400 "COUNTER_COUNTER" Some("RateOfCountsPerSecond32"), Rate;
    0x1041_0500 "COUNTER_BULK_COUNT" Some("RateOfCountsPerSecond64"), Rate;
    0x2041_0500 "COUNTER_TIMER" Some("CounterTimer"), Busy;
    0x2051_0500 "100NSEC_TIMER" Some("Timer100Ns"), Busy;
    0x2061_0500 "OBJ_TIME_TIMER" None, Busy;
    0x2141_0500 "COUNTER_TIMER_INV" Some("CounterTimerInverse"), NotIdle;
    0x2151_0500 "100NSEC_TIMER_INV" Some("Timer100NsInverse"), NotIdle;
    0x2241_0500 "COUNTER_MULTI_TIMER" Some("CounterMultiTimer"), MeanBusy MultiBase;
    0x2251_0500 "100NSEC_MULTI_TIMER" Some("CounterMultiTimer100Ns"), MeanBusy MultiBase;
    0x2341_0500 "COUNTER_MULTI_TIMER_INV" Some("CounterMultiTimerInverse"), MeanNotIdle MultiBase;
    0x2351_0500 "100NSEC_MULTI_TIMER_INV" Some("CounterMultiTimer100NsInverse"), MeanNotIdle MultiBase;
    0x2047_0500 "PRECISION_SYSTEM_TIMER" None, Precision Timestamp;
    0x2057_0500 "PRECISION_100NS_TIMER" None, Precision Timestamp;
    0x2067_0500 "PRECISION_OBJECT_TIMER" None, Precision Timestamp;
    0x2002_0400 "RAW_FRACTION" Some("RawFraction"), Fraction RawBase;
    0x2002_0500 "LARGE_RAW_FRACTION" None, Fraction LargeRawBase;
    0x20c2_0400 "SAMPLE_FRACTION" Some("SampleFraction"), SampleFraction SampleBase;
    0x3002_0400 "AVERAGE_TIMER" Some("AverageTimer32"), AverageTime AverageBase;
    0x4002_0500 "AVERAGE_BULK" Some("AverageCount64"), Average AverageBase;
    0x3024_0500 "ELAPSED_TIME" Some("ElapsedTime"), Elapsed;
    0x4003_0401 "SAMPLE_BASE" Some("SampleBase"), NotShown;
    0x4003_0402 "AVERAGE_BASE" Some("AverageBase"), NotShown;
    0x4003_0403 "RAW_BASE" Some("RawBase"), NotShown;
    0x4003_0500 "LARGE_RAW_BASE" None, NotShown;
    0x4003_0503 "LARGE_RAW_BASE" None, NotShown;
    0x4203_0500 "COUNTER_MULTI_BASE" Some("CounterMultiBase"), NotShown;
    0x4000_0200 "COUNTER_NODATA" None, NotShown;
    0x0000_0b00 "COUNTER_TEXT" None, Text;
    0x8000_0000 "COUNTER_HISTOGRAM_TYPE" None, NotCalculable;
    0x0001_2000 "DOUBLE_RAW" None, NotCalculable;
}

impl Predefined {
    /// Another name for the same word.
    pub fn alias(&self) -> Option<&'static str> {
        Some(TIMESTAMP.1).filter(|_| self.counter_type == TIMESTAMP.0)
    }

    /// True for one of its names, with or without `PERF_`, without case.
    pub fn has_name(&self, text: &str) -> bool {
        let is = |name: &str| {
            text.eq_ignore_ascii_case(name)
                || name.strip_prefix("PERF_").is_some_and(|short| text.eq_ignore_ascii_case(short))
        };
        [Some(self.name), self.alias(), self.dotnet].into_iter().flatten().any(is)
    }
}

impl CounterType {
    /// What Windows defines for this word; `None` for words that it does not define.
    pub fn predefined(self) -> Option<&'static Predefined> {
        Predefined::ALL.iter().find(|known| known.counter_type == self)
    }

    /// The name in `winperf.h`, or the word as `0x…`.
    pub fn label(self) -> String {
        self.predefined().map_or_else(|| self.to_string(), |known| known.name.to_owned())
    }

    /// Reads a number (decimal, `0x…`, or negative as signed 32 bits are) or a name: `PERF_COUNTER_TIMER`,
    /// `COUNTER_TIMER` or .NET's `CounterTimer`, without case.
    ///
    /// # Errors
    /// [`UnknownType`].
    pub fn parse(text: &str) -> Result<CounterType, UnknownType> {
        let text = text.trim();
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let number = match hexadecimal {
            // `from_str_radix` takes a sign.
            Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => u32::from_str_radix(digits, 16).ok(),
            Some(_) => None,
            None => as_documented(text)
                .or_else(|| text.parse().ok())
                .or_else(|| text.parse::<i32>().ok().map(i32::cast_unsigned)),
        };
        let named = || Predefined::ALL.iter().find(|known| known.has_name(text)).map(|known| known.counter_type);
        number.map(CounterType).or_else(named).ok_or(UnknownType)
    }
}

/// Eight hexadecimal digits, as documents write a type (`30020500`), where they are no known type as a decimal number.
fn as_documented(text: &str) -> Option<u32> {
    let is_known = |number: u32| Predefined::ALL.iter().any(|known| known.counter_type == CounterType(number));
    let all_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(text, 16).ok().filter(|_| all_digits)?;
    (is_known(number) && !text.parse().is_ok_and(is_known)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_and_names_are_unique() {
        let words: BTreeSet<CounterType> = Predefined::ALL.iter().map(|known| known.counter_type).collect();
        assert_eq!((words.len(), Predefined::ALL.len()), (41, 41));
        for known in Predefined::ALL {
            for name in [Some(known.name), known.alias(), known.dotnet].into_iter().flatten() {
                let found: Vec<&str> = Predefined::ALL.iter().filter(|k| k.has_name(name)).map(|k| k.name).collect();
                let expected = if name == "PERF_LARGE_RAW_BASE" { 2 } else { 1 };
                assert_eq!(found.len(), expected, "{name}: {found:?}");
            }
        }
    }

    #[test]
    fn numbers_are_read_as_documents_write_them() {
        for known in Predefined::ALL {
            let number = known.counter_type.0;
            for text in [format!("{number:08x}"), format!("{number:08X}"), format!("0x{number:x}"), number.to_string()]
            {
                assert_eq!(CounterType::parse(&text).ok(), Some(known.counter_type), "{text}");
            }
        }
        assert_eq!(CounterType::parse("12345678").ok(), Some(CounterType(12_345_678)));
    }

    /// What a formula uses must agree with the bits of the word, but for the two averages, whose bits say less.
    #[test]
    fn formulas_agree_with_the_bits() {
        for known in Predefined::ALL {
            let modifiers = known.counter_type.fields().modifiers;
            let has = |name: &str| modifiers.contains(&name);
            let averages = [Formula::AverageTime, Formula::Average];
            let two = known.formula.samples() == 2;
            assert_eq!(two, has("PERF_DELTA_COUNTER") || averages.contains(&known.formula), "{}", known.name);
            let inverse = [Formula::NotIdle, Formula::MeanNotIdle].contains(&known.formula);
            assert_eq!(inverse, has("PERF_INVERSE_COUNTER"), "{}", known.name);
            let multi = [Formula::MeanBusy, Formula::MeanNotIdle].contains(&known.formula);
            assert_eq!(multi || known.name == "PERF_COUNTER_MULTI_BASE", has("PERF_MULTI_COUNTER"), "{}", known.name);
            let percent = known.counter_type.suffix() == Some("%");
            assert_eq!(known.formula.is_percentage(), percent, "{}", known.name);
            assert_eq!(known.formula.uses_base(), known.base.is_some(), "{}", known.name);
        }
    }

    #[test]
    fn types_are_read_as_numbers_and_by_their_names() {
        let timer = CounterType(0x2041_0500);
        for text in ["0x20410500", "0X20410500", "541132032", " PERF_COUNTER_TIMER ", "counter_timer", "countertimer"] {
            assert_eq!(CounterType::parse(text), Ok(timer), "{text}");
        }
        assert_eq!(CounterType::parse("-2147483648"), Ok(CounterType(0x8000_0000)));
        assert_eq!(CounterType::parse("PERF_PRECISION_TIMESTAMP"), Ok(CounterType(0x4003_0500)));
        assert_eq!(
            CounterType::parse("PERF_LARGE_RAW_BASE"),
            Ok(CounterType(0x4003_0500)),
            "not the word that ends in 3"
        );
        for text in ["", "0x", "0x+1", "0x120410500", "4294967296", "-2147483649", "1.0", "COUNTER", "PERF_"] {
            assert_eq!(CounterType::parse(text), Err(UnknownType), "{text}");
        }
    }
}
