//! Payloads of the family: heap ranges, heaps and their blocks.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] =
    &[0x0264, 0x0265, 0x0266, 0x0267, 0x0268, 0x1020, 0x1021, 0x1022, 0x1023, 0x1024, 0x1025, 0x1026, 0x102a];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
