//! Process records: life cycle, termination, counters, in-swap.
//!
//! Sources: `docs/formats.md` ("Process"): `Process_V2…V4_TypeGroup1`, `Process_Defunct_TypeGroup1` (version 5) and
//! `Process_V2_TypeGroup2` of the Windows MOF, checked on recorded traces (versions 3 and 4, 8-byte pointers).

use super::outcome::{Fault, Parsed, Read};
use super::payload::{ANY, Payload};
use super::sid::{Sid, SidForm};
use crate::bytes::{Cursor, Narrow, Wide};
use crate::units::FileTime;

/// Which moment of a process's life a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProcessPhase {
    /// `0x0301`: the process starts; the header's ids are the creator's.
    Start,
    /// `0x0302`: the process ends; the header's ids are its own.
    End,
    /// `0x0303`: it runs when the session starts.
    DcStart,
    /// `0x0304`: it runs when the session ends.
    DcEnd,
    /// `0x0327`: it has ended, its address space is gone, but its object is still referenced (end rundown).
    Defunct,
}

/// Versions before 2 (before Windows Vista) have another layout and are only counted.
pub(crate) const FIRST_VERSION: u8 = 2;

/// A process, packed; 8-byte/4-byte pointers: fixed part of 24/20 (v2), 32/24 (v3), 36/28 bytes (v4), then SID, strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process<'a> {
    /// Address of the kernel's process object: tells apart two processes that used one id.
    pub key: u64,
    /// Process id.
    pub process_id: u32,
    /// Id of the process that created it (or is its parent by attribute).
    pub parent_id: u32,
    /// Session; `None` for Idle and System, which belong to none.
    pub session_id: Option<u32>,
    /// Exit status; 0x103 (still active) while running.
    pub exit_status: i32,
    /// Physical address of the top-level page table; `None` before version 3.
    pub directory_table_base: Option<u64>,
    /// Flags, see the constants; `None` before version 4.
    pub flags: Option<u32>,
    /// The user.
    pub sid: Option<Sid<'a>>,
    /// File name of the executable, without a path.
    pub image_name: Narrow<'a>,
    /// Command line; empty in rundowns of Idle, System and ended processes.
    pub command_line: Wide<'a>,
    /// Full name of the package; `None` before version 4.
    pub package_name: Option<Wide<'a>>,
    /// Application id inside the package; `None` before version 4.
    pub application_id: Option<Wide<'a>>,
    /// When it ended; only in `0x0327` of version 5.
    pub exit_time: Option<FileTime>,
}

impl<'a> Process<'a> {
    /// Flag: has an application id.
    pub const FLAG_APPLICATION_ID: u32 = 1;
    /// Flag: a 32-bit process on a 64-bit system.
    pub const FLAG_WOW64: u32 = 2;
    /// Flag: protected.
    pub const FLAG_PROTECTED: u32 = 4;
    /// Flag: packaged.
    pub const FLAG_PACKAGED: u32 = 8;

    /// Decodes a record of [`FIRST_VERSION`] or later.
    ///
    /// # Errors
    /// A fault when a field passes the end, a string has no NUL, or the SID is none.
    pub fn read(payload: &Payload<'a>) -> Read<Process<'a>> {
        let defunct = payload.hook.kind() == 0x27;
        let known = FIRST_VERSION..=if defunct { 5 } else { 4 };
        let has_exit_time = defunct && payload.version >= 5;
        let (head, cursor) = Head::read(payload)?;
        if cursor.clone().u32("user SID")? != 0 {
            let (process, end) = head.rest(payload, cursor, SidForm::BehindTokenUser, has_exit_time)?;
            return Ok(Parsed::new(process, payload.ends(&end, known)));
        }
        // Four zero bytes are a missing SID or the start of a zeroed token: only an exact end can tell.
        let mut fault = Fault::Value { field: "user SID" };
        for form in [SidForm::Absent, SidForm::BehindTokenUser] {
            match head.rest(payload, cursor.clone(), form, has_exit_time) {
                Ok((process, end)) if end.remaining() == 0 => {
                    return Ok(Parsed::new(process, payload.ends(&end, known)));
                }
                Ok((_, end)) => fault = Fault::Trailing { parsed: end.position() },
                Err(error) => fault = error,
            }
        }
        Err(fault)
    }
}

/// The fixed part.
struct Head {
    key: u64,
    process_id: u32,
    parent_id: u32,
    session_id: u32,
    exit_status: i32,
    directory_table_base: Option<u64>,
    flags: Option<u32>,
}

impl Head {
    fn read<'a>(payload: &Payload<'a>) -> Result<(Head, Cursor<'a>), Fault> {
        let mut c = payload.cursor();
        let head = Head {
            key: c.ptr("unique process key")?,
            process_id: c.u32("process id")?,
            parent_id: c.u32("parent process id")?,
            session_id: c.u32("session id")?,
            exit_status: c.i32("exit status")?,
            directory_table_base: if payload.version >= 3 { Some(c.ptr("directory table base")?) } else { None },
            flags: if payload.version >= 4 { Some(c.u32("flags")?) } else { None },
        };
        Ok((head, c))
    }

