//! All three formats against the document's examples, against slow decoders and encoders, cut short, and on a recorded
//! trace.

mod encode;
mod reference_decoders;

use crate::random_cases::cases;
use pfnset::unstable_api::compression::{CompressionFault, Decompression, Format, decompress};
use proptest::prelude::*;
use std::path::Path;

type ReferenceDecoder = fn(&[u8], usize) -> reference_decoders::Decompressed;

const FORMATS: [(Format, ReferenceDecoder); 3] = [
    (Format::Xpress, reference_decoders::xpress),
    (Format::Lznt1, reference_decoders::lznt1),
    (Format::XpressHuffman, reference_decoders::huffman),
];

/// Decodes into memory full of old bytes, as when it is reused.
fn decoded(format: Format, input: &[u8], limit: usize) -> (Vec<u8>, Option<CompressionFault>) {
    let mut output = vec![0xa5; limit / 2 + 7];
    let Decompression { written, fault } = decompress(format, input, &mut output, limit);
    assert_eq!(output.len(), written);
    assert!(written <= limit);
    (output, fault)
}

fn encoded(format: Format, data: &[u8], lengths: &[u8; 512]) -> Vec<u8> {
    match format {
        Format::Xpress => encode::xpress(data),
        Format::XpressHuffman => encode::huffman(data, lengths),
        Format::Lznt1 => {
            let mut out = Vec::new();
            lznt1::compress(data, &mut out);
            out
        }
    }
}

