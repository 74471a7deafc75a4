//! Manifests that a user gives (UTF-8 or UTF-16), and payloads by them.
//!
//! Input: length of the file (2 bytes), its bytes, the payload of an event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::fields::text_of;

#[path = "../fields.rs"]
mod fields;

fuzz_target!(|data: &[u8]| {
    if let Some((file, payload)) = fields::divided(data) {
        fields::document(&text_of(file), payload);
    }
});
