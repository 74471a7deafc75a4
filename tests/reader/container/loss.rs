//! What was lost: holes in the sequence numbers, flags, counters, dropped-event records, and the advice drawn from it.

use super::serial;
use crate::opened::{Opened, open_sound};
use etl_writer::payloads::{header, process, process::Process};
use etl_writer::{Ptr::P8, Rec, Session, Trace};
use pfnset::trace::trust::Loss;
use pfnset::units::Nanos;

fn loss_of(opened: &Opened) -> (Loss, Vec<String>) {
    let trust = opened.trace.trust();
    (trust.loss.clone(), trust.warnings().texts())
}

fn small() -> Session {
    Session { buffer_size: 0x400, processors: 3, ..Session::windows10() }
}

/// 600 records, one each 1000 ticks (0.1 ms), processors in turn.
fn steady() -> impl Iterator<Item = Rec> {
    (0..600).map(|n| serial(n, n * 1_000).on((n % 3) as u16))
}

#[test]
fn nothing_lost() {
    let (loss, warnings) = loss_of(&open_sound(Trace::new(small()).push_all(steady())));
    assert!(!loss.any() && loss.counters_known && loss.summary().is_none() && loss.advice(0x400).is_none());
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_missing_buffer_is_a_hole_with_time_processor_and_what_it_hits() {
    // Records on all processors, then process rundowns on all of them, then records again.
    let rundown =
        |n: u64| Process::new(n as u32, "a.exe").rec(P8, 4, process::DC_END).at(small().t0 + 400_000 + n * 1_000);
    let trace = || {
        let rundowns = (0..60).map(|n| rundown(n).on((n % 3) as u16));
        let tail = (500..800).map(|n| serial(n, n * 1_000).on((n % 3) as u16));
        // The rundown is written at the stop.
        let session = Session { end_time: small().filetime(small().t0 + 800_000), ..small() };
        Trace::new(session).push_all(steady().take(300)).push_all(rundowns).push_all(tail)
    };
    let whole = open_sound(trace());
    let span = |b: usize| whole.trace.survey().spans[b].unwrap();
    // A buffer in the middle of processor 2's stream.
    let stream: Vec<usize> = (1..whole.buffers.len()).filter(|&i| whole.buffers[i].processor == 2).collect();
    let gone = stream[2];
    let sequence = whole.buffers[gone].sequence;
    let (loss, warnings) = loss_of(&open_sound(trace().lose_buffers(&[sequence])));
    assert_eq!((loss.missing_buffers, loss.holes.len()), (1, 1));
    let hole = &loss.holes[0];
    assert_eq!((hole.first_missing, hole.missing, hole.processor), (sequence, 1, Some(2)));
    let nanos = |ticks| whole.clock.nanos(ticks);
    assert_eq!(hole.silent, (nanos(span(stream[1]).last), nanos(span(stream[3]).first)));
    assert_eq!(hole.hits, Vec::<&str>::new());
    assert!(
        warnings[0].starts_with("DATA WAS LOST") && warnings[0].contains("1 missing sequence number"),
        "{warnings:?}"
    );
    assert!(warnings[1].contains("processor 2"), "{warnings:?}");

    // One inside the end rundown.
    let middle = whole.clock.origin.0 + 430_000;
    let inside = |&&i: &&usize| (span(i).first.0..=span(i).last.0).contains(&middle);
    let in_rundown = [whole.buffers[*stream.iter().find(inside).unwrap()].sequence];
    let (loss, warnings) = loss_of(&open_sound(trace().lose_buffers(&in_rundown)));
    assert_eq!(loss.missing_buffers, 1);
    assert_eq!((&loss.holes[0].hits[..], loss.holes[0].processor), (&["end rundown"][..], Some(2)));
    assert!(warnings.iter().any(|w| w.contains("it hits: end rundown")), "{warnings:?}");
}

/// It named one processor, and a time that ended before the other one had records again.
#[test]
fn buffers_of_several_processors_are_missing_in_one_silence() {
    let whole = open_sound(Trace::new(small()).push_all(steady()));
    let of = |processor| -> Vec<usize> {
        (1..whole.buffers.len()).filter(|&at| whole.buffers[at].processor == processor).collect()
    };
    let (first, second) = (of(1), of(2));
    let gone = [first[2], second[2]].map(|at| whole.buffers[at].sequence);
    let (loss, warnings) = loss_of(&open_sound(Trace::new(small()).push_all(steady()).lose_buffers(&gone)));
    let nanos = |ticks| whole.clock.nanos(ticks);
    let span = |at: usize| whole.trace.survey().spans[at].unwrap();
    let begins = [first[1], second[1]].map(|at| span(at).last);
    let ends = [first[3], second[3]].map(|at| span(at).first);
    for hole in &loss.holes {
        assert_eq!(hole.processors, [1, 2]);
        assert!(hole.silent.0 <= nanos(begins[0].min(begins[1])) && hole.silent.1 >= nanos(ends[0].max(ends[1])));
    }
    assert!(
        warnings[1].contains("2 buffers missing") && warnings[1].contains("processors 1 and 2, or not"),
        "{warnings:?}"
    );
}

#[test]
fn without_per_processor_buffers_no_processor_is_named() {
    let session = Session { mode: 0x1000_0001, ..small() };
    let (loss, _) = loss_of(&open_sound(Trace::new(session).push_all(steady()).lose_buffers(&[4, 5])));
    assert_eq!((loss.holes[0].processor, loss.holes[0].first_missing, loss.holes[0].missing), (None, 4, 2));
}

#[test]
fn many_holes_are_counted_and_the_first_hundred_described() {
    let trace = Trace::new(Session { buffer_size: 0x200, ..small() }).push_all((0..6_000).map(|n| serial(n, n)));
    let odd: Vec<u64> = (0..150).map(|n| 2 * n + 3).collect();
    let (loss, _) = loss_of(&open_sound(trace.lose_buffers(&odd)));
    assert_eq!((loss.missing_buffers, loss.holes.len()), (150, 100));
}

#[test]
fn a_part_of_a_series_begins_with_any_number() {
    let session = Session { mode: 0x8, ..small() };
    let (loss, _) = loss_of(&open_sound(Trace::new(session).sequence_from(908).push_all(steady())));
    assert!(!loss.any(), "{loss:?}");
    let (loss, _) = loss_of(&open_sound(Trace::new(small()).sequence_from(908).push_all(steady())));
    assert_eq!(loss.missing_buffers, 907, "in a sequential file these are lost");
}

#[test]
fn a_snapshot_of_a_ring_in_memory_begins_with_any_number() {
    let session = Session { mode: 0x0200_0400, ..small() };
    let (loss, _) = loss_of(&open_sound(Trace::new(session).sequence_from(5_000).push_all(steady())));
    assert!(!loss.any(), "{loss:?}");
}

/// Buffers get their numbers when they are taken into use and are overwritten in the order of the file, so what a
/// circular file has overwritten need not be one run of numbers.
#[test]
fn overwritten_buffers_of_several_processors_are_not_lost() {
    for slots in 4..20 {
        let opened = open_sound(Trace::new(small()).push_all(steady()).circular(slots));
        assert!(opened.header.buffers_written as usize > slots);
        let (loss, _) = loss_of(&opened);
        assert!(!loss.any(), "{slots}: {loss:?}");
    }
    // One that really went missing behind the overwritten ones is.
    let written = open_sound(Trace::new(small()).push_all(steady())).buffers.len() as u32 - 1;
    let gone = u64::from(written) - 4;
    let session = Session { buffers_written: Some(written), ..small() };
    let opened = open_sound(Trace::new(session).push_all(steady()).lose_buffers(&[gone]).circular(12));
    let (loss, _) = loss_of(&opened);
    assert_eq!((loss.missing_buffers, loss.holes.len()), (1, 1), "{loss:?}");
    assert_eq!(loss.holes[0].first_missing, gone);
}

#[test]
fn session_counters_and_flags() {
    let session = Session { events_lost: 41, buffers_lost: 2, ..small() };
    let trace = Trace::new(session).push_all(steady()).edit_buffers(|buffers| {
        buffers[1].flags |= 0x02;
        buffers[3].flags |= 0x06;
    });
    let (loss, warnings) = loss_of(&open_sound(trace));
    assert_eq!((loss.events_lost, loss.buffers_lost), (41, 2));
    assert_eq!((loss.flagged_events_lost, loss.flagged_buffer_lost), (2, 1));
    for part in ["41 events", "2 buffers", "2 buffers flagged \"events lost\"", "1 buffer flagged \"buffer lost\""] {
        assert!(warnings[0].contains(part), "{part} in {warnings:?}");
    }
}

#[test]
fn counters_of_a_session_that_was_never_stopped_mean_nothing() {
    let (loss, _) = loss_of(&open_sound(Trace::new(Session { end_time: 0, ..small() }).push_all(steady())));
    assert!(!loss.counters_known && !loss.any());
}

#[test]
fn dropped_events_are_told_by_processor_with_the_last_time_of_each() {
    let t0 = small().t0;
    let times = |times: &[u64]| header::last_dropped(P8, times).at(t0 + 900_000);
    let trace =
        Trace::new(small()).push_all(steady()).push(times(&[0, t0 + 10, t0 + 500])).push(times(&[0, t0 + 70, 0]));
    let (loss, warnings) = loss_of(&open_sound(trace));
    assert_eq!(loss.dropped, [(1, Nanos(7_000)), (2, Nanos(50_000))]);
    assert!(warnings[0].contains("2 processors with dropped events"), "{warnings:?}");
}

#[test]
fn advice_has_the_numbers_of_the_peak() {
    // 40 bytes or 24 bytes for each record, 10,000 records/s, but for one burst of 100 records in 0.1 ms.
    let burst = (0..100).map(|n| serial(2 * n, 700_000 + n * 10));
    let trace = Trace::new(Session { events_lost: 1, ..small() }).push_all(steady()).push_all(burst);
    let (loss, warnings) = loss_of(&open_sound(trace));
    let peak = loss.peak.unwrap();
    assert!((0.0599..0.0702).contains(&peak.at.seconds()), "{peak:?}");
    assert!((6_000..12_000).contains(&peak.events_per_second), "{peak:?}");
    let advice = warnings.iter().find(|w| w.starts_with("Advice:")).unwrap();
    assert!(advice.contains("-MinBuffers 6 -MaxBuffers 12") && advice.contains("1 KiB buffers"), "{advice}");
}

#[test]
fn advice_says_what_the_loss_tells_and_no_more() {
    let advice = |session, recs: Vec<Rec>| {
        let (_, warnings) = loss_of(&open_sound(Trace::new(session).push_all(recs)));
        warnings.into_iter().find(|w| w.starts_with("Advice:")).unwrap()
    };
    let lossy = Session { events_lost: 3, ..small() };
    // A slow session: more buffers would not have helped.
    let slow = advice(lossy.clone(), (0..20).map(|n| serial(n, n * 1_000_000)).collect());
    assert!(slow.contains("the rate does not explain the loss"), "{slow}");
    assert!(!slow.contains("-BufferSize") && !slow.contains("record with"), "{slow}");
    // A fast session without events of the kernel: no flags of the kernel's recorder.
    let event = |n: u64| Rec::event(P8, [7; 16], 1, 0, vec![0; 16]).at(lossy.t0 + n * 1_000);
    let user = advice(lossy.clone(), (0..600).map(event).collect());
    assert!(user.contains("<Buffers Value=\"6\"/>") && user.contains("logman") && !user.contains("xperf"), "{user}");
}