    fn rest<'a>(
        &self,
        payload: &Payload<'a>,
        mut c: Cursor<'a>,
        form: SidForm,
        has_exit_time: bool,
    ) -> Result<(Process<'a>, Cursor<'a>), Fault> {
        let has_package = payload.version >= 4;
        let process = Process {
            key: self.key,
            process_id: self.process_id,
            parent_id: self.parent_id,
            session_id: (self.session_id != u32::MAX).then_some(self.session_id),
            exit_status: self.exit_status,
            directory_table_base: self.directory_table_base,
            flags: self.flags,
            sid: Sid::read(&mut c, payload.pointer, form)?,
            image_name: c.narrow("image file name")?,
            command_line: c.wide("command line")?,
            package_name: if has_package { Some(c.wide("package full name")?) } else { None },
            application_id: if has_package { Some(c.wide("application id")?) } else { None },
            exit_time: if has_exit_time { Some(FileTime(c.u64("exit time")?)) } else { None },
        };
        Ok((process, c))
    }
}

/// `0x030b` Terminate: 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTerminate {
    /// The process.
    pub process_id: u32,
}

impl ProcessTerminate {
    /// Decodes the 4 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<ProcessTerminate> {
        let oddity = payload.fixed(4, ANY)?;
        Ok(Parsed::new(ProcessTerminate { process_id: payload.cursor().u32("process id")? }, oddity))
    }
}

/// `0x0320` (at process end) and `0x0321` (end rundown): memory counters of a process, 104/60 bytes, all sizes in bytes.
///
/// In `0x0320` only the peaks are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessCounters {
    /// The process.
    pub process_id: u32,
    /// Page faults since its start.
    pub page_faults: u32,
    /// Open handles.
    pub handles: u32,
    /// Peak of the virtual size.
    pub peak_virtual_bytes: u64,
    /// Peak of the working set.
    pub peak_working_set_bytes: u64,
    /// Peak of the pagefile usage.
    pub peak_pagefile_bytes: u64,
    /// Peak of the paged pool charged.
    pub peak_paged_pool_bytes: u64,
    /// Peak of the non-paged pool charged.
    pub peak_non_paged_pool_bytes: u64,
    /// Virtual size.
    pub virtual_bytes: u64,
    /// Working set.
    pub working_set_bytes: u64,
    /// Pagefile usage.
    pub pagefile_bytes: u64,
    /// Paged pool charged.
    pub paged_pool_bytes: u64,
    /// Non-paged pool charged.
    pub non_paged_pool_bytes: u64,
    /// Private commit (`PrivatePageCount` in the MOF, but bytes).
    pub private_bytes: u64,
}

impl ProcessCounters {
    /// Decodes the 104 or 60 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<ProcessCounters> {
        let oddity = payload.fixed(payload.pointer.pick(104, 60), 2..=2)?;
        let mut c = payload.cursor();
        let process_id = c.u32("process id")?;
        let page_faults = c.u32("page faults")?;
        let handles = c.u32("handles")?;
        c.skip(4, "reserved")?;
        let value = ProcessCounters {
            process_id,
            page_faults,
            handles,
            peak_virtual_bytes: c.ptr("peak virtual size")?,
            peak_working_set_bytes: c.ptr("peak working set")?,
            peak_pagefile_bytes: c.ptr("peak pagefile usage")?,
            peak_paged_pool_bytes: c.ptr("peak paged pool")?,
            peak_non_paged_pool_bytes: c.ptr("peak non-paged pool")?,
            virtual_bytes: c.ptr("virtual size")?,
            working_set_bytes: c.ptr("working set")?,
            pagefile_bytes: c.ptr("pagefile usage")?,
            paged_pool_bytes: c.ptr("paged pool")?,
            non_paged_pool_bytes: c.ptr("non-paged pool")?,
            private_bytes: c.ptr("private bytes")?,
        };
        Ok(Parsed::new(value, oddity))
    }
}

/// `0x0323`: the pages of a swapped-out process come back, 12/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessInSwap {
    /// Physical address of the top-level page table.
    pub directory_table_base: u64,
    /// The process.
    pub process_id: u32,
}

impl ProcessInSwap {
    /// Decodes the 12 or 8 bytes.
    ///
    /// # Errors
    /// A fault when there are fewer.
    pub fn read(payload: &Payload<'_>) -> Read<ProcessInSwap> {
        let oddity = payload.fixed(payload.pointer.pick(12, 8), ANY)?;
        let mut c = payload.cursor();
        let value =
            ProcessInSwap { directory_table_base: c.ptr("directory table base")?, process_id: c.u32("process id")? };
        Ok(Parsed::new(value, oddity))
    }
}
