//! Payloads of the family: the machine: processors, disks, firmware.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[0x0b0a, 0x0b0b, 0x0b0c, 0x0b18, 0x0b19, 0x0b1a, 0x0b1b, 0x0b21, 0x0b23, 0x0b24, 0x0b25];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
