//! Payloads of the family: page records.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[0x0223, 0x0275, 0x0276, 0x0277, 0x0278, 0x0279, 0x027a, 0x0282, 0x0283, 0x0285, 0x028a];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
