//! Header group: records that describe the file, the session and its rundowns.
//!
//! Sources: `docs/formats.md` ("Header group"): `EventTrace_Header`, `Header_Extension` and relatives of the Windows
//! MOF, checked on recorded traces.

use crate::byte_reader::{Narrow, Wide, layout};
use crate::etl::log_file_header::{LogFileHeader, LogFileNames};
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use uuid::Uuid;
use zerocopy::little_endian::U32;

crate::event::hooks_macro::hooks! {
    LOG_FILE = 0x0000, "EventTrace: Header";
    MASKS_AFTER_CHANGE = 0x0005, "EventTrace: Extension";
    RUNDOWN_COMPLETE = 0x0008, "EventTrace: RDComplete";
    MASKS_BEFORE_CHANGE = 0x0020, "EventTrace: EndExtension";
    DEBUG_ID = 0x0040, "EventTrace: DbgIdRSDS";
    BUILD_LAB = 0x0042, "EventTrace: BuildLab";
    PROVIDER_BINARY = 0x0043, "EventTrace: ProviderBinaryPath";
    PARTITION_INFO = 0x0050, "EventTrace: PartitionInfo";
    LAST_DROPPED_TIMES = 0x0052, "EventTrace: LastDroppedTimes";
}

/// `0x0000`, the first record of a file (`EventTrace_Header`). `etl` has its layout, because it reads it before all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFile<'a> {
    /// The numbers.
    pub header: LogFileHeader,
    /// The names.
    pub names: LogFileNames<'a>,
}

impl<'a> LogFile<'a> {
    /// Decodes the record.
    ///
    /// # Errors
    /// A fault when a field passes the end or a string has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<LogFile<'a>> {
        let mut c = payload.cursor();
        let value = LogFile { header: LogFileHeader::read(&mut c)?, names: LogFileNames::read(&mut c)? };
        Ok(Parsed::new(value, payload.ends(&c, 2..=2)))
    }
}

/// When group masks were logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MasksPhase {
    /// `0x0020`: the old masks; the end rundown of keywords that are turned off follows.
    BeforeChange,
    /// `0x0005`: the new masks; the start rundown of keywords that are turned on follows.
    AfterChange,
}

/// `0x0005`, `0x0020`: what the session records, 36 bytes (32 in version 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMasks {
    /// Bits by mask; `keywords` has their names.
    pub masks: [u32; 8],
    /// Version of the kernel's events; `None` in version 1.
    pub event_version: Option<u32>,
}

impl GroupMasks {
    /// Decodes the 36 or 32 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<GroupMasks> {
        match payload.version {
            1 => payload.read::<MasksV1>(1..=2),
            _ => payload.read::<MasksLayout>(1..=2),
        }
    }
}

layout! {
    MasksV1 = 32 bytes => GroupMasks { masks: [U32; 8] } with |_| { event_version: None }
}

layout! {
    MasksLayout = 36 bytes => GroupMasks { masks: [U32; 8], event_version: U32 }
}

/// Identity of a program database: GUID, age, file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugId<'a> {
    /// GUID.
    pub guid: Uuid,
    /// Age.
    pub age: u32,
    /// File name of the program database.
    pub pdb_name: Narrow<'a>,
}

impl<'a> DebugId<'a> {
    /// Decodes `0x0040`, which names no image.
    ///
    /// # Errors
    /// A fault when a field passes the end or the name has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<DebugId<'a>> {
        let mut c = payload.cursor();
        let value = DebugId::at(&mut c)?;
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }

    pub(crate) fn at(c: &mut crate::byte_reader::Cursor<'a>) -> Result<DebugId<'a>, Fault> {
        Ok(DebugId { guid: c.guid("GUID")?, age: c.u32("age")?, pdb_name: c.narrow("pdb name")? })
    }
}

