//! Disk requests: their starts and their completions.
//!
//! Sources: `docs/formats.md` ("Disk requests"). 8-byte pointers were checked on recorded traces; 4-byte pointers are after the
//! Windows MOF only. Completions do not say their process; the issuing thread is there where the length holds it (version 3).

use crate::byte_reader::{Layout, layout, size};
use crate::etl::record_id::HookId;
use crate::event::outcome::{Oddity, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use crate::named_enum::named_enum;
use hook::*;
use zerocopy::little_endian::{U32, U64};

crate::event::hooks_macro::hooks! {
    DISK_READ = 0x010a, "DiskIo: Read", "DiskRead";
    DISK_WRITE = 0x010b, "DiskIo: Write", "DiskWrite";
    DISK_READ_INIT = 0x010c, "DiskIo: ReadInit", "DiskReadInit";
    DISK_WRITE_INIT = 0x010d, "DiskIo: WriteInit", "DiskWriteInit";
    DISK_FLUSH = 0x010e, "DiskIo: FlushBuffers", "DiskFlush";
    DISK_FLUSH_INIT = 0x010f, "DiskIo: FlushInit", "DiskFlushInit";
}

named_enum! {
    /// What a request asks of the disk.
    pub enum DiskOperation {
        /// Read.
        Read = "read",
        /// Write.
        Write = "write",
        /// Write what the disk's cache holds.
        Flush = "flush",
    }
}

/// The thread that issued a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuingThread {
    /// The thread with this id.
    Id(u32),
    /// The kernel did not know it: all bits are set.
    Unknown,
}

impl IssuingThread {
    const fn of_field(field: u32) -> IssuingThread {
        if field == u32::MAX { IssuingThread::Unknown } else { IssuingThread::Id(field) }
    }

    /// The field as it is in the record.
    pub const fn field(self) -> u32 {
        if let IssuingThread::Id(id) = self { id } else { u32::MAX }
    }

    /// Its id.
    pub const fn id(self) -> Option<u32> {
        if let IssuingThread::Id(id) = self { Some(id) } else { None }
    }
}

/// The start of a request: 12/8 bytes, 8/4 without the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStart {
    /// Address of the request packet, which its completion names too.
    pub irp: u64,
    /// Thread that issued it; `None` in records without this field.
    pub thread: Option<IssuingThread>,
}

/// The completion of a request: 52/44 bytes, of a flush 28/24; 4 less without the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskEnd {
    /// Number of the disk.
    pub disk: u32,
    /// Flags of the request packet.
    pub irp_flags: u32,
    /// Bytes; 0 of a flush.
    pub byte_count: u32,
    /// A field without a documented meaning, as it is in the record; 0 of a flush.
    pub reserved: u32,
    /// Byte offset on the disk; 0 of a flush.
    pub byte_offset: u64,
    /// File object; `None` of a flush.
    pub file_key: Option<u64>,
    /// Address of the request packet.
    pub irp: u64,
    /// How long it took, in ticks of the session's clock.
    pub response: u64,
    /// Thread that issued it; `None` in records without this field.
    pub thread: Option<IssuingThread>,
}

impl DiskEnd {
    /// Priority, bits 17–19 of the flags; 0 = none was set.
    pub const fn priority(&self) -> u8 {
        (self.irp_flags >> 17 & 7) as u8
    }
}

/// A disk event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskEvent {
    /// A request was started.
    Start(DiskOperation, DiskStart),
    /// It was completed.
    End(DiskOperation, DiskEnd),
}

layout! {
    StartLayout<P> = 8 / 4 bytes => DiskStart { irp: P } with |_| { thread: None }
}

layout! {
    TransferLayout<P> = 48 / 40 bytes => DiskEnd {
        disk: U32, irp_flags: U32, byte_count: U32, reserved: U32, byte_offset: U64, file_key: P, irp: P, response: U64
    } with |_| { thread: None }
}

layout! {
    FlushLayout<P> = 24 / 20 bytes => DiskEnd { disk: U32, irp_flags: U32, response: U64, irp: P }
    with |_| { byte_count: 0, reserved: 0, byte_offset: 0, file_key: None, thread: None }
}

impl DiskEvent {
    /// Decodes a disk event; `None` for other hooks.
    ///
    /// # Errors
    /// A fault when the payload is shorter than the layout without the thread.
    pub fn read(payload: &Payload<'_>) -> Option<Read<DiskEvent>> {
        let (operation, is_start) = match payload.hook {
            DISK_READ => (DiskOperation::Read, false),
            DISK_WRITE => (DiskOperation::Write, false),
            DISK_FLUSH => (DiskOperation::Flush, false),
            DISK_READ_INIT => (DiskOperation::Read, true),
            DISK_WRITE_INIT => (DiskOperation::Write, true),
            DISK_FLUSH_INIT => (DiskOperation::Flush, true),
            _ => return None,
        };
        let flushed = operation == DiskOperation::Flush;
        Some(match (is_start, flushed) {
            (true, _) => read::<StartLayout, _>(payload, |start, thread| {
                DiskEvent::Start(operation, DiskStart { thread, ..start })
            }),
            (false, true) => {
                read::<FlushLayout, _>(payload, |end, thread| DiskEvent::End(operation, DiskEnd { thread, ..end }))
            }
            (false, false) => {
                read::<TransferLayout, _>(payload, |end, thread| DiskEvent::End(operation, DiskEnd { thread, ..end }))
            }
        })
    }

