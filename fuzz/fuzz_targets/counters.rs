//! Files of raw samples, and samples of any type: a value has a text that can be read back, or there is a reason.
//!
//! Input: 0 and a file, or another byte, a type word and two samples of four numbers each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::counter::{CounterSample, CounterType, calculate, samples};
use std::path::Path;

fuzz_target!(|data: &[u8]| match data.split_first() {
    Some((0, file)) => read(file),
    Some((_, numbers)) => calculated(numbers),
    None => {}
});

fn read(file: &[u8]) {
    let Ok(series) = samples::read(file, Path::new("samples.csv")) else { return };
    assert!(series.rows.len() <= file.len());
    for row in &series.rows {
        let (_, counter_type) = series.counter(row).expect("a row has a counter");
        match &row.value {
            Ok(value) => look(value),
            Err(reason) => assert!(!reason.to_string().is_empty()),
        }
        assert_eq!(CounterType::parse(&counter_type.to_string()), Ok(counter_type));
    }
}

fn calculated(numbers: &[u8]) {
    let Some((word, numbers)) = numbers.split_first_chunk() else { return };
    let mut numbers = numbers.chunks(8).map(|bytes| {
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    });
    let mut sample = || CounterSample {
        counter: numbers.next(),
        base: numbers.next(),
        time: numbers.next(),
        frequency: numbers.next(),
    };
    let both = [sample(), sample()];
    let counter_type = CounterType(u32::from_le_bytes(*word));
    let _ = counter_type.fields();
    if let Ok(value) = calculate(counter_type, &both) {
        look(&value);
    }
}

fn look(value: &pfnset::counter::CounterValue) {
    let (text, shown) = (value.to_string(), value.display());
    let (whole, decimals) = text.split_once('.').expect("a point");
    assert!(decimals.len() == 6 && whole.trim_start_matches('-').parse::<u128>().is_ok(), "{text}");
    assert!(
        text.parse::<f64>().is_ok_and(|number| (number - value.value.to_f64()).abs() <= number.abs() * 1e-9 + 1e-9)
    );
    assert!(!shown.is_empty() && text != "-0.000000");
}
