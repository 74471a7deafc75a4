//! Payloads of the family: images.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[0x030a, 0x1402, 0x1403, 0x1404, 0x1421, 0x1422];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
