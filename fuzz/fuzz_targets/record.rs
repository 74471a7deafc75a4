//! Records of every kind: whatever the bytes say, fields are read in bounds, the payload lies inside the record, and the
//! payload is decoded or counted.
//!
//! Input: the kind of header (1 byte), then the record. What is shorter than its header is filled up with zeros, as the
//! walk over a buffer passes on whole headers only.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::etl::record::{HeaderType, RawRecord};
use pfnset::etl::record_id::Position;

#[path = "../events.rs"]
mod events;

/// Kinds by the type byte of a record, as seeds have it in front.
fn header(byte: u8) -> HeaderType {
    use HeaderType::*;
    match byte {
        1 => System32,
        2 => System64,
        3 => Compact32,
        4 => Compact64,
        10 => Full32,
        11 => Instance32,
        13 => Error,
        15 => Message,
        16 => Perfinfo32,
        17 => Perfinfo64,
        18 => Event32,
        19 => Event64,
        20 => Full64,
        21 => Instance64,
        other => Other(other),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, bytes)) = data.split_first() else { return };
    let header = header(kind);
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(header.header_bytes()), 0);
    let raw = RawRecord { header, position: Position::default(), bytes: &bytes };
    assert_eq!(raw.hook().is_some(), header.is_kernel());
    let (time, payload) = (raw.time(), raw.kernel_payload());
    let Ok(record) = raw.read() else { return };
    assert!(record.payload.is_empty() || bytes.as_ptr_range().contains(&record.payload.as_ptr()));
    assert!(record.payload.len() <= bytes.len() - 8);
    assert_eq!(record.time, time);
    if header.is_kernel() {
        assert_eq!(Some(record.payload), payload);
        assert_eq!(record.version, raw.kernel_version());
    }
    events::read(&record);
});
