//! Decorated names of public symbols: they are undecorated or left as they are, in bounded time and memory.
//!
//! Input: the name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::undecorated;

fuzz_target!(|name: &str| {
    let text = undecorated(name);
    assert!(text.len() < 32 << 20 && (name.is_empty() || !text.is_empty()));
});