/// Decodes `0x0042`: the build lab, one 8-bit string.
///
/// # Errors
/// A fault when it has no NUL.
pub(crate) fn read_build_lab<'a>(payload: &Payload<'a>) -> Read<Narrow<'a>> {
    let mut c = payload.cursor();
    let value = c.narrow("build lab")?;
    Ok(Parsed::new(value, payload.ends(&c, ANY)))
}

/// `0x0043`: the binary of some providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderBinary<'a> {
    guids: &'a [u8],
    /// Path of the binary.
    pub path: Wide<'a>,
}

impl<'a> ProviderBinary<'a> {
    /// GUIDs of the providers.
    pub fn providers(&self) -> impl Iterator<Item = Uuid> + 'a {
        self.guids.as_chunks::<16>().0.iter().map(|guid| Uuid::from_bytes_le(*guid))
    }

    /// Decodes a count, that many GUIDs, and a string.
    ///
    /// # Errors
    /// A fault when the GUIDs pass the end or the path has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<ProviderBinary<'a>> {
        let mut c = payload.cursor();
        let count = c.u32("provider count")?;
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(16)).unwrap_or(usize::MAX);
        let value = ProviderBinary { guids: c.take(bytes, "provider GUIDs")?, path: c.wide("path")? };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }
}

/// How a partition is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionName<'a> {
    /// By GUID; nil = none.
    Guid(Uuid),
    /// By text.
    Text(Wide<'a>),
}

/// `0x0050`: in which partition (host, guest) the trace was recorded. 48 bytes, or with text names instead of GUIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionInfo<'a> {
    /// 0: named by GUIDs, 2: by texts.
    pub form: u16,
    /// A field without a documented meaning, as it is in the record.
    pub reserved: u16,
    /// Type of partition.
    pub partition_type: u32,
    /// Offset of the clock from the root's.
    pub clock_offset: i64,
    /// The partition.
    pub partition: PartitionName<'a>,
    /// Its parent.
    pub parent: PartitionName<'a>,
    /// The GUIDs as they are in the record; empty where both have text names.
    pub guid_bytes: &'a [u8],
}

