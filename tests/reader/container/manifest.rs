//! Manifest and TraceLogging records: header fields, and extended items between header and user data.

use super::both;
use crate::opened::open_sound;
use crate::random_cases::cases;
use etl_writer::{Item, Ptr, Rec, Session, Trace, tracelogging_schema};
use pfnset::etl::extended_items::{event_name, items, provider_name};
use pfnset::etl::record::HeaderType;
use pfnset::etl::record_id::RecordId;
use pfnset::units::{PointerSize, Ticks};
use proptest::prelude::*;
use uuid::Uuid;

const PROVIDER: [u8; 16] =
    [0xd1, 0xd9, 0x3e, 0xef, 0x93, 0xc1, 0x21, 0x45, 0x8a, 0xc4, 0xf6, 0x6c, 0x95, 0xbe, 0x87, 0x89];
const PROVIDER_TEXT: &str = "ef3ed9d1-c193-4521-8ac4-f66c95be8789";

#[test]
fn header_fields_of_both_sizes() {
    for (p, session) in both() {
        let rec = Rec {
            channel: 11,
            level: 5,
            opcode: 1,
            task: 0x7777,
            keywords: u64::MAX,
            activity: [0xee; 16],
            ..Rec::event(p, PROVIDER, 0x1234, 3, vec![1, 2, 3])
        };
        let opened = open_sound(Trace::new(session).push(rec.at(1_000_000_005).by(11, 12)));
        let read = &opened.data()[0];
        assert_eq!(read.header, p.pick(HeaderType::Event64, HeaderType::Event32));
        assert_eq!(read.id, RecordId::Manifest { provider: Uuid::parse_str(PROVIDER_TEXT).unwrap(), id: 0x1234 });
        assert_eq!((read.version, read.pointer), (3, p.pick(PointerSize::P8, PointerSize::P4)));
        assert_eq!((read.thread_id, read.process_id, read.own_time), (Some(11), Some(12), Some(Ticks(1_000_000_005))));
        assert_eq!((read.payload.as_slice(), read.extended.as_slice()), (&[1, 2, 3][..], &[][..]));
    }
}

/// Every item type that is known, alone and all together, in front of user data that begins like another item.
#[test]
fn every_item_type_moves_the_payload_and_is_read_back() {
    let all: Vec<Item> = (1..=13u16).map(|kind| Item { kind, data: vec![kind as u8; usize::from(kind) * 3] }).collect();
    let user_data = [16, 0, 12, 0, 1, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let lists = all.iter().map(|item| vec![item.clone()]).chain([all.clone()]);
    for (p, session) in both() {
        for list in lists.clone() {
            let rec = Rec { items: list.clone(), ..Rec::event(p, PROVIDER, 1, 0, user_data.to_vec()) };
            let opened = open_sound(Trace::new(session.clone()).push(rec));
            let read = &opened.data()[0];
            assert_eq!(read.payload, user_data);
            let found: Vec<(u16, Vec<u8>)> =
                items(&read.extended).map(|item| (item.kind, item.data.to_vec())).collect();
            let expected: Vec<(u16, Vec<u8>)> = list.iter().map(|item| (item.kind, item.data.clone())).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn tracelogging_events_are_told_apart_by_their_own_names() {
    let traits = b"\x0c\0Contoso.A\0";
    let named = |name: &str| {
        let schema = tracelogging_schema(name, &[("Value", 8)]);
        Rec::event(Ptr::P8, PROVIDER, 0, 0, vec![1, 0, 0, 0]).with_item(11, &schema).with_item(12, traits)
    };
    let trace = Trace::new(Session::windows10()).push_all([named("Start"), named("Stop"), named("Start")]);
    let opened = open_sound(trace);
    let read = &opened.data()[1];
    assert_eq!(event_name(&read.extended).unwrap().text(), "Stop");
    assert_eq!(provider_name(&read.extended).unwrap().text(), "Contoso.A");
    assert_eq!(read.payload, [1, 0, 0, 0]);
    let survey = opened.trace.survey();
    let kinds: Vec<_> = survey.kinds.iter().filter_map(|k| Some((k.own_name.as_deref()?, k.count))).collect();
    assert_eq!(kinds, [("Start", 2), ("Stop", 1)]);
    assert_eq!(survey.kinds[0].own_provider.as_deref(), Some("Contoso.A"));
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_items_and_user_data_come_back(
        list in prop::collection::vec((0u16..40, prop::collection::vec(any::<u8>(), 0..70)), 0..6),
        user_data in prop::collection::vec(any::<u8>(), 0..90),
        wide in any::<bool>(),
    ) {
        let p = if wide { Ptr::P8 } else { Ptr::P4 };
        let items_in: Vec<Item> = list.iter().map(|(kind, data)| Item { kind: *kind, data: data.clone() }).collect();
        let rec = Rec { items: items_in, ..Rec::event(p, PROVIDER, 9, 0, user_data.clone()) };
        let opened = open_sound(Trace::new(Session::windows10()).push(rec));
        let read = &opened.data()[0];
        prop_assert_eq!(&read.payload, &user_data);
        let found: Vec<(u16, Vec<u8>)> = items(&read.extended).map(|item| (item.kind, item.data.to_vec())).collect();
        prop_assert_eq!(found, list);
    }
}
