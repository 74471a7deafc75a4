//! What a decoder gives: how far it came, and why it stopped.

use thiserror::Error;

/// What came out of one compressed event area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Decompression {
    /// Number of bytes decoded; they are correct up to the fault, if there is one.
    ///
    /// Fewer bytes than the limit without a fault mean that the stream ended regularly.
    pub written: usize,
    /// Why decoding stopped early; `None` when the stream ended regularly or reached the limit.
    pub fault: Option<CompressionFault>,
}

/// Why a compressed stream could not be decoded to its end. Offsets are bytes from the start of the compressed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum CompressionFault {
    /// The input ends inside a token: the stream was cut.
    #[error("the compressed input ends inside {what} at offset {at}")]
    Cut {
        /// Where that part of the stream starts.
        at: usize,
        /// What was being read.
        what: &'static str,
    },
    /// A match refers to bytes before the start of the output (LZNT1: of the chunk).
    #[error("match at offset {at} reaches {distance} bytes back, {written} are there")]
    DistanceBeforeOutput {
        /// Offset of the match.
        at: usize,
        /// Its distance, bytes.
        distance: usize,
        /// Bytes available before it.
        written: usize,
    },
    /// The stream decodes to more than the limit.
    #[error("at offset {at} the output passes its limit of {limit} bytes")]
    PastLimit {
        /// Offset of the token that passes the limit or comes after it.
        at: usize,
        /// Most bytes that the stream (LZNT1: the chunk) may decode to.
        limit: usize,
    },
    /// A match length in a longer form than necessary; no encoder writes that.
    #[error("match at offset {at} gives length field {found} in its long form, expected at least {least}")]
    ShortExtension {
        /// Offset of the match (Huffman: of the length).
        at: usize,
        /// The length field, 3 less than the length, bytes.
        found: usize,
        /// Smallest value for which the form is legal.
        least: usize,
    },
    /// An LZNT1 chunk header without the signature 3 in its bits 12 to 14.
    #[error("chunk at offset {at}: expected signature 3, found {found}")]
    ChunkSignature {
        /// Offset of the chunk header.
        at: usize,
        /// The signature found.
        found: u16,
    },
    /// Huffman code lengths that do not form a prefix code.
    #[error("the Huffman code lengths at offset {at} promise more codes than there are")]
    CodeLengths {
        /// Offset of the 256-byte table.
        at: usize,
    },
    /// Bits that match no code of the Huffman table.
    #[error("no Huffman code before offset {at}")]
    NoSuchCode {
        /// Offset after the bits read last.
        at: usize,
    },
}
