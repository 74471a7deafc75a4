//! Speed of decompression, in bytes of output: `cargo bench --bench decompression`.
//!
//! On the compressed buffers of a recorded trace when it lies beside the repository, and on made-up page records.

mod generated;

use generated::medians;
use pfnset::unstable_api::compression::{Format, decompress};
use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;

#[path = "../tests/reader/compression/encode.rs"]
mod encode;

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

/// 64 KiB of page records: PERFINFO64 headers with rising times, addresses and page numbers.
fn page_records() -> Vec<u8> {
    let mut area = Vec::new();
    for i in 0..1638u64 {
        area.extend([2, 0, 17, 0xc0, 40, 0, 0x75, 0x02]);
        area.extend((0x0123_4567_89ab + i * 37).to_le_bytes());
        area.extend((((i % 7) << 54) | (i % 3)).to_le_bytes());
        area.extend((0x0001_2000 + i * 40503 % 65521).to_le_bytes());
        area.extend((0x7ff6_1234_0000 + i * 4096).to_le_bytes());
    }
    area
}

/// Decompresses the buffers as often as it takes to measure, and prints how fast that was.
fn measure(name: &str, format: Format, buffers: &[(&[u8], usize)]) {
    const ROUNDS: usize = 21;
    const BYTES_A_ROUND: usize = 32 << 20;
    let bytes = buffers.iter().map(|&(_, length)| length).sum::<usize>();
    let times = (BYTES_A_ROUND / bytes.max(1)).max(1);
    let scratch = RefCell::new(Vec::new());
    let run = || {
        for &(stream, length) in (0..times).flat_map(|_| buffers) {
            let scratch = &mut *scratch.borrow_mut();
            let outcome = decompress(format, black_box(stream), scratch, length);
            assert_eq!((outcome.written, outcome.fault), (length, None));
            black_box(scratch);
        }
    };
    let [time] = medians(ROUNDS, [&run]);
    let rate = (bytes * times) as f64 / 1e6 / time.as_secs_f64();
    println!("{name:<22} {rate:>6.0} MB/s of output, median of {ROUNDS} rounds of {} MB", bytes * times / 1_000_000);
}

fn main() {
    // `cargo test --benches` only asks whether a bench runs, and without optimization.
    if std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/real/net.4.5.2.x64.etl");
    match std::fs::read(&trace) {
        Ok(file) => measure("xpress, recorded trace", Format::Xpress, &compressed_buffers(&file)),
        Err(_) => eprintln!("skipped: no recorded trace beside the repository"),
    }
    let records = page_records();
    measure("xpress, page records", Format::Xpress, &[(&encode::xpress(&records), records.len())]);
    let coded = encode::huffman(&records, &[9; 512]);
    measure("huffman, page records", Format::XpressHuffman, &[(&coded, records.len())]);
}
