//! Bytes written in the forms of the three algorithms without being compressed, for buffers that could not be unpacked to
//! their end: what was unpacked of them is written again, and ends at the same place.

use super::Format;

/// Literals between two words of flags of LZ77.
const XPRESS_GROUP: usize = 32;
/// Bytes of a chunk of LZNT1.
const LZNT1_CHUNK: usize = 4096;
/// Bytes that share a table of Huffman codes.
const HUFFMAN_CHUNK: usize = 1 << 16;

/// The bytes in a form that [`super::decompress`] reads; it then finds that the rest is missing. `None` for an odd number of
/// bytes with Huffman codes, which come in pairs.
pub fn stored(format: Format, bytes: &[u8]) -> Option<Vec<u8>> {
    match format {
        // A word of flags, all 0: what follows are literals.
        Format::Xpress => Some(bytes.chunks(XPRESS_GROUP).flat_map(|group| [&[0; 4], group].concat()).collect()),
        // Signature 3, length - 1, not compressed.
        Format::Lznt1 => Some(
            bytes
                .chunks(LZNT1_CHUNK)
                .flat_map(|chunk| [&(0x3000 | (chunk.len() - 1) as u16).to_le_bytes()[..], chunk].concat())
                .collect(),
        ),
        // A reader is one word ahead when the next table begins.
        Format::XpressHuffman => {
            let chunks: Vec<Vec<u8>> = bytes.chunks(HUFFMAN_CHUNK).map(huffman).collect();
            bytes.len().is_multiple_of(2).then(|| chunks.join(&[0; 2][..]))
        }
    }
}

/// Each literal has a code of 8 bits, which is then the literal itself. Codes fill words of 16 bits from their high end.
fn huffman(chunk: &[u8]) -> Vec<u8> {
    let mut bytes = [[0x88; 128], [0; 128]].concat();
    bytes.extend(chunk.as_chunks::<2>().0.iter().flat_map(|[first, second]| [*second, *first]));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::compression::decompress;

    #[test]
    fn what_was_stored_is_read_again_and_then_ends() {
        for format in [Format::Xpress, Format::Lznt1, Format::XpressHuffman] {
            for length in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 65_535, 65_536, 70_001] {
                let bytes: Vec<u8> = (0..length).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
                let mut out = Vec::new();
                let Some(stored) = stored(format, &bytes) else {
                    assert!(format == Format::XpressHuffman && length % 2 == 1);
                    continue;
                };
                let outcome = decompress(format, &stored, &mut out, length as usize + 1000);
                assert_eq!(outcome.written, bytes.len(), "{format:?} {length}: {outcome:?}");
                assert_eq!(out[..bytes.len()], bytes, "{format:?} {length}");
            }
        }
    }
}
