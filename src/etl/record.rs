//! Record headers: from the first word of a record to its kind, ids, time and payload.
//!
//! Sources: `docs/formats.md` ("Records"), which follows the public WMI trace header descriptions; all but COMPACT,
//! INSTANCE, PERFINFO32 and ERROR were verified on recorded traces. Records are found by `etl::event_area`; payloads are
//! decoded by `event`.

use crate::byte_reader::Cursor;
pub use crate::etl::header_error::HeaderError;
pub use crate::etl::header_type::HeaderType;
use crate::etl::record_id::{HookId, Position, RecordId};
use crate::units::{PointerSize, Ticks};
use std::mem::offset_of;
use std::ops::Range;
use uuid::Uuid;
use zerocopy::little_endian::{I64, U16, U32, U64};

/// A record in a buffer: kind and bytes, nothing else read yet.
///
/// Invariant, ensured by `etl::event_area`: `bytes` is the whole record and at least `header.header_bytes()` long.
#[derive(Debug, Clone, Copy)]
pub struct RawRecord<'a> {
    /// Kind of header.
    pub header: HeaderType,
    /// Where it lies.
    pub position: Position,
    /// The record, header included, padding not.
    pub bytes: &'a [u8],
}

/// A record with its header read.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Kind of header.
    pub header: HeaderType,
    /// Kind of event.
    pub id: RecordId,
    /// Event version: the low byte of the header's version field.
    pub version: u8,
    /// Pointer size of the payload.
    pub pointer: PointerSize,
    /// Thread that logged the event; `None` when the header has no such field or says "none" (0xffffffff).
    pub thread_id: Option<u32>,
    /// Process that logged the event; `None` as for `thread_id`.
    pub process_id: Option<u32>,
    /// Raw time; `None` for messages without one and for kinds of unknown layout.
    pub time: Option<Ticks>,
    /// Payload: without header, extension words, extended data items and padding.
    pub payload: &'a [u8],
    /// Extended data items of a manifest event, with their heads; empty for all other kinds.
    pub extended: &'a [u8],
    /// Where the record lies.
    pub position: Position,
}

/// PERFINFO: the kernel logger's short header, 16 bytes.
#[repr(C)]
struct Perfinfo {
    version: u8,
    extension: u8,
    _type: U16,
    _size: U16,
    hook: U16,
    time: I64,
}

/// COMPACT, 24 bytes, and the start of SYSTEM, which has two CPU times of 4 bytes after it.
#[repr(C)]
struct Compact {
    _version_type_size: [u8; 6],
    hook: U16,
    thread_id: U32,
    process_id: U32,
    time: I64,
}

/// FULL (classic events), 48 bytes, and the start of INSTANCE.
#[repr(C)]
struct Full {
    _size_and_type: [u8; 4],
    opcode: u8,
    _level: u8,
    version: u8,
    _version_high: u8,
    thread_id: U32,
    process_id: U32,
    time: I64,
    class: [u8; 16],
    _cpu_times: [u8; 8],
}

/// EVENT (manifest and TraceLogging events), 80 bytes.
#[repr(C)]
struct Manifest {
    _size_and_type: U32,
    flags: U16,
    _property: U16,
    thread_id: U32,
    process_id: U32,
    time: I64,
    provider: [u8; 16],
    id: U16,
    version: u8,
    _channel: u8,
    level: u8,
    opcode: u8,
    task: U16,
    keywords: U64,
    _processor_time: [u8; 8],
    activity: [u8; 16],
}

const _: () = {
    assert!(size_of::<Perfinfo>() == HeaderType::Perfinfo64.header_bytes());
    assert!(size_of::<Compact>() == HeaderType::Compact64.header_bytes());
    assert!(size_of::<Full>() == HeaderType::Full64.header_bytes());
    assert!(size_of::<Manifest>() == HeaderType::Event64.header_bytes());
    // Fields that are read before the kind is known have the same offset in all headers.
    assert!(
        offset_of!(Compact, time) == offset_of!(Full, time) && offset_of!(Full, time) == offset_of!(Manifest, time)
    );
    assert!(offset_of!(Compact, process_id) == offset_of!(Full, process_id));
    assert!(offset_of!(Compact, hook) == offset_of!(Perfinfo, hook));
};

#[inline(always)]
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_le_bytes(*b))
}

#[inline(always)]
fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

#[inline(always)]
fn le64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

fn guid(bytes: &[u8], at: usize) -> Uuid {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(Uuid::nil(), |b| Uuid::from_bytes_le(*b))
}

fn id(value: u32) -> Option<u32> {
    (value != u32::MAX).then_some(value)
}

