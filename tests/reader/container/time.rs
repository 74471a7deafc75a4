//! Time: four clock types, integer conversion that is exact for any stamp, and stamps before the start.

use super::serial;
use crate::opened::{open, open_sound};
use etl_writer::{Ptr, Rec, Session, Trace};
use pfnset::etl::clock::{Clock, ClockKind};
use pfnset::units::{FileTime, Nanos, Ticks};
use proptest::prelude::*;

const START: u64 = 132_949_636_400_000_000;

#[test]
fn the_performance_counter() {
    for frequency in [10_000_000, 2_337_949, 14_318_180, 3_579_545, 24_000_000_000] {
        let session = Session { frequency, ..Session::windows10() };
        let t0 = session.t0;
        let opened = open_sound(Trace::new(session).push(serial(1, 0).at(t0 + 8 * 3600 * frequency + 1)));
        assert_eq!((opened.clock.kind, opened.clock.frequency_hz), (ClockKind::Qpc, frequency));
        let raw = opened.data()[0].time;
        let expected = 8 * 3600 * 1_000_000_000 + 1_000_000_000 / i128::from(frequency);
        assert_eq!(opened.clock.nanos(raw), Nanos(expected));
        assert_eq!(opened.clock.filetime(raw), FileTime(START + 8 * 3600 * 10_000_000 + 10_000_000 / frequency));
    }
}

#[test]
fn system_time() {
    let session = Session { clock: 2, t0: START, frequency: 3_000_000, ..Session::windows10() };
    let opened = open_sound(Trace::new(session).push(serial(1, 0).at(START + 12_345)));
    assert_eq!((opened.clock.kind, opened.clock.frequency_hz), (ClockKind::SystemTime, 10_000_000));
    let raw = opened.data()[0].time;
    assert_eq!((opened.clock.nanos(raw), opened.clock.filetime(raw)), (Nanos(1_234_500), FileTime(START + 12_345)));
}

#[test]
fn cpu_cycles_are_coarse_and_said_to_be() {
    let session = Session { clock: 3, cpu_mhz: 2_904, t0: 77, ..Session::windows10() };
    let opened = open_sound(Trace::new(session).push(serial(1, 0).at(77 + 2_904_000_000 * 10)));
    assert_eq!((opened.clock.kind, opened.clock.frequency_hz), (ClockKind::CpuCycle, 2_904_000_000));
    assert_eq!(opened.clock.nanos(opened.data()[0].time), Nanos(10_000_000_000));
    assert!(opened.warnings[0].contains("coarse"), "{:?}", opened.warnings);
}

#[test]
fn clock_type_0_is_system_time_when_stamps_look_like_it() {
    let session = Session { clock: 0, t0: START + 100, ..Session::vista() };
    let opened = open_sound(Trace::new(session).push(serial(1, 0).at(START + 200)));
    assert_eq!((opened.clock.kind, opened.warnings.len()), (ClockKind::SystemTime, 0));
    assert_eq!(opened.clock.nanos(opened.data()[0].time), Nanos(10_000));

    let opened = open_sound(Trace::new(Session { clock: 0, ..Session::vista() }).push(serial(1, 14_318_180)));
    assert_eq!((opened.clock.kind, opened.warnings.len()), (ClockKind::Qpc, 1));
    assert_eq!(opened.clock.nanos(opened.data()[0].time), Nanos(1_000_000_000));
}

#[test]
fn stamps_before_the_start_are_negative_and_floored() {
    let session = Session { frequency: 3_000_000, ..Session::windows10() };
    let t0 = session.t0;
    let opened = open_sound(Trace::new(session).push(serial(1, 0).at(t0 - 1)).push(serial(2, 0).at(t0 - 4)));
    let times: Vec<Nanos> = opened.data().iter().map(|read| opened.clock.nanos(read.time)).collect();
    assert_eq!(times, [Nanos(-334), Nanos(-1_334)]);
    assert_eq!(opened.clock.filetime(opened.data()[1].time), FileTime(START - 14));
    // Times run backwards in that buffer: sorted, counted, said.
    let warnings = opened.trace.trust().warnings();
    assert!(warnings.iter().any(|w| w.text.contains("out of time order")), "{warnings:?}");
}

