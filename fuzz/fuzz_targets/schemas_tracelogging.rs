//! Schemas that TraceLogging events carry, and payloads by them.
//!
//! Input: length of the extended data items (2 bytes), the items, the payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::fields::trace_logging_schema;

#[path = "../fields.rs"]
mod fields;

fuzz_target!(|data: &[u8]| {
    let Some((extended, payload)) = fields::divided(data) else { return };
    if let Some(schema) = trace_logging_schema(extended) {
        fields::payload(&schema, payload, None);
    }
});