/// A full prefix code of 512 symbols: leaves of a tree, split at the places that `choices` says.
fn code_lengths(choices: &[u16]) -> [u8; 512] {
    let mut lengths = [0u8; 512];
    for (used, &choice) in (1..512).zip(choices.iter().cycle()) {
        let leaf = (0..used).map(|i| (usize::from(choice) + i) % used).find(|&leaf| lengths[leaf] < 15).unwrap();
        lengths[leaf] += 1;
        lengths[used] = lengths[leaf];
    }
    lengths
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// [MS-XCA] 3.1 and its plain LZ77 stream, with the exact limit and with a wider one.
#[test]
fn xpress_examples_of_the_document() {
    let alphabet = hex("3f000000 6162636465666768696a6b6c6d6e6f707172737475767778797a");
    let repeated = hex("ffffff1f 61626317000fff2601");
    for spare in [0, 1, 100] {
        assert_eq!(decoded(Format::Xpress, &alphabet, 26 + spare), (ALPHABET.to_vec(), None));
        assert_eq!(decoded(Format::Xpress, &repeated, 300 + spare), (b"abc".repeat(100), None));
    }
    assert_eq!(encode::xpress(ALPHABET), alphabet);
    assert_eq!(encode::xpress(&b"abc".repeat(100)), repeated);
}

/// [MS-XCA] 3.2.
#[test]
fn huffman_examples_of_the_document() {
    let table = |entries: &[(usize, u8)]| {
        let mut table = vec![0; 256];
        entries.iter().for_each(|&(at, byte)| table[at] = byte);
        table
    };
    let mut entries = vec![(48, 0x50), (59, 0x45), (60, 0x44), (61, 0x04), (128, 0x04)];
    entries.extend((49..59).map(|at| (at, 0x55)));
    let mut alphabet = table(&entries);
    alphabet.extend(hex("d8523ed794115be9195ff9d67cdf8d0400000000"));
    let mut repeated = table(&[(48, 0x30), (49, 0x23), (128, 0x02), (143, 0x20)]);
    repeated.extend(hex("a8dc0000ff2601"));
    assert_eq!(decoded(Format::XpressHuffman, &alphabet, 26), (ALPHABET.to_vec(), None));
    assert_eq!(decoded(Format::XpressHuffman, &repeated, 300), (b"abc".repeat(100), None));
}

/// [MS-XCA] 3.3.
#[test]
fn lznt1_example_of_the_document() {
    let stream = hex(
        "38b08846232000204720410010a24701a045204400084501507900c045200524138805b4024a44ef0358028c091601484500be009e000401189000",
    );
    let text = b"F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E F# G F# E D E A F# F# G A A G F# E D D E F# E D D\0";
    assert_eq!(decoded(Format::Lznt1, &stream, text.len()), (text.to_vec(), None));
    assert_eq!(decoded(Format::Lznt1, &stream, 4096), (text.to_vec(), None));
}

#[test]
fn every_length_form_of_xpress_decodes() {
    // 3 bytes more than each length field at which the form changes, and one to either side.
    for field in [6, 7, 21, 22, 22 + 254, 22 + 255, 65535, 65536] {
        for length in field + 2..=field + 4 {
            let data = vec![b'z'; 1 + length];
            assert_eq!(decoded(Format::Xpress, &encode::xpress(&data), data.len()), (data, None), "{length}");
        }
    }
}

#[test]
fn two_nibbles_share_a_byte_across_other_tokens() {
    let data = b"abcdefghijklmnop_abcdefghijklmnop?xabcdefghijklmno!cdefghijklmnop".to_vec();
    let stream = encode::xpress(&data);
    assert_eq!(decoded(Format::Xpress, &stream, data.len()), (data, None));
}

#[test]
fn xpress_faults_say_where() {
    let fault = |stream: &str, limit| decoded(Format::Xpress, &hex(stream), limit);
    let distance = CompressionFault::DistanceBeforeOutput { at: 5, distance: 3, written: 1 };
    assert_eq!(fault("ffffff7f 61 1000", 9), (b"a".to_vec(), Some(distance)));
    let past = CompressionFault::PastLimit { at: 5, limit: 3 };
    assert_eq!(fault("ffffff7f 61 0000", 3), (b"aaa".to_vec(), Some(past)));
    let short = CompressionFault::ShortExtension { at: 5, found: 21, least: 22 };
    assert_eq!(fault("ffffff7f 61 0700 0f ff 1500", 99), (b"a".to_vec(), Some(short)));
    assert_eq!(fault("ffffff7f 61 0700 0f ff 1600", 99), (vec![b'a'; 26], None));
    assert_eq!(fault("ffffff7f 61 0700 0f ff 0000 16000000", 99), (vec![b'a'; 26], None));
    let past = CompressionFault::PastLimit { at: 5, limit: 99 };
    assert_eq!(fault("ffffff7f 61 0700 0f ff 0000 ffffffff", 99), (vec![b'a'; 99], Some(past)));
    let cut = |at, what| Some(CompressionFault::Cut { at, what });
    assert_eq!(fault("ffff", 9), (vec![], cut(0, "the flag word")));
    assert_eq!(fault("ffffff7f", 9), (vec![], cut(4, "a run of literals")));
    assert_eq!(fault("ffffff7f 61 00", 9), (b"a".to_vec(), cut(5, "a match")));
    assert_eq!(fault("ffffff7f 61 0700", 9), (b"a".to_vec(), cut(5, "a match")));
}

#[test]
fn one_unused_flag_word_may_follow_the_output() {
    let data: Vec<u8> = (0..32).collect();
    let mut stream = encode::xpress(&data);
    assert_eq!(stream.len(), 4 + 32 + 4);
    assert_eq!(decoded(Format::Xpress, &stream, 32), (data.clone(), None));
    stream.push(0);
    let past = CompressionFault::PastLimit { at: 36, limit: 32 };
    assert_eq!(decoded(Format::Xpress, &stream, 32), (data, Some(past)));
}

#[test]
fn lznt1_chunks_stand_alone() {
    let fault = |stream: &str, limit| decoded(Format::Lznt1, &hex(stream), limit);
    // A short chunk before another is filled with zeros; the last one is not.
    let mut filled = b"ab".to_vec();
    filled.resize(4096, 0);
    filled.extend(b"cde");
    assert_eq!(fault("0130 6162 0230 636465 0000 99", 9999), (filled.clone(), None));
    // A match does not reach into the chunk before.
    let distance = CompressionFault::DistanceBeforeOutput { at: 7, distance: 1, written: 0 };
    assert_eq!(fault("0130 6162 02b0 01 0000", 9999), (filled[..4096].to_vec(), Some(distance)));
    // A chunk of 1 + 4098 bytes.
    let past = CompressionFault::PastLimit { at: 4, limit: 4096 };
    assert_eq!(fault("03b0 02 61 ff0f", 9999), (vec![b'a'; 4096], Some(past)));
    let signature = CompressionFault::ChunkSignature { at: 0, found: 2 };
    assert_eq!(fault("01a0 0000", 9), (vec![], Some(signature)));
    let cut = CompressionFault::Cut { at: 0, what: "a chunk" };
    assert_eq!(fault("0330 6162", 9), (b"ab".to_vec(), Some(cut)));
}

/// The match at the end is symbol 256, as is the end marker after it, and all input is read ahead before either.
#[test]
fn a_last_match_is_not_taken_for_the_end_of_a_huffman_stream() {
    let mut lengths = [0; 512];
    (lengths[usize::from(b'x')], lengths[256]) = (1, 1);
    assert_eq!(decoded(Format::XpressHuffman, &encode::huffman(b"xxxx", &lengths), 4), (b"xxxx".to_vec(), None));
}

#[test]
fn huffman_faults_say_where() {
    let full = [0x99; 256]; // 512 codes of 9 bits
    let with = |table: [u8; 256], rest: &str| [&table[..], &hex(rest)].concat();
    let too_many = CompressionFault::CodeLengths { at: 0 };
    assert_eq!(decoded(Format::XpressHuffman, &with([0x89; 256], "00000000"), 9), (vec![], Some(too_many)));
    let no_code = CompressionFault::NoSuchCode { at: 260 };
    assert_eq!(decoded(Format::XpressHuffman, &with([0xaa; 256], "ffff0000"), 9), (vec![], Some(no_code)));
    // Symbol 256 first: a match at distance 1 with nothing before.
    let distance = CompressionFault::DistanceBeforeOutput { at: 260, distance: 1, written: 0 };
    assert_eq!(decoded(Format::XpressHuffman, &with(full, "0080000000"), 9), (vec![], Some(distance)));
    let cut = CompressionFault::Cut { at: 0, what: "a table of code lengths" };
    assert_eq!(decoded(Format::XpressHuffman, &full[1..], 9), (vec![], Some(cut)));
}

#[test]
fn the_format_is_in_the_header_buffers_state() {
    let formats = [0, 2, 3, 4, 0x1_0002, 0xffff_ffff].map(Format::from_header_state);
    let [x, l, h] = FORMATS.map(|(format, _)| format);
    assert_eq!(formats, [x, l, x, h, l, x]);
}

#[test]
fn a_scratch_that_is_large_enough_is_reused() {
    let data = b"abc".repeat(1000);
    let stream = encode::xpress(&data);
    let mut scratch = Vec::new();
    assert_eq!(decompress(Format::Xpress, &stream, &mut scratch, 3000).fault, None);
    let (place, capacity) = (scratch.as_ptr(), scratch.capacity());
    assert_eq!(capacity, 3000);
    for limit in [0, 10, 3000, 2999, 3000] {
        assert_eq!(decompress(Format::Xpress, &stream, &mut scratch, limit).written, limit);
        assert_eq!((scratch.as_ptr(), scratch.capacity()), (place, capacity));
        assert_eq!(scratch, data[..limit]);
    }
}

/// The limit comes from the file: memory must grow with the bytes really decoded, not with the limit, and this must not
/// change the output.
#[test]
fn the_scratch_grows_with_the_output_and_not_with_the_limit() {
    const TOO_LARGE: usize = 64 << 20;
    for (format, decoder) in FORMATS {
        for length in [3_000usize, 65_535, 65_536, 65_537, 131_072, 200_000, 1_000_000] {
            let data = b"abc".repeat(length.div_ceil(3))[..length].to_vec();
            let stream = encoded(format, &data, &[9; 512]);
            for limit in [length, length + 1, TOO_LARGE] {
                if format == Format::XpressHuffman && limit != length {
                    continue; // such a stream ends only at its limit
                }
                let mut scratch = Vec::new();
                let outcome = decompress(format, &stream, &mut scratch, limit);
                assert_eq!(outcome, Decompression { written: length, fault: None }, "{format:?} {length} {limit}");
                assert!(scratch == data, "{format:?} {length} {limit}");
                let most = limit.min((2 * length).max(65_536).max(8 * stream.len()));
                assert!(scratch.capacity() <= most, "{format:?} {length} {limit}: room for {}", scratch.capacity());
            }
            // One byte too few, and the last bytes of the stream missing.
            let cut = &stream[..stream.len() - 3];
            for (stream, limit) in [(&stream[..], length - 1), (cut, length), (cut, TOO_LARGE)] {
                let (bytes, fault) = decoded(format, stream, limit);
                assert!(decoder(stream, limit) == (bytes, fault.is_none()), "{format:?} {length} {limit}");
            }
        }
    }
}

/// Data as in traces: earlier pieces again at any distance, runs, small numbers and noise in between.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let piece = (any::<u16>(), prop_oneof![20 => 1..40usize, 3 => 1..700usize, 1 => 1..9000usize], any::<u8>());
    prop::collection::vec(piece, 0..80).prop_map(|pieces| {
        let mut data = Vec::new();
        for (from, length, kind) in pieces {
            let from = usize::from(from) % (data.len() + 1);
            match kind % 4 {
                0 => (0..length.min(60)).for_each(|i| data.push(((from * (i + 3) * 40503) >> 7) as u8)),
                1 => data.extend([kind; 3].iter().cycle().take(length)),
                _ if data.is_empty() => data.push(kind),
                // Repeats itself where the piece is longer than what is left.
                _ => (0..length).for_each(|i| data.push(data[(from + i) % data.len()])),
            }
        }
        data
    })
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn what_was_encoded_is_decoded(data in data(), choices in prop::collection::vec(any::<u16>(), 1..600)) {
        for (format, reference) in FORMATS {
            let stream = encoded(format, &data, &code_lengths(&choices));
            prop_assert_eq!(&decoded(format, &stream, data.len()), &(data.clone(), None), "{:?}", format);
            if format != Format::XpressHuffman {
                prop_assert_eq!(&decoded(format, &stream, data.len() + 5000), &(data.clone(), None), "{:?}", format);
            }
            prop_assert_eq!(reference(&stream, data.len()), (data.clone(), true), "{:?}", format);
        }
    }

    #[test]
    fn damaged_streams_decode_as_the_slow_decoders_do(
        data in data(),
        choices in prop::collection::vec(any::<u16>(), 1..600),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 0..4),
        cut in any::<prop::sample::Index>(),
        spare in 0..50usize,
    ) {
        for (format, reference) in FORMATS {
            let mut stream = encoded(format, &data, &code_lengths(&choices));
            for (at, bits) in &flips {
                if !stream.is_empty() {
                    let at = at.index(stream.len());
                    stream[at] ^= bits;
                }
            }
            stream.truncate(stream.len() - cut.index(stream.len() + 1) / 4);
            let limit = (data.len() + spare).saturating_sub(25);
            let (bytes, fault) = decoded(format, &stream, limit);
            let (expected, sound) = reference(&stream, limit);
            prop_assert_eq!(fault.is_none(), sound, "{:?} {:?}", format, fault);
            prop_assert_eq!(bytes, expected, "{:?}", format);
        }
    }

    #[test]
    fn garbage_decodes_as_the_slow_decoders_do(stream in prop::collection::vec(any::<u8>(), 0..800), limit in 0..20_000usize) {
        for (format, reference) in FORMATS {
            let (bytes, fault) = decoded(format, &stream, limit);
            prop_assert_eq!((bytes, fault.is_none()), reference(&stream, limit), "{:?}", format);
        }
    }
}

