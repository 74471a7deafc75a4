//! Counter types: known cases, and properties on samples of any kind.

use pfnset::counter::samples::{Series, read};
use pfnset::counter::{Coded, CounterSample, CounterType, CounterValue, Predefined, Reason, calculate};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

fn named(name: &str) -> CounterType {
    CounterType::parse(name).expect("a name")
}

/// `fixtures/counters/cases.json`: computed by hand and with exact fractions by another program.
#[test]
fn known_cases_agree() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/counters/cases.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).expect("the cases")).expect("a list");
    assert_eq!(cases.len(), 73);
    for case in &cases {
        let counter_type = CounterType(u32::try_from(case["type"].as_u64().unwrap()).unwrap());
        let of = |sample: &Value| CounterSample {
            counter: sample["counter"].as_u64(),
            base: sample["base"].as_u64(),
            time: sample["time"].as_u64(),
            frequency: sample["frequency"].as_u64(),
        };
        let samples: Vec<CounterSample> = case["samples"].as_array().unwrap().iter().map(of).collect();
        let (fields, outcome) = (counter_type.fields(), calculate(counter_type, &samples));
        let text = |field: Option<Coded>| field.map(|field| field.to_string());
        let value = outcome.as_ref().ok();
        let found = json!({
            "name": counter_type.predefined().map(|known| known.name),
            "fields": {
                "size": fields.size.to_string(), "type": fields.kind.to_string(), "subtype": text(fields.subtype),
                "timer": text(fields.timer), "modifiers": fields.modifiers, "display": fields.display.to_string(),
                "reserved": format!("0x{:08x}", fields.reserved),
            },
            "result": value.map(CounterValue::to_string),
            "reason": outcome.as_ref().err().map(Reason::to_string),
            "display": value.map(CounterValue::display),
            "suffix": counter_type.suffix(),
            "notes": value.map_or(vec![], |value| value.notes.iter().map(|note| note.name()).collect()),
        });
        assert_eq!(found, case["expect"], "{}: {}", case["id"], case["what"]);
    }
}

/// Two samples of a counter, with a frequency of 10 MHz.
fn two(name: &str, counter: [u64; 2], base: [u64; 2], time: [u64; 2]) -> Result<CounterValue, Reason> {
    let sample = |n: usize| CounterSample {
        counter: Some(counter[n]),
        base: Some(base[n]),
        time: Some(time[n]),
        frequency: Some(10_000_000),
    };
    calculate(named(name), &[sample(0), sample(1)])
}

fn text(outcome: Result<CounterValue, Reason>) -> String {
    outcome.map_or_else(|reason| reason.to_string(), |value| value.to_string())
}

/// A fraction rounded to millionths, halves away from zero, in the slow way.
fn millionths(numerator: i128, denominator: i128) -> String {
    let twice = 2 * 1_000_000 * numerator.abs() / denominator;
    let rounded = (twice + 1) / 2;
    let sign = if numerator < 0 && rounded > 0 { "-" } else { "" };
    format!("{sign}{}.{:06}", rounded / 1_000_000, rounded % 1_000_000)
}

const RATES: [&str; 3] = ["PERF_COUNTER_COUNTER", "PERF_SAMPLE_COUNTER", "PERF_COUNTER_DELTA"];

