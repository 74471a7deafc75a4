//! Nothing that a payload holds may make a decoder panic, overflow or read past the end.
//!
//! Random bytes reach the length checks; payloads glued together from plausible pieces (counts, identifiers, strings)
//! test the code after these checks.

use super::merged::{IMAGE_ID, SYS_CONFIG};
use super::payload::WIN32_HEAP_RANGES;
use super::testing::{P4, P8, exercise, with_id};
use super::{Decoded, decode, hooks, is_judged_by_length};
use crate::etl::record_id::{HookId, RecordId};
use crate::random_cases::cases;
use proptest::prelude::*;

fn id() -> impl Strategy<Value = RecordId> {
    let hooks: Vec<u16> = hooks::ALL.iter().map(|(hook, _)| hook.0).collect();
    let kernel = |hook| RecordId::Kernel(HookId(hook));
    prop_oneof![
        8 => prop::sample::select(hooks).prop_map(kernel),
        1 => any::<u16>().prop_map(kernel),
        2 => (prop::sample::select(vec![SYS_CONFIG, IMAGE_ID, WIN32_HEAP_RANGES]), any::<u8>())
            .prop_map(|(class, opcode)| RecordId::Classic { class, opcode }),
        1 => prop::sample::select(vec![0u8, 32, 33, 34, 35, 36, 37, 64])
            .prop_map(|opcode| RecordId::Classic { class: IMAGE_ID, opcode }),
    ]
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec![0u32, 1, 2, 3, 15, 16, 1000, 0x1000_0000, u32::MAX])
            .prop_map(|n| n.to_le_bytes().to_vec()),
        prop::sample::select(vec![0u64, 8, 0x7ff6_0000_0000, 0xffff_a000_0000_1000, u64::MAX])
            .prop_map(|n| n.to_le_bytes().to_vec()),
        "[a-z.]{0,6}".prop_map(|text: String| text.bytes().chain([0]).collect()),
        "[a-z.]{0,6}".prop_map(|text: String| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()),
        (0u8..17).prop_map(|count| [vec![1, count, 0, 0, 0, 0, 0, 5], vec![9; 4 * usize::from(count)]].concat()),
        (0usize..64).prop_map(|size| vec![0; size]),
        prop::collection::vec(any::<u8>(), 0..16),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(0u8..3, 0..900),
        prop::collection::vec(piece(), 0..20).prop_map(|pieces| pieces.concat()),
    ]
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn what_is_judged_by_length_does_not_look_at_values(version in 0u8..7, wide: bool, bytes in bytes()) {
        let pointer = if wide { P8 } else { P4 };
        let bytes = &bytes[..bytes.len().min(64)];
        let is_sound = |id, bytes: &[u8]| {
            matches!(decode(&with_id(id, version, pointer, bytes)), Decoded::Event { surplus: None, .. })
        };
        let ids: Vec<RecordId> = (hooks::ALL.iter().map(|(hook, _)| *hook))
            .filter(|&hook| is_judged_by_length(hook)).map(RecordId::Kernel).collect();
        prop_assert!(ids.len() > 20);
        for id in ids {
            prop_assert_eq!(is_sound(id, bytes), is_sound(id, &vec![0; bytes.len()]), "{:?}", id);
        }
    }

    #[test]
    fn no_payload_makes_a_decoder_panic(id in id(), version in 0u8..7, wide: bool, bytes in bytes()) {
        let pointer = if wide { P8 } else { P4 };
        match decode(&with_id(id, version, pointer, &bytes)) {
            Decoded::Event { event, surplus } => {
                exercise(&event);
                if let Some(surplus) = surplus {
                    prop_assert_eq!(surplus.length, bytes.len());
                    prop_assert!(surplus.to_string().contains(&format!("length {}", bytes.len())), "{}", surplus);
                }
            }
            Decoded::Malformed(malformed) => {
                prop_assert_eq!((malformed.id, malformed.version), (id, version));
                prop_assert!(malformed.to_string().contains(&format!(": length {}, ", bytes.len())), "{}", malformed);
            }
            Decoded::NotDecoded => {}
        }
    }
}

#[test]
fn every_hook_id_takes_every_length_of_zeros_and_ones() {
    for hook in hooks::ALL.iter().map(|(hook, _)| hook.0) {
        for fill in [0, 1, 0xff] {
            let bytes = vec![fill; 900];
            for length in (0..130).chain([400, 428, 568, 804, 808, 820, 828, 900]) {
                for (version, pointer) in [(0, P8), (1, P4), (2, P8), (2, P4), (3, P8), (4, P4), (5, P8)] {
                    let record = with_id(RecordId::Kernel(HookId(hook)), version, pointer, &bytes[..length]);
                    if let Decoded::Event { event, .. } = decode(&record) {
                        exercise(&event);
                    }
                }
            }
        }
    }
}
