//! Unfinished and damaged files: what is whole is read, what is not is said, once.

use super::serial;
use crate::opened::{open, open_sound};
use crate::random_cases::one_in;
use etl_writer::file_of;
use etl_writer::{Compression, Rec, Session, Trace};
use pfnset::error::{Damage, Error};
use pfnset::etl::EtlFile;
use pfnset::trace::Survey;
use pfnset::units::FileOffset;

fn small() -> Session {
    Session { buffer_size: 0x400, processors: 1, ..Session::windows10() }
}

fn numbered(session: Session) -> Trace {
    Trace::new(session).push_all((0..120).map(|n| serial(n, n)))
}

/// Records read and damage met.
fn survey(bytes: &[u8]) -> (u64, Vec<Damage>) {
    let survey = Survey::new(&open(bytes));
    assert_eq!(survey.damage.total, survey.damage.places.len() as u64);
    (survey.total, survey.damage.places)
}

/// Ends of the records in an area of numbered records: even ones have 24 bytes, odd ones 40.
fn record_ends(first: u64, area_len: usize) -> Vec<usize> {
    let ends = (first..).scan(0, |at, n| {
        *at += if n % 2 == 0 { 24 } else { 40 };
        Some(*at)
    });
    ends.take_while(|end| *end <= area_len).collect()
}

#[test]
fn a_last_buffer_cut_anywhere_gives_its_whole_records() {
    let (bytes, placed) = numbered(small()).finish_placed();
    let last = placed.last().unwrap();
    let before: usize = placed.iter().skip(1).take(placed.len() - 2).map(|b| record_ends(0, b.area_len).len()).sum();
    let ends = record_ends(before as u64, last.area_len);
    // All places in the headers, and a part of those behind them.
    let places = (0..0x48 + 16).chain(one_in(4, (0x48 + 16..last.len).collect()));
    for kept in places {
        let (total, damage) = survey(&bytes[..last.offset + kept]);
        let whole = ends.iter().filter(|&&end| 0x48 + end <= kept).count();
        let expected = if kept < 0x48 { 1 + before } else { 1 + before + whole };
        assert_eq!(total, expected as u64, "{kept} bytes of the last buffer");
        assert_eq!(damage.len(), usize::from(kept > 0), "{kept}: {damage:?}");
        if kept > 0 {
            assert_eq!(damage[0].offset, FileOffset(last.offset as u64));
            let found =
                if kept < 0x48 { format!("{kept} trailing bytes") } else { format!("after {kept} of its bytes") };
            assert!(damage[0].found.contains(&found), "{damage:?}");
        }
    }
}

#[test]
fn a_compressed_buffer_cut_anywhere_gives_what_can_be_decoded() {
    for format in [Compression::Xpress, Compression::Lznt1, Compression::Huffman] {
        let (bytes, placed) = numbered(small().compressed(format)).finish_placed();
        let last = placed.last().unwrap();
        let whole = open(&bytes).serials();
        let mut most = 0;
        for kept in 0x48..last.len {
            let opened = open(&bytes[..last.offset + kept]);
            let survey = opened.trace.survey();
            assert_eq!(survey.damage.total, 1, "{format:?} {kept}: {:?}", survey.damage);
            let mut scratch = Vec::new();
            let last_area = opened.area(opened.buffers.len() - 1, &mut scratch);
            let first_of_last = whole.len() - record_ends(0, last.area_len).len().min(whole.len());
            assert!(first_of_last < whole.len());
            let read = survey.total as usize - 1;
            let got: Vec<Vec<u8>> = last_area.records().map(|raw| raw.kernel_payload().unwrap().to_vec()).collect();
            let tail = &whole[read - got.len()..read];
            assert!(got.iter().zip(tail).all(|(bytes, number)| bytes[..] == number.to_le_bytes()), "{format:?} {kept}");
            most = most.max(got.len());
        }
        assert!(most > 0, "{format:?}");
    }
}

#[test]
fn garbage_behind_the_end_is_reported_and_passed_over() {
    for (garbage, found) in [(vec![0xa7; 0x30], "48 trailing bytes"), (vec![0xa7; 0x1234], "2812782503")] {
        let (total, damage) = survey(&numbered(small()).trailing(&garbage).finish());
        assert_eq!((total, damage.len()), (121, 1), "{damage:?}");
        assert!(damage[0].found.contains(found), "{damage:?}");
    }
}