proptest! {
    #[test]
    fn any_word_splits_into_its_parts(word: u32) {
        let counter_type = CounterType(word);
        let fields = counter_type.fields();
        let modifiers = ["PERF_DELTA_COUNTER", "PERF_DELTA_BASE", "PERF_INVERSE_COUNTER", "PERF_MULTI_COUNTER"];
        let bits = modifiers.iter().enumerate().filter(|(_, name)| fields.modifiers.contains(name));
        let together = fields.reserved
            | fields.size.code << 8
            | fields.kind.code << 10
            | fields.subtype.map_or(0, |field| field.code) << 16
            | fields.timer.map_or(0, |field| field.code) << 20
            | bits.map(|(bit, _)| 1 << (22 + bit)).sum::<u32>()
            | fields.display.code << 28;
        prop_assert_eq!(together, word);
        prop_assert_eq!(CounterType::parse(&counter_type.to_string()), Ok(counter_type));
        prop_assert_eq!(CounterType::parse(&word.to_string()), Ok(counter_type));
        let unknown = counter_type.predefined().is_none();
        prop_assert_eq!(calculate(counter_type, &[]) == Err(Reason::UnknownType), unknown);
    }

    /// Where a 32-bit counter stands does not matter: only how far it went.
    #[test]
    fn a_wrap_changes_no_value(old: u32, went in 0..1u32 << 31, moved: u32, time in 1u64..1 << 40, kind in 0..RATES.len()) {
        let of = |start: u32| {
            let counter = [start, start.wrapping_add(went)].map(u64::from);
            let value = two(RATES[kind], counter, [0, 0], [5, 5 + time]).expect("a value");
            let wrapped = value.notes.iter().any(|note| note.name() == "wrapped");
            assert_eq!(wrapped, counter[1] < counter[0]);
            value.to_string()
        };
        prop_assert_eq!(of(old), of(old.wrapping_add(moved)));
    }

    #[test]
    fn half_of_the_range_or_more_went_back(old: u32, back in 1..=1u32 << 31) {
        let counter = [old, old.wrapping_sub(back)].map(u64::from);
        prop_assert_eq!(two("PERF_COUNTER_COUNTER", counter, [0, 0], [0, 1]), Err(Reason::CounterWentBack));
    }

    /// A MULTI counter is the sum over instances: its value is the mean of theirs.
    #[test]
    fn multi_counters_are_means(busy in prop::collection::vec(0u64..1 << 40, 1..20), time in 1u64..1 << 40, base in 0u64..9) {
        let instances = busy.len() as u64;
        let sum: u64 = busy.iter().sum();
        for (multi, inverse, single) in [
            ("PERF_COUNTER_MULTI_TIMER", "PERF_COUNTER_MULTI_TIMER_INV", "PERF_COUNTER_TIMER"),
            ("PERF_100NSEC_MULTI_TIMER", "PERF_100NSEC_MULTI_TIMER_INV", "PERF_100NSEC_TIMER"),
        ] {
            let value = |name: &str, counter: u64| two(name, [7, 7 + counter], [base, instances], [9, 9 + time]).unwrap();
            let mean = busy.iter().map(|&busy| value(single, busy).value.to_f64()).sum::<f64>() / instances as f64;
            let found = value(multi, sum);
            prop_assert!((found.value.to_f64() - mean).abs() <= 1e-6 + mean * 1e-12, "{} {}", found, mean);
            // One instance over the time of all says the same, exactly.
            prop_assert_eq!(text(Ok(found.clone())), text(two(single, [0, sum], [0, 0], [0, time * instances])));
            let exact = millionths(100 * (i128::from(time * instances) - i128::from(sum)), i128::from(time * instances));
            let not_busy = value(inverse, sum);
            prop_assert_eq!(not_busy.to_string(), exact);
            prop_assert!((found.value.to_f64() + not_busy.value.to_f64() - 100.0).abs() <= 1e-6 + mean * 1e-12);
        }
    }

    #[test]
    fn values_are_exact_fractions(old in 0u64..1 << 31, went in 0u64..1 << 31, base in 1u64..1 << 30, time in 1u64..1 << 40) {
        let (c, b, t) = (i128::from(went), i128::from(base), i128::from(time));
        let mhz = 10_000_000;
        for (name, numerator, denominator) in [
            ("PERF_COUNTER_COUNTER", c * mhz, t),
            ("PERF_COUNTER_BULK_COUNT", c * mhz, t),
            ("PERF_COUNTER_LARGE_QUEUELEN_TYPE", c, t),
            ("PERF_OBJ_TIME_TIMER", 100 * c, t),
            ("PERF_100NSEC_TIMER_INV", 100 * (t - c), t),
            ("PERF_PRECISION_100NS_TIMER", 100 * c, b),
            ("PERF_SAMPLE_FRACTION", 100 * c, b),
            ("PERF_AVERAGE_TIMER", c, mhz * b),
            ("PERF_AVERAGE_BULK", c, b),
        ] {
            let found = two(name, [old, old + went], [3, 3 + base], [1, 1 + time]);
            prop_assert_eq!(text(found), millionths(numerator, denominator), "{}", name);
        }
    }

    /// Rows of one counter are its samples, whatever stands between them.
    #[test]
    fn interleaving_does_not_matter(
        samples in prop::collection::vec((0usize..4, 0u64..1 << 33, 0u64..100, 0u64..1000), 1..60),
    ) {
        let row = |&(counter, value, base, time): &(usize, u64, u64, u64)| {
            let known = &Predefined::ALL[counter * 9 % Predefined::ALL.len()];
            format!("c{counter},{},{value},{base},{time},1000,{time},{time},7\n", known.name)
        };
        let all = series(&samples.iter().map(row).collect::<String>());
        for counter in 0..4 {
            let alone: String = samples.iter().filter(|sample| sample.0 == counter).map(row).collect();
            let of = |series: &Series| -> Vec<String> {
                let own = series.rows.iter().filter(|row| series.counter(row).unwrap().0 == format!("c{counter}"));
                own.map(|row| format!("{:?} {:?}", row.time, row.value)).collect()
            };
            prop_assert_eq!(of(&all), of(&series(&alone)));
        }
    }
}

const HEADINGS: &str = "Counter,CounterType,RawValue,BaseValue,Timestamp_PerfTime,Frequency_PerfTime,\
                        Timestamp_Sys100NS,Timestamp_Object,Frequency_Object\n";

fn series(rows: &str) -> Series {
    read(format!("{HEADINGS}{rows}").as_bytes(), Path::new("x.csv")).expect("samples")
}
