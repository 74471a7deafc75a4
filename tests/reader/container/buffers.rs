//! Buffers: compression, sizes, processors, empty ones, and files whose buffers are not in order.

use super::{both, serial};
use crate::opened::{Read, open, open_sound};
use etl_writer::{Compression, Rec, Session, Storage, Trace};
use pfnset::analysis::info::TraceInfo;
use pfnset::etl::log_file_header::LogFileHeader;
use pfnset::unstable_api::{circular_start, ranks};

/// `count` numbered records, one for each tick, spread over `processors`.
fn numbered(count: u64, processors: u16) -> impl Iterator<Item = Rec> {
    (0..count).map(move |n| serial(n, n + 1).on((n * n % u64::from(processors)) as u16))
}

/// Numbers in the order of buffer ranks.
fn by_rank(opened: &crate::opened::Opened) -> Vec<u64> {
    let ranks = ranks(&opened.buffers);
    let mut records = Vec::new();
    for (index, rank) in ranks.into_iter().enumerate().skip(1) {
        let mut scratch = Vec::new();
        let area = opened.area(index, &mut scratch);
        let payloads = area.records().map(|raw| raw.kernel_payload().unwrap().try_into().unwrap());
        records.extend(payloads.enumerate().map(|(place, bytes)| (rank, place, u64::from_le_bytes(bytes))));
    }
    records.sort();
    records.into_iter().map(|(.., number)| number).collect()
}

#[test]
fn the_three_compression_formats_give_what_was_written() {
    for (_, session) in both() {
        let session = Session { buffer_size: 0x4000, ..session };
        let plain = open_sound(Trace::new(session.clone()).push_all(numbered(4_000, 4)));
        assert!(!plain.is_compressed() && plain.buffers.len() > 8);
        for format in [Compression::Xpress, Compression::Lznt1, Compression::Huffman] {
            let trace = Trace::new(session.clone().compressed(format)).push_all(numbered(4_000, 4));
            let packed = open_sound(trace);
            assert!(packed.buffers.iter().skip(1).all(|b| b.is_compressed()), "{format:?}");
            assert_eq!(packed.data(), plain.data(), "{format:?}");
            assert!(packed.size_bytes() < plain.size_bytes(), "{format:?}");
        }
    }
}

#[test]
fn compressed_buffers_have_any_size_and_start_anywhere() {
    let session = Session { buffer_size: 0x2000, ..Session::windows8().merged() };
    let odd = |n: u64| Rec {
        payload: [n.to_le_bytes().to_vec(), vec![n as u8; (n * 37 % 900) as usize]].concat(),
        ..serial(n, n)
    };
    let opened = open_sound(Trace::new(session).push_all((0..400).map(odd)));
    let sizes: std::collections::BTreeSet<u32> = opened.buffers.iter().map(|b| b.size_bytes).collect();
    assert!(sizes.len() > 5 && opened.buffers.iter().any(|b| b.offset.0 % 8 != 0), "{sizes:?}");
    assert_eq!(opened.data().len(), 400);
    assert!((0..400).zip(opened.data()).all(|(n, read)| read.payload == odd(n).payload));
}

#[test]
fn uncompressed_buffers_inside_compressed_files() {
    for format in [Compression::Xpress, Compression::Lznt1, Compression::Huffman] {
        let session = Session { buffer_size: 0x1000, ..Session::windows10().compressed(format) };
        let trace = Trace::new(session).push_all(numbered(1_000, 1));
        let trace = trace.plain_buffers(&[0, 3], Storage::PlainTight).plain_buffers(&[2, 5], Storage::PlainPadded);
        let opened = open_sound(trace);
        let packed: Vec<bool> = opened.buffers.iter().skip(1).take(7).map(|b| b.is_compressed()).collect();
        assert_eq!(packed, [false, true, false, false, true, false, true]);
        assert_eq!(opened.serials(), (0..1_000).collect::<Vec<_>>());
    }
}

