//! Payloads made by hand for the tests, from explicit offsets; shares no layout code with the decoders.

use super::{Decoded, Event, Fault, Oddity, Payload, decode};
use crate::etl::record::{HeaderType, HookId, Position, Record, RecordId};
use crate::units::{PointerSize, Ticks};

pub(crate) use PointerSize::{P4, P8};

/// A payload of a given length, zero where nothing was put.
#[derive(Clone, Debug)]
pub(crate) struct Bytes(pub Vec<u8>);

impl Bytes {
    pub(crate) fn new(length: usize) -> Self {
        Bytes(vec![0; length])
    }

    pub(crate) fn raw(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn u8(self, at: usize, value: u8) -> Self {
        self.raw(at, &[value])
    }

    pub(crate) fn u16(self, at: usize, value: u16) -> Self {
        self.raw(at, &value.to_le_bytes())
    }

    pub(crate) fn u32(self, at: usize, value: u32) -> Self {
        self.raw(at, &value.to_le_bytes())
    }

    pub(crate) fn u64(self, at: usize, value: u64) -> Self {
        self.raw(at, &value.to_le_bytes())
    }

    /// A pointer: 8 bytes, or the low 4.
    pub(crate) fn ptr(self, pointer: PointerSize, at: usize, value: u64) -> Self {
        match pointer {
            P8 => self.u64(at, value),
            P4 => self.u32(at, value as u32),
        }
    }

    /// Appends raw bytes.
    pub(crate) fn more(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Appends a UTF-16LE string with its NUL.
    pub(crate) fn wide(mut self, text: &str) -> Self {
        self.0.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        self
    }

    /// Appends an 8-bit string with its NUL.
    pub(crate) fn narrow(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().chain([0]));
        self
    }

    /// Without the last `count` bytes.
    pub(crate) fn cut(mut self, count: usize) -> Self {
        self.0.truncate(self.0.len() - count);
        self
    }
}

/// A kernel record around a payload.
pub(crate) fn record(hook: u16, version: u8, pointer: PointerSize, payload: &[u8]) -> Record<'_> {
    with_id(RecordId::Kernel(HookId(hook)), version, pointer, payload)
}

pub(crate) fn with_id(id: RecordId, version: u8, pointer: PointerSize, payload: &[u8]) -> Record<'_> {
    Record {
        extended: &[],
        header: pointer.pick(HeaderType::Perfinfo64, HeaderType::Perfinfo32),
        id,
        version,
        pointer,
        thread_id: None,
        process_id: None,
        time: Some(Ticks(0)),
        payload,
        position: Position::default(),
    }
}

pub(crate) fn payload(hook: u16, version: u8, pointer: PointerSize, bytes: &[u8]) -> Payload<'_> {
    Payload { hook: HookId(hook), version, pointer, bytes }
}

/// The event of a payload that fits its layout.
pub(crate) fn event(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) -> Event<'_> {
    match decode(&record(hook, version, pointer, &bytes.0)) {
        Decoded::Event { event, surplus: None } => event,
        other => panic!("{other:?}"),
    }
}

/// The event of a payload that fits in part, and what is odd.
pub(crate) fn odd(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) -> (Event<'_>, Oddity) {
    match decode(&record(hook, version, pointer, &bytes.0)) {
        Decoded::Event { event, surplus: Some(surplus) } => (event, surplus.oddity),
        other => panic!("{other:?}"),
    }
}

/// The fault of a payload that does not fit.
pub(crate) fn fault(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) -> Fault {
    match decode(&record(hook, version, pointer, &bytes.0)) {
        Decoded::Malformed(malformed) => malformed.fault,
        other => panic!("{other:?}"),
    }
}
