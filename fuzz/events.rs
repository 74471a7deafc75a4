//! What all `events_*` targets do: a payload goes through its decoder, and everything in the event is looked at.
//!
//! Input: hook id (2 bytes, little-endian), version, pointer size (4 or 8), payload. A hook id of another family is
//! turned into one of the target's, so that no input is wasted.

use pfnset::etl::record::{HeaderType, RawRecord, Record};
use pfnset::etl::record_id::Position;
use pfnset::event::heap_range::HeapRange;
use pfnset::event::merged::{AddedByMerge, FileVersionField};
use pfnset::event::{Decoded, Event, decode};
use std::fmt::{self, Write};

/// Versions below this have no known layout in some families, and nothing is decoded.
const FIRST_VERSION: u8 = 2;

/// Decodes one input as a kernel event of one of `hooks`.
#[allow(dead_code, reason = "not used by the targets of records that go by a class GUID")]
pub fn kernel(hooks: &[u16], data: &[u8]) {
    let Some((&[low, high, version, pointer_bytes], payload)) = data.split_first_chunk() else { return };
    let hook = u16::from_le_bytes([low, high]);
    let hook = if hooks.contains(&hook) { hook } else { hooks[usize::from(hook) % hooks.len()] };
    let header = if pointer_bytes & 4 != 0 { HeaderType::Perfinfo32 } else { HeaderType::Perfinfo64 };
    let mut bytes = [0; 16].to_vec();
    bytes[0] = version;
    bytes[6..8].copy_from_slice(&hook.to_le_bytes());
    bytes.extend(payload);
    let raw = RawRecord { header, position: Position::default(), bytes: &bytes };
    let decoded = read(&raw.read().expect("a header without extension words"));
    assert!(decoded || version < FIRST_VERSION, "no decoder for 0x{hook:04x} version {version}");
}

/// Decodes a record. False when it is of a kind that is only counted.
pub fn read(record: &Record<'_>) -> bool {
    let length = record.payload.len();
    match decode(record) {
        Decoded::NotDecoded => return false,
        Decoded::Malformed(malformed) => {
            assert_eq!((malformed.length, malformed.version), (length, record.version));
            show(&malformed);
        }
        Decoded::Event { event, surplus } => {
            if let Some(surplus) = surplus {
                assert_eq!((surplus.length, surplus.version), (length, record.version));
                show(&surplus);
            }
            look(&event, length);
        }
    }
    true
}

/// Reads what an event holds: its fields by `Debug`, and what is only computed when asked for.
fn look(event: &Event<'_>, length: usize) {
    show(&format_args!("{event:?}"));
    // No list has more entries than the payload has bytes, whatever count it states.
    let within = |count: usize| assert!(count <= length, "{count} entries in {length} bytes: {event:?}");
    match event {
        Event::Page { page, .. } => show(&format_args!("{} {}", page.page_use().name(), page.list().name())),
        Event::PageRangeAccess(range) | Event::PageRangeRelease(range) => show(&range.page_use().name()),
        Event::Heap(HeapRange::Rundown(rundown)) => {
            assert_eq!(rundown.ranges().count(), rundown.len());
            within(rundown.len());
        }
        Event::Stack(stack) => within(stack.frames.iter().count()),
        Event::ProviderBinary(binary) => within(binary.providers().count()),
        Event::LastDroppedTimes(dropped) => within(dropped.times().count()),
        Event::ProfileBatch(batch) => within(batch.samples().count()),
        Event::NumaNodes(nodes) => within(nodes.nodes().count()),
        Event::ProcessorNumbers(numbers) => within(numbers.numbers().count()),
        Event::ProcessWorkingSets(sets) | Event::SessionWorkingSets(sets) => {
            assert_eq!(sets.iter().count(), sets.len());
            within(sets.len());
        }
        Event::MemInfo(info) => show(&format_args!("{:?} {:?}", info.counts(), info.commit())),
        Event::Merged(AddedByMerge::FileVersion(version)) => {
            use FileVersionField::*;
            for field in [OriginalName, Description, FileVersion, BinaryVersion, Language] {
                show(&version.field(field));
            }
            for field in [Product, Company, ProductVersion, FileId, ProgramId] {
                show(&version.field(field));
            }
        }
        _ => {}
    }
}

/// Formats a value and throws the text away.
fn show(value: &impl fmt::Display) {
    struct Nowhere;
    impl Write for Nowhere {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Ok(())
        }
    }
    write!(Nowhere, "{value}").expect("formatting does not fail");
}