#[test]
fn zeros_of_a_preallocated_file_end_the_log_without_complaint() {
    for session in [Session { mode: 0x0200_0021, ..small() }, Session { end_time: 0, ..small() }] {
        let (bytes, placed) = numbered(session).preallocated(0x4000).finish_placed();
        let opened = open(&bytes);
        let end = placed.last().map(|b| (b.offset + b.len) as u64).map(FileOffset);
        assert_eq!((opened.end_of_log, survey(&bytes)), (end, (121, vec![])));
    }
    let (total, damage) = survey(&numbered(small()).preallocated(0x4000).finish());
    assert_eq!((total, damage.len()), (121, 1), "zeros in a file that was closed: {damage:?}");
}

#[test]
fn a_session_that_was_never_stopped_is_read_whole() {
    let opened = open_sound(numbered(Session { end_time: 0, ..small() }));
    assert_eq!((opened.header.end_time, opened.header.buffers_written, opened.serials().len()), (None, 0, 120));
}

#[test]
fn a_damaged_buffer_header_costs_that_buffer() {
    type Edit = fn(&mut etl_writer::Buffer);
    let edits: [(Edit, &str); 6] = [
        (|b| b.size_field = Some(0), "BufferSize"),
        (|b| b.size_field = Some(0x47), "BufferSize"),
        (|b| b.size_field = Some(0x401), "BufferSize"),
        (|b| b.offset_field = Some(0x47), "Offset"),
        (|b| b.offset_field = Some(0x401), "Offset"),
        (|b| b.kind = 8, "BufferType"),
    ];
    for (edit, field) in edits {
        let trace = numbered(small()).edit_buffers(move |buffers| edit(&mut buffers[1]));
        let (bytes, placed) = trace.finish_placed();
        let (total, damage) = survey(&bytes);
        let lost = record_ends(0, placed[2].area_len).len() as u64;
        assert_eq!((total, damage.len()), (121 - lost, 1), "{damage:?}");
        assert!(
            damage[0].expected.contains(field) && damage[0].offset == FileOffset(placed[2].offset as u64),
            "{damage:?}"
        );
    }
}

/// A bit error in the first buffer's BufferSize used to make the whole file one header buffer.
#[test]
fn a_header_buffer_larger_than_the_session_allows_does_not_swallow_the_file() {
    for size in [0x800u32, 0x1_0000, 0x7fff_ffff] {
        let mut bytes = numbered(small()).finish();
        bytes[..4].copy_from_slice(&size.to_le_bytes());
        let (total, damage) = survey(&bytes);
        assert_eq!((total, damage.len()), (121, 1), "{size:#x}: {damage:?}");
        assert!(damage[0].expected.contains("BufferSize") && damage[0].offset == FileOffset(0), "{damage:?}");
    }
}

/// So did one in BufferSize of the log-file header, which is the limit for all buffers.
#[test]
fn a_session_buffer_size_that_no_buffer_has_does_not_hide_the_file() {
    for size in [0x200u32, 0x100, 0x600, 0x2_0400, 0] {
        let mut bytes = numbered(small()).finish();
        bytes[0x68..0x6c].copy_from_slice(&size.to_le_bytes());
        let (total, damage) = survey(&bytes);
        assert_eq!((total, damage.len()), (121, 1), "{size:#x}: {damage:?}");
        assert!(damage[0].what.contains("buffer size"), "{damage:?}");
    }
}

#[test]
fn a_record_that_lies_about_its_size_costs_what_lies_up_to_the_next_sound_one() {
    for size in [0, 7, 0x0f, 0x9000] {
        let lie = Rec { size_field: Some(size), ..serial(6, 6) };
        let trace = Trace::new(small()).push(serial(0, 1)).push(lie).push(serial(2, 7)).flush_all().push(serial(4, 8));
        let (bytes, placed) = trace.finish_placed();
        let (total, damage) = survey(&bytes);
        assert_eq!((total, damage.len()), (4, 1), "{damage:?}");
        assert!(damage[0].what.contains("(24 bytes passed over)"), "{damage:?}");
        assert_eq!(damage[0].offset, FileOffset(placed[1].offset as u64 + 0x48 + 24));
        assert!(damage[0].found == size.to_string() && damage[0].expected.contains("record size"), "{damage:?}");
    }
}

