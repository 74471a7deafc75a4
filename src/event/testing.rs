//! Payloads that tests build from explicit offsets, and checks that every layout must pass.
//!
//! Shares no layout code with the decoders.

use super::heap_range::HeapRange;
use super::merged::{AddedByMerge, FileVersionField};
use super::{Decoded, Event, Fault, Oddity, decode};
use crate::etl::record::{HeaderType, Record};
use crate::etl::record_id::{HookId, Position, RecordId};
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

/// The event of a payload that fits its layout.
pub(crate) fn event(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) -> Event<'_> {
    match decode(&record(hook, version, pointer, &bytes.0)) {
        Decoded::Event { event, surplus: None } => {
            exercise(&event);
            event
        }
        other => panic!("{other:?}"),
    }
}

/// The event of a payload that fits in part, and what is odd.
pub(crate) fn odd(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) -> (Event<'_>, Oddity) {
    match decode(&record(hook, version, pointer, &bytes.0)) {
        Decoded::Event { event, surplus: Some(surplus) } => {
            exercise(&event);
            assert!(surplus.to_string().contains(&format!("length {}", bytes.0.len())), "{surplus}");
            (event, surplus.what)
        }
        other => panic!("{other:?}"),
    }
}

/// The fault of a payload that does not fit.
pub(crate) fn fault(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) -> Fault {
    match decode(&record(hook, version, pointer, &bytes.0)) {
        Decoded::Malformed(malformed) => {
            assert!(malformed.to_string().contains(&format!(": length {}, ", bytes.0.len())), "{malformed}");
            malformed.what
        }
        other => panic!("{other:?}"),
    }
}

const UNKNOWN_VERSION: u8 = 200;

/// What must hold for a fixed layout of exactly these bytes: less is a fault, padding is none, more is reported.
pub(crate) fn check_fixed(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) {
    let expected = bytes.0.len();
    event(hook, version, pointer, bytes);
    for cut in 1..=expected {
        assert_eq!(fault(hook, version, pointer, &bytes.clone().cut(cut)), Fault::Length { expected }, "{hook:x}");
    }
    for padding in 1..pointer.bytes() {
        event(hook, version, pointer, &bytes.clone().more(&vec![0xee; padding]));
    }
    let longer = bytes.clone().more(&vec![0xee; pointer.bytes()]);
    assert_eq!(odd(hook, version, pointer, &longer).1, Oddity::Longer { parsed: expected });
}

/// What must hold for a layout without padding: any other length is a fault.
pub(crate) fn check_exact(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) {
    let expected = bytes.0.len();
    event(hook, version, pointer, bytes);
    for length in (0..expected).chain([expected + 1, expected + 4, expected + 8]) {
        let mut other = bytes.clone();
        other.0.resize(length, 0);
        assert_eq!(fault(hook, version, pointer, &other), Fault::Length { expected }, "{hook:x} {length}");
    }
}

/// What must hold for a layout that ends with strings: no prefix is accepted, more is reported.
pub(crate) fn check_strings(hook: u16, version: u8, pointer: PointerSize, bytes: &Bytes) {
    event(hook, version, pointer, bytes);
    for cut in 1..=bytes.0.len() {
        fault(hook, version, pointer, &bytes.clone().cut(cut));
    }
    let parsed = bytes.0.len();
    assert_eq!(odd(hook, version, pointer, &bytes.clone().more(&[0xee])).1, Oddity::Longer { parsed });
}

/// A version without a known layout is read and reported.
pub(crate) fn check_unknown_version(hook: u16, pointer: PointerSize, bytes: &Bytes) {
    let parsed = bytes.0.len();
    assert_eq!(odd(hook, UNKNOWN_VERSION, pointer, bytes).1, Oddity::UnknownVersion { parsed });
}

/// Uses all that an event can give: no result is checked, a test sees what panics.
pub(crate) fn exercise(event: &Event<'_>) {
    let used = match event {
        Event::ProviderBinary(binary) => binary.providers().count(),
        Event::LastDroppedTimes(dropped) => dropped.times().count(),
        Event::Process { process, .. } => process.sid.map_or(0, |sid| sid.to_string().len()),
        Event::Heap(HeapRange::Rundown(rundown)) => rundown.ranges().count() + rundown.len(),
        Event::MemInfo(info) => format!("{:?} {:?}", info.commit(), info.counts()).len(),
        Event::ProcessWorkingSets(sets) | Event::SessionWorkingSets(sets) => sets.iter().count() + sets.len(),
        Event::Pool { piece, .. } => piece.tag.to_string().len(),
        Event::PoolSnapshot { snapshot, .. } => {
            let fits = snapshot.forms().iter().filter(|form| snapshot.fits(**form)).count();
            fits + snapshot
                .forms()
                .iter()
                .filter_map(|form| snapshot.entries(*form))
                .map(Iterator::count)
                .sum::<usize>()
        }
        Event::ProfileBatch(batch) => batch.samples().count(),
        Event::NumaNodes(nodes) => nodes.nodes().count(),
        Event::ProcessorNumbers(numbers) => numbers.numbers().count(),
        Event::Image { image, .. } => image.preferred_base().is_some().into(),
        Event::Merged(AddedByMerge::FileVersion(version)) => {
            version.field(FileVersionField::ProgramId).to_string().len()
        }
        _ => 0,
    };
    std::hint::black_box((format!("{event:?}"), used));
}
