//! Payloads of the family: file names, mapped views and registry hives.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] =
    &[0x0400, 0x0420, 0x0421, 0x0423, 0x0424, 0x0425, 0x0426, 0x0427, 0x0428, 0x0924, 0x0925, 0x0926, 0x0927, 0x0928];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
