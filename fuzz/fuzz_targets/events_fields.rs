//! Fields of kernel events: whatever the payload holds, those that the decoders read have names and texts.
//!
//! Input: hook id (2 bytes, little-endian), version, pointer size (4 or 8), payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::code_page::CodePage;
use pfnset::etl::record::{HeaderType, RawRecord};
use pfnset::etl::record_id::Position;
use pfnset::unstable_api::fields::kernel_fields;

#[path = "../fields.rs"]
mod fields;

fuzz_target!(|data: &[u8]| {
    let Some((&[low, high, version, pointer_bytes], payload)) = data.split_first_chunk() else { return };
    let header = if pointer_bytes & 4 != 0 { HeaderType::Perfinfo32 } else { HeaderType::Perfinfo64 };
    let mut bytes = [0; 16].to_vec();
    bytes[0] = version;
    bytes[6..8].copy_from_slice(&[low, high]);
    bytes.extend(payload);
    let raw = RawRecord { header, position: Position::default(), bytes: &bytes };
    let Ok(record) = raw.read() else { return };
    if let Some(decoded) = kernel_fields(&record, CodePage::default()) {
        let (values, end) = (decoded.fields, decoded.rest);
        assert!(end <= record.payload.len());
        let mut left = 1024 + 8 * payload.len();
        values.iter().for_each(|(_, value)| fields::look(value, &mut left));
    }
});
