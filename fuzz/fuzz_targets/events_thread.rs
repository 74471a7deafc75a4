//! Payloads of the family: threads and context switches.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] =
    &[0x0501, 0x0502, 0x0503, 0x0504, 0x0524, 0x0525, 0x0530, 0x0531, 0x0532, 0x0533, 0x0534, 0x0535, 0x0548];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