#[test]
fn processors_above_255() {
    let numbers = [0, 1, 255, 256, 0x3ff, 0x7ff];
    let session = Session { processors: 2_048, buffer_size: 0x400, ..Session::windows11() };
    let trace = Trace::new(session).push_all((0..).zip(numbers).map(|(n, cpu)| serial(n, n).on(cpu)));
    let opened = open_sound(trace);
    let found: Vec<u16> = opened.data().iter().map(|read| read.processor).collect();
    assert_eq!(found, numbers);
    assert_eq!(opened.trace.survey().by_processor.keys().copied().collect::<Vec<_>>(), numbers);
}

#[test]
fn the_processor_field_before_windows_8() {
    for session in [Session::windows7(), Session::vista()] {
        let trace = Trace::new(session).push_all([0, 12, 255].map(|cpu| serial(u64::from(cpu), 1).on(cpu)));
        let found: Vec<(u16, u64)> =
            open_sound(trace).data().iter().map(|read| (read.processor, read.serial())).collect();
        assert_eq!(found, [(0, 0), (12, 12), (255, 255)]);
    }
}

#[test]
fn empty_buffers_anywhere() {
    for session in [Session::windows10(), Session::windows10().merged()] {
        let trace = Trace::new(session)
            .empty_buffer(0)
            .push(serial(0, 1))
            .flush_all()
            .empty_buffer(2)
            .push(serial(1, 2))
            .flush_all();
        let opened = open_sound(trace.empty_buffer(1).empty_buffer(1));
        assert_eq!(opened.serials(), [0, 1]);
        assert_eq!(opened.buffers.len(), 7);
        let survey = opened.trace.survey();
        assert_eq!(survey.by_processor.iter().map(|(cpu, count)| (*cpu, *count)).collect::<Vec<_>>(), [(0, 3)]);
        assert_eq!(survey.spans.iter().filter(|span| span.is_none()).count(), 4);
    }
    // Nothing but the log-file header.
    let opened = open_sound(Trace::new(Session::windows10()));
    assert_eq!((opened.reads().len(), opened.buffers.len()), (1, 1));
}

#[test]
fn buffers_out_of_file_order_are_ranked_by_sequence_number() {
    for (_, session) in both() {
        for seed in 0..4 {
            let session = Session { buffer_size: 0x400, ..session.clone() };
            let opened = open_sound(Trace::new(session).push_all(numbered(500, 1)).shuffled(seed));
            assert!(opened.serials() != (0..500).collect::<Vec<_>>());
            assert!(!ranks(&opened.buffers).is_sorted());
            assert_eq!(by_rank(&opened), (0..500).collect::<Vec<_>>());
        }
    }
}

/// With N buffers in the file, S of them at its start never overwritten, and W ever written, the oldest is number
/// S + (W − S) mod (N − S).
#[test]
fn a_circular_file_that_wrapped_begins_where_the_formula_says() {
    const N: usize = 7;
    for total in [50, 100, 150, 160, 220, 350, 400, 477] {
        let session = Session { buffer_size: 0x400, ..Session::windows10() };
        let opened = open_sound(Trace::new(session).push_all(numbered(total, 1)).circular(N));
        let (written, start) = (opened.header.buffers_written as usize, opened.header.start_buffers as usize);
        let kept = opened.data().len() as u64;
        assert_eq!(by_rank(&opened), (total - kept..total).collect::<Vec<_>>());
        let ranks = ranks(&opened.buffers);
        let wrapped = written > N;
        assert_eq!(wrapped, total >= 220, "{total}");
        let warnings = opened.trace.trust().warnings();
        assert!(warnings.is_empty(), "{total}: {warnings:?}");
        assert_eq!(circular_start(&opened.header, N).is_some(), wrapped, "{total}");
        if wrapped {
            let oldest = start + (written - start) % (N - start);
            assert_eq!(circular_start(&opened.header, N), Some(oldest));
            assert_eq!(ranks[oldest], 1, "{total}: right behind the header buffer");
            assert_eq!(ranks.is_sorted(), oldest == start);
        }
        // What was overwritten is not lost.
        let loss = &opened.trace.trust().loss;
        assert_eq!((loss.missing_buffers, loss.any()), (0, false), "{total}");
    }
}

