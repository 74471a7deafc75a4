//! What a session says of itself: the fields of the log-file header record, and how buffers are to be written.
//!
//! All fields are public: `Session { buffer_size: 0x4000, ..Session::windows10() }`.

use super::bytes::{Ptr, Put};
use super::record::Rec;

/// Mode bit: buffers are compressed.
pub const MODE_COMPRESSED: u32 = 0x0400_0000;
/// Mode bit: merged by the relogger.
pub const MODE_RELOG: u32 = 0x0001_0000;
/// Mode bit: one buffer stream for all processors.
pub const MODE_NO_PER_PROCESSOR: u32 = 0x1000_0000;
/// Mode bit: circular.
pub const MODE_CIRCULAR: u32 = 0x0000_0002;

/// How data buffers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Plain LZ77, the form that merged traces use.
    Xpress,
    /// LZNT1 (State of the header buffer is 2).
    Lznt1,
    /// XPRESS with Huffman codes (State of the header buffer is 4).
    Huffman,
}

/// Everything of a session that is not a record.
#[derive(Clone, Debug)]
pub struct Session {
    /// Pointer size of the session.
    pub pointer: Ptr,
    /// Pointer size of the log-file header *record*, which chooses the 32- or 64-bit column of its layout.
    pub header_record: Ptr,
    /// Session buffer size in bytes, header included, uncompressed.
    pub buffer_size: u32,
    /// Windows major and minor version.
    pub windows: (u8, u8),
    /// Windows build.
    pub build: u32,
    /// Format version; `None` derives it (1.4 Vista, 1.5 later, 2.0 when compressed or large).
    pub format: Option<(u8, u8)>,
    /// NumberOfProcessors.
    pub processors: u32,
    /// Clock type: 1 performance counter, 2 system time, 3 CPU cycles, 0 before Vista.
    pub clock: u32,
    /// PerfFreq, ticks per second.
    pub frequency: u64,
    /// CpuSpeedInMHz.
    pub cpu_mhz: u32,
    /// Raw time stamp of the log-file header record: the same instant as `start_time`.
    pub t0: u64,
    /// StartTime, FILETIME.
    pub start_time: u64,
    /// EndTime, FILETIME; 0 writes a log that was never stopped (BuffersWritten is 0 then, too).
    pub end_time: u64,
    /// BootTime, FILETIME.
    pub boot_time: u64,
    /// TimerResolution, 100 ns.
    pub timer_resolution: u32,
    /// MaximumFileSize.
    pub maximum_file_size: u32,
    /// LogFileMode; the compressed bit is added when `compression` asks for it.
    pub mode: u32,
    /// BuffersWritten; `None` counts the buffers of the file.
    pub buffers_written: Option<u32>,
    /// StartBuffers.
    pub start_buffers: u32,
    /// EventsLost.
    pub events_lost: u32,
    /// BuffersLost.
    pub buffers_lost: u32,
    /// Time zone bias, minutes.
    pub bias_minutes: i32,
    /// Logger name.
    pub logger_name: String,
    /// Log-file name.
    pub file_name: String,
    /// LoggerId of every buffer.
    pub logger_id: u16,
    /// Processor field is a 16-bit index (flag 0x20); false writes the form before Windows 8: alignment 8 in the
    /// high byte, processor in the low byte.
    pub processor_index: bool,
    /// Thread and process id of the log-file header record.
    pub starter: (u32, u32),
    /// Compression of the data buffers.
    pub compression: Compression,
}

impl Session {
    /// Windows 10 build 19045, 64-bit, 64 KiB buffers, 4 processors, 10 MHz performance counter, kernel logger.
    pub fn windows10() -> Session {
        Session {
            pointer: Ptr::P8,
            header_record: Ptr::P8,
            buffer_size: 0x1_0000,
            windows: (10, 0),
            build: 19045,
            format: None,
            processors: 4,
            clock: 1,
            frequency: 10_000_000,
            cpu_mhz: 2904,
            t0: 1_000_000_000,
            start_time: 132_949_636_400_000_000,
            end_time: 132_949_636_500_000_000,
            boot_time: 132_949_635_400_000_000,
            timer_resolution: 156_250,
            maximum_file_size: 0,
            mode: 0x0200_0001,
            buffers_written: None,
            start_buffers: 1,
            events_lost: 0,
            buffers_lost: 0,
            bias_minutes: -60,
            logger_name: "NT Kernel Logger".into(),
            file_name: "C:\\trace.etl".into(),
            logger_id: 28,
            processor_index: true,
            starter: (0x1a2c, 0x11f0),
            compression: Compression::None,
        }
    }

