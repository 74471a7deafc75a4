//! Record headers of every kind, both pointer sizes, with and without the words that move the payload.

use super::both;
use crate::opened::{Read, open_sound};
use etl_writer::{HeaderKind, Ptr, Rec, Session, Trace};
use pfnset::etl::record::HeaderType;
use pfnset::etl::record_id::{HookId, RecordId};
use pfnset::units::{PointerSize, Ticks};
use uuid::Uuid;

const GUID: [u8; 16] = [0x0d, 0x0c, 0x0b, 0x0a, 2, 1, 4, 3, 5, 6, 7, 8, 9, 10, 11, 12];
const GUID_TEXT: &str = "0a0b0c0d-0102-0304-0506-0708090a0b0c";
const TIME: u64 = 1_000_000_777;

fn size_of(p: Ptr) -> PointerSize {
    p.pick(PointerSize::P8, PointerSize::P4)
}

fn read_one(session: Session, rec: Rec) -> Read {
    let opened = open_sound(Trace::new(session).push(rec));
    let [read] = opened.data().try_into().expect("one record");
    read
}

#[test]
fn kernel_headers_of_both_sizes_with_every_extension() {
    for (p, session) in both() {
        type Kind = (fn(Ptr) -> HeaderKind, [HeaderType; 2]);
        let kinds: [Kind; 3] = [
            (HeaderKind::System, [HeaderType::System64, HeaderType::System32]),
            (HeaderKind::Compact, [HeaderType::Compact64, HeaderType::Compact32]),
            (HeaderKind::PerfInfo, [HeaderType::Perfinfo64, HeaderType::Perfinfo32]),
        ];
        let mut trace = Trace::new(session);
        let mut expected = Vec::new();
        for (kind, [header64, header32]) in kinds {
            for pebs in [None, Some(0x1122_3344_5566_7788)] {
                for counters in 0..=7u64 {
                    for spare_bits in [0, 0x78] {
                        let payload: Vec<u8> = (0..counters as u8 + 3).collect();
                        let rec = Rec { hook: 0x0524, version: 4, payload: payload.clone(), ..Rec::new(kind(p)) };
                        let rec = rec.at(TIME).by(0x111, 0x222).cpu_time(0xaaaa, 0xbbbb);
                        let counters = vec![0xcccc_cccc_cccc_cccc; counters as usize];
                        trace.add(&Rec { pebs, spare_bits, counters, ..rec });
                        let ids = kind(p) != HeaderKind::PerfInfo(p);
                        expected.push((p.pick(header64, header32), ids.then_some((0x111, 0x222)), payload));
                    }
                }
            }
        }
        let data = open_sound(trace).data();
        assert_eq!(data.len(), expected.len());
        for (read, (header, ids, payload)) in data.iter().zip(expected) {
            assert_eq!((read.header, &read.payload), (header, &payload));
            assert_eq!((read.id, read.version), (RecordId::Kernel(HookId(0x0524)), 4));
            assert_eq!((read.pointer, read.own_time), (size_of(p), Some(Ticks(TIME as i64))));
            assert_eq!(read.thread_id.zip(read.process_id), ids);
        }
    }
}

#[test]
fn classic_and_instance_headers() {
    for (p, session) in both() {
        let full = Rec::full(p, GUID, 33, 3, vec![1, 2, 3]).at(TIME).by(7, 8).cpu_time(1, 2);
        let instance = Rec::instance(p, GUID, 34, (5, 6, [0xdd; 16]), vec![4]).at(TIME).by(7, 8);
        for (rec, header, opcode, version, payload) in [
            (full, [HeaderType::Full64, HeaderType::Full32], 33, 3, vec![1, 2, 3]),
            (instance, [HeaderType::Instance64, HeaderType::Instance32], 34, 2, vec![4]),
        ] {
            let read = read_one(session.clone(), rec);
            assert_eq!(read.header, p.pick(header[0], header[1]));
            assert_eq!(read.id, RecordId::Classic { class: Uuid::parse_str(GUID_TEXT).unwrap(), opcode });
            assert_eq!((read.version, read.pointer, read.payload), (version, size_of(p), payload));
            assert_eq!((read.thread_id, read.process_id, read.time), (Some(7), Some(8), Ticks(TIME as i64)));
        }
    }
}

