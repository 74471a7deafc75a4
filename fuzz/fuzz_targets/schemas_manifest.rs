//! Manifests that providers write into the trace, and payloads by them.
//!
//! Input: length of the event that holds the manifest (2 bytes), its payload (a head and XML), the payload of another event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::fields::Chunk;

#[path = "../fields.rs"]
mod fields;

fuzz_target!(|data: &[u8]| {
    let Some((event, payload)) = fields::divided(data) else { return };
    if let Some(chunk) = Chunk::read(event) {
        fields::document(&String::from_utf8_lossy(chunk.xml), payload);
    }
});