impl<'a> Record<'a> {
    /// A record whose header cannot be read: all of it is payload.
    pub(crate) fn unread(raw: RawRecord<'a>) -> Record<'a> {
        Record {
            header: raw.header,
            id: RecordId::Opaque(raw.header),
            version: 0,
            pointer: raw.header.pointer(),
            thread_id: None,
            process_id: None,
            time: None,
            payload: raw.bytes,
            extended: &[],
            position: raw.position,
        }
    }
}

impl<'a> RawRecord<'a> {
    /// The hook id of a kernel event; `None` for all other kinds.
    #[inline(always)]
    pub fn hook(&self) -> Option<HookId> {
        self.header.is_kernel().then(|| HookId(le16(self.bytes, offset_of!(Perfinfo, hook))))
    }

    /// Where the raw time of a kernel event lies in it.
    #[inline(always)]
    pub const fn kernel_time_at(&self) -> usize {
        match self.header {
            HeaderType::Perfinfo32 | HeaderType::Perfinfo64 => offset_of!(Perfinfo, time),
            _ => offset_of!(Compact, time),
        }
    }

    /// The raw time in a record's bytes; `at` is what [`RawRecord::kernel_time_at`] gave for a record of the same kind.
    #[inline(always)]
    pub fn time_in(bytes: &[u8], at: usize) -> Ticks {
        Ticks(le64(bytes, at) as i64)
    }

    /// The raw time; `None` for messages without one and for kinds of unknown layout.
    #[inline(always)]
    pub fn time(&self) -> Option<Ticks> {
        use HeaderType::*;
        match self.header {
            Perfinfo32 | Perfinfo64 => Some(RawRecord::time_in(self.bytes, offset_of!(Perfinfo, time))),
            Message => self.message().time,
            Error | Other(_) => None,
            _ => Some(RawRecord::time_in(self.bytes, offset_of!(Compact, time))),
        }
    }

    /// Payload of a kernel event. It follows the header and the 8-byte items that the version field's high byte announces
    /// (one PEBS index, 0–7 performance counters). `None` when those items pass the record's end.
    #[inline(always)]
    pub fn kernel_payload(&self) -> Option<&'a [u8]> {
        let extension = byte(self.bytes, offset_of!(Perfinfo, extension));
        let items = usize::from(extension >> 7) + usize::from(extension & 7);
        self.bytes.get(self.header.header_bytes() + 8 * items..)
    }

    /// The raw time of a kernel event; `None` for all other kinds. Faster than [`RawRecord::time`] in loops over millions of
    /// records, because the record stays in registers.
    #[inline(always)]
    pub fn kernel_time(&self) -> Option<Ticks> {
        self.header.is_kernel().then(|| RawRecord::time_in(self.bytes, self.kernel_time_at()))
    }

    /// Type and payload of a classic event of the class with this GUID, as it is stored; `None` for all other records. Faster than
    /// [`RawRecord::read`] in loops over millions of records.
    #[inline(always)]
    pub fn of_class(&self, class: &[u8; 16]) -> Option<(u8, &'a [u8])> {
        use HeaderType::*;
        let stored = self.bytes.get(offset_of!(Full, class)..)?.first_chunk::<16>()?;
        if !matches!(self.header, Full32 | Full64 | Instance32 | Instance64) || stored != class {
            return None;
        }
        Some((byte(self.bytes, offset_of!(Full, opcode)), self.bytes.get(self.header.header_bytes()..)?))
    }

    /// Thread and process that logged a kernel event or a classic one; `None` when the header has no such fields or says "none".
    #[inline(always)]
    pub fn kernel_ids(&self) -> (Option<u32>, Option<u32>) {
        match self.header {
            HeaderType::Perfinfo32 | HeaderType::Perfinfo64 => (None, None),
            _ => (
                id(le32(self.bytes, offset_of!(Compact, thread_id))),
                id(le32(self.bytes, offset_of!(Compact, process_id))),
            ),
        }
    }

    /// The low byte of the version field of a kernel event.
    #[inline(always)]
    pub fn kernel_version(&self) -> u8 {
        byte(self.bytes, offset_of!(Perfinfo, version))
    }