/// A header that names another beginning than the sequence numbers is reported, and they are followed.
#[test]
fn a_circular_file_whose_header_disagrees_is_reported() {
    let session = |written| Session { buffer_size: 0x400, buffers_written: written, ..Session::windows10() };
    let trace = |written| Trace::new(session(written)).push_all(numbered(300, 3)).circular(7);
    let right = open_sound(trace(None));
    let written = right.header.buffers_written;
    for (stated, fits) in [(written, true), (written + 6, true), (written + 1, false), (written + 3, false)] {
        let opened = open_sound(trace(Some(stated)));
        assert_eq!(by_rank(&opened), by_rank(&right), "{stated}");
        let warnings = opened.trace.trust().warnings();
        let told = warnings.iter().any(|w| w.text.contains("this circular file begins with buffer"));
        assert_eq!(told, !fits, "{stated} of {written}: {warnings:?}");
    }
    // Neither a header without counters nor one with nonsense is a formula's business.
    for (start_buffers, stated) in [(1, 0), (7, 50), (u32::MAX, 50), (50, u32::MAX)] {
        let header = LogFileHeader { start_buffers, buffers_written: stated, ..right.header };
        assert_eq!(circular_start(&header, 7), None, "{start_buffers} {stated}");
    }
}

#[test]
fn merged_files() {
    let session = Session { buffer_size: 0x1000, ..Session::windows8().merged() };
    let opened = open_sound(Trace::new(session).push_all(numbered(2_000, 8)));
    let info = TraceInfo::answer(&opened.trace);
    assert!(info.merged && info.mode.contains(&"relog".to_owned()) && info.mode.contains(&"compressed".to_owned()));
    assert_eq!((info.logger_name.as_str(), info.log_file_name.as_str()), ("Relogger", "[multiple files]"));
    assert_eq!((info.compressed_buffers, info.buffers), (opened.buffers.len() as u64 - 1, opened.buffers.len() as u64));
    assert_eq!(info.events, 2_001);
}

#[test]
fn sessions_without_per_processor_buffers() {
    let session = Session { mode: 0x1000_0001, processors: 1, buffer_size: 0x400, ..Session::windows10() };
    let opened = open_sound(Trace::new(session).push_all(numbered(100, 4)));
    assert_eq!(opened.serials(), (0..100).collect::<Vec<_>>());
    assert!(opened.data().iter().all(|Read { processor, .. }| *processor == 0));
}

#[test]
fn other_buffer_types_are_read_alike_and_reported() {
    let session = Session { buffer_size: 0x400, ..Session::windows10() };
    let trace = Trace::new(session).push_all(numbered(300, 1)).edit_buffers(|buffers| {
        (0..).zip([1, 2, 3, 5, 6, 7, 2]).for_each(|(index, kind): (usize, u16)| buffers[index].kind = kind);
    });
    let opened = open_sound(trace);
    assert_eq!(opened.serials(), (0..300).collect::<Vec<_>>());
    let warnings = opened.trace.trust().warnings();
    assert!(warnings.iter().any(|w| w.text.contains("2 of type 2 (context-swap)")), "{warnings:?}");
}

#[test]
fn vista_and_windows_7_and_every_start() {
    for session in [Session::vista(), Session::windows7(), Session::windows7().bits32(), Session::windows11()] {
        let build = session.build;
        let opened = open_sound(Trace::new(session).push_all(numbered(50, 2)));
        assert_eq!(opened.header.os_build, build);
        assert_eq!(opened.data().len(), 50);
    }
}

#[test]
fn an_index_behind_the_last_buffer_is_an_empty_area() {
    let opened = open(&Trace::new(Session::windows10()).push(serial(1, 1)).finish());
    assert_eq!(opened.area(99, &mut Vec::new()).records().count(), 0);
}