#[test]
fn pointer_size_belongs_to_the_record_not_to_the_file() {
    let recs =
        |p| [Rec::system(p, 0x0b17, 2, vec![1]), Rec::full(p, GUID, 1, 0, vec![2]), Rec::event(p, GUID, 3, 0, vec![3])];
    for (_, session) in both() {
        let trace = recs(Ptr::P4).into_iter().chain(recs(Ptr::P8)).fold(Trace::new(session), Trace::push);
        let sizes: Vec<PointerSize> = open_sound(trace).data().iter().map(|read| read.pointer).collect();
        assert_eq!(sizes, [[PointerSize::P4; 3], [PointerSize::P8; 3]].concat());
    }
}

#[test]
fn the_id_0xffffffff_means_none() {
    let read = read_one(Session::windows10(), Rec::system(Ptr::P8, 0x0301, 4, vec![]).by(0xffff_ffff, 4));
    assert_eq!((read.thread_id, read.process_id), (None, Some(4)));
}

#[test]
fn error_and_unknown_types_are_passed_over_by_size_and_stay_visible() {
    let known = [1, 2, 3, 4, 10, 11, 13, 15, 16, 17, 18, 19, 20, 21];
    let unknown: Vec<u8> = (0..=255).filter(|kind| !known.contains(kind)).collect();
    let mut trace = Trace::new(Session::windows10()).push(super::serial(1, 10)).push(Rec::error(vec![9; 21]));
    for &kind in &unknown {
        trace.add(&Rec::unknown(kind, vec![kind; usize::from(kind)]));
    }
    let opened = open_sound(trace.push(super::serial(2, 20)));
    let survey = opened.trace.survey();
    let names: Vec<String> = survey.by_header.keys().map(|kind| kind.name()).collect();
    for &kind in &unknown {
        assert!(names.contains(&kind.to_string()), "{kind} in {names:?}");
    }
    assert_eq!(survey.total, 1 + 1 + 1 + unknown.len() as u64 + 1);
    assert_eq!(survey.by_header[&HeaderType::Error], 1);
    let data = opened.data();
    assert_eq!((data[1].header, data[1].payload.len(), data[1].own_time), (HeaderType::Error, 21, None));
    // They have no time that can be read, and count with that of the record before them.
    assert!(data[1..data.len() - 1].iter().all(|read| read.time == data[0].time && read.own_time.is_none()));
    assert_eq!(data.last().unwrap().serial(), 2);
}

#[test]
fn the_largest_record_fits() {
    let payload = vec![0x5a; 65_535 - 0x10];
    let session = Session { buffer_size: 0x2_0000, ..Session::windows10() };
    let opened =
        open_sound(Trace::new(session).push(Rec::perf(Ptr::P8, 0x1234, 2, payload.clone())).push(super::serial(9, 5)));
    let data = opened.data();
    assert_eq!((data[0].payload.len(), data[1].serial()), (payload.len(), 9));
}

#[test]
fn a_second_log_file_header_is_an_ordinary_record() {
    let other = Session { t0: 5_000_000_000, start_time: 1, buffer_size: 0x80, frequency: 3, ..Session::windows10() };
    let trace = Trace::new(Session::windows10())
        .push(super::serial(1, 10))
        .push(other.header_rec(77))
        .push(super::serial(2, 20));
    let opened = open_sound(trace);
    assert_eq!((opened.clock.frequency_hz, opened.header.buffer_size_bytes), (10_000_000, 0x1_0000));
    assert_eq!(opened.clock.origin, Ticks(1_000_000_000));
    assert_eq!(opened.data()[1].id, RecordId::Kernel(HookId(0)));
    let survey = opened.trace.survey();
    assert_eq!(survey.kernel_count(HookId(0)), 2);
    let warnings = opened.trace.trust().warnings();
    let several = "THE FILE HOLDS SEVERAL RECORDINGS: 1 log-file header in it is of another session, which began ";
    assert!(warnings.iter().any(|w| w.text.starts_with(several)), "{warnings:?}");
}

#[test]
fn records_appended_to_the_header_buffer_count_for_processor_0() {
    for session in [Session::windows10(), Session::windows7(), Session::vista(), Session::windows10().merged()] {
        let trace = Trace::new(session)
            .header_rec(super::serial(4, 0))
            .header_rec(super::serial(6, 0))
            .push(super::serial(8, 9).on(3));
        let opened = open_sound(trace);
        assert_eq!(opened.serials(), [4, 6, 8]);
        let survey = opened.trace.survey();
        assert_eq!(survey.by_processor.iter().map(|(cpu, count)| (*cpu, *count)).collect::<Vec<_>>(), [(0, 3), (3, 1)]);
    }
}