    /// Reads the whole header.
    ///
    /// # Errors
    /// [`HeaderError`] when extension words, extended data items or message options pass the end of the record.
    pub fn read(&self) -> Result<Record<'a>, HeaderError> {
        use HeaderType::*;
        let bytes = self.bytes;
        let mut record = Record {
            header: self.header,
            id: RecordId::Opaque(self.header),
            version: self.kernel_version(),
            pointer: self.header.pointer(),
            thread_id: id(le32(bytes, offset_of!(Compact, thread_id))),
            process_id: id(le32(bytes, offset_of!(Compact, process_id))),
            time: Some(Ticks(le64(bytes, offset_of!(Compact, time)) as i64)),
            payload: &[],
            extended: &[],
            position: self.position,
        };
        let plain = bytes.get(self.header.header_bytes()..).unwrap_or_default();
        match self.header {
            System32 | System64 | Compact32 | Compact64 | Perfinfo32 | Perfinfo64 => {
                record.id = RecordId::Kernel(HookId(le16(bytes, offset_of!(Compact, hook))));
                record.payload = self.kernel_payload().ok_or(HeaderError::ExtensionWords { size: bytes.len() })?;
                if matches!(self.header, Perfinfo32 | Perfinfo64) {
                    (record.thread_id, record.process_id, record.time) = (None, None, self.time());
                }
            }
            Full32 | Full64 | Instance32 | Instance64 => {
                record.id = RecordId::Classic {
                    class: guid(bytes, offset_of!(Full, class)),
                    opcode: byte(bytes, offset_of!(Full, opcode)),
                };
                record.version = byte(bytes, offset_of!(Full, version));
                record.payload = plain;
            }
            Event32 | Event64 => {
                record.id = RecordId::Manifest {
                    provider: guid(bytes, offset_of!(Manifest, provider)),
                    id: le16(bytes, offset_of!(Manifest, id)),
                };
                record.version = byte(bytes, offset_of!(Manifest, version));
                record.payload = if le16(bytes, offset_of!(Manifest, flags)) & 1 != 0 {
                    after_extended_items(plain)?
                } else {
                    plain
                };
                record.extended = plain.get(..plain.len() - record.payload.len()).unwrap_or_default();
            }
            Message => {
                let message = self.message();
                record.id = RecordId::Message { guid: message.guid, number: le16(bytes, 4) };
                record.version = 0;
                record.pointer = message.pointer;
                (record.thread_id, record.process_id, record.time) =
                    (message.thread_id, message.process_id, message.time);
                record.payload =
                    bytes.get(message.payload_at..).ok_or(HeaderError::MessageOptions { size: bytes.len() })?;
            }
            Error | Other(_) => {
                (record.version, record.thread_id, record.process_id, record.time) = (0, None, None, None);
                record.payload = plain;
            }
        }
        Ok(record)
    }

    /// What the header of a manifest or classic event says beside its id.
    pub(crate) fn descriptor(&self) -> Descriptor {
        use HeaderType::*;
        match self.header {
            Event32 | Event64 => Descriptor {
                level: Some(byte(self.bytes, offset_of!(Manifest, level))),
                opcode: Some(byte(self.bytes, offset_of!(Manifest, opcode))),
                task: Some(le16(self.bytes, offset_of!(Manifest, task))),
                keywords: Some(le64(self.bytes, offset_of!(Manifest, keywords))),
            },
            Full32 | Full64 | Instance32 | Instance64 => Descriptor {
                level: Some(byte(self.bytes, offset_of!(Full, _level))),
                opcode: Some(byte(self.bytes, offset_of!(Full, opcode))),
                ..Descriptor::default()
            },
            _ => Descriptor::default(),
        }
    }

    /// Where a GUID lies in the record that a program has made for itself: that of an activity, or of a file of its source code
    /// with messages.
    pub fn own_guid(&self) -> Option<Range<usize>> {
        let start = match self.header {
            HeaderType::Event32 | HeaderType::Event64 => offset_of!(Manifest, activity),
            HeaderType::Message if le16(self.bytes, 6) & 6 == 2 => 8 + usize::from(le16(self.bytes, 6) & 1 != 0) * 4,
            _ => return None,
        };
        Some(start..start + 16)
    }

    /// Where the GUID of the provider of a manifest event lies in the record.
    pub fn provider_guid(&self) -> Option<Range<usize>> {
        let start = offset_of!(Manifest, provider);
        matches!(self.header, HeaderType::Event32 | HeaderType::Event64).then_some(start..start + 16)
    }

    /// Optional fields of a WPP message follow the 8-byte header, unaligned and in this order.
    fn message(&self) -> MessageFields {
        let options = le16(self.bytes, 6);
        let mut fields = MessageFields {
            guid: Uuid::nil(),
            time: None,
            thread_id: None,
            process_id: None,
            pointer: if options & 0x40 != 0 { PointerSize::P4 } else { PointerSize::P8 },
            payload_at: 8,
        };
        let has = |bits: u16| options & bits != 0;
        let at = &mut fields.payload_at;
        if has(1) {
            *at += 4; // sequence number
        }
        if has(4) {
            *at += 4; // component id
        } else if has(2) {
            fields.guid = guid(self.bytes, *at);
            *at += 16;
        }
        if has(0x18) {
            if self.bytes.len() >= *at + 8 {
                fields.time = Some(Ticks(le64(self.bytes, *at) as i64));
            }
            *at += 8;
        }
        if has(0x20) {
            fields.thread_id = id(le32(self.bytes, *at));
            fields.process_id = id(le32(self.bytes, *at + 4));
            *at += 8;
        }
        fields
    }
}

