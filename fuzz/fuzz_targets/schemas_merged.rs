//! Event information that merging adds (schemas, names of numbers), and payloads by it.
//!
//! Input: type (32 or 33), length of the information (2 bytes), the information, the payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::etl::record_id::RecordId;
use pfnset::unstable_api::fields::{EVENT_METADATA, EventInfo};

#[path = "../fields.rs"]
mod fields;

fuzz_target!(|data: &[u8]| {
    let Some((opcode, rest)) = data.split_first() else { return };
    let Some((information, payload)) = fields::divided(rest) else { return };
    match EventInfo::read(RecordId::Classic { class: EVENT_METADATA, opcode: *opcode }, information) {
        Some(EventInfo::Schema(_, schema, _)) => {
            fields::payload(&schema, payload, None);
        }
        Some(EventInfo::Map(_, _, map)) => {
            payload.iter().for_each(|byte| _ = map.name(u64::from(*byte) * 0x0101, 4096))
        }
        None => {}
    }
});
