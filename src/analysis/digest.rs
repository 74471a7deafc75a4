//! Fingerprints of what was read, for comparing readers and files.

use crate::etl::EtlFile;
use crate::units::Ticks;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

/// Buffers that are decompressed in parallel before their bytes are hashed in file order.
const BATCH: usize = 64;

/// SHA-256 digests as lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// All payloads in file order: without headers, extension words, extended data items and padding.
    pub payloads_sha256: String,
    /// All raw stamps as little-endian 64-bit integers in the same order; records without a stamp count with that of
    /// the record before them.
    pub timestamps_sha256: String,
}

impl Digest {
    /// Reads the whole trace.
    pub fn new(etl: &EtlFile) -> Digest {
        let (mut payloads, mut stamps) = (Sha256::new(), Sha256::new());
        let indices: Vec<usize> = (0..etl.buffers.len()).collect();
        for batch in indices.chunks(BATCH) {
            let parts: Vec<(Vec<u8>, Vec<u8>)> = batch.par_iter().map(|&index| part(etl, index)).collect();
            let (payload_parts, stamp_parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            rayon::join(
                || payload_parts.iter().for_each(|part| payloads.update(part)),
                || stamp_parts.iter().for_each(|part| stamps.update(part)),
            );
        }
        Digest { payloads_sha256: hex(payloads), timestamps_sha256: hex(stamps) }
    }
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
