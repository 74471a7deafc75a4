//! Archives: any bytes are unpacked within the limits, refused with a reason, or a plain file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::input::{Input, UnpackLimits};

#[path = "../scratch_file.rs"]
mod scratch_file;

const MOST: u64 = 4 << 20;

fuzz_target!(|data: &[u8]| {
    let limits = UnpackLimits { in_memory: 1 << 20, most: MOST, ..UnpackLimits::default() };
    scratch_file::with(data, |path| {
        if let Ok(input) = Input::open(path, &limits) {
            assert!(input.bytes().len() as u64 <= MOST.max(data.len() as u64));
        }
    });
});