#[test]
fn bytes_that_are_no_record_are_damage() {
    let trace = Trace::new(small()).push(serial(0, 1)).push(Rec::raw(vec![1, 2, 3, 4, 5, 6, 7, 8]));
    let (total, damage) = survey(&trace.finish());
    assert_eq!((total, damage.len()), (2, 1));
    assert!(damage[0].expected.contains("record marker"), "{damage:?}");
}

#[test]
fn header_extensions_that_pass_the_record_are_damage_and_the_record_counts() {
    let short = Rec { counters: vec![1, 2, 3], ..serial(0, 1) }; // 0x10 + 24 + 8 bytes
    let recs = [Rec { size_field: Some(0x20), ..short }, Rec::raw(vec![0; 8])];
    let mut bytes = Trace::new(small()).push_all(recs).finish();
    // Make what lies behind the shortened record filler, which is damage of its own.
    let at = 0x400 + 0x48 + 0x20;
    bytes[at..at + 24].fill(0xff);
    let (total, damage) = survey(&bytes);
    assert_eq!((total, damage.len()), (2, 2), "{damage:?}");
    assert!(damage[0].found.contains("extension words"), "{damage:?}");
    assert_eq!((damage[1].offset, damage[1].found.contains("ff, ff")), (FileOffset(at as u64), true), "{damage:?}");
}

#[test]
fn damaged_compressed_bytes_cost_the_rest_of_their_buffer() {
    let (mut bytes, placed) = numbered(small().compressed(Compression::Xpress)).finish_placed();
    let second = &placed[2];
    bytes[second.offset + 0x48..second.offset + 0x4c].fill(0xff); // copies from before the output
    let (total, damage) = survey(&bytes);
    assert!(damage.len() == 1 && damage[0].what.contains("compressed event area of buffer 2"), "{damage:?}");
    assert_eq!(total, 121 - record_ends(0, second.area_len).len() as u64);
}

/// A few compressed bytes that claim millions would cost time and memory for nothing: no encoder packs records so well.
#[test]
fn a_compressed_buffer_cannot_claim_more_than_its_bytes_can_hold() {
    let session = Session { buffer_size: 16 << 20, ..small().compressed(Compression::Xpress) };
    let trace = Trace::new(session).push(serial(0, 1)).push(serial(2, 2)).push(serial(4, 3));
    let opened = open(&trace.edit_buffers(|buffers| buffers[0].offset_field = Some(16 << 20)).finish());
    let mut scratch = Vec::new();
    let area = opened.area(1, &mut scratch);
    assert_eq!(area.records().count(), 3);
    assert!(area.fault.is_some());
    assert!(scratch.capacity() < 2 << 20, "{}", scratch.capacity());
}

#[test]
fn what_is_no_etl_file_is_an_error_that_says_why() {
    let whole = numbered(small()).finish();
    let not_first = &whole[0x400..];
    let mut wrong_hook = whole.clone();
    wrong_hook[0x48 + 6] = 1;
    let mut packed = whole.clone();
    packed[0x34] |= 0x40;
    for (bytes, reason) in [
        (&b""[..], "it is empty"),
        (
            b"Hello, this is a text file and no trace at all. It is long enough to be read as a buffer header.\n",
            "BufferType",
        ),
        (b"short", "5 bytes"),
        (not_first, "type 0"),
        (&wrong_hook, "no log-file header"),
        (&packed, "compressed"),
        (&whole[..0x48], "ends after 72 bytes"),
        (&whole[..0x100], "ends after 256 bytes, inside its first record"),
        (&[0; 4096], "BufferSize"),
        (&[0xff; 4096], "BufferType"),
    ] {
        let file = file_of(bytes);
        match EtlFile::open(file.path()) {
            Err(error @ Error::NotEtl { .. }) => {
                let text = error.to_string();
                assert!(text.contains(reason) && text.contains("no .etl file") && !text.contains('\n'), "{text}");
            }
            other => panic!("{reason}: {other:?}"),
        }
    }
}
