//! The log-file header: first record of every trace (hook 0x0000); describes the session.
//!
//! `TRACE_LOGFILE_HEADER` as written to files. The header type of the record decides the layout: SYSTEM32 has 4-byte
//! pointers and strings at 0x110, SYSTEM64 8-byte pointers and strings at 0x118. Verified on recorded traces of both.

use crate::byte_reader::{Cursor, FieldError, Layout, Wide, layout};
use crate::etl::buffer::BUFFER_HEADER_BYTES;
use crate::etl::clock::{Clock, ClockKind};
use crate::units::{FileTime, PointerSize, Ticks};
use std::ops::Range;
use zerocopy::little_endian::{I32, U32, U64};

/// The largest event of ETW, with its header.
pub(crate) const LARGEST_EVENT: u32 = 65_535;

/// The numbers of the log-file header: 0x110 (32-bit) or 0x118 (64-bit) bytes, before the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFileHeader {
    /// Session buffer size, bytes (uncompressed).
    pub buffer_size_bytes: u32,
    /// Windows major and minor version, e.g. (10, 0).
    pub os_version: (u8, u8),
    /// Version of the file format, e.g. (1, 5); (2, 0) for compressed files and large buffers.
    pub format_version: (u8, u8),
    /// Windows build, e.g. 19045.
    pub os_build: u32,
    /// Processors of the machine (1 for sessions without per-processor buffers).
    pub processors: u32,
    /// When the session was stopped; `None` if it never was.
    pub end_time: Option<FileTime>,
    /// Timer resolution, units of 100 ns.
    pub timer_resolution_100ns: u32,
    /// Maximum file size in MB (KB with mode 0x2000); 0 = none.
    pub maximum_file_size: u32,
    /// LogFileMode bits; see [`mode_names`].
    pub mode: u32,
    /// Buffers written by the session, including overwritten ones; 0 for a session that was never stopped.
    pub buffers_written: u32,
    /// Buffers at the start of a circular file that are never overwritten.
    pub start_buffers: u32,
    /// Pointer size of the logging system, bytes: 4 or 8.
    pub pointer_bytes: u32,
    /// Events that the session lost, up to when the header was written.
    pub events_lost: u32,
    /// Processor speed.
    pub cpu_mhz: u32,
    /// Time zone bias: UTC = local time + bias, minutes.
    pub time_zone_bias_minutes: i32,
    /// When Windows booted.
    pub boot_time: FileTime,
    /// Ticks of the performance counter in a second.
    pub perf_frequency_hz: u64,
    /// When the session began.
    pub start_time: FileTime,
    /// Clock type code: 1 performance counter, 2 system time, 3 CPU cycles, 0 before Vista.
    pub clock_type: u32,
    /// Buffers that the session lost, up to when the header was written.
    pub buffers_lost: u32,
}

/// The names after the numbers of the log-file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFileNames<'a> {
    /// Session name; may be empty.
    pub logger: Wide<'a>,
    /// Name under which the file was written; `[multiple files]` after a merge.
    pub log_file: Wide<'a>,
}

impl<'a> LogFileNames<'a> {
    /// Reads the names; the cursor must be at the end of the numbers.
    ///
    /// # Errors
    /// The name that has no NUL.
    pub fn read(c: &mut Cursor<'a>) -> Result<LogFileNames<'a>, FieldError> {
        Ok(LogFileNames { logger: c.wide("logger name")?, log_file: c.wide("log file name")? })
    }
}

layout! {
    /// `TRACE_LOGFILE_HEADER`. The pointers to the names are stale; names and dates of the time zone are not needed.
    LogFileLayout<P> = 280 / 272 bytes => LogFileHeader {
        buffer_size_bytes: U32, -version([u8; 4]), os_build: U32, processors: U32, -end_time_or_0(U64),
        timer_resolution_100ns: U32, maximum_file_size: U32, mode: U32, buffers_written: U32, start_buffers: U32,
        pointer_bytes: U32, events_lost: U32, cpu_mhz: U32, -logger_name(P), -log_file_name(P),
        time_zone_bias_minutes: I32, -time_zone([u8; 168]), -padding(U32), boot_time: U64, perf_frequency_hz: U64,
        start_time: U64, clock_type: U32, buffers_lost: U32
    } with |raw| {
        os_version: (raw.version[0], raw.version[1]),
        format_version: (raw.version[2], raw.version[3]),
        end_time: Some(raw.end_time_or_0.get()).filter(|&time| time != 0).map(FileTime),
    }
}

impl LogFileHeader {
    /// Reads the numbers from the start of the payload of a hook-0x0000 record.
    ///
    /// # Errors
    /// The field that does not fit.
    pub fn read(c: &mut Cursor<'_>) -> Result<LogFileHeader, FieldError> {
        c.read::<LogFileLayout>()
    }