    /// Windows 11 24H2 (build 26100).
    pub fn windows11() -> Session {
        Session { build: 26100, ..Session::windows10() }
    }

    /// Windows 8 (build 9200): the first with 16-bit processor indexes; 2.3 MHz counter.
    pub fn windows8() -> Session {
        Session { windows: (6, 2), build: 9200, frequency: 2_337_949, ..Session::windows10() }
    }

    /// Windows 7 (build 7601): processor field of the old form.
    pub fn windows7() -> Session {
        Session {
            windows: (6, 1),
            build: 7601,
            frequency: 14_318_180,
            processor_index: false,
            mode: 1,
            ..Session::windows10()
        }
    }

    /// Windows Vista (build 6002), 32-bit, as all Vista traces that are public.
    pub fn vista() -> Session {
        Session { windows: (6, 0), build: 6002, ..Session::windows7() }.bits32()
    }

    /// The same session on a 32-bit Windows: pointer size 4, 32-bit log-file header record.
    pub fn bits32(self) -> Session {
        Session { pointer: Ptr::P4, header_record: Ptr::P4, ..self }
    }

    /// The same session, compressed and merged, as `xperf -merge` leaves it.
    pub fn merged(self) -> Session {
        Session {
            mode: self.mode | MODE_RELOG,
            compression: Compression::Xpress,
            logger_name: "Relogger".into(),
            file_name: "[multiple files]".into(),
            logger_id: 0,
            ..self
        }
    }

    /// The same session with this compression.
    pub fn compressed(self, compression: Compression) -> Session {
        Session { compression, ..self }
    }

    /// Ticks per second of the time stamps, by the clock type.
    pub fn ticks_per_second(&self) -> u64 {
        match self.clock {
            2 | 0 => 10_000_000,
            3 => u64::from(self.cpu_mhz) * 1_000_000,
            _ => self.frequency,
        }
    }

    /// FILETIME of a raw time stamp.
    pub fn filetime(&self, time: u64) -> u64 {
        let ticks = i128::from(time) - i128::from(self.t0);
        let units = (ticks * 10_000_000).div_euclid(i128::from(self.ticks_per_second().max(1)));
        (i128::from(self.start_time) + units) as u64
    }

    /// The log-file header record, with `written` as BuffersWritten.
    pub fn header_rec(&self, written: u32) -> Rec {
        let p = self.header_record;
        let mut put = Put::new(p);
        let (major, minor) = self.format.unwrap_or_else(|| self.derived_format());
        put.u32(self.buffer_size).u8(self.windows.0).u8(self.windows.1).u8(major).u8(minor);
        put.u32(self.build).u32(self.processors).u64(self.end_time).u32(self.timer_resolution);
        put.u32(self.maximum_file_size).u32(self.stored_mode()).u32(written).u32(self.start_buffers);
        put.u32(self.pointer.size() as u32).u32(self.events_lost).u32(self.cpu_mhz);
        // Before Windows 7 these two are pointers, later small numbers; nonsense either way.
        put.ptr(0xffff_b38f_1122_3340).ptr(1);
        let zone = put.written();
        put.i32(self.bias_minutes).wide_fixed("W. Europe Standard Time", 32).zeros(16).i32(0);
        put.wide_fixed("W. Europe Daylight Time", 32).zeros(16).i32(-60).pad_to(zone + 172);
        put.zeros(4).u64(self.boot_time).u64(self.frequency).u64(self.start_time).u32(self.clock);
        put.u32(self.buffers_lost).wide(&self.logger_name).wide(&self.file_name);
        Rec::system(p, 0, 2, put.done()).at(self.t0).by(self.starter.0, self.starter.1)
    }

    /// LogFileMode as stored.
    pub fn stored_mode(&self) -> u32 {
        match self.compression {
            Compression::None => self.mode,
            _ => self.mode | MODE_COMPRESSED,
        }
    }

    fn derived_format(&self) -> (u8, u8) {
        if self.compression != Compression::None || self.buffer_size > 0x10_0000 || self.processors > 256 {
            (2, 0)
        } else if self.windows == (6, 0) {
            (1, 4)
        } else {
            (1, 5)
        }
    }
}