impl<'a> PartitionInfo<'a> {
    /// Decodes either form, by the first field.
    ///
    /// # Errors
    /// A fault when the form is unknown, a field passes the end or a string has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<PartitionInfo<'a>> {
        let mut c = payload.cursor();
        let form = c.u16("event version")?;
        let reserved = c.u16("reserved")?;
        let partition_type = c.u32("partition type")?;
        let clock_offset = c.i64("clock offset")?;
        let mut guid_bytes = [].as_slice();
        let (partition, parent, oddity) = match form {
            0 => {
                let oddity = payload.fixed(48, ANY)?;
                guid_bytes = c.clone().take(32, "partition")?;
                (PartitionName::Guid(c.guid("partition")?), PartitionName::Guid(c.guid("parent")?), oddity)
            }
            2 => {
                let names = (c.wide("partition")?, c.wide("parent")?);
                (PartitionName::Text(names.0), PartitionName::Text(names.1), payload.ends(&c, ANY))
            }
            _ => return Err(Fault::Value { field: "event version" }),
        };
        let value = PartitionInfo { form, reserved, partition_type, clock_offset, partition, parent, guid_bytes };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0052`: when each processor last dropped an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastDroppedTimes<'a> {
    times: &'a [u8],
}

impl<'a> LastDroppedTimes<'a> {
    /// Raw times by processor; `None` = never dropped.
    pub fn times(&self) -> impl Iterator<Item = Option<u64>> + 'a {
        let times = self.times.as_chunks::<8>().0.iter().map(|time| u64::from_le_bytes(*time));
        times.map(|time| (time != 0).then_some(time))
    }

    /// Decodes a count and that many times.
    ///
    /// # Errors
    /// [`Fault::Count`] when the times pass the end.
    pub fn read(payload: &Payload<'a>) -> Read<LastDroppedTimes<'a>> {
        let mut c = payload.cursor();
        let count = c.u32("count")?;
        c.skip(4, "padding")?;
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(8)).ok_or(Fault::Count { count })?;
        let times = c.take(bytes, "times").map_err(|_| Fault::Count { count })?;
        Ok(Parsed::new(LastDroppedTimes { times }, payload.ends(&c, ANY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;
    use crate::units::{FileTime, PointerSize};

    fn log_file_header(p: PointerSize) -> Bytes {
        let at = p.pick([72, 248, 256, 264, 272, 276, 280], [64, 240, 248, 256, 264, 268, 272]);
        let bytes = Bytes::new(at[6]).u32(0, 0x1_0000).u8(4, 10).u8(6, 1).u8(7, 5).u32(8, 26100).u32(12, 20);
        let bytes = bytes.u64(16, 2000).u32(24, 156_250).u32(28, 100).u32(32, 0x8000_0002).u32(36, 49).u32(40, 1);
        let bytes = bytes.u32(44, p.bytes() as u32).u32(48, 3).u32(52, 4491).ptr(p, 56, 0xdead);
        let bytes = bytes.u32(at[0], -60i32 as u32).u64(at[1], 500).u64(at[2], 10_000_000).u64(at[3], 1000);
        bytes.u32(at[4], 1).u32(at[5], 4).wide("session").wide("[multiple files]")
    }

    #[test]
    fn log_file_header_of_both_pointer_sizes() {
        for p in [P8, P4] {
            let bytes = log_file_header(p);
            let Event::LogFile(LogFile { header, names }) = event(0x0000, 2, p, &bytes) else { panic!() };
            assert_eq!((header.buffer_size_bytes, header.os_version), (0x1_0000, (10, 0)));
            assert_eq!((header.format_version, header.os_build, header.processors), ((1, 5), 26100, 20));
            assert_eq!((header.end_time, header.timer_resolution_100ns), (Some(FileTime(2000)), 156_250));
            assert_eq!((header.maximum_file_size, header.mode), (100, 0x8000_0002));
            assert_eq!((header.buffers_written, header.start_buffers), (49, 1));
            assert_eq!((header.pointer_bytes as usize, header.events_lost), (p.bytes(), 3));
            assert_eq!((header.cpu_mhz, header.time_zone_bias_minutes), (4491, -60));
            assert_eq!((header.boot_time, header.perf_frequency_hz), (FileTime(500), 10_000_000));
            assert_eq!((header.start_time, header.clock_type, header.buffers_lost), (FileTime(1000), 1, 4));
            assert_eq!(names.logger.to_string(), "session");
            assert_eq!(names.log_file.to_string(), "[multiple files]");
            check_strings(0x0000, 2, p, &bytes);
            check_unknown_version(0x0000, p, &bytes);
        }
    }

    #[test]
    fn unfinished_files_and_odd_numbers_are_not_guessed() {
        let bytes = log_file_header(P8).u64(16, 0).u32(272, 9).u32(44, 16);
        let Event::LogFile(LogFile { header, .. }) = event(0x0000, 2, P8, &bytes) else { panic!() };
        assert_eq!((header.end_time, header.clock_type, header.pointer_bytes), (None, 9, 16));
    }

    #[test]
    fn group_masks_before_and_after_a_change() {
        let bytes = (0..8).fold(Bytes::new(36), |bytes, i| bytes.u32(4 * i, 1 << i)).u32(32, 85);
        for (hook, expected) in [(0x0005, MasksPhase::AfterChange), (0x0020, MasksPhase::BeforeChange)] {
            let Event::GroupMasks { phase, masks } = event(hook, 2, P8, &bytes) else { panic!() };
            assert_eq!((phase, masks.event_version), (expected, Some(85)));
            assert_eq!(masks.masks, [1, 2, 4, 8, 16, 32, 64, 128]);
            check_fixed(hook, 2, P8, &bytes);
        }
        let old = bytes.cut(4);
        let Event::GroupMasks { masks, .. } = event(0x0005, 1, P4, &old) else { panic!() };
        assert_eq!((masks.masks[7], masks.event_version), (128, None));
        check_fixed(0x0005, 1, P4, &old);
    }

    #[test]
    fn rundown_complete_is_empty() {
        assert_eq!(event(0x0008, 2, P8, &Bytes::new(0)), Event::RundownComplete);
        odd(0x0008, 2, P8, &Bytes::new(1));
    }

    #[test]
    fn debug_id_and_build_lab() {
        let guid: [u8; 16] = std::array::from_fn(|i| i as u8);
        let bytes = Bytes::new(20).raw(0, &guid).u32(16, 7).narrow("ntos.pdb");
        let Event::DebugId(found) = event(0x0040, 2, P8, &bytes) else { panic!() };
        assert_eq!(found.guid.to_string(), "03020100-0504-0706-0809-0a0b0c0d0e0f");
        assert_eq!((found.age, found.pdb_name.text().as_ref()), (7, "ntos.pdb"));
        check_strings(0x0040, 2, P8, &bytes);
        let lab = Bytes::new(0).narrow("26100.1.amd64fre");
        let Event::BuildLab(found) = event(0x0042, 2, P8, &lab) else { panic!() };
        assert_eq!(found.text(), "26100.1.amd64fre");
        check_strings(0x0042, 2, P8, &lab);
    }

    #[test]
    fn provider_binary() {
        let bytes = Bytes::new(4 + 32).u32(0, 2).u8(4, 1).u8(20, 2).wide(r"C:\p.dll");
        let Event::ProviderBinary(found) = event(0x0043, 2, P8, &bytes) else { panic!() };
        let guids: Vec<_> = found.providers().map(|guid| guid.as_fields().0).collect();
        assert_eq!((guids, found.path.to_string()), (vec![1, 2], r"C:\p.dll".into()));
        check_strings(0x0043, 2, P8, &bytes);
        let field = "provider GUIDs";
        assert_eq!(fault(0x0043, 2, P8, &bytes.u32(0, u32::MAX)), Fault::Short { field, at: 4 });
    }

    #[test]
    fn partitions_by_guid_or_by_text() {
        let bytes = Bytes::new(48).u32(4, 4).u64(8, -5i64 as u64).u8(16, 1).u8(32, 2);
        let Event::PartitionInfo(found) = event(0x0050, 2, P8, &bytes) else { panic!() };
        assert_eq!((found.partition_type, found.clock_offset), (4, -5));
        let guid = |first| PartitionName::Guid(Uuid::from_fields(first, 0, 0, &[0; 8]));
        assert_eq!((found.partition, found.parent), (guid(1), guid(2)));
        odd(0x0050, 2, P8, &bytes.clone().more(&[0; 8]));
        fault(0x0050, 2, P8, &bytes.clone().cut(1));
        assert_eq!(fault(0x0050, 2, P8, &bytes.u16(0, 1)), Fault::Value { field: "event version" });

        let bytes = Bytes::new(16).u16(0, 2).u32(4, 1).wide("a").wide("bc");
        let Event::PartitionInfo(found) = event(0x0050, 2, P8, &bytes) else { panic!() };
        let PartitionName::Text(parent) = found.parent else { panic!() };
        assert_eq!(parent.to_string(), "bc");
        check_strings(0x0050, 2, P8, &bytes);
    }

    #[test]
    fn last_dropped_times_by_processor() {
        let bytes = Bytes::new(8 + 16).u32(0, 2).u64(16, 99);
        let Event::LastDroppedTimes(found) = event(0x0052, 2, P8, &bytes) else { panic!() };
        assert_eq!(found.times().collect::<Vec<_>>(), [None, Some(99)]);
        check_strings(0x0052, 2, P8, &bytes);
        assert_eq!(fault(0x0052, 2, P8, &bytes.u32(0, u32::MAX)), Fault::Count { count: u32::MAX });
    }
}