    /// Where the names and dates of the time zone lie in the payload. The bias itself lies elsewhere.
    pub fn time_zone_names(pointer: PointerSize) -> Range<usize> {
        let fields = pointer.pick(LogFileLayout::FIELDS, LogFileLayout::FIELDS_P4);
        let at = |name: &str| fields.iter().find(|(field, _)| *field == name).map_or(0, |(_, at)| *at);
        at("time_zone")..at("padding")
    }

    /// Bytes of the largest record that a buffer of the session holds. ETW refuses records above 64 KiB, for any buffer size.
    pub fn largest_record(&self) -> u32 {
        self.buffer_size_bytes.saturating_sub(BUFFER_HEADER_BYTES).min(LARGEST_EVENT)
    }

    /// The session's clock, with `origin`, the raw stamp of the log-file header record; and warnings when the clock is
    /// imprecise or its type or frequency had to be guessed.
    pub fn clock(&self, origin: Ticks) -> (Clock, Vec<String>) {
        const FILETIME_HZ: u64 = 10_000_000;
        let mut warnings = Vec::new();
        let kind = match self.clock_type {
            1 => ClockKind::Qpc,
            2 => ClockKind::SystemTime,
            3 => ClockKind::CpuCycle,
            // Before Vista 0 meant system time; stamps within 50 years of StartTime are FILETIMEs.
            0 if (origin.0 as u64).abs_diff(self.start_time.0) < 50 * 366 * 86_400 * FILETIME_HZ => {
                ClockKind::SystemTime
            }
            other => {
                warnings.push(format!("clock type {other} is unknown; times are read as performance counter"));
                ClockKind::Qpc
            }
        };
        let frequency_hz = match kind {
            ClockKind::Qpc => self.perf_frequency_hz,
            ClockKind::SystemTime => FILETIME_HZ,
            ClockKind::CpuCycle => u64::from(self.cpu_mhz) * 1_000_000,
        };
        if kind == ClockKind::CpuCycle {
            warnings
                .push("the clock counts processor cycles, whose rate is known in whole MHz: times are coarse".into());
        }
        if frequency_hz == 0 {
            warnings.push("the clock's frequency is 0 in the log-file header; 10 MHz is assumed".into());
        }
        let frequency_hz = if frequency_hz == 0 { FILETIME_HZ } else { frequency_hz };
        (Clock { kind, frequency_hz, origin, start: self.start_time }, warnings)
    }
}

/// LogFileMode bits with their names in `evntrace.h`, lower case, without the `EVENT_TRACE_` prefix.
pub(crate) const MODES: [(u32, &str); 23] = [
    (0x0000_0001, "sequential"),
    (0x0000_0002, "circular"),
    (0x0000_0004, "append"),
    (0x0000_0008, "newfile"),
    (0x0000_0010, "use_ms_flush_timer"),
    (0x0000_0020, "preallocate"),
    (0x0000_0040, "nonstoppable"),
    (0x0000_0080, "secure"),
    (0x0000_0100, "real_time"),
    (0x0000_0200, "delay_open_file"),
    (0x0000_0400, "buffering"),
    (0x0000_0800, "private_logger"),
    (0x0000_1000, "add_header"),
    (0x0000_2000, "use_kbytes_for_size"),
    (0x0000_4000, "use_global_sequence"),
    (0x0000_8000, "use_local_sequence"),
    (0x0001_0000, "relog"),
    (0x0002_0000, "private_in_proc"),
    (0x0100_0000, "use_paged_memory"),
    (0x0200_0000, "system_logger"),
    (0x0400_0000, "compressed"),
    (0x0800_0000, "independent_session"),
    (0x1000_0000, "no_per_processor_buffering"),
];

/// LogFileMode bit: circular file.
pub(crate) const MODE_CIRCULAR: u32 = 0x2;
/// LogFileMode bit: one file of a series.
pub(crate) const MODE_NEWFILE: u32 = 0x8;
/// LogFileMode bit: preallocated, the file has its maximum size from the start.
pub(crate) const MODE_PREALLOCATE: u32 = 0x20;
/// LogFileMode bit: buffers are kept in memory; the file is a snapshot of the last ones.
pub(crate) const MODE_BUFFERING: u32 = 0x400;
/// LogFileMode bits: a session of one process.
pub(crate) const MODE_PRIVATE: u32 = 0x2_0800;
/// LogFileMode bit: rewritten by a merge.
pub(crate) const MODE_RELOG: u32 = 0x1_0000;
/// LogFileMode bit: data buffers may be compressed; each buffer's flags say whether.
pub(crate) const MODE_COMPRESSED: u32 = 0x0400_0000;
/// Most processors of a Windows machine; a header that names more is wrong.
pub(crate) const MOST_PROCESSORS: u32 = 2048;

/// LogFileMode bit: all records are in buffers of processor 0.
pub(crate) const MODE_NO_PER_PROCESSOR: u32 = 0x1000_0000;

/// Names of the set LogFileMode bits; bits without a public name as `0x…`.
pub(crate) fn mode_names(mode: u32) -> Vec<String> {
    let mut names: Vec<String> =
        MODES.iter().filter(|(bit, _)| mode & bit != 0).map(|(_, name)| (*name).to_owned()).collect();
    let named = MODES.iter().fold(0, |all, (bit, _)| all | bit);
    names.extend((0..32).map(|i| 1u32 << i).filter(|bit| mode & !named & bit != 0).map(|bit| format!("0x{bit:08x}")));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(pointer: PointerSize) -> Vec<u8> {
        // Offsets as in docs/formats.md; tail = where the 64-bit layout is 8 bytes longer.
        let shift = pointer.pick(8, 0);
        let mut bytes = vec![0; 0x110 + shift];
        bytes[0..4].copy_from_slice(&65536u32.to_le_bytes());
        bytes[8..12].copy_from_slice(&19045u32.to_le_bytes());
        bytes[0x2c] = pointer.bytes() as u8;
        bytes[0xf8 + shift..][..8].copy_from_slice(&10_000_000u64.to_le_bytes());
        bytes[0x100 + shift..][..8].copy_from_slice(&133_000_000_000_000_000u64.to_le_bytes());
        bytes[0x108 + shift] = 1;
        bytes[0x10c + shift] = 7;
        bytes.extend("NT\0C:\\x\0".encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    }

    #[test]
    fn both_layouts_end_in_the_same_facts() {
        for pointer in [PointerSize::P4, PointerSize::P8] {
            let bytes = payload(pointer);
            let mut c = Cursor::new(&bytes, pointer);
            let header = LogFileHeader::read(&mut c).unwrap();
            let names = LogFileNames::read(&mut c).unwrap();
            assert_eq!(header.buffer_size_bytes, 65536);
            assert_eq!((header.os_build, header.buffers_lost), (19045, 7));
            assert_eq!(header.end_time, None);
            assert_eq!(header.start_time, FileTime(133_000_000_000_000_000));
            assert_eq!((names.logger.to_string(), names.log_file.to_string()), ("NT".into(), "C:\\x".into()));
            assert_eq!(c.remaining(), 0);
            let start = pointer.pick(0x4c, 0x44);
            assert_eq!(LogFileHeader::time_zone_names(pointer), start..start + 168);
            let (clock, warnings) = header.clock(Ticks(5));
            assert_eq!((clock.kind, clock.frequency_hz, warnings), (ClockKind::Qpc, 10_000_000, vec![]));
        }
    }

    #[test]
    fn a_cut_header_names_the_field() {
        let error =
            LogFileHeader::read(&mut Cursor::new(&payload(PointerSize::P8)[..0x100], PointerSize::P8)).unwrap_err();
        assert!(error.to_string().contains("perf frequency hz at offset 256"), "{error}");
    }

    #[test]
    fn unknown_mode_bits_stay_visible() {
        assert_eq!(mode_names(0x8400_0001), ["sequential", "compressed", "0x80000000"]);
    }

    #[test]
    fn a_clock_without_frequency_warns() {
        let mut header = LogFileHeader::read(&mut Cursor::new(&payload(PointerSize::P8), PointerSize::P8)).unwrap();
        header.perf_frequency_hz = 0;
        assert_eq!(header.clock(Ticks(0)).1.len(), 1);
        header.clock_type = 0;
        let origin = Ticks(header.start_time.0 as i64);
        assert_eq!(header.clock(origin).0.kind, ClockKind::SystemTime);
    }
}
