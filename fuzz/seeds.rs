//! Writes seed inputs for the fuzz targets: `seeds FOLDER TRACE.etl…`.
//!
//! One folder per kind of input, in the layout its targets read: `xpress`, `lznt1`, `huffman` (limit, stream), `record`
//! (type byte, record), `events` (hook id, version, pointer size, payload) and `container` (a file). All are small, so
//! that the fuzzer is quick. Reads traces with its own few lines: a seed need not be right, only near it.

// The fuzzer's runtime, which the instrumented library is linked against.
use libfuzzer_sys as _;
use pfnset::etl::compression::{Format, decompress};
use std::collections::HashSet;
use std::path::Path;
use std::{env, fs, io};

#[path = "../src/etl/compression/encode.rs"]
mod encode;

/// Buffers of a trace that are read, and bytes of an event area that become one stream.
const BUFFERS: usize = 12;
const AREA_BYTES: usize = 1024;
/// Longest start of a trace that becomes a `container` seed.
const CONTAINER_BYTES: usize = 128 * 1024;

fn main() -> io::Result<()> {
    let mut args = env::args_os().skip(1);
    let folder = args.next().ok_or_else(|| io::Error::other("usage: seeds FOLDER TRACE.etl..."))?;
    let mut seeds = Seeds { folder: folder.as_ref(), count: 0, kinds_of_record: HashSet::new() };
    seeds.streams(&made_up_area())?;
    for trace in args {
        seeds.trace(&fs::read(trace)?)?;
    }
    println!("{} seeds", seeds.count);
    Ok(())
}

struct Seeds<'a> {
    folder: &'a Path,
    count: usize,
    /// Type byte and hook id (or what lies there) of the records written.
    kinds_of_record: HashSet<(u8, u16)>,
}

impl Seeds<'_> {
    fn write(&mut self, kind: &str, parts: &[&[u8]]) -> io::Result<()> {
        let folder = self.folder.join(kind);
        fs::create_dir_all(&folder)?;
        self.count += 1;
        fs::write(folder.join(format!("seed-{:05}", self.count)), parts.concat())
    }

    fn trace(&mut self, file: &[u8]) -> io::Result<()> {
        let (mut at, mut start) = (0, 0);
        let mut scratch = Vec::new();
        for _ in 0..BUFFERS {
            let Some(size) = number(file, at, 4).filter(|&size| size >= 0x48) else { break };
            let Some(buffer) = file.get(at..at + size) else { break };
            at += size;
            if at <= CONTAINER_BYTES {
                start = at;
            }
            let area_bytes = number(buffer, 0x30, 4).unwrap_or(0).saturating_sub(0x48).min(1 << 20);
            let on_disk = &buffer[0x48..];
            if number(buffer, 0x34, 2).unwrap_or(0) & 0x40 != 0 {
                let _ = decompress(Format::Xpress, on_disk, &mut scratch, area_bytes);
                let cut = &on_disk[..on_disk.len().min(AREA_BYTES / 2)];
                self.write("xpress", &[&(area_bytes as u16).to_le_bytes(), cut])?;
            } else {
                scratch = on_disk[..on_disk.len().min(area_bytes)].to_vec();
            }
            self.streams(&scratch[..scratch.len().min(AREA_BYTES)])?;
            self.records(&scratch)?;
        }
        self.write("container", &[&file[..start]])
    }

    /// The three formats of one event area.
    fn streams(&mut self, area: &[u8]) -> io::Result<()> {
        let limit = (area.len() as u16).to_le_bytes();
        self.write("xpress", &[&limit, &encode::xpress(area)])?;
        self.write("huffman", &[&limit, &encode::huffman(area, &[9; 512])])?;
        let mut chunks = Vec::new();
        lznt1::compress(area, &mut chunks);
        self.write("lznt1", &[&limit, &chunks])
    }

    /// The first record of each kind.
    fn records(&mut self, mut area: &[u8]) -> io::Result<()> {
        while let (Some(size_at_0), Some(type_byte), Some(size_at_4), Some(hook)) =
            (number(area, 0, 2), area.get(2).copied(), number(area, 4, 2), number(area, 6, 2))
        {
            let kernel = matches!(type_byte, 1..=4 | 16..=17);
            let Some(record) = area.get(..if kernel { size_at_4 } else { size_at_0 }).filter(|r| r.len() >= 8) else {
                break;
            };
            if self.kinds_of_record.insert((type_byte, hook as u16)) {
                self.write("record", &[&[type_byte], record])?;
                let header_bytes = [0x20, 0x18, 0x10]
                    [usize::from(type_byte == 3 || type_byte == 4) + usize::from(type_byte >= 16) * 2];
                if let Some(payload) = record.get(header_bytes..).filter(|_| kernel) {
                    let pointer_bytes = if matches!(type_byte, 2 | 4 | 17) { 8 } else { 4 };
                    self.write("events", &[&record[6..8], &[record[0], pointer_bytes], payload])?;
                }
            }
            area = area.get(record.len().next_multiple_of(8)..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The little-endian number of `bytes` bytes at `at`.
fn number(data: &[u8], at: usize, bytes: usize) -> Option<usize> {
    Some(data.get(at..at + bytes)?.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte)))
}

/// Something like records, for when there is no trace.
fn made_up_area() -> Vec<u8> {
    (0..24u64)
        .flat_map(|i| [0x0223_0028_c011_0002, 0x1234_5678 + i * 37, i % 3, i * 40503 % 65521, i << 12])
        .flat_map(u64::to_le_bytes)
        .collect()
}