#[test]
fn records_behind_the_end_time_count() {
    let session = Session { end_time: START + 10_000_000, ..Session::windows10() };
    let opened = open_sound(Trace::new(session).push(serial(1, 35_000_000)));
    let info = pfnset::analysis::info::TraceInfo::answer(&opened.trace);
    assert_eq!((info.duration, info.end), (Nanos(3_500_000_000), Some(FileTime(START + 10_000_000))));
}

#[test]
fn a_session_that_idles_for_hours_takes_no_more_memory() {
    let t0 = Session::windows10().t0;
    let late = t0 + 10_000_000 * 86_400 * 365;
    let opened = open_sound(Trace::new(Session::windows10()).push_all((0..10).map(|n| serial(n, 0).at(late + n))));
    let loss = &opened.trace.trust().loss;
    assert!(loss.peak.unwrap().at.0 > 364 * 86_400 * 1_000_000_000);
}

#[test]
fn a_header_record_without_frequency_warns() {
    let opened = open(&Trace::new(Session { frequency: 0, ..Session::windows10() }).finish());
    assert!(opened.warnings[0].contains("frequency is 0"), "{:?}", opened.warnings);
    let opened = open(&Trace::new(Session { clock: 3, cpu_mhz: 0, ..Session::windows10() }).finish());
    assert!(opened.warnings.iter().any(|w| w.contains("frequency is 0")), "{:?}", opened.warnings);
}

#[test]
fn extreme_stamps_do_not_overflow() {
    let stamps = [0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64];
    for session in [Session::windows10(), Session { t0: u64::MAX, frequency: 1, ..Session::windows10() }] {
        let trace = Trace::new(session).push_all(stamps.map(|at| Rec::perf(Ptr::P8, 1, 0, vec![]).at(at)));
        let opened = open(&trace.finish());
        let info = pfnset::analysis::info::TraceInfo::answer(&opened.trace);
        let answer = pfnset::answer::info::answer(&info, opened.path(), &[]);
        let look = pfnset::forms::Look { width: 100, color: false, rows: None };
        let mut text = Vec::new();
        pfnset::forms::write(&answer, pfnset::forms::Form::Text(look), &mut text).unwrap();
        pfnset::forms::write(&answer, pfnset::forms::Form::Csv(Default::default()), &mut text).unwrap();
        let mut json = Vec::new();
        pfnset::forms::write(&answer, pfnset::forms::Form::Json, &mut json).unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&json).unwrap()["file"]["events"], 6);
    }
}

proptest! {
    /// ⌊d · 10⁹ / f⌋ by its definition, for any stamp and frequency; UTC likewise.
    #[test]
    fn conversion_is_the_exact_floor(raw in any::<i64>(), origin in any::<i64>(), frequency_hz in 1..=u64::MAX, start in 0..u64::MAX / 2) {
        let clock = Clock { kind: ClockKind::Qpc, frequency_hz, origin: Ticks(origin), start: FileTime(start) };
        let ticks = i128::from(raw) - i128::from(origin);
        let is_floor = |value: i128, per_second: i128| {
            // value · f ≤ d · s < (value + 1) · f, in 128 bits: |d| < 2⁶⁴, s < 2³⁰, and value · f is close to d · s.
            let (f, exact) = (i128::from(frequency_hz), ticks * per_second);
            value.checked_mul(f).is_some_and(|low| low <= exact && exact - low < f)
        };
        prop_assert!(is_floor(clock.nanos(Ticks(raw)).0, 1_000_000_000));
        let units = i128::from(clock.filetime(Ticks(raw)).0) - i128::from(start);
        let clamped = units == -i128::from(start) || units == i128::from(u64::MAX - start);
        prop_assert!(clamped || is_floor(units, 10_000_000));
    }

    /// No drift: the time of a stamp is that of its parts.
    #[test]
    fn ticks_come_back_from_their_time(seconds in 0i64..1_000_000, part in 0i64..2_337_949) {
        let clock = Clock { kind: ClockKind::Qpc, frequency_hz: 2_337_949, origin: Ticks(42), start: FileTime(START) };
        let raw = Ticks(42 + seconds * 2_337_949 + part);
        let Nanos(nanos) = clock.nanos(raw);
        prop_assert_eq!(nanos.div_euclid(1_000_000_000), i128::from(seconds));
        prop_assert!(clock.ticks_at(Nanos(nanos)) <= raw && raw <= clock.ticks_at(Nanos(nanos + 428)));
    }
}