    /// True for the hooks of disk events.
    pub fn is(hook: HookId) -> bool {
        (DISK_READ.0..=DISK_FLUSH_INIT.0).contains(&hook.0)
    }
}

/// A layout and the thread behind it, where the length holds one.
fn read<'a, L: Layout<'a>, V>(payload: &Payload<'a>, event: impl Fn(L::Value, Option<IssuingThread>) -> V) -> Read<V> {
    let Parsed { value, .. } = payload.read::<L>(ANY)?;
    let parsed = size::<L>(payload.pointer);
    let behind = payload.bytes.get(parsed..).and_then(<[u8]>::first_chunk);
    let thread = behind.map(|bytes| IssuingThread::of_field(u32::from_le_bytes(*bytes)));
    let known = parsed + if behind.is_some() { 4 } else { 0 };
    let more = payload.bytes.len() - known >= payload.pointer.bytes();
    Ok(Parsed::new(event(value, thread), more.then_some(Oddity::Longer { parsed: known })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::units::PointerSize;

    fn read(hook: HookId, pointer: PointerSize, bytes: &[u8]) -> Option<DiskEvent> {
        DiskEvent::read(&Payload { hook, version: 3, pointer, bytes })
            .expect("a disk event")
            .ok()
            .map(|read| read.value)
    }

    #[test]
    fn completions_with_and_without_a_thread() {
        for (p, at) in [(P8, [24, 32, 40, 48]), (P4, [24, 28, 32, 40])] {
            let bytes = Bytes::new(at[3] + 4)
                .u32(0, 2)
                .u32(4, 3 << 17 | 0x43)
                .u32(8, 4096)
                .u32(12, 0xffff_8ac6)
                .u64(16, 0x1_2345_6000);
            let bytes = bytes.ptr(p, at[0], 0xa000_0010).ptr(p, at[1], 0xb000_0020).u64(at[2], 777).u32(at[3], 5000);
            let end = DiskEnd {
                disk: 2,
                irp_flags: 3 << 17 | 0x43,
                byte_count: 4096,
                reserved: 0xffff_8ac6,
                byte_offset: 0x1_2345_6000,
                file_key: Some(0xa000_0010),
                irp: 0xb000_0020,
                response: 777,
                thread: Some(IssuingThread::Id(5000)),
            };
            assert_eq!(end.priority(), 3);
            assert_eq!(read(DISK_READ, p, &bytes.0), Some(DiskEvent::End(DiskOperation::Read, end)));
            let old = DiskEnd { thread: None, ..end };
            assert_eq!(read(DISK_WRITE, p, &bytes.clone().cut(4).0), Some(DiskEvent::End(DiskOperation::Write, old)));
            assert_eq!(read(DISK_WRITE, p, &bytes.cut(5).0), None);
        }
    }

    #[test]
    fn flushes_and_starts() {
        for (p, size) in [(P8, 24), (P4, 20)] {
            let bytes = Bytes::new(size + 4).u32(0, 1).u64(8, 99).ptr(p, 16, 0xb000_0020).u32(size, u32::MAX);
            let Some(DiskEvent::End(DiskOperation::Flush, end)) = read(DISK_FLUSH, p, &bytes.0) else { panic!() };
            assert_eq!(
                (end.disk, end.response, end.irp, end.thread, end.file_key),
                (1, 99, 0xb000_0020, Some(IssuingThread::Unknown), None)
            );
            assert_eq!(read(DISK_FLUSH, p, &bytes.cut(5).0), None);
            let start = Bytes::new(p.bytes() + 4).ptr(p, 0, 0xb000_0020).u32(p.bytes(), 12);
            let expected = DiskStart { irp: 0xb000_0020, thread: Some(IssuingThread::Id(12)) };
            for (hook, operation) in [
                (DISK_READ_INIT, DiskOperation::Read),
                (DISK_WRITE_INIT, DiskOperation::Write),
                (DISK_FLUSH_INIT, DiskOperation::Flush),
            ] {
                assert!(DiskEvent::is(hook));
                assert_eq!(read(hook, p, &start.0), Some(DiskEvent::Start(operation, expected)));
            }
            let without = DiskStart { thread: None, ..expected };
            assert_eq!(read(DISK_READ_INIT, p, &start.cut(4).0), Some(DiskEvent::Start(DiskOperation::Read, without)));
        }
    }
}
