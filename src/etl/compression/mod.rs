//! Decompression of the event area of one buffer, into memory that is reused from buffer to buffer.
//!
//! XPRESS (plain LZ77) is used by all recorded traces and is optimized for speed; LZNT1 and XPRESS Huffman are known
//! from the container's documentation only, and their decoders are kept simple. All three decode as far as the input is valid, so
//! that a cut or damaged buffer still gives its first records. The caller (`etl`) knows which buffers are compressed and
//! how long their event area should be, and handles faults.
//!
//! Sources: [MS-XCA] (all three formats), `docs/formats.md` ("Compressed buffers").

mod back_copy;
mod literal;
mod lznt1;
pub(crate) mod outcome;
mod xpress_huffman;
mod xpress_lz77;

pub(crate) use literal::stored;
pub use outcome::Decompression;

/// How event areas are compressed, the same for all buffers of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Plain LZ77, `COMPRESSION_FORMAT_XPRESS` (3): the format of all recorded traces.
    Xpress,
    /// `COMPRESSION_FORMAT_LZNT1` (2): chunks of 4096 bytes.
    Lznt1,
    /// LZ77 with Huffman codes, `COMPRESSION_FORMAT_XPRESS_HUFF` (4): blocks of 65536 bytes.
    XpressHuffman,
}

impl Format {
    /// The format by the State field (offset 0x2c) of the file's *header buffer*: its low 16 bits 2 and 4 name LZNT1 and
    /// XPRESS Huffman. Anything else is XPRESS: 3 also means "flush" and stands in files that are not compressed.
    pub const fn from_header_state(state: u32) -> Self {
        match state & 0xffff {
            2 => Format::Lznt1,
            4 => Format::XpressHuffman,
            _ => Format::Xpress,
        }
    }
}

/// Bytes allocated at first: the decompressed size of 64 KiB buffers, the usual size.
const LEAST_ROOM: usize = 64 << 10;

/// Bytes allocated at first for each compressed byte. Recorded buffers decode to 2 to 6 times their size.
const USUAL_EXPANSION: usize = 8;

/// Decompresses `input` into `output`, at most `limit` bytes.
///
/// The content of `output` is replaced; its new length is `written`. With the true length of the event area as limit, an
/// intact buffer gives `written == limit` and no fault; a damaged one mostly gives a fault or fewer bytes. XPRESS Huffman
/// streams end at that length only.
///
/// The limit comes from the file and may be wrong, so memory grows with the bytes really decoded: a small multiple of the
/// input at first, doubled whenever it is full. Growing decodes again from the start; it is rare, because `output` keeps
/// its capacity for the next buffer.
pub fn decompress(format: Format, input: &[u8], output: &mut Vec<u8>, limit: usize) -> Decompression {
    let usual = input.len().saturating_mul(USUAL_EXPANSION).max(LEAST_ROOM);
    let mut room = usual.max(output.capacity()).min(limit);
    loop {
        if output.capacity() < room {
            *output = Vec::new(); // freed before the larger one is allocated, so both never exist together
            output.reserve_exact(room);
        }
        // Old bytes need not be cleared: no decoder reads bytes that it has not written in this call.
        output.resize(room, 0);
        let outcome = match format {
            Format::Xpress => xpress_lz77::decompress(input, output),
            Format::Lznt1 => lznt1::decompress(input, output),
            Format::XpressHuffman => xpress_huffman::decompress(input, output),
        };
        // Only output that fills the memory can have been cut short by it.
        if outcome.written < room || room == limit {
            output.truncate(outcome.written);
            return outcome;
        }
        room = room.saturating_mul(2).min(limit);
    }
}