#[test]
fn every_cut_gives_the_start_of_the_data() {
    let mut data = b"a line of the trace, a line of the tracing; ".repeat(9);
    data.extend((0..300u32).flat_map(|i| (i * i * 7919).to_le_bytes()));
    data.extend([0; 700]);
    data.extend_from_within(100..900);
    data.extend(b"\x01the \xf0end");
    for (format, _) in FORMATS {
        let stream = encoded(format, &data, &[9; 512]);
        let mut longest = 0;
        for cut in 0..stream.len() {
            let (bytes, fault) = decoded(format, &stream[..cut], data.len());
            assert!(data.starts_with(&bytes), "{format:?} cut to {cut}");
            assert!(bytes.len() >= longest, "{format:?} cut to {cut} gives less than one byte earlier");
            longest = bytes.len();
            if let Some(fault) = fault {
                assert!(matches!(fault, CompressionFault::Cut { .. }), "{format:?} cut to {cut}: {fault}");
            }
        }
        assert!(longest > data.len() - 20, "{format:?}");
    }
}

/// The compressed buffers of a trace: (event area on disk, its decompressed length).
fn compressed_buffers(file: &[u8]) -> Vec<(&[u8], usize)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let mut buffers = Vec::new();
    let mut at = 0;
    while at < file.len() {
        if word(at + 0x34) & 0x40 != 0 {
            buffers.push((&file[at + 0x48..at + word(at)], word(at + 0x30) - 0x48));
        }
        at += word(at);
    }
    buffers
}

