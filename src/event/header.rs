//! The header group: what a file, a session and its rundowns say about themselves.
//!
//! Sources: `docs/formats.md` ("Header group"): `EventTrace_Header`, `Header_Extension` and relatives of the Windows
//! MOF, checked on recorded traces.

use super::outcome::{Fault, Parsed, Read};
use super::payload::{ANY, Payload};
use crate::bytes::{Narrow, Wide};
use crate::units::{FileTime, PointerSize};
use uuid::Uuid;

/// Which clock stamped the records of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClockType {
    /// 1: performance counter.
    PerformanceCounter,
    /// 2: system time, in 100 ns.
    SystemTime,
    /// 3: processor cycles.
    CpuCycles,
    /// Any other number.
    Unknown(u32),
}

/// `0x0000`, the first record of a file (`EventTrace_Header`): 280/272 bytes and two strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFileHeader<'a> {
    /// Size of the buffers of the file it was logged to; a compressed merged file has others.
    pub buffer_bytes: u32,
    /// Windows major and minor version, then two sub-versions.
    pub windows_version: [u8; 4],
    /// Windows build number.
    pub build: u32,
    /// Number of processors.
    pub processors: u32,
    /// End of the session; `None` while not finalized.
    pub end_time: Option<FileTime>,
    /// Timer resolution, in 100 ns.
    pub timer_resolution: u32,
    /// Maximum file size, in MB.
    pub maximum_file_megabytes: u32,
    /// Log file mode.
    pub mode: u32,
    /// Buffers written.
    pub buffers_written: u32,
    /// Pointer size of the system that logged, 4 or 8; `None` for any other number.
    pub pointer: Option<PointerSize>,
    /// Events lost.
    pub events_lost: u32,
    /// Processor frequency, in MHz.
    pub cpu_mhz: u32,
    /// Time zone: UTC = local time + this many minutes.
    pub bias_minutes: i32,
    /// Boot. Not the origin of time stamps: it was off by up to 15 s.
    pub boot_time: FileTime,
    /// Clock frequency, in ticks per second.
    pub frequency: u64,
    /// The instant of this record's own time stamp.
    pub start_time: FileTime,
    /// Which clock.
    pub clock: ClockType,
    /// Buffers lost.
    pub buffers_lost: u32,
    /// Name of the session; may be empty.
    pub session_name: Wide<'a>,
    /// Name of the file; `[multiple files]` after a merge.
    pub log_file_name: Wide<'a>,
}

impl<'a> LogFileHeader<'a> {
    /// Decodes the record.
    ///
    /// # Errors
    /// A fault when a field passes the end or a string has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<LogFileHeader<'a>> {
        let mut c = payload.cursor();
        let buffer_bytes = c.u32("buffer size")?;
        let windows_version = [c.u8("major")?, c.u8("minor")?, c.u8("sub-version")?, c.u8("sub-minor version")?];
        let build = c.u32("build number")?;
        let processors = c.u32("number of processors")?;
        let end_time = Some(FileTime(c.u64("end time")?)).filter(|time| time.0 != 0);
        let timer_resolution = c.u32("timer resolution")?;
        let maximum_file_megabytes = c.u32("maximum file size")?;
        let mode = c.u32("log file mode")?;
        let buffers_written = c.u32("buffers written")?;
        c.skip(4, "start buffers")?;
        let pointer = match c.u32("pointer size")? {
            4 => Some(PointerSize::P4),
            8 => Some(PointerSize::P8),
            _ => None,
        };
        let events_lost = c.u32("events lost")?;
        let cpu_mhz = c.u32("CPU speed")?;
        c.skip(2 * payload.pointer.bytes(), "name pointers")?;
        let bias_minutes = c.i32("time zone bias")?;
        c.skip(168, "time zone names and dates")?;
        c.skip(4, "padding")?;
        let value = LogFileHeader {
            buffer_bytes,
            windows_version,
            build,
            processors,
            end_time,
            timer_resolution,
            maximum_file_megabytes,
            mode,
            buffers_written,
            pointer,
            events_lost,
            cpu_mhz,
            bias_minutes,
            boot_time: FileTime(c.u64("boot time")?),
            frequency: c.u64("clock frequency")?,
            start_time: FileTime(c.u64("start time")?),
            clock: match c.u32("clock type")? {
                1 => ClockType::PerformanceCounter,
                2 => ClockType::SystemTime,
                3 => ClockType::CpuCycles,
                other => ClockType::Unknown(other),
            },
            buffers_lost: c.u32("buffers lost")?,
            session_name: c.wide("session name")?,
            log_file_name: c.wide("log file name")?,
        };
        Ok(Parsed::new(value, payload.ends(&c, 2..=2)))
    }
}

/// When group masks were logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MasksPhase {
    /// `0x0020`: the old masks; the end rundown of what goes off follows.
    BeforeChange,
    /// `0x0005`: the new masks; the start rundown of what comes on follows.
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
        let old = payload.version == 1;
        let oddity = payload.fixed(if old { 32 } else { 36 }, 1..=2)?;
        let mut c = payload.cursor();
        let mut masks = [0; 8];
        for mask in &mut masks {
            *mask = c.u32("group mask")?;
        }
        let event_version = if old { None } else { Some(c.u32("kernel event version")?) };
        Ok(Parsed::new(GroupMasks { masks, event_version }, oddity))
    }
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

    pub(crate) fn at(c: &mut crate::bytes::Cursor<'a>) -> Result<DebugId<'a>, Fault> {
        Ok(DebugId { guid: c.guid("GUID")?, age: c.u32("age")?, pdb_name: c.narrow("pdb name")? })
    }
}

/// Decodes `0x0042`: the build lab, one 8-bit string.
///
/// # Errors
/// A fault when it has no NUL.
pub fn read_build_lab<'a>(payload: &Payload<'a>) -> Read<Narrow<'a>> {
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
    /// Type of partition.
    pub partition_type: u32,
    /// Offset of the clock from the root's.
    pub clock_offset: i64,
    /// The partition.
    pub partition: PartitionName<'a>,
    /// Its parent.
    pub parent: PartitionName<'a>,
}

impl<'a> PartitionInfo<'a> {
    /// Decodes either form, which the first field tells.
    ///
    /// # Errors
    /// A fault when the form is unknown, a field passes the end or a string has no NUL.
    pub fn read(payload: &Payload<'a>) -> Read<PartitionInfo<'a>> {
        let mut c = payload.cursor();
        let form = c.u16("event version")?;
        c.skip(2, "reserved")?;
        let partition_type = c.u32("partition type")?;
        let clock_offset = c.i64("clock offset")?;
        let (partition, parent, oddity) = match form {
            0 => {
                let oddity = payload.fixed(48, ANY)?;
                (PartitionName::Guid(c.guid("partition")?), PartitionName::Guid(c.guid("parent")?), oddity)
            }
            2 => {
                let names = (c.wide("partition")?, c.wide("parent")?);
                (PartitionName::Text(names.0), PartitionName::Text(names.1), payload.ends(&c, ANY))
            }
            _ => return Err(Fault::Value { field: "event version" }),
        };
        Ok(Parsed::new(PartitionInfo { partition_type, clock_offset, partition, parent }, oddity))
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
