//! Xpress streams: the real decoder against the slow one.
//!
//! Input: the limit (2 bytes, little-endian), then the stream.
#![no_main]

#[path = "../../src/etl/compression/plain.rs"]
mod plain;

use libfuzzer_sys::fuzz_target;
use pfnset::etl::compression::{Format, decompress};
use std::cell::RefCell;

thread_local! {
    /// Reused from input to input, as from buffer to buffer: it must not show in the output.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fuzz_target!(|data: &[u8]| {
    let Some((limit, stream)) = data.split_first_chunk() else { return };
    let limit = usize::from(u16::from_le_bytes(*limit));
    let (expected, sound) = plain::xpress(stream, limit);
    SCRATCH.with_borrow_mut(|output| {
        let outcome = decompress(Format::Xpress, stream, output, limit);
        assert_eq!(outcome.written, expected.len(), "{outcome:?}");
        assert_eq!(outcome.fault.is_none(), sound, "{outcome:?}");
        assert!(*output == expected, "different bytes; {outcome:?}");
    });
});