/// What a header says of its event beside the id; `None` where it has no such field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Descriptor {
    /// Level.
    pub level: Option<u8>,
    /// Opcode; the type of a classic event.
    pub opcode: Option<u8>,
    /// Task.
    pub task: Option<u16>,
    /// Keywords.
    pub keywords: Option<u64>,
}

struct MessageFields {
    guid: Uuid,
    time: Option<Ticks>,
    thread_id: Option<u32>,
    process_id: Option<u32>,
    pointer: PointerSize,
    payload_at: usize,
}

/// Skips the linked extended data items of a manifest event and returns what follows the last one.
///
/// An item's size (rounded up to 8) leads to the next; bit 0 of the word at 4 says that another item follows. User
/// data can look like an item, so reading stops at the item whose bit is clear.
fn after_extended_items(mut area: &[u8]) -> Result<&[u8], HeaderError> {
    loop {
        let mut cursor = Cursor::new(area, PointerSize::P8);
        let head = cursor.u16("item size").and_then(|size| {
            cursor.u16("item type")?;
            Ok((usize::from(size), cursor.u16("item link")? & 1 != 0))
        });
        let bad = HeaderError::ExtendedItem { left: area.len() };
        let (size, another) = head.map_err(|_| bad)?;
        if size < 8 {
            return Err(bad); // would not advance
        }
        area = area.get(size..).ok_or(bad)?;
        if !another {
            return Ok(area);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(header: HeaderType, bytes: &[u8]) -> RawRecord<'_> {
        RawRecord { header, position: Position::default(), bytes }
    }

    #[test]
    fn extension_words_move_the_payload() {
        // PERFINFO64, version 4, PEBS index and two counters, then 4 bytes of payload.
        let mut bytes = vec![4, 0x82, 17, 0xc0, 44, 0, 0x24, 0x05, 9, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([0xee; 24]);
        bytes.extend([1, 2, 3, 4]);
        let record = raw(HeaderType::Perfinfo64, &bytes).read().unwrap();
        assert_eq!(record.payload, [1, 2, 3, 4]);
        assert_eq!((record.version, record.time, record.thread_id), (4, Some(Ticks(9)), None));
        bytes.truncate(36);
        assert_eq!(raw(HeaderType::Perfinfo64, &bytes).read().unwrap_err(), HeaderError::ExtensionWords { size: 36 });
    }

    #[test]
    fn user_data_that_looks_like_an_item_is_user_data() {
        let mut bytes = vec![0; 0x50];
        bytes[4] = 1;
        bytes.extend([16, 0, 11, 0, 1, 0, 8, 0, 1, 1, 1, 1, 1, 1, 1, 1]); // linked
        bytes.extend([8, 0, 12, 0, 0, 0, 0, 0]); // last
        bytes.extend([8, 0, 1, 0, 0, 0, 0, 0]); // user data
        assert_eq!(raw(HeaderType::Event64, &bytes).read().unwrap().payload, [8, 0, 1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn an_item_of_size_zero_ends_the_walk() {
        let mut bytes = vec![0; 0x60];
        bytes[4] = 1;
        bytes[0x54] = 1;
        assert!(raw(HeaderType::Event64, &bytes).read().is_err());
    }

    #[test]
    fn messages_carry_what_their_options_say() {
        let mut bytes = vec![0, 0, 0, 0x90, 43, 0, 0xaa, 0];
        bytes.extend([7; 16]);
        bytes.extend(5u64.to_le_bytes());
        bytes.extend([1, 0, 0, 0, 2, 0, 0, 0, 0x99]);
        let record = raw(HeaderType::Message, &bytes).read().unwrap();
        assert_eq!(record.id, RecordId::Message { guid: Uuid::from_bytes([7; 16]), number: 43 });
        assert_eq!((record.thread_id, record.process_id, record.time), (Some(1), Some(2), Some(Ticks(5))));
        assert_eq!(record.payload, [0x99]);
        assert!(raw(HeaderType::Message, &bytes[..20]).read().is_err());
    }
}
