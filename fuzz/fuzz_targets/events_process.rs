//! Payloads of the family: processes, with their SIDs and names.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[0x0301, 0x0302, 0x0303, 0x0304, 0x030b, 0x0320, 0x0321, 0x0323, 0x0327];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
