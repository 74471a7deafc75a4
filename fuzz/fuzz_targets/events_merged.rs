//! Payloads of the records that merging adds, which go by a class GUID and a type.
//!
//! Input as of the other families: the low byte of the hook id is the type, bit 0 of its high byte the class.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::etl::record::{HeaderType, RawRecord};
use pfnset::etl::record_id::Position;
use pfnset::event::merged::{IMAGE_ID, SYS_CONFIG};

#[path = "../events.rs"]
mod events;

const SYS_CONFIG_TYPES: &[u8] = &[32, 33, 34, 35, 37];
const IMAGE_ID_TYPES: &[u8] = &[0, 32, 36, 37, 64];

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, class, version, pointer_bytes], payload)) = data.split_first_chunk() else { return };
    let (class, kinds) = if class & 1 == 0 { (SYS_CONFIG, SYS_CONFIG_TYPES) } else { (IMAGE_ID, IMAGE_ID_TYPES) };
    let kind = if kinds.contains(&kind) { kind } else { kinds[usize::from(kind) % kinds.len()] };
    let header = if pointer_bytes & 4 != 0 { HeaderType::Full32 } else { HeaderType::Full64 };
    let mut bytes = [0; 0x30].to_vec();
    (bytes[4], bytes[6]) = (kind, version);
    bytes[0x18..0x28].copy_from_slice(&class.to_bytes_le());
    bytes.extend(payload);
    let raw = RawRecord { header, position: Position::default(), bytes: &bytes };
    assert!(events::read(&raw.read().expect("a classic header")), "no decoder for {class} type {kind}");
});
