//! Any text as a list of pool tags, and any tags.
//!
//! Input: a tag (4 bytes), the list.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::tag_uses;

fuzz_target!(|data: &[u8]| {
    let Some((tag, file)) = data.split_first_chunk::<4>() else { return };
    let tag = u32::from_le_bytes(*tag);
    if let Ok(uses) = tag_uses(file, &[tag, tag | 0x8000_0000]) {
        assert_eq!(uses.first(), uses.last(), "a mark is no part of a tag");
    }
});
