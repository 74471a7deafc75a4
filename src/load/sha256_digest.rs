//! SHA-256 digests of all payloads and all time stamps, for comparing readers and files.

use crate::etl::EtlFile;
use crate::etl::buffer::Buffer;
use crate::units::Ticks;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

/// Decompressed bytes that are read in parallel before they are hashed in file order: memory for three times as much.
const BATCH_BYTES: u64 = 16 << 20;

/// SHA-256 digests as lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceDigest {
    /// All payloads in file order: without headers, extension words, extended data items and padding.
    pub payloads_sha256: String,
    /// All raw stamps as little-endian 64-bit integers in the same order; records without a stamp count with that of
    /// the record before them.
    pub timestamps_sha256: String,
}

impl TraceDigest {
    /// Reads the whole trace.
    pub fn new(etl: &EtlFile) -> TraceDigest {
        let (mut payloads, mut stamps) = (Sha256::new(), Sha256::new());
        let mut start = 0;
        while start < etl.buffers.len() {
            let end = end_of_batch(etl, start);
            let parts: Vec<(Vec<u8>, Vec<u8>)> = (start..end).into_par_iter().map(|index| part(etl, index)).collect();
            start = end;
            let (payload_parts, stamp_parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            rayon::join(
                || payload_parts.iter().for_each(|part| payloads.update(part)),
                || stamp_parts.iter().for_each(|part| stamps.update(part)),
            );
        }
        TraceDigest { payloads_sha256: hex(payloads), timestamps_sha256: hex(stamps) }
    }
}

/// End of the batch of buffers that begins at `start`: as many as fit, but at least one.
fn end_of_batch(etl: &EtlFile, start: usize) -> usize {
    let mut bytes = 0u64;
    let fits = |buffer: &&Buffer| {
        bytes += u64::from(buffer.area_bytes());
        bytes <= BATCH_BYTES
    };
    let count = etl.buffers.iter().skip(start).take_while(fits).count();
    start + count.max(1)
}

/// Payload bytes and stamps of one buffer.
fn part(etl: &EtlFile, index: usize) -> (Vec<u8>, Vec<u8>) {
    let mut scratch = Vec::new();
    let area = etl.area(index, &mut scratch);
    let (mut payloads, mut stamps) = (Vec::with_capacity(area.bytes.len()), Vec::new());
    area.for_each_timed(etl.before_first(), |raw, Ticks(stamp)| {
        if let Ok(record) = raw.read() {
            payloads.extend_from_slice(record.payload);
        }
        stamps.extend_from_slice(&stamp.to_le_bytes());
    });
    (payloads, stamps)
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
