//! Payloads of the family: the log file itself, its providers and losses.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[0x0000, 0x0005, 0x0008, 0x0020, 0x0040, 0x0042, 0x0043, 0x0050, 0x0052];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
