//! Payloads of the family: marks, samples, interrupts and stacks.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../events.rs"]
mod events;

/// Hook ids with a decoder.
const HOOKS: &[u16] = &[
    0x0f22, 0x0f24, 0x0f2e, 0x0f32, 0x0f37, 0x0f42, 0x0f43, 0x0f44, 0x0f45, 0x0f48, 0x0f49, 0x0f4a, 0x0f5f, 0x1820,
    0x1822, 0x1823, 0x1824, 0x1825, 0x1826,
];

fuzz_target!(|data: &[u8]| events::kernel(HOOKS, data));
