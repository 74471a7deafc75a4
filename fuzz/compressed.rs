//! What the targets of the three compression formats do: the real decoder against the slow one.
//!
//! Input: the limit (2 bytes, little-endian), then the stream. The same stream is also decoded with a limit so large
//! that the scratch has to grow on the way.

#[path = "../tests/reader/compression/reference_decoders.rs"]
pub mod reference_decoders;

use pfnset::unstable_api::compression::{Format, decompress};
use std::cell::RefCell;

thread_local! {
    /// Reused from input to input, as from buffer to buffer: it must not show in the output.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// More than a scratch is given at first.
const FAR: usize = 3 << 16;

/// Decodes one input both ways.
pub fn compare(format: Format, slow: fn(&[u8], usize) -> reference_decoders::Decompressed, data: &[u8]) {
    let Some((limit, stream)) = data.split_first_chunk() else { return };
    let limit = usize::from(u16::from_le_bytes(*limit));
    SCRATCH.with_borrow_mut(|scratch| agree(format, slow, stream, scratch, limit));
    agree(format, slow, stream, &mut Vec::new(), limit + FAR);
}

fn agree(
    format: Format,
    slow: fn(&[u8], usize) -> reference_decoders::Decompressed,
    stream: &[u8],
    scratch: &mut Vec<u8>,
    limit: usize,
) {
    let (expected, sound) = slow(stream, limit);
    let outcome = decompress(format, stream, scratch, limit);
    assert_eq!(outcome.written, expected.len(), "limit {limit}: {outcome:?}");
    assert_eq!(outcome.fault.is_none(), sound, "limit {limit}: {outcome:?}");
    assert!(*scratch == expected, "limit {limit}: different bytes; {outcome:?}");
}
