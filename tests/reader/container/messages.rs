//! WPP messages: a header whose fields are chosen by option bits, and messages without a time of their own.

use super::{both, serial};
use crate::opened::open_sound;
use etl_writer::{Rec, Session, Trace};
use pfnset::etl::record::HeaderType;
use pfnset::etl::record_id::RecordId;
use pfnset::units::{PointerSize, Ticks};
use uuid::Uuid;

const GUID: [u8; 16] = [1, 0, 0, 0, 2, 0, 3, 0, 4, 5, 6, 7, 8, 9, 10, 11];

fn message(number: u16, options: u16, payload: Vec<u8>) -> Rec {
    let rec =
        Rec { guid: GUID, sequence: 0xdead_beef, component: 0x0bad_f00d, ..Rec::message(number, options, payload) };
    rec.at(1_000_000_000 + u64::from(number)).by(0x51, 0x52)
}

#[test]
fn all_256_sets_of_options() {
    for (_, session) in both() {
        let mut trace = Trace::new(session);
        for options in 0..=255u16 {
            trace.add(&message(options + 1, options, options.to_le_bytes().to_vec()));
        }
        let data = open_sound(trace).data();
        assert_eq!(data.len(), 256);
        for (read, options) in data.iter().zip(0..=255u16) {
            let has = |bits: u16| options & bits != 0;
            let number = options + 1;
            assert_eq!(
                (read.header, &read.payload[..]),
                (HeaderType::Message, &options.to_le_bytes()[..]),
                "{options:#x}"
            );
            let guid = if has(2) && !has(4) { Uuid::from_bytes_le(GUID) } else { Uuid::nil() };
            assert_eq!(read.id, RecordId::Message { guid, number }, "{options:#x}");
            assert_eq!(read.own_time, has(0x18).then_some(Ticks(1_000_000_000 + i64::from(number))), "{options:#x}");
            assert_eq!(read.thread_id.zip(read.process_id), has(0x20).then_some((0x51, 0x52)), "{options:#x}");
            assert_eq!(read.pointer, if has(0x40) { PointerSize::P4 } else { PointerSize::P8 }, "{options:#x}");
        }
    }
}

#[test]
fn a_message_without_a_time_takes_that_of_the_record_before_it_and_is_counted() {
    let trace = Trace::new(Session::windows10())
        .push(message(1, 0x22, vec![]).on(1)) // first of its buffer: the start of the trace
        .push(serial(2, 500).on(1))
        .push(message(3, 0x22, vec![]).on(1))
        .push(Rec::error(vec![]).on(1))
        .push(message(4, 0x2a, vec![]).on(1));
    let opened = open_sound(trace);
    let times: Vec<i64> = opened.data().iter().map(|read| read.time.0 - 1_000_000_000).collect();
    assert_eq!(times, [0, 500, 500, 500, 4]);
    assert_eq!(opened.trace.survey().untimed, 3);
}