#[test]
fn the_recorded_traces_decode_to_their_lengths() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/real");
    for (name, count) in [("net.4.5.2.x64.etl", 359), ("SelfDescribingSingleEvent.etl", 2)] {
        let Ok(file) = std::fs::read(folder.join(name)) else {
            eprintln!("SKIPPED: {name} is not in ../shared/traces/real");
            continue;
        };
        let buffers = compressed_buffers(&file);
        assert_eq!(buffers.len(), count, "{name}");
        let mut scratch = Vec::new();
        for (i, &(stream, length)) in buffers.iter().enumerate() {
            let outcome = decompress(Format::Xpress, stream, &mut scratch, length);
            assert_eq!(outcome, Decompression { written: length, fault: None }, "{name}, compressed buffer {i}");
            assert_eq!(
                reference_decoders::xpress(stream, length),
                (scratch.clone(), true),
                "{name}, compressed buffer {i}"
            );
        }
        // Cuts of one buffer in the middle of the file.
        let (stream, length) = buffers[count / 2];
        let (whole, _) = decoded(Format::Xpress, stream, length);
        for cut in (0..stream.len()).step_by(7) {
            let (bytes, _) = decoded(Format::Xpress, &stream[..cut], length);
            assert!(whole.starts_with(&bytes), "{name}, cut to {cut}");
        }
    }
}
