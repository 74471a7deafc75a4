//! Program databases: functions are found or not, in bounded time and memory, whatever the file says.
//!
//! Input: the bytes of the database.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::functions_of;

fuzz_target!(|data: &[u8]| {
    let addresses: Vec<u32> = (0..1024).map(|number| 0x1000 + 7 * number).collect();
    if let Ok((names, _)) = functions_of(data.to_vec(), &addresses) {
        assert!(names.keys().all(|address| addresses.contains(address)));
    }
});
