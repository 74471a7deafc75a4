//! Payloads of the family: heap ranges.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[0x0264, 0x0265, 0x0266, 0x0267, 0x0268];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
